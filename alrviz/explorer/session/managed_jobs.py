"""A study as a session sees it: itself, except that going on and stopping goes through the registry.

It has the whole interface of a study, so that a view cannot tell them apart. A study needs no id in a link: the
settings in the link say which it is, in this process by its spec, in any other by the run store.
"""

from typing import Any, cast

from alrviz.explorer.server.jobs import StudyJob
from alrviz.explorer.server.run_queue import Entry
from alrviz.explorer.server.run_registry import Registry
from alrviz.studies.core.study import Study


class ManagedStudy:
    """A study; while it queues, `phase` is "queued". `told` is what else there is to say of it.

    Attributes:
        entry: in the registry.
        study: the study itself.
    """

    def __init__(self, entry: Entry):
        self.entry = entry
        self.start, self.stop = entry.start, entry.stop
        self.study = cast("StudyJob", entry.job).study

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "study":
            raise AttributeError(name)
        return getattr(self.study, name)

    @property
    def phase(self) -> str:
        """The study's phase, or "queued"."""
        return "queued" if self.entry.wanted else self.study.phase

    @property
    def told(self) -> str:
        """Its place in the queue, why the server stopped it, or what keeps finished tasks from being kept."""
        place = self.entry.place
        if place:
            return f"waiting for a free place: number {place} in the queue"
        return self.entry.note or self.study.problem

    def redo(self) -> int:
        """Compute the tasks that failed again; returns how many: none while it is running or waits to."""
        if self.phase in ("running", "queued"):
            return 0
        lost = self.study.forget_failed()
        self.entry.start()
        return lost


def find_study(registry: Registry, owner: str, study: Study) -> Entry | None:
    """Return the owner's entry of the same study, begun in this process; None without one."""

    def same(entry: Entry) -> bool:
        return isinstance(entry.job, StudyJob) and _about(entry.job.study) == _about(study)

    return next(filter(same, registry.entries(owner)), None)


def _about(study: Study) -> tuple[str, str, str]:
    return study.kind, study.spec, study.data_hash
