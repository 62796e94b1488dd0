"""One pool of threads for the process, and how work is shared out over it.

Kernels release the interpreter's lock, so plain threads run them side by side. Work is cut into parts whose results do
not depend on who computes them; the number of threads changes the time and nothing else.

The pool is a queue and threads that wait at it, for a ThreadPoolExecutor takes 30 to 70 us more a pass (two threads,
parts of 80 us: 221 against 152 us for two parts, 798 against 477 for eight): a fifth of a step on small tables. Nor
does a caller wait for a thread that has not begun: what is left it does by itself.
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
    """Return how many threads this process may run on at once."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # not offered by every system
        return max(1, os.cpu_count() or 1)


def resolve_jobs(n_jobs: object) -> int:
    """Return the number of threads that `n_jobs` asks for: None or -1 all, -2 all but one, k at most k; else
    `RecipeError`.
    """
    if n_jobs is None:
        return available_threads()
    wanted = 0 if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) else int(n_jobs)
    if wanted == 0:
        raise RecipeError(f"n_jobs={n_jobs!r} does not fit; expected a whole number of threads, or None or -1 for all")
    return min(wanted, available_threads()) if wanted > 0 else max(1, available_threads() + 1 + wanted)


def _queue() -> "SimpleQueue[Callable[[], None]]":
    """The queue at which the pool's threads wait."""
    global _pool, _pool_process
    with _lock:
        if _pool is None or _pool_process != os.getpid():  # a forked child inherits the object, not its threads
            _pool = SimpleQueue()
            _pool_process = os.getpid()
            for k in range(available_threads()):
                threading.Thread(target=_serve, args=(_pool,), name=f"alrviz-pass-{k}", daemon=True).start()
        return _pool


def _serve(waiting: "SimpleQueue[Callable[[], None]]") -> None:
    while True:
        waiting.get()()


class _Shared:
    """The parts of one piece of work, which threads take one after another."""

    def __init__(self, work: Callable[[int], None], parts: int):
        self.error: BaseException | None = None
        self._work = work
        self._left = iter(range(parts))
        self._lock = threading.Lock()
        self._running = 0
        self._ended: threading.Lock | None = None

    def drain(self) -> None:
        """Do parts until none is left; after an error none is."""
        while (part := self._take()) is not None:
            try:
                self._work(part)
            except BaseException as error:
                self._fail(error)
            finally:
                self._give_back()

    def wait(self) -> None:
        """Return once the parts that others took have ended; none may be left."""
        with self._lock:
            if not self._running:
                return
            self._ended = ended = threading.Lock()
            ended.acquire()
        ended.acquire()

    def let_go(self) -> None:
        """Hold the work no longer; no part may be left. A thread that is late still has this to come to in its queue,
        and with the work the arrays it is done on: they would be free only then, and their room be taken anew.
        """
        self._work = lambda part: None

    def _take(self) -> int | None:
        with self._lock:
            part = next(self._left, None)
            self._running += part is not None
            return part

    def _fail(self, error: BaseException) -> None:
        with self._lock:
            self.error = self.error or error
            self._left = iter(range(0))

    def _give_back(self) -> None:
        with self._lock:
            self._running -= 1
            if self._ended is not None and not self._running:
                self._ended.release()


def share(work: Callable[[int], None], parts: int, n_jobs: int) -> None:
    """Call work(0) ... work(parts - 1), on up to `n_jobs` threads, and return when all have ended.

    The calling thread takes part. After an exception no part is begun; the first is raised once those begun have ended.
    """
    if n_jobs <= 1 or parts <= 1:
        for part in range(parts):
            work(part)
        return
    shared, waiting = _Shared(work, parts), _queue()
    for _ in range(min(n_jobs, parts) - 1):
        waiting.put(shared.drain)
    shared.drain()
    shared.wait()
    shared.let_go()
    if shared.error is not None:
        raise shared.error
