"""Options and output that commands share: how a file is read, progress on a terminal."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from alrviz.errors import nearest

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.data.options import ReadOptions

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

# Advice in a message that names Python arguments, and the option to name instead.
_OPTIONS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"pass quartiles=True", "say --quartiles"),
    (r" \(quartiles=False [^)]*\)", ""),
    (r"pass target=", "say --class "),
    (r"options=ReadOptions\(dayfirst=True\)", "--day-first"),
    (r"options=ReadOptions\(dayfirst=False\)", "--month-first"),
    # Missing in single columns, for which there is no option.
    (r" \(options=(ReadOptions\(columns=|its ).* reads it as missing\)", ""),
    (r"options=ReadOptions\(missing=\(\)\)", "--missing ''"),
    (r"options=ReadOptions\(missing=\((.*?),?\)\)", lambda m: " ".join(f"--missing {t}" for t in m[1].split(", "))),
    (r"(?:options=)?ReadOptions\((?!columns)(\w+)=([^)]*)\)", lambda m: f"--{m[1].replace('_', '-')} {m[2]}"),
    (r"options \(decimal, thousands, missing\) say", "--decimal, --thousands and --missing say"),
    (r"\bmax_iter was (\S+) and is\b", r"--passes was \1 and is"),
    (r"pass kinds=", "say --kind COLUMN=KIND"),
)


def with_options(text: str) -> str:
    """Replace Python arguments in a message by the options of the command line.

    >>> with_options("pass quartiles=True to cut it; options=ReadOptions(decimal=',') reads it")
    "say --quartiles to cut it; --decimal ',' reads it"
    """
    for python_pattern, option in _OPTIONS:
        text = re.sub(python_pattern, option, text)
    return text


class CommandError(Exception):
    """A request that cannot be met; the command prints the message and ends."""


def add_table_options(parser: argparse.ArgumentParser, kinds: str = "") -> None:
    """Add target, kinds of columns (`kinds`: the valid ones; "": no such option) and how a table is read."""
    parser.add_argument("--target", "--class", metavar="COLUMN", help="the column that is the class (default: guessed)")
    if kinds:
        hint = f"{kinds}; may be given several times"
        parser.add_argument("--kind", metavar="COLUMN=KIND", action="append", default=[], help=hint)
    add_read_options(parser)


def add_read_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `ReadOptions`, for a file whose format is not detected correctly."""
    group = parser.add_argument_group("how the file is read (default: detected, or like the model's own table)")
    group.add_argument("--sheet", metavar="NAME", help="the sheet of a workbook, or its number, counted from 1")
    group.add_argument("--missing", metavar="TEXT", action="append", help="a text or number that stands for a missing "
                       "value, such as -999; may be given several times")  # fmt: skip
    group.add_argument("--delimiter", metavar="C", type=lambda text: "\t" if text in ("tab", "\\t") else text,
                       help="the sign between two values; 'tab' for a tabulator")  # fmt: skip
    group.add_argument("--decimal", metavar="C", help="the decimal mark, . or ,")
    group.add_argument("--thousands", metavar="C", help="the mark between thousands; '' for none")
    order = group.add_mutually_exclusive_group()
    order.add_argument("--day-first", dest="dayfirst", action="store_const", const=True, help="5/6/2020 is 5 June")
    order.add_argument("--month-first", dest="dayfirst", action="store_const", const=False, help="5/6/2020 is 6 May")
    group.add_argument("--fill-down", action="store_const", const=True, help="an empty cell has the value above it")
    group.add_argument("--pivot", dest="long_form", metavar="COLUMNS", type=lambda text: text.split(","), help="the "
                       "columns of a long form, such as patient,test,value: a row for each patient")  # fmt: skip
    group.add_argument("--spelling", metavar="TEXT=LEVEL", action="append", default=[], help="TEXT is another spelling "
                       "of LEVEL, such as femal=female; may be given several times")  # fmt: skip
    group.add_argument("--numbers", metavar="COLUMN", action="append", default=[], help="a column of numbers with "
                       "flags, footnotes or words beside them; may be given several times")  # fmt: skip
    group.add_argument("--encoding", metavar="NAME", help="encoding of the text, such as utf-8 or cp1252")
    n_lines = whole_number("a number of lines")
    group.add_argument("--header", metavar="N", type=n_lines, help="number of rows with column names, 0 to 3")
    group.add_argument("--skip-rows", metavar="N", type=n_lines, help="number of lines before the names")
    group.add_argument("--skip-footer", metavar="N", type=n_lines, help="number of lines behind the table")


def read_dataset(options: argparse.Namespace) -> Dataset:
    """Return the table of `add_table_options`."""
    from alrviz.data.read import read_table

    dataset = read_table(
        options.file, options.target, options=read_options(options), quartiles=options.quartiles or None
    )
    # Without kinds the target stays a guess, which a note gives the reason for.
    return dataset.with_kinds(**dict(map(kind_of, options.kind))) if options.kind else dataset


def read_options(options: argparse.Namespace) -> ReadOptions:
    """Return the options that say how a file is read."""
    from alrviz.data.options import ReadOptions

    value_by_option = {name: value for name, value in vars(options).items() if name in ReadOptions.__dataclass_fields__}
    value_by_option["numbers"] = None  # of single columns
    return ReadOptions(**value_by_option).with_change(
        {
            "spellings": dict(_pair_of(text, "--spelling", "TEXT=LEVEL") for text in options.spelling) or None,
            "columns": {name: {"numbers": True} for name in options.numbers},
        }
    )


def whole_number(noun: str, low: int = 0, high: int | None = None) -> Callable[[str], int]:
    """Return a parser of whole numbers from `low` to `high` (None: any). noun: what they are, for messages."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < low or (high is not None and int(text) > high):
            expected_text = f"a whole number from {low}" + ("" if high is None else f" to {high}")
            raise argparse.ArgumentTypeError(f"{text!r} is not {noun}; expected {expected_text}")
        return int(text)

    return read


def kind_of(text: str) -> tuple[str, str]:
    """Parse COLUMN=KIND."""
    return _pair_of(text, "--kind", f"COLUMN=KIND, such as {text}=categorical")


def _pair_of(text: str, option: str, expected: str) -> tuple[str, str]:
    """Parse two texts with an equals sign between them."""
    left, equals, right = text.rpartition("=")
    if not equals:
        raise CommandError(f"{option} {text!r} has no equals sign; expected {expected}")
    return left, right


def require_file(file: Path) -> None:
    """Raise `CommandError` if there is no such file, and name the nearest one."""
    if not os.path.isfile(file):  # unlike pathlib, no error for a name that the system does not allow
        names = os.listdir(file.parent) if os.access(file.parent, os.R_OK) and os.path.isdir(file.parent) else ()
        hint = nearest(file.name, (name for name in names if os.path.isfile(file.parent / name)))
        raise CommandError(f"there is no file {str(file)[:300]!r}{hint}")


class Progress:
    """Progress on standard error: one changing line of a terminal, else a line every few seconds."""

    def __init__(self) -> None:
        self._print_time, self._width = 0.0, 0

    def rows(self, activity: str, rows: int) -> None:
        """Print how many rows are done."""
        current_time, is_terminal = time.monotonic(), sys.stderr.isatty()
        if current_time - self._print_time < (0.2 if is_terminal else 10.0):
            return
        self._print_time, text = current_time, f"{activity}: {rows:,} rows"
        print(
            f"\r{text.ljust(self._width)}" if is_terminal else text,
            end="" if is_terminal else "\n",
            file=sys.stderr,
            flush=True,
        )
        self._width = len(text) if is_terminal else 0

    def line(self, *lines: str) -> None:
        """Print lines, the first in place of the progress."""
        if self._width:
            print(f"\r{' ' * self._width}\r", end="", file=sys.stderr, flush=True)
            self._width = 0
        for text in lines:
            print(text, flush=True)
