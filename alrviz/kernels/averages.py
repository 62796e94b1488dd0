"""AnDE: the arithmetic mean over super-parents, row by row.

    z[i, k] = log of the mean, over the tuples t whose cell in row i was seen, of
              exp(joint[cell, k]) * product over other columns j of  (N(x_t, x_j, k) + m / card(j)) / (N(x_t, k) + m)

Where class k has no row in the cell, column j stands alone: exp(alone[its level, k]). -inf where no cell was seen.
"""

import numpy as np

from alrviz.kernels import kernel

# Products are turned into logarithms before they leave the range of float64: each factor is above 1e-40 here.
_SMALL = 1e-200


@kernel
def score(found, wider, codes, begin, larger, counts, joint, cells, shares, smoothing, alone, first, z):
    """Write to z (n, C) the log of the mean over super-parents for rows begin, begin + 1, ...

    found (n, T), wider (n, T'): rows in the cell tables of order n and n + 1. larger (T, a): the tuple of order n + 1
    that a tuple and a column make, -1 where the column is its own. counts, joint (S, C) and cells (S', C): of order n,
    its log p(cell, class), of order n + 1. shares (a,): m / card.
    """
    rows, tuples = found.shape
    columns, classes = larger.shape[1], z.shape[1]
    value, product = np.empty(classes), np.empty(classes)
    top, total = np.empty(classes), np.empty(classes)
    for i in range(rows):
        n_seen = 0
        for k in range(classes):
            top[k], total[k] = -np.inf, 0.0
        for t in range(tuples):
            s = np.int64(found[i, t]) - 2 * tuples
            if s < 0:
                continue
            n_seen += 1
            for k in range(classes):
                value[k], product[k] = joint[s, k], 1.0
            for j in range(columns):
                level = np.int64(codes[j, begin + i])
                if larger[t, j] < 0 or first[j] + level >= first[j + 1]:
                    continue
                c = np.int64(wider[i, larger[t, j]]) - 2 * wider.shape[1]
                for k in range(classes):
                    if counts[s, k] > 0.0:
                        product[k] *= ((cells[c, k] if c >= 0 else 0.0) + shares[j]) / (counts[s, k] + smoothing)
                        if product[k] < _SMALL:
                            value[k] += np.log(product[k])
                            product[k] = 1.0
                    else:
                        value[k] += alone[first[j] + level, k]
            for k in range(classes):
                v = value[k] + np.log(product[k])
                if v > top[k]:
                    total[k] = total[k] * np.exp(top[k] - v) + 1.0
                    top[k] = v
                else:
                    total[k] += np.exp(v - top[k])
        for k in range(classes):
            z[i, k] = top[k] + np.log(total[k] / n_seen) if n_seen > 0 else -np.inf
