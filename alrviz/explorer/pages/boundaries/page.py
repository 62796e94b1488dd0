"""The Boundaries page: what classifiers make of two columns, as maps; a tab for any family.

A tab is a class with `controls` and `told` (what stands in the page's first row), `panel`, `shown()` (it comes to the
front, or its table changed), `hidden()`, `pump()` and `close()`. It is built when it is first shown; what it shows is
in the session, and so in the link.
"""

from functools import cached_property
from typing import Any

import panel as pn
import panel_material_ui as pmui

from alrviz.explorer.pages.boundaries.words import ABOUT
from alrviz.explorer.session.link_errors import Choices
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.glossary import rich
from alrviz.explorer.shell.theme import PANE_CSS
from alrviz.explorer.widgets.dialogs import ScriptDialog
from alrviz.explorer.widgets.menus import data_menu, show_data
from alrviz.views.core.collapsible import Folded
from alrviz.views.core.style import HEARD, WORDS_IN_ONE_LINE

_FLEXIBLE: dict[str, Any] = {"align_items": "center", "gap": "4px 0", "sizing_mode": "stretch_width"}
DLR = "dlr"  # in a link it is left out: the first tab
TABS = {"DLR": DLR, "Any family": "any"}


def _tab(slug: str) -> Any:
    """The class of a tab, imported when it is first shown: the first screen need not wait for it."""
    if slug == DLR:
        from alrviz.explorer.pages.boundaries.dlr_tab import DlrTab

        return DlrTab
    from alrviz.explorer.pages.boundaries.family_tab import FamilyTab

    return FamilyTab


class BoundariesPage:
    """See the module's text; the shell describes what a page is."""

    title, icon, group, slug = "Boundaries", "join_inner", "See", "boundaries"

    @staticmethod
    def choices() -> Choices:
        """Return what a link may hold of this page's own."""
        from alrviz.estimators.peers import known_peers
        from alrviz.studies.maps.partial_dependence import OTHERS
        from alrviz.studies.race.reference_fit import TRUTH

        return {"tab": TABS.values(), "others": OTHERS, "peer": (*known_peers(), TRUTH)}

    def __init__(self, session: Session):
        self.session = session
        self._tabs: dict[str, Any] = {}
        self._parts: dict[str, tuple[Any, ...]] = {}
        self._at = ""

    def view(self) -> Any:
        """Build the page."""
        session = self.session
        self.choice = pmui.RadioButtonGroup(
            options=TABS, value=self._slug(session.tab), size="small", label="Tab", stylesheets=[HEARD],
            sx=WORDS_IN_ONE_LINE, margin=(0, 8, 0, 0),
        )  # fmt: skip
        self.choice.param.watch(lambda event: session.param.update(tab="" if event.new == DLR else event.new), "value")
        self.data = data_menu(session)
        self._top = pn.FlexBox(
            self.choice, self.data, margin=(0, 0, 8, 0), **(_FLEXIBLE | {"align_items": "flex-start"})
        )
        self._area = pn.Column(sizing_mode="stretch_width", margin=0)
        self._dialog = ScriptDialog()
        about = pn.pane.HTML(rich(ABOUT), stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=0)
        self._show_tab()
        session.param.watch(lambda _: self._show_tab() if session.page == self.slug else None, "tab")
        session.param.watch(lambda *_: self._show(), ["dataset", "dark", "loading"])
        folded = Folded("What am I looking at?", about)
        return pn.Column(self._top, self._area, folded, self._dialog.place, sizing_mode="stretch_width", margin=0)

    @staticmethod
    def _slug(tab: str) -> str:
        """The tab a link means; its first for what is none."""
        return tab if tab in TABS.values() else DLR

    @property
    def tab(self) -> Any:
        """The tab that is shown."""
        return self._tabs[self._at]

    def _show_tab(self) -> None:
        slug = self._slug(self.session.tab)
        if slug == self._at:
            return
        with pn.io.hold():
            if self._at:
                self.tab.hidden()
            if slug not in self._tabs:
                self._build_tab(slug)
            self._at = slug
            self.choice.value = slug
            # A tab that is left is hidden, not taken out: its figures would be made anew when it comes back.
            for name, parts in self._parts.items():
                for part in parts:
                    part.visible = name == slug
            self._show()
            self.session.open_drawer(False)

    def _build_tab(self, slug: str) -> None:
        self._tabs[slug] = tab = _tab(slug)(self.session, self._dialog, self._open_drawer)
        told = pn.Row(*tab.told, margin=0, styles={"margin-left": "auto"})
        controls = pn.FlexBox(
            *tab.controls,
            told,
            margin=0,
            styles={"flex": "1 1 0", "min-width": "680px"},
            css_classes=["alrviz-line"],
            **_FLEXIBLE,
        )
        self._parts[slug] = (controls, tab.panel)
        self._top.append(controls)
        self._area.append(tab.panel)

    def _show(self) -> None:
        """Show the session's table; behind another page, or while another table is on its way, nothing is fitted."""
        session = self.session
        show_data(self.data, session)
        if session.page == self.slug and session.loading is None:
            self.tab.shown()

    @cached_property
    def _drawer(self) -> Any:
        return pn.Column(sizing_mode="stretch_width", margin=0)

    def drawer(self) -> Any:
        """Return the place of what a tab shows there: settings of its model."""
        return self._drawer

    def _open_drawer(self, panel: Any) -> None:
        if list(self._drawer.objects) != [panel]:
            self._drawer[:] = [panel]
        self.session.open_drawer(True)

    def pump(self) -> bool:
        """Take over what threads have done."""
        return bool(self.tab.pump())

    def on_shown(self) -> None:
        """Turn to what came meanwhile."""
        self._show()

    def on_hidden(self) -> None:
        """A run goes on while its page is behind another."""

    def close(self) -> None:
        """End the threads' work; runs are the registry's."""
        for tab in self._tabs.values():
            tab.close()
