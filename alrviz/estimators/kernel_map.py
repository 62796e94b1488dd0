"""Kernel models as linear ones: columns whose inner products are a kernel.

    z(x) = k(x, L) U S^(-1/2)      k(L, L) = U S U'      z(x) . z(x') = k(x, x') for x, x' among the landmarks L

U and S hold the positive part of the spectrum. A penalised linear model of z is the kernel model: alpha ||w||^2 is
alpha times the squared norm of the function in the kernel's space. With all training rows as landmarks it is exact;
with fewer it is Nystroem's approximation, in O(N L^2 + L^3) time.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

# Below this share of the largest eigenvalue a direction is rounding error, which dividing by its root would amplify.
_MIN_EIGENVALUE_SHARE = 1e-10


class KernelMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Columns (N, rank) whose inner products are the kernel between rows.

    Parameters
    ----------
    kernel : {"rbf", "polynomial"}, default="rbf"
        exp(-gamma ||x - x'||^2), or (gamma x . x' + coef0)^degree.
    gamma : float or "scale", default="scale"
        "scale" is 1 / (columns * variance of all values), as in scikit-learn's SVC.
    degree, coef0 : int, default=3, and float, default=1.0
        Of the polynomial kernel.
    landmarks : int, default=1000
        At most so many training rows, drawn without replacement where there are more.
    random_state : int, RandomState or None, default=None
        Of that draw.

    Attributes
    ----------
    landmarks_ : (L, columns), the rows drawn.
    map_ : (L, rank), U S^(-1/2).
    """

    def __init__(
        self,
        kernel: str = "rbf",
        *,
        gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        landmarks: int = 1000,
        random_state: Any = None,
    ):
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.landmarks = landmarks
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the landmarks from the rows of X (N, columns) and decompose their kernel; y is ignored."""
        X = validate_data(self, X, dtype=np.float64)
        variance = float(X.var())
        self._gamma = 1.0 / (X.shape[1] * variance or 1.0) if self.gamma == "scale" else float(self.gamma)
        if len(X) > self.landmarks:
            X = X[check_random_state(self.random_state).choice(len(X), self.landmarks, replace=False)]
        self.landmarks_ = X
        eigenvalues, eigenvectors = np.linalg.eigh(self._kernel(X))
        is_significant = eigenvalues > max(_MIN_EIGENVALUE_SHARE * eigenvalues[-1], 0.0)
        self.map_ = eigenvectors[:, is_significant] / np.sqrt(eigenvalues[is_significant])
        self._n_features_out = self.map_.shape[1]
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return z of each row of X (N, columns): (N, rank)."""
        check_is_fitted(self)
        return self._kernel(validate_data(self, X, dtype=np.float64, reset=False)) @ self.map_

    def _kernel(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        params = {"gamma": self._gamma, "degree": self.degree, "coef0": self.coef0}
        return pairwise_kernels(X, self.landmarks_, metric=self.kernel, filter_params=True, **params)
