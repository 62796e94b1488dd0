"""When a fit has ended, and the sentence that says so."""

import math
from collections import deque
from typing import Any

import numpy as np

from alrviz.fitting.objectives.protocol import ObjectiveProtocol
from alrviz.fitting.solvers import SolverState
from alrviz.fitting.solvers.step import CONVERGED, DIVERGED, FAILED, SEPARATED, STEP_LIMIT, Outcome
from alrviz.passes.rows import Floats

# Over how many steps the decrease is judged: one lucky short step ends nothing.
WINDOW = 5
# NLL per row under which a perfectly led training set counts as separated.
SEPARATED_NLL = 1e-6
# Scores recomputed from the weights may differ from those kept by this much, relative to the largest.
SCORES_AGREE = 1e-9
_END_OF_PRECISION = "no step lowers F any further within the precision of floating point"


class ConvergenceTest:
    """Looks at every state of one fit; remembers the last few values of what is judged: F, or what stands for it.

    The limit is one of steps, or, of a table read in batches, of passes beyond those `spent` before the first step.

    Converged means: F fell by less than tol (relative) over 5 steps, and max |dF/dw| / (|scale| N) < sqrt(tol). A step
    with an inner loop, such as tron's, counts as many steps as that has turns, each with its share of the fall: one of
    40 is no lucky short step, and to gain tol in 40 is no reason to go on.
    """

    def __init__(self, objective: ObjectiveProtocol, max_iter: int, tol: float, spent: float | None = None):
        self._spent = spent
        self._objective = objective
        self._max_iter = max_iter
        self._tol = tol
        self._turns = 0
        self._values: deque[tuple[int, float]] = deque()

    @property
    def kept(self) -> Floats:
        """What is remembered, (k, 2): turns and the value after them."""
        return np.array(self._values, float).reshape(-1, 2)

    def resume(self, kept: Floats) -> None:
        """Remember what was `kept` (k, 2) when the state was judged that will be judged next."""
        self._values = deque((int(turns), value) for turns, value in kept[:-1].tolist())
        self._turns = int(kept[-1, 0]) - 1

    def verdict(self, state: SolverState) -> Outcome | None:
        """Return why the fit ends at `state`, or None if it goes on."""
        point: Any = state.point  # the objective's own kind
        total = self._objective.total
        if not math.isfinite(point.objective):
            return Outcome(DIVERGED, f"the objective is no longer a finite number at step {state.index}")
        if state.kind == "search":
            return None
        self._turns += state.turns
        self._values.append((self._turns, self._objective.monitored(point)))
        if self._max_iter == 0:
            return Outcome(CONVERGED, "nothing was to be fitted: these are the weights of the start")
        # with a penalty or between bounds there is an optimum also on separated data, and the fit is on its way there
        free = not np.any(self._objective.alpha) and self._objective.bounds is None
        if free and point.sums.tied == 0.0 and point.sums.nll < SEPARATED_NLL * total:
            return Outcome(SEPARATED, "every training row is classified right and its loss is 0 to six digits: "
                           "no finite optimum exists, weights would grow without end")  # fmt: skip
        if self._flat() and self._objective.criterion(point) < math.sqrt(self._tol):
            what = self._objective.monitored_name
            return Outcome(CONVERGED, f"{what} fell by less than {self._tol:g} of itself over {WINDOW} steps "
                           "and its slopes are small")  # fmt: skip
        if state.stalled:
            return Outcome(CONVERGED, state.note or _END_OF_PRECISION)
        taken, what = (state.index, "steps") if self._spent is None else (state.passes - self._spent, "passes")
        if taken >= self._max_iter:
            return Outcome(STEP_LIMIT, f"max_iter={self._max_iter} {what} were taken and {self._unrest()}")
        return None

    def _unrest(self) -> str:
        """What the last steps did: a stochastic solver, or one of several goals, may raise what is judged."""
        falls = self._values[-1][1] < self._values[0][1]
        return f"{self._objective.monitored_name} was {'still falling' if falls else 'not at rest'}"

    def _flat(self) -> bool:
        since = self._turns - WINDOW
        while len(self._values) > 1 and self._values[1][0] <= since:
            self._values.popleft()
        (turns, first), last = self._values[0], self._values[-1][1]
        if since < turns:
            return False
        if since > turns:  # within a step: its inner loop is spread evenly
            after, second = self._values[1]
            first += (second - first) * (since - turns) / (after - turns)
        return first - last < self._tol * max(abs(last), 1e-300)

    def confirm(self, outcome: Outcome, state: SolverState) -> Outcome:
        """Return `outcome`, or a failure if the scores kept are not those of the weights."""
        if outcome.code == DIVERGED:
            return outcome
        fresh = self._objective.scores(state.point.w)[:, : self._objective.n_classes]
        kept = state.point.z[:, : self._objective.n_classes]
        size = _largest(fresh)
        fresh -= kept  # in place: one more array of scores would be the most memory a fit ever takes
        apart = _largest(fresh) / max(1.0, size)
        if apart <= SCORES_AGREE:
            return outcome
        return Outcome(FAILED, f"scores kept along the run and recomputed from the weights differ by {apart:.1e}")


def _largest(values: Floats) -> float:
    """Return the largest absolute value; NaN if there is one."""
    return float(np.maximum(values.max(initial=0.0), -values.min(initial=0.0)))
