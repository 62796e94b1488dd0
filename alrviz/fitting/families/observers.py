"""Observers: what is computed at each step besides the objective.

Scores on training rows come free from the pass; those on held-out rows cost a forward pass, which is timed separately.
"""

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from alrviz.fitting.objectives.ridge import FitObjective
from alrviz.fitting.objectives.streamed import CodedRows
from alrviz.fitting.prepare import CoveredRows, class_weighted
from alrviz.fitting.solvers.state import SolverState
from alrviz.models.parameterisation import anje_phi
from alrviz.models.set_cover import Cover
from alrviz.models.streamed import StreamedCounts
from alrviz.models.tables import Tables
from alrviz.passes.losses import NLL, Loss
from alrviz.passes.rows import Floats, Rows, Sums
from alrviz.stop import NEVER, StopToken

Observer = Callable[[SolverState], dict[str, float]]


def per_row(sums: Sums, total_weight: float, n_classes: int) -> dict[str, float]:
    """Return {"log_loss", "error", "rmse"} of sums over rows of this total weight.

    error is the 0-1 loss, rmse = sqrt(mean of (1/C) sum_k (p_k - 1[k = y])^2) with C = n_classes.
    """
    return {
        "log_loss": sums.nll / total_weight,
        "error": sums.wrong / total_weight,
        "rmse": math.sqrt(sums.squares / total_weight / n_classes),
    }


def training(objective: FitObjective) -> Observer:
    """Return the observer of the training rows of an objective: error, RMSE, "lead" and the norm of phi.

    "lead" is the share of rows whose own class alone has the highest score.
    """

    def observe(state: SolverState) -> dict[str, float]:
        sums = state.point.sums
        scores = per_row(sums, objective.total, objective.n_classes)
        return {
            "train_error": scores["error"],
            "train_rmse": scores["rmse"],
            "lead": max(0.0, 1.0 - sums.tied / objective.total),  # rounding: two orders of summation
            "phi_norm": objective.phi_norm(state.point.w),
        }

    return observe


def heldout(objective: FitObjective, rows: Any) -> Observer:
    """Return the observer of log loss, 0-1 loss and RMSE on `rows`: one forward pass each."""
    total_weight = float(rows.weights.sum())
    seconds = 0.0

    def observe(state: SolverState) -> dict[str, float]:
        nonlocal seconds
        started_at = time.perf_counter()
        sums = _sums_on(rows, partial(objective.scores, state.point.w), loss=objective.loss)
        scores = per_row(sums, total_weight, objective.n_classes)
        seconds += time.perf_counter() - started_at
        return {**{f"heldout_{name}": value for name, value in scores.items()}, "heldout_seconds": seconds}

    return observe


def observe_first_rise() -> Observer:
    """Return the observer of "naive_stop": the step at which the training error alone would have stopped the fit.

    It is the step before the training error first rises.  ([ELR] 4)
    """
    wrong_before, rise_index = math.inf, math.nan

    def observe(state: SolverState) -> dict[str, float]:
        nonlocal wrong_before, rise_index
        wrong = state.point.sums.wrong
        if math.isnan(rise_index) and wrong > wrong_before:
            rise_index = state.index - 1.0
        wrong_before = wrong
        return {} if math.isnan(rise_index) else {"naive_stop": rise_index}

    return observe


def prior_loss(log_pi: Floats, rows: Rows) -> float:
    """Return the log loss per row of the class shares as prediction, given their logarithms log_pi (C,)."""
    return -float((log_pi[rows.y] * rows.weights).sum()) / float(rows.weights.sum())


def baseline_losses(
    covered: CoveredRows, tables: Tables, class_weight: Any, classes: Any, stop: StopToken = NEVER
) -> dict[str, float]:
    """Return the log losses that curves of training rows (class-weighted) and held-out rows are compared with.

    class_weight: the recipe's; classes: the labels that it may name.
    """
    weighted, result = class_weighted(covered.rows, class_weight, classes), {}
    for prefix, rows in (("", weighted), ("heldout_", covered.heldout)):
        if rows is not None:
            losses = _baselines(tables, covered.cover, rows, stop)
            result.update({f"{prefix}{name}": loss for name, loss in losses.items()})
    return result


def _baselines(tables: Tables, cover: Cover, rows: Rows, stop: StopToken = NEVER) -> dict[str, float]:
    """Return the log losses per row of the class prior, and of AnJE if smoothing allows it."""
    stop.check()
    total_weight = float(rows.weights.sum())
    losses = {"class_shares": prior_loss(tables.log_pi, rows)}
    if tables.smoothing > 0:
        phi = anje_phi(tables)
        z = cover.scores(rows, phi[:-1], phi[-1], stop=stop)
        losses["anje"] = rows.loss_and_residual(z, None, 0.0, z, None, stop).nll / total_weight
    return losses


def stream_losses(
    streamed: StreamedCounts, heldout_rows: CodedRows | None, stop: StopToken = NEVER
) -> dict[str, float]:
    """Return the log losses to compare with for a table read in batches: of training rows in one pass, and of held-out
    rows.
    """
    tables, passes, phi = streamed.tables, streamed.passes, None
    total_weight = float(tables.class_counts.sum())
    losses = {"class_shares": -float((tables.log_pi * tables.class_counts).sum()) / total_weight}
    if tables.smoothing > 0:
        phi = anje_phi(tables)
        phi_table = streamed.blank(None)
        phi_table[streamed.rows, : tables.n_classes] = phi[:-1]
        losses["anje"] = (
            passes.loss_and_gradient(phi_table, phi[-1], stop, gradient_rows=streamed.rows[:0]).sums.nll / total_weight
        )
    if heldout_rows is not None:
        losses["heldout_class_shares"] = prior_loss(tables.log_pi, heldout_rows)
        if phi is not None:
            sums = _sums_on(heldout_rows, lambda rows: passes.scores(rows.codes, phi_table, phi[-1]), stop)
            losses["heldout_anje"] = sums.nll / heldout_rows.n_rows
    return losses


def _sums_on(rows: Any, scores: Callable[[Any], Floats], stop: StopToken = NEVER, loss: Loss = NLL) -> Sums:
    """Return the sums over rows that are not training rows; `scores` returns the scores (n, W) of a batch of them."""
    sums = []
    for batch in rows.batches():
        z = scores(batch)
        sums.append(batch.loss_and_residual(z, None, 0.0, z, None, stop, loss))
    return Sums(*map(sum, zip(*sums, strict=True)))
