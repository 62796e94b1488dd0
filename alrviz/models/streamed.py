"""Tables of a model counted over chunks of rows, and the rows of its cells in the tables of passes."""

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

# A large table has a row for every possible cell only while these are at most so many times the seen ones. Looking up
# such rows is several times as fast, but a fit has some ten tables.
MAX_ROWS_PER_SEEN_CELL = 8


@dataclass(frozen=True, eq=False)
class StreamedCounts:
    """Counts of a stream, and passes over it.

    Attributes:
        tables: the counts of the cells that occur.
        passes: passes whose tables have a row for each of these cells, and further rows.
        rows: (S,) the rows of the seen cells in these tables.
        blank: makes the table (rows, W) that has only what unseen cells add.
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
    max_bytes: int,
    n_jobs: int | None = None,
    stop: StopToken = NEVER,
) -> StreamedCounts:
    """Count the cells of tuples, of columns with these numbers of levels (a,), in one pass over the chunks.

    n_classes: C; smoothing: m of the tables. It takes two passes, the first of which finds the seen cells, if counts of
    all possible cells need over max_bytes, or if `tuples` are selected cells. After one pass the tables of the returned
    `passes` have a row for every possible cell if these are few, or not many times the seen ones; otherwise for seen
    cells only.
    """
    space = space_of(levels, tuples)
    space_with_no_level = (
        None if isinstance(tuples, SelectedCells) else _space_with_no_level(space, max_bytes, n_classes)
    )
    if space_with_no_level is not None:
        return _count_densely(space, space_with_no_level, chunks, n_classes, smoothing, n_jobs, stop)
    seen_cells = chunks.map_reduce(partial(_seen_in_chunks, space, tuples), union, 1, stop)
    index = CellIndex.from_cells(space, seen_cells)
    passes = StreamPasses(_seen_cells(index), chunks, n_classes, n_jobs)
    counts, t = passes.count_by_class(stop), space.n_tuples
    # Every row of the table lies in one of these rows of counts, those of the first tuple.
    first_tuple = np.append([0, t], 2 * t + np.arange(index.begin[0], index.begin[1]))
    class_counts = counts[first_tuple].sum(axis=0)
    tables = Tables(
        space,
        seen_cells,
        counts[2 * t :].copy(),
        class_counts,
        class_counts - counts[t : 2 * t],
        _cards(space),
        smoothing,
    )
    return _with_index(index, tables, passes)


def _with_index(index: CellIndex[AnySpace], tables: Tables, passes: StreamPasses) -> StreamedCounts:
    """Return the counts with tables that have rows for seen cells only, those of `index`."""
    n_tuples = index.space.n_tuples
    return StreamedCounts(
        tables,
        passes,
        np.arange(2 * n_tuples, index.n_rows),
        lambda unseen: cell_table(index.n_rows, n_tuples, passes.padded_width, unseen),
    )


def _seen_in_chunks(
    space: AnySpace, tuples: Tuples, chunks: Iterable[Any], n_jobs: int, stop: StopToken
) -> NDArray[np.int64]:
    """Return the numbers of the cells (combinations of levels) that occur in a row of the chunks (and in the selection,
    for `SelectedCells`), ascending.
    """
    seen_cells = np.empty(0, np.int64)
    for codes, _ in chunks:
        stop.check()
        all_tuples_and_rows = np.arange(space.n_tuples), np.arange(codes.shape[1])
        chunk_cells = index_cells(space, [all_tuples_and_rows], as_kernel_codes(codes), n_jobs, stop).seen_cells
        seen_cells = np.union1d(seen_cells, select_cells(tuples, space, chunk_cells))
    return seen_cells


def _seen_cells(index: CellIndex[AnySpace]) -> CellLookup:
    return SeenCells(index.locate, index.n_rows, index.space.n_tuples)


def _cards(space: AnySpace) -> Floats:
    """Return the cards of the space: all levels of the encoder occur in training rows."""
    return space.cards.astype(float)


def _space_with_no_level(space: AnySpace, max_bytes: int, n_classes: int) -> AnySpace | None:
    """Return the cell space in which "no level" is a level; None if tables of it for n_classes need more than
    max_bytes.
    """
    possible = space.cards_of(space.levels + 1.0).sum()
    if possible >= 2**31 or 8 * possible * max(2, n_classes) > max_bytes:
        return None
    return space_of(
        space.levels + 1, space.order if isinstance(space, CellSpace) else tuple(map(tuple, space.given_tuples))
    )


def _count_densely(
    space: AnySpace, space_with_no_level: AnySpace, chunks: Chunks, n_classes: int, smoothing: float,
    n_jobs: int | None, stop: StopToken,
) -> StreamedCounts:  # fmt: skip
    """Return counts with a table row for every possible cell, unless few of these occur.

    space_with_no_level: `space` with "no level" as one more level; n_classes: C; smoothing: m; n_jobs: threads, None
    for all.
    """
    first_row = np.append(space_with_no_level.first, space_with_no_level.n_cells)
    passes = StreamPasses(DenseCells(space.levels, space_with_no_level.tuples, first_row), chunks, n_classes, n_jobs)
    counts = passes.count_by_class(stop)
    seen_rows = np.flatnonzero(counts.any(axis=1))
    tuple_of_row, codes = space_with_no_level.tuple_of(seen_rows), space_with_no_level.codes_of(seen_rows)
    classes = counts[: first_row[1]].sum(axis=0)
    has_levels = (codes < space.levels[space.tuples[tuple_of_row]]).all(axis=1)
    seen_rows, tuple_of_row, codes = seen_rows[has_levels], tuple_of_row[has_levels], codes[has_levels]
    seen_cells = space.cells_at(tuple_of_row, codes)
    seen_counts = counts[seen_rows]
    del counts
    tuple_counts = np.zeros((space.n_tuples, n_classes))
    np.add.at(tuple_counts, tuple_of_row, seen_counts)
    tables = Tables(space, seen_cells, seen_counts, classes, tuple_counts, _cards(space), smoothing)
    if (
        space_with_no_level.n_cells > MAX_ROWS_PER_SEEN_CELL * len(seen_cells)
        and 8 * space_with_no_level.n_cells * passes.padded_width > MIN_SHARED_SUM_BYTES
    ):
        index = CellIndex.from_cells(space, seen_cells)
        return _with_index(index, tables, StreamPasses(_seen_cells(index), chunks, n_classes, n_jobs))

    def blank(unseen: Unseen | None) -> Floats:
        table = zeros(space_with_no_level.n_cells, passes.padded_width)
        if unseen is not None:
            for k in range(space.n_tuples):
                table[first_row[k] : first_row[k + 1], :n_classes] = unseen.phi[k]
            if unseen.known_only:
                cells = np.arange(space_with_no_level.n_cells)
                n_levels = space.levels[space.tuples[space_with_no_level.tuple_of(cells)]]
                table[(space_with_no_level.codes_of(cells) >= n_levels).any(axis=1)] = 0.0
        return table

    return StreamedCounts(tables, passes, seen_rows, blank)
