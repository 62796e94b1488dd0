"""The penalised log loss of a linear family, as solvers see it.

    F(w) = NLL(phi) + alpha * sum q (w - center)^2,     phi = scale * w,   q = 1 (penalty on w) or scale^2 (penalty on
    phi) dNLL/dphi[c, k] = sum over rows in cell c of (p_k - 1[k = y]),   dF/dw = scale * dNLL/dphi + 2 alpha q (w -
    center)

Shapes: w, its gradient and every direction are (S + 1, C): one row per seen cell, the last one for the class weights.
Scores are linear in w, so along a direction they are z + t dz: after one forward pass each trial costs N C, not a pass.
A `Point` is a value: nothing writes into it once it is made.
"""

from dataclasses import dataclass

import numpy as np

from alrviz.models.linear import LinearModel, Unseen, fill_unseen
from alrviz.models.parameterisation import Parameterisation
from alrviz.passes.rows import Floats, Rows, Sums
from alrviz.stop import NEVER, StopToken


def dot(a: Floats, b: Floats) -> float:
    """Return the sum of products; not by BLAS, whose last bits depend on its own number of threads."""
    return float(np.einsum("ij,ij->", a, b))


@dataclass(frozen=True, eq=False)
class Point:
    """Weights and all that one pass says about them: scores z (N, W), sums over rows, F and dF/dw."""

    w: Floats
    z: Floats
    sums: Sums
    penalty: float
    objective: float
    gradient: Floats


class LinearObjective:
    """F and its derivatives on the rows of a training set.

    Args:
        rows: training rows; their weights count rows in NLL (class weights already multiplied in).
        parameterisation: scale, and the tables it stands on.
        alpha: weight of the penalty, at least 0.
        penalty: "phi" or "w".
        center: 0, 1 or "anje".
        unseen: (T, C) phi of cells that no training row has, for scores on other rows; None for 0.
        stop: asked between the parts of every pass.
    """

    offers = frozenset({"value_grad", "hvp", "along"})

    def __init__(
        self,
        rows: Rows,
        parameterisation: Parameterisation,
        *,
        alpha: float,
        penalty: str,
        center: object,
        unseen: Unseen | None = None,
        stop: StopToken = NEVER,
    ):
        self.rows = rows
        self.parameterisation = parameterisation
        self.scale = parameterisation.scale
        self.alpha = alpha
        self.center = parameterisation.weights_of(center)
        self.total = float(rows.weights.sum())
        self._q = 2.0 * alpha * (self.scale**2 if penalty == "phi" else np.ones_like(self.scale)) if alpha else None
        self._space = parameterisation.tables.space
        self._seen = parameterisation.tables.seen
        self._stop = stop
        self._unseen = unseen
        self._table = rows.table(self._space.layout)
        fill_unseen(self._table, self._space, unseen)  # training rows never touch these, so they are written once
        self._grad_table = rows.table(self._space.layout)

    @property
    def n_classes(self) -> int:
        """C."""
        return self.rows.n_classes

    def value_grad(self, w: Floats) -> Point:
        """Return the point at `w`: one forward and one scatter pass."""
        z = self.scores(w)
        return self._settle(w, z, None, 0.0, z, self.rows.scores())

    def hvp(self, point: Point, direction: Floats) -> Floats:
        """Return the Hessian of F at `point` times `direction`: one forward and one scatter pass."""
        dz = self._spread(self.scale * direction, change=True)
        product = self.scale * self._gather(self.rows.curve(point.z, dz, self._stop))
        return product if self._q is None else product + self._q * direction

    def along(self, point: Point, direction: Floats) -> "Line":
        """Return the line through `point` along `direction`: one forward pass."""
        return Line(self, point, direction, self._spread(self.scale * direction, change=True))

    def trial(self, z: Floats, dz: Floats, t: float) -> tuple[float, float, float]:
        """Return NLL and its two derivatives along the scores z + t dz: a softmax pass."""
        return self.rows.trial(z, dz, t, self._stop)

    def criterion(self, point: Point) -> float:
        """Return max over w of |dF/dw| / (|scale| N), scale 0 left out: what must be small at the optimum."""
        slope = np.divide(point.gradient, self.scale, out=np.zeros_like(self.scale), where=self.scale != 0)
        return float(np.abs(slope).max(initial=0.0)) / self.total

    def model(self, w: Floats) -> LinearModel:
        """Return the model with weights `w`."""
        phi = self.scale * w
        return LinearModel(self._space, self._seen, phi[:-1], phi[-1], self._unseen)

    def scores(self, w: Floats, rows: Rows | None = None) -> Floats:
        """Return the scores (N, W) of the training rows, or of other `rows`, recomputed from `w`: one forward pass."""
        return self._spread(self.scale * w, change=False, rows=rows)

    def penalty(self, w: Floats) -> float:
        """Return alpha * sum q (w - center)^2."""
        if self._q is None:
            return 0.0
        apart = w - self.center
        return 0.5 * dot(self._q * apart, apart)

    def penalty_slopes(self, w: Floats, direction: Floats) -> tuple[float, float]:
        """Return first and second derivative of the penalty along `direction`."""
        if self._q is None:
            return 0.0, 0.0
        bent = self._q * direction
        return dot(bent, w - self.center), dot(bent, direction)

    def fresh(self, point: Point) -> Point:
        """Return `point` with its scores recomputed from its weights, which sheds the rounding of many moves."""
        return self.value_grad(point.w)

    def moved(self, line: "Line", t: float) -> Point:
        """Return the point at w + t d: a softmax pass and one scatter pass; the line's dz is used up."""
        point = line.start
        w = point.w + t * line.direction
        return self._settle(w, point.z, line.dz, t, self.rows.scores(), line.dz)

    def _settle(self, w: Floats, z: Floats, dz: Floats | None, t: float, out: Floats, residual: Floats) -> Point:
        sums = self.rows.settle(z, dz, t, out, residual, self._stop)
        gradient = self._gather(residual)
        gradient *= self.scale
        if self._q is not None:
            gradient += self._q * (w - self.center)
        penalty = self.penalty(w)
        return Point(w, out, sums, penalty, sums.nll + penalty, gradient)

    def _spread(self, phi: Floats, change: bool, rows: Rows | None = None) -> Floats:
        """Scores of phi (S + 1, C), or the change of scores that a change of phi makes."""
        layout = self._space.layout
        rows = self.rows if rows is None else rows
        self._table[self._seen, : self.n_classes] = phi[:-1]
        forward = rows.forward_change if change else rows.forward
        return forward(layout, self._table, phi[-1], stop=self._stop)

    def _gather(self, residual: Floats) -> Floats:
        """Sums of residuals (N, W) by cell and over all rows, (S + 1, C).

        Every row has one cell of the first tuple, or its place for rows without one: their sum is that over all rows.
        """
        self._grad_table[:] = 0.0
        self.rows.scatter(self._space.layout, residual, self._grad_table, self._stop)
        out = np.empty_like(self.scale)
        out[:-1] = self._grad_table[self._seen, : self.n_classes]
        first = self._grad_table[: self._space.cards[0], : self.n_classes].sum(axis=0)
        out[-1] = first + self._grad_table[self._space.n_cells, : self.n_classes]
        return out


class Line:
    """F along point.w + t * direction.

    `at` costs a softmax pass. `move` ends the line: its dz becomes room for the residuals.
    """

    def __init__(self, objective: LinearObjective, start: Point, direction: Floats, dz: Floats):
        self.objective = objective
        self.start = start
        self.direction = direction
        self.dz = dz
        self.value = start.objective
        self.slope = dot(start.gradient, direction)
        self._bend = objective.penalty_slopes(start.w, direction)

    def at(self, t: float) -> tuple[float, float, float]:
        """Return F, dF/dt and d2F/dt2 at t."""
        nll, slope, curvature = self.objective.trial(self.start.z, self.dz, t)
        first, second = self._bend
        value = nll + self.start.penalty + t * (first + 0.5 * t * second)
        return value, slope + first + t * second, curvature + second

    def move(self, t: float) -> Point:
        """Return the point at t."""
        return self.objective.moved(self, t)
