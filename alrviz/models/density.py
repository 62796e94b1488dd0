"""Density features of training rows: phi of every column, and its derivative by bandwidth (formulas: density_votes.py).

A training row may be left out of its own sums: it withdraws min(1, its weight) from S_k, N_k and N of its class. A
class without any vote has phi at the limit.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import TableError
from alrviz.models.density_votes import DensityVotes, VoteFeatures, category_codes, require_fit, training_row_kinds
from alrviz.passes.aligned_buffers import Floats
from alrviz.passes.density import MIN_GRID_SUM, RowKinds
from alrviz.passes.sources import Sources
from alrviz.passes.threads import resolve_jobs, run_parts
from alrviz.stop import NEVER, StopToken


class DensityFeatures(DensityVotes):
    """Features learned from training rows. It is immutable.

    Args:
        numbers: (a_num, N) float64 numeric columns, NaN where missing.
        codes: (a_cat, N) unsigned codes of categorical columns; codes >= levels are no level.
        levels: (a_cat,) number of levels of each.
        y: (N,) class indices 0 .. C - 1; every class must occur.
        weights: (N,) row weights; rows of weight 0 have no vote.
        n_classes: C.
        smoothing: m.
        n_jobs: threads; None for all.
        stop: checked between columns.

    Attributes:
        numeric, categorical: the places among `numbers` and `codes` of the columns that have a feature.
        class_counts: (C,) N_k.
        silverman: (D_num,) bandwidths h = 1.06 sigma N^(-1/5), sigma and N weighted, over the rows that have a number.

    Raises:
        TableError: if a number is beyond MAX_ABS_NUMBER, a class has no row or no column has a feature.
    """

    def __init__(
        self,
        numbers: Floats,
        codes: NDArray[np.unsignedinteger],
        levels: NDArray[np.integer],
        y: NDArray[np.integer],
        weights: Floats,
        n_classes: int,
        smoothing: float = 1.0,
        n_jobs: int | None = None,
        stop: StopToken = NEVER,
    ):
        self._y, self._weights = np.asarray(y, np.int32), np.asarray(weights, np.float64)
        self.n_classes, self.n_jobs = n_classes, resolve_jobs(n_jobs)
        class_counts = np.bincount(self._y, self._weights, minlength=n_classes).astype(np.float64)
        if not (class_counts > 0).all():
            raise TableError(f"class {int(class_counts.argmin())} has no training row; expected rows of every class")
        columns = self._sort_votes(numbers, stop)
        numeric = np.array([j for j, column in enumerate(columns) if column.varies], np.int64)
        counts = [self._count_levels(c, int(n)) for c, n in zip(codes, levels, strict=True)]
        categorical = np.array([j for j, column in enumerate(counts) if (column.sum(axis=1) > 0).sum() > 1], np.int64)
        super().__init__(
            [columns[j] for j in numeric], [counts[j] for j in categorical], numeric, categorical, class_counts,
            smoothing, MIN_GRID_SUM * min(1.0, float(self._weights.max())), n_jobs,
        )  # fmt: skip
        self._codes = [category_codes(codes[j], counts[j]) for j in categorical]

    @property
    def n_rows(self) -> int:
        """N, the number of training rows."""
        return len(self._y)

    def training(
        self,
        log_h: Floats,
        leave_out: bool,
        gradient: bool = True,
        spacing: NDArray[np.int64] | None = None,
        previous: VoteFeatures | None = None,
        stop: StopToken = NEVER,
    ) -> VoteFeatures:
        """Return the features of the training rows.

        Args:
            log_h: (D_num,) natural log of the bandwidths, within `bounds`.
            leave_out: whether a row is left out of its own sums.
            gradient: whether to return dphi.
            spacing: grids to keep, from `spacing(...)`, so that phi does not jump along a line; None for those of
                log_h. A grid more than a factor 2 away is replaced by the nearest one within.
            previous: features of the same rows with the same arguments, reused for columns with the same bandwidth
                and grid.
            stop: checked between parts of the work.
        """
        kinds = self._training_row_kinds if leave_out else self._non_voting_kinds(self.n_rows)
        xs = [(column.x, column.place) for column in self.columns]
        return self._compute_features(xs, self._codes, kinds, log_h, gradient, spacing, previous, stop)

    @cached_property
    def _training_row_kinds(self) -> RowKinds:
        return training_row_kinds(self._y, self._weights, self.class_counts, self.n_features)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "_training_row_kinds"}

    def _sort_votes(self, numbers: Floats, stop: StopToken) -> list[Sources]:
        """Return the training numbers of each column, sorted by class and value."""
        require_fit(numbers)
        columns: dict[int, Sources] = {}

        def work(j: int) -> None:
            stop.check()
            x = np.array(numbers[j], np.float64)
            columns[j] = Sources(x, self._y, self._weights, self.n_classes)

        run_parts(work, len(numbers), self.n_jobs)
        return [columns[j] for j in range(len(numbers))]

    def _count_levels(self, codes: NDArray[np.unsignedinteger], levels: int) -> Floats:
        """Return the weights (levels + 1, C) of the levels of a column with codes (N,); the last row, no level, is
        0.
        """
        counts = np.zeros((levels + 1, self.n_classes))
        np.add.at(counts, (np.minimum(codes, levels), self._y), self._weights)
        counts[levels] = 0.0
        return counts
