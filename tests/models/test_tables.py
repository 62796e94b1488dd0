"""Generative tables: counts, log pi and log theta against the formulas, with weights, missing values and smoothing."""

import numpy as np
import pytest
from sklearn.naive_bayes import CategoricalNB

from alrviz.data.encoded import Encoded
from alrviz.errors import RecipeError, Stopped
from alrviz.models.linear import LinearModel, log_softmax
from alrviz.models.parameterisation import anje_phi
from alrviz.models.tables import count_tables
from alrviz.stop import StopToken
from tests.fitting.tables import counted, covered, table
from tests.oracles.rows import naive_count, naive_forward
from tests.oracles.tables import naive_anje, naive_log_pi, naive_log_theta


def given(codes, y, levels, weights=None):
    """The rows of a hand calculation."""
    rows, columns = len(y), len(levels)
    return Encoded(
        codes=np.array(codes, np.uint8),
        y=np.array(y),
        weights=np.ones(rows) if weights is None else np.array(weights),
        levels=np.array(levels),
        classes=np.arange(2),
        names=("x",) * columns,
    )


def of(encoded):
    return encoded.codes, encoded.levels.tolist()


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("m", [0.1, 1.0, 7.5])
@pytest.mark.parametrize(("weights", "gaps"), [(None, 0.0), ("whole", 0.0), ("fractions", 0.0), ("fractions", 0.2)])
def test_tables_equal_the_formulas(order, m, weights, gaps):
    encoded = table(60, (3, 4, 2, 5), weights=weights, gaps=gaps, seed=order)
    tables, C = counted(encoded, order, m), encoded.n_classes
    naive = naive_count(*of(encoded), order, encoded.y, encoded.weights, C)
    n_cells = tables.space.n_cells
    occurs = naive[:n_cells].sum(axis=1) > 0
    assert tables.seen_cells.tolist() == np.flatnonzero(occurs).tolist()
    np.testing.assert_allclose(tables.counts, naive[:n_cells][occurs], rtol=1e-13)
    np.testing.assert_allclose(tables.log_pi, naive_log_pi(encoded.y, encoded.weights, C, m), rtol=1e-13)
    log_theta = naive_log_theta(*of(encoded), order, encoded.y, encoded.weights, C, m)
    np.testing.assert_allclose(tables.log_theta, [log_theta[c] for c in tables.seen_cells], rtol=1e-12, atol=1e-14)
    assert tables.empty_share == (naive[:n_cells][occurs] == 0).mean()


def test_by_hand():
    """Four rows, one column: a a b ?, classes 0 1 1 1; skipping, the row without a level counts in pi alone."""
    tables = counted(given([[0, 0, 1, 2]], [0, 1, 1, 1], (2,)), 1)
    np.testing.assert_allclose(np.exp(tables.log_pi), [1.5 / 5, 3.5 / 5])
    np.testing.assert_allclose(tables.tuple_counts, [[1, 2]])
    np.testing.assert_allclose(np.exp(tables.log_theta), [[1.5 / 2, 1.5 / 3], [0.5 / 2, 1.5 / 3]])
    np.testing.assert_allclose(np.exp(tables.log_theta_unseen), [[0.5 / 2, 0.5 / 3]])
    assert tables.empty_share == 0.25


def test_card_counts_the_levels_that_training_rows_have():
    rows = ([[0, 2, 0, 2], [0, 1, 1, 0]], [0, 1, 0, 1], (3, 2))  # column 0 has three levels, two of them occur
    assert counted(given(*rows), 1).cards.tolist() == [2, 2]
    assert counted(given(*rows), 2).cards.tolist() == [4]
    tables = counted(given(*rows, weights=[1.0, 0, 1, 0]), 1)
    assert tables.cards.tolist() == [1, 2]
    assert tables.seen_cells.tolist() == [0, 3, 4]


def test_theta_of_a_class_sums_to_one_over_the_cells_of_a_tuple():
    tables = counted(table(4000, (3, 4, 2), weights="fractions"), 2)
    assert len(tables.seen_cells) == tables.space.n_cells
    for t in range(tables.space.n_tuples):
        np.testing.assert_allclose(np.exp(tables.log_theta[tables.tuple_of_seen == t]).sum(axis=0), 1.0, rtol=1e-12)


@pytest.mark.parametrize("weights", [None, "whole"])
def test_naive_bayes_is_scikit_learn_s_where_the_smoothing_agrees(weights):
    """CategoricalNB adds alpha to every count and nothing to pi: with m = alpha * levels, equal levels, equal pi."""
    encoded = table(300, (4, 4, 4), 3, weights=weights, seed=3)
    codes, alpha = encoded.codes.T, 0.25
    tables = counted(encoded, 1, alpha * 4)
    assert tables.cards.tolist() == [4, 4, 4]
    reference = CategoricalNB(alpha=alpha, class_prior=np.exp(tables.log_pi)).fit(
        codes, encoded.y, sample_weight=encoded.weights
    )
    np.testing.assert_allclose(
        tables.log_theta, np.concatenate([table.T for table in reference.feature_log_prob_]), rtol=1e-12
    )
    phi = anje_phi(tables)
    model = LinearModel(tables.space, tables.seen_cells, phi[:-1], phi[-1])
    np.testing.assert_allclose(
        log_softmax(model.scores(encoded.codes, 1)), reference.predict_log_proba(codes), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_anje_equals_the_formula(order):
    encoded = table(80, (3, 4, 2, 5), weights="fractions", gaps=0.1)
    tables = counted(encoded, order)
    phi = anje_phi(tables)
    naive_table, naive_bias = naive_anje(*of(encoded), order, encoded.y, encoded.weights, 3, 1.0)
    model = LinearModel(tables.space, tables.seen_cells, phi[:-1], phi[-1])
    expected = naive_forward(*of(encoded), order, naive_table, naive_bias)
    np.testing.assert_allclose(model.scores(encoded.codes, 1), expected, rtol=1e-12, atol=1e-12)


def test_smoothing_of_zero_is_refused_only_where_a_log_of_zero_would_follow():
    full = counted(table(4000, (2, 2), 2, signal=0.1), 1, 0.0)
    assert full.empty_share == 0
    full.require_finite()
    assert np.isfinite(full.log_theta).all()
    holes = counted(table(20, (5, 5), 4), 2, 0.0)
    with pytest.raises(RecipeError, match=r"smoothing=0 takes the logarithm of 0: [\d.]+% of the pairs .* 1 is the de"):
        holes.require_finite()
    counted(table(20, (5, 5), 4), 2, 1e-9).require_finite()


def test_counting_hears_a_stop():
    of, stop = covered(table(50), 2), StopToken()
    stop.stop()
    with pytest.raises(Stopped):
        count_tables(of.rows, of.cover, 1.0, stop)
