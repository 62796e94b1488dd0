"""Probability over a plane, and points on it, beside one another as SVG text: a panel a row with a map or points."""

from collections.abc import Mapping, Sequence
from typing import Any

from alrviz.reproduce.svg import page, text

PANEL, TOP, GAP = 324, 60, 24
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
    for k, line in enumerate(tenths):
        y, begin = TOP + PANEL - (k + 1) * size, 0
        for j in range(1, len(line) + 1):
            if j == len(line) or line[j] != line[begin]:
                place = f'x="{left + begin * size:.4g}" y="{y:.4g}" width="{(j - begin) * size + 0.3:.4g}"'
                parts.append(f'<rect {place} height="{size + 0.3:.3g}" fill="{RAMP[line[begin]]}"/>')
                begin = j
    return parts


def _points(points: Sequence[Sequence[float]], left: float, edge: float) -> list[str]:
    spots = []
    for x, y, second in points:
        if abs(x) < edge and abs(y) < edge:
            across, up = left + PANEL * (x + edge) / (2 * edge), TOP + PANEL * (edge - y) / (2 * edge)
            spots.append(f'<circle cx="{across:.0f}" cy="{up:.0f}" r="2.5" fill="{RAMP[-1 if second else 0]}"/>')
    return spots
