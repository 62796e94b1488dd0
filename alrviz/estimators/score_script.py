"""Predict new rows with an exported model: CSV or Parquet in, CSV out. It needs numpy and pyarrow, nothing else.

    python score.py rows.csv -o predictions.csv                          beside the unpacked files of the model
    python score.py rows.csv -o predictions.csv --model model.zip
    >>> Model("model.zip").predict_proba({"colour": ["red", None], "size": [1.5, 2]})          # doctest: +SKIP

Rows are read as the model's table was, where `model.json` says how ("reading"): delimiter, lines before the names,
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

from alrviz.data.reading import (
    FOOTER,
    MOST_TITLES,
    NO_READING,
    ColumnReading,
    LevelCodes,
    Made,
    Reading,
    Tally,
    distinct_names,
)
from alrviz.estimators.score_forms import FORMS

FORMAT = 1
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
        known = about.get("reading")
        self.reading = Reading.from_dict(known) if known else Reading.of_columns(columns, signs)
        self.day_first: bool | None = None  # in dates of the rows, where somebody says so
        self.columns = [Column(state, signs) for state in columns]
        self.unread: dict[str, list[str]] = {}  # by column, a text for each row, empty where it could be read
        self._form = FORMS[about["form"]](about, tables, self.columns)

    def codes(self, table: Mapping[str, Any]) -> "np.ndarray":
        """Return the codes (a, N) of a table: an arrow table, or a mapping from each column's name to its values."""
        return self._codes(self.values(table))

    def values(self, table: Mapping[str, Any]) -> "list[pa.Array]":
        """Return the model's columns of a table; what could not be read is missing, and kept in `unread`."""
        tallies: dict[str, Tally] = {}
        values = self._values(table, tallies)
        _refuse(tallies)
        return values

    def _values(self, table: Mapping[str, Any], tallies: dict[str, Tally]) -> "list[pa.Array]":
        """The same of a part of a table, of which `tallies` count what can be read and what cannot."""
        given = list(table.column_names if isinstance(table, pa.Table) else table)
        names = dict(zip(distinct_names(given)[0], given, strict=True))
        features = self.reading.at_hand(names, self.day_first)
        lost = [name for name in dict.fromkeys(own.source for own in features) if name not in names]
        if lost:
            raise ValueError(f"no column {lost[0]!r} in the table ({len(lost)} not found)")
        self.unread = {}
        found, told = [], dict[str, Tally]()  # a date is made into several features
        for feature in features:
            column = _array(table[names[feature.source]])
            values, bad = made = read_array(feature, column)
            if feature.source not in told:
                such = repr(column[int(bad.argmax())].as_py())[:60] if bad.any() else ""
                told[feature.source] = Tally.of(feature, such, made)
                self._tell(feature, column, bad)
            found.append(pa.array(values, from_pandas=True))
        tallies |= {name: tallies[name].plus(tally) if name in tallies else tally for name, tally in told.items()}
        return found

    def _tell(self, feature: ColumnReading, column: "pa.Array", bad: "np.ndarray") -> None:
        if bad.any():
            words = [f"{feature.source}={value} (not {feature.what})" for value in column.to_pylist()]
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

        ValueError, at the end, where nothing of a column could be read; what could not is counted in `tallies`.
        """
        what = "p" if self.about["probabilities"] else "score"
        self.tallies: dict[str, Tally] = {}
        yield ["row", "prediction", *safe_names([f"{what}({label})" for label in self.classes]), "unseen"]
        for begin in range(0, table.num_rows, ROWS):
            values = self._values(table.slice(begin, ROWS), self.tallies)
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
        _refuse(self.tallies)


def _refuse(tallies: Mapping[str, Tally]) -> None:
    for name, tally in tallies.items():
        if refusal := tally.refusal(name):
            raise ValueError(refusal)


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


def read_array(feature: ColumnReading, column: "pa.Array") -> Made:
    """Return a feature of each row (N,) of any arrow array, and which rows hold something that cannot be read."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return feature.of_numbers(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    if feature.how == "date" and (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        dates = column.cast(pa.timestamp("us")).to_numpy(zero_copy_only=False)
        return feature.of_dates(dates), np.zeros(len(dates), dtype=bool)
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        column = pa.array([None if value is None else str(value) for value in column.to_pylist()], type=pa.string())
    distinct = column.cast(pa.string()).dictionary_encode()
    return feature.of_cells(distinct.dictionary, distinct.indices.fill_null(-1).to_numpy(zero_copy_only=False))


def read_text(data: bytes, reading: Reading, delimiter: str | None = None) -> "pa.Table":
    """Return the rows of a text, every cell of which is text, laid out as the table was, or as its names show."""
    layout, said = reading.layout, reading.said
    lines = list(io.StringIO(_decoded(data, layout, said), newline=""))
    mark, own = layout.get("comment") or "", delimiter or layout.get("delimiter", ",")
    if mark:
        lines = [_uncommented(line, mark, own, reading.head) for line in lines]
    while lines and not lines[-1].strip(" \r\n\x1a"):
        lines.pop()
    if said.get("skip_footer"):
        del lines[-said["skip_footer"] :]
    why = ""
    for each in dict.fromkeys((own, *(() if delimiter else ",;\t|"))):
        try:
            found = _below_names(lines, each, reading)
        except csv.Error as error:
            found, why = None, f" ({error}: a quote that is not closed?)"
        if found is not None:
            return _rows(lines[found[0] :], found[1], each, bool(layout.get("skip_footer")))
    first = next((line.strip() for line in lines if line.strip()), "")
    raise ValueError(f"the names {reading.sources} are not in the file, whose first line is {first[:200]!r}{why}")


def _decoded(data: bytes, layout: Mapping[str, Any], said: Mapping[str, Any]) -> str:
    marks = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
    marked = next((name for mark, name in marks.items() if data.startswith(mark)), "utf-8")
    before = layout.get("encoding", "utf-8")
    for encoding in (said.get("encoding") or marked, before if not before.startswith("utf") else "cp1252"):
        try:
            return data.decode(encoding).replace("\0", "")
        except UnicodeError:
            continue
    return data.decode("latin-1")


def _uncommented(line: str, mark: str, delimiter: str, head: Sequence[str]) -> str:
    """A line that is a comment as an empty one; without the mark where it holds the names."""
    if not line.lstrip(" \t").startswith(mark):
        return line
    bare = line.strip().removeprefix(mark).lstrip()
    try:
        cells = next(csv.reader([bare], delimiter=delimiter), [])
    except csv.Error:  # too long for names
        cells = []
    return bare + "\n" if [cell.strip() for cell in cells] == [*head] else "\n"


def _below_names(lines: Sequence[str], delimiter: str, reading: Reading) -> tuple[int, list[str]] | None:
    """Which line the rows begin in, and the names of their cells; None where the names are not found."""
    rows, header = csv.reader(lines, delimiter=delimiter), int(reading.layout.get("header", 1))
    wanted, skipped = set(reading.sources), reading.said.get("skip_rows", 0)
    for count, row in enumerate(rows):
        cells = tuple(cell.strip() for cell in row)
        if cells and cells == reading.head:
            for _ in range(header - 1):
                next(rows, None)
            return rows.line_num, list(reading.names)
        if any(cells) and wanted <= set(names := distinct_names(cells)[0]) and header < 2:
            return rows.line_num, names
        if reading.unnamed and len(cells) == len(reading.names) and rows.line_num > skipped:
            return rows.line_num - 1, list(reading.names)
        if count > MOST_TITLES + max(skipped, reading.layout.get("skip_rows", 0)):
            return None
    return None


def _rows(lines: Sequence[str], names: Sequence[str], delimiter: str, footer: bool) -> "pa.Table":
    """The rows of lines below the names, without those that repeat the names, and lines behind the table."""
    wrong: list[Any] = []

    def skip(row: Any) -> str:
        wrong.append(row)
        return "skip"

    empty = pa.table({name: pa.array([], type=pa.string()) for name in names})
    if not any(line.strip() for line in lines):
        return empty
    content = "".join(lines).encode()
    table = pyarrow.csv.read_csv(
        pa.BufferReader(content if content.endswith((b"\n", b"\r")) else content + b"\n"),
        pyarrow.csv.ReadOptions(use_threads=False, block_size=1 << 26, column_names=list(names)),
        pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True, invalid_row_handler=skip),
        pyarrow.csv.ConvertOptions(column_types={name: pa.string() for name in names}, strings_can_be_null=False),
    )
    behind = [row for row in wrong if footer and row.number > table.num_rows]
    if len(behind) < len(wrong):
        bad = next(row for row in wrong if row not in behind)
        raise ValueError(f"row {bad.number} has {bad.actual_columns} cells and not {len(names)}: {bad.text[:200]!r}")
    kept = np.ones(table.num_rows, dtype=bool)
    named = [np.array([cell.strip() == name for cell in table[name].to_pylist()], dtype=bool) for name in names]
    # A name that stands in its column in other rows too is a level there, and the row may be one of these.
    repeats = named[0] if len(names) > 1 and all(np.array_equal(named[0], other) for other in named) else ~kept
    last = table[names[0]].slice(max(0, len(kept) - MOST_TITLES)).to_pylist()
    while footer and len(kept) > 2 and last and FOOTER.match(last.pop().strip()):
        kept[len(last) - min(MOST_TITLES, len(kept))] = False
    kept &= ~repeats
    left = len(wrong) + int((~kept).sum())
    if left:
        sys.stderr.write(f"score: {left} lines that repeat the names, or are behind the table, are left out\n")
    return table.filter(pa.array(kept))


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


def read_rows(path: str, reading: Reading, delimiter: str | None = None) -> "pa.Table":
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
    return read_text(Path(path).read_bytes(), reading, delimiter)


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
        table = read_rows(options.rows, model.reading, options.delimiter)
        model.day_first = options.dayfirst
        if not model.about.get("reading"):
            sys.stderr.write(f"score: {NO_READING}\n")
        if not table.num_rows:
            raise ValueError(f"{options.rows} has no rows to predict; a line of names and a row at least were expected")
        csv.writer(text, lineterminator="\n").writerows(model.predictions(table))
        for column, tally in model.tallies.items():
            values = "1 value" if tally.bad == 1 else f"{tally.bad:,} values"
            if tally.bad:
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
