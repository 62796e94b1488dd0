"""scale="diagonal-adaptive": units that follow the Hessian's diagonal from step to step, while phi and memory stay."""

from itertools import islice, pairwise

import numpy as np
import pytest
from scipy.special import softmax

from alrviz.fitting.solvers import LBFGS, GradientDescent
from alrviz.fitting.solvers.line_search import two_loop
from alrviz.fitting.solvers.state import REFRESH_STEPS
from alrviz.models import parameterisation
from alrviz.passes.vectors import dot
from tests.fitting.tables import drain, prepared_objective, run_of, states, table
from tests.oracles.rows import naive_scatter

ADAPTIVE = {"scale": "diagonal-adaptive"}


def make(params, **more):
    encoded = table(150, (3, 4, 2, 3), 3, weights="fractions")
    return encoded, *prepared_objective(encoded, "lr", order=2, penalty="phi", **{"alpha": 0.3, **params, **more})


@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("size", [0.3, 30.0])
def test_the_metric_is_that_of_the_formula(alpha, size):
    encoded, objective, w0 = make(ADAPTIVE, alpha=alpha)
    w = w0 + size * np.random.default_rng(0).normal(size=w0.shape)
    metric = objective.metric(objective.value_grad(w))
    p = softmax(objective.model(w).scores(encoded.codes, 1), axis=1)
    variance = encoded.weights[:, None] * p * (1 - p)
    of = objective.parameterisation
    cells = naive_scatter(encoded.codes, encoded.levels.tolist(), 2, variance)[of.tables.seen_cells]
    sums = np.concatenate([cells, variance.sum(axis=0)[None]])
    counts = np.append(of.tables.counts.sum(axis=1), of.tables.class_counts.sum())
    pi = np.exp(of.tables.log_pi)
    least = 1e-3 * counts[:, None] * pi * (1 - pi)
    np.testing.assert_allclose(metric, 1 / (np.maximum(sums, least) + 2 * alpha), rtol=1e-9)
    assert (least > sums).any() == (size == 30.0)  # both sides of the floor have been seen


def test_lower_bound_of_the_metric_is_cached(monkeypatch):
    asked, worked_out = [], parameterisation.curvature_at_shares
    monkeypatch.setattr(parameterisation, "curvature_at_shares", lambda of: asked.append(of) or worked_out(of))
    run = drain(run_of(table(), "lr", scale="diagonal-adaptive", max_iter=4, tol=0.0))
    assert (len(run.trace), len(asked)) == (5, 1)


def test_only_adaptive_has_a_metric():
    for params in ({}, {"scale": "diagonal"}):
        _, objective, w0 = make(params)
        assert objective.metric(objective.value_grad(w0)) is None


def test_with_a_metric_that_stays_it_is_the_path_of_the_static_scale():
    """L-BFGS in w from g I is L-BFGS in phi from g diag(s^2): so says the formula, and here are both."""
    _, static, w0 = make({"scale": "diagonal"})
    _, moving, phi0 = make(ADAPTIVE)
    moving.metric = lambda point: static.scale**2
    for solver in (LBFGS(4), GradientDescent()):
        for one, other in islice(zip(states(solver, static, w0), states(solver, moving, phi0), strict=True), 20):
            assert other.point.objective == pytest.approx(one.point.objective, rel=1e-9)
            np.testing.assert_allclose(other.point.w, static.scale * one.point.w, rtol=1e-4, atol=1e-6)
        assert one.point.objective < 0.99 * static.value_grad(w0).objective


def test_two_loop_with_a_metric_starts_from_it():
    rng = np.random.default_rng(0)
    metric, pairs = rng.uniform(0.1, 5.0, (3, 2)), []
    A = np.diag(rng.uniform(0.5, 2.0, 6)) + 0.1
    for _ in range(3):
        s = rng.normal(size=(3, 2))
        y = (A @ s.ravel()).reshape(3, 2)
        pairs.append((s, y, 1 / dot(s, y)))
    s, y, rho = pairs[-1]
    H = np.diag(metric.ravel()) / (rho * dot(y, metric * y))
    for s, y, rho in pairs:
        V = np.eye(6) - rho * np.outer(y.ravel(), s.ravel())
        H = V.T @ H @ V + rho * np.outer(s.ravel(), s.ravel())
    g = rng.normal(size=(3, 2))
    np.testing.assert_allclose(two_loop(g.copy(), tuple(pairs), metric).ravel(), H @ g.ravel(), rtol=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("solver", ["lbfgs", "gd"])
def test_every_step_descends_and_costs_half_a_pass_more(solver, alpha):
    run = drain(run_of(table(), "lr", order=2, alpha=alpha, solver=solver, max_iter=60, tol=0.0, **ADAPTIVE))
    values = run.trace.frame()["objective"].to_numpy()
    assert all(b <= a + 1e-12 * abs(a) for a, b in pairwise(values))
    assert values[-1] < 0.9 * values[0]
    assert run.trace[-1].passes == 1 + 1.5 * 60 + 60 // REFRESH_STEPS
    np.testing.assert_allclose(run.model_at(60)[1].phi, run.model.phi, rtol=1e-6)


def test_fit_ends_at_the_optimum_of_lr():
    encoded = table(weights="fractions")
    ends = [
        drain(run_of(encoded, "lr", order=2, alpha=1.0, start=start, tol=1e-14, max_iter=3000, **scale)).trace[-1]
        for start in ("zero", "anje")
        for scale in ({}, ADAPTIVE)
    ]
    assert max(end.objective for end in ends) == pytest.approx(min(end.objective for end in ends), rel=1e-11)
    assert len({end.index for end in ends}) > 1
