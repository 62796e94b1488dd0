"""Read rows by the spec of a table that was read before (`Dataset.spec`): nothing is guessed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from alrviz.data.apply_layout import apply_layout
from alrviz.data.limits import NO_LIMITS, Limits
from alrviz.data.numbers import detect_convention
from alrviz.data.options import ReadOptions
from alrviz.data.other_sources import are_files, is_taken, named_rows
from alrviz.data.parse_cells import Counts, ParseErrorCounts, add_counts, check_counts, count_notes, parse_features
from alrviz.data.parse_spec import ColumnSpec, ParseSpec
from alrviz.data.raw import LAID_OUT, raw_of_bytes, read_raw
from alrviz.data.source import load_bytes, sniff_format
from alrviz.data.text import RawTable, TextColumn
from alrviz.data.values import Values, read_column, source_cells
from alrviz.errors import listed, plural
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
        features = match_columns(raw, spec, options, notes)
        part_counts: Counts = {}
        rows = apply_features(raw.columns, features, part_counts, stop)
        notes += count_notes(part_counts)
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
    for column_spec in specs:
        stop.check()
        column = columns[column_spec.source]
        read, bad = read_column(column, column_spec)
        # Numbers that the spec's table has as categories are the categories, not their texts.
        values.append(replace(read, texts=None) if column_spec.kind == "categorical" else read)
        if not column_spec.part:
            parsed = read.series.to_numpy(), bad
            counts[column.name] = ParseErrorCounts.count_rows(source_cells(column), column_spec, parsed, {})
    check_counts(counts)
    notes += count_notes(counts)
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
    columns: Sequence[TextColumn | Values], features: Sequence[ColumnSpec], counts: Counts, stop: StopToken = NEVER
) -> NewRows:
    """Return the features of some columns' rows; values that could be read and that could not are added to `counts`."""
    sources = {feature.source for feature in features}
    cells = {column.name: source_cells(column) for column in columns if column.name in sources}
    values, unread = parse_features(cells, features, counts, stop)
    rows = pd.DataFrame({column.name: _as_given(column) for column in columns})
    X = {
        feature.name: pd.Series(numbers, dtype=np.float64 if feature.kind == "numeric" else object)
        for feature, numbers in zip(features, values, strict=True)
    }
    return NewRows(pd.DataFrame(X, index=rows.index), rows, unread)


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
    unmarked = [
        spec
        for spec in specs
        if spec.type == "number" and not spec.decimal and isinstance(columns[spec.source], TextColumn)
    ]
    if not unmarked:
        return list(specs)
    texts = [columns[spec.source].without_texts(spec.missing) for spec in unmarked]
    decimal, thousands = detect_convention(
        texts, replace(in_force, decimal=options.decimal, thousands=options.thousands)
    )
    if (decimal, thousands) != (".", ""):
        convention = f"a decimal {decimal!r}" + (f" and {thousands!r} between thousands" if thousands else "")
        notes.append(f"numbers in {listed([spec.name for spec in unmarked])} were read with {convention}")
    return [replace(spec, decimal=decimal, thousands=thousands) if spec in unmarked else spec for spec in specs]


def _as_given(column: TextColumn | Values) -> pd.Series:
    """Return a column as its source has it."""
    if isinstance(column, Values):
        return column.series
    return pd.Series(np.array([*column.levels.to_pylist(), None], dtype=object)[column.codes], dtype=object)
