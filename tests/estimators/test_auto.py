"""The classifier that chooses by itself: which order, what it says, and that it is kept and refused as others are."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import alrviz
from alrviz import AutoClassifier
from alrviz.data.encode import Encoder
from alrviz.data.splits import FOLDS, split_folds
from alrviz.errors import ReadingWarning, TableError
from alrviz.fitting import choose_order
from alrviz.fitting.cost.estimate import estimate
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.prepare import TrainingData
from benchmarks.quality import rare_class
from tests.fitting.test_alpha_tuned import hard_tables, log_losses, planted


def test_it_takes_the_order_that_the_table_needs_and_says_why():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 3, (600, 4)).astype(str))
    pairs = AutoClassifier().fit(X, (X[0] == X[1]) ^ (rng.random(600) < 0.1))
    assert (pairs.order_, len(pairs.alpha_)) == (2, 2)
    assert pairs.chosen_.startswith("order=2 and alpha=(")
    assert " of order 1, " in pairs.chosen_
    assert "3 folds" in pairs.chosen_
    assert list(pairs.alphas_) == ["order", "alpha_1", "log_loss", "folds", "alpha_2", "alpha_3"]
    rng = np.random.default_rng(1)
    single = AutoClassifier().fit(X, (X[0] == "0") ^ (rng.random(600) < 0.2))
    noise = rng.integers(0, 2, 600)
    nothing, weighty = AutoClassifier().fit(X, noise), AutoClassifier().fit(X, noise, np.full(600, 1e6))
    assert (single.order_, nothing.order_) == (1, 1)
    assert "that of order 2, " in single.chosen_
    assert np.ptp(nothing.predict_proba(X)[:, 0]) < 0.01
    assert np.ptp(weighty.predict_proba(X)[:, 0]) < 0.01


def test_the_sign_of_a_product_of_numbers_is_learned_by_smooth_pairs():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(2000, 2)), columns=["u", "v"])
    y = (X["u"] * X["v"] > 0).to_numpy().astype(int)
    model = AutoClassifier().fit(X[:1000], y[:1000])
    assert model.order_ == 2
    assert model.score(X[1000:], y[1000:]) > 0.93


def test_a_time_limit_ends_the_search_and_is_named():
    data = alrviz.load_demo("monks-1")
    limited = AutoClassifier(time_limit=1e-6).fit(data.X, data.y)
    assert limited.order_ == 1
    assert "order 2 was not tried" in limited.chosen_
    assert "time_limit=1e-06" in limited.chosen_
    ample = AutoClassifier(time_limit=1e6).fit(data.X, data.y)
    assert ample.order_ > 1
    assert "not tried" not in ample.chosen_
    np.testing.assert_array_equal(
        ample.predict_proba(data.X), AutoClassifier().fit(data.X, data.y).predict_proba(data.X)
    )


def test_an_order_is_given_up_when_the_time_is_over(monkeypatch):
    times = iter(range(10**9))
    monkeypatch.setattr("alrviz.stop.monotonic", lambda: next(times) / 100)  # 0.01 s for each check
    monkeypatch.setattr("alrviz.fitting.choose_order.monotonic", lambda: 0.0)  # so that no trial seems to take long
    data = alrviz.load_demo("tic-tac-toe")
    model = AutoClassifier(time_limit=1).fit(data.X, data.y)
    assert model.order_ == 1
    assert "order 2 was given up" in model.chosen_


def test_a_time_limit_leaves_out_other_cuts():
    X = np.random.default_rng(0).normal(size=(400, 2))
    y = (X[:, 0] > 0.3).astype(int)
    assert "MDL were not tried" in AutoClassifier(time_limit=1e-6).fit(X, y).chosen_


@pytest.mark.parametrize("limit", [0, -1.0, True, "10"])
def test_a_time_limit_is_a_number_of_seconds(limit):
    with pytest.raises(alrviz.RecipeError, match=r"time_limit=.* seconds above 0, or None"):
        AutoClassifier(time_limit=limit).fit(*planted(60))


def test_a_table_is_fitted_in_one_line():
    X, y = planted(300)
    frame = X.assign(outcome=y)
    model = alrviz.fit(frame, "outcome", n_jobs=1)
    np.testing.assert_array_equal(model.predict_proba(X), AutoClassifier().fit(X, y).predict_proba(X))
    assert alrviz.fit(alrviz.load_demo("led", 200), order=1).order_ == 1
    wide = frame.assign(**{f"x{k}": 0 for k in range(9)})
    with pytest.raises(
        alrviz.TableError, match=r"no column is called 'outcom'; did you mean 'outcome'\? Expected .* \.\.\.;"
    ):
        alrviz.fit(wide, "outcom")
    with pytest.raises(alrviz.TableError, match="two columns are called 'a'"):
        alrviz.fit(pd.concat([frame, X[["a"]]], axis=1), "outcome")


def test_a_model_of_a_table_that_was_read_takes_rows_as_they_were(tmp_path):
    X, y = planted(120)
    raw = X.assign(
        id=[f"C{k:04}" for k in range(120)], since=pd.date_range("2024-01-01", periods=120).strftime("%d.%m.%Y")
    )
    data = alrviz.read_table(raw.assign(outcome=y), target="outcome")
    assert "since month" in data.X
    assert "id" not in data.X
    model = alrviz.fit(data, order=1)
    alrviz.save_model(model, tmp_path / "m.zip")
    for own in (model, tmp_path / "m.zip"):
        found = alrviz.predict_table(own, raw).filter(like="p(").to_numpy()
        np.testing.assert_allclose(found, model.predict_proba(data.X), rtol=1e-12)


def test_a_frame_and_the_same_frame_read_are_one_model(tmp_path):
    X, y = planted(200)
    rng = np.random.default_rng(0)
    raw = X.assign(
        code=rng.integers(0, 3, 200), Colour=rng.choice(["Red", "red ", "blue", "NA"], 200),
        since=pd.date_range("2024-01-01", periods=200).strftime("%d.%m.%Y"),
        size=rng.choice([-999.0, 1, 2, 3, 4, 5], 200),
    )  # fmt: skip
    frame = raw.assign(outcome=np.where(y == y[0], 1, 0))
    model, data = alrviz.fit(frame, "outcome", order=1), alrviz.read_table(frame, "outcome")
    other = alrviz.fit(data, order=1)
    assert "since month" in data.X
    assert model.spec_ == other.spec_
    assert (model.classes_.tolist(), other.classes_.tolist()) == ([0, 1], ["0", "1"])
    expected = other.predict_proba(data.X)
    alrviz.save_model(model, tmp_path / "m.zip")
    for own in (model, alrviz.load_model(tmp_path / "m.zip"), other):
        for rows in (raw, data.X, raw.iloc[:1], data.X.iloc[:1], raw.iloc[::-1][::-1]):
            np.testing.assert_allclose(own.predict_proba(rows), expected[: len(rows)], rtol=0, atol=1e-12)
        np.testing.assert_allclose(alrviz.predict_table(own, raw).filter(like="p("), expected, rtol=0, atol=1e-12)
    assert model.score(raw, frame["outcome"]) > 0.5
    with pytest.warns(ReadingWarning, match="'since' cannot be read as a date"):
        model.predict(raw.assign(since=["soon", *raw["since"][1:]]))


def test_it_is_cloned_saved_and_explained(tmp_path):
    X, y = planted(300)
    model = clone(AutoClassifier()).fit(X, y)
    alrviz.save_model(model, tmp_path / "m.zip")
    np.testing.assert_array_equal(alrviz.load_model(tmp_path / "m.zip").predict_proba(X), model.predict_proba(X))
    assert len(model.explain(X[:2])) == 2 * (1 + model.cells_.n_tuples)
    plain = alrviz.HLRClassifier(order=model.order_, alpha=model.alpha_, center="shares", discretize="smooth").fit(X, y)
    np.testing.assert_allclose(plain.predict_proba(X), model.predict_proba(X), atol=2e-3)  # both end early, elsewhere


def test_an_order_that_is_too_much_work_is_not_tried_or_has_its_best_pairs_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(choose_order, "MAX_PASS_SECONDS", 1e-9)
    X, y = planted(200)
    model = AutoClassifier().fit(X, y)
    assert model.order_ == 1
    assert "order 2 takes too long to be tried (order=2 fits it anyway)" in model.chosen_
    encoded = Encoder(discretize="smooth", n_bins=24).fit(X, y).encode(X, y)
    whole = estimate(model.to_recipe(order=2), TableShape(encoded)).cost.seconds * FOLDS
    monkeypatch.setattr(choose_order, "MAX_PASS_SECONDS", whole / 2)
    some = AutoClassifier().fit(X, y)
    assert "of single columns and the best 7 of each higher order" in some.chosen_
    assert some.cells_.n_tuples == 6 + 7
    alrviz.save_model(some, tmp_path / "m.zip")
    np.testing.assert_array_equal(alrviz.load_model(tmp_path / "m.zip").predict_proba(X), some.predict_proba(X))


@pytest.mark.parametrize("table", list(hard_tables()), ids=lambda table: table[0])
@pytest.mark.filterwarnings("ignore")
def test_hard_tables_end_with_finite_probabilities(table):
    _, X, y, weights = table
    assert np.isfinite(AutoClassifier().fit(X, y, sample_weight=weights).predict_proba(X)).all()


def test_small_losses_have_digits_that_differ():
    X = pd.DataFrame({"letter": ["p", "q"] * 200})
    chosen = AutoClassifier().fit(X.assign(again=X["letter"]), X["letter"]).chosen_
    assert "0.0000" not in chosen
    assert re.search(r"\d\.?\d*e-0\d of order 1", chosen)


def unlike_tables():
    """Tables where a model of the rows is easily worse than none: name, X, y, and training and test rows."""
    rng = np.random.default_rng(0)
    for name in ("iris", "wine", "balance-scale", "monks-1", "led"):
        data = alrviz.load_demo(name)
        order = rng.permutation(data.n_rows)
        yield name, data.X, data.y, [(order[::2][:200], order[1::2])]
    numbers, words = pd.DataFrame(rng.normal(size=(1000, 6))), pd.DataFrame(rng.integers(0, 9, (1000, 4)).astype(str))
    wide = pd.DataFrame(rng.normal(size=(1000, 60)))
    told = numbers[0] - numbers[1] * numbers[2] + rng.logistic(size=1000)
    for name, X, y, n in [
        ("noise", numbers, rng.integers(0, 2, 1000), 200),
        ("noise in categories of many levels", words, rng.integers(0, 3, 1000), 200),
        ("wide noise", wide, rng.integers(0, 2, 1000), 60),
        ("few rows a class", numbers, rng.integers(0, 20, 1000), 60),
        ("one row in 50", numbers, (told > np.quantile(told, 0.98)) * 1, 500),
    ]:
        yield name, X, y, [(np.arange(n), np.arange(n, 1000))]


UNLIKE = (
    "iris", "balance-scale", "monks-1", "led", "noise", "noise in categories of many levels", "wide noise",
    "few rows a class", "one row in 50",
)  # fmt: skip


RARE = pytest.param(
    "one row in 1,000", marks=pytest.mark.slow(reason="five fits of 16,000 rows; one row in 50 is rare too")
)


@pytest.mark.parametrize("name", [*UNLIKE, RARE])
def test_it_is_never_worse_than_the_class_shares_beyond_a_standard_error(name):
    """And a fifth of a percent: on noise a standard error alone is crossed now and then."""
    if name in UNLIKE:
        X, y, folds = {table: rest for table, *rest in unlike_tables()}[name]
    else:
        data = rare_class()
        X, y = data.X, data.y
        folds = [(fold.train, fold.test) for fold in split_folds(y, 5, 0)]
    classes, codes = np.unique(y, return_inverse=True)
    own, center = [], []
    for train, test in folds:
        model = AutoClassifier(random_state=0).fit(X.iloc[train], y[train])
        p = np.zeros((len(test), len(classes)))
        p[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(X.iloc[test])
        shares = np.bincount(codes[train], minlength=len(classes)) / len(train)
        own.append(log_losses(p, codes[test]))
        center.append(log_losses(np.tile(shares, (len(test), 1)), codes[test]))
    worse = np.concatenate(own) - np.concatenate(center)
    assert worse.mean() < worse.std() / np.sqrt(len(worse)) + 2e-3 * np.concatenate(center).mean()


def test_fit_prepared_equals_fit():
    """Studies share rows among recipes; the order that is chosen has its own cuts."""
    X, _ = planted(300)
    X[["u", "v"]] = np.random.default_rng(5).normal(size=(300, 2))
    y = (X["u"] * X["v"] > 0).to_numpy()
    model = AutoClassifier(random_state=0).fit(X, y)
    recipe = model.to_recipe()
    encoder = Encoder(discretize=recipe.cuts, n_bins=recipe.most_levels).fit(X, y)
    prepared = TrainingData(encoder.encode(X, y), None, encoder)
    same = AutoClassifier(random_state=0).fit_prepared(X, prepared)
    assert encoder.levels_[-1] > model.encoder_.levels_[-1]
    np.testing.assert_array_equal(same.predict_proba(X), model.predict_proba(X))


def test_a_constant_column_is_in_no_explanation():
    X, y = planted(300)
    X = X.assign(same="s")
    model = AutoClassifier(order=2).fit(X, y)
    parts = model.explain(X[:40])
    assert not any("same" in name for name in parts.index.unique("tuple"))  # it is in no tuple


def test_fit_error_names_accepted_input():
    data = alrviz.load_demo("led", 300)
    frame = data.frame
    for table, target, words in [
        ("made.csv", "y", "got a str; read_table reads files"),
        (frame, None, "the class column is not named"),
        (frame, frame["class"], "no column is called"),
        (data.X.to_numpy(), data.y, "got a ndarray"),
        (data, "a", "the class of this table is 'class'"),
        (frame.assign(**{"class": frame["class"].where(frame.index > 2)}), "class", "3 rows have no class"),
    ]:
        with pytest.raises(TableError, match=words):
            alrviz.fit(table, target)
    weighted = alrviz.fit(frame, "class", sample_weight=np.ones(len(frame)), order=1)
    assert "chosen by validation log loss" in weighted.chosen_


@pytest.mark.filterwarnings("ignore:.*max_iter")
def test_of_a_table_read_in_batches_some_rows_choose_and_all_are_learned_from(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 3, (900, 4)).astype(str), columns=list("abcd"))
    X["class"] = np.where((X["a"] == X["b"]) ^ (rng.random(900) < 0.1), "same", "other")
    X.to_parquet(tmp_path / "t.parquet")
    stream = alrviz.open_table(tmp_path / "t.parquet", "class", cache=tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that passes are few is as documented
        model = AutoClassifier().fit(stream)
    assert (model.order_, len(model.alpha_)) == (2, 2)
    assert model.chosen_.startswith("order=2 and alpha=(")
    assert "; on 900 rows drawn from the table; numbers are cut by MDL" in model.chosen_
    assert list(model.alphas_)[:2] == ["order", "alpha_1"]
    whole = AutoClassifier(discretize="mdl").fit(X[list("abcd")], X["class"])
    assert np.abs(model.predict_proba(X[list("abcd")]) - whole.predict_proba(X[list("abcd")])).max() < 0.1
    given = alrviz.HLRClassifier(order=2, alpha="auto", max_iter=5).fit(stream)
    assert given.chosen_.startswith("order=2 and alpha=(")
    assert "the order is as given" in given.chosen_


def test_choices_are_reported_and_saved_in_model_files(tmp_path):
    data = alrviz.load_demo("led", 300)
    for model, words in [
        (AutoClassifier(order=1), "alpha="),
        (AutoClassifier(order=1, alpha=2.0), "order=1 and alpha=2, as given"),
        (AutoClassifier(alpha=2.0), " was chosen by validation log loss of 3 folds"),
        (alrviz.LRClassifier(order=1, alpha="cv"), "of 1"),
    ]:
        model.fit(data.X, data.y)
        assert words in model.chosen_
        alrviz.save_model(model, tmp_path / "m.zip")
        read = alrviz.load_model(tmp_path / "m.zip")
        assert (read.chosen_, read.alpha_) == (model.chosen_, getattr(model, "alpha_", 2.0))
    model = AutoClassifier().fit(data.X, data.y).set_params(order=1, alpha=1.0).fit(data.X, data.y)
    assert (model.chosen_, hasattr(model, "alphas_")) == ("order=1 and alpha=1, as given", False)
