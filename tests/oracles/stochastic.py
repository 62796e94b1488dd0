"""Stochastic steps row by row, every weight touched in every row, nothing put off."""

import numpy as np
from scipy.special import softmax

from tests.oracles.losses import naive_residual


def naive_sgd(order, places, y, weights, scale, weight_index, w, center, ridge, eta0, decay, loss="nll", t=0):
    """Visit rows; `places[i]` are the rows of scale that row i adds up, `ridge` = 2 alpha q / V. Returns w."""
    w = w.copy()
    for row in order:
        eta = eta0 / (1 + decay * t)
        slope = _slope(places[row], y[row], weights[row], scale, weight_index, w, loss)
        w -= eta * slope
        w = center + (w - center) * np.exp(-eta * ridge)
        t += 1
    return w


def naive_adagrad(order, places, y, weights, scale, weight_index, w, center, ridge, eta0, loss="nll"):
    """Visit rows; `ridge` = 2 alpha q / (rows that look at each w). Returns w and G."""
    w, total = w.copy(), np.zeros(len(w))
    for row in order:
        active = np.unique(weight_index[places[row]])
        slope = _slope(places[row], y[row], weights[row], scale, weight_index, w, loss)
        g = slope[active] + ridge[active] * (w[active] - center[active])
        total[active] += g**2
        w[active] -= eta0 / (1e-9 + np.sqrt(total[active])) * g
    return w, total


def naive_loss(order, places, y, weights, scale, weight_index, w, loss="nll"):
    """Weighted sum of -log p_y, or of (1/C) sum_k (p_k - 1[k = y])^2."""
    total = 0.0
    for i in order:
        p = softmax(_scores(places[i], scale, weight_index, w))
        own = np.eye(scale.shape[1])[y[i]]
        total += weights[i] * (-np.log(p[y[i]]) if loss == "nll" else ((p - own) ** 2).mean())
    return total


def _scores(place, scale, weight_index, w):
    return sum(scale[c] * w[weight_index[c]] for c in place)


def _slope(place, own, weight, scale, weight_index, w, loss):
    residual = weight * naive_residual(loss, _scores(place, scale, weight_index, w), own)
    slope = np.zeros(len(w))
    for c in place:
        np.add.at(slope, weight_index[c], scale[c] * residual)
    return slope
