"""Settings of a server's process that keep its event loop responsive while fits run.

Measured on two cores:

- A full garbage collection visits 470,000 objects of imported libraries and stops all threads for 0.3 s, and Panel
  requests one whenever a visitor leaves. Objects that are frozen after the imports are never visited again.
- The event loop releases the interpreter dozens of times to answer one message, and beside a fit it waits for a switch
  interval each time until it gets the interpreter back.

Freezing happens after the first page, which is frozen too. A frozen page is never freed, because pages are reference
cycles. So when no visitor is connected for the first time, frozen objects are collected once.

Two messages are filtered from the log: the traceback of a WebSocketClosedError, raised by a message to a browser that
has left, and Bokeh's warning about the style sheets that the grid of columns sends back.
"""

import gc
import logging
import sys
import time
import warnings
import weakref
from collections.abc import Callable

import panel as pn
from bokeh.document import Document
from bokeh.server.contexts import BokehServerContext, BokehSessionContext
from bokeh.util.warnings import BokehUserWarning
from panel.io.resources import LOCAL_DIST
from tornado.websocket import WebSocketClosedError

from alrviz.memory import give_back

SWITCH_INTERVAL_SECONDS = 0.001  # Python's default is 0.005; shorter intervals slow fits down without a gain
THAW_DELAY_SECONDS = 5.0  # after a visitor has left; Panel and Bokeh usually release the page by then
THAW_TRIES = 6  # attempts to free pages that visitors have left
DRAG_SECONDS = 0.3  # after a drag, in which animations of other visitors pause
_is_tuned = False
_frozen_page = False
_left_pages: weakref.WeakSet[object] = weakref.WeakSet()  # pages that visitors have left and that are not freed yet
_last_drag = float("-inf")


def note_drag() -> None:
    """Note that a visitor drags something and waits for the event loop."""
    global _last_drag
    _last_drag = time.monotonic()


def is_dragging() -> bool:
    """Return whether a visitor is dragging something, so that animations should pause."""
    return time.monotonic() - _last_drag < DRAG_SECONDS


def tune_process(context: BokehSessionContext | None) -> None:
    """Set the switch interval and freeze imported objects, once; `context`: the page's session context, or None."""
    global _is_tuned, _frozen_page
    if context is None or _is_tuned:
        return
    _is_tuned = _frozen_page = True
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    gc.collect()
    gc.freeze()


def use_server_styles(document: Document) -> None:
    """Make a page load its style sheets from this server.

    Panel sets this only while it writes a page's HTML. If the browser connects after the unused session has expired
    (15 s, on a busy machine or after a laptop slept), the new session would load its style sheets from a public server.
    """
    path = pn.state.rel_path
    document.template_variables.setdefault("dist_url", f"{path}/{LOCAL_DIST}" if path else LOCAL_DIST)


def filter_log() -> None:
    """Filter irrelevant messages from the log; a second call changes nothing."""
    logging.getLogger("asyncio").addFilter(_is_relevant)
    warnings.filterwarnings("ignore", "reference already known", BokehUserWarning)


def _is_relevant(record: logging.LogRecord) -> bool:
    """Return whether a record is more than the error of a message to a browser that has left."""
    return not (record.exc_info and isinstance(record.exc_info[1], WebSocketClosedError))


def page_left(context: BokehSessionContext, page: object, later: Callable[[float, Callable[[], None]], object]) -> None:
    """Free the frozen objects after a visitor has left.

    Args:
        context: the visitor's session context.
        page: the visitor's page.
        later: calls a function after some seconds.
    """
    _left_pages.add(page)
    if _frozen_page:
        later(THAW_DELAY_SECONDS, lambda: _collect_frozen(context.server_context, later, THAW_TRIES))


def _collect_frozen(
    server_context: BokehServerContext, later: Callable[[float, Callable[[], None]], object], tries: int
) -> None:
    """Collect frozen objects if no visitor is connected; try again later while a left page is still referenced."""
    global _frozen_page
    if not _frozen_page or server_context.sessions:
        return
    gc.unfreeze()
    gc.collect()
    give_back()
    if _left_pages and tries > 1:
        later(THAW_DELAY_SECONDS, lambda: _collect_frozen(server_context, later, tries - 1))
        return
    _frozen_page = False
    gc.freeze()
