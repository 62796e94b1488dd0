"""A rate limit per key: a burst of attempts, then one more per interval."""

import time
from collections.abc import Callable

_SWEEP_KEYS = 1_000  # number of keys at which expired ones are removed


class RateLimit:
    """Attempts by key (an address, a student): `burst` at once, then one every `interval` seconds."""

    def __init__(self, burst: int, interval: float, clock: Callable[[], float] = time.monotonic):
        self.burst, self.interval = burst, interval
        self._clock = clock
        self._until: dict[str, float] = {}  # by key, when its attempts no longer count
        self._sweep_size = _SWEEP_KEYS

    def seconds_to_wait(self, key: str) -> float:
        """Return the seconds until a key's next attempt is allowed; 0 if it is allowed now."""
        return max(self._until.get(key, 0.0) - self._clock() - (self.burst - 1) * self.interval, 0.0)

    def count_attempt(self, key: str) -> None:
        """Count an attempt."""
        current_time = self._clock()
        if len(self._until) >= self._sweep_size:
            self._until = {old_key: end_time for old_key, end_time in self._until.items() if end_time > current_time}
            self._sweep_size = max(_SWEEP_KEYS, 2 * len(self._until))
        self._until[key] = max(self._until.get(key, current_time), current_time) + self.interval
