"""Conditional tables: distributions whatever the weights, derivatives against differences, the counted start."""

import numpy as np
import pytest

from alrviz.models.conditional import ConditionalTables
from alrviz.models.linear import log_softmax
from alrviz.models.networks import count_network
from tests.fitting.tables import counted, table
from tests.models.test_networks import STRUCTURES, new_rows

NAMES = list(STRUCTURES)


def tables_of(name, seed=3):
    encoded = table(40, (3, 4, 2, 5), seed=seed)
    counts = count_network(STRUCTURES[name], counted(encoded, 1), encoded.codes, encoded.y, encoded.weights)
    return encoded, counts, ConditionalTables.from_counts(counts)


@pytest.mark.parametrize("name", NAMES)
def test_weights_start_at_the_counted_network(name):
    encoded, counts, tables = tables_of(name)
    np.testing.assert_allclose(tables.phi(tables.start), tables.start, atol=1e-13)  # log p: nothing to normalise
    codes = np.concatenate([encoded.codes, new_rows(encoded)], axis=1).astype(np.uint16)
    same = tables.model(tables.phi(tables.start), counts.model().bias)
    np.testing.assert_allclose(same.scores(codes), counts.model().scores(codes), rtol=1e-12)
    assert len(tables.cells) >= len(counts.seen_cells)
    if name == "two parents":
        assert len(tables.cells) > len(counts.seen_cells)  # levels that no row has under parents that some row has


@pytest.mark.parametrize("name", NAMES)
def test_every_group_is_a_distribution(name):
    _, _, tables = tables_of(name)
    w = np.random.default_rng(0).normal(scale=50.0, size=tables.start.shape)
    sums = np.add.reduceat(np.exp(tables.phi(w)), tables.groups, axis=0)
    np.testing.assert_allclose(sums, 1.0, rtol=1e-12)
    shifted = w + np.repeat(np.arange(len(tables.groups)), np.diff(np.append(tables.groups, len(w))))[:, None]
    np.testing.assert_allclose(tables.phi(shifted), tables.phi(w), atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_slopes_against_differences(name):
    """Of the log loss by every weight, as [ELR]'s Proposition 1 has it."""
    encoded, counts, tables = tables_of(name)
    rng, y, bias = np.random.default_rng(1), encoded.y, counts.model().bias
    w = tables.start + rng.normal(size=tables.start.shape)

    def loss(w):
        log_p = log_softmax(tables.model(tables.phi(w), bias).scores(encoded.codes))
        return -(encoded.weights * log_p[np.arange(len(y)), y]).sum()

    def by_phi(phi):
        scores = tables.model(phi, bias).scores(encoded.codes)
        residual = (np.exp(log_softmax(scores)) - np.eye(3)[y]) * encoded.weights[:, None]
        gradient = np.zeros_like(phi)
        index, _ = tables.model(phi, bias)._indexes
        rows = index.locate(np.ascontiguousarray(encoded.codes, np.uint16), 0, len(y)).astype(int) - 8
        for t in range(4):
            np.add.at(gradient, rows[:, t], residual)
        return gradient

    phi = tables.phi(w)
    slopes = tables.adjoint(by_phi(phi), phi)
    eps = 1e-6
    for s in rng.choice(len(w), 12, replace=False):
        for k in range(3):
            step = np.zeros_like(w)
            step[s, k] = eps
            assert slopes[s, k] == pytest.approx((loss(w + step) - loss(w - step)) / (2 * eps), abs=2e-7)
