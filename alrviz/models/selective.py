"""Selective KDB: the numbers of columns and parents with the lowest leave-one-out error.

    rmse(k, s)^2 = (1/N) sum over rows i of  weight_i (1/C) sum_c (p_c(x_i) - 1[c = y_i])^2

p is that of KDB with at most k parents each and the first s columns of its order, without row i: its min(1, weight) is
subtracted from its class. One pass for each k gives all s. Of equal errors the fewest columns, then parents, are taken.
                                                                                        (Martinez et al., JMLR 2016)
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import networks as kernels
from alrviz.models.direct_counts import LOOKUPS_PER_CALL
from alrviz.models.index import CellIndex
from alrviz.models.joint_values import Codes
from alrviz.models.networks import NetworkCounts, count_network
from alrviz.models.structures import Structure
from alrviz.models.tables import Tables
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.rows import as_kernel_codes
from alrviz.passes.threads import run_parts
from alrviz.stop import NEVER, StopToken


@dataclass(frozen=True, eq=False)
class SelectedNetwork:
    """Result of selective KDB.

    Attributes:
        counts: of the selected structure.
        rmse: (k + 1, a + 1) leave-one-out RMSE by parents and columns.
    """

    counts: NetworkCounts
    rmse: Floats


def select_network(
    structure: Structure,
    tables: Tables,
    codes: Codes,
    y: NDArray[np.int32],
    weights: Floats,
    n_jobs: int = 1,
    stop: StopToken = NEVER,
) -> SelectedNetwork:
    """Return the part of `structure`, with fewer parents and columns, of the lowest leave-one-out error.

    codes are (a, N), y and weights (N,). Every column of every row must have a level (a missing value is one).
    """
    codes, a = as_kernel_codes(codes), len(structure.order)
    data = (tables, codes, y, weights, n_jobs, stop)
    max_parents = max(map(len, structure.parents))
    squared_errors = np.stack(
        [_errors(count_network(structure.cut(k, a), *data), *data[1:]) for k in range(max_parents + 1)]
    )
    rmse = np.sqrt(squared_errors / weights.sum())
    columns, k = divmod(int(rmse.T.argmin()), max_parents + 1)
    return SelectedNetwork(count_network(structure.cut(k, columns), *data), rmse)


def _errors(
    counts: NetworkCounts, codes: Codes, y: NDArray[np.int32], weights: Floats, n_jobs: int, stop: StopToken
) -> Floats:
    """Return (a + 1,) weighted sums of squared errors by the number of columns."""
    tables = counts.tables
    index = CellIndex.of_seen(counts.space, counts.seen)
    child = counts.structure.children
    level_counts = np.zeros((int(tables.space.levels.sum()), tables.n_classes))
    level_counts[tables.seen] = tables.counts
    _, level = counts.places()
    n, chunk = len(y), max(16, LOOKUPS_PER_CALL // len(child))
    sums = np.zeros((-(-n // chunk), len(child) + 1))

    def part(c: int) -> None:
        stop.check()
        begin, end = c * chunk, min(n, (c + 1) * chunk)
        kernels.leave_one_out(
            index.locate(codes, begin, end), counts.parent_numbers, level, child, begin, y, weights, counts.counts,
            counts.parent_counts, level_counts, tables.class_counts, tables.smoothing / tables.cards,
            tables.smoothing, sums[c],
        )  # fmt: skip

    run_parts(part, len(sums), n_jobs)
    return sums.sum(axis=0)
