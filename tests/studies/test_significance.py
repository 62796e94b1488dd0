"""Tests of differences by hand, and the papers' printed figures that are right."""

from math import comb

import numpy as np
import pytest

from alrviz.studies.statistics.significance import (
    corrected_error,
    geometric_mean_ratio,
    mean_ranks,
    sign_test,
    win_draw_loss,
)


@pytest.mark.parametrize(("wins", "losses"), [(8, 0), (4, 4), (24, 46), (1, 0), (0, 0), (10, 3)])
def test_sign_test_by_hand(wins, losses):
    n = wins + losses
    tail = sum(comb(n, k) for k in range(min(wins, losses) + 1)) / 2**n
    assert sign_test(wins, losses) == pytest.approx(min(1.0, 2 * tail))


def test_errors_in_the_formulas_of_the_alr_paper():
    """[ALR]: 8/0/0 is .0078 (it prints .073), 4/0/4 is 1 (it prints 1.273), 32 losses of 76 ..."""
    assert sign_test(8, 0) == pytest.approx(0.0078, abs=5e-5)
    assert sign_test(4, 4) == 1.0
    assert sign_test(24, 52) == pytest.approx(0.0018, abs=5e-5)
    assert sign_test(25, 49) == pytest.approx(0.0071, abs=5e-5)


def test_win_draw_loss():
    found = win_draw_loss([0.10, 0.20, 0.30, np.nan, 0.4001], [0.20, 0.20, 0.10, 0.5, 0.4])
    assert (found.wins, found.draws, found.losses) == (1, 1, 2)
    assert str(win_draw_loss([0.4001], [0.4], digits=3)) == "0/1/0"


def test_corrected_error_by_hand():
    """Differences 1, 2, 3: s^2 = 1, J = 3, test 1/9 of training: sqrt(1/3 + 1/9)."""
    assert corrected_error([1, 2, 3], 10, 90) == pytest.approx(np.sqrt(1 / 3 + 1 / 9))


def test_geometric_mean_and_ranks():
    assert geometric_mean_ratio([1, 4, 0], [2, 2, 1]) == pytest.approx(1.0)
    assert np.isnan(geometric_mean_ratio([0], [1]))
    np.testing.assert_allclose(mean_ranks([[1, 2, 2], [3, 1, 2], [np.nan, 1, 2]]), [2.0, 1.75, 2.25])
