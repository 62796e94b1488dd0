"""AnDE, averaged n-dependence estimators: every tuple of n columns in turn is the parent of all other columns.

    p(k, x) = mean over tuples t of  p(x_t, k) * product over columns j outside t of  p(x_j | x_t, k)
    p(x_t, k) = (N(x_t, k) + m / (C card(t))) / (N + m)

over the tuples whose cell some training row has; p(x_j | x_t, k) as in `networks`. A row that shares no cell with any
training row is scored by naive Bayes, which is n = 0. Training rows have a level in every column (a missing value is
one), new rows need not.                                                                       (Webb et al. 2005, 2012)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import averages as kernels
from alrviz.models.cell_space import AnySpace
from alrviz.models.index import CellIndex
from alrviz.models.networks import NetworkModel
from alrviz.models.tables import Tables
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.rows import as_compiled
from alrviz.passes.threads import resolve_jobs, share
from alrviz.stop import NEVER, StopToken

# Factors in one call of the kernel: about 20 ms of eight classes.
_FACTORS = 500_000


@dataclass(eq=False, repr=False)
class AverageModel:
    """Scores rows of codes by the mean over super-parents.

    Attributes:
        parents: tables of order n.
        cells: tables of order n + 1.
        naive: naive Bayes on the same rows.
    """

    parents: Tables
    cells: Tables
    naive: NetworkModel

    def __repr__(self) -> str:
        return f"<AverageModel of {self.parents.space.n_tuples:,} networks, {self.n_classes} classes>"

    @property
    def n_classes(self) -> int:
        """C."""
        return self.naive.n_classes

    def networks(self, codes: NDArray[np.unsignedinteger]) -> Floats:
        """Return each network's log p(k, x), (N, T, C), -inf where no training row has the parents' cell.

        The scores of a row are the log of the mean of their exponentials over the networks that are finite.
        """
        codes = as_compiled(codes)
        low, high, larger, joint = self._prepared()
        n, n_tuples = codes.shape[1], self.parents.space.n_tuples
        found, wider = low.locate(codes, 0, n), high.locate(codes, 0, n)
        out = np.empty((n, n_tuples, self.n_classes))
        for t in range(n_tuples):
            z = np.empty((n, self.n_classes))
            # Numbered as where there is no other tuple: what was not seen stays below the cells.
            own = np.maximum(found[:, t : t + 1].astype(np.int64) - 2 * n_tuples + 2, 0).astype(found.dtype)
            self._average(own, wider, codes, 0, larger[t : t + 1], joint, z)
            out[:, t] = z
        return out

    def scores(self, codes: NDArray[np.unsignedinteger], n_jobs: int | None = None, stop: StopToken = NEVER) -> Floats:
        """Return the class scores (N, C), log p(k, x), of codes (a, N); a code >= levels[column] is no level."""
        codes = as_compiled(codes)
        low, high, larger, joint = self._prepared()
        space, naive = self.parents.space, self.naive
        n, a = codes.shape[1], len(space.levels)
        z = np.empty((n, self.n_classes))
        chunk = max(1, _FACTORS // (space.n_tuples * a))

        def part(k: int) -> None:
            stop.check()
            begin, end = k * chunk, min(n, (k + 1) * chunk)
            found, wider = low.locate(codes, begin, end), high.locate(codes, begin, end)
            self._average(found, wider, codes, begin, larger, joint, z[begin:end])

        share(part, -(-n // chunk), resolve_jobs(n_jobs))
        strange = np.isneginf(z).all(axis=1)
        if strange.any():
            z[strange] = naive.scores(codes[:, strange], n_jobs, stop)
        return z

    def _average(
        self,
        found: NDArray[np.integer],
        wider: NDArray[np.integer],
        codes: NDArray[np.unsignedinteger],
        begin: int,
        larger: NDArray[np.int64],
        joint: Floats,
        z: Floats,
    ) -> None:
        """Write to z the scores of rows begin, begin + 1, ...: the mean over the tuples of `found` and `larger`."""
        shares = self.parents.smoothing / self.naive.cards
        first = np.concatenate([[0], np.cumsum(self.parents.space.levels)])
        kernels.score(
            found, wider, codes, begin, larger, self.parents.counts, joint, self.cells.counts, shares,
            self.parents.smoothing, self.naive.alone, first, z,
        )  # fmt: skip

    def _prepared(self) -> tuple[CellIndex[AnySpace], CellIndex[AnySpace], NDArray[np.int64], Floats]:
        """Both indexes, which tuple a tuple and a column make, and log p(cell, class); kept until it is pickled."""
        cached = self.__dict__.get("_cached")
        if cached is None:
            parents, cells = self.parents, self.cells
            joint = np.log(
                parents.counts + (parents.smoothing / self.n_classes / parents.cards)[parents.tuple_of_seen][:, None]
            )
            joint -= np.log(parents.class_counts.sum() + parents.smoothing)
            cached = self.__dict__["_cached"] = (
                CellIndex.of_seen(parents.space, parents.seen),
                CellIndex.of_seen(cells.space, cells.seen),
                _larger(parents.space, cells.space),
                joint,
            )
        return cached

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_cached"}


def _larger(space: AnySpace, wider: AnySpace) -> NDArray[np.int64]:
    """(T, a) the tuple of `wider`, one order above `space`, that a tuple and a column make; -1 for its own columns."""
    number = {tuple(columns): t for t, columns in enumerate(wider.tuples.tolist())}
    larger = np.full((space.n_tuples, len(space.levels)), -1, np.int64)
    for t, columns in enumerate(space.tuples.tolist()):
        for j in range(len(space.levels)):
            if j not in columns:
                larger[t, j] = number[tuple(sorted((*columns, j)))]
    return larger
