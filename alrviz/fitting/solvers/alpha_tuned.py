"""alpha="auto": penalties, one for each order, that rows held out choose; found by descent on their log loss.

    L(a) = mean of -log p over rows that a fit has not seen, a the logarithms of the alphas; of FOLDS fits in turn, each
           of which goes on from its own weights at the nearest alphas that it was tried at
    first  one alpha for all orders: 1000, 100, 10, ... until L is higher than before, in units of what a row weighs
    then   BFGS on L, from the best of these; `coarse`: so far of the first fold, and then again of all
    last   where L is not below that of HIGHEST, the center's model, by a standard error of the rows' differences,
           nothing can be told: HIGHEST for all orders
    `close` once more at the best, fits followed to CLOSE, to be compared with another order's: what is left to fall is
           more of a higher order's loss than the standard error of many rows

    dL/da_g = - sum over the weights of order g of  u * ridge * (w - center),        H u = dL/dw

Fits go over cells, or, of few rows, over what these share (row_space.py).
H is the Hessian of the fit's F at its minimum, and u takes one run of conjugate gradients a fold, whatever the number
of alphas. The intercepts go with the smallest. Each trial of alphas is a step of kind "search"; it has "alpha_1", ...,
"alpha_n", "search_log_loss" and "search_folds" (of how many) in `extra`. Later steps have the alphas that were chosen.

Empirical Bayes (2 alpha = gamma / sum w^2, MacKay's fixed point) was measured beside it: with the Hessian's diagonal
or with traces by random probes it gave orders up that pairs could say as well, at .04 nats on tic-tac-toe.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from alrviz.fitting.solvers.convergence_test import ConvergenceTest
from alrviz.fitting.solvers.row_space import Shared, SharedRows, combined, times
from alrviz.fitting.solvers.state import Solver, SolverState
from alrviz.fitting.solvers.tron import Tron, inverted, newton_step
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.rows import Rows
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.fitting.objectives.linear import LinearObjective
    from alrviz.fitting.objectives.protocol import ObjectiveProtocol

LOWEST, HIGHEST, FIRST = 1e-4, 1e5, 1e3
# Trials of the descent; and by which share of L it must go on to fall.
MOST, GAIN = 12, 2e-3
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
_DECADE = float(np.log(10.0))


class Fold(Protocol):
    """A fit to some rows, which goes on from where it has come to, and rows that judge it; these count `weights`."""

    @property
    def weights(self) -> Floats:
        """(m,) how often each row that judges counts."""

    def tried(self, alpha: Floats, sloped: bool, stop: StopToken, close: bool = False) -> tuple[Floats, Floats, float]:
        """Fit at these alphas; return -log p of the rows that judge (m,), the slopes (G,) of their sum by log alpha
        where these are asked for, else 0, and how many passes over all rows it took. `close`: to CLOSE.
        """


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

    def tried(self, alpha: Floats, sloped: bool, stop: StopToken, close: bool = False) -> tuple[Floats, Floats, float]:
        """As `Fold` says."""
        objective, ends = self.objective, self.ends
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

    def tried(self, alpha: Floats, sloped: bool, stop: StopToken, close: bool = False) -> tuple[Floats, Floats, float]:
        """As `Fold` says; never closer than ENOUGH."""
        fit, rows = self.fit, np.arange(len(self.y))
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
class AlphaTrial:
    """Alphas that were tried: their logarithms, L, its gradient (None where it was not asked), and passes it took.

    rows, weights: -log p of each row held out, and what it counts. folds: how many these are of.
    """

    log_alpha: Floats
    loss: float
    slope: Floats | None
    passes: float
    rows: Floats
    weights: Floats
    folds: int

    @property
    def alpha(self) -> tuple[float, ...]:
        """The alphas."""
        return tuple(np.exp(self.log_alpha).tolist())

    @property
    def value(self) -> float | tuple[float, ...]:
        """The alphas as a recipe has them."""
        return self.alpha[0] if len(self.alpha) == 1 else self.alpha

    @property
    def named(self) -> dict[str, float]:
        """The alphas as alpha_1, alpha_2, ..."""
        return _named(self.alpha)

    def beside(self, other: "AlphaTrial") -> "AlphaTrial":
        """This, on the rows that judged both: the first of each, by fold."""
        both = min(len(self.rows), len(other.rows))
        rows, weights = self.rows[:both], self.weights[:both]
        loss = float(np.average(rows, weights=weights))
        return replace(self, loss=loss, rows=rows, weights=weights, folds=min(self.folds, other.folds))

    def is_below(self, other: "AlphaTrial") -> bool:
        """Whether the other loses more, by over a standard error, on the rows that judged both."""
        one, other = self.beside(other), other.beside(self)
        return is_above((other.rows, other.weights), (one.rows, one.weights))


@dataclass(frozen=True)
class ChosenAlpha:
    """The alphas that were chosen, and what the solver carries."""

    alpha: tuple[float, ...]
    carry: object = None


AlphaSearch = Generator[AlphaTrial, None, AlphaTrial | None]


@dataclass(frozen=True, eq=False)
class Searching:
    """What the solver carries while it searches. (A bare generator would be closed where a run that ended is released,
    perhaps by another thread in the middle of a trial, which Python refuses.)
    """

    trials: AlphaSearch


@dataclass(frozen=True)
class AlphaTuned(Solver):
    """A solver that first finds the penalty. Carries a `Searching`, then a `ChosenAlpha`.

    Args:
        solver: takes the steps.
        n_alphas: how many there are: one for each order, or one.
        make: the folds; none where there are too few rows to hold some out.
        fallback: the alpha of all orders where nothing can be held out.
        stop: ends it.
        first: the weights from which the fit at the alphas that were chosen begins; None for those of its start.
        unit: what LOWEST, HIGHEST and FIRST are measured in.
        coarse: whether the first fold finds the way, and all take the last steps.
        goal: what the first fold must then be below for the others to be looked at.
        close: whether the fits of the last trial are followed to CLOSE.
    """

    solver: Solver
    n_alphas: int
    make: Callable[[], Iterable[Fold]]
    fallback: float
    stop: StopToken = NEVER
    first: Callable[[Sequence[float]], Floats | None] = lambda alpha: None
    unit: float = 1.0
    coarse: bool = False
    goal: AlphaTrial | None = None
    close: bool = False

    def init(self, objective: "LinearObjective", w0: Floats) -> SolverState:
        """Return the state at the start point."""
        return replace(self.solver.init(objective, w0), carry=Searching(self.trials()))

    def advance(self, objective: "LinearObjective", state: SolverState) -> SolverState:
        """Return the state after one trial of alphas, or after an iteration of the fit at those that were chosen."""
        if not isinstance(state.carry, ChosenAlpha):
            try:
                trial = next(state.carry.trials)
            except StopIteration as end:
                best: AlphaTrial | None = end.value
                alpha = (self.fallback,) * self.n_alphas if best is None else best.alpha
                return self._begun(objective, state, alpha)
            return replace(
                state, passes=state.passes + trial.passes, kind="search",
                extra={**trial.named, "search_log_loss": trial.loss, "search_folds": trial.folds},
            )  # fmt: skip
        tuned = state.carry
        new = self.solver.advance(objective, replace(state, carry=tuned.carry))
        return replace(
            new, kind="inner", carry=replace(tuned, carry=new.carry), extra={**new.extra, **_named(tuned.alpha)}
        )

    def chosen(self, state: SolverState) -> dict[str, object]:
        """Return the alpha of the recipe, once it is known."""
        if not isinstance(state.carry, ChosenAlpha):
            return {}
        return {"alpha": state.carry.alpha if self.n_alphas > 1 else state.carry.alpha[0]}

    def _begun(self, objective: "LinearObjective", state: SolverState, alpha: tuple[float, ...]) -> SolverState:
        objective.penalise(alpha if self.n_alphas > 1 else alpha[0])
        w = self.first(alpha)
        first = self.solver.init(objective, state.point.w if w is None else w)
        spent = replace(
            first, index=state.index, evaluations=state.evaluations + 1, passes=state.passes + 1.0,
            carry=ChosenAlpha(alpha, first.carry),
        )  # fmt: skip
        return self.advance(objective, spent)

    def trials(self) -> AlphaSearch:
        """Yield alphas as they are tried, and return the best; None where nothing can be held out."""
        made = iter(self.make())
        folds = [*islice(made, 1 if self.coarse else None)]
        if not folds:
            return None
        center = best = self._tried(folds, np.log(np.full(self.n_alphas, self.unit * HIGHEST)))
        yield center
        for alpha in 10.0 ** np.arange(np.log10(FIRST), np.log10(LOWEST) - 0.5, -1.0):
            trial = self._tried(folds, np.log(np.full(self.n_alphas, self.unit * alpha)))
            yield trial
            if best is not center and not trial.loss < best.loss:
                break
            best = trial
        best = yield from self._descent(folds, best.log_alpha)
        best = best if best.is_below(center) else center
        if self.coarse and (self.goal is None or best.is_below(self.goal)) and (others := [*made]):
            folds = [*folds, *others]
            if best is center:  # that all folds judge, as those that it is beside
                yield (best := self._tried(folds, center.log_alpha))
            else:
                spent = self._tried(others, best.log_alpha + _DECADE).passes  # nearer than their start
                best = yield from self._descent(folds, best.log_alpha, spent)
        if self.close:
            yield (best := self._tried(folds, best.log_alpha, close=True))
        return best

    def _descent(
        self, folds: Sequence[Fold], start: Floats, spent: float = 0.0
    ) -> Generator[AlphaTrial, None, AlphaTrial]:
        """BFGS between bounds; a step is at most a decade, and half of one at first; `spent`: passes before."""
        here = self._tried(folds, start, sloped=True)
        here = replace(here, passes=here.passes + spent)
        yield here
        inverse: Floats | None = None
        low, high = np.log(self.unit * LOWEST), np.log(self.unit * HIGHEST)
        for _ in range(MOST):
            assert here.slope is not None
            x = here.log_alpha
            outward = ((x <= low) & (here.slope > 0)) | ((x >= high) & (here.slope < 0))
            slope = np.where(outward, 0.0, here.slope)
            length = float(np.linalg.norm(slope))
            if length == 0.0:
                break
            step = -slope / length * _DECADE / 2 if inverse is None else -np.where(outward, 0.0, inverse @ slope)
            if step @ slope >= 0.0:
                step = -slope / length * _DECADE / 2
            step *= min(1.0, _DECADE / float(np.abs(step).max()))
            if -(step @ slope) < GAIN * here.loss:
                break
            new = self._tried(folds, np.clip(x + step, low, high), sloped=True)
            yield new
            if not new.loss < here.loss:  # once more, at the minimum of the parabola
                rise = new.loss - here.loss - step @ slope
                share = float(np.clip(-(step @ slope) / (2.0 * rise), 0.1, 0.5)) if np.isfinite(rise) else 0.1
                new = self._tried(folds, np.clip(x + share * step, low, high), sloped=True)
                yield new
                if not new.loss < here.loss:
                    break
            assert new.slope is not None
            inverse = _updated(inverse, new.log_alpha - x, new.slope - here.slope)
            fell, here = here.loss - new.loss, new
            if fell < GAIN * here.loss:
                break
        return here

    def _tried(self, folds: Sequence[Fold], log_alpha: Floats, sloped: bool = False, close: bool = False) -> AlphaTrial:
        """Fit each fold at these alphas, and judge it."""
        tried = [fold.tried(np.exp(log_alpha), sloped, self.stop, close) for fold in folds]
        losses, slopes, passes = zip(*tried, strict=True)
        trial = judged_on(folds, losses, log_alpha, sum(passes))
        return replace(trial, slope=np.sum(slopes, axis=0) / trial.weights.sum()) if sloped else trial


def judged_on(
    folds: Sequence[Fold], rows: Sequence[Floats], log_alpha: Floats | None = None, passes: float = 0.0
) -> AlphaTrial:
    """Return what became of folds whose held-out rows have these losses (n,); None for alphas that were given."""
    log_alpha = np.empty(0) if log_alpha is None else log_alpha
    each, weights = np.concatenate(rows), np.concatenate([fold.weights for fold in folds])
    loss = float(np.average(each, weights=weights))
    return AlphaTrial(log_alpha, loss, None, passes, each, weights, len(folds))


def row_losses(objective: "ObjectiveProtocol", w: Floats, rows: Any) -> Floats:
    """Return -log p(y) of each of some rows (n,) by the weights w."""
    z = objective.scores(w, rows)[:, : rows.n_classes]
    losses: Floats = logsumexp(z, axis=1) - z[np.arange(len(z)), rows.y]
    return losses


def is_above(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> bool:
    """Return whether the first, (N,) losses and weights, loses more by over a standard error of the differences."""
    difference, weights = one[0] - other[0], one[1]
    mean = np.average(difference, weights=weights)
    error = np.sqrt(np.average((difference - mean) ** 2, weights=weights) / weights.sum())
    return bool(mean > error)


def _by_order(each: Floats, objective: "LinearObjective", alpha: Floats) -> Floats:
    """Sums (G,) over the weights of each alpha; the intercepts' go to the smallest."""
    if len(alpha) == 1:
        return np.array([each.sum()])
    order = objective.parameterisation.orders_of_weights()
    order = np.where(order < 0, int(alpha.argmin()), order)
    found: Floats = np.bincount(np.broadcast_to(order, each.shape).ravel(), each.ravel(), len(alpha)).astype(float)
    return found


def _updated(inverse: Floats | None, step: Floats, bend: Floats) -> Floats | None:
    """BFGS's inverse Hessian after a step, along which the slopes changed by `bend`."""
    curvature = float(step @ bend)
    if curvature <= 1e-12:
        return inverse
    one = np.eye(len(step))
    inverse = one * (curvature / float(bend @ bend)) if inverse is None else inverse
    turn = one - np.outer(step, bend) / curvature
    found: Floats = turn @ inverse @ turn.T + np.outer(step, step) / curvature
    return found


def _named(alpha: Sequence[float]) -> dict[str, float]:
    return {f"alpha_{order}": float(value) for order, value in enumerate(alpha, 1)}
