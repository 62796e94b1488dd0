"""A fitted linear model: phi of the cells that were seen, and scores of new rows.

    score_k(x) = b_k + sum over tuples t of phi[cell_t(x), k]        p(k|x) = softmax(score)(k)

A cell that was never seen adds 0 to every class ("neutral"), or the `unseen` phi of its tuple ("m-estimate").
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alrviz.models.cell_space import AnySpace
from alrviz.models.index import CellIndex, Unseen, cell_table
from alrviz.models.plan import Block, plan_cover
from alrviz.models.score_table import ScoreTable
from alrviz.models.tables import FieldsInPickles
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.rows import as_kernel_codes
from alrviz.passes.threads import resolve_jobs
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded

# Look-ups of rows in tuples, in all calls so far, from which a score table saves more than it costs: with a cover at
# hand, and if the cover must be planned first. Calls with fewer look-ups than the third figure do without the table.
_MIN_PLANNED_LOOKUPS, _MIN_UNPLANNED_LOOKUPS, _MIN_TABLE_LOOKUPS = 250_000, 2_000_000, 20_000
# Rows needed to plan a cover, rows it is planned for, and tuples beyond which a row would have too many keys.
_MIN_PLANNING_ROWS, _EXPECTED_ROWS, _MAX_TABLE_TUPLES = 500, 2**16, 2**20


@dataclass(eq=False, repr=False)
class LinearModel(FieldsInPickles):
    """Scores rows of codes.

    Attributes:
        space: the cell space.
        seen_cells: (S,) cells with their own phi.
        phi: (S, C).
        bias: (C,) b.
        unseen: phi of all other cells, or None for 0.
        blocks: a cover of the tuples for expected rows; None to plan one on the first large call.
    """

    space: AnySpace
    seen_cells: NDArray[np.int64]
    phi: Floats
    bias: Floats
    unseen: Unseen | None = None
    blocks: tuple[Block, ...] | None = None

    _lookups_so_far = 0  # of rows in tuples, in all calls

    def __repr__(self) -> str:
        return f"<LinearModel of order {self.space.order}: {len(self.seen_cells):,} cells x {self.n_classes} classes>"

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.bias)

    def scores(self, codes: NDArray[np.unsignedinteger], n_jobs: int | None = None, stop: StopToken = NEVER) -> Floats:
        """Return the class scores (N, C) of codes (a, N); a code >= levels[column] is no level.

        Many rows are summed block by block, few rows tuple by tuple, so that the last bits may differ.
        """
        codes, jobs = as_kernel_codes(codes), resolve_jobs(n_jobs)
        bias = np.require(self.bias, np.float64, ["C", "W"])
        if self._needs_table(codes, jobs, stop):
            return self._score_table.scores(codes, bias, jobs, stop)
        index, cells = self._index_and_cells
        return index.score(codes, cells, bias, jobs, stop)

    def scores_of(self, encoded: "Encoded") -> Floats:
        """Return the class scores (N, C) of encoded rows."""
        return self.scores(encoded.codes)

    @cached_property
    def _index_and_cells(self) -> tuple[CellIndex[AnySpace], Floats]:
        """The index of the seen cells, and the cell table (2T + S, C)."""
        index = CellIndex.from_cells(self.space, self.seen_cells)
        cells = cell_table(index.n_rows, self.space.n_tuples, self.n_classes, self.unseen)
        cells[2 * self.space.n_tuples :] = self.phi
        return index, cells

    @cached_property
    def _score_table(self) -> ScoreTable:
        assert self.blocks is not None
        return ScoreTable(*self._index_and_cells, self.blocks)

    def _needs_table(self, codes: NDArray[np.unsignedinteger], jobs: int, stop: StopToken) -> bool:
        """Return whether a score table is faster for codes (a, N), given the rows scored so far; plan its blocks if so.

        jobs: threads for planning.
        """
        rows, tuples = codes.shape[1], self.space.n_tuples
        self._lookups_so_far += rows * tuples
        min_lookups = _MIN_UNPLANNED_LOOKUPS if self.blocks is None else _MIN_PLANNED_LOOKUPS
        if self._lookups_so_far < min_lookups or tuples > _MAX_TABLE_TUPLES:
            return False
        if self.blocks is None:
            if rows < _MIN_PLANNING_ROWS:
                return False
            self.blocks = plan_cover(codes, self.space, max(rows, _EXPECTED_ROWS), stop, jobs).blocks
        return rows * tuples >= _MIN_TABLE_LOOKUPS


def log_softmax(scores: Floats) -> Floats:
    """Return log p (N, C) of class scores (N, C)."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
