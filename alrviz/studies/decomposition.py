"""Error taken apart into bias and variance: what is wrong on average, and what depends on the rows one happened to see.

R models were trained on different rows, and each row i was predicted by all of them; f_iy is the share that say y.

    Kohavi-Wolpert   bias2 = 1/(2N) sum_i sum_y (1[y = y_i] - f_iy)^2      variance = 1/(2N) sum_i (1 - sum_y f_iy^2)
                     bias2 + variance = error, exactly                                             (the plug-in form)
    unbiased         bias2 - variance / (R - 1)     and     variance R / (R - 1)                 (what the papers print)
    Domingos         main_i = the class most models say (of equal ones the first)
                     bias = mean 1[main_i != y_i]      variance = mean_i (1 - f_i,main)
                     error = bias + mean_i c_i V_i,   V_i = 1 - f_i,main,   c_i = 1 where main_i is right,
                     c_i = -(share of the others that are right) where it is not

With two classes a model that differs from a wrong main prediction is right, so that c_i = -1; with more it may be wrong
too: that share is the multiclass factor.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import RecipeError


@dataclass(frozen=True)
class Decomposition:
    """Bias and variance of 0-1 loss, by three definitions.

    Attributes:
        error: share of wrong predictions, over rows and models.
        bias, variance: Kohavi-Wolpert's plug-in form; they add up to the error.
        bias_unbiased, variance_unbiased: its unbiased form; they add up to the error too.
        bias_domingos, variance_domingos: main prediction wrong; differing from it.
        net_variance_domingos: what variance adds to the error (on rows whose main prediction is wrong it takes away).
        rounds: R.
    """

    error: float
    bias: float
    variance: float
    bias_unbiased: float
    variance_unbiased: float
    bias_domingos: float
    variance_domingos: float
    net_variance_domingos: float
    rounds: int


def decompose(predicted: NDArray[np.integer], y: NDArray[np.integer], n_classes: int) -> Decomposition:
    """Take the error of predictions (R, N) of classes y (N,) apart; both are indices below `n_classes`.

    Raises:
        RecipeError: with fewer than two rounds, of which no variance can be told.
    """
    rounds, n = predicted.shape
    if rounds < 2:
        raise RecipeError(f"variance needs predictions of at least 2 models for each row, got {rounds}; add rounds")
    place = predicted + n_classes * np.arange(n)
    share = np.bincount(place.ravel(), minlength=n * n_classes).reshape(n, n_classes) / rounds
    right = share[np.arange(n), y]
    squared = (share**2).sum(axis=1)
    bias2 = float(((1 - 2 * right + squared) / 2).mean())  # sum_y (1[y = y_i] - f)^2 = 1 - 2 f_{y_i} + sum f^2
    variance = float(((1 - squared) / 2).mean())
    main = share.argmax(axis=1)
    apart = 1 - share[np.arange(n), main]
    wrong = main != y
    return Decomposition(
        error=float(1 - right.mean()),
        bias=bias2,
        variance=variance,
        bias_unbiased=bias2 - variance / (rounds - 1),
        variance_unbiased=variance * rounds / (rounds - 1),
        bias_domingos=float(wrong.mean()),
        variance_domingos=float(apart.mean()),
        net_variance_domingos=float(np.where(wrong, -right, apart).mean()),
        rounds=rounds,
    )
