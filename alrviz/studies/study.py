"""A study: many fits, and a tidy row of figures for each as it finishes.

    study = bias_variance(dataset, recipes)         # nothing has begun
    for row in study.rows(): ...                    # computes, and gives each row as soon as it is there
    study.start(); study.since(cursor); study.stop(); study.start()         # the same on threads of its own
    study.frame(), study.summary()                  # all rows so far, in the cells' order; what follows from them

The frame is the same bit for bit, but for columns whose name ends in "seconds", for any number of workers and whatever
was computed in an earlier sitting. A study that is kept (keep=True) saves every cell as it finishes and takes what is
saved: after a crash, or in a study that shares cells with it, nothing is computed twice.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from alrviz.errors import AlrvizError
from alrviz.fitting.recipe import Recipe
from alrviz.passes.memory import free_memory
from alrviz.passes.threads import available_threads
from alrviz.stop import StopToken
from alrviz.studies.cells import RELIABILITY, Cell, Result, Row
from alrviz.studies.keeping import Keep, Keeping
from alrviz.studies.names import short_names
from alrviz.studies.progress import Progress, progress_of
from alrviz.studies.workers import computed, require_dask

if TYPE_CHECKING:
    import pandas as pd

    from alrviz.data.dataset import Dataset

LOCAL = "local"
Summary = Callable[["Study"], "pd.DataFrame"]


class Study:
    """Cells of tables, and what has come of them; made by the functions of the studies, not by hand.

    Attributes:
        kind: "bias_variance", "choose_order", "compare", "learning_curve" or "path".
        datasets, recipes, cells: what it is about; a cell's `racer` is the place of its recipe.
        names: a short name for each recipe.
        spec: JSON of what was asked for: with the data's hash it is the same study again.
        error: what ended it before its time; None.
    """

    def __init__(
        self,
        kind: str,
        datasets: "Sequence[Dataset]",
        recipes: Sequence[Recipe],
        cells: Sequence[Cell],
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
        self.kind, self.recipes, self.cells = kind, tuple(recipes), tuple(cells)
        self.datasets = {dataset.hash: dataset for dataset in datasets}
        self.names = tuple(short_names(recipes))
        self.spec = json.dumps(
            {**options, "recipes": [recipe.to_json() for recipe in recipes], "max_memory": max_memory}, sort_keys=True
        )
        self.error: Exception | None = None
        self._summary = summary
        self._n_jobs, self._scheduler = n_jobs, scheduler
        self._max_memory = max_memory or _fair_memory()
        self._keeping = Keeping(keep, owner, kind, self.spec, self.data_hash)
        self._results: dict[int, Result] = {}
        self._arrived: list[int] = []
        self._framed: tuple[list[int] | None, Any] = (None, None)  # the latest frame, and the cells it was made of
        self._seconds: dict[int, float] = {}
        self._changed = threading.Condition()
        self._stop = StopToken()
        self._thread: threading.Thread | None = None

    # -- driving ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Compute what is not done, on threads and processes of its own; after a stop, go on."""
        with self._changed:
            if self.phase == "running":
                return
            self._stop, self.error = StopToken(), None
            self._thread = threading.Thread(target=self._drive, args=(self._stop,), name="alrviz-study", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End it at once: no row is added after this returns; cells under way are lost, finished ones are not."""
        with self._changed:
            self._stop.stop()
            self._changed.notify_all()

    def join(self, timeout: float | None = None) -> bool:
        """Wait until it is done, stopped or has failed; returns whether it is."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
        return thread is None or not thread.is_alive()

    def rows(self) -> Iterator[Row]:
        """Start, and yield every row as soon as it is there, those of earlier sittings first.

        Ending the loop early stops the study. Raises what ended the study before its time.
        """
        self.start()
        cursor = 0
        try:
            while True:
                with self._changed:
                    while len(self._arrived) == cursor and self._alive and not self._stop.stopped:
                        self._changed.wait(0.5)
                    cursor, found = self._since(cursor)
                    ended = not found and (not self._alive or self._stop.stopped)
                yield from found
                if ended:
                    break
        finally:
            self.stop()
        if self.error is not None:
            raise self.error

    def run(self) -> "Study":
        """Compute all of it in the calling thread's time; returns the study."""
        for _ in self.rows():
            pass
        return self

    def redo(self) -> int:
        """Forget the cells that failed and start; returns how many are computed again."""
        lost = self.forget_failed()
        self.start()
        return lost

    def forget_failed(self) -> int:
        """Forget the cells that failed, so that they are computed at the next start; returns how many."""
        with self._changed:
            lost = [place for place, result in self._results.items() if result.failed]
            for place in lost:
                del self._results[place]
            self._arrived = [place for place in self._arrived if place in self._results]
            self._framed = (None, None)  # they may arrive again in the same order
        self._keeping.forget([self.cells[place] for place in lost])
        return len(lost)

    def recall(self) -> int:
        """Take the cells that are kept of this very study, and compute none; returns how many there are now."""
        if self.phase == "waiting" and self._keeping.find():
            self._take_saved(StopToken())
        return len(self._results)

    # -- looking ------------------------------------------------------------------------------------------------------

    @property
    def id(self) -> str | None:
        """Of the study in the store, once it has begun; None where it is not kept."""
        return self._keeping.id

    @property
    def dataset(self) -> "Dataset":
        """The first table; most studies have one."""
        return next(iter(self.datasets.values()))

    @property
    def max_memory(self) -> int:
        """Bytes that each fit may take."""
        return self._max_memory

    @property
    def data_hash(self) -> str:
        """Of all its tables together; of one its own."""
        hashes = list(self.datasets)
        return hashes[0] if len(hashes) == 1 else sha256("".join(hashes).encode()).hexdigest()

    @property
    def phase(self) -> str:
        """One of "waiting", "running", "stopped", "done" (some cells may have failed) or "failed"."""
        if self._alive and not self._stop.stopped:
            return "running"
        if self.error is not None:
            return "failed"
        if len(self._results) == len(self.cells):
            return "done"
        return "waiting" if self._thread is None and not self._results else "stopped"

    @property
    def progress(self) -> Progress:
        """How far it is."""
        with self._changed:
            return progress_of(self.cells, self._results, self._seconds)

    def since(self, cursor: int) -> tuple[int, list[Row]]:
        """Return the next cursor, and the rows of the cells that came after `cursor` (0: all), as they came.

        After `redo` begin at 0 again.
        """
        with self._changed:
            return self._since(cursor)

    def results(self) -> list[tuple[Cell, Result]]:
        """Return the cells that are done, in their order, each with what came of it."""
        with self._changed:
            return [(self.cells[place], self._results[place]) for place in sorted(self._results)]

    def frame(self) -> "pd.DataFrame":
        """Return all rows so far, in the order of the cells."""
        import pandas as pd

        with self._changed:
            arrived = list(self._arrived)
        if arrived != self._framed[0]:  # a summary and a verdict ask for it several times
            rows = [row for cell, result in self.results() for row in self._named(cell, result)]
            self._framed = (arrived, pd.DataFrame(rows))
        return self._framed[1].copy()

    def summary(self) -> "pd.DataFrame":
        """Return what follows from the rows so far; what its columns are the function that made the study says."""
        return self._summary(self)

    # -- inside -------------------------------------------------------------------------------------------------------

    @property
    def _alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _since(self, cursor: int) -> tuple[int, list[Row]]:
        new = self._arrived[cursor:]
        rows = [row for place in new for row in self._named(self.cells[place], self._results[place])]
        return cursor + len(new), rows

    def _named(self, cell: Cell, result: Result) -> list[Row]:
        """A cell's rows, with the racer's place, label and name in front, and its split's."""
        split, data = cell.split, self.datasets[cell.data_hash].name
        about: Row = {
            "data": data,
            "racer": cell.racer,
            **self.about(cell.racer),
            "repeat": split.repeat,
            "fold": split.fold,
        }
        flat = [{name: value for name, value in row.items() if name != RELIABILITY} for row in result.rows]
        return [{**about, "train_share": split.share, **row} for row in flat]

    def about(self, racer: int) -> Row:
        """Return label, name, order and alpha of a recipe; -1 is the class shares, the model of order 0."""
        if racer < 0:
            return {"label": "shares", "name": "class shares", "order": 0, "alpha": None}
        recipe = self.recipes[racer]
        params = recipe.params
        return {
            "label": recipe.label,
            "name": self.names[racer],
            "order": params.get("order"),
            "alpha": params.get("alpha"),
        }

    def _drive(self, stop: StopToken) -> None:
        state = "stopped"
        try:
            self._keeping.begin(", ".join(self.names), ", ".join(one.name for one in self.datasets.values()))
            self._take_saved(stop)
            left = [(place, cell) for place, cell in enumerate(self.cells) if place not in self._results]
            if left and not stop.stopped:
                self._compute(left, stop)
            state = "done" if len(self._results) == len(self.cells) else "stopped"
        except Exception as error:  # nobody waits on this thread: whoever looks must find it
            self.error, state = error, "failed"
        finally:
            if self._stop is stop:  # else it was stopped, and goes on already
                self._end(state)
            with self._changed:
                self._changed.notify_all()

    def _compute(self, left: Sequence[tuple[int, Cell]], stop: StopToken) -> None:
        begun = time.monotonic()
        self._seconds = {}
        where: dict[str, Any] = {"n_jobs": self._n_jobs, "scheduler": self._scheduler, "max_memory": self._max_memory}
        for place, result in computed(left, self.datasets, stop=stop, tick=self._keeping.beat, **where):
            self._keeping.save(place, self.cells[place], result)
            self._seconds[place] = time.monotonic() - begun
            self._accept(place, result, stop)

    def _take_saved(self, stop: StopToken) -> None:
        for place, result in self._keeping.taken(self.cells, self._results):
            self._accept(place, result, stop)

    def _accept(self, place: int, result: Result, stop: StopToken) -> None:
        with self._changed:
            if not stop.stopped:
                self._results[place] = result
                self._arrived.append(place)
                self._changed.notify_all()

    def _end(self, state: str) -> None:
        lost = sum(result.failed for result in self._results.values())
        done = f"{len(self._results)} of {len(self.cells)} cells" + (f", {lost} failed" if lost else "")
        try:
            self._keeping.end(state, str(self.error) if self.error else done)
        except AlrvizError as error:
            self.error = self.error or error


def _fair_memory() -> int:
    """Bytes for each fit: half of what is free, shared by as many workers as the machine could run; fixed once."""
    return free_memory() // 2 // available_threads()
