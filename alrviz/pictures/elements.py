"""A Bokeh figure of this project as a HoloViews overlay, which a notebook composes: `a + b`, `a * b`, linked selection.

Marks become elements of the same kind (bars and cells `Rectangles`, lines `Curve`, words `Labels` ...), with the
colours and opacities that they have, and the levels on the axes. HoloViews is no dependency: `pip install
alrviz[holoviews]`.
"""

import math
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from bokeh.core.property.vectorization import Field, Value
from bokeh.models import LogScale

from alrviz.errors import AlrvizError

_COUNT = count()
_SIZE = {"responsive": True, "min_height": 320, "show_grid": True}


def element(figure: Any) -> Any:
    """Return a Bokeh figure as a `holoviews.Overlay` of its marks.

    Raises:
        AlrvizError: HoloViews is not installed.
    """
    try:
        import holoviews
        import holoviews.plotting.bokeh  # elements take options of a backend that is there
    except ImportError as error:
        raise AlrvizError("elements need HoloViews; install it with pip install alrviz[holoviews]") from error
    made = []
    for renderer in figure.renderers:
        make = _MADE.get(type(getattr(renderer, "glyph", None)).__name__)
        if make is not None and renderer.visible:
            made.append(make(holoviews, partial(_column, renderer)))
    sides: dict[str, Any] = {}
    for name, axis, span, scale in (
        ("x", figure.xaxis[0], figure.x_range, figure.x_scale), ("y", figure.yaxis[0], figure.y_range, figure.y_scale),
    ):  # fmt: skip
        sides |= {f"{name}lim": (span.start, span.end), f"{name}label": axis.axis_label or "",
                  f"log{name}": isinstance(scale, LogScale)}  # fmt: skip
        if ticks := _ticks(axis):
            sides |= {f"{name}ticks": ticks}
        turn = axis.major_label_orientation
        if isinstance(turn, float):
            sides |= {f"{name}rotation": round(math.degrees(turn))}
    made = [one.opts(axiswise=True) for one in made]  # x and y of another picture are others
    return holoviews.Overlay(made).opts(**sides, **_SIZE, show_legend=False, axiswise=True)


def _column(renderer: Any, name: str, default: Any = None) -> Any:
    """A property of a renderer's marks: an array, one a mark, or what all of them have."""
    given = getattr(renderer.glyph, name, default)
    if isinstance(given, Value):
        return given.value
    field = given.field if isinstance(given, Field) else given
    data = renderer.data_source.data
    return np.asarray(data[field]) if isinstance(field, str) and field in data else given


def _ticks(axis: Any) -> list[tuple[float, str]]:
    """Levels on an axis: where they are, and what they are called."""
    args = getattr(axis.formatter, "args", None) or {}
    words, at = list(args.get("words", ())), list(args.get("at", ()))
    places = getattr(axis.ticker, "ticks", None) or []
    if not words:
        return []
    return [(tick, str(words[at.index(tick) if at else math.floor(tick)])) for tick in places]


Get = Callable[..., Any]


def _table(get: Get, *places: str, fill: str = "fill") -> tuple[list[Any], list[str]]:
    """Columns of marks: their places, colour and opacity."""
    parts = [get(name) for name in places] + [get(f"{fill}_color"), get(f"{fill}_alpha", 1.0)]
    rows = max((len(part) for part in parts if isinstance(part, np.ndarray)), default=1)
    parts = [part if isinstance(part, np.ndarray) else np.full(rows, part, object) for part in parts]
    parts[-1] = parts[-1].astype(float)
    return parts, _dimensions()


def _dimensions() -> list[str]:
    """Names of the dimensions of colours and opacities: elements of an overlay would share what is called alike."""
    k = next(_COUNT)
    return [f"colour {k}", f"opacity {k}"]


def _one(value: Any, default: Any = None) -> Any:
    """A look that an element has once, of marks that may each have their own."""
    first = value[0] if isinstance(value, np.ndarray) and len(value) else value
    return default if first is None or isinstance(first, np.ndarray) else first


def _rectangles(hv: Any, left: Any, bottom: Any, right: Any, top: Any, get: Get) -> Any:
    (colour, alpha), names = _table(get)
    rows = len(np.broadcast_arrays(left, bottom, right, top)[0])
    sides = [np.broadcast_to(np.asarray(one, float), rows) for one in (left, bottom, right, top)]
    looks = [np.broadcast_to(one, rows) for one in (colour, alpha)]
    return hv.Rectangles((*sides, *looks), vdims=names).opts(color=names[0], alpha=names[1], line_color=None)


def _quad(hv: Any, get: Get) -> Any:
    return _rectangles(hv, get("left"), get("bottom"), get("right"), get("top"), get)


def _hbar(hv: Any, get: Get) -> Any:
    y, half = np.asarray(get("y"), float), np.asarray(get("height"), float) / 2
    return _rectangles(hv, get("left"), y - half, get("right"), y + half, get)


def _vbar(hv: Any, get: Get) -> Any:
    x, half = np.asarray(get("x"), float), np.asarray(get("width"), float) / 2
    return _rectangles(hv, x - half, get("bottom"), x + half, get("top"), get)


def _segment(hv: Any, get: Get) -> Any:
    parts, names = _table(get, "x0", "y0", "x1", "y1", fill="line")
    return hv.Segments(tuple(parts), vdims=names).opts(
        color=names[0], alpha=names[1], line_width=_one(get("line_width"), 1)
    )


def _scatter(hv: Any, get: Get) -> Any:
    parts, names = _table(get, "x", "y")
    if parts[2][:1].tolist() == [None]:  # a ring
        return hv.Points(tuple(parts[:2])).opts(
            size=_one(get("size"), 6), fill_color=None, color=_one(get("line_color"))
        )
    return hv.Points(tuple(parts), vdims=names).opts(color=names[0], alpha=names[1], size=_one(get("size"), 6))


def _line(hv: Any, get: Get) -> Any:
    return hv.Curve((get("x"), get("y"))).opts(
        color=_one(get("line_color")), line_width=_one(get("line_width"), 1), alpha=_one(get("line_alpha"), 1.0),
        line_dash=_one(get("line_dash")) or "solid",
    )  # fmt: skip


def _multi_line(hv: Any, get: Get) -> Any:
    colours = get("line_color")
    name = _dimensions()[0]
    lines = [{"x": x, "y": y, name: colour} for x, y, colour in
             zip(get("xs"), get("ys"), np.broadcast_to(colours, len(get("xs"))), strict=True)]  # fmt: skip
    return hv.Contours(lines, vdims=name).opts(color=name)


def _area(hv: Any, get: Get) -> Any:
    return hv.Area((get("x"), get("y1"), get("y2")), vdims=["y", "y2"]).opts(
        color=_one(get("fill_color")), alpha=_one(get("fill_alpha"), 1.0), line_color=None
    )


def _text(hv: Any, get: Get) -> Any:
    shown, colour = [str(words) for words in get("text")], get("text_color")
    colours = colour if isinstance(colour, np.ndarray) else [colour] * len(shown)
    name = _dimensions()[0]
    return hv.Labels((get("x"), get("y"), shown, colours), vdims=["words", name]).opts(
        text_color=name, text_font_size=_one(get("text_font_size"), "13px")
    )


_MADE: dict[str, Callable[[Any, Get], Any]] = {
    "Quad": _quad, "HBar": _hbar, "VBar": _vbar, "Segment": _segment, "Scatter": _scatter, "Line": _line,
    "MultiLine": _multi_line, "VArea": _area, "Text": _text,
}  # fmt: skip
