"""Log loss of each test row at a run's latest step, for paired comparisons."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from alrviz.fitting.runs.run import Run


def heldout_losses(run: "Run | Any") -> NDArray[np.float64] | None:
    """Return -log p(y | x) of each test row (rows,), in nats; None without a model or test rows.

    If rows have weights the losses are multiplied by them, scaled to mean 1, so that their mean is the weighted mean.
    """
    from alrviz.models.linear import log_softmax  # imports numba, which a page need not wait for when it opens

    model, holdout = run.model, run.holdout
    if model is None or holdout is None:
        return None
    log_p = log_softmax(model.scores_of(holdout))
    losses = -log_p[np.arange(len(log_p)), holdout.y]
    weights = holdout.weights
    return losses if (weights == weights[0]).all() else losses * (weights / weights.mean())
