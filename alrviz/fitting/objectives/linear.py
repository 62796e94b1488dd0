"""The penalised loss of a linear family.

    F(w) = loss(phi) + sum alpha q (w - center)^2,              phi = scale * w[weight_index]
    alpha is one number, or one per order; for the intercepts the smallest
    q = 1 (penalty on w) or the sum of scale^2 over the weight's places (penalty on phi; of steps the mean)
    dloss/dphi[c, k] = sum over rows in cell c of the residual (p_k - 1[k = y] for nll: see kernels/scores.py)
    dF/dw = sum over the weight's places of scale * dloss/dphi + 2 alpha q (w - center)

Shapes: phi is (S + 1, C): one row per seen cell, the last one for the intercepts; w, its gradient and every direction
too, unless weights are shared (see models/parameterisation.py).
"""

import math

import numpy as np

from alrviz.errors import RecipeError
from alrviz.fitting.objectives.ridge import LineObjective, Point, ScoredObjective
from alrviz.models.index import Unseen, cell_table
from alrviz.models.linear import LinearModel
from alrviz.models.parameterisation import Alpha, Parameterisation, curvature_at_shares
from alrviz.models.plan import Block
from alrviz.models.set_cover import Cover
from alrviz.models.tables import Tables
from alrviz.passes.aligned_buffers import Floats, empty, zeros
from alrviz.passes.losses import NLL, Loss
from alrviz.passes.rows import Rows
from alrviz.passes.stochastic import SingleRows
from alrviz.stop import NEVER, StopToken


def ridge_of(parameterisation: Parameterisation, alpha: Alpha, penalty: str) -> Floats | None:
    """Return 2 alpha q, shaped as w (S + 1, C) or as shared weights; None without a penalty."""
    alphas = parameterisation.alpha_of_weights(alpha)
    q = parameterisation.penalty_weights if penalty == "phi" else np.ones(parameterisation.shape)
    return 2.0 * alphas * q if np.any(alphas) else None


class CellWeights:
    """Base of the objectives of weights of seen cells, with rows in memory or in chunks."""

    parameterisation: Parameterisation
    bounds: tuple[float, float] | None
    total: float
    _unseen: Unseen | None
    _blocks: tuple[Block, ...] | None = None  # of the cover of the tuples, if the fit has one

    @property
    def _tables(self) -> Tables:
        return self.parameterisation.tables

    def phi_norm(self, w: Floats) -> float:
        """Return the length of phi at weights `w`, intercepts included."""
        phi = self.parameterisation.phi(w)
        return math.sqrt(float((phi * phi).sum()))

    def criterion(self, point: Point) -> float:
        """Return the stopping criterion, which is small at the optimum: the largest |dF/dw| / (s N) of the weights.

        s is the norm of the scales of the places of phi that a weight moves (weights with s = 0 are left out), and N
        the rows' total weight. A slope that points beyond a bound counts as 0.
        """
        norms = self.parameterisation.scale_norms
        slope = np.divide(self._projected(point), norms, out=np.zeros_like(norms), where=norms != 0)
        return float(np.abs(slope).max(initial=0.0)) / self.total

    def _projected(self, point: Point) -> Floats:
        """Return the gradient, 0 where F falls only beyond a bound."""
        if self.bounds is None:
            return point.gradient
        low, high = self.bounds
        outward = ((point.w <= low) & (point.gradient > 0.0)) | ((point.w >= high) & (point.gradient < 0.0))
        return np.where(outward, 0.0, point.gradient)

    def model(self, w: Floats) -> LinearModel:
        """Return the model with weights `w`."""
        phi = self.parameterisation.phi(w)
        return LinearModel(self._tables.space, self._tables.seen_cells, phi[:-1], phi[-1], self._unseen, self._blocks)

    def weights_of(self, model: LinearModel) -> Floats:
        """Return the w whose phi is that of a model of the same cells, or the nearest if weights are shared.

        Raises:
            RecipeError: the model has other cells or classes than these rows.
        """
        if model.n_classes != self._tables.n_classes or not np.array_equal(model.seen_cells, self._tables.seen_cells):
            raise RecipeError(
                f"start has {len(model.seen_cells)} cells of {model.n_classes} classes, but these rows have "
                f"{len(self._tables.seen_cells)} of {self._tables.n_classes}; expected a model of the same rows and "
                "order"
            )
        return self.parameterisation.weights_at(np.concatenate([model.phi, model.bias[None, :]]))

    def weights_near(self, model: LinearModel) -> Floats | None:
        """Return the w (S + 1, C) whose phi is that of a model of other rows, 0 in cells that it lacks; None if columns
        have other levels there.
        """
        space, seen_cells = self._tables.space, self._tables.seen_cells
        if model.n_classes != self._tables.n_classes or not np.array_equal(model.space.levels, space.levels):
            return None
        number_of_tuple = model.space.numbers
        tuple_numbers = np.array([number_of_tuple.get(tuple(columns), -1) for columns in space.members], np.int64)
        t = space.tuple_of(seen_cells)
        cells = np.where(tuple_numbers < 0, -1, model.space.first[tuple_numbers] - space.first)[t]
        cells = np.where(tuple_numbers[t] < 0, -1, cells + seen_cells)
        places = np.minimum(np.searchsorted(model.seen_cells, cells), max(0, len(model.seen_cells) - 1))
        phi = np.zeros((len(seen_cells) + 1, model.n_classes))
        is_shared = model.seen_cells[places] == cells
        phi[:-1][is_shared] = model.phi[places[is_shared]]
        phi[-1] = model.bias
        return self.parameterisation.weights_at(phi)


class LinearObjective(CellWeights, ScoredObjective):
    """F and its derivatives on the rows of a training set.

    Args:
        rows: training rows; their weights count rows in NLL (class weights already multiplied in).
        cover: how rows look up their cells.
        parameterisation: scale, and the tables it is for.
        alpha: weight of the penalty, at least 0; or one for each order.
        penalty: "phi" or "w".
        center: 0, 1 or "anje".
        unseen: phi of cells that no training row has, for scores on other rows; None for 0.
        loss: the loss of a row.
        bounds: of every w, intercepts included; None without bounds.
        stop: checked between the parts of every pass.
    """

    def __init__(
        self,
        rows: Rows,
        cover: Cover,
        parameterisation: Parameterisation,
        *,
        alpha: Alpha,
        penalty: str,
        center: object,
        unseen: Unseen | None = None,
        loss: Loss = NLL,
        bounds: tuple[float, float] | None = None,
        stop: StopToken = NEVER,
    ):
        center_weights = parameterisation.weights_of(center)
        super().__init__(rows, center_weights, None, alpha=0.0, loss=loss, bounds=bounds, stop=stop)
        self.parameterisation, self._penalty = parameterisation, penalty
        self.penalise(alpha)
        self.scale = parameterisation.scale
        self._unseen = unseen
        self._cover, self._blocks = cover, cover.plan.blocks
        # buffers for phi and for the gradient in turn, by cell and by joint value
        self._unseen_cells = cell_table(
            2 * self._tables.space.n_tuples, self._tables.space.n_tuples, rows.padded_width, unseen
        )
        self._cells = zeros(cover.blocks.n_cells, rows.padded_width)
        self._seen_cells = self._cells[len(self._unseen_cells) : cover.index.n_rows]
        self._table = empty(cover.blocks.n_joint, rows.padded_width)

    def penalise(self, alpha: Alpha) -> None:
        """Change alpha for points made from now on; earlier points are not changed."""
        self.alpha = self.parameterisation.alpha_of_weights(alpha)
        self._q = ridge_of(self.parameterisation, alpha, self._penalty)

    def slopes_on(self, w: Floats, rows: Rows) -> Floats:
        """Return the slopes by `w` (S + 1, C) of the sum of -log p(y) over other rows: a forward and a scatter pass."""
        z, residual = self.scores(w, rows), self._score_buffer(rows)
        rows.loss_and_residual(z, None, 0.0, z, residual, self.stop)
        return self.slopes(residual, rows)

    def scores(self, w: Floats, rows: Rows | None = None) -> Floats:
        """Return the scores (N, W) of the training rows, or of other `rows`, recomputed from `w`: one forward pass."""
        rows = self.rows if rows is None else rows
        table, bias = self._expand(w, rows, change=False)
        return rows.forward(self._cover.blocks, table, bias, self._score_buffer(rows), self.stop)

    def change(self, direction: Floats) -> Floats:
        """Return the change of the scores (N, W) by a `direction` of the weights, shaped as w; pads 0: one forward
        pass.
        """
        table, bias = self._expand(direction, self.rows, change=True)
        return self.rows.forward(self._cover.blocks, table, bias, self._score_buffer(self.rows), self.stop, 0.0)

    def line_along(self, point: Point, direction: Floats, guess: float | None = None) -> LineObjective:
        """Return the line through `point` along `direction`: one forward pass, which also evaluates the loss at
        `guess`.
        """
        if guess is None:
            return super().line_along(point, direction)
        table, bias = self._expand(direction, self.rows, change=True)
        args = (self._cover.blocks, table, bias, point.z, guess, self._score_buffer(self.rows), self.stop, self.loss)
        dz, derivatives = self.rows.forward_and_line_eval(*args)
        return LineObjective(self, point, direction, dz, {guess: derivatives})

    def slopes(self, residual: Floats, rows: Rows | None = None) -> Floats:
        """Return the derivatives by w of residuals (N, W), of training rows or of other `rows`: one scatter pass."""
        parameterisation = self.parameterisation
        return parameterisation.slopes(
            *self._gather(residual, rows), self.buffers.empty(*parameterisation.scale.shape), self.rows.n_jobs
        )

    def curvature(self, point: Point) -> Floats:
        """Return the diagonal of the loss's Hessian with respect to phi, (S + 1, C): half a pass."""
        diagonal = self.rows.diagonal(point.z, self.stop, self.loss, self._score_buffer(self.rows))
        cells, total = self._gather(diagonal)
        return np.concatenate([cells[:, : self.n_classes], total[None, :]])

    def metric(self, point: Point) -> Floats | None:
        """Return s^2 of the step from `point`, shaped as w, if units change at every step ("adaptive").

            s^2 = 1 / (max(sum over the cell's rows of p_k (1 - p_k), 1e-3 N_cell pi_k (1 - pi_k)) + 2 alpha)

        None in every other parameterisation, whose units are `scale`. Half a pass. ([WANBIA-C] IV.B)
        """
        parameterisation = self.parameterisation
        if parameterisation.kind != "adaptive":
            return None
        curvature = self.curvature(point)
        np.maximum(curvature, parameterisation.min_curvature, out=curvature)
        curvature += 2.0 * self.alpha
        return np.reciprocal(curvature, out=curvature)

    def hessian_diagonal(self, point: Point) -> Floats:
        """Return the diagonal of the Hessian of F, shaped as w; cells of a shared weight count separately."""
        return self._penalised_diagonal(self.curvature(point))

    def diagonal_at_shares(self) -> Floats:
        """Return the diagonal of the Hessian of F, shaped as w, if every row had p = pi: known without a pass."""
        return self._penalised_diagonal(curvature_at_shares(self.parameterisation.tables))

    def _penalised_diagonal(self, curvature: Floats) -> Floats:
        """Return the diagonal of the Hessian of F from `curvature`, that of the loss by phi (S + 1, C), which is
        overwritten.
        """
        diagonal = self.parameterisation.diagonal(curvature)
        if self._q is not None:
            diagonal += self._q
        return diagonal

    def single_rows(self) -> SingleRows:
        """Return the training rows for solvers that visit them one by one."""
        parameterisation, cover = self.parameterisation, self._cover
        return SingleRows(
            self.rows,
            cover.blocks,
            len(self._unseen_cells),
            parameterisation.scale,
            parameterisation.weight_index,
            self.loss,
        )

    def _expand(self, w: Floats, rows: Rows, change: bool) -> tuple[Floats, Floats]:
        """Return the sums of phi by joint value (V, W), blocks below each other, and phi of the intercepts (C,).

        change: whether `w` is a change of the weights; phi of unseen cells does not change. Of `rows` only the number
        of threads is used.
        """
        n_unseen = len(self._unseen_cells)
        self._cells[:n_unseen] = 0.0 if change else self._unseen_cells
        intercepts = self.parameterisation.spread(w, self._seen_cells, rows.n_jobs)
        return self._cover.blocks.expand(self._cells, self._table, rows.n_jobs, self.stop), intercepts

    def _gather(self, residual: Floats, rows: Rows | None = None) -> tuple[Floats, Floats]:
        """Return sums of residuals (N, W), of training rows or of other `rows`: by cell (S, W), and over all rows (C,).

        Every row has one joint value in the first block, so the sum of that block is the sum over all rows.
        """
        blocks = self._cover.blocks
        (rows or self.rows).scatter(blocks, residual, self._table, self.stop)
        self._cells[:] = 0.0
        blocks.scatter_to_cells(self._table, self._cells, self.rows.n_jobs, self.stop)
        return self._seen_cells, self._table[: blocks.first[1], : self.n_classes].sum(axis=0)
