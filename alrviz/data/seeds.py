"""Seeds of a study: one base, and a stream for each purpose that depends on nothing else.

A split's seed knows its repeat alone, a fit's its recipe and split alone: adding a racer, a repeat or a fold changes no
other number.
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
