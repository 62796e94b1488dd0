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
from alrviz.models.space import MOST_CELLS, CellSpace, count_cells, count_parameters
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
    assert count_parameters(levels, 2, 3) == 75_246
    assert count_parameters(levels, 3, 3) == 5_465_451
    assert CellSpace(np.array(levels), 2).n_parameters(3) == 75_246


@given(st.lists(st.integers(1, 300), min_size=1, max_size=8), st.integers(1, 4), st.integers(1, 9))
def test_the_recurrence_is_the_sum_over_tuples(levels, order, n_classes):
    total = sum(int(np.prod(t, dtype=object)) for t in combinations(levels, order))
    assert count_cells(levels, order) == total
    assert count_parameters(levels, order, n_classes) == n_classes * (1 + total)


def test_counts_are_exact_beyond_sixty_four_bits():
    assert count_cells([10**6] * 100, 12) == comb(100, 12) * 10**72
    assert isinstance(count_parameters(np.array([200] * 50), 10, 3), int)


@pytest.mark.parametrize(("levels", "order"), [([2000] * 40, 4), ([100_000, 100_000], 2), ([3] * 400, 5)])
def test_huge_spaces_are_refused_before_anything_is_allocated(levels, order):
    tracemalloc.start()
    try:
        with pytest.raises(MemoryLimitError, match=f"at most {MOST_CELLS:,} can be numbered; choose a lower") as caught:
            CellSpace(np.array(levels), order)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert caught.value.needed > caught.value.allowed
    assert f"{count_cells(levels, order):,} cells" in str(caught.value)


def test_the_rows_behind_the_cells_can_be_numbered_too():
    """A table has one row more a tuple, and there can be as many tuples as cells; kernels number rows in 32 bits."""
    assert np.iinfo(np.int32).max >= 2 * MOST_CELLS - 1
    assert CellSpace(np.array([MOST_CELLS]), 1).n_cells == MOST_CELLS
    with pytest.raises(MemoryLimitError):
        CellSpace(np.array([MOST_CELLS, 1]), 1)


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
