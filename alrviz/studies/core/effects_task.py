"""The task of a bootstrap of effects: the model, or a refit with other row weights, purified.

weights of a refit   w_i = e_i n / sum of e,   e_i exponential: the Bayesian bootstrap (Rubin 1981). No row is dropped,
so cuts, levels and cells stay. If tuples are selected (`selects_tuples`), each refit selects its own; those of the
model that a refit lacks have effect 0 in it, so that bands include the uncertainty of the selection.
"""

import json
from dataclasses import replace
from typing import Any

import numpy as np

from alrviz.data.seeds import seed_of
from alrviz.errors import AlrvizError
from alrviz.fitting.prepare import TrainingData
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.solvers.step import DIVERGED, FAILED
from alrviz.models.effects import Effects, purify, warm_effects
from alrviz.models.linear import LinearModel
from alrviz.models.parameterisation import weights_by_cell
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import StopToken
from alrviz.studies.core.fold_cache import PreparedFold, cached_fold, warm
from alrviz.studies.core.study_task import Result, Row, StudyTask, pack
from alrviz.studies.core.table_transfer import SentTable


def effects(task: StudyTask, table: SentTable, stop: StopToken) -> Result:
    """Fit a recipe to the training rows of a split (draw 0), or refit it with random weights (draw 1, 2, ...).

    Columns: draw, outcome, sentence, n_iter, train_log_loss, train_seconds. Packed numbers of draw 0: the number of
    selected tuples and the columns of each (-1 padded to the order), the model's intercepts (C,), phi (S, C) and, if it
    has them, the weights of cells (S, C). Of a refit: intercept, f and importance, in single precision.
    """
    recipe, draw = Recipe.from_json(task.recipe).replace(seed=task.seed), int(json.loads(task.options)["draw"])
    warm(recipe, len(table.classes))
    fold = cached_fold(table, task.split, recipe)
    base, weights, row = _base_fit(fold, recipe, task.max_memory or None, stop)
    if draw == 0:
        warm_effects(fold.prepared.has_wide_codes)  # compile here rather than in the process that shows the effects
        selected = _selected_tuples(base, recipe)
        return Result([row], pack(np.concatenate([selected, base.bias, base.phi.ravel(), weights])), row["outcome"])
    encoded = fold.prepared.encoded
    exponential = np.random.default_rng(seed_of(task.seed, "effects", draw)).exponential(size=encoded.n_rows)
    weighted = replace(encoded, weights=encoded.weights * exponential * (encoded.n_rows / exponential.sum()))
    prepared = TrainingData(weighted, None, fold.prepared.encoder, 1)
    selects = selects_tuples(recipe)
    start_model = base if "start" in recipe.params and not selects else None  # nothing is iterated, or the cells differ
    model, _, row = _run_fit(
        Run.on_prepared(prepared, recipe, max_memory=task.max_memory or None, start=start_model), draw, stop
    )
    pure_effects = purify(model, weighted, 1, stop)
    f, importance = pure_effects.f, pure_effects.importance(weighted, 1, stop)
    if selects:
        f, importance = _refit_on_model_cells(purify(base, encoded, 1, stop), pure_effects, importance)
    packed_numbers = np.concatenate([pure_effects.intercept, f.ravel(), importance.ravel()])
    return Result([row], pack(packed_numbers.astype(np.float32)), row["outcome"])


def selects_tuples(recipe: Recipe) -> bool:
    """Return whether a fit of this recipe selects its tuples."""
    return "keep" in recipe.params and (recipe.params["keep"] != 1.0 or "selection" in recipe.params)


def _selected_tuples(model: LinearModel, recipe: Recipe) -> Floats:
    """Return the number of selected tuples and their columns, flat; a single 0 if the model has all tuples."""
    if not selects_tuples(recipe):
        return np.zeros(1)
    columns = np.full((model.space.n_tuples, recipe.params["order"]), -1.0)
    for row, members in zip(columns, model.space.members, strict=True):
        row[: len(members)] = members
    return np.append(float(len(columns)), columns)


def _refit_on_model_cells(base: Effects, refit: Effects, importance: Floats) -> tuple[Floats, Floats]:
    """Return a refit's effects (S, C) and importance (T, 3) on the model's cells and tuples; 0 elsewhere."""
    f, importance_by_tuple = np.zeros_like(base.f), np.zeros((base.n_tuples, importance.shape[1]))
    for tuple_index, columns in enumerate(base.space.members):
        refit_tuple_index = refit.numbers.get(tuple(columns))
        if refit_tuple_index is None:
            continue
        importance_by_tuple[tuple_index] = importance[refit_tuple_index]
        cells, refit_cells = base.cells_of(tuple_index), refit.cells_of(refit_tuple_index)
        # Joint values have the same codes in both: strides depend on the levels only.
        joint_values = base.index.seen_cells[cells] - base.space.first[tuple_index]
        refit_joint_values = refit.index.seen_cells[refit_cells] - refit.space.first[refit_tuple_index]
        index = np.minimum(np.searchsorted(refit_joint_values, joint_values), len(refit_joint_values) - 1)
        f[cells] = np.where((refit_joint_values[index] == joint_values)[:, None], refit.f[refit_cells][index], 0.0)
    return f, importance_by_tuple


def _base_fit(
    fold: PreparedFold, recipe: Recipe, max_memory: int | None, stop: StopToken
) -> tuple[LinearModel, Floats, Row]:
    """Return the model of all training rows of a fold, where refits start, and its weights; a worker fits it once.

    max_memory: bytes that the fit may take.
    """
    fits: dict[str, Any] = fold.__dict__.setdefault("_base_fits", {})
    key = recipe.to_json()
    if key not in fits:
        fits[key] = _run_fit(Run.on_prepared(fold.prepared, recipe, max_memory=max_memory), 0, stop)
    fit: tuple[LinearModel, Floats, Row] = fits[key]
    return fit


def _run_fit(run: Run, draw: int, stop: StopToken) -> tuple[LinearModel, Floats, Row]:
    """Run a fit to its end; return the model, its weights by cell (empty if it has none) and the row of this draw."""
    for _ in run.steps():
        stop.check()
    outcome, model = run.outcome, run.model
    if outcome is None or outcome.code in (FAILED, DIVERGED) or not isinstance(model, LinearModel):
        raise AlrvizError(f"the fit failed: {outcome}")
    last_step = run.trace[-1]
    columns_of_row: Row = {
        "draw": draw, "outcome": outcome.code, "sentence": outcome.sentence, "n_iter": last_step.index,
        "train_log_loss": last_step.nll / run.trace.rows, "train_seconds": last_step.seconds,
    }  # fmt: skip
    w, sharing = getattr(getattr(run.state, "point", None), "w", None), run.recipe.params.get("share", "cell-class")
    weights = np.empty(0) if w is None or run.tables is None else weights_by_cell(run.tables, sharing, w).ravel()
    return model, weights, columns_of_row
