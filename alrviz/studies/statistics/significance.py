"""Tests whether a difference is more than chance, over data sets or over folds.

sign test         of W wins and L losses (draws left out), two-tailed and exact:  p = min(1, 2 P(B <= min(W, L))),
                  B binomial with W + L trials of probability 1/2
Nadeau-Bengio     folds share training rows, so that the variance of J differences d_j is taken as
                  s^2 (1/J + rows tested / rows trained) instead of s^2 / J           (Nadeau and Bengio, 2003)
geometric mean    exp(mean log(a / b)) over data sets, for measures and seconds above 0
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from alrviz.passes.aligned_buffers import Floats

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class WinDrawLoss:
    """Wins, draws and losses over data sets, with the p-value of the sign test.

    Attributes:
        wins, draws, losses: numbers of data sets on which the first of the two compared has the smaller, an equal or
            the larger value.
        p: exact two-tailed sign test; 1 if there are only draws.
    """

    wins: int
    draws: int
    losses: int
    p: float

    def __str__(self) -> str:
        return f"{self.wins}/{self.draws}/{self.losses}"


def win_draw_loss(a: ArrayLike, b: ArrayLike, digits: int | None = None) -> WinDrawLoss:
    """Compare values of data sets, a (D,) with b (D,); NaN is left out. digits: values equal after rounding are draws.

    >>> str(win_draw_loss([0.1, 0.2, 0.3], [0.2, 0.2, 0.1]))
    '1/1/1'
    """
    x, y = np.asarray(a, float), np.asarray(b, float)
    is_complete = ~(np.isnan(x) | np.isnan(y))
    difference = (x - y if digits is None else np.round(x, digits) - np.round(y, digits))[is_complete]
    wins, losses = int((difference < 0).sum()), int((difference > 0).sum())
    return WinDrawLoss(wins, len(difference) - wins - losses, losses, sign_test(wins, losses))


def sign_test(wins: int, losses: int) -> float:
    """Return the exact two-tailed p of `wins` against `losses`.

    >>> round(sign_test(8, 0), 4)
    0.0078
    """
    from scipy.stats import binomtest

    return float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def corrected_error(differences: ArrayLike, tested: float, trained: float) -> float:
    """Return the Nadeau-Bengio standard error of the mean of fold differences (J,); NaN for fewer than two.

    `tested` and `trained`: numbers of test and training rows of a fold, averaged where folds differ.
    """
    fold_differences = np.asarray(differences, float)
    if len(fold_differences) < 2:
        return float("nan")
    return float(np.sqrt(fold_differences.var(ddof=1) * (1 / len(fold_differences) + tested / trained)))


def simplest_within_error(losses: "pd.DataFrame", tested: float, trained: float) -> Any:
    """Return the first model whose mean loss is within one standard error of the lowest, the one-standard-error rule.

    `losses` (folds, models) have columns sorted from simple to complex; the error is that of the difference to the
    lowest. tested, trained: numbers of test and training rows of a fold.
    """
    best_model = losses.mean().idxmin()
    for model in losses.columns:
        excess = losses[model] - losses[best_model]
        if model == best_model or excess.mean() <= corrected_error(excess, tested, trained):
            return model
    return best_model


def geometric_mean_ratio(a: ArrayLike, b: ArrayLike) -> float:
    """Return exp(mean log(a / b)) over the data sets where both are positive; NaN without any."""
    x, y = np.asarray(a, float), np.asarray(b, float)
    are_positive = (x > 0) & (y > 0)
    return float(np.exp(np.log(x[are_positive] / y[are_positive]).mean())) if are_positive.any() else float("nan")


def mean_ranks(table: Any) -> Floats:
    """Return the mean rank (K,) of each of K recipes over the data sets of `table` (D, K); ties share their ranks.

    Data sets with a NaN are left out; if all have one, the ranks are NaN.
    """
    from scipy.stats import rankdata

    table_values = np.asarray(table, float)
    complete = table_values[~np.isnan(table_values).any(axis=1)]
    return rankdata(complete, axis=1).mean(axis=0) if len(complete) else np.full(table_values.shape[1], np.nan)
