"""Seconds per iteration of L-BFGS here, in scikit-learn, and in plain numpy and SciPy, and the memory of each.

All minimise the same F from zero (see _courses.py), make the same number of iterations with no tolerance to stop at,
and take turns. Seconds per iteration are those of the solvers alone, by the clock and ("processors") summed over all
threads, which a busy machine changes less; "whole" adds what goes before: building the one-hot there, counting here.
scikit-learn runs as it is installed, and once more with its BLAS on one thread: on few cores the threads of a BLAS can
wait for each other longer than they work. Memory is what a process of its own grows by at its most from the encoded
rows on.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.data.encoded import Encoded
from alrviz.fitting.runs.run import Run
from alrviz.fitting.warm import warm
from benchmarks._child import Answer, Peak, in_child
from benchmarks._courses import Course, one_hot, recipe_of, scipy_course, sklearn_model
from benchmarks._tools import Row, mib, seconds, show

OURS, THEIRS, THEIRS_ALONE, PLAIN = "alrviz", "scikit-learn", "scikit-learn, one BLAS thread", "numpy and SciPy"
REACH = {"adult": 8.0, "connect-4": 80.0, "covtype-sample": 100.0}
REACH_MEMORY = {"covtype-sample": 50.0}


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


def ours(encoded: Encoded, order: int, alpha: float, iterations: int) -> Fitted:
    """Fit with alrviz."""
    begin = time.perf_counter()
    run = Run.of(encoded, recipe_of(order, alpha, solver="lbfgs", max_iter=iterations))
    run.advance()  # the start point: what is done once goes before it
    processor = time.process_time()
    for _ in run.steps():
        pass
    processor = time.process_time() - processor
    whole = time.perf_counter() - begin
    first, last = run.trace[0], run.trace[-1]
    return Fitted(last.seconds - first.seconds, processor, whole, last.index, last.objective)


def theirs(encoded: Encoded, order: int, alpha: float, iterations: int) -> Fitted:
    """Fit with scikit-learn."""
    begin = time.perf_counter()
    X = one_hot(encoded, order)
    model = sklearn_model(encoded, alpha, "lbfgs", iterations)
    fitting, processor = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it did not converge: it was not to
        model.fit(X, encoded.y)
    end, processor = time.perf_counter(), time.process_time() - processor
    two = encoded.n_classes == 2
    weights: NDArray[np.float64] = np.concatenate([-model.coef_, model.coef_]) / 2.0 if two else model.coef_
    objective = loss(X @ weights.T, encoded.y) + alpha * float((weights**2).sum())
    return Fitted(end - fitting, processor, end - begin, int(model.n_iter_[0]), objective)


def loss(scores: NDArray[np.float64], y: NDArray[np.int32]) -> float:
    """Return the sum over rows of -log softmax(scores)[y]."""
    from scipy.special import logsumexp

    return float((logsumexp(scores, axis=1) - scores[np.arange(len(y)), y]).sum())


def plain(encoded: Encoded, order: int, alpha: float, iterations: int) -> Fitted:
    """Fit with numpy and SciPy."""
    processor = time.process_time()
    course = scipy_course(encoded, order, alpha, Course(), iterations)
    processor = time.process_time() - processor
    whole, first = course.seconds[-1], course.seconds[0]
    share = (whole - first) / whole  # of the processors, too: it is one loop
    evaluations = len(course.seconds) - 1  # an iteration evaluates at least once
    return Fitted(whole - first, share * processor, whole, evaluations, course.lowest)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Hold BLAS to one thread."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="blas")


FITS: Mapping[str, tuple[Callable[..., Fitted], Callable[[], AbstractContextManager[Any]]]] = {
    OURS: (ours, nullcontext),
    THEIRS: (theirs, nullcontext),
    THEIRS_ALONE: (theirs, one_blas_thread),
    PLAIN: (plain, nullcontext),
}


def compare(encoded: Encoded, options: argparse.Namespace) -> dict[str, list[Fitted]]:
    """Return up to `repeats` fits of each, taking turns while there is time, after a short one that does not count."""
    settings = (encoded, options.order, options.alpha)
    begin = time.monotonic()
    ours(*settings, 2)
    found: dict[str, list[Fitted]] = {name: [] for name in FITS}
    for turn in range(options.repeats):
        for name, (fit, limits) in FITS.items():
            with limits():
                found[name].append(fit(*settings, options.iterations))
        spent = time.monotonic() - begin
        if spent * (turn + 2) / (turn + 1) > options.minutes * 60.0:
            break
    return found


def memory(name: str, encoded: Encoded, order: int, alpha: float, iterations: int) -> int:
    """Return the bytes by which a fit makes this process grow."""
    import sklearn.linear_model  # noqa: F401  # what is loaded once is no one's memory

    warm(wide=False)
    peak = Peak()
    FITS[name][0](encoded, order, alpha, iterations)
    return peak.growth


def per_iteration(name: str, encoded: Encoded, options: argparse.Namespace) -> Iterator[Row]:
    """Print a row a library, then the ratios; yield a row a library."""
    settings = (options.order, options.alpha)
    found = compare(encoded, options)
    # as many iterations as fill a memory of ten pairs
    answers = {library: in_child(memory, library, encoded, *settings, 12) for library in (OURS, THEIRS, PLAIN)}
    answers[THEIRS_ALONE] = answers[THEIRS]
    show(
        (_cells(library, fits, answers[library]) for library, fits in found.items()),
        header=(f"{name}, {encoded.n_rows:,} rows", "iterations", "median", "least", "most", "processors", "whole",
                "memory", "F at the end"),
    )  # fmt: skip
    each = {library: median(fit.per_iteration for fit in fits) for library, fits in found.items()}
    for library in [library for library in FITS if library != OURS]:
        print(f"against {library}: {_ratio(each[library] / each[OURS], REACH.get(name, 8.0))} faster per iteration"
              + _memory_ratio(name, answers[library], answers[OURS]))  # fmt: skip
    print(flush=True)
    for library, fits in found.items():
        yield {
            "part": "per iteration", "set": name, "rows": encoded.n_rows, "classes": encoded.n_classes,
            "order": options.order, "alpha": options.alpha, "library": library, "iterations": fits[-1].iterations,
            "seconds": each[library], "ratio": each[library] / each[OURS], "bytes": answers[library].value,
            "objective": fits[-1].objective,
        }  # fmt: skip


def _cells(library: str, fits: list[Fitted], answer: Answer) -> tuple[object, ...]:
    taken = sorted(fit.per_iteration for fit in fits)
    return (
        library,
        fits[-1].iterations,
        *(f"{1e3 * x:.2f} ms" for x in (median(taken), taken[0], taken[-1])),
        f"{1e3 * median(fit.processor_seconds / fit.iterations for fit in fits):.2f} ms",
        seconds(median(fit.whole_seconds for fit in fits)),
        answer.refused or mib(answer.value),
        f"{fits[-1].objective:.6f}",
    )


def _ratio(ratio: float, reach: float) -> str:
    return f"{ratio:.1f} times (to reach {reach:g}: {'yes' if ratio >= reach else 'NO'})"


def _memory_ratio(name: str, theirs: Answer, ours: Answer) -> str:
    if not theirs.value or not ours.value:
        return ""
    ratio = theirs.value / ours.value
    shown = _ratio(ratio, REACH_MEMORY[name]) if name in REACH_MEMORY else f"{ratio:.1f} times"
    return f", memory {shown} less"
