"""Does a column give the class away?

Each row's class is guessed from the other rows that share its level (leaving itself out, so that an id, which no other
row shares, knows nothing); numbers are first cut into at most 200 slices of equal size. A column whose guesses are
wrong on at most 2 % of the rows that the commonest class gets wrong was probably written down after the class was.
"""

import numpy as np
import pandas as pd

from alrviz.data.dataset import Dataset
from alrviz.stop import NEVER, StopToken

SLICES = 200
LEAK = 0.02  # of the errors of always saying the commonest class; mushroom's odor, a true clue, leaves 3 %


def leaks(dataset: Dataset, *, stop: StopToken = NEVER) -> list[str]:
    """Return the used columns that each alone determine the class nearly perfectly, in their order."""
    y = dataset.labels.cat.codes.to_numpy().astype(np.int64)
    allowed = LEAK * (len(y) - np.bincount(y).max())
    found = []
    for name in dataset.X.columns:
        stop.check()
        if _errors_alone(_codes(dataset.X[name]), y) <= allowed:
            found.append(str(name))
    return found


def _codes(series: pd.Series) -> np.ndarray:
    """Return a level per row, 0 for missing."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        return series.cat.codes.to_numpy().astype(np.int64) + 1
    numbers = series.to_numpy(dtype=np.float64)
    present = ~np.isnan(numbers)
    if not present.any():
        return np.zeros(len(numbers), dtype=np.int64)
    cuts = np.unique(numbers[present])
    if len(cuts) > SLICES:
        cuts = np.unique(np.quantile(numbers[present], np.arange(1, SLICES) / SLICES, method="lower"))
    return np.where(present, np.searchsorted(cuts, numbers) + 1, 0)


def _errors_alone(codes: np.ndarray, y: np.ndarray) -> int:
    """Return how many rows are guessed wrong by the commonest class among the other rows of their level."""
    codes = np.unique(codes, return_inverse=True)[1]
    n_classes = int(y.max()) + 1
    # Only (level, class) pairs that occur, sorted by level: a column of many levels needs no levels x classes table.
    pairs, counts = np.unique(codes * n_classes + y, return_counts=True)
    level, label = pairs // n_classes, pairs % n_classes
    order = np.lexsort((label, -counts, level))
    level, counts = level[order], counts[order]
    first = np.flatnonzero(np.r_[True, level[1:] != level[:-1]])
    best = counts[first]
    second = np.where(np.r_[level[1:] == level[:-1], False], np.r_[counts[1:], 0], 0)[first]
    # A row of the commonest class stays right while the rest of its class still leads without it.
    right = np.where(best - 1 > second, best, 0)
    return int(len(y) - right.sum())
