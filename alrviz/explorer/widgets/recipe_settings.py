"""The drawer of the Convergence page and of studies: one recipe's settings, and those that all recipes share.

Controls without an effect are hidden, and menus offer only valid values (`recipe_fields`).
"""

from collections.abc import Callable, Sequence
from typing import Any

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from alrviz.errors import AlrvizError, RecipeError
from alrviz.explorer.recipes.recipe_fields import (
    RACE_CHOICES,
    Choosable,
    change_family,
    family_entries,
    param_of,
    setting_names,
)
from alrviz.explorer.shell.glossary import explain
from alrviz.explorer.shell.theme import PANE_CSS, button, html
from alrviz.fitting.families import ENCODING, RUNS
from alrviz.fitting.families.param import Param, in_digits
from alrviz.fitting.recipe import Recipe, paper_mode
from alrviz.views.core.panes import Updating
from alrviz.views.core.style import safe

_NONE_VALUE = "none"  # menus cannot show None
_PAPER = "Paper mode: start, solver, tolerance and limits of the papers, without a penalty"
_BADGE = "<p><b class='good'>paper mode</b> <span class='quiet'>the settings of the papers</span></p>"


class RecipeSettings:
    """The settings of one recipe of a list.

    Args:
        on_change: called with the recipe's position and the new recipe.
        on_remove: called with the recipe's position.
        on_share: called with changes of the encoding, which apply to every recipe.
        choosable: the families and values offered.
    """

    def __init__(
        self,
        on_change: Callable[[int, Recipe], None],
        on_remove: Callable[[int], None],
        on_share: Callable[[dict[str, object]], None],
        choosable: Choosable = RACE_CHOICES,
    ):
        self._on_change, self._on_remove, self._on_share = on_change, on_remove, on_share
        self._choosable, self._noun = choosable, choosable.noun
        self._position = 0
        self._recipe: Recipe | None = None
        self._setting = Updating()
        self._build()

    def _build(self) -> None:
        self._title, self._problem, self._badge, self._solver = (html((4, 8)) for _ in range(4))
        self._reasons: Sequence[str] = ()
        family = self._build_select("family", "Family")
        family.options = family_entries(self._choosable.families)
        self._fields: dict[str, Viewable] = {"family": family}
        # A link may contain a family that the menu does not offer.
        names = setting_names(dict.fromkeys((*RUNS, *self._choosable.families)))
        self._fields |= {name: self._build_widget(name) for name in names}
        self._alphas = self._numbers_input()
        self._common = {name: self._build_widget(name) for name, param in ENCODING.items() if param.key}
        self._remove = button(
            f"Remove this {self._noun.lower()}", lambda: self._on_remove(self._position), icon="delete",
            variant="outlined", color="error", margin=(8, 8),
        )  # fmt: skip
        self._paper = button(
            "Paper mode", lambda: self._change_recipe(paper_mode), icon="article", variant="outlined",
            description=_PAPER, margin=(8, 8),
        )  # fmt: skip
        heading = "Rows" if self._choosable.is_single else f"All {self._noun.lower()}s"
        heading_pane = pn.pane.HTML(f"<h2>{heading}</h2>", stylesheets=[PANE_CSS], margin=(18, 8, 4, 8))
        widgets = list(self._fields.values())
        widgets.insert(widgets.index(self._fields["alpha"]) + 1, self._alphas)
        solver_end = widgets.index(self._fields["solver"]) + 1
        self.panel = pn.Column(
            self._title, self._badge, self._problem, *widgets[:solver_end], self._solver, *widgets[solver_end:],
            pn.Row(self._paper, self._remove), heading_pane, *self._common.values(), sizing_mode="stretch_width",
        )  # fmt: skip

    def _build_widget(self, name: str) -> Viewable:
        """Return the widget of a parameter: a menu, or a field for a number."""
        param = param_of(name)
        widget_params = self._looks(name, param)
        if self._choosable.is_menu(name):
            return self._build_select(name, **widget_params)
        input_class = pmui.IntInput if param.integer else pmui.FloatInput
        format_params = {} if param.integer else {"format": "0.[000000]"}
        widget = input_class(**format_params, **widget_params, size="small", sizing_mode="stretch_width", margin=(6, 8))
        widget.param.watch(lambda event: self._set_param(name, event.new), "value")
        return widget

    def _looks(self, name: str, param: Param) -> dict[str, Any]:
        """Return the widget's parameters, from the family's `Param`: parameters of the same name may differ."""
        widget_params = {"label": param.label or name, "description": explain(param.term) if param.term else ""}
        if self._choosable.is_menu(name):
            return widget_params
        return widget_params | {"step": param.step, "start": param.low, "end": min(param.high, param.highest)}

    def _build_select(self, name: str, label: str, description: str = "") -> Viewable:
        widget = pmui.Select(
            label=label, options=[], size="small", description=description, sizing_mode="stretch_width", margin=(6, 8)
        )
        widget.param.watch(lambda event: self._set_param(name, event.new), "value")
        return widget

    def _numbers_input(self) -> Viewable:
        """Return the text field for families with an alpha per order."""
        widget = pmui.TextInput(
            label="alpha of each order, one, or auto", placeholder="0.1, 1", size="small", description=explain("alpha"),
            sizing_mode="stretch_width", margin=(6, 8),
        )  # fmt: skip
        widget.param.watch(lambda event: self._edit_numbers(event.new), "value")
        return widget

    def _edit_numbers(self, text: str) -> None:
        """Set alpha from the text of its field: "auto", a number, or one for each order."""
        if text.strip() == "auto":
            self._set_param("alpha", "auto")
            return
        try:
            alphas = tuple(float(part) for part in text.replace(";", ",").split(",") if part.strip())
        except ValueError:
            alphas = ()
        if not alphas and not self._setting:
            self._problem.object = (
                "<p class='bad'>alpha cannot be read; expected a number, or one for each order, as in 0.1, 1</p>"
            )
        elif alphas:
            self._set_param("alpha", alphas[0] if len(alphas) == 1 else alphas)

    def show(self, position: int, recipe: Recipe, name: str, *, is_only: bool) -> None:
        """Show a recipe's settings. is_only: whether it is the only recipe, which cannot be removed."""
        self._position, self._recipe = position, recipe
        self._title.object = f"<h2>{self._noun}: {safe(name, 60)}</h2>"
        self._problem.object = ""
        self._remove.visible = not is_only
        self._paper.visible = "solver" in recipe.params and not recipe.is_paper_fit
        self._badge.object = _BADGE if "solver" in recipe.params and recipe.is_paper_fit else ""
        with self._setting:
            self._fields["family"].value = recipe.family
            for key, widget in (self._fields | self._common).items():
                if key != "family":
                    self._fill_widget(key, widget, recipe)
            param = recipe.definition.params.get("alpha")
            is_text = param is not None and (param.per_order or recipe.params["alpha"] == "auto")
            self._alphas.visible = is_text and not self._choosable.is_menu("alpha")
            if self._alphas.visible:
                self._fields["alpha"].visible, self._alphas.value = False, in_digits(recipe.params["alpha"])
        self.show_solvers(self._reasons)

    def show_solvers(self, reasons: Sequence[str]) -> None:
        """Show which solver will run and why. reasons: a text for each recipe, "" if its setting says it all."""
        self._reasons = reasons
        reason = reasons[self._position] if self._position < len(reasons) else ""
        self._solver.object = f"<p class='quiet'>{safe(reason)}</p>" if reason else ""

    def _fill_widget(self, key: str, widget: Viewable, recipe: Recipe) -> None:
        """Show a recipe's value of the parameter `key`; hide the widget if it has no effect."""
        widget.visible = self._choosable.shows(recipe, key)
        if key not in recipe.settings:
            return
        value = recipe.value(key)
        widget.param.update(**self._looks(key, recipe.settings[key]))  # bounds first: they are checked with the value
        if self._choosable.is_menu(key):
            values = self._choosable.values(recipe, key)
            widget.options = {
                self._value_label(recipe, key, option): _NONE_VALUE if option is None else option for option in values
            }
            value = _NONE_VALUE if value is None else value
        elif isinstance(value, tuple | str):
            return  # shown by `_alphas`
        widget.value = value

    @staticmethod
    def _value_label(recipe: Recipe, key: str, value: object) -> str:
        """Return a value's label; that of solver "auto" names the solver."""
        if key == "solver" and value == "auto":
            suffix = ", which keeps the bounds" if recipe.params["bounds"] is not None else ""
            return f"auto: {recipe.replace(solver='auto').solver}{suffix}"
        return recipe.settings[key].text(value)

    def _change_recipe(self, change: Callable[[Recipe], Recipe]) -> None:
        """Apply a change to the recipe shown; show why if the result is invalid."""
        if self._recipe is None:
            return
        try:
            self._on_change(self._position, self._choosable.mend(change(self._recipe)))
        except AlrvizError as error:
            self._problem.object = f"<p class='bad'>{safe(error, 400)}</p>"

    def _set_param(self, name: str, value: object) -> None:
        """Set a parameter of this recipe, or of all recipes for those in `_common`."""
        if self._setting or self._recipe is None or value is None:  # None while a number is being typed
            return
        if value == _NONE_VALUE and name != "family" and None in param_of(name).choices:
            value = None
        try:
            if name in self._common:
                self._recipe.replace(**{name: value})  # raises if the value is invalid
                self._on_share({name: value})
            else:
                self._change_recipe(
                    lambda recipe: (
                        change_family(recipe, str(value)) if name == "family" else recipe.replace(**{name: value})
                    )
                )
                return
            self._problem.object = ""
        except RecipeError as error:
            self._problem.object = f"<p class='bad'>{safe(error, 400)}</p>"
