"""What the page "Generative to discriminative" asks for, and what is known before it runs: prices, what is kept."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from alrviz.explorer.recipes.questions import MOST_RACERS, STEPS
from alrviz.explorer.session.managed_studies import kept_where
from alrviz.explorer.widgets.study_costs import Costs, price_recipes, processes, remarks_of
from alrviz.fitting.families import choices
from alrviz.fitting.recipe import Recipe
from alrviz.stop import StopToken
from alrviz.studies.protocols.alpha_path import ALPHAS, has_path
from alrviz.studies.protocols.alpha_path_verdict import Reading

if TYPE_CHECKING:
    from alrviz.data.dataset import Dataset

HOLDOUT = 0.3
ORDERS = (1, 2, 3)
FAMILIES = {"alr": ("alr",), "lr": ("lr",), "both": ("lr", "alr")}
CENTERS: dict[str, tuple[Any, ...]] = {"anje": ("anje",), "0": (0,), "1": (1,), "all": (0, 1, "anje")}
# A path is judged at alphas of its own; this one is only so that equal paths are equal recipes.
FIRST = (Recipe("alr", order=2, alpha=1.0, center="anje", max_iter=STEPS),)
# Passes that an unregularised fit takes, for an estimate: it has no finite optimum where rows can be told apart.
_FREE = 500


@dataclass(frozen=True)
class Grid:
    """Paths as the menus have them: slugs of FAMILIES and CENTERS, and an order."""

    families: str
    centers: str
    order: int

    def recipes(self, like: Recipe) -> tuple[Recipe, ...]:
        """The recipes of all families and centers that go together, all else as one has it."""
        pairs = [(family, center) for family in FAMILIES[self.families] for center in CENTERS[self.centers]]
        there = [(family, center) for family, center in pairs if center in choices(family, "center")]
        return tuple(like.replace(family=family, center=center, order=self.order) for family, center in there)


def grid_of(recipes: Sequence[Recipe]) -> Grid | None:
    """Return what the menus show of recipes; None where no choice of theirs gives them."""
    order = recipes[0].params["order"]
    grids = (Grid(families, centers, order) for families in FAMILIES for centers in CENTERS)
    return next((grid for grid in grids if grid.recipes(recipes[0]) == tuple(recipes)), None)


def given_paths(recipes: Sequence[Recipe]) -> tuple[Recipe, ...]:
    """Return those recipes of a link that have a path, as the page has them; its own where there is none."""
    found = [
        recipe.replace(alpha=1.0, objective="nll", holdout=FIRST[0].holdout, seed=0)
        for recipe in recipes
        if has_path(recipe)
    ]
    return tuple(dict.fromkeys(found))[:MOST_RACERS] or FIRST


def learn(
    dataset: "Dataset", recipes: Sequence[Recipe], seed: int, owner: str, most_jobs: int, stop: StopToken,
    tell: Callable[[str], None],
) -> Costs:  # fmt: skip
    """Price every path, make the study of those that can be paid for, and take what is kept of it."""
    from alrviz.studies.protocols.alpha_path import path

    tell("pricing")
    priced = price_recipes(dataset, [recipe.replace(seed=seed) for recipe in recipes], HOLDOUT, stop)
    there = [one for one in priced if not one.refused]
    free = max((one.price.seconds_per_pass or 0.0 for one in there if one.price is not None), default=0.0)
    seconds = sum(one.seconds for one in there) * len(ALPHAS) + 2 * _FREE * free
    left = [recipe for recipe, one in zip(recipes, priced, strict=True) if not one.refused]
    if not left:
        return Costs(priced, None, seconds, 1, remarks_of(dataset, [one.lost for one in priced]))
    stop.check()
    tell("looking for what is kept")
    n_jobs = min(processes(seconds, most_jobs), len(left) + 1)
    study = path(
        dataset, left, alphas=ALPHAS, holdout=HOLDOUT, seed=seed, n_jobs=n_jobs, owner=owner, keep=kept_where()
    )
    study.recall()
    return Costs(priced, study, seconds, n_jobs, remarks_of(dataset, [one.lost for one in priced]))


def racers_of(recipes: Sequence[Recipe], found: Sequence[Reading], seed: int) -> tuple[Recipe, ...]:
    """Return the racers of "use this": each path's recipe at its best alpha; of one path the other family beside it."""
    racers = [recipes[one.racer].replace(alpha=one.alpha, seed=seed) for one in found]
    if len(racers) == 1 and racers[0].params["center"] != 1:
        racers.append(racers[0].replace(family=racers[0].definition.rival))
    return tuple(racers)[:MOST_RACERS]
