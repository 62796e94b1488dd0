"""Stray texts: the few in a column of numbers or dates that are neither; they are missing, with a doubt."""

from collections import Counter
from collections.abc import Sequence

import pyarrow.compute as pc

from alrviz.data.doubts import DoubtCode, DoubtNote
from alrviz.data.numbers import INFINITE
from alrviz.data.parse_values import QUANTITY_PATTERN, bare_numbers
from alrviz.data.text import NUMBERLIKE, TextColumn, are_few, python_regex
from alrviz.errors import Sentence, plural, short

LEVELS_PER_STRAY_TEXT = 10  # distinct numbers of a column for each stray text
SAMPLE = 20  # levels that are tested first, which is enough for a column of words


def stray_texts(column: TextColumn) -> tuple[str, ...]:
    """Return the few texts of a column of numbers, or of quantities with one unit, that are neither; else ()."""
    texts_left = column.levels.filter(pc.invert(pc.match_substring_regex(column.levels, NUMBERLIKE)))
    if not len(texts_left):
        return ()
    may_be_few = LEVELS_PER_STRAY_TEXT * len(texts_left) <= len(column.levels) - len(texts_left)
    texts = tuple(texts_left.to_pylist()) if may_be_few else ()
    if not texts or not are_few(column, texts, LEVELS_PER_STRAY_TEXT):
        texts = _stray_quantities(column)
    is_infinite = any(
        python_regex(INFINITE).search(text) for text in texts
    )  # an error with its row, see `check_numbers`
    return () if is_infinite else texts


def _stray_quantities(column: TextColumn) -> tuple[str, ...]:
    sample = column.levels[:: 1 + len(column.levels) // SAMPLE].to_pylist()
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
    rows = column.count(texts)
    values = plural(rows, "value is", "values are")
    decision = f"{values} no {noun} in {column.name!r}, such as {short(texts[0])}: read as missing"
    note = Sentence(
        f"{decision} (options=ReadOptions(missing=()) reads the column as text)",
        f'{decision} (to read the column as text, say in "How it was read" which missing values are written)',
    )
    change = {"columns": {column.name: {"missing": list(missing)}}}
    return DoubtNote.with_doubt(
        note, DoubtCode.STRAY_TEXT, change, [column.name], rows, such=short(texts[0]), what=f"{noun}s"
    )
