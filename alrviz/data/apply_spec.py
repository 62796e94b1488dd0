"""Read rows by the spec of a table that was read before (`Dataset.spec`): nothing is guessed.

A value that does not fit its column's spec (a date in another order, an unknown unit, a word among numbers) is missing,
and counted by column.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from alrviz.data.apply_layout import apply_layout
from alrviz.data.interpret import Values, text_of
from alrviz.data.limits import NO_LIMITS, Limits
from alrviz.data.numbers import are_whole, detect_convention
from alrviz.data.options import ReadOptions
from alrviz.data.other_sources import are_files, is_taken, named_rows
from alrviz.data.parse_spec import (
    ColumnSpec,
    Counts,
    ParsedValues,
    ParseErrorCounts,
    ParseSpec,
    add_counts,
    check_counts,
)
from alrviz.data.parse_values import DATE_PARTS, number_text
from alrviz.data.raw import LAID_OUT, raw_of_bytes, read_raw
from alrviz.data.source import load_bytes, sniff_format
from alrviz.data.text import RawTable, TextColumn
from alrviz.errors import listed, plural, short
from alrviz.stop import NEVER, StopToken


@dataclass(frozen=True, eq=False)
class NewRows:
    """Rows read by a spec.

    Attributes:
        X: the features, as `Dataset.X` has them.
        given: all columns as the source has them.
        unread: by row, the values that could not be read and are missing: "age=abc (not a number)".
        notes: sentences: differences from the table of the spec, values that could not be read by column.
    """

    X: pd.DataFrame
    given: pd.DataFrame
    unread: dict[int, list[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def read_new_rows(
    source: Any,
    spec: ParseSpec,
    *,
    options: ReadOptions | None = None,
    limits: Limits = NO_LIMITS,
    stop: StopToken = NEVER,
) -> NewRows:
    """Read the features of new rows by a spec.

    Args:
        source: a table as `read_table` takes it, or one row as a dict.
        options: for this source alone, in place of those of `spec`.

    Raises:
        TableError: a column that is not there, by its name in the source; one of which no value can be read; no rows.
    """
    options, spec = options or ReadOptions(), replace(spec, columns=spec.features)
    source = named_rows(source, spec.sources)
    counts: Counts = {}
    parts = []
    for part in source if are_files(source) else [source]:
        notes: list[str] = []
        raw = read_as_before(part, spec, options, limits, stop, notes)
        columns = match_columns(raw, spec, options, notes)
        part_counts: Counts = {}
        rows = apply_features(raw.columns, spec, columns, part_counts, stop)
        notes += [count.note(name) for name, count in part_counts.items() if count.bad]
        add_counts(counts, part_counts)
        parts.append(replace(rows, notes=tuple(notes)))
    check_counts(counts)
    return parts[0] if len(parts) == 1 else _joined(parts)


def read_by_spec(source: Any, spec: ParseSpec, options: ReadOptions, limits: Limits, stop: StopToken) -> RawTable:
    """Return all columns of `spec` as `Values`; other columns of the source are left out, with a note.

    Raises:
        TableError: a column that is not there, or of which no value can be read.
    """
    notes: list[str] = []
    raw = read_as_before(source, spec, options, limits, stop, notes)
    columns = {column.name: column for column in raw.columns}
    specs = match_columns(raw, spec, options, notes)
    values, counts = list[Values](), Counts()
    for column in specs:
        stop.check()
        series, bad = series_of(columns[column.source], column)
        values.append(Values(column.name, series, made=bool(column.part), spec=column))
        if not column.part:
            example = _record_unread(columns[column.source], column, bad, {}) if bad.any() else ""
            counts[column.source] = ParseErrorCounts.of(column, example, (series.to_numpy(), bad))
    check_counts(counts)
    notes += [count.note(name) for name, count in counts.items() if count.bad]
    if others := [name for name in columns if name not in spec.sources]:
        columns_text = plural(len(others), "column is", "columns are")
        notes.append(f"{columns_text} not in the spec and left out: {listed(others)}")
    return replace(raw, columns=values, notes=notes, kinds={})


def match_columns(raw: RawTable, spec: ParseSpec, options: ReadOptions, notes: list[str]) -> list[ColumnSpec]:
    """Return the specs for these columns, with marks of numbers where `spec` has none; `notes` get those detected.

    Raises:
        TableError: a column that is not there.
    """
    columns = {column.name: column for column in raw.columns}
    return _with_marks(spec.for_columns(columns, options), columns, raw.options, options, notes)


def apply_features(
    given: Sequence[Any], spec: ParseSpec, features: Sequence[ColumnSpec], counts: Counts, stop: StopToken = NEVER
) -> NewRows:
    """Return the features of some columns' rows; values that could be read and that could not are added to `counts`."""
    columns = {column.name: column for column in given}
    values_by_name: dict[str, pd.Series] = {}
    unread: dict[int, list[str]] = {}
    part_counts: Counts = {}
    for name, feature in zip((each.name for each in spec.columns), features, strict=True):
        stop.check()
        values, bad = parsed = values_of(columns[feature.source], feature)
        values_by_name[name] = pd.Series(values, dtype=np.float64 if feature.kind == "numeric" else object)
        if feature.source not in part_counts:  # a date is made into several features
            example = _record_unread(columns[feature.source], feature, bad, unread) if bad.any() else ""
            part_counts[feature.source] = ParseErrorCounts.of(feature, example, parsed)
    add_counts(counts, part_counts)
    rows = pd.DataFrame({name: _as_given(column) for name, column in columns.items()})
    return NewRows(pd.DataFrame(values_by_name, index=rows.index), rows, unread)


def _joined(parts: Sequence[NewRows]) -> NewRows:
    unread, rows = dict[int, list[str]](), 0
    for part in parts:
        unread |= {row + rows: values for row, values in part.unread.items()}
        rows += len(part.X)
    X, given = (pd.concat(frames, ignore_index=True) for frames in zip(*((p.X, p.given) for p in parts), strict=True))
    return NewRows(X, given, unread, tuple(note for part in parts for note in part.notes))


def read_as_before(
    source: Any, spec: ParseSpec, options: ReadOptions, limits: Limits, stop: StopToken, notes: list[str]
) -> RawTable:
    """Return the columns of a source in the spec's layout; if that does not fit, in the layout that is detected."""
    given = ReadOptions(**spec.layout.given).with_change(options.given)
    if is_taken(source):
        return read_raw(source, given, limits, stop, notes)
    data = load_bytes(source, limits, stop, notes, given.sheet)
    if sniff_format(data) not in LAID_OUT:
        return raw_of_bytes(data, given, limits, stop)
    return apply_layout(data, spec, options, lambda tried, known: raw_of_bytes(data, tried, limits, stop, known), notes)


def _with_marks(
    specs: Sequence[ColumnSpec],
    columns: Mapping[str, Any],
    in_force: ReadOptions,
    options: ReadOptions,
    notes: list[str],
) -> list[ColumnSpec]:
    """Return specs with detected marks of numbers where the table's own numbers were no text."""
    bare = [each for each in specs if each.type == "number" and not each.decimal
            and isinstance(columns[each.source], TextColumn)]  # fmt: skip
    if not bare:
        return list(specs)
    texts = [columns[each.source].without(each.missing) for each in bare]
    decimal, thousands = detect_convention(
        texts, replace(in_force, decimal=options.decimal, thousands=options.thousands)
    )
    if (decimal, thousands) != (".", ""):
        convention = f"a decimal {decimal!r}" + (f" and {thousands!r} between thousands" if thousands else "")
        notes.append(f"numbers in {listed([each.name for each in bare])} were read with {convention}")
    return [replace(each, decimal=decimal, thousands=thousands) if each in bare else each for each in specs]


def values_of(column: TextColumn | Values, spec: ColumnSpec) -> ParsedValues:
    """Return the value of each row (N,), and which rows cannot be read."""
    if isinstance(column, Values):
        kind = column.series.dtype.kind if isinstance(column.series.dtype, np.dtype) else "O"
        if kind in "if":
            return spec.take_numbers(column.series.to_numpy(dtype=np.float64))
        if kind == "M" and spec.type == "date":
            dates = column.series.to_numpy(dtype="datetime64[us]")
            return spec.take_dates(dates), np.zeros(len(dates), dtype=bool)
        column = as_text(column)
    return spec.parse_cells(column.levels, column.codes, column.typed)


def series_of(column: TextColumn | Values, spec: ColumnSpec) -> tuple[pd.Series, np.ndarray]:
    """Return a column as `Dataset.frame` has it, whatever its kind, and which rows (N,) cannot be read."""
    labels = DATE_PARTS.get(spec.part, ())
    numeric = spec.type in ("number", "time") or (spec.type == "date" and bool(spec.part) and not labels)
    spec = replace(spec, kind="numeric" if numeric else "categorical")
    if spec.type == "levels":
        text = as_text(column).filled_down if spec.fill_down else as_text(column)
        levels, _ = spec.parse_texts(text.levels)
        encoded = pa.array(levels, type=pa.string()).dictionary_encode()
        places = np.append(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), -1).astype(np.int32)
        series = TextColumn.of(spec.name, places[text.codes], encoded.dictionary).categorical()
        return _in_order(series, spec.order), np.zeros(len(series), dtype=bool)
    values, bad = values_of(column, spec)
    if labels:
        return _in_order(pd.Series(pd.Categorical(values), name=spec.name), labels), bad
    if numeric and not np.isnan(values).any() and are_whole(values):
        values = values.astype(np.int64)
    return pd.Series(values, name=spec.name), bad


def _in_order(series: pd.Series, order: Sequence[str]) -> pd.Series:
    """Return a categorical with its levels in this order, further levels behind them."""
    if not order:
        return series
    levels = set(series.cat.categories)
    first = [level for level in order if level in levels]
    return series.cat.set_categories([*first, *(level for level in series.cat.categories if level not in first)])


def as_text(column: TextColumn | Values) -> TextColumn:
    """Return a column as text, whatever its type in the source."""
    if isinstance(column, TextColumn):
        return column
    if isinstance(column.series.dtype, np.dtype) and column.series.dtype.kind in "if":
        coded = pa.array(column.series.to_numpy() + 0, from_pandas=True).dictionary_encode()  # + 0: of -0.0 too 0.0
        numbers = [number_text(number) for number in coded.dictionary.to_numpy()]
        codes = coded.indices.fill_null(-1).to_numpy().astype(np.int32)
        return TextColumn.of(column.name, codes, pa.array(numbers, type=pa.string()))
    if isinstance(column.series.dtype, pd.CategoricalDtype):
        text = text_of(column.series)
        return replace(text, typed=text.codes >= 0) if column.numbered else text
    texts = [None if gap else str(v) for v, gap in zip(column.series, column.series.isna(), strict=True)]
    return TextColumn.from_values(column.name, texts)


def _as_given(column: TextColumn | Values) -> pd.Series:
    """Return a column as its source has it."""
    if isinstance(column, Values):
        return column.series
    return pd.Series(np.array([*column.levels.to_pylist(), None], dtype=object)[column.codes], dtype=object)


def _record_unread(column: TextColumn | Values, spec: ColumnSpec, bad: np.ndarray, unread: dict[int, list[str]]) -> str:
    """Add the values of rows that cannot be read to `unread`; return up to three of them for a sentence."""
    text = as_text(column)
    rows, levels = np.flatnonzero(bad), text.levels.to_pylist()
    for row in rows.tolist():
        unread.setdefault(row, []).append(f"{spec.source}={levels[text.codes[row]]} (not {spec.expected})")
    return ", ".join(list(dict.fromkeys(short(levels[code]) for code in text.codes[rows[:1000]].tolist()))[:3])
