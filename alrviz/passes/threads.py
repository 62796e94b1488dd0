"""One pool of threads for the process, and how work is shared out over it.

Kernels release the interpreter's lock, so plain threads run them side by side. Work is cut into parts whose results do
not depend on who computes them; the number of threads changes the time and nothing else.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from numbers import Integral

from alrviz.errors import RecipeError

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None
_pool_process = 0


def available_threads() -> int:
    """Return how many threads this process may run on at once."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # not offered by every system
        return max(1, os.cpu_count() or 1)


def resolve_jobs(n_jobs: object) -> int:
    """Return the number of threads that `n_jobs` asks for: None or -1 all, -2 all but one, k at most k."""
    if n_jobs is None:
        return available_threads()
    wanted = 0 if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) else int(n_jobs)
    if wanted == 0:
        raise RecipeError(f"n_jobs={n_jobs!r} does not fit; expected a whole number of threads, or None or -1 for all")
    return min(wanted, available_threads()) if wanted > 0 else max(1, available_threads() + 1 + wanted)


def _executor() -> ThreadPoolExecutor:
    global _pool, _pool_process
    with _lock:
        if _pool is None or _pool_process != os.getpid():  # a forked child inherits the object, not its threads
            _pool = ThreadPoolExecutor(available_threads(), thread_name_prefix="alrviz-pass")
            _pool_process = os.getpid()
        return _pool


def share(work: Callable[[int], None], parts: int, n_jobs: int) -> None:
    """Call work(0) ... work(parts - 1), on up to `n_jobs` threads, and return when all have ended.

    The calling thread takes part. The first exception is raised once every part has ended.
    """
    if n_jobs <= 1 or parts <= 1:
        for part in range(parts):
            work(part)
        return
    parts_left = iter(range(parts))
    take = threading.Lock()

    def drain() -> None:
        while True:
            with take:
                part = next(parts_left, None)
            if part is None:
                return
            work(part)

    others = [_executor().submit(drain) for _ in range(min(n_jobs, parts) - 1)]
    try:
        drain()
    finally:
        wait(others)
    for other in others:
        other.result()
