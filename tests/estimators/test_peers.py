"""Peers: they take the tables dlr takes, and each is the model its formula says."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from alrviz.errors import RecipeError
from alrviz.estimators.peers import PEERS, make_peer, numbers_of
from tests.estimators.tables import mixed


def curved(rows=150, classes=2, seed=0):
    """Points whose class is the ring they lie in, a column of text that helps, gaps in both."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, rows)
    angle, radius = rng.uniform(0, 2 * np.pi, rows), 1.0 + 2.0 * y + rng.normal(0, 0.2, rows)
    X = pd.DataFrame({"east": radius * np.cos(angle), "north": radius * np.sin(angle)})
    X["town"] = pd.Categorical(np.where(rng.random(rows) < 0.8, np.array(list("abc"))[y], "z"))
    X.loc[::19, "east"] = np.nan
    X.loc[::23, "town"] = None
    return X, np.array(["in", "out", "far"], dtype=object)[y]


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", PEERS)
def test_each_learns_a_mixed_table_with_gaps(name, classes):
    X, y = curved(classes=classes)
    X["constant"] = 1.0
    model = make_peer(name).fit(X, y)
    new = X.copy()
    new["town"] = "never seen"
    assert model.score(X, y) > 0.75
    assert set(model.predict(new)) <= set(y)
    assert is_classifier(model)
    assert list(model.classes_) == sorted(set(y))
    if name in ("lr", "klr-poly", "klr-rbf", "splines"):
        assert model.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    else:
        assert not hasattr(model, "predict_proba")
        assert model.decision_function(X).shape == ((len(X),) if classes == 2 else (len(X), 3))


@pytest.mark.parametrize("name", PEERS)
def test_each_takes_plain_arrays_and_every_value_of_its_grid(name):
    X, y = curved()
    points, y = X[["east", "north"]].fillna(0.0).to_numpy()[:60], y[:60]
    for parameter, values in PEERS[name].grid.items():
        for value in values:
            model = clone(make_peer(name)).set_params(**{parameter: value}).fit(points, y)
            assert model.get_params()[parameter] == value
            assert model.predict(points).shape == (60,)


def test_nonlinear_peers_see_a_ring_and_lr_does_not():
    X, y = curved(rows=300)
    points = X[["east", "north"]].fillna(0.0)
    scores = {name: make_peer(name).fit(points, y).score(points, y) for name in PEERS}
    assert scores.pop("lr") < 0.7
    assert scores.pop("svm-sigmoid") < 0.9, "tanh of an inner product has no ring"
    assert min(scores.values()) > 0.85, scores


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_kernel_lr_is_where_its_objective_is_least(kernel):
    """At the minimum f(x) = C sum_i (y_i - p_i) k(x_i, x)."""
    X, y = curved(rows=80)
    model = make_peer(f"klr-{kernel}").set_params(model__C=2.0, model__tol=1e-10).fit(X, y)
    z, gamma = model["columns"].transform(X), model["kernel"]._gamma
    K = rbf_kernel(z, gamma=gamma) if kernel == "rbf" else polynomial_kernel(z, gamma=gamma)
    residual = (y == model.classes_[1]) - model.predict_proba(X)[:, 1]
    assert 2.0 * K @ residual + model["model"].intercept_ == pytest.approx(model.decision_function(X), abs=1e-5)
    assert residual.sum() == pytest.approx(0.0, abs=1e-6), "the constant is free"


def test_least_squares_svm_solves_its_linear_system():
    """[0 1'; 1 K + alpha I] [b; a] = [0; y] ([Suykens] with alpha = 1/gamma)."""
    X, y = curved(rows=70)
    model = make_peer("lssvm-rbf").set_params(model__alpha=0.5).fit(X, y)
    z = model["columns"].transform(X)
    K, ones = rbf_kernel(z, gamma=model["kernel"]._gamma), np.ones(70)
    system = np.block([[np.zeros((1, 1)), ones[None]], [ones[:, None], K + 0.5 * np.eye(70)]])
    solved = np.linalg.solve(system, np.r_[0.0, np.where(y == model.classes_[1], 1.0, -1.0)])
    assert K @ solved[1:] + solved[0] == pytest.approx(model.decision_function(X), abs=1e-6)


def test_columns_become_numbers():
    X, _ = mixed()
    numbers = numbers_of().fit_transform(X)
    assert numbers.shape == (len(X), 2 + 3 + 2 + 2), "two numbers; a, b and a gap; two sizes; two flags"
    assert numbers[:, :2].mean(axis=0) == pytest.approx(0.0, abs=1e-12)
    assert numbers[:, :2].std(axis=0) == pytest.approx(1.0)
    assert np.array_equal(np.unique(numbers[:, 2:]), [0.0, 1.0])
    assert numbers[0, 0] == pytest.approx(0.0), "a gap is the mean"


def test_unknown_name_raises():
    with pytest.raises(RecipeError, match=r"no peer is called 'svm-rfb'; expected one of tan, .*mean 'svm-rbf'"):
        make_peer("svm-rfb")


def test_every_peer_has_a_note():
    for name, peer in PEERS.items():
        assert peer.name == name
        assert peer.label
        assert peer.note.endswith(".")
