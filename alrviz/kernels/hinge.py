"""Passes of the squared hinge over scores: by how much each class comes nearer than 1 to the row's own.

    loss of a row     sum over k != y of  h_k^2,   h_k = max(0, 1 + z_k - z_y)
    residual          2 h_k,  for y: minus the sum of the others
    along z + t dz    sum 2 h_k (dz_k - dz_y)
    twice             sum over h_k > 0 of 2 (dz_k - dz_y)^2
    Hessian times dz  2 (dz_k - dz_y) where h_k > 0, else 0;  for y: minus the sum of the others
    its diagonal      2 where h_k > 0, else 0;  for y: the sum of the others

Convex, its slope continuous; there are no probabilities, so that log loss and squares are NaN. Conventions as in
scores.py, whose CHUNK is the distance of the parts here too.
"""

import numpy as np

from alrviz.kernels import kernel

# As in scores.py, but here: compiled kernels would not see an edit there.
CHUNK = 512
FLUSH = 1e-30


@kernel
def line_eval(z, dz, t, y, weights, n_classes, parts, begin, end):
    """parts[chunk] = (loss, slope, curvature) of the rows at z + t dz."""
    for start in range(begin, end, CHUNK):
        loss = slope = curvature = 0.0
        for i in range(start, min(start + CHUNK, end)):
            own, w = y[i], 2.0 * weights[i]
            for k in range(n_classes):
                apart = dz[i, k] - dz[i, own]
                h = 1.0 + (z[i, k] - z[i, own]) + t * apart
                if not h <= 0.0 and k != own:  # NaN is a loss: scores beyond all numbers must not look well fitted
                    loss += 0.5 * w * h * h
                    slope += w * h * apart
                    curvature += w * apart * apart
        part = start // CHUNK
        parts[part, 0], parts[part, 1], parts[part, 2] = loss, slope, curvature


@kernel
def loss_and_residual(z, dz, t, moved, y, weights, n_classes, residual, write, parts, begin, end):
    """moved = z + t dz (t = 0: moved must be z); parts[chunk] = (loss, NaN, wrong, not led, NaN); the residual if
    `write`, which may be dz itself.
    """
    for start in range(begin, end, CHUNK):
        loss = wrong = tied = 0.0
        for i in range(start, min(start + CHUNK, end)):
            if t != 0.0:
                for k in range(z.shape[1]):
                    moved[i, k] = z[i, k] + t * dz[i, k]
            own, w = y[i], weights[i]
            ahead = level = False
            pulled = 0.0
            for k in range(n_classes):
                apart = moved[i, k] - moved[i, own]
                h = 1.0 + apart
                if h <= 0.0 or k == own:
                    h = 0.0
                if k != own:
                    ahead |= not (apart < 0.0 or (apart == 0.0 and k > own))
                    level |= not apart < 0.0
                loss += w * h * h
                pull = 0.0 if 2.0 * h <= FLUSH else 2.0 * w * h
                pulled += pull
                if write:
                    residual[i, k] = pull
            wrong += w * ahead
            tied += w * level
            if write:
                residual[i, own] = -pulled
                residual[i, n_classes:] = 0.0
        part = start // CHUNK
        parts[part, 0], parts[part, 1], parts[part, 2], parts[part, 3], parts[part, 4] = (
            loss,
            np.nan,
            wrong,
            tied,
            np.nan,
        )


@kernel
def hessian_product(z, dz, y, weights, n_classes, begin, end):
    """dz becomes weight times the Hessian of a row's loss times dz: the change of the residuals."""
    for i in range(begin, end):
        own, w = y[i], 2.0 * weights[i]
        base, pulled = dz[i, own], 0.0
        for k in range(n_classes):
            near = k != own and not 1.0 + (z[i, k] - z[i, own]) <= 0.0
            pull = w * (dz[i, k] - base) if near else 0.0
            pulled += pull
            dz[i, k] = pull
        dz[i, own] = -pulled


@kernel
def diagonal(z, out, y, weights, n_classes, begin, end):
    """out = weight times the diagonal of the matrix that `hessian_product` multiplies by; pads are 0."""
    for i in range(begin, end):
        own, total = y[i], 0.0
        out[i] = 0.0
        for k in range(n_classes):
            if k != own and not 1.0 + (z[i, k] - z[i, own]) <= 0.0:
                out[i, k] = 2.0 * weights[i]
                total += out[i, k]
        out[i, own] = total
