"""What splits keep to: duplicates, groups, time."""

import numpy as np
import pandas as pd
import pytest

from alrviz.data.demos import load_demo
from alrviz.data.read import read_table
from alrviz.data.splits import split_folds, split_table
from alrviz.errors import RecipeError, TableError
from alrviz.fitting.prepare import prepare
from alrviz.fitting.recipe import Recipe
from alrviz.studies.protocols.alpha_path import alpha_path
from alrviz.studies.protocols.bias_variance import bias_variance
from alrviz.studies.protocols.choose_order import choose_order
from alrviz.studies.protocols.compare import compare
from alrviz.studies.protocols.learning_curve import learning_curve


@pytest.fixture(scope="module")
def frame():
    """300 rows of 30 persons over 60 days; the class is noise."""
    random = np.random.default_rng(0)
    numbers = random.normal(size=(300, 3))
    made = pd.DataFrame(numbers, columns=["a", "b", "c"])
    made["person"] = [f"p{k}" for k in random.integers(30, size=300)]
    made["day"] = random.integers(60, size=300)
    made["class"] = random.choice(["no", "yes"], size=300)
    return made


def table(frame, **kinds):
    return read_table(frame, target="class", person="ignore", day="ignore", **kinds)


def parts_of(dataset):
    """Every pair of rows to learn from and to be judged on that a dataset's studies and runs have."""
    for drawn in (split_table(dataset, 0.3, 0), *split_folds(dataset.y, 5, 1, dataset.splitting)):
        yield drawn.train, drawn.test


def test_groups_are_never_on_both_sides(frame):
    dataset = table(frame).split_by(groups="person")
    person = frame.person.to_numpy()
    for train, held in parts_of(dataset):
        assert not set(person[train]) & set(person[held])
        assert sorted([*train, *held]) == list(range(300))
        assert 20 < len(held) < 140
    given = table(frame).split_by(groups=person)
    assert np.array_equal(given.splitting.units, dataset.splitting.units)


def test_many_groups_are_shared_out_too(frame):
    y, units = np.repeat(["k", "l"], 6000), np.arange(12_000) // 2
    dataset = read_table(pd.DataFrame({"a": np.arange(12_000.0), "class": y}), target="class").split_by(groups=units)
    for train, held in parts_of(dataset):
        assert not set(units[train]) & set(units[held])
        assert abs((y[held] == "k").mean() - 0.5) < 0.01


def test_time_judges_by_earlier_rows_and_equal_times_stay_together(frame):
    dataset = table(frame).split_by(time="day")
    day = frame.day.to_numpy()
    folds = split_folds(dataset.y, 5, 1, dataset.splitting)
    for drawn in [*folds, split_table(dataset, 0.3, 0)]:
        assert day[drawn.train].max() < day[drawn.test].min()
    judged = np.concatenate([fold.test for fold in folds])
    assert len(judged) == len(set(judged))


def test_splits_outlast_a_change_of_kinds(frame):
    dataset = read_table(pd.concat([frame, frame.head(20)], ignore_index=True), "class", person="categorical")
    for apart in (
        dataset.split_by(repeats="once"),
        dataset.split_by(repeats="once").split_by(groups="person"),
        dataset.split_by(time=np.arange(dataset.n_rows)[::-1]),
    ):
        assert apart.with_kinds().hash == apart.hash
        other, again = apart.with_kinds(day="ignore"), dataset.with_kinds(day="ignore")
        for arguments in apart.splitting.calls:
            again = again.split_by(**arguments)
        assert other.hash == again.hash != apart.hash
        assert other.splitting.words == again.splitting.words
        np.testing.assert_array_equal(other.y, again.y)
    fewer = pd.DataFrame({"a": ["u", "v"] * 4, "id": list("stuvwxyz"), "class": list("kkllkkll")})
    once = read_table(fewer, "class", id="categorical").split_by(repeats="once")
    assert (once.n_rows, once.with_kinds(id="ignore").n_rows) == (8, 4), "without ids rows repeat"
    changed = dataset.split_by(groups="person").with_target("day", quartiles=True)
    assert changed.splitting.words == "rows of one 'person' are kept together"


def test_rows_that_repeat_are_counted_once_or_kept_together(frame):
    twice = pd.concat([frame, frame.iloc[:120]], ignore_index=True)
    dataset = table(twice)
    assert dataset.repeated.sum() == 120
    assert dataset.repeats_note.startswith("120 of 420 rows are duplicates of earlier ones")
    once = dataset.split_by(repeats="once")
    assert once.n_rows == 300
    assert once.X.equals(table(frame).X)
    assert any("120 duplicates of earlier rows" in note for note in once.notes)
    together = dataset.split_by(repeats="together")
    assert together.n_rows == 420
    for train, held in parts_of(together):
        assert not set(map(tuple, together.X.to_numpy()[train])) & set(map(tuple, together.X.to_numpy()[held]))
    hashes = {dataset.hash, once.hash, together.hash, dataset.split_by(time="day").hash}
    assert len(hashes) == 4, "other splits are other studies"
    assert once.repeats_note == ""


def test_calls_of_split_by_add_up(frame):
    dataset = table(pd.concat([frame, frame.iloc[:120]], ignore_index=True))
    at_once = dataset.split_by(repeats="once", groups="person")
    calls = "split_by(repeats='once').split_by(groups='person')", "split_by(groups='person').split_by(repeats='once')"
    first, last = (eval(f"dataset.{call}", {"dataset": dataset}) for call in calls)
    for chained, call in ((first, calls[0]), (last, calls[1])):
        assert chained.n_rows == at_once.n_rows == 300
        assert len(set(zip(chained.splitting.units, at_once.splitting.units, strict=True))) == frame.person.nunique()
        assert chained.splitting.call == call
        assert set(chained.splitting.words.split("; ")) == set(at_once.splitting.words.split("; "))
    assert dataset.split_by(groups=np.arange(420) // 2).split_by(repeats="once").splitting.call == ""
    assert first.split_by() is first
    with pytest.raises(TableError, match="constraint already: rows of one 'person' are kept together"):
        last.split_by(time="day")


def test_rows_of_few_columns_repeat_by_nature():
    led = load_demo("led", 2000)
    assert led.repeated.sum() > 1000
    assert led.repeats_note == ""


def test_a_row_that_is_learned_from_and_judged_on_no_longer_favours_high_orders(frame):
    """The class is noise: what is known of it is known from the row itself."""
    dataset = table(pd.concat([frame] * 3, ignore_index=True))
    recipe = Recipe("lr", alpha=0.1, discretize="quantile")
    asked = {"orders": (0, 1, 2), "repeats": 1, "n_jobs": 1}
    fooled = choose_order(dataset, recipe, **asked).run().verdict()
    assert fooled.order == 2
    assert "600 of 900 rows are duplicates" in fooled.notes[0]
    for honest in (dataset.split_by(repeats="once"), dataset.split_by(repeats="together")):
        verdict = choose_order(honest, recipe, **asked).run().verdict()
        assert verdict.order == 0
        assert verdict.notes[0] == honest.splitting.words


def test_alpha_is_chosen_by_folds_that_keep_to_it_too(frame):
    dataset = table(pd.concat([frame] * 3, ignore_index=True))
    recipe = Recipe("lr", order=2, alpha="cv", discretize="quantile")

    def alpha(of):
        return compare(of, [recipe], repeats=1, n_jobs=1).run().frame().alpha_chosen.min()

    assert alpha(dataset.split_by(repeats="together")) > 30 * alpha(dataset)


def test_runs_respect_split_by(frame):
    dataset = table(frame).split_by(time="day")
    prepared = prepare(dataset, Recipe("lr", holdout=0.3, alpha=0.3))
    splits = split_table(dataset, 0.3, 0)
    assert (prepared.encoded.n_rows, prepared.holdout.n_rows) == (len(splits.train), len(splits.test))
    assert split_table(dataset, 0.3, 0) is splits, "drawn once"


def test_every_study_respects_time_or_raises(frame):
    dataset = table(frame).split_by(time="day")
    recipe = Recipe("lr", order=1, alpha=1.0)
    assert {cell.split.repeat for cell in compare(dataset, [recipe], repeats=3).tasks} == {0}
    lines = compare(dataset, [recipe], folds=3, n_jobs=1).run().summary()
    assert np.isfinite(lines.log_loss[0])
    assert np.isnan(lines.bias[0])
    assert alpha_path(dataset, [recipe], alphas=(1.0,), references=False, n_jobs=1).run().progress.failed == 0
    assert len(learning_curve(dataset, [Recipe("anje", order=1)], n_jobs=1).run().frame().repeat.unique()) == 1
    with pytest.raises(RecipeError, match="never predicted"):
        bias_variance(dataset, [recipe])
    grouped = bias_variance(table(frame).split_by(groups="person"), [recipe], rounds=2, n_jobs=1).run()
    assert grouped.summary().rounds.tolist() == [2]


def test_invalid_split_by_raises_with_the_nearest(frame):
    dataset = table(frame)
    with pytest.raises(TableError, match=r"'persn'.*'person'"):
        dataset.split_by(groups="persn")
    with pytest.raises(TableError, match="'class' is the target"):
        dataset.split_by(time="class")
    with pytest.raises(TableError, match=r"expected one of separate, once, together; did you mean 'once'"):
        dataset.split_by(repeats="onc")
    with pytest.raises(TableError, match="expected one of them"):
        dataset.split_by(groups="person", time="day")
    with pytest.raises(TableError, match="3 values for 300 rows"):
        dataset.split_by(groups=[1, 2, 3])
    with pytest.raises(TableError, match=r"missing in 1 rows"):
        dataset.split_by(time=frame.day.where(frame.index > 0))
    few = dataset.split_by(groups=np.arange(300) % 3)
    with pytest.raises(RecipeError, match=r"3 groups.*5 folds"):
        split_folds(few.y, 5, 0, few.splitting)
    recipes = [Recipe("anje", order=1)]
    with pytest.raises(RecipeError, match=r"3 groups .* over 5 folds; expected at most 3 folds"):
        bias_variance(few, recipes, folds=5)  # before it is run
    assert len(bias_variance(few, recipes, rounds=1, folds=3).tasks) >= 3
    with pytest.raises(RecipeError, match="different times are too few"):
        choose_order(dataset.split_by(time=np.arange(300) % 3), folds=5)


def test_text_has_no_order_in_time(frame):
    made = frame.assign(
        at=[f"{h}:00" for h in frame.day],
        size=np.resize(["low", "medium", "high"], 300),
        when=pd.Timestamp("2024-01-01"),
    )
    made["when"] += pd.to_timedelta(made["day"], unit="D")
    dataset = read_table(made.assign(at=made["at"].astype("category")), target="class", size="ordinal")
    with pytest.raises(TableError, match=r"'person' holds text, .* dates or numbers was expected, such as 'when' or "):
        dataset.split_by(time="person")
    with pytest.raises(TableError, match="'at' holds text"):
        dataset.split_by(time="at")
    with pytest.raises(TableError, match="the given time holds text"):
        dataset.split_by(time=frame.person)
    order = dataset.split_by(time="size").splitting.times
    assert [order[made["size"] == size][0] for size in ("low", "medium", "high")] == [0, 1, 2]
    assert np.array_equal(dataset.split_by(time="when").splitting.times, dataset.split_by(time="day").splitting.times)
