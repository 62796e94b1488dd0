"""Softmax passes from the definition, by scipy."""

import numpy as np
from scipy.special import log_softmax


def naive_nll(z, y, weights):
    """Sum over rows of -weight log p(y | row)."""
    return -(weights * log_softmax(z, axis=1)[np.arange(len(y)), y]).sum()


def naive_line_eval(z, dz, t, y, weights):
    """NLL, slope and curvature at z + t dz."""
    p = np.exp(log_softmax(z + t * dz, axis=1))
    mean = (p * dz).sum(axis=1)
    slope = mean - dz[np.arange(len(y)), y]
    curvature = (p * (dz - mean[:, None]) ** 2).sum(axis=1)
    return naive_nll(z + t * dz, y, weights), (weights * slope).sum(), (weights * curvature).sum()


def naive_loss_and_residual(z, y, weights):
    """NLL, weight of wrong rows (ties to the first class), of rows that do not lead alone, squares; and residuals."""
    residual = np.exp(log_softmax(z, axis=1)) - np.eye(z.shape[1])[y]
    own = z[np.arange(len(y)), y]
    wrong = weights[z.argmax(axis=1) != y].sum()
    tied = weights[(z >= own[:, None]).sum(axis=1) > 1].sum()
    squares = (weights * (residual**2).sum(axis=1)).sum()
    return (naive_nll(z, y, weights), wrong, tied, squares), weights[:, None] * residual


def naive_hessian_product(z, dz, weights):
    """weight * p * (dz - sum_k p_k dz_k)."""
    p = np.exp(log_softmax(z, axis=1))
    return weights[:, None] * p * (dz - (p * dz).sum(axis=1, keepdims=True))
