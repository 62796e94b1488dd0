"""Edits of a score table: by hand calculation, against scikit-learn, and through file, SQL and script."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.isotonic import IsotonicRegression

import alrviz
from alrviz.errors import ModelFileError, RecipeError, TableError
from tests.estimators.model_files import about_of, file_of, rewritten
from tests.estimators.test_model_file import script_of
from tests.estimators.test_model_sql import predicted, sql_of


@pytest.fixture(scope="module")
def numbers():
    """Three columns, three classes; the first column's effect rises, falls and rises again."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=900), "b": rng.choice(list("uvw"), 900), "c": rng.normal(size=900)})
    X.loc[rng.random(900) < 0.1, "a"] = np.nan
    signal = np.sin(3 * X["a"].fillna(1.0)) + (X["b"] == "u") * X["a"].fillna(0.0) + 0.5 * X["c"]
    y = np.where(signal + rng.normal(size=900) > 0.7, "high", np.where(rng.random(900) < 0.5, "mid", "low"))
    return X, y


def fitted(numbers, recipe, classes=3):
    X, y = numbers
    y = np.where(y == "high", "high", "low") if classes == 2 else y
    model = alrviz.make_estimator(recipe).fit(X[:600], y[:600])
    return model, alrviz.edit(model, X[600:], y[600:])


HLR = alrviz.Recipe("hlr", order=2, alpha=1.0, discretize="quantile", n_bins=6)


def test_set_by_hand():
    X = pd.DataFrame({"p": ["x", "x", "x", "z"] * 2, "q": ["s", "t"] * 4})
    y = np.array([1, 0, 1, 0, 1, 0, 1, 1])
    model = alrviz.HLRClassifier(order=1, alpha=1.0).fit(X, y)
    edits = alrviz.edit(model, X, y)
    odds = dict(
        zip("xz", [model.decision_function(pd.DataFrame({"p": [v], "q": ["s"]}))[0] for v in "xz"], strict=True)
    )
    # six rows have x and two z, and the mean of the effect over rows is 0
    by_hand = 0.25 * (odds["x"] - odds["z"])
    assert edits.values("p").loc["x", 1] == pytest.approx(by_hand, abs=1e-12)
    edits.set({"p": "x"}, 0.75)
    assert edits.log.to_dict("records") == [
        {
            "step": 1,
            "action": "set",
            "columns": "p",
            "levels": "x",
            "class": 1,
            "old": pytest.approx(by_hand),
            "new": 0.75,
        }
    ]
    before, after = model.decision_function(X), edits.model.decision_function(X)
    np.testing.assert_allclose(after - before, np.where(X["p"] == "x", 0.75 - by_hand, 0.0), atol=1e-12)
    p = 1 / (1 + np.exp(-np.stack([before, after]) * np.where(y == 1, 1, -1)))
    rises = np.log(p[0]) - np.log(p[1])
    price = edits.price.loc["log_loss"]
    assert price["before"] == pytest.approx(-np.log(p[0]).mean())
    assert price["change"] == pytest.approx(rises.mean())
    assert price["standard_error"] == pytest.approx(rises.std() / np.sqrt(8))
    edits.undo()
    np.testing.assert_array_equal(edits.model.decision_function(X), before)
    assert edits.log.empty
    assert edits.price["change"].tolist() == [0.0, 0.0]


def test_a_class_of_three_moves_against_all_others(numbers):
    model, edits = fitted(numbers, HLR)
    edits.set({"c": 0.1, "b": "u"}, 1.5, label="mid")
    line = edits.log.iloc[0]
    assert line["columns"] == "b & c"
    assert edits.values("b & c").loc[tuple(line["levels"].split(" & ")), "mid"] == pytest.approx(1.5)
    change = edits.model.predict_log_proba(numbers[0]) - model.predict_log_proba(numbers[0])
    odds = change - change[:, [0]]
    level = model.encoder_.transform(numbers[0])[2]
    in_cell = (numbers[0]["b"] == "u") & (level == level[np.argmin(np.abs(numbers[0]["c"] - 0.1))])
    np.testing.assert_allclose(odds[:, 2], np.where(in_cell, line["new"] - line["old"], 0.0), atol=1e-12)
    np.testing.assert_allclose(odds[:, 1], 0.0, atol=1e-12)


@pytest.mark.parametrize("direction", ["increasing", "decreasing"])
def test_monotone_is_isotonic_regression(numbers, direction):
    _, edits = fitted(numbers, HLR.replace(order=1), classes=2)
    before = edits.values("a")
    edits.monotone("a", direction, "high")
    after = edits.values("a")
    x, regression = np.arange(6), IsotonicRegression(increasing=direction == "increasing")
    expected = regression.fit_transform(x, before["high"][:6], sample_weight=before["rows"][:6])
    np.testing.assert_allclose(after["high"][:6], expected, atol=1e-12)
    assert after.loc["missing", "high"] == before.loc["missing", "high"], "a missing value has no place in the order"
    assert not np.allclose(before["high"], after["high"])


def paths(model, X, column):
    """Log-odds of each class against each other (K, rows, C, C) as the column takes the values of its levels."""
    cuts = model.encoder_.columns_[model.encoder_.names_.index(column)].cuts
    log_p = np.array([model.predict_log_proba(X.assign(**{column: value})) for value in [*cuts, cuts[-1] + 1]])
    return log_p[..., :, None] - log_p[..., None, :]


@pytest.mark.parametrize(
    ("recipe", "classes"),
    [
        (HLR, 2), (HLR, 3), (HLR.replace(order=3, discretize="smooth", n_bins=10), 3), (HLR.replace(family="lr"), 3),
        (HLR.replace(family="lr", order=3, discretize="smooth", n_bins=10), 2),
    ],
    ids=str,
)  # fmt: skip
def test_monotone_holds_for_every_row(numbers, recipe, classes):
    model, edits = fitted(numbers, recipe, classes)
    X = numbers[0].dropna().head(60)
    assert np.diff(paths(model, X, "a")[:, :, 0], axis=0).min() < -0.05
    edits.monotone("a", "increasing", label="high")
    rises = np.diff(paths(edits.model, X, "a")[:, :, 0], axis=0)
    assert model.classes_[0] == "high"
    assert rises.min() > -1e-9


def test_monotone_of_the_column_alone(numbers):
    _, edits = fitted(numbers, HLR)
    edits.monotone("a", "decreasing", label="low", each_row=False)
    assert set(edits.log["columns"]) == {"a"}
    _, edits = fitted(numbers, HLR.replace(family="lr"))
    with pytest.raises(RecipeError, match="each_row"):
        edits.monotone("a", label="low", each_row=False)
    assert edits.log.empty


def test_flat_tuples_add_nothing(numbers):
    X = numbers[0]
    model, edits = fitted(numbers, HLR)
    effects = alrviz.interactions(model, alrviz.Dataset.from_arrays(X[:600], numbers[1][:600]))
    edits.flatten(["a", "c"])
    np.testing.assert_allclose(edits.values("a & c").drop(columns="rows"), 0.0, atol=1e-12)
    muted = effects.pure.scores(model.encoder_.transform(X[:600]), [effects.number_of("a & c")])
    removed = model.predict_log_proba(X[:600]) - edits.model.predict_log_proba(X[:600]) - muted
    np.testing.assert_allclose(removed - removed[:, [0]], 0.0, atol=1e-9)
    with pytest.raises(RecipeError, match="no tuple"):
        fitted(numbers, HLR.replace(family="lr"))[1].flatten("a")


def test_effects_with_edits_are_those_of_the_edited_model(numbers):
    X, y = numbers
    model, _ = fitted(numbers, HLR)
    effects = alrviz.interactions(model, alrviz.Dataset.from_arrays(X[:600], y[:600]))
    edits = effects.edits()
    edits.monotone("c", label="mid")
    edits.set({"b": "v"}, 1.0, label="mid")
    log_odds = effects.edited(edits).pure.scores(model.encoder_.transform(X))
    expected = edits.model.predict_log_proba(X)
    np.testing.assert_allclose(log_odds - log_odds[:, [0]], expected - expected[:, [0]], atol=1e-9)
    assert effects.edited(edits).importance()["loss"].sum() != pytest.approx(effects.importance()["loss"].sum())


@pytest.mark.parametrize("recipe", [HLR, HLR.replace(family="halr"), HLR.replace(family="anje")], ids=str)
def test_a_study_has_the_classifier_of_its_model(numbers, recipe):
    X, y = numbers
    data = alrviz.Dataset.from_arrays(X, y)
    study = alrviz.effect_bands(data, recipe, refits=0, n_jobs=1).run()
    model = study.interactions.edits().model
    run = alrviz.Run(data, recipe.replace(holdout=0.3))
    run.start()
    run.join()
    expected = alrviz.estimator_of(run).predict_proba(X)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-9)
    again = alrviz.load_model(file_of(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.weights_ is None


def test_file_script_and_sql_agree(numbers, tmp_path):
    X = numbers[0].fillna({"a": 0.2})
    model = alrviz.HLRClassifier(order=2, alpha=1.0).fit(X, numbers[1])
    edits = alrviz.edit(model, X, numbers[1])
    edits.monotone("a", "increasing", label="high")
    edits.set({"b": "u"}, -1.0, label="low")
    edited = edits.model
    assert not np.allclose(edited.predict_proba(X), model.predict_proba(X))
    lines = edited.explain(X.head(20)).groupby(level="row", sort=False).sum().to_numpy()
    scores = edited.decision_function(X.head(20))
    np.testing.assert_allclose(lines, scores - scores.mean(axis=1, keepdims=True), atol=1e-9)
    again = alrviz.load_model(file_of(edited))
    np.testing.assert_array_equal(again.predict_proba(X), edited.predict_proba(X))
    pd.testing.assert_frame_equal(again.edits_, edits.log)
    table = predicted("duckdb", sql_of(edited, "duckdb"), X)
    np.testing.assert_allclose(table.iloc[:, 1:4].to_numpy(float), edited.predict_proba(X), atol=1e-9)
    X.to_csv(tmp_path / "rows.csv", index=False)
    alrviz.save_model(edited, tmp_path / "m.zip")
    options = [str(tmp_path / "rows.csv"), "--model", str(tmp_path / "m.zip"), "-o", str(tmp_path / "out.csv")]
    assert script_of(tmp_path / "m.zip").main(options) == 0
    np.testing.assert_allclose(
        pd.read_csv(tmp_path / "out.csv").iloc[:, 2:5], edited.predict_proba(X), rtol=0, atol=1e-9
    )
    more = alrviz.edit(again, X, numbers[1])
    more.set({"b": "v"}, 0.0, label="low")
    assert more.log["step"].tolist() == [*edits.log["step"], 3]
    assert not hasattr(edited.fit(X, numbers[1]), "edits_"), "a new fit is not edited"


@pytest.mark.parametrize("value", [[], {"step": [1]}, "other", None], ids=["list", "columns", "class", "type"])
def test_a_damaged_log_is_refused(numbers, value):
    _, edits = fitted(numbers, HLR.replace(order=1))
    edits.set({"b": "u"}, 0.1, label="low")
    file = file_of(edits.model)
    about = about_of(file)
    if value in ("other", None):
        about["edits"]["class"] = [value]
    else:
        about["edits"] = value
    with pytest.raises(ModelFileError, match="edits"):
        alrviz.load_model(io.BytesIO(rewritten(file, **{"model.json": json.dumps(about)}).getvalue()))


def test_bad_edits_raise(numbers):
    X, y = numbers
    model, edits = fitted(numbers, HLR)
    with pytest.raises(RecipeError, match="class"):
        edits.set({"b": "u"}, 1.0)
    with pytest.raises(RecipeError, match="finite"):
        edits.set({"b": "u"}, np.nan, label="low")
    with pytest.raises(TableError, match="level"):
        edits.set({"b": "q"}, 1.0, label="low")
    with pytest.raises(RecipeError, match="no training row"):
        edits.set({"b": None}, 1.0, label="low")
    with pytest.raises(RecipeError, match="order"):
        edits.monotone("b", label="low")
    with pytest.raises(RecipeError, match="decreasing"):
        edits.monotone("a", "decresing", label="low")
    with pytest.raises(RecipeError, match="undo"):
        edits.undo()
    with pytest.raises(TableError, match="class"):
        alrviz.edit(model, X, np.full(len(X), "other"))
    assert edits.steps == []
    for other in (alrviz.TANClassifier(), alrviz.HLRClassifier(order=1, alpha=1.0, objective="hinge", solver="lbfgs")):
        with pytest.raises(RecipeError, match="cannot be edited"):
            alrviz.edit(other, X, y)
