"""The cell space of order n: which tuples and cells there are, known before anything is allocated.

A tuple is a set of n of the a columns, a cell a tuple with one level chosen per column. Cells are numbered tuple by
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

# Cells are numbered in 64 bits. Only those that occur are ever stored, so that this is no limit of memory.
MOST_CELLS = 2**62
# Cells of a tuple that are kept although no row has them: a few thousand weights cost less than a pass.
MOST_GRID = 4096
# The list of tuples: so few bytes need no question to the system.
_SMALL = 2**24


def count_cells(levels: ArrayLike, order: int) -> int:
    """Return the number of cells of order n of columns of so many levels (a,), e_n(levels), exactly, in O(a n) steps.

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
    """Raise `MemoryLimitError` where the list of tuples, while it is made, takes more than half of what is free."""
    n_tuples = comb(n_columns, order)
    needed = n_tuples * (20 * order + max(24, 8 * order - 8))  # tuples, cards of columns, strides; and what comes next
    if needed <= _SMALL:
        return
    allowed = free_memory() // 2
    if needed > allowed:
        raise MemoryLimitError(
            f"order {order} of {n_columns} columns has {n_tuples:,} tuples, whose list takes about "
            f"{needed / 2**20:,.0f} MiB, and {allowed / 2**20:,.0f} MiB may be used; choose a lower order or fewer "
            "columns",
            needed,
            allowed,
        )


@dataclass(frozen=True, eq=False)
class Space:
    """Tuples of columns and the numbers of their cells; a subclass says which tuples.

    Attributes:
        levels: (a,) number of levels of each column.
        tuples: (T, n) int32 columns.
        strides: (T, n) what a level of each column adds to the number of a cell within its tuple.
        cards: (T,) number of cells of each tuple.
        first: (T,) number of each tuple's first cell.
        n_cells: cells in all.
    """

    levels: NDArray[np.int64]
    tuples: NDArray[np.int32] = field(init=False, repr=False)
    strides: NDArray[np.int64] = field(init=False, repr=False)
    cards: NDArray[np.int64] = field(init=False, repr=False)
    first: NDArray[np.int64] = field(init=False, repr=False)
    n_cells: int = field(init=False)

    def _set(self, **values: Any) -> None:
        """Set the fields; `first` and the number of cells follow from `cards`, which sum up to an int64."""
        ends = np.cumsum(np.append(0, values["cards"]))
        values |= {"first": ends[:-1], "n_cells": int(ends[-1])}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def n_tuples(self) -> int:
        """Number of tuples, T."""
        return len(self.tuples)

    def tuple_of(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the number of the tuple, (m,), that each of the cells (m,) belongs to."""
        return np.searchsorted(self.first, cells, side="right") - 1

    @property
    def members(self) -> list[list[int]]:
        """The columns of each tuple, none twice."""
        return [list(dict.fromkeys(columns)) for columns in self.tuples.tolist()]

    def cards_of(self, levels: NDArray[Any]) -> NDArray[Any]:
        """Return the cells (T,) of each tuple, had columns so many levels (a,), in their dtype."""
        return np.where(self.strides > 0, levels[self.tuples], 1).prod(axis=1)

    def codes_of(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return (m, n): of each of the cells (m,) the level of each of its tuple's columns."""
        t = self.tuple_of(cells)
        strides = np.maximum(self.strides[t], 1)  # a column that a tuple repeats is its last, whose stride is 1
        return (cells - self.first[t])[:, None] // strides % self.levels[self.tuples[t]]


@dataclass(frozen=True, eq=False)
class CellSpace(Space):
    """All tuples of `order` columns, n, each ascending, and their cells."""

    order: int

    def __post_init__(self) -> None:
        levels = np.array(self.levels, np.int64)  # a copy: one that is only read would have kernels compiled anew
        a, n = len(levels), self.order
        check_order(a, n)
        n_cells = count_cells(levels, n)
        if n_cells > MOST_CELLS:
            raise MemoryLimitError(
                f"order {n} has {n_cells:,} cells here; at most {MOST_CELLS:,} can be numbered; choose a lower "
                "order or fewer levels",
                n_cells * 16,
                MOST_CELLS * 16,
            )
        _check_memory(a, n)
        tuples = ascending_tuples(a, n)
        card = levels[tuples]
        strides = np.ones_like(card)
        strides[:, :-1] = np.cumprod(card[:, :0:-1], axis=1)[:, ::-1]
        self._set(levels=levels, tuples=tuples, strides=strides, cards=card.prod(axis=1))

    @property
    def gamma(self) -> float:
        """AnJE's exponent 1 / C(a - 1, n - 1): each column is then counted once in all."""
        return 1.0 / comb(len(self.levels) - 1, self.order - 1)

    def n_parameters(self, n_classes: int) -> int:
        """Number of parameters: one per cell and class, one per class."""
        return n_classes * (1 + self.n_cells)

    def __reduce__(self) -> tuple[type, tuple[NDArray[np.int64], int]]:
        return CellSpace, (self.levels, self.order)


def ascending_tuples(a: int, n: int) -> NDArray[np.int32]:
    """Return (C(a, n), n): all ascending tuples of n of a columns, in the order of a dictionary."""
    tuples = np.arange(a, dtype=np.int32)[:, None]
    for _ in range(n - 1):
        last = tuples[:, -1]
        room = a - 1 - last
        ends = np.cumsum(room, dtype=np.int64)
        following = np.arange(ends[-1]) + np.repeat(last + 1 - (ends - room), room)
        tuples = np.column_stack([np.repeat(tuples, room, axis=0), following.astype(np.int32)])
    return tuples


@dataclass(frozen=True, eq=False)
class TupleSpace(Space):
    """Chosen tuples, of different sizes or not; one of fewer columns than the largest repeats its last, with stride 0.

    Raises:
        MemoryLimitError: where the cells are more than can be numbered.
    """

    chosen: Sequence[Sequence[int]]

    def __post_init__(self) -> None:
        levels, wide = np.array(self.levels, np.int64), max(map(len, self.chosen), default=1)
        exact = [prod(levels[list(columns)].tolist()) for columns in self.chosen]  # Python's numbers do not overflow
        if sum(exact) > MOST_CELLS:
            raise MemoryLimitError(
                f"{len(exact)} tuples of up to {wide} columns have {sum(exact):,} cells; at most {MOST_CELLS:,} can be "
                "numbered; choose fewer columns a tuple or fewer levels",
                sum(exact) * 16,
                MOST_CELLS * 16,
            )
        strides = np.zeros((len(exact), wide), np.int64)
        for row, columns in zip(strides, self.chosen, strict=True):
            row[: len(columns)] = np.append(np.cumprod(levels[list(columns)][:0:-1])[::-1], 1)
        padded = [[*t, *[t[-1]] * (wide - len(t))] for t in self.chosen]
        tuples = np.array(padded, np.int32).reshape(-1, wide)
        self._set(levels=levels, tuples=tuples, strides=strides, cards=np.array(exact, np.int64))

    @property
    def order(self) -> int:
        """Columns of the largest tuple, n."""
        return self.tuples.shape[1]

    @property
    def gamma(self) -> float:
        """AnJE's exponent: the columns that are in a tuple are then counted once on average, as in `CellSpace`."""
        return len(np.unique(self.tuples)) / max(1, sum(map(len, self.chosen)))

    def n_parameters(self, n_classes: int) -> int:
        """Number of parameters: one per cell and class, one per class."""
        return n_classes * (1 + self.n_cells)

    @property
    def has_parts(self) -> bool:
        """Whether every tuple stands beside all of its parts."""
        there = set(map(tuple, self.members))
        return all(t in there for own in there for k in range(len(own)) if (t := (*own[:k], *own[k + 1 :])))


@dataclass(frozen=True, eq=False)
class OrdersSpace(TupleSpace):
    """All tuples of one column, all of two, ... and all of n; see `AllOrders`.

    Attributes:
        columns: (a',) those that tuples are made of, ascending.
    """

    columns: NDArray[np.intp]

    @property
    def n_lower(self) -> int:
        """The number of tuples of fewer than n columns; they come first."""
        return self.n_tuples - comb(len(self.columns), self.order)


@dataclass(frozen=True)
class AllOrders:
    """All tuples of one to `order` columns, of those that have several levels.

    A column of one level says nothing, and what its tuples say others do that are there too: two for one, which share
    a penalty meant for each. Where a missing value is no level (`gaps`), tuples are of all columns: whether one of one
    level has it may tell the class.
    """

    order: int
    gaps: bool = False


@dataclass(frozen=True)
class SomeCells:
    """Some cells of some tuples of one size; the others count as never seen.

    Attributes:
        tuples: the tuples.
        parts: other tuples, of one column less, or the same ones.
        listed: int64 as bytes, ascending: cells of `parts`, numbered as in their `TupleSpace`.
        strong: where parts are smaller: whether a cell counts if all its parts are listed; else one is enough.
    """

    tuples: tuple[tuple[int, ...], ...]
    parts: tuple[tuple[int, ...], ...]
    listed: bytes
    strong: bool = False

    @property
    def cells(self) -> NDArray[np.int64]:
        """The cells that are listed."""
        return np.frombuffer(self.listed, np.int64)

    def admitted(self, space: Space, seen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of the cells `seen` (S,) of the tuples, ascending, that count."""
        if self.parts == self.tuples:
            return np.intersect1d(seen, self.cells, assume_unique=True)
        below, of, codes = TupleSpace(space.levels, self.parts), space.tuple_of(seen), space.codes_of(seen)
        number, hits = {part: t for t, part in enumerate(self.parts)}, np.zeros(len(seen), np.int64)
        for left_out in range(codes.shape[1]):
            parts = np.array([number.get((*t[:left_out], *t[left_out + 1 :]), -1) for t in self.tuples])[of]
            rest = np.delete(codes, left_out, axis=1)
            cells = below.first[parts] + (rest * below.strides[parts]).sum(axis=1)
            hits += (parts >= 0) & np.isin(cells, self.cells)
        return seen[hits == codes.shape[1]] if self.strong else seen[hits > 0]


def have_grids(space: Space, chains: NDArray[np.int64] | None) -> NDArray[np.bool_]:
    """Return which tuples (T,) have all of their cells: those of a column whose first levels, so many (a,), are smooth,
    up to `MOST_GRID` cells.
    """
    if chains is None:
        return np.zeros(space.n_tuples, bool)
    smooth = (space.strides > 0) & (chains[space.tuples] > 1)
    return np.logical_and(np.logical_or.reduce(smooth, axis=1), space.cards <= MOST_GRID)


def with_grids(space: Space, chains: NDArray[np.int64], seen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the cells `seen` (S,), ascending, and all others of tuples that `have_grids`, of chains (a,): what is
    learned of a cell's neighbours holds for it too.
    """
    smooth = have_grids(space, chains)
    own = [np.arange(begin, begin + card) for begin, card in zip(space.first[smooth], space.cards[smooth], strict=True)]
    return np.union1d(seen, np.concatenate(own)) if own else seen


AnySpace = CellSpace | TupleSpace
# All tuples of n columns, all of one to n, those that are listed, or some cells of these.
Tuples = int | AllOrders | SomeCells | tuple[tuple[int, ...], ...]


def columns_of(levels: NDArray[np.int64], tuples: int | AllOrders) -> NDArray[np.intp]:
    """Return the columns (a',) that tuples are made of, where columns have so many levels (a,): of `AllOrders` those
    that tell something, if there are any.
    """
    own = telling(levels, tuples.gaps) if isinstance(tuples, AllOrders) else np.empty(0, np.intp)
    return own if len(own) else np.arange(len(levels))


def telling(levels: NDArray[np.int64], gaps: bool) -> NDArray[np.intp]:
    """Return the columns (a',) that may tell the class: those of several levels of levels (a,), or all where a missing
    value is no level (`gaps`).
    """
    return np.flatnonzero((levels > 1) | gaps)


def sizes_of(tuples: int | AllOrders, n_columns: int) -> range:
    """Return of how many columns tuples are that are made of so many, a'."""
    if isinstance(tuples, AllOrders):
        return range(1, min(tuples.order, n_columns) + 1)
    return range(tuples, tuples + 1)


def space_of(levels: NDArray[np.int64], tuples: Tuples) -> AnySpace:
    """Return the cells of tuples of columns of so many levels (a,)."""
    if isinstance(tuples, int):
        return CellSpace(levels, tuples)
    if isinstance(tuples, AllOrders):
        check_order(len(levels), tuples.order)
        own = columns_of(levels, tuples)
        sizes = (own[ascending_tuples(len(own), size)].tolist() for size in sizes_of(tuples, len(own)))
        return OrdersSpace(levels, [columns for listed in sizes for columns in listed], own)
    return TupleSpace(levels, tuples.tuples if isinstance(tuples, SomeCells) else tuples)


def admitted(tuples: Tuples, space: Space, seen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of the cells `seen` (S,), ascending, that count: all but of `SomeCells`."""
    return tuples.admitted(space, seen) if isinstance(tuples, SomeCells) else seen
