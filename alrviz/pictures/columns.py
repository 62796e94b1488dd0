"""One column at a glance: its rows by level, stacked by class, with the cuts that make levels of a number.

`bars` lays out rectangles, `column_figure` draws them; both are used again for every column, so the axis is numeric
even where levels are words, and the words are labels of its ticks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from bokeh.models import (
    BasicTicker,
    BasicTickFormatter,
    ColumnDataSource,
    HoverTool,
    NumeralTickFormatter,
    PlainText,
    Range1d,
)
from bokeh.plotting import figure

from alrviz.pictures.level_axis import level_axis
from alrviz.pictures.palette import shade
from alrviz.pictures.picture import keep_sizes

# Okabe and Ito's, without black and yellow, which vanish on dark and on light.
_CLASSES = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C7AE6")
_TINTS = (0.0, 0.45, -0.35, 0.68, -0.55)
OTHER_COLOUR = "#9a9aa2"


def class_colours(n_classes: int) -> list[str]:
    """Return a colour for each of n_classes: seven hues, then lighter and darker shades of them, then grey."""
    hues = len(_CLASSES)
    shaded = [shade(_CLASSES[k % hues], _TINTS[k // hues]) for k in range(min(n_classes, hues * len(_TINTS)))]
    return shaded + [OTHER_COLOUR] * (n_classes - len(shaded))


@dataclass(frozen=True, eq=False)
class ColumnPicture:
    """Bars or bins of one column by class.

    Attributes:
        title: what is seen.
        counts: (B, C) rows per bar and class.
        edges: (B + 1,) where bars begin and end on the axis.
        labels: a text per bar.
        words: whether bars are levels, each with its text on the axis; otherwise the axis is a scale of numbers.
        cuts: where a number is cut into levels.
        axis: the axis' label.
    """

    title: str
    counts: np.ndarray
    edges: np.ndarray
    labels: tuple[str, ...]
    words: bool
    cuts: np.ndarray
    axis: str


def bars(picture: ColumnPicture, classes: Sequence[str]) -> pd.DataFrame:
    """Return a table with a rectangle for each bar and class that has rows: its edges, its colour and its texts.

    classes: names of the classes, in the order of the picture's counts.
    """
    tops = np.cumsum(picture.counts, axis=1)
    filled_cells = np.argwhere(picture.counts > 0)
    bar_index, class_index = filled_cells[:, 0], filled_cells[:, 1]
    gap = 0.06 * np.diff(picture.edges)[bar_index] if picture.words else 0.0
    colours = np.array(class_colours(len(classes)))
    rows_by_bar = np.maximum(tops[:, -1], 1)
    return pd.DataFrame(
        {
            "left": picture.edges[bar_index] + gap,
            "right": picture.edges[bar_index + 1] - gap,
            "bottom": (tops - picture.counts)[bar_index, class_index],
            "top": tops[bar_index, class_index],
            "colour": colours[class_index],
            "level": np.array(picture.labels, dtype=object)[bar_index],
            "class": np.array(classes, dtype=object)[class_index],
            "rows": picture.counts[bar_index, class_index],
            "share": picture.counts[bar_index, class_index] / rows_by_bar[bar_index],
        }
    )


def numbers(picture: ColumnPicture, classes: Sequence[str]) -> pd.DataFrame:
    """Return the counts behind the picture as a table: level, class, rows, share of this level's rows.

    classes: names of the classes, in the order of the picture's counts.
    """
    counts = picture.counts
    rows_by_level = np.maximum(counts.sum(axis=1), 1)
    return pd.DataFrame(
        {
            "level": np.repeat(np.array(picture.labels, dtype=object), counts.shape[1]),
            "class": np.tile(np.array(classes, dtype=object), counts.shape[0]),
            "rows": counts.ravel(),
            "share": (counts / rows_by_level[:, None]).ravel(),
        }
    )


def cut_lines(picture: ColumnPicture) -> pd.DataFrame:
    """Return one upright line per cut."""
    line_top = float(picture.counts.sum(axis=1).max(initial=1)) * 1.05
    return pd.DataFrame(
        {"x": picture.cuts, "low": np.zeros(len(picture.cuts)), "high": np.full(len(picture.cuts), line_top)}
    )


def column_figure(bar_source: ColumnDataSource, cut_source: ColumnDataSource, *, name: str | None = None) -> figure:
    """Return the figure over two sources: `bars` and `cut_lines`; `name` is how a page finds it."""
    plot = figure(
        name=name,
        sizing_mode="stretch_both",
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
    plot.yaxis[0].ticker = BasicTicker(desired_num_ticks=4, min_interval=1)
    plot.yaxis[0].formatter = NumeralTickFormatter(format="0,0")
    for axis in (plot.xaxis[0], plot.yaxis[0]):
        keep_sizes(axis)
    return plot


def frame_axis(plot: figure, picture: ColumnPicture) -> None:
    """Set ranges, ticks and labels of the figure `plot` for a picture; names from data are not taken for TeX."""
    edges, highest = picture.edges, float(picture.counts.sum(axis=1).max(initial=1))
    width = float(edges[-1] - edges[0]) or 1.0
    plot.x_range.update(start=float(edges[0]) - 0.01 * width, end=float(edges[-1]) + 0.01 * width)
    plot.y_range.update(start=0.0, end=1.08 * highest)
    axis = plot.xaxis[0]
    axis.axis_label = PlainText(text=picture.axis)
    if picture.words:
        level_axis(axis, picture.labels)
    else:
        axis.update(
            ticker=BasicTicker(desired_num_ticks=6), formatter=BasicTickFormatter(), major_label_orientation=0.0
        )
