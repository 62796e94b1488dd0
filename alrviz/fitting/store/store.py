"""Studies with their finished tasks and races with their steps, stored for their owners beyond the process.

    store = Store()                                         # ALRVIZ_HOME, or the user's data folder
    run = store.begin(owner, "compare", spec, data_hash)    # running; found again by `runs` after a reload
    store.save_task(run, place, key, ...)                   # a task of a study, as it finishes
    store.save_traces(run, [(racer, about, first, steps)])  # new steps of a race's racers
    store.end(run, "done", "...")

Data is on disk when a saving call returns. A run that has not ended, without a heartbeat for STALE_SECONDS, was left by
a
process that no longer exists: it is "interrupted".

    runs    a study or a race: its owner's digest, time of the last change, number of parts, description (JSON)
    parts   its finished tasks, by place and key, or the steps of its racers, by racer and place in the trace

Every row has a checksum of its contents. Corrupted rows are never returned: a task is computed again, other parts raise
`Damaged`, and of a run only its state remains.
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
# Seconds between two heartbeats of a run, and after how many without one it counts as interrupted.
HEARTBEAT_SECONDS, STALE_SECONDS = 5.0, 30.0
# Bytes of the store. Beyond, ended runs are deleted, the oldest of the owner with the most bytes, until a tenth is
# free.
MAX_STORE_BYTES = 512 * 2**20
RACER_PLACES = 2**32  # a race's part has the place racer * RACER_PLACES + step
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
    """A study or a race in the store.

    Attributes:
        id: 32 random hex digits; whoever knows them may read the run.
        kind, name: a study's name or "race"; a line for people.
        spec: JSON of what was requested: recipes, folds, seeds.
        data_hash, data_name, version: of the table and of alrviz.
        state, sentence: "running", "interrupted", "damaged", or an outcome's code; and why.
        created, changed: seconds since 1970.
        link: the query that shows it in the explorer; "" if it was not started there.
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
    """Stored data differs from what was saved. The message names no path: visitors see it."""


class Part(NamedTuple):
    """A row of a run's parts: a finished task, or steps of a racer."""

    run: str
    place: int  # position among the run's parts
    key: str  # of a task, by which studies share results; "" for steps
    head: str  # JSON: of a task recipe, outcome and rows; of steps facts and their number
    data: bytes  # predictions of a task, or packed steps


def owner_digest(owner: str) -> str:
    """Return the digest that stands for an owner in files: the 128 random bits cannot be recovered from it."""
    return sha256(owner.encode("utf-8", "surrogatepass")).hexdigest()


class Store:
    """The runs of all owners on this machine.

    Args:
        folder: Folder of the file; None for `home()`.
        limit: Maximum bytes.

    Attributes:
        damaged: Number of runs, of any owner, that were damaged when the file was opened.
        n_pruned: Number of runs that this process has deleted to free space, by the owner's digest.

    Raises:
        StoreError: the store cannot be opened or written; every method may raise it.
    """

    def __init__(self, folder: Path | str | None = None, limit: int = MAX_STORE_BYTES):
        self.database = Database((home() if folder is None else Path(folder)) / "runs.sqlite", SCHEMA)
        self.limit = limit
        self.n_pruned: Counter[str] = Counter()
        self.damaged = sum(run.state == DAMAGED for _, run in self._runs())
        if self.damaged:
            _log.warning("%d runs in %r are damaged", self.damaged, str(self.database.path))

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
        """Save that a run has started; return its id: the given one (32 hex digits), or a new one.

        Args:
            owner: the visitor's id, whose history shows the run.
            kind: "race", or the name of a study.
            spec: JSON of the settings.
            data_hash, data_name: of the data set.
            name: name of the run.
            version: of alrviz.
            link: link that opens the run in the explorer; "" if there is none.
            id: "" for a new one.
        """
        now = time.time()
        run = StoredRun(
            id or token_hex(16), kind, name, spec, data_hash, data_name, version, RUNNING, "", now, now, link
        )
        with self.database.transaction() as execute:
            execute(f"INSERT INTO runs ({_RUN}) VALUES (?, ?, ?, ?, ?, ?)", _run_row(owner_digest(owner), run, 0))
        self.prune()
        return run.id

    def resume(self, run: str, link: str = "") -> None:
        """Save that an ended or interrupted run is running again; a non-empty link replaces the old one."""
        self._change(run, state=RUNNING, sentence="", **({"link": link} if link else {}))

    def beat(self, run: str) -> None:
        """Save a heartbeat of a run: at least every HEARTBEAT_SECONDS."""
        self._change(run)

    def end(self, run: str, state: str, sentence: str = "") -> None:
        """Save how a run has ended: an outcome's code, and a sentence with the reason."""
        self._change(run, state=state, sentence=sentence)
        self.prune()

    def runs(self, owner: str, kind: str | None = None) -> list[StoredRun]:
        """Return the runs of an owner, the latest first; kind: only of this kind."""
        runs = [run for _, run in self._runs("WHERE owner = ?", owner_digest(owner))]
        return [run for run in runs if kind in (None, run.kind)]

    def unfinished_runs(self, kind: str) -> list[tuple[StoredRun, str]]:
        """Return the runs of a kind that have not ended, each with its owner's digest."""
        states = (RUNNING, INTERRUPTED)
        return [(run, owner) for owner, run in self._runs() if run.kind == kind and run.state in states]

    def find(self, owner: str, kind: str, spec: str, data_hash: str) -> StoredRun | None:
        """Return an owner's latest run of this kind ("race" or a study's name), spec (JSON) and data hash, or None."""
        matches = (run for run in self.runs(owner, kind) if (run.spec, run.data_hash) == (spec, data_hash))
        return next(matches, None)

    def sizes(self, owner: str) -> dict[str, int]:
        """Return the bytes of the parts of each run of an owner."""
        query = """SELECT run, sum(length(head) + length(data)) FROM parts JOIN runs ON runs.id = parts.run
            WHERE runs.owner = ? GROUP BY run"""
        return dict(self.database.read(query, (owner_digest(owner),)))

    def delete(self, owner: str | None, run: str) -> bool:
        """Delete an owner's run and its parts; return whether it existed. owner: None for any."""
        with self.database.transaction() as execute:
            query, parameters = "DELETE FROM runs WHERE id = ?", [run]
            if owner is not None:
                query, parameters = f"{query} AND owner = ?", [run, owner_digest(owner)]
            return bool(execute(query, parameters).rowcount)

    def _runs(self, where: str = "", *values: str) -> list[tuple[str, StoredRun]]:
        """Return (owner's digest, run), the latest first; where: an SQL condition with `values` for its question
        marks.
        """
        query = f"SELECT {_RUN} FROM runs {where} ORDER BY changed DESC, id"
        rows = self.database.read(query, values)
        return [(owner, _read_run(owner, *about)) for owner, *about in rows]

    def _change(self, run: str, **changes: Any) -> None:
        with self.database.transaction() as execute, _updating_run(execute, run, changed=time.time(), **changes):
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
        """Save a finished task of a study at its place.

        Args:
            run: id of the study.
            place, key: the task's number in the study, and the digest of what it computes.
            recipe: name of the recipe.
            outcome: the code of how its fit ended.
            rows: its measures, as JSON objects.
            predicted: its predictions, packed.
        """
        part = Part(run, place, key, json.dumps([recipe, outcome, list(rows)]), predicted)
        with self.database.transaction() as execute, _updating_run(execute, run, changed=time.time()) as exists:
            if exists:  # otherwise its owner has deleted it meanwhile
                _write_part(execute, part)
        self.prune()

    def take_task(self, run: str, place: int, key: str) -> tuple[str, list[dict[str, Any]], bytes] | None:
        """Return (outcome, rows, predicted) of a finished task with this key, of this or another study of the run's
        owner.

        It is then also stored at that place of this study, without a heartbeat. Returns None if there is none; raises
        `Damaged` if it is corrupted.
        """
        query = f"""SELECT {_PART} FROM parts JOIN runs ON runs.id = parts.run
            WHERE key = ? AND runs.owner = (SELECT owner FROM runs WHERE id = ?) ORDER BY run = ? DESC LIMIT 1"""
        with self.database.transaction() as execute, _updating_run(execute, run):
            row = execute(query, (key, run, run)).fetchone()
            if row is None:
                return None
            part = _read_part(row)
            if part is None:
                raise Damaged("a finished task in the run store is damaged")
            if (part.run, part.place) != (run, place):
                _write_part(execute, part._replace(run=run, place=place))
        _, outcome, rows = json.loads(part.head)
        return outcome, rows, part.data

    def forget_tasks(self, owner: str, keys: Sequence[str]) -> None:
        """Delete an owner's tasks with these keys, so that they are computed again."""
        query = "SELECT DISTINCT run FROM parts JOIN runs ON runs.id = parts.run WHERE owner = ? AND key = ?"
        with self.database.transaction() as execute:
            for key in keys:
                for (run,) in execute(query, (owner_digest(owner), key)).fetchall():
                    with _updating_run(execute, run):
                        execute("DELETE FROM parts WHERE run = ? AND key = ?", (run, key))

    def tasks(self, run: str) -> list[tuple[str, str, list[dict[str, Any]]]]:
        """Return (recipe, outcome, rows) of the finished tasks of a study, run, by their place; the table is not
        needed.

        Raises `Damaged` if some are corrupted.
        """
        parts, is_complete = self._parts(run)
        if not is_complete:
            raise Damaged(
                f"only {len(parts):,} of the finished tasks are intact: the run store is damaged; run the "
                "study again, which computes the others"
            )
        return [tuple(json.loads(part.head)) for part in parts]

    def _parts(self, run: str) -> tuple[list[Part], bool]:
        """Return the intact parts of a run in order, and whether these are all."""
        with self.database.transaction(writes=False) as execute:  # others may add parts meanwhile
            rows = execute(f"SELECT {_PART} FROM parts WHERE run = ? ORDER BY place", (run,)).fetchall()
            n_saved = execute("SELECT n_parts FROM runs WHERE id = ?", (run,)).fetchone()
        parts = [part for part in map(_read_part, rows) if part is not None]
        return parts, (len(parts),) == (n_saved or (0,))

    # -- steps of races -----------------------------------------------------------------------------------------------

    def save_traces(self, run: str, parts: Sequence[tuple[int, dict[str, Any], int, Sequence[Step]]]) -> None:
        """Save new steps of a race's racers; each of `parts` is (racer, facts about it, place of the first step,
        steps).

        All or nothing is saved. The place is that in the racer's trace; the same place is overwritten.
        """
        rows = [
            Part(run, racer * RACER_PLACES + first_step, "", json.dumps([about, len(steps)]), pack_steps(steps))
            for racer, about, first_step, steps in parts
        ]
        with self.database.transaction() as execute, _updating_run(execute, run, changed=time.time()) as exists:
            for row in rows if exists else ():
                _write_part(execute, row)
        self.prune()

    def traces(self, run: str) -> list[tuple[dict[str, Any], list[Step]]]:
        """Return (facts, steps) of each racer of a race, run; raise `Damaged` if some are corrupted."""
        parts, is_complete = self._parts(run)
        traces: dict[int, tuple[dict[str, Any], list[Step]]] = {}
        for part in parts:
            racer, first_step = divmod(part.place, RACER_PLACES)
            about, n_new_steps = json.loads(part.head)
            steps = traces.get(racer, ({}, []))[1]
            is_complete &= len(steps) == first_step
            traces[racer] = about, [*steps, *unpack_steps(part.data)]
            is_complete &= len(traces[racer][1]) == first_step + n_new_steps
        if not is_complete:
            raise Damaged("the steps of this race are corrupted: the run store is damaged; run the race again")
        return [traces[racer] for racer in sorted(traces)]

    # -- space --------------------------------------------------------------------------------------------------------

    def prune(self) -> int:
        """Delete runs that have ended or are damaged until a tenth of the limit is free; return how many.

        Damaged runs go first, then the oldest of the owner with the most bytes, so that an owner of many runs loses
        some of these and no other owner does.
        """
        if self.database.size <= self.limit:
            return 0
        n_before = self.n_pruned.total()
        sizes = dict(self.database.read("SELECT run, sum(length(head) + length(data)) FROM parts GROUP BY run"))
        ended_runs: dict[str, list[StoredRun]] = {}
        for owner, run in self._runs():
            if run.state == DAMAGED:
                self._prune(owner, run)
            elif run.state != RUNNING:
                ended_runs.setdefault(owner, []).append(run)  # the oldest last
        totals = Counter({owner: sum(sizes.get(run.id, 0) for run in runs) for owner, runs in ended_runs.items()})
        while ended_runs and self.database.size > 0.9 * self.limit:
            owner = max(ended_runs, key=totals.__getitem__)
            run = ended_runs[owner].pop()
            totals[owner] -= sizes.get(run.id, 0)
            self._prune(owner, run)
            if not ended_runs[owner]:
                del ended_runs[owner]
        self.database.shrink()
        return self.n_pruned.total() - n_before

    def _prune(self, owner: str, run: StoredRun) -> None:
        self.n_pruned[owner] += self.delete(None, run.id)

    def count_pruned(self, owner: str) -> int:
        """Return the number of an owner's runs that this process has deleted to free space."""
        return self.n_pruned[owner_digest(owner)]

    def close(self) -> None:
        """Close the file."""
        self.database.close()


@cache
def default_store(folder: Path) -> Store:
    """Return this process's only store in that folder."""
    return Store(folder)


# -- rows -------------------------------------------------------------------------------------------------------------

_RUN = "owner, id, changed, n_parts, about, checksum"
_PART = "run, place, key, head, data, parts.checksum"


def _checksum(*values: Any) -> int:
    """Return a checksum of values and of their lengths."""
    checksum = 0
    for value in values:
        data = value if isinstance(value, bytes) else repr(value).encode("utf-8", "surrogatepass")
        checksum = zlib.crc32(data, zlib.crc32(b"%d:" % len(data), checksum))
    return checksum


def _run_row(owner: str, run: StoredRun, n_parts: int) -> tuple[Any, ...]:
    """Return the row of an owner's run with n_parts parts, in the order of `_RUN`."""
    stored_fields = {name: value for name, value in asdict(run).items() if name not in ("id", "changed")}
    row = (owner, run.id, run.changed, n_parts, json.dumps(stored_fields))
    return (*row, _checksum(*row))


def _read_run(owner: str, id: str, changed: float, n_parts: int, about: str, checksum: int) -> StoredRun:
    """Return a run from the fields of its row: without a heartbeat it is interrupted, with a wrong checksum damaged.

    owner: digest; changed: seconds since 1970; about: JSON of the other fields of `StoredRun`.
    """
    if _checksum(owner, id, changed, n_parts, about) != checksum:
        time_changed = changed if isinstance(changed, float) else 0.0
        reason = "its data in the run store is corrupted"
        return StoredRun(str(id), "", "", "{}", "", "", "", DAMAGED, reason, time_changed, time_changed)
    run = StoredRun(id=id, changed=changed, **json.loads(about))
    stale = run.state == RUNNING and time.time() - changed > STALE_SECONDS
    return replace(run, state=INTERRUPTED) if stale else run


@contextmanager
def _updating_run(execute: Any, run: str, **changes: Any) -> Iterator[bool]:
    """Update a run's row, with these changes and the number of its parts, when the block ends.

    execute: that of the transaction. Yields whether the run exists; a damaged run is not changed.
    """
    row = execute(f"SELECT {_RUN} FROM runs WHERE id = ?", (run,)).fetchone()
    yield row is not None
    if row is None or _checksum(*row[:-1]) != row[-1]:
        return
    owner, id, changed, n_parts_before, about, _ = row
    (n_parts,) = execute("SELECT count(*) FROM parts WHERE run = ?", (run,)).fetchone()
    if not changes and n_parts == n_parts_before:  # a task was only read
        return
    stored_run = replace(StoredRun(id=id, changed=changed, **json.loads(about)), **changes)
    update_sql = "UPDATE runs SET changed = ?, n_parts = ?, about = ?, checksum = ? WHERE id = ?"
    execute(update_sql, (*_run_row(owner, stored_run, n_parts)[2:], id))


def _write_part(execute: Any, part: Part) -> None:
    insert_sql = "INSERT OR REPLACE INTO parts (run, place, key, head, data, checksum) VALUES (?, ?, ?, ?, ?, ?)"
    execute(insert_sql, (*part, _checksum(*part)))


def _read_part(row: Sequence[Any]) -> Part | None:
    """Return a part from its row; None if its checksum is wrong."""
    return Part(*row[:-1]) if _checksum(*row[:-1]) == row[-1] else None


# -- steps ------------------------------------------------------------------------------------------------------------

_FIELDS = tuple(name for name in Step.__slots__ if name != "extra")


def pack_steps(steps: Sequence[Step]) -> bytes:
    """Return steps packed into about a hundred bytes each, in a usual race."""
    fields = [[_plain(getattr(step, name)) for step in steps] for name in _FIELDS]
    names = list(dict.fromkeys(name for step in steps for name in step.extra))
    extra = {name: [_plain(step.extra.get(name)) for step in steps] for name in names}
    return zlib.compress(json.dumps([fields, extra], separators=(",", ":")).encode(), 1)


def unpack_steps(packed: bytes) -> list[Step]:
    """Return the steps that `pack_steps` has packed."""
    fields, extra = json.loads(zlib.decompress(packed))
    return [
        Step(
            **dict(zip(_FIELDS, values, strict=True)),
            extra={name: column[k] for name, column in extra.items() if column[k] is not None},
        )
        for k, values in enumerate(zip(*fields, strict=True))
    ]


def _plain(value: Any) -> Any:
    """Return a value that JSON knows, in place of a number of numpy's."""
    return value.item() if hasattr(value, "item") else value
