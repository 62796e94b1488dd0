"""What a fit costs, before it is run: parameters, bytes, seconds per pass, and whether it is refused.

From the shape of a table alone every cell counts as seen, and every tuple as a block: an upper bound. With the table at
hand the number of cells that occur is found by looking at (a sample of) the tuples, and the cover is planned.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import ceil, comb, log, log2
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alrviz.errors import MemoryLimitError, RecipeError
from alrviz.fitting.pricing.peak_memory import MANY, VISIT, RowCounts, peak_bytes, tables_of
from alrviz.fitting.solvers.choice import SolverChoice, choose
from alrviz.fitting.solvers.solver_support import STOCHASTIC
from alrviz.memory import free_memory
from alrviz.models.cell_space import (
    MOST_CELLS,
    AnySpace,
    SomeCells,
    Tuples,
    TupleSpace,
    check_order,
    columns_of,
    count_cells,
    have_grids,
    sizes_of,
    space_of,
)
from alrviz.models.index import MOST_ROWS, index_cells
from alrviz.models.plan import Plan, plan_cover
from alrviz.models.score_table import table_bytes
from alrviz.passes.aligned_buffers import lanes_of
from alrviz.passes.cost_model import Work, seconds_here
from alrviz.passes.rows import as_compiled
from alrviz.passes.stochastic import most_visits
from alrviz.passes.stream import FANOUT, LARGE
from alrviz.passes.threads import resolve_jobs, share
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded
    from alrviz.fitting.prepare import Prepared
    from alrviz.fitting.recipe import Recipe
    from alrviz.models.streamed import Streamed

# Tuples up to which all are looked at for cells that occur; of more so many are drawn, by the cells they could have: on
# Covertype at order 3 a hundredth of the tuples have half of the cells, and 256 tuples drawn alike were 12 % off.
SAMPLE, DRAWN = 256, 128
# Tuples up to which the cover is planned for a price alone: about a second. Beyond, each counts as a block.
PLANNED = 30_000
# Tuples of all orders that a fit is covered for at most: planning and joining them takes about 0.2 ms each, one and a
# half minutes for so many, before the first step.
MOST_COVERED = 2**19
# Joint values that a model's table is taken to hold, in those of training rows: new rows show as many again, and slots
# that stand empty take up to as much as both (measured: a sixth to four fifths of this).
NEW = 4
# Tuples of an order that are listed to look for their cells; of more so many are drawn at random.
_MAX_LISTED_TUPLES, _SAMPLED_TUPLES = 2**20, 2**14
# What no plan takes less than: where columns tell the same, a few blocks hold all tuples, and joint values are few.
_NO_BLOCKS = Plan((), 0.0, 0.0)


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
        work: seconds of a pass on one thread of the reference machine, the same wherever it is priced; 0 where that is
            not known.
        seconds_before: about how long alpha is chosen before the first iteration; 0 if it was not asked for.
        table: bytes of the table that its model comes to hold once it is asked about many new rows; not in `bytes`.
    """

    parameters: int
    cells_seen: int
    bytes: int
    seconds_per_pass: float | None
    allowed: int
    refused: str = ""
    choice: SolverChoice | None = None
    work: float = 0.0
    seconds_before: float = 0.0
    table: int = 0

    @property
    def booked(self) -> int:
        """Bytes to set aside for the fit, and for its model as long as that is asked about rows."""
        return self.bytes + self.table


class ShapePrice(NamedTuple):
    """What a fit takes by the shape of its table alone: free numbers, bytes at the peak, what solves it, and seconds of
    a pass on one thread of the reference machine, None where they are not known.
    """

    parameters: int
    bytes: int
    choice: SolverChoice
    seconds: float | None = None


@dataclass(frozen=True, eq=False)
class PriceRequest:
    """What a recipe is to be priced on, and how closely.

    Attributes:
        encoded: the training rows.
        recipe: what is to be fitted.
        holdout: rows that are watched.
        max_memory: bytes that may be used; None for half of what is free.
        stop: ends the looking for cells that occur.
        timed: whether seconds per pass are asked for.
        prepared: where the caller keeps what is made of these rows: its repeats are merged and its cover is planned,
            both to stay there.
        some: all tuples are counted, and the fit is of some of them or of none: it needs no cover of all, which takes
            seconds to plan.
    """

    encoded: "Encoded"
    recipe: "Recipe"
    holdout: "Encoded | None" = None
    max_memory: int | None = None
    stop: StopToken = NEVER
    timed: bool = False
    prepared: "Prepared | None" = None
    some: bool = False

    @property
    def n_heldout(self) -> int:
        """Rows that are watched."""
        return 0 if self.holdout is None else self.holdout.n_rows

    @property
    def n_jobs(self) -> int | None:
        """Threads of the fit; None for all."""
        return None if self.prepared is None else self.prepared.n_jobs


def price(
    levels: ArrayLike,
    n_classes: int,
    n_rows: int,
    recipe: "Recipe",
    *,
    cells_seen: int | None = None,
    plan: Plan | None = None,
    n_heldout: int = 0,
    kept: tuple[int, int] | None = None,
    weight: float | None = None,
    n_jobs: int | None = None,
    max_memory: int | None = None,
    timed: bool = True,
) -> Price:
    """Return the price of `recipe` on a table of n_rows and levels (a,); nothing is allocated.

    `kept` are the training and held-out rows left once repeats are merged, all where it is not known; `weight` that of
    all training rows, 1 each where it is not known; `n_jobs` threads, None for all.

    Raises:
        RecipeError: if the order is higher than the number of columns.
    """
    levels = np.asarray(levels, np.int64)
    order = int(recipe.params["order"])
    check_order(len(levels), order)
    tuples = recipe.definition.counted(recipe.params, len(levels))[-1]
    own = levels[columns_of(levels, tuples)]
    sizes = sizes_of(tuples, len(own))
    cells = sum(count_cells(own, size) for size in sizes)
    n_tuples = sum(comb(len(own), size) for size in sizes)
    rows = RowCounts(n_rows, n_heldout, *(kept or (n_rows, n_heldout)))
    seen = min(cells, n_tuples * n_rows) if cells_seen is None else cells_seen
    tables = tables_of(own, sizes[-1], rows, cells_seen, plan, resolve_jobs(n_jobs))
    free = _free(recipe.params.get("share"), seen, n_tuples, n_classes)
    shape = (levels, order, rows, n_classes, n_tuples, cells, seen, free, tables)
    steps = int(recipe.params.get("max_iter", 0))
    allowed = free_memory() // 2 if max_memory is None else max_memory
    vector = 8 * free
    choice = choose(recipe.params, (allowed - peak_bytes(*shape, MANY, 0)) / vector)
    held = choice.vectors * vector
    if choice.solver in STOCHASTIC:
        held += VISIT * int(most_visits(n_rows if weight is None else weight, rows.kept))
    size = peak_bytes(*shape, steps, held)
    work = Work(rows.kept, n_classes, seen, tables.blocks, tables.joint, tables.links)
    alone = work.reference_seconds()
    seconds = seconds_here(alone, n_jobs, n_classes) if timed and cells <= MOST_CELLS else None
    parameters = n_classes * (1 + cells)
    refused = _refusal(order, cells, 2 * n_tuples + (cells_seen or 0), size, allowed)
    scored = table_bytes(NEW * tables.joint, n_classes)
    return Price(parameters, seen, size, seconds, allowed, refused, choice, alone, table=scored)


def price_of(
    encoded: "Encoded",
    recipe: "Recipe",
    holdout: "Encoded | None" = None,
    max_memory: int | None = None,
    stop: StopToken = NEVER,
    timed: bool = False,
    prepared: "Prepared | None" = None,
) -> Price:
    """Return the price of `recipe` on an encoded table, the cells that occur counted or estimated; as `PriceRequest`
    says.
    """
    return recipe.definition.price(PriceRequest(encoded, recipe, holdout, max_memory, stop, timed, prepared))


def known_order(recipe: "Recipe") -> int:
    """Return a recipe's order, 1 where it has none; `RecipeError` where rows are still to choose it."""
    order = recipe.params.get("order", 1)
    if order == "auto":
        raise RecipeError("order='auto' is chosen once a run begins, and has no price before; expected a whole number")
    return int(order)


def of_likely_order(recipe: "Recipe", n_columns: int) -> "Recipe":
    """Return the recipe itself, or, where rows are still to choose its order, the one of order 2: a guess."""
    return recipe.replace(order=min(2, n_columns)) if recipe.params.get("order") == "auto" else recipe


def price_cells(request: PriceRequest) -> Price:
    """Return the price of a recipe of a linear family, the cells that occur counted or estimated.

    Raises:
        RecipeError: an order that is higher than the number of columns, or still to be chosen.
    """
    encoded, recipe, max_memory, prepared = request.encoded, request.recipe, request.max_memory, request.prepared
    shape = (encoded.levels, encoded.n_classes, encoded.n_rows, recipe)
    heldout, stop = request.n_heldout, request.stop
    order = known_order(recipe)
    check_order(encoded.n_columns, order)
    least = price(*shape, cells_seen=0, n_heldout=heldout, kept=(0, 0), max_memory=max_memory, timed=False)
    if least.refused:  # too many cells to look for, or the list of tuples alone is too long
        bound = price(*shape, n_heldout=heldout, max_memory=max_memory, timed=False)
        return bound if bound.refused else least

    tuples, jobs = recipe.definition.counted(recipe.params, encoded.n_columns)[-1], prepared.n_jobs if prepared else 1
    columns = columns_of(encoded.levels, tuples)
    sizes = sizes_of(tuples, len(columns))
    n_tuples = sum(comb(len(columns), size) for size in sizes)
    if n_tuples > MOST_COVERED and not request.some:
        return replace(least, refused=_too_many(order, encoded.n_columns, n_tuples))
    if n_tuples > PLANNED:  # listing millions of tuples takes seconds and gigabytes: first by what they have at least
        rows = encoded.of_columns(columns)
        fewest = sum(_fewest_cells(rows, size) for size in sizes)
        least = price(
            *shape, cells_seen=fewest, plan=_NO_BLOCKS, n_heldout=heldout, kept=(0, 0), max_memory=max_memory,
            timed=False,
        )  # fmt: skip
        if least.refused:
            return least

    def count() -> int:
        own = encoded.of_columns(columns)
        return sum(estimate_seen(own, size, stop, jobs) for size in sizes)  # each by a sample

    seen = count() if prepared is None else prepared.seen(tuples, count, stop)
    bare: dict[str, Any] = {
        "cells_seen": seen,
        "plan": _NO_BLOCKS,
        "n_heldout": heldout,
        "max_memory": max_memory,
        "timed": False,
    }
    if price(*shape, kept=(0, 0), **bare).refused:  # the cells alone are too many: no need to plan, which takes seconds
        return price(*shape, **bare)
    kept = None if prepared is None else prepared.kept(stop)
    if request.some:
        plan: Plan | None = _NO_BLOCKS  # what is only counted needs no cover
    elif prepared is not None:
        plan = prepared.plan(tuples, stop)
    elif n_tuples > PLANNED:
        plan = None
    else:
        plan = plan_cover(encoded.codes, space_of(encoded.levels, tuples), stop=stop)
    return price(
        *shape,
        cells_seen=seen,
        plan=plan,
        n_heldout=heldout,
        kept=kept,
        weight=_weight(encoded, recipe),
        n_jobs=request.n_jobs,
        max_memory=max_memory,
        timed=request.timed,
    )


def price_shape(shape: ShapePrice, what: str, request: PriceRequest) -> Price:
    """Return the price of a family that has no cells of order n; `what` takes the memory ("features", "tables")."""
    encoded = request.encoded
    allowed = free_memory() // 2 if request.max_memory is None else request.max_memory
    refused = seconds = None
    if shape.bytes > allowed:
        refused = (
            f"the {what} of {encoded.n_rows:,} rows and {encoded.n_columns} columns need about "
            f"{shape.bytes / 2**20:,.0f} MiB here and {allowed / 2**20:,.0f} MiB may be used. Choose fewer rows or "
            "columns, or a higher max_memory"
        )
    if request.timed and shape.seconds is not None:
        seconds = seconds_here(shape.seconds, request.n_jobs, encoded.n_classes)
    return Price(shape.parameters, 0, shape.bytes, seconds, allowed, refused or "", shape.choice)


def _free(share: object, seen: int, n_tuples: int, n_classes: int) -> int:
    """Free weights of models/parameterisation.py."""
    shared = {"cell": seen, "tuple": min(seen, n_tuples), "all": 1}
    return shared[share] + n_classes if share in shared else (seen + 1) * n_classes


def _weight(encoded: "Encoded", recipe: "Recipe") -> float:
    """Weight of the training rows together, at most: "balanced" leaves it, named classes may raise it."""
    named = recipe.params.get("class_weight")
    return float(encoded.weights.sum()) * (max([1.0, *named.values()]) if isinstance(named, Mapping) else 1.0)


def price_stream(streamed: "Streamed", allowed: int, solver: str, sample: int) -> Price:
    """Return the price of a fit by `solver` ("none": no steps) to a table read in batches, once its cells are counted
    and `sample` rows are at hand.
    """
    tables, passes = streamed.tables, streamed.passes
    cells, wide, classes = len(tables.seen), 8 * passes.cells.n_rows * passes.padded, tables.n_classes
    steps, full = solver != "none", solver in ("auto", "tron", "lbfgs")
    # what passes look up; sums (and diagonals) of a chunk, or of one a thread, beside those of the levels of a tree,
    # or what AdaGrad moves; weights, counts, vectors of a solver; keys and scores of the sample
    vector, sums = 8 * (cells + 1) * classes, wide * (1 + full)
    at_once = 1 if sums > LARGE else passes.n_jobs
    tree = (ceil(log(max(2, passes.n_chunks), FANOUT)) + at_once) * vector * (1 + full)
    moved = steps * 5 * 4 * passes.cells.n_rows * (passes.padded + (passes.padded == 3))  # as single_table pads
    needed = sums + max(at_once * sums + tree, moved)
    needed += (11 + 24 * full) * vector
    needed += full * sample * (2 * tables.space.n_tuples + 8 * 5 * passes.padded)
    refused, lighter = "", "solver='averaged', " if full else ""
    if needed > allowed:
        refused = (
            f"order {tables.space.order} has {cells:,} cells here and needs about {needed / 2**20:,.0f} MiB; "
            f"{allowed / 2**20:,.0f} MiB may be used: choose {lighter}a lower order, fewer columns or levels, or allow "
            "more"
        )
    choice = SolverChoice(solver, 0, f"{solver}, as the recipe says", 0, as_asked=True)
    return Price((cells + 1) * classes, cells, int(needed), None, allowed, refused, choice if steps else None)


def require_memory(price: Price) -> None:
    """Raise `MemoryLimitError` with the numbers if `price` is refused."""
    if price.refused:
        raise MemoryLimitError(price.refused, price.bytes, price.allowed)


def price_counting(
    tuples: Tuples, n_rows: int, n_classes: int, levels: NDArray[np.int64], allowed: int,
    sample: "Callable[[], Encoded]", stop: StopToken = NEVER,
) -> Price:  # fmt: skip
    """Return the price of counting tuples of columns of so many levels (a,), read in batches, before it is counted.

    `sample` gives rows drawn from it: how many cells they have, and half of them, tells about how many all have.
    """
    space = space_of(levels, tuples)
    each = 8 * (2 * lanes_of(n_classes)[1] + 6 * n_classes) + 64  # counts, index and what scores are made of
    cells = most = int(np.minimum(space.cards, n_rows).sum())
    if isinstance(tuples, SomeCells) and tuples.parts == tuples.tuples:
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
    return Price((cells + 1) * n_classes, cells, cells * each, None, allowed, refused)


def _admitted(rows: "Encoded", tuples: Tuples, stop: StopToken) -> int:
    """About how many cells of tuples rows have; of a choice of cells those that count."""
    if not isinstance(tuples, SomeCells):
        return estimate_seen(rows, tuples, stop)
    space = space_of(rows.levels, tuples)
    every = np.arange(space.n_tuples), np.arange(rows.n_rows)
    return len(tuples.admitted(space, index_cells(space, [every], as_compiled(rows.codes), 1, stop).seen))


def estimate_seen(encoded: "Encoded", tuples: Tuples, stop: StopToken = NEVER, n_jobs: int = 1) -> int:
    """Return how many cells of tuples the rows have: exact up to SAMPLE tuples, else from DRAWN of them."""
    if isinstance(tuples, int) and (n_tuples := comb(encoded.n_columns, tuples)) > _MAX_LISTED_TUPLES:
        some = TupleSpace(encoded.levels, _random_tuples(encoded.n_columns, tuples))
        return round(n_tuples / some.n_tuples * _estimate_seen(encoded, some, stop, n_jobs))
    return _estimate_seen(encoded, space_of(encoded.levels, tuples), stop, n_jobs)


def _estimate_seen(encoded: "Encoded", space: AnySpace, stop: StopToken, n_jobs: int) -> int:
    every = space.n_tuples <= SAMPLE
    chosen, most = (space.tuples, space.cards) if every else _drawn(space, encoded.n_rows)
    whole = np.array([codes.max(initial=0) < top for codes, top in zip(encoded.codes, encoded.levels, strict=True)])
    seen = np.empty(len(chosen), np.int64)

    def one(k: int) -> None:  # a tuple of fewer columns repeats its last
        stop.check()
        seen[k] = _occurring(encoded, np.unique(chosen[k]), bool(whole[chosen[k]].all()))

    share(one, len(chosen), n_jobs)
    grids = have_grids(space, encoded.chains)
    if every:
        return int(np.where(grids, space.cards, seen).sum())
    some = np.minimum(space.cards, encoded.n_rows)[~grids].sum()
    return int(space.cards[grids].sum()) + round(float(some) * float(np.mean(seen / most)))


def _random_tuples(n_columns: int, size: int) -> list[list[int]]:
    """Return _SAMPLED_TUPLES tuples of so many columns, some perhaps twice; always the same."""
    drawn = np.sort(np.random.default_rng(0).integers(n_columns, size=(2 * _SAMPLED_TUPLES, size)), axis=1)
    return drawn[(np.diff(drawn, axis=1) > 0).all(axis=1)][:_SAMPLED_TUPLES].tolist()


def _fewest_cells(encoded: "Encoded", size: int) -> int:
    """Return how many cells rows have at least in all tuples of so many columns: each as many as its richest column."""
    seen = sorted(len(np.unique(codes[codes < top])) for codes, top in zip(encoded.codes, encoded.levels, strict=True))
    return sum(levels * comb(below, size - 1) for below, levels in enumerate(seen))


def _drawn(space: AnySpace, n_rows: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the columns (DRAWN, n) of tuples spread evenly over the cells that so many rows could have, and how many
    those are in each.
    """
    most = np.minimum(space.cards, max(1, n_rows)).astype(np.float64)
    sizes = np.argsort(most, kind="stable")
    ends = np.cumsum(most[sizes])
    chosen = sizes[np.searchsorted(ends, (np.arange(DRAWN) + 0.5) / DRAWN * ends[-1])]
    return space.tuples[chosen], most[chosen]


def _occurring(encoded: "Encoded", columns: np.ndarray, whole: bool) -> int:
    """How many cells rows have in a tuple; `whole`: all of them have a level in each of its columns."""
    card = int(encoded.levels[columns].prod())
    key = encoded.codes[columns[0]].astype(np.int64 if card >= 2**31 else np.int32)
    for j in columns[1:]:
        key *= key.dtype.type(encoded.levels[j])
        key += encoded.codes[j]
    if not whole:
        key = key[(encoded.codes[columns] < encoded.levels[columns][:, None]).all(axis=0)]
    if card > 8 * len(key):
        return len(np.unique(key))
    occurs = np.zeros(card, bool)
    occurs[key] = True
    return int(occurs.sum())


def _too_many(order: int, n_columns: int, n_tuples: int) -> str:
    return (
        f"order {order} of {n_columns:,} columns has {n_tuples:,} tuples; at most {MOST_COVERED:,} are fitted. "
        "Choose a lower order, fewer columns, or a model that keeps some of the tuples: hlr or salr with keep=1000"
    )


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
