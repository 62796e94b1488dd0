"""Panels beside one another as SVG text: two methods set against each other, curves, probability over a plane."""

from collections.abc import Mapping, Sequence
from math import ceil, log10
from typing import Any

import numpy as np
import pandas as pd

from alrviz.pictures.palette import FAMILY_COLOURS, GREY
from reproduction.svg import line, page, text

LEFT, TOP = 60, 60

# -- two methods, a point a set: below the diagonal the first is less -------------------------------------------------

SIDE, PAIRS_ACROSS = 210, 4
_PAIR_GAP_X, _PAIR_GAP_Y = 60, 70


def scatter(points: pd.DataFrame, title: str) -> str:
    """Return the picture of points with columns panel, set, x, y, x_name, y_name, log: a panel for each `panel`."""
    panels = list(dict.fromkeys(points["panel"])) if len(points) else []
    rows = max(1, ceil(len(panels) / PAIRS_ACROSS))
    width = LEFT + PAIRS_ACROSS * (SIDE + _PAIR_GAP_X)
    parts = [text(title, 12, 22, kind="title")]
    if not panels:
        parts.append(text("no data yet", 12, 50, kind="quiet"))
    for k, name in enumerate(panels):
        left = LEFT + (k % PAIRS_ACROSS) * (SIDE + _PAIR_GAP_X)
        top = TOP + (k // PAIRS_ACROSS) * (SIDE + _PAIR_GAP_Y)
        parts += _pair_panel(points[points["panel"] == name], name, left, top)
    return page(parts, width, TOP + rows * (SIDE + _PAIR_GAP_Y))


def _pair_panel(points: pd.DataFrame, name: str, left: float, top: float) -> list[str]:
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


# -- curves, a panel a set; the horizontal axis is logarithmic ---------------------------------------------------------

WIDTH, HEIGHT, CURVES_ACROSS = 290, 190, 3
_CURVE_GAP_X, _CURVE_GAP_Y = 75, 60
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#882255", "#117733", GREY)


def curves(points: pd.DataFrame, title: str) -> str:
    """Return the picture of points with columns panel, method, x, y, x_name, y_name: a panel for each `panel`, a line a
    method.
    """
    panels = list(dict.fromkeys(points["panel"])) if len(points) else []
    methods = list(dict.fromkeys(points["method"])) if len(points) else []
    colours = {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(methods)}
    width = LEFT + min(max(1, len(panels)), CURVES_ACROSS) * (WIDTH + _CURVE_GAP_X)
    parts = [text(title, 12, 22, kind="title")]
    if not panels:
        parts.append(text("no data yet", 12, 42, kind="quiet"))
    legend_x = 12.0
    for name, colour in colours.items():
        parts += [line((legend_x, legend_x + 16), (38, 38), colour, 2.5), text(name, legend_x + 20, 42, kind="quiet")]
        legend_x += 34 + 6.5 * len(name)
    for k, panel in enumerate(panels):
        corner = (
            LEFT + (k % CURVES_ACROSS) * (WIDTH + _CURVE_GAP_X),
            TOP + 14 + (k // CURVES_ACROSS) * (HEIGHT + _CURVE_GAP_Y),
        )
        parts += _curve_panel(points[points["panel"] == panel], str(panel), colours, corner)
    return page(
        parts,
        max(width, legend_x, 24 + 7.5 * len(title)),
        TOP + max(1, ceil(len(panels) / CURVES_ACROSS)) * (HEIGHT + _CURVE_GAP_Y),
    )


def _curve_panel(points: pd.DataFrame, name: str, colours: dict[str, str], corner: tuple[float, float]) -> list[str]:
    left, top = corner
    points = points[points["x"] > 0]
    x, y = np.log10(points["x"].to_numpy(float)), points["y"].to_numpy(float)
    ends_x, ends_y = (float(x.min()), float(x.max())), (float(y.min()), float(y.max()))
    wide, high = (ends_x[1] - ends_x[0]) or 1.0, (ends_y[1] - ends_y[0]) or abs(ends_y[1]) or 1.0
    bottom, right = top + HEIGHT, left + WIDTH
    parts = [text(name, left, top - 6, kind="title")]
    parts += [line((left, right), (bottom, bottom)), line((left, left), (top, bottom))]
    for method, curve in points.groupby("method", sort=False):
        spots = zip(np.log10(curve["x"].to_numpy(float)), curve["y"].to_numpy(float), strict=True)
        joined = " ".join(
            f"{left + WIDTH * (u - ends_x[0]) / wide:.0f},{bottom - HEIGHT * (v - ends_y[0]) / high:.0f}"
            for u, v in spots
        )
        colour = colours[str(method)]
        parts.append(f'<polyline points="{joined}" style="fill:none;stroke:{colour};stroke-width:1.5"/>')
    for value, label_x, anchor in ((ends_x[0], left, "start"), (ends_x[1], right, "end")):
        parts.append(text(f"{10**value:.3g}", label_x, bottom + 14, kind="quiet", anchor=anchor))
    parts.append(text(f"{ends_y[1]:.3g}", left - 4, top + 9, kind="quiet", anchor="end"))
    parts.append(text(f"{ends_y[0]:.3g}", left - 4, bottom, kind="quiet", anchor="end"))
    x_name, y_name = points["x_name"].iloc[0], points["y_name"].iloc[0]
    parts.append(text(f"{x_name} →", left + WIDTH / 2, bottom + 14, kind="quiet", anchor="middle"))
    parts.append(text(f"↑ {y_name}", right, top - 6, kind="quiet", anchor="end"))
    return parts


# -- probability over a plane, and points on it, a panel a row ---------------------------------------------------------

PANEL, GAP = 324, 24
# p of the second class in tenths, from the first class's colour to the second's; white at one half.
RAMP = ("#0072b2", "#3a8fc3", "#6dacd3", "#9dc8e2", "#cfe4f0", "#f8dfcc", "#efbf99", "#e69f66", "#de7f33", "#d55e00")
_EDGE = "#222"


def maps(rows: Sequence[Mapping[str, Any]], title: str, edge: float) -> str:
    """Return the picture of rows with method and either map (lists of tenths, from the bottom) or points (x, y, class).

    The plane goes from -edge to edge on both axes.
    """
    parts = [text(title, 12, 22, kind="title")]
    for k, row in enumerate(rows):
        left = 12 + k * (PANEL + GAP)
        parts.append(text(str(row["method"]), left, TOP - 10, kind="title"))
        if isinstance(row.get("map"), list):
            parts += _cells(row["map"], left)
        if isinstance(row.get("points"), list):
            parts += _points(row["points"], left, edge)
        parts.append(
            f'<rect x="{left}" y="{TOP}" width="{PANEL}" height="{PANEL}" style="fill:none;stroke:{_EDGE};'
            f'stroke-width:0.5"/>'
        )
    return page(parts, 24 + max(1, len(rows)) * (PANEL + GAP), TOP + PANEL + 16)


def _cells(tenths: Sequence[Sequence[int]], left: float) -> list[str]:
    """Return the cells, those of one colour side by side as one."""
    size, parts = PANEL / len(tenths), []
    for k, row in enumerate(tenths):
        y, begin = TOP + PANEL - (k + 1) * size, 0
        for j in range(1, len(row) + 1):
            if j == len(row) or row[j] != row[begin]:
                place = f'x="{left + begin * size:.4g}" y="{y:.4g}" width="{(j - begin) * size + 0.3:.4g}"'
                parts.append(f'<rect {place} height="{size + 0.3:.3g}" fill="{RAMP[row[begin]]}"/>')
                begin = j
    return parts


def _points(points: Sequence[Sequence[float]], left: float, edge: float) -> list[str]:
    spots = []
    for x, y, second in points:
        if abs(x) < edge and abs(y) < edge:
            x_spot, y_spot = left + PANEL * (x + edge) / (2 * edge), TOP + PANEL * (edge - y) / (2 * edge)
            spots.append(f'<circle cx="{x_spot:.0f}" cy="{y_spot:.0f}" r="2.5" fill="{RAMP[-1 if second else 0]}"/>')
    return spots
