"""Density features: all columns and their slopes by bandwidth of 200,000 rows, and how far grids are from exact sums.

    seconds   phi and dphi of rows left out of their own sums, bandwidths moved within their grids (and summed over
              processors), or so far that votes are spread anew ("new grids"); one column moved; without dphi; phi of
              other rows (prediction)
    error     the largest |phi - exact| and |dphi - exact| over rows whose sums are all at least 1e-3, at h / delta
              nodes a bandwidth; half the spacing should leave a sixteenth

Tables are made. "normal": classes half a standard deviation apart; "rounded": the same in tenths, as measured values
are; "heavy": Cauchy, so that stretches are few and wide apart; "apart": numbers tell the classes, the sums of one are
thin where the other lies; "classes": five of them.
"""

import argparse
import time
from collections.abc import Iterator
from itertools import count

import numpy as np

from alrviz.models.density import DensityFeatures
from alrviz.models.density_votes import training_row_kinds
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.density import MIN_GRID_SUM, ColumnSums, RowKinds, fill_numeric
from alrviz.passes.sources import Sources
from alrviz.passes.threads import resolve_jobs
from benchmarks._tools import Row, reached, seconds, show, taking_turns, timed

MAX_SECONDS = 0.10
SHAPES = ("normal", "rounded", "heavy", "apart", "classes")
RATIOS = (10, 14, 20, 28, 40)


def make_table(shape: str, rows: int, columns: int, seed: int = 0) -> tuple[Floats, np.ndarray, int]:
    """Return numbers (columns, rows), classes and how many there are."""
    random = np.random.default_rng(seed)
    classes = 5 if shape == "classes" else 2
    y = random.integers(0, classes, rows).astype(np.int32)
    if shape == "apart":
        return random.random((columns, rows)) + y, y, classes
    x = random.standard_cauchy((columns, rows)) if shape == "heavy" else random.normal(size=(columns, rows)) + 0.5 * y
    return np.round(x, 1) if shape == "rounded" else x, y, classes


def features_of(x: Floats, y: np.ndarray, classes: int, jobs: int) -> DensityFeatures:
    """Learn the features of numeric columns alone."""
    no_codes = np.empty((0, x.shape[1]), np.uint8)
    return DensityFeatures(x, no_codes, np.empty(0, np.int64), y, np.ones(len(y)), classes, n_jobs=jobs)


def measure(shape: str, options: argparse.Namespace) -> Row:
    """Time the features of one table, in turns."""
    x, y, classes = make_table(shape, options.rows, options.columns)
    jobs = resolve_jobs(options.threads)
    making = timed(lambda: features_of(x, y, classes, jobs), 1)
    features = features_of(x, y, classes, jobs)
    start, turns = np.log(features.silverman), count()
    step = np.zeros(len(start))
    step[0] = 1e-3
    previous = features.training(start, True)
    works = {
        "kept": lambda: features.training(start + 1e-4 * next(turns), True),
        "one": lambda: features.training(start + step, True, previous=previous),
        "phi": lambda: features.training(start + 1e-4 * next(turns), True, gradient=False),
        "rows": lambda: features.rows(x, np.empty((0, len(y)), np.uint8), start),
        "new": lambda: features.training(start + np.log(2) * (next(turns) % 2), True),
    }
    begin = time.process_time()
    for _ in range(options.repeats):
        works["kept"]()
    processors = (time.process_time() - begin) / options.repeats
    timings = dict(zip(works, taking_turns(list(works.values()), options.repeats), strict=True))
    return {
        "table": shape, "rows": len(y), "columns": len(x), "classes": classes, "threads": jobs, "making": making.median,
        "least": min(timings["kept"].seconds), "processors": processors,
        **{name: timing.median for name, timing in timings.items()},
    }  # fmt: skip


def errors(rows: int) -> Iterator[Row]:
    """Set grids beside exact sums, one column of the normal table, rows left out of their own sums."""
    x, y, classes = make_table("normal", rows, 1, seed=1)
    h = float(features_of(x, y, classes, 1).silverman[0])
    column = Sources(x[0], y, np.ones(rows), classes)
    kinds = training_row_kinds(y, np.ones(rows), np.bincount(y).astype(np.float64), 1)
    *exact, logs = _fill_sums(column, kinds, h, 0.0)
    fair = np.exp(logs.min(axis=0)) >= MIN_GRID_SUM
    last: Row = {}
    for ratio in RATIOS:
        if column.grid(h / ratio).exact:  # so few rows that no grid is used
            return
        sums = _fill_sums(column, kinds, h, h / ratio)
        gaps = [float(np.abs(a - b)[0][fair].max()) for a, b in zip(sums, exact, strict=False)]
        order = np.log(last["phi"] / gaps[0]) / np.log(ratio / last["ratio"]) if last else np.nan
        last = {"table": "error", "rows": rows, "ratio": ratio, "phi": gaps[0], "dphi": gaps[1], "order": float(order)}
        yield last


def _fill_sums(column: Sources, kinds: RowKinds, h: float, delta: float) -> tuple[Floats, Floats, Floats]:
    phi, dphi, logs = (np.empty((n, len(column.x))) for n in (1, 1, 2))
    fill_numeric([ColumnSums(column, column.x, column.place, h, delta, phi, dphi, logs)], kinds, 1.0, MIN_GRID_SUM, 1)
    return phi, dphi, logs


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the shape of the tables and the threads."""
    parser.add_argument("--rows", type=int, default=200_000, help="of each table (default: 200,000)")
    parser.add_argument("--columns", type=int, default=10, help="of each table (default: 10)")
    parser.add_argument(
        "--shapes", nargs="+", default=list(SHAPES), choices=SHAPES, metavar="SHAPE", help="which tables"
    )
    parser.add_argument("--error-rows", type=int, default=20_000, help="of the table of errors (default: 20,000)")
    parser.add_argument("--threads", type=int, help="default: all")


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print and yield a row a table, then a row a spacing."""
    rows = []
    for shape in options.shapes:
        rows.append(measure(shape, options))
        yield rows[-1]
    times = ("making", "kept", "least", "processors", "one", "phi", "rows", "new")
    show(
        ((row["table"], row["classes"], *(seconds(row[name]) for name in times)) for row in rows),
        header=(f"{options.rows:,} rows x {options.columns}", "classes", "sorting", "phi and dphi", "least",
                "processors", "one column", "phi alone", "other rows", "new grids"),
    )  # fmt: skip
    print(f"\n{resolve_jobs(options.threads)} threads, medians of {options.repeats}")
    for row in rows:
        print(f"{row['table']}: {reached(row['kept'], MAX_SECONDS)}")
    spacings = list(errors(options.error_rows))
    print()
    show(
        ((row["ratio"], f"{row['phi']:.2e}", f"{row['dphi']:.2e}", f"{row['order']:.2f}") for row in spacings),
        header=(f"h / delta ({options.error_rows:,} rows)", "error of phi", "of dphi", "order"),
    )
    yield from spacings
