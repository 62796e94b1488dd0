"""A recipe: the one description of a fit.

Together with the data's hash it is the key of the run store; it is what a link carries, a row of a study, and what
"copy as Python" writes. Defaults are filled in when it is made, so that it means the same under a later version.
Parameters are checked by the registry of families, which estimators and pages ask too.
"""

import json
import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from types import MappingProxyType
from typing import Any

from alrviz.data.encoded import SMOOTH_WAYS
from alrviz.errors import RecipeError
from alrviz.fitting.families import ENCODING, FAMILIES, Param, check_param, family_of
from alrviz.fitting.families.family import Family
from alrviz.fitting.fit_settings import Params

FORMAT = 2  # format 1 is from before the first release and is not read
# Smooth levels by order. One column tells no more from 32 on, whatever the rows, but cells grow as a power of them.
# (Validation log loss at order 2 of 8, 16 and 24: magic .317, .300, .294, vowel .29, .25, .22, in 1, 3 and 4 times the
# time.) "auto" tries order 1 first, and the others with their own cuts.
SMOOTH_LEVELS: Mapping[object, int] = {1: 64, "auto": 64, 2: 24, 3: 8}
MIN_SMOOTH_LEVELS = 5
_SMOOTH_OR_AUTO = (*SMOOTH_WAYS, "auto")


@dataclass(frozen=True, init=False, eq=False)
class Recipe:
    """What to fit and how: a family, its parameters, how columns become levels, and which rows are test rows.

    Args:
        family: "lr", "alr", "hlr", "halr", "salr", "hsalr", "anje", "dlr", "elr", "tan", "kdb", "ande", "rf", "hgb"
            (boosting) or "svm".
        discretize: "mdl", "quantile", "uniform", "smooth" (many quantiles, whose weights are penalised by the
            differences of neighbours in lr, alr, hlr and halr), "mdl-smooth" (MDL's cuts, and smooth levels of those
            columns in which it finds none), "auto" ("smooth", or "mdl-smooth" where that loses less on validation
            rows; see choose_order.py) or None (every distinct value is a level); dlr, rf, hgb and svm cut nothing.
        n_bins: Number of levels for "quantile" and "uniform".
        holdout: Share of the rows that are test rows, stratified by class; 0 for none.
        seed: Seed of that split, and of whatever the fit itself draws: start="random", the order of rows of the
            solvers sgd and adagrad, dlr's validation rows, elr's folds, the trees of rf and hgb, the calibration
            of svm.
        params: The family's parameters, by the estimators' names; others take their defaults.

    Raises:
        RecipeError: an unknown family, name or value, with the nearest valid one; values that exclude each other.

    >>> Recipe("alr", order=2, alpha=0).name
    'alr n=2 from zero, L-BFGS'
    """

    family: str
    discretize: str | None
    n_bins: int
    holdout: float
    seed: int
    params: Params

    def __init__(
        self,
        family: str,
        *,
        discretize: str | None = "mdl",
        n_bins: int = 10,
        holdout: float = 0.3,
        seed: int = 0,
        **params: Any,
    ):
        definition = family_of(family)
        checked_params = {name: check_param(family, name, value) for name, value in params.items()}
        all_params = {name: checked_params.get(name, param.default) for name, param in definition.params.items()}
        definition.check_together(all_params)
        if discretize == "auto" and not definition.smooths:
            raise RecipeError(f"{family} has no smooth levels, which discretize='auto' needs; expected 'mdl'")
        if discretize in _SMOOTH_OR_AUTO:
            definition.check_smooth(all_params)
        encoding = {"discretize": discretize, "n_bins": n_bins, "holdout": holdout, "seed": seed}
        object.__setattr__(self, "family", family)
        for name, value in encoding.items():
            object.__setattr__(self, name, ENCODING[name].check(name, value))
        object.__setattr__(self, "params", MappingProxyType(dict(sorted(all_params.items()))))

    @property
    def definition(self) -> Family:
        """The family as an object: its texts, costs and fits."""
        return family_of(self.family)

    @property
    def label(self) -> str:
        """Short family name for legends and colours: "lr", "diagonal", "adaptive", "alr", "alrj", "anje" or "nb"."""
        return self.definition.label(self.params)

    @property
    def solver(self) -> str:
        """The solver that will run, "auto" resolved (choice.py); with little memory a run may choose another one."""
        return self.definition.solver(self.params)

    @property
    def name(self) -> str:
        """One line: what is fitted, the start, loss, penalty, bounds and solver."""
        return self.definition.title(self.params)

    @property
    def cuts(self) -> str | None:
        """How numeric columns are cut.

        `discretize`, except: "keep" if the family takes numbers as they are; "quantile" for "smooth" and "mdl" for
        "mdl-smooth" if it treats levels separately; for "auto" what is tried first.
        """
        if self.definition.takes_numbers:
            return "keep"
        if self.discretize == "mdl-smooth":
            return "mdl-smooth" if self.definition.smooths else "mdl"
        if self.discretize in _SMOOTH_OR_AUTO:
            return "smooth" if self.definition.smooths else "quantile"
        return self.discretize

    @property
    def most_levels(self) -> int:
        """The maximum number of levels of a numeric column: `n_bins`, or for smooth levels a number that suits the
        order.
        """
        order = self.params.get("order", 2)
        return self.n_bins if self.discretize not in _SMOOTH_OR_AUTO else SMOOTH_LEVELS.get(order, MIN_SMOOTH_LEVELS)

    @property
    def encoding(self) -> tuple[str | None, int, str]:
        """Key that is equal for recipes that turn columns into the same levels."""
        return self.cuts, self.most_levels, self.missing

    @property
    def missing(self) -> str:
        """How missing values are treated: "level", as one more level, or "skip", as no level."""
        return self.definition.missing(self.params)

    @property
    def is_random(self) -> bool:
        """Whether the same training rows give a different fit with another seed."""
        return self.definition.is_random(self.params)

    @property
    def is_paper_fit(self) -> bool:
        """Whether the papers ran this fit: its family has settings of the papers, and the recipe has all of them."""
        paper = self.definition.paper_params(self.params)
        return bool(paper) and all(self.params[name] == value for name, value in paper.items())

    @property
    def settings(self) -> Mapping[str, Param]:
        """The schema of every setting: the family's parameters, then those of the encoding."""
        return {**self.definition.params, **ENCODING}

    def value(self, name: str) -> Any:
        """Return the value of the setting `name`, a parameter or one of the encoding."""
        return self.params[name] if name in self.params else getattr(self, name)

    @property
    def changed_settings(self) -> dict[str, Any]:
        """The settings that differ from the family's defaults, parameters first; mappings as dicts."""
        values = {name: self.value(name) for name in (*self.params, *ENCODING)}
        changed_values = {name: value for name, value in values.items() if value != self.settings[name].default}
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in changed_values.items()}

    def replace(self, **changes: Any) -> "Recipe":
        """Return a recipe with some fields or parameters changed."""
        settings = {**{name: getattr(self, name) for name in ENCODING}, **self.params, **changes}
        family = settings.pop("family", self.family)
        if family != self.family:  # values that the other family does not have or allow fall back to its default
            explicit_names = {name for name in changes if name != "family"}
            settings = {
                k: v for k, v in settings.items() if k in explicit_names or k in ENCODING or _is_valid(family, k, v)
            }
        alpha, order = settings.get("alpha"), settings.get("order")
        if isinstance(alpha, tuple) and isinstance(order, int) and "order" in changes and "alpha" not in changes:
            alphas = (*alpha, *alpha[-1:] * order)[:order]  # new orders get the penalty of the highest order so far
            settings["alpha"] = alphas if any(map(math.isfinite, alphas)) else min(filter(math.isfinite, alpha))
        return Recipe(family, **settings)

    def to_json(self) -> str:
        """Return the recipe as JSON with sorted keys and a format number."""
        params = {k: _as_json(v) for k, v in self.params.items()}
        encoding_settings = {name: getattr(self, name) for name in ENCODING}
        content = {"format": FORMAT, "family": self.family, "params": params, **encoding_settings}
        return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Recipe":
        """Return the recipe in a text that `to_json` wrote; raise `RecipeError` for any other text."""
        try:
            content = json.loads(text)
            format_number, family, params = content.pop("format"), content.pop("family"), dict(content.pop("params"))
            settings = family_of(family).params
            for name, value in params.items():
                if isinstance(value, list) and name in settings and settings[name].parse:
                    params[name] = dict(value)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise RecipeError(f"this is not a recipe: {error}; expected JSON that Recipe.to_json wrote") from error
        if format_number != FORMAT:
            raise RecipeError(
                f"recipe format {format_number!r} is of another version of alrviz; this one reads format {FORMAT}"
            )
        unknown_fields = set(content) - set(ENCODING)
        if unknown_fields:
            raise RecipeError(f"a recipe has no field {sorted(unknown_fields)[0]!r}; expected {', '.join(ENCODING)}")
        for name, value in params.items():  # a name such as "seed" or "self" must not reach the constructor twice
            check_param(family, name, value)
        return cls(family, **content, **params)

    def key(self, data_hash: str) -> str:
        """Return the SHA-256 of recipe and data hash together: equal keys are equal fits."""
        return sha256(f"{self.to_json()}|{data_hash}".encode()).hexdigest()

    def __repr__(self) -> str:
        return f"Recipe({', '.join([repr(self.family), *(f'{k}={v!r}' for k, v in self.changed_settings.items())])})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __reduce__(self) -> tuple[Any, ...]:
        return Recipe.from_json, (self.to_json(),)


# The recipe of AutoClassifier.
AUTOMATIC = Recipe("hlr", order="auto", alpha="auto", center="shares", discretize="auto", tol=1e-4)


def require_recipe(value: object) -> None:
    """Raise `RecipeError` unless `value` is a recipe; the message says how to make one."""
    if not isinstance(value, Recipe):
        is_family = isinstance(value, str) and value in FAMILIES
        example = f"Recipe({value!r})" if is_family else "one such as Recipe('alr', order=2)"
        raise RecipeError(f"{reprlib.repr(value)} is no recipe; expected {example}")


def recipe_list(value: "Sequence[Recipe] | Recipe") -> "tuple[Recipe, ...]":
    """Return `value`, one recipe or several, as a tuple; raise `RecipeError` for none, or for anything else."""
    recipes = (value,) if isinstance(value, Recipe | str) or not isinstance(value, Iterable) else tuple(value)
    if not recipes:
        raise RecipeError("at least one recipe is needed; expected some such as [Recipe('lr'), Recipe('alr')]")
    for recipe in recipes:
        require_recipe(recipe)
    return recipes


def paper_mode(recipe: Recipe) -> Recipe:
    """Return `recipe` as the papers would have fitted it, with the same family, order, scale and encoding.

    It starts from zero, with a weight for each cell and class, no penalty, no bounds and no class weights; unseen cells
    have the m-estimate. The solver is SciPy's L-BFGS-B with 5 corrections, factr 1e7, pgtol 1e-33 and 10,000
    iterations. The papers plot NLL - N log C, where this package has NLL. A dlr starts from zero, without penalty and
    class weights; its bandwidths follow Algorithm 1, unless they are Silverman's.

    Raises:
        RecipeError: that solver cannot fit the recipe (scale="diagonal-adaptive").

    >>> paper_mode(Recipe("alr", order=3)).name
    'alr n=3 from zero, L-BFGS-B'
    """
    return recipe.replace(**recipe.definition.paper_params(recipe.params))


def _as_json(value: Any) -> Any:
    """Return a parameter's value as JSON has it; an infinite number becomes text."""
    if isinstance(value, tuple):
        return ["inf" if number == math.inf else number for number in value]
    return _sorted_items(value) if isinstance(value, Mapping) else value


def _sorted_items(weights: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Return the items of class weights in an order that also exists for keys of different types."""
    return sorted(weights.items(), key=lambda pair: json.dumps(pair[0]))


def _is_valid(family: str, name: str, value: Any) -> bool:
    try:
        check_param(family, name, value)
    except RecipeError:
        return False
    return True
