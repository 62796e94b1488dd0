"""MDL cuts of a numeric column (Fayyad and Irani 1993).

A set S of rows (weight N, k classes present, entropy H in bits) is cut into S1, S2 where n1 H1 + n2 H2 is lowest (the
first such place), if

    gain = H - (n1 H1 + n2 H2)/N  >  [log2(max(N-1, 1)) + log2(3^k - 2) - (k H - k1 H1 - k2 H2)]/N

and then each side in the same way. Candidates lie between distinct values; the cut is their midpoint (the left value
where that rounds to the right one); value <= cut goes left. All counts are sums of weights: a weight of 2 is the row
twice.

The column is sorted once. If values repeat, its rows are merged to one entry per value and class. Half a million rows
take about 20 ms to sort; the stop token is checked before and after, and every million entries.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from alrviz.data.cuts import midpoint
from alrviz.errors import TableError
from alrviz.kernels.cuts import STATE_SIZE, class_weights, scan
from alrviz.stop import NEVER, StopToken

_ENTRIES_PER_CALL = 1_000_000  # entries per kernel call, about 40 ms
_MAX_TABLE_ENTRIES = 1 << 22  # a larger table of c log2 c (32 MB) takes longer than the logarithms that it saves
_ROUNDING = 16 * np.finfo(np.float64).eps


class Entries(NamedTuple):
    """A sorted column: value, class and weight of each entry, and whether it is the last one of its value."""

    values: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    last: np.ndarray


class Piece(NamedTuple):
    """Entries start .. end - 1 with their class weights (C,), the sum of these, the entropy in bits times it, and k."""

    start: int
    end: int
    counts: np.ndarray  # class weights (C,)
    weight: float  # their sum
    bits: float  # entropy times weight
    present: int  # number of classes with a weight: k

    @property
    def entropy(self) -> float:
        """H, in bits."""
        return self.bits / self.weight


def mdl_cuts(
    x: np.ndarray, y: np.ndarray, n_classes: int, weights: np.ndarray | None = None, stop: StopToken = NEVER
) -> np.ndarray:
    """Return the sorted cuts of x, float64; none if no cut passes the criterion.

    Parameters
    ----------
    x : (N,) numbers; missing (NaN) is left out, infinities are a `TableError`.
    y : (N,) class of each row, 0 .. n_classes - 1.
    weights : (N,) not negative; None: ones.

    >>> mdl_cuts(np.arange(20.0), np.arange(20) // 10, 2)
    array([9.5])
    """
    entries = sorted_entries(x, y, n_classes, weights, stop)
    entropy_table = _entropy_table(entries.weights)
    cuts = []
    pieces = [_piece(entries, 0, len(entries.values), n_classes)] if len(entries.values) else []
    while pieces:
        piece = pieces.pop()
        cut_entry = _best_cut_entry(entries, piece, entropy_table, stop)
        if cut_entry < 0:
            continue
        left_piece = _piece(entries, piece.start, cut_entry, n_classes)
        right_piece = _piece(entries, cut_entry, piece.end, n_classes)
        if _pays(piece, left_piece, right_piece):
            cuts.append(midpoint(entries.values[cut_entry - 1], entries.values[cut_entry]))
            pieces += [left_piece, right_piece]
    return np.array(sorted(cuts), dtype=np.float64)


def sorted_entries(
    x: np.ndarray, y: np.ndarray, n_classes: int, weights: np.ndarray | None, stop: StopToken = NEVER
) -> Entries:
    """Return the rows of x, y, weights (N,) with a number and a weight above 0 as sorted entries.

    Rows of the same value and class are merged if that halves their number. `TableError` for an infinite number.
    """
    x = np.asarray(x, dtype=np.float64)
    if np.isinf(x).any():
        raise TableError(f"a numeric column holds an infinite number (row {int(np.isinf(x).argmax())})")
    is_kept = ~np.isnan(x)
    if weights is not None:
        weights = np.asarray(weights, dtype=np.float64)
        is_kept &= weights > 0
    if not is_kept.all():
        x, y = x[is_kept], np.asarray(y)[is_kept]
        weights = None if weights is None else weights[is_kept]
    stop.check()
    order = np.argsort(x)
    stop.check()
    values = x[order]
    classes = np.asarray(y)[order].astype(np.int32)
    weights = np.ones(len(x)) if weights is None else weights[order]
    is_last = np.append(values[1:] != values[:-1], True)[: len(x)]
    n_distinct = int(is_last.sum())
    if 2 * n_distinct * n_classes <= len(x):
        value_index = np.cumsum(is_last) - is_last  # index of the row's value
        merged_weights = np.bincount(
            value_index * n_classes + classes, weights=weights, minlength=n_distinct * n_classes
        )
        occurs = np.flatnonzero(merged_weights)
        value_index, classes = occurs // n_classes, (occurs % n_classes).astype(np.int32)
        values, weights = values[is_last][value_index], merged_weights[occurs]
        is_last = np.append(value_index[1:] != value_index[:-1], True)
    return Entries(values, classes, weights, is_last)


def _entropy_table(weights: np.ndarray) -> np.ndarray:
    """Return c log2 c for c = 0 .. sum of the weights; empty if weights are not whole, or their sum is too large."""
    weight_sum = weights.sum()
    return np.empty(0) if weight_sum >= _MAX_TABLE_ENTRIES or (weights % 1).any() else _entropy_terms(int(weight_sum))


@lru_cache(maxsize=1)  # the same for all columns of a table
def _entropy_terms(total: int) -> np.ndarray:
    """Return c log2 c for c = 0 .. total."""
    numbers = np.arange(1.0, total + 1)
    return np.concatenate([[0.0], numbers * np.log2(numbers)])


def _piece(entries: Entries, start: int, end: int, n_classes: int) -> Piece:
    """Return entries start .. end - 1 with their class weights and entropy."""
    counts = np.zeros(n_classes)
    class_weights(entries.classes, entries.weights, start, end, counts)
    present = counts[counts > 0]
    weight = float(present.sum())
    bits = weight * math.log2(weight) - math.fsum((present * np.log2(present)).tolist())
    return Piece(start, end, counts, weight, max(bits, 0.0), len(present))


def _best_cut_entry(entries: Entries, piece: Piece, entropy_table: np.ndarray, stop: StopToken) -> int:
    """Return the first entry of the right side of the best cut; -1 if there is only one value or one class."""
    if piece.present < 2:
        return -1
    left_counts = np.zeros_like(piece.counts)
    start_sum = math.fsum(c * math.log2(c) for c in piece.counts.tolist() if c > 0)
    state = np.zeros(STATE_SIZE)
    state[2] = start_sum
    best_entry = np.array([-1])
    slack = _ROUNDING * piece.weight * math.log2(piece.weight + 2)
    last_entry = piece.end - 1  # behind the last value there is no place; its other entries are never `last`
    for first_entry in range(piece.start, last_entry, _ENTRIES_PER_CALL):
        stop.check()
        end = min(first_entry + _ENTRIES_PER_CALL, last_entry)
        scan(*entries[1:], first_entry, end, piece.counts, left_counts, state, best_entry, slack, entropy_table)
    return int(best_entry[0])


def _pays(piece: Piece, low: Piece, high: Piece) -> bool:
    """Return whether a cut passes the criterion of the module."""
    n, k = piece.weight, piece.present
    gain = (piece.bits - low.bits - high.bits) / n
    classes = math.log2(3**k - 2) if k <= 30 else k * math.log2(3)  # beyond 30 the 2 is below rounding
    change = k * piece.entropy - low.present * low.entropy - high.present * high.entropy
    return gain > (math.log2(max(n - 1, 1)) + classes - change) / n
