"""Stills of Bokeh's figures, drawn without a browser: PNG for a notebook's file, SVG for a report of one file.

Bokeh itself draws only in a browser. Here the glyphs, axes and legends that this project's pictures are made of are
drawn with a pen (`pens`). It is the picture, not its every pixel: legends stand above their figure.
"""

import io
import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from bokeh.core.property.vectorization import Value
from bokeh.models import Axis, BoxAnnotation, GlyphRenderer, Label, LogScale, Span
from bokeh.models.annotations import Legend
from bokeh.plotting import figure
from numpy.typing import NDArray
from PIL import Image, ImageColor

from alrviz.pictures.marks import Marks, level_words
from alrviz.pictures.pens import Box, Pen, SvgPen, font, plain
from alrviz.pictures.picture import FONT_NAME

INK, QUIET, GRID, GROUND = "#222222", "#666666", "#e5e5e5", "#ffffff"
SCALE = 1.5  # pixels of the PNG for one of the page
OVERSAMPLING = 2  # pixels drawn for one, then averaged, so that lines are smooth
HEIGHT = 360  # px of one figure; of several that stand beside each other less
MAX_COLUMNS = 2
LEGEND_ROW_PX, LEGEND_SAMPLE_PX = 22, 46  # px of a line of a legend, and of an entry without its words
_LEVELS = ("image", "underlay", "glyph", "guide", "annotation", "overlay")
_DASHES: dict[str, list[float]] = {
    "solid": [], "dashed": [6, 4], "dash": [6, 4], "dotted": [2, 4], "dotdash": [2, 4, 6, 4], "dashdot": [6, 4, 2, 4],
}  # fmt: skip
Ticks = list[tuple[float, str]]


def still(figures: Sequence[figure], words: str = "", *, width: int = 900) -> bytes:
    """Return `figures` as one PNG, with `words` above them.

    width: px as on a page; the PNG has half as many again. Several figures stand in pairs, the last one of an odd
    number by itself.
    """
    per_row = 1 if len(figures) < 2 else MAX_COLUMNS
    height = HEIGHT if per_row == 1 else int(HEIGHT * 0.8)
    text_lines, unit = _wrapped(words, width - 24, 16), SCALE * OVERSAMPLING
    figures_top = 22 * len(text_lines) + (14 if text_lines else 4)
    rows = math.ceil(len(figures) / per_row)
    image = Image.new("RGB", (round(width * unit), round((figures_top + max(rows * height, 4)) * unit)), GROUND)
    pen = Pen(image, unit)
    for k, line in enumerate(text_lines):
        pen.text(12, 8 + 22 * k, line, 16, INK, "la")
    for k, fig in enumerate(figures):
        figure_width = width if k == len(figures) - 1 and k % per_row == 0 else width / per_row
        FigureDrawing(
            fig, pen, ((k % per_row) * width / per_row, figures_top + (k // per_row) * height, figure_width, height)
        ).draw()
    out = io.BytesIO()
    small_image = image.reduce(OVERSAMPLING).quantize(128, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    small_image.save(out, "PNG", optimize=True)
    return out.getvalue()


def still_svg(fig: figure, label: str, *, width: int = 520, height: int = 320) -> str:
    """Return a figure as an SVG element, width x height px; label: its description for screen readers."""
    pen = SvgPen()
    FigureDrawing(fig, pen, (0.0, 0.0, float(width), float(height))).draw()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(plain(label))}" style="max-width:{width}px;width:100%" '
        f'font-family="{FONT_NAME}">{"".join(pen.parts)}</svg>'
    )


def _wrapped(text: str, width: float, size: int) -> list[str]:
    """Return the lines of a text broken at this width, px; size: of the letters."""
    wrapped_lines = [""]
    for word in text.split():
        longer = f"{wrapped_lines[-1]} {word}".strip()
        if font(size).getlength(longer) <= width or not wrapped_lines[-1]:
            wrapped_lines[-1] = longer
        else:
            wrapped_lines.append(word)
    return [line for line in wrapped_lines if line]


def _paint(colour: Any, alpha: float = 1.0) -> tuple[int, ...] | None:
    """Return Bokeh's colour with opacity alpha as pens take it: (red, green, blue, opacity), up to 255, or None."""
    if colour is None or (isinstance(colour, float) and math.isnan(colour)):
        return None
    if isinstance(colour, tuple):
        red, green, blue, *alphas = colour
        return (int(red), int(green), int(blue), round(255 * float(alpha) * float(alphas[0] if alphas else 1)))
    text = str(getattr(colour, "to_css", lambda: colour)())
    return (*ImageColor.getrgb(text)[:3], round(255 * min(max(float(alpha), 0.0), 1.0)))


def _dash(pattern: str | Sequence[float] | None) -> Sequence[float]:
    return _DASHES.get(pattern, []) if isinstance(pattern, str) else [] if pattern is None else pattern


def _words(text: Any) -> str:
    return "" if text is None else str(getattr(text, "text", text))


class FigureDrawing:
    """One figure in its place: left, top, width, height in px of the page."""

    def __init__(self, fig: figure, pen: Pen, box: Box):
        self.figure, self.pen = fig, pen
        self.left, self.top, self.wide, self.high = box

    def draw(self) -> None:
        """Draw the figure with the pen: grid, marks, axes, legend and annotations."""
        fig, width = self.figure, self.pen.width
        x_axis, y_axis = (next((axis for axis in axes if axis.visible), None) for axes in (fig.xaxis, fig.yaxis))
        self.x_range, self.y_range = _span(fig.x_range), _span(fig.y_range)
        self.x_log, self.y_log = (isinstance(scale, LogScale) for scale in (fig.x_scale, fig.y_scale))
        y_ticks = [] if y_axis is None else _ticks(y_axis, self.y_range, self.y_log, 6)
        x_ticks = [] if x_axis is None else _ticks(x_axis, self.x_range, self.x_log, 8)
        y_width, x_width = (max((width(text, 13) for _, text in ticks), default=0.0) for ticks in (y_ticks, x_ticks))
        tilt = 0.8 if x_width * len(x_ticks) > self.wide - y_width - 60 else 0.0
        labels_height = 26 + (min(x_width * 0.7, 80) if tilt else 0)
        left = self.left + y_width + (18 if y_axis is None or not _words(y_axis.axis_label) else 40)
        right = self.left + self.wide - 24
        placed = [*fig.above, *fig.below, *fig.left, *fig.right, *fig.center]
        legends = [model for model in placed if isinstance(model, Legend) and model.visible]
        top = self._draw_legends(legends, left, right)
        bottom = self.top + self.high - labels_height - (22 if x_axis is not None and _words(x_axis.axis_label) else 0)
        if fig.match_aspect:  # one scale for both axes
            ratio = (self.x_range[1] - self.x_range[0]) / (self.y_range[1] - self.y_range[0])
            right = min(right, left + (bottom - top) * ratio)
            bottom = min(bottom, top + (right - left) / ratio)
        self.frame, self.below = (left, top, right, bottom), labels_height + 18
        self.ink = self.pen.part(self.frame)
        self._grid(x_ticks, y_ticks)
        self._draw_marks([model for model in placed if isinstance(model, Span | BoxAnnotation | Label)])
        self.pen.put(self.ink, left, top)
        self._axes(x_axis, y_axis, x_ticks, y_ticks, tilt)

    def _draw_marks(self, annotations: Sequence[Span | BoxAnnotation | Label]) -> None:
        """Draw glyphs and annotations, level by level."""
        glyphs = [renderer for renderer in self.figure.renderers if hasattr(renderer, "glyph")]
        visible_models = [model for model in (*glyphs, *annotations) if model.visible]
        for model in sorted(visible_models, key=lambda model: _LEVELS.index(model.level)):
            (self._glyph if hasattr(model, "glyph") else self._annotation)(model)

    # ---- axes --------------------------------------------------------------------------------------------------------

    def _grid(self, x_ticks: Ticks, y_ticks: Ticks) -> None:
        figure_width, figure_height = self._size
        if self.figure.xgrid and self.figure.xgrid[0].visible:
            for x in self._x([tick for tick, _ in x_ticks]):
                self.ink.line(np.array([[x, 0], [x, figure_height]]), GRID, 0.7)
        if self.figure.ygrid and self.figure.ygrid[0].visible:
            for y in self._y([tick for tick, _ in y_ticks]):
                self.ink.line(np.array([[0, y], [figure_width, y]]), GRID, 0.7)

    def _axes(self, x_axis: Axis | None, y_axis: Axis | None, x_ticks: Ticks, y_ticks: Ticks, tilt: float) -> None:
        (left, top, right, bottom), pen = self.frame, self.pen
        if x_axis is not None:
            pen.line(np.array([[left, bottom], [right, bottom]]), QUIET)
            for tick, text in x_ticks:
                x = left + float(self._x(tick))
                pen.line(np.array([[x, bottom], [x, bottom + 4]]), QUIET)
                pen.text(x, bottom + 7, text, 13, INK, "ra" if tilt else "ma", tilt)
            x_label = _words(x_axis.axis_label)  # in the middle, or as far to the left as it has to be to be seen whole
            x = min((left + right) / 2, self.left + self.wide - 4 - pen.width(x_label, 14) / 2)
            pen.text(x, bottom + self.below, x_label, 14, INK, "md")
        if y_axis is not None:
            pen.line(np.array([[left, top], [left, bottom]]), QUIET)
            for tick, text in y_ticks:
                y = top + float(self._y(tick))
                pen.line(np.array([[left - 4, y], [left, y]]), QUIET)
                pen.text(left - 7, y, text, 13, INK, "rm")
            if y_label := _words(y_axis.axis_label):
                pen.text(self.left + 4, (top + bottom) / 2, y_label, 14, INK, "lm", math.pi / 2)

    @property
    def _size(self) -> tuple[float, float]:
        left, top, right, bottom = self.frame
        return right - left, bottom - top

    def _x(self, values: Any) -> NDArray[np.float64]:
        return self._size[0] * _share(values, self.x_range, self.x_log)

    def _y(self, values: Any) -> NDArray[np.float64]:
        return self._size[1] * (1 - _share(values, self.y_range, self.y_log))

    # ---- what is drawn -----------------------------------------------------------------------------------------------

    def _glyph(self, renderer: GlyphRenderer) -> None:
        marks = Marks(renderer)
        draw = getattr(self, f"_draw_{marks.kind.lower()}", None)
        if draw is not None and marks.count:
            draw(marks)

    def _draw_line(self, marks: Marks) -> None:
        points = np.column_stack([self._x(marks.get("x")), self._y(marks.get("y"))])
        colour = _paint(marks.get("line_color"), marks.get("line_alpha"))
        self.ink.line(points, colour, marks.get("line_width"), _dash(marks.get("line_dash")))

    def _draw_multiline(self, marks: Marks) -> None:
        names = "xs", "ys", "line_color", "line_alpha", "line_width", "line_dash"
        for xs, ys, colour, alpha, width, dash in zip(*map(marks.each, names), strict=True):
            self.ink.line(np.column_stack([self._x(xs), self._y(ys)]), _paint(colour, alpha), width, _dash(dash))

    def _draw_segment(self, marks: Marks) -> None:
        names = "x0", "y0", "x1", "y1", "line_color", "line_alpha", "line_width", "line_dash"
        for x0, y0, x1, y1, colour, alpha, width, dash in zip(*map(marks.each, names), strict=True):
            end_points = np.column_stack([self._x([x0, x1]), self._y([y0, y1])])
            self.ink.line(end_points, _paint(colour, alpha), width, _dash(dash))

    def _draw_scatter(self, marks: Marks) -> None:
        names = "marker", "size", "fill_color", "fill_alpha", "line_color", "line_alpha", "line_width", "angle"
        positions = self._x(marks.each("x")), self._y(marks.each("y"))
        mark_rows = zip(*positions, *map(marks.each, names), strict=True)
        for x, y, kind, size, fill, opacity, line_colour, alpha, width, angle in mark_rows:
            if np.isfinite([x, y]).all() and size:
                inks = _paint(fill, opacity), _paint(line_colour, alpha)
                self.ink.mark(str(kind), (x, y), size, *inks, width, float(angle or 0.0))

    def _draw_varea(self, marks: Marks) -> None:
        x, *bounds = self._x(marks.get("x")), self._y(marks.get("y1")), self._y(marks.get("y2"))
        upper, lower = (np.column_stack([x, bound]) for bound in bounds)
        outline = np.vstack([upper, lower[::-1]])
        fill = _paint(marks.get("fill_color"), marks.get("fill_alpha"))
        self.ink.area(outline[np.isfinite(outline).all(axis=1)], fill)

    def _draw_quad(self, marks: Marks) -> None:
        left, right, bottom, top = marks.sides()
        side_positions = self._x(left), self._x(right), self._y(bottom), self._y(top)
        looks = map(marks.each, ("fill_color", "fill_alpha", "hatch_pattern", "hatch_color"))
        for x0, x1, y0, y1, fill, alpha, hatch, hatch_colour in zip(*side_positions, *looks, strict=True):
            self.ink.area(_corners(x0, x1, y0, y1), _paint(fill, alpha))
            if hatch not in (None, " "):  # whatever the pattern: one line from corner to corner
                self.ink.line(np.array([[x0, y0], [x1, y1]]), _paint(hatch_colour, 0.5))

    _draw_vbar = _draw_hbar = _draw_quad

    def _draw_text(self, marks: Marks) -> None:
        names = "text", "text_color", "x_offset", "y_offset", "text_align", "text_baseline", "text_font_size"
        positions = zip(self._x(marks.each("x")), self._y(marks.each("y")), strict=True)
        for (x, y), (text, colour, dx, dy, *look) in zip(
            positions, zip(*map(marks.each, names), strict=True), strict=True
        ):
            if np.isfinite([x, y]).all():
                self._write(x + float(dx or 0), y + float(dy or 0), text, colour, *look)

    def _write(self, x: float, y: float, text: Any, colour: Any, align: str, base: str, size: Any) -> None:
        anchor = {"left": "l", "center": "m", "right": "r"}.get(str(align), "l")
        anchor += {"top": "a", "middle": "m", "bottom": "d"}.get(str(base), "s")
        font_px = float(str(size).removesuffix("px")) if str(size).endswith("px") else 13.0
        self.ink.text(x, y, _words(text), font_px * 0.9, _paint(colour), anchor)

    def _draw_imagergba(self, marks: Marks) -> None:
        for rgba, x, y, dw, dh in zip(*map(marks.each, ("image", "x", "y", "dw", "dh")), strict=True):
            pixels = np.ascontiguousarray(rgba).view(np.uint8).reshape(*np.shape(rgba)[:2], 4)
            (x0, x1), (y0, y1) = np.sort(self._x([x, x + dw])), np.sort(self._y([y, y + dh]))
            self.ink.pixels(Image.fromarray(pixels[::-1].copy(), "RGBA"), (x0, y0, x1, y1))

    def _annotation(self, mark: Span | BoxAnnotation | Label) -> None:
        """Draw the mark: a span, a box or a label."""
        figure_width, figure_height = self._size
        if isinstance(mark, Span):
            if mark.location is None:
                return
            position = float((self._y if mark.dimension == "width" else self._x)(mark.location))
            line_ends = [[position, 0], [position, figure_height]]
            if mark.dimension == "width":
                line_ends = [[0, position], [figure_width, position]]
            self.ink.line(
                np.array(line_ends), _paint(mark.line_color, mark.line_alpha), mark.line_width, _dash(mark.line_dash)
            )
        elif isinstance(mark, BoxAnnotation):
            bounds = zip(
                (mark.left, mark.right, mark.bottom, mark.top), (self._x, self._x, self._y, self._y),
                (0.0, figure_width, figure_height, 0.0), strict=True,
            )  # fmt: skip
            edges = (float(scale(bound)) if isinstance(bound, int | float) else edge for bound, scale, edge in bounds)
            self.ink.area(_corners(*edges), _paint(mark.fill_color, mark.fill_alpha))
        elif _words(mark.text):
            position_by_symbol = {
                "left": 0.0,
                "right": figure_width,
                "top": 0.0,
                "bottom": figure_height,
            }  # of the frame, which a node may name
            x, y = (position_by_symbol.get(getattr(position, "symbol", ""), position) for position in (mark.x, mark.y))
            if not hasattr(mark.x, "symbol"):
                x = float(self._x(x)) if mark.x_units == "data" else float(x)
            if not hasattr(mark.y, "symbol"):
                y = float(self._y(y)) if mark.y_units == "data" else figure_height - float(y)
            label_place = x + float(mark.x_offset), y - float(mark.y_offset)
            self._write(*label_place, mark.text, mark.text_color, mark.text_align, mark.text_baseline, "15px")

    # ---- legends -----------------------------------------------------------------------------------------------------

    def _legend_lines(self, legend: Legend, max_width: float) -> list[list[tuple[str, Any]]]:
        """Return the items of a legend, text and renderers, line by line: as many in a line as fit max_width px."""
        item_lines: list[list[tuple[str, Any]]] = [[]]
        x = self.pen.width(_words(legend.title), 13) + 12 if legend.title else 0.0
        for item in legend.items:
            item_text = item.label.value if isinstance(item.label, Value) else item.label
            if not item.visible or not isinstance(item_text, str):
                continue
            x += LEGEND_SAMPLE_PX + self.pen.width(item_text, 13)
            if x - 16 > max_width and item_lines[-1]:
                item_lines.append([])
                x = LEGEND_SAMPLE_PX + self.pen.width(item_text, 13)
            item_lines[-1].append((item_text, item.renderers))
        return item_lines

    def _draw_legends(self, legends: Sequence[Legend], left: float, right: float) -> float:
        """Draw the legends above the frame, whose sides these are; return its top."""
        y = self.top + 12.0
        for legend in legends:
            for k, items in enumerate(self._legend_lines(legend, right - left)):
                self._legend("" if k else _words(legend.title), items, left, y)
                y += LEGEND_ROW_PX
        return y

    def _legend(self, title: str, item_renderers: Sequence[tuple[str, Any]], x: float, y: float) -> None:
        """Draw a line of a legend at (x, y): the title, then a sample and a text for each item (text, renderer)."""
        if title:
            self.pen.text(x, y + 10, title, 13, INK, "lm")
            x += self.pen.width(title, 13) + 12
        for item_text, renderers in item_renderers:
            for renderer in renderers:
                self._sample(Marks(renderer), x, y)
            self.pen.text(x + 30, y + 10, item_text, 13, INK, "lm")
            x += LEGEND_SAMPLE_PX + self.pen.width(item_text, 13)

    def _sample(self, marks: Marks, x: float, y: float) -> None:
        """Draw the sample of a legend's item at (x, y): a marker, a box or a piece of line."""
        fill = marks.first("fill_color")
        ink = _paint(marks.first("line_color") or fill)
        if marks.has("marker"):
            self.pen.mark(str(marks.first("marker") or "circle"), (x + 12, y + 10), 10, _paint(fill), ink, 1.5)
        elif not marks.has("line_width") or marks.kind == "VArea":
            self.pen.area(_corners(x, x + 24, y + 4, y + 16), ink)
        else:
            width = marks.first("line_width")
            line_ends = np.array([[x, y + 10.0], [x + 24, y + 10.0]])
            line_width = float(width) if isinstance(width, int | float) else 2.0
            self.pen.line(line_ends, ink or _paint(INK), line_width, _dash(marks.first("line_dash")))


def _corners(x0: float, x1: float, y0: float, y1: float) -> NDArray[np.float64]:
    return np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])


def _span(bokeh_range: Any) -> tuple[float, float]:
    limits = [
        float(limit)
        for limit in (bokeh_range.start, bokeh_range.end)
        if isinstance(limit, int | float) and math.isfinite(limit)
    ]
    return (limits[0], limits[1]) if len(limits) == 2 and limits[0] != limits[1] else (0.0, 1.0)


def _share(values: Any, span: tuple[float, float], log: bool) -> NDArray[np.float64]:
    """Return the positions of values on an axis over `span`, from 0 to 1; log: whether it is logarithmic."""
    positions, (low, high) = np.asarray(values, dtype=float), span
    if log:
        with np.errstate(divide="ignore", invalid="ignore"):
            positions = np.log10(np.where(positions > 0, positions, np.nan))
        low, high = math.log10(max(low, 1e-300)), math.log10(max(high, 1e-300))
    return np.asarray((positions - low) / ((high - low) or 1.0))


def _ticks(axis: Axis, span: tuple[float, float], log: bool, n_ticks: int) -> Ticks:
    """Return positions and texts of the ticks on an axis over `span`; log: whether it is logarithmic.

    n_ticks: about how many, if the axis leaves it open.
    """
    start, end = min(span), max(span)
    fixed = getattr(axis.ticker, "ticks", None)
    tick_places = (
        (_log_ticks(start, end) if log else _nice(start, end, n_ticks)) if fixed is None else map(float, fixed)
    )
    text_by_tick = {float(place): _words(text) for place, text in (axis.major_label_overrides or {}).items()}
    is_percent = str(getattr(axis.formatter, "format", "")).endswith("%")
    name = level_words(axis) or (lambda tick: f"{_number(round(100 * tick, 9))}%" if is_percent else _number(tick))
    visible_places = (tick for tick in tick_places if start - 1e-12 * abs(start) <= tick <= end + 1e-12 * abs(end))
    return [(tick, text_by_tick[tick] if tick in text_by_tick else name(tick)) for tick in visible_places]


def _number(value: float) -> str:
    return f"{value:.6g}" if value == 0 or 1e-4 <= abs(value) < 1e6 else f"{value:.2g}"


def _nice(low: float, high: float, n_ticks: int) -> list[float]:
    rough = (high - low) / max(n_ticks - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    step = next(power * mantissa for mantissa in (1, 2, 5, 10) if power * mantissa >= rough * 0.999)
    first_multiple = math.ceil(low / step - 1e-9)
    return [round(multiple * step, 12) for multiple in range(first_multiple, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    start, end = math.floor(math.log10(max(low, 1e-300))), math.ceil(math.log10(max(high, 1e-300)))
    tens = [10.0**k for k in range(start, end + 1, max(1, (end - start) // 6))]
    inside_ticks = [ten for ten in tens if low <= ten <= high]
    return inside_ticks if len(inside_ticks) > 1 else [m * 10.0**k for k in range(start, end + 1) for m in (1, 2, 5)]
