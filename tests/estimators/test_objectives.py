"""Objectives and bounds as scikit-learn's users meet them."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

from alrviz import ALRClassifier, LRClassifier
from tests.estimators.tables import mixed


def levels(rows=200, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (rows, 3)).astype(str)
    y = (X == "1").sum(axis=1) + rng.integers(0, 2, rows)
    return X, np.minimum(y, n_classes - 1)


def test_hinge_of_two_classes_is_the_squared_hinge_of_a_linear_svm():
    """LinearSVC has one vector v = phi_1 - phi_0 with ||phi||^2 = ||v||^2 / 2, and margin 1 as here: C = 1 / alpha."""
    X, y = levels()
    model = LRClassifier(order=1, objective="hinge", alpha=0.5, solver="tron", tol=0.0, max_iter=100).fit(X, y)
    one_hot = np.hstack([OneHotEncoder(sparse_output=False).fit_transform(X), np.ones((len(X), 1))])
    svm = LinearSVC(C=1 / 0.5, loss="squared_hinge", dual=False, fit_intercept=False, tol=1e-12, max_iter=10_000)
    np.testing.assert_allclose(model.decision_function(X), svm.fit(one_hot, y).decision_function(one_hot), atol=1e-5)


def test_hinge_has_scores_and_no_probabilities():
    X, y = levels(n_classes=3)
    model = LRClassifier(objective="hinge", alpha=0.3).fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_log_proba")
    with pytest.raises(AttributeError, match="has no attribute 'predict_proba'"):
        model.predict_proba(X)
    assert model.decision_function(X).shape == (len(X), 3)
    assert model.score(X, y) > 0.6
    frame = model.trace_.frame()
    assert frame["nll"].isna().all()
    assert frame["train_rmse"].isna().all()
    assert np.isfinite(frame["objective"]).all()
    assert hasattr(clone(model).set_params(objective="nll"), "predict_proba")


def test_mse_objective_reaches_a_lower_squared_error_than_log_loss():
    X, y = mixed()[:2]
    squares = {}
    for objective in ("nll", "mse"):
        model = LRClassifier(order=1, objective=objective, alpha=0, max_iter=500, tol=1e-9, solver="tron").fit(X, y)
        p = model.predict_proba(X) - (np.asarray(y)[:, None] == model.classes_)
        squares[objective] = (p**2).mean()
        assert model.trace_.frame()["train_rmse"].iloc[-1] ** 2 == pytest.approx(squares[objective], rel=1e-9)
    assert squares["mse"] < squares["nll"]


def test_weights_stay_between_bounds():
    X, y = levels(n_classes=3)
    model = ALRClassifier(order=1, bounds=(0, 1), alpha=0).fit(X, y)
    assert 0 <= model.weights_.min() < model.weights_.max() == 1
    assert ALRClassifier(order=1, alpha=0).fit(X, y).weights_.max() > 1  # which they do not by themselves
