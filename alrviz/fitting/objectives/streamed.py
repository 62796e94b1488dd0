"""The penalised loss of a linear family on rows that come in chunks, as solvers see it: one pass for a point or a line.

Formulas are those of objectives/linear.py. No scores of training rows are kept. A pass along a direction d makes the
scores of w and of d together, and gives F and two derivatives at STEP_MULTIPLES times the guess, and the gradient at
the guess itself: mostly that is where the step ends, and the next pass is the next step. Between its lengths F is
interpolated (quintic, by value, slope and curvature at both ends); a length far from all of them is another pass.

Products with the Hessian cost no pass: they are those of a sample of rows in memory, each counting as N/n, and of
what its diagonal lacks of that of all rows, which a pass brings along:

    H = (N / n) H_sample + diag(max(0, D - D_sample)) + 2 alpha q

so that cells which the sample has not are bent as they are in the table. (Byrd, Chin, Neveitt and Nocedal, On the use
of stochastic Hessian information in optimization methods for machine learning, 2011.)
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
from alrviz.passes.vectors import dot
from alrviz.stop import NEVER, StopToken

AT_ONCE = 2**16  # rows in memory whose scores are held together
STEP_MULTIPLES = (1.0, 0.0, 0.0625, 0.25, 0.5, 2.0, 4.0, 8.0)  # times the guess; the gradient is that at the first


class CodedRows(Rows):
    """Rows in memory, by their codes (a, N) and classes (N,): those that are held out."""

    def __init__(self, codes: Codes, y: NDArray[np.int32], n_classes: int):
        super().__init__(y, np.ones(len(y)), n_classes)
        self.codes = codes

    def batches(self) -> Iterator["CodedRows"]:
        """Yield AT_ONCE at a time, however many are held out."""
        for begin in range(0, self.n_rows, AT_ONCE):
            yield self.part(begin, begin + AT_ONCE)

    def part(self, begin: int, end: int) -> "CodedRows":
        """Return some of the rows."""
        return CodedRows(np.ascontiguousarray(self.codes[:, begin:end]), self.y[begin:end], self.n_classes)


@dataclass(frozen=True, eq=False)
class TrainValidationChunk:
    """Rows to choose a setting on: codes and classes of the training rows, and of the validation rows."""

    learned: CodedRows
    judged: CodedRows


@dataclass(frozen=True, eq=False)
class StreamPoint(Point):
    """A point, with the diagonal of the loss's Hessian there, shaped as w, where passes bring it along."""

    diagonal: Floats | None = None


class StreamObjective(CellWeights, Objective):
    """F and its derivatives over chunks of rows.

    Args:
        streamed: counts, passes, and where cells stand in their tables.
        parameterisation: scale, and the tables it stands on.
        alpha, penalty, center: as of LinearObjective.
        unseen: phi of cells that no training row has; None for 0.
        trial: rows on which step lengths of [sALR]'s learner are tried.
        sample: training rows that other learners are tried on; the Hessian of those learned from stands for all.
        spent: passes that were made over the rows before, by counting and selecting.
        stop: asked between the parts of every pass.

    Attributes:
        bends: whether passes bring along what products with the Hessian need.
    """

    exact = 0.5
    bends = False

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
        spent: float = 0.0,
        stop: StopToken = NEVER,
    ):
        tables = parameterisation.tables
        self.passes = streamed.passes
        super().__init__(
            parameterisation.weights_of(center), ridge_of(parameterisation, alpha, penalty),
            total=float(tables.class_counts.sum()), n_classes=tables.n_classes, n_jobs=self.passes.n_jobs,
            alpha=parameterisation.alpha_of_weights(alpha), stop=stop,
        )  # fmt: skip
        self.parameterisation, self.trial, self.sample, self.spent = parameterisation, trial, sample, spent
        self.scale: Floats = parameterisation.scale
        self._unseen = unseen
        self._at, self._table = streamed.rows, streamed.blank(unseen)
        self._of = {"alpha": alpha, "penalty": penalty, "center": center, "stop": stop}

    @cached_property
    def sampled(self) -> "Sample":
        """The rows of the sample that are learned from, for exact passes."""
        return Sample(self.sample.learned, self.parameterisation, self.total, self.n_jobs, self._of)

    def scores(self, w: Floats, rows: CodedRows | None = None) -> Floats:
        """Return the scores (N, W) of rows in memory; of training rows none are kept: (0, W)."""
        if rows is None:
            return zeros(0, self.passes.padded_width)
        return self.passes.scores(rows.codes, *self._expanded(w, self._table))

    def log_loss(self, w: Floats, rows: CodedRows) -> float:
        """Return -log p(y) per row of rows in memory at `w` (S + 1, C), inf where it is no number."""
        with np.errstate(invalid="ignore", over="ignore"):
            z = self.scores(w, rows)
            value = rows.loss_and_residual(z, None, 0.0, z, None).nll / rows.n_rows
        return value if math.isfinite(value) else math.inf

    def value_grad(self, w: Floats) -> Point:
        """Return the point at `w`, without scores: one pass."""
        return self.point_of(w, self.gather(w))

    def line_along(self, point: Point, direction: Floats, guess: float | None = None) -> "StreamLine":
        """Return the line through `point` along `direction`: one pass, whose gradient is that at `guess`."""
        return StreamLine(self, point, direction, guess)

    def hvp(self, point: Point, direction: Floats) -> Floats:
        """Return the Hessian at `point` times `direction`: no pass."""
        product = self.sampled.product(point, direction)
        product += self._lacking(point) * direction
        return product

    def hessian_diagonal(self, point: Point) -> Floats:
        """Return the diagonal of the Hessian at `point`: no pass."""
        return self.sampled.diagonal(point) + self._lacking(point)

    def _lacking(self, point: Point) -> Floats:
        """What the sample's Hessian lacks on its diagonal."""
        assert isinstance(point, StreamPoint)
        assert point.diagonal is not None
        return self.sampled.lacking(point, point.diagonal)

    def gather(self, w: Floats, along: tuple[Floats, tuple[float, ...]] | None = None) -> PassSums:
        """Make a pass over all rows at w (S + 1, C), and at lengths along a direction of its shape: losses and sums of
        residuals.
        """
        table, bias = self._expanded(w, self._table)
        way = None if along is None else Direction(*self._expanded(along[0], self._way), along[1])
        return self.passes.loss_and_gradient(
            table, bias, self.stop, direction=way, with_curvature=self.bends, gradient_rows=self._at
        )

    def point_of(self, w: Floats, found: PassSums) -> Point:
        """Return the point at w (S + 1, C) of what a pass there gathered."""
        point = self._penalised(w, self.scores(w), found.sums, self._slopes(found.gradient, found.total_residual))
        bent = None if found.curvature is None else self._slopes(*found.curvature) * self.scale
        return StreamPoint(**vars(point), diagonal=bent)

    def _slopes(self, summed: Floats, over: Floats) -> Floats:
        """Sums of residuals by seen cells (S, C), and of all, as slopes of w (S + 1, C)."""
        slopes = np.concatenate([summed, over[None, :]])
        slopes *= self.scale
        return slopes

    def step_table(self, w: NDArray[np.floating], squares: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Return what AdaGrad moves (shaped as kernels/adagrad.py says), at `w` and G (S + 1, C), None for 0."""
        pull = None
        if self._q is not None:
            visits = np.append(self.parameterisation.tables.counts.sum(axis=1), self.total)[:, None]
            pull = self._q / np.maximum(1.0, visits)
        table = step_table(self.passes.cells.n_rows, self.passes.padded_width, self._step_rows, self.scale, w, pull,
                           self.center)  # fmt: skip
        if squares is not None:
            table[self._step_rows, SQUARES, : self.n_classes] = squares
        return table

    def weights_in(self, table: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the weights (S + 1, C) of a table that was moved."""
        return table[self._step_rows, WEIGHT, : self.n_classes]

    def moved_in(self, table: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return w and G (S + 1, 2, C) of the same, however the table's rows are numbered."""
        return table[self._step_rows, WEIGHT : SQUARES + 1, : self.n_classes]

    @property
    def _step_rows(self) -> NDArray[np.int64]:
        """Where in such a table the seen cells stand, and b."""
        return np.append(self._at, self.passes.cells.n_rows)

    @cached_property
    def _way(self) -> Floats:
        return zeros(*self._table.shape)

    def _expanded(self, w: Floats, table: Floats) -> tuple[Floats, Floats]:
        phi = self.parameterisation.phi(w)
        table[self._at, : self.n_classes] = phi[:-1]
        return table, phi[-1].copy()  # no view, which would hold all of phi


class StreamLine(Line):
    """F along point.w + t * direction, known at STEP_MULTIPLES times the guess."""

    def __init__(self, objective: StreamObjective, start: Point, direction: Floats, guess: float | None):
        self.objective, self.start, self.direction = objective, start, direction
        self.value, self.slope = start.objective, dot(start.gradient, direction)
        self._bend = objective.penalty_line_derivatives(start.w, direction)
        self._known: dict[float, Floats] = {}
        self._ready: tuple[float, Point] | None = None
        if guess is not None:
            self._look(guess)

    def at(self, t: float) -> tuple[float, float, float]:
        """Return F, dF/dt and d2F/dt2 at t."""
        first, second = self._bend
        loss, slope, curvature = self._loss(t)
        return (
            loss + self.start.penalty + t * (first + 0.5 * t * second),
            slope + first + t * second,
            curvature + second,
        )

    def move(self, t: float) -> Point:
        """Return the point at t: no pass where the gradient there was taken along. Where F proves higher there than at
        0, which interpolation hid, it is the point at the length where F is known to be lowest.
        """
        if self._ready is not None and self._ready[0] == t:
            return self._ready[1]
        point = self.objective.value_grad(self.start.w + t * self.direction)
        if not point.objective <= self.value:
            best = min(self._known, key=lambda length: self.at(length)[0])
            if best not in (t, 0.0):
                return self.objective.value_grad(self.start.w + best * self.direction)
        return point

    def _loss(self, t: float) -> Floats:
        """Loss, slope and curvature at t, interpolated between the nearest lengths."""
        if t not in self._known and not self._between(t):
            self._look(t or 1.0)  # steepest descent asks for 0 first
        if t in self._known:
            return self._known[t]
        low, high = next((a, b) for a, b in pairwise(sorted(self._known)) if a <= t <= b)
        return _between(t, low, high, self._known[low], self._known[high])

    def _between(self, t: float) -> bool:
        """Whether t lies between lengths that are known; a first one where the loss is higher is too far from 0."""
        least = min((length for length in self._known if length), default=0.0)
        return 0.0 < t <= max(self._known, default=0.0) and (t > least or self._known[least][0] <= self._known[0.0][0])

    def _look(self, t: float) -> None:
        """Make a pass around t."""
        lengths = tuple(t * share for share in STEP_MULTIPLES)
        of = self.objective
        found = of.gather(self.start.w, (self.direction, lengths))
        self._known.update(zip(lengths, found.line, strict=True))
        self._ready = t, of.point_of(self.start.w + t * self.direction, found)


def _between(t: float, low: float, high: float, at_low: Floats, at_high: Floats) -> Floats:
    """Value, slope and curvature at t of the quintic that has those given at both ends."""
    h = high - low
    x, powers = (t - low) / h, np.arange(6)
    a0, a1, a2 = at_low * (1.0, h, 0.5 * h * h)
    rest = at_high * (1.0, h, h * h) - (a0 + a1 + a2, a1 + 2.0 * a2, 2.0 * a2)
    a3, a4, a5 = np.linalg.solve([[1.0, 1.0, 1.0], [3.0, 4.0, 5.0], [6.0, 12.0, 20.0]], rest)
    terms = np.array([a0, a1, a2, a3, a4, a5])
    found = []
    for order in range(3):
        found.append(float((terms * x ** powers[: len(terms)]).sum()) / h**order)
        terms = terms[1:] * powers[1 : len(terms)]
    return np.array(found)


class Sample:
    """Training rows in memory that stand for all: how F bends by them, and a fit to them alone.

    Args:
        rows: the sample, n rows.
        parameterisation: of the cells of all rows.
        total: N.
        n_jobs: threads.
        of: alpha, penalty, center and stop.
    """

    def __init__(
        self, rows: CodedRows, parameterisation: Parameterisation, total: float, n_jobs: int, of: dict[str, Any]
    ):
        space, codes = parameterisation.tables.space, as_kernel_codes(rows.codes)
        index = CellIndex.of_seen(space, parameterisation.tables.seen)
        plan = plan_cover(codes, space, rows.n_rows)
        cover, (keys,) = cover_rows(plan, space, [codes], np.ones(rows.n_rows, bool), n_jobs, of["stop"], index)
        of = {"unseen": None, **of}
        own = Rows(rows.y, np.ones(rows.n_rows), rows.n_classes, keys, n_jobs)
        self.alone = LinearObjective(own, cover, parameterisation, **of)
        heavy = own.with_weights(np.full(rows.n_rows, total / rows.n_rows))
        self._for_all = LinearObjective(heavy, cover, parameterisation, **of)
        self._at: tuple[Point | None, Any, Any] = (None, None, None)

    def product(self, point: Point, direction: Floats) -> Floats:
        """Return H_sample N / n + 2 alpha q at `point`, times `direction`, both shaped as w."""
        return self._for_all.hvp(self._seen(point)[0], direction)

    def diagonal(self, point: Point) -> Floats:
        """Return the diagonal of the same, shaped as w."""
        return self._for_all.hessian_diagonal(self._seen(point)[0])

    def lacking(self, point: Point, diagonal: Floats) -> Floats:
        """Return by how much the diagonal of the loss of all rows, shaped as w, exceeds the sample's."""
        found, lacking = self._seen(point)
        if lacking is None:
            lacking = np.maximum(0.0, diagonal - (self._for_all.hessian_diagonal(found) - self._for_all.ridge))
            self._at = (point, found, lacking)
        return lacking

    def _seen(self, point: Point) -> tuple[Point, Floats | None]:
        """The point with the sample's scores."""
        if self._at[0] is not point:
            z = self._for_all.scores(point.w)
            self._at = (point, Point(point.w, z, Sums(0, 0, 0, 0, 0), 0.0, 0.0, point.gradient), None)
        return self._at[1], self._at[2]
