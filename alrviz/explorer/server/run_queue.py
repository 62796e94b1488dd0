"""The queue of a server's jobs: who computes next, by memory, threads and each owner's past share of both.

An `Entry` is one job and what the process knows of it. Whoever wants a job to go on asks the queue, through the entry;
where a limit is reached the job waits. Whoever has had least of the machine is first (`Shares`), then who came first;
an owner who has as many under way as one may have is passed over. A job that has had its turn while others wait is
paused and queues again: long jobs take turns, short ones end within theirs. `admit` does what time brings: it ends
turns and hands free places on.

A run grows with every step: where all together have outgrown the memory for them, and nothing that rests can make room,
the one whose steps take most is ended and says why.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import sqrt
from typing import cast

from alrviz.explorer.server.limits import ServerLimits, below
from alrviz.explorer.server.visitor_ids import new_id
from alrviz.studies.core.study import Study
from alrviz.studies.race.race import Race
from alrviz.studies.race.race_store import RaceKeeper

ROUND_SECONDS = 30.0  # seconds within which everybody who waits shall have a turn
TURN_SECONDS = (2.0, 10.0)  # seconds that a turn lasts at least and at most
MADE_ROOM = "stopped: it made room for others"
MEMORY_FULL = "stopped: the server's memory for runs is full"
ABOVE_SHARE = "stopped: others waited, and it was above its owner's share of the memory for runs"
_WORDS = {
    MEMORY_FULL: "the server, whose memory for runs is full,",
    ABOVE_SHARE: "the server (others waited, and you held more than your share of its memory for runs)",
}  # what a reader is told of who stopped a run, by its note
STUDY_TURNS = 6.0
HALF_LIFE_SECONDS = 300.0  # of what an owner has had
MAX_ADDRESSES = 10_000  # owners whose addresses are known
FORGOTTEN_SECONDS = 1e-3


@dataclass(eq=False)
class Entry:
    """One job and what the process knows of it.

    Its owner's pages start, pause, step and stop the job by it, so that the queue knows whose turn it is.

    Attributes:
        job: what is run.
        owner, id, token: whose it is, its name, the secret of its read-only link.
        bytes, threads: what was estimated beforehand; a run that has prepared knows its bytes better.
        keep: "continue when I close", for as many hours as the limits allow.
        wanted: whether it is waiting in the queue.
        steps: the single steps it waits to take; 0 when it waits to go on.
        turned: whether it waits because others have their turn.
        used: seconds that it was under way; `since` is when its turn began.
        note: why the server stopped it, or "".
        shared: whether somebody was shown its link.
        keeper: keeps it in the run store, or nothing does.
        screens: the owner's pages that show it now. attended: whether one ever did.
        resting: why they show nothing new: "paused" by hand, "away" (another page is in front), or "".
        last_seen_iteration: the last iteration of it that any of them has had on its screen.
    """

    job: Race | Study
    owner: str
    queue: "RunQueue" = field(repr=False)
    bytes: int = 0
    threads: int = 1
    keep: bool = False
    id: str = field(default_factory=new_id)
    token: str = field(default_factory=new_id)
    wanted: bool = False
    steps: int = 0
    turned: bool = False
    used: float = 0.0
    since: float = 0.0
    begun: bool = False
    note: str = ""
    shared: bool = False
    keeper: RaceKeeper | None = None
    screens: set[int] = field(default_factory=set)
    attended: bool = False
    resting: str = ""
    last_seen_iteration: int = -1
    seen: float = 0.0

    @property
    def size(self) -> int:
        """Bytes it takes, as far as is known: estimated of its runs, with the weights kept along the way and the tables
        that its models score rows with; and its steps.
        """
        known = [getattr(run, "estimate", None) for run in self.job.runs]
        return max(self.bytes, sum(one.reserved_bytes for one in known if one is not None)) + self.grown

    @property
    def grown(self) -> int:
        """Bytes of the steps it has taken."""
        return sum(run.trace.bytes for run in self.job.runs)

    @property
    def server_words(self) -> str:
        """How the server is called that stopped it; "" where the server did not."""
        return _WORDS.get(self.note, "the server") if self.note else ""

    @property
    def turns(self) -> float:
        """How many turns of others it has at a time: to pause a study ends fits and processes, which start anew."""
        return STUDY_TURNS if isinstance(self.job, Study) else 1.0

    @property
    def visible_until(self) -> int | None:
        """The last iteration that those with its link may see: never more than its owner's screen has shown.

        None, all of it, where no screen of the owner's ever showed it, or where it goes on after its owner has left.
        """
        follows = self.attended and (bool(self.screens) or not self.keep)
        limits = [
            limit for limit in (self.last_seen_iteration if follows else None, self.job.stopped_at) if limit is not None
        ]
        return min(limits, default=None)

    @property
    def under_way(self) -> bool:
        """Whether its thread may be computing."""
        return self.begun and self.job.phase in ("preparing", "running")

    # -- what its owner does with it ----------------------------------------------------------------------------------

    def start(self, steps: int = 0) -> None:
        """Start or resume the job, at once or as soon as there is a place for it.

        steps: how many it is to take before it pauses, 0 for all; one that has its memory already takes them at once.
        """
        queue = self.queue
        with queue.lock:
            if self.job.ended or (not steps and self.under_way and not self.turned):
                return
            queue.hold(self)
            self.seen = queue.clock()
            if steps and self.begun and not self.wanted:
                cast("Race", self.job).step(steps)
            else:
                self.note, self.steps = "", self.steps + steps if steps else 0
                if not self.wanted:
                    self.wanted = True
                    queue.waiting.append(self)
                queue.start_next()
        queue.woken()

    def step(self, count: int = 1) -> None:
        """Take single steps; the first of a race waits for a place, as `start` does."""
        self.start(count)

    def pause(self) -> None:
        """Pause, and give the place to the next in the queue."""
        self.job.pause()
        self.queue.release(self)

    def stop(self) -> None:
        """Stop at once, and give the place to the next in the queue."""
        self.job.stop()
        self.queue.release(self)

    @property
    def phase(self) -> str:
        """The job's phase, or "waiting" while it queues; while others have their turn it is "running" still."""
        if self.turned:
            return "running" if any(len(run.trace) for run in self.job.runs) else "preparing"
        return "waiting" if self.wanted else self.job.phase

    @property
    def place(self) -> int:
        """Its place in the queue, from 1; 0 when it does not wait."""
        with self.queue.lock:
            return self.queue.waiting.index(self) + 1 if self in self.queue.waiting else 0

    @property
    def turn(self) -> int:
        """Its place among those who wait for their turn; 0 while it has it."""
        return self.place if self.turned else 0

    @property
    def queued(self) -> bool:
        """Whether it waits for a free place."""
        return not self.turned and self.place > 0

    @property
    def activity(self) -> str:
        """What the job is doing, or its place in the queue."""
        place = self.place
        if not place:
            return self.job.activity
        what = "taking turns" if self.turned else "waiting for a free place"
        return f"{what}: number {place} in the queue"

    @property
    def stopped_by(self) -> str:
        """Who stopped it, if it was stopped, as a word for whoever looks on."""
        return self.server_words or "you"


class Shares:
    """What each owner has had of the machine: who has had least is next; the caller holds a lock and tells the time.

    Seconds under way count, and lose half their weight every `HALF_LIFE_SECONDS`: a visitor who comes now goes before
    those who have been computing for minutes, so that short work is soon done, and nobody waits for ever. Owners of one
    address (cookies cost nothing) count dearer, by the square root of how many of them are active: six cookies have
    2.4 times the share of one visitor elsewhere and not six times, and a class of thirty behind one router keeps most
    of its own. Memory is held and not had in turns, so there an address counts as one visitor, and its owners divide
    its share. A pool of loky or pebble, or a semaphore, serves whoever came first.
    """

    def __init__(self, now: float):
        self._now = now
        self._seconds: dict[str, float] = {}
        self._address: dict[str, str] = {}
        self._active: dict[str, set[str]] = {}

    def at(self, owner: str, address: str) -> None:
        """Note where an owner was last seen."""
        self._address.pop(owner, None)
        self._address[owner] = address
        while len(self._address) > MAX_ADDRESSES:  # the one not seen for longest
            del self._address[next(iter(self._address))]

    def count(self, now: float, running: Iterable[str], active: Iterable[str]) -> float:
        """Count the time since the last call for the owners of what runs, once for each run; return that time.

        `active`: owners of all that runs or waits.
        """
        passed, self._now = max(now - self._now, 0.0), now
        left = 0.5 ** (passed / HALF_LIFE_SECONDS)
        self._seconds = {owner: had * left for owner, had in self._seconds.items() if had * left > FORGOTTEN_SECONDS}
        for owner in running:
            self._seconds[owner] = self._seconds.get(owner, 0.0) + passed
        self._active = {}
        for owner in active:
            self._active.setdefault(self._address.get(owner, owner), set()).add(owner)
        return passed

    def split(self, owners: Iterable[str]) -> dict[str, float]:
        """Return the fraction of a whole that is each owner's: equal for addresses, and for the owners of each."""
        at: dict[str, list[str]] = {}
        for owner in dict.fromkeys(owners):
            at.setdefault(self._address.get(owner, owner), []).append(owner)
        return {owner: 1 / len(at) / len(neighbours) for neighbours in at.values() for owner in neighbours}

    def had(self, owner: str) -> float:
        """Return the seconds that an owner has had, weighed."""
        neighbours = self._active.get(self._address.get(owner, owner), ())
        return self._seconds.get(owner, 0.0) * sqrt(max(len(neighbours), 1))


class RunQueue:
    """The jobs of a process that compute, or wait to.

    Args:
        limits: how many at once, of one owner and in all, their threads and their memory.
        clock: seconds, monotonic.
        hold: called with an entry that is to compute: it may have been dropped since it was added.
        woken: called when something may compute from now on.

    Attributes:
        entries: what the process holds, by id; entries that make room for others are taken out.
        waiting: those that wait for a place or their turn.
        lock: held by whoever changes entries.
        shares: what each owner has had.
    """

    def __init__(
        self,
        limits: ServerLimits,
        clock: Callable[[], float],
        hold: Callable[[Entry], None],
        woken: Callable[[], None],
    ):
        self.limits, self.clock, self.hold, self.woken = limits, clock, hold, woken
        self.entries: dict[str, Entry] = {}
        self.shares = Shares(clock())
        self.lock = threading.RLock()
        self.waiting: list[Entry] = []

    def release(self, entry: Entry) -> None:
        """Take the run out of the queue, and give its place (it was paused or stopped) to the next."""
        with self.lock:
            self._unqueue(entry)
            self.start_next()

    def admit(self) -> None:
        """Do what time brings: end what has outgrown the memory, end turns, start what there is a place for."""
        with self.lock:
            self._count()
            self._end_grown()
            self._end_turns()
            self.start_next()

    def end(self, entry: Entry, note: str = MADE_ROOM) -> None:
        """Stop a job for the reason that `note` says, and take it out of the queue."""
        self._unqueue(entry)
        if not entry.job.ended:
            entry.note = note
            entry.job.stop()

    def _count(self) -> None:
        running = [e for e in self.entries.values() if e.under_way]
        owners = [entry.owner for entry in running]
        passed = self.shares.count(self.clock(), owners, [*owners, *(entry.owner for entry in self.waiting)])
        for entry in running:
            entry.used += passed

    def _had(self, entry: Entry) -> tuple[float, float]:
        """What decides who is next, the least first; equal ones as they came."""
        return self.shares.had(entry.owner), entry.used

    def _end_turns(self) -> None:
        """Pause runs whose turn is over, where somebody waits who has had less and can take the place."""
        waiting = [entry for entry in self.waiting if not entry.under_way]
        if not waiting:
            return
        running = [e for e in self.entries.values() if e.under_way]
        shortest, longest = TURN_SECONDS
        turn = min(max(ROUND_SECONDS * len(running) / (len(running) + len(waiting)), shortest), longest)
        over = [e for e in running if not e.turned and self.clock() - e.since >= turn * e.turns]
        for entry in sorted(over, key=self._had, reverse=True):
            others = [e for e in running if e is not entry]
            heirs = (e for e in waiting if self._had(e) < self._had(entry))
            heir = next((e for e in heirs if self._has_place(e, others) and self._has_room(e, make=False)), None)
            if heir is None:
                continue
            waiting.remove(heir)
            running = [*others, heir]
            entry.turned = entry.wanted = True
            self.waiting.append(entry)
            entry.job.pause()

    def _end_grown(self) -> None:
        """End the run whose steps take most, where there is no more memory for all; what it leaves can make room."""
        if not self._has_room():
            growing = [e for e in self.entries.values() if e.grown and (e.under_way or e.turned)]
            if growing:
                self.end(max(growing, key=lambda e: e.grown), MEMORY_FULL)

    def _unqueue(self, entry: Entry) -> None:
        entry.wanted, entry.steps, entry.turned = False, 0, False
        if entry in self.waiting:
            self.waiting.remove(entry)

    def start_next(self) -> None:
        """Start the jobs that there is a place for, first those of owners who have had least."""
        self._count()
        self.waiting.sort(key=self._had)
        for entry in list(self.waiting):
            if not entry.wanted:
                continue  # it was ended to make room for one before it
            running = [e for e in self.entries.values() if e.under_way]
            if entry not in running and self._has_place(entry, running) and self._has_room(entry):
                entry.begun, entry.since = True, self.clock()
                if entry.steps:
                    cast("Race", entry.job).step(entry.steps)
                else:
                    entry.job.start()
                self._unqueue(entry)  # last: whoever looks meanwhile sees it wanted or under way

    def _has_place(self, entry: Entry, running: list[Entry]) -> bool:
        caps = self.limits
        return (
            below(len(running) + 1, caps.runs)
            and below(sum(e.owner == entry.owner for e in running) + 1, caps.owner_runs)
            and (not running or below(sum(e.threads for e in running) + entry.threads, caps.threads))
        )

    def _has_room(self, entry: Entry | None = None, make: bool = True) -> bool:
        """Whether there is memory for the run, if need be that of runs which only rest: ended, or paused and unseen;
        or that of owners who hold more than their share, where its own owner does not.

        Without a run: for the steps of all that are held. With `make` that of those is made free; what waits for its
        turn does not rest.
        """
        held = [e for e in self.entries.values() if (e.begun or e.grown) and e is not entry]
        now, idle = self.clock(), self.limits.idle
        unseen = [e for e in held if e.job.ended or (idle is not None and now - e.seen > idle and not e.keep)]
        resting = sorted(
            (e for e in unseen if not e.under_way and not e.wanted), key=lambda e: (not e.job.ended, e.seen)
        )
        taken = sum(e.size for e in held) + (entry.size if entry is not None else 0)
        while not below(taken, self.limits.memory) and resting:
            oldest = resting.pop(0)
            taken -= oldest.size
            held.remove(oldest)
            if make:
                self.end(oldest)
                del self.entries[oldest.id]
        if entry is None or below(taken, self.limits.memory):
            return below(taken, self.limits.memory)
        yielding = self._above_share(entry, held)
        if make:
            for other in yielding:
                self.end(other, ABOVE_SHARE)
                self.entries.pop(other.id, None)
        return bool(yielding)

    def _above_share(self, entry: Entry, held: list[Entry]) -> list[Entry]:
        """Return the runs of others that give way to one whose owner keeps within its share of the memory
        (`Shares.split`); empty where that makes too little room.

        They are of owners above their share: first those that are paused by hand, the one seen longest ago first, then
        those that have computed for a round, whether they are under way or wait for their next turn. A page that stays
        open would hold a paused run's memory for hours otherwise.
        """
        assert self.limits.memory is not None, "there is room for all"
        sizes = {e: e.size for e in (*held, entry)}
        of_owner: dict[str, int] = {}
        for e, size in sizes.items():
            of_owner[e.owner] = of_owner.get(e.owner, 0) + size
        shares = {owner: part * self.limits.memory for owner, part in self.shares.split(of_owner).items()}
        needed = sum(sizes.values()) - self.limits.memory
        if of_owner[entry.owner] > shares[entry.owner]:
            return []
        yielding, paused = list[Entry](), [e for e in held if not e.under_way and not e.wanted]
        # By seconds of computing: a turn is shorter than a round, so runs that rotate never compute for one at a time.
        busy = [e for e in held if e not in paused and e.used >= ROUND_SECONDS * e.turns]
        for other in (*sorted(paused, key=lambda e: e.seen), *sorted(busy, key=lambda e: e.seen)):
            if needed > 0 and of_owner[other.owner] > shares[other.owner]:
                yielding.append(other)
                of_owner[other.owner] -= sizes[other]
                needed -= sizes[other]
        return yielding if needed <= 0 else []
