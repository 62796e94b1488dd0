"""How much columns tell about the class, and about each other within a class: from raw counts, in nats.

    I(T; Y)          = sum over cells v and classes y of  p(v, y) log( p(v, y) / (p(v) p(y)) )
    I(i; j | Y)      = sum over pairs of levels and classes of  p(u, v, y) log( p(y) p(u, v, y) / (p(u, y) p(v, y)) )

p are shares of the summed row weights over the rows that have a cell in the tuple; there is no smoothing.
"""

import numpy as np
from numpy.typing import NDArray

from alrviz.models.cell_space import AnySpace
from alrviz.models.tables import Tables
from alrviz.passes.aligned_buffers import Floats


def class_information(tables: Tables) -> Floats:
    """Return (T,) the mutual information of each tuple of `tables` and the class."""
    t = tables.tuple_of_seen
    cells = tables.counts.sum(axis=1, keepdims=True)
    totals = tables.tuple_counts.sum(axis=1)
    terms = _ratio_terms(tables.counts, tables.counts * totals[t][:, None], cells * tables.tuple_counts[t])
    return _mean_by_tuple(t, terms, totals)


def conditional_information(pairs: Tables) -> Floats:
    """Return (a, a), symmetric with a zero diagonal: the mutual information of two columns given the class.

    `pairs` are tables of order 2.
    """
    space = pairs.space
    codes, t = space.codes_of(pairs.seen), pairs.tuple_of_seen
    joint_products = pairs.counts * pairs.tuple_counts[t]
    marginal_products = _marginal(space, pairs.counts, codes, t, 0) * _marginal(space, pairs.counts, codes, t, 1)
    terms = _ratio_terms(pairs.counts, joint_products, marginal_products)
    information = _mean_by_tuple(t, terms, pairs.tuple_counts.sum(axis=1))
    matrix = np.zeros((len(space.levels), len(space.levels)))
    matrix[space.tuples[:, 0], space.tuples[:, 1]] = information
    return matrix + matrix.T


def _marginal(space: AnySpace, counts: Floats, codes: NDArray[np.int64], t: NDArray[np.int64], side: int) -> Floats:
    """Return (S, C) the count of each cell's level in one of its two columns, over the rows that have both."""
    levels = space.levels[space.tuples[:, side]]
    place = (np.cumsum(levels) - levels)[t] + codes[:, side]
    sums = np.stack([np.bincount(place, column, minlength=int(levels.sum())) for column in counts.T], axis=1)
    return sums[place]


def _ratio_terms(counts: Floats, numerators: Floats, denominators: Floats) -> Floats:
    """Return (S,) sums over classes of count * log(numerator / denominator), 0 where the count is 0."""
    occurs = counts > 0
    terms = np.zeros_like(counts)
    terms[occurs] = counts[occurs] * np.log(numerators[occurs] / denominators[occurs])
    return terms.sum(axis=1)


def _mean_by_tuple(t: NDArray[np.int64], terms: Floats, totals: Floats) -> Floats:
    """Return the sums of terms per tuple divided by its rows; values below 0, from rounding, become 0."""
    sums: Floats = np.bincount(t, terms, minlength=len(totals)).astype(np.float64, copy=False)
    return np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0).clip(0.0)
