"""Results of a study's tasks: rows as they arrive, a frame in the order of the tasks, progress.

One thread adds results while others read: everything is read and written under one lock, `_changed`.
"""

import threading
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.core.names import short_names
from alrviz.studies.core.progress import Progress, progress_of
from alrviz.studies.core.study_task import RELIABILITY, Result, Row, StudyTask

if TYPE_CHECKING:
    import pandas as pd

    from alrviz.data.dataset import Dataset


class StudyResults:
    """The part of a study that is read.

    Attributes:
        datasets, recipes, tasks: the study's; a task's `racer` is the index of its recipe.
        names: a short name for each recipe.
    """

    def __init__(self, datasets: "Sequence[Dataset]", recipes: Sequence[Recipe], tasks: Sequence[StudyTask]):
        self.datasets = {dataset.hash: dataset for dataset in datasets}
        self.recipes, self.tasks = tuple(recipes), tuple(tasks)
        self.names = tuple(short_names(recipes))
        self._results: dict[int, Result] = {}
        self._arrived: list[int] = []
        self._cached_frame: tuple[list[int] | None, Any] = (None, None)  # arrived tasks, their frame
        self._seconds: dict[int, float] = {}  # from the start of this session until a task arrived
        self._expected_seconds: dict[tuple[str, int], float] = {}  # of a fit, by hash of the table and racer
        self._changed = threading.Condition()

    @property
    def dataset(self) -> "Dataset":
        """The first table; most studies have one."""
        return next(iter(self.datasets.values()))

    @property
    def data_hash(self) -> str:
        """Hash of all tables together; a single table's own hash."""
        hashes = list(self.datasets)
        return hashes[0] if len(hashes) == 1 else sha256("".join(hashes).encode()).hexdigest()

    @property
    def progress(self) -> Progress:
        """Tasks done and failed, and the time left."""
        with self._changed:
            return progress_of(self.tasks, self._results, self._seconds, self._expected_seconds)

    def expect(self, seconds: Sequence[float], data_hash: str = "") -> None:
        """Set the expected seconds of a fit of each recipe on a table, which progress uses until one is measured.

        data_hash: hash of the table; may be left out if there is one.
        """
        with self._changed:
            self._expected_seconds |= {(data_hash or self.dataset.hash, k): value for k, value in enumerate(seconds)}

    def since(self, cursor: int) -> tuple[int, list[Row]]:
        """Return the next cursor, and the rows of the tasks that arrived after `cursor` (0: all), in order of arrival.

        Start at 0 again after `redo`.
        """
        with self._changed:
            new_indices = self._arrived[cursor:]
            rows = [row for index in new_indices for row in self._rows_of(self.tasks[index], self._results[index])]
            return cursor + len(new_indices), rows

    def results(self) -> list[tuple[StudyTask, Result]]:
        """Return the finished tasks with their results, in the order of the tasks."""
        with self._changed:
            return [(self.tasks[index], self._results[index]) for index in sorted(self._results)]

    def frame(self) -> "pd.DataFrame":
        """Return all rows so far, in the order of the tasks."""
        import pandas as pd

        with self._changed:
            arrived_indices, results, (cached_indices, frame) = list(self._arrived), self.results(), self._cached_frame
        if arrived_indices != cached_indices:  # a summary and a verdict ask for the frame several times
            frame = pd.DataFrame([row for task, result in results for row in self._rows_of(task, result)])
            with self._changed:
                if arrived_indices == self._arrived:
                    self._cached_frame = (arrived_indices, frame)
        frame_copy: pd.DataFrame = frame.copy()
        return frame_copy

    def about(self, racer: int) -> Row:
        """Return label, name, order and alpha of a recipe; racer -1: of the class shares, the model of order 0."""
        if racer < 0:
            return {"label": "shares", "name": "class shares", "order": 0, "alpha": None}
        recipe = self.recipes[racer]
        settings = {name: recipe.params.get(name) for name in ("order", "alpha")}
        return {"label": recipe.label, "name": self.names[racer], **settings}

    def _rows_of(self, task: StudyTask, result: Result) -> list[Row]:
        """Return a task's rows, with columns that identify its data, racer and split in front."""
        split = task.split
        columns: Row = {"data": self.datasets[task.data_hash].name, "racer": task.racer, **self.about(task.racer)}
        columns |= {"repeat": split.repeat, "fold": split.fold, "train_share": split.share}
        return [columns | {name: value for name, value in row.items() if name != RELIABILITY} for row in result.rows]

    def accept(self, index: int, result: Result, stop: StopToken, arrival_seconds: float | None = None) -> bool:
        """Add a result and notify waiting threads; return whether it was added, which it is not after `stop`.

        index: of the task. arrival_seconds: seconds since the computing began; None for a stored result.
        """
        with self._changed:
            if stop.stopped:
                return False
            self._results[index] = result
            self._arrived.append(index)
            if arrival_seconds is not None:
                self._seconds[index] = arrival_seconds
            self._changed.notify_all()
            return True

    def _forget_failed(self) -> list[StudyTask]:
        """Remove the failed results; return their tasks."""
        with self._changed:
            failed_indices = [index for index, result in self._results.items() if result.failed]
            for index in failed_indices:
                del self._results[index]
            self._arrived = [index for index in self._arrived if index in self._results]
            self._cached_frame = (None, None)  # the same tasks may arrive again in the same order
        return [self.tasks[index] for index in failed_indices]

    @property
    def _complete(self) -> bool:
        return len(self._results) == len(self.tasks)
