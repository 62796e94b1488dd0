"""A lost connection: the page reports it at once, accepts no press meanwhile, and reconnects by itself.

What is lost is the websocket, never what runs: runs are the registry's. The browser sees a closed socket at once, and
one that only fell silent (a tunnel, a laptop that slept) by asking the server for a sign of life when nothing came for
two seconds: after five the server is said to be slow (it may be busy, and presses wait in the socket), after fifteen it
is lost, after four where the browser knows of the network. Then it asks by plain requests, twice a second,

    <page of the explorer>/session          whether the server still has the page's session
    <page of the explorer>/session/again    the same, and: the old socket is given up, nothing more is taken from it

Where a server answers, the page is loaded again, by itself. If its session is there (a tram's tunnel), the page takes
it up as it is, with all that was never in a link: BokehJS is given a token of it in place of a new session's. If it is
not (an hour's sleep, a server that was started again), the link finds its run in the registry or in the run store.
Presses while the connection is lost are refused where they are made; none is kept.

BokehJS (3.9) can take up a session without loading the page. It then forgets the arrays of the document it is sent and
what it had half received, React's views find those of the page before by the ids that both have, and after five
attempts, 31 s, it gives up for good.
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

HEADER = "Alrviz-Token"  # the request's header with the token that the page's websocket was opened with
NEW_SESSION_PATH = "/session/new"  # below the page: where it asks for its session to be built
PLACE_PATH = "/session/place"  # and, until it is, for its place in the queue
_STARTED = time.monotonic()


class TokenHandler(AuthRequestHandler):
    """Base of the handlers that answer about the session of a page's token."""

    def set_default_headers(self) -> None:
        """Have the answer kept nowhere."""
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Content-Type-Options", "nosniff")

    def token(self) -> str:
        """Return the token of the request, which may have expired; "" where it is none of this server's."""
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


class SessionHere(TokenHandler):
    """Says whether the session that a lost page names is still there, and for how long the server has been."""

    @authenticated
    async def get(self, again: str | None = None) -> None:
        """Answer with `{"here": whether it is, "up": seconds}`; of one that is taken up with a new `token` as well."""
        session = self._session()
        told: dict[str, Any] = {"here": session is not None, "up": round(time.monotonic() - _STARTED, 1)}
        if session is not None and again:
            give_up_sockets(self.application, session)
            await session.with_document_locked(await_views, session.document)
            told["token"] = new_token(self.application, session.id)
        self.set_header("Content-Type", "application/json")
        self.write(json.dumps(told))

    def _session(self) -> ServerSession | None:
        """The session of the token, which may have expired but must be this server's."""
        if not (token := self.token()):
            return None
        application, id = self.application, get_session_id(token)
        every = (session for path in application.app_paths for session in application.get_sessions(path))
        return next((session for session in every if session.id == id), None)


def give_up_sockets(application: BokehTornado, session: ServerSession) -> None:
    """Close the sockets of a session: what is still on its way in them was pressed before the connection was lost."""
    for client in list(application._clients):
        if client._session is session:
            protocol = client._socket.ws_connection
            if protocol is not None:
                protocol.stream.close()  # at once: a closing handshake would still take what comes


def routes() -> list[tuple[str, type[SessionHere]]]:
    """Return the handler as Tornado takes it, below whichever path the explorer has."""
    return [(r".*/session(/again)?", SessionHere)]


# What the page says, by what it knows.
WORDS = {
    "lost": "Connection lost.",
    "offline": "This computer is offline.",
    "silent": "The server does not answer.",
    "rest": "Nothing can be pressed until it is back; the page waits for it. Fits go on there for a minute.",
    "slow": "The server is slow to answer …",
    "next": "Opening … Many pages are being opened; yours is next.",
    "place": "Opening … Many pages are being opened; yours is number {place} in the queue: about {time}.",
    "full": "Too many pages are being opened from your address. This one is tried again in ten seconds.",
    "pressed": "Not connected: your change was not saved.",
    "refused": "The server asks who you are. Open the page by the address that it printed.",
    "is_again": "Connected again. Loading the page …",
    "is_restarted": "The server was restarted. Loading the page …",
    "is_expired": "The server has closed this page meanwhile. Loading it again …",
    "again": "Connected again.",
    "restarted": "The server was restarted. What it kept of runs is in Compare, History.",
    "expired": "Connected again. The page was closed meanwhile and is opened anew by its link.",
}


def script() -> str:
    """Return what runs in the page's head."""
    given = {"WORDS": WORDS, "HEADER": HEADER, "SESSION": NEW_SESSION_PATH, "PLACE": PLACE_PATH}
    return (
        "{"
        + "".join(f"const {name} = {json.dumps(value)};\n" for name, value in given.items())
        + asset("connection.js")
        + "}\n"
    )
