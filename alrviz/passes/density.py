"""Passes over rows: features of numeric columns from kernel sums, and of categorical columns from counts.

    fill_numeric([ColumnSums(...), ...], kinds, ...)    phi and dphi of rows in numeric columns
    fill_categorical(codes, kinds, counts, ...)         phi of rows in a categorical column

Threads share columns and runs of rows. A row belongs to one part and the sums of a node are taken in one order, so that
the bits are the same for any number of threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import density, grids, ratios
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.sources import NO_BUNDLES, Sources
from alrviz.passes.threads import run_parts
from alrviz.stop import NEVER, StopToken

# Smaller sums S (one row is 1) are taken exactly, because most of such a sum on a grid is error.
MIN_GRID_SUM = 1e-3

# Bound of |phi|: a class without any vote at a place would have phi = -inf.
LIMIT = 30.0

# Rows of one part, and votes in one call for exact sums: 1 to 5 ms.
_ROWS_PER_PART, _VOTES_PER_CALL = 65_536, 1_000_000


@dataclass(frozen=True, eq=False)
class RowKinds:
    """Kinds of rows: those that withdraw the same vote from their own sums. kernels/ratios.py has the shapes of
    `arrays`.

    Attributes:
        rows: (N,) int32, the kind of each row.
        arrays: classes, own_votes, totals, bias and prior of each kind.
    """

    rows: NDArray[np.int32]
    arrays: tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """Kernel sums of one numeric column: the voting rows, the rows to score, the bandwidth, and the output arrays.

    Attributes:
        sources: the training rows of the column.
        x: (N,) the rows' numbers.
        place: (N,) int32 where each row is among the sources, -1 for other rows.
        h: bandwidth.
        delta: spacing of the grid; 0 for exact sums alone.
        phi: (K, N) output.
        dphi: (K, N) output, d phi / d log h; (K, 0) if it is not needed.
        logs: (C, N) output, log S_k of the rows that are summed exactly; (C, 0) if it is not needed.
    """

    sources: Sources
    x: Floats
    place: NDArray[np.int32]
    h: float
    delta: float
    phi: Floats
    dphi: Floats
    logs: Floats


def fill_numeric(
    columns: Sequence[ColumnSums], kinds: RowKinds, smoothing: float, thin: float, n_jobs: int, stop: StopToken = NEVER
) -> None:
    """Write phi, dphi and logs of every column: first make the grids, then the rows.

    kinds: of the rows, with the votes that they withdraw; smoothing: m of the counts of missing values; sums below
    `thin` are taken exactly.
    """
    grids_of_columns: list[tuple[np.ndarray, ...]] = [()] * len(columns)

    def prepare(k: int) -> None:
        column = columns[k]
        if column.delta > 0.0:
            grids_of_columns[k] = column.sources.grid(column.delta, stop).sums(column.h, stop)

    run_parts(prepare, len(columns), n_jobs)
    row_ranges = [
        (k, begin, end) for k, column in enumerate(columns) for begin, end in _row_ranges(len(column.x), _ROWS_PER_PART)
    ]

    def work(range_number: int) -> None:
        stop.check()
        k, begin, end = row_ranges[range_number]
        column, constants = columns[k], np.array([smoothing, columns[k].h, thin, LIMIT])
        rows = np.arange(begin, end, dtype=np.int32)
        sums = np.zeros((end - begin, 2 * column.sources.n_classes))
        if grids_of_columns[k]:
            n_left = grids.look_up(
                column.x, kinds.rows, kinds.arrays, grids_of_columns[k], constants, column.phi, column.dphi, rows, sums,
                begin, end,
            )  # fmt: skip
            rows, sums = rows[:n_left], sums[:n_left]
        order = np.argsort(column.x[rows])  # neighbouring rows reach nearly the same sources
        rows, sums = rows[order], sums[order]
        _sum_exactly(column, kinds, rows, sums, constants, stop)
        ratios.write_numeric(
            rows, sums, column.x, kinds.rows, kinds.arrays, column.sources.missing, constants, column.phi, column.dphi
        )
        if column.logs.size:
            column.logs[:, rows] = sums[:, : column.sources.n_classes].T

    run_parts(work, len(row_ranges), n_jobs)


def _sum_exactly(
    column: ColumnSums, kinds: RowKinds, rows: NDArray[np.int32], sums: Floats, constants: Floats, stop: StopToken
) -> None:
    """Replace sums (m, 2C) of `rows` (m,) by their log sums; make bundles once as many votes were taken as making them
    costs.

    constants: (smoothing, bandwidth, thin, limit), as in kernels/ratios.py.
    """
    n_done, bundles, sources = 0, NO_BUNDLES, column.sources.arrays
    while True:
        n_done = density.log_sums(
            rows, sums, column.x, kinds.rows, column.place, kinds.arrays, sources, bundles, constants, n_done,
            _VOTES_PER_CALL,
        )  # fmt: skip
        if n_done == len(rows):
            return
        stop.check()
        bundles = column.sources.bundles(column.h)


def fill_categorical(
    codes: NDArray[np.int32],
    kinds: RowKinds,
    counts: Floats,
    smoothing: float,
    phi: Floats,
    n_jobs: int,
    stop: StopToken = NEVER,
) -> None:
    """Write phi (K, N) of a categorical column with codes (N,); counts (levels + 1, C) of votes, the last row 0.

    kinds: of the rows, with the votes that they withdraw; smoothing: m of the counts.
    """
    runs, constants = _row_ranges(len(codes), _ROWS_PER_PART), np.array([smoothing, 0.0, 0.0, LIMIT])

    def work(part: int) -> None:
        stop.check()
        ratios.write_categorical(codes, kinds.rows, kinds.arrays, counts, constants, phi, *runs[part])

    run_parts(work, len(runs), n_jobs)


def _row_ranges(n_rows: int, range_rows: int) -> list[tuple[int, int]]:
    return [(begin, min(n_rows, begin + range_rows)) for begin in range(0, n_rows, range_rows)]
