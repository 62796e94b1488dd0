"""Read JSON: an object on each line, a list of objects, or one object of columns.

Lists of cells beside a list of the columns' names are rows, too, as open data portals and pandas (orient="split")
write them. Nested objects become columns ("address.city"), lists become their text. Numbers, texts and booleans keep
their type, but numbers in quotation marks among numbers are numbers; dates are detected among texts.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pandas as pd

from alrviz.data.charset import to_utf8
from alrviz.data.frames import from_series
from alrviz.data.limits import Limits
from alrviz.data.parse_values import PLAIN_NUMBER, clean_names
from alrviz.data.text import Buffer, RawTable, ReadRequest
from alrviz.errors import TableError, listed, plural, short

MAX_DEPTH = 50  # of nested objects, whose names are joined into a column's name
SEPARATOR = re.compile(r"[\s,]*")
ROWS_NAMES = ("data", "rows", "records", "items", "results")  # usual names of the list of rows in an object
HEADER_NAMES = ("columns", "fields", "header", "headers", "names")  # usual names of the list of the columns' names
# The text from the position of an error on, if the text was cut there: within a string, \u00e9, a number or a word.
CUT_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*\\?|u[0-9a-fA-F]{0,3}|-|\.|[eE][+-]?|t|tr|tru|f|fa|fal|fals|n|nu|nul|N|Na|', re.DOTALL
)


def read_json(data: Buffer, request: ReadRequest) -> RawTable:
    """Return the columns of JSON, read object by object, with the stop token and limits checked in between.

    Raises:
        TableError: no JSON, or not of objects; it names the line.
    """
    try:
        return _read(data, request)
    except RecursionError as error:  # of the text of nested lists
        raise TableError("the JSON is nested too deeply; one object a row was expected") from error


def _read(data: Buffer, request: ReadRequest) -> RawTable:
    """Return the columns of JSON; a column's name is the path of its values, joined by dots."""
    raw, _, notes = to_utf8(data, "utf-8", request.stop)
    duplicates = list[str]()
    rows = _objects(bytes(raw).decode("utf-8"), request, duplicates, notes)
    if duplicates:
        notes.append(
            f"{plural(len(duplicates), 'object has', 'objects have')} a name twice, such as {short(duplicates[0])}: "
            "the last value was taken"
        )
    cells_by_path: dict[tuple[str, ...], list[Any]] = {}  # path: names of the enclosing objects, then the value's
    for row_index, row in enumerate(rows):
        if row_index % 1000 == 0:
            request.stop.check()
            request.limits.check(row_index, len(cells_by_path))
        for name, value in _flatten(row).items():
            if name not in cells_by_path:
                cells_by_path[name] = []
                request.limits.check(columns=len(cells_by_path))
            column = cells_by_path[name]
            column.extend([None] * (row_index - len(column)))
            column.append(value)
    paths = sorted(cells_by_path, key=len)  # of equal names the one with the shortest path is not renamed
    names, name_notes = clean_names([".".join(path) for path in paths])
    name_of, notes = dict(zip(paths, names, strict=True)), [*notes, *name_notes]
    table_columns = []
    for path, cells in cells_by_path.items():
        request.stop.check()
        cells = _unquoted_numbers(name_of[path], cells, notes)
        series = pd.Series([*cells, *[None] * (len(rows) - len(cells))], dtype=object)
        table_columns.append(from_series(name_of[path], series, notes))
    return RawTable(table_columns, request.options, notes)


def _unquoted_numbers(name: str, cells: list[Any], notes: list[str]) -> list[Any]:
    """Return cells with texts as numbers, noted, if some cells are numbers and all others are their texts or empty."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    has_numbers = any(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in cells)
    if not has_numbers or not all(PLAIN_NUMBER.fullmatch(text) for text in texts if text):
        return cells
    if n_quoted := sum(map(bool, texts)):
        example = next(filter(None, texts))
        numbers_text = f"{plural(n_quoted, 'text is', 'texts are')} among the numbers of {name!r}"
        notes.append(f'{numbers_text}, such as "{example}": read as numbers')
    return [(json.loads(cell) if cell else None) if isinstance(cell, str) else cell for cell in cells]


def _objects(text: str, request: ReadRequest, duplicates: list[str], notes: list[str]) -> list[dict[str, Any]]:
    """Return the rows; the first duplicate name of each object that has one is added to `duplicates`."""

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value_by_name = dict(pairs)
        if len(value_by_name) < len(pairs):
            names = [name for name, _ in pairs]
            duplicates.append(next(name for name in names if names.count(name) > 1))
        return value_by_name

    decoder = json.JSONDecoder(object_pairs_hook=object_of)
    position, rows = SEPARATOR.match(text).end(), list[Any]()  # type: ignore[union-attr]
    is_list = text[position : position + 1] == "["
    position += is_list
    while (position := SEPARATOR.match(text, position).end()) < len(text):  # type: ignore[union-attr]
        if is_list and text[position] == "]":
            break
        if len(rows) % 1000 == 0:
            request.stop.check()
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            is_cut = isinstance(error, json.JSONDecodeError) and CUT_TOKEN.fullmatch(text[error.pos :].strip())
            if rows and not is_list and text[position] == "{" and is_cut and "\n" not in text[position:].strip():
                notes.append("the last line is cut short, and was left out")
                break
            line_text = f"line {text.count(chr(10), 0, position) + 1:,}"
            raise TableError(
                f"the JSON cannot be read in {line_text} ({error}); one object a row was expected"
            ) from error
        if not isinstance(value, dict):
            line_text = f"line {text.count(chr(10), 0, position) + 1:,}"
            raise TableError(f"{line_text} of the JSON is no object: {short(value)}; one object a row was expected")
        rows.append(value)
        request.limits.check(len(rows))
    return _rows_of_object(rows[0], request.limits, notes) if len(rows) == 1 and not is_list else rows


def _rows_of_object(value: dict[str, Any], limits: Limits, notes: list[str]) -> list[dict[str, Any]]:
    """Return the rows in an object: its list of a usual name, its only list, or its lists as columns; else itself.

    A note says from which list the names of columns were taken.
    """
    lists = {name: values for name, values in value.items() if isinstance(values, list)}
    for name in (*ROWS_NAMES, *(lists if len(lists) == 1 else ())):
        if name in lists and all(isinstance(row, dict) for row in lists[name]):
            limits.check(len(lists[name]))
            return lists[name]
    for rows in lists.values():
        if rows and all(isinstance(row, list) and len(row) == len(rows[0]) for row in rows):
            limits.check(len(rows), len(rows[0]))
            lists_of_names = dict(_lists_of_names(value, len(rows[0])))
            if lists_of_names:
                paths = [path for path in lists_of_names if path[-1] in HEADER_NAMES] or [*lists_of_names]
                names = lists_of_names[paths[0]]
                notes.append(f"the names of columns were taken from {short('.'.join(paths[0]))}: {listed(names)}")
                return [dict(zip(names, row, strict=True)) for row in rows]
    if lists and len(lists) == len(value) and len({len(values) for values in lists.values()}) == 1:
        limits.check(len(next(iter(lists.values()))))
        return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    return [value]


def _lists_of_names(value: Any, width: int, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Yield each list of so many different texts, or of objects with a name: its path, and the texts or names."""
    if isinstance(value, list) and len(value) == width:
        items = [item.get("name") if isinstance(item, dict) else item for item in value]
        names = [item for item in items if isinstance(item, str)]
        if len(set(names)) == width:
            yield path, names
    if isinstance(value, dict) and len(path) < MAX_DEPTH:
        for name, member in value.items():
            yield from _lists_of_names(member, width, (*path, name))


def _flatten(row: dict[str, Any], path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    """Return the cells of a row by their path: the names of the enclosing objects, then its own."""
    if len(path) >= MAX_DEPTH:
        raise TableError(
            f"the JSON holds objects in objects, more than {MAX_DEPTH} deep; one object a row was expected"
        )
    cells: dict[tuple[str, ...], Any] = {}
    for key, value in row.items():
        cell_path = (*path, str(key))
        if isinstance(value, dict) and value:
            cells |= _flatten(value, cell_path)
        else:
            cells[cell_path] = json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
    return cells
