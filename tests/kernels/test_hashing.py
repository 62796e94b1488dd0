"""Hashed places: every bit of a value has an influence on where its chain begins."""

import numpy as np
import pytest

from alrviz.kernels.cells import _GOLDEN, _first_slot


@pytest.mark.parametrize("shift", [0, 7, 31, 40, 47])
@pytest.mark.parametrize("bits", [4, 12, 16])
def test_values_a_power_of_two_apart_are_spread(shift, bits):
    values = range(2 ** (bits - 1))
    homes = [int(_first_slot(value << shift, 1 << bits)) for value in values]
    assert homes == [((value << shift) * int(_GOLDEN) % 2**64) >> (64 - bits) for value in values]
    assert max(np.bincount(homes)) <= 4
