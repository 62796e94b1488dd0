"""Saving a race in the run store while it runs, and loading it as a recorded race.

A separate thread looks for new steps every TICK_SECONDS seconds and writes them in one transaction, so that race and
disk do not wait for each other. A killed process loses only the last seconds.
"""

import json
import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from alrviz import __version__
from alrviz.errors import StoreError, for_page
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.step import STOPPED
from alrviz.fitting.store import Store, StoredRun
from alrviz.fitting.store.store import INTERRUPTED, RUNNING
from alrviz.job import Job
from alrviz.stop import StopToken
from alrviz.studies.core.names import short_names
from alrviz.studies.race.race import Race, RecordedRun, run_metadata

KIND = "race"
FIT = "fit"  # a map's fit, stored as a race of one
TICK_SECONDS = 2.0  # seconds between two saves
_POLL_SECONDS = 0.2  # between two looks at whether the race has begun, or ended
_log = logging.getLogger(__name__)


def race_spec(race: Race) -> str:
    """Return JSON that identifies a race in the store, together with its table: its recipes."""
    return json.dumps({"recipes": [recipe.to_json() for recipe in race.recipes], "rows": race.dataset.n_rows})


class RaceKeeper:
    """Saves one race; created before the race starts.

    Args:
        race: a race of `alrviz.race`.
        open_store: returns the store, or raises StoreError; called on the keeper's thread.
        owner, link, kind: see `Store.begin`.
        id: the race's id in the store; "" to let the store choose.

    Attributes:
        id: the race's id in the store; "" until it has a step.
        problem: why the race is not saved; "" without a problem.
    """

    def __init__(
        self,
        race: Race,
        open_store: Callable[[], Store],
        owner: str,
        link: str = "",
        tick: float = TICK_SECONDS,
        kind: str = KIND,
        id: str = "",
    ):
        self.id = self.problem = ""
        self._wanted_id = id
        self._kind = kind
        self._race, self._open, self._owner, self._link, self._tick = race, open_store, owner, link, tick
        self._cursors = [0] * len(race.runs)
        self._job = Job(self._keep, "alrviz-keeper")
        self._job.start()

    @property
    def stored(self) -> bool:
        """Whether the race is saved completely."""
        return bool(self.id) and not self.problem and not self._job.alive

    def join(self, timeout: float | None = None) -> bool:
        """Wait until everything is saved, at most `timeout` seconds; return whether it is."""
        return self._job.join(timeout)

    def _keep(self, stop: StopToken) -> None:
        race = self._race
        try:
            while not any(len(run.trace) for run in race.runs):
                if race.ended:
                    return  # it ended without a step
                stop.rest(_POLL_SECONDS)
            self._store = self._open()
            self._begin()
            has_ended, waited = False, self._tick
            while not has_ended:
                has_ended = race.ended  # read before saving: no step comes after it
                if has_ended or waited >= self._tick:
                    self._save()
                    waited = 0.0
                if not has_ended:
                    stop.rest(_POLL_SECONDS)
                    waited += _POLL_SECONDS
            self._end()
        except StoreError as error:
            self.problem = f"the race is not kept: {for_page(error)}"
            _log.warning("the race is not kept: %s", error)
        except Exception as error:  # on this thread nobody would see it: it goes to `problem`
            self.problem = f"the race is not kept: {type(error).__name__}: {error}"
            _log.exception("%s", self.problem)

    def _begin(self) -> None:
        race = self._race
        self.id = self._store.begin(
            self._owner, self._kind, race_spec(race), race.dataset.hash, name=", ".join(short_names(race.recipes)),
            data_name=race.dataset.name, version=__version__, link=self._link, id=self._wanted_id,
        )  # fmt: skip

    def _save(self) -> None:
        """Save new steps; without any it still tells the store that the race is alive."""
        new_traces = []
        for racer, run in enumerate(self._race.runs):
            steps = run.trace.since(self._cursors[racer])
            new_traces.append((racer, run_metadata(run), self._cursors[racer], steps))
        self._store.save_traces(self.id, new_traces)
        for racer, _, n_saved, steps in new_traces:
            self._cursors[racer] = n_saved + len(steps)

    def _end(self) -> None:
        codes = [run.outcome.code for run in self._race.runs if run.outcome is not None]
        names = short_names(self._race.recipes)
        summary = ", ".join(f"{name}: {code}" for name, code in zip(names, codes, strict=True))
        self._store.end(self.id, STOPPED if STOPPED in codes else "done", summary)
        # An earlier run of the same race has the same steps and older seconds: keep only the new one.
        identity = race_spec(self._race), self._race.dataset.hash
        for stored in self._store.runs(self._owner, self._kind):
            if (stored.spec, stored.data_hash) == identity and stored.id != self.id and stored.state != RUNNING:
                self._store.delete(self._owner, stored.id)


def read_race(store: Store, stored: StoredRun) -> Race:
    """Return a race that was run earlier, from the store. It can be looked at but not run: of the table it has name,
    hash and number of rows only.
    """
    recipes = [Recipe.from_json(text) for text in json.loads(stored.spec)["recipes"]]
    traces = dict(enumerate(store.traces(stored.id)))
    runs = [_recorded_run(recipe, *traces.get(k, ({}, [])), stored.state) for k, recipe in enumerate(recipes)]
    n_rows = json.loads(stored.spec)["rows"]
    dataset = SimpleNamespace(name=stored.data_name, hash=stored.data_hash, n_rows=n_rows)
    return Race(dataset, runs, recorded=True)


def _recorded_run(recipe: Recipe, metadata: dict[str, Any], steps: list[Any], state: str) -> RecordedRun:
    reason = "the process that ran it ended" if state == INTERRUPTED else "stopped on request"
    outcome = metadata.get("outcome") or (STOPPED, reason)
    return RecordedRun.of_parts(recipe, {**metadata, "outcome": outcome}, steps)
