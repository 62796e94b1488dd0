"""A study: many fits, each with a tidy row of figures as soon as it finishes.

    study = bias_variance(dataset, recipes)         # has not started
    for row in study.rows(): ...                    # computes, and yields each row as soon as it is there
    study.start(); study.since(cursor); study.stop(); study.start()         # the same in the background
    study.frame(), study.summary()                  # all rows so far, in the order of the tasks; their figures

The frame is bit-identical for any number of workers and across sessions, except in columns that end in "seconds". With
keep=True a study saves every finished task and loads those saved before: nothing is computed twice after a crash, or in
a study that shares tasks with it.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, TypedDict

from alrviz.data.splits import check_folds
from alrviz.errors import AlrvizError
from alrviz.estimators.checks import check_max_memory
from alrviz.fitting.recipe import Recipe
from alrviz.job import Job
from alrviz.passes.cluster import require_dask
from alrviz.stop import StopToken
from alrviz.studies.core import workers
from alrviz.studies.core.checkpoint import Checkpoint, Keep
from alrviz.studies.core.cost import StudyEstimate, estimate_remaining_fits
from alrviz.studies.core.results import StudyResults
from alrviz.studies.core.study_task import Row, StudyTask
from alrviz.studies.core.workers import compute_tasks, jobs_of

if TYPE_CHECKING:
    import pandas as pd

    from alrviz.data.dataset import Dataset

LOCAL = "local"
_PRINT_INTERVAL_S = 5.0  # between two lines of progress of a verbose run
Summary = Callable[["Study"], "pd.DataFrame"]


class StudyOptions(TypedDict, total=False):
    """Options of every study. Only max_memory may change a number, as it decides between solvers.

    n_jobs: number of processes; 1 computes in the present process, None uses one per processor.
    max_memory: bytes a single fit may take, in every worker; None: half of the machine's memory, shared by as many
        workers as it has processors (total rather than free memory, so that results are reproducible).
    scheduler: address of a Dask scheduler ("tcp://host:8786") whose workers compute.
    keep: True saves every finished task in the user's run store, and loads those saved there before; a folder or a
        `Store` names another store. False saves nothing.
    owner: owner of the study in the store.
    """

    n_jobs: int | None
    max_memory: int | None
    scheduler: str | None
    keep: Keep
    owner: str


class Study(StudyResults):
    """Tasks on tables, computed on request, and their results; made by the functions in studies/protocols.

    Attributes:
        kind: name of the study ("path" for `alpha_path`), by which pages and the history find it.
        datasets, recipes, tasks, names: see `StudyResults`.
        spec: JSON of the settings; with the data's hash it identifies the study.
        max_memory: bytes that each fit may take.
        error: the error that ended it early; None.
        link: link that opens it in the explorer, saved with it; "" if it was not made there.
        entry: its entry in a server's registry, which decides when it computes; else None.

    Raises:
        RecipeError: if n_jobs or max_memory is invalid, the scheduler's packages are missing, or there are fewer groups
            (or times) than folds.

    >>> import alrviz
    >>> study = alrviz.choose_order(alrviz.load_demo("xor", 200), repeats=1, orders=(1, 2), n_jobs=1)
    >>> len(study.run().frame())  # a row a fit: 2 orders, 5 folds
    10
    """

    # A registry reads these of its jobs, races and studies alike.
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
        dataset_by_hash = {dataset.hash: dataset for dataset in datasets}
        for data_hash, folds in {(task.data_hash, task.split.folds) for task in tasks if task.split.folds > 1}:
            check_folds(folds, dataset_by_hash[data_hash].splitting)
        self.max_memory = workers.fair_memory() if max_memory is None else int(max_memory)
        super().__init__(datasets, recipes, [replace(task, max_memory=self.max_memory) for task in tasks])
        self.kind = kind
        memory_limit = None if max_memory is None else self.max_memory
        self.spec = json.dumps(
            {**options, "recipes": [recipe.to_json() for recipe in recipes], "max_memory": memory_limit}, sort_keys=True
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
        """The object to start and stop: its registry's entry, which decides whose turn it is, or itself."""
        control: Study = self if self.entry is None else self.entry
        return control

    def start(self) -> None:
        """Compute the tasks that are not done, in the background; resumes after a stop."""
        with self._changed:
            if self._phase == "running":
                return
            if self._job.started or self._job.token.stopped:  # an earlier session
                self._job = Job(self._drive, "alrviz-study")
            self.error, self._seconds = None, {}
            self._job.start()

    def stop(self) -> None:
        """Stop at once: no row is added after this returns; running tasks are lost, finished ones are not."""
        with self._changed:
            self._job.stop()
            self._changed.notify_all()

    def pause(self) -> None:
        """Stop; finished tasks stay, and `start` resumes."""
        self.stop()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until it is done, stopped or has failed, at most `timeout` seconds; return whether it is."""
        return self._job.join(timeout)

    def rows(self) -> Iterator[Row]:
        """Start, and yield every row as soon as it is there, starting with those of earlier sessions.

        Leaving the loop early stops the study. Raises the error that ended the study early.
        """
        self.start()
        cursor = 0
        try:
            while True:
                with self._changed:
                    while len(self._arrived) == cursor and self._job.alive and not self._job.token.stopped:
                        self._changed.wait(0.5)
                    cursor, rows = self.since(cursor)
                    is_over = not rows and (not self._job.alive or self._job.token.stopped)
                yield from rows
                if is_over:
                    break
        finally:
            self.stop()
        if self.error is not None:
            raise self.error

    def __repr__(self) -> str:
        return f"<{self.kind} study of {self._data_names}: {self.progress}>"

    @property
    def _data_names(self) -> str:
        return ", ".join(dataset.name for dataset in self.datasets.values())

    def estimate(self) -> StudyEstimate:
        """Estimate the time of the remaining fits, and which recipes are refused; progress then uses it.

        Raises:
            AlrvizError: for tasks other than folds, whose time is unknown beforehand.
        """
        result = estimate_remaining_fits(self, self._n_jobs, self.max_memory)
        if len(self.datasets) == 1 and len(result.fits) == len(self.recipes):
            self.expect([fit.cost.seconds for fit in result.fits])
        return result

    def run(self, *, verbose: bool = False) -> Self:
        """Compute everything and return the study.

        verbose: whether to print an estimate first, and the progress every few seconds.
        """
        last_print = time.monotonic()
        if verbose:
            print(self._estimate_text(), flush=True)  # noqa: T201 (asked for)
        for _ in self.rows():
            if verbose and time.monotonic() - last_print > _PRINT_INTERVAL_S:
                last_print = time.monotonic()
                print(self.progress, flush=True)  # noqa: T201
        return self

    def _estimate_text(self) -> str:
        try:
            return str(self.estimate())
        except AlrvizError as error:
            return f"{len(self.tasks):,} tasks; {error}"

    def redo(self) -> int:
        """Forget the failed tasks and start; return how many are computed again.

        Raises:
            AlrvizError: if the study is running.
        """
        with self._changed:
            if self._phase == "running":
                raise AlrvizError("the study is running; join or stop it before its failed tasks are computed again")
            failed_tasks = self._forget_failed()
        self._checkpoint.forget(failed_tasks)
        self.control.start()
        return len(failed_tasks)

    def recall(self) -> int:
        """Load the saved tasks of this study without computing any; return the number of finished tasks."""
        if self.phase == "waiting" and self._checkpoint.find():
            self._load_saved(StopToken())
        return len(self._results)

    # -- looking ------------------------------------------------------------------------------------------------------

    @property
    def id(self) -> str | None:
        """Id of the study in the store; None before it has begun or if it is not saved."""
        return self._checkpoint.id

    @property
    def problem(self) -> str:
        """Why finished tasks are not saved any more; "" without a problem."""
        return self._checkpoint.problem

    @property
    def phase(self) -> str:
        """One of "waiting", "queued", "running", "stopped", "done" (some tasks may have failed) or "failed"."""
        return "queued" if self.entry is not None and self.entry.in_queue else self._phase

    @property
    def ended(self) -> bool:
        """Whether all tasks are done."""
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
        """Return the figures computed from the rows so far; the function that made the study documents the columns."""
        return self._summary(self)

    # -- inside -------------------------------------------------------------------------------------------------------

    def _drive(self, stop: StopToken) -> None:
        error: Exception | None = None
        try:
            self._checkpoint.begin(", ".join(self.names), self._data_names, self.link)
            self._load_saved(stop)
            remaining_tasks = [(index, task) for index, task in enumerate(self.tasks) if index not in self._results]
            if remaining_tasks and not stop.stopped:
                start_time = time.monotonic()
                options: dict[str, Any] = {"n_jobs": self._n_jobs, "scheduler": self._scheduler}
                beat = self._checkpoint.beat
                for index, result in compute_tasks(remaining_tasks, self.datasets, stop=stop, tick=beat, **options):
                    if self.accept(index, result, stop, time.monotonic() - start_time):
                        self._checkpoint.save(index, self.tasks[index], result)
        except Exception as caught:  # on this thread nobody would see it: `rows`, `phase` and pages read self.error
            error = caught
        with self._changed:
            is_current = self._job.token is stop  # else it was stopped and has been started again
            if is_current:
                self.error = error
            state = "failed" if error else "done" if self._complete else "stopped"
            progress = replace(self.progress, seconds_left=None)
        if is_current:
            self._checkpoint.end(state, str(error or progress))
        with self._changed:
            self._changed.notify_all()

    def _load_saved(self, stop: StopToken) -> None:
        for index, result in self._checkpoint.load(self.tasks, self._results):
            self.accept(index, result, stop)
