"""The solver of DLR: weights by Newton's method, bandwidths by BFGS on what is left of E once the weights follow.

    inner step   one of Newton's on F(w) (newton.py), until every slope is below SETTLED a row
    outer step   d = -B dE/dlog h, no bandwidth by more than LONGEST; the first t of 1, 1/2, 1/4 ... with
                 E(log h + t d) <= E + 1e-4 t dE.d. At each trial the weights are brought to their optimum again,
                 except in the mode "paper", where they stand still ([DLR] Algorithm 1)

B starts as the inverse of Gauss-Newton's diagonal, made so long that the first step reaches LONGEST (the weights give
way, so that E bends less than the diagonal says), and learns by BFGS; but not in "paper", whose slopes are of no single
function. There the fit ends once a step moves no bandwidth by more than STILL. Trials are taken on the grids of their
start (models/density.py): there E and its slopes agree.

Measured against L-BFGS over (w, log h) at once: docs/dlr.md.
"""

from dataclasses import dataclass, replace

import numpy as np

from alrviz.fitting.density.objective import DensityObjective, DensityPoint
from alrviz.fitting.density.weights import WeightsObjective
from alrviz.fitting.objectives.ridge import Point
from alrviz.fitting.solvers.newton import SETTLED, minimise, newton
from alrviz.fitting.solvers.state import Solver, SolverState
from alrviz.models.density import VoteFeatures
from alrviz.passes.aligned_buffers import Floats

# By how much log h moves at most in one step: a grid is good for that (0.5 to 2 times its bandwidth).
LONGEST = float(np.log(2.0))
SUFFICIENT = 1e-4
GROWTH = 4.0
# A loss below this a row counts as this: where all rows are fitted E falls towards 0 for ever.
FITTED = 1e-6
# Of log h: a hundredth of the bandwidth.
STILL = 0.01
MOST_TRIALS = 12
_AT_REST = "the weights are at their optimum for these bandwidths"
_SETTLED = "the weights are at their optimum and no step of the bandwidths would lower the loss by more than tol"
_END = "no step of the bandwidths lowers the loss any further"
_STILL = "the last step moved no bandwidth by more than a hundredth"


@dataclass(frozen=True, eq=False)
class OuterMemory:
    """What goes on from step to step: whether the weights are settled, the inverse Hessian of E, how far h moved."""

    settled: bool = False
    inverse: Floats | None = None
    moved: float = np.inf


@dataclass(frozen=True, eq=False)
class OuterTrial:
    """Weights and features at other bandwidths, E there, and what it took."""

    of: WeightsObjective
    inner: Point
    features: VoteFeatures
    validated: VoteFeatures | None
    goal: float
    evaluations: int
    passes: float


@dataclass(frozen=True)
class Hierarchical(Solver):
    """Weights inside, bandwidths outside. Carries a `OuterMemory`.

    Args:
        tol: ends where a step of the bandwidths is expected to lower E by less than this share of itself, or of FITTED
            a row where that is more.
    """

    tol: float = 1e-6

    def init(self, objective: DensityObjective, w0: Floats) -> SolverState:
        """Return the state at the start point."""
        point = objective.value_grad(w0)
        return SolverState(0, point, 1, 2.0, carry=OuterMemory(), extra=objective.report(point))

    def advance(self, objective: DensityObjective, state: SolverState) -> SolverState:
        """Return the state one step later, inner or outer."""
        memory: OuterMemory = state.carry
        if not memory.settled:
            new = self._inner(objective, state)
            if not new.stalled:
                return new
        if not objective.moves:
            return _ended(state, _AT_REST)
        return self._outer(objective, state)

    def _inner(self, objective: DensityObjective, state: SolverState) -> SolverState:
        point: DensityPoint = state.point  # type: ignore[assignment]
        if point.of.criterion(point.inner) < SETTLED:
            return replace(state, stalled=True)
        new = newton(point.of, replace(state, point=point.inner))
        if new.stalled:
            return new
        moved = objective.point(point.of, new.point, point.features, point.validated)
        memory = replace(state.carry, settled=point.of.criterion(new.point) < SETTLED)
        return replace(new, point=moved, carry=memory, extra=objective.report(moved))

    def _outer(self, objective: DensityObjective, state: SolverState) -> SolverState:
        point: DensityPoint = state.point  # type: ignore[assignment]
        if objective.mode == "paper" and state.carry.moved < STILL:
            return _ended(state, _STILL)
        direction, inverse = _direction(objective, point, state.carry.inverse)
        gain = -float(point.slopes @ direction)
        if gain <= self.tol * max(abs(point.goal), FITTED * objective.judging):
            return _ended(state, _SETTLED)
        low, high = objective.features.bounds
        spacing = objective.features.spacing(point.features.log_h)
        t, spent = 1.0, state
        for _ in range(MOST_TRIALS):
            log_h = np.clip(point.features.log_h + t * direction, low, high)
            trial = _trial(objective, point, log_h, spacing)
            spent = replace(
                spent, evaluations=spent.evaluations + trial.evaluations, passes=spent.passes + trial.passes
            )
            slope = float(point.slopes @ (log_h - point.features.log_h))
            if trial.goal <= point.goal + SUFFICIENT * slope and slope < 0.0:
                return _accepted(objective, spent, trial, spacing, inverse, t)
            t *= 0.5
        return _ended(spent, _END)


def _ended(state: SolverState, note: str) -> SolverState:
    return replace(state, index=state.index + 1, step_size=0.0, stalled=True, note=note, kind="inner")


def _direction(objective: DensityObjective, point: DensityPoint, inverse: Floats | None) -> tuple[Floats, Floats]:
    """Where the bandwidths go, no further than LONGEST, and the inverse Hessian that says so."""
    first = inverse is None
    if inverse is None or objective.mode == "paper":
        curvature = objective.curvature(point)
        inverse = np.diag(1.0 / np.maximum(curvature, 1e-3 * max(float(curvature.max(initial=0.0)), 1e-300)))
    if not point.slopes.any():  # as where all weights are 0, which leaves no curvature either: nothing to scale
        return np.zeros_like(point.slopes), inverse
    direction = -(inverse @ point.slopes)
    if float(direction @ point.slopes) >= 0.0:
        direction = -point.slopes
    scale = LONGEST / max(float(np.abs(direction).max(initial=0.0)), 1e-300)
    if first and objective.mode != "paper":
        return direction * scale, inverse * scale
    return direction * min(1.0, scale), inverse


def _trial(objective: DensityObjective, point: DensityPoint, log_h: Floats, spacing: np.ndarray | None) -> OuterTrial:
    """Other bandwidths, and the weights that go with them; what no bandwidth changes is taken from the point."""
    features = objective.training(log_h, spacing, point.features)
    of = objective.at(features)
    if objective.mode == "paper":
        inner, evaluations, passes = of.value_grad(point.inner.w), 1, 1.0
    else:
        inner, evaluations, passes = minimise(of, point.inner.w)
    validated = objective.validation_features(features, spacing, point.validated)
    goal, _, _ = objective.goal(inner, validated)
    return OuterTrial(of, inner, features, validated, goal, evaluations, passes + 1.0)


def _accepted(
    objective: DensityObjective, state: SolverState, trial: OuterTrial, spacing: np.ndarray, inverse: Floats, t: float
) -> SolverState:
    """The state at a trial, on the grids of its own bandwidths."""
    before: DensityPoint = state.point  # type: ignore[assignment]
    if not np.array_equal(objective.features.spacing(trial.features.log_h), spacing):
        start = replace(before, inner=trial.inner)
        again = _trial(objective, start, trial.features.log_h, None)
        state = replace(state, evaluations=state.evaluations + again.evaluations, passes=state.passes + again.passes)
        trial = again
    point = objective.point(trial.of, trial.inner, trial.features, trial.validated)
    step = point.features.log_h - before.features.log_h
    inverse = _bfgs(inverse, step, point.slopes - before.slopes)
    memory = OuterMemory(objective.mode != "paper", inverse, float(np.abs(step).max(initial=0.0)))
    return SolverState(
        state.index + 1, point, state.evaluations, state.passes, step_size=t, carry=memory, kind="outer",
        extra=objective.report(point),
    )  # fmt: skip


def _bfgs(inverse: Floats, s: Floats, y: Floats) -> Floats:
    """The inverse Hessian that knows this step too (Nocedal and Wright, 6.17).

    Where E does not bend up along the step it has no such inverse: the next step goes GROWTH times as far.
    """
    product = float(s @ y)
    if product <= 1e-10 * float(np.sqrt((s @ s) * (y @ y))):
        return GROWTH * inverse
    turned = np.eye(len(s)) - np.outer(s, y) / product
    return turned @ inverse @ turned.T + np.outer(s, s) / product
