"""Products of long vectors against numpy's, and the same bits for any number of threads."""

import numpy as np
import pytest

from alrviz.kernels.vectors import CHUNK_NUMBERS, N_SUMS
from alrviz.passes import vectors
from alrviz.passes.vectors import (
    add_ridge_gradient,
    combine,
    dot,
    move_along,
    ridge_line_derivatives,
    scale_rows,
    scale_rows_adjoint,
    subtract,
)

SIZES = [0, 1, N_SUMS - 1, N_SUMS + 1, CHUNK_NUMBERS, CHUNK_NUMBERS + 1, 3 * CHUNK_NUMBERS + N_SUMS + 5]


@pytest.mark.parametrize("size", SIZES)
def test_products_and_combinations_are_numpy_s(size):
    a, b, q = np.random.default_rng(size).normal(size=(3, size))
    assert dot(a, b) == pytest.approx(float(a @ b), rel=1e-12, abs=1e-12)
    expected = 0.5 * q - 2.0 * a
    assert combine(q, 0.5, -2.0, a, b) == pytest.approx(float(expected @ b), rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(q, expected, rtol=1e-15, atol=1e-15)


@pytest.mark.parametrize("size", SIZES)
def test_the_penalty_s_sums_and_steps_are_numpy_s(size):
    g, q, w, center, d = np.random.default_rng(size).normal(size=(5, size))
    apart = w - center
    first, second = ridge_line_derivatives(q, w, center, d)
    assert first == pytest.approx(float((q * apart) @ d), rel=1e-11, abs=1e-11)
    assert second == pytest.approx(float((q * d) @ d), rel=1e-11, abs=1e-11)
    expected = g + q * apart
    assert add_ridge_gradient(g, q, w, center) == pytest.approx(float((q * apart) @ apart), rel=1e-11, abs=1e-11)
    np.testing.assert_allclose(g, expected, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(move_along(w, 0.3, d, np.empty(size)), w + 0.3 * d, rtol=1e-14, atol=1e-14)
    short = subtract(w, d, np.empty(size, np.float32))
    assert np.array_equal(short, (w - d).astype(np.float32))


def test_products_of_short_vectors_are_as_long_as_others():
    """1e-30 squared is 0 in float32."""
    short = np.full(3, 1e-30, np.float32)
    assert dot(short, short) == pytest.approx(3e-60, rel=1e-6)


@pytest.mark.parametrize("classes", [2, 7])
def test_forward_and_scatter_are_transposes_of_each_other(classes):
    random = np.random.default_rng(0)
    scale, w = random.normal(size=(2, 50, classes))
    rows = np.full((50, 8), 9.0)
    scale_rows(scale, w, rows)
    assert np.array_equal(rows[:, :classes], scale * w)
    assert (rows[:, classes:] == 9.0).all()
    out = np.empty((50, classes))
    scale_rows_adjoint(scale, rows, out)
    assert np.array_equal(out, scale * (scale * w))


def test_vectors_of_any_shape_are_read_in_c_order():
    a = np.arange(12.0).reshape(4, 3)
    assert dot(a, a) == 506.0


@pytest.mark.parametrize("size", [CHUNK_NUMBERS + 1, 5 * CHUNK_NUMBERS + 7])
def test_any_number_of_threads_gives_the_same_bits(size, monkeypatch):
    monkeypatch.setattr(vectors, "_MIN_SHARED_TERMS", 0)
    monkeypatch.setattr(vectors, "_MIN_SHARED_NUMBERS", 0)
    a, b = np.random.default_rng(0).normal(size=(2, size))
    one, q_one = dot(a, b), a.copy()
    product = combine(q_one, 0.1, 0.2, b, b)
    others = _others(a, b, 1)
    for n_jobs in (2, 3, 7):
        q = a.copy()
        assert dot(a, b, n_jobs) == one
        assert combine(q, 0.1, 0.2, b, b, n_jobs) == product
        assert np.array_equal(q, q_one)
        assert all(map(np.array_equal, _others(a, b, n_jobs), others))


def _others(a, b, n_jobs):
    gradient, size = a.copy(), len(a)
    sums = (add_ridge_gradient(gradient, a, b, a, n_jobs), *ridge_line_derivatives(a, b, a, b, n_jobs))
    rows, out = np.zeros((size, 2)), np.empty((size, 1))
    scale_rows(a[:, None], b[:, None], rows, n_jobs)
    scale_rows_adjoint(b[:, None], rows, out, n_jobs)
    short = subtract(a, b, np.empty(size, np.float32), n_jobs)
    return [np.array(sums), gradient, move_along(a, 0.1, b, np.empty(size), n_jobs), short, rows, out]
