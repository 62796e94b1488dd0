"""Read rows by the spec of a table that was read before (`Dataset.spec`): nothing is guessed."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from alrviz.data.apply_layout import apply_layout
from alrviz.data.doubts import prefixed
from alrviz.data.limits import NO_LIMITS, Limits
from alrviz.data.long_form import pivot
from alrviz.data.numbers import detect_convention
from alrviz.data.options import ReadOptions
from alrviz.data.parse_cells import Counts, ParseErrorCounts, check_counts, count_notes, parse_features
from alrviz.data.parse_spec import ColumnSpec, ParseSpec
from alrviz.data.raw import (
    are_files,
    file_prefix,
    is_folder,
    is_in_memory,
    join_files,
    named_rows,
    read_bytes,
    read_raw,
)
from alrviz.data.source import load_bytes, sniff_format
from alrviz.data.text import RawTable, ReadRequest, TextColumn
from alrviz.data.values import Values, read_column, source_cells
from alrviz.errors import TableError, TableFileError, listed, plural
from alrviz.stop import NEVER, StopToken


@dataclass(frozen=True, eq=False)
class NewRows:
    """Rows read by a spec.

    Attributes:
        X: the features, in the form of `Dataset.X`.
        source_rows: all columns, with the values of the source.
        unread: by row, unreadable values, which are missing in X: "age=abc (not a number)".
        notes: sentences on differences from the spec's table, and on unreadable values of each column.
    """

    X: pd.DataFrame
    source_rows: pd.DataFrame
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
        source: a table that `read_table` accepts, or one row as a dict.
        options: for this source alone, in place of those of `spec`.

    Raises:
        TableError: a missing column, a column without any readable value, or no rows.
    """
    request, spec = ReadRequest(options or ReadOptions(), limits, stop), replace(spec, columns=spec.features)
    source, counts = named_rows(source, spec.sources), Counts()
    read = _read_files if are_files(source) and len(source) > 1 else _read_table
    rows = read(source, spec, request, counts)
    check_counts(counts)
    return replace(rows, notes=(*rows.notes, *count_notes(counts)))


def _read_table(source: Any, spec: ParseSpec, request: ReadRequest, counts: Counts) -> NewRows:
    """Return the features of one table; the numbers of readable and unreadable values are added to `counts`."""
    raw = read_in_layout(source, spec, request)
    notes = list(raw.notes)
    features = match_columns(raw, spec, request.options, notes)
    return replace(apply_features(raw.columns, features, counts, request.stop), notes=tuple(notes))


def _read_files(paths: Sequence[Any], spec: ParseSpec, request: ReadRequest, counts: Counts) -> NewRows:
    """Return the rows of several files as one table, as `_read_table` does; notes and errors name the file.

    Files are parsed one by one: they need only the spec's columns in common, and some may be typed and others text.
    Any other column is missing in the rows of a file that lacks it.
    """
    tables, notes, unread, n_rows = list[NewRows](), list[str](), dict[int, list[str]](), 0
    for path in paths:
        prefix = file_prefix(path)
        try:
            table = _read_table(path, spec, request, counts)
        except TableFileError:  # names the path
            raise
        except TableError as error:
            raise TableError(f"{prefix}{error}", code=error.code) from error
        tables.append(table)
        notes += [prefixed(note, prefix) for note in table.notes]
        unread |= {row + n_rows: values for row, values in table.unread.items()}
        n_rows += len(table.X)
    X = pd.concat([table.X for table in tables], ignore_index=True)
    return NewRows(X, pd.concat([table.source_rows for table in tables], ignore_index=True), unread, tuple(notes))


def read_by_spec(source: Any, spec: ParseSpec, request: ReadRequest) -> RawTable:
    """Return all columns of `spec` as `Values`, without other columns of the source, on which there is a note.

    Raises `TableError` for a missing column, or one that is used and has no readable value.
    """
    raw = read_in_layout(source, spec, request)
    notes, columns = list(raw.notes), {column.name: column for column in raw.columns}
    specs = match_columns(raw, spec, request.options, notes)
    typed_columns, counts = list[Values](), Counts()
    for column_spec in specs:
        request.stop.check()
        column = columns[column_spec.source]
        column = column.filled_cells if column_spec.fill_down else column
        typed_column, is_unreadable = read_column(column, column_spec)
        # Levels that are numbers in the spec's table are compared as numbers: 1.10 is 1.1, whatever its text.
        typed_columns.append(replace(typed_column, texts=None) if column_spec.kind == "categorical" else typed_column)
        if not column_spec.part:
            parsed = typed_column.series.to_numpy(), is_unreadable
            counts[column.name] = ParseErrorCounts.count_rows(source_cells(column), column_spec, parsed, {})
    used_columns = {column.source for column in specs if column.kind != "ignore"}
    check_counts({name: count for name, count in counts.items() if name in used_columns}, "the spec's table")
    notes += count_notes(counts)
    if extra_names := [name for name in columns if name not in spec.sources]:
        columns_text = plural(len(extra_names), "column is", "columns are")
        notes.append(f"{columns_text} not in the spec and left out: {listed(extra_names)}")
    return replace(raw, columns=typed_columns, notes=notes, kinds={})


def match_columns(raw: RawTable, spec: ParseSpec, options: ReadOptions, notes: list[str]) -> list[ColumnSpec]:
    """Return the specs for these columns; `TableError` for a missing one.

    Marks of numbers are detected, with a note, if the spec's table had typed numbers and this one has text.
    """
    columns = {column.name: column for column in raw.columns}
    notes += options.notes_on_columns(columns)
    specs = spec.for_columns(columns, options)
    unmarked = [
        spec
        for spec in specs
        if spec.type == "number" and not spec.decimal and isinstance(columns[spec.source], TextColumn)
    ]
    if not unmarked:
        return specs
    texts = [columns[spec.source].without_texts(spec.missing) for spec in unmarked]
    given_marks = replace(raw.options, decimal=options.decimal, thousands=options.thousands)
    decimal, thousands = detect_convention(texts, given_marks)
    if (decimal, thousands) != (".", ""):
        convention = f"a decimal {decimal!r}" + (f" and {thousands!r} between thousands" if thousands else "")
        notes.append(f"numbers in {listed([spec.name for spec in unmarked])} were read with {convention}")
    return [replace(spec, decimal=decimal, thousands=thousands) if spec in unmarked else spec for spec in specs]


def apply_features(
    columns: Sequence[TextColumn | Values], features: Sequence[ColumnSpec], counts: Counts, stop: StopToken = NEVER
) -> NewRows:
    """Return the features of columns; the numbers of readable and unreadable values are added to `counts`."""
    sources = {feature.source for feature in features}
    cells_by_source = {column.name: source_cells(column) for column in columns if column.name in sources}
    values, unread = parse_features(cells_by_source, features, counts, stop)
    rows = pd.DataFrame({column.name: _source_series(column) for column in columns})
    X = {
        feature.name: pd.Series(numbers, dtype=np.float64 if feature.kind == "numeric" else object)
        for feature, numbers in zip(features, values, strict=True)
    }
    return NewRows(pd.DataFrame(X, index=rows.index), rows, unread)


def read_in_layout(source: Any, spec: ParseSpec, request: ReadRequest) -> RawTable:
    """Return the columns of a source in the spec's layout; if that does not fit, in the detected layout.

    Notes are those on the rows of files and on a different layout.
    """
    if are_files(source):
        return join_files(source, [read_in_layout(path, spec, request) for path in source], request.options)
    options = spec.layout.joined_options(request.options)
    request_of_spec = replace(request, options=options, known_layout=spec.layout)
    if is_in_memory(source) or is_folder(source):
        return replace(read_raw(source, request_of_spec), notes=[])
    data, notes = load_bytes(source, request_of_spec)
    if sniff_format(data) in ("delimited", "workbook"):
        raw = apply_layout(data, spec, request, read_bytes)
        return replace(raw, notes=[*notes, *raw.notes])
    return replace(pivot(read_bytes(data, request_of_spec), request_of_spec), notes=notes)


def _source_series(column: TextColumn | Values) -> pd.Series:
    """Return a column with the values of its source."""
    if isinstance(column, Values):
        return column.series
    return pd.Series(np.array([*column.levels.to_pylist(), None], dtype=object)[column.codes], dtype=object)
