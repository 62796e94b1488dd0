"""Passes over dense features: scores of weights, and sums of residuals by feature.

    z[i, lane + k] = w[D, k] + sum_d w[d, k] phi[d, k, i]
    sums[d, k] = sum_i residual[i, lane + k] phi[d, k, i],            sums[D, k] = sum_i residual[i, lane + k]

Conventions: phi is (D, K, N), rows contiguous; w (D + 1, K), its last row the intercepts; z and residual (N, W) as in
kernels/scores.py, of which the lanes lane .. lane + K - 1 are meant: all (lane 0), or the second of two classes.
Sums are kept per CHUNK rows in `parts` and added up by the caller in that order: the same bits for any number of
threads. `begin` must be a multiple of CHUNK.
"""

import numpy as np

from alrviz.kernels import kernel

CHUNK = 512


@kernel
def forward(phi, w, lane, z, begin, end):
    """Write the scores of rows begin..end to their lanes of z (N, W)."""
    features, values = phi.shape[0], phi.shape[1]
    sums = np.empty(CHUNK)
    for at in range(begin, end, CHUNK):
        m = min(CHUNK, end - at)
        for k in range(values):
            for r in range(m):
                sums[r] = w[features, k]
            for d in range(features):
                factor, x = w[d, k], phi[d, k, at : at + m]
                for r in range(m):
                    sums[r] += factor * x[r]
            for r in range(m):
                z[at + r, lane + k] = sums[r]


@kernel
def scatter(phi, residual, lane, squared, parts, begin, end):
    """Write the sums of residual * phi, or with `squared` of residual * phi^2, to parts (chunks, D + 1, K)."""
    features, values = phi.shape[0], phi.shape[1]
    column, bent, ones = np.empty(CHUNK), np.empty(CHUNK), np.ones(CHUNK)
    for at in range(begin, end, CHUNK):
        m, chunk = min(CHUNK, end - at), at // CHUNK
        for k in range(values):
            for r in range(m):
                column[r] = residual[at + r, lane + k]
            parts[chunk, features, k] = _product(column, ones, m)
            for d in range(features):
                x = phi[d, k, at : at + m]
                if squared:
                    for r in range(m):
                        bent[r] = column[r] * x[r]
                parts[chunk, d, k] = _product(bent if squared else column, x, m)


@kernel
def _product(u, x, m):
    """The sum of the first m products, four at a time: one chain of additions would wait for each."""
    a = b = c = d = 0.0
    for r in range(0, m - 3, 4):
        a += u[r] * x[r]
        b += u[r + 1] * x[r + 1]
        c += u[r + 2] * x[r + 2]
        d += u[r + 3] * x[r + 3]
    for r in range(m - m % 4, m):
        a += u[r] * x[r]
    return (a + b) + (c + d)
