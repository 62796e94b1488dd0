"""A still of a Bokeh figure as SVG, drawn without a browser: what a report of one file holds.

It is drawn as the PNG is (`still`), with a pen that writes elements instead of pixels.
"""

import base64
import io
import math
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from alrviz.pictures.picture import FONT_NAME
from alrviz.pictures.still import FigureDrawing, Pen

_SIDE = {"l": "start", "m": "middle", "r": "end"}
_DOWN = {"a": 0.8, "m": 0.35, "d": -0.2}  # from the point named to the line that letters stand on, of their size


def still_svg(figure: Any, label: str, *, width: int = 520, height: int = 320) -> str:
    """Return a figure as an SVG element, `label` being what it is for who hears it."""
    pen = SvgPen()
    FigureDrawing(figure, pen, (0.0, 0.0, float(width), float(height))).draw()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(_plain(label))}" style="max-width:{width}px;width:100%" '
        f'font-family="{FONT_NAME}">{"".join(pen.parts)}</svg>'
    )


class SvgPen(Pen):
    """Writes elements in px of the page."""

    def __init__(self) -> None:
        probe = Image.new("RGB", (8, 8))  # which letters are measured with
        super().__init__(ImageDraw.Draw(probe), probe, 1.0)
        self.parts: list[str] = []
        self.size = 0.0, 0.0

    def width(self, words: str, size: float) -> float:
        """Return how wide words are at most, about: the reader's letters may be wider than those measured with."""
        return 1.15 * super().width(words, size)

    def within(self, box: tuple[float, float, float, float]) -> "SvgPen":
        """Return a pen for a part of its own; `laid` puts it in its place."""
        part = SvgPen()
        part.size = box[2] - box[0], box[3] - box[1]
        return part

    def laid(self, part: Pen, left: float, top: float) -> None:
        """Put a part in its place; what stands out of it is not seen."""
        assert isinstance(part, SvgPen)
        wide, high = part.size
        place = f'x="{left:.1f}" y="{top:.1f}" width="{max(wide, 0):.1f}" height="{max(high, 0):.1f}"'
        self.parts.append(f'<svg {place} overflow="hidden">{"".join(part.parts)}</svg>')

    def text(self, x: float, y: float, words: str, size: float, colour: Any, anchor: str, tilt: float = 0.0) -> None:
        """Write words; `anchor` is Pillow's. tilt: radians, upward to the right."""
        side, down = _SIDE.get(anchor[0], "start"), _DOWN.get(anchor[1], 0.0) * size
        turn = ""
        if tilt:
            upright = tilt > 1.5  # the label of a vertical axis, which stands in the middle of its place
            side, x, down = ("middle", x + size / 2, 0.35 * size) if upright else (side, x, down)
            turn = f' transform="rotate({-math.degrees(tilt):.1f} {x:.1f} {y:.1f})"'
        self.parts.append(
            f'<text x="{x:.1f}" y="{y + down:.1f}" font-size="{size:.1f}" text-anchor="{side}"'
            f"{_ink('fill', colour)}{turn}>{escape(_plain(words))}</text>"
        )

    def line(self, points: NDArray[np.float64], colour: Any, width: float = 1.0, dash: Any = ()) -> None:
        """Draw a line through points (n, 2); what is not finite breaks it."""
        good: NDArray[np.bool_] = np.all(np.isfinite(points), axis=1)
        runs = np.split(np.arange(len(points)), np.flatnonzero(np.diff(good)) + 1)
        paths = [_path(points[run]) for run in runs if len(run) > 1 and good[run[0]]]
        if paths:
            dashes = f' stroke-dasharray="{" ".join(f"{d:g}" for d in dash)}"' if len(dash) else ""
            self.parts.append(
                f'<path d="{"".join(paths)}" fill="none"{_ink("stroke", colour)} stroke-width="{width:g}"{dashes}/>'
            )

    def area(self, points: NDArray[np.float64], fill: Any, outline: Any = None, width: float = 1.0) -> None:
        """Fill a polygon (n, 2)."""
        if len(points) > 2:
            edge = "" if outline is None else f'{_ink("stroke", outline)} stroke-width="{width:g}"'
            self.parts.append(f'<path d="{_path(points)}Z"{_ink("fill", fill)}{edge}/>')

    def circle(self, at: tuple[float, float], radius: float, fill: Any, line: Any, width: float) -> None:
        """Draw a circle."""
        edge = "" if line is None else f'{_ink("stroke", line)} stroke-width="{width:g}"'
        self.parts.append(f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius:g}"{_ink("fill", fill)}{edge}/>')

    def pixels(self, picture: Image.Image, box: tuple[float, float, float, float]) -> None:
        """Put an image into a box: left, top, right, bottom."""
        out = io.BytesIO()
        picture.save(out, "PNG", optimize=True)
        left, top, right, bottom = box
        self.parts.append(
            f'<image x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" '
            'preserveAspectRatio="none" style="image-rendering:pixelated" '
            f'href="data:image/png;base64,{base64.b64encode(out.getvalue()).decode("ascii")}"/>'
        )


def _path(points: NDArray[np.float64]) -> str:
    clipped = np.clip(points, -1e4, 1e4)
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in clipped.tolist())


def _ink(what: str, colour: Any) -> str:
    """The attributes of a colour: a name, or numbers with their opacity."""
    if colour is None:
        return f' {what}="none"'
    if isinstance(colour, str):
        return f' {what}="{escape(colour)}"'
    red, green, blue, *rest = colour
    shown = f' {what}="#{red:02x}{green:02x}{blue:02x}"'
    return shown if not rest or rest[0] == 255 else f'{shown} {what}-opacity="{rest[0] / 255:.2f}"'


def _plain(words: str) -> str:
    """Text without what XML does not allow."""
    return "".join(sign if sign.isprintable() else " " for sign in words)
