"""Counts and sums without a cover are those of a cover, bit for bit where weights are whole numbers."""

import numpy as np
import pytest

from alrviz.data.encoded import Encoded
from alrviz.fitting.prepare import TrainingData
from alrviz.models import direct_counts
from alrviz.models.averages import _larger_tuples
from alrviz.models.cell_space import AllOrders, CellSpace
from alrviz.models.tables import count_tables


def encoded(weights: np.ndarray, lacking: bool, levels: int = 3) -> Encoded:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, levels, (6, len(weights))).astype(np.uint16)
    if lacking:
        codes[1, ::5] = levels
    y = rng.integers(0, 3, len(weights)).astype(np.int32)
    return Encoded(codes, y, weights, np.full(6, levels), np.arange(3), tuple("abcdef"))


@pytest.mark.parametrize("tuples", [1, 2, 3, AllOrders(2), ((0, 1), (2, 3, 4))])
@pytest.mark.parametrize("lacking", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_direct_counts_equal_those_of_a_cover(tuples, lacking, n_jobs, monkeypatch):
    monkeypatch.setattr(direct_counts, "_TUPLES_PER_TASK", 4)
    weights = np.tile([1.0, 2.0, 0.0, 1.0], 20)
    prepared = TrainingData(encoded(weights, lacking), None, n_jobs=n_jobs)
    direct = prepared.tables(tuples, 1.0)
    covered = prepared.covered_rows(tuples)
    told = count_tables(covered.rows, covered.cover, 1.0)
    for name in ("seen_cells", "counts", "class_counts", "tuple_counts", "cards"):
        assert np.array_equal(getattr(direct, name), getattr(told, name)), name
    values = np.random.default_rng(1).normal(size=(covered.rows.n_rows, covered.rows.padded_width))
    assert np.allclose(prepared.sums(direct, values), covered.cover.sums(covered.rows, values), rtol=0, atol=1e-12)


def test_tuples_of_many_levels_are_sorted_one_by_one():
    prepared = TrainingData(encoded(np.ones(20), False, levels=500), None, n_jobs=1)
    direct, covered = prepared.tables(2, 1.0), prepared.covered_rows(2)
    assert np.array_equal(direct.counts, count_tables(covered.rows, covered.cover, 1.0).counts)


@pytest.mark.parametrize("order", [1, 2])
def test_the_tuple_that_a_tuple_and_a_column_make(order):
    space, wider = (CellSpace(np.full(5, 2), n) for n in (order, order + 1))
    larger = _larger_tuples(space, wider)
    for t, columns in enumerate(space.tuples.tolist()):
        for j in range(5):
            made = -1 if j in columns else wider.tuples.tolist().index(sorted([*columns, j]))
            assert larger[t, j] == made
