"""A page of tabs: their menu, each tab built when it is first shown, and the drawer that they share."""

from collections.abc import Mapping
from typing import Any, ClassVar

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from alrviz.explorer.page import Page, Tab
from alrviz.explorer.session.session import Session
from alrviz.views.core.style import SCREEN_READER_ONLY, WORDS_IN_ONE_LINE


class TabbedPage(Page):
    """See the module's text; a deriving class makes the tabs."""

    tabs: ClassVar[Mapping[str, str]]  # slugs, by what they are called; the first is left out of the link

    def __init__(self, session: Session):
        super().__init__(session)
        self._built: dict[str, Tab] = {}
        self.layouts: dict[str, tuple[Viewable, Viewable]] = {}  # by tab built: beside the menu of tabs, and below
        self._drawer = pn.Column(sizing_mode="stretch_width", margin=0)

    def build_tab(self, slug: str) -> tuple[Any, Viewable, Viewable]:
        """Return a tab, what stands of it beside the menu of tabs, and what stands below."""
        raise NotImplementedError

    def turned(self) -> None:
        """Let the tab in front turn to what came meanwhile."""

    @property
    def front(self) -> str:
        """The tab that the session means; the first for what is none."""
        slugs = list(self.tabs.values())
        tab: str = self.session.tab
        return tab if tab in slugs else slugs[0]

    @property
    def tab(self) -> Any:
        """The tab that is shown, as the deriving class knows it."""
        return self._built[self.choice.value]

    def result(self) -> Any:
        """Return the result of the tab shown."""
        return self.tab.result()

    def axes(self) -> Any:
        """Return the picture of the tab shown, if its axes are numbers."""
        return self.tab.axes()

    def view(self, *beside: Viewable) -> Viewable:
        """Build the page; `beside`: what stands between the menu of tabs and the tab's own."""
        session, first = self.session, next(iter(self.tabs.values()))
        self.choice = pmui.RadioButtonGroup(
            options=dict(self.tabs), value=self.front, size="small", label="Tab", stylesheets=[SCREEN_READER_ONLY],
            sx=WORDS_IN_ONE_LINE, margin=(0, 8, 0, 0),
        )  # fmt: skip
        self.choice.param.watch(
            lambda event: session.param.update(tab="" if event.new == first else event.new), "value"
        )
        self._first = pn.FlexBox(
            self.choice, *beside, align_items="flex-start" if beside else "center", gap="4px 0", margin=(0, 0, 8, 0),
            sizing_mode="stretch_width", css_classes=["alrviz-part-controls"],
        )  # fmt: skip
        self._area = pn.Column(sizing_mode="stretch_width", margin=0)
        self._show()
        session.subscribe(lambda _: self._show() if session.page == self.slug else None, "tab")
        return pn.Column(self._first, self._area, sizing_mode="stretch_width", margin=0)

    def _show(self) -> None:
        slug = self.front
        with pn.io.hold():
            if slug not in self._built:
                self._built[slug], *parts = self.build_tab(slug)
                self.layouts[slug] = (parts[0], parts[1])
                self._first.append(parts[0])
                self._area.append(parts[1])
            self.choice.value = slug
            # Hidden tabs stay in the document: rebuilding their figures takes about a second.
            for name, of_tab in self.layouts.items():
                for part in of_tab:
                    part.visible = name == slug
            self.session.open_drawer(False)
            self.turned()

    def drawer(self) -> Viewable:
        """Return the place of what a tab shows there: settings of a recipe, or of its model."""
        return self._drawer

    def place(self, panel: Viewable) -> None:
        """Put a tab's settings into the drawer."""
        if list(self._drawer.objects) != [panel]:
            self._drawer[:] = [panel]

    def pump(self) -> bool:
        """Take over what threads have finished; returns whether there may be more."""
        return bool(self.tab.pump())

    def on_shown(self) -> None:
        """Turn to what came meanwhile."""
        self._show()

    def close(self) -> None:
        """End the threads' work; runs are the registry's."""
        for tab in self._built.values():
            tab.close()
