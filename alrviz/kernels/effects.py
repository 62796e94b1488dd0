"""Pure effects: what tuples add to scores beyond what their subtuples add. models/effects.py has the definition.

A *slice* of a tuple is the set of its cells that agree in all columns but one: a cell of the subtuple without it.

    f             (S, C) what each cell adds, cells of a tuple together; w (S,) its share of the weight
    begin         (T + 1,) where a tuple's cells begin
    subtuples     (T, n) the tuple without its column j, -1 for the intercept
    slices        (S, n) the slice of each cell and column, -1 for none; slice_weights (M,) the weight of each
    first_slice   (T, n + 1) where the slices of tuple t and column j begin, in column n where they end
    moves         (M, C) what was moved from each slice's cells to the subtuple's cell
"""

import numpy as np

from alrviz.kernels import kernel

_PRIME = 2147483647  # products of two smaller numbers fit 64 bits


@kernel
def _slice_means(n, f, w, slices, slice_weights, first, begin, end, means):
    """Write to means (K, C) the weighted means of f over each slice of a tuple of n columns, `first` the first of them.

    The tuple's cells are begin .. end; f, w, slices and slice_weights as in the module. Returns the largest absolute
    mean and the weighted sum of the squared means.
    """
    means[:] = 0.0
    for c in range(begin, end):
        if w[c] > 0.0:
            for j in range(n):
                for k in range(f.shape[1]):
                    means[slices[c, j] - first, k] += w[c] * f[c, k]
    largest, squares = 0.0, 0.0
    for m in range(len(means)):
        if slice_weights[first + m] > 0.0:
            for k in range(f.shape[1]):
                means[m, k] /= slice_weights[first + m]
                largest = max(largest, abs(means[m, k]))
                squares += slice_weights[first + m] * means[m, k] * means[m, k]
    return largest, squares


@kernel
def purify(t, n, f, w, begin, slices, slice_weights, first_slice, moves, tol, max_steps):
    """Make all slice means of tuple t, of n columns, 0; return the largest one left, relative to the largest f.

    The means are the slopes of  min over m of  sum_c w_c |f_c - sum_j m_j(c)|^2,  which conjugate gradients solve.
    Unlike sweeps column by column, no column comes first, and nearly equal columns (correlation .99) take forty steps,
    not a thousand. f plus what was moved is constant throughout, wherever the iteration ends after at most `max_steps`.
    """
    lo, hi, first = begin[t], begin[t + 1], first_slice[t, 0]
    n_slices = first_slice[t, n] - first
    means, direction, largest_f = np.zeros((n_slices, f.shape[1])), np.zeros((n_slices, f.shape[1])), 0.0
    for c in range(lo, hi):
        for k in range(f.shape[1]):
            largest_f = max(largest_f, abs(f[c, k]))
    largest_mean, squared_norm = _slice_means(n, f, w, slices, slice_weights, first, lo, hi, means)
    previous_norm = np.inf
    for _ in range(max_steps):
        if largest_mean <= tol * largest_f:
            break
        for m in range(n_slices):
            for k in range(f.shape[1]):
                direction[m, k] = means[m, k] + squared_norm / previous_norm * direction[m, k]
        curvature = 0.0
        for c in range(lo, hi):
            if w[c] > 0.0:
                for k in range(f.shape[1]):
                    cell_change = 0.0
                    for j in range(n):
                        cell_change += direction[slices[c, j] - first, k]
                    curvature += w[c] * cell_change * cell_change
        if curvature <= 0.0:
            break
        step = squared_norm / curvature
        for c in range(lo, hi):
            for j in range(n):
                if slices[c, j] >= 0:
                    for k in range(f.shape[1]):
                        f[c, k] -= step * direction[slices[c, j] - first, k]
        for m in range(n_slices):
            for k in range(f.shape[1]):
                moves[first + m, k] += step * direction[m, k]
        previous_norm = squared_norm
        largest_mean, squared_norm = _slice_means(n, f, w, slices, slice_weights, first, lo, hi, means)
    return largest_mean / largest_f if largest_f > 0.0 else 0.0


@kernel
def row_effects(
    cell_rows, tuple_numbers, codes, first_row, levels, tuples, begin, f, defaults, subtuples, first_slice, moves, out
):
    """Write to out (R, m, C) what the tuples `tuple_numbers` (m,) add to the scores of R rows of the codes from
    first_row on.

    Args:
        cell_rows: (R, T) rows of a cell table, as kernels/cells.py defines them.
        codes: (a, N) codes of the columns.
        levels: (a,) levels of the columns; codes from levels[j] on are no level.
        tuples: (T, n) columns of each tuple.
        begin, f, subtuples, first_slice, moves: as in the module.
        defaults: (2T, C) what a cell that is not in the table adds before moves: row t, or T + t if it has no level.
    """
    n_tuples = len(begin) - 1
    for i in range(len(cell_rows)):
        for q in range(len(tuple_numbers)):
            t = tuple_numbers[q]
            s = np.int64(cell_rows[i, t]) - 2 * n_tuples
            if s >= 0:
                for k in range(f.shape[1]):
                    out[i, q, k] = f[s, k]
                continue
            default = t
            for j in range(tuples.shape[1]):
                if codes[tuples[t, j], first_row + i] >= levels[tuples[t, j]]:
                    default = n_tuples + t
            for k in range(f.shape[1]):
                out[i, q, k] = defaults[default, k]
            for j in range(subtuples.shape[1]):
                row = first_slice[t, j]
                if first_slice[t, j + 1] == row:
                    continue
                if subtuples[t, j] >= 0:
                    sub_cell = np.int64(cell_rows[i, subtuples[t, j]]) - 2 * n_tuples
                    if sub_cell < 0:
                        continue
                    row += sub_cell - begin[subtuples[t, j]]
                for k in range(f.shape[1]):
                    out[i, q, k] -= moves[row, k]


@kernel
def add_moments(effects, scores, intercept, weights, class_shares, sums):
    """Add to sums (T, 3) each tuple's weighted product with the score, its square, and half its variance over classes.

    Args:
        effects: (R, T, C).
        scores: (R, C) sums of the effects, without the intercept (C,).
        weights: (R,) weights of the rows.
        class_shares: (C,) weights of classes in the products and squares, whose class means are taken away. The
            variance is over the row's predicted probabilities.
    """
    classes = scores.shape[1]
    z, p = np.empty(classes), np.empty(classes)
    for i in range(len(effects)):
        largest, mean, exp_sum = -np.inf, 0.0, 0.0
        for k in range(classes):
            largest = max(largest, scores[i, k] + intercept[k])
        for k in range(classes):
            p[k] = np.exp(scores[i, k] + intercept[k] - largest)
            exp_sum += p[k]
            mean += class_shares[k] * scores[i, k]
        for k in range(classes):
            p[k] /= exp_sum
            z[k] = class_shares[k] * (scores[i, k] - mean)
        for t in range(effects.shape[1]):
            product, square, mean, mean_p, mean_p2 = 0.0, 0.0, 0.0, 0.0, 0.0
            for k in range(classes):
                e = effects[i, t, k]
                product += z[k] * e
                mean += class_shares[k] * e
                square += class_shares[k] * e * e
                mean_p += p[k] * e
                mean_p2 += p[k] * e * e
            sums[t, 0] += weights[i] * product
            sums[t, 1] += weights[i] * (square - mean * mean)
            sums[t, 2] += weights[i] * 0.5 * (mean_p2 - mean_p * mean_p)


@kernel
def losses_without(effects, scores, y, weights, sums):
    """Add to sums (T, 2), over rows, the rise of -log p(y) when each tuple is left out of the score, and its square.

    effects (R, T, C), scores (R, C) with the intercept, y and weights (R,).
    """
    classes = scores.shape[1]
    for i in range(len(effects)):
        full_loss = 0.0
        for t in range(-1, effects.shape[1]):
            largest = -np.inf
            for k in range(classes):
                largest = max(largest, scores[i, k] - (effects[i, t, k] if t >= 0 else 0.0))
            exp_sum = 0.0
            for k in range(classes):
                exp_sum += np.exp(scores[i, k] - (effects[i, t, k] if t >= 0 else 0.0) - largest)
            loss = np.log(exp_sum) + largest - scores[i, y[i]]
            if t < 0:
                full_loss = loss
            else:
                rise = loss + effects[i, t, y[i]] - full_loss
                sums[t, 0] += weights[i] * rise
                sums[t, 1] += weights[i] * rise * rise


@kernel
def losses_of_first_tuples(effects, intercept, y, weights, n_tuples, sums):
    """Add to sums (E + 1, 2), over rows, -log p(y) and whether a class is predicted wrongly, of models of few tuples.

    Model 0 is the intercept (C,) alone; model e adds the first n_tuples[e - 1] tuples of effects (R, T, C); n_tuples
    (E,) is ascending.
    """
    classes = len(intercept)
    scores = np.empty(classes)
    for i in range(len(effects)):
        for k in range(classes):
            scores[k] = intercept[k]
        n_added = 0
        for e in range(len(n_tuples) + 1):
            for t in range(n_added, n_tuples[e - 1] if e > 0 else 0):
                for k in range(classes):
                    scores[k] += effects[i, t, k]
            n_added = n_tuples[e - 1] if e > 0 else 0
            predicted = 0
            for k in range(classes):
                if scores[k] > scores[predicted]:
                    predicted = k
            exp_sum = 0.0
            for k in range(classes):
                exp_sum += np.exp(scores[k] - scores[predicted])
            sums[e, 0] += weights[i] * (np.log(exp_sum) + scores[predicted] - scores[y[i]])
            sums[e, 1] += weights[i] * (predicted != y[i])


@kernel
def fit_margins(t, n, counts, included, begin, slices, first_slice, tol, max_sweeps):
    """Return G2 and Pearson's chi square of tuple t's counts (S, C) against a table without its interaction.

    That table has the weight of each cell and the class counts of each slice, and is otherwise as even as possible; it
    is fitted by iterative proportional fitting, at most `max_sweeps` sweeps, to the relative error `tol`. Both
    statistics are sums over the `included` (S, C) cells and classes; terms of G2 are 2 (n log(n / e) - n + e). n:
    columns of the tuple; begin, slices, first_slice as in the module.
    """
    lo, hi, first = begin[t], begin[t + 1], first_slice[t, 0]
    n_slices, classes = first_slice[t, n] - first, counts.shape[1]
    slice_counts, fitted_sums = np.zeros((n_slices, classes)), np.zeros((n_slices, classes))
    fitted_weights = np.ones((hi - lo, classes))
    for c in range(lo, hi):
        for j in range(n):
            for k in range(classes):
                slice_counts[slices[c, j] - first, k] += counts[c, k]
    for _ in range(max_sweeps):
        largest_error = 0.0
        for j in range(n):
            fitted_sums[:] = 0.0
            for c in range(lo, hi):
                for k in range(classes):
                    fitted_sums[slices[c, j] - first, k] += fitted_weights[c - lo, k]
            for c in range(lo, hi):
                m = slices[c, j] - first
                for k in range(classes):
                    if fitted_sums[m, k] > 0.0:
                        fitted_weights[c - lo, k] *= slice_counts[m, k] / fitted_sums[m, k]
        for c in range(lo, hi):
            cell_sum, cell_weight = 0.0, 0.0
            for k in range(classes):
                cell_sum += fitted_weights[c - lo, k]
                cell_weight += counts[c, k]
            if cell_sum > 0.0:
                largest_error = max(largest_error, abs(cell_weight - cell_sum) / max(cell_weight, 1.0))
                for k in range(classes):
                    fitted_weights[c - lo, k] *= cell_weight / cell_sum
        if largest_error < tol:
            break
    g2, chi2 = 0.0, 0.0
    for c in range(lo, hi):
        for k in range(classes):
            e = fitted_weights[c - lo, k]
            if included[c, k] and e > 0.0:
                g2 += 2.0 * (e - counts[c, k])
                chi2 += (counts[c, k] - e) ** 2 / e
                if counts[c, k] > 0.0:
                    g2 += 2.0 * counts[c, k] * np.log(counts[c, k] / e)
    return g2, chi2


@kernel
def margin_rank(cells, n, slices, first, n_slices, max_numbers):
    """Return how many sums over the slices (K,) of some cells of a tuple with n columns are independent.

    -1 if more than `max_numbers` numbers would have to be stored. A slice with one cell is independent, and is removed
    together with its cell. Of the rest, the rank is their number less the dimension of the slice weights that add up to
    0 in every cell. Where all weights of a cell but one are known, the last follows; otherwise one is free. How many of
    the free ones stay free is found by elimination in random sums of the cells' equations, modulo a prime.
    """
    n_cells_of_slice = np.zeros(n_slices, np.int64)
    rank, remaining = _remove_single_cells(cells, n, slices, first, n_cells_of_slice)
    core = cells[remaining]
    if not len(core):
        return rank
    weights, n_free, n_weighted = _free_weights(core, n, slices, first, n_cells_of_slice, max_numbers)
    if n_free < 0:
        return -1
    return rank + n_weighted - (n_free - _equation_rank(core, n, slices, first, weights, n_free))


@kernel
def _remove_single_cells(cells, n, slices, first, n_cells_of_slice):
    """Remove slices of one cell with their cells until there are none; return their number, and which cells (S,)
    remain.

    cells (S,), each in the n slices slices[cell], numbered from `first` on. n_cells_of_slice (K,), 0 at first, becomes
    the number of remaining cells of each slice.
    """
    n_slices, cell_xor = len(n_cells_of_slice), np.zeros(len(n_cells_of_slice), np.int64)
    remaining = np.ones(len(cells), np.bool_)
    for i in range(len(cells)):
        for j in range(n):
            n_cells_of_slice[slices[cells[i], j] - first] += 1
            cell_xor[slices[cells[i], j] - first] ^= i  # of a slice with one cell left: that cell
    rank, stack, top = 0, np.empty(n_slices, np.int64), 0
    for s in range(n_slices):
        if n_cells_of_slice[s] == 1:
            stack[top] = s
            top += 1
    while top:
        top -= 1
        if n_cells_of_slice[stack[top]] != 1:
            continue
        i = cell_xor[stack[top]]
        rank, remaining[i] = rank + 1, False
        for j in range(n):
            s = slices[cells[i], j] - first
            n_cells_of_slice[s] -= 1
            cell_xor[s] ^= i
            if n_cells_of_slice[s] == 1:
                stack[top] = s
                top += 1
    return rank, remaining


@kernel
def _free_weights(cells, n, slices, first_slice, n_cells_of_slice, max_numbers):
    """Return (weights (K, capacity) of the slices as sums over the free ones, number of free ones, number of slices).

    cells (m,), each in the n slices slices[cell], numbered from first_slice on; n_cells_of_slice (K,). The number of
    free ones is -1 where more than `max_numbers` numbers would have to be stored.
    """
    n_slices = len(n_cells_of_slice)
    begin, slice_cells = _cells_of_slices(cells, n, slices, first_slice, n_cells_of_slice)
    n_unknown, is_known = np.full(len(cells), n), np.zeros(n_slices, np.bool_)
    capacity, n_free, next_slice, n_known = min(64, max_numbers // n_slices), 0, 0, 0
    if capacity < 1:
        return np.zeros((0, 0), np.int64), -1, 0
    weights = np.zeros((n_slices, capacity), np.int64)
    one_unknown, two_unknown = np.empty(len(cells) * n + 1, np.int64), np.empty(len(cells) * n + 1, np.int64)
    one_top, two_top = 0, 0  # stacks of cells with one and with two unknown weights
    while True:
        i, one_top = _pop(one_unknown, one_top, n_unknown, 1)
        if i >= 0:  # its last weight follows from the others
            chosen_slice = _unknown_slice(cells[i], n, slices, first_slice, is_known)
            for j in range(n):
                s = slices[cells[i], j] - first_slice
                if s != chosen_slice:
                    for k in range(n_free):
                        weights[chosen_slice, k] = (weights[chosen_slice, k] - weights[s, k]) % _PRIME
        else:  # a weight is free: in a cell where the other one then follows, else any
            i, two_top = _pop(two_unknown, two_top, n_unknown, 2)
            if i >= 0:
                chosen_slice = _unknown_slice(cells[i], n, slices, first_slice, is_known)
            else:
                while next_slice < n_slices and (is_known[next_slice] or not n_cells_of_slice[next_slice]):
                    next_slice += 1
                if next_slice == n_slices:
                    return weights, n_free, n_known
                chosen_slice = next_slice
            if n_free == capacity:
                capacity *= 2
                if capacity * n_slices > max_numbers:
                    return weights, -1, n_known
                larger = np.zeros((n_slices, capacity), np.int64)
                larger[:, :n_free] = weights
                weights = larger
            weights[chosen_slice, n_free] = 1
            n_free += 1
        is_known[chosen_slice] = True
        n_known += 1
        for position in range(begin[chosen_slice], begin[chosen_slice + 1]):
            i = slice_cells[position]
            n_unknown[i] -= 1
            if n_unknown[i] == 1:
                one_unknown[one_top] = i
                one_top += 1
            elif n_unknown[i] == 2:
                two_unknown[two_top] = i
                two_top += 1


@kernel
def _cells_of_slices(cells, n, slices, first_slice, n_cells_of_slice):
    """Return where the cells of each slice begin (K + 1,), and the cells, slice after slice.

    cells (m,), each in the n slices slices[cell], numbered from first_slice on; n_cells_of_slice (K,).
    """
    begin = np.zeros(len(n_cells_of_slice) + 1, np.int64)
    begin[1:] = np.cumsum(n_cells_of_slice)
    slice_cells, slice_ends = np.empty(begin[-1], np.int64), begin[:-1].copy()
    for i in range(len(cells)):
        for j in range(n):
            s = slices[cells[i], j] - first_slice
            slice_cells[slice_ends[s]] = i
            slice_ends[s] += 1
    return begin, slice_cells


@kernel
def _pop(stack, top, n_unknown, number):
    """Return the last cell of stack[:top] that still has `number` unknown weights, -1 if none has, and the new top."""
    while top:
        top -= 1
        if n_unknown[stack[top]] == number:
            return stack[top], top
    return np.int64(-1), top


@kernel
def _unknown_slice(cell, n, slices, first_slice, is_known):
    """Return the last of a cell's n slices whose weight is unknown, counted from first_slice on; is_known (K,)."""
    unknown_slice = np.int64(-1)
    for j in range(n):
        if not is_known[slices[cell, j] - first_slice]:
            unknown_slice = slices[cell, j] - first_slice
    return unknown_slice


@kernel
def _equation_rank(cells, n, slices, first_slice, weights, n_free):
    """Return the rank of the equations of `cells` (m,) in the n_free free weights; weights (K, n_free) of the slices.

    A cell's equation: the weights of its n slices add up to 0. Equations are random sums over all cells; elimination
    stops at the first one that the others imply.
    """
    n_slices = len(weights)
    equations, pivots, rank = np.zeros((n_free, n_free), np.int64), np.empty(n_free, np.int64), 0
    slice_factors, row, state = np.empty(n_slices, np.int64), np.empty(n_free, np.int64), np.uint64(88172645463325252)
    while rank < n_free:
        slice_factors[:] = 0
        for i in range(len(cells)):
            state ^= state << np.uint64(13)  # Marsaglia's xorshift
            state ^= state >> np.uint64(7)
            state ^= state << np.uint64(17)
            random_factor = np.int64(state >> np.uint64(33))
            for j in range(n):
                slice_factors[slices[cells[i], j] - first_slice] += random_factor
        row[:] = 0
        for s in range(n_slices):
            slice_factors[s] %= _PRIME
            if slice_factors[s]:
                for k in range(n_free):
                    row[k] = (row[k] + slice_factors[s] * weights[s, k]) % _PRIME
        for d in range(rank):
            multiple = row[pivots[d]]
            if multiple:
                for k in range(n_free):
                    row[k] = (row[k] - multiple * equations[d, k]) % _PRIME
        pivot = 0
        while pivot < n_free and row[pivot] == 0:
            pivot += 1
        if pivot == n_free:
            break
        inverse = _inverse(row[pivot])
        for k in range(n_free):
            equations[rank, k] = row[k] * inverse % _PRIME
        pivots[rank] = pivot
        rank += 1
    return rank


@kernel
def _inverse(value):
    """Return the inverse of a number modulo the prime, by Fermat's little theorem."""
    inverse, power, exponent = 1, value, _PRIME - 2
    while exponent:
        if exponent & 1:
            inverse = inverse * power % _PRIME
        power, exponent = power * power % _PRIME, exponent >> 1
    return inverse
