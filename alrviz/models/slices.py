"""Slices of tuples' cells: those that agree but for one column are a cell of the part without that column.

part (T, n)      the tuple without its column j, -1 where nothing is left
room (T, n + 1)  the slices of tuple t along column j are numbered from room[t, j] to room[t, j + 1]
at   (S, n)      the slice along column j that each cell lies in, -1 where no row has the part's cell
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from alrviz.models.cell_space import AllOrders, AnySpace, CellSpace, TupleSpace, space_of
from alrviz.models.index import CellIndex
from alrviz.passes.aligned_buffers import Floats


def with_parts(space: AnySpace) -> AnySpace:
    """Return the cells of all tuples of a space and of all their parts, small ones first; each column has one level
    more, for none.
    """
    if isinstance(space, CellSpace):
        return space_of(space.levels + 1, AllOrders(space.order))
    found = {part for columns in space.members for n in range(1, len(columns) + 1) for part in combinations(columns, n)}
    return TupleSpace(space.levels + 1, sorted(found, key=lambda columns: (len(columns), columns)))


@dataclass(frozen=True, eq=False)
class Slices:
    """The slices of tuples whose parts are all in their space.

    Attributes:
        part, room, at: int64, as above.
    """

    part: NDArray[np.int64]
    room: NDArray[np.int64]
    at: NDArray[np.int64]

    @classmethod
    def of(cls, index: CellIndex[AnySpace]) -> "Slices":
        """Return the slices of the tuples of an index."""
        space = index.space
        members, wide, number_of = space.members, space.tuples.shape[1], np.diff(index.begin)
        numbers = {tuple(columns): t for t, columns in enumerate(members)}
        part = np.full((space.n_tuples, wide), -1, np.int64)
        held, sizes = np.zeros_like(part), np.array([len(columns) for columns in members])
        for t, columns in enumerate(members):
            for j in range(len(columns) if len(columns) > 1 else 0):
                part[t, j] = numbers[(*columns[:j], *columns[j + 1 :])]
        held[:] = np.where(part >= 0, number_of[part], 0)
        held[sizes == 1, 0] = 1
        ends = np.cumsum(held.ravel()).reshape(held.shape)
        room = np.concatenate([(ends - held)[:, :1], ends], axis=1)
        of, codes = space.tuple_of(index.seen), space.codes_of(index.seen)
        at = np.full((len(of), wide), -1, np.int64)
        at[sizes[of] == 1, 0] = room[of[sizes[of] == 1], 0]
        for n in range(2, wide + 1):
            cells = np.flatnonzero(sizes[of] == n)
            for j in range(n):
                below = part[of[cells], j]
                rest = np.delete(codes[cells, :n], j, axis=1)
                number = space.first[below] + (rest * space.strides[below, : n - 1]).sum(axis=1)
                place = np.minimum(np.searchsorted(index.seen, number), len(index.seen) - 1)
                known = index.seen[place] == number
                at[cells, j] = np.where(known, room[of[cells], j] + place - index.begin[below], -1)
        return cls(part, room, at)

    def sums(self, values: Floats) -> Floats:
        """Return the sums (M,) of the values (S,) of the cells in each slice."""
        known, slices = self.at >= 0, int(self.room.max(initial=0))
        found = np.bincount(self.at[known], np.broadcast_to(values[:, None], self.at.shape)[known], slices)
        return found.astype(np.float64, copy=False)
