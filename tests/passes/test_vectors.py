"""Products of long vectors against numpy's, and the same bits for any number of threads."""

import numpy as np
import pytest

from alrviz.kernels.vectors import CHUNK, LANES
from alrviz.passes import vectors
from alrviz.passes.vectors import combine, dot

SIZES = [0, 1, LANES - 1, LANES + 1, CHUNK, CHUNK + 1, 3 * CHUNK + LANES + 5]


@pytest.mark.parametrize("size", SIZES)
def test_products_and_combinations_are_numpy_s(size):
    a, b, q = np.random.default_rng(size).normal(size=(3, size))
    assert dot(a, b) == pytest.approx(float(a @ b), rel=1e-12, abs=1e-12)
    expected = 0.5 * q - 2.0 * a
    assert combine(q, 0.5, -2.0, a, b) == pytest.approx(float(expected @ b), rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(q, expected, rtol=1e-15, atol=1e-15)


def test_vectors_of_any_shape_are_read_in_c_order():
    a = np.arange(12.0).reshape(4, 3)
    assert dot(a, a) == 506.0


@pytest.mark.parametrize("size", [CHUNK + 1, 5 * CHUNK + 7])
def test_any_number_of_threads_gives_the_same_bits(size, monkeypatch):
    monkeypatch.setattr(vectors, "_LONG", 0)
    a, b = np.random.default_rng(0).normal(size=(2, size))
    one, q_one = dot(a, b), a.copy()
    product = combine(q_one, 0.1, 0.2, b, b)
    for n_jobs in (2, 3, 7):
        q = a.copy()
        assert dot(a, b, n_jobs) == one
        assert combine(q, 0.1, 0.2, b, b, n_jobs) == product
        assert np.array_equal(q, q_one)
