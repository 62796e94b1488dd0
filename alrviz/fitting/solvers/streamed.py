"""Learners over chunks of rows: steps row by row, or steps of full passes after a fit to a sample.

    adagrad       [sALR]'s: g_j += ...,  w_j -= eta0 / (1e-9 + sqrt(G_j)) g_j  row by row (kernels/adagrad.py), a state
                  a pass. eta0 by its algorithms 4 and 5, on rows that are no training rows where there are any: POINTS
                  values of log10 eta0 between two ends, each fitted by PASSES passes over nine tenths of them and
                  judged by the log loss of the last tenth; the neighbours of the best become the ends, until what they
                  lose is within CLOSE of the best. (The paper judges by RMSE.)
    averaged      the same steps, up to ten times as long: a state's weights are the mean of MOMENTS of the second half
                  of its pass, in which much of the noise of the last rows is gone. eta0 is the one whose mean is best
                  on a sample of training rows.
    tron, lbfgs   the sample is fitted exactly, in memory, as far as its log loss on further rows falls; from there
                  those solvers go on with F of all rows, a step mostly one pass (objectives/streamed.py).
    auto          averaged or tron: whichever has the lower log loss on the further rows, both fitted to the sample

Chunks, and rows within a chunk, come in an order drawn anew for each pass. Where steps need neither F nor its gradient
these are looked at once a pass for the report alone: on nobody's clock, and no pass of the learner's.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.fitting.objectives.streamed import CodedRows, StreamObjective, StreamPoint, Trial
from alrviz.fitting.solvers.line_search import LBFGS, Pairs
from alrviz.fitting.solvers.state import Solver, SolverState
from alrviz.fitting.solvers.stochastic import ENDS, MOST_ROUNDS, PASSES, POINTS, narrowed
from alrviz.fitting.solvers.tron import Region, Tron, inverted
from alrviz.passes.rows import Floats, Sums
from alrviz.passes.vectors import dot

MOMENTS = 8  # of the second half of a pass, of which weights are a mean
# log10 eta0 that is tried first, and how far apart others are tried downhill of it.
_FIRST, _APART = -2.0, (0.5, 0.25)
# Passes over a sample for each eta0, where there are twice as many rows and where not: what is best after one pass over
# all rows there are is too long for the next (adult at n = 2, 10 passes: 0.277 after a search by one, 0.273 by three).
_OVER, _OVER_ALL = 1, 3
# Of the exact fit to a sample: steps at most, and those without a lower loss on further rows after which it ends.
_MOST, _PATIENCE = 60, 10
_FEW = 10_000  # rows of a sample that is passed over PASSES times
_LOOSE = 0.1  # eta of the inner loop of tron, whose turns cost no pass here


@dataclass(frozen=True, eq=False)
class _Training:
    """What AdaGrad moves, with which eta0, after so many passes, and the weights that stand for it."""

    table: NDArray[np.float32]
    eta0: float
    passes: int
    weights: Floats


@dataclass(frozen=True)
class StreamAdaGrad(Solver):
    """Steps row by row over chunks.

    Args:
        seed: of the order of rows.
        averaged: whether weights are means.
        eta0: the step length; None to search for it.
    """

    seed: int = 0
    averaged: bool = False
    eta0: float | None = None

    def init(self, objective: StreamObjective, w0: Floats) -> SolverState:
        """Return the state at the start point."""
        return SolverState(0, objective.value_grad(w0), 1, objective.spent)

    def advance(self, objective: StreamObjective, state: SolverState) -> SolverState:
        """Return the state one pass later."""
        before = state.carry
        if before is None:
            w = state.point.w
            search = longest_mean if self.averaged else searched
            before = _Training(objective.step_table(w), self.eta0 or search(objective, w, self.seed)[0], 0, w)
        table = before.table.copy()
        found, made = _Mean(objective, table), objective.passes.made
        met = objective.passes.adagrad(
            table, before.eta0, (self.seed, before.passes), objective.penalised, objective.stop,
            found.marks if self.averaged else {}, found.add,
        )  # fmt: skip
        return replace(
            state,
            index=state.index + 1,
            passes=state.passes + objective.passes.made - made,
            step_size=before.eta0,
            carry=_Training(table, before.eta0, before.passes + 1, found.weights),
            extra={"eta0": before.eta0, "progressive_log_loss": met / objective.total},
        )

    def look(self, objective: StreamObjective, state: SolverState) -> SolverState:
        """Return the state with F and its gradient, which no step needs."""
        return state if state.carry is None else replace(state, point=objective.value_grad(state.carry.weights))

    def kept(self, objective: StreamObjective, state: SolverState) -> dict[str, Any]:
        """Return what a fit goes on from, as arrays and numbers."""
        of, table = state.carry, objective.moved_cells(state.carry.table)
        numbers = {
            "eta0": of.eta0,
            "passes": of.passes,
            "learned": state.passes - objective.spent,
            "index": state.index,
        }
        return {"moved": table, "weights": of.weights, **numbers}

    def resumed(self, objective: StreamObjective, kept: Mapping[str, Any]) -> SolverState:
        """Return the state that `kept` was made of."""
        table = objective.step_table(np.zeros(objective.scale.shape))
        objective.put_cells(table, kept["moved"])
        training = _Training(table, float(kept["eta0"]), int(kept["passes"]), kept["weights"])
        point, passes = objective.value_grad(training.weights), objective.spent + float(kept["learned"])
        extra = {"eta0": training.eta0}
        return SolverState(int(kept["index"]), point, 1, passes, training.eta0, carry=training, extra=extra)


class _Mean:
    """The mean of what a table's weights are at `marks`, counted in rows; without any, what they are at the end."""

    def __init__(self, objective: StreamObjective, table: NDArray[np.float32], rows: int | None = None):
        n = int(objective.total) if rows is None else rows
        self.marks = {n - (n // 2) * k // MOMENTS: k for k in range(MOMENTS)}
        self._of, self._table, self._number = objective, table, 0
        self._sum = np.zeros(objective.scale.shape)

    def add(self) -> None:
        """Take what they are now."""
        self._sum += self._of.weights_in(self._table)
        self._number += 1

    @property
    def weights(self) -> Floats:
        """The mean, shaped as w."""
        return self._sum / self._number if self._number else self._of.weights_in(self._table)


@dataclass(frozen=True, eq=False)
class FullPasses(Solver):
    """Steps of full passes, from a fit to a sample on.

    Args:
        solver: takes the steps: LBFGS, or Tron without its start.
        first: the weights it begins at; None for those of a fit to the sample.
    """

    solver: LBFGS | Tron
    first: Floats | None = None

    def init(self, objective: StreamObjective, w0: Floats) -> SolverState:
        """Return the state at `first`, or at the fit to the sample: one pass."""
        w, newton = self.first, isinstance(self.solver, Tron)
        objective.bends = newton
        w = fitted_sample(objective, w0)[0] if w is None else w
        point = objective.value_grad(w)
        carry: Any = ()
        if newton:
            inverse = inverted(objective.hessian_diagonal(point))
            size = math.sqrt(dot(point.gradient, point.gradient * inverse))
            carry = Region(size, size)
        return SolverState(0, point, 1, objective.spent + 1.0, carry=carry)

    def advance(self, objective: StreamObjective, state: SolverState) -> SolverState:
        """Return the state a step later; passes are those that were made, not what such a step takes in memory."""
        before = objective.passes.made
        new = self.solver.advance(objective, state)
        return replace(new, passes=state.passes + objective.passes.made - before)

    def kept(self, objective: StreamObjective, state: SolverState) -> dict[str, Any]:
        """Return what a fit goes on from, as arrays and numbers."""
        point, carry = state.point, state.carry
        pairs: Pairs = carry if isinstance(carry, tuple) else carry.pairs
        vectors = [each for s, y, _ in pairs for each in (s, y)]
        region = (0.0, 0.0) if isinstance(carry, tuple) else (carry.radius, carry.first)
        diagonal = getattr(point, "diagonal", None)
        return {
            "w": point.w, "gradient": point.gradient, "sums": point.sums, "penalty": point.penalty,
            "diagonal": 0.0 if diagonal is None else diagonal,
            "pairs": np.array(vectors, np.float32), "rho": [rho for _, _, rho in pairs], "region": region,
            "state": (state.index, state.evaluations, state.passes - objective.spent, state.step_size),
        }  # fmt: skip

    def resumed(self, objective: StreamObjective, kept: Mapping[str, Any]) -> SolverState:
        """Return the state that `kept` was made of."""
        sums, penalty = Sums(*kept["sums"].tolist()), float(kept["penalty"])
        w = kept["w"]
        objective.bends = isinstance(self.solver, Tron)
        bent = kept["diagonal"] if objective.bends else None
        point = StreamPoint(w, objective.scores(w), sums, penalty, sums.value + penalty, kept["gradient"], bent)
        vectors = kept["pairs"]
        pairs = tuple(zip(vectors[::2], vectors[1::2], kept["rho"].tolist(), strict=True))
        radius, norm = kept["region"].tolist()
        carry = Region(radius, norm, pairs) if objective.bends else pairs
        index, evaluations, learned, size = kept["state"].tolist()
        return SolverState(int(index), point, int(evaluations), objective.spent + learned, size, carry=carry)


def stream_solver(name: str, memory: int, seed: int) -> Solver:
    """Return the learner of that name, not "auto"."""
    if name in ("tron", "lbfgs"):
        return FullPasses(Tron(memory, _LOOSE) if name == "tron" else LBFGS(memory))
    return StreamAdaGrad(seed, name == "averaged")


def chosen_learner(objective: StreamObjective, w0: Floats, memory: int, seed: int) -> tuple[str, str, Solver]:
    """Return what "auto" is, why, and the learner: both candidates are fitted to the sample, from `w0` (S + 1, C)."""
    sample = objective.sample
    eta0, _ = longest_mean(objective, w0, seed)
    by_rows = _of_mean(objective, sample, w0, seed, eta0, PASSES)
    w, by_fit = fitted_sample(objective, w0)
    name = "tron" if by_fit <= by_rows else "averaged"
    other = "averaged" if name == "tron" else "tron"
    losses = sorted((by_rows, by_fit))
    learned, judged = sample.learned.n_rows, sample.judged.n_rows  # of few rows they are the same
    those = "these" if learned == judged else f"{judged:,} others"
    why = (
        f"{name}: fitted to {learned:,} rows its log loss on {those} is "
        f"{losses[0]:.4f}, that of {other} {losses[1]:.4f}"
    )
    if name == "tron":
        return name, why, FullPasses(Tron(memory, _LOOSE), w)
    return name, why, StreamAdaGrad(seed, True, eta0)


def searched(objective: StreamObjective, w: Floats, seed: int) -> tuple[float, float]:
    """Return eta0 from `w` (S + 1, C) on and the log loss it was chosen by: algorithms 4 and 5."""
    low, high = ENDS["adagrad"]
    known: dict[float, float] = {}
    best = 0.0
    for _ in range(MOST_ROUNDS):
        grid = np.linspace(low, high, POINTS).tolist()
        for x in grid:
            if x not in known:
                known[x] = _of_mean(objective, objective.trial, w, seed, 10.0**x, PASSES, averaged=False)
        best, low, high, close = narrowed(known, grid)
        if close:
            break
    return float(10.0**best), known[best]


def longest_mean(objective: StreamObjective, w: Floats, seed: int) -> tuple[float, float]:
    """Return the eta0 whose mean is best on the sample, from `w` (S + 1, C) on, and its log loss."""
    trial = objective.sample
    n = trial.learned.n_rows
    passes = PASSES if n < _FEW else _OVER if objective.total >= 2 * n else _OVER_ALL
    best, least = lowest(lambda x: _of_mean(objective, trial, w, seed, 10.0**x, passes), _FIRST, _APART)
    return float(10.0**best), least


def lowest(value: Callable[[float], float], x: float, apart: tuple[float, ...]) -> tuple[float, float]:
    """Return where `value` is lowest, and how low, of the points that lead downhill from x, `apart` and then nearer."""
    known = {x: value(x)}
    low, high = ENDS["adagrad"]
    for step in apart:
        moved = True
        while moved:
            moved = False
            for other in (x - step, x + step):
                if other not in known and low <= other <= high:
                    known[other] = value(other)
                    if known[other] < known[x]:
                        x, moved = other, True
                        break
    return x, known[x]


def _of_mean(
    objective: StreamObjective, trial: Trial, w: Floats, seed: int, eta0: float, passes: int, averaged: bool = True
) -> float:
    """The log loss per row of a trial's judged rows after so many passes over the others with eta0."""
    rows, table, mean = trial.learned, objective.step_table(w), None
    order = np.random.default_rng((seed, 1))
    for _ in range(passes):
        mean = _Mean(objective, table, rows.n_rows)
        objective.passes.visit(
            rows.codes, rows.y, order.permutation(rows.n_rows), table, eta0, objective.penalised, objective.stop,
            mean.marks if averaged else {}, mean.add,
        )  # fmt: skip
    assert mean is not None
    return _judged(objective, mean.weights, trial.judged)


def _judged(objective: StreamObjective, w: Floats, rows: CodedRows) -> float:
    with np.errstate(invalid="ignore", over="ignore"):
        z = objective.scores(w, rows)
        value = rows.loss_and_residual(z, None, 0.0, z, None).nll / rows.n_rows
    return value if math.isfinite(value) else math.inf


def fitted_sample(objective: StreamObjective, w0: Floats) -> tuple[Floats, float]:
    """Return the weights (S + 1, C) of the fit to the sample that are best on its further rows, and their log loss."""
    alone, solver, judged = objective.sampled.alone, Tron(), objective.sample.judged
    state = solver.init(alone, w0)
    best, least, since = w0, _judged(objective, w0, judged), 0
    while state.index < _MOST and since < _PATIENCE and not state.stalled:
        state = solver.advance(alone, state)
        loss = _judged(objective, state.point.w, judged)
        since += 1
        if loss < least:
            best, least, since = state.point.w.copy(), loss, 0
    alone.release(state.point)
    return best, least
