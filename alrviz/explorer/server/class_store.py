"""Save a class to the run store round by round, and restore it after a restart of the server.

A class is a run of the store and each round one of its tasks, whose rows are the votes. A thread writes once a second
what has changed; a server that is killed leaves all but the last second. Who keeps a class has a lock on it, which
ends with the process: no other takes a class in that is held.
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
TICK_SECONDS = 1.0  # seconds between two looks
_log = logging.getLogger(__name__)


class ClassAutosave:
    """Keeps one class; made when its teacher asks for it.

    Args:
        open_store: returns the store, or raises StoreError; called on the thread.
        lock: of a class that the store has already, held; without one it begins there.

    Attributes:
        problem: why it is not kept; "".
    """

    def __init__(self, classroom: Classroom, open_store: Callable[[], Store], lock: FileLock | None = None) -> None:
        self.problem = ""
        self._class, self._open, self._held = classroom, open_store, lock
        self._saved: dict[int, int] = {k: one.changes for k, one in enumerate(classroom.rounds)} if lock else {}
        self._over = threading.Event()
        self._delete = False
        self._job = Job(self._keep, "alrviz-class")
        self._job.start()

    def end(self, delete: bool = False) -> None:
        """Keep no more: what is kept stays, or goes too."""
        self._delete = delete
        self._over.set()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until it is at its end; returns whether it is."""
        return self._job.join(timeout)

    def _keep(self, stop: StopToken) -> None:
        room, waited = self._class, 0.0
        try:
            store = self._open()
            over = False
            while not over:
                over = self._over.wait(TICK_SECONDS) if self._held else self._over.is_set()
                if not self._held:
                    self._held = lock_of(store, room.secret)
                    self._held.acquire(timeout=2 * TICK_SECONDS)  # of a keeper that is at its end
                    about = json.dumps({"code": room.code})
                    store.begin(room.owner, KIND, about, "", name=room.code, version=__version__, id=room.secret)
                waited = 0.0 if self._save(store) else waited + TICK_SECONDS
                if waited >= HEARTBEAT_SECONDS:
                    store.beat(room.secret)
                    waited = 0.0
            if self._delete:
                store.delete(None, room.secret)
            else:
                store.end(room.secret, "done", f"{len(room.rounds)} questions, {len(room.students)} students")
        except OSError as error:  # also a StoreError
            self.problem = for_page(error) if isinstance(error, StoreError) else type(error).__name__
            _log.warning("a class is kept no more: %s", error)
        finally:
            if self._held:
                _let_go(self._held)

    def _save(self, store: Store) -> bool:
        """Write the rounds that have changed; returns whether there were any."""
        room = self._class
        changed = [(k, one) for k, one in enumerate(room.rounds) if self._saved.get(k) != one.changes]
        for place, one in changed:
            changes = one.changes
            asked = json.dumps(asdict(one.question))
            state = "open" if one.open else "closed"
            store.save_task(room.secret, place, f"{room.secret}:{place}", asked, state, rows_of(room, one), b"")
            self._saved[place] = changes
        return bool(changed)


def lock_of(store: Store, id: str) -> FileLock:
    """Return the lock on a class, which one process has at a time; `Timeout` where another has it."""
    return FileLock(store.database.path.with_suffix(f".class.{id}"), timeout=0, mode=0o600, thread_local=False)


def _let_go(lock: FileLock) -> None:
    with suppress(OSError):
        Path(lock.lock_file).unlink()
    lock.release()


def rows_of(classroom: Classroom, one: Round) -> list[dict[str, Any]]:
    """Return a round's votes as the store has them."""
    return [
        {"id": student, "student": classroom.students[student], **asdict(vote)}
        for student, vote in list(one.votes.items())
    ]


def read_class(store: Store, kept: StoredRun, owner: str) -> Classroom:
    """Return a class as it is kept."""
    room = Classroom(owner, kept.id, json.loads(kept.spec)["code"])
    for asked, state, rows in store.tasks(kept.id):
        one = Round(_question(json.loads(asked)), state == "open")
        for row in rows:
            room.students[row["id"]] = row["student"]
            room.readers.add(row["id"])  # not known any more: nobody who has voted is to make room
            answer = row["answer"]
            one.votes[row["id"]] = Vote(tuple(answer) if isinstance(answer, list) else answer, row["note"], row["at"])
        room.rounds.append(one)
    room.version = 1
    return room


def _question(asked: dict[str, Any]) -> Question:
    options = tuple(Option(**option) for option in asked.pop("options"))
    answer = asked.pop("answer")
    if answer is not None:
        answer = Answer(answer["measure"], tuple(answer["of"]))
    return Question(options=options, answer=answer, **asked)


def restore(classes: Classes, open_store: Callable[[], Store]) -> None:
    """Take in the classes that were held when the server ended: a saved class goes on.

    Not one that another process holds; and one whose teacher has opened another meanwhile stays as it is kept.
    """
    try:
        store = open_store()
    except StoreError:  # it is logged where it is opened, and the server serves without
        return
    for kept, owner in store.unended(KIND):
        lock = lock_of(store, kept.id)
        try:
            lock.acquire()
        except Timeout:
            continue
        if time.time() - kept.changed > IDLE_CLASS_SECONDS or classes.taught(owner):
            store.end(kept.id, INTERRUPTED)
            _let_go(lock)
            continue
        try:
            room = read_class(store, kept, owner)
            classes.add(room)
        except (AlrvizError, LookupError, TypeError, ValueError):  # it keeps no server from its start
            _log.exception("a class of the run store could not be read")
            _let_go(lock)
            continue
        store.resume(kept.id)
        room.keeper = ClassAutosave(room, open_store, lock)
