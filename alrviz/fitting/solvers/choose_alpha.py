"""Choose settings by the log loss of validation rows: alphas, or how many tuples are kept.

    candidate = choose_alpha(folds, strategy)

A fold is an objective over training rows, fitted at any value of the setting, with validation rows (`Fold`). A strategy
decides which values are evaluated, and which of them is chosen:

    GridSearch   values in turn, from the simplest model on; the lowest loss, or the last within a standard error of it
    Descent      penalties, one for each order, by BFGS on L(a), the mean of -log p over validation rows, a = log alpha

Descent begins at the alphas of the `goal`, usually those of the order before; the new order begins half a decade above
the last of them. Without a goal it tries one alpha for all orders: 1000, 100, 10, ... (in units of the mean row weight)
until L rises. Then BFGS follows. With `coarse` this uses the first fold only; BFGS then goes on with all folds, from
the inverse Hessian of the first: where L is flat a single evaluation ends it. If L is not below that of MAX_ALPHA,
which gives the center's model, by a standard error of the rows' differences, the rows say nothing: MAX_ALPHA for all
orders. Further folds are left out where the first is below the goal by CLEAR_STANDARD_ERRORS (letter-recognition: 2,895
passes with them and 2,204 without, log loss on new rows .1728 and .1719; nursery 2,124 and 1,284, equal losses).
`close` repeats the best with more accurate fits, to compare it with another order: an unfinished fit of a higher order
lacks more than the standard error of many rows.

Empirical Bayes (2 alpha = gamma / sum w^2, MacKay's fixed point) was measured as an alternative: with the Hessian's
diagonal, or with traces by random probes, it dropped orders whose pairs were informative, at .04 nats on tic-tac-toe.
A descent on a quarter of the rows as a start saved no passes: with fewer rows the best alphas are larger (pairs of
letter-recognition: .095 instead of .018), and the descent on all rows had as far to go.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from scipy.special import logsumexp

from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.fitting.objectives.ridge import FitObjective

MIN_ALPHA, MAX_ALPHA, FIRST_ALPHA = 1e-4, 1e5, 1e3
# Trials of the descent, and the relative decrease of L below which it ends.
MAX_TRIALS, MIN_DECREASE = 12, 2e-3
# The relative decrease of L that more accurate fits may bring: 1.5 % on adult, at order 2.
MAX_CLOSE_DECREASE = 0.03
# Standard errors by which a candidate is below the goal on the first fold that make further folds unnecessary.
CLEAR_STANDARD_ERRORS = 3.0
_DECADE = float(np.log(10.0))


class Fold(Protocol):
    """A fit to training rows, started where the last one ended, and validation rows with `weights`."""

    @property
    def weights(self) -> Floats:
        """(m,) weights of the validation rows."""

    def evaluate(self, value: Floats, stop: StopToken, close: bool = False) -> tuple[Floats, float]:
        """Fit at these values (G,) of the setting; `close`: more accurately.

        Return -log p of the validation rows (m,), not finite if the fit failed, and the number of passes over all rows.
        """


class SlopedFold(Fold, Protocol):
    """A fold with slopes by the logarithms of the values."""

    def start_from(self, other: Any, value: Floats) -> None:
        """Start the first fit at the end of another fold's fit, the nearest to these values (G,)."""

    def slopes(self) -> tuple[Floats, float]:
        """Return the slopes (G,) of the sum of the losses at the values evaluated last, and the number of passes."""


F_contra = TypeVar("F_contra", bound=Fold, contravariant=True)


class Strategy(Protocol[F_contra]):
    """Decides which values are evaluated."""

    def search(self, folds: Iterable[F_contra], stop: StopToken = NEVER) -> "Search":
        """Yield candidates as they are evaluated, and return the best; None if there is none."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """An evaluated setting.

    Attributes:
        values: (G,) an alpha for each order, or a single setting.
        loss: L, the mean log loss of the validation rows.
        rows, weights: -log p and weight of each validation row.
        folds: number of folds these rows are of.
        log_values: (G,) what a descent varies.
        passes: over all rows, that the fits took.
    """

    values: tuple[float, ...]
    loss: float
    rows: Floats
    weights: Floats
    folds: int
    log_values: Floats
    passes: float = 0.0

    @property
    def alpha(self) -> float | tuple[float, ...]:
        """The alphas as a recipe has them."""
        return self.values[0] if len(self.values) == 1 else self.values

    @property
    def alphas_by_name(self) -> dict[str, float]:
        """The alphas as alpha_1, alpha_2, ..."""
        return named_alphas(self.values)

    def on_common_rows(self, other: "Candidate") -> "Candidate":
        """Return this candidate on the rows that it has in common with another: the first of each, fold by fold."""
        n_common = min(len(self.rows), len(other.rows))
        rows, weights = self.rows[:n_common], self.weights[:n_common]
        loss = float(np.average(rows, weights=weights))
        return replace(self, loss=loss, rows=rows, weights=weights, folds=min(self.folds, other.folds))

    def is_above(self, other: "Candidate", standard_errors: float = 1.0) -> bool:
        """Return whether this loses more than another, by over so many standard errors of the differences, on the rows
        both have.
        """
        candidate, other = self.on_common_rows(other), other.on_common_rows(self)
        difference, weights = candidate.rows - other.rows, candidate.weights
        mean_difference = np.average(difference, weights=weights)
        standard_error = np.sqrt(np.average((difference - mean_difference) ** 2, weights=weights) / weights.sum())
        return bool(mean_difference > standard_errors * standard_error)

    def is_below(self, other: "Candidate", standard_errors: float = 1.0) -> bool:
        """Return whether another loses more than this, by over so many standard errors of the differences, on the rows
        both have.
        """
        return other.is_above(self, standard_errors)


Search = Generator[Candidate, None, Candidate | None]


def evaluate_folds(
    folds: Sequence[Fold], value: Floats, stop: StopToken = NEVER, *, close: bool = False,
    log_values: Floats | None = None,
) -> Candidate:  # fmt: skip
    """Fit each fold at these values (G,) of the setting; return them with the loss of all validation rows.

    close: fit more accurately. log_values: (G,) logarithms of `value`; None to compute them.
    """
    losses, passes = zip(*(fold.evaluate(value, stop, close) for fold in folds), strict=True)
    return candidate_of(folds, losses, value, log_values, sum(passes))


def loss_slopes(folds: Sequence[SlopedFold]) -> tuple[Floats, float]:
    """Return the slopes (G,) of L at the values evaluated last, and the number of passes."""
    slopes, passes = zip(*(fold.slopes() for fold in folds), strict=True)
    weight = sum(float(fold.weights.sum()) for fold in folds)
    return np.sum(slopes, axis=0) / weight, sum(passes)


def candidate_of(
    folds: Sequence[Fold], rows: Sequence[Floats], value: Floats | None = None, log_values: Floats | None = None,
    passes: float = 0.0,
) -> Candidate:  # fmt: skip
    """Return the candidate with these losses of the folds' validation rows, an array (n,) for each fold.

    value: (G,) of the setting, None if there is none; log_values: (G,) its logarithms, None to compute them; passes:
    taken.
    """
    value = np.empty(0) if value is None else value
    log_values = np.log(value) if log_values is None else log_values
    losses, weights = np.concatenate(rows), np.concatenate([fold.weights for fold in folds])
    loss = float(np.average(losses, weights=weights))
    return Candidate(tuple(value.tolist()), loss, losses, weights, len(folds), log_values, passes)


@dataclass(frozen=True)
class GridSearch:
    """Try values in turn, each fit started where the one before ended.

    Args:
        values: from the simplest model on, or from the largest.
        patience: values in a row without an improvement, after which the search ends.
        one_standard_error: no improvement means worse by more than a standard error, and the last value within a
            standard error of the best is chosen; otherwise the lowest loss, of equal ones the first.
    """

    values: Sequence[float]
    patience: int = 2
    one_standard_error: bool = False

    def search(self, folds: Iterable[Fold], stop: StopToken = NEVER) -> Search:
        """Yield candidates as they are evaluated on `folds`, and return the best; values at which a fit failed are left
        out.
        """
        folds, best, n_worse = [*folds], None, 0
        evaluated_candidates: list[Candidate] = []
        for value in self.values if folds else ():
            candidate = evaluate_folds(folds, np.array([value]), stop)
            if not np.isfinite(candidate.loss):
                continue
            yield candidate
            evaluated_candidates.append(candidate)
            previous_best, best = best, min(evaluated_candidates, key=lambda earlier: earlier.loss)
            n_worse = (
                n_worse + 1 if (candidate.is_above(best) if self.one_standard_error else best is previous_best) else 0
            )
            if n_worse == self.patience:
                break
        if best is None or not self.one_standard_error:
            return best
        return next(candidate for candidate in reversed(evaluated_candidates) if not candidate.is_above(best))


@dataclass(frozen=True)
class Descent:
    """Choose penalties by descent on the log loss of validation rows; see the module.

    Args:
        n_alphas: one, or one for each order.
        unit: of MIN_ALPHA, MAX_ALPHA and FIRST_ALPHA.
        coarse: whether the first fold alone is used at first, and all folds for the last steps.
        goal: the candidate to be below. The search begins at its alphas, ends once it is clearly behind, and uses other
            folds than the first only if they may decide.
        close: whether the fits of the last trial are more accurate.
    """

    n_alphas: int
    unit: float = 1.0
    coarse: bool = False
    goal: Candidate | None = None
    close: bool = False

    def search(self, folds: Iterable[SlopedFold], stop: StopToken = NEVER) -> Search:
        """Yield candidates as they are evaluated, and return the best; None without folds."""
        remaining = iter(folds)
        used_folds = [*islice(remaining, 1 if self.coarse else None)]
        if not used_folds:
            return None
        start, center = self._start_at_goal(), None
        if start is None:  # with a goal that is below the center's model, to be below the goal is enough
            center = evaluate_alphas(used_folds, np.log(np.full(self.n_alphas, self.unit * MAX_ALPHA)), stop)
            yield center
            start = yield from self._walk(used_folds, stop)
        best, inverse = yield from self._descent(used_folds, start, stop)
        best = best if center is None or best.is_below(center) else center
        if self.coarse and self._is_undecided(best) and (further_folds := [*remaining]):
            used_folds = [*used_folds, *further_folds]
            if best is center:  # evaluated on all folds, like those it is compared with
                yield (best := evaluate_alphas(used_folds, center.log_values, stop))
            else:
                for fold in further_folds:
                    fold.start_from(used_folds[0], np.exp(best.log_values))
                best, _ = yield from self._descent(used_folds, best.log_values, stop, inverse)
        if self.close and not self._is_hopeless(best):
            yield (best := evaluate_alphas(used_folds, best.log_values, stop, close=True))
        return best

    def _start_at_goal(self) -> Floats | None:
        """Return the logarithms of the goal's alphas (G,); None if it has none, or is the center's model, from which no
        slope leads on.
        """
        values = () if self.goal is None else self.goal.values
        if not values or min(values) > self.unit * FIRST_ALPHA:
            return None
        log_alphas = np.log([*values, *values[-1:] * self.n_alphas])[: self.n_alphas]
        log_alphas[len(values) :] += _DECADE / 2
        start: Floats = np.minimum(log_alphas, np.log(self.unit * FIRST_ALPHA))
        return start

    def _walk(self, folds: Sequence[Fold], stop: StopToken) -> Generator[Candidate, None, Floats]:
        """Try one alpha for all orders, a decade lower each time, until the loss rises; return the best logarithms."""
        best: Candidate | None = None
        for alpha in 10.0 ** np.arange(np.log10(FIRST_ALPHA), np.log10(MIN_ALPHA) - 0.5, -1.0):
            trial = evaluate_alphas(folds, np.log(np.full(self.n_alphas, self.unit * alpha)), stop)
            yield trial
            if best is not None and not trial.loss < best.loss:
                break
            best = trial
        assert best is not None
        return best.log_values

    def _descent(
        self,
        folds: Sequence[SlopedFold],
        start: Floats,
        stop: StopToken,
        inverse: Floats | None = None,
    ) -> Generator[Candidate, None, tuple[Candidate, Floats | None]]:
        """Minimise the loss of `folds` by BFGS between bounds: yield each candidate, and return the best and the
        inverse Hessian (G, G).

        A step is at most a decade, the first at most half of one. start: log alphas. inverse: of an earlier descent;
        None for a first step along the slope.
        """
        current = evaluate_alphas(folds, start, stop)
        yield current
        low, high = np.log(self.unit * MIN_ALPHA), np.log(self.unit * MAX_ALPHA)
        previous: tuple[Floats, Floats] | None = None  # log alphas and slope
        for _ in range(MAX_TRIALS):
            log_alphas = current.log_values
            slope, spent = loss_slopes(folds)
            if previous is not None:
                inverse = _bfgs_update(inverse, log_alphas - previous[0], slope - previous[1])
            previous = log_alphas, slope
            outward = ((log_alphas <= low) & (slope > 0)) | ((log_alphas >= high) & (slope < 0))
            slope = np.where(outward, 0.0, slope)
            length = float(np.linalg.norm(slope))
            if length == 0.0:
                break
            step = -slope / length * _DECADE / 2 if inverse is None else -np.where(outward, 0.0, inverse @ slope)
            if step @ slope >= 0.0:
                step = -slope / length * _DECADE / 2
            step *= min(1.0, _DECADE / float(np.abs(step).max()))
            if -(step @ slope) < MIN_DECREASE * current.loss:
                break
            trial = evaluate_alphas(folds, np.clip(log_alphas + step, low, high), stop)
            yield replace(trial, passes=trial.passes + spent)
            if not trial.loss < current.loss:  # once more, at the minimum of the parabola
                rise = trial.loss - current.loss - step @ slope
                fraction = float(np.clip(-(step @ slope) / (2.0 * rise), 0.1, 0.5)) if np.isfinite(rise) else 0.1
                trial = evaluate_alphas(folds, np.clip(log_alphas + fraction * step, low, high), stop)
                yield trial
                if not trial.loss < current.loss:
                    break
            decrease, current = current.loss - trial.loss, trial
            if decrease < MIN_DECREASE * current.loss or self._is_hopeless(current, decrease):
                break
        return current, inverse

    def _is_undecided(self, candidate: Candidate) -> bool:
        """Return whether further folds may decide whether a candidate of the first fold is below the goal. They cannot
        if the goal was not evaluated on them.
        """
        if self.goal is None:
            return True
        is_clear = candidate.is_below(self.goal, CLEAR_STANDARD_ERRORS) or self.goal.folds == 1
        return candidate.is_below(self.goal) and not is_clear

    def _is_hopeless(self, candidate: Candidate, decrease: float = 0.0) -> bool:
        """Return whether a candidate is so far above the goal that no further trial can be below it; decrease: of the
        loss by the last trial. Those of BFGS shrink, at least by half in the long run.
        """
        if self.goal is None or not candidate.is_above(self.goal):
            return False
        gap = candidate.on_common_rows(self.goal).loss - self.goal.on_common_rows(candidate).loss
        return gap > max(2.0 * decrease, MAX_CLOSE_DECREASE * self.goal.loss)


def choose_alpha(
    folds: Iterable[F_contra],
    strategy: Strategy[F_contra],
    stop: StopToken = NEVER,
    on_candidate: Callable[[Candidate], object] = lambda candidate: None,
) -> Candidate | None:
    """Return the best setting on the validation rows of `folds`, found by `strategy`; None if there is none.

    Args:
        folds: objectives on training rows, with their validation rows.
        strategy: `GridSearch` or `Descent`.
        stop: ends the search.
        on_candidate: called with each candidate as it is evaluated.
    """
    search = strategy.search(folds, stop)
    while True:
        try:
            candidate = next(search)
        except StopIteration as end:
            best_candidate: Candidate | None = end.value
            return best_candidate
        on_candidate(candidate)


def better_of(best: Candidate | None, trial: Candidate) -> Candidate:
    """Return the better of two candidates, or the only one: that of more folds, then that of the lower loss."""
    if best is None or (-trial.folds, trial.loss) < (-best.folds, best.loss):
        return trial
    return best


def evaluate_alphas(
    folds: Sequence[Fold], log_alpha: Floats, stop: StopToken = NEVER, *, close: bool = False
) -> Candidate:
    """Fit each fold at alphas with these logarithms (G,), and evaluate it on its validation rows.

    close: whether to fit more accurately.
    """
    return evaluate_folds(folds, np.exp(log_alpha), stop, close=close, log_values=log_alpha)


def row_losses(objective: "FitObjective", w: Floats, rows: Any) -> Floats:
    """Return -log p(y) of each row (n,) by the model of an objective at the weights w."""
    z = objective.scores(w, rows)[:, : rows.n_classes]
    losses: Floats = logsumexp(z, axis=1) - z[np.arange(len(z)), rows.y]
    return losses


def named_alphas(alpha: Sequence[float]) -> dict[str, float]:
    """Return alphas as alpha_1, alpha_2, ..."""
    return {f"alpha_{order}": float(value) for order, value in enumerate(alpha, 1)}


def _bfgs_update(inverse: Floats | None, step: Floats, slope_change: Floats) -> Floats | None:
    """Return BFGS's inverse Hessian after a step along which the slopes changed by `slope_change`."""
    curvature = float(step @ slope_change)
    if curvature <= 1e-12:
        return inverse
    identity = np.eye(len(step))
    inverse = identity * (curvature / float(slope_change @ slope_change)) if inverse is None else inverse
    projection = identity - np.outer(step, slope_change) / curvature
    updated: Floats = projection @ inverse @ projection.T + np.outer(step, step) / curvature
    return updated
