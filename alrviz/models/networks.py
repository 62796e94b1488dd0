"""Bayesian network classifiers: for each column a table of its levels given its parents' and the class.

    score_k(x) = log pi_k + sum over columns j of  log p(x_j | x_parents(j), k)

    p(v | f, k) = (N(v, f, k) + m / card(j)) / (N(f, k) + m)                   where rows of class k have the parents f,
    p(v | f, k) = (N(v, k) + m / card(j)) / (N_k + m)                          where none has: the level by itself

A column's tuple is its parents and itself, the child last; phi = log p on the tuples' cells, so that a network is one
more phi. What differs from a LinearModel is a cell that no training row has: its phi depends on its parents.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import networks as kernels
from alrviz.models.cell_space import TupleSpace
from alrviz.models.direct_counts import LOOKUPS, index_rows, sum_by_cell
from alrviz.models.index import CellIndex
from alrviz.models.joint_values import Codes
from alrviz.models.marginals import Parts, Tree
from alrviz.models.structures import Structure
from alrviz.models.tables import Tables
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.rows import as_kernel_codes
from alrviz.passes.threads import resolve_jobs, run_parts
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded


@dataclass(eq=False, repr=False)
class NetworkModel:
    """Scores rows of codes by a network's tables.

    Attributes:
        structure: parents of each column.
        space: the tuples, one for each column of the structure's order: its parents and itself.
        parents: the same tuples without the child; a column without parents stands for itself, with no seen cell.
        seen, phi: (S,) seen cells of `space`, and (S, C) log p of their last level given the others.
        above, rest: (P,) seen cells of `parents`, and (P, C) log p of a level that was never seen under them; NaN where
            the class has none of them.
        alone: (sum of levels, C) log p of each level of each column given the class only.
        cards: (a,) levels of each column that training rows have.
        bias: (C,) log pi.
        summed: whether columns without a level are summed out, in a structure of at most one parent each
            (models/marginals.py); else a column whose parent has no level counts by itself.
    """

    structure: Structure
    space: TupleSpace
    parents: TupleSpace
    seen: NDArray[np.int64]
    phi: Floats
    above: NDArray[np.int64]
    rest: Floats
    alone: Floats
    cards: Floats
    bias: Floats
    summed: bool = False

    def __repr__(self) -> str:
        return f"<NetworkModel of {self.space.n_tuples} columns: {len(self.seen):,} cells x {self.n_classes} classes>"

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.bias)

    def scores(self, codes: NDArray[np.unsignedinteger], n_jobs: int | None = None, stop: StopToken = NEVER) -> Floats:
        """Return the class scores (N, C) of codes (a, N); a code >= levels[column] is no level."""
        codes = as_kernel_codes(codes)
        z = self.table_scores(codes, n_jobs, stop)
        if not self.summed:
            return z
        tree, n, chunk = self.tree, codes.shape[1], self._chunk

        def part(k: int) -> None:
            begin, end = k * chunk, min(n, (k + 1) * chunk)
            parts = Parts.of_rows(tree, codes[:, begin:end], stop)
            parts.add_scores(parts.log_sums(self.phi, self.alone, 1, stop), z[begin:end])

        run_parts(part, -(-n // chunk), resolve_jobs(n_jobs))
        return z

    def table_scores(
        self, codes: NDArray[np.unsignedinteger], n_jobs: int | None = None, stop: StopToken = NEVER
    ) -> Floats:
        """Return (N, C), `scores` but for what is summed: bias and what columns with levels under known parents add."""
        return self._scores(codes, self.bias, slice(None), n_jobs, stop)

    def scores_of(self, encoded: "Encoded") -> Floats:
        """Return the class scores (N, C) of encoded rows."""
        return self.scores(encoded.codes)

    def contributions(self, codes: NDArray[np.unsignedinteger]) -> Floats:
        """Return what each tuple adds to each class score, (N, T, C); with `bias` they sum to the scores.

        What is summed is added by the tuple of the missing column nearest to the root.
        """
        nothing = np.zeros_like(self.bias)
        out = np.empty((codes.shape[1], self.space.n_tuples, self.n_classes))
        for t in range(self.space.n_tuples):
            out[:, t] = self._scores(codes, nothing, slice(t, t + 1), 1, NEVER)
        if self.summed:
            parts, tuple_of = Parts.of_rows(self.tree, codes), np.argsort(self.structure.children)
            sums = parts.log_sums(self.phi, self.alone)
            np.add.at(out, (parts.rows, tuple_of[parts.roots[parts.part]]), sums[parts.part])
        return out

    def _scores(
        self, codes: NDArray[np.unsignedinteger], bias: Floats, some: slice, n_jobs: int | None, stop: StopToken
    ) -> Floats:
        codes = as_kernel_codes(codes)
        below, above = self._indexes()
        chosen = np.arange(self.space.n_tuples)[some]
        n, chunk = codes.shape[1], self._chunk
        z = np.empty((n, self.n_classes))
        first = np.concatenate([[0], np.cumsum(self.space.levels)])

        def part(k: int) -> None:
            stop.check()
            begin, end = k * chunk, min(n, (k + 1) * chunk)
            kernels.score(
                below.locate(codes, begin, end), above.locate(codes, begin, end), codes, begin, chosen,
                self.structure.children, self.phi, self.rest, self.alone, first, self.summed, bias, z[begin:end],
            )  # fmt: skip

        run_parts(part, -(-n // chunk), resolve_jobs(n_jobs))
        return z

    @property
    def _chunk(self) -> int:
        """How many rows are scored at a time."""
        return max(16, LOOKUPS // max(1, self.space.n_tuples))

    @property
    def tree(self) -> Tree:
        """The tree that missing columns are summed along, kept until the model is pickled."""
        tree = self.__dict__.get("_tree")
        if tree is None:
            tree = self.__dict__["_tree"] = Tree.of(self.structure, self.space, self.seen)
        return tree

    def _indexes(self) -> tuple[CellIndex[TupleSpace], CellIndex[TupleSpace]]:
        """The indexes of both kinds of seen cells, kept until the model is pickled."""
        cached = self.__dict__.get("_cached")
        if cached is None:
            both = CellIndex.of_seen(self.space, self.seen), CellIndex.of_seen(self.parents, self.above)
            cached = self.__dict__["_cached"] = both
        return cached

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key not in ("_cached", "_tree")}


@dataclass(frozen=True, eq=False)
class NetworkCounts:
    """How often the training rows have each tuple's cells, and their parents alone.

    Attributes:
        tables: those of order 1.
        structure, space, parents, seen, above: as in `NetworkModel`.
        counts: (S, C) sums of row weights.
        of: (S,) the place among `above` of each cell's parents, -1 for a column without.
        totals: (P, C) sums over the child's levels.
    """

    tables: Tables
    structure: Structure
    space: TupleSpace
    parents: TupleSpace
    seen: NDArray[np.int64]
    counts: Floats
    above: NDArray[np.int64]
    of: NDArray[np.int64]
    totals: Floats

    def places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (S,) the child column of each seen cell, and (S,) the place of its level among all levels."""
        levels, t = self.space.levels, self.space.tuple_of(self.seen)
        child = self.structure.children[t]
        return child, (np.cumsum(levels) - levels)[child] + (self.seen - self.space.first[t]) % levels[child]

    def model(self) -> NetworkModel:
        """Return the network."""
        tables, m = self.tables, self.tables.smoothing
        alone, share_of = level_tables(tables), m / tables.cards
        child, level = self.places()
        phi, has_parents = alone[level], self.of >= 0
        under = self.totals[self.of[has_parents]]
        given = np.log((self.counts[has_parents] + share_of[child[has_parents], None]) / (under + m))
        phi[has_parents] = np.where(under > 0, given, phi[has_parents])
        share_above = share_of[self.structure.children[self.parents.tuple_of(self.above)]]
        rest = np.where(self.totals > 0, np.log(share_above[:, None] / (self.totals + m)), np.nan)
        return NetworkModel(
            self.structure, self.space, self.parents, self.seen, phi, self.above, rest, alone, tables.cards,
            tables.log_pi,
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
    """Count the cells of `structure` on training rows of positive weight, codes (a, N), y and weights (N,); `tables`
    are those of order 1.

    Raises:
        MemoryLimitError: where a column has more possible cells with its parents than can be numbered.
    """
    levels = tables.space.levels
    chosen = [(*structure.parents[j], j) for j in structure.order]
    space, parents = TupleSpace(levels, chosen), TupleSpace(levels, [own[:-1] or own for own in chosen])
    codes = as_kernel_codes(codes)
    index = index_rows(space, codes, np.arange(codes.shape[1]), n_jobs, stop)
    seen, counts = index.seen, sum_by_cell(index, codes, [(y, weights)], tables.n_classes, n_jobs, stop)
    t = space.tuple_of(seen)
    has_parents = np.array([len(own) > 1 for own in chosen], bool)[t]
    number = parents.first[t] + (seen - space.first[t]) // levels[structure.children[t]]
    of = np.full(len(seen), -1)
    above, of[has_parents] = np.unique(number[has_parents], return_inverse=True)
    totals = np.zeros((len(above), tables.n_classes))
    np.add.at(totals, of[has_parents], counts[has_parents])
    return NetworkCounts(tables, structure, space, parents, seen, counts, above, of, totals)


def level_tables(tables: Tables) -> Floats:
    """Return (sum of levels, C), log p of every level of every column given the class, from tables of order 1."""
    levels = tables.space.levels
    alone = np.repeat(tables.log_theta_unseen, levels, axis=0)
    alone[tables.seen] = tables.log_theta
    return alone
