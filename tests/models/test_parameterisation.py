"""Scales, free weights, centers and starts: each name stands for one model, whatever the metric."""

import numpy as np
import pytest

from alrviz.models.parameterisation import anje_phi, free_weight_numbers, parameterise
from tests.fitting.tables import counted, table


@pytest.fixture(params=[1, 2, 3])
def tables(request):
    return counted(table(90, (3, 4, 2, 5), weights="fractions"), request.param, 0.7)


def test_scales_are_those_of_the_formulas(tables):
    counts, pi, n = tables.counts, np.exp(tables.log_pi), tables.class_counts.sum()
    assert (parameterise("lr", tables).scale == 1).all()
    alr = parameterise("alr", tables).scale
    assert np.array_equal(alr[:-1], tables.log_theta)
    assert np.array_equal(alr[-1], tables.log_pi)
    np.testing.assert_allclose(parameterise("alrj", tables).scale, anje_phi(tables), rtol=1e-15)
    assert (parameterise("adaptive", tables).scale == 1).all()
    for alpha in (0.0, 0.3):
        scale = parameterise("diagonal", tables, alpha).scale
        for cell in range(len(counts)):
            np.testing.assert_allclose(scale[cell], 1 / np.sqrt(counts[cell].sum() * pi * (1 - pi) + 2 * alpha))
        np.testing.assert_allclose(scale[-1], 1 / np.sqrt(n * pi * (1 - pi) + 2 * alpha))


@pytest.mark.parametrize("family", ["lr", "alr", "alrj", "diagonal", "adaptive"])
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


def test_every_weight_one_is_anje_in_alrj(tables):
    of = parameterise("alrj", tables)
    for name in (1, "one", "anje"):
        assert (of.weights_of(name) == 1).all()
        np.testing.assert_allclose(of.phi(of.weights_of(name)), anje_phi(tables), rtol=1e-15)
        np.testing.assert_array_equal(of.unseen_phi(name), tables.space.gamma * tables.log_theta_unseen)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("family", ["alr", "alrj"])
def test_anje_of_alr_is_exact_where_log_theta_is_zero(family, seed):
    """A constant column has theta 1, log theta 0: its weights move nothing, and 0 / 0 must not come up.

    Sums of fractional weights differ in their last bits: that is no scale either.
    """
    tables = counted(table(50, (1, 3), seed=seed, weights="fractions", gaps=0.2), 1)
    of = parameterise(family, tables)
    assert (of.scale[0] == 0).all()
    assert (of.scale[1:] != 0).all()
    assert (of.weights_of("anje") == 1).all()


def test_phi_of_unseen_cells_is_that_of_the_named_model(tables):
    of = parameterise("alr", tables)
    m = tables.smoothing
    log_theta = np.log((m / tables.cards[:, None]) / (tables.tuple_counts + m))
    assert not of.unseen_phi(0).any()
    np.testing.assert_allclose(of.unseen_phi("one"), log_theta)
    np.testing.assert_allclose(of.unseen_phi("anje"), tables.space.gamma * log_theta)


SHARES = ["cell-class", "cell", "tuple", "all"]


@pytest.mark.parametrize("share", SHARES)
def test_free_weights_are_those_of_the_formula(tables, share):
    """The number of each free weight, computed once more cell by cell."""
    number, cells = free_weight_numbers(tables, share), len(tables.seen_cells)
    if share == "cell-class":
        assert number is None
        return
    of_cell = {"cell": range(cells), "tuple": tables.tuple_of_seen, "all": [0] * cells}[share]
    groups = sorted(set(of_cell))
    expected = [[groups.index(group)] * 3 for group in of_cell]
    assert number.tolist() == [*expected, [len(groups), len(groups) + 1, len(groups) + 2]]
    assert parameterise("alr", tables, share=share).shape == (len(groups) + 3, 1)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("family", ["lr", "alr", "alrj"])
def test_adjoint_is_the_transpose_of_phi(tables, family, share):
    of, rng = parameterise(family, tables, share=share), np.random.default_rng(0)
    w, dphi = rng.normal(size=of.shape), rng.normal(size=of.scale.shape)
    assert (of.adjoint(dphi.copy()) * w).sum() == pytest.approx((dphi * of.phi(w)).sum(), rel=1e-12)
    for place in {0, of.shape[0] // 2, of.shape[0] - 1}:
        unit = np.zeros(of.shape)
        unit[place, 0] = 1.0
        assert np.sqrt((of.phi(unit) ** 2).sum()) == pytest.approx(abs(of.scale_norms[place, 0]), rel=1e-12)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("family", ["alr", "alrj"])
def test_shared_weights_name_the_same_models(tables, family, share):
    of, own = parameterise(family, tables, share=share), parameterise(family, tables)
    for name in ("zero", "one", "anje"):
        np.testing.assert_array_equal(of.phi(of.weights_of(name)), own.phi(own.weights_of(name)))


def test_a_tuple_without_a_seen_cell_has_no_weight():
    """Every row lacks a level in column 1: its tuple has no cell, and nobody owns a weight for it."""
    encoded = table(40, (3, 2, 4))
    encoded.codes[1] = 2
    tables = counted(encoded, 1)
    assert parameterise("alr", tables, share="tuple").shape == (2 + 3, 1)
