"""Counting by cell without a cover: every row is located in every tuple once, which one count needs anyway.

    sums[s, k] = sum over rows i in cell s of  v[i, k]                    v: weights by class, or residuals

A cover makes later passes cheap, but planning and joining takes about 0.1 ms per tuple: minutes for the two million
pairs of 2,000 columns, where counting 60 rows takes seconds. Threads share the tuples, each with its own cells, so that
sums are the same for any number of threads.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import cells as cell_kernels
from alrviz.kernels import networks as kernels
from alrviz.models.cell_space import AnySpace
from alrviz.models.index import CellIndex, S, index_cells, max_marked_cells
from alrviz.models.joint_values import Codes
from alrviz.models.set_cover import levels_of_rows
from alrviz.models.tables import Tables
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.threads import run_parts
from alrviz.stop import NEVER, StopToken

# Look-ups in one call of a kernel: about 10 ms.
LOOKUPS_PER_CALL = 500_000
# A Python call for each of millions of tuples would take minutes.
_TUPLES_PER_TASK = 2_048


def index_rows(
    space: S, codes: Codes, live_rows: NDArray[np.intp], n_jobs: int = 1, stop: StopToken = NEVER
) -> CellIndex[S]:
    """Return the index of the cells of `space` that the rows live_rows of codes (a, N) lie in."""
    is_marked = space.cards <= max_marked_cells(len(live_rows))
    marked_tuples = np.flatnonzero(is_marked)
    pieces = [
        marked_tuples[begin : begin + _TUPLES_PER_TASK] for begin in range(0, len(marked_tuples), _TUPLES_PER_TASK)
    ]
    pieces.extend(np.flatnonzero(~is_marked)[:, None])  # sorted ones, one by one
    return index_cells(space, [(tuples, live_rows) for tuples in pieces], codes, n_jobs, stop)


def sum_by_cell(
    index: CellIndex[Any],
    codes: Codes,
    row_values: Sequence[tuple[NDArray[np.int32], Floats]],
    n_classes: int,
    n_jobs: int = 1,
    stop: StopToken = NEVER,
) -> Floats:
    """Return (S, C) the sums over the rows of codes (a, N) that lie in each seen cell of `index`.

    `row_values` are pairs: classes (N,), and the number (N,) that each row adds at its class.
    """
    space, n = index.space, codes.shape[1]
    sums = np.zeros((len(index.local_cells), n_classes))

    def sum_part(task_number: int) -> None:
        task = slice(task_number * _TUPLES_PER_TASK, min(space.n_tuples, (task_number + 1) * _TUPLES_PER_TASK))
        index_arguments = (
            space.tuples[task], space.strides[task], space.levels, index.start[task], index.mask[task],
            index.shift[task], index.slots, index.slot_cells,
        )  # fmt: skip
        chunk_rows = max(16, LOOKUPS_PER_CALL // (task.stop - task.start))
        cell_rows = np.empty((min(chunk_rows, n), task.stop - task.start), np.uint32)
        for begin in range(0, n, chunk_rows):
            stop.check()
            rows = cell_rows[: min(n, begin + chunk_rows) - begin]
            cell_kernels.locate(codes, begin, begin + len(rows), *index_arguments, rows)
            for y, added in row_values:
                kernels.count(rows, begin, y, added, sums)

    run_parts(sum_part, -(-space.n_tuples // _TUPLES_PER_TASK), n_jobs)
    return sums


def count_directly(
    index: CellIndex[AnySpace],
    codes: Codes,
    y: NDArray[np.int32],
    weights: Floats,
    n_classes: int,
    smoothing: float,
    n_jobs: int = 1,
    stop: StopToken = NEVER,
) -> Tables:
    """Return the tables of the cells of `index`, which has all cells of rows with positive weight.

    codes (a, N), y and weights (N,) are the training rows, of n_classes classes; smoothing: m of the tables.
    """
    space, counts = index.space, sum_by_cell(index, codes, [(y, weights)], n_classes, n_jobs, stop)
    class_counts = np.bincount(y, weights, minlength=n_classes).astype(np.float64)
    if (codes < space.levels[:, None]).all():  # every row has a cell in every tuple
        tuple_counts = np.tile(class_counts, (space.n_tuples, 1))
    else:
        t = np.repeat(np.arange(space.n_tuples), np.diff(index.begin))
        tuple_counts_by_class = [np.bincount(t, column, minlength=space.n_tuples) for column in counts.T]
        tuple_counts = np.stack(tuple_counts_by_class, axis=1).astype(np.float64, copy=False)
    return Tables(
        space=space,
        seen_cells=index.seen_cells,
        counts=counts,
        class_counts=class_counts,
        tuple_counts=tuple_counts,
        cards=space.cards_of(levels_of_rows(codes, weights > 0, space.levels)).astype(float),
        smoothing=smoothing,
    )
