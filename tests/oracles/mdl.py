"""MDL cuts, rewritten from the definition: lists, entropies as -sum p log2 p, every candidate tried anew; and merged
levels, every cost computed anew at each merge.
"""

from itertools import pairwise
from math import log, log2


def naive_mdl_cuts(x, y, weights=None):
    """Return the sorted cuts."""
    rows = [
        (float(v), int(c), float(w)) for v, c, w in zip(x, y, [1] * len(x) if weights is None else weights, strict=True)
    ]
    return sorted(_cuts([(v, c, w) for v, c, w in rows if v == v and w > 0]))


def _measure(rows):
    total = sum(w for *_, w in rows)
    shares = [sum(w for _, c, w in rows if c == k) / total for k in {c for _, c, _ in rows}]
    return total, len(shares), -sum(p * log2(p) for p in shares)


def naive_merged(counts, most, noise):
    """Return the numbers of the cuts that are left between `most` levels of counts (levels, C)."""
    levels, cuts = [list(map(float, of)) for of in counts], list(range(len(counts) - 1))
    mean = sum(map(sum, levels)) / most

    def loss(of):
        return -sum(n * log(n / sum(of)) for n in of if n)

    while len(levels) > most:
        costs = []
        for a, b in pairwise(levels):
            both = [m + n for m, n in zip(a, b, strict=True)]
            costs.append(max(0.0, loss(both) - loss(a) - loss(b) - noise) + sum(both) / mean)
        at = costs.index(min(costs))
        levels[at : at + 2] = [[m + n for m, n in zip(*levels[at : at + 2], strict=True)]]
        del cuts[at]
    return cuts


def _cuts(rows):
    n, k, entropy = _measure(rows) if rows else (0, 0, 0)
    best = None
    for low, high in pairwise(sorted({v for v, *_ in rows})):
        (n1, k1, h1), (n2, k2, h2) = (_measure([r for r in rows if (r[0] <= low) is side]) for side in (True, False))
        if best is None or n1 * h1 + n2 * h2 < best[0] - 1e-9 * n:  # below that it is rounding: the first one stays
            best = (n1 * h1 + n2 * h2, low, high, k1 * h1 + k2 * h2)
    if best is None:
        return []
    delta = (log2(3**k - 2) if k <= 30 else k * log2(3)) - (k * entropy - best[3])
    if entropy - best[0] / n <= (log2(max(n - 1, 1)) + delta) / n:
        return []
    middle = (best[1] + best[2]) / 2
    sides = ([r for r in rows if (r[0] <= best[1]) is side] for side in (True, False))
    return [best[1] if middle >= best[2] else middle, *(cut for side in sides for cut in _cuts(side))]
