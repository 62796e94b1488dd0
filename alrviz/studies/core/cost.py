"""What whole fits, races and studies cost before they run.

    fit = starting + counting + choosing alpha and order + passes * iteration
    study = sum over recipes and tables of (fits left) * fit, spread over processes

An iteration is one pass (`fitting/cost`), calibrated on this machine, and what the solver does beside it. While a study
runs, its progress corrects these seconds by those of the first tasks that finish (`studies/core/progress`).
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
from alrviz.fitting.choose_order import affordable
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
from alrviz.studies.core.progress import left_text

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.studies.core.results import StudyResults

# What a guess at the time of all fits counts on; by processor seconds of sets of 350 to 39,000 rows, orders 1 to 3.
_PASSES = 100  # of a fit
_NUMBER = 2e-8  # of a pass and a weight: what the solver does with vectors of them
_COUNTED = 2e-7  # of a row and a tuple: planning, counting and judging
_ENCODED = 1e-7  # of a row and a column
_LISTED = 3e-6  # of a tuple: spaces, plans and covers hold a list of all
# Fits that choosing alpha takes, in each of its folds, and their passes: a loose end and the last one's start make
# them short, and shorter those of "cv", which moves on by half a decade.
_ALPHAS, _SHORT, _WARM = 9, {"cv": 8, "auto": 40}, 0.012
_SMOOTH = 2.5  # times as many passes, where levels are smooth (of 7 sets, 990 to 39,000 rows: 2.2 to 7)
_TUNED = 1500  # passes of elr, which fits folds to find where to stop


@dataclass(frozen=True)
class RecipeEstimate:
    """What fits of one recipe on one table cost.

    Attributes:
        name, recipe: the recipe, and what it is called beside the others.
        estimate: of a fit's memory, with its solver; None where not even that is possible.
        one_pass: a pass on this machine; without passes where a fit has none, or is refused.
        choosing: choosing alpha and the order before the fit.
        cost: the whole fit, choosing included.
        refused: why it is left out; "" if it is not.
        note: a sentence on the columns that its cuts lose, or on an order that is not known before.
        n_fits: how many such fits are left to do.
    """

    name: str
    recipe: Recipe
    estimate: Estimate | None = None
    one_pass: Cost = field(default_factory=Cost)
    choosing: Cost = field(default_factory=Cost)
    cost: Cost = field(default_factory=Cost)
    refused: str = ""
    note: str = ""
    n_fits: int = 1


@dataclass(frozen=True)
class StudyEstimate:
    """What the fits of a study cost.

    Attributes:
        fits: each recipe on each table.
        cost: all of them, one after the other; those of a recipe that is refused fail at once.
        n_jobs: processes; 1 is this one.
    """

    fits: tuple[RecipeEstimate, ...]
    cost: Cost
    n_jobs: int = 1

    @property
    def spread(self) -> Cost:
        """The cost on all processes: a lower bound of the time, for they share memory and disks."""
        return self.cost.shared_by(self.n_jobs)

    @property
    def left_out(self) -> list[str]:
        """What cannot be run, each with the reason."""
        return [f"{one.name}: {one.refused}" for one in self.fits if one.refused]

    def __str__(self) -> str:
        lines = [f"{sum(one.n_fits for one in self.fits):,} fits, at least {left_text(self.spread.seconds)}"]
        lines[0] += f" in {self.n_jobs} processes" if self.n_jobs > 1 else ""
        lines += [
            f"  {one.n_fits:,} of {one.name}: "
            + (one.refused or f"about {each_text(one.cost.seconds)} each")
            + f"; {one.note}" * (one.recipe.params.get("order") == "auto")
            for one in self.fits
        ]
        return "\n".join(lines)


def each_text(seconds: float) -> str:
    """Return about how long one fit takes; a guess has no more digits."""
    return left_text(seconds) if seconds >= 0.95 else f"{max(seconds, 1e-3):.1g} s"


# ---- one fit ---------------------------------------------------------------------------------------------------------


def fit_cost(iteration: Cost, recipe: Recipe, counts: NDArray[Any], tuples: int) -> Cost:
    """Return the cost of a fit that runs pass by pass, the choice of alpha by folds included.

    Args:
        iteration: a pass on this machine, and what the solver does beside it.
        recipe: what is fitted.
        counts: (C,) rows of each class.
        tuples: of the order's columns, which rows are counted by.
    """
    passes = _TUNED if recipe.params.get("cross_tuning") else _PASSES if "max_iter" in recipe.params else 2
    if recipe.params.get("order", 1) > 2 and "max_iter" in recipe.params:
        passes *= 2  # so many weights are seldom done with the passes of few
    starting = Cost(seconds=BASE_SECONDS + _COUNTED * float(counts.sum()) * tuples)
    return starting + passes * iteration + choosing_cost(iteration, recipe, counts, tuples)


def choosing_cost(iteration: Cost, recipe: Recipe, counts: NDArray[Any], tuples: int) -> Cost:
    """Return the cost of choosing alpha by folds, before or within a fit of an order; 0 seconds where it is given."""
    if (alpha := str(recipe.params.get("alpha"))) not in _SHORT:
        return Cost()
    folds, share = n_validation_folds(counts), 1 - 1 / FOLDS
    smooth = _SMOOTH if recipe.cuts in SMOOTH_WAYS else 1.0
    trial = Cost(seconds=_WARM) + (_SHORT[alpha] * smooth * share) * iteration
    return folds * (Cost(seconds=share * _COUNTED * float(counts.sum()) * tuples) + _ALPHAS * trial)


def choosing_order_cost(prepared: TrainingData, likely: Recipe, max_memory: int | None, stop: StopToken) -> Cost:
    """Return the cost of choosing an order by folds, and alphas with it: each order up to the likely one, and the next,
    which turns out to be no better; without those that are too much work to be tried. `prepared`: rows as `likely` has
    them.
    """
    encoded, total = prepared.encoded, Cost()
    several = len(informative_columns(encoded.levels, likely.missing == "skip"))
    for order in range(1, min(likely.params["order"] + 1, several) + 1):
        try:
            recipe, share = affordable(likely.replace(order=order), prepared, max_memory, stop)
            if order > 1 and share < 1.0:
                break
            known = estimate(recipe, TableShape(encoded, stop=stop), max_memory)
        except MemoryLimitError:
            break
        iteration, tuples = _iteration(known, encoded.n_classes, prepared.n_jobs), comb(several, order)
        one = choosing_cost(iteration, recipe, encoded.class_rows, tuples)
        if not one.seconds:  # alpha is given: a fit for each fold
            one = n_validation_folds(encoded.class_rows) * fit_cost(iteration, recipe, encoded.class_rows, tuples)
        total += one
    return Cost(seconds=total.seconds, passes=total.passes)  # of models that are tried, not of the one that is kept


def share_seconds(share: float) -> float:
    """Return what a fit of a share of the rows takes, as a part of that of all: half does not shrink with the rows."""
    return (1 + share) / 2


def _iteration(known: Estimate, n_classes: int, n_jobs: int | None) -> Cost:
    """The cost of a pass on this machine, and of the solver's vectors beside it."""
    one_pass = calibrate(known.cost, n_classes, n_jobs)
    return one_pass + Cost(seconds=_NUMBER * known.cells_seen * n_classes if one_pass.passes else 0.0)


# ---- one recipe ------------------------------------------------------------------------------------------------------


def estimate_fit(
    name: str,
    recipe: Recipe,
    rows_of: Callable[[Recipe], TrainingData],
    max_memory: int | None = None,
    stop: StopToken = NEVER,
) -> RecipeEstimate:
    """Return what a fit of a recipe costs.

    Args:
        name: what the recipe is called.
        recipe: what is fitted; an order that is still to be chosen is estimated as the likely one.
        rows_of: returns the rows as a recipe has them prepared, on as many threads as the fit will have.
        max_memory: bytes it may take; None for half of what is free.
        stop: ends it.

    Raises:
        AlrvizError: where nothing can be estimated, such as an order above the number of columns.
    """
    prepared = rows_of(recipe)
    likely = with_likely_order(recipe, prepared.encoded.n_columns)
    known = _planned(prepared, likely, max_memory, stop)
    if likely is not recipe and known.refused:  # it will take the order that fits into memory
        likely = likely.replace(order=1)
        prepared = rows_of(likely)
        known = _planned(prepared, likely, max_memory, stop)
    encoded, columns, note = prepared.encoded, prepared.encoded.n_columns, ""
    one_pass, choosing, cost = calibrate(known.cost, encoded.n_classes, prepared.n_jobs), Cost(), known.cost
    if one_pass.passes:
        tunes_with_order = likely is not recipe and likely.params.get("alpha") == "auto"
        of_order = likely.replace(alpha=1.0) if tunes_with_order else likely
        order, varied = known_order(likely), len(informative_columns(encoded.levels, recipe.missing == "skip"))
        counts, tuples = encoded.class_rows, comb(max(varied, order), order)  # tuples of other columns are only listed
        iteration = _iteration(known, encoded.n_classes, prepared.n_jobs)
        choosing = choosing_cost(iteration, of_order, counts, tuples)
        listed = _LISTED * comb(columns, order) + _ENCODED * float(counts.sum()) * columns
        times = 1 + FOLDS if likely.params.get("alpha") == "cv" else 1
        cost = fit_cost(iteration, of_order, counts, tuples) + times * Cost(seconds=listed)
    if likely is not recipe:
        choosing_order = choosing_order_cost(prepared, likely, max_memory, stop)
        choosing, cost = choosing + choosing_order, cost + choosing_order
        note = f"each fit of {name} chooses its order, and is estimated as of order {likely.params['order']}"
    return RecipeEstimate(name, recipe, known, one_pass, choosing, cost, known.refused, note)


def _planned(prepared: TrainingData, recipe: Recipe, max_memory: int | None, stop: StopToken) -> Estimate:
    """Return the estimate of a recipe on rows that are prepared, as a fit will plan them."""
    if recipe.params.get("alpha") == "cv":  # each fold chooses alpha by itself, in fits of numbers
        recipe = recipe.replace(alpha=1.0)
    if (
        comb(prepared.encoded.n_columns, known_order(recipe)) > MAX_PLANNED_TUPLES
    ):  # planning a longer list takes too long
        bound = estimate(recipe, TableShape(prepared.encoded, prepared.holdout, stop=stop), max_memory)
        if not bound.refused:
            return bound  # an upper bound: where columns tell the same, a plan takes far less
    return estimate(recipe, TableShape.of(prepared, stop), max_memory)


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
    """Estimate every recipe on as many rows as a fit learns from, with one thread, as a study's workers have.

    Args:
        dataset: the table.
        recipes: what is fitted.
        holdout: share of the rows that a fit does not learn from.
        stop: ends it.
        seconds: of a recipe, where a fit is not one of passes.
        hint: advice on columns that cuts lose.
        max_memory: bytes a fit may take; None: as a study has it.
    """
    allowed, n_columns = workers.fair_memory() if max_memory is None else max_memory, dataset.X.shape[1]
    estimates = []

    def rows_of(recipe: Recipe) -> TrainingData:
        return prepare(dataset, with_likely_order(recipe, n_columns).replace(holdout=holdout), stop=stop).on(1)

    for name, recipe in zip(short_names(recipes), recipes, strict=True):
        stop.check()
        try:
            one = estimate_fit(name, recipe, rows_of, allowed, stop)
            if seconds is not None:
                one = replace(one, cost=replace(one.cost, seconds=seconds(recipe)))
            encoder = rows_of(recipe).encoder
            lost = "" if encoder is None else lost_text(encoder, hint)
            estimates.append(replace(one, note="; ".join(filter(None, [one.note, lost]))))
        except (AlrvizError, MemoryError) as error:
            if stop.stopped:
                raise
            estimates.append(RecipeEstimate(name, recipe, refused=for_page(error) or "too large"))
    return tuple(estimates)


def estimate_study(study: "StudyResults", n_jobs: int | None, max_memory: int | None = None) -> StudyEstimate:
    """Return what the fits that are left of a study cost whose tasks are fits on folds or holdouts.

    n_jobs: processes, as a study takes them. max_memory: bytes a fit may take; None: as a study has it.

    Raises:
        AlrvizError: tasks are something else, such as fits along alpha, of which nobody knows beforehand how long
            they take.
    """
    done = {id(task) for task, _ in study.results()}
    left = [task for task in study.tasks if id(task) not in done and task.recipe]
    if others := {task.kind for task in left} - {"fold"}:
        raise AlrvizError(f"what this study takes is not known before: it has tasks of {min(others)!r}")
    fits, total = list[RecipeEstimate](), Cost()
    for key, dataset in study.datasets.items():
        mine = [task for task in left if task.data_hash == key]
        if not mine:
            continue
        split = mine[0].split
        holdout = 1 / split.folds if split.folds > 1 else split.holdout
        for racer, one in enumerate(estimate_recipes(dataset, study.recipes, holdout, NEVER, max_memory=max_memory)):
            shares = [share_seconds(task.split.share) for task in mine if task.racer == racer]
            if shares:
                fits.append(replace(one, n_fits=len(shares)))
                total += Cost() if one.refused else sum(shares) * one.cost
    return StudyEstimate(tuple(fits), total, max(1, min(workers.jobs_of(n_jobs), len(left))))
