"""A table written in any convention reads back as it was."""

import csv
import gzip
import io

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from alrviz.data.options import ReadOptions
from alrviz.data.read import read_table

NAMES = st.text("abcdefghijklmnopqrstuvwxyzäöüé_ ", min_size=1, max_size=8).map(str.strip).filter(bool)
# Letters with everything that has a meaning in such files between them; the letters keep a cell from being a number.
CELLS = st.text("abcxyzé,;|\t\" \n.'=<>&%", min_size=1, max_size=12).map(lambda text: "w" + text.strip() + "w")
NUMBERS = st.floats(-1e6, 1e6, allow_nan=False).map(lambda number: round(number, 4))


@st.composite
def tables(draw):
    """Columns of text and of numbers, gaps among them, and a class."""
    n_rows = draw(st.integers(2, 12))
    names = draw(st.lists(NAMES, min_size=2, max_size=5, unique_by=str.lower))
    columns = {}
    for position, name in enumerate(names[:-1]):
        cells = CELLS if draw(st.booleans()) else NUMBERS
        column = draw(st.lists(st.one_of(cells, st.none()), min_size=n_rows, max_size=n_rows))
        columns[f"{name}{position}"] = column
    columns["class"] = [f"k{draw(st.integers(0, 2))}" for _ in range(n_rows - 2)] + ["k0", "k1"]
    return columns


def written(columns, delimiter: str, decimal: str, gap: str, quoting, end: str) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=delimiter, quoting=quoting, lineterminator=end)
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(
            [gap if c is None else f"{c:.4f}".replace(".", decimal) if isinstance(c, float) else c for c in row]
        )
    return text.getvalue()


@given(
    tables(),
    st.sampled_from([(",", "."), (";", "."), (";", ","), ("\t", "."), ("\t", ","), ("|", ",")]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    st.sampled_from(["?", "NA", "null"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_round_trip(columns, marks, encoding, gap, quoting, end, packed):
    delimiter, decimal = marks
    data = written(columns, delimiter, decimal, gap, quoting, end).encode(encoding)
    options = ReadOptions(delimiter=delimiter, decimal=decimal, thousands="", missing=("", gap), header=True)
    kinds = {name: "ignore" for name in columns if name != "class"}
    frame = read_table(gzip.compress(data) if packed else data, "class", options=options).with_kinds(**kinds).frame
    assert list(frame) == list(columns)
    for name, column in columns.items():
        read = [None if pd.isna(cell) else cell for cell in frame[name]]
        assert read == column, name


@given(tables(), st.sampled_from([",", ";", "\t", "|"]))
def test_the_delimiter_is_found(columns, delimiter):
    columns = {
        name: [None if c is None else str(c).replace("\n", " ") for c in column] for name, column in columns.items()
    }
    data = written(columns, delimiter, ".", "", csv.QUOTE_ALL, "\n").encode()
    assert read_table(data, "class").options.delimiter == delimiter


@given(tables())
def test_the_hash_is_the_content_whatever_the_file(columns):
    plain = written(columns, ",", ".", "", csv.QUOTE_MINIMAL, "\n").encode()
    other = gzip.compress(written(columns, ";", ",", "?", csv.QUOTE_ALL, "\r\n").encode("utf-16"))
    options = ReadOptions(delimiter=";", decimal=",", thousands="", header=True)
    first = read_table(plain, "class", options=ReadOptions(delimiter=",", decimal=".", thousands="", header=True))
    second = read_table(other, "class", options=options)
    assert first.hash == second.hash
