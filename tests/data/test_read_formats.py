import datetime
import decimal
import io
import re
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest

from alrviz.data.options import ReadOptions
from alrviz.data.read import Limits, read_columns, read_table
from alrviz.errors import MemoryLimitError, TableError

ARFF = r"""% the weather, with everything the format allows
@RELATION 'the weather'
@attribute outlook {sunny, 'light rain', "it's \"fog\"", never}
@attribute 'temp, in C' NUMERIC
@ATTRIBUTE humidity real
@attribute note string
@attribute day date "yyyy-MM-dd"
@attribute play {yes,no}

@DATA
sunny,85,1e2,'a, b',2020-01-31,no
% a comment between
'light rain', 70 , 3.5, "say \"hi\"", 2020-02-29, yes
"it's \"fog\"",?,4,plain,?,yes
sunny, 60, 5, '%', 2021-03-01, ?
sunny, 61, 5, d, 2021-03-01, no
"""


def test_arff():
    dataset = read_table(ARFF.encode(), target="play")
    assert dataset.n_rows == 4
    assert "1 row without a class was dropped" in dataset.notes
    assert list(dataset.X["outlook"].cat.categories) == ["sunny", "light rain", 'it\'s "fog"']
    np.testing.assert_array_equal(dataset.X["temp, in C"], [85, 70, np.nan, 61])
    assert dataset.X["humidity"].tolist() == [100, 3.5, 4, 5]
    assert set(dataset.frame["note"].cat.categories) == {"a, b", 'say "hi"', "plain", "d"}
    assert dataset.kinds["day"] == "ignore"
    np.testing.assert_array_equal(dataset.X["day year"], [2020, 2020, np.nan, 2021])
    assert dataset.y.tolist() == ["no", "yes", "yes", "no"]


def test_arff_declared_numbers_stay_numbers():
    text = "@relation r\n@attribute a integer\n@attribute class {x,y}\n@data\n" + "1,x\n2,y\n" * 5
    dataset = read_table(text.encode())
    assert dataset.kinds == {"a": "numeric"}
    assert dataset.columns[0].why == "its type says so"


def test_arff_of_one_row():
    assert read_columns(b"@relation r\n@attribute a real\n@attribute class {x,y}\n@data\n1,x").n_rows == 1


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("@relation r\n@attribute a real\n", "no @data line"),
        ("@relation r\n@data\n1\n", "line 2 starts the data, but no @attribute came before"),
        ("@relation r\n@atribute a real\n@data\n1\n", "line 2 .* did you mean '@attribute'"),
        ("@relation r\n@attribute a {x,y\n@data\nx\n", "does not close them"),
        ("@relation r\n@attribute a real\n@attribute c {x,y}\n@data\n", "no rows after @data"),
        ("@relation r\n@attribute a real\n@attribute c {x,y}\n@data\n{0 1}\n", "line 5 is a sparse row"),
        ("@relation r\n@attribute a real\n@attribute c {x,y}\n@data\n1,x\nb,y\n", "'b' in data row 2 is not a number"),
    ],
)
def test_broken_arff(text: str, error: str):
    with pytest.raises(TableError, match=error):
        read_table(text.encode())


def mixed_frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "size": [1.5, np.nan, 3.5, 9.5, 1.25, 8.0],
            "count": [1, 2, 3, 4, 5, 6],
            "colour": ["red", "blue", "red", None, "blue", "red"],
            "flag": [True, False, True, True, False, False],
            "grade": pd.Categorical(list("bacbaa"), categories=list("cba"), ordered=True),
            "when": pd.to_datetime(["2020-01-31", "2020-02-29", None, "2021-03-01", "2021-03-02", "2021-12-24"]),
            "class": ["x", "y", "x", "y", "x", "y"],
        }
    )


def test_a_frame_keeps_its_types():
    frame = mixed_frame()
    before = frame.copy()
    dataset = read_table(frame, count="numeric")
    pd.testing.assert_frame_equal(frame, before)
    assert {name: dataset.kinds[name] for name in frame.columns[:-1]} == {
        "size": "numeric",
        "count": "numeric",
        "colour": "categorical",
        "flag": "categorical",
        "grade": "ordinal",
        "when": "ignore",
    }
    assert list(dataset.X["grade"].cat.categories) == list("cba")
    assert dataset.X["grade"].cat.ordered
    assert list(dataset.X["flag"].cat.categories) == ["False", "True"]
    assert dataset.X["when month"].tolist()[:2] == ["Jan", "Feb"]
    assert list(dataset.X["when weekday"].cat.categories) == ["Mon", "Tue", "Fri", "Sat"]


def test_parquet_and_csv_of_a_frame_say_the_same():
    frame = mixed_frame()
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    said = {"count": "numeric", "grade": "categorical"}
    from_frame = read_table(frame, **said)
    from_parquet = read_table(buffer.getvalue(), **said)
    from_csv = read_table(frame.to_csv(index=False).encode(), **said)
    assert from_frame.hash == from_parquet.hash == from_csv.hash
    pd.testing.assert_frame_equal(from_frame.X, from_parquet.X)


def test_parquet_limits():
    buffer = io.BytesIO()
    pd.DataFrame({"a": np.arange(10_000.0), "class": ["x", "y"] * 5000}).to_parquet(buffer)
    with pytest.raises(TableError, match="more than the 9,999 rows"):
        read_table(buffer.getvalue(), limits=Limits(rows=9_999))
    with pytest.raises(TableError, match="unpacks to more than"):
        read_table(buffer.getvalue(), limits=Limits(bytes=len(buffer.getvalue()) + 1))


def test_unusual_dtypes():
    frame = pd.DataFrame(
        {
            "nullable": pd.array([1, None, 3, 4], dtype="Int64"),
            "decimal": [decimal.Decimal("1.5"), decimal.Decimal("2.5"), None, decimal.Decimal("4")],
            "date": [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2), None, datetime.date(2020, 1, 4)],
            "zone": pd.date_range("2020-01-01", periods=4, tz="Europe/Berlin"),
            "span": pd.to_timedelta([1, 2, 3, 90], unit="s"),
            "mixed": [1, "b", 2.5, 1.0],
            "codes": pd.Categorical([3, 1, 3, 1]),
            "yes": [True, None, False, True],
            "arrow": pd.array(["u", "v", "u", None], dtype=pd.ArrowDtype(__import__("pyarrow").string())),
            "class": [0, 1, 0, 1],
        }
    )
    table = read_table(frame, nullable="numeric")
    np.testing.assert_array_equal(table.X["nullable"], [1, np.nan, 3, 4])
    np.testing.assert_array_equal(table.X["decimal"], [1.5, 2.5, np.nan, 4])
    assert table.frame["date"].dt.day.tolist()[3] == 4
    assert table.frame["zone"].dt.hour.tolist() == [0, 0, 0, 0]
    assert any("'zone'" in note and "Europe/Berlin" in note for note in table.notes)
    assert table.frame["span"].tolist() == [1, 2, 3, 90]
    assert list(table.frame["mixed"]) == ["1", "b", "2.5", "1"]
    assert list(table.X["codes"].cat.categories) == ["1", "3"]
    assert list(table.X["yes"].cat.categories) == ["False", "True"]
    assert list(table.X["arrow"].cat.categories) == ["u", "v"]
    assert table.classes.tolist() == ["0", "1"]


def test_text_in_a_frame_stays_text():
    frame = pd.DataFrame({"zip": ["10115", "20095"] * 4, "class": ["x", "y"] * 4})
    assert list(read_table(frame).X["zip"].cat.categories) == ["10115", "20095"]
    assert read_table(frame, zip="numeric").X["zip"].tolist() == [10115, 20095] * 4


def test_infinities_in_a_frame_are_named():
    frame = pd.DataFrame({"a": [1.0, np.inf, 2.0], "class": ["x", "y", "x"]})
    with pytest.raises(TableError, match="column 'a' is inf in data row 2"):
        read_table(frame)


def test_names_of_a_frame():
    frame = pd.DataFrame([[1.5, 2.5, "x"], [2.5, 1.5, "y"]], columns=["a", "a", 7])
    assert list(read_table(frame).frame) == ["a", "a (2)", "7"]
    frame.columns = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y"), ("c", "")])
    assert list(read_table(frame).frame) == ["a x", "a y", "c"]


def workbook(*sheets) -> bytes:
    openpyxl = pytest.importorskip("openpyxl", reason="workbooks are written with openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        sheet = book.create_sheet(f"Sheet{number}")
        for row in rows:
            sheet.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def test_xlsx():
    rows = [
        ("size", "code", "when", "flag", "class"),
        (1.5, "007", datetime.datetime(2020, 1, 31), True, "x"),
        (2, "008", datetime.datetime(2020, 2, 29), False, "y"),
        ("?", "007", None, True, "x"),
        (),
        (4.25, "008", datetime.datetime(2021, 3, 1), False, None),
        (4.25, "008", datetime.datetime(2021, 3, 1), False, "y"),
    ]
    dataset = read_table(workbook([], rows))
    np.testing.assert_array_equal(dataset.frame["size"], [1.5, 2, np.nan, 4.25])
    assert list(dataset.X["code"].cat.categories) == ["007", "008"]
    assert list(dataset.X["flag"].cat.categories) == ["False", "True"]
    assert dataset.frame["when"].dt.day.tolist()[0] == 31
    assert "the sheet 'Sheet1' was read, of 2; there are also 'Sheet0'" in dataset.notes
    assert "1 row without a class was dropped" in dataset.notes


def edited(data: bytes, change, part: str = "sheet1.xml") -> bytes:
    """The workbook with the XML of one part changed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, change(content.decode()).encode() if name.endswith(part) else content)
    return buffer.getvalue()


def sixty_rows() -> bytes:
    return workbook([("a", "b", "class"), *[(i % 7 + 0.5, f"v{i % 5}", "yes" if i % 3 else "no") for i in range(60)]])


def renumbered(number):
    """A change of the XML: row k becomes row number(k), its cells with it."""
    return lambda xml: re.sub(r'r="([A-Z]*)(\d+)"', lambda found: f'r="{found[1]}{number(int(found[2]))}"', xml)


@pytest.mark.parametrize(
    "change",
    [
        *(
            lambda xml, said=said: xml.replace('<dimension ref="A1:C61"', f'<dimension ref="{said}"')
            for said in ("A1:C31", "A1:B61", "A1", "A1:XFD1048576")
        ),
        renumbered(lambda k: 7 * k),
        lambda xml: re.sub(r' r="[A-Z]*\d+"', "", xml),
    ],
    ids=["half the rows", "without the class", "one cell", "all cells", "jumping", "no numbers"],
)
def test_wrong_dimensions_of_a_sheet_lose_no_cells(change):
    data = sixty_rows()
    changed = edited(data, change)
    assert changed != data
    dataset = read_table(changed)
    assert dataset.hash == read_table(data).hash
    assert (dataset.n_rows, dataset.target, dataset.kinds) == (60, "class", {"a": "numeric", "b": "categorical"})


def test_a_cell_far_away_is_a_row_and_a_column_and_no_more():
    def far(xml):
        cell = '<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>x</t></is></c></row>'
        return xml.replace("</sheetData>", cell + "</sheetData>")

    table = read_columns(edited(sixty_rows(), far), limits=Limits(bytes=100_000, columns=10))
    assert table.n_rows == 60, "a remark below the table"
    assert table.names == ("a", "b", "class", "column 4")


def test_columns_of_a_sheet_are_counted_against_their_limit_and_cells_against_that_of_bytes():
    with pytest.raises(TableError, match="3 columns, at most 2"):
        read_table(sixty_rows(), limits=Limits(columns=2))
    sparse = workbook([tuple(f"c{j}" for j in range(300)), *[(i,) for i in range(3000)]])
    with pytest.raises(TableError, match="unpacks to more than"):
        read_table(sparse, limits=Limits(bytes=1_000_000))


def test_a_wide_row_below_many_narrow_ones_is_refused_before_it_is_filled():
    cells = "".join("<c><v>1</v></c>" for _ in range(2000))
    rows = "<row><c><v>1</v></c></row>" * 20_000 + f"<row>{cells}</row>"
    data = edited(sixty_rows(), lambda xml: xml.replace("</sheetData>", rows + "</sheetData>"))
    tracemalloc.start()
    try:
        with pytest.raises(MemoryLimitError):
            read_table(data, max_memory=30_000_000)
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()


def test_two_values_in_one_cell_are_refused():
    with pytest.raises(TableError, match="comes twice"):
        read_table(edited(sixty_rows(), lambda xml: re.sub(r' r="[A-Z]+(\d+)"', r' r="A\1"', xml)))


def test_a_row_that_comes_twice_is_refused():
    with pytest.raises(TableError, match="comes twice"):
        read_table(edited(sixty_rows(), renumbered(lambda k: k if k < 30 else k - 20)))


def test_formulas_without_values_are_counted_and_a_sheet_of_nothing_else_is_refused():
    some = [("a", "b", "class"), *[(f"=1+{i}", f"v{i % 2}", "yes" if i % 2 else "no") for i in range(8)]]
    dataset = read_table(workbook(some))
    assert any("8 formulas are missing, as the file keeps no values of them" in note for note in dataset.notes)
    with pytest.raises(TableError, match="24 formulas whose values the file does not keep"):
        read_table(workbook([some[0], *[("=1", "=2", "=3")] * 8]))


def test_merged_cells_are_noted():
    data = edited(
        sixty_rows(),
        lambda xml: xml.replace("</sheetData>", '</sheetData><mergeCells><mergeCell ref="A2:A3"/></mergeCells>'),
    )
    assert any(note.startswith("1 area of merged cells") for note in read_table(data).notes)
    names = edited(
        sixty_rows(),
        lambda xml: xml.replace("</sheetData>", '</sheetData><mergeCells><mergeCell ref="A1:B1"/></mergeCells>'),
    )
    assert not any("merged cells" in note for note in read_table(names).notes)


def test_a_hidden_sheet_is_read_last():
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(io.BytesIO(workbook([("p", "q"), (1, 2)], [("a", "class"), (1.5, "x"), (2.5, "y")])))
    book.worksheets[0].sheet_state = "hidden"
    book.active = 1
    buffer = io.BytesIO()
    book.save(buffer)
    assert read_columns(buffer.getvalue()).names == ("a", "class")


def test_numbers_in_the_first_row_of_a_sheet_are_data():
    dataset = read_table(workbook([(1.5, "u", "x"), (2.5, "v", "y"), (1.5, "w", "x")]))
    assert dataset.n_rows == 3
    assert any("the first row looks like those below" in note for note in dataset.notes)


def test_days_and_times_of_a_sheet():
    when = datetime.datetime(2020, 1, 31, 8, 30)
    rows = [("when", "at", "long", "money", "class")]
    rows += [(when, datetime.time(8, 30), datetime.timedelta(hours=26, minutes=5), 3.5, "xy"[i % 2]) for i in range(4)]
    frame = read_table(workbook(rows), at="categorical", long="categorical").frame
    assert frame["when"].tolist() == [when] * 4
    assert set(frame["at"]) == {"08:30:00"}
    assert set(frame["long"]) == {"26:05:00"}
    assert frame["money"].tolist() == [3.5] * 4


def test_a_document_type_in_a_workbook_is_refused():
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><worksheet'
    with pytest.raises(TableError, match="a document type"):
        read_table(edited(sixty_rows(), lambda xml: xml.replace("<worksheet", bomb, 1)))


@pytest.mark.parametrize(
    "change",
    [
        lambda xml: xml[: len(xml) // 2],
        lambda xml: re.sub('<c r="A1".*?</c>', '<c r="A1" t="s"><v>999</v></c>', xml),
        lambda xml: xml.replace("<v>0.5</v>", "<v>half</v>"),
        lambda xml: xml.replace('r="A1"', 'r="?1"'),
    ],
    ids=["cut", "no such text", "no number", "no cell"],
)
def test_a_damaged_sheet(change):
    with pytest.raises(TableError, match=r"the workbook (or zip archive )?is damaged"):
        read_table(edited(sixty_rows(), change))


def test_an_empty_workbook():
    with pytest.raises(TableError, match="the workbook is empty"):
        read_table(workbook([]))


def test_options_apply_to_typed_tables():
    frame = pd.DataFrame({"a": ["u", "none", "v", "u"], "class": ["x", "y", "x", "y"]})
    assert list(read_table(frame).X["a"].cat.categories) == ["none", "u", "v"]
    gone = read_table(frame, options=ReadOptions(missing=("none",)))
    assert list(gone.X["a"].cat.categories) == ["u", "v"]
    assert gone.columns[0].missing == 1


def test_lone_surrogate_is_a_level_with_a_note():
    values = ["\ud800", "\ud801", "u\ud800", "v"] * 3
    dataset = read_table(pd.DataFrame({"a": pd.Series(values, dtype=object), "class": ["x", "y"] * 6}))
    assert list(dataset.X["a"].cat.categories) == ["\\ud800", "\\ud801", "u\\ud800", "v"]
    assert any("9 values in 'a' held half a character" in note for note in dataset.notes)
    assert not dataset.X["a"].isna().any()


LARGE = {
    "int64": [2**62 + i % 20 for i in range(60)],
    "uint64": np.array([2**63 + i % 20 for i in range(60)], dtype=np.uint64),
    "gaps": pd.array([None if i < 20 else 2**62 + i % 20 for i in range(60)], dtype="Int64"),
    "beyond floats": pd.Series([10**400 + i % 20 for i in range(60)], dtype=object),
    "decimal": [decimal.Decimal(1) + decimal.Decimal(i % 20).scaleb(-25) for i in range(60)],
    "level": pd.Categorical([2**62 + i % 20 for i in range(60)]),
}


@pytest.mark.parametrize("form", ["frame", "Parquet", "CSV"])
@pytest.mark.parametrize("sort", LARGE)
def test_numbers_of_more_digits_than_floats_keep_are_levels_and_none_is_lost(sort, form):
    frame = pd.DataFrame({"a": LARGE[sort], "class": ["x", "y"] * 30})
    source = frame
    if form == "CSV":
        source = frame.to_csv(index=False).encode()
    elif form == "Parquet":
        if sort == "beyond floats":
            pytest.skip("Parquet has no such numbers")
        buffer = io.BytesIO()
        frame.to_parquet(buffer)
        source = buffer.getvalue()
    dataset = read_table(source)
    assert dataset.kinds == {"a": "categorical"}
    assert len(dataset.X["a"].cat.categories) == 20
    assert dataset.columns[0].missing == (20 if sort == "gaps" else 0)
    declared = sort == "level" and form != "CSV"
    assert declared or any("'a' have more digits than a number keeps apart" in note for note in dataset.notes)


def test_decimals_of_which_few_merge_stay_numbers():
    values = [decimal.Decimal(i % 30) / 7 for i in range(60)]
    values[0] += decimal.Decimal("1e-26")
    assert read_table(pd.DataFrame({"a": values, "class": ["x", "y"] * 30})).kinds == {"a": "numeric"}


def test_whole_numbers_in_parquet_with_gaps_keep_their_digits():
    buffer = io.BytesIO()
    frame = pd.DataFrame({"a": pd.array([2**53 + 1, None, 2**53 + 2] * 3, dtype="Int64"), "class": ["x", "y", "x"] * 3})
    frame.to_parquet(buffer)
    assert set(read_table(buffer.getvalue()).X["a"].cat.categories) == {str(2**53 + 1), str(2**53 + 2)}


def test_arff_numbers_that_would_merge_are_levels():
    rows = "\n".join(f"{2**62 + i % 20},{'xy'[i % 2]}" for i in range(60))
    dataset = read_table(f"@relation r\n@attribute a numeric\n@attribute class {{x,y}}\n@data\n{rows}\n".encode())
    assert len(dataset.X["a"].cat.categories) == 20


def test_blanks_without_end_in_an_arff_row_take_no_time():
    text = "@relation r\n@attribute a string\n@attribute class {x,y}\n@data\n'u'" + " " * 100_000 + "v,x\nw,y\n"
    assert read_table(text.encode()).n_rows == 2


class Unsayable:
    def __str__(self) -> str:
        raise ZeroDivisionError("never")


def test_values_that_cannot_be_read_are_named():
    with pytest.raises(TableError, match=r"column 'a' holds values that cannot be read .*ZeroDivisionError: 'never'"):
        read_table(pd.DataFrame({"a": [Unsayable()] * 4, "class": ["x", "y"] * 2}))
    with pytest.raises(TableError, match="a column's name has no text"):
        read_table(pd.DataFrame({Unsayable(): [1, 2] * 2, "class": ["x", "y"] * 2}))


def test_a_decimal_that_is_no_number_is_missing():
    values = [decimal.Decimal("sNaN"), decimal.Decimal("NaN"), decimal.Decimal("1.5"), None] * 2
    dataset = read_table(pd.DataFrame({"a": values, "class": ["x", "y"] * 4}), a="numeric")
    assert dataset.X["a"].isna().tolist() == [True, True, False, True] * 2


def test_values_of_different_type_are_merged_with_a_note():
    dataset = read_table(pd.DataFrame({"a": [1, "1", "b"] * 4, "class": ["x", "y"] * 6}))
    assert any("'a' that differ in type alone" in note for note in dataset.notes)


def test_a_line_separator_inside_an_arff_value_is_no_line_end():
    text = "@relation r\r\n@attribute a string\r\n@attribute class {x,y}\r\n@data\r\n'u\u2028w',x\r\nv,y\r\n"
    assert set(read_table(text.encode()).frame["a"].cat.categories) == {"u\u2028w", "v"}


def test_parquet_text_that_is_not_utf8():
    buffer = io.BytesIO()
    frame = pd.DataFrame({"a": ["café", "tea"] * 3, "class": ["x", "y"] * 3})
    frame.to_parquet(buffer, compression=None)
    damaged = buffer.getvalue().replace("é".encode(), b"\xff\xff")
    with pytest.raises(TableError, match="the Parquet file is damaged"):
        read_table(damaged)


@pytest.mark.parametrize(
    ("declared", "option", "month"), [("dd/MM/yyyy", None, 6), ("MM/dd/yyyy", None, 5), ("", True, 6)]
)
def test_dates_of_arff_keep_to_their_declared_order_or_to_what_is_said(declared, option, month):
    kind = f'date "{declared}"' if declared else "date"
    text = f"@relation r\n@attribute d {kind}\n@attribute y {{a,b}}\n@data\n05/06/2020,a\n05/06/2021,b\n05/06/2022,a\n"
    data = read_table(text.encode(), "y", options=ReadOptions(dayfirst=option), name="r.arff")
    assert data.table.values[0].series.dt.month.tolist() == [month] * 3
