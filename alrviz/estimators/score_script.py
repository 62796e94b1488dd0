"""Predict new rows with an exported model: CSV or Parquet in, CSV out. It needs numpy and pyarrow, nothing else.

    python score.py rows.csv -o predictions.csv                          beside the unpacked files of the model
    python score.py rows.csv -o predictions.csv --model model.zip
    >>> Model("model.zip").predict_proba({"colour": ["red", None], "size": [1.5, 2]})          # doctest: +SKIP

Rows are read by the spec in `model.json`: delimiter, lines before the names, dates, units, spellings, missing values. A
value that does not fit is missing and listed in the column "unseen". Without a spec texts are unchanged levels; empty
cells, and signs of a missing value that are no level, are missing (`LevelCodes`). p(k | x) = softmax(score)(k); the
class of the model's form (Linear, Network, Average, Density; see `model.json`) computes scores from levels and numbers.
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
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from alrviz.data.apply_layout import apply_layout
from alrviz.data.delimited import read_delimited
from alrviz.data.options import ReadOptions
from alrviz.data.parse_cells import Counts, check_counts, parse_features, source_column
from alrviz.data.parse_spec import NO_SPEC, ParseSpec
from alrviz.data.parse_values import LevelCodes, distinct_names
from alrviz.data.source import FORMAT_NAMES, PARQUET_START, load_bytes, sniff_format
from alrviz.data.text import DETECTED, ReadRequest, TextColumn
from alrviz.errors import plural
from alrviz.estimators.score_forms import FORMS

FORMAT = 1
BATCH_ROWS = 50_000  # predicted at a time
FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")  # first characters of formulas in spreadsheets
# If the comma is the decimal mark, spreadsheets split lines at semicolons, also within quotes that begin mid-line.
_CELL_START = re.compile(r'(?<=[;\t\r\n])(?=[ "]*[=+\-@|%])')


def safe_cell(value: Any) -> Any:
    """Return a cell without formulas for a spreadsheet: an apostrophe is put before each sign that would begin one.

    Values other than text are returned unchanged.
    """
    if not isinstance(value, str):
        return value
    return ("'" if value.startswith(FORMULA_SIGNS) else "") + _CELL_START.sub("'", value)


def safe_names(names: Sequence[Any]) -> list[Any]:
    """Return `safe_cell` of column names; if two become equal, the changed one gets a number."""
    originals, cells = set(names), dict[Any, None]()
    for name in names:
        cell = safe_name = safe_cell(name)
        suffix = 2
        while cell in cells or (cell != name and cell in originals):
            cell, suffix = f"{safe_name} ({suffix})", suffix + 1
        cells[cell] = None
    return list(cells)


class Column:
    """Encodes the values of one column; `levels` is the number of levels, and the code of a value that is no level."""

    def __init__(self, state: Mapping[str, Any], signs: Sequence[str]):
        self.name, self.numeric, self.cuts = state["name"], state["kind"] == "numeric", state["cuts"]
        self.levels = len(state["labels"])
        self.missing = self.levels if state["missing_code"] is None else state["missing_code"]
        self._codes = LevelCodes(state["values"] or (), self.missing, self.levels, signs)
        self._numbers = {value: code for code, value in enumerate(state["values"] or ())} if self.numeric else {}

    def is_missing(self, value: Any) -> bool:
        """Return whether a value is missing."""
        return value is None or value != value if self.numeric else self._codes.is_missing(value)

    def code(self, value: Any) -> int:
        """Return the code of a value: that of its level, or the number of levels if it is none."""
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
        """Return the codes (N,) of an arrow array; each distinct value is encoded once."""
        return _map_distinct(values, self.code, self.missing)

    def numbers(self, values: "pa.Array") -> "np.ndarray":
        """Return the numbers (N,) of an arrow array, NaN where they are missing."""
        return _map_distinct(values, lambda value: np.nan if self.is_missing(value) else self.number(value), np.nan)


def _map_distinct(values: "pa.Array", function: Callable[[Any], Any], missing: Any) -> "np.ndarray":
    distinct = values.dictionary_encode()
    lookup = np.array([function(value) for value in distinct.dictionary.to_pylist()] + [missing])
    return lookup[distinct.indices.fill_null(-1).to_numpy(zero_copy_only=False)]


class Model:
    """An exported model: a zip file, or the folder with its files."""

    def __init__(self, place: Any):
        with _model_files(place) as read_file:
            metadata = json.loads(read_file("model.json"))
            if metadata["format"] != FORMAT:
                raise ValueError(f"model format {metadata['format']!r}; this script reads format {FORMAT}")
            tables = {name: _table(read_file(name)) for name in metadata["rows"]}
        self.about, self.classes = metadata, metadata["encoder"]["classes"]["labels"]
        columns, signs = metadata["encoder"]["columns"], metadata["missing_tokens"]
        spec = metadata.get("spec")
        self.spec = ParseSpec.from_dict(spec) if spec else ParseSpec.of_model(columns, signs)
        self.options = DETECTED  # they take precedence over the spec's
        self.columns = [Column(state, signs) for state in columns]
        self.unread: dict[int, list[str]] = {}  # unreadable values by row
        self._form = FORMS[metadata["form"]](metadata, tables, self.columns)

    def codes(self, table: Mapping[str, Any]) -> "np.ndarray":
        """Return the codes (a, N) of a table: an arrow table, or a mapping from each column's name to its values."""
        return self._codes(self.values(table))

    def values(self, table: Mapping[str, Any], counts: Counts | None = None) -> "list[pa.Array]":
        """Return the model's columns of a table; unreadable values are missing, counted, and listed in `unread`.

        Raises `TableError` for a column without any readable value.
        """
        counts = Counts() if counts is None else counts
        names_in_table = list(table.column_names if isinstance(table, pa.Table) else table)
        names = dict(zip(distinct_names(names_in_table)[0], names_in_table, strict=True))
        features = self.spec.for_columns(names, self.options)
        sources = {feature.source for feature in features}
        columns = {source: source_column(source, _array(table[names[source]])) for source in sources}
        values, self.unread = parse_features(columns, features, counts)
        check_counts(counts)
        return [pa.array(column, from_pandas=True) for column in values]

    def _codes(self, values: "list[pa.Array]") -> "np.ndarray":
        return np.array([column.codes(array) for column, array in zip(self.columns, values, strict=True)])

    def scores(self, table: Mapping[str, Any]) -> "np.ndarray":
        """Return the class scores (N, C) of a table, as `codes` takes it."""
        values = self.values(table)
        return self._scores(values, self._codes(values))

    def _scores(self, values: "list[pa.Array]", codes: "np.ndarray") -> "np.ndarray":
        z: np.ndarray = self._form.scores(codes, lambda j: self.columns[j].numbers(values[j]))
        return z

    def predict_proba(self, table: Mapping[str, Any]) -> "np.ndarray":
        """Return p(class | row), (N, C), of a table, as `codes` takes it, in the order of `classes`."""
        return _softmax(self.scores(table))

    def predictions(self, table: "pa.Table") -> Iterator[list[Any]]:
        """Yield the lines of the CSV: the names of its columns, then for each row its number, predicted class,
        probability or score of each class, and unseen values.

        Raises `TableError` for a column without any readable value; `counts` has the unreadable ones.
        """
        measure = "p" if self.about["probabilities"] else "score"
        self.counts: Counts = {}
        yield ["row", "prediction", *safe_names([f"{measure}({label})" for label in self.classes]), "unseen"]
        whole_columns = self.values(table, self.counts)  # not slice by slice: an empty cell may have the value above
        for begin in range(0, table.num_rows, BATCH_ROWS):
            values = [column.slice(begin, BATCH_ROWS) for column in whole_columns]
            codes = self._codes(values)
            z = self._scores(values, codes)
            numbers = _softmax(z) if measure == "p" else z
            columns_with_unseen = [
                (column, codes[j] == column.levels, values[j].to_pylist()) for j, column in enumerate(self.columns)
            ]
            for i, best_class in enumerate(z.argmax(axis=1).tolist()):
                unseen_notes = [*self.unread.get(begin + i, ())]
                unseen_notes += [
                    f"{column.name}={cells[i]}"
                    for column, no_level, cells in columns_with_unseen
                    if no_level[i] and not column.is_missing(cells[i])
                ]
                unseen_cell = safe_cell("; ".join(unseen_notes))
                yield [begin + i + 1, safe_cell(self.classes[best_class]), *numbers[i].tolist(), unseen_cell]


def _softmax(z: "np.ndarray") -> "np.ndarray":
    shifted = z - z.max(axis=1, keepdims=True)
    p: np.ndarray = np.exp(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))
    return p


def _array(values: Any) -> "pa.Array":
    if isinstance(values, pa.ChunkedArray):
        joined = values.combine_chunks()
        values = joined.chunk(0) if isinstance(joined, pa.ChunkedArray) else joined
    return values if isinstance(values, pa.Array) else pa.array(values, from_pandas=True)


@contextmanager
def _model_files(place: Any) -> Iterator[Callable[[str], bytes]]:
    """Open a model's zip or folder; the context is a function that reads a file by name."""
    if not hasattr(place, "read") and Path(place).is_dir():
        yield lambda name: (Path(place) / name).read_bytes()
    else:
        with zipfile.ZipFile(place) as zipped:
            yield zipped.read


def _table(data: bytes) -> "pa.Table":
    # Without threads: one that releases Python's bytes while the interpreter exits would abort the process.
    return pyarrow.parquet.ParquetFile(pa.BufferReader(data)).read(use_threads=False)


def read_text(data: bytes, spec: ParseSpec, options: ReadOptions = DETECTED) -> "pa.Table":
    """Return the rows of a delimited text in the spec's layout, else in the detected one; every cell is text."""
    raw = apply_layout(data, spec, ReadRequest(options), read_delimited)
    for note in raw.notes:
        sys.stderr.write(f"score: {note}\n")
    columns = {
        column.name: pa.DictionaryArray.from_arrays(pa.array(column.codes, mask=column.codes < 0), column.levels)
        for column in raw.columns
        if isinstance(column, TextColumn)
    }
    return pa.table(columns)


def _is_parquet(path: str) -> bool:
    """Return whether a path is that of a Parquet file which is not packed; False for a path that cannot be opened."""
    try:
        with Path(path).open("rb") as file:
            return file.read(len(PARQUET_START)) == PARQUET_START
    except (OSError, ValueError):  # `load_bytes` explains it
        return False


def read_rows(path: str, spec: ParseSpec, options: ReadOptions = DETECTED) -> "pa.Table":
    """Return the columns of a Parquet file, or those of a delimited text, with every cell as text."""
    if _is_parquet(path):  # by its path: its bytes need not be in memory beside the table
        return pyarrow.parquet.ParquetFile(path).read()
    data, _ = load_bytes(path, ReadRequest(options))
    kind = sniff_format(data)
    if kind == "parquet":
        return pyarrow.parquet.ParquetFile(pa.BufferReader(data)).read()
    if kind != "delimited":
        raise ValueError(
            f"{path} is {FORMAT_NAMES[kind]}; this script reads CSV, TSV and Parquet. Save the table as CSV (in a "
            f"spreadsheet program: save as CSV UTF-8), or, where alrviz is installed: alrviz predict MODEL.zip {path}"
        )
    return read_text(bytes(data), spec, options)


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
    output = io.StringIO()
    try:
        model = Model(options.model)
        table = read_rows(options.rows, model.spec, ReadOptions(delimiter=options.delimiter))
        model.options = ReadOptions(dayfirst=options.dayfirst)
        if not model.about.get("spec"):
            sys.stderr.write(f"score: {NO_SPEC}\n")
        if not table.num_rows:
            raise ValueError(f"{options.rows} has no rows to predict; a line of names and a row at least were expected")
        csv.writer(output, lineterminator="\n").writerows(model.predictions(table))
        for column, count in model.counts.items():
            if count.bad:
                values_text = plural(count.bad, "value")
                sys.stderr.write(f"score: {values_text} of {column!r} cannot be read: missing; 'unseen' names them\n")
        if options.out:
            Path(options.out).write_text(output.getvalue(), encoding="utf-8", newline="")
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:  # arrow's errors are ValueErrors and KeyErrors
        sys.stderr.write(f"score: {error}\n")
        return 2
    if not options.out:
        sys.stdout.write(output.getvalue())
    return 0


if __name__ == "__main__":
    sys.exit(main())
