"""Growing one block of a cover (models/plan.py has the idea).

Tuples are numbered lexicographically, T - 1 - sum over i of weight[c_i, i] with weight[c, i] = C(a - 1 - c, n - i): the
number of a tuple is a sum over its columns that depends on the place of each only, so that adding a column to n - 1
others for every possible column costs n steps each.
"""

from typing import NamedTuple

import numpy as np

from alrviz.kernels import kernel


class Costs(NamedTuple):
    """What decides whether a block grows.

    Attributes:
        most: joint values of the sample, at most.
        worth: what covering a tuple is worth. joint, link: what a joint value and a link cost, in the same unit.
        doublings: of the sample that make all rows.
        root: a joint value has at most so many times the root of its tuples as links.
        tried: candidates looked at for each column taken.
    """

    most: int
    worth: float
    doublings: float
    joint: float
    link: float
    root: float
    tried: int


@kernel
def _sort(columns, m):
    for i in range(1, m):
        value, p = columns[i], i - 1
        while p >= 0 and columns[p] > value:
            columns[p + 1] = columns[p]
            p -= 1
        columns[p + 1] = value


@kernel
def _next(chosen, k, n):
    """Step to the next k of n in lexicographic order; False after the last."""
    i = k - 1
    while i >= 0 and chosen[i] == n - k + i:
        i -= 1
    if i < 0:
        return False
    chosen[i] += 1
    for q in range(i + 1, k):
        chosen[q] = chosen[q - 1] + 1
    return True


@kernel
def _gain(block, size, k, fixed, inside, open_, weight, gains, chosen, others):
    """gains[j] += open tuples made of column j, k columns of the block and, if it is not -1, `fixed`; j outside."""
    a = weight.shape[0]
    last = len(open_) - 1
    for i in range(k):
        chosen[i] = i
    while True:
        m = 0
        if fixed >= 0:
            others[0] = fixed
            m = 1
        for i in range(k):
            others[m] = block[chosen[i]]
            m += 1
        _sort(others, m)
        for j in range(a):
            if inside[j]:
                continue
            number, place = last, 0
            for i in range(m):
                if others[i] < j:
                    number -= weight[others[i], i]
                    place = i + 1
                else:
                    number -= weight[others[i], i + 1]
            gains[j] += open_[number - weight[j, place]]
        if not _next(chosen, k, size):
            return


@kernel
def _distinct(key, code, top, stamp, mark, most, half):
    """Return how many pairs (key, code) occur, and how many in the first `half` rows; stops above `most`."""
    width = np.int64(top) + 1
    found = early = 0
    for r in range(len(key)):
        v = key[r] * width + min(np.int64(code[r]), np.int64(top))
        if stamp[v] != mark:
            stamp[v] = mark
            found += 1
            if found > most:
                return found, early
        if r == half:
            early = found
    return found, early


@kernel
def _in_all(found, early, doublings):
    """Return how many joint values all rows should have, of which a sample shows `found` and half of it `early`.

    The number grows by found / early with each doubling of the rows, as a power of them; a little less each time.
    """
    more = found / max(early, 1) - 1.0
    total = float(found)
    while doublings > 0.0:
        more *= 0.9
        total *= 1.0 + more * min(doublings, 1.0)
        doublings -= 1.0
    return total


@kernel
def _join(key, size, code, top, slot):
    """Number the pairs (key, code) by first occurrence; `slot` is -1 everywhere before and after."""
    # As joint_values.join, but here: a compiled kernel would not see an edit there, and a plan asks for no row.
    found = 0
    width = np.int64(top) + 1
    for r in range(len(key)):
        v = key[r] * width + min(np.int64(code[r]), np.int64(top))
        if slot[v] < 0:
            slot[v] = found
            found += 1
        key[r] = slot[v]
    for v in range(size * width):
        slot[v] = -1
    return found


@kernel
def _begin(codes, tops, seed, block, inside, gains, key, slot):
    """Begin a block with the columns of `seed`; return its joint values in the sample, 0 if too many are possible."""
    for j in range(len(inside)):
        inside[j] = 0
        gains[j] = 0
    for r in range(len(key)):
        key[r] = 0
    for i in range(len(seed)):
        block[i] = seed[i]
        inside[seed[i]] = 1
    values = np.int64(1)  # a bare constant is a type of its own, for which all that it is handed to compiles once more
    for c in seed:
        if values * (np.int64(tops[c]) + 1) > len(slot):
            return 0
        values = _join(key, values, codes[c], tops[c], slot)
    return values


@kernel
def _most_gained(looked, gains, tops):
    """Return the column not looked at that covers most tuples, of equals the one of fewest levels; -1 if none does."""
    c = -1
    for j in range(len(gains)):
        if looked[j] or gains[j] == 0:
            continue
        if c < 0 or gains[j] > gains[c] or (gains[j] == gains[c] and tops[j] < tops[c]):
            c = j
    return c


@kernel
def _links(tuples, root):
    """Return the links that a joint value of so many tuples should have."""
    return min(float(tuples), root * np.sqrt(tuples))


@kernel
def _cheapest(codes, tops, values, expected, tuples, room, costs, key, slots, stamp, mark):
    """Return (column that costs least for each tuple it covers, joint values expected with it, mark); -1 if none pays.

    A column of more than `slots` possible joint values with the block is not looked at.
    """
    inside, gains, looked = room[1], room[2], room[3]
    best, best_merit, best_expected = -1, 0.0, 0.0
    for j in range(len(inside)):
        looked[j] = inside[j]
    for _ in range(costs.tried):
        c = _most_gained(looked, gains, tops)
        if c < 0:
            break
        looked[c] = 1
        if values * (np.int64(tops[c]) + 1) > slots:
            continue
        mark += 1
        found, early = _distinct(key, codes[c], tops[c], stamp, mark, costs.most, len(key) // 2)
        if found > costs.most:
            continue
        after = _in_all(found, early, costs.doublings)
        links = after * _links(tuples + gains[c], costs.root) - expected * _links(tuples, costs.root)
        price = costs.joint * (after - expected) + costs.link * links
        if price >= gains[c] * costs.worth:
            continue
        merit = gains[c] / max(price, 1.0)
        if best < 0 or merit > best_merit:
            best, best_merit, best_expected = c, merit, after
    return best, best_expected, mark


@kernel
def grow(codes, tops, seed, open_, weight, costs, key, slot, stamp, mark, room):
    """Return (number of columns, joint values expected in all rows, tuples, mark) of a block grown around `seed`.

    codes (a, m): a sample of rows;  open_ (T,) uint8: tuples that no block has yet;  room (6, a) int64: the columns are
    left in its first row.
    """
    a, n = weight.shape
    block, inside, gains, chosen, others = room[0], room[1], room[2], room[4], room[5]
    values = _begin(codes, tops, seed, block, inside, gains, key, slot)
    if values == 0:
        return n, codes.shape[1] * 2.0**costs.doublings, 1, mark
    early = np.int64(0)
    for r in range(len(key) // 2):
        early = max(early, key[r] + 1)
    expected, tuples, total = _in_all(values, early, costs.doublings), np.int64(1), n
    if values > costs.most or n == a:
        return n, expected, 1, mark
    _gain(block, total, n - 1, np.int64(-1), inside, open_, weight, gains, chosen, others)
    while total < a:
        best, after, mark = _cheapest(codes, tops, values, expected, tuples, room, costs, key, len(slot), stamp, mark)
        if best < 0:
            break
        values = _join(key, values, codes[best], tops[best], slot)
        expected = after
        tuples += gains[best]
        inside[best] = 1
        if n >= 2:
            _gain(block, total, n - 2, best, inside, open_, weight, gains, chosen, others)
        block[total] = best
        total += 1
    return total, expected, tuples, mark


@kernel
def close(block, open_, weight, taken, chosen):
    """Mark the open tuples of the ascending columns `block` as covered and write their numbers to `taken`.

    Returns how many there are.
    """
    n = weight.shape[1]
    for i in range(n):
        chosen[i] = i
    found = 0
    while True:
        number = len(open_) - 1
        for i in range(n):
            number -= weight[block[chosen[i]], i]
        if open_[number]:
            open_[number] = 0
            taken[found] = number
            found += 1
        if not _next(chosen, n, len(block)):
            return found
