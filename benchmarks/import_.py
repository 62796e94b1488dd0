"""How long imports take, each in a fresh interpreter.

`import alrviz` names everything and loads nothing. The first use of an estimator imports scikit-learn, numba and
pandas and takes the kernels from numba's cache; it is set beside what scikit-learn costs alone. Where the kernels are
not yet compiled the first round does it; that round does not count.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from statistics import median

from benchmarks._tools import Row, Timing, reached, seconds, show

TABLE = (
    "import numpy as np; r = np.random.default_rng(0); "
    "X = r.integers(0, 4, (200, 4)); y = X[:, 0] > r.integers(0, 4, 200)"
)
STATEMENTS = {
    "import alrviz": "import alrviz",
    "scikit-learn's own import": "from sklearn.linear_model import LogisticRegression",
    "alrviz.ALRClassifier": "import alrviz; alrviz.ALRClassifier",
    "first fit and predict": (
        f"import alrviz; {TABLE}; alrviz.ALRClassifier(order=1, categorical_features='all').fit(X, y).predict(X)"
    ),
}


def fresh(statement: str) -> tuple[float, float]:
    """Return the seconds of `statement` in a fresh interpreter, by the clock and of processors; its start left out."""
    clocks = "(time.perf_counter(), time.process_time())"
    code = f"import time; begin = {clocks}; {statement}; end = {clocks}; print(end[0] - begin[0], end[1] - begin[1])"
    output = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    clock, processors = map(float, output.split())
    return clock, processors


def run(options: argparse.Namespace) -> Iterator[Row]:
    """Print and yield a row a statement; print the two figures that have something to reach."""
    measurements: dict[str, list[tuple[float, float]]] = {name: [] for name in STATEMENTS}
    for turn in range(options.repeats + 1):
        for name, statement in STATEMENTS.items():
            value = fresh(statement)
            if turn:
                measurements[name].append(value)
    timings = {name: Timing(tuple(clock for clock, _ in values)) for name, values in measurements.items()}
    processors = {name: median(busy for _, busy in values) for name, values in measurements.items()}
    show(
        (
            (name, *map(seconds, (t.median, min(t.seconds), max(t.seconds), processors[name])))
            for name, t in timings.items()
        ),
        header=("in a fresh interpreter", "median", "least", "most", "processors"),
    )
    sklearn, use = "scikit-learn's own import", "first fit and predict"
    sklearn_seconds, use_seconds = timings[sklearn].median, timings[use].median
    print(f"\nimport alrviz: {reached(timings['import alrviz'].median, 0.1)}")
    print(f"first fit and predict beyond scikit-learn's own import: {reached(use_seconds - sklearn_seconds, 0.7)}; "
          f"of processors {seconds(processors[use] - processors[sklearn])}")  # fmt: skip
    for name, t in timings.items():
        yield {"statement": name, "seconds": t.median, "least": min(t.seconds), "most": max(t.seconds),
               "processors": processors[name]}  # fmt: skip
