"""The methods of [DLR]'s tables, and those beside them: how each is made, and what it chooses on held-out rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from alrviz.estimators.density import DLRClassifier
from alrviz.estimators.peers import PEERS, make_peer

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


_METHODS = (
    # As the paper has it: no penalty, so nothing to choose.
    Method("lr", PEERS["lr"].label, lambda: make_peer("lr").set_params(model__C=np.inf), {}),
    *(_peer(name) for name in PEERS if name != "lr"),
    # The paper's two, without a penalty; then ours, whose rows have no vote for themselves.
    _dlr("dlr", "dlr (Silverman's h)", bandwidth="silverman", alpha=0.0),
    _dlr("dlr-h", "dlr-h (Algorithm 1)", bandwidth="paper", alpha=0.0),
    _dlr("dlr-validation", "dlr (h by validation)", bandwidth="validation"),
    _dlr("dlr-loo", "dlr (leave-one-out, default)"),
)
METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in _METHODS})
