"""The page "Which order?": cross-validation of orders 0 to 3 on the same folds, and a recommended order."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from alrviz.data.dataset import Dataset
from alrviz.explorer.recipes.recipe_fields import alpha_entries, family_entries, with_family
from alrviz.explorer.shell.glossary import term_html
from alrviz.explorer.shell.theme import room
from alrviz.explorer.widgets.study_estimate import (
    PlannedStudy,
    costs_html,
    estimate_orders,
    estimate_recipes,
    time_line,
)
from alrviz.explorer.widgets.study_page import Recommendation, StudyPage
from alrviz.explorer.widgets.study_spec import (
    FAMILY_MENU_WIDTH,
    FOLD_NAMES,
    FOLDS,
    Menu,
    StudySpec,
    choice,
    recipe_menu,
)
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.recipe import AUTOMATIC, Recipe
from alrviz.stop import StopToken
from alrviz.studies.core.cost import RecipeEstimate
from alrviz.studies.protocols.choose_order import BOOSTING, OrderStudy, automatic_summary, choose_order, median_alpha
from alrviz.views.studies.order import OrderStudyView

ORDERS = (1, 2, 3)  # and 0, the class shares, which are not fitted
ORDER_FAMILIES = ("lr", "alr", "hlr", "halr", "anje")
REFERENCES = {"Auto and boosting": "all", "nothing": "none"}

_ROOM = room(330, 246, 76)  # two lines of menus, the sentence, the row of Run
_COSTS_PX = 172  # px of the table of costs under the reliability curve


def _family(spec: "OrderSpec", family: str) -> "OrderSpec":
    """Return the spec with another family; alpha is adapted to it, or kept in the spec if the family has none."""
    previous = spec.recipe
    alpha = previous.params.get("alpha", spec.alpha)
    recipe = with_family(previous, family)
    if "alpha" in recipe.params:
        if recipe.definition.params["alpha"].per_order:  # "cv" would choose one alpha for all orders
            recipe = recipe.replace(alpha="auto" if alpha == "cv" else alpha)
        else:
            recipe = recipe.replace(alpha=alpha[-1] if isinstance(alpha, tuple) else alpha)
    return replace(spec, recipes=(recipe,), alpha=alpha)


def _alphas(spec: "OrderSpec") -> dict[str, Any]:
    return {"automatic": "auto", "by inner folds": "cv"} | alpha_entries(spec.recipe.params["alpha"])


@dataclass(frozen=True)
class OrderSpec(StudySpec):
    """Cross-validation of the orders of one recipe."""

    noun, icon, study_function, takes_one_recipe = "which order", "stairs", staticmethod(choose_order), True
    default_recipes = (Recipe("lr", alpha="cv"),)
    menus: ClassVar[Mapping[str, Menu]] = {
        "family": Menu(
            "Family", FAMILY_MENU_WIDTH, family_entries(ORDER_FAMILIES), lambda spec: spec.recipe.family, _family
        ),
        "folds": Menu("Cross-validation", 144, FOLD_NAMES),
        "alpha": recipe_menu("alpha", 144, _alphas, "alpha"),
        "center": recipe_menu("center", 104),
        "references": Menu("Compare with", 264, REFERENCES, folded=True),
    }
    print_code = """for row in study.rows():
    if row["outcome"] == "failed":
        print(row["order"], row["repeat"], row["fold"], row["sentence"])
    else:
        name = "boosting" if row["label"] == "hgb" else "AutoClassifier" if row["order"] is None else row["order"]
        print(name, row["repeat"], row["fold"], f"{row['log_loss']:.6f}")
print(study.summary())
verdict = study.verdict()
for text in (verdict, *verdict.notes):
    print(text)
"""

    folds: str = choice("2x5", FOLDS)
    references: str = choice("all", tuple(REFERENCES.values()))
    alpha: Any = field(default="cv", compare=False)  # remembered while a family without alpha is chosen

    @property
    def fits_references(self) -> bool:
        """Whether AutoClassifier and gradient boosting are fitted for comparison."""
        return self.references == "all"

    @classmethod
    def usable_recipes(cls, recipes: tuple[Recipe, ...]) -> tuple[Recipe, ...]:
        """Return the first recipe of a family that has orders."""
        return tuple(recipe for recipe in recipes if recipe.family in ORDER_FAMILIES)[:1]

    def arguments(self, fits: Sequence[RecipeEstimate]) -> dict[str, Any]:
        """Return the orders that are not refused, and the folds."""
        orders = [0, *(order for order, fit in zip(ORDERS, fits, strict=False) if not fit.refusal)]
        return {"orders": orders} | super().arguments(fits) | {"references": self.fits_references}

    def estimate(self, dataset: Dataset, seed: int, stop: StopToken) -> tuple[RecipeEstimate, ...]:
        """Estimate a fit of each order above 0, and of AutoClassifier if it is compared."""
        estimates = estimate_orders(dataset, [self.recipe.replace(order=n) for n in ORDERS], self.holdout, stop)
        if not self.fits_references:
            return estimates
        (automatic,) = estimate_recipes(dataset, [AUTOMATIC], self.holdout, stop)
        reason = automatic.refusal or estimates[0].refusal  # AutoClassifier's lowest order is 1
        return *estimates, replace(automatic, name="Auto", note="", refusal=reason)

    def runnable(self, fits: Sequence[RecipeEstimate]) -> tuple[Recipe, ...]:
        """Return the recipe, unless all its orders are refused."""
        return () if all(fit.refusal for fit in fits[: len(ORDERS)]) else self.recipes

    def cost(self, dataset: Dataset | None, fits: Sequence[RecipeEstimate]) -> Cost:
        """Return the cost of the study, including boosting if it is compared."""
        orders = super().cost(dataset, fits)
        if not self.fits_references:
            return orders
        assert dataset is not None
        rows = round(dataset.n_rows * (1 - self.holdout))
        boosting = BOOSTING.definition.seconds(BOOSTING.params, rows, dataset.X.shape[1], dataset.n_classes)
        return orders + math.prod(self.split) * Cost(seconds=boosting)


class OrderPage(StudyPage):
    """The page "Which order?"."""

    title, icon, group, slug = "Which order?", "stairs", "Evaluate", "order"
    spec_class, view_class = OrderSpec, OrderStudyView
    view_params: ClassVar[Mapping[str, Any]] = {
        "heights": (f"calc(.6 * {_ROOM})", f"calc(.4 * {_ROOM})", f"clamp(240px, {_ROOM} - {_COSTS_PX}px, 420px)")
    }
    has_evaluation = True
    offers_race = True
    cost_text = staticmethod(time_line)  # the time only: the menus fill the row

    def cost_html(self, costs: PlannedStudy) -> str:
        """Return the table of costs by order, measured if fits have finished."""
        return costs_html(costs, term_html("order"), self._measurements())

    def _measurements(self) -> dict[str, tuple[float, float]]:
        """Return mean parameters and seconds of the finished fits, by the name of the estimate."""
        study = self.runner.current
        if study is None:
            return {}
        means = {
            f"n = {summary_row['order']}": (summary_row["parameters"], summary_row["train_seconds"])
            for summary_row in study.summary().to_dict("records")
        }
        automatic = automatic_summary(study)
        return means | ({"Auto": (automatic["parameters"], automatic["train_seconds"])} if automatic else {})

    def recommendation(self) -> Recommendation | None:
        """Return the verdict's order, or AutoClassifier's model if that is better."""
        study, verdict = self.study_view.study, self.study_view.verdict
        if study is None or verdict is None:
            return None
        recipe, label = study.recipe(), f"n = {verdict.order}" if verdict.order else ""
        if verdict.automatic is not None:
            recipe, label = AUTOMATIC, f"all orders, n = {verdict.automatic.params['order']}"
        best_name = None if recipe is None else str(study.names[study.recipes.index(recipe)])
        return Recommendation(label, lambda: racers_of(study, self.session.seed), best_name)


def racers_of(study: OrderStudy, seed: int) -> tuple[Recipe, ...]:
    """Return the recommended models: the verdict's recipe and its rival (lr or alr).

    If AutoClassifier's model is better, they are that model and the verdict's recipe. Order 0, the class shares, has no
    recipe: then AutoClassifier's model if it is better, else (). If each fold chose an alpha, the recipe has their
    median. seed: the seed that the models get.
    """
    recipe, automatic_recipe = study.recipe(), study.verdict().automatic
    automatic_racers = () if automatic_recipe is None else (automatic_recipe.replace(seed=seed),)
    if recipe is None:
        return automatic_racers
    if recipe.params.get("alpha") in ("cv", "auto"):
        fits = study.frame()
        order_rows = fits[(fits.order == recipe.params["order"]) & (fits.outcome != "failed")]
        recipe = recipe.replace(alpha=median_alpha(order_rows))
    model = recipe.replace(seed=seed)
    if automatic_racers:
        return *automatic_racers, model
    alpha = model.params.get("alpha")
    # A rival has one alpha: that of the highest order.
    one_alpha_model = model.replace(alpha=alpha[-1]) if isinstance(alpha, tuple) else model
    return model, with_family(one_alpha_model, model.definition.rival, "order", "alpha", "penalty")
