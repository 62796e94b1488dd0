"""`alrviz report`: a file goes in, one HTML page comes out: which model, what matters, how good it is."""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

from alrviz.cli.options import (
    CommandError,
    Commands,
    add_table_options,
    read_dataset,
    require_file,
    whole_number,
    with_options,
)


def add_to(commands: Commands) -> None:
    """Add the command `report` and its options to the parser."""
    parser = commands.add_parser(
        "report", help="fit a model to a file and write a report as one HTML page",
        description="Fit a classifier that chooses order, penalties and levels itself to a part of the rows, evaluate "
        "it on the others, and write one HTML file that needs no server and no network.",
    )  # fmt: skip
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="a table: CSV, Parquet, Excel, SPSS ...")
    add("--quartiles", action="store_true", help="cut a target of measured numbers into four classes")
    add("-o", "--out", type=Path, required=True, metavar="FILE", help="the HTML file to write")
    add("--order", type=int, metavar="N", help="largest number of columns that interact (default: chosen)")
    add("--holdout", type=float, default=0.25, metavar="SHARE", help="share of test rows (default: .25)")
    add(
        "--seed",
        type=whole_number("a seed"),
        default=0,
        metavar="N",
        help="seed of the split into training and test rows",
    )
    add("--time", metavar="COLUMN", help="test on the latest rows by this column, not on random ones")
    add("--groups", metavar="COLUMN", help="keep rows with the same value of this column on one side of the split")
    add("--card", metavar="FIELD=TEXT", action="append", default=[], help="of the model card: intended_use, "
        "out_of_scope, owner, licence, data_source, ethics or caveats; may be given several times")  # fmt: skip
    add("--no-rows", dest="rows", action="store_false", help="show no rows of the table")
    add_table_options(parser, "categorical, numeric, ordinal, ignore, weight, group or time")
    parser.set_defaults(command=report)


def report(options: argparse.Namespace) -> int:
    """Fit, evaluate and write the report."""
    require_file(options.file)
    if not options.out.parent.is_dir() or options.out.is_dir():
        raise CommandError(f"{str(options.out)!r} cannot be written; expected a file in an existing folder")
    from alrviz.errors import LostColumnsWarning, UnseenLevelWarning
    from alrviz.estimators.auto import AutoClassifier
    from alrviz.views.report.save_report import save_report

    model_card = {}
    for text in options.card:
        field, equals, value = text.partition("=")
        if not equals:
            raise CommandError(f"--card {text!r} has no text; expected FIELD=TEXT, such as {text}='...'")
        model_card[field] = value
    start_time = time.monotonic()

    def tell(activity: str) -> None:
        print(f"{time.monotonic() - start_time:6.1f} s  {activity}", file=sys.stderr, flush=True)

    tell(f"reading {options.file.name}")
    dataset = read_dataset(options)
    if options.time or options.groups:
        dataset = dataset.split_by(time=options.time, groups=options.groups)
    for note in dataset.notes:
        print(with_options(note))
    for category in (LostColumnsWarning, UnseenLevelWarning):  # the report itself says both
        warnings.simplefilter("ignore", category)
    model = AutoClassifier() if options.order is None else AutoClassifier(order=options.order)
    save_report(
        dataset,
        options.out,
        model,
        holdout=options.holdout,
        seed=options.seed,
        card=model_card,
        rows=options.rows,
        tell=tell,
    )
    n_bytes = options.out.stat().st_size
    print(f"the report is {options.out}, {n_bytes / 1000:,.0f} kB, after {time.monotonic() - start_time:,.0f} s")
    return 0
