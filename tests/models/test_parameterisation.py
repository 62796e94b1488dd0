"""Scales, centers and starts: each name stands for one model, whatever the metric."""

import numpy as np
import pytest

from alrviz.models.parameterisation import anje_phi, parameterise
from tests.fitting.tables import table
from tests.models.test_tables import counted


@pytest.fixture(params=[1, 2, 3])
def tables(request):
    return counted(table(90, (3, 4, 2, 5), weights="fractions"), request.param, 0.7)


def test_scales_are_those_of_the_formulas(tables):
    counts, pi, n = tables.counts, np.exp(tables.log_pi), tables.class_counts.sum()
    assert (parameterise("lr", tables).scale == 1).all()
    alr = parameterise("alr", tables).scale
    assert np.array_equal(alr[:-1], tables.log_theta)
    assert np.array_equal(alr[-1], tables.log_pi)
    for alpha in (0.0, 0.3):
        scale = parameterise("diagonal", tables, alpha).scale
        for cell in range(len(counts)):
            np.testing.assert_allclose(scale[cell], 1 / np.sqrt(counts[cell].sum() * pi * (1 - pi) + 2 * alpha))
        np.testing.assert_allclose(scale[-1], 1 / np.sqrt(n * pi * (1 - pi) + 2 * alpha))


@pytest.mark.parametrize("family", ["lr", "alr", "diagonal"])
def test_names_of_models_give_the_same_phi_in_every_metric(tables, family):
    of = parameterise(family, tables, 0.2)
    for name in (0, "zero"):
        assert not (of.scale * of.weights_of(name)).any()
    np.testing.assert_allclose(of.scale * of.weights_of("anje"), anje_phi(tables), rtol=1e-12)
    np.testing.assert_allclose(anje_phi(tables)[:-1], tables.space.gamma * tables.log_theta)
    np.testing.assert_array_equal(anje_phi(tables)[-1], tables.log_pi)


def test_one_is_every_weight_one_and_at_order_one_it_is_anje(tables):
    of = parameterise("alr", tables)
    assert (of.weights_of("one") == 1).all()
    assert np.array_equal(of.weights_of("one"), of.weights_of(1))
    anje = of.weights_of("anje")
    assert np.array_equal(of.weights_of("one"), anje) == (tables.space.order == 1)
    assert (anje[:-1] == tables.space.gamma).all()
    assert (anje[-1] == 1).all()


def test_anje_of_alr_is_exact_where_log_theta_is_zero():
    """A constant column has theta 1, log theta 0: its weights move nothing, and 0 / 0 must not come up."""
    tables = counted(table(50, (1, 3)), 1)
    of = parameterise("alr", tables)
    assert (of.scale[0] == 0).all()
    assert (of.weights_of("anje") == 1).all()


def test_phi_of_unseen_cells_is_that_of_the_named_model(tables):
    of = parameterise("alr", tables)
    m = tables.smoothing
    log_theta = np.log((m / tables.cards[:, None]) / (tables.tuple_counts + m))
    assert not of.unseen_phi(0).any()
    np.testing.assert_allclose(of.unseen_phi("one"), log_theta)
    np.testing.assert_allclose(of.unseen_phi("anje"), tables.space.gamma * log_theta)
