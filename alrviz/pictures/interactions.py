"""Which interactions matter, drawn: ranked bars with bands, columns by columns, one tuple's cells, a row's sum.

Bars lie: a line each with its name, from 0, whiskers for the 90 % band. What adds to the first of two classes is blue,
what takes from it vermilion. Cells are as opaque as they have rows, and hatched where no row is.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from bokeh.models import AllLabels, FixedTicker, HoverTool, NumeralTickFormatter
from numpy.typing import NDArray

from alrviz.pictures.level_axis import level_axis, short
from alrviz.pictures.palette import GREY, INKS, readable
from alrviz.pictures.picture import FONT, Data, Picture, Plot
from alrviz.studies.core.names import tuples_text

FOR, AGAINST = "#0072B2", "#D55E00"
ORDERS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")  # main effects, pairs, triples, more
MOST = 16  # bars
COLUMNS = 24  # of the matrix
_CUT = 26  # letters of a bar's name
_FAINT = 0.12  # opacity of a cell that hardly any row is in


def order_colour(order: int) -> str:
    """Return the colour of tuples of so many columns."""
    return ORDERS[min(order, len(ORDERS)) - 1]


def ranked(table: pd.DataFrame, muted: Sequence[str], chosen: str, *, dark: bool = False) -> Picture:
    """Return the picture of a table of `importance`, its first lines: nats, with the band where there is one."""
    own = table.head(MOST)
    bars = pd.DataFrame(
        {
            "name": [f"▸ {name}" if name == chosen else str(name) for name in own.index],
            "value": own["nats"].to_numpy(),
            "low": own.get("nats_low", own["nats"]).fillna(own["nats"]).to_numpy(),
            "high": own.get("nats_high", own["nats"]).fillna(own["nats"]).to_numpy(),
            "colour": [GREY if name in muted else order_colour(size) for name, size in own["order"].items()],
            "tip": [f"{size} column{'s' if size > 1 else ''}; share {share:.1%}; held-out loss {rise:+.4f} without it"
                    for size, share, rise in own[["order", "share", "loss"]].itertuples(index=False)],
            "alpha": 1.0,
        }
    )  # fmt: skip
    return bar_picture(bars, "nats a row", dark=dark)


def legend(orders: Sequence[int]) -> list[tuple[str, str]]:
    """Return colour and words of each order that there is."""
    return [(order_colour(n), "main effects" if n == 1 else tuples_text(n)) for n in orders]


def bar_picture(bars: pd.DataFrame, along: str, *, dark: bool = False, percent: bool = False) -> Picture:
    """Return the picture of bars: name, value, low, high, colour, tip, alpha, the first on top."""
    n = len(bars)
    values = bars[["value", "low", "high"]].to_numpy(float)
    low, high = min(0.0, float(np.nanmin(values, initial=0.0))), max(0.0, float(np.nanmax(values, initial=0.0)))
    air = 0.04 * (high - low) or 1.0
    y = n - 0.5 - np.arange(n)
    data: Data = {name: bars[name].tolist() for name in ("name", "value", "low", "high", "colour", "tip", "alpha")}
    data |= {"y": y, "zero": [0.0] * n}
    x = (0.0, 1.0) if percent else (low - air * (low < 0), high + air)
    names = tuple(data["name"])
    return Picture(
        draw=partial(_draw_bars, names=names, percent=percent, dark=dark), x=x, y=(0.0, float(max(n, 1))),
        labels=(along, ""), data={"bars": data}, key=(names, along, percent, dark),
    )  # fmt: skip


def _draw_bars(plot: Plot, names: Sequence[str], percent: bool, dark: bool) -> None:
    fig, bars = plot.figure, plot["bars"]
    fig.ygrid.visible = False
    boxes = fig.hbar(
        y="y", height=0.72, left="zero", right="value", source=bars, fill_color="colour", fill_alpha="alpha",
        line_color="colour",
    )  # fmt: skip
    fig.segment("low", "y", "high", "y", source=bars, line_color=INKS[dark], line_width=2)
    level_axis(fig.yaxis[0], [short(name, _CUT) for name in reversed(names)], tilts=False)
    words = [short(name, _CUT) for name in reversed(names)]
    fig.yaxis[0].update(ticker=FixedTicker(ticks=[k + 0.5 for k in range(len(words))]), major_label_policy=AllLabels())
    fig.yaxis[0].formatter.args = {"words": words}
    if percent:
        fig.xaxis[0].formatter = NumeralTickFormatter(format="0%")
    fig.xaxis[0].ticker.desired_num_ticks = 4
    tips = [("", "@name"), ("", "@value{0.0000} (@low{0.0000} to @high{0.0000})"), ("", "@tip")]
    fig.add_tools(HoverTool(renderers=[boxes], tooltips=tips))


def seriated(strength: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return columns in an order in which those that interact stand near each other; strength (a, a) is symmetric."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(strength) < 3:
        return np.arange(len(strength))
    near = strength / (strength.max() or 1.0)
    apart = 1.0 - near
    np.fill_diagonal(apart, 0.0)
    found: NDArray[np.intp] = leaves_list(linkage(squareform(apart, checks=False), "average", optimal_ordering=True))
    return found


def matrix(
    table: pd.DataFrame, columns: Sequence[str], members: Sequence[Sequence[int]], *, dark: bool = False
) -> Picture:
    """Return the picture of columns by columns: pairs beside the diagonal, main effects on it.

    table: of `importance` in the order of the tuples, whose columns `members` (T, ) say.
    """
    a, nats = len(columns), table["nats"].to_numpy(float)
    strength = np.zeros((a, a))
    for own, value in zip(members, nats, strict=True):
        if len(own) <= 2:
            strength[own[0], own[-1]] = strength[own[-1], own[0]] = value
    best = np.sort(np.argsort(-strength.sum(axis=1), kind="stable")[:COLUMNS])
    pairs = strength[np.ix_(best, best)].copy()
    np.fill_diagonal(pairs, 0.0)
    shown = best[seriated(pairs)]
    n, most, single = len(shown), float(pairs.max(initial=0.0)) or 1.0, float(np.diag(strength).max()) or 1.0
    y, x = (at.ravel() for at in np.indices((n, n)))
    value = strength[shown[y], shown[x]]
    on = y == x
    alpha = np.sqrt(np.clip(value / np.where(on, single, most), 0, 1))
    names = [str(columns[j]) for j in shown]
    data: Data = {
        "left": x + 0.03, "right": x + 0.97, "bottom": n - 1 - y + 0.03, "top": n - y - 0.03, "value": value,
        "alpha": alpha, "colour": np.where(on, ORDERS[0], ORDERS[1]), "across": [names[k] for k in x],
        "up": [names[k] for k in y],
    }  # fmt: skip
    return Picture(
        draw=partial(_draw_matrix, names=tuple(names)), x=(0.0, float(n)), y=(0.0, float(n)), labels=("", ""),
        data={"cells": data}, key=(tuple(names), dark),
    )  # fmt: skip


def _draw_matrix(plot: Plot, names: Sequence[str]) -> None:
    fig = plot.figure
    fig.grid.visible = False
    boxes = fig.quad(
        "left", "right", "bottom", "top", source=plot["cells"], fill_color="colour", fill_alpha="alpha",
        line_color=GREY, line_alpha=0.4,
    )  # fmt: skip
    level_axis(fig.xaxis[0], names, room=20)
    level_axis(fig.yaxis[0], names[::-1], tilts=False)
    if len(names) <= 12:
        fig.xaxis[0].major_label_policy = fig.yaxis[0].major_label_policy = AllLabels()
    fig.add_tools(HoverTool(renderers=[boxes], tooltips=[("", "@up & @across"), ("nats", "@value{0.0000}")]))


def heat_map(
    values: NDArray[np.float64], rows: NDArray[np.float64], names: tuple[Sequence[str], Sequence[str]],
    titles: tuple[str, str], what: str, *, signed: bool, dark: bool = False,
) -> Picture:  # fmt: skip
    """Return the picture of the cells of two columns: values (L1, L2), NaN where there is none, and their rows.

    signed: whether colours tell above from below 0, else only how much; `what` the values are called.
    """
    up, across = values.shape
    y, x = (at.ravel() for at in np.indices((up, across)))
    value, weight = values.ravel(), rows.ravel()
    size = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    seen = weight > 0
    part = np.nan_to_num(np.abs(value) / size)
    sure = _FAINT + (1 - _FAINT) * np.sqrt(weight / (weight.max() or 1.0)) if signed else np.ones(len(weight))
    data: Data = {
        "left": x + 0.02, "right": x + 0.98, "bottom": up - 1 - y + 0.02, "top": up - y - 0.02, "value": value,
        "colour": np.where(value < 0, AGAINST, FOR), "alpha": np.where(seen, part * sure, 0.0), "rows": weight,
        "across": [names[1][k] for k in x.tolist()], "up": [names[0][k] for k in y.tolist()],
        "hatch": np.where(seen, " ", "/"), "x": x + 0.5, "y": up - 0.5 - y,
        "words": [f"{v:.2f}" if s and np.isfinite(v) and across * up <= 60 else ""
                  for v, s in zip(value, seen, strict=True)],
    }  # fmt: skip
    levels = tuple(names[0]), tuple(names[1])
    return Picture(
        draw=partial(_draw_heat, names=levels, what=what, dark=dark), x=(0.0, float(across)),
        y=(0.0, float(up)), labels=(titles[1], titles[0]), data={"cells": data},
        key=(levels, what, dark),
    )  # fmt: skip


def _draw_heat(plot: Plot, names: tuple[Sequence[str], Sequence[str]], what: str, dark: bool) -> None:
    fig, cells = plot.figure, plot["cells"]
    fig.grid.visible = False
    boxes = fig.quad(
        "left", "right", "bottom", "top", source=cells, fill_color="colour", fill_alpha="alpha", line_color=GREY,
        line_alpha=0.5, hatch_pattern="hatch", hatch_color=GREY, hatch_alpha=0.5,
    )  # fmt: skip
    fig.text(
        "x", "y", text="words", source=cells, text_color=INKS[dark], text_font=FONT, text_font_size="13px",
        text_align="center", text_baseline="middle",
    )  # fmt: skip
    level_axis(fig.xaxis[0], names[1])
    level_axis(fig.yaxis[0], names[0][::-1], tilts=False)
    fig.add_tools(
        HoverTool(renderers=[boxes], tooltips=[("", "@up & @across"), (what, "@value{0.000}"), ("rows", "@rows{0,0}")])
    )


def kept_curve(table: pd.DataFrame, now: float | None, *, dark: bool = False) -> Picture:
    """Return the picture of `keep_best`: held-out log loss and 0-1 loss against the number of tuples kept.

    now: the loss with the tuples that are muted; None where none is.
    """
    table = table.iloc[1:]  # with the intercept alone there is nothing to see
    x = table["kept"].to_numpy(float)
    losses = table["log_loss"].to_numpy(float)
    best = int(losses.argmin())
    line: Data = {"x": x, "y": losses, "kept": table["kept"].tolist(), "added": table["added"].fillna("").tolist(),
                  "error": table["error"].tolist()}  # fmt: skip
    low, high = float(losses.min()), float(losses.max())
    if now is not None:
        high, low = max(high, now), min(low, now)
    air = 0.12 * (high - low) or 0.1
    return Picture(
        draw=partial(_draw_curve, dark=dark), x=(0.9, float(x.max()) * 1.1), y=(low - 1.5 * air, high + air),
        labels=("tuples kept, the best first", "held-out log loss"),
        data={
            "line": line,
            "best": {"x": [x[best]], "y": [losses[best]], "words": [f"{int(table['kept'].iloc[best])} kept"]},
            "now": {"x": [] if now is None else [0.9, float(x.max()) * 1.1], "y": [] if now is None else [now, now]},
        },
        axes={"x_axis_type": "log"}, key=dark,
    )  # fmt: skip


def _draw_curve(plot: Plot, dark: bool) -> None:
    fig, line = plot.figure, plot["line"]
    fig.line("x", "y", source=line, line_color=FOR, line_width=2.6)
    dots = fig.scatter("x", "y", source=line, color=FOR, size=5)
    fig.scatter("x", "y", source=plot["best"], size=16, fill_color=None, line_color=FOR, line_width=2.6)
    fig.text(
        "x", "y", text="words", source=plot["best"], text_font=FONT, text_font_size="14px", y_offset=26,
        text_align="center", text_color=readable(FOR, dark),
    )  # fmt: skip
    fig.line("x", "y", source=plot["now"], line_color=AGAINST, line_width=2, line_dash="dashed")
    tips = [("kept", "@kept"), ("last", "@added"), ("log loss", "@y{0.0000}"), ("0-1 loss", "@error{0.0000}")]
    fig.add_tools(HoverTool(renderers=[dots], tooltips=tips))


def signed_bars(
    names: Sequence[str], values: Any, low: Any, high: Any, tips: Sequence[str], alpha: Any
) -> pd.DataFrame:
    """Return bars (n,) whose colours say for which of two classes they are."""
    values = np.asarray(values, float)
    return pd.DataFrame(
        {
            "name": list(names), "value": values, "low": np.where(np.isfinite(low), low, values),
            "high": np.where(np.isfinite(high), high, values), "colour": np.where(values < 0, AGAINST, FOR),
            "tip": list(tips), "alpha": np.broadcast_to(alpha, values.shape),
        }
    )  # fmt: skip
