"""Which texts and numbers stand for a missing value.

What is a gap wherever it stands (`MISSING`) counts in the whole table. What may also be a level (`DOUBTFUL`: None, a
dot, a dash) counts where all other values of its column are numbers or dates; a dash also among words, never among
single letters or signs. Numbers such as -999 are only pointed out: a measurement may well be -999.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from alrviz.data.dates import parse_dates, split_pairs, time_form
from alrviz.data.doubts import Doubt, DoubtCode, DoubtNote
from alrviz.data.options import CERTAIN, DOUBTFUL, MISSING, ReadOptions
from alrviz.data.parse_values import number_text, numbers_among
from alrviz.data.quantities import measured_limits, plain_numbers
from alrviz.data.text import NUMBERLIKE, TextColumn, all_match
from alrviz.errors import Sentence, listed, plural
from alrviz.stop import NEVER, StopToken

SENTINELS = (
    *(7.0, 8.0, 9.0, 77.0, 88.0, -1.0, -7.0, -8.0, -9.0, -77.0, -88.0),
    *(sign * (10.0**k - 1) for k in range(2, 7) for sign in (1, -1)),
)
MIN_ROWS = 2  # rows that hold it, unless it is a row of nines
MIN_LONE_NUMBER = 99.0  # from it on one row is enough, as nobody measures -99 or 999 by chance
MAX_TAIL_SHARE = (
    0.25  # of the rows of the most frequent value: a last one of fewer ends no scale, but a count's long tail
)
MIN_OTHER_VALUES = 5  # values beside one that is none of SENTINELS
MIN_SHARE = 0.005  # of the rows, of a value that is none of SENTINELS
SAMPLE_ROWS = 256
MAX_NAMED = 5  # columns that a note names
MAX_AT_AN_END = 3  # values: refused, not asked, does not know
KEEP_AS_LEVEL = (  # in Python, on the page
    "options=ReadOptions(missing=()) keeps it as a level",
    'to keep it as a level, take it out of "Missing values are written" in "How it was read"',
)
MIN_GAP_RATIO = 2.0  # times the range of all other values lies between it and the nearest of them


DASHES = "-\u2013\u2014"
CODE_TEXT = "^[A-Z]{2}$"  # of countries, states: NA is Namibia among them
MIN_CODES = 3


class MissingTexts(NamedTuple):
    """Which texts stand for a missing value.

    everywhere: in the whole table, the empty one first. by_column: further ones of single columns. levels: texts of
    `CERTAIN` that are levels of single columns. notes: sentences.
    """

    everywhere: tuple[str, ...]
    by_column: dict[str, tuple[str, ...]]
    levels: dict[str, tuple[str, ...]]
    notes: list[str]


def detect_missing(columns: Sequence[TextColumn], stop: StopToken = NEVER) -> MissingTexts:
    """Return which of the texts that often stand for a missing value do so, and where."""
    candidates = pa.array([*CERTAIN, *DOUBTFUL], type=pa.string())
    gaps: dict[str, list[str]] = {}
    levels: dict[str, list[str]] = {}
    cells = Counter[str]()  # of words, by token
    marks = Counter[str]()  # cells of errors of spreadsheets and dashes, in any column
    marked_columns: list[str] = []
    kept_cells = Counter[str]()  # where it is a level
    for column in columns:
        stop.check()
        tokens = column.levels.filter(pc.is_in(column.levels, value_set=candidates)).to_pylist()
        if not any(tokens):
            continue
        rest = column.without_texts(tokens)
        is_measured = _is_measured(rest)
        for token in filter(None, tokens):
            is_level = _is_level(token, rest, is_measured)
            (levels if is_level else gaps).setdefault(token, []).append(column.name)
            if not is_level and (token.startswith("#") or not token.strip(DASHES)):
                marks[token] += column.count([token])
                marked_columns.append(column.name)
            if token in CERTAIN and (is_level or not is_measured):
                (kept_cells if is_level else cells)[token] += column.count([token])
    by_column: dict[str, tuple[str, ...]] = {}
    for token, names in gaps.items():
        for name in names if token in levels else ():
            by_column[name] = (*by_column.get(name, ()), token)
    everywhere = ("", *(token for token in (*MISSING, *DOUBTFUL) if token in gaps and token not in levels))

    def change_of(token: str, names: Sequence[str], *, missing: bool) -> dict[str, Any]:
        """The options by which a text is missing in these columns, or a level."""
        tokens = {name: [*everywhere, *by_column.get(name, ())] for name in names}
        texts_by_column = {
            name: [*texts_by_column, token] if missing else [t for t in texts_by_column if t != token]
            for name, texts_by_column in tokens.items()
        }
        return {"columns": {name: {"missing": list(dict.fromkeys(texts))} for name, texts in texts_by_column.items()}}

    notes: list[str] = []
    for token, names in gaps.items():
        if token in levels:
            note = f"{token!r} is missing in {listed(names)}, but a level of {listed(levels[token])}"
            if token in CERTAIN:
                change = change_of(token, levels[token], missing=True)
                doubt = Doubt.from_change(
                    DoubtCode.LEVEL_TEXT, change, levels[token], kept_cells[token], such=repr(token)
                )
                note = DoubtNote.with_doubt(note, doubt)
            notes.append(note)
        elif token in cells and token.isalpha():
            reading = (
                f"{token!r} was read as missing in {cells[token]:,} {'cell' if cells[token] == 1 else 'cells'} of "
            )
            note = Sentence(*(f"{reading}{listed(names)} ({advice})" for advice in KEEP_AS_LEVEL))
            change = change_of(token, names, missing=False)
            doubt = Doubt.from_change(DoubtCode.MISSING_TEXT, change, names, cells[token], such=repr(token))
            notes.append(DoubtNote.with_doubt(note, doubt))
        elif token not in CERTAIN and token.strip(DASHES):
            notes.append(f"{token!r} in {listed(names)} was read as missing, as the other values are numbers or dates")
    if marks:
        counts = ", ".join(f"{token} ({plural(count, 'cell')})" for token, count in marks.items())
        notes.append(f"{counts} in {listed(list(dict.fromkeys(marked_columns)))} read as missing")
    level_texts: dict[str, tuple[str, ...]] = {}
    for token, names in levels.items():
        for name in names if token in CERTAIN else ():
            level_texts[name] = (*level_texts.get(name, ()), token)
    return MissingTexts(tuple(dict.fromkeys(everywhere)), by_column, level_texts, notes)


def _is_level(token: str, rest: TextColumn, is_measured: bool) -> bool:
    """Whether a text is a level of a column, given its other texts, rather than a missing value."""
    if token in CERTAIN:
        codes = len(rest.levels) >= MIN_CODES and all_match(rest.levels, CODE_TEXT)
        return codes and bool(re.match(CODE_TEXT, token))
    words = len(rest.levels) > 0 and pc.min(pc.utf8_length(rest.levels)).as_py() > 1
    return not is_measured and not (words and not token.strip(DASHES))


def _is_measured(column: TextColumn) -> bool:
    """Whether all levels are numbers, quantities, limits, dates or times."""
    if len(column.levels) == 0:
        return False
    return (
        bool(pc.all(pc.match_substring_regex(column.levels, NUMBERLIKE)).as_py())
        or plain_numbers(column) is not None
        or measured_limits(column) is not None
        or parse_dates(column, ReadOptions()) is not None
        or time_form(column) is not None
        or split_pairs(column) is not None
    )


def without_numbers(series: pd.Series, tokens: Sequence[str]) -> pd.Series:
    """Return numbers with those that a token names made missing: -999.0 for "-999"."""
    if series.dtype.kind not in "if" or not (tokens_as_numbers := numbers_among(tokens)):
        return series
    is_token = series.isin(tokens_as_numbers)
    return series.where(~is_token, np.nan).astype(np.float64) if is_token.any() else series


def sentinels(columns: Sequence[pd.Series]) -> dict[str, list[str]]:
    """Return the numbers that look like a missing value, as text, each with the columns that hold them.

    A negative number that does in one column does in others, too, where it is the only one below 0.
    """
    numeric = {str(series.name): series for series in columns if series.dtype.kind in "if"}
    by_column = {name: column_sentinels(series.to_numpy(dtype=np.float64)) for name, series in numeric.items()}
    negative = {value for values in by_column.values() for value in values if value < 0}
    for name, series in numeric.items() if negative else ():
        if by_column[name]:
            continue
        negatives = series[series < 0].to_numpy(dtype=np.float64)
        if len(negatives) >= MIN_ROWS and negatives[0] in negative and (negatives == negatives[0]).all():
            by_column[name] = [float(negatives[0])]
    columns_by_text: dict[str, list[str]] = {}
    for name, values in by_column.items():
        for value in values:
            columns_by_text.setdefault(number_text(value), []).append(name)
    return columns_by_text


def column_sentinels(numbers: np.ndarray) -> list[float]:
    """Return the values at the ends of a column (N,) that repeat and lie apart: up to three at each end."""
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers) or not _may_lie_apart(numbers):
        return []
    values, counts = np.unique(numbers, return_counts=True)
    for n_apart in range(1, min(MAX_AT_AN_END, len(values) - 2) + 1):
        for ends, rest, nearest_value in (
            (values[:n_apart], values[n_apart:], values[n_apart - 1]),
            (values[-n_apart:], values[:-n_apart], values[-n_apart]),
        ):
            rows = counts[np.isin(values, ends)]
            is_lone = n_apart == 1 and abs(nearest_value) >= MIN_LONE_NUMBER and nearest_value in SENTINELS
            if rows.min() < MIN_ROWS and not (is_lone and len(rest) >= MIN_OTHER_VALUES):
                continue
            is_tail = _is_tail(counts[np.isin(values, rest)], rows.sum())
            if _stands_out(float(nearest_value), rest, rows.sum() / counts.sum(), is_tail=is_tail):
                return [*ends.tolist(), *column_sentinels(numbers[~np.isin(numbers, ends)])]
    return []


def _may_lie_apart(numbers: np.ndarray) -> bool:
    """Return False where a few rows show that no value lies apart, which spares sorting them all."""
    low, high = float(numbers.min()), float(numbers.max())
    sample, third = numbers[:: 1 + len(numbers) // SAMPLE_ROWS], (high - low) / 3  # a gap is two thirds of the range
    is_inside = (sample > low + third) & (sample < high - third)
    return low in SENTINELS or high in SENTINELS or not is_inside.any()


def _is_tail(counts: np.ndarray, rows: int) -> bool:
    """Whether a value beyond others, of so many rows each, may be one of the rare high ones of a count."""
    return bool(counts[-1] <= MAX_TAIL_SHARE * counts.max() and rows <= 2 * counts[-1])


def _stands_out(value: float, rest: np.ndarray, share: float, *, is_tail: bool) -> bool:
    """Whether a value is far from the others, sorted and distinct; `share` of the rows hold it."""
    low, high = float(rest[0]), float(rest[-1])
    distance = low - value if value < low else value - high
    is_apart = distance > MIN_GAP_RATIO * max(high - low, 1.0)
    if value not in SENTINELS:
        return is_apart and len(rest) >= MIN_OTHER_VALUES and MIN_SHARE <= share <= 0.5 and value == np.floor(value)
    if value > 0:
        return is_apart and high < value / 2 if value > 9 else not is_tail and _ends_a_scale(value, rest)
    if low < 0:
        return is_apart
    if value > -10:  # "none of it" may be coded so: where 0 is none, or there are measurements above it
        return low >= 1 or (high > 10 and len(rest) > 10)
    return True


def _ends_a_scale(value: float, rest: np.ndarray) -> bool:
    """Whether 7, 8 or 9 is beyond the end of a scale such as 1 to 5, or 8 or 9 beyond the answers 1 and 2."""
    scale = np.arange(rest[0], rest[-1] + 1)
    is_scale = rest[0] in (0, 1) and np.array_equal(rest, scale) and value > rest[-1] + 1
    return is_scale and (len(rest) >= 3 or (rest.tolist() == [1, 2] and value >= 8))


def sentinel_notes(
    columns_by_number: dict[str, list[str]], columns: Mapping[str, pd.Series], options: ReadOptions
) -> list[str]:
    """Return a note for each number that may stand for a missing value, beside those texts that `options` make so."""
    notes: list[str] = []
    for token, names in columns_by_number.items():
        cells = {name: int((columns[name] == float(token)).sum()) for name in names}
        columns_text = ", ".join(f"{name!r} ({count:,} cells)" for name, count in [*cells.items()][:MAX_NAMED])
        columns_text += f" and {len(names) - MAX_NAMED:,} more columns" if len(names) > MAX_NAMED else ""
        reading = f"{token} in {columns_text} may stand for a missing value; it was read as a number "
        texts_by_column = {name: [*(options.for_column(name).missing or ("",)), token] for name in names}
        change = {"columns": {name: {"missing": texts} for name, texts in texts_by_column.items()}}
        # Of these columns alone: in others the same number may be a value.
        option = f"ReadOptions(columns={change['columns']!r})" if len(names) <= MAX_NAMED else "its doubt's change"
        note = Sentence(
            f"{reading}(options={option} reads it as missing)",
            f'{reading}(to read it as missing, add it in "How it was read" to "Missing values are written")',
        )
        notes.append(
            DoubtNote.with_doubt(
                note, Doubt.from_change(DoubtCode.SENTINEL, change, names, sum(cells.values()), such=token)
            )
        )
    return notes
