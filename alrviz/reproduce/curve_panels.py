"""Curves beside one another, a panel a set, as SVG text; the horizontal axis is logarithmic."""

from math import ceil

import numpy as np
import pandas as pd

from alrviz.pictures.palette import GREY
from alrviz.reproduce.svg import line, page, text

WIDTH, HEIGHT, LEFT, TOP, ACROSS = 290, 190, 60, 60, 3
_GAP_X, _GAP_Y = 75, 60
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#117733", GREY)


def curves(points: pd.DataFrame, title: str) -> str:
    """Return the picture of points with columns panel, method, x, y: a panel for each `panel`, a line a method."""
    panels = list(dict.fromkeys(points["panel"])) if len(points) else []
    methods = list(dict.fromkeys(points["method"])) if len(points) else []
    colours = {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(methods)}
    width = LEFT + ACROSS * (WIDTH + _GAP_X)
    parts = [text(title, 12, 22, kind="title")]
    if not panels:
        parts.append(text("no data yet", 12, 42, kind="quiet"))
    at = 12.0
    for name, colour in colours.items():
        parts += [line((at, at + 16), (38, 38), colour, 2.5), text(name, at + 20, 42, kind="quiet")]
        at += 34 + 6.5 * len(name)
    for k, panel in enumerate(panels):
        corner = (LEFT + (k % ACROSS) * (WIDTH + _GAP_X), TOP + 14 + (k // ACROSS) * (HEIGHT + _GAP_Y))
        parts += _panel(points[points["panel"] == panel], str(panel), colours, corner)
    return page(parts, max(width, at), TOP + max(1, ceil(len(panels) / ACROSS)) * (HEIGHT + _GAP_Y))


def _panel(points: pd.DataFrame, name: str, colours: dict[str, str], corner: tuple[float, float]) -> list[str]:
    left, top = corner
    points = points[points["x"] > 0]
    x, y = np.log10(points["x"].to_numpy(float)), points["y"].to_numpy(float)
    ends_x, ends_y = (float(x.min()), float(x.max())), (float(y.min()), float(y.max()))
    wide, high = (ends_x[1] - ends_x[0]) or 1.0, (ends_y[1] - ends_y[0]) or abs(ends_y[1]) or 1.0
    bottom, right = top + HEIGHT, left + WIDTH
    parts = [text(name, left, top - 6, kind="title")]
    parts += [line((left, right), (bottom, bottom)), line((left, left), (top, bottom))]
    for method, own in points.groupby("method", sort=False):
        spots = zip(np.log10(own["x"].to_numpy(float)), own["y"].to_numpy(float), strict=True)
        joined = " ".join(
            f"{left + WIDTH * (u - ends_x[0]) / wide:.0f},{bottom - HEIGHT * (v - ends_y[0]) / high:.0f}"
            for u, v in spots
        )
        colour = colours[str(method)]
        parts.append(f'<polyline points="{joined}" style="fill:none;stroke:{colour};stroke-width:1.5"/>')
    for value, at, anchor in ((ends_x[0], left, "start"), (ends_x[1], right, "end")):
        parts.append(text(f"{10**value:.3g}", at, bottom + 14, kind="quiet", anchor=anchor))
    parts.append(text(f"{ends_y[1]:.3g}", left - 4, top + 9, kind="quiet", anchor="end"))
    parts.append(text(f"{ends_y[0]:.3g}", left - 4, bottom, kind="quiet", anchor="end"))
    return parts
