"""The tab "Learning curve" of "Bias and variance": learners that see the rows one by one."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any, ClassVar

from alrviz.data.dataset import Dataset
from alrviz.explorer.recipes.questions import CUSTOM
from alrviz.explorer.recipes.recipe_fields import Choosable
from alrviz.explorer.shell.glossary import explain
from alrviz.explorer.shell.theme import room
from alrviz.explorer.widgets.study_estimate import estimate_recipes
from alrviz.explorer.widgets.study_page import StudyPage
from alrviz.explorer.widgets.study_spec import Menu, RecipeGrid, StudySpec, choice, grids_menu, setting
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.families import FAMILIES
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.solver_support import STOCHASTIC
from alrviz.pictures.formatting import LOSSES
from alrviz.stop import StopToken
from alrviz.studies.core.cost import RecipeEstimate
from alrviz.studies.protocols.learning_curve import learning_curve
from alrviz.views.studies.learning_curve import LearningCurveView

MIN_HEIGHT = "440px"  # of the cards of both tabs
ORDERS = (1, 2, 3)
LEARNING = tuple(name for name, definition in FAMILIES.items() if definition.learns_rows)
REPEATS, WINDOWS = (3, 5, 10, 20, 50), (100, 300, 1000, 3000, 10_000)
_MAX_REPEATS, _MAX_WINDOW = 100, 1_000_000
THETAS = {"rows so far (single-pass)": "single-pass", "all rows (two-pass): leaks": "two-pass"}
# Seconds per row and tuple (6e-8 to 1e-7 on led, led24, poker-hand and waveform), and rows of the search for a step
# length, which tries 16 on 2,000 rows.
_SECONDS_PER_VISIT, _TUNING_VISITS = 8e-8, 16 * 2000


def to_learner(recipe: Recipe) -> Recipe:
    """Return the nearest recipe that can learn row by row."""
    if "solver" not in recipe.params:  # learns by counting
        return recipe
    solver = recipe.params["solver"] if recipe.params["solver"] in STOCHASTIC else "adagrad"
    return recipe.replace(
        solver=solver, alpha=0.0, start="zero", objective="nll", share="cell-class", class_weight=None, bounds=None,
        scale=recipe.definition.params["scale"].default,
    )  # fmt: skip


# Hidden settings have no effect: there is one step per row, and no row is held out.
LEARNER_CHOICES = Choosable(LEARNING, "Learner", ("holdout", "alpha", "max_iter", "tol", "memory"), mend=to_learner)


def _recipes_of(solver: str, *families: str, orders: tuple[int, ...] = ORDERS) -> tuple[Recipe, ...]:
    return tuple(Recipe(family, order=n, solver=solver, alpha=0.0) for family in families for n in orders)


_COUNTING_RECIPES = tuple(Recipe("anje", order=order) for order in ORDERS)
GRIDS: Mapping[str, RecipeGrid] = {
    "orders": RecipeGrid(
        "alr, n = 1, 2, 3",
        "Low orders learn best from few rows: from how many rows on are higher orders better?",
        _recipes_of("adagrad", "alr"),
    ),
    "families": RecipeGrid(
        "lr and alr, n = 1, 2, 3",
        "The same cells and steps, with and without log theta as a scale.",
        _recipes_of("adagrad", "lr", "alr"),
    ),
    "steps": RecipeGrid(
        "sgd and adagrad, n = 2",
        "One step length for all weights, or one for each that shrinks with use.",
        (*_recipes_of("sgd", "lr", "alr", orders=(2,)), *_recipes_of("adagrad", "lr", "alr", orders=(2,))),
    ),
    "counting": RecipeGrid("AnJE, n = 1, 2, 3", "Nothing is fitted: cells are counted, row by row.", _COUNTING_RECIPES),
    "both": RecipeGrid(
        "counting and learning",
        "Generative models win on few rows, discriminative ones on many: the crossing of Ng and Jordan (2002).",
        (*_COUNTING_RECIPES, *_recipes_of("adagrad", "alr")),
    ),
}


def _read_rows(text: str) -> str:
    """Return the valid "shuffles-rows averaged" of a link's text; the default for other texts."""
    match = re.fullmatch(r"(\d{1,9})-(\d{1,9})", text, re.ASCII)
    if match is None:
        return "5-1000"
    return f"{min(max(int(match[1]), 1), _MAX_REPEATS)}-{min(max(int(match[2]), 1), _MAX_WINDOW)}"


@dataclass(frozen=True)
class CurveSpec(StudySpec):
    """Settings of learning curves. `rows` in a link is the number of shuffles and of rows averaged, as in "5-1000"."""

    noun, icon, study_function = "learning curve", "trending_up", staticmethod(learning_curve)
    default_recipes = GRIDS["orders"].recipes
    menus: ClassVar[Mapping[str, Menu]] = {
        "grid": grids_menu(GRIDS),
        "repeats": Menu(
            "Shuffles",
            160,
            lambda spec: {str(number): number for number in sorted({*REPEATS, spec.repeats})},
            choose=lambda spec, repeats: replace(spec, rows=f"{repeats}-{spec.window}"),
            description="The number of random orders of the rows; every learner sees the rows in each of them",
        ),
        "window": Menu(
            "Window (rows)",
            136,
            lambda spec: {f"{number:,}": number for number in sorted({*WINDOWS, spec.window})},
            choose=lambda spec, window: replace(spec, rows=f"{spec.repeats}-{window}"),
            description="The number of latest rows that a point averages",
        ),
        "theta": Menu(
            "log theta from", 152, THETAS, is_visible=lambda spec: spec.has_theta, description=explain("theta")
        ),
    }
    print_code = """study.run()
print(study.summary().to_string())
"""

    rows: str = setting("5-1000", _read_rows, link="folds")
    theta: str = choice("single-pass", tuple(THETAS.values()))

    @property
    def repeats(self) -> int:
        """Number of random orders of the rows."""
        return int(self.rows.split("-")[0])

    @property
    def window(self) -> int:
        """Number of rows that a point averages."""
        return int(self.rows.split("-")[1])

    @property
    def grid(self) -> str:
        """Slug of the grid of these recipes, ignoring cuts."""
        return next((slug for slug, grid in GRIDS.items() if grid.recipes == self.uncut_recipes), CUSTOM)

    @property
    def has_theta(self) -> bool:
        """Whether a learner computes log theta from the rows, as alr does."""
        return any(recipe.definition.learns_rows == "log theta" for recipe in self.recipes)

    @classmethod
    def usable_recipes(cls, recipes: tuple[Recipe, ...]) -> tuple[Recipe, ...]:
        """Return the recipes that can learn row by row, as learners."""
        return tuple(to_learner(recipe) for recipe in recipes if recipe.definition.learns_rows)

    @property
    def holdout(self) -> float:
        """Fraction of rows held out: none, since every row is learned from after it was predicted."""
        return 0.0

    def arguments(self, fits: Sequence[RecipeEstimate]) -> dict[str, Any]:
        """Return shuffles, window and the rows that theta is counted on."""
        return {"repeats": self.repeats, "window": self.window, "theta": self.theta}

    def estimate(self, dataset: Dataset, seed: int, stop: StopToken) -> tuple[RecipeEstimate, ...]:
        """Estimate one pass of every learner."""

        def seconds(recipe: Recipe) -> float:
            rows = dataset.n_rows + (_TUNING_VISITS if "solver" in recipe.params else 0)
            return 0.05 + rows * comb(dataset.X.shape[1], recipe.params["order"]) * _SECONDS_PER_VISIT

        return estimate_recipes(dataset, self.recipes, self.holdout, stop, seconds)

    def cost(self, dataset: Dataset | None, fits: Sequence[RecipeEstimate]) -> Cost:
        """Return the estimated cost of the study: each learner passes over the rows once per shuffle.

        fits: the estimates of one pass of each learner; `dataset` is not used.
        """
        return self.repeats * sum((fit.cost for fit in fits), Cost())

    def new_recipe(self, columns: int) -> Recipe:
        """Return the first learner of the grids that is not chosen yet and whose order the table allows."""
        candidates = (recipe for grid in GRIDS.values() for recipe in grid.recipes if recipe not in self.recipes)
        return next((recipe for recipe in candidates if recipe.params["order"] <= columns), self.recipes[-1])


class CurveTab(StudyPage):
    """The tab of the learning curve."""

    slug, spec_class, view_class, min_height = "learning-curve", CurveSpec, LearningCurveView, MIN_HEIGHT
    choosable = LEARNER_CHOICES
    view_params: ClassVar[Mapping[str, Any]] = {"height": room(270, 246, 184)}
    linked_params, packed_params = ("measure",), ("span",)
    valid_values: ClassVar[Mapping[str, Collection[str]]] = {"measure": LOSSES}
