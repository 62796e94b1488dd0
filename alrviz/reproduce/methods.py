"""The methods of [DLR]'s tables, and those beside them: how each is made, and what it chooses on held-out rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from alrviz.estimators.density import DLRClassifier
from alrviz.estimators.peers import PEERS, make_peer, numbers_of

Grid = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Method:
    """One method: its name, its label in pictures, how to make it, and the grid it chooses from (empty: nothing)."""

    name: str
    label: str
    build: Callable[[], Any] = field(repr=False)
    grid: Grid = field(repr=False)


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
    # Ours, whose rows have no vote for themselves, with the default penalty.
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
