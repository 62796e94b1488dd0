"""The page "Which order?": the same cross-validation for orders 0 to 3, one sentence, and a way to use the answer."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import panel as pn
import panel_material_ui as pmui

from alrviz import __version__
from alrviz.explorer.pages.order.controls import OrderControls
from alrviz.explorer.pages.order.settings import FAMILIES, FIRST, FIRST_FOLDS, FOLDS, Asked, Known, learn, racers_of
from alrviz.explorer.pages.order.words import ABOUT, price_html, script, time_html
from alrviz.explorer.session.link_errors import Choices
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.glossary import rich
from alrviz.explorer.shell.theme import CARD, PANE_CSS, room
from alrviz.explorer.widgets.study_part import StudyPart
from alrviz.explorer.widgets.table_settings import with_cuts
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.views.core.collapsible import Folded
from alrviz.views.studies.order import OrderStudyView

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

_ROOM = room(360, 322)  # two lines of menus, the sentence, the row of Run
_BELOW = 152  # px of the table of prices under the reliability curve
HEIGHTS = (f"calc(.6 * {_ROOM})", f"calc(.4 * {_ROOM})", f"min(420px, {_ROOM} - {_BELOW}px)")
USE = "race this order on the page Convergence"


class OrderPage(StudyPart):
    """See the module's text; the shell describes what a page is."""

    title, icon, group, slug = "Which order?", "stairs", "Judge", "order"

    @staticmethod
    def choices() -> Choices:
        """Return what a link may hold of this page's own."""
        return {"folds": FOLDS}

    def __init__(self, session: Session):
        super().__init__(session, self.slug)
        own = session.own(self.slug)
        given = next((recipe for recipe in own.judged if recipe.family in FAMILIES), self._first)
        self.asked = Asked(given, own.folds if own.folds in FOLDS else FIRST_FOLDS)

    # ---- building ----------------------------------------------------------------------------------------------

    def view(self) -> Any:
        """Build the page."""
        session = self.session
        self.study_view = OrderStudyView(
            again=self.begin, wake=session.wake, dark=session.dark, ready=False, heights=HEIGHTS
        )
        self.controls = OrderControls(session, self._changed, partial(self.jobs.failed, "study"), self.choose_cuts)
        self.use = pmui.Button(
            label="Use it", icon="show_chart", variant="contained", margin=(0, 8, 0, 0), visible=False
        )
        self.use.on_click(lambda _: self.use_it())
        self.study_view.aside[:] = [self.prices]
        self.study_view.bar.panel.insert(2, self.use)
        told = pn.Row(self.time, self.python, margin=0, styles={"margin-left": "auto"})
        top = pn.FlexBox(
            *self.controls.parts, told, align_items="center", gap="4px 0", margin=(0, 0, 8, 0),
            sizing_mode="stretch_width",
        )  # fmt: skip
        text = pn.pane.HTML(rich(ABOUT), stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=0)
        card = pn.Column(self.study_view, styles=CARD, sizing_mode="stretch_width", margin=0)
        self.follow()
        folded = Folded("What am I looking at?", text)
        return pn.Column(top, self.note, card, folded, self.dialog.place, sizing_mode="stretch_width", margin=0)

    def drawer(self) -> Any:
        """Return nothing: all there is to set is in the first row."""

    # ---- what is asked -----------------------------------------------------------------------------------------

    def _changed(self, asked: Asked) -> None:
        self.asked = asked
        self.session.param.update(
            judged=() if asked.recipe == self._first else (asked.recipe,),
            folds="" if asked.folds == FIRST_FOLDS else asked.folds,
        )
        self.ask()

    @property
    def _first(self) -> Recipe:
        return with_cuts((FIRST,), self.session.cuts)[0]

    def recut(self, slug: str) -> None:
        """Cut numbers so in the recipe."""
        self._changed(replace(self.asked, recipe=with_cuts((self.asked.recipe,), slug)[0]))

    def settings(self) -> Asked:
        """What is set."""
        return self.asked

    def show_settings(self) -> None:
        """Let the controls show what is set."""
        self.controls.show(self.asked)

    def work(self, dataset: "Dataset") -> Callable[[StopToken], Known]:
        """Return what prices every order and makes the study."""
        session, asked = self.session, self.asked
        seed, owner, most = session.seed, session.owner, session.registry.limits.threads or 10**6
        return lambda stop: learn(dataset, asked, seed, owner, most, stop, self.tell)

    def told(self, known: Known) -> tuple[str, str]:
        """Return the time that all takes, and what each order costs."""
        return "" if known.study is None else time_html(known), price_html(known)

    def script(self, known: Known) -> str:
        """Return the script of "copy as Python"."""
        return script(self.session, known, __version__)

    # ---- using the answer --------------------------------------------------------------------------------------

    def use_it(self) -> None:
        """Race the verdict's order on the page Convergence."""
        racers = racers_of(self.study_view.study, self.session.seed)
        if racers:
            self.session.go("convergence", race=True, recipes=racers)

    def learned(self) -> None:
        """Offer the verdict's order, where there is one."""
        view = self.study_view
        if view.verdict is not None and view.verdict.notes and not view.outdated:
            self.note.visible = False  # the verdict says it
        order = None if view.verdict is None or view.outdated else view.verdict.order
        label = f"Use n = {order}" if order else "Use it"
        if (self.use.visible, self.use.label) != (bool(order), label):
            # What a button is called begins with what is written on it.
            self.use.param.update(visible=bool(order), label=label, description=f"{label}: {USE}")
