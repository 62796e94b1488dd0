"""Whether what is changed now reaches the browser.

Until Panel (1.9.4) takes a page for loaded it drops every change made under a hold, as already in the document that is
still to be sent. It waits for an event that BokehJS sends when every view is idle, which comes late or never with views
that React draws.

An open websocket is not enough: BokehJS (3.9) listens to a layout's children only once all of their views are built,
and what joins the layout before is never seen. It builds the document's roots one after another; Panel's last root,
`BrowserInfo`, tells the server of the browser as it is built: every other view is there then, and listens.
"""

from typing import Any

import panel as pn
from panel.models.browser import BrowserInfo


def await_views(document: Any) -> None:
    """A browser will build the views of a document again: until it tells of itself anew no change reaches it."""
    for root in document.roots:
        if isinstance(root, BrowserInfo):
            root.timezone_offset = None


def server_session() -> Any:
    """The Bokeh server's session that is being served, None in a notebook or a script."""
    context = getattr(pn.state.curdoc, "session_context", None)
    if context is None:
        return None
    return next((s for s in context.server_context.sessions if s.id == context.id), None)


def connected() -> bool:
    """Whether a browser is connected to this session (true where that cannot be known)."""
    session = server_session()
    return True if session is None else session.connection_count > 0


def built(document: Any) -> bool:
    """Whether the browser has built the views of a document (true where it has no root that tells)."""
    roots = () if document is None else document.roots
    return all(root.timezone_offset is not None for root in roots if isinstance(root, BrowserInfo))


def page_ready() -> bool:
    """Whether changes reach the browser; a page whose views are built is taken for loaded from then on."""
    watched, ready = connected(), built(pn.state.curdoc)
    if pn.state.loaded:
        return ready or not watched
    if not (watched and ready):
        return False
    pn.state._on_load(pn.state.curdoc)
    return True
