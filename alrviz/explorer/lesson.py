"""Lessons as values: steps with a text, settings and questions, and the valid answers to a question.

Plain values, for whoever shows a question: the panel beside a page, the phones of a class. `lessons.reader` makes them
of a YAML file, `lessons.answers` computes what is right from what ran.

An answer is, by the question's kind, as JSON has it:

    choice    the value of one option                                   "alr"
    number    a number                                                  40
    order     the values of all options, the first first                ["2", "1", "3"]
    sketch    a number for each option, which stand along an x-axis     [0.6, 0.45, 0.5]
    text      a line of text: what a class is asked by its teacher, of no lesson, for nothing computes what is right
"""

import math
import unicodedata
from dataclasses import dataclass
from difflib import get_close_matches

KINDS = ("choice", "number", "order", "sketch")
Said = str | float | tuple[str, ...] | tuple[float, ...]
RELATIVE_TOLERANCE = 0.25  # a number that is off by less, relative to what happened, is right; of a sketch each one
RANGE_TOLERANCE = 0.002  # of what can be said from low to high: two numbers that differ by less are the same
MAX_NUMBER = 1e12  # a number that anybody may say
MAX_TEXT_CHARS = 200  # signs of a text
MAX_COMBINING_MARKS = 4  # on one letter, as many as a language needs: hundreds would be drawn over the lines above


@dataclass(frozen=True)
class Answer:
    """What is right: a measure of what ran, by name, and what of it is measured.

    measure: a key of `lessons.answers.MEASURES`. of: names of racers, orders ...: as the measure takes them.
    """

    measure: str
    of: tuple[str, ...] = ()


@dataclass(frozen=True)
class Option:
    """One thing to choose, to rank, or to say a number of.

    value: what a measure gives where this is right: a word, or of numbers a range ("< 0.8", "0.8 to 1.25", "> 2").
    words: what the reader sees.
    """

    value: str
    words: str


@dataclass(frozen=True)
class Question:
    """A question, open until it is answered.

    id: unique in its lesson. kind: one of `KINDS`. text: the question, one line of Markdown. options: none of a number.
    answer: what is right, None where nobody can say. explain: Markdown, shown with what happened. unit: of numbers
    ("iterations"). low, high: the smallest and the largest number that can be said; a sketch always has both.
    """

    id: str
    kind: str
    text: str
    options: tuple[Option, ...]
    answer: Answer | None = None
    explain: str = ""
    unit: str = ""
    low: float = -MAX_NUMBER
    high: float = MAX_NUMBER

    @property
    def values(self) -> tuple[str, ...]:
        """The options' values."""
        return tuple(option.value for option in self.options)

    def words_of(self, value: str) -> str:
        """What an option is called; the value itself where it is none."""
        return next((option.words for option in self.options if option.value == value), value)

    def read(self, given: object) -> Said:
        """Return what a stranger gave as an answer to this question.

        Raises ValueError of what is none, saying what was expected.
        """
        if self.kind == "choice":
            return self._option(given)
        if self.kind == "number":
            return self._number(given)
        if self.kind == "text":
            if not isinstance(given, str) or not (text := plain_line(given)):
                raise ValueError("expected some words")
            return text
        if not isinstance(given, list | tuple) or len(given) != len(self.options):
            raise ValueError(f"expected {len(self.options)} values, one for each of {', '.join(self.values)}")
        if self.kind == "sketch":
            return tuple(self._number(one) for one in given)
        ranked = tuple(self._option(one) for one in given)
        if len(set(ranked)) < len(ranked):
            raise ValueError(f"each of {', '.join(self.values)} has one place")
        return ranked

    def _option(self, given: object) -> str:
        if not isinstance(given, str) or given not in self.values:
            near = get_close_matches(str(given)[:40], self.values, n=1)
            raise ValueError(f"expected one of {', '.join(self.values)}" + (f"; nearest: {near[0]}" if near else ""))
        return given

    def _number(self, given: object) -> float:
        if isinstance(given, bool) or not isinstance(given, int | float) or not self.low <= given <= self.high:
            raise ValueError(f"expected a number from {self.low:g} to {self.high:g}")
        return float(given)

    def right(self, said: Said, was: Said) -> bool:
        """Whether an answer is what happened: the same word or ranking, numbers within a quarter of it."""
        if isinstance(said, str) or self.kind == "order":
            return said == was
        pairs = zip(_numbers(said), _numbers(was), strict=True)
        nil = RANGE_TOLERANCE * (self.high - self.low) if max(-self.low, self.high) < MAX_NUMBER else 1e-9
        return all(math.isclose(one, other, rel_tol=RELATIVE_TOLERANCE, abs_tol=nil) for one, other in pairs)


def plain_line(text: object) -> str:
    """Return a stranger's text in one line, cut where it is long, without signs that cannot be seen or that pile up."""
    seen, marks = [], 0
    for sign in str(text)[: 4 * MAX_TEXT_CHARS]:
        marks = marks + 1 if unicodedata.category(sign) in ("Mn", "Me") else 0
        if marks <= MAX_COMBINING_MARKS:
            seen.append(sign if sign.isprintable() else " ")
    return " ".join("".join(seen).split())[:MAX_TEXT_CHARS]


def _numbers(said: Said) -> tuple[float, ...]:
    return tuple(float(one) for one in (said if isinstance(said, tuple) else (said,)))


@dataclass(frozen=True)
class Step:
    """One step: what is read, what the page is set to, what is asked.

    text: Markdown. link: the query of the link it opens ("?data=xor&q=orders"), "" to leave the page as it is. hide:
    parts of the page that are not shown (`lessons.reader.PARTS`). ask: the question, or none. run: whether Run is to be
    pressed here, after the question. reveal: Markdown, shown when what was run has ended.
    """

    text: str
    link: str = ""
    hide: tuple[str, ...] = ()
    ask: Question | None = None
    run: bool = False
    reveal: str = ""


@dataclass(frozen=True)
class Lesson:
    """A lesson. id: its slug; version: raised when questions change, old answers are not those to these questions."""

    id: str
    version: int
    title: str
    minutes: int
    audience: str
    steps: tuple[Step, ...]

    @property
    def questions(self) -> tuple[Question, ...]:
        """All questions in their order."""
        return tuple(step.ask for step in self.steps if step.ask is not None)

    def question(self, id: str) -> Question | None:
        """The question of this id; None where there is none."""
        return next((one for one in self.questions if one.id == id), None)
