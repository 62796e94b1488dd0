"""The docstrings of the classifiers: each class describes its model, and `documented` adds the rest.

The line `{parameters}` becomes numpydoc's sections "Parameters" (the class's signature, described by the family's
`Param`s), "Attributes" (`_attributes` of the class and its bases) and "References" (works the docstring cites).
"""

from collections.abc import Mapping
from dataclasses import fields
from inspect import cleandoc
from math import inf
from textwrap import fill, indent
from typing import Any, TypeVar

from alrviz.errors import join_words
from alrviz.fitting.families import ENCODING, family_of
from alrviz.fitting.families.param import Param

_PLACEHOLDER = "{parameters}"
_WIDTH = 112
_SHOWN_BOUND = 1e5  # a higher bound only keeps numbers finite

# Parameters that no family or encoding describes. Name: type, text.
_ESTIMATOR_PARAMS: Mapping[str, tuple[str, str]] = {
    "categorical_features": (
        '"from_dtype", "all", None, names, mask or indices',
        'Which columns are not cut. "from_dtype": text, booleans and pandas categoricals.',
    ),
    "random_state": (
        "int, RandomState or None",
        "Seed of the fit's random numbers. None: another one for each fit with a random start, order of rows, "
        "cross-tuning or validation rows of bandwidths; 0 for the folds that choose order, penalties and levels if "
        "nothing else is drawn.",
    ),
    "verbose": (
        "bool or None",
        "Whether `fit` shows what it tries, its steps and log loss in a line on stderr; None: in a terminal or "
        "notebook, once a fit in the main process takes over 5 seconds.",
    ),
    "time_limit": (
        "float or None",
        "Seconds of the search for order, levels, share of tuples, penalties and iterations of ELR; the last fit comes "
        "on top. An order that takes longer than is left is not tried or given up, other settings are the best so far, "
        "and `chosen_` says so. The first order is always tried. With a limit the result depends on the machine's "
        "speed.",
    ),
    "n_jobs": (
        "int or None",
        "Threads; None for all (1 inside a joblib worker). The result has the same bits for any number.",
    ),
    "max_memory": (
        "int or None",
        "Bytes that a fit may take; None for half of the free memory. A fit that needs more is refused before anything "
        "is allocated.",
    ),
}
_REFERENCES: Mapping[str, str] = {
    "[AnDE]": "G. I. Webb, J. R. Boughton, F. Zheng, K. M. Ting and H. Salem, Learning by extrapolation from marginal "
    "to full-multivariate probability distributions: decreasingly naive Bayesian classification, Machine Learning 86, "
    "2012.",
    "[ALR]": "N. A. Zaidi, G. I. Webb, M. J. Carman, F. Petitjean and J. Cerquides, ALRn: accelerated higher-order "
    "logistic regression, Machine Learning 104, 2016.",
    "[DLR]": "W. Chen, Y. Chen, Y. Mao and B. Guo, Density-based logistic regression, ACM SIGKDD Conference on "
    "Knowledge Discovery and Data Mining, 2013.",
    "[ELR]": "R. Greiner, X. Su, B. Shen and W. Zhou, Structural extension to logistic regression: discriminative "
    "parameter learning of belief net classifiers, Machine Learning 59, 2005.",
    "[KDB]": "M. Sahami, Learning limited dependence Bayesian classifiers, International Conference on Knowledge "
    "Discovery and Data Mining, 1996.",
    "[SKDB]": "A. M. Martinez, G. I. Webb, S. Chen and N. A. Zaidi, Scalable learning of Bayesian network classifiers, "
    "Journal of Machine Learning Research 17, 2016.",
    "[TAN]": "N. Friedman, D. Geiger and M. Goldszmidt, Bayesian network classifiers, Machine Learning 29, 1997.",
    "[WANBIA-C]": "N. A. Zaidi, M. J. Carman, J. Cerquides and G. I. Webb, Naive-Bayes inspired effective "
    "pre-conditioner for speeding-up logistic regression, IEEE International Conference on Data Mining, 2014.",
}

Class = TypeVar("Class", bound=type)


def documented(cls: Class) -> Class:
    """Decorator of a dataclass that replaces `{parameters}` in its docstring."""
    doc = cleandoc(cls.__doc__ or "")  # Python 3.13 removes the indentation, older versions do not
    settings = {**family_of(cls._family).params, **ENCODING}  # type: ignore[attr-defined]
    defaults = {parameter.name: parameter.default for parameter in fields(cls) if parameter.init}
    parameters = [
        _entry(f"{name} : {type_text(settings[name])}, default {_literal(defaults[name])}", help_text(settings[name]))
        for name in settings
        if name in defaults
    ]
    parameters += [
        _entry(f"{name} : {kind}, default {_literal(defaults[name])}", text)
        for name, (kind, text) in _ESTIMATOR_PARAMS.items()
        if name in defaults
    ]
    descriptions_by_name: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        descriptions_by_name |= vars(base).get("_attributes", {})
    attributes = [_entry(head, text) for head, text in descriptions_by_name.items()]
    cited_references = [_fill(f"{tag} {text}", _WIDTH) for tag, text in _REFERENCES.items() if tag in doc]
    sections = [("Parameters", parameters), ("Attributes", attributes), ("References", cited_references)]
    text = "\n\n".join("\n".join([title, "-" * len(title), *entries]) for title, entries in sections if entries)
    cls.__doc__ = doc.replace(_PLACEHOLDER, text)
    return cls


def type_text(param: Param) -> str:
    """Return the type of a parameter as numpydoc writes it.

    >>> type_text(Param(1, low=0, high=8, integer=True, keywords={"auto": "auto"}))
    'int from 0 to 8 or "auto"'
    """
    if param.choices:
        options = [_literal(choice) for choice in param.choices]
    else:
        number = "int" if param.integer else "float"
        number += "" if param.low == -inf else f" {'above' if param.open_low else 'from'} {param.low:g}"
        number += f" to {param.high:g}" if param.high < _SHOWN_BOUND else ""
        options = [number, *map(_literal, param.keywords)]
    options += ["a tuple of numbers"] * param.per_order + ["dict"] * (param.parse is not None)
    return join_words(options, "or")


def help_text(param: Param) -> str:
    """Return the help of a parameter, with explanations of values whose names do not explain themselves."""
    values = [value for value in (*param.choices, *param.keywords) if value in param.meanings]
    text = " ".join([param.help, *(f"{_literal(value)}: {param.meanings[value]}." for value in values)])
    return text + " A tuple has a number for each order, from 1 to n; inf leaves an order out." * param.per_order


def _literal(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _entry(title: str, text: str) -> str:
    return f"{title}\n{indent(_fill(text, _WIDTH - 4), '    ')}"


def _fill(text: str, width: int) -> str:
    return fill(text, width, break_on_hyphens=False)
