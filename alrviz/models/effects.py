"""Pure effects: a score table written as a sum of main effects, pairs, triples ..., each without what its subtuples
add.

    score_k(x) = intercept_k + sum over tuples S of 1 to n columns of  f_S[x_S, k]            up to a number per row

    for every S and every column j of S: the mean of f_S over the rows that agree in all other columns of S is 0

This is functional ANOVA under the data (Lengerich et al. 2020, arXiv 1911.04974), of any order and any number of
classes. From the largest tuples down, slice means of f_S are moved to the subtuple without j, until all are 0. The
moves
are kept, so that the sum holds for every row: a cell without rows adds the model's phi less the moves.

Softmax ignores what is added to all classes, so phi is centred over the classes first. Missing levels (skipped missing
values, levels that training never saw) count as a level here, so that effects are functions of all rows. Where cells
fall into groups that share no level, effects of the largest tuples are unique and those of lower ones need not be.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from alrviz.data.encoded import Encoded
from alrviz.errors import MemoryLimitError
from alrviz.kernels import effects as kernels
from alrviz.memory import free_memory
from alrviz.models.cell_space import AnySpace, CellSpace
from alrviz.models.index import CellIndex, cell_table, index_cells
from alrviz.models.linear import LinearModel
from alrviz.models.plan import plan_cover
from alrviz.models.set_cover import cover_rows
from alrviz.models.slices import Slices, with_parts
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.rows import as_kernel_codes
from alrviz.passes.threads import resolve_jobs, run_parts
from alrviz.stop import NEVER, StopToken

# Slice means are 0 up to this share of a tuple's largest effect; and steps of conjugate gradients.
_TOLERANCE, _MAX_STEPS = 1e-13, 1_000
# Effects of rows that a thread keeps at once.
_NUMBERS_PER_CHUNK = 2_000_000
_MAX_PARTS = 64  # parts of the rows with their own sums

Codes = NDArray[np.unsignedinteger]


@dataclass(frozen=True, eq=False, repr=False)
class Effects:
    """The pure effects of a model under some rows.

    Attributes:
        space: the model's tuples and all their subtuples, small ones first; each column has one more level, "no level".
        index: of their cells.
        raw_effects: (S, C) what the model adds in each cell, before moves; 0 in tuples that the model does not have.
        f: (S, C) pure effects; their mean over the classes is 0.
        rows: (S,) the weight of the rows in each cell.
        intercept: (C,).
        residual_means: (T,) the largest remaining slice mean, relative to the largest effect; 0 up to rounding.
        model_cells: (S_m,) places of the model's cells, in its order.
    """

    space: AnySpace
    index: CellIndex[AnySpace]
    raw_effects: Floats
    f: Floats
    rows: Floats
    intercept: Floats
    residual_means: Floats
    model_cells: NDArray[np.intp]
    _defaults: Floats
    _moves: Floats
    _slices: Slices

    def __repr__(self) -> str:
        return f"<Effects of {self.n_tuples:,} tuples, {len(self.f):,} cells x {self.f.shape[1]} classes>"

    @property
    def n_tuples(self) -> int:
        """Number of tuples, T."""
        return self.space.n_tuples

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """(T,) columns of each tuple."""
        return self.space.sizes

    @cached_property
    def numbers(self) -> dict[tuple[int, ...], int]:
        """The number of each tuple, by its columns."""
        return self.space.numbers

    def column_shares(self) -> Floats:
        """Return (a,) each column's share of the variance of the effects over the rows; all 0 if nothing varies.

        A tuple's variance, summed over the classes, is divided equally among its columns.
        """
        tuples, squares = self.space.tuple_of(self.index.seen_cells), (self.f**2).sum(axis=1)
        variances = np.bincount(tuples, self.rows * squares, self.n_tuples) / self.sizes
        shares = np.zeros(len(self.space.levels))
        for columns, variance in zip(self.space.members, variances, strict=True):
            shares[columns] += variance
        return normalised_shares(shares)

    def cells_of(self, t: int) -> slice:
        """Return the places of tuple t's cells in `f`."""
        return slice(int(self.index.begin[t]), int(self.index.begin[t + 1]))

    def row_effects(self, codes: Codes, tuples: Sequence[int] | None = None) -> Floats:
        """Return what each tuple adds, (N, T, C), to rows of codes (a, N); with the intercept they sum to the scores.

        `tuples`: only these, in this order.

        Raises:
            MemoryLimitError: the result needs more than half of the free memory.
        """
        n, tuple_numbers = codes.shape[1], self._tuple_numbers(tuples)
        needed_bytes, allowed_bytes = 8 * n * (len(tuple_numbers) * self.f.shape[1] + self.n_tuples), free_memory() // 2
        if needed_bytes > allowed_bytes:
            raise MemoryLimitError(
                f"{len(tuple_numbers):,} effects on {n:,} rows need about {needed_bytes / 2**20:,.0f} MiB, and "
                f"{allowed_bytes / 2**20:,.0f} MiB may be used; expected at most "
                f"{max(1, n * allowed_bytes // needed_bytes):,} rows",
                needed_bytes,
                allowed_bytes,
            )
        return self._effects(as_kernel_codes(codes), tuple_numbers, slice(0, n))

    def visit(
        self, codes: Codes, see: Callable[[slice, Floats, int], None], tuples: Sequence[int] | None = None,
        n_jobs: int | None = None, stop: StopToken = NEVER,
    ) -> None:  # fmt: skip
        """Call see(rows, effects (R, T, C), part) for chunks of the rows of codes (a, N).

        tuples: numbers of the tuples whose effects are computed; None for all. Chunks of one of the `parts(N)` parts
        come one after another, parts on several threads.
        """
        codes, n, tuple_numbers = as_kernel_codes(codes), codes.shape[1], self._tuple_numbers(tuples)
        chunk_rows, n_parts = self._chunk_rows, self.parts(n)

        def visit_part(part: int) -> None:
            part_end = n * (part + 1) // n_parts
            for chunk_start in range(n * part // n_parts, part_end, chunk_rows):
                stop.check()
                rows = slice(chunk_start, min(part_end, chunk_start + chunk_rows))
                see(rows, self._effects(codes, tuple_numbers, rows), part)

        run_parts(visit_part, n_parts, resolve_jobs(n_jobs))

    def parts(self, n: int) -> int:
        """Return the number of parts in which `visit` takes n rows, each with its own sums; it does not depend on
        threads.
        """
        return min(_MAX_PARTS, -(-n // self._chunk_rows))

    def scores(
        self, codes: Codes, tuples: Sequence[int] | None = None, n_jobs: int | None = None, stop: StopToken = NEVER
    ) -> Floats:
        """Return the centred scores (N, C) of rows of codes (a, N), or with `tuples` the sums of these tuples' effects
        alone.
        """
        score_sums = np.empty((codes.shape[1], self.f.shape[1]))

        def add(rows: slice, effects: Floats, part: int) -> None:
            score_sums[rows] = effects.sum(axis=1)

        self.visit(codes, add, tuples, n_jobs, stop)
        return score_sums + self.intercept if tuples is None else score_sums

    def importance(self, encoded: Encoded, n_jobs: int | None = None, stop: StopToken = NEVER) -> Floats:
        """Return (T, 3) for each tuple under rows: Cov(f, F) / Var(F), Var(f) / Var(F), and half the mean variance of f
        (nats).

        The last variance is over the classes with the probabilities of the row's score F.
        """
        weights = encoded.weights / encoded.total
        shares = np.bincount(encoded.y, weights, encoded.n_classes)
        sums_by_part = np.zeros((self.parts(encoded.n_rows), self.n_tuples, 3))

        def see(rows: slice, effects: Floats, part: int) -> None:
            kernels.add_moments(effects, effects.sum(axis=1), self.intercept, weights[rows], shares, sums_by_part[part])

        self.visit(encoded.codes, see, None, n_jobs, stop)
        sums: Floats = sums_by_part.sum(axis=0)
        variance = sums[:, 0].sum()  # the sum of Cov(f, F) is Var(F)
        sums[:, :2] /= variance if variance > 0 else 1.0
        return sums

    @property
    def _chunk_rows(self) -> int:
        return max(16, _NUMBERS_PER_CHUNK // max(1, self.n_tuples * self.f.shape[1]))

    def _tuple_numbers(self, tuples: Sequence[int] | None) -> NDArray[np.int64]:
        return np.arange(self.n_tuples) if tuples is None else np.array(tuples, np.int64)

    def _effects(self, codes: Codes, tuple_numbers: NDArray[np.int64], rows: slice) -> Floats:
        """Return the effects (R, T, C) of tuples `tuple_numbers` (T,) on a slice of the rows of codes (a, N)."""
        out = np.empty((rows.stop - rows.start, len(tuple_numbers), self.f.shape[1]))
        cell_rows = self.index.locate(codes, rows.start, rows.stop)
        kernels.row_effects(
            cell_rows, tuple_numbers, codes, rows.start, self.space.levels - 1, self.space.tuples, self.index.begin,
            self.f, self._defaults, self._slices.subtuples, self._slices.first_slice, self._moves, out,
        )  # fmt: skip
        return out


def normalised_shares(variances: Floats) -> Floats:
    """Return variances (a,) divided by their sum; all 0 if nothing varies."""
    total = variances.sum()
    return variances / total if total > 0 else variances


def purify(model: LinearModel, encoded: Encoded, n_jobs: int | None = None, stop: StopToken = NEVER) -> Effects:
    """Return the pure effects of a model under the rows of `encoded`, by their weights."""
    jobs = resolve_jobs(n_jobs)
    space = with_parts(model.space)
    live_rows = np.flatnonzero(encoded.weights > 0)
    codes = as_kernel_codes(encoded.codes)
    seen_cells = index_cells(
        space, [(np.array([t]), live_rows) for t in range(space.n_tuples)], codes, jobs, stop
    ).seen_cells
    model_cells = _model_cells(model, space)
    index = CellIndex.from_cells(space, np.union1d(seen_cells, model_cells))
    row_weights = _row_weights(index, codes[:, live_rows], encoded.weights[live_rows], stop)
    return _pure_effects(model, index, model_cells, row_weights, encoded.total, jobs, stop)


def purify_by_counts(
    model: LinearModel, counts: Floats, total: float, n_jobs: int | None = None, stop: StopToken = NEVER
) -> Effects:
    """Return the pure effects of a model under its training rows, of which only counts of its cells (S, C) are left.

    `total` is the weight of all rows. The effects equal those of `purify`, except where missing values are skipped or
    single cells were selected: a row then counts only for the tuples in which it has one of the model's cells.
    """
    space = with_parts(model.space)
    model_cells = _model_cells(model, space)
    cells, row_weights = _with_parts_counted(space, model_cells, counts.sum(axis=1), stop)
    index = CellIndex.from_cells(space, cells)
    return _pure_effects(model, index, model_cells, row_weights, total, resolve_jobs(n_jobs), stop)


def _pure_effects(
    model: LinearModel, index: CellIndex[AnySpace], model_cells: NDArray[np.int64], cell_weights: Floats,
    total_weight: float, jobs: int, stop: StopToken,
) -> Effects:  # fmt: skip
    """Return the pure effects of a model, under rows that weigh cell_weights (S,) in the cells of `index`.

    model_cells: (S_m,) the model's cells, as `index.space` numbers them; total_weight: of all rows; jobs: threads.
    """
    space = index.space
    raw, defaults = _raw_effects(model, index, model_cells)
    weights = cell_weights / total_weight
    slices = Slices.from_index(index)
    subtuples, first_slice, slice_weights = slices.subtuples, slices.first_slice, slices.sums(weights)
    f, moves, residual_means = raw.copy(), np.zeros((len(slice_weights), model.n_classes)), np.zeros(space.n_tuples)
    sizes = space.sizes
    intercept = model.bias - model.bias.mean()
    for n in range(int(sizes.max(initial=0)), 0, -1):
        level_tuples = np.flatnonzero(sizes == n)

        def purify_tuple(i: int, level_tuples: NDArray[np.intp] = level_tuples, n: int = n) -> None:
            stop.check()
            t = level_tuples[i]
            residual_means[t] = kernels.purify(
                t, n, f, weights, index.begin, slices.slices, slice_weights, first_slice, moves, _TOLERANCE, _MAX_STEPS
            )

        run_parts(purify_tuple, len(level_tuples), jobs)
        for t in level_tuples.tolist():
            for j in range(n):
                tuple_moves = moves[first_slice[t, j] : first_slice[t, j + 1]]
                if subtuples[t, j] < 0:
                    intercept = intercept + tuple_moves[0]
                else:
                    f[index.begin[subtuples[t, j]] : index.begin[subtuples[t, j] + 1]] += tuple_moves
    model_positions = np.searchsorted(index.seen_cells, model_cells)
    return Effects(
        space, index, raw, f, cell_weights, intercept, residual_means, model_positions, defaults, moves, slices
    )


def _tuple_numbers(model: LinearModel, space: AnySpace) -> NDArray[np.int64]:
    """Return (T_m,) the number in `space` of each tuple of the model."""
    numbers = space.numbers
    return np.array([numbers[tuple(columns)] for columns in model.space.members], np.int64)


def _with_parts_counted(
    space: AnySpace, cells: NDArray[np.int64], rows: Floats, stop: StopToken
) -> tuple[NDArray[np.int64], Floats]:
    """Add to cells (S,), and to the weights of rows in them, those of all their subtuples; ascending.

    The rows of a subtuple without counts are those of one larger tuple, of several the one with most.
    """
    members, sizes, numbers = space.members, space.sizes, space.numbers
    for n in range(int(sizes.max(initial=0)), 1, -1):
        stop.check()
        tuples = space.tuple_of(cells)
        cells_of_size = np.flatnonzero(sizes[tuples] == n)
        tuples, codes = tuples[cells_of_size], space.codes_of(cells[cells_of_size])[:, :n]
        seen_parts = [(cells[:0], rows[:0])]
        for j in range(n if len(cells_of_size) else 0):
            subtuples = np.array([numbers.get((*columns[:j], *columns[j + 1 :]), 0) for columns in members])[tuples]
            subcells = space.cells_at(subtuples, np.delete(codes, j, axis=1))
            order = np.lexsort((subcells, tuples))
            sorted_tuples, subcells = tuples[order], subcells[order]
            group_starts = np.flatnonzero(np.append(True, (np.diff(subcells) != 0) | (np.diff(sorted_tuples) != 0)))
            seen_parts.append((subcells[group_starts], np.add.reduceat(rows[cells_of_size[order]], group_starts)))
        subcells_seen, sums = (np.concatenate(arrays) for arrays in zip(*seen_parts, strict=True))
        is_new = ~np.isin(subcells_seen, cells)
        added_cells, added_index = np.unique(subcells_seen[is_new], return_inverse=True)
        weights = np.zeros(len(added_cells))
        np.maximum.at(weights, added_index.ravel(), sums[is_new])
        cells, rows = np.append(cells, added_cells), np.append(rows, weights)
    order = np.argsort(cells)
    return cells[order], rows[order]


def _model_cells(model: LinearModel, space: AnySpace) -> NDArray[np.int64]:
    """Return the model's cells in its order, as `space` numbers them."""
    tuple_numbers = _tuple_numbers(model, space)[model.space.tuple_of(model.seen_cells)]
    return space.cells_at(tuple_numbers, model.space.codes_of(model.seen_cells)[:, : space.strides.shape[1]])


def _raw_effects(
    model: LinearModel, index: CellIndex[AnySpace], model_cells: NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Return phi, centred over the classes: of each cell of `index` (S, C), and of cells that it does not have (2T, C).

    Of the latter the first T are by tuple where all columns have a level, the others where one has none. `model_cells`
    holds the numbers of the model's cells in `index.space`, in the model's order.
    """
    space, tuple_numbers = index.space, _tuple_numbers(model, index.space)
    n_model_tuples, n_tuples = len(tuple_numbers), space.n_tuples
    defaults = np.zeros((2 * n_tuples, model.n_classes))
    unseen_table = cell_table(2 * n_model_tuples, n_model_tuples, model.n_classes, model.unseen)
    defaults[np.append(tuple_numbers, n_tuples + tuple_numbers)] = unseen_table
    tuples, codes = space.tuple_of(index.seen_cells), space.codes_of(index.seen_cells)
    is_absent = (codes >= (space.levels - 1)[space.tuples[tuples]]).any(axis=1)
    raw = defaults[tuples + n_tuples * is_absent]
    raw[np.searchsorted(index.seen_cells, model_cells)] = model.phi
    return raw - raw.mean(axis=1, keepdims=True), defaults - defaults.mean(axis=1, keepdims=True)


def _row_weights(index: CellIndex[AnySpace], codes: Codes, weights: Floats, stop: StopToken) -> Floats:
    """Return (S,) the sum of the weights (N,) of the rows of codes (a, N) in each cell of `index`."""
    codes, n, n_tuples = as_kernel_codes(codes), codes.shape[1], index.space.n_tuples
    rows = np.zeros(len(index.local_cells))
    chunk_rows = max(16, _NUMBERS_PER_CHUNK // max(1, n_tuples))
    for begin in range(0, n, chunk_rows):
        stop.check()
        located = index.locate(codes, begin, min(n, begin + chunk_rows)).astype(np.int64) - 2 * n_tuples
        rows += np.bincount(located.ravel(), np.repeat(weights[begin : begin + chunk_rows], n_tuples), len(rows))
    return rows


@cache
def warm_effects(wide: bool = False) -> None:
    """Compile or load the kernels of effects and of importance, for codes of 32 bits if `wide`."""
    codes: Codes = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], np.uint32 if wide else np.uint16)
    rows = Encoded(codes, np.array([0, 1, 1, 0], np.int32), np.ones(4), np.array([2, 2]), np.arange(2), ("a", "b"))
    space = CellSpace(rows.levels, 2)
    cover, _ = cover_rows(plan_cover(codes, space), space, [codes], np.ones(4, bool))
    pure_effects = purify(LinearModel(space, cover.index.seen_cells, np.eye(4, 2), np.zeros(2)), rows, 1)
    pure_effects.importance(rows, 1)
    effects, sums = pure_effects.row_effects(codes), np.zeros((pure_effects.n_tuples + 1, 2))
    kernels.losses_without(effects, pure_effects.scores(codes), rows.y, rows.weights, sums)
    kernels.losses_of_first_tuples(
        effects, pure_effects.intercept, rows.y, rows.weights, np.arange(1, pure_effects.n_tuples + 1), sums
    )
    slices = Slices.from_index(pure_effects.index)
    ones = np.ones_like(pure_effects.f)
    kernels.fit_margins(2, 2, ones, ones > 0, pure_effects.index.begin, slices.slices, slices.first_slice, 1e-7, 1)
    start, _, end = slices.first_slice[2, :3]
    kernels.margin_rank(np.arange(pure_effects.index.begin[2], len(ones)), 2, slices.slices, start, end - start, 1_000)
