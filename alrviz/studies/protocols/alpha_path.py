"""From generative to discriminative: a recipe fitted along alpha, from the strongest penalty to almost none.

alpha -> infinity gives the model of the center (zero, naive Bayes or AnJE), alpha -> 0 the unpenalised fit.
"""

import json
from collections.abc import Sequence
from math import comb
from typing import TYPE_CHECKING, Unpack

import numpy as np

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.seeds import seed_of
from alrviz.data.splits import holdout_spec
from alrviz.errors import RecipeError
from alrviz.fitting.recipe import Recipe, recipe_list
from alrviz.stop import NEVER, StopToken
from alrviz.studies.core.alpha_path_task import AlphaPathFit
from alrviz.studies.core.fold_cache import PreparedFold, warm
from alrviz.studies.core.study import Study, StudyOptions
from alrviz.studies.core.study_task import Row, StudyTask, fold_tasks, plain
from alrviz.studies.core.table_transfer import SentTable
from alrviz.studies.statistics.measures import MEASURES

if TYPE_CHECKING:
    import pandas as pd


# Maximum training rows x tuples x classes of a fit that follows a slider: LED at n = 2 (0.4 million) takes 7 to 84 ms,
# waveform (2.2 million) 20 to 400 ms.
MAX_LIVE_WORK = 3_000_000
ALPHAS = tuple(float(f"{value:.3g}") for value in np.logspace(4, -4, 25))


def alpha_path(
    dataset: Dataset,
    recipes: Sequence[Recipe] | Recipe,
    *,
    alphas: Sequence[float] = ALPHAS,
    holdout: float = 0.3,
    repeats: int = 1,
    references: bool = True,
    seed: int = 0,
    **run_options: Unpack[StudyOptions],
) -> Study:
    """Return the study of recipes along alpha on holdout splits; it has not started.

    Args:
        dataset: the table.
        recipes: recipes of lr or alr; their alpha is ignored, their center is where the path starts.
        alphas: at least one, all above 0; fitted from the largest down, each fit started at the model before it.
        holdout: share of the rows in the stratified test set.
        repeats: number of splits; the first is that of `Run(dataset, Recipe(..., holdout=holdout, seed=seed))`.
        references: whether AnJE, and lr and alr without a penalty, of the same orders are fitted for comparison; they
            follow `recipes` in `study.recipes`.
        seed: seed of the splits.
        run_options: n_jobs, max_memory, scheduler, keep, owner (see `alrviz.studies.core.study.StudyOptions`).

    A row is one alpha of one recipe: racer, label, name, order, repeat, alpha, outcome, sentence, log_loss, error,
    rmse, brier, ece of the test rows, train_log_loss, train_error, train_rmse, objective, n_iter, train_seconds,
    log_loss_above_se, error_above_se, rmse_above_se (standard errors of the difference from the best of the path,
    paired by test row), and away_0, away_5 .. away_100: quantiles of the weights minus the center's, without
    intercepts. References have one row each, as in `bias_variance`. train_seconds are the solver's alone, as encoding
    is done once for a path (those of references include it). `summary()` has means over the repeats, a row for each
    recipe and alpha.

    Raises:
        RecipeError: if a recipe has no alpha, or alphas, holdout or repeats are out of range.

    >>> from alrviz import Recipe, load_demo
    >>> study = alpha_path(load_demo("led", 500), [Recipe("alr", order=1, center="anje")], n_jobs=1).run()
    >>> curve = study.frame().query("racer == 0")
    >>> nb = study.frame().query("label == 'nb'")
    >>> [round(float(line.log_loss.iloc[0]), 1) for line in (curve, nb)]
    [0.9, 0.9]
    """
    require_dataset(dataset)
    recipes = recipe_list(recipes)
    strengths = sorted({float(alpha) for alpha in alphas}, reverse=True)
    if not strengths or strengths[-1] <= 0 or repeats < 1 or not 0 < holdout < 1:
        raise RecipeError(f"alphas={list(alphas)}, holdout={holdout}, repeats={repeats} do not fit; expected alphas "
                          "above 0, a holdout between 0 and 1, and at least 1 repeat")  # fmt: skip
    for recipe in recipes:
        if not has_alpha_path(recipe):
            raise RecipeError(f"{recipe.label} has no penalty alpha to vary; expected recipes of lr or alr")
    repeats = 1 if dataset.splitting.times is not None else repeats
    splits = [holdout_spec(holdout, seed, repeat) for repeat in range(repeats)]
    options = json.dumps({"alphas": strengths})
    tasks = []
    for split in splits:
        for racer, recipe in enumerate(recipes):
            recipe_text = plain(recipe.replace(alpha=strengths[0])).to_json()
            seed_of_task = seed_of(seed, recipe_text, split.repeat)
            tasks.append(StudyTask("path", recipe_text, dataset.hash, split, options, seed_of_task, racer=racer))
    comparisons = _reference_recipes(recipes) if references else []
    comparison_tasks = fold_tasks(dataset.hash, comparisons, splits, seed, first=len(recipes))
    settings = {"alphas": strengths, "holdout": holdout, "repeats": repeats, "references": references, "seed": seed}
    return Study(
        "path", [dataset], [*recipes, *comparisons], [*comparison_tasks, *tasks], summary, settings, **run_options
    )


def has_alpha_path(recipe: Recipe) -> bool:
    """Return whether the recipe has a penalty whose strength can vary."""
    return {"order", "alpha", "penalty"} <= recipe.params.keys()


def _reference_recipes(recipes: Sequence[Recipe]) -> list[Recipe]:
    """Return AnJE, and lr and alr without a penalty, of each order of the recipes."""
    orders = dict.fromkeys(recipe.params["order"] for recipe in recipes)
    first_recipe = recipes[0]
    unpenalised = [first_recipe.replace(family=family, order=n, alpha=0.0) for n in orders for family in ("lr", "alr")]
    return [first_recipe.replace(family="anje", order=order) for order in orders] + unpenalised


def summary(study: Study) -> "pd.DataFrame":
    """Return a row for each recipe and alpha: means over the repeats, also of the standard errors."""
    frame = study.frame()
    if not len(frame) or "log_loss" not in frame:
        return frame
    successful_fits = frame[frame.outcome != "failed"]
    names = ["racer", "label", "name", "order", "alpha"]
    prefixes, suffix = ("train_", "away_"), "_above_se"
    measures = [name for name in frame if name in MEASURES or name.startswith(prefixes) or name.endswith(suffix)]
    groups = successful_fits.groupby(names, dropna=False, as_index=False)
    return groups[measures].mean().assign(repeats=groups.size()["size"])


def is_quick(dataset: Dataset, recipe: Recipe, holdout: float) -> bool:
    """Return whether a fit to the rows besides this holdout share is short enough to follow a slider as it moves."""
    order, n_columns = recipe.params["order"], dataset.X.shape[1]
    return bool(dataset.n_rows * (1 - holdout) * comb(n_columns, order) * dataset.n_classes <= MAX_LIVE_WORK)


class LiveAlphaPath:
    """Fits at any alpha of a path's first split, each started at the nearest one before; serves one thread at a time.

    They are those of `alpha_path`: the optimum at an alpha does not depend on the start.

    Args:
        dataset: the table.
        holdout, seed: the split.
        max_memory: bytes a fit may take; None: half of the free memory.
    """

    def __init__(self, dataset: Dataset, holdout: float = 0.3, seed: int = 0, max_memory: int | None = None):
        self._table = SentTable.from_dataset(dataset)
        self._split = holdout_spec(holdout, seed)
        self._max_memory = max_memory
        self._path_fit: AlphaPathFit | None = None
        self._recipe: Recipe | None = None
        self._rows: PreparedFold | None = None
        self._encoding: tuple[object, ...] = ()

    def fit(self, recipe: Recipe, alpha: float, stop: StopToken = NEVER) -> Row:
        """Return the row of one alpha, as in `alpha_path`.

        Raises:
            AlrvizError: if the fit fails.
            Stopped: if `stop` is called on the token during the fit.
        """
        recipe = plain(recipe).replace(alpha=1.0)
        if self._path_fit is None or self._recipe != recipe:
            warm(recipe, len(self._table.classes))
            stop.check()
            encoding = (recipe.cuts, recipe.most_levels, recipe.missing)
            if self._rows is None or self._encoding != encoding:
                self._rows, self._encoding = PreparedFold(self._table, self._split, recipe), encoding
            self._path_fit = AlphaPathFit(self._rows, self._table, recipe, self._max_memory)
            self._recipe = recipe
        return self._path_fit.fit(alpha, stop)[0]
