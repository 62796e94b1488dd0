"""The controls above the picture: question, data, order, alpha, and the examples to try.

They show what they are told and tell what was chosen; which racers follow from it is the page's business.
"""

from collections.abc import Callable
from typing import Any

import panel as pn

from alrviz.explorer.pages.convergence.settings import RaceSettings
from alrviz.explorer.recipes.questions import ALPHAS, EXAMPLES, OWN, QUESTIONS, Example
from alrviz.explorer.recipes.recipe_fields import alphas_beside
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import FIRST_DEMO
from alrviz.explorer.shell.glossary import explain
from alrviz.explorer.shell.theme import PANE_CSS
from alrviz.explorer.widgets.menus import FILE, order_buttons, pill, rows_menu, select, show_rows, tables_menu
from alrviz.fitting.families.param import in_digits
from alrviz.views.core.panes import Updating

WIDTHS = 128, 324  # px of the menu of questions, at least and at most
_MIXED = "mixed"  # of racers that differ


class RaceMenus:
    """The row of controls.

    Args:
        session: whose tables are offered.
        changed: called with "question", "data", "order" or "alpha" and what was chosen.
        tried: called with the example that was chosen.
    """

    def __init__(self, session: Session, changed: Callable[[str, Any], None], tried: Callable[[Example], None]):
        self._changed = changed
        self._setting = Updating()
        questions = {of.words: slug for slug, of in QUESTIONS.items()}
        # It takes the room that the row has left: what stands beside it comes and goes with the question.
        flexible = {"flex": f"1 1 {WIDTHS[0]}px", "max-width": f"{WIDTHS[1]}px", "min-width": f"{WIDTHS[0]}px"}
        self.question = select("Question", questions, None, sizing_mode="stretch_width", styles=flexible)
        self.data = select("Data", {}, 148)
        self.whole = rows_menu(session)
        self.order = order_buttons()
        self.alpha = select("alpha", {f"{a:g}": a for a in ALPHAS}, 96, description=explain("alpha"))
        for name in ("question", "data", "order", "alpha"):
            getattr(self, name).param.watch(lambda event, name=name: self._tell(name, event.new), "value")
        try_it = pn.pane.HTML("<span class='quiet'>Try:</span>", stylesheets=[PANE_CSS], margin=0, align="center")
        try_it.css_classes = ["alrviz-hint"]
        examples = pn.Row(try_it, *(pill(example, tried) for example in EXAMPLES), margin=0)
        # In a window less wide the examples have a line of their own.
        examples.styles = {"margin-left": "auto"}
        self.panel = pn.Row(
            self.question, self.data, self.whole, self.order, self.alpha, examples,
            sizing_mode="stretch_width", margin=(0, 0, 8, 0), styles={"flex-wrap": "wrap", "row-gap": "6px"},
            css_classes=["alrviz-first", "alrviz-part-controls"],
        )  # fmt: skip

    def _tell(self, name: str, value: Any) -> None:
        if not self._setting and value != _MIXED:
            self._changed(name, value)

    def show(self, choice: RaceSettings, session: Session) -> None:
        """Show what is set; what has no effect on the question is hidden."""
        question, order, alpha, tables = choice.question, choice.order, choice.alpha, tables_menu(session)
        asked = QUESTIONS.get(question)
        with self._setting:
            own = {"My own racers": OWN} if question == OWN else {}
            self.question.options = {of.words: slug for slug, of in QUESTIONS.items()} | own
            self.question.value = question
            self.question.description = asked.why if asked is not None else "Racers as you set them"
            self.data.options = tables
            demo = session.table.source.demo or session.table.requested_demo or (FIRST_DEMO,)
            self.data.value = FILE if FILE in tables.values() else demo[0]
            show_rows(self.whole, session)
            ordered = any("order" in recipe.params for recipe in choice.recipes)
            self.order.visible = ordered and (asked is None or asked.orders)
            # a word, or one for each order, is that racer's alone
            self.alpha.visible = any(isinstance(recipe.params.get("alpha"), float) for recipe in choice.recipes)
            orders: dict[str, Any] = {f"n = {n}": n for n in sorted({1, 2, 3, order or 1})}
            self.order.options = ({_MIXED: _MIXED} if order is None else {}) | orders
            self.order.value = order or _MIXED
            pulls = asked is not None and asked.pulls
            mixed: dict[str, Any] = {_MIXED: _MIXED} if alpha is None else {}
            self.alpha.options = mixed | {in_digits(a): a for a in alphas_beside(alpha) if a or not pulls}
            self.alpha.value = _MIXED if alpha is None else alpha
