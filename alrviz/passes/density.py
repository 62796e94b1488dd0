"""Passes over rows: features of numeric columns from kernel sums, and of categorical ones from counts.

    fill([Wanted(...), ...], kinds, ...)       phi and dphi of some rows in some numeric columns
    fill_levels(codes, kinds, counts, ...)     phi of some rows in a categorical column

Passes are shared over columns and runs of rows. A row is one part's alone and the sums of a node are taken in one
order, so the bits are the same for any number of threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import density, grids, ratios
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.sources import NO_BUNDLES, Sources
from alrviz.passes.threads import share
from alrviz.stop import NEVER, StopToken

# S below this (one row is 1) is summed exactly: a grid's error is the greater part of it there.
THIN = 1e-3

# |phi| is kept within this: a class that has no vote at a place would have phi = -inf.
LIMIT = 30.0

# Rows of one part, and votes of exact sums at a time: 1 to 5 ms.
_ROWS, _VOTES = 65_536, 1_000_000


@dataclass(frozen=True, eq=False)
class Kinds:
    """Rows that take the same from their own sums; the kernels have the shapes of `arrays`.

    Attributes:
        rows: (N,) int32, the kind of each row.
        arrays: classes, taken, totals, bias and prior of each kind.
    """

    rows: NDArray[np.int32]
    arrays: tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class ColumnSums:
    """A numeric column of some rows: where from, at which bandwidth, and where the results go.

    Attributes:
        sources: the training rows of the column.
        x: (N,) the rows' numbers.
        place: (N,) int32 where each is among the sources, -1 for other rows.
        h: bandwidth.
        delta: spacing of the grid, 0: none, all sums are exact.
        phi: (K, N) written.
        dphi: (K, N) written, or (K, 0): not wanted.
        logs: (C, N) written with log S_k, or (C, 0): not wanted. Where there is a grid only of rows it leaves.
    """

    sources: Sources
    x: Floats
    place: NDArray[np.int32]
    h: float
    delta: float
    phi: Floats
    dphi: Floats
    logs: Floats


def fill(
    wanted: Sequence[ColumnSums], kinds: Kinds, smoothing: float, thin: float, n_jobs: int, stop: StopToken = NEVER
) -> None:
    """Write what is wanted of every column: first the grids, then the rows; sums below `thin` are taken exactly."""
    sums: list[tuple[np.ndarray, ...]] = [()] * len(wanted)

    def prepare(k: int) -> None:
        of = wanted[k]
        if of.delta > 0.0:
            sums[k] = of.sources.grid(of.delta, stop).sums(of.h, stop)

    share(prepare, len(wanted), n_jobs)
    parts = [(k, begin, end) for k, of in enumerate(wanted) for begin, end in _runs(len(of.x), _ROWS)]

    def work(part: int) -> None:
        stop.check()
        k, begin, end = parts[part]
        of, constants = wanted[k], np.array([smoothing, wanted[k].h, thin, LIMIT])
        todo, found = np.arange(begin, end, dtype=np.int32), np.zeros((end - begin, 2 * of.sources.n_classes))
        if sums[k]:
            left = grids.look_up(
                of.x, kinds.rows, kinds.arrays, sums[k], constants, of.phi, of.dphi, todo, found, begin, end
            )
            todo, found = todo[:left], found[:left]
        order = np.argsort(of.x[todo])  # by value: what one row reaches lies close to what the last one did
        todo, found = todo[order], found[order]
        _sum_exactly(of, kinds, todo, found, constants, stop)
        ratios.write_numeric(
            todo, found, of.x, kinds.rows, kinds.arrays, of.sources.missing, constants, of.phi, of.dphi
        )
        if of.logs.size:
            of.logs[:, todo] = found[:, : of.sources.n_classes].T

    share(work, len(parts), n_jobs)


def _sum_exactly(
    of: ColumnSums, kinds: Kinds, todo: NDArray[np.int32], found: Floats, constants: Floats, stop: StopToken
) -> None:
    """Make `found` log sums; bundles are made once so many votes were taken as making them costs."""
    done, bundles, sources = 0, NO_BUNDLES, of.sources.arrays
    while True:
        done = density.log_sums(
            todo, found, of.x, kinds.rows, of.place, kinds.arrays, sources, bundles, constants, done, _VOTES
        )
        if done == len(todo):
            return
        stop.check()
        bundles = of.sources.bundles(of.h)


def fill_levels(
    codes: NDArray[np.int32],
    kinds: Kinds,
    counts: Floats,
    smoothing: float,
    phi: Floats,
    n_jobs: int,
    stop: StopToken = NEVER,
) -> None:
    """Write phi (K, N) of a categorical column; counts (levels + 1, C), the last row 0."""
    runs, constants = _runs(len(codes), _ROWS), np.array([smoothing, 0.0, 0.0, LIMIT])

    def work(part: int) -> None:
        stop.check()
        ratios.write_categorical(codes, kinds.rows, kinds.arrays, counts, constants, phi, *runs[part])

    share(work, len(runs), n_jobs)


def _runs(rows: int, length: int) -> list[tuple[int, int]]:
    return [(begin, min(rows, begin + length)) for begin in range(0, rows, length)]
