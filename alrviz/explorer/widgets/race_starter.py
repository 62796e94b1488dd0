"""What begins the race of a page: a press of Run, or, where it is cheap, the change of a setting.

Either waits until the cost is estimated. Pages say what is to be raced (`want`) and show `pane`, the line of its cost.
"""

from collections.abc import Callable, Hashable

import panel as pn

from alrviz.data.dataset import Dataset
from alrviz.data.stream.table import Stream
from alrviz.errors import AlrvizError
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.theme import PANE_CSS
from alrviz.explorer.widgets.race_cost import cost_html, is_cheap, passes_text, prepare_racers, race_bytes
from alrviz.fitting.recipe import Recipe
from alrviz.passes.threads import available_threads
from alrviz.studies.core.cost import RecipeEstimate
from alrviz.studies.race.race import Race, race
from alrviz.views.core.panes import say
from alrviz.views.race.fit_player import PlayerButtons

# The pane has one line in the room that is left: where its words change by themselves, no button under them may move.
_ONE_LINE = ".quiet {display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; text-align: right}"


class RaceStarter:
    """The race that Run starts next.

    Args:
        session: nothing begins by itself while a lesson's question is open.
        tasks: runs the estimate.
        buttons: what Run is one of; its player starts `new_race`.
        adopt: hands the race to the registry (of `SessionRuns`).
        noun: what it is called: "race" or "fit".
        on_estimate: called when another cost is known.

    Attributes:
        pane: the line that says what it costs.
        autorun: whether the race begins by itself as soon as its cost is known to be low.
        dataset, recipes: what is raced; no table as long as there is none.
        estimates: of the racers; empty until they are known.
        refused: why a racer cannot be paid for; "" where all can.
    """

    def __init__(
        self,
        session: Session,
        tasks: PageTasks,
        buttons: PlayerButtons,
        adopt: Callable[..., Race],
        noun: str,
        on_estimate: Callable[[], None] = lambda: None,
    ):
        self._session, self._tasks, self._buttons = session, tasks, buttons
        self._adopt, self._noun, self._on_estimate = adopt, noun, on_estimate
        buttons.player.again = self.new_race
        self._for_press = False  # whether the cost was asked for because Run was pressed, which then takes a refusal
        self._activity = ""  # what the thread is doing
        self._estimated: Hashable = None  # what `estimates` are or will be of
        self.estimates: list[RecipeEstimate] = []
        self.refused = ""
        room = {"flex": "1 1 0", "min-width": "0"}
        self.pane = pn.pane.HTML("", stylesheets=[PANE_CSS, _ONE_LINE], align="center", margin=(0, 8), styles=room)
        self.autorun = False
        self.dataset: Dataset | Stream | None = None
        self.recipes: tuple[Recipe, ...] = ()

    # ---- what is wanted --------------------------------------------------------------------------------------------

    def arm(self, autorun: bool) -> None:
        """Let the race that is wanted begin by itself if it is cheap, or not; that Stop was pressed counts no more."""
        self.autorun, self._buttons.player.halted = autorun, False

    def want(self, dataset: Dataset | Stream | None, recipes: tuple[Recipe, ...]) -> None:
        """Say what Run is to start, and estimate its cost; forget a press that waits for another cost."""
        self.dataset, self.recipes = dataset, recipes
        player = self._buttons.player
        if dataset is not None and self._estimate(dataset):
            self._for_press = False
            if not player.for_table:
                player.give_up()
                player.expected = player.expected and self.autorun
                self._buttons.say_status()

    def forget(self) -> None:
        """Estimate nothing (any more)."""
        self._tasks.cancel("cost")
        self._estimated, self.estimates, self.refused = None, [], ""
        say(self.pane, "")

    # ---- its cost --------------------------------------------------------------------------------------------------

    @property
    def known(self) -> bool:
        """Whether the cost of what is wanted is known."""
        return bool(self.estimates)

    @property
    def solvers(self) -> list[str]:
        """Of every racer, which solver will run and why, where that is more than its recipe says."""
        choices = [one.estimate.choice if one.estimate else None for one in self.estimates]
        return ["" if choice is None or choice.as_asked else choice.reason for choice in choices]

    @property
    def threads(self) -> int:
        """Threads of a race, or of the fit of a map."""
        return min(available_threads(), self._session.registry.limits.threads or available_threads())

    def _estimate(self, dataset: Dataset | Stream) -> bool:
        """Estimate what the racers cost on this table; return whether that was not asked already.

        What was refused is estimated again: memory may be free by now.
        """
        recipes, threads, wanted = self.recipes, self.threads, (dataset.hash, self.recipes)
        if self._estimated == wanted and not self.refused:
            return False
        self._estimated, self.estimates, self.refused = wanted, [], ""
        self._tell("estimating the cost")
        self._look()
        self._tasks.start(
            "cost", lambda stop: prepare_racers(dataset, recipes, stop, self._tell, threads), self._take, self._fail,
            self._look,
        )  # fmt: skip
        return True

    def _tell(self, activity: str) -> None:
        self._activity = activity

    def _look(self) -> None:
        """Show what the thread is doing, and what a press of Run waits for."""
        then = f" the {self._noun} starts then" if self._buttons.player.waits else ""
        self.say(f"{self._activity} …{then}")

    def _take(self, estimates: list[RecipeEstimate]) -> None:
        self.estimates = estimates
        self.pane.object = cost_html(estimates)
        self.refused = next((f"{one.name} is refused: {one.refused}" for one in estimates if one.refused), "")
        self._on_estimate()
        if self._buttons.player.waits:
            self.autorun = False
            self._buttons.press_again()
        else:
            self.start_if_cheap()

    def _fail(self, error: Exception) -> None:
        self.pane.object, self._estimated = "", None  # Run asks again
        self._buttons.give_up()
        self._tasks.failed("cost", error)

    def say(self, words: str) -> None:
        """Show other words in place of the cost."""
        say(self.pane, f"<span class='quiet'>{words}</span>")

    def tell_passes(self, race: Race | None) -> None:
        """While all rows of a table larger than memory are gone over: say how fast, and what memory the process has."""
        if race is None or race.control.phase != "running" or not isinstance(getattr(race, "dataset", None), Stream):
            return
        if words := passes_text(race.runs):
            self.say(words)

    # ---- its beginning ---------------------------------------------------------------------------------------------

    def start_if_cheap(self) -> None:
        """Begin what was to begin by itself, once its cost is known to be low."""
        player = self._buttons.player
        if not self.autorun or not self.known or player.halted or self._session.runs.asking:
            return
        self.autorun = player.expected = False
        if not self.refused and is_cheap(self.estimates):
            player.outdated = True  # whatever is shown is not this race
            self._buttons.begin()
        else:
            self._buttons.say_status()

    def new_race(self) -> Race | None:
        """Return the race that Run starts, at the cost estimated; None without one.

        Where the cost is not known yet, or was refused before the press, it is asked for, and the press is repeated
        when it arrives.
        """
        dataset, recipes = self.dataset, self.recipes
        self._buttons.player.for_table = dataset is None
        if dataset is None:
            return None
        was_told = self._for_press and self.refused
        if not was_told and (self._estimate(dataset) or not self.known):
            self._for_press = True
            return None
        self._for_press = False
        self._tasks.withdraw("cost")
        try:
            if self.refused:
                raise AlrvizError(self.refused)
            # A pass over files has an estimate of its own, and an order that is still to be chosen has none.
            known = not isinstance(dataset, Stream) and all(one.params.get("order") != "auto" for one in recipes)
            estimates = [one.estimate for one in self.estimates if one.estimate] if known else ()
            made = race(dataset, recipes, n_jobs=self.threads, estimates=estimates)
            return self._adopt(made, bytes=race_bytes(self.estimates), threads=self.threads)
        except AlrvizError as error:  # refused, or more than the server can ever hold
            self._tasks.failed("cost", error)
            self._buttons.give_up()
            return None
