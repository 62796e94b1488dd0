"""Planning a cover: which columns are looked up together.

A *block* is a set of columns whose joint values, as far as they occur, are few. All tuples inside it collapse into one
table over its joint values. A *cover* is a list of blocks such that every tuple is given to exactly one. A pass costs,
forward and scatter together, about

    sum over blocks of   ROW * N + JOINT * J + LINK * J * (number of its tuples)           J = its joint values

Greedy: the open tuple of the fewest possible cells seeds a block, which takes one column after another, always the one
that costs least for each tuple it covers, as long as that is less than covering the tuple elsewhere is worth. What it
is worth is not known beforehand, so that two plans are made and the cheaper one is taken. A tuple too large to share a
block is a block of its own, whose table is its own cells.

Joint values are counted on a sample of rows and extrapolated; keys made later from all rows are right in any case. All
is decided by counts, never by a timing: the same table has the same cover on every machine.
"""

from dataclasses import dataclass
from math import comb, log2

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import plan as kernels
from alrviz.models.space import CellSpace, Space
from alrviz.stop import NEVER, StopToken

# Nanoseconds, of which only the ratios matter: a look-up and a scatter of one row; zeroing and reading a row of a
# table; adding a cell to a joint value and back.
ROW, JOINT, LINK = 3.0, 6.0, 2.0
# Rows looked at. Of a sample a quarter may be different joint values: beyond, too little is known of all rows.
SAMPLE = 8_192
_MOST = 4
# What covering one more tuple is worth, in shares of a row pass.
_WORTH = (0.05, 0.25)
# Columns tried for each one taken: those that cover most.
_TRIED = 6
# Above so many tuples planning would take longer than it saves: every tuple is a block of its own.
MOST_TUPLES = 2**22
# Possible joint values that are counted by their place; 16 MiB.
SLOTS = 2**22


@dataclass(frozen=True, eq=False)
class Block:
    """Columns looked up together, in the order they are joined, and the numbers of the tuples given to them."""

    columns: NDArray[np.int32]
    tuples: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Plan:
    """A cover, and how large its tables should become on all rows.

    Attributes:
        blocks: every tuple of the cell space in exactly one of them.
        joint: joint values expected in all blocks.
        links: expected sum over the blocks of joint values times tuples.
        largest: joint values expected in the block that has most.
    """

    blocks: tuple[Block, ...]
    joint: float
    links: float
    largest: float = 0.0

    def cost(self, n_rows: int) -> float:
        """Return what a pass over `n_rows` rows should take, by the module's formula: nanoseconds of one thread."""
        return ROW * n_rows * len(self.blocks) + JOINT * self.joint + LINK * self.links


def singles(space: Space, cells: float, largest: float = 0.0) -> Plan:
    """Return the cover of one block per tuple, the plain path; `cells` are expected to occur, `largest` in one."""
    blocks = tuple(Block(columns, np.array([t])) for t, columns in enumerate(space.tuples))
    return Plan(blocks, cells, cells, largest)


def plan_cover(
    codes: NDArray[np.unsignedinteger], space: CellSpace, n_rows: int | None = None, stop: StopToken = NEVER
) -> Plan:
    """Return the cover of all tuples of `space` for rows like those of `codes` (a, N); `n_rows` of them if not N."""
    rows = codes.shape[1]
    n_rows = rows if n_rows is None else n_rows
    if space.n_tuples > MOST_TUPLES:
        cells = np.minimum(space.cards, n_rows)
        return singles(space, float(cells.sum()), float(cells.max()))
    if rows > SAMPLE:  # a fixed seed: the same table has the same cover; at random: half of it is a sample too
        codes = codes[:, np.random.default_rng(0).permutation(rows)[:SAMPLE]]
    sample = np.ascontiguousarray(codes, np.int32)
    plans = [_greedy(sample, space, n_rows, worth, stop) for worth in _WORTH]
    return min(plans, key=lambda plan: plan.cost(n_rows))


def _greedy(sample: NDArray[np.int32], space: CellSpace, n_rows: int, worth: float, stop: StopToken) -> Plan:
    a, n, m = len(space.levels), space.order, sample.shape[1]
    weight = np.array([[comb(a - 1 - c, n - i) for i in range(n)] for c in range(a)], np.int64)
    open_ = np.ones(space.n_tuples, np.uint8)
    key = np.zeros(m, np.int32)
    slots = min(SLOTS, max(m, 1) * int(space.levels.max() + 1))  # what a sample of so many rows can ask for
    slot, stamp = np.full(slots, -1, np.int32), np.zeros(slots, np.int32)
    most = m if n_rows <= m else m // _MOST
    doublings = log2(n_rows / m) if n_rows > m > 0 else 0.0
    row, mark = ROW * n_rows, 0
    taken, room = np.empty(space.n_tuples, np.int64), np.empty((6, a), np.int64)
    blocks, joint, links, largest = [], 0.0, 0.0, 0.0
    for seed in np.argsort(space.cards, kind="stable"):
        if not open_[seed]:
            continue
        stop.check()
        size, expected, tuples, mark = kernels.grow(
            sample, space.levels, space.tuples[seed], open_, weight, most, worth * row, doublings, JOINT, LINK,
            _TRIED, key, slot, stamp, mark, room,
        )  # fmt: skip
        joined = room[0, :size].astype(np.int32)
        found = kernels.close(np.sort(joined), open_, weight, taken, room[1])
        blocks.append(Block(joined, taken[:found].copy()))
        joint += expected
        links += expected * tuples
        largest = max(largest, expected)
    return Plan(tuple(blocks), joint, links, largest)
