"""Structures of Bayesian network classifiers: the parents of each column, besides the class, found from counts.

    naive Bayes   none
    TAN           the maximum spanning tree of I(i; j | Y), directed away from column 0          (Friedman et al. 1997)
    KDB-k         columns by falling I(i; Y); each takes the k earlier ones of the largest I(i; j | Y)     (Sahami 1996)

    I(T; Y)       = sum over cells v and classes y of  p(v, y) log( p(v, y) / (p(v) p(y)) )
    I(i; j | Y)   = sum over pairs of levels and classes of  p(u, v, y) log( p(y) p(u, v, y) / (p(u, y) p(v, y)) )

p are shares of the summed row weights over the rows that have a cell in the tuple, without smoothing; information is in
nats. Of equal values the first column is taken, so that a table has one structure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import RecipeError, nearest
from alrviz.models.cell_space import AnySpace
from alrviz.models.tables import Tables
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


def class_information(tables: Tables) -> Floats:
    """Return (T,) the mutual information, in nats, of each tuple of `tables` and the class."""
    t = tables.tuple_of_seen
    cells = tables.counts.sum(axis=1, keepdims=True)
    totals = tables.tuple_counts.sum(axis=1)
    terms = _ratio_terms(tables.counts, tables.counts * totals[t][:, None], cells * tables.tuple_counts[t])
    return _mean_by_tuple(t, terms, totals)


def conditional_information(pairs: Tables) -> Floats:
    """Return (a, a) the mutual information of two columns given the class, in nats, symmetric with a zero diagonal.

    `pairs` are tables of order 2.
    """
    space = pairs.space
    codes, t = space.codes_of(pairs.seen_cells), pairs.tuple_of_seen
    joint_products = pairs.counts * pairs.tuple_counts[t]
    marginal_products = _marginal(space, pairs.counts, codes, t, 0) * _marginal(space, pairs.counts, codes, t, 1)
    terms = _ratio_terms(pairs.counts, joint_products, marginal_products)
    information = _mean_by_tuple(t, terms, pairs.tuple_counts.sum(axis=1))
    matrix = np.zeros((len(space.levels), len(space.levels)))
    matrix[space.tuples[:, 0], space.tuples[:, 1]] = information
    return matrix + matrix.T


def _marginal(space: AnySpace, counts: Floats, codes: NDArray[np.int64], t: NDArray[np.int64], side: int) -> Floats:
    """Return (S, C) the count of each cell's level in one of its two columns, over the rows that have both.

    counts (S, C), codes (S, 2) and tuple numbers t (S,) of the cells; side: 0 or 1, which of the two columns.
    """
    levels = space.levels[space.tuples[:, side]]
    level_index = (np.cumsum(levels) - levels)[t] + codes[:, side]
    sums = np.stack([np.bincount(level_index, column, minlength=int(levels.sum())) for column in counts.T], axis=1)
    return sums[level_index]


def _ratio_terms(counts: Floats, numerators: Floats, denominators: Floats) -> Floats:
    """Return (S,) sums over classes of count * log(numerator / denominator), 0 where the count is 0."""
    occurs = counts > 0
    terms = np.zeros_like(counts)
    terms[occurs] = counts[occurs] * np.log(numerators[occurs] / denominators[occurs])
    return terms.sum(axis=1)


def _mean_by_tuple(t: NDArray[np.int64], terms: Floats, totals: Floats) -> Floats:
    """Return (T,) sums of terms (S,) by tuple t (S,), divided by totals (T,); values below 0, from rounding, become
    0.
    """
    sums: Floats = np.bincount(t, terms, minlength=len(totals)).astype(np.float64, copy=False)
    return np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0).clip(0.0)


def naive_structure(n_columns: int) -> Structure:
    """Return the structure of naive Bayes: n_columns columns without parents."""
    return Structure(((),) * n_columns, tuple(range(n_columns)))


def tan_structure(information: Floats) -> Structure:
    """Return the tree of `information` (a, a), I(i; j | Y), by Prim's algorithm."""
    a = len(information)
    parent = np.zeros(a, np.int64)
    best_information = information[0].astype(float)
    best_information[0] = -np.inf
    parents: list[tuple[int, ...]] = [()] * a
    order = [0]
    is_outside = np.ones(a, bool)
    is_outside[0] = False
    while is_outside.any():
        j = int(np.where(is_outside, best_information, -np.inf).argmax())
        parents[j] = (int(parent[j]),)
        order.append(j)
        is_outside[j] = False
        is_closer = is_outside & (information[j] > best_information)
        best_information[is_closer], parent[is_closer] = information[j, is_closer], j
    return Structure(tuple(parents), tuple(order))


def kdb_structure(of_class: Floats, information: Floats, k: int) -> Structure:
    """Return KDB's structure with k parents from the columns' information on the class, I(i; Y) (a,), and I(i; j | Y)
    (a, a).
    """
    order = np.argsort(-of_class, kind="stable")
    parents: list[tuple[int, ...]] = [()] * len(order)
    for position, j in enumerate(order):
        earlier_columns = np.sort(order[:position])  # sorted, so that of equal information the first column is taken
        parent_columns = earlier_columns[np.argsort(-information[j, earlier_columns], kind="stable")][:k]
        parents[j] = tuple(parent_columns.tolist())
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
    """Return the columns in an order in which parents come first; `names` of the columns are for the error of a
    cycle.
    """
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
