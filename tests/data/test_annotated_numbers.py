"""Numbers with flags, footnotes and words beside them: read where they are clear, else asked about."""

import io

import numpy as np
import pytest

from alrviz.data.apply_spec import read_new_rows
from alrviz.data.doubts import DoubtCode
from alrviz.data.options import ReadOptions
from alrviz.data.parse_spec import ParseSpec
from alrviz.data.read import read_table
from alrviz.errors import TableError


def text_of(cells, n=60):
    """A table of tabs with the column x, in which these cells repeat, and a class."""
    return "x\tclass\n" + "".join(f"{cells[k % len(cells)]}\t{'ab'[k % 2]}\n" for k in range(n))


def read(text, options=None):
    return read_table(io.StringIO(text), "class", options=options)


def doubt_of(dataset, code):
    return next((doubt for doubt in dataset.doubts if doubt.code is code), None)


NUMBERS = [f"{k * 0.7 + 1:.1f}" for k in range(12)]
# The cells of a column, and the numbers that it has if the doubt is accepted; NaN is missing.
ANNOTATED = {
    "flags": ([*(f"{x} p" for x in NUMBERS), *NUMBERS, ": c"], [*map(float, NUMBERS), *map(float, NUMBERS), np.nan]),
    "flags without a space": ([f"{x}{'*GI'[k % 3]}" for k, x in enumerate(NUMBERS)], [*map(float, NUMBERS)]),
    "footnotes": ([*(f"{x}[{k}]" for k, x in enumerate(NUMBERS)), "8.1²"], [*map(float, NUMBERS), 8.1]),
    "per cents in brackets": ([f"3,{k}20 (4{k}.5%)" for k in range(9)], [3020.0 + 100 * k for k in range(9)]),
    "laboratory": (["<0.01", "n.d.", "0.02", "1.2E-2", "TNTC"], [0.01, np.nan, 0.02, 0.012, np.nan]),
    "another unit": ([f"{k}5 m ({k * 17} ft)" for k in range(1, 9)], [k * 10.0 + 5 for k in range(1, 9)]),
}


@pytest.mark.parametrize("name", ANNOTATED)
def test_annotated_numbers_are_asked_about_and_read_on_request(name):
    cells, numbers = ANNOTATED[name]
    text = text_of(cells)
    doubt = doubt_of(read(text), DoubtCode.ANNOTATED_NUMBERS)
    assert doubt.columns == ("x",)
    assert doubt.change == {"columns": {"x": {"numbers": True}}}
    dataset = read(text, ReadOptions().with_change(doubt.change))
    np.testing.assert_allclose(dataset.frame["x"][: len(cells)], numbers)
    assert dataset.doubts == ()
    assert any("'x' were read without" in note for note in dataset.notes)
    assert next(c for c in dataset.spec.to_dict()["columns"] if c["name"] == "x")["annotations"] is True
    spec = ParseSpec.from_dict(dataset.spec.to_dict())
    assert read_table(io.StringIO(text), spec=spec).hash == dataset.hash
    np.testing.assert_allclose(read_new_rows(text.encode(), spec).X["x"], dataset.X["x"])


@pytest.mark.parametrize(
    ("cells", "type_name", "first"),
    [
        ([*(f"1:0{k}:07.1" for k in range(9)), "DNF", "DNS", "DNF", "DNF"], "times", 1 + 7.1 / 3600),
        ([*(f"2024-01-1{k}" for k in range(9)), *["pending"] * 4], "dates", np.datetime64("2024-01-10")),
        ([*(f"{k}7" for k in range(1, 10)), "ERR", "ERR", "ERR"], "numbers", 17.0),
    ],
    ids=["times", "dates", "numbers"],
)
def test_words_among_numbers_dates_and_times_are_asked_about(cells, type_name, first):
    text = text_of(cells)
    doubt = doubt_of(read(text), DoubtCode.OTHER_TYPE)
    assert type_name in doubt.question
    dataset = read(text, ReadOptions().with_change(doubt.change))
    value = dataset.frame["x"].iloc[0]
    assert value == first if type_name == "dates" else np.isclose(value, first)
    assert dataset.frame["x"].isna().sum() == doubt.n_cells


@pytest.mark.parametrize(
    "cells",
    [
        ["12A", "12B", "14", "16C", "18D", "20E", "22F"],  # houses, seats
        ["1234 AB", "1235 CD", "1236 EF", "1237 GH", "1238 IJ", "1239 KL"],  # postcodes
        ["98.6 F", "37.1 C", "38.2 °C", "36.5 C", "99.1 F", "37.0 C"],
        ["180 lb", "82 kg", "75 kg", "160 lb", "81 kg", "83 kg"],
        ["<20", "20-29", "30-39", "40-49", "50+"],
        ["1st", "2nd", "3rd", "4th", "5th"],
        ["1.2.3", "1.2.4b", "2.0.1", "2.1.0", "2.1.5"],
        ["12 Main St", "14 Oak Rd", "7 Elm Ave", "9 Pine St", "3 High St"],
        ["red", "blue (dark)", "n.d.", "2 tone"],
    ],
    ids=lambda cells: cells[0],
)
def test_codes_places_and_mixed_units_are_not_asked_about(cells):
    assert [doubt.code for doubt in read(text_of(cells)).doubts] == []


def test_one_question_is_asked_about_all_columns_with_the_same_annotations():
    rows = "".join(f"{k}.5 b,{k}.1,{k % 7}.2{' e' * (k % 2)},{'xy'[k % 2]}\n" for k in range(40))
    (doubt,) = read("u,v,w,class\n" + rows).doubts
    assert (doubt.columns, doubt.n_cells) == (("u", "w"), 60)


def test_an_equal_place_is_a_number_and_not_only_missing():
    text = text_of([*range(1, 30), "=30"])
    dataset = read(text)
    assert dataset.frame["x"].isna().sum() == 2
    (doubt,) = dataset.doubts
    assert read(text, ReadOptions().with_change(doubt.change)).frame["x"].max() == 30
    (doubt,) = read(text, ReadOptions(numbers=False)).doubts
    assert (doubt.code, doubt.columns, doubt.n_cells) == (DoubtCode.STRAY_TEXT, ("x",), 2)


def test_numbers_is_a_flag_and_is_noted_where_a_column_has_none():
    with pytest.raises(TableError, match="numbers is 'yes'; True or False"):
        ReadOptions(columns={"x": {"numbers": "yes"}})
    dataset = read(text_of(["red", "blue"]), ReadOptions(columns={"x": {"numbers": True}}))
    assert any("'x' has no numbers" in note for note in dataset.notes)


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["₹ 6,48,934/-", "₹ 12,34,56,789/-", "₹ 1,000/-"], [648934, 123456789, 1000]),
        (["6,48,934", "12,34,567", "999"], [648934, 1234567, 999]),
        (["２３歳", "４０歳", "３１歳"], [23, 40, 31]),
        (["$6.3 billion", "$20 million", "$1.2B", "$7 thousand"], [6.3e9, 2e7, 1.2e9, 7e3]),
        (["3 lakh", "2 crore", "1.5 lakh"], [3e5, 2e7, 1.5e5]),
        (["CHF 1'234.—", "CHF 9'100.05", "CHF 25.--"], [1234, 9100.05, 25]),
        (["+1:07.1", "+0:41.3", "+1:02:03.5"], [67.1 / 3600, 41.3 / 3600, 1 + 123.5 / 3600]),
    ],
    ids=lambda values: values[0] if isinstance(values[0], str) else "",
)
def test_clear_numbers_are_read_and_their_units_noted(cells, numbers):
    dataset = read_table(io.StringIO(text_of(cells)), "class", x="numeric")
    np.testing.assert_allclose(dataset.frame["x"][: len(cells)], numbers)
    assert dataset.table.values[0].spec.type != "levels"
    new = read_new_rows(text_of(cells).encode(), dataset.spec)
    np.testing.assert_allclose(new.X["x"], dataset.X["x"])
    assert not any("cannot be read" in note for note in new.notes)


def test_nil_among_amounts_is_missing_and_noted():
    dataset = read(text_of([*(f"Rs. {k},000" for k in range(1, 9)), "Nil"]))
    assert dataset.frame["x"].isna().sum() == 6
    assert any("Nil (6 cells)" in note for note in dataset.notes)


def test_times_of_zones_are_local_and_a_note_names_the_zones():
    cells = [f"2024/01/0{k} 5:12:11 PM GMT{zone}" for k, zone in enumerate(("+1", "-02:30", ""), 1)]
    dataset = read(text_of(cells))
    assert dataset.frame["x hour"][:3].tolist() == [17, 17, 17]
    assert any("time zones" in note and "GMT-02:30" in note for note in dataset.notes)


def test_answers_and_their_first_letters_may_be_merged():
    text = text_of(["Y", "y", "yes", "No", "N", "yes", "Y"])
    doubt = doubt_of(read(text), DoubtCode.SPELLING)
    dataset = read(text, ReadOptions().with_change(doubt.change))
    assert dataset.frame["x"].nunique() == 2
    assert doubt_of(read(text_of(["A", "a", "yes", "n"])), DoubtCode.SPELLING) is None
