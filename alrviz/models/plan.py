"""Planning a cover: which columns are looked up together.

A *block* is a set of columns whose joint values, as far as they occur, are few. All tuples inside it collapse into one
table over its joint values. A *cover* is a list of blocks such that every tuple is given to exactly one. A pass costs,
forward and scatter together, about

    sum over blocks of   ROW * N + JOINT * J + LINK * (its links)           J = its joint values

Links tie joint values to cells, as keys tie rows to joint values; so a block of many tuples has *inner* blocks, planned
for its J joint values as blocks are for N rows. A joint value is then tied to one of theirs each, and only theirs to
cells (all pairs of connect-4: 0.3 million links of 16 blocks, 2.4 million tuple by tuple).

Greedy: the open tuple of the fewest possible cells seeds a block, which takes one column after another, always the one
that costs least for each tuple it covers, as long as that is less than covering the tuple elsewhere is worth. What it
is worth is not known beforehand, so that two plans are made and the cheaper one is taken. A tuple too large to share a
block is a block of its own, whose table is its own cells.

Joint values are counted on a sample of rows and extrapolated; keys made later from all rows are right in any case. All
is decided by counts, never by a timing: the same table has the same cover on every machine.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, inf, log2, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import plan as kernels
from alrviz.models.cell_space import AnySpace, CellSpace, OrdersSpace, Space, TupleSpace
from alrviz.passes.threads import run_parts
from alrviz.stop import NEVER, StopToken

# Nanoseconds, of which only the ratios matter: a look-up and a scatter of one row; a joint value, most of it for the
# room it takes from others in a core's cache; adding a cell to a joint value and back. (Measured in covers of 8 to 50
# blocks of all pairs of connect-4 and Covertype: 1.9 and 2.2, 6 to 40, 2.3.)
ROW, JOINT, LINK = 2.0, 12.0, 2.0
# Rows looked at. Of a sample a half may be different joint values, a quarter where the order is above 2: beyond, too
# little is known of all rows, and a joint value with hundreds of tuples is dear (all triples of connect-4: 14 ms a
# pass, and 37 where two thirds may be different).
SAMPLE = 8_192
_MOST, _MOST_HIGHER = 2, 4
# Links of a joint value to t tuples, as long as inner blocks are not planned: at most so many times the root of t.
# (Passes over adult, connect-4 and Covertype at orders 2 and 3 with 2.5, 4, 6 and 15.)
_ROOT = 6.0
# Tuples from which a block may have inner blocks; and what covering one more of them is worth there, as below.
_NESTED, _WORTH_INNER = 4, 0.15
# What covering one more tuple is worth, in shares of a row pass.
_WORTH = (0.05, 0.25)
# Columns tried for each one taken: those that cover most.
_TRIED = 6
# Above so many tuples planning would take longer than it saves: every tuple is a block of its own.
MOST_TUPLES = 2**22
# Possible joint values that are counted by their place; 16 MiB.
SLOTS = 2**22
_AT_ONCE = 4_096  # tuples looked over together for those that are still to be covered


@dataclass(frozen=True, eq=False)
class Block:
    """Columns looked up together, in the order they are joined, and the numbers of the tuples given to them.

    Attributes:
        columns: int32.
        tuples: int64, those of inner blocks too.
        inner: blocks by which joint values find the cells of some of the tuples; without inner blocks of their own.
    """

    columns: NDArray[np.int32]
    tuples: NDArray[np.int64]
    inner: "tuple[Block, ...]" = ()

    @property
    def direct(self) -> NDArray[np.int64]:
        """The tuples to whose cells joint values are tied themselves."""
        if not self.inner:
            return self.tuples
        inner = np.concatenate([block.tuples for block in self.inner])  # no tuple is there twice: nothing to look for
        return np.sort(self.tuples[np.isin(self.tuples, inner, assume_unique=True, invert=True)])


@dataclass(frozen=True, eq=False)
class Plan:
    """A cover, and how large its tables should become on all rows.

    Attributes:
        blocks: every tuple of the cell space in exactly one of them.
        joint: joint values expected in all blocks, inner ones too.
        links: links expected from all of them.
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
    own = space.tuples if isinstance(space, CellSpace) else map(np.unique, space.tuples)  # what a tuple repeats is once
    blocks = tuple(Block(columns, np.array([t])) for t, columns in enumerate(own))
    return Plan(blocks, cells, cells, largest)


def plan_cover(
    codes: NDArray[np.unsignedinteger],
    space: AnySpace,
    n_rows: int | None = None,
    stop: StopToken = NEVER,
    n_jobs: int = 1,
) -> Plan:
    """Return the cover of all tuples of `space` for rows like those of `codes` (a, N); `n_rows` of them if not N.

    Chosen tuples are a block each; those of all orders have the blocks of the highest, which hold the lower ones.
    """
    rows = codes.shape[1]
    n_rows = rows if n_rows is None else n_rows
    if isinstance(space, OrdersSpace):
        own = CellSpace(space.levels[space.columns], space.order)
        return _with_lower(plan_cover(codes[space.columns], own, n_rows, stop, n_jobs), space)
    if isinstance(space, TupleSpace) or space.n_tuples > MOST_TUPLES:
        cells = np.minimum(space.cards, n_rows)
        return singles(space, float(cells.sum()), float(cells.max()))
    if rows > SAMPLE:  # a fixed seed: the same table has the same cover; at random: half of it is a sample too
        codes = codes[:, np.random.default_rng(0).permutation(rows)[:SAMPLE]]
    sample = np.ascontiguousarray(codes, np.int32)
    plans: list[Any] = [None] * len(_WORTH)

    def one(k: int) -> None:
        plans[k] = _greedy(sample, space, n_rows, _WORTH[k], stop)

    # Side by side only where what both count in is no larger than what one may have.
    beside = len(plans) * _slots(sample, int(space.levels.max())) <= SLOTS
    run_parts(one, len(plans), n_jobs if beside else 1)
    return _nested(min(plans, key=lambda grown: grown.plan.cost(n_rows)), sample, space, stop)


def _with_lower(plan: Plan, space: OrdersSpace) -> Plan:
    """The plan of the tuples of the highest order, its columns those of a space, each lower tuple given to the smallest
    block that holds it.
    """
    members = map(tuple, space.members[: space.n_lower])
    waiting = {columns: t for t, columns in enumerate(members)}
    taken: list[list[int]] = [[] for _ in plan.blocks]
    for b in sorted(range(len(plan.blocks)), key=lambda b: len(plan.blocks[b].columns)):
        columns = sorted(space.columns[plan.blocks[b].columns].tolist())
        for size in range(1, space.order):
            found = (waiting.pop(part, None) for part in combinations(columns, size))
            taken[b] += [t for t in found if t is not None]
        if not waiting:
            break
    blocks = tuple(_moved(block, space, own) for block, own in zip(plan.blocks, taken, strict=True))
    links = plan.links + space.n_lower * plan.joint / max(1, len(plan.blocks))
    return Plan(blocks, plan.joint, links, plan.largest)


def _moved(block: Block, space: OrdersSpace, more: Sequence[int] = ()) -> Block:
    """The block of tuples of the highest order as all orders number them and their columns, and of some more."""
    tuples = np.sort(np.append(block.tuples + space.n_lower, np.array(more, np.int64)))
    columns = space.columns[block.columns].astype(np.int32)
    return Block(columns, tuples, tuple(_moved(inner, space) for inner in block.inner))


@dataclass(frozen=True)
class _Grown:
    """A plan without inner blocks; for each block, rows of the sample that show its joint values, and how many it will
    have.
    """

    plan: Plan
    shown: tuple[NDArray[np.int64], ...]
    joint: tuple[float, ...]


class _Growth:
    """Blocks grown one after another. `key` numbers the joint values of the last one by row."""

    def __init__(self, space: CellSpace):
        a, n = len(space.levels), space.order
        self.key = np.empty(0, np.int32)
        self._space = space
        self._weight = np.array([[comb(a - 1 - c, n - i) for i in range(n)] for c in range(a)], np.int64)
        self._open, self._room = np.zeros(space.n_tuples, np.uint8), np.empty((6, a), np.int64)

    def blocks(
        self, rows: NDArray[np.int32], tuples: NDArray[np.int64], widest: int, most: int, worth: float,
        doublings: float, root: float, stop: StopToken,
    ) -> Iterator[tuple[Block, float]]:  # fmt: skip
        """Yield blocks until all of `tuples` are covered, and the joint values expected of each.

        `widest` levels has a column of them at most; see kernels.grow for the others.
        """
        space, room = self._space, self._room
        m = rows.shape[1]
        self.key = np.zeros(m, np.int32)
        slots = _slots(rows, widest)
        slot, stamp, mark = np.full(slots, -1, np.int32), np.zeros(slots, np.int32), 0
        costs = kernels.Costs(most, float(worth), float(doublings), JOINT, LINK, float(root), _TRIED)
        taken = np.empty(len(tuples), np.int64)
        self._open[tuples] = 1
        for seed in self._still_open(tuples[np.argsort(space.cards[tuples], kind="stable")]):
            stop.check()
            size, expected, _, mark = kernels.grow(
                rows,
                space.levels,
                space.tuples[seed],
                self._open,
                self._weight,
                costs,
                self.key,
                slot,
                stamp,
                mark,
                room,
            )
            joined = room[0, :size].astype(np.int32)
            found = kernels.cover_tuples(np.sort(joined), self._open, self._weight, taken, room[1])
            yield Block(joined, taken[:found].copy()), expected

    def _still_open(self, tuples: NDArray[np.int64]) -> Iterator[np.int64]:
        """Yield those that no block covers when their turn comes: of millions a first block may cover nearly all."""
        for begin in range(0, len(tuples), _AT_ONCE):
            part = tuples[begin : begin + _AT_ONCE]
            yield from (seed for seed in part[self._open[part] == 1] if self._open[seed])


def _slots(rows: NDArray[np.int32], widest: int) -> int:
    """Return how many pairs of a joint value and a level so many rows can ask for."""
    return min(SLOTS, max(rows.shape[1], 1) * (widest + 1))


def _greedy(sample: NDArray[np.int32], space: CellSpace, n_rows: int, worth: float, stop: StopToken) -> _Grown:
    m = sample.shape[1]
    most = m if n_rows <= m else m // (_MOST if space.order <= 2 else _MOST_HIGHER)
    doublings = log2(n_rows / m) if n_rows > m > 0 else 0.0
    growth, every = _Growth(space), np.arange(space.n_tuples)
    blocks, shown, joint, links = [], [], [], 0.0
    for block, expected in growth.blocks(
        sample, every, int(space.levels.max()), most, worth * ROW * n_rows, doublings, _ROOT, stop
    ):
        tuples = len(block.tuples)
        blocks.append(block)
        joint.append(expected)
        links += expected * min(tuples, _ROOT * sqrt(tuples))
        # numbered as they first occur: a row shows a new one where it is above all before
        new = np.diff(np.maximum.accumulate(growth.key), prepend=-1) if tuples >= _NESTED else growth.key[:0]
        shown.append(np.flatnonzero(new))
    return _Grown(Plan(tuple(blocks), sum(joint), links, max(joint, default=0.0)), tuple(shown), tuple(joint))


def _nested(grown: _Grown, sample: NDArray[np.int32], space: CellSpace, stop: StopToken) -> Plan:
    """Give the blocks of a plan inner blocks where they have fewer links with them."""
    growth, blocks, joint, links = _Growth(space), [], 0.0, 0.0
    for block, shown, values in zip(grown.plan.blocks, grown.shown, grown.joint, strict=True):
        inner, joint, links = [], joint + values, links + values * len(block.tuples)
        if len(shown):
            rows, widest = np.ascontiguousarray(sample[:, shown]), int(space.levels[block.columns].max())
            doublings, worth = log2(max(1.0, values / len(shown))), _WORTH_INNER * LINK * values
            for one, own in growth.blocks(rows, block.tuples, widest, len(shown), worth, doublings, inf, stop):
                more = values + own * len(one.tuples) - values * len(one.tuples)
                if LINK * more + JOINT * own < 0.0:
                    inner.append(one)
                    joint, links = joint + own, links + more
        blocks.append(Block(block.columns, block.tuples, tuple(inner)))
    return Plan(tuple(blocks), joint, links, grown.plan.largest)
