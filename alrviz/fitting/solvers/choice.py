"""The solver that runs, its memory, and a sentence that explains it where "auto" chose or memory is short.

with bounds         lbfgsb, the only one that supports them
with a penalty      tron: there is an optimum, and it takes the fewest passes (docs/solvers.md); not where the metric
                    changes at every step, because tron has its own
otherwise           lbfgs, with min(memory, what max_memory leaves) corrections
fewer than MIN_CORRECTIONS   cg, which needs one direction; gd where the metric changes at every step, which cg cannot
"""

from collections.abc import Mapping
from dataclasses import dataclass

from alrviz.fitting.fit_settings import Params
from alrviz.fitting.solvers.solver_support import chosen_solver
from alrviz.fitting.solvers.tron import MAX_PAIRS

# With fewer corrections L-BFGS is hardly better than CG, which needs none.
MIN_CORRECTIONS = 3
# Vectors as long as the weights that a solver needs besides those of the previous point, this one and the line.
_VECTORS: Mapping[str, int] = {"cg": 2, "sgd": 5, "adagrad": 6, "lbfgsb": 14}
_REASONS: Mapping[str, str] = {
    "tron": "tron: with a penalty it is at the optimum after the fewest passes",
    "lbfgs": "lbfgs: few passes, and a step for each",
    "lbfgsb": "lbfgsb: no other solver supports bounds",
}


@dataclass(frozen=True)
class SolverChoice:
    """A solver ("none" if nothing is fitted), its number of corrections (0 without any), the reason, its vectors.

    `as_requested`: solver and memory are the recipe's.
    """

    solver: str
    memory: int
    reason: str
    vectors: int
    as_requested: bool = False


def choose(params: Params, room: float) -> SolverChoice:
    """Return the solver for `params` (a complete recipe's) with `room` for that many vectors of weights."""
    solver = chosen_solver(params)
    if solver == "none":
        return SolverChoice(solver, 0, "nothing is fitted: the tables are counted", 0)
    auto, requested = params.get("solver") == "auto", params.get("memory", 0)
    reason = _REASONS[solver] if auto else f"{solver}, as the recipe says"
    if solver == "lbfgsb":
        return SolverChoice(solver, requested, reason, 2 * requested + _VECTORS[solver], not auto)
    if solver == "tron":
        n_corrections = next((m for m in range(requested, 0, -1) if _tron_vectors(m) <= room), 0)
        if n_corrections >= min(MIN_CORRECTIONS, requested) or not auto:
            full_reason = _with_shortage(solver, n_corrections, requested, reason)
            return SolverChoice(
                solver,
                n_corrections,
                full_reason,
                _tron_vectors(n_corrections),
                not auto and n_corrections == requested,
            )
        solver, reason = "lbfgs", "lbfgs instead of tron: max_memory leaves no room for its inner loop"
    if solver != "lbfgs":
        return SolverChoice(solver, 0, reason, _VECTORS.get(solver, 0), not auto)
    # max_iter does not decide what runs, though a short fit fills less memory: its steps must be those of a long one.
    n_corrections = int(max(0, min(requested, room)))  # a correction is two vectors of float32
    if n_corrections < min(MIN_CORRECTIONS, requested):
        return _without_memory(params, room)
    full_reason, vectors = (
        _with_shortage(solver, n_corrections, requested, reason),
        min(n_corrections, params["max_iter"]),
    )
    return SolverChoice(solver, n_corrections, full_reason, vectors, not auto and n_corrections == requested)


def _tron_vectors(n_corrections: int) -> int:
    """Return tron's vectors: corrections, or pairs of two inner loops in their place; its metric, and a product with
    it.
    """
    return max(n_corrections, 2 * min(MAX_PAIRS, n_corrections)) + 2


def _with_shortage(solver: str, n_corrections: int, requested: int, reason: str) -> str:
    if n_corrections == requested:
        return reason
    return f"{solver}, with {n_corrections} corrections instead of {requested}: max_memory leaves no room for more"


def _without_memory(params: Params, room: float) -> SolverChoice:
    """Return a solver without corrections for a complete recipe's `params`, as there is `room` for too few of them."""
    n_corrections = max(0, int(room))
    solver = "gd" if params["scale"] == "diagonal-adaptive" else "cg"
    reason = (
        f"{solver} instead of lbfgs: max_memory leaves room for {n_corrections} corrections, fewer than "
        f"{MIN_CORRECTIONS} are no help"
    )
    return SolverChoice(solver, 0, reason, _VECTORS.get(solver, 0))
