"""What the registry runs: races as they are, and studies."""

from collections.abc import Sequence
from typing import Protocol

from alrviz.studies.core.study import Study
from alrviz.studies.race.race_like import RunLike


class Schedulable(Protocol):
    """What is begun, paused and stopped for visitors, on threads of its own.

    Attributes:
        stopped_at: the last iteration that was seen when it was stopped, where more was computed.
        phase: "running" and "paused" are the registry's; any other is its own.
        ended: whether it can not go on.
        runs: what takes memory with every step.
    """

    stopped_at: int | None

    @property
    def phase(self) -> str: ...
    @property
    def ended(self) -> bool: ...
    @property
    def runs(self) -> Sequence[RunLike]: ...
    def start(self) -> None: ...
    def resume(self) -> None: ...
    def pause(self) -> None: ...
    def step(self, count: int = 1) -> None: ...
    def stop(self) -> None: ...


class StudyJob:
    """A study as a job. Unlike a race it can always go on: what was stopped or has failed is paused."""

    runs: Sequence[RunLike] = ()
    stopped_at: int | None = None

    def __init__(self, study: Study):
        self.study = study
        self.start = self.resume = study.start
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
