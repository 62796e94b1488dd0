"""AnDE, averaged n-dependence estimators: every tuple of n columns in turn is the parent of all other columns.

    p(k, x) = mean over tuples t of  p(x_t, k) * product over columns j outside t of  p(x_j | x_t, k)
    p(x_t, k) = (N(x_t, k) + m / (C card(t))) / (N + m)

over the tuples whose cell some training row has; p(x_j | x_t, k) as in `networks`. A row that shares no cell with any
training row is scored by naive Bayes, which is n = 0. Training rows have a level in every column (a missing value is
one), new rows need not.                                                                       (Webb et al. 2005, 2012)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import averages as kernels
from alrviz.kernels import rows as row_kernels
from alrviz.kernels.scores import MIN_SCORE, add_exponentials
from alrviz.models.cell_space import AnySpace
from alrviz.models.index import CellIndex
from alrviz.models.joint_values import Codes
from alrviz.models.networks import NetworkModel
from alrviz.models.tables import Tables
from alrviz.passes.aligned_buffers import Floats, class_widths, empty, zeros
from alrviz.passes.rows import as_kernel_codes
from alrviz.passes.threads import resolve_jobs, run_parts
from alrviz.stop import NEVER, StopToken

# Factors in one call of the kernel: about 20 ms of eight classes.
_FACTORS = 500_000
# Columns are taken together up to so many joint values. Rows that tables are made for once, rows in one call of a
# kernel, and bytes of tables that are held together: more would not stay in a core's cache.
_TOGETHER, _BATCH, _ROWS, _TABLES = 32, 2**17, 2**12, 2**25


@dataclass(eq=False, repr=False)
class AverageModel:
    """Scores rows of codes by the mean over super-parents.

    Attributes:
        parents: tables of order n.
        cells: tables of order n + 1.
        naive: naive Bayes on the same rows.
    """

    parents: Tables
    cells: Tables
    naive: NetworkModel

    def __repr__(self) -> str:
        return f"<AverageModel of {self.parents.space.n_tuples:,} networks, {self.n_classes} classes>"

    @property
    def n_classes(self) -> int:
        """C."""
        return self.naive.n_classes

    def networks(self, codes: NDArray[np.unsignedinteger]) -> Floats:
        """Return each network's log p(k, x), (N, T, C), -inf where no training row has the parents' cell.

        The scores of a row are the log of the mean of their exponentials over the networks that are finite.
        """
        codes = as_kernel_codes(codes)
        low, high, larger, joint = self._prepared()
        n, n_tuples = codes.shape[1], self.parents.space.n_tuples
        found, wider = low.locate(codes, 0, n), high.locate(codes, 0, n)
        out = np.empty((n, n_tuples, self.n_classes))
        for t in range(n_tuples):
            z = np.empty((n, self.n_classes))
            # Numbered as where there is no other tuple: what was not seen stays below the cells.
            own = np.maximum(found[:, t : t + 1].astype(np.int64) - 2 * n_tuples + 2, 0).astype(found.dtype)
            self._average(own, wider, codes, 0, larger[t : t + 1], joint, z)
            out[:, t] = z
        return out

    def scores(self, codes: NDArray[np.unsignedinteger], n_jobs: int | None = None, stop: StopToken = NEVER) -> Floats:
        """Return the class scores (N, C), log p(k, x), of codes (a, N); a code >= levels[column] is no level."""
        codes, jobs = as_kernel_codes(codes), resolve_jobs(n_jobs)
        z = np.empty((codes.shape[1], self.n_classes))
        for begin in range(0, len(z), _BATCH):
            rows = codes if len(z) <= _BATCH else as_kernel_codes(codes[:, begin : begin + _BATCH])
            groups = _Groups.of(rows, self.parents.space.levels)
            score = self._by_parent if self._expands(rows.shape[1], groups) else self._by_row
            score(rows, groups, z[begin : begin + _BATCH], jobs, stop)
        strange = np.isneginf(z).all(axis=1)
        if strange.any():
            z[strange] = self.naive.scores(codes[:, strange], n_jobs, stop)
        return z

    def _by_row(self, codes: Codes, groups: "_Groups", z: Floats, jobs: int, stop: StopToken) -> None:
        """Write the scores (n, C) to z: for few rows."""
        low, high, larger, joint = self._prepared()
        chunk = max(1, _FACTORS // larger.size)

        def part(k: int) -> None:
            stop.check()
            begin, end = k * chunk, min(len(z), (k + 1) * chunk)
            found, wider = low.locate(codes, begin, end), high.locate(codes, begin, end)
            self._average(found, wider, codes, begin, larger, joint, z[begin:end])

        run_parts(part, -(-len(z) // chunk), jobs)

    def _expands(self, n: int, groups: "_Groups") -> bool:
        """Whether so many rows are more work than a table for every parent, none of which is too large."""
        cells, values = np.diff(self._prepared()[0].begin), int(groups.values.sum()) + 1
        few = values * cells.sum() < n * len(cells) * len(groups.widths)
        return few and 8 * class_widths(self.n_classes)[1] * values * int(cells.max() + 1) <= _TABLES

    def _by_parent(self, codes: Codes, groups: "_Groups", z: Floats, jobs: int, stop: StopToken) -> None:
        """Write the scores (n, C) to z parent by parent: a table of its cells with all that rows may hold, and the rows
        by that.
        """
        low, n = self._prepared()[0], len(z)
        (lanes, padded), of_groups, values = class_widths(self.n_classes), groups.keys(codes), groups.values
        sizes = np.diff(low.begin) + 1  # and a cell for rows that lie in none
        blocks = sizes[:, None] * np.cumsum([0, 1, *values])
        tables: dict[int, Floats] = {}
        index = _index(low)
        top, total, seen = np.full((n, padded), MIN_SCORE), zeros(n, padded), np.zeros(n)

        def expand(t: int) -> None:
            stop.check()
            tables[t] = empty(int(blocks[t, -1]), padded)
            self._expand(t, groups, blocks[t], tables[t])

        def add(begin: int, parents: range) -> None:
            end = min(n, begin + _ROWS)
            keys, v = np.empty((len(values) + 1, end - begin), np.uint32), empty(end - begin, padded)
            for t in parents:
                stop.check()
                kernels.parent_keys(
                    codes, begin, end, index, t, low.space.levels, low.begin[t], sizes[t] - 1, values, of_groups, keys
                )
                row_kernels.forward(
                    keys, blocks[t], tables[t], np.zeros(padded), v, 0, len(v), 0, len(keys), (0,) * lanes
                )
                add_exponentials(v.ravel(), top[begin:end].ravel(), total[begin:end].ravel())
                seen[begin:end] += keys[0] < sizes[t] - 1

        for parents in _pieces(blocks[:, -1] * 8 * padded):
            run_parts(lambda k, parents=parents: expand(parents[k]), len(parents), jobs)  # type: ignore[misc]
            run_parts(lambda k, parents=parents: add(k * _ROWS, parents), -(-n // _ROWS), jobs)  # type: ignore[misc]
            tables.clear()
        with np.errstate(divide="ignore"):
            z[:] = (top + np.log(total / np.maximum(seen, 1.0)[:, None]))[:, : self.n_classes]
        z[(top == MIN_SCORE)[:, : self.n_classes]] = -np.inf

    def _expand(self, t: int, groups: "_Groups", blocks: NDArray[np.int64], table: Floats) -> None:
        """Write parent t's table."""
        low, high, larger, joint = self._prepared()
        cells = slice(low.begin[t], low.begin[t + 1])
        kernels.expand_parent(
            low.space.tuples[t], low.space.codes_of(self.parents.seen[cells]),
            self._counted(self.parents.counts[cells], joint[cells]), larger[t], _index(high), low.space.levels,
            kernels.Groups(groups.at, groups.members, groups.widths), blocks, table,
        )  # fmt: skip

    def _average(
        self,
        found: NDArray[np.integer],
        wider: NDArray[np.integer],
        codes: NDArray[np.unsignedinteger],
        begin: int,
        larger: NDArray[np.int64],
        joint: Floats,
        z: Floats,
    ) -> None:
        """Write to z the scores of rows begin, begin + 1, ...: the mean over the tuples of `found` and `larger`."""
        kernels.score(found, wider, codes, begin, larger, self._counted(self.parents.counts, joint), z)

    def _counted(self, counts: Floats, joint: Floats) -> kernels.Counts:
        smoothing, levels = self.parents.smoothing, self.parents.space.levels
        first = np.concatenate([[0], np.cumsum(levels)])
        shares = smoothing / self.naive.cards
        return kernels.Counts(counts, joint, self.cells.counts, shares, smoothing, self.naive.alone, first)

    def _prepared(self) -> tuple[CellIndex[AnySpace], CellIndex[AnySpace], NDArray[np.int64], Floats]:
        """Both indexes, which tuple a tuple and a column make, and log p(cell, class); kept until it is pickled."""
        cached = self.__dict__.get("_cached")
        if cached is None:
            parents, cells = self.parents, self.cells
            joint = np.log(
                parents.counts + (parents.smoothing / self.n_classes / parents.cards)[parents.tuple_of_seen][:, None]
            )
            joint -= np.log(parents.class_counts.sum() + parents.smoothing)
            cached = self.__dict__["_cached"] = (
                CellIndex.of_seen(parents.space, parents.seen),
                CellIndex.of_seen(cells.space, cells.seen),
                _larger(parents.space, cells.space),
                joint,
            )
        return cached

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_cached"}


@dataclass(frozen=True, eq=False)
class _Groups:
    """Columns of few levels taken together: one look-up for all of a group, whatever the parent.

    Attributes:
        members: (a,) the columns, group after group.
        at: (G + 1,) where each group's begin.
        widths: (a,) codes of each column: its levels, and one more where some row has none.
        values: (G,) joint values of each group.
    """

    members: NDArray[np.int64]
    at: NDArray[np.int64]
    widths: NDArray[np.int64]
    values: NDArray[np.int64]

    @classmethod
    def of(cls, codes: Codes, levels: NDArray[np.int64]) -> "_Groups":
        """Return the groups for rows of codes (a, n)."""
        widths = levels + (codes >= levels[:, None]).any(axis=1)
        members, values, sizes = np.argsort(widths, kind="stable"), [1], [0]
        for width in widths[members].tolist():
            if sizes[-1] and values[-1] * width > _TOGETHER:
                values, sizes = [*values, 1], [*sizes, 0]
            values[-1], sizes[-1] = values[-1] * width, sizes[-1] + 1
        return cls(members, np.cumsum([0, *sizes]), widths, np.array(values))

    def keys(self, codes: Codes) -> NDArray[np.uint32]:
        """Return the joint value (G, n) that each row of codes (a, n) has in each group, the last column fastest."""
        keys = np.zeros((len(self.values), codes.shape[1]), np.uint32)
        for key, begin, end in zip(keys, self.at[:-1], self.at[1:], strict=True):
            for j in self.members[begin:end]:
                key *= np.uint32(self.widths[j])
                key += np.minimum(codes[j], self.widths[j] - 1).astype(np.uint32)
        return keys


def _index(of: CellIndex[AnySpace]) -> kernels.Index:
    return kernels.Index(of.space.tuples, of.space.strides, of.where, of.mask, of.shift, of.slots, of.held)


def _pieces(sizes: NDArray[np.int64]) -> Iterator[range]:
    """Yield ranges whose sizes sum up to at most _TABLES each, or one whose own is larger."""
    begin, held = 0, 0
    for t, size in enumerate(sizes.tolist()):
        if t > begin and held + size > _TABLES:
            yield range(begin, t)
            begin, held = t, 0
        held += size
    yield range(begin, len(sizes))


def _larger(space: AnySpace, wider: AnySpace) -> NDArray[np.int64]:
    """(T, a) the tuple of `wider`, one order above `space`, that a tuple and a column make; -1 for its own columns.

    Both have all ascending tuples in the order of a dictionary, so that their places in base a ascend.
    """
    larger = np.full((space.n_tuples, len(space.levels)), -1, np.int64)
    base = len(space.levels) ** np.arange(space.order - 1, -1, -1)
    places, every = space.tuples @ base, np.arange(wider.n_tuples)
    for k in range(wider.order):
        rest = np.delete(wider.tuples, k, axis=1)
        larger[np.searchsorted(places, rest @ base), wider.tuples[:, k]] = every
    return larger
