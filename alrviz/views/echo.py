"""Whether a slider's value is the reader's, or only what the browser was given and sends back.

When values come fast the browser repeats older ones: each is remembered for some seconds after it was set.
"""

import time
from collections.abc import Hashable

ECHO = 3.0  # seconds in which a value that was set here and comes back is not the reader's


class Echo:
    """The values that a slider was given of late."""

    def __init__(self) -> None:
        self._placed: dict[Hashable, float] = {}

    def place(self, value: Hashable) -> None:
        """Remember a value that is set now."""
        self._placed[value] = time.monotonic()

    def repeats(self, value: Hashable) -> bool:
        """Whether this value was set a moment ago."""
        now = time.monotonic()
        self._placed = {v: at for v, at in self._placed.items() if now - at < ECHO}
        return value in self._placed
