"""The queue of a server's jobs: which job computes next, given the limits and each owner's past use of the machine.

A page starts a job through its `Entry`. The job waits in the queue while a limit (runs, threads, memory) is reached.
The owner who has used the machine least comes first (`Shares`), then first come, first served; an owner at the limit of
running jobs is skipped. A job whose turn is over while others wait is paused and queued again (rotated out), so long
jobs take turns and short ones end within their first turn. `admit`, called every second, ends turns and starts jobs.

Runs grow with every step. If all runs together exceed the memory for them, and no inactive run can be dropped, the run
with the largest steps is stopped.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import sqrt
from typing import cast

from alrviz.explorer.server.limits import ServerLimits, is_within
from alrviz.explorer.server.visitor_ids import new_id
from alrviz.studies.core.study import Study
from alrviz.studies.race.race import Race
from alrviz.studies.race.race_store import RaceKeeper

ROUND_SECONDS = 30.0  # within which every waiting job should get a turn
TURN_SECONDS = (2.0, 10.0)  # shortest and longest turn
MADE_ROOM = "stopped: it made room for others"
MEMORY_FULL = "stopped: the server's memory for runs is full"
ABOVE_SHARE = "stopped: others waited, and it was above its owner's share of the memory for runs"
_STOPPER_BY_NOTE = {
    MEMORY_FULL: "the server, whose memory for runs is full,",
    ABOVE_SHARE: "the server (others waited, and you held more than your share of its memory for runs)",
}  # by note
STUDY_TURN_LENGTH = 6.0  # relative to a race's: pausing a study ends its fits and processes
HALF_LIFE_SECONDS = 300.0  # after which past use of the machine counts half
MAX_ADDRESSES = 10_000  # owners whose addresses are held
FORGOTTEN_SECONDS = 1e-3


@dataclass(eq=False)
class Entry:
    """A job of the process, with its owner and its place in the queue.

    Pages start, pause, step and stop the job through its entry, never directly, so that the queue can schedule it.

    Attributes:
        job: a race or a study.
        owner: id of the visitor to whom it belongs.
        id: name by which only its owner finds it.
        token: secret of its read-only link.
        bytes, threads: estimates made before the start; `n_bytes` is more precise once the job has prepared.
        keep: "continue when I close", for as many hours as the limits allow.
        in_queue: whether it waits in the queue.
        steps: single steps to take at the next start; 0 to run on.
        rotated_out: whether it was paused by the queue because its turn is over.
        busy_seconds: time that it has computed.
        turn_start: when its turn began, by the queue's clock.
        was_started: whether it has ever had a place.
        note: why the server stopped it; "" if it did not.
        is_shared: whether its link was given to somebody.
        keeper: saves it to the run store; None if nothing does.
        screens: the owner's pages that show it now.
        was_on_screen: whether a page of the owner has ever shown it.
        rest_reason: why those pages show nothing new: "paused", "away" (another page is in front), or "".
        last_seen_iteration: last iteration that any page of the owner has shown.
        last_look: when a visitor last looked at it, by the queue's clock.
    """

    job: Race | Study
    owner: str
    queue: "RunQueue" = field(repr=False)
    bytes: int = 0
    threads: int = 1
    keep: bool = False
    id: str = field(default_factory=new_id)
    token: str = field(default_factory=new_id)
    in_queue: bool = False
    steps: int = 0
    rotated_out: bool = False
    busy_seconds: float = 0.0
    turn_start: float = 0.0
    was_started: bool = False
    note: str = ""
    is_shared: bool = False
    keeper: RaceKeeper | None = None
    screens: set[int] = field(default_factory=set)
    was_on_screen: bool = False
    rest_reason: str = ""
    last_seen_iteration: int = -1
    last_look: float = 0.0

    @property
    def n_bytes(self) -> int:
        """Memory in bytes: the estimates of its runs, with their recorded weights and score tables, and its steps."""
        estimates = [getattr(run, "estimate", None) for run in self.job.runs]
        reserved_bytes = sum(estimate.reserved_bytes for estimate in estimates if estimate is not None)
        return max(self.bytes, reserved_bytes) + self.step_bytes

    @property
    def step_bytes(self) -> int:
        """Bytes of its recorded steps."""
        return sum(run.trace.bytes for run in self.job.runs)

    @property
    def server_words(self) -> str:
        """The server in words, as the one who stopped the job; "" if it did not."""
        return _STOPPER_BY_NOTE.get(self.note, "the server") if self.note else ""

    @property
    def turn_length(self) -> float:
        """Length of its turn relative to a race's."""
        return STUDY_TURN_LENGTH if isinstance(self.job, Study) else 1.0

    @property
    def visible_until(self) -> int | None:
        """The last iteration that readers of its link may see: never more than its owner's screen has shown.

        None (no limit) if no page of the owner has ever shown it, or if it continues after its owner has left.
        """
        follows = self.was_on_screen and (bool(self.screens) or not self.keep)
        limits = [
            limit for limit in (self.last_seen_iteration if follows else None, self.job.stopped_at) if limit is not None
        ]
        return min(limits, default=None)

    @property
    def under_way(self) -> bool:
        """Whether the job may be computing."""
        return self.was_started and self.job.phase in ("preparing", "running")

    # -- control by its owner -----------------------------------------------------------------------------------------

    def start(self, steps: int = 0) -> None:
        """Start or resume the job as soon as it has a place.

        steps: number of steps before it pauses; 0 to run on. A started job takes single steps without a place.
        """
        queue = self.queue
        with queue.lock:
            if self.job.ended or (not steps and self.under_way and not self.rotated_out):
                return
            queue.add_entry(self)
            self.last_look = queue.clock()
            if steps and self.was_started and not self.in_queue:
                cast("Race", self.job).step(steps)
            else:
                self.note, self.steps = "", self.steps + steps if steps else 0
                if not self.in_queue:
                    self.in_queue = True
                    queue.queued_entries.append(self)
                queue.start_next()
        queue.wake()

    def step(self, count: int = 1) -> None:
        """Take single steps; the first steps of a race wait for a place, like `start`."""
        self.start(count)

    def pause(self) -> None:
        """Pause the job and release its place."""
        self.job.pause()
        self.queue.release(self)

    def stop(self) -> None:
        """Stop the job and release its place."""
        self.job.stop()
        self.queue.release(self)

    @property
    def phase(self) -> str:
        """The job's phase; "queued" while it waits for a place, and "running" while it is rotated out."""
        if self.rotated_out:
            return "running" if any(len(run.trace) for run in self.job.runs) else "preparing"
        return "queued" if self.in_queue else self.job.phase

    @property
    def place(self) -> int:
        """Place in the queue, from 1; 0 if it is not in the queue."""
        with self.queue.lock:
            return self.queue.queued_entries.index(self) + 1 if self in self.queue.queued_entries else 0

    @property
    def turn(self) -> int:
        """Place in the queue while it is rotated out; else 0."""
        return self.place if self.rotated_out else 0

    @property
    def activity(self) -> str:
        """The job's activity, or its place in the queue, in words."""
        place = self.place
        if not place:
            return self.job.activity
        activity = "taking turns" if self.rotated_out else "waiting for a free place"
        return f"{activity}: number {place} in the queue"

    @property
    def stopped_by(self) -> str:
        """The one who stopped the job, in words, for the sentence under a race."""
        return self.server_words or "you"


class Shares:
    """Each owner's past use of the machine; the owner who has used it least is next. The caller holds a lock.

    Seconds of computing count, and lose half their weight every `HALF_LIFE_SECONDS`. So a new visitor goes before those
    who have been computing for minutes, short jobs are done soon, and nobody waits for ever.

    New cookies are free, so the seconds of an owner are multiplied by the square root of the number of active owners at
    the same address: six cookies get 2.4 times the share of one visitor elsewhere instead of six times, while a class
    of thirty behind one router keeps most of its share. Memory is not used in turns; there an address counts as one
    visitor, and its owners divide its share.

    Rejected: the pools of loky and pebble and semaphores, which serve first come, first served.
    """

    def __init__(self, current_time: float):
        self._last_charge = current_time
        self._seconds: dict[str, float] = {}
        self._addresses: dict[str, str] = {}
        self._active_owners: dict[str, set[str]] = {}

    def note_address(self, owner: str, address: str) -> None:
        """Note the address of an owner."""
        self._addresses.pop(owner, None)
        self._addresses[owner] = address
        while len(self._addresses) > MAX_ADDRESSES:  # the one not seen for longest
            del self._addresses[next(iter(self._addresses))]

    def charge_time(self, current_time: float, running: Iterable[str], active: Iterable[str]) -> float:
        """Add the time since the last call to the owners of running jobs; return that time in seconds.

        Args:
            current_time: by the clock, in seconds.
            running: owner of each running job.
            active: owners of all running and waiting jobs.
        """
        passed_seconds, self._last_charge = max(current_time - self._last_charge, 0.0), current_time
        decay_factor = 0.5 ** (passed_seconds / HALF_LIFE_SECONDS)
        decayed_seconds = {owner: seconds * decay_factor for owner, seconds in self._seconds.items()}
        self._seconds = {owner: seconds for owner, seconds in decayed_seconds.items() if seconds > FORGOTTEN_SECONDS}
        for owner in running:
            self._seconds[owner] = self._seconds.get(owner, 0.0) + passed_seconds
        self._active_owners = {}
        for owner in active:
            self._active_owners.setdefault(self._addresses.get(owner, owner), set()).add(owner)
        return passed_seconds

    def fair_fractions(self, owners: Iterable[str]) -> dict[str, float]:
        """Return each owner's fair fraction of a resource: equal for addresses, and for the owners at an address."""
        owners_by_address: dict[str, list[str]] = {}
        for owner in dict.fromkeys(owners):
            owners_by_address.setdefault(self._addresses.get(owner, owner), []).append(owner)
        n_addresses = len(owners_by_address)
        return {owner: 1 / n_addresses / len(group) for group in owners_by_address.values() for owner in group}

    def weighted_seconds(self, owner: str) -> float:
        """Return an owner's past seconds of computing, decayed and weighted by the owners at the same address."""
        owners_at_address = self._active_owners.get(self._addresses.get(owner, owner), ())
        return self._seconds.get(owner, 0.0) * sqrt(max(len(owners_at_address), 1))


class RunQueue:
    """The jobs of a process that are computing or waiting.

    Args:
        limits: numbers of running jobs, threads and bytes, of one owner and in all.
        clock: seconds, monotonic.

    Attributes:
        entry_by_id: all entries of the process; dropped entries are removed.
        queued_entries: entries in the queue.
        lock: to be held while entries change.
        shares: each owner's past use of the machine.
    """

    def __init__(self, limits: ServerLimits, clock: Callable[[], float]):
        self.limits, self.clock = limits, clock
        self.entry_by_id: dict[str, Entry] = {}
        self.shares = Shares(clock())
        self.lock = threading.RLock()
        self.queued_entries: list[Entry] = []

    def wake(self) -> None:
        """Called when a job may have started: the registry calls `sweep`, and so `admit`, regularly from then on."""

    def add_entry(self, entry: Entry) -> None:
        """Add an entry, unless it is there, and drop its owner's oldest inactive jobs beyond the limit `kept`.

        A page may still show an entry that was dropped, and start it again.
        """
        with self.lock:
            if entry.id in self.entry_by_id:
                return
            self.entry_by_id[entry.id] = entry
            owned_entries = [e for e in self.entry_by_id.values() if e.owner == entry.owner]
            resting_entries = [e for e in owned_entries if not e.under_way and not e.in_queue]
            n_surplus = len(resting_entries) - self.limits.kept if self.limits.kept is not None else 0
            for dropped_entry in resting_entries[: max(n_surplus, 0)]:
                self.end(dropped_entry)
                del self.entry_by_id[dropped_entry.id]

    def release(self, entry: Entry) -> None:
        """Remove a paused or stopped job from the queue, and start the next one."""
        with self.lock:
            self._unqueue(entry)
            self.start_next()

    def admit(self) -> None:
        """Stop a run if memory is full, end turns, and start jobs for which there is a place."""
        with self.lock:
            self._charge_running_time()
            self._end_largest()
            self._end_turns()
            self.start_next()

    def end(self, entry: Entry, note: str = MADE_ROOM) -> None:
        """Stop a job, with the reason in `note`, and remove it from the queue."""
        self._unqueue(entry)
        if not entry.job.ended:
            entry.note = note
            entry.job.stop()

    def _charge_running_time(self) -> None:
        """Charge the time since the last call to running jobs and their owners."""
        running_entries = [e for e in self.entry_by_id.values() if e.under_way]
        owners = [entry.owner for entry in running_entries]
        passed_seconds = self.shares.charge_time(
            self.clock(), owners, [*owners, *(entry.owner for entry in self.queued_entries)]
        )
        for entry in running_entries:
            entry.busy_seconds += passed_seconds

    def _priority(self, entry: Entry) -> tuple[float, float]:
        """Return the sort key of the queue: lowest first; ties stay in their order."""
        return self.shares.weighted_seconds(entry.owner), entry.busy_seconds

    def _end_turns(self) -> None:
        """Rotate out jobs whose turn is over, if a waiting job with a lower priority key can take the place."""
        waiting_entries = [entry for entry in self.queued_entries if not entry.under_way]
        if not waiting_entries:
            return
        running_entries = [e for e in self.entry_by_id.values() if e.under_way]
        shortest_turn, longest_turn = TURN_SECONDS
        n_jobs = len(running_entries) + len(waiting_entries)
        turn_seconds = min(max(ROUND_SECONDS * len(running_entries) / n_jobs, shortest_turn), longest_turn)
        expired_entries = [
            e
            for e in running_entries
            if not e.rotated_out and self.clock() - e.turn_start >= turn_seconds * e.turn_length
        ]
        for entry in sorted(expired_entries, key=self._priority, reverse=True):
            remaining_entries = [e for e in running_entries if e is not entry]
            candidates = (e for e in waiting_entries if self._priority(e) < self._priority(entry))
            successor = next(
                (e for e in candidates if self._has_place(e, remaining_entries) and self._plan_drops(e)[1]), None
            )
            if successor is None:
                continue
            waiting_entries.remove(successor)
            running_entries = [*remaining_entries, successor]
            entry.rotated_out = entry.in_queue = True
            self.queued_entries.append(entry)
            entry.job.pause()

    def _end_largest(self) -> None:
        """Stop the run with the largest steps if memory is full; once stopped, it can be dropped."""
        if not self._make_room():
            growing_entries = [e for e in self.entry_by_id.values() if e.step_bytes and (e.under_way or e.rotated_out)]
            if growing_entries:
                self.end(max(growing_entries, key=lambda e: e.step_bytes), MEMORY_FULL)

    def _unqueue(self, entry: Entry) -> None:
        """Remove a job from the queue, and forget its turn and its single steps."""
        entry.in_queue, entry.steps, entry.rotated_out = False, 0, False
        if entry in self.queued_entries:
            self.queued_entries.remove(entry)

    def start_next(self) -> None:
        """Start waiting jobs, in the order of the queue, as far as there are places and memory."""
        self._charge_running_time()
        self.queued_entries.sort(key=self._priority)
        for entry in list(self.queued_entries):
            if not entry.in_queue:
                continue  # ended to make room for an earlier one of this loop
            running_entries = [e for e in self.entry_by_id.values() if e.under_way]
            if entry not in running_entries and self._has_place(entry, running_entries) and self._make_room(entry):
                entry.was_started, entry.turn_start = True, self.clock()
                if entry.steps:
                    cast("Race", entry.job).step(entry.steps)
                else:
                    entry.job.start()
                self._unqueue(entry)  # last, so that other threads always see it in the queue or under way

    def _has_place(self, entry: Entry, running: list[Entry]) -> bool:
        """Return whether the limits on runs and threads allow one more job beside the `running` ones."""
        limits = self.limits
        return (
            is_within(len(running) + 1, limits.runs)
            and is_within(sum(e.owner == entry.owner for e in running) + 1, limits.owner_runs)
            and (not running or is_within(sum(e.threads for e in running) + entry.threads, limits.threads))
        )

    def _make_room(self, entry: Entry | None = None) -> bool:
        """Drop the entries of `_plan_drops`; return whether there is memory now."""
        drops, has_room = self._plan_drops(entry)
        for dropped_entry, note in drops.items():
            self.end(dropped_entry, note)
            self.entry_by_id.pop(dropped_entry.id, None)
        return has_room

    def _plan_drops(self, entry: Entry | None = None) -> tuple[dict[Entry, str], bool]:
        """Return which entries to drop for a job, each with the reason, and whether there is memory then.

        Inactive jobs (ended, or paused and not looked at) are dropped first, then jobs of owners above their fair share
        if the job's own owner is within it. Jobs that were rotated out are not inactive.

        entry: the job; None for the steps of all jobs, for which only inactive jobs are dropped.
        """
        current_time, idle_seconds, memory_limit = self.clock(), self.limits.idle, self.limits.memory
        other_entries = (e for e in self.entry_by_id.values() if e is not entry)
        bytes_by_entry = {e: e.n_bytes for e in other_entries if e.was_started or e.step_bytes}
        used_bytes = sum(bytes_by_entry.values()) + (0 if entry is None else entry.n_bytes)
        excess_bytes = 0 if memory_limit is None else used_bytes - memory_limit
        unseen_entries = [
            e
            for e in bytes_by_entry
            if e.job.ended or (idle_seconds is not None and current_time - e.last_look > idle_seconds and not e.keep)
        ]
        inactive_entries = (e for e in unseen_entries if not e.under_way and not e.in_queue)
        drops: dict[Entry, str] = {}
        for e in sorted(inactive_entries, key=lambda e: (not e.job.ended, e.last_look)):
            if excess_bytes > 0:
                drops[e] = MADE_ROOM
                excess_bytes -= bytes_by_entry.pop(e)
        if excess_bytes <= 0 or entry is None:
            return drops, excess_bytes <= 0
        stopped_entries = self._entries_above_share(entry, bytes_by_entry, excess_bytes)
        return drops | dict.fromkeys(stopped_entries, ABOVE_SHARE), bool(stopped_entries)

    def _entries_above_share(self, entry: Entry, bytes_by_entry: dict[Entry, int], excess_bytes: int) -> list[Entry]:
        """Return the jobs of other owners to be stopped for one whose owner is within its fair share of the memory.

        They belong to owners above their share (`Shares.fair_fractions`): first paused jobs, the one looked at longest
        ago first, then jobs that have computed for a round, running or rotated out. Empty if they free too little.
        Without this a page that stays open would hold a paused job's memory for hours.

        Args:
            entry: the job that needs memory.
            bytes_by_entry: bytes of the other jobs.
            excess_bytes: bytes to be freed.
        """
        owner_bytes = Counter({entry.owner: entry.n_bytes})
        for e, entry_bytes in bytes_by_entry.items():
            owner_bytes[e.owner] += entry_bytes
        fraction_by_owner, memory_limit = self.shares.fair_fractions(owner_bytes), self.limits.memory or 0
        if owner_bytes[entry.owner] > fraction_by_owner[entry.owner] * memory_limit:
            return []
        paused_entries = [e for e in bytes_by_entry if not e.under_way and not e.in_queue]
        # In seconds of computing, not since the turn began: a turn is shorter than a round.
        busy_entries = [
            e for e in bytes_by_entry if e not in paused_entries and e.busy_seconds >= ROUND_SECONDS * e.turn_length
        ]
        stopped_entries = list[Entry]()
        for e in (*sorted(paused_entries, key=lambda e: e.last_look), *sorted(busy_entries, key=lambda e: e.last_look)):
            if excess_bytes > 0 and owner_bytes[e.owner] > fraction_by_owner[e.owner] * memory_limit:
                stopped_entries.append(e)
                owner_bytes[e.owner] -= bytes_by_entry[e]
                excess_bytes -= bytes_by_entry[e]
        return stopped_entries if excess_bytes <= 0 else []
