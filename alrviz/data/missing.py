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
FEWEST = 2  # rows that hold it, unless it is a row of nines
NINES = 99.0  # from it on one row is enough, as nobody measures -99 or 999 by chance
FALLING = 0.25  # of the rows of the most frequent value: a last one of fewer ends no scale, but a count's long tail
FEWEST_OTHERS = 5  # values beside one that is none of SENTINELS
FEWEST_SHARE = 0.005  # of the rows, of a value that is none of SENTINELS
SOME_ROWS = 256
MAX_NAMED = 5  # columns that a note names
MOST_AT_AN_END = 3  # values: refused, not asked, does not know
KEEP_AS_LEVEL = (  # in Python, on the page
    "options=ReadOptions(missing=()) keeps it as a level",
    'to keep it as a level, take it out of "Missing values are written" in "How it was read"',
)
APART = 2.0  # times the range of all other values lies between it and the nearest of them


DASHES = "-\u2013\u2014"
CODE = "^[A-Z]{2}$"  # of countries, states: NA is Namibia among them
FEWEST_CODES = 3


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
    marked: list[str] = []
    kept_cells = Counter[str]()  # where it is a level
    for column in columns:
        stop.check()
        tokens = column.levels.filter(pc.is_in(column.levels, value_set=candidates)).to_pylist()
        if not any(tokens):
            continue
        others = column.without_texts(tokens)
        measured = _is_measured(others)
        for token in filter(None, tokens):
            is_level = _is_level(token, others, measured)
            (levels if is_level else gaps).setdefault(token, []).append(column.name)
            if not is_level and (token.startswith("#") or not token.strip(DASHES)):
                marks[token] += column.count([token])
                marked.append(column.name)
            if token in CERTAIN and (is_level or not measured):
                (kept_cells if is_level else cells)[token] += column.count([token])
    by_column: dict[str, tuple[str, ...]] = {}
    for token, names in gaps.items():
        for name in names if token in levels else ():
            by_column[name] = (*by_column.get(name, ()), token)
    everywhere = ("", *(token for token in (*MISSING, *DOUBTFUL) if token in gaps and token not in levels))

    def changed(token: str, names: Sequence[str], *, missing: bool) -> dict[str, Any]:
        """The options by which a text is missing in these columns, or a level."""
        tokens = {name: [*everywhere, *by_column.get(name, ())] for name in names}
        own = {name: [*own, token] if missing else [t for t in own if t != token] for name, own in tokens.items()}
        return {"columns": {name: {"missing": list(dict.fromkeys(texts))} for name, texts in own.items()}}

    notes: list[str] = []
    for token, names in gaps.items():
        if token in levels:
            note = f"{token!r} is missing in {listed(names)}, but a level of {listed(levels[token])}"
            if token in CERTAIN:
                change = changed(token, levels[token], missing=True)
                doubt = Doubt.from_change(
                    DoubtCode.LEVEL_TEXT, change, levels[token], kept_cells[token], such=repr(token)
                )
                note = DoubtNote.with_doubt(note, doubt)
            notes.append(note)
        elif token in cells and token.isalpha():
            said = f"{token!r} was read as missing in {cells[token]:,} {'cell' if cells[token] == 1 else 'cells'} of "
            note = Sentence(*(f"{said}{listed(names)} ({how})" for how in KEEP_AS_LEVEL))
            change = changed(token, names, missing=False)
            doubt = Doubt.from_change(DoubtCode.MISSING_TEXT, change, names, cells[token], such=repr(token))
            notes.append(DoubtNote.with_doubt(note, doubt))
        elif token not in CERTAIN and token.strip(DASHES):
            notes.append(f"{token!r} in {listed(names)} was read as missing, as the other values are numbers or dates")
    if marks:
        counts = ", ".join(f"{token} ({plural(count, 'cell')})" for token, count in marks.items())
        notes.append(f"{counts} in {listed(list(dict.fromkeys(marked)))} read as missing")
    kept: dict[str, tuple[str, ...]] = {}
    for token, names in levels.items():
        for name in names if token in CERTAIN else ():
            kept[name] = (*kept.get(name, ()), token)
    return MissingTexts(tuple(dict.fromkeys(everywhere)), by_column, kept, notes)


def _is_level(token: str, others: TextColumn, measured: bool) -> bool:
    """Whether a text is a level of a column, given its other texts, rather than a missing value."""
    if token in CERTAIN:
        codes = len(others.levels) >= FEWEST_CODES and all_match(others.levels, CODE)
        return codes and bool(re.match(CODE, token))
    words = len(others.levels) > 0 and pc.min(pc.utf8_length(others.levels)).as_py() > 1
    return not measured and not (words and not token.strip(DASHES))


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
    if series.dtype.kind not in "if" or not (wanted := numbers_among(tokens)):
        return series
    gone = series.isin(wanted)
    return series.where(~gone, np.nan).astype(np.float64) if gone.any() else series


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
        below = series[series < 0].to_numpy(dtype=np.float64)
        if len(below) >= FEWEST and below[0] in negative and (below == below[0]).all():
            by_column[name] = [float(below[0])]
    found: dict[str, list[str]] = {}
    for name, values in by_column.items():
        for value in values:
            found.setdefault(number_text(value), []).append(name)
    return found


def column_sentinels(numbers: np.ndarray) -> list[float]:
    """Return the values at the ends of a column (N,) that repeat and lie apart: up to three at each end."""
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers) or not _may_lie_apart(numbers):
        return []
    values, counts = np.unique(numbers, return_counts=True)
    for n_apart in range(1, min(MOST_AT_AN_END, len(values) - 2) + 1):
        for apart, rest, nearest_value in (
            (values[:n_apart], values[n_apart:], values[n_apart - 1]),
            (values[-n_apart:], values[:-n_apart], values[-n_apart]),
        ):
            rows = counts[np.isin(values, apart)]
            lone = n_apart == 1 and abs(nearest_value) >= NINES and nearest_value in SENTINELS
            if rows.min() < FEWEST and not (lone and len(rest) >= FEWEST_OTHERS):
                continue
            is_tail = _is_tail(counts[np.isin(values, rest)], rows.sum())
            if _stands_out(float(nearest_value), rest, rows.sum() / counts.sum(), is_tail=is_tail):
                return [*apart.tolist(), *column_sentinels(numbers[~np.isin(numbers, apart)])]
    return []


def _may_lie_apart(numbers: np.ndarray) -> bool:
    """Return False where a few rows show that no value lies apart, which spares sorting them all."""
    low, high = float(numbers.min()), float(numbers.max())
    some, third = numbers[:: 1 + len(numbers) // SOME_ROWS], (high - low) / 3  # a gap is two thirds of the range
    within = (some > low + third) & (some < high - third)
    return low in SENTINELS or high in SENTINELS or not within.any()


def _is_tail(others: np.ndarray, rows: int) -> bool:
    """Whether a value beyond others, of so many rows each, may be one of the rare high ones of a count."""
    return bool(others[-1] <= FALLING * others.max() and rows <= 2 * others[-1])


def _stands_out(value: float, others: np.ndarray, share: float, *, is_tail: bool) -> bool:
    """Whether a value is far from the others, sorted and distinct; `share` of the rows hold it."""
    low, high = float(others[0]), float(others[-1])
    distance = low - value if value < low else value - high
    apart = distance > APART * max(high - low, 1.0)
    if value not in SENTINELS:
        return apart and len(others) >= FEWEST_OTHERS and FEWEST_SHARE <= share <= 0.5 and value == np.floor(value)
    if value > 0:
        return apart and high < value / 2 if value > 9 else not is_tail and _ends_a_scale(value, others)
    if low < 0:
        return apart
    if value > -10:  # "none of it" may be coded so: where 0 is none, or there are measurements above it
        return low >= 1 or (high > 10 and len(others) > 10)
    return True


def _ends_a_scale(value: float, others: np.ndarray) -> bool:
    """Whether 7, 8 or 9 is beyond the end of a scale such as 1 to 5, or 8 or 9 beyond the answers 1 and 2."""
    scale = np.arange(others[0], others[-1] + 1)
    is_scale = others[0] in (0, 1) and np.array_equal(others, scale) and value > others[-1] + 1
    return is_scale and (len(others) >= 3 or (others.tolist() == [1, 2] and value >= 8))


def sentinel_notes(found: dict[str, list[str]], columns: Mapping[str, pd.Series], options: ReadOptions) -> list[str]:
    """Return a note for each number that may stand for a missing value, beside those texts that `options` make so."""
    notes: list[str] = []
    for token, names in found.items():
        cells = {name: int((columns[name] == float(token)).sum()) for name in names}
        where = ", ".join(f"{name!r} ({count:,} cells)" for name, count in [*cells.items()][:MAX_NAMED])
        where += f" and {len(names) - MAX_NAMED:,} more columns" if len(names) > MAX_NAMED else ""
        said = f"{token} in {where} may stand for a missing value; it was read as a number "
        own = {name: [*(options.for_column(name).missing or ("",)), token] for name in names}
        change = {"columns": {name: {"missing": texts} for name, texts in own.items()}}
        # Of these columns alone: in others the same number may be a value.
        option = f"ReadOptions(columns={change['columns']!r})" if len(names) <= MAX_NAMED else "its doubt's change"
        note = Sentence(
            f"{said}(options={option} reads it as missing)",
            f'{said}(to read it as missing, add it in "How it was read" to "Missing values are written")',
        )
        notes.append(
            DoubtNote.with_doubt(
                note, Doubt.from_change(DoubtCode.SENTINEL, change, names, sum(cells.values()), such=token)
            )
        )
    return notes
