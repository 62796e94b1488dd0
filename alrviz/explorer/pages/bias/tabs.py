"""The two tabs of "Bias and variance": the grid of recipes and training sizes, and the learning curve.

Both are a study of several recipes that chips and a drawer choose; they differ in what else is set, in the study and
in the view. What is set is one value, `asked`, whose recipes are distinct: two that are the same would be one line.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import panel as pn

from alrviz import __version__
from alrviz.explorer.pages.bias import curve_settings, settings
from alrviz.explorer.pages.bias.controls import CurveMenus, GridMenus, Menus
from alrviz.explorer.pages.bias.words import curve_script, grid_script
from alrviz.explorer.recipes.recipe_fields import JUDGED, Choosable
from alrviz.explorer.session.session import Session
from alrviz.explorer.session.state import State
from alrviz.explorer.session.view_settings import link_view
from alrviz.explorer.shell.theme import room
from alrviz.explorer.widgets.recipe_chooser import RecipeChooser
from alrviz.explorer.widgets.study_costs import Costs, costs_html, costs_line
from alrviz.explorer.widgets.study_part import StudyPart
from alrviz.explorer.widgets.table_settings import with_cuts
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.views.studies.bias_variance import BiasVarianceView
from alrviz.views.studies.learning_curve import LearningCurveView

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset


FIRST = "grid"  # in a link it is left out: the first tab


class Tab(StudyPart):
    """What both tabs do.

    Args:
        session: the visitor's.
        page: slug of the page.
        own: what the link says of this tab.
        place: puts the settings of a recipe into the drawer.
    """

    slug: str
    viewed: tuple[str, ...]  # the view's parameters that are in the link
    choosable: Choosable
    choice: Any  # the module of what is asked: learn(), fresh()
    controls: Menus

    def __init__(self, session: Session, page: str, own: State, place: Callable[[Any], None]):
        super().__init__(session, page)
        self.asked: Any = self.read(own)
        self.study_view = self.make_view()
        self._write_view = link_view(session, page, self.study_view, self.viewed)
        self.study_view.aside[:] = [self.prices]
        self.study_view.bar.panel.append(self.keep)
        self.controls = self.make_controls()
        self.chooser = RecipeChooser(
            session, lambda: self.asked.recipes, self._recipes_changed, self._fresh, self.choosable, place=place
        )
        told = pn.Row(self.time, self.python, margin=0, styles={"margin-left": "auto"})
        self.second = pn.FlexBox(
            self.chooser.panel, told, align_items="center", gap="4px 8px", margin=(0, 0, 8, 0),
            sizing_mode="stretch_width",
        )  # fmt: skip

    def read(self, own: State) -> Any:
        """Return what a link asks for."""
        raise NotImplementedError

    def written(self) -> dict[str, Any]:
        """Return what is set as the session has it; what is the tab's own is left out."""
        raise NotImplementedError

    def make_view(self) -> Any:
        """Return the view."""
        raise NotImplementedError

    def make_controls(self) -> Menus:
        """Return the menus."""
        raise NotImplementedError

    @property
    def front(self) -> bool:
        """Whether it is what the visitor sees."""
        return super().front and (self.session.tab or FIRST) == self.slug

    def write(self) -> None:
        """Put what is set into the link."""
        first = {"judged": (), "folds": "", "sizes": "", "theta": ""}
        self.session.param.update(first | self.written())
        self._write_view()

    def _changed(self, asked: Any) -> None:
        self.asked = asked
        self.write()
        self.ask()

    def _recipes_changed(self, recipes: tuple[Recipe, ...]) -> None:
        self._changed(replace(self.asked, recipes=tuple(dict.fromkeys(recipes))))

    def _first(self, recipes: tuple[Recipe, ...]) -> tuple[Recipe, ...]:
        return with_cuts(recipes, self.session.cuts)

    def recut(self, slug: str) -> None:
        """Cut numbers so in every recipe."""
        self._recipes_changed(with_cuts(self.asked.recipes, slug))

    def _fresh(self) -> Recipe:
        dataset = self.session.dataset
        found: Recipe = self.choice.fresh(self.asked.recipes, dataset.X.shape[1] if dataset is not None else 1)
        return with_cuts((found,), self.session.cuts)[0]

    def settings(self) -> Any:
        """What is set."""
        return self.asked

    def show_settings(self) -> None:
        """Let the controls show what is set."""
        self.controls.show(self.asked)
        self.chooser.show()

    def work(self, dataset: "Dataset") -> Callable[[StopToken], Costs]:
        """Return what prices every recipe and makes the study."""
        session, asked, learn = self.session, self.asked, self.choice.learn
        seed, owner, most = session.seed, session.owner, session.registry.limits.threads or 10**6
        return lambda stop: learn(dataset, asked, seed, owner, most, stop, self.tell)

    def told(self, known: Costs) -> tuple[str, str]:
        """Return what all takes, and what each recipe costs."""
        if known.study is None and self.study_view.study is None:
            self._say("No recipe can be run here; below stands why.")
        return costs_line(known), costs_html(known)

    def learned(self) -> None:
        """Say that there is something to wait for, where nothing is shown yet."""
        if self.known is None and self.study_view.study is None:
            self._say("Being priced …")

    def _say(self, words: str) -> None:
        self.study_view.tell(f"<span class='quiet'>{words}</span>")

    def ground_changed(self) -> None:
        """Show it on another ground."""
        super().ground_changed()
        self.chooser.show()


class GridTab(Tab):
    """The grid."""

    slug, choosable, choice = FIRST, JUDGED, settings
    viewed = ("definition", "axis")

    def read(self, own: State) -> settings.Asked:
        """Return what a link asks for."""
        return settings.checked(own.judged or self._first(settings.FIRST), own.folds, own.sizes)

    def written(self) -> dict[str, Any]:
        """Return what is set as the session has it."""
        asked, first = self.asked, settings.Asked()
        found = {"judged": asked.recipes, "folds": asked.folds, "sizes": asked.sizes}
        own = {"judged": self._first(first.recipes), "folds": first.folds, "sizes": first.sizes}
        return {name: value for name, value in found.items() if value != own[name]}

    def make_view(self) -> BiasVarianceView:
        """Return the view."""
        session = self.session
        return BiasVarianceView(
            again=self.begin, wake=session.wake, dark=session.dark, ready=False, height=room(286, 424)
        )

    def make_controls(self) -> GridMenus:
        """Return the menus."""
        return GridMenus(self.session, self._changed, self.choose_cuts)

    def script(self, known: Costs) -> str:
        """Return the script of "copy as Python"."""
        return grid_script(self.session, self.asked, known, __version__)


class CurveTab(Tab):
    """The learning curve."""

    slug, choosable, choice = "learning-curve", curve_settings.LEARNERS, curve_settings
    viewed = ("measure", "span")

    def read(self, own: State) -> curve_settings.Asked:
        """Return what a link asks for."""
        return curve_settings.checked(own.judged or self._first(curve_settings.FIRST), own.folds, own.theta)

    def written(self) -> dict[str, Any]:
        """Return what is set as the session has it."""
        asked, first = self.asked, curve_settings.Asked()
        found = {"judged": asked.recipes, "folds": asked.slug, "theta": asked.theta}
        own = {"judged": self._first(first.recipes), "folds": first.slug, "theta": first.theta}
        return {name: value for name, value in found.items() if value != own[name]}

    def make_view(self) -> LearningCurveView:
        """Return the view."""
        session = self.session
        return LearningCurveView(
            again=self.begin, wake=session.wake, dark=session.dark, ready=False, height=room(270, 430)
        )

    def make_controls(self) -> CurveMenus:
        """Return the menus."""
        return CurveMenus(self.session, self._changed, self.choose_cuts)

    def script(self, known: Costs) -> str:
        """Return the script of "copy as Python"."""
        return curve_script(self.session, self.asked, known, __version__)
