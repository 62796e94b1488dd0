"""The peak memory of a fit, from the numbers of rows, cells, blocks, joint values and links alone.

It is that of the largest stage: merging repeats, planning, covering (joining columns, then linking joint values to
cells) or fitting. tests/fitting/test_estimate.py compares it with measurements.
"""

from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alrviz.data.encoded import code_dtype
from alrviz.models.cell_space import count_cells
from alrviz.models.plan import MAX_SLOTS, SAMPLE_ROWS, Plan
from alrviz.passes.aligned_buffers import class_widths

# Vectors of S x C numbers alive at the peak of a step besides the solver's memory: scale, center, weights and gradients
# of two points, direction and its products, log theta, counts; then those without a step.
_STEP_VECTORS = 14
_START_VECTORS = 9
# With shared weights: vectors as long as phi (scale, index, log theta, counts, phi, its slope), and as long as w.
_SHARED_PHI_VECTORS, _SHARED_W_VECTORS = 8, 10
# Joint values of a block from which its keys count as 32 bits wide: 2^16 less the error of an estimate.
_MIN_WIDE_VALUES = 50_000
# Of a row in a stochastic solver: its number in order, in a drawn order, and sorted by class.
VISIT_BYTES = 32
MAX_SNAPSHOT_BYTES = 64 * 2**20  # weights stored along a run, so that a page can replay it
# A fit of so many steps stores the most snapshots. The solver is chosen for it, so that shorter fits start alike.
MANY_STEPS = 10**9


class TableSizes(NamedTuple):
    """Numbers of blocks, of their joint values and links together, of blocks with wide keys, and of joining threads."""

    n_blocks: int
    n_joint: float  # joint values of all blocks
    n_links: float
    n_wide: int  # blocks with keys of 32 bits
    n_jobs: int


def tables_of(
    levels: NDArray[np.int64], order: int, rows: "RowCounts", cells_seen: int | None, plan: Plan | None, jobs: int
) -> TableSizes:
    """Return the sizes of the tables of tuples of `order` columns with levels (a,), from a plan of their cover.

    rows: numbers of rows; cells_seen: cells that occur, None for the maximum; jobs: threads. Without a plan every tuple
    is a block, and "no level" adds joint values too.
    """
    if plan is not None:
        blocks, joint, links, largest_block = len(plan.blocks), plan.n_joint, plan.n_links, plan.max_joint
    else:
        n_tuples = comb(len(levels), order)
        joint = min(count_cells(levels + 1, order), n_tuples * rows.n_train) if cells_seen is None else cells_seen
        blocks, links = n_tuples if joint else 0, joint
        largest_block = float(min(np.sort(levels + 1)[-order:].astype(float).prod(), rows.n_train, joint))
    n_wide = min(blocks, 1 + int(joint / _MIN_WIDE_VALUES)) if largest_block > _MIN_WIDE_VALUES else 0
    return TableSizes(blocks, joint, links, n_wide, min(jobs, max(1, blocks)))


class RowCounts(NamedTuple):
    """Training and held-out rows, and their numbers after repeats are merged."""

    n_train: int
    n_heldout: int
    n_merged: int
    n_merged_heldout: int


def peak_bytes(
    levels: NDArray[np.int64],
    order: int,
    rows: RowCounts,
    n_classes: int,
    n_tuples: int,
    cells: int,
    n_seen: int,
    n_free: int,
    tables: TableSizes,
    steps: int,
    solver_bytes: int,
) -> int:
    """Return the bytes at the peak of merging, planning, covering or fitting.

    Args:
        levels: (a,) of the columns.
        order, n_tuples, cells: columns of a tuple, tuples and possible cells.
        rows: numbers of rows.
        n_classes, n_seen, n_free: C, cells that occur, free weights.
        tables: sizes of the blocks' tables.
        steps: steps of the fit, whose snapshots are kept.
        solver_bytes: bytes of the solver's own vectors.
    """
    a, max_levels = len(levels), int(levels.max(initial=0))
    n_rows = rows.n_merged + rows.n_merged_heldout
    code_bytes = 4 if max_levels >= 2**16 else 2
    given_bytes = (rows.n_train + rows.n_heldout) * (a * code_dtype(levels).itemsize + 12)
    codes = n_rows * (a * code_bytes + (12 if n_rows < rows.n_train + rows.n_heldout else 0))
    merging = code_bytes * (a + 1) * rows.n_train + _joining_bytes(rows.n_train, rows.n_merged, max_levels)
    base = given_bytes + codes + n_tuples * (order * 12 + 24) + 400 * tables.n_blocks
    n_sampled = min(SAMPLE_ROWS, rows.n_merged)
    planning = (
        8 * min(MAX_SLOTS, n_sampled * (max_levels + 1))
        + (code_bytes + 4) * a * n_sampled
        + 8 * rows.n_merged
        + 9 * n_tuples
    )
    keys = (4 if tables.n_wide else 2) * n_rows * tables.n_blocks
    has_heldout = rows.n_heldout > 0  # held-out rows are joined with training rows, and separated again
    example_bytes = 8 * tables.n_joint
    # Keys are narrow until every block is joined; those that become too wide wait beside them, and all are copied.
    waiting_bytes = 2 * n_rows * tables.n_blocks + 4 * n_rows * tables.n_wide
    threads = tables.n_jobs * _joining_bytes(n_rows, tables.n_joint / max(1, tables.n_blocks), max_levels)
    joining = (
        example_bytes
        + has_heldout * code_bytes * a * n_rows
        + waiting_bytes
        + max(threads, keys if tables.n_wide else 0)
    )
    index = n_tuples * 24 + 4 * min(cells, 16 * n_seen + 64 * n_tuples) + 8 * n_seen
    linking = (
        has_heldout * code_bytes * a * n_rows + example_bytes + (1 + has_heldout) * keys + index + 4 * tables.n_links
    )
    passing = (
        keys
        + index
        + 4 * tables.n_links
        + _passing_bytes(rows, n_classes, n_tuples, n_seen, n_free, tables, steps, solver_bytes)
    )
    return int(max(given_bytes + merging, base + max(planning, joining, linking, passing)))


def _joining_bytes(n_rows: int, n_values: float, n_levels: int) -> float:
    """Return the bytes of joining a column of n_levels to n_values joint values of n_rows rows.

    They are those of keys, examples, places and hashes.
    """
    n_possible, n_places = n_values * (n_levels + 1), min(MAX_SLOTS, 8 * n_rows)
    hash_bytes = 12 * 2 ** (2 * n_rows).bit_length() if n_possible > n_places else 0
    return 12 * n_rows + min(4 * n_places, 16 * n_possible) + hash_bytes


def _passing_bytes(
    rows: RowCounts, n_classes: int, n_tuples: int, n_seen: int, n_free: int, tables: TableSizes, steps: int,
    solver_bytes: int,
) -> float:  # fmt: skip
    """Return the bytes of counting and fitting; the arguments are those of `peak_bytes`."""
    padded_width = class_widths(n_classes)[1]
    # of the previous point, this one, and the line between them or, once that is freed, the held-out rows
    score_bytes = 8 * padded_width * ((2 if steps else 1) * rows.n_merged + max(rows.n_merged, rows.n_merged_heldout))
    cell_bytes = 8 * padded_width * (2 * n_tuples + n_seen)
    table_bytes = 8 * padded_width * tables.n_joint
    vector_bytes = 8 * (n_seen + 1) * n_classes
    snapshot_bytes = min(
        max(MAX_SNAPSHOT_BYTES, 12 * n_free), (steps + 1) * 4 * n_free
    )  # the first, one more and the last always
    if n_free == (n_seen + 1) * n_classes:
        vectors = (_STEP_VECTORS if steps else _START_VECTORS) * vector_bytes
    else:
        vectors = _SHARED_PHI_VECTORS * vector_bytes + 8 * _SHARED_W_VECTORS * n_free
    return table_bytes + cell_bytes + max(3 * vector_bytes, score_bytes + vectors + solver_bytes + snapshot_bytes)
