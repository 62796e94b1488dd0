"""AnDE, averaged n-dependence estimators: every tuple of n columns in turn is the parent of all other columns.

    p(k, x) = mean over tuples t of  p(x_t, k) * product over columns j outside t of  p(x_j | x_t, k)
    p(x_t, k) = (N(x_t, k) + m / (C card(t))) / (N + m)

The mean is over the tuples whose cell some training row has; p(x_j | x_t, k) as in `networks`. A row that shares no
cell with any training row is scored by the averages of n - 1 columns, at last by naive Bayes, which is n = 0. Training
rows have a level in every column (a missing value is one), new rows need not.                 (Webb et al. 2005, 2012)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from alrviz.kernels import averages as kernels
from alrviz.kernels import rows as row_kernels
from alrviz.kernels.scores import MIN_SCORE, add_exponentials
from alrviz.models.cell_space import AnySpace, CellSpace
from alrviz.models.index import CellIndex
from alrviz.models.joint_values import Codes
from alrviz.models.linear import LinearModel
from alrviz.models.networks import NetworkModel
from alrviz.models.tables import FieldsInPickles, Tables
from alrviz.passes.aligned_buffers import Floats, class_widths, empty, zeros
from alrviz.passes.rows import as_kernel_codes
from alrviz.passes.threads import resolve_jobs, run_parts
from alrviz.stop import NEVER, StopToken

# Factors in one call of the kernel: about 20 ms of eight classes.
_FACTORS_PER_CALL = 500_000
# Joint values of a group of columns; rows for which tables are made once; rows in one call of a kernel; and bytes of
# tables that are kept at once: more would not stay in a core's cache.
_MAX_GROUP_VALUES, _ROWS_PER_BATCH, _ROWS_PER_CALL, _MAX_TABLE_BYTES = 32, 2**17, 2**12, 2**25


@dataclass(eq=False, repr=False)
class AverageModel(FieldsInPickles):
    """Scores rows of codes by the mean over super-parents.

    Attributes:
        parents: tables of order n.
        cells: tables of order n + 1.
        naive_bayes: naive Bayes on the same rows.
    """

    parents: Tables
    cells: Tables
    naive_bayes: NetworkModel

    def __repr__(self) -> str:
        return f"<AverageModel of {self.parents.space.n_tuples:,} networks, {self.n_classes} classes>"

    @property
    def n_classes(self) -> int:
        """C."""
        return self.naive_bayes.n_classes

    def networks(self, codes: NDArray[np.unsignedinteger]) -> Floats:
        """Return each network's log p(k, x), (N, T, C), of rows of codes (a, N); -inf where training never saw the
        parents' cell.

        The scores of a row are the log of the mean of their exponentials over the networks that are finite.
        """
        codes = as_kernel_codes(codes)
        parent_index, cell_index, larger_tuples, counts = self._indexes
        n, n_tuples = codes.shape[1], self.parents.space.n_tuples
        cell_rows, larger_rows = parent_index.locate(codes, 0, n), cell_index.locate(codes, 0, n)
        network_scores = np.empty((n, n_tuples, self.n_classes))
        for t in range(n_tuples):
            z = np.empty((n, self.n_classes))
            # Renumbered as in an index of this tuple alone; rows of cells that were not seen stay below 2.
            parent_rows = np.maximum(cell_rows[:, t : t + 1].astype(np.int64) - 2 * n_tuples + 2, 0).astype(np.uint32)
            kernels.score(parent_rows, larger_rows, codes, 0, larger_tuples[t : t + 1], counts, z)
            network_scores[:, t] = z
        return network_scores

    def scores(self, codes: NDArray[np.unsignedinteger], n_jobs: int | None = None, stop: StopToken = NEVER) -> Floats:
        """Return the class scores (N, C), log p(k, x), of codes (a, N); a code >= levels[column] is no level."""
        codes, jobs = as_kernel_codes(codes), resolve_jobs(n_jobs)
        z = np.empty((codes.shape[1], self.n_classes))
        for begin in range(0, len(z), _ROWS_PER_BATCH):
            rows = codes if len(z) <= _ROWS_PER_BATCH else as_kernel_codes(codes[:, begin : begin + _ROWS_PER_BATCH])
            groups = _ColumnGroups.from_codes(rows, self.parents.space.levels)
            score = self._by_parent if self._is_faster_by_parent(rows.shape[1], groups) else self._by_row
            score(rows, groups, z[begin : begin + _ROWS_PER_BATCH], jobs, stop)
        is_unseen = np.isneginf(z).all(axis=1)
        if is_unseen.any():
            z[is_unseen] = self.lower_order.scores(codes[:, is_unseen], n_jobs, stop)
        return z

    @cached_property
    def lower_order(self) -> "AverageModel | NetworkModel":
        """The averages of n - 1 columns on the same rows, naive Bayes for n = 1."""
        if self.parents.space.order == 1:
            return self.naive_bayes
        return AverageModel(_sum_out_column(self.parents, self.naive_bayes.cards), self.parents, self.naive_bayes)

    def mean_of_logs(self) -> LinearModel:
        """Return the mean over the networks of their log p(k, x), a score table on the cells that were seen.

        It is at most the log of the mean, `scores`, and close to it where the networks agree.
        """
        _, _, larger_tuples, counts = self._indexes
        parents, space, seen_cells = self.parents, self.cells.space, self.cells.seen_cells
        parent_tuples = np.empty(space.tuples.shape, np.int64)  # without the first column, the second, ...
        t, j = np.nonzero(larger_tuples >= 0)
        larger = larger_tuples[t, j]
        parent_tuples[larger, (space.tuples[larger] == j[:, None]).argmax(axis=1)] = t
        tuples, codes, phi = self.cells.tuple_of_seen, space.codes_of(seen_cells), np.zeros(self.cells.counts.shape)
        for k in range(space.order):
            child = space.tuples[tuples, k]
            parent_cells = parents.space.cells_at(parent_tuples[tuples, k], np.delete(codes, k, axis=1))
            places = np.searchsorted(parents.seen_cells, parent_cells)
            log_p = np.log(self.cells.counts + counts.shares[child][:, None])
            log_p -= np.log(parents.counts[places] + counts.smoothing)
            alone = counts.level_log_p[counts.first_level[child] + codes[:, k]]
            phi += np.where(parents.counts[places] > 0, log_p, alone)
            phi += counts.joint[places] / (len(space.levels) - parents.space.order)
        return LinearModel(space, seen_cells, phi / parents.space.n_tuples, np.zeros(self.n_classes))

    def _by_row(self, codes: Codes, groups: "_ColumnGroups", z: Floats, jobs: int, stop: StopToken) -> None:
        """Write the scores of codes (a, n) to z (n, C) row by row, which is faster for few rows; jobs: threads."""
        parent_index, cell_index, larger_tuples, counts = self._indexes
        chunk_rows = max(1, _FACTORS_PER_CALL // larger_tuples.size)

        def score_chunk(k: int) -> None:
            stop.check()
            begin, end = k * chunk_rows, min(len(z), (k + 1) * chunk_rows)
            cell_rows, larger_rows = parent_index.locate(codes, begin, end), cell_index.locate(codes, begin, end)
            kernels.score(cell_rows, larger_rows, codes, begin, larger_tuples, counts, z[begin:end])

        run_parts(score_chunk, -(-len(z) // chunk_rows), jobs)

    def _is_faster_by_parent(self, n_rows: int, groups: "_ColumnGroups") -> bool:
        """Return whether tables of all parents are less work than n_rows rows one by one, and none is too large."""
        n_cells, n_values = np.diff(self._indexes[0].begin), int(groups.values.sum()) + 1
        is_less_work = n_values * n_cells.sum() < n_rows * len(n_cells) * len(groups.widths)
        return (
            is_less_work and 8 * class_widths(self.n_classes)[1] * n_values * int(n_cells.max() + 1) <= _MAX_TABLE_BYTES
        )

    def _by_parent(self, codes: Codes, groups: "_ColumnGroups", z: Floats, jobs: int, stop: StopToken) -> None:
        """Write the scores of codes (a, n) to z (n, C) parent by parent; jobs: threads.

        A parent's table of cells and column groups is made first, then every row is a few look-ups.
        """
        parent_index, cell_index, larger_tuples, counts = self._indexes
        space, n = parent_index.space, len(z)
        (n_lanes, padded_width), group_keys, n_values = class_widths(self.n_classes), groups.keys(codes), groups.values
        n_table_rows = np.diff(parent_index.begin) + 1  # and one for rows that lie in no seen cell
        blocks = n_table_rows[:, None] * np.cumsum([0, 1, *n_values])
        tables: dict[int, Floats] = {}
        index = _kernel_index(parent_index)
        log_scale, total, n_seen = (np.full((n, padded_width), MIN_SCORE), zeros(n, padded_width), np.zeros(n))

        def expand(t: int) -> None:
            stop.check()
            tables[t] = empty(int(blocks[t, -1]), padded_width)
            cells = slice(parent_index.begin[t], parent_index.begin[t + 1])
            kernels.expand_parent(
                space.tuples[t], space.codes_of(self.parents.seen_cells[cells]),
                counts._replace(counts=counts.counts[cells], joint=counts.joint[cells]), larger_tuples[t],
                _kernel_index(cell_index), space.levels, kernels.Groups(groups.first, groups.members, groups.widths),
                blocks[t], tables[t],
            )  # fmt: skip

        def add(begin: int, parents: range) -> None:
            end = min(n, begin + _ROWS_PER_CALL)
            keys = np.empty((len(n_values) + 1, end - begin), np.uint32)
            chunk_scores, bias = empty(end - begin, padded_width), np.zeros(padded_width)
            for t in parents:
                stop.check()
                kernels.parent_keys(
                    codes, begin, end, index, t, space.levels, parent_index.begin[t], n_table_rows[t] - 1,
                    n_values, group_keys, keys,
                )  # fmt: skip
                row_kernels.forward(
                    keys, blocks[t], tables[t], bias, chunk_scores, 0, end - begin, 0, len(keys), (0,) * n_lanes
                )
                add_exponentials(chunk_scores.ravel(), log_scale[begin:end].ravel(), total[begin:end].ravel())
                n_seen[begin:end] += keys[0] < n_table_rows[t] - 1

        for parents in _parent_ranges(blocks[:, -1] * 8 * padded_width):
            run_parts(lambda k, parents=parents: expand(parents[k]), len(parents), jobs)  # type: ignore[misc]
            run_parts(lambda k, parents=parents: add(k * _ROWS_PER_CALL, parents), -(-n // _ROWS_PER_CALL), jobs)  # type: ignore[misc]
            tables.clear()
        with np.errstate(divide="ignore"):
            z[:] = (log_scale + np.log(total / np.maximum(n_seen, 1.0)[:, None]))[:, : self.n_classes]
        z[(log_scale == MIN_SCORE)[:, : self.n_classes]] = -np.inf

    @cached_property
    def _indexes(self) -> tuple[CellIndex[AnySpace], CellIndex[AnySpace], NDArray[np.int64], kernels.Counts]:
        """The indexes of both orders' cells, `_larger_tuples` (T, a), and the counts of both orders for the kernels."""
        parents, cells, smoothing = self.parents, self.cells, self.parents.smoothing
        prior_counts = (smoothing / self.n_classes / parents.cards)[parents.tuple_of_seen]
        joint = np.log(parents.counts + prior_counts[:, None])
        joint -= np.log(parents.class_counts.sum() + smoothing)
        return (
            CellIndex.from_cells(parents.space, parents.seen_cells),
            CellIndex.from_cells(cells.space, cells.seen_cells),
            _larger_tuples(parents.space, cells.space),
            kernels.Counts(
                parents.counts, joint, cells.counts, smoothing / self.naive_bayes.cards, smoothing,
                self.naive_bayes.level_log_p,
                np.concatenate([[0], np.cumsum(parents.space.levels)]),
            ),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _ColumnGroups:
    """Groups of columns with few joint values, the same for all parents: one look-up serves all columns of a group.

    Attributes:
        members: (a,) the columns, group after group.
        first: (G + 1,) where each group's members begin.
        widths: (a,) codes of each column: its levels, and one more where some row has none.
        values: (G,) joint values of each group.
    """

    members: NDArray[np.int64]
    first: NDArray[np.int64]
    widths: NDArray[np.int64]
    values: NDArray[np.int64]

    @classmethod
    def from_codes(cls, codes: Codes, levels: NDArray[np.int64]) -> "_ColumnGroups":
        """Return the groups for rows of codes (a, n), of columns with `levels` (a,)."""
        widths = levels + (codes >= levels[:, None]).any(axis=1)
        members, n_values, n_members = np.argsort(widths, kind="stable"), [1], [0]
        for width in widths[members].tolist():
            if n_members[-1] and n_values[-1] * width > _MAX_GROUP_VALUES:
                n_values, n_members = [*n_values, 1], [*n_members, 0]
            n_values[-1], n_members[-1] = n_values[-1] * width, n_members[-1] + 1
        return cls(members, np.cumsum([0, *n_members]), widths, np.array(n_values))

    def keys(self, codes: Codes) -> NDArray[np.uint32]:
        """Return the joint value (G, n) that each row of codes (a, n) has in each group, the last column fastest."""
        keys = np.zeros((len(self.values), codes.shape[1]), np.uint32)
        for key, begin, end in zip(keys, self.first[:-1], self.first[1:], strict=True):
            for j in self.members[begin:end]:
                key *= np.uint32(self.widths[j])
                key += np.minimum(codes[j], self.widths[j] - 1).astype(np.uint32)
        return keys


def _kernel_index(index: CellIndex[AnySpace]) -> kernels.Index:
    return kernels.Index(
        index.space.tuples, index.space.strides, index.start, index.mask, index.shift, index.slots, index.slot_cells
    )


def _parent_ranges(sizes: NDArray[np.int64]) -> Iterator[range]:
    """Yield ranges of parents whose table sizes sum up to at most _MAX_TABLE_BYTES, or of one larger table."""
    first_parent, n_bytes = 0, 0
    for t, size in enumerate(sizes.tolist()):
        if t > first_parent and n_bytes + size > _MAX_TABLE_BYTES:
            yield range(first_parent, t)
            first_parent, n_bytes = t, 0
        n_bytes += size
    yield range(first_parent, len(sizes))


def _larger_tuples(space: AnySpace, larger_space: AnySpace) -> NDArray[np.int64]:
    """Return (T, a) the tuple of larger_space, one order above, that a tuple and a column make; -1 for its own columns.

    Both spaces have all ascending tuples in lexicographic order, so that their numbers in base a ascend.
    """
    larger = np.full((space.n_tuples, len(space.levels)), -1, np.int64)
    base = len(space.levels) ** np.arange(space.order - 1, -1, -1)
    tuple_keys, all_tuples = space.tuples @ base, np.arange(larger_space.n_tuples)
    for k in range(larger_space.order):
        other_columns = np.delete(larger_space.tuples, k, axis=1)
        larger[np.searchsorted(tuple_keys, other_columns @ base), larger_space.tuples[:, k]] = all_tuples
    return larger


def _sum_out_column(tables: Tables, cards: Floats) -> Tables:
    """Return the tables of one column fewer: a tuple's counts are those of a larger tuple summed over the column added.

    Every training row has a level in that column, so nothing is lost. cards: (a,) numbers of levels seen.
    """
    space = tables.space
    smaller_space = CellSpace(space.levels, len(space.tuples[0]) - 1)
    cells, counts = [], []
    for t, larger_tuples in enumerate(_larger_tuples(smaller_space, space)):
        column = int((larger_tuples >= 0).argmax())
        larger = larger_tuples[column]
        in_tuple = tables.tuple_of_seen == larger
        other_columns = space.tuples[larger] != column
        codes = space.codes_of(tables.seen_cells[in_tuple])[:, other_columns]
        tuple_cells, places = np.unique(smaller_space.cells_at(np.full(len(codes), t), codes), return_inverse=True)
        tuple_counts = np.zeros((len(tuple_cells), tables.n_classes))
        np.add.at(tuple_counts, places, tables.counts[in_tuple])
        cells.append(tuple_cells)
        counts.append(tuple_counts)
    return Tables(
        smaller_space, np.concatenate(cells), np.concatenate(counts), tables.class_counts,
        np.tile(tables.class_counts, (smaller_space.n_tuples, 1)), cards[smaller_space.tuples].prod(axis=1),
        tables.smoothing,
    )  # fmt: skip
