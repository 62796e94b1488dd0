"""Softmax kernels against their oracles: values, derivatives, ties, extremes, exp itself."""

import ast
import inspect
from decimal import Decimal, localcontext
from math import inf

import numpy as np
import pytest

from alrviz.kernels import density, scores
from alrviz.kernels.scores import CHUNK_ROWS, MIN_EXPONENT, MIN_RESIDUAL, _exp
from alrviz.passes.rows import Rows
from tests.oracles.scores import naive_hessian_product, naive_line_eval, naive_loss_and_residual

CLASSES = (2, 3, 4, 5, 8, 9, 16, 17, 26)


def make(n_rows, n_classes, seed=0, size=3.0):
    """Rows without columns' meaning, scores with -inf pads and a direction with 0 pads."""
    rng = np.random.default_rng(seed)
    rows = Rows(rng.integers(0, n_classes, n_rows), rng.uniform(0.1, 3.0, n_rows), n_classes, n_jobs=1)
    z, dz = rows.scores(), rows.scores()
    z[:], dz[:] = -inf, 0.0
    z[:, :n_classes] = size * rng.normal(size=(n_rows, n_classes))
    dz[:, :n_classes] = rng.normal(size=(n_rows, n_classes))
    return rows, z, dz


def loss_and_residual(rows, z, dz=None, t=0.0):
    out, residual = (z if dz is None else rows.scores()), rows.scores()
    sums = rows.loss_and_residual(z, dz, t, out, residual)
    return sums, out, residual


@pytest.mark.parametrize("n_rows", [1, 7, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1, 5000])
@pytest.mark.parametrize("n_classes", CLASSES)
def test_softmax_passes_equal_their_oracles(n_classes, n_rows):
    rows, z, dz = make(n_rows, n_classes, seed=n_rows)
    C, y, w = n_classes, rows.y, rows.weights
    for t in (0.0, 0.7, -2.5):
        expected = naive_line_eval(z[:, :C], dz[:, :C], t, y, w)
        np.testing.assert_allclose(rows.line_eval(z, dz, t), expected, rtol=1e-11, atol=1e-11)
        sums, moved, residual = loss_and_residual(rows, z, dz, t)
        assert np.array_equal(moved[:, :C], z[:, :C] + t * dz[:, :C])
        assert np.isneginf(moved[:, C:]).all()
        expected_sums, expected_residual = naive_loss_and_residual(moved[:, :C], y, w)
        np.testing.assert_allclose(sums, (expected_sums[0], *expected_sums), rtol=1e-12)
        np.testing.assert_allclose(residual[:, :C], expected_residual, rtol=1e-12, atol=1e-15)
        assert (residual[:, C:] == 0).all()
    curved = rows.hessian_product(z, dz.copy())
    np.testing.assert_allclose(curved[:, :C], naive_hessian_product(z[:, :C], dz[:, :C], w), rtol=1e-11, atol=1e-14)


def test_residuals_may_take_the_place_of_the_direction():
    rows, z, dz = make(1000, 5)
    sums, moved, residual = loss_and_residual(rows, z, dz, 0.3)
    out = rows.scores()
    assert rows.loss_and_residual(z, dz, 0.3, out, dz) == sums
    assert np.array_equal(dz, residual)
    assert np.array_equal(out, moved)


def test_sums_alone_write_nothing():
    rows, z, _ = make(700, 4)
    before = z.copy()
    sums = rows.loss_and_residual(z, None, 0.0, z, None)
    assert np.array_equal(z, before)
    assert sums == loss_and_residual(rows, z)[0]


def test_ties_go_to_the_first_class_and_do_not_lead():
    rows, z, _ = make(4, 3)
    rows.weights[:] = [1, 10, 100, 1000]
    rows.y[:] = [0, 1, 2, 1]
    z[:] = [[1, 1, 0], [1, 1, 0], [0, 0, 0], [0, 2, 1]]
    sums, *_ = loss_and_residual(rows, z)
    assert sums.wrong == 110  # row 0 wins its tie, rows 1 and 2 lose theirs
    assert sums.tied == 111


def test_scores_of_minus_infinity_are_a_probability_of_zero():
    rows, z, _ = make(2, 3)
    rows.y[:], rows.weights[:] = [0, 1], [1, 2]
    z[:] = [[0, -inf, 0], [-1e9, 5, -inf]]
    sums, _, residual = loss_and_residual(rows, z)
    assert sums.nll == pytest.approx(np.log(2), rel=1e-15)
    np.testing.assert_allclose(residual, [[-0.5, 0, 0.5], [0, 0, 0]], atol=1e-30)


@pytest.mark.parametrize("top", [-1e300, -1e9, -745.0, 0.0, 745.0, 1e9, 1e300])
def test_scores_of_any_size_neither_overflow_nor_lose_the_loss(top):
    rows, z, _ = make(3, 2)
    rows.y[:], rows.weights[:] = [0, 1, 0], 1.0
    z[:] = [[top, top], [top, top], [top, top - abs(top) - 1e5]]
    sums, _, residual = loss_and_residual(rows, z)
    assert sums.nll == pytest.approx(2 * np.log(2), rel=1e-15)
    assert np.isfinite(residual).all()


def test_far_behind_rows_keep_their_full_loss_beyond_the_floor():
    rows, z, _ = make(2, 2)
    rows.y[:], rows.weights[:] = [0, 0], 1.0
    z[:] = [[-500.0, 0.0], [-1e7, 0.0]]
    sums, _, residual = loss_and_residual(rows, z)
    assert sums.nll == pytest.approx(1e7 + 500, rel=1e-15)
    np.testing.assert_allclose(residual, [[-1, 1], [-1, 1]], rtol=1e-15)


def test_residuals_below_the_minimum_become_zero():
    rows, z, _ = make(3, 2)
    rows.y[:], rows.weights[:] = 0, 1.0
    z[:] = [[0, -60], [0, -69.2], [0, -600]]  # exp: 8.8e-27, 8.8e-31, 0
    _, _, residual = loss_and_residual(rows, z)
    assert residual[0, 1] == pytest.approx(np.exp(-60), rel=1e-13)
    assert (residual[1:] == 0).all()
    written = np.abs(residual[residual != 0])
    assert (written > MIN_RESIDUAL).all()


def test_exp_is_as_good_as_the_library_s():
    rng = np.random.default_rng(0)
    edges = [0.0, -0.0, MIN_EXPONENT, np.nextafter(0, -1), -np.log(2) / 2, np.nextafter(-np.log(2) / 2, -1), -1e-300]
    whole = [k * np.log(2) for k in range(-115, 0)]
    with localcontext(prec=40):
        for x in [*edges, *whole, *rng.uniform(MIN_EXPONENT, 0, 2000), *-(10 ** rng.uniform(-18, 1.9, 1000))]:
            exact = Decimal(float(x)).exp()
            assert abs((Decimal(_exp(float(x))) - exact) / exact) < Decimal("5e-16"), x
    assert _exp(0.0) == 1.0


def test_nll_of_a_perfect_fit_is_zero_and_never_negative():
    rows, z, _ = make(5, 3)
    rows.y[:] = 1
    z[:] = [[0, 50.0, 0]]
    sums, *_ = loss_and_residual(rows, z)
    assert 0 <= sums.nll < 1e-18


def code(module, name):
    """The code of a module's function without its words, as text."""
    tree = ast.parse(inspect.getsource(module))
    (function,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name)
    assert ast.get_docstring(function)
    return ast.unparse([*function.decorator_list, function.args, *function.body[1:]])


def test_density_has_the_same_exp():
    """Copied, because numba's cache would not see an edit in another file: an edit of one alone fails here."""
    for name in ("_fma", "_exp"):
        assert code(density, name) == code(scores, name), name
    for name in ("MIN_EXPONENT", "_LOG2E", "_LN2_HIGH", "_LN2_LOW", "_ROUND"):
        assert getattr(scores, name) == getattr(density, name)
