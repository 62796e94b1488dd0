"""The same bits however a pass is split: over threads, over calls, over blocks; and a stop between the parts."""

import numpy as np
import pytest

from alrviz.errors import Stopped
from alrviz.models.cell_space import CellSpace
from alrviz.passes import aligned_buffers
from alrviz.passes import blocks as block_passes
from alrviz.passes import rows as passes
from alrviz.passes.blocks import Blocks
from alrviz.passes.rows import Rows
from alrviz.stop import StopToken

SIZES = np.array([4, 30, 5, 2, 300, 1, 7, 6, 50, 3])  # joint values of each block
TUPLES = np.array([1, 20, 3, 8, 9, 1, 15, 2, 1, 7])  # and its tuples
CELLS = 4 * TUPLES.sum()


def some_blocks(rng):
    """Blocks of `SIZES` and `TUPLES`: a joint value lies in a random one of the four cells of each tuple."""
    own = [np.arange(end - tuples, end) for tuples, end in zip(TUPLES, TUPLES.cumsum(), strict=True)]
    links = [4 * np.tile(of, size) + rng.integers(0, 4, size * len(of)) for size, of in zip(SIZES, own, strict=True)]
    flat = np.concatenate(links).astype(np.int32)
    return Blocks(np.append(0, SIZES.cumsum()), np.append(0, (SIZES * TUPLES).cumsum()), flat, CELLS)


def some_rows(n_rows, n_classes, n_jobs, rng=None):
    """Rows with keys into those blocks."""
    rng = rng or np.random.default_rng(0)
    keys = rng.integers(0, SIZES[:, None], (len(SIZES), n_rows)).astype(np.uint16)
    return Rows(rng.integers(0, n_classes, n_rows), rng.uniform(0.1, 2, n_rows), n_classes, keys, n_jobs)


def everything(n_rows, n_classes, n_jobs):
    """Return the results of every pass, as one list of arrays."""
    rng = np.random.default_rng(1)
    blocks, rows = some_blocks(rng), some_rows(n_rows, n_classes, n_jobs, rng)
    cells = aligned_buffers.zeros(CELLS, rows.padded_width)
    cells[:, :n_classes] = rng.normal(size=(CELLS, n_classes))
    table = blocks.expand(cells, aligned_buffers.empty(blocks.n_joint, rows.padded_width), n_jobs)
    bias = rng.normal(size=n_classes)
    z = rows.forward(blocks, table, bias)
    dz = rows.forward(blocks, table, 2 * bias, pad=0.0)
    trial = rows.line_eval(z, dz, 0.3)
    both = rows.forward_and_line_eval(blocks, table, 2 * bias, z, 0.3)
    out, residual = rows.scores(), rows.scores()
    sums = rows.loss_and_residual(z, dz, 0.3, out, residual)
    grad = rows.scatter(blocks, residual, aligned_buffers.empty(blocks.n_joint, rows.padded_width))
    by_cell = blocks.scatter_to_cells(grad, aligned_buffers.zeros(CELLS, rows.padded_width), n_jobs)
    return [
        table, z, dz, np.array(trial), both[0], np.array(both[1]), np.array(sums), out, residual, grad, by_cell,
        rows.count(blocks), rows.hessian_product(z, dz), rows.diagonal(z),
    ]  # fmt: skip


def same(one, other):
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one, other, strict=True))


@pytest.fixture
def forced_threads(monkeypatch):
    """Threads as asked for, however few cores there are, from the first row and the first link on."""
    monkeypatch.setattr(passes, "resolve_jobs", lambda n_jobs: n_jobs)
    monkeypatch.setattr(passes, "_MIN_SHARED_LANES", 0)
    monkeypatch.setattr(block_passes, "_LINKS_PER_PART", 200)
    monkeypatch.setattr(block_passes, "_MIN_SHARED_LINKS", 0)


@pytest.mark.parametrize("n_classes", [2, 5, 17])
@pytest.mark.parametrize("n_rows", [1, 511, 513, 5000])
def test_any_number_of_threads_gives_the_same_bits(n_rows, n_classes, forced_threads):
    one = everything(n_rows, n_classes, 1)
    for n_jobs in (2, 3, 7, 40):
        assert same(one, everything(n_rows, n_classes, n_jobs))


def test_a_trial_on_the_way_is_one_made_after_it():
    blocks, rows = some_blocks(np.random.default_rng(2)), some_rows(5000, 5, 2)
    table, bias = np.random.default_rng(3).normal(size=(blocks.n_joint, rows.padded_width)), np.arange(5.0)
    z = rows.forward(blocks, table, bias)
    dz, trial = rows.forward_and_line_eval(blocks, table, bias, z, 0.3)
    assert np.array_equal(dz, rows.forward(blocks, table, bias, pad=0.0))
    assert trial == rows.line_eval(z, dz, 0.3)


@pytest.mark.parametrize("call", [1, 40_000, 10**9])
def test_calls_of_any_length_give_the_same_bits(call, monkeypatch):
    whole = everything(5000, 5, 1)
    monkeypatch.setattr(passes, "_LOOKUPS_PER_CALL", call)
    assert same(whole, everything(5000, 5, 1))


@pytest.mark.parametrize("part", [1, 50, 10**9])
def test_links_in_parts_of_any_size_give_the_same_bits(part, monkeypatch):
    whole = everything(500, 5, 1)
    monkeypatch.setattr(block_passes, "_LINKS_PER_PART", part)
    monkeypatch.setattr(block_passes, "_MIN_SHARED_LINKS", 0)
    assert same(whole, everything(500, 5, 1))


@pytest.mark.parametrize("cached", [1, 30_000])
def test_chunked_blocks_give_the_same_bits(cached, monkeypatch):
    whole = everything(5000, 5, 1)
    monkeypatch.setattr(passes, "_CACHE_TABLE_BYTES", 0)
    monkeypatch.setattr(passes, "_GROUP_TABLE_BYTES", cached)
    assert same(whole, everything(5000, 5, 1))


def test_few_rows_use_small_calls(monkeypatch):
    blocks, rows = some_blocks(np.random.default_rng(0)), some_rows(5000, 5, 1)
    assert len(rows._row_segments(15)) < 3
    assert rows._block_spans(blocks, 0, 10) == [(0, 10)]
    monkeypatch.setattr(passes, "_LOOKUPS_PER_CALL", 1)
    assert rows._row_segments(15)[:2] == [(0, 512), (512, 1024)]
    assert rows._row_segments(15)[-1] == (4608, 5000)
    assert rows._block_spans(blocks, 0, 10) == [(0, 4), (4, 8), (8, 10)]
    assert rows._block_spans(blocks, 3, 3) == [(3, 3)]


def test_blocks_of_a_large_table_are_taken_a_few_at_a_time(monkeypatch):
    blocks, rows = some_blocks(np.random.default_rng(0)), some_rows(50, 5, 1)
    monkeypatch.setattr(passes, "_CACHE_TABLE_BYTES", 8 * 8 * blocks.n_joint - 1)
    monkeypatch.setattr(passes, "_GROUP_TABLE_BYTES", 8 * 8 * blocks.n_joint * 9 // 10)
    assert rows._block_spans(blocks, 0, 10) == [(0, 8), (8, 10)]
    monkeypatch.setattr(passes, "_GROUP_TABLE_BYTES", 1)
    assert rows._block_spans(blocks, 0, 10) == [(0, 4), (4, 8), (8, 10)]
    monkeypatch.setattr(passes, "_CACHE_TABLE_BYTES", 8 * 8 * blocks.n_joint)
    assert rows._block_spans(blocks, 0, 10) == [(0, 10)]


@pytest.mark.parametrize("part", [1, 50, 700, 10**9])
def test_parts_contain_each_joint_value_and_tuple_once(part, monkeypatch):
    monkeypatch.setattr(block_passes, "_LINKS_PER_PART", part)
    monkeypatch.setattr(block_passes, "_MIN_SHARED_LINKS", 0)
    blocks = some_blocks(np.random.default_rng(0))
    values = np.concatenate([np.arange(begin, end) for _, begin, end in blocks._row_ranges])
    assert values.tolist() == list(range(blocks.n_joint))
    for block, begin, _ in blocks._row_ranges:
        assert blocks.first[block] <= begin < blocks.first[block + 1]
    spans, edges = blocks._spans
    assert edges[0] == 0
    assert edges[-1] == len(spans)
    assert (np.diff(edges) > 0).all()
    given = [(b, t) for b, begin, end in spans.tolist() for t in range(begin, end)]
    assert given == [(b, t) for b, number in enumerate(TUPLES.tolist()) for t in range(number)]
    if part == 10**9:
        assert len(blocks._row_ranges) == len(edges) - 1 == 1
    elif part == 50:
        assert min(len(blocks._row_ranges), len(edges) - 1) >= 10


def test_every_pass_asks_the_stop_token():
    blocks, rows, stop = some_blocks(np.random.default_rng(0)), some_rows(50, 5, 1), StopToken()
    table, cells, z = aligned_buffers.zeros(blocks.n_joint, 8), aligned_buffers.zeros(CELLS, 8), rows.scores()
    stop.stop()
    for work in (
        lambda: blocks.expand(cells, table, stop=stop),
        lambda: blocks.scatter_to_cells(table, cells, stop=stop),
        lambda: rows.forward(blocks, table, np.zeros(5), stop=stop),
        lambda: rows.forward(blocks, table, np.zeros(5), stop=stop, pad=0.0),
        lambda: rows.scatter(blocks, z, table, stop=stop),
        lambda: rows.count(blocks, stop=stop),
        lambda: rows.line_eval(z, z, 0.0, stop),
        lambda: rows.loss_and_residual(z, None, 0.0, z, None, stop),
        lambda: rows.hessian_product(z, z, stop),
        lambda: rows.diagonal(z, stop),
    ):
        with pytest.raises(Stopped):
            work()


class Late(StopToken):
    """Pulls itself when it is asked for the fourth time."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def check(self):
        self.calls += 1
        if self.calls == 4:
            self.stop()
        super().check()


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_stop_is_checked_between_parts(n_jobs, monkeypatch, forced_threads):
    monkeypatch.setattr(passes, "_LOOKUPS_PER_CALL", 1)
    blocks, rows = some_blocks(np.random.default_rng(0)), some_rows(5000, 5, n_jobs)
    table, cells = aligned_buffers.zeros(blocks.n_joint, 8), aligned_buffers.zeros(CELLS, 8)
    for work in (
        lambda stop: rows.forward(blocks, table, np.zeros(5), stop=stop),
        lambda stop: rows.scatter(blocks, rows.scores(), table, stop=stop),
        lambda stop: blocks.expand(cells, table, n_jobs, stop),
        lambda stop: blocks.scatter_to_cells(table, cells, n_jobs, stop),
    ):
        stop = Late()
        with pytest.raises(Stopped):
            work(stop)
        assert 4 <= stop.calls <= 4 + n_jobs


def test_with_weights_shares_keys_and_keeps_the_original():
    rows = Rows(np.zeros(5, int), np.ones(5), 2, np.zeros((3, 5), np.uint8), 1)
    other = rows.with_weights(np.arange(5))
    assert other.keys is rows.keys
    assert other.weights.tolist() == [0, 1, 2, 3, 4]
    assert rows.weights.tolist() == [1] * 5


def test_rows_of_another_cover_share_classes_and_weights():
    rows = Rows(np.zeros(5, int), np.ones(5), 2, None, 1)
    assert rows.keys.shape == (0, 5)
    other = rows.with_keys(np.full((2, 5), 70_000, np.uint32))
    assert other.has_wide_keys
    assert not rows.has_wide_keys
    assert (other.y is rows.y, other.weights is rows.weights) == (True, True)


def test_read_only_arrays_are_converted_to_compiled_types():
    given = [np.zeros(5, np.int32), np.ones(5), np.zeros((6, 5), np.uint16)]
    for array in given:
        array.flags.writeable = False
    y, weights, keys = given
    rows = Rows(y, weights, 2, keys, 1)
    weighted, other = rows.with_weights(weights), rows.with_keys(keys)
    assert all(array.flags.writeable for array in (rows.keys, rows.y, rows.weights, weighted.weights, other.keys))
    levels = np.array([4, 3])
    levels.flags.writeable = False
    assert CellSpace(levels, 2).levels.flags.writeable


def test_buffer_of_the_caller_is_used():
    rows, blocks = some_rows(5, 2, 1), some_blocks(np.random.default_rng(0))
    out = rows.scores()
    assert rows.forward(blocks, aligned_buffers.zeros(blocks.n_joint, 2), np.ones(2), out) is out
    assert (out == 1).all()
