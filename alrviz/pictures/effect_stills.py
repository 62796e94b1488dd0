"""What a model says, for pages that do not live: tuples ranked, and the pure effect of one or two columns.

An effect toward a class is what a level adds to the log-odds of the class against the mean of the others; 0.7 doubles
the odds, -0.7 halves them.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from alrviz.pictures.level_axis import level_axis, short
from alrviz.pictures.palette import GREY
from alrviz.pictures.picture import Picture, Plot

BLUE, ORANGE = "#0072B2", "#D55E00"  # toward the class, and away from it
_NAME = 34  # letters of a tuple
BARS = 30  # levels that have a bar each; of more a line is drawn


def ranked(importance: pd.DataFrame, most: int = 15) -> Picture:
    """Return the picture of the most important tuples: a frame of `Interactions.importance`, in its order."""
    table = importance.head(most)
    n = len(table)
    y = n - 1 - np.arange(n)
    names = [short(str(name), _NAME) for name in table.index]
    value = table.loss.to_numpy().clip(min=0.0)
    data = {
        "left": np.zeros(n), "right": value, "bottom": y + 0.15, "top": y + 0.85,
        "colour": [BLUE if order == 1 else ORANGE for order in table.order], "alpha": np.ones(n),
    }  # fmt: skip
    return Picture(
        draw=partial(_draw_bars, names=names[::-1]), x=(0.0, float(value.max(initial=0.0)) * 1.05 or 1.0),
        y=(0.0, float(n)), labels=("log loss without it: nats more", ""), data={"bars": data}, key=tuple(names),
    )  # fmt: skip


def toward(effects: pd.DataFrame, label: str) -> pd.DataFrame:
    """Return of a frame of `Interactions.effects` a line per cell: levels, rows, and effect toward a class."""
    many = effects["class"].nunique()
    mine = effects[effects["class"].astype(str) == label]
    gap = mine.pure.to_numpy() * (many / max(many - 1, 1))  # they sum to 0 over the classes
    return pd.DataFrame({"levels": mine.levels.to_numpy(), "rows": mine.rows.to_numpy(), "effect": gap})


def main_effect(table: pd.DataFrame, column: str, label: str, order: Sequence[str] | None = None) -> Picture:
    """Return the picture of a column's effect, a frame of `toward`; paler where rows are few. Of many levels it is a
    line.

    order: the levels in their order, where they have one (a number's intervals); None: by their effect.
    """
    place = None if order is None else table.levels.map({level: k for k, level in enumerate(order)})
    table = table.sort_values("effect") if place is None else table.assign(place=place).sort_values("place")
    table = table[table.rows > 0]
    n, value = len(table), table.effect.to_numpy()
    air = 0.08 * max(float(np.ptp(np.append(value, 0.0))), 0.1)
    span = (min(0.0, float(value.min(initial=0.0))) - air, max(0.0, float(value.max(initial=0.0))) + air)
    words = f"effect toward {short(label, 20)} (log-odds)"
    names = [f"{short(str(level), 22)} ({rows:,.0f})" for level, rows in zip(table.levels, table.rows, strict=True)]
    if n > BARS:
        return Picture(
            draw=partial(_draw_line, names=names), x=(0.0, float(n)), y=span, labels=(short(column, 30), words),
            data={"line": {"x": np.arange(n) + 0.5, "y": value}}, key=tuple(names),
        )  # fmt: skip
    y = np.arange(n)
    data = {
        "left": np.minimum(value, 0), "right": np.maximum(value, 0), "bottom": y + 0.15, "top": y + 0.85,
        "colour": [BLUE if one > 0 else ORANGE for one in value], "alpha": _opacity(table.rows.to_numpy()),
    }  # fmt: skip
    return Picture(
        draw=partial(_draw_bars, names=names), x=span, y=(0.0, float(n)), labels=(words, short(column, 30)),
        data={"bars": data}, key=tuple(names),
    )  # fmt: skip


def _opacity(rows: np.ndarray) -> np.ndarray:
    """How sure a reader may be of what so many rows say."""
    found: np.ndarray = 0.3 + 0.7 * np.minimum(1.0, rows / 50)
    return found


def pair_effect(
    values: np.ndarray, rows: np.ndarray, columns: tuple[str, str], levels: tuple[Sequence[str], Sequence[str]]
) -> Picture:
    """Return the heat map of a pair: values (A, B) toward a class, paler where rows (A, B) are few, grey where none."""
    n, m = values.shape
    i, j = (at.ravel() for at in np.indices((n, m)))
    top = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
    strength = np.nan_to_num(np.abs(values) / top).ravel()
    seen = rows.ravel() > 0
    data: dict[str, Any] = {
        "left": i.astype(float), "right": i + 1.0, "bottom": j.astype(float), "top": j + 1.0,
        "colour": np.where(~seen, GREY, np.where(np.nan_to_num(values.ravel()) > 0, BLUE, ORANGE)),
        "alpha": np.where(seen, strength * _opacity(rows.ravel()), 0.12),
    }  # fmt: skip
    return Picture(
        draw=partial(_draw_map, levels=levels), x=(0.0, float(n)), y=(0.0, float(m)),
        labels=(short(columns[0], 30), short(columns[1], 30)), data={"cells": data}, key=(n, m),
    )  # fmt: skip


def _draw_bars(plot: Plot, names: Sequence[str]) -> None:
    fig = plot.figure
    fig.ygrid.visible = False
    fig.quad("left", "right", "bottom", "top", source=plot["bars"], fill_color="colour", fill_alpha="alpha",
             line_color=None)  # fmt: skip
    _named(fig.yaxis[0], names)


def _draw_line(plot: Plot, names: Sequence[str]) -> None:
    fig = plot.figure
    fig.line([0, len(names)], [0, 0], line_color=GREY, line_dash=[5, 4])
    fig.line("x", "y", source=plot["line"], line_color=BLUE, line_width=2.4)
    _named(fig.xaxis[0], names)
    ticks = fig.xaxis[0].ticker.ticks
    fig.xaxis[0].ticker.ticks = ticks[:: max(1, len(ticks) // 8)]


def _draw_map(plot: Plot, levels: tuple[Sequence[str], Sequence[str]]) -> None:
    fig = plot.figure
    fig.xgrid.visible = fig.ygrid.visible = False
    fig.quad("left", "right", "bottom", "top", source=plot["cells"], fill_color="colour", fill_alpha="alpha",
             line_color=None)  # fmt: skip
    for axis, names in zip((fig.xaxis[0], fig.yaxis[0]), levels, strict=True):
        _named(axis, [short(str(name), 16) for name in names])
        ticks = axis.ticker.ticks
        axis.ticker.ticks = ticks[:: max(1, -(-len(ticks) // 12))]


def _named(axis: Any, names: Sequence[str]) -> None:
    """Levels on an axis, with as much of their names as they were cut to."""
    level_axis(axis, names, tilts=False)
    axis.formatter.args = {"words": list(names)}
