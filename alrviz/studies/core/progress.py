"""How far a study is, and how long it will take still."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from types import MappingProxyType

from alrviz.studies.core.study_task import PRIOR, Result, StudyTask


def left_text(seconds: float) -> str:
    """Return the seconds left, as coarse as they are known."""
    if seconds < 90:
        return f"{max(1, round(seconds)):,} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@dataclass(frozen=True)
class Progress:
    """How far a study is: tasks done and in all, those that failed, and seconds left (None while unknown)."""

    done: int
    total: int
    failed: int
    seconds_left: float | None

    def __str__(self) -> str:
        left = (
            ""
            if self.seconds_left is None or self.done >= self.total
            else f", about {left_text(self.seconds_left)} left"
        )
        return f"{self.done:,} of {self.total:,} fits" + (f", {self.failed:,} failed" if self.failed else "") + left


def progress_of(
    tasks: Sequence[StudyTask],
    results: Mapping[int, Result],
    finished: Mapping[int, float],
    expected: Mapping[int, float] = MappingProxyType({}),
) -> Progress:
    """Return the progress, given the results by place, and for those of this sitting the seconds until they came.

    expected: seconds that a fit of a racer was estimated to take, by its place.
    """
    failed = sum(result.failed for result in results.values())
    return Progress(len(results), len(tasks), failed, _left(tasks, results, finished, expected))


def _left(
    tasks: Sequence[StudyTask],
    results: Mapping[int, Result],
    finished: Mapping[int, float],
    expected: Mapping[int, float],
) -> float | None:
    """What the tasks left take by those that were measured, at the pace of this sitting; None before the first.

    A racer of which no task was measured takes its estimate, times the median of measured over estimated; without an
    estimate the mean of all tasks.
    """
    timed = [place for place in finished if place in results and not results[place].failed]
    took: dict[int, list[float]] = defaultdict(list)
    for place in timed:
        took[tasks[place].racer].append(_seconds(results[place]))
    if not set(took) - {PRIOR}:  # what the class prior takes says nothing of fits
        return None if len(results) < len(tasks) else 0.0
    means = {racer: fmean(seconds) for racer, seconds in took.items()}
    ratios = [mean / expected[racer] for racer, mean in means.items() if expected.get(racer)]
    known = {racer: seconds * median(ratios) for racer, seconds in expected.items()} if ratios else {}
    known |= {PRIOR: 0.0} | means
    busy = sum(map(sum, took.values()))
    left = (task.racer for place, task in enumerate(tasks) if place not in results)
    first = min(timed, key=lambda place: finished[place])
    lasted = (
        max(finished[place] for place in timed) - finished[first] + _seconds(results[first])
    )  # processes start before
    return lasted / busy * sum(known.get(racer, busy / len(timed)) for racer in left)


def _seconds(result: Result) -> float:
    """What a task took, up to a factor that tasks of a study share."""
    return sum(float(value) for row in result.rows for name, value in row.items() if name.endswith("seconds")) or 1e-3
