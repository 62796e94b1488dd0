"""The kernel of dlr's features between rows: k(x, x') = sum over columns (and classes) of phi(x) phi(x').

With more than two classes phi_k is taken relative to its mean over the classes: this changes no difference of scores,
and a common part would make all rows similar.

Rows of one class should be similar (k > 0) and rows of different classes not. The share of pairs for which this holds
tells how well the features alone separate the classes, before any weight is fitted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.passes.aligned_buffers import Floats

MAX_SHOWN = 400  # rows in the picture
CHUNK_ROWS = 2_000  # rows of a block of pairs
MAX_COUNTED = 3_000  # rows whose pairs are counted; of more rows a sample is drawn


@dataclass(frozen=True, eq=False)
class Gram:
    """A Gram matrix, rows sorted by class.

    Attributes:
        values: (n, n) the kernel between the rows shown.
        y: (n,) their class codes, ascending. rows: (n,) their positions in the input.
        classes: the classes as text.
        n_rows: number of input rows. counted: number of rows whose pairs were counted.
        share: share of pairs of different rows with k > 0 if and only if they have the same class.
        chance: share that the better of "always similar" and "never similar" would reach.
    """

    values: NDArray[np.float32]
    y: NDArray[np.intp]
    rows: NDArray[np.intp]
    classes: tuple[str, ...]
    n_rows: int
    counted: int
    share: float
    chance: float


def gram(phi: Any, y: Any, classes: Sequence[Any], limit: int = MAX_SHOWN, seed: int = 0) -> Gram:
    """Return the Gram matrix of features.

    Args:
        phi: (D, K, N), see `Features.phi`.
        y: (N,) class codes into `classes`.
        limit: maximum number of rows shown; a sample keeps the shares of the classes.
        seed: seed of the samples.
    """
    features = np.asarray(phi, dtype=np.float64)
    if features.shape[1] > 1:
        features = features - features.mean(axis=1, keepdims=True)
    flat_features = features.reshape(-1, features.shape[2]).T
    codes = np.asarray(y, dtype=np.intp)
    row_order = np.random.default_rng(seed).permutation(len(codes))
    counted_rows = np.sort(row_order[:MAX_COUNTED])
    agreeing_share, chance = _agreeing_shares(flat_features[counted_rows], codes[counted_rows])
    drawn_rows = row_order if len(row_order) <= limit else row_order[_evenly_by_class(codes[row_order], limit)]
    drawn_rows = drawn_rows[np.argsort(codes[drawn_rows], kind="stable")]
    shown_phi = flat_features[drawn_rows]
    names = tuple(str(label) for label in classes)
    kernel = (shown_phi @ shown_phi.T).astype(np.float32)
    return Gram(kernel, codes[drawn_rows], drawn_rows, names, len(codes), len(counted_rows), agreeing_share, chance)


def _evenly_by_class(codes: NDArray[np.intp], limit: int) -> NDArray[np.intp]:
    """Return the positions of `limit` of the N rows with these class codes, evenly spaced after sorting by class."""
    rows_by_class = np.argsort(codes, kind="stable")
    return rows_by_class[np.floor((np.arange(limit) + 0.5) * len(codes) / limit).astype(np.intp)]


def _agreeing_shares(flat: Floats, codes: NDArray[np.intp]) -> tuple[float, float]:
    """Return the share of pairs of rows with k > 0 exactly if their class is the same, and that of a constant guess.

    flat: (N, features) of the rows; codes: (N,) their classes.
    """
    n_agreeing, n_same_class_pairs, n = 0, 0, len(codes)
    for block_start in range(0, n, CHUNK_ROWS):
        block = slice(block_start, block_start + CHUNK_ROWS)
        alike = flat[block] @ flat.T > 0
        has_same_class = codes[block, None] == codes
        own_indices = np.arange(block_start, min(block_start + CHUNK_ROWS, n))
        inner = np.arange(len(own_indices))
        n_agreeing += int((alike == has_same_class).sum()) - int((alike == has_same_class)[inner, own_indices].sum())
        n_same_class_pairs += int(has_same_class.sum()) - len(own_indices)
    n_pairs = n * (n - 1)
    if not n_pairs:
        return float("nan"), float("nan")
    return n_agreeing / n_pairs, max(n_same_class_pairs, n_pairs - n_same_class_pairs) / n_pairs
