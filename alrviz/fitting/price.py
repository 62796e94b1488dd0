"""What a fit costs, before it is run: parameters, bytes, seconds per pass, and whether it is refused.

From the shape of a table alone every cell counts as seen, and every tuple as a block: an upper bound. With the table at
hand the number of cells that occur is found by looking at (a sample of) the tuples, and the cover is planned.
"""

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alrviz.data.encoded import code_dtype
from alrviz.errors import MemoryLimitError
from alrviz.fitting.choice import Choice, choose
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.snapshots import LIMIT
from alrviz.models.index import MOST_ROWS
from alrviz.models.plan import SAMPLE as SAMPLED
from alrviz.models.plan import SLOTS, Plan, plan_cover
from alrviz.models.space import MOST_CELLS, CellSpace, check_order, count_cells, count_parameters
from alrviz.passes.memory import free_memory
from alrviz.passes.room import lanes_of
from alrviz.passes.speed import Work, seconds_per_pass
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded
    from alrviz.fitting.prepare import Prepared

# Tuples looked at to find the share of cells that occur; beyond them the share is taken as the same.
SAMPLE = 256
# Tuples up to which the cover is planned for a price alone: about a second. Beyond, each counts as a block.
PLANNED = 30_000
# Vectors of S x C numbers alive at the peak of a step besides the solver's memory: scale, center, weights and
# gradients of two points, direction and its products, log theta, counts; and where no step is taken.
_VECTORS = 14
_VECTORS_AT_REST = 9
# Steps of a fit that keeps as many snapshots as any: the solver is chosen for it, so that a shorter one starts alike.
_MANY = 10**9


@dataclass(frozen=True)
class Price:
    """What one fit costs.

    Attributes:
        parameters: C + C * (number of cells).
        cells_seen: cells that occur in the rows (an upper bound where the table is not at hand).
        bytes: peak memory of preparing and fitting.
        seconds_per_pass: one NLL and gradient; None if it was not asked for.
        allowed: bytes that may be used.
        refused: why it will not be run; empty if it will.
        choice: the solver that will run, and why; None if it was not asked for.
    """

    parameters: int
    cells_seen: int
    bytes: int
    seconds_per_pass: float | None
    allowed: int
    refused: str = ""
    choice: Choice | None = None


def price(
    levels: ArrayLike,
    n_classes: int,
    n_rows: int,
    recipe: Recipe,
    *,
    cells_seen: int | None = None,
    plan: Plan | None = None,
    n_heldout: int = 0,
    kept: tuple[int, int] | None = None,
    max_memory: int | None = None,
    timed: bool = True,
) -> Price:
    """Return the price of `recipe` on a table of that shape; nothing is allocated.

    `kept` are the training and held-out rows left once repeats are merged; all where it is not known.

    Raises:
        RecipeError: if the order is higher than the number of columns.
    """
    levels = np.asarray(levels, np.int64)
    order = int(recipe.params["order"])
    check_order(len(levels), order)
    cells = count_cells(levels, order)
    n_tuples = comb(len(levels), order)
    rows = _Rows(n_rows, n_heldout, *(kept or (n_rows, n_heldout)))
    seen = min(cells, n_tuples * n_rows) if cells_seen is None else cells_seen
    tables = _tables(levels, order, rows, cells_seen, plan)
    shape = (levels, order, rows, n_classes, n_tuples, cells, seen, tables)
    steps = int(recipe.params.get("max_iter", 0))
    allowed = free_memory() // 2 if max_memory is None else max_memory
    vector = 8 * (seen + 1) * n_classes
    choice = choose(recipe.params, (allowed - _bytes(*shape, _MANY, 0)) / vector)
    size = _bytes(*shape, steps, choice.vectors * vector)
    seconds = seconds_per_pass(Work(rows.kept, n_classes, seen, *tables)) if timed and cells <= MOST_CELLS else None
    parameters = count_parameters(levels, order, n_classes)
    refused = _refusal(order, cells, 2 * n_tuples + (cells_seen or 0), size, allowed)
    return Price(parameters, seen, size, seconds, allowed, refused, choice)


def price_of(
    encoded: "Encoded",
    recipe: Recipe,
    holdout: "Encoded | None" = None,
    max_memory: int | None = None,
    stop: StopToken = NEVER,
    timed: bool = False,
    prepared: "Prepared | None" = None,
) -> Price:
    """Return the price of `recipe` on an encoded table, the cells that occur counted or estimated.

    `prepared` is where the caller keeps what is made of these rows: its repeats are merged and its cover is planned,
    both to stay there.
    """
    shape = (encoded.levels, encoded.n_classes, encoded.n_rows, recipe)
    heldout = holdout.n_rows if holdout is not None else 0
    order = int(recipe.params["order"])
    check_order(encoded.n_columns, order)
    least = price(*shape, cells_seen=0, n_heldout=heldout, kept=(0, 0), max_memory=max_memory, timed=False)
    if least.refused:  # too many cells to look for, or the list of tuples alone is too long
        bound = price(*shape, n_heldout=heldout, max_memory=max_memory, timed=False)
        return bound if bound.refused else least
    seen = estimate_seen(encoded, order, stop)
    plan = kept = None
    if prepared is not None:
        kept, plan = prepared.kept(stop), prepared.plan(order, stop)
    elif comb(encoded.n_columns, order) <= PLANNED:
        plan = plan_cover(encoded.codes, CellSpace(encoded.levels, order), stop=stop)
    return price(*shape, cells_seen=seen, plan=plan, n_heldout=heldout, kept=kept, max_memory=max_memory, timed=timed)


def require_memory(price: Price) -> None:
    """Raise `MemoryLimitError` with the numbers if `price` is refused."""
    if price.refused:
        raise MemoryLimitError(price.refused, price.bytes, price.allowed)


def estimate_seen(encoded: "Encoded", order: int, stop: StopToken = NEVER) -> int:
    """Return how many cells of order n the rows have: exact up to SAMPLE tuples, else from as many random ones."""
    a = encoded.n_columns
    n_tuples = comb(a, order)
    if n_tuples <= SAMPLE:
        chosen = np.array(list(combinations(range(a), order)))
    else:  # a fixed seed: the same table has the same price
        rng = np.random.default_rng(0)
        chosen = np.array([np.sort(rng.choice(a, order, replace=False)) for _ in range(SAMPLE)])
    seen = possible = 0
    for columns in chosen:
        stop.check()
        seen += _occurring(encoded, columns)
        possible += int(encoded.levels[columns].prod())
    if n_tuples <= SAMPLE:
        return seen
    return round(seen / possible * count_cells(encoded.levels, order))


def _occurring(encoded: "Encoded", columns: np.ndarray) -> int:
    card = int(encoded.levels[columns].prod())
    key = np.zeros(encoded.n_rows, np.int64)
    inside = np.ones(encoded.n_rows, bool)
    for j in columns:
        key = key * encoded.levels[j] + encoded.codes[j]
        inside &= encoded.codes[j] < encoded.levels[j]
    key = key[inside]
    if card > 8 * len(key):
        return len(np.unique(key))
    occurs = np.zeros(card, bool)
    occurs[key] = True
    return int(occurs.sum())


class _Tables(NamedTuple):
    """Blocks, and the joint values and links of all of them."""

    blocks: int
    joint: float
    links: float


def _tables(levels: NDArray[np.int64], order: int, rows: "_Rows", cells_seen: int | None, plan: Plan | None) -> _Tables:
    """What is planned; without a plan every tuple is a block, and "no level" makes joint values too."""
    if plan is not None:
        return _Tables(len(plan.blocks), plan.joint, plan.links)
    n_tuples = comb(len(levels), order)
    joint = min(count_cells(levels + 1, order), n_tuples * rows.given) if cells_seen is None else cells_seen
    return _Tables(n_tuples if joint else 0, joint, joint)


class _Rows(NamedTuple):
    """Rows given for training and for watching, and those kept once repeats are merged."""

    given: int
    held: int
    kept: int
    kept_held: int


def _bytes(
    levels: NDArray[np.int64],
    order: int,
    rows: _Rows,
    n_classes: int,
    n_tuples: int,
    cells: int,
    seen: int,
    tables: _Tables,
    steps: int,
    solver: int,
) -> int:
    """Bytes at the peak, of merging repeats, planning, covering or fitting `steps`; `solver` of them are its own."""
    a, top = len(levels), int(levels.max(initial=0))
    kept = rows.kept + rows.kept_held
    code = 4 if top >= 2**16 else 2
    given = (rows.given + rows.held) * (a * code_dtype(levels).itemsize + 12)
    codes = kept * (a * code + (12 if kept < rows.given + rows.held else 0))
    merging = code * (a + 1) * rows.given + _joining(rows.given, rows.kept, top)
    base = given + codes + n_tuples * (order * 12 + 24) + 400 * tables.blocks
    sampled = min(SAMPLED, rows.kept)
    planning = 8 * min(SLOTS, sampled * (top + 1)) + (code + 4) * a * sampled + 8 * rows.kept + 9 * n_tuples
    keys = 2 * kept * tables.blocks
    both = rows.held > 0  # rows that are watched are joined with those that are fitted, and parted again
    shown = 8 * tables.joint
    joining = keys + shown + both * code * a * kept + _joining(kept, tables.joint / max(1, tables.blocks), top)
    index = n_tuples * 24 + 4 * min(cells, 16 * seen + 64 * n_tuples) + 8 * seen
    linking = both * code * a * kept + shown + (1 + both) * keys + index + 4 * tables.links
    passing = keys + index + 4 * tables.links + _passing(rows, n_classes, n_tuples, seen, tables, steps, solver)
    return int(max(given + merging, base + max(planning, joining, linking, passing)))


def _joining(n_rows: int, values: float, top: int) -> float:
    """Bytes of joining a column of `top` levels to so many joint values: keys, rows that show them, places, hashes."""
    possible, places = values * (top + 1), min(SLOTS, 8 * n_rows)
    hashed = 12 * 2 ** (2 * n_rows).bit_length() if possible > places else 0
    return 12 * n_rows + min(4 * places, 16 * possible) + hashed


def _passing(rows: _Rows, n_classes: int, n_tuples: int, seen: int, tables: _Tables, steps: int, solver: int) -> float:
    """Bytes of counting and fitting."""
    padded = lanes_of(n_classes)[1]
    # of the point before, of this one, and of the line between them or, once that is gone, of the held-out rows
    scores = 8 * padded * ((2 if steps else 1) * rows.kept + max(rows.kept, rows.kept_held))
    cell_table = 8 * padded * (2 * n_tuples + seen)
    table = 8 * padded * tables.joint
    vector = 8 * (seen + 1) * n_classes
    snapshots = min(max(LIMIT, 3 * vector // 2), (steps + 1) * vector // 2)  # the first, one more, the last: always
    vectors = _VECTORS if steps else _VECTORS_AT_REST
    return table + cell_table + max(3 * vector, scores + vectors * vector + solver + snapshots)


def _refusal(order: int, cells: int, table_rows: int, size: int, allowed: int) -> str:
    if cells > MOST_CELLS:
        return (
            f"order {order} has {cells:,} cells here; at most {MOST_CELLS:,} can be numbered. "
            "Choose a lower order, or fewer levels or columns"
        )
    if size > allowed:
        return (
            f"order {order} needs about {size / 2**20:,.0f} MiB here and {allowed / 2**20:,.0f} MiB may be used. "
            "Choose a lower order, fewer levels or columns, or a higher max_memory"
        )
    if table_rows > MOST_ROWS:
        return (
            f"order {order} has {table_rows:,} tuples and cells that occur; at most {MOST_ROWS:,} can be told apart. "
            "Choose a lower order, or fewer levels or columns"
        )
    return ""
