"""The task of a path: one recipe along alpha, from the strongest penalty down, each fit started at the last."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import AlrvizError
from alrviz.fitting.alpha_path import AlphaPath, ended_well
from alrviz.fitting.objectives.linear import LinearObjective
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.models.linear import LinearModel, log_softmax
from alrviz.stop import StopToken
from alrviz.studies.core.fold_cache import FoldCache, cached_fold, warm
from alrviz.studies.core.study_task import Result, Row, StudyTask
from alrviz.studies.core.table_transfer import SentTable
from alrviz.studies.statistics.align_probabilities import over_all_classes
from alrviz.studies.statistics.measures import measures, row_losses, row_squares

# Shares of the weights below what the columns away_0 .. away_100 say.
QUANTILES = (0, 5, 25, 50, 75, 95, 100)
JUDGED = ("log_loss", "error", "rmse")  # measures whose differences have a standard error


@dataclass(frozen=True, eq=False)
class AlphaPoint:
    """One fit of a path.

    Attributes:
        row: what it says of itself.
        costs: (3, n) what each test row costs: log loss, whether it is wrong, squared distance; times its weight, of
            mean 1, so that their mean is the row's measure. In single precision: a path keeps all of them.
    """

    row: Row
    costs: NDArray[np.float32]


class AlphaPathFit:
    """One recipe, fitted to the training rows of a split at any alpha and judged on the test rows.

    Args:
        made: the training rows.
        table: holds the test rows.
        recipe: whatever its alpha.
        max_memory: bytes a fit may take; None for half of what is free.
    """

    def __init__(self, made: FoldCache, table: SentTable, recipe: Recipe, max_memory: int | None = None):
        X, self.y = table.X.iloc[made.splits.test], table.y[made.splits.test]
        assert made.prepared.encoder is not None
        self._path = AlphaPath(made.prepared, recipe, max_memory)
        self.codes = made.prepared.encoder.transform(X)
        self._known = np.searchsorted(table.classes, made.prepared.encoder.classes_)
        self._classes, self._n_train = len(table.classes), made.n_train
        self._weights = table.weights_of(made.splits.test)

    def fit(self, alpha: float, stop: StopToken) -> AlphaPoint:
        """Fit the recipe at this alpha, started at the nearest that was fitted before; `AlrvizError` if it fails."""
        run = self._path.fit(alpha, stop)
        outcome, model = run.outcome, run.model
        if outcome is None or not ended_well(run) or not isinstance(model, LinearModel):
            raise AlrvizError(f"alpha={alpha:g}: {outcome}")
        scores = log_softmax(model.scores(self.codes, 1))
        log_p = over_all_classes(scores, self._known, self._classes, self._n_train)
        about = {"alpha": alpha, "outcome": outcome.code, "sentence": outcome.sentence}
        wrong = log_p.argmax(axis=1) != self.y
        costs = np.array([row_losses(log_p, self.y), wrong, row_squares(log_p, self.y)])
        costs = costs if self._weights is None else costs * (self._weights / self._weights.mean())
        return AlphaPoint(
            {**about, **measures(log_p, self.y, self._weights).__dict__, **_fitted(run)}, costs.astype(np.float32)
        )


def path(task: StudyTask, table: SentTable, stop: StopToken) -> Result:
    """Fit a recipe with every alpha of the options on the training rows of a split: a row each, in their order.

    train_seconds are the solver's alone: encoding and counting are shared by all of a path.
    """
    recipe = Recipe.from_json(task.recipe).replace(seed=task.seed)
    warm(recipe, len(table.classes))
    along = AlphaPathFit(cached_fold(table, task.split, recipe), table, recipe, task.max_memory or None)
    points = [along.fit(alpha, stop) for alpha in json.loads(task.options)["alphas"]]
    errors = errors_above([point.row for point in points], [point.costs for point in points])
    return Result([{**point.row, **more} for point, more in zip(points, errors, strict=True)])


def errors_above(rows: Sequence[Row], costs: Sequence[NDArray[np.float32]]) -> list[Row]:
    """Return for each fit the standard errors of how far it is above the best of the path, measure by measure.

    Rows are paired: of the mean difference d of what each test row costs, sd(d) / sqrt(n). RMSE is a root, so its
    difference is that of the mean squares over the sum of the two roots, and so is its error.
    """
    found: list[Row] = [{} for _ in rows]
    for k, measure in enumerate(JUDGED):
        values = [row[measure] for row in rows]
        best = int(np.argmin(values))
        for row, cost, value in zip(found, costs, values, strict=True):
            apart = cost[k].astype(np.float64) - costs[best][k]
            error = float(apart.std(ddof=1)) / len(apart) ** 0.5 if len(apart) > 1 else float("nan")
            roots = value + values[best] if measure == "rmse" else 1.0
            row[f"{measure}_above_se"] = error / roots if roots else 0.0
    return found


def _fitted(run: Run) -> Row:
    """What the training rows say, and how far the weights are from the center."""
    last = run.trace[-1]
    row: Row = {
        "train_log_loss": last.nll / run.trace.rows,
        "train_error": last.extra["train_error"],
        "train_rmse": last.extra["train_rmse"],
        "objective": last.objective,
        "n_iter": last.index,
        "train_seconds": last.seconds,
    }
    objective, state = run.objective, run.state
    assert isinstance(objective, LinearObjective)
    assert state is not None
    away = (state.point.w - objective.center)[:-1]
    found: Any = np.percentile(away, QUANTILES)
    return row | {f"away_{share}": float(value) for share, value in zip(QUANTILES, found, strict=True)}
