"""The pump of what follows threads: it shows what has come, again and again while there is something to come.

On a served page it is a periodic callback of the page's. In a notebook it has a thread: a cell that waits for a study,
or a race, holds up everything that the kernel would do on its own thread.
"""

import time
from collections.abc import Callable
from typing import Any

import panel as pn

from alrviz.job import Job
from alrviz.stop import StopToken
from alrviz.views.core.browser_ready import page_ready, server_session
from alrviz.views.core.kernel_lock import in_kernel, turn


class Pump:
    """Looks every so often, and rests while nothing moves.

    Args:
        look: shows what has come; returns whether there may be more.
        period: ms between two looks.
        gone: called when the visitor of a served page has left.
        rested: called when nothing moves any more.
        awake: whether it is not to rest now, though nothing moves.
    """

    def __init__(
        self,
        look: Callable[[], bool],
        period: int,
        gone: Callable[[], None] | None = None,
        rested: Callable[[], None] | None = None,
        awake: Callable[[], bool] = bool,
    ):
        self._look, self._period, self._gone, self._rested, self._awake = look, period, gone, rested, awake
        self._callback: Any = None
        self.moving = False  # whether there was more to come when it looked last

    @property
    def running(self) -> bool:
        """Whether it looks."""
        return self._callback is not None and bool(self._callback.running)

    def wake(self) -> None:
        """Look from now on, if it rests."""
        if self._callback is None:
            self._callback = self._made()
        if not self._callback.running:
            self._callback.start()

    def look(self) -> None:
        """Look once, now."""
        self.wake()
        self._tick()

    def finish(self, seconds: float) -> None:
        """Look without waiting between two looks until nothing moves, for so long at most: nobody watches."""
        end = time.monotonic() + seconds
        while self.running and time.monotonic() < end:
            self._tick()
            time.sleep(0.005)  # what is worked out on threads needs the interpreter too

    def _made(self) -> Any:
        if in_kernel():
            return _Ticking(self._tick, self._period / 1000)
        gone = self._gone
        if gone is not None and server_session() is not None:
            pn.state.on_session_destroyed(lambda _: gone())
        return pn.state.add_periodic_callback(self._tick, period=self._period, start=False)

    def _tick(self) -> None:
        if not in_kernel() and not page_ready():
            return
        with turn():
            self.moving = self._look()
            if self.moving or self._awake() or not self._callback.running:
                return
            self._callback.stop()
        if self._rested is not None:
            self._rested()


class _Ticking:
    """A thread that calls again and again, until it is stopped."""

    def __init__(self, call: Callable[[], None], period: float):
        self._call, self._period = call, period
        self._job: Job[None] | None = None  # that calls now

    @property
    def running(self) -> bool:
        return self._job is not None and self._job.busy

    def start(self) -> None:
        self._job = Job(self._run, "alrviz-pump")
        self._job.start()

    def stop(self) -> None:
        if self._job is not None:
            self._job.stop()

    def _run(self, stop: StopToken) -> None:
        while True:
            stop.rest(self._period)
            self._call()
