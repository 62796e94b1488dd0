"""Test, then train: every row is predicted by a learner of the rows before it, and then trains the learner.

    z_k      = b_k + sum over the row's cells c of phi[c, k],    phi = s w;   b is fitted like a cell's weight
    learning: a step down the slope of the row's loss -log p_y by w, w -= eta s (p_k - 1[k = y]). Where s changes, phi
    is kept. Counting instead (AnJE): phi is gamma log theta of the rows so far, b their log pi.

    log theta = log((N_ck + m / card) / (N_k + m)),    log pi_k = log((N_k + m / C) / (N + m));  a cell without rows: 0

The scale s is one of
    ONES     1 (lr)
    FIXED    log theta of all rows, given (alr, two passes)
    SO_FAR   log theta of the rows so far (alr, a single pass)
    COUNT    counting instead of learning (AnJE)

eta is eta0 / (1 + decay t) after t rows (sgd), or eta0 / (1e-9 + sqrt(G)), G the slopes' sum of squares (adagrad).

Conventions: cells (n, T) rows of the cell table of R rows, of which the first n_outside are not seen cells; phi,
squares, counts and fixed (R + 1, C), the last row that of the intercepts; class_counts (C,); cards (T,).
"""

from math import exp, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from alrviz.kernels import kernel

ONES, FIXED, SO_FAR, COUNT = 0, 1, 2, 3


@kernel
def _log_theta(count, cell_weight, class_count, m, card):
    """Return log theta of a cell and class from the rows so far; 0 if no row lies in the cell.

    count: the class's rows in the cell; cell_weight: all rows in it; class_count: the class's rows; m: the smoothing;
    card: cells of the tuple.
    """
    return log((count + m / card) / (class_count + m)) if cell_weight > 0.0 else 0.0


class Settings(NamedTuple):
    """Fixed settings of a learner: `scaling` chooses the scale s, `adaptive` AdaGrad; m is the smoothing."""

    n_outside: int  # rows of phi below this number are no seen cells
    scaling: int
    adaptive: bool
    eta0: float
    decay: float
    gamma: float
    m: float
    cards: Any  # (T,) cells of each tuple
    fixed: Any  # like phi, the scale; (1, C) unless `scaling` is FIXED


class State(NamedTuple):
    """A learner's state, which every row overwrites."""

    phi: Any  # (n_rows + 1, C), the last row the intercepts
    squares: Any  # like phi, sums of squared slopes; (1, C) if unused
    counts: Any  # like phi, of the rows so far; (1, C) if unused
    class_counts: Any  # (C,)


@kernel
def visit(cells, y, begin, end, settings, state, losses, squared, wrong):
    """Predict each of rows begin..end of a stream, then learn it; `state` is overwritten.

    cells (n, T), y (N,) and the fields of `settings` and `state` are as in the module. Written for each row, (n,):
    losses -log p_y; squared, (1/C) sum_k (p_k - 1[k = y])^2; wrong, 1 where another class is predicted.
    """
    n_outside, scaling, adaptive, eta0, decay, gamma, m, cards, fixed = settings
    phi, squares, counts, class_counts = state
    n_classes, n_tuples = phi.shape[1], cells.shape[1]
    bias = len(phi) - 1
    z = np.empty(n_classes)
    scale = np.empty(n_classes)
    for i in range(begin, end):
        row, n_seen = i - begin, class_counts.sum()
        for k in range(n_classes):
            if scaling == COUNT:
                z[k] = log((class_counts[k] + m / n_classes) / (n_seen + m))
            else:
                z[k] = phi[bias, k]
        for t in range(n_tuples):
            c = cells[row, t]
            if c < n_outside:
                continue
            if scaling == COUNT:
                total = counts[c].sum()
                for k in range(n_classes):
                    z[k] += gamma * _log_theta(counts[c, k], total, class_counts[k], m, cards[t])
            else:
                for k in range(n_classes):
                    z[k] += phi[c, k]
        predicted, largest = 0, z[0]
        for k in range(1, n_classes):
            if z[k] > largest:
                predicted, largest = k, z[k]
        total = 0.0
        for k in range(n_classes):
            total += exp(z[k] - largest)
        label = y[row]
        losses[row] = log(total) + largest - z[label]
        wrong[row] = predicted != label
        square = 0.0
        for k in range(n_classes):
            z[k] = exp(z[k] - largest) / total - (1.0 if k == label else 0.0)
            square += z[k] * z[k]
        squared[row] = square / n_classes
        if scaling in (COUNT, SO_FAR):
            class_counts[label] += 1.0
            for t in range(n_tuples):
                if cells[row, t] >= n_outside:
                    counts[cells[row, t], label] += 1.0
        if scaling == COUNT:
            continue
        eta = eta0 / (1.0 + decay * i)
        n_seen = class_counts.sum()
        for t in range(n_tuples + 1):
            c = cells[row, t] if t < n_tuples else bias
            if c < n_outside:
                continue
            if scaling == SO_FAR and t < n_tuples:
                total = counts[c].sum()
                for k in range(n_classes):
                    scale[k] = _log_theta(counts[c, k], total, class_counts[k], m, cards[t])
            elif scaling == SO_FAR:
                for k in range(n_classes):
                    scale[k] = log((class_counts[k] + m / n_classes) / (n_seen + m))
            else:
                for k in range(n_classes):
                    scale[k] = fixed[c, k] if scaling == FIXED else 1.0
            for k in range(n_classes):
                slope = scale[k] * z[k]
                step_length = eta
                if adaptive:
                    squares[c, k] += slope * slope
                    step_length = eta0 / (1e-9 + sqrt(squares[c, k]))
                phi[c, k] -= step_length * scale[k] * slope
