"""Steps by single rows: stochastic gradient descent and AdaGrad on w, and what choosing their step length needs.

    z_k   = sum over the row's places (c, k) of scale[c, k] * w[j],     j = owner[c, k]      a place: a cell, or b
    g_j   = weight * sum over the row's places of j of scale[c, k] * residual_k,   residual: scores.py, squared_error.py
    pull_j = 2 alpha q_j (w_j - center_j), the slope of the penalty

    sgd       w_j -= eta_t g_j, eta_t = eta0 / (1 + decay t), t counts rows; the penalty spread over all V rows of a
              pass: (w_j - center_j) *= exp(-eta_t * 2 alpha q_j / V) in every row, made up for when j is next looked at
    adagrad   g_j += pull_j / V_j, V_j the rows of a pass that look at j;  G_j += g_j^2;
              w_j -= eta0 / (1e-9 + sqrt(G_j)) g_j

The penalty's part of sgd is the exact flow of its slope, so that no eta can overshoot it.

Conventions: `order` lists rows, a row as often as it is visited. w and everything like it is flat. The tuples of
arrays are defined here and not in a module of their own: numba's cache would not see that their fields were swapped.
"""

from math import exp, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from alrviz.kernels import kernel


class RowCells(NamedTuple):
    """Where the cells of rows are found: the links of their joint values (keys, first, at, links: see rows.py), less
    `outside`, two rows a tuple.

    Links below 0 are no seen cell, those behind the seen cells joint values r of inner blocks, with the links
    inner[inner_at[r] : inner_at[r + 1]].
    """

    keys: Any
    first: Any
    at: Any
    links: Any
    inner: Any
    inner_at: Any
    outside: int


class Scaling(NamedTuple):
    """phi = scale * w[owner], (S + 1, C) both, the last row that of b; where not `shared`, j = c C + k."""

    scale: Any
    owner: Any
    shared: bool


class Target(NamedTuple):
    """Classes (N,) of rows, the weight (N,) of one visit, and whether their loss is the square or the logarithm."""

    y: Any
    weights: Any
    squared: bool


class Pull(NamedTuple):
    """The penalty's slope is ridge * (w - center), all (P,): of sgd ridge_j = 2 alpha q_j / V, of AdaGrad / V_j."""

    center: Any
    ridge: Any


@kernel
def _places(row_cells, row, last, cells):
    """Write the row's seen cells and `last`, the place of b, to `cells`; return how many."""
    keys, first, at, links, inner, begin, outside = row_cells
    n = 0
    for b in range(len(first) - 1):
        tuples = (at[b + 1] - at[b]) // max(1, first[b + 1] - first[b])
        link = at[b] + np.int64(keys[b, row]) * tuples
        for t in range(tuples):
            cell = np.int64(links[link + t]) - outside
            if cell >= last:  # a joint value of an inner block
                for i in range(begin[cell - last], begin[cell - last + 1]):
                    if inner[i] >= outside:
                        cells[n] = inner[i] - outside
                        n += 1
            elif cell >= 0:
                cells[n] = cell
                n += 1
    cells[n] = last
    return n + 1


@kernel
def _owner(scaling, c, k):
    return scaling.owner[c, k] if scaling.shared else c * scaling.scale.shape[1] + k


@kernel
def _scores(cells, n, w, scaling, z):
    z[:] = 0.0
    for i in range(n):
        for k in range(len(z)):
            z[k] += scaling.scale[cells[i], k] * w[_owner(scaling, cells[i], k)]


@kernel
def _residual(z, own, weight, squared):
    """Overwrite scores with the residuals of the row; return its loss, not weighted: mean square, or -log p_y."""
    top, wanted = z.max(), z[own]
    total = 0.0
    for k in range(len(z)):
        z[k] = exp(z[k] - top)
        total += z[k]
    square = mean = 0.0
    for k in range(len(z)):
        z[k] /= total
        r = z[k] - (k == own)
        square += r * r
        mean += z[k] * r
    for k in range(len(z)):
        r = z[k] - (k == own)
        z[k] = weight * (2.0 / len(z) * z[k] * (r - mean) if squared else r)
    return square / len(z) if squared else log(total) + top - wanted


@kernel
def sgd(order, begin, end, row_cells, scaling, target, w, pull, flown, eta0, decay, clock):
    """Visit rows order[begin:end]. flown_j: the sum of eta up to which the pull of j is made up for.

    clock = (t, sum of eta so far) is moved on. The caller makes up for all j at the end of a pass.
    """
    scale, outside, (center, ridge) = scaling.scale, row_cells.outside, pull
    classes = scale.shape[1]
    cells, z = np.empty(outside // 2 + 1, np.int64), np.empty(classes)
    pulled = ridge.any()
    for row in order[begin:end]:
        n = _places(row_cells, row, len(scale) - 1, cells)
        if pulled:
            for i in range(n):
                for k in range(classes):
                    j = _owner(scaling, cells[i], k)
                    if flown[j] != clock[1]:
                        w[j] = center[j] + (w[j] - center[j]) * exp(-ridge[j] * (clock[1] - flown[j]))
                        flown[j] = clock[1]
        _scores(cells, n, w, scaling, z)
        _residual(z, target.y[row], target.weights[row], target.squared)
        eta = eta0 / (1.0 + decay * clock[0])
        for i in range(n):
            for k in range(classes):
                w[_owner(scaling, cells[i], k)] -= eta * scale[cells[i], k] * z[k]
        clock[0] += 1.0
        clock[1] += eta


@kernel
def adagrad(order, begin, end, row_cells, scaling, target, w, pull, squares, eta0, g):
    """Visit rows order[begin:end]. `squares` is G; g is 0 and is so again at the end."""
    scale, outside, (center, ridge) = scaling.scale, row_cells.outside, pull
    classes = scale.shape[1]
    cells, z = np.empty(outside // 2 + 1, np.int64), np.empty(classes)
    for row in order[begin:end]:
        n = _places(row_cells, row, len(scale) - 1, cells)
        _scores(cells, n, w, scaling, z)
        _residual(z, target.y[row], target.weights[row], target.squared)
        for i in range(n):
            for k in range(classes):
                g[_owner(scaling, cells[i], k)] += scale[cells[i], k] * z[k]
        for i in range(n):
            for k in range(classes):
                j = _owner(scaling, cells[i], k)
                if np.isfinite(g[j]):  # NaN marks what this row has moved already
                    slope = g[j] + ridge[j] * (w[j] - center[j])
                    squares[j] += slope * slope
                    w[j] -= eta0 / (1e-9 + sqrt(squares[j])) * slope
                    g[j] = np.nan
        for i in range(n):
            for k in range(classes):
                g[_owner(scaling, cells[i], k)] = 0.0


@kernel
def losses(order, begin, end, row_cells, scaling, target, w):
    """Return the sum over rows order[begin:end] of weight * loss."""
    scale = scaling.scale
    cells, z = np.empty(row_cells.outside // 2 + 1, np.int64), np.empty(scale.shape[1])
    total = 0.0
    for row in order[begin:end]:
        n = _places(row_cells, row, len(scale) - 1, cells)
        _scores(cells, n, w, scaling, z)
        total += target.weights[row] * _residual(z, target.y[row], 1.0, target.squared)
    return total


@kernel
def visits(order, begin, end, row_cells, scaling, found, stamp):
    """Add to found_j how many of rows order[begin:end] look at j; `stamp` (int64, -1 at first) is room."""
    scale = scaling.scale
    classes = scale.shape[1]
    cells = np.empty(row_cells.outside // 2 + 1, np.int64)
    for v in range(begin, end):
        n = _places(row_cells, order[v], len(scale) - 1, cells)
        for i in range(n):
            for k in range(classes):
                j = _owner(scaling, cells[i], k)
                if stamp[j] != v:
                    stamp[j] = v
                    found[j] += 1.0
