"""The guard before the pages of a server: which requests it answers, whose session they may name, who is let in.

Of the handlers that Panel and Bokeh put into every server, those of OFFERED alone answer: the page, its websocket, its
scripts and styles. What the others do is not needed by the page: `/components/MODULE/...` imports any module that an
address names, `autoload.js` builds a page past the queue, `/metadata` tells of the application. What an operator has
added (a login, directories of files, other applications) stays.

A session is whoever knows its id. So ids are drawn and signed here (Bokeh's signed sessions, with a secret made at the
server's start unless its operator gave one), and never taken from a request: who opens a link that names one gets an
answer that says so, else its maker would sit in the visitor's session. Answers may be framed and scripted by pages of
this server only.

A server may ask for a token (`door`). Connections (`connections`), websocket messages (`messages`) and lines of the log
(`log_lines`) have limits. `install` puts the guard before the first request of a server, however that was started.
"""

import logging
import os
import weakref
from html import escape
from typing import Any

from bokeh.server.contexts import BokehSessionContext
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from bokeh.util.token import generate_secret_key
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.routing import Matcher
from tornado.web import Application, OutputTransform

from alrviz.explorer.server.class_store import restore
from alrviz.explorer.server.page_queue import PageQueue
from alrviz.explorer.server.run_registry import process_registry
from alrviz.explorer.server.run_store import open_run_store
from alrviz.explorer.shell import connection
from alrviz.explorer.web import SERVER_SETTING, class_page, page_server, spectators
from alrviz.explorer.web.answer import Answer, address_without
from alrviz.explorer.web.connections import limit_connections, stated_proxies
from alrviz.explorer.web.door import door_rule
from alrviz.explorer.web.log_lines import limit_lines
from alrviz.job import Job
from alrviz.memory import few_arenas

TOKEN = "ALRVIZ_TOKEN"  # the environment's variable with the token of a server of `panel serve`
_TOKEN_SETTING, _ROUTER_SETTING = "alrviz_token", "alrviz_guard_router"  # keys of a guarded application's settings
NAMED = ("bokeh-session-id", "bokeh-token")  # arguments by which Bokeh lets a request name its session
_THEIR_MODULES = ("panel.io.server", "bokeh.server.views")
OFFERED = frozenset({"RootHandler", "DocHandler", "WSHandler", "StaticHandler", "MultiRootStaticHandler", "IcoHandler"})
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
_log = logging.getLogger(__name__)
_protected: weakref.WeakSet[Application] = weakref.WeakSet()
_contexts: weakref.WeakSet[object] = weakref.WeakSet()  # server contexts of the applications they serve


def protect(server: BaseServer, token: str | None = None) -> None:
    """Guard a server, at best before its loop runs.

    `token`: what visitors must bring once; "" asks for none, None takes that of ALRVIZ_TOKEN. A later call can set the
    token of a server that has none. A token once set stays; a later call with another one is ignored with a warning.
    """
    application = server._tornado
    if application not in _protected:
        limit_lines()
        limit_connections(server._http, server.io_loop, stated_proxies() if server._http.xheaders else [])
        _protect_pages(application, os.environ.get(TOKEN, "") if token is None else token)
    elif token is not None and token != (first := application.settings.get(_TOKEN_SETTING, "")):
        if first:
            _log.warning("The token of a later call of protect() is ignored: this server has one")
        else:
            _ask_token(application, token)


def _ask_token(application: BokehTornado, token: str) -> None:
    """Let nobody in without the token: its rule stands before the others of the guard."""
    application.settings[_TOKEN_SETTING] = token
    router = application.settings[_ROUTER_SETTING]
    router.add_rules([door_rule(token)])
    router.rules.insert(0, router.rules.pop())


def _protect_pages(application: BokehTornado, token: str) -> None:
    _protected.add(application)
    Job(lambda stop: _restore(), "alrviz-restore").start()
    few_arenas()
    _contexts.update(context.server_context for context in application.applications.values())
    if not (application.sign_sessions and application.secret_key):
        # Bokeh takes the two when a server is made, and `panel serve` makes it before our first line is run.
        application._secret_key = application.secret_key or generate_secret_key().encode()
        application._sign_sessions = True
    for rule in application.wildcard_router.rules:
        target = rule.target
        theirs = isinstance(target, type) and target.__module__.startswith(_THEIR_MODULES)
        if theirs and target.__name__ not in OFFERED:
            rule.target, rule.target_kwargs = _NotOffered, {}
    queue = PageQueue()
    pages = {application.prefix + path.rstrip("/"): path for path in application.app_paths}
    rules = [rule for base, path in pages.items() for rule in page_server.rules(application, base, path, queue)]
    routes = [*spectators.routes(), *class_page.routes(), *rules, *connection.routes()]
    application.add_handlers(".*", [(_NamesSession(list(pages)), _Refused), *routes])
    application.settings[_ROUTER_SETTING] = application.default_router.rules[-2].target  # the last is Bokeh's own
    if token:
        _ask_token(application, token)
    application.add_transform(_Headers)


def _restore() -> None:
    restore(process_registry().classes, open_run_store)


def admitted(context: BokehSessionContext | None) -> bool:
    """Whether the page may be made for a session (its context): not before its server is protected.

    A server that `install` could not tell to be the explorer's (its page is a function of its author's own) is
    protected from now on, and the request is answered by a redirect to its own address.
    """
    request = getattr(context, "request", None)
    http = getattr(request, "_request", None)
    if context is None or not isinstance(http, HTTPServerRequest) or context.server_context in _contexts:
        return True
    handler = handler_of(request)
    if handler is None:  # a websocket, before any page was asked for: its session's id could be anybody's
        return False
    server = handler.application.settings.get(SERVER_SETTING, lambda: None)()
    if server is not None:
        protect(server)
    else:
        _log.warning(
            "Connections are not limited, and what was asked before this page was not guarded: alrviz is not installed "
            "as a package here (pip install -e .)"
        )
        limit_lines()
        _protect_pages(handler.application, os.environ.get(TOKEN, ""))
    handler.set_status(303)
    handler.set_header("Location", address_without(http, *NAMED))
    return False


def handler_of(request: Any) -> Any:
    """Return Tornado's handler that answers a request (Bokeh's proxy of it); None where there is none."""
    # The connection tells the handler of its end; nothing else that an application is given leads to it.
    connection = getattr(getattr(request, "_request", None), "connection", None)
    handler = getattr(getattr(connection, "_close_callback", None), "__self__", None)
    return handler if isinstance(getattr(handler, "application", None), Application) else None


class _NamesSession(Matcher):
    """Requests that say which session they want, of one of these applications (the paths of their pages)."""

    def __init__(self, pages: list[str]):
        self._pages = pages

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        named = HEADER in request.headers or any(name in request.arguments for name in NAMED)
        ours = named and any(f"{request.path}/".startswith(f"{page}/") for page in self._pages)
        return {} if ours else None


class _Refused(Answer):
    """The answer to a request that names a session."""

    def prepare(self) -> None:
        """Say why, and where a session of one's own is."""
        own = escape(address_without(self.request, *NAMED), quote=True)
        self.say(
            403,
            "This link names a session",
            "<p>A session belongs to the browser it was begun in, so a link cannot name one.</p>"
            f"<p><a href='{own}'>Open the explorer in a session of your own</a></p>",
        )


class _NotOffered(Answer):
    """The answer in place of a handler of Panel or Bokeh that the page does not need."""

    def initialize(self, **_given: object) -> None:
        """Take nothing of what the handler would have been given."""

    def prepare(self) -> None:
        """Say that nothing is offered at this address."""
        self.say(403, "Not offered", "<p>The explorer offers nothing at this address.</p>")


class _Headers(OutputTransform):
    """Adds the headers to every answer."""

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        for name, value in HEADERS.items():
            headers.setdefault(name, value)
        return status_code, headers, chunk
