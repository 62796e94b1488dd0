"""Does a column give the class away?

Each row's class is guessed from the other rows that share its level (leaving itself out, so that an id, which no other
row shares, knows nothing); numbers are first cut into at most 200 slices of equal size. A column whose guesses are
wrong on at most 2 % of the rows that the commonest class gets wrong was probably written down after the class was. So
was one that finds most rows of the rarer of two classes and hardly any other: an injury that is fatal among the dead.
Tables of many rows are asked about a sample of them.
"""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from alrviz.errors import listed
from alrviz.stop import NEVER, StopToken

SLICES = 200
LEAK = 0.02  # of the errors of always saying the commonest class; mushroom's odor, a true clue, leaves 3 %
RARE = 0.1  # share of the rows: of a class below it a column that finds this much is a suspect
FOUND, RIGHT, FEWEST = 0.8, 0.95, 30  # of the rare class's rows; of the rows so guessed; rows of the class
MOST_CELLS = 1_000_000  # asked: a fifth of a second
FEWEST_ROWS = 2_000


def find_leaks(columns: Mapping[str, pd.Series], labels: pd.Series, stop: StopToken = NEVER) -> dict[str, float]:
    """Return the columns that each alone determine the class, or a rare one, nearly perfectly, in their order; of each
    the share of the rows whose class it tells.
    """
    y = labels.cat.codes.to_numpy().astype(np.int64)
    most = max(FEWEST_ROWS, MOST_CELLS // max(1, len(columns)))
    rows = np.sort(np.random.default_rng(0).choice(len(y), most, replace=False)) if len(y) > most else slice(None)
    y = y[rows]
    counts = np.bincount(y)
    allowed = LEAK * (len(y) - counts.max())
    leaks = {}
    for name, series in columns.items():
        stop.check()
        guesses, sure = _guesses(_codes(series.iloc[rows]), y)
        wrong = int((guesses != y).sum())
        if sure and (wrong <= allowed or (len(counts) == 2 and _finds_rare(guesses, y, counts))):
            leaks[str(name)] = 1 - wrong / len(y)
    return leaks


def _finds_rare(guesses: np.ndarray, y: np.ndarray, counts: np.ndarray) -> bool:
    right = np.bincount(y[guesses == y], minlength=len(counts))
    said = np.bincount(guesses, minlength=len(counts))[: len(counts)]
    rare = (counts >= FEWEST) & (counts <= RARE * len(y))
    return bool((rare & (right >= FOUND * counts) & (right >= RIGHT * np.maximum(said, 1))).any())


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


def _guesses(codes: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return each row's class by the commonest among the other rows of its level (-1: none leads), and if any does."""
    codes = np.unique(codes, return_inverse=True)[1]
    n_classes = int(y.max()) + 1
    # Only (level, class) pairs that occur, sorted by level: a column of many levels needs no levels x classes table.
    pairs, counts = np.unique(codes * n_classes + y, return_counts=True)
    level, label = pairs // n_classes, pairs % n_classes
    order = np.lexsort((label, -counts, level))
    level, label, counts = level[order], label[order], counts[order]
    first = np.flatnonzero(np.r_[True, level[1:] != level[:-1]])
    best = counts[first]
    second = np.where(np.r_[level[1:] == level[:-1], False], np.r_[counts[1:], 0], 0)[first]
    # A row of the commonest class stays right while the rest of its class still leads without it.
    guess = np.where(best - 1 > second, label[first], n_classes)
    return guess[codes], bool((guess < n_classes).any())


def percent_told(share: float) -> str:
    """Return the share of the rows whose class a column tells, rounded down: 100 % are all of them."""
    return f"{math.floor(1000 * share) / 10:g} %"


def leaks_note(leaks: Mapping[str, float]) -> str:
    """Return the note on such columns, with the share of the rows whose class each tells; "" where there is none."""
    tells, shares = "tells" if len(leaks) == 1 else "tell", ", ".join(map(percent_told, [*leaks.values()][:8]))
    note = f"{listed([*leaks])} alone almost {tells} the class ({shares} of the rows); is that known beforehand?"
    return note if leaks else ""
