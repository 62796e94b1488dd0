"""Races and studies as a session sees them: themselves, except that going on and stopping goes through the registry.

They have the whole interface of a race or a study, so that a view cannot tell them apart. A study needs no id in a
link: the settings in the link say which it is, in this process by its spec, in any other by the run store.
"""

from typing import Any, cast

from alrviz.explorer.server.jobs import StudyJob
from alrviz.explorer.server.run_registry import Entry, Registry
from alrviz.studies.core.study import Study
from alrviz.studies.race.race_like import RaceLike


class _Managed:
    """What both have; what is managed is `_itself`."""

    _itself: Any

    def __init__(self, registry: Registry, entry: Entry):
        self.registry, self.entry = registry, entry

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._itself, name)

    def start(self) -> None:
        """Start or go on, or queue."""
        self.registry.start(self.entry)

    def stop(self) -> None:
        """Stop at once."""
        self.entry.job.stop()
        self.registry.release(self.entry)


class ManagedRace(_Managed):
    """A race; while it queues, `phase` is "waiting" and `activity` says which place it has.

    Attributes:
        race: the race itself.
    """

    def __init__(self, registry: Registry, entry: Entry):
        super().__init__(registry, entry)
        self.race = self._itself = cast("RaceLike", entry.job)

    @property
    def phase(self) -> str:
        """The race's phase, or "waiting" while it queues; while others have their turn it is "running" still."""
        if self.entry.turned:
            return "running" if any(len(run.trace) for run in self.race.runs) else "preparing"
        return "waiting" if self.entry.wanted else self.race.phase

    @property
    def turn(self) -> int:
        """Its place among those who wait for their turn; 0 while it has it."""
        return self.registry.place(self.entry) if self.entry.turned else 0

    @property
    def activity(self) -> str:
        """What the race is doing, or its place in the queue."""
        place = self.registry.place(self.entry)
        if not place:
            return self.race.activity
        what = "taking turns" if self.entry.turned else "waiting for a free place"
        return f"{what}: number {place} in the queue"

    @property
    def stopped_by(self) -> str:
        """Who stopped it, if it was stopped, as a word for whoever looks on."""
        return self.entry.server_words or "you"

    @property
    def stopped_at(self) -> int | None:
        """Where Stop ended it for whoever looks; it stays so after a reload."""
        return self.race.stopped_at

    @stopped_at.setter
    def stopped_at(self, iteration: int | None) -> None:
        self.race.stopped_at = iteration

    resume = _Managed.start

    def pause(self) -> None:
        """Pause, and give the place to the next in the queue."""
        self.race.pause()
        self.registry.release(self.entry)

    def step(self, count: int = 1) -> None:
        """Take single steps; the first of a race waits for a place, as going on does."""
        self.registry.step(self.entry, count)


class ManagedStudy(_Managed):
    """A study; while it queues, `phase` is "queued". `told` is what else there is to say of it.

    Attributes:
        study: the study itself.
    """

    def __init__(self, registry: Registry, entry: Entry):
        super().__init__(registry, entry)
        self.study = self._itself = cast("StudyJob", entry.job).study

    @property
    def phase(self) -> str:
        """The study's phase, or "queued"."""
        return "queued" if self.entry.wanted else self.study.phase

    @property
    def told(self) -> str:
        """Its place in the queue, why the server stopped it, or what keeps finished tasks from being kept."""
        place = self.registry.place(self.entry)
        if place:
            return f"waiting for a free place: number {place} in the queue"
        return self.entry.note or self.study.problem

    def redo(self) -> int:
        """Compute the tasks that failed again; returns how many: none while it is running or waits to."""
        if self.phase in ("running", "queued"):
            return 0
        lost = self.study.forget_failed()
        self.registry.start(self.entry)
        return lost


def find_study(registry: Registry, owner: str, study: Study) -> Entry | None:
    """Return the owner's entry of the same study, begun in this process; None without one."""

    def same(entry: Entry) -> bool:
        return isinstance(entry.job, StudyJob) and _about(entry.job.study) == _about(study)

    return next(filter(same, registry.entries(owner)), None)


def _about(study: Study) -> tuple[str, str, str]:
    return study.kind, study.spec, study.data_hash
