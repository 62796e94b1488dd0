"""MDLDiscretizer: MDL cuts as a scikit-learn transformer, for pipelines that end in a model of another package.

The classifiers of this package cut numeric columns themselves, on training rows only; they need no discretizer.
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from alrviz.data.mdl import mdl_cuts


class MDLDiscretizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Cut numeric columns where the cuts tell the classes apart (minimum description length).

    A column without a useful cut becomes constant 0. Missing numbers (NaN) are ignored in fitting and stay NaN.

    Fitted: `bin_edges_`, a list of (n_bins_[j] + 1,) float64: -inf, the cuts, inf (a value equal to a cut lies in the
    interval that ends there); `n_bins_` (``n_features_in_``,) int64, intervals per column; `n_features_in_` and
    `feature_names_in_` as everywhere in scikit-learn.

    U. M. Fayyad and K. B. Irani, Multi-interval discretization of continuous-valued attributes for classification
    learning, IJCAI 1993.

    >>> discretizer = MDLDiscretizer().fit([[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]], [0, 0, 0, 1, 1, 1])
    >>> discretizer.transform([[4.0], [6.0]]).tolist()
    [[0.0], [1.0]]
    """

    bin_edges_: list[np.ndarray]
    n_bins_: np.ndarray

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "MDLDiscretizer":
        """Find the cuts of every column of X (N, a); y (N,) classes; a weight of 2 is the row twice, 0 no row.

        Raises ValueError for infinite numbers, text, or y that is not of classes.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite="allow-nan")
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        cuts = [mdl_cuts(X[:, j], codes, len(classes), weights) for j in range(X.shape[1])]
        self.bin_edges_ = [np.concatenate([[-np.inf], column, [np.inf]]) for column in cuts]
        self.n_bins_ = np.array([len(column) + 1 for column in cuts], dtype=np.int64)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the interval of every number of X (N, a), 0 .. n_bins_[j] - 1, as float64; NaN stays NaN."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False)
        intervals = np.empty_like(X)
        for j, edges in enumerate(self.bin_edges_):
            intervals[:, j] = np.searchsorted(edges[1:-1], X[:, j], side="left")
        intervals[np.isnan(X)] = np.nan
        return intervals

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags
