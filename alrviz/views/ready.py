"""Whether what is changed now reaches the browser.

Until Panel (1.9.4) takes a page for loaded it drops every change made under a hold, as already in the document that is
still to be sent. It waits for an event that BokehJS sends when every view is idle, which comes late or never with views
that React draws; but the document was sent when the websocket was opened, so an open websocket is enough.
"""

from typing import Any

import panel as pn


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


def page_ready() -> bool:
    """Whether changes reach the browser; a page that has its websocket is taken for loaded from then on."""
    if pn.state.loaded:
        return True
    if not connected():
        return False
    pn.state._on_load(pn.state.curdoc)
    return True
