"""The Boundaries page: what classifiers make of two columns, as maps; a tab for any family.

A tab is a class with `controls` and `told` (what stands in the page's first row), `panel`, `shown()` (it comes to the
front, or its table changed), `hidden()`, `pump()` and `close()`. It is built when it is first shown; what it shows is
in the session, and so in the link.
"""

from typing import Any

import panel as pn
from panel.viewable import Viewable

from alrviz.explorer.session.link_errors import Choices
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.dialogs import script_dialog
from alrviz.explorer.shell.glossary import about_html
from alrviz.explorer.shell.theme import html
from alrviz.explorer.widgets.menus import data_menu, show_data
from alrviz.explorer.widgets.tabbed_page import TabbedPage
from alrviz.studies.maps.partial_dependence import OTHERS
from alrviz.studies.race.reference_fit import TRUTH
from alrviz.views.core.collapsible import Collapsible

DLR = "dlr"  # in a link it is left out: the first tab
TABS = {"DLR": DLR, "Any family": "any"}


def _tab(slug: str) -> Any:
    """The class of a tab, imported when it is first shown: the first screen need not wait for it."""
    if slug == DLR:
        from alrviz.explorer.pages.boundaries.dlr_tab import DlrTab

        return DlrTab
    from alrviz.explorer.pages.boundaries.family_tab import FamilyTab

    return FamilyTab


class BoundariesPage(TabbedPage):
    """See the module's text; the shell describes what a page is."""

    title, icon, group, slug = "Boundaries", "join_inner", "Explore", "boundaries"
    tabs = TABS

    @staticmethod
    def choices() -> Choices:
        """Return what a link may hold of this page's own."""
        from alrviz.estimators.peers import known_peers

        return {"tab": TABS.values(), "others": OTHERS, "peer": (*known_peers(), TRUTH)}

    def __init__(self, session: Session):
        super().__init__(session)
        self._before: Any = None  # the tab that was in front last

    def view(self) -> Viewable:
        """Build the page."""
        self.data = data_menu(self.session)
        self._dialog = script_dialog()
        about = html(text=about_html("boundaries"))
        panel = super().view(self.data)
        self.session.subscribe(lambda *_: self._show_table(), ["dataset", "dark", "loading"])
        panel.extend([Collapsible("About this plot", about), self._dialog.place])
        return panel

    def build_tab(self, slug: str) -> tuple[Any, Viewable, Viewable]:
        """Return a tab, what stands of it beside the menu of tabs, and what stands below."""
        tab = _tab(slug)(self.session, self._dialog, self._open_drawer)
        told = pn.Row(*tab.told, margin=0, styles={"margin-left": "auto"})
        controls = pn.FlexBox(
            *tab.controls, told, align_items="center", gap="4px 0", sizing_mode="stretch_width", margin=0,
            styles={"flex": "1 1 0", "min-width": "680px"}, css_classes=["alrviz-line"],
        )  # fmt: skip
        return tab, controls, tab.panel

    def on_tab_shown(self) -> None:
        """Let the tab in front show the session's table; the one before it rests."""
        if self._before not in (None, self.tab):
            self._before.hidden()
        self._before = self.tab
        self._show_table()

    def _show_table(self) -> None:
        """Show the session's table; behind another page, or while another table is on its way, nothing is fitted."""
        session = self.session
        show_data(self.data, session)
        if session.page == self.slug and session.table.loading is None:
            self.tab.shown()

    def _open_drawer(self, panel: Viewable) -> None:
        self.place(panel)
        self.session.open_drawer(True)
