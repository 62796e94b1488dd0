"""A thread that takes turns: the one way in which runs and races are started, paused, stepped and stopped."""

import threading
from collections.abc import Callable


class Driven:
    """What may be done with work that takes turns on a thread of its own: the steps of a run, the rounds of a race.

    A subclass sets `_worker`. Its `stop` is its own: it ends more than the thread.
    """

    _worker: "Worker"

    def start(self) -> None:
        """Begin on a thread of its own; the same as `resume`."""
        self._worker.resume()

    def resume(self) -> None:
        """Go on after a pause."""
        self._worker.resume()

    def pause(self) -> None:
        """Take no further step once the present one has ended."""
        self._worker.pause()

    def step(self, count: int = 1) -> None:
        """Take `count` steps (in a race: every racer does), then pause."""
        self._worker.step(count)

    def join(self, timeout: float | None = None) -> bool:
        """Wait until the thread has ended; returns whether it has."""
        return self._worker.join(timeout)


class Worker:
    """Calls `turn` again and again on a thread of its own until it returns False.

    Between two turns it can be paused and asked for single turns. Ending a turn early is the turn's own business (it
    holds a stop token); `stop` ends the loop at the next opportunity.
    """

    def __init__(self, turn: Callable[[], bool], name: str):
        self._turn = turn
        self._name = name
        self._allowed: float = 0.0
        self._ended = False
        self._waiting = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def resume(self) -> None:
        """Take turns without pause, from the next one on."""
        self._allow(float("inf"))

    def pause(self) -> None:
        """Take no further turn once the present one has ended."""
        with self._changed:
            self._allowed = 0.0

    def step(self, count: int = 1) -> None:
        """Take `count` turns, then pause."""
        self._allow(float(count), add=True)

    def stop(self) -> None:
        """End the loop; does not wait."""
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until the thread has ended; returns whether it has."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
        return thread is None or not thread.is_alive()

    @property
    def started(self) -> bool:
        """Whether a turn was ever asked for."""
        return self._thread is not None

    @property
    def paused(self) -> bool:
        """Whether the thread waits to be resumed."""
        return self._waiting and not self._ended

    def _allow(self, turns: float, add: bool = False) -> None:
        with self._changed:
            finite = self._allowed if self._allowed != float("inf") else 0.0
            self._allowed = finite + turns if add else turns
            self._waiting = False
            if self._thread is None and not self._ended:
                self._thread = threading.Thread(target=self._loop, name=self._name, daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def _loop(self) -> None:
        while self._may_go_on() and self._turn():
            pass
        with self._changed:
            self._ended = True

    def _may_go_on(self) -> bool:
        with self._changed:
            while self._allowed < 1.0 and not self._ended:
                self._waiting = True
                self._changed.wait()
            self._waiting = False
            self._allowed -= 1.0
            return not self._ended
