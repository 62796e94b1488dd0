"""The page "Which order?": the same cross-validation for orders 0 to 3, one sentence, and a way to use the answer."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from alrviz.data.dataset import Dataset
from alrviz.explorer.recipes.recipe_fields import alphas_beside
from alrviz.explorer.shell.glossary import term_html
from alrviz.explorer.shell.theme import room
from alrviz.explorer.widgets.study_estimate import (
    PlannedStudy,
    costs_html,
    estimate_orders,
    estimate_recipes,
    time_line,
)
from alrviz.explorer.widgets.study_page import Answer, StudyPage
from alrviz.explorer.widgets.study_spec import FOLD_NAMES, FOLDS, Menu, StudySpec, choice, recipe_menu
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.families.param import in_digits
from alrviz.fitting.recipe import AUTOMATIC, Recipe
from alrviz.stop import StopToken
from alrviz.studies.core.cost import RecipeEstimate
from alrviz.studies.protocols.choose_order import BOOSTING, OrderStudy, automatic_summary, choose_order, median_alpha
from alrviz.views.studies.order import OrderStudyView

ORDERS = (1, 2, 3)  # and 0, the class prior, which costs nothing
FAMILIES = {"lr": "lr", "alr": "alr", "hlr": "hlr", "halr": "halr", "AnJE": "anje"}
REFERENCES = {"AutoClassifier, boosting": "all", "nothing": "none"}

_ROOM = room(330, 246, 76)  # two lines of menus, the sentence, the row of Run
_COSTS_PX = 172  # px of the table of costs under the reliability curve


def _family(spec: "OrderSpec", family: str) -> "OrderSpec":
    before = spec.recipe
    alpha = before.params.get("alpha", spec.alpha)
    recipe = Recipe(family, seed=before.seed, discretize=before.discretize, n_bins=before.n_bins)
    if "alpha" in recipe.params:
        each = recipe.definition.params["alpha"].each  # one alpha for all orders is not what these are for
        own = "auto" if each and alpha == "cv" else alpha if each or not isinstance(alpha, tuple) else alpha[-1]
        recipe = recipe.replace(alpha=own)
    return replace(spec, recipes=(recipe,), alpha=alpha)


def _alphas(spec: "OrderSpec") -> dict[str, Any]:
    return {"by itself": "auto", "nested CV": "cv"} | {
        in_digits(a): a for a in alphas_beside(spec.recipe.params["alpha"])
    }


@dataclass(frozen=True)
class OrderSpec(StudySpec):
    """Orders of one recipe."""

    noun, icon, make, single = "which order", "stairs", staticmethod(choose_order), True
    first = (Recipe("lr", alpha="cv"),)
    menus: ClassVar[Mapping[str, Menu]] = {
        "family": Menu("Family", 104, FAMILIES, lambda spec: spec.recipe.family, _family),
        "folds": Menu("Cross-validation", 144, FOLD_NAMES),
        "alpha": recipe_menu("alpha", 144, _alphas, "alpha"),
        "center": recipe_menu("center", 136),
        "references": Menu("Compare with", 264, REFERENCES, folded=True),
    }
    prints = """for row in study.rows():
    if row["outcome"] == "failed":
        print(row["order"], row["repeat"], row["fold"], row["sentence"])
    else:
        name = "boosting" if row["label"] == "hgb" else "AutoClassifier" if row["order"] is None else row["order"]
        print(name, row["repeat"], row["fold"], f"{row['log_loss']:.6f}")
print(study.summary())
verdict = study.verdict()
for sentence in (verdict.sentence, *verdict.notes):
    print(sentence)
"""

    folds: str = choice("2x5", FOLDS)
    references: str = choice("all", tuple(REFERENCES.values()))
    alpha: Any = field(default="cv", compare=False)  # the last that was set: AnJE has none

    @property
    def recipe(self) -> Recipe:
        """The recipe, whatever its order."""
        return self.recipes[0]

    @property
    def judges_references(self) -> bool:
        """Whether AutoClassifier's model and boosting are judged beside the orders."""
        return self.references == "all"

    @classmethod
    def usable(cls, recipes: tuple[Recipe, ...]) -> tuple[Recipe, ...]:
        """Return the first that has orders."""
        return tuple(recipe for recipe in recipes if recipe.family in FAMILIES.values())[:1]

    def arguments(self, fits: Sequence[RecipeEstimate]) -> dict[str, Any]:
        """Return the orders that are not refused, and the folds."""
        orders = [0, *(order for order, one in zip(ORDERS, fits, strict=False) if not one.refused)]
        return {"orders": orders} | super().arguments(fits) | {"references": self.judges_references}

    def estimate(self, dataset: Dataset, seed: int, stop: StopToken) -> tuple[RecipeEstimate, ...]:
        """Estimate a fit of each order above 0, and AutoClassifier's where it is judged."""
        named = estimate_orders(dataset, [self.recipe.replace(order=n) for n in ORDERS], self.holdout, stop)
        if not self.judges_references:
            return named
        (automatic,) = estimate_recipes(dataset, [AUTOMATIC], self.holdout, stop)
        refused = automatic.refused or named[0].refused  # n = 1 is its least
        return *named, replace(automatic, name="Auto", note="", refused=refused)

    def runnable(self, fits: Sequence[RecipeEstimate]) -> tuple[Recipe, ...]:
        """Return the recipe, where it has an order above 0."""
        return () if all(one.refused for one in fits[: len(ORDERS)]) else self.recipes

    def cost(self, dataset: Dataset | None, fits: Sequence[RecipeEstimate]) -> Cost:
        """Return the cost of the study, boosting included where it is judged."""
        orders = super().cost(dataset, fits)
        if not self.judges_references:
            return orders
        assert dataset is not None
        rows = round(dataset.n_rows * (1 - self.holdout))
        boosting = BOOSTING.definition.seconds(BOOSTING.params, rows, dataset.X.shape[1], dataset.n_classes)
        return orders + math.prod(self.split) * Cost(seconds=boosting)


class OrderPage(StudyPage):
    """See the module's text; the shell describes what a page is."""

    title, icon, group, slug = "Which order?", "stairs", "Evaluate", "order"
    spec_of, view_of = OrderSpec, OrderStudyView
    looks: ClassVar[Mapping[str, Any]] = {
        "heights": (f"calc(.6 * {_ROOM})", f"calc(.4 * {_ROOM})", f"clamp(240px, {_ROOM} - {_COSTS_PX}px, 420px)")
    }
    judges = True
    use_hint = "race this model on the page Convergence"
    cost_text = staticmethod(time_line)  # the time alone: the menus leave no more room

    def cost_html(self, costs: PlannedStudy) -> str:
        """Return what each order costs: what its fits took, as the picture has it, where some are there."""
        return costs_html(costs, term_html("order"), "", "n", self._measured())

    def _measured(self) -> dict[str, tuple[float, float]]:
        """Return the mean parameters and seconds of the fits of each order, by the name of its estimate."""
        study = self.runner.current
        if study is None:
            return {}
        means = {
            f"n = {line['order']}": (line["parameters"], line["train_seconds"])
            for line in study.summary().to_dict("records")
        }
        automatic = automatic_summary(study)
        return means | ({"Auto": (automatic["parameters"], automatic["train_seconds"])} if automatic else {})

    def answer(self) -> Answer | None:
        """Return the verdict's order, or AutoClassifier's model where that is better."""
        study, verdict = self.study_view.study, self.study_view.verdict
        if study is None or verdict is None:
            return None
        recipe, label = study.recipe(), f"n = {verdict.order}" if verdict.order else ""
        if verdict.automatic is not None:
            recipe, label = AUTOMATIC, f"all orders, n = {verdict.automatic.params['order']}"
        best = None if recipe is None else str(study.names[study.recipes.index(recipe)])
        return Answer(label, lambda: racers_of(study, self.session.seed), best)


def racers_of(study: OrderStudy, seed: int) -> tuple[Recipe, ...]:
    """Return the racers of "use this": the verdict's recipe, and lr or alr beside it; none for the class prior.

    An alpha that each fold chose is the middle one of them. AutoClassifier's model comes first where it is better.
    """
    chosen, automatic = study.recipe(), study.verdict().automatic
    ahead = () if automatic is None else (automatic.replace(seed=seed),)
    if chosen is None:
        return ahead
    if chosen.params.get("alpha") in ("cv", "auto"):
        frame = study.frame()
        mine = frame[(frame.order == chosen.params["order"]) & (frame.outcome != "failed")]
        chosen = chosen.replace(alpha=median_alpha(mine))
    own = chosen.replace(seed=seed)
    if ahead:
        return *ahead, own
    shared = {name: own.params[name] for name in ("order", "alpha", "penalty") if name in own.params}
    if isinstance(shared.get("alpha"), tuple):
        shared["alpha"] = shared["alpha"][-1]  # of the order's own cells
    return own, Recipe(own.definition.rival, seed=seed, **shared)
