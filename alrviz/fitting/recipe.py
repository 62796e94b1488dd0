"""A recipe: the one description of a fit.

It is the key of the run store (with the data's hash), what the URL carries, a row of a study and what "copy as Python"
writes. A recipe is complete: defaults are filled in when it is made, so that it means the same under a later version.

Every parameter is checked against the registry of families; estimators and pages ask it too.
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

FORMAT = 2  # 1 was written before the first release, and is no longer read
# Smooth levels, by order: one column tells no more from 32 on, whatever the rows, but cells grow as a power of them.
# (Held-out log loss at order 2 of 8, 16 and 24: magic .317, .300, .294, vowel .29, .25, .22, in 1, 3 and 4 times the
# time.) "auto" tries order 1 first, and the others with cuts of their own.
SMOOTH_LEVELS: Mapping[object, int] = {1: 64, "auto": 64, 2: 24, 3: 8}
LEAST_SMOOTH = 5
_WITH_SMOOTH = (*SMOOTH_WAYS, "auto")  # "auto" until it is chosen


@dataclass(frozen=True, init=False, eq=False)
class Recipe:
    """What to fit and how: a family, its parameters, how columns become levels and which rows are held out.

    Args:
        family: "lr", "alr", "hlr", "halr", "salr", "hsalr", "anje", "dlr", "elr", "tan", "kdb", "ande", "rf", "hgb"
            (boosting) or "svm".
        discretize: "mdl", "quantile", "uniform", "smooth" (many quantiles, whose weights are penalised by the
            differences of neighbours in lr, alr, hlr and halr), "mdl-smooth" (MDL's cuts, and smooth levels of those
            columns in which it finds none), "auto" ("smooth", or "mdl-smooth" where that loses less on validation
            rows; see best_order.py) or None (every distinct value is a level); dlr, rf, hgb and svm cut nothing.
        n_bins: Number of levels for "quantile" and "uniform".
        holdout: Share of the rows that are test rows, stratified by class; 0 for none.
        seed: Seed of that split, and of whatever the fit itself draws: start="random", the order of rows of the
            solvers sgd and adagrad, dlr's validation rows, elr's folds, the trees of rf and hgb, the calibration
            of svm.
        params: The family's parameters, by the estimators' names; what is left out takes its default.

    Raises:
        RecipeError: a family, name or value that does not exist, with the nearest that does; values that exclude
            each other.

    >>> Recipe("alr", order=2, alpha=0).name
    'alr n=2 from zero, L-BFGS'
    """

    family: str
    discretize: str | None
    n_bins: int
    holdout: float
    seed: int
    params: Mapping[str, Any]

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
        of = family_of(family)
        checked = {name: check_param(family, name, value) for name, value in params.items()}
        full = {name: checked.get(name, param.default) for name, param in of.params.items()}
        of.check_together(full)
        if discretize == "auto" and not of.smooths:
            raise RecipeError(f"{family} has no smooth levels, which discretize='auto' tries; expected 'mdl'")
        if discretize in _WITH_SMOOTH:
            of.check_smooth(full)
        encoding = {"discretize": discretize, "n_bins": n_bins, "holdout": holdout, "seed": seed}
        object.__setattr__(self, "family", family)
        for name, value in encoding.items():
            object.__setattr__(self, name, ENCODING[name].check(name, value))
        object.__setattr__(self, "params", MappingProxyType(dict(sorted(full.items()))))

    @property
    def definition(self) -> Family:
        """The family as an object: its words, costs and fits."""
        return family_of(self.family)

    @property
    def label(self) -> str:
        """Short family name for legends and colours: "lr", "diagonal", "adaptive", "alr", "alrj", "anje" or "nb"."""
        return self.definition.label(self.params)

    @property
    def solver(self) -> str:
        """The solver that will run, "auto" resolved (see choice.py; a run may choose one of less memory)."""
        return self.definition.solver(self.params)

    @property
    def name(self) -> str:
        """One line: what is fitted, from where, with which loss, penalty, bounds and solver."""
        return self.definition.title(self.params)

    @property
    def cuts(self) -> str | None:
        """How numeric columns are cut: `discretize`; "keep" where the family takes them as they are, "quantile" for
        "smooth" and "mdl" for "mdl-smooth" where it takes levels one by one; of "auto" what is tried first.
        """
        if self.definition.takes_numbers:
            return "keep"
        if self.discretize == "mdl-smooth":
            return "mdl-smooth" if self.definition.smooths else "mdl"
        if self.discretize in _WITH_SMOOTH:
            return "smooth" if self.definition.smooths else "quantile"
        return self.discretize

    @property
    def most_levels(self) -> int:
        """Levels of a numeric column at most, where these are cut by number: `n_bins`, and of smooth ones what the
        tables of an order bear.
        """
        order = self.params.get("order", 2)
        return self.n_bins if self.discretize not in _WITH_SMOOTH else SMOOTH_LEVELS.get(order, LEAST_SMOOTH)

    @property
    def encoding(self) -> tuple[str | None, int, str]:
        """What is equal for recipes whose columns become the same levels."""
        return self.cuts, self.most_levels, self.missing

    @property
    def missing(self) -> str:
        """What a missing value is: "level", one of its own, or "skip", none."""
        return self.definition.missing(self.params)

    @property
    def draws(self) -> bool:
        """Whether the fit itself, beside the split, depends on the seed."""
        return self.definition.draws(self.params)

    @property
    def paper(self) -> bool:
        """Whether it is what `paper_mode` makes of it: the fit that the papers ran."""
        paper = self.definition.paper_params(self.params)
        return bool(paper) and all(self.params[name] == value for name, value in paper.items())

    @property
    def settings(self) -> Mapping[str, Param]:
        """The schema of every setting: the family's parameters, then those of the encoding."""
        return {**self.definition.params, **ENCODING}

    def value(self, name: str) -> Any:
        """Return the value of a setting, a parameter or one of the encoding."""
        return self.params[name] if name in self.params else getattr(self, name)

    @property
    def changed(self) -> dict[str, Any]:
        """The settings that differ from the family's defaults, parameters first; a dict where one is given."""
        values = {name: self.value(name) for name in (*self.params, *ENCODING)}
        changed = {name: value for name, value in values.items() if value != self.settings[name].default}
        return {name: dict(value) if isinstance(value, Mapping) else value for name, value in changed.items()}

    def replace(self, **changes: Any) -> "Recipe":
        """Return a recipe with some fields or parameters changed."""
        parts = {**{name: getattr(self, name) for name in ENCODING}, **self.params, **changes}
        family = parts.pop("family", self.family)
        if family != self.family:  # what the other family does not have, or may not be, falls back to its default
            given = {name for name in changes if name != "family"}
            parts = {k: v for k, v in parts.items() if k in given or k in ENCODING or _fits(family, k, v)}
        alpha, order = parts.get("alpha"), parts.get("order")
        if isinstance(alpha, tuple) and isinstance(order, int) and "order" in changes and "alpha" not in changes:
            alpha = (*alpha, *alpha[-1:] * order)[:order]  # orders that come have the penalty of the highest there was
            parts["alpha"] = alpha if any(map(math.isfinite, alpha)) else FAMILIES[family].params["alpha"].default
        return Recipe(family, **parts)

    def to_json(self) -> str:
        """Return the recipe as JSON with sorted keys and a format number."""
        params = {k: _as_json(v) for k, v in self.params.items()}
        parts = {name: getattr(self, name) for name in ENCODING}
        content = {"format": FORMAT, "family": self.family, "params": params, **parts}
        return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Recipe":
        """Read what `to_json` wrote; raises `RecipeError` on anything else."""
        try:
            content = json.loads(text)
            fmt, family, params = content.pop("format"), content.pop("family"), dict(content.pop("params"))
            settings = family_of(family).params
            for name, value in params.items():
                if isinstance(value, list) and name in settings and settings[name].parse:
                    params[name] = dict(value)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise RecipeError(f"this is not a recipe: {error}; expected JSON as Recipe.to_json writes it") from error
        if fmt != FORMAT:
            raise RecipeError(f"recipe format {fmt!r} is of another version of alrviz; this one reads format {FORMAT}")
        unknown = set(content) - set(ENCODING)
        if unknown:
            raise RecipeError(f"a recipe has no field {sorted(unknown)[0]!r}; expected {', '.join(ENCODING)}")
        for name, value in params.items():  # a name such as "seed" or "self" must not reach the constructor twice
            check_param(family, name, value)
        return cls(family, **content, **params)

    def key(self, data_hash: str) -> str:
        """Return the SHA-256 of recipe and data hash together: equal keys are equal fits."""
        return sha256(f"{self.to_json()}|{data_hash}".encode()).hexdigest()

    def __repr__(self) -> str:
        return f"Recipe({', '.join([repr(self.family), *(f'{k}={v!r}' for k, v in self.changed.items())])})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __reduce__(self) -> tuple[Any, ...]:
        return Recipe.from_json, (self.to_json(),)


# What AutoClassifier fits.
AUTOMATIC = Recipe("hlr", order="auto", alpha="auto", center="shares", discretize="auto", tol=1e-4)


def require_recipe(given: object) -> None:
    """Raise `RecipeError` for what is no recipe, saying how one is made of it."""
    if not isinstance(given, Recipe):
        known = isinstance(given, str) and given in FAMILIES
        wanted = f"Recipe({given!r})" if known else "one such as Recipe('alr', order=2)"
        raise RecipeError(f"{reprlib.repr(given)} is no recipe; expected {wanted}")


def recipe_list(given: "Sequence[Recipe] | Recipe") -> "tuple[Recipe, ...]":
    """Return the recipes that were given, some or a single one; raises `RecipeError` for none or anything else."""
    recipes = (given,) if isinstance(given, Recipe | str) or not isinstance(given, Iterable) else tuple(given)
    if not recipes:
        raise RecipeError("at least one recipe is needed; expected some such as [Recipe('lr'), Recipe('alr')]")
    for recipe in recipes:
        require_recipe(recipe)
    return recipes


def paper_mode(recipe: Recipe) -> Recipe:
    """Return `recipe` as the papers would have fitted it, family, order, scale and encoding as they are.

    It starts from zero, with a weight for each cell and class, no penalty, no bounds and no class weights; unseen cells
    have the m-estimate. The solver is SciPy's L-BFGS-B with 5 corrections, factr 1e7, pgtol 1e-33 and 10,000
    iterations. The papers plot NLL - N log C, where this package has NLL. A dlr starts from zero, without penalty and
    class weights; its bandwidths follow Algorithm 1, unless they are Silverman's.

    Raises:
        RecipeError: where that solver cannot fit the recipe (scale="diagonal-adaptive").

    >>> paper_mode(Recipe("alr", order=3)).name
    'alr n=3 from zero, L-BFGS-B'
    """
    return recipe.replace(**recipe.definition.paper_params(recipe.params))


def _as_json(value: Any) -> Any:
    """A parameter as JSON has it; an infinite number is text there."""
    if isinstance(value, tuple):
        return ["inf" if one == math.inf else one for one in value]
    return _pairs(value) if isinstance(value, Mapping) else value


def _pairs(weights: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Labels and weights, or columns and parents, in an order that labels of different types have too."""
    return sorted(weights.items(), key=lambda pair: json.dumps(pair[0]))


def _fits(family: str, name: str, value: Any) -> bool:
    try:
        check_param(family, name, value)
    except RecipeError:
        return False
    return True
