"""Tables of a model counted over chunks of rows, and where its cells stand in the tables that passes look up."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.models.cell_space import AnySpace, CellSpace, SelectedCells, Tuples, select_cells, space_of
from alrviz.models.index import CellIndex, Unseen, cell_table, index_cells
from alrviz.models.tables import Tables
from alrviz.passes.aligned_buffers import Floats, zeros
from alrviz.passes.rows import as_kernel_codes
from alrviz.passes.stream import MIN_SHARED_SUM_BYTES, CellLookup, Chunks, DenseCells, SeenCells, StreamPasses, union
from alrviz.stop import NEVER, StopToken

# Large tables have no row for cells that do not occur, where a row for every possible cell is over so many times what
# occurs: a fit has some ten tables, and such cells are found several times as fast.
SPARSE = 8


@dataclass(frozen=True, eq=False)
class Streamed:
    """What counting a stream gives.

    Attributes:
        tables: the counts of the cells that occur.
        passes: passes whose tables have a row for each of them, and others.
        rows: (S,) the rows of the seen cells in these tables.
        blank: of what unseen cells add, the table (rows, W) without the seen cells.
    """

    tables: Tables
    passes: StreamPasses
    rows: NDArray[np.int64]
    blank: Callable[[Unseen | None], Floats]


def count_stream(
    levels: NDArray[np.int64],
    tuples: Tuples,
    chunks: Chunks,
    n_classes: int,
    smoothing: float,
    allowed: int,
    n_jobs: int | None = None,
    stop: StopToken = NEVER,
) -> Streamed:
    """Count the cells of tuples of columns of so many levels (a,), in a pass; in two, where a row for every possible
    cell takes over `allowed` bytes. Tables of passes have a row for every possible cell where these are few.
    """
    space = space_of(levels, tuples)
    wide = None if isinstance(tuples, SelectedCells) else _with_gaps(space, allowed, n_classes)
    if wide is not None:
        return _dense(space, wide, chunks, n_classes, smoothing, n_jobs, stop)
    seen = chunks.map_reduce(partial(_occurring, space, tuples), union, 1, stop)
    index = CellIndex.of_seen(space, seen)
    passes = StreamPasses(_seen_cells(index), chunks, n_classes, n_jobs)
    counts, t = passes.count(stop), space.n_tuples
    of_first = np.append([0, t], 2 * t + np.arange(index.begin[0], index.begin[1]))  # every row is in one of them
    classes = counts[of_first].sum(axis=0)
    tables = Tables(space, seen, counts[2 * t :].copy(), classes, classes - counts[t : 2 * t], _cards(space), smoothing)
    return _indexed(index, tables, passes)


def _indexed(index: CellIndex[AnySpace], tables: Tables, passes: StreamPasses) -> Streamed:
    """What was counted, with rows of tables for the cells that occur alone."""
    n_tuples = index.space.n_tuples
    return Streamed(
        tables,
        passes,
        np.arange(2 * n_tuples, index.n_rows),
        lambda unseen: cell_table(index.n_rows, n_tuples, passes.padded_width, unseen),
    )


def _occurring(
    space: AnySpace, tuples: Tuples, chunks: Iterable[Any], n_jobs: int, stop: StopToken
) -> NDArray[np.int64]:
    """The cells of tuples that rows lie in, as the cell space numbers them, ascending."""
    seen = np.empty(0, np.int64)
    for codes, _ in chunks:
        stop.check()
        every = np.arange(space.n_tuples), np.arange(codes.shape[1])
        own = index_cells(space, [every], as_kernel_codes(codes), n_jobs, stop).seen
        seen = np.union1d(seen, select_cells(tuples, space, own))
    return seen


def _seen_cells(index: CellIndex[AnySpace]) -> CellLookup:
    return SeenCells(index.locate, index.n_rows, index.space.n_tuples)


def _cards(space: AnySpace) -> Floats:
    """The encoder's levels all occur in training rows."""
    return space.cards.astype(float)


def _with_gaps(space: AnySpace, allowed: int, n_classes: int) -> AnySpace | None:
    """The cell space in which "no level" is one, where its tables are within what is allowed."""
    possible = space.cards_of(space.levels + 1.0).sum()
    if possible >= 2**31 or 8 * possible * max(2, n_classes) > allowed:
        return None
    return space_of(space.levels + 1, space.order if isinstance(space, CellSpace) else tuple(map(tuple, space.chosen)))


def _dense(
    space: AnySpace, wide: AnySpace, chunks: Chunks, n_classes: int, smoothing: float, n_jobs: int | None,
    stop: StopToken,
) -> Streamed:  # fmt: skip
    first = np.append(wide.first, wide.n_cells)
    passes = StreamPasses(DenseCells(space.levels, wide.tuples, first), chunks, n_classes, n_jobs)
    counts = passes.count(stop)
    rows = np.flatnonzero(counts.any(axis=1))
    t, codes = wide.tuple_of(rows), wide.codes_of(rows)
    classes = counts[: first[1]].sum(axis=0)
    real = (codes < space.levels[space.tuples[t]]).all(axis=1)
    rows, t, codes = rows[real], t[real], codes[real]
    seen = space.first[t] + (codes * space.strides[t]).sum(axis=1)
    own = counts[rows]
    del counts
    of_tuple = np.zeros((space.n_tuples, n_classes))
    np.add.at(of_tuple, t, own)
    tables = Tables(space, seen, own, classes, of_tuple, _cards(space), smoothing)
    if wide.n_cells > SPARSE * len(seen) and 8 * wide.n_cells * passes.padded_width > MIN_SHARED_SUM_BYTES:
        index = CellIndex.of_seen(space, seen)
        return _indexed(index, tables, StreamPasses(_seen_cells(index), chunks, n_classes, n_jobs))

    def blank(unseen: Unseen | None) -> Floats:
        table = zeros(wide.n_cells, passes.padded_width)
        if unseen is not None:
            for k in range(space.n_tuples):
                table[first[k] : first[k + 1], :n_classes] = unseen.phi[k]
            if unseen.known_only:
                gaps = np.arange(wide.n_cells)
                table[(wide.codes_of(gaps) >= space.levels[space.tuples[wide.tuple_of(gaps)]]).any(axis=1)] = 0.0
        return table

    return Streamed(tables, passes, rows, blank)
