"""Demo sets drawn at random from a known distribution: LED, waveform, skewed, parity, XOR.

Each function takes the number of rows and a numpy Generator, and returns a DataFrame whose last column is "class".
Levels are text, so that they stay levels. Random parameters are drawn before the rows.
"""

from itertools import combinations

import numpy as np
import pandas as pd

SEGMENTS = ("top", "upper_left", "upper_right", "middle", "lower_left", "lower_right", "bottom")
# Which segments light up for the digits 0 to 9, in the order above (Breiman et al. 1984).
DIGITS = ("1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011")
LED_NOISE = 0.1


def led(rows: int, rng: np.random.Generator, irrelevant: int = 0) -> pd.DataFrame:
    """Return digits on a display whose 7 segments are each wrong in one case of ten, and irrelevant random columns."""
    lit = np.array([list(map(int, digit)) for digit in DIGITS])
    digits = rng.integers(0, len(DIGITS), rows)
    display = lit[digits] ^ (rng.random((rows, len(SEGMENTS))) < LED_NOISE)
    names = [*SEGMENTS, *(f"irrelevant_{j + 1}" for j in range(irrelevant))]
    return _frame(np.hstack([display, rng.integers(0, 2, (rows, irrelevant))]), names, digits)


def led24(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return LED with 17 irrelevant columns."""
    return led(rows, rng, irrelevant=17)


def waveform(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return mixtures of two of three triangular waves at 21 places, with normal noise (Breiman et al. 1984)."""
    positions = np.arange(1, 22)
    waves = np.maximum(6 - np.abs(positions - np.array([[11], [15], [7]])), 0)
    first_waves, second_waves = np.array([0, 0, 1]), np.array([1, 2, 2])
    classes = rng.integers(0, 3, rows)
    weight = rng.random((rows, 1))
    values = (
        weight * waves[first_waves[classes]] + (1 - weight) * waves[second_waves[classes]] + rng.normal(size=(rows, 21))
    )
    frame = pd.DataFrame(values.round(2), columns=[f"x{position}" for position in positions])
    return frame.assign(**{"class": classes.astype(str)})


def skewed(
    rows: int,
    rng: np.random.Generator,
    order: int = 2,
    columns: int = 8,
    levels: int = 10,
    classes: int = 3,
    exponent: float = 1.5,
) -> pd.DataFrame:
    """Return columns whose level l has probability ~ l^-exponent (Zipf), and a class that depends on their tuples.

    The class follows p = softmax(sum over tuples of `order` columns of phi[cell]), phi normal, with standard
    deviation 2 in each class's score.
    """
    tuples = list(combinations(range(columns), order))
    phi = rng.normal(scale=2 / np.sqrt(len(tuples)), size=(len(tuples), levels**order, classes))
    zipf = np.arange(1, levels + 1) ** -exponent
    codes = rng.choice(levels, size=(rows, columns), p=zipf / zipf.sum())
    scores = np.zeros((rows, classes))
    for t, columns_of_tuple in enumerate(tuples):
        cell = np.ravel_multi_index(tuple(codes[:, columns_of_tuple].T), (levels,) * order)
        scores += phi[t, cell]
    labels = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)  # the largest of score + Gumbel follows softmax
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    return _frame(letters[codes], [f"x{j + 1}" for j in range(columns)], labels)


def parity(
    rows: int, rng: np.random.Generator, relevant: int = 3, columns: int = 8, noise: float = 0.05
) -> pd.DataFrame:
    """Return random bits, and the parity of the first `relevant` ones, wrong in a share `noise` of the rows."""
    bits = rng.integers(0, 2, (rows, columns))
    odd = bits[:, :relevant].sum(axis=1) % 2
    return _frame(bits, [f"bit_{j + 1}" for j in range(columns)], odd ^ (rng.random(rows) < noise))


def xor(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return the exclusive or of two of four bits, wrong in one row of ten."""
    return parity(rows, rng, relevant=2, columns=4, noise=0.1)


def twelve_bits(rows: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return twelve random bits: the class depends on three of them separately, and on bits 7 and 11 only together."""
    bits = rng.integers(0, 2, (rows, 12))
    score = bits[:, :3] @ np.array([1.6, 1.2, 0.8]) + 2.4 * (bits[:, 6] ^ bits[:, 10]) - 3.0
    return _frame(bits, [f"bit_{j + 1}" for j in range(12)], rng.random(rows) < 1 / (1 + np.exp(-score)))


def _frame(levels: np.ndarray, names: list[str], classes: np.ndarray) -> pd.DataFrame:
    frame = pd.DataFrame(levels.astype(str).astype(object), columns=names)
    return frame.assign(**{"class": classes.astype(str).astype(object)})
