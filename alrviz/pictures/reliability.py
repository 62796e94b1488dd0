"""The reliability curve: how often rows predicted with a probability turn out right; on the diagonal it is true.

A line for each model over bins of as many rows each; below the diagonal a model is too sure of itself, above it is not
sure enough. One of them may be marked: it is full, with bars of a standard error, the others are faint.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
from bokeh.models import ColumnDataSource, HoverTool
from bokeh.models.annotations import Legend, LegendItem
from bokeh.plotting import figure

from alrviz.pictures.palette import GREY, MARKERS
from alrviz.pictures.picture import frame

Data = dict[str, Any]
FAINT = 0.7


@dataclass(frozen=True, slots=True)
class Picture:
    """The figure, a source for each line by its name, and that of the bars."""

    figure: figure
    lines: dict[str, ColumnDataSource]
    bars: ColumnDataSource
    glyphs: dict[str, tuple[Any, ...]]


def line_of(table: pd.DataFrame) -> Data:
    """What a line draws of a table of `studies.measures.reliability`."""
    if not len(table):
        return {"x": [], "y": [], "rows": [], "low": [], "high": []}
    spread = table.standard_error
    low, high = (table.accuracy - spread).clip(0, 1), (table.accuracy + spread).clip(0, 1)
    of = {"x": table.confidence, "y": table.accuracy, "rows": table.rows, "low": low, "high": high}
    return {name: column.to_numpy() for name, column in of.items()}


def reliability_picture(colours: Mapping[str, str], name: str) -> Picture:
    """Return an empty picture of lines of these names and colours; `feed` fills it."""
    fig = frame((0.0, 1.02), (0.0, 1.02), ("probability of the class predicted", "observed accuracy"), name)
    fig.line([0, 1], [0, 1], line_color=GREY, line_dash=[5, 4], line_width=1.4)
    bars = ColumnDataSource(line_of(pd.DataFrame()))
    fig.segment("x", "low", "x", "high", source=bars, line_color=GREY, line_width=1.6)
    lines, glyphs, items = {}, {}, []
    for (text, colour), marker in zip(colours.items(), cycle(MARKERS), strict=False):
        source = lines[text] = ColumnDataSource(line_of(pd.DataFrame()))
        line = fig.line("x", "y", source=source, line_color=colour, line_width=2.6, muted_alpha=FAINT)
        dots = fig.scatter("x", "y", source=source, color=colour, size=7, marker=marker, muted_alpha=FAINT)
        glyphs[text] = (line, dots)
        items.append(LegendItem(label=text, renderers=[line, dots]))
    tips = [("said", "@x{0.000}"), ("right", "@y{0.000}"), ("rows", "@rows{0,0}")]
    fig.add_tools(HoverTool(renderers=[dots for _, dots in glyphs.values()], tooltips=tips))
    legend = Legend(items=items, orientation="horizontal", margin=0, padding=2, border_line_color=None, spacing=8)
    legend.update(background_fill_alpha=0.0, click_policy="hide", label_text_font_size="15px", glyph_width=16)
    legend.visible = False  # of a line without points it has words alone
    fig.add_layout(legend, "above")
    return Picture(fig, lines, bars, glyphs)


def feed(picture: Picture, tables: Mapping[str, pd.DataFrame], chosen: str = "") -> None:
    """Show these tables by the names of their lines; the one of `chosen` is marked."""
    for text, source in picture.lines.items():
        source.data = line_of(tables.get(text, pd.DataFrame()))
        line, dots = picture.glyphs[text]
        # Not their alpha: a notebook's page sends that back in a form that Bokeh's own Line refuses.
        line.muted = dots.muted = bool(chosen) and text != chosen
    marked = tables.get(chosen) if chosen in picture.lines else None
    picture.bars.data = line_of(pd.DataFrame() if marked is None else marked)
    starts = [float(np.min(source.data["x"])) for source in picture.lines.values() if len(source.data["x"])]
    picture.figure.legend.visible = bool(starts)
    low = max(0.0, min(starts, default=0.0) - 0.1)
    if starts and picture.figure.x_range.start != low:
        picture.figure.x_range.update(start=low, reset_start=low)
