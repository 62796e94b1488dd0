"""Detect texts and numbers that stand for a missing value.

`MISSING` (NA, ?, null ...)         missing in the whole table
`DOUBTFUL` (None, a dot, a dash)    missing if all other values of the column are numbers or dates; dashes also among
                                    words, but not among single letters or signs
numbers such as -999, levels such   only pointed out, as they may be measurements or answers
as "98 Refused"
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from alrviz.data.dates import parse_dates, split_pairs, time_form
from alrviz.data.doubts import DoubtCode, DoubtNote
from alrviz.data.level_order import MAX_ORDERED_LEVELS, NO_ANSWER_TEXT, answer_codes
from alrviz.data.options import CERTAIN, DOUBTFUL, MISSING, ReadOptions, missing_change
from alrviz.data.parse_values import number_text, numbers_among
from alrviz.data.quantities import measured_limits, plain_numbers
from alrviz.data.text import NUMBERLIKE, TextColumn, all_match
from alrviz.errors import Sentence, listed, plural
from alrviz.stop import NEVER, StopToken

SENTINELS = (
    *(7.0, 8.0, 9.0, 77.0, 88.0, -1.0, -7.0, -8.0, -9.0, -77.0, -88.0),
    *(sign * (10.0**k - 1) for k in range(2, 7) for sign in (1, -1)),
)
MIN_ROWS = 2  # with a sentinel, unless it is `MIN_LONE_NUMBER` or more
MIN_LONE_NUMBER = 99.0  # from this size one row is enough, as -99 or 999 is no measurement by chance
MAX_TAIL_SHARE = 0.25  # of the rows of the commonest value: a rarer last value is the tail of a count, no sentinel
MIN_OTHER_VALUES = 5  # distinct ones, for a sentinel that is not in SENTINELS
MIN_SHARE = 0.005  # of the rows, for a sentinel that is not in SENTINELS
SAMPLE_ROWS = 256
MAX_NAMED = 5  # columns that a note names
MAX_AT_AN_END = 3  # sentinels on one side: refused, not asked, does not know
KEEP_AS_LEVEL = (  # in Python, on the page
    "options=ReadOptions(missing=()) keeps it as a level",
    'to keep it as a level, take it out of "Missing values are written" in "How it was read"',
)
MIN_ANSWERS = 2  # other levels of a column with answers such as "Don't know"
MIN_GAP_RATIO = 2.0  # distance of a sentinel from the nearest other value, relative to the range of the others
MISSING_DASHES = "-\u2013\u2014"
CODE_TEXT = "^[A-Z]{2}$"  # codes of countries and states, among which NA is Namibia
MIN_CODES = 3


_CellCounts = dict[str, dict[str, int]]  # numbers of cells by token and column


class MissingTexts(NamedTuple):
    """The texts that stand for a missing value.

    Attributes:
        everywhere: in the whole table, the empty one first.
        by_column: further ones of single columns.
        levels: texts of `CERTAIN` that are levels of single columns.
        notes: sentences and doubts.
    """

    everywhere: tuple[str, ...]
    by_column: dict[str, tuple[str, ...]]
    levels: dict[str, tuple[str, ...]]
    notes: list[str]


def detect_missing(columns: Sequence[TextColumn], stop: StopToken = NEVER) -> MissingTexts:
    """Return which texts of `CERTAIN` and `DOUBTFUL` stand for a missing value, and in which columns."""
    candidates = pa.array([*CERTAIN, *DOUBTFUL], type=pa.string())
    gaps, levels = _CellCounts(), _CellCounts()  # where a token is missing, and where it is a level
    n_among_words = Counter[str]()  # missing cells of `CERTAIN` in columns of words
    for column in columns:
        stop.check()
        tokens = column.levels.filter(pc.is_in(column.levels, value_set=candidates)).to_pylist()
        if not any(tokens):
            continue
        other_texts = column.without_texts(tokens)
        is_measured = _is_measured(other_texts)
        for token in filter(None, tokens):
            is_level, n_cells = _is_level(token, other_texts, is_measured), column.count([token])
            (levels if is_level else gaps).setdefault(token, {})[column.name] = n_cells
            if token in CERTAIN and not is_level and not is_measured:
                n_among_words[token] += n_cells
    everywhere = dict.fromkeys(["", *(t for t in (*MISSING, *DOUBTFUL) if t in gaps and t not in levels)])
    by_column = _tokens_by_column({token: cells for token, cells in gaps.items() if token in levels})
    stated = {column.name: dict.fromkeys((*everywhere, *by_column.get(column.name, ()))) for column in columns}
    notes: list[str] = []
    for token, cells in gaps.items():
        if token in levels:
            names = [*levels[token]]
            note = f"{token!r} is missing in {listed([*cells])}, but a level of {listed(names)}"
            if token in CERTAIN:
                change = missing_change({name: stated[name] for name in names}, add=[token])
                n_cells = sum(levels[token].values())
                note = DoubtNote.with_doubt(note, DoubtCode.LEVEL_TEXT, change, names, n_cells, such=repr(token))
            notes.append(note)
        elif (n_cells := n_among_words[token]) and token.isalpha():
            reading = f"{token!r} was read as missing in {plural(n_cells, 'cell')} of {listed([*cells])}"
            note = Sentence(*(f"{reading} ({advice})" for advice in KEEP_AS_LEVEL))
            change = missing_change({name: stated[name] for name in cells}, remove=[token])
            notes.append(
                DoubtNote.with_doubt(note, DoubtCode.MISSING_TEXT, change, [*cells], n_cells, such=repr(token))
            )
    # Errors of spreadsheets, and tokens that would be levels among words.
    marks = {token: cells for token, cells in gaps.items() if token.startswith("#") or token not in CERTAIN}
    if marks:
        counts = ", ".join(f"{token} ({plural(sum(cells.values()), 'cell')})" for token, cells in marks.items())
        notes.append(f"{counts} in {listed(list(_tokens_by_column(marks)))} read as missing")
    certain_levels = _tokens_by_column({token: cells for token, cells in levels.items() if token in CERTAIN})
    return MissingTexts(tuple(everywhere), by_column, certain_levels, notes)


def _tokens_by_column(counts: _CellCounts) -> dict[str, tuple[str, ...]]:
    """Return the tokens of each column, given the cells of each token by column."""
    names = dict.fromkeys(name for cells in counts.values() for name in cells)
    return {name: tuple(token for token, cells in counts.items() if name in cells) for name in names}


def _is_level(token: str, other_texts: TextColumn, is_measured: bool) -> bool:
    """Return whether a text is a level of a column, rather than a missing value, given the column's other texts."""
    if token in CERTAIN:
        are_codes = len(other_texts.levels) >= MIN_CODES and all_match(other_texts.levels, CODE_TEXT)
        return are_codes and bool(re.match(CODE_TEXT, token))
    if len(other_texts.levels) == 0 and not token.strip(MISSING_DASHES + "."):
        return False
    are_words = len(other_texts.levels) > 0 and pc.min(pc.utf8_length(other_texts.levels)).as_py() > 1
    return not is_measured and not (are_words and not token.strip(MISSING_DASHES))


def _is_measured(column: TextColumn) -> bool:
    """Return whether all levels are numbers, quantities, limits, dates or times."""
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
    """Return a numeric column with the numbers among `tokens` made missing: -999.0 for "-999"."""
    if series.dtype.kind not in "if" or not (tokens_as_numbers := numbers_among(tokens)):
        return series
    is_token = series.isin(tokens_as_numbers)
    return series.where(~is_token, np.nan).astype(np.float64) if is_token.any() else series


def sentinels(columns: Sequence[pd.Series]) -> dict[str, list[str]]:
    """Return the numbers that look like missing values, as text, each with the columns that contain it.

    A negative number that is a sentinel in one column is one in all columns in which it is the only negative one.
    """
    numeric = {str(series.name): series for series in columns if series.dtype.kind in "if"}
    by_column = {name: column_sentinels(series.to_numpy(dtype=np.float64)) for name, series in numeric.items()}
    negative_sentinels = {value for values in by_column.values() for value in values if value < 0}
    for name, series in numeric.items() if negative_sentinels else ():
        if by_column[name]:
            continue
        negatives = series[series < 0].to_numpy(dtype=np.float64)
        if len(negatives) >= MIN_ROWS and negatives[0] in negative_sentinels and (negatives == negatives[0]).all():
            by_column[name] = [float(negatives[0])]
    columns_by_text: dict[str, list[str]] = {}
    for name, values in by_column.items():
        for value in values:
            columns_by_text.setdefault(number_text(value), []).append(name)
    return columns_by_text


def column_sentinels(numbers: np.ndarray) -> list[float]:
    """Return the sentinels of a column (N,): up to three values at each end that repeat and are far from the others."""
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers) or not _may_have_sentinels(numbers):
        return []
    values, n_rows = np.unique(numbers, return_counts=True)
    for n_apart in range(1, min(MAX_AT_AN_END, len(values) - 2) + 1):
        for end_values, other_values, nearest_value in (
            (values[:n_apart], values[n_apart:], values[n_apart - 1]),
            (values[-n_apart:], values[:-n_apart], values[-n_apart]),
        ):
            n_rows_by_value = n_rows[np.isin(values, end_values)]
            is_lone = n_apart == 1 and abs(nearest_value) >= MIN_LONE_NUMBER and nearest_value in SENTINELS
            if n_rows_by_value.min() < MIN_ROWS and not (is_lone and len(other_values) >= MIN_OTHER_VALUES):
                continue
            n_at_end, others = n_rows_by_value.sum(), n_rows[np.isin(values, other_values)]
            is_tail = bool(others[-1] <= MAX_TAIL_SHARE * others.max() and n_at_end <= 2 * others[-1])
            if _is_sentinel(float(nearest_value), other_values, n_at_end / n_rows.sum(), is_tail=is_tail):
                return [*end_values.tolist(), *column_sentinels(numbers[~np.isin(numbers, end_values)])]
    return []


def _may_have_sentinels(numbers: np.ndarray) -> bool:
    """Return False if a sample of rows shows that no value can be far from the others, to avoid sorting all rows."""
    low, high = float(numbers.min()), float(numbers.max())
    sample, third_of_range = numbers[:: 1 + len(numbers) // SAMPLE_ROWS], (high - low) / 3  # a gap is two thirds
    is_inside = (sample > low + third_of_range) & (sample < high - third_of_range)
    return low in SENTINELS or high in SENTINELS or not is_inside.any()


def _is_sentinel(value: float, others: np.ndarray, share: float, *, is_tail: bool) -> bool:
    """Return whether `value` is probably a code for missing, such as 999 or -1.

    others: the other distinct values, sorted. share: the share of rows with `value`. is_tail: whether `value` may
    instead be in the long tail of a count. A usual code (`SENTINELS`) needs less evidence than another number.
    """
    low, high = float(others[0]), float(others[-1])
    distance = low - value if value < low else value - high
    is_apart = distance > MIN_GAP_RATIO * max(high - low, 1.0)
    if value not in SENTINELS:
        return is_apart and len(others) >= MIN_OTHER_VALUES and MIN_SHARE <= share <= 0.5 and value == np.floor(value)
    if value > 0:
        return is_apart and high < value / 2 if value > 9 else not is_tail and _ends_a_scale(value, others)
    if low < 0:
        return is_apart
    if value > -10:  # plausible as a code if 0 does not occur, or if there are large measurements
        return low >= 1 or (high > 10 and len(others) > 10)
    return True


def _ends_a_scale(value: float, other_values: np.ndarray) -> bool:
    """Return whether 7, 8 or 9 is beyond the end of a scale such as 1 to 5, or 8 or 9 beyond the answers 1 and 2."""
    scale = np.arange(other_values[0], other_values[-1] + 1)
    is_scale = other_values[0] in (0, 1) and np.array_equal(other_values, scale) and value > other_values[-1] + 1
    return is_scale and (len(other_values) >= 3 or (other_values.tolist() == [1, 2] and value >= 8))


def no_answers(columns: Sequence[pd.Series]) -> dict[str, list[str]]:
    """Return the levels that are no answers (Don't know, 98 Refused), each with the columns that contain it.

    Columns with fewer than two other levels are left out, as little would be left of them.
    """
    columns_by_text: dict[str, list[str]] = {}
    for series in columns:
        levels = series.cat.categories.tolist() if isinstance(series.dtype, pd.CategoricalDtype) else []
        answers = (answer_codes(levels) if len(levels) <= MAX_ORDERED_LEVELS else None) or {}
        texts = [level for level in levels if NO_ANSWER_TEXT.match(answers[level][1] if answers else level)]
        for text in texts if len(levels) - len(texts) >= MIN_ANSWERS else ():
            columns_by_text.setdefault(text, []).append(str(series.name))
    return columns_by_text


def missing_doubts(code: DoubtCode, columns: Sequence[pd.Series], options: ReadOptions) -> list[str]:
    """Return a doubt for each value that may stand for a missing one; its change adds it to the missing texts.

    `code` is SENTINEL for numbers, or NO_ANSWER for levels.
    """
    find_values, read = (sentinels, "number") if code is DoubtCode.SENTINEL else (no_answers, "level")
    series_by_name = {str(series.name): series for series in columns}
    notes: list[str] = []
    for token, names in find_values(columns).items():
        value = float(token) if code is DoubtCode.SENTINEL else token
        counts = {name: int((series_by_name[name] == value).sum()) for name in names}
        columns_text = ", ".join(f"{name!r} ({plural(counts[name], 'cell')})" for name in names[:MAX_NAMED])
        columns_text += f" and {len(names) - MAX_NAMED:,} more columns" if len(names) > MAX_NAMED else ""
        value_text = token if code is DoubtCode.SENTINEL else repr(token)
        reading = f"{value_text} in {columns_text} may stand for a missing value; it was read as a {read} "
        # Only for these columns: in others the same text may be a value.
        change = missing_change({name: options.for_column(name).missing or ("",) for name in names}, add=[token])
        column_options = ReadOptions().with_change(change).explicit_options["columns"]
        option = f"ReadOptions(columns={column_options!r})" if len(names) <= MAX_NAMED else "its doubt's change"
        note = Sentence(
            f"{reading}(options={option} reads it as missing)",
            f'{reading}(to read it as missing, add it in "How it was read" to "Missing values are written")',
        )
        notes.append(DoubtNote.with_doubt(note, code, change, names, sum(counts.values()), such=value_text))
    return notes
