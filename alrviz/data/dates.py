"""Detect and parse columns of dates and times.

A column has dates if all texts, or all but a few, that are not missing have one of these forms:

    2020-01-31  2020/1/31  20200131  2020-01          year first
    31.01.2020  31/1/20  01-31-2020                   day or month first, whichever fits all
    14 Oct 2014  Oct 14, 2014  14 octobre 2014        the month by name (`MONTH_NAMES` has the languages)

They may be followed by a time of day (13:45, 1:45:30 PM, T13:45:30.5Z), the local one in a time zone. A column of
times of day alone (13:45) becomes numbers, in hours.
"""

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from alrviz.data.doubts import DoubtCode, DoubtNote
from alrviz.data.numbers import stray_note
from alrviz.data.options import ReadOptions, missing_change
from alrviz.data.parse_spec import ColumnSpec
from alrviz.data.parse_values import DATE_FORMS, EIGHT_DIGITS, NO_DATE, PIVOT, SPLIT_DATE_FORMS, TIME_FORMS, hours_of
from alrviz.data.text import TextColumn, all_match, are_few, python_regex
from alrviz.errors import Sentence, listed, plural
from alrviz.stop import StopToken

FIRST_SAMPLE = 200  # levels that are tested first, which is enough for a column of words
FORM_SAMPLE = 20  # levels from which the form is detected
SAMPLE_STRIDE = 7919  # a prime, so that the sample has all of several alternating forms
FIRST_LEVELS = 5  # of the sample, of which at least one must have a form
MIN_FORM_SHARE = 0.25  # of the sample that must have a form
# Excel, SQL Server, Unix and databases write these dates for "none" and "for ever".
SENTINEL_DATES = (
    *("0001-01-01", "1753-01-01", "1899-12-30", "1899-12-31", "1900-01-01", "1900-01-02", "1901-01-01", "1970-01-01"),
    *("2099-12-31", "2999-12-31", "9999-12-31"),
)
SENTINEL_YEARS = 5  # distance of such a date from the nearest other one
MIN_HEAP = 5  # rows of such a date for each row of the most frequent other one
LEVELS_PER_STRAY_DATE = 4  # distinct dates of a column for each stray text
MIN_DIGIT_DATES = 5  # distinct numbers of eight digits that are all days are dates, whatever the column's name
BIRTH_NAME = re.compile(r"(^|[\W_])(born|birth\w*|dob|geb\w*)($|[\W_])")
YEARS_AHEAD = 5  # of planned dates
UTC_ZONES = {"Z", "UTC", "GMT", "+00:00", "+0000"}
UNPADDED_DATE = r"^[0-9]\.|^[0-9]+\.[0-9]\."
LEVELS_PER_YEAR = 4  # distinct texts such as 1.3.24 for each last number, which versions seldom repeat
DECADE = "^[0-9]*0s$"  # 1970s are no seconds
PAIR_FORMS = ("first of two", "second of two")
MIN_PAIRS = 5  # distinct ones
MAX_REVERSED = 0.05  # share of pairs with the smaller number first, by mistake
MIN_PRESSURE, MAX_PRESSURE = 20, 300  # mmHg, of living people
TIME_UNITS = {
    "hours and minutes": "lengths of time, as hours: 2h 30min is 2.5",
    "years to days": "lengths of time, as days: 3 weeks is 21",
    "feet and inches": "heights, as inches: 5'3\" is 63",
}
DATE_NAME = re.compile(r"date|datum|day|(^|[\W_])(dt|dob|yyyymmdd)($|[\W_])")


@dataclass(frozen=True)
class Dates:
    """A parsed column of dates.

    Attributes:
        series: its values, missing ones NaT.
        form: one of `DATE_FORMS`.
        day_first: whether the day comes first; None if the form has a fixed order and the user set none.
        notes: sentences and doubts on ambiguous dates.
        pivot: two-digit years below it are of this century.
        stray: the few texts that are no dates, which are missing.
    """

    series: pd.Series
    form: str
    day_first: bool | None
    notes: tuple[str, ...]
    pivot: int = PIVOT
    stray: tuple[str, ...] = ()


def parse_all_dates(
    columns: Sequence[TextColumn], options: ReadOptions, stop: StopToken, *, otherwise: bool = False
) -> list[Dates | None]:
    """Return each column as dates, None if it has none, as `parse_dates` does.

    Where both orders of day and month fit and the options leave it open, `otherwise` puts the day first. Two-digit
    years of birth are not later than the latest date of the other columns.
    """
    result, latest_year = dict[str, Dates | None](), None
    for column in sorted(columns, key=lambda column: _is_birth(column.name)):  # dates of birth last
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
    """Return the column as dates; None if it has no dates.

    If both orders fit, the day comes first if `options.dayfirst` is True, or if that is None and `otherwise` is True.
    `latest_year` is the latest one among the table's other dates, which is an upper limit of years of birth.
    """
    options_here = options.for_column(column.name)
    day_first = options_here.dayfirst
    levels = column.levels
    if len(levels) == 0:
        return None
    digits_pattern = DATE_FORMS[EIGHT_DIGITS]
    is_digits = all_match(levels[:FIRST_SAMPLE], digits_pattern) and all_match(levels, digits_pattern)
    if is_digits and len(levels) < MIN_DIGIT_DATES and not DATE_NAME.search(column.name.lower()):
        return None
    forms = [EIGHT_DIGITS] if is_digits else _usual_forms(levels, SPLIT_DATE_FORMS)
    if not forms:
        return None
    # A spec of an ambiguous form also parses unambiguous ones; the reverse is not true.
    form = min(forms, key=lambda form: "first" not in DATE_FORMS[form])
    is_ambiguous = "first" in DATE_FORMS[form]
    preferred = otherwise if day_first is None else day_first
    groups = pc.extract_regex(levels.filter(pc.match_substring_regex(levels, DATE_FORMS[form])), DATE_FORMS[form])
    if form == "d.m.yy" and _may_be_versions(column.name, groups, levels):
        return None
    years = groups.field("yy" if "<yy>" in DATE_FORMS[form] else "year").drop_null()
    has_eras = "<era>" in DATE_FORMS[form]
    two_digits = years.filter(pc.and_(pc.equal(pc.utf8_length(years), 2), not has_eras))
    short_years = pc.cast(two_digits, pa.int64()).to_numpy()
    pivot = choose_pivot(column.name, short_years, latest_year) if options_here.pivot is None else options_here.pivot
    orders = (preferred, not preferred) if is_ambiguous else (preferred,)
    # A spec of these, exactly as the column will be parsed: texts (L,) in this form or an unambiguous one.
    spec = ColumnSpec("", "", "date", form=form, day_first=day_first, pivot=pivot, missing=())
    days_by_order = {
        order: replace(spec, day_first=order if is_ambiguous else day_first).parse_texts(levels)[0] for order in orders
    }
    n_stray = {order: int(np.isnat(days).sum()) for order, days in days_by_order.items()}
    fitting = [order for order in orders if n_stray[order] == min(n_stray.values())]
    chosen_order, notes = fitting[0], list[str]()
    stray = tuple(levels.filter(pa.array(np.isnat(days_by_order[chosen_order]))).to_pylist())
    if stray and (options_here.missing is not None or not are_few(column, stray, LEVELS_PER_STRAY_DATE)):
        return None
    order_text, other_order_text = ("day", "month") if chosen_order else ("month", "day")
    note_start = f"dates in {column.name!r} are read {order_text} first, as "
    if len(fitting) > 1 and day_first is None:
        note_start += f"{levels[0].as_py()!r} can be read both ways; "
        note = Sentence(
            note_start + f"options=ReadOptions(dayfirst={not chosen_order}) reads them {other_order_text} first",
            note_start + f'"How it was read", "Order of dates" has the other way, {other_order_text} first',
        )
        change = {"columns": {column.name: {"dayfirst": not chosen_order}}}
        doubt_texts = {
            "read": f"{order_text} first",
            "other": f"{other_order_text} first",
            "such": repr(levels[0].as_py()),
        }
        notes.append(DoubtNote.with_doubt(note, DoubtCode.DAY_OR_MONTH, change, [column.name], 0, **doubt_texts))
    elif day_first is not None and chosen_order != day_first:
        fits_alone = np.isnat(days_by_order[day_first]) & ~np.isnat(days_by_order[chosen_order])
        notes.append(note_start + f"{levels[int(fits_alone.argmax())].as_py()!r} is no date {other_order_text} first")
    if len(two_digits):
        notes.append(_years_note(column, short_years, pivot, in_doubt=options_here.pivot is None))
    if has_eras:
        first_date = str(days_by_order[chosen_order][0])[:10]
        notes.append(f"years in {column.name!r} are counted by era: {levels[0].as_py()!r} is {first_date}")
    if "<zone>" in DATE_FORMS[form]:
        notes += zone_notes(column.name, groups.field("zone").to_pylist())
    dates_of_levels = np.append(days_by_order[chosen_order], NO_DATE)
    series = pd.Series(dates_of_levels[column.codes], name=column.name)
    return Dates(series, form, chosen_order if is_ambiguous else day_first, tuple(notes), pivot, stray)


def _may_be_versions(name: str, groups: pa.Array, levels: pa.Array) -> bool:
    """Return whether texts such as 1.3.24 may be versions: unpadded, no first number is over 12, and few years."""
    if DATE_NAME.search(name.lower()) or not pc.any(pc.match_substring_regex(levels, UNPADDED_DATE)).as_py():
        return False
    has_later_day = pc.any(pc.greater(pc.cast(groups.field("day"), pa.int64()), 12)).as_py()
    do_years_repeat = LEVELS_PER_YEAR * len(groups.field("year").unique()) <= len(levels)
    return not has_later_day and not do_years_repeat


def zone_notes(name: str, zones: Iterable[str | None]) -> list[str]:
    """Return a note on the time zones of the dates of a column, unless all are UTC."""
    distinct = sorted(set(filter(None, zones)))
    if not {*distinct} - UTC_ZONES:
        return []
    return [f"dates in {name!r} have time zones ({listed(distinct, 3)}): read as the local time of each row"]


def notes_on_dates(column: TextColumn, dates: Dates, missing: Sequence[str]) -> list[str]:
    """Return all notes on a column of dates; `missing` are the column's missing texts."""
    strays = [stray_note(column, dates.stray, missing, "date")] if dates.stray else []
    return [*dates.notes, *strays, *_sentinel_notes(column, dates, (*missing, *dates.stray))]


def _usual_forms(levels: pa.Array, patterns: Mapping[str, str]) -> list[str]:
    """Return the forms that at least a quarter of sampled texts have, the commonest first."""
    sampled_indices = np.unique(np.arange(FORM_SAMPLE) * SAMPLE_STRIDE % len(levels))
    sample = levels.take(pa.array(sampled_indices)).to_pylist()
    n_matches_by_form = {}
    for form, text in patterns.items():
        search = python_regex(text).search
        if any(map(search, sample[:FIRST_LEVELS])):  # a column of words fails here
            n_matching_texts = sum(map(bool, map(search, sample)))
            if n_matching_texts > MIN_FORM_SHARE * len(sample) and (
                form != "m/y" or n_matching_texts == len(sample)
            ):  # 1.2000 is a number
                n_matches_by_form[form] = n_matching_texts
    return sorted(n_matches_by_form, key=n_matches_by_form.__getitem__, reverse=True)


def _sentinel_notes(column: TextColumn, dates: Dates, missing: Sequence[str]) -> list[str]:
    """Return a doubt for each of `SENTINEL_DATES` that is far from the other dates, or far more frequent."""
    notes = list[str]()
    days, counts = np.unique(dates.series.dropna().to_numpy().astype("datetime64[D]"), return_counts=True)
    for sentinel in np.array(SENTINEL_DATES, dtype="datetime64[D]"):
        is_it = days == sentinel
        if not is_it.any() or len(days) < 3:
            continue
        other_days, rows = days[~is_it], int(counts[is_it].sum())
        years = np.abs(other_days - sentinel).min().astype(int) / 365.25
        lies_apart = years > SENTINEL_YEARS and not other_days.min() < sentinel < other_days.max()
        if not lies_apart and rows < MIN_HEAP * max(counts[~is_it].max(), 2):
            continue
        is_row = dates.series.to_numpy().astype("datetime64[D]") == sentinel
        texts = column.levels.take(pa.array(np.unique(column.codes[is_row]))).to_pylist()
        change = missing_change({column.name: dict.fromkeys(["", *missing])}, add=texts)
        note = (
            f"{texts[0]} in {column.name!r} ({plural(rows, 'cell')}) may stand for a missing date; it was read as one"
        )
        notes.append(DoubtNote.with_doubt(note, DoubtCode.SENTINEL, change, [column.name], rows, such=texts[0]))
    return notes


def _years_note(column: TextColumn, years: np.ndarray, pivot: int, *, in_doubt: bool) -> str:
    """Return the note on two-digit years (L,): a doubt if another pivot is plausible and changes any of them."""
    note = f"years of two digits in {column.name!r} are read as {_years_of(pivot)}"
    latest_year = datetime.date.today().year % 100
    other_pivot = PIVOT if pivot != PIVOT else latest_year + 1
    is_moved = (years >= min(pivot, other_pivot)) & (years < max(pivot, other_pivot))
    if not in_doubt or not is_moved.any():
        return note
    change = {"columns": {column.name: {"pivot": other_pivot}}}
    doubt_texts = {"read": _years_of(pivot), "other": _years_of(other_pivot)}
    return DoubtNote.with_doubt(note, DoubtCode.TWO_DIGIT_YEARS, change, [column.name], 0, **doubt_texts)


def _years_of(pivot: int) -> str:
    """Return the range of the hundred years that two digits stand for."""
    return f"{1900 + pivot} to {1999 + pivot}"


def choose_pivot(name: str, years: np.ndarray, latest_year: int | None = None) -> int:
    """Return the pivot of a column's two-digit years (L,): years below it are 20xx, others 19xx.

    Years of birth (recognised by the column's `name`) are not in the future, nor after `latest_year`, the latest
    four-digit year of the table's other dates. Other years are at most `YEARS_AHEAD` in the future, unless all are, as
    for ends of contracts.
    """
    birth = _is_birth(name)
    latest = datetime.date.today().year % 100 + (0 if birth else YEARS_AHEAD)
    if birth and latest_year is not None:
        latest = min(latest, max(latest_year - 2000, -1))
    future = (years > latest) & (years < PIVOT)
    return latest + 1 if future.any() and (birth or not future.all()) else PIVOT


def time_form(column: TextColumn) -> tuple[str, tuple[str, ...]] | None:
    """Return the form of a column of times (13:45, 1:45 PM; durations up to 999:59), and its stray texts; else None.

    Durations and heights in several units (2h 30min, 3 weeks, 5'3") become numbers in the unit of `TIME_UNITS`.
    """
    levels = column.levels
    if len(levels) < 2 or all_match(levels, DECADE):
        return None
    for form in _usual_forms(levels, {form: text for form, text in TIME_FORMS.items() if form not in PAIR_FORMS}):
        stray = tuple(levels.filter(pa.array(np.isnan(hours_of(levels, form)))).to_pylist())
        if not stray or are_few(column, stray, LEVELS_PER_STRAY_DATE):
            return form, stray
    return None


def split_pairs(column: TextColumn) -> dict[str, pd.Series] | None:
    """Return the two numbers of a column of blood pressures (167/92) by their form; None for other columns.

    Both vary, the first is nearly always larger, and both are plausible, unlike those of fractions, scores or dates.
    """
    levels = column.levels
    if len(levels) < MIN_PAIRS or not all_match(levels, TIME_FORMS["first of two"]):
        return None
    systolic, diastolic = (hours_of(levels, form) for form in PAIR_FORMS)
    if np.mean(systolic <= diastolic) > MAX_REVERSED or systolic.max() > MAX_PRESSURE or diastolic.min() < MIN_PRESSURE:
        return None
    if min(len(set(systolic)), len(set(diastolic))) < MIN_PAIRS:
        return None
    return {
        form: pd.Series(np.append(numbers, np.nan)[column.codes], name=column.name)
        for form, numbers in zip(PAIR_FORMS, (systolic, diastolic), strict=True)
    }
