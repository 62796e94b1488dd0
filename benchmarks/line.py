"""How exact the search along a line should be: iterations, trials and processor seconds for several values of EXACT.

Each value is tried on the same fits, on one thread; the best F is the lowest that any of them found. Processor seconds
rather than seconds by the clock, so that a busy machine changes little.
"""

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pandas as pd

from alrviz.data.demos import load_demo
from alrviz.data.encoded import Encoded
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.solvers import line_minimum
from benchmarks._sets import encode_all, load_set
from benchmarks._tools import Row, show

MARGINS = (0.01, 0.001)


@contextmanager
def exactness(value: float) -> Iterator[None]:
    """Let searches be that exact."""
    previous = line_minimum.SLOPE_RATIO
    line_minimum.SLOPE_RATIO = value
    try:
        yield
    finally:
        line_minimum.SLOPE_RATIO = previous


def course(encoded: Encoded, recipe: Recipe, exact: float) -> pd.DataFrame:
    """Return F, evaluations and processor seconds after each iteration."""
    run = Run.on_encoded(encoded, recipe, n_jobs=1)
    points: list[tuple[int, float, int, float]] = []
    with exactness(exact):
        begin = time.process_time()
        for step in run.steps():
            if not points:
                begin = time.process_time()
            points.append((step.index, step.objective, step.evaluations, time.process_time() - begin))
    return pd.DataFrame(points, columns=["iterations", "objective", "evaluations", "seconds"])


def table_of(options: argparse.Namespace, name: str) -> Encoded:
    """Return the rows of a demo set, or a sample of those of a benchmark set."""
    encoded = encode_all(load_demo(name) if name == "led" else load_set(options.data, name))
    sample = np.sort(np.random.default_rng(0).permutation(encoded.n_rows)[: options.rows])
    return encoded.take(sample)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add sets, the values to try, and the recipe."""
    parser.add_argument("--sets", nargs="+", metavar="SET", help="default: led, with --data adult and connect-4 too")
    parser.add_argument("--rows", type=int, default=10_000, help="most rows of a set (default: 10000)")
    parser.add_argument("--exact", nargs="+", type=float, default=[0.9, 0.5, 0.1, 0.01, 0.001], help="values tried")
    parser.add_argument("--order", type=int, default=2, help="order n (default: 2)")
    parser.add_argument("--alphas", nargs="+", type=float, default=[0.0, 0.1], help="weights of the penalty on phi")
    parser.add_argument("--max-iter", type=int, default=200, help="most iterations (default: 200)")


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print and yield a row per set, family, alpha and value."""
    names = options.sets or (["led"] if options.data is None else ["led", "adult", "connect-4"])
    rows = []
    for name in names:
        encoded = table_of(options, name)
        for family in ("lr", "alr"):
            for alpha in options.alphas:
                recipe = Recipe(family, order=options.order, alpha=alpha, penalty="phi", center=0, start="zero",
                                max_iter=options.max_iter, tol=1e-9)  # fmt: skip
                courses = {exact: course(encoded, recipe, exact) for exact in options.exact}
                best = min(c.objective.min() for c in courses.values())
                for exact, frame in courses.items():
                    rows.append((f"{name} {family} alpha {alpha:g}", f"{exact:g}", *_milestones(frame, best)))
                    yield {"set": name, "family": family, "alpha": alpha, "exact": exact,
                           "objective": frame.objective.iloc[-1], "best": best,
                           "evaluations": frame.evaluations.iloc[-1], "seconds": frame.seconds.iloc[-1]}  # fmt: skip
    show(rows, header=("fit", "EXACT", *(f"{unit} to {w:.1%}" for w in MARGINS for unit in ("iter.", "eval.", "CPU s")),
                       "eval. an iter.", "F at the end over the best"))  # fmt: skip


def _milestones(frame: pd.DataFrame, best: float) -> list[str]:
    cells = []
    for margin in MARGINS:
        reached = frame[frame.objective <= best * (1.0 + margin)]
        cells += (
            [f"{reached.iterations.iloc[0]}", f"{reached.evaluations.iloc[0]}", f"{reached.seconds.iloc[0]:.2f}"]
            if len(reached)
            else ["-", "-", "-"]
        )
    last = frame.iloc[-1]
    return [*cells, f"{last.evaluations / last.iterations:.2f}", f"{last.objective / best - 1.0:.1e}"]
