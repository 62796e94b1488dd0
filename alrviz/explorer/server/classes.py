"""Classes: students answer a teacher's questions on their phones, without accounts.

A class has a secret of 128 bits, which is part of the address in its QR code, and a code of six letters that can be
typed instead. Wrong codes are limited by browser, by address and in all, so that nobody finds a class by trying. A
student is a random id in the browser's cookie. The class holds only a digest of it, a number in the order of the first
answers, and one answer per round, which may be changed until the round is closed. Asking a question again starts
another round of it.

Everything that students can make grow is limited: their number, their answers, the length and the rate of answers.
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
from alrviz.explorer.lesson import AnswerValue, Question, plain_line
from alrviz.explorer.server.rate_limit import RateLimit
from alrviz.explorer.server.visitor_ids import new_id
from alrviz.fitting.store import owner_digest

LETTERS = "BCDFGHJKMNPQRSTVWXZ"  # no similar letters and no vowels, so no words: 47 million codes
CODE_CHARS = 6
# Rate limits: (burst, seconds until one more).
BROWSER_CODES = (20, 3.0)  # wrong codes of a browser
ADDRESS_CODES = (200, 3.0)  # of all browsers at an address: a lecture hall is behind one router
# Of all addresses: 87,000 a day, which find a given class with probability 1/500, and any of a hundred with 1/6.
TOTAL_CODES = (600, 1.0)
STUDENT_VOTES = (10, 1.0)  # answers and changes of a student
# As many as `web.spectators.MAX_READERS`. There is no limit by address: a school has one address, and a dozen scripts
# that joined from there again and again would keep every student out.
MAX_STUDENTS = 800
MAX_ROUNDS = 100  # of a class
MAX_TEXT_BYTES = 8_000_000  # of all texts of a class's students
MAX_CLASSES = 100  # of a process
IDLE_CLASS_SECONDS = 12 * 3600.0  # without teacher and students, until a class is ended


class ClassRefused(AlrvizError):
    """A student's request is refused; the message is for the phone.

    Attributes:
        status: status code of HTTP.
        wait: seconds until the request may be repeated; 0 if it may not.
    """

    def __init__(self, status: int, words: str, wait: float = 0.0):
        super().__init__(words)
        self.status, self.wait = status, wait


@dataclass(frozen=True, slots=True)
class Vote:
    """A student's answer to a question, an optional note, and its time in seconds since 1970."""

    answer: AnswerValue
    note: str = ""
    at: float = 0.0

    @property
    def n_bytes(self) -> int:
        """Upper bound of the bytes of its texts."""
        return 4 * (len(self.note) + (len(self.answer) if isinstance(self.answer, str) else 0))


@dataclass(eq=False)
class Round:
    """One round of a question.

    Attributes:
        question: of the teacher, or of the lesson's step.
        open: whether it takes votes.
        votes: by student.
        changes: number of changes made to the round.
    """

    question: Question
    open: bool = True
    votes: dict[str, Vote] = field(default_factory=dict)
    changes: int = 0

    def typical(self) -> AnswerValue | None:
        """Return the class's typical answer: the mode, or the median of numbers; None without votes."""
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
        owner: id of its teacher, or the digest of the id for a class restored from the run store.

    Attributes:
        secret, code: names by which students find the class.
        rounds: all rounds in their order.
        students: number of each student, from 1 in the order of the first answers; 0 before the first answer.
        open_pages: number of open pages of each student.
        readers: students who have opened the page.
        addresses: address from which each student joined; not stored.
        locked: whether no new students may join.
        race: token of the race shown above the questions; "" for none.
        keeper: saves the class to the run store; None if nothing does.
        has_ended: whether the class is over.
        version: number of changes that phones must be told.
        last_used: when teacher or students last used it, by the clock.
    """

    def __init__(
        self, owner: str, secret: str = "", code: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.owner, self.secret, self.code = owner, secret or new_id(), code or new_code()
        self.rounds: list[Round] = []
        self.students: dict[str, int] = {}
        self.open_pages: Counter[str] = Counter()
        self.readers: set[str] = set()
        self.addresses: dict[str, str] = {}
        self.locked = self.has_ended = False
        self.race = ""
        self.keeper: Any = None
        self.version = 0
        self.last_used = clock()
        self._clock = clock
        self._text_bytes = 0
        self._votes = RateLimit(*STUDENT_VOTES, clock)
        self._lock = threading.RLock()

    # ---- teacher -----------------------------------------------------------------------------------------------------

    @property
    def round(self) -> Round | None:
        """The latest round; None before the first question."""
        return self.rounds[-1] if self.rounds else None

    def ask(self, question: Question) -> Round:
        """Start a round of a question; the round that was open is closed."""
        with self._lock:
            self.touch()
            self.close()
            if len(self.rounds) >= MAX_ROUNDS:
                raise AlrvizError(f"a class has at most {MAX_ROUNDS} questions; end it and open another")
            self.rounds.append(Round(question))
            self.version += 1
            return self.rounds[-1]

    def touch(self) -> None:
        """Note that the class is in use, which keeps it from being ended as idle."""
        self.last_used = self._clock()

    def close(self) -> None:
        """Close the open round, if any: it takes no more answers."""
        with self._lock:
            if self.round is not None and self.round.open:
                self.round.open = False
                self.round.changes += 1
                self.version += 1

    def rounds_of(self, question: Question) -> list[Round]:
        """Return all rounds of a question."""
        return [past_round for past_round in self.rounds if past_round.question == question]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a row for each answer, with question, number of its round, student, answer, note and second."""
        n_times_asked: Counter[Question] = Counter()
        for past_round in self.rounds:
            n_times_asked[past_round.question] += 1
            first_vote_time = min((vote.at for vote in past_round.votes.values()), default=0.0)
            for student, vote in past_round.votes.items():
                answer = vote.answer
                yield {
                    "question": past_round.question.text, "kind": past_round.question.kind,
                    "asked": n_times_asked[past_round.question], "student": self.students[student],
                    "answer": " ".join(map(str, answer)) if isinstance(answer, tuple) else answer,
                    "note": vote.note, "second": round(vote.at - first_vote_time, 1),
                }  # fmt: skip

    # ---- students ----------------------------------------------------------------------------------------------------

    def student(self, cookie: str) -> str:
        """Return the digest of a student's cookie, by which nobody can vote."""
        return sha256(f"{self.secret}{cookie}".encode()).hexdigest()[:32]

    def join(self, student: str, address: str = "") -> None:
        """Add a student, unless the student has joined before.

        A full class removes a student: first one who has neither voted nor an open page, then one who has voted without
        ever opening the page, as scripts do; the latest first, because a flood comes last.

        Raises:
            ClassRefused: if the class is locked, or full of students who cannot be removed.
        """
        with self._lock:
            self.touch()
            if student in self.students:
                return
            if self.locked:
                raise ClassRefused(403, "The teacher lets nobody else in now.")
            if len(self.students) >= MAX_STUDENTS:
                self._make_room()
            self.students[student] = 0
            self.addresses[student] = address

    def _make_room(self) -> None:
        """Remove a student as `join` says; `ClassRefused` if nobody can be removed."""
        latest_first = list(reversed(self.students.items()))
        absent_students = (student for student, number in latest_first if not number and student not in self.open_pages)
        scripted_students = (student for student, _ in latest_first if student not in self.readers)
        removed_student = next(chain(absent_students, scripted_students), None)
        if removed_student is None:
            raise ClassRefused(503, "The class is full.")
        del self.students[removed_student]
        self.addresses.pop(removed_student, None)
        self.readers.discard(removed_student)
        for past_round in self.rounds:
            if (vote := past_round.votes.pop(removed_student, None)) is not None:
                self._text_bytes -= vote.n_bytes
                past_round.changes += 1

    def join_addresses(self) -> list[tuple[str, int]]:
        """Return (address, number of students who joined from it), largest first; "" for unknown addresses."""
        with self._lock:
            return Counter(self.addresses.get(student, "") for student in self.students).most_common()

    def open_page(self, student: str, address: str = "") -> None:
        """Note that a student has opened a page; the student joins if need be."""
        with self._lock:
            self.join(student, address)
            self.open_pages[student] += 1
            self.readers.add(student)

    def close_page(self, student: str) -> None:
        """Note that a student has closed a page."""
        with self._lock:
            self.touch()
            self.open_pages[student] -= 1
            if self.open_pages[student] <= 0:
                del self.open_pages[student]

    def vote(self, student: str, number: int, answer: object, note: object = "", address: str = "") -> Vote:
        """Record a student's answer to round `number` (from 1), in place of an earlier one.

        A new student joins only with a valid answer.

        Args:
            student: digest of the student's cookie (see `student`).
            number: number of the round.
            answer: what the question accepts (see `Question.read`).
            note: the student's reason.
            address: where a new student joins from, for the teacher's list.

        Raises:
            ClassRefused: if the student answers too often, the round is closed, the answer is invalid, or the class is
                locked, full, or has no room for more text.
        """
        with self._lock:
            if wait := self._votes.seconds_to_wait(student):
                raise ClassRefused(429, "Too many answers in a short time; wait a moment.", wait)
            self._votes.count_attempt(student)
            current_round = self.round
            if current_round is None or number != self.number or not current_round.open:
                raise ClassRefused(409, "This question is closed; it takes no more answers.")
            try:
                vote = Vote(current_round.question.read(answer), plain_line(note), time.time())
            except ValueError as error:
                raise ClassRefused(422, f"That is no answer to this question: {error}.") from error
            previous = current_round.votes.get(student)
            extra_bytes = vote.n_bytes - (previous.n_bytes if previous is not None else 0)
            if self._text_bytes + extra_bytes > MAX_TEXT_BYTES:
                raise ClassRefused(503, "The class has no room for more text.")
            self.join(student, address)
            self._text_bytes += extra_bytes  # after `join`, which may remove a student with texts
            current_round.votes[student] = vote
            current_round.changes += 1
            if not self.students[student]:
                self.students[student] = 1 + max(self.students.values())
            return vote

    def vote_of(self, student: str) -> Vote | None:
        """Return a student's answer of the latest round; None without one."""
        return self.round.votes.get(student) if self.round is not None else None

    # ---- messages to phones ------------------------------------------------------------------------------------------

    @property
    def number(self) -> int:
        """Number of the latest round, from 1; 0 before the first."""
        return len(self.rounds)

    def phone_message(self) -> dict[str, Any]:
        """Return the message to all phones: the question, but never answers or their number."""
        current_round = self.round
        if current_round is None:
            return {"round": 0, "open": False}
        question = current_round.question
        return {
            "round": self.number, "open": current_round.open, "again": len(self.rounds_of(question)) > 1,
            "kind": question.kind, "text": question.text,
            "options": [[option.value, option.words] for option in question.options],
            "unit": question.unit, "low": question.low, "high": question.high,
        }  # fmt: skip


def new_code() -> str:
    """Return a random code of a class."""
    return "".join(secrets.choice(LETTERS) for _ in range(CODE_CHARS))


class Classes:
    """The classes of a process, one per teacher.

    Args:
        clock: seconds, monotonic.
        on_add: called when there is a new class; `sweep` is to be called from time to time until `count` is 0.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, on_add: Callable[[], None] = lambda: None):
        self._clock, self._on_add = clock, on_add
        self._classes: dict[str, Classroom] = {}  # by secret
        self._code_limits = [RateLimit(*limit, clock) for limit in (BROWSER_CODES, ADDRESS_CODES, TOTAL_CODES)]
        self._lock = threading.RLock()

    def open(self, owner: str) -> Classroom:
        """Return the class of the teacher with the id `owner`; open one if there is none.

        Raises:
            AlrvizError: if the server has MAX_CLASSES classes.
        """
        with self._lock:
            classroom = self.class_of(owner)
            if classroom is None:
                classroom = Classroom(owner, clock=self._clock)
                while any(other.code == classroom.code for other in self._classes.values()):
                    classroom.code = new_code()
                self.add(classroom)
            return classroom

    def add(self, classroom: Classroom) -> None:
        """Add a class; idle classes are ended first."""
        with self._lock:
            self.sweep()
            if len(self._classes) >= MAX_CLASSES:
                raise AlrvizError(f"this server already has {MAX_CLASSES} classes, its maximum; try again later")
            self._classes[classroom.secret] = classroom
            self._on_add()

    @property
    def count(self) -> int:
        """Number of classes."""
        return len(self._classes)

    def sweep(self) -> None:
        """End idle classes."""
        with self._lock:
            for classroom in list(self._classes.values()):
                if self._clock() - classroom.last_used > IDLE_CLASS_SECONDS and not classroom.open_pages.total():
                    self.end(classroom)

    def class_of(self, owner: str) -> Classroom | None:
        """Return the class of the teacher with the id `owner`, or of the digest that a restart leaves; None without
        one.
        """
        keys = (owner, owner_digest(owner))
        classroom = next((candidate for candidate in list(self._classes.values()) if candidate.owner in keys), None)
        if classroom is not None:
            classroom.owner = owner
        return classroom

    def owner_has_class(self, owner_key: str) -> bool:
        """Return whether a teacher has a class, given the key of an owner in the run store."""
        return any(
            owner_key in (classroom.owner, owner_digest(classroom.owner)) for classroom in list(self._classes.values())
        )

    def find(self, secret: str) -> Classroom | None:
        """Return the class with a secret; None without one."""
        return self._classes.get(secret)

    def enter(self, code: str, address: str, cookie: str = "") -> Classroom:
        """Return the class with a code.

        Wrong codes count against the limits. At the limit right codes are refused too, except for students who have
        joined before: others at their address cannot keep them out.

        Raises:
            ClassRefused: if no class has the code, or there were too many wrong codes.
        """
        with self._lock:
            browser_limit, address_limit, total_limit = self._code_limits
            limits = ((browser_limit, f"{address} {cookie}"), (address_limit, address), (total_limit, ""))
            code_letters = "".join(sign for sign in code.upper() if sign in LETTERS)
            candidates = (room for room in self._classes.values() if secrets.compare_digest(room.code, code_letters))
            classroom = next(candidates, None)
            if classroom is not None and cookie and classroom.student(cookie) in classroom.students:
                return classroom
            if wait := max(limit.seconds_to_wait(key) for limit, key in limits):
                raise ClassRefused(429, "Too many wrong codes. Use the QR code, or try again", wait)
            if classroom is None:
                for limit, key in limits:
                    limit.count_attempt(key)
                raise ClassRefused(404, "No class has this code. It has six letters and is on the wall.")
            return classroom

    def end(self, classroom: Classroom) -> None:
        """End a class; its answers remain only if it is saved to the run store."""
        with self._lock:
            self._classes.pop(classroom.secret, None)
            if classroom.keeper is not None:
                classroom.keeper.end()
            classroom.close()
            classroom.has_ended = True
            classroom.race = ""
            classroom.version += 1
