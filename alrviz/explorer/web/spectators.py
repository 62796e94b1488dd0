"""The page behind a race's secret link, for a lecture room: plain HTML that draws by itself, fed from one trace.

    <page of the explorer>/race/<secret>          the page (pictures.replay.live_html), the same for every race
    <page of the explorer>/race/<secret>/steps    lines of JSON without an end: all that is known, then what is new

A reader has no session: an open answer, to which all get the same bytes (`RaceFeed`), and nothing that it sends is read
but the secret. Whoever is slower than the race is passed over and then told all at once. Where the server asks visitors
who they are, it asks readers too.
"""

import asyncio
import gzip
import weakref
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from bokeh.server.views.auth_request_handler import AuthRequestHandler
from tornado.web import authenticated

from alrviz.explorer.server.run_registry import Registry, process_registry
from alrviz.explorer.server.visitor_ids import is_id
from alrviz.explorer.web.race_feed import RaceFeed
from alrviz.pictures.replay import live_html

TICK = 0.25  # seconds between two looks at the race
BEAT = 40  # ticks of silence after which a reader is told that the server is there
AT_ONCE = 50  # readers that are written to before others have their turn on the loop
MOST = 800  # readers of all links; a process has a thousand connections where nobody asked for more
SILENT = 240  # ticks in which a reader takes nothing until it is given up
SECRET = "([0-9a-f]{32})"
_HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # the address is the secret
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
    "X-Accel-Buffering": "no",  # nginx: hand on what comes when it comes
}


class _Quiet(AuthRequestHandler):
    """What both have: the registry, and headers that keep the secret."""

    def initialize(self, registry: Registry | None = None) -> None:
        self.registry = registry or process_registry()

    def set_default_headers(self) -> None:
        for name, value in _HEADERS.items():
            self.set_header(name, value)


class RacePage(_Quiet):
    """The page; where the link leads nowhere it says so."""

    @authenticated
    def get(self, secret: str) -> None:
        """Answer with the page, with status 404 where the link leads nowhere."""
        if not is_id(secret) or self.registry.by_token(secret) is None:
            self.set_status(404)
        packed = "gzip" in self.request.headers.get("Accept-Encoding", "")
        if packed:
            self.set_header("Content-Encoding", "gzip")
        self.set_header("Vary", "Accept-Encoding")
        self.write(_page(packed))


class RaceSteps(_Quiet):
    """What the page is told, as long as it stays."""

    def initialize(self, registry: Registry | None = None) -> None:
        """Take the registry, the process's own without one."""
        super().initialize(registry)
        self.left = asyncio.Event()
        self.behind = 0  # ticks since it took what it was sent
        self._sent: asyncio.Future[None] | None = None

    @authenticated
    async def get(self, secret: str) -> None:
        """Answer with all there is, and with what comes until the reader leaves or the link ends."""
        if self.registry.by_token(secret) is None:
            self.set_status(404)
            return
        spectators = _spectators_of(self.registry, secret)
        if sum(not reader.left.is_set() for each in _spectators.values() for reader in each.readers) >= MOST:
            self.set_status(503)
            return
        self.set_header("Content-Type", "application/x-ndjson")
        spectators.join(self)
        await self.left.wait()
        if self.behind > SILENT:  # it would not take the answer's end either, and hold its connection for ever
            self.detach().close()

    def on_connection_close(self) -> None:
        """The reader has gone."""
        self.left.set()

    def tell(self, line: bytes, whole: Callable[[], bytes]) -> None:
        """Send a line, or all there is to whoever has missed some; nothing while the last is still on its way."""
        if self._sent is not None and not self._sent.done():
            self.behind += 1
            if self.behind > SILENT:
                self.left.set()
            return
        self.write(whole() if self.behind else line)
        self.behind = 0
        self._sent = self.flush()


class Spectators:
    """The readers of one link, and what tells them what is new while there are any."""

    def __init__(self, registry: Registry, secret: str):
        self.readers: set[RaceSteps] = set()
        self._feed = RaceFeed(registry, secret)
        self._task: asyncio.Task[None] | None = None

    def join(self, reader: RaceSteps) -> None:
        """Tell a reader all there is, and from now on what is new."""
        if not self._feed.whole:
            self._feed.pull()
        self.readers.add(reader)
        reader.tell(self._feed.whole, lambda: b"")
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())

    async def _run(self) -> None:
        quiet = 0
        try:
            while self.readers and not self._feed.gone:
                await asyncio.sleep(TICK)
                self.readers = {reader for reader in self.readers if not reader.left.is_set()}
                line = self._feed.pull() if self.readers else b""
                quiet = 0 if line else quiet + 1
                if quiet >= BEAT:
                    quiet, line = 0, b"\n"
                await self._tell(line)
        finally:
            self._task = None
            for reader in self.readers:  # the link has ended, or something has failed: they ask again
                reader.left.set()

    async def _tell(self, line: bytes) -> None:
        for number, reader in enumerate(list(self.readers)):
            if (line or reader.behind) and not reader.left.is_set():  # while others were told some have gone
                reader.tell(line, lambda: line if self._feed.gone else self._feed.whole)
            if number % AT_ONCE == AT_ONCE - 1:
                await asyncio.sleep(0)


_spectators: "weakref.WeakValueDictionary[tuple[int, str], Spectators]" = weakref.WeakValueDictionary()


def _spectators_of(registry: Registry, secret: str) -> Spectators:
    spectators = _spectators.get((id(registry), secret)) or Spectators(registry, secret)
    _spectators[id(registry), secret] = spectators
    return spectators


@lru_cache(maxsize=2)
def _page(packed: bool) -> bytes:
    page = live_html("A race").encode()
    return gzip.compress(page, mtime=0) if packed else page


def routes(registry: Registry | None = None) -> list[tuple[str, type[_Quiet], dict[str, Any]]]:
    """Return the two handlers as Tornado takes them, below whichever path the explorer has."""
    given = {"registry": registry}
    return [
        (rf".*/race/{SECRET}/steps", RaceSteps, given),
        (r".*/race/(.*?)/?", RacePage, given),  # also of what is no secret, such as one that a mail has cut
    ]
