"""Read ARFF, WEKA's format: a header that declares each column's type, then rows of comma-separated values.

    % a comment
    @relation weather
    @attribute outlook {sunny, overcast, 'light rain'}
    @attribute temperature numeric
    @data
    sunny, 85

The header is parsed here; the rows, without comments and with quotation marks converted, are read as CSV. Values of a
declared number must be numbers; levels that are not declared are noted.
"""

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from alrviz.data.charset import to_utf8
from alrviz.data.dates import parse_dates
from alrviz.data.delimited import read_delimited
from alrviz.data.limits import Limits
from alrviz.data.numbers import check_numbers, digits_note, merges
from alrviz.data.options import ReadOptions
from alrviz.data.parse_spec import ColumnSpec
from alrviz.data.parse_values import clean_names
from alrviz.data.text import Buffer, RawTable, ReadRequest, TextColumn
from alrviz.data.values import Values, read_column
from alrviz.errors import TableError, listed, nearest, plural, short
from alrviz.stop import StopToken

TOKEN = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
ATTRIBUTE = re.compile(rf"@attribute\s+({TOKEN}|[^\s{{]+)\s*(.*)", re.IGNORECASE | re.DOTALL)
FIELD = re.compile(rf"\s*({TOKEN})\s*(?:,|$)|([^,]*)(?:,|$)")  # a lazy part would be quadratic in blanks
TYPES = ("numeric", "real", "integer", "string", "date", "nominal {a, b}")


@dataclass(frozen=True)
class Attribute:
    """A declared column: `type` is "numeric", "string", "date" (with `dayfirst`) or "nominal" (with `levels`)."""

    name: str
    type: str
    levels: tuple[str, ...] = ()
    dayfirst: bool | None = None


def read_arff(data: Buffer, request: ReadRequest) -> RawTable:
    """Return the columns of an ARFF file; "?" is missing unless `options.missing` is set.

    Raises `TableError` if the file is no ARFF table, or exceeds the limits.
    """
    options = request.options
    data, encoding, notes = to_utf8(data, options.encoding, request.stop)
    lines = enumerate(io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"), start=1)
    attributes, data_line = _header(lines, request.limits)
    names, name_notes = clean_names([attribute.name for attribute in attributes])
    rows = _plain_rows(lines, request.stop)
    if not any(rows):
        raise TableError("the ARFF file has no rows after @data; at least one was expected")
    csv_options = replace(
        options, encoding="utf-8", delimiter=",", header=False, skip_rows=0, skip_footer=0, comment=""
    )
    text = "\n" * data_line + "\n".join(rows)  # lines keep their numbers
    raw = read_delimited(text.encode(), replace(request, options=csv_options), width=len(attributes))
    columns = [column for column in raw.columns if isinstance(column, TextColumn)]
    typed_columns, doubts = [], list[str]()
    for attribute, name, column in zip(attributes, names, columns, strict=True):
        request.stop.check()
        typed_column, remarks = _typed_column(
            attribute, replace(column, name=name), _missing(options.for_column(name)), options
        )
        typed_columns.append(typed_column)
        doubts += filter(None, remarks)
    all_options = replace(
        options, encoding=encoding, delimiter=",", decimal=".", thousands="", missing=_missing(options), header=False
    )
    return RawTable(typed_columns, all_options, [*notes, *name_notes, *raw.notes, *doubts], sort="decided")


def _missing(options: ReadOptions) -> tuple[str, ...]:
    return ("", "?") if options.missing is None else options.missing


def _header(lines: Iterator[tuple[int, str]], limits: Limits) -> tuple[list[Attribute], int]:
    """Return the declared columns, and the number of the "@data" line."""
    attributes: list[Attribute] = []
    for line_number, raw_line in lines:
        line = raw_line.strip()
        keyword = line.split(None, 1)[0].lower() if line else ""
        if keyword == "@attribute":
            attributes.append(_attribute(line, line_number))
            limits.check(columns=len(attributes))
        elif keyword == "@data":
            if not attributes:
                raise TableError(f"line {line_number:,} starts the data, but no @attribute came before it")
            return attributes, line_number
        elif keyword and not keyword.startswith("%") and keyword != "@relation":
            raise TableError(
                f"line {line_number:,} is {short(line)}; @relation, @attribute, @data or a comment was expected"
                f"{nearest(keyword, ('@relation', '@attribute', '@data'))}"
            )
    raise TableError("the ARFF file has no @data line; the rows were expected after it")


def _attribute(line: str, line_number: int) -> Attribute:
    """Parse an "@attribute" line; `line_number` is for the error of an invalid one."""
    match = ATTRIBUTE.match(line)
    if not match:
        raise TableError(f"line {line_number:,} is {short(line)}; '@attribute name type' was expected")
    name, kind = _unquote(match[1]), match[2].strip()
    if kind.startswith("{"):
        if not kind.rstrip().endswith("}"):
            raise TableError(f"line {line_number:,} opens the levels of {name!r} and does not close them with '}}'")
        return Attribute(name, "nominal", tuple(_fields(kind.rstrip()[1:-1])))
    type_name = kind.split(None, 1)[0].lower() if kind else ""
    if type_name in ("numeric", "real", "integer"):
        return Attribute(name, "numeric")
    if type_name in ("string", "date"):
        day, month = kind.find("dd"), kind.find("MM")  # of Java's formats: "dd/MM/yyyy"
        return Attribute(
            name, type_name, dayfirst=day < month if type_name == "date" and min(day, month) >= 0 else None
        )
    raise TableError(
        f"line {line_number:,} gives {name!r} the type {short(kind)}; one of {', '.join(TYPES)} was expected"
    )


def _unquote(token: str) -> str:
    if len(token) > 1 and token[0] in "'\"" and token[-1] == token[0]:
        return re.sub(r"\\(.)", r"\1", token[1:-1])
    return token


def _fields(line: str) -> list[str]:
    fields = [_unquote(match[1] or match[2].strip()) for match in FIELD.finditer(line)]
    # The pattern also matches the empty string at the end, which is a field only behind a final comma.
    return fields[:-1] if len(fields) > 1 and not fields[-1] and not line.rstrip().endswith(",") else fields


def _plain_rows(lines: Iterator[tuple[int, str]], stop: StopToken) -> list[str]:
    """Return the lines behind "@data" as lines of a CSV file; comments become empty lines."""
    rows = []
    for line_number, raw_line in lines:
        if line_number % 2000 == 0:
            stop.check()
        line = raw_line.strip()
        if line.startswith("{"):
            raise TableError(
                f"line {line_number:,} is a sparse row in braces, which is not read; write the rows out in full"
            )
        if line.startswith("%"):
            line = ""
        if "'" in line or '"' in line:
            buffer = io.StringIO()
            csv.writer(buffer, lineterminator="").writerow(_fields(line))
            line = buffer.getvalue()
        rows.append(line)
    return rows


def _typed_column(
    attribute: Attribute, column: TextColumn, missing: tuple[str, ...], options: ReadOptions
) -> tuple[Values, list[str]]:
    """Return a column parsed by its declared type, and notes."""
    name, declared_kind, notes = column.name, None, list[str]()
    present = column.without_texts(missing)
    spec = ColumnSpec(name, name, missing=missing)
    if attribute.type == "numeric" and merges(present.levels):
        notes = [digits_note(present)]
    elif attribute.type == "numeric":
        spec, declared_kind = replace(spec, type="number", kind="numeric"), "numeric"
    elif attribute.type == "nominal":
        order = tuple(dict.fromkeys(level.strip() for level in attribute.levels))
        spec, declared_kind, notes = replace(spec, order=order), "categorical", _undeclared_note(attribute, present)
    elif attribute.type == "date":
        if options.dayfirst is None:
            options = replace(options, dayfirst=attribute.dayfirst)
        if (dates := parse_dates(present, options)) is not None:
            spec = replace(spec, type="date", form=dates.form, day_first=dates.day_first, pivot=dates.pivot)
            notes = list(dates.notes)
    typed_column, is_unreadable = read_column(column, spec)
    check_numbers(column, is_unreadable)
    return replace(typed_column, declared=declared_kind), notes


def _undeclared_note(attribute: Attribute, column: TextColumn) -> list[str]:
    """Return the note on levels that are not declared; [] without any."""
    undeclared = [level for level in column.levels.to_pylist() if level not in set(map(str.strip, attribute.levels))]
    if not undeclared:
        return []
    rows_text = plural(column.count(undeclared), "row holds", "rows hold")
    suggestion = nearest(undeclared[0], attribute.levels[:1000])
    return [f"{rows_text} levels of {attribute.name!r} that are not declared: {listed(undeclared)}{suggestion}"]
