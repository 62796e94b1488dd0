"""Seconds to equal held-out log loss: Vowpal Wabbit on all pairs, and ours.

Vowpal Wabbit learns from a cache of parsed rows with `-q aa` (order n: `--interactions aa...`), which adds single
columns to the pairs; two classes by `--loss_function logistic`, more by `--oaa C --probabilities`; otherwise as it
comes, hash bits for eight times the cells that occur. Its seconds are those of reading the cache and learning; ours
those of planning, counting and iterating on encoded rows, scoring the held-out ones apart. For every number of passes
ours is the time until the held-out log loss is as low as its own, by the fastest of a few recipes. It makes 2, 5 and 10
passes only where `--limit` seconds leave time for them.
"""

import argparse
import time
from collections.abc import Iterable, Iterator
from math import ceil, log2
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from alrviz.data.encoded import Encoded
from alrviz.fitting.cost.estimate import estimate
from alrviz.fitting.cost.table_shape import TableShape
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.warm import warm
from benchmarks._child import in_child
from benchmarks._courses import recipe_of
from benchmarks._tools import Row, seconds, show

REACH = 3.0
PASSES = (1, 2, 5, 10)
ALPHAS = (1.0, 3.0, 10.0, 30.0)
MOST_BITS = 26


class Rows(NamedTuple):
    """Rows that Vowpal Wabbit is given: codes (a, m) and classes (m,) in one chunk or many, and of what size."""

    chunks: Iterable[tuple[NDArray[Any], NDArray[Any]]]
    levels: NDArray[np.int64]
    n_classes: int

    @classmethod
    def from_encoded(cls, encoded: Encoded) -> "Rows":
        """Return encoded rows as one chunk."""
        return cls([(encoded.codes, encoded.y)], encoded.levels, encoded.n_classes)


def write_rows(rows: Rows, path: Path) -> None:
    """Write rows as Vowpal Wabbit reads them: a class, and a number for each column's level."""
    first_numbers = np.concatenate([[0], np.cumsum(rows.levels + 1)[:-1]])
    with path.open("w", encoding="ascii") as file:
        for codes, y in rows.chunks:
            numbers = (codes.astype(np.int64) + first_numbers[:, None]).T.astype(str)
            labels = 2 * y.astype(int) - 1 if rows.n_classes == 2 else y + 1
            file.writelines(f"{label} |a {' '.join(row)}\n" for label, row in zip(labels, numbers, strict=True))


def held_out_loss(path: Path, test: Rows) -> float:
    """Return the log loss of predictions as Vowpal Wabbit writes them."""
    y = np.concatenate([chunk_y for _, chunk_y in test.chunks])
    probabilities = np.empty(len(y))
    for i, (line, label) in enumerate(zip(path.read_text(encoding="ascii").splitlines(), y, strict=True)):
        if test.n_classes == 2:
            probabilities[i] = float(line) if label else 1.0 - float(line)
        else:
            shares = dict(part.split(":") for part in line.split())
            probabilities[i] = float(shares[str(label + 1)])
    return float(-np.log(np.maximum(probabilities, 1e-15)).mean())


def vowpal(train: Rows, test: Rows, order: int, cells: int, limit: float) -> list[tuple[int, float, float]]:
    """Return passes, seconds and held-out log loss of Vowpal Wabbit on so many cells, as fit into `limit` seconds."""
    from vowpalwabbit import Workspace

    two = train.n_classes == 2
    bits = min(MOST_BITS, max(18, ceil(log2(8 * cells * (1 if two else train.n_classes)))))
    kind, answer = ("--link logistic", "") if two else (f"--oaa {train.n_classes} --probabilities", "--probabilities")
    figures: list[tuple[int, float, float]] = []
    with TemporaryDirectory() as name:
        rows, test_path, cache, model, output = (
            Path(name) / part for part in ("rows", "held", "cache", "model", "told")
        )
        write_rows(train, rows)
        write_rows(test, test_path)
        learn = f"--loss_function logistic {kind} -b {bits} --interactions {'a' * order} --quiet"
        read = f"-d {rows} --cache_file {cache}"
        Workspace(f"{read} -k {learn} --noop").finish()
        for passes in PASSES:
            begin = time.perf_counter()
            Workspace(f"{read} {learn} --passes {passes} --holdout_off -f {model}").finish()
            duration = time.perf_counter() - begin
            Workspace(f"-t -i {model} -d {test_path} -p {output} --quiet {answer}").finish()
            figures.append((passes, duration, held_out_loss(output, test)))
            if duration * 2.5 > limit:
                break
    return figures


def our_losses(
    train: Encoded, test: Encoded, recipe: Recipe, limit: float, enough: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return seconds and held-out log loss after each iteration, until that is `enough`."""
    warm(wide=False)
    begin = time.perf_counter()
    run = Run.on_encoded(train, recipe)
    run.advance()
    setup = time.perf_counter() - begin - run.compile_seconds - run.trace[0].seconds
    run = Run.on_encoded(train, recipe, test)
    times, losses = [], []
    while run.advance() is not None and setup + run.trace[-1].seconds < limit:
        times.append(setup + run.trace[-1].seconds)
        losses.append(run.trace[-1].extra["heldout_log_loss"])
        if losses[-1] <= enough:
            break
    return np.array(times), np.array(losses)


def our_recipes(order: int) -> dict[str, Recipe]:
    """Return the recipes that compete: some weights of the penalty, two metrics."""
    recipes: dict[str, Recipe] = {}
    for alpha in ALPHAS:
        for name, metric in (("auto", {}), ("diagonal", {"scale": "diagonal", "solver": "lbfgs"})):
            recipes[f"{name} alpha {alpha:g}"] = recipe_of(order, alpha, max_iter=200, **metric)
    return recipes


def to_loss(name: str, train: Encoded, test: Encoded, options: argparse.Namespace) -> Iterator[Row]:
    """Print and yield a row a number of passes."""
    limit = options.limit
    cells = estimate(recipe_of(options.order, 1.0), TableShape(train)).cells_seen
    rows_of_both = Rows.from_encoded(train), Rows.from_encoded(test)
    answer = in_child(vowpal, *rows_of_both, options.order, cells, limit, limit=8.0 * limit + 120.0)
    if answer.reason:
        print(f"{name}: Vowpal Wabbit: {answer.reason}\n")
        return
    slowest, enough = max(duration for _, duration, _ in answer.value), min(loss for _, _, loss in answer.value)
    courses: dict[str, Any] = {}
    for key, recipe in our_recipes(options.order).items():
        reply = in_child(our_losses, train, test, recipe, max(2.0, slowest), enough, limit=8.0 * limit + 120.0)
        if reply.value is not None:
            courses[key] = reply.value
    rows: list[Row] = []
    for passes, duration, loss in answer.value:
        times = {
            key: next((t for t, x in zip(*course, strict=True) if x <= loss), np.inf) for key, course in courses.items()
        }
        best = min(times, key=lambda key: times[key])
        rows.append({"part": "to held-out loss", "set": name, "rows": train.n_rows, "passes": passes,
                     "theirs": duration, "loss": loss, "ours": times[best], "recipe": best,
                     "ratio": duration / times[best]})  # fmt: skip
    lowest = {key: float(losses.min()) for key, (_, losses) in courses.items()}
    show(
        ((row["passes"], seconds(row["theirs"]), f"{row['loss']:.4f}", _seconds(row["ours"]), row["recipe"],
          f"{row['ratio']:.2f}", "yes" if row["ratio"] >= REACH else "NO") for row in rows),
        header=(f"{name}, {train.n_rows:,} rows: passes", "Vowpal Wabbit", "its held-out log loss", "ours to it", "by",
                "times faster", f"to reach {REACH:g}"),
    )  # fmt: skip
    best = min(lowest, key=lambda key: lowest[key])
    print(f"lowest of ours on the way: {lowest[best]:.4f} ({best})\n", flush=True)
    yield from rows


def _seconds(value: float) -> str:
    return seconds(value) if np.isfinite(value) else "-"
