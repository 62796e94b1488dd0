"""Grids over the occupied stretches of a column: kernel sums on their nodes, from which features are interpolated.

Node j of a grid lies at origin + j delta. A stretch goes on as long as gaps are shorter than the kernel's reach, so
that rows of different stretches do not influence each other:

    rows         . ... . ..  .                                     .. . .
    stretches   [------------------]                             [---------]
    memory      [------------------]0 0 .. 0[---------]0 0 .. 0                 zeros as far as the kernel reaches

Votes are spread over 4 nodes by cubic weights, convolved with the kernel's table, and interpolated by the same weights;
both errors fall as (delta / h)^4. The convolution runs over the whole memory and needs no test where a stretch ends.
For fixed delta a node's sum is a smooth function of h: `slope` is the derivative of the table, not of the kernel.

Tuple that kernels take as `grid`:
    first, last  (s,) first and last node of each stretch
    base         (s,) where each stretch begins in memory
    nodes        (2C, n) sums, then their d / d log h
    place        (2,) origin and nodes per unit
    own          (2, 4) the table and its slope at 0 .. 3 nodes, by which a row's own vote is subtracted as the grid
                 gave it
"""

import numpy as np

from alrviz.kernels import kernel

# Nodes of one block of the convolution, so that its sums stay in the fastest cache.
BLOCK_NODES = 256
CHUNK_ROWS = 512
# Numbers from one class to the next. A power of two would map all classes to the same few cache lines.
CLASS_STRIDE = CHUNK_ROWS + 8


@kernel
def find_stretches(x, place, reach, first, last):
    """Write the first and the last node of each stretch of the sorted x (P,); return the number of stretches.

    A row behind node j = floor((x - origin) * per_unit) needs the nodes j - 1 .. j + 2. A stretch ends where more than
    `reach` nodes are empty. first, last: (P,) written.
    """
    n_stretches = 0
    for i in range(len(x)):
        j = np.int64(np.floor((x[i] - place[0]) * place[1]))
        if n_stretches == 0 or j - 1 > last[n_stretches - 1] + reach:
            first[n_stretches] = j - 1
            n_stretches += 1
        last[n_stretches - 1] = j + 2
    return n_stretches


@kernel
def _node(x, grid):
    """Return the place in memory of the grid's node before x, and the distance in nodes, 0 .. 1; (-1, 0) off the
    grid.
    """
    first, last, base, _, place, _ = grid
    node_position = (x - place[0]) * place[1]
    if not (first[0] + 1 <= node_position < last[-1]):
        return -1, 0.0
    j = np.int64(np.floor(node_position))
    lo, hi = 0, len(first) - 1  # bisect for the last stretch that begins at or before j - 1
    while lo < hi:
        middle = (lo + hi + 1) // 2
        if first[middle] <= j - 1:
            lo = middle
        else:
            hi = middle - 1
    if j + 2 > last[lo]:
        return -1, 0.0
    return base[lo] + (j - first[lo]), node_position - j


@kernel
def _cubic(t):
    """Return the Lagrange weights of the nodes j - 1 .. j + 2 at a place t, 0 .. 1, behind node j."""
    a, b, c = t + 1.0, t - 1.0, t - 2.0
    return -t * b * c / 6.0, a * b * c / 2.0, -a * t * c / 2.0, a * t * b / 6.0


@kernel
def spread_votes(xs, ws, first, grid, pad, votes, begin, end):
    """Add sources begin .. end, values xs and weights ws (P,), to the votes (C, n + 2 pad) of the nodes around them.

    Class k's sources begin at first[k]; `pad` nodes are empty before and behind the grid.
    """
    k = 0
    for i in range(begin, end):
        while i >= first[k + 1]:
            k += 1
        n, t = _node(xs[i], grid)
        a, b, c, d = _cubic(t)
        n += pad
        votes[k, n - 1] += ws[i] * a
        votes[k, n] += ws[i] * b
        votes[k, n + 1] += ws[i] * c
        votes[k, n + 2] += ws[i] * d


@kernel
def convolve(votes, table, slope, nodes, begin, end):
    """Write to nodes (2C, n) the sums over t of table[|t|] votes[k, n + t] for each class k, then those with `slope`.

    votes (C, n + 2 pad) has `pad` >= taps zeros before node 0 and behind the last node; table, slope (taps + 1,).
    """
    taps, n_classes = len(table) - 1, votes.shape[0]
    pad = (votes.shape[1] - nodes.shape[1]) // 2
    for block_start in range(begin, end, BLOCK_NODES):
        m = min(BLOCK_NODES, end - block_start)
        for k in range(n_classes):
            sums, slopes = nodes[k, block_start : block_start + m], nodes[n_classes + k, block_start : block_start + m]
            center_votes = votes[k, block_start + pad : block_start + pad + m]
            for r in range(m):
                sums[r] = table[0] * center_votes[r]
                slopes[r] = slope[0] * center_votes[r]
            for t in range(1, taps + 1):
                left_votes = votes[k, block_start + pad - t : block_start + pad - t + m]
                right_votes = votes[k, block_start + pad + t : block_start + pad + t + m]
                a, b = table[t], slope[t]
                for r in range(m):
                    pair_votes = left_votes[r] + right_votes[r]
                    sums[r] += a * pair_votes
                    slopes[r] += b * pair_votes


@kernel
def _interpolate(x, begin, m, grid, places, weights, s):
    """Write S_k and d S_k / d log h of rows begin .. begin + m to s (2C, CLASS_STRIDE).

    x (N,) are the rows' numbers. Also writes the places (CHUNK_ROWS,) in memory of the nodes before them, -1 off the
    grid, and the cubic weights (4, CHUNK_ROWS) of the nodes around them.
    """
    nodes = grid[3]
    for r in range(m):
        places[r], t = _node(x[begin + r], grid)
        weights[0, r], weights[1, r], weights[2, r], weights[3, r] = _cubic(t)
    for k in range(len(nodes)):
        node_sums, class_sums = nodes[k], s[k]
        for r in range(m):
            q = max(1, places[r])
            class_sums[r] = weights[0, r] * node_sums[q - 1] + weights[1, r] * node_sums[q]
            class_sums[r] += weights[2, r] * node_sums[q + 1] + weights[3, r] * node_sums[q + 2]


@kernel
def _subtract_own_votes(row_kinds, begin, m, classes, own_votes, own_table, weights, s):
    """Subtract the own votes of rows begin .. begin + m from the sums of their classes, exactly as the grid added them.

    row_kinds (N,) points into classes and own_votes (kinds,); own_table is `own` of the grid; weights (4, CHUNK_ROWS)
    of the nodes around each row; s (2C, CLASS_STRIDE) the sums and slopes.
    """
    for r in range(m):
        j = row_kinds[begin + r]
        if own_votes[j] > 0.0:
            a, b, c, e = weights[0, r], weights[1, r], weights[2, r], weights[3, r]
            at0, at1 = a * a + b * b + c * c + e * e, 2.0 * (a * b + b * c + c * e)
            at2, at3 = 2.0 * (a * c + b * e), 2.0 * a * e
            k, q = classes[j], classes[j] + len(s) // 2
            s[k, r] -= own_votes[j] * (
                own_table[0, 0] * at0 + own_table[0, 1] * at1 + own_table[0, 2] * at2 + own_table[0, 3] * at3
            )
            s[q, r] -= own_votes[j] * (
                own_table[1, 0] * at0 + own_table[1, 1] * at1 + own_table[1, 2] * at2 + own_table[1, 3] * at3
            )


@kernel
def _write_ratios(s, row_kinds, bias, limit, phi, dphi, begin, m, denominator, denominator_slope):
    """Write phi and dphi of rows begin .. begin + m from S_k and its slope s (2C, CLASS_STRIDE), as if no sum were
    thin.

    row_kinds (N,) points into bias (kinds, K); limit: largest |phi|; denominator, denominator_slope: (CHUNK_ROWS,)
    workspace.
    """
    classes, gradient = len(s) // 2, dphi.shape[1] > 0
    first = 1 if len(phi) == 1 else 0  # with two classes the ratio is second to first, else each class to all
    for r in range(m):
        denominator[r], denominator_slope[r] = s[0, r], s[classes, r]
    for k in range(1, classes if first == 0 else 1):
        for r in range(m):
            denominator[r] += s[k, r]
            denominator_slope[r] += s[classes + k, r]
    for k in range(len(phi)):
        for r in range(m):
            value = np.log(s[first + k, r] / denominator[r]) - bias[row_kinds[begin + r], k]
            phi[k, begin + r] = min(limit, max(-limit, value))
        if gradient:
            for r in range(m):
                slope = s[classes + first + k, r] / s[first + k, r] - denominator_slope[r] / denominator[r]
                dphi[k, begin + r] = slope if np.abs(phi[k, begin + r]) < limit else 0.0


@kernel
def look_up(x, row_kinds, kinds, grid, constants, phi, dphi, remaining, sums, begin, end):
    """Write phi (K, N) and dphi (K, N or 0) of rows begin .. end; return how many rows remain to be summed exactly.

    x (N,) are the rows' numbers. Rows without a number, off the grid, or with a sum below `thin` remain. Their numbers
    are written to `remaining`, and their sums (2C), 0 where unknown, to `sums`. row_kinds (N,) int32 points into
    `kinds`; this and `constants`: ratios.py.
    """
    thin, limit = constants[2], constants[3]
    kind_classes, own_votes, _, bias, _ = kinds
    places, weights = np.empty(CHUNK_ROWS, np.int64), np.empty((4, CHUNK_ROWS))
    denominator, denominator_slope = np.empty(CHUNK_ROWS), np.empty(CHUNK_ROWS)
    s = np.empty((len(grid[3]), CLASS_STRIDE))
    n_remaining = 0
    for chunk_start in range(begin, end, CHUNK_ROWS):
        m = min(CHUNK_ROWS, end - chunk_start)
        _interpolate(x, chunk_start, m, grid, places, weights, s)
        _subtract_own_votes(row_kinds, chunk_start, m, kind_classes, own_votes, grid[5], weights, s)
        _write_ratios(s, row_kinds, bias, limit, phi, dphi, chunk_start, m, denominator, denominator_slope)
        for r in range(m):
            min_sum = s[0, r]
            for k in range(1, len(s) // 2):
                min_sum = min(min_sum, s[k, r])
            if places[r] >= 0 and min_sum >= thin:
                continue
            remaining[n_remaining] = chunk_start + r
            for k in range(len(s)):
                sums[n_remaining, k] = s[k, r] if places[r] >= 0 else 0.0
            n_remaining += 1
    return n_remaining
