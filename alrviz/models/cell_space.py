"""The cell space of order n: its tuples and cells, known before anything is allocated.

A tuple is a set of n of the a columns, a cell is a tuple with one level chosen per column. Cells are numbered tuple by
tuple, tuples in lexicographic order, the last column of a tuple fastest:

    cell_t(x) = first[t] + sum_j code_j(x) * stride[t, j]        card(t) = product of the levels of t's columns
    number of parameters p = C + C * e_n(levels)                 e_n the elementary symmetric polynomial   (MODELS:
    [ALR] 3)
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alrviz.errors import MemoryLimitError, RecipeError
from alrviz.memory import free_memory

# Cells are numbered in 64 bits. Only those that occur are stored, so that this does not bound memory.
MAX_CELLS = 2**62
# A tuple along smooth levels keeps all its cells up to this number: a few thousand weights cost less than a pass.
MAX_GRID_CELLS = 4096
# A list of tuples of so few bytes is not compared with the free memory.
_UNCHECKED_BYTES = 2**24


def count_cells(levels: ArrayLike, order: int) -> int:
    """Return the number of cells of all tuples of `order` columns, e_n(levels), exactly, in O(a n) steps; levels (a,).

    >>> count_cells([4] * 54 + [5] * 2, 2) * 3 + 3
    75246
    """
    sums = [1] + [0] * order
    for level in np.asarray(levels).tolist():
        for k in range(order, 0, -1):
            sums[k] += int(level) * sums[k - 1]
    return sums[order]


def check_order(n_columns: int, order: int) -> None:
    """Raise `RecipeError` if `n_columns` columns have no tuples of that order."""
    if order > n_columns:
        raise RecipeError(
            f"order={order} needs at least {order} columns, and there {'is' if n_columns == 1 else 'are'} {n_columns}; "
            f"the highest order here is {n_columns}"
        )


def _check_memory(n_columns: int, order: int) -> None:
    """Raise `MemoryLimitError` if listing the tuples of `order` columns needs more than half of the free memory."""
    n_tuples = comb(n_columns, order)
    needed_bytes = n_tuples * (
        20 * order + max(24, 8 * order - 8)
    )  # tuples, cards of columns, strides, and temporary arrays
    if needed_bytes <= _UNCHECKED_BYTES:
        return
    allowed_bytes = free_memory() // 2
    if needed_bytes > allowed_bytes:
        raise MemoryLimitError(
            f"order {order} of {n_columns} columns has {n_tuples:,} tuples, whose list takes about "
            f"{needed_bytes / 2**20:,.0f} MiB, and {allowed_bytes / 2**20:,.0f} MiB may be used; choose a lower order "
            "or fewer columns",
            needed_bytes,
            allowed_bytes,
        )


@dataclass(frozen=True, eq=False)
class Space:
    """Tuples of columns and the numbers of their cells; a subclass defines which tuples.

    Attributes:
        levels: (a,) number of levels of each column.
        tuples: (T, n) int32 columns.
        strides: (T, n) what a level of each column adds to the number of a cell within its tuple.
        cards: (T,) number of cells of each tuple.
        first: (T,) number of each tuple's first cell.
        n_cells: number of all cells.
    """

    levels: NDArray[np.int64]
    tuples: NDArray[np.int32] = field(init=False, repr=False)
    strides: NDArray[np.int64] = field(init=False, repr=False)
    cards: NDArray[np.int64] = field(init=False, repr=False)
    first: NDArray[np.int64] = field(init=False, repr=False)
    n_cells: int = field(init=False)

    def _set_fields(self, **values: Any) -> None:
        """Set the fields; `first` and `n_cells` follow from `cards`, which fit an int64 together."""
        cell_ends = np.cumsum(np.append(0, values["cards"]))
        values |= {"first": cell_ends[:-1], "n_cells": int(cell_ends[-1])}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def n_tuples(self) -> int:
        """Number of tuples, T."""
        return len(self.tuples)

    def n_parameters(self, n_classes: int) -> int:
        """Number of parameters: one per cell and class, one per class."""
        return n_classes * (1 + self.n_cells)

    def tuple_of(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the tuple, (m,), that each of the cells (m,) belongs to."""
        return np.searchsorted(self.first, cells, side="right") - 1

    @property
    def members(self) -> list[list[int]]:
        """The distinct columns of each tuple."""
        return [list(dict.fromkeys(columns)) for columns in self.tuples.tolist()]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """(T,) distinct columns of each tuple."""
        return (self.strides > 0).sum(axis=1)

    @property
    def numbers(self) -> dict[tuple[int, ...], int]:
        """The number of each tuple, by its columns."""
        return {tuple(columns): t for t, columns in enumerate(self.members)}

    def cards_of(self, levels: NDArray[Any]) -> NDArray[Any]:
        """Return the cells (T,) of each tuple if columns had other numbers of levels (a,), in their dtype."""
        return np.where(self.strides > 0, levels[self.tuples], 1).prod(axis=1)

    def codes_of(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (m, n) the level of each column of the tuple, for each of the cells (m,)."""
        t = self.tuple_of(cells)
        strides = np.maximum(self.strides[t], 1)  # only the last column of a tuple is repeated, and its stride is 1
        return (cells - self.first[t])[:, None] // strides % self.levels[self.tuples[t]]

    def cells_at(self, tuple_numbers: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cells (m,) of tuples `tuple_numbers` (m,) at levels `codes` (m, n) of their first n columns."""
        return self.first[tuple_numbers] + (codes * self.strides[tuple_numbers, : codes.shape[1]]).sum(axis=1)


@dataclass(frozen=True, eq=False)
class CellSpace(Space):
    """All tuples of `order` columns, each ascending, and their cells."""

    order: int

    def __post_init__(self) -> None:
        levels = np.array(self.levels, np.int64)  # a copy, because kernels compile once more for read-only arrays
        a, n = len(levels), self.order
        check_order(a, n)
        n_cells = count_cells(levels, n)
        if n_cells > MAX_CELLS:
            raise MemoryLimitError(
                f"order {n} has {n_cells:,} cells here; at most {MAX_CELLS:,} can be numbered; choose a lower "
                "order or fewer levels",
                n_cells * 16,
                MAX_CELLS * 16,
            )
        _check_memory(a, n)
        tuples = ascending_tuples(a, n)
        card = levels[tuples]
        strides = np.ones_like(card)
        strides[:, :-1] = np.cumprod(card[:, :0:-1], axis=1)[:, ::-1]
        self._set_fields(levels=levels, tuples=tuples, strides=strides, cards=card.prod(axis=1))

    @property
    def gamma(self) -> float:
        """AnJE's exponent 1 / C(a - 1, n - 1), with which each column counts once in all."""
        return 1.0 / comb(len(self.levels) - 1, self.order - 1)

    def __reduce__(self) -> tuple[type, tuple[NDArray[np.int64], int]]:
        return CellSpace, (self.levels, self.order)


def ascending_tuples(a: int, n: int) -> NDArray[np.int32]:
    """Return (C(a, n), n) all ascending tuples of n of a columns, in lexicographic order."""
    tuples = np.arange(a, dtype=np.int32)[:, None]
    for _ in range(n - 1):
        last_column = tuples[:, -1]
        n_following = a - 1 - last_column
        tuple_ends = np.cumsum(n_following, dtype=np.int64)
        following = np.arange(tuple_ends[-1]) + np.repeat(last_column + 1 - (tuple_ends - n_following), n_following)
        tuples = np.column_stack([np.repeat(tuples, n_following, axis=0), following.astype(np.int32)])
    return tuples


@dataclass(frozen=True, eq=False)
class TupleSpace(Space):
    """The cells of given tuples, of one or several sizes.

    In `tuples` one with fewer columns than the largest repeats its last column, with stride 0.

    Raises:
        MemoryLimitError: there are more cells than can be numbered.
    """

    given_tuples: Sequence[Sequence[int]]

    def __post_init__(self) -> None:
        levels, largest_size = np.array(self.levels, np.int64), max(map(len, self.given_tuples), default=1)
        cards = [
            prod(levels[list(columns)].tolist()) for columns in self.given_tuples
        ]  # Python's numbers do not overflow
        if sum(cards) > MAX_CELLS:
            raise MemoryLimitError(
                f"{len(cards)} tuples of up to {largest_size} columns have {sum(cards):,} cells; at most "
                f"{MAX_CELLS:,} can be numbered; choose fewer columns a tuple or fewer levels",
                sum(cards) * 16,
                MAX_CELLS * 16,
            )
        strides = np.zeros((len(cards), largest_size), np.int64)
        for row, columns in zip(strides, self.given_tuples, strict=True):
            row[: len(columns)] = np.append(np.cumprod(levels[list(columns)][:0:-1])[::-1], 1)
        padded = [[*t, *[t[-1]] * (largest_size - len(t))] for t in self.given_tuples]
        tuples = np.array(padded, np.int32).reshape(-1, largest_size)
        self._set_fields(levels=levels, tuples=tuples, strides=strides, cards=np.array(cards, np.int64))

    @property
    def order(self) -> int:
        """Number of columns of the largest tuple, n."""
        return self.tuples.shape[1]

    @property
    def gamma(self) -> float:
        """AnJE's exponent, with which the columns of the tuples count once on average; compare `CellSpace`."""
        return len(np.unique(self.tuples)) / max(1, sum(map(len, self.given_tuples)))

    @property
    def has_parts(self) -> bool:
        """Whether all subtuples of every tuple are among the tuples."""
        all_tuples = set(map(tuple, self.members))
        return all(
            t in all_tuples
            for columns in all_tuples
            for k in range(len(columns))
            if (t := (*columns[:k], *columns[k + 1 :]))
        )


@dataclass(frozen=True, eq=False)
class OrdersSpace(TupleSpace):
    """All tuples of one column, of two, ... and of n; see `AllOrders`.

    Attributes:
        columns: (a',) the columns of tuples, ascending.
    """

    columns: NDArray[np.intp]

    @property
    def n_lower(self) -> int:
        """Number of tuples with fewer than n columns; they come first."""
        return self.n_tuples - comb(len(self.columns), self.order)


@dataclass(frozen=True)
class AllOrders:
    """All tuples of one to `order` columns that have several levels.

    Constant columns are skipped: a tuple that contains one duplicates the tuple without it, and the pair would share
    one penalty. With `skip_missing`, where a missing value is no level, all columns are used, because a constant column
    may still tell by its missing values.
    """

    order: int
    skip_missing: bool = False


@dataclass(frozen=True)
class SelectedCells:
    """Selected cells of tuples of one size; all others count as never seen.

    Attributes:
        tuples: the tuples.
        parts: other tuples with one column less, or the same tuples.
        cell_bytes: int64 as bytes, ascending: the selected cells of `parts`, numbered as in their `TupleSpace`.
        needs_all_parts: with smaller parts: whether a cell counts if all its parts are selected, or if one is.
    """

    tuples: tuple[tuple[int, ...], ...]
    parts: tuple[tuple[int, ...], ...]
    cell_bytes: bytes
    needs_all_parts: bool = False

    @property
    def cells(self) -> NDArray[np.int64]:
        """Numbers of the selected cells of `parts`, ascending, as in the `TupleSpace` of `parts`."""
        return np.frombuffer(self.cell_bytes, np.int64)

    def select(self, space: Space, seen_cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of the seen cells (S,) of the tuples, ascending, that count."""
        if self.parts == self.tuples:
            return np.intersect1d(seen_cells, self.cells, assume_unique=True)
        part_space, codes = TupleSpace(space.levels, self.parts), space.codes_of(seen_cells)
        part_numbers, n_selected_parts = part_space.numbers, np.zeros(len(seen_cells), np.int64)
        for dropped_index in range(codes.shape[1]):
            smaller_tuples = [(*t[:dropped_index], *t[dropped_index + 1 :]) for t in self.tuples]
            part_of_tuples = np.array([part_numbers.get(columns, -1) for columns in smaller_tuples])
            part_of_cell = part_of_tuples[space.tuple_of(seen_cells)]
            cells = part_space.cells_at(part_of_cell, np.delete(codes, dropped_index, axis=1))
            n_selected_parts += (part_of_cell >= 0) & np.isin(cells, self.cells)
        return (
            seen_cells[n_selected_parts == codes.shape[1]] if self.needs_all_parts else seen_cells[n_selected_parts > 0]
        )


def has_full_grid(space: Space, ordered_levels: NDArray[np.int64] | None) -> NDArray[np.bool_]:
    """Return which tuples (T,) keep all of their cells: those of up to MAX_GRID_CELLS with a smooth column.

    A column is smooth if it has ordered_levels (a,) above 1: its first so many levels are ordered.
    """
    if ordered_levels is None:
        return np.zeros(space.n_tuples, bool)
    smooth = (space.strides > 0) & (ordered_levels[space.tuples] > 1)
    return np.logical_and(np.logical_or.reduce(smooth, axis=1), space.cards <= MAX_GRID_CELLS)


def add_grid_cells(space: Space, ordered_levels: NDArray[np.int64], seen_cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the seen cells (S,), ascending, and all other cells of tuples that `has_full_grid`, of ordered_levels
    (a,).

    Weights of neighbouring cells are smoothed, so that a cell without rows has a weight too.
    """
    has_grid = has_full_grid(space, ordered_levels)
    grids = [
        np.arange(first_cell, first_cell + n_cells)
        for first_cell, n_cells in zip(space.first[has_grid], space.cards[has_grid], strict=True)
    ]
    return np.union1d(seen_cells, np.concatenate(grids)) if grids else seen_cells


AnySpace = CellSpace | TupleSpace
# All tuples of n columns, all of one to n, given tuples, or selected cells of given tuples.
Tuples = int | AllOrders | SelectedCells | tuple[tuple[int, ...], ...]


def tuple_columns(levels: NDArray[np.int64], tuples: int | AllOrders) -> NDArray[np.intp]:
    """Return the columns (a',) that tuples are made of, by the columns' levels (a,); for `AllOrders` the informative
    ones.

    If no column is informative, all are returned.
    """
    informative = (
        informative_columns(levels, tuples.skip_missing) if isinstance(tuples, AllOrders) else np.empty(0, np.intp)
    )
    return informative if len(informative) else np.arange(len(levels))


def informative_columns(levels: NDArray[np.int64], skip_missing: bool) -> NDArray[np.intp]:
    """Return the columns (a',) that may tell the class: with several of the levels (a,), or all columns with
    `skip_missing`.
    """
    return np.flatnonzero((levels > 1) | skip_missing)


def tuple_sizes(tuples: int | AllOrders, n_columns: int) -> range:
    """Return the numbers of columns that tuples of n_columns columns have."""
    if isinstance(tuples, AllOrders):
        return range(1, min(tuples.order, n_columns) + 1)
    return range(tuples, tuples + 1)


def space_of(levels: NDArray[np.int64], tuples: Tuples) -> AnySpace:
    """Return the cell space of tuples of columns with these levels (a,)."""
    if isinstance(tuples, int):
        return CellSpace(levels, tuples)
    if isinstance(tuples, AllOrders):
        check_order(len(levels), tuples.order)
        used_columns = tuple_columns(levels, tuples)
        sizes = (
            used_columns[ascending_tuples(len(used_columns), size)].tolist()
            for size in tuple_sizes(tuples, len(used_columns))
        )
        return OrdersSpace(levels, [columns for tuples_of_size in sizes for columns in tuples_of_size], used_columns)
    return TupleSpace(levels, tuples.tuples if isinstance(tuples, SelectedCells) else tuples)


def select_cells(tuples: Tuples, space: Space, seen_cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the seen cells (S,), ascending, that a model has: those of a `SelectedCells`, else all."""
    return tuples.select(space, seen_cells) if isinstance(tuples, SelectedCells) else seen_cells
