"""The process's pool of threads, and how work is split over it.

Kernels release the interpreter's lock, so plain threads run them in parallel. Work is split into parts whose results do
not depend on the thread; the number of threads changes the time and nothing else.

The pool is a queue with waiting threads, because a ThreadPoolExecutor takes 30 to 70 us more per pass (two threads,
parts of 80 us: 221 against 152 us for two parts, 798 against 477 for eight): a fifth of a step on small tables. Nor
does
a caller wait for a thread that has not begun: it does the remaining parts itself.
"""

import os
import threading
from collections.abc import Callable
from numbers import Integral
from queue import SimpleQueue

from alrviz.errors import RecipeError

_lock = threading.Lock()
_pool: "SimpleQueue[Callable[[], None]] | None" = None
_pool_process = 0


def available_threads() -> int:
    """Return how many threads this process may run at once."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # not offered by every system
        return max(1, os.cpu_count() or 1)


def resolve_jobs(n_jobs: object) -> int:
    """Return the number of threads that `n_jobs` asks for: None or -1 for all, -2 for all but one, k for at most k.

    Raises:
        RecipeError: n_jobs is no whole number, or 0.
    """
    if n_jobs is None:
        return available_threads()
    number = 0 if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) else int(n_jobs)
    if number == 0:
        raise RecipeError(f"n_jobs={n_jobs!r} does not fit; expected a whole number of threads, or None or -1 for all")
    return min(number, available_threads()) if number > 0 else max(1, available_threads() + 1 + number)


def _queue() -> "SimpleQueue[Callable[[], None]]":
    """Return the queue at which the pool's threads wait."""
    global _pool, _pool_process
    with _lock:
        if _pool is None or _pool_process != os.getpid():  # a forked child inherits the object, not its threads
            _pool = SimpleQueue()
            _pool_process = os.getpid()
            for k in range(available_threads()):
                threading.Thread(target=_serve, args=(_pool,), name=f"alrviz-pass-{k}", daemon=True).start()
        return _pool


def _serve(queue: "SimpleQueue[Callable[[], None]]") -> None:
    while True:
        queue.get()()


class _SharedWork:
    """The parts of one piece of work, which threads take one after another."""

    def __init__(self, work: Callable[[int], None], n_parts: int):
        self.error: BaseException | None = None
        self._work = work
        self._remaining = iter(range(n_parts))
        self._lock = threading.Lock()
        self._n_running = 0
        self._all_done: threading.Lock | None = None

    def drain(self) -> None:
        """Do parts until none is left, or one has raised an error."""
        while (part := self._next_part()) is not None:
            try:
                self._work(part)
            except BaseException as error:
                self._fail(error)
            finally:
                self._finish_part()

    def wait(self) -> None:
        """Return when the parts that other threads took have ended; no part may be left to take."""
        with self._lock:
            if not self._n_running:
                return
            self._all_done = all_done = threading.Lock()
            all_done.acquire()
        all_done.acquire()

    def release(self) -> None:
        """Drop the reference to the work once all parts are done.

        Its arrays are then freed even while a late thread still has this object in its queue.
        """
        self._work = lambda part: None

    def _next_part(self) -> int | None:
        """Return the next part to do; None if none is left."""
        with self._lock:
            part = next(self._remaining, None)
            self._n_running += part is not None
            return part

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self.error = self.error or error
            self._remaining = iter(range(0))

    def _finish_part(self) -> None:
        """Note that a part has ended; the last one wakes the waiting thread."""
        with self._lock:
            self._n_running -= 1
            if self._all_done is not None and not self._n_running:
                self._all_done.release()


def run_parts(work: Callable[[int], None], n_parts: int, n_jobs: int) -> None:
    """Call work(0) ... work(n_parts - 1) on up to `n_jobs` threads, and return when all have ended.

    The calling thread takes part. After an exception no further part is begun; it is raised once the running parts have
    ended.
    """
    if n_jobs <= 1 or n_parts <= 1:
        for part in range(n_parts):
            work(part)
        return
    shared_work, queue = _SharedWork(work, n_parts), _queue()
    for _ in range(min(n_jobs, n_parts) - 1):
        queue.put(shared_work.drain)
    shared_work.drain()
    shared_work.wait()
    shared_work.release()
    if shared_work.error is not None:
        raise shared_work.error
