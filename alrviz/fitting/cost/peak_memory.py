"""The bytes a fit takes at its peak, from the numbers of rows, cells, blocks, joint values and links alone.

They are those of the largest of its stages: merging repeats, planning, covering (joining columns, then linking joint
values to cells) and fitting. tests/fitting/test_estimate.py holds them to what is measured.
"""

from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alrviz.data.encoded import code_dtype
from alrviz.models.cell_space import count_cells
from alrviz.models.plan import MAX_SLOTS, SAMPLE_ROWS, Plan
from alrviz.passes.aligned_buffers import class_widths

# Vectors of S x C numbers alive at the peak of a step besides the solver's memory: scale, center, weights and
# gradients of two points, direction and its products, log theta, counts; and where no step is taken.
_VECTORS = 14
_VECTORS_AT_REST = 9
# Where weights are shared, those as long as phi (scale, owner, log theta, counts, phi, its slope) and as w.
_VECTORS_SHARED, _VECTORS_FREE = 8, 10
# Joint values from which a block's keys are counted as 32 bits wide: 2^16 less what an estimate may miss.
_WIDE = 50_000
# Bytes of a visit of a row by a stochastic solver: its number in order, in a drawn order, and sorted by class.
VISIT = 32
SNAPSHOT_LIMIT = 64 * 2**20  # bytes of weights kept along a run, so that a view can be moved back over it
# Steps of a fit that keeps as many snapshots as any: the solver is chosen for it, so that a shorter one starts alike.
MANY = 10**9


class TableSizes(NamedTuple):
    """Blocks, the joint values and links of all of them, those that take wide keys, and threads that join them."""

    blocks: int
    joint: float
    links: float
    wide: int
    jobs: int


def tables_of(
    levels: NDArray[np.int64], order: int, rows: "RowCounts", cells_seen: int | None, plan: Plan | None, jobs: int
) -> TableSizes:
    """Return what is planned for columns of so many levels (a,); without a plan every tuple is a block, and "no level"
    makes joint values too.
    """
    if plan is not None:
        blocks, joint, links, largest = len(plan.blocks), plan.joint, plan.links, plan.largest
    else:
        n_tuples = comb(len(levels), order)
        joint = min(count_cells(levels + 1, order), n_tuples * rows.given) if cells_seen is None else cells_seen
        blocks, links = n_tuples if joint else 0, joint
        largest = float(min(np.sort(levels + 1)[-order:].astype(float).prod(), rows.given, joint))
    wide = min(blocks, 1 + int(joint / _WIDE)) if largest > _WIDE else 0
    return TableSizes(blocks, joint, links, wide, min(jobs, max(1, blocks)))


class RowCounts(NamedTuple):
    """Rows given for training and for watching, and those kept once repeats are merged."""

    given: int
    held: int
    kept: int
    kept_held: int


def peak_bytes(
    levels: NDArray[np.int64],
    order: int,
    rows: RowCounts,
    n_classes: int,
    n_tuples: int,
    cells: int,
    seen: int,
    free: int,
    tables: TableSizes,
    steps: int,
    solver: int,
) -> int:
    """Return the bytes at the peak for levels (a,), of merging, planning, covering or fitting `steps`; `solver` are its
    own.
    """
    a, top = len(levels), int(levels.max(initial=0))
    kept = rows.kept + rows.kept_held
    code = 4 if top >= 2**16 else 2
    given = (rows.given + rows.held) * (a * code_dtype(levels).itemsize + 12)
    codes = kept * (a * code + (12 if kept < rows.given + rows.held else 0))
    merging = code * (a + 1) * rows.given + _joining(rows.given, rows.kept, top)
    base = given + codes + n_tuples * (order * 12 + 24) + 400 * tables.blocks
    sampled = min(SAMPLE_ROWS, rows.kept)
    planning = 8 * min(MAX_SLOTS, sampled * (top + 1)) + (code + 4) * a * sampled + 8 * rows.kept + 9 * n_tuples
    keys = (4 if tables.wide else 2) * kept * tables.blocks
    both = rows.held > 0  # rows that are watched are joined with those that are fitted, and parted again
    shown = 8 * tables.joint
    # Keys are narrow until every block is joined; those that are too wide wait beside them, and all are copied.
    waiting = 2 * kept * tables.blocks + 4 * kept * tables.wide
    threads = tables.jobs * _joining(kept, tables.joint / max(1, tables.blocks), top)
    joining = shown + both * code * a * kept + waiting + max(threads, keys if tables.wide else 0)
    index = n_tuples * 24 + 4 * min(cells, 16 * seen + 64 * n_tuples) + 8 * seen
    linking = both * code * a * kept + shown + (1 + both) * keys + index + 4 * tables.links
    passing = keys + index + 4 * tables.links + _passing(rows, n_classes, n_tuples, seen, free, tables, steps, solver)
    return int(max(given + merging, base + max(planning, joining, linking, passing)))


def _joining(n_rows: int, values: float, top: int) -> float:
    """Bytes of joining a column of `top` levels to so many joint values: keys, rows that show them, places, hashes."""
    possible, places = values * (top + 1), min(MAX_SLOTS, 8 * n_rows)
    hashed = 12 * 2 ** (2 * n_rows).bit_length() if possible > places else 0
    return 12 * n_rows + min(4 * places, 16 * possible) + hashed


def _passing(
    rows: RowCounts, n_classes: int, n_tuples: int, seen: int, free: int, tables: TableSizes, steps: int, solver: int
) -> float:
    """Bytes of counting and fitting."""
    padded = class_widths(n_classes)[1]
    # of the point before, of this one, and of the line between them or, once that is gone, of the held-out rows
    scores = 8 * padded * ((2 if steps else 1) * rows.kept + max(rows.kept, rows.kept_held))
    cell_table = 8 * padded * (2 * n_tuples + seen)
    table = 8 * padded * tables.joint
    vector = 8 * (seen + 1) * n_classes
    snapshots = min(max(SNAPSHOT_LIMIT, 12 * free), (steps + 1) * 4 * free)  # the first, one more, the last: always
    if free == (seen + 1) * n_classes:
        vectors = (_VECTORS if steps else _VECTORS_AT_REST) * vector
    else:
        vectors = _VECTORS_SHARED * vector + 8 * _VECTORS_FREE * free
    return table + cell_table + max(3 * vector, scores + vectors + solver + snapshots)
