"""The explorer's page over HTTP: one HTML for all, handed out at once; a session is built when a browser asks for it.

    <page>                the HTML, the same for every visitor but for a token that names a session to come
    <page>/session/new    asked by the page's head: build that session, while the browser still reads BokehJS
    <page>/session/place  asked meanwhile: its place among those that wait, and about how many seconds that is
    <page>/ws             Bokeh's websocket; builds the session where nobody has asked before

A session costs half a second of the event loop, so each waits for its turn (`PageQueue`); the HTML costs a signature.
Who only asks for the HTML (a robot, a flood), and a page that goes back to the session it had, cost no more than that.
The HTML is that of the first page that was built, without its token: BokehJS finds the places of roots by their order.
"""

import asyncio
import copy
import logging
import time
import weakref
from dataclasses import dataclass
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
from alrviz.explorer.shell.connection import NEW, PLACE, WORDS, TokenHandler, new_token
from alrviz.explorer.web.messages import (
    MAX_MESSAGE_BYTES,
    MESSAGE_SECONDS,
    BoundedReceiver,
    MessageHandler,
    MessageRefused,
)

_log = logging.getLogger(__name__)
MAX_SESSION_SOCKETS = 4  # a page has one; one that comes back may open the next before the last is known to be lost
_uniform: weakref.WeakSet[Document] = weakref.WeakSet()  # documents whose HTML is the same for every visitor

Rule = tuple[str, type[RequestHandler], dict[str, object]]


def same_for_all(document: Document | None) -> None:
    """Say that the HTML of a document's page, not what is in the document, is the same for every visitor."""
    if document is not None:
        _uniform.add(document)


def rules(application: BokehTornado, base: str, path: str, queue: PageQueue) -> list[Rule]:
    """Return what answers for one of a server's pages, as Tornado takes it.

    base: where the page is; path: the application's, by which Bokeh has it.
    """
    context, socket = application.applications[path], base + "/ws"
    server = PageServer(context, queue)
    given = {"server": server, "application_context": context, "bokeh_websocket_path": socket}
    packing = next(
        rule.target_kwargs
        for rule in application.wildcard_router.rules
        if isinstance(rule.target, type) and issubclass(rule.target, WSHandler)
    )
    packing = {name: packing[name] for name in ("compression_level", "mem_level")}
    return [
        (base + "/?", _Page, given),
        (base + NEW, _NewSession, given),
        (base + PLACE, _Place, given),
        (socket, _Socket, given | packing),
    ]


@dataclass
class _Coming:
    """A session that waits for its turn, how many wait for it, and whether it is being built."""

    task: asyncio.Task[bool]
    count: int = 0
    building: bool = False


class PageServer:
    """What the handlers of one page share: its HTML by theme, and the sessions that are being begun."""

    def __init__(self, context: ApplicationContext, queue: PageQueue):
        self.queue = queue
        self.html: dict[bool, tuple[str, str]] = {}  # by whether it is dark: what is before the token, and after it
        self._context = context
        self._coming: dict[str, _Coming] = {}

    async def begin(self, token: str, request: HTTPServerRequest, known: bool) -> bool:
        """Have the session of a token: build it in its turn unless it is there; False where too many wait.

        Whoever is cancelled waits no more. What nobody waits for is not begun; what is begun is built to its end.
        """
        id = get_session_id(token)
        if any(session.id == id for session in self._context.sessions):
            return True
        if id not in self._coming:
            self._coming[id] = _Coming(asyncio.ensure_future(self._build(id, token, request, known)))
        coming = self._coming[id]
        coming.count += 1
        try:
            return await asyncio.shield(coming.task)
        finally:
            coming.count -= 1
            if not coming.count and not coming.building and self._coming.get(id) is coming:
                del self._coming[id]  # whoever comes now asks for a turn of their own
                coming.task.cancel()

    def count_sockets(self, token: str) -> int:
        """Return how many websockets the session of a token has."""
        id = get_session_id(token)
        return sum(session.connection_count for session in self._context.sessions if session.id == id)

    async def _build(self, id: ID, token: str, request: HTTPServerRequest, known: bool) -> bool:
        coming = self._coming[id]
        try:
            if not await self.queue.enter(request.remote_ip or "", known, id):
                return False
            coming.building = True
            try:
                await self._context.create_session_if_needed(id, request, token)
            finally:
                self.queue.leave()
            return True
        finally:
            if self._coming.get(id) is coming:
                del self._coming[id]


def _known(request: HTTPServerRequest) -> bool:
    """Whether this visitor's browser was here before; any cookie may be brought."""
    cookie = request.cookies.get(visitor_ids.COOKIE)
    return cookie is not None and process_registry().has_visited(cookie.value)


def _as_page(request: HTTPServerRequest, below: str) -> HTTPServerRequest:
    """The request as if it had been for the page, with the same arguments: a session goes by its address."""
    asked = copy.copy(request)
    asked.path = request.path.removesuffix(below)
    query = urlsplit(request.uri or "").query
    asked.uri = asked.path + (f"?{query}" if query else "")
    return asked


class _Page(DocHandler):
    """The HTML; the first of a theme is built as Panel does, with its session."""

    def __init__(self, application: BokehTornado, request: HTTPServerRequest, server: PageServer, **options: object):
        self._page_server = server
        self._turn: asyncio.Task[bool] | None = None
        self._written = ""
        super().__init__(application, request, **options)

    @authenticated
    async def get(self, *given: object, **named: object) -> None:
        """Answer with the page, or with the request to come again."""
        chosen = self.request.cookies.get(theme.THEME_COOKIE)
        dark = chosen is not None and chosen.value == "dark"
        # Whoever lets each visitor in by a function of their own, or shares sessions, has Panel's way.
        # So has the prefix without its slash, which is sent on.
        plain = config.authorize_callback is None and not config.reuse_sessions
        plain &= not self.request.path or self.request.path != self.application.prefix
        if plain and dark in self._page_server.html:
            self._hand_out(*self._page_server.html[dark])
            return
        queue = self._page_server.queue
        self._turn = asyncio.ensure_future(queue.enter(self.request.remote_ip or "", _known(self.request)))
        try:
            mine = await self._turn
        except asyncio.CancelledError:
            return  # the visitor has gone
        if not mine:
            self.set_status(503)
            self.set_header("Retry-After", "10")
            self.set_header("Refresh", "10")
            self.finish(WORDS["full"])
            return
        try:
            await super().get(*given, **named)
        finally:
            queue.leave()
        session = getattr(self, "_session", None)
        if plain and session is not None and session.document in _uniform:
            before, token, after = self._written.partition(session.token)
            if token and session.token not in after:
                self._page_server.html[dark] = before, after

    async def get_session(self) -> ServerSession:
        """Build the session, and remember it: its HTML may be that of all."""
        self._session = await super().get_session()
        return self._session

    def write(self, chunk: object) -> None:
        """Write the page, and remember what was written."""
        self._written = chunk if isinstance(chunk, str) else ""
        super().write(chunk)

    def _hand_out(self, before: str, after: str) -> None:
        """Answer with the HTML and a token of a session that is still to be built."""
        application, payload = self.application, self._generate_token_payload()
        owner, new = visitor_ids.owner_of(payload["cookies"], self.request.headers)
        if new:  # before the session, which takes it from the token
            payload["cookies"][visitor_ids.COOKIE] = owner
            self.add_header("Set-Cookie", visitor_ids.cookie_text(owner, secure=self.request.protocol == "https"))
        id = generate_session_id(secret_key=application.secret_key, signed=application.sign_sessions)
        token = new_token(application, id, **payload)
        self.set_header("Cache-Control", "no-store")
        self.set_header("Content-Type", "text/html")
        self.write(before.replace("<head>", f'<head><meta name="alrviz-token" content="{token}">', 1) + token + after)

    def on_connection_close(self) -> None:
        """The visitor has gone: nothing is built for nobody."""
        if self._turn is not None:
            self._turn.cancel()
        super().on_connection_close()


class _SessionHandler(TokenHandler):
    """Base of the handlers that answer about a session that is still to be built."""

    def __init__(self, application: BokehTornado, request: HTTPServerRequest, server: PageServer, **options: object):
        self._page_server = server
        super().__init__(application, request)

    def token(self) -> str:
        """Return the token of the request; "", with status 403, of what is not this server's or has expired."""
        token = super().token()
        if not token or get_token_payload(token).get("session_expiry", 0) <= time.time():
            self.set_status(403)
            return ""
        return token


class _Place(_SessionHandler):
    """Says how far a session that waits is from its turn."""

    @authenticated
    def get(self) -> None:
        """Answer with `{"place": 1 for the next one and 0 for one that does not wait, "seconds": about how many}`."""
        if token := self.token():
            place, seconds = self._page_server.queue.place(get_session_id(token))
            self.write({"place": place, "seconds": round(seconds)})


class _NewSession(_SessionHandler):
    """Builds the session of a page's token, and answers when it is there."""

    _waits: asyncio.Task[bool] | None = None

    @authenticated
    async def get(self) -> None:
        """Answer with nothing when it is there, or with the request to come again."""
        token = self.token()
        if not token:
            return
        request = _as_page(self.request, NEW)
        self._waits = asyncio.ensure_future(self._page_server.begin(token, request, _known(self.request)))
        try:
            self.set_status(204 if await self._waits else 503)
        except asyncio.CancelledError:
            return  # the visitor has gone

    def on_connection_close(self) -> None:
        """The visitor has gone."""
        if self._waits is not None:
            self._waits.cancel()
        super().on_connection_close()


class _Socket(WSHandler):
    """Bokeh's websocket, of a session that is built in its turn, within the limits of `messages`."""

    def __init__(self, application: BokehTornado, request: HTTPServerRequest, server: PageServer, **options: object):
        self._page_server = server
        self._waits: asyncio.Task[bool] | None = None
        self._incoming, self._message_handler = BoundedReceiver(), MessageHandler()
        self._deadline: asyncio.TimerHandle | None = None  # of the message whose fragments are arriving
        self._refused = False
        super().__init__(application, request, **options)

    @property
    def max_message_size(self) -> int:
        """Return the bytes of one frame; Tornado closes the websocket at the head of a larger one."""
        return MAX_MESSAGE_BYTES

    async def _async_open(self, token: str) -> None:
        request = _as_page(self.request, "/ws")
        self._waits = asyncio.ensure_future(self._page_server.begin(token, request, _known(self.request)))
        try:
            mine = await self._waits
        except asyncio.CancelledError:
            return  # the visitor has gone
        if not mine:
            self.close(1013, "too many pages are being opened")
        elif self._page_server.count_sockets(token) >= MAX_SESSION_SOCKETS:
            self._refuse("a session has too many websockets")
        else:
            # The session is there, so this does not suspend before the connection exists: the count above holds.
            await super()._async_open(token)

    async def on_message(self, fragment: str | bytes) -> None:
        """Take a fragment of a message, and apply the message that it completes."""
        if self._refused:
            return  # the websocket is being closed; the browser may send until it knows
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
        self._refused = True
        self._incoming = BoundedReceiver()  # what had arrived is freed
        self.close(1008, reason[:100])

    def on_close(self) -> None:
        """The visitor has gone."""
        self._refused = True
        if self._waits is not None:
            self._waits.cancel()
        if self._deadline is not None:
            self._deadline.cancel()
        super().on_close()
