"""Milestones: how many iterations a racer needs to come near the best known objective.

With F* the lowest objective that any racer with the same objective has reached, a racer's milestones are its first
steps with

    F <= F* (1 + 1 %)     and     F <= F* (1 + 0.1 %).

If the racers can fit the training rows perfectly (no penalty, and some model ranks every row's own class first) F* is 0
and is never reached; the milestones are then F / N <= 1e-2 and 1e-4. They are counted in iterations, passes and
seconds. An iteration is a step of the solver: one forward and one scatter pass for lbfgs, cg and gd, as many passes as
it takes for tron.

A `RacerSummary` holds one racer. Its `frame` has a row for each step with the columns of `Step` (or is a mapping of
these columns, as live views ask ten times a second); `n_rows` is N, the total row weight.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

RELATIVE_GOALS = (0.01, 0.001)
ABSOLUTE_GOALS = (1e-2, 1e-4)
UNITS = {"iterations": "index", "passes": "passes", "seconds": "seconds"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RacerSummary:
    """The facts on one racer from which sentences on a race are made.

    Attributes:
        name: the racer in sentences.
        label: its family's label.
        frame: a row for each step, or its columns by name.
        n_rows: total training weight.
        outcome, detail: code of its outcome, None while it runs, and the outcome's sentence.
        objective: equal for racers that minimise the same function.
        alpha: strength of the penalty.
        trials, alphas: for alpha="auto" the number of trials, and the penalty of each order at the last step.
        order: the order chosen for order="auto".
        loss: loss part of the objective, "nll" or another.
        bounded: whether the weights have bounds.
        heldout: log loss of each test row (nats) at the last step; None if it is not known.
    """

    name: str
    label: str
    frame: pd.DataFrame | Mapping[str, Any]
    n_rows: float
    outcome: str | None = None
    detail: str = ""
    objective: Hashable = None
    alpha: float = 0.0
    trials: int = 0
    alphas: tuple[float, ...] = ()
    order: int | None = None
    loss: str = "nll"
    bounded: bool = False
    heldout: np.ndarray | None = field(default=None, repr=False)

    @property
    def iterations(self) -> int:
        """Index of the last step."""
        return int(self.values_of("index")[-1])

    @property
    def last(self) -> float:
        """Last objective per row, in nats."""
        return float(self.values_of("objective")[-1]) / self.n_rows

    @property
    def best(self) -> float:
        """Lowest finite objective (not per row); infinite without any."""
        finite_objectives = self.values_of("objective")
        finite_objectives = finite_objectives[np.isfinite(finite_objectives)]
        return float(finite_objectives.min()) if len(finite_objectives) else float("inf")

    def last_of(self, column: str) -> float:
        """Return the last value of a column; NaN if the frame has no such column or no step."""
        return float("nan") if column not in self.frame or self.empty else float(self.values_of(column)[-1])

    @property
    def empty(self) -> bool:
        """Whether there is no step yet."""
        return not len(self.frame["index"])

    def values_of(self, column: str) -> np.ndarray:
        """Return a column of the frame as floats (steps,)."""
        return np.asarray(self.frame[column], float)


@dataclass(frozen=True, slots=True, kw_only=True)
class Milestones:
    """The goals of one objective, and when each racer reached them.

    to_zero: whether the objective has no minimum above 0. best: F* (not per row). goals: the two values of F to fall
    below, and `goal_texts` for them. met: by racer's name, for each goal a mapping of unit to count, None if it was not
    reached. unit: the unit of `at`, a key of `UNITS`.
    """

    to_zero: bool
    best: float
    goals: tuple[float, ...]
    goal_texts: tuple[str, ...]
    counts_by_racer: Mapping[str, tuple[Mapping[str, float] | None, ...]]
    unit: str = "iterations"

    def count_at(self, name: str, goal: int, unit: str = "") -> float | None:
        """Return the count at which the racer `name` reached a goal (its index); None if it did not.

        It is in `unit`, a key of `UNITS`, or in the milestones' own.
        """
        count_by_unit = self.counts_by_racer[name][goal]
        return None if count_by_unit is None else count_by_unit[unit or self.unit]


def falls_to_zero(racers: Iterable[RacerSummary]) -> bool:
    """Return whether the training rows can be fitted perfectly: then larger weights send the loss to 0.

    A single model that ranks the class of every row strictly first proves it for every racer with the same objective,
    as its weights can be scaled up, unless they are bounded.
    """
    return any(
        racer.alpha == 0
        and not racer.bounded
        and (racer.outcome == "separated" or ("lead" in racer.frame and (racer.values_of("lead") >= 1.0).any()))
        for racer in racers
    )


def objective_noun(racers: Iterable[RacerSummary]) -> str:
    """Return the name of these racers' objective, which includes the penalty if any of them has one."""
    return "training loss" if all(racer.alpha == 0 for racer in racers) else "penalised training loss"


def _first_step(racer: RacerSummary, goal: float) -> dict[str, float] | None:
    reached = np.flatnonzero(racer.values_of("objective") <= goal)
    return (
        {unit: float(racer.values_of(column)[reached[0]]) for unit, column in UNITS.items()} if len(reached) else None
    )


def milestones(racers: Sequence[RacerSummary], unit: str = "iterations") -> Milestones:
    """Return when each racer of one objective first came near its best known value; unit: a key of `UNITS`."""
    best_objective = min((racer.best for racer in racers), default=float("inf"))
    to_zero = falls_to_zero(racers)
    noun = objective_noun(racers)
    n_rows = racers[0].n_rows if racers else 1.0
    if to_zero:
        goals = tuple(n_rows * goal_level for goal_level in ABSOLUTE_GOALS)
        goal_texts = tuple(f"{noun} per row ≤ {text}" for text in ("0.01", "0.0001"))
    else:
        goals = tuple(best_objective * (1 + goal_level) for goal_level in RELATIVE_GOALS)
        goal_texts = tuple(f"within {100 * goal_level:g} % of the lowest {noun}" for goal_level in RELATIVE_GOALS)
    counts = {racer.name: tuple(_first_step(racer, goal) for goal in goals) for racer in racers}
    return Milestones(
        to_zero=to_zero, best=best_objective, goals=goals, goal_texts=goal_texts, counts_by_racer=counts, unit=unit
    )


def by_objective(racers: Sequence[RacerSummary]) -> dict[Hashable, list[RacerSummary]]:
    """Group the racers by their objective, in order of appearance."""
    groups: dict[Hashable, list[RacerSummary]] = {}
    for racer in racers:
        groups.setdefault(racer.objective, []).append(racer)
    return groups


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of mean test loss (a minus b) and its paired standard error."""

    mean: float
    error: float

    @property
    def tie(self) -> bool:
        """Whether the difference is below two standard errors."""
        return abs(self.mean) < 2 * self.error or self.mean == 0


def paired_difference(a: np.ndarray, b: np.ndarray) -> Difference:
    """Return the mean of a - b over the same rows and its standard error.

    a, b (rows,): losses of two models on the same rows. With fewer than two rows the error is NaN, and never a tie.
    """
    differences = np.asarray(a, float) - np.asarray(b, float)
    mean = float(differences.mean())
    if len(differences) <= 1:
        return Difference(mean, float("nan"))
    return Difference(mean, float(differences.std(ddof=1)) / len(differences) ** 0.5)


def heldout_losses(run: Any) -> np.ndarray | None:
    """Return -log p(y | x) of each test row of a run (rows,), in nats; None without a model or test rows.

    If rows have weights the losses are multiplied by them, scaled to mean 1, so that their mean is the weighted mean.
    """
    from alrviz.models.linear import log_softmax  # imports numba, which a page need not wait for when it opens

    model, holdout = run.model, run.holdout
    if model is None or holdout is None:
        return None
    log_p = log_softmax(model.scores_of(holdout))
    losses = -log_p[np.arange(len(log_p)), holdout.y]
    weights = holdout.weights
    return losses if (weights == weights[0]).all() else losses * (weights / weights.mean())
