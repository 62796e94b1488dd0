"""The rows of an encoded table, ready for the kernels, and the passes over them.

    rows.forward(blocks, table, bias)      scores (N, W) of the stacked table of joint values
    rows.scatter(blocks, residual, grad)   its transpose
    rows.count(blocks)                     weighted counts (joint values, W), pads 0
    rows.line_eval / loss_and_residual / hessian_product / diagonal    softmax passes over scores

A pass is split into parts of at most about 20 ms, which threads share; the stop token is checked between them. Scores
are split by rows, gradients and counts by blocks, so that no part writes where another does. Nothing is reduced, and
the bits are the same for any number of threads.
"""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import rows as row_kernels
from alrviz.kernels import scores as score_kernels
from alrviz.passes import aligned_buffers
from alrviz.passes.aligned_buffers import Floats, class_widths
from alrviz.passes.blocks import Blocks
from alrviz.passes.losses import NLL, Loss
from alrviz.passes.threads import resolve_jobs, run_parts
from alrviz.stop import NEVER, StopToken

CHUNK_ROWS = score_kernels.CHUNK_ROWS
# Look-ups of 8 lanes (2 ns each) in one call of a kernel: 10 to 20 ms on slow machines, so that stops are noticed.
_LOOKUPS_PER_CALL = 4_000_000
# Lanes of look-ups, plus 3 for each look-up, below which waking other threads (60 us) costs more than it saves: one
# thread moves so many in 200 us.
_MIN_SHARED_LANES = 1_000_000
# A row of a softmax pass takes as long as so many look-ups.
_SOFTMAX_LOOKUPS = 16
# A stacked table of up to _CACHE_TABLE_BYTES is looked up chunk by chunk of rows, in all blocks. A larger one is looked
# up by groups of blocks of _GROUP_TABLE_BYTES over many rows, so that a group stays in a core's cache (of 1 MiB:
# a fifth faster on Covertype than with a limit of 6 MiB here).
_CACHE_TABLE_BYTES = 2**20
_GROUP_TABLE_BYTES = 512 * 2**10

# To numba a read-only array (a column of pandas, a memory map of joblib) is another type, for which every kernel would
# compile once more, in the middle of a fit.
_KERNEL_FLAGS: tuple[Literal["C_CONTIGUOUS"], Literal["WRITEABLE"]] = ("C_CONTIGUOUS", "WRITEABLE")


# Loss, slope and curvature at a point of a line.
LineDerivatives = tuple[float, float, float]


class Sums(NamedTuple):
    """Weighted sums over rows: the loss that is minimised, and the other measures of a point.

    Attributes:
        value: the loss. nll: -log p(y). wrong: rows that predict another class.
        tied: rows whose own class has not the only highest score. squares: squared error.

    nll and squares are NaN for a loss without probabilities.
    """

    value: float
    nll: float
    wrong: float
    tied: float
    squares: float


class Rows:
    """Classes, weights and keys of N rows in the dtypes and the memory order that kernels are compiled for.

    Args:
        y: (N,) class indices.
        weights: (N,) row weights.
        n_classes: C.
        keys: (B, N) uint16 or uint32, the joint value of each row in each block of a cover; None if only softmax passes
            are needed.
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
        self.y = np.require(y, np.int32, _KERNEL_FLAGS)
        self.weights = np.require(weights, np.float64, _KERNEL_FLAGS)
        self.n_rows = len(self.y)
        self.n_classes = n_classes
        self.n_jobs = resolve_jobs(n_jobs)
        n_lanes, self.padded_width = class_widths(n_classes)
        self._lanes = (0,) * n_lanes
        self.keys = np.empty((0, self.n_rows), np.uint16) if keys is None else as_kernel_codes(keys)

    @property
    def has_wide_keys(self) -> bool:
        """Whether keys have 32 bits: some block has more than 65,536 joint values."""
        return self.keys.dtype.itemsize > 2

    def batches(self) -> "Iterator[Rows]":
        """Yield the rows in batches whose scores are kept at once; here all rows are one batch."""
        yield self

    def scores(self) -> Floats:
        """Return an uninitialised array for scores (N, W)."""
        return aligned_buffers.empty(self.n_rows, self.padded_width)

    def forward_and_line_eval(
        self, blocks: Blocks, table: Floats, bias: Floats, z: Floats, t: float, out: Floats | None = None,
        stop: StopToken = NEVER, loss: Loss = NLL,
    ) -> tuple[Floats, LineDerivatives]:  # fmt: skip
        """Return the change dz (N, W) of scores, and `line_eval` at z + t dz, evaluated while dz is in the cache.

        table (joint values, W) and bias (C,) are the changes of table and bias; out: array for dz, None for a new one.
        """
        dz, sums_by_chunk = self.scores() if out is None else out, self._parts(3)

        def evaluate(begin: int, end: int) -> None:
            loss.line_eval(z, dz, t, self.y, self.weights, self.n_classes, sums_by_chunk, begin, end)

        self.forward(blocks, table, bias, dz, stop, 0.0, evaluate)
        return dz, _line_derivatives(sums_by_chunk)

    def forward(
        self, blocks: Blocks, table: Floats, bias: Floats, out: Floats | None = None, stop: StopToken = NEVER,
        pad: float = -np.inf, after_part: Callable[[int, int], None] | None = None,
    ) -> Floats:  # fmt: skip
        """Return scores (N, W): `bias` (C,) plus the joint values of each row, looked up in `table` (joint values, W).

        out: array for the scores, None for a new one. A `pad` of 0 is for the change of scores that a change of table
        and bias makes. `after_part` is called with each range of rows as soon as it is done.
        """
        z = self.scores() if out is None else out
        padded_bias = np.full(self.padded_width, pad)
        padded_bias[: self.n_classes] = bias
        block_spans = self._block_spans(blocks, 0, blocks.n_blocks)
        segments = self._row_segments(block_spans[0][1] + (0 if after_part is None else _SOFTMAX_LOOKUPS))

        def work(segment_number: int) -> None:
            begin, end = segments[segment_number]
            for b0, b1 in block_spans:
                stop.check()
                row_kernels.forward(self.keys, blocks.first, table, padded_bias, z, begin, end, b0, b1, self._lanes)
            if after_part is not None:
                after_part(begin, end)

        run_parts(work, len(segments), self._jobs(blocks.n_blocks + (0 if after_part is None else _SOFTMAX_LOOKUPS)))
        return z

    def scatter(self, blocks: Blocks, residual: Floats, grad: Floats, stop: StopToken = NEVER) -> Floats:
        """Write to `grad` (joint values, W) the sums of `residual` (N, W)."""

        def work(begin: int, end: int, b0: int, b1: int) -> None:
            row_kernels.scatter(self.keys, blocks.first, residual, grad, begin, end, b0, b1, begin == 0, self._lanes)

        self._by_blocks(blocks, work, stop)
        return grad

    def count(self, blocks: Blocks, stop: StopToken = NEVER) -> Floats:
        """Return weighted counts (joint values, W); pads are 0."""
        counts = aligned_buffers.zeros(blocks.n_joint, self.padded_width)

        def work(begin: int, end: int, b0: int, b1: int) -> None:
            row_kernels.count(self.keys, blocks.first, self.y, self.weights, counts, begin, end, b0, b1)

        self._by_blocks(blocks, work, stop)
        return counts

    def line_eval(self, z: Floats, dz: Floats, t: float, stop: StopToken = NEVER, loss: Loss = NLL) -> LineDerivatives:
        """Return the loss at z + t dz, both (N, W), and its first and second derivative with respect to t."""
        sums_by_chunk = self._parts(3)

        def work(begin: int, end: int) -> None:
            loss.line_eval(z, dz, t, self.y, self.weights, self.n_classes, sums_by_chunk, begin, end)

        self._by_rows(work, stop)
        return _line_derivatives(sums_by_chunk)

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
        """Write z + t dz to `out` and its residuals to `residual`, if given; return the sums.

        All are (N, W); without dz `out` is z, and `residual` may be `dz`.
        """
        sums = self._parts(5)
        write = residual is not None
        target = z if residual is None else residual
        direction, step_length = (z, 0.0) if dz is None else (dz, t)
        if dz is not None and t == 0.0:
            out[:] = z

        def work(begin: int, end: int) -> None:
            loss.loss_and_residual(
                z, direction, step_length, out, self.y, self.weights, self.n_classes, target, write, sums, begin, end
            )

        self._by_rows(work, stop)
        return Sums(*map(float, sums.sum(axis=0)))

    def hessian_product(self, z: Floats, dz: Floats, stop: StopToken = NEVER, loss: Loss = NLL) -> Floats:
        """Overwrite `dz` (N, W) with the change of residuals that it makes at z; Gauss-Newton's if the loss is not
        convex.
        """

        def work(begin: int, end: int) -> None:
            loss.hessian_product(z, dz, self.y, self.weights, self.n_classes, begin, end)

        self._by_rows(work, stop)
        return dz

    def diagonal(self, z: Floats, stop: StopToken = NEVER, loss: Loss = NLL, buffer: Floats | None = None) -> Floats:
        """Return the diagonal (N, W) of each row's matrix in `hessian_product` at scores z (N, W): weight p (1 - p) for
        nll.

        It is written to `buffer`, if given.
        """
        out = self.scores() if buffer is None else buffer

        def work(begin: int, end: int) -> None:
            loss.score_hessian_diagonal(z, out, self.y, self.weights, self.n_classes, begin, end)

        self._by_rows(work, stop)
        return out

    def with_weights(self, weights: Floats) -> "Rows":
        """Return the rows with other weights; keys are shared."""
        return Rows(self.y, weights, self.n_classes, self.keys, self.n_jobs)

    def with_keys(self, keys: NDArray[np.unsignedinteger]) -> "Rows":
        """Return the rows with the keys of another cover."""
        return Rows(self.y, self.weights, self.n_classes, keys, self.n_jobs)

    def with_jobs(self, n_jobs: int) -> "Rows":
        """Return the rows for passes on `n_jobs` threads."""
        return Rows(self.y, self.weights, self.n_classes, self.keys, n_jobs)

    def _parts(self, columns: int) -> Floats:
        return np.zeros((-(-self.n_rows // CHUNK_ROWS), columns))

    def _jobs(self, n_blocks: int) -> int:
        return self.n_jobs if self.n_rows * (n_blocks + 1) * (self.padded_width + 3) > _MIN_SHARED_LANES else 1

    def _row_segments(self, n_blocks: int) -> list[tuple[int, int]]:
        """Return ranges of rows for calls of kernels that look up n_blocks blocks, multiples of CHUNK_ROWS."""
        rows_per_call = int(_LOOKUPS_PER_CALL * 8 / max(1, n_blocks) / self.padded_width)
        rows_per_segment = max(CHUNK_ROWS, min(rows_per_call, -(-self.n_rows // (2 * self.n_jobs))))
        rows_per_segment = -(-rows_per_segment // CHUNK_ROWS) * CHUNK_ROWS
        segment_starts = range(0, max(1, self.n_rows), rows_per_segment)
        return [(begin, min(self.n_rows, begin + rows_per_segment)) for begin in segment_starts]

    def _block_spans(self, blocks: Blocks, begin: int, end: int) -> list[tuple[int, int]]:
        """Return ranges of blocks begin..end, one per call on some rows; without blocks one empty range."""
        max_blocks = (
            max(1, int(_LOOKUPS_PER_CALL * 8 / CHUNK_ROWS / self.padded_width) // row_kernels.GROUP_BLOCKS)
            * row_kernels.GROUP_BLOCKS
        )
        table_bytes = 8 * self.padded_width * blocks.n_joint
        if table_bytes > _CACHE_TABLE_BYTES:
            n_cached = int(_GROUP_TABLE_BYTES * blocks.n_blocks / table_bytes)
            max_blocks = min(max_blocks, max(1, n_cached // row_kernels.GROUP_BLOCKS) * row_kernels.GROUP_BLOCKS)
        return [(b, min(end, b + max_blocks)) for b in range(begin, end, max_blocks)] or [(begin, end)]

    def _by_rows(self, work: Callable[[int, int], None], stop: StopToken) -> None:
        """Call work(begin, end) for ranges of rows, on as many threads as that work pays for."""
        segments = self._row_segments(_SOFTMAX_LOOKUPS)

        def part(k: int) -> None:
            stop.check()
            work(*segments[k])

        run_parts(part, len(segments), self._jobs(_SOFTMAX_LOOKUPS))

    def _by_blocks(self, blocks: Blocks, work: Callable[[int, int, int, int], None], stop: StopToken) -> None:
        """Call work(begin, end, b0, b1) for ranges of rows and blocks; each thread has its own blocks."""
        jobs = min(self._jobs(blocks.n_blocks), max(1, blocks.n_blocks))
        edges = [blocks.n_blocks * k // jobs for k in range(jobs + 1)]

        def part(k: int) -> None:
            for b0, b1 in self._block_spans(blocks, edges[k], edges[k + 1]):
                for begin, end in self._row_segments(b1 - b0):
                    stop.check()
                    work(begin, end, b0, b1)

        run_parts(part, jobs, jobs)


def _line_derivatives(sums_by_chunk: Floats) -> LineDerivatives:
    value, slope, curvature = sums_by_chunk.sum(axis=0)
    return float(value), float(slope), float(curvature)


def as_kernel_codes(keys: NDArray[np.unsignedinteger]) -> NDArray[np.unsignedinteger]:
    """Return keys (B, N) or codes (a, N) in the dtype and memory order that kernels are compiled for."""
    return np.require(keys, np.uint32 if keys.dtype.itemsize > 2 else np.uint16, _KERNEL_FLAGS)
