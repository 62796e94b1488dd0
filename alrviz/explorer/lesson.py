"""Lessons as values: steps with texts, settings and questions, and the validation of answers.

They are shown by the panel of a lesson and by the phones of a class. `lessons.reader` reads them from a YAML file, and
`lessons.answers` computes the right answers from a result.

Answers by the kind of question, as JSON values:

    choice    the value of one option                                   "alr"
    number    a number                                                  40
    order     the values of all options, the first first                ["2", "1", "3"]
    sketch    a number for each option, drawn along an x-axis           [0.6, 0.45, 0.5]
    text      a line of text; only for classes, because no right answer can be computed
"""

import unicodedata
from dataclasses import dataclass
from difflib import get_close_matches

KINDS = ("choice", "number", "order", "sketch")
AnswerValue = str | float | tuple[str, ...] | tuple[float, ...]
RELATIVE_TOLERANCE = 0.25  # of a right number, relative to the outcome; in a sketch, of each number
RANGE_TOLERANCE = 0.002  # numbers that differ by a smaller part of the range from low to high are equal
MAX_NUMBER = 1e12  # of an answer
MAX_TEXT_CHARS = 200
MAX_COMBINING_MARKS = 4  # on one letter, enough for any language; hundreds would cover the lines above


@dataclass(frozen=True)
class Answer:
    """The right answer of a question as a measure of a result.

    Attributes:
        measure: a key of `lessons.answers.MEASURES`.
        of: arguments of the measure, such as names of racers or orders.
    """

    measure: str
    of: tuple[str, ...] = ()


@dataclass(frozen=True)
class Option:
    """An option to choose, to rank, or to give a number for.

    Attributes:
        value: value of the measure if this option is right: a word, or a range ("< 0.8", "0.8 to 1.25", "> 2").
        words: text that the reader sees.
    """

    value: str
    words: str


@dataclass(frozen=True)
class Question:
    """A question.

    Attributes:
        id: unique in its lesson.
        kind: one of `KINDS`, or "text".
        text: the question, one line of Markdown.
        options: () for a number or a text.
        answer: the right answer; None if there is none.
        explain: Markdown, shown with the outcome.
        unit: unit of numbers ("iterations").
        low, high: smallest and largest number; a sketch always has both.
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
        """Return the text of an option; the value itself if it is not an option."""
        return next((option.words for option in self.options if option.value == value), value)

    def read(self, value: object) -> AnswerValue:
        """Return untrusted input as an answer to this question.

        Raises:
            ValueError: if it is no valid answer, with what was expected.
        """
        if self.kind == "choice":
            return self._read_option(value)
        if self.kind == "number":
            return self._read_number(value)
        if self.kind == "text":
            if not isinstance(value, str) or not (text := plain_line(value)):
                raise ValueError("expected some words")
            return text
        if not isinstance(value, list | tuple) or len(value) != len(self.options):
            raise ValueError(f"expected {len(self.options)} values, one for each of {', '.join(self.values)}")
        if self.kind == "sketch":
            return tuple(self._read_number(item) for item in value)
        ranking = tuple(self._read_option(item) for item in value)
        if len(set(ranking)) < len(ranking):
            raise ValueError(f"expected each of {', '.join(self.values)} once")
        return ranking

    def _read_option(self, value: object) -> str:
        """Return a value of an option; `ValueError`, with the nearest value, for others."""
        if not isinstance(value, str) or value not in self.values:
            close_matches = get_close_matches(str(value)[:40], self.values, n=1)
            raise ValueError(
                f"expected one of {', '.join(self.values)}"
                + (f"; nearest: {close_matches[0]}" if close_matches else "")
            )
        return value

    def _read_number(self, value: object) -> float:
        """Return a number between `low` and `high`; `ValueError` for others."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.low <= value <= self.high:
            raise ValueError(f"expected a number from {self.low:g} to {self.high:g}")
        return float(value)

    def is_right(self, answer: AnswerValue, outcome: AnswerValue) -> bool:
        """Return whether an answer is right: the same word or ranking, or numbers in `right_ranges`."""
        if isinstance(answer, str) or self.kind == "order":
            return answer == outcome
        number_ranges = zip(_as_numbers(answer), self.right_ranges(outcome), strict=True)
        return all(low <= number <= high for number, (low, high) in number_ranges)

    def right_ranges(self, outcome: AnswerValue) -> list[tuple[float, float]]:
        """Return the lowest and highest right answer for each number of the outcome.

        An answer and a number are equal if they differ by at most a quarter of the larger one, or by a small part of
        what may be answered.
        """
        tolerance = RANGE_TOLERANCE * (self.high - self.low) if max(-self.low, self.high) < MAX_NUMBER else 1e-9
        ranges = []
        for number in _as_numbers(outcome):
            low, high = sorted((number * (1 - RELATIVE_TOLERANCE), number / (1 - RELATIVE_TOLERANCE)))
            ranges.append((min(low, number - tolerance), max(high, number + tolerance)))
        return ranges


def plain_line(text: object) -> str:
    """Return untrusted text as one short line, without invisible characters and stacks of combining marks."""
    characters, n_combining_marks = [], 0
    for character in str(text)[: 4 * MAX_TEXT_CHARS]:
        n_combining_marks = n_combining_marks + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        if n_combining_marks <= MAX_COMBINING_MARKS:
            characters.append(character if character.isprintable() else " ")
    return " ".join("".join(characters).split())[:MAX_TEXT_CHARS]


def _as_numbers(answer: AnswerValue) -> tuple[float, ...]:
    return tuple(float(number) for number in (answer if isinstance(answer, tuple) else (answer,)))


@dataclass(frozen=True)
class Step:
    """One step of a lesson.

    Attributes:
        text: Markdown.
        link: query of the link that the step opens ("?data=xor&q=orders"); "" to leave the page as it is.
        hide: hidden parts of the page (`lessons.reader.PARTS`).
        ask: the question; None without one.
        run: whether the reader presses Run in this step, after the question.
        reveal: Markdown, shown when the run has ended.
    """

    text: str
    link: str = ""
    hide: tuple[str, ...] = ()
    ask: Question | None = None
    run: bool = False
    reveal: str = ""


@dataclass(frozen=True)
class Lesson:
    """A lesson.

    Attributes:
        id: its slug.
        version: changes with the questions, so that answers to old ones do not count.
        title: plain text.
        minutes: that it takes about.
        audience: for whom it is; "" if that is not stated.
        steps: at least one.
    """

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
        """Return the question with an id; None without one."""
        return next((question for question in self.questions if question.id == id), None)
