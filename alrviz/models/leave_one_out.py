"""Kinds of rows by the vote that they withdraw from their own sums, with the class shares that remain.

    left out:  a training row withdraws t = min(1, its weight) from the counts of its class: N_y - t, N - t
    bias:      C = 2: (D - 1)/D log(N_1 / N_0)          C > 2: (D - 1)/D log(N_k / N)
    prior:     1/D of the same logarithms: phi where no row votes

Rows of one class that withdraw the same are of one kind; mostly there are C kinds.
"""

import numpy as np
from numpy.typing import NDArray

from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.density import RowKinds


def new_row_kinds(n_rows: int, class_counts: Floats, n_features: int) -> RowKinds:
    """Return the single kind of rows that withdraw nothing; class_counts (C,) are weights of training rows."""
    return RowKinds(np.zeros(n_rows, np.int32), _arrays(np.array([-1]), np.zeros(1), class_counts, n_features))


def training_row_kinds(y: NDArray[np.int32], weights: Floats, class_counts: Floats, n_features: int) -> RowKinds:
    """Return the kinds of training rows, y and weights (N,), that are left out of their own sums."""
    amounts, amount = np.unique(np.minimum(1.0, weights), return_inverse=True)
    classes = len(class_counts)
    kinds, rows = np.unique(amount * classes + y, return_inverse=True)
    arrays = _arrays(kinds % classes, amounts[kinds // classes], class_counts, n_features)
    return RowKinds(rows.astype(np.int32), arrays)


def _arrays(
    classes: NDArray[np.int64], own_votes: Floats, class_counts: Floats, n_features: int
) -> tuple[NDArray[np.int64], Floats, Floats, Floats, Floats]:
    share = 1.0 - 1.0 / n_features
    is_own_class = classes[:, None] == np.arange(len(class_counts))
    totals = np.maximum(0.0, class_counts - is_own_class * own_votes[:, None])
    with np.errstate(divide="ignore"):
        log_share = np.log(totals / totals.sum(axis=1, keepdims=True))
    logs = log_share[:, 1:] - log_share[:, :1] if len(class_counts) == 2 else log_share
    bias = np.where(np.isfinite(logs), share * logs, 0.0)  # a class that is now empty has no votes either
    return classes.astype(np.int64), own_votes, totals, bias, (1.0 - share) * logs
