"""Which cells a model is made of, where single cells are chosen and not tuples: hsALR(*). [sALR] 4.1

A cell is scored as a feature of two values, a row lies in it or not:

    MI(1[x in c]; Y)      nats; "mi-mm" with Miller and Madow's correction
    gain of a cell        as of its tuple, of its own residuals

Where columns have many levels, whose tuples are all too large to be kept, the few cells that tell are. Of level i those
cells are looked at that rows lie in and that have one kept part ("weak") or only kept ones ("strong").
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alrviz.models.cell_space import SomeCells, Space, Tuples, TupleSpace
from alrviz.models.tables import Tables
from alrviz.models.tuple_selection import Counted, Level, excess_test, gain_of, kept_of, wider
from alrviz.passes.aligned_buffers import Floats


@dataclass(frozen=True, eq=False, repr=False)
class CellLevel(Level):
    """The cells of one size that were looked at, and which of them were kept.

    Attributes:
        tuples: (S, i) int32 columns of each cell.
        scores: (S,).
        kept: (K,) which of them go on, ascending.
        codes: (S, i) the level of each column.
        cells: what was kept, as a model has it.
    """

    codes: NDArray[np.int64]
    cells: SomeCells

    def __repr__(self) -> str:
        return f"<Level of {self.tuples.shape[1]} columns: {len(self.kept):,} of {len(self.tuples):,} cells kept>"


def cell_information(tables: Tables, corrected: bool = False) -> Floats:
    """Return (S,) the mutual information of lying in each cell and the class, nats, of the rows that have a level in
    all its columns; with Miller and Madow's correction if it is `corrected`.
    """
    totals = tables.tuple_counts[tables.tuple_of_seen]
    n, sums = totals.sum(axis=1), np.zeros(len(tables.seen))
    parts = (tables.counts, totals - tables.counts)
    for own in parts:
        expected = totals * (own.sum(axis=1) / n)[:, None]
        ratio = np.divide(own, expected, out=np.ones_like(own), where=own > 0)
        sums += (own * np.log(ratio)).sum(axis=1)
    found: Floats = np.maximum(0.0, sums / n)
    if corrected:
        pairs = sum((own > 0).sum(axis=1) for own in parts)
        sides = 1 + (parts[1].sum(axis=1) > 0)
        found = found - (pairs - sides - (totals > 0).sum(axis=1) + 1) / (2.0 * n)
    return found


def cell_gain(tables: Tables, excess: Floats) -> Floats:
    """Return (S,) the predicted gain of each cell; `excess` as `predicted_gain` takes it."""
    return gain_of(*excess_test(tables, excess, by_cell=True), tables)


def cell_levels(
    counted: Counted, n_columns: int, order: int, score: str, keep: float, hierarchy: str = ""
) -> Iterator[CellLevel]:
    """Yield the levels of a search for cells, as `tuple_selection.levels` does of one for tuples; not by "cv"."""
    looked: Tuples = 1 if hierarchy else order
    below: Tuples = 0 if hierarchy else order - 1
    so_far: list[SomeCells] = []
    for i in range(1 if hierarchy else order, order + 1):
        tables = counted.tables(looked)
        if not len(tables.seen) and isinstance(looked, SomeCells):  # no cell has all its parts: one is enough
            looked = SomeCells(wider(looked.parts, n_columns, False), looked.parts, looked.listed)
            tables = counted.tables(looked)
        if score == "gain":
            scores = cell_gain(tables, counted.excess(looked, below))
        else:
            scores = cell_information(tables, score == "mi-mm")
        kept = kept_of(scores, keep, score)
        space, seen = tables.space, tables.seen
        chosen = listed(space, seen[kept])
        yield CellLevel(space.tuples[tables.tuple_of_seen], scores, kept, space.codes_of(seen), chosen)
        so_far = [*so_far, chosen] if score == "gain" else [chosen]
        below = joined(so_far, counted.levels)
        if i < order:
            strong = hierarchy == "strong"
            looked = SomeCells(wider(chosen.tuples, n_columns, strong), chosen.tuples, chosen.listed, strong)


def joined(parts: Sequence[SomeCells], levels: NDArray[np.int64]) -> SomeCells:
    """Return cells of several sizes, small ones first, together; `levels` (a,) of the columns."""
    tuples = tuple(columns for part in parts for columns in part.tuples)
    first = np.cumsum([0, *(TupleSpace(levels, part.tuples).n_cells for part in parts)])
    cells = [part.cells + begin for part, begin in zip(parts, first[:-1], strict=True)]
    return SomeCells(tuples, tuples, np.concatenate(cells).tobytes())


def listed(space: Space, cells: NDArray[np.int64]) -> SomeCells:
    """Return cells (K,) of a space, ascending, as those of the tuples alone that have some."""
    of, number = np.unique(space.tuple_of(cells), return_inverse=True)
    first = np.append(0, np.cumsum(space.cards[of]))[:-1]
    tuples = tuple(map(tuple, space.tuples[of].tolist()))
    return SomeCells(tuples, tuples, (cells - space.first[of][number] + first[number]).astype(np.int64).tobytes())
