"""A page's work on threads: of each kind one task at a time, for the latest request."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

from alrviz.explorer.server.limits import PAGES
from alrviz.explorer.session.session import Session
from alrviz.job import LatestJob
from alrviz.stop import StopToken

T = TypeVar("T")


class PageTasks:
    """The tasks of a page; its `pump` calls `poll`, its `close` calls `close`.

    Args:
        session: shows errors that no caller handles, and is woken when a task begins.
    """

    def __init__(self, session: Session):
        self.session = session
        self._tasks: dict[str, LatestJob] = {}
        self._watchers: dict[str, Callable[[], None]] = {}
        self._errors: dict[str, Exception] = {}  # the last error of each kind

    def start(
        self,
        kind: str,
        work: Callable[[StopToken], T],
        done: Callable[[T], None],
        failed: Callable[[Exception], None] | None = None,
        look: Callable[[], None] = lambda: None,
    ) -> None:
        """Run `work` on a thread in place of the last task of its kind; `poll` calls `done` or `failed` at its end, and
        `look` until then.
        """
        self.withdraw(kind)
        self._watchers[kind] = look
        task = self._tasks.setdefault(kind, LatestJob(kind, PAGES))
        task.run(work, done, failed or partial(self.failed, kind), begin=False)
        self.session.begin(task)

    def failed(self, kind: str, error: Exception) -> None:
        """Show the error of this kind of work until it begins anew."""
        self._errors[kind] = self.session.problem = error

    def withdraw(self, kind: str) -> None:
        """Hide the error of this kind of work, if it is still shown: its cause is gone."""
        error = self._errors.pop(kind, None)
        if error is not None and self.session.problem is error:
            self.session.problem = None

    def cancel(self, kind: str) -> None:
        """End the work of this kind, if there is any, without a result, and hide its error."""
        self.withdraw(kind)
        if kind in self._tasks:
            self._tasks[kind].cancel()

    def busy(self, kind: str) -> bool:
        """Whether work of this kind is under way."""
        return kind in self._tasks and self._tasks[kind].busy

    def poll(self) -> bool:
        """Hand over the results of finished tasks; return whether others are under way."""
        running = [kind for kind, task in list(self._tasks.items()) if task.poll()]
        for kind in running:
            self._watchers[kind]()
        return bool(running)

    def close(self) -> None:
        """End all tasks."""
        for kind in list(self._tasks):
            self.cancel(kind)
