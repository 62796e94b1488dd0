"""Connection between a view in the kernel and a page of a notebook; the page requests the view in its current state.

A notebook's output contains only the view's picture and a script (notebook.js) that requests the view from the kernel.
Panel's own way is to write the view into the output and to send changes from then on, even if no page reads them.
Changes made before the page was ready were lost or reordered: with Panel 1.9.4 none of 6 runs of all cells left a view
complete (one curve had 7 of 530 points), and style sheets came from a CDN. Here the page reports when its views are
built. Changes are held until then, and afterwards sent in order, one unacknowledged message at a time. The libraries
(Bokeh, Panel, Material widgets, icon font: 4 MB) use the same connection, once per page, and are never stored in the
file; nothing is fetched from another machine.
"""

import base64
import gzip
import json
import re
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

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
from alrviz.views.core.pump import Pump
from alrviz.views.core.state_sync import STATE_SYNC
from alrviz.views.core.style import ICONS

COMM_TARGET = "alrviz"
MATERIAL_BUNDLE = "alrviz-material"  # name of the bundle of Material widgets in a page's resources
ACK_TIMEOUT_SECONDS = 1.0  # afterwards the next message is sent although the last one was not acknowledged
_MATERIAL_FOLDER = Path(pmui.__file__).parent / "dist"
# Added to the page rather than to an output, so that it survives when the cell runs again.
_FONT = """document.fonts.add(new FontFace("Material Icons", "url(data:font/woff2;base64,{data})"));"""
_SHIM_SCRIPT = """
const shim = document.createElement("script");
shim.type = "esms-options"; shim.textContent = '{"shimMode": true}'; document.head.append(shim);
"""


# ---- what a page needs -----------------------------------------------------------------------------------------------


def _scripts() -> str:
    with set_resource_mode("inline"):
        resources = Resources.from_bokeh(INLINE, notebook=False)
        bundle = bundle_resources(None, resources, notebook=False, reloading=False, enable_mathjax=False)
        configs, requirements, exports, skip = panel_notebook.require_components()
        return _SHIM_SCRIPT + panel_notebook._autoload_js(
            bundle=bundle, configs=configs, requirements=requirements, exports=exports, skip_imports=skip,
            ipywidget=False,
        )  # fmt: skip


def _font() -> str:
    files = sorted(_MATERIAL_FOLDER.glob("material-icons-[A-Z0-9]*.woff2"))
    return _FONT.format(data=base64.b64encode(files[0].read_bytes()).decode("ascii")) if files else ""


def _bundle() -> str:
    bundle_script = (_MATERIAL_FOLDER / "panel-material-ui.bundle.js").read_text(encoding="utf-8")
    # In its fast mode Emotion adds rules to a sheet but not to the sheet's text. A view that moves within the page, as
    # when its output is renewed, would lose those rules.
    return re.sub(r"this\.isSpeedy=[^,]+,", "this.isSpeedy=!1,", bundle_script, count=1)


_RESOURCES: dict[str, Callable[[], str]] = {
    "scripts": _scripts,
    "font": _font,
    MATERIAL_BUNDLE: _bundle,
    "state-sync": lambda: STATE_SYNC,
}


def resource(name: str) -> str:
    """Return the text of a library that pages need; name: "scripts", "font", "state-sync" or `MATERIAL_BUNDLE`."""
    return _RESOURCES[name]()


@cache
def compressed_resource(name: str) -> bytes:
    """Return the `resource` of this name, compressed by gzip."""
    return gzip.compress(resource(name).encode(), 6)


def _sheets(sheets: list[Any]) -> list[Any]:
    """Replace imported style sheets by their text; drop those that are not on this machine."""
    inlined_sheets = [panel_notebook.replace_inline_css(s) if isinstance(s, ImportedStyleSheet) else s for s in sheets]
    return [sheet for sheet in inlined_sheets if not isinstance(sheet, ImportedStyleSheet)]


def _strip_added_models(_panel: Any, root: Any, layout: Any, _old: Any) -> None:
    """Panel hook: strip models that are added to a layout later."""
    models = layout._models.get(root.ref["id"])
    if models is not None:
        strip_remote_assets(models[0])


def strip_remote_assets(root: Any) -> None:
    """Remove remote addresses from the models below `root`, and the bundles that the page loads by itself."""
    # Without the freeze every assignment lets the document visit all its models, which took half of opening a view.
    with nullcontext() if root.document is None else root.document.models.freeze():
        for model in root.select({"type": UIElement}):
            sheets = _sheets(model.stylesheets)
            if sheets != model.stylesheets:
                model.stylesheets = sheets
            if isinstance(model, ReactComponent) and model.bundle is not None:
                model.update(bundle=MATERIAL_BUNDLE, css_bundle=ICONS, esm="")


# ---- the connection --------------------------------------------------------------------------------------------------


class DisplayedView(Protocol):
    """View as pages and outputs of a notebook see it.

    Attributes:
        standalone_pump: the pump of a view that no page pumps; None if the view has none.
    """

    standalone_pump: Pump | None

    @property
    def views(self) -> "Sequence[DisplayedView]":
        """The views shown by this one: itself, or the members of a composed view."""

    def shown_figures(self) -> list[Any]:
        """Return the Bokeh figures on the screen."""

    def shown_text(self) -> str:
        """Return the sentence on the screen."""

    def shown_png(self) -> bytes:
        """Return the figures on the screen as a PNG."""


class _SilentComm:
    """Comm that Panel accepts but that sends nothing; `Link.flush` sends the changes."""

    _comm, id = True, COMM_TARGET

    def send(self, *_: Any, **__: Any) -> None:
        """Send nothing."""


class Link:
    """One page's connection to a view.

    Args:
        view: the view to show.
        comm: Jupyter's comm, just opened by the page.

    Attributes:
        ready: whether the page has built the view.
    """

    def __init__(self, view: DisplayedView, comm: Any):
        self.view, self._comm = view, comm
        self._document: Document | None = None
        self._root: Any = None
        self.ready = False
        self._sent_at = float("-inf")  # when the unacknowledged message was sent; -inf if there is none
        comm.on_msg(self._on_message)
        with turn():
            self._send_view()

    def _send_view(self) -> None:
        """Send the view in its current state."""
        self.close()
        document, comm = Document(), _SilentComm()
        layout = pn.Column(self.view, sizing_mode="stretch_width", margin=0, hooks=[_strip_added_models])
        with set_resource_mode("inline"), pn.config.set(inline=True), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            root = layout._render_model(document, comm)
        root.tags = [*root.tags, "embedded"]  # keeps Panel from sending changes itself
        strip_remote_assets(root)
        document.hold()
        document.callbacks._held_events = []
        documents, _ = standalone_docs_json_and_render_items([root], suppress_callback_warning=True)
        self._layout, self._root, self._document, self.ready = layout, root, document, False
        self._comm.send({"document": serialize_json(documents), "root": root.ref["id"], "needs": list(_RESOURCES)})

    def close(self) -> None:
        """Release the page's models."""
        if self._root is not None:
            self._layout._cleanup(self._root)
            pn.state._views.pop(self._root.ref["id"], None)
        self._root = self._document = None
        self.ready, self._sent_at = False, float("-inf")

    def flush(self) -> None:
        """Send held changes, unless the page has not acknowledged the last message."""
        document = self._document
        if document is None or not self.ready or time.monotonic() - self._sent_at < ACK_TIMEOUT_SECONDS:
            return
        events, document.callbacks._held_events = document.callbacks._held_events, []
        for event in events:
            if isinstance(event, ModelChangedEvent) and event.attr == "stylesheets":
                event.new = _sheets(event.new)  # Panel's themes restore the imports whenever a style changes
        message = diff(document, events=events)
        if message is None:
            return
        fragments: list[str | None] = [message.header_json, message.metadata_json, message.content_json]
        buffers = []
        for buffer in message.buffers:
            fragments += [json.dumps(buffer.ref), None]
            buffers.append(buffer.to_bytes())
        self._sent_at = time.monotonic()
        self._comm.send({"patch": fragments}, buffers=buffers)

    def _on_message(self, message: Any) -> None:
        data = message["content"]["data"]
        name = data.get("want")
        if name is not None:
            self._comm.send({"resource": name}, buffers=[compressed_resource(name)])
            return
        try:
            with turn():
                self._handle(data)
        except Exception:  # shown in the page's console, where a reader can find it
            self._comm.send({"error": traceback.format_exc()})
        if "patch" in data:
            self._comm.send({"done": True})

    def _handle(self, data: Any) -> None:
        if "ready" in data:
            self.ready = True
        elif "done" in data:
            self._sent_at = float("-inf")
        elif "failed" in data:
            self._send_view()
        elif "bye" in data:
            links.discard(self)
            self.close()
        elif "patch" in data and self._document is not None:
            self._apply_patch(self._document, json.loads(data["patch"]))

    def _apply_patch(self, document: Document, patch: Any) -> None:
        """Apply a patch with the reader's changes; changes that follow from them are held like any other."""
        document.apply_json_patch(patch, setter=self)
        callbacks = document.callbacks
        reader_events = [event for event in callbacks._held_events if event.setter is self]
        callbacks._held_events = [event for event in callbacks._held_events if event.setter is not self]
        with set_curdoc(document):
            for event in reader_events:  # Bokeh does not call callbacks while events are held
                if event.callback_invoker is not None:
                    event.callback_invoker()


links: set[Link] = set()


def is_watched(view: DisplayedView) -> bool:
    """Whether a page shows a view."""
    return any(link.ready and any(shown_view is view for shown_view in link.view.views) for link in links)


def flush() -> None:
    """Send all pages their held changes."""
    for link in list(links):
        link.flush()
    for _, root, document, comm in list(pn.state._views.values()):
        # A view inside a plain Panel layout uses Panel's own connection.
        if getattr(comm, "_comm", None) and not isinstance(comm, _SilentComm) and "embedded" not in root.tags:
            panel_notebook.push(document, comm)


def open_link(find: Callable[[str], DisplayedView | None], comm: Any, message: Any) -> None:
    """Connect a page that requests a view by the comm's opening message; close the comm if the view is unknown.

    find: returns the view of a key, or None.
    """
    view = find(message["content"]["data"]["key"])
    if view is None:
        comm.close()
        return
    try:
        links.add(Link(view, comm))
    except Exception:
        comm.send({"error": traceback.format_exc()})


def listen(kernel: Any, find: Callable[[str], DisplayedView | None]) -> None:
    """Start to accept requests from pages at a Jupyter kernel; `find` returns the view of a key, or None."""
    kernel.comm_manager.register_target(COMM_TARGET, partial(open_link, find))
    handle = Comm._handle_msg

    def handle_in_turn(comm: Comm, message: Any) -> None:
        with turn():
            handle(comm, message)

    # Messages on Panel's own connections must take turns too.
    Comm._handle_msg = handle_in_turn


@cache
def _script() -> str:
    script_text = (Path(__file__).parent / "notebook.js").read_text(encoding="utf-8")
    stripped_lines = (line.strip() for line in script_text.splitlines())
    short_script = "\n".join(line for line in stripped_lines if line and not line.startswith("//"))
    return short_script.replace("%VERSION%", bokeh.__version__.replace("rc", "-rc.")).replace("%ESM%", MATERIAL_BUNDLE)


def script(key: str) -> str:
    """Return the script of an output that requests the view of `key`."""
    return _script().replace("%KEY%", key)
