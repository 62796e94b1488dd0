"""Stop tokens: end work from another thread, and report its progress.

Work that lasts over 50 ms is done in chunks and calls `check` between them; whoever wants it to end calls `stop`. Work
of seconds calls `report` as well, for whoever shows a bar.
"""

import threading
from time import monotonic

from alrviz.errors import Stopped, TimeOver


class StopToken:
    """A flag that is raised once and never lowered; `share` is the share of the work that is done, None if unknown."""

    __slots__ = ("_event", "share")

    def __init__(self) -> None:
        self._event = threading.Event()
        self.share: float | None = None

    def stop(self) -> None:
        """Ask the work that holds this token to end."""
        self._event.set()

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._event.is_set()

    def check(self) -> None:
        """Raise `Stopped` if `stop` was called."""
        if self._event.is_set():
            raise Stopped("stopped on request")

    def rest(self, seconds: float) -> None:
        """Wait this many seconds; raise `Stopped` as soon as `stop` is called."""
        self._event.wait(seconds)
        self.check()

    def report(self, share: float) -> None:
        """Report the share of the work that is done, from 0 to 1 in parts of equal time, as far as it is known."""
        self.share = share


class Deadline(StopToken):
    """A token that another token stops too, and that stops by itself after some seconds."""

    __slots__ = ("_end", "_stop")

    def __init__(self, stop: StopToken, seconds: float) -> None:
        super().__init__()
        self._stop, self._end = stop, monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until it stops by itself, below 0 afterwards."""
        return self._end - monotonic()

    @property
    def stopped(self) -> bool:
        """Whether either token was stopped, or the time is over."""
        return super().stopped or self._stop.stopped or self.left < 0

    def check(self) -> None:
        """Raise `Stopped` if either token was stopped, `TimeOver` if the time is over."""
        self._stop.check()
        super().check()
        if self.left < 0:
            raise TimeOver("stopped as the time was over")


class _Never(StopToken):
    """The token of work that cannot be stopped. All such work shares it, so its `stop` raises TypeError."""

    __slots__ = ()

    def stop(self) -> None:
        raise TypeError("NEVER is shared by all work that cannot be stopped; make a StopToken of your own")

    def report(self, share: float) -> None:
        """Do nothing: nobody reads the progress of work that cannot be stopped."""

    def __repr__(self) -> str:
        """Return how it is written as a default value."""
        return "NEVER"


NEVER = _Never()
