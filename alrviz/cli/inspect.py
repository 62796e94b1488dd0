"""`alrviz inspect`: print how a file is read, why, and what is doubtful; or the spec to read similar files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from alrviz.cli.options import Commands, add_table_options, kind_of, read_options, require_file, with_options
from alrviz.errors import AlrvizError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alrviz.data.dataset import Column, Dataset
    from alrviz.data.parse_spec import ColumnSpec
    from alrviz.data.table import Table

_LAYOUT = {
    "sheet": "sheet", "encoding": "encoding", "delimiter": "delimiter", "header": "rows of names",
    "skip_rows": "lines before the names", "skip_footer": "lines behind the table", "comment": "comments begin with",
    "long_form": "pivoted by",
}  # fmt: skip


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "inspect", help="show what a file is read as, why, and what is doubtful",
        description="Read a file and show its columns, what was decided and what is doubtful. --json prints how it was "
        "read, for alrviz.read_table(path, spec=...), which then decides nothing by itself.",
    )  # fmt: skip
    parser.add_argument("file", type=Path, metavar="FILE", help="a table: CSV, Parquet, ARFF, xlsx ...")
    parser.add_argument("--json", action="store_true", help="print the spec as JSON")
    parser.add_argument("--spec", type=Path, metavar="FILE", help="read it by this spec")
    parser.add_argument("--quartiles", action="store_true", help="cut a target of measured numbers into four classes")
    add_table_options(parser, "categorical, numeric, ordinal or ignore")
    parser.set_defaults(command=inspect)


def inspect(options: argparse.Namespace) -> int:
    """Print how a file is read, also if none of its columns can be the class."""
    from alrviz.data.dataset import described_columns
    from alrviz.data.read import dataset_by_spec, load_spec, read_columns
    from alrviz.data.values import spec_of_typed

    for file in filter(None, (options.file, options.spec)):
        require_file(file)
    spec = None if options.spec is None else load_spec(options.spec)
    kinds = dict(map(kind_of, options.kind))
    table = read_columns(
        options.file,
        spec=spec,
        options=read_options(options),
        expected_names={name for name in (options.target, *kinds) if name},
    )
    try:
        dataset = dataset_by_spec(table, spec, options.target, quartiles=options.quartiles or None)
        dataset = dataset.with_kinds(**kinds) if kinds else dataset
    except AlrvizError:
        if not options.json:
            specs = [column.spec or spec_of_typed(column) for column in table.values]
            print(_summary_text(table, table, described_columns(table), specs, options.file))
        raise
    text = _summary_text(dataset, table, dataset.columns, dataset.spec.columns, options.file)
    print(dataset.spec.to_json() if options.json else text, end="" if options.json else "\n")
    return 0


def _summary_text(
    result: Table | Dataset, table: Table, columns: Sequence[Column], specs: Sequence[ColumnSpec], file: Path
) -> str:
    """Return rows and columns, the layout, a line for each column, notes, doubts.

    `result` has the notes and doubts: the data set, or the table if it has no class.
    """
    n_columns = sum(not column.is_derived for column in table.values)
    lines = [f"{table.name}: {table.n_rows:,} rows, {n_columns:,} columns", "", "layout"]
    for option, label in _LAYOUT.items():
        if (value := getattr(table.options, option)) not in (None, 0, ""):
            lines.append(f"  {label}: {value!r}")
    column_widths = [max(len(getattr(column, name)) for column in columns) for name in ("name", "kind")]
    lines += ["", "columns"]
    for column, spec in zip(columns, specs, strict=True):
        missing_text = f", {column.missing:,} missing" if column.missing else ""
        facts_text = f"{spec.type}, {column.levels:,} different{missing_text}: {column.why}"
        lines.append(f"  {column.name.ljust(column_widths[0])}  {column.kind.ljust(column_widths[1])}  {facts_text}")
    if result.notes:
        lines += ["", "notes", *(f"  {with_options(note)}" for note in result.notes)]
    if result.doubts:
        lines += ["", "doubtful", "  options = ReadOptions()"]
    for doubt in result.doubts:  # changes can be made one after the other, unlike options
        lines += [f"  {doubt.question}", f"    if so: options = options.with_change({doubt.change!r})"]
    if result.doubts:
        lines.append(f"  read_table({str(file)!r}, options=options)")
    return "\n".join(lines)
