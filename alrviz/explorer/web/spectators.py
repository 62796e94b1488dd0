"""The page of a race's secret link, for an audience: plain HTML that draws the race from server-sent events.

    <page of the explorer>/race/<secret>          the page (pictures.replay.live_html), the same for every race
    <page of the explorer>/race/<secret>/steps    server-sent events: first the complete recording, then the changes

Readers have no session: each has an open response, all get the same bytes (`RaceFeed`), and nothing but the secret is
read from them. A reader who is slower than the race misses some messages and then gets the complete one. If the server
requires a login, readers need it too. A class uses the same page with a question (`class_page`).
"""

import asyncio
import gzip
import weakref
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from bokeh.server.views.auth_request_handler import AuthRequestHandler
from tornado.web import authenticated

from alrviz.explorer.server.run_registry import Registry, process_registry
from alrviz.explorer.server.visitor_ids import is_id
from alrviz.explorer.web.race_feed import RaceFeed
from alrviz.pictures.replay import live_html

TICK_SECONDS = 0.25  # between two messages
HEARTBEAT_TICKS = 40  # without a message, until a comment shows that the server is alive
WRITES_PER_TURN = 50  # writes to readers before other work has a turn on the event loop
MAX_READERS = 800  # of all links; by default a process may have a thousand connections
MAX_READERS_PER_ADDRESS = 400  # a lecture hall is behind one router, and so is somebody who would take all places
SILENT_TICKS = 240  # in which a reader accepts no bytes, until its connection is closed
SECRET = "([0-9a-f]{32})"
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # the address is the secret
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
    "X-Accel-Buffering": "no",  # tells nginx not to buffer events
}


def format_events(lines: bytes) -> bytes:
    """Return lines as server-sent events."""
    return b"".join(b"data: %s\n\n" % line for line in lines.splitlines())


class SecretHandler(AuthRequestHandler):
    """Base of handlers whose address is a secret, with headers that keep it."""

    def initialize(self, registry: Registry | None = None) -> None:
        """Set the registry; None for the process's."""
        self.registry = registry or process_registry()

    @property
    def address(self) -> str:
        """IP address of the browser."""
        return self.request.remote_ip or ""

    def set_default_headers(self) -> None:
        """Set the headers that keep the address secret."""
        for name, value in _HEADERS.items():
            self.set_header(name, value)

    def write_page(self, page: bytes) -> None:
        """Answer with a page, compressed if the browser accepts that."""
        is_compressed = "gzip" in self.request.headers.get("Accept-Encoding", "")
        if is_compressed:
            self.set_header("Content-Encoding", "gzip")
        self.set_header("Vary", "Accept-Encoding")
        self.write(_compressed(page) if is_compressed else page)


class RacePage(SecretHandler):
    """The page on which spectators watch a race; status 404 if its link is invalid."""

    @authenticated
    def get(self, secret: str) -> None:
        """Respond with the page; with status 404 if the link is invalid."""
        if not is_id(secret) or self.registry.find_by_token(secret) is None:
            self.set_status(404)
        self.write_page(_page_bytes())


class EventStream(SecretHandler):
    """An open response to one reader, to which events are written until the page is closed."""

    def initialize(self, registry: Registry | None = None) -> None:
        """Set the registry; None for the process's."""
        super().initialize(registry)
        self.close_event = asyncio.Event()
        self.missed_ticks = 0  # since the reader has accepted the last bytes
        self._pending_write: asyncio.Future[None] | None = None

    async def stream_feed(self, secret: str, feed: Callable[[], RaceFeed]) -> None:
        """Stream the messages of a feed until the reader leaves or the feed ends.

        Args:
            secret: of the link.
            feed: makes the feed for the link's first reader; later readers share it.
        """
        spectators = _spectators_of(self.registry, secret, feed)
        readers = [
            reader for group in _spectators.values() for reader in group.readers if not reader.close_event.is_set()
        ]
        n_neighbours = sum(reader.address == self.address for reader in readers)
        if len(readers) >= MAX_READERS or n_neighbours >= MAX_READERS_PER_ADDRESS:
            self.set_status(503)
            self.write("There is no place for more readers now")
            return
        self.set_header("Content-Type", "text/event-stream")
        spectators.join(self)
        await self.close_event.wait()
        if self.missed_ticks > SILENT_TICKS:  # ending the response would wait for the reader for ever
            self.detach().close()

    def on_connection_close(self) -> None:
        """End the stream: the reader has left."""
        self.close_event.set()

    def send(self, events: bytes, full_events: Callable[[], bytes]) -> None:
        """Send events, as bytes, unless the reader is still receiving earlier ones.

        full_events: returns the complete message, which is sent instead after events that the reader has missed.
        """
        if self._pending_write is not None and not self._pending_write.done():
            self.missed_ticks += 1
            if self.missed_ticks > SILENT_TICKS:
                self.close_event.set()
            return
        self.write(full_events() if self.missed_ticks else events)
        self.missed_ticks = 0
        self._pending_write = self.flush()


class RaceStream(EventStream):
    """The event stream of a race's page."""

    @authenticated
    async def get(self, secret: str) -> None:
        """Stream the race until its link ends."""
        if self.registry.find_by_token(secret) is None:
            self.set_status(404)
            return
        await self.stream_feed(secret, lambda: RaceFeed(self.registry, secret))


class Spectators:
    """The readers of one link, and the task that sends them messages while there are any."""

    def __init__(self, feed: RaceFeed):
        self.readers: set[EventStream] = set()
        self._feed = feed
        self._task: asyncio.Task[None] | None = None

    def join(self, reader: EventStream) -> None:
        """Send a reader the complete message, and later messages from now on."""
        if self._task is None:  # without other readers, who would miss these changes
            self._feed.pull()
        self.readers.add(reader)
        reader.send(format_events(self._feed.full_message), lambda: b"")
        if self._task is None:
            self._task = asyncio.ensure_future(self._broadcast())

    async def _broadcast(self) -> None:
        """Send the feed's changes to all readers every tick, and a heartbeat when it is silent."""
        silent_ticks = 0
        try:
            while self.readers and not self._feed.is_ended:
                await asyncio.sleep(TICK_SECONDS)
                self.readers = {reader for reader in self.readers if not reader.close_event.is_set()}
                events = format_events(self._feed.pull()) if self.readers else b""
                silent_ticks = 0 if events else silent_ticks + 1
                if silent_ticks >= HEARTBEAT_TICKS:
                    silent_ticks, events = 0, b":\n\n"
                await self._send_all(events)
        finally:
            self._task = None
            for reader in self.readers:  # the link has ended, or an error occurred: their browsers reconnect
                reader.close_event.set()

    async def _send_all(self, events: bytes) -> None:
        """Send server-sent events to all readers, with a pause after every few."""
        for number, reader in enumerate(list(self.readers)):
            if (events or reader.missed_ticks) and not reader.close_event.is_set():  # some close during the pauses
                reader.send(events, lambda: events if self._feed.is_ended else format_events(self._feed.full_message))
            if number % WRITES_PER_TURN == WRITES_PER_TURN - 1:
                await asyncio.sleep(0)


_spectators: "weakref.WeakValueDictionary[tuple[int, str], Spectators]" = weakref.WeakValueDictionary()


def _spectators_of(registry: Registry, secret: str, feed: Callable[[], RaceFeed]) -> Spectators:
    spectators = _spectators.get((id(registry), secret)) or Spectators(feed())
    _spectators[id(registry), secret] = spectators
    return spectators


@cache
def _page_bytes() -> bytes:
    return live_html("A race").encode()


@lru_cache(maxsize=2)  # the pages of a race and of a class
def _compressed(page: bytes) -> bytes:
    return gzip.compress(page, mtime=0)


def routes(registry: Registry | None = None) -> list[tuple[str, type[SecretHandler], dict[str, Any]]]:
    """Return the routes for Tornado, below any path of the explorer."""
    kwargs = {"registry": registry}
    return [
        (rf".*/race/{SECRET}/steps", RaceStream, kwargs),
        (r".*/race/(.*?)/?", RacePage, kwargs),  # any text, because a mail program may have cut the secret
    ]
