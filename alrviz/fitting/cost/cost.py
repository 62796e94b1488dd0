"""`Cost`: the resources that work takes, as a value that adds up."""

from dataclasses import dataclass, replace

from alrviz.passes.cost_model import seconds_on_this_machine


@dataclass(frozen=True)
class Cost:
    """The resources of a pass, a fit or a study.

    Attributes:
        parameters: of the model; of all models that are in memory together.
        bytes: memory at the peak.
        seconds: 0 if they are not known.
        passes: passes over the rows (a loss and its gradient) in these seconds; 0 if the work has no passes, or its
            seconds are not known.

    >>> counting, step = Cost(bytes=800, seconds=0.5), Cost(parameters=10, bytes=1000, seconds=0.1, passes=1)
    >>> counting + 20 * step
    Cost(parameters=10, bytes=1000, seconds=2.5, passes=20)
    >>> (counting + 20 * step).shared_by(2)
    Cost(parameters=10, bytes=2000, seconds=1.25, passes=20)
    >>> step.alongside(step).bytes
    2000
    """

    parameters: int = 0
    bytes: int = 0
    seconds: float = 0.0
    passes: float = 0

    def __add__(self, later: "Cost") -> "Cost":
        """Return the cost of this work and a later one, one after the other; the memory of the larger one serves
        both.
        """
        return Cost(
            max(self.parameters, later.parameters),
            max(self.bytes, later.bytes),
            self.seconds + later.seconds,
            self.passes + later.passes,
        )

    def __rmul__(self, times: float) -> "Cost":
        """Return the cost of doing this `times` times, one after the other."""
        return replace(self, seconds=times * self.seconds, passes=times * self.passes)

    def alongside(self, second: "Cost") -> "Cost":
        """Return the cost of this and a second work, in memory at the same time, taking turns on the same
        processors.
        """
        total = self + second
        return replace(total, parameters=self.parameters + second.parameters, bytes=self.bytes + second.bytes)

    def shared_by(self, n_processes: int) -> "Cost":
        """Return the cost of this work spread over processes: each takes the memory, and a part of the seconds."""
        return replace(self, bytes=n_processes * self.bytes, seconds=self.seconds / n_processes)


def calibrate(cost: Cost, n_classes: int, n_jobs: int | None = None) -> Cost:
    """Return the cost with seconds of this machine on n_jobs threads (None: all).

    Given are those of one thread of the reference machine. The first call in a process times a small pass with
    `n_classes`: 10 ms, plus the time to compile it.
    """
    if not cost.passes:
        return cost
    pass_seconds = seconds_on_this_machine(cost.seconds / cost.passes, n_jobs, n_classes)
    return replace(cost, seconds=cost.passes * pass_seconds)
