"""Steps row by row over chunks of rows: AdaGrad, means of its weights, and the choice of their step length.

    adagrad       [sALR]'s: g_j += ...,  w_j -= eta0 / (1e-9 + sqrt(G_j)) g_j  row by row (kernels/adagrad.py), a state
                  per pass. eta0 by its algorithms 4 and 5, on rows that are no training rows if there are any: POINTS
                  values of log10 eta0 between two ends, each fitted by TRIAL_PASSES passes over nine tenths of them and
                  compared by log loss on the last tenth; the neighbours of the best become the ends, until their loss
                  is within CLOSE of the best. (The paper compares RMSE.)
    averaged      the same steps, up to ten times as long: a state's weights are the mean at N_MOMENTS moments of the
                  second half of its pass, without much of the noise of the last rows. eta0 is the one whose mean is
                  best on a sample of training rows.

The order of chunks, and of rows within a chunk, is drawn again for each pass. Steps need neither F nor its gradient:
these are computed once per pass for the report, and count neither as time nor as a pass. The table of AdaGrad is
several times as large as its weights, and exists only during a pass.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import AlrvizError
from alrviz.fitting.objectives.streamed import StreamObjective, TrainValidationChunk
from alrviz.fitting.solvers.state import Solver, SolverState
from alrviz.fitting.solvers.stochastic import ENDS, TRIAL_PASSES, search_eta0
from alrviz.passes.rows import Floats

N_MOMENTS = 8  # of the second half of a pass, at which weights are averaged
# The first log10 eta0, and the distances at which others are tried, as long as the loss falls.
_FIRST_LOG_ETA0, _LOG_ETA0_STEPS = -2.0, (0.5, 0.25)
# Passes over a sample for each eta0, if there are twice as many rows and if not: the best eta0 of one pass over all
# rows is too large for a second (adult at n = 2, 10 passes: 0.277 after a search with one, 0.273 with three).
_PASSES_OVER_SAMPLE, _PASSES_OVER_ALL = 1, 3
_MIN_LARGE_SAMPLE_ROWS = 10_000  # a smaller sample is passed over TRIAL_PASSES times


@dataclass(frozen=True, eq=False)
class _Training:
    """AdaGrad's w and G (S + 1, 2, C), its eta0 and passes so far, and the weights of the state."""

    weights_and_squares: NDArray[np.float32]  # w and G (S + 1, 2, C)
    eta0: float
    passes: int
    weights: Floats  # (S + 1, C)


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
        """Return the state at the start point w0 (S + 1, C)."""
        return SolverState(0, objective.value_grad(w0), 1, objective.passes_before)

    def advance(self, objective: StreamObjective, state: SolverState) -> SolverState:
        """Return the state one pass later."""
        training = state.carry
        if training is None:
            w = state.point.w
            eta0 = self.eta0 or self._search_eta0(objective, w)
            training = _Training(np.stack([w, np.zeros_like(w)], axis=1).astype(np.float32), eta0, 0, w)
        table = objective.step_table(training.weights_and_squares[:, 0], training.weights_and_squares[:, 1])
        mean, n_before = _Mean(objective, table), objective.passes.n_passes
        progressive_loss = objective.passes.adagrad(
            table, training.eta0, (self.seed, training.passes), objective.stop,
            mean.marks if self.averaged else (), mean.add,
        )  # fmt: skip
        return replace(
            state,
            index=state.index + 1,
            passes=state.passes + objective.passes.n_passes - n_before,
            step_size=training.eta0,
            carry=_Training(objective.weights_and_squares(table), training.eta0, training.passes + 1, mean.weights),
            extra={"eta0": training.eta0, "progressive_log_loss": progressive_loss / objective.total},
        )

    def _search_eta0(self, objective: StreamObjective, w: Floats) -> float:
        """Return the step length with the lowest validation loss on a trial, from w on."""
        if self.averaged:
            return search_averaged_eta0(objective, w, self.seed)
        return search_eta0(
            lambda eta0: loss_of_mean(objective, objective.trial, w, self.seed, eta0, TRIAL_PASSES, averaged=False),
            "adagrad",
        )

    def with_report_point(self, objective: StreamObjective, state: SolverState) -> SolverState:
        """Return the state with F and its gradient at its weights. Only reports need them, and they cost a pass."""
        return state if state.carry is None else replace(state, point=objective.value_grad(state.carry.weights))

    def checkpoint(self, objective: StreamObjective, state: SolverState) -> dict[str, Any]:
        """Return the arrays and numbers from which a fit can be resumed."""
        training = state.carry
        numbers = {
            "eta0": training.eta0,
            "passes": training.passes,
            "learned": state.passes - objective.passes_before,
            "index": state.index,
        }
        return {"moved": training.weights_and_squares, "weights": training.weights, **numbers}

    def resume(self, objective: StreamObjective, checkpoint: Mapping[str, Any]) -> SolverState:
        """Return the state of a checkpoint; raise `AlrvizError` if its weights have another shape."""
        w, expected_shape = checkpoint["weights"], objective.scale.shape
        if w.shape != expected_shape:
            raise AlrvizError(
                f"the checkpoint has weights of shape {w.shape}, expected {expected_shape}; remove it to start again"
            )
        training = _Training(checkpoint["moved"], float(checkpoint["eta0"]), int(checkpoint["passes"]), w)
        point, passes = objective.value_grad(training.weights), objective.passes_before + float(checkpoint["learned"])
        extra = {"eta0": training.eta0}
        return SolverState(int(checkpoint["index"]), point, 1, passes, training.eta0, carry=training, extra=extra)


class _Mean:
    """The mean of a table's weights at `marks`, counted in rows; without any, the weights at the end."""

    def __init__(self, objective: StreamObjective, table: NDArray[np.float32], n_rows: int | None = None):
        n_visits = int(objective.total) if n_rows is None else n_rows
        self.marks = {n_visits - (n_visits // 2) * k // N_MOMENTS for k in range(N_MOMENTS)}
        self._objective, self._table, self._number = objective, table, 0
        self._sum = np.zeros(objective.scale.shape)

    def add(self) -> None:
        """Add the current weights."""
        self._sum += self._objective.weights_in(self._table)
        self._number += 1

    @property
    def weights(self) -> Floats:
        """The mean, shaped as w."""
        return self._sum / self._number if self._number else self._objective.weights_in(self._table).astype(np.float64)


def search_averaged_eta0(objective: StreamObjective, w: Floats, seed: int) -> float:
    """Return the eta0 whose mean is best on the sample, from `w` (S + 1, C) on; seed: of the order of rows."""
    trial = objective.sample
    n = trial.training.n_rows
    passes = (
        TRIAL_PASSES
        if n < _MIN_LARGE_SAMPLE_ROWS
        else _PASSES_OVER_SAMPLE
        if objective.total >= 2 * n
        else _PASSES_OVER_ALL
    )
    log_eta0 = descend(
        lambda x: loss_of_mean(objective, trial, w, seed, 10.0**x, passes), _FIRST_LOG_ETA0, _LOG_ETA0_STEPS
    )
    return float(10.0**log_eta0)


def descend(value: Callable[[float], float], x: float, steps: tuple[float, ...]) -> float:
    """Return the x with the lowest `value` on a path downhill from x, in each of `steps` in turn."""
    value_by_x = {x: value(x)}
    low, high = ENDS["adagrad"]
    for step in steps:
        has_improved = True
        while has_improved:
            has_improved = False
            for neighbour in (x - step, x + step):
                if neighbour not in value_by_x and low <= neighbour <= high:
                    value_by_x[neighbour] = value(neighbour)
                    if value_by_x[neighbour] < value_by_x[x]:
                        x, has_improved = neighbour, True
                        break
    return x


def loss_of_mean(
    objective: StreamObjective,
    trial: TrainValidationChunk,
    w: Floats,
    seed: int,
    eta0: float,
    passes: int,
    averaged: bool = True,
) -> float:
    """Return the log loss per validation row of a trial after passes from `w` (S + 1, C) over its training rows.

    seed: of the order of rows; eta0: step length; averaged: whether the weights are the mean, not those at the end.
    """
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
