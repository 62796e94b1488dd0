"""The test that ends a fit, and the sentence that says why."""

import math
from collections import deque
from typing import Any

import numpy as np

from alrviz.fitting.objectives.ridge import FitObjective
from alrviz.fitting.solvers.state import SolverState
from alrviz.fitting.solvers.step import CONVERGED, DIVERGED, FAILED, SEPARATED, STEP_LIMIT, Outcome
from alrviz.passes.rows import Floats

# Steps over which the decrease is measured, so that one short step does not end a fit.
WINDOW_STEPS = 5
# NLL per row below which a training set without errors counts as separated.
SEPARATED_NLL = 1e-6
# The relative difference allowed between scores kept along the run and scores recomputed from the weights.
SCORES_TOL = 1e-9
_NO_DECREASE = "no step lowers F any further within the precision of floating point"


class ConvergenceTest:
    """Tests every state of one fit, from the last few values of the monitored objective (F, or its substitute).

    The limit counts steps or, for a table read in batches, passes, beyond those before the first step.

    Converged means: F fell by less than tol (relative) over 5 steps, and max |dF/dw| / (|scale| N) < sqrt(tol). A step
    with an inner loop, such as tron's, counts as many steps as the loop has turns, each with its share of the decrease:
    one step of 40 turns is not a short one, and a gain of tol in 40 turns is no reason to go on.
    """

    def __init__(self, objective: FitObjective, max_iter: int, tol: float, spent: float | None = None):
        self._spent = spent
        self._objective = objective
        self._max_iter = max_iter
        self._tol = tol
        self._turns = 0
        self._values: deque[tuple[int, float]] = deque()

    @property
    def history(self) -> Floats:
        """The monitored values, (k, 2): turns and the value after them."""
        return np.array(self._values, float).reshape(-1, 2)

    def resume(self, history: Floats) -> None:
        """Restore the `history` (k, 2) of the state that will be tested next."""
        self._values = deque((int(turns), value) for turns, value in history[:-1].tolist())
        self._turns = int(history[-1, 0]) - 1

    def verdict(self, state: SolverState) -> Outcome | None:
        """Return why the fit ends at `state`, or None if it goes on."""
        point: Any = state.point  # the objective's own kind
        total_weight = self._objective.total
        if not math.isfinite(point.objective):
            return Outcome(DIVERGED, f"the objective is no longer a finite number at step {state.index}")
        if state.kind == "search":
            return None
        self._turns += state.turns
        self._values.append((self._turns, self._objective.monitored_value(point)))
        if self._max_iter == 0:
            return Outcome(CONVERGED, "nothing was to be fitted: these are the weights of the start")
        # with a penalty or bounds separated data have an optimum too, which the fit approaches
        unbounded = not np.any(self._objective.alpha) and self._objective.bounds is None
        if unbounded and point.sums.tied == 0.0 and point.sums.nll < SEPARATED_NLL * total_weight:
            return Outcome(SEPARATED, "every training row is classified right and its loss is 0 to six digits: "
                           "no finite optimum exists, weights would grow without end")  # fmt: skip
        if self._is_flat() and self._objective.criterion(point) < math.sqrt(self._tol):
            monitored = self._objective.monitored_name
            return Outcome(CONVERGED, f"{monitored} fell by less than {self._tol:g} of itself over {WINDOW_STEPS} "
                           "steps and its slopes are small")  # fmt: skip
        if state.stalled:
            return Outcome(CONVERGED, state.note or _NO_DECREASE)
        n_taken, unit = (state.index, "steps") if self._spent is None else (state.passes - self._spent, "passes")
        if n_taken >= self._max_iter:
            return Outcome(STEP_LIMIT, f"max_iter={self._max_iter} {unit} were taken and {self._trend_text()}")
        return None

    def _trend_text(self) -> str:
        """Return whether the monitored value fell over the last steps, in words.

        Stochastic solvers, or several objectives, may raise it.
        """
        is_falling = self._values[-1][1] < self._values[0][1]
        return f"{self._objective.monitored_name} was {'still falling' if is_falling else 'not settled'}"

    def _is_flat(self) -> bool:
        """Return whether the objective fell by less than `tol` of itself over the last WINDOW_STEPS steps."""
        window_start = self._turns - WINDOW_STEPS
        while len(self._values) > 1 and self._values[1][0] <= window_start:
            self._values.popleft()
        (first_turns, first_value), last_value = self._values[0], self._values[-1][1]
        if window_start < first_turns:
            return False
        if window_start > first_turns:  # within a step: its inner loop is spread evenly
            next_turns, next_value = self._values[1]
            first_value += (next_value - first_value) * (window_start - first_turns) / (next_turns - first_turns)
        return first_value - last_value < self._tol * max(abs(last_value), 1e-300)

    def confirm(self, outcome: Outcome, state: SolverState) -> Outcome:
        """Return `outcome`, or a failure if the scores kept along the run differ from those of the weights."""
        if outcome.code == DIVERGED:
            return outcome
        difference = self._objective.scores(state.point.w)[:, : self._objective.n_classes]
        stored_z = state.point.z[:, : self._objective.n_classes]
        scale = _largest(difference)
        difference -= stored_z  # in place: another array of scores would be the peak of a fit's memory
        relative = _largest(difference) / max(1.0, scale)
        if relative <= SCORES_TOL:
            return outcome
        return Outcome(FAILED, f"scores kept along the run and recomputed from the weights differ by {relative:.1e}")


def _largest(values: Floats) -> float:
    """Return the largest absolute value; NaN if there is one."""
    return float(np.maximum(values.max(initial=0.0), -values.min(initial=0.0)))
