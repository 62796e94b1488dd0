"""The fits of a tab of maps: the model with its cost, run and settings, and the classifier it is compared with."""

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
from panel.viewable import Viewable

from alrviz.data.dataset import Dataset
from alrviz.data.demos import demo_truth
from alrviz.errors import AlrvizError
from alrviz.explorer.page import Tab
from alrviz.explorer.recipes.recipe_fields import Choosable
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.dialogs import TextDialog, text_button
from alrviz.explorer.widgets.export_model import ExportModel
from alrviz.explorer.widgets.race_starter import RaceStarter
from alrviz.explorer.widgets.recipe_settings import RecipeSettings
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.maps.axes import first_axes
from alrviz.studies.race.race_store import FIT
from alrviz.studies.race.reference_fit import TRUTH, ReferenceFit, fit_reference
from alrviz.views.race.fit_player import FitPlayer

SETTINGS = "Settings: everything else about this model"
PYTHON = "Python: copy a script that computes this map"
BEST = "true densities"  # the classifier that knows the true probabilities of a demo set


def truth_of(session: Session, dataset: Dataset) -> Callable[[pd.DataFrame], np.ndarray] | None:
    """Return the true p(class | row) if the data set is an unchanged demo set whose generator is known.

    It is not known for some of the columns, nor for tables that the visitor has changed.
    """
    if session.table.source.demo is None or session.table.dataset is None:
        return None
    truth = demo_truth(session.table.source.demo[0])
    has_all_columns = (
        list(dataset.X.columns) == list(session.table.dataset.table.names[:-1]) and dataset.target == "class"
    )
    return truth if has_all_columns else None


def peer_menu(session: Session, dataset: Dataset | None) -> dict[str, str]:
    """Return the menu's entries: slugs of all peers by label, and the Bayes-optimal classifier if it is known."""
    from alrviz.estimators.peers import known_peers

    names_by_label = {peer.label: name for name, peer in known_peers().items()}
    if dataset is not None and truth_of(session, dataset) is not None:
        names_by_label[BEST] = TRUTH
    return names_by_label


def map_axes(dataset: Dataset, across: Hashable = None, up: Hashable = None) -> tuple[Hashable, Hashable]:
    """Return the axes that a map will have, given one, both or none; (None, None) for a table without two columns."""
    try:
        return first_axes(dataset.X, across, up, dataset.y)
    except AlrvizError:
        return None, None


def first_row(controls: Sequence[Viewable], *trailing: Viewable) -> Viewable:
    """Return a tab's part of the page's first row: its controls, and others at the right end."""
    row_end = pn.Row(*trailing, margin=0, styles={"margin-left": "auto"})
    return pn.FlexBox(
        *controls, row_end, align_items="center", gap="4px 0", sizing_mode="stretch_width", margin=0,
        styles={"flex": "1 1 0", "min-width": "680px"}, css_classes=["alrviz-line"],
    )  # fmt: skip


class PeerFit:
    """The classifier that a map is compared with; fitted on a thread, and kept until it or the table changes.

    Args:
        session: of the page.
        tasks: runs the fit.
        on_arrival: called when the fit has finished or failed.

    Attributes:
        reference: the fitted peer; None before.
        best_error: test error of the Bayes-optimal classifier; NaN if it is not known.
        is_fitting: whether the thread is working.
    """

    def __init__(self, session: Session, tasks: PageTasks, on_arrival: Callable[[], None]):
        self._session, self._tasks, self._on_arrival = session, tasks, on_arrival
        self._request: Hashable = None
        self.reference: ReferenceFit | None = None
        self.best_error = float("nan")
        self.is_fitting = False

    def ask(self, name: str, dataset: Dataset, *, holdout: float, seed: int) -> None:
        """Fit the peer `name` on this table, unless that is done or running."""
        request = (name, dataset.hash, holdout, seed)
        if request == self._request:
            return
        self._request, self.is_fitting = request, True
        truth = truth_of(self._session, dataset)

        def work(stop: StopToken) -> tuple[ReferenceFit, float]:
            rows: dict[str, Any] = {"holdout": holdout, "seed": seed, "truth": truth, "stop": stop}
            fit = fit_reference(name, dataset, **rows)
            return fit, fit_reference(TRUTH, dataset, **rows).error if truth is not None else float("nan")

        self._tasks.start("peer", work, self._take_result, self._fail)

    def forget(self) -> None:
        """Cancel the fit and forget its result."""
        self._tasks.cancel("peer")
        self._request = self.reference = None
        self.is_fitting = False

    def _take_result(self, result: tuple[ReferenceFit, float]) -> None:
        (self.reference, self.best_error), self.is_fitting = result, False
        self._on_arrival()

    def _fail(self, error: Exception) -> None:
        self._request = self.reference = None
        self.is_fitting = False
        self._tasks.show_error("peer", error)
        self._on_arrival()


class MapTab(Tab):
    """Base class of the page's tabs: the fit of a model, the peer, the model's settings and its export.

    A cheap fit starts without a press of Run when settings change (`fit`). The tab draws `player.racer` at
    `player.head`.

    Args:
        session: the visitor's.
        script_dialog: shows the script of the tab.
        place: puts the settings into the page's drawer.
        slug: of the tab in a link.
        families: the families offered.
        default_recipe: used if the link has no model.
        has_film: whether the fit can be saved as a replay.

    Attributes:
        recipe: of the model shown.
        name: slug of the peer.
        linked_model: whether the link named the model.
        starter: estimates and starts the fit.
        model_part: the part for evaluation and export.
        settings_button, python_button: for the tab's rows of buttons.
    """

    def __init__(
        self,
        session: Session,
        script_dialog: TextDialog,
        place: Callable[[Viewable], None],
        slug: str,
        families: tuple[str, ...],
        default_recipe: Recipe,
        has_film: bool = False,
    ):
        super().__init__(session)
        self._slug, self._families, self._place = slug, families, place
        self.settings_button = text_button("Settings", "tune", SETTINGS, self.show_settings)
        self.python_button = text_button("Python", "code", PYTHON, lambda: script_dialog.show(self.script()))
        self.player = FitPlayer(self._place_changed, session.wake, has_film, self._drawn if has_film else None)
        self.starter = RaceStarter(session, self.tasks, self.player, partial(session.runs.adopt, kind=FIT), "fit")
        self.peer = PeerFit(session, self.tasks, self._peer_changed)
        self.model_part = ExportModel(session, self.tasks)
        is_linked = session.tab == slug
        self.linked_model = bool(is_linked and session.model and session.model[0].family in families)
        self.recipe: Recipe = session.model[0] if self.linked_model else default_recipe
        self.name = session.peer if is_linked else ""
        self._hidden = False  # whether another tab is in front

    def build(self) -> tuple[Viewable, Viewable]:
        """Return the tab's part of the page's first row, and everything below it."""
        raise NotImplementedError

    def script(self) -> str:
        """Return the script that computes the maps and their numbers."""
        raise NotImplementedError

    def set_model(self) -> None:
        """Show the chosen model, write it into the link and fit it."""
        raise NotImplementedError

    def _place_changed(self) -> None:
        """Have the pictures redrawn; called when the player moves to another iteration or run."""
        raise NotImplementedError

    def _peer_changed(self) -> None:
        """Called when another peer is chosen or its fit ends: show the peer."""
        raise NotImplementedError

    def _drawn(self) -> int | None:
        """Return the iteration of the run that the pictures show; None if they show none of it."""
        raise NotImplementedError

    # ---- the fit -----------------------------------------------------------------------------------------------------

    @property
    def outdated(self) -> bool:
        """Whether the pictures were made with other settings, or of another table, than the current ones."""
        return self.player.player.outdated

    @property
    def drawn_run(self) -> Any:
        """The run shown; None before the first."""
        return None if self.player.racer is None else self.player.racer.run

    def show_fitted(self) -> None:
        """Show the session's run from before a reload, if it belongs to this tab."""
        race = self.session.runs.map_race
        if self.session.tab == self._slug and race is not None and race.recipes[0].family in self._families:
            self.player.show(race)

    def fit(self, dataset: Dataset, recipe: Recipe) -> None:
        """Set what Run fits; a cheap fit that is not shown yet starts now."""
        race = self.player.player.race
        is_drawn = race is not None and race.matches((recipe,), dataset)
        self.starter.set_autorun(not is_drawn)
        self.player.mark(race is not None and not is_drawn, starts_itself=not is_drawn)
        self.starter.set_race(dataset, (recipe,))
        self.starter.start_if_cheap()

    def give_up_fit(self) -> None:
        """Stop the fit and drop a pending one."""
        self.starter.dataset, self.starter.autorun = None, False
        self.player.player.starts_itself = False
        self.player.press_stop()

    # ---- settings ----------------------------------------------------------------------------------------------------

    @cached_property
    def settings(self) -> RecipeSettings:
        """The form with the model's settings that the drawer shows; built on first use."""
        return RecipeSettings(
            lambda _, recipe: self.set_recipe(recipe), lambda _: None,
            lambda changes: self.set_recipe(self.recipe.replace(**changes)),
            choosable=Choosable(self._families, is_single=True),
        )  # fmt: skip

    def show_settings(self) -> None:
        """Show the settings of the model in the drawer."""
        self.settings.show_solvers(self.starter.solvers)
        self.settings.show(0, self.recipe, self.recipe.label, is_only=True)
        self._place(self.settings.panel)
        self.session.open_drawer(True)

    def set_recipe(self, recipe: Recipe) -> None:
        """Fit this recipe from now on."""
        self.recipe = recipe
        self.set_model()
        self.show_settings()
