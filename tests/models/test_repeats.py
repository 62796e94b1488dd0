"""Rows that repeat are one row of the summed weight: nothing that is summed over rows changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alrviz.errors import Stopped
from alrviz.fitting.families.build_fit import assemble
from alrviz.fitting.prepare import TrainingData
from alrviz.fitting.recipe import Recipe
from alrviz.models.joint_values import MIN_REPEATED_SHARE, merge_repeats
from alrviz.stop import StopToken
from tests.fitting.tables import covered, drain, kernel_codes, run_of, table
from tests.oracles.joint import naive_merge


def merged(encoded, stop=None):
    of = (kernel_codes(encoded), encoded.y, encoded.weights, encoded.levels, encoded.n_classes)
    return merge_repeats(*of) if stop is None else merge_repeats(*of, stop)


def repeated(seed=0, rows=200, **more):
    """Rows of which most repeat, some of no weight."""
    encoded = table(rows, (3, 2, 2), 3, seed=seed, weights="fractions", gaps=0.1, **more)
    encoded.weights[np.random.default_rng(seed).random(rows) < 0.1] = 0.0
    encoded.weights[0] = 1.0
    return encoded


@given(st.integers(0, 10**6), st.sampled_from([np.uint8, np.uint32]))
def test_weights_of_equal_rows_are_summed(seed, dtype):
    encoded = repeated(seed, dtype=dtype)
    codes, y, weights = merged(encoded)
    sums = naive_merge(encoded.codes, encoded.y, encoded.weights)
    assert [(*row, k) for row, k in zip(codes.T.tolist(), y.tolist(), strict=True)] == list(sums)
    np.testing.assert_allclose(weights, list(sums.values()), rtol=1e-14)
    assert codes.flags.c_contiguous
    assert (codes.dtype, y.dtype, weights.dtype) == (kernel_codes(encoded).dtype, np.int32, np.float64)


def of_repeats(rows, repeats):
    """`rows` rows of which the last `repeats` say what others say."""
    encoded = table(rows, (rows, 2), 2)
    encoded.codes[0], encoded.codes[1], encoded.y[:] = np.arange(rows), 0, 0
    encoded.codes[0, rows - repeats :] = np.arange(repeats)
    return encoded


@pytest.mark.parametrize(("repeats", "rows"), [(20, 100), (0, 100), (19, 100), (1, 5), (0, 1), (0, 0)])
def test_up_to_a_fifth_they_stay(repeats, rows):
    assert MIN_REPEATED_SHARE == 0.2
    encoded = of_repeats(rows, repeats)
    codes, y, weights = merged(encoded)
    assert codes.shape == encoded.codes.shape
    assert (y is encoded.y, weights is encoded.weights) == (True, True)


@pytest.mark.parametrize(("repeats", "rows"), [(21, 100), (50, 100), (2, 5)])
def test_above_a_fifth_they_are_merged(repeats, rows):
    codes, _, weights = merged(of_repeats(rows, repeats))
    assert codes[0].tolist() == list(range(rows - repeats))
    assert weights.tolist() == [2.0] * repeats + [1.0] * (rows - 2 * repeats)


def test_rows_of_another_class_do_not_repeat():
    encoded = table(4, (2,), 2)
    encoded.codes[:], encoded.y[:] = 0, [0, 1, 0, 1]
    codes, y, weights = merged(encoded)
    assert (codes.tolist(), y.tolist(), weights.tolist()) == ([[0, 0]], [0, 1], [2.0, 2.0])


def test_levels_that_are_none_are_the_same():
    encoded = table(3, (2,), 2)
    encoded.codes[:], encoded.y[:] = [[2, 9, 2]], 0
    assert merged(encoded)[2].tolist() == [3.0]


def test_the_search_ends_where_it_is_clear_that_too_few_repeat():
    class Counting(StopToken):
        asked = 0

        def check(self):
            self.asked += 1

    rows = 100
    for different, looked in ((0, 1), (2, 3), (None, 6)):
        encoded, stop = table(rows, (rows,) * 5, 2), Counting()
        encoded.codes[:] = 0
        if different is not None:
            encoded.codes[different] = np.arange(rows)
        merged(encoded, stop)
        assert stop.asked == looked


def test_looking_for_repeats_hears_a_stop():
    stop = StopToken()
    stop.stop()
    with pytest.raises(Stopped):
        merged(table(), stop)


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize(
    "recipe",
    [
        Recipe("lr", alpha=0.1),
        Recipe("alr", alpha=0.0, center="anje"),
        Recipe("lr", scale="diagonal", alpha=0.3),
        Recipe("alr", share="cell", class_weight="balanced", alpha=1.0),
    ],
)
def test_merging_changes_nothing_that_is_summed(recipe, order):
    train, held = repeated(1), repeated(2)
    found = []
    for merge in (False, True):
        prepared = TrainingData(train, held, None, 1, merge)
        of, tables = prepared.covered_rows(order), prepared.tables(order, 1.0)
        fit = assemble(of.rows, of.cover, tables, recipe.params, train.classes)
        w = fit.w0 + np.random.default_rng(0).normal(size=fit.w0.shape)
        point = fit.objective.value_grad(w)
        z = fit.objective.scores(w, of.heldout)
        heldout = of.heldout.loss_and_residual(z, None, 0.0, z, None)
        found.append([of.rows.n_rows, of.heldout.n_rows, tables, fit, point, heldout])
    (rows, held_rows, one, fit, point, heldout), (fewer, held_fewer, other, merged_fit, merged_point, merged_held) = (
        found
    )
    assert (rows, held_rows) == (200, 200)
    assert fewer < 160
    assert held_fewer < 160
    assert np.array_equal(one.seen_cells, other.seen_cells)
    assert np.array_equal(one.cards, other.cards)
    np.testing.assert_allclose(other.counts, one.counts, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(other.tuple_counts, one.tuple_counts, rtol=1e-13)
    np.testing.assert_allclose(merged_fit.objective.scale, fit.objective.scale, rtol=1e-12, atol=1e-14)
    assert merged_point.objective == pytest.approx(point.objective, rel=1e-12)
    np.testing.assert_allclose(merged_point.sums, point.sums, rtol=1e-12)
    np.testing.assert_allclose(merged_held, heldout, rtol=1e-12)
    size = np.abs(point.gradient).max()
    np.testing.assert_allclose(merged_point.gradient, point.gradient, rtol=0, atol=1e-12 * size)


def test_a_fit_merges_and_predicts_row_by_row():
    encoded = repeated()
    run = drain(run_of(encoded, "lr", encoded.take(np.arange(50)), order=2, max_iter=5))
    assert run._fit.objective.rows.n_rows < 160
    assert run.model.scores(encoded.codes).shape == (200, 3)
    plain = covered(encoded, 2)
    z = plain.cover.scores(plain.rows, run.model.phi, run.model.bias)
    np.testing.assert_allclose(run.model.scores(encoded.codes), z, rtol=1e-12, atol=1e-12)


def test_more_classes_than_16_bits_number_stay_apart():
    y = np.concatenate([np.arange(70_000), np.arange(20_000)]).astype(np.int32)
    codes, weights = np.zeros((1, 90_000), np.uint16), np.ones(90_000)
    codes, merged, weights = merge_repeats(codes, y, weights, np.array([1]), 70_000)
    assert np.array_equal(merged, np.arange(70_000))
    assert np.array_equal(weights, 1.0 + (np.arange(70_000) < 20_000))
