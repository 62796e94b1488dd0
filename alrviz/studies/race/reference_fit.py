"""A classifier put beside a run: fitted on the same training rows, judged on the same test rows.

It is one of `estimators.peers`, a peer or a rival, or the truth of a demo set whose generator is known. Fits here
cannot be stopped inside: a table of more than MOST rows is thinned for them, class by class and by a seed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from alrviz.data.splits import split_holdout, split_table
from alrviz.passes.rows import Floats
from alrviz.stop import NEVER, StopToken
from alrviz.studies.statistics.align_probabilities import MIN_LOG_P

if TYPE_CHECKING:
    import pandas as pd

    from alrviz.data.dataset import Dataset

# Training rows of a peer: an SVM's time grows with their square, and is about a second here.
MOST = 4_000
TRUTH = "truth"


@dataclass(frozen=True, eq=False)
class Truth:
    """The generator's own p(class | row) as a classifier.

    Attributes:
        classes_: (C,) sorted.
        probability: of a frame with all the generator's columns, (N, C).
    """

    classes_: NDArray[Any]
    probability: "Callable[[pd.DataFrame], Floats]"

    def predict_proba(self, X: "pd.DataFrame") -> Floats:
        """Return p(class | row), (N, C)."""
        return self.probability(X)

    def predict(self, X: "pd.DataFrame") -> NDArray[Any]:
        """Return the most probable class of each row (N,)."""
        return self.classes_[self.probability(X).argmax(axis=1)]


@dataclass(frozen=True, eq=False)
class ReferenceFit:
    """A fitted peer and what the test rows say of it.

    Attributes:
        name: its key.
        model: the classifier.
        rows: training rows it was fitted on; 0 for the truth.
        error: share of test rows it gets wrong, NaN without any.
        log_loss: per test row in nats, NaN without probabilities or rows.
        heldout_rows: how many rows these are means of.
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
    truth: "Callable[[pd.DataFrame], Floats] | None" = None,
    stop: StopToken = NEVER,
) -> ReferenceFit:
    """Fit the peer `name` on the training rows that a run with this `holdout` and `seed` has.

    name: a key of `estimators.peers.known_peers()`, or "truth", for which `truth` is taken.

    Raises:
        RecipeError: if no peer has that name.
    """
    X, y, weights = dataset.X, dataset.y, dataset.weights
    splits = split_table(dataset, holdout, seed)
    train, test = splits.train, splits.test
    stop.check()
    if name == TRUTH and truth is not None:
        model: Any = Truth(np.asarray(dataset.classes), truth)
        rows = 0
    else:
        if len(train) > MOST:
            train = train[split_holdout(y[train], 1 - MOST / len(train), seed).train]  # every class keeps a row
        own = None if weights is None else weights[train]
        model, rows = fit_rows(name, X.iloc[train], y[train], own), len(train)
    stop.check()
    losses = _losses(model, X.iloc[test], y[test], None if weights is None else weights[test])
    return ReferenceFit(name, model, rows, *losses, heldout_rows=len(test))


def fit_rows(name: str, X: "pd.DataFrame", y: NDArray[Any], weights: Floats | None = None) -> Any:
    """Return the peer `name`, fitted to these rows; weights (N,), None where each counts once."""
    from sklearn.pipeline import Pipeline

    from alrviz.estimators.peers import make_peer

    peer = make_peer(name)
    step = "model__" if isinstance(peer, Pipeline) else ""
    return peer.fit(X, y, **({} if weights is None else {f"{step}sample_weight": weights}))


def _losses(model: Any, X: "pd.DataFrame", y: NDArray[Any], weights: Floats | None = None) -> tuple[float, float]:
    """0-1 loss and log loss of rows; NaN where there are none, or no probabilities. An unknown class has p = 0, which
    counts as 2^-52 as in all studies.
    """
    if not len(y):
        return float("nan"), float("nan")
    error = float(np.average(model.predict(X).astype(str) != y.astype(str), weights=weights))
    if not hasattr(model, "predict_proba"):
        return error, float("nan")
    known = {str(label): k for k, label in enumerate(model.classes_)}
    codes = np.array([known.get(str(label), -1) for label in y])
    p = np.where(codes < 0, 0.0, model.predict_proba(X)[np.arange(len(y)), codes])
    return error, float(np.average(-np.log(np.where(p > 0.0, p, np.exp(MIN_LOG_P))), weights=weights))
