"""Decomposition of the error into bias and variance: what is wrong on average, and what depends on the training rows.

R models were trained on different rows, and each predicted every row i; f_iy is the share of models that predict y.

    Kohavi-Wolpert   bias2 = 1/(2N) sum_i sum_y (1[y = y_i] - f_iy)^2      variance = 1/(2N) sum_i (1 - sum_y f_iy^2)
                     bias2 + variance = error, exactly                                             (the plug-in form)
    unbiased         bias2 - variance / (R - 1)     and     variance R / (R - 1)                 (what the papers print)
    Domingos         main_i = the class that most models predict (the first of equal ones)
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
from alrviz.passes.aligned_buffers import Floats


@dataclass(frozen=True)
class Decomposition:
    """Bias and variance of 0-1 loss, by three definitions.

    Attributes:
        error: share of wrong predictions, over rows and models.
        bias, variance: Kohavi-Wolpert's plug-in form; they add up to the error.
        bias_unbiased, variance_unbiased: its unbiased form; they add up to the error too.
        bias_domingos, variance_domingos: share of rows whose main prediction is wrong; share of predictions that
            differ from the main one.
        net_variance_domingos: what variance adds to the error; negative on rows with a wrong main prediction.
    """

    error: float
    bias: float
    variance: float
    bias_unbiased: float
    variance_unbiased: float
    bias_domingos: float
    variance_domingos: float
    net_variance_domingos: float


def decompose(
    predicted: NDArray[np.integer], y: NDArray[np.integer], n_classes: int, weights: Floats | None = None
) -> Decomposition:
    """Decompose the error of R models' predicted classes (R, N) for rows of classes y (N,), numbers below n_classes.

    weights: (N,) weight of each row in the averages; None: all equal.

    Raises:
        RecipeError: with fewer than two models, which have no variance.
    """
    rounds = len(predicted)
    if rounds < 2:
        raise RecipeError(f"variance needs predictions of at least 2 models for each row, got {rounds}; add rounds")
    return _decomposition_of(
        np.average(_per_row(_prediction_counts(predicted, n_classes), rounds, y), axis=1, weights=weights), rounds
    )


def leave_one_out(
    predicted: NDArray[np.integer], y: NDArray[np.integer], n_classes: int, weights: Floats | None = None
) -> list[Decomposition]:
    """Return `decompose` of the predicted classes (R, N) without each round in turn; R >= 3.

    The other arguments are those of `decompose`. A row's figures without a round depend only on that round's
    prediction, so C tables of figures serve all R rounds.
    """
    n_rounds, n_rows = predicted.shape
    votes, row_numbers = _prediction_counts(predicted, n_classes), np.arange(n_rows)
    figures = np.zeros((n_classes, 6, n_rows))
    for class_index in range(n_classes):
        is_predicted = votes[:, class_index] > 0
        reduced_counts = votes[is_predicted]
        reduced_counts[:, class_index] -= 1
        figures[class_index][:, is_predicted] = _per_row(reduced_counts, n_rounds - 1, y[is_predicted])
    return [
        _decomposition_of(np.average(figures[round_classes, :, row_numbers], axis=0, weights=weights), n_rounds - 1)
        for round_classes in predicted
    ]


def _prediction_counts(predicted: NDArray[np.integer], n_classes: int) -> NDArray[np.intp]:
    """Return how many rounds predicted each of n_classes classes for each row: (N, C)."""
    n_rows = predicted.shape[1]
    flat_index = predicted + n_classes * np.arange(n_rows)
    return np.bincount(flat_index.ravel(), minlength=n_rows * n_classes).reshape(n_rows, n_classes)


def _per_row(votes: NDArray[np.intp], rounds: int, y: NDArray[np.integer]) -> Floats:
    """Return error, bias2, variance, and Domingos's bias, variance and net variance of each row: (6, N).

    votes: (N, C) rounds that predicted each class, of `rounds` in all; y: (N,) true classes.
    """
    vote_share, row_numbers = votes / rounds, np.arange(len(votes))
    right = vote_share[row_numbers, y]
    squared = (vote_share**2).sum(axis=1)
    main_class = votes.argmax(axis=1)
    disagreement = 1 - vote_share[row_numbers, main_class]
    wrong = main_class != y
    bias2 = (1 - 2 * right + squared) / 2  # sum_y (1[y = y_i] - f)^2 = 1 - 2 f_{y_i} + sum f^2
    return np.stack([1 - right, bias2, (1 - squared) / 2, wrong, disagreement, np.where(wrong, -right, disagreement)])


def _decomposition_of(means: Floats, rounds: int) -> Decomposition:
    """Return the decomposition of the six means of `_per_row`, from this many rounds."""
    error, bias2, variance, bias_domingos, variance_domingos, net = map(float, means)
    return Decomposition(
        error=error,
        bias=bias2,
        variance=variance,
        bias_unbiased=bias2 - variance / (rounds - 1),
        variance_unbiased=variance * rounds / (rounds - 1),
        bias_domingos=bias_domingos,
        variance_domingos=variance_domingos,
        net_variance_domingos=net,
    )
