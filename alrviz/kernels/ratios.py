"""phi of rows: log-ratios of the sums of one column, kernel sums of a number or smoothed counts of a level.

    C = 2:  phi = log S_1 - log S_0 - bias          C > 2:  phi_k = log S_k - log sum_j S_j - bias_k

Tuples that kernels take:
    kinds      kinds of rows: training rows of a class whose own votes are left out, or other rows. class (kinds,), -1
               for other rows; own_votes (kinds,), the weight left out; totals (kinds, C), N_k without it; bias (kinds,
               K); prior (kinds, K), phi where no row votes
    constants  (4,): smoothing m; bandwidth h; thin, below which kernel sums are taken exactly; limit of |phi|
"""

import numpy as np

from alrviz.kernels import kernel


@kernel
def _log_counts(counts, own_class, own_vote, totals, m, s, d):
    """Write to s (C,) the log of a level's counts (C,), smoothed and without the row's own vote, and to d their
    derivative 0.

    own_class, own_vote, totals (C,): of the row's kind; m: the smoothing.
    """
    class_sum = 0.0
    for k in range(len(s)):
        class_sum += totals[k]
    for k in range(len(s)):
        s[k] = np.log(max(0.0, counts[k] - (own_vote if k == own_class else 0.0)) + m * totals[k] / class_sum)
        d[k] = 0.0


@kernel
def _write_ratio(s, d, bias, prior, limit, phi, dphi, i):
    """Write phi[:, i], and dphi[:, i] unless dphi is empty, from log S_k, s (C,), and its derivatives d (C,).

    bias, prior (K,): of the row's kind; limit: largest |phi|.
    """
    no_votes = True
    for k in range(len(s)):
        no_votes = no_votes and s[k] == -np.inf
    log_total = total_p = mean_slope = 0.0
    if not no_votes and len(bias) > 1:
        log_total = np.max(s)
        for k in range(len(s)):
            e = np.exp(s[k] - log_total)
            total_p += e
            mean_slope += e * d[k]
        log_total, mean_slope = log_total + np.log(total_p), mean_slope / total_p
    for k in range(len(bias)):
        if no_votes:
            value, slope = prior[k], 0.0
        elif len(bias) == 1:
            value, slope = s[1] - s[0] - bias[0], d[1] - d[0]
        else:
            value, slope = s[k] - log_total - bias[k], d[k] - mean_slope
        phi[k, i] = min(limit, max(-limit, value))
        if dphi.shape[1] > 0:
            dphi[k, i] = slope if np.abs(value) < limit else 0.0


@kernel
def write_numeric(rows, sums, x, row_kinds, kinds, missing, constants, phi, dphi):
    """Write phi (K, N) and dphi (K, N or 0) of `rows` of a numeric column x (N,).

    sums (len(rows), 2C): log S_k and d log S_k / d log h. A row without a number (NaN) gets phi of the counts (C,) of
    the `missing` ones. row_kinds (N,) int32 points into `kinds`; `constants` as in the module.
    """
    smoothing, limit = constants[0], constants[3]
    classes, own_votes, totals, bias, prior = kinds
    s, d = np.empty(len(missing)), np.empty(len(missing))
    for q in range(len(rows)):
        i = rows[q]
        j = row_kinds[i]
        if x[i] != x[i]:
            _log_counts(missing, classes[j], own_votes[j], totals[j], smoothing, s, d)
        else:
            for k in range(len(s)):
                s[k], d[k] = sums[q, k], sums[q, len(s) + k]
        _write_ratio(s, d, bias[j], prior[j], limit, phi, dphi, i)


@kernel
def write_categorical(codes, row_kinds, kinds, counts, constants, phi, begin, end):
    """Write phi (K, N) of rows begin .. end of a categorical column with codes (N,) int32.

    counts (levels + 1, C), the last row 0: of a code that is no level.
    """
    classes, own_votes, totals, bias, prior = kinds
    smoothing, limit = constants[0], constants[3]
    s, d, no_dphi = np.empty(counts.shape[1]), np.empty(counts.shape[1]), np.empty((0, 0))
    for i in range(begin, end):
        j = row_kinds[i]
        level = min(codes[i], len(counts) - 1)
        _log_counts(counts[level], classes[j], own_votes[j], totals[j], smoothing, s, d)
        _write_ratio(s, d, bias[j], prior[j], limit, phi, no_dphi, i)
