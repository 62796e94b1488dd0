"""The index of seen cells: every code finds its row of the cell table, by place or by hash, in room for what occurs."""

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alrviz.errors import Stopped
from alrviz.models import index as module
from alrviz.models import linear
from alrviz.models.cell_space import CellSpace
from alrviz.models.index import CellIndex, Unseen, cell_table
from alrviz.models.joint_values import number_joint_values
from alrviz.stop import StopToken
from tests.fitting.tables import covered, drain, run_of, table
from tests.oracles.rows import naive_locate


def cells_of(space, seen):
    """Cells as (tuple, its levels)."""
    tuples = [tuple(space.tuples[t].tolist()) for t in space.tuple_of(seen)]
    return list(zip(tuples, map(tuple, space.codes_of(seen).tolist()), strict=True))


@st.composite
def spaces(draw):
    levels = draw(st.lists(st.sampled_from([1, 2, 3, 5, 1000, 100_000]), min_size=1, max_size=5))
    return levels, draw(st.integers(1, min(3, len(levels)))), draw(st.integers(0, 10**6))


@given(spaces(), st.sampled_from([np.uint16, np.uint32]))
def test_every_code_finds_its_row(of, dtype):
    levels, order, seed = of
    rng, space = np.random.default_rng(seed), CellSpace(np.array(levels), order)
    seen = np.unique(rng.integers(0, space.n_cells, rng.integers(0, 60)))
    few = np.minimum(np.array(levels), 60_000)[:, None]
    codes = rng.integers(0, few + 2, (len(levels), 50))
    homes = seen[rng.integers(0, len(seen), 30)] if len(seen) else seen
    for i, (columns, cell) in enumerate(cells_of(space, homes)):  # rows that lie in a seen cell for sure
        codes[list(columns), i] = cell
    codes = np.minimum(codes, np.iinfo(dtype).max).astype(dtype)
    index = CellIndex.from_cells(space, seen)
    assert index.locate(codes, 0, 50).tolist() == naive_locate(codes, levels, order, cells_of(space, seen))
    assert index.locate(codes, 20, 30).tolist() == index.locate(codes, 0, 50)[20:30].tolist()
    assert np.array_equal(index.seen_cells, seen)
    assert index.n_rows == 2 * space.n_tuples + len(seen)
    phi, bias = rng.normal(size=(index.n_rows, 3)), rng.normal(size=3)
    expected = bias + phi[index.locate(codes, 0, 50)].sum(axis=1)
    np.testing.assert_allclose(index.score(codes, phi, bias), expected, rtol=1e-12, atol=1e-12)


def test_few_possible_cells_have_a_slot_each_and_many_are_hashed():
    space = CellSpace(np.array([10, 100_000]), 1)
    index = CellIndex.from_cells(space, np.array([0, 9, 10, 20, 100_009]))
    assert index.mask.tolist() == [-1, 7]
    assert len(index.slots) == 10 + 8
    assert len(index.slot_cells) == 8


def test_cells_that_collide_are_all_found():
    """As many cells as half the slots, all of one hash or not: each is found, and its neighbours are not."""
    space = CellSpace(np.array([2**40, 2]), 1)
    for step in (1, 2**20, 2**36):
        seen = np.arange(16) * step
        index = CellIndex.from_cells(space, seen)
        codes = np.zeros((2, 32), np.uint32)
        known = seen < 2**32
        codes[0, :16][known], codes[0, 16:] = seen[known], np.minimum(seen + 1, 2**32 - 1)
        found = index.locate(codes, 0, 32)[:, 0]
        assert found[:16][known].tolist() == (4 + np.flatnonzero(known)).tolist()
        assert found[16:].tolist() == [4 + int(np.flatnonzero(seen == c)[0]) if c in seen else 0 for c in codes[0, 16:]]


@given(st.lists(st.sampled_from([1, 2, 3, 5, 1000, 100_000]), min_size=2, max_size=4), st.integers(0, 10**6))
def test_marks_and_sorting_find_the_same_cells(levels, seed):
    encoded = table(40, levels, 2, seed=seed, gaps=0.1, dtype=np.uint32)
    found = []
    for stamps in (2**22, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "_MAX_MARK_BYTES", stamps)
            found.append(covered(encoded, 2).cover.index)
    cells = {
        (t, tuple(codes))
        for t in combinations(range(len(levels)), 2)
        for codes in encoded.codes[list(t)].T.tolist()
        if all(c < levels[j] for c, j in zip(codes, t, strict=True))
    }
    for index in found:
        assert set(cells_of(index.space, index.seen_cells)) == cells
        assert len(index.seen_cells) == len(cells)
        assert (np.diff(index.seen_cells) > 0).all()


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("many", [10**9, 0])
def test_a_hundred_thousand_levels_fit_and_predict_in_little_memory(order, many, monkeypatch):
    monkeypatch.setattr(linear, "_MIN_PLANNED_LOOKUPS", many)
    monkeypatch.setattr(linear, "_MIN_TABLE_LOOKUPS", many)
    rng, top = np.random.default_rng(0), 100_000
    encoded = table(3000, (top, top, 3), 3, seed=1)
    encoded.codes[:2] = rng.integers(0, top, (2, 3000))
    encoded.codes[:2, :1000] = encoded.codes[:2, 1000:2000]  # some cells have rows of several classes
    # to compile beside it would be counted
    drain(run_of(encoded, "alr", order=order, max_iter=0)).model.scores(encoded.codes)
    tracemalloc.start()
    try:
        run = drain(run_of(encoded, "alr", order=order, max_iter=3))
        scores = run.model.scores(encoded.codes)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 * 2**20  # 32 of them while the cover is planned; a table of all cells takes 240 GB at n = 2
    assert run.outcome.code == "step limit"
    assert run.estimate.cells_seen == len(run.model.seen_cells) < 10_000
    rows = naive_locate(encoded.codes, encoded.levels.tolist(), order, cells_of(run.model.space, run.model.seen_cells))
    T = run.model.space.n_tuples
    phi = np.concatenate([np.zeros((2 * T, 3)), run.model.phi])
    np.testing.assert_allclose(scores, run.model.bias + phi[rows].sum(axis=1), rtol=1e-10, atol=1e-12)
    other = encoded.codes.copy()
    other[:2] = rng.integers(0, top + 1, other[:2].shape)
    rows = naive_locate(other, encoded.levels.tolist(), order, cells_of(run.model.space, run.model.seen_cells))
    assert (np.array(rows) < T).any()  # unseen
    np.testing.assert_allclose(run.model.scores(other), run.model.bias + phi[rows].sum(axis=1), rtol=1e-10, atol=1e-12)


def test_unseen_cells_and_absent_levels_have_rows_of_their_own():
    phi = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert cell_table(6, 2, 3, None).tolist() == [[0, 0, 0]] * 6
    assert cell_table(6, 2, 3, Unseen(phi)).tolist() == [[1, 2, 0], [3, 4, 0]] * 2 + [[0, 0, 0]] * 2
    assert cell_table(6, 2, 2, Unseen(phi, known_only=True)).tolist() == [[1, 2], [3, 4]] + [[0, 0]] * 4


def test_scoring_and_linking_hear_a_stop():
    of, stop = covered(table(50), 2), StopToken()
    index, codes, blocks = of.cover.index, table(50).codes.astype(np.uint16), of.cover.plan.blocks
    stop.stop()
    with pytest.raises(Stopped):
        index.score(codes, np.zeros((index.n_rows, 3)), np.zeros(3), 1, stop)
    with pytest.raises(Stopped):
        index.links(codes, blocks, number_joint_values(blocks, codes, index.space.levels), 1, stop)
