"""Every way in which a fit ends, each from a state that calls for it."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from alrviz.fitting.solvers import LBFGS
from alrviz.fitting.solvers.convergence_test import WINDOW_STEPS, ConvergenceTest
from tests.fitting.tables import drain, prepared_objective, run_of, separable, states, table


@pytest.fixture
def fitted():
    objective, w0 = prepared_objective(table(150, signal=0.5), "lr", order=1, alpha=0.5)
    return objective, list(islice(states(LBFGS(), objective, w0), 30))


def codes(judge, states):
    return [None if (told := judge.verdict(state)) is None else told.code for state in states]


def test_step_limit(fitted):
    objective, states = fitted
    judge = ConvergenceTest(objective, 3, 0.0)
    assert codes(judge, states[:4]) == [None, None, None, "step limit"]
    assert judge.verdict(states[3]).sentence == "max_iter=3 steps were taken and F was still falling"
    rising = ConvergenceTest(objective, 1, 0.0)
    for index in (0, 1):
        told = rising.verdict(replace(states[1 - index], index=index))
    assert told.sentence == "max_iter=1 steps were taken and F was not settled"


def test_converged_needs_a_flat_window_and_small_slopes(fitted):
    objective, states = fitted
    told = codes(ConvergenceTest(objective, 100, 1e-6), states)
    end = told.index("converged")
    values = [state.point.objective for state in states]
    assert end >= WINDOW_STEPS
    assert values[end - WINDOW_STEPS] - values[end] < 1e-6 * values[end]
    assert objective.criterion(states[end].point) < 1e-3
    for k in range(WINDOW_STEPS, end):  # not a step too late
        assert (
            values[k - WINDOW_STEPS] - values[k] >= 1e-6 * values[k] or objective.criterion(states[k].point) >= 1e-3
        )  # fmt: skip
    flat_but_steep = ConvergenceTest(objective, 100, 1e-12)
    steep = replace(states[0], point=replace(states[0].point))
    assert codes(flat_but_steep, [steep] * 8) == [None] * 8  # F stands still, its slopes are not small


def test_a_step_with_an_inner_loop_counts_as_many_as_that_has_turns(fitted):
    """A step that lowers F by nothing ends a fit at once if it is worth five; four of one turn each do not."""
    objective, states = fitted
    steep, flat = states[0], states[-1]
    for turns, steps in [(1, WINDOW_STEPS), (2, 3), (WINDOW_STEPS, 1), (40, 1)]:
        told = codes(ConvergenceTest(objective, 100, 1e-6), [steep, flat, *[replace(flat, turns=turns)] * 6])
        assert told.index("converged") == steps + 1
    assert codes(ConvergenceTest(objective, 100, 1e-6), [steep, replace(flat, turns=40)]) == [
        None,
        None,
    ]  # F fell in those


@pytest.mark.parametrize("turns", [WINDOW_STEPS - 1, WINDOW_STEPS, WINDOW_STEPS + 1, 40])
def test_decrease_is_shared_among_turns_of_the_inner_loop(fitted, turns):
    objective, states = fitted
    high, flat = states[0], states[-1]
    fall = high.point.objective / flat.point.objective - 1.0
    for tol in (0.99, 1.01):
        judge = ConvergenceTest(objective, 100, tol * fall * min(1.0, WINDOW_STEPS / turns))
        assert codes(judge, [high, replace(flat, turns=turns)])[1] == (
            "converged" if tol > 1.0 and turns >= WINDOW_STEPS else None
        )


def test_a_stalled_state_has_converged(fitted):
    objective, states = fitted
    told = ConvergenceTest(objective, 100, 0.0).verdict(replace(states[4], stalled=True))
    assert told.code == "converged"
    assert "precision of floating point" in told.sentence


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_value_that_is_no_number_has_diverged(fitted, bad):
    objective, states = fitted
    state = replace(states[2], point=replace(states[2].point, objective=bad))
    judge = ConvergenceTest(objective, 100, 1e-6)
    told = judge.verdict(state)
    assert told.code == "diverged"
    assert "step 2" in told.sentence
    assert judge.confirm(told, state) == told


def test_nothing_to_fit_has_converged_at_the_start(fitted):
    objective, states = fitted
    told = ConvergenceTest(objective, 0, 1e-6).verdict(states[0])
    assert (told.code, told.sentence) == (
        "converged", "nothing was to be fitted: these are the weights of the start",
    )  # fmt: skip


def test_scores_that_are_not_those_of_the_weights_fail(fitted):
    objective, states = fitted
    judge, state = ConvergenceTest(objective, 3, 1e-6), states[3]
    told = judge.verdict(state)
    assert judge.confirm(told, state) is told
    z = state.point.z.copy()
    z[7, 1] += 1e-6
    failed = judge.confirm(told, replace(state, point=replace(state.point, z=z)))
    assert failed.code == "failed"
    assert "differ by" in failed.sentence
    z[7, 1] = state.point.z[7, 1] + 1e-13
    assert judge.confirm(told, replace(state, point=replace(state.point, z=z))) is told


def test_separated_means_all_rows_lead_without_a_penalty():
    run = drain(run_of(separable(), "lr", order=2, alpha=0.0, max_iter=500, tol=0.0))
    assert run.outcome.code == "separated"
    assert run.trace[-1].nll < 1e-6 * 30 <= run.trace[-2].nll
    assert run.trace[-1].extra["lead"] == 1.0
    assert run.trace[-1].extra["train_error"] == 0.0


def test_a_penalised_fit_is_never_called_separated():
    """However small the loss, the penalty has a minimum: a best model exists."""
    run = drain(run_of(separable(), "lr", order=2, alpha=1e-12, max_iter=500))
    assert run.trace[-1].extra["lead"] == 1.0
    assert run.trace[-1].nll < 1e-6 * 30
    assert run.outcome.code != "separated"


def test_a_bounded_fit_is_never_called_separated():
    """Its weights cannot grow without end: a best model exists between the bounds."""
    run = drain(run_of(separable(), "alr", order=2, alpha=0.0, bounds=(0, 1), start="zero", smoothing=1e-9))
    assert run.trace[-1].extra["lead"] == 1.0
    assert run.trace[-1].nll < 1e-6 * 30
    assert run.outcome.code == "converged"


def test_equal_scores_are_not_separated():
    """Two rows alike in everything but their class can never both lead."""
    twins = separable()
    twins.codes[:, 1] = twins.codes[:, 0]
    assert twins.y[0] != twins.y[1]
    run = drain(run_of(twins, "lr", order=2, alpha=0.0, max_iter=300))
    assert run.outcome.code != "separated"
    assert run.trace[-1].extra["lead"] < 1.0
