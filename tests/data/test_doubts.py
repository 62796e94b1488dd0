"""Doubts of a reading: each is found, counted, and undone by what it says."""

import io
from itertools import permutations

import pytest

from alrviz.data.doubts import DoubtCode
from alrviz.data.options import DOUBTFUL, ReadOptions, missing_change
from alrviz.data.read import read_columns
from alrviz.errors import TableError


def rows(line, n=90):
    return "".join(f"{line(i)},{'ab'[i % 2]}\n" for i in range(n))


# By code: the table, its columns, the number of cells, a column and what its first value is then, in the other reading.
CASES = {
    DoubtCode.SENTINEL: ("x,class\n-99,a\n" + rows(lambda i: 20 + i % 50) + "-99,a\n", ("x",), 2, "x", None),
    DoubtCode.MISSING_TEXT: ("x,class\n" + rows(lambda i: ["NA", "red", "blue"][i % 3]), ("x",), 30, "x", "NA"),
    DoubtCode.LEVEL_TEXT: (
        "x,y,class\n" + rows(lambda i: f"{['NA', 'ZA', 'BW', 'ZM'][i % 4]},{i if i % 7 else 'NA'}"),
        *(("x",), 23, "x", None),
    ),
    DoubtCode.STRAY_TEXT: (
        "x,class\n" + rows(lambda i: i * 3 % 50 if i % 40 else "none yet"),
        ("x",),
        3,
        "x",
        "none yet",
    ),
    DoubtCode.NO_HEADER: (rows(lambda i: f"see you {i},{i % 9}"), (), 0, "see you 0", "see you 1"),
    DoubtCode.DAY_OR_MONTH: ("x,class\n" + rows(lambda i: f"02/0{1 + i % 8}/2020"), ("x",), 0, "x month", "Jan"),
    DoubtCode.TWO_DIGIT_YEARS: (
        "born,class\n" + rows(lambda i: f"01/01/{50 + i % 45}"),
        ("born",),
        0,
        "born year",
        2050,
    ),
    DoubtCode.ENCODING: (("x,class\n" + rows(lambda i: f"crème {i % 3}")).encode("cp1252"), (), 0, "x", "crËme 0"),
    DoubtCode.DELIMITER: (
        "x,y;class\n" + "".join(f"{i % 4},u{i % 3};{'ab'[i % 2]}\n" for i in range(40)),
        *((), 0, "x,y", "0,u0"),
    ),
}


def table_of(text, options=None):
    return read_columns(io.StringIO(text) if isinstance(text, str) else text, options=options)


def first_value(table, name):
    value = next(column for column in table.values if column.name == name).series.iloc[0]
    return None if value != value else value


@pytest.mark.parametrize("code", CASES, ids=lambda code: code.value)
def test_a_doubt_is_found_and_undone_by_its_change(code):
    text, columns, n_cells, name, value = CASES[code]
    table = table_of(text)
    doubt = next(doubt for doubt in table.doubts if doubt.code is code)
    assert (doubt.columns, doubt.n_cells) == (columns, n_cells)
    assert doubt.question.endswith("?")
    other = table_of(text, ReadOptions().with_change(doubt.change))
    assert first_value(other, name) == value
    assert name not in table.names or first_value(table, name) != value
    assert code not in [doubt.code for doubt in other.doubts]


def test_changes_add_up_column_by_column():
    text = "x,y,class\n" + rows(lambda i: f"{i % 50 if i % 30 else -99},{i % 40 if i % 45 else 999}")
    options, table = ReadOptions(), table_of(text)
    assert [doubt.columns for doubt in table.doubts] == [("x",), ("y",)]
    for doubt in table.doubts:
        options = options.with_change(doubt.change)
    table = table_of(text, options)
    assert {column.name: int(column.series.isna().sum()) for column in table.values} == {"x": 3, "y": 2, "class": 0}
    assert ReadOptions(**options.explicit_options) == options == ReadOptions().with_change(options.explicit_options)


def test_doubts_of_one_column_add_up_in_any_order():
    text = "x,class\n" + rows(lambda i: {0: "-99", 1: "999", 2: "odd"}.get(i % 30, i % 20))
    doubts = [doubt for doubt in table_of(text).doubts if doubt.columns == ("x",)]
    assert len(doubts) == 3
    for order in permutations(doubts):
        options = ReadOptions()
        for doubt in order:
            options = options.with_change(doubt.change)
        assert set(options.for_column("x").missing) == {"", "-99", "999"}
    options = ReadOptions()
    for doubt in doubts:
        options = options.with_change(doubt.change if doubt.code is DoubtCode.SENTINEL else {})
    assert table_of(text, options).values[0].series.isna().sum() == 9  # the stray text is missing, too


def test_a_change_of_missing_texts_is_refused_as_options():
    change = missing_change({"x": ("",)}, add=["-99"])
    with pytest.raises(TableError, match="with_change"):
        ReadOptions(**change)
    with pytest.raises(TableError, match="with_change"):
        ReadOptions(missing=change["columns"]["x"]["missing"])


def test_the_missing_texts_of_numbers_are_distinct_and_not_repeated_in_a_spec():
    assert len({*DOUBTFUL}) == len(DOUBTFUL)
    table = table_of("x,class\n" + rows(lambda i: f"{i}.5"))
    assert "missing" not in table.values[0].spec.to_dict()


def test_several_codes_of_a_column_are_undone_one_after_the_other():
    text = "x,class\n" + rows(lambda i: {0: "-99", 1: "999", 2: "odd"}.get(i % 30, i % 20))
    options, table = ReadOptions(), table_of(text)
    while sentinels := [doubt for doubt in table.doubts if doubt.code is DoubtCode.SENTINEL]:
        options = options.with_change(sentinels[0].change)
        table = table_of(text, options)
    assert table.values[0].series.isna().sum() == 9  # the stray text stays missing


def test_a_table_without_doubts_has_none():
    assert table_of("x,y,class\n" + rows(lambda i: f"{i % 9},w{i % 3}")).doubts == ()


def test_the_options_in_force_read_the_table_alike():
    text = CASES[DoubtCode.LEVEL_TEXT][0]
    table = table_of(text)
    again = table_of(text, table.options)
    assert all(one.series.equals(other.series) for one, other in zip(table.values, again.values, strict=True))


def test_options_of_the_whole_table_are_refused_for_columns():
    with pytest.raises(TableError, match=r"missing, dayfirst, pivot.*mean .missing"):
        ReadOptions(columns={"x": {"mising": [""]}})
    with pytest.raises(TableError, match="delimiter"):
        ReadOptions(columns={"x": {"delimiter": ","}})
    with pytest.raises(TableError, match="pivot"):
        ReadOptions(pivot=101)
