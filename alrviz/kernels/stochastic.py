"""Steps by single rows: stochastic gradient descent and AdaGrad on w, and what choosing their step length needs.

    z_k    = sum over the row's places (c, k) of scale[c, k] * w[j],     j = weight_index[c, k];  a place: a cell, or b
    g_j    = weight * sum over the row's places of j of scale[c, k] * residual_k
    pull_j = 2 alpha q_j (w_j - center_j), the slope of the penalty

    sgd      w_j -= eta_t g_j, eta_t = eta0 / (1 + decay t), t counts rows. The penalty is spread over all V rows of a
             pass: every row shrinks (w_j - center_j) *= exp(-eta_t * 2 alpha q_j / V). A weight catches up on that when
             it is next looked at. As the exact flow of the penalty's slope, it cannot overshoot at any eta.
    adagrad  g_j += pull_j / V_j, V_j the rows of a pass that look at j;  G_j += g_j^2;
             w_j -= eta0 / (1e-9 + sqrt(G_j)) g_j

Residuals are those of scores.py and squared_error.py. `order` lists rows, a row as often as it is visited. w and arrays
like it are flat. The named tuples are defined here and not in a module of their own, because numba's cache would not
notice that their fields were swapped.
"""

from math import exp, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from alrviz.kernels import kernel


class RowCells(NamedTuple):
    """The cells of rows, by the links of their joint values.

    Attributes:
        keys, first, first_link, links: see rows.py. A link less n_outside is a seen cell; below 0 it is none, behind
            the seen cells it is joint value r of an inner block.
        inner, first_inner: r has the links inner[first_inner[r] : first_inner[r + 1]].
        n_outside: rows of the cell table that are not seen cells, two for each tuple.
    """

    keys: Any
    first: Any
    first_link: Any
    links: Any
    inner: Any
    first_inner: Any
    n_outside: int


class Scaling(NamedTuple):
    """phi = scale * w[weight_index], both (S + 1, C), the last row that of b; without shared weights, j = c C + k."""

    scale: Any
    weight_index: Any
    has_shared_weights: bool


class Target(NamedTuple):
    """Classes (N,) of rows, the weight (N,) of one visit, and whether the loss is squared error instead of -log p."""

    y: Any
    weights: Any
    squared_error: bool


class Penalty(NamedTuple):
    """The penalty, by its slope ridge * (w - center), all (P,); ridge_j is 2 alpha q_j / V in sgd, / V_j in AdaGrad."""

    center: Any
    ridge: Any


@kernel
def _places(row_cells, row, b_place, cells):
    """Write the places of the row's seen cells and of b, `b_place`, to `cells`; return how many. row_cells:
    `RowCells`.
    """
    keys, first, first_link, links, inner, first_inner, n_outside = row_cells
    n_cells = 0
    for b in range(len(first) - 1):
        n_tuples = (first_link[b + 1] - first_link[b]) // max(1, first[b + 1] - first[b])
        link = first_link[b] + np.int64(keys[b, row]) * n_tuples
        for t in range(n_tuples):
            cell = np.int64(links[link + t]) - n_outside
            if cell >= b_place:  # a joint value of an inner block
                for i in range(first_inner[cell - b_place], first_inner[cell - b_place + 1]):
                    if inner[i] >= n_outside:
                        cells[n_cells] = inner[i] - n_outside
                        n_cells += 1
            elif cell >= 0:
                cells[n_cells] = cell
                n_cells += 1
    cells[n_cells] = b_place
    return n_cells + 1


@kernel
def _weight_index(scaling, c, k):
    """Return the index in w of the place of cell c and class k, by a `Scaling`."""
    return scaling.weight_index[c, k] if scaling.has_shared_weights else c * scaling.scale.shape[1] + k


@kernel
def _scores(cells, n, w, scaling, z):
    """Write to z (C,) the scores of a row whose n places are cells[:n], at weights w (P,) under a `Scaling`."""
    z[:] = 0.0
    for i in range(n):
        for k in range(len(z)):
            z[k] += scaling.scale[cells[i], k] * w[_weight_index(scaling, cells[i], k)]


@kernel
def _residual(z, label, weight, squared_error):
    """Replace scores z (C,) by the row's residuals times `weight`; return its loss, without weight.

    The loss is -log p(label), or the squared error if `squared_error`.
    """
    largest_score, label_score = z.max(), z[label]
    exp_sum = 0.0
    for k in range(len(z)):
        z[k] = exp(z[k] - largest_score)
        exp_sum += z[k]
    square_sum = mean = 0.0
    for k in range(len(z)):
        z[k] /= exp_sum
        r = z[k] - (k == label)
        square_sum += r * r
        mean += z[k] * r
    for k in range(len(z)):
        r = z[k] - (k == label)
        z[k] = weight * (2.0 / len(z) * z[k] * (r - mean) if squared_error else r)
    return square_sum / len(z) if squared_error else log(exp_sum) + largest_score - label_score


@kernel
def sgd(order, begin, end, row_cells, scaling, target, w, penalty, shrunk_eta, eta0, decay, clock):
    """Visit rows order[begin:end] by stochastic gradient descent, moving w (P,) and `clock`.

    Args:
        order: rows in the order of their visits.
        row_cells, scaling, target, penalty: the named tuples of the module.
        shrunk_eta: (P,) the sum of eta up to which each weight has been shrunk; the caller lets all weights catch up at
            the end of a pass.
        eta0, decay: eta = eta0 / (1 + decay t).
        clock: (t, sum of eta so far).
    """
    scale, n_outside, (center, ridge) = scaling.scale, row_cells.n_outside, penalty
    classes = scale.shape[1]
    cells, z = np.empty(n_outside // 2 + 1, np.int64), np.empty(classes)
    has_penalty = ridge.any()
    for row in order[begin:end]:
        n = _places(row_cells, row, len(scale) - 1, cells)
        if has_penalty:
            for i in range(n):
                for k in range(classes):
                    j = _weight_index(scaling, cells[i], k)
                    if shrunk_eta[j] != clock[1]:
                        w[j] = center[j] + (w[j] - center[j]) * exp(-ridge[j] * (clock[1] - shrunk_eta[j]))
                        shrunk_eta[j] = clock[1]
        _scores(cells, n, w, scaling, z)
        _residual(z, target.y[row], target.weights[row], target.squared_error)
        eta = eta0 / (1.0 + decay * clock[0])
        for i in range(n):
            for k in range(classes):
                w[_weight_index(scaling, cells[i], k)] -= eta * scale[cells[i], k] * z[k]
        clock[0] += 1.0
        clock[1] += eta


@kernel
def adagrad(order, begin, end, row_cells, scaling, target, w, penalty, squares, eta0, slopes):
    """Visit rows order[begin:end] by AdaGrad with step length eta0, moving w (P,) and `squares` (P,), which is G.

    row_cells, scaling, target and penalty are the named tuples of the module; slopes (P,) is 0 before and after.
    """
    scale, n_outside, (center, ridge) = scaling.scale, row_cells.n_outside, penalty
    classes = scale.shape[1]
    cells, z = np.empty(n_outside // 2 + 1, np.int64), np.empty(classes)
    for row in order[begin:end]:
        n = _places(row_cells, row, len(scale) - 1, cells)
        _scores(cells, n, w, scaling, z)
        _residual(z, target.y[row], target.weights[row], target.squared_error)
        for i in range(n):
            for k in range(classes):
                slopes[_weight_index(scaling, cells[i], k)] += scale[cells[i], k] * z[k]
        for i in range(n):
            for k in range(classes):
                j = _weight_index(scaling, cells[i], k)
                if np.isfinite(slopes[j]):  # NaN marks weights that this row has moved already
                    slope = slopes[j] + ridge[j] * (w[j] - center[j])
                    squares[j] += slope * slope
                    w[j] -= eta0 / (1e-9 + sqrt(squares[j])) * slope
                    slopes[j] = np.nan
        for i in range(n):
            for k in range(classes):
                slopes[_weight_index(scaling, cells[i], k)] = 0.0


@kernel
def sum_losses(order, begin, end, row_cells, scaling, target, w):
    """Return the sum over rows order[begin:end] of weight * loss at w (P,).

    row_cells, scaling, target: the named tuples of the module.
    """
    scale = scaling.scale
    cells, z = np.empty(row_cells.n_outside // 2 + 1, np.int64), np.empty(scale.shape[1])
    loss_sum = 0.0
    for row in order[begin:end]:
        n = _places(row_cells, row, len(scale) - 1, cells)
        _scores(cells, n, w, scaling, z)
        loss_sum += target.weights[row] * _residual(z, target.y[row], 1.0, target.squared_error)
    return loss_sum


@kernel
def count_visits(order, begin, end, row_cells, scaling, counts, stamps):
    """Add to counts (P,) how many of rows order[begin:end] look at each weight.

    row_cells, scaling: the named tuples of the module; stamps (P,) int64, -1 at first, is workspace.
    """
    scale = scaling.scale
    classes = scale.shape[1]
    cells = np.empty(row_cells.n_outside // 2 + 1, np.int64)
    for v in range(begin, end):
        n = _places(row_cells, order[v], len(scale) - 1, cells)
        for i in range(n):
            for k in range(classes):
                j = _weight_index(scaling, cells[i], k)
                if stamps[j] != v:
                    stamps[j] = v
                    counts[j] += 1.0
