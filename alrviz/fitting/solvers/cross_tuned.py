"""Cross-tuning: the number of iterations that is best on validation rows.                                    [ELR] 4

    the training rows in five folds; each is held out in turn, and the others are fitted until the fit ends,
    or until the validation log loss has not been lower for PATIENCE_ITERATIONS iterations
    m = the median over the folds of the iteration with the lowest validation log loss
    m iterations on all training rows

Iterations of the folds' fits are steps of kind "search", with their losses in `extra`: "fold", "fold_iteration",
"fold_train_log_loss", "fold_train_error", "fold_heldout_log_loss", "fold_heldout_error"; per row. Later steps have m as
"tuned_stop".
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from statistics import median_low
from typing import TYPE_CHECKING, Any

import numpy as np

from alrviz.errors import plural
from alrviz.fitting.solvers.cg_brent import BrentGradients
from alrviz.fitting.solvers.state import Solver, SolverState, stalled
from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import Deadline

if TYPE_CHECKING:
    from alrviz.fitting.objectives.conditional import ConditionalObjective, ConditionalRows

FOLDS = 5
# Iterations without a lower validation log loss after which a fold's fit ends.
PATIENCE_ITERATIONS = 20
# A fold's fit ends when F falls by less than this share of itself.
MIN_DECREASE = 1e-6


@dataclass(frozen=True, eq=False)
class Fold:
    """A fold's fit: objective, validation rows, and the cost of its passes as a share of passes over all rows."""

    objective: "ConditionalObjective"
    heldout: "ConditionalRows"
    share: float


@dataclass(frozen=True, eq=False)
class Tuning:
    """The state of tuning: the current fold and its state, its lowest loss and when, and the choices of earlier
    folds.
    """

    chosen_iterations: tuple[int, ...] = ()  # best iteration of each earlier fold
    fold: Fold | None = None
    state: SolverState | None = None
    lowest: float = np.inf  # validation loss of the current fold
    best: int = 0  # its iteration


@dataclass(frozen=True, eq=False)
class TunedIterations:
    """The chosen number of iterations, the inner solver's carry, and a clause on folds that were not tried."""

    iterations: int
    carry: Any = None
    note: str = ""


@dataclass(frozen=True)
class CrossTuned(Solver):
    """A solver that first chooses its number of iterations. Carries a `Tuning`, then a `TunedIterations`.

    Args:
        solver: takes the steps.
        n_folds: number of folds, at most the number of rows.
        make: returns a fold's fit by its number.
        max_iter: limit of the folds' fits.
        deadline: ends the tuning; the iterations are then chosen by the folds so far.
    """

    solver: BrentGradients
    n_folds: int
    make: Callable[[int], Fold]
    max_iter: int
    deadline: Deadline

    def init(self, objective: "ConditionalObjective", w0: Floats) -> SolverState:
        """Return the state at the start point w0, shaped as the objective's weights."""
        carry = Tuning() if self.n_folds and self.max_iter else TunedIterations(self.max_iter)
        return replace(self.solver.init(objective, w0), carry=carry)

    def advance(self, objective: "ConditionalObjective", state: SolverState) -> SolverState:
        """Return the state after one iteration of a fold's fit, or of the fit of `objective` itself."""
        if isinstance(state.carry, Tuning):
            return self._tune(state, state.carry)
        n_iterations = state.carry.iterations
        note = f"cross-tuning chose {plural(n_iterations, 'iteration')}{state.carry.note}"
        if n_iterations == 0:
            return replace(stalled(state), kind="inner", note=f"{note}: the counted tables", extra={"tuned_stop": 0.0})
        next_state = self.solver.advance(objective, replace(state, carry=state.carry.carry))
        at_end = next_state.index >= n_iterations
        return replace(
            next_state,
            kind="inner",
            carry=replace(state.carry, carry=next_state.carry),
            stalled=next_state.stalled or at_end,
            note=note if at_end else next_state.note,
            extra={"tuned_stop": float(n_iterations)},
        )

    def _tune(self, state: SolverState, tuning: Tuning) -> SolverState:
        """Return the state after an iteration of a fold's fit; the best iteration of each fold is remembered."""
        fold = tuning.fold or self.make(len(tuning.chosen_iterations))
        previous = tuning.state
        if previous is None:
            inner_state, evaluations, passes = self.solver.init(fold.objective, fold.objective.start), 0, 0.0
        else:
            inner_state, evaluations, passes = (
                self.solver.advance(fold.objective, previous),
                previous.evaluations,
                previous.passes,
            )
        extra = _losses(fold, inner_state, len(tuning.chosen_iterations))
        loss, index = extra["fold_heldout_log_loss"], inner_state.index
        lowest, best_index = (loss, index) if loss < tuning.lowest else (tuning.lowest, tuning.best)
        has_ended = (
            inner_state.stalled
            or index >= self.max_iter
            or index - best_index >= PATIENCE_ITERATIONS
            or _is_flat(previous, inner_state)
        )
        carry: Tuning | TunedIterations = Tuning(tuning.chosen_iterations, fold, inner_state, lowest, best_index)
        if has_ended:
            iterations = (*tuning.chosen_iterations, best_index)
            carry = Tuning(iterations) if len(iterations) < self.n_folds else TunedIterations(median_low(iterations))
        if isinstance(carry, Tuning) and self.deadline.left < 0:
            iterations = carry.chosen_iterations or (best_index,)
            note = (
                f"; {plural(self.n_folds - len(iterations), 'fold was', 'folds were')} not tried, as the time was over"
            )
            carry = TunedIterations(median_low(iterations), note=note)
        return replace(
            state,
            evaluations=state.evaluations + inner_state.evaluations - evaluations,
            passes=state.passes + fold.share * (inner_state.passes - passes),
            kind="search",
            carry=carry,
            extra=extra,
        )


def _losses(fold: Fold, inner: SolverState, fold_number: int) -> dict[str, float]:
    """Return the losses of a fold's training and validation rows, as additional values of a step.

    inner: the state of the fold's fit; fold_number: reported with them.
    """
    sums, train_weight = inner.point.sums, fold.objective.total
    nll, wrong = fold.objective.loss_and_errors(inner.point.w, fold.heldout)
    heldout_weight = float(fold.heldout.weights.sum())
    return {
        "fold": float(fold_number),
        "fold_iteration": float(inner.index),
        "fold_train_log_loss": sums.nll / train_weight,
        "fold_train_error": sums.wrong / train_weight,
        "fold_heldout_log_loss": nll / heldout_weight,
        "fold_heldout_error": wrong / heldout_weight,
    }


def _is_flat(previous: SolverState | None, inner: SolverState) -> bool:
    return (
        previous is not None and previous.point.objective - inner.point.objective < MIN_DECREASE * inner.point.objective
    )
