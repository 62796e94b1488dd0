"""What rows hold beyond the parts of a tuple: beside a model (a score test), and without any (a saturated table).

G  = sum over a cell's rows of p - 1[y]        V = sum of p (1 - p)        E = sum of p        p of the model
f  = G / V, purified by V: freed of what parts of the tuple would put right
X2 = sum over cells and classes of  (1 - E / N_c) V f^2        exact of two classes, else as if p were even in a cell
gain = (X2 - 2 df) / 2N        nats a row, held out: a Newton step, less what its free numbers cost

G2 = 2 sum over cells and classes of N_ck log(N_ck / fitted)        fitted to all slices with the class
interaction = (G2 - df) / 2N        nats a row: what the tuple tells of the class beyond its parts, exclusive or too
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import chi2

from alrviz.data.encoded import Encoded
from alrviz.errors import MemoryLimitError
from alrviz.fitting.prepare import Prepared
from alrviz.kernels import effects as kernels
from alrviz.models.cell_space import AnySpace, TupleSpace
from alrviz.models.index import CellIndex
from alrviz.models.set_cover import Cover
from alrviz.models.slices import Slices, with_parts
from alrviz.models.tables import Tables
from alrviz.models.tuple_selection import miller_madow, mutual_information
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.rows import Rows
from alrviz.passes.threads import resolve_jobs, share
from alrviz.stop import NEVER, StopToken

Columns = tuple[int, ...]
# Tuples that are looked at together, at most.
MOST = 200_000
# A cell and class expected so often at least is looked at.
_LEAST = 1.0
# How nearly parts are freed of, relative, and steps at most: a test needs no more.
_TOL, _STEPS = 1e-8, 200


@dataclass(frozen=True, eq=False)
class Counted:
    """Rows counted in the cells of tuples and of all their parts."""

    tuples: NDArray[np.intp]
    tables: Tables
    cover: Cover
    rows: Rows
    index: CellIndex[AnySpace]
    slices: Slices
    jobs: int

    @classmethod
    def of(cls, encoded: Encoded, tuples: Sequence[Columns], n_jobs: int | None, stop: StopToken) -> "Counted":
        """Count rows; raises `MemoryLimitError` of more tuples than are ever looked at."""
        if len(tuples) > MOST:
            raise MemoryLimitError(
                f"{len(tuples):,} tuples were asked for; expected at most {MOST:,}: name fewer columns",
                len(tuples),
                MOST,
            )
        space = with_parts(TupleSpace(encoded.levels, tuples))
        rows = replace(encoded, levels=encoded.levels + 1, chains=None)
        prepared = Prepared(rows, None, None, n_jobs, merge=False)
        every = tuple(map(tuple, space.members))
        tables, covered = prepared.tables(every, 0.0, stop), prepared.covered(every, stop)
        numbers = {columns: t for t, columns in enumerate(every)}
        index = CellIndex.of_seen(tables.space, tables.seen)
        own = np.array([numbers[tuple(columns)] for columns in tuples], np.intp)
        return cls(own, tables, covered.cover, covered.rows, index, Slices.of(index), resolve_jobs(n_jobs))

    def free(self, looked: NDArray[np.bool_]) -> Floats:
        """Degrees of freedom of each tuple, where some pairs (S, C) of cell and class are looked at.

        Of a whole table (L_1 - 1)(L_2 - 1) ... for each class but one. Of a pair with cells left out, the cells less
        what their slices say: slices less the parts into which cells fall. Of larger tuples, in proportion.
        """
        levels = np.maximum(self.tables.space.cards_of(self.cover.levels_seen)[self.tuples], 1).astype(float)
        space, seen = self.tables.space, self.cover.levels_seen
        whole = np.where(space.strides > 0, seen[space.tuples] - 1, 1).prod(axis=1)[self.tuples].astype(float)
        classes, of = self.tables.n_classes, self.tables.tuple_of_seen
        pairs = np.bincount(of, looked.sum(axis=1), space.n_tuples)[self.tuples]
        free = whole * (classes - 1.0) * np.minimum(1.0, pairs / (levels * classes))
        two = np.flatnonzero((space.strides > 0).sum(axis=1)[self.tuples] == 2)
        if len(two):
            each: Floats = np.sum([self._free_of_pairs(looked[:, k]) for k in range(classes)], axis=0)
            free[two] = each[self.tuples[two]] * (classes - 1.0) / classes
        return free

    def _free_of_pairs(self, looked: NDArray[np.bool_]) -> Floats:
        """(T,) cells less the rank of their slices, of tuples of two columns, by the cells (S,) that are looked at."""
        of, at, n = self.tables.tuple_of_seen, self.slices.at, len(self.slices.cell)
        cells = np.flatnonzero(looked & ((self.tables.space.strides > 0).sum(axis=1)[of] == 2))
        first, second = at[cells, 0], at[cells, 1]
        found, label = connected_components(coo_array((np.ones(len(cells)), (first, second)), (n, n)), directed=False)
        nodes, where = np.unique(np.concatenate([first, second]), return_index=True)
        owner = np.concatenate([of[cells], of[cells]])[where]
        part = np.zeros(found, np.intp)
        part[label[nodes]] = owner
        there = np.zeros(found, bool)
        there[label[nodes]] = True
        count = partial(np.bincount, minlength=self.tables.space.n_tuples)
        rank = count(owner) - count(part[there])  # slices, less the parts into which cells fall
        return (count(of[cells]) - rank).astype(np.float64)


def lacking(
    scores: Floats, encoded: Encoded, tuples: Sequence[Columns], n_jobs: int | None = None, stop: StopToken = NEVER
) -> pd.DataFrame:
    """Return a line per tuple of columns: what a model of these scores (N, C) would gain by it.

    columns: "gain" and "gain_error" (nats a row, held out, and its standard error), "chi2", "df", "p".
    """
    counted = Counted.of(encoded, tuples, n_jobs, stop)
    tables, slices, index, rows = counted.tables, counted.slices, counted.index, counted.rows
    classes, n = tables.n_classes, encoded.total
    z = np.full((rows.n_rows, rows.padded), -np.inf)
    z[:, :classes] = scores
    residual = rows.scores()
    rows.loss_and_residual(z, None, 0.0, z, residual, stop)
    G = counted.cover.sums(rows, residual, stop)
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    residual[:] = rows.weights[:, None] * p * (1.0 - p)
    V = counted.cover.sums(rows, residual, stop)
    E, N = tables.counts + G, tables.counts.sum(axis=1, keepdims=True)
    looked = (E >= _LEAST) & (V > 1e-9 * N)
    terms = np.zeros_like(G)
    sizes = (tables.space.strides > 0).sum(axis=1)
    for k in range(classes):
        w = np.where(looked[:, k], V[:, k], 0.0)
        f = np.divide(G[:, k], w, out=np.zeros(len(w)), where=w > 0)[:, None]
        mass = slices.sums(w)
        moves = np.zeros((len(mass), 1))

        def one(i: int, f: Floats = f, w: Floats = w, mass: Floats = mass, moves: Floats = moves) -> None:
            stop.check()
            t = int(counted.tuples[i])
            kernels.purify(t, int(sizes[t]), f, w, index.begin, slices.at, mass, slices.room, moves, _TOL, _STEPS)

        share(one, len(counted.tuples), counted.jobs)
        terms[:, k] = (1.0 - E[:, k] / N[:, 0]) * w * f[:, 0] ** 2
    of = tables.tuple_of_seen
    found = np.bincount(of, terms.sum(axis=1), tables.space.n_tuples)[counted.tuples]
    df = counted.free(looked)
    return pd.DataFrame(
        {
            "gain": (found - 2.0 * df) / (2.0 * n),
            "gain_error": np.sqrt(2.0 * df + 4.0 * np.maximum(0.0, found - df)) / (2.0 * n),
            "chi2": found,
            "df": df,
            "p": np.where(df > 0, chi2.sf(found, np.maximum(df, 1e-9)), 1.0),
        }
    )


def associations(
    encoded: Encoded, tuples: Sequence[Columns], n_jobs: int | None = None, stop: StopToken = NEVER
) -> pd.DataFrame:
    """Return a line per tuple of columns: what it tells of the class, without any model.

    columns: "mi" (mutual information, nats), "mi_mm" (with Miller and Madow's correction), "interaction" (nats beyond
    the parts, less what chance gives), "g2" and "chi2" (Pearson's), both of the cells and classes that are expected to
    have a row at least, "df", and "p", of "chi2": cells of few rows make g2 too large.
    """
    counted = Counted.of(encoded, tuples, n_jobs, stop)
    tables, slices, index = counted.tables, counted.slices, counted.index
    sizes, found = (tables.space.strides > 0).sum(axis=1), np.zeros((len(counted.tuples), 2))
    counts = np.ascontiguousarray(tables.counts)
    expected = counts.sum(axis=1, keepdims=True) * tables.class_counts / encoded.total
    looked = expected >= _LEAST

    def one(i: int) -> None:
        stop.check()
        t = int(counted.tuples[i])
        size, begin = int(sizes[t]), index.begin
        found[i] = kernels.fit_margins(t, size, counts, looked, begin, slices.at, slices.room, 1e-7, 500)

    share(one, len(counted.tuples), counted.jobs)
    of, count = tables.tuple_of_seen, tables.space.n_tuples
    part = np.bincount(of, looked.mean(axis=1), count) / np.maximum(np.bincount(of, minlength=count), 1)
    df, n = counted.free(np.ones_like(looked)) * part[counted.tuples], encoded.total
    return pd.DataFrame(
        {
            "mi": mutual_information(tables)[counted.tuples],
            "mi_mm": miller_madow(tables)[counted.tuples],
            "interaction": (found[:, 0] - df) / (2.0 * n),
            "g2": found[:, 0],
            "chi2": found[:, 1],
            "df": df,
            "p": np.where(df > 0, chi2.sf(found[:, 1], np.maximum(df, 1e-9)), 1.0),
        }
    )
