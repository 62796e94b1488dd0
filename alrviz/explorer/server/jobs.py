"""What the registry runs: races as they are, and studies."""

from collections.abc import Sequence
from typing import Any

from alrviz.studies.core.study import Study
from alrviz.studies.race.race import Race


class StudyJob:
    """A study as a job. Unlike a race it can always go on: what was stopped or has failed is paused."""

    activity = ""
    runs: Sequence[Any] = ()
    stopped_at: int | None = None
    entry: Any = None

    def __init__(self, study: Study):
        self.study = study
        self.start = study.start
        self.pause = self.stop = study.stop

    @property
    def ended(self) -> bool:
        """Whether nothing of it is left to compute."""
        return self.study.phase == "done"

    @property
    def phase(self) -> str:
        """One of "running", "done" and "paused"."""
        phase = self.study.phase
        return phase if phase in ("running", "done") else "paused"

    def step(self, count: int = 1) -> None:
        """Start: a study has no steps."""
        self.start()


Schedulable = Race | StudyJob
