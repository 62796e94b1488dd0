"""Choosing settings by the log loss of validation rows: alphas, or how many tuples are kept.

    candidate = choose_alpha(folds, strategy)

A fold is an objective over training rows, fitted at any setting that is asked for, and the validation rows that judge
it (`Fold`). A strategy says which settings are tried, and which of them is taken:

    GridSearch   values in turn, from the simplest model on; the lowest loss, or the last within a standard error of it
    Descent      penalties, one for each order, by BFGS on L(a), the mean of -log p over validation rows, a = log alpha

Descent begins with one alpha for all orders: 1000, 100, 10, ... until L is higher than before, in units of what a row
weighs; then BFGS from the best of these, `coarse`: so far of the first fold, and then again of all. Where L is not
below that of HIGHEST, the center's model, by a standard error of the rows' differences, nothing can be told: HIGHEST
for all orders. `close`: once more at the best, with fits followed further, to be compared with another order's, since
what is left to fall is more of a higher order's loss than the standard error of many rows.

Empirical Bayes (2 alpha = gamma / sum w^2, MacKay's fixed point) was measured beside the descent: with the Hessian's
diagonal or with traces by random probes it gave orders up that pairs could say as well, at .04 nats on tic-tac-toe.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy.special import logsumexp

from alrviz.passes.aligned_buffers import Floats
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.fitting.objectives.protocol import ObjectiveProtocol

LOWEST, HIGHEST, FIRST = 1e-4, 1e5, 1e3
# Trials of the descent; and by which share of L it must go on to fall.
MAX_TRIALS, GAIN = 12, 2e-3
_DECADE = float(np.log(10.0))


class Fold(Protocol):
    """A fit to training rows, which may go on from where it has come to, and validation rows, which count `weights`."""

    @property
    def weights(self) -> Floats:
        """(m,) how often each validation row counts."""

    def evaluate(
        self, value: Floats, sloped: bool, stop: StopToken, close: bool = False
    ) -> tuple[Floats, Floats, float]:
        """Fit at these values of the setting.

        Return -log p of the validation rows (m,), not finite where the fit failed; the slopes (G,) of their sum by the
        logarithms of the values where `sloped`, else 0; and how many passes over all rows it took. `close`: followed
        further.
        """


@dataclass(frozen=True, eq=False)
class Candidate:
    """A setting that was tried.

    Attributes:
        values: (G,) an alpha for each order, or a single setting.
        loss: L, the mean log loss of the validation rows.
        rows, weights: -log p of each validation row, and how often it counts.
        folds: how many these are of.
        log_values: (G,) what a descent varies.
        slope: (G,) of L by `log_values`; None where it was not asked for.
        passes: over all rows, that it took.
    """

    values: tuple[float, ...]
    loss: float
    rows: Floats
    weights: Floats
    folds: int
    log_values: Floats
    slope: Floats | None = None
    passes: float = 0.0

    @property
    def alpha(self) -> float | tuple[float, ...]:
        """The alphas as a recipe has them."""
        return self.values[0] if len(self.values) == 1 else self.values

    @property
    def named(self) -> dict[str, float]:
        """The alphas as alpha_1, alpha_2, ..."""
        return named_alphas(self.values)

    def beside(self, other: "Candidate") -> "Candidate":
        """This, on the rows that judged both: the first of each, by fold."""
        both = min(len(self.rows), len(other.rows))
        rows, weights = self.rows[:both], self.weights[:both]
        loss = float(np.average(rows, weights=weights))
        return replace(self, loss=loss, rows=rows, weights=weights, folds=min(self.folds, other.folds))

    def is_above(self, other: "Candidate") -> bool:
        """Whether this loses more, by over a standard error of the rows' differences, on the rows that judged both."""
        one, other = self.beside(other), other.beside(self)
        difference, weights = one.rows - other.rows, one.weights
        mean = np.average(difference, weights=weights)
        error = np.sqrt(np.average((difference - mean) ** 2, weights=weights) / weights.sum())
        return bool(mean > error)

    def is_below(self, other: "Candidate") -> bool:
        """Whether the other loses more, by over a standard error, on the rows that judged both."""
        return other.is_above(self)


Search = Generator[Candidate, None, Candidate | None]


def judge(
    folds: Sequence[Fold], value: Floats, stop: StopToken = NEVER, *, sloped: bool = False, close: bool = False,
    log_values: Floats | None = None,
) -> Candidate:  # fmt: skip
    """Fit each fold at these values (G,), and judge it."""
    tried = [fold.evaluate(value, sloped, stop, close) for fold in folds]
    losses, slopes, passes = zip(*tried, strict=True)
    candidate = judged_on(folds, losses, value, log_values, sum(passes))
    return replace(candidate, slope=np.sum(slopes, axis=0) / candidate.weights.sum()) if sloped else candidate


def judged_on(
    folds: Sequence[Fold], rows: Sequence[Floats], value: Floats | None = None, log_values: Floats | None = None,
    passes: float = 0.0,
) -> Candidate:  # fmt: skip
    """Return the candidate of folds whose validation rows have these losses (n,); value None for what was given."""
    value = np.empty(0) if value is None else value
    log_values = np.log(value) if log_values is None else log_values
    each, weights = np.concatenate(rows), np.concatenate([fold.weights for fold in folds])
    loss = float(np.average(each, weights=weights))
    return Candidate(tuple(value.tolist()), loss, each, weights, len(folds), log_values, None, passes)


@dataclass(frozen=True)
class GridSearch:
    """Try values in turn, each fit started where the one before ended.

    Args:
        values: from the simplest model on, or from the largest.
        patience: values in a row that were no better than the best, after which it ends.
        one_standard_error: whether "no better" means worse by more than a standard error, and the last value within
            a standard error of the best is taken; else the lowest loss is, of equal ones the first.
    """

    values: Sequence[float]
    patience: int = 2
    one_standard_error: bool = False

    def search(self, folds: Iterable[Fold], stop: StopToken = NEVER) -> Search:
        """Yield candidates as they are tried, and return the best; values at which a fit failed are none."""
        folds, best, worse = [*folds], None, 0
        tried: list[Candidate] = []
        for each in self.values if folds else ():
            candidate = judge(folds, np.array([each]), stop)
            if not np.isfinite(candidate.loss):
                continue
            yield candidate
            tried.append(candidate)
            before, best = best, min(tried, key=lambda one: one.loss)
            worse = worse + 1 if (candidate.is_above(best) if self.one_standard_error else best is before) else 0
            if worse == self.patience:
                break
        if best is None or not self.one_standard_error:
            return best
        return next(candidate for candidate in reversed(tried) if not candidate.is_above(best))


@dataclass(frozen=True)
class Descent:
    """Find penalties by descent on the log loss of validation rows; see the module.

    Args:
        n_alphas: how many there are: one for each order, or one.
        unit: what LOWEST, HIGHEST and FIRST are measured in.
        coarse: whether the first fold finds the way, and all take the last steps.
        goal: what the first fold must then be below for the others to be looked at.
        close: whether the fits of the last trial are followed further.
    """

    n_alphas: int
    unit: float = 1.0
    coarse: bool = False
    goal: Candidate | None = None
    close: bool = False

    def search(self, folds: Iterable[Fold], stop: StopToken = NEVER) -> Search:
        """Yield candidates as they are tried, and return the best; None without folds."""
        made = iter(folds)
        used = [*islice(made, 1 if self.coarse else None)]
        if not used:
            return None
        center = best = judge_alphas(used, np.log(np.full(self.n_alphas, self.unit * HIGHEST)), stop)
        yield center
        for alpha in 10.0 ** np.arange(np.log10(FIRST), np.log10(LOWEST) - 0.5, -1.0):
            trial = judge_alphas(used, np.log(np.full(self.n_alphas, self.unit * alpha)), stop)
            yield trial
            if best is not center and not trial.loss < best.loss:
                break
            best = trial
        best = yield from self._descent(used, best.log_values, stop)
        best = best if best.is_below(center) else center
        if self.coarse and (self.goal is None or best.is_below(self.goal)) and (others := [*made]):
            used = [*used, *others]
            if best is center:  # that all folds judge, as those that it is beside
                yield (best := judge_alphas(used, center.log_values, stop))
            else:
                spent = judge_alphas(others, best.log_values + _DECADE, stop).passes  # nearer than their start
                best = yield from self._descent(used, best.log_values, stop, spent)
        if self.close:
            yield (best := judge_alphas(used, best.log_values, stop, close=True))
        return best

    def _descent(
        self, folds: Sequence[Fold], start: Floats, stop: StopToken, spent: float = 0.0
    ) -> Generator[Candidate, None, Candidate]:
        """BFGS between bounds; a step is at most a decade, and half of one at first; `spent`: passes before."""
        here = judge_alphas(folds, start, stop, sloped=True)
        here = replace(here, passes=here.passes + spent)
        yield here
        inverse: Floats | None = None
        low, high = np.log(self.unit * LOWEST), np.log(self.unit * HIGHEST)
        for _ in range(MAX_TRIALS):
            assert here.slope is not None
            x = here.log_values
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
            new = judge_alphas(folds, np.clip(x + step, low, high), stop, sloped=True)
            yield new
            if not new.loss < here.loss:  # once more, at the minimum of the parabola
                rise = new.loss - here.loss - step @ slope
                share = float(np.clip(-(step @ slope) / (2.0 * rise), 0.1, 0.5)) if np.isfinite(rise) else 0.1
                new = judge_alphas(folds, np.clip(x + share * step, low, high), stop, sloped=True)
                yield new
                if not new.loss < here.loss:
                    break
            assert new.slope is not None
            inverse = _updated(inverse, new.log_values - x, new.slope - here.slope)
            fell, here = here.loss - new.loss, new
            if fell < GAIN * here.loss:
                break
        return here


def choose_alpha(
    folds: Iterable[Fold],
    strategy: GridSearch | Descent,
    stop: StopToken = NEVER,
    hear: Callable[[Candidate], object] = lambda candidate: None,
) -> Candidate | None:
    """Return the best setting on the validation rows of `folds`, found as `strategy` says; None where there is none.

    Args:
        folds: objectives on training rows, with the validation rows that judge them.
        strategy: `GridSearch` or `Descent`.
        stop: ends it.
        hear: called with each candidate as it is tried.
    """
    search = strategy.search(folds, stop)
    while True:
        try:
            candidate = next(search)
        except StopIteration as end:
            best: Candidate | None = end.value
            return best
        hear(candidate)


def judge_alphas(
    folds: Sequence[Fold], log_alpha: Floats, stop: StopToken = NEVER, *, sloped: bool = False, close: bool = False
) -> Candidate:
    """Fit each fold at alphas whose logarithms are given (G,), and judge it."""
    return judge(folds, np.exp(log_alpha), stop, sloped=sloped, close=close, log_values=log_alpha)


def row_losses(objective: "ObjectiveProtocol", w: Floats, rows: Any) -> Floats:
    """Return -log p(y) of each of some rows (n,) by the weights w."""
    z = objective.scores(w, rows)[:, : rows.n_classes]
    losses: Floats = logsumexp(z, axis=1) - z[np.arange(len(z)), rows.y]
    return losses


def named_alphas(alpha: Sequence[float]) -> dict[str, float]:
    """Return alphas as alpha_1, alpha_2, ..."""
    return {f"alpha_{order}": float(value) for order, value in enumerate(alpha, 1)}


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
