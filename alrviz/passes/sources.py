"""The rows of a numeric column that vote: sorted once, spread over a grid, and bundled where that is faster.

Nodes of a grid are delta apart. Interpolation by cubic weights takes (t + 1) t (t - 1) (t - 2) / 24 (delta / h)^4 of
the fourth derivative from a function, t the place between two nodes: once when votes are spread, once when sums are
interpolated. The kernel's table gets the mean of both back, which leaves 2.5 times less error.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import grids
from alrviz.kernels.density import N_TERMS, bundle
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import NEVER, StopToken

Bundles = tuple[NDArray[np.int64], Floats, Floats, NDArray[np.int64]]
NO_BUNDLES: Bundles = (np.empty(0, np.int64), np.empty(0), np.empty((N_TERMS, 0)), np.zeros(1, np.int64))

# Nodes per bandwidth in the middle of a grid's range of bandwidths, which is a factor 2 wide: phi is then within 1e-4
# of the exact one where sums are not thin. A grid that exists may be used beyond its range by MAX_GRID_STRETCH.
NODES_PER_BANDWIDTH = 28.0
MAX_GRID_STRETCH = 2.0
# A vote reaches so many bandwidths: beyond it is below exp(-32) = 1e-14.
REACH_BANDWIDTHS = 8.0

# Squares of larger numbers overflow, and those of differences below its reciprocal underflow.
MAX_ABS_NUMBER = 1e140

# Twice the mean of (t + 1) t (t - 1) (t - 2) / 24 over t = 0 .. 1.
_MEAN_ERROR = 2.0 * (11.0 / 30.0) / 24.0

# A vote, and each row besides, in exact sums; a row and a node's term on a grid. Exact sums have no error and no jumps,
# so a column is summed exactly if that takes at most twice as long.
_VOTE_NS, _EXACT_ROW_NS, _GRID_ROW_NS, _TERM_NS = 2.0, 60.0, 40.0, 0.25
_SAMPLE_ROWS = 256
# Nodes and rows in one part: about 5 ms.
_NODES_PER_PART, _ROWS_PER_PART = 8_192, 262_144


class Sources:
    """The rows of a numeric column that vote, sorted by value.

    Args:
        x: (N,) numbers, NaN where missing.
        y: (N,) class indices.
        weights: (N,) row weights; rows of weight 0 have no vote.
        n_classes: C.

    Attributes:
        x: as given.
        values: (P,) the numbers that vote, sorted within each class.
        weights: (P,) of these rows.
        place: (N,) int32 where a row is among `values`, -1 if it has no vote.
        missing: (C,) weights of the rows without a number.
    """

    def __init__(self, x: Floats, y: NDArray[np.integer], weights: Floats, n_classes: int):
        has_number = ~np.isnan(x)
        voters = np.flatnonzero(has_number & (weights > 0))
        by_value = voters[np.argsort(x[voters], kind="stable")]
        order = by_value[np.argsort(y[by_value], kind="stable")]
        self.x = x
        self.values, self.weights = x[order], weights[order]
        self.place = np.full(len(x), -1, np.int32)
        self.place[order] = np.arange(len(order))
        self.missing = np.bincount(y[~has_number], weights[~has_number], minlength=n_classes).astype(np.float64)
        self._sorted = x[by_value]
        self._first = np.searchsorted(y[order], np.arange(n_classes + 1)).astype(np.int64)
        self._grid: Grid | None = None
        self._bundles: tuple[float, Bundles] | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes, C."""
        return len(self.missing)

    @property
    def varies(self) -> bool:
        """Whether the column has different numbers."""
        return len(self._sorted) > 0 and bool(self._sorted[-1] - self._sorted[0] > 1.0 / MAX_ABS_NUMBER)

    @property
    def silverman(self) -> float:
        """Silverman's bandwidth 1.06 sigma N^(-1/5), sigma and N weighted, over all classes."""
        total_weight = self.weights.sum()
        mean = (self.weights * self.values).sum() / total_weight
        sigma = np.sqrt((self.weights * (self.values - mean) ** 2).sum() / total_weight)
        return float(1.06 * sigma * total_weight**-0.2)

    @cached_property
    def arrays(self) -> tuple[Floats, Floats, NDArray[np.int64], Floats]:
        """The arrays that the kernels of kernels/density.py take as `sources`."""
        totals = np.array([self.weights[a:b].sum() for a, b in zip(self._first[:-1], self._first[1:], strict=True)])
        with np.errstate(divide="ignore"):
            log_w = np.log(totals)
        values, weights = (np.require(array, np.float64, ["C", "W"]) for array in (self.values, self.weights))
        return values, weights, self._first, log_w

    def grid(self, delta: float, stop: StopToken = NEVER) -> "Grid":
        """Return the grid with nodes `delta` apart, in units of the column, and the votes spread over it; the last is
        cached.
        """
        grid = self._grid
        if grid is None or grid.delta != delta:
            self._grid = grid = Grid(self, self._sorted, delta, stop)
        return grid

    def bundles(self, h: float) -> Bundles:
        """Return the kernels' tuple `bundles` for the bandwidth h; the last one is cached."""
        cached = self._bundles
        if cached is None or cached[0] != h:
            values, weights, class_starts, _ = self.arrays
            starts, centers = np.empty(len(values) + 1, np.int64), np.empty(len(values))
            terms, first_bundle = np.empty((N_TERMS, len(values))), np.empty(len(class_starts), np.int64)
            n_bundles = bundle(values, weights, class_starts, h, starts, centers, terms, first_bundle)
            self._bundles = cached = (
                h,
                (starts[: n_bundles + 1].copy(), centers[:n_bundles].copy(), terms[:, :n_bundles].copy(), first_bundle),
            )
        return cached[1]

    def __getstate__(self) -> dict[str, object]:
        cleared_caches = {"_grid": None, "_bundles": None}
        return {name: value for name, value in self.__dict__.items() if name != "arrays"} | cleared_caches


class Grid:
    """Votes of sources spread over nodes `delta` apart, or the decision that exact sums are as fast.

    Attributes:
        delta: spacing, in units of the column.
        neighbours: mean number of sources within reach of a row.
        exact: whether sums are exact and there are no nodes.
    """

    def __init__(self, sources: Sources, values: Floats, delta: float, stop: StopToken):
        self.delta = delta
        self._place = np.array([values[0], 1.0 / delta])
        self._pad = int(np.ceil(REACH_BANDWIDTHS * NODES_PER_BANDWIDTH * MAX_GRID_STRETCH)) + 1
        first_node, last_node = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
        n_stretches = grids.find_stretches(values, self._place, self._pad, first_node, last_node)
        self._first, self._last = first_node[:n_stretches].copy(), last_node[:n_stretches].copy()
        stretch_sizes = self._last - self._first + 1 + self._pad
        self._base = np.append(0, stretch_sizes.cumsum()[:-1])
        self.n_nodes = int(stretch_sizes.sum())
        sample = values[np.linspace(0, len(values) - 1, _SAMPLE_ROWS).astype(np.int64)]
        reach = (REACH_BANDWIDTHS + 2.0) * NODES_PER_BANDWIDTH * delta
        n_near = np.searchsorted(values, sample + reach) - np.searchsorted(values, sample - reach)
        self.neighbours = float(n_near.mean())
        n_terms = REACH_BANDWIDTHS * NODES_PER_BANDWIDTH * self.n_nodes * sources.n_classes
        exact_nanoseconds = len(values) * (_VOTE_NS * self.neighbours + _EXACT_ROW_NS * sources.n_classes)
        grid_nanoseconds = _TERM_NS * n_terms + _GRID_ROW_NS * len(values)
        self.exact = exact_nanoseconds <= 2.0 * grid_nanoseconds
        if not self.exact:
            self._votes = self._spread(sources, stop)

    def _spread(self, sources: Sources, stop: StopToken) -> Floats:
        """Return the votes (C, nodes) of the sources, interpolated to the nodes."""
        votes = np.zeros((sources.n_classes, self.n_nodes + 2 * self._pad))
        values, weights, class_starts, _ = sources.arrays
        grid = self._arrays(np.empty((0, 0)), np.zeros((2, 4)))
        for begin in range(0, len(values), _ROWS_PER_PART):
            stop.check()
            end = min(len(values), begin + _ROWS_PER_PART)
            grids.spread_votes(values, weights, class_starts, grid, self._pad, votes, begin, end)
        return votes

    def sums(self, h: float, stop: StopToken = NEVER) -> tuple[np.ndarray, ...]:
        """Return the tuple `grid` of the kernels, with sums (2C, n), for the bandwidth h; () if sums are exact."""
        if self.exact:
            return ()
        taps = min(self._pad, int(np.ceil(REACH_BANDWIDTHS * h / self.delta)))
        kernel_values, kernel_slopes = _kernel_table(
            np.arange(taps + 1, dtype=np.float64) * (self.delta / h), (self.delta / h) ** 4
        )
        nodes = np.empty((2 * len(self._votes), self.n_nodes))
        for begin in range(0, self.n_nodes, _NODES_PER_PART):
            stop.check()
            grids.convolve(
                self._votes, kernel_values, kernel_slopes, nodes, begin, min(self.n_nodes, begin + _NODES_PER_PART)
            )
        return self._arrays(nodes, np.array([kernel_values[:4], kernel_slopes[:4]]))

    def _arrays(self, nodes: Floats, own_table: Floats) -> tuple[np.ndarray, ...]:
        return self._first, self._last, self._base, nodes, self._place, own_table


def _kernel_table(u: Floats, spacing4: float) -> tuple[Floats, Floats]:
    """Return the kernel at distances u, in bandwidths, and its d / d log h for a fixed spacing.

    spacing4 = (delta / h)^4. The module says why the kernel gets the mean error of two interpolations back.
    """
    u2 = u * u
    kernel, error_share = np.exp(-u2 / 2), _MEAN_ERROR * spacing4
    hermite = u2 * u2 - 6.0 * u2 + 3.0  # the fourth derivative, in units of the kernel
    return (
        kernel * (1.0 + error_share * hermite),
        kernel * (u2 * (1.0 + error_share * hermite) - error_share * (4.0 * hermite + 4.0 * u2 * u2 - 12.0 * u2)),
    )
