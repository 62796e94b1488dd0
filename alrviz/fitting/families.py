"""The registry of families: what each one's parameters are called, what they may be, and their defaults.

Recipes, estimators and pages ask it; which values exclude each other is said in rules.py.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from alrviz.errors import RecipeError, nearest
from alrviz.fitting.matrix import NEEDS, OFFERS
from alrviz.fitting.param import Param

_TABLES = {
    "order": Param(2, low=1, high=12, integer=True),
    "smoothing": Param(1.0, low=0.0, high=1e6),
    "missing": Param("level", ("level", "skip")),
    "unseen": Param("neutral", ("neutral", "m-estimate")),
}
# A level that no row has with its parents must not be impossible.
_SMOOTHED = Param(1.0, low=0.0, high=1e6, open_low=True)
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
    return {"alpha": Param(alpha, low=0.0, high=1e12, word="cv"), "penalty": Param(penalty, ("phi", "w"))}


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
            "bandwidth": Param("silverman", ("loo", "silverman", "validation", "paper")),
            "validation_fraction": Param(0.2, low=0.0, high=0.95, open_low=True),
            "alpha": Param(10.0, low=0.0, high=1e12),
            "center": Param(0, (0, 1)),
            "start": Param("zero", ("zero", "one")),
            "smoothing": _TABLES["smoothing"],
            **{name: _FIT[name] for name in ("class_weight", "max_iter", "tol")},
        },
        "elr": {
            "structure": Param("nb", ("nb", "tan")),
            "cross_tuning": Param(True, (True, False)),
            "smoothing": _SMOOTHED,
            **{name: _FIT[name] for name in ("class_weight", "max_iter", "tol")},
        },
        "tan": {"smoothing": _SMOOTHED},
        "kdb": {
            "k": Param(1, low=0, high=8, integer=True),
            "selective": Param(False, (False, True)),
            "smoothing": _SMOOTHED,
        },
        "ande": {"n": Param(1, (0, 1, 2)), "smoothing": _SMOOTHED},
        "rf": {"n_estimators": Param(100, low=1, high=10_000, integer=True)},
        "hgb": {
            "n_estimators": Param(100, low=1, high=10_000, integer=True),
            "learning_rate": Param(0.1, low=0.0, high=1.0, open_low=True),
            "class_weight": _FIT["class_weight"],
        },
        "svm": {
            "C": Param(1.0, low=0.0, high=1e12, open_low=True),
            "kernel": Param("rbf", ("rbf", "linear", "poly")),
        },
    }
)
# Whose fit is a run, a stream of steps (AnJE's has none to take); the others are fitted at one go, by make_estimator.
RUNS = ("lr", "alr", "anje", "dlr", "elr")
# Which take numeric columns as they are.
UNCUT = ("dlr", "rf", "hgb", "svm")
ENCODING = {
    "discretize": Param("mdl", ("mdl", "quantile", "uniform", None)),
    "n_bins": Param(10, low=2, high=65_535, integer=True),
    "holdout": Param(0.3, low=0.0, high=0.95),
    "seed": Param(0, low=0, high=2**32 - 1, integer=True),
}


# What is a family under another name, as a label or an acronym; compared by letters alone.
_CALLED = {
    **dict.fromkeys(("nb", "naivebayes"), 'Recipe("anje", order=1)'),
    "wanbiac": 'Recipe("alr", order=1)',
    "diagonal": 'Recipe("lr", scale="diagonal")',
    "adaptive": 'Recipe("lr", scale="diagonal-adaptive")',
    "alrj": 'Recipe("alr", scale="theta-gamma")',
    **dict.fromkeys(("boosting", "gradientboosting", "histgradientboosting"), 'Recipe("hgb")'),
}


def family_params(family: str) -> Mapping[str, Param]:
    """Return the parameters of `family` by name; raises `RecipeError` naming the families there are."""
    if not isinstance(family, str) or family not in FAMILIES:
        listed = ", ".join(map(repr, FAMILIES))
        meant = _CALLED.get("".join(filter(str.isalpha, str(family).lower())))
        hint = f"; did you mean {meant}?" if meant else nearest(family, FAMILIES)
        raise RecipeError(f"family {family!r} is not known; expected one of {listed}{hint}")
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
    if name == "structure" and isinstance(value, Mapping):
        return _parents(value)
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


def _parents(structure: Mapping[Any, Any]) -> Mapping[str, tuple[str, ...]]:
    """A structure in its plain form: the parents of each column that has any, by name."""
    found = {}
    for child, above in structure.items():
        parents = (above,) if isinstance(above, str) else above
        listed = parents if isinstance(parents, list | tuple) else (None,)
        if not all(isinstance(name, str) for name in (child, *listed)):
            raise RecipeError(
                f"structure gives {child!r} the parents {above!r}; expected a column's name, and its parent's name or "
                "a list of several"
            )
        if len(parents):
            found[str(child)] = tuple(map(str, parents))
    return MappingProxyType(dict(sorted(found.items())))
