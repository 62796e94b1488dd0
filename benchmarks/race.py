"""A race of families on one table: iterations, seconds, training and held-out log loss, and how soon each was close.

Close means: F within 1 % and 0.1 % of the lowest F that any of the racers reached (their objectives are the same as
long as the penalty is on phi).
"""

import argparse
import time
from collections.abc import Iterator

from alrviz.data.dataset import Dataset
from alrviz.data.demos import load_demo
from alrviz.data.read import read_table
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.warm import warm
from alrviz.passes.threads import resolve_jobs
from alrviz.studies.race.race import race
from benchmarks._sets import load_set
from benchmarks._tools import Row, seconds, show

MARGINS = (0.01, 0.001)


def table_of(options: argparse.Namespace) -> Dataset:
    """Return the table that is named: a file, a benchmark set of the folder, or else a demo set."""
    if options.file is not None:
        return read_table(options.file, target=options.target)
    if options.data is not None:
        return load_set(options.data, options.set)
    return load_demo(options.set)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the table, the racers and their settings."""
    parser.add_argument("--set", default="led", help="a set of --data, without it a demo set (default: led)")
    parser.add_argument("--file", metavar="FILE", help="a table of your own instead")
    parser.add_argument("--target", metavar="COLUMN", help="its class")
    parser.add_argument("--families", nargs="+", default=["lr", "alr"], metavar="FAMILY")
    parser.add_argument("--orders", nargs="+", type=int, default=[2], metavar="N")
    parser.add_argument(
        "--alphas", nargs="+", type=float, default=[0.0, 0.01], help="a race for each (default: 0 0.01)"
    )
    parser.add_argument("--starts", nargs="+", default=["zero"], metavar="START")
    parser.add_argument("--discretize", choices=("mdl", "quantile", "uniform", "none"), default="mdl")
    parser.add_argument("--max-iter", type=int, default=200, help="most iterations (default: 200)")


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print a table per alpha; yield a row a racer."""
    warm(wide=False)
    begin = time.perf_counter()
    dataset = table_of(options)
    print(f"{dataset.name}: {dataset.n_rows:,} rows, {dataset.X.shape[1]} columns, {dataset.n_classes} classes, "
          f"read in {seconds(time.perf_counter() - begin)}")  # fmt: skip
    for alpha in options.alphas:
        yield from _race(dataset, alpha, options)


def _race(dataset: Dataset, alpha: float, options: argparse.Namespace) -> Iterator[Row]:
    recipes = [
        Recipe(family, order=order, alpha=alpha, penalty="phi", center=0, start=start, max_iter=options.max_iter,
               discretize=None if options.discretize == "none" else options.discretize)
        for order in options.orders
        for family in options.families
        for start in options.starts
    ]  # fmt: skip
    begin = time.perf_counter()
    racers = race(dataset, recipes)
    racers.start()
    racers.join()
    race_seconds = time.perf_counter() - begin
    runs = racers.runs
    first_run = runs[0]
    assert first_run.encoded is not None
    assert first_run.tables is not None
    print(f"\nalpha {alpha:g}: {first_run.encoded.n_rows:,} training rows, {resolve_jobs(None)} threads, "
          f"whole race {seconds(race_seconds)}; {first_run.tables.empty_share:.1%} of (cell, class) never occur; "
          f"held-out log loss of the class shares {first_run.trace.baseline['heldout_class_shares']:.4f}, "
          f"of AnJE {first_run.trace.baseline['heldout_anje']:.4f}")  # fmt: skip
    best = min(run.trace[-1].objective for run in runs if len(run.trace))
    show(
        (_row(run, best) for run in runs),
        header=("racer", "iter.", "seconds", "ms an iter.", "training", "held out", "held-out error", "to 1 %",
                "s", "to 0.1 %", "s", "outcome"),
    )  # fmt: skip
    for run in runs:
        last = run.trace[-1] if len(run.trace) else None
        yield {"set": dataset.name, "alpha": alpha, "racer": run.recipe.name, "outcome": str(run.outcome)} | (
            {} if last is None else {"iterations": last.index, "seconds": last.seconds, "objective": last.objective}
        )


def _row(run: Run, best: float) -> tuple[object, ...]:
    if not len(run.trace):
        return (run.recipe.name, *[""] * 10, run.outcome)
    last = run.trace[-1]
    cells: list[str] = []
    for margin in MARGINS:
        step = next((s for s in run.trace.since(0) if s.objective <= best * (1.0 + margin)), None)
        cells += ["-", "-"] if step is None else [str(step.index), f"{step.seconds:.2f}"]
    return (
        run.recipe.name,
        last.index,
        f"{last.seconds:.2f}",
        f"{1e3 * last.seconds / max(1, last.index):.2f}",
        f"{last.nll / run.trace.rows:.4f}",
        f"{last.extra.get('heldout_log_loss', float('nan')):.4f}",
        f"{last.extra.get('heldout_error', float('nan')):.4f}",
        *cells,
        run.outcome.code if run.outcome else "",
    )
