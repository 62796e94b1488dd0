"""What a tab of maps fits: the model with its cost, run and settings, and the classifier beside it."""

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from panel.viewable import Viewable

from alrviz.explorer.page import Tab
from alrviz.explorer.recipes.recipe_fields import MODEL, Choosable
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.widgets.export_model import ExportModel
from alrviz.explorer.widgets.race_starter import RaceStarter
from alrviz.explorer.widgets.recipe_settings import RecipeSettings
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.race.reference_fit import TRUTH, ReferenceFit, fit_reference
from alrviz.views.race.fit_player import FitPlayer

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

SETTINGS = "Settings: everything else about this model"
PYTHON = "Python: copy this map as a script whose numbers are the screen's"
BEST = "Bayes-optimal"  # what the truth of a demo set is called


def truth_of(session: Session, dataset: "Dataset") -> Callable[[pd.DataFrame], np.ndarray] | None:
    """Return the generator's own p(class | row) where the session's table is a demo set whose truth is known.

    A map of two of more columns has no truth of its own, and neither have rows that a visitor has changed.
    """
    from alrviz.data.demos import demo_truth

    if session.table.source.demo is None or session.table.dataset is None:
        return None
    found = demo_truth(session.table.source.demo[0])
    whole = list(dataset.X.columns) == list(session.table.dataset.table.names[:-1]) and dataset.target == "class"
    return found if whole else None


def peer_menu(session: Session, dataset: "Dataset | None") -> dict[str, str]:
    """Return the menu's entries: label and slug of every peer, and the best classifier there is where it is known."""
    from alrviz.estimators.peers import known_peers

    menu = {peer.label: name for name, peer in known_peers().items()}
    if dataset is not None and truth_of(session, dataset) is not None:
        menu[BEST] = TRUTH
    return menu


class PeerFit:
    """The classifier beside a map: asked for, fitted on a thread, kept while neither it nor the table changes.

    Args:
        session: of the page. tasks: runs the fit.
        arrived: called when another is there, or will not be.
    """

    def __init__(self, session: Session, tasks: PageTasks, arrived: Callable[[], None]):
        self._session, self._tasks, self._arrived = session, tasks, arrived
        self._asked: Hashable = None
        self.found: ReferenceFit | None = None
        self.best = float("nan")  # share of test rows that the truth gets wrong, where it is known
        self.waiting = False
        self.problem: Exception | None = None

    def ask(self, name: str, dataset: "Dataset", *, holdout: float, seed: int) -> None:
        """Have the peer `name` fitted on this table, if that is not what is there."""
        asked = (name, dataset.hash, holdout, seed)
        if asked == self._asked:
            return
        self._asked, self.waiting, self.problem = asked, True, None
        truth = truth_of(self._session, dataset)

        def work(stop: StopToken) -> tuple[ReferenceFit, float]:
            rows: dict[str, Any] = {"holdout": holdout, "seed": seed, "truth": truth, "stop": stop}
            found = fit_reference(name, dataset, **rows)
            return found, fit_reference(TRUTH, dataset, **rows).error if truth is not None else float("nan")

        self._tasks.start("peer", work, self._take, self._fail)

    def forget(self) -> None:
        """Give up what was asked."""
        self._tasks.cancel("peer")
        self._asked = self.found = None
        self.waiting = False

    def _take(self, found: tuple[ReferenceFit, float]) -> None:
        (self.found, self.best), self.waiting = found, False
        self._arrived()

    def _fail(self, error: Exception) -> None:
        self.found, self.waiting, self.problem = None, False, error
        self._asked = None
        self._arrived()


class FitCard:
    """The fit of a map: its cost, its run, and the row of buttons; a cheap one starts by itself when settings change.

    The tab says what is to be fitted (`want`) and draws what is there (`player.racer` at `player.head`).

    Args:
        session: its runs are the registry's, under this owner.
        tasks: runs the estimate.
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
        self.player = FitPlayer(draw, session.wake, film, drawn)
        self.starter = RaceStarter(session, tasks, self.player, session.runs.adopt_fit, "fit")
        self.cost_line = self.starter.cost_line

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
        race = self.player.player.race
        fits = race is not None and tuple(race.recipes) == (recipe,) and race.dataset.hash == dataset.hash
        self.starter.autorun, self.player.player.halted = start and not fits, False
        self.player.mark(race is not None and not fits, expected=self.starter.autorun)
        self.starter.want(dataset, (recipe,))
        self.starter.start_if_cheap()

    def forget(self) -> None:
        """There is nothing to fit (any more): what runs is stopped, what waits is given up."""
        self.starter.dataset, self.starter.autorun = None, False
        self.player.player.expected = False
        self.player.press_stop()


class ModelDrawer:
    """The settings of a tab's model in the drawer, built when they are first asked for.

    Args:
        recipe: returns the tab's recipe. changed: called with the one that replaces it.
        solvers: returns what "auto" stands for, as `RecipeSettings.tell` takes it.
        families: that can be chosen.
        open_drawer: shows a panel in the drawer.
    """

    def __init__(
        self,
        recipe: Callable[[], Recipe],
        changed: Callable[[Recipe], None],
        solvers: Callable[[], Sequence[str]],
        families: tuple[str, ...],
        open_drawer: Callable[[Viewable], None],
    ):
        self._recipe, self._solvers, self._families = recipe, solvers, families
        self._changed, self._open = changed, open_drawer

    @cached_property
    def settings(self) -> RecipeSettings:
        """The fields."""
        return RecipeSettings(
            lambda _, recipe: self._take(recipe), lambda _: None,
            lambda changes: self._take(self._recipe().replace(**changes)), choosable=Choosable(self._families, MODEL),
        )  # fmt: skip

    def show(self) -> None:
        """Show the settings of the recipe that is there, and open the drawer."""
        recipe = self._recipe()
        self.settings.tell(self._solvers())
        self.settings.show(0, recipe, recipe.label, alone=True)
        self._open(self.settings.panel)

    def _take(self, recipe: Recipe) -> None:
        self._changed(recipe)
        self.show()


class MapTab(Tab):
    """What the tabs of the page share: a model, the classifier beside it, and the model's settings and files.

    Args:
        session: the visitor's.
        open_drawer: shows a panel in the drawer.
        slug: of the tab, as a link has it. families: that can be chosen. first: the recipe it opens with.
        film: whether the fit can be played.
    """

    def __init__(
        self,
        session: Session,
        open_drawer: Callable[[Viewable], None],
        slug: str,
        families: tuple[str, ...],
        first: Recipe,
        film: bool = False,
    ):
        self.session, self._slug, self._families = session, slug, families
        self.tasks = PageTasks(session)
        drawn = self._drawn if film else None
        self.part = FitCard(session, self.tasks, self._place_changed, film=film, drawn=drawn)
        self.peer = PeerFit(session, self.tasks, self._peer_changed)
        self.model_part = ExportModel(session, self.tasks)
        linked = session.tab == slug
        self.linked_model = bool(linked and session.model and session.model[0].family in families)
        self.recipe: Recipe = session.model[0] if self.linked_model else first
        self.name = session.peer if linked else ""  # slug of the peer
        self._behind = False  # whether another tab is in front
        self.drawer = ModelDrawer(
            lambda: self.recipe, self._recipe_changed, lambda: self.part.cost_line.solvers, families, open_drawer
        )

    def show_fitted(self) -> None:
        """Show the run that the session had before a reload, if it is of this tab."""
        race = self.session.runs.fitted
        if self.session.tab == self._slug and race is not None and race.recipes[0].family in self._families:
            self.part.player.show(race)

    def set_model(self) -> None:
        """Show what was chosen, also in the address, and have it fitted."""
        raise NotImplementedError

    def _recipe_changed(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.set_model()

    def _place_changed(self) -> None:
        """Another place of the run, or another run, is to be drawn."""
        raise NotImplementedError

    def _peer_changed(self) -> None:
        """The peer has come, or will not."""
        raise NotImplementedError

    def _drawn(self) -> int | None:
        """Return the iteration that the pictures show; None where they show none of the run."""
        raise NotImplementedError
