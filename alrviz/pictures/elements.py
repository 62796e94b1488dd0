"""A Bokeh figure of this project as a HoloViews overlay, which a notebook composes: `a + b`, `a * b`, linked selection.

Marks become elements of the same kind (bars and cells `Rectangles`, lines `Curve`, words `Labels` ...), with the
colours and opacities that they have, and the levels on the axes. HoloViews is no dependency: `pip install
alrviz[holoviews]`.
"""

import math
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
from bokeh.models import LogScale
from bokeh.plotting import figure

from alrviz.errors import AlrvizError
from alrviz.pictures.marks import Marks, level_words

_COUNT = count()
_SIZE = {"responsive": True, "min_height": 320, "show_grid": True}


def element(fig: figure) -> Any:
    """Return a Bokeh figure as a `holoviews.Overlay` of its marks.

    Raises:
        AlrvizError: HoloViews is not installed.
    """
    try:
        import holoviews
        import holoviews.plotting.bokeh  # elements take options of a backend that is there
    except ImportError as error:
        raise AlrvizError("elements need HoloViews; install it with pip install alrviz[holoviews]") from error
    renderers = (renderer for renderer in fig.renderers if renderer.visible and hasattr(renderer, "glyph"))
    kinds = [(_ELEMENT_OF_MARK.get(marks.kind), marks) for marks in map(Marks, renderers)]
    # x and y of another picture are others
    elements = [make(holoviews, marks).opts(axiswise=True) for make, marks in kinds if make is not None]
    sides: dict[str, Any] = {}
    for name, axis, axis_range, scale in (
        ("x", fig.xaxis[0], fig.x_range, fig.x_scale), ("y", fig.yaxis[0], fig.y_range, fig.y_scale),
    ):  # fmt: skip
        sides |= {f"{name}lim": (axis_range.start, axis_range.end), f"{name}label": axis.axis_label or "",
                  f"log{name}": isinstance(scale, LogScale)}  # fmt: skip
        if text_of := level_words(axis):
            sides |= {f"{name}ticks": [(tick, text_of(tick)) for tick in getattr(axis.ticker, "ticks", None) or []]}
        turn = axis.major_label_orientation
        if isinstance(turn, float):
            sides |= {f"{name}rotation": round(math.degrees(turn))}
    return holoviews.Overlay(elements).opts(**sides, **_SIZE, show_legend=False, axiswise=True)


def _table(marks: Marks, *places: str, style: str = "fill") -> tuple[tuple[Any, ...], list[str]]:
    """Return columns of marks: their `places` (properties), colours and opacities; and the names of the last two.

    style: "fill" or "line", whose colour and opacity are meant.
    """
    element_number = next(_COUNT)  # elements of an overlay would share what is called alike
    columns = (*map(marks.each, (*places, f"{style}_color")), np.array(marks.each(f"{style}_alpha", 1.0), float))
    return columns, [f"colour {element_number}", f"opacity {element_number}"]


def _rectangles(hv: Any, marks: Marks) -> Any:
    looks, names = _table(marks)
    left, right, bottom, top = marks.sides()
    columns = (left, bottom, right, top, *looks)
    return hv.Rectangles(columns, vdims=names).opts(color=names[0], alpha=names[1], line_color=None)


def _segment(hv: Any, marks: Marks) -> Any:
    columns, names = _table(marks, "x0", "y0", "x1", "y1", style="line")
    width = marks.first("line_width") or 1
    return hv.Segments(columns, vdims=names).opts(color=names[0], alpha=names[1], line_width=width)


def _scatter(hv: Any, marks: Marks) -> Any:
    columns, names = _table(marks, "x", "y")
    size = marks.first("size") or 6
    if marks.count and columns[2][0] is None:  # a ring
        return hv.Points(columns[:2]).opts(size=size, fill_color=None, color=marks.first("line_color"))
    return hv.Points(columns, vdims=names).opts(color=names[0], alpha=names[1], size=size)


def _line(hv: Any, marks: Marks) -> Any:
    return hv.Curve((marks.each("x"), marks.each("y"))).opts(
        color=marks.first("line_color"), line_width=marks.first("line_width"), alpha=marks.first("line_alpha"),
        line_dash=marks.first("line_dash") or "solid",
    )  # fmt: skip


def _multi_line(hv: Any, marks: Marks) -> Any:
    name = f"colour {next(_COUNT)}"
    coloured_lines = zip(*map(marks.each, ("xs", "ys", "line_color")), strict=True)
    lines = [{"x": x, "y": y, name: colour} for x, y, colour in coloured_lines]
    return hv.Contours(lines, vdims=name).opts(color=name)


def _area(hv: Any, marks: Marks) -> Any:
    area = hv.Area(tuple(map(marks.each, ("x", "y1", "y2"))), vdims=["y", "y2"])
    return area.opts(color=marks.first("fill_color"), alpha=marks.first("fill_alpha"), line_color=None)


def _text(hv: Any, marks: Marks) -> Any:
    name = f"colour {next(_COUNT)}"
    columns = marks.each("x"), marks.each("y"), list(map(str, marks.each("text"))), marks.each("text_color")
    labels = hv.Labels(columns, vdims=["words", name])
    return labels.opts(text_color=name, text_font_size=marks.first("text_font_size") or "13px")


_ELEMENT_OF_MARK: dict[str, Callable[[Any, Marks], Any]] = {
    "Quad": _rectangles, "HBar": _rectangles, "VBar": _rectangles, "Segment": _segment, "Scatter": _scatter,
    "Line": _line, "MultiLine": _multi_line, "VArea": _area, "Text": _text,
}  # fmt: skip
