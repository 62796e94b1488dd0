"""Which parameters do not go together. What each may be by itself is in the registry (fitting/recipe.py)."""

from collections.abc import Mapping
from typing import Any

from alrviz.errors import RecipeError
from alrviz.fitting.matrix import check_solver

# Solvers that follow a metric which changes from step to step.
_TAKE_METRIC = ("lbfgs", "gd")


def check_together(family: str, params: Mapping[str, Any]) -> None:
    """Raise `RecipeError`, naming what does go together, if no model has these parameters (complete) at once."""
    if params.get("solver", "auto") != "auto":
        check_solver(params["solver"], params["objective"], params["bounds"] is not None)
    scale, share = params.get("scale"), params.get("share", "cell-class")
    if scale == "diagonal-adaptive" and params["penalty"] == "w" and params["alpha"] > 0:
        raise RecipeError(
            f"penalty='w' with alpha={params['alpha']:g} changes its meaning at every step of scale="
            "'diagonal-adaptive', whose weights change their units; expected penalty='phi', alpha=0 or scale='diagonal'"
        )
    if scale == "diagonal-adaptive" and params["solver"] not in ("auto", *_TAKE_METRIC):
        listed = ", ".join(map(repr, ("auto", *_TAKE_METRIC)))
        raise RecipeError(
            f"solver={params['solver']!r} cannot follow scale='diagonal-adaptive', which changes at every step; "
            f"expected one of {listed}, or scale='diagonal'"
        )
    if share == "cell-class":
        return
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
