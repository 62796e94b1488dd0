"""Two methods set against each other, a point a set, as SVG text: below the diagonal the first is less."""

from math import ceil, log10

import numpy as np
import pandas as pd

from alrviz.pictures.palette import FAMILY_COLOURS
from alrviz.reproduce.svg import line, page, text

SIDE, LEFT, TOP, ACROSS = 210, 60, 60, 4
_GAP_X, _GAP_Y = 60, 70


def scatter(points: pd.DataFrame, title: str) -> str:
    """Return the picture of points with columns panel, set, x, y, x_name, y_name, log: a panel for each `panel`."""
    panels = list(dict.fromkeys(points["panel"])) if len(points) else []
    rows = max(1, ceil(len(panels) / ACROSS))
    width = LEFT + ACROSS * (SIDE + _GAP_X)
    parts = [text(title, 12, 22, kind="title")]
    if not panels:
        parts.append(text("no data yet", 12, 50, kind="quiet"))
    for k, name in enumerate(panels):
        left = LEFT + (k % ACROSS) * (SIDE + _GAP_X)
        top = TOP + (k // ACROSS) * (SIDE + _GAP_Y)
        parts += _panel(points[points["panel"] == name], name, left, top)
    return page(parts, width, TOP + rows * (SIDE + _GAP_Y))


def _panel(points: pd.DataFrame, name: str, left: float, top: float) -> list[str]:
    x, y = points["x"].to_numpy(float), points["y"].to_numpy(float)
    log = bool(points["log"].iloc[0]) and min(x.min(), y.min()) > 0
    values = np.concatenate([x, y])
    if log:
        values, x, y = np.log10(values), np.log10(x), np.log10(y)
    low, high = float(values.min()), float(values.max())
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    low, high = low - margin, high + margin

    def place(value: float) -> float:
        return SIDE * (value - low) / (high - low)

    bottom, right = top + SIDE, left + SIDE
    head, _, figures = name.partition(": ")
    parts = [text(head, left, top - 20, kind="title"), text(figures, left, top - 6, kind="quiet")]
    corners = (((left, right), (bottom, bottom)), ((left, left), (top, bottom)), ((left, right), (bottom, top)))
    parts += [line(*corner) for corner in corners]
    colour = FAMILY_COLOURS["alr"]
    for one_x, one_y in zip(x, y, strict=True):
        spot = f'cx="{left + place(one_x):.0f}" cy="{bottom - place(one_y):.0f}"'
        parts.append(f'<circle {spot} r="3" fill="{colour}" fill-opacity="0.6"/>')
    for value, x_at, anchor in ((low, left, "start"), (high, right, "end")):
        parts.append(text(_number(value, log), x_at, bottom + 13, kind="quiet", anchor=anchor))
    parts.append(text(_number(high, log), left - 4, top + 10, kind="quiet", anchor="end"))
    parts.append(text(f"{points['x_name'].iloc[0]} →", left + SIDE / 2, bottom + 28, kind="quiet", anchor="middle"))
    parts.append(text(f"↑ {points['y_name'].iloc[0]}", left + 5, top + 12, kind="quiet"))
    return parts


def _number(value: float, log: bool) -> str:
    value = 10.0**value if log else value
    digits = 2 if value == 0 or abs(log10(abs(value))) < 6 else 1
    return f"{value:.{digits}g}"
