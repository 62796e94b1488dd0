"""What the page "Bias and variance" asks for: grids of recipes, rounds and folds, training sizes; what they cost."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from alrviz.explorer.recipes.questions import OWN
from alrviz.explorer.session.managed_studies import kept_where
from alrviz.explorer.widgets.study_costs import Costs, price_recipes, processes, remarks_of
from alrviz.fitting.families import FAMILIES
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

ORDERS = (1, 2, 3)
FOLDS = {"3x2": (3, 2), "5x2": (5, 2), "10x2": (10, 2), "30x2": (30, 2), "5x5": (5, 5), "5x10": (5, 10)}
FIRST_FOLDS = "5x2"  # as [WANBIA-C] has it
FIRST_SIZES = "100"
SIZES = (FIRST_SIZES, "50-100", "25-50-100", "10-30-100", "5-10-25-50-100")
_MOST_SIZES = 6


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid of recipes: how the menu calls it, a line on what it shows, its recipes."""

    words: str
    why: str
    recipes: tuple[Recipe, ...]


def _orders(*families: str) -> tuple[Recipe, ...]:
    return tuple(Recipe(family, order=order) for family in families for order in ORDERS)


GRIDS: Mapping[str, Grid] = {
    "orders": Grid(
        "lr and alr, n = 1, 2, 3",
        "The higher the order, the lower the bias and the higher the variance: which of them wins on this table?",
        _orders("lr", "alr"),
    ),
    "generative": Grid(
        "AnJE and lr, n = 1, 2, 3",
        "A generative model and its discriminative counterpart: the same cells, counted or fitted.",
        _orders("anje", "lr"),
    ),
    "alphas": Grid(
        "lr, n = 2, by alpha",
        "A stronger penalty takes variance away and adds bias.",
        tuple(Recipe("lr", order=2, alpha=alpha) for alpha in (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)),
    ),
    "families": Grid(
        "naive Bayes to forest",
        "Networks relax what naive Bayes assumes; lr n = 2 and a random forest assume less still.",
        (
            Recipe("anje", order=1), Recipe("tan"), Recipe("kdb", k=2), Recipe("ande"), Recipe("lr", order=2),
            Recipe("rf"),
        ),
    ),
}  # fmt: skip
FIRST = GRIDS["orders"].recipes


@dataclass(frozen=True)
class Asked:
    """Settings of a study of bias and variance; folds and sizes are slugs, as a link has them."""

    recipes: tuple[Recipe, ...] = FIRST
    folds: str = FIRST_FOLDS
    sizes: str = FIRST_SIZES

    @property
    def splits(self) -> tuple[int, int]:
        """Rounds and folds."""
        return FOLDS[self.folds]

    @property
    def shares(self) -> tuple[float, ...]:
        """Shares of the training rows."""
        return tuple(int(size) / 100 for size in self.sizes.split("-"))

    @property
    def grid(self) -> str:
        """Slug of the grid of these recipes, whatever their cuts are, and their alpha where it is one for all."""
        plain = tuple(recipe.replace(discretize="mdl", n_bins=10) for recipe in self.recipes)
        for slug, grid in GRIDS.items():
            if plain in (grid.recipes, pulled(grid.recipes, self.alpha)):
                return slug
        return OWN

    @property
    def alpha(self) -> float | str | None:
        """The alpha that all recipes have that can; None where it is each family's own, or several."""
        given = {recipe.params["alpha"] for recipe in self.recipes if _pulls(recipe)}
        return given.pop() if len(given) == 1 else None

    @property
    def shares_alpha(self) -> bool:
        """Whether there is an alpha to be set for all: it is one for all, or each family's own."""
        with_own = self.recipes == pulled(self.recipes, None)
        return any(map(_pulls, self.recipes)) and (self.alpha is not None or with_own)


def checked(recipes: tuple[Recipe, ...], folds: str, sizes: str) -> Asked:
    """Return the settings of a link; what is none of ours is the page's own."""
    given = sizes if re.fullmatch(r"[1-9]\d?(-[1-9]\d?)*(-100)?|100", sizes, re.ASCII) else FIRST_SIZES
    shares = sorted({int(size) for size in given.split("-")})[:_MOST_SIZES]
    distinct = tuple(dict.fromkeys(recipes))
    return Asked(distinct or FIRST, folds if folds in FOLDS else FIRST_FOLDS, "-".join(map(str, shares)))


def _pulls(recipe: Recipe) -> bool:
    """Whether a recipe has an alpha that a fold may choose."""
    param = recipe.definition.params.get("alpha")
    return param is not None and param.word is not None


def pulled(recipes: tuple[Recipe, ...], alpha: float | str | None) -> tuple[Recipe, ...]:
    """Return the recipes with this alpha where they have one; None: each family's own."""
    found = []
    for recipe in recipes:
        if _pulls(recipe):
            own = recipe.definition.params["alpha"].default
            recipe = recipe.replace(alpha=own if alpha is None else alpha)
        found.append(recipe)
    return tuple(found)


def learn(
    dataset: "Dataset", asked: Asked, seed: int, owner: str, most_jobs: int, stop: StopToken,
    tell: Callable[[str], None],
) -> Costs:  # fmt: skip
    """Price every recipe, make the study of those that can be paid for, and take what is kept of it."""
    from alrviz.studies.protocols.bias_variance import bias_variance

    tell("pricing")
    rounds, folds = asked.splits
    priced = price_recipes(dataset, asked.recipes, 1 / folds, stop)
    runnable = [one for one in priced if not one.refused]
    # Half of what a fit takes does not shrink with its rows.
    sizes = sum((1 + share) / 2 for share in asked.shares)
    seconds = sum(one.seconds for one in runnable) * rounds * folds * sizes
    n_jobs = processes(seconds, most_jobs)
    if not runnable:
        return Costs(priced, None, seconds, n_jobs, remarks_of(dataset, [one.lost for one in priced]))
    stop.check()
    tell("looking for what is kept")
    study = bias_variance(
        dataset, [one.recipe for one in runnable], rounds=rounds, folds=folds, train_shares=asked.shares, seed=seed,
        n_jobs=n_jobs, owner=owner, keep=kept_where(),
    )  # fmt: skip
    study.recall()
    study.summary()  # what is kept is taken apart here, not where it is shown
    return Costs(priced, study, seconds, n_jobs, remarks_of(dataset, [one.lost for one in priced]))


def fresh(recipes: tuple[Recipe, ...], columns: int) -> Recipe:
    """Return what a press on "+" adds: the last recipe's next order, else a family that is not there yet."""
    last = recipes[-1]
    if "order" in last.params and last.params["order"] < min(ORDERS[-1], columns):
        higher = last.replace(order=last.params["order"] + 1)
        if higher not in recipes:
            return higher
    there = {recipe.family for recipe in recipes}
    return Recipe(next(family for family in FAMILIES if family not in there))
