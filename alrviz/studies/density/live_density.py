"""dlr that follows a hand: points being drawn, bandwidths being dragged.

`follow` fits drawn rows from the last fit on: first the weights at the old bandwidths, then the bandwidths step by
step. `at_bandwidths` optimises the weights of a run's objective at bandwidths that a user has chosen. Both give a model
with its losses.
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
_STEPS = 60  # maximum of inner and outer steps; a warm start needs about a dozen


@dataclass(frozen=True, eq=False)
class LiveDensity:
    """A model at one moment of a fit.

    Attributes:
        encoder, encoded: the rows it was fitted to.
        model: the model.
        nll: nats per training row by the objective (leave-one-out if the mode leaves rows out).
        validation: log loss per validation row, NaN without any.
        is_finished: whether the fit is finished.
    """

    encoder: Encoder
    encoded: Encoded
    model: DensityModel
    nll: float
    validation: float
    is_finished: bool


def follow(
    X: Any, y: Any, recipe: Recipe, warm: DensityModel | None = None, stop: StopToken = NEVER
) -> Iterator[LiveDensity]:
    """Fit rows X with classes y (N,) step by step, from `warm`, a model of nearly the same rows, if there is one.

    Yields first the model at the start's bandwidths (`warm`'s, or the fit's own start without a `warm` of the same
    shape) with the weights optimal there, then one after each step of the bandwidths, and the last again, marked
    `is_finished`. If the recipe does not fit bandwidths, only the first, `is_finished`.
    """
    encoder = Encoder(discretize=recipe.cuts).fit(X, y, stop=stop)
    encoded = encoder.encode(X, y, stop=stop)
    fit = assemble_density(encoded, recipe.params, 1, recipe.seed, stop)
    objective, solver = cast("DensityObjective", fit.objective), fit.solver
    w, log_h = objective.split(_start(objective, fit.w0, warm))
    first_point = objective.follow(log_h, w)
    yield _live_density(encoder, encoded, objective, first_point, not objective.fits_bandwidths)
    if not objective.fits_bandwidths:
        return
    state: Any = solver.init(objective, first_point.w)
    for _ in range(_STEPS):
        stop.check()
        new_state = solver.advance(objective, state)
        if new_state.stalled:
            break
        state = new_state
        if state.kind == "outer":
            yield _live_density(encoder, encoded, objective, state.point, False)
    yield _live_density(encoder, encoded, objective, state.point, True)


def at_bandwidths(run: Any, log_h: Floats, w: Floats, stop: StopToken = NEVER) -> LiveDensity:
    """Return the model of a run's rows at bandwidths log_h (D_num,), with its weights optimised from `w`.

    It uses one thread, as the run may need the others; the numbers are the same for any number of threads.
    """
    objective: DensityObjective = copy.copy(run.objective)
    objective.stop = stop  # the run's own token is stopped if the run was
    objective.features, objective.rows = _on_one_thread(objective.features), _on_one_thread(objective.rows)
    if objective.validation is not None:
        objective.validation = _on_one_thread(objective.validation)
    state = run.state
    previous = state.point.features if state is not None else None
    return _live_density(run.encoder, run.encoded, objective, objective.follow(log_h, w, previous), True)


def _on_one_thread(features_or_rows: T) -> T:
    """Return a shallow copy of features or rows that uses one thread."""
    copied: Any = copy.copy(features_or_rows)
    copied.n_jobs = 1
    return copied


def _start(objective: DensityObjective, w0: Floats, warm: DensityModel | None) -> Floats:
    features = objective.features
    shape = (features.n_features + 1, features.n_values)
    if warm is None or warm.w.shape != shape or len(warm.log_h) != len(features.silverman):
        return w0
    lowest_log_h, highest_log_h = features.bounds
    return np.concatenate([warm.w.ravel(), np.clip(warm.log_h, lowest_log_h, highest_log_h)])


def _live_density(
    encoder: Encoder, encoded: Encoded, objective: DensityObjective, point: DensityPoint, is_finished: bool
) -> LiveDensity:
    extra_values = objective.report(point)
    nll = point.sums.nll / objective.total
    model = objective.model(point.w)
    return LiveDensity(encoder, encoded, model, nll, extra_values.get("validation_log_loss", float("nan")), is_finished)
