"""The objective of ELR: the log loss of a Bayesian network with free conditional tables.

    z_k = b_k + sum over columns j of  phi[cell_j(x), k],   phi = w - logsumexp of w over the child's levels   [ELR] (2)
    F(w) = sum over rows of -log p(y | x)
    dF/dphi[c, k] = sum over rows in cell c of  p_k - 1[k = y];   dF/dw as in models/conditional.py      ([ELR] Prop. 1)

Shapes: w and its gradient are (S + 1, C), S the cells of all groups of the tables, the last row b. Scores are not
linear in w, so every trial along a line is a forward pass. The passes are those of every family, with a block for each
column and its parents; where missing columns are summed out, models/marginals.py adds their sums to the scores and
their shares to the gradient.
"""

import numpy as np

from alrviz.errors import RecipeError
from alrviz.fitting.fit_settings import Params
from alrviz.fitting.objectives.ridge import FitObjective, Point
from alrviz.fitting.prepare import TrainingData, class_weighted
from alrviz.models.conditional import ConditionalTables
from alrviz.models.index import CellIndex
from alrviz.models.joint_values import Codes, number_joint_values
from alrviz.models.marginals import Parts
from alrviz.models.networks import NetworkModel, count_network
from alrviz.models.plan import Block
from alrviz.models.structures import Structure
from alrviz.passes.aligned_buffers import Floats, empty, zeros
from alrviz.passes.blocks import Blocks
from alrviz.passes.rows import Rows, as_kernel_codes
from alrviz.stop import NEVER, StopToken


class ConditionalRows(Rows):
    """Rows with a key (T, N) per column, the fixed part of their scores (N, C), and the parts that miss columns.

    `fixed` is None if it is 0, `gaps` if no missing columns are summed out.
    """

    def __init__(self, rows: Rows, keys: Codes, fixed: Floats | None, gaps: Parts | None = None):
        super().__init__(rows.y, rows.weights, rows.n_classes, keys, rows.n_jobs)
        self.fixed, self.gaps = fixed, gaps


class ConditionalObjective(FitObjective):
    """F and its gradient on the rows of a training set.

    Args:
        tables: cells, groups and the start of the weights.
        rows: training rows; their weights count rows in NLL (class weights already multiplied in).
        blocks: links from keys to cells.
        stop: checked between the parts of every pass.
    """

    def __init__(self, tables: ConditionalTables, rows: ConditionalRows, blocks: Blocks, stop: StopToken = NEVER):
        self.tables, self.rows, self.stop, self._blocks = tables, rows, stop, blocks
        self.total, self.n_classes = float(rows.weights.sum()), rows.n_classes
        self._first_seen = 2 * tables.network.space.n_tuples

    @property
    def start(self) -> Floats:
        """The start: the weights of the counted network."""
        return np.concatenate([self.tables.start, self.tables.network.bias[None, :]])

    def scores(self, w: Floats, rows: ConditionalRows | None = None) -> Floats:
        """Return the scores (N, W) of the training rows, or of other `rows`: one forward pass."""
        return self._forward(self.tables.phi(w[:-1]), w[-1], self.rows if rows is None else rows)

    def value(self, w: Floats) -> float:
        """Return F at w (P, C): one forward pass."""
        return self.loss_and_errors(w, self.rows)[0]

    def loss_and_errors(self, w: Floats, rows: ConditionalRows) -> tuple[float, float]:
        """Return the log loss of `rows` at w (P, C), and the weight of those that are classified wrongly."""
        z = self.scores(w, rows)
        sums = rows.loss_and_residual(z, None, 0.0, z, None, self.stop)
        return sums.nll, sums.wrong

    def value_grad(self, w: Floats) -> Point:
        """Return the point at `w`: one forward and one scatter pass."""
        phi = self.tables.phi(w[:-1])
        z, residual = self._forward(phi, w[-1], self.rows), self.rows.scores()
        sums = self.rows.loss_and_residual(z, None, 0.0, z, residual, self.stop)
        cell_table, joint_table = self._new_tables()
        self.rows.scatter(self._blocks, residual, joint_table, self.stop)
        self._blocks.scatter_to_cells(joint_table, cell_table, self.rows.n_jobs, self.stop)
        by_cell = cell_table[self._first_seen :, : self.n_classes]
        if self.rows.gaps is not None:
            level_log_p = self.tables.network.level_log_p
            by_cell += self.rows.gaps.slopes(residual, phi, level_log_p, self.rows.n_jobs, self.stop)
        slopes = self.tables.adjoint(by_cell, phi)
        class_sums = joint_table[: self._blocks.first[1], : self.n_classes].sum(
            axis=0
        )  # every row is in the first block once
        gradient = np.concatenate([slopes, class_sums[None, :]])
        return Point(w, z, sums, 0.0, sums.nll, gradient)

    def phi_norm(self, w: Floats) -> float:
        """Return the length of phi at weights w (S + 1, C), intercepts included."""
        phi = self.tables.phi(w[:-1])
        return float(np.sqrt((phi * phi).sum() + (w[-1] ** 2).sum()))

    def model(self, w: Floats) -> NetworkModel:
        """Return the network with weights `w`."""
        return self.tables.model(self.tables.phi(w[:-1]), w[-1].copy())

    def weights_of(self, model: NetworkModel) -> Floats:
        """Return the weights of a network of the same tables: phi itself.

        Raises:
            RecipeError: the model has other cells or classes.
        """
        fits = isinstance(model, NetworkModel) and model.n_classes == self.n_classes
        if not fits or not np.array_equal(model.seen_cells, self.tables.cells):
            raise RecipeError("start is not a network of these tables; expected an elr model fitted to the same rows")
        return np.concatenate([model.phi, model.bias[None, :]])

    def _forward(self, phi: Floats, bias: Floats, rows: ConditionalRows) -> Floats:
        """Return the scores (N, W) of rows at phi (S, C) and bias (C,)."""
        cell_table, joint_table = self._new_tables()
        cell_table[self._first_seen :, : self.n_classes] = phi
        self._blocks.expand(cell_table, joint_table, rows.n_jobs, self.stop)
        z = rows.forward(self._blocks, joint_table, bias, stop=self.stop)
        if rows.fixed is not None:
            z[:, : self.n_classes] += rows.fixed
        if rows.gaps is not None:
            sums = rows.gaps.log_sums(phi, self.tables.network.level_log_p, rows.n_jobs, self.stop)
            rows.gaps.add_scores(sums, z)
        return z

    def _new_tables(self) -> tuple[Floats, Floats]:
        """Return a cell table of zeros, and the stacked table of joint values."""
        return zeros(self._blocks.n_cells, self.rows.padded_width), empty(self._blocks.n_joint, self.rows.padded_width)


def conditional_objective(
    prepared: TrainingData,
    structure: Structure,
    params: Params,
    stop: StopToken = NEVER,
    *,
    sums_missing: bool = False,
    weigh_heldout: bool = False,
) -> tuple[ConditionalObjective, ConditionalRows | None]:
    """Return the objective of `structure` on the training rows, and the held-out rows, if there are any.

    `params` are an elr recipe's. With `sums_missing` missing columns are summed out, in a structure of at most one
    parent each. With `weigh_heldout` class weights apply to held-out rows too.
    """
    encoded, heldout, jobs = prepared.encoded, prepared.holdout, prepared.n_jobs
    codes, y, weights = encoded.codes, encoded.y, encoded.weights
    single_tables = prepared.tables(1, params["smoothing"], stop)
    tables = ConditionalTables.from_counts(
        count_network(structure, single_tables, codes, y, weights, jobs, stop), sums_missing
    )
    encoded_tables = [encoded] if heldout is None else [encoded, heldout]
    all_codes = as_kernel_codes(np.concatenate([encoded_rows.codes for encoded_rows in encoded_tables], axis=1))
    space = tables.network.space
    blocks = [Block(np.array(columns, np.int32), np.array([t])) for t, columns in enumerate(space.given_tuples)]
    joint = number_joint_values(blocks, all_codes, space.levels, jobs, stop)
    links = CellIndex.from_cells(space, tables.cells).links(all_codes, blocks, joint, jobs, stop)
    # scores of levels alone, where no row has their parents: no cell of the tables has a part in them
    level_model = tables.model(np.zeros_like(tables.start), np.zeros_like(tables.network.bias))
    tree = tables.tree if sums_missing else None
    results, end = [], 0
    for encoded_rows in encoded_tables:
        begin, end = end, end + encoded_rows.n_rows
        rows = Rows(encoded_rows.y, encoded_rows.weights, encoded_rows.n_classes, n_jobs=jobs)
        if encoded_rows is encoded or weigh_heldout:
            rows = class_weighted(rows, params["class_weight"], encoded.classes)
        fixed = level_model.table_scores(encoded_rows.codes, jobs, stop)
        missing_parts = Parts.from_rows(tree, encoded_rows.codes, stop) if tree else None
        keys = np.ascontiguousarray(joint.keys[:, begin:end])
        results.append(ConditionalRows(rows, keys, fixed if fixed.any() else None, missing_parts or None))
    return ConditionalObjective(tables, results[0], links, stop), results[1] if heldout is not None else None
