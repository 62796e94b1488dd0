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
from scipy.stats import chi2

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
        tested: NDArray[np.bool_],
        parts: Floats,
        stop: StopToken = NEVER,
        is_exact: NDArray[np.bool_] | None = None,
    ) -> Floats:
        """Return the degrees of freedom of each tuple, given which pairs (S, C) of cell and class are tested: for each
        class the cells less the rank of their slices, times the mean of `parts` (S, C), the share that a cell and class
        counts. For a complete table with parts 1 - E / N_c they are (L_1 - 1)(L_2 - 1) ... (C - 1).

        If the rank would take too much memory, the complete table's ratio is used. is_exact: (T,) whether a tuple's
        rank is computed, which takes most of the time, or its tested cells are counted, an upper bound; None for all.
        """
        space, n_classes = self.tables.space, self.tables.n_classes
        df, sizes = np.zeros(len(self.tuples)), space.sizes

        def count_tuple(i: int) -> None:
            t = int(self.tuples[i])
            n, first_cell, end_cell = int(sizes[t]), self.index.begin[t], self.index.begin[t + 1]
            first, slices = self.slices.first_slice[t, 0], self.slices.first_slice[t, n] - self.slices.first_slice[t, 0]
            tested_here, free_cells = tested[first_cell:end_cell], 0
            for k in range(n_classes):
                stop.check()
                if k == 0 or (tested_here[:, k] != tested_here[:, k - 1]).any():
                    cells = first_cell + np.flatnonzero(tested_here[:, k])
                    rank = 0
                    if is_exact is None or is_exact[i]:
                        rank = kernels.margin_rank(cells, n, self.slices.slices, first, slices, _MAX_RANK_NUMBERS)
                    n_levels = self.cover.levels_seen[space.tuples[t, :n]]
                    free_cells = len(cells) - rank if rank >= 0 else round(len(cells) * (1 - 1 / n_levels).prod())
                df[i] += free_cells * (parts[cells, k].mean() if len(cells) else 0.0)

        run_parts(count_tuple, len(self.tuples), self.jobs)
        return df


def score_tests(
    scores: Floats, encoded: Encoded, tuples: Sequence[Columns], n_jobs: int | None = None, stop: StopToken = NEVER,
    n_exact: int | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return a row per tuple of columns: how much a model with these scores (N, C) would gain by it.

    Columns: "gain" and "gain_error" (nats per test row, with standard error), "chi2", "df", "p". n_exact: number of
    tuples, those of the largest "chi2" per tested cell, whose "df" is exact; for others it is an upper bound, with
    which "p" is too large. None for all.
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
            kernels.purify(
                t, int(sizes[t]), f, w, index.begin, slices.slices, mass, slices.first_slice, moves, _TOL, _STEPS
            )

        run_parts(purify_tuple, len(tuple_counts.tuples), tuple_counts.jobs)
        terms[:, k] = free_shares[:, k] * w * f[:, 0] ** 2
    chi2_by_tuple = np.bincount(tables.tuple_of_seen, terms.sum(axis=1), tables.space.n_tuples)[tuple_counts.tuples]
    is_exact = None
    if n_exact is not None and n_exact < len(tuples):
        n_tested = np.bincount(tables.tuple_of_seen, is_tested.sum(axis=1), tables.space.n_tuples)[tuple_counts.tuples]
        is_exact = np.zeros(len(tuples), np.bool_)
        is_exact[np.argsort(-chi2_by_tuple / np.maximum(n_tested, 1.0))[:n_exact]] = True
    df = tuple_counts.degrees_of_freedom(is_tested, free_shares, stop, is_exact)
    return pd.DataFrame(
        {
            "gain": (chi2_by_tuple - 2.0 * df) / (2.0 * total_rows),
            "gain_error": np.sqrt(2.0 * df + 4.0 * np.maximum(0.0, chi2_by_tuple - df)) / (2.0 * total_rows),
            "chi2": chi2_by_tuple,
            "df": df,
            "p": np.where(df > 0, chi2.sf(chi2_by_tuple, np.maximum(df, 1e-9)), 1.0),
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
            "p": np.where(df > 0, chi2.sf(statistics[:, 1], np.maximum(df, 1e-9)), 1.0),
        }
    )
