"""Workbooks of other kinds than .xlsx, files of statistics packages, archives, files under way."""

import io
import sys
import zipfile

import openpyxl
import pandas as pd
import pytest

from alrviz.data.limits import Limits
from alrviz.data.options import ReadOptions
from alrviz.data.read import read_columns, read_table
from alrviz.errors import MemoryLimitError, TableError
from tests.data.test_read_formats import edited
from tests.data.workbooks import PEOPLE, XLS, XLS_WITH_ERRORS, ods_of_rows, workbook_of_rows

EMPTY_ROWS = (
    '<table:table-row table:number-rows-repeated="1048500"><table:table-cell table:number-columns-repeated="16384"/>'
    "</table:table-row>"
)
MANY_CELLS = '<table:table-cell office:value-type="float" office:value="1" table:number-columns-repeated="16384"/>'


@pytest.mark.parametrize(
    "data",
    [XLS, ods_of_rows(PEOPLE), ods_of_rows(PEOPLE, EMPTY_ROWS), ods_of_rows([[], [None], *PEOPLE])],
    ids=["xls from C5", "ods", "ods with empty rows below", "ods with empty rows above"],
)
def test_workbooks_of_all_kinds_are_one_table(data: bytes):
    assert read_table(data, "class").hash == read_table(workbook_of_rows(PEOPLE), "class").hash


@pytest.mark.parametrize(
    "more_rows",
    [
        f'<table:table-row table:number-rows-repeated="1048500">{MANY_CELLS}</table:table-row>',
        EMPTY_ROWS + f"<table:table-row>{MANY_CELLS}</table:table-row>",
    ],
    ids=["repeated", "far away"],
)
def test_cells_that_are_repeated_are_counted_before_they_are_unpacked(more_rows: str):
    with pytest.raises(MemoryLimitError):
        read_table(ods_of_rows(PEOPLE, more_rows))
    with pytest.raises(TableError, match="unpacks to more than"):
        read_table(ods_of_rows(PEOPLE, more_rows), limits=Limits(bytes=10_000_000))


def test_an_entity_in_an_ods_file_is_refused():
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><office:document-content'
    data = edited(ods_of_rows(PEOPLE), lambda xml: xml.replace("<office:document-content", bomb, 1), "content.xml")
    with pytest.raises(TableError, match="a document type"):
        read_table(data)


ODS_ERROR = '<table:table-cell table:formula="of:=1/0" office:value-type="string" office:string-value="" '
ODS_ERROR += 'calcext:value-type="error"><text:p>{}</text:p></table:table-cell>'


def test_errors_in_cells_of_older_workbooks_are_counted():
    rows = [["x", "y", "class"], *[[i, i * 7 % 11, "pq"[i % 2]] for i in range(12)]]
    cell = '<table:table-cell office:value-type="float" office:value="3"/>'
    errors = "".join(
        f"<table:table-row>{cell}{ODS_ERROR.format(text)}{cell}</table:table-row>"
        for text in ("#DIV/0!", "#N/A", "#DIV/0!")
    )
    for data in (ods_of_rows(rows, errors), XLS_WITH_ERRORS):
        table = read_columns(data)
        assert any("3 cells of the workbook" in note and "#DIV/0!" in note and "#N/A" in note for note in table.notes)
        assert table.values[1].series.isna().sum() == 3


@pytest.mark.parametrize(
    ("write", "place"),
    [
        ('r="{}"', "XFD1048576"),
        ("r='{}'", "XFD1048576"),
        ('r = "{}"', "XFD1048576"),
        ('s="0"\nr="{}"', "xfd1048576"),
    ],
)
def test_a_far_cell_is_seen_however_its_place_is_written(write: str, place: str):
    cell = f'<c t="inlineStr" {write.format(place)}><is><t>x</t></is></c>'
    row = f"<row {write.format('1048576')}>{cell}</row></sheetData>"
    table = read_columns(
        edited(workbook_of_rows(PEOPLE), lambda xml: xml.replace("</sheetData>", row)), max_memory=10**8
    )
    assert table.n_rows == 8


def test_a_format_without_a_value_is_no_cell():
    def formatted(xml: str) -> str:
        return xml.replace("</row>", '<c r="AMJ1" s="0"/></row>', 1)

    rows = [["a", "b", "class"], *[[i, i % 7, "xy"[i % 2]] for i in range(3000)]]
    table = read_columns(edited(workbook_of_rows(rows), formatted), limits=Limits(columns=3), max_memory=10**8)
    assert (table.n_rows, table.names) == (3000, ("a", "b", "class"))


@pytest.mark.parametrize("data", [XLS[:3000], XLS[:512], b"\xd0\xcf\x11\xe0" + bytes(4000), ods_of_rows(PEOPLE)[:-200]])
def test_truncated_workbook_raises(data: bytes):
    with pytest.raises(TableError, match="is damaged"):
        read_table(data)


def test_the_sheet_with_the_target_is_read_and_where_it_begins_is_noted():
    book = openpyxl.Workbook()
    for row in [["code", "meaning"], [1, "White"], [2, "Asian"], [3, "Black"]]:
        book.active.append(row)
    sheet = book.create_sheet("Data")
    for k, row in enumerate(PEOPLE):
        for j, cell in enumerate(row):
            sheet.cell(k + 5, j + 3, cell)
    buffer = io.BytesIO()
    book.save(buffer)
    dataset = read_table(buffer.getvalue(), "class")
    assert dataset.hash == read_table(workbook_of_rows(PEOPLE), "class").hash
    assert any("'Data' was read" in note for note in dataset.notes)
    assert any("from C5 on" in note for note in dataset.notes)
    assert read_columns(buffer.getvalue()).names == ("code", "meaning")


def test_a_password_is_named():
    encrypted = XLS[:512] + "EncryptedPackage".encode("utf-16-le") + XLS[512:]
    with pytest.raises(TableError, match="a password"):
        read_table(encrypted)


# ---- statistics packages ---------------------------------------------------------------------------------------------

SURVEY = pd.DataFrame(
    {
        "sex": [1, 2, 1, 2, None, 1] * 5,
        "age": [20, 30.5, 99, 44, 50, 61] * 5,
        "agree": [1, 2, 3, 1, 2, 3] * 5,
        "day": pd.to_datetime(["2020-01-31"] * 30),
        "vote": ["a", "b"] * 15,
    }
)
LABELS = {"sex": {1: "male", 2: "female"}, "age": {99: "refused"}, "agree": {1: "no", 2: "so so", 3: "yes"}}


def survey_file(tmp_path, ending: str) -> bytes:
    pyreadstat = pytest.importorskip("pyreadstat", reason="files of statistics packages are written with it")
    path = tmp_path / f"t.{ending}"
    match ending:
        case "sav":
            pyreadstat.write_sav(SURVEY, path, variable_value_labels=LABELS, variable_measure={"agree": "ordinal"})
        case "dta":
            pyreadstat.write_dta(SURVEY, path, variable_value_labels={"sex": LABELS["sex"]})
        case "xpt":
            pyreadstat.write_xport(SURVEY, path)
        case "por":
            pyreadstat.write_por(SURVEY.rename(columns=str.upper), path)
    return path.read_bytes()


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt", "por"])
def test_files_of_statistics_packages(tmp_path, ending: str):
    dataset = read_table(survey_file(tmp_path, ending))
    assert (dataset.n_rows, dataset.target.lower(), list(dataset.classes)) == (30, "vote", ["a", "b"])
    assert [dataset.kinds[name] for name in list(dataset.frame)[:2]] == ["categorical", "numeric"]
    assert dataset.frame.iloc[:, 0].isna().sum() == 5
    labelled = ending in ("sav", "dta")
    assert set(dataset.frame.iloc[:, 0].dropna()) == ({"male", "female"} if labelled else {1, 2})


def test_labels_are_levels_in_their_order_and_those_of_some_values_are_noted(tmp_path):
    dataset = read_table(survey_file(tmp_path, "sav"))
    assert dataset.kinds["agree"] == "ordinal"
    assert list(dataset.X["agree"].cat.categories) == ["no", "so so", "yes"]
    assert any("'age'" in note and "refused" in note for note in dataset.notes)


def test_truncated_stat_file_raises(tmp_path):
    data = survey_file(tmp_path, "sav")
    for size in (4, 180, len(data) // 2, len(data) - 5):
        with pytest.raises(TableError, match="damaged or cut short"):
            read_table(data[:size])
    with pytest.raises(TableError, match="more than the 29 rows"):
        read_table(data, limits=Limits(rows=29))


def test_a_missing_package_is_named_with_its_command(tmp_path, monkeypatch):
    data = survey_file(tmp_path, "sav")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(TableError, match=r"SPSS.*pip install 'alrviz\[stat\]'"):
        read_table(data)


# ---- archives and files under way ------------------------------------------------------------------------------------


def csv(word: str) -> str:
    return "size,class\n" + "".join(f"{i % 9},{word}{i % 2}\n" for i in range(30))


def test_one_of_several_tables_in_an_archive_may_be_chosen():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.csv", csv("a"))
        archive.writestr("in/b.csv", csv("b"))
    with pytest.raises(TableError, match=r"'a.csv', 'in/b.csv'.*sheet='a.csv'"):
        read_table(buffer.getvalue())
    chosen = read_table(buffer.getvalue(), options=ReadOptions(sheet="in/b.csv"))
    assert list(chosen.classes) == ["b0", "b1"]
    assert any("'a.csv' was ignored" in note for note in chosen.notes)


def test_a_file_that_grows_while_it_is_read_is_noted(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text(csv("a"))
    assert not any("changed while" in note for note in read_table(path).notes)
    from alrviz.data import source

    drain = source._drain

    def growing(file, *checks, **options):
        with path.open("a") as more:
            more.write("7,a")
        return drain(file, *checks, **options)

    monkeypatch.setattr(source, "_drain", growing)
    assert any("changed while" in note for note in read_table(path).notes)
