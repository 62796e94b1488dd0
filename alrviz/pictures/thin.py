"""Thinning that keeps what the eye would see: of every stretch of a line its lowest and its highest point.

The line is cut into stretches of equally many points; each contributes its minimum and its maximum in their own order,
and the first and the last point always stay. Spikes survive, which taking every k-th point would lose.
"""

import numpy as np

DENSE = 2_000  # points; beyond it a line of a picture 1,000 pixels wide shows no more


def min_max(y: np.ndarray, limit: int = DENSE) -> np.ndarray:
    """Positions of at most `limit` points of `y` (points,) to draw, ascending; all of them when there are few.

    NaN counts as neither lowest nor highest. `limit` is at least 4.
    """
    if len(y) <= limit:
        return np.arange(len(y))
    stretches = np.array_split(np.arange(1, len(y) - 1), (limit - 2) // 2)
    kept = [0, len(y) - 1]
    for stretch in stretches:
        part = y[stretch]
        if np.isnan(part).all():
            continue
        kept += [int(stretch[np.nanargmin(part)]), int(stretch[np.nanargmax(part)])]
    return np.unique(kept)
