"""Steps of a study that is no `Study`: each is computed once and kept in the run store as it finishes.

A step's key says all that its numbers depend on beside alrviz itself; what is kept under it is not computed again.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from joblib import Parallel, delayed

from alrviz.data.splits import whole_table
from alrviz.studies.core.checkpoint import Checkpoint
from alrviz.studies.core.study_task import Result, StudyTask
from reproduction.settings import OWNER, Settings

Row = dict[str, Any]
Progress = Iterator[tuple[str, list[Row]]]
_WHOLE = whole_table()


@dataclass(frozen=True)
class Step:
    """One piece of work: the words that say it, its key (JSON), the table's hash, a function and its arguments."""

    label: str
    key: Any
    compute: Callable[..., list[Row]] = field(repr=False)
    arguments: tuple[Any, ...] = ()
    data_hash: str = ""


def kept_rows(study: str, steps: Sequence[Step], settings: Settings) -> Progress:
    """Yield (what was done, its rows) a step, in order; with `settings.kept_only` those that are kept."""
    tasks = [StudyTask(study, "", step.data_hash, _WHOLE, json.dumps(step.key, sort_keys=True)) for step in steps]
    keys = json.dumps([study, [task.options for task in tasks]])
    keeping = Checkpoint(settings.keep, OWNER, "reproduce", keys, tasks[0].data_hash if tasks else "")
    keeping.begin(study, "")
    stored = dict(keeping.load(tasks, ()))
    remaining = [] if settings.kept_only else [step for place, step in enumerate(steps) if place not in stored]
    calls = (delayed(step.compute)(*step.arguments) for step in remaining)
    # A pool that nobody takes a result from warns when it is dropped.
    computed = iter(Parallel(n_jobs=settings.jobs, return_as="generator")(calls) if remaining else ())
    outcome = "stopped"
    try:
        for place, step in enumerate(steps):
            if place in stored:
                yield step.label, stored[place].rows
            elif not settings.kept_only:
                rows = next(computed)
                keeping.save(place, tasks[place], Result(rows))
                keeping.beat()
                yield step.label, rows
        outcome = "done"
    finally:
        keeping.end(outcome, "")
