"""From text to values: each column of a text table becomes numbers, dates or levels.

The order matters: gaps first (a "?" must not keep numbers from being numbers), then the convention of numbers for the
whole table, then column by column number, else date, else number with the other decimal mark, else levels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from alrviz.data.numbers import NUMBERLIKE, detect_convention, listed, parse_dates, parse_numbers, short
from alrviz.data.options import DECIMALS, ReadOptions
from alrviz.data.text import TextColumn, detect_missing
from alrviz.stop import NEVER, StopToken

_MARKS = {".": "point", ",": "comma"}
INTERPRETED = 0.65  # of the time that reading takes lies before: measured 0.82 on words, 0.5 on numbers


@dataclass(frozen=True)
class Values:
    """One parsed column: `series` is int64, float64, datetime64 or categorical of strings.

    `declared` is the kind its source states (a DataFrame's dtype, an ARFF type), None where it is to be guessed; `hint`
    is a remark for whoever wonders about the guess.
    """

    name: str
    series: pd.Series
    declared: str | None = None
    hint: str = ""


@dataclass(frozen=True)
class Parsed:
    """What a format's reader returns: the columns in order, the options that were in force, notes."""

    columns: list[Values]
    options: ReadOptions
    notes: list[str] = field(default_factory=list)


def interpret(
    columns: Sequence[TextColumn], options: ReadOptions, notes: Sequence[str] = (), stop: StopToken = NEVER
) -> Parsed:
    """Return columns of text as values, with `missing`, `decimal` and `thousands` filled in.

    Where nobody says what the decimal mark is, a column may have another than most; `decimal` stays None then.
    """
    remarks = list(notes)
    missing = options.missing
    if missing is None:
        missing, doubts = detect_missing(columns, stop)
        remarks += doubts
    tokens = tuple(dict.fromkeys(("", *missing)))
    columns = [column.without(tokens) for column in columns]
    decimal, thousands = detect_convention(columns, options, stop)
    parsed, apart = [], []
    for done, column in enumerate(columns):
        stop.check()
        stop.report(INTERPRETED + (1 - INTERPRETED) * done / len(columns))
        values, note = _values(column, decimal, thousands, day_first=decimal == "," or options.delimiter == ";")
        other = None if values.series.dtype.kind in "ifM" else _other_mark(column, decimal)
        if other is not None and options.decimal is None:
            values = Values(column.name, other)
            apart.append(column.name)
        elif other is not None:
            values = replace(values, hint=f"all values are numbers with a decimal {_MARKS[_other(decimal)]}")
        parsed.append(values)
        remarks += [note] if note else []
    if apart:
        remarks.append(
            f"numbers in {listed(apart)} have a decimal {_MARKS[_other(decimal)]}, those of other columns a decimal "
            f"{_MARKS[decimal]}: each is read with its own. With one decimal mark for all, what does not fit is text"
        )
    in_force = replace(options, missing=tokens, decimal=None if apart else decimal, thousands=thousands)
    return Parsed(parsed, in_force, remarks)


def _other(decimal: str) -> str:
    return DECIMALS[decimal == DECIMALS[0]]


def _other_mark(column: TextColumn, decimal: str) -> pd.Series | None:
    """The column as numbers with the other decimal mark, None where it is not of such numbers."""
    other = _other(decimal)
    found = (parse_numbers(column, other, thousands) for thousands in ("", decimal))
    return next((numbers for numbers in found if numbers is not None), None)


def _values(column: TextColumn, decimal: str, thousands: str, *, day_first: bool) -> tuple[Values, str]:
    if (numbers := parse_numbers(column, decimal, thousands)) is not None:
        return Values(column.name, numbers), ""
    if (dates := parse_dates(column, day_first=day_first)) is not None:
        return Values(column.name, dates[0]), dates[1]
    return Values(column.name, column.categorical(), hint=_nearly_numbers(column)), ""


def _nearly_numbers(column: TextColumn) -> str:
    """Say which few texts keep a column of numbers from being one."""
    if len(column.levels) < 10:
        return ""
    others = column.levels.filter(pc.invert(pc.match_substring_regex(column.levels, NUMBERLIKE)))
    if not 0 < len(others) <= len(column.levels) // 10:
        return ""
    return (
        f"{len(others)} of {len(column.levels):,} values {'is' if len(others) == 1 else 'are'} no number, such as "
        + short(others[0].as_py())
    )


def text_of(series: pd.Series) -> TextColumn:
    """Return a categorical Series of strings as a column of text."""
    categories = pa.array(series.cat.categories.astype(object), type=pa.string())
    return TextColumn(str(series.name), series.cat.codes.to_numpy().astype("int32"), categories)
