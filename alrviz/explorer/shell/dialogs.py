"""Dialogs that are built when they are first opened, and the buttons to open them and to copy their text.

Each component costs server and browser 6 ms before the page is painted. Half of all components are in dialogs and
drawers, which most visitors never open.
"""

from collections.abc import Callable
from functools import cached_property

import panel as pn
import panel_material_ui as pmui
from panel.viewable import Viewable

from alrviz.explorer.shell.theme import button, html
from alrviz.views.core.clipboard import copy_code

_COPY = copy_code("source.data.value")


def dialog(title: str, width: str, *contents: Viewable) -> pmui.Dialog:
    """Return a dialog that closes when its background is clicked; width: "sm", "md" ..."""
    return pmui.Dialog(*contents, title=title, close_on_click=True, show_close_button=True, width_option=width)


class LazyDialog:
    """A dialog that is built when it is first opened.

    Args:
        build: returns the dialog.

    Attributes:
        place: the dialog's place in a layout.
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
        """Close the dialog if it is open."""
        if self._dialog is not None:
            self._dialog.open = False


class TextDialog:
    """A dialog with a text to be copied or saved; `place` is its place in a layout.

    Args:
        title, label: of the dialog and of the text.
        save: returns the button that copies or saves the text of the field.
        description: HTML above the text.
    """

    def __init__(self, title: str, label: str, save: Callable[[pmui.TextAreaInput], Viewable], description: str = ""):
        self._title, self._label, self._save, self._description = title, label, save, description
        self._dialog = LazyDialog(self._build)
        self.place = self._dialog.place

    @cached_property
    def _text(self) -> pmui.TextAreaInput:
        return pmui.TextAreaInput(
            label=self._label, rows=16 if self._description else 18, max_length=100_000, sizing_mode="stretch_width",
            margin=(8, 0), sx={"& textarea": {"fontFamily": "ui-monospace, monospace", "fontSize": "15px"}},
        )  # fmt: skip

    def _build(self) -> pmui.Dialog:
        panes = [html(text=self._description)] if self._description else []
        return dialog(self._title, "md", *panes, self._text, self._save(self._text))

    def show(self, text: str) -> None:
        """Show a text; nothing for ""."""
        if text:
            self._text.value = text
            self._dialog.open()


def script_dialog() -> TextDialog:
    """Return the dialog of "copy as Python"."""
    return TextDialog("Copy as Python", "Script", lambda field: copy_button("Copy", field, _COPY))


def copy_button(label: str, source: Viewable, code: str) -> pmui.Button:
    """Return a button that runs `code` in the browser with `source`."""
    copy = pmui.Button(label=label, icon="content_copy", variant="contained", margin=(8, 0))
    copy.js_on_click(args={"source": source}, code=code)
    return copy


def text_button(label: str, icon: str, hint: str, on_press: Callable[[], object]) -> pmui.Button:
    """Return a frameless button that opens a dialog."""
    return button(label, on_press, icon=icon, description=hint, variant="text", size="small", margin=(0, 0, 0, 4))
