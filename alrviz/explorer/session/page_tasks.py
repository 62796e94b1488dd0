"""A page's background tasks: one of each kind at a time, for the latest request."""

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
        on_done: Callable[[T], None],
        on_failure: Callable[[Exception], None] | None = None,
        on_poll: Callable[[], None] = lambda: None,
    ) -> None:
        """Run `work` on a thread in place of the last task of its kind.

        `poll` calls `on_poll` while the task runs, then `on_done` with its result or `on_failure` with its error.
        """
        self.hide_error(kind)
        self._watchers[kind] = on_poll
        task = self._tasks.setdefault(kind, LatestJob(kind, PAGES))
        task.run(work, on_done, on_failure or partial(self.show_error, kind), begin=False)
        self.session.begin(task)

    def show_error(self, kind: str, error: Exception) -> None:
        """Show an error of this kind of task until the next task of the kind starts."""
        self._errors[kind] = self.session.problem = error

    def hide_error(self, kind: str) -> None:
        """Hide the error of this kind of task, if it is still shown."""
        error = self._errors.pop(kind, None)
        if error is not None and self.session.problem is error:
            self.session.problem = None

    def cancel(self, kind: str) -> None:
        """Cancel the task of this kind, if any, and hide its error."""
        self.hide_error(kind)
        if kind in self._tasks:
            self._tasks[kind].cancel()

    def busy(self, kind: str) -> bool:
        """Return whether a task of this kind is running."""
        return kind in self._tasks and self._tasks[kind].busy

    def poll(self) -> bool:
        """Deliver the results of finished tasks; return whether others are running."""
        running_kinds = [kind for kind, task in list(self._tasks.items()) if task.poll()]
        for kind in running_kinds:
            self._watchers[kind]()
        return bool(running_kinds)

    def close(self) -> None:
        """End all tasks."""
        for kind in list(self._tasks):
            self.cancel(kind)
