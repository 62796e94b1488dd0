"""Predicting new rows: rows per second of fitted models, and one row, beside scikit-learn's pipelines in the same run.

    first     rows/s of a model's first call on a table (of ours the one that plans how the next are made)
    rows/s    of those after it, `predict_proba` of a DataFrame on all threads: reading, encoding, scores, softmax
    a row     microseconds of processors a row takes there, which a busy machine changes less
    one row   milliseconds of a DataFrame of one row

Adult, and Covertype's sample in 20 quantiles, read from --data: 70 % of the rows are fitted, the others predicted, the
methods taking turns. Without it there is only a made table. Fits are short, for what is predicted costs the same.
"""

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from alrviz.data.dataset import Dataset
from alrviz.data.splits import split_holdout
from alrviz.estimators.cells import ALRClassifier, LRClassifier
from alrviz.estimators.networks import AnDEClassifier
from alrviz.fitting.warm import warm_covers, warm_networks
from alrviz.passes.threads import resolve_jobs
from alrviz.passes.warm import warm_passes
from benchmarks._sets import COVERTYPE, load_set, made_dataset
from benchmarks._tools import Row, show

SETS = ("adult", COVERTYPE)


def methods(name: str) -> dict[str, Any]:
    """Return the models that are set beside each other on the set of that name, not fitted yet."""
    cuts: dict[str, Any] = {"discretize": "quantile", "n_bins": 20} if name == COVERTYPE else {}
    texts, numbers = make_column_selector(dtype_exclude="number"), make_column_selector(dtype_include="number")
    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1, "encoded_missing_value": -1}
    boosting = make_pipeline(
        make_column_transformer((OrdinalEncoder(**unknown), texts), remainder="passthrough"),
        HistGradientBoostingClassifier(max_iter=100),
    )
    linear = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), texts), (StandardScaler(), numbers)),
        LogisticRegression(max_iter=20),
    )
    our_models = {"lr n=1": (LRClassifier, 1), "lr n=2": (LRClassifier, 2), "alr n=2": (ALRClassifier, 2)}
    if name != COVERTYPE:
        our_models["lr n=3"] = (LRClassifier, 3)
    models: dict[str, Any] = {key: cls(order=n, max_iter=10, **cuts) for key, (cls, n) in our_models.items()}
    models |= {f"A{n}DE": AnDEClassifier(n=n, **cuts) for n in (1, 2)}
    return models | {"scikit-learn's HistGradientBoosting": boosting, "scikit-learn's LogisticRegression": linear}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add sets, methods and the shape of the made table."""
    parser.add_argument("--sets", nargs="*", metavar="SET", help=f"read with --data (default: {', '.join(SETS)})")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help='which, by their names: "lr n=2" (default: all)')
    parser.add_argument("--rows", type=int, default=50_000, help="rows of the made table (default: 50000)")


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print a table a set; yield a row a method."""
    warm_covers(False)
    warm_networks(False)
    print(f"predict_proba, {resolve_jobs(None)} threads\n", flush=True)
    if options.data is None:
        yield from _compare_methods(made_dataset(options.rows, 15, 10, 7), "made", options)
        return
    for name in SETS if options.sets is None else options.sets:
        yield from _compare_methods(load_set(options.data, name), name, options)


def _compare_methods(dataset: Dataset, name: str, options: argparse.Namespace) -> Iterator[Row]:
    warnings.simplefilter("ignore")  # of short fits, and of values that only some rows have
    splits = split_holdout(dataset.y, 0.3, 0)
    train, test = splits.train, splits.test
    warm_passes(len(dataset.classes))
    table, first_row = dataset.X.iloc[test], dataset.X.iloc[test[:1]]
    models = {key: model for key, model in methods(name).items() if key in (options.methods or methods(name))}
    firsts, rows = {}, len(test)
    for key, model in models.items():
        model.fit(dataset.X.iloc[train], dataset.y[train])
        firsts[key] = _clocks(model, table)[0]
    turns = [{key: (_clocks(model, table), _clocks(model, first_row, 20)) for key, model in models.items()}
             for _ in range(options.repeats)]  # fmt: skip
    figures = []
    for key in models:
        batch, single = (np.array([turn[key][k] for turn in turns]) for k in (0, 1))
        (seconds, processors), one_row = np.median(batch, axis=0), float(np.median(single[:, 0]))
        figures.append({"set": name, "method": key, "rows": rows, "first_seconds": firsts[key], "seconds": seconds,
                      "processors": processors, "one_row_seconds": one_row})  # fmt: skip
    show(
        (
            (f["method"], *(f"{rows / f[key]:,.0f}" for key in ("first_seconds", "seconds")),
             f"{1e6 * f['processors'] / rows:.3g} us", f"{1e3 * f['one_row_seconds']:.3f} ms")
            for f in figures
        ),
        header=(f"{name}, {rows:,} rows of {table.shape[1]} columns", "first", "rows/s", "a row", "one row"),
    )  # fmt: skip
    print(flush=True)
    yield from figures


def _clocks(model: Any, table: pd.DataFrame, times: int = 1) -> tuple[float, float]:
    """Seconds of a call, by the clock and of processors."""
    begin = time.perf_counter(), time.process_time()
    for _ in range(times):
        model.predict_proba(table)
    return (time.perf_counter() - begin[0]) / times, (time.process_time() - begin[1]) / times
