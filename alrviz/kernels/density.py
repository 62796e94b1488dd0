"""Kernel sums of rows and the features made of them; models/density.py has the formulas.

    S_k(x) = sum over sources i of class k of weight_i exp(-(x - x_i)^2 / (2 h^2))

A row's sums come from a grid by 4-point cubic weights where it lies on one and S >= thin, else from the sources
themselves, in the log domain: only those within reach, found by bisection. A training row's own vote is taken back as
it was given: on the grid through the grid, in the exact sums by passing its source over.

Tuples that kernels take (so that they have arguments in groups):
    sources  xs (P,) sorted within each class, ws (P,) weights, first (C + 1,) where classes begin, log_w (C,) log of
             their sums
    grid     first, last (s,) nodes of the stretches, base (s,) where they begin in memory, nodes (n, 2C) sums and their
             d / d log h, place (2,): origin and nodes per unit, own (2, 4): the kernel and its d / d log h at 0 .. 3
             nodes; no stretches: everything is exact
    kinds    rows of one class that take the same from their own sums: class (-1: none), taken, totals (kinds, C) N_k
             less what is taken, bias (kinds, K), prior (kinds, K): phi where nobody votes
    column   missing (C,) counts of the rows that miss the number, numbers (3,): smoothing m, bandwidth h, thin
"""

import llvmlite.ir as ir
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from alrviz.kernels import kernel

# |phi| is kept within this: a class that has no vote at a place would have phi = -inf.
LIMIT = 30.0
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


@kernel
def _exp(x):
    """exp(x) for FLOOR <= x <= 0, to an ulp or two; as in scores.py (numba's cache would not see an edit there)."""
    shifted = x * _LOG2E + _ROUND
    k = shifted - _ROUND
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    r2 = r * r
    r4 = r2 * r2
    p0 = (1.0 + r) + r2 * (0.5 + r * (1.0 / 6.0))
    p4 = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0))
    p8 = (1.0 / 40320.0 + r * (1.0 / 362880.0)) + r2 * (1.0 / 3628800.0 + r * (1.0 / 39916800.0))
    p12 = 1.0 / 479001600.0 + r * (1.0 / 6227020800.0)
    return (p0 + r4 * (p4 + r4 * (p8 + r4 * p12))) * _from_bits(_bits(shifted) << 52)


@kernel
def _first_from(xs, lo, hi, x):
    """The first of the places lo .. hi whose value is at least x, hi if there is none."""
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
def _log_sum(x, k, skip, left, sources, h, least):
    """(log S_k(x), its d / d log h), source `skip` counting as `left`; (-inf, 0) if none votes or log S_k < least."""
    xs, ws, first, log_w = sources
    lo, hi = first[k], first[k + 1]
    above = _first_from(xs, lo, hi, x)
    below = above - 1
    if above == skip and left <= 0.0:
        above += 1
    near = -1
    if above < hi:
        near = above
    if below >= lo and (near < 0 or x - xs[below] < xs[above] - x):
        near = below
    if near < 0:
        return -np.inf, 0.0
    half, nearest = 0.5 / (h * h), (x - xs[near]) * (x - xs[near])
    if not log_w[k] - nearest * half >= max(least, -1e300):  # squares may overflow
        return -np.inf, 0.0
    own = left if near == skip else ws[near]
    reach = np.sqrt(nearest + (REACH + log_w[k] - np.log(own)) / half)
    lo, hi = _first_from(xs, lo, hi, x - reach), _first_from(xs, lo, hi, np.nextafter(x + reach, np.inf))
    sums, moments = np.zeros(LANES), np.zeros(LANES)
    if lo <= skip < hi:
        _add(x, xs[lo:skip], ws[lo:skip], half, nearest, sums, moments)
        _add(x, xs[skip + 1 : hi], ws[skip + 1 : hi], half, nearest, sums, moments)
        sums[0] += max(left, 0.0)  # at distance 0; where it votes it is the nearest
    else:
        _add(x, xs[lo:hi], ws[lo:hi], half, nearest, sums, moments)
    total = moment = 0.0
    for r in range(LANES):
        total += sums[r]
        moment += moments[r]
    return np.log(total) - nearest * half, 2.0 * half * moment / total


@kernel
def _cell(x, grid):
    """Where node j of x's cell lies in memory, -1 off the grid, and the distance of x from it in nodes, 0 .. 1."""
    first, last, base, _, place, _ = grid
    at = (x - place[0]) * place[1]
    if len(first) == 0 or not (first[0] + 1 <= at < last[-1]):
        return -1, 0.0
    j = np.int64(np.floor(at))
    lo, hi = 0, len(first) - 1  # the last stretch that begins at or before j - 1
    while lo < hi:
        middle = (lo + hi + 1) // 2
        if first[middle] <= j - 1:
            lo = middle
        else:
            hi = middle - 1
    if j + 2 > last[lo]:
        return -1, 0.0
    return base[lo] + (j - first[lo]), at - j


@kernel
def _cubic(t):
    """The weights of the nodes j - 1 .. j + 2 for a place t in 0 .. 1 behind node j (Lagrange)."""
    a, b, c = t + 1.0, t - 1.0, t - 2.0
    return -t * b * c / 6.0, a * b * c / 2.0, -a * t * c / 2.0, a * t * b / 6.0


@kernel
def spread(xs, ws, first, grid, pad, votes, begin, end):
    """Add sources begin .. end, sorted by class, to the votes (C, n + 2 pad) of the nodes about them."""
    k = 0
    for i in range(begin, end):
        while i >= first[k + 1]:
            k += 1
        n, t = _cell(xs[i], grid)
        a, b, c, d = _cubic(t)
        n += pad
        votes[k, n - 1] += ws[i] * a
        votes[k, n] += ws[i] * b
        votes[k, n + 1] += ws[i] * c
        votes[k, n + 2] += ws[i] * d


@kernel
def _from_grid(n, t, own, taken, grid, s, d):
    """s = S_k, d = d S_k / d log h of a row on the grid, its own vote taken back from class `own` (-1: from none)."""
    nodes, table = grid[3], grid[5]
    a, b, c, e = _cubic(t)
    classes = len(s)
    for k in range(classes):
        s[k] = a * nodes[n - 1, k] + b * nodes[n, k] + c * nodes[n + 1, k] + e * nodes[n + 2, k]
        q = classes + k
        d[k] = a * nodes[n - 1, q] + b * nodes[n, q] + c * nodes[n + 1, q] + e * nodes[n + 2, q]
    if taken > 0.0:
        at0, at1 = a * a + b * b + c * c + e * e, 2.0 * (a * b + b * c + c * e)
        at2, at3 = 2.0 * (a * c + b * e), 2.0 * a * e
        s[own] -= taken * (table[0, 0] * at0 + table[0, 1] * at1 + table[0, 2] * at2 + table[0, 3] * at3)
        d[own] -= taken * (table[1, 1] * at1 + table[1, 2] * at2 + table[1, 3] * at3)


@kernel
def _least(s, k, thin, bias):
    """The least log S_k that could leave phi within its limit, given the classes whose sums are not thin."""
    other = 0.0
    for j in range(len(s)):
        other += s[j] if s[j] >= thin and j != k else 0.0
    if other == 0.0:
        return -np.inf
    shift = bias[k] if len(bias) > 1 else (bias[0] if k == 1 else -bias[0])
    return np.log(other) + shift - LIMIT - 1.0


@kernel
def _to_logs(x, own, taken, skip, on_grid, bias, sources, h, thin, s, d):
    """s becomes log S_k and d its d / d log h: by the grid's sums where they are not thin, else exactly."""
    _, ws, _, _ = sources
    left = ws[skip] - taken if skip >= 0 else 0.0
    exact = np.empty((2, len(s)))
    for k in range(len(s)):
        if on_grid and s[k] >= thin:
            exact[0, k], exact[1, k] = np.log(s[k]), d[k] / s[k]
        else:
            least = _least(s, k, thin, bias) if on_grid else -np.inf
            if k == own:
                exact[0, k], exact[1, k] = _log_sum(x, k, skip, left, sources, h, least)
            else:
                exact[0, k], exact[1, k] = _log_sum(x, k, -1, 0.0, sources, h, least)
    s[:], d[:] = exact[0], exact[1]


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
def _write(s, d, bias, prior, phi, dphi, i):
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
        phi[k, i] = min(LIMIT, max(-LIMIT, value))
        if dphi.shape[1] > 0:
            dphi[k, i] = slope if np.abs(value) < LIMIT else 0.0


@kernel
def _write_sums(s, d, bias, phi, dphi, i):
    """The same from S_k itself, none of them thin: a log and two divisions less."""
    if len(bias) == 1:
        value, slope = np.log(s[1] / s[0]) - bias[0], d[1] / s[1] - d[0] / s[0]
        phi[0, i] = min(LIMIT, max(-LIMIT, value))
        if dphi.shape[1] > 0:
            dphi[0, i] = slope if np.abs(value) < LIMIT else 0.0
        return
    total = change = 0.0
    for k in range(len(s)):
        total += s[k]
        change += d[k]
    for k in range(len(s)):
        value = np.log(s[k] / total) - bias[k]
        phi[k, i] = min(LIMIT, max(-LIMIT, value))
        if dphi.shape[1] > 0:
            dphi[k, i] = d[k] / s[k] - change / total if np.abs(value) < LIMIT else 0.0


@kernel
def numbers(x, kind, place, kinds, sources, grid, missing, constants, phi, dphi, begin, end):
    """phi (K, N), dphi (K, N or 0) of the rows begin .. end of a numeric column x (N,), NaN where missing.

    kind (N,) int32 points into `kinds`, place (N,) int32 to a row's own source, -1 if it has none.
    """
    m, h, thin = constants[0], constants[1], constants[2]
    classes, taken, totals, bias, prior = kinds
    s, d = np.empty(len(missing)), np.empty(len(missing))
    for i in range(begin, end):
        j = kind[i]
        if x[i] != x[i]:
            _smoothed(missing, classes[j], taken[j], totals[j], m, s, d)
            _write(s, d, bias[j], prior[j], phi, dphi, i)
            continue
        n, t = _cell(x[i], grid)
        if n >= 0:
            _from_grid(n, t, classes[j], taken[j], grid, s, d)
            if np.min(s) >= thin:
                _write_sums(s, d, bias[j], phi, dphi, i)
                continue
        _to_logs(x[i], classes[j], taken[j], place[i], n >= 0, bias[j], sources, h, thin, s, d)
        _write(s, d, bias[j], prior[j], phi, dphi, i)


@kernel
def log_sums(x, sources, grid, constants, out, begin, end):
    """out (C, M) = log S_k at the places begin .. end of x (M,)."""
    nothing = np.full(out.shape[0], -np.inf)
    s, d = np.empty(out.shape[0]), np.empty(out.shape[0])
    for i in range(begin, end):
        n, t = _cell(x[i], grid)
        if n >= 0:
            _from_grid(n, t, -1, 0.0, grid, s, d)
        _to_logs(x[i], -1, 0.0, -1, n >= 0, nothing, sources, constants[1], constants[2], s, d)
        out[:, i] = s


@kernel
def levels(codes, kind, kinds, counts, m, phi, begin, end):
    """phi (K, N) of the rows begin .. end of a categorical column: codes (N,) int32.

    counts (levels + 1, C), the last row 0: of a code that is no level.
    """
    classes, taken, totals, bias, prior = kinds
    s, d, none = np.empty(counts.shape[1]), np.empty(counts.shape[1]), np.empty((0, 0))
    for i in range(begin, end):
        j = kind[i]
        _smoothed(counts[min(codes[i], len(counts) - 1)], classes[j], taken[j], totals[j], m, s, d)
        _write(s, d, bias[j], prior[j], phi, none, i)
