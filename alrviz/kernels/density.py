"""Exact kernel sums of rows, in the log domain.

    S_k(x) = sum over sources i of class k of weight_i exp(-(x - x_i)^2 / (2 h^2))

Source i *votes* with its term of the sum. Only sources within reach of x are summed: the rest together would not change
the sum's last bits. The search for them starts where the last row's were, so it is fast for rows sorted by value. A
training row's own vote is left out by skipping its source.

Where hundreds of sources are within reach, bundles of them vote as one (a fast Gauss transform). The sources of a class
within BUNDLE_BANDWIDTHS bandwidths, s_i = (x_i - center) / h from the middle of their bundle, vote at a distance
t = (x - center) / h with

    sum_i w_i exp(-(t - s_i)^2 / 2) = exp(-t^2 / 2) sum_p t^p / p! sum_i w_i s_i^p exp(-s_i^2 / 2)

N_TERMS terms of this series are exact to 1e-12 for |t| <= 8, the distance from which thin sums come.

Tuples that kernels take (`kinds` and `constants`: ratios.py):
    sources  xs (P,) sorted within each class, ws (P,) weights, first (C + 1,) where classes begin, log_w (C,) log of
             their sums
    bundles  starts (B + 1,) first source of each, centers (B,), terms (N_TERMS, B), first (C + 1,) where classes begin;
             without starts every source votes for itself
"""

import llvmlite.ir as ir
import numpy as np
from numba.core import types
from numba.extending import intrinsic

from alrviz.kernels import kernel

N_SUMS = 32  # independent sums side by side: a loop with a single sum does not vectorise
MAX_LOG_RATIO = 37.0  # sources whose votes together are below exp(-37) of the sum are skipped
MIN_EXPONENT = -80.0  # smaller exponents, relative to the nearest source's vote, count as this
# Bundles vote where more sources than this are within reach, and none is more bandwidths away: the series of a bundle
# is too short for larger distances.
MIN_BUNDLED_VOTES = 256
MAX_BUNDLED_BANDWIDTHS = 14.0
N_TERMS = 13
BUNDLE_BANDWIDTHS = 0.125

_LOG2E = 1.4426950408889634
_LN2_HIGH = 0.693145751953125  # the first 18 bits of ln 2: times a power of two it stays exact
_LN2_LOW = 1.42860682030941723212e-6
_ROUND = 6755399441055744.0 + 1023.0  # 1.5 * 2^52: adding it rounds to a whole number, kept in the low bits


@intrinsic
def _fma(typingctx, a, b, c):
    """Return a * b + c, fused where the machine can; an intrinsic of numba, to which it passes the typing context."""

    def codegen(context, builder, sig, args):
        double = ir.DoubleType()
        function = builder.module.declare_intrinsic("llvm.fmuladd", [double], ir.FunctionType(double, [double] * 3))
        return builder.call(function, args)

    return types.float64(types.float64, types.float64, types.float64), codegen


@kernel
def _exp(x):
    """Return exp(x) for MIN_EXPONENT <= x <= 10, to an ulp or two. A copy of scores.py's, as numba's cache requires."""
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
def _first_from(xs, lo, hi, guess, x):
    """Return the first place in lo .. hi at which the ascending xs are at least x, else hi; fast where `guess` is near
    it.
    """
    step = 1
    if guess < hi and xs[guess] < x:
        lo = guess + 1
        while lo + step < hi and xs[lo + step] < x:
            lo += step
            step *= 2
        hi = min(hi, lo + step)
    else:
        hi = guess
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
def _add(x, xs, ws, half_precision, nearest2, sums, moments):
    """Add the votes exp((nearest2 - d^2) / (2 h^2)) of sources xs with weights ws (m,), d = x - xs, to `sums`
    (N_SUMS,).

    Adds d^2 times them to `moments` (N_SUMS,). half_precision = 1 / (2 h^2); nearest2: squared distance of the nearest
    source, which keeps the largest vote at 1.
    """
    for start in range(0, len(xs), N_SUMS):
        v, w = xs[start : min(start + N_SUMS, len(xs))], ws[start : min(start + N_SUMS, len(xs))]
        for r in range(len(v)):
            distance2 = (x - v[r]) * (x - v[r])
            vote = w[r] * _exp(max(MIN_EXPONENT, min(0.0, (nearest2 - distance2) * half_precision)))
            sums[r] += vote
            moments[r] += vote * distance2


@kernel
def _add_bundles(x, centers, terms, begin, end, h, half_precision, nearest2, workspace):
    """Add the votes at x of bundles begin..end, as `_add` does for sources.

    With t = (x - center) / h a bundle's vote is exp(-t^2 / 2) Q(t), Q the polynomial of its terms. Its d^2 / h^2 = (t -
    s)^2, times the votes, sum to t^2 Q - 2 t Q' + Q''. centers (B,), terms (N_TERMS, B); half_precision, nearest2 as in
    `_add`; workspace: (6, N_SUMS), its first two rows are the sums and moments.
    """
    last_term = len(terms) - 1
    sums, moments, value = workspace[0], workspace[1], workspace[2]
    slope, curvature, t = workspace[3], workspace[4], workspace[5]
    for start in range(begin, end, N_SUMS):
        m = min(N_SUMS, end - start)
        workspace[2:] = 0.0
        for r in range(m):
            t[r] = (x - centers[start + r]) / h
        for p in range(last_term + 1):
            term = terms[last_term - p]
            for r in range(m):
                curvature[r] = curvature[r] * t[r] + slope[r]
                slope[r] = slope[r] * t[r] + value[r]
                value[r] = value[r] * t[r] + term[start + r]
        for r in range(m):
            # A center may be nearer than the nearest source: the exponent may be slightly above 0.
            vote = _exp(max(MIN_EXPONENT, nearest2 * half_precision - 0.5 * t[r] * t[r]))
            sums[r] += vote * value[r]
            moments[r] += vote * h * h * (t[r] * t[r] * value[r] - 2.0 * t[r] * slope[r] + 2.0 * curvature[r])


@kernel
def _add_bundled(x, k, skip, lo, hi, sources, bundles, h, half_precision, nearest2, workspace):
    """Add the votes at x of the bundles with sources lo .. hi of class k.

    The bundle with source `skip` is replaced by its other sources, one by one. sources, bundles: see the module; h,
    half_precision, nearest2 and workspace as in `_add_bundles`.
    """
    xs, ws, _, _ = sources
    starts, centers, terms, first = bundles
    first_bundle = _first_from(starts, first[k], first[k + 1], first[k], lo + 1) - 1
    end_bundle = _first_from(starts, first[k], first[k + 1], first[k], hi)
    skip_bundle = _first_from(starts, first[k], first[k + 1], first[k], skip + 1) - 1 if lo <= skip < hi else end_bundle
    _add_bundles(x, centers, terms, first_bundle, skip_bundle, h, half_precision, nearest2, workspace)
    if skip_bundle < end_bundle:
        a, b = starts[skip_bundle], starts[skip_bundle + 1]
        _add(x, xs[a:skip], ws[a:skip], half_precision, nearest2, workspace[0], workspace[1])
        _add(x, xs[skip + 1 : b], ws[skip + 1 : b], half_precision, nearest2, workspace[0], workspace[1])
        _add_bundles(x, centers, terms, skip_bundle + 1, end_bundle, h, half_precision, nearest2, workspace)


@kernel
def _log_sum(x, k, skip, skip_weight, sources, bundles, h, min_log_sum, guess, workspace):
    """Return (log S_k(x), its d / d log h, the place of x among the sources, how many votes were summed).

    (-inf, 0) where no source votes or log S_k is below `min_log_sum`. Source `skip` counts with `skip_weight`; `guess`
    is where x may lie; workspace: (6, N_SUMS).
    """
    xs, ws, first, log_w = sources
    lo, hi = first[k], first[k + 1]
    position = _first_from(xs, lo, hi, guess, x)
    above, below = (position + 1 if position == skip and skip_weight <= 0.0 else position), position - 1
    nearest = above if above < hi else -1
    if below >= lo and (nearest < 0 or x - xs[below] < xs[above] - x):
        nearest = below
    if nearest < 0:
        return -np.inf, 0.0, position, 0
    half_precision, nearest2 = 0.5 / (h * h), (x - xs[nearest]) * (x - xs[nearest])
    if not log_w[k] - nearest2 * half_precision >= max(min_log_sum, -1e300):  # squares may overflow
        return -np.inf, 0.0, position, 0
    nearest_weight = skip_weight if nearest == skip else ws[nearest]
    reach = np.sqrt(nearest2 + (MAX_LOG_RATIO + log_w[k] - np.log(nearest_weight)) / half_precision)
    lo = _first_from(xs, lo, hi, position, x - reach)
    hi = _first_from(xs, position, hi, position, np.nextafter(x + reach, np.inf))
    workspace[:2] = 0.0
    votes = hi - lo
    if votes > MIN_BUNDLED_VOTES and reach <= MAX_BUNDLED_BANDWIDTHS * h and len(bundles[0]) > 0:
        _add_bundled(x, k, skip, lo, hi, sources, bundles, h, half_precision, nearest2, workspace)
        votes = MIN_BUNDLED_VOTES
    elif lo <= skip < hi:
        _add(x, xs[lo:skip], ws[lo:skip], half_precision, nearest2, workspace[0], workspace[1])
        _add(x, xs[skip + 1 : hi], ws[skip + 1 : hi], half_precision, nearest2, workspace[0], workspace[1])
    else:
        _add(x, xs[lo:hi], ws[lo:hi], half_precision, nearest2, workspace[0], workspace[1])
    if lo <= skip < hi:
        workspace[0, 0] += max(skip_weight, 0.0)  # at distance 0; where it votes it is the nearest
    vote_sum = moment_sum = 0.0
    for r in range(N_SUMS):
        vote_sum += workspace[0, r]
        moment_sum += workspace[1, r]
    return np.log(vote_sum) - nearest2 * half_precision, 2.0 * half_precision * moment_sum / vote_sum, position, votes


@kernel
def _min_log_sum(sums, k, thin, limit, bias):
    """Return the log S_k below which phi leaves its limit for sure, given the sums (C,) of other classes that are not
    thin.

    thin: sums below it do not count; limit: largest |phi|; bias (K,) as in ratios.py.
    """
    other_sum = 0.0
    for j in range(len(bias) if len(bias) > 1 else 2):
        other_sum += sums[j] if sums[j] >= thin and j != k else 0.0
    if other_sum == 0.0:
        return -np.inf
    shift = bias[k] if len(bias) > 1 else (bias[0] if k == 1 else -bias[0])
    return np.log(other_sum) + shift - limit - 1.0


@kernel
def log_sums(rows, sums, x, row_kinds, own_source, kinds, sources, bundles, constants, begin, budget):
    """Replace sums by log S_k and d log S_k / d log h, of rows[begin:]; return where it ended.

    It ends after about `budget` votes, so that the caller can stop or make bundles first. Rows without a number are
    skipped.

    Args:
        rows: (m,) rows whose sums are wanted, by preference sorted by x.
        sums: (m, 2C) S_k and d S_k / d log h as a grid gave them, 0 where unknown. Sums that are not thin are kept.
        x: (N,) the rows' numbers.
        row_kinds: (N,) int32, which of `kinds` a row is.
        own_source: (N,) int32, a row's own source, -1 if it has none.
        kinds, constants: see ratios.py.
        sources, bundles: see the module.
    """
    h, thin, limit = constants[1], constants[2], constants[3]
    classes, own_votes, _, bias, _ = kinds
    n_classes, workspace, guesses = sums.shape[1] // 2, np.empty((6, N_SUMS)), sources[2][:-1].copy()
    exact = np.empty((2, n_classes))
    for q in range(begin, len(rows)):
        i = rows[q]
        j, value = row_kinds[i], x[i]
        if value != value:
            continue
        remaining_weight = sources[1][own_source[i]] - own_votes[j] if own_source[i] >= 0 else 0.0
        for k in range(n_classes):
            if sums[q, k] >= thin:
                exact[0, k], exact[1, k] = np.log(sums[q, k]), sums[q, n_classes + k] / sums[q, k]
                continue
            min_log_sum = _min_log_sum(sums[q], k, thin, limit, bias[j])
            skip, skip_weight = (own_source[i], remaining_weight) if k == classes[j] else (-1, 0.0)
            exact[0, k], exact[1, k], guesses[k], votes = _log_sum(
                value, k, skip, skip_weight, sources, bundles, h, min_log_sum, guesses[k], workspace
            )
            budget -= votes
        for k in range(n_classes):
            sums[q, k], sums[q, n_classes + k] = exact[0, k], exact[1, k]
        if budget < 0:
            return q + 1
    return len(rows)


@kernel
def bundle(xs, ws, first, h, starts, centers, terms, first_bundle):
    """Bundle sources that are sorted by class and value; return the number of bundles.

    Args:
        xs, ws: (P,) values and weights of the sources.
        first: (C + 1,) where each class begins.
        h: bandwidth.
        starts: (P + 1,) written with the first source of each bundle, and P.
        centers: (P,) written.
        terms: (N_TERMS, P) written.
        first_bundle: (C + 1,) written with the first bundle of each class, and their number.
    """
    n_bundles = 0
    for k in range(len(first) - 1):
        first_bundle[k] = n_bundles
        i = first[k]
        while i < first[k + 1]:
            center = xs[i] + 0.5 * BUNDLE_BANDWIDTHS * h
            starts[n_bundles], centers[n_bundles] = i, center
            for p in range(N_TERMS):
                terms[p, n_bundles] = 0.0
            while i < first[k + 1] and xs[i] <= xs[starts[n_bundles]] + BUNDLE_BANDWIDTHS * h:
                s = (xs[i] - center) / h
                term = ws[i] * np.exp(-0.5 * s * s)
                for p in range(N_TERMS):
                    terms[p, n_bundles] += term
                    term *= s / (p + 1)
                i += 1
            n_bundles += 1
    first_bundle[len(first) - 1] = n_bundles
    starts[n_bundles] = len(xs)
    return n_bundles
