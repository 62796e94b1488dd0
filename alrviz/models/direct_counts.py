"""Counting by cell without a cover: each row is found in each tuple once, which is all that one count needs.

    sums[s, k] = sum over rows i in cell s of  v[i, k]                    v: weights by class, or residuals

A cover makes every later pass cheap, but planning and joining it takes about 0.1 ms a tuple: minutes for the two
million pairs of 2,000 columns, where counting 60 rows takes seconds. Tuples are shared out to threads; each has its own
cells, so that sums are the same whatever the number of threads.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import cells as cell_kernels
from alrviz.kernels import networks as kernels
from alrviz.models.cell_space import AnySpace
from alrviz.models.index import CellIndex, S, index_cells, most_marked
from alrviz.models.joint_values import Codes
from alrviz.models.set_cover import levels_of_rows
from alrviz.models.tables import Tables
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.threads import run_parts
from alrviz.stop import NEVER, StopToken

# Look-ups in one call of a kernel: about 10 ms.
LOOKUPS = 500_000
# Tuples of one task: a Python call for each of millions would take minutes.
_TUPLES = 2_048


def index_rows(
    space: S, codes: Codes, live: NDArray[np.intp], n_jobs: int = 1, stop: StopToken = NEVER
) -> CellIndex[S]:
    """Return the index of the cells that the rows `live` of codes (a, N) lie in."""
    marked = space.cards <= most_marked(len(live))
    together = np.flatnonzero(marked)
    pieces = [together[begin : begin + _TUPLES] for begin in range(0, len(together), _TUPLES)]
    pieces.extend(np.flatnonzero(~marked)[:, None])  # those that are sorted, one by one
    return index_cells(space, [(tuples, live) for tuples in pieces], codes, n_jobs, stop)


def sum_by_cell(
    index: CellIndex[Any],
    codes: Codes,
    values: Sequence[tuple[NDArray[np.int32], Floats]],
    n_classes: int,
    n_jobs: int = 1,
    stop: StopToken = NEVER,
) -> Floats:
    """Return (S, C), summed over the rows of codes (a, N) that lie in each seen cell.

    `values` are pairs: classes (N,) and what each row adds to its class there (N,).
    """
    space, n = index.space, codes.shape[1]
    sums = np.zeros((len(index.local), n_classes))

    def sum_part(part: int) -> None:
        some = slice(part * _TUPLES, min(space.n_tuples, (part + 1) * _TUPLES))
        where = (
            space.tuples[some], space.strides[some], space.levels, index.where[some], index.mask[some],
            index.shift[some], index.slots, index.held,
        )  # fmt: skip
        chunk = max(16, LOOKUPS // (some.stop - some.start))
        places = np.empty((min(chunk, n), some.stop - some.start), np.uint32)
        for begin in range(0, n, chunk):
            stop.check()
            rows = places[: min(n, begin + chunk) - begin]
            cell_kernels.locate(codes, begin, begin + len(rows), *where, rows)
            for y, added in values:
                kernels.count(rows, begin, y, added, sums)

    run_parts(sum_part, -(-space.n_tuples // _TUPLES), n_jobs)
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
    """Return the tables of the cells of `index`, which has all those that rows of positive weight lie in; codes (a, N),
    y and weights (N,).
    """
    space, counts = index.space, sum_by_cell(index, codes, [(y, weights)], n_classes, n_jobs, stop)
    class_counts = np.bincount(y, weights, minlength=n_classes).astype(np.float64)
    if (codes < space.levels[:, None]).all():  # every row has a cell in every tuple
        tuple_counts = np.tile(class_counts, (space.n_tuples, 1))
    else:
        t = np.repeat(np.arange(space.n_tuples), np.diff(index.begin))
        by_class = [np.bincount(t, column, minlength=space.n_tuples) for column in counts.T]
        tuple_counts = np.stack(by_class, axis=1).astype(np.float64, copy=False)
    return Tables(
        space=space,
        seen=index.seen,
        counts=counts,
        class_counts=class_counts,
        tuple_counts=tuple_counts,
        cards=space.cards_of(levels_of_rows(codes, weights > 0, space.levels)).astype(float),
        smoothing=smoothing,
    )
