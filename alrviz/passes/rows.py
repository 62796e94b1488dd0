"""The rows of an encoded table, ready for the kernels, and the passes over them.

    rows.forward(layout, table, bias)      scores (N, W) of a table of cells
    rows.scatter(layout, residual, grad)   its transpose
    rows.count(layout)                     weighted counts (cells + T, C)
    rows.trial / settle / curve / diagonal     passes of a loss over scores

Every pass runs over parts that take at most about 20 ms each, asks the stop token between them and shares them over
threads: rows for scores (a row belongs to one part), tuples for gradients and counts (a cell belongs to one part). So
no part writes where another does, nothing is reduced, and the bits are the same for any number of threads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import rows as row_kernels
from alrviz.kernels import scores as score_kernels
from alrviz.passes.losses import NLL, Loss
from alrviz.passes.threads import resolve_jobs, share
from alrviz.stop import NEVER, StopToken

LANES = (2, 3, 4, 8, 16)
CHUNK = score_kernels.CHUNK
# Row-tuple look-ups (of 8 lanes, 2 ns each) in one call of a kernel: 10 to 20 ms on slow machines, so that a stop is
# noticed at once. Below the second figure waking other threads costs more than it saves.
_CALL = 4_000_000
_SMALL = 200_000
# Look-ups that a softmax pass takes as long as, a row.
_SOFTMAX = 32
# Bytes of a table that stay in a core's cache beside the rows. A table four times as large is taken a few tuples at a
# time over many rows: 2.6 ns a look-up against 9 where each chunk of rows asks for all of 27 MiB (8 lanes).
_CACHED = 256 * 1024

# A read-only array (a column of pandas, a memory map of joblib) is another type to numba: for it every kernel would be
# compiled anew, in the middle of a fit.
_AS_COMPILED: tuple[Literal["C_CONTIGUOUS"], Literal["WRITEABLE"]] = ("C_CONTIGUOUS", "WRITEABLE")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Layout:
    """Where the cells of a cell space lie in a table: see kernels/rows.py for shapes."""

    columns: NDArray[np.int32]
    strides: NDArray[np.int64]
    levels: NDArray[np.int64]
    first: NDArray[np.int64]
    n_cells: int

    @property
    def n_tuples(self) -> int:
        """Number of tuples."""
        return len(self.first)


class Sums(NamedTuple):
    """Sums over rows, times their weights: the loss that is fitted, and what a settled point is judged by besides.

    NaN: nll and squares of a loss without probabilities.
    """

    value: float
    nll: float
    wrong: float
    tied: float
    squares: float


def lanes_of(n_classes: int) -> tuple[int, int]:
    """Return the lanes of one vector instruction and the padded number of classes W for `n_classes`.

    Each number of lanes is compiled once more, so there are five; above 16 classes rows are moved 16 lanes at a time.
    """
    for lanes in LANES:
        if n_classes <= lanes:
            return lanes, lanes
    return LANES[-1], -(-n_classes // LANES[-1]) * LANES[-1]


class Rows:
    """Codes, classes and weights of N rows in the dtypes and the memory order that the kernels are compiled for.

    Args:
        codes: (a, N) unsigned; a code >= levels[column] is no level.
        y: (N,) class indices.
        weights: (N,) row weights.
        levels: (a,) number of levels of each column.
        n_classes: C.
        n_jobs: threads; None for all.
    """

    def __init__(
        self,
        codes: NDArray[np.unsignedinteger],
        y: NDArray[np.integer],
        weights: Floats,
        levels: NDArray[np.int64],
        n_classes: int,
        n_jobs: int | None = None,
    ):
        wide = codes.dtype.itemsize > 2
        self.codes = np.require(codes, np.uint32 if wide else np.uint16, _AS_COMPILED)
        self.y = np.require(y, np.int32, _AS_COMPILED)
        self.weights = np.require(weights, np.float64, _AS_COMPILED)
        self.gaps = np.array([bool((column >= top).any()) for column, top in zip(self.codes, levels, strict=True)])
        self.n_rows = len(self.y)
        self.n_classes = n_classes
        self.n_jobs = resolve_jobs(n_jobs)
        lanes, self.padded = lanes_of(n_classes)
        self._width = (0,) * lanes

    def table(self, layout: Layout) -> Floats:
        """Return a zero table (cells + T, W)."""
        return np.zeros((layout.n_cells + layout.n_tuples, self.padded))

    def scores(self) -> Floats:
        """Return room for scores (N, W), not initialised."""
        return np.empty((self.n_rows, self.padded))

    def forward(
        self, layout: Layout, table: Floats, bias: Floats, out: Floats | None = None, stop: StopToken = NEVER
    ) -> Floats:
        """Return scores (N, W): `bias` (C,) plus the cells of each row; pads are -inf."""
        return self._forward(layout, table, bias, -np.inf, out, stop)

    def forward_change(
        self, layout: Layout, table: Floats, bias: Floats, out: Floats | None = None, stop: StopToken = NEVER
    ) -> Floats:
        """Return the change of scores (N, W) that a change of cells and bias makes; pads are 0."""
        return self._forward(layout, table, bias, 0.0, out, stop)

    def _forward(
        self, layout: Layout, table: Floats, bias: Floats, pad: float, out: Floats | None, stop: StopToken
    ) -> Floats:
        z = self.scores() if out is None else out
        padded_bias = np.full(self.padded, pad)
        padded_bias[: self.n_classes] = bias
        spans = self._tuple_spans(layout.n_tuples, self._together(layout))
        segments = self._row_segments(spans[0][1])
        where = self._where(layout)

        def work(part: int) -> None:
            begin, end = segments[part]
            for t0, t1 in spans:
                stop.check()
                row_kernels.forward(*where, table, padded_bias, z, begin, end, t0, t1, self._width)

        share(work, len(segments), self._jobs(layout.n_tuples))
        return z

    def scatter(self, layout: Layout, residual: Floats, grad: Floats, stop: StopToken = NEVER) -> Floats:
        """Add `residual` (N, W) to the cells of each row in `grad` (cells + T, W)."""
        where = self._where(layout)

        def work(begin: int, end: int, t0: int, t1: int) -> None:
            row_kernels.scatter(*where, residual, grad, begin, end, t0, t1, self._width)

        self._by_tuples(layout, work, stop)
        return grad

    def count(self, layout: Layout, stop: StopToken = NEVER) -> Floats:
        """Return weighted counts (cells + T, C); row n_cells + t counts the rows that tuple t has no cell for."""
        counts = np.zeros((layout.n_cells + layout.n_tuples, self.n_classes))
        where = self._where(layout)

        def work(begin: int, end: int, t0: int, t1: int) -> None:
            row_kernels.count(*where, self.y, self.weights, counts, begin, end, t0, t1)

        self._by_tuples(layout, work, stop)
        return counts

    def trial(
        self, z: Floats, dz: Floats, t: float, stop: StopToken = NEVER, loss: Loss = NLL
    ) -> tuple[float, float, float]:
        """Return the loss, its first and second derivative with respect to t at z + t dz."""
        parts = self._parts(3)

        def work(begin: int, end: int) -> None:
            loss.trial(z, dz, t, self.y, self.weights, self.n_classes, parts, begin, end, *loss.options)

        self._by_rows(work, stop)
        value, slope, curvature = parts.sum(axis=0)
        return float(value), float(slope), float(curvature)

    def settle(
        self,
        z: Floats,
        dz: Floats | None,
        t: float,
        out: Floats,
        residual: Floats | None,
        stop: StopToken = NEVER,
        loss: Loss = NLL,
    ) -> Sums:
        """Write z + t dz to `out` (without dz: `out` is z) and its residuals to `residual`, if given; return the sums.

        `residual` may be `dz`.
        """
        parts = self._parts(5)
        write = residual is not None
        target = z if residual is None else residual
        way, length = (z, 0.0) if dz is None else (dz, t)
        if dz is not None and t == 0.0:
            out[:] = z

        def work(begin: int, end: int) -> None:
            loss.settle(
                z, way, length, out, self.y, self.weights, self.n_classes, target, write, parts, begin, end,
                *loss.options,
            )  # fmt: skip

        self._by_rows(work, stop)
        return Sums(*map(float, parts.sum(axis=0)))

    def curve(self, z: Floats, dz: Floats, stop: StopToken = NEVER, loss: Loss = NLL) -> Floats:
        """Overwrite `dz` with the change of the residuals it makes at z (Gauss-Newton's of a loss not convex)."""

        def work(begin: int, end: int) -> None:
            loss.curve(z, dz, self.y, self.weights, self.n_classes, begin, end, *loss.options)

        self._by_rows(work, stop)
        return dz

    def diagonal(self, z: Floats, stop: StopToken = NEVER, loss: Loss = NLL) -> Floats:
        """Return the diagonal (N, W) of the matrix of each row that `curve` multiplies by: weight p (1 - p) for nll."""
        out = self.scores()

        def work(begin: int, end: int) -> None:
            loss.diagonal(z, out, self.y, self.weights, self.n_classes, begin, end, *loss.options)

        self._by_rows(work, stop)
        return out

    def with_weights(self, weights: Floats) -> "Rows":
        """Return the same rows, sharing their codes, with other weights."""
        other = object.__new__(Rows)
        other.__dict__.update(self.__dict__)
        other.weights = np.require(weights, np.float64, _AS_COMPILED)
        return other

    def _where(self, layout: Layout) -> tuple[object, ...]:
        return (
            self.codes, layout.columns, layout.strides, layout.levels, self.gaps, layout.first, layout.n_cells,
        )  # fmt: skip

    def _parts(self, columns: int) -> Floats:
        return np.zeros((-(-self.n_rows // CHUNK), columns))

    def _jobs(self, n_tuples: int) -> int:
        return self.n_jobs if self.n_rows * (n_tuples + 1) * self.padded > 8 * _SMALL else 1

    def _row_segments(self, n_tuples: int) -> list[tuple[int, int]]:
        per_call = int(_CALL * 8 / max(1, n_tuples) / self.padded)
        rows = max(CHUNK, min(per_call, -(-self.n_rows // (2 * self.n_jobs))))
        rows = -(-rows // CHUNK) * CHUNK
        return [(begin, min(self.n_rows, begin + rows)) for begin in range(0, self.n_rows, rows)]

    def _tuple_spans(self, n_tuples: int, most: int | None = None) -> list[tuple[int, int]]:
        """Ranges of at most `most` tuples, short enough for one call on CHUNK rows; an empty one if there is none."""
        span = max(1, int(_CALL * 8 / CHUNK / self.padded))
        span = span if most is None else min(span, most)
        return [(t, min(n_tuples, t + span)) for t in range(0, n_tuples, span)] or [(0, 0)]

    def _together(self, layout: Layout) -> int:
        """How many tuples are taken together: all of a small table, else as many whole groups as the cache holds."""
        size = 8 * self.padded * layout.n_cells
        if size <= 4 * _CACHED:
            return max(1, layout.n_tuples)
        held = int(_CACHED * layout.n_tuples / size)
        return max(1, held // row_kernels.GROUP) * row_kernels.GROUP

    def _by_rows(self, work: Callable[[int, int], None], stop: StopToken) -> None:
        segments = self._row_segments(_SOFTMAX)

        def part(k: int) -> None:
            stop.check()
            work(*segments[k])

        share(part, len(segments), self._jobs(8))

    def _by_tuples(self, layout: Layout, work: Callable[[int, int, int, int], None], stop: StopToken) -> None:
        jobs = min(self._jobs(layout.n_tuples), max(1, layout.n_tuples))
        edges = [layout.n_tuples * k // jobs for k in range(jobs + 1)]

        def part(k: int) -> None:
            for t0, t1 in self._tuple_spans(edges[k + 1] - edges[k], self._together(layout)):
                low, high = edges[k] + t0, edges[k] + t1
                for begin, end in self._row_segments(t1 - t0):
                    stop.check()
                    work(begin, end, low, high)

        share(part, jobs, jobs)
