"""One NLL and gradient at order 2: Covertype at full size, part by part, beside the same gathers alone.

    expand, gather (forward), softmax, scatter, scatter_to_cells        = objective.value_grad(w)

With --data the rows of covtype-sample are repeated to full size, and rows that repeat are NOT merged; numeric columns
are cut into 20 quantiles, and once more by MDL. Without it the table is made, of Covertype's shape. "Gathers alone" are
the same look-ups from the same tables, summed into scores by the same threads: no exp, no scatter. Planning looks for
the blocks, covering makes keys, seen cells and links; counting follows.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np

from alrviz.data.encode import Encoder
from alrviz.data.encoded import Encoded
from alrviz.fitting.warm import warm
from alrviz.passes.threads import resolve_jobs
from benchmarks._courses import recipe_of
from benchmarks._passes import Ready, ready
from benchmarks._sets import COVERTYPE, FULL_COVERTYPE, encoder_of, load_set, made_rows, repeated
from benchmarks._tools import Row, reached, seconds, show, taking_turns

MAX_SECONDS, GATHER_RATIO, PASS_RATIO = 0.10, 3.0, 10.0


@dataclass(frozen=True)
class PassTimes:
    """Median seconds of a pass (the least, and summed over processors), of its parts, and of what goes before it."""

    whole: float
    least: float
    processors: float
    expand: float
    gather: float
    softmax: float
    scatter: float
    scatter_to_cells: float
    planning: float
    covering: float
    counting: float
    objective: float


def tables_of(options: argparse.Namespace) -> Iterator[tuple[str, Encoded]]:
    """Yield name and rows of each table."""
    if options.data is None:
        yield f"made, {options.columns} columns", made_rows(options.rows, options.columns, 4, 7)
        return
    for name in options.sets:
        dataset = load_set(options.data, name)
        rows = options.rows if name == COVERTYPE else dataset.n_rows
        for cuts, encoder in (("20 quantiles", encoder_of(name)), ("MDL", Encoder())):
            if cuts == "MDL" or name == COVERTYPE:
                encoded = encoder.fit(dataset.X, dataset.y).encode(dataset.X, dataset.y)
                yield f"{name}, {cuts}", repeated(encoded, rows)


def measure(encoded: Encoded, at_hand: Ready, options: argparse.Namespace) -> PassTimes:
    """Time a pass and its parts, in turns."""
    objective, cover, rows = at_hand.fit.objective, at_hand.covered_rows.cover, at_hand.covered_rows.rows
    w = np.random.default_rng(0).normal(0.0, 0.1, at_hand.fit.w0.shape)
    point = objective.value_grad(w)
    blocks, jobs = cover.blocks, rows.n_jobs
    cells = np.random.default_rng(1).normal(0.0, 0.1, (blocks.n_cells, rows.padded_width))
    table, grad, z, residual = (
        np.zeros((n, rows.padded_width)) for n in (blocks.n_joint, blocks.n_joint, rows.n_rows, rows.n_rows)
    )
    bias = np.zeros(rows.n_classes)
    parts = taking_turns(
        [
            lambda: objective.value_grad(w),
            lambda: blocks.expand(cells, table, jobs),
            lambda: rows.forward(blocks, table, bias, z),
            lambda: rows.loss_and_residual(point.z, None, 0.0, point.z, residual),
            lambda: rows.scatter(blocks, residual, grad),
            lambda: blocks.scatter_to_cells(grad, np.zeros_like(cells), jobs),
        ],
        options.repeats,
    )
    begin = time.process_time()
    for _ in range(options.repeats):
        objective.value_grad(w)
    processors = (time.process_time() - begin) / options.repeats
    plans = [ready(encoded, options.recipe, options.threads, merge=False) for _ in range(min(3, options.repeats))]
    preparation = {stage: median(getattr(p, stage) for p in plans) for stage in ("planning", "covering", "counting")}
    names = ("whole", "expand", "gather", "softmax", "scatter", "scatter_to_cells")
    part_seconds = {name: part.median for name, part in zip(names, parts, strict=True)}
    return PassTimes(
        least=min(parts[0].seconds), processors=processors, objective=point.objective, **part_seconds, **preparation
    )


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add rows, threads and the made table's shape."""
    parser.add_argument("--sets", nargs="+", default=[COVERTYPE], metavar="SET", help=f"default: {COVERTYPE}")
    parser.add_argument("--rows", type=int, default=FULL_COVERTYPE, help=f"of Covertype (default: {FULL_COVERTYPE})")
    parser.add_argument("--columns", type=int, default=54, help="of the made table (default: 54)")
    parser.add_argument("--threads", type=int, help="default: all")
    parser.add_argument("--order", type=int, default=2, help="order n (default: 2)")


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print and yield a row a table."""
    warm(wide=False)
    options.recipe = recipe_of(options.order, 1.0)
    rows: list[Row] = []
    for name, encoded in tables_of(options):
        at_hand = ready(encoded, options.recipe, options.threads, merge=False)
        blocks = at_hand.covered_rows.cover.blocks
        rows.append({
            "set": name, "rows": encoded.n_rows, "columns": encoded.n_columns, "classes": encoded.n_classes,
            "blocks": blocks.n_blocks, "joint": blocks.n_joint,
            "cells": len(at_hand.covered_rows.cover.index.seen_cells),
            "threads": resolve_jobs(options.threads), **vars(measure(encoded, at_hand, options)),
        })  # fmt: skip
        yield rows[-1]
    counts = ("rows", "columns", "blocks", "joint", "cells")
    parts = ("whole", "least", "processors", "expand", "gather", "softmax", "scatter", "scatter_to_cells")
    show(
        ((row["set"], *(f"{row[name]:,}" for name in counts), *(seconds(row[name]) for name in parts),
          f"{row['objective']:.6g}") for row in rows),
        header=("table", *counts, "NLL + gradient", *parts[1:], "F"),
    )  # fmt: skip
    print(f"\n{resolve_jobs(options.threads)} threads, medians of {options.repeats}; repeated rows are not merged")
    for row in rows:
        _verdict(row)


def _verdict(row: Row) -> None:
    times, passes = row["whole"] / row["gather"], row["planning"] / row["whole"]
    with_keys = (row["planning"] + row["covering"]) / row["whole"]
    print(
        f"{row['set']}: {reached(row['whole'], MAX_SECONDS)}; {_times(times, GATHER_RATIO)} the gathers alone; planning"
        f" {seconds(row['planning'])}, {_times(passes, PASS_RATIO)} a pass ({with_keys:.1f} with keys and links)"
    )


def _times(value: float, reach: float) -> str:
    return f"{value:.2f} times (to reach {reach:g}: {'yes' if value <= reach else 'NO'})"
