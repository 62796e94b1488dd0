"""The fits behind a tab of maps: the model with its cost, run and settings, and the classifier beside it."""

from collections.abc import Callable, Hashable
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from panel.viewable import Viewable

from alrviz.data.dataset import Dataset
from alrviz.data.demos import demo_truth
from alrviz.explorer.page import Tab
from alrviz.explorer.recipes.recipe_fields import MODEL, Choosable
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.widgets.export_model import ExportModel
from alrviz.explorer.widgets.race_starter import RaceStarter
from alrviz.explorer.widgets.recipe_settings import RecipeSettings
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.race.race_store import FIT
from alrviz.studies.race.reference_fit import TRUTH, ReferenceFit, fit_reference
from alrviz.views.race.fit_player import FitPlayer

SETTINGS = "Settings: everything else about this model"
PYTHON = "Python: copy this map as a script whose numbers are the screen's"
BEST = "Bayes-optimal"  # what the truth of a demo set is called


def truth_of(session: Session, dataset: Dataset) -> Callable[[pd.DataFrame], np.ndarray] | None:
    """Return the generator's own p(class | row) where the session's table is a demo set whose truth is known.

    A map of two of more columns has no truth of its own, and neither have rows that a visitor has changed.
    """
    if session.table.source.demo is None or session.table.dataset is None:
        return None
    found = demo_truth(session.table.source.demo[0])
    whole = list(dataset.X.columns) == list(session.table.dataset.table.names[:-1]) and dataset.target == "class"
    return found if whole else None


def peer_menu(session: Session, dataset: Dataset | None) -> dict[str, str]:
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

    def ask(self, name: str, dataset: Dataset, *, holdout: float, seed: int) -> None:
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


class MapTab(Tab):
    """What the tabs of the page share: the fit of a model, the classifier beside it, the model's settings and files.

    A cheap fit starts by itself when settings change (`fit`); the tab draws `player.racer` at `player.head`.

    Args:
        session: the visitor's.
        open_drawer: shows a panel in the drawer.
        slug: of the tab, as a link has it.
        families: that can be chosen.
        first: the recipe it opens with.
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
        super().__init__(session)
        self._slug, self._families, self._open_drawer = slug, families, open_drawer
        self.player = FitPlayer(self._place_changed, session.wake, film, self._drawn if film else None)
        self.starter = RaceStarter(session, self.tasks, self.player, partial(session.runs.adopt, kind=FIT), "fit")
        self.peer = PeerFit(session, self.tasks, self._peer_changed)
        self.model_part = ExportModel(session, self.tasks)
        linked = session.tab == slug
        self.linked_model = bool(linked and session.model and session.model[0].family in families)
        self.recipe: Recipe = session.model[0] if self.linked_model else first
        self.name = session.peer if linked else ""  # slug of the peer
        self._behind = False  # whether another tab is in front

    def set_model(self) -> None:
        """Show what was chosen, also in the address, and have it fitted."""
        raise NotImplementedError

    def _place_changed(self) -> None:
        """Draw another place of the run, or another run."""
        raise NotImplementedError

    def _peer_changed(self) -> None:
        """Show the peer that has come, or that it will not."""
        raise NotImplementedError

    def _drawn(self) -> int | None:
        """Return the iteration that the pictures show; None where they show none of the run."""
        raise NotImplementedError

    # ---- the fit -----------------------------------------------------------------------------------------------------

    @property
    def outdated(self) -> bool:
        """Whether what is drawn belongs to other settings or another table."""
        return self.player.player.outdated

    @property
    def drawn_run(self) -> Any:
        """The run that is drawn; None where there is none."""
        return None if self.player.racer is None else self.player.racer.run

    def show_fitted(self) -> None:
        """Show the run that the session had before a reload, if it is of this tab."""
        race = self.session.runs.map_race
        if self.session.tab == self._slug and race is not None and race.recipes[0].family in self._families:
            self.player.show(race)

    def fit(self, dataset: Dataset, recipe: Recipe) -> None:
        """Set what Run fits; where it is not what is drawn, a cheap fit starts by itself."""
        race = self.player.player.race
        is_drawn = race is not None and race.matches((recipe,), dataset)
        self.starter.arm(not is_drawn)
        self.player.mark(race is not None and not is_drawn, expected=not is_drawn)
        self.starter.want(dataset, (recipe,))
        self.starter.start_if_cheap()

    def give_up_fit(self) -> None:
        """Stop the fit, and forget one that waits: there is nothing to fit (any more)."""
        self.starter.dataset, self.starter.autorun = None, False
        self.player.player.expected = False
        self.player.press_stop()

    # ---- settings ----------------------------------------------------------------------------------------------------

    @cached_property
    def settings(self) -> RecipeSettings:
        """The settings of the model in the drawer; built when they are first asked for."""
        return RecipeSettings(
            lambda _, recipe: self._set_recipe(recipe), lambda _: None,
            lambda changes: self._set_recipe(self.recipe.replace(**changes)),
            choosable=Choosable(self._families, MODEL),
        )  # fmt: skip

    def show_settings(self) -> None:
        """Show the settings of the model in the drawer."""
        self.settings.tell(self.starter.solvers)
        self.settings.show(0, self.recipe, self.recipe.label, alone=True)
        self._open_drawer(self.settings.panel)

    def _set_recipe(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.set_model()
        self.show_settings()
