"""The exact search on functions of one number: convex, separable, nowhere finite, already at the minimum."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alrviz.fitting.solvers.line_minimum import MAX_TRIALS, SLOPE_RATIO, SUFFICIENT_DECREASE, exact_step


class Scalar:
    """A function of t given as value, slope and curvature."""

    def __init__(self, function):
        self.function = function
        self.trials = []
        self.value, self.slope, _ = function(0.0)

    def derivatives_at(self, t):
        self.trials.append(t)
        return self.function(t)


def softplus(x):
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def logistic(x):
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


def mixture(terms, ridge=0.0):
    """Sum of c * softplus(a t) plus ridge t^2: what an NLL is along a line."""

    def function(t):
        value = sum(c * softplus(a * t) for c, a in terms) + ridge * t * t
        slope = sum(c * a * logistic(a * t) for c, a in terms) + 2 * ridge * t
        curvature = sum(c * a * a * logistic(a * t) * (1 - logistic(a * t)) for c, a in terms) + 2 * ridge
        return value, slope, curvature

    return function


def quadratic(minimum, curvature=2.0):
    return lambda t: (curvature / 2 * (t - minimum) ** 2, curvature * (t - minimum), curvature)


@pytest.mark.parametrize("minimum", [1e-6, 0.3, 1.0, 7.0, 1e5])
@pytest.mark.parametrize("guess", [None, 1.0])
def test_a_parabola_takes_two_trials(minimum, guess):
    line = Scalar(quadratic(minimum))
    t, trials = exact_step(line, guess)
    assert abs(t - minimum) <= SLOPE_RATIO * minimum
    assert trials == len(line.trials)
    if guess is None or minimum <= 10:
        assert trials <= 2


positive = st.floats(1e-3, 1e3)


@given(
    st.lists(st.tuples(positive, st.floats(-100, 100)), min_size=1, max_size=6),
    st.floats(0, 10),
    st.sampled_from([None, 1.0]),
)
def test_any_mixture_of_losses_falls_and_its_slope_is_small(terms, ridge, guess):
    line = Scalar(mixture(terms, ridge))
    if not line.slope < -1e-9:
        return
    t, trials = exact_step(line, guess)
    assert trials <= MAX_TRIALS + 1
    if t == 0.0:  # given up: only where rounding hides the fall
        assert trials >= MAX_TRIALS
        return
    value, slope, _ = line.derivatives_at(t)
    assert value <= line.value * (1 + 1e-12)
    assert abs(slope) <= SLOPE_RATIO * abs(line.slope) or trials >= MAX_TRIALS or slope <= 0


def test_a_gentle_slope_far_behind_the_minimum_is_not_taken_for_it():
    """Falls steeply for an instant, then rises for long, at a twentieth of the slope: F at 1 is above F at 0."""
    function = mixture([(0.001, -2000.0), (0.2, 0.5)])
    assert function(1.0)[0] > function(0.0)[0]
    assert abs(function(1.0)[1]) < SLOPE_RATIO * abs(function(0.0)[1])
    line = Scalar(function)
    t, _ = exact_step(line, 1.0)
    assert line.function(t)[0] < line.value


def test_separable_data_are_followed_by_ever_larger_steps():
    """softplus(-t) has no minimum: the step ends where the slope is a tenth, and never jumps more than tenfold."""
    line = Scalar(mixture([(1.0, -1.0)]))
    t, trials = exact_step(line, 1e-3)
    assert t > math.log(9)
    assert trials < MAX_TRIALS
    assert all(b <= 10.0001 * a for a, b in zip(line.trials, line.trials[1:], strict=False))


def test_a_slope_that_never_ends_is_given_up_after_so_many_trials():
    line = Scalar(lambda t: (-t, -1.0, 0.0))
    t, trials = exact_step(line, 1.0)
    assert trials == MAX_TRIALS
    assert t > 0
    assert math.isfinite(t)


@given(
    st.lists(st.tuples(positive, st.floats(-100, 100)), min_size=1, max_size=6),
    st.floats(0, 10),
    st.sampled_from([None, 1.0]),
)
def test_a_predicted_step_is_one_trial_before_the_end_and_its_slope_is_slight(terms, ridge, guess):
    line, tried = Scalar(mixture(terms, ridge)), Scalar(mixture(terms, ridge))
    if not line.slope < -1e-9:
        return
    t, trials = exact_step(line, guess, untried=True)
    assert trials == len(line.trials) <= exact_step(tried, guess)[1]
    assert line.trials == tried.trials[: len(line.trials)]
    assert t not in line.trials[:-1] or t == 0.0


def test_where_the_slope_is_a_parabola_its_zero_is_returned_untried():
    line = Scalar(lambda t: (t**3 / 3 + t * t - 1.25 * t, t * t + 2 * t - 1.25, 2 * t + 2))
    t, trials = exact_step(line, 0.7, untried=True)
    assert trials == 1
    assert t == pytest.approx(0.5, rel=1e-12)
    assert exact_step(line, 0.7)[1] == 2
    assert exact_step(line, 0.7, convex=False, untried=True)[1] == 2


def test_where_two_predictions_differ_the_step_is_tried():
    line = Scalar(mixture([(1.0, -4.0), (1.0, 1.0)]))  # bent near 0, hardly at the trial
    _, trials = exact_step(line, 1.5, untried=True)
    assert trials > 1


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_trials_that_are_no_number_are_halved_away(bad):
    good = quadratic(0.01)
    line = Scalar(lambda t: good(t) if t < 0.02 else (bad, bad, bad))
    t, _ = exact_step(line, 1.0)
    assert abs(t - 0.01) <= SLOPE_RATIO * 0.01


def test_nothing_finite_gives_no_step():
    line = Scalar(lambda t: (0.0, -1.0, 1.0) if t == 0 else (math.nan, math.nan, math.nan))
    assert exact_step(line, 1.0) == (0.0, MAX_TRIALS)
    assert exact_step(line, None)[0] == 0.0


def test_a_finite_value_with_a_slope_that_is_none_counts_as_not_finite():
    line = Scalar(lambda t: (1.0, -1.0, 1.0) if t < 1e-3 else (1.0, math.nan, 1.0))
    t, _ = exact_step(line, 1.0)
    assert t < 1e-3


def test_a_minimum_much_nearer_than_the_guess_is_found():
    line = Scalar(quadratic(1e-7, 1e3))
    t, _ = exact_step(line, 1.0)
    assert abs(t - 1e-7) <= SLOPE_RATIO * 1e-7


@pytest.mark.parametrize("guess", [None, 0.1, 1.0, 6.5, 12.8, 100.0])
def test_a_falling_slope_beyond_a_hill_is_not_followed(guess):
    """t / 20 - 0.3 sin t: lower at pi / 2 than at 0; behind every hill it falls again, from ever higher up."""
    function = lambda t: (t / 20 - 0.3 * math.sin(t), 1 / 20 - 0.3 * math.cos(t), 0.3 * math.sin(t))  # noqa: E731
    line = Scalar(function)
    t, trials = exact_step(line, guess, convex=False)
    value, slope, _ = function(t)
    assert value <= SUFFICIENT_DECREASE * t * line.slope < 0.0
    assert abs(slope) <= SLOPE_RATIO * abs(line.slope)
    assert trials == len(line.trials) < MAX_TRIALS
    if guess == 6.5:
        assert function(6.5)[1] < 0 < function(6.5)[0]  # the first trial is such a place
