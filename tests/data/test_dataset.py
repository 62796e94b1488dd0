import io
import pickle

import numpy as np
import pandas as pd
import pytest

import alrviz
from alrviz.data.apply_spec import read_new_rows
from alrviz.data.dataset import dataset_of
from alrviz.data.leaks import percent_told
from alrviz.data.read import read_columns, read_table
from alrviz.errors import TableError, for_page


def frame(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "price": rng.integers(0, 1000, n),
            "class": rng.choice(["no", "yes"], n),
        }
    )


@pytest.mark.parametrize(
    ("names", "target", "why"),
    [
        ("a CLASS b", "CLASS", "by its name"),
        ("outcome a b", "outcome", "by its name"),
        ("y target b", "target", "by its name"),
        ("a b c", "c", "the last column"),
        ("a Survived c", "Survived", "by its name"),
        ("a income_class c", "income_class", "by its name"),
        ("a hasChurned c", "hasChurned", "by its name"),
    ],
)
def test_the_default_target(names, target, why):
    table = frame()[["colour", "class", "colour"]].set_axis(names.split(), axis=1)
    dataset = read_table(table)
    assert dataset.target == target
    assert any(note.startswith(f"the target is {target!r} ({why})") for note in dataset.notes)
    assert not any("the target is" in note for note in read_table(table, target).notes)


def test_an_unknown_target_names_the_nearest():
    with pytest.raises(TableError, match=r"'clas'.*'class'"):
        read_table(frame(), "clas")


def test_x_and_y_carry_the_kinds():
    dataset = read_table(frame(), colour="ordinal", price="categorical")
    assert dataset.X.dtypes.astype(str).to_dict() == {"size": "float64", "colour": "category", "price": "category"}
    assert dataset.X["colour"].cat.ordered
    assert not dataset.X["price"].cat.ordered
    assert dataset.X["price"].astype(str).astype(int).tolist() == frame()["price"].tolist()
    assert dataset.y.dtype == object
    assert dataset.y.tolist() == frame()["class"].tolist()
    assert (dataset.n_rows, dataset.n_classes, dataset.classes.tolist()) == (60, 2, ["no", "yes"])
    assert dataset.kinds == {"size": "numeric", "colour": "ordinal", "price": "categorical"}


def test_rows_without_a_class_are_dropped_and_counted():
    table = frame()
    table.loc[[3, 7], "class"] = None
    table.loc[3, "colour"] = "only here"
    dataset = read_table(table)
    assert dataset.n_rows == len(dataset.frame) == len(dataset.X) == len(dataset.y) == 58
    assert "2 rows without a class were dropped" in dataset.notes
    assert "only here" not in dataset.X["colour"].cat.categories
    assert dataset.with_target("colour").n_rows == 60


def test_with_kinds_and_with_target_keep_stated_kinds():
    first = read_table(frame(), colour="ignore")
    second = first.with_kinds(price="categorical")
    third = second.with_target("colour")
    assert first.kinds == {"size": "numeric", "colour": "ignore", "price": "numeric"}
    assert second.kinds == {"size": "numeric", "colour": "ignore", "price": "categorical"}
    assert third.kinds == {"size": "numeric", "price": "categorical", "class": "categorical"}
    assert third.n_classes == 3
    assert second.with_kinds(colour="target").target == "colour"
    assert third.with_target("class").kinds["price"] == "categorical"


def test_a_column_may_be_called_as_a_parameter_is():
    table = frame().rename(columns={"price": "name", "size": "self"})
    assert read_table(table).with_kinds(name="ignore", self="ignore").kinds["name"] == "ignore"


@pytest.mark.parametrize(
    ("kinds", "text"),
    [
        ({"sise": "numeric"}, "no column is called 'sise'; did you mean 'size'"),
        ({"size": "numerical"}, "kind 'numerical' of column 'size' is none of .* did you mean 'numeric'"),
        ({"class": "numeric"}, "'class' is the target and cannot be numeric"),
        ({"colour": "numeric"}, "column 'colour' cannot be numeric: '(red|green|blue)' in data row 1 is not a number"),
        ({"colour": "target", "price": "target"}, "cannot all be the target"),
    ],
)
def test_wrong_kinds_are_explained(kinds, text):
    with pytest.raises(TableError, match=text):
        read_table(frame()).with_kinds(**kinds)
    if "all be" not in text:
        with pytest.raises(TableError, match=text):
            read_table(frame(), "class", **kinds)


def test_a_kind_can_name_the_target():
    assert read_table(frame(), colour="target").target == "colour"


def test_a_measured_target_offers_quartiles():
    with pytest.raises(TableError, match=r"holds 60 different numbers, more than the 20 .* quartiles=True"):
        read_table(frame(), "size")
    dataset = read_table(frame(), "size", quartiles=True)
    cuts = np.quantile(frame()["size"], [0.25, 0.5, 0.75], method="lower")
    expected = np.searchsorted(cuts, frame()["size"], side="left")
    assert [int(label[1]) - 1 for label in dataset.y] == expected.tolist()
    assert np.bincount(expected).tolist() == [15, 15, 15, 15]
    assert dataset.classes[0].startswith("Q1: up to ")
    assert any("'size' was cut at" in note for note in dataset.notes)
    assert dataset.with_kinds(colour="ignore").classes.tolist() == dataset.classes.tolist()
    assert read_table(frame()).with_target("size", quartiles=True).hash == dataset.hash


def test_few_numbers_are_classes_and_many_with_quartiles_false():
    table = frame().assign(score=np.arange(60) % 20)
    assert read_table(table, "score").n_classes == 20
    table = frame().assign(score=np.arange(60) % 21)
    assert read_table(table, "score", quartiles=False).n_classes == 21
    with pytest.raises(TableError, match="21 different numbers"):
        read_table(table, "score")
    with pytest.raises(TableError, match="holds text; only numbers can be cut"):
        read_table(table, "colour", quartiles=True)


@pytest.mark.parametrize("values", [[1] * 30 + [2] * 10 + [3] * 20, [5] * 59 + [6]])
def test_quartiles_of_repeated_numbers(values):
    dataset = read_table(frame().assign(score=values), "score", quartiles=True)
    assert 2 <= dataset.n_classes <= 4
    groups = pd.Series(values).groupby(dataset.y).agg(["min", "max"])
    assert (groups.sort_values("min")["max"].to_numpy()[:-1] < groups.sort_values("min")["min"].to_numpy()[1:]).all()


def test_an_id_cannot_be_the_class():
    table = frame().assign(who=[f"n{i}" for i in range(60)])
    with pytest.raises(TableError, match=r"'who'.*60 different.*60 rows"):
        read_table(table, "who")


def test_the_hash_is_of_content_target_and_kinds():
    dataset = read_table(frame())
    assert len(dataset.hash) == 64
    assert dataset.hash == read_table(frame(), name="another").hash == dataset.with_kinds(size="numeric").hash
    changed = frame()
    changed.loc[5, "price"] += 1
    others = [
        read_table(changed),
        dataset.with_kinds(size="ignore"),
        dataset.with_target("colour"),
        read_table(frame().rename(columns={"size": "siz"})),
        read_table(frame().iloc[::-1]),
        read_table(frame().iloc[:-1]),
    ]
    assert len({dataset.hash, *[other.hash for other in others]}) == 1 + len(others)


def test_levels_are_hashed_by_text_not_by_code():
    one = frame().assign(colour=pd.Categorical(frame()["colour"], categories=["red", "green", "blue"]))
    two = frame().assign(colour=pd.Categorical(frame()["colour"], categories=["blue", "red", "green", "never"]))
    assert read_table(one).hash == read_table(two).hash == read_table(frame()).hash


def test_a_table_can_be_read_before_its_target_is_known():
    table = read_columns(frame()[["class", "colour", "size"]])
    assert table.names == ("class", "colour", "size")
    assert (table.default_target.name, table.default_target.why) == ("class", "by its name")
    with pytest.raises(TableError):
        dataset_of(table, "size")
    assert dataset_of(table, "colour", kinds={"size": "ignore"}).kinds == {"class": "categorical", "size": "ignore"}


def test_nothing_is_left_to_predict_from():
    dataset = read_table(frame(), size="ignore", colour="ignore", price="ignore")
    assert dataset.X.shape == (60, 0)
    assert "no column is left to predict from; change a kind from 'ignore'" in dataset.notes


def test_pickle_and_repr():
    dataset = read_table(frame(), name="toys")
    copy = pickle.loads(pickle.dumps(dataset))
    assert copy.hash == dataset.hash
    pd.testing.assert_frame_equal(copy.X, dataset.X)
    assert repr(dataset) == "<Dataset 'toys': 60 rows, 3 columns, 2 classes of 'class'>"


def leaky(n: int = 2000) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "same": np.array(["u", "v", "w"])[y],
            "score": y + rng.uniform(0, 0.99, n),
            "with_slips": np.array(["u", "v", "w"])[np.where(rng.random(n) < 0.005, (y + 1) % 3, y)],
            "strong": np.array(["u", "v", "w"])[np.where(rng.random(n) < 0.1, (y + 1) % 3, y)],
            "noise": rng.normal(size=n),
            "an_id": [f"n{i}" for i in range(n)],
            "class": np.array(["a", "b", "c"])[y],
        }
    )


def test_leaks_are_found_and_only_they():
    dataset = read_table(leaky(), an_id="categorical")
    assert list(dataset.leaks) == ["same", "score", "with_slips"]
    assert dataset.leaks["same"] == 1 > dataset.leaks["with_slips"] > 0.98


def test_an_unbalanced_class_is_no_leak():
    rng = np.random.default_rng(2)
    y = (rng.random(3000) < 0.01).astype(int)
    table = pd.DataFrame({"noise": rng.integers(0, 2, 3000).astype(str), "gap": [None] * 3000, "class": y})
    assert not read_table(table).leaks


def test_missingness_can_leak():
    table = leaky()
    table["date_of_death"] = np.where(table["class"] == "a", 1.5, np.nan)
    table["class"] = np.where(table["class"] == "a", "died", "lived")
    assert "date_of_death" in read_table(table).leaks


def many(rows=200):
    """A table as people have it: an id, a name, a date, measurements, a comment; no column is named like a class."""
    return pd.DataFrame(
        {
            "__index_level_0__": np.arange(rows),
            "customer": [f"c{i}" for i in range(rows)],
            "visits": [i * 7 % 5 for i in range(rows)],
            "plan": [("basic", "plus")[i % 2] for i in range(rows)],
            "region": [("north", "south", "west")[i % 3] for i in range(rows)],
            "seen": [f"2020-{i % 12 + 1:02}-11" for i in range(rows)],
            "paid": [i * 1.25 for i in range(rows)],
        }
    )


def test_measured_last_column_raises_and_names_alternatives():
    with pytest.raises(TableError, match=r"column 'paid' holds 200 different numbers.*; such as 'plan' or 'region' or"):
        read_table(many())
    assert read_table(many(), quartiles=True).target == "paid"


def test_guessed_target_is_no_date_id_or_date_part():
    dataset = read_table(many().drop(columns="paid"))
    (note,) = [note for note in dataset.notes if note.startswith("the target is 'region'")]
    assert note.endswith("unlike 'seen'); it may also be 'plan' or 'visits'")
    assert dataset.kinds["__index_level_0__"] == "ignore"


def test_guessed_target_missing_in_most_rows_raises():
    frame = many().drop(columns="paid").assign(outcome=[("won", "lost")[i % 2] if i < 8 else None for i in range(200)])
    with pytest.raises(TableError, match=r"'outcome' \(by its name\) has no value on 192 of 200 rows.*'plan'"):
        read_table(frame)
    assert "192 rows without a class were dropped, 8 are left" in read_table(frame, "outcome").notes


def test_column_that_finds_a_rare_class_is_a_leak():
    rng = np.random.default_rng(0)
    dead = rng.random(5000) < 0.05
    injury = np.where(dead & (rng.random(5000) < 0.89), 4, rng.integers(0, 4, 5000))
    frame = pd.DataFrame({"speed": rng.random(5000), "injury": injury, "class": np.where(dead, "dead", "alive")})
    dataset = read_table(frame, injury="categorical")
    assert list(dataset.leaks) == ["injury"]
    assert dataset.leaks_note in dataset.notes
    assert percent_told(dataset.leaks["injury"]) in dataset.leaks_note
    assert [percent_told(share) for share in (1, 0.99999, 0.9876)] == ["100 %", "99.9 %", "98.7 %"]


def test_rows_that_repeat_are_counted_in_the_notes():
    frame = pd.DataFrame({"size": np.arange(300) + 0.5, "age": np.arange(300) % 90, "class": ["x", "y"] * 150})
    frame = pd.concat([frame, frame.iloc[:40]])
    assert any(
        "40 of 340 rows are duplicates of earlier ones in all columns used; a random split may have" in note
        for note in read_table(frame).notes
    )
    few = pd.DataFrame({"a": list("uv") * 50, "class": list("xxyy") * 25})
    assert not any("repeat" in note for note in read_table(few).notes)  # by their nature


def test_a_column_that_one_text_keeps_from_being_numbers_is_noted_with_how_it_is_read():
    values = [f"{12 + k / 10:.1f}" for k in range(75)] + ["unclear"]
    csv = "Hb,class\n" + "".join(f"{value},{'ab'[k % 2]}\n" for k, value in enumerate(values))
    dataset = read_table(io.StringIO(csv), target="class")
    (note,) = [note for note in dataset.notes if "'unclear'" in note]
    assert "1 value is no number in 'Hb'" in note
    assert "missing=()" in note
    assert "How it was read" in for_page(note)
    assert dataset.frame["Hb"].isna().sum() == 1
    again = read_table(io.StringIO(csv), target="class", options=alrviz.ReadOptions(missing=()))
    assert "unclear" in set(again.frame["Hb"])
    rows = read_new_rows(io.StringIO("Hb\nunclear\n3.5\n"), dataset.spec)
    assert rows.X["Hb"].tolist()[1] == 3.5
    assert not rows.unread, "the same text is missing in new rows as well"


def test_w_and_m_are_answers_too_whatever_their_case_and_blanks():
    answers = ["m", "w", "W ", "M"] * 10
    csv = "sex,class\n" + "".join(f"{answer},{'ab'[k % 2]}\n" for k, answer in enumerate(answers))
    dataset = read_table(io.StringIO(csv), target="class")
    assert sorted(dataset.X["sex"].cat.categories) == ["m", "w"]
    assert any("one level" in note for note in dataset.notes)
