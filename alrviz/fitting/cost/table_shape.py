"""`TableShape`: a table as an estimate of costs sees it, and how many cells its rows have.

Cells that occur are counted in all tuples, or in a sample of them. A cover is planned for up to `PLANNED` tuples;
beyond, or without rows at hand, every tuple counts as a block: an upper bound.
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

# Tuples up to which all are looked at for cells that occur; of more so many are drawn, by the cells they could have: on
# Covertype at order 3 a hundredth of the tuples have half of the cells, and 256 tuples drawn alike were 12 % off.
SAMPLE, DRAWN = 256, 128
# Tuples up to which the cover is planned for an estimate alone: about a second. Beyond, each counts as a block.
PLANNED = 30_000
# Tuples of an order that are listed to look for their cells; of more so many are drawn at random.
_MAX_LISTED_TUPLES, _SAMPLED_TUPLES = 2**20, 2**14
# What no plan takes less than: where columns tell the same, a few blocks hold all tuples, and joint values are few.
NO_BLOCKS = Plan((), 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class TableShape:
    """A table as an estimate sees it.

    Attributes:
        encoded: the training rows.
        heldout: rows that are watched, or None.
        prepared: the same rows, prepared for a fit: repeats are merged, and cells and plans found for the estimate stay
            there for the fit. None for an estimate alone.
        stop: ends the looking for cells that occur.
        covers: whether the fit covers all tuples with blocks; False where they are only counted.
    """

    encoded: "Encoded"
    heldout: "Encoded | None" = None
    prepared: "TrainingData | None" = None
    stop: StopToken = NEVER
    covers: bool = True

    @classmethod
    def of(cls, prepared: "TrainingData", stop: StopToken = NEVER) -> "TableShape":
        """Return the shape of rows that are prepared."""
        return cls(prepared.encoded, prepared.holdout, prepared, stop)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.encoded.n_classes

    @property
    def n_heldout(self) -> int:
        """Number of rows that are watched."""
        return 0 if self.heldout is None else self.heldout.n_rows

    @property
    def n_jobs(self) -> int | None:
        """Threads of the fit; None for all."""
        return None if self.prepared is None else self.prepared.n_jobs

    def merged_rows(self) -> tuple[int, int] | None:
        """Return how many training and held-out rows are left once repeats are merged; None where that is unknown."""
        return None if self.prepared is None else self.prepared.kept(self.stop)

    def fewest_cells(self, tuples: int | AllOrders) -> int:
        """Return how many cells the rows have at least in all tuples, without listing these."""
        columns = tuple_columns(self.encoded.levels, tuples)
        rows = self.encoded.of_columns(columns)
        return sum(_fewest_cells(rows, size) for size in tuple_sizes(tuples, len(columns)))

    def cells_seen(self, tuples: int | AllOrders) -> int:
        """Return how many cells of tuples the rows have: counted, or estimated from a sample of the tuples."""

        def count() -> int:
            columns = tuple_columns(self.encoded.levels, tuples)
            rows, jobs = self.encoded.of_columns(columns), self.n_jobs or 1
            return sum(estimate_seen(rows, size, self.stop, jobs) for size in tuple_sizes(tuples, len(columns)))

        return count() if self.prepared is None else self.prepared.seen(tuples, count, self.stop)

    def plan(self, tuples: int | AllOrders) -> Plan | None:
        """Return the plan of a cover of tuples; None where every tuple counts as a block."""
        if not self.covers:
            return NO_BLOCKS
        if self.prepared is not None:
            return self.prepared.plan(tuples, self.stop)
        if count_tuples(self.encoded.levels, tuples) > PLANNED:
            return None
        return plan_cover(self.encoded.codes, space_of(self.encoded.levels, tuples), stop=self.stop)


def count_tuples(levels: NDArray[np.int64], tuples: int | AllOrders) -> int:
    """Return how many tuples there are of columns of so many levels (a,), without listing them."""
    n_columns = len(tuple_columns(levels, tuples))
    return sum(comb(n_columns, size) for size in tuple_sizes(tuples, n_columns))


def estimate_seen(encoded: "Encoded", tuples: Tuples, stop: StopToken = NEVER, n_jobs: int = 1) -> int:
    """Return how many cells of tuples the rows have: exact up to SAMPLE tuples, else from DRAWN of them."""
    if isinstance(tuples, int) and (n_tuples := comb(encoded.n_columns, tuples)) > _MAX_LISTED_TUPLES:
        some = TupleSpace(encoded.levels, _random_tuples(encoded.n_columns, tuples))
        return round(n_tuples / some.n_tuples * _estimate_seen(encoded, some, stop, n_jobs))
    return _estimate_seen(encoded, space_of(encoded.levels, tuples), stop, n_jobs)


def _estimate_seen(encoded: "Encoded", space: AnySpace, stop: StopToken, n_jobs: int) -> int:
    every = space.n_tuples <= SAMPLE
    chosen, most = (space.tuples, space.cards) if every else _drawn(space, encoded.n_rows)
    whole = np.array([codes.max(initial=0) < top for codes, top in zip(encoded.codes, encoded.levels, strict=True)])
    seen = np.empty(len(chosen), np.int64)

    def one(k: int) -> None:  # a tuple of fewer columns repeats its last
        stop.check()
        seen[k] = _occurring(encoded, np.unique(chosen[k]), bool(whole[chosen[k]].all()))

    run_parts(one, len(chosen), n_jobs)
    grids = has_full_grid(space, encoded.chains)
    if every:
        return int(np.where(grids, space.cards, seen).sum())
    some = np.minimum(space.cards, encoded.n_rows)[~grids].sum()
    return int(space.cards[grids].sum()) + round(float(some) * float(np.mean(seen / most)))


def _random_tuples(n_columns: int, size: int) -> list[list[int]]:
    """Return _SAMPLED_TUPLES tuples of so many columns, some perhaps twice; always the same."""
    drawn = np.sort(np.random.default_rng(0).integers(n_columns, size=(2 * _SAMPLED_TUPLES, size)), axis=1)
    return drawn[(np.diff(drawn, axis=1) > 0).all(axis=1)][:_SAMPLED_TUPLES].tolist()


def _fewest_cells(encoded: "Encoded", size: int) -> int:
    """Return how many cells rows have at least in all tuples of so many columns: each as many as its richest column."""
    seen = sorted(len(np.unique(codes[codes < top])) for codes, top in zip(encoded.codes, encoded.levels, strict=True))
    return sum(levels * comb(below, size - 1) for below, levels in enumerate(seen))


def _drawn(space: AnySpace, n_rows: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the columns (DRAWN, n) of tuples spread evenly over the cells that so many rows could have, and how many
    those are in each.
    """
    most = np.minimum(space.cards, max(1, n_rows)).astype(np.float64)
    sizes = np.argsort(most, kind="stable")
    ends = np.cumsum(most[sizes])
    chosen = sizes[np.searchsorted(ends, (np.arange(DRAWN) + 0.5) / DRAWN * ends[-1])]
    return space.tuples[chosen], most[chosen]


def _occurring(encoded: "Encoded", columns: np.ndarray, whole: bool) -> int:
    """How many cells rows have in a tuple; `whole`: all of them have a level in each of its columns."""
    card = int(encoded.levels[columns].prod())
    key = encoded.codes[columns[0]].astype(np.int64 if card >= 2**31 else np.int32)
    for j in columns[1:]:
        key *= key.dtype.type(encoded.levels[j])
        key += encoded.codes[j]
    if not whole:
        key = key[(encoded.codes[columns] < encoded.levels[columns][:, None]).all(axis=0)]
    if card > 8 * len(key):
        return len(np.unique(key))
    occurs = np.zeros(card, bool)
    occurs[key] = True
    return int(occurs.sum())
