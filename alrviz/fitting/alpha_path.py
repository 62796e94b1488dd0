"""alpha="cv": the alpha with the lowest validation log loss, along a path of warm-started fits.

    for alpha in 10^4, 10^3.5, ... 10^-3:   fit each fold's training rows, started at the model of the previous alpha
    the alpha with the lowest mean log loss of the validation rows; of equal ones the strongest

The search ends early once two values in a row have not lowered that mean. Columns are cut inside each fold. There are
three folds; a table of many rows uses only the first (`n_validation_folds`).
"""

from collections import OrderedDict
from functools import reduce
from math import inf, log
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alrviz.data.encode import class_codes
from alrviz.data.splits import FOLDS, validation_folds
from alrviz.data.splitting import AT_RANDOM, Splitting
from alrviz.errors import MemoryLimitError, RecipeError, TimeOver
from alrviz.fitting.families.alpha_folds import AUTO, INITIAL_ALPHA
from alrviz.fitting.prepare import TrainingData, encode_rows
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.solvers.choose_alpha import Candidate, GridSearch, better_of, choose_alpha, evaluate_folds
from alrviz.fitting.solvers.step import DIVERGED, FAILED
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import NEVER, Deadline, StopToken

GRID = GridSearch(tuple(float(10.0**power) for power in np.arange(4.0, -3.25, -0.5)))
# These fits are only compared: two alphas differ by more than what further steps would gain.
_MIN_TOL, _MAX_ITER = 1e-4, 100
MAX_MODELS, MAX_MODEL_BYTES = 6, 100_000_000  # of models that later fits may start from


class AlphaPath:
    """Fits of a recipe to the same rows at any alpha; a `Fold` whose loss is the mean over its validation rows.

    Args:
        prepared: the training rows, with the validation rows held out.
        recipe: its alpha is replaced for each fit.
        max_memory: bytes a fit may take; None for half of the free memory.
    """

    weights: Floats = np.ones(1)  # every fold counts the same, whatever its number of rows

    def __init__(self, prepared: TrainingData, recipe: Recipe, max_memory: int | None = None):
        self._prepared, self._recipe, self._max_memory = prepared, recipe, max_memory
        self._models: OrderedDict[float, Any] = OrderedDict()

    def fit(self, alpha: float, stop: StopToken = NEVER) -> Run:
        """Return the completed run at this alpha; later fits may start from its model if it `ended_well`.

        Raises:
            AlrvizError: there is no fit at this alpha.
            Stopped: once `stop` is called on the token.
        """
        nearest_alpha, recipe = (
            min(self._models, key=lambda fitted_alpha: abs(log(fitted_alpha / alpha)), default=None),
            self._recipe,
        )
        cells_change = recipe.definition.cells_depend_on_alpha(recipe.params) or recipe.params.get("order") == AUTO
        start_model = None if nearest_alpha is None or cells_change else self._models[nearest_alpha]
        run = Run.on_prepared(
            self._prepared, recipe.replace(alpha=alpha), max_memory=self._max_memory, start=start_model
        )
        for _ in run.steps():
            stop.check()
        if ended_well(run):
            model: Any = run.model
            self._models.pop(alpha, None)
            self._models[alpha] = model
            while len(self._models) > max(2, min(MAX_MODELS, MAX_MODEL_BYTES // max(model.phi.nbytes, 1))):
                self._models.popitem(last=False)
        return run

    def evaluate(self, value: Floats, stop: StopToken, close: bool = False) -> tuple[Floats, float]:
        """Return the mean validation loss at alpha = value[0] as (1,), inf if the fit failed; passes are 0.

        `close` is ignored (see `choose_alpha.Fold.evaluate`).

        Raises:
            MemoryLimitError: if the folds do not fit into memory together.
        """
        try:
            run = self.fit(float(value[0]), stop)
        except MemoryLimitError as error:
            message = f'alpha="cv" has up to {FOLDS} folds in memory, each within its share: {error}'
            raise MemoryLimitError(message, error.needed, error.allowed) from error
        loss = run.trace[-1].extra["heldout_log_loss"] if ended_well(run) else np.inf
        return np.array([loss]), 0.0


def ended_well(run: Run) -> bool:
    """Return whether a run has completed with a model: it neither diverged nor failed."""
    return run.outcome is not None and run.outcome.code not in (DIVERGED, FAILED)


def cross_validate_alpha(
    recipe: Recipe,
    X: Any,
    y: NDArray[Any],
    weights: NDArray[np.float64],
    *,
    categorical_features: Any = "from_dtype",
    splitting: Splitting = AT_RANDOM,
    n_jobs: int | None = None,
    max_memory: int | None = None,
    time_limit: float | None = None,
    stop: StopToken = NEVER,
) -> tuple[float, pd.DataFrame]:
    """Return the alpha that folds of the rows X, y, weights (N,) choose, and a frame of the alphas that were evaluated.

    time_limit: seconds of the search, after which the best alpha so far is chosen, alpha 1 if none was tried;
    None for no limit.

    The frame's columns are alpha and log_loss (mean over the folds); an alpha of which a fit diverges or fails is left
    out. The folds follow `splitting`, and are in memory together: each may take its share of `max_memory` bytes (None:
    half of the memory that is free when it is fitted). categorical_features: columns that are not cut, as in the
    estimators.

    Raises:
        RecipeError: a loss without probabilities, too few rows to hold some out, or no fit that ended well.
        MemoryLimitError: a fold that needs more than its share.
        Stopped: once `stop` is called on the token.
    """
    if recipe.params.get("objective") == "hinge":
        raise RecipeError(
            'alpha="cv" compares validation log losses, and objective="hinge" has no probabilities; expected '
            'objective="nll" or "mse", or a number for alpha'
        )
    classes, class_of_row = class_codes(y, len(y))  # labels are Python objects: each is compared only once here
    class_rows = np.bincount(class_of_row, minlength=len(classes))
    splits = validation_folds(class_of_row, class_rows, recipe.seed, splitting)
    if not splits:
        raise RecipeError(f'alpha="cv" cannot hold out rows of {len(y)}, whose classes are too small; give a number')
    fold_memory = None if max_memory is None else max_memory // len(splits)
    quick_recipe = recipe.replace(alpha=GRID.values[0], tol=max(_MIN_TOL, recipe.params["tol"]), max_iter=_MAX_ITER)
    labels, folds = classes[class_of_row], []
    for split in splits:
        train, validation = (
            (X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows], labels[rows], weights[rows])
            for rows in (split.train, split.validation)
        )
        encoded = encode_rows(
            recipe, *train, heldout=validation, categorical_features=categorical_features, n_jobs=n_jobs
        )
        folds.append(AlphaPath(encoded, quick_recipe, fold_memory))
    candidates: list[Candidate] = []
    try:
        limited = Deadline(stop, inf if time_limit is None else time_limit)
        best_candidate = choose_alpha(folds, GRID, limited, candidates.append)
    except TimeOver:
        if not candidates and (first := evaluate_folds(folds, np.array([INITIAL_ALPHA]), stop)) is not None:
            candidates.append(first)
        best_candidate = reduce(better_of, candidates) if candidates else None
    if best_candidate is None:
        raise RecipeError('alpha="cv" found no alpha whose fits end well; give a number, or another solver or tol')
    frame = pd.DataFrame(
        {
            "alpha": [candidate.values[0] for candidate in candidates],
            "log_loss": [candidate.loss for candidate in candidates],
        }
    )
    return best_candidate.values[0], frame
