"""Every family and start on ten real sets, on Zipf columns, and orders 2 and 3 of poker hands.

    real    lr, diagonal, adaptive, alr from zero, one and AnJE, alrj: iterations, passes and seconds of solver time to
            within 1 % and 0.1 % of the lowest F that any of them reached, alpha 0 and 1 on phi, n = 1 and 2
    zipf    the same racers where levels are as uneven as words are (Zipf's law) and the class follows weights of tuples
            of order n, alpha 0, n = 1, 2, 3, several tables each
    poker   held-out log loss of lr at n = 2 and n = 3

Where some racer can fit every row, F falls to 0 and the goals are 0.01 and 0.0001 per row. ">" stands before what a
racer that never came near had spent when it ended. A racer's ratio is its iterations over the fewest of any racer
(of lr, in "zipf"); means are geometric, and a racer that never came near counts with what it had spent.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from alrviz.data.dataset import Dataset
from alrviz.data.demos.generators import skewed
from alrviz.data.read import read_table
from alrviz.errors import AlrvizError
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.warm import warm
from alrviz.studies.race.milestones import (
    UNITS,
    Milestones,
    RacerSummary,
    heldout_losses,
    milestones,
    paired_difference,
)
from benchmarks._sets import load_set
from benchmarks._tools import Row, show
from benchmarks.defaults import SETS

RACERS: dict[str, tuple[str, dict[str, Any]]] = {
    "lr": ("lr", {}),
    "diagonal": ("lr", {"scale": "diagonal"}),
    "adaptive": ("lr", {"scale": "diagonal-adaptive"}),
    "alr": ("alr", {}),
    "alr from one": ("alr", {"start": "one"}),
    "alr from AnJE": ("alr", {"start": "anje"}),
    "alrj": ("alr", {"scale": "theta-gamma"}),
}
PARTS = ("real", "zipf", "poker")
POKER = "poker-hand-125k"
NEARLY = 1.25  # racers within this factor of the fewest iterations share the first place


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add parts, sets and settings."""
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="what is measured (default: all)")
    parser.add_argument("--sets", nargs="+", default=list(SETS), metavar="SET", help="which sets (default: ten)")
    parser.add_argument("--orders", nargs="+", type=int, default=[1, 2], metavar="N", help="of the sets (default: 1 2)")
    parser.add_argument("--alphas", nargs="+", type=float, default=[0.0, 1.0], help="on phi (default: 0 1)")
    parser.add_argument("--rows", type=int, help="most rows of a set, drawn at random (default: all; Zipf: 5000)")
    parser.add_argument("--max-iter", type=int, default=1000, help="most iterations of a fit (default: 1000)")
    parser.add_argument("--seeds", type=int, default=5, help="how many Zipf tables (default: 5)")


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print a table per set, order and alpha, then who was first how often; yield a row a racer."""
    if options.data is None and {"real", "poker"} & set(options.parts):
        raise AlrvizError("the sets are read from a folder; expected --data DIR, or --parts zipf")
    warm(wide=False)
    if "real" in options.parts:
        yield from _pass_on(_real(options), "fewest")
    if "zipf" in options.parts:
        yield from _pass_on(_zipf(options), "lr")
    if "poker" in options.parts:
        yield from _poker(options)


def _real(options: argparse.Namespace) -> Iterator[Row]:
    for name in options.sets:
        dataset = load_set(options.data, name)
        for order in options.orders:
            for alpha in options.alphas:
                holdout = 0.0 if options.rows is None else max(0.0, 1.0 - options.rows / dataset.n_rows)
                yield from raced("real", dataset, order, alpha, options.max_iter, holdout=min(holdout, 0.95))


def _zipf(options: argparse.Namespace) -> Iterator[Row]:
    for order in (1, 2, 3):
        for seed in range(options.seeds):
            frame = skewed(options.rows or 5000, np.random.default_rng(seed), order)
            dataset = read_table(frame, target="class", name="skewed")
            yield from raced("zipf", dataset, order, 0.0, options.max_iter, name=f"skewed {seed}")


def raced(
    part: str, dataset: Dataset, order: int, alpha: float, max_iter: int, *, name: str = "", holdout: float = 0.0
) -> Iterator[Row]:
    """Fit every racer, print their table and yield a row each."""
    lanes = []
    for racer, (family, params) in RACERS.items():
        recipe = Recipe(family, order=order, alpha=alpha, penalty="phi", center=0, max_iter=max_iter, tol=1e-9,
                        holdout=holdout, solver="lbfgs", **params)  # fmt: skip
        fit = Run(dataset, recipe)
        for _ in fit.steps():
            pass
        assert fit.outcome is not None
        lanes.append(RacerSummary(name=racer, label=recipe.label, frame=fit.trace.frame(), n_rows=fit.trace.rows,
                          outcome=fit.outcome.code, alpha=alpha))  # fmt: skip
    marks = milestones(lanes)
    title = f"{name or dataset.name} n={order} alpha={alpha:g}, {lanes[0].n_rows:,.0f} rows"
    rows = [_row(lane, marks) for lane in lanes]
    show(
        ((row["racer"], *(_cell_text(row, unit, goal) for goal in (0, 1) for unit in _UNITS), row["outcome"],
          f"{row['objective'] / lanes[0].n_rows:.6f}") for row in rows),
        header=(title, *(f"{unit} to {words}" for words in _goals(marks) for unit in _UNITS), "ended", "last per row"),
    )  # fmt: skip
    print(flush=True)
    for row in rows:
        yield {"part": part, "set": name or dataset.name, "order": order, "alpha": alpha, **row}


# What is counted, and the least that a ratio is taken of.
_UNITS = {"iterations": 1.0, "passes": 1.0, "seconds": 1e-5}


def _goals(marks: Milestones) -> tuple[str, str]:
    return ("0.01", "0.0001") if marks.to_zero else ("1 %", "0.1 %")


def _row(lane: RacerSummary, marks: Milestones) -> Row:
    totals = {unit: lane.last_of(column) for unit, column in UNITS.items()}
    row: Row = {"racer": lane.name, "outcome": lane.outcome, "objective": lane.best}
    for goal in (0, 1):
        milestone = marks.counts_by_racer[lane.name][goal]
        row |= {f"{unit}_{goal}": float((milestone or totals)[unit]) for unit in _UNITS} | {
            f"met_{goal}": milestone is not None
        }
    return row


def _cell_text(row: Row, unit: str, goal: int) -> str:
    value = row[f"{unit}_{goal}"]
    return ("" if row[f"met_{goal}"] else "> ") + (f"{value:.3g}" if unit == "seconds" else f"{value:.0f}")


def _pass_on(rows: Iterable[Row], base: str) -> Iterator[Row]:
    """Yield the rows unchanged, then print their summary."""
    passed_rows = []
    for row in rows:
        passed_rows.append(row)
        yield row
    if passed_rows:
        summary(pd.DataFrame(passed_rows), base)


def summary(frame: pd.DataFrame, base: str) -> None:
    """Print per order and alpha each racer's mean ratio to `base` ("fewest" or a racer) and how often it was first."""
    for (order, alpha), group in frame.groupby(["order", "alpha"]):
        print(f"n={order} alpha={alpha:g}, {group.set.nunique()} tables: iterations, passes and seconds over those of "
              f"{base}, and how often the iterations were within {NEARLY} times the fewest")  # fmt: skip
        show(
            ((racer, *_standing(group, racer, base)) for racer in RACERS),
            header=("racer", *(name for goal in ("1 %", "0.1 %")
                               for name in (f"iterations to {goal}", "passes", "seconds", "first")), "met"),
        )  # fmt: skip
        print(flush=True)


def _standing(group: pd.DataFrame, racer: str, base: str) -> Sequence[str]:
    cells: list[str] = []
    for goal in (0, 1):
        goals_met = group.pivot(index="set", columns="racer", values=f"met_{goal}").astype(bool)
        for unit, floor in _UNITS.items():
            counts = group.pivot(index="set", columns="racer", values=f"{unit}_{goal}").clip(lower=floor)
            fewest = counts.where(goals_met).min(axis=1)
            ratio = counts[racer] / (fewest if base == "fewest" else counts[base])
            cells.append(f"{np.exp(np.log(ratio.dropna()).mean()):.2f}")
            if unit == "iterations":
                first = int((goals_met[racer] & (counts[racer] <= NEARLY * fewest)).sum())
        cells.append(str(first))
    return (*cells, str(int(goals_met[racer].sum())))


def _poker(options: argparse.Namespace) -> Iterator[Row]:
    dataset = load_set(options.data, POKER)
    rows, losses = [], {}
    for order in (1, 2, 3):
        for alpha in options.alphas:
            fit = Run(dataset, Recipe("lr", order=order, alpha=alpha, max_iter=min(200, options.max_iter), tol=1e-7))
            for _ in fit.steps():
                pass
            last = fit.trace[-1]
            loss = heldout_losses(fit)
            assert loss is not None
            losses[order, alpha] = loss
            rows.append(
                {"part": "poker", "set": POKER, "order": order, "alpha": alpha, "racer": "lr", "iterations": last.index,
                 "train_log_loss": last.nll / fit.trace.rows, "log_loss": last.extra["heldout_log_loss"],
                 "error": last.extra["heldout_error"]}
            )  # fmt: skip
    show(
        ((f"lr n={row['order']} alpha={row['alpha']:g}", row["iterations"],
          *(f"{row[name]:.4f}" for name in ("train_log_loss", "log_loss", "error"))) for row in rows),
        header=(f"{POKER}, 70 % of {dataset.n_rows:,} rows", "iterations", "training log loss", "held out", "0-1 loss"),
    )  # fmt: skip
    for alpha in options.alphas:
        difference = paired_difference(losses[3, alpha], losses[2, alpha])
        print(f"held-out log loss of n=3 minus that of n=2, alpha={alpha:g}: {difference.mean:.4f}, standard error "
              f"{difference.error:.4f}")  # fmt: skip
    print(flush=True)
    yield from rows
