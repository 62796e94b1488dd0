"""Passes over dense features against sums written out, whatever the number of classes, rows and threads."""

import numpy as np
import pytest

from alrviz.passes import features as passes
from alrviz.passes.features import FeatureRows
from alrviz.passes.rows import Rows


def made(n, n_classes, features=3, n_jobs=1, seed=0):
    rng = np.random.default_rng(seed)
    values = 1 if n_classes == 2 else n_classes
    rows = Rows(rng.integers(0, n_classes, n), rng.uniform(0.1, 2, n), n_classes, n_jobs=n_jobs)
    return FeatureRows(rows, rng.normal(size=(features, values, n))), rng


@pytest.mark.parametrize("n_classes", [2, 3, 5, 20])
@pytest.mark.parametrize("n", [1, 511, 513, 1300])
def test_scores_and_sums_match_their_definitions(n, n_classes):
    of, rng = made(n, n_classes)
    values = of.phi.shape[1]
    w = rng.normal(size=(4, values))
    z = np.einsum("dk,dkn->nk", w[:-1], of.phi) + w[-1]
    full = z if n_classes > 2 else np.column_stack([np.zeros(n), z[:, 0]])
    np.testing.assert_allclose(of.scores(w)[:, :n_classes], full, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(of.scores(w, pad=0.0)[:, :n_classes], full, rtol=1e-12, atol=1e-12)
    assert (of.scores(w)[:, n_classes:] == -np.inf).all()
    assert (of.scores(w, pad=0.0)[:, n_classes:] == 0).all()
    residual = rng.normal(size=of.rows.scores().shape)
    shown = residual[:, n_classes - values : n_classes]
    for squared in (False, True):
        phi = of.phi**2 if squared else of.phi
        sums = np.vstack([np.einsum("nk,dkn->dk", shown, phi), shown.sum(axis=0)])
        np.testing.assert_allclose(of.sums(of.phi, residual, squared), sums, rtol=1e-11, atol=1e-11)


def test_the_bits_do_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(passes, "_MIN_SHARED_PRODUCTS", 0)
    monkeypatch.setattr(passes, "_PRODUCTS_PER_CALL", 4 * 3 * 512)
    (one, rng), (two, _) = made(5000, 3), made(5000, 3, n_jobs=2)
    w = rng.normal(size=(4, 3))
    np.testing.assert_array_equal(one.scores(w), two.scores(w))
    residual = rng.normal(size=one.rows.scores().shape)
    np.testing.assert_array_equal(one.sums(one.phi, residual), two.sums(two.phi, residual))
