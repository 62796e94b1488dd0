"""A race: several recipes fitted side by side to one data set, under equal conditions.

One thread lets each racer take one step in turn, and each step has all threads of the passes. A racer's clock counts
its own steps only, so curves over seconds can be compared and no racer slows another.

A race that was run earlier is a `Race` of `RecordedRun`s: traces without fits.
"""

import logging
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from alrviz.data.dataset import Dataset, require_dataset
from alrviz.data.stream.table import Stream
from alrviz.errors import AlrvizError
from alrviz.fitting.recipe import Recipe, recipe_list
from alrviz.fitting.runs.trace import Trace
from alrviz.fitting.solvers.step import Outcome, Step
from alrviz.job import Job
from alrviz.stop import StopToken

if TYPE_CHECKING:
    import pandas as pd

    from alrviz.fitting.cost.estimate import Estimate
    from alrviz.fitting.runs.run import Run


_log = logging.getLogger(__name__)


@dataclass(eq=False)
class RecordedRun:
    """One racer of a race that was run earlier, with those attributes of `Run` that pages show."""

    recipe: Recipe
    trace: Trace
    outcome: Outcome
    separation: Mapping[str, float]
    activity: str = ""
    phase: str = "ended"
    estimate: None = None
    model: None = None
    holdout: None = None

    @classmethod
    def of_parts(cls, recipe: Recipe, metadata: Mapping[str, Any], steps: Iterable[Step]) -> "RecordedRun":
        """Return the run of a recipe, the metadata that `run_metadata` returned, and steps."""
        trace = Trace()
        trace.rows, trace.heldout_rows = metadata.get("rows", 0.0), metadata.get("heldout_rows", 0.0)
        trace.baseline.update(metadata.get("baseline", {}))
        for step in steps:
            trace.append(step)
        trace.close()
        return cls(recipe, trace, Outcome(*metadata["outcome"]), metadata.get("separation", {}))

    @property
    def name(self) -> str:
        """One line: the recipe's name."""
        return self.recipe.name

    def advance(self) -> None:
        """Do nothing: the run has ended."""

    stop = advance


def run_metadata(run: Any) -> dict[str, Any]:
    """Return the facts on a run beside its recipe and its steps, in JSON types; outcome: None while it runs."""
    return {
        "rows": run.trace.rows,
        "heldout_rows": run.trace.heldout_rows,
        "baseline": dict(run.trace.baseline),
        "separation": {name: value for name, value in run.separation.items() if math.isfinite(value)},
        "outcome": None if run.outcome is None else [run.outcome.code, run.outcome.sentence],
    }


class Race(Job[None]):
    """Racers on one data set: a job whose turns are one step of every racer; made by `race`.

    Nothing runs until `start` or `step`; a race that has ended stays as it is.

    Args:
        dataset: the table; for a recorded race, an object with its name, hash and number of rows.
        runs: one for each racer.
        recorded: whether the race was run earlier.

    Attributes:
        dataset, runs, recorded: see Args; those of a recorded race are of class `RecordedRun`.
        recipes: one for each racer, before the run filled in what it chooses.
        stopped_at: the last iteration that the viewer saw when stopping, if more were computed; else None.
        entry: its entry in a server's registry, which knows its owner and whose turn it is; else None.
        turn: place in the queue of races; 0 while it computes.
        stopped_by: who stopped it ("you"), for the verdict.

    >>> import alrviz
    >>> recipes = [alrviz.Recipe(family, order=1, alpha=1, penalty="phi") for family in ("lr", "alr")]
    >>> racing = alrviz.race(alrviz.load_demo("led"), recipes)
    >>> racing.start()
    >>> racing.join()
    True
    >>> sorted(set(racing.frame()["racer"]))
    [0, 1]
    """

    turn = 0
    stopped_by = "you"

    def __init__(self, dataset: Any, runs: "Sequence[Run | RecordedRun]", *, recorded: bool = False):
        super().__init__(self._rounds, "alrviz-race")
        self.dataset, self.recorded = dataset, recorded
        self.runs: tuple[Run, ...] = tuple(runs)  # type: ignore[arg-type]
        self.recipes = tuple(run.recipe for run in self.runs)
        self.stopped_at: int | None = None
        self.entry: Any = None
        if recorded:
            super().stop()  # so that `start` and `step` do nothing

    def __repr__(self) -> str:
        names = ", ".join(run.recipe.label for run in self.runs)
        return f"<Race of {names} on {self.dataset.name}: {self.phase}>"

    @property
    def control(self) -> "Race":
        """The object to start, pause and stop, which knows phase and turn: the registry's entry, or itself."""
        control: Race = self if self.entry is None else self.entry
        return control

    def matches(self, recipes: Sequence[Recipe], dataset: Dataset | Stream) -> bool:
        """Return whether this is a race of these recipes on this data set."""
        return self.recipes == tuple(recipes) and self.dataset.hash == dataset.hash

    def stop(self) -> None:
        """Stop every run at once: no step is added after this returns."""
        for run in self.runs:
            run.stop()
        super().stop()

    @property
    def ended(self) -> bool:
        """Whether every racer has an outcome."""
        return all(run.outcome is not None for run in self.runs)

    @property
    def phase(self) -> str:
        """The state of the race: "waiting", "preparing", "running", "paused" or "ended"."""
        if self.ended:
            return "ended"
        if not self.started:
            return "waiting"
        if self.paused:
            return "paused"
        return "running" if any(len(run.trace) for run in self.runs) else "preparing"

    @property
    def activity(self) -> str:
        """Activity of the first racer that has no step yet."""
        return next((run.activity for run in self.runs if run.outcome is None and not len(run.trace)), "fitting")

    def frame(self) -> "pd.DataFrame":
        """Return the rows of all traces: racer (its index), label, name, then the columns of `Trace.frame`."""
        import pandas as pd

        frames = []
        for racer_index, run in enumerate(self.runs):
            frame = run.trace.frame()
            frame.insert(0, "racer", racer_index)
            frame.insert(1, "label", run.recipe.label)
            frame.insert(2, "name", run.name)
            frames.append(frame)
        nonempty_frames = [frame for frame in frames if len(frame)]
        return pd.concat(nonempty_frames, ignore_index=True) if nonempty_frames else frames[0]

    def _rounds(self, stop: StopToken) -> Iterator[None]:
        while True:
            for run in self.runs:
                try:
                    run.advance()
                except AlrvizError:
                    continue  # the error is in the run's outcome
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
    """Return a race of `recipes` on `dataset`; it has not started.

    Racers share the split, and encoding and counts as far as these agree.

    Args:
        dataset: the table; if it is read in batches (`open_table`) a racer's step is a pass.
        recipes: one for each racer, or a single one.
        n_jobs: threads for the passes; None for all.
        max_memory: bytes each fit may take; None: half of the free memory at its start.
        estimates: of the racers for this number of threads, if they exist already; () to make them at the start.

    Raises:
        RecipeError: without recipes, or for families that cannot learn from a table read in batches.
        TableError: if `dataset` is no data set.

    >>> import alrviz
    >>> recipes = [alrviz.Recipe(family, order=1, alpha=1, penalty="phi") for family in ("lr", "alr")]
    >>> racing = alrviz.race(alrviz.load_demo("led"), recipes)
    >>> [run.recipe.family for run in racing.runs]
    ['lr', 'alr']
    """
    if not isinstance(dataset, Stream):
        require_dataset(dataset)
    from alrviz.fitting.runs.run import Run  # imports numba, which viewers of a recorded race need not wait for

    recipes = recipe_list(recipes)
    optional_estimates: Sequence[Estimate | None] = estimates or [None] * len(recipes)
    return Race(
        dataset,
        [
            Run(dataset, recipe, n_jobs=n_jobs, max_memory=max_memory, estimate=estimate)
            for recipe, estimate in zip(recipes, optional_estimates, strict=True)
        ],
    )
