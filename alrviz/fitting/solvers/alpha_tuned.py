"""alpha="auto": fits that are judged by validation rows, and a solver that finds its penalties before it begins.

    dL/da_g = - sum over the weights of order g of  u * ridge * (w - center),        H u = dL/dw

L is the log loss of validation rows and a the logarithms of the alphas; they are chosen by `choose_alpha.Descent`. Each
fold's fit goes on from its own weights at the nearest alphas that it was tried at, over cells or, of few rows, over
what these share (row_space.py). H is the Hessian of the fit's F at its minimum, and u takes one run of conjugate
gradients a fold, whatever the number of alphas. The intercepts go with the smallest.

Each trial of alphas is a step of kind "search"; it has "alpha_1", ..., "alpha_n", "search_log_loss" and "search_folds"
(of how many) in `extra`. Later steps have the alphas that were chosen.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from alrviz.fitting.solvers.choose_alpha import Candidate, Descent, Fold, Search, named_alphas, row_losses
from alrviz.fitting.solvers.convergence_test import ConvergenceTest
from alrviz.fitting.solvers.row_space import Shared, SharedRows, combined, times
from alrviz.fitting.solvers.state import Solver, SolverState
from alrviz.fitting.solvers.tron import Tron, inverted, newton_step
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.rows import Rows
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.fitting.objectives.linear import LinearObjective

# Fits are only compared: differences between alphas are larger than what is left to fall, but not those between orders.
# (adult, 39,073 rows: order 2 was .2736 with TOL and .2696 with CLOSE at the same alphas, order 1 .2720 and .2716.)
TOL, STEPS, CLOSE = 1e-3, 60, 1e-4
# How far u is solved. Where alphas are small what it lacks last is what counts: on balance-scale, smooth levels, alphas
# .001 and 1, the slope and the true one have a cosine of .12 with .3, .60 with .1, .997 with .03. (Passes of the search
# and held-out log loss, n = 2, with .3 and .03: balance-scale 1,147 for .108, 1,854 for .056; car 1,189 for .058, 1,212
# for .054; nursery 1,566, 1,197; magic 800, 943, the same; adult 170 for .2699, 259 for .2685.)
SOLVED = 0.03
KEPT = 3  # ends of fits that others may go on from
ENOUGH = 1e-4  # of a fit by what rows share: by which share of F a step must lower it


@dataclass(eq=False)
class AlphaFold:
    """A fit by passes over rows and cells, which begins at the weights w; `ends` has where it came to, by alphas."""

    objective: "LinearObjective"
    heldout: Rows
    w: Floats
    ends: dict[tuple[float, ...], Floats] = field(default_factory=dict)

    @property
    def weights(self) -> Floats:
        """(m,) how often each row that judges counts."""
        return self.heldout.weights

    def evaluate(
        self, value: Floats, sloped: bool, stop: StopToken, close: bool = False
    ) -> tuple[Floats, Floats, float]:
        """As `Fold` says; `close`: to CLOSE."""
        objective, ends, alpha = self.objective, self.ends, value
        nearest = min(ends, key=lambda end: float(np.sum(np.log(end / alpha) ** 2)), default=None)
        objective.penalise(tuple(alpha.tolist()) if len(alpha) > 1 else float(alpha[0]))
        solver, judge = Tron(most_start=STEPS // 2), ConvergenceTest(objective, STEPS, CLOSE if close else TOL)
        state = solver.init(objective, self.w if nearest is None else ends[nearest])
        while judge.verdict(state) is None:
            stop.check()
            state = solver.advance(objective, state)
        share = objective.rows.n_rows / max(1, objective.rows.n_rows + self.heldout.n_rows)
        w, spent, slope = state.point.w, state.passes, np.zeros(len(alpha))
        ends.pop(at := tuple(alpha.tolist()), None)
        while len(ends) >= KEPT:
            del ends[next(iter(ends))]
        ends[at] = w
        losses = row_losses(objective, w, self.heldout)
        if sloped:
            down = objective.slopes_on(w, self.heldout)
            inverse = inverted(objective.hessian_diagonal(state.point))
            step, products = newton_step(objective, replace(state.point, gradient=down), inverse, np.inf, SOLVED)
            spent += products  # the step is -u
            slope = _by_order(step * objective.ridge * (w - objective.center), objective, alpha)
        return losses, slope, share * spent


@dataclass(eq=False)
class RowFold:
    """A fit by what rows share (see row_space.py): `fit` of those that are learned from, and what each of those that
    judge, (orders, m, n), shares with them; y and weights (m,) are of these.
    """

    fit: SharedRows
    by_order: Shared
    y: NDArray[np.integer]
    weights: Floats

    def evaluate(
        self, value: Floats, sloped: bool, stop: StopToken, close: bool = False
    ) -> tuple[Floats, Floats, float]:
        """As `Fold` says; never closer than ENOUGH."""
        fit, rows, alpha = self.fit, np.arange(len(self.y)), value
        _, taken = fit.fit(alpha.tolist(), ENOUGH)
        matrix = combined(self.by_order, alpha.tolist())
        z = fit.offset[:, None] + times(matrix, fit.a, fit.n_jobs)
        top, slope = logsumexp(z, axis=0), np.zeros(len(alpha))
        if sloped:
            down = np.exp(z - top)
            down[self.y, rows] -= 1.0
            down *= self.weights
            for g in range(len(alpha)):
                least = 0.5 / alpha[g] * (g == alpha.argmin())  # the intercepts'
                share, each = np.float32(-0.5 / alpha[g]), np.float32(-least)
                own, judged = (of[g] * share + each for of in (fit.by_order, self.by_order))
                slope[g] = np.vdot(down, times(judged, fit.a, fit.n_jobs) + times(matrix, fit.slope(own), fit.n_jobs))
        return top - z[self.y, rows], slope, taken / (1.0 + len(rows) / len(fit.y))


@dataclass(frozen=True)
class ChosenAlpha:
    """The alphas that were chosen, and what the solver carries."""

    alpha: tuple[float, ...]
    carry: object = None


@dataclass(frozen=True, eq=False)
class Searching:
    """What the solver carries while it searches. (A bare generator would be closed where a run that ended is released,
    perhaps by another thread in the middle of a trial, which Python refuses.)
    """

    trials: Search


@dataclass(frozen=True)
class AlphaTuned(Solver):
    """A solver that first finds the penalty. Carries a `Searching`, then a `ChosenAlpha`.

    Args:
        solver: takes the steps.
        make: the folds; none where there are too few rows to hold some out.
        strategy: finds the alphas.
        fallback: the alpha of all orders where nothing can be held out.
        stop: ends it.
        first: the weights from which the fit at the alphas that were chosen begins; None for those of its start.
    """

    solver: Solver
    make: Callable[[], Iterable[Fold]]
    strategy: Descent
    fallback: float
    stop: StopToken = NEVER
    first: Callable[[Sequence[float]], Floats | None] = lambda alpha: None

    def init(self, objective: "LinearObjective", w0: Floats) -> SolverState:
        """Return the state at the start point."""
        return replace(self.solver.init(objective, w0), carry=Searching(self.trials()))

    def trials(self) -> Search:
        """Yield alphas as they are tried, and return the best; None where nothing can be held out."""
        best: Candidate | None = yield from self.strategy.search(self.make(), self.stop)
        return best

    def advance(self, objective: "LinearObjective", state: SolverState) -> SolverState:
        """Return the state after one trial of alphas, or after an iteration of the fit at those that were chosen."""
        if not isinstance(state.carry, ChosenAlpha):
            try:
                trial = next(state.carry.trials)
            except StopIteration as end:
                best: Candidate | None = end.value
                alpha = (self.fallback,) * self.strategy.n_alphas if best is None else best.values
                return self._begun(objective, state, alpha)
            return replace(
                state, passes=state.passes + trial.passes, kind="search",
                extra={**trial.named, "search_log_loss": trial.loss, "search_folds": trial.folds},
            )  # fmt: skip
        tuned = state.carry
        new = self.solver.advance(objective, replace(state, carry=tuned.carry))
        return replace(
            new, kind="inner", carry=replace(tuned, carry=new.carry), extra={**new.extra, **named_alphas(tuned.alpha)}
        )

    def chosen(self, state: SolverState) -> dict[str, object]:
        """Return the alpha of the recipe, once it is known."""
        if not isinstance(state.carry, ChosenAlpha):
            return {}
        return {"alpha": state.carry.alpha if self.strategy.n_alphas > 1 else state.carry.alpha[0]}

    def _begun(self, objective: "LinearObjective", state: SolverState, alpha: tuple[float, ...]) -> SolverState:
        objective.penalise(alpha if self.strategy.n_alphas > 1 else alpha[0])
        w = self.first(alpha)
        first = self.solver.init(objective, state.point.w if w is None else w)
        spent = replace(
            first, index=state.index, evaluations=state.evaluations + 1, passes=state.passes + 1.0,
            carry=ChosenAlpha(alpha, first.carry),
        )  # fmt: skip
        return self.advance(objective, spent)


def _by_order(each: Floats, objective: "LinearObjective", alpha: Floats) -> Floats:
    """Sums (G,) over the weights of each alpha; the intercepts' go to the smallest."""
    if len(alpha) == 1:
        return np.array([each.sum()])
    order = objective.parameterisation.orders_of_weights()
    order = np.where(order < 0, int(alpha.argmin()), order)
    found: Floats = np.bincount(np.broadcast_to(order, each.shape).ravel(), each.ravel(), len(alpha)).astype(float)
    return found
