"""The solver of DLR: weights by Newton's method, bandwidths by BFGS on E at the optimal weights.

    inner step   one Newton step on F(w) (weights.py), until every slope per row is below OPTIMAL_SLOPE
    outer step   d = -B dE/dlog h, no |d| above MAX_LOG_STEP; the first t of 1, 1/2, 1/4 ... with
                 E(log h + t d) <= E + 1e-4 t dE.d. At each trial the weights are brought to their optimum again,
                 except in the mode "paper", where they stay ([DLR] Algorithm 1)

B starts as the inverse of Gauss-Newton's diagonal, scaled so that the first step reaches MAX_LOG_STEP (the weights
follow h, so that E bends less than the diagonal says), and is updated by BFGS; not in "paper", whose slopes belong to
no single function. There the fit ends once a step moves no bandwidth by more than MIN_LOG_STEP. Trials use the grids of
their start (models/density.py), on which E and its slopes agree.

Measured against L-BFGS over (w, log h) together: docs/dlr.md.
"""

from dataclasses import dataclass, replace

import numpy as np

from alrviz.fitting.density.objective import DensityObjective, DensityPoint
from alrviz.fitting.density.weights import OPTIMAL_SLOPE, WeightsObjective, minimise, newton
from alrviz.fitting.objectives.ridge import Point
from alrviz.fitting.solvers.state import Solver, SolverState
from alrviz.models.density_votes import VoteFeatures
from alrviz.passes.aligned_buffers import Floats

# The most that log h moves in one step; a grid is accurate from 0.5 to 2 times its bandwidth.
MAX_LOG_STEP = float(np.log(2.0))
SUFFICIENT_DECREASE = 1e-4
STEP_GROWTH = 4.0
# A loss per row below this counts as this: where all rows are fitted E falls towards 0 for ever.
MIN_ROW_LOSS = 1e-6
# Of log h: one percent of the bandwidth.
MIN_LOG_STEP = 0.01
MAX_TRIALS = 12
_WEIGHTS_OPTIMAL_REASON = "the weights are at their optimum for these bandwidths"
_OPTIMAL_REASON = "the weights are at their optimum and no step of the bandwidths would lower the loss by more than tol"
_NO_DECREASE_REASON = "no step of the bandwidths lowers the loss any further"
_SMALL_STEP_REASON = "the last step moved no bandwidth by more than a hundredth"


@dataclass(frozen=True, eq=False)
class OuterCarry:
    """Carried from step to step: whether the weights are optimal, the inverse Hessian of E, the last move of log h."""

    weights_optimal: bool = False
    inverse: Floats | None = None
    last_move: float = np.inf


@dataclass(frozen=True, eq=False)
class OuterTrial:
    """Weights and features at other bandwidths, E there, and the evaluations and passes it took."""

    weights_objective: WeightsObjective
    inner: Point  # the optimal weights
    features: VoteFeatures
    validation_features: VoteFeatures | None
    e: float  # the outer objective E
    evaluations: int
    passes: float


@dataclass(frozen=True)
class Hierarchical(Solver):
    """Weights inside, bandwidths outside; carries an `OuterCarry`.

    Args:
        tol: the fit ends if a step of the bandwidths is expected to lower E by less than this share of it, or of
            MIN_ROW_LOSS per row if that is more.
    """

    tol: float = 1e-6

    def init(self, objective: DensityObjective, w0: Floats) -> SolverState:
        """Return the state at the start w0 (P,): weights and log bandwidths in one vector."""
        point = objective.value_grad(w0)
        return SolverState(0, point, 1, 2.0, carry=OuterCarry(), extra=objective.report(point))

    def advance(self, objective: DensityObjective, state: SolverState) -> SolverState:
        """Return the state after one more step, inner or outer."""
        carry: OuterCarry = state.carry
        if not carry.weights_optimal:
            next_state = self._inner(objective, state)
            if not next_state.stalled:
                return next_state
        if not objective.fits_bandwidths:
            return _final_state(state, _WEIGHTS_OPTIMAL_REASON)
        return self._outer(objective, state)

    def _inner(self, objective: DensityObjective, state: SolverState) -> SolverState:
        """Return the state after a Newton step of the weights at fixed bandwidths; stalled at the optimum."""
        point: DensityPoint = state.point  # type: ignore[assignment]
        if point.weights_objective.criterion(point.inner) < OPTIMAL_SLOPE:
            return replace(state, stalled=True)
        next_state = newton(point.weights_objective, replace(state, point=point.inner))
        if next_state.stalled:
            return next_state
        next_point = objective.point(
            point.weights_objective, next_state.point, point.features, point.validation_features
        )
        memory = replace(
            state.carry, weights_optimal=point.weights_objective.criterion(next_state.point) < OPTIMAL_SLOPE
        )
        return replace(next_state, point=next_point, carry=memory, extra=objective.report(next_point))

    def _outer(self, objective: DensityObjective, state: SolverState) -> SolverState:
        """Return the state after a step of the bandwidths, with the weights optimal at each trial."""
        point: DensityPoint = state.point  # type: ignore[assignment]
        if objective.mode == "paper" and state.carry.last_move < MIN_LOG_STEP:
            return _final_state(state, _SMALL_STEP_REASON)
        direction, inverse = _direction(objective, point, state.carry.inverse)
        gain = -float(point.slopes @ direction)
        if gain <= self.tol * max(abs(point.e), MIN_ROW_LOSS * objective.e_weight):
            return _final_state(state, _OPTIMAL_REASON)
        min_log_h, max_log_h = objective.features.bounds
        spacing = objective.features.spacing(point.features.log_h)
        step_length, counted_state = 1.0, state
        for _ in range(MAX_TRIALS):
            log_h = np.clip(point.features.log_h + step_length * direction, min_log_h, max_log_h)
            trial = _trial(objective, point, log_h, spacing)
            counted_state = replace(
                counted_state,
                evaluations=counted_state.evaluations + trial.evaluations,
                passes=counted_state.passes + trial.passes,
            )
            slope = float(point.slopes @ (log_h - point.features.log_h))
            if trial.e <= point.e + SUFFICIENT_DECREASE * slope and slope < 0.0:
                return _accepted(objective, counted_state, trial, spacing, inverse, step_length)
            step_length *= 0.5
        return _final_state(counted_state, _NO_DECREASE_REASON)


def _final_state(state: SolverState, note: str) -> SolverState:
    return replace(state, index=state.index + 1, step_size=0.0, stalled=True, note=note, kind="inner")


def _direction(objective: DensityObjective, point: DensityPoint, inverse: Floats | None) -> tuple[Floats, Floats]:
    """Return the step of log h, at most MAX_LOG_STEP in each, and the inverse Hessian it follows from."""
    is_first = inverse is None
    if inverse is None or objective.mode == "paper":
        curvature = objective.curvature(point)
        inverse = np.diag(1.0 / np.maximum(curvature, 1e-3 * max(float(curvature.max(initial=0.0)), 1e-300)))
    if not point.slopes.any():  # as with all weights 0, where there is no curvature either
        return np.zeros_like(point.slopes), inverse
    direction = -(inverse @ point.slopes)
    if float(direction @ point.slopes) >= 0.0:
        direction = -point.slopes
    step_scale = MAX_LOG_STEP / max(float(np.abs(direction).max(initial=0.0)), 1e-300)
    if is_first and objective.mode != "paper":
        return direction * step_scale, inverse * step_scale
    return direction * min(1.0, step_scale), inverse


def _trial(objective: DensityObjective, point: DensityPoint, log_h: Floats, spacing: np.ndarray | None) -> OuterTrial:
    """Return the trial of bandwidths exp(log_h), (D_num,), from a point, at the weights that are optimal there.

    spacing (D_num,): grids to keep, None for those that suit log_h. Features of unchanged bandwidths are the point's.
    """
    features = objective.training(log_h, spacing, point.features)
    weights_objective = objective.objective_at(features)
    if objective.mode == "paper":
        inner_point, evaluations, passes = weights_objective.value_grad(point.inner.w), 1, 1.0
    else:
        inner_point, evaluations, passes = minimise(weights_objective, point.inner.w)
    validation_features = objective.validate(features, spacing, point.validation_features)
    e, _, _ = objective.outer_value(inner_point, validation_features)
    return OuterTrial(weights_objective, inner_point, features, validation_features, e, evaluations, passes + 1.0)


def _accepted(
    objective: DensityObjective, state: SolverState, trial: OuterTrial, spacing: np.ndarray, inverse: Floats, t: float
) -> SolverState:
    """Return the state at an accepted trial, on the grids of its own bandwidths.

    spacing: the grids that the trial used; inverse: of the Hessian of E, None at first; t: length of the step.
    """
    previous: DensityPoint = state.point  # type: ignore[assignment]
    if not np.array_equal(objective.features.spacing(trial.features.log_h), spacing):
        start_point = replace(previous, inner=trial.inner)
        repeated = _trial(objective, start_point, trial.features.log_h, None)
        state = replace(
            state, evaluations=state.evaluations + repeated.evaluations, passes=state.passes + repeated.passes
        )
        trial = repeated
    point = objective.point(trial.weights_objective, trial.inner, trial.features, trial.validation_features)
    step = point.features.log_h - previous.features.log_h
    inverse = _bfgs(inverse, step, point.slopes - previous.slopes)
    memory = OuterCarry(objective.mode != "paper", inverse, float(np.abs(step).max(initial=0.0)))
    return SolverState(
        state.index + 1, point, state.evaluations, state.passes, step_size=t, carry=memory, kind="outer",
        extra=objective.report(point),
    )  # fmt: skip


def _bfgs(inverse: Floats, s: Floats, y: Floats) -> Floats:
    """Return the inverse Hessian after a step s (D_num,) that changed the slopes by y (Nocedal and Wright, 6.17).

    Where E does not curve upwards along the step there is no update, and the next step goes STEP_GROWTH times as far.
    """
    product = float(s @ y)
    if product <= 1e-10 * float(np.sqrt((s @ s) * (y @ y))):
        return STEP_GROWTH * inverse
    projection = np.eye(len(s)) - np.outer(s, y) / product
    return projection @ inverse @ projection.T + np.outer(s, s) / product
