"""Grids beside exact sums: the error's order, where each is taken, and what a grid keeps."""

from itertools import pairwise

import numpy as np
import pytest

from alrviz.models.density_votes import non_voting_kinds, training_row_kinds
from alrviz.passes import density as passes
from alrviz.passes import sources as of_sources
from alrviz.passes.density import ColumnSums, fill_numeric
from alrviz.passes.sources import Sources


def rows(count, classes, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, count).astype(np.int32)
    return rng.normal(size=count) + 0.5 * y, y, rng.uniform(0.5, 1.5, count)


def filled(sources, kinds, h, delta, thin=1e-3):
    """phi and dphi of the training rows of one column."""
    count, values = len(sources.x), 1 if sources.n_classes == 2 else sources.n_classes
    phi, dphi = np.empty((values, count)), np.empty((values, count))
    fill_numeric(
        [ColumnSums(sources, sources.x, sources.place, h, delta, phi, dphi, np.empty((0, 0)))], kinds, 1.0, thin, 1
    )
    return phi, dphi


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("leave_out", [False, True])
def test_a_grids_error_is_of_fourth_order(classes, leave_out, monkeypatch):
    """Half the spacing leaves a sixteenth of it: 600 heaps of a row or two of each class, far from each other."""
    monkeypatch.setattr(of_sources, "_VOTE_NS", 1e9)
    rng = np.random.default_rng(0)
    y = np.tile(np.repeat(np.arange(classes), 2), 600).astype(np.int32)
    x = np.repeat(np.arange(600) * 100.0 + rng.random(600), 2 * classes) + rng.uniform(-0.8, 0.8, len(y))
    counts = np.bincount(y).astype(float)
    kinds = training_row_kinds(y, np.ones(len(y)), counts, 1) if leave_out else non_voting_kinds(len(y), counts, 1)
    sources = Sources(x, y, np.ones(len(y)), classes)
    exact = filled(sources, kinds, 1.0, 0.0)
    errors = [[np.abs(a - b) for a, b in zip(filled(sources, kinds, 1.0, 1 / ratio), exact, strict=True)]
              for ratio in (10, 20, 40)]  # fmt: skip
    for phi, dphi in errors:
        assert phi.max() < 1e-4
        assert dphi.max() < 1e-3
    for coarse, fine in pairwise(errors):
        for one, other in zip(coarse, fine, strict=True):
            assert 14 < np.sqrt((one**2).mean() / (other**2).mean()) < 18


def test_thin_rows_are_exact(monkeypatch):
    """All of them, if everything counts as thin."""
    monkeypatch.setattr(of_sources, "_VOTE_NS", 1e9)
    x, y, weights = rows(500, 3)
    sources, counts = Sources(x, y, weights, 3), np.bincount(y, weights)
    kinds = training_row_kinds(y, weights, counts, 2)
    exact, on_grid = filled(sources, kinds, 0.1, 0.0), filled(sources, kinds, 0.1, 0.01, thin=np.inf)
    for one, other in zip(exact, on_grid, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-13)
    assert np.abs(filled(sources, kinds, 0.1, 0.01)[0] - exact[0]).max() > 1e-8


@pytest.mark.parametrize("leave_out", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_bundles_vote_as_their_sources_do(leave_out, classes, monkeypatch):
    """All sums are made thin and exact: with bundles once a few votes were taken, and without."""
    x, y, weights = rows(4000, classes)
    sources, counts = Sources(x, y, weights, classes), np.bincount(y, weights)
    kinds = training_row_kinds(y, weights, counts, 2) if leave_out else non_voting_kinds(len(y), counts, 2)
    for h in (0.02, 0.3, 3.0):
        monkeypatch.setattr(passes, "_VOTES_PER_CALL", 10**9)
        one_by_one = filled(sources, kinds, h, 0.0)
        assert sources._bundles is None or sources._bundles[0] != h
        monkeypatch.setattr(passes, "_VOTES_PER_CALL", 100)
        together = filled(sources, kinds, h, 0.0)
        assert sources._bundles[0] == h
        for one, other in zip(one_by_one, together, strict=True):
            np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


def test_few_rows_are_summed_exactly_and_many_on_a_grid():
    few, many = Sources(*rows(100, 2), 2), Sources(*rows(20_000, 2), 2)
    assert few.grid(0.01).exact
    assert few.grid(0.01).sums(0.3) == ()
    assert not many.grid(0.01).exact
    assert many.grid(1e-6).exact, "nodes would be many and neighbours few"


def test_grid_is_cached_until_spacing_changes():
    sources = Sources(*rows(5000, 2), 2)
    first = sources.grid(0.01)
    assert sources.grid(0.01) is first
    assert sources.grid(0.02) is not first


def test_sources_know_where_each_row_lies():
    x, y, weights = rows(50, 3)
    x[4], weights[7], y[9] = np.nan, 0.0, 2
    sources = Sources(x, y, weights, 3)
    assert np.flatnonzero(sources.place < 0).tolist() == [4, 7]
    kept = sources.place >= 0
    assert np.array_equal(sources.values[sources.place[kept]], x[kept])
    assert np.array_equal(sources.weights[sources.place[kept]], weights[kept])
    assert sources.missing.tolist() == (np.eye(3)[y[4]] * weights[4]).tolist()
    first = sources.arrays[2]
    for k in range(3):
        assert np.array_equal(sources.values[first[k] : first[k + 1]], np.sort(x[kept & (y == k)]))
