"""From any source to columns: detect the format by content, call its reader, then decide what texts mean.

bytes -> unpacked -> format -> text or typed columns -> numbers, dates, levels
source.py            delimited, arff, workbook, frames     interpret.py
"""

import io
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from typing import Any

from alrviz.data.arff import read_arff
from alrviz.data.delimited import read_delimited
from alrviz.data.frames import read_arrow, read_parquet
from alrviz.data.interpret import interpret
from alrviz.data.json_rows import read_json
from alrviz.data.limits import Limits
from alrviz.data.options import ReadOptions
from alrviz.data.other_sources import is_taken, read_taken
from alrviz.data.parse_spec import Layout
from alrviz.data.source import load_bytes, sniff_format
from alrviz.data.stat_files import read_stat_file
from alrviz.data.text import Buffer, RawTable
from alrviz.data.workbook import read_workbook
from alrviz.stop import StopToken

READERS = {"parquet": read_parquet, "arrow": read_arrow, "arff": read_arff, "json": read_json, "stat": read_stat_file}
LAID_OUT = {"delimited": read_delimited, "workbook": read_workbook}  # in which the row of names has to be found


def read_raw(
    source: Any, options: ReadOptions, limits: Limits, stop: StopToken, notes: list[str], expected: Collection[str] = ()
) -> RawTable:
    """Return the columns of any source of `read_table`, their texts not yet interpreted.

    Files of an archive that were not read are added to `notes`.
    """
    if is_taken(source):
        return read_taken(source, options, limits, stop, partial(_values_of, expected=expected))
    if isinstance(source, io.TextIOBase):
        options = replace(options, encoding="utf-8")  # it is text already
    data = load_bytes(source, limits, stop, notes, options.sheet)
    return raw_of_bytes(data, options, limits, stop, expected=expected)


def raw_of_bytes(
    data: Buffer,
    options: ReadOptions,
    limits: Limits,
    stop: StopToken,
    known: Layout | None = None,
    expected: Collection[str] = (),
) -> RawTable:
    """Return the columns of a file's bytes, their texts not yet interpreted."""
    kind = sniff_format(data)
    if kind in LAID_OUT:
        return LAID_OUT[kind](data, options, limits, stop, known, expected)
    return READERS[kind](data, options, limits, stop)


def _values_of(
    data: Buffer, options: ReadOptions, limits: Limits, stop: StopToken, expected: Collection[str]
) -> RawTable:
    return interpret(raw_of_bytes(data, options, limits, stop, expected=expected), stop)
