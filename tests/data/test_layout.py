"""Files whose table is not all there is in them: titles, comments, several rows of names or none, totals."""

import io

import numpy as np
import pytest

from alrviz.data.layout import count_footer
from alrviz.data.options import ReadOptions
from alrviz.data.read import read_columns, read_table
from alrviz.errors import TableError

BODY = "".join(f"{['north', 'south', 'west'][i % 3]},{i}.5,{i * 3 % 7},{'yes' if i % 2 else 'no'}\n" for i in range(40))
NAMES = "region,price,count,class\n"

CASES = [
    ("nothing but a table", NAMES + BODY, (), 40),
    ("a title", "Sales by region\n" + NAMES + BODY, ("'Sales by region'",), 40),
    (
        "titles and a blank line",
        "Sales\nas of 2020-01-31, all shops\n\n" + NAMES + BODY,
        ("2 lines before the names",),
        40,
    ),
    ("a title padded by a spreadsheet", "Sales by region,,,\n,,,\n" + NAMES + BODY, ("before the names",), 40),
    ("comments", "# made by a program\n# on a day\n" + NAMES + BODY, ("2 lines that start with '#'",), 40),
    ("comments within", "# made\n" + NAMES + BODY + "# the end\n", ("2 lines that start with '#'",), 40),
    ("a comment that holds the names", "# made\n#" + NAMES + BODY, ("1 line that starts with '#'",), 40),
    ("a total", NAMES + BODY + "Total,820,123,\n", ("1 line behind the table left out: 'Total 820 123'",), 40),
    ("a source", NAMES + BODY + "\nSource: the ministry\n", ("'Source: the ministry'",), 40),
    ("remarks", NAMES + BODY + "\n* without the islands\nAll figures are preliminary\n", ("2 lines behind",), 40),
    ("names again and again", NAMES + BODY + NAMES + BODY, ("1 row that repeats the names",), 80),
    ("units below the names", NAMES + ",EUR,pieces,\n" + BODY, ("2 rows of names were joined",), 40),
    ("blank lines", "\n\n" + NAMES + "\n" + BODY + "\n\n", (), 40),
]


@pytest.mark.parametrize(("text", "notes", "n_rows"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_table_in_a_file(text, notes, n_rows, end):
    dataset = read_table(text.replace("\n", end).encode(), "class")
    assert dataset.n_rows == n_rows
    assert [name.split()[0] for name in dataset.frame] == ["region", "price", "count", "class"]
    assert dataset.kinds[list(dataset.frame)[1]] == "numeric"
    assert sorted(dataset.classes) == ["no", "yes"]
    said = " ".join(dataset.notes)
    assert all(note in said for note in notes)
    assert ("left out" in said or "joined" in said) is bool(notes)
    again = read_table(text.replace("\n", end).encode(), "class", options=dataset.options)
    assert again.hash == dataset.hash  # what was detected, said


def test_names_over_merged_cells_are_joined():
    text = "shop,2019,,2020,\n,men,women,men,women\n" + "".join(
        f"s{i % 3},{i},{i + 1},{i + 2},{i + 3}\n" for i in range(30)
    )
    table = read_columns(text.encode())
    assert table.names == ("shop", "2019 men", "2019 women", "2020 men", "2020 women")


def test_questions_below_the_names_are_left_out():
    question = "How satisfied are you with the service that you have received from us?"
    rows = "".join(f"{['very', 'partly', 'not'][i % 3]},{i % 5},{'yes' if i % 2 else 'no'}\n" for i in range(40))
    table = read_columns(f'Q1,Q2,Q3\n{question},"{question}",{question}\n{rows}'.encode())
    assert table.names == ("Q1", "Q2", "Q3")
    assert table.n_rows == 40
    assert any("of 2 rows of names the first was taken" in note for note in table.notes)


def test_words_without_names_keep_their_first_row():
    rows = "".join(f"{'xkf'[i % 3]},{'sby'[i % 3]},{'nt'[i % 2]},{'pe'[i % 2]}\n" for i in range(40))
    table = read_columns(rows.encode())
    assert table.n_rows == 40
    assert table.names == ("column 1", "column 2", "column 3", "column 4")
    assert any("the first row looks like those below" in note for note in table.notes)
    assert read_columns(rows.encode(), options=ReadOptions(header=True)).n_rows == 39


def test_row_names_of_r_have_a_column():
    text = '"size","class"\n' + "".join(f'"{i + 1}",{i}.5,"{"xy"[i % 2]}"\n' for i in range(20))
    table = read_columns(text.encode())
    assert table.names == ("row name", "size", "class")
    assert table.n_rows == 20
    assert read_table(text.encode()).kinds["row name"] == "ignore"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "patient,age,bmi,ok\n1,61,22.1,y,good\n2,47,30.5,n,\n3,55,27.9,y,\n",
            ("patient", "age", "bmi", "ok", "column 5"),
        ),
        (",p,q,ok\nA,0.11,0.22,y,600\nB,0.12,0.25,n,600\nC,0.1,0.2,y,600\n", ("column 1", "p", "q", "ok", "column 5")),
    ],
    ids=["remarks behind some rows", "a first column without a name"],
)
def test_names_do_not_shift_where_the_last_column_lacks_its_own(text, names):
    assert read_table(text.encode(), target="ok").table.names == names


def test_names_of_rows_without_a_name_are_noted():
    table = read_table(b"a b c\nr1 1 2.0 y\nr2 2 3.0 n\nr3 3 4.0 y\n", target="c").table
    assert table.names == ("row name", "a", "b", "c")
    assert any("names of rows" in note for note in table.notes)


def test_a_delimiter_at_the_end_of_each_row_is_no_value():
    dataset = read_table(("size,class\n" + "".join(f"{i}.5,{'xy'[i % 2]},\n" for i in range(20))).encode(), "class")
    assert dataset.kinds["size"] == "numeric"
    assert dataset.frame["class"].tolist()[:2] == ["x", "y"]


def test_skip_rows_and_skip_footer():
    text = ("one,two\n" * 3 + NAMES + BODY + "a,b,c,d\ne,f,g,h\n").encode()
    dataset = read_table(text, options=ReadOptions(skip_rows=3, skip_footer=2))
    assert dataset.n_rows == 40
    assert dataset.kinds["price"] == "numeric"
    with pytest.raises(TableError, match=r"skip_rows.*-1.*0"):
        ReadOptions(skip_rows=-1)
    with pytest.raises(TableError, match=r"header is 4; .* 0 to 3"):
        ReadOptions(header=4)


def test_comment_option():
    text = ("% made\n" + NAMES + "% half of it\n" + BODY).encode()
    assert read_columns(text, options=ReadOptions(comment="%")).n_rows == 40
    assert read_columns(b"#,size,class\n" + b"1,2.5,x\n2,3.5,y\n3,1.5,x\n").names == ("#", "size", "class")


def test_a_total_that_is_a_level_stays():
    rows = "".join(f"{['Total', 'men', 'women'][i % 3]},{i}.5,{'xy'[i % 2]}\n" for i in range(40))
    assert read_columns(f"group,size,class\n{rows}".encode()).n_rows == 40


def workbook(sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, text in sheets.items():
        sheet = book.create_sheet(title)
        for line in text.splitlines():
            sheet.append(
                [float(cell) if cell.replace(".", "").isdecimal() else cell or None for cell in line.split(",")]
            )
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def test_remarks_before_the_table_are_no_table():
    notes = "Notes\n\nPrices are in euros\nAll shops\n"
    about = "Author,A. Miller\nContact,miller@example.org\nSource,the shops\nLicence,free\n"
    for first in (notes, about):
        dataset = read_table(workbook({"About": first, "Sales": NAMES + BODY, "More": NAMES + BODY}), "class")
        assert dataset.n_rows == 40
        assert dataset.options.sheet == "Sales"
        said = ["the sheet 'Sales' was read, of 3", "'About' does not look like the table", "'About', 'More'"]
        assert any(all(words in note for words in said) for note in dataset.notes)
    assert read_columns(workbook({"A": about, "B": notes})).options.sheet == "A", "the first, where none is one"
    assert read_table(workbook({"A": NAMES + BODY, "B": about}), "class").options.sheet == "A"


def test_numbers_of_a_sheet_have_no_marks_of_its_texts():
    openpyxl = pytest.importorskip("openpyxl")
    book, buffer = openpyxl.Workbook(), io.BytesIO()
    for row in (("size", "class"), (1.234, "y"), ("1.107,5", "n"), (1000.5, "y"), (None, "n"), ("2.107,5", "y")):
        book.active.append(row)
    book.save(buffer)
    sizes = read_columns(buffer.getvalue()).values[0].series
    np.testing.assert_array_equal(sizes, [1.234, 1107.5, 1000.5, np.nan, 2107.5])


def test_a_sheet_can_be_chosen():
    data = workbook(
        {"cover": "a report\n", "sales": "Sales by region\n\n" + NAMES + BODY + "Total,820\n", "more": NAMES + BODY}
    )
    with pytest.raises(TableError, match="only one column"):
        read_table(data, options=ReadOptions(sheet="cover"))
    for sheet in ("sales", 2):
        dataset = read_table(data, options=ReadOptions(sheet=sheet))
        assert dataset.n_rows == 40
        assert dataset.kinds["price"] == "numeric"
        assert dataset.options.sheet == "sales"
        assert "the sheet 'sales' was read, of 3; there are also 'cover', 'more'" in dataset.notes
        assert any("'Sales by region'" in note for note in dataset.notes)
        assert any("'Total 820'" in note for note in dataset.notes)
    assert read_table(data, options=ReadOptions(sheet=3)).n_rows == 40
    years = workbook({"2023": NAMES + BODY, "2": NAMES + BODY + BODY, "more": NAMES + BODY})
    for sheet, rows in (("2023", 40), ("2", 80), (2, 80), ("1", 40), ("3", 40)):
        dataset = read_table(years, options=ReadOptions(sheet=sheet))
        assert dataset.n_rows == rows
        assert dataset.options.sheet == {"1": "2023", "3": "more"}.get(str(sheet), str(sheet))
    with pytest.raises(TableError, match=r"'2022'.*'2023'"):
        read_table(years, options=ReadOptions(sheet="2022"))
    with pytest.raises(TableError, match=r"'sale'.*'sales'"):
        read_table(data, options=ReadOptions(sheet="sale"))


def test_a_last_row_with_a_word_that_recurs_among_numbers_is_no_footer():
    lines = [f"{'r' if k % 9 else ''},{k}.5,{'what' if k % 9 == 0 else k},k{k % 2}" for k in range(46)]
    rows = [line.split(",") for line in [*lines[:15], *(f"r,{k},{k},k1" for k in range(16)), *lines[31:]]]
    assert count_footer(rows, 4) == 0
    assert count_footer([*rows, ["", "1", "male", ""]], 4) == 1


def test_the_first_line_of_a_data_logger_is_left_out():
    lines = ['"TOA5","CR1","CR1000","12345","Std.32","CPU:m","4411","Ten"', '"TIME","RECORD","Air","Rain"']
    lines += ['"TS","RN","Deg C","mm"', '"","","Smp","Tot"']
    lines += [f'"2023-03-0{1 + k % 9} 10:00:00",{k},{k * 3 % 17}.5,{["NAN", 0.5, 1.5][k % 3]}' for k in range(60)]
    table = read_columns("\n".join(lines).encode())
    assert (table.n_rows, table.options.skip_rows, table.options.header) == (60, 1, 3)
    assert "Air Deg C Smp" in table.names
    assert any("'TOA5" in note for note in table.notes)


def test_totals_in_brackets_are_sums():
    lines = [f"shop {k},{-100 - k},{k}" for k in range(20)]
    text = "name,debit,n\n" + "\n".join([*lines, f'Total,"({sum(100 + k for k in range(20)):,})",190', *lines])
    table = read_columns(text.encode())
    assert table.n_rows == 40
