"""Read the files of one table in batches of rows: Parquet, Arrow and delimited text, which may be compressed.

    source = open_source("part-*.parquet")
    for batch in source.batches():      # columns of text or typed values, not yet interpreted

Every pass checks by size and modification time that the files have not changed since they were opened. Batches are in
the order of the files' names, and rows are numbered through all files.
"""

import glob
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from alrviz.data.delimited import last_rows, read_delimited
from alrviz.data.doubts import NoteCode, notes_about, prefixed
from alrviz.data.find_table import omitted_rows_note
from alrviz.data.frames import column_of_arrow, is_text
from alrviz.data.layout import MAX_TITLE_LINES, count_footer
from alrviz.data.options import MIXED, ReadOptions
from alrviz.data.quotes import TAIL_BYTES, RepairedStream, quotes_note
from alrviz.data.records import UnevenRows, record_batches
from alrviz.data.source import DAMAGES, FORMAT_NAMES, PACKERS, default_name, first_lines, sniff_format
from alrviz.data.text import ReadRequest, TextColumn
from alrviz.data.values import Values
from alrviz.errors import NOT_IN_BATCHES, MissingFileError, TableError, TableFileError, listed, nearest
from alrviz.stop import NEVER, StopToken

BATCH_ROWS = 2**17  # rows of a Parquet batch
BLOCK_BYTES = 2**23  # bytes of delimited text parsed at a time
HEAD_BYTES = 2**20  # from which the layout of delimited text is detected
STACKED = "repeats the names: tables under one another are not joined in batches; read_table, which reads whole, does"
PARTED = (
    "repeated names, totals amid its rows or another table beside them: these are not found in batches; read_table, "
    "which reads whole, finds them"
)
_READ_ERRORS = (pa.ArrowException, UnicodeError, *DAMAGES)
Column = TextColumn | Values


@dataclass(frozen=True)
class Batch:
    """Rows of one file: its path, the number of the first row in the whole table, from 0, and the columns."""

    path: Path
    first: int
    n_rows: int  # of all, sampled or not
    columns: dict[str, Column]


@dataclass(frozen=True)
class Source:
    """The files of one table.

    Attributes:
        paths: in the order of their rows.
        format: "parquet", "arrow" or "delimited".
        names: of the columns.
        options: the user's options, with the detected layout of delimited text.
        types: of the columns, as the files declare them; text in delimited text.
        head: the unchanged cells of the row of names, () if the format has types.
        stamps: size and modification time of each file when it was opened.
        stated_kinds: the kinds that the first file states beside its names.
    """

    paths: tuple[Path, ...]
    format: str
    names: tuple[str, ...]
    types: tuple[pa.DataType, ...]
    options: ReadOptions
    head: tuple[str, ...] = ()
    stamps: tuple[tuple[int, int], ...] = field(default=())
    stated_kinds: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The table's name: that of its file, or of the folder of several."""
        return default_name(self.paths[0] if len(self.paths) == 1 else self.paths[0].resolve().parent)

    @property
    def identity(self) -> list[Any]:
        """Path, size and modification time of each file, as JSON values: equal only for the same, unchanged files."""
        return [[os.fspath(path.resolve()), *stamp] for path, stamp in zip(self.paths, self.stamps, strict=True)]

    def batches(
        self,
        stop: StopToken = NEVER,
        sample_rows: Callable[[int, int], NDArray[np.intp]] | None = None,
        notes: list[str] | None = None,
    ) -> Iterator[Batch]:
        """Yield all rows, batch by batch.

        `sample_rows` selects the rows (m,) of a batch that are read, given the number of its first row and the number
        of its rows; None reads all. Notes on repaired lines are added to `notes`.

        Raises:
            TableError: a file is damaged, cut short, or has other columns than the first.
            TableFileError: a file has changed since it was opened.
        """
        first_row, notes = 0, [] if notes is None else notes
        for path, stamp in zip(self.paths, self.stamps, strict=True):
            _require_unchanged(path, stamp)
            with _file_named(path):
                for batch in FORMATS[self.format][1](path, self, stop, notes):
                    stop.check()
                    sampled = (
                        batch if sample_rows is None else batch.take(pa.array(sample_rows(first_row, batch.num_rows)))
                    )
                    columns = {
                        name: column_of_arrow(name, pa.chunked_array([column]), declared, [])
                        for name, column, declared in zip(self.names, sampled.columns, self.types, strict=True)
                    }
                    yield Batch(path, first_row, batch.num_rows, columns)
                    first_row += batch.num_rows
            _require_unchanged(path, stamp)


def open_source(paths: Any, options: ReadOptions | None = None, expected_names: Collection[str] = ()) -> Source:
    """Return the files of a path, a folder, a pattern such as "part-*.csv.gz", or a list of them.

    `expected_names` are known column names, which help to recognise a row of names.

    Raises:
        MissingFileError: no such file.
        TableError: files of different formats or columns, a format that is not read in batches, no file.
    """
    files = tuple(_files(paths))
    options, first_file = options or ReadOptions(), files[0]
    requested: dict[str, Any] = {name: getattr(options, name) for name in ("skip_footer", "sheet", "long_form")}
    requested["fill_down"] = options.fills_down
    for name, value in requested.items():
        if value:
            raise TableError(
                f"{name}={value!r} is not available for a table read in batches; edit the file first, or read it "
                "whole with read_table",
                code=NOT_IN_BATCHES,
            )
    formats = {path: format_of(path) for path in files}
    if unreadable := next((path for path in files if formats[path] not in FORMATS), None):
        file_format = formats[unreadable]
        raise TableError(
            f"{unreadable.name!r} is {FORMAT_NAMES.get(file_format, file_format)}, which is not read in batches; "
            "Parquet, Arrow or delimited text was expected, or read_table, which reads it whole",
            code=NOT_IN_BATCHES,
        )
    if odd_file := next((path for path in files if formats[path] != formats[first_file]), None):
        raise TableError(
            f"{first_file.name!r} is {formats[first_file]} and {odd_file.name!r} is {formats[odd_file]}; files of one "
            "format were expected"
        )
    layout = FORMATS[formats[first_file]][0]
    with _file_named(first_file):
        first_layout = layout(first_file, options, expected_names)
    for path in files[1:]:
        with _file_named(path):
            other_layout = layout(path, first_layout.options, expected_names)
        if other_layout.schema != first_layout.schema:
            raise TableError(_other_columns(path, other_layout.schema, first_file, first_layout.schema))
    names, types = zip(*first_layout.schema, strict=True)
    return Source(
        files,
        formats[first_file],
        names,
        types,
        first_layout.options,
        first_layout.head,
        tuple(map(_stamp, files)),
        first_layout.kinds,
    )


def _files(paths: Any) -> Iterator[Path]:
    """Yield the files of paths, folders and patterns, sorted within a folder or a pattern."""
    sources = [paths] if isinstance(paths, str | os.PathLike) else paths
    is_list = isinstance(sources, list | tuple) and bool(sources)
    if not is_list or not all(isinstance(source, str | os.PathLike) for source in sources):
        description = "an empty list" if isinstance(sources, list | tuple) and not sources else type(paths).__name__
        raise TableError(
            f"a table cannot be opened from {description}; a path, a folder, a pattern or a list of them was expected "
            "(read_table takes what is in memory)"
        )
    for source in sources:
        path = Path(source).expanduser()
        if path.is_dir():
            folder_files = sorted(
                file for file in path.iterdir() if file.is_file() and not file.name.startswith((".", "_"))
            )
            if not folder_files:
                raise TableError(f"the folder {os.fspath(path)!r} holds no file; files of one table were expected")
            yield from folder_files
        elif path.exists():
            yield path
        else:
            matched = sorted(glob.glob(os.fspath(path), recursive=True))
            if not matched:
                near = nearest(path.name, os.listdir(path.parent)) if path.parent.is_dir() else ""
                raise MissingFileError(f"no file {os.fspath(source)!r}{near}")
            yield from filter(Path.is_file, map(Path, matched))


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _require_unchanged(path: Path, stamp: tuple[int, int]) -> None:
    """Raise `TableFileError` if a file is not as it was opened; stamp: its bytes and time of change."""
    try:
        new_stamp = _stamp(path)
    except OSError as error:
        raise TableFileError(
            f"{path.name!r} is gone since it was opened ({error.strerror}); open the table anew"
        ) from error
    if new_stamp != stamp:
        raise TableFileError(
            f"{path.name!r} has changed since it was opened ({stamp[0]:,} bytes then, {new_stamp[0]:,} now); open the "
            "table again, as the model so far is of other rows"
        )


def _other_columns(path: Path, schema: "_Schema", first_path: Path, first_schema: "_Schema") -> str:
    """Return the error's text on a file whose columns differ from those of the first file."""
    types, new_types = dict(first_schema), dict(schema)
    missing = [name for name in types if name not in new_types]
    surplus = [name for name in new_types if name not in types]
    changed_names = [name for name in types if name in new_types and new_types[name] != types[name]]
    differences = [f"without {listed(missing)}"] * bool(missing) + [f"with {listed(surplus)} besides"] * bool(surplus)
    differences += [f"{name!r} is {new_types[name]}, not {types[name]}" for name in changed_names]
    text = " and ".join(differences) or "in another order"
    return (
        f"{path.name!r} has other columns than {first_path.name!r}: {text}; files "
        "of one table have the same columns in the same order"
    )


@contextmanager
def _file_named(path: Path) -> Iterator[None]:
    """Add the file's name to errors, and raise `TableError` for errors of pyarrow and of compression."""
    try:
        yield
    except TableError as error:
        if path.name in str(error):
            raise
        named_error = type(error)(f"{path.name!r}: {error}")
        named_error.code = error.code
        raise named_error from error
    except MemoryError:
        raise
    except FileNotFoundError as error:
        raise MissingFileError(f"no file {os.fspath(path)!r}") from error
    except _READ_ERRORS as error:
        if "UTF8" in str(error) or isinstance(error, UnicodeError):
            raise TableError(
                f"{path.name!r} is not UTF-8 throughout ({error}); say its encoding, such as "
                f"ReadOptions(encoding='cp1252'), or --encoding cp1252 ({MIXED} where a few lines alone are not)"
            ) from error
        raise TableError(f"{path.name!r} is damaged or cut short: {error}; fetch it again") from error


# ---- formats ---------------------------------------------------------------------------------------------------------


@contextmanager
def _unpacked(path: Path) -> Iterator[Any]:
    """Open a file as a stream of its unpacked bytes."""
    with path.open("rb") as file:
        first_bytes = file.read(6)
        file.seek(0)
        opener = next((opener for magic, (_, opener) in PACKERS.items() if first_bytes.startswith(magic)), nullcontext)
        with opener(file) as stream:
            yield stream


def format_of(path: Path) -> str:
    """Return the format of a file, decompressed."""
    with _file_named(path), _unpacked(path) as stream:
        return sniff_format(stream.read(HEAD_BYTES))


def head_of(path: Path) -> bytes:
    """Return the first complete lines of a text file, decompressed, at most `HEAD_BYTES`."""
    with _unpacked(path) as stream:
        return first_lines(bytes(stream.read(HEAD_BYTES + 1)), HEAD_BYTES)


_Schema = list[tuple[str, pa.DataType]]


@dataclass(frozen=True)
class _Layout:
    """The columns of a file, its options with the detected layout, the cells of its row of names, stated kinds."""

    schema: _Schema
    options: ReadOptions
    head: tuple[str, ...] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)


def _text_layout(path: Path, options: ReadOptions, expected_names: Collection[str]) -> _Layout:
    """Return the layout of a delimited text from its first lines."""
    request = ReadRequest(replace(options, skip_footer=0), expected_names=expected_names)
    raw = read_delimited(head_of(path), request)
    whole = "which are not looked for in batches; read the table whole with read_table"
    problems = {
        f"lines that are not UTF-8, which are not counted in batches; ReadOptions(encoding={MIXED!r}), or --encoding "
        f"{MIXED}, reads their bytes as cp1252": raw.options.encoding == MIXED and options.encoding is None,
        PARTED: raw.is_stacked,
        f"columns of fixed width, lines of dashes or printed pages, {whole}": bool(
            notes_about(raw.notes, {NoteCode.FIXED_WIDTH, NoteCode.PAGES})
        ),
        f"lines that begin with {raw.options.comment!r}, {whole}": bool(raw.options.comment),
    }
    if problem := next((text for text, has_problem in problems.items() if has_problem), ""):
        raise TableError(f"{path.name!r} has {problem}", code=NOT_IN_BATCHES)
    in_force = replace(raw.options, skip_footer=options.skip_footer)
    return _Layout([(column.name, pa.string()) for column in raw.columns], in_force, raw.head, raw.kinds)


def _text_batches(path: Path, source: Source, stop: StopToken, notes: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a delimited text without its footer; notes on repaired lines are added to `notes`."""
    options = source.options
    delimiter = options.delimiter or ","
    n_skipped = int(options.skip_rows or 0) + int(options.header if options.header is not None else 1)
    uneven = UnevenRows(len(source.names), delimiter, n_skipped)
    n_rows, pending = 0, list[pa.RecordBatch]()  # the last rows are held back, as they may be a footer
    with _unpacked(path) as stream:
        text = RepairedStream(stream, delimiter, options.encoding or "utf-8", stop)
        try:
            for batch in record_batches(text, uneven, BLOCK_BYTES):
                _require_no_names(batch, source, n_rows)
                n_rows += batch.num_rows
                pending.append(batch)
                while sum(later_batch.num_rows for later_batch in pending[1:]) >= MAX_TITLE_LINES:
                    yield pending.pop(0)
        except pa.ArrowInvalid as error:
            if not any(words in str(error) for words in ("Empty CSV", "Could not skip initial")):
                raise
            return  # only a row of names
    tail = (text.tail if len(text.tail) < TAIL_BYTES else text.tail.partition(b"\n")[2]).decode("utf-8", "replace")
    last_file_rows = last_rows(tail, delimiter)[0] if options.skip_footer is None else []
    n_footer = count_footer(last_file_rows, len(source.names))
    n_left = sum(batch.num_rows for batch in pending) - n_footer
    for batch in pending:
        if n_left > 0:
            yield batch.slice(0, n_left)
        n_left -= batch.num_rows
    n_rows -= n_footer
    uneven.rows = [row for row in uneven.rows if row.record < n_rows]
    remarks = uneven.check(n_rows, lambda record: f"row {record + 1:,}")
    if n_footer:
        remarks.append(omitted_rows_note(last_file_rows[-n_footer:]))
    if text.n_repaired:
        remarks.append(quotes_note(text.n_repaired))
    notes += [prefixed(remark, f"{path.name!r}: ") for remark in remarks]


def _require_no_names(batch: pa.RecordBatch, source: Source, n_before: int) -> None:
    """Raise `TableError` if a row repeats the names, as in tables under one another."""
    if not source.options.header or len(source.names) < 2:
        return
    is_names_row = np.ones(batch.num_rows, dtype=bool)
    for name, column in zip(source.names, batch.columns, strict=True):
        code_of_names = pc.index(column.dictionary, name).as_py()
        is_names_row &= column.indices.to_numpy(zero_copy_only=False) == code_of_names
        if code_of_names < 0 or not is_names_row.any():
            return
    raise TableError(f"row {n_before + int(is_names_row.argmax()) + 1:,} {STACKED}", code=NOT_IN_BATCHES)


def _parquet_batches(path: Path, source: Source, stop: StopToken, notes: list[str]) -> Iterator[pa.RecordBatch]:
    text = [name for name, declared in zip(source.names, source.types, strict=True) if is_text(declared)]
    with pq.ParquetFile(path, pre_buffer=False, read_dictionary=text) as file:
        yield from file.iter_batches(batch_size=BATCH_ROWS)


def _arrow_batches(path: Path, source: Source, stop: StopToken, notes: list[str]) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(os.fspath(path)) as mapped:
        file = pa.ipc.open_file(mapped)
        yield from (file.get_batch(i) for i in range(file.num_record_batches))


def _typed_layout(path: Path, options: ReadOptions, expected_names: Collection[str]) -> _Layout:
    """Return the layout of a Parquet or Arrow file, from its schema."""
    with pa.memory_map(os.fspath(path)) as mapped:
        is_arrow = mapped.read(6) == b"ARROW1"
        schema = pa.ipc.open_file(mapped).schema if is_arrow else pq.read_schema(path)
    if duplicates := [name for name in schema.names if schema.names.count(name) > 1]:
        raise TableError(f"two columns are called {duplicates[0]!r}; names that differ were expected")
    return _Layout([(column.name, column.type) for column in schema], options)


# For each format the functions that detect the layout of a file and read its rows.
_FindLayout = Callable[[Path, ReadOptions, Collection[str]], _Layout]
FORMATS: dict[str, tuple[_FindLayout, Callable[[Path, Source, StopToken, list[str]], Iterator[pa.RecordBatch]]]] = {
    "delimited": (_text_layout, _text_batches),
    "parquet": (_typed_layout, _parquet_batches),
    "arrow": (_typed_layout, _arrow_batches),
}
