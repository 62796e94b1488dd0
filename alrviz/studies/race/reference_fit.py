"""Reference classifiers fitted to the training rows of a run, and evaluated on its test rows.

A reference is one of `estimators.peers` (peer or rival), or the truth of a demo whose generator is known. Its fit
cannot be stopped halfway, so a table of more than MAX_ROWS rows is sampled, stratified by class.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.data.splits import split_holdout, split_table
from alrviz.passes.rows import Floats
from alrviz.stop import NEVER, StopToken
from alrviz.studies.statistics.align_probabilities import MIN_LOG_P

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

# Training rows of a reference: an SVM's time is quadratic in them, and about a second at this number.
MAX_ROWS = 4_000
TRUTH = "truth"


@dataclass(frozen=True, eq=False)
class Truth:
    """The known p(class | row) of a demo's generator, as a classifier.

    Attributes:
        classes_: (C,) sorted labels.
        probability: function from a frame with all the generator's columns to p(class | row), (N, C).
    """

    classes_: NDArray[Any]
    probability: Callable[[pd.DataFrame], Floats]

    def predict_proba(self, X: pd.DataFrame) -> Floats:
        """Return p(class | row), (N, C), of the rows X."""
        return self.probability(X)

    def predict(self, X: pd.DataFrame) -> NDArray[Any]:
        """Return the most probable class of each of the rows X, (N,)."""
        return self.classes_[self.probability(X).argmax(axis=1)]


@dataclass(frozen=True, eq=False)
class ReferenceFit:
    """A fitted reference and its test losses.

    Attributes:
        name: key of the reference.
        model: the classifier.
        rows: number of training rows; 0 for the truth.
        error: error rate on the test rows; NaN without any.
        log_loss: nats per test row; NaN without probabilities or rows.
        heldout_rows: number of test rows.
    """

    name: str
    model: Any
    rows: int
    error: float
    log_loss: float
    heldout_rows: int


def fit_reference(
    name: str,
    dataset: "Dataset",
    *,
    holdout: float,
    seed: int,
    truth: Callable[[pd.DataFrame], Floats] | None = None,
    stop: StopToken = NEVER,
) -> ReferenceFit:
    """Fit the reference `name` to the training rows of a data set, split as a run with this `holdout` and `seed`.

    name: a key of `estimators.peers.known_peers()`, or "truth" for the classifier of `truth`.

    Raises:
        RecipeError: if there is no such reference.
    """
    X, y, weights = dataset.X, dataset.y, dataset.weights
    splits = split_table(dataset, holdout, seed)
    train, test = splits.train, splits.test
    stop.check()
    if name == TRUTH and truth is not None:
        model: Any = Truth(np.asarray(dataset.classes), truth)
        n_rows = 0
    else:
        if len(train) > MAX_ROWS:
            train = train[split_holdout(y[train], 1 - MAX_ROWS / len(train), seed).train]  # keeps a row of each class
        train_weights = None if weights is None else weights[train]
        model, n_rows = fit_rows(name, X.iloc[train], y[train], train_weights), len(train)
    stop.check()
    test_losses = _losses(model, X.iloc[test], y[test], None if weights is None else weights[test])
    return ReferenceFit(name, model, n_rows, *test_losses, heldout_rows=len(test))


def fit_rows(name: str, X: pd.DataFrame, y: NDArray[Any], weights: Floats | None = None) -> Any:
    """Return the reference of this name, fitted to rows X of classes y; weights (N,), None: each row counts once."""
    from sklearn.pipeline import Pipeline

    from alrviz.estimators.peers import make_peer

    peer = make_peer(name)
    step_prefix = "model__" if isinstance(peer, Pipeline) else ""
    return peer.fit(X, y, **({} if weights is None else {f"{step_prefix}sample_weight": weights}))


def _losses(model: Any, X: pd.DataFrame, y: NDArray[Any], weights: Floats | None = None) -> tuple[float, float]:
    """Return 0-1 loss and log loss of rows X with classes y and weights (N,); NaN without rows, or without
    probabilities.

    A class that the model has not learned has p = 0, counted as 2^-52 as in all studies.
    """
    if not len(y):
        return float("nan"), float("nan")
    error = float(np.average(model.predict(X).astype(str) != y.astype(str), weights=weights))
    if not hasattr(model, "predict_proba"):
        return error, float("nan")
    codes = pd.Index(model.classes_.astype(str)).get_indexer(y.astype(str))  # -1 for classes that it has not learned
    p_of_class = np.where(codes < 0, 0.0, model.predict_proba(X)[np.arange(len(y)), codes])
    return error, float(np.average(-np.log(np.where(p_of_class > 0.0, p_of_class, np.exp(MIN_LOG_P))), weights=weights))
