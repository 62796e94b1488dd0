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
from numpy.typing import NDArray

from alrviz.pictures.formatting import LOSSES, short_count, short_seconds
from alrviz.pictures.labels import log_ticks
from alrviz.pictures.palette import GREY, family_colour, readable
from alrviz.pictures.picture import Data, Picture, Plot, Range, padded, write
from alrviz.studies.statistics.measures import loss_text

_AUTO = family_colour("hlr")  # of AutoClassifier's model
_MARGIN_ORDERS = 0.45  # of an order, left of the first and right of the last
_COST_MARGIN_ORDERS = 0.6  # the same of a cost, whose picture is small
MIN_LOG_RATIO = 50  # highest over lowest mean loss; beyond it the lowest ones are one line on a linear axis
MAX_SHARE_BELOW_0 = 0.12  # of the highest loss: room for the number of a point near 0, below which no loss can be
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
    order_rows = list(lines.itertuples()) if len(lines) else []
    automatic_rows = [SimpleNamespace(**automatic, order=max(compared) + 1)] if automatic else []
    auto = None if automatic is None else max(compared) + 1  # the place of the automatic model
    fold_lines, means, automatic_point = _folds(rows), _loss_points(order_rows), _loss_points(automatic_rows)
    x, y = means["x"], means["y"]
    reference_levels = [] if reference is None else [reference[1]]
    losses_range, is_log = _loss_axis(fold_lines["ys"], means, automatic_point, reference_levels)
    for points in (means, automatic_point):
        points["low"] = np.maximum(points["low"], losses_range[0])
    chosen_places = np.flatnonzero(x == (np.nan if chosen is None else chosen))
    missing = absent or {}
    axis_orders = [*compared, *([] if auto is None else [auto])]
    low_order, high_order = min(axis_orders), max(axis_orders)
    key = tuple(compared), label, dark, automatic is None, is_log
    draw_params: dict[str, Any] = {"orders": compared, "auto": auto, "label": label, "dark": dark}
    pictures = {
        "losses": Picture(
            draw=partial(_losses, is_log=is_log, **draw_params), key=key,
            x=(low_order - _MARGIN_ORDERS, high_order + _MARGIN_ORDERS), y=losses_range,
            labels=("n = 0: class shares; ring: verdict", f"test {LOSSES['log_loss']}{', log scale' * is_log}"),
            axes={"y_axis_type": "log"} if is_log else {}, parts=_log_ticks(*losses_range) if is_log else {},
            data={
                "folds": fold_lines, "means": means | _label_positions(np.log(y) if is_log else y),
                "chosen": {"x": x[chosen_places], "y": y[chosen_places]},
                "absent": {"x": list(map(float, missing)), "y": [losses_range[0]] * len(missing),
                           "words": list(missing.values())},
                "reference": _reference_line(reference, means, auto, is_log), "automatic": automatic_point,
            },
        )
    }  # fmt: skip
    for name, title in COSTS.items():
        points, automatic_cost = _cost_points(name, order_rows), _cost_points(name, automatic_rows)
        cost_range = log_range(np.concatenate([points["y"], automatic_cost["y"]]))
        pictures[name] = Picture(
            draw=partial(_costs, **draw_params), key=key,
            x=(low_order - _COST_MARGIN_ORDERS, high_order + _COST_MARGIN_ORDERS), y=cost_range,
            labels=("", title), data={"points": points, "automatic": automatic_cost},
            parts={"ticks": {"ticks": power_ticks(*cost_range)}}, axes={"y_axis_type": "log"},
        )  # fmt: skip
    return pictures


def _loss_points(order_rows: Sequence[Any]) -> Data:
    """Return mean losses and their standard errors by order; order_rows: of a summary."""
    x, mean, error = (np.array([getattr(row, k) for row in order_rows], float) for k in ("order", "log_loss", "se"))
    spread = np.nan_to_num(error)
    texts = [loss_text(value) for value in mean]
    return {"x": x, "y": mean, "low": mean - spread, "high": mean + spread, "error": error, "words": texts}


def _loss_axis(
    folds: Sequence[NDArray[np.float64]], means: Data, automatic: Data, reference_levels: Sequence[float]
) -> tuple[Range, bool]:
    """Return the range of the axis of losses, and whether it is logarithmic; folds: an array of losses for each."""
    all_means = np.array([*means["y"], *automatic["y"], *reference_levels])
    if len(all_means) and all_means.min() > 0 and all_means.max() > MIN_LOG_RATIO * all_means.min():
        low, high = padded([np.log10(all_means), np.log10(means["high"])], 0.18, 0.12)
        return (float(10**low), float(10**high)), True
    bounds = [points[bound] for points in (means, automatic) for bound in ("low", "high")]
    low, high = padded([*folds, *bounds, reference_levels], 0.3, 0.18)
    return (max(low, -MAX_SHARE_BELOW_0 * high), high), False


def _log_ticks(low: float, high: float) -> dict[str, dict[str, Any]]:
    """Return the properties of a logarithmic axis of losses that depend on its range."""
    ticks = log_ticks(low, high)
    tick_labels = {tick: np.format_float_positional(tick, trim="-") for tick in ticks}
    return {"y": {"major_label_overrides": tick_labels}, "ticks": {"ticks": ticks}}


def _reference_line(reference: tuple[str, float] | None, means: Data, auto: int | None, is_log: bool) -> Data:
    """Return the dashed line of the reference, with its text at the end that is farther from a point's number.

    means: points by order; auto: the place beside them.
    """
    columns = "x", "right", "y", "words", "at", "align", "dx"
    if reference is None or not len(means["x"]):
        return {name: [] for name in columns}
    name, level = reference
    gap_left, gap_right = (abs(np.log(y / level) if is_log else y - level) for y in means["y"][[0, -1]])
    left, right = means["x"].min() - _MARGIN_ORDERS, (means["x"].max() if auto is None else auto) + _MARGIN_ORDERS
    text_place = (right, "right", -6) if gap_right > gap_left else (left, "left", 6)
    values = left, right, level, f"{name} {loss_text(level)}", *text_place
    return {column: [value] for column, value in zip(columns, values, strict=True)}


def _folds(rows: pd.DataFrame) -> Data:
    """Return a line for each fold over the orders that it has; rows: of the study's frame."""
    if not len(rows) or "log_loss" not in rows:
        return {"xs": [], "ys": [], "fold": []}
    loss_table = rows.pivot(index=["repeat", "fold"], columns="order", values="log_loss").dropna(how="all")
    x, fold_losses = loss_table.columns.to_numpy(float), loss_table.to_numpy(float)
    has_loss = ~np.isnan(fold_losses)
    return {
        "xs": [x[is_present] for is_present in has_loss],
        "ys": [one_fold_losses[is_present] for one_fold_losses, is_present in zip(fold_losses, has_loss, strict=True)],
        "fold": [f"{repeat + 1}.{fold + 1}" for repeat, fold in loss_table.index],
    }


def _cost_points(name: str, order_rows: Sequence[Any]) -> Data:
    """Return a cost, a key of COSTS, by order, where it is known and positive; order_rows: of a summary."""
    x = np.array([row.order for row in order_rows], dtype=float)
    cost_values = np.array([getattr(order_row, name) for order_row in order_rows], dtype=float)
    is_positive = np.isfinite(cost_values) & (cost_values > 0)
    texts = [short_count(value) if name == "parameters" else short_seconds(value) for value in cost_values[is_positive]]
    return {"x": x[is_positive], "y": cost_values[is_positive], "words": texts}


def _label_positions(y: NDArray[np.float64]) -> Data:
    """Return where the label of each point is, away from the line y (n,): below a minimum, else above or beside."""
    label_positions = []
    for k, value in enumerate(y):
        previous, following = y[k - 1] if k else value, y[k + 1] if k + 1 < len(y) else value
        if value <= previous and value <= following and len(y) > 1:
            label_positions.append(("center", 0, 32))
        else:
            label_positions.append(("left", 8, -8) if previous >= value or value > following else ("right", -8, -8))
    return {name: [side[k] for side in label_positions] for k, name in enumerate(("align", "dx", "dy"))}


def log_range(values: NDArray[np.float64]) -> Range:
    """Return a range of whole powers of ten, two at least, that holds the values, with room for a number above."""
    if not len(values):
        return 1.0, 100.0
    low_power, high_power = np.floor(np.log10(values.min() / 1.3)), np.ceil(np.log10(values.max() * 4))
    return float(10.0**low_power), float(10.0 ** max(high_power, low_power + 2))


def power_ticks(low: float, high: float) -> list[float]:
    """Return the powers of ten from `low` to `high`, both of which are, every second or third where they are many."""
    first_power, last_power = round(np.log10(low)), round(np.log10(high))
    return [float(10.0**power) for power in range(first_power, last_power + 1, 1 + (last_power - first_power) // 4)]


def _losses(plot: Plot, orders: Sequence[int], auto: int | None, label: str, dark: bool, is_log: bool) -> None:
    fig, means, reference = plot.figure, plot["means"], plot["reference"]
    colour, ink, quiet = family_colour(label), readable(family_colour(label), dark), readable(GREY, dark)
    _dress(fig, {order: f"n = {order}" for order in orders} | ({} if auto is None else {auto: "Auto"}))
    fig.min_height = 190  # of its share in a low window
    if is_log:
        plot.parts["ticks"] = fig.yaxis[0].ticker = FixedTicker()
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
