"""Read any source as columns: detect the format by its content, and call its reader.

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
LAID_OUT = {"delimited": read_delimited, "workbook": read_workbook}  # formats whose row of names must be detected


def read_raw(
    source: Any,
    options: ReadOptions,
    limits: Limits,
    stop: StopToken,
    notes: list[str],
    expected_names: Collection[str] = (),
) -> RawTable:
    """Return the columns of any source of `read_table`, with uninterpreted texts; notes on an archive go to `notes`."""
    if is_taken(source):
        return read_taken(source, options, limits, stop, partial(_values_of, expected_names=expected_names))
    if isinstance(source, io.TextIOBase):
        options = replace(options, encoding="utf-8")  # `load_bytes` encodes text as UTF-8
    data = load_bytes(source, limits, stop, notes, options.sheet)
    return raw_of_bytes(data, options, limits, stop, expected_names=expected_names)


def raw_of_bytes(
    data: Buffer,
    options: ReadOptions,
    limits: Limits,
    stop: StopToken,
    known_layout: Layout | None = None,
    expected_names: Collection[str] = (),
) -> RawTable:
    """Return the columns of a file's bytes, with uninterpreted texts."""
    kind = sniff_format(data)
    if kind in LAID_OUT:
        return LAID_OUT[kind](data, options, limits, stop, known_layout, expected_names)
    return READERS[kind](data, options, limits, stop)


def _values_of(
    data: Buffer, options: ReadOptions, limits: Limits, stop: StopToken, expected_names: Collection[str]
) -> RawTable:
    return interpret(raw_of_bytes(data, options, limits, stop, expected_names=expected_names), stop)
