"""Generative to discriminative: a recipe along alpha, from its center to where nothing shrinks it.

alpha -> infinity gives the model of the center (nothing, naive Bayes or AnJE), alpha -> 0 the unpenalised fit.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

import numpy as np

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.seeds import seed_of
from alrviz.data.splits import holdout_spec
from alrviz.errors import RecipeError
from alrviz.fitting.recipe import Recipe, recipe_list
from alrviz.studies.core.study import Study
from alrviz.studies.core.study_options import StudyOptions
from alrviz.studies.core.study_task import StudyTask, fold_tasks, plain
from alrviz.studies.statistics.measures import MEASURES

if TYPE_CHECKING:
    import pandas as pd


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
    """Return the study of recipes along alpha, on the explorer's split; nothing is begun.

    Args:
        dataset: the table.
        recipes: of lr or alr; their alpha is not used, their center is what the path begins at.
        alphas: at least one, above 0; taken from the largest down, each fit started at the model of the one before.
        holdout: share of the rows to be judged on, stratified.
        repeats: splits; the first is the one of `Run(dataset, Recipe(..., holdout=holdout, seed=seed))`.
        references: whether AnJE, and lr and alr without a penalty, of the same orders are fitted beside: they follow
            `recipes` in `study.recipes`.
        seed: of the splits.
        run_options: n_jobs, max_memory, scheduler, keep, owner (see `alrviz.studies.core.study_options.StudyOptions`).

    A row is one alpha of one recipe: racer, label, name, order, repeat, alpha, outcome, sentence, log_loss, error,
    rmse, brier, ece of the test rows, train_log_loss, train_error, train_rmse, objective, n_iter, train_seconds,
    log_loss_above_se, error_above_se, rmse_above_se (standard errors of how far the fit is above the best of its path,
    test row by row), and away_0, away_5 .. away_100: quantiles of the weights minus the center's, intercepts
    left out. References
    have one row each, as in `bias_variance`. train_seconds are the solver's, without encoding, which a path does once
    (those of references hold it). `summary()` has means over the repeats, a line for each recipe and alpha.

    Raises:
        RecipeError: a recipe without a path, or alphas that are none.

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
        raise RecipeError(f"alphas={list(alphas)}, holdout={holdout}, repeats={repeats} are no path; expected alphas "
                          "above 0, a share between 0 and 1, and at least 1 repeat")  # fmt: skip
    for recipe in recipes:
        if not has_path(recipe):
            raise RecipeError(f"{recipe.label} has no path along alpha; expected recipes of lr or alr")
    repeats = 1 if dataset.splitting.when is not None else repeats
    splits = [holdout_spec(holdout, seed, repeat) for repeat in range(repeats)]
    options = json.dumps({"alphas": strengths})
    tasks = []
    for split in splits:
        for racer, recipe in enumerate(recipes):
            text = plain(recipe.replace(alpha=strengths[0])).to_json()
            drawn = seed_of(seed, text, split.repeat)
            tasks.append(StudyTask("path", text, dataset.hash, split, options, drawn, racer=racer))
    beside = _references(recipes) if references else []
    others = fold_tasks(dataset.hash, beside, splits, seed, first=len(recipes))
    asked = {"alphas": strengths, "holdout": holdout, "repeats": repeats, "references": references, "seed": seed}
    return Study("path", [dataset], [*recipes, *beside], [*others, *tasks], summary, asked, **run_options)


def has_path(recipe: Recipe) -> bool:
    """Whether a penalty of any strength leads to its family's weights."""
    return {"order", "alpha", "penalty"} <= recipe.params.keys()


def _references(recipes: Sequence[Recipe]) -> list[Recipe]:
    """AnJE, and lr and alr without a penalty, of each order there is."""
    orders = dict.fromkeys(recipe.params["order"] for recipe in recipes)
    first = recipes[0]
    free = [first.replace(family=family, order=order, alpha=0.0) for order in orders for family in ("lr", "alr")]
    return [first.replace(family="anje", order=order) for order in orders] + free


def summary(study: Study) -> "pd.DataFrame":
    """Return a line for each recipe and alpha: means over the repeats, also of standard errors, then too high."""
    frame = study.frame()
    if not len(frame) or "log_loss" not in frame:
        return frame
    fine = frame[frame.outcome != "failed"]
    names = ["racer", "label", "name", "order", "alpha"]
    measures = [name for name in frame if name in MEASURES or _is_mean(str(name))]
    return (
        fine.groupby(names, dropna=False, as_index=False)[measures]
        .mean()
        .assign(repeats=fine.groupby(names, dropna=False).size().to_numpy())
    )


def _is_mean(name: str) -> bool:
    return name.startswith(("train_", "away_")) or name.endswith("_above_se")
