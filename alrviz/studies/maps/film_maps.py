"""Decision maps of a dlr fit's film: one for each step, on the two columns that move scores most."""

from typing import Any

from alrviz.studies.density.density_frames import DensityFrame
from alrviz.studies.maps.axes import Axis, axes_of
from alrviz.studies.maps.decision_map import Surface, decision_map, frame_of

SIDE_PLACES = 64  # places along a scale; maps of 120 steps then take half a megabyte


def film_axes(scene: DensityFrame, dataset: Any) -> tuple[Axis, Axis] | None:
    """Return axes for the two columns that move the scores of the last scene most, in the table's order.

    None if fewer than two columns have a feature.
    """
    frame = frame_of(dataset.X)
    names = [str(name) for name in frame.columns]
    chosen = sorted(scene.columns, key=lambda ratio: (ratio.x is None, -ratio.importance))[:2]
    if len(chosen) < 2:
        return None
    across, up = sorted(names.index(ratio.column) for ratio in chosen)
    return axes_of(frame, (frame.columns[across], frame.columns[up]))


def film_map(model: Any, dataset: Any, axes: tuple[Axis, Axis], *, points: bool) -> Surface:
    """Return the map of one step's model; points: whether to show the table's rows."""
    across, up = axes
    y = dataset.y if points else None
    (surface,) = decision_map(model, dataset.X, y, across=across, up=up, sides=(SIDE_PLACES,))
    return surface
