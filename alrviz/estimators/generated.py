"""A family's classifier, made of the family: a parameter of it is one of the classifier, with the same default."""

from dataclasses import Field, field, fields, make_dataclass
from types import UnionType
from typing import Any

from alrviz.estimators.base import CellClassifier
from alrviz.estimators.docstrings import documented
from alrviz.estimators.linear import LinearClassifier
from alrviz.fitting.families.cells import CellFamily
from alrviz.fitting.families.param import Param


def classifier_of(family: CellFamily, module: str) -> type[CellClassifier]:
    """Return the classifier of a family of cells, as a class of `module`, which is to hold it under its name.

    Its weights are free where the family has an `alpha`; else its scores are what its fit begins with.
    """
    base: type[CellClassifier] = LinearClassifier if "alpha" in family.params else CellClassifier
    inherited: dict[str, Field[Any]] = {one.name: one for one in fields(base)}
    own = [
        (name, inherited[name].type if name in inherited else type_of(param), field(default=param.default))
        for name, param in family.params.items()
        if name not in inherited or inherited[name].default != param.default
    ]
    said = {
        "__doc__": family.about,
        "__module__": module,
        "_family": family.name,
        "_has_weights": issubclass(base, LinearClassifier),
    }
    name = family.estimator.rpartition(".")[2]
    made = make_dataclass(name, own, bases=(base,), namespace=said, kw_only=True, eq=False, repr=False)
    made.__module__ = module
    return documented(made)


def type_of(param: Param) -> type | UnionType:
    """Return the type of what a parameter may be."""
    if not param.choices:
        number: type = int if param.integer else float
        return number | str if param.words else number
    found, *more = dict.fromkeys(map(type, param.choices))
    kind: type | UnionType = found
    for other in more:
        kind |= other
    return kind
