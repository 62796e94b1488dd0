"""The super-tables of a cover: from cells to joint values before a pass over the rows, and back after it.

    blocks.expand(cells, table)           table[j] = sum of the cells of the block's tuples
    blocks.scatter_to_cells(grad, cells)       its transpose

A block may have inner ones (models/plan.py), `below`: their joint values are rows of the cell table, behind the cells.
Expanding fills them in first, marginalising passes them on last.

Each is cut into parts of like size that write to different places: joint values for `expand`, tuples for
`scatter_to_cells`. The bits are the same for any number of threads.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import rows as kernels
from alrviz.passes.aligned_buffers import Floats, width_of
from alrviz.passes.threads import share
from alrviz.stop import NEVER, StopToken

# Links in one part: 50 us, so that few are left when a stop comes or another thread is done.
_PART = 40_000
# Links up to which waking another thread costs more than it saves.
_FEW = 120_000


@dataclass(frozen=True, eq=False)
class Blocks:
    """Where joint values lie in the stacked table, and which rows of the cell table add up to each.

    Attributes:
        first: (B + 1,) int64, where each block's joint values begin.
        at: (B + 1,) int64, where each block's links begin.
        links: int32, (joint values x tuples) of each block.
        n_cells: rows of the cell table, joint values of inner blocks included.
        below: inner blocks, whose joint values are the last rows of the cell table.
    """

    first: NDArray[np.int64]
    at: NDArray[np.int64]
    links: NDArray[np.int32]
    n_cells: int
    below: "Blocks | None" = None

    @property
    def n_blocks(self) -> int:
        """B."""
        return len(self.first) - 1

    @property
    def n_joint(self) -> int:
        """Joint values of all blocks: rows of the stacked table."""
        return int(self.first[-1])

    def expand(self, cells: Floats, table: Floats, n_jobs: int = 1, stop: StopToken = NEVER) -> Floats:
        """Write to `table` (joint values, W) the sums of `cells` (cells, W)."""
        self._check(cells)
        if self.below is not None:
            self.below.expand(cells[: self.below.n_cells], cells[self.below.n_cells :], n_jobs, stop)
        width = width_of(table)
        parts = self._rows

        def part(k: int) -> None:
            stop.check()
            block, begin, end = parts[k]
            kernels.expand(self.links, self.at, self.first, cells, table, block, begin, end, width)

        share(part, len(parts), n_jobs if len(self.links) > _FEW else 1)
        return table

    def scatter_to_cells(self, grad: Floats, cells: Floats, n_jobs: int = 1, stop: StopToken = NEVER) -> Floats:
        """Add to `cells` (cells, W) the sums of `grad` (joint values, W)."""
        self._check(cells)
        width = width_of(grad)
        spans, edges = self._spans

        def part(k: int) -> None:
            stop.check()
            kernels.scatter_to_cells(self.links, self.at, self.first, grad, cells, spans, edges[k], edges[k + 1], width)

        share(part, len(edges) - 1, n_jobs if len(self.links) > _FEW else 1)
        if self.below is not None:
            self.below.scatter_to_cells(cells[self.below.n_cells :], cells[: self.below.n_cells], n_jobs, stop)
        return cells

    def _check(self, cells: Floats) -> None:
        """Kernels write wherever links point: a table without room for inner blocks would end the process."""
        if len(cells) != self.n_cells:
            raise ValueError(f"a cell table has {len(cells)} rows; expected {self.n_cells}, those of inner blocks too")

    @property
    def by_joint_value(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The links, and where those of each joint value begin, (joint values + 1,)."""
        return self.links, np.append(0, np.cumsum(np.repeat(self._tuples, np.diff(self.first))))

    @property
    def _tuples(self) -> NDArray[np.int64]:
        """(B,) links of each joint value of a block."""
        return np.diff(self.at) // np.maximum(1, np.diff(self.first))

    @cached_property
    def _rows(self) -> list[tuple[int, int, int]]:
        """Ranges of joint values with the block the first of them is in."""
        per_row = np.repeat(self._tuples + 2, np.diff(self.first))  # a row is zeroed and written too
        sums = np.cumsum(per_row)
        total = int(sums[-1]) if len(sums) else 0
        edges = np.searchsorted(sums, np.arange(0, total, _PART), side="left")
        edges = np.unique(np.append(edges, self.n_joint))
        starts = np.searchsorted(self.first, edges[:-1], side="right") - 1
        return list(zip(starts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True))

    @cached_property
    def _spans(self) -> tuple[NDArray[np.int64], list[int]]:
        """(block, first tuple, last tuple) of about _PART links each, and how they are grouped into parts."""
        joint = np.diff(self.first)
        group = kernels.GROUP_LINKS
        spans, sizes = [], []
        for b, (values, number) in enumerate(zip(joint.tolist(), self._tuples.tolist(), strict=True)):
            many = max(group, _PART // max(1, values) // group * group)
            for t in range(0, number, many):
                end = min(number, t + many)
                spans.append((b, t, end))
                sizes.append((end - t) * values)
        filled = np.cumsum(sizes) // _PART if sizes else np.zeros(0, np.int64)
        edges = [0, *(np.flatnonzero(np.diff(filled)) + 1).tolist(), len(spans)]
        return np.array(spans, np.int64).reshape(-1, 3), edges
