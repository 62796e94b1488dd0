"""The page "Bias and variance": a tab for the grid of recipes and training sizes, and one for the learning curve."""

from functools import cached_property
from typing import Any

import panel as pn
import panel_material_ui as pmui

from alrviz.explorer.pages.bias.curve_settings import THETAS
from alrviz.explorer.pages.bias.tabs import FIRST, CurveTab, GridTab, Tab
from alrviz.explorer.pages.bias.words import ABOUT_CURVE, ABOUT_GRID
from alrviz.explorer.session.link_errors import Choices
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import State
from alrviz.explorer.shell.glossary import rich
from alrviz.explorer.shell.theme import CARD, PANE_CSS
from alrviz.views.core.collapsible import Folded
from alrviz.views.core.style import HEARD, WORDS_IN_ONE_LINE

TABS = {"Grid": GridTab, "Learning curve": CurveTab}
_HIGH = "440px"
_ABOUT = {GridTab.slug: ABOUT_GRID, CurveTab.slug: ABOUT_CURVE}


class BiasPage:
    """See the module's text; the shell describes what a page is."""

    title, icon, group, slug = "Bias and variance", "balance", "Judge", "bias"

    @staticmethod
    def choices() -> Choices:
        """Return what a link may hold of this page's own."""
        return {"tab": [of.slug for of in TABS.values()], "theta": THETAS}

    def __init__(self, session: Session):
        self.session = session
        self._own = {self._slug(): session.own(self.slug)}  # what the link says, of the tab it is about
        self._tabs: dict[str, Tab] = {}
        self._parts: dict[str, tuple[Any, ...]] = {}

    def view(self) -> Any:
        """Build the page; a tab is built when it is first shown."""
        session = self.session
        self.choice = pmui.RadioButtonGroup(
            options={words: of.slug for words, of in TABS.items()}, value=self._slug(), size="small", label="Tab",
            stylesheets=[HEARD], sx=WORDS_IN_ONE_LINE, margin=(0, 8, 0, 0),
        )  # fmt: skip
        self.choice.param.watch(
            lambda event: session.param.update(tab="" if event.new == FIRST else event.new), "value"
        )
        self._first = pn.FlexBox(
            self.choice, align_items="center", gap="4px 0", margin=(0, 0, 8, 0), sizing_mode="stretch_width"
        )
        self._area = pn.Column(sizing_mode="stretch_width", margin=0)
        self._show_tab()
        session.param.watch(lambda _: self._show_tab() if session.page == self.slug else None, "tab")
        return pn.Column(self._first, self._area, sizing_mode="stretch_width", margin=0)

    def _slug(self) -> str:
        """The tab that the session means; the first for what is none."""
        asked = self.session.tab
        return asked if asked in {of.slug for of in TABS.values()} else FIRST

    @property
    def tab(self) -> Tab:
        """The tab that is shown."""
        return self._tabs[self.choice.value]

    def _show_tab(self) -> None:
        slug = self._slug()
        with pn.io.hold():
            self.choice.value = slug
            if slug not in self._tabs:
                self._build(slug)
            # A tab that is left is hidden, not taken out: its figures would be made anew when it comes back.
            for name, parts in self._parts.items():
                for part in parts:
                    part.visible = name == slug
            self.session.open_drawer(False)
            self.tab.write()
            self.tab.ask()
            self.session.wake()  # what came while it was not seen

    def _build(self, slug: str) -> None:
        of = next(of for of in TABS.values() if of.slug == slug)
        self._tabs[slug] = tab = of(self.session, self.slug, self._own.get(slug, State()), self._place)
        first = pn.FlexBox(
            *tab.controls.parts, align_items="center", gap="4px 0", margin=0, styles={"flex": "1 1 0"},
            css_classes=["alrviz-line"],
        )  # fmt: skip
        # As high as it will be: what stands below must not jump when the price is known.
        card = pn.Column(tab.study_view, styles=CARD | {"min-height": _HIGH}, sizing_mode="stretch_width", margin=0)
        text = pn.pane.HTML(rich(_ABOUT[slug]), stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=0)
        below = pn.Column(
            tab.second, tab.note, card, Folded("What am I looking at?", text), tab.dialog.place,
            sizing_mode="stretch_width", margin=0,
        )  # fmt: skip
        self._parts[slug] = (first, below)
        self._first.append(first)
        self._area.append(below)
        tab.follow()

    @cached_property
    def _drawer(self) -> Any:
        return pn.Column(sizing_mode="stretch_width", margin=0)

    def drawer(self) -> Any:
        """Return the settings of the recipe chosen."""
        return self._drawer

    def _place(self, panel: Any) -> None:
        if list(self._drawer.objects) != [panel]:
            self._drawer[:] = [panel]

    # ---- the shell's calls -------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Take over what threads have finished; returns whether there may be more."""
        return self.tab.pump()

    def on_shown(self) -> None:
        """Turn to what came meanwhile."""
        self._show_tab()

    def on_hidden(self) -> None:
        """A study goes on while its page is behind another."""

    def close(self) -> None:
        """End the threads' work; studies are the registry's."""
        for tab in self._tabs.values():
            tab.close()
