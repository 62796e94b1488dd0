"""What stands before the pages of a server: whose session a request may name, and what browsers may do with an answer.

A session is whoever knows its id. So ids are drawn and signed here (Bokeh's signed sessions, with a secret made at the
server's start unless its operator gave one), and never taken from a request: who opens a link that names one gets an
answer that says so, else its maker would sit in the visitor's session. Answers may be framed and scripted by pages of
this server only.

A server may ask for a token, as Jupyter does: who opens the address that holds it gets a cookie in its place. Readers
of a race and students of a class come with the secret of their link instead. `alrviz explore` makes a token up, a
server of `panel serve` has one where ALRVIZ_TOKEN is set.

`alrviz explore` and whoever makes a server calls `protect`. `panel serve` runs an application's script only when the
first request comes, whose session is begun by then: that one is sent to the same address again and finds all in place.
"""

import os
import re
import secrets
import threading
import weakref
from hashlib import sha256
from html import escape
from math import ceil
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from bokeh.server.tornado import BokehTornado
from bokeh.util.token import generate_secret_key
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.routing import Matcher
from tornado.web import Application, OutputTransform, RequestHandler

from alrviz.explorer.server.class_store import restore
from alrviz.explorer.server.page_queue import PageQueue
from alrviz.explorer.server.rate_limit import RateLimit
from alrviz.explorer.server.run_registry import process_registry
from alrviz.explorer.server.run_store import open_run_store
from alrviz.explorer.shell import connection
from alrviz.explorer.web import class_page, page_server, spectators
from alrviz.explorer.web.answer import Answer
from alrviz.memory import few_arenas

if TYPE_CHECKING:
    from bokeh.server.contexts import BokehSessionContext


TOKEN = "ALRVIZ_TOKEN"  # the environment's variable with the token of a server of `panel serve`
NAMED = ("bokeh-session-id", "bokeh-token")  # arguments by which Bokeh lets a request name its session
TRIES = 20  # wrong tokens that an address may bring at once
AGAIN = 3.0  # seconds after which it may bring one more
HEADER = "Bokeh-Session-Id"
HEADERS = {
    "X-Frame-Options": "SAMEORIGIN",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    # Panel compiles what it shows ('unsafe-eval', modules as blobs) and styles are written into the page.
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data:; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
        "connect-src 'self' data: blob:; worker-src 'self' blob:; object-src 'none'; base-uri 'self'; "
        "form-action 'self'; frame-ancestors 'self'"
    ),
}
_protected: "weakref.WeakSet[Application]" = weakref.WeakSet()
_contexts: "weakref.WeakSet[object]" = weakref.WeakSet()  # server contexts of the applications they serve


def protect(application: BokehTornado, token: str = "") -> None:
    """Sign a server's sessions (its `BokehTornado`), refuse ids that requests name, answer spectators, add headers.

    `token`: what visitors must bring once; "" asks for none.
    """
    if application in _protected:
        return
    _protected.add(application)
    threading.Thread(target=_restore, name="alrviz-restore", daemon=True).start()
    few_arenas()
    _contexts.update(context.server_context for context in application.applications.values())
    if not (application.sign_sessions and application.secret_key):
        # Bokeh takes the two when a server is made, and `panel serve` makes it before our first line is run.
        application._secret_key = application.secret_key or generate_secret_key().encode()
        application._sign_sessions = True
    door = [door_rule(token)] if token else []
    queue = PageQueue()
    pages = {application.prefix + path.rstrip("/"): path for path in application.app_paths}
    rules = [rule for base, path in pages.items() for rule in page_server.rules(application, base, path, queue)]
    scripts = [(base + r"/autoload\.js", _NotEmbedded) for base in pages]
    routes = [*spectators.routes(), *class_page.routes(), *rules, *connection.routes(), *scripts]
    application.add_handlers(".*", [*door, (_NamesSession(list(pages)), _Refused), *routes])
    application.add_transform(_Headers)


def _restore() -> None:
    restore(process_registry().classes, open_run_store)


def admitted(context: "BokehSessionContext | None") -> bool:
    """Whether the page may be made for a session (its context): not before its server is protected.

    Where it is not, it is from now on, and the request is answered by a redirect to its own address.
    """
    request = getattr(context, "request", None)
    http = getattr(request, "_request", None)
    if context is None or not isinstance(http, HTTPServerRequest) or context.server_context in _contexts:
        return True
    handler = handler_of(request)
    if handler is None:  # a websocket, before any page was asked for: its session's id could be anybody's
        return False
    protect(handler.application, os.environ.get(TOKEN, ""))
    handler.set_status(303)
    handler.set_header("Location", _without(http, *NAMED))
    return False


def handler_of(request: Any) -> Any:
    """Return Tornado's handler that answers a request (Bokeh's proxy of it); None where there is none."""
    # The connection tells the handler of its end; nothing else that an application is given leads to it.
    connection = getattr(getattr(request, "_request", None), "connection", None)
    handler = getattr(getattr(connection, "_close_callback", None), "__self__", None)
    return handler if isinstance(getattr(handler, "application", None), Application) else None


def _without(request: HTTPServerRequest, *names: str) -> str:
    """The request's own address without these arguments; relative, for a proxy may have another path."""
    left = urlencode([(name, one) for name, all in request.arguments.items() if name not in names for one in all])
    # "./", for a last part with a colon ("javascript:...", "https:...") would be an address of its own.
    return "./" + quote(request.path.rpartition("/")[2], safe="%") + (f"?{left}" if left else "")


def _cookie_of(request: HTTPServerRequest) -> str:
    """The cookie's name: browsers send all of a host's to each of its ports."""
    port = request.host.rpartition(":")[2]
    return f"alrviz_token_{port if port.isdecimal() else ''}"


class _NamesSession(Matcher):
    """Requests that say which session they want, of one of these applications (the paths of their pages)."""

    def __init__(self, pages: list[str]):
        self._pages = pages

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        named = HEADER in request.headers or any(name in request.arguments for name in NAMED)
        ours = named and any(f"{request.path}/".startswith(f"{page}/") for page in self._pages)
        return {} if ours else None


class _WithoutCookie(Matcher):
    """Requests that have not shown the token, and those that still have it in their address."""

    def __init__(self, token: str):
        self._token = token

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        shown = _shown(request, self._token)
        return None if (shown and "token" not in request.arguments) or _READER.search(request.path) else {}


_READER = re.compile(rf"/(race/{spectators.SECRET}(/steps)?|class(/{spectators.SECRET}(/steps|/vote)?)?)/?\Z")


def _digest(token: str) -> str:
    """What the cookie holds: a token may be any text."""
    return sha256(token.encode()).hexdigest()


def _shown(request: HTTPServerRequest, token: str) -> bool:
    """Whether a request has the cookie."""
    cookie = request.cookies.get(_cookie_of(request))
    return cookie is not None and _same(cookie.value, _digest(token))


def _same(given: str, expected: str) -> bool:
    return secrets.compare_digest(given.encode(), expected.encode())


class _Refused(Answer):
    """The answer to a request that names a session."""

    def prepare(self) -> None:
        """Say why, and where a session of one's own is."""
        self.say(
            403,
            "This link names a session",
            "<p>A session belongs to the browser it was begun in, so a link cannot name one.</p>"
            f"<p><a href='{escape(_without(self.request, *NAMED), quote=True)}'>Open the explorer in a session of your "
            "own</a></p>",
        )


def door_rule(token: str) -> tuple[Matcher, type[RequestHandler], dict[str, object]]:
    """Return the rule, as Tornado takes it, that asks for a token whoever has not shown it."""
    return _WithoutCookie(token), _Door, {"token": token, "tries": RateLimit(TRIES, AGAIN)}


class _Door(Answer):
    """Takes the token and gives the cookie."""

    def initialize(self, token: str, tries: RateLimit) -> None:
        self._token, self._tries = token, tries

    def prepare(self) -> None:
        """Let in, or ask for the token; one who is in already keeps the cookie, whatever token the address has."""
        given, address = self.get_query_argument("token", ""), self.request.remote_ip or ""
        known = _shown(self.request, self._token)
        wait = 0 if known or not given else ceil(self._tries.wait(address))
        if wait:  # also the right one: else it would be told from the others
            self.set_header("Retry-After", str(wait))
            self.say(
                429,
                "Too many wrong tokens",
                f"<p>Your address has brought {TRIES} wrong tokens; the next one is looked at in {wait} s.</p>",
            )
            return
        if known or _same(given, self._token):
            secure = self.request.protocol == "https"
            self.set_cookie(
                _cookie_of(self.request), _digest(self._token), httponly=True, samesite="Lax", secure=secure
            )
            self.redirect(_without(self.request, "token"), status=303)
            return
        if given:
            self._tries.count(address)
        wrong = "<p>The token in this address is not the one of this server; it changes with every start.</p>"
        self.say(
            403,
            "This explorer asks for its token",
            f"{wrong if given else ''}<p>Open the address that was printed where the server was started (it ends with "
            "<code>?token=...</code>), or enter the token here.</p><form><label>Token <input name=token "
            "type=password autofocus></label> <button>Open</button></form>",
        )


class _NotEmbedded(Answer):
    """The answer to `autoload.js`, the page as a script of another one: it would be built past the queue."""

    def prepare(self) -> None:
        """Say so."""
        self.say(403, "The explorer is not embedded", "<p>The explorer is not embedded as a script; link to it.</p>")


class _Headers(OutputTransform):
    """Adds the headers to every answer."""

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        for name, value in HEADERS.items():
            headers.setdefault(name, value)
        return status_code, headers, chunk
