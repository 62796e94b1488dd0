"""What solvers share: the state between two iterations, the interface for drivers, and a step along a line.

A `SolverState` is a value: `advance` returns a new one and never writes into the old; unchanged arrays are shared.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from alrviz.errors import RecipeError
from alrviz.fitting.fit_settings import Params
from alrviz.fitting.objectives.ridge import Objective, Point
from alrviz.fitting.solvers.line_minimum import ROUNDING_TOL, exact_step
from alrviz.passes.rows import Floats

# Scores drift from their weights by rounding as they move along lines. They are recomputed at steps whose index is a
# multiple of this, and not when a run pauses or ends, so that the first k steps of any run are the same.
REFRESH_STEPS = 50


@dataclass(frozen=True, eq=False)
class SolverState:
    """A solver between two iterations.

    Attributes:
        index: iteration number; trial fits before the first iteration do not count.
        point: weights, scores, F and gradient.
        evaluations, passes: since the start, cumulative. A Hessian-vector product is a pass and no
            evaluation.
        step_size: of the last step.
        turns: turns of the last step's inner loop, if any; the convergence test counts them as steps.
        carry: what the solver needs for its next step.
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
    """The interface of a solver for drivers."""

    def init(self, objective: Any, w0: Floats) -> SolverState:
        """Return the state at the start point w0, shaped as the objective's weights."""
        return SolverState(0, objective.value_grad(w0), 1, 1.0)

    def advance(self, objective: Any, state: SolverState) -> SolverState:
        """Return the state one iteration of minimising `objective` later."""

    def checkpoint(self, objective: Any, state: SolverState) -> Mapping[str, Any]:
        """Return the arrays and numbers from which a fit of `objective` can be resumed in another process; {} if it
        cannot.
        """
        return {}

    def resume(self, objective: Any, checkpoint: Mapping[str, Any]) -> SolverState:
        """Return the state of a checkpoint of a fit of `objective`; raise `RecipeError` if the solver cannot be
        resumed.
        """
        raise RecipeError(f"{type(self).__name__} cannot be resumed by another process")

    def chosen_params(self, state: SolverState) -> Params:
        """Return the recipe's parameters that the solver has chosen by now, by name."""
        return {}

    def with_report_point(self, objective: Any, state: SolverState) -> SolverState:
        """Return the state with a point to report, if steps do not compute one; it costs no counted time or passes."""
        return state


def line_search_step(
    objective: Objective,
    state: SolverState,
    direction: Floats,
    guess: float | None,
    share: float = 1.0,
    untried: bool = True,
) -> tuple[SolverState, bool]:
    """Return the state after a line search along `direction` (shaped as w), with `carry` None, and whether F fell.

    If it did not, the given state, `carry` included, with the search's cost added. guess: first length that is tried;
    None for Newton's. share: the share of the step to the minimum that is taken; where F is not convex, and may be
    higher on the way, the whole step is. untried: whether a predicted length may be taken without evaluating F there
    first; if F then turns out higher, the search is repeated with trials.
    """
    line, convex = objective.line_along(state.point, direction, guess), objective.loss.convex
    t, trials = exact_step(line, guess, convex, untried, objective.slope_reduction) if line.slope < 0.0 else (0.0, 0)
    if t == 0.0:
        return replace(state, evaluations=state.evaluations + trials, passes=state.passes + 0.5), False
    t *= share if convex else 1.0
    point, evaluations, passes = line.move(t), state.evaluations + trials + 1, state.passes + 1.0
    is_higher = not point.objective <= line.value * (1.0 + math.copysign(ROUNDING_TOL, line.value))
    del line  # it holds as many scores as there are rows: free them for what follows
    if untried and is_higher:
        del point
        return line_search_step(
            objective, replace(state, evaluations=evaluations, passes=passes), direction, guess, share, False
        )
    index = state.index + 1
    if index % REFRESH_STEPS == 0:
        w = point.w
        del point
        point, evaluations, passes = objective.value_grad(w), evaluations + 1, passes + 1.0
    return SolverState(index, point, evaluations, passes, t), True


def stalled(state: SolverState) -> SolverState:
    """Return the state of a fit that no step can improve."""
    return replace(state, index=state.index + 1, step_size=0.0, stalled=True)
