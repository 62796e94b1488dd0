"""Solvers: frozen configurations with `init` and `advance`; the driver owns loop, clock, limits and log."""

from collections.abc import Callable

from alrviz.fitting.objectives.ridge import Objective
from alrviz.fitting.solvers.line_search import LBFGS, ConjugateGradients, GradientDescent
from alrviz.fitting.solvers.scipy_lbfgsb import LBFGSB
from alrviz.fitting.solvers.solver_support import check_solver
from alrviz.fitting.solvers.state import Solver
from alrviz.fitting.solvers.stochastic import Stochastic
from alrviz.fitting.solvers.tron import Tron

# name: the solver of (memory, tol, seed)
SOLVERS: dict[str, Callable[[int, float, int], Solver]] = {
    "lbfgs": lambda memory, tol, seed: LBFGS(memory),
    "cg": lambda memory, tol, seed: ConjugateGradients(),
    "gd": lambda memory, tol, seed: GradientDescent(),
    "tron": lambda memory, tol, seed: Tron(memory),
    "lbfgsb": lambda memory, tol, seed: LBFGSB(memory, tol),
    "sgd": lambda memory, tol, seed: Stochastic("sgd", seed),
    "adagrad": lambda memory, tol, seed: Stochastic("adagrad", seed),
}


def make_solver(name: str, memory: int, objective: Objective, tol: float = 0.0, seed: int = 0) -> Solver:
    """Return the solver of that name; raise `RecipeError`, naming those that fit, if the objective lacks its needs.

    memory: corrections of L-BFGS; tol: at which SciPy's solver ends; seed: of the order of rows.
    """
    check_solver(name, objective.loss.name, objective.bounds is not None)
    return SOLVERS[name](memory, tol, seed)
