"""The runs that a session shows: its race, the run of a map, and its studies.

Races and studies are added to the registry, which schedules them and holds them when the visitor reloads the page. A
new run replaces the one shown before, which is stopped unless the visitor chose to let it continue.
"""

from collections.abc import Callable
from typing import cast

import param

from alrviz.data.stream.table import Stream
from alrviz.errors import AlrvizError
from alrviz.explorer.server.run_queue import Entry
from alrviz.explorer.server.run_registry import Registry
from alrviz.explorer.server.run_store import open_run_store
from alrviz.explorer.session.state import State, write_link
from alrviz.fitting.recipe import Recipe
from alrviz.studies.core.study import Study
from alrviz.studies.race.race import Race
from alrviz.studies.race.race_store import FIT, KIND, RaceKeeper

SELECTION = "selection"


class SessionRuns(param.Parameterized):
    """The runs of one session.

    Args:
        registry: the process's runs.
        owner: the visitor's id.
        state: returns the session's state, whose link is stored with each run.

    Attributes:
        studies: entries of the studies shown, by kind, and of the run of a selection (`SELECTION`).
        missing_race: id of a race in the link that this process does not have; the run store may have it.
    """

    entry: "Entry | None" = param.Parameter(default=None, doc="The race shown.")
    map_entry: "Entry | None" = param.Parameter(default=None, doc="The run of the map shown.")
    asking = param.Boolean(default=False, doc="Whether a lesson's question is open: nothing runs before its answer.")

    def __init__(self, registry: Registry, owner: str, state: Callable[[], State]):
        super().__init__()
        self._registry, self._owner, self._state = registry, owner, state
        self.studies: dict[str, Entry] = {}
        self.missing_race = ""

    @property
    def race(self) -> Race | None:
        """The race shown; None without one."""
        return None if self.entry is None else cast(Race, self.entry.job)

    @property
    def map_race(self) -> Race | None:
        """The run of the map shown; None without one."""
        return None if self.map_entry is None else cast(Race, self.map_entry.job)

    @property
    def entries(self) -> list[Entry]:
        """Entries of all runs shown."""
        return [entry for entry in (self.entry, self.map_entry, *self.studies.values()) if entry is not None]

    @property
    def busy(self) -> bool:
        """Whether a run shown is computing or queued."""
        return any(entry.under_way or entry.in_queue for entry in self.entries)

    # ---- links ---------------------------------------------------------------------------------------------------

    def open(self, state: State) -> None:
        """Show the runs of a link's state; stop those that no page shows any more."""
        previous_entries = self.entries
        self.map_entry = self._registry.find(state.fit, self._owner)
        self.studies.clear()
        self.open_race(state)
        for entry in previous_entries:
            if entry not in self.entries and not entry.screens:
                self._stop_replaced(entry)

    def open_race(self, state: State) -> None:
        """Show the race of a link's state."""
        self.entry = self._registry.find(state.run, self._owner) if state.run else None
        self.missing_race = state.run if self.entry is None else ""

    # ---- races ---------------------------------------------------------------------------------------------------

    def adopt(self, race: Race, kind: str = KIND, *, bytes: int = 0, threads: int = 1) -> Race:
        """Replace the race shown: add a race to the registry, and save it to the run store while it runs.

        Its `entry` starts and stops it.

        Args:
            race: not started yet.
            kind: `KIND`, a race; `FIT`, the run of a map; `SELECTION`, the run whose selected tuples are shown, over a
                table larger than memory.
            bytes: estimated memory.
            threads: number of threads of its passes.

        Raises:
            CapReached: if the race exceeds the server's limits.
        """
        replaced = self.entry if kind == KIND else self.map_entry if kind == FIT else self.studies.get(SELECTION)
        entry = self._add_job(race, replaced, bytes, threads)
        if kind == KIND:
            self.entry = entry
            if replaced is not None and not replaced.keep:
                self._registry.transfer_link(replaced, entry)
        elif kind == FIT:
            self.map_entry = entry
        else:
            self.studies[SELECTION] = entry
        link = self._settings_link(**({"recipes": race.recipes} if kind == KIND else {}))
        stored_as = KIND if kind == KIND else FIT
        entry.keeper = RaceKeeper(race, open_run_store, self._owner, link, kind=stored_as, id=entry.id)
        return race

    def find_selection(self, dataset: Stream, recipe: Recipe) -> Race | None:
        """Return this process's run of a recipe on all rows of a table; None without one."""
        for entry in reversed(self._registry.entries(self._owner)):
            race = entry.job
            # Stopping a selection must not stop the race of Convergence.
            if isinstance(race, Race) and entry is not self.entry and race.matches((recipe,), dataset):
                self.studies[SELECTION] = entry
                return race
        return None

    # ---- studies -------------------------------------------------------------------------------------------------

    def find_study(self, study: Study) -> Study | None:
        """Return this process's study with the same settings and table; None without one.

        It becomes the study shown of its kind, unless another one is still computing or queued.
        """
        entry = self._entry_of(study)
        if entry is None:
            return None
        shown_study = self.studies.get(study.kind, entry)
        if shown_study is entry or not (shown_study.under_way or shown_study.in_queue):
            self.studies[study.kind] = entry
        return cast(Study, entry.job)

    def adopt_study(self, study: Study, *, bytes: int = 0, threads: int = 1) -> Study:
        """Replace the study shown of this kind: add a study to the registry, or show an equal one of this process."""
        replaced, entry = self.studies.get(study.kind), self._entry_of(study)
        if entry is None:
            study.link = self._settings_link()
            entry = self._add_job(study, replaced, bytes, threads)
        elif replaced is not entry:
            self._stop_replaced(replaced)
        self.studies[study.kind] = entry
        return cast(Study, entry.job)

    def _entry_of(self, study: Study) -> Entry | None:
        """Return this process's entry of a study with the same settings and table; None without one."""
        for entry in self._registry.entries(self._owner):
            job = entry.job
            # Studies are found by their settings, so links need no id of a study.
            if isinstance(job, Study) and (job.kind, job.spec, job.data_hash) == (
                study.kind, study.spec, study.data_hash
            ):  # fmt: skip
                return entry
        return None

    # ---- registry --------------------------------------------------------------------------------------------------

    def _settings_link(self, **changes: object) -> str:
        return write_link(self._state().replace(fit="", run="", stored_race="", **changes))

    def _add_job(self, job: Race | Study, replaced: Entry | None, bytes: int, threads: int) -> Entry:
        """Add a job to the registry and stop the one that it replaces, unless that one is to continue."""
        if self.asking:
            raise AlrvizError("the lesson's question is still open; answer it, then press Run")
        entry = self._registry.add(job, self._owner, bytes=bytes, threads=threads)
        self._stop_replaced(replaced)
        return entry

    @staticmethod
    def _stop_replaced(replaced: Entry | None) -> None:
        if replaced is not None and not replaced.keep and not replaced.job.ended:
            replaced.stop()
