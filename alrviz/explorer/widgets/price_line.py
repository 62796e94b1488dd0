"""What the racers will cost on this table: parameters, memory, time, and who is refused; known before a race starts."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from math import comb
from typing import TYPE_CHECKING

import panel as pn

from alrviz.data.splits import CHUNK
from alrviz.data.stream.table import Stream
from alrviz.errors import AlrvizError
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.shell.theme import PANE_CSS
from alrviz.fitting.pricing.price import known_order
from alrviz.fitting.recipe import Recipe
from alrviz.memory import used_memory
from alrviz.pictures.formatting import bytes_text, count_text, seconds_text
from alrviz.stop import StopToken
from alrviz.studies.core.cost import choosing_seconds, order_seconds
from alrviz.studies.core.names import short_names
from alrviz.views.core.panes import say
from alrviz.views.core.style import safe

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.fitting.pricing.price import Price
    from alrviz.fitting.runs.run import Run
    from alrviz.studies.race.race import Race, RecordedRun

_SMALL = 64_000_000  # bytes below which a fit that was not timed may start by itself: dlr on 300,000 rows
_TYPICAL = 300  # iterations an estimate of the whole race counts on
VISITED = 3.5e8  # weights of a row's cells that a pass of AdaGrad visits in a second (`python -m benchmarks stream`)
_ONE_LINE = ".quiet {display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; text-align: right}"
AT_ONCE_SECONDS = 6.0  # a race priced below them starts by itself: when a page opens, and whatever is chosen on it


class PriceLine:
    """The price line of a page.

    Args:
        tasks: runs the work.
        arrived: called when the price of what was asked last is known.
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
        self._for_press = False  # whether it was asked because Run was pressed, which then takes what is found
        self.found: list[tuple[str, Price]] = []
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
        """Whether the price of what was asked last is known."""
        return bool(self.found)

    @property
    def bytes(self) -> int:
        """What all racers take together, and their models."""
        return sum(price.booked for _, price in self.found)

    @property
    def seconds(self) -> float:
        """What a typical race of them takes, the choice of alphas included."""
        return sum(price.seconds_before + _TYPICAL * (price.seconds_per_pass or 0.0) for _, price in self.found)

    @property
    def cheap(self) -> bool:
        """Whether it may start by itself: known, not refused, and soon over."""
        timed = all(price.seconds_per_pass is not None for _, price in self.found)
        return self.known and not self.refused and (self.seconds < AT_ONCE_SECONDS if timed else self.bytes < _SMALL)

    @property
    def solvers(self) -> list[str]:
        """Of every racer, which solver will run and why, where that is more than its recipe says."""
        choices = [price.choice for _, price in self.found]
        return ["" if choice is None or choice.as_asked else choice.reason for choice in choices]

    def ask(self, dataset: "Dataset | Stream", recipes: tuple[Recipe, ...]) -> bool:
        """Price the racers on this table; returns whether that was not asked already.

        What was refused is priced again: memory may be free by now.
        """
        if self._asked == (dataset.hash, recipes) and not self.refused:
            return False
        self._for_press = False
        self._asked, self.found, self.refused = (dataset.hash, recipes), [], ""
        self._tell("pricing")
        self._look()
        threads = self._threads
        self._tasks.start(
            "price",
            lambda stop: priced(dataset, recipes, stop, self._tell, threads),
            self._take,
            self._fail,
            self._look,
        )
        return True

    def forget(self) -> None:
        """There is nothing to price (any more)."""
        self._tasks.cancel("price")
        self._asked, self.found, self.refused = None, [], ""
        say(self.pane, "")

    def _tell(self, doing: str) -> None:
        self._doing = doing

    def _look(self) -> None:
        """Show what the thread is at."""
        self.say(" ".join(filter(None, [f"{self._doing} …", self._then()])))

    @property
    def _threads(self) -> int:
        """Threads of a race, or of the fit of a map."""
        from alrviz.passes.threads import available_threads

        return min(available_threads(), self._tasks.session.registry.limits.threads or available_threads())

    def start(
        self, dataset: "Dataset | Stream", recipes: tuple[Recipe, ...], adopt: "Callable[..., Race]"
    ) -> "Race | None":
        """Return the race that Run starts, at this price, as `adopt` (of the session) hands it back; None without one.

        Where the price is not known yet, or was refused before the press, it is asked for, and the press is to be
        repeated when it arrives.
        """
        from alrviz.studies.race.race import race

        if not self.known or (self.refused and not self._for_press):
            self.ask(dataset, recipes)
            self._for_press = True
            return None
        self._for_press = False
        self._tasks.withdraw("price")
        try:
            if self.refused:
                raise AlrvizError(self.refused)
            # A pass over files has a price of its own, and an order that is still to be chosen has none.
            known = not isinstance(dataset, Stream) and all(one.params.get("order") != "auto" for one in recipes)
            prices = [price for _, price in self.found] if known else ()
            made = race(dataset, recipes, n_jobs=self._threads, prices=prices)
            return adopt(made, bytes=self.bytes, threads=self._threads)
        except AlrvizError as error:  # refused, or more than the server can ever hold
            self._tasks.failed("price", error)
            self._given_up()
            return None

    def say(self, words: str) -> None:
        """Show words of our own in place of the price."""
        say(self.pane, f"<span class='quiet'>{words}</span>")

    def tell_passes(self, race: "Race | None") -> None:
        """While all rows of a table larger than memory are gone over: say how fast, and what memory the process has."""
        if race is None or race.control.phase != "running" or not isinstance(getattr(race, "dataset", None), Stream):
            return
        if words := passes_text(race.runs):
            self.say(words)

    def _take(self, found: "list[tuple[str, Price]]") -> None:
        self.found = found
        self.pane.object, _ = price_html(found)
        self.refused = next((f"{name} is refused: {price.refused}" for name, price in found if price.refused), "")
        self._arrived()

    def _fail(self, error: Exception) -> None:
        self.pane.object, self._asked = "", None  # Run asks again
        self._given_up()
        self._tasks.failed("price", error)


def priced(
    dataset: "Dataset | Stream",
    recipes: tuple[Recipe, ...],
    stop: StopToken,
    tell: Callable[[str], None] = lambda doing: None,
    n_jobs: int | None = None,
) -> "list[tuple[str, Price]]":
    """Price every racer on its own encoding, and compile what the race will need; `tell` hears what is being done.

    Of a table larger than memory: parameters and tables by its sample, the seconds of a pass by its rows.
    """
    from alrviz.fitting.families.selected import most_kept
    from alrviz.fitting.parallel_compile import CompileProcess
    from alrviz.fitting.prepare import prepare
    from alrviz.fitting.pricing.price import of_likely_order, price_of
    from alrviz.fitting.runs.run import Run
    from alrviz.fitting.warm import warm_covers
    from alrviz.models.cell_space import sizes_of

    if isinstance(dataset, Stream):
        for recipe in recipes:
            Run(dataset, recipe)  # refuses what is not fitted in passes
        found, columns = [], dataset.sample.X.shape[1]
        chunks = 4 * CHUNK * (2 * columns + 12)  # that are read ahead, and gone over
        for recipe, (name, price) in zip(recipes, priced(dataset.sample, recipes, stop, tell, n_jobs), strict=True):
            counted = recipe.definition.counted(of_likely_order(recipe, columns).params, columns)
            sizes, keep = sizes_of(counted[-1], columns), recipe.params.get("keep", 1.0)
            tuples = sum(most_kept(keep if size > 1 else 1.0, comb(columns, size)) for size in sizes)
            seconds = dataset.n_rows * tuples * max(2, dataset.sample.n_classes) / VISITED
            found.append((name, replace(price, seconds_per_pass=seconds, bytes=price.bytes + chunks)))
        return found
    found, beside = [], None
    for name, recipe in zip(short_names(recipes), recipes, strict=True):
        tell("preparing: encoding")
        prepared = prepare(dataset, recipe, n_jobs, stop)
        tell("preparing: compiling")
        if recipe.definition.counts_cells:
            beside = beside or CompileProcess(prepared.encoded.n_classes, recipe.params.get("objective", "nll"))
            warm_covers(prepared.wide)
            beside.wait(stop)  # the price times a pass, which needs those kernels and the processor to itself
        tell("preparing: planning, pricing")
        own = of_likely_order(recipe, prepared.encoded.n_columns)
        price = price_of(prepared.encoded, own, prepared.holdout, stop=stop, timed=True, prepared=prepared)
        tuples = comb(prepared.encoded.n_columns, known_order(own))
        if own is recipe:
            choosing = choosing_seconds(price, own, prepared.encoded.class_rows, tuples)
            price = replace(price, seconds_before=choosing)
        else:  # a lower order will do
            price = replace(price, refused="", seconds_before=order_seconds(prepared, own, None, stop))
        found.append((name, price))
        stop.check()
        if not price.refused:
            tell("preparing: compiling")
            own.definition.warm_for(own, prepared, stop)
    return found


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


def price_html(priced: Sequence[tuple[str, "Price"]]) -> tuple[str, bool]:
    """The price line, and whether a racer is refused."""
    refused = [(name, price.refused) for name, price in priced if price.refused]
    if refused:
        name, why = refused[0]
        return f"<span class='bad'><b>Refused</b> ({safe(name, 60)}): {safe(why, 400)}</span>", True
    parameters = sorted({price.parameters for _, price in priced})
    words = count_text(parameters[0])
    if len(parameters) > 1:
        words = f"{words} to {count_text(parameters[-1])}"
    passes = [price.seconds_per_pass for _, price in priced if price.seconds_per_pass is not None]
    every = ", all racers" if len(passes) > 1 else ""
    spent = f"{seconds_text(sum(passes))} per iteration{every}" if passes else "not timed"
    memory = bytes_text(sum(price.booked for _, price in priced))
    before = sum(price.seconds_before for _, price in priced)
    spent = f"choosing alpha {seconds_text(before)}, then {spent}" if before else spent
    told = f"{spent} · {words} parameters · {memory}"
    return f"<span class='quiet' title='{safe(told)}'>{told}</span>", False
