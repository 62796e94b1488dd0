"""A fitted linear model: phi on the cells that were seen, and scores of new rows.

    score_k(x) = b_k + sum over tuples t of phi[cell_t(x), k]        p(k|x) = softmax(score)(k)

A cell that was never seen adds 0 to every class ("neutral"), or what `unseen` says for its tuple ("m-estimate").
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.models.space import CellSpace
from alrviz.passes.rows import Floats, Rows
from alrviz.stop import NEVER, StopToken


@dataclass(frozen=True, eq=False)
class Unseen:
    """phi (T, C) of the cells of a tuple that no training row has.

    `known_only`: a row without a level in one of the columns (a skipped missing value) still gets 0.
    """

    phi: Floats
    known_only: bool = False


@dataclass(eq=False)
class LinearModel:
    """Scores rows of codes.

    Attributes:
        space: The cell space.
        seen: (S,) cells that have a phi of their own.
        phi: (S, C).
        bias: (C,) b.
        unseen: what all other cells add, or None for nothing.
    """

    space: CellSpace
    seen: NDArray[np.int64]
    phi: Floats
    bias: Floats
    unseen: Unseen | None = None

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.bias)

    def rows(self, codes: NDArray[np.unsignedinteger], n_jobs: int | None = None) -> Rows:
        """Return new rows of codes (a, N) in the form the passes take, of class 0 and weight 1."""
        n = codes.shape[1]
        return Rows(codes, np.zeros(n, np.int32), np.ones(n), self.space.levels, self.n_classes, n_jobs)

    def scores(self, codes: NDArray[np.unsignedinteger], n_jobs: int | None = None, stop: StopToken = NEVER) -> Floats:
        """Return the class scores (N, C) of codes (a, N)."""
        return self.forward(self.rows(codes, n_jobs), stop)[:, : self.n_classes]

    def forward(self, rows: Rows, stop: StopToken = NEVER) -> Floats:
        """Return the padded scores (N, W) of prepared rows."""
        return rows.forward(self.space.layout, self._table(rows), self.bias, stop=stop)

    def contributions(self, codes: NDArray[np.unsignedinteger]) -> Floats:
        """Return what each tuple adds to each class score, (N, T, C); with `bias` they sum to the scores."""
        rows = self.rows(codes, 1)
        table = self._table(rows)[:, : self.n_classes]
        space = self.space
        out = np.empty((codes.shape[1], space.n_tuples, self.n_classes))
        for t, columns in enumerate(space.tuples):
            code = codes[columns].astype(np.int64)
            cell = space.first[t] + space.strides[t] @ code
            astray = (code >= space.levels[columns][:, None]).any(axis=0)
            out[:, t] = table[np.where(astray, space.n_cells + t, cell)]
        return out

    def _table(self, rows: Rows) -> Floats:
        """The dense table, kept until the model is pickled: filling it costs more than scoring a few rows."""
        cached = self.__dict__.get("_cached_table")
        if cached is None:
            cached = rows.table(self.space.layout)
            fill_unseen(cached, self.space, self.unseen)
            cached[self.seen, : self.n_classes] = self.phi
            self.__dict__["_cached_table"] = cached
        return cached

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_cached_table"}


def fill_unseen(table: Floats, space: CellSpace, unseen: Unseen | None) -> None:
    """Write phi of unseen cells to a zero table; the seen ones are written over them later."""
    if unseen is not None:
        classes = unseen.phi.shape[1]
        table[: space.n_cells, :classes] = np.repeat(unseen.phi, space.cards, axis=0)
        if not unseen.known_only:
            table[space.n_cells :, :classes] = unseen.phi


def log_softmax(scores: Floats) -> Floats:
    """Return log p (N, C) of class scores (N, C)."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
