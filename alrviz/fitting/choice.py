"""Which solver runs, with how much memory, and why: a sentence for whoever asked for "auto" or for more than there is.

between bounds      lbfgsb, the only one that keeps them
else                lbfgs with min(memory, what max_memory leaves) corrections
fewer than LEAST    cg, which remembers one direction; gd where the metric changes at every step, which cg cannot
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from alrviz.fitting.matrix import chosen_solver

# With fewer corrections L-BFGS is hardly better than CG, which needs no room for any.
LEAST = 3
# Vectors as long as the weights that a solver keeps besides those of the point before, this one and the line between.
_VECTORS: Mapping[str, int] = {"cg": 2, "tron": 4, "sgd": 3, "adagrad": 3, "lbfgsb": 14}


@dataclass(frozen=True)
class Choice:
    """A solver ("none" where nothing is fitted), its number of corrections (0 without any), why, vectors it keeps."""

    solver: str
    memory: int
    reason: str
    vectors: int


def choose(params: Mapping[str, Any], room: float) -> Choice:
    """Return what runs for `params` (complete, as a recipe holds them) with `room` for so many vectors of weights."""
    solver = chosen_solver(params)
    if solver == "none":
        return Choice(solver, 0, "nothing is fitted: counting is all", 0)
    asked = params["solver"] != "auto"
    if solver == "lbfgsb":
        why = f"{solver}, as the recipe says" if asked else "lbfgsb: no other solver keeps weights between bounds"
        return Choice(solver, params["memory"], why, 2 * params["memory"] + _VECTORS[solver])
    if solver != "lbfgs":
        return Choice(solver, 0, f"{solver}, as the recipe says", _VECTORS.get(solver, 0))
    # What runs is not decided by max_iter, though a short fit fills less: its steps are the first of a long one.
    wanted = params["memory"]
    memory = int(max(0, min(wanted, room // 2)))
    if memory < min(LEAST, wanted):
        return _without_memory(params, room)
    vectors = 2 * min(memory, params["max_iter"])
    if memory < wanted:
        short = f"lbfgs, with {memory} corrections instead of {wanted}: max_memory leaves no room for more"
        return Choice(solver, memory, short, vectors)
    if asked:
        return Choice(solver, wanted, "lbfgs, as the recipe says", vectors)
    return Choice(solver, wanted, "lbfgs: few passes, whatever the penalty", vectors)


def _without_memory(params: Mapping[str, Any], room: float) -> Choice:
    held = max(0, int(room // 2))
    solver = "gd" if params["scale"] == "diagonal-adaptive" else "cg"
    why = f"{solver} instead of lbfgs: max_memory leaves room for {held} corrections, fewer than {LEAST} are no help"
    return Choice(solver, 0, why, _VECTORS.get(solver, 0))
