"""Bundles: sources that lie close together, as one polynomial (a fast Gauss transform).

The sources of a class within BUNDLE_BANDWIDTHS bandwidths, s_i = (x_i - center) / h from the middle of their bundle,
vote at a distance t = (x - center) / h with

    sum_i w_i exp(-(t - s_i)^2 / 2) = exp(-t^2 / 2) sum_p t^p / p! sum_i w_i s_i^p exp(-s_i^2 / 2)

N_TERMS terms of this series are exact to 1e-12 for |t| <= 8, the distance from which thin sums come.
"""

import numpy as np

from alrviz.kernels import kernel

N_TERMS = 13
BUNDLE_BANDWIDTHS = 0.125


@kernel
def bundle(xs, ws, first, h, starts, centers, terms, first_bundle):
    """Bundle sources that are sorted by class and value; return the number of bundles.

    Args:
        xs, ws: (P,) values and weights of the sources.
        first: (C + 1,) where each class begins.
        h: bandwidth.
        starts: (P + 1,) written with the first source of each bundle, and P.
        centers: (P,) written.
        terms: (N_TERMS, P) written.
        first_bundle: (C + 1,) written with the first bundle of each class, and their number.
    """
    count = 0
    for k in range(len(first) - 1):
        first_bundle[k] = count
        i = first[k]
        while i < first[k + 1]:
            center = xs[i] + 0.5 * BUNDLE_BANDWIDTHS * h
            starts[count], centers[count] = i, center
            for p in range(N_TERMS):
                terms[p, count] = 0.0
            while i < first[k + 1] and xs[i] <= xs[starts[count]] + BUNDLE_BANDWIDTHS * h:
                s = (xs[i] - center) / h
                term = ws[i] * np.exp(-0.5 * s * s)
                for p in range(N_TERMS):
                    terms[p, count] += term
                    term *= s / (p + 1)
                i += 1
            count += 1
    first_bundle[len(first) - 1] = count
    starts[count] = len(xs)
    return count
