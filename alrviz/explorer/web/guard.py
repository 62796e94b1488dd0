"""The guard of a server: it decides which requests are answered, and protects sessions.

- Of the handlers of Panel and Bokeh only OFFERED_HANDLERS answer: the page, its websocket, scripts and styles. The page
  needs no others: `/components/MODULE/...` imports any module, `autoload.js` builds a page without the queue, and
  `/metadata` describes the application. Handlers that an operator has added (a login, folders, applications) stay.
- Whoever knows the id of a session is in it. So ids are drawn and signed here (Bokeh's signed sessions, with a new
  secret unless the operator sets one) and never taken from a request: otherwise the author of a link with an id would
  share the session of everybody who opens it. Such links get an error page.
- Only pages of this server may frame and script its answers.
- A server may require a token (`door`), and limits connections (`connections`), websocket messages (`messages`) and
  lines of the log (`log_lines`).

`install` adds the guard before the first request of a server, however it was started.
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
from alrviz.explorer.web.answer import PlainPage, address_without
from alrviz.explorer.web.connections import limit_connections, stated_proxies
from alrviz.explorer.web.door import token_rule
from alrviz.explorer.web.log_lines import limit_lines
from alrviz.job import Job
from alrviz.memory import few_arenas

TOKEN_VARIABLE = "ALRVIZ_TOKEN"  # environment variable for servers started by `panel serve`
_TOKEN_SETTING, _ROUTER_SETTING = "alrviz_token", "alrviz_guard_router"  # keys of an application's settings
SESSION_ARGUMENTS = ("bokeh-session-id", "bokeh-token")  # arguments of requests that name a session
_FRAMEWORK_MODULES = ("panel.io.server", "bokeh.server.views")
OFFERED_HANDLERS = frozenset(
    {"RootHandler", "DocHandler", "WSHandler", "StaticHandler", "MultiRootStaticHandler", "IcoHandler"}
)
HEADER = "Bokeh-Session-Id"
HEADERS = {
    "X-Frame-Options": "SAMEORIGIN",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    # Panel compiles its components ('unsafe-eval', modules as blobs) and writes styles into the page.
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob: data:; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
        "connect-src 'self' data: blob:; worker-src 'self' blob:; object-src 'none'; base-uri 'self'; "
        "form-action 'self'; frame-ancestors 'self'"
    ),
}
_log = logging.getLogger(__name__)
_protected: weakref.WeakSet[Application] = weakref.WeakSet()
_contexts: weakref.WeakSet[object] = weakref.WeakSet()  # server contexts of protected applications


def protect(server: BaseServer, token: str | None = None) -> None:
    """Guard a server, preferably before its event loop runs.

    token: required of visitors; "" for none, None for that of ALRVIZ_TOKEN. A later call can set the token of a server
    without one; another token is ignored with a warning.
    """
    application = server._tornado
    if application not in _protected:
        limit_lines()
        limit_connections(server._http, server.io_loop, stated_proxies() if server._http.xheaders else [])
        _protect_pages(application, os.environ.get(TOKEN_VARIABLE, "") if token is None else token)
    elif token is not None and token != (server_token := application.settings.get(_TOKEN_SETTING, "")):
        if server_token:
            _log.warning("The token of a later call of protect() is ignored: this server has one")
        else:
            _ask_token(application, token)


def _ask_token(application: BokehTornado, token: str) -> None:
    """Require the token: add its rule before the other rules of the guard."""
    application.settings[_TOKEN_SETTING] = token
    router = application.settings[_ROUTER_SETTING]
    router.add_rules([token_rule(token)])
    router.rules.insert(0, router.rules.pop())


def _protect_pages(application: BokehTornado, token: str) -> None:
    _protected.add(application)
    Job(lambda stop: restore(process_registry().classes, open_run_store), "alrviz-restore").start()
    few_arenas()
    _contexts.update(context.server_context for context in application.applications.values())
    if not (application.sign_sessions and application.secret_key):
        # Bokeh reads both when it makes a server, and `panel serve` makes it before this package is imported.
        application._secret_key = application.secret_key or generate_secret_key().encode()
        application._sign_sessions = True
    for rule in application.wildcard_router.rules:
        target = rule.target
        is_framework = isinstance(target, type) and target.__module__.startswith(_FRAMEWORK_MODULES)
        if is_framework and target.__name__ not in OFFERED_HANDLERS:
            rule.target, rule.target_kwargs = _NotOffered, {}
    queue = PageQueue()
    pages = {application.prefix + path.rstrip("/"): path for path in application.app_paths}
    rules = [rule for base, path in pages.items() for rule in page_server.rules(application, base, path, queue)]
    routes = [*spectators.routes(), *class_page.routes(), *rules, *connection.routes()]
    application.add_handlers(".*", [(_NamesSession(list(pages)), _SessionRefused), *routes])
    application.settings[_ROUTER_SETTING] = application.default_router.rules[-2].target  # the last is Bokeh's own
    if token:
        _ask_token(application, token)
    application.add_transform(_Headers)


def is_admitted(context: BokehSessionContext | None) -> bool:
    """Return whether a page may be built for a session's context; False before its server is protected.

    `install` does not recognise a server whose page is a function outside this package. Such a server is protected now,
    and the request is redirected to the same address.
    """
    request = getattr(context, "request", None)
    http = getattr(request, "_request", None)
    if context is None or not isinstance(http, HTTPServerRequest) or context.server_context in _contexts:
        return True
    handler = handler_of(request)
    if handler is None:  # a websocket before any page: its session's id may be known to others
        return False
    server = handler.application.settings.get(SERVER_SETTING, lambda: None)()
    if server is not None:
        protect(server)
    else:
        _log.warning(
            "Connections are not limited, and earlier requests were not guarded: alrviz is not installed as a package "
            "here (pip install -e .)"
        )
        limit_lines()
        _protect_pages(handler.application, os.environ.get(TOKEN_VARIABLE, ""))
    handler.set_status(303)
    handler.set_header("Location", address_without(http, *SESSION_ARGUMENTS))
    return False


def handler_of(request: Any) -> Any:
    """Return Tornado's handler of a request (Bokeh's proxy of it); None without one."""
    # The callback at the connection's end is the only reference to the handler that an application gets.
    connection = getattr(getattr(request, "_request", None), "connection", None)
    handler = getattr(getattr(connection, "_close_callback", None), "__self__", None)
    return handler if isinstance(getattr(handler, "application", None), Application) else None


class _NamesSession(Matcher):
    """Matches requests below the given pages that name a session."""

    def __init__(self, pages: list[str]):
        self._pages = pages

    def match(self, request: HTTPServerRequest) -> dict[str, object] | None:
        names_session = HEADER in request.headers or any(name in request.arguments for name in SESSION_ARGUMENTS)
        is_page = names_session and any(f"{request.path}/".startswith(f"{page}/") for page in self._pages)
        return {} if is_page else None


class _SessionRefused(PlainPage):
    """The answer to a request that names a session."""

    def prepare(self) -> None:
        """Explain the refusal, with a link to a new session."""
        address = escape(address_without(self.request, *SESSION_ARGUMENTS), quote=True)
        self.write_html(
            403,
            "This link names a session",
            "<p>A session belongs to the browser in which it started, so a link cannot open it.</p>"
            f"<p><a href='{address}'>Open the explorer in a new session</a></p>",
        )


class _NotOffered(PlainPage):
    """Replaces a handler of Panel or Bokeh that the page does not need."""

    def prepare(self) -> None:
        """Answer that this address is not available."""
        self.write_html(403, "Not offered", "<p>The explorer offers nothing at this address.</p>")


class _Headers(OutputTransform):
    """Adds the headers to every answer."""

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        for name, value in HEADERS.items():
            headers.setdefault(name, value)
        return status_code, headers, chunk
