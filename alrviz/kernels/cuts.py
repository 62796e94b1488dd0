"""Kernels of data/mdl.py and data/cuts.py: the best cut of a sorted stretch of a column, and merging of adjacent
levels.

The column comes as *entries*, sorted by value: (class, weight, whether it is the last entry of its value). Before a
cut the class weights are l_k, after it r_k. The weighted entropy of both sides, in bits times rows, is

    E = f(sum l) - sum_k f(l_k) + f(sum r) - sum_k f(r_k),      f(c) = c log2 c

An entry changes one class on each side, so that a step costs the same for any number of classes. The two sums carry
their rounding error along (Neumaier) and do not drift. If all weights are whole numbers, f comes from a table: four
logarithms less per entry, and adjacent entries read adjacent places. Cuts whose E differ by rounding alone count as
equal, and the first of them wins: otherwise noise would decide between mirror-image cuts.

A scan can be interrupted and continued: all of its state is in `left`, `state` and `best`.
"""

import math

import numpy as np

from alrviz.kernels import kernel

STATE_SIZE = 6  # sum of f over left classes, its error, both on the right, weight on the left, lowest E


@kernel
def class_weights(classes: np.ndarray, weights: np.ndarray, start: int, end: int, out: np.ndarray) -> None:
    """Add the weights of entries start..end-1 to out (C,) by class, in the scan's order, so that both get the same
    floats.
    """
    for i in range(start, end):
        out[classes[i]] += weights[i]


@kernel
def _f(c: float, f_table: np.ndarray) -> float:
    if c < len(f_table):
        return f_table[int(c)]
    return c * math.log2(c) if c > 0.0 else 0.0


@kernel
def _exact_add(total: float, error: float, term: float) -> tuple[float, float]:
    """Return total + term, and the rounding error of the sum so far (Neumaier)."""
    new_total = total + term
    if abs(total) >= abs(term):
        error += (total - new_total) + term
    else:
        error += (term - new_total) + total
    return new_total, error


@kernel
def scan(
    classes: np.ndarray,
    weights: np.ndarray,
    is_last: np.ndarray,
    start: int,
    end: int,
    class_totals: np.ndarray,
    left: np.ndarray,
    state: np.ndarray,
    best: np.ndarray,
    tolerance: float,
    f_table: np.ndarray,
) -> None:
    """Examine the cuts behind entries start..end-1; best[0] becomes the entry after the best cut so far.

    Args:
        classes, weights: (E,) int32 and float64.
        is_last: (E,) bool, whether an entry is the last of its value; only there a cut is possible.
        class_totals, left: (C,) class weights of the stretch, and of the entries scanned so far.
        state: (STATE_SIZE,) running sums.
        best: (1,) int64, -1 while there is no cut.
        tolerance: an E lower by less than this is rounding.
        f_table: f(0), f(1), ...; empty if a weight is not whole.
    """
    left_sum, left_error, right_sum, right_error, left_weight, lowest = state
    weight = class_totals.sum()
    best_cut = best[0]
    for i in range(start, end):
        k = classes[i]
        old_weight = left[k]
        new_weight = old_weight + weights[i]
        left[k] = new_weight
        left_sum, left_error = _exact_add(left_sum, left_error, _f(new_weight, f_table) - _f(old_weight, f_table))
        change = _f(class_totals[k] - new_weight, f_table) - _f(class_totals[k] - old_weight, f_table)
        right_sum, right_error = _exact_add(right_sum, right_error, change)
        left_weight += weights[i]
        if is_last[i]:
            side_terms = _f(left_weight, f_table) + _f(weight - left_weight, f_table)
            entropy = side_terms - (left_sum + left_error) - (right_sum + right_error)
            if best_cut < 0 or entropy < lowest - tolerance:
                lowest = entropy
                best_cut = i + 1
    state[0], state[1], state[2] = left_sum, left_error, right_sum
    state[3], state[4], state[5] = right_error, left_weight, lowest
    best[0] = best_cut


@kernel
def _log_loss(counts: np.ndarray) -> float:
    """Return the log loss of rows with class counts (C,) when their class shares are predicted."""
    weight_sum = sum_of_classes = 0.0
    for count in counts:
        weight_sum += count
        sum_of_classes += count * math.log(count) if count > 0.0 else 0.0
    return (weight_sum * math.log(weight_sum) if weight_sum > 0.0 else 0.0) - sum_of_classes


@kernel
def merge_levels(counts: np.ndarray, max_levels: int, mean_weight: float, noise_nats: float) -> np.ndarray:
    """Merge the two adjacent levels that cost least until `max_levels` are left; return the indices (k,) of the cuts
    kept.

        cost = weight of both / mean_weight  +  max(0, rise of the log loss - noise_nats)

    counts (levels, C) are the class weights of each level, and are overwritten; k <= max_levels - 1. mean_weight:
    weight of a level at which it costs 1; noise_nats: rise of the log loss that may be chance.
    """
    n_left, classes = counts.shape
    cuts, row, pair_counts = np.arange(n_left - 1), np.arange(n_left), np.empty(classes)
    level_loss, pair_loss, cost = np.empty(n_left), np.empty(n_left), np.empty(n_left)
    for i in range(n_left):
        level_loss[i] = _log_loss(counts[i])
    first_pair, end_pair = 0, n_left - 1  # pairs to price: at first all, then the neighbours of a merged level
    while True:
        for i in range(first_pair, end_pair):
            weight = 0.0
            for k in range(classes):
                pair_counts[k] = counts[row[i], k] + counts[row[i + 1], k]
                weight += pair_counts[k]
            pair_loss[i] = _log_loss(pair_counts)
            cost[i] = max(0.0, pair_loss[i] - level_loss[i] - level_loss[i + 1] - noise_nats) + weight / mean_weight
        if n_left <= max_levels:
            return cuts[: n_left - 1]
        cheapest = int(np.argmin(cost[: n_left - 1]))
        for k in range(classes):
            counts[row[cheapest + 1], k] += counts[row[cheapest], k]
        level_loss[cheapest + 1] = pair_loss[cheapest]
        for i in range(cheapest, n_left - 1):
            row[i], level_loss[i] = row[i + 1], level_loss[i + 1]
            if i < n_left - 2:
                pair_loss[i], cost[i], cuts[i] = pair_loss[i + 1], cost[i + 1], cuts[i + 1]
        n_left -= 1
        first_pair, end_pair = max(0, cheapest - 1), min(cheapest + 1, n_left - 1)
