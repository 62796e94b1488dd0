"""The Gram matrix of DLR's features: its pairs counted by hand, its rows drawn fairly."""

import numpy as np
import pytest

from alrviz.studies.density import gram as numbers
from alrviz.studies.density.gram import gram


def by_hand(phi, y):
    """The share of pairs with k > 0 iff same class, pair by pair."""
    flat = phi.reshape(-1, phi.shape[-1])
    pairs = [(i, j) for i in range(len(y)) for j in range(i)]
    return np.mean([(float(flat[:, i] @ flat[:, j]) > 0) == (y[i] == y[j]) for i, j in pairs])


def test_rows_are_sorted_and_the_kernel_is_the_sum_over_columns():
    rng = np.random.default_rng(0)
    phi, y = rng.normal(size=(3, 1, 20)), rng.integers(0, 2, 20)
    found = gram(phi, y, ["no", "yes"])
    assert (np.diff(found.y) >= 0).all()
    np.testing.assert_array_equal(y[found.rows], found.y)
    expected = phi[:, 0].T @ phi[:, 0]
    np.testing.assert_allclose(found.values, expected[np.ix_(found.rows, found.rows)], rtol=1e-5, atol=1e-6)
    assert np.linalg.eigvalsh(found.values.astype(float)).min() > -1e-5


@pytest.mark.parametrize("chunk", [3, 1000])
def test_the_share_of_pairs(chunk, monkeypatch):
    monkeypatch.setattr(numbers, "CHUNK_ROWS", chunk)
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 40)
    phi = (2 * y - 1 + rng.normal(size=(2, 1, 40))) * 1.0
    found = gram(phi, y, ["no", "yes"])
    assert found.share == pytest.approx(by_hand(phi, y))
    same = np.mean([y[i] == y[j] for i in range(40) for j in range(i)])
    assert found.chance == pytest.approx(max(same, 1 - same))


def test_features_separating_the_classes_distinguish_all_pairs():
    y = np.array([0, 1, 0, 1, 1])
    found = gram((2.0 * y - 1)[None, None], y, ["no", "yes"])
    assert found.share == 1.0


def test_common_part_of_classes_does_not_change_the_kernel():
    y = np.array([0, 1, 2] * 5)
    phi = np.where(np.arange(3)[:, None] == y, 0.0, -5.0)[None]
    assert gram(phi, y, ["a", "b", "c"]).share == 1.0
    np.testing.assert_allclose(gram(phi - 7.0, y, "abc").values, gram(phi, y, "abc").values, atol=1e-4)


def test_of_many_rows_every_class_keeps_its_share():
    y = np.array([0] * 900 + [1] * 100)
    found = gram(np.random.default_rng(0).normal(size=(1, 1, 1000)), y, ["a", "b"], limit=50)
    assert np.bincount(found.y).tolist() == [45, 5]
    assert len(set(found.rows.tolist())) == 50
    assert (found.n_rows, found.counted) == (1000, 1000)


def test_of_very_many_rows_some_pairs_are_counted(monkeypatch):
    monkeypatch.setattr(numbers, "MAX_COUNTED", 30)
    y = np.arange(100) % 2
    found = gram((2.0 * y - 1)[None, None], y, ["a", "b"])
    assert (found.counted, found.n_rows, found.share) == (30, 100, 1.0)


def test_one_row_has_no_pair():
    assert np.isnan(gram(np.ones((1, 1, 1)), [0], ["a", "b"]).share)
