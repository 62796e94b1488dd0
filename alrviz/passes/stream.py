"""Passes over rows that come in chunks, of which nothing is kept but sums.

    cells = DenseCells(levels, order)        a row of a table for every possible cell, where these are few enough
    cells = SeenCells(index)                 a row for every cell that occurs, found by its hash
    passes = StreamPasses(cells, chunks, n_classes)
    passes.count()                           counts (rows of the table, C)
    passes.loss_and_gradient(table, bias)    sums over rows, and sums of residuals (rows of the table, W); along a line
                                             losses at some lengths too
    passes.adagrad(table, eta, order)        steps, row by row

`chunks.read(order, stop)` yields codes (a, m) and classes (m,). Sums are made chunk by chunk and added in a tree by the
chunks' numbers, FANOUT neighbours at a time: the bits are the same for any number of threads and of machines, and for
rows in memory or in a file.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import islice, pairwise
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import adagrad as adagrad_kernels
from alrviz.kernels import cells as cell_kernels
from alrviz.kernels import rows as row_kernels
from alrviz.passes.aligned_buffers import Floats, lanes_of, width_of, zeros
from alrviz.passes.losses import NLL, Loss
from alrviz.passes.rows import Sums, as_compiled
from alrviz.passes.threads import resolve_jobs, share
from alrviz.stop import NEVER, StopToken

Codes = NDArray[np.unsignedinteger]
Read = Callable[[Sequence[int] | None, StopToken], Iterable[tuple[Codes, NDArray[np.int32]]]]
Parts = tuple[NDArray[Any], ...]
Found = TypeVar("Found")
# Of some chunks, threads and a stop token, what a pass makes of them; it is sent to other machines as it is.
Work = Callable[[Iterable[tuple[Codes, NDArray[np.int32]]], int, StopToken], Found]
FANOUT = 4  # sums of so many neighbours are one: a tree of log4(chunks) sums at a time
SPAN = 8192  # rows whose keys and scores are at hand at once
# Bytes of sums beyond which threads share one chunk, not each has its own: memory does not grow with their number.
LARGE = 2**25
# Rows whose keys are at hand at once in a pass of steps; no power of two, by which the keys of a row would fall on one
# another in the cache.
_VISITED = 1000


def nothing() -> None:
    """Do nothing."""


class Chunks(Protocol):
    """The chunks of a table's rows.

    Attributes:
        number: how many there are.
        passes: how often all were gone over, to sum or to take steps.
    """

    number: int
    passes: int

    def read(self, order: Sequence[int] | None = None, stop: StopToken = NEVER) -> Iterable[Any]:
        """Yield codes (a, m) and classes (m,) of the chunks, in their own order or in another."""

    def over(
        self, work: Work[Found], combine: Callable[[Sequence[Found]], Found], n_jobs: int, stop: StopToken
    ) -> Found:
        """Return what `work` makes of all chunks, or of FANOUT^k neighbours at a time, FANOUT of which are combined."""


class OwnChunks:
    """Chunks that this process reads by itself; see `Chunks`."""

    def __init__(self, read: Read, number: int):
        self._read, self.number, self.passes = read, number, 0

    def read(self, order: Sequence[int] | None = None, stop: StopToken = NEVER) -> Iterable[Any]:
        """As `Chunks` says."""
        return self._read(order, stop)

    def over(
        self, work: Work[Found], combine: Callable[[Sequence[Found]], Found], n_jobs: int, stop: StopToken
    ) -> Found:
        """As `Chunks` says: all at once."""
        self.passes += 1
        return work(self.read(None, stop), n_jobs, stop)


def added(parts: Sequence[Parts]) -> Parts:
    """Return the sums of arrays that belong together, the first of the first with the first of the others."""
    return tuple(reduce(np.add, own) for own in zip(*parts, strict=True))


def union(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return what is in any of some sorted arrays (S,), each once, sorted (S,)."""
    return reduce(np.union1d, parts)


def tree_sum(found: Iterable[Parts]) -> Parts:
    """Return the sums of one at least, which are added to: FANOUT neighbours, FANOUT such sums, and so on.

    What is left over at the end is a node of fewer, so that sums of FANOUT^k neighbours, made elsewhere from a multiple
    of FANOUT^k on, are nodes of the same tree.
    """
    total = _node(iter(found), 64)
    assert total is not None
    return total


def _node(source: Iterator[Parts], level: int) -> Parts | None:
    """The sum of the next FANOUT^level, or of as many as there are; None where there is none."""
    total = next(source, None)
    if total is None:
        return None
    for below in range(level):
        for _ in range(FANOUT - 1):
            if (more := _node(source, below)) is None:
                return total
            _add(total, more)
    return total


def _add(to: Parts, more: Parts) -> Parts:
    for own, other in zip(to, more, strict=True):
        own += other
    return to


class CellLookup(Protocol):
    """Which rows of a table the rows of codes look up, one of each tuple.

    Attributes:
        n_rows: rows of the table.
        first: (T + 1,) what is added to the keys of a tuple.
    """

    n_rows: int
    first: NDArray[np.int64]

    def keys(self, codes: Codes) -> NDArray[np.unsignedinteger]:
        """Return (T, m) for codes (a, m), uint16 or uint32: with `first`, rows of the table."""


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
        self._kind = np.uint16 if int(np.diff(first).max(initial=0)) <= 2**16 else np.uint32

    def keys(self, codes: Codes) -> NDArray[np.unsignedinteger]:
        """As `CellLookup` says."""
        out = np.empty((len(self._tuples), codes.shape[1]), self._kind)
        cell_kernels.dense_keys(codes, self._tuples, self._levels, out)
        return out


class SeenCells:
    """A row of the table for every cell that occurs, behind two of each tuple; see models/index.py.

    Args:
        locate: of codes and a range of rows to rows of the table (m, T).
        n_rows: rows of the table.
        n_tuples: T.
    """

    def __init__(self, locate: Callable[[Codes, int, int], NDArray[np.uint32]], n_rows: int, n_tuples: int):
        self.n_rows, self.first = n_rows, np.zeros(n_tuples + 1, np.int64)
        self._locate = locate

    def keys(self, codes: Codes) -> NDArray[np.unsignedinteger]:
        """As `CellLookup` says."""
        return np.ascontiguousarray(self._locate(as_compiled(codes), 0, codes.shape[1]).T)


@dataclass(frozen=True, eq=False)
class Way:
    """A direction that a table and a bias are moved along.

    Attributes:
        table, bias: their change, (rows, W) and (C,).
        lengths: (L,) at which the loss is wanted; at the first of them also its gradient.
    """

    table: Floats
    bias: Floats
    lengths: tuple[float, ...]


class Gathered(NamedTuple):
    """What a pass of `loss_and_gradient` sums.

    Attributes:
        sums: over all rows.
        gradient, over: residuals by rows of the table, (rows, W), or (R, C) of those asked for; and of all rows, (C,).
        bent: p (1 - p) likewise; None where not asked for.
        along: (L, 3) loss, slope and curvature at the lengths of a way.
    """

    sums: Sums
    gradient: Floats
    over: Floats
    bent: tuple[Floats, Floats] | None
    along: Floats


class StreamPasses:
    """Passes over the chunks of a table. Sent to other machines it leaves the chunks behind.

    Args:
        cells: which rows of tables its rows look up.
        chunks: the rows.
        n_classes: C.
        n_jobs: threads; None for all.
    """

    def __init__(self, cells: CellLookup, chunks: Chunks, n_classes: int, n_jobs: int | None = None):
        self.cells, self.n_classes = cells, n_classes
        self.n_jobs = resolve_jobs(n_jobs)
        lanes, self.padded = lanes_of(n_classes)
        self._chunks, self._width = chunks, (0,) * lanes

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_chunks": None}

    @property
    def n_chunks(self) -> int:
        """How many chunks there are."""
        return self._chunks.number

    @property
    def made(self) -> int:
        """How many passes were made over these chunks, by whomever."""
        return self._chunks.passes

    def count(self, stop: StopToken = NEVER) -> Floats:
        """Return how many rows of each class look up each row of the table, (rows, C)."""
        return self._chunks.over(self._counted, added, self.n_jobs, stop)[0]

    def _counted(self, chunks: Iterable[Any], n_jobs: int, stop: StopToken) -> Parts:
        """Whole numbers add up to the same in any order, so that all chunks are counted in one table."""
        counts, tuples = np.zeros((self.cells.n_rows, self.n_classes)), len(self.cells.first) - 1
        edges = [tuples * k // n_jobs for k in range(n_jobs + 1)]
        for codes, y in chunks:
            for own, classes in _spans(codes, y):
                stop.check()
                keys, ones = self.cells.keys(own), np.ones(len(classes))

                def part(k: int, keys: Any = keys, classes: Any = classes, ones: Any = ones) -> None:
                    row_kernels.count(
                        keys, self.cells.first, classes, ones, counts, 0, len(classes), edges[k], edges[k + 1]
                    )

                share(part, n_jobs, n_jobs)
        return (counts,)

    def summed(
        self, work: Callable[[Codes, NDArray[np.int32], StopToken, int], Parts], stop: StopToken = NEVER,
        shared: bool = False,
    ) -> Parts:  # fmt: skip
        """Return the sums over all chunks of what `work` makes of each, new arrays of the same shapes every time.

        `work` is sent to where the chunks are: a function of a module, a method of this class, or a `partial` of these.
        Each chunk has a thread of its own, or all have one chunk after another if these are `shared`.
        """
        return self._chunks.over(partial(_summed, work, shared), added, self.n_jobs, stop)

    def scores(self, codes: Codes, table: Floats, bias: Floats, pad: float = -np.inf) -> Floats:
        """Return the scores (m, W) of codes, in memory, for a table (rows, W) and b (C,)."""
        z = zeros(codes.shape[1], self.padded)
        for begin in range(0, len(z), SPAN):
            own = np.ascontiguousarray(codes[:, begin : begin + SPAN])
            self._forward(self.cells.keys(own), table, self._bias(bias, pad), z[begin:], 0, own.shape[1])
        return z

    def loss_and_gradient(
        self, table: Floats, bias: Floats, stop: StopToken = NEVER, loss: Loss = NLL, onto: CellLookup | None = None,
        way: Way | None = None, bends: bool = False, at: NDArray[np.int64] | None = None,
    ) -> Gathered:  # fmt: skip
        """Return sums over all rows at the scores that `table` (rows, W) and `bias` (C,) make, or that they make once
        they have gone the first length of a `way`. Residuals are summed by rows of the table, or of the cells `onto`;
        p (1 - p) too if it `bends`. Rows `at` (R,) of these sums alone are kept and sent, without pads; with none of
        them the pass is that of the loss alone.
        """
        work = partial(
            self._gathered, table=table, bias=self._bias(bias, -np.inf), loss=loss, bends=bends,
            way=None if way is None else Way(way.table, self._bias(way.bias, 0.0), way.lengths),
            onto=self.cells if onto is None else onto, at=at,
        )  # fmt: skip
        sums = 8 * work.keywords["onto"].n_rows * self.padded * (1 + bends)
        totals, along, *found = self.summed(work, stop, sums > LARGE)
        of = [(found[k], found[k + 1][: self.n_classes]) for k in range(0, len(found), 2)]
        return Gathered(Sums(*map(float, totals)), *of[0], of[1] if bends else None, along)

    def adagrad(
        self, table: NDArray[np.float32], eta: float, seed: tuple[int, ...], stop: StopToken = NEVER,
        marks: Collection[int] = (), mark: Callable[[], None] = nothing,
    ) -> float:  # fmt: skip
        """Visit all rows once, chunks and the rows in each in an order drawn from `seed`.

        `table` (cells, parts, W) is moved: see the kernel. `mark` is called after so many rows as `marks` say.

        Return the sum of -log p(y), each as its row was met.
        """
        order = np.random.default_rng(seed)
        total, done = 0.0, 0
        self._chunks.passes += 1
        for codes, y in self._chunks.read(order.permutation(self.n_chunks).tolist(), stop):
            here = {place - done for place in marks}
            total += self.visit(codes, y, order.permutation(len(y)), table, eta, stop, here, mark)
            done += len(y)
        return total

    def visit(
        self, codes: Codes, y: NDArray[np.int32], rows: NDArray[np.int64], table: NDArray[np.float32], eta: float,
        stop: StopToken = NEVER, marks: Collection[int] = (), mark: Callable[[], None] = nothing,
    ) -> float:  # fmt: skip
        """Visit `rows` (n,) of codes (a, N) and y (N,) in memory, in their order; `marks` as above."""
        total = 0.0
        edges = sorted(
            {*range(0, len(rows), _VISITED), *(place for place in marks if 0 < place < len(rows)), len(rows)}
        )
        for begin, end in pairwise(edges):
            stop.check()
            own = rows[begin:end]
            keys = self.cells.keys(np.take(codes, own, axis=1))
            total += visited(keys, self.cells.first, y[own], table, self.n_classes, eta)
            if end in marks:
                mark()
        return total

    def _gathered(
        self, codes: Codes, y: NDArray[np.int32], stop: StopToken, n_jobs: int, table: Floats, bias: Floats,
        loss: Loss, onto: CellLookup, way: Way | None, bends: bool, at: NDArray[np.int64] | None,
    ) -> Parts:  # fmt: skip
        """Return of a chunk the sums, those along the way, and for residuals, then p (1 - p), the sums by rows of a
        table and over all rows.
        """
        z, dz, r = (zeros(SPAN, self.padded) for _ in range(3))
        lengths = () if way is None else way.lengths
        parts = np.zeros((1 + len(lengths), SPAN // row_kernels.CHUNK_ROWS, 5))
        sums, along = np.zeros(5), np.zeros((len(lengths), 3))
        edges = [len(onto.first[1:]) * k // n_jobs for k in range(n_jobs + 1)]
        step = -(-SPAN // n_jobs // row_kernels.CHUNK_ROWS) * row_kernels.CHUNK_ROWS
        wanted = at is None or len(at) > 0
        found = [(zeros(wanted * onto.n_rows, self.padded), np.zeros(self.padded)) for _ in range(1 + bends)]
        for own, classes in _spans(codes, y):
            stop.check()
            m, keys = len(classes), self.cells.keys(own)
            rows = (classes, np.ones(m), self.n_classes)
            parts[:] = 0.0

            def score(part: int, keys: Any = keys, rows: Any = rows, m: int = m) -> None:
                begin, end = part * step, min(m, (part + 1) * step)
                self._forward(keys, table, bias, z, begin, end)
                if way is not None:
                    self._forward(keys, way.table, way.bias, dz, begin, end)
                for k, t in enumerate(lengths):
                    loss.line_eval(z, dz, t, *rows, parts[1 + k], begin, end)
                first = lengths[0] if lengths else 0.0
                loss.loss_and_residual(z, dz, first, z, *rows, r, True, parts[0], begin, end)

            share(score, -(-m // step), n_jobs)
            sums += parts[0].sum(axis=0)
            along += parts[1:, :, :3].sum(axis=1)
            keys = keys if onto is self.cells else onto.keys(own)
            for k, (summed, over) in enumerate(found if wanted else ()):
                if k:
                    loss.diagonal(z, r, *rows, 0, m)

                def scatter(part: int, keys: Any = keys, summed: Floats = summed, m: int = m) -> None:
                    own = edges[part], edges[part + 1]
                    row_kernels.scatter(keys, onto.first, r, summed, 0, m, *own, False, self._width)

                share(scatter, n_jobs, n_jobs)
                over += r[:m].sum(axis=0)
        if at is not None:  # several such sums are held at a time, for each thread and level of their tree
            found = [(summed[at, : self.n_classes], over) for summed, over in found]
        return (sums, along, *(part for each in found for part in each))

    def _forward(
        self, keys: NDArray[np.unsignedinteger], table: Floats, bias: Floats, z: Floats, begin: int, end: int
    ) -> None:
        row_kernels.forward(keys, self.cells.first, table, bias, z, begin, end, 0, len(keys), self._width)

    def _bias(self, bias: Floats, pad: float) -> Floats:
        padded = np.full(self.padded, pad)
        padded[: self.n_classes] = bias
        return padded


def _summed(work: Any, shared: bool, chunks: Iterable[Any], n_jobs: int, stop: StopToken) -> Parts:
    """The sums of what `work` makes of each chunk, as many at a time as there are threads, or one by all."""
    together, each = (1, n_jobs) if shared else (n_jobs, 1)

    def found() -> Iterator[Parts]:
        source = iter(chunks)
        while group := list(islice(source, together)):
            made: list[Any] = [None] * len(group)

            def part(k: int, group: Any = group, made: Any = made) -> None:
                made[k] = work(*group[k], stop, each)

            share(part, len(group), together)
            made.reverse()
            while made:  # none is held here once it is added
                yield made.pop()

    return tree_sum(found())


def _spans(codes: Codes, y: NDArray[np.int32]) -> Iterator[tuple[Codes, NDArray[np.int32]]]:
    for begin in range(0, len(y), SPAN):
        yield np.ascontiguousarray(codes[:, begin : begin + SPAN]), y[begin : begin + SPAN]


def step_table(
    rows: int, padded: int, at: NDArray[np.int64], scale: Floats, w: NDArray[np.floating], pull: Floats | None,
    center: Floats | None,
) -> NDArray[np.float32]:  # fmt: skip
    """Return what AdaGrad moves, with G of 0: scale, w and, with a penalty, pull and center (R, C) in rows `at` (R,) of
    (rows + 2, parts, W), the last of which is that of b; the others add nothing. A center of 0 takes no room.
    """
    centered = pull is not None and center is not None and bool(center.any())
    table, classes = single_table(rows, 3 + (pull is not None) + centered, padded), scale.shape[1]
    table[at, adagrad_kernels.SCALE, :classes] = scale
    table[at, adagrad_kernels.WEIGHT, :classes] = w
    if pull is not None:
        table[at, adagrad_kernels.PULL, :classes] = pull
    if centered:
        table[at, adagrad_kernels.CENTER, :classes] = center
    return table


def single_table(rows: int, parts: int, padded: int) -> NDArray[np.float32]:
    """Return zeros (rows + 2, parts, W) in single precision, from the start of a cache line on.

    A cell of few classes lies in one line: three parts take the room of four, and three classes that of four.
    """
    padded += padded == 3
    parts += parts == 3 and padded <= 4
    size = (rows + 2) * parts * padded
    raw = np.zeros(size + 16, np.float32)
    skip = -raw.ctypes.data % 64 // 4
    return raw[skip : skip + size].reshape(rows + 2, parts, padded)


def visited(
    keys: NDArray[np.unsignedinteger], first: NDArray[np.int64], y: NDArray[np.int32], table: NDArray[np.float32],
    n_classes: int, eta: float,
) -> float:  # fmt: skip
    """Take AdaGrad's steps from row to row, keys (T, m) and classes (m,), and return the sum of -log p(y), each as its
    row was met; see the kernel.
    """
    pulled = (0,) * (table.shape[1] - adagrad_kernels.PULL)
    found = adagrad_kernels.adagrad(keys, first, y, table, n_classes, np.float32(eta), width_of(table), pulled)
    return float(found)
