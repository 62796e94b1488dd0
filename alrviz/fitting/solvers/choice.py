"""Which solver runs, with how much memory, and why: a sentence for whoever asked for "auto" or for more than there is.

between bounds      lbfgsb, the only one that keeps them
with a penalty      tron: there is an optimum, and it is the fewest passes away (docs/solvers.md); not where the metric
                    changes at every step, for tron has one of its own
else                lbfgs, with min(memory, what max_memory leaves) corrections
fewer than LEAST    cg, which remembers one direction; gd where the metric changes at every step, which cg cannot
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from alrviz.fitting.solvers.solver_support import chosen_solver
from alrviz.fitting.solvers.tron import KEPT

# With fewer corrections L-BFGS is hardly better than CG, which needs no room for any.
LEAST = 3
# Vectors as long as the weights that a solver keeps besides those of the point before, this one and the line between.
_VECTORS: Mapping[str, int] = {"cg": 2, "sgd": 5, "adagrad": 6, "lbfgsb": 14}
_WHY: Mapping[str, str] = {
    "tron": "tron: with a penalty it is at the optimum after the fewest passes",
    "lbfgs": "lbfgs: few passes, and a step for each",
    "lbfgsb": "lbfgsb: no other solver keeps weights between bounds",
}


@dataclass(frozen=True)
class SolverChoice:
    """A solver ("none" where nothing is fitted), its number of corrections (0 without any), why, vectors it keeps.

    `as_asked`: both are what the recipe names.
    """

    solver: str
    memory: int
    reason: str
    vectors: int
    as_asked: bool = False


def choose(params: Mapping[str, Any], room: float) -> SolverChoice:
    """Return what runs for `params` (complete, as a recipe holds them) with `room` for so many vectors of weights."""
    solver = chosen_solver(params)
    if solver == "none":
        return SolverChoice(solver, 0, "nothing is fitted: counting is all", 0)
    auto, wanted = params.get("solver") == "auto", params.get("memory", 0)
    why = _WHY[solver] if auto else f"{solver}, as the recipe says"
    if solver == "lbfgsb":
        return SolverChoice(solver, wanted, why, 2 * wanted + _VECTORS[solver], not auto)
    if solver == "tron":
        memory = next((m for m in range(wanted, 0, -1) if _of_tron(m) <= room), 0)
        if memory >= min(LEAST, wanted) or not auto:
            reason = _short(solver, memory, wanted, why)
            return SolverChoice(solver, memory, reason, _of_tron(memory), not auto and memory == wanted)
        solver, why = "lbfgs", "lbfgs instead of tron: max_memory leaves no room for its inner loop"
    if solver != "lbfgs":
        return SolverChoice(solver, 0, why, _VECTORS.get(solver, 0), not auto)
    # What runs is not decided by max_iter, though a short fit fills less: its steps are the first of a long one.
    memory = int(max(0, min(wanted, room)))  # a correction is two vectors of float32
    if memory < min(LEAST, wanted):
        return _without_memory(params, room)
    reason, vectors = _short(solver, memory, wanted, why), min(memory, params["max_iter"])
    return SolverChoice(solver, memory, reason, vectors, not auto and memory == wanted)


def _of_tron(memory: int) -> int:
    """Vectors of tron: corrections, or pairs of two inner loops in their place; its metric, and a product with it."""
    return max(memory, 2 * min(KEPT, memory)) + 2


def _short(solver: str, memory: int, wanted: int, why: str) -> str:
    if memory == wanted:
        return why
    return f"{solver}, with {memory} corrections instead of {wanted}: max_memory leaves no room for more"


def _without_memory(params: Mapping[str, Any], room: float) -> SolverChoice:
    held = max(0, int(room))
    solver = "gd" if params["scale"] == "diagonal-adaptive" else "cg"
    why = f"{solver} instead of lbfgs: max_memory leaves room for {held} corrections, fewer than {LEAST} are no help"
    return SolverChoice(solver, 0, why, _VECTORS.get(solver, 0))
