"""The random forest and the SVM of recipes: scikit-learn's, on any table."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from alrviz.data.encode import Encoder
from alrviz.errors import MemoryLimitError
from alrviz.estimators import make_estimator
from alrviz.fitting.recipe import Recipe
from tests.estimators.tables import drawn, mixed


def test_the_forest_is_scikit_learns_on_numbers_and_codes():
    X, y = mixed()
    ours = make_estimator(Recipe("rf", n_estimators=20, seed=5)).fit(X, y)
    encoder = Encoder(discretize="keep").fit(X, y)
    matrix = np.concatenate([encoder.numbers(X), encoder.transform(X)[2:]]).T
    theirs = RandomForestClassifier(20, max_features=3, random_state=5).fit(matrix, y)  # floor(log2 5) + 1
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(matrix), rtol=0, atol=1e-12)
    assert ours.score(X, y) > 0.95


def test_boosting_is_scikit_learns_on_numbers_and_codes():
    X, y = mixed()
    ours = make_estimator(Recipe("hgb", n_estimators=20, seed=5)).fit(X, y)
    encoder = Encoder(discretize="keep").fit(X, y)
    matrix = np.concatenate([encoder.numbers(X), encoder.transform(X)[2:]]).T
    theirs = HistGradientBoostingClassifier(max_iter=20, categorical_features=[2, 3, 4], random_state=5).fit(matrix, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(matrix), rtol=0, atol=1e-12)
    strange = X.assign(text="never seen")
    assert np.isfinite(ours.predict_log_proba(strange)).all()


def test_boosting_weighs_classes_by_their_labels_and_takes_a_class_of_one_row():
    X, y = mixed()
    plain, heavy = (
        make_estimator(Recipe("hgb", n_estimators=10, class_weight=weight))
        .fit(X, y)
        .predict_proba(X[:200])[:, 1]
        .mean()
        for weight in (None, {"yes": 50.0})
    )
    assert heavy > plain
    many, _ = mixed(12_000)
    few = np.array(["k"] * 6000 + ["l"] * 5999 + ["m"])
    model = make_estimator(Recipe("hgb", n_estimators=1)).fit(many, few)
    assert model.predict_proba(many[:5]).shape == (5, 3)


def test_the_svm_takes_any_table_and_its_probabilities_are_calibrated():
    X, y = mixed(300)
    model = make_estimator(Recipe("svm")).fit(X[:200], y[:200])
    strange = X[200:].assign(text="never seen")
    assert np.isfinite(model.predict_log_proba(strange)).all()
    assert model.score(X[200:], y[200:]) > 0.7
    p = model.predict_proba(X[200:])[:, 1]
    assert abs(p.mean() - (y[200:] == "yes").mean()) < 0.1
    few = np.array(["k"] * 30 + ["l"] * 30 + ["m"])  # a class of one row
    X3, _ = drawn(61)
    assert make_estimator(Recipe("svm")).fit(X3, few).predict_proba(X3).shape == (61, 3)


def test_weight_2_is_the_row_twice_also_where_a_class_has_one_row():
    X, _ = drawn(41)
    y = np.array(["k"] * 20 + ["l"] * 20 + ["m"])
    recipe = Recipe("svm", kernel="linear")
    heavy = make_estimator(recipe).fit(X, y, np.where(y == "k", 2.0, 1.0))
    twice = make_estimator(recipe).fit(pd.concat([X, X[y == "k"]]), np.concatenate([y, y[y == "k"]]))
    np.testing.assert_allclose(heavy.predict_proba(X), twice.predict_proba(X), rtol=0, atol=1e-3)


@pytest.mark.parametrize("family", ["rf", "hgb", "svm"])
def test_more_memory_than_allowed_is_refused_with_the_numbers(family):
    X, y = mixed()
    with pytest.raises(MemoryLimitError, match=r"the numbers of .* rows .* need about .* MiB"):
        make_estimator(Recipe(family), max_memory=1000).fit(X, y)


def test_heavier_rows_move_forest_and_svm():
    X, y = mixed()
    weights = np.where(y == "yes", 5.0, 0.1)
    for recipe in (Recipe("rf", n_estimators=20), Recipe("hgb", n_estimators=20), Recipe("svm")):
        plain, heavy = (make_estimator(recipe).fit(X, y, w).predict_proba(X)[:, 1].mean() for w in (None, weights))
        assert heavy > plain + 0.05
