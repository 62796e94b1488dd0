"""Density features of rows that do not vote: phi of every column from kernel densities and smoothed counts.

    S_k(x) = sum over rows i of class k of  weight_i exp(-(x - x_i)^2 / (2 h^2))                      numeric column
    S_k(l) = N_{l,k} + m N_k / N                                                 level l, or the rows without a number
    C = 2:  phi    = log(S_1 / S_0)           - (D - 1)/D log(N_1 / N_0)
    C > 2:  phi_k  = log(S_k / sum_j S_j)     - (D - 1)/D log(N_k / N)                  both within -30 .. 30 (LIMIT)

N and N_k are sums of weights, m is the smoothing, D is the number of columns with a feature: varying numbers, or two
levels or more. A level without training rows has the class shares. With all w = 1 and w_0 = 0 the scores of these
features are naive Bayes with kernel densities ([DLR] Theorem 1).

Sums are taken on a grid per column (passes/density.py), or exactly where that is as fast and where S < 1e-3. The
spacing of a grid is a power of two times a fixed part of Silverman's bandwidth. While it stays the same, phi is a
smooth function of log h and dphi its exact derivative; between two grids phi jumps by the error.

A training row may withdraw t = min(1, its weight) from S, N_k and N of its class (see `training_row_kinds`): its bias
is then (D - 1)/D times the logarithms of the remaining class shares; its prior, phi where no row votes, 1/D of them.

Conventions: D features, numeric columns first, each in the order given. K = 1 for two classes, K = C for more.
phi is (D, K, N), rows contiguous; dphi = d phi / d log h is (D_num, K, N), 0 where phi is at its limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import TableError
from alrviz.passes import density as passes
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.density import ColumnSums, RowKinds
from alrviz.passes.sources import MAX_ABS_NUMBER, NODES_PER_BANDWIDTH, Sources
from alrviz.passes.threads import resolve_jobs
from alrviz.stop import NEVER, StopToken

# log h stays within this of Silverman's: far below, no two rows share votes; far above, all rows get the same.
MAX_LOG_SHIFT = float(np.log(1e3))


@dataclass(frozen=True, eq=False)
class VoteFeatures:
    """The features of some rows at given bandwidths.

    Attributes:
        phi: (D, K, N).
        dphi: (D_num, K, N) derivative of phi of each numeric column with respect to its log h; None if not asked for.
        log_h: (D_num,) natural log of the bandwidths.
        spacing: (D_num,) the grids they were summed on.
    """

    phi: Floats
    dphi: Floats | None
    log_h: Floats
    spacing: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class VoteCurve:
    """One numeric column over a line of x, for pictures.

    Attributes:
        x: (M,).
        phi: (K, M) of rows that do not vote.
        density: (C, M) p(x | class), per unit of x.
    """

    x: Floats
    phi: Floats
    density: Floats


@dataclass(frozen=True, eq=False)
class VoteGrid:
    """Sums of a numeric column on a grid; empty where sums are exact.

    A place x lies t behind node j: j + t = (x - origin) * per_unit. Its sums are interpolated from the nodes j - 1 .. j
    + 2 by cubic weights; where a node is missing or a sum is thin, they are taken exactly.

    Attributes:
        numbers: (M,) of the nodes, ascending.
        sums: (C, M) S_k.
        origin, per_unit: as above.
    """

    numbers: NDArray[np.int64]
    sums: Floats
    origin: float
    per_unit: float

    @classmethod
    def from_kernel_grid(cls, grid: tuple[np.ndarray, ...], n_classes: int) -> "VoteGrid":
        """Return the nodes of the kernels' tuple `grid`: numbers (M,), and sums (C, M) of its n_classes classes."""
        if not grid:
            return cls(np.empty(0, np.int64), np.empty((n_classes, 0)), 0.0, 0.0)
        first_node, last_node, base, nodes, origin_and_scale, _ = grid
        sizes = last_node - first_node + 1
        offsets = np.arange(sizes.sum()) - np.repeat(sizes.cumsum() - sizes, sizes)
        sums = nodes[:n_classes, np.repeat(base, sizes) + offsets]
        return cls(np.repeat(first_node, sizes) + offsets, sums, float(origin_and_scale[0]), float(origin_and_scale[1]))


class DensityVotes:
    """The votes of training rows for other rows: numbers that vote, and counts of levels. It is immutable.

    Args:
        columns: (D_num,) the sources of each numeric feature.
        counts: (D_cat,) for each categorical feature the sums of row weights (levels + 1, C), the last row 0: no level.
        numeric, categorical: the places of the features among all numeric and all other columns.
        class_counts: (C,) N_k.
        smoothing: m.
        thin: smaller sums are taken exactly.
        n_jobs: threads; None for all.

    Attributes:
        columns, counts, numeric, categorical, class_counts, smoothing, thin: as given.
        silverman: (D_num,) bandwidths h = 1.06 sigma N^(-1/5), sigma and N weighted, over the rows that have a number.
    """

    def __init__(
        self,
        columns: Sequence[Sources],
        counts: Sequence[Floats],
        numeric: NDArray[np.int64],
        categorical: NDArray[np.int64],
        class_counts: Floats,
        smoothing: float,
        thin: float,
        n_jobs: int | None = None,
    ):
        if not len(columns) + len(counts):
            raise TableError("no column has a feature: expected numbers that vary, or a column of two levels or more")
        self.columns, self.counts = tuple(columns), tuple(counts)
        self.numeric, self.categorical, self.class_counts = numeric, categorical, class_counts
        self.n_classes, self.smoothing, self.thin = len(class_counts), float(smoothing), float(thin)
        self.n_jobs = resolve_jobs(n_jobs)
        self.silverman = np.array([column.silverman for column in self.columns])

    @property
    def n_features(self) -> int:
        """Number of features, D."""
        return len(self.numeric) + len(self.categorical)

    @property
    def n_values(self) -> int:
        """K, the values of a feature: 1 for two classes, C for more."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def bounds(self) -> Floats:
        """(2, D_num) lower and upper bounds of log h."""
        return np.log(self.silverman) + np.array([[-MAX_LOG_SHIFT], [MAX_LOG_SHIFT]])

    def spacing(self, log_h: Floats) -> NDArray[np.int64]:
        """Return (D_num,) the grid of each column at bandwidths exp(log_h), as a power of two."""
        return np.rint(self._octaves(log_h)).astype(np.int64)

    def rows(
        self,
        numbers: Floats,
        codes: NDArray[np.unsignedinteger],
        log_h: Floats,
        gradient: bool = False,
        spacing: NDArray[np.int64] | None = None,
        previous: VoteFeatures | None = None,
        stop: StopToken = NEVER,
    ) -> VoteFeatures:
        """Return the features of other rows: (a_num, M) numbers and (a_cat, M) codes of all columns.

        log_h (D_num,), gradient, spacing, previous and stop as in `DensityFeatures.training`.

        Raises:
            TableError: if a number is beyond MAX_ABS_NUMBER.
        """
        require_fit(numbers)
        n_rows = numbers.shape[1]
        no_own_vote = np.full(n_rows, -1, np.int32)
        xs = [(np.require(numbers[j], np.float64, ["C", "W"]), no_own_vote) for j in self.numeric]
        row_codes = [category_codes(codes[j], counts) for j, counts in zip(self.categorical, self.counts, strict=True)]
        return self._compute_features(
            xs, row_codes, self._non_voting_kinds(n_rows), log_h, gradient, spacing, previous, stop
        )

    def curve(self, feature: int, x: Floats, log_h: float) -> VoteCurve:
        """Return numeric feature 0 .. D_num - 1 and the density of each class over x (M,), at bandwidth exp(log_h)."""
        x = np.require(x, np.float64, ["C", "W"])
        column, h = self.columns[feature], float(np.exp(log_h))
        n_points, no_own_vote = len(x), np.full(len(x), -1, np.int32)
        phi, no_dphi, logs = (
            np.empty(shape) for shape in ((self.n_values, n_points), (0, 0), (self.n_classes, n_points))
        )
        column_sums = ColumnSums(column, x, no_own_vote, h, 0.0, phi, no_dphi, logs)
        passes.fill_numeric([column_sums], self._non_voting_kinds(n_points), self.smoothing, self.thin, self.n_jobs)
        log_scale = log_h + 0.5 * np.log(2 * np.pi) + np.log(self.class_counts)
        return VoteCurve(x, phi, np.exp(logs - log_scale[:, None]))

    def nodes(self, log_h: Floats) -> list[VoteGrid]:
        """Return the grid of each numeric feature at bandwidths exp(log_h), (D_num,)."""
        vote_grids = []
        for d, (column, spacing) in enumerate(zip(self.columns, self.spacing(log_h), strict=True)):
            sums = column.grid(self._grid_spacing(d, spacing)).sums(float(np.exp(log_h[d])))
            vote_grids.append(VoteGrid.from_kernel_grid(sums, self.n_classes))
        return vote_grids

    def levels(self, feature: int) -> Floats:
        """Return phi (K, levels + 1) of each level of a categorical feature (0 .. D_cat - 1); the last is "no
        level".
        """
        counts = self.counts[feature]
        phi = np.empty((self.n_values, len(counts)))
        codes = np.arange(len(counts), dtype=np.int32)
        passes.fill_categorical(codes, self._non_voting_kinds(len(counts)), counts, self.smoothing, phi, 1)
        return phi

    def _compute_features(
        self,
        xs: list[tuple[Floats, NDArray[np.int32]]],
        codes: list[NDArray[np.int32]],
        kinds: RowKinds,
        log_h: Floats,
        gradient: bool,
        spacing: NDArray[np.int64] | None,
        previous: VoteFeatures | None,
        stop: StopToken,
    ) -> VoteFeatures:
        """Return the features of M rows of these `kinds`; the arguments after `kinds` are those of `rows`.

        xs: for each numeric feature the rows' numbers (M,), and where each is among the votes (-1: it has none); codes:
        for each categorical feature the rows' codes (M,).
        """
        log_h = np.array(log_h, np.float64)
        octaves = self._octaves(log_h)
        wanted_octaves = octaves if spacing is None else np.clip(spacing, np.ceil(octaves - 1), np.floor(octaves + 1))
        grids = np.rint(wanted_octaves).astype(np.int64)
        shape = (self.n_features, self.n_values, len(kinds.rows))
        phi, dphi = np.empty(shape), np.empty((len(xs), self.n_values, shape[2] if gradient else 0))
        column_sums, no_logs = [], np.empty((0, 0))
        for d, (column, (x, own_vote)) in enumerate(zip(self.columns, xs, strict=True)):
            if previous is not None and (previous.log_h[d], previous.spacing[d]) == (log_h[d], grids[d]):
                if gradient and previous.dphi is not None:
                    dphi[d] = previous.dphi[d]
                if previous.dphi is not None or not gradient:
                    phi[d] = previous.phi[d]
                    continue
            h, delta = float(np.exp(log_h[d])), self._grid_spacing(d, grids[d])
            column_sums.append(ColumnSums(column, x, own_vote, h, delta, phi[d], dphi[d], no_logs))
        passes.fill_numeric(column_sums, kinds, self.smoothing, self.thin, self.n_jobs, stop)
        for d, (row_codes, counts) in enumerate(zip(codes, self.counts, strict=True), start=len(xs)):
            if previous is None:
                passes.fill_categorical(row_codes, kinds, counts, self.smoothing, phi[d], self.n_jobs, stop)
            else:
                phi[d] = previous.phi[d]
        return VoteFeatures(phi, dphi if gradient else None, log_h, grids)

    def _grid_spacing(self, d: int, spacing: np.int64) -> float:
        return float(self.silverman[d] * 2.0**spacing / NODES_PER_BANDWIDTH)

    def _octaves(self, log_h: Floats) -> Floats:
        return (np.asarray(log_h) - np.log(self.silverman)) / np.log(2.0)

    def _non_voting_kinds(self, n_rows: int) -> RowKinds:
        return non_voting_kinds(n_rows, self.class_counts, self.n_features)


def non_voting_kinds(n_rows: int, class_counts: Floats, n_features: int) -> RowKinds:
    """Return the single kind of n_rows rows that withdraw nothing.

    class_counts: (C,) weights of training rows; n_features: D.
    """
    return RowKinds(np.zeros(n_rows, np.int32), _kind_arrays(np.array([-1]), np.zeros(1), class_counts, n_features))


def training_row_kinds(y: NDArray[np.int32], weights: Floats, class_counts: Floats, n_features: int) -> RowKinds:
    """Return the kinds of training rows, y and weights (N,), that are left out of their own sums.

    class_counts: (C,) sums of weights; n_features: D. Rows of one class that withdraw the same are of one kind; mostly
    there are C kinds.
    """
    amounts, amount = np.unique(np.minimum(1.0, weights), return_inverse=True)
    classes = len(class_counts)
    kinds, rows = np.unique(amount * classes + y, return_inverse=True)
    arrays = _kind_arrays(kinds % classes, amounts[kinds // classes], class_counts, n_features)
    return RowKinds(rows.astype(np.int32), arrays)


def _kind_arrays(
    classes: NDArray[np.int64], own_votes: Floats, class_counts: Floats, n_features: int
) -> tuple[NDArray[np.int64], Floats, Floats, Floats, Floats]:
    """Return class, withdrawn vote, remaining class counts, bias and prior of each kind of rows, as in
    kernels/ratios.py.

    classes, own_votes: (kinds,) class (-1: none) and withdrawn vote; class_counts: (C,) sums of weights; n_features: D.
    """
    vote_share = 1.0 - 1.0 / n_features
    is_own_class = classes[:, None] == np.arange(len(class_counts))
    totals = np.maximum(0.0, class_counts - is_own_class * own_votes[:, None])
    with np.errstate(divide="ignore"):
        log_share = np.log(totals / totals.sum(axis=1, keepdims=True))
    logs = log_share[:, 1:] - log_share[:, :1] if len(class_counts) == 2 else log_share
    bias = np.where(np.isfinite(logs), vote_share * logs, 0.0)  # a class that is now empty has no votes either
    return classes.astype(np.int64), own_votes, totals, bias, (1.0 - vote_share) * logs


def category_codes(codes: NDArray[np.unsignedinteger], counts: Floats) -> NDArray[np.int32]:
    """Return codes (N,) bounded by the last row of `counts`, "no level"."""
    return np.minimum(codes, len(counts) - 1).astype(np.int32)


def require_fit(numbers: Floats) -> None:
    """Raise `TableError` where one of numbers (a_num, N) is beyond MAX_ABS_NUMBER."""
    if not (np.abs(numbers) <= MAX_ABS_NUMBER)[~np.isnan(numbers)].all():
        column, row = np.argwhere(np.abs(numbers) > MAX_ABS_NUMBER)[0]
        raise TableError(
            f"numeric column {column} is {numbers[column, row]:g} in row {row}; expected a number within "
            f"{MAX_ABS_NUMBER:g} of 0, or NaN for missing"
        )
