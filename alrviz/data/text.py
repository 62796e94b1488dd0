"""Columns of text, and what in them stands for a missing value.

Text arrives as a dictionary, `levels` (the distinct texts) and `codes` (one per row, -1 is missing), because every
question asked here (is this a number? a gap? a date?) is then asked of the distinct texts alone: the 300,000 rows of a
column of three levels cost three answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from alrviz.data.options import MISSING
from alrviz.stop import NEVER, StopToken

# A number in any convention: tells a column of numbers with gaps from one of words before the convention is known.
MARKS = r".,' \x{00a0}\x{202f}\x{2019}"
NUMBERLIKE = rf"^[+-]?[0-9{MARKS}]*[0-9][0-9{MARKS}]*([eE][+-]?[0-9]+)?$"


@dataclass(frozen=True, slots=True)
class TextColumn:
    """One column of text: `codes` (N,) int32 into `levels`, -1 for missing; every level occurs, none twice."""

    name: str
    codes: np.ndarray
    levels: pa.Array

    @classmethod
    def of(cls, name: str, codes: np.ndarray, levels: pa.Array) -> "TextColumn":
        """Make a column of raw codes and levels: trims spaces, joins levels, drops what never occurs."""
        trimmed = pc.utf8_trim_whitespace(levels)
        seen = np.bincount(codes[codes >= 0], minlength=len(levels)) > 0
        if seen.all() and trimmed.equals(levels) and pc.count_distinct(levels).as_py() == len(levels):
            return cls(name, codes, levels)
        joined = trimmed.filter(pa.array(seen)).dictionary_encode()
        lookup = np.full(len(levels) + 1, -1, dtype=np.int32)  # the last entry answers code -1
        lookup[:-1][seen] = joined.indices.to_numpy()
        return cls(name, lookup[codes], joined.dictionary)

    @classmethod
    def from_values(cls, name: str, values: Sequence[str | None]) -> "TextColumn":
        """Make a column of Python strings, None for missing."""
        return cls.from_arrow(name, pa.array(values, type=pa.string()))

    @classmethod
    def from_arrow(cls, name: str, texts: pa.Array) -> "TextColumn":
        """Make a column of an arrow array of strings, null for missing."""
        encoded = texts.dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
        return cls.of(name, codes, encoded.dictionary)

    def without(self, tokens: Sequence[str]) -> "TextColumn":
        """Return the column with the levels in `tokens` made missing."""
        gone = pc.is_in(self.levels, value_set=pa.array(tokens, type=pa.string())).to_numpy(zero_copy_only=False)
        if not gone.any():
            return self
        lookup = np.append(np.where(gone, -1, np.cumsum(~gone) - 1), -1).astype(np.int32)
        return TextColumn(self.name, lookup[self.codes], self.levels.filter(pa.array(~gone)))

    def first_row(self, level: int) -> int:
        """Return the first data row (counted from 1) with this level."""
        return int(np.argmax(self.codes == level)) + 1

    def categorical(self) -> pd.Series:
        """Return the column as a categorical Series of strings, levels sorted."""
        order = pc.sort_indices(self.levels).to_numpy()
        rank = np.empty(len(order) + 1, dtype=np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        rank[-1] = -1
        categories = self.levels.take(pa.array(order)).to_pylist()
        return pd.Series(pd.Categorical.from_codes(rank[self.codes], categories=text_index(categories)), name=self.name)


def text_index(levels: Sequence[str]) -> pd.Index:
    """Return levels as an Index of strings, also where there are none."""
    return pd.Index(levels) if len(levels) else pd.Index([], dtype=object)


def detect_missing(columns: Sequence[TextColumn], stop: StopToken = NEVER) -> tuple[tuple[str, ...], list[str]]:
    """Return the texts that stand for missing in this table, the empty one first, and notes about doubtful ones.

    Every text of `MISSING` that occurs counts, but "-" only where it cannot be a level: in a column of numbers, or of
    words; a column of signs (+, -) or single letters has it as a level, and then it is one in the whole table.
    """
    present: set[str] = set()
    dash_gap: list[str] = []
    dash_level: list[str] = []
    candidates = pa.array(MISSING, type=pa.string())
    for column in columns:
        stop.check()
        found = column.levels.filter(pc.is_in(column.levels, value_set=candidates)).to_pylist()
        present.update(found)
        if "-" in found:
            (dash_gap if _dash_is_gap(column, found) else dash_level).append(column.name)
    notes = []
    if dash_level:
        present.discard("-")
        if dash_gap:
            notes.append(f"'-' is a level of {dash_level[0]!r}, so it was kept as a level in {dash_gap[0]!r} too")
    return ("", *(token for token in MISSING if token and token in present)), notes


def _dash_is_gap(column: TextColumn, found: Sequence[str]) -> bool:
    others = column.levels.filter(pc.invert(pc.is_in(column.levels, value_set=pa.array(found, type=pa.string()))))
    if len(others) == 0:
        return False
    if pc.all(pc.match_substring_regex(others, NUMBERLIKE)).as_py():
        return True
    return bool(pc.min(pc.utf8_length(others)).as_py() > 1)
