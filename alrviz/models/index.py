"""The index of seen cells: from codes to the rows of the cell table, in O(1) a tuple.

    cell table (2T + S, W):  row t for cells of tuple t that no training row has, T + t for rows without a level in it,
    then the S seen cells

Only cells that occur are stored, so that 10^5 levels a column cost no more than the rows that have them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import cells as cell_kernels
from alrviz.kernels import joint_values as joint_kernels
from alrviz.models.cell_space import Space
from alrviz.models.joint_values import Codes, Joined
from alrviz.models.plan import Block
from alrviz.passes.aligned_buffers import Floats, zeros
from alrviz.passes.blocks import Blocks
from alrviz.passes.threads import run_parts
from alrviz.stop import NEVER, StopToken

# Rows of a cell table are numbered in int32.
MOST_ROWS = 2**31 - 1
# A tuple's cells are marked in a table of so many bytes while they are few, and sorted beyond.
_STAMPS = 2**22
# A tuple whose possible cells are at most so many times its seen ones has a slot for each: what hashing would take.
_DENSE = 16
# Look-ups of the plain path in one call of a kernel: about 10 ms.
_LOOKUPS = 1_000_000


S = TypeVar("S", bound=Space)

# Joint values that are linked: rows of the cell table that each is tied to already, an array for each; tuples whose
# cells follow; rows that show the joint values.
_Piece = tuple[Sequence[NDArray[np.signedinteger]], NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class CellIndex(Generic[S]):
    """Where a row's cells lie in the cell table: see kernels/cells.py.

    Attributes:
        space: The cell space.
        begin: (T + 1,) int64, where each tuple's seen cells begin.
        local: (S,) int64, the seen cells, each counted within its tuple, ascending.
    """

    space: S
    begin: NDArray[np.int64]
    local: NDArray[np.int64]
    where: NDArray[np.int64]
    mask: NDArray[np.int64]
    shift: NDArray[np.int64]
    slots: NDArray[np.int32]
    held: NDArray[np.int64]

    @classmethod
    def of(cls, space: S, begin: NDArray[np.int64], local: NDArray[np.int64]) -> "CellIndex[S]":
        """Index the seen cells `local`, those of tuple t from begin[t] to begin[t + 1]."""
        number = np.diff(begin)
        dense = space.cards <= _DENSE * number + 64
        room = 2 ** np.ceil(np.log2(np.maximum(2 * number, 2))).astype(np.int64)
        size = np.where(dense, space.cards, room)
        where = np.concatenate([[0], np.cumsum(size)])
        hashed = np.concatenate([[0], np.cumsum(np.where(dense, 0, room))])
        index = cls(
            space, begin, local, where[:-1].copy(), np.where(dense, -1, room - 1), where[:-1] - hashed[:-1],
            np.full(where[-1], -1, np.int32), np.empty(hashed[-1], np.int64),
        )  # fmt: skip
        cell_kernels.fill_index(local, begin, index.where, index.mask, index.shift, index.slots, index.held)
        return index

    @classmethod
    def of_seen(cls, space: S, seen: NDArray[np.int64]) -> "CellIndex[S]":
        """Index the cells numbered `seen` (S,) in the cell space, ascending."""
        begin = np.searchsorted(seen, np.append(space.first, space.n_cells))
        return cls.of(space, begin, seen - np.repeat(space.first, np.diff(begin)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).of, (self.space, self.begin, self.local)  # slots are sooner filled than sent

    @property
    def n_rows(self) -> int:
        """Rows of the cell table, 2T + S."""
        return 2 * self.space.n_tuples + len(self.local)

    @property
    def seen(self) -> NDArray[np.int64]:
        """(S,) the seen cells as the cell space numbers them, ascending."""
        return self.local + np.repeat(self.space.first, np.diff(self.begin))

    def locate(self, codes: Codes, begin: int, end: int) -> NDArray[np.uint32]:
        """Return (end - begin, T): the rows of the cell table that rows begin..end of the codes add up."""
        out = np.empty((end - begin, self.space.n_tuples), np.uint32)
        cell_kernels.locate(codes, begin, end, *self._where(), out)
        return out

    def score(self, codes: Codes, cells: Floats, bias: Floats, n_jobs: int = 1, stop: StopToken = NEVER) -> Floats:
        """Return the scores (N, C) of codes (a, N): the plain path, tuple by tuple, for `cells` (2T + S, C)."""
        n = codes.shape[1]
        z = np.empty((n, len(bias)))
        chunk = max(16, _LOOKUPS // max(1, self.space.n_tuples))
        where = self._where()

        def part(k: int) -> None:
            stop.check()
            cell_kernels.score(codes, k * chunk, min(n, (k + 1) * chunk), *where, cells, bias, z)

        run_parts(part, -(-n // chunk), n_jobs)
        return z

    def add_up(
        self,
        codes: Codes,
        shown: NDArray[np.int64],
        owner: NDArray[np.int32],
        at: NDArray[np.int64],
        tuples: NDArray[np.int64],
        cells: Floats,
        table: Floats,
    ) -> None:
        """Write to table (m, W) the sums of `cells` (2T + S, C) in the tuples of block owner[v], tuples[at[b]:at[b +
        1]], that each row shown[v] of the codes has.
        """
        cell_kernels.sum_cells(codes, shown, owner, at, tuples, *self._where(), cells, table)

    def links(
        self, codes: Codes, blocks: Sequence[Block], joined: Joined, n_jobs: int = 1, stop: StopToken = NEVER
    ) -> Blocks:
        """Return what ties the joint values of `blocks`, found in the codes (a, N), to the cell table."""
        pieces = [(inner.tuples, shown) for block, found in zip(blocks, joined.inner, strict=True)
                  for inner, (_, shown) in zip(block.inner, found, strict=True)]  # fmt: skip
        below = Blocks(*self._linked(codes, [((), *piece) for piece in pieces], n_jobs, stop), self.n_rows)
        starts = iter((below.first[:-1] + self.n_rows).tolist())
        above = [
            ([next(starts) + key for key, _ in found], block.direct, shown)
            for block, shown, found in zip(blocks, joined.shown, joined.inner, strict=True)
        ]
        rows = self.n_rows + below.n_joint
        return Blocks(*self._linked(codes, above, n_jobs, stop), rows, below if pieces else None)

    def _linked(
        self, codes: Codes, pieces: Sequence[_Piece], n_jobs: int, stop: StopToken
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """Where joint values and links of each piece begin, and the links."""
        sizes = np.array([len(shown) for _, _, shown in pieces], np.int64)
        width = np.array([len(ties) + len(tuples) for ties, tuples, _ in pieces], np.int64)
        first, at = (np.concatenate([[0], np.cumsum(size)]).astype(np.int64) for size in (sizes, sizes * width))
        links = np.empty(at[-1], np.int32)

        def one(b: int) -> None:
            stop.check()
            ties, tuples, shown = pieces[b]
            own = links[at[b] : at[b + 1]]
            if not ties:
                cell_kernels.link_joint_values(codes, shown, tuples, *self._where(), own)
                return
            cells = np.empty(len(shown) * len(tuples), np.int32)
            cell_kernels.link_joint_values(codes, shown, tuples, *self._where(), cells)
            table = own.reshape(len(shown), width[b])
            table[:, : len(ties)] = np.transpose(ties)
            table[:, len(ties) :] = cells.reshape(len(shown), len(tuples))

        run_parts(one, len(pieces), n_jobs)
        return first, at, links

    def _where(self) -> tuple[Any, ...]:
        space = self.space
        return (
            space.tuples, space.strides, space.levels, self.where, self.mask, self.shift, self.slots, self.held
        )  # fmt: skip


def most_marked(n_rows: int) -> int:
    """Return the possible cells of a tuple up to which those of so many rows are marked rather than sorted."""
    return min(_STAMPS, 8 * n_rows + 64)


def _distinct(
    space: Space, tuples: NDArray[np.int64], codes: Codes, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many cells `rows` have in each of `tuples`, and the cells, tuple by tuple, ascending.

    Marked where the possible cells are not many times the rows, sorted elsewhere.
    """
    counts, cell = np.empty(len(tuples), np.int64), np.empty(len(rows), np.int64)
    most = most_marked(len(rows))
    if (space.cards[tuples] <= most).all():
        out = np.empty(np.minimum(space.cards[tuples], len(rows)).sum(), np.int64)
        joint_kernels.distinct_cells(
            codes, rows, tuples, space.tuples, space.strides, space.levels, space.cards, cell,
            np.zeros(most, np.uint8), counts, out,
        )  # fmt: skip
        return counts, out[: counts.sum()].copy()
    parts = []
    for k, t in enumerate(tuples):
        joint_kernels.cells_of(codes, rows, space.tuples[t], space.strides[t], space.levels, cell)
        parts.append(np.unique(cell[cell >= 0]))
        counts[k] = len(parts[-1])
    return counts, np.concatenate(parts)


def index_cells(
    space: S,
    pieces: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    codes: Codes,
    n_jobs: int = 1,
    stop: StopToken = NEVER,
) -> CellIndex[S]:
    """Return the index of the cells that rows, codes (a, N), lie in.

    `pieces` have each tuple once: some tuples, and rows that show all joint values of their columns.
    """
    found: list[Any] = [None] * len(pieces)

    def one(p: int) -> None:
        stop.check()
        found[p] = _distinct(space, pieces[p][0], codes, pieces[p][1])

    run_parts(one, len(pieces), n_jobs)
    number = np.empty(space.n_tuples, np.int64)
    for (tuples, _), (counts, _) in zip(pieces, found, strict=True):
        number[tuples] = counts
    begin = np.concatenate([[0], np.cumsum(number)])
    local = np.empty(begin[-1], np.int64)
    for (tuples, _), (counts, cells) in zip(pieces, found, strict=True):
        target = np.repeat(begin[tuples] - np.cumsum(counts) + counts, counts) + np.arange(len(cells))
        local[target] = cells
    return CellIndex.of(space, begin, local)


@dataclass(frozen=True, eq=False)
class Unseen:
    """phi (T, C) of the cells of a tuple that no training row has.

    `known_only`: a row without a level in one of the columns (a skipped missing value) still gets 0.
    """

    phi: Floats
    known_only: bool = False


def cell_table(n_rows: int, n_tuples: int, padded: int, unseen: Unseen | None) -> Floats:
    """Return a cell table (2T + S, W) with what unseen cells add, and 0 for the seen ones."""
    table = zeros(n_rows, padded)
    if unseen is not None:
        classes = unseen.phi.shape[1]
        table[:n_tuples, :classes] = unseen.phi
        if not unseen.known_only:
            table[n_tuples : 2 * n_tuples, :classes] = unseen.phi
    return table
