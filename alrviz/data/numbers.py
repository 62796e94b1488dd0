"""Detect columns of numbers, and their convention: decimal and thousands marks.

A column has numbers if all levels that are not missing are numbers. The table's convention is the one in which most
columns are numbers: 1,5 and 2,25 show a decimal comma, 1,234 and 0.5 thousands marks. A column with a leading zero
(00202) or more than 15 digits, which floats could not distinguish, has codes and stays text.
"""

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal, InvalidOperation

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from alrviz.data.doubts import DoubtCode, DoubtNote
from alrviz.data.options import DECIMALS, THOUSANDS, ReadOptions, missing_change
from alrviz.data.parse_values import MINUS, QUANTITY_PATTERN, as_floats, bare_numbers, number_pattern
from alrviz.data.text import NUMBERLIKE, TextColumn, all_match, are_few, python_regex
from alrviz.errors import Sentence, TableError, listed, plural, short
from alrviz.stop import NEVER, StopToken

CODE_NUMBER = rf"^[+{MINUS}]?(0[0-9]|[0-9]{{16}})"
CODE_WITH_E = "^[0-9]+E[0-9]+$"  # of parts: 3E05, 10E4; programs write numbers as 3.0e+05 or 3E+05
LONG_NUMBER = rf"^[+{MINUS}]?[0-9.,]*[0-9]{{16}}"
EXACT_DIGITS = 15
INFINITE = rf"^[+{MINUS}]?[iI][nN][fF]([iI][nN][iI][tT][yY])?$"
OUT_OF_RANGE = re.compile(r"(?i)^[^a-z]*inf|[0-9]e\+?[0-9]{3}|[0-9]{300}")  # an infinity, or beyond the largest float
LEVELS_PER_STRAY_TEXT = 10  # distinct numbers of a column for each stray text
STRAY_SAMPLE = 20  # levels that are tested first, which is enough for a column of words
SAMPLE = 5000  # distinct texts of a column from which the convention is detected; parsing tests all


def detect_convention(columns: Sequence[TextColumn], options: ReadOptions, stop: StopToken = NEVER) -> tuple[str, str]:
    """Return (decimal, thousands), detected unless set in `options`.

    In a tie the plain point wins, then the convention that the delimiter suggests: files with semicolons are from where
    the comma is the decimal mark, so 1,234 is 1.234; in other files it is 1234.
    """
    choices = [
        (decimal, thousands)
        for decimal in DECIMALS
        for thousands in THOUSANDS
        if options.decimal in (None, decimal) and options.thousands in (None, thousands) and decimal != thousands
    ]
    comma_first = options.delimiter == ";"
    choices.sort(key=lambda c: (c != (".", ""), (c[0] == ".") == comma_first, THOUSANDS.index(c[1])))
    samples = []
    for column in columns:
        stop.check()
        levels = column.text_cells.levels[:SAMPLE]
        if len(levels) and all_match(levels, NUMBERLIKE) and not _all_plain(levels):
            samples.append(levels)
    if not samples or len(choices) == 1:
        return choices[0]
    scores = [sum(all_match(levels, number_pattern(*choice)) for levels in samples) for choice in choices]
    return choices[int(np.argmax(scores))]


def doubt_of_marks(columns: Sequence[TextColumn], options: ReadOptions, decimal: str, thousands: str) -> list[str]:
    """Return a doubt if a mark in a file with semicolons may be of decimals or of thousands, as in 12.110."""
    if options.delimiter != ";" or options.decimal is not None or options.thousands is not None:
        return []
    example_by_column: dict[str, str] = {}
    for column in columns:
        levels = column.text_cells.levels
        if not len(levels) or not all_match(levels, NUMBERLIKE) or _all_plain(levels):
            continue
        if thousands or not all_match(levels, rf"^[+{MINUS}]?([1-9][0-9]{{0,2}}([{decimal}][0-9]{{3}})*|0)$"):
            return []
        example_by_column[column.name] = levels.filter(pc.match_substring(levels, decimal))[0].as_py()
    if not example_by_column:
        return []
    example = next(iter(example_by_column.values()))
    columns_text = listed(list(example_by_column))
    note = f"{example!r} in {columns_text} was read with a decimal {decimal!r}, and may have it between thousands"
    number = as_floats(pa.array([example]), decimal, "")[0]
    doubt_texts = {"such": example, "read": f"{number:g}", "other": example.replace(decimal, "")}
    change = {"decimal": other_mark(decimal), "thousands": decimal}
    return [DoubtNote.with_doubt(note, DoubtCode.MARK_OF_NUMBERS, change, list(example_by_column), 0, **doubt_texts)]


def _all_plain(levels: pa.Array) -> bool:
    return all_match(levels, "^[+-]?[0-9]+$")


def is_numeric(column: TextColumn, decimal: str, thousands: str) -> bool:
    """Return whether a column has numbers in this convention, rather than codes.

    Cells that were numbers in the source are in Python's notation, whatever the convention of the other cells.
    """
    if column.is_number is not None and column.is_number.any():
        columns_marks = [
            (column.mask_rows(column.is_number), (".", "")),
            (column.mask_rows(~column.is_number), (decimal, thousands)),
        ]
        return all(
            is_numeric(replace(part, is_number=None), *marks) for part, marks in columns_marks if len(part.levels)
        )
    levels = column.levels
    if len(levels) == 0 or not all_match(levels, number_pattern(decimal, thousands)) or all_match(levels, INFINITE):
        return False
    has_codes = pc.any(pc.match_substring_regex(levels, CODE_NUMBER)).as_py() or all_match(levels, CODE_WITH_E)
    return not (has_codes or merges(levels, decimal))


def other_mark(decimal: str) -> str:
    """Return the other decimal mark."""
    return DECIMALS[decimal == DECIMALS[0]]


def marks_of(column: TextColumn, options: ReadOptions, usual: tuple[str, str]) -> tuple[str, str] | None:
    """Return the marks of a column of numbers: the `usual` ones of the table, or others; None for other columns."""
    decimals = [mark for mark in (usual[0], other_mark(usual[0])) if options.decimal in (None, mark)]
    thousands = THOUSANDS if options.thousands is None else (options.thousands,)
    choices = [
        usual,
        *((mark, thousands_mark) for mark in decimals for thousands_mark in thousands if mark != thousands_mark),
    ]
    return next((marks for marks in dict.fromkeys(choices) if is_numeric(column, *marks)), None)


def comma_notes(columns: Sequence[TextColumn]) -> list[str]:
    """Return a note on the texts with a decimal comma in a workbook's columns of numbers, if there are any."""
    example_by_column = dict[str, str]()
    for column in columns:
        levels = column.text_cells.levels
        texts = levels.filter(pc.match_substring(levels, ","))
        if column.is_number is not None and len(texts):
            example_by_column[column.name] = texts[0].as_py()
    if not example_by_column:
        return []
    example = next(iter(example_by_column.values()))
    return [f"texts in {listed([*example_by_column])}, such as {example!r}, were read as numbers with a decimal comma"]


def merges(levels: pa.Array, decimal: str = ".") -> bool:
    """Return whether most distinct numbers of more than 15 digits would be equal to another one as floats."""
    long_texts = levels.filter(pc.greater(pc.utf8_length(levels), EXACT_DIGITS)).to_pylist()
    exact = set()
    for text in long_texts:
        with suppress(InvalidOperation):  # thousands marks: the number is long because of them, not of its digits
            exact.add(Decimal(text.replace(decimal, ".")))
    return 2 * len({float(number) for number in exact}) < len(exact)


def digits_note(column: TextColumn) -> str:
    """Return a note on a column that is text only because its numbers have more digits than a float; "" for others."""
    levels = column.levels
    long_numbers = levels.filter(pc.match_substring_regex(levels, LONG_NUMBER))
    if not len(long_numbers) or not all_match(levels, NUMBERLIKE):
        return ""
    return (
        f"numbers in {column.name!r} have more digits than a number keeps apart, such as "
        f"{short(long_numbers[0].as_py())}: each is a level of its own"
    )


def check_numbers(column: TextColumn, bad: np.ndarray, decimal: str = ".") -> None:
    """Raise `TableError` for the first of the `bad` rows (N,): no number, or one outside the range of floats."""
    if not bad.any():
        return
    row = int(bad.argmax())
    text = column.levels[int(column.codes[row])].as_py()
    if OUT_OF_RANGE.search(text):
        raise TableError(
            f"column {column.name!r} has {short(text)} in data row {row + 1:,}, beyond what a number can hold; "
            "infinities are not allowed: correct the value, or make it missing"
        )
    raise TableError(
        f"column {column.name!r} cannot be numeric: {short(text)} in data row {row + 1:,} is not a number (decimal "
        f"mark {decimal!r}); make its kind 'categorical', or say which texts are a missing value"
    )


def are_whole(numbers: np.ndarray) -> bool:
    """Return whether all numbers (N,) are whole and below 2**53, and so exact as integers."""
    return bool((np.abs(numbers) < 2**53).all() and (numbers == np.floor(numbers)).all())


# ---- stray texts: the few in a column of numbers or dates that are neither -------------------------------------------


def stray_texts(column: TextColumn) -> tuple[str, ...]:
    """Return the few texts of a column of numbers, or of quantities with one unit, that are neither; else ()."""
    texts_left = column.levels.filter(pc.invert(pc.match_substring_regex(column.levels, NUMBERLIKE)))
    if not len(texts_left):
        return ()
    may_be_few = LEVELS_PER_STRAY_TEXT * len(texts_left) <= len(column.levels) - len(texts_left)
    texts = tuple(texts_left.to_pylist()) if may_be_few else ()
    if not texts or not are_few(column, texts, LEVELS_PER_STRAY_TEXT):
        texts = _stray_quantities(column)
    is_infinite = any(map(python_regex(INFINITE).search, texts))  # an error with its row, see `check_numbers`
    return () if is_infinite else texts


def _stray_quantities(column: TextColumn) -> tuple[str, ...]:
    """Return the few texts of a column of quantities that are none, or have another unit; () for other columns."""
    sample = column.levels[:: 1 + len(column.levels) // STRAY_SAMPLE].to_pylist()
    if 2 * sum(bool(python_regex(QUANTITY_PATTERN).search(text)) for text in sample) < len(sample):
        return ()
    bare = bare_numbers(column.levels)
    units = Counter(filter(None, bare.units))
    unit = units.most_common(1)[0][0] if units else ""
    cells = zip(column.levels.to_pylist(), bare.numbers, bare.units, strict=True)
    texts = tuple(text for text, number, unit_of_text in cells if number is None or unit_of_text not in ("", unit))
    return texts if texts and are_few(column, texts, LEVELS_PER_STRAY_TEXT) else ()


def stray_note(column: TextColumn, texts: Sequence[str], missing: Sequence[str], noun: str = "number") -> DoubtNote:
    """Return the note on stray texts among numbers, dates or times; `missing` are the column's missing texts."""
    n_rows = column.count(texts)
    values_text = plural(n_rows, "value is", "values are")
    decision = f"{values_text} no {noun} in {column.name!r}, such as {short(texts[0])}: read as missing"
    note = Sentence(
        f"{decision} (options=ReadOptions(missing=()) reads the column as text)",
        f'{decision} (to read the column as text, say in "How it was read" which missing values are written)',
    )
    change = missing_change({column.name: missing}, remove=texts)
    return DoubtNote.with_doubt(
        note, DoubtCode.STRAY_TEXT, change, [column.name], n_rows, such=short(texts[0]), what=f"{noun}s"
    )
