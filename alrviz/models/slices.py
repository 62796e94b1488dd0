"""Slices of a tuple's cells: cells that agree in all columns but one, which form one cell of the subtuple without it.

subtuples (T, n)        the tuple without its column j, -1 if nothing is left
first_slice (T, n + 1)  the slices of tuple t along column j are numbered from first_slice[t, j] to
first_slice[t, j + 1]
slices (S, n)           the slice along column j of each cell, -1 where no row has the subtuple's cell
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from alrviz.models.cell_space import AllOrders, AnySpace, CellSpace, TupleSpace, space_of
from alrviz.models.index import CellIndex
from alrviz.passes.aligned_buffers import Floats


def with_parts(space: AnySpace) -> AnySpace:
    """Return the space of all tuples of a space and all their subtuples, small ones first.

    Each column has one more level, for "no level".
    """
    if isinstance(space, CellSpace):
        return space_of(space.levels + 1, AllOrders(space.order))
    subtuples = {
        subtuple
        for columns in space.members
        for n in range(1, len(columns) + 1)
        for subtuple in combinations(columns, n)
    }
    return TupleSpace(space.levels + 1, sorted(subtuples, key=lambda columns: (len(columns), columns)))


@dataclass(frozen=True, eq=False)
class Slices:
    """The slices of tuples whose subtuples are all in their space.

    Attributes:
        subtuples, first_slice, slices: int64, as in the module.
    """

    subtuples: NDArray[np.int64]
    first_slice: NDArray[np.int64]
    slices: NDArray[np.int64]

    @classmethod
    def from_index(cls, index: CellIndex[AnySpace]) -> "Slices":
        """Return the slices of the tuples of an index."""
        space = index.space
        numbers, sizes, n_columns, n_cells = space.numbers, space.sizes, space.tuples.shape[1], np.diff(index.begin)
        subtuples = np.full((space.n_tuples, n_columns), -1, np.int64)
        for columns, t in numbers.items():
            for j in range(len(columns) if len(columns) > 1 else 0):
                subtuples[t, j] = numbers[(*columns[:j], *columns[j + 1 :])]
        n_slices = np.where(subtuples >= 0, n_cells[subtuples], 0)
        n_slices[sizes == 1, 0] = 1
        slice_ends = np.cumsum(n_slices.ravel()).reshape(n_slices.shape)
        first_slice = np.concatenate([(slice_ends - n_slices)[:, :1], slice_ends], axis=1)
        tuple_numbers, codes = space.tuple_of(index.seen_cells), space.codes_of(index.seen_cells)
        slices = np.full((len(tuple_numbers), n_columns), -1, np.int64)
        slices[sizes[tuple_numbers] == 1, 0] = first_slice[tuple_numbers[sizes[tuple_numbers] == 1], 0]
        for n in range(2, n_columns + 1):
            cells = np.flatnonzero(sizes[tuple_numbers] == n)
            for j in range(n):
                sub_numbers = subtuples[tuple_numbers[cells], j]
                subcells = space.cells_at(sub_numbers, np.delete(codes[cells, :n], j, axis=1))
                positions = np.minimum(np.searchsorted(index.seen_cells, subcells), len(index.seen_cells) - 1)
                is_known = index.seen_cells[positions] == subcells
                slices[cells, j] = np.where(
                    is_known, first_slice[tuple_numbers[cells], j] + positions - index.begin[sub_numbers], -1
                )
        return cls(subtuples, first_slice, slices)

    def sums(self, values: Floats) -> Floats:
        """Return the sums (M,) over each slice of values (S,) of cells."""
        is_known, n_slices = self.slices >= 0, int(self.first_slice.max(initial=0))
        sums = np.bincount(
            self.slices[is_known], np.broadcast_to(values[:, None], self.slices.shape)[is_known], n_slices
        )
        return sums.astype(np.float64, copy=False)
