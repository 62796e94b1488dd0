"""Density features: phi of every column from kernel densities and smoothed counts, and what a bandwidth does to it.

    S_k(x) = sum over rows i of class k of  weight_i exp(-(x - x_i)^2 / (2 h^2))                       numeric column
    S_k(l) = N_{l,k} + m N_k / N                                                  level l, or the rows that miss a number
    C = 2:  phi    = log(S_1 / S_0)           - (D - 1)/D log(N_1 / N_0)
    C > 2:  phi_k  = log(S_k / sum_j S_j)     - (D - 1)/D log(N_k / N)                   both within -30 .. 30 (LIMIT)

N and N_k are sums of weights, m is the smoothing, D counts the columns that have a feature: numbers that vary, two
levels or more. A level that no training row has gives the class shares. With all w = 1 and w_0 = 0 the scores of these
features are naive Bayes with kernel densities ([DLR] Theorem 1).

A training row may be left out of its own sums: it takes min(1, its weight) from S_k, N_k and N of its class. A class
that is left with no vote at all has the phi of a limit.

Conventions: D features, numeric columns first, each in the order given. K = 1 for two classes, K = C for more.
phi is (D, K, N), rows contiguous; dphi = d phi / d log h is (D_num, K, N), 0 where phi is at its limit.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import RecipeError, TableError
from alrviz.passes.room import Floats
from alrviz.stop import NEVER, StopToken

# |phi| is kept within this: a class that has no vote at a place would have phi = -inf.
LIMIT = 30.0
# log h stays within this of Silverman's: far below every row stands alone, far above all are one.
WIDEST = float(np.log(1e3))


@dataclass(frozen=True, eq=False)
class Features:
    """The features of some rows at given bandwidths.

    Attributes:
        phi: (D, K, N).
        dphi: (D_num, K, N) derivative of phi of each numeric column with respect to its log h; None if not asked for.
        log_h: (D_num,) natural log of the bandwidths.
    """

    phi: Floats
    dphi: Floats | None
    log_h: Floats


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

    Attributes:
        numeric, categorical: the places among `numbers` and `codes` of the columns that have a feature.
        class_counts: (C,) N_k.
        silverman: (D_num,) bandwidths h = 1.06 sigma N^(-1/5), sigma and N weighted, over the rows that have a number.

    Raises:
        TableError: if shapes do not fit, numbers are infinite, a class has no row or no column has a feature.
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
        self.y, self.weights, self.n_classes, self.smoothing = y, weights, n_classes, smoothing
        self.class_counts = np.bincount(y, weights, minlength=n_classes)
        if not (self.class_counts > 0).all():
            raise TableError(
                f"class {int(self.class_counts.argmin())} has no training row; expected rows of each class"
            )
        vary = [j for j, x in enumerate(numbers) if len(np.unique(x[(weights > 0) & ~np.isnan(x)])) > 1]
        several = [j for j, c in enumerate(codes) if len(np.unique(c[(weights > 0) & (c < levels[j])])) > 1]
        self.numeric, self.categorical = np.array(vary, np.int64), np.array(several, np.int64)
        if not self.n_features:
            raise TableError("no column has a feature: expected numbers that vary, or a column of two levels or more")
        self._numbers = np.ascontiguousarray(numbers[self.numeric], np.float64)
        self._codes, self._levels = codes[self.categorical], levels[self.categorical]
        self.silverman = np.array([_silverman(x, weights) for x in self._numbers])

    @property
    def n_rows(self) -> int:
        """N, the number of training rows."""
        return len(self.y)

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
        """Return the grid that each column's sums are taken on at these bandwidths, (D_num,), as whole numbers.

        phi and its derivative agree as long as the grids stay: a search along a line should keep those of its start
        (`training(..., spacing=)`), for at a change of the grid phi jumps by its error. A grid is good for bandwidths
        from 0.5 to 2 times that in whose middle it lies.
        """
        return np.rint((np.asarray(log_h) - np.log(self.silverman)) / np.log(2)).astype(np.int64)

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
            spacing: grids to keep, from `spacing(...)`; None for those of log_h.
            previous: features of the same rows, asked for alike: columns whose bandwidth is the same are taken from it.
            stop: asked between parts of the work.
        """
        take = np.minimum(1.0, self.weights) if leave_out else np.zeros(self.n_rows)
        return self._features(self._numbers, self._codes, self.y, take, log_h, gradient)

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
        """Return the features of other rows: (a_num, M) numbers and (a_cat, M) codes of all columns."""
        count = numbers.shape[1]
        nobody, take = np.zeros(count, np.int32), np.zeros(count)
        return self._features(numbers[self.numeric], codes[self.categorical], nobody, take, log_h, gradient)

    def curve(self, feature: int, x: Floats, log_h: float) -> Curve:
        """Return one numeric feature (0 .. D_num - 1) and the density of each class over x (M,)."""
        nobody, take = np.zeros(len(x), np.int32), np.zeros(len(x))
        log_s, _ = self._sums(feature, x, take, log_h, gradient=False)
        phi = self._phi(log_s, np.tile(self.class_counts[:, None], len(x)))
        log_scale = log_h + 0.5 * np.log(2 * np.pi) + np.log(self.class_counts)
        return Curve(x, phi, np.exp(log_s - log_scale[:, None]))

    def levels(self, feature: int) -> Floats:
        """Return phi (K, levels + 1) of each level of a categorical feature (0 .. D_cat - 1); the last is no level."""
        codes = np.arange(self._levels[feature] + 1)
        totals = np.tile(self.class_counts[:, None], len(codes))
        return self._phi(self._log_counts(self._codes[feature], codes, None, totals), totals)

    def _features(
        self, numbers: Floats, codes: NDArray, y: NDArray, take: Floats, log_h: Floats, gradient: bool
    ) -> Features:
        own = np.eye(self.n_classes)[:, y] * take
        totals = self.class_counts[:, None] - own
        phi, dphi = [], []
        for d, x in enumerate(numbers):
            log_s, slope = self._sums(d, x, take, log_h[d], gradient)
            missing = np.isnan(x)
            log_m = self._log_counts(np.isnan(self._numbers[d]).astype(int) - 1, np.where(missing, 0, 1), own, totals)
            phi.append(self._phi(np.where(missing, log_m, log_s), totals))
            if gradient:
                dphi.append(self._dphi(log_s, slope, phi[-1], missing))
        for d, c in enumerate(codes):
            known = np.where(self._codes[d] < self._levels[d], self._codes[d].astype(int), -1)
            place = np.where(c < self._levels[d], c, self._levels[d])
            phi.append(self._phi(self._log_counts(known, place, own, totals), totals))
        return Features(np.array(phi), np.array(dphi) if gradient else None, np.asarray(log_h))

    def _sums(self, d: int, x: Floats, take: Floats, log_h: float, gradient: bool) -> tuple[Floats, Floats]:
        present = ~np.isnan(self._numbers[d]) & (self.weights > 0)
        source, weights, y = self._numbers[d][present], self.weights[present], self.y[present]
        own = np.where(present, np.cumsum(present) - 1, 0)
        log_s, slope = np.full((self.n_classes, len(x)), -np.inf), np.zeros((self.n_classes, len(x)))
        for begin in range(0, len(x), 128):
            at = np.arange(begin, min(begin + 128, len(x)))
            far = ((x[at, None] - source) / np.exp(log_h)) ** 2
            log_k = np.log(weights) - far / 2
            for row, i in enumerate(at):
                if take[i] > 0 and not np.isnan(x[i]):
                    left = weights[own[i]] - take[i]
                    log_k[row, own[i]] = np.log(left) if left > 0 else -np.inf
            for k in range(self.n_classes):
                part = log_k[:, y == k]
                top = np.max(part, axis=1, initial=-1e300)
                with np.errstate(divide="ignore", invalid="ignore"):
                    e = np.exp(part - top[:, None])
                    log_s[k, at] = np.where(e.sum(axis=1) > 0, top + np.log(e.sum(axis=1)), -np.inf)
                    slope[k, at] = np.nan_to_num((e * far[:, y == k]).sum(axis=1) / e.sum(axis=1))
        return log_s, slope

    def _log_counts(self, known: NDArray, codes: NDArray, own: Floats | None, totals: Floats) -> Floats:
        seen = known >= 0
        width = max(int(known.max(initial=0)), int(codes.max(initial=0))) + 1
        counts = np.zeros((self.n_classes, width))
        np.add.at(counts, (self.y[seen], known[seen]), self.weights[seen])
        with np.errstate(divide="ignore", invalid="ignore"):
            left = counts[:, codes] - (0 if own is None else own)
            smoothed = left + self.smoothing * totals / totals.sum(axis=0)
            return np.log(np.where(smoothed.sum(axis=0) > 0, smoothed, totals))

    def _phi(self, log_s: Floats, totals: Floats) -> Floats:
        share = 1.0 - 1.0 / self.n_features
        with np.errstate(divide="ignore", invalid="ignore"):
            log_n = np.log(totals)
            if self.n_classes == 2:
                phi = (log_s[1] - log_s[0] - share * (log_n[1] - log_n[0]))[None]
                phi = np.where(np.isneginf(log_s[:1]), np.inf, np.where(np.isneginf(log_s[1:]), -np.inf, phi))
            else:
                phi = log_s - np.logaddexp.reduce(log_s, axis=0) - share * (log_n - np.log(totals.sum(axis=0)))
                phi = np.where(np.isneginf(log_s), -np.inf, phi)
            prior = log_n - np.log(totals.sum(axis=0))
            prior = (prior[1:] - prior[:1]) if self.n_classes == 2 else prior
            nobody = np.isneginf(log_s).all(axis=0)
            return np.clip(np.where(nobody, prior / self.n_features, phi), -LIMIT, LIMIT)

    def _dphi(self, log_s: Floats, slope: Floats, phi: Floats, missing: NDArray[np.bool_]) -> Floats:
        if self.n_classes == 2:
            dphi = slope[1:] - slope[:1]
        else:
            with np.errstate(invalid="ignore"):
                share = np.exp(log_s - np.logaddexp.reduce(log_s, axis=0))
            dphi = slope - (np.nan_to_num(share) * slope).sum(axis=0)
        return np.where(missing | (np.abs(phi) >= LIMIT) | np.isneginf(log_s).all(axis=0), 0.0, dphi)


def _silverman(x: Floats, weights: Floats) -> float:
    there = ~np.isnan(x) & (weights > 0)
    total = weights[there].sum()
    mean = (weights[there] * x[there]).sum() / total
    sigma = np.sqrt((weights[there] * (x[there] - mean) ** 2).sum() / total)
    return float(1.06 * sigma * total**-0.2)
