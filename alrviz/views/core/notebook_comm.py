"""The connection between a view and a page of a notebook: the page asks, and the view comes as it is then.

A notebook's output holds no view, only its picture and a script (notebook.js) that asks the kernel for it. Panel writes
the view into the output instead and sends changes from then on, whether a page is there to read them or not: what
changed before the page was ready was lost, or read in another order: in Panel 1.9.4 none of 6 runs of all cells left a
view complete (of one curve 7 points of 530), and its style sheets were asked of a CDN. Here a page says when its views
are built; until then changes are held, and after that they go out in order, at most one message on its way. What every
view needs (Bokeh, Panel, the bundle of Material's widgets, the font of icons: 4 MB) goes over the same connection, once
a page, and never into the file; nothing is fetched from another machine.
"""

import base64
import gzip
import json
import re
import time
import traceback
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import bokeh
import panel as pn
import panel_material_ui as pmui
from bokeh.core.json_encoder import serialize_json
from bokeh.document import Document
from bokeh.document.events import ModelChangedEvent
from bokeh.embed.util import standalone_docs_json_and_render_items
from bokeh.models import ImportedStyleSheet, UIElement
from bokeh.resources import INLINE
from panel.io import notebook as panel_notebook
from panel.io.model import diff
from panel.io.resources import Resources, bundle_resources, set_resource_mode
from panel.io.state import set_curdoc
from panel.models.esm import ReactComponent
from pyviz_comms import Comm

from alrviz.views.core.kernel_lock import turn
from alrviz.views.core.state_sync import STATE_SYNC
from alrviz.views.core.style import ICONS

TARGET = "alrviz"  # of the comm
ESM = "alrviz-material"  # by which a page keeps the bundle of Material's widgets
LATE = 1.0  # seconds after which an unanswered message no longer holds the next one back
_DIST = Path(pmui.__file__).parent / "dist"
# Added to the page, not to an output: it outlives a cell that is run again.
_FONT = """document.fonts.add(new FontFace("Material Icons", "url(data:font/woff2;base64,{data})"));"""
_SHIM = """
const shim = document.createElement("script");
shim.type = "esms-options"; shim.textContent = '{"shimMode": true}'; document.head.append(shim);
"""


# ---- what a page needs -----------------------------------------------------------------------------------------------


def _scripts() -> str:
    with set_resource_mode("inline"):
        resources = Resources.from_bokeh(INLINE, notebook=False)
        bundle = bundle_resources(None, resources, notebook=False, reloading=False, enable_mathjax=False)
        configs, requirements, exports, skip = panel_notebook.require_components()
        return _SHIM + panel_notebook._autoload_js(
            bundle=bundle, configs=configs, requirements=requirements, exports=exports, skip_imports=skip,
            ipywidget=False,
        )  # fmt: skip


def _font() -> str:
    files = sorted(_DIST.glob("material-icons-[A-Z0-9]*.woff2"))
    return _FONT.format(data=base64.b64encode(files[0].read_bytes()).decode("ascii")) if files else ""


def _bundle() -> str:
    text = (_DIST / "panel-material-ui.bundle.js").read_text(encoding="utf-8")
    # Emotion adds its rules to a sheet, not to the text of it, which is faster: a view that moves to another place of
    # the page, as it does when its output is renewed, would lose them.
    return re.sub(r"this\.isSpeedy=[^,]+,", "this.isSpeedy=!1,", text, count=1)


_RESOURCES: dict[str, Callable[[], str]] = {
    "scripts": _scripts,
    "font": _font,
    ESM: _bundle,
    "state-sync": lambda: STATE_SYNC,
}


def resource(name: str) -> str:
    """Return what every page needs: "scripts", "font", "state-sync", or the bundle of Material's widgets (`ESM`)."""
    return _RESOURCES[name]()


@cache
def packed(name: str) -> bytes:
    """Return a resource, compressed."""
    return gzip.compress(resource(name).encode(), 6)


def _sheets(sheets: list[Any]) -> list[Any]:
    """Return style sheets with what they import written out; what this machine has not got is left out."""
    there = [panel_notebook.replace_inline_css(s) if isinstance(s, ImportedStyleSheet) else s for s in sheets]
    return [sheet for sheet in there if not isinstance(sheet, ImportedStyleSheet)]


def _joined(_panel: Any, root: Any, changed: Any, _old: Any) -> None:
    """Panel's hook for what is laid out later."""
    made = changed._models.get(root.ref["id"])
    if made is not None:
        at_home(made[0])


def at_home(made: Any) -> None:
    """Let what was made for a page hold no address of another machine, and no copy of what pages load once."""
    for model in made.select({"type": UIElement}):
        sheets = _sheets(model.stylesheets)
        if sheets != model.stylesheets:
            model.stylesheets = sheets
        if isinstance(model, ReactComponent) and model.bundle is not None:
            model.update(bundle=ESM, css_bundle=ICONS, esm="")


# ---- the connection --------------------------------------------------------------------------------------------------


class _Panels:
    """What Panel takes for its comm: true, and silent; the link sends what has changed."""

    _comm, id = True, TARGET

    def send(self, *_: Any, **__: Any) -> None:
        """Send nothing."""


class Link:
    """One page's connection to a view.

    Args:
        view: what it shows. comm: Jupyter's, just opened by the page.
    """

    def __init__(self, view: Any, comm: Any):
        self.view, self._comm = view, comm
        self._document: Document | None = None
        self._root: Any = None
        self.ready = False
        self._sent = float("-inf")  # when the message went that is still unanswered; -inf: none is
        comm.on_msg(self._received)
        with turn():
            self._show()

    def _show(self) -> None:
        """Send the view as it is now."""
        self.close()
        document, panels = Document(), _Panels()
        layout = pn.Column(self.view, sizing_mode="stretch_width", margin=0, hooks=[_joined])
        with set_resource_mode("inline"), pn.config.set(inline=True), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            root = layout._render_model(document, panels)
        root.tags = [*root.tags, "embedded"]  # Panel's word for: do not send by yourself
        at_home(root)
        document.hold()
        document.callbacks._held_events = []
        documents, _ = standalone_docs_json_and_render_items([root], suppress_callback_warning=True)
        self._layout, self._root, self._document, self.ready = layout, root, document, False
        self._comm.send({"document": serialize_json(documents), "root": root.ref["id"], "needs": list(_RESOURCES)})

    def close(self) -> None:
        """Forget the page's models."""
        if self._root is not None:
            self._layout._cleanup(self._root)
            pn.state._views.pop(self._root.ref["id"], None)
        self._root = self._document = None
        self.ready, self._sent = False, float("-inf")

    def flush(self) -> None:
        """Send what has changed, unless the page still reads what went before."""
        document = self._document
        if document is None or not self.ready or time.monotonic() - self._sent < LATE:
            return
        held, document.callbacks._held_events = document.callbacks._held_events, []
        for event in held:
            if isinstance(event, ModelChangedEvent) and event.attr == "stylesheets":
                event.new = _sheets(event.new)  # Panel's themes name them anew whenever a style changes
        message = diff(document, events=held)
        if message is None:
            return
        fragments: list[str | None] = [message.header_json, message.metadata_json, message.content_json]
        buffers = []
        for buffer in message.buffers:
            fragments += [json.dumps(buffer.ref), None]
            buffers.append(buffer.to_bytes())
        self._sent = time.monotonic()
        self._comm.send({"patch": fragments}, buffers=buffers)

    def _received(self, message: Any) -> None:
        data = message["content"]["data"]
        name = data.get("want")
        if name is not None:
            self._comm.send({"resource": name}, buffers=[packed(name)])
            return
        try:
            with turn():
                self._take(data)
        except Exception:  # the page's console is where a reader can find it
            self._comm.send({"error": traceback.format_exc()})
        if "patch" in data:
            self._comm.send({"done": True})

    def _take(self, data: Any) -> None:
        if "ready" in data:
            self.ready = True
        elif "done" in data:
            self._sent = float("-inf")
        elif "failed" in data:
            self._show()
        elif "bye" in data:
            links.discard(self)
            self.close()
        elif "patch" in data and self._document is not None:
            self._apply(self._document, json.loads(data["patch"]))

    def _apply(self, document: Document, patch: Any) -> None:
        """Take what the reader has changed; what follows from it is held like any other change."""
        document.apply_json_patch(patch, setter=self)
        callbacks = document.callbacks
        theirs = [event for event in callbacks._held_events if event.setter is self]
        callbacks._held_events = [event for event in callbacks._held_events if event.setter is not self]
        with set_curdoc(document):
            for event in theirs:  # while changes are held Bokeh tells nobody of them
                if event.callback_invoker is not None:
                    event.callback_invoker()


links: set[Link] = set()


def watched(view: Any) -> bool:
    """Whether a page shows this view."""
    return any(link.ready and any(one is view for one in link.view._views) for link in links)


def flush() -> None:
    """Send every page what has changed."""
    for link in list(links):
        link.flush()
    for _, root, document, comm in list(pn.state._views.values()):
        # What was laid out beside other things of Panel's has Panel's own connection.
        if getattr(comm, "_comm", None) and not isinstance(comm, _Panels) and "embedded" not in root.tags:
            panel_notebook.push(document, comm)


def opened(find: Callable[[str], Any], comm: Any, message: Any) -> None:
    """Connect a page that asks for a view of this kernel's."""
    view = find(message["content"]["data"]["key"])
    if view is None:
        comm.close()
        return
    try:
        links.add(Link(view, comm))
    except Exception:
        comm.send({"error": traceback.format_exc()})


def listen(kernel: Any, find: Callable[[str], Any]) -> None:
    """Take what pages ask for from now on; `find` returns the view of a key, None where there is none."""
    kernel.comm_manager.register_target(TARGET, partial(opened, find))
    handle = Comm._handle_msg

    def handled(comm: Comm, message: Any) -> None:
        with turn():
            handle(comm, message)

    # What pages send over Panel's own connections, of views that were laid out beside other things, takes turns too.
    Comm._handle_msg = handled


@cache
def _script() -> str:
    text = (Path(__file__).parent / "notebook.js").read_text(encoding="utf-8")
    lines = (line.strip() for line in text.splitlines())
    short = "\n".join(line for line in lines if line and not line.startswith("//"))
    return short.replace("%VERSION%", bokeh.__version__.replace("rc", "-rc.")).replace("%ESM%", ESM)


def script(key: str) -> str:
    """Return the script of an output, which asks for the view of `key`."""
    return _script().replace("%KEY%", key)
