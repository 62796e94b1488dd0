"""The rows of an encoded table, ready for the kernels, and the passes over them.

    rows.forward(blocks, table, bias)      scores (N, W) of the stacked table of joint values
    rows.scatter(blocks, residual, grad)   its transpose
    rows.count(blocks)                     weighted counts (joint values, W), pads 0
    rows.line_eval / loss_and_residual / hessian_product    softmax passes over scores

Every pass runs over parts that take at most about 20 ms each, asks the stop token between them and shares them over
threads: rows for scores (a row belongs to one part), blocks for gradients and counts (a joint value belongs to one). So
no part writes where another does, nothing is reduced, and the bits are the same for any number of threads.
"""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import rows as row_kernels
from alrviz.kernels import scores as score_kernels
from alrviz.passes import aligned_buffers
from alrviz.passes.aligned_buffers import Floats, lanes_of
from alrviz.passes.blocks import Blocks
from alrviz.passes.losses import NLL, Loss
from alrviz.passes.threads import resolve_jobs, share
from alrviz.stop import NEVER, StopToken

CHUNK = score_kernels.CHUNK_ROWS
# Look-ups (of 8 lanes, 2 ns each) in one call of a kernel: 10 to 20 ms on slow machines, so that a stop is noticed at
# once.
_CALL = 4_000_000
# Lanes of look-ups, and 3 for each look-up itself, below which waking other threads costs more than it saves: it takes
# 60 us, and so many lanes 200 us.
_SMALL = 1_000_000
# Look-ups that a softmax pass takes as long as, a row.
_SOFTMAX = 16
# Bytes of stacked table that all blocks are taken over for each chunk of rows; of a larger one as many blocks as the
# second figure holds are taken over many rows, so that their joint values stay in a core's cache (of 1 MiB: a fifth
# faster on Covertype than with 6 MiB here).
_LARGE = 2**20
_CACHED = 512 * 2**10

# A read-only array (a column of pandas, a memory map of joblib) is another type to numba: for it every kernel would be
# compiled anew, in the middle of a fit.
_AS_COMPILED: tuple[Literal["C_CONTIGUOUS"], Literal["WRITEABLE"]] = ("C_CONTIGUOUS", "WRITEABLE")


# Loss, slope and curvature at a place of a line.
Trial = tuple[float, float, float]


class Sums(NamedTuple):
    """Sums over rows, times their weights: the loss that is fitted, and what a settled point is judged by besides.

    NaN: nll and squares of a loss without probabilities.
    """

    value: float
    nll: float
    wrong: float
    tied: float
    squares: float


class Rows:
    """Classes, weights and keys of N rows in the dtypes and the memory order that the kernels are compiled for.

    Args:
        y: (N,) class indices.
        weights: (N,) row weights.
        n_classes: C.
        keys: (B, N) uint16 or uint32, the joint value of each row in each block of a cover; None as long as only the
            softmax passes are wanted.
        n_jobs: threads; None for all.
    """

    def __init__(
        self,
        y: NDArray[np.integer],
        weights: Floats,
        n_classes: int,
        keys: NDArray[np.unsignedinteger] | None = None,
        n_jobs: int | None = None,
    ):
        self.y = np.require(y, np.int32, _AS_COMPILED)
        self.weights = np.require(weights, np.float64, _AS_COMPILED)
        self.n_rows = len(self.y)
        self.n_classes = n_classes
        self.n_jobs = resolve_jobs(n_jobs)
        lanes, self.padded = lanes_of(n_classes)
        self._width = (0,) * lanes
        self.keys = np.empty((0, self.n_rows), np.uint16) if keys is None else as_compiled(keys)

    @property
    def wide(self) -> bool:
        """Whether keys are of 32 bits: some block has more than 65,536 joint values."""
        return self.keys.dtype.itemsize > 2

    def parts(self) -> "Iterator[Rows]":
        """Yield the rows as many at a time as scores of theirs are held together: all."""
        yield self

    def scores(self) -> Floats:
        """Return room for scores (N, W), not initialised."""
        return aligned_buffers.empty(self.n_rows, self.padded)

    def forward(
        self, blocks: Blocks, table: Floats, bias: Floats, out: Floats | None = None, stop: StopToken = NEVER
    ) -> Floats:
        """Return scores (N, W): `bias` (C,) plus the joint values of each row; pads are -inf."""
        return self._forward(blocks, table, bias, -np.inf, out, stop)

    def forward_change(
        self, blocks: Blocks, table: Floats, bias: Floats, out: Floats | None = None, stop: StopToken = NEVER
    ) -> Floats:
        """Return the change of scores (N, W) that a change of the table and the bias makes; pads are 0."""
        return self._forward(blocks, table, bias, 0.0, out, stop)

    def forward_trial(
        self, blocks: Blocks, table: Floats, bias: Floats, z: Floats, t: float, out: Floats | None = None,
        stop: StopToken = NEVER, loss: Loss = NLL,
    ) -> tuple[Floats, Trial]:  # fmt: skip
        """Return `forward_change` dz (N, W) and `line_eval` at z + t dz, made while dz is at hand."""
        dz, parts = self.scores() if out is None else out, self._parts(3)

        def then(begin: int, end: int) -> None:
            loss.line_eval(z, dz, t, self.y, self.weights, self.n_classes, parts, begin, end)

        self._forward(blocks, table, bias, 0.0, dz, stop, then)
        return dz, _trial(parts)

    def _forward(
        self,
        blocks: Blocks,
        table: Floats,
        bias: Floats,
        pad: float,
        out: Floats | None,
        stop: StopToken,
        then: Callable[[int, int], None] | None = None,
    ) -> Floats:
        z = self.scores() if out is None else out
        padded_bias = np.full(self.padded, pad)
        padded_bias[: self.n_classes] = bias
        spans = self._block_spans(blocks, 0, blocks.n_blocks)
        segments = self._row_segments(spans[0][1] + (0 if then is None else _SOFTMAX))

        def work(part: int) -> None:
            begin, end = segments[part]
            for b0, b1 in spans:
                stop.check()
                row_kernels.forward(self.keys, blocks.first, table, padded_bias, z, begin, end, b0, b1, self._width)
            if then is not None:
                then(begin, end)

        share(work, len(segments), self._jobs(blocks.n_blocks + (0 if then is None else _SOFTMAX)))
        return z

    def scatter(self, blocks: Blocks, residual: Floats, grad: Floats, stop: StopToken = NEVER) -> Floats:
        """Write to `grad` (joint values, W) the sums of `residual` (N, W)."""

        def work(begin: int, end: int, b0: int, b1: int) -> None:
            row_kernels.scatter(self.keys, blocks.first, residual, grad, begin, end, b0, b1, begin == 0, self._width)

        self._by_blocks(blocks, work, stop)
        return grad

    def count(self, blocks: Blocks, stop: StopToken = NEVER) -> Floats:
        """Return weighted counts (joint values, W); pads are 0."""
        counts = aligned_buffers.zeros(blocks.n_joint, self.padded)

        def work(begin: int, end: int, b0: int, b1: int) -> None:
            row_kernels.count(self.keys, blocks.first, self.y, self.weights, counts, begin, end, b0, b1)

        self._by_blocks(blocks, work, stop)
        return counts

    def line_eval(self, z: Floats, dz: Floats, t: float, stop: StopToken = NEVER, loss: Loss = NLL) -> Trial:
        """Return the loss, its first and second derivative with respect to t at z + t dz."""
        parts = self._parts(3)

        def work(begin: int, end: int) -> None:
            loss.line_eval(z, dz, t, self.y, self.weights, self.n_classes, parts, begin, end)

        self._by_rows(work, stop)
        return _trial(parts)

    def loss_and_residual(
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

        All are (N, W); `residual` may be `dz`.
        """
        parts = self._parts(5)
        write = residual is not None
        target = z if residual is None else residual
        way, length = (z, 0.0) if dz is None else (dz, t)
        if dz is not None and t == 0.0:
            out[:] = z

        def work(begin: int, end: int) -> None:
            loss.loss_and_residual(
                z, way, length, out, self.y, self.weights, self.n_classes, target, write, parts, begin, end
            )

        self._by_rows(work, stop)
        return Sums(*map(float, parts.sum(axis=0)))

    def hessian_product(self, z: Floats, dz: Floats, stop: StopToken = NEVER, loss: Loss = NLL) -> Floats:
        """Overwrite `dz` (N, W) with the change of the residuals that it makes at z.

        Of a loss that is not convex it is Gauss-Newton's.
        """

        def work(begin: int, end: int) -> None:
            loss.hessian_product(z, dz, self.y, self.weights, self.n_classes, begin, end)

        self._by_rows(work, stop)
        return dz

    def diagonal(self, z: Floats, stop: StopToken = NEVER, loss: Loss = NLL, room: Floats | None = None) -> Floats:
        """Return the diagonal (N, W) of each row's matrix in `hessian_product`: weight p (1 - p) for nll.

        It is written to `room`, if that is given.
        """
        out = self.scores() if room is None else room

        def work(begin: int, end: int) -> None:
            loss.diagonal(z, out, self.y, self.weights, self.n_classes, begin, end)

        self._by_rows(work, stop)
        return out

    def with_weights(self, weights: Floats) -> "Rows":
        """Return the same rows, sharing their keys, with other weights."""
        return Rows(self.y, weights, self.n_classes, self.keys, self.n_jobs)

    def with_keys(self, keys: NDArray[np.unsignedinteger]) -> "Rows":
        """Return the same rows in the terms of another cover."""
        return Rows(self.y, self.weights, self.n_classes, keys, self.n_jobs)

    def on(self, n_jobs: int) -> "Rows":
        """Return the same rows for passes on so many threads."""
        return Rows(self.y, self.weights, self.n_classes, self.keys, n_jobs)

    def _parts(self, columns: int) -> Floats:
        return np.zeros((-(-self.n_rows // CHUNK), columns))

    def _jobs(self, n_blocks: int) -> int:
        return self.n_jobs if self.n_rows * (n_blocks + 1) * (self.padded + 3) > _SMALL else 1

    def _row_segments(self, n_blocks: int) -> list[tuple[int, int]]:
        per_call = int(_CALL * 8 / max(1, n_blocks) / self.padded)
        rows = max(CHUNK, min(per_call, -(-self.n_rows // (2 * self.n_jobs))))
        rows = -(-rows // CHUNK) * CHUNK
        return [(begin, min(self.n_rows, begin + rows)) for begin in range(0, max(1, self.n_rows), rows)]

    def _block_spans(self, blocks: Blocks, begin: int, end: int) -> list[tuple[int, int]]:
        """Ranges of blocks begin..end for one call each on some rows; an empty one if there is none."""
        most = max(1, int(_CALL * 8 / CHUNK / self.padded) // row_kernels.GROUP_BLOCKS) * row_kernels.GROUP_BLOCKS
        size = 8 * self.padded * blocks.n_joint
        if size > _LARGE:
            held = int(_CACHED * blocks.n_blocks / size)
            most = min(most, max(1, held // row_kernels.GROUP_BLOCKS) * row_kernels.GROUP_BLOCKS)
        return [(b, min(end, b + most)) for b in range(begin, end, most)] or [(begin, end)]

    def _by_rows(self, work: Callable[[int, int], None], stop: StopToken) -> None:
        segments = self._row_segments(_SOFTMAX)

        def part(k: int) -> None:
            stop.check()
            work(*segments[k])

        share(part, len(segments), self._jobs(_SOFTMAX))

    def _by_blocks(self, blocks: Blocks, work: Callable[[int, int, int, int], None], stop: StopToken) -> None:
        jobs = min(self._jobs(blocks.n_blocks), max(1, blocks.n_blocks))
        edges = [blocks.n_blocks * k // jobs for k in range(jobs + 1)]

        def part(k: int) -> None:
            for b0, b1 in self._block_spans(blocks, edges[k], edges[k + 1]):
                for begin, end in self._row_segments(b1 - b0):
                    stop.check()
                    work(begin, end, b0, b1)

        share(part, jobs, jobs)


def _trial(parts: Floats) -> Trial:
    value, slope, curvature = parts.sum(axis=0)
    return float(value), float(slope), float(curvature)


def as_compiled(keys: NDArray[np.unsignedinteger]) -> NDArray[np.unsignedinteger]:
    """Return keys (B, N) or codes (a, N) in the dtype and the memory order that kernels are compiled for."""
    return np.require(keys, np.uint32 if keys.dtype.itemsize > 2 else np.uint16, _AS_COMPILED)
