"""Prediction sets: thresholds by hand, coverage over splits, and clear errors."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression

from alrviz import LRClassifier, NaiveBayesClassifier, conformal
from alrviz.errors import AlrvizError, DoubtfulTableWarning, RecipeError, TableError
from tests.estimators.tables import drawn


class Fixed:
    """A classifier whose rows are its probabilities."""

    classes_ = np.array(["a", "b"])

    def predict_proba(self, X):
        return np.asarray(X)


def probabilities_of(p_own, label):
    return np.array([[p, 1 - p] if label == "a" else [1 - p, p] for p in p_own])


def test_thresholds_and_sets_by_hand():
    a, b = [0.9, 0.8, 0.7, 0.6], [0.95, 0.5, 0.4, 0.3]
    X = np.concatenate([probabilities_of(a, "a"), probabilities_of(b, "b")])
    y = ["a"] * 4 + ["b"] * 4
    # rank ceil(5 * 0.6) = 3 of 1 - p in each class: .1 .2 .3 .4 and .05 .5 .6 .7; ceil(9 * .6) = 6 of all
    np.testing.assert_allclose(conformal(Fixed(), X, y).thresholds(0.6), [0.3, 0.6])
    np.testing.assert_allclose(conformal(Fixed(), X, y, by_class=False).thresholds(0.6), [0.5, 0.5])
    sets = conformal(Fixed(), X, y)
    new = np.array([[0.8, 0.2], [0.55, 0.45], [0.7, 0.3], [0.65, 0.35]])
    expected = [[True, False], [False, True], [True, False], [True, False]]  # the last would be empty
    np.testing.assert_array_equal(sets.predict_set(new, 0.6), expected)
    frame = sets.set_frame(pd.DataFrame(new, index=list("wxyz")), 0.6)
    assert frame.loc["x", "classes"] == ("b",)
    assert frame["size"].tolist() == [1, 1, 1, 1]


def test_every_calibration_row_taken_in_turn_as_the_new_row_is_covered_as_often_as_stated():
    """The exchangeability identity: of n + 1 rows exactly ceil((n + 1) coverage) are covered by the n others."""
    rng = np.random.default_rng(0)
    X = probabilities_of(rng.uniform(size=31), "a")
    covered = 0
    for i in range(31):
        others = np.delete(X, i, axis=0)
        threshold = conformal(Fixed(), others, ["a"] * 30, by_class=False).thresholds(0.9)[0]
        covered += 1 - X[i, 0] <= threshold
    assert covered == 28  # ceil(31 * 0.9)


@pytest.mark.parametrize("model", [NaiveBayesClassifier(), LRClassifier(order=1, alpha=1.0)], ids=str)
def test_sets_cover_what_they_state_in_every_class(model):
    """Binomial bound on 20 splits; the calibration rows are random too, so that the variance about doubles."""
    X, y = drawn(rows=12_000)
    hits, rows = np.zeros(3), np.zeros(3)
    model.fit(X[:600], y[:600])
    classes = np.searchsorted(model.classes_, y)
    for seed in range(20):
        drawn_rows = 600 + np.random.default_rng(seed).permutation(11_400)
        calibration, new = drawn_rows[:600], drawn_rows[600:1200]
        in_set = conformal(model, X.iloc[calibration], y[calibration]).predict_set(X.iloc[new], 0.8)
        hits += np.bincount(classes[new], in_set[np.arange(600), classes[new]], 3)
        rows += np.bincount(classes[new], minlength=3)
    assert (hits >= binom.ppf(1e-4, rows // 2, 0.8) * 2).all(), hits / rows
    assert in_set.sum(axis=1).mean() < 2.6, "no sets of all classes"


def test_a_class_with_few_calibration_rows_is_in_every_set_and_is_named():
    X = np.concatenate([probabilities_of(np.linspace(0.5, 0.9, 30), "a"), probabilities_of([0.9, 0.8], "b")])
    sets = conformal(Fixed(), X, ["a"] * 30 + ["b"] * 2)
    with pytest.warns(DoubtfulTableWarning, match=r"of 'b' for coverage=0\.9"):
        assert sets.predict_set(X)[:, 1].all()


def test_wrong_input_is_refused():
    X, y = drawn(60)
    model = NaiveBayesClassifier().fit(X, y)
    sets = conformal(model, X[:8], y[:8])
    with pytest.raises(RecipeError, match=r"needs 9 calibration rows.* 8; .* 0\.889"):
        sets.predict_set(X)
    with pytest.raises(RecipeError, match="coverage=90 "):
        sets.predict_set(X, 90)
    with pytest.raises(TableError, match=r"'k9'.*'k0'"):
        conformal(model, X[:1], ["k9"])
    with pytest.raises(TableError, match=r"\(2,\).* 1 rows"):
        conformal(model, X[:1], y[:2])
    with pytest.raises(AlrvizError, match="predict_proba"):
        conformal(LRClassifier(objective="hinge", alpha=0.3).fit(X, y), X, y)


def test_other_classifiers_have_sets_too():
    X, y = np.random.default_rng(0).normal(size=(100, 2)), np.arange(100) % 2
    assert conformal(LogisticRegression().fit(X, y), X, y).predict_set(X[:3]).shape == (3, 2)
