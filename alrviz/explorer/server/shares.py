"""What each owner has had of the machine: who has had least is next.

Seconds under way count, and lose half their weight every `HALF` seconds: a visitor who comes now goes before those who
have been computing for minutes, so that short work is soon done, and nobody waits for ever. Owners of one address
(cookies cost nothing) count dearer, by the square root of how many of them are active: six cookies have 2.4 times the
share of one visitor elsewhere and not six times, and a class of thirty behind one router keeps most of its own.
Memory is held and not had in turns, so there an address counts as one visitor, and its owners divide its share.
"""

from collections.abc import Iterable
from math import sqrt

HALF = 300.0  # seconds
_KNOWN = 10_000  # owners whose addresses are known
_NOTHING = 1e-3  # seconds that are forgotten


class Shares:
    """Seconds by owner; the caller holds a lock and tells the time."""

    def __init__(self, now: float):
        self._now = now
        self._seconds: dict[str, float] = {}
        self._address: dict[str, str] = {}
        self._active: dict[str, set[str]] = {}

    def at(self, owner: str, address: str) -> None:
        """Note where an owner was last seen."""
        self._address.pop(owner, None)
        self._address[owner] = address
        while len(self._address) > _KNOWN:  # the one not seen for longest
            del self._address[next(iter(self._address))]

    def count(self, now: float, running: Iterable[str], active: Iterable[str]) -> float:
        """Count the time since the last call for the owners of what runs, once for each run; return that time.

        `active`: owners of all that runs or waits.
        """
        passed, self._now = max(now - self._now, 0.0), now
        left = 0.5 ** (passed / HALF)
        self._seconds = {owner: had * left for owner, had in self._seconds.items() if had * left > _NOTHING}
        for owner in running:
            self._seconds[owner] = self._seconds.get(owner, 0.0) + passed
        self._active = {}
        for owner in active:
            self._active.setdefault(self._address.get(owner, owner), set()).add(owner)
        return passed

    def split(self, owners: Iterable[str]) -> dict[str, float]:
        """Return the fraction of a whole that is each owner's: equal for addresses, and for the owners of each."""
        at: dict[str, list[str]] = {}
        for owner in dict.fromkeys(owners):
            at.setdefault(self._address.get(owner, owner), []).append(owner)
        return {owner: 1 / len(at) / len(neighbours) for neighbours in at.values() for owner in neighbours}

    def had(self, owner: str) -> float:
        """Return the seconds that an owner has had, weighed."""
        neighbours = self._active.get(self._address.get(owner, owner), ())
        return self._seconds.get(owner, 0.0) * sqrt(max(len(neighbours), 1))
