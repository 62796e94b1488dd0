"""Milestones: how many iterations a racer needs to come near the best known objective.

With F* the lowest objective that any racer of the same objective has reached, a racer's milestones are the first
steps with

    F <= F* (1 + 1 %)     and     F <= F* (1 + 0.1 %).

Where the racers can fit the training rows perfectly (no penalty, and some model ranks every row's own class first) F*
is 0 and is never reached; the milestones are then F / N <= 1e-2 and 1e-4. Milestones count iterations, passes and
seconds; an iteration is a step of the solver, the same amount of work for lbfgs, cg and gd (one forward and one scatter
pass), as many passes as it takes for tron.

Shapes: a lane's `frame` has one row a step, with the columns of `Step` (it may be those columns by name, too: a live
view asks ten times a second); `n_rows` is N, the total row weight.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

RELATIVE = (0.01, 0.001)
ABSOLUTE = (1e-2, 1e-4)
UNITS = {"iterations": "index", "passes": "passes", "seconds": "seconds"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RacerSummary:
    """What a verdict needs to know of one racer; nothing in it is computed by fitting.

    name: how sentences call the racer. label: its family's label. frame: one row a step, or its columns by name.
    n_rows: total training weight. outcome: the code of its outcome, None while it runs. detail: the outcome's own
    sentence. objective: equal for racers that minimise the same function. alpha: strength of the penalty. trials,
    found: of alpha="auto", how many trials there were, and the penalty of each order at the last step; order: what was
    chosen of order="auto". loss: the other part of the objective, "nll" or another. bounded: whether the weights keep
    between bounds. heldout: the log loss of each test row (nats) at the last step; None where they are not kept.
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
    found: tuple[float, ...] = ()
    order: int | None = None
    loss: str = "nll"
    bounded: bool = False
    heldout: np.ndarray | None = field(default=None, repr=False)

    @property
    def iterations(self) -> int:
        """Index of the last step."""
        return int(self.of("index")[-1])

    @property
    def last(self) -> float:
        """The last objective per row, in nats."""
        return float(self.of("objective")[-1]) / self.n_rows

    @property
    def best(self) -> float:
        """The lowest finite objective reached (not per row); infinite where there is none."""
        values = self.of("objective")
        values = values[np.isfinite(values)]
        return float(values.min()) if len(values) else float("inf")

    def last_of(self, column: str) -> float:
        """The last value of a column of the frame, NaN where it was not watched."""
        return float("nan") if column not in self.frame or self.empty else float(self.of(column)[-1])

    @property
    def empty(self) -> bool:
        """Whether it has no step yet."""
        return not len(self.frame["index"])

    def of(self, column: str) -> np.ndarray:
        """A column of the frame (steps,)."""
        return np.asarray(self.frame[column], float)


@dataclass(frozen=True, slots=True, kw_only=True)
class Milestones:
    """The goals of one objective and when each racer met them.

    to_zero: whether the objective has no minimum but falls to 0. best: F* (not per row). goals: the two values of F
    to come below, and words for them. met: racer's name -> one mapping of unit -> count a goal, None where it was not
    met. unit: what `at` counts, a key of `UNITS`.
    """

    to_zero: bool
    best: float
    goals: tuple[float, ...]
    words: tuple[str, ...]
    met: Mapping[str, tuple[Mapping[str, float] | None, ...]]
    unit: str = "iterations"

    def at(self, name: str, goal: int, unit: str = "") -> float | None:
        """When `name` met goal number `goal`, in `unit` or the milestones' own; None if it did not."""
        counts = self.met[name][goal]
        return None if counts is None else counts[unit or self.unit]

    def table(self) -> pd.DataFrame:
        """One row a racer and goal: racer, milestone, iterations, passes, seconds (NaN where it was not met)."""
        rows: list[dict[str, Any]] = []
        for name, counts in self.met.items():
            for word, count in zip(self.words, counts, strict=True):
                rows.append({"racer": name, "milestone": word, **(count or dict.fromkeys(UNITS, float("nan")))})
        return pd.DataFrame(rows, columns=["racer", "milestone", *UNITS])


def falls_to_zero(lanes: Iterable[RacerSummary]) -> bool:
    """Whether the training rows can be fitted perfectly: then scaling the weights up sends the loss to 0.

    One model that ranks the own class of every row strictly first proves it, for every racer of the same objective;
    but between bounds weights cannot be scaled up.
    """
    return any(
        lane.alpha == 0
        and not lane.bounded
        and (lane.outcome == "separated" or ("lead" in lane.frame and (lane.of("lead") >= 1.0).any()))
        for lane in lanes
    )


def objective_noun(lanes: Iterable[RacerSummary]) -> str:
    """What the objective of these racers is called: NLL where it is nothing else."""
    return "NLL" if all(lane.alpha == 0 and lane.loss == "nll" for lane in lanes) else "F"


def _first(lane: RacerSummary, goal: float) -> dict[str, float] | None:
    below = np.flatnonzero(lane.of("objective") <= goal)
    if not len(below):
        return None
    return {unit: float(lane.of(column)[below[0]]) for unit, column in UNITS.items()}


def milestones(lanes: Sequence[RacerSummary], unit: str = "iterations") -> Milestones:
    """When each racer of one objective first came near the best known value of it."""
    best = min((lane.best for lane in lanes), default=float("inf"))
    to_zero = falls_to_zero(lanes)
    noun = objective_noun(lanes)
    n_rows = lanes[0].n_rows if lanes else 1.0
    if to_zero:
        goals = tuple(n_rows * level for level in ABSOLUTE)
        words = tuple(f"{noun} per row ≤ {text}" for text in ("0.01", "0.0001"))
    else:
        goals = tuple(best * (1 + level) for level in RELATIVE)
        words = tuple(f"within {100 * level:g} % of the best {noun}" for level in RELATIVE)
    met = {lane.name: tuple(_first(lane, goal) for goal in goals) for lane in lanes}
    return Milestones(to_zero=to_zero, best=best, goals=goals, words=words, met=met, unit=unit)


def by_objective(lanes: Sequence[RacerSummary]) -> dict[Hashable, list[RacerSummary]]:
    """The lanes grouped by what they minimise, in the order in which they came."""
    groups: dict[Hashable, list[RacerSummary]] = {}
    for lane in lanes:
        groups.setdefault(lane.objective, []).append(lane)
    return groups


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of mean test loss (a minus b), its paired standard error, and whether that makes a tie."""

    mean: float
    error: float

    @property
    def tie(self) -> bool:
        """Whether the difference is below two standard errors."""
        return abs(self.mean) < 2 * self.error or self.mean == 0


def paired(a: np.ndarray, b: np.ndarray) -> Difference:
    """Mean of a - b over the same rows with its standard error.

    a, b (rows,): losses of two models on the same rows. Fewer than two rows have no standard error (NaN: never a tie).
    """
    gap = np.asarray(a, float) - np.asarray(b, float)
    mean = float(gap.mean())
    if len(gap) <= 1:
        return Difference(mean, float("nan"))
    return Difference(mean, float(gap.std(ddof=1)) / len(gap) ** 0.5)
