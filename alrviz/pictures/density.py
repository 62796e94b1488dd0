"""One column of dlr: its density log-ratio phi(x), weighted by the model (w phi), with some rows and the bandwidth.

Of two classes w phi is filled in the colour of the class it speaks for, phi itself is a thin dashed line; of more
classes each has its line of w phi in its own colour. Rows are ticks at the bottom, a line a class. The bandwidth is a
bar of length h on both sides of its middle. Levels are bars (two classes) or marks (more).
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
from bokeh.models import BasicTicker, HoverTool, Label, Node, PlainText
from bokeh.plotting import figure

from alrviz.passes.aligned_buffers import Floats
from alrviz.pictures.columns import class_colours
from alrviz.pictures.level_axis import level_axis, short
from alrviz.pictures.palette import GREY, INKS, MARKERS, readable
from alrviz.pictures.picture import FONT_NAME, Data, Picture, Plot, Range, write
from alrviz.studies.density.density_frames import ColumnRatio

LINE, LINES = 0.055, 4  # of the picture's height for each line of the rug; more lines would cover the curves
MAX_NAMES_CHARS = 30  # characters beside each other below one of several pictures
MAX_NAME_LENGTH = 14  # characters within the picture, beside the bandwidth; the heading has the whole name


def density_picture(
    ratio: ColumnRatio,
    classes: Sequence[str],
    *,
    weighted: bool = True,
    dark: bool = False,
    view: Range | None = None,
) -> Picture:
    """Return the picture of a column.

    weighted: whether w phi is drawn (with phi beside it where there are two classes) or phi alone. dark: whether the
    ground is dark. view: the heights shown before, which stay while they fit.
    """
    values = ratio.weighted if weighted else ratio.phi
    has_two_classes = values.ndim == 1
    y_low, y_high = _view([values, ratio.phi] if has_two_classes else [values], ratio, view)
    x = (0.0, float(len(ratio.levels))) if ratio.x is None else (float(ratio.x[0]), float(ratio.x[-1]))
    return Picture(
        draw=partial(_draw, ratio=ratio, classes=classes, dark=dark),
        x=x, y=(y_low, y_high), labels=("", ""),
        data={
            "lines": _lines(ratio, values, classes, has_two_classes and weighted, dark),
            "fills": _fills(ratio, values),
            "marks": _marks(ratio, values, classes),
            "rug": _rug(ratio, classes, y_low, y_high - y_low),
            "bar": _bar(ratio, y_high - 0.05 * (y_high - y_low), dark),
        },
        key=(ratio.column, ratio.levels, x, tuple(classes), dark),
    )  # fmt: skip


def _view(curves: Sequence[Floats], ratio: ColumnRatio, old: Range | None) -> Range:
    """Return the heights shown: 0, curves at rows, room for rug and bandwidth; or `old`, shown before, if they fit."""
    values_at_rows = np.concatenate([ratio.at_rows(values).ravel() for values in curves])
    values_at_rows = values_at_rows[np.isfinite(values_at_rows)]
    low, high = min(0.0, float(values_at_rows.min(initial=0.0))), max(0.0, float(values_at_rows.max(initial=0.0)))
    span = max(high - low, 0.1)
    if old is not None and old[0] <= low - 0.2 * span and high + 0.25 * span <= old[1] and old[1] - old[0] <= 4 * span:
        return old
    return low - 0.28 * span, high + 0.36 * span


def _lines(ratio: ColumnRatio, values: Floats, classes: Sequence[str], with_phi: bool, dark: bool) -> Data:
    """Return the curves of a numeric column, `values` (G,) or (G, C) by class.

    with_phi: whether phi is drawn beside w phi; dark: whether the ground is dark.
    """
    if ratio.x is None:
        return {key: [] for key in ("xs", "ys", "colour", "width", "dash", "what")}
    if values.ndim == 1:
        curves = [(values, INKS[dark], 2.4, "solid", "times its weight" if with_phi else "without its weight")]
        if with_phi:
            curves.append((ratio.phi, GREY, 1.6, "dashed", "without its weight"))
    else:
        colours = class_colours(len(classes))
        curves = [(values[:, k], colours[k], 2.4, "solid", str(classes[k])) for k in range(values.shape[1])]
    ys, colour, width, dash, line_names = (list(column) for column in zip(*curves, strict=True))
    return {"xs": [ratio.x] * len(ys), "ys": ys, "colour": colour, "width": width, "dash": dash, "what": line_names}


def _fills(ratio: ColumnRatio, values: Floats) -> Data:
    """Return the areas between the curve `values` (G,) and 0, above and below."""
    if ratio.x is None or values.ndim > 1:
        return {"x": [], "low": [], "high": [], "zero": []}
    return {"x": ratio.x, "low": np.minimum(values, 0), "high": np.maximum(values, 0), "zero": np.zeros(len(values))}


def _marks(ratio: ColumnRatio, values: Floats, classes: Sequence[str]) -> Data:
    """Return the marks of a categorical column: a bar for each level with two classes, else a mark per level and class.

    values: (levels,) or (levels, C). A numeric column has no marks.
    """
    colours = np.array(class_colours(len(classes)), dtype=object)
    n_levels = len(ratio.levels)
    if ratio.x is not None:
        return {key: [] for key in ("x", "y", "zero", "width", "colour", "level", "what", "marker", "size")}
    if values.ndim == 1:
        favoured_class = (values > 0).astype(np.intp)
        class_indices, level_indices, y = favoured_class, np.arange(n_levels), values
    else:
        level_indices, class_indices = (index_grid.ravel() for index_grid in np.indices(values.shape))
        y = values.ravel()
    shift = 0.0 if values.ndim == 1 else (class_indices - (values.shape[1] - 1) / 2) * 0.6 / values.shape[1]
    return {
        "x": level_indices + 0.5 + shift,
        "y": y,
        "zero": np.zeros(len(y)),
        "width": np.full(len(y), 0.62 if values.ndim == 1 else 0.0),
        "colour": colours[class_indices],
        "level": np.array(ratio.levels, dtype=object)[level_indices],
        "what": np.array(classes, dtype=object)[class_indices],
        "marker": np.array([MARKERS[class_index % len(MARKERS)] for class_index in class_indices], dtype=object),
        "size": np.full(len(y), 0 if values.ndim == 1 else 10),
    }


def _rug(ratio: ColumnRatio, classes: Sequence[str], y_low: float, height: float) -> Data:
    """Return ticks for the rows of the rug, in a line for each class of `classes`, above y_low.

    height: of the visible area.
    """
    colours = np.array(class_colours(len(classes)), dtype=object)
    if ratio.x is None or not len(ratio.rug):
        return {"x": [], "y": [], "colour": [], "what": []}
    n_rug_lines = min(len(classes), LINES)
    return {
        "x": ratio.rug,
        "y": y_low + height * LINE * (0.6 + ratio.rug_class % n_rug_lines),
        "colour": colours[ratio.rug_class],
        "what": np.array(classes, dtype=object)[ratio.rug_class],
    }


def _bar(ratio: ColumnRatio, height: float, dark: bool) -> Data:
    """Return the bandwidth h as a bar from -h to h, right of the column's name; in the middle if h is large.

    height: of the bar; dark: whether the ground is dark.
    """
    if ratio.x is None or not np.isfinite(ratio.bandwidth):
        return {key: [] for key in ("x0", "x1", "y", "middle", "words", "colour")}
    span = float(ratio.x[-1] - ratio.x[0])
    half_length = min(ratio.bandwidth, span / 2)
    middle = float(ratio.x[0]) + span * (0.75 if half_length <= 0.25 * span else 0.5)
    return {
        "x0": [middle - half_length],
        "x1": [middle + half_length],
        "y": [height],
        "middle": [middle],
        "words": [f"±h = {ratio.bandwidth:.3g}"],
        "colour": [readable(GREY, dark)],
    }


def _draw(plot: Plot, ratio: ColumnRatio, classes: Sequence[str], dark: bool) -> None:
    fig, x, fills, marks = plot.figure, plot.figure.x_range, plot["fills"], plot["marks"]
    fig.toolbar_location = None
    fig.min_height = 110  # what six pictures in a window of 1280x720 leave for one
    fig.min_border_right = 12
    _name_inside(fig, ratio.column, dark)
    fig.yaxis[0].axis_label = "log odds" if len(classes) == 2 else "nats"
    fig.yaxis[0].ticker = BasicTicker(desired_num_ticks=5)
    if ratio.x is not None:
        fig.xaxis[0].ticker = BasicTicker(desired_num_ticks=5)
    else:
        level_axis(fig.xaxis[0], ratio.levels, room=MAX_NAMES_CHARS)
    fig.segment([x.start], [0.0], [x.end], [0.0], line_color=GREY, line_width=1.2, line_dash=[2, 3], level="underlay")
    colours = class_colours(len(classes))
    if len(classes) == 2:
        fig.varea("x", "zero", "high", source=fills, fill_color=colours[1], fill_alpha=0.35)
        fig.varea("x", "low", "zero", source=fills, fill_color=colours[0], fill_alpha=0.35)
    curve = fig.multi_line("xs", "ys", source=plot["lines"], line_color="colour", line_width="width", line_dash="dash")
    bars = fig.vbar("x", width="width", top="y", bottom="zero", source=marks, fill_color="colour", line_color=None)
    dots = fig.scatter("x", "y", source=marks, size="size", marker="marker", color="colour")
    fig.scatter(
        "x", "y", source=plot["rug"], marker="dash", angle=np.pi / 2, size=9, line_color="colour", line_alpha=0.55,
        line_width=1,
    )  # fmt: skip
    bar = plot["bar"]
    fig.segment("x0", "y", "x1", "y", source=bar, line_color="colour", line_width=3)
    for end in ("x0", "x1"):
        fig.scatter(end, "y", source=bar, marker="dash", angle=np.pi / 2, size=10, line_color="colour", line_width=2)
    write(fig, bar, x="middle", size=14, front=dark, align="center", baseline="top", y_offset=4)
    fig.add_tools(
        HoverTool(renderers=[curve], tooltips=[("line", "@what"), ("x", "$x"), ("nats", "$y")]),
        HoverTool(renderers=[bars, dots], tooltips=[("level", "@level"), ("speaks for", "@what"), ("nats", "@y")]),
    )


def _name_inside(fig: figure, column: str, dark: bool) -> None:
    """Write the column's name inside the figure's frame; below the axis it would cost a small picture a line."""
    # In names from data Bokeh looks for no TeX.
    corner = {side_name: Node(target="frame", symbol=side_name, offset=4) for side_name in ("left", "top")}
    name_label = Label(
        x=corner["left"], y=corner["top"], text=PlainText(text=short(column, MAX_NAME_LENGTH)), text_baseline="top",
        text_font=FONT_NAME, text_font_size="15px", text_color=INKS[dark],
    )  # fmt: skip
    fig.add_layout(name_label)
