"""Solvers that step after every row: stochastic gradient descent and AdaGrad, one state per pass over the rows.

    w_p     the weights after pass p; the order of the rows is drawn for each pass, from the seed
    wbar_p  the state's weights, wbar_(p-1) + 4 / (p + 3) (w_p - wbar_(p-1)): mostly those of the last half of the
            passes (polynomial decay averaging, Shamir and Zhang 2013), whose number need not be known beforehand
    eta_t   for sgd, eta0 / (1 + t / (3 V)), with V rows in a pass

Before the first pass the step length eta0 is searched, with one trial fit per state of kind "search": 11 points of
log10 eta0 between two ends, each fitted by TRIAL_PASSES passes over a sample of the rows and compared by F there; the
neighbours of the best become the ends, until F at them is CLOSE_DIFFERENCE to the best. This is [sALR]'s search
(algorithms 4 and 5) except that it compares F, not the RMSE on a held-out tenth: that is lowest long before F is (LED,
n = 2, alpha 0.01
on phi: with eta_t as here it chooses an eta0 of 0.01, which is 6.9 % above F* after 50 passes, and F chooses 0.1).

Steps need neither F nor its gradient: they are computed once per pass for the report, and count no time.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from alrviz.fitting.objectives.linear import LinearObjective
from alrviz.fitting.solvers.state import Solver, SolverState
from alrviz.passes.rows import Floats
from alrviz.passes.stochastic import SingleRows

# The first ends of the search, log10, and its number of points.
ENDS: Mapping[str, tuple[float, float]] = MappingProxyType({"sgd": (-5.0, 2.0), "adagrad": (-6.0, 6.0)})
POINTS = 11
TRIAL_PASSES = 5
# Relative difference of F.
CLOSE_DIFFERENCE = 0.01
# The interval is then a hundredth of the first; a finer one is noise. Where F jumps, the ends never come close.
MAX_ROUNDS = 3
# eta_t of sgd is half of eta0 after so many passes. Above F* after 50 passes (LED, n = 2, alpha 0.01, lr) with 1, 3 and
# 10: 3.1, 1.9 and 2.6 %; with 1 / (1 + t / 100), whatever the number of rows, 5.2 %.
ETA_HALF_LIFE_PASSES = 3.0
# w_p counts 1 + LAST_PASS_WEIGHT times as much as in a plain mean of p.
LAST_PASS_WEIGHT = 3.0
# The sample: this share of the rows, but not fewer than the minimum.
SAMPLE_SHARE = 0.05
MIN_SAMPLE_ROWS = 2000


@dataclass(frozen=True, eq=False)
class StochasticPlan:
    """Constant during a fit: single rows, the penalty's slope, its share in each row, the sample."""

    rows: SingleRows
    center: Floats  # (P,)
    slope: Floats  # (P,) of the penalty
    ridge: Floats  # (P,) the slope's share in each visit
    sample: NDArray[np.intp]  # (k,) rows of the trials


@dataclass(frozen=True, eq=False)
class Search:
    """The ends of the search, the trials' values by log10 eta0, and how often the ends were narrowed."""

    plan: StochasticPlan
    low: float  # log10 of the smallest eta0
    high: float  # log10 of the largest
    values: Mapping[float, float] = field(default_factory=dict)
    rounds: int = 0  # how often they were narrowed


@dataclass(frozen=True, eq=False)
class Training:
    """Weights (flat) after the last pass, their mean, the method's memory, eta0, passes so far."""

    plan: StochasticPlan
    w: Floats  # (P,) after the last pass
    mean: Floats  # (P,) of the weights during it
    memory: Floats
    eta0: float
    passes: int = 0


@dataclass(frozen=True)
class Stochastic(Solver):
    """A solver that steps after every row. Carries a `Search`, then a `Training`.

    Args:
        method: "sgd" or "adagrad".
        seed: of the sample and of the order of the rows.
    """

    method: str
    seed: int = 0

    def advance(self, objective: LinearObjective, state: SolverState) -> SolverState:
        """Return the state one trial fit or one pass later."""
        carry = state.carry or Search(self._plan(objective), *ENDS[self.method])
        while isinstance(carry, Search):
            grid = np.linspace(carry.low, carry.high, POINTS).tolist()
            untried_values = [x for x in grid if x not in carry.values]
            if untried_values:
                return self._trial(objective, state, carry, untried_values[0])
            carry = self._narrow(state, carry, grid)
        order = _shuffled(carry.plan.rows.visit_order, self.seed, 2, carry.passes)
        training = self._pass_over(objective, carry, order)
        return replace(
            state,
            index=state.index + 1,
            passes=state.passes + 1.0,
            step_size=training.eta0,
            carry=training,
            kind="inner",
            extra={"eta0": training.eta0},
        )

    def with_report_point(self, objective: LinearObjective, state: SolverState) -> SolverState:
        """Return the state with F and its gradient, which no step needs."""
        if not isinstance(state.carry, Training):
            return state
        return replace(state, point=objective.value_grad(state.carry.mean.reshape(state.point.w.shape)))

    def _plan(self, objective: LinearObjective) -> StochasticPlan:
        """Return what stays constant during the fit: the single rows and their order, the penalty's center and slope,
        the share of the slope that each weight gets per visit (P,), and the rows on which step lengths are tried.
        """
        rows = objective.single_rows()
        slope = objective.ridge.ravel()
        if self.method == "sgd":
            ridge = slope / len(rows.visit_order)
        else:
            visits = rows.visits(rows.visit_order, slope.size, objective.stop) if slope.any() else np.ones(slope.size)
            ridge = slope / np.maximum(1.0, visits)
        return StochasticPlan(
            rows, objective.center.ravel(), slope, ridge, draw_sample(rows.visit_order, rows.y, self.seed)
        )

    def _trial(self, objective: LinearObjective, state: SolverState, search: Search, x: float) -> SolverState:
        """Return the state after a trial fit to the sample with the step length 10^x."""
        plan, w = search.plan, state.point.w.ravel()
        training = Training(plan, w, w, self._memory(w), 10.0**x)
        for k in range(TRIAL_PASSES):
            training = self._pass_over(objective, training, _shuffled(plan.sample, self.seed, 1, k))
        sample_share = len(plan.sample) / len(plan.rows.visit_order)
        value = plan.rows.loss(plan.sample, training.mean, objective.stop) / sample_share
        value += 0.5 * float((plan.slope * (training.mean - plan.center) ** 2).sum())
        return replace(
            state,
            passes=state.passes + (TRIAL_PASSES + 0.5) * sample_share,
            step_size=0.0,
            carry=replace(search, values={**search.values, x: value if math.isfinite(value) else math.inf}),
            kind="search",
            extra={"eta0": 10.0**x, "search_objective": value},
        )

    def _narrow(self, state: SolverState, search: Search, grid: list[float]) -> Search | Training:
        """Return the search around the best point of the grid, or the training once it is narrow enough."""
        best_log_eta0, low, high, is_close = best_and_neighbours(search.values, grid)
        if is_close or search.rounds + 1 == MAX_ROUNDS:
            w = state.point.w.ravel()
            return Training(search.plan, w, w, self._memory(w), 10.0**best_log_eta0)
        return replace(search, low=low, high=high, rounds=search.rounds + 1)

    def _pass_over(self, objective: LinearObjective, training: Training, order: NDArray[np.intp]) -> Training:
        """Return the training after a pass over the rows of `order`."""
        plan, w, memory = training.plan, training.w.copy(), training.memory.copy()
        args = (order, w, plan.center, plan.ridge, training.eta0)
        if self.method == "sgd":
            plan.rows.sgd(*args, 1.0 / (ETA_HALF_LIFE_PASSES * len(order)), memory, objective.stop)
        else:
            plan.rows.adagrad(*args, memory, objective.stop)
        passes = training.passes + 1
        mean = training.mean + (1.0 + LAST_PASS_WEIGHT) / (passes + LAST_PASS_WEIGHT) * (w - training.mean)
        return replace(training, w=w, mean=mean, memory=memory, passes=passes)

    def _memory(self, w: Floats) -> Floats:
        """Return the memory at the start with weights w (P,): the clock of sgd (2,), or the G of AdaGrad (P,)."""
        return np.zeros(2 if self.method == "sgd" else w.size)


def best_and_neighbours(values: Mapping[float, float], grid: Sequence[float]) -> tuple[float, float, float, bool]:
    """Return the grid's best point by `values`, its neighbours, and whether these are as good."""
    best_index = min(range(len(grid)), key=lambda k: values[grid[k]])
    low, high = grid[max(0, best_index - 1)], grid[min(len(grid) - 1, best_index + 1)]
    lowest = values[grid[best_index]]
    return (grid[best_index], low, high, max(values[low], values[high]) - lowest <= CLOSE_DIFFERENCE * abs(lowest))


def search_eta0(trial_loss: Callable[[float], float], method: str) -> float:
    """Return the step length whose trial fit has the lowest loss; `trial_loss` returns the loss of a step length.

    method: "sgd" or "adagrad", whose ends the search has.
    """
    low, high = ENDS[method]
    loss_by_log_eta0: dict[float, float] = {}
    best_log_eta0 = 0.0
    for _ in range(MAX_ROUNDS):
        grid = np.linspace(low, high, POINTS).tolist()
        loss_by_log_eta0 |= {x: trial_loss(10.0**x) for x in grid if x not in loss_by_log_eta0}
        best_log_eta0, low, high, is_close = best_and_neighbours(loss_by_log_eta0, grid)
        if is_close:
            break
    return float(10.0**best_log_eta0)


def _shuffled(rows: NDArray[np.intp], *seeds: int) -> NDArray[np.intp]:
    return np.random.default_rng(seeds).permutation(rows)


def draw_sample(rows: NDArray[np.intp], y: NDArray[np.integer], seed: int) -> NDArray[np.intp]:
    """Return a sample (k,) of `rows` (n,), stratified by class and drawn by `seed`; y (N,) is by row number."""
    order = _shuffled(rows, seed, 0)
    order = order[np.argsort(y[order], kind="stable")]  # class by class, each in random order
    n_sampled = min(len(order), max(MIN_SAMPLE_ROWS, round(SAMPLE_SHARE * len(order))))
    return order[(np.arange(n_sampled) * len(order)) // n_sampled]  # evenly over the classes
