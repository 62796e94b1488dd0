"""What drivers, judges and observers ask of an objective, whatever its weights say."""

from typing import Any, Protocol

from alrviz.fitting.objectives.ridge import Point
from alrviz.passes.rows import Floats


class ObjectiveProtocol(Protocol):
    """An objective on its training rows. Weights, points and models are of its own kind; solvers know which."""

    @property
    def total(self) -> float:
        """Weight of the training rows."""

    @property
    def n_classes(self) -> int:
        """C."""

    @property
    def alpha(self) -> float | Floats:
        """Strength of the penalty, of all weights or of each."""

    @property
    def bounds(self) -> Any:
        """Between which every weight stays; None for anywhere."""

    @property
    def loss(self) -> Any:
        """What a row costs."""

    @property
    def scale(self) -> Floats | None:
        """Of phi = scale * w[owner]; None where weights have no such units."""

    @property
    def judged_as(self) -> str:
        """What `judged` returns, in words."""

    def scores(self, w: Floats, rows: Any = None) -> Floats:
        """Return the scores (N, W) of the training rows, or of others of the objective's kind."""

    def value_grad(self, w: Floats) -> Point:
        """Return the point at `w`, shaped as all weights of the objective are."""

    def monitored(self, point: Any) -> float:
        """Return the value whose fall over the last steps says whether there is more to gain."""

    def criterion(self, point: Any) -> float:
        """Return what must be small at the optimum: the largest slope, per row."""

    def phi_norm(self, w: Floats) -> float:
        """Return the length of what the weights say; w is shaped as for `value_grad`."""

    def release(self, point: Any) -> None:
        """Keep no room any more: a fit has ended at `point`, or before it had any."""

    def model(self, w: Floats) -> Any:
        """Return the model with weights `w`, shaped as for `value_grad`."""

    def weights_of(self, model: Any) -> Floats:
        """Return the weights of a model of the same kind, cells and classes, shaped as for `value_grad`."""
