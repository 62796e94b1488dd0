"""AdaGrad over chunks of rows, one state a pass: [sALR]'s learner.

    g_j += ...,  w_j -= eta0 / (1e-9 + sqrt(G_j)) g_j          row by row (kernels/adagrad.py)

Chunks, and rows within a chunk, come in an order drawn anew for each pass. eta0 is searched before the first pass on
rows that are no training rows, by algorithms 4 and 5: POINTS values of log10 eta0 between two ends, each fitted by
PASSES passes over nine tenths of them and judged by the log loss of the last tenth; the neighbours of the best become
the ends, until what they lose is within CLOSE of the best. (The paper judges by RMSE.)

F and its gradient are not needed to go on: they are looked at once a pass for the report alone, on nobody's clock.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.fitting.objectives.streamed import StreamObjective
from alrviz.fitting.solvers.state import Solver, SolverState
from alrviz.fitting.solvers.stochastic import PASSES, searched
from alrviz.passes.rows import Floats


@dataclass(frozen=True, eq=False)
class _Training:
    """What AdaGrad moves, and with which eta0, after so many passes."""

    table: NDArray[np.float32]
    eta0: float
    passes: int


@dataclass(frozen=True)
class StreamAdaGrad(Solver):
    """Steps row by row over chunks.

    Args:
        seed: of the order of rows.
    """

    seed: int = 0

    def init(self, objective: StreamObjective, w0: Floats) -> SolverState:
        """Return the state at the start point."""
        return SolverState(0, objective.value_grad(w0), 1, 1.0)

    def advance(self, objective: StreamObjective, state: SolverState) -> SolverState:
        """Return the state one pass later."""
        before = state.carry
        if before is None:
            eta0 = searched(lambda eta: self._tried(objective, state.point.w, eta), "adagrad")
            before = _Training(objective.step_table(state.point.w), eta0, 0)
        table = before.table.copy()
        met = objective.passes.adagrad(
            table, before.eta0, (self.seed, before.passes), objective.penalised, objective.stop
        )
        return replace(
            state,
            index=state.index + 1,
            passes=state.passes + 1.0,
            step_size=before.eta0,
            carry=_Training(table, before.eta0, before.passes + 1),
            extra={"eta0": before.eta0, "progressive_log_loss": met / objective.total},
        )

    def look(self, objective: StreamObjective, state: SolverState) -> SolverState:
        """Return the state with F and its gradient, which no step needs."""
        if state.carry is None:
            return state
        return replace(state, point=objective.value_grad(objective.weights_in(state.carry.table)))

    def kept(self, objective: StreamObjective, state: SolverState) -> dict[str, Any]:
        """Return what a fit goes on from, as arrays and numbers."""
        of = state.carry
        return {"moved": objective.moved_cells(of.table), "eta0": of.eta0, "passes": of.passes, "index": state.index}

    def resumed(self, objective: StreamObjective, kept: Mapping[str, Any]) -> SolverState:
        """Return the state that `kept` was made of."""
        table = objective.step_table(np.zeros(objective.scale.shape))
        objective.put_cells(table, kept["moved"])
        training = _Training(table, float(kept["eta0"]), int(kept["passes"]))
        point = objective.value_grad(objective.weights_in(table))
        extra = {"eta0": training.eta0}
        return SolverState(
            int(kept["index"]), point, 1, 1.0 + training.passes, training.eta0, carry=training, extra=extra
        )

    def _tried(self, objective: StreamObjective, w: Floats, eta0: float) -> float:
        """The log loss per row of the judged rows after PASSES passes over the others with eta0."""
        rows, table = objective.trial.learned, objective.step_table(w)
        order = np.random.default_rng((self.seed, 1))
        for _ in range(PASSES):
            objective.passes.visit(
                rows.codes, rows.y, order.permutation(rows.n_rows), table, eta0, objective.penalised, objective.stop
            )
        judged = objective.trial.judged
        with np.errstate(invalid="ignore", over="ignore"):
            z = objective.scores(objective.weights_in(table), judged)
            value = judged.loss_and_residual(z, None, 0.0, z, None).nll / judged.n_rows
        return value if math.isfinite(value) else math.inf
