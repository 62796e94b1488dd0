"""Pump: calls a view's update function periodically while a race, study or fit runs.

On a served page it is a periodic callback. In a notebook it is a thread, because a cell that waits for a study or race
blocks the kernel's main thread.
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
    """Calls `look` every `period` ms until it returns False; `wake` starts again.

    Args:
        look: shows new results; returns whether there may be more.
        period: time between calls, in ms.
        on_leave: called when the visitor of a served page has left.
        on_rest: called when the pump stops.
        keep_awake: returns True to go on although `look` returned False.
    """

    def __init__(
        self,
        look: Callable[[], bool],
        period: int,
        on_leave: Callable[[], None] | None = None,
        on_rest: Callable[[], None] | None = None,
        keep_awake: Callable[[], bool] = bool,
    ):
        self._look, self._period, self._keep_awake = look, period, keep_awake
        self._on_leave, self._on_rest = on_leave, on_rest
        self._callback: Any = None
        self.moving = False  # latest return value of `look`

    @property
    def running(self) -> bool:
        """Whether `look` is being called periodically."""
        return self._callback is not None and bool(self._callback.running)

    def wake(self) -> None:
        """Start if it rests."""
        if self._callback is None:
            self._callback = self._make_callback()
        if not self._callback.running:
            self._callback.start()

    def look(self) -> None:
        """Call `look` now, and start if it rests."""
        self.wake()
        self._tick()

    def finish(self, seconds: float) -> None:
        """Call `look` without pauses until it rests, for at most so many seconds; for views that no page shows."""
        deadline = time.monotonic() + seconds
        while self.running and time.monotonic() < deadline:
            self._tick()
            time.sleep(0.005)  # lets worker threads have the interpreter

    def _make_callback(self) -> Any:
        if in_kernel():
            return _TickThread(self._tick, self._period / 1000)
        on_leave = self._on_leave
        if on_leave is not None and server_session() is not None:
            pn.state.on_session_destroyed(lambda _: on_leave())
        return pn.state.add_periodic_callback(self._tick, period=self._period, start=False)

    def _tick(self) -> None:
        if not in_kernel() and not page_ready():
            return
        with turn():
            self.moving = self._look()
            if self.moving or self._keep_awake() or not self._callback.running:
                return
            self._callback.stop()
        if self._on_rest is not None:
            self._on_rest()


class _TickThread:
    """Thread that calls a function every `period` seconds until it is stopped."""

    def __init__(self, call: Callable[[], None], period: float):
        self._call, self._period = call, period
        self._job: Job[None] | None = None  # the current thread

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
