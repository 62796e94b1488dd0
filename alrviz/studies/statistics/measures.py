"""How well probabilities fit the classes of rows: the measures that all studies tell.

    log loss    mean of -log p(y | x), nats
    0-1 loss    share of rows whose most probable class is another; of equal ones the first class is predicted
    RMSE        sqrt( mean over rows of (1/C) sum_k (p_k - 1[k = y])^2 )
    Brier       mean over rows of sum_k (p_k - 1[k = y])^2,  which is C RMSE^2
    ECE         sum over bins of (rows in it / N) |share predicted right - mean probability of the predicted class|

    balanced    mean over the classes of the 0-1 loss of their rows: rare classes count as frequent ones do
    1 - AP      average precision, the area under precision against recall: of the rarer of two classes, else the mean

[ALR] and [WANBIA-C] print RMSE without the mean and the root that their code has. The bins of ECE hold the same number
of rows (15 of them, fewer where rows are fewer); rows of equal probability may fall into neighbouring bins.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.metrics import average_precision_score

from alrviz.passes.aligned_buffers import Floats

BINS = 15
BINNING = f"{BINS} bins of equal numbers of rows"  # what is said wherever an ECE is shown: another binning, another ECE
_BINNED = ("rows", "confidence", "accuracy")


@dataclass(frozen=True)
class Measures:
    """The measures of some rows; each the smaller the better."""

    log_loss: float
    error: float
    rmse: float
    brier: float
    ece: float
    balanced_error: float
    average_precision_loss: float


MEASURES = tuple(field.name for field in fields(Measures))


def measures(log_p: Floats, y: NDArray[np.integer], weight: Floats | None = None) -> Measures:
    """Return the measures of log probabilities (N, C) against classes y (N,), indices of their columns.

    weight: (N,) of rows; None where each counts once. Integer weights are repeated rows, but for the bins of ECE, where
    no row is divided.
    """
    squares = np.average(row_squares(log_p, y), weights=weight)
    return Measures(
        log_loss=float(np.average(row_losses(log_p, y), weights=weight)),
        error=float(np.average(log_p.argmax(axis=1) != y, weights=weight)),
        rmse=float(np.sqrt(squares)),
        brier=float(squares * log_p.shape[1]),
        ece=calibration_error(log_p, y, weight=weight),
        balanced_error=balanced_error(log_p.argmax(axis=1), y, weight),
        average_precision_loss=average_precision_loss(log_p, y, weight),
    )


def balanced_error(predicted: NDArray[np.integer], y: NDArray[np.integer], weight: Floats | None = None) -> float:
    """Return the mean over the classes that occur of their share of rows predicted as another."""
    each = np.ones(len(y)) if weight is None else weight
    rows, wrong = np.bincount(y, each), np.bincount(y, each * (predicted != y))
    return float((wrong[rows > 0] / rows[rows > 0]).mean())


def average_precision_loss(log_p: Floats, y: NDArray[np.integer], weight: Floats | None = None) -> float:
    """Return 1 - AP, the mean over the classes that occur; of two classes that of the rarer one alone.

    AP of a class is the mean, over its rows, of the precision among all rows that it is at least as probable for.
    """
    rows = np.bincount(y, weight, minlength=log_p.shape[1])
    there = np.flatnonzero(rows)
    chosen = there[[rows[there].argmin()]] if log_p.shape[1] == 2 else there
    return 1.0 - float(np.mean([average_precision(log_p[:, k], y == k, weight) for k in chosen]))


def average_precision(score: Floats, mine: NDArray[np.bool_], weight: Floats | None = None) -> float:
    """Return scikit-learn's average precision of scores (N,) for the rows that are of a class, one at least."""
    return float(average_precision_score(mine, np.nan_to_num(score), sample_weight=weight))


def auc_error(score: Floats, mine: NDArray[np.bool_]) -> float:
    """Return the standard error of the AUC of scores (N,) for the rows that are of a class; NaN of less than two rows
    of it, or of others.

    By the placements of E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson (1988): of each row of the class the share
    of the others below it, of each other one the share of the class above; ties count half. The variance is the sum of
    those of the two means.
    """
    m, n = int(mine.sum()), int((~mine).sum())
    if min(m, n) < 2:
        return float("nan")
    ranks = rankdata(score)
    above = (ranks[mine] - rankdata(score[mine])) / n
    below = 1 - (ranks[~mine] - rankdata(score[~mine])) / m
    return float(np.sqrt(above.var(ddof=1) / m + below.var(ddof=1) / n))


def row_losses(log_p: Floats, y: NDArray[np.integer]) -> Floats:
    """Return -log p(y | x) of each row (N,), nats."""
    return -log_p[np.arange(len(y)), y]


def row_squares(log_p: Floats, y: NDArray[np.integer]) -> Floats:
    """Return (1/C) sum_k (p_k - 1[k = y])^2 of each row (N,)."""
    off = np.exp(log_p)
    off[np.arange(len(y)), y] -= 1.0
    return (off**2).mean(axis=1)


def reliability(log_p: Floats, y: NDArray[np.integer], bins: int = BINS, weight: Floats | None = None) -> pd.DataFrame:
    """Return a line per bin of rows by the probability of the class they are predicted as (`binned_reliability`)."""
    return binned_reliability(np.exp(log_p.max(axis=1)), log_p.argmax(axis=1) == y, bins, weight)


def binned_reliability(
    p: Floats, happened: "NDArray[np.bool_] | Floats", bins: int = BINS, weight: Floats | None = None
) -> pd.DataFrame:
    """Return a line per bin of rows by the probability (N,) that was given to what happened, or did not (N,).

    Columns: rows (their weight), confidence (mean probability), accuracy (share of those where it happened), effective
    (rows of equal weight that would say as much, (sum of w)^2 / sum of w^2), and standard_error of the accuracy,
    sqrt(a (1 - a) / effective). Bins hold as many rows each, or as much weight; where rows of the same probability
    fall into several bins, each has its share of those where it happened: the order of the rows has
    no part, weights apart.
    """
    _, same = np.unique(p, return_inverse=True)
    whole, some = np.bincount(same, weight), np.bincount(same, happened * (1.0 if weight is None else weight))
    happened = np.divide(some, whole, out=np.zeros(len(some)), where=whole > 0)[same]
    order = np.argsort(p, kind="stable")
    if weight is None:
        parts = np.array_split(order, min(bins, len(order)))
    else:
        before = np.cumsum(weight[order]) - weight[order] / 2
        parts = np.split(order, np.searchsorted(before, weight.sum() * np.arange(1, bins) / bins))
    parts = [part for part in parts if len(part) and (weight is None or weight[part].sum() > 0)]
    each = [np.ones(len(part), int) if weight is None else weight[part] for part in parts]
    confidence, accuracy = (
        np.array([np.average(of[part], weights=w) for part, w in zip(parts, each, strict=True)]) for of in (p, happened)
    )
    effective = np.array([w.sum() ** 2 / (w**2).sum() for w in each])
    return reliability_table(np.array([w.sum() for w in each]), confidence, accuracy, effective)


def reliability_table(
    rows: NDArray[Any], confidence: Floats, accuracy: Floats, effective: Floats | None = None
) -> pd.DataFrame:
    """Return the table of `reliability` of its first four columns, each (B,); effective: None where rows are equal."""
    effective = rows.astype(float) if effective is None else effective
    error = np.sqrt(accuracy * (1 - accuracy) / effective)
    found = {"rows": rows, "confidence": confidence, "accuracy": accuracy, "effective": effective}
    return pd.DataFrame({**found, "standard_error": error})


def pooled_reliability(tables: Sequence[Mapping[str, Sequence[float]]]) -> pd.DataFrame:
    """Return one table for the tables of several folds: bin k holds the rows that are in bin k of each."""
    rows, confidence, accuracy = (np.concatenate([t[name] for t in tables]) for name in _BINNED)
    bins = np.concatenate([np.arange(len(table["rows"])) for table in tables])
    every = np.bincount(bins, rows)
    means = [np.bincount(bins, rows * part) / every for part in (confidence, accuracy)]
    return reliability_table(every.astype(np.int64), *means)


def calibration_error(log_p: Floats, y: NDArray[np.integer], bins: int = BINS, weight: Floats | None = None) -> float:
    """Return the expected calibration error, ECE."""
    table = reliability(log_p, y, bins, weight)
    return float((table.rows * (table.accuracy - table.confidence).abs()).sum() / table.rows.sum())


def loss_text(value: float) -> str:
    """Return a loss as sentences, tables and pictures have it: three decimals, and two digits that count of less.

    What is rounding alone is 0.000; what is too small to be read so has a power of ten.

    >>> loss_text(0.39149), loss_text(0.0046), loss_text(1.2), loss_text(0.0000616)
    ('0.391', '0.0046', '1.200', '0.000062')
    >>> loss_text(3.21e-7), loss_text(5.82e-19), loss_text(0.00998)
    ('3.2e-07', '0.000', '0.010')
    """
    if 1e-12 < abs(value) < 1e-5:
        return f"{value:.2g}"
    value = float(f"{value:.1e}") if abs(value) < 0.01 else value
    if 1e-5 <= abs(value) < 0.01:
        return np.format_float_positional(value, precision=2, fractional=False, min_digits=2)
    return f"{value:.3f}"
