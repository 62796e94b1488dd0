"""choose_order on many rows, beside scikit-learn's HistGradientBoostingClassifier on the same folds.

The table is made: half its columns are categorical, half numeric, and the class depends on a few of both. Seconds are
wall-clock, compiling apart (the kernels are warmed first); a study's own processes start within its seconds.
"""

import argparse
import time
from collections.abc import Iterator

import numpy as np
import pandas as pd

from alrviz.data.dataset import Dataset
from alrviz.data.read import read_table
from alrviz.data.splits import split_folds
from alrviz.fitting.recipe import Recipe
from alrviz.studies.protocols.choose_order import choose_order
from benchmarks._tools import Row, seconds, show


def made_table(rows: int, columns: int, seed: int = 0) -> Dataset:
    """Return a table of two classes: odd columns are numeric, even ones categorical with 2 to 12 levels."""
    random = np.random.default_rng(seed)
    frame, score = {}, np.zeros(rows)
    for j in range(columns):
        if j % 2:
            values = random.normal(size=rows)
            frame[f"x{j}"] = values
            score += values**2 * 0.3 if j < 6 else 0.0
        else:
            levels = 2 + j % 11
            codes = random.integers(levels, size=rows)
            frame[f"c{j}"] = np.array([f"level {k}" for k in range(levels)], dtype=object)[codes]
            score += (codes % 2) * (0.8 if j < 8 else 0.0)
    p = 1 / (1 + np.exp(-(score - score.mean())))
    frame["class"] = np.where(random.random(rows) < p, "yes", "no").astype(object)
    return read_table(pd.DataFrame(frame), target="class")


def boosting_seconds(dataset: Dataset, folds: int, seed: int) -> tuple[float, float]:
    """Return the seconds of boosting on every fold, and its mean held-out log loss."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import log_loss

    begin, losses = time.perf_counter(), []
    for fold in split_folds(dataset.y, folds, seed):
        train, test = fold.train, fold.test
        model = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=seed)
        model.fit(dataset.X.iloc[train], dataset.y[train])
        p = model.predict_proba(dataset.X.iloc[test])
        losses.append(log_loss(dataset.y[test], p, labels=model.classes_))
    return time.perf_counter() - begin, float(np.mean(losses))


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the shape of the table, orders, folds and alpha."""
    parser.add_argument("--rows", type=int, default=500_000, help="rows (default: 500000)")
    parser.add_argument("--columns", type=int, default=22, help="columns beside the class (default: 22)")
    parser.add_argument("--orders", type=int, nargs="+", default=[0, 1], help="orders of the study (default: 0 1)")
    parser.add_argument("--folds", type=int, default=3, help="folds, once (default: 3)")
    parser.add_argument("--alpha", default="cv", help='the penalty, or "cv" (default: cv)')
    parser.add_argument("--jobs", type=int, help="processes (default: as many as processors)")


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print the seconds of the study and of boosting, and where the study's went."""
    dataset = made_table(options.rows, options.columns)
    alpha = options.alpha if options.alpha == "cv" else float(options.alpha)
    recipe = Recipe("lr", alpha=alpha)
    # Kernels are compiled before anything is timed.
    choose_order(made_table(300, options.columns), recipe, orders=options.orders, folds=2, repeats=1, n_jobs=1).run()
    begin = time.perf_counter()
    study = choose_order(
        dataset, recipe, orders=options.orders, folds=options.folds, repeats=1, n_jobs=options.jobs
    ).run()
    whole = time.perf_counter() - begin
    frame = study.frame()
    lines = [(f"order {order}", seconds(part.train_seconds.sum()), f"{part.log_loss.mean():.4f}")
             for order, part in frame.groupby("order")]  # fmt: skip
    boosted, loss = boosting_seconds(dataset, options.folds, 0)
    lines += [("whole study, wall-clock", seconds(whole), ""), ("boosting", seconds(boosted), f"{loss:.4f}")]
    show(lines, header=(f"{options.rows:,} rows x {options.columns} columns, {options.folds} folds", "seconds",
                        "log loss"))  # fmt: skip
    print(study.verdict())
    yield {"rows": options.rows, "columns": options.columns, "alpha": options.alpha, "folds": options.folds,
           "study_seconds": whole, "boosting_seconds": boosted, "boosting_log_loss": loss}  # fmt: skip
