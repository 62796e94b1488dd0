"""Which parameters do not go together. What each may be by itself is in the registry (fitting/recipe.py)."""

from collections.abc import Mapping
from typing import Any

from alrviz.errors import RecipeError
from alrviz.fitting.matrix import check_solver, chosen_solver, pulled

# Solvers that follow a metric which changes from step to step.
_TAKE_METRIC = ("lbfgs", "gd")


def check_together(family: str, params: Mapping[str, Any]) -> None:
    """Raise `RecipeError`, naming what does go together, if no model has these parameters (complete) at once."""
    if "solver" not in params:  # nothing is fitted
        return
    if params["solver"] != "auto":
        check_solver(params["solver"], params["objective"], params["bounds"] is not None)
    if params["scale"] == "diagonal-adaptive":
        _check_adaptive(params)
    if params["share"] != "cell-class":
        _check_shared(family, params)
    if params["bounds"] is not None and family == "lr" and params["start"] == "anje":
        raise RecipeError(
            f"start='anje' has logarithms for weights in lr, which are below bounds={params['bounds']!r}; expected "
            "start='zero', bounds=None, or family 'alr'"
        )


def _check_adaptive(params: Mapping[str, Any]) -> None:
    if params["penalty"] == "w" and pulled(params):
        raise RecipeError(
            f"penalty='w' with alpha={params['alpha']} changes its meaning at every step of scale="
            "'diagonal-adaptive', whose weights change their units; expected penalty='phi', alpha=0 or scale='diagonal'"
        )
    solver = chosen_solver(params)
    if solver not in _TAKE_METRIC:
        listed = ", ".join(map(repr, ("auto", *_TAKE_METRIC)))
        free = " without bounds" if params["bounds"] is not None else ""
        raise RecipeError(
            f"solver={solver!r} cannot follow scale='diagonal-adaptive', which changes at every step; expected one of "
            f"{listed}{free}, or scale='diagonal'"
        )


def _check_shared(family: str, params: Mapping[str, Any]) -> None:
    scale, share = params["scale"], params["share"]
    if scale in ("diagonal", "diagonal-adaptive"):
        raise RecipeError(
            f"share={share!r} with scale={scale!r} is no model: that scale is made for one weight per cell and class; "
            "expected share='cell-class', or scale='none'"
        )
    for name in ("start", "center"):
        if family == "lr" and params[name] == "anje":
            raise RecipeError(
                f"{name}='anje' needs a weight per cell and class in lr, and share={share!r} has fewer; expected "
                f"share='cell-class', {name}={'zero' if name == 'start' else 0!r}, or family 'alr'"
            )
