"""The task of a bootstrap of effects: a fit, or a refit with other row weights, purified.

weights of a refit   w_i = e_i n / sum of e,   e_i exponential: the Bayesian bootstrap (Rubin 1981); every row stays,
and with it cuts, levels and cells. Where tuples are chosen (`chooses`), each refit chooses its own: of those that the
model has and a refit has not it says 0, so that their bands hold how sure the choice is.
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
from alrviz.studies.core.fold_cache import FoldCache, cached_fold, warm
from alrviz.studies.core.study_task import Result, Row, StudyTask, pack
from alrviz.studies.core.table_transfer import SentTable


def effects(task: StudyTask, table: SentTable, stop: StopToken) -> Result:
    """Fit a recipe to the training rows of a split (draw 0), or refit it with weights of their own (draw 1, 2, ...).

    Columns: draw, outcome, sentence, n_iter, train_log_loss, train_seconds. Beside them, packed: of draw 0 the number
    of tuples that were chosen and the columns of each (-1 for none, as many as the order), the model's intercepts (C,),
    phi (S, C) and, where it has them, the weights of cells (S, C); of a refit the pure effects' intercept, f and
    importance, in single precision.
    """
    recipe, draw = Recipe.from_json(task.recipe).replace(seed=task.seed), int(json.loads(task.options)["draw"])
    warm(recipe, len(table.classes))
    made = cached_fold(table, task.split, recipe)
    base, weights, row = _base(made, recipe, task.max_memory or None, stop)
    if draw == 0:
        warm_effects(made.prepared.wide)  # here, and not in the process that shows them
        chosen = _chosen(base, recipe)
        return Result([row], pack(np.concatenate([chosen, base.bias, base.phi.ravel(), weights])), row["outcome"])
    encoded = made.prepared.encoded
    drawn = np.random.default_rng(seed_of(task.seed, "effects", draw)).exponential(size=encoded.n_rows)
    weighted = replace(encoded, weights=encoded.weights * drawn * (encoded.n_rows / drawn.sum()))
    prepared = TrainingData(weighted, None, made.prepared.encoder, 1)
    own = chooses(recipe)
    start = base if "start" in recipe.params and not own else None  # else there is nothing to fit, or other cells
    model, _, row = _fitted(Run.on(prepared, recipe, max_memory=task.max_memory or None, start=start), draw, stop)
    pure = purify(model, weighted, 1, stop)
    f, importance = pure.f, pure.importance(weighted, 1, stop)
    if own:
        f, importance = _in_cells_of(purify(base, encoded, 1, stop), pure, importance)
    found = np.concatenate([pure.intercept, f.ravel(), importance.ravel()])
    return Result([row], pack(found.astype(np.float32)), row["outcome"])


def chooses(recipe: Recipe) -> bool:
    """Return whether a fit of this recipe chooses which tuples it has."""
    return "keep" in recipe.params and (recipe.params["keep"] != 1.0 or "selection" in recipe.params)


def _chosen(model: LinearModel, recipe: Recipe) -> Floats:
    """How many tuples a model chose, and their columns; 0 where it has all."""
    if not chooses(recipe):
        return np.zeros(1)
    columns = np.full((model.space.n_tuples, recipe.params["order"]), -1.0)
    for own, members in zip(columns, model.space.members, strict=True):
        own[: len(members)] = members
    return np.append(float(len(columns)), columns)


def _in_cells_of(base: Effects, other: Effects, importance: Floats) -> tuple[Floats, Floats]:
    """Effects (S, C) and importance (T, 3) of a refit by the cells and tuples of the model; 0 where it has none."""
    f, weighed = np.zeros_like(base.f), np.zeros((base.n_tuples, importance.shape[1]))
    for t, columns in enumerate(base.space.members):
        own = other.numbers.get(tuple(columns))
        if own is None:
            continue
        weighed[t] = importance[own]
        mine, its = base.cells_of(t), other.cells_of(own)
        wanted = base.index.seen[mine] - base.space.first[t]  # strides hang on levels alone, which are the same
        known = other.index.seen[its] - other.space.first[own]
        place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        f[mine] = np.where((known[place] == wanted)[:, None], other.f[its][place], 0.0)
    return f, weighed


def _base(made: FoldCache, recipe: Recipe, max_memory: int | None, stop: StopToken) -> tuple[LinearModel, Floats, Row]:
    """The model of all training rows, where refits start from, and its weights; a worker fits it once."""
    known: dict[str, Any] = made.__dict__.setdefault("_bases", {})
    key = recipe.to_json()
    if key not in known:
        known[key] = _fitted(Run.on(made.prepared, recipe, max_memory=max_memory), 0, stop)
    found: tuple[LinearModel, Floats, Row] = known[key]
    return found


def _fitted(run: Run, draw: int, stop: StopToken) -> tuple[LinearModel, Floats, Row]:
    for _ in run.steps():
        stop.check()
    outcome, model = run.outcome, run.model
    if outcome is None or outcome.code in (FAILED, DIVERGED) or not isinstance(model, LinearModel):
        raise AlrvizError(f"the fit has no result: {outcome}")
    last = run.trace[-1]
    row: Row = {
        "draw": draw, "outcome": outcome.code, "sentence": outcome.sentence, "n_iter": last.index,
        "train_log_loss": last.nll / run.trace.rows, "train_seconds": last.seconds,
    }  # fmt: skip
    w, share = getattr(getattr(run.state, "point", None), "w", None), run.recipe.params.get("share", "cell-class")
    weights = np.empty(0) if w is None or run.tables is None else weights_by_cell(run.tables, share, w).ravel()
    return model, weights, row
