import pandas as pd
import pytest

from alrviz.data.kinds import KindCode, as_levels
from alrviz.data.level_order import sort_levels
from alrviz.data.read import read_table

CLASSES = ["x", "y"] * 300


def guess(values, name="a", **options):
    text = "\n".join([f'"{name}",b,class', *[f'"{v}",{i % 3}.5,{CLASSES[i]}' for i, v in enumerate(values)]])
    dataset = read_table(text.encode(), **options)
    return next(column for column in dataset.columns if column.name == name)


@pytest.mark.parametrize(
    ("values", "name", "kind", "why"),
    [
        ([f"{i}.25" for i in range(40)], "a", "numeric", "numbers"),
        ([i * i for i in range(40)], "a", "numeric", "whole numbers"),
        ([i % 5 for i in range(40)], "a", "numeric", "whole numbers"),
        ([i % 4 for i in range(40)], "a", "categorical", "only 4 whole numbers, so taken as codes"),
        ([10 * (i % 9) for i in range(40)], "job_code", "categorical", "whole numbers named like codes"),
        (list(range(1, 41)), "a", "ignore", "an id? it counts the rows"),
        (list(range(40, 0, -1)), "a", "ignore", "an id? it counts the rows"),
        (
            [7 * i % 41 for i in range(40)],
            "customer_id",
            "ignore",
            "an id? whole numbers, all different, and named like one",
        ),
        (
            [7 * i % 41 for i in range(40)],
            "customerID",
            "ignore",
            "an id? whole numbers, all different, and named like one",
        ),
        ([7 * i % 41 for i in range(40)], "humidity", "numeric", "whole numbers"),
        ([f"n{i}" for i in range(40)], "a", "ignore", "an id? 40 different texts on 40 rows"),
        ([f"n{i % 21}" for i in range(40)], "a", "ignore", "an id? 21 different texts on 40 rows"),
        ([f"n{i % 20}" for i in range(40)], "a", "categorical", "text"),
        (["", "?"] * 20, "a", "ignore", "it has no values"),
        (["same"] * 40, "a", "categorical", "text; always the same, so it tells nothing"),
        ([("low", "medium", "high")[i % 3] for i in range(40)], "a", "ordinal", "its levels have an order"),
        ([("0-9", "10-19", "20+")[i % 3] for i in range(40)], "a", "ordinal", "its levels have an order"),
        ([f"2020-01-{i % 28 + 1:02}" for i in range(40)], "a", "ignore", "dates; their year"),
        ([f"0{i % 4}" for i in range(40)], "a", "categorical", "text"),
        (
            ["x", "", "", ""] * 10,
            "chest pain",
            "categorical",
            "one value or none: what it tells is where it is missing",
        ),
        (["1.5", ""] * 20, "a", "categorical", "one value or none"),
        ([f"n{i % 70}" for i in range(300)], "a", "ignore", "an id? 70 different texts on 300 rows"),
        ([f"n{i % 60}" for i in range(600)], "Surname", "ignore", "an id? 60 different texts on 600 rows"),
        ([f"n{i % 60}" for i in range(600)], "city", "categorical", "text"),
        ([f"n{i % 9}" for i in range(600)], "title", "categorical", "text"),
        ([7 * (i % 80) for i in range(600)], "user_id", "ignore", "an id? named like one of several rows each, 80"),
        ([7 * (i % 8) for i in range(600)], "shop_id", "numeric", "whole numbers"),
        ([10**7 + 7919 * i for i in range(60)], "mrn", "ignore", "an id? whole numbers, all different, and named like"),
        (
            [10**7 + 7919 * (i * 7 % 60) for i in range(60)],
            "ref",
            "numeric",
            "whole numbers, all different, of 8 digits each: an id?",
        ),
    ],
)
def test_guesses_and_their_reasons(values, name, kind, why):
    column = guess(values, name)
    assert (column.kind, column.guessed) == (kind, True)
    assert column.why.startswith(why)
    assert (column.code in (KindCode.ID, KindCode.TEXT_ID, KindCode.GROUP)) == why.startswith("an id?")
    assert (column.code is KindCode.MAYBE_ID) == why.endswith("an id?")


def test_a_few_words_among_numbers_leave_them_numbers():
    assert guess([*[f"{i}.5" for i in range(39)], "12a"]).kind == "numeric"
    assert guess([*[f"{i}.5" for i in range(39)], *[f"{i}a" for i in range(9)]]).kind == "ignore"


def test_stated_kinds_are_not_guessed():
    column = guess(list(range(1, 41)), a="numeric")
    assert (column.kind, column.guessed, column.why) == ("numeric", False, "as you said")


def test_levels_and_missing_are_counted():
    column = guess(["u", "v", "", "?"] * 10)
    assert (column.levels, column.missing) == (2, 20)


@pytest.mark.parametrize(
    ("levels", "order"),
    [
        (["10-19", "0-9", "100-109"], ["0-9", "10-19", "100-109"]),
        (["5more", "2", "3", "4"], ["2", "3", "4", "5more"]),
        ([">65", "<18", "18-65"], ["<18", "18-65", ">65"]),
        (["High", "Low", "Medium"], ["Low", "Medium", "High"]),
        (["Wed", "Mon", "Sun"], ["Mon", "Wed", "Sun"]),
        (["jul", "apr", "may"], ["apr", "may", "jul"]),
        (["u", "v", "w"], None),
        (["1", "2", "3"], None),
        (["low", "high"], None),
    ],
)
def test_orders(levels, order):
    assert sort_levels(levels) == order


def test_numbers_as_levels_are_in_order_of_value():
    levels = as_levels(pd.Series([10, 2, 2.5, float("nan"), 2]), is_ordinal=True)
    assert list(levels.cat.categories) == ["2", "2.5", "10"]
    assert levels.cat.codes.tolist() == [2, 0, 1, -1, 0]


def test_dates_become_year_month_weekday():
    text = "when,class\n31.01.2020,x\n29.02.2020,y\n,x\n01.03.2021,y\n"
    dataset = read_table(text.encode())
    assert dataset.kinds == {
        "when": "ignore",
        "when year": "numeric",
        "when month": "ordinal",
        "when weekday": "ordinal",
    }
    assert [column.why for column in dataset.columns][1:3] == ["the year of 'when'", "the month of 'when'"]
    assert dataset.X["when month"].tolist()[:2] == ["Jan", "Feb"]
    assert list(dataset.X["when month"].cat.categories) == ["Jan", "Feb", "Mar"]
    assert "1 column is of dates and split into year, month, weekday: 'when'" in dataset.notes
    timed = read_table(text.replace("2020,", "2020 12:30,").encode())
    assert timed.kinds["when hour"] == "numeric"
    assert "1 column is of dates and split into year, month, weekday, hour: 'when'" in timed.notes


@pytest.mark.parametrize(
    ("cells", "month"), [("3/4/2020 5/6/2020", "Mar"), ("3/4/2020 5/16/2020", "Mar"), ("3/4/2020 15/6/2020", "Apr")]
)
def test_dates_with_slashes(cells, month):
    first, second = cells.split()
    dataset = read_table(f"when,class\n{first},x\n{second},y\n".encode())
    assert dataset.X["when month"].iloc[0] == month
    ambiguous = any("read month first" in note for note in dataset.notes)
    assert ambiguous is (cells == "3/4/2020 5/6/2020")


def test_no_date_is_made_of_an_impossible_one():
    assert guess([f"2020-13-{i % 9 + 10}" for i in range(40)]).kind == "categorical"


def test_categorical_numbers_have_their_texts_as_levels():
    cells = ["1E5", "1.10", "1.1", "100000"] * 10
    text = (
        "code,size,class\n" + "".join(f"{cell},{k % 7}.0,{'yn'[k % 3 > 0]}\n" for k, cell in enumerate(cells))
    ).encode()
    guessed = read_table(text, "class")
    assert guessed.frame["code"].dtype == float
    for dataset in (read_table(text, "class", code="categorical"), guessed.with_kinds(code="categorical")):
        assert set(dataset.X["code"].cat.categories) == set(cells)
        again = read_table(text, spec=dataset.spec)
        assert again.hash == dataset.hash != guessed.hash
        assert again.X["code"].tolist() == cells
    sizes = read_table(text, "class", size="categorical").X["size"]
    assert set(sizes.cat.categories) == set("0123456")  # as programs write whole numbers that are floats
