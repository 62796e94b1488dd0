"""Test, then train: every row is judged by what the rows before it have taught, then it teaches.

    z_k      = b_k + sum over the row's cells c of  s[c, k] w[c, k],   kept as phi = s w, and of intercepts as b
    s        = 1 (lr); log theta of all rows, given (alr, two passes); log theta of the rows so far (alr, a single pass)
    learn    a step of the row's loss -log p_y by w: w -= eta s (p_k - 1[k = y]); phi stays where s changes
    count    nothing is learned: phi is gamma log theta of the rows so far, b their log pi (AnJE)

    log theta = log((N_ck + m / card) / (N_k + m)),    log pi_k = log((N_k + m / C) / (N + m));  a cell without rows: 0

eta is eta0 / (1 + t / 100) after t rows (sgd), or eta0 / (1e-9 + sqrt(G)), G the slopes' sum of squares (adagrad).

Conventions: cells (n, T) rows of the cell table of R rows, of which the first `outside` are no cells; phi, squares,
counts and fixed (R, C), the intercepts behind them in a row of their own (R + 1, C); class_counts (C,); cards (T,).
"""

from math import exp, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from alrviz.kernels import kernel

ONES, FIXED, SO_FAR, COUNT = 0, 1, 2, 3


@kernel
def _scale(counts, total, class_count, m, card):
    """Log theta so far of a cell and class; 0 where no row lies in the cell."""
    return log((counts + m / card) / (class_count + m)) if total > 0.0 else 0.0


class Settings(NamedTuple):
    """What a learner is told once; m is the smoothing."""

    outside: int
    kind: int
    adaptive: bool
    eta0: float
    decay: float
    gamma: float
    m: float
    cards: Any
    fixed: Any


class State(NamedTuple):
    """What a learner has learned, overwritten row by row."""

    phi: Any
    squares: Any
    counts: Any
    class_counts: Any


@kernel
def visit(cells, y, begin, end, settings, state, losses, squared, wrong):
    """Judge, then learn, rows begin..end of a stream of which `begin` were seen; fills losses, squared and wrong."""
    outside, kind, adaptive, eta0, decay, gamma, m, cards, fixed = settings
    phi, squares, counts, class_counts = state
    n_classes, n_tuples = phi.shape[1], cells.shape[1]
    bias = len(phi) - 1
    z = np.empty(n_classes)
    scale = np.empty(n_classes)
    for i in range(begin, end):
        row, seen = i - begin, class_counts.sum()
        for k in range(n_classes):
            if kind == COUNT:
                z[k] = log((class_counts[k] + m / n_classes) / (seen + m))
            else:
                z[k] = phi[bias, k]
        for t in range(n_tuples):
            c = cells[row, t]
            if c < outside:
                continue
            if kind == COUNT:
                total = counts[c].sum()
                for k in range(n_classes):
                    z[k] += gamma * _scale(counts[c, k], total, class_counts[k], m, cards[t])
            else:
                for k in range(n_classes):
                    z[k] += phi[c, k]
        best, top = 0, z[0]
        for k in range(1, n_classes):
            if z[k] > top:
                best, top = k, z[k]
        total = 0.0
        for k in range(n_classes):
            total += exp(z[k] - top)
        own = y[row]
        losses[row] = log(total) + top - z[own]
        wrong[row] = best != own
        square = 0.0
        for k in range(n_classes):
            z[k] = exp(z[k] - top) / total - (1.0 if k == own else 0.0)
            square += z[k] * z[k]
        squared[row] = square / n_classes
        if kind in (COUNT, SO_FAR):
            class_counts[own] += 1.0
            for t in range(n_tuples):
                if cells[row, t] >= outside:
                    counts[cells[row, t], own] += 1.0
        if kind == COUNT:
            continue
        eta = eta0 / (1.0 + decay * i)
        seen = class_counts.sum()
        for t in range(n_tuples + 1):
            c = cells[row, t] if t < n_tuples else bias
            if c < outside:
                continue
            if kind == SO_FAR and t < n_tuples:
                total = counts[c].sum()
                for k in range(n_classes):
                    scale[k] = _scale(counts[c, k], total, class_counts[k], m, cards[t])
            elif kind == SO_FAR:
                for k in range(n_classes):
                    scale[k] = log((class_counts[k] + m / n_classes) / (seen + m))
            else:
                for k in range(n_classes):
                    scale[k] = fixed[c, k] if kind == FIXED else 1.0
            for k in range(n_classes):
                slope = scale[k] * z[k]
                length = eta
                if adaptive:
                    squares[c, k] += slope * slope
                    length = eta0 / (1e-9 + sqrt(squares[c, k]))
                phi[c, k] -= length * scale[k] * slope
