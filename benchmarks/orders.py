"""Higher orders in 4 GB: order 3 on the sample of Covertype, order 4 on adult.

Each fit has a process of its own that may grow by 4 GB from the encoded rows on; the first iteration is timed from the
encoded rows, so estimating, planning and counting are in it (compiling is apart). adult: 70 % of its rows, cut by MDL;
Covertype: all of the sample, in 20 quantiles. Without --data the fits are of a made table.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import numpy as np

from alrviz.data.encoded import Encoded
from alrviz.fitting.runs.run import Run
from alrviz.fitting.warm import warm
from alrviz.models.cell_space import CellSpace
from benchmarks._child import Peak, in_child
from benchmarks._courses import recipe_of
from benchmarks._sets import COVERTYPE, made_rows, speed_rows
from benchmarks._tools import Row, mib, reached, seconds, show

MOST_BYTES = 4 * 2**30
FITS = {COVERTYPE: 3, "adult": 4}
MAX_FIRST_SECONDS, MAX_ITERATION_SECONDS = 20.0, 3.0


@dataclass(frozen=True)
class FitCost:
    """One fit: seconds to the first iteration and of each, bytes, the cells seen and F at the end."""

    rows: int
    classes: int
    tuples: int
    cells: int
    estimated_bytes: int
    bytes: int
    first: float
    each: float
    most: float
    iterations: int
    solver: str
    start: float
    objective: float
    outcome: str


def measure(folder: Path | None, name: str, order: int, options: argparse.Namespace) -> FitCost:
    """Fit, and watch time and memory."""
    encoded = made_rows(5000, 8, 5, 3) if folder is None else speed_rows(folder, name)
    warm(wide=False)
    peak, begin = Peak(), time.perf_counter()
    run = Run.on_encoded(encoded, recipe_of(order, options.alpha, max_iter=options.iterations), max_memory=MOST_BYTES)
    run.advance()
    run.advance()
    first = time.perf_counter() - begin - run.compile_seconds
    for _ in run.steps():
        if time.perf_counter() - begin > options.limit:
            run.stop()
    return _fit_cost(encoded, order, run, peak.growth, first)


def _fit_cost(encoded: Encoded, order: int, run: Run, size: int, first: float) -> FitCost:
    assert run.tables is not None
    assert run.estimate is not None
    steps = list(run.trace.since(0))
    iteration_seconds = np.diff([step.seconds for step in steps])
    return FitCost(
        rows=encoded.n_rows,
        classes=encoded.n_classes,
        tuples=CellSpace(encoded.levels, order).n_tuples,
        cells=len(run.tables.seen_cells),
        estimated_bytes=run.estimate.cost.bytes,
        bytes=size,
        first=first,
        each=median(iteration_seconds) if len(iteration_seconds) else np.nan,
        most=max(iteration_seconds, default=np.nan),
        iterations=steps[-1].index,
        solver=run.recipe.solver,
        start=steps[0].objective,
        objective=steps[-1].objective,
        outcome=str(run.outcome),
    )


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add sets, orders, penalty and limits."""
    parser.add_argument("--sets", nargs="+", default=list(FITS), metavar="SET", help="default: the two")
    parser.add_argument("--orders", nargs="+", type=int, metavar="N", help="for each set (default: 3, of adult 4)")
    parser.add_argument("--alpha", type=float, default=1.0, help="weight of the penalty on phi (default: 1)")
    parser.add_argument("--iterations", type=int, default=15, help="iterations of each fit (default: 15)")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for a fit (default: 300)")


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print and yield a row a fit."""
    rows: list[tuple[object, ...]] = []
    verdicts: list[str] = []
    for name in ["made"] if options.data is None else options.sets:
        for order in options.orders or [FITS.get(name, 3)]:
            answer = in_child(measure, options.data, name, order, options, limit=2.0 * options.limit + 60.0)
            label = f"{name}, order {order}"
            yield {"set": name, "order": order, "alpha": options.alpha, "refused": answer.reason} | (
                asdict(answer.value) if answer.value else {}
            )
            if not answer.value:
                verdicts += [f"{label}: {answer.reason}"]
                continue
            cost: FitCost = answer.value
            rows.append((label, f"{cost.rows:,}", f"{cost.tuples:,}", f"{cost.cells:,} x {cost.classes}",
                         mib(cost.bytes), mib(cost.estimated_bytes), seconds(cost.first), seconds(cost.each),
                         seconds(cost.most), cost.iterations, cost.solver,
                         f"{cost.start:.1f} .. {cost.objective:.4f}", cost.outcome.split(":")[0]))  # fmt: skip
            verdicts += [
                f"{label}: memory {reached(cost.bytes / 2**30, MOST_BYTES / 2**30, 'GiB')}; first iteration "
                f"{reached(cost.first, MAX_FIRST_SECONDS)}; then each {reached(cost.each, MAX_ITERATION_SECONDS)}"
            ]
    if rows:
        show(
            rows,
            header=("fit", "rows", "tuples", "cells seen", "memory", "estimated", "first iteration", "median", "most",
                    "iterations", "solver", "F from .. to", "outcome"),
        )  # fmt: skip
        print()
    print("\n".join(verdicts))
