"""A fitted DLR model: weights and bandwidths of the features for which the training rows vote.

C = 2: score of the second class minus that of the first  z = w_0 + sum_d w_d phi_d(x)
C > 2: z_k = w_k0 + sum_d w_kd phi_kd(x)                          p(k|x) = softmax(z)(k)          [DLR] (6), (30)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alrviz.models.density_votes import DensityVotes, VoteFeatures
from alrviz.passes.aligned_buffers import Floats

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded


@dataclass(frozen=True, eq=False, repr=False)
class DensityModel:
    """Scores rows of numbers and codes.

    Attributes:
        features: what the training rows vote for.
        w: (D + 1, K) weights, features in their order (numeric columns first), the intercepts last.
        log_h: (D_num,) natural log of the bandwidths.
    """

    features: DensityVotes
    w: Floats
    log_h: Floats

    def __repr__(self) -> str:
        return f"<DensityModel of {len(self.w) - 1} features, {self.n_classes} classes>"

    @property
    def n_classes(self) -> int:
        """Number of classes, C."""
        return self.features.n_classes

    @property
    def bandwidths(self) -> Floats:
        """(D_num,) h of each numeric feature, in units of its column."""
        return np.exp(self.log_h)

    def scores(self, numbers: Floats, codes: NDArray[np.unsignedinteger]) -> Floats:
        """Return the class scores (N, C) of numbers (a_num, N) and codes (a_cat, N); for two classes the first's are
        0.
        """
        return _both_classes(self.contributions(numbers, codes).sum(axis=0) + self.w[-1])

    def contributions(self, numbers: Floats, codes: NDArray[np.unsignedinteger]) -> Floats:
        """Return w_d phi_d(x), (D, N, K), of rows given by numbers (a_num, N) and codes (a_cat, N)."""
        phi = self.phi(numbers, codes).phi
        return (self.w[:-1, :, None] * phi).transpose(0, 2, 1)

    def pure_effects(self, numbers: Floats, codes: NDArray[np.unsignedinteger]) -> tuple[Floats, Floats]:
        """Return the intercept (C,), and each feature's effect on rows less its mean over the training rows, (N, D, C).

        numbers (a_num, N) and codes (a_cat, N) are the rows. Means of effects over the classes are 0; their sums over
        the features are the scores, up to a number per row.
        """
        means = self._means()
        feature_effects = (self.contributions(numbers, codes) - means[:, None, :]).transpose(1, 0, 2)
        return _centred(self.w[-1] + means.sum(axis=0)), _centred(feature_effects)

    def variances(self) -> Floats:
        """Return (D,) the variance over the training rows of what each feature adds, summed over the classes.

        What it adds to all classes alike changes no probability and does not count.
        """
        return np.array([_variance(_centred(values.T).T, weights) for values, weights in self._over_rows()])

    def _means(self) -> Floats:
        """Return (D, K) the mean over the training rows of what each feature adds."""
        votes = self.features
        a_num, a_cat = (int(places.max(initial=-1)) + 1 for places in (votes.numeric, votes.categorical))
        missing_contributions = self.contributions(np.full((a_num, 1), np.nan), np.zeros((a_cat, 1), np.uint32))[:, 0]
        total_weight = votes.class_counts.sum()
        sums = np.array([values @ weights for values, weights in self._over_rows()])
        for d, column in enumerate(votes.columns):
            sums[d] += missing_contributions[d] * max(0.0, total_weight - column.weights.sum())
        return sums / total_weight

    def _over_rows(self) -> Iterator[tuple[Floats, Floats]]:
        """Yield for each feature what it adds (K, M) at its numbers or levels, and the weights of training rows
        there.
        """
        votes = self.features
        for d, column in enumerate(votes.columns):
            yield self.w[d][:, None] * votes.curve(d, column.values, self.log_h[d]).phi, column.weights
        for d, counts in enumerate(votes.counts, start=len(votes.columns)):
            yield self.w[d][:, None] * votes.levels(d - len(votes.columns)), counts.sum(axis=1)

    def phi(self, numbers: Floats, codes: NDArray[np.unsignedinteger]) -> VoteFeatures:
        """Return the features of other rows, numbers (a_num, N) and codes (a_cat, N)."""
        return self.features.rows(numbers, codes, self.log_h)

    def scores_of(self, encoded: "Encoded") -> Floats:
        """Return the class scores (N, C) of encoded rows."""
        return self.scores(*parts_of(encoded))


def parts_of(encoded: "Encoded") -> tuple[Floats, NDArray[np.unsignedinteger]]:
    """Return an encoded table's numeric columns (a_num, N) and the codes of the others (a_cat, N), each in its
    order.
    """
    numbers = np.empty((0, encoded.n_rows)) if encoded.numbers is None else encoded.numbers
    return numbers, encoded.codes[categorical_columns(encoded)]


def categorical_columns(encoded: "Encoded") -> NDArray[np.intp]:
    """Return the column numbers (a_cat,) of an encoded table's columns that are not numeric."""
    return np.setdiff1d(np.arange(encoded.n_columns), encoded.numeric)


def _variance(values: Floats, weights: Floats) -> float:
    """Return the variance of values (K, M) with weights (M,), summed over K."""
    shares = weights / weights.sum()
    mean = values @ shares
    return float((((values - mean[:, None]) ** 2) @ shares).sum())


def _both_classes(z: Floats) -> Floats:
    """Return class scores (..., C) from z: (0, z) if z (..., 1) is the second class's lead, else z as it is."""
    return np.concatenate([np.zeros_like(z), z], axis=-1) if z.shape[-1] == 1 else z


def _centred(z: Floats) -> Floats:
    """Return z (..., K), scores of all classes or the second's lead, as (..., C) less their mean over the classes."""
    z = _both_classes(z)
    return z - z.mean(axis=-1, keepdims=True)
