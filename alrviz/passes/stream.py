"""Passes over rows that come in chunks, of which only sums are kept.

    cells = DenseCells(levels, tuples, first)   a row of a table for every possible cell, where these are few enough
    cells = SeenCells(locate, ...)              a row for every cell that occurs, found by its hash
    passes = StreamPasses(cells, chunks, n_classes)
    passes.count_by_class()                     counts (rows of the table, C)
    passes.loss_and_gradient(table, bias)       sums over rows, and sums of residuals (rows of the table, W); along a
                                                direction the losses at several step lengths too
    passes.adagrad(table, eta, seed)            steps from row to row

`chunks.read(order, stop)` yields codes (a, m) and classes (m,). Sums are made chunk by chunk and added in a tree by
chunk number, FANOUT neighbours at a time: the bits are the same for any number of threads and machines, and for rows in
memory or in a file.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import islice, pairwise
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import adagrad as adagrad_kernels
from alrviz.kernels import cells as cell_kernels
from alrviz.kernels import rows as row_kernels
from alrviz.passes.aligned_buffers import Floats, allocate_aligned, class_widths, lanes_of_table, zeros
from alrviz.passes.losses import NLL
from alrviz.passes.rows import Sums, as_kernel_codes
from alrviz.passes.threads import resolve_jobs, run_parts
from alrviz.stop import NEVER, StopToken

Codes = NDArray[np.unsignedinteger]
ReadChunks = Callable[[Sequence[int] | None, StopToken], Iterable[tuple[Codes, NDArray[np.int32]]]]
Parts = tuple[NDArray[Any], ...]
Result = TypeVar("Result")
# The function of a pass, of chunks, a number of threads and a stop token; it may be pickled for other machines.
ChunkWork = Callable[[Iterable[tuple[Codes, NDArray[np.int32]]], int, StopToken], Result]
FANOUT = 4  # neighbouring sums that are added together: a tree that keeps log4(chunks) sums at a time
SPAN_ROWS = 8192  # rows whose keys and scores are in memory at once
# If a pass has larger sums, threads share one chunk instead of having one each, so that memory does not grow with
# their number.
MIN_SHARED_SUM_BYTES = 2**25
# Rows whose keys are in memory at once in a pass of steps. With a power of two the keys of one row would compete for
# the same cache lines.
_VISIT_ROWS = 1000


def do_nothing() -> None:
    """Do nothing."""


class Chunks(Protocol):
    """The chunks of a table's rows.

    Attributes:
        n_chunks: their number.
        passes: how many passes over all chunks were made so far, to sum or to take steps.
    """

    n_chunks: int
    passes: int

    def read(self, order: Sequence[int] | None = None, stop: StopToken = NEVER) -> Iterable[Any]:
        """Yield codes (a, m) and classes (m,) of the chunks numbered `order`; None for all, in their order."""

    def map_reduce(
        self, work: ChunkWork[Result], combine: Callable[[Sequence[Result]], Result], n_jobs: int, stop: StopToken
    ) -> Result:
        """Return work(chunks, n_jobs, stop) of all chunks.

        It may be computed of FANOUT^k neighbouring chunks at a time, whose results `combine` joins, FANOUT at a time.
        """


class LocalChunks:
    """Chunks that this process reads itself; see `Chunks`."""

    def __init__(self, read: ReadChunks, n_chunks: int):
        self._read, self.n_chunks, self.passes = read, n_chunks, 0

    def read(self, order: Sequence[int] | None = None, stop: StopToken = NEVER) -> Iterable[Any]:
        """Yield the chunks numbered `order` (None: all); see `Chunks`."""
        return self._read(order, stop)

    def map_reduce(
        self, work: ChunkWork[Result], combine: Callable[[Sequence[Result]], Result], n_jobs: int, stop: StopToken
    ) -> Result:
        """Return work(chunks, n_jobs, stop) of all chunks in one call, without `combine`; see `Chunks`."""
        self.passes += 1
        return work(self.read(None, stop), n_jobs, stop)


def add_arrays(parts: Sequence[Parts]) -> Parts:
    """Return a tuple of sums: the arrays at the same place of each of `parts`, added."""
    return tuple(reduce(np.add, arrays) for arrays in zip(*parts, strict=True))


def union(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the union (S,), ascending, of ascending arrays."""
    return reduce(np.union1d, parts)


def tree_sum(parts: Iterable[Parts]) -> Parts:
    """Return the sum of one or more tuples of arrays, `parts`, added in place as a tree, FANOUT neighbours at a time.

    The last node may have fewer children. So sums of FANOUT^k neighbours that are made elsewhere, from a multiple of
    FANOUT^k on, are nodes of the same tree.
    """
    sum_of_all = _sum_node(iter(parts), 64)
    assert sum_of_all is not None
    return sum_of_all


def _sum_node(parts: Iterator[Parts], level: int) -> Parts | None:
    """Return the sum of the next FANOUT^level parts, or of as many as are left; None if none is."""
    sum_of_parts = next(parts, None)
    if sum_of_parts is None:
        return None
    for lower_depth in range(level):
        for _ in range(FANOUT - 1):
            if (neighbour := _sum_node(parts, lower_depth)) is None:
                return sum_of_parts
            _add(sum_of_parts, neighbour)
    return sum_of_parts


def _add(total: Parts, addend: Parts) -> Parts:
    for array, added_array in zip(total, addend, strict=True):
        array += added_array
    return total


class CellLookup(Protocol):
    """Finds the rows of a table that rows of codes look up, one in each tuple.

    Attributes:
        n_rows: rows of the table.
        first: (T + 1,) added to the keys of each tuple.
    """

    n_rows: int
    first: NDArray[np.int64]

    def keys(self, codes: Codes) -> NDArray[np.unsignedinteger]:
        """Return (T, m), uint16 or uint32: for each tuple and each row of codes (a, m), the row of the table, less
        `first` of the tuple.
        """


class DenseCells:
    """A row of the table for every possible cell of some tuples, "no level" counting as a level.

    Args:
        levels: (a,) levels of the columns, without "no level".
        tuples: (T, n) int32 columns.
        first: (T + 1,) where a tuple's cells begin.
    """

    def __init__(self, levels: NDArray[np.int64], tuples: NDArray[np.int32], first: NDArray[np.int64]):
        self.first = first
        self.n_rows = int(first[-1])
        self._levels = np.array(levels + 1, np.int32)
        self._tuples = tuples
        self._key_type = np.uint16 if int(np.diff(first).max(initial=0)) <= 2**16 else np.uint32

    def keys(self, codes: Codes) -> NDArray[np.unsignedinteger]:
        """Return the keys of codes; see `CellLookup`."""
        out = np.empty((len(self._tuples), codes.shape[1]), self._key_type)
        cell_kernels.dense_keys(codes, self._tuples, self._levels, out)
        return out


class SeenCells:
    """A row of the table for every cell that occurs, after two rows of each tuple; see models/index.py.

    Args:
        locate: returns the rows of the table (m, T) for codes and a range of rows.
        n_rows: rows of the table.
        n_tuples: T.
    """

    def __init__(self, locate: Callable[[Codes, int, int], NDArray[np.uint32]], n_rows: int, n_tuples: int):
        self.n_rows, self.first = n_rows, np.zeros(n_tuples + 1, np.int64)
        self._locate = locate

    def keys(self, codes: Codes) -> NDArray[np.unsignedinteger]:
        """Return the keys of codes; see `CellLookup`."""
        return np.ascontiguousarray(self._locate(as_kernel_codes(codes), 0, codes.shape[1]).T)


@dataclass(frozen=True, eq=False)
class Direction:
    """A direction in which a table and a bias move.

    Attributes:
        table, bias: their change, (rows, W) and (C,).
        lengths: (L,) step lengths at which the loss is wanted; the gradient is that at the first.
    """

    table: Floats
    bias: Floats
    lengths: tuple[float, ...]


class PassSums(NamedTuple):
    """The sums of a pass of `loss_and_gradient`.

    Attributes:
        sums: over all rows.
        gradient: residuals by rows of the table, (rows, W), or (R, C) of the rows asked for.
        total_residual: (C,) over all rows.
        curvature: p (1 - p) summed like `gradient` and `total_residual`; None if not asked for.
        line: (L, 3) loss, slope and curvature at the step lengths of a direction.
    """

    sums: Sums
    gradient: Floats
    total_residual: Floats
    curvature: tuple[Floats, Floats] | None
    line: Floats


class StreamPasses:
    """Passes over the chunks of a data set read in batches. Pickled for other machines, it leaves the chunks behind.

    Args:
        cells: finds, for each data row and tuple, the row of the cell table.
        chunks: the data rows, as codes and classes.
        n_classes: C.
        n_jobs: threads; None for all.
    """

    def __init__(self, cells: CellLookup, chunks: Chunks, n_classes: int, n_jobs: int | None = None):
        self.cells, self.n_classes = cells, n_classes
        self.n_jobs = resolve_jobs(n_jobs)
        n_lanes, self.padded_width = class_widths(n_classes)
        self._chunks, self._lanes = chunks, (0,) * n_lanes

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_chunks": None}

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return self._chunks.n_chunks

    @property
    def n_passes(self) -> int:
        """Number of passes made over these chunks so far, by all objects that share them."""
        return self._chunks.passes

    def count_by_class(self, stop: StopToken = NEVER) -> Floats:
        """Return how many rows of each class look up each row of the table, (rows, C)."""
        return self._chunks.map_reduce(self._count_chunks, add_arrays, self.n_jobs, stop)[0]

    def _count_chunks(self, chunks: Iterable[Any], n_jobs: int, stop: StopToken) -> Parts:
        """Return ((rows, C) counts,) of all chunks.

        Each thread counts some of the tuples; counts are whole numbers, so the sum does not depend on the order of
        rows.
        """
        counts, n_tuples = np.zeros((self.cells.n_rows, self.n_classes)), len(self.cells.first) - 1
        edges = [n_tuples * k // n_jobs for k in range(n_jobs + 1)]
        for codes, y in chunks:
            for span_codes, classes in _spans(codes, y):
                stop.check()
                keys, ones = self.cells.keys(span_codes), np.ones(len(classes))

                def count_tuples(k: int, keys: Any = keys, classes: Any = classes, ones: Any = ones) -> None:
                    row_kernels.count(
                        keys, self.cells.first, classes, ones, counts, 0, len(classes), edges[k], edges[k + 1]
                    )

                run_parts(count_tuples, n_jobs, n_jobs)
        return (counts,)

    def sum_over_chunks(
        self, work: Callable[[Codes, NDArray[np.int32], StopToken, int], Parts], stop: StopToken = NEVER,
        share_chunks: bool = False,
    ) -> Parts:  # fmt: skip
        """Return the sums over all chunks of the arrays that `work` returns for each, always new ones of the same
        shapes.

        `work` may be pickled: a function of a module, a method of this class, or a `partial` of these. Each thread has
        a chunk of its own, or with `share_chunks` all threads work on one chunk after another.
        """
        return self._chunks.map_reduce(partial(_sum_over_chunks, work, share_chunks), add_arrays, self.n_jobs, stop)

    def scores(self, codes: Codes, table: Floats, bias: Floats, pad: float = -np.inf) -> Floats:
        """Return the scores (m, W) of codes (a, m) in memory, for a table (rows, W) and intercepts, bias (C,); pad: of
        unused lanes.
        """
        z = zeros(codes.shape[1], self.padded_width)
        for begin in range(0, len(z), SPAN_ROWS):
            span_codes = np.ascontiguousarray(codes[:, begin : begin + SPAN_ROWS])
            self._forward(
                self.cells.keys(span_codes), table, self._padded_bias(bias, pad), z[begin:], 0, span_codes.shape[1]
            )
        return z

    def loss_and_gradient(
        self, table: Floats, bias: Floats, stop: StopToken = NEVER,
        gradient_cells: CellLookup | None = None, direction: Direction | None = None, with_curvature: bool = False,
        gradient_rows: NDArray[np.int64] | None = None,
    ) -> PassSums:  # fmt: skip
        """Return sums over all rows at the scores of `table` (rows, W) and `bias` (C,).

        Args:
            table, bias: weights of the rows of the table, and the intercepts.
            gradient_cells: cells by whose rows residuals are summed; None for the cells of the passes.
            direction: moves table and bias by the first of its step lengths first.
            with_curvature: whether to sum p (1 - p) too.
            gradient_rows: (R,) the rows of these sums to keep, without pads; with none of them the pass is that of the
                loss alone. None for all.
        """
        if direction is not None:
            direction = replace(direction, bias=self._padded_bias(direction.bias, 0.0))
        work = partial(
            self._chunk_sums, table=table, bias=self._padded_bias(bias, -np.inf), with_curvature=with_curvature,
            direction=direction,
            gradient_cells=self.cells if gradient_cells is None else gradient_cells, gradient_rows=gradient_rows,
        )  # fmt: skip
        sum_bytes = 8 * work.keywords["gradient_cells"].n_rows * self.padded_width * (1 + with_curvature)
        totals, line_losses, *sums_by_rows = self.sum_over_chunks(work, stop, sum_bytes > MIN_SHARED_SUM_BYTES)
        pairs = [(sums_by_rows[k], sums_by_rows[k + 1][: self.n_classes]) for k in range(0, len(sums_by_rows), 2)]
        return PassSums(Sums(*map(float, totals)), *pairs[0], pairs[1] if with_curvature else None, line_losses)

    def adagrad(
        self, table: NDArray[np.float32], eta: float, seed: tuple[int, ...], stop: StopToken = NEVER,
        marks: Collection[int] = (), mark: Callable[[], None] = do_nothing,
    ) -> float:  # fmt: skip
        """Visit all rows once, chunks and the rows in each in an order drawn from `seed`; return the sum of -log p(y).

        Each -log p(y) is that before the row's step, of length `eta`. `table` (cells, parts, W) is moved: see the
        kernel. `mark` is called after each number of rows in `marks`.
        """
        order = np.random.default_rng(seed)
        loss_sum, n_done = 0.0, 0
        self._chunks.passes += 1
        for codes, y in self._chunks.read(order.permutation(self.n_chunks).tolist(), stop):
            chunk_marks = {n_visited - n_done for n_visited in marks}
            loss_sum += self.visit(codes, y, order.permutation(len(y)), table, eta, stop, chunk_marks, mark)
            n_done += len(y)
        return loss_sum

    def visit(
        self, codes: Codes, y: NDArray[np.int32], rows: NDArray[np.int64], table: NDArray[np.float32], eta: float,
        stop: StopToken = NEVER, marks: Collection[int] = (), mark: Callable[[], None] = do_nothing,
    ) -> float:  # fmt: skip
        """Visit `rows` (n,) of codes (a, N) and y (N,) in memory, in their order; return the sum of -log p(y).

        table, eta, marks and mark as in `adagrad`.
        """
        loss_sum = 0.0
        edges = sorted({*range(0, len(rows), _VISIT_ROWS), *(n for n in marks if 0 < n < len(rows)), len(rows)})
        for begin, end in pairwise(edges):
            stop.check()
            visited_rows = rows[begin:end]
            keys = self.cells.keys(np.take(codes, visited_rows, axis=1))
            loss_sum += adagrad_steps(keys, self.cells.first, y[visited_rows], table, self.n_classes, eta)
            if end in marks:
                mark()
        return loss_sum

    def _chunk_sums(
        self, codes: Codes, y: NDArray[np.int32], stop: StopToken, n_jobs: int, table: Floats, bias: Floats,
        gradient_cells: CellLookup, direction: Direction | None, with_curvature: bool,
        gradient_rows: NDArray[np.int64] | None,
    ) -> Parts:  # fmt: skip
        """Return the arrays of `loss_and_gradient` for one chunk, codes (a, m) and classes y (m,).

        They are the sums, the line's losses, then residuals and p (1 - p), each summed by rows of a table and over all
        rows. The other arguments are those of `loss_and_gradient`.
        """
        z, dz, r = (zeros(SPAN_ROWS, self.padded_width) for _ in range(3))
        step_lengths = () if direction is None else direction.lengths
        line_sums = np.zeros((1 + len(step_lengths), SPAN_ROWS // row_kernels.CHUNK_ROWS, 5))
        sums, line = np.zeros(5), np.zeros((len(step_lengths), 3))
        edges = [len(gradient_cells.first[1:]) * k // n_jobs for k in range(n_jobs + 1)]
        part_rows = -(-SPAN_ROWS // n_jobs // row_kernels.CHUNK_ROWS) * row_kernels.CHUNK_ROWS
        has_gradient = gradient_rows is None or len(gradient_rows) > 0
        by_rows = [
            (zeros(has_gradient * gradient_cells.n_rows, self.padded_width), np.zeros(self.padded_width))
            for _ in range(1 + with_curvature)
        ]
        for span_codes, classes in _spans(codes, y):
            stop.check()
            n_rows, keys = len(classes), self.cells.keys(span_codes)
            row_data = (classes, np.ones(n_rows), self.n_classes)
            line_sums[:] = 0.0

            def score(part: int, keys: Any = keys, row_data: Any = row_data, n_rows: int = n_rows) -> None:
                begin, end = part * part_rows, min(n_rows, (part + 1) * part_rows)
                self._forward(keys, table, bias, z, begin, end)
                if direction is not None:
                    self._forward(keys, direction.table, direction.bias, dz, begin, end)
                for k, t in enumerate(step_lengths):
                    NLL.line_eval(z, dz, t, *row_data, line_sums[1 + k], begin, end)
                first_length = step_lengths[0] if step_lengths else 0.0
                NLL.loss_and_residual(z, dz, first_length, z, *row_data, r, True, line_sums[0], begin, end)

            run_parts(score, -(-n_rows // part_rows), n_jobs)
            sums += line_sums[0].sum(axis=0)
            line += line_sums[1:, :, :3].sum(axis=1)
            keys = keys if gradient_cells is self.cells else gradient_cells.keys(span_codes)
            for k, (row_sums, class_sums) in enumerate(by_rows if has_gradient else ()):
                if k:
                    NLL.score_hessian_diagonal(z, r, *row_data, 0, n_rows)

                def add_residuals(
                    tuple_part: int, keys: Any = keys, row_sums: Floats = row_sums, n_rows: int = n_rows
                ) -> None:
                    tuple_range = edges[tuple_part], edges[tuple_part + 1]
                    row_kernels.scatter(
                        keys, gradient_cells.first, r, row_sums, 0, n_rows, *tuple_range, False, self._lanes
                    )

                run_parts(add_residuals, n_jobs, n_jobs)
                class_sums += r[:n_rows].sum(axis=0)
        if gradient_rows is not None:  # cut early: each thread and each level of the tree keeps such a sum
            by_rows = [(row_sums[gradient_rows, : self.n_classes], class_sums) for row_sums, class_sums in by_rows]
        return (sums, line, *(array for pair in by_rows for array in pair))

    def _forward(
        self, keys: NDArray[np.unsignedinteger], table: Floats, bias: Floats, z: Floats, begin: int, end: int
    ) -> None:
        row_kernels.forward(keys, self.cells.first, table, bias, z, begin, end, 0, len(keys), self._lanes)

    def _padded_bias(self, bias: Floats, pad: float) -> Floats:
        padded = np.full(self.padded_width, pad)
        padded[: self.n_classes] = bias
        return padded


def _sum_over_chunks(work: Any, share_chunks: bool, chunks: Iterable[Any], n_jobs: int, stop: StopToken) -> Parts:
    """Return the sums over all chunks of the arrays that `work(*chunk, stop, n_threads)` returns.

    With `share_chunks` one chunk after another gets all `n_jobs` threads; otherwise `n_jobs` chunks at a time get one.
    """
    n_together, threads_each = (1, n_jobs) if share_chunks else (n_jobs, 1)

    def chunk_sums() -> Iterator[Parts]:
        source = iter(chunks)
        while group := list(islice(source, n_together)):
            sums: list[Any] = [None] * len(group)

            def part(k: int, group: Any = group, sums: Any = sums) -> None:
                sums[k] = work(*group[k], stop, threads_each)

            run_parts(part, len(group), n_together)
            sums.reverse()
            while sums:  # popped, so that a sum is freed once it is added
                yield sums.pop()

    return tree_sum(chunk_sums())


def _spans(codes: Codes, y: NDArray[np.int32]) -> Iterator[tuple[Codes, NDArray[np.int32]]]:
    for begin in range(0, len(y), SPAN_ROWS):
        yield np.ascontiguousarray(codes[:, begin : begin + SPAN_ROWS]), y[begin : begin + SPAN_ROWS]


def step_table(
    rows: int, padded_width: int, cell_rows: NDArray[np.int64], scale: Floats, w: NDArray[np.floating],
    penalty: Floats | None, center: Floats | None,
) -> NDArray[np.float32]:  # fmt: skip
    """Return the table that AdaGrad moves, (rows + 2, parts, W), with G = 0; padded_width is W.

    `scale`, `w` and, with a penalty, `penalty` and `center` (R, C) stand in the rows cell_rows (R,), the last of which
    is that of the intercepts; other rows add nothing. A center of 0 takes no part.
    """
    centered = penalty is not None and center is not None and bool(center.any())
    table, classes = single_table(rows, 3 + (penalty is not None) + centered, padded_width), scale.shape[1]
    table[cell_rows, adagrad_kernels.SCALE, :classes] = scale
    table[cell_rows, adagrad_kernels.WEIGHT, :classes] = w
    if penalty is not None:
        table[cell_rows, adagrad_kernels.PULL, :classes] = penalty
    if centered:
        table[cell_rows, adagrad_kernels.CENTER, :classes] = center
    return table


def single_table(rows: int, parts: int, padded_width: int) -> NDArray[np.float32]:
    """Return zeros (rows + 2, parts, W) in single precision that begin at a cache line; padded_width is W.

    For few classes three parts are padded to four and three classes to four, so that a cell lies in one cache line.
    """
    padded_width += padded_width == 3
    parts += parts == 3 and padded_width <= 4
    return allocate_aligned(np.zeros, (rows + 2, parts, padded_width), np.float32)


def adagrad_steps(
    keys: NDArray[np.unsignedinteger], first: NDArray[np.int64], y: NDArray[np.int32], table: NDArray[np.float32],
    n_classes: int, eta: float,
) -> float:  # fmt: skip
    """Take AdaGrad's steps of length `eta` row by row; return the sum of -log p(y), each before its row's step.

    Row i, of class y[i], looks up table[first[t] + keys[t, i]] of each tuple t; table (rows, parts, W) is moved.
    """
    penalty_parts = (0,) * (table.shape[1] - adagrad_kernels.PULL)
    loss_sum = adagrad_kernels.adagrad(
        keys, first, y, table, n_classes, np.float32(eta), lanes_of_table(table), penalty_parts
    )
    return float(loss_sum)
