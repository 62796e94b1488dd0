"""Row kernels against their oracles: widths, orders, gaps, weights, code widths, row counts around the chunk."""

import numpy as np
import pytest

from alrviz.models.space import CellSpace
from alrviz.passes.rows import CHUNK, LANES, Rows, lanes_of
from tests.oracles.rows import naive_count, naive_forward, naive_scatter

CLASSES = (2, 3, 4, 5, 8, 9, 16, 17, 26)
LEVELS = (3, 1, 4, 2)


def make(rows, n_classes, *, levels=LEVELS, gaps=0.0, dtype=np.uint16, seed=0, order=2):
    rng = np.random.default_rng(seed)
    top = np.array(levels)[:, None]
    codes = rng.integers(0, top, (len(levels), rows))
    codes = np.where(rng.random(codes.shape) < gaps, top, codes).astype(dtype)
    y, weights = rng.integers(0, n_classes, rows), rng.uniform(0.1, 3.0, rows)
    return Rows(codes, y, weights, np.array(levels), n_classes, 1), CellSpace(np.array(levels), order), rng


def check_all_passes(rows, space, rng):
    C, codes, levels, order = rows.n_classes, rows.codes, space.levels.tolist(), space.order
    table, bias = rng.normal(size=(space.n_cells + space.n_tuples, C)), rng.normal(size=C)
    padded = rows.table(space.layout)
    padded[:, :C] = table
    z = rows.forward(space.layout, padded, bias)
    expected = naive_forward(codes, levels, order, table, bias)
    np.testing.assert_allclose(z[:, :C], expected, rtol=1e-13, atol=1e-13)
    assert np.isneginf(z[:, C:]).all()
    dz = rows.forward_change(space.layout, padded, bias)
    assert np.array_equal(dz[:, :C], z[:, :C])
    assert (dz[:, C:] == 0).all()
    dz[:, :C] = rng.normal(size=(rows.n_rows, C))
    grad = rows.scatter(space.layout, dz, rows.table(space.layout))
    np.testing.assert_allclose(grad[:, :C], naive_scatter(codes, levels, order, dz[:, :C]), rtol=1e-12, atol=1e-12)
    assert (grad[:, C:] == 0).all()
    counted = naive_count(codes, levels, order, rows.y, rows.weights, C)
    np.testing.assert_allclose(rows.count(space.layout), counted, rtol=1e-13)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("n_classes", CLASSES)
def test_passes_equal_their_oracles(n_classes, order):
    for gaps in (0.0, 0.15):
        check_all_passes(*make(60, n_classes, gaps=gaps, order=order, seed=n_classes))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_codes_of_every_width(dtype):
    rows, space, rng = make(60, 3, gaps=0.1, dtype=dtype)
    assert rows.codes.dtype == (np.uint32 if dtype is np.uint32 else np.uint16)
    check_all_passes(rows, space, rng)


@pytest.mark.parametrize("levels", [(2, 60, 70), (70, 3, 300)])
def test_levels_by_the_dozen(levels):
    for order in (1, 2):
        check_all_passes(*make(700, 2, levels=levels, gaps=0.02, order=order))


def test_codes_beyond_sixteen_bits():
    levels = (70_000, 3)
    rng = np.random.default_rng(0)
    codes = np.stack([np.array([0, 65_535, 65_536, 69_999, 70_000, 69_999]), np.array([0, 1, 2, 2, 1, 3])])
    rows = Rows(codes.astype(np.uint32), np.zeros(6, int), np.ones(6), np.array(levels), 2, 1)
    space = CellSpace(np.array(levels), 2)
    table = rows.table(space.layout)
    table[:] = rng.normal(size=table.shape)
    home = [0, 65_535 * 3 + 1, 65_536 * 3 + 2, 69_999 * 3 + 2, 210_000, 210_000]
    assert np.array_equal(rows.forward(space.layout, table, np.zeros(2)), table[home])


@pytest.mark.parametrize("n_rows", [1, CHUNK - 1, CHUNK, CHUNK + 1, 5000])
def test_row_counts_around_the_chunk(n_rows):
    check_all_passes(*make(n_rows, 3, gaps=0.05, levels=(3, 2, 2), seed=n_rows))


def test_no_rows_are_no_trouble():
    rows, space, _ = make(0, 3)
    assert rows.forward(space.layout, rows.table(space.layout), np.zeros(3)).shape == (0, 3)
    assert not rows.count(space.layout).any()


def test_gaps_are_told_column_by_column():
    codes = np.array([[0, 1, 2], [0, 1, 1]], np.uint8)
    rows = Rows(codes, np.zeros(3, int), np.ones(3), np.array([2, 2]), 2, 1)
    assert rows.gaps.tolist() == [True, False]
    space = CellSpace(np.array([2, 2]), 1)
    table = rows.table(space.layout)
    table[:, 0] = [1, 10, 100, 1000, 5, 7]  # cells of column 0, cells of column 1, no level of column 0, of column 1
    z = rows.forward(space.layout, table, np.array([0.5, 0.0]))
    assert z[:, 0].tolist() == [101.5, 1010.5, 1005.5]


def test_any_code_from_the_number_of_levels_on_is_no_level():
    for code in (2, 3, 200, 65_535):
        rows = Rows(np.array([[code, 1]], np.uint16), np.zeros(2, int), np.ones(2), np.array([2]), 2, 1)
        assert rows.count(CellSpace(np.array([2]), 1).layout)[:, 0].tolist() == [0, 1, 1]


def test_lanes_hold_every_class_and_waste_little():
    for n_classes in range(1, 60):
        lanes, padded = lanes_of(n_classes)
        assert lanes in LANES
        assert padded % lanes == 0
        assert n_classes <= padded < n_classes + 16
    assert [lanes_of(k)[1] for k in (2, 3, 4, 5, 9, 16, 17, 26, 33)] == [2, 3, 4, 8, 16, 16, 32, 32, 48]
