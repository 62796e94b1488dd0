"""Score new rows with an exported model: CSV or Parquet in, CSV out. It needs numpy and pyarrow, nothing else.

    python score.py rows.csv -o predictions.csv                          beside the unpacked files of the model
    python score.py rows.csv -o predictions.csv --model model.zip
    >>> Model("model.zip").predict_proba({"colour": ["red", None], "size": [1.5, 2]})          # doctest: +SKIP

A value becomes a level by its text, else as a number; an empty cell, and a sign of a missing value that is no level, is
missing. How scores come of levels and numbers, p(k | x) = softmax(score)(k), is said by the class of each form: Linear,
Network, Average, Density. `model.json` names the model's.
"""

import argparse
import csv
import io
import json
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

from alrviz.estimators.score_forms import FORMS

FORMAT = 1
ROWS = 50_000  # scored at a time
# What a spreadsheet takes for a formula; a text cell that begins so is written with an apostrophe in front.
SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")


def safe_cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula; anything but text is left alone."""
    return f"'{value}" if isinstance(value, str) and value.startswith(SIGNS) else value


class Column:
    """How the values of one column become codes; `levels` is the code of what has no level."""

    def __init__(self, state: Mapping[str, Any], tokens: Sequence[str]):
        self.name, self.numeric = state["name"], state["kind"] == "numeric"
        self.cuts, self.values = state["cuts"], state["values"]
        self.levels = len(state["labels"])
        self.missing = self.levels if state["missing_code"] is None else state["missing_code"]
        self.tokens = frozenset(tokens)
        values = list(enumerate(self.values or ()))
        self._by_value = {value: code for code, value in reversed(values)}
        self._by_text = {str(value).strip(): code for code, value in reversed(values)}
        self._by_text |= {str(value): code for code, value in reversed(values)}

    def is_missing(self, value: Any) -> bool:
        """Whether a value stands for none: a token such as "NA" does unless it is a level."""
        if value is None or value != value:
            return True
        text = value.strip() if isinstance(value, str) else None
        return text == "" or (text in self.tokens and text not in self._by_text)

    def code(self, value: Any) -> int:
        """Return the code of a value."""
        if self.is_missing(value):
            return int(self.missing)
        if self.cuts is not None:
            return bisect_left(self.cuts, self.number(value))
        found = self._by_value.get(self.number(value) if self.numeric else value)
        return self._known(value) if found is None and not self.numeric else self._or_none(found)

    def _known(self, value: Any) -> int:
        """The code by text, "1.0" being 1: a file may hold as text what training had as numbers."""
        text = str(value)
        found = self._by_text.get(text, self._by_text.get(text.strip()))
        if found is None and (number := _number(text)) is not None and number.is_integer() and abs(number) < 2**53:
            found = self._by_text.get(str(int(number)))
        elif found is None and number is not None:
            found = self._by_text.get(repr(number))
        return self._or_none(found)

    def _or_none(self, code: int | None) -> int:
        return self.levels if code is None else code

    def number(self, value: Any) -> float:
        """Return a value as a finite number."""
        number = _number(value)
        if number is None or number - number != 0:
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


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, str) and "_" in value else float(value)
    except (TypeError, ValueError, OverflowError):
        return None


class Model:
    """An exported model: a zip file, or the folder it was unpacked to."""

    def __init__(self, place: Any):
        with _files(place) as read:
            about = json.loads(read("model.json"))
            if about["format"] != FORMAT:
                raise ValueError(f"model format {about['format']!r}; this script reads format {FORMAT}")
            tables = {name: _table(read(name)) for name in about["rows"]}
        self.about, self.classes = about, about["encoder"]["classes"]["labels"]
        self.columns = [Column(state, about["missing_tokens"]) for state in about["encoder"]["columns"]]
        self._form = FORMS[about["form"]](about, tables, self.columns)

    def codes(self, table: Mapping[str, Any]) -> "np.ndarray":
        """Return the codes (a, N) of a table: an arrow table, or a mapping from each column's name to its values."""
        names = table.column_names if isinstance(table, pa.Table) else table
        lost = [column.name for column in self.columns if column.name not in names]
        if lost:
            raise ValueError(f"no column {lost[0]!r} in the table ({len(lost)} not found)")
        return np.array([column.codes(_array(table[column.name])) for column in self.columns])

    def scores(self, table: Mapping[str, Any]) -> "np.ndarray":
        """Return the class scores (N, C) of a table."""
        return self._scores(table, self.codes(table))

    def _scores(self, table: Mapping[str, Any], codes: "np.ndarray") -> "np.ndarray":
        def numbers(j: int) -> "np.ndarray":
            return self.columns[j].numbers(_array(table[self.columns[j].name]))

        z: np.ndarray = self._form.scores(codes, numbers)
        return z

    def predict_proba(self, table: Mapping[str, Any]) -> "np.ndarray":
        """Return p(class | row), (N, C), columns as in `classes`."""
        return _softmax(self.scores(table))

    def predictions(self, table: "pa.Table") -> Iterator[list[Any]]:
        """Yield a line of names, then a line for each row: its number, class, numbers by class, unseen values."""
        what = "p" if self.about["probabilities"] else "score"
        yield ["row", "prediction", *(f"{what}({label})" for label in self.classes), "unseen"]
        for begin in range(0, table.num_rows, ROWS):
            part = table.slice(begin, ROWS)
            codes = self.codes(part)
            z = self._scores(part, codes)
            numbers = _softmax(z) if what == "p" else z
            strange = [
                (column, codes[j] == column.levels, part[column.name].to_pylist())
                for j, column in enumerate(self.columns)
            ]
            for i, best in enumerate(z.argmax(axis=1).tolist()):
                unseen = [_mark(column, values[i]) for column, no_level, values in strange if no_level[i]]
                words = "; ".join(filter(None, unseen))
                yield [begin + i + 1, safe_cell(self.classes[best]), *numbers[i].tolist(), safe_cell(words)]


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
    return pyarrow.parquet.ParquetFile(pa.BufferReader(data)).read()


def read_rows(path: str, names: Sequence[str], delimiter: str = ",") -> "pa.Table":
    """Return the named columns of a Parquet file, or of a CSV file in UTF-8, every cell of which is text."""
    with Path(path).open("rb") as file:
        if file.read(4) == b"PAR1":
            return pyarrow.parquet.ParquetFile(path).read()
    options = pyarrow.csv.ConvertOptions(
        column_types={name: pa.string() for name in names}, include_columns=list(names), strings_can_be_null=False
    )
    parse = pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    try:
        return pyarrow.csv.read_csv(path, parse_options=parse, convert_options=options)
    except KeyError:
        there = pyarrow.csv.open_csv(path, parse_options=parse).schema.names
        missing = [name for name in names if name not in there]
        raise ValueError(
            f"no column {missing[0]!r} in {path}, which has {there}; the model takes {list(names)}. Columns that a "
            "semicolon parts are read with --delimiter ';'; a date is scored by its parts, under the model's names"
        ) from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Score new rows with an exported model: CSV or Parquet in, CSV out.")
    parser.add_argument("rows", help="CSV (UTF-8, a first line of names) or Parquet")
    parser.add_argument("-o", "--out", help="file to write (default: the screen)")
    parser.add_argument("--model", default=str(Path(__file__).parent), help="the zip, or its folder (default: here)")
    parser.add_argument("--delimiter", default=",", help="of the CSV (default: a comma)")
    options = parser.parse_args(arguments)
    text = io.StringIO()
    try:
        model = Model(options.model)
        table = read_rows(options.rows, [column.name for column in model.columns], options.delimiter)
        csv.writer(text, lineterminator="\n").writerows(model.predictions(table))
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
