"""Selection of single cells instead of tuples: hsALR(*). [sALR] 4.1

A cell is scored as a binary feature, whether a row lies in it:

    MI(1[x in c]; Y)      nats; "mi-mm" with Miller and Madow's correction
    gain of a cell        as of its tuple, from the cell's own residuals

Where columns have many levels, all tuples may be too large to keep, but a few cells may be informative. Candidates of
level i are the cells with rows that have one kept subcell ("weak") or only kept ones ("strong").
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alrviz.models.cell_space import SelectedCells, Space, Tuples, TupleSpace
from alrviz.models.tables import Tables
from alrviz.models.tuple_selection import Level, SelectionRows, excess_test, gain_of_test, next_tuples, select_scores
from alrviz.passes.aligned_buffers import Floats


@dataclass(frozen=True, eq=False, repr=False)
class CellLevel(Level):
    """The cells of one size that were scored, and which of them were kept.

    Attributes:
        tuples: (S, i) int32 columns of each cell.
        scores: (S,).
        kept_indices: (K,) the cells that are kept, ascending.
        codes: (S, i) the level of each column.
        cells: the kept cells.
    """

    codes: NDArray[np.int64]
    cells: SelectedCells

    def __repr__(self) -> str:
        return (
            f"<Level of {self.tuples.shape[1]} columns: {len(self.kept_indices):,} of {len(self.tuples):,} cells kept>"
        )


def cell_information(tables: Tables, corrected: bool = False) -> Floats:
    """Return (S,) the mutual information, in nats, of lying in each cell and the class, over rows that have all its
    columns.

    With Miller and Madow's correction if `corrected`.
    """
    tuple_counts = tables.tuple_counts[tables.tuple_of_seen]
    n_rows, sums = tuple_counts.sum(axis=1), np.zeros(len(tables.seen_cells))
    counts_in_and_out = (tables.counts, tuple_counts - tables.counts)
    for cell_counts in counts_in_and_out:
        expected_counts = tuple_counts * (cell_counts.sum(axis=1) / n_rows)[:, None]
        ratio = np.divide(cell_counts, expected_counts, out=np.ones_like(cell_counts), where=cell_counts > 0)
        sums += (cell_counts * np.log(ratio)).sum(axis=1)
    information: Floats = np.maximum(0.0, sums / n_rows)
    if corrected:
        n_pairs = sum((cell_counts > 0).sum(axis=1) for cell_counts in counts_in_and_out)
        n_sides = 1 + (counts_in_and_out[1].sum(axis=1) > 0)
        information = information - (n_pairs - n_sides - (tuple_counts > 0).sum(axis=1) + 1) / (2.0 * n_rows)
    return information


def cell_levels(
    rows: SelectionRows, n_columns: int, order: int, score: str, keep: float, hierarchy: str = ""
) -> Iterator[CellLevel]:
    """Yield the levels of a selection of cells: the scored and kept cells of each size, 1 up to `order`.

    The arguments are those of `tuple_selection.levels`; the score "cv" is not available for cells.
    """
    candidates: Tuples = 1 if hierarchy else order
    base_tuples: Tuples = 0 if hierarchy else order - 1
    kept_so_far: list[SelectedCells] = []
    for i in range(1 if hierarchy else order, order + 1):
        tables = rows.tables(candidates)
        if not len(tables.seen_cells) and isinstance(
            candidates, SelectedCells
        ):  # no cell has all its subcells: one is enough
            candidates = SelectedCells(
                next_tuples(candidates.parts, n_columns, False), candidates.parts, candidates.cell_bytes
            )
            tables = rows.tables(candidates)
        if score == "gain":
            excess = rows.excess(candidates, base_tuples)
            scores = gain_of_test(*excess_test(tables, excess, by_cell=True), tables)
        else:
            scores = cell_information(tables, score == "mi-mm")
        kept_indices = select_scores(scores, keep, score)
        space, seen_cells = tables.space, tables.seen_cells
        kept_cells = as_selected_cells(space, seen_cells[kept_indices])
        yield CellLevel(
            space.tuples[tables.tuple_of_seen], scores, kept_indices, space.codes_of(seen_cells), kept_cells
        )
        kept_so_far = [*kept_so_far, kept_cells] if score == "gain" else [kept_cells]
        base_tuples = join_sizes(kept_so_far, rows.levels)
        if i < order:
            needs_all_parts = hierarchy == "strong"
            candidates = SelectedCells(
                next_tuples(kept_cells.tuples, n_columns, needs_all_parts),
                kept_cells.tuples,
                kept_cells.cell_bytes,
                needs_all_parts,
            )


def join_sizes(parts: Sequence[SelectedCells], levels: NDArray[np.int64]) -> SelectedCells:
    """Return selected cells of several sizes, `parts`, as one selection, small ones first; `levels` (a,) of the
    columns.
    """
    tuples = tuple(columns for cells_of_size in parts for columns in cells_of_size.tuples)
    first_cell = np.cumsum([0, *(TupleSpace(levels, cells_of_size.tuples).n_cells for cells_of_size in parts)])
    cells = [cells_of_size.cells + offset for cells_of_size, offset in zip(parts, first_cell[:-1], strict=True)]
    return SelectedCells(tuples, tuples, np.concatenate(cells).tobytes())


def as_selected_cells(space: Space, cells: NDArray[np.int64]) -> SelectedCells:
    """Return cells (K,) of a space, ascending, as `SelectedCells` of the tuples that have some."""
    tuple_numbers, tuple_index = np.unique(space.tuple_of(cells), return_inverse=True)
    first_cell = np.append(0, np.cumsum(space.cards[tuple_numbers]))[:-1]
    tuples = tuple(map(tuple, space.tuples[tuple_numbers].tolist()))
    return SelectedCells(
        tuples,
        tuples,
        (cells - space.first[tuple_numbers][tuple_index] + first_cell[tuple_index]).astype(np.int64).tobytes(),
    )
