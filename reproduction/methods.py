"""The methods of [DLR]'s tables, and those beside them: how each is made, and what it chooses on held-out rows."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OrdinalEncoder

from alrviz.estimators.density import DLRClassifier
from alrviz.estimators.peers import PEERS, make_peer, numbers_of

Grid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Method:
    """One method: its name, its label in pictures, how to make it, and the grid it chooses from (empty: nothing).

    by_class: its AUC is that of the classes that it gives, not of what ranks the rows.
    """

    name: str
    label: str
    build: Callable[[], Any] = field(repr=False)
    grid: Grid = field(repr=False)
    by_class: bool = False


def _peer(name: str) -> Method:
    return Method(name, PEERS[name].label, lambda: make_peer(name), PEERS[name].grid)


def _dlr(name: str, label: str, **settings: Any) -> Method:
    return Method(name, label, lambda: DLRClassifier(**settings, random_state=0, n_jobs=1), {})


def _silverman(alpha: float = 0.0) -> DLRClassifier:
    return DLRClassifier(bandwidth="silverman", alpha=alpha, n_jobs=1)


_METHODS = (
    # As the paper has it: no penalty, so nothing to choose.
    Method("lr", PEERS["lr"].label, lambda: make_peer("lr").set_params(model__C=np.inf), {}),
    # What the paper's lr looks like on classes of unlike size.
    Method(
        "lr-no-constant",
        "the same without a constant",
        lambda: make_peer("lr").set_params(model__C=np.inf, model__fit_intercept=False),
        {},
    ),
    *(_peer(name) for name in PEERS if name != "lr"),
    # The paper's two, without a penalty.
    Method("dlr", "dlr (Silverman's h)", _silverman, {}),
    _dlr("dlr-h", "dlr-h (Algorithm 1)", bandwidth="paper", alpha=0.0),
    # What the paper's dlr looks like where columns are many and rows few: as if its weights were held back.
    Method("dlr-alpha-1", "dlr (Silverman's h, alpha 1)", lambda: _silverman(1.0), {}),
    # What the paper's dlr looks like on tic-tac-toe: a column of 0 and 1 for each level, so a weight for each.
    Method(
        "dlr-levels",
        "dlr, a column a level",
        lambda: Pipeline([("columns", numbers_of()), ("model", _silverman())]),
        {},
    ),
    # Ours, whose rows have no vote for themselves, with alpha 10.
    _dlr("dlr-validation", "dlr (h by validation)", bandwidth="validation", alpha=10.0),
    _dlr("dlr-loo", "dlr (leave-one-out)", bandwidth="loo", alpha=10.0),
)
METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in _METHODS})
# Silverman's h with weights held back, from not at all to hard: what [DLR] may have done where it prints more.
HELD_BACK: Mapping[str, Method] = MappingProxyType(
    {
        f"dlr-alpha-{alpha:g}": Method(f"dlr-alpha-{alpha:g}", f"dlr, alpha {alpha:g}", partial(_silverman, alpha), {})
        for alpha in (0.0, 0.1, 1.0, 10.0, 100.0)
    }
)


# -- Otherwise: what might bring the printed figures, tried one by one -------------------------------------------------
_RIVALS = ("klr-poly", "klr-rbf", "svm-poly", "svm-rbf", "lssvm-poly", "lssvm-rbf")
_RAW = {"columns__numeric__standardscaler": "passthrough"}
_CODES = {"columns__levels": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)}
_NO_PENALTY: Mapping[str, Any] = {"model__C": np.inf}
_WAYS: Mapping[str, tuple[Mapping[str, Any], bool]] = {  # of rivals: settings, and whether its AUC is of its classes
    "as it comes": ({}, False),
    "not standardised": (_RAW, False),
    "a number a level": (_CODES, False),
    "AUC of its classes": ({}, True),
}
_LR_WAYS: Mapping[str, tuple[Mapping[str, Any], bool]] = {
    "with C = 1": ({"model__C": 1.0}, False),
    "with C = 0.01": ({"model__C": 0.01}, False),
    "without a constant": ({**_NO_PENALTY, "model__fit_intercept": False}, False),
    "a number a level": ({**_NO_PENALTY, **_CODES}, False),
    "a number a level, without a constant": ({**_NO_PENALTY, **_CODES, "model__fit_intercept": False}, False),
    "AUC of its classes": (_NO_PENALTY, True),
}


def _so(peer: str, settings: Mapping[str, Any]) -> Any:
    return make_peer(peer).set_params(**settings)


def _by_algorithm_1(alpha: float) -> DLRClassifier:
    return DLRClassifier(bandwidth="paper", alpha=alpha, random_state=0, n_jobs=1)


def _leveled(alpha: float, make: Callable[[float], DLRClassifier] = _silverman) -> Pipeline:
    return Pipeline([("columns", numbers_of()), ("model", make(alpha))])


def _other_ways() -> Iterator[tuple[str, str, Callable[[], Any], bool]]:
    """Method of the paper, how it is otherwise, what makes it, whether its AUC is of its classes."""
    for peer, ways in (("lr", _LR_WAYS), *((name, _WAYS) for name in _RIVALS)):
        for way, (settings, by_class) in ways.items():
            yield peer, way, partial(_so, peer, settings), by_class
    for alpha in (0.1, 1.0, 10.0, 100.0):
        yield "dlr", f"with alpha {alpha:g}", partial(_silverman, alpha), False
        yield "dlr", f"a column a level, alpha {alpha:g}", partial(_leveled, alpha), False
    for alpha in (1.0, 10.0):
        yield "dlr-h", f"with alpha {alpha:g}", partial(_by_algorithm_1, alpha), False
    yield "dlr-h", "a column a level", partial(_leveled, 0.0, _by_algorithm_1), False
    yield "dlr", "a column a level", partial(_leveled, 0.0), False
    yield "dlr", "a column a level, AUC of its classes", partial(_leveled, 0.0), True


# By "method, how": the first part is the paper's method whose printed figures it might bring.
OTHERWISE: Mapping[str, Method] = MappingProxyType(
    {
        f"{name}, {way}": Method(f"{name}, {way}", f"{name}, {way}", build, {}, by_class)
        for name, way, build, by_class in _other_ways()
    }
)
# Of them what is the same where all columns are numeric.
OF_LEVELS = tuple(name for name in OTHERWISE if "a level" in name and not name.endswith("classes"))
ALL_METHODS: Mapping[str, Method] = MappingProxyType({**METHODS, **HELD_BACK, **OTHERWISE})
