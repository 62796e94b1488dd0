"""The estimate of a fit: its cost, the solver that fits into the memory limit, and why the fit is refused, if it is.

Linear families are estimated from their cells (`estimate_cells`), at first by bounds that do not need the rows; other
families by their own formulas (`estimate_by_formula`); tables read in batches once their cells are counted.
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
from alrviz.fitting.cost.peak_memory import MANY_STEPS, VISIT_BYTES, RowCounts, peak_bytes, tables_of
from alrviz.fitting.cost.table_shape import MAX_PLANNED_TUPLES, NO_BLOCKS, TableShape, count_tuples, estimate_seen
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
# Planning and joining a tuple takes about 0.2 ms: one and a half minutes for so many, before the first step.
MAX_COVERED_TUPLES = 2**19
# Size of a model's table, in joint values of the training rows: new rows have as many again, and empty slots take up to
# as much as both (measured: a sixth to four fifths of this).
NEW_VALUES_FACTOR = 4


@dataclass(frozen=True)
class Estimate:
    """The cost of one fit, and the consequences of the memory limit.

    Attributes:
        cost: parameters, C + C * (number of possible cells); bytes at the peak of preparing and fitting; seconds of one
            pass on one thread of the reference machine. For a family without steps: 0 passes, and the seconds of the
            fit.
        cells_seen: cells that occur in the rows, or an upper bound.
        max_bytes: bytes that may be used.
        choice: the solver that will run, and why; None if there is no fit yet.
        refusal: why the fit is refused; "" if it is not. Its bytes may then be a lower bound.
        model_bytes: bytes of the table that the model builds when it scores many new rows; not in `cost`.
    """

    cost: Cost
    cells_seen: int
    max_bytes: int
    choice: SolverChoice | None = None
    refusal: str = ""
    model_bytes: int = 0

    @property
    def reserved_bytes(self) -> int:
        """Bytes to reserve for the fit, and for its model as long as it scores rows."""
        return self.cost.bytes + self.model_bytes


def estimate(recipe: "FitSettings", shape: TableShape, max_memory: int | None = None) -> Estimate:
    """Return the estimate of a fit of `recipe`; nothing is compiled or fitted.

    Args:
        recipe: the recipe of the fit.
        shape: the table.
        max_memory: bytes that may be used; None for half of the free memory.

    Raises:
        RecipeError: an order above the number of columns, or "auto".
    """
    return recipe.definition.estimate(recipe, shape, max_memory)


def require_memory(estimate: Estimate) -> None:
    """Raise `MemoryLimitError` with the needed and allowed bytes if the fit is refused."""
    if estimate.refusal:
        raise MemoryLimitError(estimate.refusal, estimate.cost.bytes, estimate.max_bytes)


def allowed_bytes(max_memory: int | None) -> int:
    """Return the bytes that may be used: max_memory, or half of the free memory if it is None."""
    return free_memory() // 2 if max_memory is None else max_memory


def known_order(recipe: "FitSettings") -> int:
    """Return a recipe's order, 1 if it has none; raise `RecipeError` if it is "auto"."""
    order = recipe.params.get("order", 1)
    if order == "auto":
        raise RecipeError("order='auto' is chosen when a run starts and has no cost before; expected a whole number")
    return int(order)


def with_likely_order(recipe: SettingsT, n_columns: int) -> SettingsT:
    """Return the recipe with order 2, or 1 if there is one column (n_columns), as a guess in place of "auto"."""
    return recipe.replace(order=min(2, n_columns)) if recipe.params.get("order") == "auto" else recipe


def estimate_cells(recipe: "FitSettings", shape: TableShape, max_memory: int | None = None) -> Estimate:
    """Return the estimate of a recipe of a linear family, from the cells that occur.

    max_memory: bytes that may be used; None for half of the free memory.
    """
    encoded, order = shape.encoded, known_order(recipe)
    check_order(encoded.n_columns, order)
    with_counts = partial(
        estimate_levels, encoded.levels, encoded.n_classes, encoded.n_rows, recipe, n_heldout=shape.n_heldout,
        max_memory=allowed_bytes(max_memory),
    )  # fmt: skip
    lower_bound = with_counts(cells_seen=0, merged=(0, 0))
    if lower_bound.refusal:  # too many cells to look for, or too many tuples to list
        upper_bound = with_counts()
        return without_seconds(upper_bound if upper_bound.refusal else lower_bound)

    tuples = recipe.definition.counted_tuples(recipe.params, encoded.n_columns)[-1]
    n_tuples = count_tuples(encoded.levels, tuples)
    if n_tuples > MAX_COVERED_TUPLES and shape.covers:
        return without_seconds(replace(lower_bound, refusal=_too_many(order, encoded.n_columns, n_tuples)))
    if n_tuples > MAX_PLANNED_TUPLES:  # listing millions of tuples takes seconds and gigabytes
        lower_bound = with_counts(cells_seen=shape.min_cells(tuples), plan=NO_BLOCKS, merged=(0, 0))
        if lower_bound.refusal:
            return without_seconds(lower_bound)

    cells_seen = shape.cells_seen(tuples)
    if with_counts(cells_seen=cells_seen, plan=NO_BLOCKS, merged=(0, 0)).refusal:  # planning would take seconds
        return without_seconds(with_counts(cells_seen=cells_seen, plan=NO_BLOCKS))
    merged_rows = shape.merged_rows()
    return with_counts(
        cells_seen=cells_seen, plan=shape.plan(tuples), merged=merged_rows, weight=_max_total_weight(encoded, recipe),
        n_jobs=shape.n_jobs,
    )  # fmt: skip


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
        recipe: the recipe of the fit.
        cells_seen: cells that occur; None for the maximum.
        plan: of the cover; None for a block per tuple.
        n_heldout: held-out rows.
        merged: training and held-out rows after repeats are merged; None for all.
        weight: sum of the weights of the training rows; None for 1 each.
        n_jobs: threads; None for all.
        max_memory: bytes that may be used; None for half of the free memory.

    Raises:
        RecipeError: an order above the number of columns.
    """
    levels = np.asarray(levels, np.int64)
    order = int(recipe.params["order"])
    check_order(len(levels), order)
    tuples = recipe.definition.counted_tuples(recipe.params, len(levels))[-1]
    used_levels = levels[tuple_columns(levels, tuples)]
    sizes = tuple_sizes(tuples, len(used_levels))
    n_cells = sum(count_cells(used_levels, needed_bytes) for needed_bytes in sizes)
    n_tuples = sum(comb(len(used_levels), needed_bytes) for needed_bytes in sizes)
    row_counts = RowCounts(n_rows, n_heldout, *(merged or (n_rows, n_heldout)))
    n_seen = min(n_cells, n_tuples * n_rows) if cells_seen is None else cells_seen
    tables = tables_of(used_levels, sizes[-1], row_counts, cells_seen, plan, resolve_jobs(n_jobs))
    n_free = _n_free_weights(recipe.params.get("share"), n_seen, n_tuples, n_classes)
    dimensions = (levels, order, row_counts, n_classes, n_tuples, n_cells, n_seen, n_free, tables)
    n_steps = int(recipe.params.get("max_iter", 0))
    max_bytes = allowed_bytes(max_memory)
    vector_bytes = 8 * n_free
    choice = choose(recipe.params, (max_bytes - peak_bytes(*dimensions, MANY_STEPS, 0)) / vector_bytes)
    solver_bytes = choice.vectors * vector_bytes
    if choice.solver in STOCHASTIC:
        solver_bytes += VISIT_BYTES * int(max_visits(n_rows if weight is None else weight, row_counts.n_merged))
    needed_bytes = peak_bytes(*dimensions, n_steps, solver_bytes)
    work = PassSize(row_counts.n_merged, n_classes, n_seen, tables.n_blocks, tables.n_joint, tables.n_links)
    cost = Cost(n_classes * (1 + n_cells), needed_bytes, work.reference_seconds(), 1)
    refused = _refusal(order, n_cells, 2 * n_tuples + (cells_seen or 0), needed_bytes, max_bytes)
    result = Estimate(
        cost, n_seen, max_bytes, choice, refused, table_bytes(NEW_VALUES_FACTOR * tables.n_joint, n_classes)
    )
    return result if n_cells <= MAX_CELLS else without_seconds(result)


def estimate_by_formula(
    cost: Cost, choice: SolverChoice, contents: str, shape: TableShape, max_memory: int | None
) -> Estimate:
    """Return the estimate of a family without cells of order n, whose cost is known from a formula.

    contents: what takes the memory ("features", "tables"), for the text of a refusal. max_memory: bytes that may be
    used; None for half of the free memory.
    """
    encoded, max_bytes, refusal_text = shape.encoded, allowed_bytes(max_memory), ""
    if cost.bytes > max_bytes:
        refusal_text = (
            f"the {contents} of {encoded.n_rows:,} rows and {encoded.n_columns} columns need about "
            f"{cost.bytes / 2**20:,.0f} MiB here and {max_bytes / 2**20:,.0f} MiB may be used. Choose fewer rows or "
            "columns, or a higher max_memory"
        )
    return Estimate(cost, 0, max_bytes, choice, refusal_text)


def without_seconds(estimate: Estimate) -> Estimate:
    """Return an estimate without the seconds of a pass, as its size is only a bound."""
    return replace(estimate, cost=replace(estimate.cost, seconds=0.0, passes=0))


def _n_free_weights(share: object, n_seen: int, n_tuples: int, n_classes: int) -> int:
    """Return the number of free weights, C intercepts included, of n_seen cells of n_tuples tuples.

    share: which weights are equal: none ("cell-class"), those of a cell ("cell"), of a tuple ("tuple") or "all".
    """
    n_weights_by_share = {"cell": n_seen, "tuple": min(n_seen, n_tuples), "all": 1}
    return n_weights_by_share[share] + n_classes if share in n_weights_by_share else (n_seen + 1) * n_classes


def _max_total_weight(encoded: "Encoded", recipe: "FitSettings") -> float:
    """Return the maximum sum of weights of the training rows `encoded` under the recipe's class weights.

    "balanced" keeps it; named classes may raise it.
    """
    class_weight = recipe.params.get("class_weight")
    return float(encoded.weights.sum()) * (
        max([1.0, *class_weight.values()]) if isinstance(class_weight, Mapping) else 1.0
    )


def estimate_stream(streamed: "StreamedCounts", max_bytes: int, solver: str, sample: int) -> Estimate:
    """Return the estimate of a fit to a table read in batches whose cells are counted, with `sample` rows in memory.

    max_bytes: bytes that may be used; `solver` "none" takes no steps.
    """
    tables, passes = streamed.tables, streamed.passes
    cells, table_bytes_, classes = (
        len(tables.seen_cells),
        8 * passes.cells.n_rows * passes.padded_width,
        tables.n_classes,
    )
    has_steps, uses_full_passes = solver != "none", solver in ("auto", "tron", "lbfgs")
    # In order: the table that passes look up; sums (and diagonals) of a chunk, or one per thread, plus those of the
    # levels of a tree, or the tables of AdaGrad; weights, counts and a solver's vectors; keys and scores of the sample.
    vector, sums = 8 * (cells + 1) * classes, table_bytes_ * (1 + uses_full_passes)
    n_sums = 1 if sums > MIN_SHARED_SUM_BYTES else passes.n_jobs
    tree = (ceil(log(max(2, passes.n_chunks), FANOUT)) + n_sums) * vector * (1 + uses_full_passes)
    # padded as in single_table
    adagrad_bytes = has_steps * 5 * 4 * passes.cells.n_rows * (passes.padded_width + (passes.padded_width == 3))
    needed_bytes = sums + max(n_sums * sums + tree, adagrad_bytes)
    needed_bytes += (11 + 24 * uses_full_passes) * vector
    needed_bytes += uses_full_passes * sample * (2 * tables.space.n_tuples + 8 * 5 * passes.padded_width)
    refusal_text, lighter_solver = "", "solver='averaged', " if uses_full_passes else ""
    if needed_bytes > max_bytes:
        refusal_text = (
            f"order {tables.space.order} has {cells:,} cells here and needs about {needed_bytes / 2**20:,.0f} MiB; "
            f"{max_bytes / 2**20:,.0f} MiB may be used: choose {lighter_solver}a lower order, fewer columns or "
            "levels, or allow more"
        )
    choice = SolverChoice(solver, 0, f"{solver}, as the recipe says", 0, as_requested=True)
    cost = Cost((cells + 1) * classes, int(needed_bytes))
    return Estimate(cost, cells, max_bytes, choice if has_steps else None, refusal_text)


def estimate_counting(
    tuples: Tuples, n_rows: int, n_classes: int, levels: NDArray[np.int64], max_bytes: int,
    sample: "Callable[[], Encoded]", stop: StopToken = NEVER,
) -> Estimate:  # fmt: skip
    """Return the estimate of counting tuples in n_rows rows read in batches, before counting them.

    levels (a,) are the columns'; n_classes: C; max_bytes: bytes that may be used. `sample` returns rows of the table:
    the cells of all and of half of them are extrapolated to the whole table.
    """
    space = space_of(levels, tuples)
    # counts, index, and the tables that scores are made from
    cell_bytes = 8 * (2 * class_widths(n_classes)[1] + 6 * n_classes) + 64
    n_cells = max_cells = int(np.minimum(space.cards, n_rows).sum())
    if isinstance(tuples, SelectedCells) and tuples.parts == tuples.tuples:
        n_cells = max_cells = len(tuples.cells)
    if max_cells * cell_bytes > max_bytes:
        sample_rows = sample()
        half_cells, sample_cells = (
            max(1, _count_cells(sample_part, tuples, stop))
            for sample_part in (sample_rows.take(np.arange(sample_rows.n_rows // 2)), sample_rows)
        )
        n_cells = min(
            max_cells,
            round(sample_cells * (n_rows / sample_rows.n_rows) ** min(1.0, max(0.0, log2(sample_cells / half_cells)))),
        )
    refusal_text, order = "", space.order
    if n_cells * cell_bytes > max_bytes:
        lower_order_text = f"order={order - 1}, " if order > 1 else ""
        refusal_text = (
            f"counting {space.n_tuples:,} tuples of order {order} takes about {n_cells * cell_bytes / 2**20:,.0f} MiB "
            f"here, for some {n_cells:,} cells; {max_bytes / 2**20:,.0f} MiB may be used: choose "
            f"{lower_order_text}hsalr with "
            "a smaller keep, or fewer columns or levels"
        )
    return Estimate(Cost((n_cells + 1) * n_classes, n_cells * cell_bytes), n_cells, max_bytes, refusal=refusal_text)


def _count_cells(rows: "Encoded", tuples: Tuples, stop: StopToken) -> int:
    """Return about how many cells of tuples occur in encoded rows; for a selection of cells those that are in it."""
    if not isinstance(tuples, SelectedCells):
        return estimate_seen(rows, tuples, stop)
    space = space_of(rows.levels, tuples)
    all_pairs = np.arange(space.n_tuples), np.arange(rows.n_rows)
    return len(tuples.select(space, index_cells(space, [all_pairs], as_kernel_codes(rows.codes), 1, stop).seen_cells))


def _too_many(order: int, n_columns: int, n_tuples: int) -> str:
    return (
        f"order {order} of {n_columns:,} columns has {n_tuples:,} tuples; at most {MAX_COVERED_TUPLES:,} are fitted. "
        "Choose a lower order, fewer columns, or a model that keeps some of the tuples: hlr or salr with keep=1000"
    )


def _refusal(order: int, n_cells: int, n_table_rows: int, needed_bytes: int, max_bytes: int) -> str:
    """Return why a fit of `order` is refused, if needed_bytes are above max_bytes; "" if it is not.

    n_cells: possible cells; n_table_rows: tuples and cells that occur.
    """
    if n_cells > MAX_CELLS:
        return (
            f"order {order} has {n_cells:,} cells here; at most {MAX_CELLS:,} can be numbered. "
            "Choose a lower order, or fewer levels or columns"
        )
    if needed_bytes > max_bytes:
        return (
            f"order {order} needs about {needed_bytes / 2**20:,.0f} MiB here and {max_bytes / 2**20:,.0f} MiB may be "
            f"used. "
            "Choose a lower order, fewer levels or columns, or a higher max_memory"
        )
    if n_table_rows > MAX_ROWS:
        return (
            f"order {order} has {n_table_rows:,} tuples and cells that occur; at most {MAX_ROWS:,} can be numbered. "
            "Choose a lower order, or fewer levels or columns"
        )
    return ""
