"""Cross-tuning: how many iterations are best on rows that a fit has not seen.                                 [ELR] 4

    the training rows in five folds; each is held out in turn, and a fit of the others goes on until it ends,
    or until the held-out log loss has not been lower for PATIENCE iterations
    m = the median over the folds of the iteration at which the held-out log loss was lowest
    m iterations on all training rows

Iterations of the folds' fits are steps of kind "search", and their losses are in `extra`: "fold", "fold_iteration",
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

if TYPE_CHECKING:
    from alrviz.fitting.objectives.conditional import ConditionalObjective, ConditionalRows

FOLDS = 5
# Iterations without a lower held-out log loss after which a fold's fit is given up.
PATIENCE = 20
# A fit whose F falls by less than this share of itself has ended.
FLAT = 1e-6


@dataclass(frozen=True, eq=False)
class Fold:
    """A fold's fit: what is minimised, the rows held out, and the share of a pass over all rows that one of its is."""

    objective: "ConditionalObjective"
    heldout: "ConditionalRows"
    share: float


@dataclass(frozen=True, eq=False)
class Tuning:
    """Where tuning is: the fold at work and its state, the lowest loss there and when, and what earlier folds chose."""

    chosen: tuple[int, ...] = ()
    fold: Fold | None = None
    state: SolverState | None = None
    lowest: float = np.inf
    best: int = 0


@dataclass(frozen=True, eq=False)
class Tuned:
    """The number of iterations, and what the solver carries."""

    iterations: int
    carry: Any = None


@dataclass(frozen=True)
class CrossTuned(Solver):
    """A solver that first finds out how long to go on. Carries a `Tuning`, then a `Tuned`.

    Args:
        solver: takes the steps.
        n_folds: number of folds, at most that of the rows.
        make: a fold's fit by its number.
        max_iter: limit of the folds' fits.
    """

    solver: BrentGradients
    n_folds: int
    make: Callable[[int], Fold]
    max_iter: int

    def init(self, objective: "ConditionalObjective", w0: Floats) -> SolverState:
        """Return the state at the start point."""
        carry = Tuning() if self.n_folds and self.max_iter else Tuned(self.max_iter)
        return replace(self.solver.init(objective, w0), carry=carry)

    def advance(self, objective: "ConditionalObjective", state: SolverState) -> SolverState:
        """Return the state after one iteration of a fold's fit, or of the fit itself."""
        if isinstance(state.carry, Tuning):
            return self._tune(state, state.carry)
        m = state.carry.iterations
        note = f"cross-tuning chose {plural(m, 'iteration')}"
        if m == 0:
            return replace(stalled(state), kind="inner", note=f"{note}: the counted tables", extra={"tuned_stop": 0.0})
        new = self.solver.advance(objective, replace(state, carry=state.carry.carry))
        at_end = new.index >= m
        return replace(
            new,
            kind="inner",
            carry=Tuned(m, new.carry),
            stalled=new.stalled or at_end,
            note=note if at_end else new.note,
            extra={"tuned_stop": float(m)},
        )

    def _tune(self, state: SolverState, tuning: Tuning) -> SolverState:
        fold = tuning.fold or self.make(len(tuning.chosen))
        before = tuning.state
        if before is None:
            inner, spent, passes = self.solver.init(fold.objective, fold.objective.start), 0, 0.0
        else:
            inner, spent, passes = self.solver.advance(fold.objective, before), before.evaluations, before.passes
        extra = _losses(fold, inner, len(tuning.chosen))
        loss, index = extra["fold_heldout_log_loss"], inner.index
        lowest, best = (loss, index) if loss < tuning.lowest else (tuning.lowest, tuning.best)
        ended = inner.stalled or index >= self.max_iter or index - best >= PATIENCE or _flat(before, inner)
        after: Tuning | Tuned = Tuning(tuning.chosen, fold, inner, lowest, best)
        if ended:
            chosen = (*tuning.chosen, best)
            after = Tuning(chosen) if len(chosen) < self.n_folds else Tuned(median_low(chosen))
        return replace(
            state,
            evaluations=state.evaluations + inner.evaluations - spent,
            passes=state.passes + fold.share * (inner.passes - passes),
            kind="search",
            carry=after,
            extra=extra,
        )


def _losses(fold: Fold, inner: SolverState, number: int) -> dict[str, float]:
    sums, total = inner.point.sums, fold.objective.total
    nll, wrong = fold.objective.loss_and_errors(inner.point.w, fold.heldout)
    held = float(fold.heldout.weights.sum())
    return {
        "fold": float(number),
        "fold_iteration": float(inner.index),
        "fold_train_log_loss": sums.nll / total,
        "fold_train_error": sums.wrong / total,
        "fold_heldout_log_loss": nll / held,
        "fold_heldout_error": wrong / held,
    }


def _flat(before: SolverState | None, inner: SolverState) -> bool:
    return before is not None and before.point.objective - inner.point.objective < FLAT * inner.point.objective
