"""Limit how often strangers may try: so many times at once, and once more every so many seconds."""

import time
from collections.abc import Callable

_SWEEP_KEYS = 1_000  # keys after which those that are free again are forgotten


class RateLimit:
    """Tries by key (an address, a student): `burst` at once, and one more every `every` seconds."""

    def __init__(self, burst: int, every: float, clock: Callable[[], float] = time.monotonic):
        self.burst, self.every = burst, every
        self._clock = clock
        self._until: dict[str, float] = {}  # when the tries of a key will all be forgotten
        self._look = _SWEEP_KEYS

    def wait(self, key: str) -> float:
        """Return the seconds until the next try of this key; 0 where it is now."""
        return max(self._until.get(key, 0.0) - self._clock() - (self.burst - 1) * self.every, 0.0)

    def count(self, key: str) -> None:
        """Count a try."""
        now = self._clock()
        if len(self._until) >= self._look:
            self._until = {one: until for one, until in self._until.items() if until > now}
            self._look = max(_SWEEP_KEYS, 2 * len(self._until))
        self._until[key] = max(self._until.get(key, now), now) + self.every
