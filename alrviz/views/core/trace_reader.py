"""A race as a view holds it: what has been read of every trace, and how far the reader has been shown.

`head` is the step shown: an iteration, or before the first a trial of alphas (alpha="auto"). While it follows the race
it moves a little faster the further it lags, so that a race that is over in a blink can still be watched; scrubbing
moves it by hand. A film shows every iteration of a fit that was over sooner than a reader can look. A fit may run far
ahead of what is shown: `limit` ends the race there for whoever looks, where Stop was pressed or where somebody else's
screen is. Nothing here touches Panel or Bokeh.
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
from alrviz.studies.race.heldout import heldout_losses
from alrviz.studies.race.milestones import ABSOLUTE, RELATIVE, RacerSummary, falls_to_zero
from alrviz.studies.race.race import Race, RecordedRun
from alrviz.studies.race.verdict import objective_key

if TYPE_CHECKING:
    from alrviz.fitting.runs.run import Run

# Iterations shown at a tick of 100 ms: at least LEAST, and a share of those not shown yet, so that a thousand take 8 s.
LEAST, SHARE = 2, 1 / 20
# A race that has ended after no more iterations than these is shown at once: its film would be over in a second.
SHORT = 30
# A film of a fit that has ended lasts about so many ticks or more: 3 s.
FILM = 30


class Racer:
    """One run and the columns read from its trace so far, one row a step: row k is iteration k, where alphas were not
    searched for. Trials of alphas stand between iterations 0 and 1, with what iteration 0 has in all other columns.

    columns: views of what is kept, as long as what was read and may be shown (`limit`): a tick of a long race copies no
    more than its new steps.
    limit: the last iteration that may be shown; None where all may.
    tried: how many steps its trace has beside those of the columns: other trial fits before the first iteration. Less
    than 0 where the columns have trials that the trace has not (order="auto": `Run.tried`).
    lowest: the lowest objective read, shown or not: what a gap is measured from stays where it is when Stop is pressed.
    """

    def __init__(self, run: "Run | RecordedRun", name: str):
        self.run = run
        self.name = name
        self.recipe = run.recipe
        self.label = str(run.recipe.label)
        self.key = objective_key(run.recipe)
        self.alpha = run.recipe.params.get("alpha", 0.0)
        self.loss = str(run.recipe.params.get("objective", "nll"))
        self.bounded = run.recipe.params.get("bounds") is not None
        self._kept: dict[str, NDArray[Any]] = {name: np.empty(64, _KINDS.get(name, float)) for name in _FIELDS}
        self.columns: dict[str, NDArray[Any]] = {name: values[:0] for name, values in self._kept.items()}
        self.lowest = float("inf")
        self.tried = 0
        self._read = 0  # steps of the trace
        self._count = 0  # iterations that were read
        self.limit: int | None = None
        self.heldout: Any = None

    def __len__(self) -> int:
        return len(self.columns["index"])

    def pull(self) -> int:
        """Read what the trace has added; returns how many steps that were."""
        added = self.run.trace.since(self._read)
        steps = [step for step in added if step.kind != "search" or _ALPHA in step.extra]
        chosen = self._chosen if steps else {}
        if chosen:  # by trials of other fits, which its trace has not
            begins = steps[:1] if not self._count else []
            trials = [replace(step, kind="search", extra=_named(trial)) for step in begins for trial in self._trials]
            self.tried -= len(trials)
            rest = [replace(step, extra={**step.extra, **chosen}) for step in steps[len(begins) :]]
            steps = [*begins, *trials, *rest]
        self._read += len(added)
        self.tried += sum(step.kind == "search" and _ALPHA not in step.extra for step in added)
        if steps:
            self._keep(steps)
        return len(added)

    def _keep(self, steps: list[Step]) -> None:
        before, after = self._count, self._count + len(steps)
        for name in dict.fromkeys(name for step in steps for name in step.extra):
            if name not in self._kept:
                self._kept[name] = np.full(len(self._kept["index"]), np.nan)
        for name, values in self._kept.items():
            if after > len(values):
                self._kept[name] = values = np.concatenate([values, np.empty(after, values.dtype)])
            values[before:after] = [_of(step, name) for step in steps]
            for k in (before + k for k, step in enumerate(steps) if step.kind == "search" and before + k):
                if np.isnan(values[k]):  # nobody looked: the weights are where they were
                    values[k] = values[k - 1]
        self._count = after
        self.lowest = min([self.lowest, *(step.objective for step in steps if step.objective < self.lowest)])
        self.end_at(self.limit)

    @property
    def _trials(self) -> Sequence[Mapping[str, float]]:
        """What order="auto" has tried; a race that was recorded has not kept it."""
        tried: Sequence[Mapping[str, float]] = getattr(self.run, "tried", ())
        return tried

    @property
    def _chosen(self) -> dict[str, float]:
        """Of order="auto", the alphas that were chosen with the order, as steps name them; {} of any other run."""
        alpha = self.run.recipe.params.get("alpha")
        if not self._trials or _ALPHA not in self._trials[0] or isinstance(alpha, str):
            return {}
        return {f"{ALPHAS}{k}": one for k, one in enumerate(alpha if isinstance(alpha, tuple) else (alpha,), 1)}

    def end_at(self, limit: int | None) -> None:
        """Let nothing be seen of what comes after an iteration; None: all of it."""
        self.limit = limit
        shown = self._count if limit is None else min(self._count, limit + 1)
        self.columns = {name: values[:shown] for name, values in self._kept.items()}

    def shown(self, cut: int) -> dict[str, NDArray[Any]]:
        """The columns of the first steps; with "step" where they are not those of "index"."""
        steps = {"step": np.arange(len(self))} if self.alphas else {}
        return {name: column[:cut] for name, column in (self.columns | steps).items()}

    def trials(self, upto: int | None = None) -> int:
        """How many alphas were tried by a step (None: the last that may be shown)."""
        index = self.columns["index"][: None if upto is None else upto + 1]
        return len(index) - 1 - int(index[-1]) if len(index) else 0

    @property
    def alphas(self) -> list[str]:
        """The columns of the penalty of each order, where they are found by trials."""
        return [name for name in self.columns if name.startswith(ALPHAS)]

    @property
    def cut(self) -> bool:
        """Whether some of what was read may not be shown."""
        return len(self) < self._count

    @property
    def best_lead(self) -> float:
        """The highest share of rows that lead: once is enough to prove what falls to 0, even if it drops later."""
        leads = self.columns.get("lead", ())
        return float(np.nanmax(leads)) if len(leads) and not np.isnan(leads).all() else float("-inf")

    @property
    def outcome(self) -> Outcome | None:
        """How its run ended, as far as it may be shown: of one that went on, that it was stopped there."""
        return _STOPPED_HERE if self.cut and self.run.outcome is not None else self.run.outcome

    @property
    def read(self) -> int:
        """How many iterations were read."""
        return self._count

    @property
    def behind(self) -> bool:
        """Whether its trace has steps that were not read yet."""
        return len(self.run.trace) > self._read

    def lane(self, *, upto: int | None = None, ended: bool = True) -> RacerSummary:
        """What a verdict needs to know, up to an iteration; `ended` False hides an outcome not shown yet."""
        outcome = self.outcome if ended else None
        cut = None if upto is None else upto + 1
        alphas = [self.columns[name][:cut][-1] for name in self.alphas if len(self) and self.columns["index"][:cut][-1]]
        return RacerSummary(
            name=self.name,
            label=self.label,
            frame={name: self.columns[name][:cut] for name in _JUDGED if name in self.columns},
            n_rows=self.run.trace.rows or 1.0,
            outcome=None if outcome is None else outcome.code,
            detail="" if outcome is None else outcome.sentence,
            objective=self.key,
            alpha=self.alpha,
            trials=self.trials(upto),
            alphas=tuple(float(alpha) for alpha in alphas if alpha == alpha),  # of higher orders there may be none
            order=self.run.recipe.params["order"] if alphas and self._chosen else None,
            loss=self.loss,
            bounded=self.bounded,
            heldout=self.heldout,
        )


_numbers = count(1)
_ALPHA = f"{ALPHAS}1"  # in the extra of each trial of alphas and of each step after them
_STOPPED_HERE = Outcome(STOPPED, "what was computed beyond is not shown")
# What milestones and verdicts look at.
_JUDGED = ("index", "passes", "seconds", "objective", "lead", "heldout_log_loss", "heldout_error")
_FIELDS = tuple(name for name in Step.__slots__ if name not in ("kind", "extra"))
_KINDS = {"index": int, "evaluations": int}


def _named(trial: Mapping[str, float]) -> dict[str, float]:
    """What a trial of `Run.tried` has in the extra of a step."""
    return {name: value for name, value in trial.items() if name.startswith(ALPHAS)} | {
        "search_log_loss": trial["log_loss"]
    }


def _of(step: Step, name: str) -> Any:
    return getattr(step, name) if name in _FIELDS else step.extra.get(name, float("nan"))


class RaceReader:
    """The racers of one race and the place of its reader.

    film: whether it is to be seen from the first iteration to the last, however soon the race has ended.
    limit: the last iteration that may be shown, as `end_at` has it.
    """

    def __init__(self, race: Race, film: bool = False, limit: int | None = None):
        self.race, self.film = race, film
        self.number = next(_numbers)  # of all that were made: whoever reports from a browser says which it saw
        self._owed = 0.0  # iterations, in part: what a tick moved less than its pace
        recipes = getattr(race, "recipes", None) or [run.recipe for run in race.runs]  # a run fills in what it chooses
        self.racers = [Racer(run, name) for run, name in zip(race.runs, short_names(recipes), strict=True)]
        self.head = 0
        self.seen = 0
        self.to_zero = False
        self._outcomes: list[Outcome | None] = []
        self.limit: int | None = None
        if limit is not None:
            self.end_at(limit)

    def end_at(self, limit: int | None) -> None:
        """Let the race end at an iteration for whoever looks, -1 before the first; None shows all of it."""
        self.limit = limit
        for racer in self.racers:
            racer.end_at(limit)
        self.to_zero = falls_to_zero([_lead_only(racer) for racer in self.racers])
        self.seen = min(self.seen, max(self.last, 0))
        self.head = min(self.head, self.seen)

    @property
    def cut(self) -> bool:
        """Whether more was read than may be shown."""
        return any(racer.cut for racer in self.racers)

    @property
    def computed(self) -> int:
        """The highest iteration read of any racer, whether it may be shown or not."""
        return max((racer.read for racer in self.racers), default=0) - 1

    @property
    def last(self) -> int:
        """The highest iteration read of any racer."""
        return max((len(racer) for racer in self.racers), default=0) - 1

    @property
    def begun(self) -> bool:
        """Whether every racer has a point, or never will have one."""
        return all(len(racer) or racer.run.outcome is not None for racer in self.racers)

    @property
    def searches(self) -> bool:
        """Whether a racer looks, or looked, for its alphas."""
        return any(racer.alpha == "auto" or racer.alphas for racer in self.racers)

    @property
    def counted(self) -> str:
        """What a place in the race is called: a step, where some racer's trials of alphas are no iterations."""
        return "step" if self.searches else "iteration"

    @property
    def measures(self) -> list[str]:
        """The measures that there are: a gap needs one objective, whose lowest value is not known to be 0."""
        available = {"gap": self.same_objective and not self.to_zero, "alpha": self.searches}
        return [name for name in MEASURES if available.get(name, True)]

    @property
    def same_objective(self) -> bool:
        """Whether all racers minimise the same function."""
        return len({racer.key for racer in self.racers}) <= 1

    @property
    def shown(self) -> bool:
        """Whether everything that was read has been shown, and no more will come."""
        return self.race.ended and self.seen >= self.last and not any(racer.behind for racer in self.racers)

    def pull(self) -> int:
        """Read what the traces have added, and whether NLL falls to 0; an outcome may say so after the last step."""
        new = sum([racer.pull() for racer in self.racers])
        outcomes = [racer.outcome for racer in self.racers]
        if not self.to_zero and (new or outcomes != self._outcomes):
            self._outcomes = outcomes
            self.to_zero = falls_to_zero([_lead_only(racer) for racer in self.racers])
        return new

    def follow(self, speed: float = 1.0, again: bool = False) -> bool:
        """Move the head toward the end of what was read; returns whether it moved.

        speed: how many times faster than usual. again: whether what has been seen is played once more, as a film is.
        """
        behind = self.last - self.head
        if behind <= 0:
            return False
        if self.film or again:
            share = behind * SHARE  # an iteration or less, of a long one more while much is left
            pace = share if share > LEAST else min(1.0, self.last / FILM) if self.race.ended else 1.0
        elif self.race.ended and self.last <= SHORT and speed >= 1:
            pace = float(behind)
        else:
            pace = max(LEAST, int(behind * SHARE))
        self._owed += speed * pace
        due = int(self._owed)
        self._owed -= due
        self.move(self.head + due)
        return due > 0

    def move(self, head: int) -> None:
        """Put the head at an iteration, within what was read."""
        self.head = min(max(head, 0), max(self.last, 0))
        self.seen = max(self.seen, self.head)

    def at(self, racer: Racer, column: str) -> float:
        """A racer's value at the head, or at its own end if that came earlier; NaN where there is none."""
        values = racer.columns.get(column, ())
        return float(values[min(self.head, len(values) - 1)]) if len(values) else float("nan")

    def curves(self) -> list[RacerCurve]:
        """What the picture is to draw: up to the head, and faintly what was seen beyond it."""
        best = self._best()
        cut = self.seen + 1
        return [
            RacerCurve(
                name=racer.name,
                label=racer.label,
                columns=racer.shown(cut),
                rows=racer.run.trace.rows or 1.0,
                best=best[racer.key],
                upto=self.head if self.head < self.seen else None,
            )
            for racer in self.racers
        ]

    def _best(self) -> dict[Any, float]:
        """The lowest value read of every objective."""
        best: dict[Any, float] = {}
        for racer in self.racers:
            best[racer.key] = min(best.get(racer.key, float("inf")), racer.lowest)
        return best

    def levels(self) -> dict[str, float]:
        """The grey lines: class prior, AnJE (where all racers have one order), and the milestones of one objective."""
        levels: dict[str, float] = {}
        orders = {racer.recipe.params.get("order") for racer in self.racers}
        for racer in self.racers:
            levels.update(racer.run.trace.baseline)
        if len(orders) > 1:
            levels = {name: value for name, value in levels.items() if not name.endswith("anje")}
        if self.to_zero:
            levels |= {f"zero_{k}": level for k, level in enumerate(ABSOLUTE)}
        elif self.same_objective and self.racers:
            best = next(iter(self._best().values())) / (self.racers[0].run.trace.rows or 1.0)
            levels |= {f"milestone_{k}": level * best for k, level in enumerate(RELATIVE)}
        return levels


def _lead_only(racer: Racer) -> RacerSummary:
    """The part of a lane that says whether NLL falls to 0, cheap enough for every tick."""
    outcome = racer.outcome
    code = None if outcome is None else outcome.code
    return RacerSummary(
        name=racer.name,
        label=racer.label,
        frame={"lead": (racer.best_lead,)},
        n_rows=1.0,
        alpha=racer.alpha,
        bounded=racer.bounded,
        outcome=code,
    )


_log = logging.getLogger(__name__)


def score_heldout(watched: RaceReader) -> LatestJob:
    """Begin to score the test rows of a race that has ended one by one: only they can tell a tie from a lead.

    What says a tie has to be said anew once that is done.
    """

    def work(stop: StopToken) -> None:
        for racer in watched.racers:
            stop.check()
            racer.heldout = heldout_losses(racer.run)

    def failed(error: Exception) -> None:  # the race is shown all the same; only its sentence cannot tell a tie
        _log.error("the test rows could not be scored", exc_info=error)

    task = LatestJob("test rows")
    task.run(work, lambda _: None, failed)
    return task
