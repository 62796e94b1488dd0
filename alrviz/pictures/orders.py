"""Test log loss and cost against the order, from a study of orders.

Above: a thin line for each fold, and over them mean +- standard error in the family's colour; a ring marks the verdict.
Below: what an order costs, parameters and seconds a fit, on log axes.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from bokeh.models import FixedTicker, HoverTool
from bokeh.plotting import figure

from alrviz.pictures.formatting import short_count, short_seconds
from alrviz.pictures.palette import GREY, family_colour, readable
from alrviz.pictures.picture import Data, Picture, Plot, Range, padded, write
from alrviz.studies.statistics.measures import loss_text

_AUTO = family_colour("hlr")  # of AutoClassifier's model
_MARGIN_ORDERS = 0.45  # of an order, left of the first and right of the last
_COST_MARGIN_ORDERS = 0.6  # the same of a cost, whose picture is small
COSTS: Mapping[str, str] = {"parameters": "parameters (log)", "train_seconds": "seconds per fit (log)"}


def orders(
    rows: pd.DataFrame,
    lines: pd.DataFrame,
    compared: Sequence[int],
    label: str,
    chosen: int | None = None,
    absent: Mapping[int, str] | None = None,
    reference: tuple[str, float] | None = None,
    automatic: Mapping[str, float] | None = None,
    *,
    dark: bool = False,
) -> dict[str, Picture]:
    """Return the picture of losses, as "losses", and those of COSTS.

    rows: the study's frame (order, repeat, fold, log_loss, ...), maybe empty. lines: its summary, a line an order.
    compared: the orders. label: the family's, for the colour.
    chosen: the verdict's order. absent: a word for each order that has no fit ("refused"). reference: the name and mean
    of a model without an order, a dashed line across. automatic: a line as of an order (log_loss, se, ...) of the model
    that chooses its own, {} while there is none; None where there will be none: its place is beside the orders.
    """
    rows = rows[rows.order.notna()] if len(rows) else rows
    folds = _folds(rows)
    by_order = {int(line.order): line for line in lines.itertuples()} if len(lines) else {}
    x = np.array(list(by_order), dtype=float)
    mean = np.array([line.log_loss for line in by_order.values()], dtype=float)
    error = np.array([line.se for line in by_order.values()], dtype=float)
    spread = np.nan_to_num(error)
    level = [] if reference is None else [reference[1]]
    auto_line, auto = automatic or {}, max(compared) + 1
    reach = auto_line["log_loss"] + np.nan_to_num(auto_line["se"]) * np.array([-1, 1]) if auto_line else np.empty(0)
    low, high = padded([*folds["ys"], mean - spread, mean + spread, level, reach], 0.3, 0.18)
    chosen_places = [k for k, order in enumerate(by_order) if order == chosen]
    means = {
        "x": x, "y": mean, "low": mean - spread, "high": mean + spread, "error": error,
        "words": [loss_text(value) for value in mean], **_beside(mean),
    }  # fmt: skip
    missing = absent or {}
    absent_words: Data = {"x": [float(n) for n in missing], "y": [low] * len(missing), "words": list(missing.values())}
    reference_line: Data = {name: [] for name in ("x", "right", "y", "words", "at", "align", "dx")}
    if reference is not None and len(x):
        words = f"{reference[0]} {loss_text(reference[1])}"
        ends = x.min() - _MARGIN_ORDERS, (x.max() if automatic is None else auto) + _MARGIN_ORDERS
        far = int(abs(mean[-1] - reference[1]) > abs(mean[0] - reference[1]))  # the end farther from a point's number
        reference_line = {
            "x": ends[:1], "right": ends[1:], "y": level, "words": [words],
            "at": [ends[far]], "align": [("left", "right")[far]], "dx": [(6, -6)[far]],
        }  # fmt: skip
    places = [*compared, *([] if automatic is None else [auto])]
    key = tuple(compared), label, dark, automatic is None
    look: dict[str, Any] = {"orders": compared, "auto": None if automatic is None else auto}
    look |= {"label": label, "dark": dark}
    columns = ("x", "y", "low", "high", "error", "words")
    values = (
        (auto, auto_line["log_loss"], *reach, auto_line["se"], loss_text(auto_line["log_loss"])) if auto_line else ()
    )
    automatic_point = {name: [values[k]] if auto_line else [] for k, name in enumerate(columns)}
    pictures = {
        "losses": Picture(
            draw=partial(_losses, **look), key=key,
            x=(min(places) - _MARGIN_ORDERS, max(places) + _MARGIN_ORDERS), y=(low, high),
            labels=("", "test log loss (nats per row)"),
            data={"folds": folds, "means": means, "chosen": {"x": x[chosen_places], "y": mean[chosen_places]},
                  "absent": absent_words, "reference": reference_line, "automatic": automatic_point},
        )
    }  # fmt: skip
    for name, title in COSTS.items():
        part = _cost(name, x, list(by_order.values()))
        single = _cost(
            name, np.array([auto] if auto_line else [], float), [SimpleNamespace(**auto_line)] if auto_line else []
        )
        y = log_range(np.concatenate([part["y"], single["y"]]))
        pictures[name] = Picture(
            draw=partial(_costs, **look), key=key,
            x=(min(places) - _COST_MARGIN_ORDERS, max(places) + _COST_MARGIN_ORDERS), y=y,
            labels=("", title), data={"points": part, "automatic": single},
            parts={"ticks": {"ticks": power_ticks(*y)}}, axes={"y_axis_type": "log"},
        )  # fmt: skip
    return pictures


def _folds(rows: pd.DataFrame) -> Data:
    """A line for each fold over the orders that it has."""
    if not len(rows) or "log_loss" not in rows:
        return {"xs": [], "ys": [], "fold": []}
    table = rows.pivot(index=["repeat", "fold"], columns="order", values="log_loss").dropna(how="all")
    x, values = table.columns.to_numpy(float), table.to_numpy(float)
    finite = ~np.isnan(values)
    return {
        "xs": [x[is_finite] for is_finite in finite],
        "ys": [line[is_finite] for line, is_finite in zip(values, finite, strict=True)],
        "fold": [f"{repeat + 1}.{fold + 1}" for repeat, fold in table.index],
    }


def _cost(name: str, x: Any, costs: Sequence[Any]) -> Data:
    values = np.array([getattr(line, name) for line in costs], dtype=float)
    positive = np.isfinite(values) & (values > 0)
    texts = [short_count(value) if name == "parameters" else short_seconds(value) for value in values[positive]]
    return {"x": x[positive], "y": values[positive], "words": texts}


def _beside(y: Any) -> Data:
    """Return the side of each point's label, away from the line: below at a minimum, else above on the free side."""
    places = []
    for k, value in enumerate(y):
        previous, following = y[k - 1] if k else value, y[k + 1] if k + 1 < len(y) else value
        if value <= previous and value <= following and len(y) > 1:
            places.append(("center", 0, 32))
        else:
            places.append(("left", 8, -8) if previous >= value or value > following else ("right", -8, -8))
    return {name: [place[k] for place in places] for k, name in enumerate(("align", "dx", "dy"))}


def log_range(values: Any) -> Range:
    """Return whole powers of ten, two of them at least; above the highest point there is room for its number."""
    if not len(values):
        return 1.0, 100.0
    low, high = np.floor(np.log10(values.min() / 1.3)), np.ceil(np.log10(values.max() * 4))
    return float(10.0**low), float(10.0 ** max(high, low + 2))


def power_ticks(low: float, high: float) -> list[float]:
    """Return the powers of ten from `low` to `high`, both of which are, every second or third where they are many."""
    first, last = round(np.log10(low)), round(np.log10(high))
    return [float(10.0**power) for power in range(first, last + 1, 1 + (last - first) // 4)]


def order_name(order: int) -> str:
    """Return the name of an order in pictures."""
    return f"n = {order}" if order else "class prior"


def _losses(plot: Plot, orders: Sequence[int], auto: int | None, label: str, dark: bool) -> None:
    fig, means, reference = plot.figure, plot["means"], plot["reference"]
    colour, ink, quiet = family_colour(label), readable(family_colour(label), dark), readable(GREY, dark)
    _dress(fig, {order: order_name(order) for order in orders} | ({} if auto is None else {auto: "AutoClassifier"}))
    automatic_point = plot["automatic"]
    fig.segment("x", "low", "x", "high", source=automatic_point, line_color=_AUTO, line_width=3)
    single = fig.scatter("x", "y", source=automatic_point, color=_AUTO, size=11, marker="diamond")
    write(fig, automatic_point, readable(_AUTO, dark), bold=True, front=dark, align="center", y_offset=-8)
    thin = fig.multi_line("xs", "ys", source=plot["folds"], line_color=GREY, line_alpha=0.6, line_width=1.2)
    fig.line("x", "y", source=means, line_color=colour, line_width=3)
    fig.segment("x", "low", "x", "high", source=means, line_color=colour, line_width=3)
    dots = fig.scatter("x", "y", source=means, color=colour, size=9)
    fig.scatter("x", "y", source=plot["chosen"], size=20, fill_color=None, line_color=colour, line_width=3)
    write(fig, means, ink, bold=True, front=dark, align="align", x_offset="dx", y_offset="dy")
    fig.segment("x", "y", "right", "y", source=reference, line_color=GREY, line_width=2, line_dash="dashed")
    write(fig, reference, quiet, x="at", front=dark, align="align", x_offset="dx", y_offset=-2)
    write(fig, plot["absent"], quiet, front=dark, align="center", y_offset=-4)
    tips = [("order", "@x"), ("mean", "@y{0.0000}"), ("standard error", "@error{0.0000}")]
    fig.add_tools(
        HoverTool(renderers=[dots, single], tooltips=tips), HoverTool(renderers=[thin], tooltips=[("fold", "@fold")])
    )


def _costs(plot: Plot, orders: Sequence[int], auto: int | None, label: str, dark: bool) -> None:
    fig, points, colour = plot.figure, plot["points"], family_colour(label)
    _dress(fig, {order: f"n = {order}" for order in orders} | ({} if auto is None else {auto: "Auto"}))
    fig.scatter("x", "y", source=plot["automatic"], color=_AUTO, size=9, marker="diamond")
    write(fig, plot["automatic"], readable(_AUTO, dark), size=13, front=dark, align="center", y_offset=-8)
    plot.parts["ticks"] = fig.yaxis[0].ticker = FixedTicker()
    fig.min_height = 120
    fig.line("x", "y", source=points, line_color=colour, line_width=2.4)
    fig.scatter("x", "y", source=points, color=colour, size=7)
    write(fig, points, readable(colour, dark), size=13, front=dark, align="center", y_offset=-8)


def _dress(fig: figure, names: Mapping[int, str]) -> None:
    fig.xaxis[0].update(ticker=FixedTicker(ticks=list(names)), major_label_overrides=dict(names))
    fig.xgrid.grid_line_color = None
    fig.min_border_top = 14  # half a tick's number
