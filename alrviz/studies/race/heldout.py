"""The log loss of every test row at a run's latest step: what paired comparisons are made of."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from alrviz.fitting.runs.run import Run


def heldout_losses(run: "Run | Any") -> NDArray[np.float64] | None:
    """Return -log p(y | x) of every test row (rows,), in nats; None where there is no model or no such row.

    Rows of different weights have them times their weight, of mean 1: the mean is the weighted mean.
    """
    from alrviz.models.linear import log_softmax  # numba with it: a page that is opened need not wait for that

    model, holdout = run.model, run.holdout
    if model is None or holdout is None:
        return None
    log_p = log_softmax(model.scores_of(holdout))
    losses = -log_p[np.arange(len(log_p)), holdout.y]
    weights = holdout.weights
    return losses if (weights == weights[0]).all() else losses * (weights / weights.mean())
