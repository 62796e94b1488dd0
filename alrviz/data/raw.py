"""Read any source as columns: detect the format by its content, and call its reader.

bytes -> unpacked -> format -> text or typed columns -> numbers, dates, levels
source.py            delimited, arff, workbook, frames     interpret.py

Tables in memory (data frames of any library, arrays, dicts, lists of rows) and several files as one table are read too.
Data frames of other libraries (polars, pyarrow, DuckDB, cuDF ...) are read by a common protocol, the Arrow PyCapsule
interface or the older dataframe interchange, so that none of these libraries has to be installed.
"""

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset

from alrviz.data.arff import read_arff
from alrviz.data.delimited import read_delimited
from alrviz.data.doubts import prefixed
from alrviz.data.frames import error_text, read_arrow, read_batches, read_frame, read_parquet, read_stat_file
from alrviz.data.json_rows import read_json
from alrviz.data.long_form import pivot
from alrviz.data.options import ReadOptions
from alrviz.data.source import load_bytes, sniff_format
from alrviz.data.text import Buffer, RawTable, ReadRequest
from alrviz.data.values import join_columns
from alrviz.data.workbook import read_workbook
from alrviz.errors import AlrvizError, TableError, listed

READERS: dict[str, Callable[[Buffer, ReadRequest], RawTable]] = {
    "parquet": read_parquet,
    "arrow": read_arrow,
    "arff": read_arff,
    "json": read_json,
    "stat": read_stat_file,
    "delimited": read_delimited,
    "workbook": read_workbook,
}
PARQUET = (".parquet", ".pq")
MAX_NAMED_FILES = 5  # in a note on files with different options


def read_raw(source: Any, request: ReadRequest) -> RawTable:
    """Return the columns of any source of `read_table`, with uninterpreted texts; a long form is pivoted, file by file.

    Raises:
        TableError: a source that cannot be read, an array that is not two-dimensional, columns of unequal length, or
            files with other columns.
    """
    if are_files(source):
        joined = join_files(source, [read_raw(path, request) for path in source], request.options)
        note = f"{len(source)} files were put one behind the other"
        return replace(joined, notes=[*([note] if len(source) > 1 else []), *joined.notes])
    return pivot(_read_table(source, request), request)


def _read_table(source: Any, request: ReadRequest) -> RawTable:
    """Return the columns of a source that is no list of files."""
    if is_folder(source):
        return _read_folder(source, request)
    if hasattr(source, "__arrow_c_stream__") and not isinstance(source, pd.DataFrame):
        with _failure_reported(source):
            reader = pa.RecordBatchReader.from_stream(source)
            return read_batches(reader.schema, reader, request)
    if (frame := frame_of(source)) is not None:
        return read_frame(frame, request)
    if isinstance(source, io.TextIOBase):  # `load_bytes` encodes text as UTF-8
        request = replace(request, options=replace(request.options, encoding="utf-8"))
    data, notes = load_bytes(source, request)
    raw = read_bytes(data, request)
    return replace(raw, notes=[*notes, *raw.notes])


def read_bytes(data: Buffer, request: ReadRequest) -> RawTable:
    """Return the columns of a file's unpacked bytes, with uninterpreted texts."""
    return READERS[sniff_format(data)](data, request)


# ---- tables in memory ------------------------------------------------------------------------------------------------


def is_in_memory(source: Any) -> bool:
    """Return whether a source is a table in memory, rather than files or the bytes of one."""
    is_table = isinstance(source, pd.DataFrame | np.ndarray | Mapping | list | tuple)
    return (
        (is_table and not are_files(source))
        or hasattr(source, "__arrow_c_stream__")
        or hasattr(source, "__dataframe__")
    )


def named_rows(source: Any, names: Sequence[str]) -> Any:
    """Return one row, a dict of values, as a dict of columns, and unnamed rows of the right width as a data frame.

    Any other source is returned unchanged.
    """
    if isinstance(source, Mapping):
        is_single_row = source and not any(
            hasattr(value, "__len__") and not isinstance(value, str | bytes) for value in source.values()
        )
        return {name: [value] for name, value in source.items()} if is_single_row else source
    if isinstance(source, np.ndarray) and source.dtype.names is None:
        has_names = source.ndim == 2 and source.shape[1] == len(names)
    else:
        rows = isinstance(source, list | tuple) and all(isinstance(row, list | tuple | np.ndarray) for row in source)
        has_names = rows and {len(row) for row in source} == {len(names)}
    return pd.DataFrame(source, columns=list(names)) if has_names else source


def frame_of(source: Any) -> pd.DataFrame | None:
    """Return a table in memory as a DataFrame with unchanged values; None for a file, its bytes, or several files.

    Raises `TableError` for an array that is not two-dimensional, or columns of unequal length.
    """
    if isinstance(source, pd.DataFrame):
        return source
    if not is_in_memory(source):
        return None
    with _failure_reported(source):
        return pa.table(source).to_pandas() if hasattr(source, "__arrow_c_stream__") else _frame(source)


@contextmanager
def _failure_reported(source: Any) -> Iterator[None]:
    """Raise `TableError` for any error of an object of another library."""
    try:
        yield
    except (AlrvizError, MemoryError):
        raise
    except Exception as error:
        raise TableError(
            f"no table can be made of this {type(source).__name__}: {error_text(error) or type(error).__name__}"
        ) from error


def _frame(source: Any) -> pd.DataFrame:
    """Return a table in memory as a data frame; columns without names are numbered from 1."""
    if isinstance(source, np.ndarray) and source.dtype.names is None:
        if source.ndim != 2:
            raise TableError(f"an array of rows and columns was expected, got {source.ndim} dimensions")
        return pd.DataFrame(source, columns=[f"column {k + 1}" for k in range(source.shape[1])])
    if isinstance(source, np.ndarray | Mapping):
        return pd.DataFrame(source)
    if hasattr(source, "__dataframe__"):
        return pd.api.interchange.from_dataframe(source)
    frame = pd.DataFrame(source)
    if all(isinstance(name, int) for name in frame.columns):
        frame.columns = [f"column {name + 1}" for name in frame.columns]
    return frame


# ---- several files ---------------------------------------------------------------------------------------------------


def are_files(source: Any) -> bool:
    """Return whether a source is a list of paths."""
    return isinstance(source, list | tuple) and bool(source) and all(isinstance(s, str | os.PathLike) for s in source)


def is_folder(source: Any) -> bool:
    """Return whether a source is the path of a folder with Parquet files."""
    is_path = isinstance(source, str | os.PathLike) and os.path.isdir(source)
    return is_path and any(name.lower().endswith(PARQUET) for _, _, names in os.walk(source) for name in names)


def _read_folder(folder: Any, request: ReadRequest) -> RawTable:
    """Return the Parquet files of a folder as one table; subfolders named key=value become a column."""
    try:
        dataset = pa.dataset.dataset(
            os.fspath(folder), format="parquet", partitioning="hive", exclude_invalid_files=True
        )
        raw = read_batches(dataset.schema, dataset.to_batches(), request)
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"the folder {os.fspath(folder)!r} cannot be read as one Parquet table ({error})") from error
    note = f"{len(dataset.files):,} Parquet files of the folder were put one behind the other"
    return replace(raw, notes=[*([note] if len(dataset.files) > 1 else []), *raw.notes])


def file_prefix(path: Any) -> str:
    """Return the beginning of notes and errors on one of several files: its name."""
    return f"{os.path.basename(os.fspath(path))}: "


def join_files(paths: Sequence[Any], tables: Sequence[RawTable], options: ReadOptions) -> RawTable:
    """Return files as one table, to be interpreted together; `options` are those of the user.

    Raises `TableError` for files of different columns or sorts.
    """
    if len({table.sort for table in tables}) > 1:
        raise TableError("some of the files are text and some are not; files of one sort were expected")
    if len(tables) == 1:
        return tables[0]
    notes = list[str]()
    for path, table in zip(paths, tables, strict=True):
        notes += [prefixed(note, file_prefix(path)) for note in table.notes]
    columns = [{column.name: column for column in table.columns} for table in tables]
    for path, columns_of_file in zip(paths, columns, strict=True):
        if different := [*columns_of_file.keys() ^ columns[0].keys()]:
            raise TableError(
                f"{os.fspath(path)!r} has other columns than {os.fspath(paths[0])!r}: {listed(sorted(different))} is "
                "not in both"
            )
    return replace(
        tables[0],
        columns=[join_columns([columns_of_file[name] for columns_of_file in columns]) for name in columns[0]],
        options=_common_options(paths, [table.options for table in tables], options, notes),
        notes=notes,
        sheets=(),
    )


def _common_options(
    paths: Sequence[Any], in_force: Sequence[ReadOptions], given_options: ReadOptions, notes: list[str]
) -> ReadOptions:
    """Return the options in force for all files, and `given_options` for those in which files differ, with a note."""
    names = [
        field.name
        for field in fields(ReadOptions)
        if len({getattr(file_options, field.name) for file_options in in_force}) > 1
    ]
    if names:
        options_of_files = [
            f"{os.path.basename(os.fspath(path))} with "
            + " and ".join(f"{name.replace('_', ' ')} {getattr(options, name)!r}" for name in names)
            for path, options in zip(paths, in_force, strict=True)
        ]
        remainder = f" and {len(paths) - MAX_NAMED_FILES:,} more" if len(paths) > MAX_NAMED_FILES else ""
        examples = ", ".join(options_of_files[:MAX_NAMED_FILES])
        notes.append(f"the files differ, and each was read with its own: {examples}{remainder}")
    return replace(in_force[0], **{name: getattr(given_options, name) for name in names})
