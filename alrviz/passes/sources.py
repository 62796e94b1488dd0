"""The rows of a numeric column that vote: sorted once, spread on a grid when it is wanted, bundled where that pays.

Nodes of a grid are delta apart. Cubic weights take (t + 1) t (t - 1) (t - 2) / 24 (delta / h)^4 of the fourth
derivative from a function, t the place between two nodes: once when votes are spread, once when sums are looked up.
The kernel's table gets the mean of both back, which leaves 2.5 times less error.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import grids
from alrviz.kernels.gauss_transform import N_TERMS, bundle
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import NEVER, StopToken

Bundles = tuple[NDArray[np.int64], Floats, Floats, NDArray[np.int64]]
NO_BUNDLES: Bundles = (np.empty(0, np.int64), np.empty(0), np.empty((N_TERMS, 0)), np.zeros(1, np.int64))

# Nodes in a bandwidth, in the middle of a grid's range: phi is then within 1e-4 of the exact one where sums are not
# thin. The range is a factor 2 wide; MOST is how far beyond a held one may be used.
PER_BANDWIDTH = 28.0
MOST = 2.0
# Bandwidths beyond which a vote is nothing: exp(-32) = 1e-14.
REACH = 8.0

# Squares of larger numbers, and of differences below its reciprocal, are no numbers any more.
LARGEST = 1e140

# Twice the mean of (t + 1) t (t - 1) (t - 2) / 24 over t = 0 .. 1.
_MEAN_ERROR = 2.0 * (11.0 / 30.0) / 24.0

# Nanoseconds of a vote, and of a row besides, in exact sums; of a row and of a node's term on a grid: which of the two
# a column is summed by. Exact sums are taken if they need at most twice as long: no error, no jumps.
_VOTE, _EXACT_ROW, _GRID_ROW, _TERM = 2.0, 60.0, 40.0, 0.25
_SAMPLE = 256
# Work of one part: about 5 ms.
_NODES, _SPREAD = 8_192, 262_144


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
        self._bundles: tuple[float, Bundles] | None = None

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.missing)

    @property
    def varies(self) -> bool:
        """Whether there is more than one number."""
        return len(self._sorted) > 0 and bool(self._sorted[-1] - self._sorted[0] > 1.0 / LARGEST)

    @property
    def silverman(self) -> float:
        """Silverman's bandwidth 1.06 sigma N^(-1/5), sigma and N weighted, over all classes."""
        total = self.weights.sum()
        mean = (self.weights * self.values).sum() / total
        sigma = np.sqrt((self.weights * (self.values - mean) ** 2).sum() / total)
        return float(1.06 * sigma * total**-0.2)

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

    def bundles(self, h: float) -> Bundles:
        """Return what kernels take as `bundles` at this bandwidth; the last ones are kept."""
        kept = self._bundles
        if kept is None or kept[0] != h:
            values, weights, first, _ = self.arrays
            starts, centers = np.empty(len(values) + 1, np.int64), np.empty(len(values))
            terms, classes = np.empty((N_TERMS, len(values))), np.empty(len(first), np.int64)
            count = bundle(values, weights, first, h, starts, centers, terms, classes)
            self._bundles = kept = (
                h,
                (starts[: count + 1].copy(), centers[:count].copy(), terms[:, :count].copy(), classes),
            )
        return kept[1]

    def __getstate__(self) -> dict[str, object]:
        quick = {"_grid": None, "_bundles": None}
        return {name: value for name, value in self.__dict__.items() if name != "arrays"} | quick


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
        count = grids.find_stretches(values, self._place, self._pad, first, last)
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
            grids.spread_votes(values, weights, first, grid, self._pad, votes, begin, end)
        return votes

    def sums(self, h: float, stop: StopToken = NEVER) -> tuple[np.ndarray, ...]:
        """Return what kernels take as `grid` at the bandwidth h (sums (C, M), origin, nodes per unit); nothing if sums
        are exact.
        """
        if self.exact:
            return ()
        taps = min(self._pad, int(np.ceil(REACH * h / self.delta)))
        table, slope = _table(np.arange(taps + 1, dtype=np.float64) * (self.delta / h), (self.delta / h) ** 4)
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
