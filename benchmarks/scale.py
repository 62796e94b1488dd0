"""Growth with rows from 10^4 to 10^6: seconds per iteration, time before the first, and memory beside a formula.

Rows are made, or with --data those of a set again and again with one code in five drawn anew. Every size has a
process of its own. Linear means: the least seconds of an iteration at every size are close to a + b N, where a is what
does not depend on rows (cells) and both are fitted. Memory, by the formula, is at most

    codes + keys + 3 N C x 8 bytes + (2 x memory + 8) vectors of (cells + 1) x C x 8 bytes, and 20 %
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from statistics import median

import numpy as np

from alrviz.fitting.prepare import TrainingData
from alrviz.fitting.runs.run import Run
from alrviz.fitting.warm import warm
from benchmarks._child import Peak, in_child
from benchmarks._courses import recipe_of
from benchmarks._sets import made_rows, repeated, speed_rows
from benchmarks._tools import Row, mib, seconds, show

SIZES = (10_000, 31_623, 100_000, 316_228, 1_000_000)
TOLERANCE = 0.20
NOISE = 0.2  # of fewer codes drawn anew more than a fifth of the rows would repeat, and be merged


@dataclass(frozen=True)
class FitCost:
    """One fit: seconds before the first iteration and of each (median, least, summed over processors), bytes."""

    rows: int
    before: float
    each: float
    least: float
    processors: float
    bytes: int
    max_bytes: float
    cells: int
    objective: float


def measure(options: argparse.Namespace, rows: int) -> FitCost:
    """Fit that many rows."""
    encoded = (
        made_rows(rows, options.columns, options.levels, options.classes)
        if options.data is None
        else repeated(speed_rows(options.data, options.set), rows, NOISE)
    )
    warm(wide=False)
    recipe = recipe_of(options.order, 1.0, solver="lbfgs", max_iter=options.iterations)
    peak, begin = Peak(), time.perf_counter()
    run = Run.on_encoded(encoded, recipe)
    run.advance()
    setup_seconds = time.perf_counter() - begin - run.compile_seconds - run.trace[0].seconds
    processors = time.process_time()
    for _ in run.steps():
        pass
    processors = time.process_time() - processors
    size = peak.growth
    assert run.tables is not None
    steps = list(run.trace.since(0))
    vector = 8 * (len(run.tables.seen_cells) + 1) * encoded.n_classes
    codes = encoded.codes.nbytes + encoded.y.nbytes + encoded.weights.nbytes
    blocks = len(TrainingData(encoded, None).plan(options.order).blocks)
    keys = blocks * rows * 2
    memory = min(int(recipe.params["memory"]), options.iterations)
    formula = codes + keys + 3 * 8 * rows * encoded.n_classes + (2 * memory + 8) * vector
    iteration_seconds = np.diff([step.seconds for step in steps])
    return FitCost(
        rows=rows,
        before=setup_seconds,
        each=median(iteration_seconds),
        least=min(iteration_seconds),
        processors=processors / steps[-1].index,
        bytes=size,
        max_bytes=(1.0 + TOLERANCE) * formula,
        cells=len(run.tables.seen_cells),
        objective=steps[-1].objective,
    )


def off_the_line(rows: list[int], durations: list[float]) -> list[float]:
    """Return by how much seconds are off the line a + b N that fits them best, relative; a and b at least 0."""
    from scipy.optimize import nnls

    N, t = np.array(rows, float), np.array(durations)
    (a, b), _ = nnls(np.column_stack([1.0 / t, N / t]), np.ones(len(N)))
    return list(t / (a + b * N) - 1.0)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add sizes, the set or the made table's shape, order and iterations."""
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), metavar="N", help="default: 10^4 to 10^6")
    parser.add_argument("--set", default="adult", help="a set of --data (default: adult)")
    parser.add_argument("--columns", type=int, default=15, help="of the made table (default: 15)")
    parser.add_argument("--levels", type=int, default=6, help="its levels per column (default: 6)")
    parser.add_argument("--classes", type=int, default=3, help="its classes (default: 3)")
    parser.add_argument("--order", type=int, default=2, help="order n (default: 2)")
    parser.add_argument("--iterations", type=int, default=15, help="iterations of each fit (default: 15)")


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print and yield a row a size."""
    name = "made" if options.data is None else options.set
    costs: list[FitCost] = []
    for rows in sorted(options.sizes):
        answer = in_child(measure, options, rows)
        if answer.reason:
            print(f"{name}, {rows:,} rows: {answer.reason}")
            continue
        costs.append(answer.value)
    if len(costs) < 2:
        return
    deviations = off_the_line([m.rows for m in costs], [m.least for m in costs])
    show(
        (_cells(m, d) for m, d in zip(costs, deviations, strict=True)),
        header=(f"{name}, order {options.order}: rows", "an iteration", "least", "a row", "processors, a row",
                "off the line", "before the first", "in iterations", "memory", "by the formula", "cells", "F / N"),
    )  # fmt: skip
    worst, largest = max(map(abs, deviations)), costs[-1]
    print(f"\nlinear within {TOLERANCE:.0%}: {worst:.0%}, {'yes' if worst <= TOLERANCE else 'NO'}")
    fits = all(m.bytes <= m.max_bytes for m in costs)
    print(f"memory within the formula: {'yes' if fits else 'NO'} (at {largest.rows:,} rows {mib(largest.bytes)} of "
          f"{mib(largest.max_bytes)})")  # fmt: skip
    for m, d in zip(costs, deviations, strict=True):
        yield {"set": name, "order": options.order, **asdict(m), "off": d}


def _cells(m: FitCost, deviation: float) -> tuple[object, ...]:
    return (
        f"{m.rows:,}",
        seconds(m.each),
        seconds(m.least),
        *(f"{1e9 * duration / m.rows:.1f} ns" for duration in (m.least, m.processors)),
        f"{deviation:+.0%}",
        seconds(m.before),
        f"{m.before / m.each:.1f}",
        mib(m.bytes),
        mib(m.max_bytes),
        f"{m.cells:,}",
        f"{m.objective / m.rows:.6f}",
    )
