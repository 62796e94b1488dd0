"""Base class of views: display in a notebook, storage in its file, and saving as a page.

An output contains a view's picture, its text, and a script that requests the live view from the kernel
(notebook_comm.py). The picture is renewed when a view comes to rest and after each cell, so that the file, opened later
without a kernel, shows the latest state. Every method and every assignment to a parameter takes a turn
(kernel_lock.py), because watchers may run on the thread of a widget in another layout.
"""

import base64
import hashlib
import inspect
import json
import os
import re
import sys
import time
import uuid
import weakref
from collections import Counter
from collections.abc import Callable
from functools import wraps
from html import escape, unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import panel as pn
import param
from bokeh.core.json_encoder import serialize_json
from bokeh.document import Document
from bokeh.embed.util import standalone_docs_json_and_render_items
from panel.viewable import Viewer

from alrviz.errors import AlrvizError
from alrviz.pictures.elements import element
from alrviz.pictures.still import still
from alrviz.views.core.browser_ready import server_session
from alrviz.views.core.kernel_lock import call_after_turns, in_kernel, turn
from alrviz.views.core.notebook_comm import (
    MATERIAL_BUNDLE,
    flush,
    is_watched,
    listen,
    resource,
    script,
    strip_remote_assets,
)
from alrviz.views.core.pump import Pump
from alrviz.views.core.state_sync import add_to_page

EXEC_MIME = "application/vnd.holoviews_exec.v0+json"  # rendered in JupyterLab by pyviz_comms, a dependency of Panel
PICTURE_WIDTH_PX = 900  # of the picture in the file
SETTLE_SECONDS = 2.0  # time after a cell in which views that no page shows may finish


def _in_turn(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def run_in_turn(*args: Any, **kwargs: Any) -> Any:
        with turn():
            return method(*args, **kwargs)

    return run_in_turn


class NotebookViewer(Viewer):
    """View that is live in a notebook and leaves its picture in the file."""

    dark = param.Boolean(default=False, doc="Whether the background is dark.")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, member in list(vars(cls).items()):
            if inspect.isfunction(member) and not name.startswith("__"):
                setattr(cls, name, _in_turn(member))

    def __init__(self, **params: Any):
        super().__init__(**params)
        add_to_page()

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            super().__setattr__(name, value)
            return
        if isinstance(value, ViewLayout) and name == "layout":
            value._view = weakref.ref(self)
            _register_layout_display()
        with turn():
            super().__setattr__(name, value)

    _pump: Pump | None = None

    @property
    def _views(self) -> list["NotebookViewer"]:
        """The views shown by this one: itself, or the members of a composed view."""
        return [self]

    def _make_pump(self, look: Callable[[], bool], period: int, on_leave: Callable[[], None] | None = None) -> Any:
        """Make the view's own pump, which updates the picture in the file when it pauses; return its `wake`.

        look, period, on_leave: arguments of `Pump`.
        """
        self._pump = Pump(look, period, on_leave, lambda: renew(self), lambda: _Output.in_cell)
        return self._pump.wake

    # ---- picture and text --------------------------------------------------------------------------------------------

    layout: Any  # Panel layout of the view
    _wake: Callable[[], None] = staticmethod(lambda: None)  # starts the pump, if the view has one

    def __panel__(self) -> pn.viewable.Viewable:
        """Return the layout, and start the pump."""
        self._wake()
        return self.layout

    def settle(self) -> None:
        """Show everything computed so far, and wait for computations of the view itself.

        On a page the pump does this gradually; a script has no event loop and needs this call. A race or study that
        still runs is shown in its current state. Views without a pump always show everything.
        """

    def _settle_unserved(self) -> None:
        """Settle unless on a served page, whose pump and reader decide what is shown."""
        if server_session() is None:
            self.settle()

    def figures(self) -> list[Any]:
        """Return the Bokeh figures of everything computed so far, in page order."""
        self._settle_unserved()
        return self.shown_figures()

    def shown_figures(self) -> list[Any]:
        """Return the Bokeh figures on the screen, in page order."""
        panes = self.layout.select(pn.pane.Bokeh)
        return [pane.object for pane in panes if pane.object is not None and pane.visible]

    def elements(self) -> dict[str, Any]:
        """Return the figures as HoloViews overlays by name, to be composed with `+` and `*`.

        Repeated kinds are numbered: "density-ratio", "density-ratio-2".

        Raises:
            AlrvizError: if HoloViews is not installed.
        """
        overlays: dict[str, Any] = {}
        n_by_kind: Counter[str] = Counter()
        for figure in self.figures():
            kind = re.sub(r"^alrviz-|-[0-9a-f]{12}$", "", figure.name or "picture")
            n_by_kind[kind] += 1
            overlays[kind if n_by_kind[kind] == 1 else f"{kind}-{n_by_kind[kind]}"] = element(figure)
        return overlays

    def text(self) -> str:
        """Return the view's sentence about everything computed so far, as plain text."""
        self._settle_unserved()
        return self.shown_text()

    def shown_text(self) -> str:
        """Return the sentence on the screen, as plain text."""
        sentence_html = getattr(getattr(self, "sentence", None), "object", None) or ""
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", sentence_html)).split())

    def png(self, width: int = PICTURE_WIDTH_PX) -> bytes:
        """Return the figures as a PNG, rendered without a browser.

        Args:
            width: in px.

        Returns:
            Bytes of the PNG; it shows the view's text if there is no figure yet.
        """
        return still(self.figures(), self.shown_text(), width=width)

    def shown_png(self) -> bytes:
        """Return the figures on the screen as a PNG, for the notebook's file."""
        return still(self.shown_figures(), self.shown_text(), width=PICTURE_WIDTH_PX)

    # ---- in a notebook -----------------------------------------------------------------------------------------------

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        """Return the output of a notebook: picture, text, and the script that requests the live view.

        include, exclude: of IPython's protocol, without effect.
        """
        shell = _shell()
        if shell is None or _uses_other_comm():
            return self._bundle_of_panel(include, exclude)
        with turn():
            return _Output.register(self, shell).bundle()

    def _ipython_display_(self) -> None:
        """Display the view in an output that can be updated later."""
        from IPython.display import publish_display_data

        shell = _shell()
        if shell is None or _uses_other_comm():
            publish_display_data(*self._bundle_of_panel())
            return
        with turn():
            output = _Output.register(self, shell)
            publish_display_data(*output.bundle(), transient={"display_id": output.key})

    def _bundle_of_panel(self, include: Any = None, exclude: Any = None) -> Any:
        """Return Panel's own output, for notebooks with other connections; a picture if Panel cannot connect."""
        if _shell() is None and not pn.extension._loaded:
            return self._still_bundle()  # no page will connect
        try:
            return super()._repr_mimebundle_(include, exclude) or self._still_bundle()
        except ModuleNotFoundError as error:
            package = str(error.name).partition(".")[0]
            return self._still_bundle(
                f"A picture: a live view needs the package {package} here (pip install {package})."
            )

    def _still_bundle(self, note: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
        """Return picture and text as the output where no connection is possible; `note` explains why."""
        picture, view_text = base64.b64encode(self.png()).decode("ascii"), self.shown_text()
        html = _picture_html(picture, view_text) + (f"<p>{escape(note)}</p>" if note else "")
        plain_text = ": ".join(filter(None, (type(self).__name__, view_text, note)))
        return {"text/plain": plain_text, "image/png": picture, "text/html": html}, {}

    def _display_(self) -> Any:
        """Show the picture in marimo, for which there is no connection; it asks the result for `_mime_`."""
        bundle, _ = self._still_bundle()
        return SimpleNamespace(_mime_=lambda: ("text/html", bundle["text/html"]))

    # ---- as a file ---------------------------------------------------------------------------------------------------

    def save(self, filename: Any, title: str | None = None) -> None:
        """Save the view with everything computed so far; a paused or scrubbed fit is saved at its current place.

        Args:
            filename: path that ends in .png (the pictures) or .html (a page that needs neither network nor Python), or
                a file open for text, to which the page is written.
            title: title of the page; by default the name of the view's class.

        Raises:
            AlrvizError: if the path has another ending.
        """
        path = Path(filename).expanduser() if isinstance(filename, str | os.PathLike) else None
        if path is not None and path.suffix.lower() == ".png":
            path.write_bytes(self.png())
            return
        if path is not None and path.suffix.lower() not in (".html", ".htm"):
            raise AlrvizError(f"a view is saved as .html or .png; got {path.name!r}. Nearest: {path.stem}.html")
        view_text = self.text()  # first, because it settles the view
        page_text = _page(self.layout, title or type(self).__name__, view_text)
        if path is None:
            filename.write(page_text)
        else:
            path.write_text(page_text, encoding="utf-8")


class ViewLayout(pn.Column):
    """Layout of a view. It refers to the view, which is therefore found inside other Panel layouts."""

    _view: Callable[[], NotebookViewer | None] | None = None

    def __init__(self, *parts: Any, **look: Any):
        super().__init__(*parts, **{"sizing_mode": "stretch_width", "margin": 0, **look})

    @property
    def view(self) -> NotebookViewer | None:
        """The view; None for a copy of a layout, which is not live."""
        return None if self._view is None else self._view()

    def save(self, filename: Any, title: str | None = None, resources: Any = None, **kwargs: Any) -> Any:
        """Save as Panel does, but inline pages as the view does, because Panel's load libraries from the network."""
        view = self.view
        if view is None or kwargs or str(getattr(resources, "mode", resources)).lower() != "inline":
            return super().save(filename, title, resources, **kwargs)
        return view.save(filename, title)


class _ComposedView(NotebookViewer):
    """Panel layout that contains views, displayed by a notebook as one view."""

    def __init__(self, layout: Any, views: list[NotebookViewer]):
        super().__init__()
        self.layout, self._members = layout, views

    @property
    def _views(self) -> list[NotebookViewer]:
        """The views in it."""
        return self._members

    def __panel__(self) -> pn.viewable.Viewable:
        """Return the layout, and start the pumps of its views."""
        for view in self._members:
            view.__panel__()
        return self.layout

    def settle(self) -> None:
        """Settle each view."""
        for view in self._members:
            view.settle()

    def shown_text(self) -> str:
        """Return the sentence that each member view now shows, joined by spaces, as plain text."""
        return " ".join(filter(None, (view.shown_text() for view in self._members)))


def _outermost_views(layout: Any) -> list[NotebookViewer]:
    """Return the views in a layout, without those nested in another view."""
    layouts = layout.select(ViewLayout)
    inner_ids = {
        id(part) for view_layout in layouts for part in view_layout.select(ViewLayout) if part is not view_layout
    }
    views = [view_layout.view for view_layout in layouts if id(view_layout) not in inner_ids]
    return [view for view in views if view is not None]


def _register_layout_display() -> None:
    """Register `_show_layout` with IPython."""
    shell = _shell()
    if shell is not None:
        shell.display_formatter.ipython_display_formatter.for_type(pn.viewable.Viewable, _show_layout)


def _show_layout(layout: Any) -> None:
    """Display a layout that contains views; NotImplementedError tells IPython to display any other by default."""
    views = _outermost_views(layout)
    if not views or _uses_other_comm():
        raise NotImplementedError
    (views[0] if layout is views[0].layout else _ComposedView(layout, views))._ipython_display_()


# ---- outputs ---------------------------------------------------------------------------------------------------------


class _Output:
    """Output of a notebook that shows a view.

    Attributes:
        key: by which the page requests the view, and the display id of the output.
        cell, run: ids of the notebook's cell and of its execution; "" where the notebook does not provide them.
        by_key: all outputs by key.
        listening: whether the kernel accepts requests from pages.
        in_cell: whether a cell is running. It may start a race or study without notifying its views, so pumps stay
            awake.
    """

    by_key: ClassVar[dict[str, "_Output"]] = {}
    listening: ClassVar[bool] = False
    in_cell: ClassVar[bool] = False

    def __init__(self, view: NotebookViewer, cell: str, run: str):
        self.key, self.view, self.cell, self.run = uuid.uuid4().hex, view, cell, run
        self._digest: Any = None  # of the picture in the file

    @classmethod
    def register(cls, view: NotebookViewer, shell: Any) -> "_Output":
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
        picture_html = _picture_html(picture, view_text)
        html = (
            f"<div class='alrviz-view' id='alrviz-{self.key}'>{picture_html}</div>\n<script>{script(self.key)}</script>"
        )
        names = ", ".join(type(view).__name__ for view in self.view._views)
        plain_text = f"{names}: {view_text}" if view_text else names
        return {"text/plain": plain_text, "image/png": picture, "text/html": html, EXEC_MIME: ""}, {
            EXEC_MIME: {"id": self.key}
        }

    def renew(self) -> None:
        """Update the picture in the file if the view has changed."""
        if _digest_of(self.view) != self._digest:
            from IPython.display import publish_display_data

            publish_display_data(*self.bundle(), transient={"display_id": self.key}, update=True)


def _picture_html(picture: str, alt_text: str) -> str:
    """Return an img element of a picture, a PNG as base64; alt_text: what screen readers read out."""
    style = f"max-width: {PICTURE_WIDTH_PX}px; width: 100%"
    return f"<img src='data:image/png;base64,{picture}' alt='{escape(alt_text)}' style='{style}'>"


def _current_cell(shell: Any) -> tuple[str, str]:
    """Return the ids of the cell that the shell runs and of its execution; "" if the notebook provides none."""
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    return parent.get("metadata", {}).get("cellId", ""), parent.get("header", {}).get("msg_id", "")


def _digest_of(view: NotebookViewer) -> bytes:
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


def renew(view: NotebookViewer) -> None:
    """Update the pictures of a view in the notebook's file."""
    with turn():
        for output in list(_Output.by_key.values()):
            if any(shown_view is view for shown_view in output.view._views):
                output.renew()


def _displayed_views() -> list[NotebookViewer]:
    """Return the views in outputs, each once."""
    return list({id(view): view for output in _Output.by_key.values() for view in output.view._views}.values())


def _on_cell_start(_info: Any = None) -> None:
    """Wake all pumps, because a cell may start a race or study."""
    _Output.in_cell = True
    for view in _displayed_views():
        if view._pump is not None:
            view._pump.wake()


def _on_cell_end(_result: Any = None) -> None:
    """Update pages and file after a cell; running views do so themselves."""
    _Output.in_cell = False
    deadline = time.monotonic() + SETTLE_SECONDS
    for view in _displayed_views():
        pump = view._pump
        if pump is None:
            renew(view)
            continue
        pump.look()
        if pump.running and not is_watched(view):
            pump.finish(deadline - time.monotonic())
            if pump.running:
                renew(view)


def _shell() -> Any:
    return sys.modules["IPython"].get_ipython() if in_kernel() else None


def _uses_other_comm() -> bool:
    """Whether Panel connects with this notebook by another kind of comm (VS Code, Colab)."""
    is_other = "google.colab" in sys.modules or "VSCODE_PID" in os.environ or "VSCODE_CWD" in os.environ
    if is_other and not pn.extension._loaded:
        pn.extension(inline=True)
    return pn.config.comms != "default"


_PAGE_TEMPLATE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<link rel="icon" href="data:,"><style>body {{ margin: 16px; font: 16px sans-serif }}</style></head>
<body><div id="view"></div><noscript>{words}</noscript>
<script>{font}</script>
<script>{scripts}</script>
<script>
const esm = {esm}, text = {document}, root = {root};
const waiting = setInterval(() => {{
  if (!window.Bokeh?.Panel) return;
  clearInterval(waiting);
  const json = JSON.parse(text, (_, value) => {{
    if (value?.bundle === {name}) value.esm = esm;
    return value;
  }});
  const item = {{ docid: Object.keys(json)[0], roots: {{ [root]: "view" }}, root_ids: [root] }};
  Bokeh.embed.embed_items_notebook(json, [item]);
}}, 20);
</script></body></html>
"""


def _page(layout: Any, title: str, view_text: str) -> str:
    """Return a self-contained page with this title of a Panel layout; `view_text` is shown if scripts are disabled."""
    document = Document()
    root = layout._render_model(document)
    try:
        strip_remote_assets(root)
        documents, _ = standalone_docs_json_and_render_items([root], suppress_callback_warning=True)
        values_by_placeholder = {
            "esm": resource(MATERIAL_BUNDLE),
            "document": serialize_json(documents),
            "root": root.ref["id"],
            "name": MATERIAL_BUNDLE,
        }
        literals = {name: json.dumps(part).replace("</", "<\\/") for name, part in values_by_placeholder.items()}
    finally:
        layout._cleanup(root)
    scripts = {name: resource(name).replace("</script", "<\\/script") for name in ("font", "scripts")}
    return _PAGE_TEMPLATE.format(title=escape(title), words=escape(view_text), **scripts, **literals)
