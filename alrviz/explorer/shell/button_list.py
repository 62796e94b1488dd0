"""Buttons of the frame as one component of plain HTML.

A button of panel-material-ui is a React tree with a theme and a style cache of its own: 6 ms of the server's processor
and 10 of the browser's, each time a page is opened. The frame has a dozen buttons that only ever do one thing.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import param
from panel.custom import JSComponent

from alrviz.explorer.shell import asset
from alrviz.explorer.shell.theme import PANE_CSS
from alrviz.views.core.style import ICONS


@dataclass(frozen=True)
class Button:
    """A button: its key, its name, its icon (Material's), the title of its group, in a rail.

    code: a script that runs in the browser instead of telling the server. mark: its CSS class.
    """

    key: str
    label: str
    icon: str
    title: str = ""
    code: str = ""
    mark: str = ""


class ButtonList(JSComponent):
    """Buttons beside each other, or upright with their names, in groups, one of which may be where the reader is.

    Args:
        buttons: in their order.
        pressed: called with the key of a button that has no script of its own.
    """

    buttons = param.List(default=[], doc="The buttons, as dictionaries.")
    here = param.String(default="", doc="Key of the button that stands for the page shown.")
    upright = param.Boolean(default=False, doc="Whether they stand in a column, with their names.")

    _esm = asset("button_list.js")

    def __init__(self, buttons: Sequence[Button], pressed: Callable[[str], None] = lambda key: None, **params: object):
        self._pressed = pressed
        super().__init__(
            buttons=[asdict(button) for button in buttons],
            stylesheets=[PANE_CSS, ICONS, asset("button_list.css")],
            margin=0,
            **params,
        )

    def _handle_msg(self, msg: Any) -> None:
        if any(button["key"] == msg and not button["code"] for button in self.buttons):
            self._pressed(msg)
