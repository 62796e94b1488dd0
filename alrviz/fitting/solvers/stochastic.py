"""Solvers that move after every row: stochastic gradient descent and AdaGrad, one state a pass over the rows.

Before the first pass the step length eta0 is searched ([sALR], algorithms 4 and 5), one trial fit a state of kind
"search": 11 points of log10 eta0 between two ends, each fitted by PASSES passes on nine tenths of a sample of the rows
and judged by the RMSE on the other tenth; the neighbours of the best become the ends, until they differ by less than
CLOSE in RMSE; eta0 is their geometric mean. Every row is seen in an order of its own in each pass, drawn from the seed.

F and its gradient are not needed to go on: they are looked at once a pass for the report alone, on nobody's clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.fitting.objective import LinearObjective
from alrviz.fitting.solvers.state import Solver, State, start
from alrviz.passes.rows import Floats
from alrviz.passes.single import SingleRows

# Ends of the search, log10, and its points.
ENDS: Mapping[str, tuple[float, float]] = MappingProxyType({"sgd": (-5.0, 2.0), "adagrad": (-6.0, 6.0)})
POINTS = 11
PASSES = 5
CLOSE = 0.01
# The interval is then a five-thousandth of the first: where the RMSE jumps, its ends never come close.
MOST_ROUNDS = 5
# The sample: a share of the rows, but not fewer than this.
SHARE = 0.05
LEAST = 2000


@dataclass(frozen=True, eq=False)
class Plan:
    """What stays the same during a fit: rows one by one, the penalty's pull on each w, the sample's two parts."""

    rows: SingleRows
    center: Floats
    pull: Floats
    learn: NDArray[np.intp]
    judge: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Search:
    """The ends of the search, what is known by log10 eta0, and how often the ends were drawn together."""

    plan: Plan
    low: float
    high: float
    known: Mapping[float, float] = field(default_factory=dict)
    rounds: int = 0


@dataclass(frozen=True, eq=False)
class Training:
    """Weights (flat) after the last pass, what the method remembers, eta0, passes made."""

    plan: Plan
    w: Floats
    memory: Floats
    eta0: float
    passes: int = 0


@dataclass(frozen=True)
class Stochastic(Solver):
    """A solver that moves after every row. Carries a `Search`, then a `Training`.

    Args:
        method: "sgd" or "adagrad".
        seed: of the sample and of the order of the rows.
    """

    method: str
    seed: int = 0

    def init(self, objective: LinearObjective, w0: Floats) -> State:
        """Return the state at the start point."""
        return replace(start(objective, w0), carry=None)

    def advance(self, objective: LinearObjective, state: State) -> State:
        """Return the state one trial fit or one pass later."""
        carry = state.carry or Search(self._plan(objective), *ENDS[self.method])
        while isinstance(carry, Search):
            grid = np.linspace(carry.low, carry.high, POINTS).tolist()
            untried = [x for x in grid if x not in carry.known]
            if untried:
                return self._trial(objective, state, carry, untried[0])
            carry = self._narrowed(state, carry, grid)
        training = self._passed(objective, carry)
        return replace(
            state,
            index=state.index + 1,
            passes=state.passes + 1.0,
            step_size=training.eta0,
            carry=training,
            kind="inner",
            extra={"eta0": training.eta0},
        )

    def look(self, objective: LinearObjective, state: State) -> State:
        """Return the state with F and its gradient, which no step needs."""
        if not isinstance(state.carry, Training):
            return state
        return replace(state, point=objective.value_grad(state.carry.w.reshape(state.point.w.shape)))

    def _plan(self, objective: LinearObjective) -> Plan:
        rows = objective.single()
        learn, judge = split_sample(rows.all, rows.y, self.seed)
        slopes = objective.pull.ravel()
        if self.method == "sgd":
            pull = slopes / len(rows.all)
        else:
            looked = rows.visits(rows.all, slopes.size, objective.stop) if slopes.any() else np.ones(slopes.size)
            pull = slopes / np.maximum(1.0, looked)
        return Plan(rows, objective.center.ravel(), pull, learn, judge)

    def _trial(self, objective: LinearObjective, state: State, search: Search, x: float) -> State:
        plan = search.plan
        w, memory = state.point.w.ravel().copy(), self._memory(state.point.w)
        for k in range(PASSES):
            self._visit(objective, plan, _shuffled(plan.learn, self.seed, 1, k), w, memory, 10.0**x)
        rmse = plan.rows.rmse(plan.judge, w, objective.stop)
        spent = (PASSES * len(plan.learn) + 0.5 * len(plan.judge)) / len(plan.rows.all)
        return replace(
            state,
            passes=state.passes + spent,
            step_size=0.0,
            carry=replace(search, known={**search.known, x: rmse}),
            kind="search",
            extra={"eta0": 10.0**x, "search_rmse": rmse},
        )

    def _narrowed(self, state: State, search: Search, grid: list[float]) -> Search | Training:
        best = min(range(POINTS), key=lambda k: search.known[grid[k]])
        low, high = grid[max(0, best - 1)], grid[min(POINTS - 1, best + 1)]
        apart = abs(search.known[low] - search.known[high])
        if apart < CLOSE or search.rounds + 1 == MOST_ROUNDS:
            eta0 = 10.0 ** ((low + high) / 2)
            return Training(search.plan, state.point.w.ravel(), self._memory(state.point.w), eta0)
        return replace(search, low=low, high=high, rounds=search.rounds + 1)

    def _passed(self, objective: LinearObjective, training: Training) -> Training:
        plan, w, memory = training.plan, training.w.copy(), training.memory.copy()
        order = _shuffled(plan.rows.all, self.seed, 2, training.passes)
        self._visit(objective, plan, order, w, memory, training.eta0)
        return replace(training, w=w, memory=memory, passes=training.passes + 1)

    def _memory(self, w: Floats) -> Floats:
        """The clock of sgd, the G of AdaGrad."""
        return np.zeros(2 if self.method == "sgd" else w.size)

    def _visit(
        self, objective: LinearObjective, plan: Plan, order: NDArray[np.intp], w: Floats, memory: Floats, eta0: float
    ) -> None:
        step: Any = plan.rows.sgd if self.method == "sgd" else plan.rows.adagrad
        step(order, w, plan.center, plan.pull, eta0, memory, objective.stop)


def _shuffled(rows: NDArray[np.intp], *seeds: int) -> NDArray[np.intp]:
    return np.random.default_rng(seeds).permutation(rows)


def split_sample(
    rows: NDArray[np.intp], y: NDArray[np.integer], seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return nine tenths and one tenth of a sample of `rows`, stratified by class (y is of each row number).

    Every class lends to the smaller part what its share is, rounded, and at least one row is lent in all.
    """
    order = _shuffled(rows, seed, 0)
    order = order[np.argsort(y[order], kind="stable")]  # class by class, each in a drawn order
    size = min(len(order), max(LEAST, round(SHARE * len(order))))
    sample = order[(np.arange(size) * len(order)) // size]  # evenly over the classes
    tenth = np.zeros(size, bool)
    tenth[5::10] = True
    if not tenth.any():
        tenth[-1] = True
    return sample[~tenth], sample[tenth]
