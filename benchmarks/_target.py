"""Seconds until F <= F* + 1e-3 N, by every solver of ours, scikit-learn's, and plain numpy and SciPy.

F* is the lowest F that any of them found. Each fit has a process of its own and its rows at hand; the clock starts
before cells are planned and counted here and before the one-hot is built there, compiling is apart. "auto" goes first,
to its end or `--limit`, so that the others need not go further than close to its F. Ours are given up after SLOWER
times its time to the target, peers after `--patience` times our best or `--peer-limit` seconds: their ratio is then a
lower bound, and printed as one. Where someone found a lower F all the same, ours that had stopped early go again, to
that one.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from alrviz.data.encoded import Encoded
from alrviz.fitting.families import choices
from benchmarks._child import in_child
from benchmarks._courses import Course, our_course, recipe_of, scipy_course, sklearn_course
from benchmarks._each import one_blas_thread
from benchmarks._tools import Row, seconds, show

TARGET_GAP, REACH, REACH_AUTO = 1e-3, 20.0, 1.3
SHORT = 3.0  # seconds
# Others stop this far above the lowest F known: it may still sink by the rest, and every course will have crossed the
# line.
_FURTHER = 2e-4
# Ours are given up after so many times the seconds of "auto" to the target, or after as many seconds as the second.
SLOWER, MIN_SECONDS = 2.0, 3.0


def our_racers(order: int, alpha: float) -> dict[str, Any]:
    """Return recipes by name: "auto", the two other metrics, and every other solver the registry offers on lr."""
    auto = recipe_of(order, alpha)
    racers = {"auto": auto}
    racers["diagonal lbfgs"] = recipe_of(order, alpha, solver="lbfgs", scale="diagonal")
    racers["alr lbfgs"] = recipe_of(order, alpha, solver="lbfgs", family="alr")
    names = [name for name in choices("lr", "solver") if name not in ("auto", auto.solver)]
    return racers | {f"lr {name}": recipe_of(order, alpha, solver=name) for name in names}


def sklearn_alone(encoded: Encoded, order: int, alpha: float, solver: str, course: Course) -> Course:
    """Fit with scikit-learn and one BLAS thread."""
    with one_blas_thread():
        return sklearn_course(encoded, order, alpha, solver, course)


def fit_again_if_short(fit: Callable[..., Course], *arguments: Any) -> Course:
    """Return the course of a fit, of a second one where the first was so short that a process's own start shows."""
    course: Course = arguments[-1]
    first = fit(*arguments[:-1], Course(course.enough, course.limit))
    return fit(*arguments) if first.seconds and first.seconds[-1] < SHORT else first


def peers_of() -> dict[str, Callable[..., Course]]:
    """Return the peers' fits by name."""
    fits: dict[str, Callable[..., Course]] = {}
    for solver in ("lbfgs", "newton-cg"):
        fits[f"scikit-learn {solver}"] = partial(_sklearn, solver, sklearn_course)
        fits[f"scikit-learn {solver}, one BLAS thread"] = partial(_sklearn, solver, sklearn_alone)
    return fits | {"numpy and SciPy": scipy_course}


def _sklearn(
    solver: str, fit: Callable[..., Course], encoded: Encoded, order: int, alpha: float, course: Course
) -> Course:
    return fit(encoded, order, alpha, solver, course)


def courses(encoded: Encoded, order: int, alpha: float, options: argparse.Namespace) -> dict[str, Course | str]:
    """Return the course of each, or why there is none."""
    courses_of: dict[str, Course | str] = {}

    def take(name: str, enough: float, limit: float, fit: Callable[..., Course], *arguments: Any) -> None:
        course = Course(enough, limit)
        answer = in_child(fit_again_if_short, fit, encoded, *arguments, course, limit=2.0 * limit + 60.0)
        if answer.value and answer.value.seconds:
            courses_of[name] = answer.value
        else:  # it had its time and was nowhere yet
            courses_of[name] = Course(enough, limit, [limit], [np.inf]) if answer.late else answer.reason or "no step"

    def near(share: float = _FURTHER) -> float:
        return lowest_of(courses_of) + share * encoded.n_rows

    def patient(times: float, limit: float) -> float:
        return min(limit, max(MIN_SECONDS, times * best_of(courses_of, near(TARGET_GAP))[1]))

    racers = {k: v for k, v in our_racers(order, alpha).items() if k == "auto" or k in (options.racers or [k])}
    for name, recipe in racers.items():
        if name == "auto":
            take(name, -np.inf, options.limit, our_course, recipe.replace(tol=1e-8))
        else:
            take(name, near(), patient(SLOWER, options.limit), our_course, recipe)
    limit = patient(options.patience, options.peer_limit)
    for name, fit in peers_of().items():
        if options.peers is None or name in options.peers:
            take(name, near(), limit, fit, order, alpha)
    for name, recipe in racers.items():
        first_course = courses_of[name]
        if isinstance(first_course, Course) and near(TARGET_GAP) < first_course.lowest <= first_course.enough:
            take(name, near(), options.limit, our_course, recipe)
    return courses_of


def lowest_of(courses_of: dict[str, Course | str]) -> float:
    """Return F*, the lowest F of all courses."""
    return min((course.lowest for course in courses_of.values() if isinstance(course, Course)), default=np.inf)


def best_of(courses_of: dict[str, Course | str], target: float) -> tuple[str, float]:
    """Return name and seconds of the first to reach `target`."""
    times = {name: course.reached(target) for name, course in courses_of.items() if isinstance(course, Course)}
    name = min(times, key=lambda name: times[name], default="")
    return name, times.get(name, np.inf)


def to_target(name: str, encoded: Encoded, options: argparse.Namespace) -> Iterator[Row]:
    """Print a row a solver for each alpha, then the ratios; yield a row a solver."""
    for alpha in options.alphas:
        courses_of = courses(encoded, options.order, alpha, options)
        target = lowest_of(courses_of) + TARGET_GAP * encoded.n_rows
        our_courses = {key: value for key, value in courses_of.items() if not key.startswith(("scikit-learn", "numpy"))}
        best, fastest = best_of(our_courses, target)
        show(
            (_cells(key, course, encoded.n_rows, target, fastest) for key, course in courses_of.items()),
            header=(f"{name}, {encoded.n_rows:,} rows, alpha {alpha:g}", f"to F* + {TARGET_GAP:g} N", "over our best",
                    "values of F", "lowest F / N", "seconds in all"),
        )  # fmt: skip
        _verdict(courses_of, target, best, fastest)
        for key, course in courses_of.items():
            row: Row = {"part": "to target", "set": name, "rows": encoded.n_rows, "order": options.order,
                        "alpha": alpha, "solver": key, "target": target}  # fmt: skip
            if isinstance(course, Course):
                row |= {"seconds": course.reached(target), "ratio": _ratio_to_best(course, target, fastest)[0],
                        "objective": course.lowest, "spent": course.seconds[-1]}  # fmt: skip
            yield row | ({"refused": course} if isinstance(course, str) else {})


def _ratio_to_best(course: Course, target: float, fastest: float) -> tuple[float, str]:
    """Return how many times our best a course took, and whether it took more ("at least")."""
    target_seconds = course.reached(target)
    if not np.isfinite(target_seconds):
        return course.seconds[-1] / fastest, "at least "
    return target_seconds / fastest, ""


def _cells(name: str, course: Course | str, rows: int, target: float, fastest: float) -> tuple[object, ...]:
    if isinstance(course, str):
        return name, course, *[""] * 4
    target_seconds = course.reached(target)
    ratio, bound = _ratio_to_best(course, target, fastest)
    return (
        name,
        seconds(target_seconds) if np.isfinite(target_seconds) else "-",
        f"{bound}{ratio:.2f}" if np.isfinite(fastest) else "-",
        len(course.objective),
        f"{course.lowest / rows:.6f}",
        seconds(course.seconds[-1]),
    )


def _verdict(courses_of: dict[str, Course | str], target: float, best: str, fastest: float) -> None:
    """Print whether the ratios reach what they are to reach."""
    if not np.isfinite(fastest):
        print("none of ours came so close within the limit: NO\n", flush=True)
        return
    ratios = {
        key: _ratio_to_best(course, target, fastest)
        for key, course in courses_of.items()
        if key.startswith("scikit-learn") and isinstance(course, Course)
    }
    if ratios:
        name = min(ratios, key=lambda key: ratios[key][0])
        ratio, bound = ratios[name]
        reached = "yes" if ratio >= REACH else "not known: it was given up" if bound else "NO"
        print(f"our best, {best}, is {bound}{ratio:.1f} times faster than {name} (to reach {REACH:g}: {reached})")
    auto = courses_of["auto"]
    if isinstance(auto, Course):
        ratio = auto.reached(target) / fastest
        print(
            f"auto takes {ratio:.2f} times our best (to reach {REACH_AUTO:g}: {'yes' if ratio <= REACH_AUTO else 'NO'})"
        )
    print(flush=True)
