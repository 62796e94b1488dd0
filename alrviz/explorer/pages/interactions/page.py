"""The page "Interactions": what carries a model, how sure that is, and why a row is predicted so."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from alrviz.explorer.recipes.recipe_fields import alphas_beside
from alrviz.explorer.shell.glossary import explain
from alrviz.explorer.widgets.study_costs import Costs, price_recipes, time_line
from alrviz.explorer.widgets.study_page import StudyPage
from alrviz.explorer.widgets.study_spec import Menu, StudySpec, choice, recipe_menu
from alrviz.fitting.families.param import in_digits
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.core.cost import RecipePrice
from alrviz.studies.protocols.effect_bands import FAMILIES, effect_bands
from alrviz.views.studies.interactions import InteractionsView

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

ORDERS = (1, 2, 3, 4)
REFITS = {"0": 0, "10": 10, "30": 30, "100": 100}
HOLDOUT = 0.3

ABOUT = r"""
A model of [[order]] $n$ gives every [[cell]] of its [[tuple|tuples]] a score. Its cells overlap: a pair also says what
its two columns say by themselves. Here the score is *taken apart* so that nothing is said twice,
$\text{score}_k(x) = b_k + \sum_S f_S(x_S, k)$, where the mean of $f_S$ over the rows that agree in all other columns
of $S$ is 0: main effects, then what pairs add to them, then triples. The sum is exact for every row.

*Bars* rank tuples by what leaving them out would cost, in [[nats]] a row (half the variance of $f_S$ over the classes);
whiskers are the 90 % band of *refits* with other row weights (the [[Bayesian bootstrap]]). The *square* beside them has
main effects on its diagonal and pairs beside it; columns that interact stand near each other. Press a bar or a cell to
see the [[pure effect]] of each of that tuple's cells: blue for the first class, vermilion for the other, the paler the
fewer rows, hatched where no row is; of three or more columns a slice through the row below.

*Left out (muted)*: the figures of the [[held-out]] rows follow at once; the curve shows the loss when only the best
tuples are kept. Muting a pair leaves the main effects of its columns. *A row*: its log-odds as a sum, and the
probability were one of its levels another. Where columns are nearly equal, what they share is split between them."""


def _family(spec: "InteractionsSpec", family: str) -> "InteractionsSpec":
    before = spec.recipe
    taken = {name: before.params[name] for name in ("order", "alpha") if name in before.params}
    own = {name: value for name, value in taken.items() if name in Recipe(family).params}
    return replace(
        spec, recipes=(Recipe(family, seed=before.seed, discretize=before.discretize, n_bins=before.n_bins, **own),)
    )


def _alphas(spec: "InteractionsSpec") -> dict[str, Any]:
    return {in_digits(a): a for a in alphas_beside(spec.recipe.params["alpha"])}


@dataclass(frozen=True)
class InteractionsSpec(StudySpec):
    """One recipe, and how many refits."""

    noun, icon, make, single = "interactions", "hub", staticmethod(effect_bands), True
    first = (Recipe("hlr", order=2, alpha=1.0),)
    menus: ClassVar[Mapping[str, Menu]] = {
        "family": Menu("Family", 104, {name: name for name in FAMILIES}, lambda spec: spec.recipe.family, _family),
        "order": recipe_menu("order", {f"n = {n}": n for n in ORDERS}, "Order", 96, why=explain("order")),
        "alpha": recipe_menu("alpha", _alphas, "alpha", 104, why=explain("alpha")),
        "refits": Menu("Refits", 96, {name: name for name in REFITS}),
    }
    prints = """study.run()
print(study.interactions.sentence())
print(study.importance())
"""

    refits: str = choice("30", REFITS)

    @property
    def recipe(self) -> Recipe:
        """The recipe."""
        return self.recipes[0]

    @property
    def holdout(self) -> float:
        """Share of the rows that losses are measured on."""
        return HOLDOUT

    @classmethod
    def usable(cls, recipes: tuple[Recipe, ...]) -> tuple[Recipe, ...]:
        """Return the first whose cells refits share."""
        found = (
            recipe
            for recipe in recipes
            if recipe.family in FAMILIES
            and recipe.params.get("keep", 1.0) == 1.0
            and not any(isinstance(recipe.params.get(name), str) for name in ("order", "alpha"))
            and recipe.params.get("unseen") != "m-estimate"
        )
        return tuple(found)[:1]

    def arguments(self, priced: Sequence[RecipePrice]) -> dict[str, Any]:
        """Return how many refits, and the share held out."""
        return {"refits": REFITS[self.refits], "holdout": HOLDOUT}

    def seconds(self, dataset: "Dataset | None", there: Sequence[RecipePrice]) -> float:
        """Return about how long the fit and the refits take."""
        return sum(one.seconds for one in there) * (1 + REFITS[self.refits])

    def price(self, dataset: "Dataset", seed: int, stop: StopToken) -> tuple[RecipePrice, ...]:
        """Price the fit."""
        return price_recipes(dataset, self.recipes, HOLDOUT, stop)


class InteractionsPage(StudyPage):
    """See the module's text; the shell describes what a page is."""

    title, icon, group, slug = "Interactions", "hub", "Understand", "interactions"
    spec_of, view_of, about = InteractionsSpec, InteractionsView, ABOUT
    viewed = ("subset", "quantity", "of", "against", "row", "column")
    use_hint = "race this model on the page Convergence"

    def price_line(self, known: Costs) -> str:
        """Return the time alone: the menus leave no more room."""
        return time_line(known)

    def offer(self) -> str:
        """The model, once it is fitted."""
        return "this model" if self.study_view.found is not None else ""

    def racers(self) -> tuple[Recipe, ...]:
        """The model, and its rival beside it."""
        mine = self.spec.recipe.replace(seed=self.session.seed)
        shared = {name: mine.params[name] for name in ("order", "alpha") if name in mine.params}
        other = mine.definition.rival or "alr"
        known = {name: value for name, value in shared.items() if name in Recipe(other).params}
        return mine, Recipe(other, seed=self.session.seed, **known)
