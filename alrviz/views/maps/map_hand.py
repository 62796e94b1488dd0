"""What a hand on a decision map means: a place becomes values of the axes' columns, a point the row it stands for."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from alrviz.views.maps.decision_map import DecisionMapView


class MapHand:
    """A hand on the map of a view, whose `drawing` says what a press means.

    Args:
        view: whose surface is pressed.
        on_add, on_move, on_remove: as `DecisionMapView` takes them; None where nothing is to happen.
    """

    def __init__(
        self,
        view: "DecisionMapView",
        on_add: Callable[[Any, Any], None] | None,
        on_move: Callable[[int, Any, Any], None] | None,
        on_remove: Callable[[int], None] | None,
    ):
        self._view = view
        self._on_add, self._on_move, self._on_remove = on_add, on_move, on_remove

    @property
    def moves(self) -> bool:
        """Whether points may be dragged."""
        return self._on_move is not None

    def press(self, x: float, y: float) -> None:
        """Take a press at a place of the map."""
        view, surface = self._view, self._view.surface
        if surface is None:
            return
        if view.drawing == "add" and self._on_add is not None:
            self._on_add(surface.across.value(x), surface.up.value(y))
        elif view.drawing == "remove" and self._on_remove is not None:
            row = view.picture.nearest(x, y)
            if row is not None:
                self._on_remove(surface.across.column.index[row])

    def drag(self, row: int, x: float, y: float) -> None:
        """Take a point that was dragged to a place."""
        surface = self._view.surface
        if surface is not None and self._on_move is not None:
            self._on_move(surface.across.column.index[row], surface.across.value(x), surface.up.value(y))
