r"""Doubtful decisions of the reader: each is a question, with the options for the alternative.

>>> import alrviz, io
>>> text = "age,class\n" + "".join(f"{20 + k % 50},{'ab'[k % 2]}\n" for k in range(200)) + "-99,a\n-99,b\n"
>>> doubt = alrviz.read_table(io.StringIO(text), "class").doubts[0]
>>> doubt.code.value, doubt.n_cells, doubt.options_text
('sentinel', 2, "ReadOptions(columns={'age': {'missing': ['', '-99']}})")
>>> options = alrviz.ReadOptions().with_change(doubt.change)
>>> int(alrviz.read_table(io.StringIO(text), "class", options=options).X["age"].min())
20
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from alrviz.data.options import ReadOptions
from alrviz.errors import Sentence, for_page, listed, plural


class NoteCode(Enum):
    """The subject of a note, for code that selects notes."""

    LEFT_OUT = "lines left out"
    STACKED = "tables under one another"
    STRAY_BYTES = "stray bytes"
    FORMULAS = "formulas without values"
    ERROR_CELLS = "errors in cells"
    OPEN_QUOTES = "quotation marks that are never closed"
    UNEVEN_ROWS = "rows of too few or too many cells"
    TARGET = "the guessed target"
    SHAPE = "a table of another shape: long form, cross table, transposed"
    FIXED_WIDTH = "columns of fixed width, or lines of dashes"
    PAGES = "numbers and heads of printed pages"


class DoubtCode(Enum):
    """The kind of a doubtful decision."""

    SENTINEL = "sentinel"
    MISSING_TEXT = "missing text"
    LEVEL_TEXT = "level text"
    STRAY_TEXT = "stray text"
    NO_HEADER = "no header"
    DAY_OR_MONTH = "day or month first"
    TWO_DIGIT_YEARS = "two-digit years"
    MARK_OF_NUMBERS = "decimals or thousands"
    NO_ANSWER = "no answer"
    SPELLING = "spelling"
    ANNOTATED_NUMBERS = "annotated numbers"
    OTHER_TYPE = "most texts of another type"
    GROUP_LABELS = "labels of groups"
    ENCODING = "encoding"
    DELIMITER = "delimiter"
    LONG_FORM = "long form"


_QUESTIONS = {
    DoubtCode.SENTINEL: "{such} in {columns} ({cells}) is far from the other values, or far more frequent. Does it "
    "stand for a missing value?",
    DoubtCode.MISSING_TEXT: "{such} was read as a missing value in {columns} ({cells}). Is it a value like the others?",
    DoubtCode.LEVEL_TEXT: "{such} in {columns} was read as a value ({cells}). Does it stand for a missing value?",
    DoubtCode.STRAY_TEXT: "Some texts in {columns}, such as {such}, are no {what} and were read as missing ({cells}). "
    "Is the column text?",
    DoubtCode.NO_HEADER: "The first line looks like those below, so it was read as data. Does it hold the names?",
    DoubtCode.DAY_OR_MONTH: "Dates in {columns}, such as {such}, were read {read}. Are they {other}?",
    DoubtCode.TWO_DIGIT_YEARS: "Years of two digits in {columns} were read as {read}. Are they {other}?",
    DoubtCode.MARK_OF_NUMBERS: "{such} in {columns} was read as {read}. Is it {other}?",
    DoubtCode.NO_ANSWER: "{such} in {columns} ({cells}) may be no answer. Does it stand for a missing value?",
    DoubtCode.SPELLING: "In {columns} {such} may be other spellings ({cells}). Are they?",
    DoubtCode.ANNOTATED_NUMBERS: "{such} in {columns} looks like a number with {what} beside it, and was read as "
    "{read} ({cells} so). Is it the number{other}?",
    DoubtCode.OTHER_TYPE: "Most texts in {columns}, such as {such}, are {what}, and it was read as text. Is it "
    "{what}, and missing in the other {cells}?",
    DoubtCode.GROUP_LABELS: "{columns} has a value in the first row of each group alone ({cells} without one). Does it "
    "hold for the rows below?",
    DoubtCode.ENCODING: "The text is not UTF-8 and was read as {read}. Is it {other}?",
    DoubtCode.DELIMITER: "Both {read} and {other} split the lines evenly; {read} was used. Is the delimiter {other}?",
    DoubtCode.LONG_FORM: "This looks like a long form, with a row for each {such} of each {what}. Shall it be one row "
    "for each {what}, with a column for each {such}?",
}


@dataclass(frozen=True)
class Doubt:
    """A doubtful decision.

    Attributes:
        code: the kind of decision.
        columns: the affected columns; () for the whole table.
        n_cells: the number of affected cells; 0 for all.
        question: a sentence; "yes" means the alternative.
        change: the fields of `ReadOptions` for the alternative, for `ReadOptions.with_change`.
    """

    code: DoubtCode
    columns: tuple[str, ...]
    n_cells: int
    question: str
    change: Mapping[str, Any]

    @property
    def options_text(self) -> str:
        """The options of the alternative, if none were given before, as a call in Python."""
        options = ReadOptions().with_change(self.change).explicit_options
        return f"ReadOptions({', '.join(f'{name}={value!r}' for name, value in options.items())})"


class Note(Sentence):
    """A note with the `code` of its subject."""

    code: NoteCode | DoubtCode

    @classmethod
    def with_code(cls, code: NoteCode, text: str) -> "Note":
        """Return the note with its code."""
        self = cls(text)
        self.code = code
        return self


class DoubtNote(Note):
    """A note about a doubtful decision, with its `doubt`."""

    doubt: Doubt

    @classmethod
    def with_doubt(
        cls,
        note: str,
        code: DoubtCode,
        change: Mapping[str, Any],
        columns: Sequence[str] = (),
        n_cells: int = 0,
        **words: Any,
    ) -> "DoubtNote":
        """Return the note with a doubt of these attributes; `words` fill the placeholders of its question."""
        self = cls(str(note), for_page(note))
        question = _QUESTIONS[code].format(columns=listed(columns), cells=plural(n_cells, "cell"), **words)
        self.code, self.doubt = code, Doubt(code, tuple(columns), n_cells, question, change)
        return self


def prefixed(note: str, prefix: str) -> str:
    """Return a note with a text put before it, with the same code and doubt."""
    if not isinstance(note, Sentence):
        return prefix + note
    result = type(note)(prefix + note)
    result.__dict__ |= note.__dict__ | {"page": prefix + note.page}
    return result


def notes_about(notes: Iterable[str], codes: Collection[NoteCode | DoubtCode]) -> list[Note]:
    """Return the notes whose code is among `codes`."""
    return [note for note in notes if isinstance(note, Note) and note.code in codes]


def doubts_among(notes: Iterable[str]) -> tuple[Doubt, ...]:
    """Return the doubts of notes, in their order."""
    return tuple(note.doubt for note in notes if isinstance(note, DoubtNote))
