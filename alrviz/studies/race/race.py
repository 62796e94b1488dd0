"""A race: several recipes on one data set, fitted side by side and fairly.

One thread takes one step of one racer at a time, in turn, and each step has all threads of the passes; a racer's clock
counts its own steps only. So curves over seconds can be compared, and no racer is slowed by another.

A race that was run earlier is a `Race` of `RecordedRun`s: traces without fits.
"""

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.stream.table import Stream
from alrviz.errors import AlrvizError
from alrviz.fitting.recipe import Recipe, recipe_list
from alrviz.fitting.runs.trace import Trace
from alrviz.fitting.solvers.step import Outcome
from alrviz.job import Job
from alrviz.stop import StopToken

if TYPE_CHECKING:
    import pandas as pd

    from alrviz.fitting.cost.estimate import Estimate
    from alrviz.fitting.runs.run import Run


_log = logging.getLogger(__name__)


@dataclass(eq=False)
class RecordedRun:
    """One racer of a race that was run earlier; the part of `Run` that is looked at."""

    recipe: Recipe
    trace: Trace
    outcome: Outcome
    separation: Mapping[str, float]
    activity: str = ""
    phase: str = "ended"
    estimate: None = None
    model: None = None
    holdout: None = None

    @property
    def name(self) -> str:
        """One line, as the recipe's name."""
        return self.recipe.name

    def advance(self) -> None:
        """Nothing: it has ended."""

    stop = advance


class Race(Job[None]):
    """Racers on one data set: a job whose turns are one step of every racer; made by `race`.

    Nothing runs until `start` or `step`; nothing moves a race that has ended.

    Args:
        dataset: the table; of a race that was run earlier name, hash and number of rows suffice.
        runs: one for each racer.
        recorded: whether it was run earlier.

    Attributes:
        dataset, runs, recorded: as given; of a race that was run earlier, each run is a `RecordedRun`.
        recipes: one for each racer, as asked for: a run fills in what it chooses.
        stopped_at: the last iteration that was seen when who watched it stopped it, where more was computed; else None.
        entry: in the registry of a server, which knows who owns the race and whose turn it is; else None.
        turn: its place among those who take turns; 0 while it computes. queued: whether it waits for a free place.
        stopped_by: who stopped it, if it was stopped, in a word.

    >>> import alrviz
    >>> recipes = [alrviz.Recipe("lr", order=1), alrviz.Recipe("alr", order=1)]
    >>> racing = alrviz.race(alrviz.load_demo("led"), recipes)
    >>> racing.start()
    >>> racing.join()
    True
    >>> sorted(set(racing.frame()["racer"]))
    [0, 1]
    """

    turn, queued = 0, False
    stopped_by = "you"

    def __init__(self, dataset: Any, runs: "Sequence[Run | RecordedRun]", *, recorded: bool = False):
        super().__init__(self._rounds, "alrviz-race")
        self.dataset, self.recorded = dataset, recorded
        self.runs: tuple[Run, ...] = tuple(runs)  # type: ignore[arg-type]
        self.recipes = tuple(run.recipe for run in self.runs)
        self.stopped_at: int | None = None
        self.entry: Any = None
        if recorded:
            super().stop()  # nothing moves it

    def __repr__(self) -> str:
        names = ", ".join(run.recipe.label for run in self.runs)
        return f"<Race of {names} on {self.dataset.name}: {self.phase}>"

    @property
    def control(self) -> "Race":
        """What to start, pause and stop it by, and ask for its phase, activity and turn: its entry, so that a registry
        decides whose turn it is, or itself.
        """
        control: Race = self if self.entry is None else self.entry
        return control

    def matches(self, recipes: Sequence[Recipe], dataset: Dataset | Stream) -> bool:
        """Return whether it is a race of these recipes on this table."""
        return self.recipes == tuple(recipes) and self.dataset.hash == dataset.hash

    def stop(self) -> None:
        """End every run at once: no step is added after this returns."""
        for run in self.runs:
            run.stop()
        super().stop()

    @property
    def ended(self) -> bool:
        """Whether every racer has an outcome."""
        return all(run.outcome is not None for run in self.runs)

    @property
    def phase(self) -> str:
        """One of "waiting", "preparing", "running", "paused" or "ended"."""
        if self.ended:
            return "ended"
        if not self.started:
            return "waiting"
        if self.paused:
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

    def _rounds(self, stop: StopToken) -> Iterator[None]:
        while True:
            for run in self.runs:
                try:
                    run.advance()
                except AlrvizError:
                    continue  # the run's outcome says it; the others go on
                except Exception:
                    _log.exception("racer %s failed", run.name)
            if self.ended:
                return
            yield


def race(
    dataset: Dataset | Stream,
    recipes: Sequence[Recipe] | Recipe,
    *,
    n_jobs: int | None = None,
    max_memory: int | None = None,
    estimates: "Sequence[Estimate]" = (),
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
    from alrviz.fitting.runs.run import Run  # numba with it: who only looks at a recorded race need not wait for that

    recipes = recipe_list(recipes)
    known: Sequence[Estimate | None] = estimates or [None] * len(recipes)
    return Race(
        dataset,
        [
            Run(dataset, recipe, n_jobs=n_jobs, max_memory=max_memory, estimate=estimate)
            for recipe, estimate in zip(recipes, known, strict=True)
        ],
    )
