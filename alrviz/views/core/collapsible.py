"""Section of a page that is folded until its title is clicked.

Panel-material-ui's accordion is not used: a Bokeh figure inside it is never laid out when it sits deep in a page.
"""

from collections.abc import Callable, Sequence
from typing import Any

import panel as pn
import panel_material_ui as pmui
import param
from panel.viewable import Viewer

from alrviz.views.core.panes import html, say
from alrviz.views.core.style import ICONS

_SX = {
    "justifyContent": "flex-start",
    "color": "text.primary",
    "fontSize": "1rem",
    "py": "8px",
    "&:hover": {"backgroundColor": "rgba(128,128,128,.14)", "color": "text.primary"},
}
_PAPER = {
    "background": "var(--alrviz-paper, transparent)",
    "border": "1px solid var(--alrviz-line, rgba(128,128,128,.3))",
    "border-radius": "8px",
}


class Collapsible(Viewer):
    """Title that unfolds its content when clicked."""

    open = param.Boolean(default=False, doc="Whether it is unfolded.")

    def __init__(self, title: str, *content: Any, **params: Any):
        super().__init__(**params)
        self._title = pmui.Button(
            label=title, icon="expand_more", icon_size="22px", variant="text", color="default", margin=0,
            sizing_mode="stretch_width", sx=_SX, stylesheets=[ICONS],
        )  # fmt: skip
        self._title.on_click(lambda _: self.param.update(open=not self.open))
        self._content = content  # added to the page when first unfolded: most sections never are
        self._body = pn.Column(visible=False, sizing_mode="stretch_width", margin=(4, 16, 12, 16))
        self._panel = pn.Column(
            self._title, self._body, styles=_PAPER, sizing_mode="stretch_width", margin=(8, 0, 0, 0),
            css_classes=["alrviz-part-more"],
        )  # fmt: skip
        self.param.watch(lambda _: self._show(), "open")
        if self.open:
            self._show()

    def _show(self) -> None:
        if self.open and not self._body.objects:
            self._body[:] = list(self._content)
        self._body.visible = self.open
        self._title.icon = "expand_less" if self.open else "expand_more"

    def __panel__(self) -> pn.viewable.Viewable:
        """Return the title and its folded content."""
        return self._panel


class Numbers(Collapsible):
    """Folded section with a picture's numbers: save buttons and a table, which is rendered only while unfolded.

    Args:
        saves: the buttons.
        make_table: returns the table as HTML, or "" if there is none yet.
        extras: parts shown between buttons and table.
        title: title of the section.
    """

    def __init__(self, saves: Sequence[Any], make_table: Callable[[], str], *extras: Any, title: str = "Numbers"):
        self.table = html()
        super().__init__(title, pn.FlexBox(*saves, margin=(0, 0, 8, 0)), *extras, self.table)
        self._make_table = make_table
        self.param.watch(lambda _: self.refresh(), "open")

    def refresh(self) -> None:
        """Update the table if it is unfolded."""
        if self.open:
            say(self.table, self._make_table())
