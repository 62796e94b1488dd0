"""Full passes over chunks of rows by tron or lbfgs, started at an exact fit to a sample.

The sample is fitted in memory as long as its log loss on validation rows falls; then the solver goes on with F of all
rows, mostly with one pass per step (objectives/streamed.py).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from alrviz.fitting.objectives.streamed import StreamObjective, StreamPoint
from alrviz.fitting.solvers.line_search import LBFGS, Pairs
from alrviz.fitting.solvers.state import Solver, SolverState
from alrviz.fitting.solvers.tron import Region, Tron, invert_diagonal
from alrviz.passes.rows import Floats, Sums
from alrviz.passes.vectors import dot

# Limits of the fit to the sample: steps, and steps without a lower validation loss.
_MAX_STEPS, _PATIENCE_STEPS = 60, 10


@dataclass(frozen=True, eq=False)
class FullPasses(Solver):
    """Steps of full passes, started at a fit to a sample.

    Args:
        solver: takes the steps: LBFGS, or Tron without its start.
        first: the start weights; None for those of a fit to the sample.
    """

    solver: LBFGS | Tron
    first: Floats | None = None

    def init(self, objective: StreamObjective, w0: Floats) -> SolverState:
        """Return the state at `first`, or at the fit to the sample from w0 (S + 1, C): one pass."""
        w, uses_newton = self.first, isinstance(self.solver, Tron)
        objective.with_curvature = uses_newton
        w = fit_sample(objective, w0)[0] if w is None else w
        point = objective.value_grad(w)
        carry: Any = ()
        if uses_newton:
            inverse = invert_diagonal(objective.hessian_diagonal(point))
            gradient_norm = math.sqrt(dot(point.gradient, point.gradient * inverse))
            carry = Region(gradient_norm, gradient_norm)
        return SolverState(0, point, 1, objective.passes_before + 1.0, carry=carry)

    def advance(self, objective: StreamObjective, state: SolverState) -> SolverState:
        """Return the state a step later; its passes are counted, as they differ from those of a step in memory."""
        n_before = objective.passes.n_passes
        next_state = self.solver.advance(objective, state)
        return replace(next_state, passes=state.passes + objective.passes.n_passes - n_before)

    def checkpoint(self, objective: StreamObjective, state: SolverState) -> dict[str, Any]:
        """Return the arrays and numbers from which a fit can be resumed."""
        point, carry = state.point, state.carry
        pairs: Pairs = carry if isinstance(carry, tuple) else carry.pairs
        vectors = [vector for s, y, _ in pairs for vector in (s, y)]
        region = (0.0, 0.0) if isinstance(carry, tuple) else (carry.radius, carry.first_norm)
        diagonal = getattr(point, "diagonal", None)
        return {
            "w": point.w, "gradient": point.gradient, "sums": point.sums, "penalty": point.penalty,
            "diagonal": 0.0 if diagonal is None else diagonal,
            "pairs": np.array(vectors, np.float32), "rho": [rho for _, _, rho in pairs], "region": region,
            "state": (state.index, state.evaluations, state.passes - objective.passes_before, state.step_size),
        }  # fmt: skip

    def resume(self, objective: StreamObjective, checkpoint: Mapping[str, Any]) -> SolverState:
        """Return the state of a checkpoint."""
        sums, penalty = Sums(*checkpoint["sums"].tolist()), float(checkpoint["penalty"])
        w = checkpoint["w"]
        objective.with_curvature = isinstance(self.solver, Tron)
        diagonal = checkpoint["diagonal"] if objective.with_curvature else None
        point = StreamPoint(
            w, objective.scores(w), sums, penalty, sums.value + penalty, checkpoint["gradient"], diagonal
        )
        vectors = checkpoint["pairs"]
        pairs = tuple(zip(vectors[::2], vectors[1::2], checkpoint["rho"].tolist(), strict=True))
        radius, norm = checkpoint["region"].tolist()
        carry = Region(radius, norm, pairs) if objective.with_curvature else pairs
        index, evaluations, passes, step_size = checkpoint["state"].tolist()
        return SolverState(
            int(index), point, int(evaluations), objective.passes_before + passes, step_size, carry=carry
        )


def fit_sample(objective: StreamObjective, w0: Floats) -> tuple[Floats, float]:
    """Return the weights (S + 1, C) of the sample's fit, from w0 on, that are best on validation rows, and their log
    loss.
    """
    sample_objective, solver, validation = objective.sampled.objective, Tron(), objective.sample.validation
    state = solver.init(sample_objective, w0)
    best_weights, lowest_loss, n_worse = w0, objective.log_loss(w0, validation), 0
    while state.index < _MAX_STEPS and n_worse < _PATIENCE_STEPS and not state.stalled:
        state = solver.advance(sample_objective, state)
        loss = objective.log_loss(state.point.w, validation)
        n_worse += 1
        if loss < lowest_loss:
            best_weights, lowest_loss, n_worse = state.point.w.copy(), loss, 0
    sample_objective.release(state.point)
    return best_weights, lowest_loss
