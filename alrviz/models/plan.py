"""Planning a cover: which columns are looked up together.

A *block* is a set of columns with few joint values among those that occur. All tuples inside it collapse into one table
over its joint values. A *cover* is a list of blocks that gives every tuple to exactly one of them. A pass costs,
forward and scatter together, about

    sum over blocks of   ROW_NS * N + JOINT_NS * J + LINK_NS * (its links)           J = its joint values

Links connect joint values to cells, as keys connect rows to joint values. Therefore a block of many tuples has *inner*
blocks, planned for its J joint values as blocks are for N rows: a joint value is linked to one inner joint value per
inner block, and only those to cells. (All pairs of connect-4: 0.3 million links with 16 blocks, 2.4 million tuple by
tuple.)

The plan is greedy. The open tuple with the fewest possible cells seeds a block. It takes one column after another,
always the one with the lowest cost per tuple that it covers, while that is less than the value of covering a tuple.
This value is unknown, so two plans are made with two values, and the cheaper one is used. A tuple that is too large to
share a block is a block of its own.

Joint values are counted on a sample of rows and extrapolated; the keys are later made of all rows and exact in any
case. All decisions depend on counts and not on timings, so that a table has the same cover on every machine.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, inf, log2, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import plan as kernels
from alrviz.kernels.cells import join
from alrviz.models.cell_space import AnySpace, CellSpace, OrdersSpace, Space, TupleSpace
from alrviz.passes.threads import run_parts
from alrviz.stop import NEVER, StopToken

# Only the ratios matter. Looking up and scattering one row; a joint value, mostly for the cache that it takes from
# others; adding a cell to a joint value and back. (Measured in covers of 8 to 50 blocks of all pairs of connect-4 and
# Covertype: 1.9 and 2.2, 6 to 40, 2.3.)
ROW_NS, JOINT_NS, LINK_NS = 2.0, 12.0, 2.0
# Rows of the sample, and sample rows that a block needs at least per joint value, at orders up to 2 and above. With
# fewer the extrapolation to all rows is poor, and a joint value with hundreds of tuples is expensive (all triples of
# connect-4: 14 ms a pass, 37 if two thirds of the rows may differ).
SAMPLE_ROWS = 8_192
_ROWS_PER_VALUE, _ROWS_PER_VALUE_HIGHER = 2, 4
# Expected links of a joint value to t tuples, before inner blocks are planned: at most so many times the root of t.
# (Chosen from 2.5, 4, 6 and 15 by passes over adult, connect-4 and Covertype at orders 2 and 3.)
_LINKS_PER_ROOT = 6.0
# Tuples from which a block may have inner blocks, and the value of covering a tuple in them, as below.
_MIN_NESTED_TUPLES, _INNER_TUPLE_VALUE = 4, 0.15
# Values of covering a tuple, in shares of the cost of a pass over the rows: a plan is made with each.
_TUPLE_VALUES = (0.05, 0.25)
# Columns examined for each column taken: those that cover most tuples.
_MAX_CANDIDATES = 6
# With more tuples planning takes longer than it saves, and every tuple is a block of its own.
MAX_PLANNED_TUPLES = 2**22
# Single columns above which a block takes columns in turn, as the search for the best is quadratic: 20,000 columns of
# 7,000 rows took 118 s.
MAX_SEARCHED_COLUMNS = 1_000
# Possible joint values that can be counted, 16 MiB.
MAX_SLOTS = 2**22
_TUPLES_PER_SCAN = 4_096  # tuples scanned at once for open ones


@dataclass(frozen=True, eq=False)
class Block:
    """Columns that are looked up together, in the order in which they are joined, and the tuples given to them.

    Attributes:
        columns: int32.
        tuples: int64 numbers, those of inner blocks included.
        inner: blocks that link joint values to the cells of some tuples; they have no inner blocks themselves.
    """

    columns: NDArray[np.int32]
    tuples: NDArray[np.int64]
    inner: "tuple[Block, ...]" = ()

    @property
    def direct_tuples(self) -> NDArray[np.int64]:
        """The tuples that no inner block has, to whose cells joint values are linked directly."""
        if not self.inner:
            return self.tuples
        inner = np.concatenate([block.tuples for block in self.inner])  # no tuple occurs twice
        return np.sort(self.tuples[np.isin(self.tuples, inner, assume_unique=True, invert=True)])


@dataclass(frozen=True, eq=False)
class Plan:
    """A cover, and the expected size of its tables on all rows.

    Attributes:
        blocks: every tuple of the cell space is in exactly one of them.
        n_joint: number of joint values (combinations of the levels of a block's columns) expected in all blocks, inner
            ones included.
        n_links: links expected from all of them.
        max_joint: joint values expected in the largest block.
    """

    blocks: tuple[Block, ...]
    n_joint: float
    n_links: float
    max_joint: float = 0.0

    def pass_nanoseconds(self, n_rows: int) -> float:
        """Return the expected nanoseconds, on one thread, of a pass over `n_rows` rows, by the module's formula."""
        return ROW_NS * n_rows * len(self.blocks) + JOINT_NS * self.n_joint + LINK_NS * self.n_links


def one_block_per_tuple(space: Space, cells: float, largest: float = 0.0) -> Plan:
    """Return the cover with one block per tuple; `cells` are expected to occur in all, `largest` in one of them."""
    tuple_columns = (
        space.tuples if isinstance(space, CellSpace) else map(np.unique, space.tuples)
    )  # without repeated columns
    blocks = tuple(Block(columns, np.array([t])) for t, columns in enumerate(tuple_columns))
    return Plan(blocks, cells, cells, largest)


def plan_cover(
    codes: NDArray[np.unsignedinteger],
    space: AnySpace,
    n_rows: int | None = None,
    stop: StopToken = NEVER,
    n_jobs: int = 1,
) -> Plan:
    """Return a cover of all tuples of `space` for n_rows rows (N if None) like those of `codes` (a, N).

    Given tuples are a block each. Tuples of all orders use the blocks of the highest order, which contain the lower
    ones.
    """
    rows = codes.shape[1]
    n_rows = rows if n_rows is None else n_rows
    if isinstance(space, OrdersSpace):
        highest = CellSpace(space.levels[space.columns], space.order)
        return _with_lower_orders(plan_cover(codes[space.columns], highest, n_rows, stop, n_jobs), space)
    if isinstance(space, TupleSpace) or space.n_tuples > MAX_PLANNED_TUPLES:
        cells = np.minimum(space.cards, n_rows)
        return one_block_per_tuple(space, float(cells.sum()), float(cells.max()))
    if rows > SAMPLE_ROWS:  # random, so that half of it is a sample too; a fixed seed, so that a table has one cover
        codes = codes[:, np.random.default_rng(0).permutation(rows)[:SAMPLE_ROWS]]
    sample = np.ascontiguousarray(codes, np.int32)
    plans: list[Any] = [None] * len(_TUPLE_VALUES)

    def make_plan(k: int) -> None:
        plans[k] = _greedy_plan(sample, space, n_rows, _TUPLE_VALUES[k], stop)

    # In parallel only if the workspaces of all plans fit the limit for one.
    fit_together = len(plans) * _max_pairs(sample, int(space.levels.max())) <= MAX_SLOTS
    run_parts(make_plan, len(plans), n_jobs if fit_together else 1)
    return _with_inner_blocks(min(plans, key=lambda grown: grown.plan.pass_nanoseconds(n_rows)), sample, space, stop)


def _plan_in_turn(sample: NDArray[np.unsignedinteger], levels: NDArray[np.int64], n_rows: int, stop: StopToken) -> Plan:
    """Return a cover of single columns, whose blocks take columns in turn, those with a rare second level first.

    A block is full when its joint values and links would cost more than the look-up of its n_rows rows. sample: (a, m)
    codes of the rows; levels: (a,) of the columns.
    """
    n_sampled = sample.shape[1]
    commonest_counts = [np.bincount(column).max(initial=0) for column in sample]
    examples, blocks, sizes = np.empty(n_sampled, np.int64), list[list[int]]([[]]), [1]
    key = np.zeros(n_sampled, np.int32)
    for column in np.argsort(commonest_counts, kind="stable")[::-1].tolist():
        stop.check()
        slots = np.full(max(1, n_sampled) * (int(levels[column]) + 1), -1, np.int32)
        n_values = join(key, sizes[-1], sample[column], levels[column], slots, examples)
        if blocks[-1] and n_values * (JOINT_NS + LINK_NS * (1 + len(blocks[-1]))) > ROW_NS * n_rows:
            blocks.append([])
            key[:] = 0
            sizes.append(1)
            n_values = join(key, 1, sample[column], levels[column], slots, examples)
        blocks[-1].append(column)
        sizes[-1] = n_values
    n_links = sum(size * len(columns) for size, columns in zip(sizes, blocks, strict=True))
    return Plan(
        tuple(Block(np.array(columns, np.int32), np.sort(columns)) for columns in blocks),
        sum(sizes),
        n_links,
        max(sizes),
    )


def _with_lower_orders(plan: Plan, space: OrdersSpace) -> Plan:
    """Return a plan of the highest order for `space`, with each lower tuple given to the smallest block that contains
    it.
    """
    members = map(tuple, space.members[: space.n_lower])
    uncovered_tuples = {columns: t for t, columns in enumerate(members)}
    lower_tuples: list[list[int]] = [[] for _ in plan.blocks]
    for b in sorted(range(len(plan.blocks)), key=lambda b: len(plan.blocks[b].columns)):
        columns = sorted(space.columns[plan.blocks[b].columns].tolist())
        for size in range(1, space.order):
            numbers = (uncovered_tuples.pop(subtuple, None) for subtuple in combinations(columns, size))
            lower_tuples[b] += [t for t in numbers if t is not None]
        if not uncovered_tuples:
            break
    blocks = tuple(
        _renumbered_block(block, space, tuple_numbers)
        for block, tuple_numbers in zip(plan.blocks, lower_tuples, strict=True)
    )
    links = plan.n_links + space.n_lower * plan.n_joint / max(1, len(plan.blocks))
    return Plan(blocks, plan.n_joint, links, plan.max_joint)


def _renumbered_block(block: Block, space: OrdersSpace, lower_tuples: Sequence[int] = ()) -> Block:
    """Return a block of the highest order with tuples and columns numbered as in `space`, plus lower tuples."""
    tuples = np.sort(np.append(block.tuples + space.n_lower, np.array(lower_tuples, np.int64)))
    columns = space.columns[block.columns].astype(np.int32)
    return Block(columns, tuples, tuple(_renumbered_block(inner, space) for inner in block.inner))


@dataclass(frozen=True)
class _GreedyPlan:
    """A plan without inner blocks; and for each block rows of the sample, one for each joint value (combination of
    levels) of its columns, and the number of joint values expected in all rows.
    """

    plan: Plan
    examples: tuple[NDArray[np.int64], ...]
    n_joint_of_blocks: tuple[float, ...]


class _BlockGrower:
    """Grows one block after another; `key` numbers the joint values of the last block by row."""

    def __init__(self, space: CellSpace):
        a, n = len(space.levels), space.order
        self.key = np.empty(0, np.int32)
        self._space = space
        self._weight = np.array([[comb(a - 1 - c, n - i) for i in range(n)] for c in range(a)], np.int64)
        self._is_open, self._workspace = np.zeros(space.n_tuples, np.uint8), np.empty((6, a), np.int64)

    def blocks(
        self, rows: NDArray[np.int32], tuples: NDArray[np.int64], max_levels: int, max_joint: int, tuple_value: float,
        doublings: float, links_per_root: float, stop: StopToken,
    ) -> Iterator[tuple[Block, float]]:  # fmt: skip
        """Yield blocks until all of `tuples` are covered, each with the number of joint values expected of it.

        rows: (a, m) codes of the sample; max_levels: levels of the largest column; the other arguments are fields of
        `kernels.plan.Costs`.
        """
        space, workspace = self._space, self._workspace
        n_rows = rows.shape[1]
        self.key = np.zeros(n_rows, np.int32)
        n_slots = _max_pairs(rows, max_levels)
        slots, stamps, stamp = np.full(n_slots, -1, np.int32), np.zeros(n_slots, np.int32), 0
        costs = kernels.Costs(
            max_joint, float(tuple_value), float(doublings), JOINT_NS, LINK_NS, float(links_per_root), _MAX_CANDIDATES
        )
        covered_tuples = np.empty(len(tuples), np.int64)
        self._is_open[tuples] = 1
        for seed in self._open_tuples(tuples[np.argsort(space.cards[tuples], kind="stable")]):
            stop.check()
            n_block_columns, n_expected_values, _, stamp = kernels.grow(
                rows,
                space.levels,
                space.tuples[seed],
                self._is_open,
                self._weight,
                costs,
                self.key,
                slots,
                stamps,
                stamp,
                workspace,
            )
            columns = workspace[0, :n_block_columns].astype(np.int32)
            sorted_columns = np.sort(columns)
            n_covered = kernels.cover_tuples(sorted_columns, self._is_open, self._weight, covered_tuples, workspace[1])
            yield Block(columns, covered_tuples[:n_covered].copy()), n_expected_values

    def _open_tuples(self, tuples: NDArray[np.int64]) -> Iterator[np.int64]:
        """Yield those of `tuples` that no block covers yet when their turn comes.

        They are looked at in groups: of millions, the first block may cover nearly all.
        """
        for begin in range(0, len(tuples), _TUPLES_PER_SCAN):
            scanned_tuples = tuples[begin : begin + _TUPLES_PER_SCAN]
            yield from (seed for seed in scanned_tuples[self._is_open[scanned_tuples] == 1] if self._is_open[seed])


def _max_pairs(rows: NDArray[np.int32], max_levels: int) -> int:
    """Return an upper bound of the pairs of a joint value and a level that rows (a, m) of columns with max_levels can
    have.
    """
    return min(MAX_SLOTS, max(rows.shape[1], 1) * (max_levels + 1))


def _greedy_plan(
    sample: NDArray[np.int32], space: CellSpace, n_rows: int, tuple_value: float, stop: StopToken
) -> _GreedyPlan:
    """Return a plan whose blocks are grown on a sample (a, m) of n_rows rows, one after another.

    tuple_value: nanoseconds per row that covering a tuple is taken to save, in units of ROW_NS.
    """
    m = sample.shape[1]
    max_joint = m if n_rows <= m else m // (_ROWS_PER_VALUE if space.order <= 2 else _ROWS_PER_VALUE_HIGHER)
    doublings = log2(n_rows / m) if n_rows > m > 0 else 0.0
    growth, all_tuples = _BlockGrower(space), np.arange(space.n_tuples)
    blocks, examples, joint_blocks, links = [], [], [], 0.0
    for block, expected in growth.blocks(
        sample,
        all_tuples,
        int(space.levels.max()),
        max_joint,
        tuple_value * ROW_NS * n_rows,
        doublings,
        _LINKS_PER_ROOT,
        stop,
    ):
        tuples = len(block.tuples)
        blocks.append(block)
        joint_blocks.append(expected)
        links += expected * min(tuples, _LINKS_PER_ROOT * sqrt(tuples))
        # values are numbered by first occurrence: a row shows a new one if its number exceeds all before
        is_new = (
            np.diff(np.maximum.accumulate(growth.key), prepend=-1) if tuples >= _MIN_NESTED_TUPLES else growth.key[:0]
        )
        examples.append(np.flatnonzero(is_new))
    return _GreedyPlan(
        Plan(tuple(blocks), sum(joint_blocks), links, max(joint_blocks, default=0.0)),
        tuple(examples),
        tuple(joint_blocks),
    )


def _with_inner_blocks(greedy: _GreedyPlan, sample: NDArray[np.int32], space: CellSpace, stop: StopToken) -> Plan:
    """Return a greedy plan with inner blocks where they reduce the cost of its blocks; sample: the (a, m) rows of the
    plan.
    """
    grower, blocks, joint, links = _BlockGrower(space), [], 0.0, 0.0
    for block, examples, values in zip(greedy.plan.blocks, greedy.examples, greedy.n_joint_of_blocks, strict=True):
        inner_blocks, joint, links = [], joint + values, links + values * len(block.tuples)
        if len(examples):
            rows, max_levels = np.ascontiguousarray(sample[:, examples]), int(space.levels[block.columns].max())
            doublings, tuple_value = log2(max(1.0, values / len(examples))), _INNER_TUPLE_VALUE * LINK_NS * values
            for inner_block, inner_joint in grower.blocks(
                rows, block.tuples, max_levels, len(examples), tuple_value, doublings, inf, stop
            ):
                more_links = values + inner_joint * len(inner_block.tuples) - values * len(inner_block.tuples)
                if LINK_NS * more_links + JOINT_NS * inner_joint < 0.0:
                    inner_blocks.append(inner_block)
                    joint, links = joint + inner_joint, links + more_links
        blocks.append(Block(block.columns, block.tuples, tuple(inner_blocks)))
    return Plan(tuple(blocks), joint, links, greedy.plan.max_joint)
