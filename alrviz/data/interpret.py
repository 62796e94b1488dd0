"""Detect the `ColumnSpec` of each column, and parse the column by it.

The order matters: missing values first (a "?" in a column of numbers), then units and other marks of quantities ($),
then the table's convention of numbers, then for each column: a date, else a number, else a number in a convention that
only this column has, else a time, else levels. `read_column` applies the spec here, as to every later table. Typed
columns keep their type; in a typed source text is never read as numbers.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow.compute as pc

from alrviz.data.annotated_numbers import (
    AnnotatedNumbers,
    annotated_numbers,
    annotated_numbers_doubts,
    other_type_doubt,
)
from alrviz.data.dates import TIME_UNITS, Dates, notes_on_dates, parse_all_dates, time_form
from alrviz.data.doubts import DoubtCode, Note, NoteCode, notes_about
from alrviz.data.find_table import group_label_doubts
from alrviz.data.missing import detect_missing
from alrviz.data.numbers import (
    check_numbers,
    comma_notes,
    detect_convention,
    digits_note,
    doubt_of_marks,
    is_numeric,
    marks_of,
    other_mark,
    stray_note,
    stray_texts,
)
from alrviz.data.options import CERTAIN, DOUBTFUL, ReadOptions
from alrviz.data.parse_spec import ColumnSpec, in_usual_order
from alrviz.data.parse_values import LIMIT, ascii_numbers, spelling_lookup, without_limits
from alrviz.data.quantities import (
    cross_table_note,
    long_form_doubt,
    measured_limits,
    percent_note,
    plain_numbers,
    transposed_note,
    units_note,
)
from alrviz.data.text import RawTable, TextColumn, fold, mend_bands, merge_case, respell, variants_note
from alrviz.data.values import Values, read_column, spec_of_typed
from alrviz.errors import listed, plural, short
from alrviz.stop import NEVER, StopToken

INTERPRET_START = 0.65  # of the reading time precedes, for progress: 0.82 measured on words, 0.5 on numbers
_MARKS = {".": "point", ",": "comma"}


@dataclass
class _TextEvidence:
    """Evidence about a column of text, from which its type is decided.

    Attributes:
        source: the unchanged column.
        present: the column without its missing values.
        options: those of the column.
        stated_missing: its missing texts in the table's options.
        missing: its missing texts, here and in later rows.
        numbers: `present` without limits, units and stray texts, to test whether it has numbers.
        limit: an example of a limit, such as "<5"; "" without any.
        unit: of its numbers; None without any.
        stray: the few texts of a column of numbers that are none.
        annotations: descriptions of those removed from its numbers, see `without_annotations`.
    """

    source: TextColumn
    present: TextColumn
    options: ReadOptions
    stated_missing: tuple[str, ...]
    missing: tuple[str, ...]
    numbers: TextColumn
    limit: str = ""
    unit: str | None = None
    stray: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The column's name."""
        return self.source.name

    @property
    def all_missing(self) -> tuple[str, ...]:
        """Its missing texts in the table's options, if the column has numbers, dates or times."""
        return (*self.stated_missing, *self.stray)

    @property
    def missing_numbers(self) -> tuple[str, ...]:
        """The texts that are missing if the column has numbers, dates or times."""
        return missing_among_numbers((*self.missing, *self.stray), self.options)


@dataclass
class _Decision:
    """The spec of a column, with its missing texts in the table's options, a hint on its kind, and notes."""

    spec: ColumnSpec
    stated_missing: tuple[str, ...]
    hint: str = ""
    notes: list[str] = field(default_factory=list)
    annotated: AnnotatedNumbers | None = None  # read as text or missing


def interpret(raw: RawTable, stop: StopToken = NEVER) -> RawTable:
    """Return a raw table with its columns as `Values`, and the detected `missing`, `decimal` and `thousands`.

    If columns have different decimal marks, `decimal` stays None.
    """
    options = raw.options
    raw = replace(raw, notes=[*options.notes_on_columns([column.name for column in raw.columns]), *raw.notes])
    if raw.sort == "decided":
        return raw
    texts, everywhere, notes = _without_missing(raw.columns, options, stop)
    if not notes_about(raw.notes, {DoubtCode.GROUP_LABELS}):  # a workbook says which cells are merged
        notes += group_label_doubts([text.present for text in texts])
    if raw.sort == "text":
        for text in texts:
            _find_numbers(text)
    decimal, thousands = detect_convention(
        [text.numbers for text in texts] if raw.sort == "text" else [], options, stop
    )
    if raw.sort == "text":
        notes += doubt_of_marks([text.numbers for text in texts], options, decimal, thousands)
    all_dates = parse_all_dates(
        [text.present for text in texts], options, stop, otherwise=decimal == "," or options.delimiter == ";"
    )
    decisions = {
        text.name: _decide(text, dates, (decimal, thousands), may_be_numbers=raw.sort == "text")
        for text, dates in zip(texts, all_dates, strict=True)
    }
    for column in raw.columns:
        if isinstance(column, Values):
            decisions[column.name] = _decide_typed(column, everywhere, options.for_column(column.name))
    columns = list[Values]()
    for position, column in enumerate(raw.columns):
        stop.check()
        stop.report(INTERPRET_START + (1 - INTERPRET_START) * position / len(raw.columns))
        decision, fill_down = decisions[column.name], bool(options.for_column(column.name).fill_down)
        column = column.filled_cells if fill_down else column
        values, bad = read_column(column, replace(decision.spec, fill_down=fill_down))
        if isinstance(column, TextColumn) and decision.spec.type == "number":
            check_numbers(column, bad, decision.spec.decimal)
        columns.append(replace(values, hint=decision.hint or values.hint))
        notes += decision.notes
    texts_and_numbers = [(text, annotated) for text in texts if (annotated := decisions[text.name].annotated)]
    for type_, read in {"levels": "text", "number": "missing"}.items():
        columns_read_so = [(t.present, n) for t, n in texts_and_numbers if decisions[t.name].spec.type == type_]
        notes += annotated_numbers_doubts(columns_read_so, read)
    numbers = [text for text in texts if decisions[text.name].spec.type == "number"]
    for unit in dict.fromkeys(text.unit for text in numbers if text.unit is not None):
        names = listed([text.name for text in numbers if text.unit == unit])
        notes.append(f"numbers in {names} were read without {f'their {unit!r}' if unit else 'the marks beside them'}")
    notes += comma_notes([text.source for text in numbers if decisions[text.name].spec.decimal == ","])
    deviating = [text.name for text in numbers if decisions[text.name].spec.decimal != decimal]
    if deviating:
        notes.append(
            f"numbers in {listed(deviating)} have a decimal {_MARKS[other_mark(decimal)]}, those of other columns a "
            f"decimal {_MARKS[decimal]}: each column is read with its own mark. If you set one decimal mark for all, "
            "columns with the other one are text"
        )
    if raw.sort == "text":
        notes += [note for text in numbers if text.unit == "%" and (note := percent_note(text.present))]
        level_columns = [text.present for text in texts if decisions[text.name].spec.type == "levels"]
        notes += filter(None, map(units_note, level_columns))
    all_series = [values.series for values in columns]
    notes = [*long_form_doubt(all_series), *notes]  # asked first, as it settles doubts about the column of values
    shape_notes = [cross_table_note(all_series)]
    shape_notes += [transposed_note([text.present for text in texts])] if raw.sort == "text" else []
    notes += [Note.with_code(NoteCode.SHAPE, note) for note in shape_notes if note]
    notes += _unmatched_spellings(options, [column.spec for column in columns if column.spec])
    stated = {name: decision.stated_missing for name, decision in decisions.items()}
    options_by_column = {name: {"missing": tokens} for name, tokens in stated.items() if tokens != everywhere}
    in_force = replace(options, missing=everywhere, decimal=None if deviating else decimal, thousands=thousands)
    return replace(
        raw, columns=columns, options=in_force.with_change({"columns": options_by_column}), notes=[*raw.notes, *notes]
    )


# ---- missing values --------------------------------------------------------------------------------------------------


def _without_missing(
    columns: Sequence[TextColumn | Values], options: ReadOptions, stop: StopToken
) -> tuple[list[_TextEvidence], tuple[str, ...], list[str]]:
    """Return evidence of the columns of text, the texts that are missing in the whole table, and notes."""
    texts = [column for column in columns if isinstance(column, TextColumn)]
    detected = detect_missing([c for c in texts if options.for_column(c.name).missing is None], stop)
    everywhere = detected.everywhere if options.missing is None else options.missing
    result = []
    for column in texts:
        column_options = options.for_column(column.name)
        column = column.filled_cells if column_options.fill_down else column
        if column_options.missing is not None:
            stated = missing = column_options.missing
        else:
            stated = (*everywhere, *detected.by_column.get(column.name, ()))
            levels = detected.levels.get(column.name, ())
            missing = tuple(token for token in in_usual_order((*stated, *CERTAIN)) if token not in levels)
        present = column.without_texts(missing)
        result.append(_TextEvidence(column, present, column_options, stated, missing, present))
    return result, everywhere, detected.notes


def missing_among_numbers(missing: tuple[str, ...], options: ReadOptions) -> tuple[str, ...]:
    """Return the missing texts of a column of numbers, dates or times, given those of a column of levels."""
    return missing if options.missing is not None else in_usual_order((*missing, *DOUBTFUL))


# ---- numbers ---------------------------------------------------------------------------------------------------------


def _find_numbers(text: _TextEvidence) -> None:
    """Detect limits, unit and stray texts of a column of numbers, and set these attributes of `text`."""
    if text.options.numbers:
        column = AnnotatedNumbers.from_text(text.present)
        text.numbers, text.unit = column.numbers, column.unit
        text.stray, text.annotations = column.stray, column.annotations
        return
    digits = ascii_numbers(text.present.levels)
    if digits is not text.present.levels:
        text.numbers = TextColumn.from_codes(text.name, text.present.codes, digits, text.present.is_number)
    if (limited := measured_limits(text.numbers)) is not None:
        text.numbers, text.limit = limited
    if (plain := plain_numbers(text.numbers)) is not None:
        text.numbers, text.unit = plain
    if text.options.missing is None and (stray := stray_texts(text.numbers)):
        text.numbers, text.stray = text.numbers.without_texts(stray), stray
        if (plain := plain_numbers(text.numbers)) is not None:
            text.numbers, text.unit = plain


# ---- decisions -------------------------------------------------------------------------------------------------------


def _decide(text: _TextEvidence, dates: Dates | None, marks: tuple[str, str], *, may_be_numbers: bool) -> _Decision:
    """Return the decision on a column of text; `marks` are the table's decimal and thousands marks."""
    name = text.name
    if dates is not None:
        text.stray = dates.stray
        spec = ColumnSpec(
            name, name, "date", missing=text.missing_numbers, form=dates.form, day_first=dates.day_first,
            pivot=dates.pivot,
        )  # fmt: skip
        return _Decision(spec, text.all_missing, notes=notes_on_dates(text.present, dates, text.stated_missing))
    if may_be_numbers and (column_marks := marks_of(text.numbers, text.options, marks)) is not None:
        missing = text.missing_numbers
        spec = ColumnSpec(
            name, name, "number", "numeric", "", missing, *column_marks, text.unit, limits=bool(text.limit),
            annotations=bool(text.options.numbers),
        )  # fmt: skip
        notes = list[str]()
        annotated = AnnotatedNumbers.from_text(text.present.only_texts(text.stray)) if text.stray else None
        if text.options.numbers:
            n_stray = plural(text.present.count(text.stray), "text")
            annotation_text = ", ".join(text.annotations) or "annotations"
            notes = [
                f"numbers in {name!r} were read without {annotation_text} beside them; {n_stray} without one missing"
            ]
        elif annotated and (annotated.stray or not annotated.annotations or text.options.numbers is False):
            notes.append(stray_note(text.present, text.stray, text.stated_missing))
        if text.limit:
            is_limit = pc.match_substring_regex(text.present.levels, LIMIT)
            n_rows = text.present.count(text.present.levels.filter(is_limit).to_pylist())
            verb = "is a limit or a guess" if n_rows == 1 else "are limits or guesses"
            example_number = re.sub(LIMIT, "", text.limit)
            values_text = f"{plural(n_rows, 'value')} of {name!r} {verb}"
            notes.append(f"{values_text}, such as {short(text.limit)}: read as the number, {example_number}")
        is_in_doubt = annotated and annotated.annotations and text.options.numbers is None
        return _Decision(spec, text.all_missing, notes=notes, annotated=annotated if is_in_doubt else None)
    decision = _decide_levels(text)
    if may_be_numbers and decision.spec.type == "levels" and text.options.numbers is None:
        decision.annotated = annotated_numbers(text.present, text.options, marks)
        if decision.annotated is None:
            decision.notes += other_type_doubt(text.present, text.options, marks, text.stated_missing)
    elif text.options.numbers:
        decision.notes.append(f"{name!r} has no numbers in most cells, so it was read as text although numbers=True")
    alternative_mark = other_mark(marks[0])
    if may_be_numbers and any(is_numeric(text.numbers, alternative_mark, thousands) for thousands in ("", marks[0])):
        decision.hint = f"all values are numbers with a decimal {_MARKS[alternative_mark]}"
    return decision


def _decide_levels(text: _TextEvidence) -> _Decision:
    """Return the decision on a column without numbers and dates: levels, or times as hours."""
    name, column, merge = text.name, text.present, text.options.merge_case
    times = time_form(column)
    if times is not None and (not times[1] or text.options.missing is None):
        form, text.stray = times
        spec = ColumnSpec(name, name, "time", "numeric", missing=text.missing_numbers, form=form)
        hint = TIME_UNITS.get(form, "times, as hours: 13:30 is 13.5")
        notes = [f"{name!r} holds {hint}"] if form in TIME_UNITS else []
        notes += [stray_note(column, text.stray, text.stated_missing, "time")] if text.stray else []
        return _Decision(spec, text.all_missing, hint, notes)
    respelled, respelled_texts = respell(column, text.options.spellings or ())
    mended, bands = mend_bands(respelled)
    merged, variants, note = (mended, {}, "") if merge is False else merge_case(mended, codes=merge is True)
    months = [f"{day} is {band}" for day, band in bands.items()]
    notes = [
        column.blanks_note,
        note or digits_note(column),
        f"{plural(column.count([*respelled_texts]), 'cell')} of {name!r} have another spelling, as you said"
        if respelled_texts
        else "",
        variants_note(merged, text.options),
        f"bands in {name!r} that a spreadsheet took for days were mended: {', '.join(months)}" if bands else "",
    ]
    variants |= {day.lower(): band for day, band in bands.items()} | bands
    variants |= spelling_lookup({t: variants.get(fold(level), level) for t, level in respelled_texts.items()})
    spec = ColumnSpec(name, name, missing=text.missing, spellings=variants)
    return _Decision(spec, text.stated_missing, notes=[note for note in notes if note])


def _decide_typed(column: Values, everywhere: tuple[str, ...], options: ReadOptions) -> _Decision:
    """Return the decision on a typed column, whose spec parses later rows that are text."""
    stated = everywhere if options.missing is None else options.missing
    missing = in_usual_order((*everywhere, *CERTAIN)) if options.missing is None else stated
    missing = missing_among_numbers(missing, options) if column.dtype_kind in "ifM" else missing
    return _Decision(spec_of_typed(column, missing, options.dayfirst), stated)


def decide_number(
    column: TextColumn, options: ReadOptions, missing: tuple[str, ...] = ("",), *, fill_down: bool = False
) -> ColumnSpec:
    """Return the spec of a column of text whose kind the user set to numeric: numbers with units, or times.

    Decimal and thousands marks are those of `options`, else detected in the column.
    """
    name = column.name
    if (times := time_form(column)) is not None:
        return ColumnSpec(name, name, "time", "numeric", missing=missing, form=times[0], fill_down=fill_down)
    has_limits = bool(pc.any(pc.match_substring_regex(column.levels, LIMIT)).as_py())
    if has_limits:
        column = TextColumn.from_codes(name, column.codes, without_limits(column.levels))
    quantities = plain_numbers(column)
    numbers, unit = (column, None) if quantities is None else quantities
    marks = detect_convention([numbers], options)
    return ColumnSpec(
        name, name, "number", "numeric", "", missing, *marks, unit, limits=has_limits, fill_down=fill_down
    )


def _unmatched_spellings(options: ReadOptions, specs: Sequence[ColumnSpec]) -> list[str]:
    """Return a note on given spellings of texts that are a level of none of their columns."""
    columns_with_own = {name for name, column in options.columns if column.spellings is not None}
    usual_texts = {text for spec in specs if spec.source not in columns_with_own for text in spec.spellings}
    texts_by_column = {spec.source: {*spec.spellings} for spec in specs}
    unmatched = [text for text, _ in options.spellings or () if not {text, fold(text)} & usual_texts]
    for name in columns_with_own & texts_by_column.keys():
        pairs = options.for_column(name).spellings
        unmatched += [text for text, _ in pairs if not {text, fold(text)} & texts_by_column[name]]
    if not unmatched:
        return []
    return [f"spellings were given for {listed(unmatched)}, which no column of words holds"]
