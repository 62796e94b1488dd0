"""Softmax passes of the log loss: from scores to losses, residuals and the derivatives along a line.

    p(k | i) = exp(z[i, k]) / sum_j exp(z[i, j])        nll_i = -log p(y_i | i)
    along z + t dz:   d nll_i / dt   = sum_k p_k dz_k - dz_y
                      d2 nll_i / dt2 = sum_k p_k dz_k^2 - (sum_k p_k dz_k)^2

The other losses (squared_error.py, hinge.py) have the same four kernels, by plain loops: they are not raced for speed.

Conventions: z, dz, residual are (N, W) with the first C lanes in use (pads of a residual are 0); y (N,) int32; weights
(N,). Sums are kept per CHUNK rows in `parts`, row begin // CHUNK on, and added up by the caller in that order: the
same bits for any number of threads. `begin` must be a multiple of CHUNK.
A chunk is turned class-major first, so that every loop runs along rows and vectorises for any number of classes.
"""

import llvmlite.ir as ir
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from alrviz.kernels import kernel

CHUNK = 512
# A power of two as the distance of classes would put all of them into the same few cache lines.
STRIDE = CHUNK + 8
# Below this a residual is written as 0: denormals slow the scatter five times (measured on separable data).
FLUSH = 1e-30
# Scores further than this below the largest of their row count as this far: exp gives 1.8e-35, under FLUSH.
FLOOR = -80.0
# Below every score; finite, so that it can be taken from one.
LEAST = -1e300

_LOG2E = 1.4426950408889634
_LN2_HIGH = 0.693145751953125  # the first 18 bits of ln 2: times a power of two it stays exact
_LN2_LOW = 1.42860682030941723212e-6
_SQRT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
_TWO52, _TWO52_BITS = 4503599627370496.0, 0x4330000000000000  # 2^52: a whole number in its low bits is added to it
_ROUND = 6755399441055744.0 + 1023.0  # 1.5 * 2^52: adding it rounds to a whole number, kept in the low bits


@intrinsic
def _fma(typingctx, a, b, c):
    """a * b + c, fused where the machine can. A pass is as fast without (1.01 to 1.03): what counts is the rounding."""

    def codegen(context, builder, sig, args):
        double = ir.DoubleType()
        function = builder.module.declare_intrinsic("llvm.fmuladd", [double], ir.FunctionType(double, [double] * 3))
        return builder.call(function, args)

    return types.float64(types.float64, types.float64, types.float64), codegen


@kernel
def _exp(x):
    """exp(x) for FLOOR <= x <= 0, to 5e-16 relative; it vectorises inside a loop, which libm's does not (5.8 ns).

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
    """log(x) for 1 <= x < 2^51, to an ulp; it vectorises inside a loop, which libm's does not (6 ns against 1.5).

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
    found = _fma(power, _LN2_HIGH, f - (half - (s * (half + rest) + power * _LN2_LOW)))
    return found + (x - x)  # the bits of NaN would pass for a number's


@kernel
def _softmax(s, m, top, total):
    """s (C, STRIDE) holds scores of m rows: on return exp(s - top), their largest in `top`, their sum in `total`."""
    for r in range(m):
        top[r] = s[0, r]
        total[r] = 0.0
    for k in range(1, s.shape[0]):
        for r in range(m):
            top[r] = s[k, r] if s[k, r] > top[r] else top[r]
    for k in range(s.shape[0]):
        for r in range(m):
            x = s[k, r] - top[r]
            e = _exp(FLOOR if x < FLOOR else x)  # NaN stays NaN
            s[k, r] = e
            total[r] += e


@kernel
def _sum(values, m):
    """The sum of the first m values, four at a time: one chain of additions would wait for each."""
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
    """parts[chunk] = (nll, slope, curvature) of the rows at z + t dz."""
    s = np.empty((n_classes, STRIDE))
    d = np.empty((n_classes, STRIDE))
    own, turn = np.empty(CHUNK), np.empty(CHUNK)
    top, total = np.empty(CHUNK), np.empty(CHUNK)
    first, second = np.empty(CHUNK), np.empty(CHUNK)
    for start in range(begin, end, CHUNK):
        m = min(CHUNK, end - start)
        for r in range(m):
            for k in range(n_classes):
                d[k, r] = dz[start + r, k]
                s[k, r] = z[start + r, k] + t * d[k, r]
            own[r], turn[r] = s[y[start + r], r], d[y[start + r], r]
        _softmax(s, m, top, total)
        first[:m] = 0.0
        second[:m] = 0.0
        for k in range(n_classes):
            for r in range(m):
                u = s[k, r] * d[k, r]
                first[r] += u
                second[r] += u * d[k, r]
        for r in range(m):
            w = weights[start + r]
            share = 1.0 / total[r]
            mean = first[r] * share
            own[r] = w * (_log(total[r]) + (top[r] - own[r]))
            turn[r] = w * (mean - turn[r])
            second[r] = w * (second[r] * share - mean * mean)
        part = start // CHUNK
        parts[part, 0], parts[part, 1], parts[part, 2] = _sum(own, m), _sum(turn, m), _sum(second, m)


@kernel
def _rank(s, m, own, own_class, ahead, level):
    """ahead: how many classes beat the row's own (an equal score before it does); level: how many reach it, with it."""
    ahead[:m] = 0.0
    level[:m] = 0.0
    for k in range(s.shape[0]):
        for r in range(m):
            above = 1.0 if s[k, r] > own[r] else 0.0
            equal = 1.0 if s[k, r] == own[r] else 0.0
            level[r] += above + equal
            ahead[r] += above + (equal if own_class[r] > k else 0.0)


@kernel
def loss_and_residual(z, dz, t, moved, y, weights, n_classes, residual, write, parts, begin, end):
    """moved = z + t dz (t = 0: moved must be z); parts[chunk] = (loss, nll, wrong, not led, squares); the
    residual if `write`.

    wrong: weight of rows whose first largest score is another class's; not led: whose own score is not alone at the
    top;
    squares: sum over classes of (p_k - 1[k = y])^2. residual may be dz itself: a row is read before it is written.
    """
    s = np.empty((n_classes, STRIDE))
    own, top, total = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    own_class = np.empty(CHUNK)  # as floats: a loop over numbers of one size vectorises
    ahead, level, square = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    lanes = z.shape[1]
    for start in range(begin, end, CHUNK):
        m = min(CHUNK, end - start)
        if t != 0.0:
            for i in range(start, start + m):
                for k in range(lanes):
                    moved[i, k] = z[i, k] + t * dz[i, k]
        for r in range(m):
            for k in range(n_classes):
                s[k, r] = moved[start + r, k]
            own[r] = s[y[start + r], r]
            own_class[r] = y[start + r]
        _rank(s, m, own, own_class, ahead, level)
        _softmax(s, m, top, total)
        for r in range(m):
            w = weights[start + r]
            own[r] = w * (_log(total[r]) + (top[r] - own[r]))
            ahead[r] = w if ahead[r] > 0.0 else 0.0
            level[r] = w if level[r] != 1.0 else 0.0
            square[r] = 0.0
            total[r] = 1.0 / total[r]
        for k in range(n_classes):
            for r in range(m):
                p = s[k, r] * total[r] - (1.0 if own_class[r] == k else 0.0)
                p = 0.0 if np.abs(p) <= FLUSH else p
                s[k, r] = weights[start + r] * p
                square[r] += s[k, r] * p
        if write:
            for r in range(m):
                i = start + r
                for k in range(n_classes):
                    residual[i, k] = s[k, r]
                for k in range(n_classes, lanes):
                    residual[i, k] = 0.0
        nll, part = _sum(own, m), start // CHUNK
        parts[part, 0], parts[part, 1] = nll, nll
        parts[part, 2], parts[part, 3], parts[part, 4] = _sum(ahead, m), _sum(level, m), _sum(square, m)


@kernel
def hessian_product(z, dz, y, weights, n_classes, begin, end):
    """dz becomes weight * p * (dz - sum_k p_k dz_k): the change of the residuals, for Hessian-vector products."""
    s = np.empty((n_classes, STRIDE))
    top, total, mean = np.empty(CHUNK), np.empty(CHUNK), np.empty(CHUNK)
    for start in range(begin, end, CHUNK):
        m = min(CHUNK, end - start)
        for r in range(m):
            for k in range(n_classes):
                s[k, r] = z[start + r, k]
        _softmax(s, m, top, total)
        mean[:m] = 0.0
        for r in range(m):
            for k in range(n_classes):
                s[k, r] /= total[r]
                mean[r] += s[k, r] * dz[start + r, k]
        for r in range(m):
            i = start + r
            for k in range(n_classes):
                dz[i, k] = weights[i] * s[k, r] * (dz[i, k] - mean[r])


@kernel
def diagonal(z, out, y, weights, n_classes, begin, end):
    """out = weight * p * (1 - p), the diagonal of the matrix that `hessian_product` multiplies by; pads are 0."""
    s = np.empty((n_classes, STRIDE))
    top, total = np.empty(CHUNK), np.empty(CHUNK)
    for start in range(begin, end, CHUNK):
        m = min(CHUNK, end - start)
        for r in range(m):
            for k in range(n_classes):
                s[k, r] = z[start + r, k]
        _softmax(s, m, top, total)
        for r in range(m):
            i = start + r
            for k in range(n_classes):
                p = s[k, r] / total[r]
                out[i, k] = weights[i] * p * (1.0 - p)
            for k in range(n_classes, out.shape[1]):
                out[i, k] = 0.0


@kernel
def add_exponentials(z, top, total):
    """Add exp(z) to sums that are kept as total * exp(top), all (m,): a sum of nothing is LEAST and 0, and -inf adds
    nothing that counts beside another score.
    """
    for i in range(len(z)):
        x = z[i] - top[i]
        e = _exp(max(FLOOR, -np.abs(x)))
        total[i] = total[i] * e + 1.0 if x > 0.0 else total[i] + e
        top[i] = max(top[i], z[i])
