"""Whether a slider's value is the reader's, or only what the browser was given and sends back.

When values come fast the browser repeats older ones, and one that is busy repeats them late: of a film of some seconds
the first may come back when the last has been set. So all values that follow each other are remembered for some seconds
after the last of them, or until the reader moves the slider: what a browser was given before that, it has had.
"""

import time
from collections.abc import Hashable

ECHO = 3.0  # seconds after the last value was set here in which those that come back are not the reader's


class Echo:
    """The values that a slider was given of late."""

    def __init__(self) -> None:
        self._placed: set[Hashable] = set()
        self._last = float("-inf")

    def place(self, value: Hashable) -> None:
        """Remember a value that is set now."""
        if not self._still():
            self._placed.clear()
        self._placed.add(value)
        self._last = time.monotonic()

    def repeats(self, value: Hashable) -> bool:
        """Whether this value is one that was set; if it is not, the reader has moved the slider."""
        if self._still() and value in self._placed:
            return True
        self.moved()
        return False

    def moved(self) -> None:
        """The reader has moved the slider."""
        self._placed.clear()

    def _still(self) -> bool:
        return time.monotonic() - self._last < ECHO
