"""MDL, quantile and uniform cuts: against the naive recursion, real columns, identities and hostile numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from alrviz.data.cuts import midpoint, quantile_cuts, smooth_cuts, uniform_cuts
from alrviz.data.mdl import _best_cut_entry, _entropy_table, _piece, mdl_cuts, sorted_entries
from alrviz.errors import Stopped, TableError
from alrviz.kernels.cuts import class_weights, merge_levels, scan
from alrviz.stop import NEVER, StopToken
from tests.oracles.mdl import naive_mdl_cuts, naive_merged


def random_column(seed: int) -> tuple[np.ndarray, np.ndarray, int, np.ndarray | None]:
    """Twenty shapes of column: ties or none, few values, missing, weights (none, whole, fractions), 2 to 40 classes."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 180))
    n_classes = [2, 3, 7, 40][seed % 4]
    x = rng.normal(size=n) * 3
    if seed % 3 == 0:
        x = np.round(x)
    if seed % 5 == 0:
        x = np.round(x * 2) / 2
    y = np.floor(x / 2 + rng.normal(size=n) * 0.3 * (seed % 5)).astype(int) % n_classes
    if seed % 4 == 1:
        x[rng.random(n) < 0.1] = np.nan
    weights = [None, rng.integers(0, 4, n).astype(float), rng.random(n) + 0.25][seed % 3]
    return x, y, n_classes, weights


@pytest.mark.parametrize("seed", range(20))
def test_equals_the_naive_recursion_exactly(seed):
    x, y, n_classes, weights = random_column(seed)
    assert mdl_cuts(x, y, n_classes, weights).tolist() == naive_mdl_cuts(x, y, weights)


def test_the_random_columns_are_cut_at_all():
    numbers = [len(mdl_cuts(*random_column(seed)[:3])) for seed in range(20)]
    assert sum(number > 0 for number in numbers) >= 12
    assert max(numbers) >= 3


def test_small_columns_where_a_cut_just_pays_or_does_not():
    """Whether a cut pays is close here, and mirror-image cuts abound: a wrong constant or tie shows."""
    rng = np.random.default_rng(1)
    for _ in range(400):
        n = int(rng.integers(2, 40))
        x = rng.integers(0, 12, n).astype(float)
        y = (x + rng.normal(size=n) * 5 > 6).astype(int)
        assert mdl_cuts(x, y, 2).tolist() == naive_mdl_cuts(x, y)


@pytest.mark.parametrize("unit", [1.0, 1 / 7])
def test_of_two_mirror_images_the_first_wins(unit):
    rng = np.random.default_rng(3)
    for _ in range(50):
        half, weights = np.repeat(rng.permutation(4), 5), rng.integers(1, 1000, 20) * unit
        column = (np.arange(40.0), np.append(half, half[::-1]), 4, np.append(weights, weights[::-1]))
        entries = sorted_entries(*column)
        place = _best_cut_entry(entries, _piece(entries, 0, 40, 4), _entropy_table(entries.weights), NEVER)
        assert place <= 20  # without a tolerance for rounding, about two in five of these come out behind the middle


def test_more_than_thirty_classes_just_pay_or_do_not():
    rng = np.random.default_rng(2)
    numbers = []
    for spread in np.linspace(1, 30, 30):
        y = np.tile(np.arange(34), 5)
        x = np.round(y + rng.normal(size=len(y)) * spread)
        numbers.append(len(mdl_cuts(x, y, 34)))
        assert mdl_cuts(x, y, 34).tolist() == naive_mdl_cuts(x, y)
    assert 0 in numbers
    assert max(numbers) > 0


@pytest.mark.parametrize(
    ("load", "column"), [(load_iris, 0), (load_iris, 2), (load_wine, 0), (load_wine, 12), (load_breast_cancer, 7)]
)
def test_real_columns_equal_the_naive_recursion(load, column):
    x, y = load(return_X_y=True)
    cuts = mdl_cuts(x[:, column], y, int(y.max()) + 1)
    assert cuts.tolist() == naive_mdl_cuts(x[:, column], y)
    assert len(cuts) >= 1


def test_by_hand():
    # 4 a, 4 b apart: gain 1 bit; threshold (log2 7 + log2 7 - 2)/8 = 0.4518
    assert mdl_cuts(np.array([1.0, 2, 3, 4, 6, 7, 8, 9]), np.repeat([0, 1], 4), 2).tolist() == [5.0]
    # the same number of rows in turns: no cut pays
    assert mdl_cuts(np.arange(8.0), np.arange(8) % 2, 2).tolist() == []
    # two rows: gain 1, threshold (log2 1 + log2 7 - 2)/2 = 0.404
    assert mdl_cuts(np.array([0.0, 1.0]), np.array([0, 1]), 2).tolist() == [0.5]


@pytest.mark.parametrize(
    ("x", "y"), [([], []), ([np.nan, np.nan], [0, 1]), ([3.0] * 9, [0, 1, 0] * 3), ([1.0, 2, 3], [1, 1, 1])]
)
def test_nothing_to_cut(x, y):
    cuts = mdl_cuts(np.array(x), np.array(y, dtype=int), 2)
    assert cuts.tolist() == []
    assert cuts.dtype == np.float64


@given(data=st.data())
def test_a_weight_of_two_is_the_row_twice_and_order_is_nothing(data):
    n = data.draw(st.integers(1, 60))
    x = data.draw(hnp.arrays(np.float64, n, elements=st.integers(-5, 5).map(float)))
    y = data.draw(hnp.arrays(np.int64, n, elements=st.integers(0, 2)))
    weights = data.draw(hnp.arrays(np.int64, n, elements=st.integers(0, 3)))
    order = np.array(data.draw(st.permutations(range(n))))
    cuts = mdl_cuts(x, y, 3, weights)
    assert mdl_cuts(np.repeat(x, weights), np.repeat(y, weights), 3).tolist() == cuts.tolist()
    assert mdl_cuts(x[order], y[order], 3, weights[order]).tolist() == cuts.tolist()
    assert mdl_cuts(x, 2 - y, 3, weights).tolist() == cuts.tolist()  # the classes' names do not matter


def test_merged_and_unmerged_entries_cut_alike(monkeypatch):
    rng = np.random.default_rng(5)
    x = rng.integers(0, 12, 600).astype(float)
    y = (x + rng.normal(size=600) * 2 > 6).astype(int)
    merged = sorted_entries(x, y, 2, None)
    assert len(merged.values) <= 24
    assert merged.weights.sum() == 600
    whole = mdl_cuts(x, y, 2)
    monkeypatch.setattr("alrviz.data.mdl._ENTRIES_PER_CALL", 5)  # the scan stops after every five entries
    monkeypatch.setattr("alrviz.data.mdl._MAX_TABLE_ENTRIES", 0)  # logarithms instead of the table
    assert mdl_cuts(x, y, 2).tolist() == whole.tolist()
    assert len(whole) >= 1


def test_infinite_numbers_are_refused_by_row():
    with pytest.raises(TableError, match=r"infinite number \(row 1\)"):
        mdl_cuts(np.array([0.0, np.inf]), np.array([0, 1]), 2)


def test_a_stopped_token_ends_it():
    token = StopToken()
    token.stop()
    with pytest.raises(Stopped):
        mdl_cuts(np.arange(10.0), np.arange(10) % 2, 2, stop=token)


def test_midpoint_stays_between():
    low = np.nextafter(1.0, 0.0)
    assert midpoint(low, 1.0) == low  # halfway rounds to 1.0, and 1.0 belongs to the right
    assert midpoint(1e308, 1.7e308) == pytest.approx(1.35e308)
    assert midpoint(-1.7e308, 1.7e308) == 0.0


def test_one_signature_per_kernel_whatever_comes_in():
    for dtype in (np.float32, np.int64, np.float64):
        x = np.arange(20).astype(dtype)
        mdl_cuts(x, (x > 9).astype(np.int8), 2)
        mdl_cuts(np.stack([x, x], axis=1)[:, 0], (x > 9).astype(np.int64), 2, np.ones(20, dtype=np.float32))
        mdl_cuts(list(x), [int(v > 9) for v in x], 2, [2] * 20)
    assert len(scan.signatures) == 1
    assert len(class_weights.signatures) == 1


def test_quantiles_share_the_weight():
    assert quantile_cuts(np.arange(8.0), 4).tolist() == [1.5, 3.5, 5.5]
    assert quantile_cuts(np.array([0.0, 0, 0, 0, 0, 0, 1, 2]), 4).tolist() == [0.5]
    assert quantile_cuts(np.array([0.0, 1, 2, 3]), 2, np.array([1.0, 1, 1, 5])).tolist() == [2.5]
    assert quantile_cuts(np.full(5, 7.0), 4).tolist() == []


def test_equal_widths_without_empty_intervals():
    assert uniform_cuts(np.array([0.0, 1, 2, 3, 4]), 4).tolist() == [1.0, 2.0, 3.0]
    assert uniform_cuts(np.array([0.0, 10.0]), 5).tolist() == [2.0]
    assert uniform_cuts(np.full(5, 7.0), 4).tolist() == []
    assert np.isfinite(uniform_cuts(np.array([-1.7e308, 0.0, 1.7e308]), 4)).all()


@given(
    x=hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e6, 1e6)),
    n_bins=st.integers(2, 12),
    double=st.booleans(),
)
def test_cuts_leave_no_interval_empty(x, n_bins, double):
    weights = np.full(len(x), 2.0) if double else None
    y = np.arange(len(x)) % 3
    of_weights = np.ones(len(x)) if weights is None else weights
    smooth = smooth_cuts(x, y, 3, n_bins, of_weights)
    for cuts in (quantile_cuts(x, n_bins, weights), uniform_cuts(x, n_bins), smooth):
        assert len(cuts) < n_bins
        assert (np.diff(cuts) > 0).all()
        assert (np.bincount(np.searchsorted(cuts, x, side="left"), minlength=len(cuts) + 1) > 0).all()
    assert quantile_cuts(x, n_bins, weights).tolist() == quantile_cuts(np.repeat(x, 1 + double), n_bins).tolist()


def test_smooth_cuts_are_quantiles_where_levels_do_not_differ_and_spend_one_on_a_frequent_value():
    rng = np.random.default_rng(0)
    x = rng.permutation(4096).astype(float)
    sizes = np.diff(np.searchsorted(np.sort(x), smooth_cuts(x, rng.integers(0, 2, 4096), 2, 16, np.ones(4096))))
    assert sizes.min() >= 128
    assert sizes.max() <= 512
    frequent = np.where(x < 3700, 0.0, x)
    cuts = smooth_cuts(frequent, rng.integers(0, 2, 4096), 2, 16, np.ones(4096))
    assert (cuts > 0).all()
    assert (cuts > 3700).sum() >= 10
    assert len(quantile_cuts(frequent, 16)) == 2


@pytest.mark.parametrize(("levels", "classes", "most"), [(40, 2, 8), (25, 5, 2), (6, 3, 6), (1, 2, 4)])
def test_levels_that_differ_least_are_merged_first(levels, classes, most):
    rng = np.random.default_rng(levels)
    shares = rng.dirichlet(np.ones(classes), 4)[np.arange(levels) * 4 // levels]
    counts = np.array([rng.multinomial(10 * rng.integers(1, 9), of) for of in shares], float)
    want = naive_merged(counts, most, 1.5)
    assert merge_levels(counts.copy(), most, counts.sum() / most, 1.5).tolist() == want
    assert len(want) == min(levels, most) - 1


def test_a_leap_is_cut_where_it_is():
    rng = np.random.default_rng(1)
    x = rng.uniform(size=3000)
    y = (rng.random(3000) < np.where(x > 0.37, 0.9, 0.1)).astype(int)
    nearest = np.abs(smooth_cuts(x, y, 2, 8, np.ones(3000)) - 0.37).min()
    assert nearest < 1 / 64  # one of 64 quantiles; eight are an eighth wide
