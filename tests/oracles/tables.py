"""Generative tables, AnJE and the objective from their formulas, cell by cell."""

from math import comb, log

import numpy as np

from tests.oracles.rows import cell_numbers, naive_count, naive_forward, tuples_of
from tests.oracles.scores import naive_nll


def naive_log_pi(y, weights, n_classes, m):
    """log((N_y + m/C) / (N + m))."""
    mass = [sum(w for k, w in zip(y, weights, strict=True) if k == c) for c in range(n_classes)]
    return np.array([log((n + m / n_classes) / (sum(mass) + m)) for n in mass])


def naive_log_theta(codes, levels, order, y, weights, n_classes, m):
    """{cell number: (C,) log((N_cell,y + m/card) / (N_t,y + m))} of the cells that occur."""
    counts = naive_count(codes, levels, order, y, weights, n_classes)
    n_seen = [len({int(c) for c, w in zip(row, weights, strict=True) if w > 0 and c < top})
              for row, top in zip(codes, levels, strict=True)]  # fmt: skip
    out = {}
    for t in tuples_of(levels, order):
        cells = {number: counts[number] for (of, _), number in cell_numbers(levels, order).items() if of == t}
        card, mass = np.prod([max(1, n_seen[j]) for j in t]), sum(cells.values())
        out |= {c: np.log((n + m / card) / (mass + m)) for c, n in cells.items() if n.sum() > 0}
    return out


def naive_anje(codes, levels, order, y, weights, n_classes, m):
    """AnJE's phi as a table (cells + T, C), 0 where no row is, and its b."""
    gamma = 1 / comb(len(levels) - 1, order - 1)
    table = np.zeros((len(cell_numbers(levels, order)) + len(tuples_of(levels, order)), n_classes))
    for cell, log_theta in naive_log_theta(codes, levels, order, y, weights, n_classes, m).items():
        table[cell] = gamma * log_theta
    return table, naive_log_pi(y, weights, n_classes, m)


def naive_objective(codes, levels, order, y, weights, table, bias, penalised):
    """NLL of `table` and `bias`, plus the sum of alpha * difference^2 over the pairs in `penalised`."""
    nll = naive_nll(naive_forward(codes, levels, order, table, bias), y, weights)
    return nll + sum(alpha * ((a - b) ** 2).sum() for alpha, a, b in penalised)
