"""Bias and variance: repeated cross-validation, and the error of each recipe taken apart (see decomposition.py)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from alrviz.fitting.recipe import Recipe
from alrviz.studies.cells import Cell, Result, Row, fold_cells, require_datasets, require_recipes, unpack
from alrviz.studies.decomposition import decompose
from alrviz.studies.splits import repeated_folds
from alrviz.studies.study import Study
from alrviz.studies.where import Where

if TYPE_CHECKING:
    import pandas as pd

    from alrviz.data.dataset import Dataset

PARTS = (
    "error", "bias", "variance", "bias_unbiased", "variance_unbiased", "bias_domingos", "variance_domingos",
    "net_variance_domingos",
)  # fmt: skip


def bias_variance(
    dataset: "Dataset",
    recipes: Sequence[Recipe],
    *,
    rounds: int = 5,
    folds: int = 2,
    train_shares: Sequence[float] = (1.0,),
    seed: int = 0,
    **where: Unpack[Where],
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
        where: n_jobs, max_memory, scheduler, keep, owner (see `alrviz.studies.where.Where`).

    A row is one fit: racer, label, name, order, alpha, repeat, fold, train_share, then the columns of `tasks.fold`.
    `summary()` has a line for each recipe and share: rounds (those that are complete), error, bias, variance, their
    unbiased form and Domingos's, each with the jackknife's standard error over the rounds (`bias_se` ...; NaN below 3).

    Raises:
        RecipeError: no recipe, fewer than 2 folds, or no rounds.

    >>> from alrviz import Recipe, load_demo
    >>> study = bias_variance(load_demo("monks-1"), [Recipe("anje", order=1)], rounds=2, n_jobs=1).run()
    >>> study.summary()[["rounds", "error", "bias", "variance"]].round(3).values.tolist()
    [[2.0, 0.25, 0.25, 0.0]]
    """
    require_datasets([dataset])
    require_recipes(recipes)
    splits = [split for share in train_shares for split in repeated_folds(rounds, folds, seed, share)]
    cells = fold_cells(dataset.hash, recipes, splits, seed)
    options = {"rounds": rounds, "folds": folds, "train_shares": list(train_shares), "seed": seed}
    return Study("bias_variance", [dataset], recipes, cells, summary, options, **where)


def summary(study: Study) -> "pd.DataFrame":
    """Return a line for each recipe and share of training rows, in the order of the recipes."""
    import pandas as pd

    labels = study.dataset.y
    lines: list[Row] = []
    for racer in range(len(study.recipes)):
        shares = dict.fromkeys(cell.split.share for cell in study.cells)
        for share in shares:
            chosen = [(c, r) for c, r in study.results() if (c.racer, c.split.share) == (racer, share)]
            line = {"racer": racer, **study.about(racer), "train_share": share}
            lines.append(line | error_parts(chosen, labels))
    return pd.DataFrame(lines)


def error_parts(results: Sequence[tuple[Cell, Result]], labels: NDArray[Any]) -> Row:
    """Return rounds, and PARTS of the error of a recipe's cells with their standard errors."""
    predicted = predictions(results, labels)
    classes, y = np.unique(labels, return_inverse=True)
    return {"rounds": len(predicted), **_parts(predicted, y, len(classes))}


def predictions(results: Sequence[tuple[Cell, Result]], labels: NDArray[Any]) -> NDArray[np.integer]:
    """Return (R, N): which class each row was said to be in each round whose folds are all there."""
    rounds: dict[int, list[tuple[Cell, Result]]] = {}
    for cell, result in results:
        if not result.failed:
            rounds.setdefault(cell.split.repeat, []).append((cell, result))
    complete = [rounds[k] for k in sorted(rounds) if len(rounds[k]) == rounds[k][0][0].split.folds]
    predicted = np.zeros((len(complete), len(labels)), np.int64)
    for row, parts in zip(predicted, complete, strict=True):
        for cell, result in parts:
            row[cell.split.rows(labels)[1]] = unpack(result.predicted)
    return predicted


def _parts(predicted: NDArray[np.integer], y: NDArray[np.integer], n_classes: int) -> Row:
    rounds = len(predicted)
    if rounds < 2:
        return {name: float("nan") for part in PARTS for name in (part, f"{part}_se")}
    whole = decompose(predicted, y, n_classes)
    line = {part: getattr(whole, part) for part in PARTS}
    if rounds < 3:
        return line | {f"{part}_se": float("nan") for part in PARTS}
    left = [decompose(np.delete(predicted, k, axis=0), y, n_classes) for k in range(rounds)]
    spread = {part: np.array([getattr(one, part) for one in left]) for part in PARTS}
    factor = (rounds - 1) / rounds
    return line | {f"{part}_se": float(np.sqrt(factor * ((v - v.mean()) ** 2).sum())) for part, v in spread.items()}
