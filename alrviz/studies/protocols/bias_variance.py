"""Bias and variance: repeated cross-validation, and the error of each recipe taken apart (see decomposition.py)."""

from collections.abc import Hashable, Sequence
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
from alrviz.studies.core.study import Study
from alrviz.studies.core.study_options import StudyOptions
from alrviz.studies.core.study_task import Result, Row, StudyTask, fold_tasks, unpack
from alrviz.studies.statistics.decomposition import decompose, left_out

if TYPE_CHECKING:
    import pandas as pd


PARTS = (
    "error", "bias", "variance", "bias_unbiased", "variance_unbiased", "bias_domingos", "variance_domingos",
    "net_variance_domingos",
)  # fmt: skip


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
    """Return the study of R x k-fold cross-validation whose summary takes the error apart; nothing is begun.

    Args:
        dataset: the table.
        recipes: what to fit; split and seed of their own are not used.
        rounds: R shuffles of the rows.
        folds: into how many stratified folds each is cut; a fold is judged by a fit on the others, columns cut on those
            alone. All recipes have the same.
        train_shares: shares of the training rows to learn from; the folds judged are the same.
        seed: of the shuffles, and of what fits draw.
        run_options: n_jobs, max_memory, scheduler, keep, owner (see `alrviz.studies.core.study_options.StudyOptions`).

    A row is one fit: racer, label, name, order, alpha, repeat, fold, train_share, then the columns of
    `compute_task.fold`.
    `summary()` has a line for each recipe and share: rounds (those that are complete), error, bias, variance, their
    unbiased form and Domingos's, each with the jackknife's standard error over the rounds (`bias_se` ...; NaN below 3).

    Raises:
        RecipeError: no recipe, fewer than 2 folds, no rounds, or a table that is split by time.

    >>> from alrviz import Recipe, load_demo
    >>> study = bias_variance(load_demo("monks-1"), [Recipe("anje", order=1)], rounds=2, n_jobs=1).run()
    >>> study.summary()[["rounds", "error", "bias", "variance"]].round(3).values.tolist()
    [[2.0, 0.25, 0.25, 0.0]]
    """
    require_dataset(dataset)
    recipes = recipe_list(recipes)
    if dataset.splitting.when is not None:
        raise RecipeError(
            "bias and variance need every row judged in every round, and in time the first rows are never judged; "
            "expected a table split at random or by groups"
        )
    splits = [split for share in train_shares for split in repeated_folds(rounds, folds, seed, share)]
    tasks = fold_tasks(dataset.hash, recipes, splits, seed)
    options = {"rounds": rounds, "folds": folds, "train_shares": list(train_shares), "seed": seed}
    return Study("bias_variance", [dataset], recipes, tasks, summary, options, **run_options)


def summary(study: Study) -> "pd.DataFrame":
    """Return a line for each recipe and share of training rows, in the order of the recipes."""
    import pandas as pd

    errors, lines = errors_of(study, study.dataset), list[Row]()
    results: dict[tuple[int, float], list[tuple[StudyTask, Result]]] = {}
    for task, result in study.results():
        results.setdefault((task.racer, task.split.share), []).append((task, result))
    shares = dict.fromkeys(task.split.share for task in study.tasks)
    for racer in range(len(study.recipes)):
        for share in shares:
            line = {"racer": racer, **study.about(racer), "train_share": share}
            lines.append(line | errors.parts((racer, share), results.get((racer, share), [])))
    return pd.DataFrame(lines)


_ERRORS: "WeakKeyDictionary[Study, dict[str, Errors]]" = WeakKeyDictionary()


def errors_of(study: Study, dataset: Dataset) -> "Errors":
    """Return what is known of a study's errors on one of its tables, kept as long as the study is."""
    by_table = _ERRORS.setdefault(study, {})
    if dataset.hash not in by_table:
        by_table[dataset.hash] = Errors(dataset.y, dataset.splitting, dataset.weights)
    return by_table[dataset.hash]


class Errors:
    """Errors of recipes on one table, taken apart; a recipe's are only anew where another round is complete.

    A summary is asked for while tasks come: to take all of them apart again would hold a page for seconds.
    """

    def __init__(self, labels: NDArray[Any], splitting: Splitting = AT_RANDOM, weights: Floats | None = None):
        self._splitting, self._weights = splitting, weights
        classes, self._y = class_codes(labels, len(labels))
        self._n_classes = len(classes)
        self._judged: dict[tuple[int, int, int], NDArray[np.intp]] = {}  # rows of a fold, by seed, folds and fold
        self._found: dict[Hashable, tuple[tuple[int, ...], Row]] = {}

    def parts(self, key: Hashable, results: Sequence[tuple[StudyTask, Result]]) -> Row:
        """Return rounds, and PARTS of the error of a recipe's tasks with their standard errors.

        key: says which tasks these are; more of them may be there than the last time.
        """
        rounds = _complete(results)
        known = self._found.get(key)
        if known is None or known[0] != tuple(rounds):
            found = {"rounds": len(rounds), **_parts(self._predicted(rounds), self._y, self._n_classes, self._weights)}
            self._found[key] = known = (tuple(rounds), found)
        return dict(known[1])

    def predictions(self, results: Sequence[tuple[StudyTask, Result]]) -> NDArray[np.integer]:
        """Return (R, N): which class each row was said to be in each round whose folds are all there."""
        return self._predicted(_complete(results))

    def _predicted(self, rounds: "Rounds") -> NDArray[np.integer]:
        predicted = np.zeros((len(rounds), len(self._y)), np.int64)
        for row, parts in zip(predicted, rounds.values(), strict=True):
            for task, result in parts:
                row[self._rows(task)] = unpack(result.predicted)
        return predicted

    def _rows(self, task: StudyTask) -> NDArray[np.intp]:
        split = task.split
        fold = (split.seed, split.folds, split.fold)
        if fold not in self._judged:
            # the strata of codes are those of the labels
            self._judged[fold] = split.splits(self._y, self._splitting).test
        return self._judged[fold]


Rounds = dict[int, list[tuple[StudyTask, Result]]]


def _complete(results: Sequence[tuple[StudyTask, Result]]) -> Rounds:
    """The rounds whose folds are all there, in their order."""
    rounds: Rounds = {}
    for task, result in results:
        if not result.failed:
            rounds.setdefault(task.split.repeat, []).append((task, result))
    return {k: rounds[k] for k in sorted(rounds) if len(rounds[k]) == rounds[k][0][0].split.folds}


def _parts(predicted: NDArray[np.integer], y: NDArray[np.integer], n_classes: int, weights: Floats | None) -> Row:
    rounds = len(predicted)
    if rounds < 2:
        return {name: float("nan") for part in PARTS for name in (part, f"{part}_se")}
    whole = decompose(predicted, y, n_classes, weights)
    line = {part: getattr(whole, part) for part in PARTS}
    if rounds < 3:
        return line | {f"{part}_se": float("nan") for part in PARTS}
    left = left_out(predicted, y, n_classes, weights)
    spread = {part: np.array([getattr(one, part) for one in left]) for part in PARTS}
    factor = (rounds - 1) / rounds
    return line | {f"{part}_se": float(np.sqrt(factor * ((v - v.mean()) ** 2).sum())) for part, v in spread.items()}
