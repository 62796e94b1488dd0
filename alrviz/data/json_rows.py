"""JSON: one object a line, a list of objects, or one object of columns.

Objects in objects become columns of their own ("address.city"), lists stay as their text. Numbers, texts and truth
values are what JSON says they are; texts that are dates are found.
"""

import json
import re
from typing import Any

import pandas as pd

from alrviz.data.charset import to_utf8
from alrviz.data.frames import from_series
from alrviz.data.limits import Limits, check_cells, check_columns, check_rows
from alrviz.data.options import ReadOptions
from alrviz.data.parse_values import clean_names
from alrviz.data.text import Buffer, RawTable
from alrviz.errors import TableError, plural, short
from alrviz.stop import StopToken

DEEPEST = 50  # objects in an object: each makes the names of columns longer
BETWEEN = re.compile(r"[\s,]*")
LISTS = ("data", "rows", "records", "items", "results")  # what an object that holds the rows calls them


def read_json(data: Buffer, options: ReadOptions, limits: Limits, stop: StopToken) -> RawTable:
    """Return the columns of JSON, read object by object, so that it can be stopped and is checked as it grows.

    Raises:
        TableError: no JSON, or not of objects; the line is named.
    """
    try:
        return _read(data, options, limits, stop)
    except RecursionError as error:  # lists in lists: their text is asked for
        raise TableError("the JSON is nested too deeply; one object a row was expected") from error


def _read(data: Buffer, options: ReadOptions, limits: Limits, stop: StopToken) -> RawTable:
    raw, _, notes = to_utf8(data, "utf-8", stop)
    twice = list[str]()
    rows = _objects(bytes(raw).decode("utf-8"), limits, stop, twice)
    if twice:
        notes.append(
            f"{plural(len(twice), 'object has', 'objects have')} a name twice, such as {short(twice[0])}: "
            "the last value was taken"
        )
    columns: dict[tuple[str, ...], list[Any]] = {}  # by the names of the objects that it is in, and its own
    for count, row in enumerate(rows):
        if count % 1000 == 0:
            stop.check()
            check_cells(count, len(columns), limits)
        for name, value in _flat(row).items():
            if name not in columns:
                columns[name] = []
                check_columns(len(columns), limits)
            column = columns[name]
            column.extend([None] * (count - len(column)))
            column.append(value)
    paths = sorted(columns, key=len)  # of equal names the flat one keeps it, whichever a row has first
    names, renamed = clean_names([".".join(path) for path in paths])
    called, notes = dict(zip(paths, names, strict=True)), [*notes, *renamed]
    values = []
    for path, cells in columns.items():
        stop.check()
        series = pd.Series([*cells, *[None] * (len(rows) - len(cells))], dtype=object)
        values.append(from_series(called[path], series, notes))
    return RawTable(values, options, notes)


def _objects(text: str, limits: Limits, stop: StopToken, twice: list[str]) -> list[dict[str, Any]]:
    """The rows; to `twice` goes a name of each object that has it twice."""

    def made(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice.append(next(name for name in names if names.count(name) > 1))
        return found

    decoder = json.JSONDecoder(object_pairs_hook=made)
    place, rows = BETWEEN.match(text).end(), list[Any]()  # type: ignore[union-attr]
    listed = text[place : place + 1] == "["
    place += listed
    while (place := BETWEEN.match(text, place).end()) < len(text):  # type: ignore[union-attr]
        if listed and text[place] == "]":
            break
        if len(rows) % 1000 == 0:
            stop.check()
        try:
            value, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            where = f"line {text.count(chr(10), 0, place) + 1:,}"
            raise TableError(f"the JSON cannot be read in {where} ({error}); one object a row was expected") from error
        if not isinstance(value, dict):
            where = f"line {text.count(chr(10), 0, place) + 1:,}"
            raise TableError(f"{where} of the JSON is no object: {short(value)}; one object a row was expected")
        rows.append(value)
        check_rows(len(rows), limits)
    return _of_one(rows[0], limits) if len(rows) == 1 and not listed else rows


def _of_one(value: dict[str, Any], limits: Limits) -> list[dict[str, Any]]:
    """The rows that one object holds: a list of them under a known name or the only one, or its columns."""
    lists = {name: held for name, held in value.items() if isinstance(held, list)}
    for name in (*LISTS, *(lists if len(lists) == 1 else ())):
        if name in lists and all(isinstance(row, dict) for row in lists[name]):
            check_rows(len(lists[name]), limits)
            return lists[name]
    if lists and len(lists) == len(value) and len({len(held) for held in lists.values()}) == 1:
        check_rows(len(next(iter(lists.values()))), limits)
        return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    return [value]


def _flat(row: dict[str, Any], before: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    if len(before) >= DEEPEST:
        raise TableError(f"the JSON holds objects in objects, more than {DEEPEST} deep; one object a row was expected")
    found: dict[tuple[str, ...], Any] = {}
    for key, value in row.items():
        name = (*before, str(key))
        if isinstance(value, dict) and value:
            found |= _flat(value, name)
        else:
            found[name] = json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
    return found
