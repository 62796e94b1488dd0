"""Which solver fits which objective: what the one needs and the other offers.

    value_grad        F and its gradient at any weights
    line_along        F along a line, for a pass over scores a trial
    hvp               Hessian-vector products (Gauss-Newton's where F is not convex)
    hessian_diagonal  the diagonal of the same matrix
    rows              single rows, and the RMSE by which a step length is chosen for them
    free              w may be anything: not so between bounds
    batches           a table that is read in batches: no objective in memory has them

Solvers and objectives are named as a recipe names them.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from alrviz.errors import RecipeError, nearest

if TYPE_CHECKING:
    import pandas as pd

_LINE = frozenset({"value_grad", "line_along", "free"})
_NEWTON = _LINE | {"hvp", "hessian_diagonal"}
NEEDS: Mapping[str, frozenset[str]] = {
    "lbfgs": _LINE,
    "cg": _LINE,
    "gd": _LINE,
    "tron": _NEWTON,
    "lbfgsb": frozenset({"value_grad"}),
    "sgd": frozenset({"rows", "free"}),
    "adagrad": frozenset({"rows", "free"}),
    "averaged": frozenset({"batches"}),
}
OFFERS: Mapping[str, frozenset[str]] = {"nll": _NEWTON | {"rows"}, "mse": _NEWTON | {"rows"}, "hinge": _NEWTON}

# What texts for people call them.
SOLVER_NAMES: Mapping[str, str] = {
    "lbfgs": "L-BFGS", "cg": "CG", "gd": "gradient descent", "tron": "TRON", "lbfgsb": "L-BFGS-B", "sgd": "SGD",
    "adagrad": "AdaGrad", "averaged": "averaged AdaGrad", "newton": "Newton", "none": "no solver",
    "undecided": "a solver that a sample chooses",
}  # fmt: skip
# Solvers that draw the order of the rows.
STOCHASTIC = ("sgd", "adagrad")
# Solvers of tables read in batches alone.
IN_BATCHES = ("averaged",)


def offers(objective: str, bounded: bool = False) -> frozenset[str]:
    """Return what the objective of that name offers."""
    return OFFERS[objective] - {"free"} if bounded else OFFERS[objective]


def fitting_solvers(objective: str, bounded: bool = False) -> list[str]:
    """Return the solvers that fit an objective."""
    return [solver for solver, needs in NEEDS.items() if needs <= offers(objective, bounded)]


def chosen_solver(params: Mapping[str, Any]) -> str:
    """Return the solver of a linear family's parameters, "none" where nothing is fitted; choice.py tells why."""
    solver = str(params.get("solver", "none"))
    if solver != "auto":
        return solver
    if params["bounds"] is not None:
        return "lbfgsb"
    return "tron" if pulled(params) and params["scale"] != "diagonal-adaptive" else "lbfgs"


def pulled(params: Mapping[str, Any]) -> bool:
    """Whether there is a penalty: an alpha is above 0, or it is "cv", which chooses one that is."""
    return bool(params["alpha"])


def check_solver(solver: str, objective: str, bounded: bool = False, batches: bool = False) -> None:
    """Raise `RecipeError`, naming those that fit, if `solver` needs what the objective does not offer; the table may be
    read in `batches`.
    """
    lacking = NEEDS[solver] - offers(objective, bounded) - ({"batches"} if batches else set())
    if lacking:
        fit = fitting_solvers(objective, bounded)
        where = f"objective={objective!r}" + (" between bounds" if bounded else "")
        raise RecipeError(
            f"solver={solver!r} needs {', '.join(map(repr, sorted(lacking)))}, which {where} does not offer; expected "
            f"one of {', '.join(map(repr, ['auto', *fit]))}{nearest(solver, fit)}"
        )


def solver_matrix() -> "pd.DataFrame":
    """Return which solver fits which objective: one row a solver, True where it fits.

    >>> solver_matrix().loc["lbfgs"].to_dict()
    {'nll': True, 'mse': True, 'hinge': True, 'bounds': False}
    """
    import pandas as pd

    columns = {name: fitting_solvers(name) for name in OFFERS} | {"bounds": fitting_solvers("nll", bounded=True)}
    solvers = [solver for solver, needs in NEEDS.items() if "batches" not in needs]
    return pd.DataFrame({name: [solver in fit for solver in solvers] for name, fit in columns.items()}, index=solvers)
