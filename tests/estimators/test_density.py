"""DLRClassifier: tables of numbers and levels, gaps and weights; what it says of itself."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from alrviz.data.demos import load_demo
from alrviz.errors import AlrvizError, RecipeError, TableError
from alrviz.estimators import DLRClassifier, make_estimator
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from tests.estimators.tables import mixed

MODES = ["loo", "silverman", "validation", "paper"]


def three(rows=150, seed=0):
    X, _ = mixed(rows, seed)
    number = X["number"].fillna(0)
    return X, np.where(number > 0.5, "high", np.where(number < -0.5, "low", "middle"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("table", [mixed, three])
def test_mixed_columns_gaps_and_classes(mode, table):
    X, y = table(150)
    model = DLRClassifier(bandwidth=mode, alpha=0.3, random_state=0).fit(X, y)
    values = 1 if len(model.classes_) == 2 else len(model.classes_)
    assert model.weights_.shape == (5, values)
    assert model.intercept_.shape == (values,)
    np.testing.assert_array_equal(np.isnan(model.bandwidths_), [False, False, True, True, True])
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert model.score(X, y) > 0.7
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    assert model.n_iter_ == len(model.trace_) - 1
    assert model.outcome_.code == "converged"


@pytest.mark.parametrize("table", [mixed, three])
def test_the_parts_of_a_score_add_up(table):
    X, y = table(80)
    X["constant"] = 3.0
    X.index = [f"row {i}" for i in range(len(X))]
    model = DLRClassifier(alpha=10.0).fit(X, y)
    parts = model.explain(X[:7])
    assert parts.index[0] == ("row 0", "intercept")
    assert sorted(parts.loc["row 0"].index) == sorted(["intercept", *X.columns])
    assert list(parts.index.get_level_values("row")[::7]) == list(X.index[:7])
    sums = parts.groupby(level="row", sort=False).sum().to_numpy()
    expected = model.decision_function(X[:7])
    sums = sums[:, 1] - sums[:, 0] if len(model.classes_) == 2 else sums
    centred = expected if len(model.classes_) == 2 else expected - expected.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(sums, centred, rtol=1e-9, atol=1e-9)
    assert (parts.xs("constant", level="tuple") == 0).all(axis=None)
    assert np.isnan(model.bandwidths_[-1])
    assert (model.weights_[-1] == 0).all()


def test_levels_and_gaps_that_training_never_saw():
    X, y = mixed(150)
    model = DLRClassifier(alpha=10.0).fit(X.dropna(), y[X.notna().all(axis=1)])
    odd = X[:4].copy()
    odd["text"] = ["z", "a", None, "b"]
    odd.loc[odd.index[0], "number"] = np.nan
    assert np.isfinite(model.predict_proba(odd)).all()


def test_rows_are_weighted_and_left_out():
    X, y = mixed(100)
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, 100)
    again = np.repeat(np.arange(100), weights)
    one = DLRClassifier(alpha=0.5, tol=1e-9).fit(X, y, weights)
    other = DLRClassifier(alpha=0.5, tol=1e-9).fit(X.iloc[again], y[again])
    np.testing.assert_allclose(one.bandwidths_, other.bandwidths_, rtol=1e-3)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-4)


def test_class_weights_move_the_boundary_and_no_density():
    X, y = mixed(120)
    plain = DLRClassifier(bandwidth="silverman", alpha=10.0).fit(X, y)
    heavy = DLRClassifier(bandwidth="silverman", class_weight={"yes": 10.0}, alpha=10.0).fit(X, y)
    np.testing.assert_array_equal(plain.bandwidths_, heavy.bandwidths_)
    assert heavy.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.1
    with pytest.raises(RecipeError, match="class_weight names 'ja'"):
        DLRClassifier(class_weight={"ja": 1}, alpha=10.0).fit(X, y)


def test_it_beats_a_straight_line_where_the_effect_turns():
    """[DLR] figure 1: the risk is high for the young and the old."""
    rng = np.random.default_rng(0)
    age = rng.uniform(20, 90, (600, 1))
    y = rng.random(600) < 1 / (1 + np.exp(-((age[:, 0] - 55) ** 2 / 150 - 3)))
    model, line = DLRClassifier(alpha=10.0).fit(age[:400], y[:400]), LogisticRegression().fit(age[:400], y[:400])
    assert model.score(age[400:], y[400:]) > line.score(age[400:], y[400:]) + 0.15


def test_estimator_fits_the_same_model_as_a_run_of_its_recipe():
    dataset = load_demo("mixed-types", 300)
    for mode in MODES:
        recipe = Recipe("dlr", bandwidth=mode, holdout=0.0, seed=3, alpha=10.0)
        run = Run(dataset, recipe)
        for _ in run.steps():
            pass
        model = make_estimator(recipe).fit(dataset.X, dataset.y)
        assert isinstance(model, DLRClassifier)
        assert model.to_recipe(seed=3) == recipe
        np.testing.assert_array_equal(model.model_.w, run.model.w)
        np.testing.assert_array_equal(model.model_.log_h, run.model.log_h)


def test_unpickled_model_predicts_the_same_and_is_no_larger_than_its_rows():
    X, y = three(2000)
    model = DLRClassifier(max_iter=3, alpha=10.0)
    with pytest.warns(match="max_iter=3"):
        model.fit(X, y)
    before = pickle.dumps(model)
    p = model.predict_proba(X[:50])
    np.testing.assert_array_equal(pickle.loads(before).predict_proba(X[:50]), p)
    assert len(pickle.dumps(model)) < 1.01 * len(before), "what was computed for a prediction is not kept"
    assert len(before) < 2000 * 120


def test_unfittable_settings_raise():
    with pytest.raises(TableError, match="no column has a feature"):
        DLRClassifier(alpha=10.0).fit(pd.DataFrame({"a": [1.0, 1.0, 1.0]}), [0, 1, 0])
    with pytest.raises(RecipeError, match="did you mean 'validation'"):
        DLRClassifier(bandwidth="validate", alpha=10.0).fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(AlrvizError, match="infinite"):
        DLRClassifier(alpha=10.0).fit([[1.0], [np.inf]], [0, 1])
