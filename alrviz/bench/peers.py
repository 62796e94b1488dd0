"""Seconds per iteration of L-BFGS here and in scikit-learn, on the same penalised objective of all pairs.

    F(phi) = sum over rows of -log p(y|x) + alpha ||phi||^2,  class weights b included

scikit-learn's LogisticRegression gets the explicit one-hot of all tuples as a sparse matrix with a constant column in
place of the intercept, and C = 1 / (2 alpha) (1 / alpha with two classes: it has one vector there, we have two). Both
start at zero and make the same number of iterations with no tolerance to stop at; the two take turns. Seconds per
iteration are those of the solvers alone, by the clock and ("processors") summed over all threads, which a busy machine
changes less; "whole" adds what goes before: building the one-hot there, counting here. scikit-learn runs as it is
installed, and once more with its BLAS on one thread: on few cores the threads of a BLAS can wait for each other longer
than they work.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.bench._sets import encode_all, load_set, made_rows
from alrviz.bench._tools import seconds, show
from alrviz.data.encoded import Encoded
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.run import Run
from alrviz.models.space import CellSpace
from alrviz.passes import warm
from alrviz.passes.threads import resolve_jobs

REACH = 8.0
NAMES = OURS, THEIRS, THEIRS_ALONE = "alrviz", "scikit-learn", "scikit-learn, one BLAS thread"


@dataclass(frozen=True)
class Fitted:
    """What one fit took: solver seconds by the clock and of all processors, seconds in all, and F at its end."""

    solver_seconds: float
    processor_seconds: float
    whole_seconds: float
    iterations: int
    objective: float

    @property
    def per_iteration(self) -> float:
        """Solver seconds per iteration."""
        return self.solver_seconds / self.iterations


def one_hot(encoded: Encoded, order: int) -> Any:
    """Return the sparse one-hot (N, cells + 1) of all tuples, the last column constant."""
    from scipy.sparse import csr_matrix

    space = CellSpace(encoded.levels, order)
    n = encoded.n_rows
    column = np.empty((n, space.n_tuples + 1), np.int32)
    for t, columns in enumerate(space.tuples):
        column[:, t] = space.first[t] + space.strides[t] @ encoded.codes[columns].astype(np.int64)
    column[:, -1] = space.n_cells
    ends = np.arange(0, column.size + 1, column.shape[1], dtype=np.int32)
    return csr_matrix((np.ones(column.size), column.ravel(), ends), shape=(n, space.n_cells + 1))


def theirs(encoded: Encoded, order: int, alpha: float, iterations: int) -> Fitted:
    """Fit with scikit-learn."""
    from sklearn.linear_model import LogisticRegression

    begin = time.perf_counter()
    X = one_hot(encoded, order)
    two = encoded.n_classes == 2
    model = LogisticRegression(
        C=(1.0 if two else 0.5) / alpha, solver="lbfgs", fit_intercept=False, max_iter=iterations, tol=0.0
    )
    fitting, processor = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it did not converge: it was not to
        model.fit(X, encoded.y)
    end, processor = time.perf_counter(), time.process_time() - processor
    weights: NDArray[np.float64] = np.concatenate([-model.coef_, model.coef_]) / 2.0 if two else model.coef_
    objective = loss(X @ weights.T, encoded.y) + alpha * float((weights**2).sum())
    return Fitted(end - fitting, processor, end - begin, int(model.n_iter_[0]), objective)


def loss(scores: NDArray[np.float64], y: NDArray[np.int32]) -> float:
    """Return the sum over rows of -log softmax(scores)[y]."""
    from scipy.special import logsumexp

    return float((logsumexp(scores, axis=1) - scores[np.arange(len(y)), y]).sum())


def ours(encoded: Encoded, order: int, alpha: float, iterations: int) -> Fitted:
    """Fit with alrviz."""
    recipe = Recipe("lr", order=order, alpha=alpha, penalty="phi", center=0, start="zero", tol=0.0, max_iter=iterations)
    begin = time.perf_counter()
    run = Run.of(encoded, recipe)
    run.advance()  # the start point: what is done once goes before it
    processor = time.process_time()
    for _ in run.steps():
        pass
    processor = time.process_time() - processor
    whole = time.perf_counter() - begin
    first, last = run.trace[0], run.trace[-1]
    return Fitted(last.seconds - first.seconds, processor, whole, last.index, last.objective)


def compare(encoded: Encoded, options: argparse.Namespace) -> dict[str, list[Fitted]]:
    """Return `repeats` fits of each, taking turns, after a short one of ours that does not count."""
    from threadpoolctl import threadpool_limits

    settings = (encoded, options.order, options.alpha)
    ours(*settings, 2)
    found: dict[str, list[Fitted]] = {name: [] for name in NAMES}
    for _ in range(options.repeats):
        found[OURS].append(ours(*settings, options.iterations))
        found[THEIRS].append(theirs(*settings, options.iterations))
        with threadpool_limits(1, user_api="blas"):
            found[THEIRS_ALONE].append(theirs(*settings, options.iterations))
    return found


def _read(folder: Path, name: str) -> Encoded:
    return encode_all(load_set(folder, name))


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the shape of the made table, sets, penalty and iterations."""
    parser.add_argument("--sets", nargs="*", default=["adult", "connect-4"], help="read too if --data is given")
    parser.add_argument("--rows", type=int, default=50_000, help="rows of the made table (default: 50000)")
    parser.add_argument("--columns", type=int, default=15, help="its columns (default: 15)")
    parser.add_argument("--levels", type=int, default=10, help="its levels per column (default: 10)")
    parser.add_argument("--classes", type=int, default=7, help="its classes (default: 7)")
    parser.add_argument("--order", type=int, default=2, help="order n (default: 2)")
    parser.add_argument("--alpha", type=float, default=1.0, help="weight of the penalty on phi (default: 1)")
    parser.add_argument("--iterations", type=int, default=20, help="iterations of each fit (default: 20)")


def run(options: argparse.Namespace) -> None:
    """Print a row a table and library, then the ratios."""
    warm(wide=False)
    made = f"made, {options.columns} columns of {options.levels} levels"
    shape = (options.rows, options.columns, options.levels, options.classes)
    tables: dict[str, Callable[[], Encoded]] = {made: partial(made_rows, *shape)}
    for name in options.sets if options.data is not None else ():
        tables[name] = partial(_read, options.data, name)
    rows: list[tuple[object, ...]] = []
    ratios: list[tuple[str, float]] = []
    for name, make in tables.items():
        encoded = make()
        found = compare(encoded, options)
        for library, fits in found.items():
            taken = sorted(f.per_iteration for f in fits)
            rows.append(
                (f"{name}: {library}", f"{encoded.n_rows:,}", fits[-1].iterations,
                 *(f"{1e3 * x:.2f} ms" for x in (median(taken), taken[0], taken[-1])),
                 f"{1e3 * median(f.processor_seconds / f.iterations for f in fits):.2f} ms",
                 seconds(median(f.whole_seconds for f in fits)), f"{fits[-1].objective:.6f}")
            )  # fmt: skip
        each = {library: median(f.per_iteration for f in fits) for library, fits in found.items()}
        ratios += [(f"{name} against {library}", each[library] / each[OURS]) for library in NAMES[1:]]
    print(f"order {options.order}, alpha {options.alpha:g} on phi, from zero, {resolve_jobs(None)} threads")
    show(rows, header=("table", "rows", "iterations", "median", "least", "most", "processors", "whole", "F at the end"))
    print()
    for name, ratio in ratios:
        print(
            f"{name}: {ratio:.1f} times faster per iteration, to reach {REACH:g}: {'yes' if ratio >= REACH else 'NO'}"
        )
