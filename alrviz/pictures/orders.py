"""Held-out log loss and cost against the order: what the study of orders has found.

Above: a thin line for each fold, and over them mean +- standard error in the family's colour; a ring marks the verdict.
Below: what an order costs, parameters and seconds a fit, on log axes. `contents` says what is drawn, as data; the
figures are made once for the orders shown, and fed while folds finish.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool
from bokeh.plotting import figure

from alrviz.pictures.formatting import short_count, short_seconds
from alrviz.pictures.palette import GREY, family_colour, readable
from alrviz.pictures.picture import FONT, frame
from alrviz.studies.statistics.measures import loss_text

Data = dict[str, Any]
_ROOM = 0.45  # of an order, left of the first and right of the last
COSTS: Mapping[str, str] = {"parameters": "parameters (log)", "train_seconds": "seconds a fit (log)"}


@dataclass(frozen=True, slots=True)
class Contents:
    """What is drawn, as columns for sources, and the ranges (low, high) of the vertical axes."""

    folds: Data
    means: Data
    chosen: Data
    absent: Data
    reference: Data
    losses: tuple[float, float]
    costs: dict[str, Data]
    ranges: dict[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Picture:
    """The figure of losses, those of costs by column, and their sources."""

    losses: figure
    costs: dict[str, figure]
    folds: ColumnDataSource
    means: ColumnDataSource
    chosen: ColumnDataSource
    absent: ColumnDataSource
    reference: ColumnDataSource
    cost_sources: dict[str, ColumnDataSource]


def contents(
    rows: pd.DataFrame,
    lines: pd.DataFrame,
    chosen: int | None = None,
    absent: Mapping[int, str] | None = None,
    reference: tuple[str, float] | None = None,
) -> Contents:
    """What the pictures draw.

    rows: the study's frame (order, repeat, fold, log_loss, ...), maybe empty. lines: its summary, a line an order.
    chosen: the verdict's order. absent: a word for each order that has no fit ("refused"). reference: the name and mean
    of a model without an order, a dashed line across.
    """
    rows = rows[rows.order.notna()] if len(rows) else rows
    folds = _folds(rows)
    found = {int(line.order): line for line in lines.itertuples()} if len(lines) else {}
    x = np.array(list(found), dtype=float)
    mean = np.array([line.log_loss for line in found.values()], dtype=float)
    error = np.array([line.se for line in found.values()], dtype=float)
    spread = np.nan_to_num(error)
    level = [] if reference is None else [reference[1]]
    low, high = _range([*folds["ys"], mean - spread, mean + spread, level])
    here = [k for k, order in enumerate(found) if order == chosen]
    means = {
        "x": x, "y": mean, "low": mean - spread, "high": mean + spread, "error": error,
        "words": [loss_text(value) for value in mean], **_beside(mean),
    }  # fmt: skip
    missing = absent or {}
    said: Data = {"x": [float(n) for n in missing], "y": [low] * len(missing), "words": list(missing.values())}
    costs = {name: _cost(name, x, found) for name in COSTS}
    ranges = {name: _log_range(part["y"]) for name, part in costs.items()}
    across: Data = {"x": [], "right": [], "y": level, "words": []}
    if reference is not None and len(x):
        ends = {"x": [x.min() - _ROOM], "right": [x.max() + _ROOM]}
        across |= {**ends, "words": [f"{reference[0]} {loss_text(reference[1])}"]}
    else:
        across["y"] = []
    return Contents(folds, means, {"x": x[here], "y": mean[here]}, said, across, (low, high), costs, ranges)


def _folds(rows: pd.DataFrame) -> Data:
    """A line for each fold over the orders that it has."""
    if not len(rows) or "log_loss" not in rows:
        return {"xs": [], "ys": [], "fold": []}
    table = rows.pivot(index=["repeat", "fold"], columns="order", values="log_loss").dropna(how="all")
    x, values = table.columns.to_numpy(float), table.to_numpy(float)
    there = ~np.isnan(values)
    return {
        "xs": [x[known] for known in there],
        "ys": [line[known] for line, known in zip(values, there, strict=True)],
        "fold": [f"{repeat + 1}.{fold + 1}" for repeat, fold in table.index],
    }


def _cost(name: str, x: Any, found: Mapping[int, Any]) -> Data:
    values = np.array([getattr(line, name) for line in found.values()], dtype=float)
    known = np.isfinite(values) & (values > 0)
    texts = [short_count(value) if name == "parameters" else short_seconds(value) for value in values[known]]
    return {"x": x[known], "y": values[known], "words": texts}


def _beside(y: Any) -> Data:
    """Where the words of points on a line stand, out of its way: below a lowest point, else above on the free side."""
    places = []
    for k, value in enumerate(y):
        before, after = y[k - 1] if k else value, y[k + 1] if k + 1 < len(y) else value
        if value <= before and value <= after and len(y) > 1:
            places.append(("center", 0, 32))
        else:
            places.append(("left", 8, -8) if before >= value or value > after else ("right", -8, -8))
    return {name: [place[k] for place in places] for k, name in enumerate(("align", "dx", "dy"))}


def _range(parts: Sequence[Any]) -> tuple[float, float]:
    every = np.concatenate([np.asarray(part, float) for part in [*parts, []]])
    every = every[np.isfinite(every)]
    if not len(every):
        return 0.0, 1.0
    low, high = float(every.min()), float(every.max())
    air = max(high - low, 0.1 * abs(high)) or 0.5  # what differs by less is not to fill the picture
    return low - 0.22 * air, high + 0.18 * air


def _log_range(values: Any) -> tuple[float, float]:
    """Whole powers of ten, two of them at least; above the highest point there is room for its number."""
    if not len(values):
        return 1.0, 100.0
    low, high = np.floor(np.log10(values.min() / 1.3)), np.ceil(np.log10(values.max() * 4))
    return float(10.0**low), float(10.0 ** max(high, low + 2))


def power_ticks(low: float, high: float) -> list[float]:
    """Return the powers of ten from `low` to `high`, both of which are, every second or third where they are many."""
    first, last = round(np.log10(low)), round(np.log10(high))
    return [float(10.0**power) for power in range(first, last + 1, 1 + (last - first) // 4)]


def order_name(order: int) -> str:
    """What an order is called in pictures."""
    return f"n = {order}" if order else "class prior"


def orders_picture(what: Contents, orders: Sequence[int], label: str, name: str, *, dark: bool = False) -> Picture:
    """Draw the study of these orders; label: the family's, for the colour; name: of the figures.

    The figures of costs are called after it: -parameters, -seconds.
    """
    colour, ink = family_colour(label), readable(family_colour(label), dark)
    top = _frame(what.losses, orders, "held-out log loss (nats per row)", name)
    folds, means, chosen = ColumnDataSource(what.folds), ColumnDataSource(what.means), ColumnDataSource(what.chosen)
    absent, reference = ColumnDataSource(what.absent), ColumnDataSource(what.reference)
    thin = top.multi_line("xs", "ys", source=folds, line_color=GREY, line_alpha=0.6, line_width=1.2)
    top.line("x", "y", source=means, line_color=colour, line_width=3)
    top.segment("x", "low", "x", "high", source=means, line_color=colour, line_width=3)
    dots = top.scatter("x", "y", source=means, color=colour, size=9)
    top.scatter("x", "y", source=chosen, size=20, fill_color=None, line_color=colour, line_width=3)
    _words(top, means, ink, bold=True, x_offset="dx", y_offset="dy", text_align="align")
    top.segment("x", "y", "right", "y", source=reference, line_color=GREY, line_width=2, line_dash="dashed")
    _words(top, reference, readable(GREY, dark), x="right", x_offset=-6, y_offset=-2, text_align="right")
    _words(top, absent, readable(GREY, dark), y_offset=-4, text_align="center")
    tips = [("order", "@x"), ("mean", "@y{0.0000}"), ("standard error", "@error{0.0000}")]
    top.add_tools(HoverTool(renderers=[dots], tooltips=tips), HoverTool(renderers=[thin], tooltips=[("fold", "@fold")]))
    costs, sources = {}, {}
    for column, title in COSTS.items():
        source = sources[column] = ColumnDataSource(what.costs[column])
        fig = _frame(what.ranges[column], orders, title, f"{name}-{column.split('_')[-1]}", y_axis_type="log")
        fig.xaxis[0].major_label_overrides = {order: f"n = {order}" for order in orders}
        fig.yaxis[0].ticker = FixedTicker(ticks=power_ticks(*what.ranges[column]))
        fig.min_height = 120
        fig.line("x", "y", source=source, line_color=colour, line_width=2.4)
        fig.scatter("x", "y", source=source, color=colour, size=7)
        _words(fig, source, ink, y_offset=-8, text_align="center")
        costs[column] = fig
    return Picture(top, costs, folds, means, chosen, absent, reference, sources)


def feed(picture: Picture, what: Contents) -> None:
    """Show what has come since in the figures there are."""
    for source, data in (
        (picture.folds, what.folds), (picture.means, what.means), (picture.chosen, what.chosen),
        (picture.absent, what.absent), (picture.reference, what.reference),
        *((picture.cost_sources[name], what.costs[name]) for name in COSTS),
    ):  # fmt: skip
        source.data = data
    for fig, (low, high) in (
        (picture.losses, what.losses),
        *((picture.costs[name], what.ranges[name]) for name in COSTS),
    ):
        if (fig.y_range.start, fig.y_range.end) != (low, high):
            fig.y_range.update(start=low, end=high, reset_start=low, reset_end=high)
            if fig is not picture.losses:
                fig.yaxis[0].ticker.ticks = power_ticks(low, high)


def _frame(y: tuple[float, float], orders: Sequence[int], title: str, name: str, **more: Any) -> figure:
    ends = (min(orders) - _ROOM, max(orders) + _ROOM)
    fig = frame(ends, y, ("", title), name, **more)
    names = {order: order_name(order) for order in orders}
    fig.xaxis[0].update(ticker=FixedTicker(ticks=list(orders)), major_label_overrides=names)
    fig.xgrid.grid_line_color = None
    fig.min_border_top = 14  # half a tick's number
    return fig


def _words(
    fig: figure, source: ColumnDataSource, colour: str, *, x: str = "x", bold: bool = False, **place: Any
) -> None:
    """Write the words of a source where `place` says, beside its points."""
    fig.text(
        x, "y", text="words", source=source, text_font=FONT, text_baseline="bottom", text_color=colour,
        text_font_size="15px", text_font_style="bold" if bold else "normal", **place,
    )  # fmt: skip
