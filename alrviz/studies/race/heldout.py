"""The log loss of every test row at a run's latest step: what paired comparisons are made of."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from alrviz.fitting.runs.run import Run


def heldout_losses(run: "Run | Any") -> NDArray[np.float64] | None:
    """Return -log p(y | x) of every test row (rows,), in nats; None where there is no model or no such row."""
    from alrviz.models.linear import log_softmax  # numba with it: a page that is opened need not wait for that

    model, holdout = run.model, run.holdout
    if model is None or holdout is None:
        return None
    log_p = log_softmax(model.scores_of(holdout))
    return -log_p[np.arange(len(log_p)), holdout.y]
