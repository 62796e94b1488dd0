"""Passes over dense features: scores of weights, and sums of residuals by feature.

    z[i, lane + k] = w[D, k] + sum_d w[d, k] phi[d, k, i]
    sums[d, k] = sum_i residual[i, lane + k] phi[d, k, i],            sums[D, k] = sum_i residual[i, lane + k]

Conventions
    phi          (D, K, N), the rows contiguous
    w            (D + 1, K), its last row the intercepts
    z, residual  (N, W) as in kernels/scores.py; phi is of their K columns from `first_lane` on: of all classes
                 (first_lane 0), or of the second of two
    parts        sums of CHUNK_ROWS rows each, which the caller adds up in order, so that the bits are the same
                 for any number of threads
    begin        a multiple of CHUNK_ROWS
"""

import numpy as np

from alrviz.kernels import kernel

CHUNK_ROWS = 512


@kernel
def forward(phi, w, first_lane, z, begin, end):
    """Write the scores of rows begin..end to z (N, W) from features phi and weights w; columns begin at first_lane."""
    n_features, n_values = phi.shape[0], phi.shape[1]
    sums = np.empty(CHUNK_ROWS)
    for chunk_start in range(begin, end, CHUNK_ROWS):
        m = min(CHUNK_ROWS, end - chunk_start)
        for k in range(n_values):
            for r in range(m):
                sums[r] = w[n_features, k]
            for d in range(n_features):
                weight, x = w[d, k], phi[d, k, chunk_start : chunk_start + m]
                for r in range(m):
                    sums[r] += weight * x[r]
            for r in range(m):
                z[chunk_start + r, first_lane + k] = sums[r]


@kernel
def scatter(phi, residual, first_lane, squared, parts, begin, end):
    """Write the sums of residual * phi, or if `squared` of residual * phi^2, to parts (chunks, D + 1, K), for rows
    begin..end.
    """
    n_features, n_values = phi.shape[0], phi.shape[1]
    residuals, squared_terms, ones = np.empty(CHUNK_ROWS), np.empty(CHUNK_ROWS), np.ones(CHUNK_ROWS)
    for chunk_start in range(begin, end, CHUNK_ROWS):
        m, chunk = min(CHUNK_ROWS, end - chunk_start), chunk_start // CHUNK_ROWS
        for k in range(n_values):
            for r in range(m):
                residuals[r] = residual[chunk_start + r, first_lane + k]
            parts[chunk, n_features, k] = _dot(residuals, ones, m)
            for d in range(n_features):
                x = phi[d, k, chunk_start : chunk_start + m]
                if squared:
                    for r in range(m):
                        squared_terms[r] = residuals[r] * x[r]
                parts[chunk, d, k] = _dot(squared_terms if squared else residuals, x, m)


@kernel
def _dot(u, x, m):
    """Return the sum of the first m products, as four sums: additions to one sum would wait for each other."""
    a = b = c = d = 0.0
    for r in range(0, m - 3, 4):
        a += u[r] * x[r]
        b += u[r + 1] * x[r + 1]
        c += u[r + 2] * x[r + 2]
        d += u[r + 3] * x[r + 3]
    for r in range(m - m % 4, m):
        a += u[r] * x[r]
    return (a + b) + (c + d)
