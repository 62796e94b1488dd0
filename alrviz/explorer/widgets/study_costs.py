"""What a study of several recipes costs before it runs: each recipe's price, the seconds of all fits, the processes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING, Any

from alrviz.data.encode import lost_text
from alrviz.errors import AlrvizError
from alrviz.fitting.families.family import SECONDS
from alrviz.fitting.folds import FOLDS, MANY
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.formatting import bytes_text, count_text, left_text, seconds_text
from alrviz.stop import StopToken
from alrviz.studies.core.names import short_names
from alrviz.views.core.style import safe

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.fitting.prepare import Prepared
    from alrviz.fitting.pricing.price import Price

# What a guess at the time of all fits counts on; by processor seconds of sets of 350 to 39,000 rows, orders 1 to 3.
_PASSES = 100  # of a fit
_NUMBER = 2e-8  # of a pass and a weight: what the solver does with vectors of them
_COUNTED = 2e-7  # of a row and a tuple: planning, counting and judging
# Fits that choosing alpha takes, in each of its folds: a loose end and the last one's start make them short.
_ALPHAS, _SHORT, _WARM = 9, 8, 0.012
_TUNED = 1500  # passes of elr, which fits folds to find where to stop
# Seconds below which this process computes by itself: starting another takes three.
_HERE = 8.0


@dataclass(frozen=True)
class Priced:
    """A recipe, what one fit of it costs, why it is left out, if it is, about how long a fit takes, and a sentence
    on the columns that its cuts lose.
    """

    name: str
    recipe: Recipe
    price: "Price | None"
    refused: str = ""
    seconds: float = 0.0
    lost: str = ""


@dataclass(frozen=True)
class Costs:
    """What is known of a study before it runs.

    Attributes:
        priced: what was asked for, each with its price.
        recipes: of the study; none where nothing can be run.
        seconds: about how long all fits take one after the other.
        remarks: what a reader should know of the table first.
        study: waiting, with the cells that are kept; None where nothing can be run.
        n_jobs: processes; 1 is this one.
    """

    priced: tuple[Priced, ...]
    recipes: tuple[Recipe, ...]
    seconds: float
    remarks: tuple[str, ...] = ()
    study: Any = None
    n_jobs: int = 1

    @property
    def bytes(self) -> int:
        """What all workers take together."""
        return self.n_jobs * max((p.price.bytes for p in self.priced if not p.refused and p.price), default=0)

    @property
    def left_out(self) -> list[str]:
        """What cannot be run, each with the reason."""
        return [f"{one.name}: {one.refused}" for one in self.priced if one.refused]


def fit_seconds(price: "Price", recipe: Recipe, n_classes: int, rows: int, tuples: int) -> float:
    """About how long a fit of so many rows takes that runs pass by pass, the choice of alpha by folds included.

    tuples: of the order's columns, which rows are counted by.
    """
    one = (price.seconds_per_pass or 0.0) + _NUMBER * price.cells_seen * n_classes
    passes = _TUNED if recipe.params.get("cross_tuning") else _PASSES if "max_iter" in recipe.params else 2
    if recipe.params.get("order", 1) > 2 and "max_iter" in recipe.params:
        passes *= 2  # so many weights are seldom done with the passes of few
    counted = _COUNTED * rows * tuples
    seconds = SECONDS + passes * one + counted
    if by_cv(recipe):
        folds, share = (1 if rows > MANY else FOLDS), 1 - 1 / FOLDS
        seconds += folds * (share * counted + _ALPHAS * (_WARM + _SHORT * share * one))
    return seconds


def whole_seconds(recipe: Recipe, rows: int, columns: int, classes: int = 1) -> float:
    """About how long a fit takes that is done at one go: a network's, a forest's, an SVM's."""
    return recipe.definition.seconds(recipe.params, rows, columns, classes)


def by_cv(recipe: Recipe) -> bool:
    """Whether each fold chooses alpha by itself."""
    return bool(recipe.params.get("alpha") == "cv")


def processes(seconds: float, most: int) -> int:
    """How many processes a study of so many seconds should have; 1 is this one."""
    from alrviz.passes.threads import available_threads

    return 1 if seconds < _HERE else max(1, min(most, available_threads()))


def price_recipes(
    dataset: "Dataset",
    recipes: Sequence[Recipe],
    holdout: float,
    stop: StopToken,
    seconds: Callable[[Recipe], float] | None = None,
) -> tuple[Priced, ...]:
    """Price every recipe on as many rows as a fit learns from, with one thread, as a study's workers have.

    holdout: share of the rows it does not learn from. seconds: of a recipe, where a fit is not one of passes.
    """
    from alrviz.studies.core.study import fair_memory

    allowed = fair_memory()
    found = []
    for name, recipe in zip(short_names(recipes), recipes, strict=True):
        stop.check()
        plain = recipe.replace(holdout=holdout, **({"alpha": 1.0} if by_cv(recipe) else {}))
        try:
            price, lost = _price(dataset, plain, allowed, stop)
            each = _seconds(dataset, recipe, holdout, price, seconds)
            found.append(Priced(name, recipe, price, price.refused, each, lost))
        except (AlrvizError, MemoryError) as error:
            if stop.stopped:
                raise
            found.append(Priced(name, recipe, None, str(error) or "too large"))
    return tuple(found)


def _seconds(
    dataset: "Dataset", recipe: Recipe, holdout: float, price: "Price", given: Callable[[Recipe], float] | None
) -> float:
    if given is not None:
        return given(recipe)
    if price.seconds_per_pass is not None:
        columns = dataset.X.shape[1]
        tuples = comb(columns, int(recipe.params.get("order", 1)))
        return fit_seconds(price, recipe, dataset.n_classes, round(dataset.n_rows * (1 - holdout)), tuples)
    return whole_seconds(
        recipe,
        round(dataset.n_rows * (1 - holdout)),
        dataset.X.shape[1],
        dataset.n_classes,
    )


def remarks_of(dataset: "Dataset", lost: Iterable[str]) -> tuple[str, ...]:
    """Return what a reader should know of a table before a study of it: `lost` says which columns its cuts lose."""
    return tuple(words for words in (*dict.fromkeys(lost), dataset.repeats_note) if words)


def lost_here(prepared: "Prepared") -> str:
    """Return a sentence on the columns that cuts lose, and where on a page to choose others."""
    encoder = prepared.encoder
    return "" if encoder is None else lost_text(encoder, "Quantiles, under 'Cut numbers by', keep all of them")


def _price(dataset: "Dataset", recipe: Recipe, allowed: int, stop: StopToken) -> "tuple[Price, str]":
    from alrviz.fitting.prepare import prepare
    from alrviz.fitting.pricing.price import PLANNED, price_of

    prepared = prepare(dataset, recipe, stop=stop).on(1)
    tuples = comb(prepared.encoded.n_columns, int(recipe.params.get("order", 1)))
    made = prepared if tuples <= PLANNED else None  # planning a longer list is too slow for a price
    price = price_of(prepared.encoded, recipe, prepared.holdout, allowed, stop=stop, timed=True, prepared=made)
    return price, lost_here(prepared)


def costs_html(costs: Costs, what: str = "recipe") -> str:
    """What each recipe, or whatever `what` says, costs, and which are left out and why."""
    head = f"<tr><th>{what}</th><th>parameters</th><th>memory</th><th>one fit</th></tr>"
    body = ""
    for one in costs.priced:
        if one.refused or one.price is None:
            why = f"<span class='bad'>left out</span>: {safe(one.refused, 300)}"
            body += f"<tr><td>{safe(one.name, 60)}</td><td colspan='3' style='white-space:normal'>{why}</td></tr>"
            continue
        seconds = seconds_text(float(f"{one.seconds:.1g}"))  # a guess has no more digits
        cells = (count_text(one.price.parameters), bytes_text(one.price.bytes), f"about {seconds}")
        body += f"<tr><td>{safe(one.name, 60)}</td>" + "".join(f"<td>{text}</td>" for text in cells) + "</tr>"
    return f"<div class='scroll'><table>{head}{body}</table></div>"


def time_line(costs: Costs) -> str:
    """About how long all of it takes, and where: for a row that is full."""
    if costs.study is None:
        return ""
    where = f" in {costs.n_jobs} processes" if costs.n_jobs > 1 else ""
    return f"<span class='quiet'>about {left_text(costs.seconds / costs.n_jobs)}{where}</span>"


def costs_line(costs: Costs) -> str:
    """About how long all of it takes, in how much memory and where; how much is left out."""
    line = ""
    if costs.study is not None:
        several = f", {costs.n_jobs} processes" if costs.n_jobs > 1 else ""
        about = left_text(costs.seconds / costs.n_jobs)
        line = f"<span class='quiet'>about {about}, {bytes_text(costs.bytes)}{several}</span>"
    if out := costs.left_out:
        line += f" <abbr class='bad' title='{safe('; '.join(out), 900)}'>{len(out)} left out</abbr>"
    return line
