"""The controls above the picture: question, data, order, alpha, and the examples to try.

They show settings and report choices; the page derives the racers.
"""

from collections.abc import Callable
from typing import Any

import panel as pn

from alrviz.explorer.pages.convergence.settings import RaceSettings
from alrviz.explorer.recipes.questions import CUSTOM, EXAMPLES, QUESTIONS, Example
from alrviz.explorer.recipes.recipe_fields import alpha_entries
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.glossary import explain
from alrviz.explorer.shell.theme import PANE_CSS
from alrviz.explorer.widgets.menus import (
    data_menu,
    order_buttons,
    pill,
    sample_or_all_menu,
    select,
    show_data,
    show_rows,
)
from alrviz.views.core.panes import Updating

QUESTION_WIDTHS = 128, 324  # minimum and maximum width of the menu of questions, px
_MIXED = "mixed"  # menu value for racers that differ


class RaceMenus:
    """The row of controls.

    Args:
        session: its tables are offered.
        on_change: called with "question", "order" or "alpha" and the value chosen.
        on_data: called when a table is chosen, before it is loaded.
        on_try: called with the example chosen.
    """

    def __init__(
        self,
        session: Session,
        on_change: Callable[[str, Any], None],
        on_data: Callable[[], None],
        on_try: Callable[[Example], None],
    ):
        self._on_change = on_change
        self._setting = Updating()
        # Flexible, because the controls beside it depend on the question.
        flexible_styles = {
            "flex": f"1 1 {QUESTION_WIDTHS[0]}px",
            "max-width": f"{QUESTION_WIDTHS[1]}px",
            "min-width": f"{QUESTION_WIDTHS[0]}px",
        }
        self.question = select("Question", {}, None, sizing_mode="stretch_width", styles=flexible_styles)
        self.data = data_menu(session, on_data, 148)
        self.whole = sample_or_all_menu(session)
        self.order = order_buttons()
        self.alpha = select("alpha", {}, 96, description=explain("alpha"))
        for name in ("question", "order", "alpha"):
            getattr(self, name).param.watch(lambda event, name=name: self._report_choice(name, event.new), "value")
        try_it = pn.pane.HTML("<span class='quiet'>Try:</span>", stylesheets=[PANE_CSS], margin=0, align="center")
        try_it.css_classes = ["alrviz-hint"]
        examples = pn.Row(try_it, *(pill(example, on_try) for example in EXAMPLES), margin=0)
        # In a narrow window the examples wrap onto a second line.
        examples.styles = {"margin-left": "auto"}
        self.panel = pn.Row(
            self.question, self.data, self.whole, self.order, self.alpha, examples,
            sizing_mode="stretch_width", margin=(0, 0, 8, 0), styles={"flex-wrap": "wrap", "row-gap": "6px"},
            css_classes=["alrviz-first", "alrviz-part-controls"],
        )  # fmt: skip

    def _report_choice(self, name: str, value: Any) -> None:
        if not self._setting and value not in (None, _MIXED):
            self._on_change(name, value)

    def show(self, choice: RaceSettings, session: Session) -> None:
        """Show the settings; controls without an effect are hidden."""
        question, order, alpha = choice.question, choice.order, choice.alpha
        show_data(self.data, session)
        show_rows(self.whole, session)
        definition = QUESTIONS.get(question)
        with self._setting:
            custom = {"My own models": CUSTOM} if question == CUSTOM else {}
            self.question.options = {definition.label: slug for slug, definition in QUESTIONS.items()} | custom
            self.question.value = question
            self.question.description = (
                definition.description if definition is not None else "The models that you have set"
            )
            any_order = any("order" in recipe.params for recipe in choice.recipes)
            self.order.visible = any_order and (definition is None or definition.has_order)
            # An alpha such as "auto", or one per order, is set in a racer's own settings.
            self.alpha.visible = any(isinstance(recipe.params.get("alpha"), float) for recipe in choice.recipes)
            orders: dict[str, Any] = {f"n = {n}": n for n in sorted({1, 2, 3, order or 1})}
            self.order.options = ({_MIXED: _MIXED} if order is None else {}) | orders
            self.order.value = order or _MIXED
            needs_penalty = definition is not None and definition.needs_penalty
            mixed: dict[str, Any] = {_MIXED: _MIXED} if alpha is None else {}
            alpha_by_label = alpha_entries(alpha)
            self.alpha.options = mixed | {
                label: value for label, value in alpha_by_label.items() if value or not needs_penalty
            }
            self.alpha.value = _MIXED if alpha is None else alpha
