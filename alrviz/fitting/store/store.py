"""What outlives a process: studies with their finished tasks and races with their steps, each with an owner.

    store = Store()                                         # ALRVIZ_HOME, or the user's data folder
    run = store.begin(owner, "compare", spec, data_hash)    # under way; found again by `runs` after a reload
    store.save_task(run, place, key, ...)                   # a task of a study, as it finishes
    store.save_traces(run, [(racer, about, first, steps)])  # what the racers of a race have done since
    store.end(run, "done", "...")

What is saved is on disk when the call returns. A run without a sign of life for STALE seconds that has not ended was
left by a process that is gone: it is "interrupted".

    runs    a study or a race: its owner's digest, time of the last change, number of parts, description (JSON)
    parts   its finished tasks, by place and key, or the steps of its racers, by racer and place in the trace

Every row has a checksum of all it holds. Rows that the disk has changed are never returned: a task is computed again,
of other parts `Damaged` is raised, and of a run only its state.
"""

import json
import logging
import time
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from alrviz.errors import StoreError
from alrviz.fitting.solvers.step import Step
from alrviz.fitting.store.database import Database
from alrviz.home import home

RUNNING, INTERRUPTED, DAMAGED = "running", "interrupted", "damaged"
# Seconds between two signs of life of a run, and after how many without one it is taken for left behind.
BEAT, STALE = 5.0, 30.0
# Bytes kept; beyond, ended runs are deleted, the oldest of the owner who keeps most, until a tenth is free.
LIMIT = 512 * 2**20
RACER_PLACES = 2**32  # of a racer's steps among the places of a race's parts
SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, changed REAL NOT NULL, n_parts INTEGER NOT NULL, about TEXT NOT NULL,
    checksum INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS runs_by_owner ON runs (owner, changed);
CREATE TABLE IF NOT EXISTS parts (
    run TEXT NOT NULL REFERENCES runs ON DELETE CASCADE, place INTEGER NOT NULL, key TEXT NOT NULL, head TEXT NOT NULL,
    data BLOB NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY (run, place)
);
CREATE INDEX IF NOT EXISTS parts_by_key ON parts (key);
"""
_log = logging.getLogger(__name__)


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


class Part(NamedTuple):
    """A row of the parts of a run: a finished task, or steps of a racer."""

    run: str
    place: int
    key: str
    head: str
    data: bytes


def owner_digest(owner: str) -> str:
    """Return what stands for an owner in files: 128 random bits cannot be found from their SHA-256."""
    return sha256(owner.encode("utf-8", "surrogatepass")).hexdigest()


class Store:
    """The runs of all owners on this machine.

    Args:
        folder: Where the file lies; None for `home()`.
        limit: Bytes kept.

    Attributes:
        damaged: How many runs, of any owner, were not as they were saved when the file was opened.
        n_pruned: How many runs this process has deleted to make room, by the owner's digest.

    Raises:
        StoreError: where it cannot be opened or written; every method may.
    """

    def __init__(self, folder: Path | str | None = None, limit: int = LIMIT):
        self.database = Database((home() if folder is None else Path(folder)) / "runs.sqlite", SCHEMA)
        self.limit = limit
        self.n_pruned: Counter[str] = Counter()
        self.damaged = sum(run.state == DAMAGED for _, run in self._runs())
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
        """Save that a run has begun; return its id: the one given (32 hex digits), or a new one."""
        now = time.time()
        run = StoredRun(
            id or token_hex(16), kind, name, spec, data_hash, data_name, version, RUNNING, "", now, now, link
        )
        with self.database.transaction() as execute:
            execute(f"INSERT INTO runs ({_RUN}) VALUES (?, ?, ?, ?, ?, ?)", _run_row(owner_digest(owner), run, 0))
        self.prune()
        return run.id

    def resume(self, run: str, link: str = "") -> None:
        """Save that a run which had ended or was left is under way again; a link replaces the one it had."""
        self._change(run, state=RUNNING, sentence="", **({"link": link} if link else {}))

    def beat(self, run: str) -> None:
        """Save that a run is still under way: at least every BEAT seconds."""
        self._change(run)

    def end(self, run: str, state: str, sentence: str = "") -> None:
        """Save how a run has ended."""
        self._change(run, state=state, sentence=sentence)
        self.prune()

    def runs(self, owner: str, kind: str | None = None) -> list[StoredRun]:
        """Return the runs of an owner, the latest first."""
        found = [run for _, run in self._runs("WHERE owner = ?", owner_digest(owner))]
        return [run for run in found if kind in (None, run.kind)]

    def unended(self, kind: str) -> list[tuple[StoredRun, str]]:
        """Return the runs of a kind that nobody has ended, each with its owner's digest."""
        left = (RUNNING, INTERRUPTED)
        return [(run, owner) for owner, run in self._runs() if run.kind == kind and run.state in left]

    def find(self, owner: str, kind: str, spec: str, data_hash: str) -> StoredRun | None:
        """Return an owner's latest run of that description; None if there is none."""
        alike = (run for run in self.runs(owner, kind) if (run.spec, run.data_hash) == (spec, data_hash))
        return next(alike, None)

    def sizes(self, owner: str) -> dict[str, int]:
        """Return the bytes of the parts of each run of an owner."""
        question = """SELECT run, sum(length(head) + length(data)) FROM parts JOIN runs ON runs.id = parts.run
            WHERE runs.owner = ? GROUP BY run"""
        return dict(self.database.read(question, (owner_digest(owner),)))

    def delete(self, owner: str | None, run: str) -> bool:
        """Delete an owner's run and its parts; tell whether it was there. owner: None for any."""
        with self.database.transaction() as execute:
            question, values = "DELETE FROM runs WHERE id = ?", [run]
            if owner is not None:
                question, values = f"{question} AND owner = ?", [run, owner_digest(owner)]
            return bool(execute(question, values).rowcount)

    def _runs(self, where: str = "", *values: str) -> list[tuple[str, StoredRun]]:
        """Return (owner's digest, run), the latest first."""
        question = f"SELECT {_RUN} FROM runs {where} ORDER BY changed DESC, id"
        rows = self.database.read(question, values)
        return [(owner, _read_run(owner, *about)) for owner, *about in rows]

    def _change(self, run: str, **changes: Any) -> None:
        with self.database.transaction() as execute, _written_run(execute, run, changed=time.time(), **changes):
            pass

    # -- tasks of studies ---------------------------------------------------------------------------------------------

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
        """Save a finished task of a study at its place."""
        part = Part(run, place, key, json.dumps([recipe, outcome, list(rows)]), predicted)
        with self.database.transaction() as execute, _written_run(execute, run, changed=time.time()) as exists:
            if exists:  # else deleted meanwhile: its owner wants none of it
                _write_part(execute, part)
        self.prune()

    def take_task(self, run: str, place: int, key: str) -> tuple[str, list[dict[str, Any]], bytes] | None:
        """Return (outcome, rows, predicted) of a finished task, of this or another study of the run's owner.

        It is then also at that place of this study, whose time of the last change stays: looking is no sign of life.
        Returns None if there is none; raises `Damaged` if it is not as it was saved.
        """
        question = f"""SELECT {_PART} FROM parts JOIN runs ON runs.id = parts.run
            WHERE key = ? AND runs.owner = (SELECT owner FROM runs WHERE id = ?) ORDER BY run = ? DESC LIMIT 1"""
        with self.database.transaction() as execute, _written_run(execute, run):
            row = execute(question, (key, run, run)).fetchone()
            if row is None:
                return None
            part = _read_part(row)
            if part is None:
                raise Damaged("a finished task in the run store is not as it was saved")
            if (part.run, part.place) != (run, place):
                _write_part(execute, part._replace(run=run, place=place))
        _, outcome, rows = json.loads(part.head)
        return outcome, rows, part.data

    def forget_tasks(self, owner: str, keys: Sequence[str]) -> None:
        """Delete an owner's tasks, to be computed again."""
        question = "SELECT DISTINCT run FROM parts JOIN runs ON runs.id = parts.run WHERE owner = ? AND key = ?"
        with self.database.transaction() as execute:
            for key in keys:
                for (run,) in execute(question, (owner_digest(owner), key)).fetchall():
                    with _written_run(execute, run):
                        execute("DELETE FROM parts WHERE run = ? AND key = ?", (run, key))

    def tasks(self, run: str) -> list[tuple[str, str, list[dict[str, Any]]]]:
        """Return (recipe, outcome, rows) of a study's finished tasks, by their place; without its table.

        Raises `Damaged` where some are not as they were saved.
        """
        parts, complete = self._parts(run)
        if not complete:
            raise Damaged(
                f"only {len(parts):,} of the finished tasks are as they were saved: the run store is damaged; run the "
                "study again: it computes the others anew"
            )
        return [tuple(json.loads(part.head)) for part in parts]

    def _parts(self, run: str) -> tuple[list[Part], bool]:
        """Return the intact parts of a run in their order, and whether these are all."""
        with self.database.transaction(writes=False) as execute:  # others may add to it meanwhile
            rows = execute(f"SELECT {_PART} FROM parts WHERE run = ? ORDER BY place", (run,)).fetchall()
            count = execute("SELECT n_parts FROM runs WHERE id = ?", (run,)).fetchone()
        parts = [part for part in map(_read_part, rows) if part is not None]
        return parts, (len(parts),) == (count or (0,))

    # -- steps of races -----------------------------------------------------------------------------------------------

    def save_traces(self, run: str, parts: Sequence[tuple[int, dict[str, Any], int, Sequence[Step]]]) -> None:
        """Save what the racers of a race have done: (racer, facts about it, place of the first step, steps) of each.

        All or nothing of it is saved. The place is that in the racer's trace; the same place again is written over.
        """
        rows = [
            Part(run, racer * RACER_PLACES + first, "", json.dumps([about, len(steps)]), pack_steps(steps))
            for racer, about, first, steps in parts
        ]
        with self.database.transaction() as execute, _written_run(execute, run, changed=time.time()) as exists:
            for row in rows if exists else ():
                _write_part(execute, row)
        self.prune()

    def traces(self, run: str) -> list[tuple[dict[str, Any], list[Step]]]:
        """Return (facts, steps) of each racer of a race; raises `Damaged` where it is not as it was saved."""
        parts, complete = self._parts(run)
        traces: dict[int, tuple[dict[str, Any], list[Step]]] = {}
        for part in parts:
            racer, first = divmod(part.place, RACER_PLACES)
            about, count = json.loads(part.head)
            steps = traces.get(racer, ({}, []))[1]
            complete &= len(steps) == first
            traces[racer] = about, [*steps, *unpack_steps(part.data)]
            complete &= len(traces[racer][1]) == first + count
        if not complete:
            raise Damaged("the steps of this race are not as they were saved: the run store is damaged; race it again")
        return [traces[racer] for racer in sorted(traces)]

    # -- room ---------------------------------------------------------------------------------------------------------

    def prune(self) -> int:
        """Delete runs that rest or are damaged until a tenth of the limit is free; return how many.

        Damaged runs go first, then the oldest of the owner who keeps most, so that an owner of many runs loses some of
        these and no other owner does.
        """
        if self.database.size <= self.limit:
            return 0
        before = self.n_pruned.total()
        sizes = dict(self.database.read("SELECT run, sum(length(head) + length(data)) FROM parts GROUP BY run"))
        resting: dict[str, list[StoredRun]] = {}
        for owner, run in self._runs():
            if run.state == DAMAGED:
                self._prune(owner, run)
            elif run.state != RUNNING:
                resting.setdefault(owner, []).append(run)  # the oldest last
        totals = Counter({owner: sum(sizes.get(run.id, 0) for run in runs) for owner, runs in resting.items()})
        while resting and self.database.size > 0.9 * self.limit:
            owner = max(resting, key=totals.__getitem__)
            run = resting[owner].pop()
            totals[owner] -= sizes.get(run.id, 0)
            self._prune(owner, run)
            if not resting[owner]:
                del resting[owner]
        self.database.shrink()
        return self.n_pruned.total() - before

    def _prune(self, owner: str, run: StoredRun) -> None:
        self.n_pruned[owner] += self.delete(None, run.id)

    def count_pruned(self, owner: str) -> int:
        """Return how many of an owner's runs this process has deleted to make room."""
        return self.n_pruned[owner_digest(owner)]

    def close(self) -> None:
        """Close the file."""
        self.database.close()


@cache
def default_store(folder: Path) -> Store:
    """Return the one store of this process in that folder."""
    return Store(folder)


# -- rows -------------------------------------------------------------------------------------------------------------

_RUN = "owner, id, changed, n_parts, about, checksum"
_PART = "run, place, key, head, data, parts.checksum"


def _checksum(*values: Any) -> int:
    checksum = 0
    for value in values:
        data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
        checksum = zlib.crc32(data, zlib.crc32(b"%d:" % len(data), checksum))
    return checksum


def _run_row(owner: str, run: StoredRun, n_parts: int) -> tuple[Any, ...]:
    """Return a run's row, in the order of `_RUN`."""
    about = {name: value for name, value in asdict(run).items() if name not in ("id", "changed")}
    row = (owner, run.id, run.changed, n_parts, json.dumps(about))
    return (*row, _checksum(*row))


def _read_run(owner: str, id: str, changed: float, n_parts: int, about: str, checksum: int) -> StoredRun:
    """Return a run of which a row was read: one left behind is interrupted, one that the disk has changed damaged."""
    if _checksum(owner, id, changed, n_parts, about) != checksum:
        when = changed if isinstance(changed, float) else 0.0
        why = "what the run store has of it is not as it was saved"
        return StoredRun(str(id), "", "", "{}", "", "", "", DAMAGED, why, when, when)
    run = StoredRun(id=id, changed=changed, **json.loads(about))
    stale = run.state == RUNNING and time.time() - changed > STALE
    return replace(run, state=INTERRUPTED) if stale else run


@contextmanager
def _written_run(execute: Any, run: str, **changes: Any) -> Iterator[bool]:
    """Write a run's row anew, with these changes and the number of its parts, when the block ends.

    Gives whether the run exists; one that is damaged stays as it is.
    """
    row = execute(f"SELECT {_RUN} FROM runs WHERE id = ?", (run,)).fetchone()
    yield row is not None
    if row is None or _checksum(*row[:-1]) != row[-1]:
        return
    owner, id, changed, n_parts_before, about, _ = row
    (n_parts,) = execute("SELECT count(*) FROM parts WHERE run = ?", (run,)).fetchone()
    if not changes and n_parts == n_parts_before:  # a task was only looked at
        return
    stored = replace(StoredRun(id=id, changed=changed, **json.loads(about)), **changes)
    change = "UPDATE runs SET changed = ?, n_parts = ?, about = ?, checksum = ? WHERE id = ?"
    execute(change, (*_run_row(owner, stored, n_parts)[2:], id))


def _write_part(execute: Any, part: Part) -> None:
    values = "INSERT OR REPLACE INTO parts (run, place, key, head, data, checksum) VALUES (?, ?, ?, ?, ?, ?)"
    execute(values, (*part, _checksum(*part)))


def _read_part(row: Sequence[Any]) -> Part | None:
    """Return a part of which a row was read; None if the disk has changed it."""
    return Part(*row[:-1]) if _checksum(*row[:-1]) == row[-1] else None


# -- steps ------------------------------------------------------------------------------------------------------------

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
