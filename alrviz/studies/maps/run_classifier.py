"""A run as a classifier that a decision map can ask: the model of any step that is kept, on rows of the table itself.

What a run scores are codes and numbers; here a frame with the table's columns is encoded first. The latest step is the
run's own model, in full; earlier ones have their weights in single precision.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.models.density_model import DensityModel
from alrviz.models.linear import LinearModel, log_softmax
from alrviz.models.networks import NetworkModel
from alrviz.passes.rows import Floats


@dataclass(frozen=True, eq=False)
class StepModel:
    """The model of one step of a run.

    Attributes:
        step: the index of the step.
        classes_: (C,) the classes, in the order of the columns of `predict_proba`.
        encoder: fitted on the run's training rows.
        model: scores what the encoder makes of rows.
    """

    step: int
    classes_: NDArray[Any]
    encoder: Any
    model: LinearModel | NetworkModel | DensityModel

    def scores(self, X: Any) -> Floats:
        """Return the class scores (N, C)."""
        codes = self.encoder.transform(X)
        if not isinstance(self.model, DensityModel):
            return self.model.scores(codes, 1)
        numbers = self.encoder.numbers(X)
        others = np.setdiff1d(np.arange(len(codes)), self.encoder.numeric_)
        return self.model.scores(np.empty((0, codes.shape[1])) if numbers is None else numbers, codes[others])

    def predict_proba(self, X: Any) -> Floats:
        """Return p(class | row), (N, C)."""
        return np.exp(log_softmax(self.scores(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the highest score of each row (N,), of equal ones the first."""
        return self.classes_[self.scores(X).argmax(axis=1)]


class StepScores:
    """The same where scores are no probabilities: `decision_function` in place of `predict_proba`."""

    def __init__(self, of: StepModel):
        self.step, self.classes_, self.predict = of.step, of.classes_, of.predict
        self._of = of

    def decision_function(self, X: Any) -> Floats:
        """Return the scores (N, C); of two classes the second's minus the first's, (N,)."""
        scores = self._of.scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores


def model_at(run: Any, step: int | None = None) -> StepModel | StepScores | None:
    """Return the model of a run at a step (None: the latest), or at the nearest kept before it; None if there is none.

    Of a squared hinge it gives scores, of every other loss probabilities.
    """
    latest, state, encoder = run.model, run.state, run.encoder
    if latest is None or encoder is None:
        return None
    at, model = state.index, latest
    if step is not None and step < at:
        at, model = run.model_at(step)
    found = StepModel(at, np.asarray(encoder.classes_), encoder, model)
    return StepScores(found) if run.recipe.params.get("objective") == "hinge" else found
