"""The registry of families. Each has a module (or shares one), and here its import and its place in `_KINDS`.

    cells           lr, alr, anje       scores are sums over the cells of all tuples of n columns
    orders          hlr, halr           sums over the cells of tuples of one to n columns
    selected        salr, hsalr         alr on the most informative tuples
    networks        tan, kdb, ande      counts of each column with its parents
    conditional     elr                 the same networks, with fitted tables
    density         dlr                 numbers as they are, by the densities of the classes
    sklearn_models  rf, hgb, svm        scikit-learn's models

Recipes, estimators, studies and pages ask the registry; they never test for a family's name.
"""

from collections.abc import Mapping
from typing import Any

from alrviz.errors import RecipeError, nearest
from alrviz.fitting.families.cells import ALR, LR, AnJE
from alrviz.fitting.families.conditional import ELR
from alrviz.fitting.families.density import DLR
from alrviz.fitting.families.family import Family
from alrviz.fitting.families.networks import KDB, TAN, AnDE
from alrviz.fitting.families.orders import HALR, HLR
from alrviz.fitting.families.param import Param as Param
from alrviz.fitting.families.selected import HierarchicalSelectiveALR, SelectiveALR
from alrviz.fitting.families.shared_params import ENCODING as ENCODING
from alrviz.fitting.families.sklearn_models import SVM, Boosting, Forest

_KINDS = (
    LR, ALR, HLR, HALR, SelectiveALR, HierarchicalSelectiveALR, AnJE, DLR, ELR, TAN, KDB, AnDE, Forest, Boosting, SVM,
)  # fmt: skip
FAMILIES: Mapping[str, Family] = {kind.name: kind() for kind in _KINDS}
# Families whose fit is a run of steps (AnJE's has none to take); make_estimator fits the others.
RUNS = tuple(name for name, family in FAMILIES.items() if family.has_steps)
# Families that can be fitted to tables read in batches.
STREAMS = tuple(name for name, family in FAMILIES.items() if family.streams)


def family_of(name: object) -> Family:
    """Return the family of that name; raise `RecipeError` with the known families for any other."""
    if isinstance(name, str) and name in FAMILIES:
        return FAMILIES[name]
    letters = "".join(filter(str.isalpha, str(name).lower()))
    suggestion = next((family.aliases[letters] for family in FAMILIES.values() if letters in family.aliases), None)
    hint = f"; did you mean {suggestion}?" if suggestion else nearest(name, FAMILIES)
    raise RecipeError(f"family {name!r} is not known; expected one of {', '.join(map(repr, FAMILIES))}{hint}")


def require_streams(family: str) -> None:
    """Raise `RecipeError`, naming the families that can, unless a family can be fitted to tables read in batches."""
    if not family_of(family).streams:
        raise RecipeError(
            f"{family} cannot be fitted to a table read in batches; expected one of "
            f"{', '.join(map(repr, STREAMS))}, or read_table, which reads it into memory"
        )


def choices(family: str, name: str) -> tuple[Any, ...]:
    """Return the values that parameter `name` of `family` may take (empty for a number)."""
    return tuple(family_of(family).params[name].choices)


def check_param(family: str, name: str, value: Any) -> Any:
    """Return a parameter's value in its plain form; raise `RecipeError` for a bad name or value."""
    params = family_of(family).params
    if name not in params:
        names = ", ".join(sorted(params))
        raise RecipeError(f"{family} has no parameter {name!r}; it has {names}{nearest(name, params)}")
    return params[name].check(name, value)
