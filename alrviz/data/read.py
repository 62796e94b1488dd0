"""`read_table`: any table a person is likely to have, made ready for a classifier.

    bytes -> gunzip -> format -> text or typed columns -> numbers, dates, levels -> target and kinds
    source.py          delimited, arff, workbook, frames     interpret.py             dataset.py, kinds.py

Everything detected is shown (`Dataset.options`, `Dataset.notes`, `Column.why`) and can be said instead.
"""

import io
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any

from alrviz.data.arff import read_arff
from alrviz.data.dataset import Dataset, Table
from alrviz.data.delimited import read_delimited
from alrviz.data.frames import parse_text, read_arrow, read_parquet
from alrviz.data.interpret import KnownNames, ParsedTable, RawTable, Values, interpret
from alrviz.data.json_rows import read_json
from alrviz.data.limits import OWN_LIMITS, Limits
from alrviz.data.options import ReadOptions
from alrviz.data.other_sources import is_taken, read_taken
from alrviz.data.source import Buffer, default_name, load_bytes, sniff_format
from alrviz.data.stat_files import read_stat_file
from alrviz.data.text import TextColumn
from alrviz.data.workbook import read_workbook
from alrviz.stop import NEVER, StopToken

__all__ = ["Limits", "ReadOptions", "read_columns", "read_table"]

READERS = {"parquet": read_parquet, "arrow": read_arrow, "arff": read_arff, "json": read_json, "stat": read_stat_file}
LAID_OUT = {"delimited": read_delimited, "workbook": read_workbook}  # where the row of names has to be found


def read_table(
    path_or_frame: Any,
    target: str | None = None,
    *,
    options: ReadOptions | None = None,
    limits: Limits | None = None,
    name: str | None = None,
    quartiles: bool | None = None,
    max_memory: int | None = None,
    stop: StopToken = NEVER,
    **kinds: str,
) -> Dataset:
    """Read a table and say what its columns are.

    The format is told by the content: CSV and its relatives, JSON (one object a line, or a list), Parquet, Arrow
    (Feather), ARFF, workbooks (xlsx, xlsm, xls, ods) and files of SPSS, Stata and SAS; each may be packed (gzip, bzip2,
    xz, Zstandard, zip).

    Args:
        path_or_frame: a path, bytes, or an open file (`io.StringIO` for text); or a table at hand: a data frame
            (pandas, polars, pyarrow, DuckDB and others that share the Arrow or the interchange protocol), an array of
            rows and columns, a dict of columns, a list of rows. A list of paths, or a folder of Parquet files, is one
            table.
        target: the column that is the class (default: guessed, see `Table.target_choices`).
        options: what is said of the text, in place of what is detected.
        limits: refuse tables that are too large (default: more than 50,000 columns).
        name: of the data set (default: that of the file).
        quartiles: for a numeric target of more than 20 values, which is refused otherwise: True cuts it into four
            classes, False keeps each value as a class.
        max_memory: bytes that reading may take (default: half of what is free).
        stop: ends the reading from another thread.
        kinds: columns by name and what they are: "categorical", "numeric", "ordinal", "ignore" or "target"; or no
            feature, but "weight" (how often each row counts, see `Dataset.weights`), "group" or "time" (what splits of
            the rows keep to, see `Dataset.split_by`). For a column that is called like a parameter, use
            `Dataset.with_kinds`.

    Raises:
        TableError: the table cannot be read or used. If the file is not there, it is also a `FileNotFoundError`; if it
            cannot be opened, an `OSError`.
        MemoryLimitError: it would take more than `max_memory`.
        Stopped: it was stopped.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.5, 2.5, 9.5], "colour": ["red", "red", "blue"], "class": ["no", "no", "yes"]})
    >>> read_table(frame).kinds
    {'size': 'numeric', 'colour': 'categorical'}
    """
    targets = [column for column, kind in kinds.items() if kind == "target"]
    if target is None and len(targets) == 1:
        target = targets[0]
    table = read_columns(
        path_or_frame, options=options, limits=limits, name=name, max_memory=max_memory, stop=stop,
        expected={str(column) for column in (target, *kinds) if column is not None},
    )  # fmt: skip
    return table.dataset(target, kinds=kinds, quartiles=quartiles, stop=stop)


def read_columns(
    path_or_frame: Any,
    *,
    options: ReadOptions | None = None,
    limits: Limits | None = None,
    name: str | None = None,
    max_memory: int | None = None,
    alone: bool = False,
    stop: StopToken = NEVER,
    expected: Collection[str] = (),
) -> Table:
    """Read a table without choosing a target: the first half of `read_table`, for whoever asks the user in between.

    `alone`: one column is enough. `expected`: names of columns that are known, by which a row of names is recognised.
    """
    options, limits = options or ReadOptions(), (limits or OWN_LIMITS).within_memory(max_memory)
    notes: list[str] = []
    parsed = decide(read_raw(path_or_frame, options, limits, stop, notes, expected), stop)
    name = name or default_name(path_or_frame)
    return Table.of(
        name,
        parsed.columns,
        parsed.options,
        limits,
        [*notes, *parsed.notes],
        alone,
        parsed.sheets,
        options,
        parsed.head,
        parsed.kinds,
    )


def read_raw(
    source: Any, options: ReadOptions, limits: Limits, stop: StopToken, notes: list[str], expected: Collection[str] = ()
) -> RawTable:
    """Return the columns of whatever `read_table` takes, before it is decided what texts are.

    What of an archive was passed over is added to `notes`.
    """
    if is_taken(source):
        return read_taken(source, options, limits, stop, partial(_values_of, expected=expected))
    if isinstance(source, io.TextIOBase):
        options = replace(options, encoding="utf-8")  # it is text already
    return raw_of_bytes(
        load_bytes(source, limits, stop, notes, options.sheet), options, limits, stop, expected=expected
    )


def raw_of_bytes(
    data: Buffer,
    options: ReadOptions,
    limits: Limits,
    stop: StopToken,
    known: KnownNames | None = None,
    expected: Collection[str] = (),
) -> RawTable:
    """Return the columns of a file's bytes, before it is decided what texts are."""
    kind = sniff_format(data)
    if kind in LAID_OUT:
        return LAID_OUT[kind](data, options, limits, stop, known, expected)
    return READERS[kind](data, options, limits, stop)


def decide(raw: RawTable, stop: StopToken) -> ParsedTable:
    """Return the columns as values."""
    if raw.sort == "decided":
        values = [column for column in raw.columns if isinstance(column, Values)]
        return ParsedTable(values, raw.options, raw.notes, raw.sheets, raw.head, raw.kinds)
    if raw.sort == "typed":
        return parse_text(raw.columns, raw.options, raw.notes, stop)
    texts = [column for column in raw.columns if isinstance(column, TextColumn)]
    return replace(interpret(texts, raw.options, raw.notes, stop), sheets=raw.sheets, head=raw.head, kinds=raw.kinds)


def _values_of(
    data: Buffer, options: ReadOptions, limits: Limits, stop: StopToken, expected: Collection[str]
) -> ParsedTable:
    return decide(raw_of_bytes(data, options, limits, stop, expected=expected), stop)
