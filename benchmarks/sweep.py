"""A sweep of bias and variance: 5 x 2-fold of lr and alr, n = 1, 2, 3, by one worker and by two.

alpha 1, tol 1e-6, at most 200 steps, each family's default penalty; every fold is cut and counted anew. A step of tron
("auto") may be hundreds of passes, one of lbfgs is one: see --solver. Processes are started before the clock, and what
that takes is said apart. With --data adult, else a made table.
"""

import argparse
import time
from collections.abc import Iterator
from typing import Any

from alrviz.data.dataset import Dataset
from alrviz.fitting.recipe import Recipe
from alrviz.studies.core.study import Study
from alrviz.studies.protocols.bias_variance import bias_variance
from benchmarks._sets import load_set, made_dataset
from benchmarks._tools import Row, reached, seconds, show

LIMIT, FASTER = 60.0, 1.8
SET = "adult"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Options beside those of every benchmark."""
    parser.add_argument("--set", default=SET, help=f"benchmark set (default: {SET})")
    parser.add_argument("--rows", type=int, default=2000, help="rows of the made table")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of 2-fold cross-validation (default: 5)")
    parser.add_argument("--orders", type=int, nargs="+", default=[1, 2, 3], metavar="N")
    parser.add_argument("--solver", default="auto", help="of every fit (default: auto, which is tron here)")
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 1], metavar="K", help="numbers of workers")


def sweep(dataset: Dataset, orders: list[int], rounds: int, workers: int, solver: str) -> Study:
    """Return the study."""
    fit: dict[str, Any] = {"alpha": 1.0, "tol": 1e-6, "max_iter": 200, "solver": solver}
    recipes = [Recipe(family, order=order, **fit) for order in orders for family in ("lr", "alr")]
    return bias_variance(dataset, recipes, rounds=rounds, folds=2, n_jobs=workers)


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print and yield the seconds of each number of workers, then of each recipe."""
    dataset = made_dataset(options.rows, 8, 4, 3) if options.data is None else load_set(options.data, options.set)
    print(f"{dataset.name}: {dataset.n_rows:,} rows, {dataset.X.shape[1]} columns; {options.rounds} x 2-fold")
    study_seconds: dict[int, float] = {}
    for workers in options.workers:
        start = time.perf_counter()
        sweep(dataset, [1], 1, workers, options.solver).run()  # processes started, kernels loaded, the table read
        ready = time.perf_counter() - start
        start = time.perf_counter()
        study = sweep(dataset, options.orders, options.rounds, workers, options.solver).run()
        study_seconds[workers] = time.perf_counter() - start
        label = f"{workers} worker{'s' if workers > 1 else ''}, {len(study.tasks)} fits, {study.progress.failed} failed"
        print(f"{label}: {reached(study_seconds[workers], LIMIT)} (made ready in {seconds(ready)})", flush=True)
        yield {"workers": workers, "fits": len(study.tasks), "seconds": study_seconds[workers], "ready_seconds": ready}
    if {1, 2} <= study_seconds.keys():
        print(f"two workers are {study_seconds[1] / study_seconds[2]:.2f} times as fast as one, to reach {FASTER:g}")
    yield from _figures(study)


def _figures(study: Study) -> Iterator[Row]:
    frame, lines = study.frame(), []
    for line in study.summary().itertuples():
        fits = frame[frame.racer == line.racer]
        costs = {"train_seconds": float(fits.train_seconds.mean()), "n_iter": float(fits.n_iter.mean())}
        parts = {name: float(getattr(line, name)) for name in ("error", "bias", "variance")}
        lines.append([line.name, seconds(costs["train_seconds"]), f"{costs['n_iter']:.0f}",
                      *(f"{part:.4f}" for part in parts.values())])  # fmt: skip
        yield {"recipe": line.name, "order": line.order, **costs, **parts}
    print()
    show(lines, ["recipe", "a fit", "steps", "0-1 loss", "bias", "variance"])
