"""Linked histograms: the columns of a table as bars, and the number of selected rows in each bar.

A column is binned once: every row gets a cell = bar * C + class, with C classes (those beyond `MAX_CLASSES` are
merged). A selection is a set of bars in some columns; a row is selected if it is in one of these bars in each of these
columns. Counting is one `bincount` of the cells of the selected rows per column; only counts go to the browser.

HoloViews' `link_selections` filters the table for each histogram and draws all again: 35 s per selection for 20
columns and 500,000 rows, against 0.05 s here.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from alrviz.explorer.session.row_filter import RowFilter, as_numbers, range_text
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.data.table import Table

MAX_BARS = 24
MAX_CLASSES = 12


@dataclass(frozen=True, eq=False)
class BinnedColumn:
    """A column as bars.

    Attributes:
        labels: a text per bar; the last is "missing" if values are.
        codes: (N,) uint8, the bar of each row.
        cells: (N,) uint16, bar * C + class of each row.
        ordered: whether bars are ranges of numbers; other bars are levels.
    """

    labels: tuple[str, ...]
    codes: np.ndarray
    cells: np.ndarray
    ordered: bool


class LinkedColumns:
    """Counts of a data set's rows by bar and class; a column is binned when it is first used.

    Args:
        dataset: the data set; it may have some rows of `original` only.
        original: the table as it was read; filters refer to its levels.

    Attributes:
        classes: indices of the classes with a group of their own, ascending; the largest ones.
        merged: whether the last group is all other classes.
        n_groups: number of groups (C in shapes).
    """

    def __init__(self, dataset: "Dataset", original: "Table"):
        self.dataset, self._original = dataset, original
        y = dataset.labels.cat.codes.to_numpy()
        by_size = np.argsort(-np.bincount(y, minlength=dataset.n_classes), kind="stable")
        self.merged = dataset.n_classes > MAX_CLASSES
        self.classes = np.sort(by_size[: MAX_CLASSES - 1] if self.merged else by_size)
        bar_class_by_class = np.full(dataset.n_classes, len(self.classes), dtype=np.uint16)
        bar_class_by_class[self.classes] = np.arange(len(self.classes))
        self.n_groups = len(self.classes) + self.merged
        self._y = bar_class_by_class[y]
        self._binned: dict[int, BinnedColumn] = {}

    def column(self, position: int) -> BinnedColumn:
        """Return a column's bars."""
        if position not in self._binned:
            series = self.dataset.frame.iloc[:, position]
            codes, labels, ordered = _bin_levels(series) if _is_levels(series) else _bin_numbers(series)
            cells = codes.astype(np.uint16) * np.uint16(self.n_groups) + self._y
            self._binned[position] = BinnedColumn(labels, codes, cells, ordered)
        return self._binned[position]

    def rows(self, picks: Mapping[int, Collection[int]]) -> np.ndarray:
        """Return the positions (M,) of the rows that are in a picked bar of every column with picks."""
        keep = np.ones(self.dataset.n_rows, dtype=bool)
        for position, bars in picks.items():
            keep &= self._picked(position, bars).take(self.column(position).codes)
        return np.flatnonzero(keep)

    def _picked(self, position: int, bars: Collection[int]) -> np.ndarray:
        """Return which of a column's bars (B,) are picked."""
        picked = np.zeros(len(self.column(position).labels), dtype=bool)
        picked[list(bars)] = True
        return picked

    def counts(self, position: int, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the number of rows (bars, C) of a column by bar and class; of all rows, or of positions (M,)."""
        column = self.column(position)
        cells = column.cells if rows is None else column.cells.take(rows)  # six times as fast as a mask
        return np.bincount(cells, minlength=len(column.labels) * self.n_groups).reshape(-1, self.n_groups)

    def select(
        self, positions: Collection[int], picks: Mapping[int, Collection[int]], stop: StopToken = NEVER
    ) -> "LinkedSelection":
        """Return the rows of a selection, counted in some columns and by class, and the filters that keep them."""
        rows, counts = self.rows(picks), {}
        for position in positions:
            stop.check()
            counts[position] = self.counts(position, rows)
        codes = self.dataset.labels.cat.codes.to_numpy().take(rows)
        filters = tuple(self.filter_of(position, bars) for position, bars in picks.items())
        return LinkedSelection(counts, np.bincount(codes, minlength=self.dataset.n_classes), filters)

    def filter_of(self, position: int, bars: Collection[int]) -> RowFilter:
        """Return the filter that keeps the rows of these bars of a column."""
        series, column = self.dataset.frame.iloc[:, position], self.column(position)
        picked = self._picked(position, bars)
        missing = bool(picked[-1]) and column.labels[-1] == "missing" and bool(series.isna().any())
        if _is_levels(series):
            codes = np.unique(series.cat.codes.to_numpy()[picked[column.codes]])
            names = series.cat.categories[codes[codes >= 0]]
            levels = self._original.values[position].series.cat.categories.get_indexer(names)
            return RowFilter(position, levels=tuple(map(int, levels)), missing=missing)
        numbers, ranges = as_numbers(series), list[tuple[float, float]]()
        is_present = ~np.isnan(numbers)
        for bar in np.flatnonzero(picked):
            bar_values = numbers[(column.codes == bar) & is_present]
            if len(bar_values) and ranges and bar - 1 in bars:
                ranges[-1] = (ranges[-1][0], float(bar_values.max()))
            elif len(bar_values):
                ranges.append((float(bar_values.min()), float(bar_values.max())))
        return RowFilter(position, ranges=tuple(ranges), missing=missing)


@dataclass(frozen=True, eq=False)
class LinkedSelection:
    """The selected rows.

    Attributes:
        counts: number of selected rows (bars, C) by bar and group of classes, by position of the column.
        classes: number of selected rows of each class.
        filters: keep these rows.
    """

    counts: dict[int, np.ndarray]
    classes: np.ndarray
    filters: tuple[RowFilter, ...]

    @property
    def n_rows(self) -> int:
        """The number of selected rows."""
        return int(self.classes.sum())


def _is_levels(series: pd.Series) -> bool:
    return isinstance(series.dtype, pd.CategoricalDtype)


def _bin_levels(series: pd.Series) -> tuple[np.ndarray, tuple[str, ...], bool]:
    """Return bars, labels and False: a bar per level, or per frequent level and one for the others; then missing."""
    codes, categories = series.cat.codes.to_numpy(), [str(level) for level in series.cat.categories]
    counts = np.bincount(codes[codes >= 0], minlength=len(categories))
    order = np.argsort(-counts, kind="stable")
    single = order if len(order) <= MAX_BARS else order[: MAX_BARS - 1]
    if series.cat.ordered or len(order) <= MAX_BARS:
        single = np.sort(single)
    bar = np.full(len(categories) + 1, len(single), dtype=np.uint8)
    bar[single] = np.arange(len(single))
    labels = [categories[level] for level in single]
    if len(single) < len(categories):
        labels.append(f"{len(categories) - len(single):,} other levels")
    if (codes < 0).any():
        bar[-1] = len(labels)
        labels.append("missing")
    return bar[codes], tuple(labels), False


def _bin_numbers(series: pd.Series) -> tuple[np.ndarray, tuple[str, ...], bool]:
    """Return bars, labels and True: a bar per value if they are few, else intervals of equal width; then missing."""
    numbers = as_numbers(series)
    is_present = ~np.isnan(numbers)
    values = numbers if is_present.all() else numbers[is_present]
    minimum, maximum = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    edges = np.linspace(minimum, maximum, MAX_BARS + 1)
    width = (maximum - minimum) / MAX_BARS
    if minimum == maximum or not np.isfinite(width):
        distinct = np.array([minimum]) if len(values) else np.empty(0)
    else:
        distinct = np.unique(values[:100_000])  # usually shows already that there are many values
        distinct = np.unique(values) if len(distinct) <= MAX_BARS else distinct
    codes = np.zeros(len(numbers), dtype=np.uint8)
    if len(distinct) <= MAX_BARS:
        codes[is_present] = np.searchsorted(distinct, values)
        labels = [range_text(value, value, series.dtype) for value in distinct]
    else:
        codes[is_present] = np.minimum((values - minimum) / width, MAX_BARS - 1).astype(np.uint8)
        labels = [range_text(edges[k], edges[k + 1], series.dtype) for k in range(MAX_BARS)]
    if not is_present.all():
        codes[~is_present] = len(labels)
        labels.append("missing")
    return codes, tuple(labels), True
