"""Passes of the squared hinge loss over scores: a class costs as soon as its score is less than 1 below the label's.

    loss of a row     sum over k != y of  h_k^2,   h_k = max(0, 1 + z_k - z_y)
    residual          2 h_k;  for y: minus the sum of the others
    along z + t dz    slope sum 2 h_k (dz_k - dz_y),  curvature sum over h_k > 0 of 2 (dz_k - dz_y)^2
    Hessian times dz  2 (dz_k - dz_y) where h_k > 0, else 0;  for y: minus the sum of the others
    its diagonal      2 where h_k > 0, else 0;  for y: the sum of the others

The loss is convex with a continuous slope. It has no probabilities: log loss and squared error are NaN. Conventions as
in scores.py.
"""

import numpy as np

from alrviz.kernels import kernel

# Copies of scores.py, because numba's cache does not notice an edit in another file.
CHUNK_ROWS = 512
MIN_RESIDUAL = 1e-30


@kernel
def line_eval(z, dz, t, y, weights, n_classes, parts, begin, end):
    """Write parts[chunk] = (loss, slope, curvature) of rows begin..end at scores z + t dz, both (N, W).

    y, weights (N,) are classes and row weights; of the W columns the first n_classes are used.
    """
    for chunk_start in range(begin, end, CHUNK_ROWS):
        loss = slope = curvature = 0.0
        for i in range(chunk_start, min(chunk_start + CHUNK_ROWS, end)):
            label, w = y[i], 2.0 * weights[i]
            for k in range(n_classes):
                margin_change = dz[i, k] - dz[i, label]
                h = 1.0 + (z[i, k] - z[i, label]) + t * margin_change
                # `not h <= 0` includes NaN: overflown scores must not look well fitted.
                if not h <= 0.0 and k != label:
                    loss += 0.5 * w * h * h
                    slope += w * h * margin_change
                    curvature += w * margin_change * margin_change
        chunk = chunk_start // CHUNK_ROWS
        parts[chunk, 0], parts[chunk, 1], parts[chunk, 2] = loss, slope, curvature


@kernel
def loss_and_residual(z, dz, t, z_new, y, weights, n_classes, residual, write, parts, begin, end):
    """Write z_new = z + t dz, parts[chunk] = (loss, NaN, wrong, tied, NaN) and, if `write`, the residual, all (N, W).

    Arguments and sums as of scores.py's. If t is 0, z_new must be z. The residual may be dz itself.
    """
    for chunk_start in range(begin, end, CHUNK_ROWS):
        loss = wrong = tied = 0.0
        for i in range(chunk_start, min(chunk_start + CHUNK_ROWS, end)):
            if t != 0.0:
                for k in range(z.shape[1]):
                    z_new[i, k] = z[i, k] + t * dz[i, k]
            label, w = y[i], weights[i]
            is_wrong = is_tied = False
            pull_sum = 0.0
            for k in range(n_classes):
                margin = z_new[i, k] - z_new[i, label]
                h = 1.0 + margin
                if h <= 0.0 or k == label:
                    h = 0.0
                if k != label:
                    is_wrong |= not (margin < 0.0 or (margin == 0.0 and k > label))
                    is_tied |= not margin < 0.0
                loss += w * h * h
                pull = 0.0 if 2.0 * h <= MIN_RESIDUAL else 2.0 * w * h
                pull_sum += pull
                if write:
                    residual[i, k] = pull
            wrong += w * is_wrong
            tied += w * is_tied
            if write:
                residual[i, label] = -pull_sum
                residual[i, n_classes:] = 0.0
        chunk = chunk_start // CHUNK_ROWS
        parts[chunk, 0], parts[chunk, 1], parts[chunk, 2] = loss, np.nan, wrong
        parts[chunk, 3], parts[chunk, 4] = tied, np.nan


@kernel
def hessian_product(z, dz, y, weights, n_classes, begin, end):
    """Replace dz (N, W) by weight times each row's Hessian times dz, the change of the residuals, in rows begin..end.

    z (N, W) are the scores, y and weights (N,) classes and row weights.
    """
    for i in range(begin, end):
        label, w = y[i], 2.0 * weights[i]
        label_change, pull_sum = dz[i, label], 0.0
        for k in range(n_classes):
            is_active = k != label and not 1.0 + (z[i, k] - z[i, label]) <= 0.0
            pull = w * (dz[i, k] - label_change) if is_active else 0.0
            pull_sum += pull
            dz[i, k] = pull
        dz[i, label] = -pull_sum


@kernel
def diagonal(z, out, y, weights, n_classes, begin, end):
    """Write to out (N, W) the diagonal of the matrix by which `hessian_product` multiplies; pads are 0.

    z (N, W) are the scores of rows begin..end, y and weights (N,) their classes and weights.
    """
    for i in range(begin, end):
        label, pull_sum = y[i], 0.0
        out[i] = 0.0
        for k in range(n_classes):
            if k != label and not 1.0 + (z[i, k] - z[i, label]) <= 0.0:
                out[i, k] = 2.0 * weights[i]
                pull_sum += out[i, k]
        out[i, label] = pull_sum
