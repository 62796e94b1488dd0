"""The estimate of a study on a page: the cost of each recipe, the seconds of all fits, and the recipes left out."""

import os
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
_MIN_SLOWDOWN = 2.0  # by other work on the machine, from which on a page tells the time with it
# With a hint, for columns that lose their information when they are cut, that names a menu of the page.
estimate_recipes = partial(cost.estimate_recipes, hint="Quantiles, under 'Discretise by', keep all of them")


def estimate_orders(
    dataset: Dataset, recipes: Sequence[Recipe], holdout: float, stop: StopToken
) -> tuple[RecipeEstimate, ...]:
    """Estimate recipes of order 1, 2, ..., named "n = 1", ...; orders above the number of columns are refused."""
    columns = dataset.X.shape[1]
    reason = f"the table has only {plural(columns, 'used column')}"
    fits = [*estimate_recipes(dataset, recipes[:columns], holdout, stop)]
    fits += [RecipeEstimate("", recipe, refusal=reason) for recipe in recipes[columns:]]
    return tuple(replace(fit, name=f"n = {order}") for order, fit in enumerate(fits, 1))


@dataclass(frozen=True)
class PlannedStudy(StudyEstimate):
    """The estimate of a page's study, and the study, which has not been started.

    Attributes:
        recipes: those that can be run.
        remarks: notes on the table that matter for the result.
        study: with its stored tasks; None if no recipe can be run.
    """

    recipes: tuple[Recipe, ...] = ()
    remarks: tuple[str, ...] = ()
    study: Study | None = None

    def inform(self, study: Study) -> None:
        """Tell a study of these recipes how long their fits are expected to take."""
        study.expect([fit.cost.seconds for fit in self.fits if not fit.refusal])


def choose_n_jobs(seconds: float, max_jobs: int) -> int:
    """Return the number of processes for a study of so many seconds; 1 means this process."""
    return 1 if seconds < _IN_PROCESS_SECONDS else max(1, min(max_jobs, available_threads()))


def remarks_of(dataset: Dataset, lost_columns: Iterable[str]) -> tuple[str, ...]:
    """Return notes on a table that matter for a study. lost_columns: on columns that lose information when cut."""
    return tuple(
        remark for remark in (dataset.leaks_note, *dict.fromkeys(lost_columns), dataset.repeats_note) if remark
    )


def costs_html(
    planned: PlannedStudy,
    first_heading: str = "model",
    measurements: Mapping[str, tuple[float, float]] = MappingProxyType({}),
) -> str:
    """Return an HTML table of costs, a row per recipe: parameters, memory and seconds of a fit, or why it is left out.

    Args:
        planned: the estimate.
        first_heading: heading of the column of names, as HTML.
        measurements: (mean number of parameters, mean seconds) of the fits done so far, by recipe name; they replace
            the estimates.
    """

    def cell(tag: str, text: str) -> str:
        return f"<{tag} class='n'>{text}</{tag}>"

    rows = []
    for fit in planned.fits:
        if fit.refusal:
            reason = f"<span class='bad'>left out</span>: {safe(fit.refusal, 300)}"
            rows.append([safe(fit.name, 60), f"<td colspan='3' style='white-space:normal'>{reason}</td>"])
            continue
        if fit.name in measurements:
            parameters, seconds = measurements[fit.name]
            cost_texts = (count_text(round(parameters)), bytes_text(fit.cost.bytes), seconds_text(seconds))
        else:
            estimate = seconds_text(float(f"{fit.cost.seconds:.1g}"))  # accurate to one digit
            prefix = "about " if measurements else ""
            cost_texts = (count_text(fit.cost.parameters), bytes_text(fit.cost.bytes), f"{prefix}{estimate}")
        rows.append([safe(fit.name, 60), *(cell("td", text) for text in cost_texts)])
    headings = ("parameters", "memory", "one fit" if measurements else "one fit, about")
    return html_table([first_heading, *(cell("th", heading) for heading in headings)], rows)


def _busy_text(planned: PlannedStudy) -> str:
    """Return how long a study takes beside all that runs on this machine now; "" if that hardly slows it."""
    if not hasattr(os, "getloadavg"):  # Windows
        return ""
    load, n_processors = os.getloadavg()[0], os.cpu_count() or 1
    slowdown = (load + planned.n_jobs) / n_processors
    if slowdown < _MIN_SLOWDOWN:
        return ""
    reason = f"{load:.0f} threads of other work share {n_processors} processors"
    seconds = duration_text(slowdown * planned.parallel_cost.seconds)
    return f", <abbr title='{reason}'>now about {seconds}</abbr>"


def time_line(planned: PlannedStudy) -> str:
    """Return the minimum time of all fits, as on an idle machine, that on a busy one, and the number of processes."""
    if planned.study is None:
        return ""
    processes_text = f" in {planned.n_jobs} processes" if planned.n_jobs > 1 else ""
    seconds = duration_text(planned.parallel_cost.seconds)
    return f"<span class='quiet'>at least {seconds}{processes_text}{_busy_text(planned)}</span>"


def costs_line(planned: PlannedStudy) -> str:
    """Return the time of all fits (`time_line`), their memory and processes, and the number of recipes left out."""
    html = ""
    if planned.study is not None:
        processes_text = f", {planned.n_jobs} processes" if planned.n_jobs > 1 else ""
        seconds = duration_text(planned.parallel_cost.seconds)
        memory = bytes_text(planned.parallel_cost.bytes)
        html = f"<span class='quiet'>at least {seconds}{_busy_text(planned)}, {memory}{processes_text}</span>"
    if refusals := planned.refusals:
        html += f" <abbr class='bad' title='{safe('; '.join(refusals), 900)}'>{len(refusals)} left out</abbr>"
    return html
