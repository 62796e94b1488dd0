"""Solvers: frozen configurations with `init` and `advance`; the driver owns loop, clock, limits and log.

    lbfgs   d = -H g by the two-loop recursion, H0 = (s.y / y.y) I of the last pair
    gd      d = -g

Both search exactly along the line (line.py), so that one iteration is one forward and one scatter pass and a few
trials. A `State` is a value: `advance` returns a new one and never writes into the old, arrays that did not change are
shared.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from alrviz.errors import RecipeError, nearest
from alrviz.fitting.line import exact_step
from alrviz.fitting.objective import LinearObjective, Point, dot
from alrviz.passes.rows import Floats

# Scores drift from their weights by rounding as they move along lines; they are recomputed at every step index that is
# a multiple of this, never because a run pauses or ends, so that the first k steps of any run are the same.
REFRESH = 50


@dataclass(frozen=True, eq=False)
class State:
    """A solver between two iterations.

    Attributes:
        index: iteration number.
        point: weights, scores, F and gradient.
        evaluations, passes: what was spent since the start, cumulative.
        step_size: of the last step.
        pairs: L-BFGS corrections (s, y, 1 / s.y), oldest first.
        stalled: no step along the last direction lowers F: the end of floating point.
    """

    index: int
    point: Point
    evaluations: int
    passes: float
    step_size: float = 0.0
    pairs: tuple[tuple[Floats, Floats, float], ...] = field(default=(), repr=False)
    stalled: bool = False


class Solver(Protocol):
    """What a driver needs of a solver."""

    needs: frozenset[str]

    def init(self, objective: Any, w0: Floats) -> State:
        """Return the state at the start point."""

    def advance(self, objective: Any, state: State) -> State:
        """Return the state one iteration later."""


def iterate(solver: Solver, objective: LinearObjective, w0: Floats) -> Iterator[State]:
    """Yield the state at `w0`, then one state an iteration, without end."""
    state = solver.init(objective, w0)
    while True:
        yield state
        state = solver.advance(objective, state)


def start(objective: LinearObjective, w0: Floats) -> State:
    """Return the state at `w0`."""
    return State(0, objective.value_grad(w0), 1, 1.0)


def _step(objective: LinearObjective, state: State, direction: Floats, guess: float | None) -> State | None:
    """Move along `direction`; None if F does not fall."""
    line = objective.along(state.point, direction)
    t, trials = exact_step(line, guess) if line.slope < 0.0 else (0.0, 0)
    if t == 0.0:
        return None
    point, evaluations, passes = line.move(t), state.evaluations + trials + 1, state.passes + 1.0
    index = state.index + 1
    if index % REFRESH == 0:
        point, evaluations, passes = objective.fresh(point), evaluations + 1, passes + 1.0
    return State(index, point, evaluations, passes, t)


def _stalled(state: State) -> State:
    return State(state.index + 1, state.point, state.evaluations, state.passes, 0.0, state.pairs, True)


@dataclass(frozen=True)
class GradientDescent:
    """Steepest descent in w with the exact search along the line."""

    needs = frozenset({"value_grad", "along"})

    def init(self, objective: LinearObjective, w0: Floats) -> State:
        """Return the state at the start point."""
        return start(objective, w0)

    def advance(self, objective: LinearObjective, state: State) -> State:
        """Return the state one iteration later."""
        return _step(objective, state, -state.point.gradient, None) or _stalled(state)


@dataclass(frozen=True)
class LBFGS:
    """Limited-memory BFGS.

    Args:
        memory: number of corrections kept.
    """

    memory: int = 10
    needs = frozenset({"value_grad", "along"})

    def init(self, objective: LinearObjective, w0: Floats) -> State:
        """Return the state at the start point."""
        return start(objective, w0)

    def advance(self, objective: LinearObjective, state: State) -> State:
        """Return the state one iteration later; a direction that fails is tried again as steepest descent."""
        gradient = state.point.gradient
        new = None
        if state.pairs:
            new = _step(objective, state, -two_loop(gradient, state.pairs), 1.0)
        pairs = state.pairs if new is not None else ()
        if new is None:
            new = _step(objective, state, -gradient, None)
        if new is None:
            return _stalled(state)
        s, y = new.point.w - state.point.w, new.point.gradient - gradient
        product = dot(s, y)
        if product > 1e-14 * dot(y, y) ** 0.5 * dot(s, s) ** 0.5:  # rounding alone can make it 0 or negative
            pairs = (*pairs, (s, y, 1.0 / product))[-self.memory :]
        return State(new.index, new.point, new.evaluations, new.passes, new.step_size, pairs)


def two_loop(gradient: Floats, pairs: tuple[tuple[Floats, Floats, float], ...]) -> Floats:
    """Return H g, H the inverse Hessian that the pairs approximate (Nocedal and Wright, algorithm 7.4)."""
    q = gradient.copy()
    room = np.empty_like(q)  # for products: a new array of some MB costs more than filling it
    coefficients = []
    for s, y, rho in reversed(pairs):
        a = rho * dot(s, q)
        q -= np.multiply(y, a, out=room)
        coefficients.append(a)
    _, y, rho = pairs[-1]
    q *= 1.0 / (rho * dot(y, y))
    for (s, y, rho), a in zip(pairs, reversed(coefficients), strict=True):
        q += np.multiply(s, a - rho * dot(y, q), out=room)
    return q


SOLVERS: dict[str, Callable[[int], Solver]] = {
    "lbfgs": LBFGS,
    "gd": lambda memory: GradientDescent(),
}


def make_solver(name: str, memory: int, objective: LinearObjective) -> Solver:
    """Return the solver of that name; raises `RecipeError`, naming those that fit, if the objective lacks its needs."""
    solver = SOLVERS[name](memory)
    lacking = solver.needs - objective.offers
    if lacking:
        fit = [other for other, make in SOLVERS.items() if make(memory).needs <= objective.offers]
        raise RecipeError(f"solver={name!r} needs {', '.join(sorted(lacking))}, which this objective has not; "
                          f"expected one of {', '.join(map(repr, fit))}{nearest(name, fit)}")  # fmt: skip
    return solver
