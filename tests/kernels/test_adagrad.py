"""AdaGrad's steps over rows of keys against the same in plain numpy, for every width of vectors."""

import numpy as np
import pytest
from scipy.special import softmax

from alrviz.kernels.adagrad import CENTER, PULL, SCALE, SQUARES, WEIGHT
from alrviz.passes.aligned_buffers import class_widths
from alrviz.passes.stream import adagrad_steps, single_table

LEVELS = np.array([3, 5, 2, 7, 4, 3, 6])


def plain(cells, y, table, classes, eta):
    """The same steps on a table (rows, parts, classes) in double precision; b is its last row but one."""
    for places, own in zip(np.append(cells, np.full((len(cells), 1), len(table) - 2), axis=1), y, strict=True):
        scale, w, squares, *more = (table[places, part] for part in range(table.shape[1]))
        r = softmax((scale * w).sum(axis=0)) - np.eye(classes)[own]
        slope = scale * r
        if more:
            slope = slope + more[0] * (w - (more[1] if len(more) > 1 else 0.0))
        squares = squares + slope**2
        table[places, SQUARES] = squares
        table[places, WEIGHT] = w - eta * slope / (1e-9 + np.sqrt(squares))


@pytest.mark.parametrize("classes", [2, 3, 4, 6, 10, 20])
@pytest.mark.parametrize("parts", [3, 4, 5])
@pytest.mark.parametrize("tuples", [1, 7])
def test_steps_are_those_of_plain_numpy(classes, parts, tuples):
    rng = np.random.default_rng(classes)
    levels, m = LEVELS[:tuples], 60
    first = np.concatenate([[0], np.cumsum(levels)])
    keys = rng.integers(0, levels[:, None], (tuples, m)).astype(np.uint16)
    y = rng.integers(0, classes, m).astype(np.int32)
    table = single_table(int(first[-1]), parts, class_widths(classes)[1])
    real = table[:-1, :, :classes]
    real[:, SCALE] = rng.random((len(real), classes)) + 0.5
    real[:, WEIGHT] = 0.05 * rng.normal(size=(len(real), classes))
    if parts > PULL:
        real[:, PULL] = 0.1 * rng.random((len(real), classes))
    if parts > CENTER:
        real[:, CENTER] = rng.normal(size=(len(real), classes))
    want = table[:, :, :classes].astype(float)
    adagrad_steps(keys, first, y, table, classes, 0.05)
    plain((keys + first[:-1, None]).T, y, want, classes, 0.05)
    np.testing.assert_allclose(table[:, :, :classes], want, rtol=1e-4, atol=1e-5)
    assert not table[:, SCALE, classes:].any()  # pads
    assert not table[-1].any()  # what rows are filled up with


def test_zero_rows_leave_weights_unchanged():
    table = single_table(3, 3, 2)
    table[:-1, :2] = 1.0
    before = table.copy()
    assert adagrad_steps(np.zeros((1, 0), np.uint16), np.array([0, 3]), np.zeros(0, np.int32), table, 2, 1.0) == 0.0
    np.testing.assert_array_equal(table, before)
