"""DLR that follows a hand: points that are drawn, bandwidths that are dragged.

`follow` fits drawn rows from where the last fit stood: the weights at the bandwidths that were, at once, and then the
bandwidths step by step. `at_bandwidths` brings the weights of a run's own objective to their optimum at bandwidths that
somebody has chosen. Both give the same value: a model, and what it is worth.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from alrviz.data.encode import Encoder
from alrviz.data.encoded import Encoded
from alrviz.fitting.density.objective import DensityObjective, DensityPoint
from alrviz.fitting.families.density import assemble_density
from alrviz.fitting.recipe import Recipe
from alrviz.models.density_model import DensityModel
from alrviz.passes.rows import Floats
from alrviz.stop import NEVER, StopToken

T = TypeVar("T")
_STEPS = 60  # of a drawn table's fit, inner and outer: with warm starts a dozen are enough


@dataclass(frozen=True, eq=False)
class LiveDensity:
    """A model at some moment.

    Attributes:
        encoder, encoded: of the rows it was fitted to.
        model: the model.
        nll: per training row in nats, as the objective has it (leave-one-out where the mode leaves rows out).
        validation: log loss per validation row, NaN without any.
        settled: whether nothing follows.
    """

    encoder: Encoder
    encoded: Encoded
    model: DensityModel
    nll: float
    validation: float
    settled: bool


def follow(
    X: Any, y: Any, recipe: Recipe, warm: DensityModel | None = None, stop: StopToken = NEVER
) -> Iterator[LiveDensity]:
    """Fit rows step by step, from a model of nearly the same rows if there is one.

    The first value is the model whose weights fit the bandwidths at hand; each later one is an outer step on.
    """
    encoder = Encoder(discretize=recipe.cuts).fit(X, y, stop=stop)
    encoded = encoder.encode(X, y, stop=stop)
    fit = assemble_density(encoded, recipe.params, 1, recipe.seed, stop)
    objective, solver = cast("DensityObjective", fit.objective), fit.solver
    w, log_h = objective.split(_start(objective, fit.w0, warm))
    first = objective.follow(log_h, w)
    yield _live(encoder, encoded, objective, first, not objective.fits_bandwidths)
    if not objective.fits_bandwidths:
        return
    state: Any = solver.init(objective, first.w)
    for _ in range(_STEPS):
        stop.check()
        moved = solver.advance(objective, state)
        if moved.stalled:
            break
        state = moved
        if state.kind == "outer":
            yield _live(encoder, encoded, objective, state.point, False)
    yield _live(encoder, encoded, objective, state.point, True)


def at_bandwidths(run: Any, log_h: Floats, w: Floats, stop: StopToken = NEVER) -> LiveDensity:
    """Return the model of a run's rows at these bandwidths (D_num,), its weights brought to their optimum from `w`.

    It works on one thread: others are for the runs, which may go on meanwhile. The bits are the same for any number.
    """
    objective: DensityObjective = copy.copy(run.objective)
    objective.stop = stop  # the run's own was pulled if the run was stopped
    objective.features, objective.rows = _on_one_thread(objective.features), _on_one_thread(objective.rows)
    if objective.validation is not None:
        objective.validation = _on_one_thread(objective.validation)
    state = run.state
    previous = state.point.features if state is not None else None
    return _live(run.encoder, run.encoded, objective, objective.follow(log_h, w, previous), True)


def _on_one_thread(shared: T) -> T:
    """A copy of features or rows that takes one thread; the arrays are the same."""
    alone: Any = copy.copy(shared)
    alone.n_jobs = 1
    return alone


def _start(objective: DensityObjective, w0: Floats, warm: DensityModel | None) -> Floats:
    of = objective.features
    if warm is None or warm.w.shape != (of.n_features + 1, of.n_values) or len(warm.log_h) != len(of.silverman):
        return w0
    low, high = of.bounds
    return np.concatenate([warm.w.ravel(), np.clip(warm.log_h, low, high)])


def _live(
    encoder: Encoder, encoded: Encoded, objective: DensityObjective, point: DensityPoint, settled: bool
) -> LiveDensity:
    report = objective.report(point)
    nll = point.sums.nll / objective.total
    model = objective.model(point.w)
    return LiveDensity(encoder, encoded, model, nll, report.get("validation_log_loss", float("nan")), settled)
