"""The penalised loss of a linear family on rows that come in chunks: F and its gradient, one pass each time.

Formulas are those of objectives/linear.py. No scores of training rows are kept, so that there are none to move along a
line: what solves it steps row by row (solvers/streamed.py).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alrviz.errors import AlrvizError
from alrviz.fitting.objectives.linear import CellWeights, ridge_of
from alrviz.fitting.objectives.ridge import Point
from alrviz.kernels.adagrad import CENTER, PULL, SCALE, SQUARES, WEIGHT
from alrviz.models.index import Unseen
from alrviz.models.parameterisation import Parameterisation
from alrviz.models.streamed import Streamed
from alrviz.passes.aligned_buffers import Floats, zeros
from alrviz.passes.losses import NLL
from alrviz.passes.rows import Rows
from alrviz.passes.stream import Codes, single_table
from alrviz.passes.vectors import add_ridge_gradient
from alrviz.stop import NEVER, StopToken


class CodedRows(Rows):
    """Rows in memory, by their codes (a, N) and classes (N,): those that are held out."""

    def __init__(self, codes: Codes, y: NDArray[np.int32], n_classes: int):
        super().__init__(y, np.ones(len(y)), n_classes)
        self.codes = codes


@dataclass(frozen=True, eq=False)
class Trial:
    """Rows on which step lengths are tried: codes and classes of those learned from, and of those judged by."""

    learned: CodedRows
    judged: CodedRows


class StreamObjective(CellWeights):
    """F and its gradient over chunks of rows.

    Args:
        streamed: counts, passes, and where cells stand in their tables.
        parameterisation: scale, and the tables it stands on.
        alpha, penalty, center: as of LinearObjective.
        unseen: phi of cells that no training row has; None for 0.
        trial: rows on which step lengths are tried.
        stop: asked between the parts of every pass.
    """

    loss = NLL
    bounds = None
    judged_as = "F"

    def __init__(
        self,
        streamed: Streamed,
        parameterisation: Parameterisation,
        *,
        alpha: float,
        penalty: str,
        center: object,
        unseen: Unseen | None,
        trial: Trial,
        stop: StopToken = NEVER,
    ):
        self.parameterisation, self.alpha, self.stop, self.trial = parameterisation, alpha, stop, trial
        self.total = float(parameterisation.tables.class_counts.sum())
        self.n_classes = parameterisation.tables.n_classes
        self.scale: Floats = parameterisation.scale
        self.center = parameterisation.weights_of(center)
        self.passes = streamed.passes
        self._ridge = ridge_of(parameterisation, alpha, penalty)
        self._unseen = unseen
        self._at, self._table = streamed.rows, streamed.blank(unseen)

    def scores(self, w: Floats, rows: CodedRows | None = None) -> Floats:
        """Return the scores (N, W) of rows in memory; of training rows none are kept: (0, W)."""
        if rows is None:
            return zeros(0, self.passes.padded)
        table, bias = self._expanded(w)
        return self.passes.scores(rows.codes, table, bias)

    def value_grad(self, w: Floats) -> Point:
        """Return the point at `w`, without scores: one pass."""
        table, bias = self._expanded(w)
        sums, summed, last = self.passes.loss_and_gradient(table, bias, self.stop)
        gradient = np.concatenate([summed[self._at, : self.n_classes], last[None, :]]) * self.scale
        penalty = 0.0
        if self._ridge is not None:
            penalty = 0.5 * add_ridge_gradient(gradient, self._ridge, w, self.center, self.passes.n_jobs)
        return Point(w, self.scores(w), sums, penalty, sums.value + penalty, gradient)

    def monitored(self, point: Point) -> float:
        """Return F."""
        return point.objective

    def release(self, point: Point | None) -> None:
        """Nothing is lent."""

    @property
    def penalised(self) -> bool:
        """Whether steps have a penalty's part."""
        return self._ridge is not None

    def step_table(self, w: Floats) -> NDArray[np.float32]:
        """Return what AdaGrad moves (shaped as kernels/adagrad.py says), at `w` and with G of 0."""
        table = single_table(self.passes.cells.n_rows + 1, 5 if self.penalised else 3, self.passes.padded)
        places = np.append(self._at, len(table) - 1)
        table[places, SCALE, : self.n_classes] = self.scale
        table[places, WEIGHT, : self.n_classes] = w
        if self._ridge is not None:
            tables = self.parameterisation.tables
            visits = np.append(tables.counts.sum(axis=1), self.total)[:, None]
            table[places, PULL, : self.n_classes] = self._ridge / np.maximum(1.0, visits)
            table[places, CENTER, : self.n_classes] = self.center
        return table

    def weights_in(self, table: NDArray[np.float32]) -> Floats:
        """Return the weights (S + 1, C) of a table that was moved."""
        places = np.append(self._at, len(table) - 1)
        return table[places, WEIGHT, : self.n_classes].astype(np.float64)

    def moved_cells(self, table: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return w and G of the seen cells and of b, (S + 1, 2, C), however the table's rows are numbered."""
        places = np.append(self._at, len(table) - 1)
        return table[places][:, [WEIGHT, SQUARES], : self.n_classes]

    def put_cells(self, table: NDArray[np.float32], moved: NDArray[np.float32]) -> None:
        """Write w and G (S + 1, 2, C) into a table.

        Raises:
            AlrvizError: they are of other cells or classes.
        """
        expected = (len(self._at) + 1, 2, self.n_classes)
        if moved.shape != expected:
            raise AlrvizError(f"what was kept has the shape {moved.shape}, and this fit's is {expected}; begin anew")
        places = np.append(self._at, len(table) - 1)
        for part, values in ((WEIGHT, moved[:, 0]), (SQUARES, moved[:, 1])):
            table[places, part, : self.n_classes] = values

    def _expanded(self, w: Floats) -> tuple[Floats, Floats]:
        phi = self.parameterisation.phi(w)
        self._table[self._at, : self.n_classes] = phi[:-1]
        return self._table, phi[-1]
