"""The estimate of a study on a page: the cost of each recipe, the seconds of all fits, and the recipes left out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType

from alrviz.data.dataset import Dataset
from alrviz.errors import plural
from alrviz.fitting.recipe import Recipe
from alrviz.passes.threads import available_threads
from alrviz.pictures.formatting import bytes_text, count_text, duration_text, seconds_text
from alrviz.stop import StopToken
from alrviz.studies.core import cost
from alrviz.studies.core.cost import RecipeEstimate, StudyEstimate
from alrviz.studies.core.study import Study
from alrviz.views.core.style import html_table, safe

# Seconds below which this process computes by itself: starting another takes three.
_IN_PROCESS_SECONDS = 8.0
# As `studies.core.cost` has it; of columns that cuts lose it says what helps on a page.
estimate_recipes = partial(cost.estimate_recipes, hint="Quantiles, under 'Discretise by', keep all of them")


def estimate_orders(
    dataset: Dataset, recipes: Sequence[Recipe], holdout: float, stop: StopToken
) -> tuple[RecipeEstimate, ...]:
    """Estimate recipes of order 1, 2, ..., named after it; orders above the number of columns are refused."""
    columns = dataset.X.shape[1]
    high = f"the table has only {plural(columns, 'used column')}"
    fits = [*estimate_recipes(dataset, recipes[:columns], holdout, stop)]
    fits += [RecipeEstimate("", recipe, refused=high) for recipe in recipes[columns:]]
    return tuple(replace(one, name=f"n = {order}") for order, one in enumerate(fits, 1))


@dataclass(frozen=True)
class PlannedStudy(StudyEstimate):
    """The estimate of a study that is set on a page, and the study itself, waiting.

    Attributes:
        recipes: of the study; none where nothing can be run.
        remarks: what a reader should know of the table first.
        study: waiting, with the tasks that are kept; None where nothing can be run.
    """

    recipes: tuple[Recipe, ...] = ()
    remarks: tuple[str, ...] = ()
    study: Study | None = None


def processes(seconds: float, most: int) -> int:
    """How many processes a study of so many seconds should have; 1 is this one."""
    return 1 if seconds < _IN_PROCESS_SECONDS else max(1, min(most, available_threads()))


def remarks_of(dataset: Dataset, lost: Iterable[str]) -> tuple[str, ...]:
    """Return what a reader should know of a table before a study of it: `lost` says which columns its cuts lose."""
    return tuple(words for words in (dataset.leaks_note, *dict.fromkeys(lost), dataset.repeats_note) if words)


def costs_html(
    planned: PlannedStudy,
    what: str = "recipe",
    about: str = "about ",
    number: str = "",
    measured: Mapping[str, tuple[float, float]] = MappingProxyType({}),
) -> str:
    """What each recipe costs, and which are left out and why.

    what: a line is of, as HTML. about: before the seconds. number: class of the cells of numbers ("n": to the right).
    measured: mean parameters and seconds of the fits made so far, by name; they take the place of what was estimated.
    """

    def cell(tag: str, text: str) -> str:
        return f"<{tag} class='{number}'>{text}</{tag}>"

    rows = []
    for one in planned.fits:
        if one.refused:
            why = f"<span class='bad'>left out</span>: {safe(one.refused, 300)}"
            rows.append([safe(one.name, 60), f"<td colspan='3' style='white-space:normal'>{why}</td>"])
            continue
        if one.name in measured:
            parameters, taken = measured[one.name]
            texts = (count_text(round(parameters)), bytes_text(one.cost.bytes), seconds_text(taken))
        else:
            guess = seconds_text(float(f"{one.cost.seconds:.1g}"))  # it has no more digits
            prefix = about or ("about " if measured else "")
            texts = (count_text(one.cost.parameters), bytes_text(one.cost.bytes), f"{prefix}{guess}")
        rows.append([safe(one.name, 60), *(cell("td", text) for text in texts)])
    heads = ("parameters", "memory", "one fit" if about or measured else "one fit, about")
    return html_table([what, *(cell("th", one) for one in heads)], rows)


def time_line(planned: PlannedStudy) -> str:
    """Return the least time of all fits and the number of processes; on a busy machine they take longer."""
    if planned.study is None:
        return ""
    where = f" in {planned.n_jobs} processes" if planned.n_jobs > 1 else ""
    return f"<span class='quiet'>at least {duration_text(planned.spread.seconds)}{where}</span>"


def costs_line(planned: PlannedStudy) -> str:
    """Return the least time of all fits, their memory and processes, and how many recipes are left out."""
    line = ""
    if planned.study is not None:
        several = f", {planned.n_jobs} processes" if planned.n_jobs > 1 else ""
        least = duration_text(planned.spread.seconds)
        line = f"<span class='quiet'>at least {least}, {bytes_text(planned.spread.bytes)}{several}</span>"
    if out := planned.refusals:
        line += f" <abbr class='bad' title='{safe('; '.join(out), 900)}'>{len(out)} left out</abbr>"
    return line
