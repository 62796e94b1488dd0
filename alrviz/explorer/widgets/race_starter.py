"""What begins the race of a page: a press of Run, or, where it is cheap, the change of a setting.

Either waits until the cost is estimated. Pages say what is to be raced (`want`) and show `cost_line.pane`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from alrviz.data.stream.table import Stream
from alrviz.errors import AlrvizError
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.widgets.cost_line import CostLine
from alrviz.fitting.recipe import Recipe
from alrviz.views.race.fit_player import PlayerButtons

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.studies.race.race import Race


class RaceStarter:
    """The race that Run starts next.

    Args:
        session: nothing begins by itself while a lesson's question is open.
        tasks: runs the estimate.
        buttons: what Run is one of; its player starts `new_race`.
        adopt: hands the race to the registry (of `SessionRuns`).
        noun: what it is called: "race" or "fit".
        estimated: called when another cost is known.

    Attributes:
        cost_line: the line of costs.
        autorun: whether the race begins by itself as soon as its cost is known to be low.
        dataset, recipes: what is raced; no table as long as there is none.
    """

    def __init__(
        self,
        session: Session,
        tasks: PageTasks,
        buttons: PlayerButtons,
        adopt: "Callable[..., Race]",
        noun: str,
        estimated: Callable[[], None] = lambda: None,
    ):
        self._session, self._tasks, self._buttons = session, tasks, buttons
        self._adopt, self._on_estimate = adopt, estimated
        buttons.player.again = self.new_race
        self._for_press = False  # whether the cost was asked for because Run was pressed, which then takes a refusal
        self.cost_line = CostLine(
            tasks, self._estimated, buttons.give_up, lambda: f"the {noun} starts then" if buttons.player.waits else ""
        )
        self.autorun = False
        self.dataset: Dataset | Stream | None = None
        self.recipes: tuple[Recipe, ...] = ()

    def want(self, dataset: "Dataset | Stream | None", recipes: tuple[Recipe, ...]) -> None:
        """Say what Run is to start, and estimate its cost; forget a press that waits for another cost."""
        self.dataset, self.recipes = dataset, recipes
        player = self._buttons.player
        if dataset is not None and self.cost_line.ask(dataset, recipes):
            self._for_press = False
            if not player.for_table:
                player.give_up()
                player.expected = player.expected and self.autorun
                self._buttons.say_status()

    def _estimated(self) -> None:
        self._on_estimate()
        if self._buttons.player.waits:
            self.autorun = False
            self._buttons.press_again()
        else:
            self.start_if_cheap()

    def start_if_cheap(self) -> None:
        """Begin what was to begin by itself, once its cost is known to be low."""
        player = self._buttons.player
        if not self.autorun or not self.cost_line.known or player.halted or self._session.runs.asking:
            return
        self.autorun = player.expected = False
        if self.cost_line.cheap:
            player.outdated = True  # whatever is shown is not this race
            self._buttons.begin()
        else:
            self._buttons.say_status()

    def new_race(self) -> "Race | None":
        """Return the race that Run starts, at the cost estimated; None without one.

        Where the cost is not known yet, or was refused before the press, it is asked for, and the press is repeated
        when it arrives.
        """
        from alrviz.studies.race.race import race

        dataset, recipes, cost_line = self.dataset, self.recipes, self.cost_line
        self._buttons.player.for_table = dataset is None
        if dataset is None:
            return None
        told = self._for_press and cost_line.refused
        if not told and (cost_line.ask(dataset, recipes) or not cost_line.known):
            self._for_press = True
            return None
        self._for_press = False
        self._tasks.withdraw("cost")
        try:
            if cost_line.refused:
                raise AlrvizError(cost_line.refused)
            # A pass over files has an estimate of its own, and an order that is still to be chosen has none.
            known = not isinstance(dataset, Stream) and all(one.params.get("order") != "auto" for one in recipes)
            estimates = [one.estimate for one in cost_line.found if one.estimate] if known else ()
            made = race(dataset, recipes, n_jobs=cost_line.threads, estimates=estimates)
            return self._adopt(made, bytes=cost_line.bytes, threads=cost_line.threads)
        except AlrvizError as error:  # refused, or more than the server can ever hold
            self._tasks.failed("cost", error)
            self._buttons.give_up()
            return None
