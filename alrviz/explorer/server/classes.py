"""Classes: students answer a teacher's questions from their phones, with no account.

A class has a secret of 128 bits, the address in its QR code, and for those who type a code of six letters, which
leads to the same address; wrong codes are counted, by address and in all, so that nobody finds a class by trying. A
student is a random id that the browser keeps; all that is kept here is a digest of it, a number in the order of the
first answers, and the answers: one a student and round, changed at will until the round is closed. A question asked
again is another round of it.

Everything that a student can make grow has a limit: students, answers, their length, and how often they come.
"""

import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain
from statistics import median, mode
from typing import Any

from alrviz.errors import AlrvizError
from alrviz.explorer.lesson import Question, Said, plain_line
from alrviz.explorer.server.rate_limit import RateLimit
from alrviz.explorer.server.visitor_ids import new_id
from alrviz.fitting.store import owner_digest
from alrviz.job import Job
from alrviz.stop import StopToken

LETTERS = "BCDFGHJKMNPQRSTVWXZ"  # none that looks like another, and no words: 47 million codes of six
CODE_LENGTH = 6
CODES = (20, 3.0)  # wrong codes that a browser may bring at once, and seconds until one more
HALL_CODES = (200, 3.0)  # and all browsers of an address: a lecture hall is behind one router
# And all addresses: 87,000 in a day. A day's tries find a given class by one in 500, and one of a hundred by one in 6.
ALL_CODES = (600, 1.0)
VOTES = (10, 1.0)  # answers that a student may send and change
# Of a class: as many as a process has places for pages (web.spectators.MOST). There is no limit by address: a school
# has one, and a dozen scripts that came from there again and again kept every student out.
MAX_STUDENTS = 800
MAX_ROUNDS = 100  # of a class
MAX_TEXT_BYTES = 8_000_000  # of all the words that a class's students write
MAX_CLASSES = 100  # of a process
IDLE_CLASS_SECONDS = 12 * 3600.0  # seconds after which a class that neither teacher nor student uses is over
SWEEP_SECONDS = 60.0  # seconds between two looks for such classes


class ClassRefused(AlrvizError):
    """What a class refuses a student, in words for the phone; `status` is HTTP's. `wait`: seconds until it may go."""

    def __init__(self, status: int, words: str, wait: float = 0.0):
        super().__init__(words)
        self.status, self.wait = status, wait


@dataclass(frozen=True, slots=True)
class Vote:
    """A student's answer to a question, a note beside it, and when it was given (seconds since 1970)."""

    answer: Said
    note: str = ""
    at: float = 0.0

    @property
    def size(self) -> int:
        """Bytes of its words, about: what a student can make long."""
        return 4 * (len(self.note) + (len(self.answer) if isinstance(self.answer, str) else 0))


@dataclass(eq=False)
class Round:
    """One time that a question was asked: its votes by student; `changes` counts what was done to it."""

    question: Question
    open: bool = True
    votes: dict[str, Vote] = field(default_factory=dict)
    changes: int = 0

    def typical(self) -> Said | None:
        """Return what the class says as one: the answer of most, of numbers the median; None where nobody has."""
        answers: list[Any] = [vote.answer for vote in self.votes.values()]
        if not answers:
            return None
        if self.question.kind == "number":
            return median(answers)
        if self.question.kind == "sketch":
            return tuple(map(median, zip(*answers, strict=True)))
        return mode(answers)


class Classroom:
    """One class.

    Args:
        owner: its teacher, as the store knows owners where it came from there.

    Attributes:
        secret, code: by which students find it.
        rounds: the questions in the order in which they were asked, one more each time.
        students: the number of each, from 1 in the order of their first answers; 0 of who has given none.
        here: how many pages of each student are open.
        readers: the students who have opened the page.
        addresses: from where each student joined, as long as the class is held; the run store has none of it.
        locked: whether nobody else may join.
        race: the secret of the race that is shown beside the questions, "" for none.
        keeper: keeps it in the run store, or nothing does.
        ended: whether it is over.
        version: counts what phones are to be told.
    """

    def __init__(
        self, owner: str, secret: str = "", code: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.owner, self.secret, self.code = owner, secret or new_id(), code or new_code()
        self.rounds: list[Round] = []
        self.students: dict[str, int] = {}
        self.here: Counter[str] = Counter()
        self.readers: set[str] = set()
        self.addresses: dict[str, str] = {}
        self.locked = self.ended = False
        self.race = ""
        self.keeper: Any = None
        self.version = 0
        self.used = clock()
        self._clock = clock
        self._size = 0
        self._votes = RateLimit(*VOTES, clock)
        self._lock = threading.RLock()

    # ---- the teacher -------------------------------------------------------------------------------------------------

    @property
    def round(self) -> Round | None:
        """The question that was asked last."""
        return self.rounds[-1] if self.rounds else None

    def ask(self, question: Question) -> Round:
        """Ask a question, again if it was asked before; the one that was open is closed."""
        with self._lock:
            self.use()
            self.close()
            if len(self.rounds) >= MAX_ROUNDS:
                raise AlrvizError(f"a class has {MAX_ROUNDS} questions at most; end it and open another")
            self.rounds.append(Round(question))
            self.version += 1
            return self.rounds[-1]

    def use(self) -> None:
        """Note that somebody uses it: a teacher whose page shows it does."""
        self.used = self._clock()

    def close(self) -> None:
        """Take no more answers to the question that is open."""
        with self._lock:
            if self.round is not None and self.round.open:
                self.round.open = False
                self.round.changes += 1
                self.version += 1

    def rounds_of(self, question: Question) -> list[Round]:
        """Return the times that a question was asked."""
        return [one for one in self.rounds if one.question == question]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each answer: the question, which time it was asked, the student's number, answer and note."""
        times: Counter[Question] = Counter()
        for one in self.rounds:
            times[one.question] += 1
            begun = min((vote.at for vote in one.votes.values()), default=0.0)
            for student, vote in one.votes.items():
                answer = vote.answer
                yield {
                    "question": one.question.text, "kind": one.question.kind, "asked": times[one.question],
                    "student": self.students[student],
                    "answer": " ".join(map(str, answer)) if isinstance(answer, tuple) else answer,
                    "note": vote.note, "second": round(vote.at - begun, 1),
                }  # fmt: skip

    # ---- students ----------------------------------------------------------------------------------------------------

    def student(self, cookie: str) -> str:
        """Return what is kept of a student's id: nobody can vote by it."""
        return sha256(f"{self.secret}{cookie}".encode()).hexdigest()[:32]

    def join(self, student: str, address: str = "") -> None:
        """Let a student in, or say why not.

        A full class makes room: first of students who have neither voted nor a page open, then of those who voted
        without ever opening the page, as scripts do, with their votes; the latest first, as a flood comes last.
        """
        with self._lock:
            self.use()
            if student in self.students:
                return
            if self.locked:
                raise ClassRefused(403, "The teacher lets nobody else in now.")
            if len(self.students) >= MAX_STUDENTS:
                self._make_room()
            self.students[student] = 0
            self.addresses[student] = address

    def _make_room(self) -> None:
        latest = list(reversed(self.students.items()))
        silent = (one for one, number in latest if not number and one not in self.here)
        scripted = (one for one, _ in latest if one not in self.readers)
        gone = next(chain(silent, scripted), None)
        if gone is None:
            raise ClassRefused(503, "The class is full.")
        del self.students[gone]
        self.addresses.pop(gone, None)
        self.readers.discard(gone)
        for one in self.rounds:
            if (vote := one.votes.pop(gone, None)) is not None:
                self._size -= vote.size
                one.changes += 1

    def came_from(self) -> list[tuple[str, int]]:
        """Return each address and how many students joined from it, most first; "" of a class that was restored."""
        with self._lock:
            return Counter(self.addresses.get(student, "") for student in self.students).most_common()

    def come(self, student: str, address: str = "") -> None:
        """Note that a page of a student's is open; `leave` is for its end."""
        with self._lock:
            self.join(student, address)
            self.here[student] += 1
            self.readers.add(student)

    def leave(self, student: str) -> None:
        """Note that a page of a student's is closed."""
        with self._lock:
            self.use()
            self.here[student] -= 1
            if self.here[student] <= 0:
                del self.here[student]

    def vote(self, student: str, number: int, answer: object, note: object = "", address: str = "") -> Vote:
        """Take a student's answer to round `number`, from 1, in place of an earlier one.

        A new student joins, for whom another may have to make room, only with an answer that is taken.
        """
        with self._lock:
            if wait := self._votes.wait(student):
                raise ClassRefused(429, "That was too often; wait a moment.", wait)
            self._votes.count(student)
            one = self.round
            if one is None or number != self.number or not one.open:
                raise ClassRefused(409, "This question is closed: answers are taken until then.")
            try:
                vote = Vote(one.question.read(answer), plain_line(note), time.time())
            except ValueError as error:
                raise ClassRefused(422, f"That is no answer to this question: {error}.") from error
            before = one.votes.get(student)
            growth = vote.size - (before.size if before is not None else 0)
            if self._size + growth > MAX_TEXT_BYTES:
                raise ClassRefused(503, "The class has no room for more text.")
            self.join(student, address)
            self._size += growth  # only now: a student who made room took text along
            one.votes[student] = vote
            one.changes += 1
            if not self.students[student]:
                self.students[student] = 1 + max(self.students.values())
            return vote

    def vote_of(self, student: str) -> Vote | None:
        """Return a student's own answer to the question that was asked last."""
        return self.round.votes.get(student) if self.round is not None else None

    # ---- what phones are told ----------------------------------------------------------------------------------------

    @property
    def number(self) -> int:
        """Of the question that was asked last, from 1; 0 before the first."""
        return len(self.rounds)

    def told(self) -> dict[str, Any]:
        """Return what every phone is told: the question, never an answer or how many there are."""
        one = self.round
        if one is None:
            return {"round": 0, "open": False}
        of = one.question
        return {
            "round": self.number, "open": one.open, "again": len(self.rounds_of(of)) > 1, "kind": of.kind,
            "text": of.text, "options": [[option.value, option.words] for option in of.options], "unit": of.unit,
            "low": of.low, "high": of.high,
        }  # fmt: skip


def new_code() -> str:
    """Return six letters."""
    return "".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH))


class Classes:
    """The classes of a process: one a teacher.

    Args:
        timer: whether a thread of its own looks for classes that nobody uses any more, while there are any.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, timer: bool = False):
        self._clock = clock
        self._timer = timer
        self._sweeper: Job[None] | None = None
        self._held: dict[str, Classroom] = {}  # by secret
        self._tries, self._hall = RateLimit(*CODES, clock), RateLimit(*HALL_CODES, clock)
        self._all = RateLimit(*ALL_CODES, clock)
        self._lock = threading.RLock()

    def open(self, owner: str) -> Classroom:
        """Return the teacher's class, a new one where there is none."""
        with self._lock:
            found = self.of(owner)
            if found is None:
                found = Classroom(owner, clock=self._clock)
                while any(one.code == found.code for one in self._held.values()):
                    found.code = new_code()
                self.add(found)
            return found

    def add(self, classroom: Classroom) -> None:
        """Hold a class; those that nobody uses any more are over."""
        with self._lock:
            self.sweep()
            if len(self._held) >= MAX_CLASSES:
                raise AlrvizError(f"this server has {MAX_CLASSES} classes, as many as it takes; try again later")
            self._held[classroom.secret] = classroom
            if self._timer and self._sweeper is None:
                self._sweeper = Job(self._sweep_on, "alrviz-classes")
                self._sweeper.start()

    def sweep(self) -> None:
        """End the classes that nobody uses any more."""
        with self._lock:
            for one in list(self._held.values()):
                if self._clock() - one.used > IDLE_CLASS_SECONDS and not one.here.total():
                    self.end(one)

    def _sweep_on(self, stop: StopToken) -> None:
        while True:
            stop.rest(SWEEP_SECONDS)
            with self._lock:
                self.sweep()
                if not self._held:
                    self._sweeper = None
                    return

    def of(self, owner: str) -> Classroom | None:
        """Return the class of a teacher."""
        names = (owner, owner_digest(owner))
        found = next((one for one in list(self._held.values()) if one.owner in names), None)
        if found is not None:
            found.owner = owner
        return found

    def taught(self, key: str) -> bool:
        """Whether the teacher whom the run store knows by this key has a class."""
        return any(key in (one.owner, owner_digest(one.owner)) for one in list(self._held.values()))

    def find(self, secret: str) -> Classroom | None:
        """Return the class of this secret."""
        return self._held.get(secret)

    def enter(self, code: str, address: str, cookie: str = "") -> Classroom:
        """Return the class of six letters; a wrong code is counted, and one too many waits, right or wrong.

        Not for who is in the class already: others at the address cannot keep them out.
        """
        with self._lock:
            browser = f"{address} {cookie}"
            letters = "".join(sign for sign in code.upper() if sign in LETTERS)
            found = next((one for one in self._held.values() if secrets.compare_digest(one.code, letters)), None)
            if found is not None and cookie and found.student(cookie) in found.students:
                return found
            if wait := max(self._tries.wait(browser), self._hall.wait(address), self._all.wait("")):
                words = "Too many wrong codes were tried. The QR code goes on working; or try again"
                raise ClassRefused(429, words, wait)
            if found is None:
                self._tries.count(browser)
                self._hall.count(address)
                self._all.count("")
                raise ClassRefused(404, "No class has this code. It is on the wall: six letters.")
            return found

    def end(self, classroom: Classroom) -> None:
        """End a class: what is not saved is forgotten, and what is saved is kept as it is now."""
        with self._lock:
            self._held.pop(classroom.secret, None)
            if classroom.keeper is not None:
                classroom.keeper.end()
            classroom.close()
            classroom.ended = True
            classroom.race = ""
            classroom.version += 1
