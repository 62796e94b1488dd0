"""Tron: its step against a dense solve, its optimum against SciPy's Newton, its passes counted one by one."""

from itertools import islice, pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse.linalg import cg

from alrviz.errors import Stopped
from alrviz.fitting.solvers import LBFGS, Tron
from alrviz.fitting.solvers import tron as tron_module
from alrviz.fitting.solvers.tron import (
    DAMPING,
    MAX_PAIRS,
    MIN_DECREASE,
    PATIENCE_STEPS,
    CurvaturePairs,
    LBFGSStart,
    Region,
    _damp_diagonal,
    newton_step,
)
from alrviz.passes.aligned_buffers import BufferPool
from alrviz.passes.vectors import dot
from alrviz.stop import StopToken
from tests.fitting.tables import prepared_objective, separable, states, table

METRICS = [("lr", {}), ("alr", {}), ("alr", {"scale": "theta-gamma"}), ("lr", {"scale": "diagonal"})]
LOSSES = ["nll", "mse", "hinge"]


def make(family="lr", params=None, rows=200, **more):
    encoded = table(rows, (3, 4, 2, 3), 3, weights="fractions")
    return prepared_objective(encoded, family, **{"order": 2, "alpha": 0.5, **(params or {}), **more})


def dense_hessian(objective, point):
    n = point.w.size
    columns = [objective.hvp(point, unit.reshape(point.w.shape)).ravel() for unit in np.eye(n)]
    return np.stack(columns, axis=1)


@pytest.mark.parametrize(("family", "params"), METRICS)
def test_the_diagonal_is_that_of_the_hessian(family, params):
    objective, w0 = make(family, params)
    point = objective.value_grad(w0 + np.random.default_rng(0).normal(size=w0.shape))
    expected = np.diag(dense_hessian(objective, point))
    np.testing.assert_allclose(objective.hessian_diagonal(point).ravel(), expected, rtol=1e-10)


def test_the_step_is_newton_s_and_ends_at_the_radius():
    objective, w0 = make()
    point = objective.value_grad(w0)
    metric = objective.hessian_diagonal(point)
    whole, products = newton_step(objective, point, 1 / metric, 1e9, 1e-12)
    hessian, found = dense_hessian(objective, point), []
    cg(
        hessian, -point.gradient.ravel(), rtol=0.0, atol=1e-12 * dot(point.gradient, point.gradient) ** 0.5,
        M=np.diag(1 / metric.ravel()), callback=found.append,
    )  # fmt: skip
    assert abs(products - len(found)) <= 2  # as many as SciPy takes, which measures the end otherwise
    expected = np.linalg.solve(hessian, -point.gradient.ravel())
    np.testing.assert_allclose(whole.ravel(), expected, rtol=1e-7, atol=1e-9)
    length = np.sqrt(dot(metric, whole**2))
    for share in (0.1, 0.5, 0.9):
        step, fewer = newton_step(objective, point, 1 / metric, share * length, 1e-12)
        assert np.sqrt(dot(metric, step**2)) == pytest.approx(share * length, rel=1e-9)
        assert fewer <= products
        model = dot(point.gradient, step) + 0.5 * dot(step, objective.hvp(point, step))
        cauchy = -point.gradient / metric
        cauchy *= min(1.0, share * length / np.sqrt(dot(metric, cauchy**2)))
        steepest = dot(point.gradient, cauchy) + 0.5 * dot(cauchy, objective.hvp(point, cauchy))
        assert model <= steepest * (1 - 1e-12)


@pytest.mark.parametrize("penalty", ["phi", "w"])
@pytest.mark.parametrize(("family", "params"), METRICS)
def test_tron_ends_where_scipy_s_newton_ends_to_the_ninth_digit(family, params, penalty):
    objective, w0 = make(family, params, penalty=penalty)
    shape = w0.shape
    reference = minimize(
        lambda flat: objective.value_grad(flat.reshape(shape)).objective,
        w0.ravel(),
        jac=lambda flat: objective.value_grad(flat.reshape(shape)).gradient.ravel(),
        hessp=lambda flat, d: objective.hvp(objective.value_grad(flat.reshape(shape)), d.reshape(shape)).ravel(),
        method="trust-ncg",
        options={"gtol": 1e-7 * objective.total},
    )
    fitted = states(Tron(), objective, w0)
    last = next(
        s for s in islice(fitted, 30) if dot(s.point.gradient, s.point.gradient) ** 0.5 < 1e-9 * objective.total
    )
    assert last.point.objective == pytest.approx(reference.fun, rel=1e-10)
    assert last.point.objective <= reference.fun * (1 + 1e-13)


def test_the_units_of_the_weights_make_no_difference():
    """The preconditioner undoes them: with the penalty on phi every family takes the same steps in phi."""
    paths = []
    for family, params in METRICS:
        objective, w0 = make(family, params, penalty="phi", alpha=1.0)
        paths.append([(s.point.objective, s.passes) for s in islice(states(Tron(), objective, w0), 5)])
    for path in paths[1:]:
        np.testing.assert_allclose(path, paths[0], rtol=1e-8)


@pytest.mark.parametrize("penalty", ["phi", "w"])
@pytest.mark.parametrize("alpha", [0.0, 0.5, 50.0])
def test_the_metric_is_milder_than_the_diagonal_where_rows_and_penalty_meet(alpha, penalty):
    """One metric of what is penalised, M = D / sqrt(1 + 2 alpha D / DAMPING): of phi in any units of w, or of w."""
    for family, params in METRICS:
        objective, w0 = make(family, params, penalty=penalty, alpha=alpha)
        diagonal = objective.hessian_diagonal(objective.value_grad(w0))
        unit = objective.parameterisation.scale if penalty == "phi" else np.ones_like(diagonal)
        pulled = np.divide(diagonal, unit**2, out=np.zeros_like(diagonal), where=unit != 0)
        expected = unit**2 * pulled / np.sqrt(1 + 2 * alpha * pulled / DAMPING)
        np.testing.assert_allclose(_damp_diagonal(diagonal.copy(), objective), expected, rtol=1e-12)
        assert (expected[unit != 0] < diagonal[unit != 0]).all() == (alpha > 0)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("loss", LOSSES)
def test_every_step_descends_and_every_pass_is_counted(loss, alpha, monkeypatch):
    objective, w0 = make("alr", objective=loss, alpha=alpha)
    calls = []
    for name in ("_expand", "_gather"):
        method = getattr(objective, name)
        monkeypatch.setattr(objective, name, lambda *a, _of=method, **k: calls.append(1) or _of(*a, **k))
    fitted = []
    for state in islice(states(Tron(), objective, w0), 12):
        fitted.append(state)
        assert state.passes == len(calls) / 2
    assert all(b.point.objective <= a.point.objective * (1 + 1e-12) for a, b in pairwise(fitted))
    assert fitted[-1].point.objective < 0.9 * fitted[0].point.objective
    assert [state.index for state in fitted] == list(range(12))


def test_the_start_is_lbfgs_in_the_metric_of_the_class_shares():
    """In units of that metric its steps are those of plain L-BFGS; the diagonal family measures w in them."""
    objective, w0 = make("lr", {"penalty": "phi"})
    scaled, v0 = make("lr", {"scale": "diagonal", "penalty": "phi"})
    np.testing.assert_allclose(objective.diagonal_at_shares() * scaled.scale**2, 1.0, rtol=1e-12)
    paths = [islice(states(Tron(4), objective, w0), 6), islice(states(LBFGS(4), scaled, v0), 6)]
    for mine, theirs in zip(*paths, strict=True):
        assert isinstance(mine.carry, LBFGSStart)
        assert mine.point.objective == pytest.approx(theirs.point.objective, rel=1e-6)
        np.testing.assert_allclose(mine.point.w, scaled.scale * theirs.point.w, rtol=1e-3, atol=1e-4)


def test_the_start_ends_where_steps_have_become_slow():
    objective, w0 = make()
    path = list(islice(states(Tron(), objective, w0), 25))
    values = [state.point.objective for state in path]
    end = next(k for k, state in enumerate(path) if not isinstance(state.carry, LBFGSStart))
    slow = [a - b < MIN_DECREASE * a for a, b in pairwise(values)][:end]
    assert slow[-PATIENCE_STEPS:] == [True] * PATIENCE_STEPS
    assert not any(all(slow[k : k + PATIENCE_STEPS]) for k in range(end - PATIENCE_STEPS))
    assert [state.extra["products"] == 0 for state in path[1:]] == [k <= end for k in range(1, 25)]
    assert all(isinstance(state.carry, Region) for state in path[end + 1 :])
    assert [state.turns for state in path[end + 1 :]] == [state.extra["products"] for state in path[end + 1 :]]
    early = list(islice(states(Tron(max_start_steps=end - 2), objective, w0), 25))
    assert [state.extra["products"] == 0 for state in early[1:]] == [k <= end - 2 for k in range(1, 25)]
    none = next(islice(states(Tron(memory=0), objective, w0), 1, None))
    assert isinstance(none.carry, Region)
    assert none.extra["products"] > 0


def test_pairs_of_an_inner_loop_precondition_the_next():
    """The equations and their solution stay. Who has kept every direction of one loop needs hardly another turn."""
    objective, w0 = make("lr", {"alpha": 0.1})
    point = objective.value_grad(w0)
    loop = (objective, point, 1 / objective.hessian_diagonal(point), 1e9, 1e-6)
    few, every = CurvaturePairs(MAX_PAIRS, objective.buffers), CurvaturePairs(1000, objective.buffers)
    plain, turns = newton_step(*loop, new_pairs=few)
    newton_step(*loop, new_pairs=every)
    assert len(few.pairs) <= MAX_PAIRS < turns == len(every.pairs)
    for direction, bent, weight in few.pairs:
        np.testing.assert_allclose(objective.hvp(point, direction.astype(float)), bent, rtol=1e-4, atol=1e-3)
        assert weight == pytest.approx(1 / dot(direction, bent), rel=1e-5)
    for seen in (few, every):
        eased, fewer = newton_step(*loop, tuple(seen.pairs))
        np.testing.assert_allclose(eased, plain, rtol=1e-3, atol=1e-4)
        assert fewer != turns
    assert fewer < turns / 2  # they are kept in float32


@pytest.mark.parametrize("turns", [1, 2, 5, 6, 11, 40, 41, 1000])
def test_pairs_are_evenly_spread_over_their_loop(turns):
    seen = CurvaturePairs(MAX_PAIRS, BufferPool())
    for k in range(turns):
        seen.add(np.full(2, float(k)), np.ones(2), 1.0 + k)
    kept = [int(direction[0]) for direction, _, _ in seen.pairs]
    assert len(kept) == min(turns, MAX_PAIRS) if turns <= MAX_PAIRS else MAX_PAIRS // 2 < len(kept) <= MAX_PAIRS
    gaps = {b - a for a, b in pairwise(kept)}
    assert len(gaps) <= 1
    assert kept[0] == 0
    assert turns - kept[-1] <= max(gaps, default=1)
    assert [weight for *_, weight in seen.pairs] == [1 / (1.0 + k) for k in kept]


def test_pairs_too_few_to_tell_are_not_followed(monkeypatch):
    objective, w0 = make()
    monkeypatch.setattr(tron_module, "MAX_ETA", 0.9)  # loops of a turn or two
    for before, state in pairwise(islice(states(Tron(), objective, w0), 40)):
        if isinstance(before.carry, Region) and state.turns < tron_module.MIN_PAIRS:
            assert state.carry.pairs is before.carry.pairs
            break
    else:
        pytest.fail("no loop was so short")


def test_separable_data_never_end_in_nan():
    for family, params in METRICS:
        objective, w0 = prepared_objective(separable(), family, order=2, alpha=0.0, **params)
        *_, last = islice(states(Tron(), objective, w0), 40)
        assert np.isfinite(last.point.w).all()
        assert 0 <= last.point.objective < 1e-6


def test_a_start_at_the_optimum_stalls():
    encoded = table(2, (2, 2), 2)
    encoded.codes[:] = 0
    objective, w0 = prepared_objective(encoded, "lr", order=1, alpha=0.0)
    first, second = islice(states(Tron(), objective, w0), 2)
    assert second.stalled
    assert second.point is first.point


def test_stop_token_ends_the_inner_loop(monkeypatch):
    objective, w0 = make()
    objective.stop = token = StopToken()
    state = next(islice(states(Tron(memory=0), objective, w0), 2, None))
    products, hvp = [], objective.hvp

    def pulling(*args):
        products.append(1)
        if len(products) == 2:
            token.stop()
        return hvp(*args)

    monkeypatch.setattr(objective, "hvp", pulling)
    with pytest.raises(Stopped):
        Tron().advance(objective, state)
    assert len(products) == 2
