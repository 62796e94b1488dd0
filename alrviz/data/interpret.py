"""From text to values: each column of a text table becomes numbers, dates or levels.

The order matters: gaps first (a "?" must not keep numbers from being numbers), then what stands beside numbers (a $),
then the convention of numbers for the whole table, then column by column date, else number, else number with marks of
its own, else time, else levels.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from alrviz.data.dates import parse_dates, parse_times
from alrviz.data.missing import detect_missing, without_numbers
from alrviz.data.numbers import detect_convention, digits_note, force_numbers, listed, parse_numbers, short
from alrviz.data.options import DECIMALS, THOUSANDS, ReadOptions
from alrviz.data.quantities import plain_numbers
from alrviz.data.text import NUMBERLIKE, TextColumn, merge_case
from alrviz.errors import TableError
from alrviz.stop import NEVER, StopToken

_MARKS = {".": "point", ",": "comma"}
INTERPRETED = 0.65  # of the time that reading takes lies before: measured 0.82 on words, 0.5 on numbers


@dataclass(frozen=True)
class Values:
    """One parsed column: `series` is int64, float64, datetime64 or categorical of strings.

    `declared` is the kind its source states (a DataFrame's dtype, an ARFF type), None where it is to be guessed; `hint`
    is a remark for whoever wonders about the guess; `made` that it was made of another column.
    """

    name: str
    series: pd.Series
    declared: str | None = None
    hint: str = ""
    made: bool = False


@dataclass(frozen=True)
class Parsed:
    """What a format's reader returns: the columns in order, the options that were in force, notes, a book's sheets."""

    columns: list[Values]
    options: ReadOptions
    notes: list[str] = field(default_factory=list)
    sheets: tuple[str, ...] = ()


def interpret(
    columns: Sequence[TextColumn], options: ReadOptions, notes: Sequence[str] = (), stop: StopToken = NEVER
) -> Parsed:
    """Return columns of text as values, with `missing`, `decimal` and `thousands` filled in.

    Where nobody says what the decimal mark is, a column may have another than most; `decimal` stays None then.
    """
    remarks = list(notes)
    columns, tokens, doubts = without_missing(columns, options, stop)
    remarks += doubts
    plain = [plain_numbers(column) for column in columns]
    bare = [column if found is None else found[0] for column, found in zip(columns, plain, strict=True)]
    decimal, thousands = detect_convention(bare, options, stop)
    parsed, apart, units = [], [], dict[str, list[str]]()
    day_first = decimal == "," or options.delimiter == ";"
    for done, (column, numbers) in enumerate(zip(columns, bare, strict=True)):
        stop.check()
        stop.report(INTERPRETED + (1 - INTERPRETED) * done / len(columns))
        if (dates := parse_dates(column, day_first=day_first)) is not None:
            values, note = Values(column.name, dates[0]), dates[1]
        elif (series := parse_numbers(numbers, decimal, thousands)) is not None:
            values, note = Values(column.name, series), ""
        elif (other := _own_marks(numbers, options, decimal)) is not None:
            values, note = Values(column.name, other[0]), ""
            if other[1] != decimal:
                apart.append(column.name)
        else:
            values, note = words(column, options)
            if _other_decimal(numbers, decimal) is not None:
                values = replace(values, hint=f"all values are numbers with a decimal {_MARKS[_other(decimal)]}")
        if numbers is not column and values.series.dtype.kind in "if":
            units.setdefault(plain[done][1], []).append(column.name)  # type: ignore[index]
        parsed.append(replace(values, series=without_numbers(values.series, tokens)))
        remarks += [note] if note else []
    remarks += [
        f"numbers in {listed(names)} were read without {f'their {unit!r}' if unit else 'what stands beside them'}"
        for unit, names in units.items()
    ]
    if apart:
        remarks.append(
            f"numbers in {listed(apart)} have a decimal {_MARKS[_other(decimal)]}, those of other columns a decimal "
            f"{_MARKS[decimal]}: each is read with its own. With one decimal mark for all, what does not fit is text"
        )
    in_force = replace(options, missing=tokens, decimal=None if apart else decimal, thousands=thousands)
    return Parsed(parsed, in_force, remarks)


def without_missing(
    columns: Sequence[TextColumn], options: ReadOptions, stop: StopToken
) -> tuple[list[TextColumn], tuple[str, ...], list[str]]:
    """Return the columns with what stands for a missing value made so, the texts that do everywhere, and notes."""
    missing, apart, notes = options.missing, dict[str, tuple[str, ...]](), list[str]()
    if missing is None:
        missing, apart, notes = detect_missing(columns, stop)
    tokens = tuple(dict.fromkeys(("", *missing)))
    return [column.without((*tokens, *apart.get(column.name, ()))) for column in columns], tokens, notes


def words(column: TextColumn, options: ReadOptions) -> tuple[Values, str]:
    """Return a column of text that is of no numbers and dates as levels (times as hours), and a note."""
    if (times := parse_times(column)) is not None:
        return Values(column.name, times, hint="times, as hours: 13:30 is 13.5"), ""
    merged, note = merge_case(column) if options.merge_case is not False else (column, "")
    note = note or digits_note(column)
    return Values(column.name, merged.categorical(), hint=_nearly_numbers(merged)), note


def said_numbers(column: TextColumn, options: ReadOptions, marks: tuple[str, str] | None = None) -> pd.Series:
    """Return a column as numbers because it was said to be numeric: units and times are understood as in reading.

    `marks` are the decimal and thousands marks; without them, or where they do not fit, the column's own.

    Raises:
        TableError: a value that is no number, named with its row.
    """
    if (times := parse_times(column)) is not None:
        return times
    found = plain_numbers(column)
    bare = column if found is None else found[0]
    own = detect_convention([bare], options)
    if marks is not None:
        try:
            return force_numbers(bare, *marks)
        except TableError:
            if own == marks:
                raise
    return force_numbers(bare, *own)


def _other(decimal: str) -> str:
    return DECIMALS[decimal == DECIMALS[0]]


def _own_marks(column: TextColumn, options: ReadOptions, decimal: str) -> tuple[pd.Series, str] | None:
    """The column as numbers with marks of its own and its decimal mark; None where it has none that `options` allow."""
    for own in (decimal, _other(decimal)):
        if options.decimal not in (None, own):
            continue
        for thousands in THOUSANDS if options.thousands is None else (options.thousands,):
            if own != thousands and (numbers := parse_numbers(column, own, thousands)) is not None:
                return numbers, own
    return None


def _other_decimal(column: TextColumn, decimal: str) -> pd.Series | None:
    other = _other(decimal)
    found = (parse_numbers(column, other, thousands) for thousands in ("", decimal))
    return next((numbers for numbers in found if numbers is not None), None)


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
