"""The dialog of "copy as Python", and the buttons that open and copy."""

from collections.abc import Callable
from functools import cached_property

import panel_material_ui as pmui
from panel.viewable import Viewable

from alrviz.explorer.shell.lazy_dialog import LazyDialog
from alrviz.explorer.shell.theme import button
from alrviz.views.core.clipboard import copy_code

_COPY = copy_code("source.data.value")


class ScriptDialog:
    """The dialog of "copy as Python"; `place` goes into a page's layout."""

    def __init__(self) -> None:
        self._later = LazyDialog(self._build)
        self.place = self._later.place

    @cached_property
    def _code(self) -> pmui.TextAreaInput:
        return pmui.TextAreaInput(
            label="Script", rows=18, max_length=100_000, sizing_mode="stretch_width", margin=(8, 0),
            sx={"& textarea": {"fontFamily": "ui-monospace, monospace", "fontSize": "15px"}},
        )  # fmt: skip

    def _build(self) -> pmui.Dialog:
        return pmui.Dialog(
            self._code, copy_button("Copy", self._code, _COPY), title="Copy as Python", close_on_click=True,
            show_close_button=True, width_option="md",
        )  # fmt: skip

    def show(self, text: str) -> None:
        """Show a script, if there is one."""
        if not text:
            return
        self._code.value = text
        self._later.open()


def copy_button(label: str, source: Viewable, code: str) -> pmui.Button:
    """Return a button whose press runs `code` in the browser on `source`."""
    made = pmui.Button(label=label, icon="content_copy", variant="contained", margin=(8, 0))
    made.js_on_click(args={"source": source}, code=code)
    return made


def text_button(label: str, icon: str, hint: str, pressed: Callable[[], object]) -> pmui.Button:
    """Return a button without a frame, which opens one of the dialogs."""
    return button(label, pressed, icon=icon, description=hint, variant="text", size="small", margin=(0, 0, 0, 4))
