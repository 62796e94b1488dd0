"""Cuts of a numeric column into quantiles, smooth levels or equal widths.

Cuts are sorted float64; value <= cut goes left. Every interval contains a training row, because a level is a value that
was seen in training.
"""

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels.cuts import merge_levels

QUANTILES_PER_LEVEL = 8  # before merging quantiles into smooth levels


def midpoint(low: float, high: float) -> float:
    """Return the number halfway, in [low, high): `low` if halfway rounds to `high`."""
    middle = (low + high) / 2
    if not np.isfinite(middle):  # the sum overflowed
        middle = low / 2 + high / 2
    return low if middle >= high else middle


def quantile_cuts(x: np.ndarray, n_bins: int, weights: np.ndarray | None = None) -> np.ndarray:
    """Return at most n_bins - 1 cuts that divide the weight of x (N,) evenly.

    Cut j is the midpoint of two neighbouring values: the midpoint at which the share of the weight below is nearest to
    j/n_bins (the lower one of two), so that a frequent value at either end still gets its interval.
    """
    values, value_indices = np.unique(x, return_inverse=True)
    if len(values) < 2:
        return np.empty(0)
    weight_below = np.cumsum(np.bincount(value_indices, weights=weights, minlength=len(values)))
    scaled_weight_below = weight_below[:-1] * n_bins  # times n_bins on both sides: exact for whole weights
    targets = np.arange(1, n_bins) * weight_below[-1]
    upper = np.minimum(np.searchsorted(scaled_weight_below, targets, side="left"), len(scaled_weight_below) - 1)
    lower = np.maximum(upper - 1, 0)
    lower_is_nearer = targets - scaled_weight_below[lower] <= scaled_weight_below[upper] - targets
    cut_indices = np.unique(np.where(lower_is_nearer, lower, upper))
    return np.array([midpoint(values[i], values[i + 1]) for i in cut_indices], dtype=np.float64)


def smooth_cuts(x: np.ndarray, y: np.ndarray, n_classes: int, n_bins: int, weights: np.ndarray) -> np.ndarray:
    """Return at most n_bins - 1 cuts of x (N,) with classes y (N,), merged from `QUANTILES_PER_LEVEL` times as many.

    Neighbouring quantiles are merged, those of lowest cost first: light ones with similar classes.

        cost = weight of both / mean weight  +  max(0, rise of the classes' log loss  -  (C - 1) / 2 log N)

    A value that fills several quantiles counts as one, and the others share the rest: nine of ten rows of adult have no
    capital gain, and would otherwise take all but five of 64 quantiles. Validation log loss at order 2:

        |                               | adult | magic |
        | as it is                      |  .269 |  .293 |
        | without merging               |  .277 |       |
        | without the (C - 1) / 2 log N |  .268 |  .298 |
    """
    values, value_indices = np.unique(x, return_inverse=True)
    mass, previous_mass = np.bincount(value_indices, weights).astype(float), np.inf
    n_quantiles = QUANTILES_PER_LEVEL * n_bins
    while mass.sum() < previous_mass:
        previous_mass = mass.sum()
        mass = np.minimum(mass, previous_mass / n_quantiles) if len(mass) > n_quantiles else np.ones(len(mass))
    cuts = quantile_cuts(values, n_quantiles, mass)
    interval = np.searchsorted(cuts, x, side="left")
    class_weights = np.bincount(interval * n_classes + y, weights, (len(cuts) + 1) * n_classes).reshape(-1, n_classes)
    mean_weight, noise = weights.sum() / n_bins, (n_classes - 1) / 2 * np.log(max(2.0, weights.sum()))
    return cuts[merge_levels(class_weights, n_bins, mean_weight, noise)]


def uniform_cuts(x: np.ndarray, n_bins: int) -> np.ndarray:
    """Return at most n_bins - 1 cuts of x (N,) into intervals of equal width; an empty one is merged with the next."""
    low, high = x.min(), x.max()
    fractions = np.arange(1, n_bins) / n_bins
    edges = np.unique(low * (1 - fractions) + high * fractions)  # never high - low, which may leave the range of floats
    edges = edges[(edges >= low) & (edges < high)]
    n_rows_by_interval = np.bincount(np.searchsorted(edges, x, side="left"), minlength=len(edges) + 1)
    return edges[n_rows_by_interval[:-1] > 0]


def cut_beside_zero(values: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return one cut (1,) of sorted values, between 0 and the next; before the last if none is above 0.

    NaN is ignored. Less than two values have no cut, (0,), and None have None.

    >>> cut_beside_zero(np.array([0.0, 1.0, 3.0]))
    array([0.5])
    """
    present = values[~np.isnan(values)]
    if len(present) < 2:
        return np.empty(0) if len(present) else None
    lower = min(int(np.searchsorted(present, 0.0)), len(present) - 2)
    return np.array([midpoint(present[lower], present[lower + 1])])
