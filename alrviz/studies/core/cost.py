"""What a study takes before it runs: the price of each recipe, about how many seconds a fit and all of them take."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from alrviz.data.encode import lost_text
from alrviz.data.encoded import SMOOTH_WAYS
from alrviz.data.splits import FOLDS, n_validation_folds
from alrviz.errors import AlrvizError, MemoryLimitError, for_page
from alrviz.fitting.best_order import affordable
from alrviz.fitting.families.family import SECONDS
from alrviz.fitting.pricing.price import of_likely_order, price_of
from alrviz.fitting.recipe import Recipe
from alrviz.models.cell_space import telling
from alrviz.stop import NEVER, StopToken
from alrviz.studies.core import workers
from alrviz.studies.core.names import short_names
from alrviz.studies.core.progress import left_text

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.fitting.prepare import Prepared
    from alrviz.fitting.pricing.price import Price
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
class RecipePrice:
    """A recipe, what one fit of it costs, why it is left out, if it is, about how long a fit takes, and a sentence
    on the columns that its cuts lose, or on an order that is not known before.
    """

    name: str
    recipe: Recipe
    price: "Price | None"
    refused: str = ""
    seconds: float = 0.0
    lost: str = ""


def fit_seconds(price: "Price", recipe: Recipe, counts: NDArray[Any], tuples: int) -> float:
    """About how long a fit takes that runs pass by pass, the choice of alpha by folds included.

    counts: (C,) rows of each class. tuples: of the order's columns, which rows are counted by.
    """
    one = _pass_seconds(price, len(counts))
    passes = _TUNED if recipe.params.get("cross_tuning") else _PASSES if "max_iter" in recipe.params else 2
    if recipe.params.get("order", 1) > 2 and "max_iter" in recipe.params:
        passes *= 2  # so many weights are seldom done with the passes of few
    counted = _COUNTED * float(counts.sum()) * tuples
    return SECONDS + passes * one + counted + choosing_seconds(price, recipe, counts, tuples)


def choosing_seconds(price: "Price", recipe: Recipe, counts: NDArray[Any], tuples: int) -> float:
    """About how long folds take to choose alpha, before or within a fit of an order; 0 where it is given."""
    if (alpha := str(recipe.params.get("alpha"))) not in _SHORT:
        return 0.0
    folds, share = n_validation_folds(counts), 1 - 1 / FOLDS
    smooth = _SMOOTH if recipe.cuts in SMOOTH_WAYS else 1.0
    each = _WARM + _SHORT[alpha] * smooth * share * _pass_seconds(price, len(counts))
    return folds * (share * _COUNTED * float(counts.sum()) * tuples + _ALPHAS * each)


def order_seconds(prepared: "Prepared", likely: Recipe, max_memory: int | None, stop: StopToken) -> float:
    """About how long folds take to choose an order, and alphas with it: each up to the likely one, and the next, which
    is found to be no better; those that are not too much work to be tried. `prepared`: rows as `likely` has them.
    """
    encoded, total = prepared.encoded, 0.0
    several = len(telling(encoded.levels, likely.missing == "skip"))
    for order in range(1, min(likely.params["order"] + 1, several) + 1):
        try:
            recipe, share = affordable(likely.replace(order=order), prepared, max_memory, stop)
            if order > 1 and share < 1.0:
                break
            price = price_of(encoded, recipe, None, max_memory, stop, timed=True)
        except MemoryLimitError:
            break
        tuples = comb(several, order)
        one = choosing_seconds(price, recipe, encoded.class_rows, tuples)
        if not one:  # alpha is given: a fit for each fold
            one = n_validation_folds(encoded.class_rows) * fit_seconds(price, recipe, encoded.class_rows, tuples)
        total += one
    return total


def _pass_seconds(price: "Price", n_classes: int) -> float:
    return (price.seconds_per_pass or 0.0) + _NUMBER * price.cells_seen * n_classes


def whole_seconds(recipe: Recipe, rows: int, columns: int, classes: int = 1) -> float:
    """About how long a fit takes that is done at one go: a network's, a forest's, an SVM's."""
    return recipe.definition.seconds(recipe.params, rows, columns, classes)


def by_cv(recipe: Recipe) -> bool:
    """Whether each fold chooses alpha by itself."""
    return bool(recipe.params.get("alpha") == "cv")


def price_recipes(
    dataset: "Dataset",
    recipes: Sequence[Recipe],
    holdout: float,
    stop: StopToken,
    seconds: Callable[[Recipe], float] | None = None,
    hint: str = "",
    max_memory: int | None = None,
) -> tuple[RecipePrice, ...]:
    """Price every recipe on as many rows as a fit learns from, with one thread, as a study's workers have.

    holdout: share of the rows it does not learn from. seconds: of a recipe, where a fit is not one of passes.
    hint: what is to be said of columns that cuts lose. max_memory: bytes a fit may take; None: as a study has it.
    """
    allowed = workers.fair_memory() if max_memory is None else max_memory
    found = []
    for name, recipe in zip(short_names(recipes), recipes, strict=True):
        stop.check()
        own = of_likely_order(recipe, dataset.X.shape[1])
        plain = own.replace(holdout=holdout, **({"alpha": 1.0} if by_cv(recipe) else {}))
        try:
            prepared, price, lost = _price(dataset, plain, allowed, stop, hint)
            if own is not recipe and price.refused:  # it will take the order that fits into memory
                own, plain = own.replace(order=1), plain.replace(order=1)
                prepared, price, lost = _price(dataset, plain, allowed, stop, hint)
            last = own.replace(alpha=1.0) if own is not recipe and own.params.get("alpha") == "auto" else own
            varied = len(telling(prepared.encoded.levels, recipe.missing == "skip"))
            each = seconds(own) if seconds is not None else _seconds(dataset, last, holdout, price, varied)
            if own is not recipe:
                each += order_seconds(prepared, own, allowed, stop)
                chosen = f"each fit of {name} chooses its order, and is priced as of order {own.params['order']}"
                lost = "; ".join(filter(None, [chosen, lost]))
            found.append(RecipePrice(name, recipe, price, price.refused, each, lost))
        except (AlrvizError, MemoryError) as error:
            if stop.stopped:
                raise
            found.append(RecipePrice(name, recipe, None, for_page(error) or "too large"))
    return tuple(found)


def share_seconds(share: float) -> float:
    """Return what a fit of a share of the rows takes, as a part of that of all: half does not shrink with the rows."""
    return (1 + share) / 2


def steps_seconds(price: "Price", recipe: Recipe, counts: NDArray[Any], columns: int, varied: int) -> float:
    """About how long a fit by passes takes, encoding and lists of tuples included; `varied`: columns of several levels,
    tuples of others are listed and not counted row by row. counts: (C,) rows of each class.
    """
    order = int(recipe.params.get("order", 1))
    made = (1 + FOLDS * by_cv(recipe)) * (_LISTED * comb(columns, order) + _ENCODED * float(counts.sum()) * columns)
    return fit_seconds(price, recipe, counts, comb(max(varied, order), order)) + made


def _seconds(dataset: "Dataset", recipe: Recipe, holdout: float, price: "Price", varied: int) -> float:
    """About how long a fit takes of a table of which so many columns have several levels."""
    counts, columns = (1 - holdout) * np.bincount(dataset.labels.cat.codes), dataset.X.shape[1]
    if price.seconds_per_pass is not None:
        return steps_seconds(price, recipe, counts, columns, varied)
    return whole_seconds(recipe, round(counts.sum()), columns, dataset.n_classes)


def _price(
    dataset: "Dataset", recipe: Recipe, allowed: int, stop: StopToken, hint: str
) -> "tuple[Prepared, Price, str]":
    """The rows as they are fitted, the price, and a sentence on columns that are lost."""
    from alrviz.fitting.prepare import prepare

    prepared = prepare(dataset, recipe, stop=stop).on(1)
    price = planned_price(prepared, recipe, allowed, stop)
    lost = "" if prepared.encoder is None else lost_text(prepared.encoder, hint)
    return prepared, price, lost


def planned_price(prepared: "Prepared", recipe: Recipe, allowed: int | None, stop: StopToken) -> "Price":
    """Return the price of a recipe on rows that are prepared, as a fit will plan them; allowed: bytes, None for half
    of what is free.
    """
    from alrviz.fitting.pricing.price import PLANNED, known_order, price_of

    tuples = comb(prepared.encoded.n_columns, known_order(recipe))
    made = prepared if tuples <= PLANNED else None  # planning a longer list is too slow for a price
    price = price_of(prepared.encoded, recipe, prepared.holdout, allowed, stop=stop, timed=True, prepared=made)
    if price.refused and made is None:  # an upper bound: where columns tell the same, a plan takes far less
        price = price_of(prepared.encoded, recipe, prepared.holdout, allowed, stop=stop, timed=True, prepared=prepared)
    return price


@dataclass(frozen=True)
class StudyPrice:
    """What the fits of a study that are left take.

    Attributes:
        fits: each recipe on each table, as many as there are fits of it left.
        seconds: about how long all take one after the other; those of a recipe that is refused fail at once.
        n_jobs: processes.
    """

    fits: tuple[tuple[int, RecipePrice], ...]
    seconds: float
    n_jobs: int

    def __str__(self) -> str:
        lines = [f"{sum(count for count, _ in self.fits):,} fits, at least {left_text(self.seconds / self.n_jobs)}"]
        lines[0] += f" in {self.n_jobs} processes" if self.n_jobs > 1 else ""
        lines += [
            f"  {count:,} of {one.name}: "
            + (one.refused or f"about {each_text(one.seconds)} each")
            + f"; {one.lost}" * (one.recipe.params.get("order") == "auto")
            for count, one in self.fits
        ]
        return "\n".join(lines)


def each_text(seconds: float) -> str:
    """Return about how long one fit takes; a guess has no more digits."""
    return left_text(seconds) if seconds >= 0.95 else f"{max(seconds, 1e-3):.1g} s"


def price_study(
    study: "StudyResults", n_jobs: int | None, max_memory: int | None = None, stop: StopToken = NEVER
) -> StudyPrice:
    """Return the price of a study whose tasks are fits on folds or holdouts.

    n_jobs: processes, as a study takes them. max_memory: bytes a fit may take; None: as a study has it.

    Raises:
        AlrvizError: tasks are something else, such as fits along alpha, of which nobody knows beforehand how long
            they take.
    """
    done = {id(task) for task, _ in study.results()}
    left = [task for task in study.tasks if id(task) not in done and task.recipe]
    if others := {task.kind for task in left} - {"fold"}:
        raise AlrvizError(f"what this study takes is not known before: it has tasks of {min(others)!r}")
    fits, total = list[tuple[int, RecipePrice]](), 0.0
    for key, dataset in study.datasets.items():
        mine = [task for task in left if task.data_hash == key]
        if not mine:
            continue
        split = mine[0].split
        holdout = 1 / split.folds if split.folds > 1 else split.holdout
        for racer, one in enumerate(price_recipes(dataset, study.recipes, holdout, stop, max_memory=max_memory)):
            shares = [share_seconds(task.split.share) for task in mine if task.racer == racer]
            if shares:
                fits.append((len(shares), one))
                total += 0.0 if one.refused else one.seconds * sum(shares)
    return StudyPrice(tuple(fits), total, max(1, min(workers.jobs_of(n_jobs), len(left))))
