"""Bayesian network classifiers: for each column a table of its levels given its parents' levels and the class.

    score_k(x) = log pi_k + sum over columns j of  log p(x_j | x_parents(j), k)

    p(v | f, k) = (N(v, f, k) + m / card(j)) / (N(f, k) + m)                   where rows of class k have the parents f,
    p(v | f, k) = (N(v, k) + m / card(j)) / (N_k + m)                          where none has: the level by itself

A column's tuple is its parents and itself, the child last. phi = log p on the tuples' cells, so that a network is
scored like other models of cells. It differs from a LinearModel where no training row has a cell: phi then depends on
the parents.

Selective KDB keeps the numbers of columns and parents with the lowest leave-one-out error (Martinez et al., JMLR 2016):

    rmse(k, s)^2 = (1/N) sum over rows i of  weight_i (1/C) sum_c (p_c(x_i) - 1[c = y_i])^2

p is that of KDB with at most k parents each and the first s columns of its order, without row i: its min(1, weight) is
subtracted from its class. One pass for each k gives all s. Of equal errors the fewest columns, then parents, are taken.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import networks as kernels
from alrviz.models.cell_space import TupleSpace
from alrviz.models.direct_counts import LOOKUPS_PER_CALL, index_rows, sum_by_cell
from alrviz.models.index import CellIndex
from alrviz.models.joint_values import Codes
from alrviz.models.linear import LinearModel
from alrviz.models.marginals import Parts, Tree
from alrviz.models.structures import Structure
from alrviz.models.tables import FieldsInPickles, Tables
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.rows import as_kernel_codes
from alrviz.passes.threads import resolve_jobs, run_parts
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded


@dataclass(eq=False, repr=False)
class NetworkModel(FieldsInPickles):
    """Scores rows of codes by a network's tables.

    Attributes:
        structure: parents of each column.
        space: the tuples, one for each column in the structure's order: its parents and itself.
        parents: the same tuples without the child; of a column without parents the column itself, with no seen cell.
        seen_cells, phi: (S,) seen cells of `space`, and (S, C) log p of their last level given the others.
        parent_cells: (P,) seen cells of `parents`.
        unseen_log_p: (P, C) log p of a level that was never seen under these parents; NaN where the class has none.
        level_log_p: (sum of levels, C) log p of each level of each column given the class only.
        cards: (a,) levels of each column that training rows have.
        bias: (C,) log pi.
        sums_missing: whether columns without a level are summed out, in a structure of at most one parent each
            (models/marginals.py); else a column whose parent has no level uses level_log_p.
    """

    structure: Structure
    space: TupleSpace
    parents: TupleSpace
    seen_cells: NDArray[np.int64]
    phi: Floats
    parent_cells: NDArray[np.int64]
    unseen_log_p: Floats
    level_log_p: Floats
    cards: Floats
    bias: Floats
    sums_missing: bool = False

    def __repr__(self) -> str:
        n_cells = len(self.seen_cells)
        return f"<NetworkModel of {self.space.n_tuples} columns: {n_cells:,} cells x {self.n_classes} classes>"

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.bias)

    def scores(self, codes: NDArray[np.unsignedinteger], n_jobs: int | None = None, stop: StopToken = NEVER) -> Floats:
        """Return the class scores (N, C) of codes (a, N); a code >= levels[column] is no level."""
        codes = as_kernel_codes(codes)
        z = self.table_scores(codes, n_jobs, stop)
        if not self.sums_missing:
            return z
        tree, n, chunk_rows = self.tree, codes.shape[1], self._chunk_rows

        def score_chunk(k: int) -> None:
            begin, end = k * chunk_rows, min(n, (k + 1) * chunk_rows)
            parts = Parts.from_rows(tree, codes[:, begin:end], stop)
            parts.add_scores(parts.log_sums(self.phi, self.level_log_p, 1, stop), z[begin:end])

        run_parts(score_chunk, -(-n // chunk_rows), resolve_jobs(n_jobs))
        return z

    def table_scores(
        self, codes: NDArray[np.unsignedinteger], n_jobs: int | None = None, stop: StopToken = NEVER
    ) -> Floats:
        """Return (N, C) the part of the scores of codes (a, N) that needs no sum: bias, and levels under known
        parents.
        """
        return self._scores(codes, self.bias, slice(None), n_jobs, stop)

    def scores_of(self, encoded: "Encoded") -> Floats:
        """Return the class scores (N, C) of encoded rows."""
        return self.scores(encoded.codes)

    def contributions(self, codes: NDArray[np.unsignedinteger]) -> Floats:
        """Return what each tuple adds to each class score of codes (a, N), (N, T, C); with `bias` they sum to the
        scores.

        A sum over missing columns is attributed to the tuple of the missing column nearest to the root.
        """
        no_bias = np.zeros_like(self.bias)
        added_scores = np.empty((codes.shape[1], self.space.n_tuples, self.n_classes))
        for t in range(self.space.n_tuples):
            added_scores[:, t] = self._scores(codes, no_bias, slice(t, t + 1), 1, NEVER)
        if self.sums_missing:
            parts, tuple_of = Parts.from_rows(self.tree, codes), np.argsort(self.structure.children)
            sums = parts.log_sums(self.phi, self.level_log_p)
            np.add.at(added_scores, (parts.rows, tuple_of[parts.roots[parts.part]]), sums[parts.part])
        return added_scores

    def _scores(
        self, codes: NDArray[np.unsignedinteger], bias: Floats, tuple_slice: slice, n_jobs: int | None, stop: StopToken
    ) -> Floats:
        """Return (N, C) the bias (C,) plus what a slice of the tuples adds to the scores of codes (a, N)."""
        codes = as_kernel_codes(codes)
        child_index, parent_index = self._indexes
        tuples = np.arange(self.space.n_tuples)[tuple_slice]
        n, chunk_rows = codes.shape[1], self._chunk_rows
        z = np.empty((n, self.n_classes))
        first_level = np.concatenate([[0], np.cumsum(self.space.levels)])

        def score_chunk(k: int) -> None:
            stop.check()
            begin, end = k * chunk_rows, min(n, (k + 1) * chunk_rows)
            kernels.score(
                child_index.locate(codes, begin, end), parent_index.locate(codes, begin, end), codes, begin, tuples,
                self.structure.children, self.phi, self.unseen_log_p, self.level_log_p, first_level, self.sums_missing,
                bias, z[begin:end],
            )  # fmt: skip

        run_parts(score_chunk, -(-n // chunk_rows), resolve_jobs(n_jobs))
        return z

    def as_linear(self) -> tuple[LinearModel, NDArray[np.intp]]:
        """Return the network as a score table, and the number (S,) in `seen_cells` of each of the table's cells.

        The columns of its tuples ascend. On rows whose cells were seen it has the network's scores.
        """
        space = TupleSpace(self.space.levels, [sorted(columns) for columns in self.space.members])
        tuples, codes = self.space.tuple_of(self.seen_cells), self.space.codes_of(self.seen_cells)
        cells = np.empty_like(self.seen_cells)
        for t, columns in enumerate(self.space.members):
            in_tuple = tuples == t
            cells[in_tuple] = space.cells_at(tuples[in_tuple], codes[in_tuple][:, np.argsort(columns)])
        order = np.argsort(cells)
        return LinearModel(space, cells[order], self.phi[order], self.bias), order

    @property
    def _chunk_rows(self) -> int:
        """Number of rows scored by one call of the kernel."""
        return max(16, LOOKUPS_PER_CALL // max(1, self.space.n_tuples))

    @cached_property
    def tree(self) -> Tree:
        """The tree along which missing columns are summed."""
        return Tree.from_structure(self.structure, self.space, self.seen_cells)

    @cached_property
    def _indexes(self) -> tuple[CellIndex[TupleSpace], CellIndex[TupleSpace]]:
        """The indexes of the seen cells of `space` and of `parents`."""
        return CellIndex.from_cells(self.space, self.seen_cells), CellIndex.from_cells(self.parents, self.parent_cells)


@dataclass(frozen=True, eq=False)
class NetworkCounts:
    """Weights of the training rows in each tuple's cells, and in the parents' cells.

    Attributes:
        tables: those of order 1.
        structure, space, parents, seen_cells, parent_cells: as in `NetworkModel`.
        counts: (S, C) sums of row weights.
        parent_numbers: (S,) the place among `parent_cells` of each cell's parents, -1 for a column without parents.
        parent_counts: (P, C) sums over the child's levels.
    """

    tables: Tables
    structure: Structure
    space: TupleSpace
    parents: TupleSpace
    seen_cells: NDArray[np.int64]
    counts: Floats
    parent_cells: NDArray[np.int64]
    parent_numbers: NDArray[np.int64]
    parent_counts: Floats

    def places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (S,) the child column of each seen cell, and (S,) the place of its level among all levels."""
        levels, tuple_of_seen = self.space.levels, self.space.tuple_of(self.seen_cells)
        child = self.structure.children[tuple_of_seen]
        level_of_child = (self.seen_cells - self.space.first[tuple_of_seen]) % levels[child]
        return child, (np.cumsum(levels) - levels)[child] + level_of_child

    def model(self) -> NetworkModel:
        """Return the network with probabilities of these counts."""
        tables, m = self.tables, self.tables.smoothing
        level_log_p, share_of = level_tables(tables), m / tables.cards
        child, level = self.places()
        phi, has_parents = level_log_p[level], self.parent_numbers >= 0
        parent_counts = self.parent_counts[self.parent_numbers[has_parents]]
        log_p = np.log((self.counts[has_parents] + share_of[child[has_parents], None]) / (parent_counts + m))
        phi[has_parents] = np.where(parent_counts > 0, log_p, phi[has_parents])
        parent_share = share_of[self.structure.children[self.parents.tuple_of(self.parent_cells)]]
        unseen_log_p = np.where(
            self.parent_counts > 0, np.log(parent_share[:, None] / (self.parent_counts + m)), np.nan
        )
        return NetworkModel(
            self.structure, self.space, self.parents, self.seen_cells, phi, self.parent_cells, unseen_log_p,
            level_log_p, tables.cards, tables.log_pi,
        )  # fmt: skip


def count_network(
    structure: Structure,
    tables: Tables,
    codes: Codes,
    y: NDArray[np.int32],
    weights: Floats,
    n_jobs: int = 1,
    stop: StopToken = NEVER,
) -> NetworkCounts:
    """Count the cells of `structure` on training rows of positive weight.

    codes (a, N), y and weights (N,); `tables` are those of order 1.

    Raises:
        MemoryLimitError: a column has more possible cells with its parents than can be numbered.
    """
    levels = tables.space.levels
    tuples = [(*structure.parents[j], j) for j in structure.order]
    space, parents = TupleSpace(levels, tuples), TupleSpace(levels, [columns[:-1] or columns for columns in tuples])
    codes = as_kernel_codes(codes)
    index = index_rows(space, codes, np.arange(codes.shape[1]), n_jobs, stop)
    seen_cells, counts = index.seen_cells, sum_by_cell(index, codes, [(y, weights)], tables.n_classes, n_jobs, stop)
    tuple_of_seen = space.tuple_of(seen_cells)
    has_parents = np.array([len(columns) > 1 for columns in tuples], bool)[tuple_of_seen]
    parent_offset = (seen_cells - space.first[tuple_of_seen]) // levels[structure.children[tuple_of_seen]]
    parent_cell_of_seen = parents.first[tuple_of_seen] + parent_offset
    parent_numbers = np.full(len(seen_cells), -1)
    parent_cells, parent_numbers[has_parents] = np.unique(parent_cell_of_seen[has_parents], return_inverse=True)
    parent_counts = np.zeros((len(parent_cells), tables.n_classes))
    np.add.at(parent_counts, parent_numbers[has_parents], counts[has_parents])
    return NetworkCounts(
        tables, structure, space, parents, seen_cells, counts, parent_cells, parent_numbers, parent_counts
    )


def level_tables(tables: Tables) -> Floats:
    """Return (sum of levels, C) log p of every level of every column given the class, from tables of order 1."""
    levels = tables.space.levels
    log_p = np.repeat(tables.log_theta_unseen, levels, axis=0)
    log_p[tables.seen_cells] = tables.log_theta
    return log_p


def select_network(
    structure: Structure,
    tables: Tables,
    codes: Codes,
    y: NDArray[np.int32],
    weights: Floats,
    n_jobs: int = 1,
    stop: StopToken = NEVER,
) -> tuple[NetworkCounts, Floats]:
    """Return the part of `structure` of the lowest leave-one-out error, and the errors (k + 1, a + 1) by parents and
    columns.

    codes are (a, N), y and weights (N,). Every column of every row must have a level (a missing value is one).
    """
    codes, a = as_kernel_codes(codes), len(structure.order)
    data = (tables, codes, y, weights, n_jobs, stop)
    max_parents = max(map(len, structure.parents))
    squared_errors = np.stack(
        [_squared_errors(count_network(structure.cut(k, a), *data), *data[1:]) for k in range(max_parents + 1)]
    )
    rmse = np.sqrt(squared_errors / weights.sum())
    columns, k = divmod(int(rmse.T.argmin()), max_parents + 1)
    return count_network(structure.cut(k, columns), *data), rmse


def _squared_errors(
    counts: NetworkCounts, codes: Codes, y: NDArray[np.int32], weights: Floats, n_jobs: int, stop: StopToken
) -> Floats:
    """Return (a + 1,) the sum of leave-one-out squared errors over rows, codes (a, N), y, weights (N,), by number of
    columns.
    """
    tables = counts.tables
    index = CellIndex.from_cells(counts.space, counts.seen_cells)
    child = counts.structure.children
    level_counts = np.zeros((int(tables.space.levels.sum()), tables.n_classes))
    level_counts[tables.seen_cells] = tables.counts
    _, level = counts.places()
    n, chunk_rows = len(y), max(16, LOOKUPS_PER_CALL // len(child))
    sums = np.zeros((-(-n // chunk_rows), len(child) + 1))

    def sum_chunk(c: int) -> None:
        stop.check()
        begin, end = c * chunk_rows, min(n, (c + 1) * chunk_rows)
        kernels.leave_one_out(
            index.locate(codes, begin, end), counts.parent_numbers, level, child, begin, y, weights, counts.counts,
            counts.parent_counts, level_counts, tables.class_counts, tables.smoothing / tables.cards,
            tables.smoothing, sums[c],
        )  # fmt: skip

    run_parts(sum_chunk, len(sums), n_jobs)
    return sums.sum(axis=0)
