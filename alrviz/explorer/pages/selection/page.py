"""The page "Selection": the search for informative tuples, and the loss against the share of tuples kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import panel as pn
from panel.viewable import Viewable

from alrviz import __version__
from alrviz.data.dataset import Dataset
from alrviz.data.stream.table import Stream
from alrviz.explorer.recipes.questions import for_streaming
from alrviz.explorer.recipes.recipe_fields import with_family
from alrviz.explorer.session.page_tasks import PageTasks
from alrviz.explorer.session.runs import SELECTION
from alrviz.explorer.session.session import Session
from alrviz.explorer.shell.glossary import term_html
from alrviz.explorer.shell.theme import room
from alrviz.explorer.widgets.race_starter import RaceStarter
from alrviz.explorer.widgets.scripts import script
from alrviz.explorer.widgets.study_estimate import PlannedStudy, costs_html, estimate_orders, time_line
from alrviz.explorer.widgets.study_page import Recommendation, StudyPage
from alrviz.explorer.widgets.study_spec import FOLD_NAMES, FOLDS, Menu, StudySpec, choice, family_menu, recipe_menu
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.core.cost import RecipeEstimate
from alrviz.studies.protocols.choose_tuples import DEFAULT_KEEPS, choose_tuples
from alrviz.studies.statistics.verdict import Verdict
from alrviz.views.core.panes import say
from alrviz.views.core.style import verdict_html
from alrviz.views.race.race_view import RaceView
from alrviz.views.studies.selection import SelectionView

SELECTIVE_FAMILIES = ("hsalr", "salr")
ORDERS = (2, 3, 4)

_ROOM = room(260, 290, 140)  # two lines of menus, two sentences, the row of Run

PASSES_NOTE = (
    "<span class='quiet'>The line above gives the time of one training pass. Before training, each order is counted in "
    "one pass; the first fit of a table also encodes its rows.</span>"
)

PASSES_HEIGHT = "330px"  # of the picture of the passes
_PRESS_RUN = (
    "Rows are encoded once, columns, pairs and triples are scored on the training rows, and the model of the selected "
    "ones is trained in at most {passes} passes."
)


def _orders(spec: "SelectionSpec") -> dict[str, int]:
    return {f"n ≤ {n}": n for n in sorted({*ORDERS, spec.recipe.params["order"]})}


@dataclass(frozen=True)
class SelectionSpec(StudySpec):
    """Cross-validation of the share of tuples kept, for orders up to that of one recipe."""

    noun, icon, study_function, takes_one_recipe = "how many tuples", "filter_alt", staticmethod(choose_tuples), True
    default_recipes = (Recipe("hsalr", order=2, alpha=1.0),)
    menus: ClassVar[Mapping[str, Menu]] = {
        "family": family_menu(SELECTIVE_FAMILIES, *Recipe("salr").params),
        "order": recipe_menu("order", 88, _orders),
        "selection": recipe_menu("selection", 184, label="Score"),
        "grow": replace(recipe_menu("grow", 192), folded=True),
        "folds": Menu("Cross-validation", 144, FOLD_NAMES),
    }
    print_code = """for row in study.rows():
    if row["outcome"] == "failed":
        print(row["name"], row["repeat"], row["fold"], row["sentence"])
    else:
        print(row["racer"], row["repeat"], row["fold"], f"{row['log_loss']:.6f}")
print(study.summary())
print(study.verdict())
"""

    folds: str = choice("5", FOLDS)

    @classmethod
    def usable_recipes(cls, recipes: tuple[Recipe, ...]) -> tuple[Recipe, ...]:
        """Return the first selective recipe, set to select tuples; the share comes from the view."""
        defaults = cls.default_recipes[0].params
        for recipe in recipes:
            if "keep" in recipe.params:
                order = defaults["order"] if recipe.params["order"] == "auto" else recipe.params["order"]
                return (recipe.replace(keep=defaults["keep"], unit=defaults["unit"], order=order),)
        return ()

    def orders(self) -> range:
        """Return the orders that are compared."""
        return range(1, self.recipe.params["order"] + 1)

    def arguments(self, fits: Sequence[RecipeEstimate]) -> dict[str, Any]:
        """Return the orders that are not refused, and the folds."""
        orders = [order for order, fit in zip(self.orders(), fits, strict=True) if not fit.refusal]
        return {"orders": orders} | super().arguments(fits)

    def estimate(self, dataset: Dataset, seed: int, stop: StopToken) -> tuple[RecipeEstimate, ...]:
        """Estimate a fit of each order that keeps all tuples."""
        recipes = [self.recipe.replace(order=order, keep=1.0) for order in self.orders()]
        return estimate_orders(dataset, recipes, self.holdout, stop)

    def runnable(self, fits: Sequence[RecipeEstimate]) -> tuple[Recipe, ...]:
        """Return the one recipe as a tuple; () if the estimates (`fits`, one per order) refuse every order."""
        return () if all(fit.refusal for fit in fits) else self.recipes

    def cost(self, dataset: Dataset | None, fits: Sequence[RecipeEstimate]) -> Cost:
        """Return the cost of the study; a fit's cost is proportional to the tuples it keeps."""
        return sum(DEFAULT_KEEPS) * super().cost(dataset, fits)


class StreamedSelection:
    """The run over all rows of a table larger than memory: its cost, and the picture of its passes.

    Args:
        session: the visitor's.
        tasks: runs the estimate.
        view: shows the levels of the run.

    Attributes:
        buttons_part, passes_part: the widgets above the tuples (buttons, sentence) and below them (picture, numbers).
    """

    def __init__(self, session: Session, tasks: PageTasks, view: SelectionView):
        self._session, self._view = session, view
        self._target: tuple[Stream, Recipe] | None = None
        self._requested: tuple[str, Recipe] | None = None
        self.race_view = RaceView(wake=session.wake, axis="passes", height=PASSES_HEIGHT, dark=session.dark)
        race_view, buttons = self.race_view, self.race_view.transport.panel
        race_view.body[0].remove(buttons)
        numbers_part = race_view.layout[-1]
        params: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (12, 0, 8, 0), "visible": False}
        self.buttons_part = pn.Column(race_view.line, buttons, **params)
        self.passes_part = pn.Column(race_view.body, numbers_part, **params)
        self.starter = RaceStarter(session, tasks, self.race_view, partial(session.runs.adopt, kind=SELECTION), "fit")

    @property
    def recipe(self) -> Recipe | None:
        """The recipe that Run fits to all rows; None if the table is in memory."""
        return None if self._target is None else self._target[1]

    def set_run(self, stream: Stream | None, recipe: Recipe) -> None:
        """Set what Run fits; with stream=None the run's widgets are hidden."""
        view, is_streamed = self._view, stream is not None
        if view.over_rows != is_streamed:
            view.over_rows = self.buttons_part.visible = self.passes_part.visible = self.starter.pane.visible = (
                is_streamed
            )
            self.race_view.line.visible, self._requested = False, None
        if stream is None:
            self._target = self.starter.dataset = None
            return
        self._target = stream, (streamed := for_streaming((recipe,))[0])
        race, previous, self._requested = self.race_view.race, self._requested, (stream.hash, streamed)
        if previous == self._requested:
            return
        if race is None or not race.matches((streamed,), stream):
            if (known_run := self._session.runs.find_selection(stream, streamed)) is not None:
                self.race_view.watch(known_run)
            elif race is None:
                self.race_view.expect((streamed,))
                view.expect(stream, streamed)
            else:
                self.race_view.outdated = True
        else:
            self.race_view.outdated = False
        self.starter.set_race(stream, (streamed,))
        if self.race_view.race is None:
            detail = _PRESS_RUN.format(passes=streamed.params["max_iter"])
            say(view.search_text, verdict_html(Verdict(f"Press Run: one model of all {stream.n_rows:,} rows.", detail)))

    def pump(self) -> bool:
        """Follow the run; return whether there may be more."""
        if not self._view.over_rows:
            return False
        moving, race = self.race_view.pump(), self.race_view.race
        self.race_view.line.visible = race is not None or self.race_view.player.is_waiting
        self.starter.show_passes(race)
        self._view.follow(race, self.race_view.outdated)
        return moving


class SelectionPage(StudyPage):
    """The page "Selection"."""

    title, icon, group, slug = "Selection", "filter_alt", "Explore", "selection"
    spec_class, view_class = SelectionSpec, SelectionView
    view_params: ClassVar[Mapping[str, Any]] = {"heights": (_ROOM, "250px")}
    dragged_param, fits_streams = "keep", True
    offers_race = True

    cost_text = staticmethod(time_line)  # the time only: the menus fill the row

    def build(self) -> tuple[Viewable, Viewable]:
        """Build the study's widgets, and those of the run over all rows of a table larger than memory."""
        menu_row, body = super().build()
        self.streamed = streamed = StreamedSelection(self.session, self.tasks, self.study_view)
        menu_row[-1].insert(0, streamed.starter.pane)
        self.layout.card[:] = [streamed.buttons_part, self.study_view, streamed.passes_part]
        self.session.subscribe(lambda _: streamed.race_view.param.update(dark=self.session.dark), "dark")
        return menu_row, body

    def estimate(self, dataset: Dataset | None) -> None:
        """Estimate the run if it reads all rows, otherwise the study of the rows in memory."""
        all_rows = isinstance(self.session.table.race_data, Stream)
        for name in ("folds", "split"):  # no effect on a run over all rows
            self.menus[name].visible &= not all_rows
        if all_rows:
            self.tasks.cancel("study")
            self.runner.reset()
            self.layout.show_remarks([])
            self.layout.show_costs("", PASSES_NOTE, False)
        self._want()
        if not all_rows:
            super().estimate(dataset)

    def _want(self) -> None:
        stream, spec = self.session.table.race_data, self.spec
        recipe = spec.recipe.replace(keep=self.study_view.keep / 100, seed=self.session.seed)
        self.streamed.set_run(stream if isinstance(stream, Stream) else None, recipe)

    def pump(self) -> bool:
        """Take over what threads have finished; return whether there may be more."""
        moving = super().pump()
        if self.is_front and self.study_view.over_rows and self.drag is not None and not self.drag.moving:
            self._want()
        return self.streamed.pump() | moving

    def script(self) -> str:
        """Return the script of "copy as Python": of the study, or of the run over all rows."""
        recipe = self.streamed.recipe
        return super().script() if recipe is None else script(self.session, (recipe,), __version__)

    def cost_html(self, costs: PlannedStudy) -> str:
        """Return the table of costs by order."""
        return costs_html(costs, f"{term_html('order')}, all kept")

    def recommendation(self) -> Recommendation | None:
        """Return the verdict's order and share, or those of the slider without a verdict."""
        verdict = self.study_view.verdict
        selected = verdict.recipe if verdict is not None and verdict.recipe is not None else self.study_view.recipe
        if selected is None:
            return None
        model = selected.replace(seed=self.session.seed)
        label = f"n = {selected.params['order']}, {100 * selected.params['keep']:g} % kept"
        return Recommendation(label, lambda: (model, with_family(model, "alr", "order", "alpha", "penalty")))

    def close(self) -> None:
        """Cancel the page's tasks; the study continues, since it belongs to the registry."""
        super().close()
        if "study_view" in vars(self):  # it is built on the first visit
            self.study_view.cancel_search()
