"""A race as a session sees it: what a visitor asks of it goes through the registry."""

from typing import Any

from alrviz.explorer.server.registry import Entry, Registry


class ManagedRace:
    """A race as a session sees it: the race itself, except that going on asks the registry.

    It has the race's whole interface, so that a view cannot tell the two apart. While it queues, `phase` is "waiting"
    and `activity` says which place it has.
    """

    def __init__(self, registry: Registry, entry: Entry):
        self.registry = registry
        self.entry = entry

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.entry.race, name)

    @property
    def phase(self) -> str:
        """The race's phase, or "waiting" while it queues; while others have their turn it is "running" still."""
        if self.entry.turned:
            return "running" if any(len(run.trace) for run in self.entry.race.runs) else "preparing"
        return "waiting" if self.entry.wanted else self.entry.race.phase

    @property
    def turn(self) -> int:
        """Its place among those who wait for their turn; 0 while it has it."""
        return self.registry.place(self.entry) if self.entry.turned else 0

    @property
    def activity(self) -> str:
        """What the race is doing, or its place in the queue."""
        place = self.registry.place(self.entry)
        if not place:
            return str(self.entry.race.activity)
        what = "taking turns" if self.entry.turned else "waiting for a free place"
        return f"{what}: number {place} in the queue"

    @property
    def stopped_by(self) -> str:
        """Who stopped it, if it was stopped, as a word for whoever looks on."""
        return self.entry.server_words or "you"

    @property
    def stopped_at(self) -> int | None:
        """Where Stop ended it for whoever looks; it stays so after a reload."""
        return getattr(self.entry.race, "stopped_at", None)

    @stopped_at.setter
    def stopped_at(self, iteration: int | None) -> None:
        self.entry.race.stopped_at = iteration

    def start(self) -> None:
        """Start, or queue."""
        self.registry.start(self.entry)

    resume = start

    def pause(self) -> None:
        """Pause, and give the place to the next in the queue."""
        self.entry.race.pause()
        self.registry.release(self.entry)

    def step(self, count: int = 1) -> None:
        """Take single steps; the first of a race waits for a place, as going on does."""
        self.registry.step(self.entry, count)

    def stop(self) -> None:
        """Stop at once."""
        self.entry.race.stop()
        self.registry.release(self.entry)
