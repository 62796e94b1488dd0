"""What every view has in common: it can be shown in a notebook, kept in its file, and saved as a page.

An output holds a view's picture, its words, and a script that asks the kernel for the view itself (notebook_comm.py).
The picture is renewed when what moved has come to rest and after a cell, so that whoever opens the file later, without
a kernel, sees what was seen last. Every method, and every parameter that is set, takes a turn (kernel_lock.py): a
method may be what watches a parameter, which a widget of another layout sets on a thread of its own.
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
from dataclasses import dataclass
from functools import wraps
from html import escape, unescape
from pathlib import Path
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
from alrviz.views.core.kernel_lock import in_kernel, turn, when_turns_end
from alrviz.views.core.notebook_comm import ESM, at_home, flush, listen, resource, script, watched
from alrviz.views.core.pump import Pump
from alrviz.views.core.state_sync import add_to_page

EXEC = "application/vnd.holoviews_exec.v0+json"  # what pyviz_comms, which comes with Panel, draws in JupyterLab
WIDTH = 900  # px of the picture in the file
SETTLE = 2.0  # seconds after a cell in which a view that nobody looks at may show what it has to show


def _in_turn(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def taken(*args: Any, **named: Any) -> Any:
        with turn():
            return method(*args, **named)

    return taken


class NotebookViewer(Viewer):
    """A view that lives in a notebook, and leaves its picture there."""

    dark = param.Boolean(default=False, doc="Whether it is shown on a dark ground.")

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
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
            _take_layouts()
        with turn():
            super().__setattr__(name, value)

    _pump: Pump | None = None

    @property
    def _views(self) -> list["NotebookViewer"]:
        """The views that are shown: this one; of a layout all that stand in it."""
        return [self]

    def _pumped(self, look: Callable[[], bool], period: int, gone: Callable[[], None] | None = None) -> Any:
        """Return what wakes a pump of the view's own, which renews the picture in a notebook when nothing moves."""
        self._pump = Pump(look, period, gone, lambda: renew(self), lambda: _Output.in_cell)
        return self._pump.wake

    # ---- its picture -------------------------------------------------------------------------------------------------

    layout: Any  # what Panel lays out
    _wake: Callable[[], None] = staticmethod(lambda: None)  # starts what follows threads, in a view that has such

    def __panel__(self) -> pn.viewable.Viewable:
        """Return the layout; the view comes alive with it."""
        self._wake()
        return self.layout

    def settle(self) -> None:
        """Show everything that has been computed by now, and wait for what the view itself computes.

        On a page a pump does this little by little. A script has no event loop, so nothing would be shown there. A
        race or study that still runs is shown as far as it is. Views without a pump show everything at once.
        """

    def _settle_unserved(self) -> None:
        """Settle, except on a served page: its pump shows what comes, and its reader decides what is seen."""
        if server_session() is None:
            self.settle()

    def figures(self) -> list[Any]:
        """Return the Bokeh figures of what has been computed by now, in the order of the page."""
        self._settle_unserved()
        return self.shown_figures()

    def shown_figures(self) -> list[Any]:
        """Return the Bokeh figures that are on the screen now, in the order of the page."""
        panes = self.layout.select(pn.pane.Bokeh)
        return [pane.object for pane in panes if pane.object is not None and pane.visible]

    def elements(self) -> dict[str, Any]:
        """Return the pictures of `figures` as HoloViews overlays by name, for a notebook that composes them.

        Of pictures of one kind the second is called "density-ratio-2", and so on.

        Raises:
            AlrvizError: HoloViews is not installed.
        """
        overlays: dict[str, Any] = {}
        count: Counter[str] = Counter()
        for figure in self.figures():
            kind = re.sub(r"^alrviz-|-[0-9a-f]{12}$", "", figure.name or "picture")
            count[kind] += 1
            overlays[kind if count[kind] == 1 else f"{kind}-{count[kind]}"] = element(figure)
        return overlays

    def said(self) -> str:
        """Return what the view says of what has been computed by now, as plain text."""
        self._settle_unserved()
        return self.shown_words()

    def shown_words(self) -> str:
        """Return what the view says on the screen now, as plain text."""
        text = getattr(getattr(self, "sentence", None), "object", None) or ""
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split())

    def png(self, width: int = WIDTH) -> bytes:
        """Return the pictures of `figures` as a PNG, `width` pixels wide; it needs no browser.

        Returns:
            Its bytes; a line of words where there is no picture yet.
        """
        return still(self.figures(), self.shown_words(), width=width)

    def shown_png(self) -> bytes:
        """Return the pictures that are on the screen now as a PNG, as a notebook's file keeps them."""
        return still(self.shown_figures(), self.shown_words(), width=WIDTH)

    # ---- in a notebook -----------------------------------------------------------------------------------------------

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        """Show the view in a notebook: its picture, its words, and the script that asks for the view itself."""
        shell = _shell()
        if shell is None or _other_ways():
            return self._bundle_of_panel(include, exclude)
        with turn():
            return _Output.of(self, shell).bundle()

    def _ipython_display_(self) -> None:
        """Show the view in an output that can be renewed."""
        from IPython.display import publish_display_data

        shell = _shell()
        if shell is None or _other_ways():
            publish_display_data(*self._bundle_of_panel())
            return
        with turn():
            output = _Output.of(self, shell)
            publish_display_data(*output.bundle(), transient={"display_id": output.key})

    def _bundle_of_panel(self, include: Any = None, exclude: Any = None) -> Any:
        """Return what Panel shows where it speaks with a notebook in its own way; where it cannot, a picture."""
        if _shell() is None and not pn.extension._loaded:
            return self._still_bundle()  # nobody will connect
        try:
            return super()._repr_mimebundle_(include, exclude) or self._still_bundle()
        except ModuleNotFoundError as error:
            package = str(error.name).partition(".")[0]
            return self._still_bundle(
                f"A picture: a live view needs the package {package} here (pip install {package})."
            )

    def _still_bundle(self, note: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the picture and the words for a place without a connection; `note` says why it is only a picture."""
        picture, words = base64.b64encode(self.png()).decode("ascii"), self.shown_words()
        shown = _picture_html(picture, words) + (f"<p>{escape(note)}</p>" if note else "")
        plain = ": ".join(filter(None, (type(self).__name__, words, note)))
        return {"text/plain": plain, "image/png": picture, "text/html": shown}, {}

    def _display_(self) -> "_StillHtml":
        """Show the picture in marimo, with which nothing here can connect."""
        bundle, _ = self._still_bundle()
        return _StillHtml(bundle["text/html"])

    # ---- as a file ---------------------------------------------------------------------------------------------------

    def save(self, filename: Any, title: str | None = None) -> None:
        """Save the view with everything that has been computed by now; a fit that was paused or scrubbed stays there.

        Args:
            filename: a path that ends in .png (its pictures) or .html (one page that needs neither network nor
                Python), or a file open for text, which gets the page.
            title: of the page; by default what the view is called.

        Raises:
            AlrvizError: if the path ends in neither.
        """
        path = Path(filename).expanduser() if isinstance(filename, str | os.PathLike) else None
        if path is not None and path.suffix.lower() == ".png":
            path.write_bytes(self.png())
            return
        if path is not None and path.suffix.lower() not in (".html", ".htm"):
            raise AlrvizError(f"a view is saved as .html or .png; got {path.name!r}. Nearest: {path.stem}.html")
        words = self.said()  # before the page is made: it brings the view up to date
        text = _page(self.layout, title or type(self).__name__, words)
        if path is None:
            filename.write(text)
        else:
            path.write_text(text, encoding="utf-8")


@dataclass(frozen=True)
class _StillHtml:
    """HTML as marimo takes it."""

    text: str

    def _mime_(self) -> tuple[str, str]:
        return "text/html", self.text


class ViewLayout(pn.Column):
    """What a view is laid out in. Of it Panel knows no more: by its layout a view is found in others."""

    _view: Callable[[], NotebookViewer | None] | None = None

    def __init__(self, *parts: Any, **look: Any):
        super().__init__(*parts, **{"sizing_mode": "stretch_width", "margin": 0, **look})

    @property
    def view(self) -> NotebookViewer | None:
        """Whose layout it is; None for a copy, which nothing moves."""
        return None if self._view is None else self._view()

    def save(self, filename: Any, title: str | None = None, resources: Any = None, **more: Any) -> Any:
        """Save it as Panel does; a page with all inside is the view's own: Panel's would ask a network."""
        view = self.view
        if view is None or more or str(getattr(resources, "mode", resources)).lower() != "inline":
            return super().save(filename, title, resources, **more)
        return view.save(filename, title)


class _Laid(NotebookViewer):
    """Views that a notebook has laid out beside each other, and other things."""

    def __init__(self, layout: Any, views: list[NotebookViewer]):
        super().__init__()
        self.layout, self._together = layout, views

    @property
    def _views(self) -> list[NotebookViewer]:
        """The views in it."""
        return self._together

    def __panel__(self) -> pn.viewable.Viewable:
        """Return the layout; its views come alive with it."""
        for view in self._together:
            view.__panel__()
        return self.layout

    def settle(self) -> None:
        """Show everything that has been computed by now in each view."""
        for view in self._together:
            view.settle()

    def shown_words(self) -> str:
        """Return what the views say on the screen now."""
        return " ".join(filter(None, (view.shown_words() for view in self._together)))


def _views_in(layout: Any) -> list[NotebookViewer]:
    """Return the views that stand in a layout; not those of which a view is made."""
    layouts = layout.select(ViewLayout)
    inner = {id(part) for laid in layouts for part in laid.select(ViewLayout) if part is not laid}
    views = [laid.view for laid in layouts if id(laid) not in inner]
    return [view for view in views if view is not None]


def _take_layouts() -> None:
    """Have the notebook show layouts with views in them as it shows the views."""
    shell = _shell()
    if shell is not None:
        shell.display_formatter.ipython_display_formatter.for_type(pn.viewable.Viewable, _show_layout)


def _show_layout(layout: Any) -> None:
    """Show a layout with views in it; any other is none of ours, and IPython goes on as if it had not asked."""
    views = _views_in(layout)
    if not views or _other_ways():
        raise NotImplementedError
    (views[0] if layout is views[0].layout else _Laid(layout, views))._ipython_display_()


# ---- outputs ---------------------------------------------------------------------------------------------------------


class _Output:
    """A place of the notebook where a view is shown.

    key: by which the page asks for the view, and by which the output is renewed.
    cell, run: of the notebook's cell it stands below, and of the run of that cell; "" where the notebook says neither.
    """

    all: ClassVar[dict[str, "_Output"]] = {}
    listening: ClassVar[bool] = False
    in_cell: ClassVar[bool] = False  # whether a cell runs: it may start what views show, and tells none of them

    def __init__(self, view: NotebookViewer, cell: str, run: str):
        self.key, self.view, self.cell, self.run = uuid.uuid4().hex, view, cell, run
        self._kept: Any = None  # of what the picture in the file is

    @classmethod
    def of(cls, view: NotebookViewer, shell: Any) -> "_Output":
        """Return a new output of a view; pages may ask for it from now on."""
        if not cls.listening:
            cls.listening = True
            listen(shell.kernel, lambda key: cls.all[key].view if key in cls.all else None)
            when_turns_end(flush)
            cls.in_cell = True  # the one that shows this view
            shell.events.register("pre_run_cell", _before_cell)
            shell.events.register("post_run_cell", _after_cell)
        output = cls(view, *_place(shell))
        # A cell that is run again replaces its outputs: nobody can ask for their views any more.
        replaced = [key for key, old in cls.all.items() if old.cell == output.cell != "" and old.run != output.run]
        for key in replaced:
            del cls.all[key]
        cls.all[output.key] = output
        return output

    def bundle(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what the file keeps, and what it says of it."""
        self._kept = _seen(self.view)
        words = self.view.shown_words()
        picture = base64.b64encode(self.view.shown_png()).decode("ascii")
        shown = _picture_html(picture, words)
        html = f"<div class='alrviz-view' id='alrviz-{self.key}'>{shown}</div>\n<script>{script(self.key)}</script>"
        names = ", ".join(type(view).__name__ for view in self.view._views)
        plain = f"{names}: {words}" if words else names
        return {"text/plain": plain, "image/png": picture, "text/html": html, EXEC: ""}, {EXEC: {"id": self.key}}

    def renew(self) -> None:
        """Bring the picture in the file up to date."""
        if _seen(self.view) != self._kept:
            from IPython.display import publish_display_data

            publish_display_data(*self.bundle(), transient={"display_id": self.key}, update=True)


def _picture_html(picture: str, words: str) -> str:
    """Return a PNG (base64) as HTML that holds it."""
    style = f"max-width: {WIDTH}px; width: 100%"
    return f"<img src='data:image/png;base64,{picture}' alt='{escape(words)}' style='{style}'>"


def _place(shell: Any) -> tuple[str, str]:
    """Return the cell that is run, and which run of it; "" for what the notebook does not say."""
    parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
    return parent.get("metadata", {}).get("cellId", ""), parent.get("header", {}).get("msg_id", "")


def _seen(view: NotebookViewer) -> bytes:
    """Return a digest of what a view shows."""
    digest = hashlib.sha256(view.shown_words().encode())
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
        return b"".join(_bytes(part) for part in column)
    return repr(values.tolist()).encode() if values.dtype == object else values.tobytes()


def renew(view: NotebookViewer) -> None:
    """Bring the pictures of a view in the notebook's file up to date."""
    with turn():
        for output in list(_Output.all.values()):
            if any(one is view for one in output.view._views):
                output.renew()


def _shown() -> list[NotebookViewer]:
    """Return the views that stand in an output, each once."""
    return list({id(view): view for output in _Output.all.values() for view in output.view._views}.values())


def _before_cell(_info: Any = None) -> None:
    """Let every view follow what a cell may start."""
    _Output.in_cell = True
    for view in _shown():
        if view._pump is not None:
            view._pump.wake()


def _after_cell(_result: Any = None) -> None:
    """Let what a cell has changed reach pages and file; a view that moves does so by itself."""
    _Output.in_cell = False
    end = time.monotonic() + SETTLE
    for view in _shown():
        pump = view._pump
        if pump is None:
            renew(view)
            continue
        pump.look()
        if pump.running and not watched(view):
            pump.finish(end - time.monotonic())
            if pump.running:
                renew(view)


def _shell() -> Any:
    return sys.modules["IPython"].get_ipython() if in_kernel() else None


def _other_ways() -> bool:
    """Whether Panel was told, or has found, to speak with this notebook in another way (VS Code, Colab)."""
    others = "google.colab" in sys.modules or "VSCODE_PID" in os.environ or "VSCODE_CWD" in os.environ
    if others and not pn.extension._loaded:
        pn.extension(inline=True)
    return pn.config.comms != "default"


_SAVED = """<!DOCTYPE html>
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


def _page(layout: Any, title: str, words: str) -> str:
    """Return the page of what Panel lays out; `words` are for readers without scripts."""
    document = Document()
    root = layout._render_model(document)
    try:
        at_home(root)
        documents, _ = standalone_docs_json_and_render_items([root], suppress_callback_warning=True)
        parts = {"esm": resource(ESM), "document": serialize_json(documents), "root": root.ref["id"], "name": ESM}
        inside = {name: json.dumps(part).replace("</", "<\\/") for name, part in parts.items()}
    finally:
        layout._cleanup(root)
    scripts = {name: resource(name).replace("</script", "<\\/script") for name in ("font", "scripts")}
    return _SAVED.format(title=escape(title), words=escape(words), **scripts, **inside)
