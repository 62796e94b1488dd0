"""Exact kernel sums and smoothed counts of rows, in the log domain, and the features made of them.

    S_k(x) = sum over sources i of class k of weight_i exp(-(x - x_i)^2 / (2 h^2))
    C = 2:  phi   = log S_1 - log S_0 - bias          C > 2:  phi_k = log S_k - log sum_j S_j - bias_k

Only sources within reach of a row are summed: those whose votes together could be seen in the sum. They are found by
hunting from where the last row's lay, so rows are best in the order of their numbers. A training row's own vote is left
out by passing its source over. Sums that kernels/grids.py took and are not thin are used as they are.

Tuples that kernels take (so that they have arguments in groups):
    sources    xs (P,) sorted within each class, ws (P,) weights, first (C + 1,) where classes begin, log_w (C,) log of
               their sums
    kinds      rows of one class that take the same from their own sums: class (-1: none), taken, totals (kinds, C) N_k
               less what is taken, bias (kinds, K), prior (kinds, K): phi where nobody votes
    constants  (4,): smoothing m, bandwidth h, thin: sums below are not used, limit: |phi| is kept within
"""

import llvmlite.ir as ir
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from alrviz.kernels import kernel

LANES = 32  # sums that run side by side: a loop with a single sum does not vectorise
# Sources whose votes together are below exp(-REACH) of the sum are passed over.
REACH = 37.0
FLOOR = -80.0  # votes further below the nearest one's count as this far below

_LOG2E = 1.4426950408889634
_LN2_HIGH = 0.693145751953125  # the first 18 bits of ln 2: times a power of two it stays exact
_LN2_LOW = 1.42860682030941723212e-6
_ROUND = 6755399441055744.0 + 1023.0  # 1.5 * 2^52: adding it rounds to a whole number, kept in the low bits


@intrinsic
def _bits(typingctx, value):
    """The bits of a float64 as int64."""

    def codegen(context, builder, sig, args):
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), codegen


@intrinsic
def _from_bits(typingctx, value):
    """The float64 that has these bits."""

    def codegen(context, builder, sig, args):
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), codegen


@intrinsic
def _fma(typingctx, a, b, c):
    """a * b + c, fused where the machine can."""

    def codegen(context, builder, sig, args):
        double = ir.DoubleType()
        function = builder.module.declare_intrinsic("llvm.fmuladd", [double], ir.FunctionType(double, [double] * 3))
        return builder.call(function, args)

    return types.float64(types.float64, types.float64, types.float64), codegen


@kernel
def _exp(x):
    """exp(x) for FLOOR <= x <= 0, to an ulp or two; as in scores.py (numba's cache would not see an edit there)."""
    shifted = _fma(x, _LOG2E, _ROUND)
    k = shifted - _ROUND
    r = _fma(k, -_LN2_LOW, _fma(k, -_LN2_HIGH, x))
    r2 = r * r
    r4 = r2 * r2
    p0 = _fma(r2, _fma(r, 1.0 / 6.0, 0.5), _fma(r, 1.0, 1.0))
    p4 = _fma(r2, _fma(r, 1.0 / 5040.0, 1.0 / 720.0), _fma(r, 1.0 / 120.0, 1.0 / 24.0))
    p8 = _fma(r2, _fma(r, 1.0 / 39916800.0, 1.0 / 3628800.0), _fma(r, 1.0 / 362880.0, 1.0 / 40320.0))
    p12 = _fma(r, 1.0 / 6227020800.0, 1.0 / 479001600.0)
    return _fma(r4 * r4, _fma(r4, p12, p8), _fma(r4, p4, p0)) * _from_bits(_bits(shifted) << 52)


@kernel
def _first_from(xs, lo, hi, near, x):
    """The first of the places lo .. hi whose value is at least x, hi if there is none; quick if `near` it."""
    step = 1
    if near < hi and xs[near] < x:
        lo = near + 1
        while lo + step < hi and xs[lo + step] < x:
            lo += step
            step *= 2
        hi = min(hi, lo + step)
    else:
        hi = near
        while hi - step > lo and xs[hi - step] >= x:
            hi -= step
            step *= 2
        lo = max(lo, hi - step)
    while lo < hi:
        middle = (lo + hi) // 2
        if xs[middle] < x:
            lo = middle + 1
        else:
            hi = middle
    return lo


@kernel
def _add(x, xs, ws, half, nearest, sums, moments):
    """Add the votes exp((nearest - d^2) / (2 h^2)) of sources, and d^2 times them; half = 1 / (2 h^2)."""
    for at in range(0, len(xs), LANES):
        v, w = xs[at : min(at + LANES, len(xs))], ws[at : min(at + LANES, len(xs))]
        for r in range(len(v)):
            far = (x - v[r]) * (x - v[r])
            vote = w[r] * _exp(max(FLOOR, min(0.0, (nearest - far) * half)))
            sums[r] += vote
            moments[r] += vote * far


@kernel
def _log_sum(x, k, skip, left, sources, h, least, near, lanes):
    """log S_k(x), its d / d log h, and where x lies; source `skip` counts as `left`, not as its weight.

    (-inf, 0) where no source votes or log S_k < least. near: a guess where x lies; lanes (2, LANES): room.
    """
    xs, ws, first, log_w = sources
    lo, hi = first[k], first[k + 1]
    at = _first_from(xs, lo, hi, near, x)
    above, below = (at + 1 if at == skip and left <= 0.0 else at), at - 1
    near = above if above < hi else -1
    if below >= lo and (near < 0 or x - xs[below] < xs[above] - x):
        near = below
    if near < 0:
        return -np.inf, 0.0, at
    half, nearest = 0.5 / (h * h), (x - xs[near]) * (x - xs[near])
    if not log_w[k] - nearest * half >= max(least, -1e300):  # squares may overflow
        return -np.inf, 0.0, at
    own = left if near == skip else ws[near]
    reach = np.sqrt(nearest + (REACH + log_w[k] - np.log(own)) / half)
    lo = _first_from(xs, lo, hi, at, x - reach)
    hi = _first_from(xs, at, hi, at, np.nextafter(x + reach, np.inf))
    lanes[:] = 0.0
    if lo <= skip < hi:
        _add(x, xs[lo:skip], ws[lo:skip], half, nearest, lanes[0], lanes[1])
        _add(x, xs[skip + 1 : hi], ws[skip + 1 : hi], half, nearest, lanes[0], lanes[1])
        lanes[0, 0] += max(left, 0.0)  # at distance 0; where it votes it is the nearest
    else:
        _add(x, xs[lo:hi], ws[lo:hi], half, nearest, lanes[0], lanes[1])
    total = moment = 0.0
    for r in range(LANES):
        total += lanes[0, r]
        moment += lanes[1, r]
    return np.log(total) - nearest * half, 2.0 * half * moment / total, at


@kernel
def _least(sums, k, thin, limit, bias):
    """The least log S_k that could leave phi within its limit, given the classes whose sums are not thin."""
    other = 0.0
    for j in range(len(bias) if len(bias) > 1 else 2):
        other += sums[j] if sums[j] >= thin and j != k else 0.0
    if other == 0.0:
        return -np.inf
    shift = bias[k] if len(bias) > 1 else (bias[0] if k == 1 else -bias[0])
    return np.log(other) + shift - limit - 1.0


@kernel
def _smoothed(counts, own, taken, totals, m, s, d):
    """s = log of the smoothed counts (C,) of a level; a class share where there is nobody and no smoothing."""
    n = 0.0
    for k in range(len(s)):
        n += totals[k]
    for k in range(len(s)):
        s[k] = np.log(max(0.0, counts[k] - (taken if k == own else 0.0)) + m * totals[k] / n)
        d[k] = 0.0


@kernel
def _write(s, d, bias, prior, limit, phi, dphi, i):
    """phi[:, i], and dphi[:, i] if there is room, from log S_k and its derivatives."""
    lowest = True
    for k in range(len(s)):
        lowest = lowest and s[k] == -np.inf
    top = total = mean = 0.0
    if not lowest and len(bias) > 1:
        top = np.max(s)
        for k in range(len(s)):
            e = np.exp(s[k] - top)
            total += e
            mean += e * d[k]
        top, mean = top + np.log(total), mean / total
    for k in range(len(bias)):
        if lowest:
            value, slope = prior[k], 0.0
        elif len(bias) == 1:
            value, slope = s[1] - s[0] - bias[0], d[1] - d[0]
        else:
            value, slope = s[k] - top - bias[k], d[k] - mean
        phi[k, i] = min(limit, max(-limit, value))
        if dphi.shape[1] > 0:
            dphi[k, i] = slope if np.abs(value) < limit else 0.0


@kernel
def numbers(todo, sums, x, kind, place, kinds, sources, missing, constants, phi, dphi, logs, begin, end):
    """phi (K, N), dphi (K, N or 0) and logs (C, N or 0), log S_k, of the rows todo[begin .. end] of a numeric column.

    sums (len(todo), 2C): S_k and d S_k / d log h that a grid gave, 0 where unknown; or (0, 0). x (N,) is NaN where
    missing (C,) counts the rows that miss it; kind (N,) int32 points into `kinds`, place (N,) int32 to a row's own
    source, -1 if it has none.
    """
    smoothing, h, thin, limit = constants[0], constants[1], constants[2], constants[3]
    classes, taken, totals, bias, prior = kinds
    s, d, lanes = np.empty(len(missing)), np.empty(len(missing)), np.empty((2, LANES))
    near = sources[2][:-1].copy()
    for q in range(begin, end):
        i = todo[q]
        j, value = kind[i], x[i]
        if value != value:
            _smoothed(missing, classes[j], taken[j], totals[j], smoothing, s, d)
        else:
            left = sources[1][place[i]] - taken[j] if place[i] >= 0 else 0.0
            for k in range(len(s)):
                if len(sums) > 0 and sums[q, k] >= thin:
                    s[k], d[k] = np.log(sums[q, k]), sums[q, len(s) + k] / sums[q, k]
                    continue
                least = _least(sums[q], k, thin, limit, bias[j]) if len(sums) > 0 else -np.inf
                skip, kept = (place[i], left) if k == classes[j] else (-1, 0.0)
                s[k], d[k], near[k] = _log_sum(value, k, skip, kept, sources, h, least, near[k], lanes)
        _write(s, d, bias[j], prior[j], limit, phi, dphi, i)
        if logs.shape[1] > 0:
            logs[:, i] = s


@kernel
def levels(codes, kind, kinds, counts, constants, phi, begin, end):
    """phi (K, N) of the rows begin .. end of a categorical column: codes (N,) int32.

    counts (levels + 1, C), the last row 0: of a code that is no level.
    """
    classes, taken, totals, bias, prior = kinds
    smoothing, limit = constants[0], constants[3]
    s, d, none = np.empty(counts.shape[1]), np.empty(counts.shape[1]), np.empty((0, 0))
    for i in range(begin, end):
        j = kind[i]
        level = min(codes[i], len(counts) - 1)
        _smoothed(counts[level], classes[j], taken[j], totals[j], smoothing, s, d)
        _write(s, d, bias[j], prior[j], limit, phi, none, i)
