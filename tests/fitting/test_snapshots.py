"""Kept weights: first and last always, the rest thinned evenly, never more than the limit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alrviz.fitting.cost.peak_memory import MAX_SNAPSHOT_BYTES
from alrviz.fitting.runs.snapshots import Snapshots

W = np.arange(6.0).reshape(2, 3)
BYTES = 24


@given(st.integers(1, 300), st.integers(3, 40))
def test_thinning_keeps_first_last_and_an_even_grid(steps, room):
    kept = Snapshots(limit=room * BYTES)
    for k in range(steps):
        kept.add(k, W + k)
        assert kept.indices[0] == 0
        assert kept.indices[-1] == k
        grid = [i for i in kept.indices if i != k]
        gaps = set(np.diff(grid).tolist())
        assert len(gaps) <= 1
        assert len(kept._snapshots) <= room
        assert gaps <= {2**e for e in range(10)}
    for k in range(steps):
        index, w = kept.at_or_before(k)
        assert index == max(i for i in kept.indices if i <= k)
        np.testing.assert_array_equal(w, (W + index).astype(np.float32))
    assert len(kept.indices) >= min(steps, room // 2)


def test_copies_are_single_precision_and_our_own():
    kept, w = Snapshots(), W.copy()
    kept.add(0, w)
    w[:] = -1
    assert kept.at_or_before(0)[1].dtype == np.float32
    assert kept.at_or_before(99)[1].tolist() == W.tolist()
    assert MAX_SNAPSHOT_BYTES == 64 * 2**20


def test_snapshots_before_the_first_step_are_empty():
    kept = Snapshots()
    assert kept.indices == []
    with pytest.raises(IndexError, match="no weights are stored at or before step 0"):
        kept.at_or_before(0)


def test_weights_larger_than_the_limit_keep_first_and_last():
    kept = Snapshots(limit=1)
    for k in range(50):
        kept.add(k, W + k)
    assert kept.indices[0] == 0
    assert kept.indices[-1] == 49
    assert len(kept.indices) <= 3
