"""Buttons of the frame as one component of plain HTML.

A button of panel-material-ui is a React tree with its own theme and style cache. It costs the server 6 ms and the
browser 10 ms each time a page is opened, and the frame has a dozen simple buttons.
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
    """A button.

    Attributes:
        key: passed to `on_press`.
        label: name of the button.
        icon: name of a Material icon.
        title: title of its group in a rail.
        code: a script that runs in the browser instead of a message to the server.
        mark: CSS class.
    """

    key: str
    label: str
    icon: str
    title: str = ""
    code: str = ""
    mark: str = ""


class ButtonList(JSComponent):
    """A row of buttons, or a column of labelled buttons in groups.

    Args:
        buttons: in their order.
        on_press: called with the key of a pressed button that has no script.
    """

    buttons = param.List(default=[], doc="The buttons, as dictionaries.")
    here = param.String(default="", doc="Key of the button of the page shown.")
    upright = param.Boolean(default=False, doc="Whether the buttons form a column with labels.")

    _esm = asset("button_list.js")

    def __init__(self, buttons: Sequence[Button], on_press: Callable[[str], None] = lambda key: None, **params: object):
        self._on_press = on_press
        super().__init__(
            buttons=[asdict(button) for button in buttons],
            stylesheets=[PANE_CSS, ICONS, asset("button_list.css")],
            margin=0,
            **params,
        )

    def _handle_msg(self, msg: Any) -> None:
        if any(button["key"] == msg and not button["code"] for button in self.buttons):
            self._on_press(msg)
