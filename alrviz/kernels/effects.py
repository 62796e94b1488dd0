"""Pure effects: what tuples add to scores, freed of what their parts say alone. See models/effects.py.

f       (S, C)   what each cell adds, cells of a tuple together; w (S,) its share of the weight
begin   (T + 1,) where a tuple's cells begin;  part (T, n): the tuple without its column j, -1 for the intercept
moves   (M, C)   what was moved to each cell of each part: those of tuple t and column j from room[t, j] on
at      (S, n)   the row of `moves` that belongs to a cell and a column, -1 for none;  mass (M,) the weight there
"""

import numpy as np

from alrviz.kernels import kernel

_PRIME = 2147483647  # products of two numbers below are whole in 64 bits


@kernel
def _slice_means(n, f, w, at, mass, base, begin, end, means):
    """Write to means (K, C) the weighted means of f over cells that agree but for one of n columns; returns the largest
    of them, and the weighted sum of their squares.
    """
    means[:] = 0.0
    for c in range(begin, end):
        if w[c] > 0.0:
            for j in range(n):
                for k in range(f.shape[1]):
                    means[at[c, j] - base, k] += w[c] * f[c, k]
    largest, squares = 0.0, 0.0
    for m in range(len(means)):
        if mass[base + m] > 0.0:
            for k in range(f.shape[1]):
                means[m, k] /= mass[base + m]
                largest = max(largest, abs(means[m, k]))
                squares += mass[base + m] * means[m, k] * means[m, k]
    return largest, squares


@kernel
def purify(t, n, f, w, begin, at, mass, room, moves, tol, most):
    """Make all slice means of tuple t, of n columns, 0; returns the largest one left, relative to the largest f.

    They are the slopes of  min over m of  sum_c w_c |f_c - sum_j m_j(c)|^2,  which conjugate gradients solve: no column
    comes first, and where columns are nearly equal (a correlation of .99) forty steps do what takes a thousand sweeps
    column by column. f is always what it was less what was moved, whatever is left.
    """
    lo, hi, base = begin[t], begin[t + 1], room[t, 0]
    rows = room[t, n] - base
    means, along, size = np.zeros((rows, f.shape[1])), np.zeros((rows, f.shape[1])), 0.0
    for c in range(lo, hi):
        for k in range(f.shape[1]):
            size = max(size, abs(f[c, k]))
    left, now = _slice_means(n, f, w, at, mass, base, lo, hi, means)
    before = np.inf
    for _ in range(most):
        if left <= tol * size:
            break
        for m in range(rows):
            for k in range(f.shape[1]):
                along[m, k] = means[m, k] + now / before * along[m, k]
        bend = 0.0
        for c in range(lo, hi):
            if w[c] > 0.0:
                for k in range(f.shape[1]):
                    change = 0.0
                    for j in range(n):
                        change += along[at[c, j] - base, k]
                    bend += w[c] * change * change
        if bend <= 0.0:
            break
        step = now / bend
        for c in range(lo, hi):
            for j in range(n):
                if at[c, j] >= 0:
                    for k in range(f.shape[1]):
                        f[c, k] -= step * along[at[c, j] - base, k]
        for m in range(rows):
            for k in range(f.shape[1]):
                moves[base + m, k] += step * along[m, k]
        before = now
        left, now = _slice_means(n, f, w, at, mass, base, lo, hi, means)
    return left / size if size > 0.0 else 0.0


@kernel
def row_effects(located, chosen, codes, origin, levels, tuples, begin, f, defaults, part, room, moves, out):
    """Write to out (R, len(chosen), C) what tuples add to the scores of rows origin, ... of the codes.

    `located` (R, T) are rows of a cell table, as kernels/cells.py has them. A cell that is not there adds defaults[t],
    or defaults[T + t] where it has a level beyond `levels` (a,), less what was moved.
    """
    n_tuples = len(begin) - 1
    for i in range(len(located)):
        for q in range(len(chosen)):
            t = chosen[q]
            s = np.int64(located[i, t]) - 2 * n_tuples
            if s >= 0:
                for k in range(f.shape[1]):
                    out[i, q, k] = f[s, k]
                continue
            absent = t
            for j in range(tuples.shape[1]):
                if codes[tuples[t, j], origin + i] >= levels[tuples[t, j]]:
                    absent = n_tuples + t
            for k in range(f.shape[1]):
                out[i, q, k] = defaults[absent, k]
            for j in range(part.shape[1]):
                row = room[t, j]
                if room[t, j + 1] == row:
                    continue
                if part[t, j] >= 0:
                    below = np.int64(located[i, part[t, j]]) - 2 * n_tuples
                    if below < 0:
                        continue
                    row += below - begin[part[t, j]]
                for k in range(f.shape[1]):
                    out[i, q, k] -= moves[row, k]


@kernel
def spread(effects, scores, intercept, weights, shares, sums):
    """Add to sums (T, 3) of each tuple, over rows: weight x (its product with the score, its square, its variance over
    the classes as probable as the row's score says, halved).

    effects (R, T, C), scores (R, C) their sums, less the intercept (C,), weights (R,); products and squares of what is
    left of class means, by shares (C,).
    """
    classes = scores.shape[1]
    z, p = np.empty(classes), np.empty(classes)
    for i in range(len(effects)):
        top, mean, total = -np.inf, 0.0, 0.0
        for k in range(classes):
            top = max(top, scores[i, k] + intercept[k])
        for k in range(classes):
            p[k] = np.exp(scores[i, k] + intercept[k] - top)
            total += p[k]
            mean += shares[k] * scores[i, k]
        for k in range(classes):
            p[k] /= total
            z[k] = shares[k] * (scores[i, k] - mean)
        for t in range(effects.shape[1]):
            product, square, mean, first, second = 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(classes):
                e = effects[i, t, k]
                product += z[k] * e
                mean += shares[k] * e
                square += shares[k] * e * e
                first += p[k] * e
                second += p[k] * e * e
            sums[t, 0] += weights[i] * product
            sums[t, 1] += weights[i] * (square - mean * mean)
            sums[t, 2] += weights[i] * 0.5 * (second - first * first)


@kernel
def losses_without(effects, scores, y, weights, sums):
    """Add to sums (T, 2), over rows, by how much -log p(y) rises where a row's scores lack each tuple, and its square:
    effects (R, T, C), scores (R, C), y and weights (R,).
    """
    classes = scores.shape[1]
    for i in range(len(effects)):
        whole = 0.0
        for t in range(-1, effects.shape[1]):
            top = -np.inf
            for k in range(classes):
                top = max(top, scores[i, k] - (effects[i, t, k] if t >= 0 else 0.0))
            total = 0.0
            for k in range(classes):
                total += np.exp(scores[i, k] - (effects[i, t, k] if t >= 0 else 0.0) - top)
            loss = np.log(total) + top - scores[i, y[i]]
            if t < 0:
                whole = loss
            else:
                rise = loss + effects[i, t, y[i]] - whole
                sums[t, 0] += weights[i] * rise
                sums[t, 1] += weights[i] * rise * rise


@kernel
def losses_kept(effects, intercept, y, weights, ends, sums):
    """Add to sums (E + 1, 2), over rows, -log p(y) and whether another class is predicted, by the intercept (C,) and
    the first ends[e - 1] of the tuples alone: effects (R, T, C), ends (E,) ascending.
    """
    classes = len(intercept)
    scores = np.empty(classes)
    for i in range(len(effects)):
        for k in range(classes):
            scores[k] = intercept[k]
        done = 0
        for e in range(len(ends) + 1):
            for t in range(done, ends[e - 1] if e > 0 else 0):
                for k in range(classes):
                    scores[k] += effects[i, t, k]
            done = ends[e - 1] if e > 0 else 0
            best = 0
            for k in range(classes):
                if scores[k] > scores[best]:
                    best = k
            total = 0.0
            for k in range(classes):
                total += np.exp(scores[k] - scores[best])
            sums[e, 0] += weights[i] * (np.log(total) + scores[best] - scores[y[i]])
            sums[e, 1] += weights[i] * (best != y[i])


@kernel
def fit_margins(t, n, counts, looked, begin, at, room, tol, most):
    """Return G2 of tuple t's counts (cells x C) against what their slices' classes say, by iterative proportional
    fitting: the table of the same weight in each cell, and of the same classes in each slice, nearest to even; and
    Pearson's chi square. Both are sums over what is looked at (cells x C); terms of G2 are 2 (n log(n / e) - n + e).
    """
    lo, hi, base = begin[t], begin[t + 1], room[t, 0]
    rows, classes = room[t, n] - base, counts.shape[1]
    target, sums = np.zeros((rows, classes)), np.zeros((rows, classes))
    fitted = np.ones((hi - lo, classes))
    for c in range(lo, hi):
        for j in range(n):
            for k in range(classes):
                target[at[c, j] - base, k] += counts[c, k]
    for _ in range(most):
        off = 0.0
        for j in range(n):
            sums[:] = 0.0
            for c in range(lo, hi):
                for k in range(classes):
                    sums[at[c, j] - base, k] += fitted[c - lo, k]
            for c in range(lo, hi):
                m = at[c, j] - base
                for k in range(classes):
                    if sums[m, k] > 0.0:
                        fitted[c - lo, k] *= target[m, k] / sums[m, k]
        for c in range(lo, hi):
            whole, weight = 0.0, 0.0
            for k in range(classes):
                whole += fitted[c - lo, k]
                weight += counts[c, k]
            if whole > 0.0:
                off = max(off, abs(weight - whole) / max(weight, 1.0))
                for k in range(classes):
                    fitted[c - lo, k] *= weight / whole
        if off < tol:
            break
    g2, chi2 = 0.0, 0.0
    for c in range(lo, hi):
        for k in range(classes):
            e = fitted[c - lo, k]
            if looked[c, k] and e > 0.0:
                g2 += 2.0 * (e - counts[c, k])
                chi2 += (counts[c, k] - e) ** 2 / e
                if counts[c, k] > 0.0:
                    g2 += 2.0 * counts[c, k] * np.log(counts[c, k] / e)
    return g2, chi2


@kernel
def margin_rank(cells, n, at, base, count, most):
    """Return the rank of the slices (K,) of some cells of a tuple of n columns: how many numbers their sums are; -1 if
    more than `most` numbers would have to be held.

    A slice with one cell is one of them, and goes with its cell. Of the rest, weights of slices that add up to 0 in
    every cell are looked for: where a cell knows all of its slices' weights but one, that follows; else one is free.
    What cells demand of the free ones, q of them, in sums drawn at random modulo a prime, says how many stay free.
    """
    degree = np.zeros(count, np.int64)
    rank, stays = _peel(cells, n, at, base, degree)
    rest = cells[stays]
    if not len(rest):
        return rank
    weight, free, slices = _free_weights(rest, n, at, base, degree, most)
    if free < 0:
        return -1
    return rank + slices - (free - _demanded(rest, n, at, base, weight, free))


@kernel
def _peel(cells, n, at, base, degree):
    """Take slices of one cell away with their cells, until there are none; return their number, and which cells stay.

    `degree` (K,), 0 at first, is how many of these each slice has.
    """
    count, owner = len(degree), np.zeros(len(degree), np.int64)
    stays = np.ones(len(cells), np.bool_)
    for i in range(len(cells)):
        for j in range(n):
            degree[at[cells[i], j] - base] += 1
            owner[at[cells[i], j] - base] ^= i  # of one cell, its number
    rank, stack, top = 0, np.empty(count, np.int64), 0
    for s in range(count):
        if degree[s] == 1:
            stack[top] = s
            top += 1
    while top:
        top -= 1
        if degree[stack[top]] != 1:
            continue
        i = owner[stack[top]]
        rank, stays[i] = rank + 1, False
        for j in range(n):
            s = at[cells[i], j] - base
            degree[s] -= 1
            owner[s] ^= i
            if degree[s] == 1:
                stack[top] = s
                top += 1
    return rank, stays


@kernel
def _free_weights(cells, n, at, base, degree, most):
    """Return the weight (K, room) of each slice as a sum over the free ones, how many are free, and how many slices
    there are; -1 are free where more than `most` numbers would have to be held.
    """
    count = len(degree)
    begin, inside = _cells_of_slices(cells, n, at, base, degree)
    missing, known = np.full(len(cells), n), np.zeros(count, np.bool_)
    room, free, first, slices = min(64, most // count), 0, 0, 0
    if room < 1:
        return np.zeros((0, 0), np.int64), -1, 0
    weight = np.zeros((count, room), np.int64)
    one, two = np.empty(len(cells) * n + 1, np.int64), np.empty(len(cells) * n + 1, np.int64)
    n_one, n_two = 0, 0  # cells that lack one weight, or two
    while True:
        i, n_one = _pop(one, n_one, missing, 1)
        if i >= 0:  # it follows
            chosen = _unknown(cells[i], n, at, base, known)
            for j in range(n):
                s = at[cells[i], j] - base
                if s != chosen:
                    for k in range(free):
                        weight[chosen, k] = (weight[chosen, k] - weight[s, k]) % _PRIME
        else:  # one is free: where another follows at once, else any
            i, n_two = _pop(two, n_two, missing, 2)
            if i >= 0:
                chosen = _unknown(cells[i], n, at, base, known)
            else:
                while first < count and (known[first] or not degree[first]):
                    first += 1
                if first == count:
                    return weight, free, slices
                chosen = first
            if free == room:
                room *= 2
                if room * count > most:
                    return weight, -1, slices
                wider = np.zeros((count, room), np.int64)
                wider[:, :free] = weight
                weight = wider
            weight[chosen, free] = 1
            free += 1
        known[chosen] = True
        slices += 1
        for place in range(begin[chosen], begin[chosen + 1]):
            i = inside[place]
            missing[i] -= 1
            if missing[i] == 1:
                one[n_one] = i
                n_one += 1
            elif missing[i] == 2:
                two[n_two] = i
                n_two += 1


@kernel
def _cells_of_slices(cells, n, at, base, degree):
    """Return where the cells of each slice begin (K + 1,), and these cells, slice after slice."""
    begin = np.zeros(len(degree) + 1, np.int64)
    begin[1:] = np.cumsum(degree)
    inside, end = np.empty(begin[-1], np.int64), begin[:-1].copy()
    for i in range(len(cells)):
        for j in range(n):
            s = at[cells[i], j] - base
            inside[end[s]] = i
            end[s] += 1
    return begin, inside


@kernel
def _pop(stack, top, missing, wanted):
    """Return the last cell of a stack that still lacks as many weights as wanted, -1 if none does, and the new top."""
    while top:
        top -= 1
        if missing[stack[top]] == wanted:
            return stack[top], top
    return np.int64(-1), top


@kernel
def _unknown(cell, n, at, base, known):
    """Return the last slice of a cell whose weight is not known."""
    found = np.int64(-1)
    for j in range(n):
        if not known[at[cell, j] - base]:
            found = at[cell, j] - base
    return found


@kernel
def _demanded(cells, n, at, base, weight, free):
    """Return the rank of what cells demand of the free weights: of random sums of their demands, until one is 0."""
    count = len(weight)
    demands, pivots, held = np.zeros((free, free), np.int64), np.empty(free, np.int64), 0
    share, row, state = np.empty(count, np.int64), np.empty(free, np.int64), np.uint64(88172645463325252)
    while held < free:
        share[:] = 0
        for i in range(len(cells)):
            state ^= state << np.uint64(13)  # Marsaglia's xorshift
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            drawn = np.int64(state >> np.uint64(33))
            for j in range(n):
                share[at[cells[i], j] - base] += drawn
        row[:] = 0
        for s in range(count):
            share[s] %= _PRIME
            if share[s]:
                for k in range(free):
                    row[k] = (row[k] + share[s] * weight[s, k]) % _PRIME
        for d in range(held):
            factor = row[pivots[d]]
            if factor:
                for k in range(free):
                    row[k] = (row[k] - factor * demands[d, k]) % _PRIME
        pivot = 0
        while pivot < free and row[pivot] == 0:
            pivot += 1
        if pivot == free:
            break
        inverse = _inverse(row[pivot])
        for k in range(free):
            demands[held, k] = row[k] * inverse % _PRIME
        pivots[held] = pivot
        held += 1
    return held


@kernel
def _inverse(number):
    """Return the inverse of a number modulo the prime, by Fermat's little theorem."""
    inverse, power, exponent = 1, number, _PRIME - 2
    while exponent:
        if exponent & 1:
            inverse = inverse * power % _PRIME
        power, exponent = power * power % _PRIME, exponent >> 1
    return inverse
