"""Which texts are dates or times, and their values.

A column is of dates when every text that is not missing is one of the same form:

    2020-01-31  2020/1/31  20200131  2020-01          year first
    31.01.2020  31/1/20  01-31-2020                   day or month first, found by what fits all
    14 Oct 2014  Oct 14, 2014  Tue, 14-Oct-14         the month by name, English or German

each alone or with a time of day behind it (13:45, 1:45:30 PM, T13:45:30.5Z); a zone is turned into UTC. A column of
times of day alone (13:45) is one of numbers, hours.
"""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from alrviz.data.text import TextColumn

LOOKED_AT = 200  # levels asked first, so that a column of words costs nothing
PIVOT = 69  # two digits below it are of this century, as strptime has it
CERTAIN = 5  # different texts of eight digits that are all days make dates of numbers, whatever the column is called
DATE_NAME = re.compile(r"date|datum|day|(^|[\W_])(dt|dob|yyyymmdd)($|[\W_])")
MONTH_NAMES = {
    "jan": 1,
    "feb": 2,
    "mar": 3,
    "mär": 3,
    "mrz": 3,
    "apr": 4,
    "may": 5,
    "mai": 5,
    "jun": 6,
    "jul": 7,
    "aug": 8,
    "sep": 9,
    "oct": 10,
    "okt": 10,
    "nov": 11,
    "dec": 12,
    "dez": 12,
}
_NAME = (
    r"(?P<name>[Jj]an|[Ff]eb|[Mm]ar|[Mm]är|[Mm]rz|[Aa]pr|[Mm]ay|[Mm]ai|[Jj]un|[Jj]ul|[Aa]ug|[Ss]ep|[Oo]ct|[Oo]kt|"
    r"[Nn]ov|[Dd]ec|[Dd]ez|JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC)[a-zA-Z]{0,6}\.?"
)
_WEEKDAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?"
_CLOCK = r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}(?:[.,][0-9]+)?))?"
_CLOCK += r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?"
_TIME = rf"(?:(?:T|,? +){_CLOCK}(?: ?(?P<zone>Z|UTC|GMT|[+-][0-9]{{2}}:?[0-9]{{2}}))?)?$"
DATES = (
    r"^(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})" + _TIME,
    r"^(?P<year>[0-9]{4})/(?P<month>[0-9]{1,2})/(?P<day>[0-9]{1,2})" + _TIME,
    r"^(?P<year>[0-9]{4})\.(?P<month>[0-9]{2})\.(?P<day>[0-9]{2})" + _TIME,
    r"^(?P<year>[0-9]{4})-(?P<month>[0-9]{2})$",
    r"^(?P<first>[0-9]{1,2})/(?P<other>[0-9]{1,2})/(?P<year>[0-9]{4}|[0-9]{2})" + _TIME,
    r"^(?P<first>[0-9]{1,2})-(?P<other>[0-9]{1,2})-(?P<year>[0-9]{4})" + _TIME,
    r"^(?P<first>[0-9]{2})-(?P<other>[0-9]{2})-(?P<year>[0-9]{2})" + _TIME,
    r"^(?P<day>[0-9]{1,2})\.(?P<month>[0-9]{1,2})\.(?P<year>[0-9]{4})" + _TIME,
    r"^(?P<day>[0-9]{2})\.(?P<month>[0-9]{2})\.(?P<year>[0-9]{2})" + _TIME,
    rf"^{_WEEKDAY}(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th|\.)?[ -]{_NAME},?[ -](?P<year>[0-9]{{4}}|[0-9]{{2}})" + _TIME,
    rf"^{_WEEKDAY}{_NAME} (?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?,? (?P<year>[0-9]{{4}})" + _TIME,
)
EIGHT_DIGITS = r"^(?P<year>(?:19|20)[0-9]{2})(?P<month>0[1-9]|1[0-2])(?P<day>0[1-9]|[12][0-9]|3[01])$"
CLOCK = rf"^{_CLOCK}$"
LENGTH = r"^(?P<hour>[0-9]{1,3}):(?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9](?:[.,][0-9]+)?))?$"


def parse_dates(column: TextColumn, *, day_first: bool) -> tuple[pd.Series, str] | None:
    """Return the column as datetimes and a note about what can be read both ways, or None where it is not of dates."""
    levels = column.levels
    if len(levels) == 0:
        return None
    eight = _all_match(levels, EIGHT_DIGITS)
    if eight and len(levels) < CERTAIN and not DATE_NAME.search(column.name.lower()):
        return None
    pattern = EIGHT_DIGITS if eight else next((form for form in DATES if _all_match(levels, form)), None)
    if pattern is None:
        return None
    parts = _parts(levels, pattern)
    notes = []
    if "first" in parts:
        orders = {True: _days(parts, "first", "other"), False: _days(parts, "other", "first")}
        fitting = [order for order, days in orders.items() if days is not None]
        if not fitting:
            return None
        chosen = day_first if day_first in fitting else fitting[0]
        days = orders[chosen]
        if len(fitting) > 1:
            order = "day" if chosen else "month"
            notes.append(
                f"dates in {column.name!r} are read {order} first, as {levels[0].as_py()!r} can be read both ways"
            )
    else:
        days = _days(parts, "day", "month")
    times = _microseconds(parts, len(levels))
    if days is None or times is None:
        return None
    if (pc.utf8_length(pa.array(parts["year"])).to_numpy() == 2).any():
        notes.append(f"years of two digits in {column.name!r} are read as 19{PIVOT} to 20{PIVOT - 1}")
    values = np.append(days.astype("datetime64[us]") + times, np.datetime64("NaT", "us"))
    return pd.Series(values[column.codes], name=column.name), "; ".join(notes)


def parse_times(column: TextColumn) -> pd.Series | None:
    """Return a column of times (13:45, 1:45 PM; lengths up to 999:59) as hours, float64 with NaN; None otherwise."""
    levels = column.levels
    if len(levels) < 2:
        return None
    pattern = next((form for form in (CLOCK, LENGTH) if _all_match(levels, form)), None)
    if pattern is None:
        return None
    times = _microseconds(_parts(levels, pattern), len(levels), most=24 if pattern == CLOCK else 1000)
    if times is None:
        return None
    hours = np.append(times.astype(np.int64) / 3.6e9, np.nan)
    return pd.Series(hours[column.codes], name=column.name)


def _all_match(levels: pa.Array, pattern: str) -> bool:
    few = pc.match_substring_regex(levels[:LOOKED_AT], pattern)
    return bool(pc.all(few).as_py()) and bool(pc.all(pc.match_substring_regex(levels, pattern)).as_py())


def _parts(levels: pa.Array, pattern: str) -> dict[str, np.ndarray]:
    """The named parts of each text as arrays of text, empty where a part is not there."""
    found = pc.extract_regex(levels, pattern)
    return {field.name: found.field(i).to_numpy(zero_copy_only=False) for i, field in enumerate(found.type)}


def _whole(texts: np.ndarray) -> np.ndarray:
    return np.where(texts == "", "0", texts).astype(np.int64)


def _days(parts: dict[str, np.ndarray], day: str, month: str) -> np.ndarray | None:
    """The days as datetime64[D], None where one of them is in no calendar."""
    years = _whole(parts["year"])
    short = np.array([len(text) == 2 for text in parts["year"]])
    years = np.where(short, years + np.where(years < PIVOT, 2000, 1900), years)
    if "name" in parts:
        months = np.array([MONTH_NAMES[name.lower()] for name in parts["name"]])
    else:
        months = _whole(parts[month])
    days = _whole(parts[day]) if day in parts else np.ones(len(years), dtype=np.int64)
    if (months < 1).any() or (months > 12).any() or (days < 1).any():
        return None
    first = ((years - 1970) * 12 + months - 1).astype("datetime64[M]")
    found = first.astype("datetime64[D]") + (days - 1).astype("timedelta64[D]")
    return found if (found.astype("datetime64[M]") == first).all() else None


def _microseconds(parts: dict[str, np.ndarray], n: int, most: int = 24) -> np.ndarray | None:
    """The times of day as timedelta64[us], in UTC; None where one is past its hours, minutes or seconds."""
    if "hour" not in parts:
        return np.zeros(n, dtype="timedelta64[us]")
    hours, minutes = _whole(parts["hour"]), _whole(parts["minute"])
    seconds = np.char.replace(np.where(parts["second"] == "", "0", parts["second"]).astype(str), ",", ".").astype(float)
    if (minutes > 59).any() or (seconds >= 61).any():
        return None
    if "half" in parts and (halves := np.char.lower(parts["half"].astype(str))).any():
        if ((hours > 12) & (halves != "")).any() or ((hours == 0) & (halves != "")).any():
            return None
        hours = np.where(halves == "", hours, hours % 12 + 12 * (halves == "p"))
    if (hours > most).any() or ((hours == most) & (minutes + seconds > 0)).any():
        return None
    micros = hours * 3_600_000_000 + minutes * 60_000_000 + np.round(seconds * 1e6).astype(np.int64)
    if "zone" in parts:
        zones = {zone: _offset(zone) for zone in set(parts["zone"])}
        micros = micros - 60_000_000 * np.array([zones[zone] for zone in parts["zone"]], dtype=np.int64)
    return micros.astype("timedelta64[us]")


def _offset(zone: str) -> int:
    """How many minutes a zone is ahead of UTC."""
    if not zone or zone[0] not in "+-":
        return 0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return -minutes if zone[0] == "-" else minutes
