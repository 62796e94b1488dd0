"""A race in the run store: its steps go there while it runs, and come back as a race that can be looked at.

A thread of its own looks every TICK seconds for steps that came, and writes them all in one transaction: the race is
not waited for and does not wait. A process that is killed leaves all but the last seconds.
"""

import json
import logging
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from alrviz import __version__
from alrviz.errors import StoreError, for_page
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.trace import Trace
from alrviz.fitting.solvers.step import STOPPED, Outcome
from alrviz.fitting.store import Store, StoredRun
from alrviz.fitting.store.store import INTERRUPTED, RUNNING
from alrviz.job import Job
from alrviz.stop import StopToken
from alrviz.studies.core.names import short_names
from alrviz.studies.race.race import Race, RecordedRun

KIND = "race"
FIT = "fit"  # of a map: a race of one
TICK = 2.0  # seconds between two looks
_SOON = 0.2  # seconds between two looks at whether it has begun, or ended
_log = logging.getLogger(__name__)


def race_spec(race: Race) -> str:
    """Return what the store knows a race by, beside its table: its recipes."""
    return json.dumps({"recipes": [recipe.to_json() for recipe in race.recipes], "rows": race.dataset.n_rows})


class RaceKeeper:
    """Keeps one race; made with a race that was not started.

    Args:
        race: of `alrviz.race`.
        open_store: returns the store that it goes to, or raises StoreError; called on the thread.
        owner, link, kind: as the store has them.
        id: which the store is to know it by; "" for one that the store makes.

    Attributes:
        id: of the race in the store; "" until it has a step.
        problem: why it is not kept; "".
    """

    def __init__(
        self,
        race: Race,
        open_store: Callable[[], Store],
        owner: str,
        link: str = "",
        tick: float = TICK,
        kind: str = KIND,
        id: str = "",
    ):
        self.id = self.problem = ""
        self._named = id
        self._kind = kind
        self._race, self._open, self._owner, self._link, self._tick = race, open_store, owner, link, tick
        self._cursors = [0] * len(race.runs)
        self._job = Job(self._keep, "alrviz-keeper")
        self._job.start()

    @property
    def stored(self) -> bool:
        """Whether all of it is on disk, and nothing more comes."""
        return bool(self.id) and not self.problem and not self._job.alive

    def join(self, timeout: float | None = None) -> bool:
        """Wait until all of it is kept; returns whether it is."""
        return self._job.join(timeout)

    def _keep(self, stop: StopToken) -> None:
        race = self._race
        try:
            while not any(len(run.trace) for run in race.runs):
                if race.ended:
                    return  # nothing came of it
                stop.rest(_SOON)
            self._store = self._open()
            self._begin()
            ended, waited = False, self._tick
            while not ended:
                ended = race.ended  # before the last steps are taken: after it none comes
                if ended or waited >= self._tick:
                    self._save()
                    waited = 0.0
                if not ended:
                    stop.rest(_SOON)
                    waited += _SOON
            self._end()
        except StoreError as error:
            self.problem = f"the race is not kept: {for_page(error)}"
            _log.warning("the race is not kept: %s", error)
        except Exception as error:  # whatever it is, a race that is not kept says so
            self.problem = f"the race is not kept: {type(error).__name__}: {error}"
            _log.exception("%s", self.problem)

    def _begin(self) -> None:
        race = self._race
        self.id = self._store.begin(
            self._owner, self._kind, race_spec(race), race.dataset.hash, name=", ".join(short_names(race.recipes)),
            data_name=race.dataset.name, version=__version__, link=self._link, id=self._named,
        )  # fmt: skip

    def _save(self) -> None:
        """Keep what is new; without news this is the sign of life."""
        parts = []
        for racer, run in enumerate(self._race.runs):
            steps = run.trace.since(self._cursors[racer])
            parts.append((racer, _about(run), self._cursors[racer], steps))
        self._store.save_traces(self.id, parts)
        for racer, _, first, steps in parts:
            self._cursors[racer] = first + len(steps)

    def _end(self) -> None:
        outcomes = [run.outcome for run in self._race.runs if run.outcome is not None]
        state = STOPPED if any(outcome.code == STOPPED for outcome in outcomes) else "done"
        names = short_names(self._race.recipes)
        words = ", ".join(f"{name}: {outcome.code}" for name, outcome in zip(names, outcomes, strict=True))
        self._store.end(self.id, state, words)
        # Whoever runs the same race again wants the new one: its steps are the same, its seconds are newer.
        spec, data_hash = race_spec(self._race), self._race.dataset.hash
        for kept in self._store.runs(self._owner, self._kind):
            if (kept.spec, kept.data_hash) == (spec, data_hash) and kept.id != self.id and kept.state != RUNNING:
                self._store.delete(self._owner, kept.id)


def _about(run: Any) -> dict[str, Any]:
    """What is no step, as JSON has it."""
    return {
        "rows": run.trace.rows,
        "heldout_rows": run.trace.heldout_rows,
        "baseline": dict(run.trace.baseline),
        "separation": {name: value for name, value in run.separation.items() if math.isfinite(value)},
        "outcome": None if run.outcome is None else [run.outcome.code, run.outcome.sentence],
    }


def read_race(store: Store, kept: StoredRun) -> Race:
    """Return a race as it is kept, ended: whatever would move it does nothing."""
    recipes = [Recipe.from_json(text) for text in json.loads(kept.spec)["recipes"]]
    traces = dict(enumerate(store.traces(kept.id)))
    runs = [_run(recipe, *traces.get(k, ({}, [])), kept.state) for k, recipe in enumerate(recipes)]
    rows = json.loads(kept.spec)["rows"]
    dataset = SimpleNamespace(name=kept.data_name, hash=kept.data_hash, n_rows=rows)
    return Race(dataset, runs, recorded=True)


def _run(recipe: Recipe, about: dict[str, Any], steps: list[Any], state: str) -> RecordedRun:
    trace = Trace()
    trace.rows, trace.heldout_rows = about.get("rows", 0.0), about.get("heldout_rows", 0.0)
    trace.baseline.update(about.get("baseline", {}))
    for step in steps:
        trace.append(step)
    trace.close()
    why = "the process that ran it ended" if state == INTERRUPTED else "stopped on request"
    outcome = Outcome(*(about.get("outcome") or (STOPPED, why)))
    return RecordedRun(recipe, trace, outcome, about.get("separation", {}))
