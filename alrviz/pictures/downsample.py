"""Thinning that keeps what the eye would see: of every stretch of a line its lowest and its highest point.

The line is cut into stretches of equally many points; each contributes its minimum and its maximum in their own order,
and the first and the last point always stay. Spikes survive, which taking every k-th point would lose. A stretch has a
power of two of points: while a line grows, all stretches but the last stay what they were, and need not be sent again.
"""

import numpy as np

DENSE = 2_000  # points; beyond it a line of a picture 1,000 pixels wide shows no more


def min_max(y: np.ndarray, limit: int = DENSE) -> np.ndarray:
    """Positions of at most `limit` points of `y` (points,) to draw, ascending; all of them when there are few.

    NaN counts as neither lowest nor highest. `limit` is at least 4.
    """
    inner = len(y) - 2
    if len(y) <= limit:
        return np.arange(len(y))
    size = 1
    while -(-inner // size) > (limit - 2) // 2:
        size *= 2
    stretches = -(-inner // size)
    padded = np.full(stretches * size, np.nan)
    padded[:inner] = y[1:-1]
    table = padded.reshape(stretches, size)
    absent = np.isnan(table)
    begin = 1 + size * np.arange(stretches)
    lowest = begin + np.where(absent, np.inf, table).argmin(axis=1)
    highest = begin + np.where(absent, -np.inf, table).argmax(axis=1)
    there = ~absent.all(axis=1)
    return np.unique(np.concatenate([[0], lowest[there], highest[there], [len(y) - 1]]))
