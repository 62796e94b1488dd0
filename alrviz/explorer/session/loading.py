"""Work a session waits for, on a thread of its own: reading a table, changing its kinds, pricing it.

The thread only computes. The session asks `poll` from its pump and is handed the result once, on its own thread; after
`cancel` nothing is ever handed over, whether or not the thread has noticed yet.
"""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar

from alrviz.errors import Stopped
from alrviz.stop import StopToken

T = TypeVar("T")
AT_ONCE = 2  # jobs of each kind that compute at a time in the process; the others wait and say so
TABLES = threading.BoundedSemaphore(AT_ONCE)  # making one, changing its kinds
ANY: AbstractContextManager[Any] = nullcontext()  # reading one: in a process, which has a place of its own
PAGES = threading.BoundedSemaphore(AT_ONCE)  # what pages work out of tables: whoever prices long keeps nobody from one


class Loading(Generic[T]):
    """A function of a stop token, run on a thread.

    Args:
        work: what to compute; it asks the token it is given.
        title: what is being done, for people: "reading adult.csv".
        done, failed: called by `poll` with the result, or with the exception; never after `cancel`.
        at_once: whether it begins now, or when `begin` is called.
        places: where it waits for a free place.
    """

    def __init__(
        self,
        work: Callable[[StopToken], T],
        title: str,
        done: Callable[[T], None],
        failed: Callable[[Exception], None],
        at_once: bool = True,
        places: AbstractContextManager[Any] = TABLES,
    ):
        self.title = title
        self.token = StopToken()
        self.waiting = True
        self._work, self._done, self._failed = work, done, failed
        self._outcome: tuple[bool, Any] | None = None
        self._over = False
        self._places = places
        self._begun: float | None = None
        self._thread = threading.Thread(target=self._run, name="alrviz-loading", daemon=True)
        if at_once:
            self.begin()

    def begin(self) -> None:
        """Start the thread, unless it was started or the work cancelled."""
        if self._begun is None and not self._over:
            self._begun = time.monotonic()
            self._thread.start()

    def _run(self) -> None:
        with self._places:
            self.waiting = False
            if self.token.stopped:
                return
            try:
                self._outcome = (True, self._work(self.token))
            except Stopped:
                pass
            except Exception as error:  # whatever a stranger's table provokes is shown, not lost in a thread
                self._outcome = (False, error)

    @property
    def over(self) -> bool:
        """Whether the result was handed over, or the work cancelled."""
        return self._over

    @property
    def seconds(self) -> float:
        """How long it has been under way."""
        return 0.0 if self._begun is None else time.monotonic() - self._begun

    @property
    def share(self) -> float | None:
        """How much of it is done, from 0 to 1; None while the work does not say."""
        return self.token.share

    def cancel(self) -> None:
        """End it now: from here on nothing is handed over."""
        self._over = True
        self.token.stop()

    def poll(self) -> bool:
        """Hand over the outcome if there is one; returns whether the work is still to be waited for."""
        if self._over:
            return False
        if self._outcome is None:
            if self._begun is not None and not self._thread.is_alive() and self._outcome is None:
                self._over = True
            return not self._over
        self._over = True
        succeeded, value = self._outcome
        (self._done if succeeded else self._failed)(value)
        return False

    def join(self, timeout: float | None = None) -> None:
        """Wait for the thread (tests; a session polls)."""
        self._thread.join(timeout)
