"""Density features: what they are, and what a bandwidth does to them."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alrviz.errors import TableError
from alrviz.models.density import DensityFeatures
from alrviz.models.density_votes import MAX_LOG_SHIFT
from alrviz.passes import sources
from alrviz.passes.density import LIMIT
from alrviz.passes.sources import MAX_ABS_NUMBER
from tests.models.densities import EXACT, GRIDS, table
from tests.oracles.density import naive_features, naive_phi, naive_silverman


@pytest.fixture
def exact(monkeypatch):
    monkeypatch.setattr(sources, "_VOTE_NS", EXACT)


@st.composite
def small_tables(draw):
    """A few rows: ties, missing numbers, codes without a level, weights 0 and above; every column has a feature."""
    classes, rows = draw(st.integers(2, 4)), draw(st.integers(8, 24))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    y = np.append(np.arange(classes), rng.integers(0, classes, rows - classes)).astype(np.int32)
    values = draw(st.sampled_from([[0.0, 1.0, 2.0, np.nan], [0.0, 1e6, 3.0, np.nan], [-1.5, 0.25, np.nan, 40.0, 41.0]]))
    numbers = rng.choice(values, (2, rows))
    numbers[:, :2] = values[0], values[1]
    codes = rng.integers(0, 4, (2, rows)).astype(np.uint8)  # of 3 levels: the last is none
    codes[:, :2] = 0, 1
    weights = rng.choice(draw(st.sampled_from([[1.0], [1.0, 2.0, 3.0], [0.0, 0.5, 1.0, 2.5]])), rows)
    weights[:classes] = np.maximum(weights[:classes], 0.5)
    return numbers, codes, np.array([3, 3]), y, weights, classes


@given(
    small_tables(),
    st.sampled_from([-MAX_LOG_SHIFT, -2.0, 0.0, 0.7, MAX_LOG_SHIFT]),
    st.sampled_from([0.0, 0.1, 1.0]),
    st.booleans(),
)
def test_features_are_the_definition(given_table, wider, m, leave_out):
    numbers, codes, levels, y, weights, classes = given_table
    features = DensityFeatures(*given_table, smoothing=m)
    silverman = [naive_silverman(x, weights) for x in numbers]
    np.testing.assert_allclose(features.silverman, silverman, rtol=1e-12)
    h = features.silverman * np.exp(wider)
    found = features.training(np.log(h), leave_out)
    assert found.phi.shape == (4, features.n_values, len(y))
    expected = naive_features(numbers, codes, levels, y, weights, classes, h, m, leave_out=leave_out)
    # a row may be a million bandwidths from all others: phi has the digits that differences of such log S have
    digits = 1e-10 + 1e-15 * (np.nanmax(numbers, axis=1) - np.nanmin(numbers, axis=1)).max() ** 2 / (2 * h.min() ** 2)
    np.testing.assert_allclose(found.phi, expected, rtol=0, atol=digits)
    new = (numbers[:, ::2] + 0.3, codes[:, ::2])
    expected = naive_features(numbers, codes, levels, y, weights, classes, h, m, rows=new)
    np.testing.assert_allclose(features.rows(*new, np.log(h)).phi, expected, rtol=0, atol=digits)


@pytest.mark.parametrize("ratio", [10, 40])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("leave_out", [False, True])
def test_grids_are_within_a_thousandth(classes, leave_out, ratio, gridded, monkeypatch):
    """Also where S is thin, for it is exact there."""
    monkeypatch.setattr(sources, "NODES_PER_BANDWIDTH", ratio)
    monkeypatch.setattr("alrviz.models.density_votes.NODES_PER_BANDWIDTH", ratio)
    given_table = table(300, classes, missing=0.02, weights="parts")
    given_table[0][0, :40] = np.random.default_rng(1).standard_cauchy(40) * 1e6
    features = DensityFeatures(*given_table)
    for wider in (-3.0, 0.0, 2.0):
        h = features.silverman * np.exp(wider)
        found = features.training(np.log(h), leave_out, spacing=np.rint(np.full(2, wider) / np.log(2)))
        expected = naive_features(*given_table, h, 1.0, leave_out=leave_out)
        assert 0 < np.abs(found.phi - expected).max() <= 1e-3


def slope_by_differences(compute, log_h, d, step=1e-5):
    up, down = log_h.copy(), log_h.copy()
    up[d] += step
    down[d] -= step
    return (compute(log_h=up).phi - compute(log_h=down).phi)[d] / (2 * step)


@pytest.mark.parametrize("how", [EXACT, GRIDS])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("leave_out", [False, True])
def test_dphi_is_the_derivative_of_phi(classes, leave_out, how, monkeypatch):
    monkeypatch.setattr(sources, "_VOTE_NS", how)
    given_table = table(150, classes, weights="parts", apart=2.0)
    features = DensityFeatures(*given_table)
    for wider in (-MAX_LOG_SHIFT, -1.5, 3.0, MAX_LOG_SHIFT):
        log_h = np.log(features.silverman) + wider
        grids = features.spacing(log_h)
        found = features.training(log_h, leave_out)
        other = features.rows(*given_table[:2], log_h, gradient=True)
        for d in range(2):
            slope = slope_by_differences(partial(features.training, leave_out=leave_out, spacing=grids), log_h, d)
            steep = np.abs(found.phi[d]) == LIMIT
            assert (found.dphi[d][steep] == 0).all()
            scale = 1 + np.abs(found.dphi[d]).max()
            np.testing.assert_allclose(found.dphi[d][~steep], slope[~steep], rtol=0, atol=1e-6 * scale)
            slope = slope_by_differences(partial(features.rows, *given_table[:2], spacing=grids), log_h, d)
            steep = np.abs(other.phi[d]) == LIMIT
            np.testing.assert_allclose(other.dphi[d][~steep], slope[~steep], rtol=0, atol=1e-6 * scale)


@pytest.mark.parametrize("classes", [2, 3])
def test_all_weights_one_is_naive_bayes_with_kernel_densities(classes, exact):
    """Densities of a common h, shares of levels within a class, and the class shares: multiplied, and set to sum 1."""
    numbers, codes, _, y, weights, _ = given_table = table(80, classes, weights="whole", missing=0.0)
    features = DensityFeatures(*given_table, smoothing=0.5)
    h = features.silverman * [0.5, 1.5]
    phi = features.training(np.log(h), leave_out=False).phi
    counts = np.bincount(y, weights)
    joint = np.tile(counts / counts.sum(), (80, 1))
    for x, width in zip(numbers, h, strict=True):
        kernel = weights * np.exp(-((x[:, None] - x) ** 2) / (2 * width**2)) / (width * np.sqrt(2 * np.pi))
        joint *= np.stack([kernel[:, y == k].sum(axis=1) / counts[k] for k in range(classes)], axis=1)
    for of in codes:
        together = np.array([[weights[(of == level) & (y == k)].sum() for k in range(classes)] for level in range(4)])
        joint *= ((together + 0.5 * counts / counts.sum()) / counts)[of]
    joint /= joint.sum(axis=1, keepdims=True)
    scores = phi.sum(axis=0).T
    if classes == 2:
        scores = np.append(np.zeros((80, 1)), scores, axis=1)
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(p / p.sum(axis=1, keepdims=True), joint, rtol=0, atol=1e-10)


@pytest.mark.parametrize("how", [EXACT, GRIDS])
@pytest.mark.parametrize("classes", [2, 3])
def test_where_one_class_is_alone_phi_is_at_its_limit(how, classes, monkeypatch):
    monkeypatch.setattr(sources, "_VOTE_NS", how)
    y = np.repeat(np.arange(classes), 50).astype(np.int32)
    x = np.tile(np.linspace(0.0, 1.0, 50), classes) + 100.0 * y
    features = DensityFeatures(x[None], np.empty((0, len(y)), np.uint8), np.empty(0, int), y, np.ones(len(y)), classes)
    found = features.training(np.log([0.5]), True)
    own = found.phi[0, 0] if classes == 2 else found.phi[0, y, np.arange(len(y))]
    if classes == 2:
        assert np.array_equal(own, np.where(y == 1, LIMIT, -LIMIT))
    else:
        np.testing.assert_allclose(own, 0.0, atol=1e-12)  # log p(own class | x) with one feature
        assert (found.phi[0].T[y[:, None] != np.arange(3)] == -LIMIT).all()
    assert np.abs(found.dphi).max() < 1e-9
    between = features.rows(np.array([[50.5]]), np.empty((0, 1), np.uint8), np.log([0.5]), gradient=True)
    assert np.abs(between.phi[0, 0, 0]) < 30 if classes == 2 else between.phi[0, 2, 0] == -LIMIT


def test_a_far_row_makes_a_stretch_of_its_own(gridded):
    rng = np.random.default_rng(0)
    x = np.append(rng.normal(size=2000), 1e6)
    y = (np.arange(2001) % 2).astype(np.int32)
    features = DensityFeatures(x[None], np.empty((0, 2001), np.uint8), np.empty(0, int), y, np.ones(2001), 2)
    log_h = np.log([0.2])
    found = features.training(log_h, True).phi
    grid = features.columns[0]._grid
    assert len(grid._first) == 2
    assert grid.n_nodes < 10_000
    near = [1, 2, 1999, 2000]
    expected = naive_features(x[None], [], [], y, np.ones(2001), 2, [0.2], 1.0, leave_out=True)
    np.testing.assert_allclose(found[:, :, near], expected[:, :, near], rtol=0, atol=1e-3)


@pytest.mark.parametrize("how", [EXACT, GRIDS])
def test_extremes_of_the_bandwidth(how, monkeypatch):
    """Far below, a row that votes is all there is at its place; far above, all places are one."""
    monkeypatch.setattr(sources, "_VOTE_NS", how)
    given_table = table(200, 2, numeric=2, categorical=0, missing=0.0)
    given_table[0][0] = np.random.default_rng(2).permutation(200)
    features = DensityFeatures(*given_table)
    low, high = features.bounds
    y, counts = given_table[3], features.class_counts
    assert np.array_equal(features.training(low, False).phi[0, 0], np.where(y == 1, LIMIT, -LIMIT))
    np.testing.assert_allclose(features.training(high, False).phi, 0.5 * np.log(counts[1] / counts[0]), atol=1e-4)
    left = counts[:, None] - np.eye(2)[:, y]
    np.testing.assert_allclose(features.training(high, True).phi[1, 0], 0.5 * np.log(left[1] / left[0]), atol=1e-4)
    naive = naive_features(*given_table, np.exp(low), 1.0, leave_out=True)
    np.testing.assert_allclose(features.training(low, True).phi, naive, atol=1e-3)


def test_constant_columns_have_no_feature():
    numbers, codes, levels, y, weights, classes = table(60, 2, numeric=3, categorical=3, missing=0.0)
    numbers[1] = np.where(y == 1, 4.0, np.nan)
    codes[0] = 2
    codes[2] = np.where(y == 1, 3, 4)  # 4 is no level
    features = DensityFeatures(numbers, codes, levels, y, weights, classes)
    assert features.numeric.tolist() == [0, 2]
    assert features.categorical.tolist() == [1]
    assert features.n_features == 3
    log_h = np.log(features.silverman)
    fewer = DensityFeatures(numbers[[0, 2]], codes[[1]], levels[[1]], y, weights, classes)
    assert np.array_equal(features.training(log_h, True).phi, fewer.training(log_h, True).phi)
    assert np.array_equal(features.rows(numbers, codes, log_h).phi, fewer.rows(numbers[[0, 2]], codes[[1]], log_h).phi)


def test_a_table_of_levels_alone_has_no_bandwidth():
    features = DensityFeatures(*table(40, 3, numeric=0))
    found = features.training(np.empty(0), True)
    assert found.phi.shape == (1, 3, 40)
    assert found.dphi.shape == (0, 3, 40)
    assert features.bounds.shape == (2, 0)


@pytest.mark.parametrize("classes", [2, 3])
def test_levels_equal_the_codes_of_rows(classes):
    numbers, codes = (given_table := table(60, classes, categorical=2))[:2]
    features = DensityFeatures(*given_table)
    log_h = np.log(features.silverman)
    for feature in range(2):
        by_level = features.levels(feature)
        phi = features.rows(numbers, codes, log_h).phi[2 + feature]
        np.testing.assert_array_equal(phi, by_level[:, codes[feature]])
        unseen = features.rows(numbers, np.full_like(codes, 200), log_h).phi[2 + feature]
        shares = naive_phi(np.log(features.class_counts), features.class_counts, 4)
        np.testing.assert_allclose(by_level[:, -1], shares, atol=1e-12)
        np.testing.assert_array_equal(unseen, np.tile(by_level[:, -1:], 60))


def test_a_missing_number_that_training_never_missed_gives_the_class_shares():
    features = DensityFeatures(*table(50, 3, missing=0.0, categorical=0))
    nothing = np.full((2, 1), np.nan)
    phi = features.rows(nothing, np.empty((0, 1), np.uint8), np.log(features.silverman)).phi
    shares = naive_phi(np.log(features.class_counts), features.class_counts, 2)
    np.testing.assert_allclose(phi[:, :, 0], np.tile(shares, (2, 1)), atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
def test_curves_are_the_features_of_rows_and_densities(classes):
    features = DensityFeatures(*table(300, classes, missing=0.0, categorical=0, weights="whole"))
    log_h = np.log(features.silverman)
    x = np.linspace(-8.0, 12.0, 4001)
    curve = features.curve(1, x, log_h[1])
    rows = features.rows(np.stack([x, x]), np.empty((0, len(x)), np.uint8), log_h)
    np.testing.assert_allclose(curve.phi, rows.phi[1], rtol=0, atol=1e-3)
    np.testing.assert_allclose(np.trapezoid(curve.density, x), 1.0, rtol=1e-9)


def test_a_class_of_one_row_is_gone_when_it_is_left_out():
    numbers, codes, levels, y, weights, classes = table(30, 2)
    y[:] = 0
    y[7] = 1
    phi = DensityFeatures(numbers, codes, levels, y, weights, classes).training(np.zeros(2), True).phi
    assert np.isfinite(phi).all()
    assert (phi[:, 0, 7] == -LIMIT).all()


def test_table_without_features_raises():
    numbers, codes, levels, y, weights, _ = table(30, 2)
    with pytest.raises(TableError, match="class 2 has no training row"):
        DensityFeatures(numbers, codes, levels, y, weights, 3)
    with pytest.raises(TableError, match="no column has a feature"):
        DensityFeatures(numbers[:1] * 0, codes[:0], levels[:0], y, weights, 2)
    features = DensityFeatures(numbers, codes, levels, y, weights, 2)
    for value in (np.inf, -np.inf, 2 * MAX_ABS_NUMBER):
        wrong = numbers.copy()
        wrong[1, 4] = value
        with pytest.raises(TableError, match=r"numeric column 1 is -?(inf|2e.140) in row 4"):
            DensityFeatures(wrong, codes, levels, y, weights, 2)
        with pytest.raises(TableError, match="numeric column 1"):
            features.rows(wrong, codes, np.zeros(2))
    wrong[1, 4] = MAX_ABS_NUMBER
    assert np.isfinite(features.rows(wrong, codes, np.zeros(2)).phi).all()
    large = DensityFeatures(wrong, codes, levels, y, weights, 2)
    assert np.isfinite(large.training(np.log(large.silverman), True).phi).all()
