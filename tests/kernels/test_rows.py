"""Row kernels against their oracles: widths, orders, gaps, weights, key widths, and counts around every group."""

import numpy as np
import pytest

from alrviz.kernels.rows import GROUP_BLOCKS, GROUP_LINKS
from alrviz.passes import aligned_buffers
from alrviz.passes.aligned_buffers import VECTOR_WIDTHS, class_widths
from alrviz.passes.blocks import Blocks
from alrviz.passes.rows import CHUNK_ROWS, Rows
from tests.fitting.tables import covered, table
from tests.oracles.rows import (
    naive_count,
    naive_expand,
    naive_forward,
    naive_look_up,
    naive_scatter,
    naive_scatter_to_cells,
    naive_sums,
)

CLASSES = (2, 3, 4, 5, 8, 9, 16, 17, 26)


def make(n_rows, n_classes, *, sizes=(3, 1, 4, 2, 5), tuples=(1, 2, 3), cells=11, dtype=np.uint16, seed=0):
    """Rows with random keys into blocks of `sizes` joint values, and random links of so many `tuples` each."""
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, np.array(sizes)[:, None], (len(sizes), n_rows)).astype(dtype)
    rows = Rows(rng.integers(0, n_classes, n_rows), rng.uniform(0.1, 3.0, n_rows), n_classes, keys, 1)
    # within a joint value every link is another cell, as tuples are
    links = [
        np.array([rng.permutation(cells)[: tuples[b % len(tuples)]] for _ in range(size)])
        for b, size in enumerate(sizes)
    ]
    first = np.cumsum([0, *sizes])
    at = np.cumsum([0, *(of.size for of in links)])
    flat = np.concatenate([of.ravel() for of in links]).astype(np.int32)
    return rows, Blocks(first, at, flat, cells), links, rng


def padded(rows, values):
    """`values` (rows, C) in room of W classes, pads 0."""
    out = aligned_buffers.zeros(len(values), rows.padded_width)
    out[:, : rows.n_classes] = values
    return out


def check_all_passes(rows, blocks, links, rng):
    C, sizes = rows.n_classes, np.diff(blocks.first)
    cells, bias = rng.normal(size=(blocks.n_cells, C)), rng.normal(size=C)
    stacked = blocks.expand(padded(rows, cells), aligned_buffers.empty(blocks.n_joint, rows.padded_width))
    tables = naive_expand(links, cells)
    np.testing.assert_allclose(stacked[:, :C], np.concatenate(tables), rtol=1e-13, atol=1e-13)
    z = rows.forward(blocks, stacked, bias)
    np.testing.assert_allclose(z[:, :C], naive_look_up(rows.keys, tables, bias), rtol=1e-13, atol=1e-13)
    assert np.isneginf(z[:, C:]).all()
    dz = rows.forward(blocks, stacked, bias, pad=0.0)
    assert np.array_equal(dz[:, :C], z[:, :C])
    assert (dz[:, C:] == 0).all()
    dz[:, :C] = rng.normal(size=(rows.n_rows, C))
    grad = rows.scatter(blocks, dz, aligned_buffers.empty(blocks.n_joint, rows.padded_width))
    sums = naive_sums(rows.keys, sizes, dz[:, :C])
    np.testing.assert_allclose(grad[:, :C], np.concatenate(sums), rtol=1e-12, atol=1e-12)
    assert (grad[:, C:] == 0).all()
    before = padded(rows, rng.normal(size=cells.shape))
    after = blocks.scatter_to_cells(grad, before.copy())
    expected = naive_scatter_to_cells(links, sums, blocks.n_cells)
    np.testing.assert_allclose(after[:, :C], before[:, :C] + expected, rtol=1e-12, atol=1e-12)
    assert (after[:, C:] == 0).all()
    counts = rows.count(blocks)
    one_hot = np.eye(C)[rows.y] * rows.weights[:, None]
    np.testing.assert_allclose(counts[:, :C], np.concatenate(naive_sums(rows.keys, sizes, one_hot)), rtol=1e-13)
    assert (counts[:, C:] == 0).all()


@pytest.mark.parametrize("n_classes", CLASSES)
def test_passes_equal_their_oracles(n_classes):
    check_all_passes(*make(60, n_classes, seed=n_classes))


@pytest.mark.parametrize("tuples", [1, GROUP_LINKS - 1, GROUP_LINKS, GROUP_LINKS + 1, 2 * GROUP_LINKS + 3])
@pytest.mark.parametrize("n_classes", [3, 8, 17])
def test_numbers_of_tuples_around_those_linked_together(n_classes, tuples):
    check_all_passes(*make(40, n_classes, tuples=(tuples, 2), cells=25))


@pytest.mark.parametrize("n_blocks", [1, GROUP_BLOCKS - 1, GROUP_BLOCKS, GROUP_BLOCKS + 1, 3 * GROUP_BLOCKS + 2])
@pytest.mark.parametrize("n_classes", [2, 5, 17])
def test_numbers_of_blocks_around_a_group(n_classes, n_blocks):
    check_all_passes(*make(40, n_classes, sizes=(4, 2, 3)[:n_blocks] + (3,) * (n_blocks - 3)))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_keys_of_every_width(dtype):
    rows, blocks, links, rng = make(60, 3, dtype=dtype)
    assert rows.keys.dtype == (np.uint32 if dtype is np.uint32 else np.uint16)
    assert rows.has_wide_keys == (dtype is np.uint32)
    check_all_passes(rows, blocks, links, rng)


def test_keys_beyond_sixteen_bits():
    rng, size = np.random.default_rng(0), 70_000
    keys = np.array([[0, 65_535, 65_536, 69_999, 65_536], [0, 1, 2, 2, 0]], np.uint32)
    rows = Rows(np.array([0, 1, 0, 1, 0]), np.arange(1.0, 6), 2, keys, 1)
    first = np.array([0, size, size + 3])
    blocks = Blocks(first, first, np.arange(size + 3, dtype=np.int32), size + 3)
    stacked = aligned_buffers.zeros(size + 3, 2)
    stacked[:] = rng.normal(size=stacked.shape)
    assert np.array_equal(rows.forward(blocks, stacked, np.zeros(2)), stacked[keys[0]] + stacked[size + keys[1]])
    counts = rows.count(blocks)
    assert counts[[0, 65_535, 65_536, 69_999]].tolist() == [[1, 0], [0, 2], [8, 0], [0, 4]]
    assert counts[size:].tolist() == [[6, 0], [0, 2], [3, 4]]
    assert counts[:size].sum() == counts[size:].sum() == 15


@pytest.mark.parametrize("n_rows", [1, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1, 5000])
def test_row_counts_around_the_chunk(n_rows):
    check_all_passes(*make(n_rows, 3, seed=n_rows))


def test_zero_rows_are_handled():
    rows, blocks, _, _ = make(0, 3)
    stacked = aligned_buffers.zeros(blocks.n_joint, rows.padded_width)
    assert rows.forward(blocks, stacked, np.zeros(3)).shape == (0, 3)
    assert not rows.count(blocks).any()
    stacked[:] = 1.0
    assert not rows.scatter(blocks, rows.scores(), stacked).any()


def test_block_without_joint_values_is_handled():
    first = np.array([0, 0, 2])
    blocks = Blocks(first, first, np.array([1, 0], np.int32), 2)
    rows = Rows(np.zeros(0, int), np.ones(0), 2, np.zeros((2, 0), np.uint16), 1)
    cells = np.array([[1.0, 2], [3, 4]])
    assert blocks.expand(cells, aligned_buffers.empty(2, 2)).tolist() == [[3, 4], [1, 2]]
    assert blocks.scatter_to_cells(cells, aligned_buffers.zeros(2, 2)).tolist() == [[3, 4], [1, 2]]
    assert rows.count(blocks).shape == (2, 2)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("gaps", [0.0, 0.15])
@pytest.mark.parametrize("levels", [(3, 1, 4, 2), (2, 30, 40, 1)])
def test_passes_over_a_cover_are_those_over_cells(levels, gaps, order):
    """From the codes on: each row adds the cells it lies in, and what stands for tuples it has no level in."""
    encoded = table(80, levels, 3, gaps=gaps, weights="fractions", seed=order)
    of, rng = covered(encoded, order), np.random.default_rng(0)
    index, blocks, rows = of.cover.index, of.cover.blocks, of.rows
    T, codes, naive_levels = index.space.n_tuples, encoded.codes, encoded.levels.tolist()
    dense, bias = rng.normal(size=(index.space.n_cells + T, 3)), rng.normal(size=3)
    cells = padded(rows, np.concatenate([np.full((T, 3), np.nan), dense[-T:], dense[index.seen_cells]]))
    z = rows.forward(blocks, blocks.expand(cells, aligned_buffers.empty(blocks.n_joint, 3)), bias)
    np.testing.assert_allclose(z, naive_forward(codes, naive_levels, order, dense, bias), rtol=1e-13, atol=1e-13)
    sums = naive_scatter(codes, naive_levels, order, z)
    grad = rows.scatter(blocks, z, aligned_buffers.empty(blocks.n_joint, 3))
    expected = np.concatenate([np.zeros((T, 3)), sums[-T:], sums[index.seen_cells]])
    found = blocks.scatter_to_cells(grad, aligned_buffers.zeros(index.n_rows, 3))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    counts = naive_count(codes, naive_levels, order, encoded.y, encoded.weights, 3)
    found = blocks.scatter_to_cells(rows.count(blocks), aligned_buffers.zeros(index.n_rows, 3))
    np.testing.assert_allclose(found[T:], np.concatenate([counts[-T:], counts[index.seen_cells]]), rtol=1e-12)
    assert np.flatnonzero(counts[:-T].sum(axis=1)).tolist() == index.seen_cells.tolist()


def test_missing_levels_are_detected_per_column():
    encoded = table(3, (2, 2), 2)
    encoded.codes[:] = [[0, 1, 2], [0, 1, 1]]
    of = covered(encoded, 1)
    assert of.cover.index.seen_cells.tolist() == [0, 1, 2, 3]
    cells = aligned_buffers.zeros(8, 2)
    cells[:, 0] = [np.nan, np.nan, 5, 7, 1, 10, 100, 1000]  # unseen, no level of column 0, of column 1, the cells
    stacked = of.cover.blocks.expand(cells, aligned_buffers.empty(of.cover.blocks.n_joint, 2))
    z = of.rows.forward(of.cover.blocks, stacked, np.array([0.5, 0.0]))
    assert z[:, 0].tolist() == [101.5, 1010.5, 1005.5]


def test_any_code_from_the_number_of_levels_on_is_no_level():
    for code in (2, 3, 200, 65_535):
        encoded = table(2, (2,), 2, dtype=np.uint16)
        encoded.codes[0], encoded.y[:] = [code, 1], 0
        of = covered(encoded, 1)
        cells = of.cover.blocks.scatter_to_cells(
            of.rows.count(of.cover.blocks), aligned_buffers.zeros(of.cover.index.n_rows, 2)
        )
        assert of.cover.index.seen_cells.tolist() == [1]
        assert cells[:, 0].tolist() == [0, 1, 1]  # unseen, no level, level 1


def test_padded_width_fits_all_classes_with_little_padding():
    for n_classes in range(1, 60):
        lanes, wide = class_widths(n_classes)
        assert lanes in VECTOR_WIDTHS
        assert wide % lanes == 0
        assert n_classes <= wide < n_classes + 16
    assert [class_widths(k)[1] for k in (2, 3, 4, 5, 9, 16, 17, 26, 33)] == [2, 3, 4, 8, 16, 16, 32, 32, 48]


def test_buffers_begin_at_a_cache_line():
    for make_room in (aligned_buffers.empty, aligned_buffers.zeros):
        for rows, wide in ((1, 2), (3, 3), (7, 8), (100, 16)):
            found = make_room(rows, wide)
            assert found.shape == (rows, wide)
            assert found.ctypes.data % 64 == 0
            assert found.flags.c_contiguous
    assert not aligned_buffers.zeros(50, 3).any()
