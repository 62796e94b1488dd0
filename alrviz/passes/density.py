"""Kernel sums over training rows: a column sorted once, its grid, and the passes over rows.

    sources = Sources(x, y, weights, C)            sorted by class and value; `spread` keeps the grid that was used last
    fill([Wanted(...), ...], kinds, ...)           phi and dphi of some rows in some columns

Passes are shared over columns and runs of rows. A row is one part's alone and the sums of a node are taken in one
order, so the bits are the same for any number of threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import density as kernels
from alrviz.kernels import grids
from alrviz.passes.room import Floats
from alrviz.passes.threads import share
from alrviz.stop import NEVER, StopToken

# Nodes in a bandwidth, in the middle of a grid's range: phi is then within 1e-4 of the exact one where S >= THIN, and
# within 4e-4 at the lower end. Its range is a factor 2 wide; MOST is how far beyond a held one may be used.
PER_BANDWIDTH = 28.0
MOST = 2.0
# Bandwidths beyond which a vote is nothing: exp(-32) = 1e-14.
REACH = 8.0
# S below this (one row is 1) is summed exactly: a grid's error is the greater part of it there.
THIN = 1e-3

# |phi| is kept within this: a class that has no vote at a place would have phi = -inf.
LIMIT = 30.0

# Twice the mean of (t + 1) t (t - 1) (t - 2) / 24 over t = 0 .. 1.
_MEAN_ERROR = 2.0 * (11.0 / 30.0) / 24.0

# Nanoseconds of a vote, and of a row besides, in exact sums; of a row and of a node's term on a grid: which of the two
# a column is summed by. Exact sums are taken if they need at most twice as long: no error, no jumps.
_VOTE, _EXACT_ROW, _GRID_ROW, _TERM = 2.0, 60.0, 40.0, 0.25
_SAMPLE = 256
# Work of one part: about 5 ms.
_ROWS, _NODES, _VOTES, _SPREAD = 65_536, 8_192, 2_000_000, 262_144


class Sources:
    """The rows of a numeric column that vote, sorted.

    Args:
        x: (N,) numbers, NaN where missing.
        y: (N,) class indices.
        weights: (N,) row weights; rows of weight 0 have no vote.
        n_classes: C.

    Attributes:
        x: as given.
        values: (P,) the numbers that vote, sorted within each class.
        weights: (P,) theirs.
        place: (N,) int32 where a row is among them, -1 if it has no vote.
        missing: (C,) counts of the rows that miss the number.
    """

    def __init__(self, x: Floats, y: NDArray[np.integer], weights: Floats, n_classes: int):
        there = ~np.isnan(x)
        found = np.flatnonzero(there & (weights > 0))
        by_value = found[np.argsort(x[found], kind="stable")]
        order = by_value[np.argsort(y[by_value], kind="stable")]
        self.x = x
        self.values, self.weights = x[order], weights[order]
        self.place = np.full(len(x), -1, np.int32)
        self.place[order] = np.arange(len(order))
        self.missing = np.bincount(y[~there], weights[~there], minlength=n_classes).astype(np.float64)
        self._sorted = x[by_value]
        self._first = np.searchsorted(y[order], np.arange(n_classes + 1)).astype(np.int64)
        self._grid: Grid | None = None

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.missing)

    @cached_property
    def arrays(self) -> tuple[Floats, Floats, NDArray[np.int64], Floats]:
        """What kernels take as `sources`."""
        totals = np.array([self.weights[a:b].sum() for a, b in zip(self._first[:-1], self._first[1:], strict=True)])
        with np.errstate(divide="ignore"):
            log_w = np.log(totals)
        values, weights = (np.require(of, np.float64, ["C", "W"]) for of in (self.values, self.weights))
        return values, weights, self._first, log_w

    def grid(self, delta: float, stop: StopToken = NEVER) -> "Grid":
        """Return the grid of this spacing with the votes spread on it; the last one is kept."""
        kept = self._grid
        if kept is None or kept.delta != delta:
            self._grid = kept = Grid(self, self._sorted, delta, stop)
        return kept

    def __getstate__(self) -> dict[str, object]:
        return {name: None if name == "_grid" else value for name, value in self.__dict__.items() if name != "arrays"}


class Grid:
    """The votes of some sources on nodes `delta` apart, or the finding that exact sums are as quick.

    Attributes:
        delta: spacing, in units of the column.
        neighbours: mean number of sources whose votes an exact sum takes.
        exact: whether there are no nodes.
    """

    def __init__(self, sources: Sources, values: Floats, delta: float, stop: StopToken):
        self.delta = delta
        self._place = np.array([values[0], 1.0 / delta])
        self._pad = int(np.ceil(REACH * PER_BANDWIDTH * MOST)) + 1
        first, last = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
        count = grids.stretches(values, self._place, self._pad, first, last)
        self._first, self._last = first[:count].copy(), last[:count].copy()
        sizes = self._last - self._first + 1 + self._pad
        self._base = np.append(0, sizes.cumsum()[:-1])
        self.n_nodes = int(sizes.sum())
        sample = values[np.linspace(0, len(values) - 1, _SAMPLE).astype(np.int64)]
        reach = (REACH + 2.0) * PER_BANDWIDTH * delta
        near = np.searchsorted(values, sample + reach) - np.searchsorted(values, sample - reach)
        self.neighbours = float(near.mean())
        terms = REACH * PER_BANDWIDTH * self.n_nodes * sources.n_classes
        exactly = len(values) * (_VOTE * self.neighbours + _EXACT_ROW * sources.n_classes)
        self.exact = exactly <= 2.0 * (_TERM * terms + _GRID_ROW * len(values))
        if not self.exact:
            self._votes = self._spread(sources, stop)

    def _spread(self, sources: Sources, stop: StopToken) -> Floats:
        votes = np.zeros((sources.n_classes, self.n_nodes + 2 * self._pad))
        values, weights, first, _ = sources.arrays
        grid = self._arrays(np.empty((0, 0)), np.zeros((2, 4)))
        for begin in range(0, len(values), _SPREAD):
            stop.check()
            end = min(len(values), begin + _SPREAD)
            grids.spread(values, weights, first, grid, self._pad, votes, begin, end)
        return votes

    def sums(self, h: float, stop: StopToken = NEVER) -> tuple[np.ndarray, ...]:
        """Return what kernels take as `grid` at the bandwidth h; nothing if sums are exact."""
        if self.exact:
            return ()
        taps = min(self._pad, int(np.ceil(REACH * h / self.delta)))
        table, slope = _table(np.arange(taps + 1) * (self.delta / h), (self.delta / h) ** 4)
        nodes = np.empty((2 * len(self._votes), self.n_nodes))
        for begin in range(0, self.n_nodes, _NODES):
            stop.check()
            grids.convolve(self._votes, table, slope, nodes, begin, min(self.n_nodes, begin + _NODES))
        return self._arrays(nodes, np.array([table[:4], slope[:4]]))

    def _arrays(self, nodes: Floats, own: Floats) -> tuple[np.ndarray, ...]:
        return self._first, self._last, self._base, nodes, self._place, own


def _table(u: Floats, fourth: float) -> tuple[Floats, Floats]:
    """Return the kernel at distances u, in bandwidths, and its d / d log h at a spacing that stays.

    Cubic weights take (t + 1) t (t - 1) (t - 2) / 24 of the fourth derivative, times `fourth` = (delta / h)^4, from a
    function, t the place between two nodes. The kernel gets the mean of that back, for spreading and for looking up:
    2.5 times less error.
    """
    u2 = u * u
    kernel, share = np.exp(-u2 / 2), _MEAN_ERROR * fourth
    hermite = u2 * u2 - 6.0 * u2 + 3.0  # the fourth derivative, in units of the kernel
    return (
        kernel * (1.0 + share * hermite),
        kernel * (u2 * (1.0 + share * hermite) - share * (4.0 * hermite + 4.0 * u2 * u2 - 12.0 * u2)),
    )


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
class Wanted:
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
    wanted: Sequence[Wanted], kinds: Kinds, smoothing: float, thin: float, n_jobs: int, stop: StopToken = NEVER
) -> None:
    """Write what is wanted of every column: first the grids, then the rows; sums below `thin` are taken exactly."""
    sums: list[tuple[np.ndarray, ...]] = [()] * len(wanted)
    votes = [float(len(of.sources.values)) for of in wanted]

    def prepare(k: int) -> None:
        of = wanted[k]
        if of.delta > 0.0:
            grid = of.sources.grid(of.delta, stop)
            sums[k], votes[k] = grid.sums(of.h, stop), grid.neighbours

    share(prepare, len(wanted), n_jobs)
    parts = [(k, begin, end) for k, of in enumerate(wanted) for begin, end in _runs(len(of.x), _ROWS)]

    def work(part: int) -> None:
        stop.check()
        k, begin, end = parts[part]
        of = wanted[k]
        constants = np.array([smoothing, of.h, thin, LIMIT])
        todo, known = np.arange(begin, end, dtype=np.int32), np.empty((0, 0))
        if sums[k]:
            known = np.empty((end - begin, 2 * of.sources.n_classes))
            left = grids.look_up(
                of.x, kinds.rows, kinds.arrays, sums[k], constants, of.phi, of.dphi, todo, known, begin, end
            )
            todo, known = todo[:left], known[:left]
        few = int(np.clip(_VOTES / (votes[k] + 1.0), 16, _ROWS))
        order = np.argsort(of.x[todo])  # by value: what one row reaches lies close to what the last one did
        todo, known = todo[order], known[order] if sums[k] else known
        for first, last in _runs(len(todo), few):
            stop.check()
            kernels.numbers(
                todo, known, of.x, kinds.rows, of.place, kinds.arrays, of.sources.arrays, of.sources.missing, constants,
                of.phi, of.dphi, of.logs, first, last,
            )  # fmt: skip

    share(work, len(parts), n_jobs)


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
        kernels.levels(codes, kinds.rows, kinds.arrays, counts, constants, phi, *runs[part])

    share(work, len(runs), n_jobs)


def _runs(rows: int, length: int) -> list[tuple[int, int]]:
    return [(begin, min(rows, begin + length)) for begin in range(0, rows, length)]
