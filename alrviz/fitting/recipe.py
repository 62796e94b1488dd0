"""A recipe: the one description of a fit.

It is the key of the run store (with the data's hash), what the URL carries, a row of a study and what "copy as Python"
writes. A recipe is complete: defaults are filled in when it is made, so that it means the same under a later version.

Every parameter is checked here against one registry, `FAMILIES`; estimators and pages ask it too.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from types import MappingProxyType
from typing import Any

from alrviz.errors import RecipeError, nearest
from alrviz.fitting.matrix import NEEDS, OFFERS, STOCHASTIC, chosen_solver
from alrviz.fitting.param import Param
from alrviz.fitting.rules import check_together

# Format 1 had fewer parameters: what it left out takes its default, which is what it did.
FORMAT = 2
_READ = (1, FORMAT)


_TABLES = {
    "order": Param(2, low=1, high=12, integer=True),
    "smoothing": Param(1.0, low=0.0, high=1e6),
    "missing": Param("level", ("level", "skip")),
    "unseen": Param("neutral", ("neutral", "m-estimate")),
}
_FIT = {
    "solver": Param("auto", ("auto", *NEEDS)),
    "objective": Param("nll", tuple(OFFERS)),
    "bounds": Param(None, (None, (0, 1))),
    "class_weight": Param(None, (None, "balanced")),
    "share": Param("cell-class", ("cell-class", "cell", "tuple", "all")),
    "max_iter": Param(200, low=0, high=10_000_000, integer=True),
    "tol": Param(1e-6, low=0.0, high=1.0),
    "memory": Param(10, low=1, high=1000, integer=True),
}


def _pull(alpha: float, penalty: str) -> dict[str, Param]:
    """The penalty, with the defaults that docs/defaults.md measures."""
    return {"alpha": Param(alpha, low=0.0, high=1e12), "penalty": Param(penalty, ("phi", "w"))}


FAMILIES: Mapping[str, Mapping[str, Param]] = MappingProxyType(
    {
        "lr": {
            **_TABLES,
            **_FIT,
            **_pull(0.3, "phi"),
            "scale": Param("none", ("none", "diagonal", "diagonal-adaptive")),
            "center": Param(0, (0, "anje")),
            "start": Param("zero", ("zero", "anje", "random")),
        },
        "alr": {
            **_TABLES,
            **_FIT,
            **_pull(1.0, "w"),
            "scale": Param("theta", ("theta", "theta-gamma")),
            "center": Param(0, (0, 1, "anje")),
            "start": Param("zero", ("zero", "one", "anje", "random")),
        },
        "anje": _TABLES,
        "dlr": {
            "bandwidth": Param("loo", ("loo", "silverman", "validation", "paper")),
            "validation_fraction": Param(0.2, low=0.0, high=0.95, open_low=True),
            "alpha": Param(10.0, low=0.0, high=1e12),
            "center": Param(0, (0, 1)),
            "start": Param("zero", ("zero", "one")),
            "smoothing": _TABLES["smoothing"],
            **{name: _FIT[name] for name in ("class_weight", "max_iter", "tol")},
        },
    }
)
# What [ALR] and [WANBIA-C] ran. SciPy's L-BFGS-B ends where F falls by less than tol = factr * eps of itself, and factr
# is 1e7; or at pgtol = 1e-33, which is never ([WANBIA-C] prints 1e-32).
_PAPER: Mapping[str, Any] = MappingProxyType(
    {
        "start": "zero",
        "alpha": 0.0,
        "unseen": "m-estimate",
        "solver": "lbfgsb",
        "objective": "nll",
        "bounds": None,
        "class_weight": None,
        "share": "cell-class",
        "memory": 5,
        "tol": 1e7 * 2.0**-52,
        "max_iter": 10_000,
    }
)
# What [DLR] ran, whose h is Silverman's or Algorithm 1's: without a penalty, from w = 0.
_PAPER_DLR: Mapping[str, Any] = MappingProxyType(
    {"alpha": 0.0, "start": "zero", "class_weight": None, "bandwidth": ("paper", "silverman")}
)
_LABELS = {"diagonal": "diagonal", "diagonal-adaptive": "adaptive", "theta-gamma": "alrj"}
ENCODING = {
    "discretize": Param("mdl", ("mdl", "quantile", "uniform", None)),
    "n_bins": Param(10, low=2, high=65_535, integer=True),
    "holdout": Param(0.3, low=0.0, high=0.95),
    "seed": Param(0, low=0, high=2**32 - 1, integer=True),
}


def family_params(family: str) -> Mapping[str, Param]:
    """Return the parameters of `family` by name; raises `RecipeError` naming the families there are."""
    if not isinstance(family, str) or family not in FAMILIES:
        listed = ", ".join(map(repr, FAMILIES))
        raise RecipeError(f"family {family!r} is not known; expected one of {listed}{nearest(family, FAMILIES)}")
    return FAMILIES[family]


def choices(family: str, name: str) -> tuple[Any, ...]:
    """Return the values that parameter `name` of `family` may take (empty for a number)."""
    return family_params(family)[name].choices


def check_param(family: str, name: str, value: Any) -> Any:
    """Return the value of one parameter in its plain form; raises `RecipeError` on a bad name or value."""
    params = family_params(family)
    if name not in params:
        listed = ", ".join(sorted(params))
        raise RecipeError(f"{family} has no parameter {name!r}; it has {listed}{nearest(name, params)}")
    if name == "class_weight" and isinstance(value, Mapping):
        return _class_weights(value)
    return params[name].check(name, value)


def _class_weights(weights: Mapping[Any, Any]) -> Mapping[Any, float]:
    number = Param(1.0, low=0.0, high=1e12)
    return MappingProxyType({_label(k): number.check(f"class_weight[{k!r}]", w) for k, w in weights.items()})


def _label(label: Any) -> Any:
    """A class label as JSON has it."""
    plain = label.item() if hasattr(label, "item") else label
    if not isinstance(plain, str | int | float):
        raise RecipeError(f"class_weight names {label!r}; expected class labels, which are text, numbers or bools")
    return str(plain) if isinstance(plain, str) else plain


@dataclass(frozen=True, init=False, eq=False)
class Recipe:
    """What to fit and how: a family, its parameters, how columns become levels and which rows are held out.

    Args:
        family: "lr", "alr", "anje" or "dlr".
        discretize: "mdl", "quantile", "uniform" or None (every distinct value is a level); dlr cuts nothing.
        n_bins: Number of levels for "quantile" and "uniform".
        holdout: Share of the rows held out, stratified by class; 0 holds out none.
        seed: Seed of that split, and of whatever the fit itself draws: start="random", the order of rows of the
            solvers sgd and adagrad.
        params: The family's parameters, by the estimators' names; what is left out takes its default.

    Raises:
        RecipeError: a family, name or value that does not exist, with the nearest that does; values that exclude
            each other.

    >>> Recipe("alr", order=2, alpha=0).name
    'alr n=2 from zero, lbfgs'
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
        known = family_params(family)
        checked = {name: check_param(family, name, value) for name, value in params.items()}
        full = {name: checked.get(name, param.default) for name, param in known.items()}
        check_together(family, full)
        encoding = {"discretize": discretize, "n_bins": n_bins, "holdout": holdout, "seed": seed}
        object.__setattr__(self, "family", family)
        for name, value in encoding.items():
            object.__setattr__(self, name, ENCODING[name].check(name, value))
        object.__setattr__(self, "params", MappingProxyType(dict(sorted(full.items()))))

    @property
    def label(self) -> str:
        """Short family name for legends and colours: "lr", "diagonal", "adaptive", "alr", "alrj", "anje" or "nb"."""
        if self.family == "anje" and self.params["order"] == 1:
            return "nb"
        return _LABELS.get(str(self.params.get("scale")), self.family)

    @property
    def solver(self) -> str:
        """The solver that will run, "auto" resolved (see choice.py; a run may choose one of less memory)."""
        return chosen_solver(self.params)

    @property
    def name(self) -> str:
        """One line: what is fitted, from where, with which loss, penalty, bounds and solver."""
        p = self.params
        if self.family == "anje":
            return f"{self.label} n={p['order']}"
        if self.family == "dlr":
            alpha = "" if p["alpha"] == 0 else f", alpha {p['alpha']:g} to {p['center']}"
            return f"{self.label} {p['bandwidth']} from {p['start']}{alpha}"
        alpha = "" if p["alpha"] == 0 else f", alpha {p['alpha']:g} on {p['penalty']} to {p['center']}"
        shared = "" if p["share"] == "cell-class" else f", share {p['share']}"
        loss = "" if p["objective"] == "nll" else f", {p['objective']}"
        bounds = "" if p["bounds"] is None else ", w between {} and {}".format(*p["bounds"])
        return f"{self.label} n={p['order']} from {p['start']}{loss}{alpha}{shared}{bounds}, {self.solver}"

    @property
    def cuts(self) -> str | None:
        """How numeric columns are cut: `discretize`, and "keep" where the family takes them as they are."""
        return "keep" if self.family == "dlr" else self.discretize

    @property
    def draws(self) -> bool:
        """Whether the fit itself, beside the split, depends on the seed."""
        split = self.params.get("bandwidth") in ("validation", "paper")
        return self.params.get("start") == "random" or self.solver in STOCHASTIC or split

    @property
    def paper(self) -> bool:
        """Whether it is what `paper_mode` makes of it: the fit that the papers ran."""
        return all(self.params[name] == value for name, value in _paper(self).items())

    def replace(self, **changes: Any) -> "Recipe":
        """Return a recipe with some fields or parameters changed."""
        parts = {**{name: getattr(self, name) for name in ENCODING}, **self.params, **changes}
        family = parts.pop("family", self.family)
        if family != self.family:  # what the other family does not have, or may not be, falls back to its default
            given = {name for name in changes if name != "family"}
            parts = {k: v for k, v in parts.items() if k in given or k in ENCODING or _fits(family, k, v)}
        return Recipe(family, **parts)

    def to_json(self) -> str:
        """Return the recipe as JSON with sorted keys and a format number."""
        params = {k: _pairs(v) if isinstance(v, Mapping) else v for k, v in self.params.items()}
        parts = {name: getattr(self, name) for name in ENCODING}
        content = {"format": FORMAT, "family": self.family, "params": params, **parts}
        return json.dumps(content, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "Recipe":
        """Read what `to_json` wrote; raises `RecipeError` on anything else."""
        try:
            content = json.loads(text)
            fmt, family, params = content.pop("format"), content.pop("family"), dict(content.pop("params"))
            if isinstance(params.get("class_weight"), list):
                params["class_weight"] = dict(params["class_weight"])
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise RecipeError(f"this is not a recipe: {error}; expected JSON as Recipe.to_json writes it") from error
        if fmt not in _READ:
            raise RecipeError(f"recipe format {fmt!r} is not known; this version reads formats up to {FORMAT}")
        unknown = set(content) - set(ENCODING)
        if unknown:
            raise RecipeError(f"a recipe has no field {sorted(unknown)[0]!r}; expected {', '.join(ENCODING)}")
        for name, value in params.items():  # a name such as "seed" or "self" must not reach the constructor twice
            check_param(family, name, value)
        return cls(family, **content, **params)

    def key(self, data_hash: str) -> str:
        """Return the SHA-256 of recipe and data hash together: equal keys are equal fits."""
        return sha256(f"{self.to_json()}|{data_hash}".encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recipe) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __reduce__(self) -> tuple[Any, ...]:
        return Recipe.from_json, (self.to_json(),)


def paper_mode(recipe: Recipe) -> Recipe:
    """Return `recipe` as the papers would have fitted it, family, order, scale and encoding as they are.

    From zero, a weight for each cell and class, no penalty and no bounds, classes as they weigh, unseen cells by the
    m-estimate, SciPy's L-BFGS-B with 5 corrections, factr 1e7, pgtol 1e-33 and 10,000 iterations. The papers plot
    NLL - N log C where NLL stands here. DLR: from zero, no penalty, classes as they weigh; bandwidths by Algorithm 1,
    unless they are Silverman's.

    Raises:
        RecipeError: where that solver cannot fit the recipe (scale="diagonal-adaptive").

    >>> paper_mode(Recipe("alr", order=3)).name
    'alr n=3 from zero, lbfgsb'
    """
    return recipe.replace(**_paper(recipe))


def _paper(recipe: Recipe) -> dict[str, Any]:
    """The parameters that a recipe of this family has in paper mode."""
    if recipe.family != "dlr":
        return {name: value for name, value in _PAPER.items() if name in recipe.params}
    kept = recipe.params["bandwidth"]
    ran = _PAPER_DLR["bandwidth"]
    return {**_PAPER_DLR, "bandwidth": kept if kept in ran else ran[0]}


def _pairs(weights: Mapping[Any, float]) -> list[tuple[Any, float]]:
    """Labels and weights in an order that labels of different types have too."""
    return sorted(weights.items(), key=lambda pair: json.dumps(pair[0]))


def _fits(family: str, name: str, value: Any) -> bool:
    try:
        check_param(family, name, value)
    except RecipeError:
        return False
    return True
