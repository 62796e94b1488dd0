"""Density features of a table as columns, for linear models of other packages.

    k(x, x') = sum_d phi_d(x) phi_d(x')                    [DLR] (38); with C > 2 classes summed over the classes too

so a linear model on these columns is the model on dlr's kernel. Bandwidths are Silverman's. `fit_transform` leaves each
training row out of its own sums: otherwise its features would reveal its class, the more the smaller h. `transform`
uses all training rows, for new rows.
"""

from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from alrviz.data.encode import Encoder
from alrviz.models.density import DensityFeatures
from alrviz.models.density_votes import VoteFeatures
from alrviz.passes.rows import Floats


class DensityMap(TransformerMixin, BaseEstimator):
    """Density features (N, D x K): a column per feature; K = 1 for two classes, else one per class.

    Parameters
    ----------
    smoothing : float, default=1.0
        m of the smoothed counts of categorical columns, and of gaps.
    categorical_features : "from_dtype", "all", names or mask, default="from_dtype"
        Which columns are categories.

    Attributes
    ----------
    encoder_ : the `Encoder` of the table.
    features_ : the `DensityFeatures`.
    """

    def __init__(self, *, smoothing: float = 1.0, categorical_features: Any = "from_dtype"):
        self.smoothing = smoothing
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the densities and counts of each class from a table X (N, a) with classes y (N,)."""
        self._learn(X, y)
        return self

    def fit_transform(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Fit to a table X (N, a) with classes y (N,); return its features, each row left out of its own sums."""
        self._learn(X, y)
        return _columns(self.features_.training(np.log(self.features_.silverman), leave_out=True, gradient=False))

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the features of new rows X, (N, D x K)."""
        check_is_fitted(self)
        codes, numbers = self.encoder_.transform(X), cast(Floats, self.encoder_.numbers(X))
        return _columns(self.features_.rows(numbers, codes[self._levels], np.log(self.features_.silverman)))

    def _learn(self, X: Any, y: Any) -> None:
        self.encoder_ = Encoder(discretize="keep", categorical_features=self.categorical_features).fit(X, y)
        encoded = self.encoder_.encode(X, y)
        self._levels = np.setdiff1d(np.arange(len(encoded.levels)), encoded.numeric)
        self.features_ = DensityFeatures(
            cast(Floats, encoded.numbers),
            encoded.codes[self._levels],
            encoded.levels[self._levels],
            encoded.y,
            encoded.weights,
            len(encoded.classes),
            smoothing=self.smoothing,
            n_jobs=1,
        )


def _columns(features: VoteFeatures) -> NDArray[np.float64]:
    return features.phi.reshape(-1, features.phi.shape[2]).T
