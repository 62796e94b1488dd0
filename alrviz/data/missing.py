"""Which texts and numbers stand for a missing value.

What is a gap wherever it stands (`MISSING`) counts in the whole table. What may also be a level (`DOUBTFUL`: None, a
dot, a dash) counts where all other values of its column are numbers or dates; a dash also among words, never among
single letters or signs. Numbers such as -999 are only pointed out: a measurement may well be -999.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from alrviz.data.dates import parse_dates, parse_times
from alrviz.data.numbers import listed
from alrviz.data.options import CERTAIN, DOUBTFUL, MISSING
from alrviz.data.quantities import measured_limits, plain_numbers
from alrviz.data.reading import numbers_among
from alrviz.data.text import NUMBERLIKE, TextColumn
from alrviz.errors import Sentence
from alrviz.stop import NEVER, StopToken

SENTINELS = (-9.0, -99.0, -999.0, -9999.0, -99999.0, -999999.0, 99.0, 999.0, 9999.0, 99999.0, 999999.0, -1.0)
FEWEST = 2  # rows that hold it
APART = 2.0  # times the range of all other values lies between it and the nearest of them


def detect_missing(
    columns: Sequence[TextColumn], stop: StopToken = NEVER
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]], list[str]]:
    """Return the texts that are missing in the whole table, the empty one first, those of columns apart, and notes."""
    candidates = pa.array([*CERTAIN, *DOUBTFUL], type=pa.string())
    present: set[str] = set()
    gaps: dict[str, list[str]] = {}
    levels: dict[str, list[str]] = {}
    for column in columns:
        stop.check()
        found = column.levels.filter(pc.is_in(column.levels, value_set=candidates)).to_pylist()
        present.update(token for token in found if token in CERTAIN)
        doubtful = [token for token in found if token not in CERTAIN]
        if doubtful:
            others = column.without(found)
            measured = _is_measured(others)
            words = len(others.levels) > 0 and pc.min(pc.utf8_length(others.levels)).as_py() > 1
            for token in doubtful:
                gap = measured or (words and not token.strip("-\u2013\u2014"))
                (gaps if gap else levels).setdefault(token, []).append(column.name)
    apart: dict[str, tuple[str, ...]] = {}
    notes = []
    for token, names in gaps.items():
        if token not in levels:
            present.add(token)
        for name in names if token in levels else ():
            apart[name] = (*apart.get(name, ()), token)
        if token in levels:
            notes.append(f"{token!r} is missing in {listed(names)}, but a level of {listed(levels[token])}")
        elif token.strip("-\u2013\u2014"):
            notes.append(f"{token!r} in {listed(names)} was read as missing, as the other values are numbers or dates")
    order = ("", *(token for token in (*MISSING, *DOUBTFUL) if token in present))
    return tuple(dict.fromkeys(order)), apart, notes


def _is_measured(column: TextColumn) -> bool:
    """Whether all levels are numbers, quantities, limits, dates or times."""
    if len(column.levels) == 0:
        return False
    return (
        bool(pc.all(pc.match_substring_regex(column.levels, NUMBERLIKE)).as_py())
        or plain_numbers(column) is not None
        or measured_limits(column) is not None
        or parse_dates(column, None) is not None
        or parse_times(column) is not None
    )


def without_numbers(series: pd.Series, tokens: Sequence[str]) -> pd.Series:
    """Return numbers with those that a token names made missing: -999.0 for "-999"."""
    if series.dtype.kind not in "if" or not (wanted := numbers_among(tokens)):
        return series
    gone = series.isin(wanted)
    return series.where(~gone, np.nan).astype(np.float64) if gone.any() else series


def sentinels(columns: Sequence[pd.Series]) -> dict[str, list[str]]:
    """Return the numbers that look like a missing value, as text, each with the columns that hold them.

    One of `SENTINELS` that several rows hold, at an end of the column and far from all else; of -1 and -9 a column
    that is never negative otherwise and has more than a few values.
    """
    found: dict[str, list[str]] = {}
    for series in columns:
        if series.dtype.kind not in "if":
            continue
        numbers = series.to_numpy(dtype=np.float64)
        numbers = numbers[~np.isnan(numbers)]
        if not len(numbers):
            continue
        for value in {numbers.min(), numbers.max()} & set(SENTINELS):
            others = numbers[numbers != value]
            if len(numbers) - len(others) >= FEWEST and len(others) and _stands_out(value, others):
                found.setdefault(str(int(value)), []).append(str(series.name))
    return found


def _stands_out(value: float, others: np.ndarray) -> bool:
    low, high = float(others.min()), float(others.max())
    if value < 0 and low < 0:
        return low - value > APART * (high - low)
    if value in (-1.0, -9.0):  # "none of it" may be coded so: where there are measurements above it
        return low >= 0 and high > 10 and len(np.unique(others)) > 10
    if value < 0:
        return True
    return value - high > APART * max(high - low, 1.0) and high < value / 2


def sentinel_notes(found: dict[str, list[str]], missing: Sequence[str]) -> list[str]:
    """Return a note for each number that may stand for a missing value, beside those texts that are missing already."""
    return [
        Sentence(
            f"{token} in {listed(names)} may stand for a missing value; it was read as a number "
            f"(options=ReadOptions(missing={(*filter(None, missing), token)!r}) reads it as missing)",
            f"{token} in {listed(names)} may stand for a missing value; it was read as a number (to read it as "
            'missing, add it in "How it was read" to "Missing values are written")',
        )
        for token, names in found.items()
    ]
