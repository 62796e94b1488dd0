"""Pure effects: a score table written as a sum of main effects, pairs, triples ..., each freed of its parts.

    score_k(x) = intercept_k + sum over tuples S of 1 to n columns of  f_S[x_S, k]            up to a number a row

    for every S and every column j of S: the mean of f_S over the rows that agree in all other columns of S is 0

This is functional ANOVA under the data (Lengerich et al. 2020, arXiv 1911.04974), of any order and any number of
classes: from the largest tuples down, slice means of f_S are taken out of it and added to its part without j, until
none is left. What was moved is kept, so that the sum holds for every row: a cell that no row has adds what the model
has for it, less what was moved.

Softmax does not see what is added to all classes: phi has a mean of 0 over the classes first. Columns without a level
(a missing value that is skipped, one that training never saw) have one here, so that effects are functions of all rows.
Where cells fall into parts that share no level, the largest tuples are unique and lower ones need not be.
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
from alrviz.models.tables import Tables
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.rows import as_kernel_codes
from alrviz.passes.threads import resolve_jobs, run_parts
from alrviz.stop import NEVER, StopToken

# Slice means are 0 up to so much of the largest effect of a tuple; steps of least squares, at most.
_TOL, _MOST = 1e-13, 1_000
# Effects of rows held at once by a thread, numbers.
_HELD = 2_000_000
_PARTS = 64  # of rows: sums of so many are held at once

Codes = NDArray[np.unsignedinteger]


@dataclass(frozen=True, eq=False, repr=False)
class Effects:
    """The pure effects of a model, under the rows they were found with.

    Attributes:
        space: the tuples, all parts of the model's among them, small ones first; each column has one level
            more, for none.
        index: where their cells lie.
        raw: (S, C) what the model adds in each cell, before anything was moved; 0 in tuples that it has not.
        f: (S, C) pure effects; their mean over the classes is 0.
        rows: (S,) the weight of the rows in each cell.
        intercept: (C,).
        left: (T,) the largest slice mean that was left, in parts of the largest effect; 0 up to rounding.
        own: (S_m,) where the cells that the model has a phi of lie, in its order.
    """

    space: AnySpace
    index: CellIndex[AnySpace]
    raw: Floats
    f: Floats
    rows: Floats
    intercept: Floats
    left: Floats
    own: NDArray[np.intp]
    _defaults: Floats
    _moves: Floats
    _room: NDArray[np.int64]
    _part: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"<Effects of {self.n_tuples:,} tuples, {len(self.f):,} cells x {self.f.shape[1]} classes>"

    @property
    def n_tuples(self) -> int:
        """T."""
        return self.space.n_tuples

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """(T,) columns of each tuple."""
        return (self.space.strides > 0).sum(axis=1)

    @cached_property
    def numbers(self) -> dict[tuple[int, ...], int]:
        """The number of each tuple, by its columns."""
        return {tuple(columns): t for t, columns in enumerate(self.space.members)}

    def cells_of(self, t: int) -> slice:
        """Where the cells of tuple t lie in `f`."""
        return slice(int(self.index.begin[t]), int(self.index.begin[t + 1]))

    def of_rows(self, codes: Codes, tuples: Sequence[int] | None = None) -> Floats:
        """Return what each tuple adds, (N, T, C), to rows of codes (a, N); with the intercept they sum to the scores.
        `tuples`: those alone, in this order.

        Raises:
            MemoryLimitError: more than half of the memory that is free.
        """
        n, chosen = codes.shape[1], self._chosen(tuples)
        needed, allowed = 8 * n * (len(chosen) * self.f.shape[1] + self.n_tuples), free_memory() // 2
        if needed > allowed:
            raise MemoryLimitError(
                f"{len(chosen):,} effects on {n:,} rows need about {needed / 2**20:,.0f} MiB, and "
                f"{allowed / 2**20:,.0f} MiB may be used; expected at most {max(1, n * allowed // needed):,} rows",
                needed,
                allowed,
            )
        return self._effects(as_kernel_codes(codes), chosen, slice(0, n))

    def visit(
        self, codes: Codes, see: Callable[[slice, Floats, int], None], tuples: Sequence[int] | None = None,
        n_jobs: int | None = None, stop: StopToken = NEVER,
    ) -> None:  # fmt: skip
        """Call see(rows, effects (R, T, C), part) for all rows of codes (a, N), some at a time: those of a part of
        `parts(N)` one after another, parts on several threads.
        """
        codes, n, chosen = as_kernel_codes(codes), codes.shape[1], self._chosen(tuples)
        chunk, total = self._chunk, self.parts(n)

        def one(part: int) -> None:
            end = n * (part + 1) // total
            for start in range(n * part // total, end, chunk):
                stop.check()
                rows = slice(start, min(end, start + chunk))
                see(rows, self._effects(codes, chosen, rows), part)

        run_parts(one, total, resolve_jobs(n_jobs))

    def parts(self, n: int) -> int:
        """Return in how many parts so many rows are visited, on any number of threads: sums are kept for each."""
        return min(_PARTS, -(-n // self._chunk))

    def scores(
        self, codes: Codes, tuples: Sequence[int] | None = None, n_jobs: int | None = None, stop: StopToken = NEVER
    ) -> Floats:
        """Return the scores (N, C) of rows of codes (a, N), whose mean over the classes is 0; of some `tuples` what
        these add.
        """
        out = np.empty((codes.shape[1], self.f.shape[1]))

        def add(rows: slice, effects: Floats, part: int) -> None:
            out[rows] = effects.sum(axis=1)

        self.visit(codes, add, tuples, n_jobs, stop)
        return out + self.intercept if tuples is None else out

    def importance(self, encoded: Encoded, n_jobs: int | None = None, stop: StopToken = NEVER) -> Floats:
        """Return (T, 3) of each tuple under rows: Cov(f, F) / Var(F), Var(f) / Var(F), and half the mean variance of f
        over the classes as probable as the row's score F says (nats).
        """
        weights = encoded.weights / encoded.total
        shares = np.bincount(encoded.y, weights, encoded.n_classes)
        parts = np.zeros((self.parts(encoded.n_rows), self.n_tuples, 3))

        def see(rows: slice, effects: Floats, part: int) -> None:
            kernels.add_moments(effects, effects.sum(axis=1), self.intercept, weights[rows], shares, parts[part])

        self.visit(encoded.codes, see, None, n_jobs, stop)
        sums: Floats = parts.sum(axis=0)
        whole = sums[:, 0].sum()  # the sum of Cov(f, F) is Var(F)
        sums[:, :2] /= whole if whole > 0 else 1.0
        return sums

    @property
    def _chunk(self) -> int:
        return max(16, _HELD // max(1, self.n_tuples * self.f.shape[1]))

    def _chosen(self, tuples: Sequence[int] | None) -> NDArray[np.int64]:
        return np.arange(self.n_tuples) if tuples is None else np.array(tuples, np.int64)

    def _effects(self, codes: Codes, chosen: NDArray[np.int64], rows: slice) -> Floats:
        out = np.empty((rows.stop - rows.start, len(chosen), self.f.shape[1]))
        located = self.index.locate(codes, rows.start, rows.stop)
        kernels.row_effects(
            located, chosen, codes, rows.start, self.space.levels - 1, self.space.tuples, self.index.begin, self.f,
            self._defaults, self._part, self._room, self._moves, out,
        )  # fmt: skip
        return out


def purify(model: LinearModel, encoded: Encoded, n_jobs: int | None = None, stop: StopToken = NEVER) -> Effects:
    """Return the pure effects of a model under the rows of `encoded`, by their weights."""
    jobs = resolve_jobs(n_jobs)
    space = with_parts(model.space)
    live = np.flatnonzero(encoded.weights > 0)
    codes = as_kernel_codes(encoded.codes)
    seen = index_cells(space, [(np.array([t]), live) for t in range(space.n_tuples)], codes, jobs, stop).seen
    there = _renumbered(model, space)
    index = CellIndex.of_seen(space, np.union1d(seen, there))
    rows = _weights(index, codes[:, live], encoded.weights[live], stop)
    return _purified(model, index, there, rows, encoded.total, jobs, stop)


def purify_by_counts(model: LinearModel, tables: Tables, n_jobs: int | None = None, stop: StopToken = NEVER) -> Effects:
    """Return the pure effects of a model under its training rows, of which only the counts of its cells are left.

    They are those of `purify` on these rows. They differ only where missing values are skipped or single cells were
    chosen: a row then counts for the tuples in which it has one of the model's cells.
    """
    space = with_parts(model.space)
    there = _renumbered(model, space)
    cells, rows = _with_parts_counted(space, there, tables.counts.sum(axis=1), stop)
    index = CellIndex.of_seen(space, cells)
    return _purified(model, index, there, rows, float(tables.class_counts.sum()), resolve_jobs(n_jobs), stop)


def _purified(
    model: LinearModel, index: CellIndex[AnySpace], there: NDArray[np.int64], rows: Floats, total: float, jobs: int,
    stop: StopToken,
) -> Effects:  # fmt: skip
    """The effects of a model whose own cells are `there`, under rows (S,) that weigh so much in each cell."""
    space = index.space
    raw, defaults = _as_tables(model, index, there)
    weights = rows / total
    slices = Slices.of(index)
    part, room, at, mass = slices.part, slices.room, slices.at, slices.sums(weights)
    f, moves, left = raw.copy(), np.zeros((len(mass), model.n_classes)), np.zeros(space.n_tuples)
    sizes = (space.strides > 0).sum(axis=1)
    intercept = model.bias - model.bias.mean()
    for n in range(int(sizes.max(initial=0)), 0, -1):
        level = np.flatnonzero(sizes == n)

        def one(i: int, level: NDArray[np.intp] = level, n: int = n) -> None:
            stop.check()
            t = level[i]
            left[t] = kernels.purify(t, n, f, weights, index.begin, at, mass, room, moves, _TOL, _MOST)

        run_parts(one, len(level), jobs)
        for t in level.tolist():
            for j in range(n):
                moved = moves[room[t, j] : room[t, j + 1]]
                if part[t, j] < 0:
                    intercept = intercept + moved[0]
                else:
                    f[index.begin[part[t, j]] : index.begin[part[t, j] + 1]] += moved
    at_own = np.searchsorted(index.seen, there)
    return Effects(space, index, raw, f, rows, intercept, left, at_own, defaults, moves, room, part)


def _numbers_of(model: LinearModel, space: AnySpace) -> NDArray[np.int64]:
    """(T_m,) the number in `space` of each tuple of the model."""
    numbers = {tuple(columns): t for t, columns in enumerate(space.members)}
    return np.array([numbers[tuple(columns)] for columns in model.space.members], np.int64)


def _with_parts_counted(
    space: AnySpace, cells: NDArray[np.int64], rows: Floats, stop: StopToken
) -> tuple[NDArray[np.int64], Floats]:
    """Add to cells (S,), and to the weight of the rows in each, those of all parts of their tuples; ascending.

    The rows of a part that has no count are those of one larger tuple, of several the one that has most.
    """
    members = space.members
    sizes = np.array([len(columns) for columns in members], np.int64)
    numbers = {tuple(columns): t for t, columns in enumerate(members)}
    for n in range(int(sizes.max(initial=0)), 1, -1):
        stop.check()
        of = space.tuple_of(cells)
        large = np.flatnonzero(sizes[of] == n)
        of, codes = of[large], space.codes_of(cells[large])[:, :n]
        found = [(cells[:0], rows[:0])]
        for j in range(n if len(large) else 0):
            part = np.array([numbers.get((*own[:j], *own[j + 1 :]), 0) for own in members])[of]
            number = space.first[part] + (np.delete(codes, j, axis=1) * space.strides[part, : n - 1]).sum(axis=1)
            order = np.lexsort((number, of))
            of_sorted, number = of[order], number[order]
            begin = np.flatnonzero(np.append(True, (np.diff(number) != 0) | (np.diff(of_sorted) != 0)))
            found.append((number[begin], np.add.reduceat(rows[large[order]], begin)))
        parts, sums = (np.concatenate(of_all) for of_all in zip(*found, strict=True))
        fresh = ~np.isin(parts, cells)
        added, place = np.unique(parts[fresh], return_inverse=True)
        weights = np.zeros(len(added))
        np.maximum.at(weights, place.ravel(), sums[fresh])
        cells, rows = np.append(cells, added), np.append(rows, weights)
    order = np.argsort(cells)
    return cells[order], rows[order]


def _renumbered(model: LinearModel, space: AnySpace) -> NDArray[np.int64]:
    """The cells that the model has a phi of, in its order, as `space` numbers them."""
    own, of = _numbers_of(model, space), model.space.tuple_of(model.seen)
    width = min(model.space.tuples.shape[1], space.strides.shape[1])
    codes = model.space.codes_of(model.seen)[:, :width]
    return space.first[own[of]] + (codes * space.strides[own[of], :width]).sum(axis=1)


def _as_tables(model: LinearModel, index: CellIndex[AnySpace], there: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """What the model adds, freed of what all classes share: in each cell of `index`, (S, C), and in those of tuple t
    that are not there, (2T, C), the second half where a column has no level.
    """
    space, own = index.space, _numbers_of(model, index.space)
    classes, count = model.n_classes, space.n_tuples
    defaults = np.zeros((2 * count, classes))
    apart = cell_table(2 * len(own), len(own), classes, model.unseen)
    defaults[own], defaults[count + own] = apart[: len(own)], apart[len(own) :]
    of, codes = space.tuple_of(index.seen), space.codes_of(index.seen)
    absent = (codes >= (space.levels - 1)[space.tuples[of]]).any(axis=1)
    raw = defaults[of + count * absent]
    raw[np.searchsorted(index.seen, there)] = model.phi
    return raw - raw.mean(axis=1, keepdims=True), defaults - defaults.mean(axis=1, keepdims=True)


def _weights(index: CellIndex[AnySpace], codes: Codes, weights: Floats, stop: StopToken) -> Floats:
    """(S,) the weight of the rows in each cell."""
    codes, n, count = as_kernel_codes(codes), codes.shape[1], index.space.n_tuples
    rows = np.zeros(len(index.local))
    chunk = max(16, _HELD // max(1, count))
    for begin in range(0, n, chunk):
        stop.check()
        located = index.locate(codes, begin, min(n, begin + chunk)).astype(np.int64) - 2 * count
        rows += np.bincount(located.ravel(), np.repeat(weights[begin : begin + chunk], count), len(rows))
    return rows


@cache
def warm_effects(wide: bool = False) -> None:
    """Make ready what takes models apart and judges them without some of their tuples, of wide codes or not."""
    codes: Codes = np.array([[0, 0, 1, 1], [0, 1, 0, 1]], np.uint32 if wide else np.uint16)
    rows = Encoded(codes, np.array([0, 1, 1, 0], np.int32), np.ones(4), np.array([2, 2]), np.arange(2), ("a", "b"))
    space = CellSpace(rows.levels, 2)
    cover, _ = cover_rows(plan_cover(codes, space), space, [codes], np.ones(4, bool))
    found = purify(LinearModel(space, cover.index.seen, np.eye(4, 2), np.zeros(2)), rows, 1)
    found.importance(rows, 1)
    effects, sums = found.of_rows(codes), np.zeros((found.n_tuples + 1, 2))
    kernels.losses_without(effects, found.scores(codes), rows.y, rows.weights, sums)
    kernels.losses_of_first_tuples(
        effects, found.intercept, rows.y, rows.weights, np.arange(1, found.n_tuples + 1), sums
    )
    slices = Slices.of(found.index)
    ones = np.ones_like(found.f)
    kernels.fit_margins(2, 2, ones, ones > 0, found.index.begin, slices.at, slices.room, 1e-7, 1)
    first, _, end = slices.room[2, :3]
    kernels.margin_rank(np.arange(found.index.begin[2], len(ones)), 2, slices.at, first, end - first, 1_000)
