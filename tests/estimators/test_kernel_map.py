"""Kernels as columns: inner products, Nystroem's approximation, and what a kernel of degree 2 spans."""

from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures

from alrviz.estimators.kernel_map import KernelMap


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(60, 3))


@pytest.mark.parametrize(
    ("settings", "kernel"),
    [
        ({"kernel": "rbf", "gamma": 0.4}, lambda a, b: rbf_kernel(a, b, gamma=0.4)),
        (
            {"kernel": "polynomial", "gamma": 0.4, "degree": 2, "coef0": 0.5},
            lambda a, b: polynomial_kernel(a, b, degree=2, gamma=0.4, coef0=0.5),
        ),
    ],
)
def test_inner_products_are_the_kernel(rows, settings, kernel):
    mapped = KernelMap(**settings).fit(rows)
    z = mapped.transform(rows)
    assert z @ z.T == pytest.approx(kernel(rows, rows), abs=1e-7)
    new = rows[:7] + 0.3
    assert mapped.transform(new) @ z.T == pytest.approx(kernel(new, rows), abs=1e-5)


def test_gamma_by_scale_is_that_of_svc(rows):
    rows = 3.0 * rows
    by_hand = KernelMap(gamma=1.0 / (3 * rows.var())).fit_transform(rows)
    assert np.abs(KernelMap().fit_transform(rows)) == pytest.approx(np.abs(by_hand))


def test_fewer_landmarks_are_nystroems_approximation(rows):
    mapped = KernelMap(gamma=0.1, landmarks=20, random_state=1).fit(rows)
    between, among = rbf_kernel(rows, mapped.landmarks_, gamma=0.1), rbf_kernel(mapped.landmarks_, gamma=0.1)
    z = mapped.transform(rows)
    assert mapped.landmarks_.shape == (20, 3)
    assert len(np.unique(mapped.landmarks_, axis=0)) == 20
    assert z @ z.T == pytest.approx(between @ np.linalg.pinv(among, rcond=1e-10) @ between.T, abs=1e-6)
    again = clone(mapped).fit(rows)
    assert np.array_equal(again.landmarks_, mapped.landmarks_)


def test_rows_that_are_all_the_same_are_one_direction():
    assert KernelMap().fit_transform(np.ones((5, 2))).shape == (5, 1)


def test_degree_2_on_one_hot_columns_spans_all_pairs_and_lower_orders():
    """Claim C18: kernel LR with a polynomial kernel of degree 2 on the one-hot has the functions of LR^2."""
    table = np.array(list(product(range(3), range(2), range(4))))
    one_hot = OneHotEncoder(sparse_output=False).fit_transform(table)
    z = KernelMap("polynomial", degree=2).fit_transform(one_hot)
    pairs = PolynomialFeatures(degree=2, interaction_only=True).fit_transform(one_hot)
    rank = np.linalg.matrix_rank(pairs)
    assert z.shape[1] == rank == 1 + (2 + 1 + 3) + (2 * 1 + 2 * 3 + 1 * 3)
    assert np.linalg.matrix_rank(np.hstack([z, pairs])) == rank
    assert KernelMap("polynomial", degree=1).fit_transform(one_hot).shape[1] == 1 + (2 + 1 + 3)
