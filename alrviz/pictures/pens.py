"""Pens that draw a figure without a browser, in px of the page: as pixels (Pillow), or as elements of an SVG.

Bokeh's own SVG needs a browser, and a renderer of SVG another package and the fonts of its machine; Pillow comes with
Bokeh and brings its letters along. So there are two pens, and one drawing (`still`).
"""

import base64
import io
import math
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

Points = NDArray[np.float64]  # (n, 2)
Colour = str | tuple[int, ...] | None  # a name, or red, green, blue and opacity up to 255; None draws nothing
Box = tuple[float, float, float, float]  # left, top, right, bottom
_SIDES = {
    "square": (4, math.pi / 4), "triangle": (3, -math.pi / 2), "inverted_triangle": (3, math.pi / 2),
    "diamond": (4, 0.0), "hex": (6, 0.0),
}  # fmt: skip
_ANGLES = {"x": (math.pi / 4, -math.pi / 4), "cross": (0.0, math.pi / 2)}
_ANCHORS = {"l": "start", "m": "middle", "r": "end"}
_BASELINE_DROPS = {
    "a": 0.8,
    "m": 0.35,
    "d": -0.2,
}  # from the point named to the line that letters stand on, of their size


@cache
def font(size: int) -> Any:
    """Return the font that comes with Pillow, with letters of `size` px."""
    return ImageFont.load_default(max(size, 4))


class Pen:
    """Draws on an image. Colours are names, or tuples of red, green, blue and opacity, from 0 to 255.

    unit: pixels drawn for one of the page.
    """

    def __init__(self, image: Image.Image, unit: float):
        self.image, self.unit = image, unit
        self._draw = ImageDraw.Draw(image, "RGBA")

    def width(self, words: str, size: float) -> float:
        """Return the width, px, of words in letters of `size` px, in one line."""
        return float(font(round(size * self.unit)).getlength(one_line(words))) / self.unit

    def line(self, points: Points, colour: Colour, width: float = 1.0, dash: Sequence[float] = ()) -> None:
        """Draw a line through points (n, 2), px, broken by values that are not finite.

        colour: as `stroke` takes it; width: px; dash: lengths of dashes and gaps in turn, () for a solid line.
        """
        finite: NDArray[np.bool_] = np.all(np.isfinite(points), axis=1)
        for run in np.split(np.arange(len(points)), np.flatnonzero(np.diff(finite)) + 1):
            if len(run) > 1 and finite[run[0]]:
                self.stroke(points[run], colour, width, dash)

    def mark(
        self,
        kind: str,
        centre: tuple[float, float],
        size: float,
        fill: Colour,
        line: Colour,
        width: float,
        angle: float = 0,
    ) -> None:  # fmt: skip
        """Draw a marker as Bokeh does.

        kind: its name in Bokeh; centre, size, width: its place, diameter and line width, px; fill, line: colours or
        None; angle: radians.
        """
        half = size / 2
        if kind in ("dash", "x", "cross"):
            for stroke_angle in _ANGLES.get(kind, (angle,)):
                half_line = half * np.array([math.cos(stroke_angle), math.sin(stroke_angle)])
                self.line(np.array([centre - half_line, centre + half_line]), line if line is not None else fill, width)
        elif kind in _SIDES:
            n_sides, first_angle = _SIDES[kind]
            angles = first_angle + 2 * math.pi * np.arange(n_sides) / n_sides
            reach = half * {3: 1.15, 4: 1.25, 6: 1.05}[n_sides] * (1.1 if kind == "square" else 1.0)
            self.area(np.array(centre) + reach * np.column_stack([np.cos(angles), np.sin(angles)]), fill, line, width)
        else:
            self.circle(centre, half, fill, line, width)

    def part(self, box: Box) -> "Pen":
        """Return a pen for a part of the picture, from its left upper corner; `put` puts it in its place."""
        left, top, right, bottom = (round(side * self.unit) for side in box)
        return Pen(self.image.crop((left, top, right, bottom)), self.unit)

    def put(self, part: Any, left: float, top: float) -> None:
        """Put a part with its top left corner at (left, top), in pixels; it is cut off at its own size."""
        self.image.paste(part.image, (round(left * self.unit), round(top * self.unit)))

    def text(self, x: float, y: float, words: str, size: float, colour: Colour, anchor: str, tilt: float = 0.0) -> None:
        """Write words at (x, y), px.

        size: of the letters, px; colour: as in `stroke`; anchor: as Pillow names it; tilt: radians, upward to the
        right.
        """
        font_, words = font(round(size * self.unit)), one_line(words)
        if not tilt:
            self._draw.text((x * self.unit, y * self.unit), words, font=font_, fill=colour, anchor=anchor)
            return
        box = font_.getbbox(words)
        letters_image = Image.new("L", (int(box[2]) + 4, int(box[3]) + 6), 0)
        ImageDraw.Draw(letters_image).text((2, 2), words, font=font_, fill=255)
        turned_image = letters_image.rotate(math.degrees(tilt), expand=True, resample=Image.Resampling.BICUBIC)
        x_share, y_share = {"m": 0.5, "r": 1.0}.get(anchor[0], 0.0), {"m": 0.5}.get(anchor[1], 0.0)
        left, top = x * self.unit - turned_image.width * x_share, y * self.unit - turned_image.height * y_share
        self.image.paste(Image.new("RGB", turned_image.size, colour), (round(left), round(top)), turned_image)

    def stroke(self, points: Points, colour: Colour, width: float, dash: Sequence[float]) -> None:
        """Draw a line through finite points (n, 2).

        colour: (red, green, blue, opacity), each up to 255; width: px; dash: lengths of dashes and gaps in turn, px.
        """
        for piece in _dashed(self._scaled(points), [length * self.unit for length in dash]):
            self._draw.line([*map(tuple, piece)], fill=colour, width=self._thickness(width), joint="curve")

    def area(self, points: Points, fill: Colour, outline: Colour = None, width: float = 1.0) -> None:
        """Fill the polygon of these points (n, 2); fill, outline: colours or None; width: of the outline, px."""
        corners = [tuple(point) for point in self._scaled(points)]
        if len(corners) > 2 and fill is not None:
            self._draw.polygon(corners, fill=fill)
        if len(corners) > 2 and outline is not None:
            self._draw.line([*corners, *corners[:2]], fill=outline, width=self._thickness(width))

    def circle(self, centre: tuple[float, float], radius: float, fill: Colour, line: Colour, width: float) -> None:
        """Draw a circle: centre and radius, px, colours (or None) of fill and line, and the line's width, px."""
        box = [(side + offset) * self.unit for offset in (-radius, radius) for side in centre]
        self._draw.ellipse(box, fill=fill, outline=line, width=self._thickness(width))

    def pixels(self, picture: Image.Image, box: Box) -> None:
        """Paste the image `picture` into a box, px."""
        left, top, right, bottom = (side * self.unit for side in box)
        size = round(right - left), round(bottom - top)
        if min(size) >= 1 and max(size) <= 20_000:
            resized = picture.resize(size, Image.Resampling.NEAREST)
            self.image.paste(resized, (round(left), round(top)), resized)

    def _scaled(self, points: Points) -> Points:
        return np.clip(points * self.unit, -1e5, 1e5)

    def _thickness(self, width: float) -> int:
        return max(round(width * self.unit), 1)


def _dashed(points: Points, dash: list[float]) -> Iterator[Points]:
    """Yield the dashes of a line; the line itself where it has no pattern."""
    if sum(dash) <= 0:
        yield points
        return
    ends = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(points, axis=0).T))])
    dash_start, dash_index = 0.0, 0
    while dash_start < ends[-1]:
        dash_end = min(dash_start + dash[dash_index % len(dash)], ends[-1])
        if dash_index % 2 == 0:
            dash_distances = np.concatenate([[dash_start], ends[(ends > dash_start) & (ends < dash_end)], [dash_end]])
            yield np.column_stack([np.interp(dash_distances, ends, points[:, coordinate]) for coordinate in (0, 1)])
        dash_start, dash_index = dash_end, dash_index + 1


class SvgPen(Pen):
    """Writes elements, `parts`."""

    def __init__(self, size: tuple[float, float] = (0.0, 0.0)):
        self.parts: list[str] = []
        self.size, self.unit = size, 1.0

    def width(self, words: str, size: float) -> float:
        """Return about the largest width of words in letters of `size` px; the reader's font may be wider than ours."""
        return 1.15 * super().width(words, size)

    def part(self, box: Box) -> "Pen":
        """Return a pen for a part of the picture, from its left upper corner; `put` puts it in its place."""
        return SvgPen((max(box[2] - box[0], 0), max(box[3] - box[1], 0)))

    def put(self, part: Any, left: float, top: float) -> None:
        """Put a part with its top left corner at (left, top), in pixels; it is cut off at its own size."""
        place_attributes = f'x="{left:.1f}" y="{top:.1f}" width="{part.size[0]:.1f}" height="{part.size[1]:.1f}"'
        self.parts.append(f'<svg {place_attributes} overflow="hidden">{"".join(part.parts)}</svg>')

    def text(self, x: float, y: float, words: str, size: float, colour: Colour, anchor: str, tilt: float = 0.0) -> None:
        """Write words at (x, y), px; size: of the letters, px; colour, anchor, tilt: as `Pen.text` takes them."""
        side, drop = _ANCHORS.get(anchor[0], "start"), _BASELINE_DROPS.get(anchor[1], 0.0) * size
        turn_attribute = f' transform="rotate({-math.degrees(tilt):.1f} {x:.1f} {y:.1f})"' if tilt else ""
        if tilt > 1.5:  # the label of a vertical axis, which stands in the middle of its place
            side, drop = "middle", 0.35 * size
            turn_attribute = f' transform="rotate({-math.degrees(tilt):.1f} {x + size / 2:.1f} {y:.1f})"'
            x += size / 2
        self.parts.append(
            f'<text x="{x:.1f}" y="{y + drop:.1f}" font-size="{size:.1f}" text-anchor="{side}"'
            f"{_ink('fill', colour)}{turn_attribute}>{escape(plain(words))}</text>"
        )

    def stroke(self, points: Points, colour: Colour, width: float, dash: Sequence[float]) -> None:
        """Draw a line through finite points (n, 2); colour, width, dash: as `Pen.stroke` takes them."""
        dash_attribute = f' stroke-dasharray="{" ".join(f"{length:g}" for length in dash)}"' if len(dash) else ""
        look_attributes = f'fill="none"{_edge(colour, width)}{dash_attribute}'
        self.parts.append(f'<path d="{_path(points)}" {look_attributes}/>')

    def area(self, points: Points, fill: Colour, outline: Colour = None, width: float = 1.0) -> None:
        """Fill the polygon of these points (n, 2); fill, outline: colours or None; width: of the outline, px."""
        if len(points) > 2:
            self.parts.append(f'<path d="{_path(points)}Z"{_ink("fill", fill)}{_edge(outline, width)}/>')

    def circle(self, centre: tuple[float, float], radius: float, fill: Colour, line: Colour, width: float) -> None:
        """Draw a circle: centre and radius, px, colours (or None) of fill and line, and the line's width, px."""
        look_attributes = f"{_ink('fill', fill)}{_edge(line, width)}"
        self.parts.append(f'<circle cx="{centre[0]:.1f}" cy="{centre[1]:.1f}" r="{radius:g}"{look_attributes}/>')

    def pixels(self, picture: Image.Image, box: Box) -> None:
        """Embed the image `picture` into a box, px."""
        out = io.BytesIO()
        picture.save(out, "PNG", optimize=True)
        left, top, right, bottom = box
        self.parts.append(
            f'<image x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" '
            'preserveAspectRatio="none" style="image-rendering:pixelated" '
            f'href="data:image/png;base64,{base64.b64encode(out.getvalue()).decode("ascii")}"/>'
        )


def _path(points: Points) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in np.clip(points, -1e4, 1e4).tolist())


def _edge(colour: Colour, width: float) -> str:
    return "" if colour is None else f'{_ink("stroke", colour)} stroke-width="{width:g}"'


def _ink(attribute_name: str, colour: Colour) -> str:
    """Return the SVG attributes of a colour; attribute_name: "fill" or "stroke"."""
    if colour is None or isinstance(colour, str):
        return f' {attribute_name}="{escape(colour or "none")}"'
    red, green, blue, opacity = colour
    attribute = f' {attribute_name}="#{red:02x}{green:02x}{blue:02x}"'
    return attribute if opacity == 255 else f'{attribute} {attribute_name}-opacity="{opacity / 255:.2f}"'


def one_line(words: str) -> str:
    """Return words without breaks."""
    return " ".join(words.split())


def plain(words: str) -> str:
    """Return words without what XML does not allow."""
    return "".join(sign if sign.isprintable() else " " for sign in words)
