"""The explorer's page over HTTP: the same HTML for all visitors at once, and then a session for each browser.

    <page>                the HTML, the same for every visitor except for the token of a session not built yet
    <page>/session/new    requested by the page's head: build that session, while the browser loads BokehJS
    <page>/session/place  requested meanwhile: place in the queue and estimated seconds
    <page>/ws             Bokeh's websocket; builds the session if it was not requested before

Building a session costs half a second of the event loop, so sessions wait for their turn (`PageQueue`). The HTML costs
only a signature, and so do robots, floods, and pages that reconnect to their session. It is the HTML of the first page
that was built, with another token: BokehJS finds the places of the roots by their order.
"""

import asyncio
import copy
import logging
import time
import weakref
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from bokeh.core.types import ID
from bokeh.document import Document
from bokeh.server.contexts import ApplicationContext
from bokeh.server.session import ServerSession
from bokeh.server.tornado import BokehTornado
from bokeh.util.token import generate_session_id, get_session_id, get_token_payload
from panel.config import config
from panel.io.server import DocHandler, WSHandler
from tornado.httputil import HTTPServerRequest
from tornado.web import RequestHandler, authenticated

from alrviz.explorer.server import visitor_ids
from alrviz.explorer.server.page_queue import PageQueue
from alrviz.explorer.server.run_registry import process_registry
from alrviz.explorer.shell import theme
from alrviz.explorer.shell.connection import NEW_SESSION_PATH, PLACE_PATH, WORDS, TokenHandler, new_token
from alrviz.explorer.web.messages import (
    MAX_MESSAGE_BYTES,
    MESSAGE_SECONDS,
    BoundedReceiver,
    MessageHandler,
    MessageRefused,
)

_log = logging.getLogger(__name__)
MAX_SESSION_SOCKETS = 4  # a page has one; it may reconnect before the server knows that the last one is lost
_uniform: weakref.WeakSet[Document] = weakref.WeakSet()  # documents whose HTML is the same for every visitor

Rule = tuple[str, type[RequestHandler], dict[str, object]]


def mark_uniform(document: Document | None) -> None:
    """Note that the HTML of a document's page (not the document's content) is the same for every visitor."""
    if document is not None:
        _uniform.add(document)


def rules(application: BokehTornado, base: str, path: str, queue: PageQueue) -> list[Rule]:
    """Return Tornado's rules for a page of a server.

    Args:
        base: URL path of the page.
        path: the application's path in `application.applications`.
        queue: the queue of all pages of the server.
    """
    context, socket = application.applications[path], base + "/ws"
    server = PageServer(context, queue)
    kwargs = {"server": server, "application_context": context, "bokeh_websocket_path": socket}
    compression = next(
        rule.target_kwargs
        for rule in application.wildcard_router.rules
        if isinstance(rule.target, type) and issubclass(rule.target, WSHandler)
    )
    compression = {name: compression[name] for name in ("compression_level", "mem_level")}
    return [
        (base + "/?", _Page, kwargs),
        (base + NEW_SESSION_PATH, _NewSession, {"server": server}),
        (base + PLACE_PATH, _Place, {"server": server}),
        (socket, _Socket, kwargs | compression),
    ]


@dataclass
class _PendingSession:
    """A session that is not built yet: its task, the number of requests that wait for it, whether its turn has come."""

    task: asyncio.Task[bool]
    count: int = 0
    building: bool = False


class PageServer:
    """State shared by the handlers of one page: its HTML by theme, and the sessions not built yet."""

    def __init__(self, context: ApplicationContext, queue: PageQueue):
        self.queue = queue
        self.html: dict[bool, tuple[str, str]] = {}  # by dark theme: HTML before and after the token
        self._context = context
        self._pending: dict[str, _PendingSession] = {}

    async def ensure_session(self, token: str, request: HTTPServerRequest, path: str) -> bool:
        """Build the session of a token in its turn, unless it exists; return False if too many visitors wait.

        A session that no request waits for any more is dropped, unless its turn has come. path: that of the request,
        below the page.
        """
        id = get_session_id(token)
        if any(session.id == id for session in self._context.sessions):
            return True
        if id not in self._pending:
            building = self._build(id, token, _page_request(request, path), _is_known(request))
            self._pending[id] = _PendingSession(asyncio.ensure_future(building))
        pending = self._pending[id]
        pending.count += 1
        try:
            return await asyncio.shield(pending.task)
        finally:
            pending.count -= 1
            if not pending.count and not pending.building and self._pending.get(id) is pending:
                del self._pending[id]  # a later request starts again
                pending.task.cancel()

    def count_sockets(self, token: str) -> int:
        """Return the number of websockets of a token's session."""
        id = get_session_id(token)
        return sum(session.connection_count for session in self._context.sessions if session.id == id)

    async def _build(self, id: ID, token: str, request: HTTPServerRequest, is_known: bool) -> bool:
        """Build the session of a token when its turn comes; return False if too many wait at its address."""
        pending = self._pending[id]
        try:
            if not await self.queue.enter(request.remote_ip or "", is_known, id):
                return False
            pending.building = True
            try:
                await self._context.create_session_if_needed(id, request, token)
            finally:
                self.queue.leave()
            return True
        finally:
            if self._pending.get(id) is pending:
                del self._pending[id]


def _is_known(request: HTTPServerRequest) -> bool:
    """Return whether the visitor's browser was connected before; a cookie alone may be made up."""
    cookie = request.cookies.get(visitor_ids.COOKIE)
    return cookie is not None and process_registry().has_visited(cookie.value)


def _page_request(request: HTTPServerRequest, suffix: str) -> HTTPServerRequest:
    """Return the request as one for the page itself, from whose address the session is built."""
    page_request = copy.copy(request)
    page_request.path = request.path.removesuffix(suffix)
    query = urlsplit(request.uri or "").query
    page_request.uri = page_request.path + (f"?{query}" if query else "")
    return page_request


class _PageHandler:
    """Base of the handlers of a page; what it waits for is cancelled when the visitor leaves."""

    _task: asyncio.Task[bool] | None = None

    def __init__(self, application: BokehTornado, request: HTTPServerRequest, server: PageServer, **options: object):
        self._page_server = server
        super().__init__(application, request, **options)  # type: ignore[call-arg]

    async def wait_for(self, work: Coroutine[object, object, bool]) -> bool | None:
        """Return the result of `work`; None if the visitor has left meanwhile."""
        self._task = asyncio.ensure_future(work)
        try:
            return await self._task
        except asyncio.CancelledError:
            return None

    def on_connection_close(self) -> None:
        """Cancel the work: the visitor has left."""
        if self._task is not None:
            self._task.cancel()
        super().on_connection_close()  # type: ignore[misc]


class _Page(_PageHandler, DocHandler):
    """Handler of the page's HTML. Panel builds the first page of each theme, together with its session.

    Later visitors get the same HTML with a token of their own, whose session is built afterwards.
    """

    _html = ""

    @authenticated
    async def get(self, *args: object, **kwargs: object) -> None:
        """Answer with the page, or ask the visitor to come again if too many wait."""
        cookie = self.request.cookies.get(theme.THEME_COOKIE)
        dark = cookie is not None and cookie.value == "dark"
        # With an authorization callback or shared sessions Panel builds each page; it redirects the prefix without
        # its slash.
        is_shareable = config.authorize_callback is None and not config.reuse_sessions
        is_shareable &= not self.request.path or self.request.path != self.application.prefix
        if is_shareable and dark in self._page_server.html:
            self._hand_out(*self._page_server.html[dark])
            return
        queue = self._page_server.queue
        has_turn = await self.wait_for(queue.enter(self.request.remote_ip or "", _is_known(self.request)))
        if has_turn is None:
            return
        if not has_turn:
            self.set_status(503)
            self.set_header("Retry-After", "10")
            self.set_header("Refresh", "10")
            self.finish(WORDS["full"])
            return
        try:
            await super().get(*args, **kwargs)
        finally:
            queue.leave()
        session = getattr(self, "_session", None)
        if is_shareable and session is not None and session.document in _uniform:
            html_before, token, html_after = self._html.partition(session.token)
            if token and session.token not in html_after:
                self._page_server.html[dark] = html_before, html_after

    async def get_session(self) -> ServerSession:
        """Build the session, and remember it for `get`."""
        self._session = await super().get_session()
        return self._session

    def write(self, chunk: object) -> None:
        """Write the page, and remember its HTML for `get`."""
        self._html = chunk if isinstance(chunk, str) else ""
        super().write(chunk)

    def _hand_out(self, html_before: str, html_after: str) -> None:
        """Answer with the HTML and the token of a session not built yet."""
        application, payload = self.application, self._generate_token_payload()
        owner, is_new = visitor_ids.owner_of(payload["cookies"], self.request.headers)
        if is_new:  # into the token, from which the session gets it
            payload["cookies"][visitor_ids.COOKIE] = owner
            self.add_header("Set-Cookie", visitor_ids.cookie_text(owner, secure=self.request.protocol == "https"))
        id = generate_session_id(secret_key=application.secret_key, signed=application.sign_sessions)
        token = new_token(application, id, **payload)
        self.set_header("Cache-Control", "no-store")
        self.set_header("Content-Type", "text/html")
        self.write(
            html_before.replace("<head>", f'<head><meta name="alrviz-token" content="{token}">', 1) + token + html_after
        )


class _SessionHandler(_PageHandler, TokenHandler):
    """Base of the handlers about a session not built yet."""

    def token(self) -> str:
        """Return the token of the request; "" and status 403 if it is not this server's or has expired."""
        token = super().token()
        if not token or get_token_payload(token).get("session_expiry", 0) <= time.time():
            self.set_status(403)
            return ""
        return token


class _Place(_SessionHandler):
    """Tells a waiting page its place in the queue."""

    @authenticated
    def get(self) -> None:
        """Answer with `{"place": from 1, or 0 if the session does not wait, "seconds": estimated}`."""
        if token := self.token():
            queue_place, seconds = self._page_server.queue.place(get_session_id(token))
            self.write({"place": queue_place, "seconds": round(seconds)})


class _NewSession(_SessionHandler):
    """Builds the session of a page's token."""

    @authenticated
    async def get(self) -> None:
        """Answer with status 204 once the session exists, or 503 if too many visitors wait."""
        if token := self.token():
            session = self._page_server.ensure_session(token, self.request, NEW_SESSION_PATH)
            self.set_status(204 if await self.wait_for(session) else 503)


class _Socket(_PageHandler, WSHandler):
    """Bokeh's websocket, which waits for its session and keeps the limits of `messages`."""

    _deadline: asyncio.TimerHandle | None = None  # of the incomplete message
    _is_refused = False

    def __init__(self, *args: Any, **options: Any):
        self._incoming, self._message_handler = BoundedReceiver(), MessageHandler()
        super().__init__(*args, **options)

    @property
    def max_message_size(self) -> int:
        """Return the bytes of one frame; Tornado closes the websocket at the head of a larger one."""
        return MAX_MESSAGE_BYTES

    async def _async_open(self, token: str) -> None:
        has_turn = await self.wait_for(self._page_server.ensure_session(token, self.request, "/ws"))
        if has_turn is None:
            return
        if not has_turn:
            self.close(1013, "too many pages are being opened")
        elif self._page_server.count_sockets(token) >= MAX_SESSION_SOCKETS:
            self._refuse("a session has too many websockets")
        else:
            # The session exists, so nothing is awaited before the connection counts: the limit above cannot be passed.
            await super()._async_open(token)

    async def on_message(self, fragment: str | bytes) -> None:
        """Take a fragment of a message, and apply the message that it completes."""
        if self._is_refused:
            return  # the websocket is closing, but the browser may still send
        try:
            if self.connection is None:
                raise MessageRefused("a message before its session")
            message = await self._incoming.consume(fragment)
            self._watch_deadline()
            if message is not None:
                await self.send_message(await self._message_handler.handle(message, self.connection))
        except MessageRefused as refused:
            self._refuse(str(refused))

    def _watch_deadline(self) -> None:
        if self._deadline is not None and not self._incoming.pending:
            self._deadline.cancel()
            self._deadline = None
        elif self._deadline is None and self._incoming.pending:
            loop = asyncio.get_running_loop()
            self._deadline = loop.call_later(MESSAGE_SECONDS, self._refuse, "a message was not completed")

    def _refuse(self, reason: str) -> None:
        _log.warning("A websocket of %s is closed: %s", self.request.remote_ip, reason)
        self._is_refused = True
        self._incoming = BoundedReceiver()  # frees the incomplete message
        self.close(1008, reason[:100])

    def on_close(self) -> None:
        """The visitor has gone."""
        self._is_refused = True
        if self._deadline is not None:
            self._deadline.cancel()
        super().on_close()
