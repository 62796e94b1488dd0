"""The same table as packed files, as JSON and Arrow, as objects of other libraries, and in pieces."""

import bz2
import gzip
import io
import json
import lzma
import zipfile
from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pytest

from alrviz.data.apply_spec import read_new_rows
from alrviz.data.dataset import Dataset, dataset_of
from alrviz.data.doubts import DoubtCode
from alrviz.data.limits import Limits
from alrviz.data.options import ReadOptions
from alrviz.data.read import read_columns, read_table
from alrviz.data.source import sniff_format
from alrviz.data.stream.table import open_table
from alrviz.errors import FOREIGN_FORMAT, TableError, for_page

FRAME = pd.DataFrame(
    {
        "size": [i + 0.5 for i in range(30)],
        "colour": ["red", "blue", None] * 10,
        "when": pd.date_range("2020-01-01", periods=30).strftime("%Y-%m-%d"),
        "class": ["yes", "no"] * 15,
    }
)
CSV = FRAME.to_csv(index=False).encode()
EXPECTED = read_table(CSV)


def zipped(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_", "."), content)
    return buffer.getvalue()


def feather(compression):
    buffer = io.BytesIO()
    pyarrow.feather.write_feather(FRAME, buffer, compression=compression)
    return buffer.getvalue()


class Capsule:
    """A frame of a library that shares the Arrow stream and nothing else, as polars and DuckDB do."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class Interchange:
    """A frame of a library that shares the older protocol of data frames."""

    def __init__(self, table):
        self._table = table

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self._table.__dataframe__(nan_as_null, allow_copy)


def zstandard(data):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


TABLE = pa.Table.from_pandas(FRAME)
VIEWS = TABLE.set_column(1, "colour", TABLE["colour"].cast(pa.string_view()))
SOURCES = {
    "gzip": gzip.compress(CSV),
    "bzip2": bz2.compress(CSV),
    "xz": lzma.compress(CSV),
    "Zstandard": zstandard(CSV),
    "zip": zipped(table_csv=CSV),
    "zip with a text beside": zipped(table_csv=CSV, readme_md=b"what it is", README_txt=b"more"),
    "zip of Parquet": zipped(table_parquet=FRAME.to_parquet()),
    "JSON lines": FRAME.to_json(orient="records", lines=True).encode(),
    "a JSON list": FRAME.to_json(orient="records", indent=2).encode(),
    "JSON of columns": json.dumps({name: FRAME[name].tolist() for name in FRAME}).encode(),
    "JSON with the rows in it": json.dumps({"n": 30, "data": json.loads(FRAME.to_json(orient="records"))}).encode(),
    "Feather": feather("uncompressed"),
    "packed Feather": feather("lz4"),
    "an Arrow table": TABLE,
    "an Arrow reader": pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(max_chunksize=7)),
    "the Arrow protocol": Capsule(TABLE),
    "the Arrow protocol with views of text": Capsule(VIEWS),
    "the interchange protocol": Interchange(TABLE),
    "a dict": FRAME.to_dict("list"),
    "a list of dicts": FRAME.to_dict("records"),
}


@pytest.mark.filterwarnings("ignore:.*interchange")
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())
def test_every_source_gives_the_same_table(source):
    assert read_table(source).hash == EXPECTED.hash


def test_an_array_is_numbered():
    table = read_columns(np.array([[1.5, 2, 0], [2.5, 3, 1], [3.5, 1, 1]]))
    assert table.names == ("column 1", "column 2", "column 3")
    structured = np.array([(1.5, "x"), (2.5, "y")], dtype=[("size", float), ("class", "U1")])
    assert read_columns(structured).names == ("size", "class")
    with pytest.raises(TableError, match="rows and columns was expected, got 1 dimensions"):
        read_columns(np.arange(5))
    with pytest.raises(TableError, match="no table can be made of this dict"):
        read_columns({"a": [1, 2], "b": [1, 2, 3]})


def test_names_with_dots_and_objects_in_json_are_columns_apart():
    lines = [f'{{"a.b": {i}, "a": {{"b": {i * 2}, "c": 1}}, "class": "{"xy"[i % 2]}"}}' for i in range(8)]
    lines[3] = '{"a": {"b": 6, "c": 1}, "a.b": 3, "class": "y"}'  # in whichever order
    lines[4] = '{"a": {"b": 8, "c": 0, "c": 1}, "class": "x", "class": "x", "a.b": 4}'
    dataset = read_table("\n".join(lines).encode(), "class")
    assert dataset.frame["a.b"].tolist() == list(range(8))
    assert read_table("\n".join(lines[::-1][4:]).encode(), "class").frame["a.b"].tolist() == [3, 2, 1, 0]
    assert dataset.frame["a.b (2)"].tolist() == [2 * i for i in range(8)]
    assert any("'a.b (2)'" in note for note in dataset.notes)
    assert any("2 objects have a name twice, such as 'c': the last value was taken" in note for note in dataset.notes)


def test_objects_in_json_become_columns():
    rows = [{"a": {"b": i, "c": [i]}, "class": "xy"[i % 2]} | ({"d": 1.5} if i else {}) for i in range(9)]
    table = read_columns("\n".join(map(json.dumps, rows)).encode())
    assert table.names == ("a.b", "a.c", "class", "d")
    assert np.isnan(table.values[3].series[0])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{},size,class\n1,2,x\n", "delimited"),
        ('{"a"},size,class\n1,2,x\n', "delimited"),
        ("{}\n1\n2\n", "delimited"),
        ('{},\n{"a": 1}', "json"),
        ('{}\n{"a": 1}\n', "json"),
        ('[{}, {"a": 1}]', "json"),
        (' [ { "a\\"b" : 1}]', "json"),
        ("{}", "json"),
        ("[{}]", "json"),
    ],
)
def test_json_is_told_from_a_csv_that_begins_with_a_brace(text, kind):
    assert sniff_format(text.encode()) == kind


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b'{"a": 1}\n{"a": 2}\n{"a": 3\n{"a": 4}', "JSON cannot be read in line 3"),
        (b'{"a": 1}\n[1, 2]\n', r"line 2 of the JSON is no object: \[1, 2\]"),
        (b'[{"a":' * 100_000, "JSON cannot be read"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, "objects in objects, more than 50 deep"),
        (zipped(), "holds no file"),
        (zipped(a_csv=CSV, b_csv=CSV), "holds 2 files, 'a.csv', 'b.csv'; one table was expected"),
        (bz2.compress(CSV)[:-9], "the bzip2 file is damaged or cut short"),
        (lzma.compress(CSV)[:-9], "the xz file is damaged or cut short"),
        (feather("lz4")[:-40], "the Arrow file is damaged"),
    ],
)
def test_unreadable_sources_raise(data, error):
    with pytest.raises(TableError, match=error):
        read_columns(data)


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress, zstandard, lambda data: zipped(a_csv=data)])
def test_a_bomb_is_refused(pack):
    packed = pack(b"a,class\n" + b"1,x\n" * 300_000)
    with pytest.raises(TableError, match=r"unpacks to more than the 500 kB allowed"):
        read_columns(packed, limits=Limits(bytes=500_000))


@pytest.mark.parametrize(
    "shape", [(b'{"a":1,"b":', b"[", b"]", b"}"), (b'{"a":1,"b":2}\n', b"[", b"]", b""), (b"", b'{"a":', b"}", b"")]
)
def test_json_of_any_depth_is_read_or_refused(shape):
    before, opened, closed, behind = shape
    for depth in range(850, 1000):
        with suppress(TableError):
            read_columns(before + opened * depth + (b"1" if opened != b"[" else b"") + closed * depth + behind)


@pytest.mark.filterwarnings("ignore:.*interchange")
@pytest.mark.parametrize("error", [RuntimeError, NotImplementedError, pa.ArrowException, OverflowError, OSError])
@pytest.mark.parametrize("protocol", ["__arrow_c_stream__", "__dataframe__", "batches"])
def test_failing_foreign_frame_raises(protocol, error):
    def fails(*_, **__):
        raise error("broken off")

    def batches():
        yield TABLE.to_batches()[0]
        fails()

    source = type("Odd", (), {protocol: fails})()
    if protocol == "batches":
        source = pa.RecordBatchReader.from_batches(TABLE.schema, batches())
    with pytest.raises(TableError, match=r"no table can be made of this (Odd|RecordBatchReader): .*broken off"):
        read_columns(source)


def test_different_options_of_files_are_noted(tmp_path):
    paths = [tmp_path / "comma.csv", tmp_path / "semicolon.csv"]
    for path, mark in zip(paths, ",;", strict=True):
        FRAME.to_csv(path, index=False, sep=mark)
    table = read_columns(paths)
    assert (table.options.delimiter, table.options.header) == (None, True)
    assert "the files differ, and each was read with its own: comma.csv with delimiter ',', semicolon.csv with " in str(
        table.notes
    )
    again = read_columns(paths, options=table.options)
    assert dataset_of(again).hash == dataset_of(table).hash
    assert read_columns(paths[1:]).options.delimiter == ";"


def test_other_files_of_an_archive_are_noted():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("data", CSV)
        archive.writestr("x.csv", CSV)
    note = read_columns(buffer.getvalue()).notes[0]
    assert note.index("'x.csv' was read") < note.index("'data' was ignored")
    assert read_columns(zipped(x_csv=CSV)).notes == read_columns(CSV).notes


def test_several_files_are_one_table(tmp_path):
    paths = []
    for k, part in enumerate(np.array_split(np.arange(30), 3)):
        paths.append(tmp_path / f"{k}.csv")
        rows = FRAME.iloc[part]
        rows[list(reversed(rows.columns)) if k else list(rows.columns)].to_csv(paths[-1], index=False)
    dataset = read_table(paths)
    assert dataset.hash == EXPECTED.hash
    assert "3 files were put one behind the other" in dataset.notes
    typed = [path.with_suffix(".parquet") for path in paths]
    for path in paths:
        pd.read_csv(path).to_parquet(path.with_suffix(".parquet"), index=False)
    assert read_table(typed).hash == EXPECTED.hash
    paths[1].write_text("size,class\n1,x\n")
    with pytest.raises(TableError, match=r"1.csv' has other columns than .*0.csv': 'colour', 'when' is not in both"):
        read_table(paths)
    with pytest.raises(TableError, match="files of one sort"):
        read_table([paths[0], typed[0]])


def test_a_folder_of_parquet_files_is_one_table(tmp_path):
    for k, part in enumerate(np.array_split(np.arange(30), 2)):
        (tmp_path / "t" / f"half={k}").mkdir(parents=True)
        FRAME.iloc[part].to_parquet(tmp_path / "t" / f"half={k}" / "part.parquet", index=False)
    dataset = read_table(tmp_path / "t", "class")
    assert dataset.n_rows == 30
    assert set(dataset.frame) == set(EXPECTED.frame) | {"half"}
    assert "2 Parquet files of the folder were put one behind the other" in dataset.notes
    (tmp_path / "none").mkdir()
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path / "none")


def test_home_is_understood(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "t.csv").write_bytes(CSV)
    assert read_table("~/t.csv").hash == EXPECTED.hash


def test_arrays_as_scikit_learn_takes_them():
    X, y = FRAME[["size", "colour", "when"]], FRAME["class"].to_numpy()
    assert Dataset.from_arrays(X, y).hash == EXPECTED.hash
    numbers = Dataset.from_arrays(np.arange(40.0).reshape(20, 2), np.arange(20) % 2, target="y", name="mine")
    assert (numbers.name, numbers.target, numbers.n_classes) == ("mine", "y", 2)
    assert Dataset.from_arrays(np.arange(60.0).reshape(60, 1), np.arange(60.0), quartiles=True).n_classes == 4
    with pytest.raises(TableError, match=r"30 rows.*29"):
        Dataset.from_arrays(X, y[1:])
    with pytest.raises(TableError, match="X has a column 'size', as the target is called"):
        Dataset.from_arrays(X, y, target="size")


def test_nested_values_become_text_with_a_note():
    frame = pd.DataFrame({"tags": [["a", "b"], ["b"], {"a": 1}, None] * 5, "class": list("xxyy") * 5})
    dataset = read_table(frame, "class", tags="categorical")
    assert any("15 cells of 'tags' hold several values" in note for note in dataset.notes)
    assert sorted(dataset.X["tags"].cat.categories) == ["['a', 'b']", "['b']", "{'a': 1}"]


def test_doubts_of_one_of_several_files_are_kept(tmp_path):
    paths = [tmp_path / "plain.csv", tmp_path / "western.csv"]
    for path, encoding in zip(paths, ("utf-8", "cp1252"), strict=True):
        path.write_bytes(("town,class\n" + "Köln,x\nZürich,y\n" * 10).encode(encoding))
    table = read_columns(paths)
    assert [doubt.code for doubt in table.doubts] == [DoubtCode.ENCODING]
    assert any(note.startswith("western.csv: ") and for_page(note).startswith("western.csv: ") for note in table.notes)


def test_a_workbook_and_a_text_are_one_table(tmp_path):
    frame = pd.DataFrame({"size": [1.5, 2.5] * 10, "class": list("xy") * 10})
    frame[:10].to_csv(tmp_path / "a.csv", index=False)
    frame[10:].to_excel(tmp_path / "b.xlsx", index=False)
    joined = read_table([tmp_path / "a.csv", tmp_path / "b.xlsx"])
    assert joined.hash == read_table(frame.to_csv(index=False).encode()).hash


def test_options_of_columns_that_are_not_there_are_noted_everywhere(tmp_path):
    path, options = tmp_path / "t.csv", ReadOptions(columns={"sizes": {"missing": ("9",)}})
    FRAME.to_csv(path, index=False)
    dataset = read_table(path)
    noted = [
        read_table(path, options=options).notes,
        read_table(path, spec=dataset.spec, options=options).notes,
        open_table(path, options=options, cache=tmp_path).notes,
        read_new_rows(path, dataset.spec, options=options).notes,
    ]
    for notes in noted:
        assert sum("'sizes'" in note and "'size'" in note for note in notes) == 1, notes


def test_lists_of_cells_beside_the_names_of_columns_are_rows():
    rows = [[f"r{k}", k * 7 % 40, "xyz"[k % 3], "pq"[k % 2]] for k in range(60)]
    names = ["key", "size", "place", "class"]
    portal = {"meta": {"view": {"id": "a", "columns": [{"name": name, "position": 1} for name in names]}}, "data": rows}
    split = {"columns": names, "index": list(range(60)), "data": rows}
    for content in (portal, split):
        dataset = read_table(json.dumps(content).encode(), "class")
        assert (dataset.n_rows, list(dataset.frame)) == (60, names)
    decoy = {"labels": ["a", "b", "c", "d"], **portal}
    dataset = read_table(json.dumps(decoy).encode(), "class")
    assert list(dataset.frame) == names
    assert any("'meta.view.columns'" in note and "'place'" in note for note in dataset.notes)
    dataset = read_table(json.dumps({"data": rows, "labels": decoy["labels"]}).encode(), "d")
    assert any("'labels'" in note and "'a'" in note for note in dataset.notes)
    with pytest.raises(TableError, match="only one column"):
        read_table(json.dumps({"data": rows}).encode())


def test_a_last_line_of_json_that_is_cut_short_is_left_out_and_noted():
    lines = "".join(json.dumps({"size": k, "class": "pq"[k % 2]}) + "\n" for k in range(30))
    last = '{"size": -1.5e-3, "class": "p\\"\\u00e9", "seen": null, "new": false}'
    for n in range(1, len(last)):
        dataset = read_table((lines + last[:n] + "\n" * (n % 2)).encode(), "class")
        assert dataset.n_rows == 30, last[:n]
        assert any("last line is cut short" in note for note in dataset.notes)


@pytest.mark.parametrize(
    "last",
    [
        '{"size": 3, "cl\n{"size": 3, "class": "p"}',
        '{"size": 3, class: "p"}',
        '{"size": 3, "class": "\\u00"}',
        "Source: our own",
        "n",
    ],
)
def test_an_invalid_last_line_of_json_is_refused_with_its_number(last):
    lines = "".join(json.dumps({"size": k, "class": "pq"[k % 2]}) + "\n" for k in range(30))
    with pytest.raises(TableError, match="line 31"):
        read_table((lines + last).encode(), "class")


def test_a_dump_of_a_database_is_refused_by_name():
    insert = "INSERT INTO `t` VALUES (1,'a'),\n(2,'b');\n"
    table = "DROP TABLE `t`;\nCREATE TABLE `t` (`id` int);\n"
    for dump in (
        f"-- a dump\n{table}{insert}",
        f"{table}/*!40000 ALTER TABLE `t` DISABLE KEYS */;\r\n\r\n  {insert}",
        f"/* a\n* dump **/\nSET NAMES utf8;\n--\n-- Data\n--\n\n{insert}",
        insert,
    ):
        with pytest.raises(TableError, match="SQL") as refusal:
            read_table(dump.encode())
        assert refusal.value.code == FOREIGN_FORMAT


@pytest.mark.parametrize(
    ("names", "row"),
    [
        ("set,size,class", "insert into {},{},{}"),
        ("Set no;insert into;class", "{};{};{}"),
        ("select * from t where (a = 1);0;x", "insert into t values ({});{};{}"),
    ],
)
def test_tables_of_statements_are_no_dumps(names, row):
    text = f"{names}\n" + "".join(row.format(k % 3, k % 7, "xy"[k % 2]) + "\n" for k in range(40))
    assert sniff_format(text.encode()) == "delimited"


def test_comments_before_a_statement_are_skipped_in_linear_time():
    comments = b"/* a */ -- b\n" * 40  # the time of an expression that backtracks doubles with each
    assert sniff_format(comments + b"size,class\n1,a\n") == "delimited"
    with pytest.raises(TableError, match="SQL"):
        sniff_format(comments + b"USE t;\nINSERT INTO t VALUES (1);\n")


def test_a_text_of_which_a_third_of_the_lines_are_cp1252_keeps_its_accents():
    texts = [f"{['Zürich', 'Genève', 'Köln'][k % 3]};{k};{'pq'[k % 2]}" for k in range(60)]
    lines = [text.encode("cp1252" if k % 3 == 0 else "utf-8") for k, text in enumerate(texts)]
    dataset = read_table(b"\n".join([b"ort;n;class", *lines]), "class")
    assert set(dataset.frame["ort"]) == {"Zürich", "Genève", "Köln"}
    assert any("20 lines are not UTF-8" in note for note in dataset.notes)


def test_columns_of_merged_cells_may_be_filled_down():
    book = pytest.importorskip("openpyxl").Workbook()
    sheet = book.active
    for j, name in enumerate(["region", "kind", "n", "class"]):
        sheet.cell(4, 3 + j, name)
    for k in range(15):
        for j, value in enumerate(["abc"[k // 5] if k % 5 == 0 else None, "xyz"[k % 3] if k else None, k, "pq"[k % 2]]):
            sheet.cell(5 + k, 3 + j, value)
    for k in range(5, 20, 5):
        sheet.merge_cells(start_row=k, end_row=k + 4, start_column=3, end_column=3)
    file = io.BytesIO()
    book.save(file)
    (doubt,) = read_columns(file.getvalue()).doubts
    assert (doubt.code, doubt.columns, doubt.n_cells) == (DoubtCode.GROUP_LABELS, ("region",), 12)
    table = read_columns(file.getvalue(), options=ReadOptions().with_change(doubt.change))
    assert table.values[0].series.tolist() == ["a"] * 5 + ["b"] * 5 + ["c"] * 5
    assert table.doubts == ()
