"""Solvers that search along lines, against SciPy's: they descend, states are values, scores are refreshed."""

from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from alrviz.errors import RecipeError
from alrviz.fitting.solvers import (
    LBFGS,
    ConjugateGradients,
    GradientDescent,
    line_search,
    make_solver,
    solver_support,
)
from alrviz.fitting.solvers import state as state_module
from alrviz.fitting.solvers.line_minimum import exact_step
from alrviz.fitting.solvers.line_search import two_loop
from alrviz.fitting.solvers.state import REFRESH_STEPS
from alrviz.passes.vectors import dot
from tests.fitting.tables import prepared_objective, separable, states, table

METRICS = [("lr", {}), ("alr", {}), ("lr", {"scale": "diagonal"})]


ALL = [LBFGS(3), LBFGS(), ConjugateGradients(), GradientDescent()]


def arrays_in(carry):
    """All arrays that a solver carries, however they are nested."""
    if isinstance(carry, np.ndarray):
        return [carry]
    return [array for part in carry for array in arrays_in(part)] if isinstance(carry, tuple) else []


def make(family="lr", params=None, rows=200, **more):
    encoded = table(rows, (3, 4, 2, 3), 3, weights="fractions")
    return prepared_objective(encoded, family, **{"order": 2, "alpha": 0.5, **(params or {}), **more})


@pytest.mark.parametrize("penalty", ["phi", "w"])
@pytest.mark.parametrize("solver", [LBFGS(), ConjugateGradients()])
@pytest.mark.parametrize(("family", "params"), METRICS)
def test_solvers_end_where_scipy_s_ends(family, params, solver, penalty):
    objective, w0 = make(family, params, penalty=penalty)

    def value_and_gradient(flat):
        point = objective.value_grad(flat.reshape(w0.shape))
        return point.objective, point.gradient.ravel()

    reference = minimize(
        value_and_gradient, w0.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 0, "gtol": 1e-9}
    )
    fitted = islice(states(solver, objective, w0), 1500)
    last = next((state for state in fitted if dot(state.point.gradient, state.point.gradient) < 1e-16), None)
    assert last is not None
    assert last.point.objective == pytest.approx(reference.fun, rel=1e-11)
    assert last.point.objective <= reference.fun * (1 + 1e-12)
    np.testing.assert_allclose(last.point.w, reference.x.reshape(w0.shape), atol=1e-5)


@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("solver", ALL)
@pytest.mark.parametrize(("family", "params"), METRICS)
def test_every_step_descends(family, params, solver, alpha):
    objective, w0 = make(family, params, alpha=alpha)
    fitted = list(islice(states(solver, objective, w0), 60))
    values = [state.point.objective for state in fitted]
    assert all(b <= a + 1e-12 * abs(a) for a, b in pairwise(values))
    assert values[-1] < 0.9 * values[0]
    assert [state.index for state in fitted] == list(range(60))
    assert fitted[0].passes == fitted[0].evaluations == 1
    assert fitted[-1].passes == 60 + (59 // REFRESH_STEPS)
    assert all(b.evaluations >= a.evaluations + 2 for a, b in pairwise(fitted))


@pytest.mark.parametrize("solver", ALL)
def test_advancing_leaves_the_old_state_as_it_was(solver):
    objective, w0 = make("alr")
    state = next(islice(states(solver, objective, w0), 6, None))
    point = state.point
    arrays = [point.w, point.z, point.gradient, *arrays_in(state.carry), w0]
    before = [array.copy() for array in arrays]
    first, second = solver.advance(objective, state), solver.advance(objective, state)
    for array, kept in zip(arrays, before, strict=True):
        assert np.array_equal(array, kept)
    assert np.array_equal(first.point.w, second.point.w)  # nothing is remembered beside the state
    assert first.point.objective == second.point.objective


def test_conjugate_gradients_solve_a_parabola_as_the_linear_method_does():
    """All in the penalty: F is a parabola but for rounding, and linear CG ends in as many steps as it has axes."""
    objective, w0 = make("alr", {"alpha": 1e9, "penalty": "phi", "center": "anje"})
    axes = len(np.unique(np.round(np.log(objective.scale**2), 6)))
    fitted = list(islice(states(ConjugateGradients(), objective, w0), 12))
    first, second = (fitted[k].point.gradient for k in (1, 2))
    assert abs(dot(first, second)) < 1e-2 * dot(first, first)
    assert axes > 12
    curved = objective.hvp(fitted[0].point, fitted[1].carry[0])
    assert abs(dot(curved, fitted[2].carry[0])) < 0.1 * dot(curved, fitted[1].carry[0])  # conjugate


def test_lbfgs_keeps_as_many_pairs_as_its_memory():
    objective, w0 = make()
    for memory in (1, 4):
        *_, last = islice(states(LBFGS(memory), objective, w0), 12)
        assert len(last.carry) == memory
        s, y, rho = last.carry[-1]
        assert rho == pytest.approx(1 / dot(s, y))


def test_two_loop_is_the_bfgs_formula():
    rng = np.random.default_rng(0)
    pairs, n = [], 6
    A = np.eye(n) + 0.1 * np.ones((n, n))
    for _ in range(4):
        s = rng.normal(size=(3, 2))
        y = (A @ s.ravel()).reshape(3, 2)
        pairs.append((s, y, 1 / dot(s, y)))
    s, y, rho = pairs[-1]
    H = np.eye(n) / (rho * dot(y, y))
    for s, y, rho in pairs:
        V = np.eye(n) - rho * np.outer(y.ravel(), s.ravel())
        H = V.T @ H @ V + rho * np.outer(s.ravel(), s.ravel())
    g = rng.normal(size=(3, 2))
    np.testing.assert_allclose(two_loop(g.copy(), tuple(pairs)).ravel(), H @ g.ravel(), rtol=1e-10)
    s, y, _ = pairs[-1]
    np.testing.assert_allclose(two_loop(y.copy(), tuple(pairs)), s, rtol=1e-10)  # the secant equation


def test_scores_are_recomputed_at_every_fiftieth_step_only():
    objective, w0 = make(rows=60, alpha=0.01)
    anew, calls = objective.value_grad, []
    objective.value_grad = lambda w: calls.append(1) or anew(w)
    for state in islice(states(GradientDescent(), objective, w0), 2 * REFRESH_STEPS + 2):
        assert len(calls) == 1 + state.index // REFRESH_STEPS  # the start point's are the first
        if state.index and state.index % REFRESH_STEPS == 0:
            assert np.array_equal(state.point.z, objective.scores(state.point.w))
    assert REFRESH_STEPS == 50


@pytest.mark.parametrize("solver", ALL)
def test_start_at_the_optimum_stalls_with_a_sentence(solver):
    """Two rows alike, one of each class: nothing is to be learned, and the gradient is 0 to the last bit."""
    encoded = table(2, (2, 2), 2)
    encoded.codes[:] = 0
    objective, w0 = prepared_objective(encoded, "lr", order=1, alpha=0.0)
    start, state = islice(states(solver, objective, w0), 2)
    assert not start.stalled
    assert state.stalled
    assert (state.index, state.step_size, state.passes) == (1, 0.0, 1.5)  # half a pass found that nothing falls
    assert state.point is start.point


def test_a_direction_that_fails_is_tried_again_as_steepest_descent(monkeypatch):
    objective, w0 = make()
    state = next(islice(states(LBFGS(), objective, w0), 5, None))
    monkeypatch.setattr(line_search, "two_loop", lambda q, pairs, *rest: -q)  # uphill
    new = LBFGS().advance(objective, state)
    assert not new.stalled
    assert new.point.objective < state.point.objective
    assert len(new.carry) == 1  # the memory that misled is forgotten
    assert new.passes == state.passes + 0.5 + 1.0  # what it took is not


def test_a_search_that_finds_nothing_is_charged(monkeypatch):
    objective, w0 = make()
    state = next(states(LBFGS(), objective, w0))
    monkeypatch.setattr(state_module, "exact_step", lambda *_, **__: (0.0, 7))
    for solver in ALL:
        spent = solver.advance(objective, replace(state, carry=() if isinstance(solver, LBFGS) else None))
        assert spent.stalled
        assert (spent.evaluations, spent.passes) == (8, 1.5)
    new, falls = state_module.line_search_step(objective, state, -state.point.gradient, None)
    assert not falls
    assert new.point is state.point


def test_a_predicted_step_where_f_is_higher_is_searched_for_again(monkeypatch):
    """The first search says a step a thousand times too long, untried; it is paid for, and the next one tries."""
    objective, w0 = make()
    state = next(states(LBFGS(), objective, w0))
    found = []

    def search(line, guess, convex, untried, exact):
        t, trials = exact_step(line, guess, convex)
        found.append(untried)
        return (1000.0 * t, 1) if untried else (t, trials)

    monkeypatch.setattr(state_module, "exact_step", search)
    direction = -state.point.gradient
    new, falls = state_module.line_search_step(objective, state, direction, None)
    t, trials = exact_step(objective.line_along(state.point, direction), None)
    assert found == [True, False]
    assert falls
    assert new.step_size == t
    assert new.point.objective < state.point.objective
    assert (new.evaluations, new.passes) == (state.evaluations + 1 + 1 + trials + 1, state.passes + 2.0)


def test_separable_data_never_end_in_nan():
    for family, params in METRICS:
        objective, w0 = prepared_objective(separable(), family, order=2, alpha=0.0, **params)
        *_, last = islice(states(LBFGS(), objective, w0), 200)
        assert np.isfinite(last.point.w).all()
        assert 0 <= last.point.objective < 1e-6


def test_a_solver_that_needs_more_than_there_is_names_those_that_fit(monkeypatch):
    objective, _ = make()
    monkeypatch.setitem(solver_support.NEEDS, "newton", frozenset({"value_grad", "inverse"}))
    with pytest.raises(
        RecipeError, match=r"solver='newton' needs 'inverse', which .* expected one of 'auto', 'lbfgs', 'cg', "
    ):
        make_solver("newton", 10, objective)
    assert make_solver("lbfgs", 7, objective) == LBFGS(7)
