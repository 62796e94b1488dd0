"""Dialogs, which are built when they are first opened, and the buttons that open them and copy what is in them.

A component of the page costs the server 6 ms and the browser as much, before anything is painted; dialogs and drawers
are half of all components, and most visitors open none.
"""

from collections.abc import Callable
from functools import cached_property

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from alrviz.explorer.shell.theme import button, html
from alrviz.views.core.clipboard import copy_code

_COPY = copy_code("source.data.value")


def dialog(title: str, width: str, *parts: Viewable) -> pmui.Dialog:
    """Return a dialog that a press beside it closes; width: "sm", "md" ..."""
    return pmui.Dialog(*parts, title=title, close_on_click=True, show_close_button=True, width_option=width)


class LazyDialog:
    """A dialog that is built when it is first opened; `place` stands for it in a layout.

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
            self.place[:] = [self._dialog]
        self._dialog.open = True

    def close(self) -> None:
        """Close it, if it is open."""
        if self._dialog is not None:
            self._dialog.open = False


class TextDialog:
    """A dialog with a text to be copied or saved; `place` stands for it in a layout.

    Args:
        title, label: of the dialog and of the text.
        save: returns the button that copies or saves what the field holds.
        about: HTML above the text.
    """

    def __init__(self, title: str, label: str, save: Callable[[pmui.TextAreaInput], Viewable], about: str = ""):
        self._title, self._label, self._save, self._about = title, label, save, about
        self._dialog = LazyDialog(self._build)
        self.place = self._dialog.place

    @cached_property
    def _text(self) -> pmui.TextAreaInput:
        return pmui.TextAreaInput(
            label=self._label, rows=16 if self._about else 18, max_length=100_000, sizing_mode="stretch_width",
            margin=(8, 0), sx={"& textarea": {"fontFamily": "ui-monospace, monospace", "fontSize": "15px"}},
        )  # fmt: skip

    def _build(self) -> pmui.Dialog:
        about = [html(text=self._about)] if self._about else []
        return dialog(self._title, "md", *about, self._text, self._save(self._text))

    def show(self, text: str) -> None:
        """Show a text, if there is one."""
        if text:
            self._text.value = text
            self._dialog.open()


def script_dialog() -> TextDialog:
    """Return the dialog of "copy as Python"."""
    return TextDialog("Copy as Python", "Script", lambda field: copy_button("Copy", field, _COPY))


def copy_button(label: str, source: Viewable, code: str) -> pmui.Button:
    """Return a button whose press runs `code` in the browser on `source`."""
    made = pmui.Button(label=label, icon="content_copy", variant="contained", margin=(8, 0))
    made.js_on_click(args={"source": source}, code=code)
    return made


def text_button(label: str, icon: str, hint: str, pressed: Callable[[], object]) -> pmui.Button:
    """Return a button without a frame, which opens one of the dialogs."""
    return button(label, pressed, icon=icon, description=hint, variant="text", size="small", margin=(0, 0, 0, 4))
