"""The registry of families: a module and a line here for each (or for each few that share all but a name).

    cells           lr, alr, anje       scores are sums over the cells of all tuples of n columns
    orders          hlr, halr           sums over the cells of tuples of one to n columns
    selected        salr, hsalr         alr on the tuples that tell most
    networks        tan, kdb, ande      counts of each column with its parents
    conditional     elr                 the same network, its tables found by steps
    density         dlr                 numbers as they are, by the densities of the classes
    sklearn_models  rf, hgb, svm        what scikit-learn fits

Recipes, estimators, studies and pages ask the registry, and never a family by its name.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from alrviz.errors import RecipeError, nearest
from alrviz.fitting.families.cells import ALR, LR, AnJE
from alrviz.fitting.families.conditional import ELR
from alrviz.fitting.families.density import DLR
from alrviz.fitting.families.family import Family
from alrviz.fitting.families.networks import KDB, TAN, AnDE
from alrviz.fitting.families.orders import HALR, HLR
from alrviz.fitting.families.param import Param
from alrviz.fitting.families.selected import HierarchicalSelectiveALR, SelectiveALR
from alrviz.fitting.families.sklearn_models import SVM, Boosting, Forest

_KINDS = (
    LR, ALR, HLR, HALR, SelectiveALR, HierarchicalSelectiveALR, AnJE, DLR, ELR, TAN, KDB, AnDE, Forest, Boosting, SVM,
)  # fmt: skip
FAMILIES: Mapping[str, Family] = MappingProxyType({kind.name: kind() for kind in _KINDS})
# Whose fit is a run, a stream of steps (AnJE's has none to take); the others are fitted at one go, by make_estimator.
RUNS = tuple(name for name, family in FAMILIES.items() if family.has_steps)
# Which are fitted to tables that are read in batches.
STREAMS = tuple(name for name, family in FAMILIES.items() if family.streams)
ENCODING = {
    "discretize": Param("mdl", ("mdl", "quantile", "uniform", "smooth", "mdl-smooth", "auto", None)),
    "n_bins": Param(10, low=2, high=65_535, integer=True),
    "holdout": Param(0.3, low=0.0, high=0.95),
    "seed": Param(0, low=0, high=2**32 - 1, integer=True),
}


def family_of(name: object) -> Family:
    """Return the family of that name; raises `RecipeError` naming the families there are."""
    if isinstance(name, str) and name in FAMILIES:
        return FAMILIES[name]
    letters = "".join(filter(str.isalpha, str(name).lower()))
    meant = next((family.aliases[letters] for family in FAMILIES.values() if letters in family.aliases), None)
    hint = f"; did you mean {meant}?" if meant else nearest(name, FAMILIES)
    raise RecipeError(f"family {name!r} is not known; expected one of {', '.join(map(repr, FAMILIES))}{hint}")


def require_streams(family: str) -> None:
    """Raise `RecipeError`, naming those that are, unless a family is fitted to tables that are read in batches."""
    if not family_of(family).streams:
        raise RecipeError(
            f"{family} is not fitted to a table that is read in batches; expected one of "
            f"{', '.join(map(repr, STREAMS))}, or read_table, which reads it whole"
        )


def choices(family: str, name: str) -> tuple[Any, ...]:
    """Return the values that parameter `name` of `family` may take (empty for a number)."""
    return family_of(family).params[name].choices


def check_param(family: str, name: str, value: Any) -> Any:
    """Return the value of one parameter in its plain form; raises `RecipeError` on a bad name or value."""
    params = family_of(family).params
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
