"""The runs of the process: found again after a reload, and stopped when nobody looks at them.

Runs belong to the process, not to a browser tab. Each is an `Entry` with two 128-bit names: its `id`, by which only its
owner finds it, and its `token`, the secret of a link that opens it read-only. The registry is their queue too
(`RunQueue`). `sweep`, called every second, stops runs that nobody has looked at for a while.

Ended runs stay in memory until their memory is needed, because owners leave without notice. When nobody has visited the
server for a while, runs that are in the run store too and on no open page are dropped; an owner who returns opens them
from the store by the same id.
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
from alrviz.explorer.server.limits import ServerLimits, is_within, limits_from
from alrviz.explorer.server.run_queue import Entry, RunQueue
from alrviz.explorer.server.tables import UploadedTables
from alrviz.explorer.server.visitor_ids import LOCAL, new_id
from alrviz.job import Job
from alrviz.memory import give_back
from alrviz.stop import StopToken
from alrviz.studies.core.study import Study
from alrviz.studies.race.race import Race

GC_SWEEPS = 10  # sweeps after dropping runs until memory is collected again: their threads end later
_MAX_VISITORS = 10_000  # owners that `has_visited` knows
UNATTENDED = "stopped: nobody looked at it for {time}"


class CapReached(AlrvizError):
    """A job exceeds a server's limits by itself, such as a race larger than all memory for runs."""


class Registry(RunQueue):
    """All runs of a process.

    Args:
        limits: limits of runs and tables.
        clock: seconds, monotonic.
        timer: whether a thread sweeps once a second while there is an active run or a class.

    Attributes:
        tables: uploaded tables of all owners.
        classes: classes of all owners.
    """

    def __init__(
        self, limits: ServerLimits | None = None, clock: Callable[[], float] = time.monotonic, timer: bool = True
    ):
        super().__init__(limits or limits_from(), clock)
        self.tables = UploadedTables(self.limits, clock)
        self.classes = Classes(clock, self.wake)
        self._timer = timer
        self._last_visit = clock()  # of any visitor
        self._visitors: dict[str, None] = {}  # owners, the latest last
        self._gc_countdown = 0  # sweeps until memory is collected again
        self._open_pages: weakref.WeakSet[ShownRuns] = weakref.WeakSet()
        self._sweeper: Job[None] | None = None

    def add(self, job: Race | Study, owner: str, *, bytes: int = 0, threads: int = 1) -> Entry:
        """Add a job that was not started, and return its entry.

        owner: the visitor's id, for fair queues. bytes, threads: what the job takes while it runs, as estimated.

        Raises:
            CapReached: if the job needs more memory than the server gives all runs together.
        """
        if not is_within(bytes, self.limits.memory):
            subject, remedy = ("the workers of this study need", "a smaller table")
            if not isinstance(job, Study):
                subject, remedy = ("this race needs", "fewer racers")
            raise CapReached(
                f"{subject} about {bytes / 1e9:.1f} GB, and this server has {(self.limits.memory or 0) / 1e9:.1f} GB "
                f"for all runs together; choose a lower order or {remedy}"
            )
        threads = min(threads, self.limits.threads or threads)
        job.entry = entry = Entry(job, owner, self, bytes, threads, last_look=self.clock())
        self.add_entry(entry)
        return entry

    def find(self, id: str, owner: str) -> Entry | None:
        """Return the owner's entry of this id, None without one; nobody else finds it."""
        entry = self.entry_by_id.get(id)
        return entry if entry is not None and entry.owner == owner else None

    def entries(self, owner: str) -> list[Entry]:
        """Return all entries of an owner, the oldest first."""
        return [entry for entry in list(self.entry_by_id.values()) if entry.owner == owner]

    def find_by_token(self, token: str) -> Entry | None:
        """Return the entry whose read-only link holds `token`; None without one."""
        return next((e for e in list(self.entry_by_id.values()) if secrets.compare_digest(e.token, token)), None)

    def share_link(self, entry: Entry) -> str:
        """Return the token of an entry's link, and note that it was given away."""
        with self.lock:
            self.add_entry(entry)
            entry.is_shared = True
            return entry.token

    def revoke_link(self, entry: Entry) -> None:
        """End an entry's link; the next one gets another token."""
        entry.token, entry.is_shared = new_id(), False

    def transfer_link(self, old: Entry, new: Entry) -> None:
        """Let a shared link lead to the run that replaces its run."""
        if old.is_shared:
            new.token, new.is_shared = old.token, True
            self.revoke_link(old)

    def note_address(self, owner: str, address: str) -> None:
        """Note the address of an owner, for fair shares: cookies can be made at will, addresses cannot."""
        with self.lock:
            self.shares.note_address(owner, address)

    def note_look(self, entry: Entry) -> None:
        """Note that somebody looks at an entry now."""
        entry.last_look = self._last_visit = self.clock()

    def note_visit(self, owner: str) -> None:
        """Note that an owner's browser is connected."""
        self._last_visit = self.clock()
        self._visitors.pop(owner, None)
        self._visitors[owner] = None
        if len(self._visitors) > _MAX_VISITORS:
            del self._visitors[next(iter(self._visitors))]

    def has_visited(self, owner: str) -> bool:
        """Return whether an owner's browser was connected before."""
        return owner in self._visitors

    def add_page(self, runs: "ShownRuns") -> None:
        """Note that a page is open: the runs that it shows are not dropped."""
        with self.lock:
            self._open_pages.add(runs)

    def remove_page(self, runs: "ShownRuns") -> None:
        """Note that a page is closed."""
        with self.lock:
            self._open_pages.discard(runs)

    def sweep(self) -> None:
        """Stop runs that nobody looks at, start queued ones, drop runs that are stored, and end idle classes."""
        self.classes.sweep()
        with self.lock:
            current_time, idle_seconds, keep_hours = self.clock(), self.limits.idle, self.limits.hours
            keep_seconds = None if keep_hours is None else keep_hours * 3600
            for entry in list(self.entry_by_id.values()):
                max_seconds = keep_seconds if entry.keep else idle_seconds
                is_active = entry.under_way or entry.in_queue
                if is_active and max_seconds is not None and current_time - entry.last_look > max_seconds:
                    time_text = f"{keep_hours} h" if entry.keep else f"{idle_seconds} s"
                    self.end(entry, UNATTENDED.format(time=time_text))
            self.admit()
            n_dropped = self._drop_stored(current_time)
            self._gc_countdown = GC_SWEEPS if n_dropped else max(self._gc_countdown - 1, 0)
            is_last_look = self._gc_countdown == 1  # by now the threads of dropped runs and their callbacks have ended
        if n_dropped or is_last_look:  # without the lock: collecting takes a third of a second
            gc.collect()
            give_back()

    def _drop_stored(self, current_time: float) -> int:
        """Drop runs that are in the run store too, if nobody has visited for a while; return their number."""
        idle_seconds = self.limits.idle
        if idle_seconds is None or current_time - self._last_visit <= idle_seconds:
            return 0
        oldest_look = current_time - idle_seconds
        shown_ids = {entry.id for runs in self._open_pages for entry in runs.entries}
        dropped_entries = [
            e for e in self.entry_by_id.values() if e.id not in shown_ids and self._can_drop(e, oldest_look)
        ]
        for entry in dropped_entries:
            del self.entry_by_id[entry.id]
        return len(dropped_entries)

    def _can_drop(self, entry: Entry, since: float) -> bool:
        """Return whether a run is inactive, was not looked at since a time, and is stored completely."""
        if entry.last_look > since or entry.screens or entry.under_way or entry.in_queue or not _is_droppable(entry):
            return False
        return isinstance(entry.job, Study) or bool(entry.job.ended and entry.keeper and entry.keeper.stored)

    def wake(self) -> None:
        """Sweep once a second from now on, until there is no active run and no class."""
        if not self._timer:
            return
        with self.lock:
            if self._sweeper is None or not self._sweeper.alive:
                self._sweeper = Job(self._run_sweeper, "alrviz-registry")
                self._sweeper.start()

    def _run_sweeper(self, stop: StopToken) -> None:
        while True:
            stop.rest(1.0)
            self.sweep()
            with self.lock:
                entries = self.entry_by_id.values()
                has_work = any(e.under_way or (_is_droppable(e) and self.limits.idle) for e in entries)
                if not (self.queued_entries or has_work or self._gc_countdown or self.classes.count):
                    self._sweeper = None
                    return


class ShownRuns(Protocol):
    """The runs that an open page shows."""

    @property
    def entries(self) -> Iterable[Entry]:
        """Entries of all runs shown."""


def _is_droppable(entry: Entry) -> bool:
    """Return whether a run may be dropped from memory, because the run store has it.

    Runs with a shared link stay, and so do all runs on a single user's machine, where nobody else needs the memory.
    """
    if entry.is_shared or entry.owner == LOCAL:
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
