"""What the racers will cost on this table: parameters, memory, time, and who is refused; known before a race starts."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from math import comb
from typing import TYPE_CHECKING

import panel as pn

from alrviz.data.splits import CHUNK
from alrviz.data.stream.table import Stream
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.shell.theme import PANE_CSS
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.cost.estimate import with_likely_order
from alrviz.fitting.recipe import Recipe
from alrviz.memory import used_memory
from alrviz.pictures.formatting import bytes_text, count_text, seconds_text
from alrviz.stop import StopToken
from alrviz.studies.core.cost import RecipeEstimate, estimate_fit
from alrviz.studies.core.names import short_names
from alrviz.views.core.panes import say
from alrviz.views.core.style import safe

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.fitting.runs.run import Run
    from alrviz.studies.race.race import Race, RecordedRun

_SMALL = 64_000_000  # bytes below which a fit of unknown seconds may start by itself: dlr on 300,000 rows
_TYPICAL = 300  # iterations an estimate of the whole race counts on
VISITED = 3.5e8  # weights of a row's cells that a pass of AdaGrad visits in a second (`python -m benchmarks stream`)
_ONE_LINE = ".quiet {display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; text-align: right}"
AT_ONCE_SECONDS = 6.0  # a race estimated below them starts by itself: when a page opens, and whatever is chosen on it


class CostLine:
    """The line of a page that says what its racers cost.

    Args:
        tasks: runs the work.
        arrived: called when the cost of what was asked last is known.
        given_up: called when it cannot be known.
        then: what is said to begin when it is known, for as long as somebody waits for it: "the race starts then".
    """

    def __init__(
        self,
        tasks: PageTasks,
        arrived: Callable[[], None],
        given_up: Callable[[], None],
        then: Callable[[], str] = lambda: "",
    ):
        self._tasks, self._arrived, self._given_up, self._then = tasks, arrived, given_up, then
        self._doing = ""  # what the thread is at
        self._asked: Hashable = None
        self.found: list[RecipeEstimate] = []
        self.refused = ""  # why a racer cannot be paid for
        # One line in the room that is left: where its words change by themselves, no button under them may move.
        self.pane = pn.pane.HTML(
            "",
            stylesheets=[PANE_CSS, _ONE_LINE],
            align="center",
            margin=(0, 8),
            styles={"flex": "1 1 0", "min-width": "0"},
        )

    @property
    def known(self) -> bool:
        """Whether the cost of what was asked last is known."""
        return bool(self.found)

    @property
    def bytes(self) -> int:
        """Bytes to reserve for all racers together, and their models."""
        return sum(one.estimate.reserved_bytes for one in self.found if one.estimate)

    @property
    def seconds(self) -> float:
        """What a typical race of them takes, the choice of alphas included."""
        return sum(one.choosing.seconds + _TYPICAL * one.one_pass.seconds for one in self.found)

    @property
    def cheap(self) -> bool:
        """Whether it may start by itself: known, not refused, and soon over."""
        timed = all(one.one_pass.passes for one in self.found)
        return self.known and not self.refused and (self.seconds < AT_ONCE_SECONDS if timed else self.bytes < _SMALL)

    @property
    def solvers(self) -> list[str]:
        """Of every racer, which solver will run and why, where that is more than its recipe says."""
        choices = [one.estimate.choice if one.estimate else None for one in self.found]
        return ["" if choice is None or choice.as_asked else choice.reason for choice in choices]

    def ask(self, dataset: "Dataset | Stream", recipes: tuple[Recipe, ...]) -> bool:
        """Ask what the racers cost on this table; returns whether that was not asked already.

        What was refused is estimated again: memory may be free by now.
        """
        if self._asked == (dataset.hash, recipes) and not self.refused:
            return False
        self._asked, self.found, self.refused = (dataset.hash, recipes), [], ""
        self._tell("estimating the cost")
        self._look()
        threads = self.threads
        self._tasks.start(
            "cost",
            lambda stop: prepare_racers(dataset, recipes, stop, self._tell, threads),
            self._take,
            self._fail,
            self._look,
        )
        return True

    def forget(self) -> None:
        """There is nothing to estimate (any more)."""
        self._tasks.cancel("cost")
        self._asked, self.found, self.refused = None, [], ""
        say(self.pane, "")

    def _tell(self, doing: str) -> None:
        self._doing = doing

    def _look(self) -> None:
        """Show what the thread is at."""
        self.say(" ".join(filter(None, [f"{self._doing} …", self._then()])))

    @property
    def threads(self) -> int:
        """Threads of a race, or of the fit of a map."""
        from alrviz.passes.threads import available_threads

        return min(available_threads(), self._tasks.session.registry.limits.threads or available_threads())

    def say(self, words: str) -> None:
        """Show other words in place of the cost."""
        say(self.pane, f"<span class='quiet'>{words}</span>")

    def tell_passes(self, race: "Race | None") -> None:
        """While all rows of a table larger than memory are gone over: say how fast, and what memory the process has."""
        if race is None or race.control.phase != "running" or not isinstance(getattr(race, "dataset", None), Stream):
            return
        if words := passes_text(race.runs):
            self.say(words)

    def _take(self, found: list[RecipeEstimate]) -> None:
        self.found = found
        self.pane.object = cost_html(found)
        self.refused = next((f"{one.name} is refused: {one.refused}" for one in found if one.refused), "")
        self._arrived()

    def _fail(self, error: Exception) -> None:
        self.pane.object, self._asked = "", None  # Run asks again
        self._given_up()
        self._tasks.failed("cost", error)


def prepare_racers(
    dataset: "Dataset | Stream",
    recipes: tuple[Recipe, ...],
    stop: StopToken,
    tell: Callable[[str], None] = lambda doing: None,
    n_jobs: int | None = None,
) -> list[RecipeEstimate]:
    """Encode the rows of every racer, compile what the race will call, and estimate its cost.

    `tell` hears what is being done.
    """
    from alrviz.fitting.parallel_compile import CompileProcess
    from alrviz.fitting.prepare import prepare
    from alrviz.fitting.runs.run import Run
    from alrviz.fitting.warm import warm_covers

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
    from alrviz.fitting.families.selected import most_kept
    from alrviz.models.cell_space import sizes_of

    recipe, columns = of_sample.recipe, stream.sample.X.shape[1]
    counted = recipe.definition.counted(with_likely_order(recipe, columns).params, columns)
    sizes, keep = sizes_of(counted[-1], columns), recipe.params.get("keep", 1.0)
    tuples = sum(most_kept(keep if size > 1 else 1.0, comb(columns, size)) for size in sizes)
    seconds = stream.n_rows * tuples * max(2, stream.sample.n_classes) / VISITED
    chunks = Cost(bytes=4 * CHUNK * (2 * columns + 12))  # that are read ahead, and gone over
    known = of_sample.estimate
    assert known is not None
    return replace(
        of_sample, estimate=replace(known, cost=known.cost.alongside(chunks)),
        one_pass=replace(of_sample.one_pass, seconds=seconds, passes=1),
    )  # fmt: skip


def passes_text(runs: "Sequence[Run | RecordedRun]") -> str:
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
    memory = bytes_text(sum(one.estimate.reserved_bytes for one in found if one.estimate))
    before = sum(one.choosing.seconds for one in found)
    spent = f"choosing alpha {seconds_text(before)}, then {spent}" if before else spent
    line = f"{spent} · {words} parameters · {memory}"
    return f"<span class='quiet' title='{safe(line)}'>{line}</span>"
