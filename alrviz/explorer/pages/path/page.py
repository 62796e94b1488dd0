"""The page "Generative to discriminative": losses along alpha, a fit that follows a slider, the best alpha to use."""

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import panel as pn
import panel_material_ui as pmui

from alrviz import __version__
from alrviz.explorer.pages.path.controls import PathControls
from alrviz.explorer.pages.path.settings import FIRST, given_paths, learn, racers_of
from alrviz.explorer.pages.path.words import ABOUT, script
from alrviz.explorer.session.link_errors import Choices
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.glossary import rich
from alrviz.explorer.shell.theme import CARD, PANE_CSS, room
from alrviz.explorer.widgets.study_costs import Costs, costs_html, costs_line
from alrviz.explorer.widgets.study_part import StudyPart
from alrviz.explorer.widgets.table_settings import with_cuts
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.path import MEASURES
from alrviz.stop import StopToken
from alrviz.studies.protocols.alpha_path_verdict import alpha_text, best_of
from alrviz.views.core.collapsible import Folded
from alrviz.views.core.style import safe
from alrviz.views.studies.path import PathView

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

USE = "race it on the page Convergence"
REST = 0.5  # seconds after which a slider that was moved is taken to rest
_ROOM = room(304, 372)  # two lines of menus, the sentence, the measures, the slider, the row of Run
HEIGHTS = (_ROOM, f"calc(.645 * {_ROOM})")


class PathPage(StudyPart):
    """See the module's text; the shell describes what a page is."""

    title, icon, group, slug = "Generative to discriminative", "swap_horiz", "See", "path"

    @staticmethod
    def choices() -> Choices:
        """Return what a link may hold of this page's own."""
        return {"measure": MEASURES}

    def __init__(self, session: Session):
        super().__init__(session, self.slug)
        self._own = session.own(self.slug)
        self.recipes = given_paths(self._own.judged) if self._own.judged else self._first
        self._touched = 0.0

    # ---- building ----------------------------------------------------------------------------------------------

    def view(self) -> Any:
        """Build the page."""
        session, own = self.session, self._own
        self.study_view = view = PathView(
            again=self.begin, wake=session.wake, dark=session.dark, ready=False, heights=HEIGHTS,
            measure=own.measure if own.measure in MEASURES else "log_loss", alpha=own.alpha, path=own.path,
        )  # fmt: skip
        self.controls = PathControls(session, self._changed, partial(self.jobs.failed, "study"), self.choose_cuts)
        self.use = pmui.Button(
            label="Use alpha", icon="show_chart", variant="contained", margin=(0, 8, 0, 0), visible=False
        )
        self.use.on_click(lambda _: self.use_it())
        view.bar.panel.insert(2, self.use)
        view.param.watch(lambda *_: self._looked(), ["measure", "alpha", "path"])
        told = pn.Row(self.time, self.python, margin=0, styles={"margin-left": "auto"})
        top = pn.FlexBox(
            *self.controls.parts, told, align_items="center", gap="4px 0", margin=(0, 0, 8, 0),
            sizing_mode="stretch_width",
        )  # fmt: skip
        text = pn.pane.HTML(rich(ABOUT), stylesheets=[PANE_CSS], sizing_mode="stretch_width", margin=0)
        card = pn.Column(view, styles=CARD, sizing_mode="stretch_width", margin=0)
        self.follow()
        folded = Folded("What it costs", self.prices), Folded("What am I looking at?", text)
        return pn.Column(top, self.note, card, *folded, self.dialog.place, sizing_mode="stretch_width", margin=0)

    def drawer(self) -> Any:
        """Return nothing: all there is to set is in the first row."""

    # ---- what is asked -----------------------------------------------------------------------------------------

    def _changed(self, recipes: tuple[Recipe, ...]) -> None:
        self.recipes = recipes
        self.session.judged = () if recipes == self._first else recipes
        self.ask()

    @property
    def _first(self) -> tuple[Recipe, ...]:
        return with_cuts(FIRST, self.session.cuts)

    def recut(self, slug: str) -> None:
        """Cut numbers so in every path."""
        self._changed(with_cuts(self.recipes, slug))

    def _looked(self) -> None:
        """Put what is looked at into the link; the alpha follows when the hand rests."""
        view = self.study_view
        measure = "" if view.measure == "log_loss" else view.measure
        self.session.param.update(measure=measure, path=view.path)
        self._touched = time.monotonic()
        self.learned()

    def _note_alpha(self) -> bool:
        """Put the alpha into the link, or return that it is too early: each link is one of the browser's history."""
        alpha = self.study_view.alpha
        if alpha == self.session.alpha:
            return False
        if time.monotonic() - self._touched < REST:
            return True
        self.session.alpha = alpha
        return False

    def settings(self) -> tuple[Recipe, ...]:
        """What is set."""
        return self.recipes

    def show_settings(self) -> None:
        """Let the controls show what is set."""
        self.controls.show(self.recipes)

    def work(self, dataset: "Dataset") -> Callable[[StopToken], Costs]:
        """Return what prices every path and makes the study."""
        session, recipes = self.session, self.recipes
        seed, owner, most = session.seed, session.owner, session.registry.limits.threads or 10**6
        return lambda stop: learn(dataset, recipes, seed, owner, most, stop, self.tell)

    def told(self, known: Costs) -> tuple[str, str]:
        """Return the time that all takes, and what one fit of each path costs."""
        return costs_line(known), costs_html(known)

    def script(self, known: Costs) -> str:
        """Return the script of "copy as Python"."""
        view = self.study_view
        plain = [recipe.replace(seed=0) for recipe in known.runnable]
        found = [] if view.outdated else view.readings
        return script(self.session, plain, found, view.measure, __version__)

    # ---- using the answer --------------------------------------------------------------------------------------

    def use_it(self) -> None:
        """Race the best alpha of each path on the page Convergence."""
        view = self.study_view
        if view.study is not None and view.readings:
            racers = racers_of(view.study.recipes, view.readings, self.session.seed)
            self.session.go("convergence", race=True, recipes=racers)

    def learned(self) -> None:
        """Offer the best alpha, where there is one."""
        view, known = self.study_view, self.known
        busy = view.study is not None and view.study.phase in ("running", "queued")
        if known is not None and known.study is None and not busy:
            view.watch(None)
            why = "; ".join(f"{one.name}: {one.refused}" for one in known.priced)
            view.tell(f"<span class='bad'>Nothing to run:</span> {safe(why, 600)}")
        best = None if view.outdated else best_of(view.readings)
        label = "Use alpha" if best is None else f"Use alpha {alpha_text(best.alpha)}"
        if (self.use.visible, self.use.label) != (best is not None, label):
            # What a button is called begins with what is written on it.
            self.use.param.update(visible=best is not None, label=label, description=f"{label}: {USE}")

    # ---- the shell's calls -------------------------------------------------------------------------------------

    def pump(self) -> bool:
        """Take over what threads have finished; returns whether there may be more."""
        early = self._note_alpha()
        return super().pump() or early

    def close(self) -> None:
        """End the threads' work; the study is the registry's."""
        super().close()
        if "study_view" in vars(self):  # it is built on the first visit
            self.study_view.follower.give_up()
