"""The reliability curve: how often rows predicted with a probability turn out right; on the diagonal it is true.

A line for each model over bins of as many rows each; below the diagonal a model is too sure of itself, above it is not
sure enough. One of them may be marked: it is full, with bars of a standard error, the others are faint.
"""

from collections.abc import Mapping
from functools import partial
from itertools import cycle

import numpy as np
import pandas as pd
from bokeh.models import HoverTool
from bokeh.models.annotations import Legend, LegendItem

from alrviz.pictures.palette import GREY, MARKERS
from alrviz.pictures.picture import Data, Picture, Plot

FAINT = 0.7


def line_of(table: pd.DataFrame) -> Data:
    """Return what a line draws of a table of `studies.measures.reliability`."""
    if not len(table):
        return {"x": [], "y": [], "rows": [], "low": [], "high": []}
    spread = table.standard_error
    low, high = (table.accuracy - spread).clip(0, 1), (table.accuracy + spread).clip(0, 1)
    of = {"x": table.confidence, "y": table.accuracy, "rows": table.rows, "low": low, "high": high}
    return {name: column.to_numpy() for name, column in of.items()}


def reliability(tables: Mapping[str, pd.DataFrame], colours: Mapping[str, str], chosen: str = "") -> Picture:
    """Return the picture of these tables, by the names of their lines; the one of `chosen` is marked.

    colours: one for each line that there may be.
    """
    nothing = pd.DataFrame()
    lines = {text: line_of(tables.get(text, nothing)) for text in colours}
    starts = [float(np.min(line["x"])) for line in lines.values() if len(line["x"])]
    # Not their alpha: a notebook's page sends that back in a form that Bokeh's own Line refuses.
    muted = tuple({"muted": bool(chosen) and text != chosen} for text in colours)
    return Picture(
        draw=partial(_draw, colours=colours),
        x=(max(0.0, min(starts, default=0.0) - 0.1), 1.02), y=(0.0, 1.02),
        labels=("probability of the class predicted", "observed accuracy"),
        data={"lines": tuple(lines.values()), "bars": lines.get(chosen, line_of(nothing))},
        parts={"lines": muted, "dots": muted, "legend": {"visible": bool(starts)}},
        key=tuple(colours.items()),
    )  # fmt: skip


def _draw(plot: Plot, colours: Mapping[str, str]) -> None:
    fig, lines, dots, items = plot.figure, [], [], []
    fig.line([0, 1], [0, 1], line_color=GREY, line_dash=[5, 4], line_width=1.4)
    fig.segment("x", "low", "x", "high", source=plot["bars"], line_color=GREY, line_width=1.6)
    for (text, colour), marker, source in zip(colours.items(), cycle(MARKERS), plot["lines"], strict=False):
        lines.append(fig.line("x", "y", source=source, line_color=colour, line_width=2.6, muted_alpha=FAINT))
        dots.append(fig.scatter("x", "y", source=source, color=colour, size=7, marker=marker, muted_alpha=FAINT))
        items.append(LegendItem(label=text, renderers=[lines[-1], dots[-1]]))
    tips = [("said", "@x{0.000}"), ("right", "@y{0.000}"), ("rows", "@rows{0,0}")]
    fig.add_tools(HoverTool(renderers=dots, tooltips=tips))
    # Of a line without points it has words alone: it is shown with the first points.
    legend = Legend(items=items, orientation="horizontal", margin=0, padding=2, border_line_color=None, spacing=8)
    legend.update(background_fill_alpha=0.0, click_policy="hide", label_text_font_size="15px", glyph_width=16)
    fig.add_layout(legend, "above")
    plot.parts |= {"lines": tuple(lines), "dots": tuple(dots), "legend": legend}
