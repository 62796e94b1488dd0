"""Stills of Bokeh's figures, drawn without a browser: PNG for a notebook's file, SVG for a report of one file.

Bokeh itself draws only in a browser. Here the glyphs, axes and legends that this project's pictures are made of are
drawn by matplotlib. It is the picture, not its every pixel: legends stand above their figure.
"""

import io
import math
import re
import textwrap
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import Any

import numpy as np
from bokeh.core.property.vectorization import Value
from bokeh.models import Axis, BoxAnnotation, GlyphRenderer, Label, LogScale, Span
from bokeh.models.annotations import Legend
from bokeh.plotting import figure
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure, FigureBase
from matplotlib.lines import Line2D
from matplotlib.markers import MarkerStyle
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator
from PIL import Image

from alrviz.pictures.marks import Marks, level_words
from alrviz.pictures.picture import FONT_NAME

INK, QUIET, GRID = "#222222", "#666666", "#e5e5e5"
SCALE = 1.5  # pixels of the PNG for one of the page
HEIGHT = 360  # px of one figure; of several that stand beside each other less
MAX_COLUMNS = 2
LETTER_PX, LEGEND_SAMPLE_PX = 7.2, 46  # typical widths: of a letter of 13 px, and of a legend's entry without its words
DPI = 72  # so that a point, matplotlib's unit of sizes, is a px
_LEVELS = ("image", "underlay", "glyph", "guide", "annotation", "overlay")
_DASHES: dict[str, tuple[float, ...]] = {
    "dashed": (6, 4), "dash": (6, 4), "dotted": (2, 4), "dotdash": (2, 4, 6, 4), "dashdot": (6, 4, 2, 4),
}  # fmt: skip
_MARKERS = {
    "square": "s", "triangle": "^", "inverted_triangle": "v", "diamond": "d", "hex": "H", "x": "x", "cross": "+",
    "dash": "_",
}  # fmt: skip
_LINE_LOOKS = "line_color", "line_alpha", "line_width", "line_dash"
_OPEN_MARKERS = ("x", "cross", "dash")  # lines without an area
_STYLE = {
    "font.size": 13, "axes.labelsize": 14, "text.color": INK, "axes.labelcolor": INK, "xtick.labelcolor": INK,
    "ytick.labelcolor": INK, "xtick.color": QUIET, "ytick.color": QUIET, "axes.edgecolor": QUIET, "grid.color": GRID,
    "grid.linewidth": 0.7, "axes.axisbelow": True, "axes.spines.top": False, "axes.spines.right": False,
    "font.family": "DejaVu Sans", "text.parse_math": False, "path.simplify": False, "lines.scale_dashes": False,
    "image.aspect": "auto", "image.origin": "lower", "image.interpolation": "nearest",
    "svg.fonttype": "none", "svg.hashsalt": "alrviz",  # equal pictures have equal text
}  # fmt: skip
_UNITS = {"data": "data", "screen": "axes points", "canvas": "axes points"}
_LOCK = threading.Lock()  # matplotlib's settings belong to the process
Colour = tuple[float, float, float, float]


def still(figures: Sequence[figure], words: str = "", *, width: int = 900) -> bytes:
    """Return `figures` as one PNG, with `words` above them.

    width: px as on a page; the PNG has half as many again. Several figures stand in pairs, the last one of an odd
    number by itself.
    """
    n_columns = 1 if len(figures) < 2 else MAX_COLUMNS
    n_rows, row_height = math.ceil(len(figures) / n_columns), HEIGHT if n_columns == 1 else int(HEIGHT * 0.8)
    text_lines = textwrap.wrap(_printable(words), int(width / LETTER_PX * 13 / 16))
    text_height = 22 * len(text_lines) + (14 if text_lines else 4)
    with _drawing():
        page = _page(width, max(text_height + n_rows * row_height, 8), SCALE)
        if text_lines:
            page.suptitle("\n".join(text_lines), x=12 / width, ha="left", fontsize=16)
        grid = page.add_gridspec(max(n_rows, 1), n_columns)
        for k, fig in enumerate(figures):
            row, column = divmod(k, n_columns)
            is_alone = k == len(figures) - 1 and column == 0
            part = page.add_subfigure(grid[row, :] if is_alone else grid[row, column])
            FigureDrawing(fig, part, width if is_alone else width / n_columns).draw()
        canvas = FigureCanvasAgg(page)
        canvas.draw()
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    image = image.quantize(128, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


def still_svg(fig: figure, label: str, *, width: int = 520, height: int = 320) -> str:
    """Return a figure as an SVG element, width x height px; label: its description for screen readers."""
    out = io.StringIO()
    with _drawing():
        page = _page(width, height)
        FigureDrawing(fig, page, width).draw()
        page.savefig(out, format="svg", transparent=True, metadata={"Date": None})
    content = " ".join(out.getvalue().partition("</defs>")[2].replace("xlink:href", "href").split())
    content = re.sub(
        r'(?<=<g) id="[\w.]+"|font-family: [^;]+; ', "", content
    )  # other pictures have groups of these names
    content = re.sub(r' [dxy]="[^"]+"', lambda place: re.sub(r"(\.\d)\d+", r"\1", place[0]), content)  # tenths of a px
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(_printable(label))}" style="max-width:{width}px;width:100%" '
        f'font-family="{FONT_NAME}" stroke-linejoin="round">{content}'
    )


@contextmanager
def _drawing() -> Iterator[None]:
    """Set matplotlib's settings, whatever the user has set, and restore them."""
    with _LOCK, style.context(["default", _STYLE]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a letter that the font lacks is drawn as a box
        warnings.filterwarnings("ignore", "constrained_layout not applied")  # the figure is drawn without room to spare
        yield


def _page(width: float, height: float, scale: float = 1.0) -> Figure:
    return Figure((width / DPI, height / DPI), dpi=DPI * scale, layout="constrained")


def _paint(colour: Any, alpha: Any = 1.0) -> Colour:
    """Return Bokeh's colour with opacity alpha as matplotlib takes it: red, green, blue, opacity, up to 1."""
    if colour is None or (isinstance(colour, float) and math.isnan(colour)):
        return 0.0, 0.0, 0.0, 0.0
    if isinstance(colour, tuple):
        red, green, blue, *alphas = colour
        return red / 255, green / 255, blue / 255, float(alpha) * float(alphas[0] if alphas else 1)
    return to_rgba(str(getattr(colour, "to_hex", lambda: colour)()), min(max(float(alpha), 0.0), 1.0))


def _dash(pattern: Any) -> Any:
    """Return Bokeh's pattern of dashes as matplotlib takes it."""
    dashes = _DASHES.get(pattern, ()) if isinstance(pattern, str) else tuple(pattern or ())
    return (0, dashes) if dashes else "solid"


def _words(text: Any) -> str:
    return "" if text is None else _printable(str(getattr(text, "text", text)))


def _printable(words: str) -> str:
    """Return words in one line, without what XML does not allow."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in words).split(" "))


class FigureDrawing:
    """A figure in its place, a part of matplotlib's page of so many px."""

    def __init__(self, fig: figure, part: FigureBase, width: float):
        self.figure, self.part, self.width = fig, part, width
        self.axes: Axes = part.add_subplot()

    def draw(self) -> None:
        """Draw the figure: axes, marks, annotations and legends."""
        fig, axes = self.figure, self.axes
        self.x_range, self.y_range = _span(fig.x_range), _span(fig.y_range)
        for side, scale, limits in (("x", fig.x_scale, self.x_range), ("y", fig.y_scale, self.y_range)):
            if isinstance(scale, LogScale) and min(limits) > 0:
                axes.set(**{f"{side}scale": "log"})
        axes.set(xlim=self.x_range, ylim=self.y_range, autoscale_on=False)
        placed = [*fig.above, *fig.below, *fig.left, *fig.right, *fig.center]
        annotations = [model for model in placed if isinstance(model, Span | BoxAnnotation | Label)]
        glyphs = [renderer for renderer in fig.renderers if hasattr(renderer, "glyph")]
        for k, model in enumerate(model for model in (*glyphs, *annotations) if model.visible):
            self.order = _LEVELS.index(model.level) + k / 1000
            (self._glyph if hasattr(model, "glyph") else self._annotation)(model)
        self._axis("x", next((axis for axis in fig.xaxis if axis.visible), None), fig.xgrid)
        self._axis("y", next((axis for axis in fig.yaxis if axis.visible), None), fig.ygrid)
        axes.minorticks_off()
        if fig.match_aspect:
            axes.set_aspect("equal", anchor="NW")
        self._legends([model for model in placed if isinstance(model, Legend) and model.visible])

    # ---- axes --------------------------------------------------------------------------------------------------------

    def _axis(self, side: str, model: Axis | None, grid: Any) -> None:
        """Draw the axis `side`, x or y, like Bokeh's; without a model none is seen."""
        axis, limits = (self.axes.xaxis, self.x_range) if side == "x" else (self.axes.yaxis, self.y_range)
        if model is None:
            axis.set_visible(False)
            self.axes.spines["bottom" if side == "x" else "left"].set_visible(False)
            return
        places = getattr(model.ticker, "ticks", None)
        if places is not None:
            axis.set_major_locator(FixedLocator([place for place in places if min(limits) <= place <= max(limits)]))
        elif axis.get_scale() == "log":
            is_narrow = max(limits) < 100 * min(limits)
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if is_narrow else (1.0,), numticks=8))
        else:
            axis.set_major_locator(MaxNLocator(7 if side == "x" else 5, steps=[1, 2, 5, 10]))
        texts = {float(place): _words(text) for place, text in (model.major_label_overrides or {}).items()}
        is_percent = str(getattr(model.formatter, "format", "")).endswith("%")
        name = level_words(model) or (lambda tick: f"{round(100 * tick, 9):g}%" if is_percent else _number(tick))
        axis.set_major_formatter(
            FuncFormatter(lambda tick, _: texts[float(tick)] if float(tick) in texts else _printable(name(float(tick))))
        )
        axis.set_label_text(_words(model.axis_label), wrap=True)
        axis.grid(bool(grid and grid[0].visible))
        labels = [axis.get_major_formatter()(tick, 0) for tick in axis.get_majorticklocs()]
        if side == "x" and LETTER_PX * max(map(len, labels), default=0) * len(labels) > self.width - 100:
            self.axes.tick_params(axis="x", rotation=45)
            for label in self.axes.get_xticklabels():
                label.set(ha="right", rotation_mode="anchor")

    # ---- what is drawn -----------------------------------------------------------------------------------------------

    def _glyph(self, renderer: GlyphRenderer) -> None:
        marks = Marks(renderer)
        draw = getattr(self, f"_draw_{marks.kind.lower()}", None)
        if draw is not None and marks.count:
            draw(marks)

    def _draw_line(self, marks: Marks) -> None:
        self._lines([(marks.get("x"), marks.get("y"))], *([marks.get(name)] for name in _LINE_LOOKS))

    def _draw_multiline(self, marks: Marks) -> None:
        self._lines([*zip(marks.each("xs"), marks.each("ys"), strict=True)], *map(marks.each, _LINE_LOOKS))

    def _draw_segment(self, marks: Marks) -> None:
        ends = zip(*map(marks.each, ("x0", "x1", "y0", "y1")), strict=True)
        self._lines([(end[:2], end[2:]) for end in ends], *map(marks.each, _LINE_LOOKS))

    def _lines(self, lines: Any, colours: Any, alphas: Any, widths: Any, dashes: Any) -> None:
        """Draw lines (x, y), which values that are not finite break."""
        collection = LineCollection(
            [np.column_stack(line).astype(float) for line in lines], colors=[*map(_paint, colours, alphas)],
            linewidths=list(widths), linestyles=[*map(_dash, dashes)], zorder=self.order,
        )  # fmt: skip
        self.axes.add_collection(collection, autolim=False)

    def _draw_scatter(self, marks: Marks) -> None:
        names = "x", "y", "size", "fill_color", "fill_alpha", "line_color", "line_alpha", "line_width"
        kinds = [*zip(marks.each("marker"), marks.each("angle"), strict=True)]
        groups: dict[Any, list[Any]] = {}  # matplotlib draws those of one marker together
        for kind, row in zip(kinds, zip(*map(marks.each, names), strict=True), strict=True):
            if np.isfinite(row[:2]).all():
                groups.setdefault(kind, []).append(row)
        for (kind, angle), group in groups.items():
            x, y, sizes, fills, opacities, edges, alphas, widths = zip(*group, strict=True)
            lines, is_line = [*map(_paint, edges, alphas)], kind in _OPEN_MARKERS
            self.axes.scatter(
                x, y, np.square(np.asarray(sizes, float)), linewidths=widths, zorder=self.order,
                facecolors=lines if is_line else [*map(_paint, fills, opacities)],
                edgecolors=None if is_line else lines,
                marker=MarkerStyle(_MARKERS.get(kind, "o")).rotated(rad=float(angle or 0.0)),
            )  # fmt: skip

    def _draw_varea(self, marks: Marks) -> None:
        fill = _paint(marks.get("fill_color"), marks.get("fill_alpha"))
        x, y1, y2 = (np.asarray(marks.get(name), float) for name in ("x", "y1", "y2"))
        self.axes.fill_between(x, y1, y2, color=fill, linewidth=0, zorder=self.order)

    def _draw_quad(self, marks: Marks) -> None:
        left, right, bottom, top = marks.sides()
        corners = np.stack([left, bottom, right, bottom, right, top, left, top], axis=1).reshape(-1, 4, 2)
        fills = [*map(_paint, marks.each("fill_color"), marks.each("fill_alpha"))]
        boxes = PolyCollection([*corners], facecolors=fills, edgecolors="none", zorder=self.order)
        self.axes.add_collection(boxes, autolim=False)
        hatches = zip(corners, marks.each("hatch_pattern"), marks.each("hatch_color"), strict=True)
        for box, hatch, colour in hatches:
            if hatch not in (None, " "):  # whatever the pattern: one line from corner to corner
                self._lines([box[[0, 2]].T], [colour], [0.5], [1.0], ["solid"])

    _draw_vbar = _draw_hbar = _draw_quad

    def _draw_text(self, marks: Marks) -> None:
        names = "x", "y", "text", "text_color", "x_offset", "y_offset", "text_align", "text_baseline", "text_font_size"
        for x, y, text, colour, dx, dy, *look in zip(*map(marks.each, names), strict=True):
            if np.isfinite([x, y]).all():
                self._write(x, y, ("data", "data"), (dx, dy), text, colour, *look)

    def _write(
        self, x: Any, y: Any, units: Any, offset: Any, text: Any, colour: Any, align: str, base: str, size: Any
    ) -> None:
        """Write a text at (x, y) in matplotlib's units, moved by an offset, px to the right and down."""
        font_px = float(str(size).removesuffix("px")) if str(size).endswith("px") else 13.0
        self.axes.annotate(
            _words(text), (x, y), (float(offset[0] or 0), -float(offset[1] or 0)), units, "offset points",
            color=_paint(colour), fontsize=0.9 * font_px, ha=str(align), zorder=self.order, clip_on=True,
            va={"middle": "center", "top": "top", "bottom": "bottom"}.get(str(base), "baseline"),
        ).set_in_layout(False)  # fmt: skip

    def _draw_imagergba(self, marks: Marks) -> None:
        for rgba, x, y, dw, dh in zip(*map(marks.each, ("image", "x", "y", "dw", "dh")), strict=True):
            pixels = np.ascontiguousarray(rgba).view(np.uint8).reshape(*np.shape(rgba)[:2], 4)
            self.axes.imshow(pixels, extent=(x, x + dw, y, y + dh), zorder=self.order)

    def _annotation(self, mark: Span | BoxAnnotation | Label) -> None:
        """Draw the mark: a span, a box or a label."""
        axes = self.axes
        if isinstance(mark, Span):
            if mark.location is not None:
                (axes.axhline if mark.dimension == "width" else axes.axvline)(
                    float(mark.location), color=_paint(mark.line_color, mark.line_alpha), zorder=self.order,
                    linewidth=float(mark.line_width), linestyle=_dash(mark.line_dash),
                )  # fmt: skip
        elif isinstance(mark, BoxAnnotation):
            bounds, edges = (mark.left, mark.right, mark.bottom, mark.top), (*self.x_range, *self.y_range)
            sides = zip(bounds, edges, strict=True)
            left, right, bottom, top = (bound if isinstance(bound, int | float) else edge for bound, edge in sides)
            fill = _paint(mark.fill_color, mark.fill_alpha)
            axes.add_patch(Rectangle((left, bottom), right - left, top - bottom, color=fill, lw=0, zorder=self.order))
        elif _words(mark.text):
            share_by_symbol = {"left": 0.0, "right": 1.0, "top": 1.0, "bottom": 0.0}  # of the frame, which a node names
            places, units = [mark.x, mark.y], [_UNITS[mark.x_units], _UNITS[mark.y_units]]
            for k, place in enumerate(places):
                if (symbol := getattr(place, "symbol", "")) in share_by_symbol:
                    places[k], units[k] = share_by_symbol[symbol], "axes fraction"
            look = mark.text_color, mark.text_align, mark.text_baseline, "15px"
            self._write(places[0], places[1], tuple(units), (mark.x_offset, -mark.y_offset), mark.text, *look)

    # ---- legends -----------------------------------------------------------------------------------------------------

    def _legends(self, legends: Sequence[Legend]) -> None:
        """Draw the legends above the frame: for each its title, then a sample and a text for each item."""
        entries: list[tuple[Any, str]] = []
        for legend in legends:
            if legend.title:
                entries.append((Line2D([], [], linewidth=0), _words(legend.title)))
            for item in legend.items:
                item_text = item.label.value if isinstance(item.label, Value) else item.label
                if item.visible and isinstance(item_text, str):
                    entries.append((tuple(_sample(Marks(renderer)) for renderer in item.renderers), _words(item_text)))
        if entries:
            samples, texts = zip(*entries, strict=True)
            entry_width = LEGEND_SAMPLE_PX + LETTER_PX * max(map(len, texts))
            n_columns = min(max(int((self.width - 60) / entry_width), 1), len(texts))
            self.part.legend(samples, texts, loc="outside upper left", ncols=n_columns, frameon=False, fontsize=13)


def _sample(marks: Marks) -> Line2D | Patch:
    """Return the sample of a legend's item: a marker, a box or a piece of line."""
    fill, edge = marks.first("fill_color"), marks.first("line_color")
    if marks.has("marker"):
        marker = _MARKERS.get(str(marks.first("marker")), "o")
        return Line2D([], [], ls="", marker=marker, ms=10, mfc=_paint(fill), mec=_paint(edge or fill), mew=1.5)
    if not marks.has("line_width") or marks.kind == "VArea":
        return Patch(color=_paint(edge or fill))
    width = marks.first("line_width")
    line_width = float(width) if isinstance(width, int | float) else 2.0
    return Line2D([], [], color=_paint(edge or fill or INK), lw=line_width, ls=_dash(marks.first("line_dash")))


def _span(bokeh_range: Any) -> tuple[float, float]:
    ends = bokeh_range.start, bokeh_range.end
    is_range = all(isinstance(end, int | float) and math.isfinite(end) for end in ends) and ends[0] != ends[1]
    return (float(ends[0]), float(ends[1])) if is_range else (0.0, 1.0)


def _number(value: float) -> str:
    return f"{value:.6g}" if value == 0 or 1e-4 <= abs(value) < 1e6 else f"{value:.2g}"
