"""The page "Compare": several recipes on several tables by the same folds, what wins, and by how much.

Its tab "history" lists all that the visitor ran, on whatever page.
"""

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import panel as pn
import panel_material_ui as pmui

from alrviz import __version__
from alrviz.explorer.pages.compare.controls import CompareControls
from alrviz.explorer.pages.compare.history_tab import HistoryPart
from alrviz.explorer.pages.compare.settings import FIRST, FIRST_FOLDS, FIRST_SETS, Asked, Known, learn
from alrviz.explorer.pages.compare.words import ABOUT, prices_html, script, told_html
from alrviz.explorer.pages.order.settings import FOLDS
from alrviz.explorer.recipes.recipe_fields import JUDGED
from alrviz.explorer.session.link_errors import Choices
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.view_settings import link_view
from alrviz.explorer.shell.glossary import rich
from alrviz.explorer.shell.theme import CARD, PANE_CSS, room
from alrviz.explorer.widgets.recipe_chooser import RecipeChooser
from alrviz.explorer.widgets.study_part import StudyPart
from alrviz.explorer.widgets.table_sets import OwnTables, Sets, open_all, opener
from alrviz.explorer.widgets.table_settings import with_cuts
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.protocols.compare import COMPARED
from alrviz.views.core.collapsible import Folded
from alrviz.views.core.style import HEARD, WORDS_ON_BUTTONS
from alrviz.views.studies.compare import CompareView

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

HISTORY = "history"
TABS = {"Comparison": "", "History": HISTORY}


def _distinct(recipes: tuple[Recipe, ...]) -> tuple[Recipe, ...]:
    """Each once: two that are the same would only draw with each other."""
    return tuple(dict.fromkeys(recipes))


class ComparePage(StudyPart):
    """See the module's text; the shell describes what a page is."""

    title, icon, group, slug = "Compare", "compare_arrows", "Judge", "compare"

    @staticmethod
    def choices() -> Choices:
        """Return what a link may hold of this page's own."""
        return {"tab": TABS.values(), "folds": FOLDS, "measure": COMPARED}

    def __init__(self, session: Session):
        super().__init__(session, self.slug)
        own = session.own(self.slug)
        self.own = OwnTables(session, own.files)
        sets = Sets(own.sets, self.own.of(own.files)) if own.sets or own.files else Sets(FIRST_SETS)
        self._measure = own.measure if own.measure in COMPARED else COMPARED[0]
        self.asked = Asked(sets, _distinct(own.judged) or self._first, own.folds if own.folds in FOLDS else FIRST_FOLDS)

    # ---- building ----------------------------------------------------------------------------------------------

    def view(self) -> Any:
        """Build the page."""
        session = self.session
        self.study_view = CompareView(
            measure=self._measure,
            again=self.begin,
            wake=session.wake,
            dark=session.dark,
            ready=False,
            height=f"min(560px, {room(372, 372)})",
        )
        self.study_view.param.watch(self._measured, "measure")
        link_view(session, self.slug, self.study_view, ("across", "up"))
        self.study_view.bar.panel.append(self.keep)
        self.controls = CompareControls(
            self.own, lambda sets, folds: self._set(sets=sets, folds=folds), session, self.choose_cuts
        )
        self.chooser = RecipeChooser(
            session, lambda: self.asked.recipes, lambda recipes: self._set(recipes=_distinct(recipes)), self._fresh,
            JUDGED,
        )  # fmt: skip
        self.history = HistoryPart(session)
        self.tabs = pmui.RadioButtonGroup(
            options=TABS, value=self._tab, size="small", label="Tab", stylesheets=[HEARD], margin=(0, 12, 0, 0),
            align="center", sx=WORDS_ON_BUTTONS,
        )  # fmt: skip
        self.tabs.param.watch(lambda event: session.param.update(tab=event.new), "value")
        first = pn.Row(
            self.controls.sets, self.controls.folds, self.controls.cuts, sizing_mode="stretch_width", margin=0
        )
        told = pn.Row(self.time, self.python, margin=0, styles={"margin-left": "auto"})
        second = pn.FlexBox(
            self.chooser.panel, told, align_items="center", gap="4px 8px", margin=(0, 0, 8, 0),
            sizing_mode="stretch_width",
        )  # fmt: skip
        card = pn.Column(self.study_view, styles=CARD, sizing_mode="stretch_width", margin=0)
        text = pn.pane.HTML(rich(ABOUT), stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=0)
        parts = [second, self.note, card, Folded("What it costs", self.prices), Folded("What am I looking at?", text)]
        top = pn.Row(self.tabs, first, sizing_mode="stretch_width", margin=(0, 0, 6, 0))
        self._compared = [first, pn.Column(*parts, self.dialog.place, sizing_mode="stretch_width", margin=0)]
        session.param.watch(lambda _: self._turn(), "tab")
        self.follow()
        self._turn()
        return pn.Column(top, self._compared[1], self.history.panel, sizing_mode="stretch_width", margin=0)

    @property
    def _tab(self) -> str:
        tab: str = self.session.tab
        return tab if tab in TABS.values() else ""

    def _turn(self) -> None:
        """Show the tab that is set; the other is hidden, not taken out."""
        if self.session.page != self.slug:
            return
        history = self._tab == HISTORY
        self.tabs.value = self._tab
        for part in self._compared:
            part.visible = not history
        self.history.panel.visible = history
        if history:
            self.history.ask()
        else:
            self.ask()

    def drawer(self) -> Any:
        """Return the settings of the recipe chosen."""
        return self.chooser.settings.panel

    @property
    def front(self) -> bool:
        """Whether the comparison is what the visitor sees."""
        return super().front and self._tab != HISTORY

    def pump(self) -> bool:
        """Take over what threads have finished; returns whether there may be more."""
        waiting = self.history.pump()
        return super().pump() or waiting

    def on_shown(self) -> None:
        """Turn to what came meanwhile."""
        self._turn()

    def close(self) -> None:
        """End the threads' work; studies are the registry's."""
        if "history" in vars(self):  # it is built on the first visit
            self.history.close()
        super().close()

    # ---- what is asked -----------------------------------------------------------------------------------------

    def _fresh(self) -> Recipe:
        """A recipe that is not there yet: the next order of alr, where it can be."""
        tried = (with_cuts([Recipe("alr", order=order, alpha="cv")], self.session.cuts)[0] for order in (2, 1, 3))
        return next((recipe for recipe in tried if recipe not in self.asked.recipes), Recipe("ande"))

    @property
    def _first(self) -> tuple[Recipe, ...]:
        return with_cuts(FIRST, self.session.cuts)

    def recut(self, slug: str) -> None:
        """Cut numbers so in every recipe."""
        self._set(recipes=_distinct(with_cuts(self.asked.recipes, slug)))

    def _measured(self, event: Any) -> None:
        self.session.measure = "" if event.new == COMPARED[0] else event.new

    def _set(self, **changes: Any) -> None:
        """Take new settings, also into the link: the page's own are the shortest."""
        self.asked = asked = replace(self.asked, **changes)
        first = asked.sets == Sets(FIRST_SETS)
        self.session.param.update(
            judged=() if asked.recipes == self._first else asked.recipes,
            folds="" if asked.folds == FIRST_FOLDS else asked.folds,
            sets=() if first else asked.sets.demos,
            files=() if first else tuple(link for link, _ in asked.sets.own),
        )
        self.ask()

    def ask(self) -> None:
        """Take notice of a table that was dropped: it joins the data sets; then learn what is set."""
        if self.session.page != self.slug:
            return  # the link holds what another page has for itself
        new = self.own.look()
        sets = self.asked.sets
        links = [link for link, _ in sets.own]
        if new is not None or self.own.of(links) != sets.own:
            # The page's own sets make room: nobody chose them.
            demos = () if new is not None and sets == Sets(FIRST_SETS) else sets.demos
            self._set(sets=Sets(demos, self.own.of(links if new is None else [*links, new])))
        else:
            super().ask()

    def without_table(self) -> None:
        """Compare all the same: demo sets need no table of the session's."""
        self.seek(self.sought(None), self.work(None))

    def sought(self, dataset: "Dataset | None") -> Hashable:
        """Return what a study here is about: not the session's table, unless it is among those chosen."""
        chosen = any(self.session.file == link for link, _ in self.asked.sets.own)
        return self.asked, self.session.seed, dataset.hash if chosen and dataset is not None else ""

    def settings(self) -> Hashable:
        """Return what is set."""
        return self.asked

    def work(self, dataset: "Dataset | None") -> Callable[[StopToken], Known]:
        """Return what opens and prices the tables, to be called on a thread."""
        session, asked = self.session, self.asked
        seed, owner, most = session.seed, session.owner, session.registry.limits.threads or 10**6
        tables = partial(open_all, asked.sets, seed, opener(session), tell=self.tell)
        return lambda stop: learn(asked, seed, owner, most, tables, stop, self.tell)

    def ground_changed(self) -> None:
        """Show it on another ground."""
        super().ground_changed()
        self.chooser.show()

    def show_settings(self) -> None:
        """Let the controls show what is set."""
        self.controls.show(self.asked.sets, self.asked.folds, self.asked.recipes)
        self.chooser.show()

    def told(self, known: Known) -> tuple[str, str]:
        """Return the line of what it takes, and the table of prices, as HTML."""
        return told_html(known), prices_html(known)

    def script(self, known: Known) -> str:
        """Return the script of "copy as Python"."""
        return script(known, self.session.seed, __version__)
