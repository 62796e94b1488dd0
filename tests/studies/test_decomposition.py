"""Bias and variance: identities, and small matrices by hand."""

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alrviz.errors import RecipeError
from alrviz.studies.statistics.decomposition import decompose, leave_one_out


@given(st.integers(2, 6), st.integers(1, 30), st.integers(2, 5), st.integers(0, 10**6))
def test_parts_add_up_to_the_error(rounds, n, classes, seed):
    rng = np.random.default_rng(seed)
    predicted, y = rng.integers(0, classes, (rounds, n)), rng.integers(0, classes, n)
    parts = decompose(predicted, y, classes)
    assert parts.error == pytest.approx((predicted != y).mean(), abs=1e-12)
    assert parts.bias + parts.variance == pytest.approx(parts.error, abs=1e-12)
    assert parts.bias_unbiased + parts.variance_unbiased == pytest.approx(parts.error, abs=1e-12)
    assert parts.bias_domingos + parts.net_variance_domingos == pytest.approx(parts.error, abs=1e-12)


def test_by_hand():
    """Row 0 (class 0) is said to be 0, 0, 1; row 1 (class 1) to be 2, 2, 1: one main prediction right, one wrong."""
    parts = decompose(np.array([[0, 2], [0, 2], [1, 1]]), np.array([0, 1]), 3)
    assert parts.error == pytest.approx(1 / 2)
    # sums over classes of squares: row 0 (1/3)^2 + (1/3)^2, row 1 (2/3)^2 + (2/3)^2
    assert parts.bias == pytest.approx((2 / 9 + 8 / 9) / 4)
    assert parts.variance == pytest.approx((4 / 9 + 4 / 9) / 4)
    assert parts.variance_unbiased == pytest.approx(3 / 2 * 2 / 9)
    assert parts.bias_domingos == pytest.approx(1 / 2)
    assert parts.variance_domingos == pytest.approx(1 / 3)
    assert parts.net_variance_domingos == pytest.approx((1 / 3 - 1 / 3) / 2)


def test_models_that_agree_have_no_variance():
    parts = decompose(np.tile([0, 1, 1], (4, 1)), np.array([0, 1, 0]), 2)
    assert (parts.variance, parts.variance_domingos) == (0.0, 0.0)
    assert parts.bias == parts.bias_domingos == pytest.approx(1 / 3)


def test_the_unbiased_form_does_not_depend_on_the_number_of_rounds():
    """The mean over many draws of R predictions is the same for R = 2 and R = 8; the plug-in form's is not."""
    rng = np.random.default_rng(0)
    n, y = 200_000, np.zeros(200_000, int)
    few, many = (decompose((rng.random((rounds, n)) < 0.3).astype(int), y, 2) for rounds in (2, 8))
    assert few.variance_unbiased == pytest.approx(0.21, abs=2e-3)
    assert many.variance_unbiased == pytest.approx(0.21, abs=2e-3)
    assert few.variance == pytest.approx(0.21 / 2, abs=2e-3)


def test_single_model_has_no_variance():
    with pytest.raises(RecipeError, match=r"2 models.*1"):
        decompose(np.zeros((1, 3), int), np.zeros(3, int), 2)


@pytest.mark.parametrize(("rounds", "n_classes"), [(3, 2), (5, 4), (4, 3)])
def test_leaving_a_round_out_is_decomposing_the_others(rounds, n_classes):
    rng = np.random.default_rng(rounds)
    predicted, y = rng.integers(0, n_classes, (rounds, 60)), rng.integers(0, n_classes, 60)
    for k, found in enumerate(leave_one_out(predicted, y, n_classes)):
        expected = decompose(np.delete(predicted, k, axis=0), y, n_classes)
        assert astuple(found) == pytest.approx(astuple(expected), abs=1e-14)
