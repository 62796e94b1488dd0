"""What begins the race of a page: a press of Run, or, where it is cheap, the change of a setting.

Either waits until the cost is estimated. Pages say what is to be raced (`want`) and show `pricing.pane`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.widgets.cost_line import CostLine
from alrviz.fitting.recipe import Recipe
from alrviz.views.race.fit_player import PlayerButtons

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.data.stream.table import Stream
    from alrviz.studies.race.race import Race


class RaceStarter:
    """The race that Run starts next.

    Args:
        session: nothing begins by itself while a lesson's question is open.
        tasks: runs the estimate.
        buttons: what Run is one of; its `again` is `new_race`.
        adopt: hands the race to the registry (of `SessionRuns`).
        noun: what it is called: "race" or "fit".
        estimated: called when another cost is known.

    Attributes:
        pricing: the line of costs.
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
        self._session, self._buttons, self._adopt, self._on_estimate = session, buttons, adopt, estimated
        self.pricing = CostLine(
            tasks, self._estimated, buttons.give_up, lambda: f"the {noun} starts then" if buttons.player.waits else ""
        )
        self.autorun = False
        self.dataset: Dataset | Stream | None = None
        self.recipes: tuple[Recipe, ...] = ()

    def want(self, dataset: "Dataset | Stream | None", recipes: tuple[Recipe, ...]) -> None:
        """Say what Run is to start, and estimate its cost; forget a press that waits for another cost."""
        self.dataset, self.recipes = dataset, recipes
        player = self._buttons.player
        if dataset is not None and self.pricing.ask(dataset, recipes) and not player.for_table:
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
        if not self.autorun or not self.pricing.known or player.halted or self._session.runs.asking:
            return
        self.autorun = player.expected = False
        if self.pricing.cheap:
            player.outdated = True  # whatever is shown is not this race
            self._buttons.begin()
        else:
            self._buttons.say_status()

    def new_race(self) -> "Race | None":
        """Return the race that Run starts; None where there is none, or none yet: then the press is repeated."""
        self._buttons.player.for_table = self.dataset is None
        return None if self.dataset is None else self.pricing.start(self.dataset, self.recipes, self._adopt)
