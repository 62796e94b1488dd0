"""Which texts are dates or times, and their values.

A column is of dates when every text that is not missing is one of the same form:

    2020-01-31  2020/1/31  20200131  2020-01          year first
    31.01.2020  31/1/20  01-31-2020                   day or month first, found by what fits all
    14 Oct 2014  Oct 14, 2014  Tue, 14-Oct-14         the month by name, English or German

each alone or with a time of day behind it (13:45, 1:45:30 PM, T13:45:30.5Z); a zone is turned into UTC. A column of
times of day alone (13:45) is one of numbers, hours.
"""

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from alrviz.data.doubts import Doubt, DoubtCode, DoubtNote
from alrviz.data.options import ReadOptions
from alrviz.data.parse_values import DATE_FORMS, EIGHT_DIGITS, PIVOT, SPLIT_DATE_FORMS, TIME_FORMS, dates_of, hours_of
from alrviz.data.text import TextColumn, all_match
from alrviz.errors import Sentence
from alrviz.stop import StopToken

LOOKED_AT = 200  # levels asked first, so that a column of words costs nothing
CERTAIN = 5  # different texts of eight digits that are all days make dates of numbers, whatever the column is called
BIRTH_NAME = re.compile(r"(^|[\W_])(born|birth\w*|dob|geb\w*)($|[\W_])")
YEARS_AHEAD = 5  # of a date that was planned
DECADE = "^[0-9]*0s$"  # no seconds: 1970s
PAIR_FORMS = ("first of two", "second of two")
MIN_PAIRS = 5  # different ones
MAX_REVERSED = 0.05  # share of pairs whose first number is the smaller: slips of the pen
MIN_PRESSURE, MAX_PRESSURE = 20, 300  # mmHg, of a living human
TIME_UNITS = {
    "hours and minutes": "lengths of time, as hours: 2h 30min is 2.5",
    "years to days": "lengths of time, as days: 3 weeks is 21",
    "feet and inches": "heights, as inches: 5'3\" is 63",
}
DATE_NAME = re.compile(r"date|datum|day|(^|[\W_])(dt|dob|yyyymmdd)($|[\W_])")


@dataclass(frozen=True)
class Dates:
    """A column of dates: its values, the form they have, whether the day comes first, and what is to be said of it.

    day_first is None where the form has an order of its own, and nobody said another's. Two digits below `pivot` are
    years of this century.
    """

    series: pd.Series
    form: str
    day_first: bool | None
    notes: tuple[str, ...]
    pivot: int = PIVOT


def parse_all_dates(
    columns: Sequence[TextColumn], options: ReadOptions, stop: StopToken, *, otherwise: bool = False
) -> list[Dates | None]:
    """Return `parse_dates` of each column; births with two digits of the year are none after all other dates."""
    result, latest_year = dict[str, Dates | None](), None
    for column in sorted(columns, key=lambda column: _is_birth(column.name)):  # births last
        stop.check()
        dates = parse_dates(column, options, otherwise=otherwise, latest_year=latest_year)
        if dates is not None and not _is_birth(column.name):
            latest_year = max(latest_year or 0, dates.series.max().year)
        result[column.name] = dates
    return [result[column.name] for column in columns]


def _is_birth(name: str) -> bool:
    return bool(BIRTH_NAME.search(name.lower()))


def parse_dates(
    column: TextColumn, options: ReadOptions, *, otherwise: bool = False, latest_year: int | None = None
) -> Dates | None:
    """Return the column as datetimes with notes about what can be read both ways, or None where it is not of dates.

    Where both orders fit, the day comes first if `options` say so, or where they say nothing if `otherwise`.
    `latest_year` is that of the table's other dates, which births are not after.
    """
    own = options.for_column(column.name)
    said = own.dayfirst
    levels = column.levels
    if len(levels) == 0:
        return None
    eight = _all_match(levels, DATE_FORMS[EIGHT_DIGITS])
    if eight and len(levels) < CERTAIN and not DATE_NAME.search(column.name.lower()):
        return None
    form = (
        EIGHT_DIGITS
        if eight
        else next((name for name, text in SPLIT_DATE_FORMS.items() if _all_match(levels, text)), "")
    )
    if not form:
        return None
    both = "first" in DATE_FORMS[form]
    wanted = otherwise if said is None else said
    years = pc.extract_regex(levels, DATE_FORMS[form])
    years = years.field("yy" if "<yy>" in DATE_FORMS[form] else "year").drop_null()
    two_digits = years.filter(pc.equal(pc.utf8_length(years), 2))
    short_years = pc.cast(two_digits, pa.int64()).to_numpy()
    pivot = choose_pivot(column.name, short_years, latest_year) if own.pivot is None else own.pivot
    orders = (wanted, not wanted) if both else (wanted,)
    found = {order: dates_of(levels, form, order, pivot) for order in orders}
    fitting = [order for order, days in found.items() if not np.isnat(days).any()]
    if not fitting:
        return None
    chosen, notes = fitting[0], list[str]()
    order, other = ("day", "month") if chosen else ("month", "day")
    read = f"dates in {column.name!r} are read {order} first, as "
    if len(fitting) > 1 and said is None:
        read += f"{levels[0].as_py()!r} can be read both ways; "
        note = Sentence(
            read + f"options=ReadOptions(dayfirst={not chosen}) reads them {other} first",
            read + f'"How it was read", "Order of dates" has the other way, {other} first',
        )
        change = {"columns": {column.name: {"dayfirst": not chosen}}}
        words: dict[str, Any] = {"read": f"{order} first", "other": f"{other} first", "such": repr(levels[0].as_py())}
        notes.append(DoubtNote.of(note, Doubt.of(DoubtCode.DAY_OR_MONTH, change, [column.name], **words)))
    elif said is not None and chosen != said:
        strange = levels[int(np.isnat(found[said]).argmax())].as_py()
        notes.append(read + f"{strange!r} is no date {other} first")
    if len(two_digits):
        notes.append(_years_note(column, short_years, pivot, in_doubt=own.pivot is None))
    values = np.append(found[chosen], np.datetime64("NaT", "us"))
    return Dates(pd.Series(values[column.codes], name=column.name), form, chosen if both else said, tuple(notes), pivot)


def _years_note(column: TextColumn, years: np.ndarray, pivot: int, *, in_doubt: bool) -> str:
    """Return the note on years of two digits (L,): a doubt where the usual century would be another."""
    note = f"years of two digits in {column.name!r} are read as {_years_of(pivot)}"
    latest = datetime.date.today().year % 100
    other = PIVOT if pivot != PIVOT else latest + 1
    moved = (years >= min(pivot, other)) & (years < max(pivot, other))
    if not in_doubt or not moved.any():
        return note
    change = {"columns": {column.name: {"pivot": other}}}
    words: dict[str, Any] = {"read": _years_of(pivot), "other": _years_of(other)}
    return DoubtNote.of(note, Doubt.of(DoubtCode.TWO_DIGIT_YEARS, change, [column.name], **words))


def _years_of(pivot: int) -> str:
    """Return the hundred years whose last two digits are written."""
    return f"{1900 + pivot} to {1999 + pivot}"


def choose_pivot(name: str, years: np.ndarray, latest_year: int | None = None) -> int:
    """Return the two digits below which one of a column's years (L,) is of this century.

    Nobody was born in the future, nor after `latest_year`, that of the table's other dates; other dates may lie some
    years ahead. Where all dates of a column are of this century by the usual pivot, as those of contracts may be, it
    stays.
    """
    birth = _is_birth(name)
    latest = datetime.date.today().year % 100 + (0 if birth else YEARS_AHEAD)
    if birth and latest_year is not None:
        latest = min(latest, max(latest_year - 2000, -1))
    future = (years > latest) & (years < PIVOT)
    return latest + 1 if future.any() and (birth or not future.all()) else PIVOT


def parse_times(column: TextColumn) -> tuple[pd.Series, str] | None:
    """Return a column of times (13:45, 1:45 PM; lengths up to 999:59) as hours, float64 with NaN, and their form.

    Lengths and heights of several units (2h 30min, 3 weeks, 5'3") are numbers of the unit that `TIME_UNITS` names.
    """
    levels = column.levels
    if len(levels) < 2 or all_match(levels, DECADE):
        return None
    for form, text in TIME_FORMS.items():
        if not form.endswith(" of two") and _all_match(levels, text):
            amounts = np.append(hours_of(levels, form), np.nan)
            if not np.isnan(amounts[:-1]).any():
                return pd.Series(amounts[column.codes], name=column.name), form
    return None


def split_pairs(column: TextColumn) -> dict[str, pd.Series] | None:
    """Return the two numbers of a column of blood pressures (167/92) by their form, None where it is of others.

    Both vary, the first is nearly always the larger, and both can be measured: no fractions, marks, scores or days.
    """
    levels = column.levels
    if len(levels) < MIN_PAIRS or not all_match(levels, TIME_FORMS["first of two"]):
        return None
    first, second = (hours_of(levels, form) for form in PAIR_FORMS)
    if np.mean(first <= second) > MAX_REVERSED or first.max() > MAX_PRESSURE or second.min() < MIN_PRESSURE:
        return None
    if min(len(set(first)), len(set(second))) < MIN_PAIRS:
        return None
    return {
        form: pd.Series(np.append(numbers, np.nan)[column.codes], name=column.name)
        for form, numbers in zip(PAIR_FORMS, (first, second), strict=True)
    }


def _all_match(levels: pa.Array, pattern: str) -> bool:
    return all_match(levels[:LOOKED_AT], pattern) and all_match(levels, pattern)
