"""Kernels of grids and exact sums against plain numpy."""

from itertools import pairwise

import numpy as np
import pytest

from alrviz.kernels import density, grids
from alrviz.passes.sources import NO_BUNDLES


def grid_of(x, delta, reach):
    """Stretches of the sorted x as kernels take them, without nodes."""
    place, first, last = np.array([x[0], 1 / delta]), np.empty(len(x), np.int64), np.empty(len(x), np.int64)
    count = grids.find_stretches(x, place, reach, first, last)
    first, last = first[:count].copy(), last[:count].copy()
    base = np.append(0, (last - first + 1 + reach).cumsum())
    return (first, last, base[:-1].copy(), np.empty((0, 0)), place, np.zeros((2, 4))), int(base[-1])


def test_stretches_cover_all_rows_and_end_at_the_kernels_reach():
    x = np.sort(np.append(np.random.default_rng(0).normal(size=50), [40.0, 40.2, 1e6]))
    (first, last, *_), _ = grid_of(x, 0.1, 30)
    assert len(first) == 3
    assert (first[1:] > last[:-1] + 30).all()
    cells = np.floor((x - x[0]) / 0.1)
    inside = (cells[:, None] - 1 >= first) & (cells[:, None] + 2 <= last)
    assert (inside.sum(axis=1) == 1).all()
    close, _ = grid_of(np.arange(0.0, 30.0, 2.0), 0.1, 30)
    assert len(close[0]) == 1, "gaps of 20 cells are within reach"


def test_spread_votes_keep_place_and_weight_of_their_rows():
    rng = np.random.default_rng(1)
    x, weights = np.sort(np.append(rng.normal(size=60), 100.0)), rng.uniform(0.5, 2, 61)
    grid, size = grid_of(x, 0.05, 20)
    votes = np.zeros((1, size + 40))
    for begin, end in ((0, 7), (7, 61)):
        grids.spread_votes(x, weights, np.array([0, 61]), grid, 20, votes, begin, end)
    nodes = np.concatenate(
        [np.append(np.arange(a, b + 1), np.full(20, np.nan)) for a, b in zip(*grid[:2], strict=True)]
    )
    at = x[0] + 0.05 * nodes
    of = votes[0, 20:-20]
    assert (of[np.isnan(at)] == 0).all()
    for power in range(4):  # cubic weights keep the moments
        np.testing.assert_allclose(np.nansum(of * at**power), (weights * x**power).sum(), rtol=1e-11)


def test_convolution_is_numpys():
    rng = np.random.default_rng(2)
    votes, table = np.zeros((3, 700 + 60)), rng.random((2, 21))
    votes[:, 30:-30] = rng.normal(size=(3, 700))
    nodes = np.empty((6, 700))
    for begin, end in ((0, 512), (512, 700)):
        grids.convolve(votes, table[0], table[1], nodes, begin, end)
    for row, of in enumerate(table):
        whole = np.append(of[::-1], of[1:])
        expected = [np.convolve(v, whole, "same")[30:-30] for v in votes]
        np.testing.assert_allclose(nodes[3 * row : 3 * row + 3], expected, rtol=1e-12, atol=1e-12)


def test_the_first_place_from_a_value_is_found_from_anywhere():
    x = np.sort(np.random.default_rng(3).integers(0, 30, 80).astype(float))
    for lo, hi in ((0, 80), (11, 12), (20, 61), (5, 5)):
        for value in (-1.0, 0.0, 7.0, 7.5, 29.0, 31.0):
            for near in range(lo, hi + 1):
                assert density._first_from(x, lo, hi, near, value) == lo + np.searchsorted(x[lo:hi], value)


def test_the_exponential_is_numpys():
    x = np.append(-np.logspace(-12, np.log10(80), 500), [0.0, 0.7, 10.0])
    np.testing.assert_allclose([density._exp(of) for of in x], np.exp(x), rtol=1e-15)


@pytest.mark.parametrize("least", [-np.inf, -700.0, -650.0])
def test_sums_are_exact_or_negligible(least):
    """One source of weight 2 at a distance of 37 h: log S = log 2 - 684.5."""
    sources = np.array([37.0]), np.array([2.0]), np.array([0, 1]), np.log([2.0])
    found = density._log_sum(0.0, 0, -1, 0.0, sources, NO_BUNDLES, 1.0, least, 0, np.empty((6, density.N_SUMS)))
    expected = (-np.inf, 0.0) if least == -650.0 else (np.log(2.0) - 684.5, 37.0**2)
    np.testing.assert_allclose(found[:2], expected, rtol=1e-14)


def test_bundles_hold_every_source_once_and_vote_as_they_do():
    rng = np.random.default_rng(4)
    x, weights, first = np.append(np.sort(rng.random(300)), np.sort(rng.random(50))), rng.random(350), [0, 300, 350]
    starts, centers = np.empty(351, np.int64), np.empty(350)
    terms, classes = np.empty((density.N_TERMS, 350)), np.empty(3, np.int64)
    count = density.bundle(x, weights, np.array(first), 0.5, starts, centers, terms, classes)
    assert starts[count] == 350
    assert starts[classes].tolist() == first
    for b, (begin, end) in enumerate(pairwise(starts[: count + 1])):
        s = (x[begin:end] - centers[b]) / 0.5
        assert np.abs(s).max() <= density.BUNDLE_BANDWIDTHS / 2 + 1e-12
        for t in (-8.0, 0.3, 8.0):
            vote = np.exp(-(t**2) / 2) * np.polyval(terms[::-1, b], t)
            np.testing.assert_allclose(vote, (weights[begin:end] * np.exp(-((t - s) ** 2) / 2)).sum(), rtol=1e-12)
