"""The task of a path: one recipe along alpha, from the strongest pull to the weakest, each fit started at the last."""

import json
from typing import Any

import numpy as np

from alrviz.errors import AlrvizError
from alrviz.fitting.objective import LinearObjective
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.run import Run
from alrviz.fitting.step import DIVERGED, FAILED
from alrviz.models.linear import log_softmax
from alrviz.stop import StopToken
from alrviz.studies.cells import Cell, Result, Row
from alrviz.studies.judged import over_all_classes
from alrviz.studies.measures import measures
from alrviz.studies.ready import ready, test_rows, warm
from alrviz.studies.shipment import Table

# Shares of the weights below what the columns away_0 .. away_100 say.
QUANTILES = (0, 5, 25, 50, 75, 95, 100)


def path(cell: Cell, table: Table, stop: StopToken) -> Result:
    """Fit a recipe with every alpha of the options on the training rows of a split: a row each, in their order.

    train_seconds are the solver's alone: encoding and counting are shared by all of a path.
    """
    recipe = Recipe.from_json(cell.recipe).replace(seed=cell.seed)
    warm(recipe, len(table.classes))
    made = ready(table, cell.split, recipe)
    X, y = test_rows(table, made)
    assert made.prepared.encoder is not None
    codes = made.prepared.encoder.transform(X)
    known = np.searchsorted(table.classes, made.prepared.encoder.classes_)
    rows: list[Row] = []
    model: Any = None
    for alpha in json.loads(cell.options)["alphas"]:
        run = Run.on(made.prepared, recipe.replace(alpha=alpha), max_memory=cell.max_memory or None, start=model)
        for _ in run.steps():
            stop.check()
        outcome = run.outcome
        if run.model is None or outcome is None or outcome.code in (FAILED, DIVERGED):
            raise AlrvizError(f"alpha={alpha:g}: {outcome}")
        model = run.model
        log_p = over_all_classes(log_softmax(model.scores(codes, 1)), known, len(table.classes), len(made.train))
        about = {"alpha": alpha, "outcome": outcome.code, "sentence": outcome.sentence}
        rows.append({**about, **measures(log_p, y).__dict__, **_fitted(run)})
    return Result(rows)


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
    found = np.percentile(away, QUANTILES)
    return row | {f"away_{share}": float(value) for share, value in zip(QUANTILES, found, strict=True)}
