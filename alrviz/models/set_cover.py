"""A cover made: what a plan becomes on rows.

    rows --join--> keys, one a block, and one row that shows each joint value
    joint values of training rows --> seen cells --> index
    joint values x index --> links: the rows of the cell table that add up to a joint value

Rows that are only watched (held out) join the joint values, never the seen cells.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from alrviz.models.cell_space import AnySpace
from alrviz.models.index import CellIndex, Unseen, cell_table, index_cells
from alrviz.models.joint_values import Codes, JointValues, number_joint_values
from alrviz.models.plan import Plan
from alrviz.passes.aligned_buffers import Floats, empty, zeros
from alrviz.passes.blocks import Blocks
from alrviz.passes.rows import Rows
from alrviz.stop import NEVER, StopToken


@dataclass(frozen=True, eq=False)
class Cover:
    """A plan carried out on rows.

    Attributes:
        plan: the blocks.
        index: the seen cells.
        blocks: what ties joint values to the cell table.
        levels_seen: (a,) levels that training rows of positive weight have, at least 1 of each column.
    """

    plan: Plan
    index: CellIndex[AnySpace]
    blocks: Blocks
    levels_seen: NDArray[np.int64]

    def scores(
        self, rows: Rows, phi: Floats, bias: Floats, unseen: Unseen | None = None, stop: StopToken = NEVER
    ) -> Floats:
        """Return the scores (N, W) of rows of this cover, for phi (S, C) of the seen cells and b (C,)."""
        cells = cell_table(self.blocks.n_cells, self.index.space.n_tuples, rows.padded_width, unseen)
        cells[2 * self.index.space.n_tuples : self.index.n_rows, : rows.n_classes] = phi
        table = self.blocks.expand(cells, empty(self.blocks.n_joint, rows.padded_width), rows.n_jobs, stop)
        return rows.forward(self.blocks, table, bias, stop=stop)

    def sums(self, rows: Rows, values: Floats, stop: StopToken = NEVER) -> Floats:
        """Return the sums (S, C) of values (N, W) of rows of this cover, by seen cell."""
        joint = rows.scatter(self.blocks, values, zeros(self.blocks.n_joint, rows.padded_width), stop)
        cells = self.blocks.scatter_to_cells(joint, zeros(self.blocks.n_cells, rows.padded_width), rows.n_jobs, stop)
        return cells[2 * self.index.space.n_tuples : self.index.n_rows, : rows.n_classes].copy()


def cover_rows(
    plan: Plan,
    space: AnySpace,
    codes: Sequence[Codes],
    live: NDArray[np.bool_],
    n_jobs: int = 1,
    stop: StopToken = NEVER,
    index: CellIndex[AnySpace] | None = None,
) -> tuple[Cover, list[Codes]]:
    """Carry out `plan` on training rows, the first of `codes`, and on rows that are only watched, the others.

    `live` (N,) are the training rows of positive weight: only they make cells seen, or those are of an `index` that is
    given. Returns the cover and the keys of each.
    """
    together = np.require(codes[0] if len(codes) == 1 else np.concatenate(codes, axis=1), None, ["C", "W"])
    joined = number_joint_values(plan.blocks, together, space.levels, n_jobs, stop)
    index = index or index_cells(space, _lived(plan, joined, live), together, n_jobs, stop)
    blocks = index.links(together, plan.blocks, joined, n_jobs, stop)
    edges = np.cumsum([0] + [part.shape[1] for part in codes])
    keys = [joined.keys] if len(codes) == 1 else [
        np.ascontiguousarray(joined.keys[:, low:high]) for low, high in pairwise(edges)
    ]  # fmt: skip
    return Cover(plan, index, blocks, levels_of_rows(codes[0], live, space.levels)), keys


def levels_of_rows(codes: Codes, live: NDArray[np.bool_], levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (a,) how many of its levels the `live` rows (N,) of codes (a, N) have in each column, 1 at least."""
    seen, all_live = [], live.all()
    for column, top in zip(codes, levels, strict=True):
        occurs = np.bincount(column if all_live else column[live])[:top] > 0
        seen.append(max(1, int(occurs.sum())))
    return np.array(seen)


def _lived(
    plan: Plan, joined: JointValues, live: NDArray[np.bool_]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The tuples of blocks, and of their inner ones, with rows that show each joint value that some live row has."""
    pieces, all_live = [], live.all()
    for block, key, shown, found in zip(plan.blocks, joined.keys, joined.examples, joined.inner, strict=True):
        lives = np.zeros(len(shown), bool)
        lives[key[: len(live)] if all_live else key[: len(live)][live]] = True
        pieces.append((block.direct, shown[lives]))
        for inner, (values, rows) in zip(block.inner, found, strict=True):
            inside = np.zeros(len(rows), bool)
            inside[values[lives]] = True
            pieces.append((inner.tuples, rows[inside]))
    return pieces
