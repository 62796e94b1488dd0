"""The queue of visitors whose pages are to be built: one page at a time, with pauses for other visitors.

Building a page blocks the event loop for half a second, so sixty requests at once would block it for half a minute.
After each page the loop is left free for as long as it took to build, or for less while a crowd waits, as when a
lecture begins. The order of the queue:

1. the address for which fewest pages were built lately: an address with many requests delays only itself;
2. visitors whose browsers were connected before (a made-up cookie does not count);
3. first come, first served.

Waiting visitors see their place in the queue; those who leave cost nothing. Beyond `MAX_WAITING_PER_ADDRESS` a visitor
is asked to come again. Measured with 400 requests of one address: a visitor from another address waits for 1.4 pages
(median of 20, at most 2.6); behind an `asyncio.Semaphore` for 584 pages, five minutes.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

MAX_WAITING_PER_ADDRESS = 400  # a lecture of 300 is behind one router
FREE_SHARE = 1.0  # seconds left free for each second of building
CROWD_SIZE, CROWD_FREE_SHARE = 20, 0.25  # with so many waiting visitors; with FREE_SHARE they would wait twice as long
HALF_LIFE_SECONDS = 60.0  # after which a page of an address counts half
FIRST_PACE_SECONDS = 1.0  # from one page to the next, before any was built
_FORGOTTEN_PAGES = 0.05


@dataclass(eq=False)
class _Ticket:
    address: str
    is_known: bool
    turn: "asyncio.Future[bool]" = field(repr=False)
    name: str = ""


class PageQueue:
    """The queue of one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._tickets: list[_Ticket] = []
        self._recent_pages: dict[str, float] = {}
        self._last_count = clock()
        self._building = False
        self._build_start = 0.0
        self._pace = FIRST_PACE_SECONDS  # seconds from one page to the next, a moving average
        self._places: dict[str, int] | None = None  # by name; None after a change

    async def enter(self, address: str, is_known: bool, name: str = "") -> bool:
        """Wait for a turn to build a page, which must end with `leave`; False if too many of the address wait.

        Args:
            address: the visitor's IP address.
            is_known: whether the visitor's browser was connected before.
            name: for `place`.
        """
        if sum(ticket.address == address for ticket in self._tickets) >= MAX_WAITING_PER_ADDRESS:
            return False
        ticket = _Ticket(address, is_known, asyncio.get_running_loop().create_future(), name)
        self._tickets.append(ticket)
        self._places = None
        if not self._building:
            self._next()
        try:
            return await ticket.turn
        except asyncio.CancelledError:
            if not ticket.turn.cancelled():  # the turn had begun already
                self.leave()
            elif ticket in self._tickets:
                self._tickets.remove(ticket)
                self._places = None
            raise

    def leave(self) -> None:
        """End a turn; the next one begins after a pause for visitors whose pages are open."""
        build_seconds = self._clock() - self._build_start
        pause_seconds = (CROWD_FREE_SHARE if len(self._tickets) >= CROWD_SIZE else FREE_SHARE) * build_seconds
        self._pace += 0.2 * (build_seconds + pause_seconds - self._pace)
        asyncio.get_running_loop().call_later(pause_seconds if self._tickets else 0.0, self._next)

    def place(self, name: str) -> tuple[int, float]:
        """Return a visitor's place in the queue, from 1, and the estimated seconds; (0, 0.0) if not waiting.

        A place can become worse: later visitors from an address with fewer pages go first.
        """
        if self._places is None:
            self._places = {ticket.name: place for place, ticket in enumerate(self._in_order(), 1)}
        place = self._places.get(name, 0)
        return place, place * self._pace

    def _in_order(self) -> list[_Ticket]:
        """Return the waiting tickets in the order of their turns."""
        n_pages_by_address = defaultdict(float, self._recent_pages)  # built for the address before a ticket's turn
        n_pages_before: dict[_Ticket, float] = {}
        for ticket in sorted(self._tickets, key=lambda ticket: not ticket.is_known):
            n_pages_before[ticket] = n_pages_by_address[ticket.address]
            n_pages_by_address[ticket.address] += 1.0
        return sorted(n_pages_before, key=n_pages_before.__getitem__)  # equal ones stay in their order

    def _next(self) -> None:
        """Drop cancelled tickets, and let the first waiting visitor, if any, begin to build a page."""
        self._tickets = [ticket for ticket in self._tickets if not ticket.turn.done()]  # without those just cancelled
        self._building = bool(self._tickets)
        self._places = None
        if not self._tickets:
            return
        self._decay_page_counts()
        ticket = self._in_order()[0]
        self._tickets.remove(ticket)
        self._recent_pages[ticket.address] = self._recent_pages.get(ticket.address, 0.0) + 1.0
        self._build_start = self._clock()
        ticket.turn.set_result(True)

    def _decay_page_counts(self) -> None:
        """Halve the recent pages of addresses every HALF_LIFE_SECONDS; forget small counts."""
        current_time = self._clock()
        decay_factor = 0.5 ** ((current_time - self._last_count) / HALF_LIFE_SECONDS)
        self._last_count = current_time
        decayed_counts = {address: pages * decay_factor for address, pages in self._recent_pages.items()}
        self._recent_pages = {address: pages for address, pages in decayed_counts.items() if pages > _FORGOTTEN_PAGES}
