"""The page "Bias and variance": a tab for a grid of recipes and training sizes, and one for learning curves."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from alrviz.data.dataset import Dataset
from alrviz.explorer.pages.bias.curve import MIN_HEIGHT, CurveTab
from alrviz.explorer.recipes.questions import CUSTOM
from alrviz.explorer.recipes.recipe_fields import STUDY_CHOICES, alpha_entries
from alrviz.explorer.shell.glossary import explain
from alrviz.explorer.shell.theme import room
from alrviz.explorer.widgets.study_page import StudyPage, StudyTabs
from alrviz.explorer.widgets.study_spec import Menu, RecipeGrid, StudySpec, choice, grids_menu, setting
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.families import FAMILIES
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.bias_variance import line_looks
from alrviz.studies.core.cost import RecipeEstimate, share_seconds
from alrviz.studies.protocols.bias_variance import bias_variance
from alrviz.views.studies.bias_variance import BiasVarianceView

ORDERS = (1, 2, 3)
FOLDS = {"3x2": (3, 2), "5x2": (5, 2), "10x2": (10, 2), "30x2": (30, 2), "5x5": (5, 5), "5x10": (5, 10)}
FOLD_NAMES = {f"{rounds} rounds of {folds}": slug for slug, (rounds, folds) in FOLDS.items()}
SIZES = ("100", "50-100", "25-50-100", "10-30-100", "5-10-25-50-100")
_MAX_SIZES = 6
_SEPARATE_ALPHAS = "-"  # menus cannot show None
_ALPHAS = {"fixed": _SEPARATE_ALPHAS, "by inner folds": "cv", "automatic": "auto"}
_FOLDS_HELP = "Repeated cross-validation: the number of rounds, each with the rows in another order, and of folds"


def _has_alpha(recipe: Recipe) -> bool:
    """Whether a recipe has an alpha that each fold can choose."""
    param = recipe.definition.params.get("alpha")
    return param is not None and "cv" in param.keywords


def with_alpha(recipes: tuple[Recipe, ...], alpha: Any) -> tuple[Recipe, ...]:
    """Return the recipes with this alpha if they have one; None for each family's fixed number."""
    changed_recipes = []
    for recipe in recipes:
        if _has_alpha(recipe):
            param = recipe.definition.params["alpha"]
            if (
                alpha is None
                or isinstance(alpha, float)
                or alpha in param.keywords
                or (param.per_order and alpha != "cv")
            ):
                recipe = recipe.replace(alpha=param.default_in_links if alpha is None else alpha)
        changed_recipes.append(recipe)
    return tuple(changed_recipes)


def _orders(*families: str) -> tuple[Recipe, ...]:
    return with_alpha(tuple(Recipe(family, order=order) for family in families for order in ORDERS), None)


GRIDS: Mapping[str, RecipeGrid] = {
    "orders": RecipeGrid(
        "lr and alr, n = 1, 2, 3",
        "The higher the order, the lower the bias and the higher the variance: which of them wins on this table?",
        _orders("lr", "alr"),
    ),
    "generative": RecipeGrid(
        "AnJE and lr, n = 1, 2, 3",
        "A generative model and its discriminative counterpart: the same cells, counted or fitted.",
        _orders("anje", "lr"),
    ),
    "alphas": RecipeGrid(
        "lr, n = 2, by alpha",
        "A stronger penalty lowers variance and adds bias.",
        tuple(Recipe("lr", order=2, alpha=alpha) for alpha in (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)),
    ),
    "families": RecipeGrid(
        "naive Bayes to forest",
        "Networks relax what naive Bayes assumes; lr n = 2 and a random forest assume less still.",
        (
            Recipe("anje", order=1), Recipe("tan"), Recipe("kdb", k=2, selective=False), Recipe("ande"),
            Recipe("lr", order=2, alpha=0.3), Recipe("rf"),
        ),
    ),
}  # fmt: skip


def _read_sizes(text: str) -> str:
    slug = text if re.fullmatch(r"[1-9]\d?(-[1-9]\d?)*(-100)?|100", text, re.ASCII) else SIZES[0]
    return "-".join(map(str, sorted({int(size) for size in slug.split("-")})[:_MAX_SIZES]))


def _sizes_text(slug: str) -> str:
    sizes = slug.split("-")
    sizes_text = ", ".join(sizes) if len(sizes) < 4 else f"{sizes[0]} to {sizes[-1]}"
    return "100 %" if slug == "100" else f"{sizes_text} %"


def _alphas(spec: "GridSpec") -> dict[str, Any]:
    return _ALPHAS | alpha_entries(spec.alpha)


@dataclass(frozen=True)
class GridSpec(StudySpec):
    """A grid of recipes and training sizes; folds and sizes are slugs."""

    noun, icon, study_function = "bias and variance", "balance", staticmethod(bias_variance)
    default_recipes, splits = GRIDS["orders"].recipes, FOLDS
    menus: ClassVar[Mapping[str, Menu]] = {
        "grid": grids_menu(GRIDS),
        "alpha": Menu(
            "alpha", 144, _alphas, lambda spec: _SEPARATE_ALPHAS if spec.alpha is None else spec.alpha,
            lambda spec, alpha: replace(
                spec, recipes=with_alpha(spec.recipes, None if alpha == _SEPARATE_ALPHAS else alpha)
            ),
            lambda spec: spec.shares_alpha, explain("alpha"),
        ),
        "folds": Menu("Cross-validation", 144, FOLD_NAMES, description=_FOLDS_HELP),
        "sizes": Menu(
            "Training rows used", 156,
            lambda spec: {_sizes_text(slug): slug for slug in dict.fromkeys((*SIZES, spec.sizes))},
            description="Training sizes, in % of the rows of the training folds",
            folded=True,
        ),
    }  # fmt: skip
    print_code = """study.run()
print(study.summary().to_string())
"""

    folds: str = choice("5x2", FOLDS)  # as in [WANBIA-C]
    sizes: str = setting(SIZES[0], _read_sizes)

    @property
    def shares(self) -> tuple[float, ...]:
        """Fractions of the training rows."""
        return tuple(int(size) / 100 for size in self.sizes.split("-"))

    @property
    def grid(self) -> str:
        """Slug of the grid of these recipes, ignoring cuts and an alpha that all of them share."""
        for slug, grid in GRIDS.items():
            if self.uncut_recipes in (grid.recipes, with_alpha(grid.recipes, self.alpha)):
                return slug
        return CUSTOM

    @property
    def alpha(self) -> float | str | None:
        """The alpha of all recipes that have one; None if they differ."""
        alphas = {recipe.params["alpha"] for recipe in self.recipes if _has_alpha(recipe)}
        return alphas.pop() if len(alphas) == 1 else None

    @property
    def shares_alpha(self) -> bool:
        """Whether alpha can be set for all recipes: they share one, or have their families' fixed numbers."""
        has_fixed_numbers = self.recipes == with_alpha(self.recipes, None)
        return any(map(_has_alpha, self.recipes)) and (self.alpha is not None or has_fixed_numbers)

    def arguments(self, fits: Sequence[RecipeEstimate]) -> dict[str, Any]:
        """Return rounds, folds and sizes."""
        return dict(zip(("rounds", "folds"), self.split, strict=True)) | {"train_shares": self.shares}

    def cost(self, dataset: Dataset | None, fits: Sequence[RecipeEstimate]) -> Cost:
        """Return the cost of the study; half of a fit's seconds do not depend on its rows (`share_seconds`)."""
        return sum(map(share_seconds, self.shares)) * super().cost(dataset, fits)

    def new_recipe(self, columns: int) -> Recipe:
        """Return the last recipe's next order, else a family that is not chosen yet."""
        last_recipe = self.recipes[-1]
        if "order" in last_recipe.params and last_recipe.params["order"] < min(ORDERS[-1], columns):
            next_recipe = last_recipe.replace(order=last_recipe.params["order"] + 1)
            if next_recipe not in self.recipes:
                return next_recipe
        present_families = {recipe.family for recipe in self.recipes}
        return with_alpha((Recipe(next(family for family in FAMILIES if family not in present_families)),), None)[0]


class GridTab(StudyPage):
    """The tab of the grid."""

    slug, spec_class, view_class, choosable, min_height = "grid", GridSpec, BiasVarianceView, STUDY_CHOICES, MIN_HEIGHT
    view_params: ClassVar[Mapping[str, Any]] = {"height": room(286, 246, 178)}
    packed_params = ("definition", "axis")
    chip_looks = staticmethod(line_looks)


class BiasPage(StudyTabs):
    """The page with its two tabs."""

    title, icon, group, slug = "Bias and variance", "balance", "Evaluate", "bias"
    tabs: ClassVar[Mapping[str, str]] = {"By model": GridTab.slug, "Learning curve": CurveTab.slug}
    parts = (GridTab, CurveTab)
