"""What the commands share: how a file is read, sentences that say options, progress on a terminal."""

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
    from alrviz.data.options import ReadOptions

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

# What a sentence tells a caller of Python to pass, and the option that says it here.
_OPTIONS: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r"pass quartiles=True", "say --quartiles"),
    (r" \(quartiles=False [^)]*\)", ""),
    (r"pass target=", "say --class "),
    (r"options=ReadOptions\(dayfirst=True\)", "--day-first"),
    (r"options=ReadOptions\(dayfirst=False\)", "--month-first"),
    (r"options=ReadOptions\(missing=\((.*?),?\)\)", lambda m: " ".join(f"--missing {t}" for t in m[1].split(", "))),
    (r"(?:options=)?ReadOptions\((?!columns)(\w+)=([^)]*)\)", lambda m: f"--{m[1].replace('_', '-')} {m[2]}"),
    (r"options \(decimal, thousands, missing\) say", "--decimal, --thousands and --missing say"),
    (r"\bmax_iter was (\S+) and is\b", r"--passes was \1 and is"),
    (r"pass kinds=", "say --kind COLUMN=KIND"),
)


def with_options(text: str) -> str:
    """Return a sentence that says the command line's options where it says what is passed in Python.

    >>> with_options("pass quartiles=True to cut it; options=ReadOptions(decimal=',') reads it")
    "say --quartiles to cut it; --decimal ',' reads it"
    """
    for said, option in _OPTIONS:
        text = re.sub(said, option, text)
    return text


class Refused(Exception):
    """What was asked for cannot be had; the text is shown as it is."""


def add_read_options(parser: argparse.ArgumentParser) -> None:
    """What `ReadOptions` says, for a file that is not read rightly by itself."""
    group = parser.add_argument_group("how the file is read (default: as it looks, or as the model's table was)")
    group.add_argument("--sheet", metavar="NAME", help="the sheet of a workbook, or its place from 1")
    group.add_argument("--missing", metavar="TEXT", action="append", help="a text or number that stands for a missing "
                       "value, such as -999; may be given several times")  # fmt: skip
    group.add_argument("--delimiter", metavar="C", help="what is between two values; 'tab' for a tabulator")
    group.add_argument("--decimal", metavar="C", help="the decimal mark, . or ,")
    group.add_argument("--thousands", metavar="C", help="the mark between thousands; '' for none")
    order = group.add_mutually_exclusive_group()
    order.add_argument("--day-first", dest="dayfirst", action="store_const", const=True, help="5/6/2020 is 5 June")
    order.add_argument("--month-first", dest="dayfirst", action="store_const", const=False, help="5/6/2020 is 6 May")
    group.add_argument("--encoding", metavar="NAME", help="of the text, such as utf-8 or cp1252")
    group.add_argument("--header", metavar="N", type=count, help="rows that hold the names, 0 to 3")
    group.add_argument("--skip-rows", metavar="N", type=count, help="lines before the names")
    group.add_argument("--skip-footer", metavar="N", type=count, help="lines behind the table")


def read_options(options: argparse.Namespace) -> ReadOptions:
    """Return what was said of how a file is read."""
    from alrviz.data.options import ReadOptions

    return ReadOptions(
        delimiter="\t" if options.delimiter in ("tab", "\\t") else options.delimiter,
        encoding=options.encoding,
        decimal=options.decimal,
        thousands=options.thousands,
        missing=None if options.missing is None else tuple(options.missing),
        header=options.header,
        skip_rows=options.skip_rows,
        skip_footer=options.skip_footer,
        sheet=options.sheet,
        dayfirst=options.dayfirst,
    )


def count(text: str) -> int:
    """Read a number of lines."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of lines; expected a whole number from 0")
    return int(text)


def seed(text: str) -> int:
    """Read what random numbers begin with."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no seed; expected a whole number from 0")
    return int(text)


def from_one(what: str) -> Callable[[str], int]:
    """Return what reads a whole number from 1 of `what`."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < 1:
            raise argparse.ArgumentTypeError(f"{text!r} is no number of {what}; expected a whole number from 1")
        return int(text)

    return read


def kind_of(text: str) -> tuple[str, str]:
    """Read what a column is said to be."""
    name, found, kind = text.rpartition("=")
    if not found:
        raise Refused(f"--kind {text!r} names no kind; expected COLUMN=KIND, such as {text}=categorical")
    return name, kind


def require_file(file: Path) -> None:
    """Refuse what is no file, naming the nearest that is."""
    if not os.path.isfile(file):  # a name that no system allows is none too: pathlib would raise what is wrong with it
        there = os.listdir(file.parent) if os.access(file.parent, os.R_OK) and os.path.isdir(file.parent) else ()
        hint = nearest(file.name, (name for name in there if os.path.isfile(file.parent / name)))
        raise Refused(f"there is no file {str(file)[:300]!r}{hint}")


class Progress:
    """Says how far it is, on one line of a terminal that changes, or every few seconds."""

    def __init__(self) -> None:
        self._said, self._shown = 0.0, 0

    def rows(self, what: str, rows: int) -> None:
        """Tell of how many rows something is done."""
        now, terminal = time.monotonic(), sys.stderr.isatty()
        if now - self._said < (0.2 if terminal else 10.0):
            return
        self._said, text = now, f"{what}: {rows:,} rows"
        print(
            f"\r{text.ljust(self._shown)}" if terminal else text,
            end="" if terminal else "\n",
            file=sys.stderr,
            flush=True,
        )
        self._shown = len(text) if terminal else 0

    def line(self, *lines: str) -> None:
        """Print lines in place of what was told."""
        if self._shown:
            print(f"\r{' ' * self._shown}\r", end="", file=sys.stderr, flush=True)
            self._shown = 0
        for text in lines:
            print(text, flush=True)
