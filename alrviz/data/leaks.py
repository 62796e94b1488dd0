"""Find columns that give the class away (leakage).

The class of each row is guessed from the other rows of the same level: without the row itself, so that an id predicts
nothing. Numbers are first cut into at most 200 quantiles. A column is a suspect if its guesses make at most 2 % of the
errors of always guessing the commonest class: it was probably recorded after the class was known. So is a column that
finds most rows of the rarer of two classes and hardly any other, such as "fatal" injuries for the class "died". Large
tables are sampled.
"""

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from alrviz.errors import listed
from alrviz.stop import NEVER, StopToken

MAX_SLICES = 200
MAX_LEAK_ERRORS = 0.02  # of the errors of the commonest class; odor in mushroom, a legitimate feature, makes 3 %
MAX_RARE_SHARE = 0.1  # of the rows; a class up to this share is rare
MIN_RECALL, MIN_PRECISION = 0.8, 0.95  # of a rare class: a column that reaches both is a suspect
MIN_RARE_ROWS = 30  # of a rare class; with fewer both measures are noise
MAX_CELLS = 1_000_000  # of the sample: a fifth of a second
MIN_SAMPLE_ROWS = 2_000


def find_leaks(columns: Mapping[str, pd.Series], labels: pd.Series, stop: StopToken = NEVER) -> dict[str, float]:
    """Return the columns that alone almost determine the class or a rare one, with the share of rows guessed right."""
    y = labels.cat.codes.to_numpy().astype(np.int64)
    max_rows = max(MIN_SAMPLE_ROWS, MAX_CELLS // max(1, len(columns)))
    rows = (
        np.sort(np.random.default_rng(0).choice(len(y), max_rows, replace=False)) if len(y) > max_rows else slice(None)
    )
    y = y[rows]
    counts = np.bincount(y)
    max_wrong = MAX_LEAK_ERRORS * (len(y) - counts.max())
    leaks = {}
    for name, series in columns.items():
        stop.check()
        guesses, can_guess = _guesses(_codes(series.iloc[rows]), y)
        wrong = int((guesses != y).sum())
        if can_guess and (wrong <= max_wrong or (len(counts) == 2 and _finds_rare(guesses, y, counts))):
            leaks[str(name)] = 1 - wrong / len(y)
    return leaks


def _finds_rare(guesses: np.ndarray, y: np.ndarray, counts: np.ndarray) -> bool:
    """Return whether the guesses (N,) find a rare class; counts (C,) are the rows of each class."""
    n_right = np.bincount(y[guesses == y], minlength=len(counts))
    n_guessed = np.bincount(guesses, minlength=len(counts))[: len(counts)]
    is_rare = (counts >= MIN_RARE_ROWS) & (counts <= MAX_RARE_SHARE * len(y))
    return bool(
        (is_rare & (n_right >= MIN_RECALL * counts) & (n_right >= MIN_PRECISION * np.maximum(n_guessed, 1))).any()
    )


def _codes(series: pd.Series) -> np.ndarray:
    """Return a level per row, 0 for missing."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        return series.cat.codes.to_numpy().astype(np.int64) + 1
    numbers = series.to_numpy(dtype=np.float64)
    present = ~np.isnan(numbers)
    cuts = np.unique(numbers[present])
    if len(cuts) > MAX_SLICES:
        cuts = np.unique(np.quantile(numbers[present], np.arange(1, MAX_SLICES) / MAX_SLICES, method="lower"))
    return np.where(present, np.searchsorted(cuts, numbers) + 1, 0)


def _guesses(codes: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return the commonest class among the other rows of each row's level, and whether any row has one.

    A row whose level has a tie, or no other row, gets `n_classes`, which no row's class is.
    """
    codes = np.unique(codes, return_inverse=True)[1]
    n_classes = int(y.max()) + 1
    # Only pairs that occur are counted: a table of levels x classes would be too large for columns of many levels.
    pairs, counts = np.unique(codes * n_classes + y, return_counts=True)
    level_of_pair, class_of_pair = pairs // n_classes, pairs % n_classes
    order = np.lexsort((class_of_pair, -counts, level_of_pair))
    level_of_pair, class_of_pair, counts = level_of_pair[order], class_of_pair[order], counts[order]
    first_pair = np.flatnonzero(np.r_[True, level_of_pair[1:] != level_of_pair[:-1]])
    best_count = counts[first_pair]
    second_count = np.where(np.r_[level_of_pair[1:] == level_of_pair[:-1], False], np.r_[counts[1:], 0], 0)[first_pair]
    # Rows of the commonest class are guessed right if the class still leads without the row itself.
    guess_by_level = np.where(best_count - 1 > second_count, class_of_pair[first_pair], n_classes)
    return guess_by_level[codes], bool((guess_by_level < n_classes).any())


def percent_told(share: float) -> str:
    """Return a share (0 to 1) in percent, rounded down to a tenth, so that "100 %" means all."""
    return f"{math.floor(1000 * share) / 10:g} %"


def leaks_note(leaks: Mapping[str, float]) -> str:
    """Return the note on the suspects that `find_leaks` returns; "" if there are none."""
    verb, shares_text = "tells" if len(leaks) == 1 else "tell", ", ".join(map(percent_told, [*leaks.values()][:8]))
    note = f"{listed([*leaks])} alone almost {verb} the class ({shares_text} of the rows); is that known beforehand?"
    return note if leaks else ""
