"""Grids over the occupied stretches of a column: kernel sums on their nodes, and features of the rows that lie on them.

A grid has nodes delta apart. Node j of a stretch stands at origin + j delta; a stretch goes on as long as gaps are
shorter than the kernel reaches, so that rows of different stretches do not see each other:

    rows         . ... . ..  .                                     .. . .
    stretches   [------------------]                             [---------]
    memory      [------------------]0 0 .. 0[---------]0 0 .. 0                 zeros as far as the kernel reaches

Votes are spread on 4 nodes by cubic weights, convolved with the kernel's table, and looked up by the same weights; both
errors fall as (delta / h)^4. The convolution runs over the whole memory without asking where a stretch ends. While
delta stays, a node's sum is a smooth function of h: `slope` is the table's derivative, not the kernel's.

What kernels take as `grid`, a tuple: first, last (s,) nodes of the stretches, base (s,) where they begin in memory,
nodes (2C, n) sums and their d / d log h, place (2,) origin and nodes per unit, own (2, 4) the table and its slope at
0 .. 3 nodes, by which a row's own vote is taken back as the grid gave it.
"""

import numpy as np

from alrviz.kernels import kernel

# Nodes of one block of the convolution: its sums stay in the fastest cache.
BLOCK = 256
CHUNK = 512
# A power of two as the distance of classes would put all of them into the same few cache lines.
STRIDE = CHUNK + 8


@kernel
def stretches(x, place, reach, first, last):
    """Write the first and the last node of each stretch of the sorted x (P,); return how many there are.

    A row behind node j = floor((x - origin) * per_unit) needs the nodes j - 1 .. j + 2. first, last: (P,) room.
    """
    count = 0
    for i in range(len(x)):
        j = np.int64(np.floor((x[i] - place[0]) * place[1]))
        if count == 0 or j - 1 > last[count - 1] + reach:
            first[count] = j - 1
            count += 1
        last[count - 1] = j + 2
    return count


@kernel
def _node(x, grid):
    """Where the node before x lies in memory, -1 off the grid, and how far behind it x is, in nodes, 0 .. 1."""
    first, last, base, _, place, _ = grid
    at = (x - place[0]) * place[1]
    if not (first[0] + 1 <= at < last[-1]):
        return -1, 0.0
    j = np.int64(np.floor(at))
    lo, hi = 0, len(first) - 1  # the last stretch that begins at or before j - 1
    while lo < hi:
        middle = (lo + hi + 1) // 2
        if first[middle] <= j - 1:
            lo = middle
        else:
            hi = middle - 1
    if j + 2 > last[lo]:
        return -1, 0.0
    return base[lo] + (j - first[lo]), at - j


@kernel
def _cubic(t):
    """The weights of the nodes j - 1 .. j + 2 for a place t in 0 .. 1 behind node j (Lagrange)."""
    a, b, c = t + 1.0, t - 1.0, t - 2.0
    return -t * b * c / 6.0, a * b * c / 2.0, -a * t * c / 2.0, a * t * b / 6.0


@kernel
def spread(xs, ws, first, grid, pad, votes, begin, end):
    """Add sources begin .. end, sorted by class (from first[k] on), to the votes (C, n + 2 pad) of their nodes."""
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
    """nodes (2C, n): the sums over t of table[|t|] votes[k, n + t] for each class k, then the same of `slope`.

    votes (C, n + 2 pad) has `pad` >= taps zeros before node 0 and behind the last; table, slope (taps + 1,).
    """
    taps, classes = len(table) - 1, votes.shape[0]
    pad = (votes.shape[1] - nodes.shape[1]) // 2
    for start in range(begin, end, BLOCK):
        m = min(BLOCK, end - start)
        for k in range(classes):
            sums, slopes = nodes[k, start : start + m], nodes[classes + k, start : start + m]
            middle = votes[k, start + pad : start + pad + m]
            for r in range(m):
                sums[r] = table[0] * middle[r]
                slopes[r] = slope[0] * middle[r]
            for t in range(1, taps + 1):
                left = votes[k, start + pad - t : start + pad - t + m]
                right = votes[k, start + pad + t : start + pad + t + m]
                a, b = table[t], slope[t]
                for r in range(m):
                    both = left[r] + right[r]
                    sums[r] += a * both
                    slopes[r] += b * both


@kernel
def _gather(x, begin, m, grid, n, weights, s):
    """n: the nodes before rows begin .. begin + m in memory; s (2C, STRIDE): S_k and d S_k / d log h there."""
    nodes = grid[3]
    for r in range(m):
        n[r], t = _node(x[begin + r], grid)
        weights[0, r], weights[1, r], weights[2, r], weights[3, r] = _cubic(t)
    for k in range(len(nodes)):
        of, out = nodes[k], s[k]
        for r in range(m):
            q = max(1, n[r])
            out[r] = weights[0, r] * of[q - 1] + weights[1, r] * of[q]
            out[r] += weights[2, r] * of[q + 1] + weights[3, r] * of[q + 2]


@kernel
def _take_back(kind, begin, m, classes, taken, own, weights, s):
    """Take the rows' own votes back from the sums of their classes, as the grid gave them."""
    for r in range(m):
        j = kind[begin + r]
        if taken[j] > 0.0:
            a, b, c, e = weights[0, r], weights[1, r], weights[2, r], weights[3, r]
            at0, at1 = a * a + b * b + c * c + e * e, 2.0 * (a * b + b * c + c * e)
            at2, at3 = 2.0 * (a * c + b * e), 2.0 * a * e
            k, q = classes[j], classes[j] + len(s) // 2
            s[k, r] -= taken[j] * (own[0, 0] * at0 + own[0, 1] * at1 + own[0, 2] * at2 + own[0, 3] * at3)
            s[q, r] -= taken[j] * (own[1, 0] * at0 + own[1, 1] * at1 + own[1, 2] * at2 + own[1, 3] * at3)


@kernel
def _write(s, kind, bias, limit, phi, dphi, begin, m, rest, change):
    """phi and dphi of rows begin .. begin + m from S_k itself (2C, STRIDE), as if none of them were thin."""
    classes, gradient = len(s) // 2, dphi.shape[1] > 0
    first = 1 if len(phi) == 1 else 0  # of two classes only the second is set beside the first, else each beside all
    for r in range(m):
        rest[r], change[r] = s[0, r], s[classes, r]
    for k in range(1, classes if first == 0 else 1):
        for r in range(m):
            rest[r] += s[k, r]
            change[r] += s[classes + k, r]
    for k in range(len(phi)):
        for r in range(m):
            value = np.log(s[first + k, r] / rest[r]) - bias[kind[begin + r], k]
            phi[k, begin + r] = min(limit, max(-limit, value))
        if gradient:
            for r in range(m):
                slope = s[classes + first + k, r] / s[first + k, r] - change[r] / rest[r]
                dphi[k, begin + r] = slope if np.abs(phi[k, begin + r]) < limit else 0.0


@kernel
def look_up(x, kind, kinds, grid, constants, phi, dphi, todo, sums, begin, end):
    """phi (K, N), dphi (K, N or 0) of the rows begin .. end of a column; return how many are left to do.

    Left are rows without a number, off the grid, or with a sum below `thin`: their places go to todo, their sums (2C)
    to `sums`, 0 where nothing is known. kind (N,) int32 points into `kinds`; this and `constants`: ratios.py.
    """
    thin, limit = constants[2], constants[3]
    classes, taken, _, bias, _ = kinds
    n, weights, rest, change = np.empty(CHUNK, np.int64), np.empty((4, CHUNK)), np.empty(CHUNK), np.empty(CHUNK)
    s = np.empty((len(grid[3]), STRIDE))
    count = 0
    for start in range(begin, end, CHUNK):
        m = min(CHUNK, end - start)
        _gather(x, start, m, grid, n, weights, s)
        _take_back(kind, start, m, classes, taken, grid[5], weights, s)
        _write(s, kind, bias, limit, phi, dphi, start, m, rest, change)
        for r in range(m):
            least = s[0, r]
            for k in range(1, len(s) // 2):
                least = min(least, s[k, r])
            if n[r] >= 0 and least >= thin:
                continue
            todo[count] = start + r
            for k in range(len(s)):
                sums[count, k] = s[k, r] if n[r] >= 0 else 0.0
            count += 1
    return count
