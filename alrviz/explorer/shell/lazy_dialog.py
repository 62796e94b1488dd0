"""What is not on the first screen is built when it is first asked for.

A component of the page costs the server 6 ms and the browser as much, before anything is painted; dialogs and drawers
are half of all components, and most visitors open none.
"""

from collections.abc import Callable

import panel as pn
import panel_material_ui as pmui


class LazyDialog:
    """A dialog that comes to be when it is first opened; `place` stands for it in a layout.

    Args:
        build: returns the dialog.
    """

    def __init__(self, build: Callable[[], pmui.Dialog]):
        self._build = build
        self._dialog: pmui.Dialog | None = None
        self.place = pn.Column(margin=0)

    def open(self) -> None:
        """Show the dialog."""
        if self._dialog is None:
            self._dialog = self._build()
            self._dialog.open = True
            self.place[:] = [self._dialog]
        else:
            self._dialog.open = True

    def close(self) -> None:
        """Close it, if it is open."""
        if self._dialog is not None:
            self._dialog.open = False
