"""Which tuples a model is made of: [sALR]'s scores by counts, a gain by residuals, and the levels of its hierarchy.

    MI(t; Y)  = sum over the cells c of t and classes k of  N_ck / N log(N_ck N / (N_c N_k))          nats
    mi-mm     = MI - (m_tY - m_t - m_Y + 1) / 2N,       m: occupied cells with classes, cells, classes (Miller-Madow)

Plain MI prefers tuples of many cells, whose counts are thin: a table of chance alone has an MI of about
(m_t - 1)(m_Y - 1) / 2N, which the correction takes away. Neither sees from single columns what tells only together
(exclusive or); the predicted gain, of what a model of the parts leaves over, does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import ceil
from types import MappingProxyType
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from alrviz.models.cell_space import Tuples, space_of
from alrviz.models.tables import Tables
from alrviz.passes.aligned_buffers import Floats

Columns = tuple[int, ...]
_AT_ONCE = 2**16  # cells


def mutual_information(tables: Tables) -> Floats:
    """Return MI (T,) of each tuple's cells and the class, nats, of the rows that have a level in all its columns."""
    of, counts = tables.tuple_of_seen, tables.counts
    total, terms = tables.tuple_counts.sum(axis=1), np.empty(len(of))
    for begin in range(0, len(of), _AT_ONCE):  # millions of cells by tens of classes take more than counting them did
        own, rows = of[begin : begin + _AT_ONCE], counts[begin : begin + _AT_ONCE]
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = rows.sum(axis=1)[:, None] * tables.tuple_counts[own] / total[own][:, None]
            terms[begin : begin + _AT_ONCE] = np.where(rows > 0, rows * np.log(rows / expected), 0.0).sum(axis=1)
    summed = np.bincount(of, terms, tables.space.n_tuples)
    return np.maximum(0.0, np.divide(summed, total, out=np.zeros_like(summed), where=total > 0))


def miller_madow(tables: Tables) -> Floats:
    """Return the same (T,) with Miller and Madow's correction, below 0 where there is less than chance gives."""
    of, space = tables.tuple_of_seen, tables.space
    pairs = np.bincount(of, (tables.counts > 0).sum(axis=1), space.n_tuples)
    cells = np.bincount(of, minlength=space.n_tuples)
    classes = (tables.tuple_counts > 0).sum(axis=1)
    total = tables.tuple_counts.sum(axis=1)
    bias = (pairs - cells - classes + 1) / 2.0
    return mutual_information(tables) - np.divide(bias, total, out=np.zeros_like(bias), where=total > 0)


SCORES: Mapping[str, Callable[[Tables], Floats]] = MappingProxyType({"mi": mutual_information, "mi-mm": miller_madow})


def best(scores: Floats, keep: float) -> NDArray[np.intp]:
    """Return the tuples of the highest scores (T,), ascending, one at least; of equals the first.

    `keep` up to 1 is a share of them, above 1 their number.
    """
    size = max(1, ceil(keep * len(scores) - 1e-9) if keep <= 1 else int(keep))
    return np.sort(np.argsort(-scores, kind="stable")[:size])


def grown(selected: Iterable[Columns], n_columns: int, strong: bool) -> list[Columns]:
    """Return the tuples of one column more than `selected`, in the order of a dictionary.

    Of each one sub-tuple at least is selected ("weak"), or all are ("strong").
    """
    known = set(selected)
    wider = {tuple(sorted((*columns, c))) for columns in known for c in range(n_columns) if c not in columns}
    if strong:
        wider = {columns for columns in wider if all(part in known for part in combinations(columns, len(columns) - 1))}
    return sorted(wider)


def excess_test(tables: Tables, excess: Floats, by_cell: bool = False) -> tuple[Floats, Floats]:
    """Return X2 (T,) of what each tuple's cells have beyond a model that lacks it, and its degrees of freedom (T,); or
    (S,) of each cell by itself.

        X2 = sum over cells and classes of G^2 / E where E >= 1,     G = sum over the cell's rows of p - 1[y]
                                                                     E = N_ck + G: what the model expects there

    `excess` is G (S, C) of a model of the tuples' parts, which explains all of a table but (L_1 - 1)(L_2 - 1)... of its
    cells for each class but one: these are the degrees of freedom, in proportion where not all cells are looked at. Of
    a column of one level that rows lack ("no level") that cell is free.
    """
    of, space, classes = tables.tuple_of_seen, tables.space, tables.n_classes
    expected = tables.counts + excess
    looked = expected >= 1.0
    terms = np.where(looked, excess**2, 0.0) / np.where(looked, expected, 1.0)
    levels = space.levels[space.tuples].astype(float)
    lacked = tables.tuple_counts.sum(axis=1) < (1.0 - 1e-9) * tables.class_counts.sum()
    shares = np.where((levels == 1.0) & lacked[:, None], 1.0, (levels - 1.0) / levels)
    free = shares.prod(axis=1) * (classes - 1.0) / classes
    if by_cell:
        return terms.sum(axis=1), looked.sum(axis=1) * free[of]
    found = np.bincount(of, terms.sum(axis=1), space.n_tuples)
    df: Floats = np.bincount(of, looked.sum(axis=1), space.n_tuples) * free
    return found.astype(float), df


def predicted_gain(tables: Tables, excess: Floats) -> Floats:
    """Return (T,): by how many nats a row each tuple would lower held-out log loss, beside a model that lacks it.

    gain = (X2 - 2 df) / 2N                                      X2 and df as `excess_test` has them

    Nothing where nothing is free: with a column of one level a tuple is its part, whose penalty leaves some of X2 over.
    """
    return gain_of(*excess_test(tables, excess), tables)


def gain_of(found: Floats, df: Floats, tables: Tables) -> Floats:
    """Return the predicted gain (T,) or (S,) of X2 and its degrees of freedom."""
    return np.where(df > 0.0, found - 2.0 * df, 0.0) / (2.0 * tables.class_counts.sum())


@dataclass(frozen=True, eq=False, repr=False)
class Level:
    """The tuples of one size that were looked at, and which of them were kept.

    Attributes:
        tuples: (T, i) int32 columns, in the order of a dictionary.
        scores: (T,).
        kept: (K,) which of them go on, ascending.
    """

    tuples: NDArray[np.int32]
    scores: Floats
    kept: NDArray[np.intp]

    def __repr__(self) -> str:
        return f"<Level of {self.tuples.shape[1]} columns: {len(self.kept):,} of {len(self.tuples):,} tuples kept>"

    @property
    def chosen(self) -> tuple[Columns, ...]:
        """The columns of the tuples that were kept."""
        return tuple(map(tuple, self.tuples[self.kept].tolist()))


class Counted(Protocol):
    """What selecting asks of the rows.

    Attributes:
        hear: hears of each level that was scored.
        levels: (a,) levels of each column.
    """

    hear: Callable[[Level], None]
    levels: NDArray[np.int64]

    def tables(self, tuples: Tuples) -> Tables:
        """Return the counts of all tuples of an order, or of a list of them."""

    def excess(self, tuples: Tuples, below: Tuples) -> Floats:
        """Return G (S, C) of the seen cells of tuples, for a model of those of `below`."""

    def losses_without(self, tuples: Tuples) -> Floats:
        """Return (T,): by how many nats a row of D_CV a model of tuples is the worse for having to do without each."""

    def scored(self, looked: Tuples, below: Tuples, score: str) -> tuple[NDArray[np.int32], Floats]:
        """Return tuples (T, i) and their scores (T,), "gain" beside a model of those of `below`."""
        if score == "cv":  # counts other rows, by itself
            return space_of(self.levels, looked).tuples, self.losses_without(looked)
        tables = self.tables(looked)
        if score == "gain":
            return tables.space.tuples, predicted_gain(tables, self.excess(looked, below))
        return tables.space.tuples, SCORES[score](tables)


def kept_of(scores: Floats, keep: float, score: str) -> NDArray[np.intp]:
    """Return which of the scores (T,) go on, as `best`; of gains those above 0 alone, the best where there is none."""
    kept = best(scores, keep)
    if score != "gain":
        return kept
    return kept[scores[kept] > 0] if (scores > 0).any() else best(scores, 1e-12)


def wider(chosen: Sequence[Columns], n_columns: int, strong: bool) -> tuple[Columns, ...]:
    """Return the tuples that grow from those chosen; where none has all its parts, those that have one."""
    return tuple(grown(chosen, n_columns, strong)) or tuple(grown(chosen, n_columns, False))


def levels(
    counted: Counted, n_columns: int, order: int, score: str, keep: float, hierarchy: str = ""
) -> Iterator[Level]:
    """Yield the levels of a selection as each is scored; those kept of the last are what a model is made of.

    Args:
        counted: the rows.
        n_columns: a.
        order: n.
        score: one of SCORES, "cv", or "gain": tuples that would raise held-out log loss are then not kept, but for the
            best.
        keep: share of the tuples looked at that are kept, of each level; above 1 their number.
        hierarchy: "weak" or "strong" for level after level, each grown from what was kept of the one before; "" for all
            tuples of n columns at once.
    """
    looked: Tuples = 1 if hierarchy else order
    below: Tuples = 0 if hierarchy else order - 1
    so_far: tuple[Columns, ...] = ()
    for i in range(1 if hierarchy else order, order + 1):
        tuples, scores = counted.scored(looked, below, score)
        yield (level := Level(tuples, scores, kept_of(scores, keep, score)))
        # What gains beside its parts is in the model with all of them, those of lower levels too.
        below = so_far = (*so_far, *level.chosen) if score == "gain" else level.chosen
        if i < order:
            looked = wider(level.chosen, n_columns, hierarchy == "strong")
