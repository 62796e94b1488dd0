"""Tune the process of a server once, so that its event loop answers at once whatever runs beside it.

Measured on two cores: a full collection looks through 470,000 objects of imported libraries and holds every thread for
0.3 s, and Panel asks for one whenever a visitor leaves; what is frozen after the imports is never looked through again.
Each time the loop lets go of the interpreter beside a fit it waits for the switch interval to get it back, and to
answer one message it lets go dozens of times.

Two things are kept out of its log. A browser may leave while a message is on its way to it: the message's own task
ends with a WebSocketClosedError that nobody waits for, and asyncio would write a traceback. And the grid of columns
sends its style sheets back, whole, which Bokeh remarks on.

The visitor after whose first page this is done has it still, and what is frozen is not freed when it is only held by
itself, as pages are. So when nobody is there for the first time, what was frozen is looked through once more.
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

SWITCH_INTERVAL_SECONDS = 0.001  # Python's own is 0.005; shorter ones cost a fit more than they give a visitor
THAW_DELAY_SECONDS = 5.0  # seconds after a visitor has gone: Panel and Bokeh take the page apart by then, mostly
THAW_TRIES = 6  # how often pages that were left are looked for
HAND_SECONDS = 0.3  # seconds after a move of somebody's hand in which films of others wait
_settled = False
_frozen_page = False
_leaving: weakref.WeakSet[object] = weakref.WeakSet()  # pages that visitors have left and that are still held
_moved = float("-inf")


def hand_moved() -> None:
    """Somebody drags something and waits for the loop."""
    global _moved
    _moved = time.monotonic()


def hand_moving() -> bool:
    """Whether somebody does: what only plays may wait a moment."""
    return time.monotonic() - _moved < HAND_SECONDS


def settle(context: BokehSessionContext | None) -> None:
    """Do it, once, where `context` (a document's session context) says that a page is being served."""
    global _settled, _frozen_page
    if context is None or _settled:
        return
    _settled = _frozen_page = True
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    gc.collect()
    gc.freeze()


def own_styles(document: Document) -> None:
    """Let a page's style sheets be this server's own from its beginning.

    Panel says so only while it writes a page's HTML. A browser that connects longer after that than an unused session
    lives (15 s: a busy machine, a laptop that slept) gets a new session, whose style sheets would be asked of a public
    server.
    """
    path = pn.state.rel_path
    document.template_variables.setdefault("dist_url", f"{path}/{LOCAL_DIST}" if path else LOCAL_DIST)


def hush() -> None:
    """Keep out of a server's log what is nothing to report; asked again it changes nothing."""
    logging.getLogger("asyncio").addFilter(_concerns)
    warnings.filterwarnings("ignore", "reference already known", BokehUserWarning)


def _concerns(record: logging.LogRecord) -> bool:
    """Whether a record is about more than a message to a browser that has gone."""
    return not (record.exc_info and isinstance(record.exc_info[1], WebSocketClosedError))


def left(context: BokehSessionContext, page: object, later: Callable[[float, Callable[[], None]], object]) -> None:
    """A visitor has gone, whose session context and page these were; `later` calls a function after some seconds."""
    _leaving.add(page)
    if _frozen_page:
        later(THAW_DELAY_SECONDS, lambda: _thaw(context.server_context, later, THAW_TRIES))


def _thaw(server_context: BokehServerContext, later: Callable[[float, Callable[[], None]], object], tries: int) -> None:
    """Free what was frozen, when nobody is there; later once more while a page that was left is still held."""
    global _frozen_page
    if not _frozen_page or server_context.sessions:
        return
    gc.unfreeze()
    gc.collect()
    give_back()
    if _leaving and tries > 1:
        later(THAW_DELAY_SECONDS, lambda: _thaw(server_context, later, tries - 1))
        return
    _frozen_page = False
    gc.freeze()
