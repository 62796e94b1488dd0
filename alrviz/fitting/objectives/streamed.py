"""The penalised loss of a linear family on rows that come in chunks: one pass for a point or a line.

The formulas are those of objectives/linear.py. No scores of training rows are stored. A pass along a direction d
computes the scores of w and of d together, and gives F and two derivatives at STEP_MULTIPLES times the guess, and the
gradient at
the guess itself: mostly the step ends there, and the next pass is the next step. Between these lengths F is
interpolated (quintic, by value, slope and curvature at both ends); a length far from all of them takes another pass.

Products with the Hessian take no pass: they use a sample of rows in memory, each counting as N/n, plus the part of the
full diagonal that the sample lacks, which a pass computes along the way:

    H = (N / n) H_sample + diag(max(0, D - D_sample)) + 2 alpha q

so that cells missing from the sample still have the curvature of the table. (Byrd, Chin, Neveitt and Nocedal, On the
use of stochastic Hessian information in optimization methods for machine learning, 2011.)
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.fitting.objectives.linear import CellWeights, LinearObjective, ridge_of
from alrviz.fitting.objectives.ridge import Line, Objective, Point
from alrviz.kernels.adagrad import SQUARES, WEIGHT
from alrviz.models.index import CellIndex, Unseen
from alrviz.models.parameterisation import Alpha, Parameterisation
from alrviz.models.plan import plan_cover
from alrviz.models.set_cover import cover_rows
from alrviz.models.streamed import StreamedCounts
from alrviz.passes.aligned_buffers import Floats, zeros
from alrviz.passes.rows import Rows, Sums, as_kernel_codes
from alrviz.passes.stream import Codes, Direction, PassSums, step_table
from alrviz.stop import NEVER, StopToken

MAX_BATCH_ROWS = 2**16  # rows in memory that are scored together
STEP_MULTIPLES = (1.0, 0.0, 0.0625, 0.25, 0.5, 2.0, 4.0, 8.0)  # times the guess; the gradient is computed at the first


class CodedRows(Rows):
    """Held-out rows in memory, by their codes (a, N) and classes (N,)."""

    def __init__(self, codes: Codes, y: NDArray[np.int32], n_classes: int):
        super().__init__(y, np.ones(len(y)), n_classes)
        self.codes = codes

    def batches(self) -> Iterator["CodedRows"]:
        """Yield the rows in batches of at most MAX_BATCH_ROWS."""
        for begin in range(0, self.n_rows, MAX_BATCH_ROWS):
            yield self.part(begin, begin + MAX_BATCH_ROWS)

    def part(self, begin: int, end: int) -> "CodedRows":
        """Return the rows from `begin` to before `end`."""
        return CodedRows(np.ascontiguousarray(self.codes[:, begin:end]), self.y[begin:end], self.n_classes)


@dataclass(frozen=True, eq=False)
class TrainValidationChunk:
    """Rows to choose a setting with: training rows and validation rows."""

    training: CodedRows
    validation: CodedRows


@dataclass(frozen=True, eq=False)
class StreamPoint(Point):
    """A point with the diagonal of the loss's Hessian, shaped as w, if passes compute it."""

    diagonal: Floats | None = None


class StreamObjective(CellWeights, Objective):
    """F and its derivatives over chunks of rows.

    Args:
        streamed: counts, passes, and the rows of cells in their tables.
        parameterisation: scale, and the tables it is for.
        alpha, penalty, center: as in LinearObjective.
        unseen: phi of cells that no training row has; None for 0.
        trial: rows to try step lengths of [sALR]'s learner.
        sample: rows to try other learners; the Hessian of its training part stands for all rows.
        passes_before: passes over the rows before the fit, for counting and selecting.
        stop: checked between the parts of every pass.

    Attributes:
        with_curvature: whether passes compute what products with the Hessian need.
    """

    slope_reduction = 0.5
    with_curvature = False

    def __init__(
        self,
        streamed: StreamedCounts,
        parameterisation: Parameterisation,
        *,
        alpha: Alpha,
        penalty: str,
        center: object,
        unseen: Unseen | None,
        trial: TrainValidationChunk,
        sample: TrainValidationChunk,
        passes_before: float = 0.0,
        stop: StopToken = NEVER,
    ):
        tables = parameterisation.tables
        self.passes = streamed.passes
        super().__init__(
            parameterisation.weights_of(center), ridge_of(parameterisation, alpha, penalty),
            total=float(tables.class_counts.sum()), n_classes=tables.n_classes, n_jobs=self.passes.n_jobs,
            alpha=parameterisation.alpha_of_weights(alpha), stop=stop,
        )  # fmt: skip
        self.parameterisation, self.trial, self.sample, self.passes_before = (
            parameterisation, trial, sample, passes_before
        )  # fmt: skip
        self.scale: Floats = parameterisation.scale
        self._unseen = unseen
        self._cell_rows, self._table = streamed.rows, streamed.blank(unseen)
        self._settings = {"alpha": alpha, "penalty": penalty, "center": center, "stop": stop}

    @cached_property
    def sampled(self) -> "Sample":
        """The training rows of the sample, for exact passes."""
        return Sample(self.sample.training, self.parameterisation, self.total, self.n_jobs, self._settings)

    def scores(self, w: Floats, rows: CodedRows | None = None) -> Floats:
        """Return the scores (N, W) of rows in memory; without `rows` none are stored: (0, W)."""
        if rows is None:
            return zeros(0, self.passes.padded_width)
        return self.passes.scores(rows.codes, *self._expand(w, self._table))

    def log_loss(self, w: Floats, rows: CodedRows) -> float:
        """Return -log p(y) per row of rows in memory at `w` (S + 1, C), inf if it is not a number."""
        with np.errstate(invalid="ignore", over="ignore"):
            z = self.scores(w, rows)
            value = rows.loss_and_residual(z, None, 0.0, z, None).nll / rows.n_rows
        return value if math.isfinite(value) else math.inf

    def value_grad(self, w: Floats) -> Point:
        """Return the point at `w`, without scores: one pass."""
        return self.point_of(w, self.gather(w))

    def line_along(self, point: Point, direction: Floats, guess: float | None = None) -> "StreamLine":
        """Return the line through `point` along `direction`: one pass, with the gradient at `guess`."""
        return StreamLine(self, point, direction, guess)

    def hvp(self, point: Point, direction: Floats) -> Floats:
        """Return the Hessian at `point` times `direction`: no pass."""
        product = self.sampled.product(point, direction)
        product += self._missing_diagonal(point) * direction
        return product

    def hessian_diagonal(self, point: Point) -> Floats:
        """Return the diagonal of the Hessian at `point`: no pass."""
        return self.sampled.diagonal(point) + self._missing_diagonal(point)

    def _missing_diagonal(self, point: Point) -> Floats:
        """Return the part of the diagonal that the sample's Hessian lacks."""
        assert isinstance(point, StreamPoint)
        assert point.diagonal is not None
        return self.sampled.missing_diagonal(point, point.diagonal)

    def gather(self, w: Floats, line: tuple[Floats, tuple[float, ...]] | None = None) -> PassSums:
        """Make a pass over all rows at w (S + 1, C); return losses and sums of residuals.

        line: a direction, shaped as w, and lengths along it at which losses are wanted too; None for none.
        """
        table, bias = self._expand(w, self._table)
        direction = None if line is None else Direction(*self._expand(line[0], self._direction_table), line[1])
        return self.passes.loss_and_gradient(
            table,
            bias,
            self.stop,
            direction=direction,
            with_curvature=self.with_curvature,
            gradient_rows=self._cell_rows,
        )

    def point_of(self, w: Floats, sums: PassSums) -> Point:
        """Return the point at w (S + 1, C) from the sums of a pass there."""
        point = self._penalised(w, self.scores(w), sums.sums, self._slopes(sums.gradient, sums.total_residual))
        diagonal = None if sums.curvature is None else self._slopes(*sums.curvature) * self.scale
        return StreamPoint(**vars(point), diagonal=diagonal)

    def _slopes(self, cell_sums: Floats, total: Floats) -> Floats:
        """Return slopes of w (S + 1, C) from residuals summed by seen cell, cell_sums (S, C), and over all rows, total
        (C,).
        """
        slopes = np.concatenate([cell_sums, total[None, :]])
        slopes *= self.scale
        return slopes

    def step_table(self, w: NDArray[np.floating], squares: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Return AdaGrad's table (layout: kernels/adagrad.py) with weights `w` and sums of squared slopes `squares`.

        Both are (S + 1, C): S seen cells and the intercept, C classes. squares None: all 0.
        """
        penalty_per_visit = None
        if self._q is not None:
            visits = np.append(self.parameterisation.tables.counts.sum(axis=1), self.total)[:, None]
            penalty_per_visit = self._q / np.maximum(1.0, visits)
        table = step_table(self.passes.cells.n_rows, self.passes.padded_width, self._step_rows, self.scale, w,
                           penalty_per_visit, self.center)  # fmt: skip
        if squares is not None:
            table[self._step_rows, SQUARES, : self.n_classes] = squares
        return table

    def weights_in(self, table: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the weights (S + 1, C) in a table that `step_table` made."""
        return table[self._step_rows, WEIGHT, : self.n_classes]

    def weights_and_squares(self, table: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return weights and sums of squared slopes (S + 1, 2, C) in a table that `step_table` made, by seen cell."""
        return table[self._step_rows, WEIGHT : SQUARES + 1, : self.n_classes]

    @property
    def _step_rows(self) -> NDArray[np.int64]:
        """The rows of such a table for the seen cells and b."""
        return np.append(self._cell_rows, self.passes.cells.n_rows)

    @cached_property
    def _direction_table(self) -> Floats:
        return zeros(*self._table.shape)

    def _expand(self, w: Floats, table: Floats) -> tuple[Floats, Floats]:
        phi = self.parameterisation.phi(w)
        table[self._cell_rows, : self.n_classes] = phi[:-1]
        return table, phi[-1].copy()  # a copy: a view would keep all of phi in memory


class StreamLine(Line):
    """F along point.w + t * direction, known at those t that are STEP_MULTIPLES times a guess."""

    def __init__(self, objective: StreamObjective, start: Point, direction: Floats, guess: float | None):
        super().__init__(objective, start, direction)
        self.objective = objective
        self._known_losses: dict[float, Floats] = {}
        self._ready: tuple[float, Point] | None = None
        if guess is not None:
            self._evaluate(guess)

    def move(self, t: float) -> Point:
        """Return the point at t, without a pass if the gradient is known there.

        If F at t turns out higher than at 0, which the interpolation hid, return the point at the known length of
        lowest F.
        """
        if self._ready is not None and self._ready[0] == t:
            return self._ready[1]
        point = self.objective.value_grad(self.start.w + t * self.direction)
        if not point.objective <= self.value:
            best_length = min(self._known_losses, key=lambda length: self.derivatives_at(length)[0])
            if best_length not in (t, 0.0):
                return self.objective.value_grad(self.start.w + best_length * self.direction)
        return point

    def loss_at(self, t: float) -> Floats:
        """Return loss, slope and curvature at t, interpolated between the nearest lengths."""
        if t not in self._known_losses and not self._is_covered(t):
            self._evaluate(t or 1.0)  # steepest descent asks for t = 0 first
        if t in self._known_losses:
            return self._known_losses[t]
        low, high = next((a, b) for a, b in pairwise(sorted(self._known_losses)) if a <= t <= b)
        return _interpolate(t, low, high, self._known_losses[low], self._known_losses[high])

    def _is_covered(self, t: float) -> bool:
        """Return whether t lies between known lengths; not before a first one of higher loss than 0."""
        first_length = min((length for length in self._known_losses if length), default=0.0)
        return 0.0 < t <= max(self._known_losses, default=0.0) and (
            t > first_length or self._known_losses[first_length][0] <= self._known_losses[0.0][0]
        )

    def _evaluate(self, t: float) -> None:
        """Make a pass for lengths around t."""
        lengths = tuple(t * multiple for multiple in STEP_MULTIPLES)
        objective = self.objective
        sums = objective.gather(self.start.w, (self.direction, lengths))
        self._known_losses.update(zip(lengths, sums.line, strict=True))
        self._ready = t, objective.point_of(self.start.w + t * self.direction, sums)


def _interpolate(t: float, low: float, high: float, at_low: Floats, at_high: Floats) -> Floats:
    """Return value, slope and curvature at t of the quintic that has those of at_low (3,) at `low` and at_high at
    `high`.
    """
    h = high - low
    x, powers = (t - low) / h, np.arange(6)
    a0, a1, a2 = at_low * (1.0, h, 0.5 * h * h)
    remainder = at_high * (1.0, h, h * h) - (a0 + a1 + a2, a1 + 2.0 * a2, 2.0 * a2)
    a3, a4, a5 = np.linalg.solve([[1.0, 1.0, 1.0], [3.0, 4.0, 5.0], [6.0, 12.0, 20.0]], remainder)
    terms = np.array([a0, a1, a2, a3, a4, a5])
    result = []
    for order in range(3):
        result.append(float((terms * x ** powers[: len(terms)]).sum()) / h**order)
        terms = terms[1:] * powers[1 : len(terms)]
    return np.array(result)


class Sample:
    """Training rows in memory that stand for all: their Hessian, and fits to them alone.

    Args:
        rows: the sample, n rows.
        parameterisation: of the cells of all rows.
        total: N.
        n_jobs: threads.
        settings: alpha, penalty, center and stop.
    """

    def __init__(
        self, rows: CodedRows, parameterisation: Parameterisation, total: float, n_jobs: int, settings: dict[str, Any]
    ):
        space, codes = parameterisation.tables.space, as_kernel_codes(rows.codes)
        index = CellIndex.from_cells(space, parameterisation.tables.seen_cells)
        plan = plan_cover(codes, space, rows.n_rows)
        cover, (keys,) = cover_rows(plan, space, [codes], np.ones(rows.n_rows, bool), n_jobs, settings["stop"], index)
        settings = {"unseen": None, **settings}
        sample_rows = Rows(rows.y, np.ones(rows.n_rows), rows.n_classes, keys, n_jobs)
        self.objective = LinearObjective(sample_rows, cover, parameterisation, **settings)
        scaled_rows = sample_rows.with_weights(np.full(rows.n_rows, total / rows.n_rows))
        self._scaled = LinearObjective(scaled_rows, cover, parameterisation, **settings)
        self._cell_rows: tuple[Point | None, Any, Any] = (None, None, None)

    def product(self, point: Point, direction: Floats) -> Floats:
        """Return H_sample N / n + 2 alpha q at `point`, times `direction`, both shaped as w."""
        return self._scaled.hvp(self._point_and_missing(point)[0], direction)

    def diagonal(self, point: Point) -> Floats:
        """Return the diagonal of that matrix, shaped as w."""
        return self._scaled.hessian_diagonal(self._point_and_missing(point)[0])

    def missing_diagonal(self, point: Point, diagonal: Floats) -> Floats:
        """Return by how much the diagonal of the loss of all rows, shaped as w, exceeds the sample's."""
        sample_point, missing_diagonal = self._point_and_missing(point)
        if missing_diagonal is None:
            missing_diagonal = np.maximum(
                0.0, diagonal - (self._scaled.hessian_diagonal(sample_point) - self._scaled.ridge)
            )
            self._cell_rows = (point, sample_point, missing_diagonal)
        return missing_diagonal

    def _point_and_missing(self, point: Point) -> tuple[Point, Floats | None]:
        """Return the point with the sample's scores, and the missing diagonal if it is known."""
        if self._cell_rows[0] is not point:
            z = self._scaled.scores(point.w)
            self._cell_rows = (point, Point(point.w, z, Sums(0, 0, 0, 0, 0), 0.0, 0.0, point.gradient), None)
        return self._cell_rows[1], self._cell_rows[2]
