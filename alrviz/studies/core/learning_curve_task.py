"""The task of a learning curve: one learner on one order of the rows."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.data.seeds import seed_of
from alrviz.fitting.cost.estimate import estimate, require_memory
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.prepare import require_learnable
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.warm import warm_prequential
from alrviz.models.index import CellIndex
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.prequential import Learner
from alrviz.passes.rows import as_kernel_codes
from alrviz.stop import StopToken
from alrviz.studies.core.fold_cache import cached_fold, warm
from alrviz.studies.core.study_task import Result, StudyTask
from alrviz.studies.core.table_transfer import SentTable

# Step lengths tried, on this many rows.
ETAS = tuple(float(10.0**power) for power in np.arange(-5.0, 2.25, 0.5))
TRIAL_ROWS = 2000
# Points of a curve, evenly spaced in the logarithm of the rows seen.
POINTS = 120
LOOKUPS_PER_CALL = 1_000_000  # cells looked up between two checks of the stop token


def prequential(task: StudyTask, table: SentTable, stop: StopToken) -> Result:
    """Predict, then learn, every row in turn; return a result with a row for each point of the curve."""
    recipe, options = Recipe.from_json(task.recipe), json.loads(task.options)
    warm(recipe, len(table.classes))
    warm_prequential()
    prepared = cached_fold(table, replace(task.split, repeat=0), recipe).prepared
    require_learnable(prepared.encoded)
    require_memory(estimate(recipe, TableShape(prepared.encoded, prepared=prepared), task.max_memory or None))
    stream = _Stream(prepared, recipe, options["theta"], stop)
    row_order = np.random.default_rng(task.seed).permutation(prepared.encoded.n_rows)
    if table.splitting.times is not None:
        row_order = np.argsort(table.splitting.times, kind="stable")
    eta0 = stream.step_length(np.random.default_rng(seed_of(task.seed, "eta0")).permutation(row_order)[:TRIAL_ROWS])
    start_time = time.perf_counter()
    costs_by_measure = stream.costs(row_order, eta0)
    seconds = time.perf_counter() - start_time
    n_seen = np.unique(np.geomspace(1, len(row_order), POINTS).round().astype(int))
    window = np.minimum(n_seen, options["window"])
    means = [_window_means(row_costs, n_seen, window) for row_costs in costs_by_measure]
    columns = {
        "outcome": "converged",
        "sentence": "",
        "theta": options["theta"] if recipe.definition.learns_rows == "log theta" else "",
        "eta0": eta0,
        "train_seconds": seconds,
    }
    point_figures = zip(n_seen.tolist(), window.tolist(), *(point_means.tolist() for point_means in means), strict=True)
    names = ("seen", "window", "log_loss", "rmse2", "error")
    return Result([{**dict(zip(names, figures, strict=True)), **columns} for figures in point_figures])


def _window_means(values: Floats, n_seen: NDArray[Any], window: NDArray[Any]) -> Floats:
    """Return the mean of the last `window` of the first `n_seen` values, for each point."""
    cumulative_sums = np.concatenate([[0.0], np.cumsum(values)])
    means: Floats = (cumulative_sums[n_seen] - cumulative_sums[n_seen - window]) / window
    return means


class _Stream:
    """The encoded rows of a task and their cells; `costs` makes a learner that predicts and then learns them one by
    one.
    """

    def __init__(self, prepared: Any, recipe: Recipe, theta: str, stop: StopToken):
        self._stop = stop
        params = recipe.params
        tables = prepared.tables(params["order"], params["smoothing"])
        self._index = CellIndex.from_cells(tables.space, tables.seen_cells)
        self._codes, self._y = as_kernel_codes(prepared.encoded.codes), prepared.encoded.y
        self._unseen = 2 * tables.space.n_tuples
        learns = recipe.definition.learns_rows
        learner_kind = {"counts": "count", "ones": "ones"}.get(learns) or ("fixed" if theta == "two-pass" else "so far")
        known_log_p = None
        if learner_kind == "fixed":
            unseen_counts = np.zeros((self._unseen, tables.n_classes))
            known_log_p = np.concatenate([unseen_counts, tables.log_theta, tables.log_pi[None]])
        sizes = (learner_kind, self._index.n_rows, self._unseen, tables.n_classes, tables.cards, params["smoothing"])
        gamma, is_adaptive = tables.space.gamma, recipe.solver == "adagrad"
        self._takes_steps = learner_kind != "count"
        self._make: Callable[[float], Learner] = lambda eta0: Learner(*sizes, gamma, known_log_p, eta0, is_adaptive)

    def costs(self, rows: NDArray[np.intp], eta0: float) -> tuple[Floats, Floats, Floats]:
        """Return the costs of rows, in this order, by a learner with step length eta0: -log p_y, squared error, whether
        wrong.
        """
        learner, rows_per_chunk = self._make(eta0), max(1, LOOKUPS_PER_CALL // self._index.space.n_tuples)
        chunk_costs = []
        for chunk_start in range(0, len(rows), rows_per_chunk):
            self._stop.check()
            chunk_rows = rows[chunk_start : chunk_start + rows_per_chunk]
            codes = np.ascontiguousarray(self._codes[:, chunk_rows])
            chunk_costs.append(learner.visit(self._index.locate(codes, 0, len(chunk_rows)), self._y[chunk_rows]))
        losses, squared_errors, is_wrong = (np.concatenate(costs) for costs in zip(*chunk_costs, strict=True))
        return losses, squared_errors, is_wrong

    def step_length(self, rows: NDArray[np.intp]) -> float:
        """Return the eta0 with the lowest squared error on these rows; NaN for counting, which takes no steps."""
        if not self._takes_steps:
            return float("nan")
        with np.errstate(all="ignore"):
            means = [np.nan_to_num(self.costs(rows, eta0)[1].mean(), nan=np.inf) for eta0 in ETAS]
        return ETAS[int(np.argmin(means))]
