"""The runs that a session shows: its race, the run behind a map, and its studies.

Races and studies are handed to the registry, which decides when they run and keeps them when the visitor reloads the
page. A new run takes the place of the one shown before, which is stopped unless the visitor chose to let it continue.
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
    """See the module's text.

    Args:
        registry: runs them. owner: the visitor's id.
        state: returns what the session's link holds; stored runs are found by it.

    Attributes:
        studies: entries of the studies that pages show, by kind, and of the run of a selection.
        lost: id of the race that a link asks for and that this process does not have; the run store may have it.
    """

    entry: "Entry | None" = param.Parameter(default=None, doc="The race shown.")
    fit: "Entry | None" = param.Parameter(default=None, doc="The run of the map shown.")
    asking = param.Boolean(default=False, doc="Whether a lesson's question is open: nothing runs before its answer.")

    def __init__(self, registry: Registry, owner: str, state: Callable[[], State]):
        super().__init__()
        self._registry, self._owner, self._state = registry, owner, state
        self.studies: dict[str, Entry] = {}
        self.lost = ""

    @property
    def race(self) -> Race | None:
        """The race shown; None without one."""
        return None if self.entry is None else cast(Race, self.entry.job)

    @property
    def fitted(self) -> Race | None:
        """The run of the map shown; None without one."""
        return None if self.fit is None else cast(Race, self.fit.job)

    @property
    def entries(self) -> list[Entry]:
        """Everything that is shown."""
        return [entry for entry in (self.entry, self.fit, *self.studies.values()) if entry is not None]

    @property
    def busy(self) -> bool:
        """Whether one of them is running or waits for its turn."""
        return any(entry.under_way or entry.wanted for entry in self.entries)

    # ---- links ---------------------------------------------------------------------------------------------------

    def open(self, state: State) -> None:
        """Show the runs that a link asks for; stop those that nobody sees any more."""
        before = self.entries
        self.fit = self._registry.find(state.fit, self._owner)
        self.studies.clear()
        self.open_race(state)
        for entry in before:
            if entry not in self.entries and not entry.screens:
                self._put_away(entry)

    def open_race(self, state: State) -> None:
        """Show the race that a link asks for."""
        self.entry = self._registry.find(state.run, self._owner) if state.run else None
        self.lost = state.run if self.entry is None else ""

    # ---- races ---------------------------------------------------------------------------------------------------

    def adopt(self, race: Race, kind: str = KIND, *, bytes: int = 0, threads: int = 1) -> Race:
        """Add a race to the registry in place of the one shown, and save it to the run store while it runs.

        From now on its `entry` starts and stops it.

        Args:
            race: not started yet.
            kind: `KIND`, a race; `FIT`, the run of a map; `SELECTION`, the run over a table larger than memory whose
                tuples are shown.
            bytes: its estimated memory.
            threads: that its passes use.

        Raises:
            CapReached: the server could never hold it.
        """
        before = self.entry if kind == KIND else self.fit if kind == FIT else self.studies.get(SELECTION)
        entry = self._add(race, before, bytes, threads)
        if kind == KIND:
            self.entry = entry
            if before is not None and not before.keep:
                self._registry.hand_on(before, entry)
        elif kind == FIT:
            self.fit = entry
        else:
            self.studies[SELECTION] = entry
        link = self._settings_link(**({"recipes": race.recipes} if kind == KIND else {}))
        stored_as = KIND if kind == KIND else FIT
        entry.keeper = RaceKeeper(race, open_run_store, self._owner, link, kind=stored_as, id=entry.id)
        return race

    def find_selection(self, dataset: Stream, recipe: Recipe) -> Race | None:
        """Return the run of this process that fits a recipe to all rows of a table; None without one."""
        for entry in reversed(self._registry.entries(self._owner)):
            race = entry.job  # Convergence's own race is not stopped with a selection
            if isinstance(race, Race) and entry is not self.entry and race.matches((recipe,), dataset):
                self.studies[SELECTION] = entry
                return race
        return None

    # ---- studies -------------------------------------------------------------------------------------------------

    def find_study(self, study: Study) -> Study | None:
        """Return the study of this process with the same settings and table; None without one.

        It becomes the one shown of its kind, unless another is still under way: that one stays until Run replaces it.
        """
        entry = self._entry_of(study)
        if entry is None:
            return None
        before = self.studies.get(study.kind, entry)
        if before is entry or not (before.under_way or before.wanted):
            self.studies[study.kind] = entry
        return cast(Study, entry.job)

    def adopt_study(self, study: Study, *, bytes: int = 0, threads: int = 1) -> Study:
        """Hand a study to the registry in place of the one of its kind shown before.

        If the process has a study with the same settings and table, that one is shown.
        """
        before, entry = self.studies.get(study.kind), self._entry_of(study)
        if entry is None:
            study.link = self._settings_link()
            entry = self._add(study, before, bytes, threads)
        elif before is not entry:
            self._put_away(before)
        self.studies[study.kind] = entry
        return cast(Study, entry.job)

    def _entry_of(self, study: Study) -> Entry | None:
        """Return the entry of the same study, begun in this process; None without one."""
        for entry in self._registry.entries(self._owner):
            job = entry.job
            # A link needs no id of a study: its settings say which it is.
            if isinstance(job, Study) and (job.kind, job.spec, job.data_hash) == (
                study.kind, study.spec, study.data_hash
            ):  # fmt: skip
                return entry
        return None

    # ---- registry --------------------------------------------------------------------------------------------------

    def _settings_link(self, **changes: object) -> str:
        return write_link(self._state().replace(fit="", run="", kept="", **changes))

    def _add(self, job: Race | Study, before: Entry | None, bytes: int, threads: int) -> Entry:
        """Add a job to the registry and stop the one shown before it, unless that was to continue."""
        if self.asking:
            raise AlrvizError("the lesson's question is still open: answer it, then Run is free")
        entry = self._registry.add(job, self._owner, bytes=bytes, threads=threads)
        self._put_away(before)
        return entry

    @staticmethod
    def _put_away(before: Entry | None) -> None:
        if before is not None and not before.keep and not before.job.ended:
            before.stop()
