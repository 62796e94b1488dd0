"""What the rows of a table take from the sums they are set beside, and the class shares that are left.

    left out:  a training row takes t = min(1, its weight) from the counts of its class: N_y - t, N - t
    bias:      C = 2: (D - 1)/D log(N_1 / N_0)          C > 2: (D - 1)/D log(N_k / N)
    prior:     1/D of the same logarithms: phi where nobody votes

Rows of one class that take the same are of one kind: mostly there are C of them.
"""

import numpy as np
from numpy.typing import NDArray

from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.density import RowKinds


def strangers(n_rows: int, class_counts: Floats, n_features: int) -> RowKinds:
    """Return the one kind of rows that take nothing from any sum; class_counts (C,) are weights of training rows."""
    return RowKinds(np.zeros(n_rows, np.int32), _arrays(np.array([-1]), np.zeros(1), class_counts, n_features))


def left_out(y: NDArray[np.int32], weights: Floats, class_counts: Floats, n_features: int) -> RowKinds:
    """Return the kinds of training rows, y and weights (N,), that are left out of their own sums."""
    amounts, amount = np.unique(np.minimum(1.0, weights), return_inverse=True)
    classes = len(class_counts)
    found, rows = np.unique(amount * classes + y, return_inverse=True)
    arrays = _arrays(found % classes, amounts[found // classes], class_counts, n_features)
    return RowKinds(rows.astype(np.int32), arrays)


def _arrays(
    classes: NDArray[np.int64], taken: Floats, class_counts: Floats, n_features: int
) -> tuple[NDArray[np.int64], Floats, Floats, Floats, Floats]:
    share = 1.0 - 1.0 / n_features
    own = classes[:, None] == np.arange(len(class_counts))
    totals = np.maximum(0.0, class_counts - own * taken[:, None])
    with np.errstate(divide="ignore"):
        log_share = np.log(totals / totals.sum(axis=1, keepdims=True))
    logs = log_share[:, 1:] - log_share[:, :1] if len(class_counts) == 2 else log_share
    bias = np.where(np.isfinite(logs), share * logs, 0.0)  # a class that is left empty has no vote either
    return classes.astype(np.int64), taken, totals, bias, (1.0 - share) * logs
