"""A still of Bokeh's figures as PNG, drawn without a browser: what a notebook's file keeps of a view.

Bokeh itself draws only in a browser. Here the glyphs, axes and legends that this project's pictures are made of are
drawn with Pillow, twice as large and then reduced, which smooths lines. It is the picture, not its every pixel: legends
stand above their figure, and of a formatter written in JavaScript only what it looks words up in is known.
"""

import io
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from bokeh.core.property.vectorization import Field, Value
from bokeh.models import BoxAnnotation, Label, LogScale, Span
from bokeh.models.annotations import Legend
from numpy.typing import NDArray
from PIL import Image, ImageColor, ImageDraw, ImageFont

INK, QUIET, GRID, GROUND = "#222222", "#666666", "#e5e5e5", "#ffffff"
SCALE = 1.5  # pixels of the PNG for one of the page
FINE = 2  # and so many are drawn for one of those
HEIGHT = 360  # px of one figure; of several that stand beside each other less
BESIDE = 2
_LEVELS = ("image", "underlay", "glyph", "guide", "annotation", "overlay")
_DASHES: dict[str, list[float]] = {
    "solid": [], "dashed": [6, 4], "dash": [6, 4], "dotted": [2, 4], "dotdash": [2, 4, 6, 4], "dashdot": [6, 4, 2, 4],
}  # fmt: skip
_SIDES = {"square": (4, math.pi / 4), "triangle": (3, -math.pi / 2), "inverted_triangle": (3, math.pi / 2)}
_SIDES |= {"diamond": (4, 0.0), "hex": (6, 0.0)}


def still(figures: Sequence[Any], words: str = "", *, width: int = 900) -> bytes:
    """Return `figures` as one PNG, with `words` above them.

    width: px as on a page; the PNG has half as many again. Several figures stand in pairs, the last one of an odd
    number by itself.
    """
    beside = 1 if len(figures) < 2 else BESIDE
    high = HEIGHT if beside == 1 else int(HEIGHT * 0.8)
    unit = SCALE * FINE
    probe = ImageDraw.Draw(Image.new("RGB", (8, 8)))
    lines = _wrapped(probe, words, width - 24, 16)
    top = 22 * len(lines) + (14 if lines else 4)
    rows = math.ceil(len(figures) / beside)
    image = Image.new("RGB", (round(width * unit), round((top + max(rows * high, 4)) * unit)), GROUND)
    pen = Pen(ImageDraw.Draw(image, "RGBA"), image, unit)
    for k, line in enumerate(lines):
        pen.text(12, 8 + 22 * k, line, 16, INK, "la")
    for k, figure in enumerate(figures):
        # The last one of an odd number has the row for itself.
        wide = width if k == len(figures) - 1 and k % beside == 0 else width / beside
        FigureDrawing(figure, pen, ((k % beside) * width / beside, top + (k // beside) * high, wide, high)).draw()
    small = image.reduce(FINE)
    out = io.BytesIO()
    small.quantize(128, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return out.getvalue()


def _wrapped(draw: Any, words: str, width: float, size: float) -> list[str]:
    lines, font = [""], _font(size)
    for word in words.split():
        longer = f"{lines[-1]} {word}".strip()
        if draw.textlength(longer, font=font) <= width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(word)
    return [line for line in lines if line]


def one_line(words: str) -> str:
    """Return words that are measured and written in one line: names of columns may have breaks in them."""
    return " ".join(words.split())


_fonts: dict[int, Any] = {}


def _font(size: float) -> Any:
    key = max(round(size), 4)
    if key not in _fonts:
        _fonts[key] = ImageFont.load_default(key)
    return _fonts[key]


class Pen:
    """Draws on an image in px of the page."""

    def __init__(self, draw: Any, image: Image.Image, unit: float):
        self.draw, self.image, self.unit = draw, image, unit

    def within(self, box: tuple[float, float, float, float]) -> "Pen":
        """Return a pen for a copy of the part left, top, right, bottom; `laid` puts it back."""
        corners = tuple(round(side * self.unit) for side in box)
        part = self.image.crop(corners)  # type: ignore[arg-type]
        return Pen(ImageDraw.Draw(part, "RGBA"), part, self.unit)

    def laid(self, part: "Pen", left: float, top: float) -> None:
        """Put a part where it was taken from."""
        self.image.paste(part.image, (round(left * self.unit), round(top * self.unit)))

    def width(self, words: str, size: float) -> float:
        """Return how wide words are."""
        return float(self.draw.textlength(one_line(words), font=_font(size * self.unit)) / self.unit)

    def text(self, x: float, y: float, words: str, size: float, colour: Any, anchor: str, tilt: float = 0.0) -> None:
        """Write words; `anchor` is Pillow's. tilt: radians, upward to the right."""
        font, words = _font(size * self.unit), one_line(words)
        if not tilt:
            self.draw.text((x * self.unit, y * self.unit), words, font=font, fill=colour, anchor=anchor)
            return
        box = font.getbbox(words)
        written = Image.new("L", (int(box[2]) + 4, int(box[3]) + 6), 0)
        ImageDraw.Draw(written).text((2, 2), words, font=font, fill=255)
        turned = written.rotate(math.degrees(tilt), expand=True, resample=Image.Resampling.BICUBIC)
        ends = {"m": 0.5, "r": 1.0}.get(anchor[0], 0.0)
        middle = {"m": 0.5, "a": 0.0}.get(anchor[1], 0.0)
        at = (round(x * self.unit - turned.width * ends), round(y * self.unit - turned.height * middle))
        self.image.paste(Image.new("RGB", turned.size, colour), at, turned)

    def line(self, points: NDArray[np.float64], colour: Any, width: float = 1.0, dash: Any = ()) -> None:
        """Draw a line through points (n, 2); what is not finite breaks it."""
        good: NDArray[np.bool_] = np.all(np.isfinite(points), axis=1)
        for run in np.split(np.arange(len(points)), np.flatnonzero(np.diff(good)) + 1):
            if len(run) < 2 or not good[run[0]]:
                continue
            part = np.clip(points[run] * self.unit, -1e5, 1e5)
            for piece in _dashed(part, [d * self.unit for d in dash]) if len(dash) else (part,):
                flat = [tuple(p) for p in piece]
                self.draw.line(flat, fill=colour, width=max(round(width * self.unit), 1), joint="curve")

    def area(self, points: NDArray[np.float64], fill: Any, outline: Any = None, width: float = 1.0) -> None:
        """Fill a polygon (n, 2)."""
        flat = [tuple(p) for p in np.clip(points * self.unit, -1e5, 1e5)]
        if len(flat) > 2 and fill is not None:
            self.draw.polygon(flat, fill=fill)
        if len(flat) > 2 and outline is not None:
            self.draw.line([*flat, flat[0], flat[1]], fill=outline, width=max(round(width * self.unit), 1))

    def mark(
        self,
        kind: str,
        at: tuple[float, float],
        size: float,
        fill: Any,
        line: Any,
        width: float,
        angle: float = 0.0,
    ) -> None:
        """Draw a marker of Bokeh's."""
        x, y = at
        half = size / 2
        if kind in ("dash", "x", "cross"):
            turns = {"dash": [angle], "x": [math.pi / 4, -math.pi / 4], "cross": [0, math.pi / 2]}[kind]
            for turn in turns:
                away = half * np.array([math.cos(turn), math.sin(turn)])
                self.line(np.array([at - away, at + away]), line if line is not None else fill, width)
        elif kind in _SIDES:
            sides, first = _SIDES[kind]
            angles = first + 2 * math.pi * np.arange(sides) / sides
            reach = half * {3: 1.15, 4: 1.25, 6: 1.05}[sides] * (1.1 if kind == "square" else 1.0)
            self.area(np.array([x, y]) + reach * np.column_stack([np.cos(angles), np.sin(angles)]), fill, line, width)
        else:
            self.circle(at, half, fill, line, width)

    def circle(self, at: tuple[float, float], radius: float, fill: Any, line: Any, width: float) -> None:
        """Draw a circle."""
        (x, y), unit = at, self.unit
        box = [(x - radius) * unit, (y - radius) * unit, (x + radius) * unit, (y + radius) * unit]
        self.draw.ellipse(box, fill=fill, outline=line, width=max(round(width * unit), 1))

    def pixels(self, picture: Image.Image, box: tuple[float, float, float, float]) -> None:
        """Put an image into a box: left, top, right, bottom."""
        left, top, right, bottom = (side * self.unit for side in box)
        size = round(right - left), round(bottom - top)
        if min(size) >= 1 and max(size) <= 20_000:
            fitted = picture.resize(size, Image.Resampling.NEAREST)
            self.image.paste(fitted, (round(left), round(top)), fitted)


def _dashed(points: NDArray[np.float64], dash: list[float]) -> Iterator[NDArray[np.float64]]:
    steps = np.hypot(*np.diff(points, axis=0).T)
    ends = np.concatenate([[0.0], np.cumsum(steps)])
    at, k = 0.0, 0
    while at < ends[-1] and sum(dash) > 0:
        to = min(at + dash[k % len(dash)], ends[-1])
        if k % 2 == 0:
            inner = ends[(ends > at) & (ends < to)]
            where = np.concatenate([[at], inner, [to]])
            yield np.column_stack([np.interp(where, ends, points[:, c]) for c in (0, 1)])
        at, k = to, k + 1


def _paint(colour: Any, alpha: Any = 1.0) -> Any:
    if colour is None or (isinstance(colour, float) and math.isnan(colour)):
        return None
    if isinstance(colour, tuple):
        red, green, blue, *rest = colour
        return (int(red), int(green), int(blue), round(255 * float(alpha) * float(rest[0] if rest else 1)))
    text = str(getattr(colour, "to_css", lambda: colour)())
    return (*ImageColor.getrgb(text)[:3], round(255 * min(max(float(alpha), 0.0), 1.0)))


class FigureDrawing:
    """One figure in its place: left, top, width, height in px of the page."""

    def __init__(self, figure: Any, pen: Pen, place: tuple[float, float, float, float]):
        self.figure, self.pen = figure, pen
        self.left, self.top, self.wide, self.high = place

    def draw(self) -> None:
        """Draw it with the pen."""
        figure = self.figure
        x_axis, y_axis = (next((a for a in axes if a.visible), None) for axes in (figure.xaxis, figure.yaxis))
        self.x_range = self._range(figure.x_range, "x")
        self.y_range = self._range(figure.y_range, "y")
        self.x_log, self.y_log = (isinstance(scale, LogScale) for scale in (figure.x_scale, figure.y_scale))
        y_ticks = [] if y_axis is None else self._ticks(y_axis, self.y_range, self.y_log, 6)
        x_ticks = [] if x_axis is None else self._ticks(x_axis, self.x_range, self.x_log, 8)
        legends = [part for part in figure.select({"type": Legend}) if part.visible]
        widest = max((self.pen.width(w, 13) for _, w in y_ticks), default=0.0)
        long = max((self.pen.width(w, 13) for _, w in x_ticks), default=0.0)
        tilt = 0.8 if long * len(x_ticks) > self.wide - widest - 60 else 0.0
        low = 26 + (min(long * 0.7, 80) if tilt else 0)
        left = self.left + widest + (18 if y_axis is None or not _words(y_axis.axis_label) else 40)
        right = self.left + self.wide - 24
        lines = [self._legend_lines(legend, right - left) for legend in legends]
        top = self.top + 12 + 22 * sum(map(len, lines)) + (22 if figure.title is not None and figure.title.text else 0)
        bottom = self.top + self.high - low - (22 if x_axis is not None and _words(x_axis.axis_label) else 0)
        if figure.match_aspect:  # one scale for both axes
            ratio = (self.x_range[1] - self.x_range[0]) / (self.y_range[1] - self.y_range[0])
            right = min(right, left + (bottom - top) * ratio)
            bottom = min(bottom, top + (right - left) / ratio)
        self.frame, self.below = (left, top, right, bottom), low + 18
        if figure.title is not None and figure.title.text:
            self.pen.text(left, self.top + 8, _words(figure.title.text), 15, INK, "la")
        y = top - 22.0 * sum(map(len, lines))
        for legend, parts in zip(legends, lines, strict=True):
            for k, items in enumerate(parts):
                self._legend("" if k else _words(legend.title), items, left, y)
                y += 22
        inside = self.pen.within(self.frame)
        self.ink = inside
        for ticks, along in ((x_ticks, 0), (y_ticks, 1)):
            if not (figure.xgrid, figure.ygrid)[along] or not (figure.xgrid, figure.ygrid)[along][0].visible:
                continue
            for at, _ in ticks:
                place = float((self._y if along else self._x)(np.array([at]))[0])
                ends = [[0, place], [right - left, place]] if along else [[place, 0], [place, bottom - top]]
                inside.line(np.array(ends), GRID, 0.7)
        glyphs = [one for one in figure.renderers if one.visible and hasattr(one, "glyph")]
        marks = [one for one in figure.select({"type": (Span, BoxAnnotation, Label)}) if one.visible]
        for part in sorted([*glyphs, *marks], key=lambda one: _LEVELS.index(one.level)):
            (self._glyph if hasattr(part, "glyph") else self._annotation)(part)
        self.pen.laid(inside, left, top)
        self._axes(x_axis, y_axis, x_ticks, y_ticks, tilt)

    def _axes(self, x_axis: Any, y_axis: Any, x_ticks: Any, y_ticks: Any, tilt: float) -> None:
        left, top, right, bottom = self.frame
        pen = self.pen
        if x_axis is not None:
            pen.line(np.array([[left, bottom], [right, bottom]]), QUIET)
            for at, words in x_ticks:
                x = left + float(self._x(np.array([at]))[0])
                pen.line(np.array([[x, bottom], [x, bottom + 4]]), QUIET)
                pen.text(x, bottom + 7, words, 13, INK, "ra" if tilt else "ma", tilt)
            along = _words(x_axis.axis_label)  # in the middle, or as far to the left as it has to be to be seen whole
            x = min((left + right) / 2, self.left + self.wide - 4 - pen.width(along, 14) / 2)
            pen.text(x, bottom + self.below, along, 14, INK, "md")
        if y_axis is not None:
            pen.line(np.array([[left, top], [left, bottom]]), QUIET)
            for at, words in y_ticks:
                y = top + float(self._y(np.array([at]))[0])
                pen.line(np.array([[left - 4, y], [left, y]]), QUIET)
                pen.text(left - 7, y, words, 13, INK, "rm")
            if _words(y_axis.axis_label):
                pen.text(self.left + 4, (top + bottom) / 2, _words(y_axis.axis_label), 14, INK, "lm", math.pi / 2)

    # ---- places ------------------------------------------------------------------------------------------------------

    def _range(self, span: Any, along: str) -> tuple[float, float]:
        start, end = getattr(span, "start", None), getattr(span, "end", None)
        known = [v for v in (start, end) if isinstance(v, int | float) and math.isfinite(v)]
        if len(known) == 2 and known[0] != known[1]:
            return float(known[0]), float(known[1])
        values = [np.asarray(r.data_source.data.get(along, []), dtype=object) for r in self.figure.renderers]
        flat = [float(v) for part in values for v in part if isinstance(v, int | float) and math.isfinite(v)]
        return (min(flat), max(flat)) if flat and min(flat) < max(flat) else (0.0, 1.0)

    def _place(self, values: Any, span: tuple[float, float], log: bool, length: float) -> NDArray[np.float64]:
        at = np.asarray(values, dtype=float)
        low, high = span
        if log:
            with np.errstate(divide="ignore", invalid="ignore"):
                at = np.log10(np.where(at > 0, at, np.nan))
            low, high = math.log10(max(low, 1e-300)), math.log10(max(high, 1e-300))
        return (at - low) / ((high - low) or 1.0) * length

    def _x(self, values: Any) -> NDArray[np.float64]:
        return self._place(values, self.x_range, self.x_log, self.frame[2] - self.frame[0])

    def _y(self, values: Any) -> NDArray[np.float64]:
        length = self.frame[3] - self.frame[1]
        return length - self._place(values, self.y_range, self.y_log, length)

    def _ticks(self, axis: Any, span: tuple[float, float], log: bool, count: int) -> list[tuple[float, str]]:
        low, high = min(span), max(span)
        fixed = getattr(axis.ticker, "ticks", None)
        own_ticks = _log_ticks(low, high) if log else _nice(low, high, count)
        at = own_ticks if fixed is None else [float(t) for t in fixed]
        at = [t for t in at if low - 1e-12 * abs(low) <= t <= high + 1e-12 * abs(high)]
        own = {float(k): _words(v) for k, v in (axis.major_label_overrides or {}).items()}
        args = getattr(axis.formatter, "args", None) or {}
        words = list(args.get("words", ()))
        places = list(args.get("at", ()))
        shares = str(getattr(axis.formatter, "format", "")).endswith("%")

        def told(tick: float) -> str:
            if tick in own:
                return own[tick]
            if places:
                return str(words[places.index(tick)]) if tick in places else ""
            if words:
                return str(words[math.floor(tick)]) if 0 <= math.floor(tick) < len(words) else ""
            return f"{_number(round(100 * tick, 9))}%" if shares else _number(tick)

        return [(tick, told(tick)) for tick in at]

    # ---- what is drawn -----------------------------------------------------------------------------------------------

    def _glyph(self, renderer: Any) -> None:
        glyph, data = renderer.glyph, renderer.data_source.data
        rows = max((len(column) for column in data.values()), default=0)

        def found(name: str, default: Any) -> tuple[Any, bool]:
            given = getattr(glyph, name, default)
            field = given.field if isinstance(given, Field) else given
            if isinstance(field, str) and field in data:
                return data[field], True
            return (given.value if isinstance(given, Value) else given), False

        def one(name: str, default: Any = None) -> Any:
            return found(name, default)[0]

        def each(name: str, default: Any = None) -> list[Any]:
            value, column = found(name, default)
            return list(value) if column else [value] * rows

        def dash() -> Any:
            given = one("line_dash", [])
            return _DASHES.get(given, []) if isinstance(given, str) else given or []

        draw = getattr(self, f"_draw_{type(glyph).__name__.lower()}", None)
        if draw is not None and rows:
            draw(one, each, dash)

    def _draw_line(self, one: Any, _each: Any, dash: Any) -> None:
        points = np.column_stack([self._x(one("x")), self._y(one("y"))])
        self.ink.line(points, _paint(one("line_color"), one("line_alpha")), one("line_width"), dash())

    def _draw_multiline(self, one: Any, each: Any, dash: Any) -> None:
        dashes = each("line_dash", "solid")
        for k, (xs, ys, colour, alpha, width) in enumerate(
            zip(each("xs"), each("ys"), each("line_color"), each("line_alpha"), each("line_width"), strict=True)
        ):
            mine = dashes[k]
            pattern = _DASHES.get(mine, []) if isinstance(mine, str) else (mine if mine is not None else [])
            self.ink.line(np.column_stack([self._x(xs), self._y(ys)]), _paint(colour, alpha), width, pattern)

    def _draw_segment(self, _one: Any, each: Any, dash: Any) -> None:
        columns = (each(n) for n in ("x0", "y0", "x1", "y1", "line_color", "line_alpha", "line_width"))
        for x0, y0, x1, y1, colour, alpha, width in zip(*columns, strict=True):
            ends = np.column_stack([self._x([x0, x1]), self._y([y0, y1])])
            self.ink.line(ends, _paint(colour, alpha), width, dash())

    def _draw_scatter(self, _one: Any, each: Any, _dash: Any) -> None:
        names = "marker", "size", "fill_color", "fill_alpha", "line_color", "line_alpha", "line_width", "angle"
        x, y = self._x(each("x")), self._y(each("y"))
        for k, (kind, size, fill, fa, line, la, width, angle) in enumerate(zip(*(each(n) for n in names), strict=True)):
            if np.isfinite(x[k]) and np.isfinite(y[k]) and size:
                self.ink.mark(
                    str(kind), (x[k], y[k]), size, _paint(fill, fa), _paint(line, la), width, float(angle or 0.0)
                )

    def _draw_varea(self, one: Any, _each: Any, _dash: Any) -> None:
        x = self._x(one("x"))
        up = np.column_stack([x, self._y(one("y1"))])
        down = np.column_stack([x, self._y(one("y2"))])
        outline = np.vstack([up, down[::-1]])
        self.ink.area(outline[np.isfinite(outline).all(axis=1)], _paint(one("fill_color"), one("fill_alpha")))

    def _draw_vbar(self, _one: Any, each: Any, _dash: Any) -> None:
        x, width = np.asarray(each("x"), float), np.asarray(each("width"), float)
        self._boxes(x - width / 2, x + width / 2, each("bottom"), each("top"), each)

    def _draw_hbar(self, _one: Any, each: Any, _dash: Any) -> None:
        y, height = np.asarray(each("y"), float), np.asarray(each("height"), float)
        self._boxes(each("left"), each("right"), y - height / 2, y + height / 2, each)

    def _draw_quad(self, _one: Any, each: Any, _dash: Any) -> None:
        self._boxes(each("left"), each("right"), each("bottom"), each("top"), each)

    def _boxes(self, left: Any, right: Any, bottom: Any, top: Any, each: Any) -> None:
        sides = self._x(left), self._x(right), self._y(bottom), self._y(top)
        looks = each("fill_color"), each("fill_alpha"), each("hatch_pattern"), each("hatch_color")
        for x0, x1, y0, y1, fill, alpha, hatch, line in zip(*sides, *looks, strict=True):
            self.ink.area(np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]), _paint(fill, alpha))
            if hatch not in (None, " "):  # whatever the pattern: one line from corner to corner
                self.ink.line(np.array([[x0, y0], [x1, y1]]), _paint(line, 0.5))

    def _draw_text(self, _one: Any, each: Any, _dash: Any) -> None:
        names = "text", "text_color", "x_offset", "y_offset", "text_align", "text_baseline", "text_font_size"
        x, y = self._x(each("x")), self._y(each("y"))
        for k, (words, colour, dx, dy, align, base, size) in enumerate(zip(*(each(n) for n in names), strict=True)):
            if np.isfinite(x[k]) and np.isfinite(y[k]):
                self._write(x[k] + float(dx or 0), y[k] + float(dy or 0), words, colour, align, base, size)

    def _write(self, x: float, y: float, words: Any, colour: Any, align: str, base: str, size: Any) -> None:
        anchor = {"left": "l", "center": "m", "right": "r"}.get(str(align), "l")
        anchor += {"top": "a", "middle": "m", "bottom": "d"}.get(str(base), "s")
        number = float(str(size).removesuffix("px")) if str(size).endswith("px") else 13.0
        self.ink.text(x, y, _words(words), number * 0.9, _paint(colour), anchor)

    def _draw_imagergba(self, _one: Any, each: Any, _dash: Any) -> None:
        for values, x, y, dw, dh in zip(*(each(n) for n in ("image", "x", "y", "dw", "dh")), strict=True):
            pixels = np.ascontiguousarray(values).view(np.uint8).reshape(*np.shape(values)[:2], 4)
            (x0, x1), (y0, y1) = np.sort(self._x([x, x + dw])), np.sort(self._y([y, y + dh]))
            self.ink.pixels(Image.fromarray(pixels[::-1].copy(), "RGBA"), (x0, y0, x1, y1))

    def _annotation(self, part: Any) -> None:
        wide, high = self.frame[2] - self.frame[0], self.frame[3] - self.frame[1]
        if isinstance(part, Span):
            if part.location is None:
                return
            dash = _DASHES.get(part.line_dash, []) if isinstance(part.line_dash, str) else part.line_dash
            level = part.dimension == "width"
            at = float((self._y if level else self._x)([part.location])[0])
            ends = np.array([[0, at], [wide, at]] if level else [[at, 0], [at, high]])
            self.ink.line(ends, _paint(part.line_color, part.line_alpha), part.line_width, dash or [])
        elif isinstance(part, BoxAnnotation):
            sides = part.left, part.right, part.bottom, part.top
            numbers = [side if isinstance(side, int | float) else None for side in sides]
            x0 = 0.0 if numbers[0] is None else float(self._x([numbers[0]])[0])
            x1 = wide if numbers[1] is None else float(self._x([numbers[1]])[0])
            y0 = high if numbers[2] is None else float(self._y([numbers[2]])[0])
            y1 = 0.0 if numbers[3] is None else float(self._y([numbers[3]])[0])
            corners = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])
            self.ink.area(corners, _paint(part.fill_color, part.fill_alpha))
        elif _words(part.text):
            corner = {"left": 0.0, "right": wide, "top": 0.0, "bottom": high}  # of the frame, which a node may name
            x, y = (corner.get(getattr(at, "symbol", ""), at) for at in (part.x, part.y))
            if not hasattr(part.x, "symbol"):
                x = float(self._x([x])[0]) if part.x_units == "data" else float(x)
            if not hasattr(part.y, "symbol"):
                y = float(self._y([y])[0]) if part.y_units == "data" else high - float(y)
            dx, dy = float(part.x_offset), -float(part.y_offset)
            self._write(x + dx, y + dy, part.text, part.text_color, part.text_align, part.text_baseline, "15px")

    def _legend_lines(self, legend: Any, wide: float) -> list[list[tuple[str, Any]]]:
        """The words and renderers of a legend's items, as many in a line as are within the picture."""
        lines: list[list[tuple[str, Any]]] = [[]]
        x = self.pen.width(_words(legend.title), 13) + 12 if legend.title else 0.0
        for item in legend.items:
            words = item.label.value if isinstance(item.label, Value) else item.label
            if not item.visible or not isinstance(words, str):
                continue
            x += 46 + self.pen.width(words, 13)
            if x - 16 > wide and lines[-1]:
                lines.append([])
                x = 46 + self.pen.width(words, 13)
            lines[-1].append((words, item.renderers))
        return lines

    def _legend(self, title: str, items: Sequence[tuple[str, Any]], x: float, y: float) -> None:
        if title:
            self.pen.text(x, y + 10, title, 13, INK, "lm")
            x += self.pen.width(title, 13) + 12
        for words, renderers in items:
            for renderer in renderers:
                glyph = renderer.glyph
                value = {n: _first(glyph, renderer.data_source.data, n) for n in ("line_color", "fill_color", "marker")}
                ink = _paint(value["line_color"] or value["fill_color"])
                if hasattr(glyph, "marker"):
                    fill = _paint(value["fill_color"])
                    self.pen.mark(str(value["marker"] or "circle"), (x + 12, y + 10), 10, fill, ink, 1.5)
                elif not hasattr(glyph, "line_width") or type(glyph).__name__ == "VArea":
                    corners = [[x, y + 4], [x + 24, y + 4], [x + 24, y + 16], [x, y + 16]]
                    self.pen.area(np.array(corners), ink)
                else:
                    given = _first(glyph, renderer.data_source.data, "line_dash")
                    dash = _DASHES.get(given, []) if isinstance(given, str) else given or []
                    width = _first(glyph, renderer.data_source.data, "line_width")
                    wide = float(width) if isinstance(width, int | float) else 2.0
                    self.pen.line(np.array([[x, y + 10.0], [x + 24, y + 10.0]]), ink or _paint(INK), wide, dash)
            self.pen.text(x + 30, y + 10, words, 13, INK, "lm")
            x += 46 + self.pen.width(words, 13)


def _first(glyph: Any, data: Any, name: str) -> Any:
    given = getattr(glyph, name, None)
    if isinstance(given, Value):
        return given.value
    field = given.field if isinstance(given, Field) else given
    if isinstance(field, str) and field in data:
        return data[field][0] if len(data[field]) else None
    return given


def _words(text: Any) -> str:
    return "" if text is None else str(getattr(text, "text", text))


def _number(value: float) -> str:
    if value == 0:
        return "0"
    if 1e-4 <= abs(value) < 1e6:
        return f"{value:.6g}"
    return f"{value:.2g}"


def _nice(low: float, high: float, count: int) -> list[float]:
    rough = (high - low) / max(count - 1, 1)
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(k * step, 12) for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(max(low, 1e-300))), math.ceil(math.log10(max(high, 1e-300)))
    every = max(1, (last - first) // 6)
    tens = [10.0**k for k in range(first, last + 1, every)]
    inside = [t for t in tens if low <= t <= high]
    return inside if len(inside) > 1 else [m * 10.0**k for k in range(first, last + 1) for m in (1, 2, 5)]
