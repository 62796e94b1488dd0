"""Files of the kinds that people have: several instances of each, and one where the same pattern must not trigger."""

import datetime
import io
import json
import random

import numpy as np
import pandas as pd
import pytest

from alrviz.data import find_table, quotes
from alrviz.data.apply_spec import read_new_rows
from alrviz.data.dataset import Dataset
from alrviz.data.delimited import DETECTION_BYTES
from alrviz.data.doubts import Doubt, DoubtCode
from alrviz.data.level_order import answer_codes, sort_levels
from alrviz.data.limits import Limits
from alrviz.data.missing import column_sentinels
from alrviz.data.options import ReadOptions
from alrviz.data.parse_values import bare_numbers
from alrviz.data.quotes import RepairedStream, close_quotes
from alrviz.data.read import read_columns, read_table
from alrviz.data.stream import source
from alrviz.data.stream.table import open_table
from alrviz.errors import FOREIGN_FORMAT, UNEVEN_LINES, TableError
from alrviz.stop import NEVER
from tests.data.workbooks import workbook_of_rows


def read(text: str, target: str | None = None, **options) -> Dataset:
    return read_table(io.StringIO(text), target, **options)


def noted(dataset: Dataset, *words: str) -> bool:
    """Whether one note has all of these words."""
    return any(all(word in note for word in words) for note in dataset.notes)


def table(n: int = 60) -> str:
    return "size,colour,class\n" + "".join(
        f"{i},{'red' if i % 2 else 'blue'},{'yes' if i % 3 else 'no'}\n" for i in range(n)
    )


# ---- uneven lines ----------------------------------------------------------------------------------------------------


def test_short_lines_are_padded_and_counted():
    dataset = read(table() + "60,red\n\n61,blue,yes\n62\n", "class")
    assert dataset.table.n_rows == 63
    assert noted(dataset, "2 lines", "fewer cells", "line 62")


def test_empty_surplus_is_trimmed_and_counted():
    dataset = read(table() + "60,red,yes,,\n61,blue,no,\n", "class")
    assert dataset.n_rows == 62
    assert noted(dataset, "2 lines", "empty cells", "line 62")


def test_one_line_with_a_surplus_is_read():
    dataset = read(table() + "60,red,yes,what\n", "class")
    assert dataset.n_rows == 61
    assert noted(dataset, "1 line", "more cells", "line 62")


def test_many_lines_with_a_surplus_are_refused_and_the_first_ten_named():
    with pytest.raises(TableError, match=r"12 of 72 lines .* line 62: '60,red,yes,what'.* line 71: "):
        read(table() + "".join(f"{60 + i},red,yes,what\n" for i in range(12)))


def test_short_lines_count_for_the_limit_of_rows():
    with pytest.raises(TableError, match="100 rows allowed"):
        read(table() + "60,red\n" * 50, limits=Limits(rows=100))


def test_lines_that_are_mended_are_noted_of_new_rows_too():
    dataset = read(table(), "class")
    rows = read_new_rows((table() + '60\n61,"red,no\n').encode(), dataset.spec)
    assert len(rows.X) == 62
    assert any("fewer cells" in note for note in rows.notes)
    assert any("never closed" in note for note in rows.notes)


def test_rows_stay_in_their_order():
    dataset = read("a,b,class\n1,x,yes\n2\n3,y,no\n4,x\n5,y,yes\n", "class")
    assert dataset.table.values[0].series.tolist() == [1, 2, 3, 4, 5]


# ---- quotation marks -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('a\tb\n1\t"ok\n2\tfine\n3\t"so\n4\tx\n', [1, 3]),
        ('a\tb\n1\t"say ""hi\n2\tx\n', [1]),
        ('a\tb\n1\t"two\nlines"\n2\tx\n', []),  # the second line alone is no row
        ('a\tb\n1\t"two\t\n\n\nlines"\n2\tx\n', []),
        ('a\tb\n1\t6" nail\n2\tx\n', []),  # inside a field it opens nothing
        ('text\n"one\ntwo"\nthree\n', []),
        ('a\tb\r\n1\t"ok\r\n2\tx\r\n', [1]),
        ('a\tb\r1\t"ok\r2\tx\r', [1]),
    ],
)
def test_a_mark_that_never_closes_is_text(text: str, lines: list[int]):
    repaired = close_quotes(text.encode(), "\t", NEVER)
    assert repaired.lines == lines
    assert (bytes(repaired.data) == text.encode()) == (not lines)


def test_no_line_is_swallowed():
    messages = ['"ok' if i in (7, 30) else "fine" for i in range(60)]
    rows = "".join(f"{'b' if i % 3 else 'a'}\t{i}\t{message}\n" for i, message in enumerate(messages))
    dataset = read("label\tsize\tmessage\n" + rows, "label")
    assert dataset.n_rows == 60
    assert set(dataset.frame["message"].cat.categories) == {'"ok', "fine"}
    assert noted(dataset, "2 lines", "quotation mark", "line 9")


@pytest.mark.parametrize("piece", [7, 64, 1 << 20])
@pytest.mark.parametrize("seed", range(6))
def test_a_text_in_pieces_is_the_text_as_a_whole(piece: int, seed: int, monkeypatch):
    monkeypatch.setattr(quotes, "STREAM_PIECE_BYTES", piece)
    draw = random.Random(seed)
    cells = ["x", "", '"', '"a', 'b"', '"a,b"', '"two\nlines"', '"say ""hi"""', '6" nail', "caf\u00e9"]
    rows = [",".join(draw.choice(cells) for _ in range(draw.choice([3, 3, 3, 3, 2]))) for _ in range(60)]
    text = "a,b,c\n" + "".join(f"{row}\n" for row in ["1,2,3"] * 20 + rows)
    whole = close_quotes(text.encode(), ",", NEVER)
    stream = RepairedStream(io.BytesIO(text.encode()), ",", "utf-8", NEVER)
    pieces = io.BufferedReader(stream).read()
    if piece >= len(text):
        assert pieces == bytes(whole.data)
        assert stream.n_repaired == len(whole.lines)
    assert pieces.replace(b'"', b"") == text.encode().replace(b'"', b""), "nothing but marks is added"


def test_lines_are_mended_in_batches_as_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "BLOCK_BYTES", 300)
    text = table() + '60,red\n61,blue,yes,,\n62,"blue,no\n63,red,yes\n64,blue\n'
    (tmp_path / "t.csv").write_text(text)
    whole = read(text, "class")
    stream = open_table(tmp_path / "t.csv", "class")
    texts = {name: [] for name in ("size", "colour", "class")}
    for batch in stream.source.batches():
        for name, column in batch.columns.items():
            texts[name] += [None if code < 0 else column.levels[int(code)].as_py() for code in column.codes]
    assert texts["size"] == [str(i) for i in range(65)]
    assert texts["colour"][60:] == ["red", "blue", '"blue', "red", "blue"]
    assert [label for label in texts["class"] if label] == list(whole.y)
    mended = {note.partition(" (first")[0] for note in whole.notes if "line" in note}
    assert len(mended) == 3
    assert mended == {note.partition(": ")[2].partition(" (first")[0] for note in stream.notes if "line" in note}


def test_a_mark_in_a_title_moves_no_line():
    text = '"Report of 2020\n' + table()
    found, asked = read(text, "class"), read(text, "class", options=ReadOptions(skip_rows=1))
    assert list(found.frame) == list(asked.frame) == ["size", "colour", "class"]
    assert found.n_rows == asked.n_rows == 60


# ---- names -----------------------------------------------------------------------------------------------------------

ORANGE = "age\tpain\tdisease\nc\ttypical\\ ang none\td\n\t\tclass\n"
ORANGE += "".join(f"{30 + i}\t{'typical ang' if i % 2 else 'none'}\t{i % 2}\n" for i in range(40))


def test_rows_of_types_and_roles():
    dataset = read(ORANGE)
    assert (dataset.n_rows, dataset.target) == (40, "disease")
    assert dataset.kinds == {"age": "numeric", "pain": "categorical"}


def test_types_and_roles_of_several_files(tmp_path):
    paths = [tmp_path / "1.tab", tmp_path / "2.tab"]
    for path in paths:
        path.write_text(ORANGE.replace("disease", "q"))
    dataset = read_table(paths)
    assert (dataset.n_rows, dataset.target, dataset.kinds) == (80, "q", {"age": "numeric", "pain": "categorical"})


def test_types_and_roles_before_the_names():
    text = ORANGE.replace("age\tpain\tdisease\nc\ttypical\\ ang none\td\n\t\tclass\n", "C#age\tmS#pain\tcD#disease\n")
    dataset = read(text)
    assert (dataset.target, dataset.kinds) == ("disease", {"age": "numeric", "pain": "ignore"})


def test_another_target_than_the_stated_one_may_be_chosen():
    dataset = read(ORANGE, "pain")
    assert (dataset.target, dataset.kinds) == ("pain", {"age": "numeric", "disease": "categorical"})
    assert read(ORANGE).with_target("pain").target == "pain"


def test_impossible_stated_kind_is_noted():
    rows = "".join(f"{i if i % 3 else 'old'}\t2020-01-{i % 28 + 1:02}\t{i % 2}\n" for i in range(40))
    dataset = read("C#age\tD#when\tcD#disease\n" + rows)
    assert dataset.n_rows == 40
    assert noted(dataset, "the file states", "'age'")
    assert noted(dataset, "the file states", "'when'")


def test_a_hash_within_a_name_is_a_name():
    dataset = read("no#1,b,class\n" + "".join(f"{i},{i % 2},{'yn'[i % 2]}\n" for i in range(30)))
    assert "no#1" in dataset.frame
    dataset = read("C# years,b,class\n" + "".join(f"{i},{i % 2},{'yn'[i % 2]}\n" for i in range(30)))
    assert "C# years" in dataset.frame


def test_letters_that_could_be_types_and_roles_are_levels():
    assert read("one,two\nc,c\nc,c\n" + "t,g\na,c\n" * 20).table.n_rows == 42


GROUPS = [
    [None, None, "Visit 1", None, "Visit 2", None],
    ["pat_id", "sex", "BP", "HR", "BP", "HR"],
    *[[i, "m" if i % 2 else "f", 110 + i, 70 + i % 9, 108 + i, 68 + i % 9] for i in range(20)],
]


@pytest.mark.parametrize("as_text", [True, False])
def test_names_of_groups_are_joined_to_the_names_below(as_text: bool):
    lines = "\n".join(",".join("" if cell is None else str(cell) for cell in row) for row in GROUPS)
    dataset = read(lines, "sex") if as_text else read_table(workbook_of_rows(GROUPS, ("C1:D1", "E1:F1")), "sex")
    assert list(dataset.frame) == ["pat_id", "sex", "Visit 1 BP", "Visit 1 HR", "Visit 2 BP", "Visit 2 HR"]
    assert dataset.n_rows == 20


def test_prose_above_and_below_a_sheet():
    rows = [["Ward list"], ["made by the office", None, None, "draft"], ["do", "not", "print", "this"]]
    rows += [["Name", "Job", "Age", "Kids"]]
    rows += [[f"P{i}", "cook" if i % 2 else "clerk", 50 + i, bool(i % 3)] for i in range(12)]
    dataset = read_table(workbook_of_rows([*rows, ["Checked"], [None, "twice"]]), "Kids")
    assert (dataset.n_rows, list(dataset.frame)) == (12, ["Name", "Job", "Age", "Kids"])
    assert noted(dataset, "3 lines", "before the names")
    assert noted(dataset, "2 lines", "behind the table")


def test_a_last_row_with_one_value_is_data_where_it_looks_like_its_column():
    rows = [["Name", "Job", "Age"], *[[f"P{i}", "cook" if i % 2 else "clerk", 50 + i] for i in range(12)], ["P12"]]
    assert read_table(workbook_of_rows(rows), "Job").table.n_rows == 13


def test_a_first_line_of_values_is_data():
    lines = "".join(
        f"{'spam' if i % 4 == 0 else 'ham'}\t{'win' if i % 4 == 0 else 'see you'} {i}\n" for i in range(1, 80)
    )
    assert read(lines).table.n_rows == 79
    named = "male\tmood\n" + "".join(f"{'fe' * (i % 2)}male\t{'good' if i % 3 else 'bad'}\n" for i in range(60))
    assert list(read(named).frame) == ["male", "mood"]  # one name is a level, the other is none


def test_names_hold_plain_blanks_alone():
    text = '"knowledge\u00a0of food","two\nlines",class\n' + "".join(f"{i},{i % 4},{'yn'[i % 2]}\n" for i in range(30))
    assert list(read(text).frame) == ["knowledge of food", "two lines", "class"]


def test_questions_over_answers_name_their_columns():
    text = "Respondent,How old are you?,Your sex?,Vote?\n,Open-Ended Response,Response,Response\n"
    text += "".join(f"{1000 + i},{20 + i % 40},{'fm'[i % 2]},{'yes' if i % 3 else 'no'}\n" for i in range(60))
    assert list(read(text, "Vote?").frame) == ["Respondent", "How old are you?", "Your sex?", "Vote?"]


def test_statistics_below_a_table_are_no_rows():
    rows = "".join(f"P{i},{20 + i % 9},{'ab'[i % 2]}\n" for i in range(30))
    assert read("name,age,class\n" + rows + "Mean,24.5,\nSD,3,\n", "class").table.n_rows == 30
    assert read("name,age,class\n" + rows + "Meaney,24,a\nSDK,3,b\n", "class").table.n_rows == 32


# ---- kinds ----------------------------------------------------------------------------------------------------------


def test_answers_on_a_scale_are_in_their_order():
    scale = ["Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "Strongly agree"]
    dataset = read("q,class\n" + "".join(f"{scale[i % 5]},{'ab'[i % 2]}\n" for i in range(50)), "class")
    assert dataset.kinds == {"q": "ordinal"}
    assert list(dataset.X["q"].cat.categories) == scale
    words = ["agree", "bread", "chair"] * 20
    assert read("q,class\n" + "".join(f"{w},{'ab'[i % 2]}\n" for i, w in enumerate(words))).kinds["q"] == "categorical"


def test_a_few_texts_among_numbers_are_missing_and_counted():
    ages = ["19 but unclear" if i == 7 else "no reply" if i % 11 == 0 else str(20 + i % 37) for i in range(90)]
    dataset = read("age,class\n" + "".join(f"{age},{'ab'[i % 2]}\n" for i, age in enumerate(ages)), "class")
    assert dataset.kinds == {"age": "numeric"}
    assert dataset.frame["age"].isna().sum() == 10
    assert noted(dataset, "10 values", "no number", "'age'", "missing=()")
    rows = "".join(f"{age},{'ab'[i % 2]}\n" for i, age in enumerate(ages)).replace("no reply", "not asked")
    dataset = read("age,class\n" + rows, "class")  # the one that is unclear is a number now
    assert dataset.frame["age"].isna().sum() == 9
    assert noted(dataset, "not asked (9 cells)", "'age'", "missing")
    codes = [f"{i % 30}" if i % 3 else f"A{i % 30}" for i in range(90)]  # no few
    assert read("age,class\n" + "".join(f"{c},{'ab'[i % 2]}\n" for i, c in enumerate(codes))).kinds["age"] != "numeric"


# ---- encodings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("cp1252", "crème,thé,Être,l\u2019été"), ("mac_roman", "crème,thé,Être,l\u2019été"),
        ("cp1252", "Größe,Übung,ÖPNV 5 °C"), ("mac_roman", "Größe,Übung,müßig"),
        ("cp1250", "łódź,żółć,gęś,źdźbło"), ("cp1250", "příliš žluťoučký kůň"), ("cp1252", "blåbær,Øl,GRÖSSE"),
        ("cp1252", "¿Qué,España,œuvre,à,l\u2019été"),
    ],
)  # fmt: skip
def test_an_encoding_is_known_by_its_words(encoding: str, words: str):
    text = "word,class\n" + "".join(f"{word},{'ab'[i % 2]}\n" for i, word in enumerate(words.split(",") * 20))
    dataset = read_table(text.encode(encoding), "class")
    assert set(dataset.frame["word"].cat.categories) == set(words.split(","))
    assert dataset.options.encoding == encoding


# ---- missing values and their codes ----------------------------------------------------------------------------------


def test_na_is_a_level_among_codes_of_countries():
    text = "country,class\n" + "".join(f"{['NA', 'ZA', 'BW', 'ZM'][i % 4]},{'yn'[i % 2]}\n" for i in range(60))
    assert set(read(text, "class").frame["country"].cat.categories) == {"NA", "ZA", "BW", "ZM"}
    words = text.replace("ZA", "south")
    dataset = read(words, "class")
    assert dataset.frame["country"].isna().sum() == 15
    assert noted(dataset, "'NA'", "15 cells", "missing=()")


@pytest.mark.parametrize(
    ("numbers", "codes"),
    [
        ([1, 2, 3, 4, 5] * 20 + [-1] * 5, [-1]),
        ([1, 2, 3, 4, 5] * 20 + [8] * 4 + [9] * 5, [8, 9]),
        ([1, 2, 3, 4, 5] * 20 + [98] * 4 + [99] * 5, [98, 99]),
        ([0.5, 2.5, 1.7, 3.1, 2.2] * 20 + [-200] * 9, [-200]),
        ([*range(900, 6000, 50)] * 3 + [-99] * 20 + [-88] * 9, [-99, -88]),
        ([1, 2, 3, 4, 5, 6, 7] * 20 + [8] * 5, []),  # the scale goes on
        ([0, 1, 2, 3] * 20 + [-1] * 5, []),  # one below none
        ([*range(100), 250, 251], []),  # two large values are no code
        ([*range(13)] * 5 + [-99], [-99]),  # one is enough where it is made of nines
        ([*range(13)] * 5 + [999], [999]),
        ([*range(13)] * 5 + [40], []),
        ([1, 2, 3, 4, 5] * 20 + [7, 8, 9] * 2, [7, 8, 9]),
        ([0] * 30 + [1] * 25 + [2] * 20 + [3] * 8 + [4] * 4 + [5] * 2 + [7] * 2, []),  # the long tail of a count
        ([*range(13)] * 4 + [7] * 9, []),
        ([1, 2] * 20 + [8, 9, 9] * 2, [8, 9]),  # yes, no, refused, does not know
        ([0, 1] * 20 + [9] * 2, []),
        ([1, 2] * 20 + [4] * 2, []),
    ],
)
def test_codes_for_missing_values_lie_apart_and_repeat(numbers: list[float], codes: list[float]):
    assert column_sentinels(np.array(numbers, dtype=float)) == codes


# ---- years of two digits ---------------------------------------------------------------------------------------------


def test_nobody_is_born_in_the_future():
    rows = "".join(f"{1 + i % 12:02}/{13 + i % 9:02}/{50 + i % 45:02},{'yn'[i % 2]}\n" for i in range(80))
    born = read("born,left\n" + rows, "left").frame["born"].dt.year
    assert (born.min(), born.max()) == (1950, 1994)
    due = read("due,left\n" + rows.replace("/94", "/60"), "left").frame["due"].dt.year
    assert due.max() < 2060


def test_an_arff_row_with_a_stray_comma_and_one_with_an_undeclared_level_are_read():
    text = "@relation k\n@attribute age numeric\n@attribute class {ill,well}\n@data\n"
    text += "48,ill\n26,ill,\n51, well\t\n70,Well\n"
    dataset = read(text, "class")
    assert dataset.n_rows == 4
    assert noted(dataset, "1 line", "empty cells", "line 6")
    assert noted(dataset, "'Well'", "not declared", "did you mean 'well'")


# ---- values of several parts, guesses, periods -----------------------------------------------------------------------


def column_of(texts: list[str], n: int = 60) -> Dataset:
    """Return a table whose column x holds these texts in turn."""
    return read_table(
        pd.DataFrame({"x": [texts[i % len(texts)] for i in range(n)], "k": [i % 7 for i in range(n)],
                      "class": ["ab"[i % 2] for i in range(n)]}).to_csv(index=False).encode(), "class",
    )  # fmt: skip


AGES = [str(age) for age in range(20, 60)]


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["5'3\"", "6'", "5' 11\"", "5'4\"", "5'5''"], [63, 72, 71, 64, 65]),
        (["5 ft 3 in", "6 feet", "5ft. 11in.", "5 feet 4 inches", "5 ft"], [63, 72, 71, 64, 60]),
        (["5\u20193\u201d", "6\u20190\u201d", "5\u201911.5\u201d"], [63, 72, 71.5]),
        (["2h 30min", "45 min", "1 hour"], [2.5, 0.75, 1]),
        (["1 min 30 sec", "2 min", "45 s"], [0.025, 2 / 60, 0.0125]),
        (["3 weeks", "2 days", "1 year"], [21, 2, 365.25]),
        (["27:30", "1:15", "30:00"], [27.5, 1.25, 30]),
        (["9am", "12 pm", "1pm", "12a.m.", "11 PM"], [9, 12, 13, 0, 23]),
        (["09h30", "10 h 15", "14h00", "0h45", "23h59"], [9.5, 10.25, 14, 0.75, 23 + 59 / 60]),
        (["£1.2m", "£3.4m", "£500k", "£2m", "£750"], [1.2e6, 3.4e6, 5e5, 2e6, 750]),
        (["19 but unclear", "20?", "~21", "c. 22", "23 (approx)", *AGES], [19, 20, 21, 22, 23, *map(int, AGES)]),
        (["90+", "85 or older", "<18", "over 95", *AGES], [90, 85, 18, 95, *map(int, AGES)]),
        (["12*", "13**", *AGES], [12, 13, *map(int, AGES)]),
    ],
)
def test_texts_that_are_numbers(texts: list[str], numbers: list[float]):
    dataset = column_of(texts)
    assert dataset.kinds["x"] == "numeric"
    np.testing.assert_allclose(dataset.frame["x"][: len(texts)], numbers)
    again = read_new_rows(pd.DataFrame({"x": texts, "k": 1}).to_csv(index=False).encode(), dataset.spec)
    np.testing.assert_allclose(again.X["x"], numbers)


@pytest.mark.parametrize(
    "texts",
    [
        ["5'3\"", "6'", "tall"], ["2h 30min", "later", "1 hour"], ["<20", "20", "30", ">30"], ["A+", "A", "B+"],
        ["1/2", "3/4", "1/4"], ["Jan-5", "May", "Jun-7"],
    ],
)  # fmt: skip
def test_texts_that_only_resemble_numbers_are_levels(texts: list[str]):
    assert column_of(texts).kinds["x"] != "numeric"
    assert set(column_of(texts).frame["x"]) == set(texts)


@pytest.mark.parametrize("mark", ["/", " / "])
def test_a_blood_pressure_is_two_numbers(mark: str):
    texts = [f"{110 + 3 * i}{mark}{60 + 2 * i}" for i in range(12)]
    dataset = column_of(texts)
    assert {name: kind for name, kind in dataset.kinds.items() if name.startswith("x")} == {
        "x": "ignore", "x systolic": "numeric", "x diastolic": "numeric",
    }  # fmt: skip
    assert dataset.frame["x systolic"][:2].tolist() == [110, 113]
    assert dataset.frame["x diastolic"][:2].tolist() == [60, 62]
    again = read_new_rows(b"x,k\n167/92,1\nnone,2\n", dataset.spec)
    np.testing.assert_array_equal(again.X["x diastolic"], [92, np.nan])


@pytest.mark.parametrize(
    "texts",
    [
        ["20/20", "20/40", "20/25", "20/30", "20/50", "20/60"],  # sight
        [f"{i}/60" for i in range(40, 60)],  # scores
        [f"{i}/{10 + i % 3}" for i in range(10, 29)],  # days and months
        [f"{80 + i}/{100 - 2 * i}" for i in range(12)],  # the second is not always the smaller
    ],
)
def test_other_texts_with_a_stroke_are_no_pairs(texts: list[str]):
    assert "x systolic" not in column_of(texts).frame


@pytest.mark.parametrize(
    ("texts", "year", "month"),
    [
        (["Sep-63", "Oct-71", "Jan-58"], 1963, "Sep"),
        (["September 1963", "Oct 1971", "Jan 1958"], 1963, "Sep"),
        (["09/1963", "10/1971", "01/1958"], 1963, "Sep"),
        (["1963-09", "1971-10", "1958-01"], 1963, "Sep"),
    ],
)
def test_a_month_of_a_year_is_a_date_without_a_weekday(texts: list[str], year: int, month: str):
    dataset = column_of(texts)
    assert (dataset.frame["x year"][0], dataset.frame["x month"][0]) == (year, month)
    assert "x weekday" not in dataset.frame


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (["1970s", "1980s", "1960s"], ["1960s", "1970s", "1980s"]),
        (["80s", "1990s", "'70s"], ["'70s", "80s", "1990s"]),
        (["late 1970s", "1980s", "early 1970s"], ["early 1970s", "late 1970s", "1980s"]),
        (["Q1 2020", "Q3 2019", "Q2 2020"], ["Q3 2019", "Q1 2020", "Q2 2020"]),
        (["2020Q1", "2019Q3", "2020Q2"], ["2019Q3", "2020Q1", "2020Q2"]),
        (["26-50", "Jun-25", "1-5", "51-75"], ["1-5", "6-25", "26-50", "51-75"]),
        (["0-5", "10-Jun", "Nov-15", "16-20", "21-30", "31+"], ["0-5", "6-10", "11-15", "16-20", "21-30", "31+"]),
        (["Severe", "None", "Mild"], ["None", "Mild", "Severe"]),
        (
            ["£1,000 to £1,999", "Under £1,000", "£2,000 or more"],
            ["Under £1,000", "£1,000 to £1,999", "£2,000 or more"],
        ),
        (["10+ years", "< 1 year", "2 years", "1 year"], ["< 1 year", "1 year", "2 years", "10+ years"]),
        (["more than 5 kg", "less than 2 kg", "2 to 5 kg"], ["less than 2 kg", "2 to 5 kg", "more than 5 kg"]),
    ],
)
def test_levels_with_an_order(texts: list[str], order: list[str]):
    dataset = column_of(texts)
    assert dataset.kinds["x"] == "ordinal"
    assert list(dataset.X["x"].cat.categories) == order


def test_a_band_that_became_a_day_is_mended_in_new_rows_too():
    dataset = column_of(["26-50", "Jun-25", "1-5", "51-75"])
    assert noted(dataset, "Jun-25 is 6-25")
    assert read_new_rows(b"x,k\nJun-25,1\n6-25,2\n", dataset.spec).X["x"].tolist() == ["6-25", "6-25"]
    assert "Jun-25" in set(column_of(["Jun-25", "Jul-25", "1-5", "Aug-25"]).frame["x"])  # mostly months


@pytest.mark.parametrize(
    ("texts", "variant"),
    [
        (["Caucasian", "Caucasian", "Caucasian?", "Asian"], "Caucasian?"),
        (["Caucasian"] * 9 + ["Caucasion", "Asian"], "Caucasion"),
        (["New York", "New York", "New-York", "Boston"], "New-York"),
    ],
)
def test_other_spellings_are_pointed_out(texts: list[str], variant: str):
    assert noted(column_of(texts), "other spellings", repr(variant))


@pytest.mark.parametrize(
    "texts", [["A", "A", "A+", "A-"], ["1 year", "1 year", "< 1 year", "2 years"], ["male", "male", "female", "x"],
              ["agree", "agree", "disagree", "none"], ["Grade 1"] * 9 + ["Grade 2", "Grade 3"]],
)  # fmt: skip
def test_other_levels_are_no_spellings(texts: list[str]):
    assert not noted(column_of(texts), "other spellings")


@pytest.mark.parametrize("token", ["None", "."])
def test_a_missing_text_among_words_is_an_answer(token: str):
    assert token in set(column_of([token, "Dog", "Cat"]).frame["x"])
    assert column_of([token, *AGES]).frame["x"].isna().sum() == 2


def test_units_that_differ_are_not_ordered_by_their_numbers():
    assert column_of(["1-2 years", "6-9 months", "3+ years"]).kinds["x"] == "categorical"


@pytest.mark.parametrize("mark", [", ", ";", " | "])
def test_lists_in_cells_are_ignored_with_their_reason(mark: str):
    sets = [("tv",), ("tv", "phone"), ("phone", "watch"), ("watch", "tv"), ("watch", "phone", "tv"), ("phone",)]
    dataset = column_of([mark.join(items) for items in sets])
    assert dataset.kinds["x"] == "ignore"
    assert noted(dataset, "lists", "'x'")
    towns = [f"{town}{mark}UK" for town in ("Leeds", "York", "Hull", "Selby", "Derby")]
    assert column_of(towns).kinds["x"] == "categorical"


def test_genotypes_differ_by_their_capitals():
    assert set(column_of(["AA", "Aa", "aa"]).frame["x"]) == {"AA", "Aa", "aa"}
    assert set(column_of(["no", "No", "yes"]).frame["x"].cat.categories) == {"no", "yes"}


# ---- more than one table, and what is none ---------------------------------------------------------------------------


def people(n: int, letter: str) -> list[list[object]]:
    return [["name", "age", "class"], *[[f"{letter}{i}", 20 + i % 9, "ab"[i % 2]] for i in range(n)]]


STACKS = {
    "titles": [["Year 2019"], *people(12, "P"), ["Year 2020"], *people(9, "Q"), ["Year 2021"], *people(9, "R")],
    "blank lines": [["Year 2019"], *people(12, "P"), [None], ["Year 2020"], *people(9, "Q")],
    "no titles": [*people(12, "P"), *people(9, "Q")],
}


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize("stack", STACKS)
def test_tables_under_one_another_are_joined(stack: str, as_text: bool):
    rows = [[*row, *[None] * (3 - len(row))] for row in STACKS[stack]]
    lines = "\n".join(",".join("" if cell is None else str(cell) for cell in row) for row in rows)
    dataset = read(lines, "class") if as_text else read_table(workbook_of_rows(rows), "class")
    n_tables = sum(row[0] == "name" for row in rows)
    assert dataset.n_rows == sum(row[2] in ("a", "b") for row in rows)
    assert dataset.kinds["age"] == "numeric"
    if stack == "no titles":
        assert "title" not in dataset.frame
    else:
        assert dataset.frame["title"].tolist()[:13:12] == ["Year 2019", "Year 2020"]
        assert noted(dataset, f"{n_tables} tables under one another", "'title'")


def test_names_that_are_levels_part_no_table():
    rows = "".join(f"{['name', 'Ann', 'Bob'][i % 3]},{20 + i},{'ab'[i % 2]}\n" for i in range(30))
    assert read("name,age,class\n" + rows, "class").n_rows == 30


@pytest.mark.parametrize("last", ["Total loss,5,a", "Max,5,a", "Mean Street,5,b"])
def test_a_last_row_that_only_sounds_like_a_total_is_data(last: str):
    rows = "".join(f"{['Partial loss', 'Minor', 'Scratch'][i % 3]},{i % 9},{'ab'[i % 2]}\n" for i in range(20))
    assert read("damage,cost,class\n" + rows + last + "\n", "class").n_rows == 21


@pytest.mark.parametrize("last", ["Total,95,", "Total (n=20),95,", "Mean,4.75,", "Grand total,95,b"])
def test_total_row_is_left_out(last: str):
    rows = "".join(f"T{i},{i % 9},{'ab'[i % 2]}\n" for i in range(20))
    assert read("team,wins,class\n" + rows + last + "\n", "class").n_rows == 20


@pytest.mark.parametrize(
    "book",
    [",,\nrace,,\n1,White,\n2,Black,\n3,Asian,\n", "\nCodes:\n1 = White\n2 = Black\n", ",,\nCodes,,\n1,White,\n"],
)
def test_a_code_book_below_a_table_is_left_out(book: str):
    rows = "".join(f"{1 + i % 3},{20 + i % 9},{'ab'[i % 2]}\n" for i in range(20))
    dataset = read("race,age,class\n" + rows + book, "class")
    assert (dataset.n_rows, dataset.kinds) == (20, {"race": "categorical", "age": "numeric"})
    assert noted(dataset, "behind the table")


@pytest.mark.parametrize("last", ["<9,,a", "NA,,b"])
def test_a_last_row_with_a_gap_is_data(last: str):
    rows = "".join(f"{i},{i * 7 % 31},{'ab'[i % 2]}\n" for i in range(30))
    assert read("n,k,class\n" + rows + last + "\n", "class").table.n_rows == 31


def test_tables_of_counts_are_pointed_out():
    cells = [(c, s, v) for c in ("1st", "2nd", "crew") for s in ("male", "female") for v in ("no", "yes")]
    counts = "class,sex,survived,freq\n" + "".join(f"{','.join(cell)},{7 * n}\n" for n, cell in enumerate(cells))
    dataset = read(counts, "survived")
    assert [column.name for column in dataset.columns if column.offered_role == "weight"] == ["freq"]
    assert noted(dataset, "counts", "'freq'", "'weight'")
    assert dataset.kinds["freq"] == "ignore"
    assert read(counts, "survived", freq="numeric").kinds["freq"] == "numeric"
    assert not noted(read(counts.replace("freq", "fare"), "survived"), "counts")
    cross = "vote,men,women,total\nfor,30,20,50\nagainst,10,40,50\nnone,5,6,11\n"
    assert noted(read(cross, "vote"), "cross table", "melt('vote'")
    assert not noted(read(cross.replace("30,20,50", "30,20,51"), "vote"), "cross table")


def test_names_that_fill_the_sample_alone_have_rows_below():
    names = [f"column {k}" for k in range(150)]
    cells = [",".join(str((i + k) % 3) for k in range(150)) for i in range(12)]
    lines = [",".join(name + " " * 2_000 for name in names), *cells]
    assert len(lines[0]) > DETECTION_BYTES
    table = read_columns("\n".join(lines).encode())
    assert (table.n_rows, table.names[-1]) == (12, names[-1])


@pytest.mark.parametrize("start", [b"<html><body><table>", b"\xef\xbb\xbf\n<!DOCTYPE html>", b"<?xml version='1.0'?>"])
def test_a_page_of_the_web_is_no_table(start):
    with pytest.raises(TableError, match="HTML") as refusal:
        read_table(start + b"\n<tr><td>a</td><td>b</td></tr>")
    assert refusal.value.code == FOREIGN_FORMAT
    text = "<5,size,class\n" + "".join(f"{k % 3},{k % 7},{'xy'[k % 2]}\n" for k in range(40))
    assert read_table(text.encode(), "class").n_rows == 40


# ---- a few values that do not fit ------------------------------------------------------------------------------------


def doubts(dataset: Dataset, code: DoubtCode) -> list[Doubt]:
    return [doubt for doubt in dataset.doubts if doubt.code is code]


def read_otherwise(text: str, doubt: Doubt, target: str | None = "class") -> Dataset:
    """Return the table read the other way, which its own spec reads alike, as rows with the class and as new rows."""
    dataset = read(text, target, options=ReadOptions().with_change(doubt.change))
    assert read(text, spec=dataset.spec.to_dict()).hash == dataset.hash
    new = read_new_rows(text.encode(), dataset.spec)
    assert [name for name in dataset.X if new.X[name].isna().sum() != dataset.X[name].isna().sum()] == []
    return dataset


def text_of_column(texts: list[str], sep: str = ",") -> str:
    rows = (f"{text}{sep}{i % 7}{sep}{'ab'[i % 2]}\n" for i, text in enumerate(texts))
    return f"x{sep}k{sep}class\n" + "".join(rows)


DAYS = [f"{1 + i % 28:02}.{1 + i % 12:02}.{2000 + i % 20}" for i in range(60)]


@pytest.mark.parametrize("stray", ["31.02.2010", "soon", "12.2010?"])
def test_a_few_texts_among_dates_are_missing_and_counted(stray: str):
    text = text_of_column([*DAYS, stray])
    dataset = read(text, "class")
    assert "x year" in dataset.kinds
    assert np.flatnonzero(dataset.frame["x"].isna()).tolist() == [60]
    assert [doubt.n_cells for doubt in doubts(dataset, DoubtCode.STRAY_TEXT)] == [1]
    assert read(text, spec=dataset.spec.to_dict()).hash == dataset.hash
    assert read_otherwise(text, doubts(dataset, DoubtCode.STRAY_TEXT)[0]).frame["x"].iloc[60] == stray


def test_many_texts_among_dates_are_a_column_of_text():
    dataset = read(text_of_column([day if i % 2 else f"{day} or so" for i, day in enumerate(DAYS)]), "class")
    assert "x year" not in dataset.kinds
    assert not doubts(dataset, DoubtCode.STRAY_TEXT)


def test_cells_of_dates_and_texts_of_dates_are_one_column():
    days = [datetime.datetime(2000 + i % 20, 1 + i % 12, 1 + i % 28) if i % 4 else DAYS[i] for i in range(60)]
    rows = [["x", "class"], *[[day, "ab"[i % 2]] for i, day in enumerate(days)]]
    dataset = read_table(workbook_of_rows(rows), "class")
    assert dataset.frame["x"].dt.strftime("%d.%m.%Y").tolist() == DAYS


@pytest.mark.parametrize(
    "months",
    [
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "janv. févr. mars avr. mai juin juil. août sept. oct. nov. déc.",
        "de_enero de_febrero de_marzo de_abril de_mayo de_junio de_julio de_agosto de_septiembre de_octubre "
        "de_noviembre de_diciembre",
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    ],
)
def test_months_of_several_languages(months: str):
    names = [name.replace("_", " ") for name in months.split()]
    dataset = read(text_of_column([f"{1 + i % 28} {names[i % 12]} {2000 + i % 20}" for i in range(60)]), "class")
    assert dataset.frame["x"].dt.strftime("%d.%m.%Y").tolist() == DAYS


def test_dates_of_two_forms_are_one_column():
    texts = [day.replace(".", "/") if i % 2 else day for i, day in enumerate(DAYS)]
    assert read(text_of_column(texts), "class").frame["x"].dt.strftime("%d.%m.%Y").tolist() == DAYS


def test_a_few_texts_among_times_are_missing():
    text = text_of_column([f"{i % 24}:{i:02}" for i in range(59)] + ["noon"])
    dataset = read(text, "class")
    assert dataset.frame["x"].isna().sum() == 1
    assert [doubt.n_cells for doubt in doubts(dataset, DoubtCode.STRAY_TEXT)] == [1]
    assert read(text, spec=dataset.spec.to_dict()).hash == dataset.hash


def test_a_minus_behind_an_amount():
    dataset = read(text_of_column([f"{i * 7 % 31}.50{'-' if i % 3 else ''}" for i in range(60)]), "class")
    assert dataset.frame["x"][:3].tolist() == [0.5, -7.5, -14.5]
    grades = ["1", "1-", "2", "2-", "3", "3-"] * 10
    assert set(read(text_of_column(grades), "class").frame["x"]) == set(grades)


def test_units_that_differ_are_noted():
    assert noted(column_of([f"{60 + i} kg" for i in range(9)] + ["130 lb"]), "units", "'x'", "kg", "lb")
    assert not noted(column_of([f"{60 + i} kg" for i in range(9)]), "mixes units")


def test_a_line_below_the_names_is_no_row():
    rows = "".join(f"| {i} | {i * 7 % 31} | {'ab'[i % 2]} |\n" for i in range(30))
    dataset = read("| n | k | class |\n|---|---:|---|\n" + rows, "class")
    assert (dataset.n_rows, set(dataset.y)) == (30, {"a", "b"})


def test_places_are_in_their_order():
    assert list(column_of(["10th", "2nd", "1st", "3rd"]).X["x"].cat.categories) == ["1st", "2nd", "3rd", "10th"]


def test_words_before_a_year_are_no_months():
    words = ["Marathon 2019", "Junior 2020", "Decision 2021", "Room 2022"] * 10
    assert set(read(text_of_column(words), "class").frame["x"]) == set(words)


@pytest.mark.parametrize("sentinel", ["01.01.1900", "31.12.9999", "01.01.1970"])
@pytest.mark.parametrize("times", [1, 4])
def test_dates_that_stand_for_none_are_pointed_out(sentinel: str, times: int):
    text = text_of_column([*DAYS, *[sentinel] * times])
    (doubt,) = doubts(read(text, "class"), DoubtCode.SENTINEL)
    assert (doubt.columns, doubt.n_cells) == (("x",), times)
    assert read_otherwise(text, doubt).frame["x"].isna().sum() == times


def test_a_day_among_others_stands_for_itself():
    days = [day.replace(".20", ".19").replace(day[-2:], str(60 + i % 20)) for i, day in enumerate(DAYS)]
    assert not doubts(read(text_of_column([*days, "01.01.1970"]), "class"), DoubtCode.SENTINEL)


@pytest.mark.parametrize("minus", ["\u2212", "\u2013"])
def test_a_typographic_minus(minus: str):
    dataset = read(text_of_column([f"{minus if i % 3 else ''}{i * 7 % 31}.5" for i in range(60)]), "class")
    assert dataset.frame["x"][:4].tolist() == [0.5, -7.5, -14.5, 21.5]


@pytest.mark.parametrize("unit", ["¥", "￥", "円", " kg"])
def test_a_unit_behind_some_numbers(unit: str):
    dataset = read(text_of_column([f"{1000 + i * 7}{unit if i % 5 else ''}" for i in range(60)] + ["much"]), "class")
    assert dataset.frame["x"][:3].tolist() == [1000, 1007, 1014]
    assert [doubt.n_cells for doubt in doubts(dataset, DoubtCode.STRAY_TEXT)] == [1]


def test_three_digits_behind_a_mark_may_be_thousands():
    text = text_of_column([f"{10 + i % 30}.{100 + i}" for i in range(60)], ";")
    (doubt,) = doubts(dataset := read(text, "class"), DoubtCode.MARK_OF_NUMBERS)
    assert dataset.frame["x"][0] == 10.1
    assert read_otherwise(text, doubt).frame["x"][0] == 10_100
    for counter in (text.replace("10.100", "10.1"), text.replace("10.100", "0.100"), text.replace(";", ",")):
        assert not doubts(read(counter, "class"), DoubtCode.MARK_OF_NUMBERS)


def test_percents_beside_shares_are_noted():
    assert noted(column_of(["31%", "0.32", "28%", "0.3", "17%"]), "percents", "'31%'", "24 shares", "'0.32'")
    assert not noted(column_of(["31%", "32%", "5"]), "percents")
    assert not noted(column_of(["0.31", "0.32", "0.5"]), "percents")


def test_cells_of_errors_and_dashes_are_counted():
    dataset = read(text_of_column([*AGES, "#DIV/0!", "#N/A", "#N/A", "\u2013"]), "class")
    assert noted(dataset, "#DIV/0! (1 cell)", "#N/A (2 cells)", "\u2013 (1 cell)", "'x'")
    assert dataset.frame["x"].isna().sum() == 4


# ---- labels, totals, several tables ----------------------------------------------------------------------------------


def test_labels_that_stand_once_may_be_filled_down():
    regions = ["North", "South", "East", "West", "Mid"]
    text = "region,n,class\n" + "".join(
        f"{'' if i % 8 else regions[i // 8]},{i % 7},{'ab'[i % 2]}\n" for i in range(40)
    )
    dataset = read(text, "class")
    (doubt,) = doubts(dataset, DoubtCode.GROUP_LABELS)
    assert (doubt.n_cells, dataset.frame["region"].isna().sum()) == (35, 35)
    assert read_otherwise(text, doubt).frame["region"].tolist() == [region for region in regions for _ in range(8)]
    counter = text.replace("\n,", "\nNorth,", 1)  # the same label again: it stands for its row alone
    assert not doubts(read(counter, "class"), DoubtCode.GROUP_LABELS)


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize(("wrong", "n_rows"), [(0, 40), (99, 49)])
def test_totals_amid_the_rows_are_left_out_where_they_add_up(as_text: bool, wrong: int, n_rows: int):
    rows: list[list[object]] = [["region", "town", "n", "class"]]
    for i in range(40):
        rows.append([f"R{i // 5}", f"T{i}", i % 7, "ab"[i % 2]])
        rows += [["Subtotal", None, wrong or sum(k % 7 for k in range(i - 4, i + 1)), None]] * (i % 5 == 4)
    rows += [["R8", "T40", 3, "a"]] * (wrong > 0)
    lines = "".join(",".join("" if cell is None else str(cell) for cell in row) + "\n" for row in rows)
    table = read_columns(lines.encode() if as_text else workbook_of_rows(rows))
    words = ("8 rows", "named like totals") if wrong else ("8 rows of totals", "data row 6")
    assert table.n_rows == n_rows
    assert any(all(word in note for word in words) for note in table.notes)


def test_a_level_called_total_is_data_even_where_a_number_adds_up():
    rows = "".join(f"{('Total', 'Part', 'None')[i % 3]},{i % 7},{'ab'[i % 2]}\n" for i in range(60))
    assert read("kind,n,class\n" + rows, "class").n_rows == 60
    full = "".join(f"{i // 4},{'Total' if i % 4 == 3 else f'T{i}'},{3 if i % 4 == 3 else 1}\n" for i in range(60))
    assert read_columns(("region,town,n\n" + full).encode()).n_rows == 60  # one sum in a full row may be chance


def test_plain_numbers_above_a_total_are_not_parsed_one_by_one(monkeypatch):
    parsed = []

    def record(levels):
        parsed.extend(levels.to_pylist())
        return bare_numbers(levels)

    monkeypatch.setattr(find_table, "bare_numbers", record)
    prices = [f"{k}.5" for k in range(29)] + ["1,000", "-3", "2.5e2"]
    lines = [f"shop {k},{price!r},$ {k}".replace("'", '"') for k, price in enumerate(prices)]
    total = sum(float(price.replace(",", "")) for price in prices)
    lines.insert(0, "name,price,debit")
    table = read_columns("\n".join([*lines, f"Total,{total},$ {sum(range(32))}", *lines[1:]]).encode())
    assert table.n_rows == 64
    assert {*parsed} & {*prices} == set()
    assert "$ 7" in parsed


def test_a_table_beside_the_table_is_left_out():
    rows = [
        f"P{i},{20 + i % 9},{'ab'[i % 2]},,{i + 1 if i < 4 else ''},{'wxyz'[i] if i < 4 else ''}" for i in range(40)
    ]
    text = "name,age,class,,code,label\n" + "\n".join(rows)
    dataset = read(text, "class")
    assert list(dataset.frame) == ["name", "age", "class"]
    assert noted(dataset, "side by side", "'code'", "'label'")
    assert read(text, spec=dataset.spec.to_dict()).hash == dataset.hash
    spaced = "a,b,,c,class\n" + "".join(f"{i},{i % 3},,{i % 5},{'ab'[i % 2]}\n" for i in range(40))
    assert {"a", "b", "c", "class"} <= set(read(spaced, "class").frame)  # an empty column within one table


@pytest.mark.parametrize("as_text", [True, False])
@pytest.mark.parametrize("first_row", [0, 1, 3])
def test_a_table_that_begins_lower_beside_the_table_is_left_out(as_text: bool, first_row: int):
    beside = [[None, None]] * first_row + [["code", "label"], *([k, "wxyz"[k]] for k in range(4))] + [[None, None]] * 40
    rows = [["name", "age", "class"], *([f"P{i}", 20 + i % 9, "ab"[i % 2]] for i in range(40))]
    rows = [[*row, None, *cells] for row, cells in zip(rows, beside, strict=False)]
    text = "".join(",".join("" if cell is None else str(cell) for cell in row) + "\n" for row in rows)
    table = read_columns(text.encode() if as_text else workbook_of_rows(rows))
    assert [column.name for column in table.values] == ["name", "age", "class"]
    assert any("side by side" in note and "'label'" in note for note in table.notes)
    assert not any("no name" in note for note in table.notes)


def test_suppressed_numbers_leave_the_second_row_of_names():
    cells = [["c" if k % 4 == j else str(20 + k) for j in range(4)] for k in range(12)]
    rows = "".join(f"A{k},{','.join(row)},{('good', 'bad')[k % 2]}\n" for k, row in enumerate(cells))
    table = read_columns(f"area,Boys,,Girls,,rating\n,Number,%,Number,%,\n{rows}".encode())
    assert table.n_rows == 12
    assert [column.name for column in table.values][1:3] == ["Boys Number", "Boys %"]


def test_numbers_of_json_in_quotation_marks_are_numbers():
    lines = [{"size": k / 4 if k % 2 else f"{k / 4:.2f}", "class": "ab"[k % 3 > 1]} for k in range(40)]
    dataset = read("\n".join(map(json.dumps, lines)))
    assert dataset.kinds["size"] == "numeric"
    assert noted(dataset, "20 texts", "'size'")


def test_errors_and_decimal_commas_of_a_workbook_are_noted():
    rows = [["ratio", "price", "class"]] + [[k / 8, f"{k},37", "ab"[k % 2]] for k in range(20)]
    rows[3][0], rows[5][0] = "#N/A", "#DIV/0!"
    table = read_columns(workbook_of_rows(rows))
    assert any("2 cells" in note and "#N/A" in note for note in table.notes)
    assert any("decimal comma" in note and "'price'" in note for note in table.notes)


def test_names_of_r_are_one_fewer():
    for quote in ("", '"'):
        names = " ".join(f"{quote}{name}{quote}" for name in ("x", "k", "class"))
        rows = [[str(i + 1), i * 1.5, "uvw"[i % 3], "ab"[i % 2]] for i in range(40)]
        lines = [
            " ".join(f"{quote}{cell}{quote}" if isinstance(cell, str) else str(cell) for cell in row) for row in rows
        ]
        dataset = read("\n".join([names, *lines]) + "\n", "class")
        assert dataset.kinds == {"row name": "ignore", "x": "numeric", "k": "categorical"}


LETTER = (
    "Dear Sir or Madam,\n\nI write about the table, which I lost.\nPlease send it, or a copy, again.\n\nYours,\nAnn\n"
)
SCRIPT = (
    "import os\n\ndef main(a, b):\n    x = a + b\n    return x, a\n\nprint(main(1, 2))\nfor i in range(3):\n    y(i)\n"
)


@pytest.mark.parametrize("text", [LETTER, SCRIPT, LETTER.replace(", or a copy,", "")])
def test_a_letter_and_source_code_are_no_tables(text: str):
    with pytest.raises(TableError) as refusal:
        read(text)
    assert refusal.value.code == UNEVEN_LINES


def test_a_small_table_below_titles_is_one():
    assert read("Results\nof the year\nand more\nname,n,class\nx,1,a\ny,2,b\nz,3,a\n", "class").n_rows == 3


def test_a_transposed_table_is_pointed_out():
    cases = range(12)
    rows = {
        "age": [20 + i % 9 for i in cases], "sex": ["fm"[i % 2] for i in cases], "height": [150 + i for i in cases],
        "smoker": [("no", "yes")[i % 3 > 0] for i in cases],
    }  # fmt: skip
    lines = ["feature," + ",".join(f"P{i}" for i in cases)]
    lines += [",".join(map(str, [name, *values])) for name, values in rows.items()]
    assert noted(read("\n".join(lines)), "transposed", ".T")
    turned = pd.DataFrame(rows).assign(name=[f"P{i}" for i in cases]).to_csv(index=False)
    assert not noted(read(turned), "transposed")


@pytest.mark.parametrize("name", ["Gewicht (wt)", "weight (pspwght)", "weight [pweight]"])
def test_weights_are_known_by_their_abbreviation(name: str):
    numbers = [f"{0.5 + i * 0.01931:.4f}" for i in range(60)]
    dataset = read(text_of_column(numbers).replace("x,", f"{name},", 1), "class")
    assert {column.name: column.offered_role for column in dataset.columns}[name] == "weight"
    other = read(text_of_column(numbers).replace("x,", "weight (kg),", 1), "class")
    assert other.kinds["weight (kg)"] == "numeric"


@pytest.mark.parametrize("answer", ["DK", "refused", "Don't know", "Prefer not to say"])
def test_classes_that_are_no_answers_are_asked_about(answer: str):
    text = text_of_column(AGES).replace(",a\n", f",{answer}\n", 3)
    (doubt,) = doubts(read(text, "class"), DoubtCode.NO_ANSWER)
    assert doubt.n_cells == 3
    assert read_otherwise(text, doubt).n_rows == 37
    (doubt,) = doubts(column_of([answer, "yes", "no"]), DoubtCode.NO_ANSWER)  # of a feature
    assert (doubt.columns, doubt.n_cells) == (("x",), 20)
    assert not doubts(column_of([answer, "yes"]), DoubtCode.NO_ANSWER)  # little would be left


@pytest.mark.parametrize(
    ("levels", "order", "no_answers"),
    [
        (
            ["10 - Always", "2 - Often", "8 - DK", "1 - No"],
            ["1 - No", "2 - Often", "8 - DK", "10 - Always"],
            ["8 - DK"],
        ),
        (["3 Bad", "1 Good", "98 Refused", "2 Fair"], ["1 Good", "2 Fair", "3 Bad", "98 Refused"], ["98 Refused"]),
        (["(2) Often", "(1) Never", "(3) Always"], ["(1) Never", "(2) Often", "(3) Always"], []),
        (["Agree (4)", "Strongly agree (5)", "Neutral (3)"], ["Neutral (3)", "Agree (4)", "Strongly agree (5)"], []),
        (["10 = full trust", "5", "0 = no trust"], ["0 = no trust", "5", "10 = full trust"], []),
    ],
)
def test_numbered_answers_are_in_the_order_of_their_numbers(levels, order, no_answers):
    dataset = column_of(levels)
    assert dataset.kinds["x"] == "ordinal"
    assert dataset.X["x"].cat.categories.tolist() == order
    assert [d.change["columns"]["x"]["missing"]["add"] for d in doubts(dataset, DoubtCode.NO_ANSWER)] == (
        [no_answers] if no_answers else []
    )


@pytest.mark.parametrize(
    "levels",
    [["2 rooms", "1 room", "3 rooms"], ["5 mg", "500 ug", "10 mg"], ["1 week", "2 days", "3 months"],
     ["1 - North", "2 - North", "3 - East"], ["12 High St", "14 Low St", "3 Mill Ln"],
     ["Jones (34)", "Smith (27)", "Lee (51)"]],
)  # fmt: skip
def test_other_texts_that_begin_with_numbers_are_no_numbered_answers(levels):
    assert answer_codes(levels) is None


@pytest.mark.parametrize(
    "order",
    [
        ["FY2019", "FY2020", "FY2021"], ["2018/19", "2019/20", "2020/21"], ["FY98/99", "FY99/00", "FY00/01"],
        ["1st half 2020", "2nd half 2020", "1st half 2021"], ["H2 2019", "H1 2020", "H2 2020"],
        ["4Q20", "1Q21", "3Q21"], ["4th quarter 2020", "1st quarter 2021", "3rd quarter 2021"],
        ["2021-W09", "2021-W10", "2022-W01"], ["2021M02", "2021M10", "2022M01"], ["Week 2", "Week 9", "Week 10"],
        ["Autumn 2019", "Spring 2020", "Autumn 2020"], ["S", "M", "L", "XL"], ["never", "monthly", "weekly", "daily"],
        ["<$500", "$500-$1k", "$1k-$20k", ">$20k"],
    ],
)  # fmt: skip
def test_periods_are_ordered(order):
    assert sort_levels(sorted(order, key=lambda text: text[::-1])) == order
    assert column_of(order[::-1]).kinds["x"] == "ordinal"


@pytest.mark.parametrize(
    "levels", [["Week 2", "Day 9", "Month 1"], ["2019/06", "2020/21", "2021/22"], ["Town 2", "Town 9", "Town 10"]]
)
def test_texts_like_periods_have_no_order(levels):
    assert sort_levels(levels) is None


@pytest.mark.parametrize(
    ("texts", "days"),
    [
        (["R3/5/1", "R1/12/31", "H31/4/30"], ["2021-05-01", "2019-12-31", "2019-04-30"]),
        (["令和3年5月1日", "平成元年1月8日", "昭和64年1月7日"], ["2021-05-01", "1989-01-08", "1989-01-07"]),
        (["114/05/01", "101/12/31", "113/02/29"], ["2025-05-01", "2012-12-31", "2024-02-29"]),
        (["2021年5月1日", "2020年12月31日", "2020年2月29日"], ["2021-05-01", "2020-12-31", "2020-02-29"]),
    ],
)
def test_dates_of_an_era_are_read(texts, days):
    dataset = column_of(texts)
    assert dataset.frame["x"].dt.strftime("%Y-%m-%d").tolist()[:3] == days
    assert noted(dataset, "era", texts[0]) or texts[0].startswith("2021")
    assert not dataset.doubts  # two digits are no year of a century
    again = read_new_rows(pd.DataFrame({"x": texts, "k": 1}).to_csv(index=False).encode(), dataset.spec)
    assert again.X["x year"].tolist() == dataset.X["x year"].tolist()[:3]


def test_three_numbers_with_strokes_are_no_dates_of_an_era():
    assert column_of(["120/80/70", "130/90/72", "110/70/60"]).kinds["x"] == "categorical"
    mixed = column_of([*(f"0{i}/05/2021" for i in range(1, 9)), *["21/05/2021"] * 40, "114/05/01"])
    assert noted(mixed, "114/05/01", "no date")


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("hhid", lambda k: str(1000 + k)), ("user_email", lambda k: f"u{k}@example.org"),
        ("session_id", lambda k: f"{k * 7919 + 16**7:08x}"), ("PatientID", lambda k: f"PAT-{k:04}"),
        ("Proband", lambda k: f"VP{k:02}"), ("respondent_id", lambda k: str(77000 + k)),
    ],
)  # fmt: skip
def test_ids_on_several_rows_are_offered_as_groups(name, label):
    rows = "".join(f"{label(k // 4)},{k * 7 % 90 / 4},{'ab'[k % 3 > 0]}\n" for k in range(120))
    dataset = read(f"{name},x,class\n{rows}", "class")
    assert {column.name: column.offered_role for column in dataset.columns}[name] == "group"
    assert noted(dataset, "kind 'group'", name)


@pytest.mark.parametrize("name", ["employees", "sessions", "members", "resp", "accounts"])
def test_counts_of_units_are_no_groups(name):
    rows = "".join(f"{k % 40 + 3},{k * 7 % 90 / 4},{'ab'[k % 3 > 0]}\n" for k in range(160))
    assert read(f"{name},x,class\n{rows}", "class").kinds[name] == "numeric"


def test_levels_named_like_ids_are_no_groups():
    rows = "".join(f"{['north', 'south', 'east', 'west', 'mid'][k % 5]},{k},{'ab'[k % 3 > 0]}\n" for k in range(60))
    assert read(f"region_id,x,class\n{rows}", "class").kinds["region_id"] == "categorical"


SECOND_TABLE = "Branch,Customers,Complaints,Rating\n" + "".join(
    f"Town {chr(65 + k)},{400 + k * 37},{k * 5 % 23},{'good' if k % 3 else 'poor'}\n" for k in range(8)
)
LATER_ROWS = "".join(f"{2000 + k},{k * 977 % 500},{k % 7 + 3},{'passed' if k % 2 else 'failed'}\n" for k in range(9))


@pytest.mark.parametrize("title", ["", "\nBy month\n", "\n\nBy month,,,\n"])
def test_a_second_table_with_other_names_is_left_out(title):
    dataset = read(f"{SECOND_TABLE}{title}Month,Turnover,Staff,Audit\n{LATER_ROWS}", "Rating")
    assert (dataset.n_rows, list(dataset.classes)) == (8, ["good", "poor"])
    assert noted(dataset, "second table", "'Turnover'", "9 rows")


def test_a_row_of_stray_texts_is_no_second_table():
    dataset = read(f"{SECOND_TABLE}Hill,none,refused,good\nLake,n.k.,broken,poor\n{SECOND_TABLE[35:]}", "Rating")
    assert dataset.n_rows == 18
    assert not noted(dataset, "second table")


@pytest.mark.parametrize(
    ("text", "n_lines"),
    [
        (" x | k \n---+---\n" + "".join(f"  {k} | {'ab'[k % 2]}\n" for k in range(30)) + "(30 rows)\n", 1),
        ("+--+--+\n|x | k|\n+--+--+\n" + "".join(f"|{k} |{'ab'[k % 2]} |\n" for k in range(30)) + "+--+--+", 3),
    ],
    ids=["psql", "mysql"],
)  # fmt: skip
def test_lines_of_dashes_between_rows_are_left_out(text, n_lines, tmp_path):
    dataset = read_columns(text.encode())
    assert dataset.n_rows == 30
    assert noted(dataset, f"{n_lines} line", "dashes")
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(TableError, match="lines of dashes"):
        open_table(tmp_path / "t.csv", dataset.names[-2])


def test_genotypes_of_a_vcf_file_may_be_missing():
    head = '##fileformat=VCFv4.2\n##INFO=<ID=DP,Number=1,Description="Depth, total">\n#CHROM\tPOS\tQUAL\tINFO\tS1\tS2\n'
    calls = ["0/0", "0/1", "./.", "1/1"]
    rows = "".join(f"20\t{1000 + 37 * k}\t.\tDP={k}\t{calls[k % 4]}\t{calls[k % 3]}\n" for k in range(40))
    dataset = read(head + rows, "S2")
    assert dataset.X["S1"].isna().sum() == sum(k % 4 == 2 and k % 3 != 2 for k in range(40))
    assert list(dataset.classes) == ["0/0", "0/1"]
    assert dataset.frame["QUAL"].isna().all()  # dots alone are no level
    assert next(iter(dataset.kinds)) == "CHROM"


def test_two_rows_of_names_may_share_a_name():
    rows = [["Pupil", None, "Autumn", None, "Attendance", "Set"], ["Surname", "First", "Maths", "English", "%", "Set"]]
    rows += [
        [f"P{k}", ["Ann", "Bo", "Cy"][k % 3], "abs" if k % 5 == 0 else 40 + k, 70 - k, 0.9 + k / 400, "XYZ"[k % 3]]
        for k in range(28)
    ]
    dataset = read_table(workbook_of_rows(rows, ["A1:B1", "C1:D1"]))
    assert (dataset.n_rows, dataset.target) == (28, "Set")
    assert list(dataset.kinds)[1:4] == ["Pupil First", "Autumn Maths", "Autumn English"]


def test_dates_with_the_mark_of_a_year_are_read():
    dataset = column_of(["20.10.2022 r.", "1.03.2023 r.", "15.11.2022 \u0433."])
    assert dataset.frame["x"].dt.strftime("%m-%d").tolist()[:3] == ["10-20", "03-01", "11-15"]


def test_codes_with_an_e_between_digits_are_no_numbers():
    assert column_of(["3E05", "1E5", "10E4", "7E11"]).kinds["x"] == "categorical"
    assert column_of(["3E+05", "1E+05", "1.5E+05", "2E+05", "7E+11"]).kinds["x"] == "numeric"


@pytest.mark.parametrize("token", ["n.b.", "n.d.", "ND", "\u043d/\u0434", "not asked"])
def test_further_marks_of_missing_numbers(token):
    dataset = column_of([*AGES, token])
    assert dataset.kinds["x"] == "numeric"
    assert noted(dataset, f"{token} (1 cell)", "'x'", "missing")
    assert token in set(column_of([token, "north", "south"]).frame["x"])


def test_a_decimal_comma_in_every_line_is_no_delimiter():
    rows = "".join(f"{k};P{k % 7};{k * 3 % 50},5;x;y;{'ab'[k % 2]}\n" for k in range(40))
    assert not doubts(read("id;name;cost, EUR;u;v;class\n" + rows, "class"), DoubtCode.DELIMITER)


def test_other_spellings_may_be_merged():
    text = text_of_column(["female"] * 12 + ["male"] * 9 + ["femal", "Femal", "Male?"] + ["other"] * 5)
    (doubt,) = doubts(read(text, "class"), DoubtCode.SPELLING)
    assert (doubt.n_cells, doubt.columns) == (3, ("x",))
    dataset = read_otherwise(text, doubt)
    assert dataset.frame["x"].value_counts().to_dict() == {"female": 14, "male": 10, "other": 5}
    assert read_new_rows(b"x,k\nFEMAL,1\n", dataset.spec).X["x"].tolist() == ["female"]


def test_chains_of_spellings_end_in_one_level():
    text = text_of_column(["abcdefgh"] * 60 + ["abcdefgx"] * 10 + ["abcdefyx"] * 2 + ["other"] * 20)
    (doubt,) = doubts(read(text, "class"), DoubtCode.SPELLING)
    assert set(doubt.change["columns"]["x"]["spellings"].values()) == {"abcdefgh"}
    assert read_otherwise(text, doubt).frame["x"].value_counts().to_dict() == {"abcdefgh": 72, "other": 20}


def test_given_spellings_hold_for_exact_texts_and_unmatched_ones_are_noted():
    text = text_of_column(["IPhone"] * 5 + ["iPhone"] * 7 + ["nokia"] * 9)
    options = ReadOptions(spellings={"IPhone": "iPhone", "nokja": "nokia", "3": "4"})
    dataset = read_table(io.StringIO(text), "class", options=options)
    assert dataset.frame["x"].value_counts().to_dict() == {"iPhone": 12, "nokia": 9}
    assert read_new_rows(b"x,k\nIPhone,1\n", dataset.spec).X["x"].tolist() == ["iPhone"]
    (note,) = [note for note in dataset.notes if "spellings" in note and "given" in note]
    assert [text in note for text in ("'nokja'", "'3'", "'IPhone'")] == [True, True, False]


def test_options_of_an_unknown_column_are_noted_with_the_nearest():
    text = text_of_column(["red", "green", "blue"] * 10)
    options = ReadOptions(columns={"clas": {"missing": ["?"]}, "x": {"missing": ["?"]}})
    dataset = read_table(io.StringIO(text), "class", options=options)
    (note,) = [note for note in dataset.notes if "'clas'" in note]
    assert "'class'" in note


def test_columns_of_fixed_width_are_cut_by_the_line_of_dashes():
    rows = "".join(f"{f'Item {k}' if k % 3 else f'My item {k}':<10} {k * 1.5:>5} {'ab'[k % 2]}\n" for k in range(40))
    text = f"Stock of May\nname        size class\n---------- ----- -----\n{rows}"
    dataset = read(text)
    assert (dataset.n_rows, list(dataset.frame)) == (40, ["name", "size", "class"])
    assert (dataset.frame["name"][3], dataset.kinds["size"]) == ("My item 3", "numeric")
    assert noted(dataset, "fixed width")
    assert read(text, spec=dataset.spec.to_dict()).hash == dataset.hash


def test_columns_of_fixed_width_are_not_read_in_batches(tmp_path):
    (tmp_path / "t.txt").write_text("size class\n---- -----\n" + "".join(f"{k:>4} {'ab'[k % 2]}\n" for k in range(40)))
    with pytest.raises(TableError, match=r"fixed width.*read_table"):
        open_table(tmp_path / "t.txt")


def test_logs_of_web_servers_are_refused_by_name():
    line = '127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 {} "-" "Mozilla/5.0 (X11; Linux; x)"\n'
    with pytest.raises(TableError, match="log of a web server") as error:
        read_columns("".join(line.format(k) for k in range(20)).encode())
    assert error.value.code == FOREIGN_FORMAT


def test_names_of_removed_annotations_have_no_quotation_marks():
    text = "x,class\n" + "".join(f"{'<' if k % 3 else ''}{k}.5,{'ab'[k % 2]}\n" for k in range(30))
    dataset = read(text, options=ReadOptions(numbers=True))
    assert noted(dataset, "a limit")
    assert not noted(dataset, "'a limit'")
