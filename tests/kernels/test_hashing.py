"""Hashed places: every bit of a value has an influence on where its chain begins."""

import numpy as np
import pytest

from alrviz.kernels import cells, joint_values


@pytest.mark.parametrize("of", [joint_values, cells])
@pytest.mark.parametrize("shift", [0, 7, 31, 40, 47])
@pytest.mark.parametrize("bits", [4, 12, 16])
def test_values_a_power_of_two_apart_are_spread(of, shift, bits):
    values = range(2 ** (bits - 1))
    homes = [int(of._first_slot(value << shift, 1 << bits)) for value in values]
    assert homes == [((value << shift) * int(of._GOLDEN) % 2**64) >> (64 - bits) for value in values]
    assert max(np.bincount(homes)) <= 4


def test_both_files_hash_alike():
    assert joint_values._GOLDEN == cells._GOLDEN
