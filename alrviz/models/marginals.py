"""Rows with missing values in a tree of columns: p(k, x) with the missing columns summed out.

    p(k, e) = sum over the levels of the missing columns of  p(k) * product over columns j of  p(x_j | x_parent(j), k)

The product factorises where a column has a level. A *part* is a maximal set of missing columns that are connected in
the tree; its root's parent has a level, or the root has no parent. A part adds the logarithm of one sum to each class
score, computed by sum-product along the tree. A missing column without levels below it sums to 1 and drops out; so does
every missing column of naive Bayes. Equal parts are computed once for all rows that have them.

    score_k(e)           = b_k + sum over columns with a level, whose parent has one, of phi + sum over parts of log sum
    d score_k / d phi    = 1 where a row has the pair of levels;  p(u, v | e, k) where one of them is summed out
    dF / d phi_{v|u,k}   = sum over rows of  (p(k | e) - 1[k = y]) p(u, v | e, k)                  ([ELR] Proposition 1)
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import marginals as kernels
from alrviz.models.cell_space import TupleSpace
from alrviz.models.structures import Structure
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.rows import as_kernel_codes
from alrviz.passes.threads import run_parts
from alrviz.stop import NEVER, StopToken

Ints = NDArray[np.int64]
# Pairs of a level and a parent's level in one call of a kernel: some 10 ms.
_PAIRS_PER_CALL = 500_000
# Numbers of combinations grow by products; they are renumbered before they reach this.
_MAX_NUMBER = 2**62


class Tree(NamedTuple):
    """A structure in which a column has at most one parent, and the places of its tables.

    Attributes:
        order: (a,) columns, each followed by all columns below it.
        place: (a,) of each column in `order`.
        last: (a,) where the columns below a column end in `order`.
        parent: (a,) -1 for none.
        levels, first: (a,) levels, and the place of a column's first level among all levels.
        start: (a,) where a column's tables begin in `rows`.
        rows: for each column and level of its parent (one, without a parent) where the table begins in phi; -1 for no
            table, where p(level | class) is used.
    """

    order: Ints
    place: Ints
    last: Ints
    parent: Ints
    levels: Ints
    first: Ints
    start: Ints
    rows: Ints

    @classmethod
    def from_structure(cls, structure: Structure, space: TupleSpace, table_cells: Ints) -> "Tree":
        """Return the tree of a structure with the tuples `space`; table_cells are the cells of its whole tables."""
        levels, a = space.levels, len(space.levels)
        parent = np.array([parents[0] if parents else -1 for parents in structure.parents], np.int64)
        children: list[list[int]] = [[] for _ in range(a)]
        for j in structure.order:
            if parent[j] >= 0:
                children[parent[j]].append(j)
        order, last, stack = [], np.empty(a, np.int64), [j for j in structure.order if parent[j] < 0][::-1]
        while stack:
            j = stack.pop()
            order.append(j)
            stack += children[j][::-1]
        place = np.empty(a, np.int64)
        place[order] = np.arange(a)
        subtree_sizes = np.ones(a, np.int64)
        for j in order[::-1]:
            last[j] = place[j] + subtree_sizes[j]
            if parent[j] >= 0:
                subtree_sizes[parent[j]] += subtree_sizes[j]
        n_parent_levels = np.where(parent >= 0, levels[parent], 1)
        start, rows = np.cumsum(n_parent_levels) - n_parent_levels, np.full(int(n_parent_levels.sum()), -1)
        for t, j in enumerate(structure.order):
            cells = space.first[t] + levels[j] * np.arange(n_parent_levels[j])
            positions = np.searchsorted(table_cells, cells).clip(max=max(0, len(table_cells) - 1))
            if len(table_cells):
                rows[start[j] : start[j] + n_parent_levels[j]] = np.where(
                    table_cells[positions] == cells, positions, -1
                )
        return cls(np.array(order), place, last, parent, levels, np.cumsum(levels) - levels, start, rows)


@dataclass(frozen=True, eq=False)
class Parts:
    """The distinct parts of some rows, and which rows have them.

    Attributes:
        tree: the columns.
        codes: (a, n) of the rows with missing values.
        roots: (P,) the root of each part, in the tree's order.
        row: (P,) a row of `codes` that has the part.
        part, rows: (M,) pairs of a part and a row that has it.
    """

    tree: Tree
    codes: NDArray[np.unsignedinteger]
    roots: Ints
    row: Ints
    part: Ints
    rows: Ints

    def __len__(self) -> int:
        return len(self.roots)

    @classmethod
    def from_rows(cls, tree: Tree, codes: NDArray[np.unsignedinteger], stop: StopToken = NEVER) -> "Parts":
        """Return the parts of rows of codes (a, N); a code >= levels[column] is missing.

        Raises:
            Stopped: `stop` was called, between columns.
        """
        incomplete_rows = np.flatnonzero((codes >= tree.levels[:, None]).any(axis=0))
        codes = as_kernel_codes(codes[:, incomplete_rows])
        missing = codes >= tree.levels[:, None]
        evidence = ~missing  # of the column or of one below it
        for j in tree.order[::-1]:
            if tree.parent[j] >= 0:
                evidence[tree.parent[j]] |= evidence[j]
        no_rows = np.empty(0, np.int64)
        roots, first_rows_of_parts, part_of_row, rows, n_parts = [no_rows], [no_rows], [no_rows], [no_rows], 0
        for j in tree.order:
            stop.check()
            parent_column = tree.parent[j]
            is_root = missing[j] & evidence[j]
            if parent_column >= 0:
                is_root &= ~missing[parent_column]
            root_rows = np.flatnonzero(is_root)
            if len(root_rows):
                first_rows, number = _number_parts(tree, j, codes, missing, root_rows, stop)
                roots.append(np.full(len(first_rows), j))
                first_rows_of_parts.append(root_rows[first_rows])
                part_of_row.append(n_parts + number)
                rows.append(incomplete_rows[root_rows])
                n_parts += len(first_rows)
        return cls(tree, codes, *(np.concatenate(arrays) for arrays in (roots, first_rows_of_parts, part_of_row, rows)))

    def log_sums(self, phi: Floats, level_log_p: Floats, n_jobs: int = 1, stop: StopToken = NEVER) -> Floats:
        """Return (P, C) what each part adds to the class scores, from phi (S, C) and levels' log p given the class (L,
        C).

        Raises:
            Stopped: `stop` was called, between calls of a kernel.
        """
        sums, pieces = np.empty((len(self), phi.shape[1])), self._pieces()

        def work(task: int) -> None:
            stop.check()
            k, (begin, end) = task // len(pieces), pieces[task % len(pieces)]
            kernels.log_sums(self.codes, self.row, self.roots, begin, end, k, self.tree, phi, level_log_p, sums)

        run_parts(work, len(pieces) * phi.shape[1], n_jobs)
        return sums

    def add_scores(self, sums: Floats, z: Floats) -> None:
        """Add the sums of parts (P, C) to z (N, C or more), the scores of their rows."""
        kernels.add_to_rows(sums, self.part, self.rows, z)

    def slopes(
        self, residual: Floats, phi: Floats, level_log_p: Floats, n_jobs: int = 1, stop: StopToken = NEVER
    ) -> Floats:
        """Return the part of dF/dphi (S, C) that comes from parts, from residuals dF/dscore (N, C or more).

        phi (S, C), and level_log_p (L, C): log p of each level given the class.

        Raises:
            Stopped: `stop` was called, between calls of a kernel.
        """
        part_residual, gradient, pieces = np.zeros((len(self), phi.shape[1])), np.zeros(phi.shape), self._pieces()
        kernels.add_from_rows(residual, self.part, self.rows, part_residual)

        def work(k: int) -> None:  # one class per call, so that no two threads add to one number
            for begin, end in pieces:
                stop.check()
                kernels.add_slopes(
                    self.codes,
                    self.row,
                    self.roots,
                    begin,
                    end,
                    k,
                    self.tree,
                    phi,
                    level_log_p,
                    part_residual,
                    gradient,
                )

        run_parts(work, phi.shape[1], n_jobs)
        return gradient

    def _pieces(self) -> list[tuple[int, int]]:
        """Return ranges of parts for calls of a kernel: of at most _PAIRS_PER_CALL pairs, or one part."""
        tree = self.tree
        n_parent_levels = np.where(tree.parent >= 0, tree.levels[tree.parent], 1)
        n_pairs_before = np.append(0, np.cumsum((tree.levels * n_parent_levels)[tree.order]))
        n_pairs = n_pairs_before[tree.last] - n_pairs_before[tree.place]
        piece_numbers = np.cumsum(n_pairs[self.roots]) // _PAIRS_PER_CALL
        piece_ends = [*(np.flatnonzero(np.diff(piece_numbers)) + 1).tolist(), len(self)]
        return list(zip([0, *piece_ends[:-1]], piece_ends, strict=True)) if len(self) else []


def _number_parts(
    tree: Tree, root: int, codes: NDArray[np.unsignedinteger], missing: NDArray[np.bool_], rows: Ints, stop: StopToken
) -> tuple[Ints, Ints]:
    """Number the distinct parts (sets of missing columns below `root`) that `rows` (n,) of codes (a, N) have.

    Return the first row of each part, and the number (n,) of each row's part. missing: (a, N) where codes are no
    levels.
    """
    part_numbers, n_possible = np.zeros(len(rows), np.int64), 1

    def distinguish(value: NDArray[Any], levels: int) -> None:
        """Distinguish parts by this value (n,) too, which is at most `levels`."""
        nonlocal part_numbers, n_possible
        if n_possible * (levels + 1) >= _MAX_NUMBER:
            _, part_numbers = np.unique(part_numbers, return_inverse=True)
            n_possible = int(part_numbers.max()) + 1
        part_numbers = part_numbers * (levels + 1) + value
        n_possible *= levels + 1

    if tree.parent[root] >= 0:
        distinguish(codes[tree.parent[root], rows], int(tree.levels[tree.parent[root]]))
    rows_with_column_by_node = {root: np.ones(len(rows), bool)}  # of each row's part
    position = tree.place[root]
    while position < tree.last[root]:
        stop.check()
        j, position = tree.order[position], position + 1
        is_in_part = rows_with_column_by_node[j] if j == root else rows_with_column_by_node[tree.parent[j]]
        distinguish(np.where(is_in_part, np.minimum(codes[j, rows], tree.levels[j]), 0), int(tree.levels[j]))
        if tree.last[j] > position:
            rows_with_column_by_node[j] = is_in_part & missing[j, rows]
            if not rows_with_column_by_node[j].any():
                position = tree.last[j]
    _, first_rows, part_numbers = np.unique(part_numbers, return_index=True, return_inverse=True)
    return first_rows, part_numbers
