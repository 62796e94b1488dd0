"""The scan behind MDL cuts, the best place to cut a sorted stretch of a column in two; and the merging of neighbouring
levels behind smooth ones (data/cuts.py).

The column comes as *entries*, sorted by value: (class, weight, whether it is the last entry of its value). For the
entries before a place the class weights are l_k, after it r_k; the weighted entropy of both sides, in bits times
rows, is

    E = f(sum l) - sum_k f(l_k) + f(sum r) - sum_k f(r_k),      f(c) = c log2 c

An entry changes one class on each side, so a step costs the same whatever the number of classes; the two sums carry
their rounding error along (Neumaier), so they never drift. Where all weights are whole, f comes out of a table: four
logarithms less per entry, and neighbouring entries read neighbouring places. Places whose E differ by rounding alone
count as equal, and the first of them wins: without that, mirror-image cuts would be told apart by noise.

A scan can be broken off and taken up again: everything it knows is in `left`, `state` and `best`.
"""

import math

import numpy as np

from alrviz.kernels import kernel

STATE_SIZE = 6  # sum over left classes and its error, the same on the right, weight on the left, best E


@kernel
def class_weights(classes: np.ndarray, weights: np.ndarray, start: int, end: int, out: np.ndarray) -> None:
    """Add the weights of entries start..end-1 to `out` (C,), in order: the same floats as the scan adds."""
    for i in range(start, end):
        out[classes[i]] += weights[i]


@kernel
def _f(c: float, table: np.ndarray) -> float:
    if c < len(table):
        return table[int(c)]
    return c * math.log2(c) if c > 0.0 else 0.0


@kernel
def _exact_add(total: float, error: float, term: float) -> tuple[float, float]:
    """Return total + term and the running error of that sum (Neumaier)."""
    added = total + term
    if abs(total) >= abs(term):
        error += (total - added) + term
    else:
        error += (term - added) + total
    return added, error


@kernel
def scan(
    classes: np.ndarray,
    weights: np.ndarray,
    last: np.ndarray,
    start: int,
    end: int,
    whole: np.ndarray,
    left: np.ndarray,
    state: np.ndarray,
    best: np.ndarray,
    slack: float,
    table: np.ndarray,
) -> None:
    """Look at the places behind entries start..end-1; `best[0]` becomes the entry after the best one so far.

    classes (E,) int32, weights (E,), last (E,) bool; whole, left (C,) class weights of the stretch and of what was
    scanned; state (STATE_SIZE,); best (1,) int64, -1 while there is none; slack: below this, a lower E is rounding;
    table holds f(0), f(1), ... and is empty where a weight is not whole.
    """
    left_sum, left_error, right_sum, right_error, left_weight, lowest = state
    weight = whole.sum()
    place = best[0]
    for i in range(start, end):
        k = classes[i]
        old = left[k]
        new = old + weights[i]
        left[k] = new
        left_sum, left_error = _exact_add(left_sum, left_error, _f(new, table) - _f(old, table))
        change = _f(whole[k] - new, table) - _f(whole[k] - old, table)
        right_sum, right_error = _exact_add(right_sum, right_error, change)
        left_weight += weights[i]
        if last[i]:
            sides = _f(left_weight, table) + _f(weight - left_weight, table)
            entropy = sides - (left_sum + left_error) - (right_sum + right_error)
            if place < 0 or entropy < lowest - slack:
                lowest = entropy
                place = i + 1
    state[0], state[1], state[2] = left_sum, left_error, right_sum
    state[3], state[4], state[5] = right_error, left_weight, lowest
    best[0] = place


@kernel
def _own_log_loss(counts: np.ndarray) -> float:
    """The log loss of rows, counts (C,), by their own shares."""
    whole = inside = 0.0
    for count in counts:
        whole += count
        inside += count * math.log(count) if count > 0.0 else 0.0
    return (whole * math.log(whole) if whole > 0.0 else 0.0) - inside


@kernel
def merge_levels(counts: np.ndarray, most: int, mean: float, noise: float) -> np.ndarray:
    """Merge the two neighbours that cost least until `most` levels are left; return the indices (k,) of the cuts that
    stay, k <= most - 1. `counts` (levels, C) are overwritten; mean: weight of a level, noise: nats.

        cost = weight of both / mean  +  max(0, what the log loss rises by - noise)
    """
    left, classes = counts.shape
    cuts, row, both = np.arange(left - 1), np.arange(left), np.empty(classes)
    own, whole, cost = np.empty(left), np.empty(left), np.empty(left)
    for i in range(left):
        own[i] = _own_log_loss(counts[i])
    low, high = 0, left - 1  # pairs whose cost is not known: what stands beside a level that was merged
    while True:
        for i in range(low, high):
            weight = 0.0
            for k in range(classes):
                both[k] = counts[row[i], k] + counts[row[i + 1], k]
                weight += both[k]
            whole[i] = _own_log_loss(both)
            cost[i] = max(0.0, whole[i] - own[i] - own[i + 1] - noise) + weight / mean
        if left <= most:
            return cuts[: left - 1]
        at = int(np.argmin(cost[: left - 1]))
        for k in range(classes):
            counts[row[at + 1], k] += counts[row[at], k]
        own[at + 1] = whole[at]
        for i in range(at, left - 1):
            row[i], own[i] = row[i + 1], own[i + 1]
            if i < left - 2:
                whole[i], cost[i], cuts[i] = whole[i + 1], cost[i + 1], cuts[i + 1]
        left -= 1
        low, high = max(0, at - 1), min(at + 1, left - 1)
