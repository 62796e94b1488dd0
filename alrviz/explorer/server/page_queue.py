"""Pages are built one at a time, and the event loop is left to visitors who are there in between.

A page costs half a second of the loop. Where sixty are asked for at once, the loop would answer nobody else for half a
minute; so they queue: after each as much time is left free as it took. Next is the address that has had fewest pages
lately, there a visitor whose browser was here before (not one who brings any cookie), then who came first: who asks for
many waits for oneself. Whoever leaves while waiting costs nothing, and where too many wait from one address, the next
is told to come again.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field

MOST = 120  # requests of one address that wait
SHARE = 1.0  # seconds left free for each second of building
HALF = 60.0  # seconds after which a page that an address had counts half
_FORGET = 0.05  # pages


@dataclass(eq=False)
class _Ticket:
    address: str
    known: bool
    turn: "asyncio.Future[bool]" = field(repr=False)


class PageQueue:
    """The queue of one event loop.

    Args:
        clock: seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._waiting: list[_Ticket] = []
        self._had: dict[str, float] = {}
        self._counted = clock()
        self._building = False
        self._begun = 0.0

    async def enter(self, address: str, known: bool) -> bool:
        """Wait for a turn to build a page; whoever had one says `leave`. False where too many of the address wait."""
        if sum(ticket.address == address for ticket in self._waiting) >= MOST:
            return False
        ticket = _Ticket(address, known, asyncio.get_running_loop().create_future())
        self._waiting.append(ticket)
        if not self._building:
            self._next()
        try:
            return await ticket.turn
        except asyncio.CancelledError:
            if not ticket.turn.cancelled():  # it was its turn already
                self.leave()
            elif ticket in self._waiting:
                self._waiting.remove(ticket)
            raise

    def leave(self) -> None:
        """The page is built: the next one is, after a while for those who are there."""
        rest = SHARE * (self._clock() - self._begun)
        asyncio.get_running_loop().call_later(rest if self._waiting else 0.0, self._next)

    def _next(self) -> None:
        self._waiting = [one for one in self._waiting if not one.turn.done()]  # some were cancelled at this very moment
        self._building = bool(self._waiting)
        if not self._waiting:
            return
        self._count()
        ticket = min(self._waiting, key=lambda one: (self._had.get(one.address, 0.0), not one.known))
        self._waiting.remove(ticket)
        self._had[ticket.address] = self._had.get(ticket.address, 0.0) + 1.0
        self._begun = self._clock()
        ticket.turn.set_result(True)

    def _count(self) -> None:
        now = self._clock()
        left = 0.5 ** ((now - self._counted) / HALF)
        self._counted = now
        self._had = {address: had * left for address, had in self._had.items() if had * left > _FORGET}
