"""The Boundaries page: maps of what classifiers predict over two columns; a tab for DLR and one for any family.

The settings of a tab (`MapTab`) are in the session, and so in the link.
"""

from typing import Any

from panel.viewable import Viewable

from alrviz.explorer.session.link_errors import Choices
from alrviz.explorer.shell.dialogs import script_dialog
from alrviz.explorer.shell.glossary import about_html
from alrviz.explorer.shell.theme import html
from alrviz.explorer.widgets.menus import data_menu, show_data
from alrviz.explorer.widgets.tabbed_page import TabbedPage
from alrviz.studies.maps.partial_dependence import OTHERS
from alrviz.studies.race.reference_fit import TRUTH
from alrviz.views.core.collapsible import Collapsible

DLR = "dlr"  # the first tab, which is left out of links
TABS = {"DLR": DLR, "Any family": "any"}


def _tab_class(slug: str) -> Any:
    """Return the class of a tab; imported late, so that the first page opens sooner."""
    if slug == DLR:
        from alrviz.explorer.pages.boundaries.dlr_tab import DlrTab

        return DlrTab
    from alrviz.explorer.pages.boundaries.family_tab import FamilyTab

    return FamilyTab


class BoundariesPage(TabbedPage):
    """The page "Boundaries"."""

    title, icon, group, slug = "Boundaries", "join_inner", "Explore", "boundaries"
    tabs = TABS

    @staticmethod
    def choices() -> Choices:
        """Return the valid values of this page's link properties."""
        from alrviz.estimators.peers import known_peers

        return {"tab": TABS.values(), "others": OTHERS, "peer": (*known_peers(), TRUTH)}

    def view(self) -> Viewable:
        """Build the page."""
        self.data = data_menu(self.session)
        self._dialog = script_dialog()
        about_pane = html(text=about_html("boundaries"))
        panel = super().view(self.data)
        self.session.subscribe(lambda *_: self._show_table(), ["dataset", "dark", "loading"])
        panel.extend([Collapsible("About this plot", about_pane), self._dialog.place])
        return panel

    def build_tab(self, slug: str) -> tuple[Any, Viewable, Viewable]:
        """Return a tab, its part beside the menu of tabs, and its part below."""
        tab = _tab_class(slug)(self.session, self._dialog, self.place)
        return tab, *tab.build()

    def on_tab_shown(self) -> None:
        """Show the session's table in the front tab."""
        self._show_table()

    def _show_table(self) -> None:
        """Show the session's table, unless another page is in front or a table is being loaded."""
        session = self.session
        show_data(self.data, session)
        if session.page == self.slug and session.table.loading is None:
            self.tab.on_shown()
