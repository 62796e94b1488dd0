"""What every solver shares: the state between two iterations, what a driver asks of a solver, a step along a line.

A `SolverState` is a value: `advance` returns a new one and never writes into the old; unchanged arrays are shared.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from alrviz.errors import RecipeError
from alrviz.fitting.objectives.ridge import Objective, Point
from alrviz.fitting.solvers.line_minimum import ROUNDING, exact_step
from alrviz.passes.rows import Floats

# Scores drift from their weights by rounding as they move along lines; they are recomputed at every step index that is
# a multiple of this, never because a run pauses or ends, so that the first k steps of any run are the same.
REFRESH = 50


@dataclass(frozen=True, eq=False)
class SolverState:
    """A solver between two iterations.

    Attributes:
        index: iteration number; trial fits before the first iteration do not count.
        point: weights, scores, F and gradient.
        evaluations, passes: what was spent since the start, cumulative. A Hessian-vector product is a pass and no
            evaluation.
        step_size: of the last step.
        turns: what the last step counts for when the decrease of F is judged: the turns of its inner loop, if any.
        carry: what the solver itself needs for the next step; each solver says what.
        stalled: the solver cannot go on: no step lowers F any further within floating point, or `note` says why.
        note: a sentence for the outcome.
        kind: as in `Step`.
        extra: further numbers for the report.
    """

    index: int
    point: Point
    evaluations: int
    passes: float
    step_size: float = 0.0
    turns: int = 1
    carry: Any = field(default=None, repr=False)
    stalled: bool = False
    note: str = ""
    kind: str = "inner"
    extra: Mapping[str, float] = field(default_factory=dict)

    def released(self) -> "SolverState":
        """Return the state of a run that has ended, without `carry`, which is closed if it can be."""
        close = getattr(self.carry, "close", None)
        if close is not None:
            close()
        return replace(self, carry=None)


class Solver(Protocol):
    """What a driver needs of a solver."""

    def init(self, objective: Any, w0: Floats) -> SolverState:
        """Return the state at the start point w0, shaped as the objective's weights."""

    def advance(self, objective: Any, state: SolverState) -> SolverState:
        """Return the state one iteration later."""

    def kept(self, objective: Any, state: SolverState) -> Mapping[str, Any]:
        """Return what a fit goes on from in another process, as arrays and numbers; {} where it cannot."""
        return {}

    def resumed(self, objective: Any, kept: Mapping[str, Any]) -> SolverState:
        """Return the state that `kept` was made of; `RecipeError` where the solver cannot be resumed."""
        raise RecipeError(f"{type(self).__name__} does not go on from what another process kept")

    def chosen(self, state: SolverState) -> Mapping[str, Any]:
        """Return the recipe's parameters that it has chosen by now, by name."""
        return {}

    def look(self, objective: Any, state: SolverState) -> SolverState:
        """Return the state with a point to report, where going on needs none; nobody's time and passes count it."""
        return state


def start(objective: Objective, w0: Floats) -> SolverState:
    """Return the state at `w0`, shaped as the objective's weights."""
    return SolverState(0, objective.value_grad(w0), 1, 1.0)


def line_search_step(
    objective: Objective,
    state: SolverState,
    direction: Floats,
    guess: float | None,
    share: float = 1.0,
    untried: bool = True,
) -> tuple[SolverState, bool]:
    """Return the state after the search along `direction`, shaped as w, carrying nothing, and whether F falls.

    If it does not, the state is the one given, charged with what the search took.
    `share` of the step that is found is gone; all of it where F is not convex and may be higher on the way.
    `untried`: the step may be a predicted one. Where F proves higher there all is done again with trials.
    """
    line, convex = objective.line_along(state.point, direction, guess), objective.loss.convex
    t, trials = exact_step(line, guess, convex, untried, objective.slope_reduction) if line.slope < 0.0 else (0.0, 0)
    if t == 0.0:
        return replace(state, evaluations=state.evaluations + trials, passes=state.passes + 0.5), False
    t *= share if convex else 1.0
    point, evaluations, passes = line.move(t), state.evaluations + trials + 1, state.passes + 1.0
    high = not point.objective <= line.value * (1.0 + math.copysign(ROUNDING, line.value))
    del line  # scores as many as the rows: what follows takes its room, and that of a point that is given up
    if untried and high:
        del point
        return line_search_step(
            objective, replace(state, evaluations=evaluations, passes=passes), direction, guess, share, False
        )
    index = state.index + 1
    if index % REFRESH == 0:
        w = point.w
        del point
        point, evaluations, passes = objective.value_grad(w), evaluations + 1, passes + 1.0
    return SolverState(index, point, evaluations, passes, t), True


def stalled(state: SolverState) -> SolverState:
    """Return the state that says that no step lowers F."""
    return replace(state, index=state.index + 1, step_size=0.0, stalled=True)
