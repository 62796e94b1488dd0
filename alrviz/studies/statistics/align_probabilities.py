"""Class probabilities of new rows made comparable: over all classes of the table, and never exactly 0.

A class that the training rows do not have gets what an m-estimate of the class prior gives it, m = 1, whatever the
model: 1 / (C (N + 1)) of the probability, taken from the others alike. A probability of exactly 0 (a random forest's)
counts as 2^-52, as in scikit-learn's log_loss. So every log loss is finite.
"""

import numpy as np
from numpy.typing import NDArray

from alrviz.passes.aligned_buffers import Floats

MIN_LOG_P = float(np.log(np.finfo(float).eps))


def over_all_classes(log_p: Floats, known_classes: NDArray[np.intp], n_classes: int, n_train: float) -> Floats:
    """Return log p (N, C) of log p (N, K) of the known classes (K,), indices below C.

    n_train: how many rows were learned from, by their weights.
    """
    log_p = np.where(np.isneginf(log_p), MIN_LOG_P, log_p)
    if len(known_classes) == n_classes:
        return log_p
    unseen_p = 1.0 / (n_classes * (n_train + 1.0))
    aligned = np.full((len(log_p), n_classes), np.log(unseen_p))
    aligned[:, known_classes] = log_p + np.log1p(-unseen_p * (n_classes - len(known_classes)))
    return aligned


def share_log_p(y: NDArray[np.integer], n_classes: int, n_rows: int, weights: Floats | None = None) -> Floats:
    """Return log p (n_rows, C) of the class shares of y, whose rows have weights, with m = 1: the model of order 0.

    n_classes: C; weights: (N,) of the rows of y, None if all are equal.
    """
    counts = np.bincount(y, weights, minlength=n_classes) + 1.0 / n_classes
    return np.tile(np.log(counts / counts.sum()), (n_rows, 1))
