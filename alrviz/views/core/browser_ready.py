"""Find out whether a change made now will reach the browser.

Until Panel (1.9.4) considers a page loaded, it drops every change made under a hold: it assumes that the document it is
about to send already contains the change. It waits for an event that BokehJS sends when every view is idle, which comes
late, or never, with views drawn by React.

An open websocket is not enough: BokehJS (3.9) watches a layout's children only once all of their views are built, and
never shows a child added earlier. It builds the document's roots in order. Panel's last root, `BrowserInfo`, reports to
the server while it is built; by then all other views exist.
"""

from typing import Any

import panel as pn
from panel.models.browser import BrowserInfo


def await_views(document: Any) -> None:
    """Mark a document's views as not built, because a reconnecting browser is about to build them again."""
    for root in document.roots:
        if isinstance(root, BrowserInfo):
            root.timezone_offset = None


def server_session() -> Any:
    """The current Bokeh server session; None in a notebook or a script."""
    context = getattr(pn.state.curdoc, "session_context", None)
    if context is None:
        return None
    return next((session for session in context.server_context.sessions if session.id == context.id), None)


def is_connected() -> bool:
    """Whether a browser is connected to this session; True outside a server."""
    session = server_session()
    return True if session is None else session.connection_count > 0


def views_are_built(document: Any) -> bool:
    """Whether the browser has built the views of a document; True if it has no `BrowserInfo`."""
    roots = () if document is None else document.roots
    return all(root.timezone_offset is not None for root in roots if isinstance(root, BrowserInfo))


def page_ready() -> bool:
    """Whether changes reach the browser. Once the views are built, tell Panel that the page is loaded."""
    has_browser, are_views_built = is_connected(), views_are_built(pn.state.curdoc)
    if pn.state.loaded:
        return are_views_built or not has_browser
    if not (has_browser and are_views_built):
        return False
    pn.state._on_load(pn.state.curdoc)
    return True
