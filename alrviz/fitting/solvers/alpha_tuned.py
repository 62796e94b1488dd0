"""alpha="auto": fits compared on validation rows, and a solver that chooses its penalties before it begins.

    dL/da_g = - sum over the weights of order g of  u * ridge * (w - center),        H u = dL/dw

L is the log loss of validation rows and a the logarithms of the alphas; `choose_alpha.Descent` chooses them. Each
fold's fit starts from its own weights at the nearest alphas fitted before, over cells or, for few rows, with Gram
matrices (row_space.py). H is the Hessian of the fit's F at its minimum, and u takes one run of conjugate gradients per
fold, from the u before, whatever the number of alphas. The intercepts belong to the smallest alpha.

Each trial of alphas is a step of kind "search"; it has "alpha_1", ..., "alpha_n", "search_log_loss" and "search_folds"
(their number) in `extra`. Later steps have the chosen alphas.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from alrviz.errors import TimeOver
from alrviz.fitting.objectives.ridge import Point
from alrviz.fitting.solvers.choose_alpha import (
    Candidate,
    Descent,
    Search,
    SlopedFold,
    better_of,
    named_alphas,
    row_losses,
)
from alrviz.fitting.solvers.convergence_test import ConvergenceTest
from alrviz.fitting.solvers.row_space import GramFit, GramMatrices, combine_orders, multiply
from alrviz.fitting.solvers.state import Solver, SolverState
from alrviz.fitting.solvers.tron import Tron, invert_diagonal, newton_step
from alrviz.models.linear import LinearModel
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.rows import Rows
from alrviz.passes.vectors import dot
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.fitting.objectives.linear import LinearObjective

# Fits are only compared: two alphas differ by more than further steps would gain, but two orders may not. (adult,
# 39,073 rows: order 2 was .2736 with SEARCH_TOL and .2696 with FINAL_TOL at the same alphas, order 1 .2720 and .2716.)
SEARCH_TOL, MAX_STEPS, FINAL_TOL = 1e-3, 60, 1e-4
# Relative residual of H u. With small alphas the last components count most: on balance-scale, smooth levels, alphas
# .001 and 1, the slope and the true one have a cosine of .12 with .3, .60 with .1, .997 with .03. (Passes of the search
# and validation log loss, n = 2, with .3 and .03: balance-scale 1,147 for .108, 1,854 for .056; car 1,189 for .058,
# 1,212 for .054; nursery 1,566, 1,197; magic 800, 943, the same; adult 170 for .2699, 259 for .2685.)
SLOPE_SOLVE_TOL = 0.03
MAX_ENDS = 3  # ends of fits that later fits may start from
GRAM_TOL = 1e-4  # relative decrease of F per step at which a fit with Gram matrices ends


@dataclass(eq=False)
class AlphaFold:
    """A fit by passes over rows and cells, started at the weights w; `final_weights`: those at its end, by alphas."""

    objective: "LinearObjective"
    heldout: Rows
    w: Floats
    final_weights: dict[tuple[float, ...], Floats] = field(default_factory=dict)
    _alpha: Floats | None = None
    _point: Point | None = None
    _adjoint: Floats | None = None  # -u of the last slopes

    @property
    def weights(self) -> Floats:
        """(m,) weights of the validation rows."""
        return self.heldout.weights

    def evaluate(self, value: Floats, stop: StopToken, close: bool = False) -> tuple[Floats, float]:
        """Fit at these alphas, value (G,), from the nearest weights fitted before, with FINAL_TOL if `close`; see
        `Fold`.
        """
        objective, weights_by_alpha, alpha = self.objective, self.final_weights, value
        objective.penalise(tuple(alpha.tolist()) if len(alpha) > 1 else float(alpha[0]))
        solver, test = (
            Tron(max_start_steps=MAX_STEPS // 2),
            ConvergenceTest(objective, MAX_STEPS, FINAL_TOL if close else SEARCH_TOL),
        )
        self._point = None  # its buffers are free for this fit
        state = solver.init(objective, self.nearest_weights(alpha))
        while test.verdict(state) is None:
            stop.check()
            state = solver.advance(objective, state)
        self._alpha, self._point = alpha, state.point
        weights_by_alpha.pop(key := tuple(alpha.tolist()), None)
        while len(weights_by_alpha) >= MAX_ENDS:
            del weights_by_alpha[next(iter(weights_by_alpha))]
        weights_by_alpha[key] = state.point.w
        return row_losses(objective, state.point.w, self.heldout), self._training_share * state.passes

    def start_from(self, other: "AlphaFold", value: Floats) -> None:
        """Start at the end of the other fold's fit nearest to these alphas (G,), in the cells that both have."""
        self.start_at(other.model_near(value))

    def start_at(self, model: LinearModel) -> None:
        """Start the first fit at a model of other rows or a lower order, in the cells that both have, if their levels
        are the same.
        """
        w = self.objective.weights_near(model)
        self.w = self.w if w is None else w

    def model_near(self, alpha: Floats) -> LinearModel:
        """Return the model at the end of the fit nearest to these alphas (G,)."""
        return self.objective.model(self.nearest_weights(alpha))

    def nearest_weights(self, alpha: Floats) -> Floats:
        """Return the final weights (M,) of the fit nearest to these alphas (G,); w before the first."""
        nearest_alpha = min(self.final_weights, key=lambda end: float(np.sum(np.log(end / alpha) ** 2)), default=None)
        return self.w if nearest_alpha is None else self.final_weights[nearest_alpha]

    def slopes(self) -> tuple[Floats, float]:
        """Return the slopes (G,) at the last alphas, by one run of conjugate gradients; see `SlopedFold`."""
        objective, point, alpha = self.objective, self._point, self._alpha
        assert point is not None and alpha is not None, "alphas have been evaluated"
        validation_slopes = objective.slopes_on(point.w, self.heldout)
        inverse = invert_diagonal(objective.hessian_diagonal(point))
        start, residual, tol = self._adjoint, validation_slopes, SLOPE_SOLVE_TOL
        products = 0
        if start is not None:  # what is left to be solved, and to be within the same tolerance
            residual = validation_slopes + objective.hvp(point, start)
            products = 1
            left = dot(residual, residual * inverse) / dot(validation_slopes, validation_slopes * inverse)
            if left < 1.0:
                tol = min(tol / math.sqrt(left), 1.0)
            else:
                start, residual = None, validation_slopes
        step, n_products = newton_step(objective, replace(point, gradient=residual), inverse, np.inf, tol)
        self._adjoint = step if start is None else step + start
        slopes = _by_order(self._adjoint * objective.ridge * (point.w - objective.center), objective, alpha)
        return slopes, self._training_share * (products + n_products)

    @property
    def _training_share(self) -> float:
        """The share of all rows that a pass over the training rows visits."""
        n_rows = self.objective.rows.n_rows
        return n_rows / max(1, n_rows + self.heldout.n_rows)


@dataclass(eq=False)
class RowFold:
    """A fit with Gram matrices (see row_space.py).

    Attributes:
        fit: the fit to the training rows.
        by_order: (orders, m, n) inner products of the features of each validation row and each training row.
        y, weights: (m,) of the validation rows.
    """

    fit: GramFit
    by_order: GramMatrices
    y: NDArray[np.integer]
    weights: Floats
    _last: tuple[Floats, GramMatrices, Floats] | None = None  # alphas, the combined matrix, p (C, m)

    def evaluate(self, value: Floats, stop: StopToken, close: bool = False) -> tuple[Floats, float]:
        """Fit at these alphas, value (G,), to GRAM_TOL, whatever `close`; see `Fold`."""
        fit = self.fit
        _, products = fit.fit(value.tolist(), GRAM_TOL)
        matrix = combine_orders(self.by_order, value.tolist())
        z = fit.offset[:, None] + multiply(matrix, fit.a, fit.n_jobs)
        log_norm = logsumexp(z, axis=0)
        self._last = value, matrix, np.exp(z - log_norm)
        return log_norm - z[self.y, np.arange(len(self.y))], self._training_share * products

    def start_from(self, other: "RowFold", value: Floats) -> None:
        """Do nothing, whatever the `value` (G,): the coefficients of a Gram fit belong to its own rows."""

    def slopes(self) -> tuple[Floats, float]:
        """Return the slopes (G,) at the last alphas; see `SlopedFold`."""
        assert self._last is not None, "alphas have been evaluated"
        fit, (alpha, matrix, residual) = self.fit, self._last
        residual = residual.copy()
        residual[self.y, np.arange(len(self.y))] -= 1.0
        residual *= self.weights
        slopes = np.zeros(len(alpha))
        for g in range(len(alpha)):
            intercept_part = 0.5 / alpha[g] * (g == alpha.argmin())  # the intercepts'
            factor, constant = np.float32(-0.5 / alpha[g]), np.float32(-intercept_part)
            training_change, validation_change = (
                matrices[g] * factor + constant for matrices in (fit.by_order, self.by_order)
            )
            slopes[g] = np.vdot(
                residual,
                multiply(validation_change, fit.a, fit.n_jobs)
                + multiply(matrix, fit.slope(training_change), fit.n_jobs),
            )
        return slopes, 0.0

    @property
    def _training_share(self) -> float:
        """The share of all rows that a product with the training rows visits."""
        return 1.0 / (1.0 + len(self.y) / len(self.fit.y))


@dataclass(frozen=True)
class ChosenAlpha:
    """The chosen alphas, the inner solver's carry, and whether the time was over before the search had ended."""

    alpha: tuple[float, ...]
    carry: object = None
    ended_early: bool = False


@dataclass(frozen=True, eq=False)
class AlphaSearch:
    """Carried while alphas are searched.

    A bare generator would be closed when a run is released, perhaps by another thread during a trial, which Python
    refuses.
    """

    trials: Search
    best: Candidate | None = None  # so far


@dataclass(frozen=True)
class AlphaTuned(Solver):
    """A solver that first chooses the penalty. Carries an `AlphaSearch`, then a `ChosenAlpha`.

    Args:
        solver: takes the steps.
        make: returns the folds; none if there are too few rows to hold some out.
        strategy: chooses the alphas.
        fallback: the alpha of all orders if nothing can be held out, or no alpha was tried in time.
        stop: ends the search; at a `Deadline` the best alphas so far are used.
        first: returns the weights at which the fit with the chosen alphas begins; None for its own start.
    """

    solver: Solver
    make: Callable[[], Iterable[SlopedFold]]
    strategy: Descent
    fallback: float
    stop: StopToken = NEVER
    first: Callable[[Sequence[float]], Floats | None] = lambda alpha: None

    def init(self, objective: "LinearObjective", w0: Floats) -> SolverState:
        """Return the state at the start point w0, shaped as the objective's weights."""
        return replace(self.solver.init(objective, w0), carry=AlphaSearch(self.trials()))

    def trials(self) -> Search:
        """Yield candidates as they are evaluated, and return the best; None if nothing can be held out."""
        best_candidate: Candidate | None = yield from self.strategy.search(self.make(), self.stop)
        return best_candidate

    def advance(self, objective: "LinearObjective", state: SolverState) -> SolverState:
        """Return the state after one trial of alphas, or after an iteration of the fit of `objective` at the chosen
        ones.
        """
        if not isinstance(state.carry, ChosenAlpha):
            try:
                trial = next(state.carry.trials)
            except (StopIteration, TimeOver) as end:
                ended_early = isinstance(end, TimeOver)
                best_candidate: Candidate | None = state.carry.best if isinstance(end, TimeOver) else end.value
                alpha = (self.fallback,) * self.strategy.n_alphas if best_candidate is None else best_candidate.values
                return self._begin_fit(objective, state, ChosenAlpha(alpha, ended_early=ended_early))
            return replace(
                state, passes=state.passes + trial.passes, kind="search",
                carry=replace(state.carry, best=better_of(state.carry.best, trial)),
                extra={**trial.alphas_by_name, "search_log_loss": trial.loss, "search_folds": trial.folds},
            )  # fmt: skip
        chosen_alpha = state.carry
        next_state = self.solver.advance(objective, replace(state, carry=chosen_alpha.carry))
        return replace(
            next_state,
            kind="inner",
            carry=replace(chosen_alpha, carry=next_state.carry),
            extra={**next_state.extra, **named_alphas(chosen_alpha.alpha)},
        )

    def chosen_params(self, state: SolverState) -> dict[str, object]:
        """Return the recipe's alpha once it is chosen."""
        if not isinstance(state.carry, ChosenAlpha):
            return {}
        return {"alpha": state.carry.alpha if self.strategy.n_alphas > 1 else state.carry.alpha[0]}

    def _begin_fit(self, objective: "LinearObjective", state: SolverState, chosen: ChosenAlpha) -> SolverState:
        """Return the state after the first iteration of the fit at the chosen alphas."""
        alpha = chosen.alpha
        objective.penalise(alpha if self.strategy.n_alphas > 1 else alpha[0])
        w = self.first(alpha)
        first_state = self.solver.init(objective, state.point.w if w is None else w)
        started = replace(
            first_state, index=state.index, evaluations=state.evaluations + 1, passes=state.passes + 1.0,
            carry=replace(chosen, carry=first_state.carry),
        )  # fmt: skip
        return self.advance(objective, started)


def _by_order(values: Floats, objective: "LinearObjective", alpha: Floats) -> Floats:
    """Return sums (G,) of `values`, shaped as w, over the weights of each alpha (G,); the intercepts' go to the
    smallest.
    """
    if len(alpha) == 1:
        return np.array([values.sum()])
    order_of_weight = objective.parameterisation.orders_of_weights()
    order_of_weight = np.where(order_of_weight < 0, int(alpha.argmin()), order_of_weight)
    sums: Floats = np.bincount(
        np.broadcast_to(order_of_weight, values.shape).ravel(), values.ravel(), len(alpha)
    ).astype(float)
    return sums
