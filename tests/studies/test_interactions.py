from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp

import alrviz
from alrviz.errors import RecipeError, TableError
from alrviz.estimators.model_file import load_model, save_model
from alrviz.studies.effects.interactions import Interactions

FAMILIES = [
    alrviz.Recipe("lr", order=2, alpha=0.1),
    alrviz.Recipe("alr", order=3, alpha=0.1, unseen="m-estimate"),
    alrviz.Recipe("salr", order=2, keep=0.5, alpha=1.0),
    alrviz.Recipe("salr", order=2, keep=0.5, unit="cell", alpha=1.0),
    alrviz.Recipe("hsalr", order=2, keep=0.5, alpha=1.0),
    alrviz.Recipe("hlr", order=2, alpha=0.1),
    alrviz.Recipe("halr", order=2, alpha=0.1, missing="skip"),
    alrviz.Recipe("anje", order=2),
    alrviz.Recipe("anje", order=1),
    alrviz.Recipe("alr", order=1, alpha=1.0),
    alrviz.Recipe("hlr", order=2, alpha=1.0, discretize="smooth"),
]


@pytest.fixture(scope="module")
def mixed():
    data = alrviz.load_demo("mixed-types", 600)
    return data, data.X.iloc[:400], data.y[:400], data.X.iloc[400:]


def _apart(data, rows):
    return alrviz.Dataset.from_arrays(data.X.iloc[rows], data.y[rows])


@pytest.mark.parametrize("recipe", FAMILIES, ids=lambda recipe: recipe.label)
def test_effects_sum_to_the_score_of_every_family(mixed, recipe):
    data, X, y, new = mixed
    model = alrviz.make_estimator(recipe).fit(X, y)
    found = alrviz.interactions(model, _apart(data, slice(0, 400)))
    for rows in (X, new):
        odds = np.diff(model.predict_log_proba(rows), axis=1)
        scores = found.pure.scores(model.encoder_.transform(rows))
        assert np.allclose(np.diff(scores, axis=1), odds, atol=1e-10)
    assert found.importance()["share"].sum() == pytest.approx(1.0, abs=1e-9)
    assert found.orders()["share"].sum() == pytest.approx(1.0, abs=1e-9)
    row = found.row(new.iloc[[3]])
    log_p = dict(zip(model.classes_, model.predict_log_proba(new.iloc[[3]])[0], strict=True))
    assert row.log_odds == pytest.approx(log_p[row.label] - log_p[row.other_label], abs=1e-10)
    assert row.label == model.predict(new.iloc[[3]])[0]
    own = model.encoder_.transform(X)
    for k in range(10):
        codes, said = model.encoder_.transform(new.iloc[[k]]), found.row(new.iloc[[k]]).frame["rows"]
        alike = {name: list(map(found.columns.index, found.members(name))) for name in said.index}
        rows = [(own[members] == codes[members]).all(axis=0).sum() for members in alike.values()]
        assert said.tolist() == rows, "of cells that no row has, too"


@pytest.mark.parametrize("classes", [2, 3])
def test_dlr_effects_are_those_of_its_columns(mixed, classes):
    """Exactly so on rows it knows and on others, with gaps and numbers and levels that it has not seen."""
    _, X, y, new = mixed
    y = y if classes == 2 else np.where(X["smoker"].astype(str) == "yes", "third", y)
    model = alrviz.DLRClassifier(alpha=1.0).fit(X, y)
    found = alrviz.interactions(model, alrviz.Dataset.from_arrays(X, y))
    assert found.names == list(X)
    log_p = model.predict_log_proba(X)
    scores = found.pure.scores(found.encoded.codes)
    assert np.allclose(np.diff(scores, axis=1), np.diff(log_p, axis=1), atol=1e-10)
    for t in range(len(found.names)):
        cells = found.pure.cells_of(t)
        assert np.allclose(found.pure.rows[cells] @ found.pure.f[cells], 0.0, atol=1e-8)
    importance = found.importance()
    assert importance["share"].sum() == pytest.approx(1.0, abs=1e-9)
    strange = new.iloc[[2]].assign(temperature=55.25, pressure=np.nan)
    for row in (new.iloc[[0]], strange):
        said = found.row(row)
        own = dict(zip(model.classes_, model.predict_log_proba(row)[0], strict=True))
        assert said.log_odds == pytest.approx(own[said.label] - own[said.other_label], abs=1e-10)
    changed = found.row(3, changes={"temperature": 55.25})
    own = dict(zip(model.classes_, model.predict_log_proba(X.iloc[[3]].assign(temperature=55.25))[0], strict=True))
    assert changed.log_odds == pytest.approx(own[changed.label] - own[changed.other_label], abs=1e-10)
    own = -model.predict_log_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean()
    muted = found.mute("temperature")["log_loss"]
    assert muted["all"] == pytest.approx(own, abs=1e-10)
    assert muted["muted"] - muted["all"] == pytest.approx(importance.loc["temperature", "loss"], abs=1e-10)
    assert len(found.absent_tuples()) == 10
    assert len(found.orders()) == 1
    assert "differences between rows" not in found.verdict().detail


def test_columns_may_be_called_like_tuples_of_others(mixed):
    _, X, y, _ = mixed
    names = ["R & D", "sales", "R", "D", "sales & R"]
    X = X.iloc[:, : len(names)].set_axis(names, axis=1)
    model = alrviz.LRClassifier(order=2, alpha=0.3).fit(X, y)
    found = alrviz.interactions(model, alrviz.Dataset.from_arrays(X, y))
    assert len(set(found.names)) == len(found.names) == 15
    assert [found.number_of(name) for name in found.names] == list(range(15))
    assert found.number_of(["sales", "R"]) != found.number_of("sales & R")
    whole = -model.predict_log_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean()
    assert found.keep_best()["log_loss"].iloc[-1] == pytest.approx(whole, abs=1e-10)
    assert len(found.row(X.iloc[[0]]).frame.index.unique()) == 15


def test_classes_are_matched_by_one_rule(mixed):
    """What `evaluate` takes of numbers and texts is taken apart too."""
    _, X, y, _ = mixed
    data = alrviz.Dataset.from_arrays(X, (y == y[0]).astype(int))
    for labels in (data.y.astype(float), data.y.astype(int), data.y.astype(int).astype(bool)):
        model = alrviz.LRClassifier(order=1, alpha=0.3).fit(X, labels)
        if labels.dtype != bool:
            assert alrviz.interactions(model, data).encoded.y.tolist() == alrviz.evaluate(model, data).y.tolist()
    with pytest.raises(TableError, match=r"class '1' of .* not in the model; expected some of 'False', 'True'"):
        alrviz.interactions(model, data)


def test_a_pair_that_the_model_has_not_is_in_the_sentence_and_a_constant_column_nowhere():
    data = alrviz.load_demo("xor")
    X = data.X.assign(same="a")
    found = alrviz.interactions(
        alrviz.LRClassifier(order=1, alpha=0.3).fit(X, data.y), alrviz.Dataset.from_arrays(X, data.y)
    )
    assert "predicted to lower test log loss (nats per row): bit_1 & bit_2" in found.verdict().detail
    assert not [
        name for table in (found.absent_tuples(), found.associations()) for name in table.index if "same" in name
    ]
    assert "left" not in found.importance()
    assert found.importance()["nats"]["same"] == 0.0
    with pytest.raises(RecipeError, match=r"order=5.*1.*4"):
        found.absent_tuples(5)


def test_a_row_of_weight_two_is_the_row_twice(mixed):
    data, X, y, _ = mixed
    model = alrviz.LRClassifier(order=2, alpha=0.3).fit(X, y)
    twice = alrviz.interactions(model, _apart(data, np.r_[0:100, 0:100, 100:200]))
    once = alrviz.interactions(model, _apart(data, slice(0, 300)))
    weights = np.r_[np.full(100, 2.0), np.ones(100), np.zeros(100)]
    once = Interactions(model.model_, model.encoder_, replace(once.encoded, weights=weights), None)
    pd.testing.assert_frame_equal(
        once.importance().sort_index().drop(columns="cells"),
        twice.importance().sort_index().drop(columns="cells"), atol=1e-9,
    )  # fmt: skip
    muted = [found.mute("region").drop(columns="ece") for found in (once, twice)]  # its bins may part equal rows
    pd.testing.assert_frame_equal(*muted, atol=1e-9)
    pd.testing.assert_series_equal(once.keep_best()["log_loss"], twice.keep_best()["log_loss"], atol=1e-9)


def test_changes_keep_the_classes_of_the_row_as_it_is_and_name_levels_that_are_there(mixed):
    data, X, y, _ = mixed
    found = alrviz.interactions(alrviz.LRClassifier(order=1, alpha=0.3).fit(X, y), _apart(data, slice(0, 400)))
    own = found.row(1)
    flipped = 0
    for label in found.labels(list(X).index("region"))[:-1]:
        changed = found.row(1, changes={"region": label})
        assert (changed.label, changed.other_label) == (own.label, own.other_label)
        flipped += changed.log_odds < 0
    assert flipped
    with pytest.raises(TableError, match=r"has no level 'nrth'; .*did you mean 'north'"):
        found.row(0, changes={"region": "nrth"})
    with pytest.raises(TableError, match="holds a list"):
        found.row(0, changes={"region": ["north"]})


def test_what_if_matches_the_model(mixed):
    data, X, y, new = mixed
    model = alrviz.LRClassifier(order=2, alpha=0.3).fit(X, y)
    found = alrviz.interactions(model, _apart(data, slice(0, 400)))
    column = next(c for c in X if model.encoder_.columns_[list(X).index(c)].kind != "numeric")
    row = new.iloc[[0]]
    for level, p in found.row(row).what_if(column).iterrows():
        if level not in ("missing", "(no level)"):
            other = row.copy()
            other[column] = pd.Categorical([level], categories=X[column].cat.categories)
            assert np.allclose(p, model.predict_proba(other)[0], atol=1e-12)
            again = found.row(row, changes={column: level}).probabilities
            assert np.allclose(p, again, atol=1e-12)


def test_exclusive_or_is_the_pair_and_nothing_else():
    data = alrviz.load_demo("xor")
    found = alrviz.interactions(alrviz.LRClassifier(order=2, alpha=0.3).fit(data.X, data.y), data)
    pair = " & ".join(list(data.X)[:2])
    importance = found.importance()
    assert importance.index[0] == pair
    assert importance["share"].iloc[0] > 0.95
    assert importance.loc[importance["order"] == 1, "structural"].max() < 0.03


def test_led_is_main_effects():
    data = alrviz.load_demo("led")
    found = alrviz.interactions(alrviz.HLRClassifier(order=2, alpha=(0.1, 3.0)).fit(data.X, data.y), data)
    assert found.orders().loc[1, "share"] > 0.8


@pytest.mark.parametrize("order", [2, 3])
def test_planted_interactions_are_recovered(order):
    rng = np.random.default_rng(order)
    X = rng.choice(3, size=(8_000, 5), p=[0.6, 0.3, 0.1])
    effect = rng.normal(size=(3,) * order)
    y = (rng.random(8_000) < 1 / (1 + np.exp(-2 * effect[tuple(X[:, :order].T)]))).astype(int)
    table = pd.DataFrame(X, columns=list("abcde")).astype(str).astype("category")
    data = alrviz.Dataset.from_arrays(table, y)
    found = alrviz.interactions(alrviz.LRClassifier(order=order, alpha=1.0).fit(data.X, data.y), data)
    importance = found.importance()
    assert importance[importance["order"] == order].index[0] == " & ".join("abcde"[:order])
    of = importance[importance["order"] == order]["structural"]
    assert of.iloc[0] > 10 * of.iloc[1]


def test_muting_is_the_model_without_the_tuples_own_effect():
    data = alrviz.load_demo("led", 800)
    run = alrviz.Run(data, alrviz.Recipe("lr", order=2, alpha=0.5, holdout=0.3))
    run.start()
    run.join()
    found = alrviz.interactions(run)
    assert found.has_heldout
    model, held = alrviz.estimator_of(run), run.holdout
    losses = -model.model_.scores(held.codes)
    losses = np.log(np.exp(-losses).sum(axis=1)) + losses[np.arange(held.n_rows), held.y]
    first, second = found.importance().index[:2]
    table = found.mute(first, second)
    assert table.loc["all", "log_loss"] == pytest.approx(losses.mean(), abs=1e-10)
    one = found.mute(first)
    rise = one.loc["muted", "log_loss"] - one.loc["all", "log_loss"]
    assert rise == pytest.approx(found.importance().loc[first, "loss"], abs=1e-10)
    scores = found.pure.scores(held.codes)
    less = scores - found.pure.scores(held.codes, [found.number_of(first)])
    each = [logsumexp(z, axis=1) - z[np.arange(held.n_rows), held.y] for z in (scores, less)]
    error = (each[1] - each[0]).std() / np.sqrt(held.n_rows)
    assert found.importance().loc[first, "loss_error"] == pytest.approx(error, abs=1e-10)
    curve = found.keep_best()
    assert curve["log_loss"].iloc[-1] == pytest.approx(losses.mean(), abs=1e-10)
    assert curve["error"].iloc[-1] == pytest.approx(table.loc["all", "error"])
    assert curve["added"].iloc[1] == first
    assert len(curve) == 1 + len(found.names)
    every = found.mute(*found.names)
    assert curve["log_loss"].iloc[0] == pytest.approx(every.loc["muted", "log_loss"], abs=1e-10)


def test_effects_of_a_model_file_equal_those_of_its_model(tmp_path):
    data = alrviz.load_demo("led", 500)
    model = alrviz.HLRClassifier(order=2, alpha=0.3).fit(data.X, data.y)
    save_model(model, tmp_path / "model.zip")
    one, two = (alrviz.interactions(m, data) for m in (model, load_model(tmp_path / "model.zip")))
    assert np.allclose(one.pure.f, two.pure.f, atol=1e-12)


def test_theta_is_the_share_of_the_class_that_lies_in_a_cell_and_p_the_share_of_the_cell_that_is_of_the_class():
    frame = pd.DataFrame({"x": ["a"] * 5 + ["b"] * 3, "class": list("ppqqq" + "ppp")})
    data = alrviz.read_table(frame, target="class")
    found = alrviz.interactions(alrviz.AnJEClassifier(order=1).fit(data.X, data.y), data)
    x = found.number_of("x")
    assert found.quantity(x, "theta", 0, 1) == pytest.approx(np.log([2 / 5, 3 / 5]))
    assert found.quantity(x, "theta", 1, 0) == pytest.approx([0.0, -np.inf])
    assert found.quantity(x, "p", 0, 1) == pytest.approx([2 / 5, 1.0])
    assert found.quantity(x, "rows", 0, 1) == pytest.approx([5, 3])


def test_cells_have_a_line_for_each_class():
    data = alrviz.load_demo("led", 500)
    model = alrviz.LRClassifier(order=2, alpha=0.3).fit(data.X, data.y)
    found = alrviz.interactions(model, data)
    own = found.effects(*found.columns[:2])
    assert own.groupby("class")["rows"].sum().eq(500).all()
    assert (own.groupby("levels")["pure"].sum().abs() < 1e-10).all()
    assert len(found.effects()) == len(found.pure.f) * 10


def test_verdict_names_the_best_tuple_and_the_best_of_the_highest_order():
    data = alrviz.load_demo("led", 500)
    found = alrviz.interactions(alrviz.LRClassifier(order=2, alpha=0.3).fit(data.X, data.y), data)
    importance, verdict = found.importance(), found.verdict()
    best = importance["loss"].idxmax()
    best_pair = importance.loc[importance["order"] == 2, "loss"].idxmax()
    assert "7 of 7 columns" in verdict.headline
    assert "1 of 21 pairs" in verdict.headline
    assert f"most {best}" in verdict.headline
    assert f"pairs {best_pair} does most" in verdict.detail


def test_models_without_effects_raise():
    data = alrviz.load_demo("led", 300)
    forest = alrviz.TANClassifier().fit(data.X, data.y)
    with pytest.raises(RecipeError, match=r"TANClassifier is no sum over cells.*expected one of lr"):
        alrviz.interactions(forest, data)
    model = alrviz.LRClassifier(order=2, alpha=0.3).fit(data.X, data.y)
    with pytest.raises(TableError, match="is no data set"):
        alrviz.interactions(model, data.X)
    found = alrviz.interactions(model, data)
    with pytest.raises(RecipeError, match="no column 'seg'"):
        found.mute("seg")
    with pytest.raises(RecipeError, match="the model has no tuple"):
        found.effects(*found.columns[:3])
    with pytest.raises(RecipeError, match="no class 'x'"):
        found.row(0, label="x")
    with pytest.raises(TableError, match="no row 300"):
        found.row(300)
    with pytest.raises(RecipeError, match="ranks no tuples"):
        found.keep_best("size")
    other = alrviz.Dataset.from_arrays(data.X, np.where(data.y == "1", "one", data.y))
    with pytest.raises(TableError, match="not in the model"):
        alrviz.interactions(model, other)
