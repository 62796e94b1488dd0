"""Density features: phi of every column from kernel densities and smoothed counts, of rows that do not vote.

    S_k(x) = sum over rows i of class k of  weight_i exp(-(x - x_i)^2 / (2 h^2))                      numeric column
    S_k(l) = N_{l,k} + m N_k / N                                                 level l, or the rows without a number
    C = 2:  phi    = log(S_1 / S_0)           - (D - 1)/D log(N_1 / N_0)
    C > 2:  phi_k  = log(S_k / sum_j S_j)     - (D - 1)/D log(N_k / N)                  both within -30 .. 30 (LIMIT)

N and N_k are sums of weights, m is the smoothing, D counts the columns that have a feature: numbers that vary, two
levels or more. A level that no training row has gives the class shares. With all w = 1 and w_0 = 0 the scores of these
features are naive Bayes with kernel densities ([DLR] Theorem 1).

Sums are taken on a grid per column (passes/density.py), or exactly where that is as quick and where S < 1e-3. The
spacing of a grid is a whole power of two times a fixed part of Silverman's bandwidth: as long as it stays, phi is a
smooth function of log h and dphi its derivative to the last digits; from one grid to the next phi jumps by the error.

Conventions: D features, numeric columns first, each in the order given. K = 1 for two classes, K = C for more.
phi is (D, K, N), rows contiguous; dphi = d phi / d log h is (D_num, K, N), 0 where phi is at its limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import TableError
from alrviz.models.leave_one_out import new_row_kinds
from alrviz.passes import density as passes
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.density import LIMIT, ColumnSums, RowKinds
from alrviz.passes.sources import MAX_ABS_NUMBER, NODES_PER_BANDWIDTH, Sources
from alrviz.passes.threads import resolve_jobs
from alrviz.stop import NEVER, StopToken

__all__ = ["LIMIT", "MAX_ABS_NUMBER", "WIDEST", "DensityVotes", "VoteCurve", "VoteFeatures"]

# log h stays within this of Silverman's: far below every row stands alone, far above all are one.
WIDEST = float(np.log(1e3))


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
    """Sums of a numeric column on a grid; none where its sums are exact.

    A place x stands t behind node j: j + t = (x - origin) * per_unit. Its sums are those of the nodes j - 1 .. j + 2 by
    cubic weights; where one of them is not there, and where a sum is thin, they are taken exactly.

    Attributes:
        numbers: (M,) ascending.
        sums: (C, M) S_k.
        origin, per_unit: of the places.
    """

    numbers: NDArray[np.int64]
    sums: Floats
    origin: float
    per_unit: float

    @classmethod
    def of(cls, grid: tuple[np.ndarray, ...], n_classes: int) -> "VoteGrid":
        """The nodes of what kernels take as `grid`: numbers (M,) and sums (C, M)."""
        if not grid:
            return cls(np.empty(0, np.int64), np.empty((n_classes, 0)), 0.0, 0.0)
        first, last, base, nodes, place, _ = grid
        sizes = last - first + 1
        within = np.arange(sizes.sum()) - np.repeat(sizes.cumsum() - sizes, sizes)
        sums = nodes[:n_classes, np.repeat(base, sizes) + within]
        return cls(np.repeat(first, sizes) + within, sums, float(place[0]), float(place[1]))


class DensityVotes:
    """What training rows have to say of other rows' places: numbers that vote, counts of levels; nothing in it changes.

    Args:
        columns: (D_num,) the sources of each numeric feature.
        counts: (D_cat,) of each categorical one the sums of row weights (levels + 1, C), the last row 0: no level.
        numeric, categorical: the places of the features among all numeric and all other columns.
        class_counts: (C,) N_k.
        smoothing: m.
        thin: sums below are taken exactly.
        n_jobs: threads; None for all.

    Attributes:
        numeric, categorical, class_counts, smoothing: as given.
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
        self._columns, self._counts = list(columns), list(counts)
        self.numeric, self.categorical, self.class_counts = numeric, categorical, class_counts
        self.n_classes, self.smoothing, self._thin = len(class_counts), float(smoothing), float(thin)
        self.n_jobs = resolve_jobs(n_jobs)
        self.silverman = np.array([column.silverman for column in self._columns])

    @property
    def columns(self) -> tuple[Sources, ...]:
        """(D_num,) the sources of each numeric feature."""
        return tuple(self._columns)

    @property
    def counts(self) -> tuple[Floats, ...]:
        """(D_cat,) the sums of row weights (levels + 1, C) of each categorical feature, the last row 0."""
        return tuple(self._counts)

    @property
    def thin(self) -> float:
        """Sums below are taken exactly."""
        return self._thin

    @property
    def n_features(self) -> int:
        """D."""
        return len(self.numeric) + len(self.categorical)

    @property
    def n_values(self) -> int:
        """K, the values of a feature: 1 for two classes, C for more."""
        return 1 if self.n_classes == 2 else self.n_classes

    @property
    def bounds(self) -> Floats:
        """(2, D_num) the least and the largest log h."""
        return np.log(self.silverman) + np.array([[-WIDEST], [WIDEST]])

    def spacing(self, log_h: Floats) -> NDArray[np.int64]:
        """Return the grid that each column's sums are taken on at these bandwidths, (D_num,), as whole numbers."""
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

        Raises:
            TableError: if a number is beyond MAX_ABS_NUMBER.
        """
        require_fit(numbers)
        count = numbers.shape[1]
        nowhere = np.full(count, -1, np.int32)
        xs = [(np.require(numbers[j], np.float64, ["C", "W"]), nowhere) for j in self.numeric]
        places = [category_codes(codes[j], of) for j, of in zip(self.categorical, self._counts, strict=True)]
        return self._fill(xs, places, self._strangers(count), log_h, gradient, spacing, previous, stop)

    def curve(self, feature: int, x: Floats, log_h: float) -> VoteCurve:
        """Return one numeric feature (0 .. D_num - 1) and the density of each class over x (M,)."""
        x = np.require(x, np.float64, ["C", "W"])
        column, h = self._columns[feature], float(np.exp(log_h))
        count, places = len(x), np.full(len(x), -1, np.int32)
        phi, none, logs = (np.empty(shape) for shape in ((self.n_values, count), (0, 0), (self.n_classes, count)))
        want = ColumnSums(column, x, places, h, 0.0, phi, none, logs)
        passes.fill_numeric([want], self._strangers(count), self.smoothing, self._thin, self.n_jobs)
        log_scale = log_h + 0.5 * np.log(2 * np.pi) + np.log(self.class_counts)
        return VoteCurve(x, phi, np.exp(logs - log_scale[:, None]))

    def nodes(self, log_h: Floats) -> list[VoteGrid]:
        """Return what rows look the sums of each numeric feature (D_num,) up on at these bandwidths."""
        found = []
        for d, (column, spacing) in enumerate(zip(self._columns, self.spacing(log_h), strict=True)):
            sums = column.grid(self._delta(d, spacing)).sums(float(np.exp(log_h[d])))
            found.append(VoteGrid.of(sums, self.n_classes))
        return found

    def levels(self, feature: int) -> Floats:
        """Return phi (K, levels + 1) of each level of a categorical feature (0 .. D_cat - 1); the last is no level."""
        counts = self._counts[feature]
        phi = np.empty((self.n_values, len(counts)))
        codes = np.arange(len(counts), dtype=np.int32)
        passes.fill_categorical(codes, self._strangers(len(counts)), counts, self.smoothing, phi, 1)
        return phi

    def _fill(
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
        log_h = np.array(log_h, np.float64)
        octaves = self._octaves(log_h)
        wish = octaves if spacing is None else np.clip(spacing, np.ceil(octaves - 1), np.floor(octaves + 1))
        grids = np.rint(wish).astype(np.int64)
        shape = (self.n_features, self.n_values, len(kinds.rows))
        phi, dphi = np.empty(shape), np.empty((len(xs), self.n_values, shape[2] if gradient else 0))
        wanted, none = [], np.empty((0, 0))
        for d, (column, (x, place)) in enumerate(zip(self._columns, xs, strict=True)):
            if previous is not None and (previous.log_h[d], previous.spacing[d]) == (log_h[d], grids[d]):
                if gradient and previous.dphi is not None:
                    dphi[d] = previous.dphi[d]
                if previous.dphi is not None or not gradient:
                    phi[d] = previous.phi[d]
                    continue
            h, delta = float(np.exp(log_h[d])), self._delta(d, grids[d])
            wanted.append(ColumnSums(column, x, place, h, delta, phi[d], dphi[d], none))
        passes.fill_numeric(wanted, kinds, self.smoothing, self._thin, self.n_jobs, stop)
        for d, (places, counts) in enumerate(zip(codes, self._counts, strict=True), start=len(xs)):
            if previous is None:
                passes.fill_categorical(places, kinds, counts, self.smoothing, phi[d], self.n_jobs, stop)
            else:
                phi[d] = previous.phi[d]
        return VoteFeatures(phi, dphi if gradient else None, log_h, grids)

    def _delta(self, d: int, spacing: np.int64) -> float:
        return float(self.silverman[d] * 2.0**spacing / NODES_PER_BANDWIDTH)

    def _octaves(self, log_h: Floats) -> Floats:
        return (np.asarray(log_h) - np.log(self.silverman)) / np.log(2.0)

    def _strangers(self, count: int) -> RowKinds:
        return new_row_kinds(count, self.class_counts, self.n_features)


def category_codes(codes: NDArray[np.unsignedinteger], counts: Floats) -> NDArray[np.int32]:
    """Return codes (N,) whose largest, the last row of `counts`, is no level."""
    return np.minimum(codes, len(counts) - 1).astype(np.int32)


def require_fit(numbers: Floats) -> None:
    """Raise `TableError` where one of numbers (a_num, N) is beyond MAX_ABS_NUMBER."""
    if not (np.abs(numbers) <= MAX_ABS_NUMBER)[~np.isnan(numbers)].all():
        column, row = np.argwhere(np.abs(numbers) > MAX_ABS_NUMBER)[0]
        raise TableError(
            f"numeric column {column} is {numbers[column, row]:g} in row {row}; expected a number within "
            f"{MAX_ABS_NUMBER:g} of 0, or NaN for missing"
        )
