"""Room that is lent: whole while anything looks at it, lent again afterwards."""

import weakref

import numpy as np
import pytest

from alrviz.passes.aligned_buffers import BufferPool


def start(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(5, 8), (7,), (0, 3)])
def test_pooled_array_behaves_like_any_array(shape, dtype):
    array = BufferPool().empty(*shape, dtype=dtype)
    assert array.shape == shape
    assert array.dtype == dtype
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert start(array) % 64 == 0
    array[...] = 3
    assert (array == 3).all()


def test_buffer_is_reused_once_unreferenced():
    pool = BufferPool()
    first = pool.empty(100)
    where = start(first)
    del first
    assert start(pool.empty(50, dtype=np.float64)) != where
    assert start(pool.empty(10, 10)) == where


def test_view_keeps_its_buffer_alive():
    pool = BufferPool()
    first = pool.empty(10, 10)
    first[:] = 1.0
    view = first[3:].reshape(-1)[5:].view()
    del first
    second = pool.empty(10, 10)
    second[:] = 2.0
    assert (view == 1.0).all()


def test_closed_pool_keeps_no_memory():
    pool = BufferPool()
    free, lent = pool.empty(100), pool.empty(50)
    raw = [weakref.ref(array.base._raw) for array in (free, lent)]
    del free
    assert [of() is not None for of in raw] == [True, True]
    pool.close()
    assert [of() is not None for of in raw] == [False, True]
    lent[:] = 4.0
    again = pool.empty(50)
    again[:] = 5.0
    assert (lent == 4.0).all()
    raw.append(weakref.ref(again.base._raw))
    del lent, again
    assert [of() for of in raw] == [None] * 3


def test_pooled_array_outlives_its_pool():
    pool = BufferPool()
    array = pool.empty(1000)
    array[:] = 5.0
    del pool
    assert (np.zeros(1000) + array == 5.0).all()
