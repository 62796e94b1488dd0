"""Cost of whole fits, races and studies before they run.

    fit = starting + counting + choosing alpha and order + passes * iteration
    study = sum over recipes and tables of (fits left) * fit, spread over processes

An iteration is one pass (`fitting/cost`), calibrated on this machine, and the solver's work on vectors. While a study
runs, the seconds of the first finished tasks correct the estimate (`studies/core/progress`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import comb
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from alrviz.data.encode import lost_text
from alrviz.data.encoded import SMOOTH_WAYS
from alrviz.data.splits import FOLDS, n_validation_folds
from alrviz.errors import AlrvizError, MemoryLimitError, for_page
from alrviz.fitting.choose_order import limit_work
from alrviz.fitting.cost.cost import Cost, calibrate
from alrviz.fitting.cost.estimate import Estimate, estimate, known_order, with_likely_order
from alrviz.fitting.cost.table_shape import MAX_PLANNED_TUPLES, TableShape
from alrviz.fitting.families.family import BASE_SECONDS
from alrviz.fitting.prepare import TrainingData, prepare
from alrviz.fitting.recipe import Recipe
from alrviz.models.cell_space import informative_columns
from alrviz.stop import NEVER, StopToken
from alrviz.studies.core import workers
from alrviz.studies.core.names import short_names
from alrviz.studies.core.progress import duration_text

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.studies.core.results import StudyResults

# Processor seconds and counts, measured on sets of 350 to 39,000 rows, orders 1 to 3.
_PASSES_PER_FIT = 100
_SECONDS_PER_WEIGHT = 2e-8  # of a pass: the solver's work on vectors
_SECONDS_PER_COUNT = 2e-7  # of a row and a tuple: planning, counting and evaluating
_SECONDS_PER_CODE = 1e-7  # of a row and a column: encoding
_SECONDS_PER_TUPLE = 3e-6  # cell spaces, plans and covers hold a list of all tuples
# Choosing alpha takes _N_ALPHAS fits in each validation fold. They are short, with a loose tolerance and a warm start;
# those of "cv" are shortest, as alpha moves by half a decade only.
# Passes of "auto" are the same with and without smooth levels: on 13 sets of 540 to 34,000 rows AutoClassifier takes .3
# to 3.6 times the estimate, in the geometric mean .96.
_N_ALPHAS, _PASSES_PER_ALPHA, _WARM_START_SECONDS = 9, {"cv": 8, "auto": 40}, 0.012
_SMOOTH_FACTOR = 2.5  # more passes of "cv" if levels are smooth (7 sets of 990 to 39,000 rows: 2.2 to 7)
_PASSES_OF_ELR = 1500  # elr fits folds to find where to stop


@dataclass(frozen=True)
class RecipeEstimate:
    """Cost of the fits of one recipe on one table.

    Attributes:
        name, recipe: the recipe, and its short name.
        estimate: memory of a fit, with its solver; None if not even that can be estimated.
        one_pass: a pass on this machine; empty if a fit has no passes, or is refused.
        choosing_cost: choosing alpha and the order before the fit.
        cost: the whole fit, choosing included.
        refusal: why the fit is refused; "" if it is not.
        note: a sentence on columns without cuts, or on an order that is still to be chosen.
        n_fits: number of such fits still to do.
    """

    name: str
    recipe: Recipe
    estimate: Estimate | None = None
    one_pass: Cost = field(default_factory=Cost)
    choosing_cost: Cost = field(default_factory=Cost)
    cost: Cost = field(default_factory=Cost)
    refusal: str = ""
    note: str = ""
    n_fits: int = 1


@dataclass(frozen=True)
class StudyEstimate:
    """Cost of the fits of a study.

    Attributes:
        fits: each recipe on each table.
        cost: all fits one after the other; a refused recipe costs nothing.
        n_jobs: number of processes; 1 is this one.
    """

    fits: tuple[RecipeEstimate, ...]
    cost: Cost
    n_jobs: int = 1

    @property
    def parallel_cost(self) -> Cost:
        """Cost with all processes: a lower bound of the time, as they share memory and disks."""
        return self.cost.shared_by(self.n_jobs)

    @property
    def refusals(self) -> list[str]:
        """The recipes that are refused, each with the reason."""
        return [f"{fit.name}: {fit.refusal}" for fit in self.fits if fit.refusal]

    def __str__(self) -> str:
        text_lines = [
            f"{sum(fit.n_fits for fit in self.fits):,} fits, at least {duration_text(self.parallel_cost.seconds)}"
        ]
        text_lines[0] += f" in {self.n_jobs} processes" if self.n_jobs > 1 else ""
        text_lines += [
            f"  {fit.n_fits:,} of {fit.name}: "
            + (fit.refusal or f"about {each_text(fit.cost.seconds)} each")
            + f"; {fit.note}" * (fit.recipe.params.get("order") == "auto")
            for fit in self.fits
        ]
        return "\n".join(text_lines)


def each_text(seconds: float) -> str:
    """Format the estimated seconds of one fit, with no more digits than an estimate has."""
    return duration_text(seconds) if seconds >= 0.95 else f"{max(seconds, 1e-3):.1g} s"


# ---- one fit ---------------------------------------------------------------------------------------------------------


def fit_cost(iteration: Cost, recipe: Recipe, counts: NDArray[Any], tuples: int) -> Cost:
    """Return the cost of a fit that runs pass by pass, including the choice of alpha by validation folds.

    Args:
        iteration: a pass on this machine, with the solver's work on vectors.
        recipe: the recipe.
        counts: (C,) rows of each class.
        tuples: number of tuples that are counted.
    """
    passes = _PASSES_PER_FIT if "max_iter" in recipe.params else 2
    passes = _PASSES_OF_ELR if recipe.params.get("cross_tuning") else passes
    if recipe.params.get("order", 1) > 2 and "max_iter" in recipe.params:
        passes *= 2  # more weights take more passes
    starting = Cost(seconds=BASE_SECONDS + _SECONDS_PER_COUNT * float(counts.sum()) * tuples)
    return starting + passes * iteration + choosing_cost(iteration, recipe, counts, tuples)


def choosing_cost(iteration: Cost, recipe: Recipe, counts: NDArray[Any], tuples: int) -> Cost:
    """Return the cost of choosing alpha by inner folds, before or within a fit of one order; 0 if it is given.

    iteration: cost of a pass; counts (C,) rows of each class; tuples: number of tuples that are counted.
    """
    if (alpha := str(recipe.params.get("alpha"))) not in _PASSES_PER_ALPHA:
        return Cost()
    n_folds, train_share = n_validation_folds(counts), 1 - 1 / FOLDS
    pass_factor = _SMOOTH_FACTOR if alpha == "cv" and recipe.cuts in SMOOTH_WAYS else 1.0
    trial = Cost(seconds=_WARM_START_SECONDS) + (_PASSES_PER_ALPHA[alpha] * pass_factor * train_share) * iteration
    return n_folds * (Cost(seconds=train_share * _SECONDS_PER_COUNT * float(counts.sum()) * tuples) + _N_ALPHAS * trial)


def choosing_order_cost(prepared: TrainingData, likely: Recipe, max_memory: int | None, stop: StopToken) -> Cost:
    """Return the cost of choosing an order and its alphas by inner folds: each order up to the likely one and the next.

    That one is tried and found no better; orders that are too much work are not tried. likely: the recipe with the
    order that is taken to be chosen; max_memory: bytes that a fit may take.
    """
    encoded, costs = prepared.encoded, Cost()
    n_informative = len(informative_columns(encoded.levels, likely.missing == "skip"))
    for order in range(1, min(likely.params["order"] + 1, n_informative) + 1):
        try:
            recipe, rows_share = limit_work(likely.replace(order=order), prepared, max_memory, stop)
            if order > 1 and rows_share < 1.0:
                break
            planned_fit = estimate(recipe, TableShape(encoded, stop=stop), max_memory)
        except MemoryLimitError:
            break
        iteration, n_tuples = (
            _iteration_cost(planned_fit, encoded.n_classes, prepared.n_jobs),
            comb(n_informative, order),
        )
        cost = choosing_cost(iteration, recipe, encoded.class_rows, n_tuples)
        if not cost.seconds:  # alpha is a number: one fit for each fold
            cost = n_validation_folds(encoded.class_rows) * fit_cost(iteration, recipe, encoded.class_rows, n_tuples)
        costs += cost
    return Cost(seconds=costs.seconds, passes=costs.passes)  # without parameters and memory, which the final fit has


def share_seconds(share: float) -> float:
    """Return the seconds of a fit to this share of the rows, relative to all: half of them do not depend on the
    rows.
    """
    return (1 + share) / 2


def _iteration_cost(planned: Estimate, n_classes: int, n_jobs: int | None) -> Cost:
    """Return the cost of one iteration on this machine: a pass over the rows, and the solver's work on the weights.

    planned: estimate of the fit; n_classes: C; n_jobs: threads.
    """
    one_pass = calibrate(planned.cost, n_classes, n_jobs)
    return one_pass + Cost(seconds=_SECONDS_PER_WEIGHT * planned.cells_seen * n_classes if one_pass.passes else 0.0)


# ---- one recipe ------------------------------------------------------------------------------------------------------


def estimate_fit(
    name: str,
    recipe: Recipe,
    rows_of: Callable[[Recipe], TrainingData],
    max_memory: int | None = None,
    stop: StopToken = NEVER,
) -> RecipeEstimate:
    """Return the cost of a fit of a recipe.

    Args:
        name: short name of the recipe.
        recipe: the recipe; an order still to be chosen is estimated as the likely one.
        rows_of: returns the rows prepared for a recipe, for as many threads as the fit will have.
        max_memory: bytes a fit may take; None: half of the free memory.
        stop: stops the estimate.

    Raises:
        AlrvizError: if nothing can be estimated, such as for an order above the number of columns.
    """
    prepared = rows_of(recipe)
    likely = with_likely_order(recipe, prepared.encoded.n_columns)
    planned_fit = _planned_estimate(prepared, likely, max_memory, stop)
    if likely is not recipe and planned_fit.refusal:  # the fit will take an order that fits into memory
        likely = likely.replace(order=1)
        prepared = rows_of(likely)
        planned_fit = _planned_estimate(prepared, likely, max_memory, stop)
    encoded, n_cols, note = prepared.encoded, prepared.encoded.n_columns, ""
    one_pass, choosing, cost = calibrate(planned_fit.cost, encoded.n_classes, prepared.n_jobs), Cost(), planned_fit.cost
    if one_pass.passes:
        tunes_with_order = likely is not recipe and likely.params.get("alpha") == "auto"
        fixed_order_recipe = likely.replace(alpha=1.0) if tunes_with_order else likely
        order, n_varying = known_order(likely), len(informative_columns(encoded.levels, recipe.missing == "skip"))
        counts, n_tuples = encoded.class_rows, comb(max(n_varying, order), order)  # constant columns are only listed
        iteration = _iteration_cost(planned_fit, encoded.n_classes, prepared.n_jobs)
        choosing = choosing_cost(iteration, fixed_order_recipe, counts, n_tuples)
        listing_seconds = _SECONDS_PER_TUPLE * comb(n_cols, order) + _SECONDS_PER_CODE * float(counts.sum()) * n_cols
        n_listings = 1 + FOLDS if likely.params.get("alpha") == "cv" else 1
        cost = fit_cost(iteration, fixed_order_recipe, counts, n_tuples) + n_listings * Cost(seconds=listing_seconds)
    if likely is not recipe:
        choosing_order = choosing_order_cost(prepared, likely, max_memory, stop)
        choosing, cost = choosing + choosing_order, cost + choosing_order
        note = f"each fit of {name} chooses its order, and is estimated as of order {likely.params['order']}"
    return RecipeEstimate(name, recipe, planned_fit, one_pass, choosing, cost, planned_fit.refusal, note)


def _planned_estimate(prepared: TrainingData, recipe: Recipe, max_memory: int | None, stop: StopToken) -> Estimate:
    """Return the estimate of a recipe on prepared rows, as a fit within max_memory bytes will plan them."""
    if recipe.params.get("alpha") == "cv":  # each fold's fits have a number
        recipe = recipe.replace(alpha=1.0)
    n_tuples = comb(prepared.encoded.n_columns, known_order(recipe))
    if n_tuples > MAX_PLANNED_TUPLES:  # planning so many takes too long
        upper_bound = estimate(recipe, TableShape(prepared.encoded, prepared.holdout, stop=stop), max_memory)
        if not upper_bound.refusal:
            return upper_bound  # an upper bound: redundant columns make a real plan much cheaper
    return estimate(recipe, TableShape.from_prepared(prepared, stop), max_memory)


# ---- studies ---------------------------------------------------------------------------------------------------------


def estimate_recipes(
    dataset: "Dataset",
    recipes: Sequence[Recipe],
    holdout: float,
    stop: StopToken,
    seconds: Callable[[Recipe], float] | None = None,
    hint: str = "",
    max_memory: int | None = None,
) -> tuple[RecipeEstimate, ...]:
    """Estimate every recipe on as many rows as a fit learns from, for one thread, as in a study's workers.

    Args:
        dataset: the table.
        recipes: the recipes.
        holdout: share of rows that a fit does not learn from.
        stop: stops the estimates.
        seconds: of a recipe's fit, if it does not consist of passes.
        hint: advice on columns without cuts.
        max_memory: bytes a fit may take; None: the default of studies.
    """
    fit_memory, n_columns = workers.fair_memory() if max_memory is None else max_memory, dataset.X.shape[1]
    estimates = []

    def rows_of(recipe: Recipe) -> TrainingData:
        return prepare(dataset, with_likely_order(recipe, n_columns).replace(holdout=holdout), stop=stop).with_jobs(1)

    for name, recipe in zip(short_names(recipes), recipes, strict=True):
        stop.check()
        try:
            fit = estimate_fit(name, recipe, rows_of, fit_memory, stop)
            if seconds is not None:
                fit = replace(fit, cost=replace(fit.cost, seconds=seconds(recipe)))
            encoder = rows_of(recipe).encoder
            uncut = "" if encoder is None else lost_text(encoder, hint)
            estimates.append(replace(fit, note="; ".join(filter(None, [fit.note, uncut]))))
        except (AlrvizError, MemoryError) as error:
            if stop.stopped:
                raise
            estimates.append(RecipeEstimate(name, recipe, refusal=for_page(error) or "too large"))
    return tuple(estimates)


def estimate_remaining_fits(study: "StudyResults", n_jobs: int | None, max_memory: int | None = None) -> StudyEstimate:
    """Estimate the remaining fits of a study whose tasks are fits on folds or holdouts.

    n_jobs: processes, as for a study. max_memory: bytes a fit may take; None: the default of studies.

    Raises:
        AlrvizError: if there are other tasks, such as paths along alpha, whose time is unknown beforehand.
    """
    finished_ids = {id(task) for task, _ in study.results()}
    remaining_tasks = [task for task in study.tasks if id(task) not in finished_ids and task.recipe]
    if other_kinds := {task.kind for task in remaining_tasks} - {"fold"}:
        raise AlrvizError(f"the time of this study is unknown beforehand: it has tasks of kind {min(other_kinds)!r}")
    fits, total_cost = list[RecipeEstimate](), Cost()
    for data_hash, dataset in study.datasets.items():
        tasks = [task for task in remaining_tasks if task.data_hash == data_hash]
        if not tasks:
            continue
        split = tasks[0].split
        holdout = 1 / split.folds if split.folds > 1 else split.holdout
        for racer, fit in enumerate(estimate_recipes(dataset, study.recipes, holdout, NEVER, max_memory=max_memory)):
            efforts = [share_seconds(task.split.share) for task in tasks if task.racer == racer]
            if efforts:
                fits.append(replace(fit, n_fits=len(efforts)))
                total_cost += Cost() if fit.refusal else sum(efforts) * fit.cost
    return StudyEstimate(tuple(fits), total_cost, max(1, min(workers.jobs_of(n_jobs), len(remaining_tasks))))
