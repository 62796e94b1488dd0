"""Joint values: numbered as they first occur, by place and by hash alike, whatever their number."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alrviz.errors import Stopped
from alrviz.models import joint_values as module
from alrviz.models.joint_values import join_columns, number_joint_values
from alrviz.models.plan import Block
from alrviz.stop import StopToken
from tests.oracles.joint import naive_join


@st.composite
def columns(draw):
    """Codes (a, N) with tops, some codes above them."""
    tops = np.array(draw(st.lists(st.sampled_from([0, 1, 2, 7, 60_000]), min_size=1, max_size=5)))
    rng, rows = np.random.default_rng(draw(st.integers(0, 10**6))), draw(st.sampled_from([0, 1, 2, 30, 500]))
    few = draw(st.integers(1, 20))
    codes = rng.integers(0, 1 + np.minimum(tops + 1, few)[:, None], (len(tops), rows))
    far = rng.random(codes.shape) < 0.3
    return np.where(far, tops[:, None] + rng.integers(-1, 3, codes.shape).clip(-tops[:, None]), codes), tops


@given(columns(), st.sampled_from([np.uint16, np.uint32]), st.sampled_from([0, 10, 2**22]))
def test_joint_values_are_numbered_as_they_first_occur(given_columns, dtype, slots):
    codes, tops = given_columns
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MAX_SLOTS", slots)
        key, shown = join_columns(codes.astype(dtype), tops)
    assert (key.tolist(), shown.tolist()) == naive_join(codes, tops)
    assert (key.dtype, shown.dtype) == (np.int32, np.int64)


def test_hashing_finds_what_place_finds_among_many(monkeypatch):
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, 300, 50_000), rng.integers(0, 400, 50_000) << 7, rng.integers(0, 3, 50_000)])
    codes, tops = codes.astype(np.uint16), np.array([300, 400 << 7, 3])
    by_hash = join_columns(codes, tops)
    monkeypatch.setattr(module, "_MAX_SLOTS", 2**40)
    wide = np.unique(codes[1], return_inverse=True)[1].astype(np.uint16)  # its places would not fit into memory
    by_place = join_columns([codes[0], wide, codes[2]], np.array([300, 400, 3]))
    assert len(by_hash[1]) > 40_000
    for one, other in zip(by_hash, by_place, strict=True):
        assert np.array_equal(one, other)


def test_the_search_ends_at_the_column_that_shows_more_than_wanted():
    codes = np.array([[0, 0, 1, 1], [0, 1, 2, 3], [0, 0, 0, 0]], np.uint16)
    tops = np.array([2, 4, 1])

    class Counting(StopToken):
        asked = 0

        def check(self):
            self.asked += 1

    for most, looked, found in ((None, 3, 4), (4, 3, 4), (3, 2, 4), (2, 2, 4), (1, 1, 2)):
        stop = Counting()
        assert len(join_columns(codes, tops, most, stop)[1]) == found
        assert stop.asked == looked


def blocks_of(*columns):
    return [Block(np.array(of, np.int32), np.array([b])) for b, of in enumerate(columns)]


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_each_block_has_its_keys(n_jobs):
    rng = np.random.default_rng(0)
    levels = np.array([3, 4, 2])
    codes = rng.integers(0, levels[:, None] + 2, (3, 200)).astype(np.uint16)
    of = [[2], [0, 2], [1, 0, 2]]
    joined = number_joint_values(blocks_of(*of), codes, levels, n_jobs)
    assert joined.keys.dtype == np.uint16
    assert joined.keys.shape == (3, 200)
    for key, shown, columns in zip(joined.keys, joined.examples, of, strict=True):
        assert (key.tolist(), shown.tolist()) == naive_join(codes[columns], levels[columns])


@pytest.mark.parametrize("size", [65_535, 65_536, 65_537])
def test_above_65536_joint_values_keys_are_wide(size):
    rows = size + 10
    code = np.arange(rows) % size
    codes = np.stack([code % 300, code // 300, np.arange(rows) % 2]).astype(np.uint16)
    joined = number_joint_values(blocks_of([2], [0, 1], [1]), codes, np.array([300, 300, 2]))
    assert joined.keys.dtype == (np.uint16 if size <= 65_536 else np.uint32)
    assert np.array_equal(joined.keys[1], code)
    assert len(joined.examples[1]) == size
    assert np.array_equal(joined.keys[0], np.arange(rows) % 2)
    assert np.array_equal(joined.keys[2], code // 300)


def test_joining_hears_a_stop():
    stop = StopToken()
    stop.stop()
    with pytest.raises(Stopped):
        join_columns(np.zeros((1, 5), np.uint16), np.array([1]), None, stop)
    with pytest.raises(Stopped):
        number_joint_values(blocks_of([0]), np.zeros((1, 5), np.uint16), np.array([1]), 1, stop)
