"""The index of seen cells: from codes to the rows of the cell table, in O(1) a tuple.

    cell table (2T + S, W):  row t for cells of tuple t that no training row has, T + t for rows without a level in it,
    then the S seen cells

Only cells that occur are stored, so that a column of 10^5 levels costs no more than the rows that have them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import cells as cell_kernels
from alrviz.models.cell_space import Space
from alrviz.models.joint_values import Codes, JointValues
from alrviz.models.plan import Block
from alrviz.passes.aligned_buffers import Floats, zeros
from alrviz.passes.blocks import Blocks
from alrviz.passes.threads import run_parts
from alrviz.stop import NEVER, StopToken

# Rows of a cell table are numbered in int32.
MAX_ROWS = 2**31 - 1
# Distinct cells of a tuple are found by marking them in a table of at most so many bytes; beyond, by sorting.
_MAX_MARK_BYTES = 2**22
# A tuple with at most so many possible cells per seen cell has a slot for each: about what hashing would need.
_MAX_SLOTS_PER_CELL = 16
# Look-ups of the plain path in one call of a kernel: about 10 ms.
_LOOKUPS_PER_CALL = 1_000_000


S = TypeVar("S", bound=Space)

# Joint values to link: rows of the cell table that they are linked to already, an array for each link; tuples whose
# cells are still to be linked; and example rows of the joint values.
_Piece = tuple[Sequence[NDArray[np.signedinteger]], NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True, eq=False)
class CellIndex(Generic[S]):
    """The index of a cell space's seen cells; kernels/cells.py defines start, mask, shift, slots and slot_cells.

    Attributes:
        space: the cell space.
        begin: (T + 1,) int64, where each tuple's seen cells begin.
        local_cells: (S,) int64, the seen cells, each counted within its tuple, ascending.
    """

    space: S
    begin: NDArray[np.int64]
    local_cells: NDArray[np.int64]
    start: NDArray[np.int64]
    mask: NDArray[np.int64]
    shift: NDArray[np.int64]
    slots: NDArray[np.int32]
    slot_cells: NDArray[np.int64]

    @classmethod
    def from_local_cells(cls, space: S, begin: NDArray[np.int64], local: NDArray[np.int64]) -> "CellIndex[S]":
        """Index the seen cells of `space`, each counted within its tuple.

        Tuple t's cells are local[begin[t] : begin[t + 1]], of local (S,).
        """
        n_cells = np.diff(begin)
        is_dense = space.cards <= _MAX_SLOTS_PER_CELL * n_cells + 64
        n_slots = 2 ** np.ceil(np.log2(np.maximum(2 * n_cells, 2))).astype(np.int64)
        n_tuple_slots = np.where(is_dense, space.cards, n_slots)
        slot_start = np.concatenate([[0], np.cumsum(n_tuple_slots)])
        hashed_slot_start = np.concatenate([[0], np.cumsum(np.where(is_dense, 0, n_slots))])
        index = cls(
            space, begin, local, slot_start[:-1].copy(), np.where(is_dense, -1, n_slots - 1),
            slot_start[:-1] - hashed_slot_start[:-1], np.full(slot_start[-1], -1, np.int32),
            np.empty(hashed_slot_start[-1], np.int64),
        )  # fmt: skip
        cell_kernels.fill_index(local, begin, index.start, index.mask, index.shift, index.slots, index.slot_cells)
        return index

    @classmethod
    def from_cells(cls, space: S, seen_cells: NDArray[np.int64]) -> "CellIndex[S]":
        """Index the cells numbered `seen_cells` (S,) in the cell space, ascending."""
        begin = np.searchsorted(seen_cells, np.append(space.first, space.n_cells))
        return cls.from_local_cells(space, begin, seen_cells - np.repeat(space.first, np.diff(begin)))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_local_cells, (
            self.space,
            self.begin,
            self.local_cells,
        )  # filling slots is faster than sending them

    @property
    def n_rows(self) -> int:
        """Number of rows of the cell table, 2T + S."""
        return 2 * self.space.n_tuples + len(self.local_cells)

    @property
    def seen_cells(self) -> NDArray[np.int64]:
        """(S,) the seen cells as the cell space numbers them, ascending."""
        return self.local_cells + np.repeat(self.space.first, np.diff(self.begin))

    def locate(self, codes: Codes, begin: int, end: int) -> NDArray[np.uint32]:
        """Return (end - begin, T): the row of the cell table that rows begin..end of the codes have in each tuple."""
        out = np.empty((end - begin, self.space.n_tuples), np.uint32)
        cell_kernels.locate(codes, begin, end, *self.kernel_arguments, out)
        return out

    def score(self, codes: Codes, cells: Floats, bias: Floats, n_jobs: int = 1, stop: StopToken = NEVER) -> Floats:
        """Return the scores (N, C) of codes (a, N): bias (C,) plus the rows of `cells` (2T + S, C) looked up tuple by
        tuple.
        """
        n = codes.shape[1]
        z = np.empty((n, len(bias)))
        chunk = max(16, _LOOKUPS_PER_CALL // max(1, self.space.n_tuples))
        arguments = self.kernel_arguments

        def part(k: int) -> None:
            stop.check()
            cell_kernels.score(codes, k * chunk, min(n, (k + 1) * chunk), *arguments, cells, bias, z)

        run_parts(part, -(-n // chunk), n_jobs)
        return z

    def links(
        self, codes: Codes, blocks: Sequence[Block], joined: JointValues, n_jobs: int = 1, stop: StopToken = NEVER
    ) -> Blocks:
        """Return the links from joint values of `blocks`, found in the codes (a, N), to the cell table."""
        inner_pieces = [(inner.tuples, examples) for block, values in zip(blocks, joined.inner, strict=True)
                        for inner, (_, examples) in zip(block.inner, values, strict=True)]  # fmt: skip
        inner_blocks = Blocks(
            *self._link_pieces(codes, [((), *piece) for piece in inner_pieces], n_jobs, stop), self.n_rows
        )
        inner_rows = iter((inner_blocks.first[:-1] + self.n_rows).tolist())
        pieces = [
            ([next(inner_rows) + key for key, _ in values], block.direct_tuples, examples)
            for block, examples, values in zip(blocks, joined.examples, joined.inner, strict=True)
        ]
        rows = self.n_rows + inner_blocks.n_joint
        return Blocks(*self._link_pieces(codes, pieces, n_jobs, stop), rows, inner_blocks if inner_pieces else None)

    def _link_pieces(
        self, codes: Codes, pieces: Sequence[_Piece], n_jobs: int, stop: StopToken
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]:
        """Return where the joint values and the links of each of `pieces` begin, and the links; codes (a, N)."""
        n_joint_values = np.array([len(examples) for _, _, examples in pieces], np.int64)
        links_per_value = np.array([len(known_tuples) + len(tuples) for known_tuples, tuples, _ in pieces], np.int64)
        first_value, first_link = (
            np.concatenate([[0], np.cumsum(size)]).astype(np.int64)
            for size in (n_joint_values, n_joint_values * links_per_value)
        )
        links = np.empty(first_link[-1], np.int32)

        def link_piece(b: int) -> None:
            stop.check()
            known_links, tuples, examples = pieces[b]
            piece_links = links[first_link[b] : first_link[b + 1]]
            if not known_links:
                cell_kernels.link_joint_values(codes, examples, tuples, *self.kernel_arguments, piece_links)
                return
            cells = np.empty(len(examples) * len(tuples), np.int32)
            cell_kernels.link_joint_values(codes, examples, tuples, *self.kernel_arguments, cells)
            link_table = piece_links.reshape(len(examples), links_per_value[b])
            link_table[:, : len(known_links)] = np.transpose(known_links)
            link_table[:, len(known_links) :] = cells.reshape(len(examples), len(tuples))

        run_parts(link_piece, len(pieces), n_jobs)
        return first_value, first_link, links

    @property
    def kernel_arguments(self) -> tuple[Any, ...]:
        """The arguments by which kernels look up cells."""
        space = self.space
        return (
            space.tuples, space.strides, space.levels, self.start, self.mask, self.shift, self.slots, self.slot_cells
        )  # fmt: skip


def max_marked_cells(n_rows: int) -> int:
    """Return the number of possible cells of a tuple up to which those of n_rows rows are marked, not sorted."""
    return min(_MAX_MARK_BYTES, 8 * n_rows + 64)


def _distinct_cells(
    space: Space, tuples: NDArray[np.int64], codes: Codes, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many cells `rows` of codes (a, N) have in each of `tuples`, and the cells, tuple by tuple, ascending.

    Cells are marked where the possible ones are not many times the rows, else sorted.
    """
    counts, row_cells = np.empty(len(tuples), np.int64), np.empty(len(rows), np.int64)
    max_marked = max_marked_cells(len(rows))
    if (space.cards[tuples] <= max_marked).all():
        cells = np.empty(np.minimum(space.cards[tuples], len(rows)).sum(), np.int64)
        cell_kernels.distinct_cells(
            codes, rows, tuples, space.tuples, space.strides, space.levels, space.cards, row_cells,
            np.zeros(max_marked, np.uint8), counts, cells,
        )  # fmt: skip
        return counts, cells[: counts.sum()].copy()
    cells_by_tuple = []
    for k, t in enumerate(tuples):
        cell_kernels.cells_of(codes, rows, space.tuples[t], space.strides[t], space.levels, row_cells)
        cells_by_tuple.append(np.unique(row_cells[row_cells >= 0]))
        counts[k] = len(cells_by_tuple[-1])
    return counts, np.concatenate(cells_by_tuple)


def index_cells(
    space: S,
    pieces: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    codes: Codes,
    n_jobs: int = 1,
    stop: StopToken = NEVER,
) -> CellIndex[S]:
    """Return the index of the cells of `space` that rows, codes (a, N), lie in.

    `pieces` contain each tuple once: pairs of tuples and rows that show all joint values of their columns.
    """
    cells_of_pieces: list[Any] = [None] * len(pieces)

    def locate_piece(p: int) -> None:
        stop.check()
        cells_of_pieces[p] = _distinct_cells(space, pieces[p][0], codes, pieces[p][1])

    run_parts(locate_piece, len(pieces), n_jobs)
    n_cells_of_tuple = np.empty(space.n_tuples, np.int64)
    for (tuples, _), (counts, _) in zip(pieces, cells_of_pieces, strict=True):
        n_cells_of_tuple[tuples] = counts
    begin = np.concatenate([[0], np.cumsum(n_cells_of_tuple)])
    local = np.empty(begin[-1], np.int64)
    for (tuples, _), (counts, cells) in zip(pieces, cells_of_pieces, strict=True):
        positions = np.repeat(begin[tuples] - np.cumsum(counts) + counts, counts) + np.arange(len(cells))
        local[positions] = cells
    return CellIndex.from_local_cells(space, begin, local)


@dataclass(frozen=True, eq=False)
class Unseen:
    """phi (T, C) of the cells of each tuple that no training row has.

    With `known_only`, a row without a level in one of the columns (a skipped missing value) still gets 0.
    """

    phi: Floats
    known_only: bool = False


def cell_table(n_rows: int, n_tuples: int, padded: int, unseen: Unseen | None) -> Floats:
    """Return a cell table (2T + S, W) of n_rows rows with `padded` numbers each: phi of unseen cells, 0 for the seen
    ones.
    """
    table = zeros(n_rows, padded)
    if unseen is not None:
        classes = unseen.phi.shape[1]
        table[:n_tuples, :classes] = unseen.phi
        if not unseen.known_only:
            table[n_tuples : 2 * n_tuples, :classes] = unseen.phi
    return table
