"""One fit of a page: its price, its run, and the row of buttons; a cheap one starts by itself when settings change.

The page says what is to be fitted (`want`) and draws what is there (`player.racer` at `player.head`).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.widgets.cost_line import CostLine
from alrviz.fitting.recipe import Recipe
from alrviz.views.race.fit_player import FitPlayer

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset
    from alrviz.explorer.session.managed_jobs import ManagedRace


class FitCard:
    """The fit of a map.

    Args:
        session: its runs are the registry's, under this owner.
        tasks: runs the pricing.
        draw: called when another place of the run, or another run, is to be drawn.
        film, drawn: as for `FitPlayer`.
    """

    def __init__(
        self,
        session: Session,
        tasks: PageTasks,
        draw: Callable[[], None],
        film: bool = False,
        drawn: Callable[[], int | None] | None = None,
    ):
        self.session = session
        self.player = FitPlayer(self._new, draw, session.wake, film, drawn)
        self.pricing = CostLine(
            tasks, self._priced, self.player.give_up, lambda: "the fit starts then" if self.player.player.waits else ""
        )
        self.dataset: Dataset | None = None
        self.recipe: Recipe | None = None
        self._autorun = False

    @property
    def outdated(self) -> bool:
        """Whether what is drawn belongs to other settings or another table."""
        return self.player.player.outdated

    @property
    def shown(self) -> Any:
        """The run that is drawn; None where there is none."""
        racer = self.player.racer
        return None if racer is None else racer.run

    def want(self, dataset: "Dataset", recipe: Recipe, *, start: bool = True) -> None:
        """Say what Run is to fit; where it is not what is drawn, a cheap fit starts by itself (`start`)."""
        self.dataset, self.recipe = dataset, recipe
        race = self.player.player.race
        fits = race is not None and tuple(race.recipes) == (recipe,) and race.dataset.hash == dataset.hash
        self._autorun = start and not fits
        self.player.mark(race is not None and not fits, expected=self._autorun)
        if self.pricing.ask(dataset, (recipe,)):
            if not self.player.player.for_table:
                self.player.player.give_up()
        elif self.pricing.known:
            self._start_if_cheap()

    def forget(self) -> None:
        """There is nothing to fit (any more): what runs is stopped, what waits is given up."""
        self.dataset, self._autorun = None, False
        self.player.player.expected = False
        self.player.press_stop()

    def _priced(self) -> None:
        if self.player.player.waits:
            self._autorun = False
            self.player.press_again()
        else:
            self._start_if_cheap()

    def _start_if_cheap(self) -> None:
        if self._autorun and self.pricing.known and not self.session.asking:
            self._autorun = False
            if self.pricing.cheap:
                self.player.player.outdated = True  # whatever is drawn is not this run
                self.player.begin()
            else:
                self.player.mark(self.outdated)

    def _new(self) -> "ManagedRace | None":
        """The run that Run starts; None where there is none. Where it is not priced yet, the press is repeated then."""
        dataset, recipe = self.dataset, self.recipe
        self.player.player.for_table = dataset is None
        if dataset is None or recipe is None:
            return None
        return self.pricing.start(dataset, (recipe,), self.session.adopt_fit)
