"""What drivers, convergence tests and observers need from an objective."""

from typing import Any, Protocol

from alrviz.fitting.objectives.ridge import Point
from alrviz.passes.rows import Floats


class ObjectiveProtocol(Protocol):
    """An objective on its training rows. Weights, points and models are of its own kind, which its solver knows."""

    @property
    def total(self) -> float:
        """Sum of the weights of the training rows."""

    @property
    def n_classes(self) -> int:
        """C."""

    @property
    def alpha(self) -> float | Floats:
        """Strength of the penalty, one for all weights or one for each."""

    @property
    def bounds(self) -> Any:
        """Bounds of every weight; None without bounds."""

    @property
    def loss(self) -> Any:
        """The loss of a row."""

    @property
    def scale(self) -> Floats | None:
        """Scale of phi = scale * w[owner]; None if weights have no such units."""

    @property
    def monitored_name(self) -> str:
        """What `monitored` returns, in words."""

    def scores(self, w: Floats, rows: Any = None) -> Floats:
        """Return the scores (N, W) of the training rows, or of others of the objective's kind."""

    def value_grad(self, w: Floats) -> Point:
        """Return the point at `w`, shaped as all weights of the objective are."""

    def monitored(self, point: Any) -> float:
        """Return the value whose decrease over the last steps tells whether to go on."""

    def criterion(self, point: Any) -> float:
        """Return a measure that is small at the optimum: the largest slope per row."""

    def phi_norm(self, w: Floats) -> float:
        """Return the length of phi; w is shaped as for `value_grad`."""

    def release(self, point: Any) -> None:
        """Free the buffers of a fit that has ended at `point`, or before it had one."""

    def model(self, w: Floats) -> Any:
        """Return the model with weights `w`, shaped as for `value_grad`."""

    def weights_of(self, model: Any) -> Floats:
        """Return the weights of a model of the same kind, cells and classes, shaped as for `value_grad`."""
