"""Losses of scores row by row from their definitions; derivatives by complex steps, which lose no digits."""

import numpy as np


def naive_loss(name, scores, own):
    """The loss of one row with class `own`; `scores` may be complex."""
    p = np.exp(scores - scores.real.max())
    p = p / p.sum()
    if name == "nll":
        return -np.log(p[own])
    if name == "mse":
        return sum((p[k] - (k == own)) ** 2 for k in range(len(p))) / len(p)
    gaps = [1 + scores[k] - scores[own] for k in range(len(scores)) if k != own]
    return sum(gap**2 for gap in gaps if gap.real > 0)


def naive_residual(name, scores, own, h=1e-30):
    """Its derivative with respect to each score."""
    steps = 1j * h * np.eye(len(scores))
    return np.array([naive_loss(name, scores + step, own).imag / h for step in steps])


def naive_matrix(name, scores, own, h=1e-6):
    """Its Hessian by differences; of mse Gauss-Newton's matrix, 2 J'J / C with J the derivative of p."""
    units = h * np.eye(len(scores))
    if name == "mse":
        p = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
        jacobian = np.diag(p) - np.outer(p, p)
        return 2 / len(p) * jacobian.T @ jacobian
    return np.array([(naive_residual(name, scores + unit, own) - naive_residual(name, scores - unit, own)) / (2 * h)
                     for unit in units])  # fmt: skip
