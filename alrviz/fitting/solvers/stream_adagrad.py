"""Steps row by row over chunks of rows: AdaGrad, and means of its weights; and which step length they have.

    adagrad       [sALR]'s: g_j += ...,  w_j -= eta0 / (1e-9 + sqrt(G_j)) g_j  row by row (kernels/adagrad.py), a state
                  a pass. eta0 by its algorithms 4 and 5, on rows that are no training rows where there are any: POINTS
                  values of log10 eta0 between two ends, each fitted by PASSES passes over nine tenths of them and
                  judged by the log loss of the last tenth; the neighbours of the best become the ends, until what they
                  lose is within CLOSE of the best. (The paper judges by RMSE.)
    averaged      the same steps, up to ten times as long: a state's weights are the mean of MOMENTS of the second half
                  of its pass, in which much of the noise of the last rows is gone. eta0 is the one whose mean is best
                  on a sample of training rows.

Chunks, and rows within a chunk, come in an order drawn anew for each pass. Steps need neither F nor its gradient: these
are looked at once a pass for the report alone, on nobody's clock, and no pass of the learner's. The table that is moved
is several times as large as its weights, and there only while a pass runs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import AlrvizError
from alrviz.fitting.objectives.streamed import StreamObjective, TrainValidationChunk
from alrviz.fitting.solvers.state import Solver, SolverState
from alrviz.fitting.solvers.stochastic import ENDS, MOST_ROUNDS, PASSES, POINTS, narrowed
from alrviz.passes.rows import Floats

MOMENTS = 8  # of the second half of a pass, of which weights are a mean
# log10 eta0 that is tried first, and how far apart others are tried downhill of it.
_FIRST, _APART = -2.0, (0.5, 0.25)
# Passes over a sample for each eta0, where there are twice as many rows and where not: what is best after one pass over
# all rows there are is too long for the next (adult at n = 2, 10 passes: 0.277 after a search by one, 0.273 by three).
_OVER, _OVER_ALL = 1, 3
_FEW = 10_000  # rows of a sample that is passed over PASSES times


@dataclass(frozen=True, eq=False)
class _Training:
    """What AdaGrad has moved, w and G (S + 1, 2, C), with which eta0, in how many passes, and the weights of that."""

    moved: NDArray[np.float32]
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
            eta0 = self.eta0 or search(objective, w, self.seed)[0]
            before = _Training(np.stack([w, np.zeros_like(w)], axis=1).astype(np.float32), eta0, 0, w)
        table = objective.step_table(before.moved[:, 0], before.moved[:, 1])
        found, made = _Mean(objective, table), objective.passes.n_passes
        met = objective.passes.adagrad(
            table, before.eta0, (self.seed, before.passes), objective.stop,
            found.marks if self.averaged else (), found.add,
        )  # fmt: skip
        return replace(
            state,
            index=state.index + 1,
            passes=state.passes + objective.passes.n_passes - made,
            step_size=before.eta0,
            carry=_Training(objective.weights_and_squares(table), before.eta0, before.passes + 1, found.weights),
            extra={"eta0": before.eta0, "progressive_log_loss": met / objective.total},
        )

    def look(self, objective: StreamObjective, state: SolverState) -> SolverState:
        """Return the state with F and its gradient, which no step needs."""
        return state if state.carry is None else replace(state, point=objective.value_grad(state.carry.weights))

    def kept(self, objective: StreamObjective, state: SolverState) -> dict[str, Any]:
        """Return what a fit goes on from, as arrays and numbers."""
        of = state.carry
        numbers = {
            "eta0": of.eta0,
            "passes": of.passes,
            "learned": state.passes - objective.spent,
            "index": state.index,
        }
        return {"moved": of.moved, "weights": of.weights, **numbers}

    def resumed(self, objective: StreamObjective, kept: Mapping[str, Any]) -> SolverState:
        """Return the state that `kept` was made of; `AlrvizError` where it is of other weights."""
        w, expected = kept["weights"], objective.scale.shape
        if w.shape != expected:
            raise AlrvizError(f"what was kept has the shape {w.shape}, and this fit's is {expected}; begin anew")
        training = _Training(kept["moved"], float(kept["eta0"]), int(kept["passes"]), w)
        point, passes = objective.value_grad(training.weights), objective.spent + float(kept["learned"])
        extra = {"eta0": training.eta0}
        return SolverState(int(kept["index"]), point, 1, passes, training.eta0, carry=training, extra=extra)


class _Mean:
    """The mean of what a table's weights are at `marks`, counted in rows; without any, what they are at the end."""

    def __init__(self, objective: StreamObjective, table: NDArray[np.float32], rows: int | None = None):
        n = int(objective.total) if rows is None else rows
        self.marks = {n - (n // 2) * k // MOMENTS for k in range(MOMENTS)}
        self._of, self._table, self._number = objective, table, 0
        self._sum = np.zeros(objective.scale.shape)

    def add(self) -> None:
        """Take what they are now."""
        self._sum += self._of.weights_in(self._table)
        self._number += 1

    @property
    def weights(self) -> Floats:
        """The mean, shaped as w."""
        return self._sum / self._number if self._number else self._of.weights_in(self._table).astype(np.float64)


def searched(objective: StreamObjective, w: Floats, seed: int) -> tuple[float, float]:
    """Return eta0 from `w` (S + 1, C) on and the log loss it was chosen by: algorithms 4 and 5."""
    low, high = ENDS["adagrad"]
    known: dict[float, float] = {}
    best = 0.0
    for _ in range(MOST_ROUNDS):
        grid = np.linspace(low, high, POINTS).tolist()
        for x in grid:
            if x not in known:
                known[x] = loss_of_mean(objective, objective.trial, w, seed, 10.0**x, PASSES, averaged=False)
        best, low, high, close = narrowed(known, grid)
        if close:
            break
    return float(10.0**best), known[best]


def longest_mean(objective: StreamObjective, w: Floats, seed: int) -> tuple[float, float]:
    """Return the eta0 whose mean is best on the sample, from `w` (S + 1, C) on, and its log loss."""
    trial = objective.sample
    n = trial.training.n_rows
    passes = PASSES if n < _FEW else _OVER if objective.total >= 2 * n else _OVER_ALL
    best, least = lowest(lambda x: loss_of_mean(objective, trial, w, seed, 10.0**x, passes), _FIRST, _APART)
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


def loss_of_mean(
    objective: StreamObjective,
    trial: TrainValidationChunk,
    w: Floats,
    seed: int,
    eta0: float,
    passes: int,
    averaged: bool = True,
) -> float:
    """Return the log loss per row of a trial's judged rows after passes from `w` (S + 1, C) over the others."""
    rows, table, mean = trial.training, objective.step_table(w), None
    order = np.random.default_rng((seed, 1))
    for _ in range(passes):
        mean = _Mean(objective, table, rows.n_rows)
        objective.passes.visit(
            rows.codes, rows.y, order.permutation(rows.n_rows), table, eta0, objective.stop,
            mean.marks if averaged else (), mean.add,
        )  # fmt: skip
    assert mean is not None
    return objective.log_loss(mean.weights, trial.validation)
