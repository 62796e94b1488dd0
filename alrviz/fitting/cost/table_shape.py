"""`TableShape`: a table as an estimate sees it, and how many cells its rows have.

Cells that occur are counted in all tuples, or in a sample of them. A cover is planned for up to `MAX_PLANNED_TUPLES`;
beyond, or without rows, every tuple counts as a block: an upper bound.
"""

from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from alrviz.models.cell_space import (
    AllOrders,
    AnySpace,
    Tuples,
    TupleSpace,
    has_full_grid,
    space_of,
    tuple_columns,
    tuple_sizes,
)
from alrviz.models.plan import Plan, plan_cover
from alrviz.passes.threads import run_parts
from alrviz.stop import NEVER, StopToken

if TYPE_CHECKING:
    from alrviz.data.encoded import Encoded
    from alrviz.fitting.prepare import TrainingData

# Up to SAMPLE_LIMIT tuples are all counted; of more N_SAMPLED_TUPLES are drawn, in proportion to their possible cells:
# on Covertype at order 3 a hundredth of the tuples have half of the cells, and 256 tuples drawn uniformly were 12 %
# off.
MAX_COUNTED_TUPLES, N_SAMPLED_TUPLES = 256, 128
# Planning the cover of so many tuples takes about a second.
MAX_PLANNED_TUPLES = 30_000
# Of an order with more tuples so many are drawn at random, because listing them takes too much memory.
_MAX_LISTED_TUPLES, _SAMPLED_TUPLES = 2**20, 2**14
# A lower bound of any plan: with redundant columns a few blocks hold all tuples, and joint values are few.
NO_BLOCKS = Plan((), 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class TableShape:
    """A table as an estimate sees it.

    Attributes:
        encoded: the training rows.
        heldout: held-out rows, or None.
        prepared: the same rows, prepared for a fit: repeats are merged, and the counts and plans of the estimate are
            cached there for the fit. None for an estimate alone.
        stop: ends the counting of cells.
        covers: whether the fit covers all tuples with blocks; False if they are only counted.
    """

    encoded: "Encoded"
    heldout: "Encoded | None" = None
    prepared: "TrainingData | None" = None
    stop: StopToken = NEVER
    covers: bool = True

    @classmethod
    def from_prepared(cls, prepared: "TrainingData", stop: StopToken = NEVER) -> "TableShape":
        """Return the shape of prepared rows."""
        return cls(prepared.encoded, prepared.holdout, prepared, stop)

    @property
    def n_heldout(self) -> int:
        """Number of held-out rows."""
        return 0 if self.heldout is None else self.heldout.n_rows

    @property
    def n_jobs(self) -> int | None:
        """Threads of the fit; None for all."""
        return None if self.prepared is None else self.prepared.n_jobs

    def merged_rows(self) -> tuple[int, int] | None:
        """Return the numbers of training and held-out rows after repeats are merged; None if unknown."""
        return None if self.prepared is None else self.prepared.merged_row_counts(self.stop)

    def min_cells(self, tuples: int | AllOrders) -> int:
        """Return the minimum number of cells that the rows have in all tuples, without listing these."""
        columns = tuple_columns(self.encoded.levels, tuples)
        rows = self.encoded.of_columns(columns)
        return sum(_min_cells(rows, size) for size in tuple_sizes(tuples, len(columns)))

    def cells_seen(self, tuples: int | AllOrders) -> int:
        """Return how many cells of tuples occur in the rows: counted, or estimated from a sample of the tuples."""

        def count() -> int:
            columns = tuple_columns(self.encoded.levels, tuples)
            rows, jobs = self.encoded.of_columns(columns), self.n_jobs or 1
            return sum(estimate_seen(rows, size, self.stop, jobs) for size in tuple_sizes(tuples, len(columns)))

        return count() if self.prepared is None else self.prepared.cells_seen(tuples, count, self.stop)

    def plan(self, tuples: int | AllOrders) -> Plan | None:
        """Return the plan of a cover of tuples; None if every tuple counts as a block."""
        if not self.covers:
            return NO_BLOCKS
        if self.prepared is not None:
            return self.prepared.plan(tuples, self.stop)
        if count_tuples(self.encoded.levels, tuples) > MAX_PLANNED_TUPLES:
            return None
        return plan_cover(self.encoded.codes, space_of(self.encoded.levels, tuples), stop=self.stop)


def count_tuples(levels: NDArray[np.int64], tuples: int | AllOrders) -> int:
    """Return the number of tuples of columns with levels (a,), without listing them."""
    n_columns = len(tuple_columns(levels, tuples))
    return sum(comb(n_columns, size) for size in tuple_sizes(tuples, n_columns))


def estimate_seen(encoded: "Encoded", tuples: Tuples, stop: StopToken = NEVER, n_jobs: int = 1) -> int:
    """Return how many cells of tuples occur in encoded rows: exact for few tuples, else estimated from a sample of
    them.
    """
    if isinstance(tuples, int) and (n_tuples := comb(encoded.n_columns, tuples)) > _MAX_LISTED_TUPLES:
        sample = TupleSpace(encoded.levels, _random_tuples(encoded.n_columns, tuples))
        return round(n_tuples / sample.n_tuples * _estimate_seen(encoded, sample, stop, n_jobs))
    return _estimate_seen(encoded, space_of(encoded.levels, tuples), stop, n_jobs)


def _estimate_seen(encoded: "Encoded", space: AnySpace, stop: StopToken, n_jobs: int) -> int:
    """Return how many cells of `space` occur in encoded rows: counted in every tuple, or in a sample of many tuples."""
    counts_all = space.n_tuples <= MAX_COUNTED_TUPLES
    tuples, max_cells = (space.tuples, space.cards) if counts_all else _sampled_tuples(space, encoded.n_rows)
    is_complete = np.array(
        [codes.max(initial=0) < n_levels for codes, n_levels in zip(encoded.codes, encoded.levels, strict=True)]
    )
    n_seen_by_tuple = np.empty(len(tuples), np.int64)

    def count(k: int) -> None:  # a tuple of fewer columns repeats its last
        stop.check()
        n_seen_by_tuple[k] = _count_occurring(encoded, np.unique(tuples[k]), bool(is_complete[tuples[k]].all()))

    run_parts(count, len(tuples), n_jobs)
    has_grid = has_full_grid(space, encoded.chains)
    if counts_all:
        return int(np.where(has_grid, space.cards, n_seen_by_tuple).sum())
    n_possible_cells = np.minimum(space.cards, encoded.n_rows)[~has_grid].sum()
    return int(space.cards[has_grid].sum()) + round(
        float(n_possible_cells) * float(np.mean(n_seen_by_tuple / max_cells))
    )


def _random_tuples(n_columns: int, size: int) -> list[list[int]]:
    """Return _SAMPLED_TUPLES random tuples of `size` of n_columns columns, possibly with repeats; always the same."""
    candidates = np.sort(np.random.default_rng(0).integers(n_columns, size=(2 * _SAMPLED_TUPLES, size)), axis=1)
    return candidates[(np.diff(candidates, axis=1) > 0).all(axis=1)][:_SAMPLED_TUPLES].tolist()


def _min_cells(encoded: "Encoded", size: int) -> int:
    """Return the minimum number of cells that encoded rows have in all tuples of `size` columns.

    Each tuple has at least as many as its column of most levels.
    """
    seen_level_counts = sorted(
        len(np.unique(codes[codes < n_levels])) for codes, n_levels in zip(encoded.codes, encoded.levels, strict=True)
    )
    return sum(n_seen_levels * comb(n_smaller, size - 1) for n_smaller, n_seen_levels in enumerate(seen_level_counts))


def _sampled_tuples(space: AnySpace, n_rows: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return tuples spread evenly over the cells that n_rows rows can have, and how many of these each tuple has.

    The tuples are their columns, (N_SAMPLED_TUPLES, n).
    """
    n_possible_cells = np.minimum(space.cards, max(1, n_rows)).astype(np.float64)
    tuples_by_cells = np.argsort(n_possible_cells, kind="stable")
    cumulative_cells = np.cumsum(n_possible_cells[tuples_by_cells])
    sampled = tuples_by_cells[
        np.searchsorted(cumulative_cells, (np.arange(N_SAMPLED_TUPLES) + 0.5) / N_SAMPLED_TUPLES * cumulative_cells[-1])
    ]
    return space.tuples[sampled], n_possible_cells[sampled]


def _count_occurring(encoded: "Encoded", columns: np.ndarray, is_complete: bool) -> int:
    """Return how many cells of the tuple `columns` (n,) occur in encoded rows.

    is_complete: whether no row has a missing level in it.
    """
    card = int(encoded.levels[columns].prod())
    key = encoded.codes[columns[0]].astype(np.int64 if card >= 2**31 else np.int32)
    for j in columns[1:]:
        key *= key.dtype.type(encoded.levels[j])
        key += encoded.codes[j]
    if not is_complete:
        key = key[(encoded.codes[columns] < encoded.levels[columns][:, None]).all(axis=0)]
    if card > 8 * len(key):
        return len(np.unique(key))
    occurs = np.zeros(card, bool)
    occurs[key] = True
    return int(occurs.sum())
