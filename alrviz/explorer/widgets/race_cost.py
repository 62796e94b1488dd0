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
from alrviz.fitting.warm import warm_covers
from alrviz.memory import used_memory
from alrviz.models.cell_space import tuple_sizes
from alrviz.pictures.formatting import bytes_text, count_text, seconds_text
from alrviz.stop import StopToken
from alrviz.studies.core.cost import RecipeEstimate, estimate_fit
from alrviz.studies.core.names import short_names
from alrviz.studies.race.race import RecordedRun
from alrviz.views.core.style import safe

_SMALL_BYTES = 64_000_000  # bytes below which a fit of unknown seconds may start by itself: dlr on 300,000 rows
_TYPICAL_ITERATIONS = 300  # iterations an estimate of the whole race counts on
VISITS_PER_SECOND = 3.5e8  # of weights of rows' cells, in a pass of AdaGrad (`python -m benchmarks stream`)
AT_ONCE_SECONDS = 6.0  # a race estimated below them starts by itself: when a page opens, and whatever is chosen on it


def race_seconds(estimates: Sequence[RecipeEstimate]) -> float:
    """Return what a typical race takes, the choice of alphas included."""
    return sum(one.choosing.seconds + _TYPICAL_ITERATIONS * one.one_pass.seconds for one in estimates)


def race_bytes(estimates: Sequence[RecipeEstimate]) -> int:
    """Return the bytes to reserve for all racers together, and their models."""
    return sum(one.estimate.reserved_bytes for one in estimates if one.estimate)


def is_cheap(estimates: Sequence[RecipeEstimate]) -> bool:
    """Return whether a race may start by itself, because it will soon be over."""
    if all(one.one_pass.passes for one in estimates):
        return race_seconds(estimates) < AT_ONCE_SECONDS
    return race_bytes(estimates) < _SMALL_BYTES


def prepare_racers(
    dataset: Dataset | Stream,
    recipes: tuple[Recipe, ...],
    stop: StopToken,
    tell: Callable[[str], None] = lambda doing: None,
    n_jobs: int | None = None,
) -> list[RecipeEstimate]:
    """Encode the rows of every racer, compile what the race will call, and estimate its cost.

    `tell` hears what is being done.
    """
    from alrviz.fitting.parallel_compile import CompileProcess

    if isinstance(dataset, Stream):
        for recipe in recipes:
            Run(dataset, recipe)  # refuses what is not fitted in passes
        return [over_all_rows(dataset, one) for one in prepare_racers(dataset.sample, recipes, stop, tell, n_jobs)]
    estimates, beside = [], None
    for name, recipe in zip(short_names(recipes), recipes, strict=True):
        tell("preparing: encoding")
        prepared = prepare(dataset, recipe, n_jobs, stop)
        tell("preparing: compiling")
        if recipe.definition.counts_cells:
            beside = beside or CompileProcess(prepared.encoded.n_classes, recipe.params.get("objective", "nll"))
            warm_covers(prepared.wide)
            beside.wait(stop)  # calibrating times a pass, which needs those kernels and the processor to itself
        tell("preparing: estimating the cost")
        # The rows as a race encodes them at its start, whatever order will be chosen.
        one = estimate_fit(name, recipe, lambda _, rows=prepared: rows, stop=stop)  # type: ignore[misc]
        estimates.append(one)
        stop.check()
        if not one.refused:
            tell("preparing: compiling")
            likely = with_likely_order(recipe, prepared.encoded.n_columns)
            likely.definition.warm_for(likely, prepared, stop)
    return estimates


def over_all_rows(stream: Stream, of_sample: RecipeEstimate) -> RecipeEstimate:
    """Return the estimate of a fit over all rows of a table larger than memory, from that of its sample: parameters and
    tables are those of the sample, the seconds of a pass follow from the rows.
    """
    recipe, columns = of_sample.recipe, stream.sample.X.shape[1]
    counted = recipe.definition.counted_tuples(with_likely_order(recipe, columns).params, columns)
    sizes, keep = tuple_sizes(counted[-1], columns), recipe.params.get("keep", 1.0)
    tuples = sum(max_kept(keep if size > 1 else 1.0, comb(columns, size)) for size in sizes)
    seconds = stream.n_rows * tuples * max(2, stream.sample.n_classes) / VISITS_PER_SECOND
    chunks = Cost(bytes=4 * CHUNK * (2 * columns + 12))  # that are read ahead, and gone over
    known = of_sample.estimate
    assert known is not None
    return replace(
        of_sample, estimate=replace(known, cost=known.cost.alongside(chunks)),
        one_pass=replace(of_sample.one_pass, seconds=seconds, passes=1),
    )  # fmt: skip


def passes_text(runs: Sequence[Run | RecordedRun]) -> str:
    """Return how fast runs go over the rows of a table read in batches, and the memory of the process; "" before."""
    begun = [run for run in runs if len(run.trace) > 1]
    seconds = sum(run.trace[-1].seconds - run.trace[0].seconds for run in begun)
    if not seconds:
        return ""
    # Counting and selecting are on no learner's clock.
    speed = sum((run.trace[-1].passes - run.trace[0].passes) * run.trace.rows for run in begun) / seconds
    memory = used_memory()
    in_all = f" · {bytes_text(memory)} in use" if memory else ""
    return f"pass {max(run.trace[-1].passes for run in begun):.0f} · {count_text(round(speed))} rows/s{in_all}"


def cost_html(found: Sequence[RecipeEstimate]) -> str:
    """Return the cost line, or which racer is refused and why."""
    if refused := [one for one in found if one.refused]:
        first = refused[0]
        return f"<span class='bad'><b>Refused</b> ({safe(first.name, 60)}): {safe(first.refused, 400)}</span>"
    parameters = sorted({one.cost.parameters for one in found})
    words = count_text(parameters[0])
    if len(parameters) > 1:
        words = f"{words} to {count_text(parameters[-1])}"
    passes = [one.one_pass.seconds for one in found if one.one_pass.passes]
    every = ", all racers" if len(passes) > 1 else ""
    spent = f"{seconds_text(sum(passes))} per iteration{every}" if passes else "not timed"
    memory = bytes_text(race_bytes(found))
    before = sum(one.choosing.seconds for one in found)
    spent = f"choosing alpha {seconds_text(before)}, then {spent}" if before else spent
    line = f"{spent} · {words} parameters · {memory}"
    return f"<span class='quiet' title='{safe(line)}'>{line}</span>"
