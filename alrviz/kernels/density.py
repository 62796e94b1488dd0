"""Exact kernel sums of rows, in the log domain.

    S_k(x) = sum over sources i of class k of weight_i exp(-(x - x_i)^2 / (2 h^2))

Only sources within reach of a row are summed: those whose votes together could be seen in the sum. They are found by
hunting from where the last row's lay, so rows are best in the order of their numbers. A training row's own vote is left
out by passing its source over. Where hundreds are within reach, bundles of them (gauss_transform.py) vote as one.

Tuples that kernels take (`kinds` and `constants`: ratios.py):
    sources  xs (P,) sorted within each class, ws (P,) weights, first (C + 1,) where classes begin, log_w (C,) log of
             their sums
    bundles  starts (B + 1,) first source of each, centers (B,), terms (TERMS, B), first (C + 1,) where classes begin;
             no starts: every source votes for itself
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
# Bundles vote where more sources are within reach, but not further than so many bandwidths: their series are too short.
MANY = 256
FARTHEST = 14.0

_LOG2E = 1.4426950408889634
_LN2_HIGH = 0.693145751953125  # the first 18 bits of ln 2: times a power of two it stays exact
_LN2_LOW = 1.42860682030941723212e-6
_ROUND = 6755399441055744.0 + 1023.0  # 1.5 * 2^52: adding it rounds to a whole number, kept in the low bits


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
    """exp(x) for FLOOR <= x <= 10, to an ulp or two; as in scores.py (numba's cache would not see an edit there)."""
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
def _add_bundles(x, centers, terms, begin, end, h, half, nearest, lanes):
    """The same of bundles: with t = (x - center) / h a bundle's vote is exp(-t^2 / 2) Q(t), Q by its terms.

    d^2 / h^2 = (t - s)^2 of its sources sums to t^2 Q - 2 t Q' + Q''.
    """
    last = len(terms) - 1
    sums, moments, value, slope, bend, t = lanes[0], lanes[1], lanes[2], lanes[3], lanes[4], lanes[5]
    for at in range(begin, end, LANES):
        m = min(LANES, end - at)
        lanes[2:] = 0.0
        for r in range(m):
            t[r] = (x - centers[at + r]) / h
        for p in range(last + 1):
            term = terms[last - p]
            for r in range(m):
                bend[r] = bend[r] * t[r] + slope[r]
                slope[r] = slope[r] * t[r] + value[r]
                value[r] = value[r] * t[r] + term[at + r]
        for r in range(m):
            vote = _exp(max(FLOOR, nearest * half - 0.5 * t[r] * t[r]))  # may be a little above 0: a center is nearer
            sums[r] += vote * value[r]
            moments[r] += vote * h * h * (t[r] * t[r] * value[r] - 2.0 * t[r] * slope[r] + 2.0 * bend[r])


@kernel
def _add_bundled(x, k, skip, lo, hi, sources, bundles, h, half, nearest, lanes):
    """Add the votes of the bundles that hold sources lo .. hi of class k; of the one that holds `skip` all others."""
    xs, ws, _, _ = sources
    starts, centers, terms, first = bundles
    begin = _first_from(starts, first[k], first[k + 1], first[k], lo + 1) - 1
    end = _first_from(starts, first[k], first[k + 1], first[k], hi)
    own = _first_from(starts, first[k], first[k + 1], first[k], skip + 1) - 1 if lo <= skip < hi else end
    _add_bundles(x, centers, terms, begin, own, h, half, nearest, lanes)
    if own < end:
        a, b = starts[own], starts[own + 1]
        _add(x, xs[a:skip], ws[a:skip], half, nearest, lanes[0], lanes[1])
        _add(x, xs[skip + 1 : b], ws[skip + 1 : b], half, nearest, lanes[0], lanes[1])
        _add_bundles(x, centers, terms, own + 1, end, h, half, nearest, lanes)


@kernel
def _log_sum(x, k, skip, left, sources, bundles, h, least, near, lanes):
    """log S_k(x), its d / d log h, where x lies, and how many votes were taken one by one.

    Source `skip` counts as `left`, not as its weight. (-inf, 0) where no source votes or log S_k < least. near: a guess
    where x lies; lanes (6, LANES): room.
    """
    xs, ws, first, log_w = sources
    lo, hi = first[k], first[k + 1]
    at = _first_from(xs, lo, hi, near, x)
    above, below = (at + 1 if at == skip and left <= 0.0 else at), at - 1
    near = above if above < hi else -1
    if below >= lo and (near < 0 or x - xs[below] < xs[above] - x):
        near = below
    if near < 0:
        return -np.inf, 0.0, at, 0
    half, nearest = 0.5 / (h * h), (x - xs[near]) * (x - xs[near])
    if not log_w[k] - nearest * half >= max(least, -1e300):  # squares may overflow
        return -np.inf, 0.0, at, 0
    own = left if near == skip else ws[near]
    reach = np.sqrt(nearest + (REACH + log_w[k] - np.log(own)) / half)
    lo = _first_from(xs, lo, hi, at, x - reach)
    hi = _first_from(xs, at, hi, at, np.nextafter(x + reach, np.inf))
    lanes[:2] = 0.0
    votes = hi - lo
    if votes > MANY and reach <= FARTHEST * h and len(bundles[0]) > 0:
        _add_bundled(x, k, skip, lo, hi, sources, bundles, h, half, nearest, lanes)
        votes = MANY
    elif lo <= skip < hi:
        _add(x, xs[lo:skip], ws[lo:skip], half, nearest, lanes[0], lanes[1])
        _add(x, xs[skip + 1 : hi], ws[skip + 1 : hi], half, nearest, lanes[0], lanes[1])
    else:
        _add(x, xs[lo:hi], ws[lo:hi], half, nearest, lanes[0], lanes[1])
    if lo <= skip < hi:
        lanes[0, 0] += max(left, 0.0)  # at distance 0; where it votes it is the nearest
    total = moment = 0.0
    for r in range(LANES):
        total += lanes[0, r]
        moment += lanes[1, r]
    return np.log(total) - nearest * half, 2.0 * half * moment / total, at, votes


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
def log_sums(todo, sums, x, kind, place, kinds, sources, bundles, constants, begin, budget):
    """sums (len(todo), 2C) become log S_k and d log S_k / d log h of the rows `todo` from `begin` on.

    sums hold S_k and d S_k / d log h as a grid gave them, 0 where unknown: those not thin stay. Rows without a number
    are passed over. Returns where it ended, once more than `budget` votes were taken. x (N,); kind (N,) int32 points
    into `kinds`, place (N,) int32 to a row's own source, -1 if it has none.
    """
    h, thin, limit = constants[1], constants[2], constants[3]
    classes, taken, _, bias, _ = kinds
    count, lanes, near = sums.shape[1] // 2, np.empty((6, LANES)), sources[2][:-1].copy()
    exact = np.empty((2, count))
    for q in range(begin, len(todo)):
        i = todo[q]
        j, value = kind[i], x[i]
        if value != value:
            continue
        left = sources[1][place[i]] - taken[j] if place[i] >= 0 else 0.0
        for k in range(count):
            if sums[q, k] >= thin:
                exact[0, k], exact[1, k] = np.log(sums[q, k]), sums[q, count + k] / sums[q, k]
                continue
            least = _least(sums[q], k, thin, limit, bias[j])
            skip, kept = (place[i], left) if k == classes[j] else (-1, 0.0)
            exact[0, k], exact[1, k], near[k], votes = _log_sum(
                value, k, skip, kept, sources, bundles, h, least, near[k], lanes
            )
            budget -= votes
        for k in range(count):
            sums[q, k], sums[q, count + k] = exact[0, k], exact[1, k]
        if budget < 0:
            return q + 1
    return len(todo)
