"""Estimated bytes and seconds per pass beside those measured, for each set and order.

Each fit runs in a fresh process, on 70 % of the rows with the others held out. Its peak is what Python's tracemalloc
counts from the encoded rows on (numpy reports its arrays there); beside it stands the growth of the process's resident
memory, where the system tells. A pass is one NLL and gradient: by the clock on all threads, and in processor time on
one, which a busy machine changes little.
"""

import argparse
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from alrviz.data.encode import Encoder
from alrviz.data.encoded import Encoded
from alrviz.fitting.cost.cost import Cost, calibrate
from alrviz.fitting.cost.estimate import estimate
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.prepare import TrainingData
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.warm import warm
from alrviz.memory import free_memory
from alrviz.passes.cost_model import PassSize
from benchmarks._child import Peak, in_child
from benchmarks._passes import ready
from benchmarks._sets import load_set, made_rows, train_and_held
from benchmarks._tools import Row, mib, show

BYTES_WITHIN, SECONDS_WITHIN = 0.10, 2.0


@dataclass(frozen=True)
class CostCheck:
    """Estimate and measurement of one fit; bytes are 0 and seconds nan where it was refused."""

    refusal: str
    cells: int
    estimated_bytes: int
    traced_bytes: int
    resident_bytes: int
    estimated_seconds: float = np.nan
    seconds: float = np.nan
    estimated_alone: float = np.nan
    alone: float = np.nan


def rows_of(folder: Path | None, name: str) -> tuple[Encoded, Encoded]:
    """Return training and held-out rows of a set, or made rows for the name "made"."""
    if name == "made":
        encoded = made_rows(5000, 10, 5, 3)
        return encoded.take(np.arange(3500)), encoded.take(np.arange(3500, 5000))
    return train_and_held(load_set(folder, name), Encoder())


def copied(encoded: Encoded) -> Encoded:
    """Return a copy whose arrays are new, so that tracemalloc sees them."""
    return replace(
        encoded, codes=encoded.codes.copy(), y=encoded.y.copy(), weights=encoded.weights.copy(),
        levels=encoded.levels.copy()
    )  # fmt: skip


def measure(folder: Path | None, name: str, recipe: Recipe, repeats: int) -> CostCheck:
    """Estimate one fit, run it, and time its passes."""
    warm(wide=False)
    train, test_rows = rows_of(folder, name)
    fit_estimate = estimate(recipe, TableShape.from_prepared(TrainingData(train, test_rows)))
    if fit_estimate.refusal:
        return CostCheck(fit_estimate.refusal, fit_estimate.cells_seen, fit_estimate.cost.bytes, 0, 0)
    seconds = pass_seconds(train, recipe, repeats, None, time.perf_counter)
    thread_seconds = pass_seconds(train, recipe, repeats, 1, time.thread_time)
    work = work_of(train, recipe, fit_estimate.cells_seen).reference_seconds()
    estimated_alone = calibrate(Cost(seconds=work, passes=1), train.n_classes, 1).seconds
    peak = Peak()
    tracemalloc.start()
    run = Run.on_encoded(copied(train), recipe, copied(test_rows))
    n_classes = train.n_classes
    del train, test_rows
    for _ in run.steps():
        pass
    traced = tracemalloc.get_traced_memory()[1]
    growth = peak.growth
    times = (calibrate(fit_estimate.cost, n_classes).seconds, seconds, estimated_alone, thread_seconds)
    return CostCheck("", fit_estimate.cells_seen, fit_estimate.cost.bytes, traced, growth, *times)


def work_of(encoded: Encoded, recipe: Recipe, cells: int) -> PassSize:
    """Return the size of a pass as the estimate describes it."""
    at_hand = ready(encoded, recipe)
    plan = at_hand.plan
    return PassSize(
        at_hand.covered_rows.rows.n_rows, encoded.n_classes, cells, len(plan.blocks), plan.n_joint, plan.n_links
    )


def pass_seconds(
    encoded: Encoded, recipe: Recipe, repeats: int, n_jobs: int | None, clock: Callable[[], float]
) -> float:
    """Return the median seconds of one NLL and gradient."""
    fit = ready(encoded, recipe, n_jobs).fit
    durations = []
    for _ in range(repeats + 1):
        begin = clock()
        fit.objective.value_grad(fit.w0)
        durations.append(clock() - begin)
    return median(durations[1:])


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add sets, orders and the recipe."""
    parser.add_argument("--sets", nargs="+", default=["adult", "connect-4", "letter-recognition"], metavar="SET")
    parser.add_argument("--orders", nargs="+", type=int, default=[1, 2, 3], metavar="N")
    parser.add_argument("--family", choices=("lr", "alr", "anje"), default="alr")
    parser.add_argument("--iterations", type=int, default=15, help="iterations of each fit (default: 15)")


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print and yield a row per set and order."""
    sets = ["made"] if options.data is None else options.sets
    rows: list[tuple[object, ...]] = []
    bytes_off: list[float] = []
    seconds_off: list[float] = []
    thread_off: list[float] = []
    for name in sets:
        for order in options.orders:
            limits = {} if options.family == "anje" else {"max_iter": options.iterations, "tol": 0.0}
            recipe = Recipe(options.family, order=order, **limits)
            answer = in_child(measure, options.data, name, recipe, options.repeats)
            check = answer.value or CostCheck(answer.reason, 0, 0, 0, 0)
            rows.append((f"{name} n={order}", f"{check.cells:,}", *_cells(check)))
            yield {"set": name, "order": order, **asdict(check)}
            if not check.refusal:
                bytes_off.append(abs(check.estimated_bytes / check.traced_bytes - 1.0))
                seconds_off.append(_factor(check.estimated_seconds, check.seconds))
                thread_off.append(_factor(check.estimated_alone, check.alone))
    show(
        rows,
        header=(
            "fit",
            "cells",
            "estimated",
            "traced",
            "off",
            "resident",
            "estimated a pass",
            "measured",
            "ratio",
            "on one thread",
            "processor",
            "ratio",
        ),
    )
    print(f"\n{free_memory() / 2**20:,.0f} MiB are free")
    if bytes_off:
        print(f"bytes within {BYTES_WITHIN:.0%}: {'yes' if max(bytes_off) <= BYTES_WITHIN else 'NO'}")
        for label, factors in (("by the clock", seconds_off), ("of processor time on one thread", thread_off)):
            reached = "yes" if max(factors) <= SECONDS_WITHIN else "NO"
            print(f"seconds {label} within a factor {SECONDS_WITHIN:g}: {reached}")


def _factor(a: float, b: float) -> float:
    return max(a / b, b / a)


def _cells(check: CostCheck) -> tuple[str, ...]:
    estimated = mib(check.estimated_bytes)
    if check.refusal:
        return estimated, "refused", *[""] * 8
    return (
        estimated,
        mib(check.traced_bytes),
        f"{check.estimated_bytes / check.traced_bytes - 1.0:+.1%}",
        mib(check.resident_bytes),
        *_comparison(check.estimated_seconds, check.seconds),
        *_comparison(check.estimated_alone, check.alone),
    )


def _comparison(estimated: float, actual: float) -> tuple[str, str, str]:
    return f"{1e3 * estimated:,.1f} ms", f"{1e3 * actual:,.1f} ms", f"{estimated / actual:.2f}"
