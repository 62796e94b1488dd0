"""The drawer of the Convergence page and of studies: one recipe's settings, and those that all of them share.

A control that has no effect is hidden, and nothing is offered that a recipe would refuse: `recipe_fields` tells.
"""

from collections.abc import Callable, Sequence
from typing import Any

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from alrviz.errors import AlrvizError, RecipeError
from alrviz.explorer.recipes.recipe_fields import (
    MODEL,
    RACERS,
    Choosable,
    param_of,
    setting_names,
)
from alrviz.explorer.shell.glossary import explain
from alrviz.explorer.shell.theme import PANE_CSS, button, html
from alrviz.fitting.families import ENCODING, FAMILIES, RUNS
from alrviz.fitting.families.param import Param, in_digits
from alrviz.fitting.recipe import Recipe, paper_mode
from alrviz.views.core.panes import Updating
from alrviz.views.core.style import safe

_NONE = "none"  # stands for None in menus, which show nothing for it
_PAPER = "Paper mode: start, solver, tolerance and limits as the papers have them, unregularised"
_BADGE = "<p><b class='good'>paper mode</b> <span class='quiet'>as the papers ran it</span></p>"


class RecipeSettings:
    """Settings of the racer that was chosen.

    Args:
        changed: called with the racer's number and its new recipe.
        removed: called with the racer's number.
        shared: called with changes of encoding that go to every racer.
        choosable: what may be chosen.
    """

    def __init__(
        self,
        changed: Callable[[int, Recipe], None],
        removed: Callable[[int], None],
        shared: Callable[[dict[str, object]], None],
        choosable: Choosable = RACERS,
    ):
        self._changed, self._removed, self._shared = changed, removed, shared
        self._choosable, self._what = choosable, choosable.what
        self._number = 0
        self._recipe: Recipe | None = None
        self._setting = Updating()
        self._build()

    def _build(self) -> None:
        self._title, self._problem, self._badge, self._solver = (html((4, 8)) for _ in range(4))
        self._reasons: Sequence[str] = ()
        family = self._select("family", "Family")
        family.options = {FAMILIES[name].words: name for name in self._choosable.families}
        self._fields: dict[str, Viewable] = {"family": family}
        # A link may ask for a run of a family that is not on offer.
        names = setting_names(dict.fromkeys((*RUNS, *self._choosable.families)))
        self._fields |= {name: self._widget(name) for name in names}
        self._each = self._numbers_input()
        self._common = {name: self._widget(name) for name, param in ENCODING.items() if param.key}
        self._remove = button(
            f"Remove this {self._what.lower()}", lambda: self._removed(self._number), icon="delete",
            variant="outlined", color="error", margin=(8, 8),
        )  # fmt: skip
        self._paper = button(
            "Paper mode", lambda: self._change(paper_mode), icon="article", variant="outlined", description=_PAPER,
            margin=(8, 8),
        )  # fmt: skip
        all_of_them = "Its rows" if self._what == MODEL else f"All {self._what.lower()}s"
        head = pn.pane.HTML(f"<h2>{all_of_them}</h2>", stylesheets=[PANE_CSS], margin=(18, 8, 4, 8))
        every = list(self._fields.values())
        every.insert(every.index(self._fields["alpha"]) + 1, self._each)
        below = every.index(self._fields["solver"]) + 1
        self.panel = pn.Column(
            self._title, self._badge, self._problem, *every[:below], self._solver, *every[below:],
            pn.Row(self._paper, self._remove), head, *self._common.values(), sizing_mode="stretch_width",
        )  # fmt: skip

    def _widget(self, name: str) -> Viewable:
        param = param_of(name)
        looks = self._looks(name, param)
        if self._choosable.is_menu(name):
            return self._select(name, **looks)
        kind = pmui.IntInput if param.integer else pmui.FloatInput
        shown = {} if param.integer else {"format": "0.[000000]"}
        widget = kind(**shown, **looks, size="small", sizing_mode="stretch_width", margin=(6, 8))
        widget.param.watch(lambda event: self._edit(name, event.new), "value")
        return widget

    def _looks(self, name: str, param: Param) -> dict[str, Any]:
        """What a family's `Param` says of its widget: two families may have different parameters of one name."""
        looks = {"label": param.label or name, "description": explain(param.term) if param.term else ""}
        if self._choosable.is_menu(name):
            return looks
        return looks | {"step": param.step, "start": param.low, "end": min(param.high, param.highest)}

    def _select(self, name: str, label: str, description: str = "") -> Viewable:
        widget = pmui.Select(
            label=label, options=[], size="small", description=description, sizing_mode="stretch_width", margin=(6, 8)
        )
        widget.param.watch(lambda event: self._edit(name, event.new), "value")
        return widget

    def _numbers_input(self) -> Viewable:
        """Where a family takes an alpha for each order: these in a line."""
        widget = pmui.TextInput(
            label="alpha of each order, one, or auto", placeholder="0.1, 1", size="small", description=explain("alpha"),
            sizing_mode="stretch_width", margin=(6, 8),
        )  # fmt: skip
        widget.param.watch(lambda event: self._edit_numbers(event.new), "value")
        return widget

    def _edit_numbers(self, text: str) -> None:
        if text.strip() == "auto":
            self._edit("alpha", "auto")
            return
        try:
            given = tuple(float(part) for part in text.replace(";", ",").split(",") if part.strip())
        except ValueError:
            given = ()
        if not given and not self._setting:
            self._problem.object = "<p class='bad'>alpha is not read; expected one number, or such as 0.1, 1</p>"
        elif given:
            self._edit("alpha", given[0] if len(given) == 1 else given)

    def show(self, number: int, recipe: Recipe, name: str, *, alone: bool) -> None:
        """Show a racer's settings; `alone` is whether it is the only one (the last is not removed)."""
        self._number, self._recipe = number, recipe
        self._title.object = f"<h2>{self._what}: {safe(name, 60)}</h2>"
        self._problem.object = ""
        self._remove.visible = not alone
        self._paper.visible = "solver" in recipe.params and not recipe.paper
        self._badge.object = _BADGE if "solver" in recipe.params and recipe.paper else ""
        with self._setting:
            self._fields["family"].value = recipe.family
            for key, widget in (self._fields | self._common).items():
                if key != "family":
                    self._fill(key, widget, recipe)
            param = recipe.definition.params.get("alpha")
            worded = param is not None and (param.each or recipe.params["alpha"] == "auto")
            self._each.visible = worded and not self._choosable.is_menu("alpha")
            if self._each.visible:
                self._fields["alpha"].visible, self._each.value = False, in_digits(recipe.params["alpha"])
        self.tell(self._reasons)

    def tell(self, reasons: Sequence[str]) -> None:
        """Say of every racer which solver will run and why, where that is known; "" where there is no more to it."""
        self._reasons = reasons
        reason = reasons[self._number] if self._number < len(reasons) else ""
        self._solver.object = f"<p class='quiet'>{safe(reason)}</p>" if reason else ""

    def _fill(self, key: str, widget: Viewable, recipe: Recipe) -> None:
        widget.visible = self._choosable.shows(recipe, key)
        if key not in recipe.settings:
            return
        value = recipe.value(key)
        widget.param.update(**self._looks(key, recipe.settings[key]))  # before the value, which its bounds hold
        if self._choosable.is_menu(key):
            values = self._choosable.values(recipe, key)
            widget.options = {self._words(recipe, key, o): _NONE if o is None else o for o in values}
            value = _NONE if value is None else value
        elif isinstance(value, tuple | str):
            return  # `_each` shows it
        widget.value = value

    @staticmethod
    def _words(recipe: Recipe, key: str, value: object) -> str:
        """A value in words; "auto" says what it comes to."""
        if key == "solver" and value == "auto":
            why = ", which keeps the bounds" if recipe.params["bounds"] is not None else ""
            return f"auto: {recipe.replace(solver='auto').solver}{why}"
        return recipe.settings[key].text(value)

    def _change(self, change: Callable[[Recipe], Recipe]) -> None:
        if self._recipe is None:
            return
        try:
            self._changed(self._number, self._choosable.mend(change(self._recipe)))
        except AlrvizError as error:
            self._problem.object = f"<p class='bad'>{safe(error, 400)}</p>"

    def _edit(self, name: str, value: object) -> None:
        if self._setting or self._recipe is None or value is None:  # None: a number being typed
            return
        if value == _NONE and name != "family" and None in param_of(name).choices:
            value = None
        try:
            if name in self._common:
                self._recipe.replace(**{name: value})  # a bad value is said here
                self._shared({name: value})
            else:
                self._change(lambda recipe: recipe.replace(**{name: value}))
                return
            self._problem.object = ""
        except RecipeError as error:
            self._problem.object = f"<p class='bad'>{safe(error, 400)}</p>"
