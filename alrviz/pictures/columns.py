"""One column at a glance: its rows by level, stacked by class, with the cuts that make levels of a number.

`bars` lays out rectangles, `column_figure` draws them; both are used again for every column, so the axis is numeric
even where levels are words, and the words are labels of its ticks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from bokeh.models import BasicTicker, ColumnDataSource, FixedTicker, HoverTool, PlainText, Range1d
from bokeh.plotting import figure

from alrviz.pictures.palette import shade

# Okabe and Ito's, without black and yellow, which vanish on dark and on light.
_CLASSES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C7AE6")
_TINTS = (0.0, 0.45, -0.35, 0.68, -0.55)
OTHERS = "#9a9aa2"


def class_colours(n_classes: int) -> list[str]:
    """Return a colour per class: seven hues, then lighter and darker shades of them, then grey."""
    hues = len(_CLASSES)
    shaded = [shade(_CLASSES[k % hues], _TINTS[k // hues]) for k in range(min(n_classes, hues * len(_TINTS)))]
    return shaded + [OTHERS] * (n_classes - len(shaded))


@dataclass(frozen=True, eq=False)
class ColumnPicture:
    """What is drawn of one column.

    Attributes:
        title: what is seen.
        counts: (B, C) rows per bar and class.
        edges: (B + 1,) where bars begin and end on the axis.
        labels: a text per bar.
        ticks: places and texts of the axis, or None where it is a scale of numbers.
        cuts: where a number is cut into levels.
        axis: the axis' label.
    """

    title: str
    counts: np.ndarray
    edges: np.ndarray
    labels: tuple[str, ...]
    ticks: dict[float, str] | None
    cuts: np.ndarray
    axis: str


def bars(picture: ColumnPicture, classes: Sequence[str]) -> pd.DataFrame:
    """Return one rectangle per bar and class that has rows: its edges, its colour, and what it stands for."""
    tops = np.cumsum(picture.counts, axis=1)
    where = np.argwhere(picture.counts > 0)
    bar, cls = where[:, 0], where[:, 1]
    gap = 0.0 if picture.ticks is None else 0.06 * np.diff(picture.edges)[bar]
    colours = np.array(class_colours(len(classes)))
    total = np.maximum(tops[:, -1], 1)
    return pd.DataFrame(
        {
            "left": picture.edges[bar] + gap,
            "right": picture.edges[bar + 1] - gap,
            "bottom": (tops - picture.counts)[bar, cls],
            "top": tops[bar, cls],
            "colour": colours[cls],
            "level": np.array(picture.labels, dtype=object)[bar],
            "class": np.array(classes, dtype=object)[cls],
            "rows": picture.counts[bar, cls],
            "share": picture.counts[bar, cls] / total[bar],
        }
    )


def cut_lines(picture: ColumnPicture) -> pd.DataFrame:
    """Return one upright line per cut."""
    top = float(picture.counts.sum(axis=1).max(initial=1)) * 1.05
    return pd.DataFrame(
        {"x": picture.cuts, "low": np.zeros(len(picture.cuts)), "high": np.full(len(picture.cuts), top)}
    )


def column_figure(bar_source: ColumnDataSource, cut_source: ColumnDataSource, *, height: int = 300) -> figure:
    """Return the figure over two sources: `bars` and `cut_lines`."""
    plot = figure(
        height=height,
        sizing_mode="stretch_width",
        toolbar_location=None,
        tools="",
        x_range=Range1d(0, 1),
        y_range=Range1d(0, 1),
        y_axis_label="rows",
        background_fill_alpha=0,
        border_fill_alpha=0,
        outline_line_color=None,
    )
    quads = plot.quad(
        left="left", right="right", bottom="bottom", top="top", fill_color="colour", line_color=None, source=bar_source
    )
    plot.segment("x", "low", "x", "high", source=cut_source, line_color="#d1336b", line_width=2, line_dash=[6, 4])
    tips = [("level", "@level"), ("class", "@class"), ("rows", "@rows{0,0}"), ("of this level", "@share{0.0 %}")]
    plot.add_tools(HoverTool(renderers=[quads], tooltips=tips))
    plot.xgrid.grid_line_color = None
    plot.xaxis.major_label_text_font_size = plot.yaxis.major_label_text_font_size = "15px"
    return plot


def frame_axis(plot: figure, picture: ColumnPicture) -> None:
    """Set the figure's ranges, ticks and labels for a picture; in names from data Bokeh looks for no TeX."""
    edges, highest = picture.edges, float(picture.counts.sum(axis=1).max(initial=1))
    width = float(edges[-1] - edges[0]) or 1.0
    plot.x_range.update(start=float(edges[0]) - 0.01 * width, end=float(edges[-1]) + 0.01 * width)
    plot.y_range.update(start=0.0, end=1.08 * highest)
    axis = plot.xaxis[0]
    axis.axis_label = PlainText(text=picture.axis)
    if picture.ticks is None:
        if isinstance(axis.ticker, FixedTicker):
            axis.ticker = BasicTicker(desired_num_ticks=6)
        axis.major_label_overrides = {}
        axis.major_label_orientation = 0.0
        return
    if isinstance(axis.ticker, FixedTicker):
        axis.ticker.ticks = list(picture.ticks)
    else:
        axis.ticker = FixedTicker(ticks=list(picture.ticks))
    axis.major_label_overrides = {place: PlainText(text=_short(text)) for place, text in picture.ticks.items()}
    crowded = sum(min(len(text), 14) for text in picture.ticks.values()) > 44
    axis.major_label_orientation = 0.7 if crowded else 0.0


def _short(text: str) -> str:
    return text if len(text) <= 14 else text[:13] + "…"
