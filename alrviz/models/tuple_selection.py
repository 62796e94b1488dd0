"""Selection of a model's tuples: [sALR]'s scores from counts, a gain from residuals, and the levels of the hierarchy.

    MI(t; Y)  = sum over the cells c of t and classes k of  N_ck / N log(N_ck N / (N_c N_k))          nats
    mi-mm     = MI - (m_tY - m_t - m_Y + 1) / 2N,       m: occupied cells with classes, cells, classes (Miller-Madow)

Plain MI prefers tuples of many cells with few rows each: a table of pure chance has an MI of about
(m_t - 1)(m_Y - 1) / 2N, which the correction subtracts. Neither score recognises in single columns what tells only
jointly (exclusive or). The predicted gain does: it measures what a model of the subtuples leaves unexplained.
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
_CELLS_AT_ONCE = 2**16  # cells


def mutual_information(tables: Tables) -> Floats:
    """Return MI (T,) of each tuple's cells and the class, in nats, over the rows that have a level in all its
    columns.
    """
    tuple_numbers, counts = tables.tuple_of_seen, tables.counts
    n_rows_of_tuple, terms = tables.tuple_counts.sum(axis=1), np.empty(len(tuple_numbers))
    for begin in range(
        0, len(tuple_numbers), _CELLS_AT_ONCE
    ):  # temporary arrays of millions of cells by tens of classes would need more memory than counting
        batch, batch_counts = tuple_numbers[begin : begin + _CELLS_AT_ONCE], counts[begin : begin + _CELLS_AT_ONCE]
        with np.errstate(divide="ignore", invalid="ignore"):
            expected_counts = (
                batch_counts.sum(axis=1)[:, None] * tables.tuple_counts[batch] / n_rows_of_tuple[batch][:, None]
            )
            terms[begin : begin + _CELLS_AT_ONCE] = np.where(
                batch_counts > 0, batch_counts * np.log(batch_counts / expected_counts), 0.0
            ).sum(axis=1)
    sums = np.bincount(tuple_numbers, terms, tables.space.n_tuples)
    return np.maximum(0.0, np.divide(sums, n_rows_of_tuple, out=np.zeros_like(sums), where=n_rows_of_tuple > 0))


def miller_madow(tables: Tables) -> Floats:
    """Return MI (T,) with Miller and Madow's correction; below 0 where it is less than expected by chance."""
    tuple_numbers, space = tables.tuple_of_seen, tables.space
    n_pairs = np.bincount(tuple_numbers, (tables.counts > 0).sum(axis=1), space.n_tuples)
    n_cells = np.bincount(tuple_numbers, minlength=space.n_tuples)
    n_classes = (tables.tuple_counts > 0).sum(axis=1)
    n_rows_of_tuple = tables.tuple_counts.sum(axis=1)
    bias = (n_pairs - n_cells - n_classes + 1) / 2.0
    return mutual_information(tables) - np.divide(
        bias, n_rows_of_tuple, out=np.zeros_like(bias), where=n_rows_of_tuple > 0
    )


SCORES: Mapping[str, Callable[[Tables], Floats]] = MappingProxyType({"mi": mutual_information, "mi-mm": miller_madow})


def top_scores(scores: Floats, keep: float) -> NDArray[np.intp]:
    """Return the tuples of the highest scores (T,), ascending, at least one; of equal scores the first.

    `keep` up to 1 is a share of the tuples, above 1 their number.
    """
    n_kept = max(1, ceil(keep * len(scores) - 1e-9) if keep <= 1 else int(keep))
    return np.sort(np.argsort(-scores, kind="stable")[:n_kept])


def extend_tuples(selected: Iterable[Columns], n_columns: int, strong: bool) -> list[Columns]:
    """Return the tuples with one column more than `selected`, in lexicographic order.

    At least one of their subtuples is selected, or with `strong` all are.
    """
    selected_set = set(selected)
    extended_tuples = {
        tuple(sorted((*columns, c))) for columns in selected_set for c in range(n_columns) if c not in columns
    }
    if strong:
        extended_tuples = {
            columns
            for columns in extended_tuples
            if all(subtuple in selected_set for subtuple in combinations(columns, len(columns) - 1))
        }
    return sorted(extended_tuples)


def excess_test(tables: Tables, excess: Floats, by_cell: bool = False) -> tuple[Floats, Floats]:
    """Return X2 (T,) of what each tuple's cells have beyond a model without the tuple, and its degrees of freedom (T,).

        X2 = sum over cells and classes of G^2 / E where E >= 1,     G = sum over the cell's rows of p - 1[y]
                                                                     E = N_ck + G: the model's expected count

    Args:
        tables: counts of the tuples.
        excess: (S, C) G of a model of the tuples' subtuples. It explains all of a table but (L_1 - 1)(L_2 - 1)... of
            its
            cells for each class but one: these are the degrees of freedom, in proportion where not all cells are
            tested. A constant column with missing values ("no level") counts as one free cell.
        by_cell: return both (S,) for each cell by itself.
    """
    tuple_numbers, space, classes = tables.tuple_of_seen, tables.space, tables.n_classes
    expected_counts = tables.counts + excess
    is_tested = expected_counts >= 1.0
    terms = np.where(is_tested, excess**2, 0.0) / np.where(is_tested, expected_counts, 1.0)
    levels = space.levels[space.tuples].astype(float)
    has_missing = tables.tuple_counts.sum(axis=1) < (1.0 - 1e-9) * tables.class_counts.sum()
    free_shares = np.where((levels == 1.0) & has_missing[:, None], 1.0, (levels - 1.0) / levels)
    free_share = free_shares.prod(axis=1) * (classes - 1.0) / classes
    if by_cell:
        return terms.sum(axis=1), is_tested.sum(axis=1) * free_share[tuple_numbers]
    x2 = np.bincount(tuple_numbers, terms.sum(axis=1), space.n_tuples)
    df: Floats = np.bincount(tuple_numbers, is_tested.sum(axis=1), space.n_tuples) * free_share
    return x2.astype(float), df


def predicted_gain(tables: Tables, excess: Floats) -> Floats:
    """Return (T,) the nats per row by which each tuple would lower the validation log loss of a model without it.

        gain = (X2 - 2 df) / 2N                                      X2 and df as in `excess_test`

    It is 0 without degrees of freedom: a tuple with a constant column equals its subtuple, and the X2 that the
    subtuple's penalty leaves is no reason to add it.
    """
    return gain_of_test(*excess_test(tables, excess), tables)


def gain_of_test(x2: Floats, df: Floats, tables: Tables) -> Floats:
    """Return the predicted gain (T,) or (S,) from X2 and its degrees of freedom, `df`; `tables` have the number of
    rows.
    """
    return np.where(df > 0.0, x2 - 2.0 * df, 0.0) / (2.0 * tables.class_counts.sum())


@dataclass(frozen=True, eq=False, repr=False)
class Level:
    """The tuples of one size that were scored, and which of them were kept.

    Attributes:
        tuples: (T, i) int32 columns, in lexicographic order.
        scores: (T,).
        kept_indices: (K,) the tuples that are kept, ascending.
    """

    tuples: NDArray[np.int32]
    scores: Floats
    kept_indices: NDArray[np.intp]

    def __repr__(self) -> str:
        return (
            f"<Level of {self.tuples.shape[1]} columns: {len(self.kept_indices):,} of {len(self.tuples):,} tuples kept>"
        )

    @property
    def kept_tuples(self) -> tuple[Columns, ...]:
        """The columns of the kept tuples."""
        return tuple(map(tuple, self.tuples[self.kept_indices].tolist()))


class SelectionRows(Protocol):
    """The rows, as a selection needs them.

    Attributes:
        on_level: called with a `Level`, the scored tuples of one size, after each size.
        levels: (a,) number of values of each column.
    """

    on_level: Callable[[Level], None]
    levels: NDArray[np.int64]

    def tables(self, tuples: Tuples) -> Tables:
        """Return the counts of all tuples of an order, or of a list of them."""

    def excess(self, tuples: Tuples, base_tuples: Tuples) -> Floats:
        """Return G (S, C) of the seen cells of tuples, for a model of the tuples `base_tuples`."""

    def losses_without(self, tuples: Tuples) -> Floats:
        """Return (T,) the nats per row of D_CV by which a model of the tuples gets worse without each of them."""

    def scored(self, candidates: Tuples, base_tuples: Tuples, score: str) -> tuple[NDArray[np.int32], Floats]:
        """Return the candidate tuples (T, i) and their scores (T,); "gain" is beside a model of `base_tuples`."""
        if score == "cv":  # counts rows of its own
            return space_of(self.levels, candidates).tuples, self.losses_without(candidates)
        tables = self.tables(candidates)
        if score == "gain":
            return tables.space.tuples, predicted_gain(tables, self.excess(candidates, base_tuples))
        return tables.space.tuples, SCORES[score](tables)


def select_scores(scores: Floats, keep: float, score: str) -> NDArray[np.intp]:
    """Return the scores (T,) to keep, as `top_scores`; of gains only those above 0, or the best if none is."""
    kept_indices = top_scores(scores, keep)
    if score != "gain":
        return kept_indices
    return kept_indices[scores[kept_indices] > 0] if (scores > 0).any() else top_scores(scores, 1e-12)


def next_tuples(selected: Sequence[Columns], n_columns: int, strong: bool) -> tuple[Columns, ...]:
    """Return the tuples of one column more than `selected`, by the strong or the weak hierarchy (`extend_tuples`).

    If none has all its subtuples selected, they are those with one of them.
    """
    return tuple(extend_tuples(selected, n_columns, strong)) or tuple(extend_tuples(selected, n_columns, False))


def levels(
    rows: SelectionRows, n_columns: int, order: int, score: str, keep: float, hierarchy: str = ""
) -> Iterator[Level]:
    """Yield the levels of a selection as each is scored; a model consists of the tuples kept at the last level.

    Args:
        rows: the rows.
        n_columns: number of columns a.
        order: largest number of columns n of a tuple.
        score: one of SCORES, "cv" or "gain". With "gain" only tuples that lower the validation log loss are kept, or
            the best one if none does.
        keep: share of the candidates that is kept at each level; above 1 their number.
        hierarchy: "weak" or "strong" for level after level, each extending the kept tuples of the one before; "" for
            all tuples of n columns at once.
    """
    candidates: Tuples = 1 if hierarchy else order
    base_tuples: Tuples = 0 if hierarchy else order - 1
    kept_so_far: tuple[Columns, ...] = ()
    for i in range(1 if hierarchy else order, order + 1):
        tuples, scores = rows.scored(candidates, base_tuples, score)
        yield (level := Level(tuples, scores, select_scores(scores, keep, score)))
        # A tuple gains beside its subtuples, so the model needs those of lower levels too.
        base_tuples = kept_so_far = (*kept_so_far, *level.kept_tuples) if score == "gain" else level.kept_tuples
        if i < order:
            candidates = next_tuples(level.kept_tuples, n_columns, hierarchy == "strong")
