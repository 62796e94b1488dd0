"""Solvers: frozen configurations with `init` and `advance`; the driver owns loop, clock, limits and log."""

from collections.abc import Callable

from alrviz.fitting.matrix import check_solver
from alrviz.fitting.objective import LinearObjective
from alrviz.fitting.solvers.line_search import LBFGS, ConjugateGradients, GradientDescent
from alrviz.fitting.solvers.scipy_lbfgsb import LBFGSB
from alrviz.fitting.solvers.state import REFRESH, Solver, State
from alrviz.fitting.solvers.tron import Tron

__all__ = [
    "LBFGS",
    "LBFGSB",
    "REFRESH",
    "ConjugateGradients",
    "GradientDescent",
    "Solver",
    "State",
    "Tron",
    "make_solver",
]

SOLVERS: dict[str, Callable[[int, float], Solver]] = {
    "lbfgs": lambda memory, tol: LBFGS(memory),
    "cg": lambda memory, tol: ConjugateGradients(),
    "gd": lambda memory, tol: GradientDescent(),
    "tron": lambda memory, tol: Tron(),
    "lbfgsb": LBFGSB,
}


def make_solver(name: str, memory: int, objective: LinearObjective, tol: float = 0.0) -> Solver:
    """Return the solver of that name; raises `RecipeError`, naming those that fit, if the objective lacks its needs."""
    check_solver(name, objective.loss.name, objective.bounds is not None)
    return SOLVERS[name](memory, tol)
