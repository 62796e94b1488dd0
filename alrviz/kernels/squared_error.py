"""Passes of the squared error over scores.

    p = softmax(z)      r_k = p_k - 1[k = y]      p'_k = p_k (dz_k - sum_j p_j dz_j), the change of p along dz

    loss of a row     (1/C) sum_k r_k^2
    residual          (2/C) p_k (r_k - sum_j p_j r_j)
    along z + t dz    slope (2/C) sum_k r_k p'_k,  curvature (2/C) sum_k (p'_k^2 + r_k p''_k)
    Hessian times dz  (2/C) p_k (p'_k - sum_j p_j p'_j), Gauss-Newton's: without r_k p''_k it is never negative
    its diagonal      (2/C) p_k^2 ((1 - p_k)^2 + sum over j != k of p_j^2)

The loss is not convex. Conventions as in scores.py.
"""

from math import exp, log

import numpy as np

from alrviz.kernels import kernel

# Copies of scores.py, because numba's cache does not notice an edit in another file.
CHUNK_ROWS = 512
MIN_RESIDUAL = 1e-30


@kernel
def _softmax(scores, p):
    """Write softmax(scores) to p; return log of the sum of exp(scores - largest), and the largest score."""
    largest_score = scores[0]
    for k in range(1, len(p)):
        largest_score = max(largest_score, scores[k])
    exp_sum = 0.0
    for k in range(len(p)):
        p[k] = exp(scores[k] - largest_score)
        exp_sum += p[k]
    for k in range(len(p)):
        p[k] /= exp_sum
    return log(exp_sum), largest_score


@kernel
def line_eval(z, dz, t, y, weights, n_classes, parts, begin, end):
    """Write parts[chunk] = (loss, slope, curvature) of rows begin..end at scores z + t dz, both (N, W).

    y, weights (N,) are classes and row weights; of the W columns the first n_classes are used.
    """
    scores, p = np.empty(n_classes), np.empty(n_classes)
    for chunk_start in range(begin, end, CHUNK_ROWS):
        loss = slope = curvature = 0.0
        for i in range(chunk_start, min(chunk_start + CHUNK_ROWS, end)):
            mean = variance = 0.0
            for k in range(n_classes):
                scores[k] = z[i, k] + t * dz[i, k]
            _softmax(scores, p)
            for k in range(n_classes):
                mean += p[k] * dz[i, k]
                variance += p[k] * dz[i, k] * dz[i, k]
            variance -= mean * mean
            w = weights[i] / n_classes
            for k in range(n_classes):
                r = p[k] - (k == y[i])
                deviation = dz[i, k] - mean
                change = p[k] * deviation
                loss += w * r * r
                slope += 2.0 * w * r * change
                curvature += 2.0 * w * (change * change + r * (change * deviation - p[k] * variance))
        chunk = chunk_start // CHUNK_ROWS
        parts[chunk, 0], parts[chunk, 1], parts[chunk, 2] = loss, slope, curvature


@kernel
def loss_and_residual(z, dz, t, z_new, y, weights, n_classes, residual, write, parts, begin, end):
    """Write z_new = z + t dz, parts[chunk] = (loss, nll, wrong, tied, squares) and, if `write`, the residual, all (N,
    W).

    Arguments and sums as of scores.py's. If t is 0, z_new must be z. The residual may be dz itself.
    """
    p = np.empty(n_classes)
    for chunk_start in range(begin, end, CHUNK_ROWS):
        nll = wrong = tied = squares = 0.0
        for i in range(chunk_start, min(chunk_start + CHUNK_ROWS, end)):
            if t != 0.0:
                for k in range(z.shape[1]):
                    z_new[i, k] = z[i, k] + t * dz[i, k]
            label, w = y[i], weights[i]
            log_total, largest_score = _softmax(z_new[i], p)
            is_wrong = is_tied = False
            square = mean = 0.0
            for k in range(n_classes):
                r = p[k] - (k == label)
                square += r * r
                mean += p[k] * r
                if k != label:
                    is_wrong |= z_new[i, k] > z_new[i, label] or (z_new[i, k] == z_new[i, label] and k < label)
                    is_tied |= z_new[i, k] >= z_new[i, label]
            nll += w * (log_total + (largest_score - z_new[i, label]))
            wrong += w * is_wrong
            tied += w * is_tied
            squares += w * square
            if write:
                residual[i, n_classes:] = 0.0
                for k in range(n_classes):
                    slope = 2.0 / n_classes * p[k] * ((p[k] - (k == label)) - mean)
                    residual[i, k] = 0.0 if abs(slope) <= MIN_RESIDUAL else w * slope
        chunk = chunk_start // CHUNK_ROWS
        parts[chunk, 0], parts[chunk, 1] = squares / n_classes, nll
        parts[chunk, 2], parts[chunk, 3], parts[chunk, 4] = wrong, tied, squares


@kernel
def hessian_product(z, dz, y, weights, n_classes, begin, end):
    """Replace dz (N, W) by weight times Gauss-Newton's matrix of each row times dz, in rows begin..end.

    z (N, W) are the scores, y and weights (N,) classes and row weights.
    """
    p = np.empty(n_classes)
    for i in range(begin, end):
        _softmax(z[i], p)
        for _ in range(2):  # the Jacobian of p, which is symmetric, twice
            mean = 0.0
            for k in range(n_classes):
                mean += p[k] * dz[i, k]
            for k in range(n_classes):
                dz[i, k] = p[k] * (dz[i, k] - mean)
        for k in range(n_classes):
            dz[i, k] *= 2.0 / n_classes * weights[i]


@kernel
def diagonal(z, out, y, weights, n_classes, begin, end):
    """Write to out (N, W) the diagonal of the matrix by which `hessian_product` multiplies; pads are 0.

    z (N, W) are the scores of rows begin..end, y and weights (N,) their classes and weights.
    """
    p = np.empty(n_classes)
    for i in range(begin, end):
        _softmax(z[i], p)
        square_sum = 0.0
        for k in range(n_classes):
            square_sum += p[k] * p[k]
        out[i, n_classes:] = 0.0
        for k in range(n_classes):
            q = 1.0 - p[k]
            out[i, k] = 2.0 / n_classes * weights[i] * p[k] * p[k] * (q * q + square_sum - p[k] * p[k])
