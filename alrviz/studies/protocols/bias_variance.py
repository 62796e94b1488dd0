"""Bias and variance of recipes by repeated cross-validation (see statistics/decomposition.py)."""

from collections.abc import Hashable, Sequence
from dataclasses import asdict, astuple, fields
from typing import TYPE_CHECKING, Any, Unpack
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.encode import class_codes
from alrviz.data.splits import repeated_folds
from alrviz.data.splitting import AT_RANDOM, Splitting
from alrviz.errors import RecipeError
from alrviz.fitting.recipe import Recipe, recipe_list
from alrviz.passes.aligned_buffers import Floats
from alrviz.studies.core.study import Study, StudyOptions
from alrviz.studies.core.study_task import Result, Row, StudyTask, fold_tasks, unpack
from alrviz.studies.statistics.decomposition import Decomposition, decompose, leave_one_out

if TYPE_CHECKING:
    import pandas as pd


PARTS = tuple(field.name for field in fields(Decomposition))


def bias_variance(
    dataset: Dataset,
    recipes: Sequence[Recipe] | Recipe,
    *,
    rounds: int = 5,
    folds: int = 2,
    train_shares: Sequence[float] = (1.0,),
    seed: int = 0,
    **run_options: Unpack[StudyOptions],
) -> Study:
    """Return the study of R x k-fold cross-validation that decomposes the error; it has not started.

    Args:
        dataset: the table.
        recipes: recipes to fit; their own split and seed are ignored.
        rounds: R shuffles of the rows.
        folds: stratified folds of each shuffle; each is predicted by a fit to the others, on which columns are cut too.
            All recipes have the same folds.
        train_shares: shares of the training rows to fit; the test folds stay the same.
        seed: seed of the shuffles and of random numbers in the fits.
        run_options: n_jobs, max_memory, scheduler, keep, owner (see `alrviz.studies.core.study.StudyOptions`).

    A row is one fit: racer, label, name, order, alpha, repeat, fold, train_share, then the columns of
    `compute_task.fold`. `summary()` has a row for each recipe and share: rounds (complete ones), error, bias, variance,
    their unbiased form and Domingos's, each with its jackknife standard error over the rounds (`bias_se` ...; NaN below
    3).

    Raises:
        RecipeError: without recipes or rounds, with fewer than 2 folds, or for a table that is split by time.

    >>> from alrviz import Recipe, load_demo
    >>> study = bias_variance(load_demo("monks-1"), [Recipe("anje", order=1)], rounds=2, n_jobs=1).run()
    >>> study.summary()[["rounds", "error", "bias", "variance"]].round(3).values.tolist()
    [[2.0, 0.25, 0.25, 0.0]]
    """
    require_dataset(dataset)
    recipes = recipe_list(recipes)
    if dataset.splitting.times is not None:
        raise RecipeError(
            "bias and variance need predictions of every row in every round, but in a split by time the first rows are "
            "never predicted; expected a table split at random or by groups"
        )
    splits = [split for share in train_shares for split in repeated_folds(rounds, folds, seed, share)]
    tasks = fold_tasks(dataset.hash, recipes, splits, seed)
    options = {"rounds": rounds, "folds": folds, "train_shares": list(train_shares), "seed": seed}
    return Study("bias_variance", [dataset], recipes, tasks, summary, options, **run_options)


def summary(study: Study) -> "pd.DataFrame":
    """Return a row for each recipe and share of training rows, in the order of the recipes."""
    import pandas as pd

    errors, summary_rows = errors_of(study, study.dataset), list[Row]()
    results: dict[tuple[int, float], list[tuple[StudyTask, Result]]] = {}
    for task, result in study.results():
        results.setdefault((task.racer, task.split.share), []).append((task, result))
    train_shares = dict.fromkeys(task.split.share for task in study.tasks)
    for racer in range(len(study.recipes)):
        for train_share in train_shares:
            summary_row = {"racer": racer, **study.about(racer), "train_share": train_share}
            summary_rows.append(summary_row | errors.parts((racer, train_share), results.get((racer, train_share), [])))
    return pd.DataFrame(summary_rows)


_ERRORS: "WeakKeyDictionary[Study, dict[str, Errors]]" = WeakKeyDictionary()


def errors_of(study: Study, dataset: Dataset) -> "Errors":
    """Return the decomposed errors of one of a study's tables, cached as long as the study lives."""
    errors_by_hash = _ERRORS.setdefault(study, {})
    if dataset.hash not in errors_by_hash:
        errors_by_hash[dataset.hash] = Errors(dataset.y, dataset.splitting, dataset.weights)
    return errors_by_hash[dataset.hash]


class Errors:
    """Decomposed errors of recipes on one table, cached until another round of a recipe is complete.

    A page asks for the summary with every task that finishes; to decompose everything each time takes seconds.

    Args:
        labels: (N,) classes of the table.
        splitting: rule by which the study's tasks split rows (at random, by groups, by time), to find the test rows.
        weights: (N,) row weights; None: each row counts once.
    """

    def __init__(self, labels: NDArray[Any], splitting: Splitting = AT_RANDOM, weights: Floats | None = None):
        self._splitting, self._weights = splitting, weights
        classes, self._y = class_codes(labels, len(labels))
        self._n_classes = len(classes)
        self._test_rows: dict[tuple[int, int, int], NDArray[np.intp]] = {}  # by seed, folds and fold
        self._cache: dict[Hashable, tuple[tuple[int, ...], Row]] = {}  # complete rounds, their figures

    def parts(self, key: Hashable, results: Sequence[tuple[StudyTask, Result]]) -> Row:
        """Return the number of rounds, and PARTS of the error with their standard errors.

        key: identifies the recipe and share, whose results may have grown since the last call.
        """
        rounds = _complete_rounds(results)
        cached = self._cache.get(key)
        if cached is None or cached[0] != tuple(rounds):
            parts_by_name = _parts_with_errors(self.predictions(results), self._y, self._n_classes, self._weights)
            self._cache[key] = cached = (tuple(rounds), {"rounds": len(rounds), **parts_by_name})
        return dict(cached[1])

    def predictions(self, results: Sequence[tuple[StudyTask, Result]]) -> NDArray[np.integer]:
        """Return the predicted class of each row in each complete round of `results`: (R, N)."""
        rounds = _complete_rounds(results)
        predicted = np.zeros((len(rounds), len(self._y)), np.int64)
        for round_predictions, round_results in zip(predicted, rounds.values(), strict=True):
            for task, result in round_results:
                round_predictions[self._rows(task)] = unpack(result.predicted)
        return predicted

    def _rows(self, task: StudyTask) -> NDArray[np.intp]:
        split = task.split
        fold = (split.seed, split.folds, split.fold)
        if fold not in self._test_rows:
            # Splits are stratified: class codes give the same strata as the labels.
            self._test_rows[fold] = split.splits(self._y, self._splitting).test
        return self._test_rows[fold]


def _complete_rounds(results: Sequence[tuple[StudyTask, Result]]) -> dict[int, list[tuple[StudyTask, Result]]]:
    """Return the tasks and results of the rounds whose folds have all finished, by round."""
    rounds: dict[int, list[tuple[StudyTask, Result]]] = {}
    for task, result in results:
        if not result.failed:
            rounds.setdefault(task.split.repeat, []).append((task, result))
    return {k: rounds[k] for k in sorted(rounds) if len(rounds[k]) == rounds[k][0][0].split.folds}


def _parts_with_errors(
    predicted: NDArray[np.integer], y: NDArray[np.integer], n_classes: int, weights: Floats | None
) -> Row:
    """Return PARTS of the predictions (R, N) of R rounds, NaN below two, and their jackknife errors, NaN below three.

    y: (N,) true classes below n_classes; weights: (N,) of the rows, None if all are equal.
    """
    n_rounds, value_by_part = len(predicted), dict.fromkeys(PARTS, float("nan"))
    error_by_part = dict(value_by_part)
    if n_rounds >= 2:
        value_by_part = asdict(decompose(predicted, y, n_classes, weights))
    if n_rounds >= 3:
        replicates = np.array([astuple(figures) for figures in leave_one_out(predicted, y, n_classes, weights)])
        for name, values in zip(PARTS, replicates.T, strict=True):
            error_by_part[name] = float(np.sqrt((n_rounds - 1) / n_rounds * ((values - values.mean()) ** 2).sum()))
    return value_by_part | {f"{name}_se": error for name, error in error_by_part.items()}
