"""Progress of a study, and the time it still needs."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from types import MappingProxyType

from alrviz.studies.core.study_task import PRIOR_RACER, Result, StudyTask


def duration_text(seconds: float) -> str:
    """Format seconds left no more precisely than they can be known."""
    if seconds < 90:
        return f"{max(1, round(seconds)):,} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


@dataclass(frozen=True)
class Progress:
    """Progress of a study: the numbers of tasks done, of all tasks and of failed ones, and the seconds left (None while
    unknown).
    """

    n_done: int
    total: int
    failed: int
    seconds_left: float | None

    def __str__(self) -> str:
        text = f"{self.n_done:,} of {self.total:,} fits" + (f", {self.failed:,} failed" if self.failed else "")
        if self.seconds_left is None or self.n_done >= self.total:
            return text
        return f"{text}, about {duration_text(self.seconds_left)} left"


def progress_of(
    tasks: Sequence[StudyTask],
    results: Mapping[int, Result],
    finished: Mapping[int, float],
    expected_seconds: Mapping[tuple[str, int], float] = MappingProxyType({}),
) -> Progress:
    """Return the progress, given the results by index.

    finished: seconds from the start of this session until a task arrived, by index. expected_seconds: of a fit, by
    hash of the table and racer.
    """
    failed = sum(result.failed for result in results.values())
    return Progress(len(results), len(tasks), failed, _seconds_left(tasks, results, finished, expected_seconds))


def _seconds_left(
    tasks: Sequence[StudyTask],
    results: Mapping[int, Result],
    finished: Mapping[int, float],
    expected_seconds: Mapping[tuple[str, int], float],
) -> float | None:
    """Estimate the seconds of the remaining tasks from those measured in this session; None before the first.

    The arguments are those of `progress_of`. A racer without a measured task on a table takes its estimate, scaled by
    the ratio of measured to estimated seconds so far; without an estimate it takes the mean of all tasks.
    """
    timed_indices = [index for index in finished if index in results and not results[index].failed]
    durations: dict[tuple[str, int], list[float]] = defaultdict(list)
    for index in timed_indices:
        durations[_key(tasks[index])].append(_seconds(results[index]))
    if all(racer == PRIOR_RACER for _, racer in durations):  # class shares take no time
        return None if len(results) < len(tasks) else 0.0
    means = {key: fmean(seconds) for key, seconds in durations.items()}
    # One second at the estimated pace: the first fits may be the shortest, whose pace says little of the others.
    measured = 1.0 + sum(sum(seconds) for key, seconds in durations.items() if expected_seconds.get(key))
    expected = 1.0 + sum(expected_seconds.get(key, 0.0) * len(seconds) for key, seconds in durations.items())
    predicted = {key: seconds * measured / expected for key, seconds in expected_seconds.items()} | means
    total_seconds = sum(map(sum, durations.values()))
    keys = (_key(task) for index, task in enumerate(tasks) if index not in results and task.racer != PRIOR_RACER)
    first_index = min(timed_indices, key=lambda index: finished[index])
    # Measured from the start of the first task: processes take seconds to start.
    elapsed = max(finished[index] for index in timed_indices) - finished[first_index] + _seconds(results[first_index])
    return elapsed / total_seconds * sum(predicted.get(key, total_seconds / len(timed_indices)) for key in keys)


def _key(task: StudyTask) -> tuple[str, int]:
    """Return the key of tasks that take about equally long."""
    return task.data_hash, task.racer


def _seconds(result: Result) -> float:
    """Return the seconds of a task, up to a factor that all tasks of a study share."""
    return sum(float(value) for row in result.rows for name, value in row.items() if name.endswith("seconds")) or 1e-3
