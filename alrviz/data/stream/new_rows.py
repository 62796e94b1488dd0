"""Read new rows in batches by the spec of a table: `read_new_rows` for files larger than memory."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from alrviz.data.apply_spec import NewRows, apply_features, match_columns, read_in_layout
from alrviz.data.options import MIXED, ReadOptions
from alrviz.data.parse_cells import Counts, check_counts, count_notes
from alrviz.data.parse_spec import ParseSpec
from alrviz.data.parse_values import clean_names
from alrviz.data.stream.source import FORMATS, Source, format_of, head_of, open_source
from alrviz.data.text import RawTable, ReadRequest
from alrviz.errors import NOT_IN_BATCHES, TableError
from alrviz.stop import NEVER, StopToken

MIN_LARGE_BYTES = 2**21  # size of a file from which it is read in batches


def open_large(path: Path, spec: ParseSpec, options: ReadOptions, notes: list[str]) -> Source | None:
    """Return a large file as a source, in the spec's layout or, with a note, in the detected one.

    None for a small file, and for one that must be read whole: a workbook, JSON, a long form, text with comments, a
    footer, stray bytes, columns of fixed width or tables under one another.
    """
    fills_down = options.fills_down or any(
        column.fill_down and options.for_column(column.source).fill_down is not False for column in spec.columns
    )
    if fills_down or spec.layout.long_form or options.long_form:
        return None
    if path.stat().st_size < MIN_LARGE_BYTES or (kind := format_of(path)) not in FORMATS:
        return None
    if kind != "delimited":
        return open_source(path, options)
    raw = read_in_layout(head_of(path), spec, ReadRequest(replace(options, skip_footer=0)))
    footer = spec.layout.skip_footer if options.skip_footer is None else options.skip_footer
    if raw.options.encoding == MIXED and options.encoding is None:
        return None
    try:
        source = open_source(path, replace(raw.options, skip_footer=footer))
    except TableError as error:
        if error.code != NOT_IN_BATCHES:
            raise
        return None
    notes += raw.notes
    return source


def read_batches_again(
    source: Source, spec: ParseSpec, options: ReadOptions, notes: list[str], stop: StopToken = NEVER
) -> Iterator[NewRows]:
    """Yield the rows of a file batch by batch; sentences are added to `notes`, the last ones at the end.

    Raises `TableError` for a missing column, a damaged file, or at the end a column without any readable value.
    """
    features, counts = None, Counts()
    for batch in source.batches(stop, notes=notes):
        names, _ = clean_names(list(batch.columns))
        columns = [replace(column, name=name) for name, column in zip(names, batch.columns.values(), strict=True)]
        features = features or match_columns(RawTable(columns, source.options), spec, options, notes)
        yield apply_features(columns, features, counts, stop)
    check_counts(counts)
    notes += count_notes(counts)
