"""Studies of the process: begun on a page, gone on with when the page was left, found again by what they are about.

A study is an entry of the registry as a race is, under the same caps and the same rule that what nobody looks at is
stopped. Unlike a race it can always go on: to the registry a stopped one is paused. It needs no id in a link: the
settings in the link say which study it is, in this process by its spec, in any other by the run store.
"""

import logging
from typing import Any

from alrviz.errors import AlrvizError
from alrviz.explorer.server.registry import Entry, Registry
from alrviz.fitting.home import home
from alrviz.fitting.store import Store, default_store

_log = logging.getLogger(__name__)


class StudyJob:
    """A study as the registry drives it: the interface of a race."""

    turns = 6.0  # to pause ends the fits under way, and processes are started anew
    too_large = ("the workers of this study need", "a lower order or a smaller table")

    def __init__(self, study: Any):
        self.study = study
        self.start = self.resume = study.start
        self.pause = self.stop = study.stop

    @property
    def ended(self) -> bool:
        """Whether nothing of it is left to compute."""
        return bool(self.study.phase == "done")

    @property
    def phase(self) -> str:
        """One of "running", "done" and "paused": what was stopped or has failed may go on."""
        phase = self.study.phase
        return phase if phase in ("running", "done") else "paused"


class ManagedStudy:
    """A study as a page and its view see it: the study itself, except that going on asks the registry.

    While it queues, `phase` is "queued". `told` is what else there is to say of it.
    """

    def __init__(self, registry: Registry, entry: Entry):
        self.registry, self.entry = registry, entry

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.entry.race.study, name)

    @property
    def phase(self) -> str:
        """The study's phase, or "queued"."""
        return "queued" if self.entry.wanted else self.entry.race.study.phase

    @property
    def told(self) -> str:
        """Its place in the queue, why the server stopped it, or what keeps finished cells from being kept."""
        place = self.registry.place(self.entry)
        if place:
            return f"waiting for a free place: number {place} in the queue"
        return self.entry.note or getattr(self.entry.race.study, "problem", "")

    def start(self) -> None:
        """Start or go on, or queue."""
        self.registry.start(self.entry)

    def stop(self) -> None:
        """Stop at once."""
        self.entry.race.stop()
        self.registry.release(self.entry)

    def redo(self) -> int:
        """Compute the cells that failed again; returns how many: none while it is running or waits to."""
        if self.phase in ("running", "queued"):
            return 0
        lost: int = self.entry.race.study.forget_failed()
        self.registry.start(self.entry)
        return lost


def find_study(registry: Registry, owner: str, study: Any) -> Entry | None:
    """Return the owner's entry of the same study, begun in this process; None without one."""
    asked = _about(study)
    mine = (entry for entry in registry.entries(owner) if isinstance(entry.race, StudyJob))
    return next((entry for entry in mine if _about(entry.race.study) == asked), None)


def _about(study: Any) -> tuple[str, str, str]:
    return study.kind, study.spec, study.data_hash


def kept_where() -> "Store | bool":
    """Return the run store that finished cells go to; False where it cannot be opened: studies work without."""
    try:
        return default_store(home())
    except AlrvizError as error:
        _log.warning("finished cells of studies are not kept: %s", error)
        return False
