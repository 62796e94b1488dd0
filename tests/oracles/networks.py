"""Bayesian network classifiers from their formulas: dictionaries of counts, one row at a time.

Codes are (a, N); a code that is its column's number of levels is no level.
"""

from itertools import combinations, permutations, product
from math import log

import numpy as np


def _matching(codes, y, weights, columns, values, k):
    """Weight of the rows of class k (None: of any) whose `columns` have `values`."""
    return sum(
        w
        for i, w in enumerate(weights)
        if (k is None or y[i] == k) and all(codes[j][i] == v for j, v in zip(columns, values, strict=True))
    )


def _card(codes, levels, j):
    """How many levels of column j occur, at least 1."""
    return max(1, len({c for c in codes[j] if c < levels[j]}))


def naive_given(codes, levels, y, weights, child, level, parents, values, k, m):
    """p(child = level | parents = values, k): smoothed; by itself where class k has no row with those parents."""
    card = _card(codes, levels, child)
    known = all(v < levels[j] for j, v in zip(parents, values, strict=True))
    both = [_matching(codes, y, weights, [*parents, child], [*values, v], k) for v in range(levels[child])]
    if known and sum(both) > 0:
        return (both[level] + m / card) / (sum(both) + m)
    alone = [_matching(codes, y, weights, [child], [v], k) for v in range(levels[child])]
    return (alone[level] + m / card) / (sum(alone) + m)


def naive_network(codes, levels, y, weights, n_classes, m, parents, row):
    """(C,) log p(k) + sum over columns of log p(level | levels of the parents, k) of one row of codes."""
    total = sum(weights)
    mass = [_matching(codes, y, weights, [], [], k) for k in range(n_classes)]
    scores = np.array([log((n + m / n_classes) / (total + m)) for n in mass])
    for j, level in enumerate(row):
        if level < levels[j]:
            values = [row[i] for i in parents[j]]
            given = (codes, levels, y, weights, j, level, parents[j], values)
            scores += [log(naive_given(*given, k, m)) for k in range(n_classes)]
    return scores


def naive_average(codes, levels, y, weights, n_classes, m, n, row):
    """(C,) log of the mean over super-parents of n columns of p(k, x); None where no super-parent's cell was seen."""
    total, parts = sum(weights), []
    for t in combinations(range(len(levels)), n):
        values = [row[j] for j in t]
        strange = any(v >= levels[j] for j, v in zip(t, values, strict=True))
        if strange or not _matching(codes, y, weights, t, values, None):
            continue
        card = np.prod([_card(codes, levels, j) for j in t])
        mass = np.array([_matching(codes, y, weights, t, values, k) for k in range(n_classes)])
        p = (mass + m / n_classes / card) / (total + m)
        for j, level in enumerate(row):
            if j not in t and level < levels[j]:
                p *= [naive_given(codes, levels, y, weights, j, level, t, values, k, m) for k in range(n_classes)]
        parts.append(p)
    return np.log(np.mean(parts, axis=0)) if parts else None


def naive_class_information(codes, y, weights, columns):
    """I(columns; Y) in nats from raw counts."""
    total, info = sum(weights), 0.0
    for values in {tuple(codes[j][i] for j in columns) for i in range(len(y))}:
        for k in set(y):
            both = _matching(codes, y, weights, columns, values, k)
            if both:
                apart = _matching(codes, y, weights, columns, values, None) * _matching(codes, y, weights, [], [], k)
                info += both / total * log(both * total / apart)
    return info


def naive_conditional_information(codes, y, weights, i, j):
    """I(i; j | Y) in nats from raw counts."""
    total, info = sum(weights), 0.0
    for u, v, k in {(codes[i][r], codes[j][r], y[r]) for r in range(len(y))}:
        all_three, of_class = _matching(codes, y, weights, [i, j], [u, v], k), _matching(codes, y, weights, [], [], k)
        if all_three:
            apart = _matching(codes, y, weights, [i], [u], k) * _matching(codes, y, weights, [j], [v], k)
            info += all_three / total * log(all_three * of_class / apart)
    return info


def best_tree(information):
    """The largest sum of `information` over the edges of any tree, by trying all parent choices."""
    a = len(information)
    best = -np.inf
    for order in permutations(range(1, a)):
        placed, weight = [0], 0.0
        for j in order:
            weight += max(information[i][j] for i in placed)
            placed.append(j)
        best = max(best, weight)
    return best


def naive_marginal(log_p, levels, row):
    """(C,) log of the sum of exp(log_p(x)), log_p (C,) of complete rows, over all that `row` may be where it has no
    level.
    """
    missing = [j for j, level in enumerate(row) if level >= levels[j]]
    found = []
    for values in product(*(range(levels[j]) for j in missing)):
        complete = list(row)
        for j, v in zip(missing, values, strict=True):
            complete[j] = v
        found.append(log_p(complete))
    return np.logaddexp.reduce(found, axis=0)
