"""Sparse matrices are fitted and predicted like the dense matrices of the same numbers."""

import numpy as np
import pytest
import scipy.sparse as sp

import alrviz
from alrviz.data.encode import Encoder
from alrviz.models import plan
from alrviz.models.cell_space import CellSpace


def counts(rows=300, columns=30, seed=0):
    """Sparse counts, the first ten columns of zeros and ones, and a class that depends on two columns."""
    rng = np.random.default_rng(seed)
    dense = (rng.random((rows, columns)) < 0.1) * rng.integers(1, 4, (rows, columns)).astype(float)
    dense[:, :10] = dense[:, :10] > 0
    y = (dense[:, 0] + dense[:, 1] > 0) ^ (rng.random(rows) < 0.1)
    return dense, y


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_array, sp.coo_array])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("LRClassifier", {"order": 1, "alpha": 1}), ("ALRClassifier", {"order": 1}), ("NaiveBayesClassifier", {}),
        ("TANClassifier", {}), ("LRClassifier", {"order": 2, "alpha": 1}),
    ],
)  # fmt: skip
def test_equals_the_dense_matrix(make, name, settings):
    dense, y = counts()
    classifier = getattr(alrviz, name)(**settings, discretize=None)
    sparse_model, dense_model = (alrviz.make_estimator(classifier.to_recipe()).fit(X, y) for X in (make(dense), dense))
    np.testing.assert_allclose(sparse_model.predict_proba(make(dense)), dense_model.predict_proba(dense), atol=1e-12)
    np.testing.assert_allclose(sparse_model.predict_proba(dense), dense_model.predict_proba(dense), atol=1e-12)


def test_two_values_are_two_levels_and_none_is_lost():
    dense, y = counts()
    encoder = Encoder().fit(sp.csr_array(dense), y)
    assert encoder.lost_ == ()
    assert [column.labels for column in encoder.columns_[:10]] == [("<= 0", "> 0")] * 10
    assert (encoder.levels_ >= 2).all()
    np.testing.assert_array_equal(encoder.transform(sp.csr_array(dense))[:10], dense.T[:10])
    assert Encoder().fit(dense, y).lost_, "MDL leaves dense columns without a cut"


def test_negative_missing_constant_and_duplicate_entries():
    entries = ([1.0, -2.0, np.nan, 1.0, 1.0], ([0, 1, 2, 3, 3], [0, 1, 2, 3, 3]))  # 2.0 in row 3, stored as two ones
    matrix, y = sp.coo_array(entries, shape=(6, 5)), [0, 1, 0, 1, 0, 1]
    encoder = Encoder().fit(matrix, y)
    assert [column.labels for column in encoder.columns_] == [
        ("<= 0", "> 0"), ("<= -1", "> -1"), ("any number", "missing"), ("<= 1", "> 1"), ("any number",),
    ]  # fmt: skip
    np.testing.assert_array_equal(encoder.transform(matrix), encoder.transform(matrix.toarray()))


def test_rows_without_weight_are_no_rows():
    dense, y = counts()
    weights = np.arange(len(y)) % 2.0
    X = sp.csr_array(dense)
    weighted = alrviz.LRClassifier(order=1, alpha=1).fit(X, y, weights)
    halved = alrviz.LRClassifier(order=1, alpha=1).fit(X[1::2], y[1::2])
    np.testing.assert_array_equal(weighted.predict_proba(X), halved.predict_proba(X))


def test_columns_in_turn_give_the_model_of_the_searched_plan(monkeypatch):
    dense, y = counts(columns=60)
    searched = alrviz.LRClassifier(order=1, alpha=1, tol=1e-10).fit(dense, y)
    monkeypatch.setattr(plan, "MAX_SEARCHED_COLUMNS", 20)
    in_turn = alrviz.LRClassifier(order=1, alpha=1, tol=1e-10).fit(dense, y)
    np.testing.assert_allclose(in_turn.predict_proba(dense), searched.predict_proba(dense), atol=1e-6)
    codes = in_turn.encoder_.transform(dense)
    cover = plan.plan_cover(codes, CellSpace(in_turn.encoder_.levels_, 1))
    assert 1 < len(cover.blocks) < 60
    assert sorted(np.concatenate([block.tuples for block in cover.blocks])) == list(range(60))
