"""What outlives a process: studies with their finished tasks and races with their steps, each with an owner.

    store = Store()                                         # ALRVIZ_HOME, or the user's data folder
    run = store.begin(owner, "compare", spec, data_hash)    # under way; found again by `runs` after a reload
    store.save_task(run, place, key, ...)                   # a task of a study, as it finishes
    store.save_traces(run, [(racer, about, first, steps)])  # what the racers of a race have done since
    store.end(run, "done", "...")

What is saved is on disk when the call returns. A run that says nothing for STALE seconds and has not ended was left by
a process that is gone: it is "interrupted".

What the disk has changed since it was written is not handed out: a task is computed again, what else was kept is said
to be damaged (`StoreError`; of a run its state).
"""

import json
import logging
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from secrets import token_hex
from typing import Any

from alrviz.errors import StoreError
from alrviz.fitting.solvers.step import Step
from alrviz.fitting.store.database import Database
from alrviz.fitting.store.schema import sound
from alrviz.home import home

_FIELDS = tuple(name for name in Step.__slots__ if name != "extra")


def pack_steps(steps: Sequence[Step]) -> bytes:
    """Return steps in few bytes: about a hundred a step of a usual race."""
    fields = [[_plain(getattr(step, name)) for step in steps] for name in _FIELDS]
    names = list(dict.fromkeys(name for step in steps for name in step.extra))
    extra = {name: [_plain(step.extra.get(name)) for step in steps] for name in names}
    return zlib.compress(json.dumps([fields, extra], separators=(",", ":")).encode(), 1)


def unpack_steps(packed: bytes) -> list[Step]:
    """Return the steps that `pack_steps` was given."""
    fields, extra = json.loads(zlib.decompress(packed))
    return [
        Step(
            **dict(zip(_FIELDS, values, strict=True)),
            extra={name: column[k] for name, column in extra.items() if column[k] is not None},
        )
        for k, values in enumerate(zip(*fields, strict=True))
    ]


def _plain(value: Any) -> Any:
    """A number that JSON knows; numpy's own are none."""
    return value.item() if hasattr(value, "item") else value


RUNNING, INTERRUPTED, DAMAGED = "running", "interrupted", "damaged"
# Seconds between two signs of life of a run, and after how many without one it is taken for left behind.
BEAT, STALE = 5.0, 30.0
# Bytes kept; beyond, ended runs are deleted, the oldest of the owner who keeps most, until a tenth is free.
LIMIT = 512 * 2**20
_log = logging.getLogger(__name__)
# What a run takes: its own row, its steps, and its tasks, also those that it shares with another run.
_BYTES = """length(CAST(spec AS BLOB)) + 500
    + (SELECT coalesce(sum(length(packed)), 0) FROM steps WHERE steps.run = runs.id)
    + (SELECT coalesce(sum(length(rows) + coalesce(length(predicted), 0)), 0) FROM members
        JOIN cells ON cells.owner = members.owner AND cells.key = members.key WHERE members.run = runs.id)"""
_ABOUT = "id, kind, name, spec, data_hash, data_name, version, state, sentence, created, changed, link"


@dataclass(frozen=True)
class StoredRun:
    """A study or a race, as the store knows it.

    Attributes:
        id: 32 hex digits, nobody's to guess: whoever has it may read the run.
        kind, name: a study's name or "race"; a line for people.
        spec: JSON that says what was asked for: recipes, folds, seeds.
        data_hash, data_name, version: of the table and of alrviz.
        state, sentence: "running", "interrupted", "damaged", or an outcome's code; and why.
        created, changed: seconds since 1970.
        link: the query that shows it in the explorer; "" where it was not begun there.
    """

    id: str
    kind: str
    name: str
    spec: str
    data_hash: str
    data_name: str
    version: str
    state: str
    sentence: str
    created: float
    changed: float
    link: str = ""


class Damaged(StoreError):
    """What was kept is not as it was saved. The message names no path: visitors are shown it."""


class Store:
    """The runs of all owners on this machine.

    Args:
        folder: where the file lies; None for `home()`.
        limit: bytes kept.

    Attributes:
        damaged: how many runs, of any owner, were not as they were saved when the file was opened.
        n_pruned: how many runs this process has deleted to make room, by owner as the file has owners.

    Raises:
        StoreError: where it cannot be opened or written; every method may.
    """

    def __init__(self, folder: Path | str | None = None, limit: int = LIMIT):
        self.database = Database((home() if folder is None else Path(folder)) / "runs.sqlite")
        self.limit = limit
        self.n_pruned: Counter[str] = Counter()
        self.damaged = len(self.database.read(f"SELECT id FROM runs WHERE NOT {sound('runs')}"))
        if self.damaged:
            _log.warning("%d runs in %r are not as they were saved", self.damaged, str(self.database.path))

    # -- runs ---------------------------------------------------------------------------------------------------------

    def begin(
        self,
        owner: str,
        kind: str,
        spec: str,
        data_hash: str,
        *,
        name: str = "",
        data_name: str = "",
        version: str = "",
        link: str = "",
        id: str = "",
    ) -> str:
        """Note that a run has begun; return its id: the one given (32 hex digits), or a new one."""
        run, now = id or token_hex(16), time.time()
        values = (run, kind, name, spec, data_hash, data_name, version, RUNNING, "", now, now, link)
        with self.database.transaction() as execute:
            places = ", ".join("?" * len(values))
            execute(f"INSERT INTO runs (owner, {_ABOUT}) VALUES (keyed(?), {places})", (owner, *values))
        self.prune()
        return run

    def resume(self, run: str, link: str = "") -> None:
        """Note that a run which had ended or was left is under way again; a link takes the place of the one it had."""
        self._note(run, RUNNING, "")
        if link:
            with self.database.transaction() as execute:
                execute("UPDATE runs SET link = ? WHERE id = ?", (link, run))

    def beat(self, run: str) -> None:
        """Note that a run is still under way: at least every BEAT seconds."""
        with self.database.transaction() as execute:
            execute("UPDATE runs SET changed = ? WHERE id = ?", (time.time(), run))

    def end(self, run: str, state: str, sentence: str = "") -> None:
        """Note how a run has ended."""
        self._note(run, state, sentence)
        self.prune()

    def runs(self, owner: str, kind: str | None = None) -> list[StoredRun]:
        """Return the runs of an owner, the latest first."""
        question = f"SELECT {sound('runs')}, {_ABOUT} FROM runs WHERE owner = keyed(?) ORDER BY changed DESC, id"
        return [run for run in map(_kept, self.database.read(question, (owner,))) if kind in (None, run.kind)]

    def unended(self, kind: str) -> list[tuple[StoredRun, str]]:
        """Return the runs of a kind that nobody has ended, and the owner of each as the file has owners."""
        question = f"SELECT owner, {sound('runs')}, {_ABOUT} FROM runs WHERE kind = ? AND state = ?"
        return [(_kept(about), owner) for owner, *about in self.database.read(question, (kind, RUNNING)) if about[0]]

    def find(self, owner: str, kind: str, spec: str, data_hash: str) -> StoredRun | None:
        """Return an owner's latest run of that description; None if there is none."""
        alike = (run for run in self.runs(owner, kind) if (run.spec, run.data_hash) == (spec, data_hash))
        return next(alike, None)

    def sizes(self, owner: str) -> dict[str, int]:
        """Return the bytes of each run of an owner, as far as they are its tasks or steps."""
        cells = """SELECT members.run, sum(length(rows) + length(predicted)) FROM members
            JOIN cells ON cells.owner = members.owner AND cells.key = members.key
            WHERE members.owner = keyed(?) GROUP BY members.run"""
        steps = """SELECT steps.run, sum(length(packed)) FROM steps JOIN runs ON runs.id = steps.run
            WHERE runs.owner = keyed(?) GROUP BY steps.run"""
        return {run: size or 0 for ask in (cells, steps) for run, size in self.database.read(ask, (owner,))}

    def delete(self, owner: str | None, run: str) -> bool:
        """Delete a run of that owner, its steps, all tasks that are of no study any more; tell whether it was there.

        owner: None for whosever it is.
        """
        if owner is None:
            return self._delete("id = ?", run)
        return self._delete("id = ? AND owner = keyed(?)", run, owner)

    def _delete(self, which: str, *values: str) -> bool:
        with self.database.transaction() as execute:
            deleted = execute(f"DELETE FROM runs WHERE {which}", values).rowcount
            _drop_orphans(execute)
        return bool(deleted)

    def _note(self, run: str, state: str, sentence: str) -> None:
        values = (state, sentence, time.time(), run)
        with self.database.transaction() as execute:
            execute("UPDATE runs SET state = ?, sentence = ?, changed = ? WHERE id = ?", values)

    # -- tasks of studies- ---------------------------------------------------------------------------------------------

    def save_task(
        self,
        run: str,
        place: int,
        key: str,
        recipe: str,
        outcome: str,
        rows: Sequence[dict[str, Any]],
        predicted: bytes,
    ) -> None:
        """Keep a finished task of a study at its place; the same key of the same owner again takes its place."""
        with self.database.transaction() as execute:
            found = execute("SELECT owner, data_hash FROM runs WHERE id = ?", (run,)).fetchone()
            if found is None:
                return  # deleted meanwhile: its owner wants none of it
            owner, data_hash = found
            values = (owner, key, recipe, data_hash, outcome, json.dumps(rows), predicted)
            into = "cells (owner, key, recipe, data_hash, outcome, rows, predicted)"
            execute(f"INSERT OR REPLACE INTO {into} VALUES (?, ?, ?, ?, ?, ?, ?)", values)
            _join(execute, run, place, owner, key)
            execute("UPDATE runs SET changed = ? WHERE id = ?", (time.time(), run))
        self.prune()

    def take_cell(self, run: str, place: int, key: str) -> tuple[str, list[dict[str, Any]], bytes] | None:
        """Return (outcome, rows, predicted) of a finished task of the run's owner, now at that place; None without.

        Raises `Damaged` where it is not as it was saved.
        """
        with self.database.transaction() as execute:
            question = f"""SELECT {sound("cells")}, cells.owner, outcome, rows, predicted FROM cells
                JOIN runs ON cells.owner = runs.owner WHERE runs.id = ? AND key = ?"""
            found = execute(question, (run, key)).fetchone()
            if found is None:
                return None
            right, owner, outcome, rows, predicted = found
            if not right:
                raise Damaged("a finished task in the run store is not as it was saved")
            _join(execute, run, place, owner, key)
        return outcome, json.loads(rows), predicted

    def forget_tasks(self, owner: str, keys: Sequence[str]) -> None:
        """Delete tasks, to be computed again."""
        with self.database.transaction() as execute:
            for key in keys:
                execute("DELETE FROM members WHERE owner = keyed(?) AND key = ?", (owner, key))
                execute("DELETE FROM cells WHERE owner = keyed(?) AND key = ?", (owner, key))

    def tasks(self, run: str) -> list[tuple[str, str, list[dict[str, Any]]]]:
        """Return (recipe, outcome, rows) of a study's finished tasks, by their place; without its table.

        Raises `Damaged` where some are not as they were saved.
        """
        question = f"""SELECT {sound("members")} AND {sound("cells")}, recipe, outcome, rows FROM members
            LEFT JOIN cells ON cells.owner = members.owner AND cells.key = members.key
            WHERE members.run = ? ORDER BY place"""
        with self.database.transaction(writes=False) as execute:  # others may add to it meanwhile
            found = execute(question, (run,)).fetchall()
            kept = sum(bool(right) for right, *_ in found)
            complete = kept == len(found) and _complete(execute, run, kept)
        if not complete:
            raise Damaged(
                f"only {kept:,} of the finished tasks are as they were saved: the run store is damaged; run the study "
                "again: it computes the others anew"
            )
        return [(recipe, outcome, json.loads(rows)) for _, recipe, outcome, rows in found]

    # -- steps of races -----------------------------------------------------------------------------------------------

    def save_traces(self, run: str, parts: Sequence[tuple[int, dict[str, Any], int, Sequence[Step]]]) -> None:
        """Keep what the racers of a race have done: (racer, what is no step, place of the first step, steps) of each.

        All or nothing of it is kept. The place is that in the racer's trace; the same place again is written over.
        """
        packed = [
            (racer, json.dumps(about), first, first + len(steps), pack_steps(steps))
            for racer, about, first, steps in parts
        ]
        with self.database.transaction() as execute:
            if not execute("UPDATE runs SET changed = ? WHERE id = ?", (time.time(), run)).rowcount:
                return  # deleted meanwhile
            for racer, about, first, count, steps in packed:
                into = "racers (run, racer, about, steps)"
                execute(f"INSERT OR REPLACE INTO {into} VALUES (?, ?, ?, ?)", (run, racer, about, count))
                into = "steps (run, racer, place, packed)"
                execute(f"INSERT OR REPLACE INTO {into} VALUES (?, ?, ?, ?)", (run, racer, first, steps))
        self.prune()

    def traces(self, run: str) -> list[tuple[dict[str, Any], list[Step]]]:
        """Return (what is no step, steps) of each racer of a race; raises `Damaged` where it is not as it was saved."""
        of_racers = f"SELECT {sound('racers')}, racer, about, steps FROM racers WHERE run = ? ORDER BY racer"
        of_steps = f"SELECT {sound('steps')}, racer, packed FROM steps WHERE run = ? ORDER BY racer, place"
        with self.database.transaction(writes=False) as execute:  # others may add to it meanwhile
            racers, parts = (execute(question, (run,)).fetchall() for question in (of_racers, of_steps))
            complete = _complete(execute, run, len(racers))
        if complete and all(right for right, *_ in (*racers, *parts)):
            found = [(about, count, _steps_of(parts, racer)) for _, racer, about, count in racers]
            if all(count in (None, len(steps)) for _, count, steps in found):
                return [(json.loads(about), steps) for about, _, steps in found]
        raise Damaged("the steps of this race are not as they were saved: the run store is damaged; race it again")

    # -- room ---------------------------------------------------------------------------------------------------------

    def prune(self) -> int:
        """Delete runs that rest or are damaged until a tenth of the limit is free; return how many.

        Damaged runs go first, then the oldest of the owner who keeps most, so that an owner of many runs loses some of
        these and no other owner does.
        """
        if self.database.size <= self.limit:
            return 0
        before, kept = sum(self.n_pruned.values()), dict[str, list[tuple[str, int]]]()
        asked = f"{sound('runs')}, owner, id, state, changed, {_BYTES}"
        question = f"SELECT {asked} FROM runs ORDER BY changed DESC, id DESC"
        for right, owner, run, state, changed, size in self.database.read(question):
            if not right:
                self._prune(owner, run)
            elif _state(state, changed) != RUNNING:
                kept.setdefault(owner, []).append((run, size or 0))  # the oldest last
        totals = {owner: sum(size for _, size in runs) for owner, runs in kept.items()}
        while kept and self.database.size > 0.9 * self.limit:
            owner = max(kept, key=lambda one: totals[one])
            run, size = kept[owner].pop()
            totals[owner] -= size
            self._prune(owner, run)
            if not kept[owner]:
                del kept[owner]
        self.database.shrink()
        return sum(self.n_pruned.values()) - before

    def _prune(self, owner: str, run: str) -> None:
        self.n_pruned[owner] += self._delete("id = ?", run)

    def count_pruned(self, owner: str) -> int:
        """Return how many of an owner's runs this process has deleted to make room."""
        return self.n_pruned[self.database.keyed(owner)]

    def close(self) -> None:
        """Close the file."""
        self.database.close()


@cache
def default_store(folder: Path) -> Store:
    """Return the one store of this process in that folder."""
    return Store(folder)


def _kept(row: Sequence[Any]) -> StoredRun:
    right, *about = row
    kept = StoredRun(*about)
    if not right:
        why = "what the run store has of it is not as it was saved"
        return replace(kept, name="", spec="{}", link="", state=DAMAGED, sentence=why)
    return StoredRun(**{**kept.__dict__, "state": _state(kept.state, kept.changed)})


def _state(state: str, changed: float) -> str:
    return INTERRUPTED if state == RUNNING and time.time() - changed > STALE else state


def _join(execute: Any, run: str, place: int, owner: str, key: str) -> None:
    """Note whose task it is; the run has not moved by that: whoever only looks takes tasks too."""
    execute("INSERT OR REPLACE INTO members (run, place, owner, key) VALUES (?, ?, ?, ?)", (run, place, owner, key))


def _complete(execute: Any, run: str, parts: int) -> bool:
    """Whether a run that is there had so many members or racers."""
    return all(count == parts for (count,) in execute("SELECT parts FROM runs WHERE id = ?", (run,)))


def _steps_of(parts: Sequence[tuple[Any, ...]], racer: int) -> list[Step]:
    return [step for _, other, packed in parts if other == racer for step in unpack_steps(packed)]


def _drop_orphans(execute: Any) -> None:
    execute(
        """DELETE FROM cells WHERE NOT EXISTS
        (SELECT 1 FROM members WHERE members.owner = cells.owner AND members.key = cells.key)"""
    )
