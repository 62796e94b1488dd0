"""`read_table`: read any table that people are likely to have, for a classifier.

    source -> columns of text or values -> numbers, dates, levels -> target and kinds
    raw.py                                 interpret.py             dataset.py, kinds.py

Everything detected is shown (`Dataset.spec`, `Dataset.notes`, `Column.why`) and can be given instead: by options, or by
a spec, with which nothing is detected.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from alrviz.data.dataset import Dataset, dataset_of
from alrviz.data.doubts import NoteCode, notes_about
from alrviz.data.limits import Limits
from alrviz.data.options import ReadOptions
from alrviz.data.parse_spec import ParseSpec
from alrviz.data.table import Table, read_columns
from alrviz.errors import TableError
from alrviz.stop import NEVER, StopToken

__all__ = ["Limits", "ReadOptions", "read_columns", "read_table"]


def read_table(
    path_or_frame: Any,
    target: str | None = None,
    *,
    spec: ParseSpec | Mapping[str, Any] | str | os.PathLike[str] | None = None,
    options: ReadOptions | None = None,
    limits: Limits | None = None,
    name: str | None = None,
    quartiles: bool | None = None,
    max_memory: int | None = None,
    pivot: Sequence[str] | None = None,
    stop: StopToken = NEVER,
    **kinds: str,
) -> Dataset:
    """Read a table, parse its values, and guess the kinds of its columns.

    The format is detected by content, not by the file's name: CSV and its relatives, JSON (one object a line, or a
    list), Parquet, Arrow (Feather), ARFF, workbooks (xlsx, xlsm, xls, ods) and files of SPSS, Stata and SAS, also
    compressed (gzip, bzip2, xz, Zstandard, zip).

    Args:
        path_or_frame: a path, bytes, or an open file (`io.StringIO` for text); or a table in memory: a data frame
            (pandas, polars, pyarrow, DuckDB and others with the Arrow or the interchange protocol), an array of rows
            and columns, a dict of columns, a list of rows. A list of paths, or a folder of Parquet files, is read as
            one table.
        target: the column that is the class (default: guessed, see `Table.target_choices`).
        spec: `Dataset.spec` of a similar table, to read this one alike: a `ParseSpec`, the result of its `to_dict`, or
            the path of its JSON. Nothing is guessed then; values that do not fit are missing, and counted in a note.
            `target`, `options` and `kinds` take precedence over it.
        options: layout and conventions of the text, in place of the detected ones.
        limits: refuse tables that are too large (default: more than 50,000 columns).
        name: of the data set (default: that of the file).
        quartiles: for a numeric target of more than 20 values, which is refused otherwise: True cuts it into four
            classes, False keeps each value as a class.
        max_memory: bytes that reading may take (default: half of the free memory).
        pivot: names of columns, such as ("patient", "test", "value"), to read a table in long form, with a row for each
            measurement, as one with a row for each patient and a column for each test; short for `long_form` of the
            options. Of several columns that number the cases all come first.
        stop: ends the reading from another thread.
        kinds: the kinds of columns by name: "categorical", "numeric", "ordinal", "ignore" or "target"; or the role of a
            column that is no feature: "weight" (how often each row counts, see `Dataset.weights`), "group" or "time"
            (rules for splits, see `Dataset.split_by`). For a column that is called like a parameter, use
            `Dataset.with_kinds`.

    Raises:
        TableError: the table cannot be read or used; also a `FileNotFoundError` if there is no such file, an `OSError`
            if it cannot be opened.
        MemoryLimitError: it would take more than `max_memory`.
        Stopped: `stop` was called on the token.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.5, 2.5, 9.5], "colour": ["red", "red", "blue"], "class": ["no", "no", "yes"]})
    >>> read_table(frame).kinds
    {'size': 'numeric', 'colour': 'categorical'}
    >>> read_table(frame, spec=read_table(frame).spec.to_dict()).hash == read_table(frame).hash
    True
    """
    targets = [column for column, kind in kinds.items() if kind == "target"]
    if target is None and len(targets) == 1:
        target = targets[0]
    spec = None if spec is None else load_spec(spec)
    if pivot is not None:
        options = replace(options or ReadOptions(), long_form=tuple(pivot))
    table = read_columns(
        path_or_frame, spec=spec, options=options, limits=limits, name=name, max_memory=max_memory, stop=stop,
        expected_names={str(column) for column in (target, *kinds) if column is not None},
    )  # fmt: skip
    return dataset_by_spec(table, spec, target, kinds=kinds, quartiles=quartiles, stop=stop)


def dataset_by_spec(
    table: Table,
    spec: ParseSpec | None,
    target: str | None = None,
    *,
    kinds: Mapping[str, str] = MappingProxyType({}),
    quartiles: bool | None = None,
    stop: StopToken = NEVER,
) -> Dataset:
    """Return a table as a data set: the second half of `read_table`.

    The doubts of a table whose class is refused, and how to reshape it, are the notes of the error (`__notes__`), as
    another reading of a column may make it a class.
    """
    if spec is not None:
        target = target or spec.target
        quartiles = quartiles if quartiles is not None or target != spec.target else spec.quartiles or None
        spec_kinds = dict.fromkeys(table.names, "ignore") | {column.name: column.kind for column in spec.columns}
        kinds = {name: k for name, k in spec_kinds.items() if name != target and k != "target"} | {**kinds}
    try:
        return dataset_of(table, target, kinds=kinds, quartiles=quartiles, stop=stop)
    except TableError as error:
        for note in notes_about(table.notes, {NoteCode.SHAPE}):
            error.add_note(str(note))
        for doubt in table.doubts:
            error.add_note(f"doubtful: {doubt.question} If so: options=alrviz.{doubt.options_text}")
        raise


def load_spec(source: ParseSpec | Mapping[str, Any] | str | os.PathLike[str]) -> ParseSpec:
    """Return a `ParseSpec` from itself, its state or the path of its JSON; `TableError` if it is invalid."""
    if isinstance(source, ParseSpec):
        return source
    if isinstance(source, Mapping):
        return ParseSpec.from_dict(source)
    try:
        return ParseSpec.from_dict(json.loads(Path(source).read_text("utf-8")))
    except TableError:
        raise
    except (OSError, ValueError) as error:
        raise TableError(f"the spec {os.fspath(source)!r} cannot be read: {error}; the JSON of one was expected, as "
                         "dataset.spec.to_json() or `alrviz inspect --json` give it") from error  # fmt: skip
