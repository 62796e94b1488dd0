"""Outputs of notebook cells that show views, and the hooks that keep them up to date."""

import base64
import hashlib
import os
import sys
import time
import uuid
from html import escape
from typing import Any, ClassVar

import numpy as np
import panel as pn

from alrviz.views.core.kernel_lock import call_after_turns, in_kernel, turn
from alrviz.views.core.notebook_comm import DisplayedView, flush, is_watched, listen, script

EXEC_MIME = "application/vnd.holoviews_exec.v0+json"  # rendered in JupyterLab by pyviz_comms, a dependency of Panel
PICTURE_WIDTH_PX = 900  # of the picture in the file
SETTLE_SECONDS = 2.0  # time after a cell in which views that no page shows may finish


class Output:
    """Output of a notebook that shows a view.

    Attributes:
        key: by which the page requests the view, and the display id of the output.
        cell, run: ids of the notebook's cell and of its execution; "" where the notebook does not provide them.
        by_key: all outputs by key.
        listening: whether the kernel accepts requests from pages.
        in_cell: whether a cell is running. It may start a race or study without notifying its views, so pumps stay
            awake.
    """

    by_key: ClassVar[dict[str, "Output"]] = {}
    listening: ClassVar[bool] = False
    in_cell: ClassVar[bool] = False

    def __init__(self, view: DisplayedView, cell: str, run: str):
        self.key, self.view, self.cell, self.run = uuid.uuid4().hex, view, cell, run
        self._digest: Any = None  # of the picture in the file

    @classmethod
    def register(cls, view: DisplayedView, shell: Any) -> "Output":
        """Return a new output of a view in IPython's shell, registered by its key so that pages can request it."""
        if not cls.listening:
            cls.listening = True
            listen(shell.kernel, lambda key: cls.by_key[key].view if key in cls.by_key else None)
            call_after_turns(flush)
            cls.in_cell = True  # the cell that shows this view
            shell.events.register("pre_run_cell", _on_cell_start)
            shell.events.register("post_run_cell", _on_cell_end)
        output = cls(view, *_current_cell(shell))
        # A cell that runs again replaces its outputs, so no page can request their views any more.
        replaced_keys = [
            key for key, old in cls.by_key.items() if old.cell == output.cell != "" and old.run != output.run
        ]
        for key in replaced_keys:
            del cls.by_key[key]
        cls.by_key[output.key] = output
        return output

    def bundle(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return data and metadata of the cell's output, as the notebook's file stores them."""
        self._digest = _digest_of(self.view)
        view_text = self.view.shown_text()
        picture = base64.b64encode(self.view.shown_png()).decode("ascii")
        image_html = picture_html(picture, view_text)
        html = (
            f"<div class='alrviz-view' id='alrviz-{self.key}'>{image_html}</div>\n<script>{script(self.key)}</script>"
        )
        names = ", ".join(type(view).__name__ for view in self.view.views)
        plain_text = f"{names}: {view_text}" if view_text else names
        return {"text/plain": plain_text, "image/png": picture, "text/html": html, EXEC_MIME: ""}, {
            EXEC_MIME: {"id": self.key}
        }

    def renew(self) -> None:
        """Update the picture in the file if the view has changed."""
        if _digest_of(self.view) != self._digest:
            from IPython.display import publish_display_data

            publish_display_data(*self.bundle(), transient={"display_id": self.key}, update=True)


def picture_html(picture: str, alt_text: str) -> str:
    """Return an img element of a picture, a PNG as base64; alt_text: what screen readers read out."""
    style = f"max-width: {PICTURE_WIDTH_PX}px; width: 100%"
    return f"<img src='data:image/png;base64,{picture}' alt='{escape(alt_text)}' style='{style}'>"


def _current_cell(shell: Any) -> tuple[str, str]:
    """Return the ids of the cell that the shell runs and of its execution; "" if the notebook provides none."""
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    return parent.get("metadata", {}).get("cellId", ""), parent.get("header", {}).get("msg_id", "")


def _digest_of(view: DisplayedView) -> bytes:
    """Return a digest of a view's text, figures and ranges."""
    digest = hashlib.sha256(view.shown_text().encode())
    for figure in view.shown_figures():
        spans = (figure.x_range, figure.y_range)
        digest.update(repr([(getattr(s, "start", None), getattr(s, "end", None)) for s in spans]).encode())
        for renderer in figure.renderers:
            source = getattr(renderer, "data_source", None)
            for name, column in ({} if source is None else dict(source.data)).items():
                digest.update(f"{name} {renderer.visible} ".encode() + _bytes(column))
    return digest.digest()


def _bytes(column: Any) -> bytes:
    try:
        values = np.asarray(column)
    except ValueError:  # lines of different lengths
        return b"".join(_bytes(line) for line in column)
    return repr(values.tolist()).encode() if values.dtype == object else values.tobytes()


def renew(view: DisplayedView) -> None:
    """Update the pictures of a view in the notebook's file."""
    with turn():
        for output in list(Output.by_key.values()):
            if any(shown_view is view for shown_view in output.view.views):
                output.renew()


def _displayed_views() -> list[DisplayedView]:
    """Return the views in outputs, each once."""
    return list({id(view): view for output in Output.by_key.values() for view in output.view.views}.values())


def _on_cell_start(_info: Any = None) -> None:
    """Wake all pumps, because a cell may start a race or study."""
    Output.in_cell = True
    for view in _displayed_views():
        if view.standalone_pump is not None:
            view.standalone_pump.wake()


def _on_cell_end(_result: Any = None) -> None:
    """Update pages and file after a cell; running views do so themselves."""
    Output.in_cell = False
    deadline = time.monotonic() + SETTLE_SECONDS
    for view in _displayed_views():
        pump = view.standalone_pump
        if pump is None:
            renew(view)
            continue
        pump.look()
        if pump.running and not is_watched(view):
            pump.finish(deadline - time.monotonic())
            if pump.running:
                renew(view)


def ipython_shell() -> Any:
    """Return IPython's shell if this process is a notebook's kernel, else None."""
    return sys.modules["IPython"].get_ipython() if in_kernel() else None


def uses_other_comm() -> bool:
    """Whether Panel connects with this notebook by another kind of comm (VS Code, Colab)."""
    is_other = "google.colab" in sys.modules or "VSCODE_PID" in os.environ or "VSCODE_CWD" in os.environ
    if is_other and not pn.extension._loaded:
        pn.extension(inline=True)
    return pn.config.comms != "default"
