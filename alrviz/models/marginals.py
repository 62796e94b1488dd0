"""Rows with missing values in a tree of columns: p(k, x) with the missing columns summed out.

    p(k, e) = sum over the levels of the missing columns of  p(k) * product over columns j of p(x_j | x_parent(j), k)

The product falls apart where a column has a level. A *part* is a missing column whose parent has a level, or which has
no parent, and what hangs together with it by missing columns; it adds the logarithm of one sum to each class score, by
sum-product along the tree. A missing column with nothing below it that has a level sums to 1, and drops out: so does
every one of naive Bayes. Parts that are alike in all they depend on are computed once for all rows that have them.

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
# Pairs of a level and its parent's in one call of a kernel, at most: some 10 ms.
_PAIRS = 500_000
# Numbers of distinct combinations grow by products; they are counted anew before they reach this.
_LARGEST = 2**62


class Tree(NamedTuple):
    """A structure in which a column has at most one parent, and where its tables lie.

    Attributes:
        order, place: (a,) columns with all that is below a column behind it, and where each one stands there.
        last: (a,) where what is below a column ends.
        parent: (a,) -1 for none.
        levels, first: (a,) levels, and the place of the first one among all levels.
        start: (a,) where a column's tables begin in `rows`.
        rows: for each column and level of its parent (one, without) where the table begins in phi; -1 where there is
            none, and levels have what they have alone.
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
    def of(cls, structure: Structure, space: TupleSpace, seen: Ints) -> "Tree":
        """Return the tree of a structure with the tuples `space`; `seen` are the cells of its whole tables."""
        levels, a = space.levels, len(space.levels)
        parent = np.array([own[0] if own else -1 for own in structure.parents], np.int64)
        children: list[list[int]] = [[] for _ in range(a)]
        for j in structure.order:
            if parent[j] >= 0:
                children[parent[j]].append(j)
        order, last, left = [], np.empty(a, np.int64), [j for j in structure.order if parent[j] < 0][::-1]
        while left:
            j = left.pop()
            order.append(j)
            left += children[j][::-1]
        place = np.empty(a, np.int64)
        place[order] = np.arange(a)
        size = np.ones(a, np.int64)
        for j in order[::-1]:
            last[j] = place[j] + size[j]
            if parent[j] >= 0:
                size[parent[j]] += size[j]
        above = np.where(parent >= 0, levels[parent], 1)
        start, rows = np.cumsum(above) - above, np.full(int(above.sum()), -1)
        for t, j in enumerate(structure.order):
            cells = space.first[t] + levels[j] * np.arange(above[j])
            found = np.searchsorted(seen, cells).clip(max=max(0, len(seen) - 1))
            if len(seen):
                rows[start[j] : start[j] + above[j]] = np.where(seen[found] == cells, found, -1)
        return cls(np.array(order), place, last, parent, levels, np.cumsum(levels) - levels, start, rows)


@dataclass(frozen=True, eq=False)
class Parts:
    """The distinct parts of some rows, and which rows have them.

    Attributes:
        tree: the columns.
        codes: (a, n) of the rows with gaps.
        roots: (P,) of each part its column that is nearest to the tree's root, in the tree's order.
        row: (P,) which of `codes` has it.
        part, rows: (M,) numbers of a part and of a row that has it, once for each such pair.
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
    def of_rows(cls, tree: Tree, codes: NDArray[np.unsignedinteger], stop: StopToken = NEVER) -> "Parts":
        """Return the parts of rows of codes (a, N); a code >= levels[column] is missing.

        Raises:
            Stopped: where `stop` asks for it, between columns.
        """
        with_gaps = np.flatnonzero((codes >= tree.levels[:, None]).any(axis=0))
        codes = as_kernel_codes(codes[:, with_gaps])
        missing = codes >= tree.levels[:, None]
        evidence = ~missing  # a level, or one somewhere below
        for j in tree.order[::-1]:
            if tree.parent[j] >= 0:
                evidence[tree.parent[j]] |= evidence[j]
        nothing = np.empty(0, np.int64)
        roots, first, part, rows, n = [nothing], [nothing], [nothing], [nothing], 0
        for j in tree.order:
            stop.check()
            above = tree.parent[j]
            chosen = missing[j] & evidence[j]
            if above >= 0:
                chosen &= ~missing[above]
            own = np.flatnonzero(chosen)
            if len(own):
                one, number = _distinct(tree, j, codes, missing, own, stop)
                roots.append(np.full(len(one), j))
                first.append(own[one])
                part.append(n + number)
                rows.append(with_gaps[own])
                n += len(one)
        return cls(tree, codes, *(np.concatenate(each) for each in (roots, first, part, rows)))

    def log_sums(self, phi: Floats, alone: Floats, n_jobs: int = 1, stop: StopToken = NEVER) -> Floats:
        """Return (P, C) what each part adds to the class scores, by phi (S, C) and levels' own log p (L, C).

        Raises:
            Stopped: where `stop` asks for it, between calls of a kernel.
        """
        sums, pieces = np.empty((len(self), phi.shape[1])), self._pieces()

        def work(task: int) -> None:
            stop.check()
            k, (begin, end) = task // len(pieces), pieces[task % len(pieces)]
            kernels.log_sums(self.codes, self.row, self.roots, begin, end, k, self.tree, phi, alone, sums)

        run_parts(work, len(pieces) * phi.shape[1], n_jobs)
        return sums

    def add_scores(self, sums: Floats, z: Floats) -> None:
        """Add what parts have (P, C) to the scores (N, C or more) of their rows."""
        kernels.add_to_rows(sums, self.part, self.rows, z)

    def slopes(self, residual: Floats, phi: Floats, alone: Floats, n_jobs: int = 1, stop: StopToken = NEVER) -> Floats:
        """Return dF/dphi (S, C), as far as it comes of parts, of residuals dF/dscore (N, C or more).

        Raises:
            Stopped: where `stop` asks for it, between calls of a kernel.
        """
        own, out, pieces = np.zeros((len(self), phi.shape[1])), np.zeros(phi.shape), self._pieces()
        kernels.add_from_rows(residual, self.part, self.rows, own)

        def work(k: int) -> None:  # a class each: no two threads add to one number
            for begin, end in pieces:
                stop.check()
                kernels.add_slopes(self.codes, self.row, self.roots, begin, end, k, self.tree, phi, alone, own, out)

        run_parts(work, phi.shape[1], n_jobs)
        return out

    def _pieces(self) -> list[tuple[int, int]]:
        """Where the parts of each call of a kernel begin and end: as many as have _PAIRS at most, and one at least."""
        tree = self.tree
        above = np.where(tree.parent >= 0, tree.levels[tree.parent], 1)
        pairs = np.append(0, np.cumsum((tree.levels * above)[tree.order]))
        size = pairs[tree.last] - pairs[tree.place]
        number = np.cumsum(size[self.roots]) // _PAIRS
        ends = [*(np.flatnonzero(np.diff(number)) + 1).tolist(), len(self)]
        return list(zip([0, *ends[:-1]], ends, strict=True)) if len(self) else []


def _distinct(
    tree: Tree, root: int, codes: NDArray[np.unsignedinteger], missing: NDArray[np.bool_], rows: Ints, stop: StopToken
) -> tuple[Ints, Ints]:
    """Return the first of each kind among the parts below `root` that `rows` (n,) of codes (a, N) have, and of each of
    these rows the number of its part (n,); missing (a, N): where codes are no levels.
    """
    number, most = np.zeros(len(rows), np.int64), 1

    def tell(value: NDArray[Any], levels: int) -> None:
        """Number parts by this (n,), at most `levels`, too."""
        nonlocal number, most
        if most * (levels + 1) >= _LARGEST:
            _, number = np.unique(number, return_inverse=True)
            most = int(number.max()) + 1
        number = number * (levels + 1) + value
        most *= levels + 1

    if tree.parent[root] >= 0:
        tell(codes[tree.parent[root], rows], int(tree.levels[tree.parent[root]]))
    inside = {root: np.ones(len(rows), bool)}  # which rows' parts have the column
    at = tree.place[root]
    while at < tree.last[root]:
        stop.check()
        j, at = tree.order[at], at + 1
        within = inside[j] if j == root else inside[tree.parent[j]]
        tell(np.where(within, np.minimum(codes[j, rows], tree.levels[j]), 0), int(tree.levels[j]))
        if tree.last[j] > at:
            inside[j] = within & missing[j, rows]
            if not inside[j].any():
                at = tree.last[j]
    _, first, number = np.unique(number, return_index=True, return_inverse=True)
    return first, number
