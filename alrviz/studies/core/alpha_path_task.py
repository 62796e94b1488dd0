"""The task of a path: one recipe fitted along alpha, from the strongest penalty down, each fit started at the last."""

import json
from collections.abc import Sequence
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
from alrviz.studies.core.fold_cache import PreparedFold, cached_fold, warm
from alrviz.studies.core.study_task import Result, Row, StudyTask
from alrviz.studies.core.table_transfer import SentTable
from alrviz.studies.statistics.align_probabilities import over_all_classes
from alrviz.studies.statistics.measures import measures, row_losses, row_squares

# Percentages of the weights below the values in the columns away_0 .. away_100.
QUANTILES = (0, 5, 25, 50, 75, 95, 100)
PAIRED_MEASURES = ("log_loss", "error", "rmse")  # measures with a standard error of their differences


class AlphaPathFit:
    """One recipe, fitted to the training rows of a split at any alpha and evaluated on the test rows.

    Args:
        prepared: the training rows.
        table: the whole table, with the test rows.
        recipe: the recipe; its own alpha is ignored.
        max_memory: bytes a fit may take; None: half of the free memory.
    """

    def __init__(self, prepared: PreparedFold, table: SentTable, recipe: Recipe, max_memory: int | None = None):
        X, self.y = table.X.iloc[prepared.splits.test], table.y[prepared.splits.test]
        assert prepared.prepared.encoder is not None
        self._path = AlphaPath(prepared.prepared, recipe, max_memory)
        self.codes = prepared.prepared.encoder.transform(X)
        self._class_indices = np.searchsorted(table.classes, prepared.prepared.encoder.classes_)
        self._classes, self._n_train = len(table.classes), prepared.n_train
        self._weights = table.weights_of(prepared.splits.test)

    def fit(self, alpha: float, stop: StopToken) -> tuple[Row, NDArray[np.float32]]:
        """Return the row of a fit at this alpha, started at the nearest one before, and its test rows' costs (3, n).

        Costs are log loss, whether it is wrong, and squared distance, times the row's weight of mean 1, so that their
        means are the row's measures; in single precision, as a path keeps all of them. Raises `AlrvizError`.
        """
        run = self._path.fit(alpha, stop)
        outcome, model = run.outcome, run.model
        if outcome is None or not ended_well(run) or not isinstance(model, LinearModel):
            raise AlrvizError(f"alpha={alpha:g}: {outcome}")
        scores = log_softmax(model.scores(self.codes, 1))
        log_p = over_all_classes(scores, self._class_indices, self._classes, self._n_train)
        alpha_columns = {"alpha": alpha, "outcome": outcome.code, "sentence": outcome.sentence}
        is_wrong = log_p.argmax(axis=1) != self.y
        costs = np.array([row_losses(log_p, self.y), is_wrong, row_squares(log_p, self.y)])
        costs = costs if self._weights is None else costs * (self._weights / self._weights.mean())
        row = {**alpha_columns, **measures(log_p, self.y, self._weights).__dict__, **_training_figures(run)}
        return row, costs.astype(np.float32)


def path(task: StudyTask, table: SentTable, stop: StopToken) -> Result:
    """Fit a recipe with every alpha of the task's options to the training rows of a split: a row for each, in order.

    train_seconds are the solver's alone, as all fits of a path share encoding and counting.
    """
    recipe = Recipe.from_json(task.recipe).replace(seed=task.seed)
    warm(recipe, len(table.classes))
    path_fit = AlphaPathFit(cached_fold(table, task.split, recipe), table, recipe, task.max_memory or None)
    alphas = json.loads(task.options)["alphas"]
    rows, costs = zip(*(path_fit.fit(alpha, stop) for alpha in alphas), strict=True)
    return Result([row | errors for row, errors in zip(rows, errors_above(rows, costs), strict=True)])


def errors_above(rows: Sequence[Row], costs: Sequence[NDArray[np.float32]]) -> list[Row]:
    """Return for each fit the standard errors of its difference from the best of the path, by measure.

    rows: measures of the fits; costs: of each the test rows' costs (3, n), which are paired. The error of a mean
    difference d is sd(d) / sqrt(n). A difference of RMSE is that of the mean squares divided by the sum of the two
    roots, and so is its error.
    """
    errors: list[Row] = [{} for _ in rows]
    for k, measure in enumerate(PAIRED_MEASURES):
        mean_costs = [row[measure] for row in rows]
        best_index = int(np.argmin(mean_costs))
        for row, row_costs, mean_cost in zip(errors, costs, mean_costs, strict=True):
            difference = row_costs[k].astype(np.float64) - costs[best_index][k]
            error = float(difference.std(ddof=1)) / len(difference) ** 0.5 if len(difference) > 1 else float("nan")
            root_sum = mean_cost + mean_costs[best_index] if measure == "rmse" else 1.0
            row[f"{measure}_above_se"] = error / root_sum if root_sum else 0.0
    return errors


def _training_figures(run: Run) -> Row:
    """Return figures of the training rows, and quantiles of the weights' distances from the center."""
    last_step = run.trace[-1]
    training_figures: Row = {
        "train_log_loss": last_step.nll / run.trace.rows,
        "train_error": last_step.extra["train_error"],
        "train_rmse": last_step.extra["train_rmse"],
        "objective": last_step.objective,
        "n_iter": last_step.index,
        "train_seconds": last_step.seconds,
    }
    objective, state = run.objective, run.state
    assert isinstance(objective, LinearObjective)
    assert state is not None
    distances = (state.point.w - objective.center)[:-1]
    percentiles: Any = np.percentile(distances, QUANTILES)
    return training_figures | {
        f"away_{percentage}": float(value) for percentage, value in zip(QUANTILES, percentiles, strict=True)
    }
