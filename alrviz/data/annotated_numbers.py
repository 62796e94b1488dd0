"""Columns of text of which most cells are numbers, dates or times: asked about, as a guess could be wrong.

0.2, 0.4 p, 8.1[1], 3,720 (46 %), <5, n.d.    numbers with annotations, see `ANNOTATIONS`, and words
1:02:07, 1:03:11, DNF                         times, dates or numbers among more words than by mistake
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from alrviz.data.dates import parse_dates, time_form
from alrviz.data.doubts import DoubtCode, DoubtNote
from alrviz.data.numbers import marks_of
from alrviz.data.options import ReadOptions, missing_change
from alrviz.data.parse_values import FLAG, ascii_numbers, bare_numbers, without_annotations
from alrviz.data.quantities import plain_numbers
from alrviz.data.text import NUMBERLIKE, TextColumn
from alrviz.errors import listed, plural, short

STARTS_LIKE_A_NUMBER = re.compile(r"^(\W{0,3}|c(a|irca)?\.? |[A-Z]{3} )\d")
WORD = r"^[^0-9]*$"
SAMPLE_LEVELS = 20  # tested first, which is enough for a column of words
MIN_NUMBERS, MIN_DECIMALS = 5, 3  # distinct numbers of a column that may have numbers; if some have decimals
LEVELS_PER_WORD, MAX_WORDS = 4, 3  # distinct numbers for each distinct word, or so many words in any case
MIN_BARE_SHARE = 0.25  # of the texts, if the others have letters behind whole numbers: 12A and 12B are codes


@dataclass(frozen=True)
class AnnotatedNumbers:
    """A column of numbers without their annotations.

    Attributes:
        numbers: the bare numbers; `stray` texts are missing.
        unit: of the numbers; None without any, see `plain_numbers`.
        stray: the texts without a number, or of another unit than most.
        annotations: descriptions of the removed annotations.
        annotated: the texts with annotations.
    """

    numbers: TextColumn
    unit: str | None
    stray: tuple[str, ...]
    annotations: tuple[str, ...]
    annotated: tuple[str, ...]

    @classmethod
    def from_text(cls, column: TextColumn) -> "AnnotatedNumbers":
        """Return the numbers in a column of text."""
        ascii_levels = ascii_numbers(column.levels)
        bare, _ = without_annotations(ascii_levels)
        quantities = bare_numbers(bare)
        units = Counter(filter(None, quantities.units)).most_common(1)
        is_plain = pc.match_substring_regex(bare, NUMBERLIKE).to_pylist()
        is_number = [
            plain or (number is not None and unit in ("", *(unit for unit, _ in units)))
            for plain, number, unit in zip(is_plain, quantities.numbers, quantities.units, strict=True)
        ]
        mask = pa.array(is_number, pa.bool_())
        _, annotations = without_annotations(ascii_levels.filter(mask))
        annotated = column.levels.filter(pc.and_(mask, pc.not_equal(ascii_levels, bare))).to_pylist()
        stray = tuple(column.levels.filter(pc.invert(mask)).to_pylist())
        numbers = TextColumn.from_codes(column.name, column.codes, bare, column.is_number)
        numbers = numbers.without_texts(bare.filter(pc.invert(mask)).to_pylist())
        plain_column, unit = plain_numbers(numbers) or (numbers, None)
        return cls(plain_column, unit, stray, tuple(annotations), tuple(annotated))

    def count(self, column: TextColumn) -> tuple[int, int]:
        """Return the numbers of cells of the column with an annotated number, and without a number."""
        return column.count(self.annotated), column.count(self.stray)


def annotated_numbers_doubts(columns: Sequence[tuple[TextColumn, AnnotatedNumbers]], read: str) -> list[str]:
    """Return doubts whether annotated numbers are numbers, one for all columns with the same annotations.

    `read` says how the texts were read.
    """
    columns_by_annotation: dict[str, list[tuple[TextColumn, AnnotatedNumbers]]] = {}
    for column, numbers in columns:
        columns_by_annotation.setdefault(" or ".join(numbers.annotations), []).append((column, numbers))
    notes: list[str] = []
    for annotation_text, members in columns_by_annotation.items():
        names = [column.name for column, _ in members]
        example = short(members[0][1].annotated[0])
        n_cells, n_stray = map(sum, zip(*(numbers.count(column) for column, numbers in members), strict=True))
        note = f"{example} in {listed(names)} looks like a number with {annotation_text} beside it"
        note += f" ({plural(n_cells, 'such cell')}): read as {read}"
        remainder = f", and missing in {plural(n_stray, 'other cell')}" if n_stray else ""
        words = {"such": example, "what": annotation_text, "read": read, "other": remainder}
        change = {"columns": {name: {"numbers": True} for name in names}}
        notes.append(DoubtNote.with_doubt(note, DoubtCode.ANNOTATED_NUMBERS, change, names, n_cells, **words))
    return notes


def annotated_numbers(column: TextColumn, options: ReadOptions, marks: tuple[str, str]) -> AnnotatedNumbers | None:
    """Return the numbers of a column of text if most of its cells may be annotated numbers; else None.

    Args:
        column: without its missing values.
        options: of the column.
        marks: the table's decimal and thousands marks.
    """
    if not _has_few_words(column) or not (numbers := AnnotatedNumbers.from_text(column)).annotations:
        return None
    levels = numbers.numbers.levels
    has_decimals = pc.any(pc.match_substring_regex(levels, "[.,]")).as_py()
    if len(levels) < (MIN_DECIMALS if has_decimals else MIN_NUMBERS) or not _are_most(column, numbers.stray):
        return None
    strays_with_digits = [text for text in numbers.stray if not re.match(WORD, text)]
    if LEVELS_PER_WORD * len(strays_with_digits) > len(levels) or marks_of(numbers.numbers, options, marks) is None:
        return None
    n_bare = len(column.levels) - len(numbers.annotated) - len(numbers.stray)
    may_be_codes = numbers.annotations == (FLAG,) and not has_decimals and n_bare < MIN_BARE_SHARE * len(column.levels)
    return None if may_be_codes else numbers


def other_type_doubt(
    column: TextColumn, options: ReadOptions, marks: tuple[str, str], missing: Sequence[str]
) -> list[str]:
    """Return a doubt about a column of text of which most cells are dates, times or numbers, and the others words.

    `missing` are the column's missing texts; the other arguments are those of `annotated_numbers`.
    """
    words = column.levels.filter(pc.match_substring_regex(column.levels, WORD)).to_pylist()
    if not words or not _has_few_words(column):
        return []
    rest = column.without_texts(words)
    numbers = (plain_numbers(rest) or (rest, None))[0]
    if len(rest.levels) < MIN_NUMBERS:
        return []
    is_number = marks_of(numbers, options, marks) is not None
    type_name = "dates" if parse_dates(rest, options) else "times" if time_form(rest) else "numbers" * is_number
    if not type_name:
        return []
    example, n_cells = short(rest.levels[0].as_py()), column.count(words)
    words_text = f"{plural(n_cells, 'cell')} such as {short(words[0])}"
    note = f"most texts in {column.name!r} are {type_name}, and {words_text} are none: read as text"
    change = missing_change({column.name: missing}, add=words)
    doubt_texts = {"such": example, "what": type_name}
    return [DoubtNote.with_doubt(note, DoubtCode.OTHER_TYPE, change, [column.name], n_cells, **doubt_texts)]


def _has_few_words(column: TextColumn) -> bool:
    """Return whether most cells begin with a digit and few distinct texts are words."""
    sample = column.levels[:: 1 + len(column.levels) // SAMPLE_LEVELS].to_pylist()
    if 2 * sum(bool(STARTS_LIKE_A_NUMBER.search(text)) for text in sample) < len(sample):
        return False
    words = column.levels.filter(pc.match_substring_regex(column.levels, WORD)).to_pylist()
    n_others = len(column.levels) - len(words)
    return LEVELS_PER_WORD * len(words) <= max(n_others, MAX_WORDS * LEVELS_PER_WORD) and _are_most(column, words)


def _are_most(column: TextColumn, others: Sequence[str]) -> bool:
    """Return whether at most half of the cells with a text have one of `others`."""
    return 2 * column.count(others) <= int((column.codes >= 0).sum())
