"""The settings of a recipe on a page: which are shown, which have an effect, and their choices. Pure data.

The `Param` of a setting has its label and its range.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from alrviz.errors import RecipeError
from alrviz.explorer.recipes.questions import MENU_PENALTIES, apply_cuts
from alrviz.fitting.families import ENCODING, FAMILIES, Param
from alrviz.fitting.families.param import in_digits
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.solver_support import IN_BATCHES

# Families with cells whose fit has iterations. dlr, which has no cells, is fitted on the page Boundaries.
RACING_FAMILIES = tuple(
    name for name, definition in FAMILIES.items() if definition.counts_cells and "max_iter" in definition.params
)


@dataclass(frozen=True, slots=True)
class Choosable:
    """The recipes that a page accepts.

    Attributes:
        families: the families offered.
        noun: what the page calls a recipe.
        hidden: settings that have no effect on the page.
        chooses_alpha_by_fold: whether each fold may choose its alpha ("cv").
        mend: returns the nearest recipe that the page accepts. Values that it would change are not offered.
        is_single: whether the page has one recipe, so that its settings are shared with none.
    """

    families: tuple[str, ...] = RACING_FAMILIES
    noun: str = "Model"
    hidden: Collection[str] = ()
    chooses_alpha_by_fold: bool = False
    mend: Callable[[Recipe], Recipe] = lambda recipe: recipe
    is_single: bool = False

    def values(self, recipe: Recipe, name: str) -> list[Any]:
        """Return the values that a menu offers for a parameter; [] for a number that is typed."""
        if name == "alpha" and self.chooses_alpha_by_fold:
            keywords, value = recipe.definition.params[name].keywords, recipe.params[name]
            return [*keywords, *(alpha for alpha in alpha_choices(value) if alpha not in keywords)]
        return [value for value in valid_choices(recipe, name) if self._is_kept(recipe, name, value)]

    def is_menu(self, name: str) -> bool:
        """Whether a parameter is chosen from a menu."""
        return bool(param_of(name).choices) or (name == "alpha" and self.chooses_alpha_by_fold)

    def shows(self, recipe: Recipe, name: str) -> bool:
        """Whether a setting has an effect on this recipe, and the page offers a choice."""
        if name in self.hidden or not has_effect(recipe, name):
            return False
        return name in ENCODING or not param_of(name).choices or len(self.values(recipe, name)) > 1

    def _is_kept(self, recipe: Recipe, name: str, value: Any) -> bool:
        new_recipe = recipe.replace(**{name: value})
        return self.mend(new_recipe) == new_recipe


def family_entries(families: Collection[str]) -> dict[str, str]:
    """Return the entries of a menu of families: names by label.

    >>> family_entries(["alr", "anje", "rf"])
    {'alr (lr, preconditioned)': 'alr', 'AnJE (counts, no fit)': 'anje', 'random forest': 'rf'}
    """
    notes = {name: FAMILIES[name].menu_note for name in families}
    return {FAMILIES[name].words + (f" ({note})" if note else ""): name for name, note in notes.items()}


RACE_CHOICES = Choosable()
# Any family; a study splits the rows itself.
STUDY_CHOICES = Choosable(tuple(FAMILIES), "Model", ("holdout",), True)


def alpha_choices(current: Any) -> list[Any]:
    """Return the strengths of a penalty that a menu offers, including the current one."""
    if not isinstance(current, float):
        # Keywords are other entries of the menu.
        return [*MENU_PENALTIES, *([current] if isinstance(current, tuple) else [])]
    return sorted({*MENU_PENALTIES, current})


def alpha_entries(current: Any) -> dict[str, Any]:
    """Return the entries of a menu of strengths of a penalty: values by label, including the current one."""
    return {in_digits(alpha): alpha for alpha in alpha_choices(current)}


def with_family(recipe: Recipe, family: str, *names: str) -> Recipe:
    """Return a recipe of another family with the same seed and cuts, and the same values of these parameters.

    Parameters that one of the families lacks are left out; an alpha that is not kept is the family's fixed number.
    """
    settings = FAMILIES[family].params
    params = {name: recipe.params[name] for name in names if name in recipe.params and name in settings}
    if "alpha" in settings:
        params.setdefault("alpha", settings["alpha"].default_in_links)
    cuts = {"discretize": recipe.discretize, "n_bins": recipe.n_bins}
    return apply_cuts(Recipe(family, seed=recipe.seed, **params), cuts)


def change_family(recipe: Recipe, family: str) -> Recipe:
    """Return the recipe with another family; an alpha that is not kept is the family's fixed number.

    A model of a race must not choose its alpha only because its family was changed.
    """
    result = recipe.replace(family=family)
    if "alpha" in result.params and result.params["alpha"] != recipe.params.get("alpha"):
        return result.replace(alpha=result.definition.params["alpha"].default_in_links)
    return result


def setting_names(families: Collection[str]) -> list[str]:
    """Return the parameter names of these families in the order of their widgets, which keeps each family's order.

    >>> setting_names(["kdb", "ande"])
    ['n', 'k', 'selective', 'smoothing', 'class_weight']
    """
    names: list[str] = []
    for family in families:
        position = 0
        for name in FAMILIES[family].params:
            if name not in names:
                names.insert(position, name)
            position = names.index(name) + 1
    return names


def param_of(name: str) -> Param:
    """Return the schema of a setting from the first family that has it; other families may have other choices."""
    schemas = (ENCODING, *(definition.params for definition in FAMILIES.values()))
    return next(params[name] for params in schemas if name in params)


def valid_choices(recipe: Recipe, name: str) -> list[Any]:
    """Return the valid values of a parameter, given the recipe's other settings and a table in memory.

    The current value is always among them.
    """
    current = recipe.value(name)
    candidates = (value for value in recipe.settings[name].choices if value not in IN_BATCHES or value == current)
    return [value for value in candidates if value == current or _takes(recipe, name, value)]


def _takes(recipe: Recipe, name: str, value: Any) -> bool:
    """Return whether the recipe is valid with this value, for a table in memory."""
    try:
        recipe.replace(**{name: value})
    except RecipeError:
        return False
    return True


def has_effect(recipe: Recipe, name: str) -> bool:
    """Whether a setting changes anything for this recipe."""
    param = recipe.settings.get(name)  # None for solver settings of AnJE, which a link may race
    if param is None or not param.has_effect(recipe):
        return False
    return name in ENCODING or not param.choices or len(valid_choices(recipe, name)) > 1
