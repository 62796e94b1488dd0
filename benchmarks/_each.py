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

ALRVIZ, SCIKIT_LEARN, ONE_THREAD, PLAIN = "alrviz", "scikit-learn", "scikit-learn, one BLAS thread", "numpy and SciPy"
REACH = {"adult": 8.0, "connect-4": 80.0, "covtype-sample": 100.0}
REACH_MEMORY = {"covtype-sample": 50.0}


@dataclass(frozen=True)
class FitCost:
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


def fit_alrviz(encoded: Encoded, order: int, alpha: float, iterations: int) -> FitCost:
    """Fit with alrviz."""
    begin = time.perf_counter()
    run = Run.on_encoded(encoded, recipe_of(order, alpha, solver="lbfgs", max_iter=iterations))
    run.advance()  # the start point: what is done once goes before it
    processor = time.process_time()
    for _ in run.steps():
        pass
    processor = time.process_time() - processor
    whole = time.perf_counter() - begin
    first_step, last_step = run.trace[0], run.trace[-1]
    return FitCost(last_step.seconds - first_step.seconds, processor, whole, last_step.index, last_step.objective)


def fit_scikit_learn(encoded: Encoded, order: int, alpha: float, iterations: int) -> FitCost:
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
    return FitCost(end - fitting, processor, end - begin, int(model.n_iter_[0]), objective)


def loss(scores: NDArray[np.float64], y: NDArray[np.int32]) -> float:
    """Return the sum over rows of -log softmax(scores)[y]."""
    from scipy.special import logsumexp

    return float((logsumexp(scores, axis=1) - scores[np.arange(len(y)), y]).sum())


def fit_numpy(encoded: Encoded, order: int, alpha: float, iterations: int) -> FitCost:
    """Fit with numpy and SciPy."""
    processor = time.process_time()
    course = scipy_course(encoded, order, alpha, Course(), iterations)
    processor = time.process_time() - processor
    whole, first_seconds = course.seconds[-1], course.seconds[0]
    share = (whole - first_seconds) / whole  # of the processors, too: it is one loop
    evaluations = len(course.seconds) - 1  # an iteration evaluates at least once
    return FitCost(whole - first_seconds, share * processor, whole, evaluations, course.lowest)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Hold BLAS to one thread."""
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="blas")


FITS: Mapping[str, tuple[Callable[..., FitCost], Callable[[], AbstractContextManager[Any]]]] = {
    ALRVIZ: (fit_alrviz, nullcontext),
    SCIKIT_LEARN: (fit_scikit_learn, nullcontext),
    ONE_THREAD: (fit_scikit_learn, one_blas_thread),
    PLAIN: (fit_numpy, nullcontext),
}


def compare(encoded: Encoded, options: argparse.Namespace) -> dict[str, list[FitCost]]:
    """Return up to `repeats` fits of each, taking turns while there is time, after a short one that does not count."""
    settings = (encoded, options.order, options.alpha)
    begin = time.monotonic()
    fit_alrviz(*settings, 2)
    all_fits: dict[str, list[FitCost]] = {name: [] for name in FITS}
    for turn in range(options.repeats):
        for name, (fit, limits) in FITS.items():
            with limits():
                all_fits[name].append(fit(*settings, options.iterations))
        elapsed = time.monotonic() - begin
        if elapsed * (turn + 2) / (turn + 1) > options.minutes * 60.0:
            break
    return all_fits


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
    all_fits = compare(encoded, options)
    # as many iterations as fill a memory of ten pairs
    answers = {library: in_child(memory, library, encoded, *settings, 12) for library in (ALRVIZ, SCIKIT_LEARN, PLAIN)}
    answers[ONE_THREAD] = answers[SCIKIT_LEARN]
    show(
        (_cells(library, fits, answers[library]) for library, fits in all_fits.items()),
        header=(f"{name}, {encoded.n_rows:,} rows", "iterations", "median", "least", "most", "processors", "whole",
                "memory", "F at the end"),
    )  # fmt: skip
    times = {library: median(fit.per_iteration for fit in fits) for library, fits in all_fits.items()}
    for library in [library for library in FITS if library != ALRVIZ]:
        print(f"against {library}: {_ratio(times[library] / times[ALRVIZ], REACH.get(name, 8.0))} faster per iteration"
              + _memory_ratio(name, answers[library], answers[ALRVIZ]))  # fmt: skip
    print(flush=True)
    for library, fits in all_fits.items():
        yield {
            "part": "per iteration", "set": name, "rows": encoded.n_rows, "classes": encoded.n_classes,
            "order": options.order, "alpha": options.alpha, "library": library, "iterations": fits[-1].iterations,
            "seconds": times[library], "ratio": times[library] / times[ALRVIZ], "bytes": answers[library].value,
            "objective": fits[-1].objective,
        }  # fmt: skip


def _cells(library: str, fits: list[FitCost], answer: Answer) -> tuple[object, ...]:
    times = sorted(fit.per_iteration for fit in fits)
    return (
        library,
        fits[-1].iterations,
        *(f"{1e3 * x:.2f} ms" for x in (median(times), times[0], times[-1])),
        f"{1e3 * median(fit.processor_seconds / fit.iterations for fit in fits):.2f} ms",
        seconds(median(fit.whole_seconds for fit in fits)),
        answer.reason or mib(answer.value),
        f"{fits[-1].objective:.6f}",
    )


def _ratio(ratio: float, reach: float) -> str:
    return f"{ratio:.1f} times (to reach {reach:g}: {'yes' if ratio >= reach else 'NO'})"


def _memory_ratio(name: str, peer_answer: Answer, our_answer: Answer) -> str:
    if not peer_answer.value or not our_answer.value:
        return ""
    ratio = peer_answer.value / our_answer.value
    ratio_text = _ratio(ratio, REACH_MEMORY[name]) if name in REACH_MEMORY else f"{ratio:.1f} times"
    return f", memory {ratio_text} less"
