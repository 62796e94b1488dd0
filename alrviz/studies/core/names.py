"""Short names for racers: the family, and of the parameters only those by which racers of one family differ."""

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
    """One distinct name a recipe: its label where that tells it apart, else what differs ("alr from AnJE").
    What AutoClassifier fits has that name.

    >>> short_names([Recipe("lr"), Recipe("alr", start="zero"), Recipe("alr", start="anje")])
    ['lr', 'alr from 0', 'alr from AnJE']
    """
    names = []
    for recipe in recipes:
        if _plain(recipe) == AUTOMATIC:
            names.append("AutoClassifier")
            continue
        alike = [other for other in recipes if other.label == recipe.label and _plain(other) != AUTOMATIC]
        rivals, fields = [_fields(other) for other in alike], _fields(recipe)
        differing = [name for name in fields if len({rival[name] for rival in rivals if name in rival}) > 1]
        if len({other.params.get("solver") for other in alike}) == 1:  # "auto" follows from what else differs
            differing = [name for name in differing if name != "solver"]
        names.append(" ".join([recipe.label, *(parameter_words(name, fields[name]) for name in differing)]))
    count = Counter(names)
    seen: Counter[str] = Counter()
    for k, name in enumerate(names):
        seen[name] += 1
        if count[name] > 1:
            names[k] = f"{name} #{seen[name]}"
    return names


def _plain(recipe: Recipe) -> Recipe:
    return recipe.replace(seed=AUTOMATIC.seed, holdout=AUTOMATIC.holdout)


def _fields(recipe: Recipe) -> dict[str, Any]:
    """Parameters and encoding by name, in the order in which a name mentions them, all of them hashable."""
    params: dict[str, Any] = {**recipe.params, "solver": recipe.solver}
    for name in ("class_weight", "structure"):
        if hasattr(params.get(name), "items"):
            params[name] = "given"
    if not params.get("alpha"):  # unregularised, neither its center nor its place says anything
        params = {name: value for name, value in params.items() if name not in ("center", "penalty")}
    encoding = {name: getattr(recipe, name) for name in ("discretize", "n_bins", "holdout", "seed")}
    first = {name: params[name] for name in _WORDS if name in params}
    return {**first, **params, **encoding}


def parameter_words(name: str, value: Any) -> str:
    """Return a parameter as names of racers say it."""
    if name == "alpha":
        value = in_digits(value)
        if value in ("cv", "auto"):
            return "nested CV" if value == "cv" else "alpha by itself"
    return _WORDS.get(name, name + "={}").format(_VALUES.get(name, {}).get(value, value))


def tuples_text(order: int) -> str:
    """Return what tuples of so many columns are called.

    >>> tuples_text(2), tuples_text(7)
    ('pairs', 'tuples of 7 columns')
    """
    return _TUPLES.get(order, f"tuples of {order} columns")
