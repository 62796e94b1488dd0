"""Measures of predicted probabilities against the classes of rows, shared by all studies.

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
BINNING = f"{BINS} bins of equal numbers of rows"  # shown with every ECE: another binning gives another ECE


@dataclass(frozen=True)
class Measures:
    """Measures of some rows; smaller is better for each."""

    log_loss: float
    error: float
    rmse: float
    brier: float
    ece: float
    balanced_error: float
    average_precision_loss: float


MEASURES = tuple(field.name for field in fields(Measures))


def measures(log_p: Floats, y: NDArray[np.integer], weight: Floats | None = None) -> Measures:
    """Return the measures of log probabilities (N, C) for classes y (N,), the indices of their columns.

    weight: (N,) row weights; None: each row counts once. Integer weights act like repeated rows, except that a bin of
    ECE never divides a row.
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
    """Return the error rate of each class that occurs, averaged over these classes.

    predicted, y: (N,) predicted and true classes; weight: (N,), None if each row counts once.
    """
    weight_of_row = np.ones(len(y)) if weight is None else weight
    class_rows, wrong_rows = np.bincount(y, weight_of_row), np.bincount(y, weight_of_row * (predicted != y))
    return float((wrong_rows[class_rows > 0] / class_rows[class_rows > 0]).mean())


def average_precision_loss(log_p: Floats, y: NDArray[np.integer], weight: Floats | None = None) -> float:
    """Return 1 - AP, averaged over the classes that occur; with two classes only that of the rarer one.

    log_p (N, C), y and weight (N,) as for `measures`. The AP of a class is the mean, over its rows, of the precision
    among the rows that score at least as high.
    """
    class_rows = np.bincount(y, weight, minlength=log_p.shape[1])
    occurring = np.flatnonzero(class_rows)
    averaged_classes = occurring[[class_rows[occurring].argmin()]] if log_p.shape[1] == 2 else occurring
    return 1.0 - float(np.mean([average_precision(log_p[:, k], y == k, weight) for k in averaged_classes]))


def average_precision(score: Floats, in_class: NDArray[np.bool_], weight: Floats | None = None) -> float:
    """Return scikit-learn's average precision of scores (N,) for the rows of one class.

    in_class: (N,) which rows are of it, at least one; weight: (N,), None if each row counts once.
    """
    return float(average_precision_score(in_class, np.nan_to_num(score), sample_weight=weight))


def auc_error(score: Floats, in_class: NDArray[np.bool_]) -> float:
    """Return the standard error of the AUC of scores (N,) for the rows of one class; in_class (N,) are these rows.

    It is NaN if the class or the rest has fewer than two rows. E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson
    (1988): the placement of a row is the share of the other group's rows that it is ranked correctly against, ties
    counting half. The variance of AUC is the sum of the variances of the two groups' mean placements.
    """
    n_in_class, n_rest = int(in_class.sum()), int((~in_class).sum())
    if min(n_in_class, n_rest) < 2:
        return float("nan")
    ranks = rankdata(score)
    class_placements = (ranks[in_class] - rankdata(score[in_class])) / n_rest
    rest_placements = 1 - (ranks[~in_class] - rankdata(score[~in_class])) / n_in_class
    return float(np.sqrt(class_placements.var(ddof=1) / n_in_class + rest_placements.var(ddof=1) / n_rest))


def row_losses(log_p: Floats, y: NDArray[np.integer]) -> Floats:
    """Return -log p(y | x) of each row (N,), nats, from log_p (N, C) and classes y (N,)."""
    return -log_p[np.arange(len(y)), y]


def row_squares(log_p: Floats, y: NDArray[np.integer]) -> Floats:
    """Return (1/C) sum_k (p_k - 1[k = y])^2 of each row (N,), from log_p (N, C) and classes y (N,)."""
    error = np.exp(log_p)
    error[np.arange(len(y)), y] -= 1.0
    return (error**2).mean(axis=1)


def reliability(log_p: Floats, y: NDArray[np.integer], bins: int = BINS, weight: Floats | None = None) -> pd.DataFrame:
    """Return a row per bin of rows, by the probability of the predicted class (see `binned_reliability`).

    log_p (N, C), y and weight (N,) as for `measures`.
    """
    return binned_reliability(np.exp(log_p.max(axis=1)), log_p.argmax(axis=1) == y, bins, weight)


def binned_reliability(
    p: Floats, happened: "NDArray[np.bool_] | Floats", bins: int = BINS, weight: Floats | None = None
) -> pd.DataFrame:
    """Bin rows by the probability (N,) of an event, and compare it with how often the event happened (N,).

    Columns: rows (or weight), confidence (mean probability), accuracy (share of rows where it happened), effective
    (the number of equally weighted rows with the same precision, (sum of w)^2 / sum of w^2), standard_error of the
    accuracy, sqrt(a (1 - a) / effective). Bins hold equal numbers of rows, or equal weight. Rows of equal probability
    that fall into several bins share their mean, so that the order of the rows does not matter (weights aside).
    """
    _, group = np.unique(p, return_inverse=True)
    group_weight = np.bincount(group, weight)
    group_events = np.bincount(group, happened * (1.0 if weight is None else weight))
    happened = np.divide(group_events, group_weight, out=np.zeros(len(group_events)), where=group_weight > 0)[group]
    row_order = np.argsort(p, kind="stable")
    if weight is None:
        rows_by_bin = np.array_split(row_order, min(bins, len(row_order)))
    else:
        midpoints = np.cumsum(weight[row_order]) - weight[row_order] / 2
        rows_by_bin = np.split(row_order, np.searchsorted(midpoints, weight.sum() * np.arange(1, bins) / bins))
    rows_by_bin = [rows for rows in rows_by_bin if len(rows) and (weight is None or weight[rows].sum() > 0)]
    weights_by_bin = [np.ones(len(rows), int) if weight is None else weight[rows] for rows in rows_by_bin]
    confidence, accuracy = (
        np.array([np.average(row_values[rows], weights=w) for rows, w in zip(rows_by_bin, weights_by_bin, strict=True)])
        for row_values in (p, happened)
    )
    effective = np.array([w.sum() ** 2 / (w**2).sum() for w in weights_by_bin])
    return reliability_table(np.array([w.sum() for w in weights_by_bin]), confidence, accuracy, effective)


def reliability_table(
    rows: NDArray[Any], confidence: Floats, accuracy: Floats, effective: Floats | None = None
) -> pd.DataFrame:
    """Return the table of `reliability` from its columns, each (B,): rows, mean probability, share right, effective
    rows.

    effective: None if all weights are equal.
    """
    effective = rows.astype(float) if effective is None else effective
    error = np.sqrt(accuracy * (1 - accuracy) / effective)
    columns = {"rows": rows, "confidence": confidence, "accuracy": accuracy, "effective": effective}
    return pd.DataFrame({**columns, "standard_error": error})


def pooled_reliability(tables: Sequence[Mapping[str, Sequence[float]]]) -> pd.DataFrame:
    """Pool the tables of several folds: bin k holds the rows of bin k of each."""
    rows, confidence, accuracy = (
        np.concatenate([t[name] for t in tables]) for name in ("rows", "confidence", "accuracy")
    )
    bins = np.concatenate([np.arange(len(table["rows"])) for table in tables])
    total_rows = np.bincount(bins, rows)
    means = [np.bincount(bins, rows * bin_means) / total_rows for bin_means in (confidence, accuracy)]
    return reliability_table(total_rows.astype(np.int64), *means)


def calibration_error(log_p: Floats, y: NDArray[np.integer], bins: int = BINS, weight: Floats | None = None) -> float:
    """Return the expected calibration error, ECE, over this many bins; log_p (N, C), y and weight (N,) as for
    `measures`.
    """
    table = reliability(log_p, y, bins, weight)
    return float((table.rows * (table.accuracy - table.confidence).abs()).sum() / table.rows.sum())


def loss_text(value: float) -> str:
    """Format a loss for sentences, tables and pictures: three decimals, below 0.01 two significant digits.

    A value below 1e-12 is rounding error and shown as 0.000.

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
