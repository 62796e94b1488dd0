"""alpha="cv": how strong the pull is, chosen by held-out log loss inside the rows that a fit is given.

    for alpha in 10^4, 10^3.5, ... 10^-3:   fit each fold's other rows, started at the model of the alpha before
    the alpha of the lowest mean log loss of the rows left out; of equal ones the strongest

It ends early once WORSE values in a row have not lowered that mean. Columns are cut inside each fold. Of three folds
all are judged; where a single one has rows enough (MANY in all) only the first.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.data.encode import Encoder
from alrviz.errors import RecipeError
from alrviz.fitting.folds import stratified_folds
from alrviz.fitting.prepare import Prepared
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.run import Run

GRID = tuple(float(10.0**power) for power in np.arange(4.0, -3.25, -0.5))
FOLDS = 3
MANY = 20_000
WORSE = 2
# The fits are only compared: differences between two alphas are larger than what is left to fall.
_TOL, _STEPS = 1e-4, 100


def choose_alpha(
    recipe: Recipe,
    X: Any,
    y: NDArray[Any],
    weights: NDArray[np.float64],
    *,
    categorical_features: Any = "from_dtype",
    n_jobs: int | None = None,
    max_memory: int | None = None,
) -> tuple[float, pd.DataFrame]:
    """Return the alpha, and a line for each that was tried: alpha, log_loss (mean over the folds).

    Raises:
        RecipeError: where the rows are too few to hold some out.
    """
    made = [
        _prepared(recipe, X, y, weights, train, test, categorical_features, n_jobs)
        for train, test in stratified_folds(y, FOLDS, recipe.seed)[: 1 if len(y) > MANY else FOLDS]
    ]
    folds = [fold for fold in made if fold is not None]
    if not folds:
        raise RecipeError(f'alpha="cv" cannot hold out rows of {len(y)}, whose classes are too small; give a number')
    models: list[Any] = [None] * len(folds)
    tried: list[tuple[float, float]] = []
    best, worse = np.inf, 0
    for alpha in GRID:
        losses = []
        for k, fold in enumerate(folds):
            plain = recipe.replace(alpha=alpha, tol=max(_TOL, recipe.params["tol"]), max_iter=_STEPS)
            run = Run.on(fold, plain, max_memory=max_memory, start=models[k])
            for _ in run.steps():
                pass
            models[k] = run.model
            losses.append(run.trace[-1].extra["heldout_log_loss"])
        mean = float(np.mean(losses))
        tried.append((alpha, mean))
        best, worse = (mean, 0) if mean < best else (best, worse + 1)
        if worse == WORSE:
            break
    frame = pd.DataFrame(tried, columns=["alpha", "log_loss"])
    return float(frame.alpha[int(frame.log_loss.argmin())]), frame


def _prepared(
    recipe: Recipe,
    X: Any,
    y: NDArray[Any],
    weights: NDArray[np.float64],
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    categorical_features: Any,
    n_jobs: int | None,
) -> Prepared | None:
    """The rows of a fold, encoded; those of a class that its training rows do not have say nothing about alpha."""
    test = test[np.isin(y[test], y[train])]
    if not len(test) or len(np.unique(y[train])) < 2:
        return None
    take = (lambda rows: X.iloc[rows]) if isinstance(X, pd.DataFrame) else (lambda rows: X[rows])
    encoder = Encoder(
        discretize=recipe.cuts,
        n_bins=recipe.n_bins,
        missing=recipe.missing,
        categorical_features=categorical_features,
    ).fit(take(train), y[train], weights[train])
    encoded = encoder.encode(take(train), y[train], weights[train])
    return Prepared(encoded, encoder.encode(take(test), y[test], weights[test]), encoder, n_jobs)
