"""The kernel that DLR's features make, between rows: k(x, x') = sum over columns (and classes) of phi(x) phi(x').

Of more than two classes phi_k is taken relative to its mean over the classes, which changes no score's differences: a
part that all classes share would make all rows alike.

Two rows of one class should be alike (k > 0) and two of different classes unlike: the share of pairs for which k > 0
if and only if their class is the same says how far the features alone go, before any weight is fitted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.passes.aligned_buffers import Floats

SHOWN = 400  # rows of a picture
CHUNK = 2_000  # rows of a block of pairs
MOST = 3_000  # rows whose pairs are all counted; of more, that many are drawn


@dataclass(frozen=True, eq=False)
class Gram:
    """A Gram matrix, rows sorted by class.

    Attributes:
        values: (n, n) the kernel between the rows shown.
        y: (n,) their class codes, ascending. rows: (n,) their positions among the rows given.
        classes: the classes as text.
        n_rows: rows given. counted: rows whose pairs were counted.
        share: of pairs of different rows, those with k > 0 if and only if their class is the same.
        chance: what the better of "always alike" and "never alike" would reach.
    """

    values: NDArray[np.float32]
    y: NDArray[np.intp]
    rows: NDArray[np.intp]
    classes: tuple[str, ...]
    n_rows: int
    counted: int
    share: float
    chance: float


def gram(phi: Any, y: Any, classes: Sequence[Any], limit: int = SHOWN, seed: int = 0) -> Gram:
    """Return the Gram matrix of features.

    Args:
        phi: (D, K, N) as `Features.phi`.
        y: (N,) class codes into `classes`.
        limit: rows shown, drawn where there are more; every class keeps its share of them.
        seed: draws rows.
    """
    features = np.asarray(phi, dtype=np.float64)
    if features.shape[1] > 1:
        features = features - features.mean(axis=1, keepdims=True)
    flat = features.reshape(-1, features.shape[2]).T
    codes = np.asarray(y, dtype=np.intp)
    order = np.random.default_rng(seed).permutation(len(codes))
    counted = np.sort(order[:MOST])
    share, chance = _shares(flat[counted], codes[counted])
    drawn = order if len(order) <= limit else order[_spread(codes[order], limit)]
    drawn = drawn[np.argsort(codes[drawn], kind="stable")]
    shown = flat[drawn]
    names = tuple(str(label) for label in classes)
    values = (shown @ shown.T).astype(np.float32)
    return Gram(values, codes[drawn], drawn, names, len(codes), len(counted), share, chance)


def _spread(codes: NDArray[np.intp], limit: int) -> NDArray[np.intp]:
    """Positions of `limit` rows: sorted by class, evenly spaced, so that every class has its share."""
    by_class = np.argsort(codes, kind="stable")
    return by_class[np.floor((np.arange(limit) + 0.5) * len(codes) / limit).astype(np.intp)]


def _shares(flat: Floats, codes: NDArray[np.intp]) -> tuple[float, float]:
    agree, same_pairs, n = 0, 0, len(codes)
    for begin in range(0, n, CHUNK):
        block = slice(begin, begin + CHUNK)
        alike = flat[block] @ flat.T > 0
        same = codes[block, None] == codes
        itself = np.arange(begin, min(begin + CHUNK, n))
        rows = np.arange(len(itself))
        agree += int((alike == same).sum()) - int((alike == same)[rows, itself].sum())
        same_pairs += int(same.sum()) - len(itself)
    pairs = n * (n - 1)
    if not pairs:
        return float("nan"), float("nan")
    return agree / pairs, max(same_pairs, pairs - same_pairs) / pairs
