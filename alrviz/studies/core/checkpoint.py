"""A study's place in the run store, or nowhere: what is found there, and what is saved as it comes."""

import logging
import time
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alrviz import __version__
from alrviz.errors import StoreError, for_page
from alrviz.fitting.store import Store, default_store
from alrviz.fitting.store.store import HEARTBEAT_SECONDS, Damaged
from alrviz.home import home
from alrviz.studies.core.study_task import Result, StudyTask

Keep = bool | str | Path | Store | StoreError
_log = logging.getLogger(__name__)


class Checkpoint:
    """The store's side of one study; every method does nothing where nothing is kept.

    A store that refuses anything is asked no more until the next `begin`: what is computed is worth more than keeping
    it.

    Args:
        keep: True for the user's run store, a folder or a `Store` for another, False for none; the error of a store
            that could not be opened, where the study is to go on without.
        owner, kind, spec, data_hash: together the study: what is the same in all four goes on where it was.

    Attributes:
        id: of the study in the store; None until it is found or has begun.
        problem: why finished tasks are not kept, or that kept ones were damaged; "" without a problem.
    """

    def __init__(self, keep: Keep, owner: str, kind: str, spec: str, data_hash: str):
        self.id: str | None = None
        self._unavailable = f"finished tasks are not kept: {for_page(keep)}" if isinstance(keep, StoreError) else ""
        self.problem = self._unavailable
        self._store = _store(keep)
        self._owner, self._about = owner, (owner, kind, spec, data_hash)
        self._beaten = 0.0
        self._refused = False

    def find(self) -> bool:
        """Find the study; returns whether it was ever begun."""
        if self.id is None and self._store is not None and not self._refused:
            with self._stop_keeping_on_error():
                found = self._store.find(*self._about)
                self.id = None if found is None else found.id
        return self.id is not None

    def begin(self, name: str, data_name: str, link: str = "") -> None:
        """Note that it is under way; `name` and `data_name` are for people, `link` for the explorer."""
        self.problem, self._refused = self._unavailable, False
        if self._store is None:
            return
        if self.find() and self.id is not None:
            with self._stop_keeping_on_error():
                self._store.resume(self.id, link)
        elif not self._refused:
            about = {"name": name, "data_name": data_name, "version": __version__, "link": link}
            with self._stop_keeping_on_error():
                self.id = self._store.begin(*self._about, **about)

    def taken(self, tasks: Sequence[StudyTask], have: Container[int]) -> Iterator[tuple[int, Result]]:
        """Yield (place, result) of the tasks that are kept, those of `have` left out."""
        if self._store is None or self.id is None:
            return
        for place, task in enumerate(tasks):
            if self._refused:
                return
            if place not in have and (found := self._take(place, task.key)):
                outcome, rows, predicted = found
                yield place, Result(rows, predicted, outcome)

    def _take(self, place: int, key: str) -> Any:
        assert self._store is not None and self.id is not None
        try:
            with self._stop_keeping_on_error():
                return self._store.take_task(self.id, place, key)
        except Damaged as error:
            self.problem = f"{error}; it is computed again"
            _log.warning("%s", self.problem)
        return None

    def save(self, place: int, task: StudyTask, result: Result) -> None:
        """Keep a task that has finished, unless it failed for a reason of the moment."""
        if self._store is None or self.id is None or self._refused or result.passing:
            return
        with self._stop_keeping_on_error():
            self._store.save_task(self.id, place, task.key, task.recipe, result.outcome, result.rows, result.predicted)

    def forget(self, tasks: Sequence[StudyTask]) -> None:
        """Delete tasks, to be computed again."""
        if self._store is not None:
            with self._stop_keeping_on_error():
                self._store.forget_tasks(self._owner, [task.key for task in tasks])

    def beat(self) -> None:
        """Say that it is under way still; may be called as often as one likes."""
        if self._store is not None and self.id is not None and time.monotonic() - self._beaten > HEARTBEAT_SECONDS:
            self._beaten = time.monotonic()
            try:
                self._store.beat(self.id)
            except StoreError as error:
                _log.warning("a study could not say that it is under way: %s", error)

    def end(self, state: str, sentence: str) -> None:
        """Note how it has ended."""
        if self._store is not None and self.id is not None:
            try:
                self._store.end(self.id, state, sentence)
            except StoreError as error:
                _log.warning("a study could not say how it ended: %s", error)

    @contextmanager
    def _stop_keeping_on_error(self) -> Iterator[None]:
        """Keep no more where the store refuses what is done in the block, and say why."""
        try:
            yield
        except Damaged:
            raise
        except StoreError as error:
            self.problem, self._refused = f"finished tasks are not kept: {for_page(error)}", True
            _log.warning("finished tasks are not kept: %s", error)


def _store(keep: Keep) -> Store | None:
    if isinstance(keep, Store):
        return keep
    if keep is False or isinstance(keep, StoreError):
        return None
    return default_store(home() if keep is True else Path(keep))
