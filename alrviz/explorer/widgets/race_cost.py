"""Estimate the cost of a race before it starts: parameters, memory, time, and the reason where a racer is refused."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import comb

from alrviz.data.dataset import Dataset
from alrviz.data.splits import CHUNK
from alrviz.data.stream.table import Stream
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.cost.estimate import with_likely_order
from alrviz.fitting.families.selected import max_kept
from alrviz.fitting.prepare import prepare
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.runs.run import Run
from alrviz.fitting.warm import CompileProcess, warm_covers
from alrviz.memory import used_memory
from alrviz.models.cell_space import tuple_sizes
from alrviz.pictures.formatting import bytes_text, count_text, seconds_text
from alrviz.stop import StopToken
from alrviz.studies.core.cost import RecipeEstimate, estimate_fit
from alrviz.studies.core.names import short_names
from alrviz.studies.race.race import RecordedRun
from alrviz.views.core.style import safe

_MAX_CHEAP_BYTES = 64_000_000  # bytes below which a fit of unknown seconds may start by itself: dlr on 300,000 rows
_TYPICAL_ITERATIONS = 300  # assumed for the estimate of a whole race
VISITS_PER_SECOND = 3.5e8  # weights updated per second in a pass of AdaGrad (`python -m benchmarks stream`)
MAX_CHEAP_SECONDS = 6.0  # a race estimated below them starts by itself: when a page opens, and whatever is chosen on it


def race_seconds(estimates: Sequence[RecipeEstimate]) -> float:
    """Return the seconds of a typical race, including the choice of alphas."""
    return sum(racer.choosing_cost.seconds + _TYPICAL_ITERATIONS * racer.one_pass.seconds for racer in estimates)


def race_bytes(estimates: Sequence[RecipeEstimate]) -> int:
    """Return the bytes to reserve for all racers and their models."""
    return sum(racer.estimate.reserved_bytes for racer in estimates if racer.estimate)


def is_cheap(estimates: Sequence[RecipeEstimate]) -> bool:
    """Return whether a race is short enough to start without a press of Run."""
    if all(racer.one_pass.passes for racer in estimates):
        return race_seconds(estimates) < MAX_CHEAP_SECONDS
    return race_bytes(estimates) < _MAX_CHEAP_BYTES


def prepare_racers(
    dataset: Dataset | Stream,
    recipes: tuple[Recipe, ...],
    stop: StopToken,
    tell: Callable[[str], None] = lambda activity: None,
    n_jobs: int | None = None,
) -> list[RecipeEstimate]:
    """Encode the rows of every racer, compile the kernels it calls, and estimate its cost. tell: reports progress."""
    if isinstance(dataset, Stream):
        for recipe in recipes:
            Run(dataset, recipe)  # raises if the recipe cannot be fitted in passes
        return [
            over_all_rows(dataset, estimate) for estimate in prepare_racers(dataset.sample, recipes, stop, tell, n_jobs)
        ]
    estimates, compiler = [], None
    for name, recipe in zip(short_names(recipes), recipes, strict=True):
        tell("preparing: encoding")
        prepared = prepare(dataset, recipe, n_jobs, stop)
        tell("preparing: compiling")
        if recipe.definition.counts_cells:
            compiler = compiler or CompileProcess(prepared.encoded.n_classes, recipe.params.get("objective", "nll"))
            warm_covers(prepared.has_wide_codes)
            compiler.wait(stop)  # the estimate times a pass: it needs those kernels and an idle processor
        tell("preparing: estimating the cost")
        # The rows as encoded when the race starts; order="auto" is chosen later.
        estimate = estimate_fit(name, recipe, lambda _, rows=prepared: rows, stop=stop)  # type: ignore[misc]
        estimates.append(estimate)
        stop.check()
        if not estimate.refusal:
            tell("preparing: compiling")
            likely = with_likely_order(recipe, prepared.encoded.n_columns)
            likely.definition.warm_for(likely, prepared, stop)
    return estimates


def over_all_rows(stream: Stream, of_sample: RecipeEstimate) -> RecipeEstimate:
    """Return the estimate of a fit over all rows of a table larger than memory, from the estimate of its sample.

    Parameters and tables are those of the sample; the seconds of a pass are proportional to the rows.
    """
    recipe, n_columns = of_sample.recipe, stream.sample.X.shape[1]
    shapes = recipe.definition.counted_tuples(with_likely_order(recipe, n_columns).params, n_columns)
    sizes, keep = tuple_sizes(shapes[-1], n_columns), recipe.params.get("keep", 1.0)
    n_tuples = sum(max_kept(keep if size > 1 else 1.0, comb(n_columns, size)) for size in sizes)
    seconds = stream.n_rows * n_tuples * max(2, stream.sample.n_classes) / VISITS_PER_SECOND
    chunks_cost = Cost(bytes=4 * CHUNK * (2 * n_columns + 12))  # one being fitted, one read ahead
    sample_estimate = of_sample.estimate
    assert sample_estimate is not None
    return replace(
        of_sample, estimate=replace(sample_estimate, cost=sample_estimate.cost.alongside(chunks_cost)),
        one_pass=replace(of_sample.one_pass, seconds=seconds, passes=1),
    )  # fmt: skip


def passes_text(runs: Sequence[Run | RecordedRun]) -> str:
    """Return pass, rows per second and the memory of the process for runs over files; "" before the first pass."""
    started_runs = [run for run in runs if len(run.trace) > 1]
    seconds = sum(run.trace[-1].seconds - run.trace[0].seconds for run in started_runs)
    if not seconds:
        return ""
    # The seconds of the trace exclude counting and selecting.
    row_rate = sum((run.trace[-1].passes - run.trace[0].passes) * run.trace.rows for run in started_runs) / seconds
    memory = used_memory()
    memory_text = f" · {bytes_text(memory)} in use" if memory else ""
    n_passes = max(run.trace[-1].passes for run in started_runs)
    return f"pass {n_passes:.0f} · {count_text(round(row_rate))} rows/s{memory_text}"


def cost_html(estimates: Sequence[RecipeEstimate]) -> str:
    """Return a line of HTML on what a race costs, or which model was refused first and why."""
    if refusals := [racer for racer in estimates if racer.refusal]:
        name, reason = refusals[0].name, refusals[0].refusal
        return f"<span class='bad'><b>Refused</b> ({safe(name, 60)}): {safe(reason, 400)}</span>"
    parameter_counts = sorted({racer.cost.parameters for racer in estimates})
    parameters_text = count_text(parameter_counts[0])
    if len(parameter_counts) > 1:
        parameters_text = f"{parameters_text} to {count_text(parameter_counts[-1])}"
    pass_seconds = [racer.one_pass.seconds for racer in estimates if racer.one_pass.passes]
    time_text = f"{seconds_text(sum(pass_seconds))} per iteration" if pass_seconds else "not timed"
    memory_text = bytes_text(race_bytes(estimates))
    choosing_seconds = sum(racer.choosing_cost.seconds for racer in estimates)
    time_text = f"choosing alpha {seconds_text(choosing_seconds)}, then {time_text}" if choosing_seconds else time_text
    costs_text = f"{time_text} · {parameters_text} parameters · {memory_text}"
    hint = f"{time_text} of all models · {parameters_text} parameters each · {memory_text}"  # where there is no room
    return f"<span class='quiet' title='{safe(hint if len(estimates) > 1 else costs_text)}'>{costs_text}</span>"
