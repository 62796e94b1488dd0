"""MDL cuts of Covertype's ten numeric columns at full size, 581,012 rows and 7 classes.

With --data the rows of covtype-sample are repeated until there are as many as in the full set; without it the table is
made: ten columns of normal values about a mean that depends on the class, rounded so that values repeat. Repeating rows
brings no new values; the full set has a few more than the sample.
"""

import argparse
from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd

from alrviz.data.mdl import mdl_cuts
from benchmarks._tools import Row, data_file, reached, seconds, show, timed

ROWS = 581_012
COLUMNS = 10
CLASSES = 7


def make_table(rows: int, seed: int = 0) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return names, values (rows x 10) and classes of a made table with Covertype's shape and class shares."""
    random = np.random.default_rng(seed)
    y = random.choice(CLASSES, size=rows, p=np.array([365, 488, 62, 5, 16, 30, 34]) / 1000).astype(np.int32)
    centers = random.normal(0.0, 1.0, (CLASSES, COLUMNS))
    X = np.round((random.normal(0.0, 1.0, (rows, COLUMNS)) + centers[y]) * np.linspace(20, 1000, COLUMNS))
    return [f"column {j}" for j in range(COLUMNS)], X, y


def read(options: argparse.Namespace) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return names, values and classes of the table the options ask for."""
    path = data_file(options.data, "covtype-sample")
    if path is None:
        return make_table(options.rows)
    frame = pd.read_csv(path)
    rows = np.resize(np.arange(len(frame)), options.rows)
    names = list(frame.columns[:COLUMNS])
    y = np.unique(frame.iloc[:, -1], return_inverse=True)[1].astype(np.int32)
    return names, frame[names].to_numpy(np.float64)[rows], y[rows]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the number of rows."""
    parser.add_argument("--rows", type=int, default=ROWS, help=f"how many rows (default: {ROWS})")


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print a row a column, and the sum; yield a row a column."""
    names, X, y = read(options)
    columns = [np.ascontiguousarray(X[:, j]) for j in range(X.shape[1])]
    n_classes = int(y.max()) + 1
    timings = [timed(partial(mdl_cuts, x, y, n_classes), options.repeats) for x in columns]
    cuts = [len(mdl_cuts(x, y, n_classes)) for x in columns]
    values = [len(np.unique(x)) for x in columns]
    show(
        ((name, v, c, seconds(t.median)) for name, v, c, t in zip(names, values, cuts, timings, strict=True)),
        header=(f"{len(y):,} rows, {n_classes} classes", "values", "cuts", "median"),
    )
    print(f"\nall {len(columns)} columns, one thread: {reached(sum(t.median for t in timings), 2.0)}")
    for name, v, c, t in zip(names, values, cuts, timings, strict=True):
        yield {"column": name, "rows": len(y), "values": v, "cuts": c, "seconds": t.median}
