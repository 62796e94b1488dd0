"""A run as a classifier for decision maps: the model of any stored step, for rows of the table itself.

A run's model scores codes and numbers; here a frame with the table's columns is encoded first. The latest step is the
run's own model in full precision; earlier ones have weights in single precision.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

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
        model: scores the rows that the encoder makes.
        hinge: whether its loss is a squared hinge, whose scores give no probabilities: it has `decision_function`
            instead of `predict_proba`.
    """

    step: int
    classes_: NDArray[Any]
    encoder: Any
    model: LinearModel | NetworkModel | DensityModel
    hinge: bool = False

    def scores(self, X: Any) -> Floats:
        """Return the class scores (N, C) of a table X of N rows."""
        codes = self.encoder.transform(X)
        if not isinstance(self.model, DensityModel):
            return self.model.scores(codes, 1)
        numbers = self.encoder.numbers(X)
        categorical_columns = np.setdiff1d(np.arange(len(codes)), self.encoder.numeric_)
        return self.model.scores(
            np.empty((0, codes.shape[1])) if numbers is None else numbers, codes[categorical_columns]
        )

    @available_if(lambda self: not self.hinge)
    def predict_proba(self, X: Any) -> Floats:
        """Return p(class | row), (N, C), of a table X of N rows."""
        return np.exp(log_softmax(self.scores(X)))

    @available_if(lambda self: self.hinge)
    def decision_function(self, X: Any) -> Floats:
        """Return the scores (N, C) of a table X of N rows; of two classes the second's minus the first's, (N,)."""
        scores = self.scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of the highest score of each row of a table X, (N,), of equal ones the first."""
        return self.classes_[self.scores(X).argmax(axis=1)]


def model_at(run: Any, step: int | None = None) -> StepModel | None:
    """Return a run's model at a step (None: the latest), or at the nearest stored step before it; None without any."""
    latest, state, encoder = run.model, run.state, run.encoder
    if latest is None or encoder is None:
        return None
    index, model = state.index, latest
    if step is not None and step < index:
        index, model = run.model_at(step)
    hinge = run.recipe.params.get("objective") == "hinge"
    return StepModel(index, np.asarray(encoder.classes_), encoder, model, hinge)
