"""Sums and combinations of long vectors, each in one sweep where numpy would take several.

Sums are kept per CHUNK numbers in `parts` and added up by the caller in that order: the same bits for any number of
threads. Within a chunk LANES sums run side by side, for a loop with a single sum does not vectorise: the numbers of one
chunk are added to an array of sums as a whole (0.35 ns a number against 0.7 with four plain sums). Arrays are flat;
`begin` is a multiple of CHUNK. Products are of float64, also where a vector is kept as float32.
"""

import numpy as np

from alrviz.kernels import kernel

CHUNK = 8192
LANES = 128


@kernel
def _total(sums):
    """The sum of LANES sums, pairs first."""
    m = LANES
    while m > 1:
        m //= 2
        for r in range(m):
            sums[r] += sums[m + r]
    return sums[0]


@kernel
def dot(a, b, parts, begin, end):
    """parts[chunk] = sum of a * b."""
    sums = np.empty(LANES)
    for start in range(begin, end, CHUNK):
        stop = min(start + CHUNK, end)
        for r in range(LANES):
            sums[r] = 0.0
        for at in range(start, stop, LANES):
            x, y = a[at : min(at + LANES, stop)], b[at : min(at + LANES, stop)]
            for r in range(len(x)):
                sums[r] += np.float64(x[r]) * y[r]
        parts[start // CHUNK] = _total(sums)


@kernel
def combine(q, g, c, x, d, parts, begin, end):
    """q = g q + c x, and parts[chunk] = sum of q * d: a step of the two-loop recursion and the next one's product."""
    sums = np.empty(LANES)
    for start in range(begin, end, CHUNK):
        stop = min(start + CHUNK, end)
        for r in range(LANES):
            sums[r] = 0.0
        for at in range(start, stop, LANES):
            end_at = min(at + LANES, stop)
            q_part, x_part, d_part = q[at:end_at], x[at:end_at], d[at:end_at]
            for r in range(len(q_part)):
                new = g * q_part[r] + c * x_part[r]
                q_part[r] = new
                sums[r] += new * d_part[r]
        parts[start // CHUNK] = _total(sums)


@kernel
def step(w, t, d, moved, begin, end):
    """moved = w + t d."""
    for i in range(begin, end):
        moved[i] = w[i] + t * d[i]


@kernel
def add_ridge_gradient(gradient, q, w, center, parts, begin, end):
    """gradient += q (w - center), and parts[chunk] = sum of q (w - center)^2."""
    sums = np.empty(LANES)
    for start in range(begin, end, CHUNK):
        stop = min(start + CHUNK, end)
        for r in range(LANES):
            sums[r] = 0.0
        for at in range(start, stop, LANES):
            end_at = min(at + LANES, stop)
            g_part, q_part, w_part, c_part = gradient[at:end_at], q[at:end_at], w[at:end_at], center[at:end_at]
            for r in range(len(g_part)):
                apart = w_part[r] - c_part[r]
                pulled = q_part[r] * apart
                g_part[r] += pulled
                sums[r] += pulled * apart
        parts[start // CHUNK] = _total(sums)


@kernel
def ridge_line_derivatives(q, w, center, d, parts, begin, end):
    """parts[chunk] = sums of q (w - center) d and of q d^2."""
    first, second = np.empty(LANES), np.empty(LANES)
    for start in range(begin, end, CHUNK):
        stop = min(start + CHUNK, end)
        for r in range(LANES):
            first[r] = 0.0
            second[r] = 0.0
        for at in range(start, stop, LANES):
            end_at = min(at + LANES, stop)
            q_part, w_part, c_part, d_part = q[at:end_at], w[at:end_at], center[at:end_at], d[at:end_at]
            for r in range(len(q_part)):
                bent = q_part[r] * d_part[r]
                first[r] += bent * (w_part[r] - c_part[r])
                second[r] += bent * d_part[r]
        parts[start // CHUNK, 0], parts[start // CHUNK, 1] = _total(first), _total(second)


@kernel
def prefix_sums(before, sums):
    """Add row before[a, i] of `sums` to row i, i ascending, for one a after the other; -1 is no row."""
    for a in range(len(before)):
        for i in range(before.shape[1]):
            if before[a, i] >= 0:
                for k in range(sums.shape[1]):
                    sums[i, k] += sums[before[a, i], k]


@kernel
def suffix_sums(before, sums):
    """Add row i of `sums` to row before[a, i], i descending, for one a before the other: the transpose."""
    for a in range(len(before) - 1, -1, -1):
        for i in range(before.shape[1] - 1, -1, -1):
            if before[a, i] >= 0:
                for k in range(sums.shape[1]):
                    sums[before[a, i], k] += sums[i, k]


@kernel
def differences(before, sums):
    """Take row before[a, i] of `sums` from row i: what `prefix_sums` makes undone."""
    for a in range(len(before) - 1, -1, -1):
        for i in range(before.shape[1] - 1, -1, -1):
            if before[a, i] >= 0:
                for k in range(sums.shape[1]):
                    sums[i, k] -= sums[before[a, i], k]


@kernel
def walk_losses(odds, noise, variances, losses):
    """losses (W,) = -2 log likelihood, but for a constant, of the odds (L, C), each a random walk's place with a noise
    of this variance (L, C), for each variance (W,) of the walk's steps: filtered from level to level (Kalman).
    """
    for k in range(len(variances)):
        loss = 0.0
        for c in range(odds.shape[1]):
            mean, variance = odds[0, c], noise[0, c]
            for level in range(1, len(odds)):
                variance += variances[k]
                total, error = variance + noise[level, c], odds[level, c] - mean
                loss += np.log(total) + error * error / total
                mean += variance / total * error
                variance *= noise[level, c] / total
        losses[k] = loss


@kernel
def difference(new, old, short, begin, end):
    """short = new - old, rounded to float32."""
    for i in range(begin, end):
        short[i] = np.float32(new[i] - old[i])


@kernel
def spread(scale, w, rows, begin, end):
    """rows[:, :C] = scale * w, both (cells, C), rows begin..end."""
    for i in range(begin, end):
        for k in range(w.shape[1]):
            rows[i, k] = scale[i, k] * w[i, k]


@kernel
def adjoint(scale, rows, slope, begin, end):
    """slope = scale * rows[:, :C], rows begin..end."""
    for i in range(begin, end):
        for k in range(slope.shape[1]):
            slope[i, k] = scale[i, k] * rows[i, k]
