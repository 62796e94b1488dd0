"""SciPy's L-BFGS-B in the stream: its own iterates one by one, bounds, ends, and threads that are gone when it is."""

import gc
import threading
from itertools import islice

import numpy as np
import pytest
from scipy.optimize import minimize

from alrviz.errors import AlrvizError, RecipeError, Stopped
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers import LBFGSB
from tests.fitting.tables import drain, prepared_objective, run_of, same_steps, states, table


def make(family="alr", **params):
    encoded = table(200, (3, 4, 2, 3), 3, weights="fractions")
    return prepared_objective(encoded, family, **{"order": 2, "alpha": 0.01, "penalty": "phi", **params})


def helpers():
    return [thread for thread in threading.enumerate() if thread.name == "alrviz-lbfgsb" and thread.is_alive()]


@pytest.fixture(autouse=True)
def no_thread_is_left_behind():
    yield
    if helpers():
        gc.collect()
    for thread in helpers():
        thread.join(5)
    assert not helpers()


def scipy_iterates(objective, w0, **options):
    seen = [w0.ravel()]

    def value_and_gradient(flat):
        point = objective.value_grad(flat.reshape(w0.shape))
        return point.objective, point.gradient.ravel()

    found = minimize(
        value_and_gradient, w0.ravel(), jac=True, method="L-BFGS-B", callback=lambda x: seen.append(x.copy()),
        options={"maxcor": 5, "ftol": 1e7 * 2.0**-52, "gtol": 1e-33, "maxiter": 10_000, "maxfun": 10_000}, **options,
    )  # fmt: skip
    return seen, found


@pytest.mark.parametrize("bounds", [None, (0, 1)])
def test_the_iterates_are_scipy_s_own(bounds):
    objective, w0 = make(bounds=bounds, alpha=0.3)
    expected, found = scipy_iterates(objective, w0, bounds=None if bounds is None else [bounds] * w0.size)
    fitted = []
    for state in states(LBFGSB(5), objective, w0):
        fitted.append(state)
        if state.stalled:
            break
    assert len(fitted) == len(expected) + 1  # the last one says why it ended
    for state, x in zip(fitted, expected, strict=False):
        assert np.array_equal(state.point.w.ravel(), x)
        assert np.array_equal(state.point.z, objective.scores(state.point.w))
    assert fitted[-1].evaluations == fitted[-1].passes == found.nfev
    assert fitted[-1].note.endswith(found.message.lower())
    assert fitted[-1].point is fitted[-2].point


def test_bounds_hold_for_every_weight_and_cost_something():
    free, bound = (
        drain(run_of(table(200), "alr", order=1, alpha=0.0, solver="lbfgsb", bounds=bounds))
        for bounds in (None, (0, 1))
    )
    w = bound.state.point.w
    assert w.min() == 0.0
    assert w.max() == 1.0
    assert ((w > 0) & (w < 1)).any()
    assert free.state.point.w.max() > 1
    assert bound.trace[-1].objective > free.trace[-1].objective
    assert bound.outcome.code == "converged"


def test_the_criterion_between_bounds_is_the_projected_gradient():
    objective, w0 = make(bounds=(0, 1))
    point = objective.value_grad(np.zeros_like(w0))
    inward = np.minimum(point.gradient, 0.0) / objective.scale
    assert objective.criterion(point) == pytest.approx(np.abs(inward).max() / objective.total, rel=1e-14)
    assert make()[0].criterion(point) > objective.criterion(point)


def test_a_start_beyond_the_bounds_is_moved_between_them():
    objective, w0 = make(bounds=(0, 1))
    state = LBFGSB().init(objective, w0 - 3.0)
    assert not state.point.w.any()
    state.released()


def test_bounds_are_only_for_the_solver_that_keeps_them():
    with pytest.raises(RecipeError, match=r"'auto'.*'lbfgsb'"):
        Recipe("alr", bounds=(0, 1), solver="lbfgs", alpha=1.0)
    assert Recipe("alr", bounds=[0, 1], alpha=1.0).params["bounds"] == (0, 1)
    assert Recipe("alr", bounds=(0, 1), alpha=1.0).solver == "lbfgsb"
    recipe = Recipe("alr", bounds=(0, 1), alpha=1.0)
    assert Recipe.from_json(recipe.to_json()) == recipe
    with pytest.raises(RecipeError, match=r"expected one of None, \(0, 1\)"):
        Recipe("alr", bounds=(0, 2), alpha=1.0)


def test_the_first_steps_are_those_of_a_shorter_fit():
    encoded = table(150)
    long = drain(run_of(encoded, "alr", alpha=0.1, solver="lbfgsb", max_iter=9))
    short = drain(run_of(encoded, "alr", alpha=0.1, solver="lbfgsb", max_iter=4))
    assert same_steps(short.trace, long.trace.since(0)[:5])


def test_the_end_of_a_run_ends_the_thread():
    run = run_of(table(150), "alr", alpha=0.1, solver="lbfgsb", max_iter=3, tol=0.0)
    for step in run.steps():
        if step.index == 2:
            assert len(helpers()) == 1
    assert run.outcome.code == "step limit"
    thread = helpers()
    assert run.state.carry is None
    for one in thread:
        one.join(5)
        assert not one.is_alive()


def test_a_stop_between_steps_ends_the_thread():
    run = run_of(table(150), "alr", alpha=0.1, solver="lbfgsb")
    run.advance(), run.advance()
    (thread,) = helpers()
    run.stop()
    thread.join(5)
    assert not thread.is_alive()
    assert run.advance() is None


def test_a_stop_in_the_middle_of_a_step_ends_it(monkeypatch):
    run = run_of(table(150), "alr", alpha=0.1, solver="lbfgsb")
    run.advance()
    (thread,) = helpers()
    objective, value_grad = run._fit.objective, run._fit.objective.value_grad

    def stopping(w):
        run.stop()
        return value_grad(w)

    monkeypatch.setattr(objective, "value_grad", stopping)
    assert run.advance() is None
    thread.join(5)
    assert not thread.is_alive()
    assert run.outcome.code == "stopped"
    assert len(run.trace) == 1


def test_unreferenced_run_ends_its_thread():
    run = run_of(table(150), "alr", alpha=0.1, solver="lbfgsb")
    run.advance()
    (thread,) = helpers()
    del run
    gc.collect()
    thread.join(5)
    assert not thread.is_alive()


def test_an_error_in_the_objective_is_raised_where_the_step_was_asked_for(monkeypatch):
    objective, w0 = make()
    state = LBFGSB().init(objective, w0)
    monkeypatch.setattr(objective, "value_grad", lambda w: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        LBFGSB().advance(objective, state)


def test_scipy_state_cannot_go_back():
    objective, w0 = make()
    first, second = islice(states(LBFGSB(), objective, w0), 2)
    with pytest.raises(AlrvizError, match="is at step 1 and cannot go back to step 0"):
        LBFGSB().advance(objective, first)
    second.released()


@pytest.mark.parametrize("iterates", [0, 2])
def test_waiting_for_a_closed_thread_raises(iterates):
    objective, w0 = make()
    *_, state = islice(states(LBFGSB(), objective, w0), iterates + 1)
    state.released()
    told = []

    def ask():
        for _ in range(2):
            try:
                LBFGSB().advance(objective, state)
            except Stopped as error:
                told.append(str(error))

    waiting = threading.Thread(target=ask, daemon=True)
    waiting.start()
    waiting.join(20)
    assert not waiting.is_alive()
    assert told == ["SciPy's L-BFGS-B was closed"] * 2


def test_stop_just_before_a_step_ends_the_run(monkeypatch):
    run = run_of(table(150), "alr", alpha=0.1, solver="lbfgsb")
    run.advance()
    following = run._next_step

    def overtaken():
        run.stop()
        return following()

    monkeypatch.setattr(run, "_next_step", overtaken)
    assert run.advance() is None
    assert run.outcome.code == "stopped"
    assert len(run.trace) == 1
