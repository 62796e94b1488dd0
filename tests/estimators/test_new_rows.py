"""New rows are read as the training table was: what is scored is what the model would say of the data set's rows."""

import gzip
import io
import json
import subprocess
import sys
import textwrap
import types
import warnings
import zipfile
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pytest
from sklearn.exceptions import ConvergenceWarning

import alrviz
from alrviz import (
    AnJEClassifier,
    DLRClassifier,
    LRClassifier,
    NaiveBayesClassifier,
    ReadOptions,
    cli,
    predict_table,
    read_table,
)
from alrviz.data.apply_spec import read_new_rows
from alrviz.data.parse_spec import ParseSpec
from alrviz.errors import AlrvizError, ModelFileError, ReadingWarning, TableError, UnseenLevelWarning
from tests.data.test_layout import BODY, CASES, NAMES, workbook
from tests.data.test_messy import DATES, GERMAN, LAB, NUMBERS, WORDS
from tests.estimators.model_files import about_of, rewritten

ROWS = 48
EACH = 23  # every so many rows is scored alone


@dataclass
class Messy:
    """A table: `lines` of rows below `head`, before `tail`, as a file or made into another source by `source`."""

    head: list[str]
    lines: list[str]
    tail: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    encoding: str = "utf-8"
    target: str = "class"
    source: Any = None

    def of(self, rows, head=None, tail=True):
        if self.source is not None:
            return self.source(rows)
        text = "\n".join([*(self.head if head is None else head), *(self.lines[i] for i in rows), *(self.tail * tail)])
        return (text + "\n").encode(self.encoding)


def columns_of(*columns, delimiter=",", **more):
    """A table of these columns, (name, values) each, repeated as often as there are rows, and a class."""
    head = [delimiter.join([*(name for name, _ in columns), "class"])]
    lines = []
    for i in range(ROWS):
        cells = [str(values[(i * (k + 1) + i // 5) % len(values)]) for k, (_, values) in enumerate(columns)]
        cells = [f'"{cell}"' if delimiter in cell else cell for cell in cells]
        lines.append(delimiter.join([*cells, "yes" if i % 3 or i % 7 == 0 else "no"]))
    return Messy(head, lines, **more)


def dated(texts, delimiter, name):
    values = texts.split("|" if "|" in texts else " ")
    return columns_of((name, values), ("size", ["1", "2", "3.5"]), delimiter=delimiter)


def json_lines(rows):
    return "\n".join(json.dumps(record) for record in FRAME.iloc[list(rows)].to_dict("records")).encode()


def json_of(frame):
    return json_lines(range(len(frame)))


def parquet(rows):
    out = io.BytesIO()
    FRAME.iloc[list(rows)].to_parquet(out, index=False)
    return out.getvalue()


def book(rows):
    lines = (f"{i % 28 + 1:02}/{i % 6 + 1:02}/2020,{i % 5} kg,{['A b', 'a B'][i % 2]},{'yn'[i % 3 > 0]}" for i in rows)
    return workbook({"Notes": "what,it is\nan,example", "Data": "\n".join(["when,much,kind,class", *lines])})


RAW = [[f"{i % 28 + 1:02}/{i % 12 + 1:02}/2020 {i % 24:02}:30", ["Red", "red", "RED ", "blue"][i % 4],
        ["$1,234", "$5", "$77.5", "-999"][i * 7 % 4], "yes" if i % 3 else "no"] for i in range(ROWS)]  # fmt: skip
FRAME = pd.DataFrame(RAW, columns=["Timestamp", "Colour", "Amount", "class"])
FRAME["Size"] = [float(i * 5 % 11) if i % 9 else np.nan for i in range(ROWS)]
FRAME["Flag"] = [bool(i % 4) for i in range(ROWS)]

TABLES = {
    "everything at once": columns_of(
        ("Timestamp", ["31/01/2020 19:00", "01/02/2020 07:30", "12/11/2019 23:59", "05/06/2020 00:00"]),
        ("Amount", ["$1,234.50", "$39.12", "-999", "$7", "-$3.10"]),
        ("Age", ["12", "-999", "45", "77", "30", "NA"]),
        ("Colour", ["Red", "red", "RED", "dark  blue", "Dark blue", "green"]),
        ("Share", ["12.5%", "7%", "100 %", "0.3%"]),
        ("At", ["19:00", "7:45", "23:15"]),
        options={"options": ReadOptions(missing=("-999", "NA"))},
    ),
    "both orders of days are possible": columns_of(
        ("When", ["01/02/2020", "03/04/2020", "11/12/2019"]), ("Amount", ["1,5", "2,25", "13,0"]), delimiter=";"
    ),
    "thousands that look like decimals": columns_of(
        ("a", ["1.234", "12.345", "1.234.567"]), ("b", ["0,5", "1,25"]), delimiter=";"
    ),
    "marks of its own": columns_of(("a", ["1.5", "2.25", "3.125"]), ("b", ["1,5", "12,25", "7,125"]), delimiter=";"),
    "a dash is a level and a gap": columns_of(("a", ["+", "-", "o"]), ("b", ["1", "-", "3", "4.5"])),
    "spellings kept apart": columns_of(
        ("a", ["Red", "red", "blue"]), options={"options": ReadOptions(merge_case=False)}
    ),
    "codes by case": columns_of(("a", ["a", "A", "b", "B"]), ("b", ["1", "2", "3"])),
    "limits": columns_of(("a", LAB), ("b", ["<1,5", "1,5", "2", "3", "4,25", "5", "6"]), delimiter=";"),
    "limits said to be numbers": columns_of(("a", ["<5", "7", ">9"]), options={"a": "numeric"}),
    "kinds said": columns_of(
        ("n", ["1", "2", "2.5", "12"]), ("m", ["1 kg", "2 kg", "x"]), ("o", ["5.5", "7.0", "8"]),
        options={"n": "categorical", "o": "ordinal"},
    ),
    "numbers said to be codes": columns_of(
        ("code", ["1E5", "1.10", "1.1", "100000"]), ("b", ["2.50", "3.00"]), options={"code": "categorical"}
    ),
    "text said to be numbers": columns_of(("zip", ["00202", "01000", "12345"]), options={"zip": "numeric"}),
    "a part of a date said to be levels": columns_of(
        ("day", ["2020-01-31", "2019-05-01", "2018-02-02"]), options={"day year": "categorical"}
    ),
    "double and empty names": Messy(
        ["a,a,,class"], [f"{i % 3},{'xyz'[i % 3]},{i * 5 % 7}.5,{'yn'[i % 2]}" for i in range(ROWS)]
    ),
    "Western European": columns_of(
        ("Größe", ["groß", "klein", "mittel…"]), ("a", ["1 €", "2 €", "3 €"]), encoding="cp1252"
    ),
    "UTF-16": columns_of(("Größe", ["groß", "klein"]), ("a", ["1", "2", "3"]), encoding="utf-16"),
    "R's row names": Messy(["size,class"], [f"r{i},{i * 5 % 7}.5,{'yn'[i % 2]}" for i in range(ROWS)]),
    "a delimiter at the end": Messy(["a,b,class"], [f"{i % 5},{'xy'[i % 2]},{'yn'[i % 3 > 0]}," for i in range(ROWS)]),
    "no names": Messy(
        [], [f"{i % 5}.5,{'sby'[i % 3]},{'nt'[i % 2]},{'pe'[i % 3 > 0]}" for i in range(ROWS)], target="column 4"
    ),
    "names over merged cells": Messy(
        ["shop,2019,,class", ",men,women,"], [f"s{i % 3},{i},{i * 3 % 7},{'yn'[i % 2]}" for i in range(ROWS)]
    ),
    "names and questions": Messy(
        ["Q1,Q2,class", ",".join(["How satisfied are you with the service that you have received?"] * 3)],
        [f"{['very', 'partly', 'not'][i % 3]},{i % 5},{'yn'[i % 2]}" for i in range(ROWS)],
    ),
    "lines said to be skipped": Messy(
        ["x,y", "u,v", "a,class"], [f"{i % 5},{'yn'[i % 2]}" for i in range(ROWS)],
        options={"options": ReadOptions(skip_rows=2)},
    ),
    "a total that is a level": Messy(
        ["a,b,class"], [f"{['Total', 'Part'][i % 2]},{i % 5},{'yn'[i % 3 > 0]}" for i in range(ROWS)]
    ),
    "a workbook": Messy([], [], source=book, options={"options": ReadOptions(sheet="Data")}),
    "JSON": Messy([], [], source=json_lines),
    "Parquet": Messy([], [], source=parquet),
    "a frame": Messy([], [], source=lambda rows: FRAME.iloc[list(rows)].reset_index(drop=True)),
    "a frame of levels": Messy([], [], source=lambda rows: FRAME.astype("category").iloc[list(rows)].astype(object)),
    "lists of records": Messy([], [], source=lambda rows: FRAME.iloc[list(rows)].to_dict("records")),
}  # fmt: skip
TABLES |= {f"numbers: {case[0]}": columns_of(("a", case[1]), ("b", ["x", "y"])) for case in NUMBERS}
TABLES |= {f"German: {c[0]}": columns_of(("a", c[1]), ("b", ["x", "y"]), delimiter=";") for c in GERMAN}
TABLES |= {f"dates: {case[0]}": dated(case[1], case[2], "day") for case in DATES}
TABLES |= {f"words: {case[0]}": columns_of(("a", case[1]), ("b", ["1", "2", "3"])) for case in WORDS}
for name, text, _, _ in CASES:
    before, rest = text.split(BODY, 1)
    TABLES[f"layout: {name}"] = Messy(before.splitlines(), BODY.splitlines(), rest.replace(BODY, "").splitlines())


def saved(model, dataset, place=None):
    """The model of a data set, fitted, saved with it and read back."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (ConvergenceWarning, alrviz.errors.LostColumnsWarning))
        model = model.fit(dataset.X, dataset.y)
    file = place or io.BytesIO()
    alrviz.save_model(model, file, dataset=dataset)
    return model, alrviz.load_model(file)


@cache
def dataset_of_table(name):
    """The data set of a table of `TABLES`, read once for all tests."""
    table = TABLES[name]
    return read_table(table.of(rows_of_table(name)), table.target, **table.options)


def rows_of_table(name):
    return range(40 if name.startswith("layout") else ROWS)


def probabilities(predictions):
    return predictions.filter(like="p(").to_numpy()


def rows_with_class(dataset):
    """The places of the data set's rows among those of its source."""
    return np.flatnonzero(dataset.table.values[dataset.table.names.index(dataset.target)].series.notna())


@pytest.mark.filterwarnings("ignore:.*left out")
@pytest.mark.parametrize("name", TABLES)
def test_a_table_and_each_of_its_rows_are_read_as_the_data_set(name):
    table, row_numbers, dataset = TABLES[name], rows_of_table(name), dataset_of_table(name)
    places, features = rows_with_class(dataset), dataset.X.astype(object).where(dataset.X.notna(), None)

    def read(data):
        new_rows = read_new_rows(data, dataset.spec)
        assert not new_rows.unread
        return new_rows.X.astype(object).where(lambda X: X.notna(), None)

    whole = read(table.of(row_numbers))
    pd.testing.assert_frame_equal(whole.iloc[places].reset_index(drop=True), features)
    for i in range(0, len(row_numbers), EACH):
        row = features.iloc[[np.searchsorted(places, i)]].reset_index(drop=True)
        for data in (table.of([i]), table.of([i], tail=False), table.of([i], head=table.head[-1:], tail=False)):
            if len(table.head) > 1 and table.head[-1:] != [NAMES.strip()] and data != table.of([i]):
                continue  # of several rows of names all are needed
            pd.testing.assert_frame_equal(read(data), row)


# A table of every kind of values and of every kind of source; of the others equal features, as above, are enough.
PREDICTED = ["everything at once", "limits", "kinds said", "a workbook", "JSON", "Parquet", "a frame"]
PREDICTED += ["a frame of levels", "lists of records"]


@pytest.mark.parametrize("name", PREDICTED)
def test_new_rows_are_predicted_as_those_of_the_data_set(name):
    """DLR looks at numbers themselves: another number gives another probability."""
    table, row_numbers, dataset = TABLES[name], rows_of_table(name), dataset_of_table(name)
    model, loaded = saved(DLRClassifier(max_iter=5, tol=0.0, alpha=10.0), dataset)
    predictions, expected = predict_table(loaded, table.of(row_numbers)), model.predict_proba(dataset.X)
    places = rows_with_class(dataset)
    np.testing.assert_array_equal(probabilities(predictions)[places], expected)
    assert not predictions["unseen"].any()
    for i in range(0, len(row_numbers), EACH):
        row = model.predict_proba(dataset.X.iloc[[np.searchsorted(places, i)]])
        np.testing.assert_array_equal(probabilities(predict_table(loaded, table.of([i]))), row)


# What the script takes: text and Parquet.
SCRIPTED = [name for name, table in TABLES.items() if table.source in (None, parquet)]


@pytest.fixture(scope="module")
def script():
    """The script of a model file as a module: it is the same in all."""
    dataset = read_table(TABLES["no names"].of(range(ROWS)), "column 4")
    saved(NaiveBayesClassifier(), dataset, file := io.BytesIO())
    module = types.ModuleType("score")
    module.__file__ = "score.py"
    with zipfile.ZipFile(file) as zipped:
        exec(compile(zipped.read("score.py"), "score.py", "exec"), module.__dict__)
    return module


@pytest.mark.parametrize("name", SCRIPTED)
def test_the_script_reads_a_table_and_each_of_its_rows_as_the_data_set_was(name, script, tmp_path):
    table, row_numbers, dataset = TABLES[name], rows_of_table(name), dataset_of_table(name)
    places = rows_with_class(dataset)
    model = AnJEClassifier(order=min(2, dataset.X.shape[1]), unseen="m-estimate")
    fitted, _ = saved(model, dataset, tmp_path / "model.zip")
    model, expected = script.Model(tmp_path / "model.zip"), fitted.predict_proba(dataset.X)

    def scored(data):
        (tmp_path / "rows").write_bytes(data)
        rows = script.read_rows(tmp_path / "rows", model.spec)
        p = model.predict_proba(rows)
        assert not model.unread
        return p

    np.testing.assert_allclose(scored(table.of(row_numbers))[places], expected, rtol=0, atol=1e-12)
    for i in range(0, len(row_numbers), EACH):
        row = expected[np.searchsorted(places, i)]
        np.testing.assert_allclose(scored(table.of([i]))[0], row, rtol=0, atol=1e-12)
        np.testing.assert_allclose(scored(table.of([i], tail=False))[0], row, rtol=0, atol=1e-12)


ALONE = """
    import sys
    class Refuse:
        def find_spec(self, name, *_):
            if name.split(".")[0] in ("alrviz", "pandas", "numba", "scipy", "sklearn"):
                raise ModuleNotFoundError(name)
    sys.meta_path.insert(0, Refuse())
    import score
    sys.exit(score.main(sys.argv[1:]))
"""


def test_the_script_alone_reads_as_the_table_was_read_and_tells_what_it_cannot(tmp_path):
    table = TABLES["everything at once"]
    dataset = read_table(table.of(range(ROWS)), table.target, **table.options)
    model, _ = saved(LRClassifier(order=2, max_iter=5, tol=0.0, alpha=0.3), dataset, tmp_path / "model.zip")
    with zipfile.ZipFile(tmp_path / "model.zip") as zipped:
        zipped.extract("score.py", tmp_path)
    rows = table.of(range(ROWS)).decode().replace("12.5%", "12.5 kg", 1).replace("01/02/2020 07:30", "2020-13-01", 1)
    (tmp_path / "rows.csv").write_text(rows)
    (tmp_path / "names.csv").write_text(rows.splitlines()[0] + "\n")
    command = [sys.executable, "-c", textwrap.dedent(ALONE), "--model", "model.zip"]
    done = subprocess.run([*command, "rows.csv", "-o", "out.csv"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    predictions = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)
    with pytest.warns(ReadingWarning) as told:
        ours = predict_table(model, tmp_path / "rows.csv", dataset=dataset)
    np.testing.assert_allclose(probabilities(predictions), probabilities(ours), rtol=0, atol=1e-12)
    assert predictions["unseen"].tolist() == ours["unseen"].tolist()
    bad = ours["unseen"][ours["unseen"] != ""].tolist()
    assert bad == ["Share=12.5 kg (not a number in '%')", "Timestamp=2020-13-01 (not a date, day first)"]
    assert len(told) == 2
    assert "1 value of 'Share' cannot be read: missing" in done.stderr
    done = subprocess.run([*command, "names.csv"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "no rows to predict" in done.stderr


EUROPEAN = "size;class\n" + "".join(f"{i % 3 + 1}.{i * 7 % 900 + 100},5;{'yn'[i % 2]}\n" for i in range(ROWS))


def cells_of(*values):
    openpyxl = pytest.importorskip("openpyxl")
    made, out = openpyxl.Workbook(), io.BytesIO()
    for value in ("size", *values):
        made.active.append([value])
    made.save(out)
    return out.getvalue()


@pytest.mark.parametrize("source", [
    cells_of,
    lambda *values: pd.DataFrame({"size": pd.Series(values, dtype=object)}),
    lambda *values: [{"size": value} for value in values],
    lambda *values: json.dumps([{"size": value} for value in values]).encode(),
])  # fmt: skip
def test_numbers_that_are_numbers_have_no_marks_of_texts(source):
    dataset = read_table(EUROPEAN.encode())
    assert (dataset.spec.columns[0].decimal, dataset.spec.columns[0].thousands) == (",", ".")
    for values, expected in (
        ((1.234, "1.107,5", 1000.5, "1.234"), [1.234, 1107.5, 1000.5, 1234]),
        ((1.234, 1000.5, 7), [1.234, 1000.5, 7]),
        (("1.107,5", "7", 7), [1107.5, 7, 7]),
    ):
        new_rows = read_new_rows(source(*values), dataset.spec)
        np.testing.assert_array_equal(new_rows.X["size"], expected)
        assert not new_rows.unread
    new_rows = read_new_rows(source(1.25, "1,25", "x"), dataset.spec, options=ReadOptions(decimal=",", thousands=""))
    np.testing.assert_array_equal(new_rows.X["size"], [1.25, 1.25, np.nan])
    assert new_rows.unread == {2: ["size=x (not a number)"]}


def test_numbers_as_categories_have_no_marks_of_texts():
    dataset = read_table(EUROPEAN.encode())
    sizes = pd.DataFrame({"size": pd.Categorical([1.234, 1000.5, None, 7.0])})
    new_rows = read_new_rows(sizes, dataset.spec)
    np.testing.assert_array_equal(new_rows.X["size"], [1.234, 1000.5, np.nan, 7])
    texts = pd.DataFrame({"size": pd.Categorical(["1.234", "1.107,5"])})
    np.testing.assert_array_equal(read_new_rows(texts, dataset.spec).X["size"], [1234, 1107.5])


def test_decimal_objects_have_no_marks_of_texts():
    dataset = read_table(EUROPEAN.encode())
    sizes = [Decimal("1.234"), "1.107,5", Decimal("1000.50")]
    np.testing.assert_array_equal(read_new_rows({"size": sizes}, dataset.spec).X["size"], [1.234, 1107.5, 1000.5])


def test_unreadable_share_counts_all_rows_and_files(tmp_path, monkeypatch, script):
    dataset = read_table(EUROPEAN.encode(), "class")
    _, loaded = saved(NaiveBayesClassifier(), dataset, tmp_path / "model.zip")
    good, bad, none = "size\n1.107,5\n2.215,5\n", "size\nlarge\nsmall\n", "size\nlarge\nNA\nsmall\n"
    for name, text in (("good", good), ("bad", bad), ("none", none), ("whole", good + bad.removeprefix("size\n"))):
        (tmp_path / f"{name}.csv").write_text(text)
    with pytest.warns(ReadingWarning, match="2 values.*'size'"):
        whole = predict_table(loaded, tmp_path / "whole.csv")
    with pytest.warns(ReadingWarning, match="2 values.*'size'"):
        parts = predict_table(loaded, [tmp_path / "good.csv", tmp_path / "bad.csv"])
    pd.testing.assert_frame_equal(whole, parts)
    assert [*whole["unseen"]] == ["", "", "size=large (not a number)", "size=small (not a number)"]
    monkeypatch.setattr(script, "BATCH_ROWS", 2)
    model = script.Model(tmp_path / "model.zip")
    lines = list(model.predictions(script.read_rows(tmp_path / "whole.csv", model.spec)))
    assert [line[-1] for line in lines[1:]] == [*whole["unseen"]]
    assert model.counts["size"].bad == 2
    refusal = "'size' cannot be read: none of its 2 values, such as 'large'.*, is a number"
    for rows in (tmp_path / "none.csv", [tmp_path / "bad.csv", tmp_path / "bad.csv"]):
        with pytest.raises(TableError, match=refusal.replace("2", "[24]")):
            predict_table(loaded, rows)
    with pytest.raises(ValueError, match=refusal):
        list(model.predictions(script.read_rows(tmp_path / "none.csv", model.spec)))
    with pytest.raises(ValueError, match=refusal):
        model.predict_proba(script.read_rows(tmp_path / "none.csv", model.spec))


@pytest.mark.parametrize("second", ["labelled.csv", "typed.parquet"])
def test_files_of_new_rows_share_only_the_columns_of_the_spec(second, tmp_path):
    """Each is parsed by itself: with other columns, other marks of numbers, or typed numbers."""
    dataset = read_table(EUROPEAN.encode(), "class")
    (tmp_path / "first.csv").write_text("size\n1.107,5\nlarge\n")
    (tmp_path / "labelled.csv").write_text("class;size\ny;2.215,5\nn;small\n")
    pd.DataFrame({"size": [2215.5, np.nan], "id": [7, 8]}).to_parquet(tmp_path / "typed.parquet")
    rows = read_new_rows([tmp_path / "first.csv", tmp_path / second], dataset.spec)
    np.testing.assert_array_equal(rows.X["size"], [1107.5, np.nan, 2215.5, np.nan])
    assert rows.unread[1] == ["size=large (not a number)"]
    assert (3 in rows.unread) == (second == "labelled.csv")
    (extra,) = {*rows.source_rows} - {"size"}
    assert rows.source_rows[extra].isna().tolist() == [True, True, False, False]
    (tmp_path / "other.csv").write_text("length\n1\n")
    with pytest.raises(TableError, match=r"^other\.csv: no column 'size'"):
        read_new_rows([tmp_path / "first.csv", tmp_path / "other.csv"], dataset.spec)


def test_the_script_opens_a_parquet_file_by_its_path(tmp_path, monkeypatch, script):
    dataset = read_table(parquet(range(ROWS)), "class")
    saved(NaiveBayesClassifier(), dataset, tmp_path / "model.zip")
    (tmp_path / "rows.parquet").write_bytes(parquet(range(3)))
    monkeypatch.setattr(script, "load_bytes", lambda *_: pytest.fail("the file is read beside the table"))
    model = script.Model(tmp_path / "model.zip")
    assert len(model.predict_proba(script.read_rows(tmp_path / "rows.parquet", model.spec))) == 3


def test_the_script_names_what_it_does_not_read_and_how_to_convert_it(tmp_path, capsys, script):
    table = columns_of(("a", ["1", "2"]), ("b", ["x", "y"]))
    dataset = read_table(table.of(range(ROWS)))
    saved(NaiveBayesClassifier(), dataset, tmp_path / "model.zip")
    alrviz.save_model(NaiveBayesClassifier().fit(dataset.X, dataset.y), tmp_path / "old.zip")
    text = table.of(range(5))
    others = {
        "rows.xlsx": (workbook({"Data": text.decode()}), "a workbook"),
        "rows.json": (b'[{"a": 1, "b": "x"}]', "JSON"),
        "rows.jsonl": (b'{"a": 1, "b": "x"}\n', "JSON"),
        "rows.arff": (b"@RELATION r\n", "an ARFF file"),
    }
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(text))
    assert script.main([str(tmp_path / "rows.csv.gz"), "--model", str(tmp_path / "model.zip")]) == 0
    assert capsys.readouterr().out.count("\n") == 6
    for name, (data, what) in others.items():
        (tmp_path / name).write_bytes(data)
        for model in ("model.zip", "old.zip"):
            assert script.main([str(tmp_path / name), "--model", str(tmp_path / model)]) == 2
            told = capsys.readouterr()
            assert (told.out, told.err.count("\n")) == ("", 1)
            assert f"{name} is {what}" in told.err
            assert f"alrviz predict MODEL.zip {tmp_path / name}" in told.err
    for data in (bytes(2000), b"\1\2\3" * 500):  # nothing converts it: refused as by `read_table`
        (tmp_path / "rows.bin").write_bytes(data)
        for model in ("model.zip", "old.zip"):
            assert script.main([str(tmp_path / "rows.bin"), "--model", str(tmp_path / model)]) == 2
            told = capsys.readouterr()
            assert (told.out, told.err.count("\n")) == ("", 1)
            assert "not a table" in told.err


def test_names_with_a_quote_that_is_not_closed_are_told_by_the_script(tmp_path, capsys, script):
    dataset = read_table(EUROPEAN.encode(), "class")
    saved(NaiveBayesClassifier(), dataset, tmp_path / "model.zip")
    (tmp_path / "rows.csv").write_text('"size;class\n' + "1.107,5;y\n" * 15_000)
    assert script.main([str(tmp_path / "rows.csv"), "--model", str(tmp_path / "model.zip")]) == 2
    assert "score: no column 'size'" in capsys.readouterr().err


def test_unparseable_values_are_missing_and_counted():
    table = columns_of(
        ("When", ["31/01/2020", "01/02/2020", "12/11/2019"]), ("Cost", ["$5", "$7.5", "$1,000"]),
        ("Size", ["1", "2", "3.5", "9"]), ("Colour", ["Red", "Blue"]),
    )  # fmt: skip
    dataset = read_table(table.of(range(ROWS)))
    model, _ = saved(NaiveBayesClassifier(), dataset)
    rows = "When,Cost,Size,Colour\n01/31/2020,€5,big,RED\n2020-02-01,$6,-,blue\n01/02/2020,6,N/A,\n"
    with pytest.warns(ReadingWarning) as told:
        predictions = predict_table(model, rows.encode(), dataset=dataset)
    assert predictions["unseen"].tolist() == [
        "When=01/31/2020 (not a date, day first); Cost=€5 (not a number in '$'); Size=big (not a number)", "", "",
    ]  # fmt: skip
    assert sorted(str(warning.message)[:42] for warning in told) == [
        "1 value of 'Cost' cannot be read as a numb",
        "1 value of 'Size' cannot be read as a numb",
        "1 value of 'When' cannot be read as a date",
    ]
    whole = pd.DataFrame({
        "When year": [np.nan, 2020, 2020], "When month": [None, "Feb", "Feb"], "When weekday": [None, "Sat", "Sat"],
        "Cost": [np.nan, 6, 6], "Size": [np.nan, np.nan, np.nan], "Colour": ["Red", "Blue", None],
    })  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        expected = model.predict_proba(whole[list(dataset.X)])
    np.testing.assert_array_equal(probabilities(predictions), expected)
    with pytest.raises(TableError, match=r"'When' cannot be read: none of its 2 values, .*, is a date, day first"):
        predict_table(model, b"When,Cost,Size,Colour\n01/31/2020,5,5,Red\n01/30/2020,5,5,Red\n", dataset=dataset)
    with pytest.raises(TableError, match=r"no column 'When' .*, of which 'When year', .* are made; did you mean"):
        predict_table(model, b"Wenn,Cost,Size,Colour\n01/01/2020,5,5,Red\n", dataset=dataset)
    nothing = predict_table(model, b"When,Cost,Size,Colour\n,,,\n", dataset=dataset)
    with pytest.warns(UnseenLevelWarning):  # nothing was missing in training
        expected = model.predict_proba(whole.head(1).assign(Colour=None)[list(dataset.X)])
    np.testing.assert_array_equal(probabilities(nothing), expected)
    with pytest.raises(AlrvizError, match="no rows to predict"):
        predict_table(model, b"When,Cost,Size,Colour\n", dataset=dataset)


def test_rows_of_any_sort_are_read_by_the_same_rules():
    table = TABLES["everything at once"]
    dataset = read_table(table.of(range(ROWS)), table.target, **table.options)
    model, loaded = saved(NaiveBayesClassifier(), dataset)
    expected = model.predict_proba(dataset.X)
    raw = pd.read_csv(io.BytesIO(table.of(range(ROWS))), dtype=str, keep_default_na=False)
    typed = raw.assign(
        Timestamp=pd.to_datetime(raw["Timestamp"], format="%d/%m/%Y %H:%M"),
        Age=pd.to_numeric(raw["Age"].replace("NA", None)),
        Colour=raw["Colour"].astype("category"),
    )
    for rows in (raw, raw[raw.columns[::-1]], typed, dataset.X, raw.to_dict("list"), raw.to_dict("records")):
        np.testing.assert_array_equal(probabilities(predict_table(loaded, rows)), expected)
    np.testing.assert_array_equal(probabilities(predict_table(loaded, raw.iloc[3].to_dict())), expected[3:4])
    assert predict_table(loaded, raw, keep="Amount")["Amount"].tolist() == raw["Amount"].tolist()


@pytest.mark.parametrize("source", [lambda frame: frame, lambda frame: parquet(range(ROWS)), json_of])
def test_of_a_table_with_types_files_of_text_are_read_by_their_names(source):
    dataset = read_table(source(FRAME))
    model, loaded = saved(NaiveBayesClassifier(), dataset)
    expected = model.predict_proba(dataset.X)
    for text in (FRAME.to_csv(index=False), FRAME.to_csv(index=False, sep="\t")):
        np.testing.assert_array_equal(probabilities(predict_table(loaded, text.encode())), expected)
    with pytest.warns(ReadingWarning, match="'Size'.*','"):
        predictions = predict_table(loaded, FRAME.to_csv(index=False, sep=";", decimal=",").encode())
    np.testing.assert_array_equal(probabilities(predictions), expected)
    with pytest.raises(TableError, match="no column 'Timestamp'"):
        predict_table(loaded, b"a,b\n1,2\n")


def test_rows_with_another_layout_are_detected_and_reported(tmp_path):
    dataset = read_table(columns_of(("a", ["1,5", "2,25"]), ("b", ["x", "y"]), delimiter=";").of(range(ROWS)))
    model, _ = saved(NaiveBayesClassifier(), dataset)
    with pytest.warns(ReadingWarning, match=r"laid out in another way .*delimiter ',', not ';'"):
        predictions = predict_table(model, b'b,a\nx,"1,5"\n', dataset=dataset)
    assert not predictions["unseen"].any()
    again = predict_table(model, b"b;a\nx;1.5\n", dataset=dataset, options=ReadOptions(decimal="."))
    np.testing.assert_array_equal(probabilities(again), probabilities(predictions))


def test_a_run_and_a_loaded_model_know_how_their_table_was_read(tmp_path):
    table = TABLES["everything at once"]
    dataset = read_table(table.of(range(ROWS)), table.target, **table.options)
    run = alrviz.Run(
        dataset.split_by(repeats="together"), alrviz.Recipe("alr", order=2, max_iter=3, holdout=0.2, alpha=1.0)
    )
    for _ in run.steps():
        pass
    model = alrviz.estimator_of(run)
    expected = model.predict_proba(dataset.X)
    np.testing.assert_array_equal(probabilities(predict_table(model, table.of(range(ROWS)))), expected)
    alrviz.save_model(model, tmp_path / "m.zip")
    loaded = alrviz.load_model(tmp_path / "m.zip")
    assert loaded.spec_ == model.spec_
    np.testing.assert_array_equal(probabilities(predict_table(loaded, table.of(range(ROWS)))), expected)
    np.testing.assert_array_equal(joblib_round(loaded).spec_.columns, model.spec_.columns)
    with pytest.warns(ConvergenceWarning):
        assert not hasattr(loaded.fit(dataset.X, dataset.y), "spec_"), "it learned from a frame, of which none knows"


def joblib_round(model):
    import joblib

    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def test_the_data_set_of_another_model_is_refused():
    one, other = (read_table(columns_of((name, ["1", "2", "3.5"])).of(range(ROWS))) for name in ("size", "sizes"))
    with pytest.raises(ModelFileError, match=r"the model has a column 'size', .* did you mean 'sizes'.*fitted on"):
        alrviz.save_model(NaiveBayesClassifier().fit(one.X, one.y), io.BytesIO(), dataset=other)


def test_the_command_reads_as_the_table_was_read_and_says_where_a_model_does_not_know(tmp_path, capsys):
    table = TABLES["a workbook"]
    dataset = read_table(table.of(range(ROWS)), table.target, **table.options)
    model, _ = saved(NaiveBayesClassifier(), dataset, tmp_path / "model.zip")
    (tmp_path / "rows.xlsx").write_bytes(table.of(range(9)))
    assert cli.main(["predict", str(tmp_path / "model.zip"), str(tmp_path / "rows.xlsx")]) == 0
    told = capsys.readouterr()
    predictions = pd.read_csv(io.StringIO(told.out))
    np.testing.assert_allclose(probabilities(predictions), model.predict_proba(dataset.X.head(9)), rtol=0, atol=1e-12)
    assert not told.err
    assert cli.main(["predict", str(tmp_path / "model.zip"), str(tmp_path / "rows.xlsx"), "--sheet", "Notes"]) == 2
    assert "no column 'when'" in capsys.readouterr().err
    alrviz.save_model(NaiveBayesClassifier().fit(dataset.X, dataset.y), tmp_path / "old.zip")
    dataset.X.head(3).to_csv(tmp_path / "rows.csv", index=False)
    assert cli.main(["predict", str(tmp_path / "old.zip"), str(tmp_path / "rows.csv"), "--missing", "-999"]) == 0
    assert "does not say how its table was read" in capsys.readouterr().err


def test_model_file_without_a_spec_is_loaded():
    dataset = read_table(columns_of(("a", ["1", "2", "3.5"]), ("b", ["x", "y"])).of(range(ROWS)))
    model, _ = saved(NaiveBayesClassifier(), dataset, file := io.BytesIO())

    def without(about):
        about.pop("spec")
        return about

    loaded = alrviz.load_model(changed(file, without))
    assert not hasattr(loaded, "spec_")
    np.testing.assert_array_equal(probabilities(predict_table(loaded, dataset.X)), model.predict_proba(dataset.X))


def test_model_without_a_read_spec_warns_for_every_file(tmp_path, capsys, script):
    table = columns_of(("a", ["1", "2", "3.5"]), ("b", ["x", "y"]))
    dataset = read_table(table.of(range(ROWS)))
    alrviz.save_model(NaiveBayesClassifier().fit(dataset.X, dataset.y), tmp_path / "old.zip")
    (tmp_path / "rows.csv").write_bytes(table.of(range(5)))
    for model in (alrviz.load_model(tmp_path / "old.zip"), tmp_path / "old.zip"):
        for rows in (tmp_path / "rows.csv", table.of(range(5))):
            with pytest.warns(ReadingWarning, match="does not say how its table was read"):
                predict_table(model, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predict_table(model, tmp_path / "rows.csv", dataset=dataset)
        predict_table(model, dataset.X)  # values of their own types: nothing is read
    rows = str(tmp_path / "rows.csv")
    assert script.main([rows, "--model", str(tmp_path / "old.zip")]) == 0
    assert "does not say how its table was read" in capsys.readouterr().err


DAYS = [f"{2020 + i % 3}-{i % 12 + 1:02}-{i % 28 + 1:02}" for i in range(ROWS)]


DATED = pd.DataFrame(
    {"when": pd.to_datetime(DAYS), "much": [i % 5 for i in range(ROWS)], "class": ["yn"[day < "2021"] for day in DAYS]}
)
TYPED = {"dates": DATED, "texts, as of a workbook": DATED.to_csv(index=False).encode()}  # neither has an order


@pytest.mark.parametrize("typed", TYPED)
@pytest.mark.parametrize("text", ["%d.%m.%Y", "%d.%m.%y", "%Y%m%d", "%Y/%m/%d", "%d %b %Y", "%b %d, %Y"])
def test_dates_whose_order_is_clear_are_read_whatever_form_the_table_had(text, typed, tmp_path, script):
    dataset = read_table(TYPED[typed])
    model, _ = saved(NaiveBayesClassifier(), dataset, tmp_path / "model.zip")
    days = [f'"{pd.Timestamp(day).strftime(text)}"' for day in DAYS]
    lines = "when,much\n" + "".join(f"{day},{i % 5}\n" for i, day in enumerate(days))
    expected = model.predict_proba(dataset.X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(probabilities(predict_table(model, lines.encode(), dataset=dataset)), expected)
        one = f"when,much\n{days[0]},0\n".encode()
        np.testing.assert_array_equal(probabilities(predict_table(model, one, dataset=dataset)), expected[:1])
    (tmp_path / "rows.csv").write_text(lines)
    assert (
        script.main([str(tmp_path / "rows.csv"), "--model", str(tmp_path / "model.zip"), "-o", str(tmp_path / "o")])
        == 0
    )
    np.testing.assert_allclose(probabilities(pd.read_csv(tmp_path / "o")), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("typed", TYPED)
@pytest.mark.parametrize(
    ("text", "first", "flag"), [("%d/%m/%Y", True, "--day-first"), ("%m-%d-%Y", False, "--month-first")]
)
def test_ambiguous_date_order_is_reported(text, first, flag, typed, tmp_path, capsys, script):
    dataset = read_table(TYPED[typed])
    model, _ = saved(NaiveBayesClassifier(), dataset, tmp_path / "model.zip")
    days = [pd.Timestamp(day).strftime(text) for day in DAYS]
    lines = "when,much\n" + "".join(f"{day},{i % 5}\n" for i, day in enumerate(days))
    expected = model.predict_proba(dataset.X)
    (tmp_path / "rows.csv").write_text(lines)
    with pytest.raises(TableError, match=r"5/6/2020, day.*--day"):
        predict_table(model, tmp_path / "rows.csv", dataset=dataset)
    predictions = predict_table(model, tmp_path / "rows.csv", dataset=dataset, options=ReadOptions(dayfirst=first))
    np.testing.assert_array_equal(probabilities(predictions), expected)
    said = read_table(TYPED[typed], options=ReadOptions(dayfirst=first))  # with the table it is said once
    np.testing.assert_array_equal(probabilities(predict_table(model, tmp_path / "rows.csv", dataset=said)), expected)
    for main in (script.main, lambda arguments: cli.main(["predict", arguments[2], arguments[0], *arguments[3:]])):
        plain = [str(tmp_path / "rows.csv"), "--model", str(tmp_path / "model.zip"), "-o", str(tmp_path / "out.csv")]
        assert main(plain) == 2
        assert "--day-first, says it" in capsys.readouterr().err
        assert main([*plain, flag]) == 0
        read = probabilities(pd.read_csv(tmp_path / "out.csv"))
        np.testing.assert_allclose(read, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("state", [{"format": 2}, {"format": 99}, {}, None, []])
def test_a_spec_of_another_format_is_refused(state):
    with pytest.raises(TableError, match=r"format .*reads format 3"):
        ParseSpec.from_dict(state)


@pytest.mark.parametrize("lie", [
    {"type": "guess"}, {"form": "no/form"}, {"form": ["y-m-d"]}, {"part": "minute"}, {"kind": "ordinal"},
    {"name": "other"},
    {"decimal": ";"}, {"thousands": "x"}, {"decimal": ",", "thousands": ","}, {"missing": [1]}, {"missing": None},
    {"unit": 3}, {"spellings": {"red": 1}}, {"spellings": ["red"]}, {"day_first": "no"}, {"source": None}, {"more": 1},
])  # fmt: skip
def test_a_spec_that_no_table_has_is_refused(lie):
    table = TABLES["everything at once"]
    dataset = read_table(table.of(range(ROWS)), table.target, **table.options)
    saved(NaiveBayesClassifier(), dataset, file := io.BytesIO())

    def lied(about):
        about["spec"]["columns"][0] |= lie
        return about

    with pytest.raises(ModelFileError):
        alrviz.load_model(changed(file, lied))


def changed(file, change):
    return rewritten(file, **{"model.json": json.dumps(change(about_of(file))).encode()})


@pytest.mark.filterwarnings("ignore::alrviz.errors.ReadingWarning")
def test_decimal_mark_excludes_the_same_thousands_mark():
    german = [f"{1000 + 37 * k:,}".replace(",", ".") + f",{k % 10}4" for k in range(ROWS)]
    table = columns_of(("size", german), delimiter=";")
    dataset = read_table(table.of(range(ROWS)), table.target, **table.options)
    model = NaiveBayesClassifier().fit(dataset.X, dataset.y)
    english = dataset.X.to_csv(index=False).encode()
    assert dataset.X["size"].max() > 1000
    predictions = predict_table(model, english, dataset=dataset, options=ReadOptions(decimal="."))
    np.testing.assert_array_equal(probabilities(predictions), model.predict_proba(dataset.X))


@pytest.mark.filterwarnings("ignore::alrviz.errors.ReadingWarning")
def test_rows_of_another_delimiter_and_decimal_mark_are_told_apart():
    lines = [f"{k}.5,{2 * k}.25,{3 * k}.5,{'nj'[k % 2]}" for k in range(40)]
    dataset = read_table("\n".join(["a,b,c,y", *lines]).encode(), "y")
    model = NaiveBayesClassifier().fit(dataset.X, dataset.y)
    for sep in (";", "\t"):
        rows = dataset.X.to_csv(index=False, sep=sep, decimal=",").encode()
        predictions = predict_table(model, rows, dataset=dataset, options=ReadOptions(decimal=","))
        np.testing.assert_array_equal(probabilities(predictions), model.predict_proba(dataset.X))
        with pytest.raises(TableError, match="decimal, thousands, missing"):
            predict_table(model, rows, dataset=dataset)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    "form",
    [
        lambda X: X,
        lambda X: X.to_dict("list"),
        lambda X: X.to_dict("records"),
        lambda X: X.to_numpy(),
        lambda X: X.to_numpy().tolist(),
        pyarrow.Table.from_pandas,
        lambda X: [X.iloc[0].to_dict()],
        lambda X: X.iloc[0].to_dict(),
    ],
)
def test_tables_of_all_forms_are_accepted(form, known):
    """Also by a model that does not know how its table was read, and without a warning: nothing is read from text."""
    iris = alrviz.load_demo("iris")
    model = NaiveBayesClassifier().fit(iris.X, iris.y)
    rows = iris.X.iloc[[0, 60, 140]]
    expected = predict_table(model, rows)
    predictions = predict_table(model, form(rows), dataset=iris if known else None)
    pd.testing.assert_frame_equal(predictions, expected.iloc[: len(predictions)])
    assert len(predictions) in (1, 3)


def test_rows_without_names_are_refused_where_their_columns_are_not_those_of_the_model():
    iris = alrviz.load_demo("iris")
    model = NaiveBayesClassifier().fit(iris.X, iris.y)
    with pytest.raises(TableError, match="no column 'sepal length"):
        predict_table(model, iris.X.to_numpy()[:2, :3])
    with pytest.raises(TableError, match="no column 'sepal length"):
        predict_table(model, iris.X.to_numpy()[:2, :3], dataset=iris)


def test_several_files_are_one_table_for_a_model_that_does_not_know_how_its_own_was_read(tmp_path):
    iris = alrviz.load_demo("iris")
    model = NaiveBayesClassifier().fit(iris.X, iris.y)
    paths = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for path, rows in zip(paths, (iris.X[:2], iris.X[60:63]), strict=True):
        rows.to_csv(path, index=False)
    with pytest.warns(ReadingWarning, match="how its table was read"):
        predictions = predict_table(model, paths)
    assert predictions["prediction"].tolist() == model.predict(pd.concat([iris.X[:2], iris.X[60:63]])).tolist()
