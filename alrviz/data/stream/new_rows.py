"""New rows in batches, read as a table was read before: `read_again` for files larger than memory."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from alrviz.data.apply_reading import NewRows, apply_features, check_tallies, features_of, raw_again
from alrviz.data.column_names import clean_names
from alrviz.data.interpret import RawTable
from alrviz.data.options import ReadOptions
from alrviz.data.reading import Reading, Tally
from alrviz.data.stream.source import Source, format_of, head_of, open_source
from alrviz.stop import NEVER, StopToken

LARGE = 2**21  # bytes of a file from which on it is read in batches


def open_large(path: Path, reading: Reading, said: ReadOptions, notes: list[str]) -> Source | None:
    """Return a file that is large, laid out as the table was, or else as it is found to be, which is added to `notes`;
    None where it is small, or has to be read whole: a workbook, JSON, lines of comments or behind the table.
    """
    if path.stat().st_size < LARGE or (kind := format_of(path)) is None:
        return None
    if kind != "delimited":
        return open_source(path, said)
    options = raw_again(head_of(path), reading, said, notes).options
    footer = options.skip_footer or reading.layout.get("skip_footer")
    return None if options.comment or footer else open_source(path, options)


def read_batches_again(
    source: Source, reading: Reading, said: ReadOptions, notes: list[str], stop: StopToken = NEVER
) -> Iterator[NewRows]:
    """Yield the rows of a file, batch after batch; sentences are added to `notes`, the last at the end.

    Raises:
        TableError: a column that is not there, at the end one of which no value can be read; a damaged file.
    """
    features, tallies = None, dict[str, Tally]()
    for batch in source.batches(stop, notes=notes):
        names, _ = clean_names(list(batch.columns))
        columns = [replace(column, name=name) for name, column in zip(names, batch.columns.values(), strict=True)]
        features = features or features_of(RawTable(columns, source.options), reading, said, notes)
        yield apply_features(columns, reading, features, tallies, stop)
    check_tallies(tallies)
    notes += [tally.note(name) for name, tally in tallies.items() if tally.bad]
