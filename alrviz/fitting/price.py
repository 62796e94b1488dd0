"""What a fit costs, before it is run: parameters, bytes, seconds per pass, and whether it is refused.

From the shape of a table alone every cell counts as seen, and every tuple as a block: an upper bound. With the table at
hand the number of cells that occur is found by looking at (a sample of) the tuples, and the cover is planned.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from alrviz.errors import MemoryLimitError
from alrviz.fitting.choice import Choice, choose
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.snapshots import LIMIT
from alrviz.models.plan import Plan, plan_cover
from alrviz.models.space import MOST_CELLS, CellSpace, check_order, count_cells, count_parameters
from alrviz.passes.memory import free_memory
from alrviz.passes.room import lanes_of
from alrviz.passes.speed import Work, seconds_per_pass
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded

# Tuples looked at to find the share of cells that occur; beyond them the share is taken as the same.
SAMPLE = 256
# Tuples up to which the cover is planned for a price alone: about a second. Beyond, each counts as a block.
PLANNED = 30_000
# Vectors of S x C numbers alive at the peak of a step besides the solver's memory: scale, center, weights and
# gradients of two points, direction and its products, log theta, counts; and where no step is taken.
_VECTORS = 14
_VECTORS_AT_REST = 9


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
    max_memory: int | None = None,
    timed: bool = True,
) -> Price:
    """Return the price of `recipe` on a table of that shape; nothing is allocated.

    Raises:
        RecipeError: if the order is higher than the number of columns.
    """
    levels = np.asarray(levels, np.int64)
    order = int(recipe.params["order"])
    check_order(len(levels), order)
    cells = count_cells(levels, order)
    n_tuples = comb(len(levels), order)
    seen = min(cells, n_tuples * n_rows) if cells_seen is None else cells_seen
    tables = _Tables(n_tuples, seen, seen) if plan is None else _Tables(len(plan.blocks), plan.joint, plan.links)
    shape = (len(levels), order, n_rows, n_heldout, n_classes, n_tuples, cells, seen, tables, recipe)
    allowed = free_memory() // 2 if max_memory is None else max_memory
    vector = 8 * (seen + 1) * n_classes
    choice = choose(recipe.params, (allowed - _bytes(*shape, 0)) / vector)
    size = _bytes(*shape, choice.vectors * vector)
    seconds = seconds_per_pass(Work(n_rows, n_classes, seen, *tables)) if timed and cells <= MOST_CELLS else None
    parameters = count_parameters(levels, order, n_classes)
    return Price(parameters, seen, size, seconds, allowed, _refusal(order, cells, size, allowed), choice)


def price_of(
    encoded: "Encoded",
    recipe: Recipe,
    holdout: "Encoded | None" = None,
    max_memory: int | None = None,
    stop: StopToken = NEVER,
    timed: bool = False,
    planned: Callable[[], Plan] | None = None,
) -> Price:
    """Return the price of `recipe` on an encoded table, the cells that occur counted or estimated.

    `planned` gives the plan of the cover where the caller keeps one.
    """
    shape = (encoded.levels, encoded.n_classes, encoded.n_rows, recipe)
    heldout = holdout.n_rows if holdout is not None else 0
    order = int(recipe.params["order"])
    if count_cells(encoded.levels, order) > MOST_CELLS:  # too many to look for
        return price(*shape, n_heldout=heldout, max_memory=max_memory, timed=False)
    check_order(encoded.n_columns, order)
    least = price(*shape, cells_seen=0, n_heldout=heldout, max_memory=max_memory, timed=False)
    if least.refused:  # the list of tuples alone is too long
        return least
    seen = estimate_seen(encoded, order, stop)
    plan = None
    if comb(encoded.n_columns, order) <= PLANNED:
        codes = encoded.codes
        plan = planned() if planned else plan_cover(codes, CellSpace(encoded.levels, order), stop=stop)
    return price(*shape, cells_seen=seen, plan=plan, n_heldout=heldout, max_memory=max_memory, timed=timed)


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


def _bytes(
    a: int,
    order: int,
    n_rows: int,
    n_heldout: int,
    n_classes: int,
    n_tuples: int,
    cells: int,
    seen: int,
    tables: _Tables,
    recipe: Recipe,
    solver: int,
) -> int:
    """Peak bytes; `solver` are those that the solver keeps for itself."""
    padded = lanes_of(n_classes)[1]
    rows = n_rows + n_heldout
    codes = rows * (a * 3 + 24)
    keys = 2 * rows * tables.blocks
    steps = int(recipe.params.get("max_iter", 0))
    # of the point before, of this one, and of the line between them or, once that is gone, of the held-out rows
    scores = 8 * padded * ((2 if steps else 1) * n_rows + max(n_rows, n_heldout))
    space = n_tuples * (order * 12 + 40) + 4 * min(cells, 16 * seen + 64 * n_tuples) + 8 * seen
    links = 4 * tables.links
    cell_table = 8 * padded * (2 * n_tuples + seen)
    table = 8 * padded * tables.joint
    vector = 8 * (seen + 1) * n_classes
    snapshots = min(max(LIMIT, 3 * vector // 2), (steps + 1) * vector // 2)  # the first, one more, the last: always
    vectors = _VECTORS if steps else _VECTORS_AT_REST
    fitting = scores + table + cell_table + vectors * vector + solver + snapshots
    return int(codes + keys + space + links + max(table + cell_table + 3 * vector, keys * (n_heldout > 0), fitting))


def _refusal(order: int, cells: int, size: int, allowed: int) -> str:
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
    return ""
