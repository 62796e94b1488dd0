"""Checkpoints of a study in the run store: load the results of finished tasks, save new ones."""

import logging
import time
from collections.abc import Callable, Container, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from alrviz import __version__
from alrviz.errors import StoreError, for_page
from alrviz.fitting.store import Store, default_store
from alrviz.fitting.store.store import HEARTBEAT_SECONDS, Damaged
from alrviz.home import home
from alrviz.studies.core.study_task import Result, StudyTask

T = TypeVar("T")
Keep = bool | str | Path | Store | StoreError
_log = logging.getLogger(__name__)


class Checkpoint:
    """Access of one study to the run store; with keep=False every method does nothing.

    After an error of the store nothing is saved until the next `begin`: results matter more than keeping them.

    Args:
        keep: True for the user's run store, a folder or a `Store` for another, False for none; a `StoreError` if the
            store could not be opened and the study is to run without.
        owner, kind, spec, data_hash: together identify the study; one that agrees in all four is resumed.

    Attributes:
        id: the study's id in the store; None until it is found or has begun.
        problem: why finished tasks are not saved, or that saved ones were damaged; "" without a problem.
    """

    def __init__(self, keep: Keep, owner: str, kind: str, spec: str, data_hash: str):
        self.id: str | None = None
        self._unavailable = f"finished tasks are not kept: {for_page(keep)}" if isinstance(keep, StoreError) else ""
        self.problem = self._unavailable
        self._open_store = _open_store(keep)
        self._owner, self._identity = owner, (owner, kind, spec, data_hash)
        self._last_beat = 0.0
        self._failed = False

    def find(self) -> bool:
        """Look the study up in the store; return whether it was ever begun."""
        if self.id is None:
            entry = self._attempt(lambda store: store.find(*self._identity))
            self.id = None if entry is None else entry.id
        return self.id is not None

    def begin(self, name: str, data_name: str, link: str = "") -> None:
        """Record that the study is running; `name` and `data_name` are for people, `link` for the explorer."""
        self.problem, self._failed = self._unavailable, False
        self.find()
        if (study_id := self.id) is not None:
            self._attempt(lambda store: store.resume(study_id, link))
        else:
            details = {"name": name, "data_name": data_name, "version": __version__, "link": link}
            self.id = self._attempt(lambda store: store.begin(*self._identity, **details))

    def load(self, tasks: Sequence[StudyTask], have: Container[int]) -> Iterator[tuple[int, Result]]:
        """Yield (index, result) of the saved tasks; indices in `have`, whose results the study has, are skipped."""
        for index, task in enumerate(tasks):
            if index not in have and (saved := self._load_task(index, task.key)):
                outcome, rows, predicted = saved
                yield index, Result(rows, predicted, outcome)

    def _load_task(self, index: int, key: str) -> Any:
        if (study_id := self.id) is None:
            return None
        try:
            return self._attempt(lambda store: store.take_task(study_id, index, key))
        except Damaged as error:
            self.problem = f"{error}; it is computed again"
            _log.warning("%s", self.problem)
        return None

    def save(self, index: int, task: StudyTask, result: Result) -> None:
        """Save a finished task, unless it failed for a passing reason (see `Result`)."""
        if (study_id := self.id) is not None and not result.is_temporary:
            saved = (task.key, task.recipe, result.outcome, result.rows, result.predicted)
            self._attempt(lambda store: store.save_task(study_id, index, *saved))

    def forget(self, tasks: Sequence[StudyTask]) -> None:
        """Delete the saved results of these tasks, so that they are computed again."""
        self._failed = False  # else the next `begin` would load them
        self._attempt(lambda store: store.forget_tasks(self._owner, [task.key for task in tasks]))

    def beat(self) -> None:
        """Record that the study is still running; cheap enough to be called at any rate."""
        if (study_id := self.id) is not None and time.monotonic() - self._last_beat > HEARTBEAT_SECONDS:
            self._last_beat = time.monotonic()
            self._attempt(lambda store: store.beat(study_id), "a study could not record that it is running")

    def end(self, state: str, sentence: str) -> None:
        """Record how the study ended: its state, and its error or result in words."""
        if (study_id := self.id) is not None:
            self._attempt(lambda store: store.end(study_id, state, sentence), "a study could not record how it ended")

    def _attempt(self, action: Callable[[Store], T], log_only_message: str = "") -> T | None:
        """Return the result of an action on the store; None without a store, or after an error.

        An error is logged, reported in `problem`, and nothing more is saved. With `log_only_message` an error is only
        logged, with this message, and saving goes on.
        """
        if self._open_store is None or (self._failed and not log_only_message):
            return None
        try:
            return action(self._open_store)
        except Damaged:
            raise
        except StoreError as error:
            if not log_only_message:
                self.problem, self._failed = f"finished tasks are not kept: {for_page(error)}", True
            _log.warning("%s: %s", log_only_message or "finished tasks are not kept", error)
        return None


def _open_store(keep: Keep) -> Store | None:
    if isinstance(keep, Store):
        return keep
    if keep is False or isinstance(keep, StoreError):
        return None
    return default_store(home() if keep is True else Path(keep))
