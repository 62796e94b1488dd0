"""The decision map of a film: at every step the ground of two columns, a byte a place, and some rows on it.

    byte = winner * L + round(certainty * (L - 1)),   L = 256 // C

so that the player has class and certainty (decision_map.py) of every place, and draws the boundary between them.
"""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alrviz.pictures.columns import class_colours
from alrviz.pictures.decision_map import MAX_OPACITY, MIN_OPACITY, certainty
from alrviz.studies.maps.decision_map import Surface

# Beyond it a byte tells fewer than four shades.
MOST_CLASSES = 64
POINTS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """A map that changes with the step.

    surfaces: one a step, on the same axes; the last one's points are shown, at most `POINTS`. note: said below.
    """

    surfaces: Sequence[Surface]
    note: str = ""


def ground_content(ground: Ground) -> dict[str, Any]:
    """Return a map's data for the player."""
    last_surface = ground.surfaces[-1]
    frames = np.array([_class_and_certainty_codes(surface) for surface in ground.surfaces])
    return {
        "across": _axis(last_surface.across),
        "up": _axis(last_surface.up),
        "ratio": last_surface.across.length / last_surface.up.length if last_surface.one_scale else None,
        "rows": frames.shape[1],
        "columns": frames.shape[2],
        "shades": 256 // len(last_surface.classes),
        "classes": list(last_surface.classes),
        "colours": class_colours(len(last_surface.classes)),
        "opacity": [MIN_OPACITY, MAX_OPACITY],
        "points": _points(last_surface),
        "note": ground.note,
        "frames": b64encode(frames.tobytes()).decode(),
    }


def _class_and_certainty_codes(surface: Surface) -> NDArray[np.uint8]:
    """Return one byte for each cell of the map: winning class times shades, plus a shade for its certainty."""
    shades = 256 // len(surface.classes)
    codes = np.maximum(surface.winner, 0) * shades + np.rint(certainty(surface) * (shades - 1)).astype(np.intp)
    return codes.astype(np.uint8)


def _axis(axis: Any) -> dict[str, Any]:
    return {"name": str(axis.name), "low": axis.low, "high": axis.high, "levels": list(axis.levels) or None}


def _points(surface: Surface) -> list[tuple[float, float, int]]:
    points = surface.points
    if points is None:
        return []
    drawn_points = np.linspace(0, len(points.x) - 1, min(POINTS, len(points.x))).astype(np.intp)
    return [(float(f"{points.x[i]:.5g}"), float(f"{points.y[i]:.5g}"), int(points.truth[i])) for i in drawn_points]
