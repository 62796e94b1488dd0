"""The page "Generative to discriminative": losses along alpha, a fit that follows a slider, the best alpha to use."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from alrviz import __version__
from alrviz.data.dataset import Dataset
from alrviz.explorer.recipes.questions import MAX_RACERS, STEPS
from alrviz.explorer.shell.glossary import explain
from alrviz.explorer.shell.theme import room
from alrviz.explorer.widgets.study_estimate import estimate_recipes
from alrviz.explorer.widgets.study_page import Answer, StudyPage
from alrviz.explorer.widgets.study_spec import Menu, StudySpec
from alrviz.fitting.cost.cost import Cost
from alrviz.fitting.families import choices
from alrviz.fitting.recipe import Recipe
from alrviz.pictures.formatting import LOSSES
from alrviz.stop import StopToken
from alrviz.studies.core.cost import RecipeEstimate
from alrviz.studies.protocols.alpha_path import ALPHAS, alpha_path, has_path
from alrviz.studies.protocols.alpha_path_verdict import AlphaPathVerdict, alpha_text, best_of
from alrviz.views.studies.path import PathView

ORDERS = (1, 2, 3)
FAMILIES = {"alr": ("alr",), "lr": ("lr",), "both": ("lr", "alr")}
FAMILY_NAMES = {"alr": "alr", "lr": "lr", "lr and alr": "both"}
CENTERS: dict[str, tuple[Any, ...]] = {"anje": ("anje",), "0": (0,), "1": (1,), "all": (0, 1, "anje")}
CENTER_NAMES = {"AnJE": "anje", "nothing (0)": "0", "ones (1)": "1", "compare all": "all"}
_OF_LINK = {"of the link": ""}  # what no choice of the menus gives
# Passes that an unregularised fit takes, for an estimate: it has no finite optimum where rows can be told apart.
_FREE = 500

_ROOM = room(280, 246, 126)  # two lines of menus, the sentence, the measures, the slider, the row of Run


@dataclass(frozen=True)
class PathGrid:
    """Paths as the menus have them: slugs of FAMILIES and CENTERS, and an order."""

    families: str
    centers: str
    order: int

    def recipes(self, like: Recipe) -> tuple[Recipe, ...]:
        """The recipes of all families and centers that go together, all else as one has it."""
        pairs = [(family, center) for family in FAMILIES[self.families] for center in CENTERS[self.centers]]
        there = [(family, center) for family, center in pairs if center in choices(family, "center")]
        return tuple(like.replace(family=family, center=center, order=self.order) for family, center in there)


def grid_of(recipes: Sequence[Recipe]) -> PathGrid | None:
    """Return what the menus show of recipes; None where no choice of theirs gives them."""
    order = recipes[0].params["order"]
    grids = (PathGrid(families, centers, order) for families in FAMILIES for centers in CENTERS)
    return next((grid for grid in grids if grid.recipes(recipes[0]) == tuple(recipes)), None)


def _menu(name: str, label: str, width: int, options: Any, **more: Any) -> Menu:
    """Return the menu of a part of the grid; the rest of recipes of a link becomes what the menus have."""

    def choose(spec: "PathSpec", value: Any) -> "PathSpec":
        grid = replace(spec.grid or PathGrid("alr", "anje", spec.order), **({name: value} if value else {}))
        if grid.centers == "1" and grid.families != "alr":  # of lr there is no such model
            grid = replace(grid, centers="anje")
        return replace(spec, recipes=grid.recipes(spec.recipes[0]))

    def value(spec: "PathSpec") -> Any:
        return "" if spec.grid is None else getattr(spec.grid, name)

    return Menu(label, width, options, value, choose, **more)


def _families(spec: "PathSpec") -> dict[str, str]:
    return FAMILY_NAMES | (_OF_LINK if spec.grid is None else {})


def _centers(spec: "PathSpec") -> dict[str, str]:
    ones = spec.grid is not None and spec.grid.families == "alr"
    names = {name: slug for name, slug in CENTER_NAMES.items() if slug != "1" or ones}
    return names | (_OF_LINK if spec.grid is None else {})


@dataclass(frozen=True)
class PathSpec(StudySpec):
    """Paths along alpha: one for each recipe, whose own alpha is not used."""

    noun, icon, make = "path", "timeline", staticmethod(alpha_path)
    kind = "path"
    # The alpha is only so that equal paths are equal recipes.
    first = (Recipe("alr", order=2, alpha=1.0, center="anje", max_iter=STEPS),)
    menus: ClassVar[Mapping[str, Menu]] = {
        "family": _menu("families", "Family", 136, _families),
        "order": replace(
            _menu("order", "Order", 104, lambda spec: {f"n = {n}": n for n in sorted({*ORDERS, spec.order})}),
            value=lambda spec: spec.order, why=explain("order"),
        ),
        "center": _menu("centers", "Shrink toward", 152, _centers, why=explain("center")),
    }  # fmt: skip
    imports = "from alrviz.studies.protocols.alpha_path_verdict import sentence\n"
    prints = """# The recipes' own alpha is not used.
for row in study.rows():
    if row["outcome"] == "failed":
        print(row["label"], row["sentence"])
    else:
        print(row["racer"], row["alpha"], f"{row['log_loss']:.6f} {row['rmse']:.6f} {row['error']:.6f}")
"""

    @property
    def grid(self) -> PathGrid | None:
        """What the menus show; None where no choice of theirs gives it."""
        return grid_of(self.recipes)

    @property
    def order(self) -> int:
        """The order of the first path."""
        return int(self.recipes[0].params["order"])

    @classmethod
    def usable(cls, recipes: tuple[Recipe, ...]) -> tuple[Recipe, ...]:
        """Return those that have a path, as the page has them."""
        holdout = cls.first[0].holdout
        found = [
            recipe.replace(alpha=1.0, objective="nll", holdout=holdout, seed=0) for recipe in filter(has_path, recipes)
        ]
        return tuple(dict.fromkeys(found))[:MAX_RACERS]

    @property
    def holdout(self) -> float:
        """The path's own."""
        return 0.3

    def arguments(self, fits: Sequence[RecipeEstimate]) -> dict[str, Any]:
        """Return nothing: the path's alphas and split are its own."""
        return {}

    def estimate(self, dataset: Dataset, seed: int, stop: StopToken) -> tuple[RecipeEstimate, ...]:
        """Estimate a fit of every path on the split that it has."""
        return estimate_recipes(dataset, [recipe.replace(seed=seed) for recipe in self.recipes], self.holdout, stop)

    def cost(self, dataset: Dataset | None, fits: Sequence[RecipeEstimate]) -> Cost:
        """Return the cost of the study, two fits without a penalty beside it included."""
        slowest = max((one.one_pass for one in fits), key=lambda one_pass: one_pass.seconds, default=Cost())
        return len(ALPHAS) * sum((one.cost for one in fits), Cost()) + 2 * _FREE * slowest

    def most_processes(self, recipes: tuple[Recipe, ...]) -> int:
        """One for each path, and one for the fits beside them."""
        return len(recipes) + 1


class PathPage(StudyPage):
    """See the module's text; the shell describes what a page is."""

    title, icon, group, slug = "Generative to discriminative", "swap_horiz", "Explore", "path"
    spec_of, view_of = PathSpec, PathView
    looks: ClassVar[Mapping[str, Any]] = {"heights": (_ROOM, f"calc(.645 * {_ROOM})")}
    keys, dragged = ("measure", "path"), "alpha"
    closed: ClassVar[Mapping[str, Collection[str]]] = {"measure": LOSSES}
    use_hint = "race it on the page Convergence"

    def answer(self) -> Answer | None:
        """Return the best alpha of each path."""
        view = self.study_view
        best = best_of(view.readings)
        if best is None or view.study is None:
            return None
        study, readings = view.study, view.readings
        return Answer(f"alpha {alpha_text(best.alpha)}", lambda: racers_of(study.recipes, readings, self.session.seed))

    def script(self) -> str:
        """Return the script of "copy as Python", with the best alphas there are."""
        view, seed, costs = self.study_view, self.session.seed, self.runner.costs
        if costs is None:
            return ""
        best = "".join(
            f"chosen = study.recipes[{one.racer}].replace(alpha={one.alpha!r}, seed={seed})\n"
            f"print(chosen.name, {one.value:.6f})  # the lowest test {view.measure} of this path\n"
            for one in ([] if view.outdated else view.readings)
        )
        prints = f"{self.spec_of.prints}print(sentence(study, {view.measure!r}))\n{best}"
        return str(self.spec.script(self.session, costs, __version__, prints))

    def close(self) -> None:
        """End the threads' work; the study is the registry's."""
        super().close()
        if "study_view" in vars(self):  # it is built on the first visit
            self.study_view.follower.cancel()


def racers_of(recipes: Sequence[Recipe], found: Sequence[AlphaPathVerdict], seed: int) -> tuple[Recipe, ...]:
    """Return the racers of "use this": each path's recipe at its best alpha; of one path the other family beside it."""
    racers = [recipes[one.racer].replace(alpha=one.alpha, seed=seed) for one in found]
    if len(racers) == 1 and racers[0].params["center"] != 1:
        racers.append(racers[0].replace(family=racers[0].definition.rival))
    return tuple(racers)[:MAX_RACERS]
