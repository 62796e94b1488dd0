"""The cell space: numbering, counts by recurrence, refusals before anything is allocated."""

import pickle
import tracemalloc
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alrviz.errors import MemoryLimitError, RecipeError
from alrviz.models import cell_space as space_module
from alrviz.models.cell_space import MAX_CELLS, CellSpace, count_cells
from tests.oracles.rows import cell_numbers, tuples_of

LEVELS = st.lists(st.integers(1, 5), min_size=1, max_size=5)


@given(LEVELS, st.integers(1, 5))
def test_cells_are_numbered_tuple_by_tuple_the_last_column_fastest(levels, order):
    if order > len(levels):
        with pytest.raises(RecipeError, match=f"order={order} needs at least {order} columns"):
            CellSpace(np.array(levels), order)
        return
    space, numbers = CellSpace(np.array(levels), order), cell_numbers(levels, order)
    assert space.n_cells == len(numbers) == count_cells(levels, order)
    assert [tuple(t) for t in space.tuples.tolist()] == tuples_of(levels, order)
    assert space.cards.tolist() == [int(np.prod([levels[j] for j in t])) for t in tuples_of(levels, order)]
    assert space.first.tolist() == np.concatenate([[0], np.cumsum(space.cards)[:-1]]).tolist()
    for (t, codes), number in numbers.items():
        place = tuples_of(levels, order).index(t)
        assert space.first[place] + space.strides[place] @ np.array(codes) == number
    every = np.arange(space.n_cells)
    assert [tuples_of(levels, order)[t] for t in space.tuple_of(every)] == [t for t, _ in numbers]
    assert list(map(tuple, space.codes_of(every).tolist())) == [codes for _, codes in numbers]


def test_parameter_counts_of_the_papers():
    levels = [4] * 54 + [5] * 2
    assert 3 * (1 + count_cells(levels, 2)) == 75_246
    assert 3 * (1 + count_cells(levels, 3)) == 5_465_451
    assert CellSpace(np.array(levels), 2).n_parameters(3) == 75_246


@given(st.lists(st.integers(1, 300), min_size=1, max_size=8), st.integers(1, 4))
def test_the_recurrence_is_the_sum_over_tuples(levels, order):
    total = sum(int(np.prod(t, dtype=object)) for t in combinations(levels, order))
    assert count_cells(levels, order) == total


def test_counts_are_exact_beyond_sixty_four_bits():
    assert count_cells([10**6] * 100, 12) == comb(100, 12) * 10**72
    assert isinstance(count_cells(np.array([200] * 50), 10), int)


def refusal(levels, order):
    """What a space is refused with, which takes no memory to say."""
    levels = np.array(levels)
    tracemalloc.start()
    try:
        with pytest.raises(MemoryLimitError) as caught:
            CellSpace(levels, order)
        # The tuples alone would take gigabytes; other threads may allocate meanwhile.
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
    assert caught.value.needed > caught.value.allowed
    return str(caught.value)


@pytest.mark.parametrize(("levels", "order"), [([200_000] * 40, 4), ([2**31, 2**31 + 1], 2), ([1000] * 400, 6)])
def test_cells_that_cannot_be_numbered_are_refused_before_anything_is_allocated(levels, order):
    told, cells = refusal(levels, order), count_cells(levels, order)
    assert told.startswith(f"order {order} has {cells:,} cells here; at most {MAX_CELLS:,} can be numbered")
    assert told.endswith("choose a lower order or fewer levels")


@pytest.mark.parametrize(("columns", "order"), [(400, 5), (60, 20), (1500, 4)])
def test_tuples_that_do_not_fit_into_memory_are_refused_before_they_are_listed(columns, order):
    assert count_cells([1] * columns, order) < MAX_CELLS
    told = refusal([1] * columns, order)
    assert told.startswith(f"order {order} of {columns} columns has {comb(columns, order):,} tuples, whose list takes")
    assert told.endswith("MiB may be used; choose a lower order or fewer columns")


@pytest.mark.parametrize(("columns", "order"), [(1000, 2), (150, 3), (60, 4), (40, 5)])
def test_tuples_may_use_half_of_the_free_memory(columns, order, monkeypatch):
    """What is told is what listing them takes, so that a limit just above lets them be listed."""
    shape = np.full(columns, 2), order
    monkeypatch.setattr(space_module, "free_memory", lambda: 2**24)
    with pytest.raises(MemoryLimitError) as caught:
        CellSpace(*shape)
    assert caught.value.allowed == 2**23
    monkeypatch.setattr(space_module, "free_memory", lambda: 2 * caught.value.needed)
    tracemalloc.start()
    try:
        CellSpace(*shape)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.needed == pytest.approx(peak, rel=0.02)


def test_as_many_cells_as_can_be_numbered_are_numbered():
    space = CellSpace(np.array([2**31, 2**31]), 2)
    assert space.n_cells == MAX_CELLS
    last = np.array([MAX_CELLS - 1])
    assert space.codes_of(last).tolist() == [[2**31 - 1, 2**31 - 1]]
    assert space.tuple_of(last).tolist() == [0]
    two = CellSpace(np.array([2**30, 2**31, 1]), 2)
    assert two.first.tolist() == [0, 2**61, 2**61 + 2**30]
    assert two.codes_of(np.array([2**61 - 1, 2**61, two.n_cells - 1])).tolist() == [
        [2**30 - 1, 2**31 - 1], [0, 0], [2**31 - 1, 0]
    ]  # fmt: skip


def test_order_above_the_number_of_columns_names_the_highest():
    with pytest.raises(RecipeError, match=r"order=3 needs at least 3 columns, and there are 2; the highest order .* 2"):
        CellSpace(np.array([2, 2]), 3)
    with pytest.raises(RecipeError, match="there is 1;"):
        CellSpace(np.array([2]), 2)


def test_gamma_counts_each_column_once():
    for a in range(1, 8):
        for order in range(1, a + 1):
            space = CellSpace(np.full(a, 2), order)
            of_a_column = (space.tuples == 0).sum()
            assert space.gamma * of_a_column == pytest.approx(1.0)
    assert CellSpace(np.full(5, 2), 2).gamma == 1 / 4


def test_pickles_are_small_and_complete():
    space = CellSpace(np.full(30, 4), 3)
    content = pickle.dumps(space)
    assert len(content) < 1000
    again = pickle.loads(content)
    assert np.array_equal(again.first, space.first)
    assert np.array_equal(again.strides, space.strides)
