"""Steps of full passes over chunks of rows, tron's or lbfgs's, from an exact fit to a sample of them.

The sample is fitted in memory, as far as its log loss on further rows falls; from there those solvers go on with F of
all rows, a step mostly one pass (objectives/streamed.py).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from alrviz.fitting.objectives.streamed import StreamObjective, StreamPoint
from alrviz.fitting.solvers.line_search import LBFGS, Pairs
from alrviz.fitting.solvers.state import Solver, SolverState
from alrviz.fitting.solvers.tron import Region, Tron, inverted
from alrviz.passes.rows import Floats, Sums
from alrviz.passes.vectors import dot

# Of the exact fit to a sample: steps at most, and those without a lower loss on further rows after which it ends.
_MOST, _PATIENCE = 60, 10


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
        objective.with_curvature = newton
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
        before = objective.passes.n_passes
        new = self.solver.advance(objective, state)
        return replace(new, passes=state.passes + objective.passes.n_passes - before)

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
        objective.with_curvature = isinstance(self.solver, Tron)
        bent = kept["diagonal"] if objective.with_curvature else None
        point = StreamPoint(w, objective.scores(w), sums, penalty, sums.value + penalty, kept["gradient"], bent)
        vectors = kept["pairs"]
        pairs = tuple(zip(vectors[::2], vectors[1::2], kept["rho"].tolist(), strict=True))
        radius, norm = kept["region"].tolist()
        carry = Region(radius, norm, pairs) if objective.with_curvature else pairs
        index, evaluations, learned, size = kept["state"].tolist()
        return SolverState(int(index), point, int(evaluations), objective.spent + learned, size, carry=carry)


def fitted_sample(objective: StreamObjective, w0: Floats) -> tuple[Floats, float]:
    """Return the weights (S + 1, C) of the fit to the sample that are best on its further rows, and their log loss."""
    alone, solver, judged = objective.sampled.objective, Tron(), objective.sample.validation
    state = solver.init(alone, w0)
    best, least, since = w0, objective.log_loss(w0, judged), 0
    while state.index < _MOST and since < _PATIENCE and not state.stalled:
        state = solver.advance(alone, state)
        loss = objective.log_loss(state.point.w, judged)
        since += 1
        if loss < least:
            best, least, since = state.point.w.copy(), loss, 0
    alone.release(state.point)
    return best, least
