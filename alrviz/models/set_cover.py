"""Covers: a plan applied to rows.

    rows --join--> keys, one per block, and one row that shows each joint value
    joint values of training rows --> seen cells --> index
    joint values x index --> links: the rows of the cell table that add up to a joint value

Rows that are only observed (validation, test) have joint values, but their cells are not made seen.
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
    """A plan applied to rows.

    Attributes:
        plan: the blocks.
        index: the seen cells.
        blocks: links from joint values to the cell table.
        levels_seen: (a,) levels that training rows of positive weight have, at least 1 in each column.
    """

    plan: Plan
    index: CellIndex[AnySpace]
    blocks: Blocks
    levels_seen: NDArray[np.int64]

    def scores(
        self, rows: Rows, phi: Floats, bias: Floats, unseen: Unseen | None = None, stop: StopToken = NEVER
    ) -> Floats:
        """Return the scores (N, W) of rows of this cover, for phi (S, C) of the seen cells and bias (C,)."""
        cells = cell_table(self.blocks.n_cells, self.index.space.n_tuples, rows.padded_width, unseen)
        cells[2 * self.index.space.n_tuples : self.index.n_rows, : rows.n_classes] = phi
        joint_table = self.blocks.expand(cells, empty(self.blocks.n_joint, rows.padded_width), rows.n_jobs, stop)
        return rows.forward(self.blocks, joint_table, bias, stop=stop)

    def sums(self, rows: Rows, values: Floats, stop: StopToken = NEVER) -> Floats:
        """Return the sums (S, C) of values (N, W) of rows of this cover, by seen cell."""
        joint = rows.scatter(self.blocks, values, zeros(self.blocks.n_joint, rows.padded_width), stop)
        cells = self.blocks.scatter_to_cells(joint, zeros(self.blocks.n_cells, rows.padded_width), rows.n_jobs, stop)
        return cells[2 * self.index.space.n_tuples : self.index.n_rows, : rows.n_classes].copy()


def cover_rows(
    plan: Plan,
    space: AnySpace,
    codes: Sequence[Codes],
    is_live: NDArray[np.bool_],
    n_jobs: int = 1,
    stop: StopToken = NEVER,
    index: CellIndex[AnySpace] | None = None,
) -> tuple[Cover, list[Codes]]:
    """Return the cover of `plan`, and the keys of each set of rows.

    Args:
        plan: blocks that cover all tuples.
        space: the tuples and their cells.
        codes: the training rows, then sets of rows that a fit only observes, such as test rows.
        is_live: (N,) which training rows have a weight above 0: their cells count as seen.
        n_jobs: threads.
        stop: checked between blocks.
        index: the seen cells, if they are known already; `is_live` is ignored then.
    """
    all_codes = np.require(codes[0] if len(codes) == 1 else np.concatenate(codes, axis=1), None, ["C", "W"])
    joined = number_joint_values(plan.blocks, all_codes, space.levels, n_jobs, stop)
    index = index or index_cells(space, _live_pieces(plan, joined, is_live), all_codes, n_jobs, stop)
    blocks = index.links(all_codes, plan.blocks, joined, n_jobs, stop)
    edges = np.cumsum([0] + [codes_of_set.shape[1] for codes_of_set in codes])
    keys = [joined.keys] if len(codes) == 1 else [
        np.ascontiguousarray(joined.keys[:, begin:end]) for begin, end in pairwise(edges)
    ]  # fmt: skip
    return Cover(plan, index, blocks, levels_of_rows(codes[0], is_live, space.levels)), keys


def levels_of_rows(codes: Codes, is_live: NDArray[np.bool_], levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return (a,) how many levels of each column the live rows, is_live (N,), of codes (a, N) have, at least 1."""
    n_seen, all_are_live = [], is_live.all()
    for column, n_levels in zip(codes, levels, strict=True):
        is_seen = np.bincount(column if all_are_live else column[is_live])[:n_levels] > 0
        n_seen.append(max(1, int(is_seen.sum())))
    return np.array(n_seen)


def _live_pieces(
    plan: Plan, joined: JointValues, is_live: NDArray[np.bool_]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the tuples of all blocks and inner blocks, each with rows that show the joint values of live rows."""
    pieces, all_are_live = [], is_live.all()
    for block, key, examples, inner_values in zip(plan.blocks, joined.keys, joined.examples, joined.inner, strict=True):
        is_shown = np.zeros(len(examples), bool)
        is_shown[key[: len(is_live)] if all_are_live else key[: len(is_live)][is_live]] = True
        pieces.append((block.direct_tuples, examples[is_shown]))
        for inner, (values, rows) in zip(block.inner, inner_values, strict=True):
            is_shown_inside = np.zeros(len(rows), bool)
            is_shown_inside[values[is_shown]] = True
            pieces.append((inner.tuples, rows[is_shown_inside]))
    return pieces
