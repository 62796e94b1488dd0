"""Structures of Bayesian network classifiers: the parents of each column, besides the class.

    naive Bayes   none
    TAN           the maximum spanning tree of I(i; j | Y), directed away from column 0          (Friedman et al. 1997)
    KDB-k         columns by falling I(i; Y); each takes the k earlier ones of the largest I(i; j | Y)     (Sahami 1996)

Of equal values the first column is taken, so that a table has one structure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import RecipeError, nearest
from alrviz.passes.aligned_buffers import Floats


@dataclass(frozen=True)
class Structure:
    """Parents of each column, without the class.

    Attributes:
        parents: of column j the columns it depends on, the most informative first.
        order: columns, each after its parents.
    """

    parents: tuple[tuple[int, ...], ...]
    order: tuple[int, ...]

    @property
    def children(self) -> NDArray[np.int64]:
        """(T,) the columns in order, whose levels the tables predict."""
        return np.array(self.order, np.int64)

    def cut(self, k: int, n_columns: int) -> "Structure":
        """Return the structure of the first n_columns of the order, with at most k parents each."""
        return Structure(tuple(parents_of_column[:k] for parents_of_column in self.parents), self.order[:n_columns])


def naive(n_columns: int) -> Structure:
    """Return the structure of naive Bayes."""
    return Structure(((),) * n_columns, tuple(range(n_columns)))


def tan(information: Floats) -> Structure:
    """Return the tree of `information` (a, a), I(i; j | Y), by Prim's algorithm."""
    a = len(information)
    parent = np.zeros(a, np.int64)
    best = information[0].astype(float)
    best[0] = -np.inf
    parents: list[tuple[int, ...]] = [()] * a
    order = [0]
    is_outside = np.ones(a, bool)
    is_outside[0] = False
    while is_outside.any():
        j = int(np.where(is_outside, best, -np.inf).argmax())
        parents[j] = (int(parent[j]),)
        order.append(j)
        is_outside[j] = False
        closer = is_outside & (information[j] > best)
        best[closer], parent[closer] = information[j, closer], j
    return Structure(tuple(parents), tuple(order))


def kdb(of_class: Floats, information: Floats, k: int) -> Structure:
    """Return KDB-k from I(i; Y) (a,) and I(i; j | Y) (a, a)."""
    order = np.argsort(-of_class, kind="stable")
    parents: list[tuple[int, ...]] = [()] * len(order)
    for place, j in enumerate(order):
        earlier = np.sort(order[:place])  # sorted, so that of equal information the first column is taken
        chosen = earlier[np.argsort(-information[j, earlier], kind="stable")][:k]
        parents[j] = tuple(chosen.tolist())
    return Structure(tuple(parents), tuple(order.tolist()))


def structure_of_parents(parents: Mapping[Any, Any], names: Sequence[str]) -> Structure:
    """Return the structure of a mapping from a column's name to its parent's name, or to several.

    Raises:
        RecipeError: a name is no column, or a column is its own ancestor.
    """
    number_by_name = {name: j for j, name in enumerate(names)}

    def column_number(name: Any) -> int:
        if name not in number_by_name:
            raise RecipeError(
                f"structure names {name!r}, which is no column; expected one of {', '.join(names)}"
                f"{nearest(str(name), number_by_name)}"
            )
        return number_by_name[name]

    parents_of_columns: list[tuple[int, ...]] = [()] * len(names)
    for child, parent_names in parents.items():
        names_of_parents = [parent_names] if isinstance(parent_names, str) else list(parent_names)
        parents_of_columns[column_number(child)] = tuple(
            dict.fromkeys(column_number(name) for name in names_of_parents)
        )
    return Structure(tuple(parents_of_columns), _topological_order(parents_of_columns, names))


def _topological_order(parents: Sequence[tuple[int, ...]], names: Sequence[str]) -> tuple[int, ...]:
    """Return the columns in an order in which parents come first."""
    order: list[int] = []
    while len(order) < len(parents):
        next_columns = [
            j
            for j, parents_of_column in enumerate(parents)
            if j not in order and all(p in order for p in parents_of_column)
        ]
        if not next_columns:
            cycle_names = ", ".join(names[j] for j in range(len(parents)) if j not in order)
            raise RecipeError(
                f"structure has a circle among {cycle_names}; expected that no column is its own ancestor"
            )
        order += next_columns
    return tuple(order)
