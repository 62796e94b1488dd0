"""Work off the event loop of which only the latest matters: pages and views compute by this and nothing else.

A task has one thread at a time. While it is busy with a call that cannot be interrupted, works that come replace each
other, so that however fast a slider moves, at most one answer is late. Results are handed over by `poll`, on the thread
that asks; of work that was cancelled or replaced nothing ever is, whether or not its thread has noticed yet.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from alrviz.errors import AlrvizError
from alrviz.stop import StopToken

_log = logging.getLogger(__name__)
T = TypeVar("T")


HandOver = Callable[[], None]


@dataclass(frozen=True, eq=False)
class _Work:
    """What is computed: what hands over each result, and what hears of an error."""

    results: Callable[[StopToken], Iterable[HandOver]]
    failed: Callable[[Exception], None]
    single: bool  # whether the first result is the last
    token: StopToken


class BackgroundTask:
    """A thread that computes while there is work.

    Args:
        title: what is being done, for people: "reading adult.csv".
        places: where work waits for a free place, such as a semaphore.

    Attributes:
        token: what the latest work was given.
        waiting: whether it waits for its place.
    """

    def __init__(self, title: str, places: AbstractContextManager[object] | None = None):
        self.title = title
        self.waiting = True
        self._places = places if places is not None else nullcontext()
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self.token = StopToken()
        self._next: _Work | None = None
        self._found: HandOver | None = None  # the newest result
        self._over = True  # whether nothing more comes of the latest work
        self._begun: float | None = None
        self._thread: threading.Thread | None = None

    def run(
        self,
        work: Callable[[StopToken], T],
        done: Callable[[T], None],
        failed: Callable[[Exception], None],
        begin: bool = True,
    ) -> None:
        """Take up this work in place of the last: `done` is called with its result, or `failed` with what it raised.

        begin: whether it begins now, or when `begin` is called.
        """
        self._put(lambda stop: (partial(done, work(stop)),), failed, single=True)
        if begin:
            self.begin()

    def stream(
        self,
        work: Callable[[StopToken], Iterable[T]],
        done: Callable[[T], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """The same for work with results on the way; of those that come between two polls only the newest is told."""
        self._put(lambda stop: (partial(done, found) for found in work(stop)), failed, single=False)
        self.begin()

    def _put(
        self,
        results: Callable[[StopToken], Iterable[HandOver]],
        failed: Callable[[Exception], None],
        single: bool,
    ) -> None:
        with self._lock:
            self.token.stop()
            self.token = StopToken()
            self._next, self._found = _Work(results, failed, single, self.token), None
            self._over, self._begun, self.waiting = False, None, True

    def begin(self) -> None:
        """Begin what was put off, unless it has begun or was cancelled."""
        with self._lock:
            if self._over or self._begun is not None:
                return
            if self._thread is None:
                thread = threading.Thread(target=self._compute, name=f"alrviz: {self.title}", daemon=True)
                thread.start()  # it waits for the lock; where no thread can be had, the next one is not thought to run
                self._thread = thread
            self._begun = time.monotonic()

    def cancel(self) -> None:
        """Give up what is under way: from here on nothing of it is handed over."""
        with self._lock:
            self.token.stop()
            self._next = self._found = None
            self._over = True
            self._changed.notify_all()

    def poll(self) -> bool:
        """Hand over the newest result, if there is one; returns whether there may be more."""
        with self._lock:
            hand_over, self._found = self._found, None
        if hand_over is not None:
            hand_over()
        return self.busy

    def wait(self, seconds: float | None = None) -> None:
        """Wait for a result or the end, but no longer than this: for what takes less than a look later would."""
        with self._changed:
            self._changed.wait_for(lambda: self._found is not None or self._over, seconds)

    def finish(self) -> None:
        """Wait for the end of the work, and hand over its last result."""
        while self.poll():
            self.wait()

    @property
    def busy(self) -> bool:
        """Whether a result waits to be handed over or may still come."""
        with self._lock:
            return self._found is not None or not self._over

    @property
    def seconds(self) -> float:
        """How long the work has been under way."""
        return 0.0 if self._begun is None else time.monotonic() - self._begun

    @property
    def share(self) -> float | None:
        """How much of it is done, from 0 to 1; None while the work does not say."""
        return self.token.share

    def _due(self) -> _Work | None:
        """What has begun and no thread has taken up yet."""
        return None if self._begun is None else self._next

    def _compute(self) -> None:
        while True:
            with self._lock:
                if self._due() is None:
                    self._thread = None
                    return
            with self._places:
                with self._lock:
                    work = self._due()  # None where it was cancelled meanwhile, or replaced by what is put off
                    if work is not None:
                        self._next, self.waiting = None, False
                if work is not None:
                    self._compute_one(work)

    def _compute_one(self, work: _Work) -> None:
        try:
            for found in work.results(work.token):
                self._keep(work, found, over=work.single)
                if work.token.stopped:
                    break
        # Whatever a stranger's table or model provokes is told, not lost in a thread, which goes on; that includes an
        # exit, and a `Stopped` that is not this work's own: of what was stopped nothing is kept anyway.
        except BaseException as error:
            if not isinstance(error, AlrvizError):
                _log.info("%s raised", self.title, exc_info=True)
            told = error if isinstance(error, Exception) else RuntimeError(f"{self.title} was ended by {error!r}")
            self._keep(work, partial(work.failed, told), over=True)
        self._keep(work, None, over=True)

    def _keep(self, work: _Work, found: HandOver | None, over: bool) -> None:
        with self._changed:
            if not work.token.stopped:
                self._found = found or self._found
                self._over = over
                self._changed.notify_all()


def at_rest(found: Iterable[T], stop: StopToken, seconds: float) -> Iterator[T]:
    """Yield the first result at once, the others when nothing else was asked for so many seconds."""
    for k, result in enumerate(found):
        if k == 1:
            stop.rest(seconds)
        yield result
