"""Softmax passes of the log loss: from scores to losses, residuals and the derivatives along a line.

    p(k | i) = exp(z[i, k]) / sum_j exp(z[i, j])        nll_i = -log p(y_i | i)
    along z + t dz:   d nll_i / dt   = sum_k p_k dz_k - dz_y
                      d2 nll_i / dt2 = sum_k p_k dz_k^2 - (sum_k p_k dz_k)^2

The other losses (squared_error.py, hinge.py) have the same four kernels as plain loops: their speed matters less.

Conventions
    z, dz, residual   (N, W), the first C columns in use; the pads of a residual are 0
    y, weights        (N,) int32 and float64
    parts             sums of CHUNK_ROWS rows each, from row begin // CHUNK_ROWS on, which the caller adds up in order,
                      so that the bits are the same for any number of threads
    begin             a multiple of CHUNK_ROWS

A chunk is transposed first, classes by rows, so that every loop runs along rows and vectorises for any number of
classes.
"""

import llvmlite.ir as ir
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from alrviz.kernels import kernel

CHUNK_ROWS = 512
# Numbers from one class to the next. A power of two would map all classes to the same few cache lines.
CLASS_STRIDE = CHUNK_ROWS + 8
# Smaller residuals are written as 0: denormal numbers make the scatter five times slower (on separable data).
MIN_RESIDUAL = 1e-30
# A score further below the largest of its row counts as this far: its exp, 1.8e-35, is below MIN_RESIDUAL.
MIN_EXPONENT = -80.0
# Below every score; finite, so that it can be subtracted.
MIN_SCORE = -1e300

_LOG2E = 1.4426950408889634
_LN2_HIGH = 0.693145751953125  # the first 18 bits of ln 2: times a power of two it stays exact
_LN2_LOW = 1.42860682030941723212e-6
_SQRT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
_TWO52, _TWO52_BITS = 4503599627370496.0, 0x4330000000000000  # 2^52: whole numbers can be added in its low bits
_ROUND = 6755399441055744.0 + 1023.0  # 1.5 * 2^52: adding it rounds to a whole number, in the low bits


@intrinsic
def _fma(typingctx, a, b, c):
    """Return a * b + c, fused where the machine can.

    Passes are as fast without (1.01 to 1.03); the rounding is what differs.
    """

    def codegen(context, builder, sig, args):
        double = ir.DoubleType()
        function = builder.module.declare_intrinsic("llvm.fmuladd", [double], ir.FunctionType(double, [double] * 3))
        return builder.call(function, args)

    return types.float64(types.float64, types.float64, types.float64), codegen


@kernel
def _exp(x):
    """Return exp(x) for MIN_EXPONENT <= x <= 0, to 5e-16 relative. Unlike libm's (5.8 ns) it vectorises inside a loop.

    x = k ln 2 + r with |r| <= ln 2 / 2, and exp(r) by its series to r^13, summed as a tree (Estrin).
    """
    shifted = _fma(x, _LOG2E, _ROUND)
    k = shifted - _ROUND
    r = _fma(k, -_LN2_LOW, _fma(k, -_LN2_HIGH, x))
    r2 = r * r
    r4 = r2 * r2
    p0 = _fma(r2, _fma(r, 1.0 / 6.0, 0.5), _fma(r, 1.0, 1.0))
    p4 = _fma(r2, _fma(r, 1.0 / 5040.0, 1.0 / 720.0), _fma(r, 1.0 / 120.0, 1.0 / 24.0))
    p8 = _fma(r2, _fma(r, 1.0 / 39916800.0, 1.0 / 3628800.0), _fma(r, 1.0 / 362880.0, 1.0 / 40320.0))
    p12 = _fma(r, 1.0 / 6227020800.0, 1.0 / 479001600.0)
    p = _fma(r4 * r4, _fma(r4, p12, p8), _fma(r4, p4, p0))
    return p * np.int64(np.float64(shifted).view(np.int64) << 52).view(np.float64)


@kernel
def _log(x):
    """Return log(x) for 1 <= x < 2^51, to an ulp. Unlike libm's (6 ns against 1.5) it vectorises inside a loop.

    x = 2^k (1 + f) with 1 + f between sqrt(1/2) and sqrt(2); log(1 + f) = f - f^2/2 + s (f^2/2 + R), s = f / (2 + f), R
    even in s (the series of atanh, its coefficients fitted to the range: Tang, ACM TOMS 16, 1990).
    """
    bits = np.float64(x).view(np.int64)
    k = (bits - _SQRT_HALF) >> 52
    f = np.int64(bits - (k << 52)).view(np.float64) - 1.0
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    odd = _fma(w, _fma(w, 1.531383769920937332e-01, 2.222219843214978396e-01), 3.999999999940941908e-01)
    even = _fma(w, _fma(w, _fma(w, 1.479819860511658591e-01, 1.818357216161805012e-01), 2.857142874366239149e-01),
                6.666666666666735130e-01)  # fmt: skip
    rest = _fma(w, odd, z * even)
    half = 0.5 * f * f
    power = np.int64(k | _TWO52_BITS).view(np.float64) - _TWO52
    log_x = _fma(power, _LN2_HIGH, f - (half - (s * (half + rest) + power * _LN2_LOW)))
    return log_x + (x - x)  # NaN for NaN, whose bits would give a number


@kernel
def _softmax(s, m, largest_score, exp_sum):
    """Replace scores s (C, CLASS_STRIDE) of m rows by exp(s - largest); write each row's largest score and sum of
    these.
    """
    for r in range(m):
        largest_score[r] = s[0, r]
        exp_sum[r] = 0.0
    for k in range(1, s.shape[0]):
        for r in range(m):
            largest_score[r] = s[k, r] if s[k, r] > largest_score[r] else largest_score[r]
    for k in range(s.shape[0]):
        for r in range(m):
            x = s[k, r] - largest_score[r]
            e = _exp(MIN_EXPONENT if x < MIN_EXPONENT else x)  # NaN stays NaN
            s[k, r] = e
            exp_sum[r] += e


@kernel
def _sum(values, m):
    """Return the sum of the first m values, as four sums: additions to one sum would wait for each other."""
    a = b = c = d = 0.0
    for r in range(0, m - 3, 4):
        a += values[r]
        b += values[r + 1]
        c += values[r + 2]
        d += values[r + 3]
    for r in range(m - m % 4, m):
        a += values[r]
    return (a + b) + (c + d)


@kernel
def line_eval(z, dz, t, y, weights, n_classes, parts, begin, end):
    """Write parts[chunk] = (nll, slope, curvature) of rows begin..end at scores z + t dz, both (N, W).

    y, weights (N,) are classes and row weights; of the W columns the first n_classes are used.
    """
    s = np.empty((n_classes, CLASS_STRIDE))
    d = np.empty((n_classes, CLASS_STRIDE))
    label_loss, label_slope = np.empty(CHUNK_ROWS), np.empty(CHUNK_ROWS)
    largest_score, exp_sum = np.empty(CHUNK_ROWS), np.empty(CHUNK_ROWS)
    slope, curvature = np.empty(CHUNK_ROWS), np.empty(CHUNK_ROWS)
    for chunk_start in range(begin, end, CHUNK_ROWS):
        m = min(CHUNK_ROWS, end - chunk_start)
        for r in range(m):
            for k in range(n_classes):
                d[k, r] = dz[chunk_start + r, k]
                s[k, r] = z[chunk_start + r, k] + t * d[k, r]
            label_loss[r], label_slope[r] = (
                s[y[chunk_start + r], r],
                d[y[chunk_start + r], r],
            )  # at first the score and its change
        _softmax(s, m, largest_score, exp_sum)
        slope[:m] = 0.0
        curvature[:m] = 0.0
        for k in range(n_classes):
            for r in range(m):
                u = s[k, r] * d[k, r]
                slope[r] += u
                curvature[r] += u * d[k, r]
        for r in range(m):
            w = weights[chunk_start + r]
            share = 1.0 / exp_sum[r]
            mean = slope[r] * share
            label_loss[r] = w * (_log(exp_sum[r]) + (largest_score[r] - label_loss[r]))
            label_slope[r] = w * (mean - label_slope[r])
            curvature[r] = w * (curvature[r] * share - mean * mean)
        part = chunk_start // CHUNK_ROWS
        parts[part, 0], parts[part, 1], parts[part, 2] = (_sum(label_loss, m), _sum(label_slope, m), _sum(curvature, m))


@kernel
def _rank(s, m, label_score, label, n_ahead, n_level):
    """Write n_ahead (m,), how many classes a row predicts before its label, and n_level (m,), how many score at least
    as high.

    s (C, CLASS_STRIDE) are the scores of m rows, label_score (m,) those of their labels (m,). The first of equal scores
    is predicted; n_level counts the label itself.
    """
    n_ahead[:m] = 0.0
    n_level[:m] = 0.0
    for k in range(s.shape[0]):
        for r in range(m):
            is_above = 1.0 if s[k, r] > label_score[r] else 0.0
            is_equal = 1.0 if s[k, r] == label_score[r] else 0.0
            n_level[r] += is_above + is_equal
            n_ahead[r] += is_above + (is_equal if label[r] > k else 0.0)


@kernel
def loss_and_residual(z, dz, t, z_new, y, weights, n_classes, residual, write, parts, begin, end):
    """Write z_new = z + t dz, parts[chunk] = (loss, nll, wrong, tied, squares) and, if `write`, the residual.

    If t is 0, z_new must be z. The residual may be dz itself: a row is read before it is written. The sums are
    weighted:

        wrong     of rows that predict another class
        tied      of rows whose label's score is not the only largest one
        squares   of sum over classes of (p_k - 1[k = y])^2
    """
    s = np.empty((n_classes, CLASS_STRIDE))
    label_loss, largest_score, total = np.empty(CHUNK_ROWS), np.empty(CHUNK_ROWS), np.empty(CHUNK_ROWS)
    label = np.empty(CHUNK_ROWS)  # floats, because a loop over numbers of one size vectorises
    wrong, tied, square = np.empty(CHUNK_ROWS), np.empty(CHUNK_ROWS), np.empty(CHUNK_ROWS)
    padded_width = z.shape[1]
    for chunk_start in range(begin, end, CHUNK_ROWS):
        m = min(CHUNK_ROWS, end - chunk_start)
        if t != 0.0:
            for i in range(chunk_start, chunk_start + m):
                for k in range(padded_width):
                    z_new[i, k] = z[i, k] + t * dz[i, k]
        for r in range(m):
            for k in range(n_classes):
                s[k, r] = z_new[chunk_start + r, k]
            label_loss[r] = s[y[chunk_start + r], r]
            label[r] = y[chunk_start + r]
        _rank(s, m, label_loss, label, wrong, tied)
        _softmax(s, m, largest_score, total)
        for r in range(m):
            w = weights[chunk_start + r]
            label_loss[r] = w * (_log(total[r]) + (largest_score[r] - label_loss[r]))
            wrong[r] = w if wrong[r] > 0.0 else 0.0
            tied[r] = w if tied[r] != 1.0 else 0.0
            square[r] = 0.0
            total[r] = 1.0 / total[r]
        for k in range(n_classes):
            for r in range(m):
                difference = s[k, r] * total[r] - (1.0 if label[r] == k else 0.0)
                difference = 0.0 if np.abs(difference) <= MIN_RESIDUAL else difference
                s[k, r] = weights[chunk_start + r] * difference
                square[r] += s[k, r] * difference
        if write:
            for r in range(m):
                i = chunk_start + r
                for k in range(n_classes):
                    residual[i, k] = s[k, r]
                for k in range(n_classes, padded_width):
                    residual[i, k] = 0.0
        nll, part = _sum(label_loss, m), chunk_start // CHUNK_ROWS
        parts[part, 0], parts[part, 1] = nll, nll
        parts[part, 2], parts[part, 3], parts[part, 4] = _sum(wrong, m), _sum(tied, m), _sum(square, m)


@kernel
def hessian_product(z, dz, y, weights, n_classes, begin, end):
    """Replace dz (N, W) by weight * p * (dz - sum_k p_k dz_k), the change of the residuals, in rows begin..end.

    p = softmax(z); weights (N,); y is not used, but taken by the same kernels of the other losses.
    """
    s = np.empty((n_classes, CLASS_STRIDE))
    largest_score, exp_sum, mean = np.empty(CHUNK_ROWS), np.empty(CHUNK_ROWS), np.empty(CHUNK_ROWS)
    for chunk_start in range(begin, end, CHUNK_ROWS):
        m = min(CHUNK_ROWS, end - chunk_start)
        for r in range(m):
            for k in range(n_classes):
                s[k, r] = z[chunk_start + r, k]
        _softmax(s, m, largest_score, exp_sum)
        mean[:m] = 0.0
        for r in range(m):
            for k in range(n_classes):
                s[k, r] /= exp_sum[r]
                mean[r] += s[k, r] * dz[chunk_start + r, k]
        for r in range(m):
            i = chunk_start + r
            for k in range(n_classes):
                dz[i, k] = weights[i] * s[k, r] * (dz[i, k] - mean[r])


@kernel
def diagonal(z, out, y, weights, n_classes, begin, end):
    """Write to out (N, W) weight * p * (1 - p), the diagonal of `hessian_product`'s matrix, in rows begin..end; pads
    are 0.

    p = softmax(z); weights (N,); y is not used, but taken by the same kernels of the other losses.
    """
    s = np.empty((n_classes, CLASS_STRIDE))
    largest_score, exp_sum = np.empty(CHUNK_ROWS), np.empty(CHUNK_ROWS)
    for chunk_start in range(begin, end, CHUNK_ROWS):
        m = min(CHUNK_ROWS, end - chunk_start)
        for r in range(m):
            for k in range(n_classes):
                s[k, r] = z[chunk_start + r, k]
        _softmax(s, m, largest_score, exp_sum)
        for r in range(m):
            i = chunk_start + r
            for k in range(n_classes):
                p = s[k, r] / exp_sum[r]
                out[i, k] = weights[i] * p * (1.0 - p)
            for k in range(n_classes, out.shape[1]):
                out[i, k] = 0.0


@kernel
def add_exponentials(z, log_scale, total):
    """Add exp(z) to sums that are stored as total * exp(log_scale), all (m,).

    An empty sum is MIN_SCORE and 0; to others a z of -inf adds nothing that counts.
    """
    for i in range(len(z)):
        difference = z[i] - log_scale[i]
        ratio = _exp(max(MIN_EXPONENT, -np.abs(difference)))
        total[i] = total[i] * ratio + 1.0 if difference > 0.0 else total[i] + ratio
        log_scale[i] = max(log_scale[i], z[i])
