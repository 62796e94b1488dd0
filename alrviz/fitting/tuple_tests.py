"""Tests of tuples: what a model lacks (a score test), and what tuples tell without any model (a saturated table).

G  = sum over a cell's rows of p - 1[y]        V = sum of p (1 - p)        E = sum of p        p of the model
f  = G / V, purified by V: freed of what parts of the tuple would put right
X2 = sum over cells and classes of  (1 - E / N_c) V f^2        exact of two classes, else as if p were even in a cell
gain = (X2 - 2 df) / 2N        nats a test row: a Newton step, less what its free numbers cost

G2 = 2 sum over cells and classes of N_ck log(N_ck / fitted)        fitted to all slices with the class
interaction = (G2 - df) / 2N        nats a row: what the tuple tells of the class beyond its parts, exclusive or too
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import chdtrc

from alrviz.data.encoded import Encoded
from alrviz.fitting.prepare import TrainingData
from alrviz.kernels import effects as kernels
from alrviz.models.cell_space import AnySpace, TupleSpace
from alrviz.models.index import CellIndex
from alrviz.models.set_cover import Cover
from alrviz.models.slices import Slices, with_parts
from alrviz.models.tables import Tables
from alrviz.models.tuple_selection import miller_madow, mutual_information
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.rows import Rows
from alrviz.passes.threads import resolve_jobs, run_parts
from alrviz.stop import NEVER, StopToken

Columns = tuple[int, ...]
MIN_EXPECTED = 1.0  # expected rows of a cell and class that is tested
_TOL, _STEPS = 1e-8, 200  # of purification: relative, and steps at most; a test needs no more
_MAX_RANK_NUMBERS = 8_000_000  # numbers in memory to compute a rank


@dataclass(frozen=True, eq=False)
class TupleCounts:
    """Rows counted in the cells of tuples and of all their subtuples.

    tuples: numbers of the tuples among all of `tables`. cover, rows: the rows encoded for sums over cells. index,
    slices: the cells, and the slices of them that purification frees from effects. jobs: number of threads.
    """

    tuples: NDArray[np.intp]
    tables: Tables
    cover: Cover
    rows: Rows
    index: CellIndex[AnySpace]
    slices: Slices
    jobs: int

    @classmethod
    def from_rows(
        cls, encoded: Encoded, tuples: Sequence[Columns], n_jobs: int | None, stop: StopToken
    ) -> "TupleCounts":
        """Count encoded rows in the cells of `tuples` and of all their subtuples."""
        space = with_parts(TupleSpace(encoded.levels, tuples))
        rows = replace(encoded, levels=encoded.levels + 1, chains=None)
        prepared = TrainingData(rows, None, None, n_jobs, merge=False)
        all_tuples = tuple(map(tuple, space.members))
        covered, tables = prepared.covered_rows(all_tuples, stop), prepared.tables(all_tuples, 0.0, stop)
        tuple_index_by_columns = {columns: tuple_index for tuple_index, columns in enumerate(all_tuples)}
        index = CellIndex.from_cells(tables.space, tables.seen_cells)
        tuple_numbers = np.array([tuple_index_by_columns[tuple(columns)] for columns in tuples], np.intp)
        return cls(
            tuple_numbers, tables, covered.cover, covered.rows, index, Slices.from_index(index), resolve_jobs(n_jobs)
        )

    def degrees_of_freedom(
        self,
        is_tested: NDArray[np.bool_],
        free_shares: Floats,
        stop: StopToken = NEVER,
        statistics: Floats | None = None,
        max_p: float = 1.0,
    ) -> Floats:
        """Return the degrees of freedom (T,) of the tuples.

        For each class they are the tested cells less the rank of their slices, times the mean of `free_shares`. For a
        complete table with free shares 1 - E / N_c they are (L_1 - 1)(L_2 - 1) ... (C - 1). If the rank would take too
        much memory, the complete table's ratio is used.

        is_tested: (S, C) which pairs of cell and class are tested. free_shares: (S, C) the share that a cell and class
        counts. statistics: (T,) of the tuples; with them ranks, which take most of the time, are counted only until a
        lower bound of the degrees of freedom shows that p is at least `max_p`; the bound is then returned.
        """
        df = np.zeros(len(self.tuples))

        def count_tuple(i: int) -> None:
            t = int(self.tuples[i])
            first_cell, end_cell = self.index.begin[t], self.index.begin[t + 1]
            classes_by_pattern: dict[bytes, list[int]] = {}  # classes of which the same cells are tested
            for k in np.flatnonzero(is_tested[first_cell:end_cell].any(axis=0)).tolist():
                classes_by_pattern.setdefault(is_tested[first_cell:end_cell, k].tobytes(), []).append(k)
            patterns = [*classes_by_pattern.values()]
            cells_by_pattern = [first_cell + np.flatnonzero(is_tested[first_cell:end_cell, k]) for k, *_ in patterns]
            shares = np.array([
                free_shares[cells][:, classes].mean(axis=0).sum()
                for cells, classes in zip(cells_by_pattern, patterns, strict=True)
            ])  # fmt: skip
            free_cells = np.zeros(len(patterns))
            if statistics is not None:
                # Free cells are whole numbers: if there are any, there is at least one of the smallest share.
                smallest_share = shares[shares > 0.0].min(initial=np.inf)
                if chdtrc(smallest_share, statistics[i]) >= max_p:
                    df[i] = smallest_share
                    return
                free_cells[:] = [self._least_free_cells(t, cells) for cells in cells_by_pattern]
            # Patterns that add most come first, so that few ranks show that p is large.
            for j in np.argsort([-share * len(cells) for share, cells in zip(shares, cells_by_pattern, strict=True)]):
                stop.check()
                if statistics is not None and chdtrc(max(free_cells @ shares, smallest_share), statistics[i]) >= max_p:
                    break
                free_cells[j] = self._free_cells(t, cells_by_pattern[j])
            df[i] = free_cells @ shares

        run_parts(count_tuple, len(self.tuples), self.jobs)
        return df

    def _free_cells(self, t: int, cells: NDArray[np.int64]) -> int:
        """Return the number of some cells of tuple t less the rank of their slices."""
        n, first_slice = int(self.tables.space.sizes[t]), self.slices.first_slice[t]
        n_slices = first_slice[n] - first_slice[0]
        rank = kernels.margin_rank(cells, n, self.slices.slices, first_slice[0], n_slices, _MAX_RANK_NUMBERS)
        if rank >= 0:
            return len(cells) - rank
        n_levels = self.cover.levels_seen[self.tables.space.tuples[t, :n]]
        return round(len(cells) * (1 - 1 / n_levels).prod())

    def _least_free_cells(self, t: int, cells: NDArray[np.int64]) -> int:
        """Return a lower bound of `_free_cells`: the rank is at most that of all combinations of the cells' levels."""
        codes = self.tables.space.codes_of(self.index.seen_cells[cells])[:, : self.tables.space.sizes[t]]
        n_levels = np.array([len(np.unique(column)) for column in codes.T])
        return max(0, len(cells) - int(n_levels.prod() - (n_levels - 1).prod()))


def score_tests(
    scores: Floats, encoded: Encoded, tuples: Sequence[Columns], n_jobs: int | None = None, stop: StopToken = NEVER,
    max_p: float | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return a row per tuple of columns: how much a model with these scores (N, C) would gain by it.

    Columns: "gain" and "gain_error" (nats per test row, with standard error), "chi2", "df", "p". max_p: the largest
    "p" of interest, None for all. Where it is surely at least so large, "df" is a lower bound, and the other columns
    tell no more than that.
    """
    tuple_counts = TupleCounts.from_rows(encoded, tuples, n_jobs, stop)
    tables, slices, index, rows = tuple_counts.tables, tuple_counts.slices, tuple_counts.index, tuple_counts.rows
    n_classes, total_rows = tables.n_classes, encoded.total
    z = np.full((rows.n_rows, rows.padded_width), -np.inf)
    z[:, :n_classes] = scores
    residual = rows.scores()
    rows.loss_and_residual(z, None, 0.0, z, residual, stop)
    slopes = tuple_counts.cover.sums(rows, residual, stop)
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    residual[:] = rows.weights[:, None] * p * (1.0 - p)
    curvatures = tuple_counts.cover.sums(rows, residual, stop)  # (S, C): sums of weight * p (1 - p)
    expected_counts, cell_counts = tables.counts + slopes, tables.counts.sum(axis=1, keepdims=True)
    is_tested = (expected_counts >= MIN_EXPECTED) & (curvatures > 1e-9 * cell_counts)
    free_shares = 1.0 - expected_counts / cell_counts
    terms = np.zeros_like(slopes)
    sizes = tables.space.sizes
    for k in range(n_classes):
        w = np.where(is_tested[:, k], curvatures[:, k], 0.0)
        f = np.divide(slopes[:, k], w, out=np.zeros(len(w)), where=w > 0)[:, None]
        mass = slices.sums(w)
        moves = np.zeros((len(mass), 1))

        def purify_tuple(i: int, f: Floats = f, w: Floats = w, mass: Floats = mass, moves: Floats = moves) -> None:
            stop.check()
            t = int(tuple_counts.tuples[i])
            if not w[index.begin[t] : index.begin[t + 1]].any():
                return
            kernels.purify(
                t, int(sizes[t]), f, w, index.begin, slices.slices, mass, slices.first_slice, moves, _TOL, _STEPS
            )

        run_parts(purify_tuple, len(tuple_counts.tuples), tuple_counts.jobs)
        terms[:, k] = free_shares[:, k] * w * f[:, 0] ** 2
    chi2_of_all = np.bincount(tables.tuple_of_seen, terms.sum(axis=1), tables.space.n_tuples)
    chi2_by_tuple = chi2_of_all[tuple_counts.tuples].astype(np.float64, copy=False)
    statistics = None if max_p is None else chi2_by_tuple
    df = tuple_counts.degrees_of_freedom(is_tested, free_shares, stop, statistics, 1.0 if max_p is None else max_p)
    return pd.DataFrame(
        {
            "gain": (chi2_by_tuple - 2.0 * df) / (2.0 * total_rows),
            "gain_error": np.sqrt(2.0 * df + 4.0 * np.maximum(0.0, chi2_by_tuple - df)) / (2.0 * total_rows),
            "chi2": chi2_by_tuple,
            "df": df,
            "p": _upper_tail(chi2_by_tuple, df),
        }
    )


def associations(
    encoded: Encoded, tuples: Sequence[Columns], n_jobs: int | None = None, stop: StopToken = NEVER
) -> pd.DataFrame:
    """Return a row per tuple of columns with its association with the class, without any model.

    Columns: "mi" (mutual information, nats), "mi_mm" (with Miller and Madow's correction), "interaction" (nats beyond
    the subtuples, less the expectation by chance), "g2" and "chi2" (Pearson's) over cells and classes with at least one
    expected row, "df", and "p" of "chi2" (sparse cells make g2 too large).
    """
    tuple_counts = TupleCounts.from_rows(encoded, tuples, n_jobs, stop)
    tables, slices, index = tuple_counts.tables, tuple_counts.slices, tuple_counts.index
    sizes, statistics = tables.space.sizes, np.zeros((len(tuple_counts.tuples), 2))
    counts = np.ascontiguousarray(tables.counts)
    expected_counts = counts.sum(axis=1, keepdims=True) * tables.class_counts / encoded.total
    is_tested = expected_counts >= MIN_EXPECTED

    def fit_tuple(i: int) -> None:
        stop.check()
        tuple_index = int(tuple_counts.tuples[i])
        n_columns, first_cells = int(sizes[tuple_index]), index.begin
        statistics[i] = kernels.fit_margins(
            tuple_index, n_columns, counts, is_tested, first_cells, slices.slices, slices.first_slice, 1e-7, 500
        )

    run_parts(fit_tuple, len(tuple_counts.tuples), tuple_counts.jobs)
    tuple_of_cell, n_tuples = tables.tuple_of_seen, tables.space.n_tuples
    n_cells = np.maximum(np.bincount(tuple_of_cell, minlength=n_tuples), 1)
    share_tested = np.bincount(tuple_of_cell, is_tested.mean(axis=1), n_tuples) / n_cells
    parts = np.full(is_tested.shape, 1.0 - 1.0 / tables.n_classes)
    df, n = (
        tuple_counts.degrees_of_freedom(np.ones_like(is_tested), parts, stop) * share_tested[tuple_counts.tuples],
        encoded.total,
    )
    return pd.DataFrame(
        {
            "mi": mutual_information(tables)[tuple_counts.tuples],
            "mi_mm": miller_madow(tables)[tuple_counts.tuples],
            "interaction": (statistics[:, 0] - df) / (2.0 * n),
            "g2": statistics[:, 0],
            "chi2": statistics[:, 1],
            "df": df,
            "p": _upper_tail(statistics[:, 1], df),
        }
    )


def _upper_tail(statistics: Floats, df: Floats) -> Floats:
    """Return the probability of statistics (T,) at least so large by chance; 1 without degrees of freedom."""
    p: Floats = np.where(df > 0, chdtrc(np.maximum(df, 1e-9), statistics), 1.0)
    return p
