"""What every view has in common: it can be shown in a notebook, and what it needs there comes from this machine.

Panel's scripts are put into the notebook by `pn.extension(inline=True)`; the font that draws the icons of Material's
buttons is not among them, and without it a button shows the beginning of its icon's name.

JupyterLab has what a button sends handled on threads of their own (subshells of the kernel; ipykernel 7) while the pump
looks on another: figures were half written by the one when the other read them, and a page that is sent two changes in
mixed parts can read neither. So in a notebook handlers and pumps take turns.
"""

import base64
import threading
from functools import cache
from pathlib import Path
from typing import Any

import panel as pn
import panel_material_ui as pmui
from panel.io import notebook
from panel.viewable import Viewer
from pyviz_comms import Comm

TURN = threading.RLock()  # held by whoever changes what a notebook shows
_ICONS = "Material Icons"
# Added to the page, not to an output: it outlives a cell that is run again.
_FONT = """<script>(() => {{
  if ([...document.fonts].some((face) => face.family.replaceAll('"', "") === "{name}")) return;
  document.fonts.add(new FontFace("{name}", "url(data:font/woff2;base64,{data})"));
}})()</script>"""


@cache
def icon_font() -> str:
    """Return the script that gives a page the font of icons; "" where panel-material-ui keeps it elsewhere."""
    files = sorted((Path(pmui.__file__).parent / "dist").glob("material-icons-[A-Z0-9]*.woff2"))
    if not files:
        return ""
    return _FONT.format(name=_ICONS, data=base64.b64encode(files[0].read_bytes()).decode("ascii"))


@cache
def take_turns() -> None:
    """Let one thread at a time handle what a notebook's page has sent, and send it a change."""
    handle, send = Comm._handle_msg, notebook.send

    def handled(comm: Comm, message: Any) -> None:
        with TURN:
            handle(comm, message)

    def sent(comm: Comm, message: Any) -> None:
        with TURN:
            send(comm, message)

    Comm._handle_msg, notebook.send = handled, sent


class NotebookViewer(Viewer):
    """A view that brings Panel's scripts, and the icons of its buttons, with it where they are not loaded yet."""

    _icons_shown = False  # in this process, which is one notebook's

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        """Show the view in a notebook; the scripts come from this machine."""
        take_turns()
        if not pn.extension._loaded:
            pn.extension(inline=True)
        if not NotebookViewer._icons_shown and icon_font():
            from IPython.display import HTML, display

            display(HTML(icon_font()))
            NotebookViewer._icons_shown = True
        return super()._repr_mimebundle_(include, exclude)
