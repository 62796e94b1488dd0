"""`alrviz inspect`: print how a file is read, why, and what is doubtful; or the spec to read similar files."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from alrviz.cli.options import Commands, add_table_options, read_dataset, require_file, with_options

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

_LAYOUT = {
    "sheet": "sheet", "encoding": "encoding", "delimiter": "delimiter", "header": "rows of names",
    "skip_rows": "lines before the names", "skip_footer": "lines behind the table", "comment": "comments begin with",
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
    """Print how a file is read."""
    for file in filter(None, (options.file, options.spec)):
        require_file(file)
    dataset = read_dataset(options, options.spec)
    if options.json:
        print(dataset.spec.to_json(), end="")
    else:
        print(_summary_text(dataset, options.file))
    return 0


def _summary_text(dataset: Dataset, file: Path) -> str:
    """Return rows and columns, the layout, a line for each column, notes, doubts."""
    layout, type_by_column = dataset.spec.layout, {column.name: column.type for column in dataset.spec.columns}
    lines = [f"{dataset.name}: {dataset.table.n_rows:,} rows, {len(layout.names):,} columns", "", "layout"]
    for option, label in _LAYOUT.items():
        if (value := getattr(layout, option)) not in (None, 0, ""):
            lines.append(f"  {label}: {value!r}")
    column_widths = [max(len(getattr(column, name)) for column in dataset.columns) for name in ("name", "kind")]
    lines += ["", "columns"]
    for column in dataset.columns:
        missing_text = f", {column.missing:,} missing" if column.missing else ""
        facts_text = f"{type_by_column[column.name]}, {column.levels:,} different{missing_text}: {column.why}"
        lines.append(f"  {column.name.ljust(column_widths[0])}  {column.kind.ljust(column_widths[1])}  {facts_text}")
    if dataset.notes:
        lines += ["", "notes", *(f"  {with_options(note)}" for note in dataset.notes)]
    if dataset.doubts:
        lines += ["", "doubtful"]
    for doubt in dataset.doubts:
        change_text = ", ".join(f"{name}={value!r}" for name, value in doubt.change.items())
        lines += [f"  {doubt.question}", f"    if so: read_table({str(file)!r}, options=ReadOptions({change_text}))"]
    return "\n".join(lines)
