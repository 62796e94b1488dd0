"""The page behind a race's secret link, for a lecture room: plain HTML that draws by itself, fed from one trace.

    <page of the explorer>/race/<secret>          the page (pictures.replay.live_html), the same for every race
    <page of the explorer>/race/<secret>/steps    server-sent events: all that is known, then what is new

A reader has no session: an open answer, to which all get the same bytes (`RaceFeed`), and nothing that it sends is read
but the secret. Whoever is slower than the race is passed over and then told all at once. Where the server asks visitors
who they are, it asks readers too. A class has the same page with its question on it (`class_page`).
"""

import asyncio
import gzip
import weakref
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, Protocol

from bokeh.server.views.auth_request_handler import AuthRequestHandler
from tornado.web import authenticated

from alrviz.explorer.server.run_registry import Registry, process_registry
from alrviz.explorer.server.visitor_ids import is_id
from alrviz.explorer.web.race_feed import RaceFeed
from alrviz.pictures.replay import live_html

TICK_SECONDS = 0.25  # seconds between two looks at the race
HEARTBEAT_TICKS = 40  # ticks of silence after which a reader is told that the server is there
READERS_AT_ONCE = 50  # readers that are written to before others have their turn on the loop
MAX_READERS = 800  # readers of all links; a process has a thousand connections where nobody asked for more
MAX_READERS_PER_ADDRESS = 400  # a lecture hall is behind one router, and so is whoever would take all places
SILENT_TICKS = 240  # ticks in which a reader takes nothing until it is given up
SECRET = "([0-9a-f]{32})"
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # the address is the secret
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
    "X-Accel-Buffering": "no",  # nginx: hand on what comes when it comes
}


class Feed(Protocol):
    """What readers of one address are told, as lines of JSON."""

    gone: bool  # whether there is nothing more to see; what `pull` returned then was the last message

    @property
    def whole(self) -> bytes:
        """All that is known, for somebody who has just come."""

    def pull(self) -> bytes:
        """Return what is new, b"" where nothing is."""


def events(lines: bytes) -> bytes:
    """Return lines as server-sent events."""
    return b"".join(b"data: %s\n\n" % line for line in lines.splitlines())


class Quiet(AuthRequestHandler):
    """What both have: the registry, and headers that keep the secret."""

    def initialize(self, registry: Registry | None = None) -> None:
        """Take the registry, the process's own without one."""
        self.registry = registry or process_registry()

    @property
    def address(self) -> str:
        """Of the browser that asks."""
        return self.request.remote_ip or ""

    def set_default_headers(self) -> None:
        """Keep the secret."""
        for name, value in _HEADERS.items():
            self.set_header(name, value)

    def write_page(self, page: bytes) -> None:
        """Answer with a page, packed where the browser takes that."""
        packed = "gzip" in self.request.headers.get("Accept-Encoding", "")
        if packed:
            self.set_header("Content-Encoding", "gzip")
        self.set_header("Vary", "Accept-Encoding")
        self.write(_packed(page) if packed else page)


class RacePage(Quiet):
    """The page; where the link leads nowhere it says so."""

    @authenticated
    def get(self, secret: str) -> None:
        """Answer with the page, with status 404 where the link leads nowhere."""
        if not is_id(secret) or self.registry.find_by_token(secret) is None:
            self.set_status(404)
        self.write_page(_page())


class Steps(Quiet):
    """What the page is told, as long as it stays."""

    def initialize(self, registry: Registry | None = None) -> None:
        """Take the registry, the process's own without one."""
        super().initialize(registry)
        self.left = asyncio.Event()
        self.behind = 0  # ticks since it took what it was sent
        self._sent: asyncio.Future[None] | None = None

    async def serve(self, secret: str, feed: Callable[[], Feed]) -> None:
        """Answer with all there is at that secret, and with what comes until the reader leaves or the link ends."""
        spectators = _spectators_of(self.registry, secret, feed)
        there = [one for each in _spectators.values() for one in each.readers if not one.left.is_set()]
        if len(there) >= MAX_READERS or sum(one.address == self.address for one in there) >= MAX_READERS_PER_ADDRESS:
            self.set_status(503)
            self.write("There is no place for more readers now")
            return
        self.set_header("Content-Type", "text/event-stream")
        spectators.join(self)
        await self.left.wait()
        if self.behind > SILENT_TICKS:  # it would not take the answer's end either, and hold its connection for ever
            self.detach().close()

    def on_connection_close(self) -> None:
        """The reader has gone."""
        self.left.set()

    def tell(self, line: bytes, whole: Callable[[], bytes]) -> None:
        """Send events, or all there is to whoever has missed some; nothing while the last is still on its way."""
        if self._sent is not None and not self._sent.done():
            self.behind += 1
            if self.behind > SILENT_TICKS:
                self.left.set()
            return
        self.write(whole() if self.behind else line)
        self.behind = 0
        self._sent = self.flush()


class RaceSteps(Steps):
    """The same of a race."""

    @authenticated
    async def get(self, secret: str) -> None:
        """Tell of the race until its link ends."""
        if self.registry.find_by_token(secret) is None:
            self.set_status(404)
            return
        await self.serve(secret, lambda: RaceFeed(self.registry, secret))


class Spectators:
    """The readers of one address, and what tells them what is new while there are any."""

    def __init__(self, feed: Feed):
        self.readers: set[Steps] = set()
        self._feed = feed
        self._task: asyncio.Task[None] | None = None

    def join(self, reader: Steps) -> None:
        """Tell a reader all there is, and from now on what is new."""
        if self._task is None:  # nobody is there to miss it
            self._feed.pull()
        self.readers.add(reader)
        reader.tell(events(self._feed.whole), lambda: b"")
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        quiet = 0
        try:
            while self.readers and not self._feed.gone:
                await asyncio.sleep(TICK_SECONDS)
                self.readers = {reader for reader in self.readers if not reader.left.is_set()}
                line = events(self._feed.pull()) if self.readers else b""
                quiet = 0 if line else quiet + 1
                if quiet >= HEARTBEAT_TICKS:
                    quiet, line = 0, b":\n\n"
                await self._tell(line)
        finally:
            self._task = None
            for reader in self.readers:  # the link has ended, or something has failed: they ask again
                reader.left.set()

    async def _tell(self, line: bytes) -> None:
        for number, reader in enumerate(list(self.readers)):
            if (line or reader.behind) and not reader.left.is_set():  # while others were told some have gone
                reader.tell(line, lambda: line if self._feed.gone else events(self._feed.whole))
            if number % READERS_AT_ONCE == READERS_AT_ONCE - 1:
                await asyncio.sleep(0)


_spectators: "weakref.WeakValueDictionary[tuple[int, str], Spectators]" = weakref.WeakValueDictionary()


def _spectators_of(registry: Registry, secret: str, feed: Callable[[], Feed]) -> Spectators:
    spectators = _spectators.get((id(registry), secret)) or Spectators(feed())
    _spectators[id(registry), secret] = spectators
    return spectators


@cache
def _page() -> bytes:
    return live_html("A race").encode()


@lru_cache(maxsize=2)  # the page of a race, and that of a class
def _packed(page: bytes) -> bytes:
    return gzip.compress(page, mtime=0)


def routes(registry: Registry | None = None) -> list[tuple[str, type[Quiet], dict[str, Any]]]:
    """Return the two handlers as Tornado takes them, below whichever path the explorer has."""
    given = {"registry": registry}
    return [
        (rf".*/race/{SECRET}/steps", RaceSteps, given),
        (r".*/race/(.*?)/?", RacePage, given),  # also of what is no secret, such as one that a mail has cut
    ]
