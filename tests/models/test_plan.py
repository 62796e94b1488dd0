"""Covers as planned: every tuple in one block, the same plan each time, never dearer than single tuples."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alrviz.errors import Stopped
from alrviz.models import plan as module
from alrviz.models.cell_space import CellSpace
from alrviz.models.plan import JOINT_NS, LINK_NS, ROW_NS, SAMPLE_ROWS, one_block_per_tuple, plan_cover
from alrviz.stop import StopToken
from tests.fitting.tables import covered, kernel_codes, table


def occurring(codes, levels, columns):
    """How many joint values rows have in `columns`; all codes that are no level are one."""
    return len(set(zip(*(np.minimum(codes[j], levels[j]).tolist() for j in columns), strict=True)))


def cost_of_singles(encoded, order):
    """What a pass over single tuples costs, by the formula."""
    tuples = list(combinations(range(encoded.n_columns), order))
    joint = sum(occurring(encoded.codes, encoded.levels, t) for t in tuples)
    return ROW_NS * encoded.n_rows * len(tuples) + (JOINT_NS + LINK_NS) * joint


def check(plan, space):
    """Every tuple in exactly one block, which has its columns."""
    given_to = np.concatenate([block.tuples for block in plan.blocks])
    assert sorted(given_to.tolist()) == list(range(space.n_tuples))
    for block in plan.blocks:
        assert len(set(block.columns.tolist())) == len(block.columns)
        assert set(space.tuples[block.tuples].ravel().tolist()) <= set(block.columns.tolist())
        assert (block.columns.dtype, block.tuples.dtype) == (np.int32, np.int64)
        inside = [block.direct_tuples, *(inner.tuples for inner in block.inner)]
        assert sorted(np.concatenate(inside).tolist()) == sorted(block.tuples.tolist())
        for inner in block.inner:
            assert set(inner.columns.tolist()) <= set(block.columns.tolist())
            assert set(space.tuples[inner.tuples].ravel().tolist()) <= set(inner.columns.tolist())
            assert not inner.inner


def sizes(blocks):
    """Joint values and links of blocks and their inner ones."""
    parts = [blocks] if blocks.inner is None else [blocks, blocks.inner]
    return sum(part.n_joint for part in parts), sum(len(part.links) for part in parts)


@st.composite
def drawn(draw):
    levels = draw(st.lists(st.sampled_from([1, 1, 2, 2, 3, 5, 40, 300]), min_size=1, max_size=9))
    rows, gaps = draw(st.sampled_from([0, 1, 2, 50, 3000])), draw(st.sampled_from([0.0, 0.1]))
    order = draw(st.integers(1, min(6, len(levels))))
    return table(rows, levels, 2, seed=draw(st.integers(0, 10**6)), gaps=gaps), order


@given(drawn())
def test_a_plan_is_a_cover_no_dearer_than_single_tuples_and_the_same_again(of):
    encoded, order = of
    space, codes = CellSpace(encoded.levels, order), kernel_codes(encoded)
    plan = plan_cover(codes, space)
    check(plan, space)
    assert plan.pass_nanoseconds(encoded.n_rows) <= cost_of_singles(encoded, order)
    again = plan_cover(codes.copy(), CellSpace(encoded.levels, order), n_jobs=2)
    assert (again.n_joint, again.n_links) == (plan.n_joint, plan.n_links)
    for one, other in zip(plan.blocks, again.blocks, strict=True):
        assert np.array_equal(one.columns, other.columns)
        assert np.array_equal(one.tuples, other.tuples)
        assert [inner.tuples.tolist() for inner in one.inner] == [inner.tuples.tolist() for inner in other.inner]


@given(drawn())
def test_sizes_are_exact_when_all_rows_are_sampled(of):
    encoded, order = of
    if encoded.n_rows:
        found = covered(encoded, order).cover
        assert (found.plan.n_joint, found.plan.n_links) == sizes(found.blocks)


def test_cost_by_hand():
    plan = module.Plan((module.Block(np.array([0, 1], np.int32), np.array([0])),) * 2, n_joint=10.0, n_links=30.0)
    assert plan.pass_nanoseconds(100) == 2 * 100 * 2.0 + 10 * 12.0 + 30 * 2.0


@pytest.mark.parametrize("order", [1, 2, 3])
def test_blocks_pay_where_rows_are_many(order):
    encoded = table(SAMPLE_ROWS, (2, 3, 2, 4, 2, 3, 2, 2), 3)
    space = CellSpace(encoded.levels, order)
    plan = plan_cover(kernel_codes(encoded), space)
    assert 2 * len(plan.blocks) < space.n_tuples
    assert 2 * plan.pass_nanoseconds(SAMPLE_ROWS) < cost_of_singles(encoded, order)


@pytest.mark.parametrize("order", [2, 3])
def test_blocks_of_many_tuples_have_inner_ones_and_fewer_links(order):
    encoded = table(SAMPLE_ROWS, (2, 3, 2, 3, 2, 3, 2, 3, 2, 2), 2)
    found = covered(encoded, order).cover
    check(found.plan, found.index.space)
    assert any(block.inner for block in found.plan.blocks)
    tuples = np.array([len(block.tuples) for block in found.plan.blocks])
    assert 4 * found.plan.n_links < 3 * (np.diff(found.blocks.first) @ tuples)


def test_copy_of_a_column_shares_its_lookup():
    """Columns that say the same have no more joint values than one of them: together they cost one look-up."""
    encoded = table(2000, (5, 5, 5, 5), 2)
    encoded.codes[1:] = encoded.codes[0]
    plan = plan_cover(kernel_codes(encoded), CellSpace(encoded.levels, 2))
    assert [sorted(block.columns.tolist()) for block in plan.blocks] == [[0, 1, 2, 3]]
    assert (plan.n_joint, plan.n_links) == (5, 30)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_sizes_extrapolated_from_a_sample_are_close(order):
    encoded = table(12 * SAMPLE_ROWS, (6, 9, 5, 12, 7, 30), 2, gaps=0.01)
    found = covered(encoded, order).cover
    check(found.plan, found.index.space)
    assert (found.plan.n_joint, found.plan.n_links) == pytest.approx(sizes(found.blocks), rel=0.25)


def test_tuples_too_large_for_a_block_are_expected_to_grow_with_the_rows():
    """300 x 300 possible pairs: the sample shows 8,000 of them, all rows ten times as many."""
    rng = np.random.default_rng(0)
    encoded = table(12 * SAMPLE_ROWS, (300, 300), 2)
    encoded.codes[:] = rng.integers(0, 300, encoded.codes.shape)
    found = covered(encoded, 2).cover
    assert found.blocks.n_joint > 50_000
    assert found.plan.n_joint == pytest.approx(found.blocks.n_joint, rel=0.25)


def test_planning_for_more_rows_than_there_are_prefers_fewer_blocks():
    encoded = table(1000, (4, 6, 5, 8, 7, 3), 2)
    space, codes = CellSpace(encoded.levels, 2), kernel_codes(encoded)
    few, many = (plan_cover(codes, space, n_rows) for n_rows in (1000, 10**7))
    check(many, space)
    assert len(many.blocks) < len(few.blocks)


def test_too_many_tuples_are_not_planned(monkeypatch):
    encoded = table(500, (2, 3, 2, 2), 2)
    space, codes = CellSpace(encoded.levels, 2), kernel_codes(encoded)
    assert len(plan_cover(codes, space).blocks) < 6
    monkeypatch.setattr(module, "MAX_PLANNED_TUPLES", 6)
    assert len(plan_cover(codes, space).blocks) < 6
    monkeypatch.setattr(module, "MAX_PLANNED_TUPLES", 5)
    plan = plan_cover(codes, space)
    check(plan, space)
    assert [block.tuples.tolist() for block in plan.blocks] == [[t] for t in range(6)]
    assert plan.n_joint == plan.n_links == space.cards.sum()  # an upper bound
    assert one_block_per_tuple(space, 5.0).n_joint == 5.0


def test_planning_hears_a_stop_before_every_block():
    encoded = table(500, (20, 30, 20, 25), 2)
    space, codes = CellSpace(encoded.levels, 2), kernel_codes(encoded)
    blocks = [
        len(module._greedy_plan(codes.astype(np.int32), space, 500, worth, module.NEVER).plan.blocks)
        for worth in module._TUPLE_VALUES
    ]

    class Late(StopToken):
        left = 0

        def check(self):
            self.left -= 1
            if self.left == 0:
                self.stop()
            super().check()

    for k in range(1, sum(blocks) + 1):
        stop = Late()
        stop.left = k
        with pytest.raises(Stopped):
            plan_cover(codes, space, stop=stop)
