"""A fitted linear model: phi on the cells that were seen, and scores of new rows.

    score_k(x) = b_k + sum over tuples t of phi[cell_t(x), k]        p(k|x) = softmax(score)(k)

A cell that was never seen adds 0 to every class ("neutral"), or what `unseen` says for its tuple ("m-estimate").
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from alrviz.models.cell_space import AnySpace
from alrviz.models.index import CellIndex, Unseen, cell_table
from alrviz.models.joint_values import join
from alrviz.models.plan import plan_cover
from alrviz.passes.aligned_buffers import Floats, empty, lanes_of, zeros
from alrviz.passes.rows import Rows, as_compiled
from alrviz.passes.threads import resolve_jobs
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded

# Look-ups of rows in tuples from which a cover of the new rows is made: planning it takes as long.
_MANY = 20_000_000


@dataclass(eq=False, repr=False)
class LinearModel:
    """Scores rows of codes.

    Attributes:
        space: The cell space.
        seen: (S,) cells that have a phi of their own.
        phi: (S, C).
        bias: (C,) b.
        unseen: what all other cells add, or None for nothing.
    """

    space: AnySpace
    seen: NDArray[np.int64]
    phi: Floats
    bias: Floats
    unseen: Unseen | None = None

    def __repr__(self) -> str:
        return f"<LinearModel of order {self.space.order}: {len(self.seen):,} cells x {self.n_classes} classes>"

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.bias)

    def scores(self, codes: NDArray[np.unsignedinteger], n_jobs: int | None = None, stop: StopToken = NEVER) -> Floats:
        """Return the class scores (N, C) of codes (a, N); a code >= levels[column] is no level."""
        codes = as_compiled(codes)
        jobs = resolve_jobs(n_jobs)
        if codes.shape[1] * self.space.n_tuples < _MANY:
            index, cells = self._lookup()
            return index.score(codes, cells, np.require(self.bias, np.float64, ["C", "W"]), jobs, stop)
        return self._covered(codes, jobs, stop)

    def scores_of(self, encoded: "Encoded") -> Floats:
        """Return the class scores (N, C) of encoded rows."""
        return self.scores(encoded.codes)

    def contributions(self, codes: NDArray[np.unsignedinteger]) -> Floats:
        """Return what each tuple adds to each class score, (N, T, C); with `bias` they sum to the scores."""
        codes = as_compiled(codes)
        index, cells = self._lookup()
        return cells[index.locate(codes, 0, codes.shape[1])]

    def _covered(self, codes: NDArray[np.unsignedinteger], jobs: int, stop: StopToken) -> Floats:
        """The scores by a cover of the new rows' own."""
        index, cells = self._lookup()
        blocks = plan_cover(codes, self.space, stop=stop, n_jobs=jobs).blocks
        joined = join(blocks, codes, self.space.levels, jobs, stop)
        tables = index.links(codes, blocks, joined, jobs, stop)
        n, padded = codes.shape[1], lanes_of(self.n_classes)[1]
        padded_cells = zeros(tables.n_cells, padded)
        padded_cells[: len(cells), : self.n_classes] = cells
        table = tables.expand(padded_cells, empty(tables.n_joint, padded), jobs, stop)
        rows = Rows(np.zeros(n, np.int32), np.ones(n), self.n_classes, joined.keys, jobs)
        return rows.forward(tables, table, self.bias, stop=stop)[:, : self.n_classes]

    def _lookup(self) -> tuple[CellIndex[AnySpace], Floats]:
        """The index of the seen cells and the cell table (2T + S, C), kept until the model is pickled."""
        cached = self.__dict__.get("_cached")
        if cached is None:
            index = CellIndex.of_seen(self.space, self.seen)
            cells = cell_table(index.n_rows, self.space.n_tuples, self.n_classes, self.unseen)
            cells[2 * self.space.n_tuples :] = self.phi
            cached = self.__dict__["_cached"] = index, cells
        return cached

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_cached"}


def log_softmax(scores: Floats) -> Floats:
    """Return log p (N, C) of class scores (N, C)."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
