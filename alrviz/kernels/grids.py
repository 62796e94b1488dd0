"""Grids over the occupied stretches of a column, and the kernel sums on them.

A grid has nodes delta apart. Node j of a stretch stands at origin + j delta; a stretch goes on as long as gaps are
shorter than the kernel reaches, so that rows of different stretches do not see each other:

    rows         . ... . ..  .                                     .. . .
    stretches   [------------------]                             [---------]
    memory      [------------------]0 0 .. 0[---------]0 0 .. 0                 zeros as far as the kernel reaches

Convolving the spread votes with the kernel's table runs over the whole memory without asking where a stretch ends.
"""

import numpy as np

from alrviz.kernels import kernel

# Nodes of one block of the convolution: its sums stay in the fastest cache.
BLOCK = 256


@kernel
def stretches(x, origin, per_unit, taps, first, last):
    """Write the first and the last node of each stretch of the sorted x (P,); return how many there are.

    A row in cell j = floor((x - origin) * per_unit) needs the nodes j - 1 .. j + 2. first, last: room for P stretches.
    """
    count = 0
    for i in range(len(x)):
        j = np.int64(np.floor((x[i] - origin) * per_unit))
        if count == 0 or j - 1 > last[count - 1] + taps:
            first[count] = j - 1
            count += 1
        last[count - 1] = j + 2
    return count


@kernel
def convolve(votes, table, slope, nodes, begin, end):
    """nodes[n] = (sums over t of table[|t|] votes[k, n + t] for each class k, then the same of `slope`).

    votes (C, n + 2 pad) has `pad` >= taps zeros before node 0 and behind the last; table, slope (taps + 1,); nodes
    (n, 2C).
    """
    taps, classes = len(table) - 1, votes.shape[0]
    pad = (votes.shape[1] - nodes.shape[0]) // 2
    sums, slopes = np.empty(BLOCK), np.empty(BLOCK)
    for start in range(begin, end, BLOCK):
        m = min(BLOCK, end - start)
        for k in range(classes):
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
            for r in range(m):
                nodes[start + r, k] = sums[r]
                nodes[start + r, classes + k] = slopes[r]
