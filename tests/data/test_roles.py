"""Columns that are no features: weights of rows, groups, time."""

import numpy as np
import pandas as pd
import pytest

from alrviz.data.doubts import NoteCode, notes_about
from alrviz.data.kinds import KindCode
from alrviz.data.read import read_table
from alrviz.data.splits import split_table
from alrviz.data.stream.table import open_table
from alrviz.errors import TableError

ROWS = 200
random = np.random.default_rng(0)
FRACTIONS = random.uniform(0.2, 3, ROWS).round(4)


def frame(**columns):
    made = pd.DataFrame({"a": random.normal(size=ROWS), "b": random.choice(list("uvw"), ROWS)})
    return made.assign(**columns, **{"class": random.choice(["no", "yes"], ROWS)})


@pytest.mark.parametrize(
    ("name", "values", "code"),
    [
        ("pspwght", FRACTIONS, KindCode.WEIGHT),
        ("perwt", random.integers(50, 400, ROWS), KindCode.WEIGHT),
        ("fnlwgt", random.integers(10_000, 400_000, ROWS), KindCode.WEIGHT),
        ("Survey Weight", 1000 * FRACTIONS, KindCode.WEIGHT),
        ("instance_weight", FRACTIONS, KindCode.WEIGHT),
        ("weight", FRACTIONS, KindCode.WEIGHT),
        ("WT", FRACTIONS / 1.6, KindCode.WEIGHT),
        ("wt_final", FRACTIONS, KindCode.WEIGHT),
        ("Gewicht", FRACTIONS, KindCode.WEIGHT),
        ("person", [f"p{k % 40}" for k in range(ROWS)], KindCode.GROUP),
        ("patient no", [f"{k % 60}" for k in range(ROWS)], KindCode.GROUP),
        ("household_id", [k % 70 for k in range(ROWS)], KindCode.GROUP),
        ("day", pd.date_range("2024-01-01", periods=ROWS), KindCode.DATES),
        # the same patterns where they must not trigger
        ("weight", random.normal(70, 12, ROWS).round(3), KindCode.OTHER),  # kilograms
        ("wt", random.uniform(1.5, 5.4, ROWS).round(3), KindCode.OTHER),  # cars, in thousands of pounds
        ("weight", random.uniform(0.5, 2, ROWS).round(1), KindCode.OTHER),  # tonnes
        ("birth weight", FRACTIONS, KindCode.OTHER),
        ("dwt", random.integers(10_000, 400_000, ROWS), KindCode.OTHER),  # of ships
        ("final_weight", random.normal(300, 30, ROWS).round(3), KindCode.OTHER),  # of chickens
        ("pspwght", FRACTIONS - 1, KindCode.OTHER),
        ("weight", random.choice(["light", "heavy"], ROWS), KindCode.OTHER),
        ("household", random.integers(1, 9, ROWS), KindCode.OTHER),  # its size
        ("student", random.choice(["yes", "no"], ROWS), KindCode.OTHER),
        ("customer", [k % 3 for k in range(ROWS)], KindCode.OTHER),
        ("room", [f"p{k % 40}" for k in range(ROWS)], KindCode.OTHER),
    ],
)
def test_roles_are_pointed_out_by_name_and_values(name, values, code):
    table = frame(**{name: values})
    for source in (table, table.to_csv(index=False).encode()):
        dataset = read_table(source, "class")
        column = next(column for column in dataset.columns if column.name == name)
        assert (column.code, column.guessed) == (code, True)
        assert column.offered_role == {"WEIGHT": "weight", "GROUP": "group", "DATES": "time"}.get(code.name, "")
        assert (column.kind == "ignore") == bool(column.offered_role)
        if code in (KindCode.WEIGHT, KindCode.GROUP):
            role = dataset.with_kinds(**{name: column.offered_role})
            assert any(f"'{name}'" in note and f"'{column.offered_role}'" in note for note in dataset.notes)
            assert list(role.X.columns) == list(dataset.X.columns) == ["a", "b"]
            assert role.hash != dataset.hash


def test_whole_weights_are_counts_and_others_are_divided_by_their_mean():
    counts = random.integers(1, 5, ROWS)
    assert np.array_equal(read_table(frame(w=counts), "class", w="weight").weights, counts)
    made = frame(w=FRACTIONS)
    dataset = read_table(made, "class", w="weight")
    np.testing.assert_allclose(dataset.weights, FRACTIONS / FRACTIONS.mean(), rtol=1e-15)
    for unit in (1e-6, 7.0, 1e9):
        scaled = read_table(made.assign(w=unit * made.w), "class", w="weight")
        np.testing.assert_allclose(scaled.weights, dataset.weights, rtol=1e-12)
    for equal in (1, 0.7):
        assert read_table(made.assign(w=equal), "class", w="weight").weights is None
    assert read_table(made, "class", w="ignore").weights is None
    text = read_table(made.assign(w=[f"{w:.4f} kg" for w in made.w]).to_csv(index=False).encode(), "class", w="weight")
    np.testing.assert_allclose(text.weights, dataset.weights)


def test_rows_of_no_weight_are_dropped_and_counted():
    made = frame(w=np.where(np.arange(ROWS) % 4, 2.0, np.nan))
    made.loc[:2, "w"] = 0.0
    made.loc[10:19, "class"] = None
    dataset = read_table(made, "class", w="weight")
    kept = (made.w > 0) & made["class"].notna()
    assert dataset.n_rows == kept.sum() == len(dataset.weights)
    lost = int((made["class"].notna() & ~kept).sum())
    assert any(note.startswith(f"{lost} rows of weight 0") for note in dataset.notes)
    assert any(note.startswith("10 rows without a class") for note in dataset.notes)
    pd.testing.assert_series_equal(dataset.frame.a, made.a[kept].reset_index(drop=True))
    fewer = read_table(frame(w=FRACTIONS), "class", w="weight").split_by(repeats="once")
    assert len(fewer.weights) == fewer.n_rows


@pytest.mark.parametrize(
    ("columns", "kinds", "match"),
    [
        ({"w": np.arange(ROWS) - 3.0}, {"w": "weight"}, r"weight -3 in row 1;.*w='numeric'"),
        ({"w": np.where(np.arange(ROWS) == 7, np.inf, 1.0)}, {"w": "weight"}, "inf in data row 8"),
        ({"w": np.zeros(ROWS)}, {"w": "weight"}, "no weight above 0"),
        ({"w": pd.date_range("2024-01-01", periods=ROWS)}, {"w": "weight"}, "dates and cannot be weight"),
        ({"w": FRACTIONS, "v": FRACTIONS}, {"w": "weight", "v": "weight"}, "'w', 'v' cannot all be of kind 'weight'"),
        ({"p": [f"p{k % 9}" for k in range(ROWS)]}, {"p": "group", "a": "time"}, "expected one of them"),
        ({"p": ["one"] * ROWS}, {"p": "group"}, "one value alone"),
        ({"p": ["late", "soon"] * (ROWS // 2)}, {"p": "time"}, "order in time"),
        ({"p": FRACTIONS}, {"p": "wieght"}, "did you mean 'weight'"),
    ],
)
def test_roles_that_columns_cannot_have_are_refused(columns, kinds, match):
    with pytest.raises(TableError, match=match):
        read_table(frame(**columns), "class", **kinds)


def test_kinds_group_and_time_constrain_splits():
    made = frame(person=[f"p{k % 40}" for k in range(ROWS)], day=random.integers(60, size=ROWS))
    plain = read_table(made, "class", person="ignore", day="ignore")
    groups, times = plain.with_kinds(person="group"), plain.with_kinds(day="time")
    assert np.array_equal(groups.splitting.units, plain.split_by(groups="person").splitting.units)
    assert np.array_equal(times.splitting.times, plain.split_by(time="day").splitting.times)
    drawn = split_table(groups, 0.3, 0)
    assert not set(made.person[drawn.train]) & set(made.person[drawn.test])
    assert "person" not in groups.X
    assert groups.split_by(groups="person") is groups
    assert groups.with_kinds(person="ignore").splitting.words == ""
    assert groups.with_target("b", quartiles=False).splitting.words == groups.splitting.words
    once = groups.split_by(repeats="once")
    assert (once.splitting.call, once.with_kinds().hash) == ("split_by(repeats='once')", once.hash)
    with pytest.raises(TableError, match="constraint already: rows of one 'person'"):
        groups.split_by(time="day")
    ages = made.assign(born=[("1950-59", "1960-69", "1970-79")[k % 3] for k in range(ROWS)])
    assert read_table(ages, "class", born="time").splitting.times.tolist() == [k % 3 for k in range(ROWS)]


def test_a_file_states_roles():
    text = "C#a\tw#w\tcD#class\n" + "".join(f"{k}.5\t{1 + k % 3}\t{'xy'[k % 2]}\n" for k in range(30))
    dataset = read_table(text.encode())
    assert (dataset.kinds["w"], dataset.weights.sum()) == ("weight", 60)
    assert dataset.with_kinds(w="ignore").weights is None


def test_tables_read_in_batches_refuse_roles(tmp_path):
    frame(wt=FRACTIONS).to_csv(tmp_path / "t.csv", index=False)
    stream = open_table(tmp_path / "t.csv", "class", cache=tmp_path)
    assert stream.kinds["wt"] == "ignore"
    for role in ("weight", "time"):
        with pytest.raises(TableError, match=rf"'{role}', which a table read in batches cannot use; expected 'ignore'"):
            stream.with_kinds(wt=role).coded()


@pytest.mark.parametrize(
    "last",
    [
        pd.Series(np.linspace(0.4, 2.2, 120).round(4), name="WEIGHT"),
        pd.Series(range(5000, 5240, 2), name="record id"),
        pd.Series(["always"] * 120, name="unit"),
        pd.Series(pd.date_range("2024-01-01", periods=120).astype(str), name="seen"),
        pd.Series([f"a remark of visitor {k}" for k in range(120)], name="remark"),
    ],
    ids=lambda last: last.name,
)
def test_the_guessed_class_is_the_last_column_that_can_be_one(last):
    frame = pd.DataFrame({"colour": ["r", "g", "b"] * 40, "age": range(20, 140), "vote": [1, 2, 3, 2] * 30})
    dataset = read_table(frame.assign(**{last.name: last}).to_csv(index=False).encode())
    assert dataset.target == "vote"
    (note,) = notes_about(dataset.notes, {NoteCode.TARGET})
    assert repr(last.name) in note
    assert "unlike" not in notes_about(read_table(frame.to_csv(index=False).encode()).notes, {NoteCode.TARGET})[0]
