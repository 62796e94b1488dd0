"""Jobs: background work that others watch, pause and stop.

    job = Job(work, "alrviz-race")              # work(stop) returns the result, or yields results on the way
    job.start(); job.pause(); job.step(); job.stop(); job.join()
    job.poll(show, tell)                        # hand over the newest result, or the error, on the caller's thread

Fits, races, studies, what is kept of them, and all that a page or a view computes are jobs. `LatestJob` holds the jobs
of one purpose, of which only the latest counts: the answers to a slider.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar

from alrviz.errors import AlrvizError
from alrviz.stop import StopToken

_log = logging.getLogger(__name__)
T = TypeVar("T")
Work = Callable[[StopToken], T | Iterator[T]]


class Job(Generic[T]):
    """Work on a thread of its own, which callers watch, pause and stop.

    Work that is a generator does one turn for each value that it yields; between two turns it can be paused, and asked
    for single turns. Work that is a function is one turn, and what it returns is its result. A turn ends early only
    where the work looks at its stop token.

    Args:
        work: called with the stop token, on the thread.
        name: of the thread.
        places: where it waits for a free place before it begins, such as a semaphore.
        ended: called by the thread when nothing more comes.
        log_level: of an error that is not an `AlrvizError`; it is logged, and handed over by `poll`.

    Attributes:
        token: the stop token that the work is given; its `share` is the progress.
        waiting: whether it has not begun: it waits for its place.
        error: what the work raised, until `poll` hands it over; None without.
    """

    def __init__(
        self,
        work: Work[T],
        name: str,
        *,
        places: AbstractContextManager[object] | None = None,
        ended: Callable[[], object] = lambda: None,
        log_level: int = logging.ERROR,
    ):
        self.token = StopToken()
        self.waiting = True
        self.error: Exception | None = None
        self._work: Work[T] | None = work
        self._places = places if places is not None else nullcontext()
        self._name, self._on_end, self._log_level = name, ended, log_level
        self._turns = 0.0  # turns left before it pauses
        self._resting = self._over = False
        self._news: list[T] = []  # the newest result, until it is handed over
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    # -- driving ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start, or resume after a pause; does nothing after the end or a stop."""
        self.step(float("inf"))

    def resume(self) -> None:
        """Resume after a pause; the same as `start`."""
        self.start()

    def pause(self) -> None:
        """Pause after the present turn."""
        with self._changed:
            self._turns = 0.0

    def step(self, count: float = 1) -> None:
        """Take `count` turns, then pause."""
        with self._changed:
            self._turns = count + (0.0 if self._turns == float("inf") else self._turns)
            self._resting = False
            if self._thread is None and not self.token.stopped:
                thread = threading.Thread(target=self._compute, name=self._name, daemon=True)
                thread.start()  # it waits for the lock; if it cannot be started, neither is the job
                self._thread = thread
            self._changed.notify_all()

    def stop(self) -> None:
        """Ask the work to stop, without waiting for it; `poll` hands over no result or error from then on."""
        with self._changed:
            self.token.stop()
            self._news, self.error = [], None
            if self._thread is None:
                self._work = None  # it will never start
            self._changed.notify_all()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until the thread has ended; return whether it has."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout)
        return not self.alive

    # -- looking ------------------------------------------------------------------------------------------------------

    @property
    def started(self) -> bool:
        """Whether a turn was ever requested."""
        return self._thread is not None

    @property
    def alive(self) -> bool:
        """Whether the thread is running."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def paused(self) -> bool:
        """Whether the thread waits until the next turn is requested."""
        return self._resting and not self.token.stopped

    @property
    def busy(self) -> bool:
        """Whether a result or an error is waiting, or may still come."""
        with self._changed:
            return self._has_news or not (self._over or self.token.stopped)

    def poll(self, done: Callable[[T], object], failed: Callable[[Exception], object]) -> bool:
        """Call `done` with a new result, or `failed` with the error, once; return whether more may come."""
        with self._changed:
            news, error = self._news, self.error
            self._news, self.error = [], None
        if error is not None:
            failed(error)
        elif news:
            done(news[0])
        return self.busy

    def wait(self, seconds: float | None = None) -> None:
        """Wait at most this long for a result or the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._has_news or self._over or self.token.stopped, seconds)

    # -- inside -------------------------------------------------------------------------------------------------------

    @property
    def _has_news(self) -> bool:
        return bool(self._news) or self.error is not None

    def _may_go_on(self) -> bool:
        with self._changed:
            while self._turns < 1.0 and not self.token.stopped:
                self._resting = True
                self._changed.wait()
            self._resting = False
            self._turns -= 1.0
            return not self.token.stopped

    def _compute(self) -> None:
        error: Exception | None = None
        try:
            if self._may_go_on():
                with self._places:
                    self._do_work()
        # Any exception is handed over rather than lost in the thread, including SystemExit and the `Stopped` of other
        # work. A stopped job hands over nothing.
        except BaseException as raised:
            error = raised if isinstance(raised, Exception) else RuntimeError(f"{self._name} was ended by {raised!r}")
            if not isinstance(raised, AlrvizError):
                _log.log(self._log_level, "%s raised", self._name, exc_info=True)
        with self._changed:
            self._work = None  # free the objects that it refers to
            if error is not None and not self.token.stopped:
                self.error = error
            self._over = True
            self._changed.notify_all()
        self._on_end()

    def _do_work(self) -> None:
        if self.token.stopped or self._work is None:
            return
        self.waiting = False
        results = self._work(self.token)
        if not isinstance(results, Iterator):
            self._put(results, last=True)
            return
        for result in results:
            self._put(result)
            if not self._may_go_on():
                break

    def _put(self, result: T, last: bool = False) -> None:
        with self._changed:
            if not self.token.stopped:
                self._news, self._over = [result], last
                self._changed.notify_all()


class LatestJob:
    """Jobs of one purpose, of which only the latest counts: each replaces the one before.

    One of them computes at a time. While it is busy with a call that cannot be interrupted, jobs that come replace each
    other: however fast a slider moves, at most one answer is late. Nothing of a job that was replaced is handed over.

    Args:
        title: what is being done, for people: "reading adult.csv".
        places: where a job waits for a free place, such as a semaphore.
    """

    def __init__(self, title: str, places: AbstractContextManager[object] | None = None):
        self.title = title
        self._places = places
        self._latest: Job[Any] = Job(lambda stop: None, title)
        self._latest.stop()  # there is no work yet
        self._computing: Job[Any] | None = None
        self._callbacks: tuple[Callable[[Any], object], Callable[[Exception], object]] | None = None
        self._begun: float | None = None
        self._lock = threading.RLock()

    def run(
        self, work: Work[T], done: Callable[[T], object], failed: Callable[[Exception], object], begin: bool = True
    ) -> None:
        """Start this work in place of the last.

        Args:
            work: as of a `Job`; of results that come between two polls only the newest is handed over.
            done, failed: called by `poll` with each result, and with what the work raised.
            begin: whether it begins now, or when `begin` is called.
        """
        with self._lock:
            self.cancel()
            self._latest = Job(
                work, f"alrviz: {self.title}", places=self._places, ended=self._compute_next, log_level=logging.INFO
            )
            self._callbacks, self._begun = (done, failed), None
        if begin:
            self.begin()

    def begin(self) -> None:
        """Start postponed work, unless it has started or was cancelled."""
        with self._lock:
            if self._begun is None and self.busy:
                self._begun = time.monotonic()
                self._begin_latest()

    def cancel(self) -> None:
        """Cancel the running work: nothing of it is handed over any more."""
        with self._lock:
            self._callbacks = None
            self._latest.stop()

    def poll(self) -> bool:
        """Hand over the newest result, if there is one; return whether there may be more."""
        with self._lock:
            job, callbacks = self._latest, self._callbacks
        if callbacks is not None and not job.poll(*callbacks):
            with self._lock:
                if job is self._latest:
                    self._callbacks = None  # they may refer to a whole page
        return self.busy

    def wait(self, seconds: float | None = None) -> None:
        """Wait at most this long for a result or the end: short work is then shown at once, not at the next tick."""
        self._latest.wait(seconds)

    def finish(self) -> None:
        """Wait for the end of the work, and hand over its last result."""
        while self.poll():
            self.wait()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until no thread computes; return whether none does."""
        job = self._computing
        return job is None or job.join(timeout)

    @property
    def waiting(self) -> bool:
        """Whether the latest job waits for its place in the queue, or for what it needs to start."""
        return self._latest.waiting

    @waiting.setter
    def waiting(self, waits: bool) -> None:
        self._latest.waiting = waits

    @property
    def token(self) -> StopToken:
        """Stop token of the latest work."""
        return self._latest.token

    @property
    def busy(self) -> bool:
        """Whether a result waits to be handed over or may still come."""
        return self._latest.busy

    @property
    def seconds(self) -> float:
        """Seconds since the work started."""
        return 0.0 if self._begun is None else time.monotonic() - self._begun

    @property
    def share(self) -> float | None:
        """Share of the work that is done, from 0 to 1; None while unknown."""
        return self._latest.token.share

    def _begin_latest(self) -> None:
        if self._computing is None and self._begun is not None:
            try:
                self._latest.start()
            except RuntimeError:  # no thread can be started: the next `begin` tries again
                self._begun = None
                raise
            self._computing = self._latest if self._latest.started else None

    def _compute_next(self) -> None:
        """Callback of a thread that ends."""
        with self._lock:
            self._computing = None
            if not self._latest.started:
                self._begin_latest()


def at_rest(results: Iterable[T], stop: StopToken, seconds: float) -> Iterator[T]:
    """Yield the first result at once, later ones after this many seconds without a newer one."""
    for k, result in enumerate(results):
        if k == 1:
            stop.rest(seconds)
        yield result
