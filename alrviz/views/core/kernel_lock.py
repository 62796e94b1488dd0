"""Who may change what a notebook shows: one thread at a time, and what it has changed is sent when its turn ends.

JupyterLab has what a button sends handled on threads of their own (subshells of the kernel; ipykernel 7) while a cell
runs on the main thread and pumps look on theirs. Figures half written by the one when the other reads them cannot be
read by a page. On a served page everything has one thread: there a turn is nothing.
"""

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_log = logging.getLogger(__name__)
TURN = threading.RLock()
_depth = 0  # of turns within turns; whoever holds TURN may change it
_ends: list[Callable[[], None]] = []


def in_kernel() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def when_turns_end(done: Callable[[], None]) -> None:
    """Have `done` called at the end of every turn from now on."""
    if done not in _ends:
        _ends.append(done)


@contextmanager
def turn() -> Iterator[None]:
    """Change what a notebook shows while nobody else does."""
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
                for done in _ends if _depth == 1 else ():
                    _ended(done)
            finally:
                _depth -= 1


def _ended(done: Callable[[], None]) -> None:
    """Call what is to happen when a turn ends; a page that cannot be reached must not hold up the others."""
    try:
        done()
    except Exception:
        _log.exception("what a turn has changed could not be sent")
