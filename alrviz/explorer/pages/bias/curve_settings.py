"""What the tab "learning curve" asks for: learners that meet rows one by one, orders of the rows, the window."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

from alrviz.explorer.pages.bias.settings import ORDERS, Grid
from alrviz.explorer.recipes.questions import OWN
from alrviz.explorer.recipes.recipe_fields import Choosable
from alrviz.explorer.session.managed_studies import kept_where
from alrviz.explorer.widgets.study_costs import Costs, price_recipes, processes, remarks_of
from alrviz.fitting.families import FAMILIES
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.solver_support import STOCHASTIC
from alrviz.stop import StopToken

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

LEARNING = tuple(name for name, family in FAMILIES.items() if family.learns_rows)
REPEATS, FIRST_REPEATS = (3, 5, 10, 20, 50), 5
WINDOWS, FIRST_WINDOW = (100, 300, 1000, 3000, 10_000), 1000
_MOST_REPEATS, _MOST_WINDOW = 100, 1_000_000
THETAS = ("two-pass", "single-pass")
# Seconds of a learner's visit of a row, a tuple; rows visited to find the step length: 16 are tried on 2,000 rows.
# Measured on led, led24, poker-hand and waveform: 6e-8 to 1e-7.
_VISIT, _TRIED = 8e-8, 16 * 2000


def learner(recipe: Recipe) -> Recipe:
    """Return the nearest recipe that can learn row by row."""
    if "solver" not in recipe.params:  # its counts learn
        return recipe
    solver = recipe.params["solver"] if recipe.params["solver"] in STOCHASTIC else "adagrad"
    return recipe.replace(
        solver=solver, alpha=0.0, start="zero", objective="nll", share="cell-class", class_weight=None, bounds=None,
        scale=recipe.definition.params["scale"].default,
    )  # fmt: skip


# What has no part in learning row by row: steps are one a row, and rows are never held out.
LEARNERS = Choosable(LEARNING, "Learner", ("holdout", "alpha", "max_iter", "tol", "memory"), mend=learner)


def _by(solver: str, *families: str, orders: tuple[int, ...] = ORDERS) -> tuple[Recipe, ...]:
    return tuple(Recipe(family, order=n, solver=solver, alpha=0.0) for family in families for n in orders)


_COUNTED = tuple(Recipe("anje", order=order) for order in ORDERS)
GRIDS: Mapping[str, Grid] = {
    "orders": Grid(
        "alr, n = 1, 2, 3",
        "Few rows are learned best by low orders; where do the higher ones go ahead?",
        _by("adagrad", "alr"),
    ),
    "families": Grid(
        "lr and alr, n = 1, 2, 3",
        "The same cells and steps, with and without log theta as a scale.",
        _by("adagrad", "lr", "alr"),
    ),
    "steps": Grid(
        "sgd and adagrad, n = 2",
        "One step length for all weights, or one for each that shrinks with use.",
        (*_by("sgd", "lr", "alr", orders=(2,)), *_by("adagrad", "lr", "alr", orders=(2,))),
    ),
    "counting": Grid("AnJE, n = 1, 2, 3", "Nothing is fitted: cells are counted as rows come.", _COUNTED),
    "both": Grid(
        "counting and learning",
        "Counting is ahead while rows are few, learning once there are many: Ng's and Jordan's crossing.",
        (*_COUNTED, *_by("adagrad", "alr")),
    ),
}
FIRST = GRIDS["orders"].recipes


@dataclass(frozen=True)
class Asked:
    """Settings of a study of learning curves."""

    recipes: tuple[Recipe, ...] = FIRST
    repeats: int = FIRST_REPEATS
    window: int = FIRST_WINDOW
    theta: str = THETAS[0]

    @property
    def slug(self) -> str:
        """Shuffles and window, as a link has them; "" for the first."""
        return "" if (self.repeats, self.window) == (FIRST_REPEATS, FIRST_WINDOW) else f"{self.repeats}-{self.window}"

    @property
    def grid(self) -> str:
        """Slug of the grid of these recipes, whatever their cuts are."""
        plain = tuple(recipe.replace(discretize="mdl", n_bins=10) for recipe in self.recipes)
        return next((slug for slug, grid in GRIDS.items() if grid.recipes == plain), OWN)

    @property
    def has_theta(self) -> bool:
        """Whether a learner takes log theta from the rows: alr alone does."""
        return any(recipe.definition.learns_rows == "log theta" for recipe in self.recipes)


def checked(recipes: tuple[Recipe, ...], folds: str, theta: str) -> Asked:
    """Return the settings of a link; what is none of ours is the tab's own."""
    found = tuple(dict.fromkeys(learner(recipe) for recipe in recipes if recipe.definition.learns_rows)) or FIRST
    match = re.fullmatch(r"(\d{1,9})-(\d{1,9})", folds, re.ASCII)
    repeats, window = (int(match[1]), int(match[2])) if match else (FIRST_REPEATS, FIRST_WINDOW)
    return Asked(
        found, min(max(repeats, 1), _MOST_REPEATS), min(max(window, 1), _MOST_WINDOW),
        theta if theta in THETAS else THETAS[0],
    )  # fmt: skip


def fresh(recipes: tuple[Recipe, ...], columns: int) -> Recipe:
    """Return what a press on "+" adds: the first learner of the grids that is not there and has few enough columns."""
    found = (r for grid in GRIDS.values() for r in grid.recipes if r not in recipes and r.params["order"] <= columns)
    return next(found, recipes[-1])


def learn(
    dataset: "Dataset", asked: Asked, seed: int, owner: str, most_jobs: int, stop: StopToken,
    tell: Callable[[str], None],
) -> Costs:  # fmt: skip
    """Price every learner, make the study of those that can be paid for, and take what is kept of it."""
    from alrviz.studies.protocols.learning_curve import learning_curve

    tell("pricing")
    columns = dataset.X.shape[1]

    def seconds(recipe: Recipe) -> float:
        rows = dataset.n_rows + (_TRIED if "solver" in recipe.params else 0)
        return 0.05 + rows * comb(columns, recipe.params["order"]) * _VISIT

    priced = price_recipes(dataset, asked.recipes, 0.0, stop, seconds)
    runnable = [one for one in priced if not one.refused]
    total = sum(one.seconds for one in runnable) * asked.repeats
    n_jobs = processes(total, most_jobs)
    if not runnable:
        return Costs(priced, None, total, n_jobs, remarks_of(dataset, [one.lost for one in priced]))
    stop.check()
    tell("looking for what is kept")
    study = learning_curve(
        dataset, [one.recipe for one in runnable], repeats=asked.repeats, window=asked.window, theta=asked.theta,
        seed=seed, n_jobs=n_jobs, owner=owner, keep=kept_where(),
    )  # fmt: skip
    study.recall()
    return Costs(priced, study, total, n_jobs, remarks_of(dataset, [one.lost for one in priced]))
