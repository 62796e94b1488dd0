"""Super-tables for new rows: the same scores as tuple by tuple, whatever rows show, and whatever there is room for."""

from contextlib import suppress

import numpy as np
import pytest

from alrviz.errors import Stopped
from alrviz.models import score_table
from alrviz.models.cell_space import AllOrders, CellSpace, TupleSpace, space_of
from alrviz.models.index import CellIndex
from alrviz.models.plan import Block, plan_cover
from alrviz.models.score_table import ScoreTable
from alrviz.stop import NEVER, StopToken

MIXED = [(0,), (2,), (0, 3), (1, 4, 5), (3, 4)]


def make(space, blocks=None, C=3, seed=0):
    """A table of random phi on nine tenths of the cells, and its index, cells and bias."""
    rng = np.random.default_rng(seed)
    every = np.arange(space.n_cells) if space.n_cells < 10**5 else np.unique(rng.integers(0, space.n_cells, 500))
    index = CellIndex.from_cells(space, every[rng.random(len(every)) < 0.9])
    cells = rng.normal(size=(index.n_rows, C))
    blocks = plan_cover(drawn(space, 500), space).blocks if blocks is None else blocks
    return ScoreTable(index, cells, blocks), index, cells, rng.normal(size=C)


def drawn(space, n, seed=1, dtype=np.uint16):
    """Random codes (a, n), a tenth of them no level."""
    return (
        np.random.default_rng(seed).integers(0, space.levels[:, None] * 1.1 + 1, (len(space.levels), n)).astype(dtype)
    )


@pytest.mark.parametrize("tuples", [1, 2, 3, AllOrders(2), tuple(MIXED)])
@pytest.mark.parametrize("dtype", [np.uint16, np.uint32])
@pytest.mark.parametrize("C", [2, 7, 17])
@pytest.mark.parametrize("dense", [score_table._MAX_DENSE_VALUES, 0])
def test_scores_are_those_tuple_by_tuple(tuples, dtype, C, dense, monkeypatch):
    monkeypatch.setattr(score_table, "_MAX_DENSE_VALUES", dense)
    monkeypatch.setattr(score_table, "_ROWS_PER_CALL", 100)
    space = space_of(np.array([3, 2, 4, 6, 2, 5]), tuples)
    table, index, cells, bias = make(space, C=C)
    for n in (1, 20, 2000):  # values that are new, values that are known, more that are new
        codes = drawn(space, n, seed=n, dtype=dtype)
        before = table.n_rows
        found = table.scores(codes, bias, 2, NEVER)
        np.testing.assert_allclose(found, index.score(codes, cells, bias), rtol=1e-12, atol=1e-12)
        assert table.n_rows >= before + (n == 1)
        held = table.n_rows
        assert np.array_equal(table.scores(codes, bias, 1, NEVER), found)
        assert table.n_rows == held


def test_a_block_of_more_columns_than_a_number_holds():
    """Sixty columns of two levels have 3^60 joint values: they are numbered in segments."""
    levels = np.full(60, 2)
    space = TupleSpace(levels, [(j, j + 1) for j in range(59)])
    table, index, cells, bias = make(space, [Block(np.arange(60, dtype=np.int32), np.arange(59))])
    assert len(table._first_column) == 4  # three segments: 39 columns, then 19 of 3^19 < 2^31, then 2
    codes = drawn(space, 3000)
    np.testing.assert_allclose(
        table.scores(codes, bias, 1, NEVER), index.score(codes, cells, bias), rtol=1e-12, atol=1e-12
    )
    assert table.n_rows == len(np.unique(np.minimum(codes, 2), axis=1).T)


def test_columns_of_very_many_levels():
    space = CellSpace(np.array([100_000, 100_000, 3]), 2)
    table, index, cells, bias = make(space)
    codes = drawn(space, 3000, dtype=np.uint32)
    np.testing.assert_allclose(table.scores(codes, bias, 2, NEVER), index.score(codes, cells, bias), rtol=1e-12)


@pytest.mark.parametrize("rows", [0, 5, 100])
def test_rows_that_the_table_has_no_room_for_are_scored_all_the_same(rows):
    space = CellSpace(np.array([3, 2, 4, 6, 2, 5]), 2)
    whole, index, cells, bias = make(space)
    blocks = plan_cover(drawn(space, 500), space).blocks
    table = ScoreTable(index, cells, blocks, max_bytes=rows * (8 * 3 + score_table._INDEX_BYTES_PER_ROW))
    codes = drawn(space, 2000)
    assert whole.scores(codes, bias, 1, NEVER).shape == (2000, 3)
    for _ in range(2):
        np.testing.assert_allclose(
            table.scores(codes, bias, 2, NEVER), index.score(codes, cells, bias), rtol=1e-12, atol=1e-12
        )
        assert table.n_rows == max(1, rows) < whole.n_rows


def test_a_call_that_was_stopped_leaves_nothing_half_done():
    space = CellSpace(np.array([3, 2, 4, 6, 2, 5]), 2)
    table, index, cells, bias = make(space)
    codes = drawn(space, 2000)

    class Later(StopToken):
        def __init__(self, left):
            super().__init__()
            self.left = left

        def check(self):
            self.left -= 1
            if self.left < 0:
                raise Stopped

    expected = index.score(codes, cells, bias)
    for left in range(12):
        table._reset()
        with suppress(Stopped):
            table.scores(codes, bias, 1, Later(left))
        np.testing.assert_allclose(table.scores(codes, bias, 1, NEVER), expected, rtol=1e-12, atol=1e-12)
