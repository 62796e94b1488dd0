"""Filters by which a visitor keeps rows of a table: as text of a link, as a mask of rows, in words.

A link holds "3v20:39v-1:-1_4l0.2_6m": of column 3 the numbers from 20 to 39, or -1; of column 4 the first and the third
level; of column 6 the rows without a value. Rows have to pass every filter. Positions of columns and levels are
those of the table as it was read, so that they do not depend on what is kept.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from alrviz.errors import TableError

if TYPE_CHECKING:
    from alrviz.data.dataset import Table

MAX_FILTERS = 32
MAX_LEVELS = 400  # of one filter: longer links are cut by mail programs
MAX_LEVELS_IN_WORDS = 4
_PATTERN = re.compile(
    r"(\d{1,5})((?:v[-+.0-9e]{1,24}:[-+.0-9e]{1,24}){0,64})(?:l(\d{1,6}(?:\.\d{1,6})*))?(m?)", re.ASCII
)


@dataclass(frozen=True)
class RowFilter:
    """The values of one column that are kept.

    Attributes:
        position: of the column.
        ranges: of numbers, both ends included; dates as microseconds since 1970.
        levels: positions among the column's levels.
        missing: whether rows without a value are kept.
    """

    position: int
    ranges: tuple[tuple[float, float], ...] = ()
    levels: tuple[int, ...] = ()
    missing: bool = False

    def mask(self, series: pd.Series) -> np.ndarray:
        """Return which rows (N,) of the column are kept."""
        if isinstance(series.dtype, pd.CategoricalDtype):
            kept = np.zeros(len(series.cat.categories) + 1, dtype=bool)  # the last is code -1, a missing value
            kept[[level for level in self.levels if level < len(kept) - 1]] = True
            kept[-1] = self.missing
            return kept[series.cat.codes.to_numpy()]
        numbers = as_numbers(series)
        result = np.isnan(numbers) if self.missing else np.zeros(len(numbers), dtype=bool)
        for low, high in self.ranges:
            result |= (numbers >= low) & (numbers <= high)
        return result

    def words(self, series: pd.Series) -> str:
        """Return the values kept as text, such as "20 to 39 or missing"."""
        if isinstance(series.dtype, pd.CategoricalDtype):
            names = [str(series.cat.categories[k]) for k in self.levels if k < len(series.cat.categories)]
            more = len(names) - MAX_LEVELS_IN_WORDS
            parts = names[:MAX_LEVELS_IN_WORDS] + ([f"{more:,} others"] if more > 0 else [])
        else:
            parts = [range_text(low, high, series.dtype) for low, high in self.ranges]
        return " or ".join([*parts, *(["missing"] if self.missing else [])])


def as_numbers(series: pd.Series) -> np.ndarray:
    """Return a column of numbers or dates as float64; dates as microseconds since 1970, missing values as NaN."""
    if not pd.api.types.is_datetime64_any_dtype(series.dtype):
        return series.to_numpy(dtype=np.float64)
    dates = series.to_numpy(dtype="datetime64[us]")
    return np.where(np.isnat(dates), np.nan, dates.astype(np.int64).astype(np.float64))


def range_text(low: float, high: float, dtype: object) -> str:
    """Return a range of a column of this dtype for people."""
    if pd.api.types.is_datetime64_any_dtype(dtype):
        ends = [
            str(np.datetime64(int(end), "us").astype("datetime64[s]")).removesuffix("T00:00:00") for end in (low, high)
        ]
    else:
        ends = [f"{end:.6g}" for end in (low, high)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def keep_rows(table: "Table", filters: Sequence[RowFilter]) -> "Table":
    """Return the rows of a table that pass all filters, with a note; filters of columns that it lacks are ignored.

    Raises:
        TableError: no row passes.
    """
    filters = [one for one in filters if one.position < len(table.values)]
    if not filters:
        return table
    keep = np.logical_and.reduce([one.mask(table.values[one.position].series) for one in filters])
    words = filters_words(table, filters)
    if not keep.any():
        raise TableError(f"no row of {table.name} has {words}; keep other rows")
    kept = table.where(keep)
    return replace(kept, notes=(*kept.notes, f"{kept.n_rows:,} of {table.n_rows:,} rows are kept: {words}"))


def filters_words(table: "Table", filters: Sequence[RowFilter]) -> str:
    """Return the filters as text, such as "age 20 to 39 and sex f"."""
    columns = [(table.values[one.position], one) for one in filters if one.position < len(table.values)]
    return " and ".join(f"{column.name} {one.words(column.series)}" for column, one in columns)


def write_filters(filters: Sequence[RowFilter]) -> str:
    """Return the filters as a link holds them."""
    return "_".join(
        f"{one.position}"
        + "".join(f"v{low!r}:{high!r}" for low, high in one.ranges)
        + (f"l{'.'.join(map(str, one.levels))}" if one.levels else "")
        + ("m" if one.missing else "")
        for one in filters[:MAX_FILTERS]
    )


def read_filters(text: str) -> tuple[RowFilter, ...]:
    """Return the filters of a link's text; invalid parts are ignored, and reported by `link_errors`."""
    matches = (_PATTERN.fullmatch(part) for part in text.split("_")[:MAX_FILTERS])
    filters = (_filter_of(match) for match in matches if match is not None)
    return tuple(one for one in filters if one is not None and (one.ranges or one.levels or one.missing))


def _filter_of(match: re.Match[str]) -> RowFilter | None:
    try:
        ends = [tuple(map(float, part.split(":"))) for part in match[2].split("v")[1:]]
    except ValueError:  # "1e" or "--"
        return None
    if not all(math.isfinite(end) for pair in ends for end in pair):
        return None
    levels = tuple(map(int, match[3].split("."))) if match[3] else ()
    if len(levels) > MAX_LEVELS:  # the first ones alone would be other rows
        return None
    return RowFilter(int(match[1]), tuple((low, high) for low, high in ends), levels, bool(match[4]))
