"""Filters of a table's rows: as the text of a link, as a mask of rows, in words.

A link holds "3v20:39v-1:-1_4l0.2_6m": the numbers from 20 to 39 or -1 in column 3, the first and the third level of
column 4, and missing values in column 6. A row must pass every filter. Positions of columns and levels refer to the
table as it was read, so that they do not depend on other filters.
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
    from alrviz.data.table import Table

MAX_FILTERS = 32
MAX_LEVELS = 400  # of one filter; mail programs cut longer links
MAX_LEVELS_IN_WORDS = 4
_PATTERN = re.compile(
    r"(\d{1,5})((?:v[-+.0-9e]{1,24}:[-+.0-9e]{1,24}){0,64})(?:l(\d{1,6}(?:\.\d{1,6})*))?(m?)", re.ASCII
)


@dataclass(frozen=True)
class RowFilter:
    """The values of one column that pass.

    Attributes:
        position: the column's position.
        ranges: (low, high) of numbers, both included; dates in microseconds since 1970.
        levels: positions among the column's levels.
        missing: whether missing values pass.
    """

    position: int
    ranges: tuple[tuple[float, float], ...] = ()
    levels: tuple[int, ...] = ()
    missing: bool = False

    def mask(self, series: pd.Series) -> np.ndarray:
        """Return whether each row (N,) of the column passes."""
        if isinstance(series.dtype, pd.CategoricalDtype):
            level_passes = np.zeros(len(series.cat.categories) + 1, dtype=bool)  # the last is code -1, a missing value
            level_passes[[level for level in self.levels if level < len(level_passes) - 1]] = True
            level_passes[-1] = self.missing
            return level_passes[series.cat.codes.to_numpy()]
        numbers = as_numbers(series)
        row_passes = np.isnan(numbers) if self.missing else np.zeros(len(numbers), dtype=bool)
        for low, high in self.ranges:
            row_passes |= (numbers >= low) & (numbers <= high)
        return row_passes

    def words(self, series: pd.Series) -> str:
        """Return the values that pass as text, such as "20 to 39 or missing"."""
        if isinstance(series.dtype, pd.CategoricalDtype):
            level_names = [str(series.cat.categories[k]) for k in self.levels if k < len(series.cat.categories)]
            n_hidden = len(level_names) - MAX_LEVELS_IN_WORDS
            phrases = level_names[:MAX_LEVELS_IN_WORDS] + ([f"{n_hidden:,} others"] if n_hidden > 0 else [])
        else:
            phrases = [range_text(low, high, series.dtype) for low, high in self.ranges]
        return " or ".join([*phrases, *(["missing"] if self.missing else [])])


def as_numbers(series: pd.Series) -> np.ndarray:
    """Return a column of numbers or dates as float64; dates as microseconds since 1970, missing values as NaN."""
    if not pd.api.types.is_datetime64_any_dtype(series.dtype):
        return series.to_numpy(dtype=np.float64)
    dates = series.to_numpy(dtype="datetime64[us]")
    return np.where(np.isnat(dates), np.nan, dates.astype(np.int64).astype(np.float64))


def range_text(low: float, high: float, dtype: object) -> str:
    """Return a range as text; dates for a column of dates."""
    if pd.api.types.is_datetime64_any_dtype(dtype):
        end_texts = [
            str(np.datetime64(int(end), "us").astype("datetime64[s]")).removesuffix("T00:00:00") for end in (low, high)
        ]
    else:
        end_texts = [f"{end:.6g}" for end in (low, high)]
    return end_texts[0] if end_texts[0] == end_texts[1] else f"{end_texts[0]} to {end_texts[1]}"


def filter_rows(table: "Table", filters: Sequence[RowFilter]) -> "Table":
    """Return the rows of a table that pass all filters, with a note; filters of missing columns are ignored.

    Raises:
        TableError: if no row passes.
    """
    filters = [rule for rule in filters if rule.position < len(table.values)]
    if not filters:
        return table
    row_passes = np.logical_and.reduce([rule.mask(table.values[rule.position].series) for rule in filters])
    filters_text = describe_filters(table, filters)
    if not row_passes.any():
        raise TableError(f"no row of {table.name} has {filters_text}; keep other rows")
    filtered_table = table.select_rows(row_passes)
    note = f"{filtered_table.n_rows:,} of {table.n_rows:,} rows are kept: {filters_text}"
    return replace(filtered_table, notes=(*filtered_table.notes, note))


def describe_filters(table: "Table", filters: Sequence[RowFilter]) -> str:
    """Return the filters as text, such as "age 20 to 39 and sex f"."""
    column_filters = [(table.values[rule.position], rule) for rule in filters if rule.position < len(table.values)]
    return " and ".join(f"{column.name} {rule.words(column.series)}" for column, rule in column_filters)


def write_filters(filters: Sequence[RowFilter]) -> str:
    """Return the filters as the text of a link."""
    return "_".join(
        f"{rule.position}"
        + "".join(f"v{low!r}:{high!r}" for low, high in rule.ranges)
        + (f"l{'.'.join(map(str, rule.levels))}" if rule.levels else "")
        + ("m" if rule.missing else "")
        for rule in filters[:MAX_FILTERS]
    )


def read_filters(text: str) -> tuple[RowFilter, ...]:
    """Return the filters of a link's text; invalid parts are ignored, and reported by `link_errors`."""
    matches = (_PATTERN.fullmatch(part) for part in text.split("_")[:MAX_FILTERS])
    filters = (_filter_of(match) for match in matches if match is not None)
    return tuple(rule for rule in filters if rule is not None and (rule.ranges or rule.levels or rule.missing))


def _filter_of(match: re.Match[str]) -> RowFilter | None:
    """Return the filter of a match of `_PATTERN`; None if its numbers are invalid."""
    try:
        range_ends = [tuple(map(float, part.split(":"))) for part in match[2].split("v")[1:]]
    except ValueError:  # "1e" or "--"
        return None
    if not all(math.isfinite(end) for low_high in range_ends for end in low_high):
        return None
    levels = tuple(map(int, match[3].split("."))) if match[3] else ()
    if len(levels) > MAX_LEVELS:  # a part of them would be a different filter
        return None
    return RowFilter(int(match[1]), tuple((low, high) for low, high in range_ends), levels, bool(match[4]))
