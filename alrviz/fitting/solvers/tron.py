"""Trust region Newton, after a start by L-BFGS.

    start  L-BFGS in the metric M_0, the Hessian's diagonal at the class shares (H0 = (s.y / y.M_0^-1 y) M_0^-1), until
           PATIENCE steps in a row lower F by less than SLOW of it, or MOST_START were taken: far from the minimum a
           parabola says little, and such a step is one pass
    then   min  g.d + d.H d / 2  within  ||d||_M <= radius  by conjugate gradients, preconditioned by P, the two loops
           of L-BFGS over pairs (d, H d) of the inner loop before, from M^-1 on
           M = D / sqrt(1 + 2 alpha D' / MILD),  D the Hessian's diagonal there, D' the same in units of what the
           penalty is on, phi or w

    Tuples overlap: the same scores come of many phi, and which of them is the penalty's choice alone. In its own units
    no direction of conjugate gradients leads among those; in units of D every one does, the more the larger D is. So M
    is milder than D where cells have many rows. M and M_0 follow the units of w: the steps are the same whatever w is
    measured in. The inner loop ends at
    ||H d + g|| <= eta ||g|| in the norm of P, eta = min(1/2, 5 sqrt(||g|| / ||g_0||)) by that of 1 / M, g_0 that after
    the start, or at the radius; each turn is a Hessian-vector product, one pass. Then F is searched along d,
    exactly, from t = 1 on, and the t that is found says how far the parabola can be trusted: the radius becomes
    2 t ||d||, but does not shrink where t >= 1/2.

A step reports how many products it took, "products": 0 is a step of the start.

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
from alrviz.fitting.solvers.state import Solver, SolverState, line_search_step, stalled, start
from alrviz.passes.aligned_buffers import BufferPool, Floats
from alrviz.passes.vectors import Floats32, dot, ridge_line_derivatives
from alrviz.passes.vectors import move_along as add

# When the start ends. Passes until F is 1e-3 a row above its minimum, n = 2, with 1e-2 and with 1e-3: adult at alpha 1
# 44 and 52, at 1e-3 88 and 112, connect-4 at alpha 1 250 and 350; but on Covertype at 1e-3, where weights have far to
# go, F was half as high again after 20 s with 1e-2 as with L-BFGS alone.
SLOW, PATIENCE = 1e-3, 3
# Where little is left of F each step may lower it by more, to the last of max_iter. (Passes to the end, at weak
# penalties that AutoClassifier takes, without such a limit and with this one: pendigits 433, 389, nursery 362, 309.)
MOST_START = 100
# Pairs kept of an inner loop, evenly spread over it, at most. Of a loop that shows fewer than the second those of the
# one before stay.
KEPT, FEWEST = 5, 3
# Hessian-vector products in one step: a point of the trace must not wait for hundreds of passes.
MOST_INNER = 300
# The largest eta. Passes until F is 1e-3 a row above its minimum, n = 2, alpha 1 on phi, with 0.1 and with 0.5: adult
# 64 and 42, nursery 55 and 47, letter 112 and 44, poker-hand 105 and 112.
LOOSE = 0.5
# 2 alpha D' beyond which M grows as the root of D. Passes until F is 1e-5 of itself above its minimum, with M = D and
# so, alpha 1: adult at n = 2 330 and 234, half of adult at n = 3 773 and 451, connect-4 1,013 and 742. Where alpha is
# small rare cells have far to go, and D is better: with M = sqrt(2 alpha D) adult at 1e-3 takes 438 passes for 303.
MILD = 40.0
# Curvature below this share of the largest counts as that: where all rows are fitted there is none.
LEAST = 1e-10
# How much the radius grows at most in one step.
GROWTH = 4.0


@dataclass(frozen=True, eq=False)
class Head:
    """The start: the inverse of its metric, corrections, how many of the last steps were slow."""

    inverse: Floats
    pairs: Pairs = ()
    slow: int = 0


@dataclass(frozen=True, eq=False)
class Region:
    """The trust region: its radius, the norm of the first gradient in it, pairs of the last inner loop."""

    radius: float
    first: float
    pairs: Pairs = ()


@dataclass(frozen=True)
class Tron(Solver):
    """Trust region Newton. Carries a `Head`, then a `Region`; a state is a step of L-BFGS or an outer iteration.

    Args:
        memory: number of corrections of the start, and of KEPT the pairs of an inner loop; with none there is no start,
            and M alone preconditions.
        loose: the largest eta.
        most_start: steps of the start at most.
    """

    memory: int = 10
    loose: float = LOOSE
    most_start: int = MOST_START

    def init(self, objective: LinearObjective, w0: Floats) -> SolverState:
        """Return the state at the start point."""
        head = Head(inverted(objective.diagonal_at_shares())) if self.memory else None
        return replace(start(objective, w0), carry=head)

    def advance(self, objective: Objective, state: SolverState) -> SolverState:
        """Return the state one step of L-BFGS, or one outer iteration, later."""
        head = state.carry
        if isinstance(head, Head):
            new, pairs = quasi_newton(objective, state, head.pairs, head.inverse, self.memory)
            if pairs is not None:
                fell = state.point.objective - new.point.objective
                slow = head.slow + 1 if fell < SLOW * state.point.objective else 0
                ends = slow >= PATIENCE or new.index >= self.most_start
                carry = None if ends else Head(head.inverse, pairs, slow)
                return replace(new, carry=carry, extra={"products": 0.0})
            state = replace(new, carry=None)
        return _newton(objective, state, min(KEPT, self.memory), self.loose)


def _newton(objective: Objective, state: SolverState, kept: int, loose: float) -> SolverState:
    """Return the state one outer iteration later."""
    point = state.point
    inverse = inverted(_milder(objective.hessian_diagonal(point), objective))
    size = math.sqrt(dot(point.gradient, point.gradient * inverse))
    region = state.carry or Region(size, size)
    eta = min(loose, 10.0 * loose * math.sqrt(size / (region.first or 1.0)))
    seen = CurvaturePairs(kept, objective.buffers)
    step, products = newton_step(objective, point, inverse, region.radius, eta, region.pairs, seen)
    spent = replace(state, passes=state.passes + 0.5 + products)
    new, falls = line_search_step(objective, spent, step, 1.0)
    if not falls:
        return stalled(new)
    length, t = math.sqrt(dot(step, step / inverse)), new.step_size
    reach = min(GROWTH, 2.0 * t) * length
    radius = max(region.radius, reach) if t >= 0.5 else reach
    pairs = tuple(seen.pairs) if len(seen.pairs) >= FEWEST else region.pairs
    region = Region(radius, region.first, pairs)
    return replace(new, carry=region, turns=max(1, products), extra={"products": float(products)})


def _milder(diagonal: Floats, objective: Objective) -> Floats:
    """Make the Hessian's diagonal to M."""
    if np.any(objective.alpha):
        ridge, twice = objective.ridge, 2.0 * objective.alpha  # ridge / twice is q: D' = D / q
        share = np.divide(diagonal, ridge, out=np.zeros_like(diagonal), where=ridge != 0.0)
        share *= twice * twice / MILD
        share += 1.0
        diagonal /= np.sqrt(share, out=share)
    return diagonal


def inverted(diagonal: Floats) -> Floats:
    """Overwrite the diagonal, shaped as w, by its inverse, what is next to nothing, or nothing, counted as LEAST of the
    largest.
    """
    np.maximum(diagonal, LEAST * float(diagonal.max(initial=0.0)) or 1.0, out=diagonal)
    return np.reciprocal(diagonal, out=diagonal)


class CurvaturePairs:
    """Pairs (d, H d, 1 / d.H d) of an inner loop, at most so many, evenly spread over it."""

    def __init__(self, most: int, room: BufferPool):
        self.pairs: list[tuple[Floats32, Floats32, float]] = []
        self._most, self._room = most, room
        self._turn, self._every = 0, 1

    def add(self, direction: Floats, bent: Floats, curvature: float) -> None:
        """Take d and H d, both shaped as w, and d.H d of the next turn, if it is one to be kept."""
        if self._turn % self._every == 0 and self._most:
            if len(self.pairs) == self._most:
                self.pairs, self._every = self.pairs[::2], 2 * self._every
            if self._turn % self._every == 0:
                self.pairs.append((self._short(direction), self._short(bent), 1.0 / curvature))
        self._turn += 1

    def _short(self, vector: Floats) -> Floats32:
        short = self._room.empty(*vector.shape, dtype=np.float32)
        short[...] = vector
        return short


def newton_step(
    objective: Objective,
    point: Point,
    inverse: Floats,
    radius: float,
    eta: float,
    pairs: Pairs = (),
    seen: CurvaturePairs | None = None,
) -> tuple[Floats, int]:
    """Return the step within `radius` by preconditioned conjugate gradients (Steihaug), and its number of products.

    `inverse`, shaped as w, is 1 / M; `pairs` are those of another such loop, for the preconditioner; `seen` takes those
    of this one. Vectors come from the objective's room and are dropped once they are used: a turn takes no more of them
    than a step of the start.
    """
    jobs, room = objective.n_jobs, objective.buffers
    step, residual, direction = (room.empty(*point.gradient.shape) for _ in range(3))
    step[...] = 0.0
    metric, origin, within = np.reciprocal(inverse), np.zeros(step.shape), radius * radius
    of_pairs = start_size(pairs, inverse, jobs) if pairs else 1.0
    np.negative(point.gradient, out=residual)
    direction[...] = eased = _eased(residual, pairs, inverse, of_pairs, objective)
    size = dot(residual, eased, jobs)
    del eased
    enough = eta * eta * size
    products = 0
    while size > enough and products < MOST_INNER:
        bent = objective.hvp(point, direction)
        products += 1
        curvature = dot(direction, bent, jobs)
        length = size / curvature if curvature > 0.0 else math.inf
        across, square = ridge_line_derivatives(metric, step, origin, direction, jobs)
        to_edge = _to_edge(within, across, square)
        if length >= to_edge:
            add(step, to_edge, direction, step, jobs)
            break
        within -= length * (2.0 * across + length * square)
        add(step, length, direction, step, jobs)
        add(residual, -length, bent, residual, jobs)
        if seen is not None:
            seen.add(direction, bent, curvature)
        del bent
        eased = _eased(residual, pairs, inverse, of_pairs, objective)
        before, size = size, dot(residual, eased, jobs)
        add(eased, size / before, direction, direction, jobs)
        del eased
    return step, products


def _eased(residual: Floats, pairs: Pairs, inverse: Floats, size: float, objective: Objective) -> Floats:
    eased = objective.buffers.empty(*residual.shape)
    if not pairs:
        return np.multiply(residual, inverse, out=eased)
    eased[...] = residual
    return two_loop(eased, pairs, inverse, objective.n_jobs, size)


def _to_edge(within: float, across: float, square: float) -> float:
    """Return the t >= 0 at which t^2 square + 2 t across, what t directions add to ||step||_M^2, is `within`."""
    return within / (across + math.sqrt(max(0.0, across * across + square * within))) if within > 0.0 else 0.0
