"""The drawer of the Convergence page: one racer's settings, and those that all racers share.

A control that has no effect is hidden. Choices come from the registry of families, so that nothing is offered that a
recipe would refuse.
"""

from collections.abc import Callable
from typing import Any

import panel as pn
import panel_material_ui as pmui

from alrviz.errors import AlrvizError
from alrviz.explorer.glossary import explain
from alrviz.explorer.look import PANE_CSS
from alrviz.fitting.recipe import Recipe, choices
from alrviz.views.style import safe

_NONE = "none"  # stands for None in menus, which show nothing for it
_WORDS: dict[Any, str] = {"zero": "0", "one": "1", "anje": "AnJE", 0: "0", 1: "1", None: _NONE}
_CUTS = {"MDL": "mdl", "quantiles": "quantile", "equal widths": "uniform", "every value": _NONE}


class RacerSettings:
    """Settings of the racer that was chosen.

    Args:
        changed: called with the racer's number and its new recipe.
        removed: called with the racer's number.
        shared: called with changes of encoding that go to every racer.
    """

    def __init__(
        self,
        changed: Callable[[int, Recipe], None],
        removed: Callable[[int], None],
        shared: Callable[[dict[str, Any]], None],
    ):
        self._changed, self._removed, self._shared = changed, removed, shared
        self._number = 0
        self._recipe: Recipe | None = None
        self._setting = False
        self._build()

    def _build(self) -> None:
        self._title = _html()
        self._problem = _html()
        select, number = self._select, self._number_input
        self._fields: dict[str, Any] = {
            "family": select("family", "Family", {"lr": "lr", "alr": "alr"}),
            "scale": select("scale", "Scale"),
            "order": number("order", "Order n", step=1, end=5, start=1),
            "alpha": number("alpha", "alpha: strength of the pull", hint="alpha", step=0.01, start=0),
            "penalty": select("penalty", "Pull acts on"),
            "center": select("center", "Pull toward", hint="center"),
            "start": select("start", "Start at", hint="start"),
            "solver": select("solver", "Solver"),
            "memory": number("memory", "Steps that L-BFGS remembers", step=1, start=1, end=100),
            "max_iter": number("max_iter", "Most iterations", step=100, start=1, end=100_000),
            "smoothing": number("smoothing", "Smoothing m of theta", hint="theta", step=0.1, start=0),
            "missing": select("missing", "Missing values"),
            "unseen": select("unseen", "Cells never seen", hint="cell"),
            "class_weight": select("class_weight", "Class weights"),
        }
        self._common: dict[str, Any] = {
            "discretize": select("discretize", "Cut numeric columns by", _CUTS, hint="MDL"),
            "n_bins": number("n_bins", "Number of levels", step=1, start=2, end=1000),
            "holdout": number("holdout", "Share of rows held out", hint="held-out", step=0.05, start=0, end=0.95),
        }
        remove = pmui.Button(label="Remove this racer", icon="delete", variant="outlined", color="error", margin=(8, 8))
        remove.on_click(lambda _: self._removed(self._number))
        self._remove = remove
        heads = [pn.pane.HTML("<h2>All racers</h2>", stylesheets=[PANE_CSS], margin=(18, 8, 4, 8))]
        self.panel = pn.Column(
            self._title, self._problem, *self._fields.values(), remove, *heads, *self._common.values(),
            sizing_mode="stretch_width",
        )  # fmt: skip

    def _select(self, name: str, label: str, options: Any = None, hint: str = "") -> Any:
        widget = pmui.Select(
            label=label, options=options or [], size="small", description=explain(hint) if hint else "",
            sizing_mode="stretch_width", margin=(6, 8),
        )  # fmt: skip
        widget.param.watch(lambda event: self._edit(name, event.new), "value")
        return widget

    def _number_input(
        self, name: str, label: str, *, step: float, start: float, end: float | None = None, hint: str = ""
    ) -> Any:
        kind = pmui.IntInput if isinstance(step, int) else pmui.FloatInput
        shown = {} if kind is pmui.IntInput else {"format": "0[.]000000"}
        widget = kind(
            **shown, label=label, step=step, start=start, end=end, size="small",
            description=explain(hint) if hint else "", sizing_mode="stretch_width", margin=(6, 8),
        )  # fmt: skip
        widget.param.watch(lambda event: self._edit(name, event.new), "value")
        return widget

    def show(self, number: int, recipe: Recipe, name: str, *, alone: bool) -> None:
        """Show a racer's settings; `alone` is whether it is the only one (the last is not removed)."""
        self._number, self._recipe = number, recipe
        self._title.object = f"<h2>Racer: {safe(name, 60)}</h2>"
        self._problem.object = ""
        self._remove.visible = not alone
        self._setting = True
        try:
            for key, widget in self._fields.items():
                self._fill(key, widget, recipe)
            for key, widget in self._common.items():
                value = getattr(recipe, key)
                widget.value = _NONE if value is None else value
            self._common["n_bins"].visible = recipe.discretize in ("quantile", "uniform")
        finally:
            self._setting = False

    def _fill(self, key: str, widget: Any, recipe: Recipe) -> None:
        if key == "family":
            widget.value = recipe.family
            return
        if key not in recipe.params:  # a link may race AnJE, which has nothing to set but its tables
            widget.visible = False
            return
        value = recipe.params[key]
        options = choices(recipe.family, key)
        if options:
            shown = {_WORDS.get(o, str(o)): _NONE if o is None else o for o in options if o != "auto"}
            widget.options = shown
            value = recipe.solver if key == "solver" else value
        pulled = recipe.params.get("alpha", 0) > 0
        hidden = {
            "scale": len(options) < 2,
            "penalty": not pulled,
            "center": not pulled,
            "memory": recipe.solver != "lbfgs",
        }
        widget.visible = not hidden.get(key, False)
        widget.value = _NONE if value is None else value

    def _edit(self, name: str, value: Any) -> None:
        if self._setting or self._recipe is None:
            return
        if value is None:
            return  # a number being typed
        if value == _NONE and name in ("discretize", "class_weight"):
            value = None
        try:
            if name in self._common:
                self._recipe.replace(**{name: value})  # a bad value is said here
                self._shared({name: value})
            else:
                self._changed(self._number, self._recipe.replace(**{name: value}))
            self._problem.object = ""
        except AlrvizError as error:
            self._problem.object = f"<p class='bad'>{safe(error, 400)}</p>"


def _html() -> Any:
    return pn.pane.HTML("", stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=(4, 8))
