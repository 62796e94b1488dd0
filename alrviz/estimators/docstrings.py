"""What the parameters and attributes of the classifiers mean: said once, and put into each class's docstring.

`documented` replaces the line `{parameters}` of a class's docstring by numpydoc's sections "Parameters" (those of its
own signature, with their defaults), "Attributes" and "References" (those that the docstring cites).
"""

from dataclasses import fields
from inspect import cleandoc
from math import inf
from textwrap import fill, indent
from typing import Any, TypeVar

from alrviz.estimators.param_docs import ATTRIBUTES, AUTO_ALPHA, OWN, PARAMETERS, REFERENCES
from alrviz.fitting.families import choices, family_of
from alrviz.fitting.families.param import Param

_MODELS = {
    0: "gives every class the same score",
    1: "has all w = 1",
    "zero": "gives every class the same score",
    "one": "has all w = 1",
    "anje": "is the generative model of the same order",
    "shares": "has the class shares in every row",
    "random": "has weights drawn with standard deviation 0.1 (`random_state`)",
}
_UNITS = {
    "none": "phi = w",
    "diagonal": "phi = w / sqrt(N_cell pi_k (1 - pi_k)), by the Hessian's diagonal",
    "diagonal-adaptive": "phi = w / sqrt(sum of p_k (1 - p_k) over the cell's rows), anew at every step while phi "
    "stays (`weights_` are then phi)",
    "theta": "phi = w log theta",
    "theta-gamma": "phi = w gamma log theta, where w = 1 is AnJE",
}
_PLACE = "{parameters}"
_WIDTH = 112

Class = TypeVar("Class", bound=type)


def documented(cls: Class) -> Class:
    """Fill in the place `{parameters}` of a dataclass's docstring; a decorator."""
    family: str = cls._family  # type: ignore[attr-defined]
    doc = cleandoc(cls.__doc__ or "")  # Python 3.13 has taken the indentation away, those before it have not
    own = {field.name: field.default for field in fields(cls) if field.init}
    alone = [name for name, param in family_of(family).params.items() if param.about and name in own]
    ordered = [*alone, *(name for name in PARAMETERS if name in own and name not in alone)]
    parameters = [_parameter(family, name, own[name]) for name in ordered]
    described = OWN.get(family, ({}, ATTRIBUTES))[1]
    attributes = [_entry(f"{name} : {kind}", text) for name, (kind, text) in described.items()]
    cited = [_fill(f"{tag} {text}", _WIDTH) for tag, text in REFERENCES.items() if tag in doc]
    sections = [("Parameters", parameters), ("Attributes", attributes), ("References", cited)]
    text = "\n\n".join("\n".join([title, "-" * len(title), *entries]) for title, entries in sections if entries)
    cls.__doc__ = doc.replace(_PLACE, text)
    return cls


def _parameter(family: str, name: str, default: Any) -> str:
    param = family_of(family).params.get(name)
    if param is not None and param.about:
        kind, text = _kind(param), param.about
    else:
        kind, text = OWN.get(family, ({}, {}))[0].get(name) or PARAMETERS[name]
    if name == "alpha" and param is not None:
        finds = "auto" in param.words
        kind, text = kind.format(kind=', "auto"' * finds), text.format(auto=AUTO_ALPHA * finds)
    if param is not None and param.each:
        kind += ", or a tuple of numbers"
        text += " A tuple has one for each order, from 1 to n; inf leaves an order out."
    if name in ("center", "start"):  # what they may be differs between families
        models = choices(family, name)
        kind = " or ".join(map(_literal, models))
        text = text.format(models=", ".join(f"{_literal(model)} {_MODELS[model]}" for model in models))
    elif name == "scale":
        units = choices(family, name)
        kind = " or ".join(map(_literal, units))
        text = text.format(units="; ".join(f"{_literal(unit)} {_UNITS[unit]}" for unit in units))
    return _entry(f"{name} : {kind}, default {_literal(default)}", text)


def _kind(param: Param) -> str:
    if param.choices:
        return " or ".join(map(_literal, param.choices))
    low = "" if param.low == -inf else f" {'above' if param.open_low else 'from'} {param.low:g}"
    low += "" if param.high == inf else f" to {param.high:g}"
    return ("int" if param.integer else "float") + low + "".join(f", or {_literal(word)}" for word in param.words)


def _literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _entry(head: str, text: str) -> str:
    return f"{head}\n{indent(_fill(text, _WIDTH - 4), '    ')}"


def _fill(text: str, width: int) -> str:
    return fill(text, width, break_on_hyphens=False)
