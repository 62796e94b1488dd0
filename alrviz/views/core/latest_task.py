"""Work off the event loop of which only the latest matters: a new question ends the one before it.

One thread at a time: while it is busy with a call that cannot be interrupted, questions that come replace each other,
so that however fast a slider moves, at most one answer is late. Results wait until a view's pump takes the newest.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from alrviz.errors import AlrvizError, Stopped
from alrviz.stop import StopToken

_log = logging.getLogger(__name__)
Work = Callable[[StopToken], Iterable[Any]]


class LatestTask:
    """A thread that works while there is a question."""

    def __init__(self, name: str = "alrviz-asking"):
        self._name = name
        self._lock = threading.Lock()
        self._came = threading.Condition(self._lock)
        self._token = StopToken()
        self._next: tuple[Work, StopToken] | None = None
        self._found: Any = None
        self._working = False

    def ask(self, work: Work) -> None:
        """Take up this work in place of whatever was asked before; it is given a token and yields results."""
        with self._lock:
            self._token.stop()
            self._token = StopToken()
            self._next, self._found = (work, self._token), None
            if self._working:
                return
            self._working = True
        threading.Thread(target=self._work, name=self._name, daemon=True).start()

    def stop(self) -> None:
        """Give up what was asked; what it found is forgotten."""
        with self._lock:
            self._token.stop()
            self._next = self._found = None

    def take(self) -> Any:
        """Return the newest result that was not taken yet: what the work yielded, an exception, or None."""
        with self._lock:
            found, self._found = self._found, None
            return found

    def wait(self, seconds: float) -> None:
        """Wait for a result, but no longer than this: for what takes less than a look later would."""
        with self._came:
            self._came.wait_for(lambda: self._found is not None, seconds)

    @property
    def busy(self) -> bool:
        """Whether a result waits to be taken or may still come."""
        with self._lock:
            return self._found is not None or self._next is not None or (self._working and not self._token.stopped)

    def _work(self) -> None:
        while True:
            with self._lock:
                if self._next is None:
                    self._working = False
                    return
                (work, token), self._next = self._next, None
            try:
                for found in work(token):
                    self._keep(found, token)
                    if token.stopped:
                        break
            except Stopped:
                pass
            except Exception as error:  # a model may raise anything; it is shown in words
                if not isinstance(error, AlrvizError):
                    _log.info("what was asked raised", exc_info=True)
                self._keep(error, token)

    def _keep(self, found: Any, token: StopToken) -> None:
        with self._lock:
            if not token.stopped:
                self._found = found
                self._came.notify()


def at_rest(found: Iterable[Any], stop: StopToken, seconds: float) -> Iterator[Any]:
    """Yield the first result at once, the others when nothing else was asked for so many seconds."""
    for k, result in enumerate(found):
        if k == 1:
            stop.rest(seconds)
        yield result
