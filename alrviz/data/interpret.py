"""From text to values: each column of a text table becomes numbers, dates or levels.

The order matters: gaps first (a "?" must not keep numbers from being numbers), then what stands beside numbers (a $),
then the convention of numbers for the whole table, then column by column date, else number, else number with marks of
its own, else time, else levels.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from alrviz.data.dates import TIME_UNITS, Dates, notes_on_dates, parse_all_dates, parse_times
from alrviz.data.layout import group_label_doubts
from alrviz.data.missing import detect_missing, without_numbers
from alrviz.data.numbers import detect_convention, digits_note, doubt_of_marks, force_numbers, parse_numbers
from alrviz.data.options import CERTAIN, DECIMALS, DOUBTFUL, THOUSANDS, ReadOptions
from alrviz.data.parse_spec import ColumnSpec, in_usual_order
from alrviz.data.parse_values import LIMIT, without_limits
from alrviz.data.quantities import cross_table_note, measured_limits, percent_note, plain_numbers, transposed_note
from alrviz.data.stray import stray_note, stray_texts
from alrviz.data.text import RawTable, TextColumn, fold, mend_bands, merge_case, respell, spellings, variants_note
from alrviz.errors import listed, plural, short
from alrviz.stop import NEVER, StopToken

_MARKS = {".": "point", ",": "comma"}
INTERPRETED = 0.65  # of the time that reading takes lies before: measured 0.82 on words, 0.5 on numbers


@dataclass(frozen=True)
class Values:
    """One parsed column: `series` is int64, float64, datetime64 or categorical of strings.

    `declared` is the kind its source states (a DataFrame's dtype, an ARFF type), None where it is to be guessed; `hint`
    is a remark for whoever wonders about the guess; `made` that it was made of another column; `spec` how its texts
    become values; `numbered` that the levels were numbers in the source.
    """

    name: str
    series: pd.Series
    declared: str | None = None
    hint: str = ""
    made: bool = False
    spec: ColumnSpec | None = None
    numbered: bool = False


def interpret(raw: RawTable, stop: StopToken = NEVER) -> RawTable:
    """Return a table of columns of text as one of `Values`, with `missing`, `decimal` and `thousands` filled in.

    Where nobody says what the decimal mark is, a column may have another than most; `decimal` stays None then.
    """
    options = raw.options
    filled = [column.filled_down if options.for_column(column.name).fill_down else column for column in raw.columns]
    columns, tokens, written, gone, doubts = without_missing(filled, options, stop)
    remarks = [*raw.notes, *doubts, *group_label_doubts(columns)]
    limited = [measured_limits(column) for column in columns]
    numerals = [column if found is None else found[0] for column, found in zip(columns, limited, strict=True)]
    plain = [plain_numbers(column) for column in numerals]
    bare = [column if found is None else found[0] for column, found in zip(numerals, plain, strict=True)]
    stray = [() if options.for_column(column.name).missing is not None else stray_texts(column) for column in bare]
    for k, texts in enumerate(stray):
        if texts:
            bare[k] = bare[k].without(texts)
            if (quantities := plain_numbers(bare[k])) is not None:
                plain[k], bare[k] = quantities, quantities[0]
    decimal, thousands = detect_convention(bare, options, stop)
    remarks += doubt_of_marks(bare, options, decimal, thousands)
    parsed, apart, units = [], [], dict[str, list[str]]()
    day_first = decimal == "," or options.delimiter == ";"
    all_dates = parse_all_dates(columns, options, stop, otherwise=day_first)
    for done, (column, numbers, dates) in enumerate(zip(columns, bare, all_dates, strict=True)):
        missing, found, own = (*gone[done], *stray[done]), plain[done], options.for_column(column.name)
        unit = None if found is None else found[1]
        stop.check()
        stop.report(INTERPRETED + (1 - INTERPRETED) * done / len(columns))
        if dates is not None:
            values = of_dates(dates, among_numbers((*gone[done], *dates.stray), own))
            remarks += notes_on_dates(columns[done], dates, written[done])
            written[done] = (*written[done], *dates.stray)
        elif (series := parse_numbers(numbers, decimal, thousands)) is not None:
            values = _of_numbers(series, (decimal, thousands), unit, among_numbers(missing, own))
        elif (other := _own_marks(numbers, options, decimal)) is not None:
            values = _of_numbers(other[0], other[1], unit, among_numbers(missing, own))
            if other[1][0] != decimal:
                apart.append(column.name)
        else:
            values, notes = words(column, own, gone[done])
            remarks += notes
            if _other_decimal(numbers, decimal) is not None:
                values = replace(values, hint=f"all values are numbers with a decimal {_MARKS[_other(decimal)]}")
        if stray[done] and values.series.dtype.kind in "if":
            remarks.append(stray_note(column, stray[done], written[done]))
            written[done] = (*written[done], *stray[done])
        if found is not None and values.series.dtype.kind in "if":
            units.setdefault(unit or "", []).append(column.name)
        limit = limited[done]
        if limit is not None and values.spec is not None and values.spec.type == "number":
            values = replace(values, spec=replace(values.spec, limits=True))
            remarks.append(limits_note(column, limit[1]))
        if own.fill_down and values.spec is not None:
            values = replace(values, spec=replace(values.spec, fill_down=True))
        parsed.append(replace(values, series=without_numbers(values.series, written[done])))
    remarks += [
        f"numbers in {listed(names)} were read without {f'their {unit!r}' if unit else 'what stands beside them'}"
        for unit, names in units.items()
    ]
    if apart:
        remarks.append(
            f"numbers in {listed(apart)} have a decimal {_MARKS[_other(decimal)]}, those of other columns a decimal "
            f"{_MARKS[decimal]}: each is read with its own. With one decimal mark for all, what does not fit is text"
        )
    shape_notes = cross_table_note([values.series for values in parsed]), transposed_note(columns)
    remarks += filter(None, [*map(percent_note, columns), *shape_notes])
    in_force = replace(options, missing=tokens, decimal=None if apart else decimal, thousands=thousands)
    return replace(raw, columns=parsed, options=with_own_missing(in_force, parsed, written), notes=remarks)


def with_own_missing(
    options: ReadOptions, columns: Sequence[Values], written: Sequence[tuple[str, ...]]
) -> ReadOptions:
    """Return the options that were in force, with those columns whose missing texts are not the table's."""
    own = {values.name: texts for values, texts in zip(columns, written, strict=True) if texts != options.missing}
    return options.with_change({"columns": {name: {"missing": texts} for name, texts in own.items()}})


def of_dates(dates: Dates, missing: tuple[str, ...]) -> Values:
    """Return a column of dates."""
    name = str(dates.series.name)
    spec = ColumnSpec(
        name, name, "date", missing=missing, form=dates.form, day_first=dates.day_first, pivot=dates.pivot
    )
    return Values(name, dates.series, spec=spec)


def of_type(values: Values, missing: tuple[str, ...], dayfirst: bool | None = None) -> ColumnSpec:
    """Return how a column that came with a type is read where later rows are text: as numbers, dates or levels."""
    if isinstance(values.series.dtype, pd.CategoricalDtype):
        levels = set(values.series.cat.categories)
        missing = tuple(token for token in missing if token not in levels)
    kind = values.series.dtype.kind if isinstance(values.series.dtype, np.dtype) else "O"
    how = "number" if kind in "if" else "date" if kind == "M" else "levels"
    numeric = "numeric" if how == "number" else "categorical"
    order = dayfirst if how == "date" else None
    return ColumnSpec(values.name, values.name, how, numeric, missing=missing, day_first=order)


def _of_numbers(series: pd.Series, marks: tuple[str, str], unit: str | None, missing: tuple[str, ...]) -> Values:
    name = str(series.name)
    spec = ColumnSpec(name, name, "number", "numeric", "", missing, *marks, unit)
    return Values(name, series, spec=spec)


def without_missing(
    columns: Sequence[TextColumn], options: ReadOptions, stop: StopToken
) -> tuple[list[TextColumn], tuple[str, ...], list[tuple[str, ...]], list[tuple[str, ...]], list[str]]:
    """Return the columns with what stands for a missing value made so, the texts that do everywhere, and notes.

    The third are the texts that stand for a missing value in each column, the fourth those that do in later rows.
    """
    said = [options.for_column(column.name).missing for column in columns]
    left = [column for column, texts in zip(columns, said, strict=True) if texts is None]
    found = detect_missing(left, stop)
    everywhere = found.everywhere if options.missing is None else tuple(dict.fromkeys(("", *options.missing)))
    written, gone = [], []
    for column, texts in zip(columns, said, strict=True):
        if texts is not None:
            written.append(tuple(dict.fromkeys(("", *texts))))
            gone.append(written[-1])
            continue
        written.append((*everywhere, *found.by_column.get(column.name, ())))
        levels = found.levels.get(column.name, ())
        gone.append(tuple(token for token in in_usual_order((*written[-1], *CERTAIN)) if token not in levels))
    without = [column.without(tokens) for column, tokens in zip(columns, gone, strict=True)]
    return without, everywhere, written, gone, found.notes


def among_numbers(missing: tuple[str, ...], options: ReadOptions) -> tuple[str, ...]:
    """Return the texts that stand for a missing value in a column of numbers, dates or times."""
    return missing if options.missing is not None else in_usual_order((*missing, *DOUBTFUL))


def limits_note(column: TextColumn, such: str) -> str:
    """Return a note about numbers that are limits, such as one is, and are read as the number."""
    signed = np.append(pc.match_substring_regex(column.levels, LIMIT).to_numpy(zero_copy_only=False), False)
    rows = int(signed[column.codes].sum())
    values = f"{plural(rows, 'value')} of {column.name!r}"
    return (
        f"{values} {'is a limit or a guess' if rows == 1 else 'are limits or guesses'}, "
        f"such as {short(such)}: read as the number, {re.sub(LIMIT, '', such)}"
    )


def words(column: TextColumn, options: ReadOptions, missing: tuple[str, ...]) -> tuple[Values, list[str]]:
    """Return a column of text that is of no numbers and dates as levels (times as hours), and notes.

    `missing` are the texts that were missing in it.
    """
    name = column.name
    if (times := parse_times(column)) is not None:
        gone = among_numbers(missing, options)
        spec = ColumnSpec(name, name, "time", "numeric", missing=gone, form=times[1])
        hint = TIME_UNITS.get(times[1], "times, as hours: 13:30 is 13.5")
        notes = [f"{name!r} holds {hint}"] if times[1] in TIME_UNITS else []
        return Values(name, times[0], hint=hint, spec=spec), notes
    respelled, others = respell(column, options.spellings or ())
    mended, bands = mend_bands(respelled)
    codes = options.merge_case is True
    merged, note = merge_case(mended, codes=codes) if options.merge_case is not False else (mended, "")
    months = [f"{text} is {band}" for text, band in bands.items()]
    notes = [
        column.blanks_note,
        note or digits_note(column),
        f"{plural(column.count([*others]), 'cell')} of {name!r} have another spelling, as you said" if others else "",
        variants_note(merged, options),
        f"bands in {name!r} that a spreadsheet took for days were mended: {', '.join(months)}" if bands else "",
    ]
    texts = spellings(merged, codes=codes) if options.merge_case is not False else {}
    texts |= {text.lower(): band for text, band in bands.items()}
    texts |= {fold(text): texts.get(fold(level), level) for text, level in others.items()}
    spec = ColumnSpec(name, name, missing=missing, spellings=texts)
    return Values(name, merged.categorical(), spec=spec), [note for note in notes if note]


def said_numbers(
    column: TextColumn, options: ReadOptions, missing: tuple[str, ...] = ("",)
) -> tuple[pd.Series, ColumnSpec]:
    """Return a column as numbers because it was said to be numeric, and how: units and times as in reading.

    Decimal and thousands marks are those of `options`, else the column's own. `missing` are the texts that were missing
    in it.

    Raises:
        TableError: a value that is no number, named with its row.
    """
    name = column.name
    if (times := parse_times(column)) is not None:
        return times[0], ColumnSpec(name, name, "time", "numeric", missing=missing, form=times[1])
    limits = bool(pc.any(pc.match_substring_regex(column.levels, LIMIT)).as_py())
    if limits:
        column = TextColumn.of(name, column.codes, without_limits(column.levels))
    found = plain_numbers(column)
    bare, unit = (column, None) if found is None else found
    marks = detect_convention([bare], options)
    spec = ColumnSpec(name, name, "number", "numeric", "", missing, *marks, unit, limits=limits)
    return force_numbers(bare, *marks), spec


def _other(decimal: str) -> str:
    return DECIMALS[decimal == DECIMALS[0]]


def _own_marks(column: TextColumn, options: ReadOptions, decimal: str) -> tuple[pd.Series, tuple[str, str]] | None:
    """The column as numbers with marks of its own, and these; None where it has none that `options` allow."""
    for own in (decimal, _other(decimal)):
        if options.decimal not in (None, own):
            continue
        for thousands in THOUSANDS if options.thousands is None else (options.thousands,):
            if own != thousands and (numbers := parse_numbers(column, own, thousands)) is not None:
                return numbers, (own, thousands)
    return None


def _other_decimal(column: TextColumn, decimal: str) -> pd.Series | None:
    other = _other(decimal)
    found = (parse_numbers(column, other, thousands) for thousands in ("", decimal))
    return next((numbers for numbers in found if numbers is not None), None)


def text_of(series: pd.Series) -> TextColumn:
    """Return a categorical Series of strings as a column of text."""
    categories = pa.array(series.cat.categories.astype(object), type=pa.string())
    return TextColumn(str(series.name), series.cat.codes.to_numpy().astype("int32"), categories)
