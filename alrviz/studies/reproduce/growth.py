"""[DLR] figure 6: training time against rows, on rows that are made (the paper's are a hospital's).

Ten numeric columns, standard normal; log p(1|x)/p(0|x) = sum_d c_d (x_d^2 - 1) with c = 1, 1/2 ... 1/10 by turns of
sign: no column is monotone. Each method learns a first table once before it is timed, so that compiling does not count.
A method is given up at the first size at which it would take more than `limit` seconds if its time went on to grow as
between its last two sizes, and at least with the rows.
"""

import time
import warnings
from collections.abc import Iterator, Sequence
from math import log
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from alrviz.studies.reproduce.methods import METHODS

SIZES = (1_000, 3_162, 10_000, 31_623, 100_000, 316_228, 1_000_000)
METHODS_TIMED = ("lr", "svm-rbf", "dlr", "dlr-h", "dlr-loo")
COLUMNS = 10
LIMIT = 60.0  # s; an SVM on 10^5 rows would take minutes, on 10^6 days


def made(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return (rows, COLUMNS) numbers and their classes 0 and 1."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, COLUMNS))
    weights = np.array([(-1.0) ** d / (d + 1) for d in range(COLUMNS)])
    return X, (random.logistic(size=rows) < (X**2 - 1.0) @ weights).astype(int)


def growth_rows(
    sizes: Sequence[int] = SIZES, methods: Sequence[str] = METHODS_TIMED, limit: float = LIMIT
) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield (what was done, its row) a size and method, the smallest size first."""
    taken: dict[str, list[tuple[int, float]]] = {name: [] for name in methods}
    with threadpool_limits(1):
        for name in methods:
            _fit(name, made(sizes[0], seed=1))
        for size in sizes:
            table = None  # made when the first method wants it: nobody may
            for name in methods:
                expected = expected_seconds(taken[name], size)
                row = {"set": "made", "method": name, "rows": size}
                if expected > limit:
                    yield f"{name} on {size:,} rows: given up", [row | {"expected_s": expected}]
                    continue
                table = table or made(size)
                seconds, at_limit = _fit(name, table)
                taken[name].append((size, seconds))
                yield f"{name} on {size:,} rows: {seconds:.3g} s", [row | {"train_s": seconds, "step_limit": at_limit}]


def _fit(name: str, table: tuple[np.ndarray, np.ndarray]) -> tuple[float, bool]:
    """Return the seconds of a fit, and whether it ended at its step limit."""
    model = METHODS[name].build()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        model.fit(*table)
        seconds = time.perf_counter() - start
    return seconds, any(issubclass(warning.category, ConvergenceWarning) for warning in caught)


def expected_seconds(taken: Sequence[tuple[int, float]], size: int) -> float:
    """Return the seconds that `size` rows would take after (rows, seconds) of smaller tables; 0 after fewer than two.

    >>> expected_seconds([(100, 1.0), (200, 4.0)], 400)
    16.0
    """
    if len(taken) < 2:
        return 0.0
    (rows, seconds), (last_rows, last_seconds) = taken[-2:]
    return last_seconds * (size / last_rows) ** max(1.0, exponent(rows, seconds, last_rows, last_seconds))


def exponent(rows: float, seconds: float, more_rows: float, more_seconds: float) -> float:
    """Return p of seconds ~ rows^p between two sizes."""
    return log(more_seconds / seconds) / log(more_rows / rows)
