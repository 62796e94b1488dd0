"""Save a class to the run store round by round, and restore it after a restart of the server.

A class is a run of the store, and each round is one of its tasks, whose rows are the votes. A thread writes changed
rounds once a second, so a server that is killed loses at most the last second. The process that saves a class holds a
file lock on it until it ends, so that no other process restores the same class.
"""

import json
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from alrviz import __version__
from alrviz.errors import AlrvizError, StoreError, for_page
from alrviz.explorer.lesson import Answer, Option, Question
from alrviz.explorer.server.classes import IDLE_CLASS_SECONDS, Classes, Classroom, Round, Vote
from alrviz.fitting.store import Store, StoredRun
from alrviz.fitting.store.store import HEARTBEAT_SECONDS, INTERRUPTED
from alrviz.job import Job
from alrviz.stop import StopToken

KIND = "class"
TICK_SECONDS = 1.0  # between two searches for changed rounds
_log = logging.getLogger(__name__)


class ClassAutosave:
    """Saves one class on a thread, from the moment that it is made.

    Args:
        open_store: returns the store, or raises StoreError; called on the thread.
        lock: the acquired lock of a class that is in the store already; None for a new class.

    Attributes:
        problem: why the class is not saved; "" while it is.
    """

    def __init__(self, classroom: Classroom, open_store: Callable[[], Store], lock: FileLock | None = None) -> None:
        self.problem = ""
        self._classroom, self._open, self._lock = classroom, open_store, lock
        self._saved_changes: dict[int, int] = (
            {k: class_round.changes for k, class_round in enumerate(classroom.rounds)} if lock else {}
        )
        self._end_requested = threading.Event()
        self._delete = False
        self._job = Job(self._run_autosave, "alrviz-class")
        self._job.start()

    def end(self, delete: bool = False) -> None:
        """Stop saving; the rounds saved so far stay in the store, or are deleted."""
        self._delete = delete
        self._end_requested.set()

    def join(self, timeout: float | None = None) -> bool:
        """Wait for the thread to end; return whether it has."""
        return self._job.join(timeout)

    def _run_autosave(self, stop: StopToken) -> None:
        """Save the class's changes until it ends; then mark what was saved as done, or delete it."""
        room, seconds_since_write = self._classroom, 0.0
        try:
            store = self._open()
            is_last_tick = False
            while not is_last_tick:
                is_last_tick = self._end_requested.wait(TICK_SECONDS) if self._lock else self._end_requested.is_set()
                if not self._lock:
                    self._lock = lock_of(store, room.secret)
                    self._lock.acquire(timeout=2 * TICK_SECONDS)  # an earlier autosave of the class may be ending
                    spec_json = json.dumps({"code": room.code})
                    store.begin(room.owner, KIND, spec_json, "", name=room.code, version=__version__, id=room.secret)
                seconds_since_write = 0.0 if self._save(store) else seconds_since_write + TICK_SECONDS
                if seconds_since_write >= HEARTBEAT_SECONDS:
                    store.beat(room.secret)
                    seconds_since_write = 0.0
            if self._delete:
                store.delete(None, room.secret)
            else:
                store.end(room.secret, "done", f"{len(room.rounds)} questions, {len(room.students)} students")
        except OSError as error:  # also a StoreError
            self.problem = for_page(error) if isinstance(error, StoreError) else type(error).__name__
            _log.warning("a class is not saved any more: %s", error)
        finally:
            if self._lock:
                _release(self._lock)

    def _save(self, store: Store) -> bool:
        """Save the rounds that have changed; return whether there were any."""
        room = self._classroom
        rounds = list(enumerate(room.rounds))
        changed_rounds = [(k, item) for k, item in rounds if self._saved_changes.get(k) != item.changes]
        for round_index, class_round in changed_rounds:
            n_changes = class_round.changes
            question = json.dumps(asdict(class_round.question))
            state = "open" if class_round.open else "closed"
            store.save_task(
                room.secret, round_index, f"{room.secret}:{round_index}", question, state,
                vote_rows(room, class_round), b"",
            )  # fmt: skip
            self._saved_changes[round_index] = n_changes
        return bool(changed_rounds)


def lock_of(store: Store, id: str) -> FileLock:
    """Return the file lock of a class; acquiring it raises `Timeout` if another process holds it."""
    return FileLock(store.database.path.with_suffix(f".class.{id}"), timeout=0, mode=0o600, thread_local=False)


def _release(lock: FileLock) -> None:
    with suppress(OSError):
        Path(lock.lock_file).unlink()
    lock.release()


def vote_rows(classroom: Classroom, class_round: Round) -> list[dict[str, Any]]:
    """Return a round's votes as rows of the store."""
    return [
        {"id": student, "student": classroom.students[student], **asdict(vote)}
        for student, vote in list(class_round.votes.items())
    ]


def read_class(store: Store, stored_run: StoredRun, owner: str) -> Classroom:
    """Return the class of a stored run. owner: the teacher's id."""
    room = Classroom(owner, stored_run.id, json.loads(stored_run.spec)["code"])
    for question_text, state, rows in store.tasks(stored_run.id):
        class_round = Round(_question(json.loads(question_text)), state == "open")
        for row in rows:
            room.students[row["id"]] = row["student"]
            room.readers.add(row["id"])  # readers are not stored; without this a full class would remove voters
            answer = row["answer"]
            answer = tuple(answer) if isinstance(answer, list) else answer
            class_round.votes[row["id"]] = Vote(answer, row["note"], row["at"])
        room.rounds.append(class_round)
    room.version = 1
    return room


def _question(fields: dict[str, Any]) -> Question:
    options = tuple(Option(**option) for option in fields.pop("options"))
    answer = fields.pop("answer")
    if answer is not None:
        answer = Answer(answer["measure"], tuple(answer["of"]))
    return Question(options=options, answer=answer, **fields)


def restore(classes: Classes, open_store: Callable[[], Store]) -> None:
    """Open the saved classes that had not ended when the server stopped.

    Skipped are classes that another process holds, idle ones, and those whose teacher has opened another class.
    """
    try:
        store = open_store()
    except StoreError:  # logged when the store is opened; the server works without it
        return
    for stored_run, owner in store.unfinished_runs(KIND):
        lock = lock_of(store, stored_run.id)
        try:
            lock.acquire()
        except Timeout:
            continue
        if time.time() - stored_run.changed > IDLE_CLASS_SECONDS or classes.owner_has_class(owner):
            store.end(stored_run.id, INTERRUPTED)
            _release(lock)
            continue
        try:
            room = read_class(store, stored_run, owner)
            classes.add(room)
        except (AlrvizError, LookupError, TypeError, ValueError):  # a broken class must not stop the server's start
            _log.exception("a class of the run store could not be read")
            _release(lock)
            continue
        store.resume(stored_run.id)
        room.keeper = ClassAutosave(room, open_store, lock)
