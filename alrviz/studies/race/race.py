"""A race: several recipes on one data set, fitted side by side and fairly.

One thread takes one step of one racer at a time, in turn, and each step has all threads of the passes; a racer's clock
counts its own steps only. So curves over seconds can be compared, and no racer is slowed by another.
"""

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.stream.table import Stream
from alrviz.errors import AlrvizError
from alrviz.fitting.cost.estimate import Estimate
from alrviz.fitting.recipe import Recipe, recipe_list
from alrviz.fitting.runs.run import Run
from alrviz.fitting.runs.worker import Driven, Worker

if TYPE_CHECKING:
    import pandas as pd


_log = logging.getLogger(__name__)


class Race(Driven):
    """Racers on one data set; made by `race`, nothing runs until `start` or `step`.

    Attributes:
        dataset: the table.
        recipes: one per racer.
        runs: one `Run` per racer, in the same order.
        stopped_at: the last iteration that was seen when who watched it stopped it, where more was computed; else None.

    >>> import alrviz
    >>> recipes = [alrviz.Recipe("lr", order=1), alrviz.Recipe("alr", order=1)]
    >>> racing = alrviz.race(alrviz.load_demo("led"), recipes)
    >>> racing.start()
    >>> racing.join()
    True
    >>> sorted(set(racing.frame()["racer"]))
    [0, 1]
    """

    recorded = False  # computed now, by nobody's turns; what a page makes of a race may say otherwise
    turn = 0
    stopped_by = "you"

    def __init__(
        self,
        dataset: Dataset | Stream,
        recipes: Sequence[Recipe],
        *,
        n_jobs: int | None = None,
        max_memory: int | None = None,
        estimates: Sequence[Estimate] = (),
    ):
        self.dataset = dataset
        self.recipes = tuple(recipes)
        self.stopped_at: int | None = None
        known: Sequence[Estimate | None] = estimates or [None] * len(self.recipes)
        self.runs = tuple(
            Run(dataset, recipe, n_jobs=n_jobs, max_memory=max_memory, estimate=estimate)
            for recipe, estimate in zip(self.recipes, known, strict=True)
        )
        self._worker = Worker(self._round, "alrviz-race")

    def __repr__(self) -> str:
        names = ", ".join(run.recipe.label for run in self.runs)
        return f"<Race of {names} on {self.dataset.name}: {self.phase}>"

    def stop(self) -> None:
        """End every run at once: no step is added after this returns."""
        for run in self.runs:
            run.stop()
        self._worker.stop()

    @property
    def ended(self) -> bool:
        """Whether every racer has an outcome."""
        return all(run.outcome is not None for run in self.runs)

    @property
    def phase(self) -> str:
        """One of "waiting", "preparing", "running", "paused" or "ended"."""
        if self.ended:
            return "ended"
        if not self._worker.started:
            return "waiting"
        if self._worker.paused:
            return "paused"
        return "running" if any(len(run.trace) for run in self.runs) else "preparing"

    @property
    def activity(self) -> str:
        """What the first racer that has no step yet is doing."""
        return next((run.activity for run in self.runs if run.outcome is None and not len(run.trace)), "fitting")

    def frame(self) -> "pd.DataFrame":
        """Return the tidy rows of all traces: racer (its number), label, name, then the columns of `Trace.frame`."""
        import pandas as pd

        frames = []
        for number, run in enumerate(self.runs):
            frame = run.trace.frame()
            frame.insert(0, "racer", number)
            frame.insert(1, "label", run.recipe.label)
            frame.insert(2, "name", run.name)
            frames.append(frame)
        filled = [frame for frame in frames if len(frame)]
        return pd.concat(filled, ignore_index=True) if filled else frames[0]

    def _round(self) -> bool:
        for run in self.runs:
            try:
                run.advance()
            except AlrvizError:
                continue  # the run's outcome says it; the others go on
            except Exception:
                _log.exception("racer %s failed", run.name)
        return not self.ended


def race(
    dataset: Dataset | Stream,
    recipes: Sequence[Recipe] | Recipe,
    *,
    n_jobs: int | None = None,
    max_memory: int | None = None,
    estimates: Sequence[Estimate] = (),
) -> Race:
    """Return a race of `recipes` on `dataset`; nothing is started.

    Racers share what they have in common: the split, the encoding, the counts.

    Args:
        dataset: the table; of one read in batches (`open_table`) racers' steps are passes.
        recipes: one for each racer, or one alone.
        n_jobs: threads for the passes; None for all.
        max_memory: bytes each fit may take; None for half of what is free when it starts.
        estimates: of the racers on so many threads, where these were made beforehand; () to make them at the start.

    Raises:
        RecipeError: without any recipe; of families that are not fitted in passes, where the table is read in batches.
        TableError: of what is no data set.

    >>> import alrviz
    >>> recipes = [alrviz.Recipe("lr", order=1), alrviz.Recipe("alr", order=1)]
    >>> racing = alrviz.race(alrviz.load_demo("led"), recipes)
    >>> [run.recipe.family for run in racing.runs]
    ['lr', 'alr']
    """
    if not isinstance(dataset, Stream):
        require_dataset(dataset)
    return Race(dataset, recipe_list(recipes), n_jobs=n_jobs, max_memory=max_memory, estimates=estimates)
