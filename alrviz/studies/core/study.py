"""A study: many fits, and a tidy row of figures for each as it finishes.

    study = bias_variance(dataset, recipes)         # nothing has begun
    for row in study.rows(): ...                    # computes, and gives each row as soon as it is there
    study.start(); study.since(cursor); study.stop(); study.start()         # the same on threads of its own
    study.frame(), study.summary()                  # all rows so far, in the tasks' order; what follows from them

The frame is the same bit for bit, but for columns whose name ends in "seconds", for any number of workers and whatever
was computed in an earlier sitting. A study that is kept (keep=True) saves every task as it finishes and takes what is
saved: after a crash, or in a study that shares tasks with it, nothing is computed twice.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from alrviz.data.splits import check_folds
from alrviz.errors import AlrvizError
from alrviz.estimators.checks import check_max_memory
from alrviz.fitting.recipe import Recipe
from alrviz.job import Job
from alrviz.passes.cluster import require_dask
from alrviz.stop import StopToken
from alrviz.studies.core import workers
from alrviz.studies.core.checkpoint import Checkpoint, Keep
from alrviz.studies.core.cost import StudyEstimate, estimate_study
from alrviz.studies.core.results import StudyResults
from alrviz.studies.core.study_task import Row, StudyTask
from alrviz.studies.core.workers import computed, jobs_of

if TYPE_CHECKING:
    import pandas as pd

    from alrviz.data.dataset import Dataset

LOCAL = "local"
_SAY_EVERY = 5.0  # seconds between two lines of a run that tells how far it is
Summary = Callable[["Study"], "pd.DataFrame"]


class Study(StudyResults):
    """Tasks of tables, computed on request, and what has come of them; made by the functions of the studies.

    Attributes:
        kind: name of the function that made it ("path" of `alpha_path`): pages and the history find it by that.
        datasets, recipes, tasks, names: as `StudyResults` has them.
        spec: JSON of what was asked for: with the data's hash it is the same study again.
        error: what ended it before its time; None.
        link: what shows it in the explorer, kept with it; "" where it was not made there.
        entry: in the registry of a server, which decides when it computes; else None.

    Raises:
        RecipeError: n_jobs or max_memory that are no numbers of workers or bytes; a scheduler without its packages;
            fewer groups, or times, than folds.

    >>> import alrviz
    >>> study = alrviz.choose_order(alrviz.load_demo("xor", 200), repeats=1, orders=(1, 2), n_jobs=1)
    >>> len(study.run().frame())  # a row a fit: 2 orders, 5 folds
    10
    """

    # What a registry reads of a race.
    runs: Sequence[Any] = ()
    stopped_at: int | None = None
    activity = ""

    def __init__(
        self,
        kind: str,
        datasets: "Sequence[Dataset]",
        recipes: Sequence[Recipe],
        tasks: Sequence[StudyTask],
        summary: Summary,
        options: Mapping[str, Any],
        *,
        n_jobs: int | None = None,
        max_memory: int | None = None,
        scheduler: str | None = None,
        keep: Keep = False,
        owner: str = LOCAL,
    ):
        if scheduler is not None:
            require_dask()
        check_max_memory(max_memory)
        if n_jobs is not None:
            jobs_of(n_jobs)
        by_hash = {dataset.hash: dataset for dataset in datasets}
        for key, folds in {(task.data_hash, task.split.folds) for task in tasks if task.split.folds > 1}:
            check_folds(folds, by_hash[key].splitting)
        self._max_memory = workers.fair_memory() if max_memory is None else int(max_memory)
        super().__init__(datasets, recipes, [replace(task, max_memory=self._max_memory) for task in tasks])
        self.kind = kind
        limit = None if max_memory is None else self._max_memory
        self.spec = json.dumps(
            {**options, "recipes": [recipe.to_json() for recipe in recipes], "max_memory": limit}, sort_keys=True
        )
        self.error: Exception | None = None
        self.link = ""
        self.entry: Any = None
        self._summary = summary
        self._n_jobs, self._scheduler = n_jobs, scheduler
        self._checkpoint = Checkpoint(keep, owner, kind, self.spec, self.data_hash)
        self._job: Job[None] = Job(self._drive, "alrviz-study")

    # -- driving ------------------------------------------------------------------------------------------------------

    @property
    def control(self) -> "Study":
        """What to start and stop it by: its entry, so that a registry decides whose turn it is, or itself."""
        control: Study = self if self.entry is None else self.entry
        return control

    def start(self) -> None:
        """Compute what is not done, on threads and processes of its own; after a stop, go on."""
        with self._changed:
            if self._phase == "running":
                return
            if self._job.started or self._job.token.stopped:  # a sitting before
                self._job = Job(self._drive, "alrviz-study")
            self.error, self._seconds = None, {}
            self._job.start()

    def stop(self) -> None:
        """End it at once: no row is added after this returns; tasks under way are lost, finished ones are not."""
        with self._changed:
            self._job.stop()
            self._changed.notify_all()

    def pause(self) -> None:
        """Stop it: a study goes on after a stop, with what is finished kept."""
        self.stop()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until it is done, stopped or has failed; returns whether it is."""
        return self._job.join(timeout)

    def rows(self) -> Iterator[Row]:
        """Start, and yield every row as soon as it is there, those of earlier sittings first.

        Ending the loop early stops the study. Raises what ended the study before its time.
        """
        self.start()
        cursor = 0
        try:
            while True:
                with self._changed:
                    while len(self._arrived) == cursor and self._job.alive and not self._job.token.stopped:
                        self._changed.wait(0.5)
                    cursor, found = self.since(cursor)
                    ended = not found and (not self._job.alive or self._job.token.stopped)
                yield from found
                if ended:
                    break
        finally:
            self.stop()
        if self.error is not None:
            raise self.error

    def __repr__(self) -> str:
        of = ", ".join(dataset.name for dataset in self.datasets.values())
        return f"<{self.kind} study of {of}: {len(self.results())} of {len(self.tasks)} fits>"

    def estimate(self) -> StudyEstimate:
        """Return about how long the fits that are left take, and which recipes are refused; nothing is fitted.

        What it learned is what progress counts on.

        Raises:
            AlrvizError: a study of `alpha_path` or of learning curves row by row, of which that is not known before.
        """
        result = estimate_study(self, self._n_jobs, self._max_memory)
        if len(self.datasets) == 1 and len(result.fits) == len(self.recipes):
            self.expect([one.cost.seconds for one in result.fits])
        return result

    def run(self, *, verbose: bool = False) -> Self:
        """Compute all of it in the calling thread's time; returns the study.

        verbose: whether its estimate is printed first, and every few seconds how far it is.
        """
        said = time.monotonic()
        if verbose:
            print(self._estimate_text(), flush=True)  # noqa: T201 (asked for)
        for _ in self.rows():
            if verbose and time.monotonic() - said > _SAY_EVERY:
                said = time.monotonic()
                print(self.progress, flush=True)  # noqa: T201
        return self

    def _estimate_text(self) -> str:
        try:
            return str(self.estimate())
        except AlrvizError as error:
            return f"{len(self.tasks):,} tasks; {error}"

    def redo(self) -> int:
        """Forget the tasks that failed and start; returns how many are computed again.

        Raises:
            AlrvizError: while it is running.
        """
        with self._changed:
            if self._phase == "running":
                raise AlrvizError("the study is running, and what failed is computed again after it; join or stop it")
            lost = self._forget_failed()
        self._checkpoint.forget(lost)
        self.control.start()
        return len(lost)

    def recall(self) -> int:
        """Take the tasks that are kept of this very study, and compute none; returns how many there are now."""
        if self.phase == "waiting" and self._checkpoint.find():
            self._take_saved(StopToken())
        return len(self._results)

    # -- looking ------------------------------------------------------------------------------------------------------

    @property
    def id(self) -> str | None:
        """Of the study in the store, once it has begun; None where it is not kept."""
        return self._checkpoint.id

    @property
    def problem(self) -> str:
        """Why finished tasks are kept no more; "" as long as they are, or none are to be."""
        return self._checkpoint.problem

    @property
    def max_memory(self) -> int:
        """Bytes that each fit may take."""
        return self._max_memory

    @property
    def phase(self) -> str:
        """One of "waiting", "queued", "running", "stopped", "done" (some tasks may have failed) or "failed"."""
        return "queued" if self.entry is not None and self.entry.in_queue else self._phase

    @property
    def ended(self) -> bool:
        """Whether nothing of it is left to compute."""
        return self.phase == "done"

    @property
    def _phase(self) -> str:
        if self._job.alive and not self._job.token.stopped:
            return "running"
        if self.error is not None:
            return "failed"
        if self._complete:
            return "done"
        return "waiting" if not self._job.started and not self._results else "stopped"

    def summary(self) -> "pd.DataFrame":
        """Return what follows from the rows so far; what its columns are the function that made the study says."""
        return self._summary(self)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _drive(self, stop: StopToken) -> None:
        error: Exception | None = None
        try:
            names = ", ".join(self.names)
            self._checkpoint.begin(names, ", ".join(one.name for one in self.datasets.values()), self.link)
            self._take_saved(stop)
            left = [(place, task) for place, task in enumerate(self.tasks) if place not in self._results]
            if left and not stop.stopped:
                self._compute(left, stop)
        except Exception as caught:  # nobody waits on this thread: whoever looks must find it
            error = caught
        with self._changed:
            mine = self._job.token is stop  # else it was stopped, and goes on already
            if mine:
                self.error = error
        if mine:
            self._end(error)
        with self._changed:
            self._changed.notify_all()

    def _compute(self, left: Sequence[tuple[int, StudyTask]], stop: StopToken) -> None:
        begun = time.monotonic()
        where: dict[str, Any] = {"n_jobs": self._n_jobs, "scheduler": self._scheduler}
        for place, result in computed(left, self.datasets, stop=stop, tick=self._checkpoint.beat, **where):
            if self._accept(place, result, stop, time.monotonic() - begun):
                self._checkpoint.save(place, self.tasks[place], result)

    def _take_saved(self, stop: StopToken) -> None:
        for place, result in self._checkpoint.taken(self.tasks, self._results):
            self._accept(place, result, stop)

    def _end(self, error: Exception | None) -> None:
        with self._changed:
            lost = sum(result.failed for result in self._results.values())
            done = f"{len(self._results)} of {len(self.tasks)} fits" + (f", {lost} failed" if lost else "")
            state = "failed" if error else "done" if self._complete else "stopped"
        self._checkpoint.end(state, str(error or done))
