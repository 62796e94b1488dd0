"""Lock under which threads of a notebook's kernel change views; the changes are sent when the lock is released.

JupyterLab handles a button's message on a thread of its own (a subshell of the kernel; ipykernel 7) while a cell runs
on the main thread and pumps run on theirs. A figure that one thread reads while another writes it reaches the page
inconsistent. A served page has a single thread, so `turn` does nothing there.
"""

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_log = logging.getLogger(__name__)
TURN = threading.RLock()
_depth = 0  # number of nested turns; changed only by the thread that holds TURN
_callbacks: list[Callable[[], None]] = []


def in_kernel() -> bool:
    """Whether this process is a notebook's kernel."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def call_after_turns(callback: Callable[[], None]) -> None:
    """Register a callback for the end of every outermost turn."""
    if callback not in _callbacks:
        _callbacks.append(callback)


@contextmanager
def turn() -> Iterator[None]:
    """Hold the lock; in a notebook every change of a view is made inside such a turn."""
    global _depth
    if not in_kernel():
        yield
        return
    with TURN:
        _depth += 1
        try:
            yield
        finally:
            try:
                for callback in _callbacks if _depth == 1 else ():
                    _run_callback(callback)
            finally:
                _depth -= 1


def _run_callback(callback: Callable[[], None]) -> None:
    """Call `callback` and log its errors, so that one unreachable page does not keep changes from the others."""
    try:
        callback()
    except Exception:
        _log.exception("the changes of a turn could not be sent")
