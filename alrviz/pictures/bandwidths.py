"""Bandwidths and losses along a DLR fit, one above the other: what the film's cursor moves over.

Above: h over Silverman's h of every numeric column, on a log axis; those that moved most in colours with their names
at the ends of their lines, the others grey. Below: NLL per row of training rows (full), validation rows (dotted) and
held-out rows (dashed). Dots stand where a step moved bandwidths. A line marks the step that is shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, HoverTool, Span
from bokeh.models.annotations import Legend, LegendItem
from bokeh.plotting import figure

from alrviz.pictures.columns import class_colours
from alrviz.pictures.frame import FONT, frame
from alrviz.pictures.labels import Box, box, place
from alrviz.pictures.palette import GREY, family_colour, readable
from alrviz.studies.scenes import BandwidthPath

Data = dict[str, Any]
NAMED = 7  # columns with a colour and a name: as many as there are hues
STYLES = {"training": "solid", "validation": "dotted", "held-out": "dashed"}
HEIGHTS = (150, 110)  # assumed pixels of the two drawing frames


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything the two pictures draw, as columns for sources."""

    ratios: Data
    moved: Data
    names: Data
    losses: Data
    ratio_box: Box
    loss_box: Box


@dataclass(frozen=True, slots=True)
class Picture:
    """Two figures, the sources that feed them, and the line in each that marks the step shown."""

    ratios: figure
    losses: figure
    sources: tuple[ColumnDataSource, ...]  # ratios, moved, names, losses
    cursors: tuple[Span, Span]


def contents(path: BandwidthPath, *, dark: bool = False) -> Contents:
    """What the pictures of a path draw; pure data."""
    x = path.iterations.astype(np.float64)
    count = len(path.columns)
    order, colours = _colours(path)
    view = _ratio_box(path, x, [path.columns[d] for d in order[:NAMED]])
    ends = [(float(x[-1]), float(path.ratios[-1, d])) for d in order[:NAMED]] if len(x) else []
    names = [path.columns[d] for d in order[:NAMED]][: len(ends)]
    shifts = place(view, [e[0] for e in ends], [e[1] for e in ends], names, [False] * len(ends))
    moved = np.flatnonzero(path.outer)
    at, column = np.repeat(moved, count), np.tile(np.arange(count), len(moved))
    tops = [np.asarray(values, dtype=np.float64) for values in path.losses.values()]
    return Contents(
        ratios={
            "xs": [x] * count,
            "ys": [path.ratios[:, d] for d in range(count)],
            "colour": colours,
            "width": [2.4 if colour != GREY else 1.2 for colour in colours],
            "column": list(path.columns),
        },
        moved={"x": x[at], "y": path.ratios[at, column], "colour": np.array(colours, dtype=object)[column]},
        names={
            "x": [e[0] for e in ends],
            "y": [e[1] for e in ends],
            "words": names,
            "colour": [readable(colours[d], dark) for d in order[:NAMED]][: len(ends)],
            "dy": [shift + 6 for shift in shifts],
        },
        losses={
            "xs": [x] * len(tops),
            "ys": tops,
            "what": list(path.losses),
            "dash": [STYLES.get(part, "solid") for part in path.losses],
        },
        ratio_box=view,
        loss_box=box([x], tops, words=[path.columns[d] for d in order[:NAMED]], height=HEIGHTS[1]),
    )


def _colours(path: BandwidthPath) -> tuple[list[int], list[str]]:
    """Columns by how far they moved, and a colour for each: hues for the first, grey for the others."""
    count = len(path.columns)
    far = np.zeros(count)
    if len(path.ratios):
        logs = np.log(np.where(path.ratios > 0, path.ratios, np.nan))
        known = np.isfinite(logs).all(axis=0)
        far[known] = np.ptp(logs[:, known], axis=0)
    order = [int(d) for d in np.argsort(-far, kind="stable")]
    hues = class_colours(NAMED)
    if count <= NAMED:  # few columns keep their colours while the fit goes on
        return order, hues[:count]
    rank = {d: k for k, d in enumerate(order)}
    return order, [hues[rank[d]] if rank[d] < NAMED else GREY for d in range(count)]


def _ratio_box(path: BandwidthPath, x: Any, names: Sequence[str]) -> Box:
    """The box of the ratios: Silverman's (1) is always in it."""
    return box([x], [path.ratios.ravel(), np.array([0.6, 1.7])], log=True, words=names, height=HEIGHTS[0])


def bandwidth_picture(path: BandwidthPath, *, name: str = "bandwidths", dark: bool = False) -> Picture:
    """Draw a path; `name` is the upper figure's, the lower one's ends with -nll."""
    what = contents(path, dark=dark)
    above, below = what.ratio_box, what.loss_box
    words = ("", "h / Silverman's, log scale")
    upper = frame((above.left, above.right), (above.bottom, above.top), words, name, y_axis_type="log")
    lower = frame((below.left, below.right), (below.bottom, below.top), ("step", "NLL per row (nats)"), f"{name}-nll")
    lower.x_range = upper.x_range
    for fig in (upper, lower):
        fig.min_height = 120
    sources = tuple(ColumnDataSource(part) for part in (what.ratios, what.moved, what.names, what.losses))
    ratios, moved, names, losses = sources
    upper.add_layout(Span(location=1.0, dimension="width", line_color=GREY, line_dash=[2, 3], line_width=1.2))
    lines = upper.multi_line("xs", "ys", source=ratios, line_color="colour", line_width="width")
    upper.scatter("x", "y", source=moved, size=5, color="colour")
    upper.text(
        "x", "y", text="words", source=names, text_color="colour", x_offset=7, y_offset="dy", text_font=FONT,
        text_font_size="15px", text_font_style="bold",
    )  # fmt: skip
    nll = lower.multi_line("xs", "ys", source=losses, line_color=family_colour("dlr"), line_width=2.4, line_dash="dash")
    for fig, drawn, tips in (
        (upper, lines, [("column", "@column"), ("step", "$x{0}"), ("ratio", "$y{0.[000]}")]),
        (lower, nll, [("rows", "@what"), ("step", "$x{0}"), ("nats", "$y{0.[0000]}")]),
    ):
        fig.add_tools(HoverTool(renderers=[drawn], tooltips=tips))
    _legend(lower, list(path.losses))
    cursors = tuple(_cursor(fig, dark) for fig in (upper, lower))
    return Picture(upper, lower, sources, (cursors[0], cursors[1]))


def _cursor(fig: figure, dark: bool) -> Span:
    line = Span(location=0.0, dimension="height", line_color=readable(GREY, dark), line_width=2)
    fig.add_layout(line)
    return line


def _legend(fig: figure, parts: Sequence[str]) -> None:
    items = []
    for part in parts:
        sample: Any = fig.line(
            [np.nan], [np.nan], color=family_colour("dlr"), line_width=2.2, line_dash=STYLES.get(part, "solid")
        )
        items.append(LegendItem(label=f"{part} rows", renderers=[sample]))
    legend = Legend(items=items, orientation="horizontal", margin=0, padding=2, border_line_color=None)
    legend.background_fill_alpha = 0.0
    fig.add_layout(legend, "above")
