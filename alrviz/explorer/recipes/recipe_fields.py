"""What a racer's settings are called, which of them have an effect, and what may be chosen now. Pure data.

Parameters and their values are the registry's: one that it gains is shown under its own name until it has words here.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from alrviz.errors import RecipeError
from alrviz.explorer.recipes.questions import ALPHAS
from alrviz.fitting.families import ENCODING, FAMILIES, RUNS
from alrviz.fitting.families.param import Param, in_digits
from alrviz.fitting.recipe import Recipe
from alrviz.fitting.solvers.solver_support import IN_BATCHES, SOLVER_NAMES

HIGHEST: Mapping[str, float] = {
    "order": 5, "max_iter": 100_000, "memory": 100, "n_bins": 1000, "n_estimators": 1000, "C": 1e6,
}  # fmt: skip
_REMEMBER = ("lbfgs", "lbfgsb", "tron")  # solvers that keep the last steps


@dataclass(frozen=True, slots=True)
class Field:
    """One setting: its name in a recipe, its label, the glossary's term that explains it, the step of its buttons."""

    name: str
    label: str
    term: str = ""
    step: float = 1


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
            param, own = recipe.definition.params[name], recipe.params[name]
            return [*param.words, *(alpha for alpha in alphas_beside(own) if alpha not in param.words)]
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
_FIELDS = (
    Field("scale", "Scale"),
    Field("order", "Order n"),
    Field("keep", "Fraction or number of tuples kept", step=0.05),
    Field("selection", "Tuples scored by"),
    Field("unit", "What is chosen"),
    Field("grow", "Grow a tuple if"),
    Field("objective", "Objective"),
    Field("alpha", "alpha: strength of the penalty", "alpha", 0.01),
    Field("penalty", "Penalty acts on"),
    Field("center", "Shrink toward", "center"),
    Field("start", "Start at", "start"),
    Field("solver", "Solver"),
    Field("memory", "L-BFGS memory"),
    Field("max_iter", "Max iterations", step=100),
    Field("tol", "Tolerance (tol)", "tolerance", step=1e-6),
    Field("share", "Weight sharing"),
    Field("bounds", "Bounds on weights"),
    Field("smoothing", "Smoothing m of theta", "theta", 0.1),
    Field("missing", "Missing values"),
    Field("unseen", "Unseen cells", "cell"),
    Field("class_weight", "Class weights"),
    Field("bandwidth", "Bandwidths"),
    Field("validation_fraction", "Validation fraction for bandwidths", step=0.05),
    Field("structure", "Structure"),
    Field("cross_tuning", "Number of iterations"),
    Field("sum_missing", "Missing values in ELR"),
    Field("k", "Parents of a column, k"),
    Field("selective", "Columns"),
    Field("n", "Columns every other depends on, n"),
    Field("n_estimators", "Trees", step=50),
    Field("learning_rate", "Learning rate", step=0.05),
    Field("C", "C: smaller is stronger regularisation"),
    Field("kernel", "Kernel"),
)
_COMMON = (
    Field("discretize", "Discretise numeric columns by", "MDL"),
    Field("n_bins", "Number of levels"),
    Field("holdout", "Held-out fraction", "held-out", 0.05),
)
_WORDS: Mapping[Any, str] = {
    "zero": "0", "one": "1", "anje": "AnJE", "shares": "class shares", 0: "0", 1: "1", None: "none", (0, 1): "0 to 1",
    "nll": "NLL (log loss)",
    "mse": "mean squared error", "hinge": "squared hinge", "cell-class": "each cell and class", "cell": "each cell",
    "tuple": "each tuple", "loo": "leave-one-out", "silverman": "Silverman (fixed)", "validation": "validation set",
    "paper": "Algorithm 1 of [DLR]", "all": "all cells together",
    "nb": "naive Bayes", "tan": "TAN: a tree",
    "theta": "log theta (alr)", "theta-gamma": "gamma log theta (alrj)", "diagonal-adaptive": "diagonal, at every step",
}  # fmt: skip
# Where a value has other words than anywhere else.
_OWN: Mapping[str, Mapping[Any, str]] = {
    "discretize": {
        "mdl": "MDL",
        "quantile": "quantiles",
        "uniform": "equal widths",
        "smooth": "smooth levels",
        "mdl-smooth": "MDL, else smooth",
        "auto": "smooth or MDL",
        None: "every value",
    },
    "cross_tuning": {True: "early stopping by cross-validation", False: "until convergence"},
    "sum_missing": {"auto": "by structure", True: "summed out", False: "a level of their own"},
    "solver": SOLVER_NAMES,
    "selective": {False: "all of them", True: "the best of them (selective)"},
    "kernel": {"rbf": "Gaussian (RBF)", "linear": "linear", "poly": "polynomial"},
    "alpha": {"cv": "nested CV", "auto": "by itself"},
    "selection": {
        "mi": "mutual information",
        "mi-mm": "mutual information, Miller-Madow",
        "cv": "log loss without it (validation set)",
        "gain": "predicted gain",
    },
    "unit": {"tuple": "tuples", "cell": "single cells"},
    "grow": {"weak": "any sub-tuple was kept", "strong": "all sub-tuples were kept"},
    "missing": {"level": "a level of their own", "skip": "ignored"},
    "unseen": {"neutral": "contribute 0", "m-estimate": "as the m-estimate has them"},
}


def alphas_beside(own: Any) -> list[Any]:
    """The strengths of a penalty that a menu offers, with one's own."""
    if not isinstance(own, float):
        return [*ALPHAS, *([own] if isinstance(own, tuple) else [])]  # a word has a line of its own
    return sorted({*ALPHAS, own})


def racer_fields(families: Collection[str] = RUNS) -> tuple[Field, ...]:
    """The settings of recipes of these families, in the order in which they are shown."""
    names = dict.fromkeys(name for family in families for name in FAMILIES[family].params)
    known = [field for field in _FIELDS if field.name in names]
    more = names.keys() - {field.name for field in known}
    return (*known, *(Field(name, name) for name in names if name in more))


def common_fields() -> tuple[Field, ...]:
    """The settings that all racers share."""
    return _COMMON


def param_of(name: str) -> Param:
    """What the registry says of a parameter, from the first family that has it."""
    found = (params[name] for params in (ENCODING, *(of.params for of in FAMILIES.values())) if name in params)
    return next(found)


def in_words(name: str, value: Any) -> str:
    """A value as a menu shows it."""
    words = _OWN.get(name, _WORDS).get(value)
    return words or (in_digits(value) if isinstance(value, float | tuple) else str(value))


def offered(recipe: Recipe, name: str) -> list[Any]:
    """The values of a parameter that this recipe may take as it is otherwise, on a table in memory; its own is always
    among them.
    """
    own = recipe.params[name] if name in recipe.params else getattr(recipe, name)
    params = recipe.definition.params if name in recipe.params else ENCODING
    able = (value for value in params[name].choices if value not in IN_BATCHES or value == own)
    return [value for value in able if value == own or _takes(recipe, name, value)]


def _takes(recipe: Recipe, name: str, value: Any) -> bool:
    try:
        recipe.replace(**{name: value})
    except RecipeError:
        return False
    return True


def has_effect(recipe: Recipe, name: str) -> bool:
    """Whether a setting changes anything for this recipe."""
    if name in ENCODING:
        cut = recipe.cuts != "keep" or name not in ("discretize", "n_bins")  # a family may take numbers as they are
        return cut and (name != "n_bins" or recipe.discretize in ("quantile", "uniform"))
    if name not in recipe.params:  # a link may race AnJE, which has nothing to set but its tables
        return False
    pulled = recipe.params.get("alpha", 0) not in (0, None)
    needs = {
        "penalty": pulled, "center": pulled, "memory": recipe.solver in _REMEMBER,
        "validation_fraction": recipe.params.get("bandwidth") in ("validation", "paper"),
    }  # fmt: skip
    return needs.get(name, True) and (not param_of(name).choices or len(offered(recipe, name)) > 1)
