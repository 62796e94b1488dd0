"""Read tables in memory (data frames of any library, arrays, dicts, lists of rows), and several files as one table.

Data frames of other libraries (polars, pyarrow, DuckDB, cuDF ...) are read by a common protocol, the Arrow PyCapsule
interface or the older dataframe interchange, so that none of these libraries has to be installed.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset

from alrviz.data.delimited import read_delimited
from alrviz.data.frames import error_text, read_batches, read_frame
from alrviz.data.interpret import spec_of_typed
from alrviz.data.limits import Limits
from alrviz.data.options import ReadOptions
from alrviz.data.source import load_bytes, sniff_format
from alrviz.data.text import RawTable, TextColumn
from alrviz.data.values import Values, as_text
from alrviz.errors import AlrvizError, TableError, listed, short
from alrviz.stop import StopToken

PARQUET = (".parquet", ".pq")
MAX_NAMED_FILES = 5  # in a note on files with different options


def is_taken(source: Any) -> bool:
    """Return whether a source is a table in memory, a folder or several files, rather than one file or its bytes."""
    if isinstance(source, str | os.PathLike):
        return os.path.isdir(source) and _holds_parquet(source)
    return (
        isinstance(source, pd.DataFrame | np.ndarray | Mapping | list | tuple)
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

    Raises:
        TableError: an array that is not two-dimensional, or columns of unequal length.
    """
    if isinstance(source, pd.DataFrame):
        return source
    if not is_taken(source) or isinstance(source, str | os.PathLike) or are_files(source):
        return None
    with _failure_reported(source):
        return pa.table(source).to_pandas() if hasattr(source, "__arrow_c_stream__") else _frame(source)


def read_taken(source: Any, options: ReadOptions, limits: Limits, stop: StopToken, read_values: Any) -> RawTable:
    """Return the columns of a source that `is_taken` accepts; `read_values` reads a file's bytes as typed values.

    Raises:
        TableError: an array that is not two-dimensional, columns of unequal length, or files with other columns.
    """
    if isinstance(source, pd.DataFrame):
        return read_frame(source, options, limits, stop)
    if isinstance(source, str | os.PathLike):
        return _folder(source, options, limits, stop)
    if are_files(source):
        return _files(source, options, limits, stop, read_values)
    if hasattr(source, "__arrow_c_stream__"):
        with _failure_reported(source):
            reader = pa.RecordBatchReader.from_stream(source)
            return read_batches(reader.schema, reader, options, limits, stop)
    with _failure_reported(source):
        frame = _frame(source)
    return read_frame(frame, options, limits, stop)


def are_files(source: Any) -> bool:
    """Return whether a source is a list of paths."""
    return isinstance(source, list | tuple) and bool(source) and all(isinstance(s, str | os.PathLike) for s in source)


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


def _holds_parquet(folder: Any) -> bool:
    walk = os.walk(folder)
    return any(name.lower().endswith(PARQUET) for _, _, names in walk for name in names)


def _folder(folder: Any, options: ReadOptions, limits: Limits, stop: StopToken) -> RawTable:
    """Return the Parquet files of a folder as one table; subfolders named key=value become a column."""
    try:
        dataset = pa.dataset.dataset(
            os.fspath(folder), format="parquet", partitioning="hive", exclude_invalid_files=True
        )
        parsed = read_batches(dataset.schema, dataset.to_batches(), options, limits, stop)
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"the folder {os.fspath(folder)!r} cannot be read as one Parquet table ({error})") from error
    note = f"{len(dataset.files):,} Parquet files of the folder were put one behind the other"
    return replace(parsed, notes=[*([note] if len(dataset.files) > 1 else []), *parsed.notes])


def _files(paths: Sequence[Any], options: ReadOptions, limits: Limits, stop: StopToken, read_values: Any) -> RawTable:
    """Return files with the same columns as one table: texts are interpreted together, typed values concatenated."""
    texts: list[list[TextColumn]] = []
    head: tuple[str, ...] = ()
    kinds: Mapping[str, str] = {}
    parts: list[RawTable] = []
    notes = [f"{len(paths)} files were put one behind the other"] if len(paths) > 1 else []
    in_force: list[ReadOptions] = []
    for path in paths:
        packed: list[str] = []
        data = load_bytes(path, limits, stop, packed)
        if sniff_format(data) == "delimited":
            raw = read_delimited(data, options, limits, stop)
            texts.append([column for column in raw.columns if isinstance(column, TextColumn)])
            head, kinds = head or raw.head, kinds or raw.kinds
        else:
            raw = read_values(data, options, limits, stop)
            parts.append(raw)
        in_force.append(raw.options)
        file_notes = [*packed, *raw.notes]
        notes += [f"{os.path.basename(os.fspath(path))}: {note}" for note in file_notes if len(paths) > 1] or file_notes
    if texts and parts:
        raise TableError("some of the files are text and some are not; files of one sort were expected")
    if texts:
        names = [column.name for column in texts[0]]
        by_name = [{column.name: column for column in columns} for columns in texts]
        _check_names(paths, [list(columns) for columns in by_name])
        joined = [TextColumn.joined([columns[name] for columns in by_name]) for name in names]
        return RawTable(
            joined, _common_options(paths, in_force, options, notes), notes, head=head, sort="text", kinds=kinds
        )
    parts_by_name = [{values.name: values for values in part.columns} for part in parts]
    _check_names(paths, [list(values) for values in parts_by_name])
    options_in_force = _common_options(paths, in_force, options, notes)
    joined_values = [_joined([values[name] for values in parts_by_name]) for name in parts_by_name[0]]
    return RawTable(joined_values, options_in_force, notes, head=parts[0].head, sort="decided", kinds=parts[0].kinds)


def _common_options(
    paths: Sequence[Any], in_force: Sequence[ReadOptions], given_options: ReadOptions, notes: list[str]
) -> ReadOptions:
    """Return the options in force for all files, and `given_options` for those in which files differ, with a note."""
    names = [field.name for field in fields(ReadOptions) if len({getattr(part, field.name) for part in in_force}) > 1]
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


def _check_names(paths: Sequence[Any], names: Sequence[Sequence[str]]) -> None:
    for path, columns in zip(paths, names, strict=True):
        if set(columns) != set(names[0]):
            odd = [name for name in (*columns, *names[0]) if (name in columns) != (name in names[0])]
            raise TableError(
                f"{os.fspath(path)!r} has other columns than {os.fspath(paths[0])!r}: {listed(odd)} is not in both"
            )


def _joined(parts: Sequence[Values]) -> Values:
    series = [part.series for part in parts]
    types = {
        "text" if isinstance(column.dtype, pd.CategoricalDtype) else column.dtype.kind.replace("i", "f")
        for column in series
    }
    if len(types) > 1:
        raise TableError(f"column {short(parts[0].name)} is not of one type in all files; save them alike")
    if types == {"text"}:
        joined_series = pd.Series(pd.api.types.union_categoricals(series, ignore_order=True))
    else:
        joined_series = pd.concat(series, ignore_index=True)
    texts = (
        None if all(part.texts is None for part in parts) else TextColumn.joined([p.texts or as_text(p) for p in parts])
    )
    joined = replace(parts[0], series=joined_series.rename(parts[0].name), texts=texts)
    specs = [part.spec for part in parts]
    if any(spec != specs[0] for spec in specs):  # files were parsed differently
        missing = tuple(dict.fromkeys(token for spec in specs if spec for token in spec.missing))
        joined = replace(joined, spec=spec_of_typed(joined, missing))
    return joined
