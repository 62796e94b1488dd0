"""Density features: phi of every column from kernel densities and smoothed counts, and what a bandwidth does to it.

    S_k(x) = sum over rows i of class k of  weight_i exp(-(x - x_i)^2 / (2 h^2))                      numeric column
    S_k(l) = N_{l,k} + m N_k / N                                                 level l, or the rows without a number
    C = 2:  phi    = log(S_1 / S_0)           - (D - 1)/D log(N_1 / N_0)
    C > 2:  phi_k  = log(S_k / sum_j S_j)     - (D - 1)/D log(N_k / N)                  both within -30 .. 30 (LIMIT)

N and N_k are sums of weights, m is the smoothing, D counts the columns that have a feature: numbers that vary, two
levels or more. A level that no training row has gives the class shares. With all w = 1 and w_0 = 0 the scores of these
features are naive Bayes with kernel densities ([DLR] Theorem 1).

A training row may be left out of its own sums: it takes min(1, its weight) from S_k, N_k and N of its class. A class
that is left with no vote at all has the phi of a limit.

Sums are taken on a grid per column (passes/density.py), or exactly where that is as quick and where S < 1e-3. The
spacing of a grid is a whole power of two times a fixed part of Silverman's bandwidth: as long as it stays, phi is a
smooth function of log h and dphi its derivative to the last digits; from one grid to the next phi jumps by the error.

Conventions: D features, numeric columns first, each in the order given. K = 1 for two classes, K = C for more.
phi is (D, K, N), rows contiguous; dphi = d phi / d log h is (D_num, K, N), 0 where phi is at its limit.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import TableError
from alrviz.models.leave_out import left_out, strangers
from alrviz.passes import density as passes
from alrviz.passes.density import LIMIT, THIN, Kinds, Wanted
from alrviz.passes.room import Floats
from alrviz.passes.sources import LARGEST, PER_BANDWIDTH, Sources
from alrviz.passes.threads import resolve_jobs, share
from alrviz.stop import NEVER, StopToken

__all__ = ["LARGEST", "LIMIT", "WIDEST", "Curve", "DensityFeatures", "Features"]

# log h stays within this of Silverman's: far below every row stands alone, far above all are one.
WIDEST = float(np.log(1e3))


@dataclass(frozen=True, eq=False)
class Features:
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
class Curve:
    """One numeric column over a line of x, for pictures.

    Attributes:
        x: (M,).
        phi: (K, M) of rows that do not vote.
        density: (C, M) p(x | class), per unit of x.
    """

    x: Floats
    phi: Floats
    density: Floats


class DensityFeatures:
    """Features learned from training rows; nothing in it changes.

    Args:
        numbers: (a_num, N) float64 numeric columns, NaN where missing.
        codes: (a_cat, N) unsigned codes of categorical columns; codes >= levels are no level.
        levels: (a_cat,) number of levels of each.
        y: (N,) class indices 0 .. C - 1; every class must occur.
        weights: (N,) row weights; rows of weight 0 have no vote.
        n_classes: C.
        smoothing: m.
        n_jobs: threads; None for all.
        stop: asked between columns.

    Attributes:
        numeric, categorical: the places among `numbers` and `codes` of the columns that have a feature.
        class_counts: (C,) N_k.
        silverman: (D_num,) bandwidths h = 1.06 sigma N^(-1/5), sigma and N weighted, over the rows that have a number.

    Raises:
        TableError: if a number is beyond LARGEST, a class has no row or no column has a feature.
    """

    def __init__(
        self,
        numbers: Floats,
        codes: NDArray[np.unsignedinteger],
        levels: NDArray[np.integer],
        y: NDArray[np.integer],
        weights: Floats,
        n_classes: int,
        smoothing: float = 1.0,
        n_jobs: int | None = None,
        stop: StopToken = NEVER,
    ):
        self.n_classes, self.smoothing, self.n_jobs = n_classes, float(smoothing), resolve_jobs(n_jobs)
        self._y, self._weights = np.asarray(y, np.int32), np.asarray(weights, np.float64)
        self.class_counts = np.bincount(self._y, self._weights, minlength=n_classes).astype(np.float64)
        if not (self.class_counts > 0).all():
            raise TableError(
                f"class {int(self.class_counts.argmin())} has no training row; expected rows of every class"
            )
        self._columns = self._sort(numbers, stop)
        self.numeric = np.array([j for j, column in enumerate(self._columns) if column.varies], np.int64)
        self._columns = [self._columns[j] for j in self.numeric]
        counts = [self._count(c, int(n)) for c, n in zip(codes, levels, strict=True)]
        self.categorical = np.array([j for j, of in enumerate(counts) if (of.sum(axis=1) > 0).sum() > 1], np.int64)
        self._counts = [counts[j] for j in self.categorical]
        self._codes = [_codes(codes[j], counts[j]) for j in self.categorical]
        if not self.n_features:
            raise TableError("no column has a feature: expected numbers that vary, or a column of two levels or more")
        self.silverman = np.array([column.silverman for column in self._columns])
        self._thin = THIN * min(1.0, float(self._weights.max()))

    @property
    def n_rows(self) -> int:
        """N, the number of training rows."""
        return len(self._y)

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

    def training(
        self,
        log_h: Floats,
        leave_out: bool,
        gradient: bool = True,
        spacing: NDArray[np.int64] | None = None,
        previous: Features | None = None,
        stop: StopToken = NEVER,
    ) -> Features:
        """Return the features of the training rows.

        Args:
            log_h: (D_num,) natural log of the bandwidths, within `bounds`.
            leave_out: whether a row is left out of its own sums.
            gradient: whether dphi is wanted.
            spacing: grids to keep, from `spacing(...)`, so that phi does not jump along a line; None for those of
                log_h. A grid more than a factor 2 away is replaced by the nearest that is not.
            previous: features of the same rows, asked for alike: columns whose bandwidth and grid are the same are
                taken from it.
            stop: asked between parts of the work.
        """
        kinds = self._left_out if leave_out else self._strangers(self.n_rows)
        xs = [(column.x, column.place) for column in self._columns]
        return self._fill(xs, self._codes, kinds, log_h, gradient, spacing, previous, stop)

    def rows(
        self,
        numbers: Floats,
        codes: NDArray[np.unsignedinteger],
        log_h: Floats,
        gradient: bool = False,
        spacing: NDArray[np.int64] | None = None,
        previous: Features | None = None,
        stop: StopToken = NEVER,
    ) -> Features:
        """Return the features of other rows: (a_num, M) numbers and (a_cat, M) codes of all columns.

        Raises:
            TableError: if a number is beyond LARGEST.
        """
        _require_fit(numbers)
        count = numbers.shape[1]
        nowhere = np.full(count, -1, np.int32)
        xs = [(np.require(numbers[j], np.float64, ["C", "W"]), nowhere) for j in self.numeric]
        places = [_codes(codes[j], of) for j, of in zip(self.categorical, self._counts, strict=True)]
        return self._fill(xs, places, self._strangers(count), log_h, gradient, spacing, previous, stop)

    def curve(self, feature: int, x: Floats, log_h: float) -> Curve:
        """Return one numeric feature (0 .. D_num - 1) and the density of each class over x (M,)."""
        x = np.require(x, np.float64, ["C", "W"])
        column, h = self._columns[feature], float(np.exp(log_h))
        count, places = len(x), np.full(len(x), -1, np.int32)
        phi, none, logs = (np.empty(shape) for shape in ((self.n_values, count), (0, 0), (self.n_classes, count)))
        want = Wanted(column, x, places, h, 0.0, phi, none, logs)
        passes.fill([want], self._strangers(count), self.smoothing, self._thin, self.n_jobs)
        log_scale = log_h + 0.5 * np.log(2 * np.pi) + np.log(self.class_counts)
        return Curve(x, phi, np.exp(logs - log_scale[:, None]))

    def levels(self, feature: int) -> Floats:
        """Return phi (K, levels + 1) of each level of a categorical feature (0 .. D_cat - 1); the last is no level."""
        counts = self._counts[feature]
        phi = np.empty((self.n_values, len(counts)))
        codes = np.arange(len(counts), dtype=np.int32)
        passes.fill_levels(codes, self._strangers(len(counts)), counts, self.smoothing, phi, 1)
        return phi

    def _fill(
        self,
        xs: list[tuple[Floats, NDArray[np.int32]]],
        codes: list[NDArray[np.int32]],
        kinds: Kinds,
        log_h: Floats,
        gradient: bool,
        spacing: NDArray[np.int64] | None,
        previous: Features | None,
        stop: StopToken,
    ) -> Features:
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
            h, delta = float(np.exp(log_h[d])), float(self.silverman[d] * 2.0 ** grids[d] / PER_BANDWIDTH)
            wanted.append(Wanted(column, x, place, h, delta, phi[d], dphi[d], none))
        passes.fill(wanted, kinds, self.smoothing, self._thin, self.n_jobs, stop)
        for d, (places, counts) in enumerate(zip(codes, self._counts, strict=True), start=len(xs)):
            if previous is None:
                passes.fill_levels(places, kinds, counts, self.smoothing, phi[d], self.n_jobs, stop)
            else:
                phi[d] = previous.phi[d]
        return Features(phi, dphi if gradient else None, log_h, grids)

    def _octaves(self, log_h: Floats) -> Floats:
        return (np.asarray(log_h) - np.log(self.silverman)) / np.log(2.0)

    def _strangers(self, count: int) -> Kinds:
        return strangers(count, self.class_counts, self.n_features)

    @cached_property
    def _left_out(self) -> Kinds:
        return left_out(self._y, self._weights, self.class_counts, self.n_features)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_left_out"}

    def _sort(self, numbers: Floats, stop: StopToken) -> list[Sources]:
        _require_fit(numbers)
        columns: list[Sources | None] = [None] * len(numbers)

        def work(j: int) -> None:
            stop.check()
            x = np.array(numbers[j], np.float64)
            columns[j] = Sources(x, self._y, self._weights, self.n_classes)

        share(work, len(columns), self.n_jobs)
        return [column for column in columns if column is not None]

    def _count(self, codes: NDArray[np.unsignedinteger], levels: int) -> Floats:
        counts = np.zeros((levels + 1, self.n_classes))
        np.add.at(counts, (np.minimum(codes, levels), self._y), self._weights)
        counts[levels] = 0.0
        return counts


def _codes(codes: NDArray[np.unsignedinteger], counts: Floats) -> NDArray[np.int32]:
    return np.minimum(codes, len(counts) - 1).astype(np.int32)


def _require_fit(numbers: Floats) -> None:
    if not (np.abs(numbers) <= LARGEST)[~np.isnan(numbers)].all():
        column, row = np.argwhere(np.abs(numbers) > LARGEST)[0]
        raise TableError(
            f"numeric column {column} is {numbers[column, row]:g} in row {row}; expected a number within "
            f"{LARGEST:g} of 0, or NaN for missing"
        )
