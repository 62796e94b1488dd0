"""Recipes in a link: short, typed, whitelisted text.

`alr_o3_a0.01_sanje` is a recipe: the family, then the key and the value of each setting that is not its default in
links (`Param.link_default`); `~` separates recipes. No character needs escaping in a URL. Reading never fails: unknown
parts are ignored, and numbers are clipped to their range. The seed is not part of the text.
"""

import math
import re
from collections.abc import Collection, Mapping
from typing import Any

from alrviz.errors import RecipeError
from alrviz.explorer.recipes.questions import MAX_RACERS
from alrviz.fitting.families import ENCODING, FAMILIES, Param
from alrviz.fitting.recipe import Recipe

_MAX_FIELDS = 50  # per recipe; no family has as many


def write_recipes(recipes: tuple[Recipe, ...]) -> str:
    """Return up to `MAX_RACERS` recipes as text for a link, without their seed."""
    return "~".join(_recipe_text(recipe) for recipe in recipes[:MAX_RACERS])


def read_recipes(
    text: str, seed: int = 0, families: Collection[str] = FAMILIES, words: bool = False
) -> tuple[Recipe, ...]:
    """Return the valid recipes of `families` in a text. words: whether keywords of studies ("cv") are numbers too."""
    racers = [_read_recipe(part, seed, words) for part in text.split("~")[:MAX_RACERS]]
    return tuple(racer for racer in racers if racer is not None and racer.family in families)


def _recipe_text(recipe: Recipe) -> str:
    """Return family and changed parameters as text: "alr_o3_a0.01"."""
    parts = [recipe.family]
    for name, param in recipe.settings.items():
        value = recipe.value(name)
        # a link has no room for dicts
        if param.key and value != param.default_in_links and not isinstance(value, Mapping):
            parts.append(param.key + _value_text(value))
    return "_".join(parts)


def _value_text(value: Any) -> str:
    if isinstance(value, tuple):
        return "-".join(map(_value_text, value))
    return "none" if value is None else f"{value:g}" if _is_short(value) else str(value)


def _is_short(value: Any) -> bool:
    """Whether a float has at most six digits."""
    return isinstance(value, float) and float(f"{value:g}") == value


def _read_recipe(text: str, seed: int, keywords: bool) -> Recipe | None:
    """Return the recipe of a text; None if it is invalid. keywords: whether those of studies ("cv") are valid."""
    family, *fields = text.split("_")[:_MAX_FIELDS]
    if family not in FAMILIES:
        return None
    param_by_key = {
        param.key: (name, param) for name, param in {**FAMILIES[family].params, **ENCODING}.items() if param.key
    }
    settings: dict[str, Any] = {name: param.default_in_links for name, param in param_by_key.values()}
    for field in fields:
        if field[:1] in param_by_key:
            name, param = param_by_key[field[:1]]
            keyword = field[1:] if field[1:] in param.keywords and (keywords or field[1:] == "auto") else None
            settings[name] = keyword or _read_value(param, field[1:])
    try:
        return Recipe(family, seed=seed, **settings)
    except RecipeError:
        return None


def _read_value(param: Param, text: str) -> Any:
    """Return a parameter's value, numbers clamped to its bounds; for an invalid text what a link without it means.

    A text without a number and choices without the text are invalid.
    """
    if param.choices:
        choice_by_text = {_value_text(choice): choice for choice in param.choices}
        return choice_by_text.get(text, param.default_in_links)
    try:
        numbers = [float(part) for part in re.split("(?<=[0-9f])-", text)]
    except ValueError:
        return param.default_in_links
    if any(map(math.isnan, numbers)) or (len(numbers) > 1 and not param.per_order):
        return param.default_in_links
    if len(numbers) > 1:
        return tuple(number if number == math.inf else param.clamp(number) for number in numbers)
    return param.clamp(numbers[0])
