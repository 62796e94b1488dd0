"""Seeds of a study, derived from one base seed and independent of each other.

The seed of a split depends on its repeat alone, that of a fit on recipe and split alone, so that adding a model, a
repeat or a fold changes no other result.
"""

from zlib import crc32

import numpy as np


def seed_of(base: int, purpose: str, *indices: int) -> int:
    """Return the seed, below 2^32, of a purpose (a word, or a recipe's JSON) and its indices.

    >>> seed_of(0, "split", 1) == seed_of(0, "split", 1), seed_of(0, "split", 1) == seed_of(0, "split", 2)
    (True, False)
    """
    key = (crc32(purpose.encode()), *indices)
    return int(np.random.SeedSequence(base, spawn_key=key).generate_state(1)[0])
