"""What must not change density features: copies, order, threads, what was computed before, a stop, a pickle."""

import pickle

import numpy as np
import pytest

from alrviz.errors import Stopped
from alrviz.models.density import DensityFeatures
from alrviz.passes import density as passes
from alrviz.passes import sources
from alrviz.stop import StopToken
from tests.models.densities import EXACT, GRIDS, table


@pytest.mark.parametrize("how", [EXACT, GRIDS])
@pytest.mark.parametrize("leave_out", [False, True])
def test_a_weight_of_two_is_the_row_twice(how, leave_out, monkeypatch):
    monkeypatch.setattr(sources, "_VOTE_NS", how)
    numbers, codes, levels, y, weights, classes = table(120, 3, weights="whole")
    twice = np.repeat(np.arange(120), weights.astype(int))
    one = DensityFeatures(numbers, codes, levels, y, weights, classes)
    many = DensityFeatures(numbers[:, twice], codes[:, twice], levels, y[twice], np.ones(len(twice)), classes)
    np.testing.assert_allclose(one.silverman, many.silverman, rtol=1e-13)
    log_h = np.log(one.silverman) - 0.1
    a, b = one.training(log_h, leave_out), many.training(log_h, leave_out)
    np.testing.assert_allclose(a.phi[:, :, twice], b.phi, rtol=0, atol=1e-9)
    np.testing.assert_allclose(a.dphi[:, :, twice], b.dphi, rtol=0, atol=1e-8)


@pytest.mark.parametrize("how", [EXACT, GRIDS])
def test_a_row_of_weight_0_has_no_vote(how, monkeypatch):
    monkeypatch.setattr(sources, "_VOTE_NS", how)
    numbers, codes, levels, y, weights, classes = table(100, 2)
    weights[30:60] = 0.0
    kept = np.flatnonzero(weights > 0)
    one = DensityFeatures(numbers, codes, levels, y, weights, classes)
    few = DensityFeatures(numbers[:, kept], codes[:, kept], levels, y[kept], weights[kept], classes)
    log_h = np.log(few.silverman)
    np.testing.assert_allclose(
        one.training(log_h, True).phi[:, :, kept], few.training(log_h, True).phi, rtol=0, atol=1e-12
    )
    lost = np.flatnonzero(weights == 0)
    other = few.rows(numbers[:, lost], codes[:, lost], log_h)
    np.testing.assert_allclose(one.training(log_h, True).phi[:, :, lost], other.phi, rtol=0, atol=1e-12)


@pytest.mark.parametrize("how", [EXACT, GRIDS])
def test_the_order_of_rows_and_of_classes_does_not_matter(how, monkeypatch):
    monkeypatch.setattr(sources, "_VOTE_NS", how)
    numbers, codes, levels, y, weights, classes = given_table = table(150, 3, weights="parts")
    one = DensityFeatures(*given_table)
    order, names = np.random.default_rng(3).permutation(150), np.array([2, 0, 1])
    two = DensityFeatures(numbers[:, order], codes[:, order], levels, names[y[order]], weights[order], classes)
    log_h = np.log(one.silverman) + 0.2
    a, b = one.training(log_h, True), two.training(log_h, True)
    np.testing.assert_allclose(b.phi[:, names], a.phi[:, :, order], rtol=0, atol=1e-11)
    np.testing.assert_allclose(b.dphi[:, names], a.dphi[:, :, order], rtol=0, atol=1e-10)


@pytest.mark.parametrize("how", [EXACT, GRIDS])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_same_bits_for_any_number_of_threads_and_parts(how, classes, monkeypatch):
    monkeypatch.setattr(sources, "_VOTE_NS", how)
    given_table = table(700, classes, numeric=3, weights="parts")
    one = DensityFeatures(*given_table, n_jobs=1)
    log_h = np.log(one.silverman) - 0.3
    whole = one.training(log_h, True)
    new = one.rows(*given_table[:2], log_h)
    pieces = [one.rows(given_table[0][:, a : a + 97], given_table[1][:, a : a + 97], log_h) for a in range(0, 700, 97)]
    assert np.array_equal(np.concatenate([piece.phi for piece in pieces], axis=2), new.phi)
    for of, name, length in (
        (passes, "_ROWS_PER_PART", 64), (sources, "_NODES_PER_PART", 256), (sources, "_ROWS_PER_PART", 50)
    ):  # fmt: skip
        monkeypatch.setattr(of, name, length)
    monkeypatch.setattr("alrviz.passes.threads.available_threads", lambda: 4)
    parts = DensityFeatures(*given_table, n_jobs=3)
    assert parts.n_jobs == 3
    again = parts.training(log_h, True)
    assert np.array_equal(whole.phi, again.phi)
    assert np.array_equal(whole.dphi, again.dphi)


@pytest.mark.parametrize("how", [EXACT, GRIDS])
def test_unchanged_features_are_reused(how, monkeypatch):
    monkeypatch.setattr(sources, "_VOTE_NS", how)
    features = DensityFeatures(*table(100, 2, numeric=3))
    log_h = np.log(features.silverman)
    first = features.training(log_h, True)
    moved = log_h + np.array([0.0, 0.05, 0.0])
    asked = []
    fill = passes.fill_numeric
    monkeypatch.setattr(passes, "fill_numeric", lambda wanted, *more: asked.append(len(wanted)) or fill(wanted, *more))
    second = features.training(moved, True, previous=first)
    whole = features.training(moved, True)
    assert asked == [1, 3]
    assert np.array_equal(second.phi, whole.phi)
    assert np.array_equal(second.dphi, whole.dphi)
    without = features.training(log_h, True, gradient=False)
    assert without.dphi is None
    assert np.array_equal(features.training(log_h, True, previous=without).dphi, first.dphi)


def test_phi_is_continuous_on_a_kept_grid(gridded):
    features = DensityFeatures(*table(400, 2, numeric=1, categorical=0, missing=0.0))
    edge = np.log(features.silverman) + 0.5 * np.log(2)  # where the next grid begins
    below, above = edge - 1e-9, edge + 1e-9
    assert features.spacing(above) == features.spacing(below) + 1
    a, b = features.training(below, True), features.training(above, True)
    jump = np.abs(b.phi - a.phi).max()
    kept = features.training(above, True, spacing=features.spacing(below))
    assert np.abs(kept.phi - a.phi).max() < 1e-7 < jump < 1e-3
    assert kept.spacing == a.spacing
    far = features.training(edge + 3.0, True, spacing=features.spacing(below))
    assert far.spacing > a.spacing, "a grid much finer than wanted would be as long as it is useless"


@pytest.mark.parametrize("how", [EXACT, GRIDS])
def test_stop_ends_the_work(how, monkeypatch):
    monkeypatch.setattr(sources, "_VOTE_NS", how)
    given_table = table(100, 2)
    features, stop = DensityFeatures(*given_table), StopToken()
    log_h = np.log(features.silverman)
    stop.stop()
    for work in (
        lambda: DensityFeatures(*given_table, stop=stop),
        lambda: features.training(log_h, True, stop=stop),
        lambda: features.rows(*given_table[:2], log_h, stop=stop),
    ):
        with pytest.raises(Stopped):
            work()


def test_features_are_pickled_without_what_is_quick_to_make_again(gridded):
    given_table = table(3000, 2)
    features = DensityFeatures(*given_table)
    log_h = np.log(features.silverman)
    fresh = len(pickle.dumps(features))
    found = features.training(log_h, True).phi
    text = pickle.dumps(features)
    assert len(text) == fresh
    assert np.array_equal(pickle.loads(text).training(log_h, True).phi, found)
