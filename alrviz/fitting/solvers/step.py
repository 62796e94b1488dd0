"""Reports of a solver: a `Step` per iteration, and an `Outcome` at the end."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Step:
    """One point of a fit.

    Counts and seconds are cumulative since the start point, which is step 0.

    Attributes:
        index: Iteration number; 0 is the start point, and trial fits before the first iteration.
        kind: "inner" (the weights moved), "outer" (parameters of the features moved) or "search" (a trial fit).
        evaluations: How often the objective was evaluated, trials of a line search included.
        passes: Sweeps over all rows; a forward (scores) and a scatter (gradient) sweep are half a pass each.
        seconds: Solver time. Compiling, encoding, counting, held-out scoring and reporting are not in it.
        objective: F = NLL + penalty.
        nll: Sum over the training rows of -log p(y|x), nats; times the row weights, if any.
        penalty: alpha times the squared distance from the center.
        grad_norm: Euclidean norm of dF/dw.
        step_size: Length of the step along the solver's direction, in units of that direction; 0 if unknown.
        extra: Further numbers by name: scores on training and held-out rows, norms.

    >>> import alrviz
    >>> run = alrviz.Run(alrviz.load_demo("led"), alrviz.Recipe("alr", order=1, alpha=1, max_iter=3))
    >>> run.start()
    >>> run.join()
    True
    >>> [step.index for step in run.trace]
    [0, 1, 2, 3]
    """

    index: int
    kind: str
    evaluations: int
    passes: float
    seconds: float
    objective: float
    nll: float
    penalty: float
    grad_norm: float
    step_size: float
    extra: Mapping[str, float] = field(default_factory=dict)


CONVERGED = "converged"
STEP_LIMIT = "step limit"
SEPARATED = "separated"
STOPPED = "stopped"
DIVERGED = "diverged"
FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Why a run ended: a code ("converged", "step limit", "separated", "stopped", "diverged" or "failed") and a
    sentence for the reader.

    >>> import alrviz
    >>> run = alrviz.Run(alrviz.load_demo("led"), alrviz.Recipe("lr", order=1, alpha=0.3, max_iter=3))
    >>> run.start()
    >>> run.join()
    True
    >>> run.outcome.code
    'step limit'
    """

    code: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.code}: {self.sentence}"
