"""Which solvers fit which objectives: what a solver needs and an objective offers.

    value_grad        F and its gradient at any weights
    line_along        F along a line, with a pass over scores per trial
    hvp               Hessian-vector products (Gauss-Newton's where F is not convex)
    hessian_diagonal  the diagonal of the same matrix
    rows              single rows, and the RMSE by which their step length is chosen
    free              w may be anything; not so with bounds
    batches           a table read in batches: no objective in memory has them

Solvers and objectives have their names in recipes.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from alrviz.errors import RecipeError, nearest
from alrviz.fitting.fit_settings import Params

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

# Names in texts for people.
SOLVER_NAMES: Mapping[str, str] = {
    "lbfgs": "L-BFGS", "cg": "CG", "gd": "gradient descent", "tron": "TRON", "lbfgsb": "L-BFGS-B", "sgd": "SGD",
    "adagrad": "AdaGrad", "averaged": "averaged AdaGrad", "newton": "Newton", "none": "no solver",
    "undecided": "a solver that a sample chooses",
}  # fmt: skip
# Solvers that draw the order of the rows.
STOCHASTIC = ("sgd", "adagrad")
# Solvers only for tables read in batches.
IN_BATCHES = ("averaged",)


def offers(objective: str, bounded: bool = False) -> frozenset[str]:
    """Return the operations, as in the module, that an objective offers ("nll", "mse", "hinge"); bounded: with bounds
    on w.
    """
    return OFFERS[objective] - {"free"} if bounded else OFFERS[objective]


def compatible_solvers(objective: str, bounded: bool = False) -> list[str]:
    """Return the solvers that fit an objective ("nll", "mse", "hinge"); bounded: with bounds on w."""
    return [solver for solver, needs in NEEDS.items() if needs <= offers(objective, bounded)]


def chosen_solver(params: Params) -> str:
    """Return the solver for a linear family's parameters, "none" if nothing is fitted; choice.py explains."""
    solver = str(params.get("solver", "none"))
    if solver != "auto":
        return solver
    if params["bounds"] is not None:
        return "lbfgsb"
    return "tron" if has_penalty(params) and params["scale"] != "diagonal-adaptive" else "lbfgs"


def has_penalty(params: Params) -> bool:
    """Return whether `params` of a recipe have a penalty: alpha is above 0, or is "cv" or "auto", which choose one
    above 0.
    """
    return bool(params["alpha"])


def check_solver(solver: str, objective: str, bounded: bool = False, batches: bool = False) -> None:
    """Raise `RecipeError`, naming those that fit, if `solver` needs what the objective does not offer.

    bounded: weights have bounds; batches: the table may be read in batches.
    """
    missing = NEEDS[solver] - offers(objective, bounded) - ({"batches"} if batches else set())
    if missing:
        fit = compatible_solvers(objective, bounded)
        setting = f"objective={objective!r}" + (" with bounds" if bounded else "")
        raise RecipeError(
            f"solver={solver!r} needs {', '.join(map(repr, sorted(missing)))}, which {setting} does not offer; "
            f"expected one of {', '.join(map(repr, ['auto', *fit]))}{nearest(solver, fit)}"
        )


def solver_matrix() -> "pd.DataFrame":
    """Return which solver fits which objective: one row per solver, True if it fits.

    >>> solver_matrix().loc["lbfgs"].to_dict()
    {'nll': True, 'mse': True, 'hinge': True, 'bounds': False}
    """
    import pandas as pd

    columns = {name: compatible_solvers(name) for name in OFFERS} | {"bounds": compatible_solvers("nll", bounded=True)}
    solvers = [solver for solver, needs in NEEDS.items() if "batches" not in needs]
    return pd.DataFrame({name: [solver in fit for solver in solvers] for name, fit in columns.items()}, index=solvers)
