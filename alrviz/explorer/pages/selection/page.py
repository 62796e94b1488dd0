"""The page "Selection": a search for tuples that follows the line t, and the gain of keeping more of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import panel as pn
from panel.viewable import Viewable

from alrviz import __version__
from alrviz.data.dataset import Dataset
from alrviz.data.stream.table import Stream
from alrviz.explorer.recipes.questions import over_passes
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.runs import SELECTION
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.glossary import term_html
from alrviz.explorer.shell.theme import room
from alrviz.explorer.widgets.race_starter import RaceStarter
from alrviz.explorer.widgets.scripts import script
from alrviz.explorer.widgets.study_estimate import PlannedStudy, costs_html, estimate_orders, time_line
from alrviz.explorer.widgets.study_page import Answer, StudyPage
from alrviz.explorer.widgets.study_spec import FOLD_NAMES, FOLDS, Menu, StudySpec, choice, recipe_menu
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.families import choices
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.core.cost import RecipeEstimate
from alrviz.studies.protocols.choose_tuples import KEEPS, choose_tuples
from alrviz.views.core.panes import say
from alrviz.views.race.race_view import RaceView
from alrviz.views.studies.selection import SelectionView

FAMILIES = {"hsalr": "hsalr", "salr": "salr"}
ORDERS = (2, 3, 4)
SCORES = {"mi": "MI", "mi-mm": "MI, corrected", "cv": "CV score", "gain": "gain"}

_ROOM = room(260, 290, 140)  # two lines of menus, two sentences, the row of Run

PASSES = (
    "<span class='quiet'>The line above says what a pass of the learner takes. Before it learns every level is counted "
    "in a pass, and the first fit of a table codes its rows.</span>"
)

PASSES_HEIGHT = "330px"  # of the picture of the passes, whose buttons stand above the tuples
_PRESS_RUN = (
    "Press Run: all {rows:,} rows are coded once, tuples are scored on the training rows level by level, and those "
    "kept are learned in {passes} passes at most."
)


def _family(spec: "SelectionSpec", family: str) -> "SelectionSpec":
    before = spec.recipe
    taken = {name: before.params[name] for name in Recipe(family).params if name in before.params}
    recipe = Recipe(family, seed=before.seed, discretize=before.discretize, n_bins=before.n_bins, **taken)
    return replace(spec, recipes=(recipe,))


def _scores(spec: "SelectionSpec") -> dict[str, str]:
    return {SCORES.get(score, score): score for score in choices(spec.recipe.family, "selection")}


def _orders(spec: "SelectionSpec") -> dict[str, int]:
    return {f"n = {n}": n for n in sorted({*ORDERS, spec.recipe.params["order"]})}


@dataclass(frozen=True)
class SelectionSpec(StudySpec):
    """Shares of tuples kept, and orders up to that of one recipe."""

    noun, icon, make, single = "how many tuples", "filter_alt", staticmethod(choose_tuples), True
    first = (Recipe("hsalr", order=2),)
    menus: ClassVar[Mapping[str, Menu]] = {
        "family": Menu("Family", 104, FAMILIES, lambda spec: spec.recipe.family, _family),
        "order": recipe_menu("order", 96, _orders, "Up to order"),
        "selection": recipe_menu("selection", 136, _scores, "Score"),
        "grow": recipe_menu("grow", 176),
        "folds": Menu("Cross-validation", 144, FOLD_NAMES),
    }
    prints = """for row in study.rows():
    if row["outcome"] == "failed":
        print(row["name"], row["repeat"], row["fold"], row["sentence"])
    else:
        print(row["racer"], row["repeat"], row["fold"], f"{row['log_loss']:.6f}")
print(study.summary())
print(study.verdict().sentence)
"""

    folds: str = choice("5", FOLDS)

    @property
    def recipe(self) -> Recipe:
        """The recipe of the highest order, whatever its share."""
        return self.recipes[0]

    @classmethod
    def usable(cls, recipes: tuple[Recipe, ...]) -> tuple[Recipe, ...]:
        """Return the first that selects, by tuples, which the pictures show; the share is the view's."""
        own = {name: cls.first[0].params[name] for name in ("keep", "unit")}
        found = [recipe.replace(**own) for recipe in recipes if recipe.family in FAMILIES.values()]
        auto = [
            recipe.replace(order=cls.first[0].params["order"]) if recipe.params["order"] == "auto" else recipe
            for recipe in found
        ]
        return tuple(auto)[:1]

    def orders(self) -> range:
        """Return the orders that are compared."""
        return range(1, self.recipe.params["order"] + 1)

    def arguments(self, fits: Sequence[RecipeEstimate]) -> dict[str, Any]:
        """Return the orders that are not refused, and the folds."""
        orders = [order for order, one in zip(self.orders(), fits, strict=True) if not one.refused]
        return {"orders": orders} | super().arguments(fits)

    def estimate(self, dataset: Dataset, seed: int, stop: StopToken) -> tuple[RecipeEstimate, ...]:
        """Estimate a fit of each order that keeps all tuples."""
        recipes = [self.recipe.replace(order=order, keep=1.0) for order in self.orders()]
        return estimate_orders(dataset, recipes, self.holdout, stop)

    def runnable(self, fits: Sequence[RecipeEstimate]) -> tuple[Recipe, ...]:
        """Return the recipe, where it has an order."""
        return () if all(one.refused for one in fits) else self.recipes

    def cost(self, dataset: Dataset | None, fits: Sequence[RecipeEstimate]) -> Cost:
        """Return the cost of the study: a fit goes by the tuples it keeps."""
        return sum(KEEPS) * super().cost(dataset, fits)


class StreamedSelection:
    """The run over all rows of a table larger than memory: its cost, and the picture of its passes.

    Args:
        session: the visitor's.
        tasks: runs the estimate.
        view: shows the levels of the run, where there is such a table.

    Attributes:
        above, below: what stands above the tuples (buttons, words) and below them (the picture, numbers).
    """

    def __init__(self, session: Session, tasks: PageTasks, view: SelectionView):
        self._session, self._view = session, view
        self._of: tuple[Stream, Recipe] | None = None
        self._asked: tuple[str, Recipe] | None = None
        self.race_view = RaceView(wake=session.wake, axis="passes", height=PASSES_HEIGHT, dark=session.dark)
        race_view, buttons = self.race_view, self.race_view.transport.panel
        race_view.body[0].remove(buttons)
        numbers = race_view.layout[-1]
        shown: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (12, 0, 8, 0), "visible": False}
        self.above = pn.Column(race_view.line, buttons, **shown)
        self.below = pn.Column(race_view.body, numbers, **shown)
        self.starter = RaceStarter(session, tasks, self.race_view, partial(session.runs.adopt, kind=SELECTION), "fit")

    @property
    def recipe(self) -> Recipe | None:
        """What Run fits, of which all rows are gone over; None where there is no such table."""
        return None if self._of is None else self._of[1]

    def want(self, stream: Stream | None, recipe: Recipe) -> None:
        """Say what Run is to fit; without a table larger than memory nothing of this is shown."""
        view, shown = self._view, stream is not None
        if view.over_rows != shown:
            view.over_rows = self.above.visible = self.below.visible = self.starter.pane.visible = shown
            self.race_view.line.visible, self._asked = False, None  # nothing is said of nothing
        if stream is None:
            self._of = self.starter.dataset = None
            return
        self._of = stream, (own := over_passes((recipe,))[0])
        race, before, self._asked = self.race_view.race, self._asked, (stream.hash, own)
        if before == self._asked:
            return
        if race is None or not race.matches((own,), stream):
            if (found := self._session.runs.find_selection(stream, own)) is not None:
                self.race_view.watch(found)
            elif race is None:
                self.race_view.expect((own,))
                view.expect(stream, own)
            else:
                self.race_view.outdated = True
        else:
            self.race_view.outdated = False
        self.starter.want(stream, (own,))
        if self.race_view.race is None:
            press = _PRESS_RUN.format(rows=stream.n_rows, passes=own.params["max_iter"])
            say(view.search_text, f"<div class='sentence quiet'>{press}</div>")

    def pump(self) -> bool:
        """Follow the run; returns whether there may be more."""
        if not self._view.over_rows:
            return False
        moving, race = self.race_view.pump(), self.race_view.race
        self.race_view.line.visible = race is not None or self.race_view.player.is_waiting
        self.starter.tell_passes(race)
        self._view.follow(race, self.race_view.outdated)
        return moving


class SelectionPage(StudyPage):
    """See the module's text; the shell describes what a page is."""

    title, icon, group, slug = "Selection", "filter_alt", "Explore", "selection"
    spec_of, view_of = SelectionSpec, SelectionView
    looks: ClassVar[Mapping[str, Any]] = {"heights": (_ROOM, "250px")}
    dragged, streams = "keep", True
    use_hint = "race it on the page Convergence"

    cost_text = staticmethod(time_line)  # the time alone: the menus leave no more room

    def build(self) -> tuple[Viewable, Viewable]:
        """Make what every study page shows, and the run over all rows of a table larger than memory."""
        first, below = super().build()
        self.streamed = streamed = StreamedSelection(self.session, self.tasks, self.study_view)
        first[-1].insert(0, streamed.starter.pane)
        self.layout.card[:] = [streamed.above, self.study_view, streamed.below]
        self.session.subscribe(lambda _: streamed.race_view.param.update(dark=self.session.dark), "dark")
        return first, below

    def estimate(self, dataset: Dataset | None) -> None:
        """Estimate the run if it reads all rows, otherwise the study of the rows in memory."""
        whole = isinstance(self.session.table.race_data, Stream)
        for name in ("folds", "split"):  # of a study's folds, and of rows that are held out together
            self.menus[name].visible &= not whole
        if whole:
            self.tasks.cancel("study")
            self.runner.reset()
            self.layout.show_remarks([])
            self.layout.show_costs("", PASSES, False)
        self._want()
        if not whole:
            super().estimate(dataset)

    def _want(self) -> None:
        stream, spec = self.session.table.race_data, self.spec
        recipe = spec.recipe.replace(keep=self.study_view.keep / 100, seed=self.session.seed)
        self.streamed.want(stream if isinstance(stream, Stream) else None, recipe)

    def pump(self) -> bool:
        """Take over what threads have finished; returns whether there may be more."""
        moving = super().pump()
        if self.front and self.study_view.over_rows and self.drag is not None and not self.drag.waiting:
            self._want()
        return self.streamed.pump() | moving

    def script(self) -> str:
        """Return the script of "copy as Python": of the run if it reads all rows."""
        recipe = self.streamed.recipe
        return super().script() if recipe is None else script(self.session, (recipe,), __version__)

    def cost_html(self, costs: PlannedStudy) -> str:
        """Return what each order costs."""
        return costs_html(costs, f"{term_html('order')}, all tuples", "", "n")

    def answer(self) -> Answer | None:
        """Return the verdict's order and share, otherwise those of the line."""
        chosen = self._chosen()
        if chosen is None:
            return None
        mine, seed = chosen.replace(seed=self.session.seed), self.session.seed
        shared = {name: mine.params[name] for name in ("order", "alpha", "penalty") if name in mine.params}
        label = f"n = {chosen.params['order']}, t = {chosen.params['keep']:.0%}"
        return Answer(label, lambda: (mine, Recipe("alr", seed=seed, **shared)))

    def _chosen(self) -> Recipe | None:
        view = self.study_view
        verdict = view.verdict
        return verdict.recipe if verdict is not None and verdict.recipe is not None else view.recipe

    def close(self) -> None:
        """End the threads' work; the study is the registry's."""
        super().close()
        if "study_view" in vars(self):  # it is built on the first visit
            self.study_view.cancel_search()
