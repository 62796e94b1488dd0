"""The passes of every loss against their definitions, row by row."""

import numpy as np
import pytest

from alrviz.kernels import hinge, scores, squared_error
from alrviz.passes.losses import LOSSES
from alrviz.passes.rows import CHUNK_ROWS, Rows
from tests.oracles.losses import naive_loss, naive_matrix, naive_residual

LOSS = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
CLASSES = (2, 3, 5, 9, 17)


def make(n_rows, n_classes, seed=0, size=1.5):
    rng = np.random.default_rng(seed)
    rows = Rows(rng.integers(0, n_classes, n_rows), rng.uniform(0.1, 3.0, n_rows), n_classes, n_jobs=1)
    z, dz = rows.scores(), rows.scores()
    z[:], dz[:] = -np.inf, 0.0
    z[:, :n_classes] = size * rng.normal(size=(n_rows, n_classes))
    dz[:, :n_classes] = rng.normal(size=(n_rows, n_classes))
    return rows, z, dz


def loss_and_residual(rows, z, dz, t, loss):
    out, residual = rows.scores(), rows.scores()
    return rows.loss_and_residual(z, dz, t, out, residual, loss=loss), out, residual


@LOSS
@pytest.mark.parametrize("n_classes", CLASSES)
def test_value_and_residual_are_those_of_the_definition(loss, n_classes):
    rows, z, dz = make(CHUNK_ROWS + 3, n_classes)
    sums, moved, residual = loss_and_residual(rows, z, dz, 0.4, loss)
    scores = z[:, :n_classes] + 0.4 * dz[:, :n_classes]
    assert np.array_equal(moved[:, :n_classes], scores)
    value = sum(w * naive_loss(loss.name, s, y) for s, y, w in zip(scores, rows.y, rows.weights, strict=True))
    assert sums.value == pytest.approx(value, rel=1e-12)
    expected = [w * naive_residual(loss.name, s, y) for s, y, w in zip(scores, rows.y, rows.weights, strict=True)]
    np.testing.assert_allclose(residual[:, :n_classes], expected, rtol=1e-11, atol=1e-13)
    assert (residual[:, n_classes:] == 0).all()
    again = rows.loss_and_residual(z, dz, 0.4, rows.scores(), dz, loss=loss)
    np.testing.assert_array_equal(again, sums)  # residuals may take the place of the direction
    assert np.array_equal(dz, residual)


@LOSS
@pytest.mark.parametrize("n_classes", CLASSES)
def test_line_eval_returns_value_slope_and_curvature(loss, n_classes):
    rows, z, dz = make(CHUNK_ROWS + 3, n_classes, seed=1)
    for t in (0.0, 0.7, -2.0):
        value, slope, curvature = rows.line_eval(z, dz, t, loss=loss)
        sums, _, residual = loss_and_residual(rows, z, dz, t, loss)
        assert value == pytest.approx(sums.value, rel=1e-12)
        assert slope == pytest.approx((residual * dz).sum(), rel=1e-10)
        h = 1e-5  # a hinge bends where a score passes 1, so few rows may fall between the two
        up, down = (rows.line_eval(z, dz, t + step, loss=loss)[1] for step in (h, -h))
        assert curvature == pytest.approx((up - down) / (2 * h), rel=1e-3 if loss.name == "hinge" else 1e-7)


@LOSS
@pytest.mark.parametrize("n_classes", CLASSES)
def test_curve_and_diagonal_are_those_of_the_matrix(loss, n_classes):
    rows, z, dz = make(40, n_classes, seed=2)
    matrices = [
        w * naive_matrix(loss.name, s, y) for s, y, w in zip(z[:, :n_classes], rows.y, rows.weights, strict=True)
    ]
    curved = rows.hessian_product(z, dz.copy(), loss=loss)
    expected = [matrix @ d for matrix, d in zip(matrices, dz[:, :n_classes], strict=True)]
    np.testing.assert_allclose(curved[:, :n_classes], expected, rtol=1e-6, atol=1e-8)
    assert (curved[:, n_classes:] == 0).all()
    diagonal = rows.diagonal(z, loss=loss)
    np.testing.assert_allclose(diagonal[:, :n_classes], [np.diag(m) for m in matrices], rtol=1e-6, atol=1e-8)
    assert (diagonal[:, n_classes:] == 0).all()


@LOSS
def test_errors_and_ties_are_counted_alike(loss):
    rows, z, _ = make(4, 3)
    rows.weights[:], rows.y[:] = [1, 10, 100, 1000], [0, 1, 2, 1]
    z[:] = [[1, 1, 0], [1, 1, 0], [0, 0, 0], [0, 2, 1]]
    sums = rows.loss_and_residual(z, None, 0.0, z, None, loss=loss)
    assert (sums.wrong, sums.tied) == (110, 111)
    assert np.isnan(sums.nll) == np.isnan(sums.squares) == (not loss.has_probabilities)


@LOSS
def test_large_scores_give_no_nan(loss):
    rows, z, _ = make(3, 2)
    rows.y[:], rows.weights[:] = [0, 1, 0], 1.0
    for top in (1e4, 1e100):
        z[:] = [[top, -top], [top, top], [-top, top]]
        sums, _, residual = loss_and_residual(rows, z, np.zeros_like(z), 0.0, loss)
        assert np.isfinite(sums.value)
        assert np.isfinite(residual).all()
        assert np.isfinite(rows.diagonal(z, loss=loss)).all()


@LOSS
@pytest.mark.parametrize("odd", [np.nan, np.inf])
@pytest.mark.parametrize("lane", [0, 1, 2])
def test_infinite_scores_give_nan_losses(loss, lane, odd):
    rows, z, dz = make(CHUNK_ROWS + 3, 3)
    rows.y[:], rows.weights[:] = 1, 1.0
    z[7, :3] = odd if np.isinf(odd) else 0.0
    z[7, lane] = odd
    for value in (rows.line_eval(z, dz, 0.0, loss=loss)[0], loss_and_residual(rows, z, dz, 0.0, loss)[0].value):
        assert np.isnan(value)
    assert np.isnan(loss_and_residual(rows, z, dz, 0.0, loss)[2][7, :3]).any()


def test_every_loss_has_the_constants_of_scores():
    for of in (hinge, squared_error):
        assert (of.CHUNK_ROWS, of.MIN_RESIDUAL) == (scores.CHUNK_ROWS, scores.MIN_RESIDUAL)
