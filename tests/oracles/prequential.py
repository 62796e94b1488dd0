"""Test, then train, as the formulas say, a row at a time and no state but the rows so far."""

import numpy as np

from alrviz.models.linear import log_softmax


def stream(cells, y, n_classes, cards, kind, *, m=1.0, gamma=1.0, fixed=None, eta0=0.1, adaptive=False, outside=0):
    """Return -log p_y and mean squared error of each row; cells (N, T), those below `outside` are no cells."""
    phi, squares, losses, squared = {}, {}, [], []
    for i in range(len(y)):
        log_theta = theta(cells[:i], y[:i], n_classes, cards, m)
        here = [(int(c), t) for t, c in enumerate(cells[i]) if c >= outside]
        if kind == "count":
            z = log_theta(None, 0) + sum((gamma * log_theta(c, t) for c, t in here), np.zeros(n_classes))
        else:
            z = sum((phi.get(c, np.zeros(n_classes)) for c, _ in [*here, ("b", 0)]), np.zeros(n_classes))
        p = np.exp(log_softmax(z[None])[0])
        off = p - np.eye(n_classes)[y[i]]
        losses.append(-np.log(p[y[i]]))
        squared.append((off**2).mean())
        if kind == "count":
            continue
        log_theta = theta(cells[: i + 1], y[: i + 1], n_classes, cards, m)
        for c, t in [*here, ("b", 0)]:
            scale = {
                "ones": lambda c, t: np.ones(n_classes),
                "fixed": lambda c, t: fixed[-1 if c == "b" else c],
                "so far": lambda c, t, of=log_theta: of(None if c == "b" else c, t),
            }[kind](c, t)
            slope = scale * off
            squares[c] = squares.get(c, 0.0) + slope**2
            length = eta0 / (1e-9 + np.sqrt(squares[c])) if adaptive else eta0 / (1 + i / 100)
            phi[c] = phi.get(c, np.zeros(n_classes)) - length * scale * slope
    return np.array(losses), np.array(squared)


def theta(cells, y, n_classes, cards, m):
    """Return the function that gives log theta of a cell of tuple t, or log pi for None, by these rows."""
    class_counts = np.bincount(y, minlength=n_classes)

    def of(cell, t):
        if cell is None:
            return np.log((class_counts + m / n_classes) / (len(y) + m))
        counts = np.bincount(y[cells[:, t] == cell], minlength=n_classes)
        if not counts.sum():
            return np.zeros(n_classes)
        return np.log((counts + m / cards[t]) / (class_counts + m))

    return of
