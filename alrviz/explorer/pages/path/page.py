"""The page "Generative to discriminative": losses along alpha, a fit at the slider's alpha, and the best alpha."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from alrviz import __version__
from alrviz.data.dataset import Dataset
from alrviz.explorer.recipes.questions import MAX_ITERATIONS, MAX_RACERS
from alrviz.explorer.recipes.recipe_fields import family_entries
from alrviz.explorer.shell.glossary import explain
from alrviz.explorer.shell.theme import room
from alrviz.explorer.widgets.study_estimate import estimate_recipes
from alrviz.explorer.widgets.study_page import Recommendation, StudyPage
from alrviz.explorer.widgets.study_spec import Menu, StudySpec
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.families import choices
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.formatting import LOSSES
from alrviz.stop import StopToken
from alrviz.studies.core.cost import RecipeEstimate
from alrviz.studies.protocols.alpha_path import ALPHAS, alpha_path, has_alpha_path
from alrviz.studies.protocols.alpha_path_verdict import AlphaPathVerdict, alpha_text, best_of
from alrviz.views.studies.path import PathView

ORDERS = (1, 2, 3)
FAMILY_SETS = {"alr": ("alr",), "lr": ("lr",), "both": ("lr", "alr")}
FAMILY_NAMES = {**family_entries(["alr", "lr"]), "lr and alr": "both"}
CENTERS: dict[str, tuple[Any, ...]] = {"anje": ("anje",), "0": (0,), "1": (1,), "all": (0, 1, "anje")}
CENTER_NAMES = {"AnJE": "anje", "zero": "0", "one": "1", "compare all": "all"}
_FROM_LINK = {"from the link": ""}  # recipes of a link that the menus cannot produce
# Passes of a fit without a penalty, for the estimate; it has no finite optimum on separable rows.
_UNPENALISED_PASSES = 500

_ROOM = room(280, 246, 126)  # two lines of menus, the sentence, the measures, the slider, the row of Run


@dataclass(frozen=True)
class MenuValues:
    """Values of the three menus: keys of FAMILY_SETS and of CENTERS, and the order of interactions."""

    families: str
    centers: str
    order: int

    @property
    def has_center_one(self) -> bool:
        """Whether all families can shrink toward 1."""
        return all(1 in choices(family, "center") for family in FAMILY_SETS[self.families])

    def recipes(self, template: Recipe) -> tuple[Recipe, ...]:
        """Return the recipes of all valid pairs of family and center; other settings are the template's."""
        pairs = [(family, center) for family in FAMILY_SETS[self.families] for center in CENTERS[self.centers]]
        available_pairs = [(family, center) for family, center in pairs if center in choices(family, "center")]
        return tuple(
            template.replace(family=family, center=center, order=self.order) for family, center in available_pairs
        )


def menu_values_of(recipes: Sequence[Recipe]) -> MenuValues | None:
    """Return the menus' values for recipes; None if the menus cannot produce these."""
    order = recipes[0].params["order"]
    candidates = (MenuValues(families, centers, order) for families in FAMILY_SETS for centers in CENTERS)
    return next((values for values in candidates if values.recipes(recipes[0]) == tuple(recipes)), None)


def _path_menu(name: str, label: str, width: int, options: Any, **params: Any) -> Menu:
    """Return the menu of a field (`name`) of `MenuValues`; a choice sets the recipes to those of the menus.

    Recipes that no values of the menus give, as a link may hold, give way to the default values with this choice.
    `params` are further parameters of the `Menu`.
    """

    def choose(spec: "PathSpec", value: Any) -> "PathSpec":
        values = replace(spec.menu_values or MenuValues("alr", "anje", spec.order), **({name: value} if value else {}))
        if values.centers == "1" and not values.has_center_one:
            values = replace(values, centers="anje")
        return replace(spec, recipes=values.recipes(spec.recipe))

    def value(spec: "PathSpec") -> Any:
        return "" if spec.menu_values is None else getattr(spec.menu_values, name)

    return Menu(label, width, options, value, choose, **params)


def _families(spec: "PathSpec") -> dict[str, str]:
    return FAMILY_NAMES | (_FROM_LINK if spec.menu_values is None else {})


def _centers(spec: "PathSpec") -> dict[str, str]:
    has_center_one = spec.menu_values is not None and spec.menu_values.has_center_one
    names = {name: slug for name, slug in CENTER_NAMES.items() if slug != "1" or has_center_one}
    return names | (_FROM_LINK if spec.menu_values is None else {})


@dataclass(frozen=True)
class PathSpec(StudySpec):
    """Paths along alpha: one for each recipe, ignoring its alpha."""

    noun, icon, study_function = "path", "timeline", staticmethod(alpha_path)
    kind = "path"
    # One alpha for all, so that equal paths are equal recipes.
    default_recipes = (Recipe("alr", order=2, alpha=1.0, center="anje", max_iter=MAX_ITERATIONS),)
    menus: ClassVar[Mapping[str, Menu]] = {
        "family": _path_menu("families", "Family", 204, _families, description=explain("family")),
        "order": replace(
            _path_menu("order", "Order", 88, lambda spec: {f"n = {n}": n for n in sorted({*ORDERS, spec.order})}),
            value=lambda spec: spec.order, description=explain("order"),
        ),
        "center": _path_menu(
            "centers", "Shrink toward", 136, _centers, description=f"{explain('center')} AnJE: {explain('AnJE')}"
        ),
    }  # fmt: skip
    imports = "from alrviz.studies.protocols.alpha_path_verdict import path_verdict\n"
    print_code = """# The recipes' own alpha is not used.
for row in study.rows():
    if row["outcome"] == "failed":
        print(row["label"], row["sentence"])
    else:
        print(row["racer"], row["alpha"], f"{row['log_loss']:.6f} {row['rmse']:.6f} {row['error']:.6f}")
"""

    @property
    def menu_values(self) -> MenuValues | None:
        """The menus' values; None if they cannot produce these recipes."""
        return menu_values_of(self.recipes)

    @property
    def order(self) -> int:
        """The order of the first path."""
        return int(self.recipe.params["order"])

    @classmethod
    def usable_recipes(cls, recipes: tuple[Recipe, ...]) -> tuple[Recipe, ...]:
        """Return the recipes that have a path, with the settings that a path ignores at their defaults."""
        holdout = cls.default_recipes[0].holdout
        paths = [
            recipe.replace(alpha=1.0, objective="nll", holdout=holdout, seed=0)
            for recipe in filter(has_alpha_path, recipes)
        ]
        return tuple(dict.fromkeys(paths))[:MAX_RACERS]

    @property
    def holdout(self) -> float:
        """Fraction of test rows of a path."""
        return 0.3

    def arguments(self, fits: Sequence[RecipeEstimate]) -> dict[str, Any]:
        """Return {}: a path has fixed alphas and a fixed split."""
        return {}

    def estimate(self, dataset: Dataset, seed: int, stop: StopToken) -> tuple[RecipeEstimate, ...]:
        """Estimate one fit of every path."""
        return estimate_recipes(dataset, [recipe.replace(seed=seed) for recipe in self.recipes], self.holdout, stop)

    def cost(self, dataset: Dataset | None, fits: Sequence[RecipeEstimate]) -> Cost:
        """Return the cost of the study, including two fits without a penalty."""
        slowest = max((fit.one_pass for fit in fits), key=lambda one_pass: one_pass.seconds, default=Cost())
        return len(ALPHAS) * sum((fit.cost for fit in fits), Cost()) + 2 * _UNPENALISED_PASSES * slowest

    def max_processes(self, recipes: tuple[Recipe, ...]) -> int:
        """Return one for each path, and one for the fits without a penalty."""
        return len(recipes) + 1


class PathPage(StudyPage):
    """The page "Generative to discriminative"."""

    title, icon, group, slug = "Generative to discriminative", "swap_horiz", "Explore", "path"
    spec_class, view_class = PathSpec, PathView
    view_params: ClassVar[Mapping[str, Any]] = {"heights": (_ROOM, f"calc(.645 * {_ROOM})")}
    linked_params, dragged_param = ("measure", "path"), "alpha"
    valid_values: ClassVar[Mapping[str, Collection[str]]] = {"measure": LOSSES}
    offers_race = True

    def recommendation(self) -> Recommendation | None:
        """Return the models at the best alpha of each path."""
        view = self.study_view
        best_verdict = best_of(view.readings)
        if best_verdict is None or view.study is None:
            return None
        study, readings = view.study, view.readings
        return Recommendation(
            f"alpha {alpha_text(best_verdict.alpha)}", lambda: racers_of(study.recipes, readings, self.session.seed)
        )

    def script(self) -> str:
        """Return the script of "copy as Python", with the best alphas found so far."""
        view, seed, costs = self.study_view, self.session.seed, self.runner.costs
        if costs is None:
            return ""
        chosen_code = "".join(
            f"chosen = study.recipes[{verdict.racer}].replace(alpha={verdict.alpha!r}, seed={seed})\n"
            f"print(chosen.name, {verdict.value:.6f})  # the lowest test {view.measure} of this path\n"
            for verdict in ([] if view.outdated else view.readings)
        )
        print_code = f"{self.spec_class.print_code}print(path_verdict(study, {view.measure!r}))\n{chosen_code}"
        return str(self.spec.script(self.session, costs, __version__, print_code))

    def close(self) -> None:
        """Cancel the page's tasks; the study continues, since it belongs to the registry."""
        super().close()
        if "study_view" in vars(self):  # it is built on the first visit
            self.study_view.follower.cancel()


def racers_of(recipes: Sequence[Recipe], verdicts: Sequence[AlphaPathVerdict], seed: int) -> tuple[Recipe, ...]:
    """Return each path's recipe at its best alpha; a single path is joined by its rival family."""
    racers = [recipes[verdict.racer].replace(alpha=verdict.alpha, seed=seed) for verdict in verdicts]
    if len(racers) == 1 and racers[0].params["center"] != 1:
        racers.append(racers[0].replace(family=racers[0].definition.rival))
    return tuple(racers)[:MAX_RACERS]
