"""The runs of the process: found again after a reload, and stopped when nobody looks.

Runs belong to the process, not to a browser tab. Each is an `Entry` with two 128-bit names: its `id`, by which only its
owner finds it, and its `token`, the secret of a link that opens it read-only. Who may compute when is the `RunQueue`'s
business. `sweep` has it do what time brings, and stops runs that nobody has looked at for a while.

Ended runs are kept while there is memory for them: owners leave without saying so, and what they left makes room for
who comes. When nobody has looked at anything for a while, what is in the run store too and on nobody's page is let go:
who returns finds it there, by the same id.
"""

import gc
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from typing import Protocol

from alrviz.errors import AlrvizError
from alrviz.explorer.server.classes import Classes
from alrviz.explorer.server.limits import ServerLimits, below, limits_from
from alrviz.explorer.server.run_queue import Entry, RunQueue
from alrviz.explorer.server.tables import UploadedTables
from alrviz.explorer.server.visitor_ids import LOCAL, new_id
from alrviz.job import Job
from alrviz.memory import give_back
from alrviz.stop import StopToken
from alrviz.studies.core.study import Study
from alrviz.studies.race.race import Race

GC_SWEEPS = 10  # sweeps after which what was let go is looked for once more
_MAX_VISITORS = 10_000  # owners of which is known that they were there
UNATTENDED = "stopped: nobody looked at it for {time}"


class CapReached(AlrvizError):
    """Something a server's limits refuse outright, such as a race larger than all the memory it gives away."""


class Registry:
    """All runs of a process.

    Args:
        limits: the caps; `tables` holds the files of the same owners under them, `classes` their classes.
        clock: seconds, monotonic; a test brings its own.
        timer: whether a thread of the registry's own sweeps once a second while something runs.
    """

    def __init__(
        self, limits: ServerLimits | None = None, clock: Callable[[], float] = time.monotonic, timer: bool = True
    ):
        self.limits = limits or limits_from()
        self.tables = UploadedTables(self.limits, clock)
        self.classes = Classes(clock, timer)
        self._clock = clock
        self._timer = timer
        self._queue = RunQueue(self.limits, clock, self._hold, self._wake_sweeper)
        self._looked = clock()  # when anybody was last there
        self._visitors: dict[str, None] = {}  # owners whose browsers were there, the latest last
        self._untidy = 0  # sweeps until memory is looked through once more
        self._open: weakref.WeakSet[ShownRuns] = weakref.WeakSet()  # of sessions whose pages are open
        self._sweeper: Job[None] | None = None

    def add(self, job: Race | Study, owner: str, *, bytes: int = 0, threads: int = 1) -> Entry:
        """Take in a race that was not started; raises `CapReached` where the server could never hold it."""
        if not below(bytes, self.limits.memory):
            what, fewer = ("the workers of this study need", "a smaller table")
            if not isinstance(job, Study):
                what, fewer = ("this race needs", "fewer racers")
            raise CapReached(
                f"{what} about {bytes / 1e9:.1f} GB and the server gives all that runs together "
                f"{(self.limits.memory or 0) / 1e9:.1f} GB; choose a lower order or {fewer}"
            )
        threads = min(threads, self.limits.threads or threads)
        job.entry = entry = Entry(job, owner, self._queue, bytes, threads, seen=self._clock())
        with self._queue.lock:
            self._hold(entry)
        return entry

    def _hold(self, entry: Entry) -> None:
        """Have a run among those of the process; one that was dropped may be shown still, and be wanted again."""
        if entry.id not in self._queue.entries:
            self._queue.entries[entry.id] = entry
            self._drop_old(entry.owner)

    def _drop_old(self, owner: str) -> None:
        resting = [e for e in self._queue.entries.values() if e.owner == owner and not e.under_way and not e.wanted]
        surplus = len(resting) - self.limits.kept if self.limits.kept is not None else 0
        for entry in resting[: max(surplus, 0)]:
            self._queue.end(entry)
            del self._queue.entries[entry.id]

    def find(self, id: str, owner: str) -> Entry | None:
        """Return the owner's run of this id; nothing for anybody else."""
        entry = self._queue.entries.get(id)
        return entry if entry is not None and entry.owner == owner else None

    def entries(self, owner: str) -> list[Entry]:
        """Return all that the owner has, the oldest first."""
        return [entry for entry in list(self._queue.entries.values()) if entry.owner == owner]

    def by_token(self, token: str) -> Entry | None:
        """Return the run whose read-only link holds `token`."""
        return next((e for e in list(self._queue.entries.values()) if secrets.compare_digest(e.token, token)), None)

    def share(self, entry: Entry) -> str:
        """Return the secret of its link, to be given away."""
        with self._queue.lock:
            self._hold(entry)
            entry.shared = True
            return entry.token

    def take_back(self, entry: Entry) -> None:
        """End its link: whoever has it sees nothing from now on, and the next one has another secret."""
        entry.token, entry.shared = new_id(), False

    def hand_on(self, before: Entry, after: Entry) -> None:
        """Let the link that was given away for one run lead to the one that takes its place."""
        if before.shared:
            after.token, after.shared = before.token, True
            self.take_back(before)

    def seen_at(self, owner: str, address: str) -> None:
        """Note the address that an owner comes from: cookies are made at will, addresses are not."""
        with self._queue.lock:
            self._queue.shares.at(owner, address)

    def look(self, entry: Entry) -> None:
        """Say that somebody is looking at the run now."""
        entry.seen = self._looked = self._clock()

    def visit(self, owner: str) -> None:
        """Say that an owner's browser is there."""
        self._looked = self._clock()
        self._visitors.pop(owner, None)
        self._visitors[owner] = None
        if len(self._visitors) > _MAX_VISITORS:
            del self._visitors[next(iter(self._visitors))]

    def knows(self, owner: str) -> bool:
        """Whether that owner's browser was ever there."""
        return owner in self._visitors

    def opened(self, runs: "ShownRuns") -> None:
        """Keep what an open page shows, however long nothing moves there."""
        with self._queue.lock:
            self._open.add(runs)

    def closed(self, runs: "ShownRuns") -> None:
        """Keep it no longer: the visitor has gone."""
        with self._queue.lock:
            self._open.discard(runs)

    def sweep(self) -> None:
        """Stop what nobody looks at, and start what there is a place for."""
        with self._queue.lock:
            now, idle, hours = self._clock(), self.limits.idle, self.limits.hours
            for entry in list(self._queue.entries.values()):
                seconds = idle if not entry.keep else hours * 3600 if hours is not None else None
                busy = entry.under_way or entry.wanted
                if busy and seconds is not None and now - entry.seen > seconds:
                    self._queue.end(entry, UNATTENDED.format(time=f"{hours} h" if entry.keep else f"{idle} s"))
            self._queue.admit()
            gone = self._let_go(now)
            self._untidy = GC_SWEEPS if gone else max(self._untidy - 1, 0)
            last = self._untidy == 1  # threads and their last callbacks have let go of theirs by now
        if gone or last:  # whoever waits for the lock need not wait for this
            gc.collect()
            give_back()

    def _let_go(self, now: float) -> int:
        """Hold no more what is in the run store too, once nobody has been there for a while; returns how much."""
        idle = self.limits.idle
        if idle is None or now - self._looked <= idle:
            return 0
        shown = {entry.id for runs in self._open for entry in runs.entries}
        gone = [e for e in self._queue.entries.values() if e.id not in shown and self._may_go(e, now - idle)]
        for entry in gone:
            del self._queue.entries[entry.id]
        return len(gone)

    def _may_go(self, entry: Entry, since: float) -> bool:
        """Whether a run rests, nobody has looked at it since, and what it leaves is on disk."""
        if entry.seen > since or entry.screens or entry.under_way or entry.wanted or not _leaves(entry):
            return False
        return isinstance(entry.job, Study) or bool(entry.job.ended and entry.keeper and entry.keeper.stored)

    def _wake_sweeper(self) -> None:
        if not self._timer:
            return
        with self._queue.lock:
            if self._sweeper is None or not self._sweeper.alive:
                self._sweeper = Job(self._sweep_on, "alrviz-registry")
                self._sweeper.start()

    def _sweep_on(self, stop: StopToken) -> None:
        while True:
            stop.rest(1.0)
            self.sweep()
            with self._queue.lock:
                lasting = any(e.under_way or (_leaves(e) and self.limits.idle) for e in self._queue.entries.values())
                if not self._queue.waiting and not lasting and not self._untidy:
                    self._sweeper = None
                    return


class ShownRuns(Protocol):
    """The runs of a session whose page is open."""

    @property
    def entries(self) -> Iterable[Entry]:
        """Everything that is shown."""


def _leaves(entry: Entry) -> bool:
    """Whether a run can be let go once it rests: it is kept in the run store.

    Not what a link was given away for; and on a machine of one's own nobody else needs the memory.
    """
    if entry.shared or entry.owner == LOCAL:
        return False
    if isinstance(entry.job, Study):  # its finished tasks are in the run store as they come
        return bool(entry.job.id) and not entry.job.problem
    return entry.keeper is not None and not entry.keeper.problem


_process: Registry | None = None
_process_lock = threading.Lock()


def process_registry() -> Registry:
    """Return the one registry of this process."""
    global _process
    with _process_lock:
        if _process is None:
            _process = Registry()
        return _process
