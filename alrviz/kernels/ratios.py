"""phi of rows: log-ratios of the sums of one column, kernel sums of a number or smoothed counts of a level.

    C = 2:  phi = log S_1 - log S_0 - bias          C > 2:  phi_k = log S_k - log sum_j S_j - bias_k

Tuples that kernels take (so that they have arguments in groups):
    kinds      rows of one class that take the same from their own sums: class (-1: none), taken, totals (kinds, C) N_k
               less what is taken, bias (kinds, K), prior (kinds, K): phi where nobody votes
    constants  (4,): smoothing m, bandwidth h, thin: kernel sums below are taken exactly, limit: |phi| is kept within
"""

import numpy as np

from alrviz.kernels import kernel


@kernel
def _smoothed(counts, own, taken, totals, m, s, d):
    """s = log of the smoothed counts (C,) of a level; a class share where there is nobody and no smoothing."""
    n = 0.0
    for k in range(len(s)):
        n += totals[k]
    for k in range(len(s)):
        s[k] = np.log(max(0.0, counts[k] - (taken if k == own else 0.0)) + m * totals[k] / n)
        d[k] = 0.0


@kernel
def _write(s, d, bias, prior, limit, phi, dphi, i):
    """phi[:, i], and dphi[:, i] if there is room, from log S_k and its derivatives."""
    lowest = True
    for k in range(len(s)):
        lowest = lowest and s[k] == -np.inf
    top = total = mean = 0.0
    if not lowest and len(bias) > 1:
        top = np.max(s)
        for k in range(len(s)):
            e = np.exp(s[k] - top)
            total += e
            mean += e * d[k]
        top, mean = top + np.log(total), mean / total
    for k in range(len(bias)):
        if lowest:
            value, slope = prior[k], 0.0
        elif len(bias) == 1:
            value, slope = s[1] - s[0] - bias[0], d[1] - d[0]
        else:
            value, slope = s[k] - top - bias[k], d[k] - mean
        phi[k, i] = min(limit, max(-limit, value))
        if dphi.shape[1] > 0:
            dphi[k, i] = slope if np.abs(value) < limit else 0.0


@kernel
def numbers(todo, sums, x, kind, kinds, missing, constants, phi, dphi):
    """phi (K, N) and dphi (K, N or 0) of the rows `todo` of a numeric column x (N,).

    sums (len(todo), 2C): log S_k and d log S_k / d log h; a row without a number (NaN) takes the counts of those,
    missing (C,). kind (N,) int32 points into `kinds`.
    """
    smoothing, limit = constants[0], constants[3]
    classes, taken, totals, bias, prior = kinds
    s, d = np.empty(len(missing)), np.empty(len(missing))
    for q in range(len(todo)):
        i = todo[q]
        j = kind[i]
        if x[i] != x[i]:
            _smoothed(missing, classes[j], taken[j], totals[j], smoothing, s, d)
        else:
            for k in range(len(s)):
                s[k], d[k] = sums[q, k], sums[q, len(s) + k]
        _write(s, d, bias[j], prior[j], limit, phi, dphi, i)


@kernel
def levels(codes, kind, kinds, counts, constants, phi, begin, end):
    """phi (K, N) of the rows begin .. end of a categorical column: codes (N,) int32.

    counts (levels + 1, C), the last row 0: of a code that is no level.
    """
    classes, taken, totals, bias, prior = kinds
    smoothing, limit = constants[0], constants[3]
    s, d, none = np.empty(counts.shape[1]), np.empty(counts.shape[1]), np.empty((0, 0))
    for i in range(begin, end):
        j = kind[i]
        level = min(codes[i], len(counts) - 1)
        _smoothed(counts[level], classes[j], taken[j], totals[j], smoothing, s, d)
        _write(s, d, bias[j], prior[j], limit, phi, none, i)
