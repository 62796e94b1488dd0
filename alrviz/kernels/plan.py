"""Growing one block of a cover; models/plan.py explains covers.

Tuples are numbered lexicographically: the number of tuple (c_0, ..., c_(n-1)) is T - 1 - sum over i of weight[c_i, i],
with weight[c, i] = C(a - 1 - c, n - i). Each column adds a term that depends on its place alone, so that joining every
possible column to n - 1 others takes n steps each.

    tuple_is_open   (T,) uint8, tuples that no block covers yet
    key             (m,) the number of each sample row's joint value of the block's columns
    slots, stamps   workspace for counting joint values by their place among the possible ones; `slots` is -1
                    everywhere before and after, `stamps` hold the last `mark` that saw a place
"""

from typing import NamedTuple

import numpy as np

from alrviz.kernels import kernel


class Costs(NamedTuple):
    """Costs and limits by which a block grows.

    Attributes:
        max_joint: joint values that the sample may have.
        tuple_value: nanoseconds that covering a tuple is taken to save in a pass.
        doublings: how often the sample must be doubled to make all rows.
        joint_ns, link_ns: nanoseconds of a joint value, and of a link, in a pass.
        links_per_root: upper bound of a joint value's links, per square root of its tuples.
        max_candidates: columns examined for each column taken.
    """

    max_joint: int
    tuple_value: float
    doublings: float
    joint_ns: float
    link_ns: float
    links_per_root: float
    max_candidates: int


@kernel
def _sort(columns, m):
    """Sort the first m columns, by insertion: there are few."""
    for i in range(1, m):
        value, p = columns[i], i - 1
        while p >= 0 and columns[p] > value:
            columns[p + 1] = columns[p]
            p -= 1
        columns[p + 1] = value


@kernel
def _next_combination(combination, k, n):
    """Step to the next k of n in lexicographic order; return False after the last."""
    i = k - 1
    while i >= 0 and combination[i] == n - k + i:
        i -= 1
    if i < 0:
        return False
    combination[i] += 1
    for q in range(i + 1, k):
        combination[q] = combination[q - 1] + 1
    return True


@kernel
def _add_gains(block, size, n_members, fixed_column, in_block, tuple_is_open, weight, gains, members, tuple_columns):
    """Add to gains[j], for each column j outside the block, the number of open tuples that j would cover.

    These tuples are j, fixed_column (unless -1), and as many of the block's `size` columns as complete n_members.
    weight (a, n) numbers the tuples, as in the module; members and others are workspace.
    """
    a = weight.shape[0]
    last_tuple = len(tuple_is_open) - 1
    for i in range(n_members):
        members[i] = i
    while True:
        n_others = 0
        if fixed_column >= 0:
            tuple_columns[0] = fixed_column
            n_others = 1
        for i in range(n_members):
            tuple_columns[n_others] = block[members[i]]
            n_others += 1
        _sort(tuple_columns, n_others)
        for j in range(a):
            if in_block[j]:
                continue
            tuple_number, position = last_tuple, 0
            for i in range(n_others):
                if tuple_columns[i] < j:
                    tuple_number -= weight[tuple_columns[i], i]
                    position = i + 1
                else:
                    tuple_number -= weight[tuple_columns[i], i + 1]
            gains[j] += tuple_is_open[tuple_number - weight[j, position]]
        if not _next_combination(members, n_members, size):
            return


@kernel
def _count_pairs(key, codes, n_levels, stamps, mark, max_pairs, half_rows):
    """Return how many pairs (key, code) occur, and how many in the first half_rows rows; counting stops above
    max_pairs.

    key, codes (m,) of the sample; stamps[pair] == mark where a pair was seen; codes above n_levels are "no level".
    """
    width = np.int64(n_levels) + 1
    n_pairs = n_early = 0
    for r in range(len(key)):
        v = key[r] * width + min(np.int64(codes[r]), np.int64(n_levels))
        if stamps[v] != mark:
            stamps[v] = mark
            n_pairs += 1
            if n_pairs > max_pairs:
                return n_pairs, n_early
        if r == half_rows:
            n_early = n_pairs
    return n_pairs, n_early


@kernel
def _extrapolate(n_found, n_early, doublings):
    """Return how many joint values all rows should have, if a sample shows n_found and half of it n_early.

    The number grows by n_found / n_early with a doubling of the rows, as a power of them would, and less each time.
    """
    growth = n_found / max(n_early, 1) - 1.0
    n_values = float(n_found)
    while doublings > 0.0:
        growth *= 0.9
        n_values *= 1.0 + growth * min(doublings, 1.0)
        doublings -= 1.0
    return n_values


@kernel
def _join(key, size, codes, n_levels, slots):
    """Replace each key (m,) by the number of its pair (key, code), in order of first occurrence; return their number.

    size: number of different keys; codes (m,), those above n_levels are "no level"; slots: workspace, -1 before and
    after.
    """
    # A copy of cells.join, because numba's cache does not notice an edit there; a plan needs no first rows.
    n_found = 0
    width = np.int64(n_levels) + 1
    for r in range(len(key)):
        v = key[r] * width + min(np.int64(codes[r]), np.int64(n_levels))
        if slots[v] < 0:
            slots[v] = n_found
            n_found += 1
        key[r] = slots[v]
    for v in range(size * width):
        slots[v] = -1
    return n_found


@kernel
def _start_block(codes, levels, seed, block, in_block, gains, key, slots):
    """Write the columns of `seed` to `block`, mark them in `in_block`, and write the joint value of each row to `key`.

    codes (a, m) of the sample, levels (a,). Also clears `gains`. Returns the number of joint values in the sample; 0 if
    more are possible than `slots` holds.
    """
    for j in range(len(in_block)):
        in_block[j] = 0
        gains[j] = 0
    for r in range(len(key)):
        key[r] = 0
    for i in range(len(seed)):
        block[i] = seed[i]
        in_block[seed[i]] = 1
    n_values = np.int64(1)  # not a bare constant, for whose type numba would compile all callees once more
    for c in seed:
        if n_values * (np.int64(levels[c]) + 1) > len(slots):
            return 0
        n_values = _join(key, n_values, codes[c], levels[c], slots)
    return n_values


@kernel
def _best_column(is_excluded, gains, levels):
    """Return the column that covers most tuples, of equals the one of fewest levels; -1 if none covers any.

    is_excluded (a,): columns that are not considered; gains (a,): open tuples each covers; levels (a,).
    """
    best = -1
    for j in range(len(gains)):
        if is_excluded[j] or gains[j] == 0:
            continue
        if best < 0 or gains[j] > gains[best] or (gains[j] == gains[best] and levels[j] < levels[best]):
            best = j
    return best


@kernel
def _expected_links(n_tuples, links_per_root):
    """Return the expected links of a joint value in a block of n_tuples tuples."""
    return min(float(n_tuples), links_per_root * np.sqrt(n_tuples))


@kernel
def _cheapest_column(codes, levels, n_values, block_joint, n_tuples, workspace, costs, key, n_slots, stamps, mark):
    """Return (the column with most tuples per cost, joint values expected with it, mark); column -1 if none pays.

    Args:
        codes, levels: (a, m) and (a,) of the sample.
        n_values, block_joint, n_tuples: the block's joint values in the sample, those expected in all rows, its tuples.
        workspace: (6, a), see `grow`.
        costs: `Costs`.
        key, stamps, mark: see the module.
        n_slots: a column that makes more joint values possible is not examined.
    """
    in_block, gains, is_excluded = workspace[1], workspace[2], workspace[3]
    best_column, best_value, best_joint = -1, 0.0, 0.0
    for j in range(len(in_block)):
        is_excluded[j] = in_block[j]
    for _ in range(costs.max_candidates):
        column = _best_column(is_excluded, gains, levels)
        if column < 0:
            break
        is_excluded[column] = 1
        if n_values * (np.int64(levels[column]) + 1) > n_slots:
            continue
        mark += 1
        n_pairs, n_early = _count_pairs(
            key, codes[column], levels[column], stamps, mark, costs.max_joint, len(key) // 2
        )
        if n_pairs > costs.max_joint:
            continue
        joint = _extrapolate(n_pairs, n_early, costs.doublings)
        links = joint * _expected_links(n_tuples + gains[column], costs.links_per_root)
        more_links = links - block_joint * _expected_links(n_tuples, costs.links_per_root)
        more_ns = costs.joint_ns * (joint - block_joint) + costs.link_ns * more_links
        if more_ns >= gains[column] * costs.tuple_value:
            continue
        value = gains[column] / max(more_ns, 1.0)
        if best_column < 0 or value > best_value:
            best_column, best_value, best_joint = column, value, joint
    return best_column, best_joint, mark


@kernel
def grow(codes, levels, seed, tuple_is_open, weight, costs, key, slots, stamps, mark, workspace):
    """Grow a block around the columns of `seed`; return (number of columns, joint values expected, tuples, mark).

    Args:
        codes: (a, m) a sample of rows.
        levels: (a,) of the columns.
        weight: (a, n) numbers of tuples; tuple_is_open, key, slots, stamps, mark: see the module.
        costs: `Costs`.
        workspace: (6, a) int64; its first row holds the block's columns on return.

    Joint values are those expected in all rows, not in the sample.
    """
    a, n = weight.shape
    block, in_block, gains, members, others = workspace[0], workspace[1], workspace[2], workspace[4], workspace[5]
    n_values = _start_block(codes, levels, seed, block, in_block, gains, key, slots)
    if n_values == 0:
        return n, codes.shape[1] * 2.0**costs.doublings, 1, mark
    n_early = np.int64(0)
    for r in range(len(key) // 2):
        n_early = max(n_early, key[r] + 1)
    block_joint, n_tuples, size = _extrapolate(n_values, n_early, costs.doublings), np.int64(1), n
    if n_values > costs.max_joint or n == a:
        return n, block_joint, 1, mark
    _add_gains(block, size, n - 1, np.int64(-1), in_block, tuple_is_open, weight, gains, members, others)
    while size < a:
        column, joint, mark = _cheapest_column(
            codes, levels, n_values, block_joint, n_tuples, workspace, costs, key, len(slots), stamps, mark
        )
        if column < 0:
            break
        n_values = _join(key, n_values, codes[column], levels[column], slots)
        block_joint = joint
        n_tuples += gains[column]
        in_block[column] = 1
        if n >= 2:
            _add_gains(block, size, n - 2, column, in_block, tuple_is_open, weight, gains, members, others)
        block[size] = column
        size += 1
    return size, block_joint, n_tuples, mark


@kernel
def cover_tuples(block, tuple_is_open, weight, covered_tuples, members):
    """Mark the open tuples of the ascending columns `block` as covered; write their numbers, return their count."""
    n = weight.shape[1]
    for i in range(n):
        members[i] = i
    n_covered = 0
    while True:
        number = len(tuple_is_open) - 1
        for i in range(n):
            number -= weight[block[members[i]], i]
        if tuple_is_open[number]:
            tuple_is_open[number] = 0
            covered_tuples[n_covered] = number
            n_covered += 1
        if not _next_combination(members, n, len(block)):
            return n_covered
