"""The objective: its value against the oracle, its derivatives against differences, its parts against each other."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

from alrviz.models.linear import log_softmax
from alrviz.passes.vectors import dot
from tests.fitting.tables import drain, prepared_objective, run_of, table
from tests.oracles.tables import naive_anje, naive_log_pi, naive_log_theta, naive_objective

METRICS = [("lr", {}), ("alr", {}), ("alr", {"scale": "theta-gamma"}), ("lr", {"scale": "diagonal"})]
SHARED = [
    ("lr", {"share": "tuple"}),
    ("alr", {"share": "cell"}),
    ("alr", {"share": "tuple"}),
    ("alr", {"share": "all"}),
    ("alr", {"scale": "theta-gamma", "share": "cell"}),
]
CENTERS = [0, "anje"]


def make(family, params, *, seed=0, **more):
    encoded = table(120, (3, 4, 2), 3, seed=seed, weights="fractions", gaps=0.1)
    settings = {"order": 2, "missing": "skip", "alpha": 0.3, **params, **more}
    objective, w0 = prepared_objective(encoded, family, **settings)
    rng = np.random.default_rng(seed)
    return encoded, objective, w0 + rng.normal(size=w0.shape), rng.normal(size=w0.shape)


@pytest.mark.parametrize("penalty", ["phi", "w"])
@pytest.mark.parametrize("center", [0, 1, "anje"])
@pytest.mark.parametrize(("family", "params"), METRICS)
def test_value_is_the_naive_one(family, params, center, penalty):
    if family == "lr" and center == 1:
        center = 0
    encoded, objective, w, _ = make(family, params, center=center, penalty=penalty)
    codes, levels, y, weights = encoded.codes, encoded.levels.tolist(), encoded.y, encoded.weights
    seen = objective.parameterisation.tables.seen_cells
    phi = objective.scale * w
    gamma = objective.parameterisation.tables.space.gamma
    dense, bias = naive_anje(codes, levels, 2, y, weights, 3, 1.0)
    log_theta = naive_log_theta(codes, levels, 2, y, weights, 3, 1.0)
    log_theta = np.stack([log_theta[c] for c in seen])
    toward, toward_bias = {
        0: (0 * log_theta, 0 * bias),
        1: ((gamma if params else 1) * log_theta, naive_log_pi(y, weights, 3, 1.0)),
        "anje": (dense[seen], bias),
    }[center]
    scale, scale_bias = (1, 1) if penalty == "phi" else (objective.scale[:-1], objective.scale[-1])
    penalised = [(0.3, phi[:-1] / scale, toward / scale), (0.3, phi[-1] / scale_bias, toward_bias / scale_bias)]
    table_of_phi = np.zeros_like(dense)
    table_of_phi[seen] = phi[:-1]
    expected = naive_objective(codes, levels, 2, y, weights, table_of_phi, phi[-1], penalised)
    point = objective.value_grad(w)
    assert point.objective == pytest.approx(expected, rel=1e-12)
    assert point.objective == point.sums.nll + point.penalty
    assert objective.total == pytest.approx(weights.sum(), rel=1e-15)


@pytest.mark.parametrize("penalty", ["phi", "w"])
@pytest.mark.parametrize("center", CENTERS)
@pytest.mark.parametrize(("family", "params"), METRICS + SHARED)
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_gradient_and_hessian_vector_product_are_those_of_differences(family, params, center, penalty, alpha):
    center = 0 if family == "lr" and "share" in params else center  # AnJE needs lr's every weight
    _, objective, w, d = make(family, params, center=center, penalty=penalty, alpha=alpha)
    point, h = objective.value_grad(w), 1e-5
    up, down = objective.value_grad(w + h * d), objective.value_grad(w - h * d)
    assert dot(point.gradient, d) == pytest.approx((up.objective - down.objective) / (2 * h), rel=1e-7)
    differences = (up.gradient - down.gradient) / (2 * h)
    product = objective.hvp(point, d)
    assert np.abs(product - differences).max() < 1e-7 * np.abs(differences).max()
    for k in [(0, 0), (w.shape[0] // 2, -1), (-1, -1)]:  # single weights too, one of them a class weight
        unit = np.zeros_like(w)
        unit[k] = h
        slope = (objective.value_grad(w + unit).objective - objective.value_grad(w - unit).objective) / (2 * h)
        assert point.gradient[k] == pytest.approx(slope, rel=1e-5, abs=1e-5)


def test_hessian_is_symmetric_and_leaves_its_arguments_alone():
    _, objective, w, d = make("alr", {})
    point = objective.value_grad(w)
    other = np.random.default_rng(9).normal(size=w.shape)
    kept = [array.copy() for array in (w, d, point.z, point.gradient)]
    assert dot(objective.hvp(point, d), other) == pytest.approx(dot(objective.hvp(point, other), d), rel=1e-10)
    for before, after in zip(kept, (w, d, point.z, point.gradient), strict=True):
        assert np.array_equal(before, after)


@pytest.mark.parametrize(("family", "params"), SHARED)
def test_a_shared_weight_is_many_weights_that_move_together(family, params):
    """F of as many weights of their own is the same F, and its slope the sum of theirs."""
    _, shared, w, _ = make(family, params, penalty="phi", center=0)
    _, own, _, _ = make(
        family, {key: value for key, value in params.items() if key != "share"}, penalty="phi", center=0
    )
    weight_index = shared.parameterisation.weight_index
    point, spread = shared.value_grad(w), own.value_grad(w[:, 0][weight_index])
    assert point.objective == pytest.approx(spread.objective, rel=1e-12)
    sums = np.zeros(len(w))
    np.add.at(sums, weight_index, spread.gradient)
    np.testing.assert_allclose(point.gradient[:, 0], sums, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("family", "params"), SHARED)
def test_the_criterion_of_a_shared_weight_is_its_slope_over_the_norm_of_its_scales(family, params):
    _, objective, w, _ = make(family, params)
    point, weight_index = objective.value_grad(w), objective.parameterisation.weight_index
    slopes = [
        abs(point.gradient[j, 0]) / np.sqrt((objective.scale[weight_index == j] ** 2).sum()) / objective.total
        for j in range(len(w))
    ]
    assert objective.criterion(point) == pytest.approx(max(slopes), rel=1e-12)


@pytest.mark.parametrize("guess", [None, 0.4])
@pytest.mark.parametrize(("family", "params"), METRICS)
def test_a_line_knows_value_slope_and_curvature_and_where_it_leads(family, params, guess):
    _, objective, w, d = make(family, params, center="anje")
    point = objective.value_grad(w)
    line = objective.line_along(point, d, guess)
    assert line.slope == pytest.approx(dot(point.gradient, d), rel=1e-14)
    for t in (0.0, 0.4, -1.5):
        value, slope, curvature = line.derivatives_at(t)
        there = objective.value_grad(w + t * d)
        assert value == pytest.approx(there.objective, rel=1e-12)
        assert slope == pytest.approx(dot(there.gradient, d), rel=1e-9)
        assert curvature == pytest.approx(dot(objective.hvp(there, d), d), rel=1e-9)
    moved, fresh = line.move(0.4), objective.value_grad(w + 0.4 * d)
    np.testing.assert_allclose(moved.z, fresh.z, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(moved.gradient, fresh.gradient, rtol=1e-9, atol=1e-9)
    assert moved.objective == pytest.approx(fresh.objective, rel=1e-13)
    assert np.array_equal(objective.value_grad(moved.w).z, fresh.z)


def test_the_criterion_is_the_slope_in_phi_for_every_metric():
    values = []
    for family, params in METRICS:
        _, objective, w0, _ = make(family, params, alpha=0.0)
        point = objective.value_grad(np.zeros_like(w0))
        assert objective.criterion(point) == pytest.approx(
            np.abs(point.gradient / objective.scale).max() / objective.total
        )
        values.append(objective.criterion(point))
    np.testing.assert_allclose(values, values[0], rtol=1e-12)


def test_a_weight_whose_scale_is_zero_is_in_no_criterion():
    objective, w0 = prepared_objective(table(50, (1, 3)), "alr", order=1, alpha=0.0)
    assert (objective.scale[0] == 0).all()
    assert np.isfinite(objective.criterion(objective.value_grad(w0)))


def test_the_model_of_the_weights_scores_as_the_objective_does():
    encoded, objective, w, _ = make("alr", {})
    log_p = log_softmax(objective.model(w).scores(encoded.codes, 1))
    nll = -(encoded.weights * log_p[np.arange(encoded.n_rows), encoded.y]).sum()
    assert objective.value_grad(w).sums.nll == pytest.approx(nll, rel=1e-12)  # repeated rows are one in the objective


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("alpha", [0.05, 1.0])
def test_lr1_is_scikit_learn_s_on_the_one_hot(n_classes, alpha):
    """With the penalty on the intercept as on all else: a constant column stands for it.

    alpha is 1 / (2 C) of LogisticRegression with three classes or more, and 1 / C with two, where it has one vector.
    """
    encoded = table(300, (3, 4, 2), n_classes, seed=5, weights="fractions")
    run = drain(run_of(encoded, "lr", order=1, alpha=alpha, max_iter=3000, tol=0.0))
    one_hot = OneHotEncoder(sparse_output=False).fit_transform(encoded.codes.T)
    X = np.concatenate([one_hot, np.ones((300, 1))], axis=1)
    reference = LogisticRegression(
        C=1 / alpha if n_classes == 2 else 1 / (2 * alpha), solver="newton-cholesky", tol=1e-12, fit_intercept=False
    ).fit(X, encoded.y, sample_weight=encoded.weights)
    phi = np.concatenate([run.model.phi, run.model.bias[None]])
    if n_classes == 2:
        phi = (phi[:, 1] - phi[:, 0])[:, None]
    np.testing.assert_allclose(phi.T, reference.coef_, rtol=0, atol=1e-8)
    z = run.model.scores(encoded.codes, 1)
    p = np.exp(z - z.max(axis=1, keepdims=True))
    np.testing.assert_allclose(p / p.sum(axis=1, keepdims=True), reference.predict_proba(X), rtol=0, atol=1e-8)
