"""From prepared rows to what a run drives: the fit, what is watched beside it, and what its curves are compared with.

One function a kind of model: families of cells (lr, alr, anje), dlr, which takes numbers as they are, and elr.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from alrviz.fitting import observers
from alrviz.fitting.assemble import Fit, assemble, class_weighted
from alrviz.fitting.conditional_fit import assemble_conditional
from alrviz.fitting.density import DensityObjective
from alrviz.fitting.density_fit import assemble_density, rows_beside
from alrviz.fitting.prepare import Covered, Prepared
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.warm import warm_conditional, warm_density, warm_fit
from alrviz.models.tables import Tables
from alrviz.passes.rows import Rows
from alrviz.stop import StopToken


@dataclass(frozen=True, eq=False)
class Made:
    """A fit and what goes with it.

    Attributes:
        fit: what is driven.
        heldout: rows to be watched; None without any.
        baseline: log losses per row to compare with, as in `Trace`.
        tables: counts of cells; None for dlr and elr.
        compiled: seconds that compiling took.
        watched: what is looked at besides training and held-out scores.
    """

    fit: Fit
    heldout: Rows | None
    baseline: dict[str, float]
    tables: Tables | None
    compiled: float
    watched: tuple[observers.Observer, ...] = ()


def make(
    prepared: Prepared,
    recipe: Recipe,
    params: Mapping[str, Any],
    start: Any,
    tell: Callable[[str], None],
    stop: StopToken,
) -> Made:
    """Return what `recipe` makes of the rows; `params` are its own, with the solver that was chosen.

    `tell` hears what is being done; `start` is a model to start from.
    """
    if recipe.family == "dlr":
        made = _make_density(prepared, recipe, params, tell, stop)
    elif recipe.family == "elr":
        made = _make_conditional(prepared, recipe, params, tell, stop)
    else:
        made = _make_linear(prepared, recipe, params, tell, stop)
    if start is None:
        return made
    return replace(made, fit=replace(made.fit, w0=made.fit.objective.weights_of(start)))


def _make_linear(
    prepared: Prepared, recipe: Recipe, params: Mapping[str, Any], tell: Callable[[str], None], stop: StopToken
) -> Made:
    order = params["order"]
    tell("counting cells")
    covered = prepared.covered(order, stop)
    tell("compiling")
    compiled = warm_fit(recipe, prepared.encoded.n_classes, covered.rows.wide)
    tell("counting cells")
    tables = prepared.tables(order, params["smoothing"], stop)
    classes = prepared.encoded.classes
    # before the objective: both hold a table of all cells
    baseline = _baseline(covered, tables, params.get("class_weight"), classes, stop)
    fit = assemble(covered.rows, covered.cover, tables, recipe.family, params, classes, stop, seed=recipe.seed)
    return Made(fit, covered.heldout, baseline, tables, compiled)


def _baseline(covered: Covered, tables: Tables, class_weight: Any, classes: Any, stop: StopToken) -> dict[str, float]:
    weighted, baseline = class_weighted(covered.rows, class_weight, classes), {}
    for prefix, rows in (("", weighted), ("heldout_", covered.heldout)):
        if rows is not None:
            found = observers.baselines(tables, covered.cover, rows, stop)
            baseline.update({f"{prefix}{name}": loss for name, loss in found.items()})
    return baseline


def _make_conditional(
    prepared: Prepared, recipe: Recipe, params: Mapping[str, Any], tell: Callable[[str], None], stop: StopToken
) -> Made:
    tell("compiling")
    compiled = warm_conditional(prepared.encoded.n_classes, prepared.wide)
    tell("counting cells")
    tables = prepared.tables(1, params["smoothing"], stop)
    classes = prepared.encoded.classes
    baseline = _baseline(prepared.covered(1, stop), tables, params["class_weight"], classes, stop)
    fit, heldout = assemble_conditional(prepared, recipe, params, stop)
    return Made(fit, heldout, baseline, None, compiled, (observers.first_rise(),))


def _make_density(
    prepared: Prepared, recipe: Recipe, params: Mapping[str, Any], tell: Callable[[str], None], stop: StopToken
) -> Made:
    encoded, jobs = prepared.encoded, prepared.n_jobs
    tell("compiling")
    compiled = warm_density(encoded.n_classes)
    tell("sorting")
    fit = assemble_density(encoded, params, jobs, recipe.seed, stop)
    heldout = None if prepared.holdout is None else rows_beside(prepared.holdout, jobs)
    assert isinstance(fit.objective, DensityObjective)
    counts = fit.objective.features.class_counts
    log_pi = np.log(counts / counts.sum())
    baseline = {"class_shares": observers.shares_loss(log_pi, fit.objective.rows)}
    if heldout is not None:
        baseline["heldout_class_shares"] = observers.shares_loss(log_pi, heldout)
    return Made(fit, heldout, baseline, None, compiled)
