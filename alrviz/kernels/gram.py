"""Products of rows' features, and of a matrix of them with a few vectors: fits of few rows to many cells.

Rows are told by codes (a, n), "no level" being the number of levels. Of column j two rows share

    base[j] + step[j] min(l, m)     where both levels are below chains[j], which are smooth
    1                               where they are one other level

and nothing else; of all tuples of o columns they share the elementary symmetric polynomial of order o of these.
"""

import numpy as np

from alrviz.kernels import kernel

LANES = 64


@kernel
def gram(left, right, levels, chains, base, step, found, begin, end):
    """found[o - 1, i, k] = what rows i of left, from begin on, and k of right share of tuples of o columns."""
    orders, columns = found.shape[0], len(left)
    sums = np.empty(orders + 1)
    for i in range(begin, end):
        for k in range(right.shape[1]):
            sums[:] = 0.0
            sums[0] = 1.0
            for j in range(columns):
                one, other = np.int64(left[j, i]), np.int64(right[j, k])
                if one < chains[j] and other < chains[j]:
                    shared = base[j] + step[j] * min(one, other)
                elif one == other and one < levels[j]:
                    shared = 1.0
                else:
                    continue
                for o in range(orders, 0, -1):
                    sums[o] += sums[o - 1] * shared
            for o in range(orders):
                found[o, i, k] = sums[o + 1]


@kernel
def product(matrix, vectors, found, begin, end):
    """found[c, i] = sum over k of matrix[i, k] vectors[c, k], of rows i from begin on."""
    sums = np.empty(LANES, np.float32)
    n = matrix.shape[1]
    for i in range(begin, end):
        row = matrix[i]
        for c in range(len(vectors)):
            for r in range(LANES):
                sums[r] = 0.0
            for at in range(0, n, LANES):
                x, y = row[at : min(at + LANES, n)], vectors[c, at : min(at + LANES, n)]
                for r in range(len(x)):
                    sums[r] += x[r] * y[r]
            m = LANES
            while m > 1:
                m //= 2
                for r in range(m):
                    sums[r] += sums[m + r]
            found[c, i] = sums[0]
