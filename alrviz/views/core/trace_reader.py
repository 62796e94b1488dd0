"""Read the traces of a race, and keep the step that is shown (`head`).

A step is an iteration or, before the first one, a trial of alphas (alpha="auto"). While the head follows the race it
moves faster the further it lags, so that even a race that ends at once can be watched; the slider moves it too. A film
shows every iteration. A fit may be far ahead of the head, so `limit` hides later steps: where Stop was pressed, or
where the screen is that a spectator follows. Nothing here touches Panel or Bokeh.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from alrviz.fitting.solvers.step import STOPPED, Outcome, Step
from alrviz.job import LatestJob
from alrviz.pictures.convergence import RacerCurve
from alrviz.pictures.measures import ALPHAS, MEASURES
from alrviz.stop import StopToken
from alrviz.studies.core.names import short_names
from alrviz.studies.race.milestones import ABSOLUTE_GOALS, RELATIVE_GOALS, RacerSummary, falls_to_zero, heldout_losses
from alrviz.studies.race.race import Race, RecordedRun
from alrviz.studies.race.verdict import objective_key

if TYPE_CHECKING:
    from alrviz.fitting.runs.run import Run

# Iterations shown per tick of 100 ms: the minimum, or a share of those not shown yet. A thousand take 8 s.
MIN_ITERATIONS_PER_TICK, SHARE_PER_TICK = 2, 1 / 20
MAX_UNPLAYED_ITERATIONS = 30  # an ended race this short is shown at once; its animation would last a second
FILM_TICKS = 30  # minimum length of the film of an ended fit: 3 s


class Racer:
    """One run and the columns read from its trace, one row per step.

    Row k is iteration k unless alphas were searched for. Trials of alphas are rows between iterations 0 and 1, which
    repeat the values of iteration 0 in all other columns.

    Attributes:
        columns: values of the steps that were read and may be shown; views of growing buffers, so that a tick of a long
            race copies only its new steps.
        limit: last iteration that may be shown; None for all.
        n_read: number of rows read, shown or not.
        trial_fits: number of steps of the trace that are not in the columns: trial fits before the first iteration.
            Negative if the columns have trials that the trace has not (order="auto": `Run.trials`).
        lowest: lowest objective read, even beyond `limit`, so that gaps do not change when Stop is pressed.
    """

    def __init__(self, run: "Run | RecordedRun", name: str):
        self.run = run
        self.name = name
        self.recipe = run.recipe
        self.label = str(run.recipe.label)
        self.key = objective_key(run.recipe)
        self.alpha = run.recipe.params.get("alpha", 0.0)
        self.bounded = run.recipe.params.get("bounds") is not None
        self._buffers: dict[str, NDArray[Any]] = {
            name: np.empty(64, _FIELD_TYPES.get(name, float)) for name in _STEP_FIELDS
        }
        self.columns: dict[str, NDArray[Any]] = {name: values[:0] for name, values in self._buffers.items()}
        self.lowest = float("inf")
        self.trial_fits = 0
        self._read = 0  # steps of the trace that were read
        self.n_read = 0
        self.limit: int | None = None
        self.heldout: Any = None

    def __len__(self) -> int:
        return len(self.columns["index"])

    def pull(self) -> int:
        """Read new steps of the trace; return their number."""
        new_steps = self.run.trace.since(self._read)
        steps = [step for step in new_steps if step.kind != "search" or _FIRST_ALPHA in step.extra]
        chosen_alphas = self._chosen_alphas if steps else {}
        if chosen_alphas:  # found by other fits, whose trials are not in the trace
            first_step = steps[:1] if not self.n_read else []
            trial_steps = [
                replace(step, kind="search", extra=_search_extra(trial))
                for step in first_step
                for trial in self._trials
            ]
            self.trial_fits -= len(trial_steps)
            later_steps = [replace(step, extra={**step.extra, **chosen_alphas}) for step in steps[len(first_step) :]]
            steps = [*first_step, *trial_steps, *later_steps]
        self._read += len(new_steps)
        self.trial_fits += sum(step.kind == "search" and _FIRST_ALPHA not in step.extra for step in new_steps)
        if steps:
            self._append(steps)
        return len(new_steps)

    def _append(self, steps: list[Step]) -> None:
        first, stop = self.n_read, self.n_read + len(steps)
        for name in dict.fromkeys(name for step in steps for name in step.extra):
            if name not in self._buffers:
                self._buffers[name] = np.full(len(self._buffers["index"]), np.nan)
        for name, buffer in self._buffers.items():
            if stop > len(buffer):
                self._buffers[name] = buffer = np.concatenate([buffer, np.empty(stop, buffer.dtype)])
            is_field = name in _STEP_FIELDS
            buffer[first:stop] = [getattr(step, name) if is_field else step.extra.get(name, np.nan) for step in steps]
            for row in (first + row for row, step in enumerate(steps) if step.kind == "search" and first + row):
                if np.isnan(buffer[row]):  # not measured; the weights have not changed
                    buffer[row] = buffer[row - 1]
        self.n_read = stop
        self.lowest = min([self.lowest, *(step.objective for step in steps if step.objective < self.lowest)])
        self.end_at(self.limit)

    @property
    def _trials(self) -> Sequence[Mapping[str, float]]:
        """Trials of order="auto"; recorded races do not contain them."""
        trials: Sequence[Mapping[str, float]] = getattr(self.run, "trials", ())
        return trials

    @property
    def _chosen_alphas(self) -> dict[str, float]:
        """Alphas chosen together with the order (order="auto"), by column; {} for other runs."""
        alpha = self.run.recipe.params.get("alpha")
        if not self._trials or _FIRST_ALPHA not in self._trials[0] or isinstance(alpha, str):
            return {}
        return {f"{ALPHAS}{k}": value for k, value in enumerate(alpha if isinstance(alpha, tuple) else (alpha,), 1)}

    def end_at(self, limit: int | None) -> None:
        """Hide steps after iteration `limit`; None shows all."""
        self.limit = limit
        length = self.n_read if limit is None else min(self.n_read, limit + 1)
        self.columns = {name: values[:length] for name, values in self._buffers.items()}

    def trials(self, upto: int | None = None) -> int:
        """Return the number of alphas tried up to step `upto`; None for the last that may be shown."""
        iteration_by_step = self.columns["index"][: None if upto is None else upto + 1]
        return len(iteration_by_step) - 1 - int(iteration_by_step[-1]) if len(iteration_by_step) else 0

    @property
    def alphas(self) -> list[str]:
        """Names of the columns with the penalties of each order, if they are searched for."""
        return [name for name in self.columns if name.startswith(ALPHAS)]

    @property
    def cut(self) -> bool:
        """Whether `limit` hides steps that were read."""
        return len(self) < self.n_read

    @property
    def outcome(self) -> Outcome | None:
        """How the run ended; "stopped" if it ended beyond `limit`."""
        return _STOPPED_EARLIER if self.cut and self.run.outcome is not None else self.run.outcome

    @property
    def has_unread_steps(self) -> bool:
        """Whether the trace has steps that were not read yet."""
        return len(self.run.trace) > self._read

    def summary(self, *, upto: int | None = None, ended: bool = True) -> RacerSummary:
        """Return the data for a verdict at step `upto` (None: the last); `ended=False` hides the outcome."""
        outcome = self.outcome if ended else None
        end = None if upto is None else upto + 1
        alphas = [self.columns[name][:end][-1] for name in self.alphas if len(self) and self.columns["index"][:end][-1]]
        return RacerSummary(
            name=self.name,
            label=self.label,
            frame={name: self.columns[name][:end] for name in _SUMMARY_COLUMNS if name in self.columns},
            n_rows=self.run.trace.rows or 1.0,
            outcome=None if outcome is None else outcome.code,
            detail="" if outcome is None else outcome.sentence,
            objective=self.key,
            alpha=self.alpha,
            trials=self.trials(upto),
            alphas=tuple(float(alpha) for alpha in alphas if alpha == alpha),  # NaN if an order has none yet
            order=self.run.recipe.params["order"] if alphas and self._chosen_alphas else None,
            loss=str(self.recipe.params.get("objective", "nll")),
            bounded=self.bounded,
            heldout=self.heldout,
        )


_reader_numbers = count(1)
_FIRST_ALPHA = f"{ALPHAS}1"  # in the extra of each trial of alphas and of each step after them
_STOPPED_EARLIER = Outcome(STOPPED, "later steps are hidden")
# Columns for milestones and verdicts.
_SUMMARY_COLUMNS = ("index", "passes", "seconds", "objective", "lead", "heldout_log_loss", "heldout_error")
_STEP_FIELDS = tuple(name for name in Step.__slots__ if name not in ("kind", "extra"))
_FIELD_TYPES = {"index": int, "evaluations": int}


def _search_extra(trial: Mapping[str, float]) -> dict[str, float]:
    """Return the `extra` of a step for a trial of `Run.trials`."""
    return {name: value for name, value in trial.items() if name.startswith(ALPHAS)} | {
        "search_log_loss": trial["log_loss"]
    }


def value_at(racer: Racer, column: str, step: int) -> float:
    """Return a racer's value in a column at a step, or at its last step if that is earlier; NaN if it has none."""
    column_values = racer.columns.get(column, ())
    return float(column_values[min(step, len(column_values) - 1)]) if len(column_values) else float("nan")


class RaceReader:
    """The racers of a race and the step that is shown.

    Args:
        race: the race.
        film: whether to play every iteration, even if the race ended quickly.
        limit: the last iteration that may be shown; -1: none, None: all.

    Attributes:
        head: the step shown.
        last_shown: the furthest step that was shown.
        to_zero: whether NLL falls to 0, so that milestones are absolute and there is no gap to show.
        number: identifies the reader in a browser's reports.
    """

    def __init__(self, race: Race, film: bool = False, limit: int | None = None):
        self.race, self.film = race, film
        self.number = next(_reader_numbers)
        self._owed = 0.0  # fraction of an iteration carried over to the next tick
        recipes = getattr(race, "recipes", None) or [run.recipe for run in race.runs]  # runs replace "auto" settings
        self.racers = [Racer(run, name) for run, name in zip(race.runs, short_names(recipes), strict=True)]
        self.head = 0
        self.last_shown = 0
        self.to_zero = False
        self._outcomes: list[Outcome | None] = []  # for which `to_zero` was computed
        self.limit: int | None = None
        if limit is not None:
            self.end_at(limit)

    def end_at(self, limit: int | None) -> None:
        """Hide steps after iteration `limit`, -1 for all; None shows all of them."""
        self.limit = limit
        for racer in self.racers:
            racer.end_at(limit)
        self.to_zero = falls_to_zero(racer.summary() for racer in self.racers)
        self.last_shown = min(self.last_shown, max(self.last, 0))
        self.head = min(self.head, self.last_shown)

    def stop_at(self, limit: int | None) -> None:
        """Hide steps after iteration `limit`, also for readers that open the race later; None shows all of them."""
        self.end_at(limit)
        self.race.stopped_at = limit if self.cut else None

    @property
    def cut(self) -> bool:
        """Whether `limit` hides steps that were read."""
        return any(racer.cut for racer in self.racers)

    @property
    def computed(self) -> int:
        """The last step read of any racer, hidden or not."""
        return max((racer.n_read for racer in self.racers), default=0) - 1

    @property
    def last(self) -> int:
        """The last step of any racer that may be shown."""
        return max((len(racer) for racer in self.racers), default=0) - 1

    @property
    def has_begun(self) -> bool:
        """Whether every racer has a step, or has ended without one."""
        return all(len(racer) or racer.run.outcome is not None for racer in self.racers)

    @property
    def searches(self) -> bool:
        """Whether any racer searches, or searched, for its alphas."""
        return any(racer.alpha == "auto" or racer.alphas for racer in self.racers)

    @property
    def step_name(self) -> str:
        """Name of a row: "iteration", or "step" if some rows are trials of alphas."""
        return "step" if self.searches else "iteration"

    @property
    def measures(self) -> list[str]:
        """The available measures: a gap needs a common objective whose minimum is not 0."""
        is_available = {"gap": self.same_objective and not self.to_zero, "alpha": self.searches}
        return [name for name in MEASURES if is_available.get(name, True)]

    @property
    def same_objective(self) -> bool:
        """Whether all racers minimise the same objective."""
        return len({racer.key for racer in self.racers}) <= 1

    @property
    def is_finished(self) -> bool:
        """Whether the race has ended and all of it was shown."""
        all_shown = self.last_shown >= self.last and not any(racer.has_unread_steps for racer in self.racers)
        return self.race.ended and all_shown

    def pull(self) -> int:
        """Read new steps and outcomes, and update `to_zero`; return the number of steps."""
        n_new = sum([racer.pull() for racer in self.racers])
        outcomes = [racer.outcome for racer in self.racers]
        if not self.to_zero and (n_new or outcomes != self._outcomes):  # a summary reads the whole trace
            self._outcomes = outcomes
            self.to_zero = falls_to_zero(racer.summary() for racer in self.racers)
        return n_new

    def follow(self, speed: float = 1.0, replay: bool = False) -> bool:
        """Move the head toward the last step; return whether it moved.

        Args:
            speed: factor of the usual speed.
            replay: whether steps shown before are played again at the pace of a film.
        """
        remaining = self.last - self.head
        if remaining <= 0:
            return False
        if self.film or replay:
            catch_up_pace = remaining * SHARE_PER_TICK
            film_pace = min(1.0, self.last / FILM_TICKS) if self.race.ended else 1.0
            pace = catch_up_pace if catch_up_pace > MIN_ITERATIONS_PER_TICK else film_pace
        elif self.race.ended and self.last <= MAX_UNPLAYED_ITERATIONS and speed >= 1:
            pace = float(remaining)
        else:
            pace = max(MIN_ITERATIONS_PER_TICK, int(remaining * SHARE_PER_TICK))
        self._owed += speed * pace
        due_iterations = int(self._owed)
        self._owed -= due_iterations
        self.move(self.head + due_iterations)
        return due_iterations > 0

    def move(self, head: int) -> None:
        """Set the head, limited to steps that may be shown."""
        self.head = min(max(head, 0), max(self.last, 0))
        self.last_shown = max(self.last_shown, self.head)

    def curves(self) -> list[RacerCurve]:
        """Curves of the picture: up to the head, and faintly up to the furthest step shown."""
        best, curves = self._best(), []
        for racer in self.racers:
            step_column = {"step": np.arange(len(racer))} if racer.alphas else {}  # rows that are no iterations
            columns = {name: column[: self.last_shown + 1] for name, column in (racer.columns | step_column).items()}
            rows, upto = racer.run.trace.rows or 1.0, self.head if self.head < self.last_shown else None
            curve = RacerCurve(
                name=racer.name, label=racer.label, columns=columns, rows=rows, best=best[racer.key], upto=upto
            )
            curves.append(curve)
        return curves

    def _best(self) -> dict[Any, float]:
        """The lowest value of every objective."""
        best_by_objective: dict[Any, float] = {}
        for racer in self.racers:
            best_by_objective[racer.key] = min(best_by_objective.get(racer.key, float("inf")), racer.lowest)
        return best_by_objective

    def levels(self) -> dict[str, float]:
        """Heights of the grey lines: class shares, AnJE (if orders agree) and milestones (if objectives agree)."""
        height_by_key: dict[str, float] = {}
        orders = {racer.recipe.params.get("order") for racer in self.racers}
        for racer in self.racers:
            height_by_key.update(racer.run.trace.baseline)
        if len(orders) > 1:
            height_by_key = {name: value for name, value in height_by_key.items() if not name.endswith("anje")}
        if self.to_zero:
            height_by_key |= {f"zero_{k}": level for k, level in enumerate(ABSOLUTE_GOALS)}
        elif self.same_objective and self.racers:
            best_per_row = next(iter(self._best().values())) / (self.racers[0].run.trace.rows or 1.0)
            height_by_key |= {f"milestone_{k}": level * best_per_row for k, level in enumerate(RELATIVE_GOALS)}
        return height_by_key


_log = logging.getLogger(__name__)


def score_heldout(reader: RaceReader) -> LatestJob:
    """Start to compute each test row's loss for all racers of an ended race, which the test for ties needs.

    The caller updates the verdict when the job is done.
    """

    def work(stop: StopToken) -> None:
        for racer in reader.racers:
            stop.check()
            racer.heldout = heldout_losses(racer.run)

    def log_error(error: Exception) -> None:  # only the verdict's test for ties is missing
        _log.error("the test rows could not be scored", exc_info=error)

    task = LatestJob("test rows")
    task.run(work, lambda _: None, log_error)
    return task
