"""Rows with more or fewer cells than the table has columns: read, mended, counted, and refused only if they are many.

    fewer cells                     the missing ones are empty        fits
    more, and the surplus is empty  the surplus is dropped            fits
    more                            the surplus is dropped            does not fit

More than 1 % of rows that do not fit mean that the layout was taken for another, so the table is refused.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

from alrviz.data.numbers import short
from alrviz.data.quotes import split_record
from alrviz.data.text import TextColumn
from alrviz.errors import TableError

MAX_UNFIT_SHARE = 0.01
NAMED_LINES = 10  # of rows that do not fit, in a refusal


class UnevenRow(NamedTuple):
    """A row as it was mended: its number among all records (from 0), its cells, and what was done."""

    record: int
    cells: list[str]
    change: str  # "padded", "trimmed" or "cut"
    text: str


class UnevenRows:
    """The uneven rows of a text of `width` columns, in order: the handler of pyarrow's CSV reader, which skips them."""

    def __init__(self, width: int, delimiter: str):
        self.width, self.delimiter = width, delimiter
        self.rows: list[UnevenRow] = []

    def take(self, row: "pa.csv.InvalidRow") -> str:
        """Mend a row and have the parser skip it."""
        cells = split_record(row.text, self.delimiter)
        surplus = [cell for cell in cells[self.width :] if cell.strip()]
        change = "padded" if len(cells) < self.width else "cut" if surplus else "trimmed"
        cells = [*cells, *[""] * (self.width - len(cells))][: self.width]
        self.rows.append(UnevenRow(row.number - 1, cells, change, row.text))
        return "skip"

    def check(self, n_rows: int, line_of: Callable[[int], int]) -> list[str]:
        """Return a note for each change, with the first line; `line_of` gives the line of a record (from 1).

        Raises `TableError` where more than 1 % of `n_rows` have a surplus that is not empty.
        """
        changes = {
            change: [row for row in self.rows if row.change == change] for change in ("padded", "trimmed", "cut")
        }
        unfit = changes["cut"]
        if len(unfit) > max(1, MAX_UNFIT_SHARE * n_rows):
            lines = [f"line {line_of(row.record + 1):,}: {short(row.text)}" for row in unfit[:NAMED_LINES]]
            raise TableError(
                f"{len(unfit):,} of {n_rows:,} lines have more than {self.width} cells at the delimiter "
                f"{self.delimiter!r}, which as many were expected; the first are {'; '.join(lines)}"
            )
        what = {
            "padded": "fewer cells than there are columns: the missing ones were read as empty",
            "trimmed": "empty cells beyond the last column, which were dropped",
            "cut": "more cells than there are columns: the surplus was dropped",
        }
        return [
            f"{len(rows):,} {'line has' if len(rows) == 1 else 'lines have'} {words} (first line "
            f"{line_of(rows[0].record + 1):,})"
            for change, words in what.items()
            if (rows := [row for row in self.rows if row.change == change])
        ]

    def insert(self, place: int, codes: np.ndarray, levels: pa.Array) -> TextColumn:
        """Return a column of the rows that fit, codes (N,) into levels, with the mended rows' cells at their places."""
        if not self.rows:
            return TextColumn("", codes, levels)
        texts = pa.array([row.cells[place] for row in self.rows], type=pa.string())
        joined = pa.concat_arrays([levels.cast(pa.string()), texts]).dictionary_encode()
        lookup = joined.indices.to_numpy()
        at = [row.record - k for k, row in enumerate(self.rows)]
        merged = np.insert(lookup[: len(levels)][codes], at, lookup[len(levels) :])
        return TextColumn("", merged.astype(np.int32), joined.dictionary)
