"""Sums and combinations of long vectors, each in one sweep where numpy would take several.

Conventions
    parts   sums of CHUNK_NUMBERS numbers each, which the caller adds up in order, so that the bits are the same for any
            number of threads
    begin   a multiple of CHUNK_NUMBERS
    arrays are flat; products are of float64, also where a vector is kept as float32

Within a chunk N_SUMS sums run side by side, because a loop with a single sum does not vectorise: pieces of a chunk are
added to an array of sums (0.35 ns a number against 0.7 with four plain sums).
"""

import numpy as np

from alrviz.kernels import kernel

CHUNK_NUMBERS = 8192
N_SUMS = 128


@kernel
def _total(sums):
    """Return the sum of N_SUMS sums, adding pairs first."""
    m = N_SUMS
    while m > 1:
        m //= 2
        for r in range(m):
            sums[r] += sums[m + r]
    return sums[0]


@kernel
def dot(a, b, parts, begin, end):
    """Write parts[chunk] = sum of a * b."""
    sums = np.empty(N_SUMS)
    for chunk_start in range(begin, end, CHUNK_NUMBERS):
        chunk_end = min(chunk_start + CHUNK_NUMBERS, end)
        for r in range(N_SUMS):
            sums[r] = 0.0
        for lo in range(chunk_start, chunk_end, N_SUMS):
            x, y = (a[lo : min(lo + N_SUMS, chunk_end)], b[lo : min(lo + N_SUMS, chunk_end)])
            for r in range(len(x)):
                sums[r] += np.float64(x[r]) * y[r]
        parts[chunk_start // CHUNK_NUMBERS] = _total(sums)


@kernel
def combine(q, g, c, x, d, parts, begin, end):
    """Write q = g q + c x, and parts[chunk] = sum of q * d: a step of the two-loop recursion with the next product.

    q, x, d: vectors, of which begin..end are done; g, c: numbers.
    """
    sums = np.empty(N_SUMS)
    for chunk_start in range(begin, end, CHUNK_NUMBERS):
        chunk_end = min(chunk_start + CHUNK_NUMBERS, end)
        for r in range(N_SUMS):
            sums[r] = 0.0
        for lo in range(chunk_start, chunk_end, N_SUMS):
            hi = min(lo + N_SUMS, chunk_end)
            q_part, x_part, d_part = q[lo:hi], x[lo:hi], d[lo:hi]
            for r in range(len(q_part)):
                value = g * q_part[r] + c * x_part[r]
                q_part[r] = value
                sums[r] += value * d_part[r]
        parts[chunk_start // CHUNK_NUMBERS] = _total(sums)


@kernel
def move_along(w, t, d, w_new, begin, end):
    """Write w_new = w + t d."""
    for i in range(begin, end):
        w_new[i] = w[i] + t * d[i]


@kernel
def add_ridge_gradient(gradient, q, w, center, parts, begin, end):
    """Add q (w - center) to the gradient, and write parts[chunk] = sum of q (w - center)^2."""
    sums = np.empty(N_SUMS)
    for chunk_start in range(begin, end, CHUNK_NUMBERS):
        chunk_end = min(chunk_start + CHUNK_NUMBERS, end)
        for r in range(N_SUMS):
            sums[r] = 0.0
        for lo in range(chunk_start, chunk_end, N_SUMS):
            hi = min(lo + N_SUMS, chunk_end)
            g_part, q_part, w_part, c_part = (gradient[lo:hi], q[lo:hi], w[lo:hi], center[lo:hi])
            for r in range(len(g_part)):
                difference = w_part[r] - c_part[r]
                slope = q_part[r] * difference
                g_part[r] += slope
                sums[r] += slope * difference
        parts[chunk_start // CHUNK_NUMBERS] = _total(sums)


@kernel
def ridge_line_derivatives(q, w, center, d, parts, begin, end):
    """Write parts[chunk] = sums of q (w - center) d and of q d^2."""
    slopes, curvatures = np.empty(N_SUMS), np.empty(N_SUMS)
    for chunk_start in range(begin, end, CHUNK_NUMBERS):
        chunk_end = min(chunk_start + CHUNK_NUMBERS, end)
        for r in range(N_SUMS):
            slopes[r] = 0.0
            curvatures[r] = 0.0
        for lo in range(chunk_start, chunk_end, N_SUMS):
            hi = min(lo + N_SUMS, chunk_end)
            q_part, w_part, c_part, d_part = (q[lo:hi], w[lo:hi], center[lo:hi], d[lo:hi])
            for r in range(len(q_part)):
                q_d = q_part[r] * d_part[r]
                slopes[r] += q_d * (w_part[r] - c_part[r])
                curvatures[r] += q_d * d_part[r]
        parts[chunk_start // CHUNK_NUMBERS, 0], parts[chunk_start // CHUNK_NUMBERS, 1] = (
            _total(slopes),
            _total(curvatures),
        )


@kernel
def prefix_sums(previous_row_index, sums):
    """For a = 0, 1, ...: add row previous_row_index[a, i] of sums (R, C) to row i, i ascending; -1 is no row."""
    for a in range(len(previous_row_index)):
        for i in range(previous_row_index.shape[1]):
            if previous_row_index[a, i] >= 0:
                for k in range(sums.shape[1]):
                    sums[i, k] += sums[previous_row_index[a, i], k]


@kernel
def suffix_sums(previous_row_index, sums):
    """Transpose of `prefix_sums`: for each a, descending, add row i of sums (R, C) to row previous_row_index[a, i], i
    descending.

    -1 is no row.
    """
    for a in range(len(previous_row_index) - 1, -1, -1):
        for i in range(previous_row_index.shape[1] - 1, -1, -1):
            if previous_row_index[a, i] >= 0:
                for k in range(sums.shape[1]):
                    sums[previous_row_index[a, i], k] += sums[i, k]


@kernel
def differences(previous_row_index, sums):
    """Inverse of `prefix_sums`: for each a, descending, subtract row previous_row_index[a, i] of sums (R, C)
    from row i, i descending; -1 is no row.
    """
    for a in range(len(previous_row_index) - 1, -1, -1):
        for i in range(previous_row_index.shape[1] - 1, -1, -1):
            if previous_row_index[a, i] >= 0:
                for k in range(sums.shape[1]):
                    sums[i, k] -= sums[previous_row_index[a, i], k]


@kernel
def add_means(chains, shares, rows):
    """For each chain (begin, end), add to rows[begin:end] (R, C) their mean, times the chain's share."""
    for a in range(len(chains)):
        begin, end = chains[a, 0], chains[a, 1]
        for k in range(rows.shape[1]):
            total = 0.0
            for i in range(begin, end):
                total += rows[i, k]
            for i in range(begin, end):
                rows[i, k] += shares[a] * total / (end - begin)


@kernel
def walk_losses(odds, noise_variances, step_variances, trend_variances, losses):
    """Write -2 log likelihood, but for a constant, of log-odds (L, C) that are random walks with a drift over L levels.

    losses (W,) are those of walks whose steps have variance step_variances[k] about their mean, the drift. Over all
    L - 1 steps the drift adds up to a trend of variance trend_variances[k]. Log-odds are observed with noise_variances
    (L, C). A Kalman filter of log-odds and drift runs from level to level.
    """
    for k in range(len(step_variances)):
        loss = 0.0
        for c in range(odds.shape[1]):
            mean, variance = odds[0, c], noise_variances[0, c]
            drift, covariance, drift_variance = 0.0, 0.0, trend_variances[k] / (len(odds) - 1) ** 2
            for level in range(1, len(odds)):
                mean += drift
                variance += 2.0 * covariance + drift_variance + step_variances[k]
                covariance += drift_variance
                total, error = variance + noise_variances[level, c], odds[level, c] - mean
                loss += np.log(total) + error * error / total
                mean += variance / total * error
                drift += covariance / total * error
                drift_variance -= covariance * covariance / total
                covariance *= noise_variances[level, c] / total
                variance *= noise_variances[level, c] / total
        losses[k] = loss


@kernel
def subtract(minuend, subtrahend, out, begin, end):
    """Write out = minuend - subtrahend, rounded to float32."""
    for i in range(begin, end):
        out[i] = np.float32(minuend[i] - subtrahend[i])


@kernel
def scale_rows(scale, w, rows, begin, end):
    """Write rows[:, :C] = scale * w, both (cells, C), for rows begin..end."""
    for i in range(begin, end):
        for k in range(w.shape[1]):
            rows[i, k] = scale[i, k] * w[i, k]


@kernel
def scale_rows_adjoint(scale, rows, out, begin, end):
    """Write out = scale * rows[:, :C], rows begin..end: the transpose of `scale_rows`."""
    for i in range(begin, end):
        for k in range(out.shape[1]):
            out[i, k] = scale[i, k] * rows[i, k]
