"""`estimate`: what a fit costs, which solver its memory limit leaves, and why it is refused, if it is.

Linear families are estimated by their cells (`estimate_cells`), first by bounds that need no look at the rows; other
families by formulas of their own (`estimate_by_formula`); tables read in batches once their cells are counted.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, comb, log, log2
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alrviz.errors import MemoryLimitError, RecipeError
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.cost.peak_memory import MANY, VISIT, RowCounts, peak_bytes, tables_of
from alrviz.fitting.cost.table_shape import NO_BLOCKS, PLANNED, TableShape, count_tuples, estimate_seen
from alrviz.fitting.solvers.choice import SolverChoice, choose
from alrviz.fitting.solvers.solver_support import STOCHASTIC
from alrviz.memory import free_memory
from alrviz.models.cell_space import (
    MAX_CELLS,
    SelectedCells,
    Tuples,
    check_order,
    count_cells,
    space_of,
    tuple_columns,
    tuple_sizes,
)
from alrviz.models.index import MAX_ROWS, index_cells
from alrviz.models.plan import Plan
from alrviz.models.score_table import table_bytes
from alrviz.passes.aligned_buffers import class_widths
from alrviz.passes.cost_model import PassSize
from alrviz.passes.rows import as_kernel_codes
from alrviz.passes.stochastic import max_visits
from alrviz.passes.stream import FANOUT, MIN_SHARED_SUM_BYTES
from alrviz.passes.threads import resolve_jobs
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded
    from alrviz.fitting.fit_settings import FitSettings
    from alrviz.models.streamed import StreamedCounts

SettingsT = TypeVar("SettingsT", bound="FitSettings")
# Tuples of all orders that a fit is covered for at most: planning and joining them takes about 0.2 ms each, one and a
# half minutes for so many, before the first step.
MOST_COVERED = 2**19
# Joint values that a model's table is taken to hold, in those of training rows: new rows show as many again, and slots
# that stand empty take up to as much as both (measured: a sixth to four fifths of this).
NEW = 4


@dataclass(frozen=True)
class Estimate:
    """The cost of one fit, and what the memory limit decides.

    Attributes:
        cost: parameters, C + C * (number of possible cells); bytes at the peak of preparing and fitting; seconds of one
            pass on one thread of the reference machine. Of a family that is fitted at one go: 0 passes, and the seconds
            of the fit.
        cells_seen: cells that occur in the rows, or an upper bound.
        allowed: bytes that may be used.
        choice: the solver that will run, and why; None where nothing is fitted yet.
        refused: why the fit is refused; "" if it is not. Its bytes may then be a lower bound.
        model_bytes: bytes of the table that the model builds once it scores many new rows; not in `cost`.
    """

    cost: Cost
    cells_seen: int
    allowed: int
    choice: SolverChoice | None = None
    refused: str = ""
    model_bytes: int = 0

    @property
    def reserved_bytes(self) -> int:
        """Bytes to reserve for the fit, and for its model as long as that scores rows."""
        return self.cost.bytes + self.model_bytes


def estimate(recipe: "FitSettings", shape: TableShape, max_memory: int | None = None) -> Estimate:
    """Return the estimate of a fit of `recipe`; nothing is compiled or fitted.

    Args:
        recipe: what is fitted.
        shape: the table.
        max_memory: bytes that may be used; None for half of what is free.

    Raises:
        RecipeError: an order that is higher than the number of columns, or still to be chosen.
    """
    return recipe.definition.estimate(recipe, shape, max_memory)


def require_memory(estimate: Estimate) -> None:
    """Raise `MemoryLimitError` with the numbers if the fit is refused."""
    if estimate.refused:
        raise MemoryLimitError(estimate.refused, estimate.cost.bytes, estimate.allowed)


def allowed_bytes(max_memory: int | None) -> int:
    """Return the bytes that may be used: half of what is free where no limit is given."""
    return free_memory() // 2 if max_memory is None else max_memory


def known_order(recipe: "FitSettings") -> int:
    """Return a recipe's order, 1 where it has none; `RecipeError` where rows are still to choose it."""
    order = recipe.params.get("order", 1)
    if order == "auto":
        raise RecipeError("order='auto' is chosen once a run begins, and has no cost before; expected a whole number")
    return int(order)


def with_likely_order(recipe: SettingsT, n_columns: int) -> SettingsT:
    """Return the recipe itself, or, where rows are still to choose its order, the one of order 2: a guess."""
    return recipe.replace(order=min(2, n_columns)) if recipe.params.get("order") == "auto" else recipe


def estimate_cells(recipe: "FitSettings", shape: TableShape, max_memory: int | None = None) -> Estimate:
    """Return the estimate of a recipe of a linear family, by the cells that occur."""
    encoded, order = shape.encoded, known_order(recipe)
    check_order(encoded.n_columns, order)
    of_levels = partial(
        estimate_levels, encoded.levels, encoded.n_classes, encoded.n_rows, recipe, n_heldout=shape.n_heldout,
        max_memory=max_memory,
    )  # fmt: skip
    least = of_levels(cells_seen=0, merged=(0, 0))
    if least.refused:  # too many cells to look for, or the list of tuples alone is too long
        most = of_levels()
        return without_seconds(most if most.refused else least)

    tuples = recipe.definition.counted(recipe.params, encoded.n_columns)[-1]
    n_tuples = count_tuples(encoded.levels, tuples)
    if n_tuples > MOST_COVERED and shape.covers:
        return without_seconds(replace(least, refused=_too_many(order, encoded.n_columns, n_tuples)))
    if n_tuples > PLANNED:  # listing millions of tuples takes seconds and gigabytes: first by what they have at least
        least = of_levels(cells_seen=shape.fewest_cells(tuples), plan=NO_BLOCKS, merged=(0, 0))
        if least.refused:
            return without_seconds(least)

    seen = shape.cells_seen(tuples)
    if of_levels(cells_seen=seen, plan=NO_BLOCKS, merged=(0, 0)).refused:  # no need to plan, which takes seconds
        return without_seconds(of_levels(cells_seen=seen, plan=NO_BLOCKS))
    merged = shape.merged_rows()
    return of_levels(
        cells_seen=seen, plan=shape.plan(tuples), merged=merged, weight=_weight(encoded, recipe), n_jobs=shape.n_jobs
    )


def estimate_levels(
    levels: ArrayLike,
    n_classes: int,
    n_rows: int,
    recipe: "FitSettings",
    *,
    cells_seen: int | None = None,
    plan: Plan | None = None,
    n_heldout: int = 0,
    merged: tuple[int, int] | None = None,
    weight: float | None = None,
    n_jobs: int | None = None,
    max_memory: int | None = None,
) -> Estimate:
    """Return the estimate of a recipe of a linear family from numbers alone.

    Args:
        levels: (a,) number of levels of each column.
        n_classes, n_rows: classes, and training rows.
        recipe: what is fitted.
        cells_seen: cells that occur; None for as many as there can be.
        plan: of the cover; None for a block for each tuple.
        n_heldout: rows that are watched.
        merged: training and held-out rows left once repeats are merged; None for all.
        weight: of all training rows together; None for 1 each.
        n_jobs: threads; None for all.
        max_memory: bytes that may be used; None for half of what is free.

    Raises:
        RecipeError: if the order is higher than the number of columns.
    """
    levels = np.asarray(levels, np.int64)
    order = int(recipe.params["order"])
    check_order(len(levels), order)
    tuples = recipe.definition.counted(recipe.params, len(levels))[-1]
    used_levels = levels[tuple_columns(levels, tuples)]
    sizes = tuple_sizes(tuples, len(used_levels))
    cells = sum(count_cells(used_levels, size) for size in sizes)
    n_tuples = sum(comb(len(used_levels), size) for size in sizes)
    rows = RowCounts(n_rows, n_heldout, *(merged or (n_rows, n_heldout)))
    seen = min(cells, n_tuples * n_rows) if cells_seen is None else cells_seen
    tables = tables_of(used_levels, sizes[-1], rows, cells_seen, plan, resolve_jobs(n_jobs))
    free = _free(recipe.params.get("share"), seen, n_tuples, n_classes)
    dimensions = (levels, order, rows, n_classes, n_tuples, cells, seen, free, tables)
    steps = int(recipe.params.get("max_iter", 0))
    allowed = allowed_bytes(max_memory)
    vector = 8 * free
    choice = choose(recipe.params, (allowed - peak_bytes(*dimensions, MANY, 0)) / vector)
    solver_bytes = choice.vectors * vector
    if choice.solver in STOCHASTIC:
        solver_bytes += VISIT * int(max_visits(n_rows if weight is None else weight, rows.kept))
    size = peak_bytes(*dimensions, steps, solver_bytes)
    work = PassSize(rows.kept, n_classes, seen, tables.blocks, tables.joint, tables.links)
    cost = Cost(n_classes * (1 + cells), size, work.reference_seconds(), 1)
    refused = _refusal(order, cells, 2 * n_tuples + (cells_seen or 0), size, allowed)
    result = Estimate(cost, seen, allowed, choice, refused, table_bytes(NEW * tables.joint, n_classes))
    return result if cells <= MAX_CELLS else without_seconds(result)


def estimate_by_formula(
    cost: Cost, choice: SolverChoice, what: str, shape: TableShape, max_memory: int | None
) -> Estimate:
    """Return the estimate of a family that has no cells of order n; `what` takes the memory ("features", "tables")."""
    encoded, allowed, refused = shape.encoded, allowed_bytes(max_memory), ""
    if cost.bytes > allowed:
        refused = (
            f"the {what} of {encoded.n_rows:,} rows and {encoded.n_columns} columns need about "
            f"{cost.bytes / 2**20:,.0f} MiB here and {allowed / 2**20:,.0f} MiB may be used. Choose fewer rows or "
            "columns, or a higher max_memory"
        )
    return Estimate(cost, 0, allowed, choice, refused)


def without_seconds(estimate: Estimate) -> Estimate:
    """A pass of what was only bounded has no seconds."""
    return replace(estimate, cost=replace(estimate.cost, seconds=0.0, passes=0))


def _free(share: object, seen: int, n_tuples: int, n_classes: int) -> int:
    """Free weights of models/parameterisation.py."""
    shared = {"cell": seen, "tuple": min(seen, n_tuples), "all": 1}
    return shared[share] + n_classes if share in shared else (seen + 1) * n_classes


def _weight(encoded: "Encoded", recipe: "FitSettings") -> float:
    """Weight of the training rows together, at most: "balanced" leaves it, named classes may raise it."""
    named = recipe.params.get("class_weight")
    return float(encoded.weights.sum()) * (max([1.0, *named.values()]) if isinstance(named, Mapping) else 1.0)


def estimate_stream(streamed: "StreamedCounts", allowed: int, solver: str, sample: int) -> Estimate:
    """Return the estimate of a fit by `solver` ("none": no steps) to a table read in batches, once its cells are
    counted and `sample` rows are at hand.
    """
    tables, passes = streamed.tables, streamed.passes
    cells, wide, classes = len(tables.seen), 8 * passes.cells.n_rows * passes.padded_width, tables.n_classes
    steps, full = solver != "none", solver in ("auto", "tron", "lbfgs")
    # what passes look up; sums (and diagonals) of a chunk, or of one a thread, beside those of the levels of a tree,
    # or what AdaGrad moves; weights, counts, vectors of a solver; keys and scores of the sample
    vector, sums = 8 * (cells + 1) * classes, wide * (1 + full)
    at_once = 1 if sums > MIN_SHARED_SUM_BYTES else passes.n_jobs
    tree = (ceil(log(max(2, passes.n_chunks), FANOUT)) + at_once) * vector * (1 + full)
    moved = (
        steps * 5 * 4 * passes.cells.n_rows * (passes.padded_width + (passes.padded_width == 3))
    )  # as single_table pads
    needed = sums + max(at_once * sums + tree, moved)
    needed += (11 + 24 * full) * vector
    needed += full * sample * (2 * tables.space.n_tuples + 8 * 5 * passes.padded_width)
    refused, lighter = "", "solver='averaged', " if full else ""
    if needed > allowed:
        refused = (
            f"order {tables.space.order} has {cells:,} cells here and needs about {needed / 2**20:,.0f} MiB; "
            f"{allowed / 2**20:,.0f} MiB may be used: choose {lighter}a lower order, fewer columns or levels, or allow "
            "more"
        )
    choice = SolverChoice(solver, 0, f"{solver}, as the recipe says", 0, as_asked=True)
    cost = Cost((cells + 1) * classes, int(needed))
    return Estimate(cost, cells, allowed, choice if steps else None, refused)


def estimate_counting(
    tuples: Tuples, n_rows: int, n_classes: int, levels: NDArray[np.int64], allowed: int,
    sample: "Callable[[], Encoded]", stop: StopToken = NEVER,
) -> Estimate:  # fmt: skip
    """Return the estimate of counting tuples of columns of so many levels (a,), read in batches, before it is counted.

    `sample` gives rows drawn from it: how many cells they have, and half of them, tells about how many all have.
    """
    space = space_of(levels, tuples)
    each = 8 * (2 * class_widths(n_classes)[1] + 6 * n_classes) + 64  # counts, index and what scores are made of
    cells = most = int(np.minimum(space.cards, n_rows).sum())
    if isinstance(tuples, SelectedCells) and tuples.parts == tuples.tuples:
        cells = most = len(tuples.cells)
    if most * each > allowed:
        rows = sample()
        half, whole = (max(1, _admitted(part, tuples, stop)) for part in (rows.take(np.arange(rows.n_rows // 2)), rows))
        cells = min(most, round(whole * (n_rows / rows.n_rows) ** min(1.0, max(0.0, log2(whole / half)))))
    refused, order = "", space.order
    if cells * each > allowed:
        fits = f"order={order - 1}, " if order > 1 else ""
        refused = (
            f"counting {space.n_tuples:,} tuples of order {order} takes about {cells * each / 2**20:,.0f} MiB here, "
            f"for some {cells:,} cells; {allowed / 2**20:,.0f} MiB may be used: choose {fits}hsalr with a smaller "
            "keep, or fewer columns or levels"
        )
    return Estimate(Cost((cells + 1) * n_classes, cells * each), cells, allowed, refused=refused)


def _admitted(rows: "Encoded", tuples: Tuples, stop: StopToken) -> int:
    """About how many cells of tuples rows have; of a choice of cells those that count."""
    if not isinstance(tuples, SelectedCells):
        return estimate_seen(rows, tuples, stop)
    space = space_of(rows.levels, tuples)
    every = np.arange(space.n_tuples), np.arange(rows.n_rows)
    return len(tuples.select(space, index_cells(space, [every], as_kernel_codes(rows.codes), 1, stop).seen))


def _too_many(order: int, n_columns: int, n_tuples: int) -> str:
    return (
        f"order {order} of {n_columns:,} columns has {n_tuples:,} tuples; at most {MOST_COVERED:,} are fitted. "
        "Choose a lower order, fewer columns, or a model that keeps some of the tuples: hlr or salr with keep=1000"
    )


def _refusal(order: int, cells: int, table_rows: int, size: int, allowed: int) -> str:
    if cells > MAX_CELLS:
        return (
            f"order {order} has {cells:,} cells here; at most {MAX_CELLS:,} can be numbered. "
            "Choose a lower order, or fewer levels or columns"
        )
    if size > allowed:
        return (
            f"order {order} needs about {size / 2**20:,.0f} MiB here and {allowed / 2**20:,.0f} MiB may be used. "
            "Choose a lower order, fewer levels or columns, or a higher max_memory"
        )
    if table_rows > MAX_ROWS:
        return (
            f"order {order} has {table_rows:,} tuples and cells that occur; at most {MAX_ROWS:,} can be told apart. "
            "Choose a lower order, or fewer levels or columns"
        )
    return ""
