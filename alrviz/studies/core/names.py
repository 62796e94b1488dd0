"""Short names of racers: the family, and the parameters by which racers of one family differ."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from alrviz.fitting.families.param import in_digits
from alrviz.fitting.recipe import AUTOMATIC, Recipe
from alrviz.fitting.solvers.solver_support import SOLVER_NAMES

_WORDS = {
    "order": "n={}",
    "structure": "{}",
    "cross_tuning": "{}",
    "sum_missing": "missing {}",
    "start": "from {}",
    "solver": "{}",
    "alpha": "alpha {}",
    "center": "to {}",
    "penalty": "on {}",
    "share": "w by {}",
    "smoothing": "m={:g}",
    "max_iter": "{} steps",
}
_MODELS = {"zero": "0", "one": "1", "anje": "AnJE", "shares": "class shares", 0: "0", 1: "1"}
_VALUES: Mapping[str, Mapping[Any, str]] = {
    "start": _MODELS, "center": _MODELS, "cross_tuning": {True: "tuned", False: "to the end"}, "solver": SOLVER_NAMES,
    "sum_missing": {True: "summed out", False: "a level", "auto": "by structure"},
}  # fmt: skip
_TUPLES = {1: "columns", 2: "pairs", 3: "triples", 4: "quadruples"}


def short_names(recipes: Sequence[Recipe]) -> list[str]:
    """Return a distinct name for each recipe: its label, and the settings by which it differs from others of its label.

    AutoClassifier's recipe has that name.

    >>> short_names([Recipe("lr", alpha=1), *(Recipe("alr", alpha=1, start=start) for start in ("zero", "anje"))])
    ['lr', 'alr from 0', 'alr from AnJE']
    """
    names = []
    for recipe in recipes:
        if _plain_recipe(recipe) == AUTOMATIC:
            names.append("AutoClassifier")
            continue
        rivals = [rival for rival in recipes if rival.label == recipe.label and _plain_recipe(rival) != AUTOMATIC]
        rival_fields, fields = [_fields(rival) for rival in rivals], _fields(recipe)
        differing_names = [name for name in fields if len({rival[name] for rival in rival_fields if name in rival}) > 1]
        if len({rival.params.get("solver") for rival in rivals}) == 1:  # then "auto" follows from the other parameters
            differing_names = [name for name in differing_names if name != "solver"]
        names.append(" ".join([recipe.label, *(parameter_words(name, fields[name]) for name in differing_names)]))
    n_by_name, n_named = Counter(names), Counter[str]()
    for k, name in enumerate(names):
        n_named[name] += 1
        if n_by_name[name] > 1:
            names[k] = f"{name} #{n_named[name]}"
    return names


def _plain_recipe(recipe: Recipe) -> Recipe:
    return recipe.replace(seed=AUTOMATIC.seed, holdout=AUTOMATIC.holdout)


def _fields(recipe: Recipe) -> dict[str, Any]:
    """Return parameters and encoding by name, in the order of a name's parts; all values are hashable."""
    params: dict[str, Any] = {**recipe.params, "solver": recipe.solver}
    for name in ("class_weight", "structure"):
        if hasattr(params.get(name), "items"):
            params[name] = "given"
    if not params.get("alpha"):  # without a penalty its center and place have no effect
        params = {name: value for name, value in params.items() if name not in ("center", "penalty")}
    encoding_values = {name: getattr(recipe, name) for name in ("discretize", "n_bins", "holdout", "seed")}
    leading_params = {name: params[name] for name in _WORDS if name in params}
    return {**leading_params, **params, **encoding_values}


def parameter_words(name: str, value: Any) -> str:
    """Return a parameter's value as it appears in a racer's name."""
    if name == "alpha":
        value = in_digits(value)
        if value in ("cv", "auto"):
            return "alpha by inner folds" if value == "cv" else "automatic alpha"
    return _WORDS.get(name, name + "={}").format(_VALUES.get(name, {}).get(value, value))


def tuples_text(order: int) -> str:
    """Return the name of tuples of `order` columns.

    >>> tuples_text(2), tuples_text(7)
    ('pairs', 'tuples of 7 columns')
    """
    return _TUPLES.get(order, f"tuples of {order} columns")
