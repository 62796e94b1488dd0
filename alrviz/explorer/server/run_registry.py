"""The runs of the process: found again after a reload, capped, queued, and stopped when nobody looks.

Runs belong to the process, not to a browser tab. Each is an `Entry` with two 128-bit names: its `id`, by which only its
owner finds it, and its `token`, the secret of a link that opens it read-only. Whoever wants a run to go on asks the
registry; where a cap is reached it waits in one queue, in which whoever has had least of the machine is first
(`Shares`), then who came first; an owner who has as many under way as one may have is passed over. A run that has had
its turn while others wait is paused and queues again: long runs take turns, short ones end within theirs. `sweep` does
what time brings: it ends turns, hands free places to the queue and stops runs that nobody has looked at for a while.
A run grows with every step: where all together have outgrown the memory for them, and nothing that rests can make room,
the one whose steps take most is ended and says why.
Ended runs are kept while there is memory for them: owners leave without
saying so, and what they left makes room for who comes. When nobody has looked at anything for a while, what is in the
run store too and on nobody's page is let go: who returns finds it there, by the same id.
"""

import gc
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from alrviz.errors import AlrvizError
from alrviz.explorer.server.classes import Classes
from alrviz.explorer.server.jobs import Job, StudyJob
from alrviz.explorer.server.limits import ServerLimits, below, limits_from
from alrviz.explorer.server.shares import Shares
from alrviz.explorer.server.tables import UploadedTables
from alrviz.explorer.server.visitor_ids import LOCAL, new_id
from alrviz.memory import give_back

if TYPE_CHECKING:
    from alrviz.studies.race.race_store import RaceKeeper

ROUND = 30.0  # seconds within which everybody who waits shall have a turn
TURN = (2.0, 10.0)  # seconds that a turn lasts at least and at most
TIDY = 10  # sweeps after which what was let go is looked for once more
_KNOWN = 10_000  # owners of which is known that they were there
UNATTENDED = "stopped: nobody looked at it for {time}"
MADE_ROOM = "stopped: it made room for others"
FULL = "stopped: the server's memory for runs is full"
ABOVE_SHARE = "stopped: others waited, and it was above its owner's share of the memory for runs"
_WORDS = {
    FULL: "the server, whose memory for runs is full,",
    ABOVE_SHARE: "the server (others waited, and you held more than your share of its memory for runs)",
}  # what a reader is told of who stopped a run, by its note
STUDY_TURNS = 6.0


class CapReached(AlrvizError):
    """Something a server's limits refuse outright, such as a race larger than all the memory it gives away."""


@dataclass(eq=False)
class Entry:
    """One job and what the process knows of it.

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
        seen_to: the last iteration of it that any of them has had on its screen.
    """

    job: Job
    owner: str
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
    keeper: "RaceKeeper | None" = None
    screens: set[int] = field(default_factory=set)
    attended: bool = False
    resting: str = ""
    seen_to: int = -1
    seen: float = 0.0

    @property
    def size(self) -> int:
        """Bytes it takes, as far as is known: those estimated of its runs, weights kept along the way and tables that
        models score rows with included, and its steps.
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
        return STUDY_TURNS if isinstance(self.job, StudyJob) else 1.0

    @property
    def told_to(self) -> int | None:
        """The last iteration that those with its link may see: never more than its owner's screen has shown.

        None, all of it, where no screen of the owner's ever showed it, or where it goes on after its owner has left.
        """
        follows = self.attended and (bool(self.screens) or not self.keep)
        limits = [limit for limit in (self.seen_to if follows else None, self.job.stopped_at) if limit is not None]
        return min(limits, default=None)

    @property
    def under_way(self) -> bool:
        """Whether its worker may be computing."""
        return self.begun and not self.job.ended and self.job.phase != "paused"


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
        self._entries: dict[str, Entry] = {}
        self._queue: list[Entry] = []
        self._shares = Shares(clock())
        self._looked = clock()  # when anybody was last there
        self._visitors: dict[str, None] = {}  # owners whose browsers were there, the latest last
        self._untidy = 0  # sweeps until memory is looked through once more
        self._open: weakref.WeakSet[Showing] = weakref.WeakSet()  # sessions whose pages are open
        self._lock = threading.RLock()
        self._sweeper: threading.Thread | None = None

    def add(self, job: Job, owner: str, *, bytes: int = 0, threads: int = 1) -> Entry:
        """Take in a race that was not started; raises `CapReached` where the server could never hold it."""
        if not below(bytes, self.limits.memory):
            what, fewer = ("the workers of this study need", "a smaller table")
            if not isinstance(job, StudyJob):
                what, fewer = ("this race needs", "fewer racers")
            raise CapReached(
                f"{what} about {bytes / 1e9:.1f} GB and the server gives all that runs together "
                f"{(self.limits.memory or 0) / 1e9:.1f} GB; choose a lower order or {fewer}"
            )
        threads = min(threads, self.limits.threads or threads)
        entry = Entry(job, owner, bytes, threads, seen=self._clock())
        with self._lock:
            self._hold(entry)
        return entry

    def _hold(self, entry: Entry) -> None:
        """Have a run among those of the process; one that was dropped may be shown still, and be wanted again."""
        if entry.id not in self._entries:
            self._entries[entry.id] = entry
            self._drop_old(entry.owner)

    def _drop_old(self, owner: str) -> None:
        resting = [e for e in self._entries.values() if e.owner == owner and not e.under_way and not e.wanted]
        surplus = len(resting) - self.limits.kept if self.limits.kept is not None else 0
        for entry in resting[: max(surplus, 0)]:
            self._end(entry)
            del self._entries[entry.id]

    def find(self, id: str, owner: str) -> Entry | None:
        """Return the owner's run of this id; nothing for anybody else."""
        entry = self._entries.get(id)
        return entry if entry is not None and entry.owner == owner else None

    def entries(self, owner: str) -> list[Entry]:
        """Return all that the owner has, the oldest first."""
        return [entry for entry in list(self._entries.values()) if entry.owner == owner]

    def by_token(self, token: str) -> Entry | None:
        """Return the run whose read-only link holds `token`."""
        return next((e for e in list(self._entries.values()) if secrets.compare_digest(e.token, token)), None)

    def share(self, entry: Entry) -> str:
        """Return the secret of its link, to be given away."""
        with self._lock:
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
        with self._lock:
            self._shares.at(owner, address)

    def look(self, entry: Entry) -> None:
        """Say that somebody is looking at the run now."""
        entry.seen = self._looked = self._clock()

    def visit(self, owner: str) -> None:
        """Say that an owner's browser is there."""
        self._looked = self._clock()
        self._visitors.pop(owner, None)
        self._visitors[owner] = None
        if len(self._visitors) > _KNOWN:
            del self._visitors[next(iter(self._visitors))]

    def knows(self, owner: str) -> bool:
        """Whether that owner's browser was ever there."""
        return owner in self._visitors

    def opened(self, session: "Showing") -> None:
        """A session's page is open: what it shows is not let go, however long nothing moves there."""
        with self._lock:
            self._open.add(session)

    def closed(self, session: "Showing") -> None:
        """Its visitor has gone."""
        with self._lock:
            self._open.discard(session)

    def start(self, entry: Entry) -> None:
        """Start or resume the run, at once or as soon as there is a place for it."""
        with self._lock:
            if (entry.under_way and not entry.turned) or entry.job.ended:
                return
            self._hold(entry)
            self._enqueue(entry, steps=0)
        self._wake_sweeper()

    def step(self, entry: Entry, count: int = 1) -> None:
        """Take single steps: at once in a run that has its memory already, else as soon as there is a place for it."""
        with self._lock:
            if entry.job.ended:
                return
            self._hold(entry)
            if entry.begun and not entry.wanted:
                entry.seen = self._clock()
                entry.job.step(count)
            else:
                self._enqueue(entry, steps=entry.steps + count)
        self._wake_sweeper()

    def _enqueue(self, entry: Entry, steps: int) -> None:
        entry.note, entry.seen, entry.steps = "", self._clock(), steps
        if not entry.wanted:
            entry.wanted = True
            self._queue.append(entry)
        self._admit()

    def release(self, entry: Entry) -> None:
        """Take the run out of the queue, and give its place (it was paused or stopped) to the next."""
        with self._lock:
            self._unqueue(entry)
            self._admit()

    def place(self, entry: Entry) -> int:
        """Return the run's place in the queue, from 1; 0 when it does not wait."""
        with self._lock:
            return self._queue.index(entry) + 1 if entry in self._queue else 0

    def sweep(self) -> None:
        """Stop what nobody looks at, and start what there is a place for."""
        with self._lock:
            now, idle, hours = self._clock(), self.limits.idle, self.limits.hours
            for entry in list(self._entries.values()):
                seconds = idle if not entry.keep else hours * 3600 if hours is not None else None
                busy = entry.under_way or entry.wanted
                if busy and seconds is not None and now - entry.seen > seconds:
                    self._end(entry, UNATTENDED.format(time=f"{hours} h" if entry.keep else f"{idle} s"))
            self._count()
            self._end_grown()
            self._end_turns()
            self._admit()
            gone = self._let_go(now)
            self._untidy = TIDY if gone else max(self._untidy - 1, 0)
            last = self._untidy == 1  # threads and their last callbacks have let go of theirs by now
        if gone or last:  # whoever waits for the lock need not wait for this
            gc.collect()
            give_back()

    def _let_go(self, now: float) -> int:
        """Hold no more what is in the run store too, once nobody has been there for a while; returns how much."""
        idle = self.limits.idle
        if idle is None or now - self._looked <= idle:
            return 0
        shown = {entry.id for session in self._open for entry in session.entries}
        gone = [e for e in self._entries.values() if e.id not in shown and self._may_go(e, now - idle)]
        for entry in gone:
            del self._entries[entry.id]
        return len(gone)

    def _may_go(self, entry: Entry, since: float) -> bool:
        """Whether a run rests, nobody has looked at it since, and what it leaves is on disk."""
        if entry.seen > since or entry.screens or entry.under_way or entry.wanted or not _leaves(entry):
            return False
        return isinstance(entry.job, StudyJob) or bool(entry.job.ended and entry.keeper and entry.keeper.stored)

    def _count(self) -> None:
        running = [e for e in self._entries.values() if e.under_way]
        owners = [entry.owner for entry in running]
        passed = self._shares.count(self._clock(), owners, [*owners, *(entry.owner for entry in self._queue)])
        for entry in running:
            entry.used += passed

    def _had(self, entry: Entry) -> tuple[float, float]:
        """What decides who is next, the least first; equal ones as they came."""
        return self._shares.had(entry.owner), entry.used

    def _end_turns(self) -> None:
        """Pause runs whose turn is over, where somebody waits who has had less and can take the place."""
        waiting = [entry for entry in self._queue if not entry.under_way]
        if not waiting:
            return
        running = [e for e in self._entries.values() if e.under_way]
        shortest, longest = TURN
        turn = min(max(ROUND * len(running) / (len(running) + len(waiting)), shortest), longest)
        over = [e for e in running if not e.turned and self._clock() - e.since >= turn * e.turns]
        for entry in sorted(over, key=self._had, reverse=True):
            others = [e for e in running if e is not entry]
            heirs = (e for e in waiting if self._had(e) < self._had(entry))
            heir = next((e for e in heirs if self._has_place(e, others) and self._has_room(e, make=False)), None)
            if heir is None:
                continue
            waiting.remove(heir)
            running = [*others, heir]
            entry.turned = entry.wanted = True
            self._queue.append(entry)
            entry.job.pause()

    def _end_grown(self) -> None:
        """End the run whose steps take most, where there is no more memory for all; what it leaves can make room."""
        if not self._has_room():
            growing = [e for e in self._entries.values() if e.grown and (e.under_way or e.turned)]
            if growing:
                self._end(max(growing, key=lambda e: e.grown), FULL)

    def _end(self, entry: Entry, note: str = MADE_ROOM) -> None:
        self._unqueue(entry)
        if not entry.job.ended:
            entry.note = note
            entry.job.stop()

    def _unqueue(self, entry: Entry) -> None:
        entry.wanted, entry.steps, entry.turned = False, 0, False
        if entry in self._queue:
            self._queue.remove(entry)

    def _admit(self) -> None:
        self._count()
        self._queue.sort(key=self._had)
        for entry in list(self._queue):
            if not entry.wanted:
                continue  # it was ended to make room for one before it
            running = [e for e in self._entries.values() if e.under_way]
            if entry not in running and self._has_place(entry, running) and self._has_room(entry):
                steps, resume = entry.steps, entry.begun
                self._unqueue(entry)
                entry.begun, entry.since = True, self._clock()
                if steps:
                    entry.job.step(steps)
                else:
                    (entry.job.resume if resume else entry.job.start)()

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
        held = [e for e in self._entries.values() if (e.begun or e.grown) and e is not entry]
        now, idle = self._clock(), self.limits.idle
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
                self._end(oldest)
                del self._entries[oldest.id]
        if entry is None or below(taken, self.limits.memory):
            return below(taken, self.limits.memory)
        yielding = self._above_share(entry, held)
        if make:
            for other in yielding:
                self._end(other, ABOVE_SHARE)
                self._entries.pop(other.id, None)
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
        shares = {owner: part * self.limits.memory for owner, part in self._shares.split(of_owner).items()}
        needed = sum(sizes.values()) - self.limits.memory
        if of_owner[entry.owner] > shares[entry.owner]:
            return []
        yielding, paused = list[Entry](), [e for e in held if not e.under_way and not e.wanted]
        # By seconds of computing: a turn is shorter than a round, so runs that rotate never compute for one at a time.
        busy = [e for e in held if e not in paused and e.used >= ROUND * e.turns]
        for other in (*sorted(paused, key=lambda e: e.seen), *sorted(busy, key=lambda e: e.seen)):
            if needed > 0 and of_owner[other.owner] > shares[other.owner]:
                yielding.append(other)
                of_owner[other.owner] -= sizes[other]
                needed -= sizes[other]
        return yielding if needed <= 0 else []

    def _wake_sweeper(self) -> None:
        if not self._timer:
            return
        with self._lock:
            if self._sweeper is None or not self._sweeper.is_alive():
                self._sweeper = threading.Thread(target=self._sweep_on, name="alrviz-registry", daemon=True)
                self._sweeper.start()

    def _sweep_on(self) -> None:
        while True:
            time.sleep(1.0)
            self.sweep()
            with self._lock:
                lasting = any(e.under_way or (_leaves(e) and self.limits.idle) for e in self._entries.values())
                if not self._queue and not lasting and not self._untidy:
                    self._sweeper = None
                    return


class Showing(Protocol):
    """A session as the registry sees it."""

    @property
    def entries(self) -> Iterable[Entry]:
        """The runs that it shows."""


def _leaves(entry: Entry) -> bool:
    """Whether a run can be let go once it rests: it is kept in the run store.

    Not what a link was given away for; and on a machine of one's own nobody else needs the memory.
    """
    if entry.shared or entry.owner == LOCAL:
        return False
    if isinstance(entry.job, StudyJob):  # its finished tasks are in the run store as they come
        return bool(entry.job.study.id) and not entry.job.study.problem
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
