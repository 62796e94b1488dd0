"""Recipes in a link: short, typed, whitelisted text.

`alr_o3_a0.01_sanje` is a racer: the family, then one letter and a value for each parameter that is not its default;
`~` stands between racers. Both marks, and every value, need no escaping in a URL. Reading never fails: what is not
known is left out, a number out of range is moved to the nearest end, and the seed comes from outside.
"""

import math
import re
from collections.abc import Collection
from typing import Any

from alrviz.errors import RecipeError
from alrviz.explorer.recipes.questions import MOST_RACERS
from alrviz.explorer.recipes.recipe_fields import HIGHEST
from alrviz.fitting.families import ENCODING, FAMILIES
from alrviz.fitting.families.param import Param
from alrviz.fitting.recipe import Recipe

LETTERS = {
    "o": "order",
    "a": "alpha",
    "p": "penalty",
    "c": "center",
    "s": "start",
    "k": "scale",
    "v": "solver",
    "m": "smoothing",
    "x": "missing",
    "u": "unseen",
    "w": "class_weight",
    "i": "max_iter",
    "t": "tol",
    "y": "memory",
    "d": "discretize",
    "b": "n_bins",
    "h": "holdout",
    "f": "share",
    "j": "objective",
    "e": "bounds",
    "q": "bandwidth",
    "r": "validation_fraction",
    "z": "structure",
    "g": "cross_tuning",
    "M": "sum_missing",
    "n": "n",
    "K": "k",
    "S": "selective",
    "T": "n_estimators",
    "L": "learning_rate",
    "C": "C",
    "F": "kernel",
    "B": "selection",
    "G": "grow",
    "P": "keep",
    "U": "unit",
}
# A link must not ask a server for what no page offers; these have no end there, but must stay numbers one can fit.
_HIGHEST = {**HIGHEST, "alpha": 1e9, "smoothing": 1e3}


def write_recipes(recipes: tuple[Recipe, ...]) -> str:
    """Return up to six recipes as text for a link (their seed is not in it)."""
    return "~".join(_write(recipe) for recipe in recipes[:MOST_RACERS])


def read_recipes(
    text: str, seed: int = 0, families: Collection[str] = tuple(FAMILIES), words: bool = False
) -> tuple[Recipe, ...]:
    """Return the recipes of `families` that `text` holds, leaving out what is not one.

    words: whether a number may be a word ("cv") that only studies know what to do with.
    """
    racers = [_read(part, seed, words) for part in text.split("~")[:MOST_RACERS]]
    return tuple(racer for racer in racers if racer is not None and racer.family in families)


def _param(family: str, name: str) -> Param | None:
    return FAMILIES[family].params.get(name) or ENCODING.get(name)


def _write(recipe: Recipe) -> str:
    parts = [recipe.family]
    for letter, name in LETTERS.items():
        param = _param(recipe.family, name)
        if param is None:
            continue
        value = recipe.params[name] if name in recipe.params else getattr(recipe, name)
        if value != param.default and not hasattr(value, "items"):  # weights by class do not fit into a link
            parts.append(letter + _text(value))
    return "_".join(parts)


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "-".join(map(_text, value))
    return "none" if value is None else f"{value:g}" if _is_short(value) else str(value)


def _is_short(value: Any) -> bool:
    """Whether six digits say all there is to a float."""
    return isinstance(value, float) and float(f"{value:g}") == value


def _read(text: str, seed: int, words: bool) -> Recipe | None:
    family, *fields = text.split("_")[: len(LETTERS) + 1]
    if family not in FAMILIES:
        return None
    given: dict[str, Any] = {}
    for field in fields:
        name = LETTERS.get(field[:1], "")
        param = _param(family, name)
        if param is not None:
            word = field[1:] if field[1:] in param.words and (words or field[1:] == "auto") else None
            given[name] = word or _value(name, param, field[1:])
    try:
        return Recipe(family, seed=seed, **given)
    except RecipeError:
        return None


def _value(name: str, param: Param, text: str) -> Any:
    if param.choices:
        by_text = {_text(choice): choice for choice in param.choices}
        return by_text.get(text, param.default)
    try:
        given = [float(part) for part in re.split("(?<=[0-9f])-", text)]
    except ValueError:
        return param.default
    if any(map(math.isnan, given)) or (len(given) > 1 and not param.each):
        return param.default
    if len(given) > 1:
        return tuple(one if one == math.inf else _number(name, param, one) for one in given)
    return _number(name, param, given[0])


def _number(name: str, param: Param, number: float) -> Any:
    number = min(max(number, param.low), param.high, _HIGHEST.get(name, math.inf))
    if param.open_low and number <= param.low:
        return param.default
    return int(number) if param.integer else number
