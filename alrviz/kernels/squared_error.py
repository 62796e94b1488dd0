"""Passes of the squared error over scores.

    p = softmax(z)      r_k = p_k - 1[k = y]      p'_k = p_k (dz_k - sum_j p_j dz_j), the change of p along dz

    loss of a row     (1/C) sum_k r_k^2
    residual          (2/C) p_k (r_k - sum_j p_j r_j)
    along z + t dz    (2/C) sum_k r_k p'_k
    twice             (2/C) sum_k (p'_k^2 + r_k p''_k)
    Hessian times dz  (2/C) p_k (p'_k - sum_j p_j p'_j), Gauss-Newton's: it leaves r_k p''_k out and is never negative
    its diagonal      (2/C) p_k^2 ((1 - p_k)^2 + sum over j != k of p_j^2)

Not convex. Conventions as in scores.py, whose CHUNK is the distance of the parts here too.
"""

from math import exp, log

import numpy as np

from alrviz.kernels import kernel

# As in scores.py, but here: compiled kernels would not see an edit there.
CHUNK = 512
FLUSH = 1e-30


@kernel
def _shares(scores, p):
    """Write softmax(scores) to p; return log of the sum of exp(scores - largest), and the largest."""
    top = scores[0]
    for k in range(1, len(p)):
        top = max(top, scores[k])
    total = 0.0
    for k in range(len(p)):
        p[k] = exp(scores[k] - top)
        total += p[k]
    for k in range(len(p)):
        p[k] /= total
    return log(total), top


@kernel
def line_eval(z, dz, t, y, weights, n_classes, parts, begin, end):
    """parts[chunk] = (loss, slope, curvature) of the rows at z + t dz."""
    scores, p = np.empty(n_classes), np.empty(n_classes)
    for start in range(begin, end, CHUNK):
        loss = slope = curvature = 0.0
        for i in range(start, min(start + CHUNK, end)):
            mean = spread = 0.0
            for k in range(n_classes):
                scores[k] = z[i, k] + t * dz[i, k]
            _shares(scores, p)
            for k in range(n_classes):
                mean += p[k] * dz[i, k]
                spread += p[k] * dz[i, k] * dz[i, k]
            spread -= mean * mean
            w = weights[i] / n_classes
            for k in range(n_classes):
                r = p[k] - (k == y[i])
                apart = dz[i, k] - mean
                change = p[k] * apart
                loss += w * r * r
                slope += 2.0 * w * r * change
                curvature += 2.0 * w * (change * change + r * (change * apart - p[k] * spread))
        part = start // CHUNK
        parts[part, 0], parts[part, 1], parts[part, 2] = loss, slope, curvature


@kernel
def loss_and_residual(z, dz, t, moved, y, weights, n_classes, residual, write, parts, begin, end):
    """moved = z + t dz (t = 0: moved must be z); parts[chunk] = (loss, nll, wrong, not led, squares); the residual if
    `write`, which may be dz itself.
    """
    p = np.empty(n_classes)
    for start in range(begin, end, CHUNK):
        nll = wrong = tied = squares = 0.0
        for i in range(start, min(start + CHUNK, end)):
            if t != 0.0:
                for k in range(z.shape[1]):
                    moved[i, k] = z[i, k] + t * dz[i, k]
            own, w = y[i], weights[i]
            rest, top = _shares(moved[i], p)
            ahead = level = False
            square = mean = 0.0
            for k in range(n_classes):
                r = p[k] - (k == own)
                square += r * r
                mean += p[k] * r
                if k != own:
                    ahead |= moved[i, k] > moved[i, own] or (moved[i, k] == moved[i, own] and k < own)
                    level |= moved[i, k] >= moved[i, own]
            nll += w * (rest + (top - moved[i, own]))
            wrong += w * ahead
            tied += w * level
            squares += w * square
            if write:
                residual[i, n_classes:] = 0.0
                for k in range(n_classes):
                    pull = 2.0 / n_classes * p[k] * ((p[k] - (k == own)) - mean)
                    residual[i, k] = 0.0 if abs(pull) <= FLUSH else w * pull
        part = start // CHUNK
        parts[part, 0], parts[part, 1] = squares / n_classes, nll
        parts[part, 2], parts[part, 3], parts[part, 4] = wrong, tied, squares


@kernel
def hessian_product(z, dz, y, weights, n_classes, begin, end):
    """dz becomes weight times Gauss-Newton's matrix of a row times dz."""
    p = np.empty(n_classes)
    for i in range(begin, end):
        _shares(z[i], p)
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
    """out = weight times the diagonal of the matrix that `hessian_product` multiplies by; pads are 0."""
    p = np.empty(n_classes)
    for i in range(begin, end):
        _shares(z[i], p)
        total = 0.0
        for k in range(n_classes):
            total += p[k] * p[k]
        out[i, n_classes:] = 0.0
        for k in range(n_classes):
            q = 1.0 - p[k]
            out[i, k] = 2.0 / n_classes * weights[i] * p[k] * p[k] * (q * q + total - p[k] * p[k])
