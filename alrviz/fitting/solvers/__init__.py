"""Solvers: frozen configurations with `init` and `advance`; the driver owns loop, clock, limits and log."""

from collections.abc import Callable

from alrviz.errors import RecipeError, nearest
from alrviz.fitting.objective import LinearObjective
from alrviz.fitting.solvers.line_search import LBFGS, ConjugateGradients, GradientDescent
from alrviz.fitting.solvers.state import REFRESH, Solver, State

__all__ = ["LBFGS", "REFRESH", "ConjugateGradients", "GradientDescent", "Solver", "State", "make_solver"]

SOLVERS: dict[str, Callable[[int], Solver]] = {
    "lbfgs": LBFGS,
    "cg": lambda memory: ConjugateGradients(),
    "gd": lambda memory: GradientDescent(),
}


def make_solver(name: str, memory: int, objective: LinearObjective) -> Solver:
    """Return the solver of that name; raises `RecipeError`, naming those that fit, if the objective lacks its needs."""
    solver = SOLVERS[name](memory)
    lacking = solver.needs - objective.offers
    if lacking:
        fit = [other for other, make in SOLVERS.items() if make(memory).needs <= objective.offers]
        raise RecipeError(f"solver={name!r} needs {', '.join(sorted(lacking))}, which this objective has not; "
                          f"expected one of {', '.join(map(repr, fit))}{nearest(name, fit)}")  # fmt: skip
    return solver
