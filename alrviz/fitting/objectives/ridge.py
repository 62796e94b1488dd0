"""The bases of objectives.

`FitObjective` is what drivers, convergence tests and observers need. `Objective`, for solvers, is a loss summed over
rows whose scores are linear in the weights, and a ridge penalty; `ScoredObjective` has its rows and scores in memory.

    F(w) = loss(z(w)) + alpha * sum q (w - center)^2,            z linear in w

Shapes: scores z (N, W) with the pads of Rows; w, its gradient and every direction as in the subclass.
Scores are linear in w, so along a direction they are z + t dz: after one forward pass each trial costs N C, not a pass.
A `Point` is never modified.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from alrviz.passes.aligned_buffers import BufferPool
from alrviz.passes.losses import NLL, Loss
from alrviz.passes.rows import Floats, LineDerivatives, Rows, Sums
from alrviz.passes.vectors import add_ridge_gradient, dot, move_along, ridge_line_derivatives
from alrviz.stop import NEVER, StopToken

_NO_DERIVATIVES: Mapping[float, LineDerivatives] = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Point:
    """Weights with the results of a pass: scores z (N, W), sums over rows, F and dF/dw."""

    w: Floats  # weights, shaped as the objective has them
    z: Floats  # scores (N, W)
    sums: Sums
    penalty: float
    objective: float  # F: loss and penalty
    gradient: Floats  # dF/dw, shaped as w


class FitObjective(ABC):
    """An objective on its training rows. Weights, points and models are of its own kind, which its solver knows.

    Attributes:
        total: sum of the weights of the training rows.
        n_classes: C.
        alpha: strength of the penalty, one for all weights or one for each.
        bounds: of every weight; None without bounds.
        loss: the loss of a row.
        scale: of phi = scale * w[weight_index]; None if weights have no such units.
        monitored_name: what `monitored_value` returns, in words.
    """

    total: float
    n_classes: int
    alpha: float | Floats = 0.0
    bounds: tuple[float, float] | None = None
    loss: Loss = NLL
    scale: Floats | None = None
    monitored_name = "F"

    @abstractmethod
    def scores(self, w: Floats, rows: Any = None) -> Floats:
        """Return the scores (N, W) of the training rows, or of others of the objective's kind, recomputed from `w`: one
        forward pass.
        """

    @abstractmethod
    def value_grad(self, w: Floats) -> Point:
        """Return the point at `w`, shaped as all weights of the objective are."""

    @abstractmethod
    def phi_norm(self, w: Floats) -> float:
        """Return ||phi||; w is shaped as for `value_grad`."""

    def model(self, w: Floats) -> Any:
        """Return the model with weights `w`, shaped as for `value_grad`."""
        raise NotImplementedError

    def weights_of(self, model: Any) -> Floats:
        """Return the w at which this objective has the given model, shaped as for `value_grad`; the nearest if weights
        are shared. Raises `RecipeError` for a model of another kind, or with other cells or classes.
        """
        raise NotImplementedError

    def monitored_value(self, point: Any) -> float:
        """Return the value at a point by whose decrease over the last steps the convergence test decides."""
        value: float = point.objective
        return value

    def criterion(self, point: Any) -> float:
        """Return a measure of a point that is small at the optimum: the largest slope per row."""
        return float(np.abs(point.gradient).max(initial=0.0)) / self.total

    def release(self, point: Any) -> None:  # noqa: B027 - most objectives have none to free
        """Free the objective's buffers after a fit. point: where it ended; None before its first point."""


class Objective(FitObjective):
    """F = loss + penalty for solvers, wherever its rows are.

    Args:
        center: the weights that the penalty shrinks toward, shaped as w.
        ridge: 2 alpha q, shaped as w or one number for all; None without a penalty.
        total: sum of the weights of the rows.
        n_classes: C.
        n_jobs: threads.
        alpha: weight of the penalty, at least 0; or of each weight, in a shape that broadcasts to w.
        loss: the loss of a row.
        bounds: of every w, intercepts included; None without bounds.
        stop: checked between the parts of every pass.
    """

    slope_reduction: float | None = None  # relative decrease of slopes along lines; None for line_minimum.EXACT

    def __init__(
        self,
        center: Floats,
        ridge: Any,
        *,
        total: float,
        n_classes: int,
        n_jobs: int,
        alpha: float | Floats,
        loss: Loss = NLL,
        bounds: tuple[float, float] | None = None,
        stop: StopToken = NEVER,
    ):
        self.loss = loss
        self.bounds = bounds
        self.alpha = alpha
        self.center = center
        self.total, self.n_classes, self.n_jobs = total, n_classes, n_jobs
        self.stop = stop
        self.buffers = BufferPool()
        self._q = None if ridge is None else np.full(center.shape, ridge) if np.isscalar(ridge) else ridge

    @abstractmethod
    def hvp(self, point: Point, direction: Floats) -> Floats:
        """Return the Hessian of F at `point` times `direction`, both shaped as w.

        For a loss that is not convex it is Gauss-Newton's matrix: never negative, and close to it where losses are
        small.
        """

    @abstractmethod
    def line_along(self, point: Point, direction: Floats, guess: float | None = None) -> "Line":
        """Return the line through `point` along `direction`, shaped as w; `guess` is a length that may be evaluated on
        the way.
        """

    @abstractmethod
    def hessian_diagonal(self, point: Point) -> Floats:
        """Return the diagonal of the Hessian of F, shaped as w."""

    def release(self, point: Point | None) -> None:
        """Free the objective's buffers after a fit. point: where it ended; None before its first point."""
        self.buffers.close()

    def metric(self, point: Point) -> Floats | None:
        """Return the squared units of the step from `point`, shaped as w; None if units do not change from step to
        step.
        """
        return None

    def penalty_line_derivatives(self, w: Floats, direction: Floats) -> tuple[float, float]:
        """Return first and second derivative of the penalty at `w` along `direction`, both shaped as the center."""
        return (
            (0.0, 0.0) if self._q is None else ridge_line_derivatives(self._q, w, self.center, direction, self.n_jobs)
        )

    @property
    def ridge(self) -> Floats:
        """2 alpha q, shaped as w: the slope of the penalty is this times w - center."""
        return np.zeros_like(self.center) if self._q is None else self._q

    def _penalised(self, w: Floats, z: Floats, sums: Sums, gradient: Floats) -> Point:
        """Return the point at `w` with scores z (N, W) and `sums` over rows: the penalty is added to the loss and its
        gradient.
        """
        penalty = 0.0
        if self._q is not None:
            penalty = 0.5 * add_ridge_gradient(gradient, self._q, w, self.center, self.n_jobs)
        return Point(w, z, sums, penalty, sums.value + penalty, gradient)


class ScoredObjective(Objective):
    """F and its derivatives on the rows of a training set, with their scores; a subclass maps weights to scores.

    Args:
        rows: training rows; their weights count rows in the loss (class weights already multiplied in).
        center, ridge, alpha, loss, bounds, stop: as of Objective.
    """

    def __init__(self, rows: Rows, center: Floats, ridge: Any, **options: Any):
        total, jobs = float(rows.weights.sum()), rows.n_jobs
        super().__init__(center, ridge, total=total, n_classes=rows.n_classes, n_jobs=jobs, **options)
        self.rows = rows

    @abstractmethod
    def change(self, direction: Floats) -> Floats:
        """Return the change of the scores (N, W) by a `direction` of the weights, shaped as w; pads 0: one forward
        pass.
        """

    @abstractmethod
    def slopes(self, residual: Floats) -> Floats:
        """Return the derivatives of the loss by w of residuals (N, W): one scatter pass."""

    def value_grad(self, w: Floats) -> Point:
        """Return the point at `w`, shaped as the center: one forward and one scatter pass."""
        z = self.scores(w)
        return self._point(w, z, None, 0.0, z, self._score_buffer(self.rows))

    def hvp(self, point: Point, direction: Floats) -> Floats:
        """Return the Hessian's product with `direction`, shaped as w: one forward and one scatter pass."""
        dz = self.change(direction)
        product = self.slopes(self.rows.hessian_product(point.z, dz, self.stop, self.loss))
        if self._q is not None:
            product += self._q * direction
        return product

    def line_along(self, point: Point, direction: Floats, guess: float | None = None) -> "LineObjective":
        """Return the line through `point` along `direction`, shaped as w: one forward pass. `guess` is not used."""
        return LineObjective(self, point, direction, self.change(direction))

    def point_on(self, line: "LineObjective", t: float) -> Point:
        """Return the point at w + t d: a softmax pass and one scatter pass; the line's dz is overwritten."""
        start = line.start
        w = move_along(start.w, t, line.direction, self.buffers.empty(*start.w.shape), self.n_jobs)
        return self._point(w, start.z, line.dz, t, self._score_buffer(self.rows), line.dz)

    def _point(self, w: Floats, z: Floats, dz: Floats | None, t: float, out: Floats, residual: Floats) -> Point:
        sums = self.rows.loss_and_residual(z, dz, t, out, residual, self.stop, self.loss)
        return self._penalised(w, out, sums, self.slopes(residual))

    def _score_buffer(self, rows: Rows) -> Floats:
        """Return a buffer for the scores of `rows` (N, W), not initialised; that of training rows serves fewer others
        too.
        """
        return self.buffers.empty(max(rows.n_rows, self.rows.n_rows), rows.padded_width)[: rows.n_rows]


class Line(ABC):
    """F along start.w + t * direction, for line searches.

    Attributes:
        value, slope: F and dF/dt at 0.
    """

    def __init__(self, objective: Objective, start: Point, direction: Floats):
        self.start, self.direction = start, direction
        self.value, self.slope = start.objective, dot(start.gradient, direction)
        self._penalty_derivatives = objective.penalty_line_derivatives(start.w, direction)

    def derivatives_at(self, t: float) -> tuple[float, float, float]:
        """Return F at step length t, and its first two derivatives by t."""
        loss, slope, curvature = self.loss_at(t)
        penalty_slope, penalty_curvature = self._penalty_derivatives
        value = loss + self.start.penalty + t * (penalty_slope + 0.5 * t * penalty_curvature)
        return value, slope + penalty_slope + t * penalty_curvature, curvature + penalty_curvature

    @abstractmethod
    def loss_at(self, t: float) -> LineDerivatives | Floats:
        """Return the loss at step length t, and its first two derivatives by t."""

    @abstractmethod
    def move(self, t: float) -> Point:
        """Return the point at step length t."""


class LineObjective(Line):
    """F along a line whose scores are in memory.

    `at` costs a softmax pass, except at lengths that were evaluated before. `move` ends the line: its dz becomes a
    buffer for the residuals.
    """

    def __init__(
        self,
        objective: ScoredObjective,
        start: Point,
        direction: Floats,
        dz: Floats,
        evaluated: Mapping[float, LineDerivatives] = _NO_DERIVATIVES,
    ):
        super().__init__(objective, start, direction)
        self.objective, self.dz, self._evaluated = objective, dz, evaluated

    def loss_at(self, t: float) -> LineDerivatives:
        """Return the loss and its two derivatives at t: a pass over scores, unless they are known."""
        objective = self.objective
        return self._evaluated.get(t) or objective.rows.line_eval(
            self.start.z, self.dz, t, objective.stop, objective.loss
        )

    def move(self, t: float) -> Point:
        """Return the point at step length t; the line cannot be used afterwards."""
        return self.objective.point_on(self, t)
