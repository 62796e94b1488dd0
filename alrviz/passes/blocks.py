"""The stacked tables of a cover: from cells to joint values before a pass over the rows, and back after it.

    blocks.expand(cells, table)                table[j] = sum of the cells of the block's tuples
    blocks.scatter_to_cells(grad, cells)       its transpose

A block may have inner blocks (models/plan.py). Their joint values are rows of the cell table, behind the cells:
`expand` fills them first, `scatter_to_cells` passes them on last.

Work is split into parts of similar size that write to different places: joint values for `expand`, tuples for
`scatter_to_cells`. So the bits are the same for any number of threads.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import rows as kernels
from alrviz.passes.aligned_buffers import Floats, lanes_of_table
from alrviz.passes.threads import run_parts
from alrviz.stop import NEVER, StopToken

# Links in one part: 50 us, so that a stop is noticed soon and threads end at about the same time.
_LINKS_PER_PART = 40_000
# With fewer links than this, waking another thread costs more than it saves.
_MIN_SHARED_LINKS = 120_000


@dataclass(frozen=True, eq=False)
class Blocks:
    """The links from joint values, rows of the stacked table, to the rows of the cell table that add up to each.

    Attributes:
        first: (B + 1,) int64, where each block's joint values begin.
        first_link: (B + 1,) int64, where each block's links begin.
        links: int32, (joint values x tuples) of each block.
        n_cells: rows of the cell table, joint values of inner blocks included.
        inner: inner blocks, whose joint values are the last rows of the cell table.
    """

    first: NDArray[np.int64]
    first_link: NDArray[np.int64]
    links: NDArray[np.int32]
    n_cells: int
    inner: "Blocks | None" = None

    @property
    def n_blocks(self) -> int:
        """Number of blocks, B."""
        return len(self.first) - 1

    @property
    def n_joint(self) -> int:
        """Number of joint values of all blocks: rows of the stacked table."""
        return int(self.first[-1])

    def expand(self, cells: Floats, table: Floats, n_jobs: int = 1, stop: StopToken = NEVER) -> Floats:
        """Write to `table` (joint values, W) the sums of `cells` (cells, W)."""
        self._check(cells)
        if self.inner is not None:
            self.inner.expand(cells[: self.inner.n_cells], cells[self.inner.n_cells :], n_jobs, stop)
        lanes = lanes_of_table(table)
        row_ranges = self._row_ranges

        def expand_range(k: int) -> None:
            stop.check()
            block, begin, end = row_ranges[k]
            kernels.expand(self.links, self.first_link, self.first, cells, table, block, begin, end, lanes)

        run_parts(expand_range, len(row_ranges), n_jobs if len(self.links) > _MIN_SHARED_LINKS else 1)
        return table

    def scatter_to_cells(self, grad: Floats, cells: Floats, n_jobs: int = 1, stop: StopToken = NEVER) -> Floats:
        """Add to `cells` (cells, W) the sums of `grad` (joint values, W)."""
        self._check(cells)
        width = lanes_of_table(grad)
        spans, edges = self._spans

        def part(k: int) -> None:
            stop.check()
            kernels.scatter_to_cells(
                self.links, self.first_link, self.first, grad, cells, spans, edges[k], edges[k + 1], width
            )

        run_parts(part, len(edges) - 1, n_jobs if len(self.links) > _MIN_SHARED_LINKS else 1)
        if self.inner is not None:
            self.inner.scatter_to_cells(cells[self.inner.n_cells :], cells[: self.inner.n_cells], n_jobs, stop)
        return cells

    def _check(self, cells: Floats) -> None:
        """Raise where the cell table has no rows for inner blocks: kernels write wherever links point."""
        if len(cells) != self.n_cells:
            raise ValueError(f"a cell table has {len(cells)} rows; expected {self.n_cells}, those of inner blocks too")

    @property
    def links_by_joint_value(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the links, and where those of each joint value begin, (joint values + 1,)."""
        return self.links, np.append(0, np.cumsum(np.repeat(self._tuples_per_block, np.diff(self.first))))

    @property
    def _tuples_per_block(self) -> NDArray[np.int64]:
        """(B,) tuples of each block: links of each of its joint values."""
        return np.diff(self.first_link) // np.maximum(1, np.diff(self.first))

    @cached_property
    def _row_ranges(self) -> list[tuple[int, int, int]]:
        """(block, begin, end) of each part: a range of joint values, and the block in which it begins."""
        row_work = np.repeat(self._tuples_per_block + 2, np.diff(self.first))  # 2 for zeroing and writing the row
        sums = np.cumsum(row_work)
        total_work = int(sums[-1]) if len(sums) else 0
        edges = np.searchsorted(sums, np.arange(0, total_work, _LINKS_PER_PART), side="left")
        edges = np.unique(np.append(edges, self.n_joint))
        first_blocks = np.searchsorted(self.first, edges[:-1], side="right") - 1
        return list(zip(first_blocks.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True))

    @cached_property
    def _spans(self) -> tuple[NDArray[np.int64], list[int]]:
        """Spans (block, first tuple, end tuple) of about _LINKS_PER_PART links each, and where each part's spans
        begin.
        """
        joint_values = np.diff(self.first)
        group_links = kernels.GROUP_LINKS
        spans, n_links = [], []
        for b, (n_values, n_block_tuples) in enumerate(
            zip(joint_values.tolist(), self._tuples_per_block.tolist(), strict=True)
        ):
            n_tuples = max(group_links, _LINKS_PER_PART // max(1, n_values) // group_links * group_links)
            for t in range(0, n_block_tuples, n_tuples):
                end_tuple = min(n_block_tuples, t + n_tuples)
                spans.append((b, t, end_tuple))
                n_links.append((end_tuple - t) * n_values)
        part_numbers = np.cumsum(n_links) // _LINKS_PER_PART if n_links else np.zeros(0, np.int64)
        edges = [0, *(np.flatnonzero(np.diff(part_numbers)) + 1).tolist(), len(spans)]
        return np.array(spans, np.int64).reshape(-1, 3), edges
