"""Start the race of a page: when Run is pressed or, if the race is cheap, when a setting changes.

Either way the cost is estimated first. Pages set the table and the recipes (`set_race`) and show `pane`, the cost line.
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

# The cost line never wraps: a second line would move the buttons below while its text changes.
_ONE_LINE = ".quiet {display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; text-align: right}"


class RaceStarter:
    """The race that Run starts next.

    Args:
        session: no race starts by itself while a lesson's question is open.
        tasks: runs the estimate.
        buttons: with Run among them; their player starts `new_race`.
        adopt: hands the race to the registry (`SessionRuns.adopt`).
        noun: "race" or "fit", for the cost line.
        on_estimate: called when a new estimate has arrived.

    Attributes:
        pane: the cost line.
        autorun: whether the race starts by itself if the estimate shows that it is cheap.
        dataset, recipes: the table, None until there is one, and the racers.
        estimates: one for each racer; empty until they have arrived.
        refusal: why a racer exceeds the limits; "" if none does.
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
        buttons.player.rerun = self.new_race
        self._run_pressed = False  # whether a press of Run asked for the estimate; it then also accepts a refusal
        self._activity = ""  # of the estimating thread, for the cost line
        self._estimated: Hashable = None  # table and recipes of the latest estimate
        self.estimates: list[RecipeEstimate] = []
        self.refusal = ""
        room_styles = {"flex": "1 1 0", "min-width": "0"}
        self.pane = pn.pane.HTML(
            "", stylesheets=[PANE_CSS, _ONE_LINE], align="center", margin=(0, 8), styles=room_styles
        )
        self.autorun = False
        self.dataset: Dataset | Stream | None = None
        self.recipes: tuple[Recipe, ...] = ()

    # ---- table and recipes -----------------------------------------------------------------------------------------

    def set_autorun(self, autorun: bool) -> None:
        """Set whether the next race may start by itself, and forget an earlier press of Stop."""
        self.autorun, self._buttons.player.is_stopped = autorun, False

    def set_race(self, dataset: Dataset | Stream | None, recipes: tuple[Recipe, ...]) -> None:
        """Set the race that Run starts and estimate its cost; drop a press of Run that waits for an older estimate."""
        self.dataset, self.recipes = dataset, recipes
        player = self._buttons.player
        if dataset is not None and self._estimate(dataset):
            self._run_pressed = False
            if not player.for_table:
                player.cancel_press()
                player.starts_itself = player.starts_itself and self.autorun
                self._buttons.say_status()

    def forget(self) -> None:
        """Cancel the estimate and clear the cost line."""
        self._tasks.cancel("cost")
        self._estimated, self.estimates, self.refusal = None, [], ""
        say(self.pane, "")

    # ---- cost ------------------------------------------------------------------------------------------------------

    @property
    def has_estimates(self) -> bool:
        """Whether the estimates of the current recipes have arrived."""
        return bool(self.estimates)

    @property
    def solvers(self) -> list[str]:
        """For each racer which solver will run and why; "" if it is the one that its recipe names."""
        choices = [racer.estimate.choice if racer.estimate else None for racer in self.estimates]
        return ["" if choice is None or choice.as_requested else choice.reason for choice in choices]

    @property
    def threads(self) -> int:
        """Number of threads of a race, or of the fit of a map."""
        return min(available_threads(), self._session.registry.limits.threads or available_threads())

    def _estimate(self, dataset: Dataset | Stream) -> bool:
        """Estimate the racers' cost on this table; return False if that estimate is there or under way.

        A refused race is estimated again, because memory may have become free.
        """
        recipes, threads, request = self.recipes, self.threads, (dataset.hash, self.recipes)
        if self._estimated == request and not self.refusal:
            return False
        self._estimated, self.estimates, self.refusal = request, [], ""
        self._note_activity("estimating the cost")
        self._show_activity()
        self._tasks.start(
            "cost", lambda stop: prepare_racers(dataset, recipes, stop, self._note_activity, threads),
            self._take_estimates, self._fail, self._show_activity,
        )  # fmt: skip
        return True

    def _note_activity(self, activity: str) -> None:
        self._activity = activity

    def _show_activity(self) -> None:
        """Show the progress of the estimate, and whether a press of Run waits for it."""
        suffix = f" the {self._noun} starts then" if self._buttons.player.is_waiting else ""
        self.show_text(f"{self._activity} …{suffix}")

    def _take_estimates(self, estimates: list[RecipeEstimate]) -> None:
        """Show the cost of each racer; then start the race if Run was pressed or the race is cheap."""
        self.estimates = estimates
        self.pane.object = cost_html(estimates)
        self.refusal = next((f"{racer.name} is refused: {racer.refusal}" for racer in estimates if racer.refusal), "")
        self._on_estimate()
        if self._buttons.player.is_waiting:
            self.autorun = False
            self._buttons.repeat_press()
        else:
            self.start_if_cheap()

    def _fail(self, error: Exception) -> None:
        self.pane.object, self._estimated = "", None  # Run asks again
        self._buttons.player.starts_itself = False
        self._buttons.cancel_press()
        self._tasks.show_error("cost", error)

    def show_text(self, text: str) -> None:
        """Show a text in place of the cost."""
        say(self.pane, f"<span class='quiet'>{text}</span>")

    def show_passes(self, race: Race | None) -> None:
        """Show speed and memory of a running race that reads a table larger than memory in passes."""
        if race is None or race.control.phase != "running" or not isinstance(getattr(race, "dataset", None), Stream):
            return
        if text := passes_text(race.runs):
            self.show_text(text)

    # ---- start -----------------------------------------------------------------------------------------------------

    def start_if_cheap(self) -> None:
        """Start the race if it may start by itself and its estimate is low."""
        player = self._buttons.player
        if not self.autorun or not self.has_estimates or player.is_stopped or self._session.runs.asking:
            return
        self.autorun = player.starts_itself = False
        if not self.refusal and is_cheap(self.estimates):
            player.outdated = True  # the race on the screen is another one
            self._buttons.begin()
        else:
            self._buttons.say_status()

    def new_race(self) -> Race | None:
        """Return the race that Run starts, with its estimates; None if there is none yet.

        Without an estimate, or if it was refused before the press, the cost is estimated first; the press is repeated
        when the estimate arrives.
        """
        dataset, recipes = self.dataset, self.recipes
        self._buttons.player.for_table = dataset is None
        if dataset is None:
            return None
        was_refused = self._run_pressed and self.refusal
        if not was_refused and (self._estimate(dataset) or not self.has_estimates):
            self._run_pressed = True
            return None
        self._run_pressed = False
        self._tasks.hide_error("cost")
        try:
            if self.refusal:
                raise AlrvizError(self.refusal)
            # Runs over files make their own estimate, and order="auto" has none before its order is chosen.
            uses_estimates = not isinstance(dataset, Stream) and all(
                recipe.params.get("order") != "auto" for recipe in recipes
            )
            estimates = [recipe.estimate for recipe in self.estimates if recipe.estimate] if uses_estimates else ()
            new_race = race(dataset, recipes, n_jobs=self.threads, estimates=estimates)
            return self._adopt(new_race, bytes=race_bytes(self.estimates), threads=self.threads)
        except AlrvizError as error:  # refused, or more than the server can ever hold
            self._tasks.show_error("cost", error)
            self._buttons.cancel_press()
            return None
