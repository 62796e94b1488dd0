"""Predict new rows with an exported model: CSV or Parquet in, CSV out. It needs numpy and pyarrow, nothing else.

    python score.py rows.csv -o predictions.csv                          beside the unpacked files of the model
    python score.py rows.csv -o predictions.csv --model model.zip
    >>> Model("model.zip").predict_proba({"colour": ["red", None], "size": [1.5, 2]})          # doctest: +SKIP

Rows are read as the model's table was, where `model.json` says how ("spec"): delimiter, lines before the names,
dates, units, spellings, what is missing. What does not fit is missing, and told. Without it texts are levels as they
stand; an empty cell, and a sign of a missing value that is no level, is missing (`LevelCodes`). How scores come
of levels and numbers, p(k | x) = softmax(score)(k), is said by the class of each form: Linear, Network, Average,
Density. `model.json` names the model's.
"""

import argparse
import csv
import io
import json
import re
import sys
import zipfile
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from alrviz.data.apply_layout import apply_layout
from alrviz.data.delimited import read_delimited
from alrviz.data.limits import NO_LIMITS
from alrviz.data.options import ReadOptions
from alrviz.data.parse_spec import (
    NO_SPEC,
    ColumnSpec,
    Counts,
    ParsedValues,
    ParseErrorCounts,
    ParseSpec,
    add_counts,
    check_counts,
)
from alrviz.data.parse_values import LevelCodes, distinct_names
from alrviz.data.text import TextColumn
from alrviz.errors import TableError, listed
from alrviz.estimators.score_forms import FORMS
from alrviz.stop import NEVER

FORMAT = 1
DETECTED = ReadOptions()
ROWS = 50_000  # predicted at a time
SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")  # what a spreadsheet takes for the begin of a formula
# Where the comma is the decimal mark, spreadsheets cut lines at semicolons, also within quotes that begin mid-line.
_CELL_START = re.compile(r'(?<=[;\t\r\n])(?=[ "]*[=+\-@|%])')


def safe_cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula, or cuts into cells of which one is: apostrophes stand
    before the signs; anything but text is left alone.
    """
    if not isinstance(value, str):
        return value
    return ("'" if value.startswith(SIGNS) else "") + _CELL_START.sub("'", value)


def safe_names(names: Sequence[Any]) -> list[Any]:
    """Return `safe_cell` of each column's name; of names that become equal, those that changed get a number."""
    given, taken = set(names), dict[Any, None]()
    for name in names:
        cell = base = safe_cell(name)
        count = 2
        while cell in taken or (cell != name and cell in given):
            cell, count = f"{base} ({count})", count + 1
        taken[cell] = None
    return list(taken)


class Column:
    """How the values of one column become codes; `levels` is the code of what has no level."""

    def __init__(self, state: Mapping[str, Any], signs: Sequence[str]):
        self.name, self.numeric, self.cuts = state["name"], state["kind"] == "numeric", state["cuts"]
        self.levels = len(state["labels"])
        self.missing = self.levels if state["missing_code"] is None else state["missing_code"]
        self._codes = LevelCodes(state["values"] or (), self.missing, self.levels, signs)
        self._numbers = {value: code for code, value in enumerate(state["values"] or ())} if self.numeric else {}

    def is_missing(self, value: Any) -> bool:
        """Whether a value stands for none."""
        return value is None or value != value if self.numeric else self._codes.is_missing(value)

    def code(self, value: Any) -> int:
        """Return the code of a value."""
        if not self.numeric:
            return self._codes.code(value)
        if self.is_missing(value):
            return int(self.missing)
        number = self.number(value)
        return self._numbers.get(number, self.levels) if self.cuts is None else bisect_left(self.cuts, number)

    def number(self, value: Any) -> float:
        """Return a value as a finite number."""
        number = float(value)
        if number - number != 0:
            raise ValueError(f"column {self.name!r} takes finite numbers, and holds {value!r}")
        return number

    def codes(self, values: "pa.Array") -> "np.ndarray":
        """Return the codes (N,) of an arrow array: each distinct value is looked at once."""
        return _each(values, self.code, self.missing)

    def numbers(self, values: "pa.Array") -> "np.ndarray":
        """Return the numbers (N,) of an arrow array, NaN where they are missing."""
        return _each(values, lambda value: np.nan if self.is_missing(value) else self.number(value), np.nan)


def _each(values: "pa.Array", function: Callable[[Any], Any], missing: Any) -> "np.ndarray":
    distinct = values.dictionary_encode()
    lookup = np.array([function(value) for value in distinct.dictionary.to_pylist()] + [missing])
    return lookup[distinct.indices.fill_null(-1).to_numpy(zero_copy_only=False)]


class Model:
    """An exported model: a zip file, or the folder it was unpacked to."""

    def __init__(self, place: Any):
        with _files(place) as read:
            about = json.loads(read("model.json"))
            if about["format"] != FORMAT:
                raise ValueError(f"model format {about['format']!r}; this script reads format {FORMAT}")
            tables = {name: _table(read(name)) for name in about["rows"]}
        self.about, self.classes = about, about["encoder"]["classes"]["labels"]
        columns, signs = about["encoder"]["columns"], about["missing_tokens"]
        known = about.get("spec")
        self.spec = ParseSpec.from_dict(known) if known else ParseSpec.of_model(columns, signs)
        self.day_first: bool | None = None  # in dates of the rows, where somebody says so
        self.columns = [Column(state, signs) for state in columns]
        self.unread: dict[str, list[str]] = {}  # by column, a text for each row, empty where it could be read
        self._form = FORMS[about["form"]](about, tables, self.columns)

    def codes(self, table: Mapping[str, Any]) -> "np.ndarray":
        """Return the codes (a, N) of a table: an arrow table, or a mapping from each column's name to its values."""
        return self._codes(self.values(table))

    def values(self, table: Mapping[str, Any]) -> "list[pa.Array]":
        """Return the model's columns of a table; what could not be read is missing, and kept in `unread`."""
        counts: Counts = {}
        values = self._values(table, counts)
        check_counts(counts)
        return values

    def _values(self, table: Mapping[str, Any], counts: Counts) -> "list[pa.Array]":
        """The same of a part of a table, of which `counts` count what can be read and what cannot."""
        given = list(table.column_names if isinstance(table, pa.Table) else table)
        names = dict(zip(distinct_names(given)[0], given, strict=True))
        features = self.spec.for_columns(names, self.day_first)
        lost = [name for name in dict.fromkeys(each.source for each in features) if name not in names]
        if lost:
            raise TableError(
                f"no column {lost[0]!r} in the table, whose columns are {listed(list(names))} ({len(lost)} not found)"
            )
        self.unread = {}
        arrays, own = [], Counts()  # a date is made into several features
        for feature in features:
            column = _array(table[names[feature.source]])
            values, bad = parsed = read_array(feature, column)
            if feature.source not in own:
                example = repr(column[int(bad.argmax())].as_py())[:60] if bad.any() else ""
                own[feature.source] = ParseErrorCounts.of(feature, example, parsed)
                self._tell(feature, column, bad)
            arrays.append(pa.array(values, from_pandas=True))
        add_counts(counts, own)
        return arrays

    def _tell(self, feature: ColumnSpec, column: "pa.Array", bad: "np.ndarray") -> None:
        if bad.any():
            words = [f"{feature.source}={value} (not {feature.expected})" for value in column.to_pylist()]
            self.unread[feature.source] = [word if wrong else "" for word, wrong in zip(words, bad, strict=True)]

    def _codes(self, values: "list[pa.Array]") -> "np.ndarray":
        return np.array([column.codes(own) for column, own in zip(self.columns, values, strict=True)])

    def scores(self, table: Mapping[str, Any]) -> "np.ndarray":
        """Return the class scores (N, C) of a table."""
        values = self.values(table)
        return self._scores(values, self._codes(values))

    def _scores(self, values: "list[pa.Array]", codes: "np.ndarray") -> "np.ndarray":
        z: np.ndarray = self._form.scores(codes, lambda j: self.columns[j].numbers(values[j]))
        return z

    def predict_proba(self, table: Mapping[str, Any]) -> "np.ndarray":
        """Return p(class | row), (N, C), columns as in `classes`."""
        return _softmax(self.scores(table))

    def predictions(self, table: "pa.Table") -> Iterator[list[Any]]:
        """Yield a line of names, then a line for each row: its number, class, numbers by class, unseen values.

        ValueError, at the end, where nothing of a column could be read; what could not is counted in `counts`.
        """
        what = "p" if self.about["probabilities"] else "score"
        self.counts: Counts = {}
        yield ["row", "prediction", *safe_names([f"{what}({label})" for label in self.classes]), "unseen"]
        for begin in range(0, table.num_rows, ROWS):
            values = self._values(table.slice(begin, ROWS), self.counts)
            codes = self._codes(values)
            z = self._scores(values, codes)
            numbers = _softmax(z) if what == "p" else z
            strange = [
                (column, codes[j] == column.levels, values[j].to_pylist()) for j, column in enumerate(self.columns)
            ]
            unread = list(self.unread.values())
            for i, best in enumerate(z.argmax(axis=1).tolist()):
                unseen = [own[i] for own in unread]
                unseen += [_mark(column, own[i]) for column, no_level, own in strange if no_level[i]]
                words = "; ".join(filter(None, unseen))
                yield [begin + i + 1, safe_cell(self.classes[best]), *numbers[i].tolist(), safe_cell(words)]
        check_counts(self.counts)


def _mark(column: Column, value: Any) -> str:
    return "" if column.is_missing(value) else f"{column.name}={value}"


def _softmax(z: "np.ndarray") -> "np.ndarray":
    shifted = z - z.max(axis=1, keepdims=True)
    p: np.ndarray = np.exp(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))
    return p


def _array(values: Any) -> "pa.Array":
    if isinstance(values, pa.ChunkedArray):
        joined = values.combine_chunks()
        values = joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined
    if isinstance(values, pa.DictionaryArray):
        values = values.dictionary_decode()
    return values if isinstance(values, pa.Array) else pa.array(values, from_pandas=True)


class _files:  # noqa: N801 (a context, read as a verb)
    """Read the files of a model by name, from a zip or a folder."""

    def __init__(self, place: Any):
        self._folder = Path(place) if not hasattr(place, "read") and Path(place).is_dir() else None
        self._zip = None if self._folder else zipfile.ZipFile(place)

    def __enter__(self) -> Any:
        return self._zip.read if self._zip else lambda name: (Path(self._folder or ".") / name).read_bytes()

    def __exit__(self, *_: object) -> None:
        if self._zip:
            self._zip.close()


def _table(data: bytes) -> "pa.Table":
    # On one thread: another that lets go of Python's bytes as the interpreter ends would abort the process.
    return pyarrow.parquet.ParquetFile(pa.BufferReader(data)).read(use_threads=False)


def read_array(feature: ColumnSpec, column: "pa.Array") -> ParsedValues:
    """Return a feature of each row (N,) of any arrow array, and which rows hold something that cannot be read."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return feature.take_numbers(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    if feature.type == "date" and (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        dates = column.cast(pa.timestamp("us")).to_numpy(zero_copy_only=False)
        return feature.take_dates(dates), np.zeros(len(dates), dtype=bool)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        column = pa.array([None if value is None else str(value) for value in column.to_pylist()], type=pa.string())
    distinct = column.cast(pa.string()).dictionary_encode()
    return feature.parse_cells(distinct.dictionary, distinct.indices.fill_null(-1).to_numpy(zero_copy_only=False))


def read_text(data: bytes, spec: ParseSpec, options: ReadOptions = DETECTED) -> "pa.Table":
    """Return the rows of a text, every cell of which is text, laid out as the table was, or as its names show."""
    notes: list[str] = []
    raw = apply_layout(
        data, spec, options, lambda tried, known: read_delimited(data, tried, NO_LIMITS, NEVER, known), notes
    )
    for note in notes:
        sys.stderr.write(f"score: {note}\n")
    columns = {
        column.name: pa.DictionaryArray.from_arrays(pa.array(column.codes, mask=column.codes < 0), column.levels)
        for column in raw.columns
        if isinstance(column, TextColumn)
    }
    return pa.table(columns)


# What no text of a table begins with.
_FORMATS = {
    b"PK\x03\x04": "a workbook (xlsx, ods) or a zip archive",
    b"\xd0\xcf\x11\xe0": "a workbook of an old kind (xls)",
    b"\x1f\x8b": "packed (gzip)",
    b"BZh": "packed (bzip2)",
    b"\xfd7zXZ": "packed (xz)",
    b"\x28\xb5\x2f\xfd": "packed (Zstandard)",
    b"ARROW1": "an Arrow file",
    b'{"': "JSON",
    b"[{": "JSON",
}


def _other_format(head: bytes) -> str:
    """What a file is that has no text of a table, empty where it has."""
    bare = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if found := next((what for mark, what in _FORMATS.items() if bare.startswith(mark)), ""):
        return found
    if bare[:9].lower() == b"@relation":
        return "an ARFF file"
    wide = head.startswith((b"\xff\xfe", b"\xfe\xff"))
    return "" if wide or head.count(b"\0") <= len(head) // 10 else "binary data"


def read_rows(path: str, spec: ParseSpec, options: ReadOptions = DETECTED) -> "pa.Table":
    """Return the columns of a Parquet file, or of a CSV file, every cell of which is text."""
    with Path(path).open("rb") as file:
        head = file.read(1 << 16)
    if head.startswith(b"PAR1"):
        return pyarrow.parquet.ParquetFile(path).read()
    if what := _other_format(head):
        raise ValueError(
            f"{path} is {what}; this script reads CSV, TSV and Parquet. Save the table as CSV (in a spreadsheet "
            f"program: save as CSV UTF-8), or, where alrviz is installed: alrviz predict MODEL.zip {path}"
        )
    return read_text(Path(path).read_bytes(), spec, options)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Predict new rows with an exported model: CSV or Parquet in, CSV out.")
    parser.add_argument("rows", help="CSV or Parquet, as the table that the model learned from")
    parser.add_argument("-o", "--out", help="file to write (default: the screen)")
    parser.add_argument("--model", default=str(Path(__file__).parent), help="the zip, or its folder (default: here)")
    order = parser.add_mutually_exclusive_group()
    order.add_argument("--day-first", dest="dayfirst", action="store_const", const=True, help="5/6/2020 is 5 June")
    order.add_argument("--month-first", dest="dayfirst", action="store_const", const=False, help="5/6/2020 is 6 May")
    parser.add_argument("--delimiter", help="of the CSV (default: as in the model's table, else a comma)")
    options = parser.parse_args(arguments)
    text = io.StringIO()
    try:
        model = Model(options.model)
        table = read_rows(options.rows, model.spec, ReadOptions(delimiter=options.delimiter))
        model.day_first = options.dayfirst
        if not model.about.get("spec"):
            sys.stderr.write(f"score: {NO_SPEC}\n")
        if not table.num_rows:
            raise ValueError(f"{options.rows} has no rows to predict; a line of names and a row at least were expected")
        csv.writer(text, lineterminator="\n").writerows(model.predictions(table))
        for column, count in model.counts.items():
            values = "1 value" if count.bad == 1 else f"{count.bad:,} values"
            if count.bad:
                sys.stderr.write(f"score: {values} of {column!r} cannot be read: missing; 'unseen' names them\n")
        if options.out:
            Path(options.out).write_text(text.getvalue(), encoding="utf-8", newline="")
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:  # arrow's errors are ValueErrors and KeyErrors
        sys.stderr.write(f"score: {error}\n")
        return 2
    if not options.out:
        sys.stdout.write(text.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(main())
