"""Make a lesson from here: what is shown as the first step of a YAML file, to be downloaded and edited."""

import io

import panel as pn
import panel_material_ui as pmui

from alrviz.explorer.lessons.writer import lesson_yaml
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.lazy_dialog import LazyDialog
from alrviz.explorer.shell.theme import html

FILE = "my-lesson.yaml"
_ABOUT = (
    "<p>This file opens a lesson whose first step is what you see now. Change its texts, copy the step for the next "
    f"one, and open it with <code>alrviz explore --lesson {FILE}</code>: each reload of the page reads it again.</p>"
)


class LessonDialog:
    """The dialog; `place` goes into a layout."""

    def __init__(self, session: Session):
        self._session = session
        self._dialog = LazyDialog(self._build)
        self.place = self._dialog.place

    def _build(self) -> pmui.Dialog:
        self._text = pmui.TextAreaInput(
            label="The lesson", rows=16, max_length=100_000, sizing_mode="stretch_width", margin=(8, 0),
            sx={"& textarea": {"fontFamily": "ui-monospace, monospace", "fontSize": "15px"}},
        )  # fmt: skip
        download = pmui.FileDownload(
            callback=lambda: io.BytesIO(self._text.value.encode()), filename=FILE, label=f"Download {FILE}",
            variant="contained", margin=(8, 0),
        )  # fmt: skip
        return pmui.Dialog(
            html(text=_ABOUT), self._text, pn.Row(download, margin=0), title="Make a lesson from here",
            close_on_click=True, show_close_button=True, width_option="md",
        )  # fmt: skip

    def open(self) -> None:
        """Show the dialog, with what is shown now."""
        self._dialog.open()
        self._text.value = lesson_yaml(self._session.link.state)
