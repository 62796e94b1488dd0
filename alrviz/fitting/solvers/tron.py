"""Trust region Newton, after a start by L-BFGS.

    start  L-BFGS in the metric M_0, the Hessian's diagonal at the class shares (H0 = (s.y / y.M_0^-1 y) M_0^-1), until
           PATIENCE_STEPS steps in a row lower F by less than MIN_DECREASE of it, or after MAX_START_STEPS: far from the
           minimum a quadratic model says little, and such a step is one pass
    then   min  g.d + d.H d / 2  within  ||d||_M <= radius  by conjugate gradients, preconditioned by P, the two loops
           of L-BFGS over pairs (d, H d) of the previous inner loop, starting with M^-1
           M = D / sqrt(1 + 2 alpha D' / DAMPING),  D the Hessian's diagonal there, D' the same in units of what the
           penalty is on, phi or w

    Tuples overlap: the same scores follow from many phi, and only the penalty chooses among them. In its own units no
    direction of conjugate gradients leads among those; in units of D every one does, the more the larger D is. So M
    grows more slowly than D where cells have many rows. M and M_0 follow the units of w: the steps do not depend on
    them. The inner loop ends at ||H d + g|| <= eta ||g|| in the norm of P, with eta = min(1/2, 5 sqrt(||g|| / ||g_0||))
    in the norm of 1 / M and g_0 the gradient after the start, or at the radius; each turn is a Hessian-vector product,
    one pass. Then F is minimised along d, from t = 1 on, and t says how far the quadratic model can be trusted: the
    radius becomes 2 t ||d||, but does not shrink if t >= 1/2.

A step reports its number of products as "products"; it is 0 in the start.

(Lin, Weng and Keerthi, Trust region Newton method for logistic regression, 2008; the preconditioners after Hsia, Chiang
and Lin, 2018, and Morales and Nocedal, Automatic preconditioning by limited memory quasi-Newton updating, 2000; the
search along the step after Nocedal and Yuan, 1998: here it costs no pass.)
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from alrviz.fitting.objectives.linear import LinearObjective
from alrviz.fitting.objectives.ridge import Objective, Point
from alrviz.fitting.solvers.line_search import Pairs, quasi_newton, start_size, two_loop
from alrviz.fitting.solvers.state import Solver, SolverState, line_search_step, stalled
from alrviz.passes.aligned_buffers import BufferPool, Floats
from alrviz.passes.vectors import Floats32, dot, ridge_line_derivatives
from alrviz.passes.vectors import move_along as add

# The end of the start. Passes until F is 1e-3 per row above its minimum, n = 2, with 1e-2 and with 1e-3: adult at alpha
# 1 44 and 52, at 1e-3 88 and 112, connect-4 at alpha 1 250 and 350; but on Covertype at 1e-3, where weights have far to
# go, F after 20 s was half as high again with 1e-2 as with L-BFGS alone.
MIN_DECREASE, PATIENCE_STEPS = 1e-3, 3
# Near F = 0 each step may lower F by a larger share, up to max_iter steps. (Passes to the end, at weak penalties that
# AutoClassifier chooses, without this limit and with it: pendigits 433, 389, nursery 362, 309.)
MAX_START_STEPS = 100
# Maximum pairs of an inner loop, evenly spread over it. A loop with fewer than MIN_PAIRS keeps those of the previous
# one.
MAX_PAIRS, MIN_PAIRS = 5, 3
# Hessian-vector products in one step: a point of the trace must not wait for hundreds of passes.
MAX_INNER_TURNS = 300
# The largest eta. Passes until F is 1e-3 per row above its minimum, n = 2, alpha 1 on phi, with 0.1 and with 0.5: adult
# 64 and 42, nursery 55 and 47, letter 112 and 44, poker-hand 105 and 112.
MAX_ETA = 0.5
# The 2 alpha D' beyond which M grows as the root of D. Passes until F is 1e-5 of itself above its minimum, with M = D
# and with this M, alpha 1: adult at n = 2 330 and 234, half of adult at n = 3 773 and 451, connect-4 1,013 and 742.
# With small alpha rare cells have far to go, and D is better: with M = sqrt(2 alpha D) adult at 1e-3 takes 438 passes
# instead of 303.
DAMPING = 40.0
# Smallest curvature relative to the largest: where all rows are fitted there is no curvature.
MIN_CURVATURE_SHARE = 1e-10
# The maximum factor by which the radius grows in one step.
MAX_RADIUS_GROWTH = 4.0


@dataclass(frozen=True, eq=False)
class LBFGSStart:
    """The start: the inverse of its metric, corrections, and the number of slow steps in a row."""

    inverse: Floats
    pairs: Pairs = ()
    n_slow_steps: int = 0


@dataclass(frozen=True, eq=False)
class Region:
    """The trust region: its radius, the norm of the first gradient in it, pairs of the last inner loop."""

    radius: float
    first_norm: float
    pairs: Pairs = ()


@dataclass(frozen=True)
class Tron(Solver):
    """Trust region Newton. Carries a `LBFGSStart`, then a `Region`; a state is a step of L-BFGS or an outer iteration.

    Args:
        memory: number of corrections of the start, and (up to MAX_PAIRS) of pairs of an inner loop; with 0 there is no
            start, and M alone preconditions.
        max_eta: the largest eta.
        max_start_steps: maximum number of steps of the start.
    """

    memory: int = 10
    max_eta: float = MAX_ETA
    max_start_steps: int = MAX_START_STEPS

    def init(self, objective: LinearObjective, w0: Floats) -> SolverState:
        """Return the state at the start point w0, shaped as the objective's weights."""
        start_carry = LBFGSStart(invert_diagonal(objective.diagonal_at_shares())) if self.memory else None
        return replace(super().init(objective, w0), carry=start_carry)

    def advance(self, objective: Objective, state: SolverState) -> SolverState:
        """Return the state one step of L-BFGS, or one outer iteration, later."""
        start_carry = state.carry
        if isinstance(start_carry, LBFGSStart):
            next_state, pairs = quasi_newton(objective, state, start_carry.pairs, start_carry.inverse, self.memory)
            if pairs is not None:
                decrease = state.point.objective - next_state.point.objective
                n_slow_steps = start_carry.n_slow_steps + 1 if decrease < MIN_DECREASE * state.point.objective else 0
                has_ended = n_slow_steps >= PATIENCE_STEPS or next_state.index >= self.max_start_steps
                carry = None if has_ended else LBFGSStart(start_carry.inverse, pairs, n_slow_steps)
                return replace(next_state, carry=carry, extra={"products": 0.0})
            state = replace(next_state, carry=None)
        return _newton(objective, state, min(MAX_PAIRS, self.memory), self.max_eta)


def _newton(objective: Objective, state: SolverState, n_pairs: int, max_eta: float) -> SolverState:
    """Return the state one outer iteration later; n_pairs: pairs to store; max_eta: the largest eta."""
    point = state.point
    inverse = invert_diagonal(_damp_diagonal(objective.hessian_diagonal(point), objective))
    gradient_norm = math.sqrt(dot(point.gradient, point.gradient * inverse))
    region = state.carry or Region(gradient_norm, gradient_norm)
    eta = min(max_eta, 10.0 * max_eta * math.sqrt(gradient_norm / (region.first_norm or 1.0)))
    new_pairs = CurvaturePairs(n_pairs, objective.buffers)
    step, n_products = newton_step(objective, point, inverse, region.radius, eta, region.pairs, new_pairs)
    counted_state = replace(state, passes=state.passes + 0.5 + n_products)
    next_state, has_fallen = line_search_step(objective, counted_state, step, 1.0)
    if not has_fallen:
        return stalled(next_state)
    length, step_size = math.sqrt(dot(step, step / inverse)), next_state.step_size
    reach = min(MAX_RADIUS_GROWTH, 2.0 * step_size) * length
    radius = max(region.radius, reach) if step_size >= 0.5 else reach
    pairs = tuple(new_pairs.pairs) if len(new_pairs.pairs) >= MIN_PAIRS else region.pairs
    region = Region(radius, region.first_norm, pairs)
    return replace(next_state, carry=region, turns=max(1, n_products), extra={"products": float(n_products)})


def _damp_diagonal(diagonal: Floats, objective: Objective) -> Floats:
    """Overwrite the Hessian's diagonal by M and return it."""
    if np.any(objective.alpha):
        ridge, twice = objective.ridge, 2.0 * objective.alpha  # ridge / twice is q: D' = D / q
        scaled_diagonal = np.divide(diagonal, ridge, out=np.zeros_like(diagonal), where=ridge != 0.0)
        scaled_diagonal *= twice * twice / DAMPING
        scaled_diagonal += 1.0
        diagonal /= np.sqrt(scaled_diagonal, out=scaled_diagonal)
    return diagonal


def invert_diagonal(diagonal: Floats) -> Floats:
    """Overwrite the diagonal, shaped as w, by its inverse and return it; values near 0 count as MIN_CURVATURE_SHARE of
    the largest.
    """
    np.maximum(diagonal, MIN_CURVATURE_SHARE * float(diagonal.max(initial=0.0)) or 1.0, out=diagonal)
    return np.reciprocal(diagonal, out=diagonal)


class CurvaturePairs:
    """At most `max_pairs` triples (d, H d, 1 / d.H d) of one inner loop, evenly spread; they precondition the next."""

    def __init__(self, max_pairs: int, buffers: BufferPool):
        self.pairs: list[tuple[Floats32, Floats32, float]] = []
        self._max_pairs, self._buffers = max_pairs, buffers
        self._turn, self._stride = 0, 1

    def add(self, direction: Floats, product: Floats, curvature: float) -> None:
        """Add a direction d and its product H d, both shaped as w, and curvature d.H d, if this turn of the loop is
        stored.
        """
        if self._turn % self._stride == 0 and self._max_pairs:
            if len(self.pairs) == self._max_pairs:
                self.pairs, self._stride = self.pairs[::2], 2 * self._stride
            if self._turn % self._stride == 0:
                self.pairs.append((self._to_float32(direction), self._to_float32(product), 1.0 / curvature))
        self._turn += 1

    def _to_float32(self, vector: Floats) -> Floats32:
        copied = self._buffers.empty(*vector.shape, dtype=np.float32)
        copied[...] = vector
        return copied


def newton_step(
    objective: Objective,
    point: Point,
    inverse: Floats,
    radius: float,
    eta: float,
    pairs: Pairs = (),
    new_pairs: CurvaturePairs | None = None,
) -> tuple[Floats, int]:
    """Return the step within `radius` by preconditioned conjugate gradients (Steihaug), and its number of products.

    `inverse`, shaped as w, is 1 / M; the loop ends at ||H d + g|| <= eta ||g||. `pairs` of the previous inner loop are
    for the preconditioner; `new_pairs` stores those of this one. Vectors come from the objective's buffers and are
    freed as soon as possible: a turn needs no more of them than a step of the start.
    """
    jobs, buffers = objective.n_jobs, objective.buffers
    step, residual, direction = (buffers.empty(*point.gradient.shape) for _ in range(3))
    step[...] = 0.0
    metric, origin, remaining = np.reciprocal(inverse), np.zeros(step.shape), radius * radius
    pair_size = start_size(pairs, inverse, jobs) if pairs else 1.0
    np.negative(point.gradient, out=residual)
    direction[...] = preconditioned = _precondition(residual, pairs, inverse, pair_size, objective)
    squared_norm = dot(residual, preconditioned, jobs)
    del preconditioned
    tolerance = eta * eta * squared_norm
    n_products = 0
    while squared_norm > tolerance and n_products < MAX_INNER_TURNS:
        product = objective.hvp(point, direction)
        n_products += 1
        curvature = dot(direction, product, jobs)
        length = squared_norm / curvature if curvature > 0.0 else math.inf
        slope, curvature_m = ridge_line_derivatives(metric, step, origin, direction, jobs)
        to_edge = _to_edge(remaining, slope, curvature_m)
        if length >= to_edge:
            add(step, to_edge, direction, step, jobs)
            break
        remaining -= length * (2.0 * slope + length * curvature_m)
        add(step, length, direction, step, jobs)
        add(residual, -length, product, residual, jobs)
        if new_pairs is not None:
            new_pairs.add(direction, product, curvature)
        del product
        preconditioned = _precondition(residual, pairs, inverse, pair_size, objective)
        previous_squared_norm, squared_norm = squared_norm, dot(residual, preconditioned, jobs)
        add(preconditioned, squared_norm / previous_squared_norm, direction, direction, jobs)
        del preconditioned
    return step, n_products


def _precondition(residual: Floats, pairs: Pairs, inverse: Floats, size: float, objective: Objective) -> Floats:
    """Return the preconditioned residual, shaped as w; `inverse` is 1 / M, `pairs` and `size` are as in `two_loop`."""
    result = objective.buffers.empty(*residual.shape)
    if not pairs:
        return np.multiply(residual, inverse, out=result)
    result[...] = residual
    return two_loop(result, pairs, inverse, objective.n_jobs, size)


def _to_edge(remaining: float, slope: float, square: float) -> float:
    """Return the t >= 0 at which t^2 square + 2 t slope, the growth of ||step||_M^2, is `remaining`."""
    return remaining / (slope + math.sqrt(max(0.0, slope * slope + square * remaining))) if remaining > 0.0 else 0.0
