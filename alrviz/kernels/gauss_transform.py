"""Bundles: sources that lie together, as the terms of one polynomial.

The sources of a class within `width` bandwidths, s_i = (x_i - center) / h from the middle of their bundle, vote at a
distance t = (x - center) / h with

    sum_i w_i exp(-(t - s_i)^2 / 2) = exp(-t^2 / 2) sum_p t^p / p! sum_i w_i s_i^p exp(-s_i^2 / 2)

Cut off after TERMS terms this is exact to 1e-12 where |t| <= 8, which is where thin sums come from.
"""

import numpy as np

from alrviz.kernels import kernel

TERMS = 13
WIDTH = 0.125


@kernel
def bundle(xs, ws, first, h, starts, centers, terms, first_bundle):
    """Bundle sources sorted by class and value (class k from first[k] on); return how many bundles there are.

    starts (P + 1,): the first source of each; centers (P,); terms (TERMS, P) or wider; first_bundle (C + 1,).
    """
    count = 0
    for k in range(len(first) - 1):
        first_bundle[k] = count
        i = first[k]
        while i < first[k + 1]:
            center = xs[i] + 0.5 * WIDTH * h
            starts[count], centers[count] = i, center
            for p in range(TERMS):
                terms[p, count] = 0.0
            while i < first[k + 1] and xs[i] <= xs[starts[count]] + WIDTH * h:
                s = (xs[i] - center) / h
                part = ws[i] * np.exp(-0.5 * s * s)
                for p in range(TERMS):
                    terms[p, count] += part
                    part *= s / (p + 1)
                i += 1
            count += 1
    first_bundle[len(first) - 1] = count
    starts[count] = len(xs)
    return count
