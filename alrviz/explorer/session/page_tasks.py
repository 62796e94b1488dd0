"""A page's work on threads: one task of each kind at a time, the latest request."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from alrviz.explorer.server.limits import PAGES
from alrviz.explorer.session.session import Session
from alrviz.job import LatestJob
from alrviz.stop import StopToken

T = TypeVar("T")


class PageTasks:
    """What a page waits for; its `pump` polls, its `close` closes.

    Args:
        session: told of errors that nobody else takes, and woken when something begins.
    """

    def __init__(self, session: Session):
        self.session = session
        self._tasks: dict[str, LatestJob] = {}
        self._lookers: dict[str, Callable[[], None]] = {}
        self._told: dict[str, Exception] = {}  # the last problem of each kind of work

    def start(
        self,
        kind: str,
        work: Callable[[StopToken], T],
        done: Callable[[T], None],
        failed: Callable[[Exception], None] | None = None,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        """Run `work` on a thread in place of the last of its kind; `done` or `failed` is called by `poll`, and `look`
        by every poll until then.
        """
        self.withdraw(kind)
        self._lookers[kind] = look
        task = self._tasks.setdefault(kind, LatestJob(kind, PAGES))
        task.run(work, done, failed or partial(self.failed, kind), begin=False)
        self.session.begin(task)

    def failed(self, kind: str, error: Exception) -> None:
        """Tell the visitor what went wrong with this kind of work, until it is begun anew."""
        self._told[kind] = self.session.problem = error

    def withdraw(self, kind: str) -> None:
        """Take back what was told of this kind of work, if it is still said: its cause is gone."""
        told = self._told.pop(kind, None)
        if told is not None and self.session.problem is told:
            self.session.problem = None

    def cancel(self, kind: str) -> None:
        """End the work of this kind, if there is any: nothing is handed over, and nothing more is said of the last."""
        self.withdraw(kind)
        if kind in self._tasks:
            self._tasks[kind].cancel()

    def busy(self, kind: str) -> bool:
        """Whether work of this kind is waited for."""
        return kind in self._tasks and self._tasks[kind].busy

    def poll(self) -> bool:
        """Hand over what has finished; returns whether there is more to wait for."""
        waiting = [kind for kind, task in list(self._tasks.items()) if task.poll()]
        for kind in waiting:
            self._lookers[kind]()
        return bool(waiting)

    def close(self) -> None:
        """End all of it."""
        for kind in list(self._tasks):
            self.cancel(kind)
