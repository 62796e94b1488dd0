"""Generative tables: counts, and the probabilities made of them, for every cell that occurs.

    log pi_y            = log((N_y + m / C) / (N + m))
    log theta_{cell|y}  = log((N_{cell,y} + m / card(t)) / (N_{t,y} + m))
    AnJE:  log p(y|x)   = log pi_y + gamma * sum_t log theta_{x_t|y} - normaliser          (n = 1 is naive Bayes)

N are sums of row weights. N_{t,y} counts the rows of class y that have a cell in tuple t: all rows, unless missing
values are skipped. card(t) is the product of the numbers of levels seen in the training rows; m is the smoothing. Cells
that no
training row has are left out: `seen_cells` are the numbers of the others, ascending.
"""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import RecipeError
from alrviz.models.cell_space import AnySpace
from alrviz.models.set_cover import Cover
from alrviz.passes.aligned_buffers import Floats, zeros
from alrviz.passes.rows import Rows
from alrviz.stop import NEVER, StopToken

# log theta of a constant column is 0, but sums of fractional weights may differ in their last bits. A weight that moves
# phi by so little never brings its slope to 0, so smaller logarithms become exactly 0. For other columns theta would
# need 10^12 rows to be so near 1.
_MAX_ROUNDING = 1e-12


class FieldsInPickles:
    """Base of dataclasses whose pickles contain their fields only: cached properties are faster made than sent."""

    def __getstate__(self) -> dict[str, object]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False, repr=False)
class Tables(FieldsInPickles):
    """Counts of the S seen cells of a cell space, and the logarithms made of them.

    Attributes:
        space: The cell space.
        seen_cells: (S,) int64, the cells that occur, ascending.
        counts: (S, C) sums of row weights.
        class_counts: (C,) N_y.
        tuple_counts: (T, C) N_{t,y}.
        cards: (T,) product of the numbers of levels seen.
        smoothing: m.
    """

    space: AnySpace
    seen_cells: NDArray[np.int64]
    counts: Floats
    class_counts: Floats
    tuple_counts: Floats
    cards: Floats
    smoothing: float

    def __repr__(self) -> str:
        return (
            f"<Tables: {len(self.seen_cells):,} cells x {self.n_classes} classes, {self.class_counts.sum():,.6g} rows>"
        )

    @property
    def n_classes(self) -> int:
        """C."""
        return len(self.class_counts)

    @cached_property
    def tuple_of_seen(self) -> NDArray[np.int64]:
        """(S,) the tuple of each seen cell."""
        return self.space.tuple_of(self.seen_cells)

    @cached_property
    def log_pi(self) -> Floats:
        """(C,) log of the smoothed class shares."""
        m = self.smoothing
        with np.errstate(divide="ignore"):
            return np.log((self.class_counts + m / self.n_classes) / (self.class_counts.sum() + m))

    @property
    def log_theta(self) -> Floats:
        """(S, C) log of the smoothed share of each cell among its class."""
        return self.logs[:-1]

    @cached_property
    def logs(self) -> Floats:
        """(S + 1, C) log theta, and log pi in the last row. Used as the scale of alr without a copy."""
        t = self.tuple_of_seen
        logs = np.empty((len(t) + 1, self.n_classes))
        cell_logs = logs[:-1]
        with np.errstate(divide="ignore"):
            np.add(self.counts, (self.smoothing / self.cards)[t][:, None], out=cell_logs)
            cell_logs /= (self.tuple_counts + self.smoothing)[t]
            np.log(cell_logs, out=cell_logs)
        logs[-1] = self.log_pi
        logs[np.abs(logs) < _MAX_ROUNDING] = 0.0
        return logs

    @cached_property
    def log_theta_unseen(self) -> Floats:
        """(T, C) log theta of a cell that no training row has."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log((self.smoothing / self.cards)[:, None] / (self.tuple_counts + self.smoothing))

    @cached_property
    def empty_share(self) -> float:
        """Share of (seen cell, class) pairs with count 0: with one such pair NLL alone has no optimum."""
        return float((self.counts == 0).mean()) if self.counts.size else 0.0

    def require_finite(self) -> None:
        """Raise `RecipeError` if smoothing = 0 leads to the logarithm of 0."""
        if self.smoothing == 0 and (self.empty_share > 0 or (self.class_counts == 0).any()):
            raise RecipeError(
                f"smoothing=0 takes the logarithm of 0: {self.empty_share:.1%} of the pairs of cell and class do not "
                "occur; expected a smoothing above 0, 1 is the default"
            )


def count_tables(rows: Rows, cover: Cover, smoothing: float, stop: StopToken = NEVER) -> Tables:
    """Return how many training rows of each class are in each seen cell of `cover`.

    Rows are counted by joint value of a block of columns, and these counts are added up by cell. smoothing: kept for
    the logarithms of the tables.
    """
    space, classes = cover.index.space, rows.n_classes
    joint_counts = rows.count(cover.blocks, stop)
    cell_sums = zeros(cover.blocks.n_cells, rows.padded_width)
    cells = cover.blocks.scatter_to_cells(joint_counts, cell_sums, rows.n_jobs, stop)[: cover.index.n_rows]
    missing_counts = cells[space.n_tuples : 2 * space.n_tuples, :classes]
    class_counts = np.bincount(rows.y, rows.weights, minlength=classes).astype(np.float64)
    return Tables(
        space=space,
        seen_cells=cover.index.seen_cells,
        counts=cells[2 * space.n_tuples :, :classes].copy(),
        class_counts=class_counts,
        tuple_counts=class_counts - missing_counts,
        cards=space.cards_of(cover.levels_seen).astype(float),
        smoothing=smoothing,
    )
