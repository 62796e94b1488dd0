"""A part of a page that is folded away until its title is pressed.

Not an accordion of panel-material-ui: a Bokeh figure inside one is never laid out when it sits deep in a page.
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
    """A title that unfolds what is under it.

    Args:
        title: what is pressed.
        content: what is shown or not.
    """

    open = param.Boolean(default=False, doc="Whether it is unfolded.")

    def __init__(self, title: str, *content: Any, **params: Any):
        super().__init__(**params)
        self._title = pmui.Button(
            label=title, icon="expand_more", icon_size="22px", variant="text", color="default", margin=0,
            sizing_mode="stretch_width", sx=_SX, stylesheets=[ICONS],
        )  # fmt: skip
        self._title.on_click(lambda _: self.param.update(open=not self.open))
        self._content = content  # comes to the page when it is first unfolded: most parts never are
        self._inside = pn.Column(visible=False, sizing_mode="stretch_width", margin=(4, 16, 12, 16))
        self._panel = pn.Column(
            self._title, self._inside, styles=_PAPER, sizing_mode="stretch_width", margin=(8, 0, 0, 0),
            css_classes=["alrviz-part-more"],
        )  # fmt: skip
        self.param.watch(lambda _: self._show(), "open")
        if self.open:
            self._show()

    def _show(self) -> None:
        if self.open and not self._inside.objects:
            self._inside[:] = list(self._content)
        self._inside.visible = self.open
        self._title.icon = "expand_less" if self.open else "expand_more"

    def __panel__(self) -> pn.viewable.Viewable:
        """Return the title and what it unfolds."""
        return self._panel


class Numbers(Collapsible):
    """The numbers of a picture: buttons that save them, and a table that is made only while it can be seen.

    Args:
        saves: the buttons.
        made: returns the table as HTML, "" where there is none yet.
        between: what stands between them.
        title: what is pressed.
    """

    def __init__(self, saves: Sequence[Any], made: Callable[[], str], *between: Any, title: str = "Numbers"):
        self.table = html()
        super().__init__(title, pn.FlexBox(*saves, margin=(0, 0, 8, 0)), *between, self.table)
        self._made = made
        self.param.watch(lambda _: self.refresh(), "open")

    def refresh(self) -> None:
        """Bring the table up to date, if it is unfolded."""
        if self.open:
            say(self.table, self._made())
