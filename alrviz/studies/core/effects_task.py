"""The task of a bootstrap of effects: a fit, or a refit with other row weights, purified.

weights of a refit   w_i = e_i n / sum of e,   e_i exponential: the Bayesian bootstrap (Rubin 1981); every row stays,
and with it cuts, levels and cells
"""

import json
from dataclasses import replace
from typing import Any

import numpy as np

from alrviz.errors import AlrvizError
from alrviz.fitting.prepare import Prepared
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.solvers.step import DIVERGED, FAILED
from alrviz.models.effects import purify, warm_effects
from alrviz.models.linear import LinearModel
from alrviz.stop import StopToken
from alrviz.studies.core.fold_cache import FoldCache, cached_fold, warm
from alrviz.studies.core.seeds import seed_of
from alrviz.studies.core.study_task import Result, Row, StudyTask, pack
from alrviz.studies.core.table_transfer import SentTable


def effects(task: StudyTask, table: SentTable, stop: StopToken) -> Result:
    """Fit a recipe to the training rows of a split (draw 0), or refit it with weights of their own (draw 1, 2, ...).

    Columns: draw, outcome, sentence, n_iter, train_log_loss, train_seconds. Beside them, packed: of draw 0 the model's
    intercepts (C,) and phi (S, C); of a refit the pure effects' intercept, f and importance, in single precision.
    """
    recipe, draw = Recipe.from_json(task.recipe).replace(seed=task.seed), int(json.loads(task.options)["draw"])
    warm(recipe, len(table.classes))
    made = cached_fold(table, task.split, recipe)
    base, row = _base(made, recipe, task.max_memory or None, stop)
    if draw == 0:
        warm_effects(made.prepared.wide)  # here, and not in the process that shows them
        return Result([row], pack(np.concatenate([base.bias, base.phi.ravel()])), row["outcome"])
    encoded = made.prepared.encoded
    drawn = np.random.default_rng(seed_of(task.seed, "effects", draw)).exponential(size=encoded.n_rows)
    weighted = replace(encoded, weights=encoded.weights * drawn * (encoded.n_rows / drawn.sum()))
    prepared = Prepared(weighted, None, made.prepared.encoder, 1)
    start = base if "start" in recipe.params else None  # else there is nothing to fit
    model, row = _fitted(Run.on(prepared, recipe, max_memory=task.max_memory or None, start=start), draw, stop)
    pure = purify(model, weighted, 1, stop)
    found = np.concatenate([pure.intercept, pure.f.ravel(), pure.importance(weighted, 1, stop).ravel()])
    return Result([row], pack(found.astype(np.float32)), row["outcome"])


def _base(made: FoldCache, recipe: Recipe, max_memory: int | None, stop: StopToken) -> tuple[LinearModel, Row]:
    """The model of all training rows, where refits start from; a worker fits it once."""
    known: dict[str, Any] = made.__dict__.setdefault("_bases", {})
    key = recipe.to_json()
    if key not in known:
        known[key] = _fitted(Run.on(made.prepared, recipe, max_memory=max_memory), 0, stop)
    found: tuple[LinearModel, Row] = known[key]
    return found


def _fitted(run: Run, draw: int, stop: StopToken) -> tuple[LinearModel, Row]:
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
    return model, row
