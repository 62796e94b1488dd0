"""Tables as people have them, each with what it has to become: kinds, values, notes.

A case is the column that is messy (its values, with what a table around them would hold) and the right answer.
"""

import io

import numpy as np
import pandas as pd
import pytest

from alrviz.data.options import ReadOptions
from alrviz.data.read import read_table
from alrviz.data.text import FULL_ANSWERS
from alrviz.errors import TableError, for_page

ROWS = 60


def table_of(values, name="a", delimiter=",", **options):
    """A CSV of ROWS rows: the values again and again, a measurement, a class of two."""
    lines = [f'"{name}"{delimiter}size{delimiter}class']
    lines += [
        f'"{values[i % len(values)]}"{delimiter}{i * 7 % 31}{delimiter}{"yes" if i % 3 else "no"}' for i in range(ROWS)
    ]
    return read_table("\n".join(lines).encode(), **options)


def first(dataset, name="a"):
    column = next(column for column in dataset.columns if column.name == name)
    return column.kind, dataset.frame[name].tolist()


NUMBERS = [
    ("dollars", ["$1,234", "$56", "$7,890,123", "$3", "$45.50"], [1234, 56, 7890123, 3, 45.5]),
    ("dollars with cents", ["$1,234.56", "$0.99", "-$5.00", "$12.10", "$3.00"], [1234.56, 0.99, -5, 12.1, 3]),
    ("a currency code behind", ["12 USD", "1,500 USD", "3.5 USD", "8 USD", "9 USD"], [12, 1500, 3.5, 8, 9]),
    ("brackets are a minus", ["(1,200)", "300", "(45)", "7,000", "10"], [-1200, 300, -45, 7000, 10]),
    ("percent", ["12.5%", "100%", "0.3%", "7%", "55 %"], [12.5, 100, 0.3, 7, 55]),
    ("a unit", ["70 kg", "82.5 kg", "64 kg", "91 kg", "55 kg"], [70, 82.5, 64, 91, 55]),
    ("a unit without a space", ["170cm", "182cm", "164cm", "191cm", "155cm"], [170, 182, 164, 191, 155]),
    ("a word, one or many", ["1 room", "2 rooms", "3 rooms", "5 rooms", "8 rooms"], [1, 2, 3, 5, 8]),
    ("thousands and millions", ["19M", "201k", "1.5M", "8M", "950k"], [19e6, 201e3, 1.5e6, 8e6, 950e3]),
    ("millions of money", ["€110.5M", "€565K", "€1.2M", "€3M", "€900K"], [110.5e6, 565e3, 1.2e6, 3e6, 9e5]),
    ("some with thousands marks", ["1,234", "999", "12,345", "7", "1,000,000"], [1234, 999, 12345, 7, 1e6]),
    ("spreadsheet errors", ["1.5", "#N/A", "2.5", "#DIV/0!", "#REF!"], [1.5, None, 2.5, None, None]),
    ("None among numbers", ["1.5", "None", "2.5", "3.5", "4.5"], [1.5, None, 2.5, 3.5, 4.5]),
    ("a dot among numbers", ["1.5", ".", "2.5", "3.5", "4.5"], [1.5, None, 2.5, 3.5, 4.5]),
    ("unknown among money", ["$1.50", "unknown", "$2.50", "$3.50", "--"], [1.5, None, 2.5, 3.5, None]),
    ("times of day", ["13:45", "0:30", "23:15", "7:00", "08:06"], [13.75, 0.5, 23.25, 7, 8.1]),
    ("times of day, AM and PM", ["1:45 PM", "12:30 AM", "11:15 pm", "7:00 AM", "12:00 PM"], [13.75, 0.5, 23.25, 7, 12]),
    ("lengths of time", ["101:30", "2:15", "30:00", "7:45", "8:06:36"], [101.5, 2.25, 30, 7.75, 8.11]),
]


@pytest.mark.parametrize(("values", "numbers"), [case[1:] for case in NUMBERS], ids=[case[0] for case in NUMBERS])
def test_numbers(values, numbers):
    kind, found = first(table_of(values))
    assert kind == "numeric"
    np.testing.assert_allclose(found[: len(values)], [np.nan if number is None else number for number in numbers])


LAB = ["<5", "7.2", "12", "30.5", "8", ">100", "55", "6.1", "41", "99", "17", "5.5"]


def test_limits_are_numbers_with_a_note():
    for values, numbers in (
        (LAB, [5, 7.2, 12, 30.5, 8, 100]),
        (["< 0.05 mg/L", "0.7 mg/L", "1.2 mg/L", "3 mg/L", "8 mg/L", "2 mg/L", "-"], [0.05, 0.7, 1.2, 3, 8, 2]),
    ):
        dataset = table_of(values)
        kind, found = first(dataset)
        assert kind == "numeric"
        assert found[: len(numbers)] == numbers
        assert any("of 'a' are limits or guesses, such as '<" in note for note in dataset.notes)
    assert "10 values of 'a' are limits or guesses, such as '<5': read as the number, 5" in table_of(LAB).notes
    said = table_of(["<5", "7", ">9"], a="numeric")
    assert first(said)[1][:3] == [5, 7, 9]
    assert first(table_of(["<20", "20", "30", "40", ">40"]))[0] == "ordinal", "few numbers: they are levels"


GERMAN = [
    ("euros", ["1.234,50 €", "12,00 €", "-3,10 €", "7,00 €", "1.000.000,00 €"], [1234.5, 12, -3.1, 7, 1e6]),
    ("a decimal comma", ["1,5", "2,25", "13,0", "4,75", "5,5"], [1.5, 2.25, 13, 4.75, 5.5]),
    ("percent with a comma", ["12,5 %", "7,25 %", "3,0 %", "1,5 %", "100,0 %"], [12.5, 7.25, 3, 1.5, 100]),
]


@pytest.mark.parametrize(("values", "numbers"), [case[1:] for case in GERMAN], ids=[case[0] for case in GERMAN])
def test_numbers_between_semicolons(values, numbers):
    kind, found = first(table_of(values, delimiter=";"))
    assert kind == "numeric"
    assert found[: len(values)] == numbers


DATES = [
    ("year first", "2020-01-31", ",", "2020-01-31"),
    ("year first, slashes", "2020/1/31", ",", "2020-01-31"),
    ("eight digits", "20200131 20200201 20200302 20191231 20200704", ",", "2020-01-31"),
    ("a month", "2020-01 2020-02", ",", "2020-01-01"),
    ("American, two digits", "8/15/14 1/2/15", ",", "2014-08-15"),
    ("American", "01/31/2020 02/01/2020", ",", "2020-01-31"),
    ("British", "31/01/2020 01/02/2020", ",", "2020-01-31"),
    ("German", "31.01.2020 1.2.2020", ";", "2020-01-31"),
    ("German, two digits", "31.01.20 01.02.20", ";", "2020-01-31"),
    ("month by name", "14 Oct 2014|1 November 2015", ",", "2014-10-14"),
    ("month by name, first", "Oct 14, 2014|May 1, 2015", ",", "2014-10-14"),
    ("month by name, short", "14-Oct-14|1-JAN-15", ",", "2014-10-14"),
    ("month by German name", "14. Oktober 2014|1. Mai 2015", ";", "2014-10-14"),
    ("with a time", "01/31/2020 13:45|02/01/2020 7:05", ",", "2020-01-31 13:45"),
    ("with a time, PM", "1/31/2020 1:45 PM|2/1/2020 7:05 AM", ",", "2020-01-31 13:45"),
    ("German with a time", "31.01.2020 13:45:30|01.02.2020 00:00:00", ";", "2020-01-31 13:45:30"),
    ("with a zone", "2020-01-31T13:45:00+02:00|2020-02-01T00:00:00Z", ",", "2020-01-31 13:45"),
    ("German, unpadded", "31.1.20 1.2.20", ";", "2020-01-31"),
]


@pytest.mark.parametrize(("texts", "delimiter", "when"), [case[1:] for case in DATES], ids=[case[0] for case in DATES])
def test_dates(texts, delimiter, when):
    values = texts.split("|" if "|" in texts else " ")
    dataset = table_of(values, name="day", delimiter=delimiter)
    kind, found = first(dataset, "day")
    assert kind == "ignore"
    assert found[0] == pd.Timestamp(when)
    assert dataset.kinds["day year"] == "numeric"
    assert ("day hour" in dataset.kinds) == (":" in texts)
    if ":" in texts:
        assert dataset.frame["day hour"][0] == pd.Timestamp(when).hour


def test_unpadded_dates_of_one_year_are_no_versions():
    texts = [f"{k % 12 + 1}.{k % 5 + 1}.24" for k in range(12)]
    assert first(table_of(texts, name="seen"), "seen")[1][0] == pd.Timestamp("2024-01-01")
    versions = [f"{k % 3 + 1}.{k}.{k + 10}" for k in range(1, 12)]
    assert "seen year" not in table_of(versions, name="seen").kinds


@pytest.mark.parametrize("said", [None, True, False])
def test_ambiguous_dates_are_doubts_and_options_decide(said):
    text = "both,day,class\n05/06/2020,31/01/2020,x\n07/08/2020,01/02/2020,y\n" * 4
    dataset = read_table(text.encode(), options=ReadOptions(dayfirst=said))
    assert dataset.X["both month"][0] == ("Jun" if said else "May")
    assert dataset.X["day month"][0] == "Jan"
    assert next(column for column in dataset.spec.columns if column.name == "both").day_first is bool(said)
    notes = [note for note in dataset.notes if " first, as " in note]
    if said is None:
        assert notes == [
            "dates in 'both' are read month first, as '05/06/2020' can be read both ways; "
            "options=ReadOptions(dayfirst=True) reads them day first"
        ]
        assert for_page(notes[0]).endswith('"How it was read", "Order of dates" has the other way, day first')
    else:
        assert notes == ([] if said else ["dates in 'day' are read day first, as '31/01/2020' is no date month first"])


WORDS = [
    ("versions are no dates", ["2.4.12", "1.10.3", "2.4.13"], "categorical"),
    ("addresses are no numbers", ["10.0.0.1", "10.0.0.2", "10.0.0.3"], "categorical"),
    ("two units are no numbers", ["70 kg", "150 lb", "64 kg"], "categorical"),
    ("ordinal numbers are no numbers", ["1st", "2nd", "3rd"], "ordinal"),
    ("seats are no numbers", ["12A", "13B", "14A"], "categorical"),
    ("German marks are no numbers", ["1-", "2+", "3"], "categorical"),
    ("None is a level among words", ["None", "Brick", "Stone"], "categorical"),
    ("codes with zeros in front", ["00202", "01000", "00301"], "categorical"),
    ("an order", ["none", "mild", "severe"], "ordinal"),
]


@pytest.mark.parametrize(("values", "kind"), [case[1:] for case in WORDS], ids=[case[0] for case in WORDS])
def test_words(values, kind):
    dataset = table_of(values)
    assert first(dataset) == (kind, [values[i % 3] for i in range(ROWS)])


def test_spellings_are_merged_with_a_note():
    dataset = table_of(["Yes", "yes", "YES", "NO", "No", "no", "no", "Yes"])
    assert sorted(dataset.X["a"].cat.categories) == ["Yes", "no"]
    note = next(note for note in dataset.notes if "one level" in note)
    assert all(repr(spelling) in note for spelling in ("Yes", "yes", "YES", "NO", "No", "no"))
    kept = table_of(["Yes", "yes", "NO", "No"], options=ReadOptions(merge_case=False))
    assert len(kept.X["a"].cat.categories) == 4
    assert sorted(table_of(["y", "N", "n", "Y", "y", "n"]).X["a"].cat.categories) == ["n", "y"]
    for codes in (["a", "A", "b"], ["hid", "hId", "had"]):  # they may tell the two apart
        assert len(table_of(codes).X["a"].cat.categories) == 3


@pytest.mark.parametrize("answer", FULL_ANSWERS)
def test_letters_of_answers_in_either_case_are_one_level(answer):
    letter = answer[0]
    categories = table_of([letter, letter.upper(), letter, answer, answer.upper()]).X["a"].cat.categories
    assert sorted(categories) == sorted([letter, answer])


def test_merge_case_true_merges_single_letters():
    levels = ["Yes", "yes", "b", "B"]
    assert table_of(levels).frame["a"].nunique() == 4
    options = ReadOptions(merge_case=True)
    table = table_of(levels, options=options)
    assert table.frame["a"].nunique() == 2
    assert table_of(levels, spec=table.spec).hash == table.hash


def test_merge_case_with_a_spec():
    cells = ["Red", "red", "RED", "blue"]
    spec = table_of(cells).spec
    apart = table_of(cells, spec=spec, options=ReadOptions(merge_case=False))
    assert apart.frame["a"].nunique() == 4
    assert not any(column.spellings for column in apart.spec.columns if column.name == "a")
    with pytest.raises(TableError, match="merge_case=True"):
        table_of(cells, spec=spec, options=ReadOptions(merge_case=True))


def test_the_class_is_merged_as_well():
    text = "size,class\n" + "".join(f"{i},{('Yes', 'yes', 'no', 'NO')[i % 4]}\n" for i in range(40))
    assert read_table(text.encode()).n_classes == 2


def test_removed_units_are_noted():
    notes = table_of(["$1,234", "$56", "$3.50"]).notes
    assert "numbers in 'a' were read without their '$'" in notes
    notes = table_of(["1.5", "None", "2.5"]).notes
    assert any(note.startswith("None (") and "'a' read as missing" in note for note in notes)


@pytest.mark.parametrize("sentinel", ["-999", "-99", "9999", "-9"])
def test_sentinel_is_a_doubt_and_its_change_makes_it_missing(sentinel):
    values = [str(12 + i % 19) for i in range(30)]
    values[3] = values[17] = sentinel
    assert any(f"{sentinel} in 'a' (4 cells)" in note for note in table_of(values).notes)
    mended = table_of(values, options=ReadOptions(missing=(sentinel,)))
    assert mended.frame["a"].isna().sum() == 4
    assert not any("may stand" in note for note in mended.notes)
    frame = pd.DataFrame({"a": [float(v) for v in values], "class": ["x", "y"] * 15})
    assert read_table(frame, options=ReadOptions(missing=(sentinel,))).frame["a"].isna().sum() == 2


def test_an_ordinary_extreme_is_not_pointed_out():
    for values in (["-1", "0", "1"], ["97", "98", "99"], ["-120", "-99", "40"], ["500", "999", "700"]):
        assert not any("may stand" in note for note in table_of(values).notes)


def test_the_advice_on_a_number_that_may_be_missing_keeps_what_is_missing_already():
    lines = [f"{-999 if k % 9 == 0 else 20 + k % 50},{'n/a' if k % 7 == 0 else k / 7}" for k in range(300)]
    text = "age,rate,class\n" + "".join(f"{line},{'no' if k % 3 else 'yes'}\n" for k, line in enumerate(lines))
    note = next(note for note in read_table(io.StringIO(text), "class").notes if "may stand for" in note)
    assert "'n/a', '-999'" in note
    followed = read_table(io.StringIO(text), "class", options=ReadOptions(missing=("n/a", "-999")))
    assert followed.kinds == {"age": "numeric", "rate": "numeric"}
    assert followed.frame["age"].isna().sum() == 34
