"""alpha="cv": how strong the penalty is, chosen by held-out log loss inside the rows that a fit is given.

    for alpha in 10^4, 10^3.5, ... 10^-3:   fit each fold's other rows, started at the model of the alpha before
    the alpha of the lowest mean log loss of the rows left out; of equal ones the strongest

It ends early once WORSE values in a row have not lowered that mean. Columns are cut inside each fold. There are three
folds; of a table of more than MANY rows only the first is judged, whose rows are enough unless nearly all are of one
class (`n_validation_folds`).
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.data.encode import class_codes
from alrviz.data.splits import FOLDS, Splits, validation_folds
from alrviz.data.splitting import AT_RANDOM, Splitting
from alrviz.errors import MemoryLimitError, RecipeError
from alrviz.fitting.prepare import Prepared, encode_rows
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.solvers.step import DIVERGED, FAILED
from alrviz.stop import NEVER, StopToken

GRID = tuple(float(10.0**power) for power in np.arange(4.0, -3.25, -0.5))
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
    splitting: Splitting = AT_RANDOM,
    n_jobs: int | None = None,
    max_memory: int | None = None,
    stop: StopToken = NEVER,
) -> tuple[float, pd.DataFrame]:
    """Return the alpha, and a line for each that was tried: alpha, log_loss (mean over the folds).

    `splitting`: what the folds keep to, row by row of X.

    An alpha of which a fit diverges or fails has no line. The folds are in memory together: each may take its share of
    `max_memory` bytes (None: half of what is free when it is fitted).

    Raises:
        RecipeError: a loss without probabilities, rows too few to hold some out, or no fit that ended well.
        MemoryLimitError: a fold that needs more than its share.
        Stopped: once `stop` is pulled.
    """
    if recipe.params.get("objective") == "hinge":
        raise RecipeError(
            'alpha="cv" compares held-out log losses, and objective="hinge" has no probabilities; expected '
            'objective="nll" or "mse", or a number for alpha'
        )
    classes, code = class_codes(y, len(y))  # labels are objects: each is looked at once, codes from then on
    class_rows = np.bincount(code, minlength=len(classes))
    folds = [
        _prepared(recipe, X, classes[code], weights, fold, categorical_features, n_jobs)
        for fold in validation_folds(code, class_rows, recipe.seed, splitting)
    ]
    if not folds:
        raise RecipeError(f'alpha="cv" cannot hold out rows of {len(y)}, whose classes are too small; give a number')
    each = None if max_memory is None else max_memory // len(folds)
    models: list[Any] = [None] * len(folds)
    tried: list[tuple[float, float]] = []
    best, worse = np.inf, 0
    for alpha in GRID:
        plain = recipe.replace(alpha=alpha, tol=max(_TOL, recipe.params["tol"]), max_iter=_STEPS)
        fits = [_fitted(fold, plain, each, model, stop) for fold, model in zip(folds, models, strict=True)]
        ended = [fit for fit in fits if fit is not None]
        if len(ended) < len(folds):
            continue
        models = [model for model, _ in ended]
        mean = float(np.mean([loss for _, loss in ended]))
        tried.append((alpha, mean))
        best, worse = (mean, 0) if mean < best else (best, worse + 1)
        if worse == WORSE:
            break
    if not tried:
        raise RecipeError('alpha="cv" found no alpha whose fits end well; give a number, or another solver or tol')
    frame = pd.DataFrame(tried, columns=["alpha", "log_loss"])
    return float(frame.alpha[int(frame.log_loss.argmin())]), frame


def _fitted(
    fold: Prepared, recipe: Recipe, max_memory: int | None, start: Any, stop: StopToken
) -> tuple[Any, float] | None:
    """The model and its held-out log loss; None where the fit diverged or failed."""
    start = None if recipe.definition.cells_depend_on_alpha(recipe.params) else start
    run = Run.on(fold, recipe, max_memory=max_memory, start=start)
    try:
        for _ in run.steps():
            stop.check()
    except MemoryLimitError as error:
        told = f'alpha="cv" has up to {FOLDS} folds in memory, each within its share: {error}'
        raise MemoryLimitError(told, error.needed, error.allowed) from error
    if run.outcome is None or run.outcome.code in (DIVERGED, FAILED):
        return None
    return run.model, run.trace[-1].extra["heldout_log_loss"]


def _prepared(
    recipe: Recipe,
    X: Any,
    y: NDArray[Any],
    weights: NDArray[np.float64],
    fold: Splits,
    categorical_features: Any,
    n_jobs: int | None,
) -> Prepared:
    """The rows of a fold, encoded."""
    learn, judge = (
        (X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows], y[rows], weights[rows])
        for rows in (fold.train, fold.validation)
    )
    return encode_rows(recipe, *learn, held=judge, categorical_features=categorical_features, n_jobs=n_jobs)
