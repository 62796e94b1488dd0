"""[DLR] figure 6: training time against rows, on rows that are made (the paper's are a hospital's).

Ten numeric columns, standard normal; log p(1|x)/p(0|x) = sum_d c_d (x_d^2 - 1) with c = 1, 1/2 ... 1/10 by turns of
sign: no column is monotone. Each method learns a first table once before it is timed, so that compiling does not count.
A method is given up at the first size at which it would take more than `limit` seconds if its time went on to grow as
between its last two sizes, and at least with the rows.
"""

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from math import log

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from reproduction.kept import Progress, Row, Step, kept_rows
from reproduction.methods import METHODS
from reproduction.settings import Settings

SIZES = (1_000, 3_162, 10_000, 31_623, 100_000, 316_228, 1_000_000)
METHODS_TIMED = ("lr", "svm-rbf", "dlr", "dlr-h", "dlr-loo")
COLUMNS = 10
LIMIT = 60.0  # s; an SVM on 10^5 rows would take minutes, on 10^6 days


def make_rows(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return (rows, COLUMNS) numbers and their classes 0 and 1."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, COLUMNS))
    weights = np.array([(-1.0) ** d / (d + 1) for d in range(COLUMNS)])
    return X, (random.logistic(size=rows) < (X**2 - 1.0) @ weights).astype(int)


def growth_rows(
    settings: Settings, sizes: Sequence[int] = SIZES, methods: Sequence[str] = METHODS_TIMED, limit: float = LIMIT
) -> Progress:
    """Yield (what was done, its rows) a method: its seconds at all sizes, the smallest first; each method is kept."""
    one_job = replace(settings, jobs=1)  # seconds beside another process mean little
    steps = [
        Step(
            f"{name} on {min(sizes):,} to {max(sizes):,} rows",
            ["growth", name, list(sizes), limit],
            series,
            (name, sizes, limit),
        )
        for name in methods
    ]
    yield from kept_rows("growth", steps, one_job)


def series(name: str, sizes: Sequence[int], limit: float) -> list[Row]:
    """Return a row a size of one method: train_s, or expected_s where it is given up."""
    timings: list[tuple[int, float]] = []
    rows: list[Row] = []
    with threadpool_limits(1):
        _fit(name, make_rows(sizes[0], seed=1))
        for size in sizes:
            prediction = expected_seconds(timings, size)
            row: Row = {"set": "made", "method": name, "rows": size}
            if prediction > limit:
                rows.append(row | {"expected_s": prediction})
                continue
            seconds, at_limit = _fit(name, make_rows(size))
            timings.append((size, seconds))
            rows.append(row | {"train_s": seconds, "step_limit": at_limit})
    return rows


def _fit(name: str, table: tuple[np.ndarray, np.ndarray]) -> tuple[float, bool]:
    """Return the seconds of a fit, and whether it ended at its step limit."""
    model = METHODS[name].build()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        model.fit(*table)
        seconds = time.perf_counter() - start
    return seconds, any(issubclass(warning.category, ConvergenceWarning) for warning in caught)


def expected_seconds(timings: Sequence[tuple[int, float]], size: int) -> float:
    """Return the seconds that `size` rows would take after (rows, seconds) of smaller tables; 0 after fewer than two.

    >>> expected_seconds([(100, 1.0), (200, 4.0)], 400)
    16.0
    """
    if len(timings) < 2:
        return 0.0
    (rows, seconds), (last_rows, last_seconds) = timings[-2:]
    return last_seconds * (size / last_rows) ** max(1.0, exponent(rows, seconds, last_rows, last_seconds))


def exponent(rows: float, seconds: float, more_rows: float, more_seconds: float) -> float:
    """Return p of seconds ~ rows^p between two sizes."""
    return log(more_seconds / seconds) / log(more_rows / rows)
