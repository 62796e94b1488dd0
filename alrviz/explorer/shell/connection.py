"""A lost connection: the page reports it at once, refuses presses meanwhile, and reconnects by itself.

Only the websocket is lost; runs belong to the registry and continue. The browser notices a closed socket at once. A
silent one (a tunnel, a laptop that slept) it notices by asking the server for a sign of life after two seconds without
a message:

    after 5 s     the server is slow: it may be busy, and presses wait in the socket
    after 15 s    the connection is lost; after 4 s if the browser knows that the network is down

Then it sends plain requests twice a second:

    <page of the explorer>/session          does the server still have the page's session?
    <page of the explorer>/session/again    the same, and the old socket is closed, so that nothing more is read from it

Once the server answers, the page reloads itself. If its session still exists (after a short tunnel), BokehJS gets a
token of it instead of a new session's, and the page continues with all that is not in a link. If not (after an hour's
sleep, or a restart of the server), the link finds its run in the registry or in the run store. Presses made while the
connection is lost are refused at once and never sent later.

Rejected: BokehJS (3.9) can reconnect without a reload. But it then loses the arrays of the document and half-received
messages, React's views collide with those of the old page, which have the same ids, and after five attempts (31 s) it
gives up.
"""

import json
import time
from typing import Any

from bokeh.core.types import ID
from bokeh.server.session import ServerSession
from bokeh.server.tornado import BokehTornado
from bokeh.server.views.auth_request_handler import AuthRequestHandler
from bokeh.util.token import check_token_signature, generate_jwt_token, get_session_id
from tornado.web import authenticated

from alrviz.explorer.shell import asset
from alrviz.views.core.browser_ready import await_views

HEADER = "Alrviz-Token"  # header of requests with the token of the page's websocket
NEW_SESSION_PATH = "/session/new"  # below the page; builds the page's session
PLACE_PATH = "/session/place"  # below the page; the session's place in the queue
_STARTED = time.monotonic()


class TokenHandler(AuthRequestHandler):
    """Base of the handlers that answer about the session of a page's token."""

    def set_default_headers(self) -> None:
        """Forbid browsers and proxies to store the answer."""
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Content-Type-Options", "nosniff")

    def token(self) -> str:
        """Return the token of the request, which may have expired; "" if it is not this server's."""
        token, application = self.request.headers.get(HEADER, ""), self.application
        try:
            if check_token_signature(token, application.secret_key, application.sign_sessions):
                get_session_id(token)
                return token
        except (ValueError, KeyError, TypeError):  # no token at all
            pass
        return ""


def new_token(application: BokehTornado, id: ID, **payload: Any) -> str:
    """Return a token of a session."""
    return generate_jwt_token(
        id, secret_key=application.secret_key, signed=application.sign_sessions,
        expiration=application.session_token_expiration, extra_payload=payload or None,
    )  # fmt: skip


class SessionStatus(TokenHandler):
    """Tells a page whether its session still exists, and for how long the server has been up."""

    @authenticated
    async def get(self, reconnects: str | None = None) -> None:
        """Answer with `{"here": whether the session exists, "up": seconds}`, and a new `token` for `/session/again`."""
        session = self._session()
        message: dict[str, Any] = {"here": session is not None, "up": round(time.monotonic() - _STARTED, 1)}
        if session is not None and reconnects:
            close_sockets(self.application, session)
            await session.with_document_locked(await_views, session.document)
            message["token"] = new_token(self.application, session.id)
        self.set_header("Content-Type", "application/json")
        self.write(json.dumps(message))

    def _session(self) -> ServerSession | None:
        """Return the session of the request's token, which may have expired; None without one."""
        if not (token := self.token()):
            return None
        application, id = self.application, get_session_id(token)
        sessions = (session for path in application.app_paths for session in application.get_sessions(path))
        return next((session for session in sessions if session.id == id), None)


def close_sockets(application: BokehTornado, session: ServerSession) -> None:
    """Close all sockets of a session, so that presses from before the loss are not read any more."""
    for client in list(application._clients):
        if client._session is session:
            protocol = client._socket.ws_connection
            if protocol is not None:
                protocol.stream.close()  # at once, because a closing handshake would still read messages


def routes() -> list[tuple[str, type[SessionStatus]]]:
    """Return the routes for Tornado, below any path of the explorer."""
    return [(r".*/session(/again)?", SessionStatus)]


# Messages of the page, by the state of its connection; `connection.js` uses the keys.
WORDS = {
    "lost": "Connection lost.",
    "offline": "This computer is offline.",
    "silent": "The server does not answer.",
    "rest": "Nothing can be pressed until the connection is back. Fits continue on the server for a minute.",
    "slow": "The server is slow to answer …",
    "next": "Opening … Many pages are being opened; yours is next.",
    "place": "Opening … Many pages are being opened; yours is number {place} in the queue: about {time}.",
    "full": "Too many pages are being opened from your address. The browser tries again in ten seconds.",
    "pressed": "Not connected: your change was not saved.",
    "refused": "The server requires its token. Open the address that it printed when it started.",
    "is_again": "Connected again. Loading the page …",
    "is_restarted": "The server was restarted. Loading the page …",
    "is_expired": "The server has closed this page meanwhile. Loading it again …",
    "again": "Connected again.",
    "restarted": "The server was restarted. Stored runs are on page Compare, tab History.",
    "expired": "Connected again. The server had closed the page, which was opened again by its link.",
}


def script() -> str:
    """Return the script for the page's head."""
    constants = {"WORDS": WORDS, "HEADER": HEADER, "SESSION": NEW_SESSION_PATH, "PLACE": PLACE_PATH}
    return (
        "{"
        + "".join(f"const {name} = {json.dumps(value)};\n" for name, value in constants.items())
        + asset("connection.js")
        + "}\n"
    )
