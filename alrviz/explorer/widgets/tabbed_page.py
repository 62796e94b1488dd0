"""A page of tabs: their menu, the tabs, each built when it is first shown, and the drawer that they share."""

from collections.abc import Mapping
from typing import Any, ClassVar

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from alrviz.explorer.page import Page, Tab
from alrviz.explorer.session.session import Session
from alrviz.views.core.style import SCREEN_READER_ONLY, WORDS_IN_ONE_LINE


class TabbedPage(Page):
    """Base class of pages with tabs.

    Attributes:
        tabs: slugs by title; the first is left out of the link.
        layouts: for each tab that is built its part beside the menu of tabs, and its part below.
    """

    tabs: ClassVar[Mapping[str, str]]

    def __init__(self, session: Session):
        super().__init__(session)
        self._built: dict[str, Tab] = {}
        self._front: Tab | None = None  # the tab that was last in front
        self.layouts: dict[str, tuple[Viewable, Viewable]] = {}
        self._drawer = pn.Column(sizing_mode="stretch_width", margin=0)

    def build_tab(self, slug: str) -> tuple[Any, Viewable, Viewable]:
        """Return a tab, its part beside the menu of tabs, and its part below."""
        raise NotImplementedError

    def on_tab_shown(self) -> None:
        """Called when a tab comes to the front."""

    @property
    def front_slug(self) -> str:
        """Slug of the front tab: the session's, or the first if that is invalid."""
        slugs = list(self.tabs.values())
        tab: str = self.session.tab
        return tab if tab in slugs else slugs[0]

    @property
    def tab(self) -> Any:
        """The front tab."""
        return self._built[self.choice.value]

    def result(self) -> Any:
        """Return the result of the front tab."""
        return self.tab.result()

    def axes(self) -> Any:
        """Return the picture of the front tab, if its axes are numbers."""
        return self.tab.axes()

    def view(self, *controls: Viewable) -> Viewable:
        """Build the page. controls: shown between the menu of tabs and the tab's part."""
        session, first_slug = self.session, next(iter(self.tabs.values()))
        self.choice = pmui.RadioButtonGroup(
            options=dict(self.tabs), value=self.front_slug, size="small", label="Tab", stylesheets=[SCREEN_READER_ONLY],
            sx=WORDS_IN_ONE_LINE, margin=(0, 8, 0, 0),
        )  # fmt: skip
        self.choice.param.watch(
            lambda event: session.param.update(tab="" if event.new == first_slug else event.new), "value"
        )
        self._first = pn.FlexBox(
            self.choice, *controls, align_items="center", gap="4px 0",
            margin=(0, 0, 8, 0), sizing_mode="stretch_width", css_classes=["alrviz-part-controls"],
        )  # fmt: skip
        self._area = pn.Column(sizing_mode="stretch_width", margin=0)
        self._show_tab()
        session.subscribe(lambda _: self._show_tab() if session.page == self.slug else None, "tab")
        return pn.Column(self._first, self._area, sizing_mode="stretch_width", margin=0)

    def _show_tab(self) -> None:
        """Bring the session's tab to the front; build it at its first visit."""
        slug = self.front_slug
        with pn.io.hold():
            if slug not in self._built:
                self._built[slug], row_part, body = self.build_tab(slug)
                self.layouts[slug] = (row_part, body)
                self._first.append(row_part)
                self._area.append(body)
            self.choice.value = slug
            # Hidden tabs stay in the document: rebuilding their figures takes about a second.
            for name, tab_parts in self.layouts.items():
                for part in tab_parts:
                    part.visible = name == slug
            self.session.open_drawer(False)
            if self._front not in (None, self.tab):
                self._front.on_hidden()
            self._front = self.tab
            self.on_tab_shown()

    def drawer(self) -> Viewable:
        """Return the drawer that the tabs share, for the settings of a recipe."""
        return self._drawer

    def place(self, panel: Viewable) -> None:
        """Put a tab's settings into the drawer."""
        if list(self._drawer.objects) != [panel]:
            self._drawer[:] = [panel]

    def pump(self) -> bool:
        """Take over what threads have finished; return whether there may be more."""
        return bool(self.tab.pump())

    def on_shown(self) -> None:
        """Catch up with changes made while another page was in front."""
        self._show_tab()

    def close(self) -> None:
        """Cancel the tasks of the tabs; runs continue, since they belong to the registry."""
        for tab in self._built.values():
            tab.close()
