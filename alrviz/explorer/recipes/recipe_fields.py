"""The settings of a recipe on a page: which are shown, which have an effect, and their choices. Pure data.

What a setting is called, and what it may be, its `Param` says.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from alrviz.errors import RecipeError
from alrviz.explorer.recipes.questions import ALPHAS
from alrviz.fitting.families import ENCODING, FAMILIES, Param
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.solver_support import IN_BATCHES

# Whose weights are found step by step; dlr, of numbers, has a page of its own.
RACING = tuple(name for name, of in FAMILIES.items() if of.counts_cells and "max_iter" in of.params)


@dataclass(frozen=True, slots=True)
class Choosable:
    """What a page lets one choose of a recipe.

    families: those on offer. what: what a recipe is called there. hidden: settings that have no effect there.
    by_fold: whether alpha may be chosen by each fold ("cv").
    mend: turns any recipe of these families into one that the page can take; what it would change is not offered.
    """

    families: tuple[str, ...] = RACING
    what: str = "Racer"
    hidden: Collection[str] = ()
    by_fold: bool = False
    mend: Callable[[Recipe], Recipe] = lambda recipe: recipe

    def values(self, recipe: Recipe, name: str) -> list[Any]:
        """The values that a menu offers for a parameter; [] where a number is to be typed."""
        if name == "alpha" and self.by_fold:
            keywords, own = recipe.definition.params[name].keywords, recipe.params[name]
            return [*keywords, *(alpha for alpha in alphas_beside(own) if alpha not in keywords)]
        return [value for value in offered(recipe, name) if self._keeps(recipe, name, value)]

    def is_menu(self, name: str) -> bool:
        """Whether a parameter is chosen from a menu."""
        return bool(param_of(name).choices) or (name == "alpha" and self.by_fold)

    def shows(self, recipe: Recipe, name: str) -> bool:
        """Whether a setting changes anything for this recipe here."""
        if name in self.hidden or not has_effect(recipe, name):
            return False
        return name in ENCODING or not param_of(name).choices or len(self.values(recipe, name)) > 1

    def _keeps(self, recipe: Recipe, name: str, value: Any) -> bool:
        changed = recipe.replace(**{name: value})
        return self.mend(changed) == changed


RACERS = Choosable()
MODEL = "Model"  # what the recipe of a map is called
# Of a study, which has splits of its own; any family.
JUDGED = Choosable(tuple(FAMILIES), "Recipe", ("holdout",), True)


def alphas_beside(own: Any) -> list[Any]:
    """The strengths of a penalty that a menu offers, with one's own."""
    if not isinstance(own, float):
        return [*ALPHAS, *([own] if isinstance(own, tuple) else [])]  # a word has a line of its own
    return sorted({*ALPHAS, own})


def setting_names(families: Collection[str]) -> list[str]:
    """Return the names of the parameters of these families, in the order of their widgets: as each family lists them.

    >>> setting_names(["kdb", "ande"])
    ['n', 'k', 'selective', 'smoothing']
    """
    names: list[str] = []
    for family in families:
        at = 0
        for name in FAMILIES[family].params:
            if name not in names:
                names.insert(at, name)
            at = names.index(name) + 1
    return names


def param_of(name: str) -> Param:
    """Return the schema of a setting, from the first family that has it: choices may be others in another family."""
    found = (params[name] for params in (ENCODING, *(of.params for of in FAMILIES.values())) if name in params)
    return next(found)


def offered(recipe: Recipe, name: str) -> list[Any]:
    """The values of a parameter that this recipe may take as it is otherwise, on a table in memory; its own is always
    among them.
    """
    own = recipe.value(name)
    able = (value for value in recipe.settings[name].choices if value not in IN_BATCHES or value == own)
    return [value for value in able if value == own or _takes(recipe, name, value)]


def _takes(recipe: Recipe, name: str, value: Any) -> bool:
    try:
        recipe.replace(**{name: value})
    except RecipeError:
        return False
    return True


def has_effect(recipe: Recipe, name: str) -> bool:
    """Whether a setting changes anything for this recipe."""
    param = recipe.settings.get(name)  # a link may race AnJE, which has nothing to set but its tables
    if param is None or not param.has_effect(recipe):
        return False
    return name in ENCODING or not param.choices or len(offered(recipe, name)) > 1
