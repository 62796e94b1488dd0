"""Learners of tables larger than memory, side by side on one table: seconds of a pass, seconds to a held-out log loss.

    alrviz          over its code cache: counting, then passes of the learner named
    Vowpal Wabbit   over its cache of parsed rows, -q aa
    scikit-learn    SGDClassifier.partial_fit on crosses hashed to 2^20, chunk by chunk of the same cache
    LightGBM        two_round: a text file read twice into bins; a pass is a tree

Each runs in a process of its own; what it reads is made beforehand and in nobody's time, but for LightGBM's bins, which
are within its seconds. All learn from the same rows and are judged by the same others.
"""

import argparse
import os
import resource
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.data.stream.table import EncodedTable, Stream, open_table
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from benchmarks._child import in_child
from benchmarks._tools import Row, mib, seconds, show
from benchmarks._vowpal import Rows, vowpal

BITS = 20  # of hashed crosses
PASSES = 5
TREES = 100
AT_ONCE = 10_000  # rows that scikit-learn is given
Course = list[tuple[float, float, float]]  # passes, seconds until then, held-out log loss


def open_codes(path: str, folder: str, columns: int) -> tuple[Stream, EncodedTable]:
    """Return the table of a file and its codes, kept in a folder."""
    stream = open_table(path, "class", kinds={f"c{j}": "categorical" for j in range(columns)}, cache=folder)
    return stream, stream.coded("mdl", holdout=0.05)


def fit_alrviz(path: str, folder: str, options: argparse.Namespace, solver: str) -> Course:
    """Passes of one of our learners."""
    stream, _ = open_codes(path, folder, options.columns)
    recipe = Recipe("alr", order=options.order, alpha=1.0, solver=solver, max_iter=PASSES, holdout=0.05)
    begin = time.perf_counter()
    run, setup = Run(stream, recipe, n_jobs=options.threads), 0.0
    course: Course = []
    for step in run.steps():
        if not course:
            setup = time.perf_counter() - begin - run.compile_seconds - step.seconds  # which begin before this step
        course.append((step.passes, setup + step.seconds, step.extra["heldout_log_loss"]))
    return course


def fit_vowpal(path: str, folder: str, options: argparse.Namespace, _: str) -> Course:
    """Passes of Vowpal Wabbit."""
    coded = open_codes(path, folder, options.columns)[1]
    train, test_rows = (Rows(coded.cache.chunks(part), coded.levels, len(coded.classes)) for part in ("train", "test"))
    cells = int(np.prod(np.array(list(combinations(coded.levels, options.order))), axis=1).sum())
    test_rows = test_rows._replace(chunks=list(test_rows.chunks))
    return list(vowpal(train, test_rows, options.order, cells, options.limit))


def hashed(codes: NDArray[np.unsignedinteger], order: int) -> Any:
    """Return rows (m, 2^BITS) of crosses of columns, CSR."""
    from scipy.sparse import csr_matrix

    tuples = list(combinations(range(len(codes)), order))
    cells = np.empty((codes.shape[1], len(tuples)), np.int32)
    for t, columns in enumerate(tuples):
        value = np.full(codes.shape[1], t, np.uint64)
        for column in columns:
            value = value * np.uint64(0x9E3779B97F4A7C15) + codes[column]
        cells[:, t] = (value * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(64 - BITS)).astype(np.int32)
    ends = np.arange(0, cells.size + 1, len(tuples))
    return csr_matrix((np.ones(cells.size), cells.ravel(), ends), shape=(len(cells), 2**BITS))


def scikit_learn(path: str, folder: str, options: argparse.Namespace, _: str) -> Course:
    """Passes of SGDClassifier."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.metrics import log_loss

    coded = open_codes(path, folder, options.columns)[1]
    test_rows, classes = coded.cache.whole("test"), np.arange(len(coded.classes))
    test_features = hashed(test_rows.codes, options.order)
    model = SGDClassifier(loss="log_loss", alpha=1e-7, learning_rate="adaptive", eta0=0.02, random_state=0)
    course: Course = []
    fit_seconds = 0.0
    for k in range(PASSES):
        begin = time.perf_counter()
        for codes, y in coded.cache.chunks("train"):
            for start in range(0, len(y), AT_ONCE):
                batch = slice(start, start + AT_ONCE)
                model.partial_fit(hashed(codes[:, batch], options.order), y[batch], classes)
        fit_seconds += time.perf_counter() - begin
        course.append((k + 1, fit_seconds, log_loss(test_rows.y, model.predict_proba(test_features), labels=classes)))
        if fit_seconds > options.limit:
            break
    return course


def lightgbm(path: str, folder: str, options: argparse.Namespace, _: str) -> Course:
    """Trees of LightGBM."""
    from lightgbm import Dataset, train
    from sklearn.metrics import log_loss

    coded = open_codes(path, folder, options.columns)[1]
    rows, test_rows = Path(folder) / f"lightgbm-{os.getpid()}.csv", coded.cache.whole("test")
    try:
        with rows.open("wb") as file:
            for codes, y in coded.cache.chunks("train"):
                np.savetxt(file, np.vstack([y, codes]).T, fmt="%d", delimiter=",")
        k = len(coded.classes)
        params = {
            "two_round": True, "header": False, "label_column": 0, "num_threads": options.threads, "verbosity": -1,
            "objective": "binary" if k == 2 else "multiclass",
            **({} if k == 2 else {"num_class": k}),
        }  # fmt: skip
        begin = time.perf_counter()
        course: Course = []
        data = Dataset(str(rows), params=params, categorical_feature=list(range(options.columns))).construct()
        fit_seconds = time.perf_counter() - begin

        def look(env: Any) -> None:
            nonlocal begin, fit_seconds
            fit_seconds += time.perf_counter() - begin
            if env.iteration % 5 == 4 or env.iteration < 5:
                p = env.model.predict(test_rows.codes.T.astype(float))
                course.append((env.iteration + 1, fit_seconds, log_loss(test_rows.y, p, labels=np.arange(k))))
            begin = time.perf_counter()

        begin = time.perf_counter()
        train(params, data, num_boost_round=TREES, callbacks=[look])
        return course
    finally:
        rows.unlink(missing_ok=True)


LEARNERS: Mapping[str, tuple[Callable[..., Course], str]] = MappingProxyType(
    {
        "alrviz, adagrad": (fit_alrviz, "adagrad"),
        "alrviz, auto": (fit_alrviz, "auto"),
        "Vowpal Wabbit": (fit_vowpal, ""),
        "SGDClassifier": (scikit_learn, ""),
        "LightGBM": (lightgbm, ""),
    }
)


def measure_learner(name: str, path: str, folder: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return the course of a learner, and the peak of memory of its process."""
    work, solver = LEARNERS[name]
    return {"course": work(path, folder, options, solver), "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}


def side_by_side(path: Path, options: argparse.Namespace) -> Iterator[Row]:
    """Print and yield a row a learner: a pass, and the seconds to the lowest loss it came to beside ours to that."""
    with TemporaryDirectory(dir=path.parent) as folder:
        rows = open_codes(str(path), folder, options.columns)[1].cache.n_rows("train")
        answers = {
            name: in_child(measure_learner, name, str(path), folder, options, limit=8 * options.limit + 600)
            for name in LEARNERS
        }
    for name, answer in answers.items():
        if answer.value is None:
            print(f"{name}: {answer.reason}")
    courses = {name: answer.value["course"] for name, answer in answers.items() if answer.value}
    our_courses = {name: course for name, course in courses.items() if name.startswith("alrviz")}
    figures: list[Row] = []
    for name, course in courses.items():
        passes, fit_time, loss = min(course, key=lambda point: point[2])
        start, end = course[0], course[-1]
        a_pass = (end[1] - start[1]) / max(1e-9, end[0] - start[0]) if len(course) > 1 else end[1]
        our_time = min(
            (t for part in our_courses.values() for _, t, reached in part if reached <= loss), default=np.inf
        )
        peak = answers[name].value["peak"] * 1024
        figures.append({"part": "learners", "learner": name, "rows": rows, "a pass": a_pass, "passes": passes,
                     "seconds": fit_time, "loss": loss, "ours": our_time, "peak": peak})  # fmt: skip
        yield figures[-1]
    show(
        ((row["learner"], seconds(row["a pass"]), f"{rows / row['a pass'] / 1e6:.3f}", f"{row['passes']:g}",
          seconds(row["seconds"]), f"{row['loss']:.4f}", seconds(row["ours"]) if np.isfinite(row["ours"]) else "-",
          f"{row['seconds'] / row['ours']:.1f}", mib(row["peak"])) for row in figures),
        header=(f"{rows:,} training rows", "a pass or tree", "million rows/s", "passes", "until then", "held-out loss",
                "ours to it", "times faster", "peak"),
    )  # fmt: skip
